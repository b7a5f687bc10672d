"""paraconsist: does a language model give the same answer however a question is phrased?"""

from __future__ import annotations

from importlib.metadata import version as _version

__all__ = ["__version__", "register"]


__version__: str = _version("paraconsist")


def register() -> None:
    """Make the metric names known to `evaluate.load` on this machine (see `paraconsist.registry.register`)."""
    from paraconsist.registry import register as _register

    _register()
