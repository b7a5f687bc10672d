"""The one error that users are meant to read, and the one sentence form it takes."""

from __future__ import annotations

from typing import Any

__all__ = ["InputError", "input_error"]

_ABSENT = object()
_MAX_SHOWN = 120


class InputError(ValueError):
    """Something that was given to paraconsist is not what it must be; the message says what to do."""


def input_error(
    function: str,
    parameter: str,
    must: str,
    *,
    got: Any = _ABSENT,
    row: int | str | None = None,
    remedy: str = "",
) -> InputError:
    """Return (not raise) an `InputError` in the house's sentence form.

    ``{function}: `{parameter}` must {must}; got {got!r} at row {row}. {remedy}``

    >>> print(input_error("score", "buckets", "not be empty", got=[], remedy="Give at least one row."))
    score: `buckets` must not be empty; got []. Give at least one row.
    """
    sentence = f"{function}: `{parameter}` must {must}"
    if got is not _ABSENT:
        shown = repr(got)
        if len(shown) > _MAX_SHOWN:
            shown = shown[: _MAX_SHOWN - 3] + "..."
        sentence += f"; got {shown}"
    if row is not None:
        sentence += f" at row {row}"
    sentence += "."
    return InputError(f"{sentence} {remedy}".rstrip())
