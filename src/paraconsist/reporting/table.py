"""The one model of a table, and its renderings: terminal, Markdown, HTML, notebook and LaTeX."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from importlib.resources import files
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from paraconsist.errors import options_of_command, visible, with_names
from paraconsist.reporting.formatting import (
    UNDEFINED,
    count,
    decimal,
    in_own_words,
    interval,
    known,
    minus,
    number,
    p_value,
    percent,
    quantity,
)


@dataclass(frozen=True)
class Unit:
    """How numbers of one kind are written, and the two ends of their intervals."""

    show: Callable[[Any], str]
    show_end: Callable[[Any], str] = percent


PERCENT = Unit(percent)
WHOLE_PERCENT = Unit(partial(percent, digits=0))
TWO_DIGITS = Unit(partial(percent, digits=2), partial(percent, digits=2))
SHARE = Unit(partial(quantity, share=True))  # with its sign, where a column mixes units
QUANTITY = Unit(partial(quantity, share=False), decimal)
POINTS = Unit(partial(percent, signed=True), partial(percent, signed=True))
DIFFERENCE = Unit(partial(percent, signed=True))  # the ends of whose interval have a sign only where it is a minus
CHANGE = Unit(partial(decimal, signed=True), partial(decimal, signed=True))
NUMBER = Unit(number, decimal)
P_VALUE = Unit(p_value)


@dataclass(frozen=True)
class Cell:
    """A cell of a table: words, or a number with its interval.

    Numbers without a unit are shares in per cent, or whole numbers with commas.
    """

    value: str | float | None = ""
    interval: Any = None  # of the value: its two ends
    unit: Unit | None = None
    below: str = ""  # smaller words under the value
    head: bool = False  # whether it heads its row
    indent: bool = False  # whether its row is below a heading
    symbols: bool = False  # whether words hold symbols of the papers, which HTML and LaTeX print as such
    link: str = ""
    shade: str = ""  # of HTML: "better" or "worse" with -1 to -3
    sort: float | None = None  # the number that HTML sorts by; by default the value
    bar: tuple[float, float] | None = None  # of HTML: the part of a bar that is filled, two shares

    @property
    def text(self) -> str:
        """The words, or the number in its unit."""
        if isinstance(self.value, str):
            return self.value
        if self.unit is not None:
            return self.unit.show(self.value)
        return count(self.value) if isinstance(self.value, int) else percent(self.value)

    @property
    def ends(self) -> str:
        """The interval, or nothing."""
        return interval(self.interval, (self.unit or PERCENT).show_end)

    @property
    def order(self) -> float | None:
        """The number that HTML sorts by; None comes last."""
        own = self.value if self.sort is None else self.sort
        return None if isinstance(own, str) or not known(own) else own


@dataclass(frozen=True)
class Column:
    """A column of a table: its label, what that means, and how its cells are laid out."""

    label: str
    help: str = ""  # HTML opens it by a button
    words: bool = False  # whether cells stand to the left, as words do
    short: str = ""  # the label where there is no button; `help` then follows the table
    interval: str = ""  # the label of a separate column for intervals; without one only HTML shows them, below values
    upright: bool = False  # of HTML: whether the label is turned
    rare: bool = False  # of the page: whether it is among "more columns"


@dataclass(frozen=True)
class Table:
    """A table. A row of one cell is a heading over the rows below it, an empty row a gap."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    kind: str = ""  # of HTML: a class of its style
    wide: bool = False  # whether intervals have their own columns in HTML too, and cells more room in a terminal

    def text_caption(self) -> str:
        """Return the caption with the meanings of the short labels."""
        meanings = [f"{column.short}: {column.help}." for column in self.columns if column.short and column.help]
        return " ".join([*([self.caption] if self.caption else []), *meanings])

    def spread(self, show: Callable[[str], str] = str) -> Table:
        """Return the table with intervals in separate columns, where these have a label; `show` writes them."""
        columns: list[Column] = []
        for column in self.columns:
            columns += [column, *([Column(column.interval)] if column.interval else [])]
        rows: list[Sequence[Cell]] = []
        for row in self.rows:
            cells: list[Cell] = []
            for cell, column in zip(row, self.columns, strict=False):
                has_column = column.interval and len(row) > 1
                cells += [replace(cell, interval=None), Cell(show(cell.ends))] if has_column else [cell]
            rows.append(cells)
        return replace(self, columns=columns, rows=rows)


@dataclass(frozen=True)
class Line:
    """A line between tables: a sentence, a title, a warning or a signature."""

    text: str
    kind: str = ""  # "finding", "title", "warning" or "signature"


