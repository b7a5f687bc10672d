"""Numbers, intervals and tables as the page shows them.

The terminal's tables as Markdown, for issues, model cards and papers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text


@dataclass(frozen=True)
class Cell:
    """What stands in a table: a text, a smaller one under it (an interval), whether it heads its line, stands under a
    heading, or is a name of ours, whose signs are set as in print.
    """

    text: str
    below: str = ""
    head: bool = False
    indent: bool = False
    ours: bool = False


@dataclass(frozen=True)
class Column:
    """A column's label, what it means (shown on hovering), and whether it holds numbers."""

    label: str
    title: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """A table of the page; a row with one cell is a heading over the rows below it."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


def known(value: Any) -> bool:
    """Say whether a value is a number that is defined."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def percent(value: Any) -> str:
    """Return a share as per cent with one decimal, "–" where it is undefined.

    >>> percent(0.7382), percent(None)
    ('73.8', '–')
    """
    return f"{100 * value:.1f}" if known(value) else "–"


def number(value: Any, digits: int = 4) -> str:
    """Return a value with a fixed number of decimals; whole numbers and texts as they are."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return "–"
        return f"{value:.{digits}f}" if abs(value) >= 10**-digits or value == 0 else f"{value:.1e}"
    return "–" if value is None else str(value)


def count(value: Any) -> str:
    """Return a whole number with commas at thousands."""
    return f"{value:,}" if known(value) else "–"


def bounds(intervals: Any, key: str | None = None) -> tuple[float, float] | None:
    """Return an interval's two ends, None where there are none."""
    found = intervals.get(key) if isinstance(intervals, Mapping) and key is not None else intervals
    if isinstance(found, Mapping):
        found = next(iter(found.values()), None)
    if not isinstance(found, (list, tuple)) or len(found) != 2 or not all(known(end) for end in found):
        return None
    return float(found[0]), float(found[1])


def interval(ends: tuple[float, float] | None, *, percent: bool = True, digits: int = 4) -> str:
    """Return ``[59.1, 72.8]``, or nothing where there is no interval."""
    if ends is None:
        return ""
    low, high = ends
    shown = f"[{100 * low:.1f}, {100 * high:.1f}]" if percent else f"[{low:.{digits}f}, {high:.{digits}f}]"
    return shown.replace("-", "−")


#: What Markdown or HTML would read as more than text.
_SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "\\`*~|"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": " ", "\r": " "}
)
_EMPHASIS, _LINK = re.compile(r"(?<!\w)_|_(?!\w)"), re.compile(r"\](?=[(\[:])")
_RULES = {"right": "---:", "center": ":---:"}


def as_markdown(parts: Iterable[RenderableType]) -> str:
    """Return tables and lines as Markdown, every character of theirs as text.

    Parameters
    ----------
    parts : iterable of rich Table, rich Text or str
        What `paraconsist.reporting.tables.result_tables` and its like yield.

    Examples
    --------
    >>> table = RichTable(title="snli")
    >>> table.add_column("measure")
    >>> table.add_column("value", justify="right")
    >>> table.add_row("P_C", "74.8 %")
    >>> print(as_markdown([table]))
    **snli**
    <BLANKLINE>
    | measure | value |
    | --- | ---: |
    | P_C | 74.8 % |
    """
    return "\n\n".join(_table(part) if isinstance(part, RichTable) else _line(part) for part in parts)


def _table(table: RichTable) -> str:
    heads = [_text(column.header) for column in table.columns]
    rules = [_RULES.get(column.justify, "---") for column in table.columns]
    rows = zip(*(column.cells for column in table.columns), strict=True)
    lines = [_row(heads), _row(rules), *(_row([_text(cell) for cell in row]) for row in rows)]
    title = [f"**{_text(table.title)}**", ""] if table.title else []
    caption = ["", _text(table.caption)] if table.caption else []
    return "\n".join([*title, *lines, *caption])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _line(part: RenderableType) -> str:
    text = part if isinstance(part, Text) else Text(str(part))
    is_signature = "|v:" in text.plain and "`" not in text.plain
    return f"`{text.plain}`" if is_signature else _text(text)


def _text(value: object) -> str:
    """Return a cell as plain text: rich reads strings as markup, Markdown must read none."""
    plain = value.plain if isinstance(value, Text) else Text.from_markup(str(value)).plain
    indent = len(plain) - len(plain.lstrip(" "))
    escaped = _LINK.sub(r"\\]", _EMPHASIS.sub(r"\_", plain.strip().translate(_SPECIAL)))
    return "&nbsp;" * indent + escaped
