"""The one error that users are meant to read, and the one sentence form it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


_SPEAKER = re.compile(r"([a-z_]+): (?:`(\w+)`)?")


@contextmanager
def speaking_for(function: str, /, **called: str) -> Iterator[None]:
    """Let errors from inside name the function that was called, and its parameters; also a decorator.

    Parameters
    ----------
    function : str
        What errors begin with.
    **called : str
        Parameter of the function that raises -> what the caller calls it.

    >>> with speaking_for("paraphrase", model="generator"):
    ...     raise input_error("load_model", "model", "be there")
    Traceback (most recent call last):
    paraconsist.errors.InputError: paraphrase: `generator` must be there.
    """
    try:
        yield
    except InputError as problem:
        said = str(problem)
        found = _SPEAKER.match(said)
        if found is None:
            raise
        named = "" if found[2] is None else f"`{called.get(found[2], found[2])}`"
        raise InputError(f"{function}: {named}{said[found.end() :]}") from None
