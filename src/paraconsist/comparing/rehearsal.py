"""A rehearsal: what a function refuses, it refuses before a judge of answers is paid."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import wraps
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Known(BaseException):
    """Ends a try of a function: a judge would be paid, or all that can be refused was looked at."""


#: Whether a judge's verdicts are made up: None where they are paid, False where the first one ends the try.
_are_made_up: ContextVar[bool | None] = ContextVar("are_made_up", default=None)


def rehearsed(function: _Function) -> _Function:
    """Return a function that refuses what it can before a judge is paid: it is tried with made-up verdicts first.

    The try ends where the function does, or at `end_rehearsal`, before anything is written or said.
    """

    @wraps(function)
    def call(*sources: Any, **options: Any) -> Any:
        def tried(*, is_made_up: bool) -> Any:
            _are_made_up.set(is_made_up)
            return function(*sources, **options)

        if _are_made_up.get() is None:
            with suppress(_Known):
                return copy_context().run(tried, is_made_up=False)
            with suppress(_Known), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                copy_context().run(tried, is_made_up=True)
        return function(*sources, **options)

    return cast(_Function, call)


def is_rehearsal() -> bool:
    """Say whether a judge's verdicts are to be made up."""
    if _are_made_up.get() is False:
        raise _Known
    return _are_made_up.get() is True


def end_rehearsal() -> None:
    """Go on only where what a judge says is known, or none was asked."""
    if _are_made_up.get():
        raise _Known
    _are_made_up.set(None)
