"""A template turns the text columns of a row into what a classifier reads: one text, or a pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from string import Formatter
from typing import NamedTuple


class ModelInput(NamedTuple):
    """What a model reads for one row (or for one choice of a row): a text, or a text pair."""

    text: str
    text_pair: str | None


@cache
def _parse(pattern: str) -> tuple[tuple[str, str | None], ...]:
    """Split a pattern into (literal, column) pieces; only plain ``{column}`` fields are allowed."""
    pieces: list[tuple[str, str | None]] = []
    for literal, column, format_spec, conversion in Formatter().parse(pattern):
        if column is not None and (format_spec or conversion or not column.isidentifier()):
            raise ValueError(f"a template has plain {{column}} fields only; got {pattern!r}")
        pieces.append((literal, column))
    return tuple(pieces)


def _render(pattern: str, values: Mapping[str, str]) -> str:
    """Fill `pattern`; where a column's text is empty, the space that would join it is left out as well."""
    rendered = ""
    drop_space = False  # an empty text opened the result: the space after it joins nothing
    for literal, column in _parse(pattern):
        rendered += literal.removeprefix(" ") if drop_space else literal
        drop_space = False
        if column is None:
            continue
        value = values[column]
        if value:
            rendered += value
        elif rendered.endswith(" ") and literal:
            rendered = rendered[:-1]
        else:
            drop_space = rendered == ""
    return rendered


@dataclass(frozen=True)
class Template:
    """How the text columns of a task are put together.

    Parameters
    ----------
    text, text_pair
        `str.format` patterns with plain ``{column}`` fields. `text_pair` is None for a single text.

    Examples
    --------
    >>> Template("{premise} {hypothesis}", "{update}").render(
    ...     {"premise": "", "hypothesis": "It is rude to whisper.", "update": "A baby sleeps nearby."}
    ... )
    ModelInput(text='It is rude to whisper.', text_pair='A baby sleeps nearby.')
    """

    text: str
    text_pair: str | None

    def render(self, values: Mapping[str, str]) -> ModelInput:
        """Fill both patterns with `values` (column -> text).

        Where a column is empty the space that would join it to its neighbour is left out, so that an empty
        premise gives no leading space.
        """
        pair = None if self.text_pair is None else _render(self.text_pair, values)
        return ModelInput(_render(self.text, values), pair)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the patterns name."""
        patterns = [self.text] if self.text_pair is None else [self.text, self.text_pair]
        return frozenset(column for p in patterns for _, column in _parse(p) if column is not None)
