"""paraconsist: does a language model give the same answer however a question is phrased?"""

from __future__ import annotations

from paraconsist._version import __version__

__all__ = ["__version__", "register"]


def register() -> None:
    """Make the metric names known to `evaluate.load` on this machine (see `paraconsist.registry.register`)."""
    from paraconsist.registry import register as _register

    _register()
