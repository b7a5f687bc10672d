"""The terminal's tables as Markdown, for issues, model cards and papers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

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
