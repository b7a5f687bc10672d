"""Measures, log formats, comparers and commands that other installed distributions add, and functions of the user's.

A distribution declares them in its ``pyproject.toml`` under ``[project.entry-points."paraconsist.measures"]``,
``"paraconsist.logs"``, ``"paraconsist.comparers"`` and ``"paraconsist.commands"``; docs/howto/extend.md shows complete
ones. They are looked up on first need. One that cannot be used is left out with a warning that names its distribution.
The user's functions are named ``module:function``.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from paraconsist.errors import input_error

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_T = TypeVar("_T")
_OF_FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


def names_function(given: object) -> bool:
    """Say whether it can only be ``module:function``: no object, no name on the Hub, no path that exists."""
    return isinstance(given, str) and bool(_OF_FUNCTION.fullmatch(given)) and not Path(given).exists()


def load_function(path: str, function: str, parameter: str, signature: str = "") -> Any:
    """Return the user's function of ``module:function``; modules of the working folder are found, too.

    `function` and `parameter` are the caller's, `signature` what the user's function does; all are for messages.
    """
    module_name, colon, name = path.partition(":")
    if not colon or not module_name or not name:
        raise input_error(function, parameter, "be written module:function", got=path)
    here = "" not in sys.path
    if here:
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as problem:
        remedy, must = f"{type(problem).__name__}: {problem}.", "be in a module that can be imported"
        raise input_error(function, parameter, must, got=path, remedy=remedy) from problem
    finally:
        if here:
            sys.path.remove("")
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            raise input_error(function, parameter, f"be in module {module_name}", got=path)
    if not callable(found):
        raise input_error(function, parameter, f"be callable{signature and f': {signature}'}", got=path)
    return found


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
