"""Measures, log formats, comparers and commands that other installed distributions add, found by their entry points.

A distribution declares them in its ``pyproject.toml`` under ``[project.entry-points."paraconsist.measures"]``,
``"paraconsist.logs"``, ``"paraconsist.comparers"`` and ``"paraconsist.commands"``; docs/howto/extend.md shows complete
ones. They are looked up on first need. One that cannot be used is left out with a warning that names its distribution.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_T = TypeVar("_T")


@cache
def added(group: str, built_in: Collection[str]) -> dict[str, EntryPoint]:
    """Return the entry points of ``paraconsist.{group}`` by name, without those whose names are taken."""
    from importlib.metadata import entry_points

    by_name: dict[str, EntryPoint] = {}
    for entry in entry_points(group=f"paraconsist.{group}"):
        if entry.name in built_in:
            _leave_out(entry, f"paraconsist has {entry.name!r} itself")
        elif entry.name in by_name:
            _leave_out(entry, f"{_distribution(by_name[entry.name])} has that name too")
        else:
            by_name[entry.name] = entry
    return by_name


def load(entry: EntryPoint, kind: type[_T]) -> _T | None:
    """Return the object that an entry point names, or warn and return None if it is not a usable one."""
    try:
        value = entry.load()
    except (Exception, SystemExit) as problem:
        _leave_out(entry, f"it cannot be imported ({type(problem).__name__}: {problem})")
        return None
    if isinstance(value, kind):
        return value
    _leave_out(entry, f"{entry.value} is a {type(value).__name__}, not a {kind.__name__}")
    return None


def _leave_out(entry: EntryPoint, reason: str) -> None:
    where = f"{entry.group} of the distribution {_distribution(entry)}"
    warnings.warn(
        f"{entry.name!r} in {where} is left out: {reason}. Update or uninstall {_distribution(entry)}.", stacklevel=2
    )


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value
