"""Numbers and intervals as people read them everywhere, and the terminal's tables as Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text


def known(value: Any) -> bool:
    """Say whether a value is a number that is defined."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def percent(value: Any, *, digits: int = 1, signed: bool = False, undefined: str = "–") -> str:
    """Return a share as per cent.

    >>> percent(0.7382), percent(0.7382, signed=True), percent(None)
    ('73.8', '+73.8', '–')
    """
    return f"{100 * value:{'+' if signed else ''}.{digits}f}" if known(value) else undefined


def decimal(value: Any, *, digits: int = 4, signed: bool = False, undefined: str = "–") -> str:
    """Return what is no share with a fixed number of decimals."""
    return f"{value:{'+' if signed else ''}.{digits}f}" if known(value) else undefined


def quantity(value: Any, share: bool, *, undefined: str = "undefined") -> str:
    """Return ``73.8 %`` for a share, four decimals for anything else."""
    if not known(value):
        return undefined
    return f"{percent(value)} %" if share else decimal(value)


def number(value: Any) -> str:
    """Return any value: whole numbers with commas, others with four decimals (tiny ones with their power of ten)."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and known(value):
        return decimal(value) if abs(value) >= 1e-4 or value == 0 else f"{value:.1e}"
    return count(value) if value is None or isinstance(value, (int, float)) else str(value)


def plural(n: int, what: str) -> str:
    """Return a number with what it counts.

    >>> plural(1, "bucket"), plural(2230, "row")
    ('1 bucket', '2,230 rows')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def count(value: Any) -> str:
    """Return a whole number with commas at thousands."""
    return f"{value:,}" if known(value) else "–"


def often(share: float, noun: str) -> str:
    """Return a share as people say it: the nearest of simple fractions.

    >>> often(0.199, "answer"), often(0.62, "answer"), often(0.004, "answer"), often(0.0, "answer")
    ('1 answer in 5', '3 answers in 5', '1 answer in 250', 'no answer')
    """
    if share <= 0.0 or share >= 1.0:
        return f"{'every' if share >= 1.0 else 'no'} {noun}"
    if 0.095 <= share <= 0.905:
        simple = [(k, n) for n in (2, 3, 4, 5, 10) for k in range(1, n)] + [(1, n) for n in range(6, 10)]
        k, n = min(simple, key=lambda one: round(abs(one[0] / one[1] - share), 9))
    else:
        n = round(1.0 / min(share, 1.0 - share))
        k = 1 if share < 0.5 else n - 1
    return f"{k:,} {noun}{'s' if k > 1 else ''} in {n:,}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return names as people list them.

    >>> listed(["a", "b", "c", "d", "e", "f"])
    'a, b, c, d and 2 more'
    """
    kept = [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]
    return kept[0] if len(kept) == 1 else f"{', '.join(kept[:-1])} and {kept[-1]}"


def p_value(value: Any, *, undefined: str = "–") -> str:
    """Return a p-value with four decimals.

    >>> p_value(0.0312), p_value(1e-7)
    ('0.0312', '< 0.0001')
    """
    return "< 0.0001" if known(value) and value < 0.0001 else decimal(value, undefined=undefined)


def bounds(intervals: Any, key: str | None = None) -> tuple[float, float] | None:
    """Return an interval's two ends, None where there are none."""
    ends = intervals.get(key) if isinstance(intervals, Mapping) and key is not None else intervals
    if isinstance(ends, Mapping):
        ends = next(iter(ends.values()), None)
    if not isinstance(ends, (list, tuple)) or len(ends) != 2 or not all(known(end) for end in ends):
        return None
    return float(ends[0]), float(ends[1])


def interval(ends: Any, show: Callable[..., str] = percent, **style: Any) -> str:
    """Return two ends as `show` shows each, or nothing where there is no interval.

    >>> interval([0.591, 0.728]), interval([-0.1, 0.2], decimal, digits=2), interval([None, 1.0])
    ('[59.1, 72.8]', '[-0.10, 0.20]', '')
    """
    if (both := bounds(ends)) is None:
        return ""
    return f"[{show(both[0], **style)}, {show(both[1], **style)}]"


def rank_words(standing: Mapping[str, Any] | None) -> str:
    """Return the ranks that a model may have; empty where it was not ranked."""
    if standing is None:
        return ""
    low, high = standing["rank_low"], standing["rank_high"]
    return str(low) if low == high else f"{low} to {high}"


#: What Markdown or HTML would read as more than text.
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": " ", "\r": " "}
_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*~|"} | _ENTITIES)
_EMPHASIS, _LINK = re.compile(r"(?<!\w)_|_(?!\w)"), re.compile(r"\](?=[(\[:])")
_RULES = {"right": "---:", "center": ":---:"}


def as_markdown(parts: Iterable[RenderableType]) -> str:
    """Return tables and lines, as `paraconsist.reporting.tables` yields them, as Markdown, every character as text.

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
    rows = zip(*(map(_text, column.cells) for column in table.columns), strict=True)
    title = [f"**{_text(table.title)}**", ""] if table.title else []
    caption = ["", _text(table.caption)] if table.caption else []
    return "\n".join([*title, *(f"| {' | '.join(row)} |" for row in (heads, rules, *rows)), *caption])


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
