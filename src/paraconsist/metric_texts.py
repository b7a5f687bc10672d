"""The check that modules on texts make before evaluate sees the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paraconsist.errors import input_error
from paraconsist.metric_input import checked_batch

__all__ = ["text_batch"]


def text_batch(metric: str, batch: Mapping[str, Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the declared columns as plain lists of texts.

    Raises
    ------
    InputError
        As `paraconsist.metric_input.checked_batch`, and for values that are no texts.

    Examples
    --------
    >>> text_batch("m", {"paraphrases": ("a",), "originals": ["b"]}, ["paraphrases", "originals"])
    {'paraphrases': ['a'], 'originals': ['b']}
    """
    checked = checked_batch(metric, batch, names)
    for name in names:
        if not isinstance(checked[name][0], str):
            raise input_error(metric, name, "hold texts", got=checked[name][0], row=0)
    return checked