Part = Table | Line


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    words: Sequence[str] = (),
    caption: str = "",
    wide: bool = False,
) -> Table:
    """Return a table of texts; the columns in `words`, by default the first one, are words, the others numbers."""
    heads = [Column(label, words=label in (words or columns[:1])) for label in columns]
    return Table(title, heads, [[Cell(cell) for cell in row] for row in rows], caption, wide=wide)


def remarks(warnings: Iterable[Any], signatures: Iterable[Any], noun: str = "") -> Iterator[Line]:
    """Yield what follows tables: each warning (of tasks in their own words) and each signature once, as a line."""
    said = (in_own_words(str(each), noun) if noun == "task" else str(each) for each in dict.fromkeys(warnings))
    yield from (Line(warning, "warning") for warning in said)
    yield from (Line(str(signature), "signature") for signature in dict.fromkeys(signatures))


# ---- terminal

_NARROWEST = 12  # letters of a name that stay on one line however narrow the table is
_IN_A_FILE = 200  # letters of a line where no terminal gives its width
_STYLES = {"title": "bold", "warning": "yellow", "signature": "dim"}


def show(parts: Iterable[Part], *, markdown: bool = False) -> None:
    """Print tables and lines, their warnings to standard error; a Markdown document keeps its warnings."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # else names in letters that it lacks end the command
    if markdown:
        print(as_markdown(parts))
    else:
        width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _IN_A_FILE
        _print(Console(width=width), parts, Console(width=width, stderr=True))


def as_text(parts: Iterable[Part]) -> str:
    """Return tables and lines as a terminal of 120 letters shows them."""
    text = io.StringIO()
    _print(Console(file=text, width=120, color_system=None, force_jupyter=False), parts)
    return text.getvalue().rstrip()


def _print(console: Console, parts: Iterable[Part], warnings: Console | None = None) -> None:
    for part in parts:
        if isinstance(part, Table):
            console.print(_in_terminal(part))
        else:
            is_warning = part.kind == "warning"
            text = f"warning: {with_names(part.text, options_of_command)}" if is_warning else part.text
            to = warnings or console if is_warning else console
            to.print(Text(visible(text), style=_STYLES.get(part.kind, "")), soft_wrap=part.kind != "finding")


def _plain(cell: Cell) -> str:
    """Return a cell where there is one line for it: the words below follow in brackets, and undefined is a hyphen."""
    text = f"{cell.text} ({cell.below})" if cell.below else cell.text
    return f"{'  ' * cell.indent}{'-' if text == UNDEFINED else text}"


def _in_terminal(table: Table) -> RichTable:
    wide, caption = table.spread(), table.text_caption()
    fitting = _Fitting(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 1) if table.wide else (0, 1, 0, 0),
        title=Text(visible(table.title), style="bold"),
        title_justify="left",
        caption=Text(visible(caption, keep="\n"), style="table.caption") if caption else None,
        caption_justify="left",
    )
    for column in wide.columns:
        head = Text(visible(column.short or column.label, keep="\n"))
        if column.words:
            fitting.add_column(head, justify="left", overflow="fold")
        else:
            fitting.add_column(head, justify="right", no_wrap=True)
    for row in wide.rows:
        if row:
            fitting.add_row(*(Text(visible(_plain(cell)), style="bold" if len(row) == 1 else "") for cell in row))
        else:
            fitting.add_section()
    return fitting


class _Fitting(RichTable):
    """A table whose numbers and names stay whole where the terminal is narrow.

    Cells then take several lines; where that is not enough each row is a paragraph.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        needed = len(self.columns) * (1 + self.padding[1] + self.padding[3]) + 1
        for column in self.columns:
            cells = [line for cell in (column.header, *column.cells) for line in str(cell).split("\n")]
            if column.overflow == "fold":
                column.min_width = min(
                    max(len(word) + 2 for cell in cells for word in cell.split() or [""]), _NARROWEST
                )
            needed += column.min_width or max(map(len, cells))
        if needed > options.max_width:
            self.padding = 0
            for column in self.columns:
                words = [word for cell in (column.header, *column.cells) for word in str(cell).split()]
                column.no_wrap, column.width = False, None if column.min_width else max(map(len, words), default=0)
            least = sum(1 + (column.min_width or column.width or 0) for column in self.columns)
            if least > options.max_width:
                yield from self._paragraphs()
                return
        yield from super().__rich_console__(console, options)

    def _paragraphs(self) -> Iterator[RenderableType]:
        heads = [" ".join(str(column.header).split()) for column in self.columns[1:]]
        yield Text(str(self.title), style="bold")
        for name, *cells in zip(*(column.cells for column in self.columns), strict=True):
            yield Text(str(name), style="" if any(map(str, cells)) else "bold")
            yield from (Text(f"    {head}: {cell}") for head, cell in zip(heads, cells, strict=True) if str(cell))
        if self.caption is not None:
            yield self.caption


# ---- Markdown

_SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "\\`*~|$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": " ", "\r": " "}
)
_EMPHASIS, _LINK = re.compile(r"(?<![^\W_])_|_(?![^\W_])"), re.compile(r"\](?=[(\[:])")
_BLOCK = re.compile(r"^(\d*)(?=[-+.)] |#+ )")  # what a list or a heading begins with
#: GitHub makes mentions and links of the rendered text, so an entity is not enough: a space without width parts them.
_ZERO_WIDTH = {"@": "&#64;&#8203;", "://": ":&#8203;//", "www.": "www&#8203;."}


def as_markdown(parts: Iterable[Part]) -> str:
    """Return tables and lines as Markdown, every character of theirs as text.

    >>> print(as_markdown([table("snli", ["measure", "value"], [["P_C", "74.8 %"]])]))
    **snli**
    <BLANKLINE>
    | measure | value |
    | --- | ---: |
    | P_C | 74.8 % |
    """
    return "\n\n".join(map(_markdown, parts))


def _markdown(part: Part) -> str:
    if isinstance(part, Line):
        if part.kind == "signature" and "`" not in part.text:
            return f"`{visible(part.text)}`"
        return _escaped(f"warning: {part.text}" if part.kind == "warning" else part.text)
    wide, caption = part.spread(), part.text_caption()
    heads = [_escaped(column.short or column.label) for column in wide.columns]
    rules = ["---" if column.words else "---:" for column in wide.columns]
    rows = [[_escaped(_plain(cell)) for cell in row] for row in wide.rows if row]
    lines = [[*row, *[""] * (len(heads) - len(row))] for row in (heads, rules, *rows)]
    title = [f"**{_escaped(part.title)}**", ""] if part.title else []
    return "\n".join(
        [*title, *(f"| {' | '.join(line)} |" for line in lines), *(["", _escaped(caption)] if caption else [])]
    )


def _escaped(text: str) -> str:
    plain = visible(text, keep="\n\r")
    indent = len(plain) - len(plain.lstrip(" "))
    text = _LINK.sub(r"\\]", _EMPHASIS.sub(r"\_", _BLOCK.sub(r"\1\\", plain.strip().translate(_SPECIAL))))
    for sign, parted in _ZERO_WIDTH.items():
        text = text.replace(sign, parted)
    return "&nbsp;" * indent + text


# ---- HTML


def _safe(text: str) -> str:
    return escape(visible(text, keep="\n"))


def with_symbols(text: str) -> str:
    """Return a text as HTML with the papers' symbols as they are printed: P_C with its C below, no number without %."""
    kept = _safe(text).replace(" %", "\N{NO-BREAK SPACE}%")
    return re.sub(r"\b([ACP])_([COT]|traj)\b", r"\1<sub>\2</sub>", kept)


def to_html(table: Table, explain: Callable[[str, str], str] | None = None) -> str:
    """Return a table as HTML, for the page with `explain`, which makes a button of a label and its meaning.

    Elsewhere the meanings are tooltips, and links to places of the page are left out.
    """
    wide = table.spread(minus) if table.wide else table
    is_on_page = explain is not None
    kind = f" {table.kind}" if table.kind else ""
    lines = [
        f'<div class="scroll{kind}" tabindex="0" role="group" aria-label="{_safe(table.title)}">',
        f"<table>\n<caption>{with_symbols(table.title)}</caption>\n<thead><tr>",
    ]
    for column in wide.columns:
        place = ' class="upright"' if column.upright else f' class="{names}"' if (names := _classes(column)) else ""
        label = f"<span>{_safe(column.label)}</span>" if column.upright else with_symbols(column.label)
        if column.help and explain is not None:
            label += f" {explain(column.label, column.help)}"
        elif column.help:
            place += f' title="{_safe(column.help)}"'
        lines.append(f'<th scope="col"{place}>{label}</th>')
    lines.append("</tr></thead>\n<tbody>")
    for row in wide.rows:
        if len(row) == 1:
            over = f'<th scope="colgroup" colspan="{len(wide.columns)}"><span>{with_symbols(row[0].text)}</span></th>'
            lines.append(f'<tr class="heading">{over}</tr>')
        elif row:
            kept = [cell if is_on_page or not cell.link.startswith("#") else replace(cell, link="") for cell in row]
            is_sortable = table.kind == "sortable"
            cells = "".join(_html_cell(*both, is_sortable) for both in zip(kept, wide.columns, strict=True))
            lines.append(f"<tr>{cells}</tr>")
    caption = f'\n<p class="note">{with_symbols(table.caption)}</p>' if table.caption else ""
    return "\n".join([*lines, f"</tbody>\n</table>\n</div>{caption}"])


def _classes(column: Column) -> str:
    return " ".join([*([] if column.words else ["number"]), *(["rare"] if column.rare else [])])


def _html_cell(cell: Cell, column: Column, is_sortable: bool) -> str:
    words = _html_words(cell)
    if cell.head:
        return f'<th scope="row" class="indent">{words}</th>' if cell.indent else f'<th scope="row">{words}</th>'
    classes = f"{_classes(column)} {cell.shade}".strip()
    attributes = f' data-sort="{cell.order}"' if is_sortable and cell.order is not None else ""
    attributes += f' class="{classes}"' if classes else ""
    return f"<td{attributes}>{words}</td>"


def _html_words(cell: Cell) -> str:
    if isinstance(cell.value, str):
        words, below = with_symbols(cell.value) if cell.symbols else _safe(cell.value), _safe(cell.below)
    else:
        words = _safe(minus(cell.text)).replace(" %", "\N{NO-BREAK SPACE}%")
        below = _safe(cell.below) or minus(cell.ends)
    if cell.bar is not None:
        start, end = (f"{100 * share:.2f}" for share in (cell.bar[0], cell.bar[1] - cell.bar[0]))
        words += (
            '<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
            '<path class="fill-grid" d="M0 1.6h100v.8h-100z"/>'
            f'<rect class="fill-series-0" x="{start}" width="{end}" height="4"/></svg>'
        )
    words += f"<small>{below}</small>" if below else ""
    if not cell.link:
        return words
    untabbed = ' tabindex="-1"' if cell.shade else ""
    return f'<a href="{_safe(cell.link)}"{untabbed}>{words}</a>'


def as_html(parts: Iterable[Part]) -> str:
    """Return tables and lines for a notebook, readable in its light and its dark theme.

    Letters inherit the notebook's colours, and lines are translucent grey (``notebook.css``).
    """
    blocks = []
    for part in parts:
        if isinstance(part, Table):
            blocks.append(to_html(replace(part, caption=part.text_caption())))
        elif part.kind == "signature":
            blocks.append(f'<p class="note"><code>{_safe(part.text)}</code></p>')
        else:
            blocks.append(f"<p>{'<b>Warning:</b> ' if part.kind == 'warning' else ''}{with_symbols(part.text)}</p>")
    style = files("paraconsist.reporting").joinpath("notebook.css").read_text(encoding="utf-8").replace("\n", "")
    return "\n".join([f'<div class="paraconsist"><style>{style}</style>', *blocks, "</div>"])


# ---- LaTeX

_TEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "<": "$<$", ">": "$>$"}
    | {"−": "$-$", "–": "--", "\n": " ", "|": r"\textbar{}"}
)


def as_latex(parts: Iterable[Part]) -> str:
    """Return tables for LaTeX with the package booktabs; lines between them are comments.

    >>> print(as_latex([table("snli", ["measure", "value"], [["P_C", "74.8 %"]])]))
    \\begin{table}
    \\centering
    \\caption{snli}
    \\begin{tabular}{lr}
    \\toprule
    measure & value \\\\
    \\midrule
    $P_C$ & 74.8 \\% \\\\
    \\bottomrule
    \\end{tabular}
    \\end{table}
    """
    return "\n\n".join(_latex(part) for part in parts)


def _latex(part: Part) -> str:
    if isinstance(part, Line):
        return f"% {visible(part.text)}"
    wide, caption = part.spread(), part.text_caption()
    n, lines = len(wide.columns), []
    for place, row in enumerate(wide.rows):
        if len(row) == 1:
            lines.append(rf"\multicolumn{{{n}}}{{l}}{{\textit{{{_tex(row[0].text)}}}}} \\")
        elif row:
            cells = [(r"\quad " if cell.indent else "") + _tex(_plain(replace(cell, indent=False))) for cell in row]
            line = re.sub(r"^([\[*])", r"{\1}", " & ".join(cells))  # else an argument of the line break before it
            lines.append(rf"{line} \\")
        elif place + 1 < len(wide.rows):
            lines.append(r"\addlinespace")
    heads = " & ".join(_tex(column.short or column.label) for column in wide.columns)
    frame = [r"\begin{table}", r"\centering", rf"\caption{{{_tex(part.title)}}}"]
    frame += [rf"\begin{{tabular}}{{{''.join('l' if column.words else 'r' for column in wide.columns)}}}", r"\toprule"]
    frame += [rf"{heads} \\", r"\midrule", *lines, r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*frame, *([rf"\par\smallskip\footnotesize {_tex(caption)}"] if caption else []), r"\end{table}"])


def _tex(text: str) -> str:
    plain = visible(text, keep="\n").strip().translate(_TEX)
    plain = re.sub(r"(?<![$\w.])-(?=\d)", "$-$", plain)
    return re.sub(r"\b([AP])\\_([COT])\b", r"$\1_\2$", plain)
