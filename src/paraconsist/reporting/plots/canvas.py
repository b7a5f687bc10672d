"""The canvas of every plot: figure, axes, theme, and the ways out: SVG as a part of a page, SVG and PNG files.

An inline SVG has classes or the page's variables for its colours, so that they follow light and dark mode, and no
``style="..."``, which a strict content security policy forbids: presentation attributes stand in its place.
"""

from __future__ import annotations

import io
import math
import os
import re
import textwrap
import threading
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from paraconsist.errors import check_number, input_error
from paraconsist.files import make_folder, replacing, to_json

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

#: The light theme; the page's style sheet has the dark one under the same names. Any two series are at least 14 apart
#: (CIEDE2000) to a reader with full colour vision and without each of the three cones, and 3:1 from the paper.
COLOURS = {
    "paper": "#ffffff",
    "ink": "#1f2430",
    "muted": "#667080",
    "grid": "#e4e7ec",
    "shade": "#f1f3f6",
    "good": "#0d9488",
    "bad": "#d9480f",
    "mixed": "#e0a526",
}
_SERIES = ("#0072b2", "#d85f00", "#00a866", "#9d5472", "#1b1f8a", "#624500")
COLOURS |= {f"series-{number}": colour for number, colour in enumerate(_SERIES)}
INK, MUTED, GRID, GOOD, BAD = (COLOURS[name] for name in ("ink", "muted", "grid", "good", "bad"))
_NAMES = {value: name for name, value in COLOURS.items()}
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_FONT = re.compile(r"(?:(?P<weight>bold|\d{3}) )?(?P<size>[\d.]+)px")
#: What matplotlib writes and a page has no use for: its own style, and the paper, which is the page's.
_LEFT_OUT = tuple(f"{{{_SVG}}}{tag}" for tag in ("metadata", "title", "style"))
_PAPER = "patch_1"
_LONG = re.compile(r"-?\d+\.\d{3,}")  # a coordinate with more digits than can be seen
_UNSCALED = ("eps", "ps", "pgf", "svgz")  # formats of drawings whose pages are not made smaller here
_SIZE = re.compile(rb'((?:width|height)=")([\d.]+)pt')  # of an SVG
_SIGN = re.compile(r"\b([AP])_([COT])\b")  # of the papers

#: Width of every figure in inches; at this width its letters are readable on a phone.
WIDTH = 5.0
#: Least and largest width of a figure that is saved, in mm, and the size of its caption's letters, in points.
_WIDTHS, _CAPTION = (50.0, 500.0), 7.0
MARKERS = ("o", "s", "^", "D", "v", "P", "X")  # as many as have no divisor in common with the colours
_LEGEND_ROW = 0.19
_GAP = 0.2  # inches between small axes
_MOST_LETTERS, _IN_WORDS = 30, 80  # of a name in a figure, and in what is said of one

#: What matplotlib is told while a figure is made or written; nothing outside of that is changed.
_STYLE = {
    "font.size": 9.5,
    "font.family": "sans-serif",
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.axisbelow": True,
    "grid.color": COLOURS["grid"],
    "legend.fontsize": 9,
    "lines.linewidth": 1.4,
    "pdf.fonttype": 42,
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), COLOURS["paper"]),
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), COLOURS["ink"]),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), COLOURS["muted"]),
    **dict.fromkeys(("axes.linewidth", "grid.linewidth", "xtick.major.width", "ytick.major.width"), 0.7),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 3),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "text.parse_math", "legend.frameon"), False),
}
_Mark: TypeAlias = tuple[str, str, Mapping[str, Any]]  # of a drawn value: title, link, its line in the figure's CSV
_DRAWING = threading.Lock()  # matplotlib's settings belong to the process, which may serve several pages


@dataclass(frozen=True)
class Plot:
    """A figure and the words that go with it."""

    name: str  # of its files and of its place on the page: letters, digits and dashes
    title: str
    caption: str  # how to read it, in plain words
    description: str  # what somebody learns who cannot see it
    draw: Callable[[Axes], None]  # draws it on its axes, which have a quiet grid
    height: float = 3.0  # in inches, as the width; legends add to it
    width: float = WIDTH


def series_colour(number: int) -> str:
    """Return the colour of the model with this number; after six they come round again."""
    return COLOURS[f"series-{number % len(_SERIES)}"]


def series_marker(number: int) -> str:
    """Return the marker of the model with this number: 42 models have no two alike in both colour and marker."""
    return MARKERS[number % len(MARKERS)]


def mark(artist: Artist, title: str, href: str = "", **values: Any) -> None:
    """Name a drawn value: on a page its element gets a title, and is a link to `href` where there is one.

    `values` are its line in the figure's CSV, by column.
    """
    figure: Any = artist.figure
    artist.set_gid(f"mark-{len(figure.marks)}")
    line = {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in values.items()}
    figure.marks.append((_line(title), href, line))


def panels(
    axes: Axes,
    titles: Sequence[str],
    n_columns: int,
    *,
    label: str,
    left: float,
    right: float = 0.16,
    below: float = 0.5,
) -> list[Axes]:
    """Put small axes in the place of one, row by row, each with its title; `label` is that of x.

    `left`, `right` and `below` are the room in inches beside and below them: for the labels of y and x, and a legend.
    """
    figure: Any = axes.figure
    axes.remove()
    figure.set_layout_engine("none")
    (width, height), n_rows = figure.get_size_inches(), -(-len(titles) // n_columns)
    top = max(0.17 + 0.15 * title.count("\n") for title in titles) + 0.08
    across, down = (width - left - right + _GAP) / n_columns, (height - below) / n_rows
    parts = []
    for place, title in enumerate(titles):
        x, y = left + place % n_columns * across, height - (place // n_columns + 1) * down
        part = figure.add_axes((x / width, y / height, (across - _GAP) / width, (down - top) / height))
        part.grid(True)
        part.set_title(title, fontsize=8.5)
        part.tick_params(labelsize=8.5, labelleft=place % n_columns == 0, labelbottom=place + n_columns >= len(titles))
        parts.append(part)
    middle = (left + (width - left - right) / 2) / width
    figure.text(middle, (below - 0.48) / height, label, ha="center", va="bottom", fontsize=9.5)
    return parts


def short(text: object, most: int = _IN_WORDS) -> str:
    """Return a name as it can stand in a figure's words: one line, no control characters, not too long."""
    return _cut(_line(str(text)), most, 0)


def told_apart(names: Sequence[str], most: int) -> list[str]:
    """Return names of at most so many letters, different where the names are.

    Too long ones lose what all begin and end with, then letters at the end or in the middle; where that leaves two
    alike, they are numbered.

    >>> told_apart(["snli__bilstm__human", "snli__deberta-v3-large__human"], 18)
    ['…bilstm…', '…deberta-v3-large…']
    >>> told_apart(["one-long-name-of-a", "one-long-name-of-b", "two-long-name-of-a"], 8)
    ['one-lo…a', 'one-lo…b', 'two-lo…a']
    """
    lines = [_line(name) for name in names]
    for _ in range(2 if len(set(lines)) > 1 else 0):  # what is turned round ends with what it began with
        spare = max(map(len, lines)) - most
        common = min(len(os.path.commonprefix(lines)), min(map(len, lines)) - 4)  # noqa: RUF071
        lines = [f"…{line[min(common, spare + 1) :]}" if common > 1 and spare > 0 else line for line in lines]
        lines = [line[::-1] for line in lines]
    numbers = [f" {number}" for number, _ in enumerate(lines, 1)]
    ways = [
        *([_cut(line, most, tail) for line in lines] for tail in range(most - 1)),
        [_cut(line, most - len(number), 0) + number for line, number in zip(lines, numbers, strict=True)],
    ]
    n_different = len(set(names))
    return next((way for way in ways if len(set(way)) == n_different), ways[-1])


def _cut(line: str, most: int, tail: int) -> str:
    """Return a line of at most `most` letters, the last `tail` of its own at the end."""
    return line if len(line) <= most else f"{line[: most - 1 - tail]}…{line[len(line) - tail :]}"


def _line(text: str) -> str:
    """Return a text on one line, without the control characters that no SVG may hold."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def legend_entry(label: str, colour: str, marker: str, **style: Any) -> Line2D:
    """Return a legend's entry of its own, where no single line of the plot has the label."""
    from matplotlib.lines import Line2D

    return Line2D([], [], marker=marker, color=colour, label=label, **style)


def legend_of_models(axes: Axes, models: Sequence[str], **style: Any) -> None:
    """Put a legend below the axes that has each model by its colour and marker."""
    names = told_apart(models, 44)
    legend(axes, [legend_entry(name, series_colour(i), series_marker(i), **style) for i, name in enumerate(names)])


def legend_height(labels: Iterable[str]) -> float:
    """Return the room in inches that a legend takes."""
    return _LEGEND_ROW * -(-len(list(labels)) // _legend_columns(labels))


def _legend_columns(labels: Iterable[str]) -> int:
    return 1 if max(map(len, labels)) > _MOST_LETTERS - 4 else 2


def legend(axes: Axes, entries: Iterable[Any] | None = None, **style: Any) -> None:
    """Put a legend of one or two columns below the axes, in room of its own; by default each label on them once."""
    labelled = {handle.get_label(): handle for handle in axes.get_legend_handles_labels()[0]}
    handles = list(labelled.values() if entries is None else entries)
    if handles:
        figure: Any = axes.figure
        is_free = figure.get_layout_engine() is not None  # else room is there already
        labels = [str(handle.get_label()) for handle in handles]
        figure.set_figheight(figure.get_figheight() + legend_height(labels) * is_free)
        place = f"{'outside ' if is_free else ''}lower center"
        figure.legend(handles=handles, loc=place, ncols=_legend_columns(labels), **style)


def logarithmic(axes: Axes) -> None:
    """Make y logarithmic, its ticks plain text: no text in a figure is read as mathematics, so neither are they."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def inline_svg(plot: Plot, variables: Mapping[str, str] | None = None) -> str:
    """Return the figure as an SVG element that takes its colours and letters from the page around it.

    `variables`: name of a colour -> the page's CSS variable; by default colours are classes, such as ``fill-ink``.
    """
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    from matplotlib.figure import Figure

    out = io.BytesIO()
    with _styled(**{"svg.fonttype": "none", "svg.hashsalt": plot.name}):
        figure: Any = _draw_on(Figure, plot, for_page=True)
        figure.savefig(out, format="svg", metadata=_about(plot))
    root, marks = ET.fromstring(out.getvalue()), figure.marks
    for parent in list(root.iter()):
        for child in list(parent):
            of_figure = parent is root or parent.get("id") == "figure_1"
            if child.tag in _LEFT_OUT or (of_figure and child.get("id") == _PAPER):
                parent.remove(child)
    for element in root.iter():
        _unstyle(element, variables)
        if element.tag == f"{{{_SVG}}}text" and (sign := _SIGN.search(element.text or "")):
            low, rest = {"dy": "0.25em", "font-size": "75%"}, {"dy": "-0.19em"}
            for text, look in ((sign[2], low), (sign.string[sign.end() :], rest)):
                ET.SubElement(element, f"{{{_SVG}}}tspan", look).text = text
            element.text = sign.string[: sign.end(1)]
        name_of_mark = element.get("id", "").partition("mark-")[2]
        _rename(element, plot.name)
        if name_of_mark:
            _name(element, *marks[int(name_of_mark)])
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("role", "group" if any(href for _, href, _ in marks) else "img")
    root.set("aria-label", _line(f"{plot.title}. {plot.description}" if plot.title else plot.description))
    root.set("class", "plot")
    return ET.tostring(root, encoding="unicode")


def _unstyle(element: ET.Element, variables: Mapping[str, str] | None) -> None:
    """Turn the style attribute into presentation attributes, and the theme's colours into the page's."""
    parts = (part.split(":", 1) for part in element.attrib.pop("style", "").split(";") if ":" in part)
    style = {key.strip(): value.strip() for key, value in parts}
    style |= {key: element.attrib.pop(key) for key in ("fill", "stroke") if key in element.attrib}
    if element.tag == f"{{{_SVG}}}text":
        style.setdefault("fill", COLOURS["ink"])
    classes = []
    for key, value in style.items():
        colour = _NAMES.get(value.lower()) if key in ("fill", "stroke") else None
        if colour is not None and variables is not None:
            element.set(key, f"var({variables[colour]})")
        elif colour is not None:
            classes.append(f"{key}-{colour}")
        elif key == "font":
            if (font := _FONT.search(value)) is not None:
                element.set("font-size", font["size"])
                if font["weight"]:
                    element.set("font-weight", font["weight"])
        elif key != "font-family":
            element.set(key, value.removesuffix("px") if key == "font-size" else value)
    if classes:
        element.set("class", " ".join(classes))


def _name(element: ET.Element, title: str, href: str, values: Mapping[str, Any]) -> None:
    """Make a drawn value's group say what it is, and lead where it leads."""
    element.set("data-row", to_json(values, indent=None).strip())
    if href:
        element.tag = f"{{{_SVG}}}a"
        element.set("href", href)
        element.set("aria-label", title)
    element.set("class", "datum")
    text = ET.Element(f"{{{_SVG}}}title")
    text.text = title
    element.insert(0, text)


def _rename(element: ET.Element, name: str) -> None:
    """Make ids unique on the page, and coordinates short."""
    for key in ("d", "x", "y", "transform"):
        if key in element.attrib:
            element.set(key, _LONG.sub(lambda number: f"{float(number[0]):.2f}", element.attrib[key]))
    if "id" in element.attrib:
        element.set("id", f"{name}-{element.get('id')}")
    for key in (f"{{{_XLINK}}}href", "href"):
        if element.get(key, "").startswith("#"):
            element.set(key, f"#{name}-{element.get(key, '')[1:]}")
    if element.get("clip-path", "").startswith("url(#"):
        element.set("clip-path", element.get("clip-path", "").replace("url(#", f"url(#{name}-"))


def write_plot(plot: Plot, folder: Path) -> list[Path]:
    """Write ``<name>.png``, ``.svg`` and ``.pdf`` on white paper, in a folder that is made; return the paths."""
    make_folder(folder)
    figure, files = drawn(plot), [folder / f"{plot.name}.{kind}" for kind in ("png", "svg", "pdf")]
    for file in files:
        figure.savefig(file, dpi=200)
    return files


def _about(plot: Plot) -> dict[str, str | None]:
    return {"Title": _line(plot.title), "Description": _line(plot.description), "Date": None, "Creator": None}


def drawn(plot: Plot, width: float | None = None, caption: str = "") -> Figure:
    """Return the plot as a matplotlib figure of its own, without global state; notebooks show it.

    It is saved `width` mm wide. A figure that is narrower than on a page is drawn as there and made smaller with all of
    its letters, so that no two meet. The `caption` is written below it.
    """
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    inches = plot.width if width is None else check_number("plot", "width", width, *_WIDTHS) / 25.4
    if math.isnan(inches):
        raise input_error("plot", "width", "be a number of mm", got=width)
    scale = min(1.0, inches / plot.width)

    class Shown(Figure):
        def savefig(self, fname: Any, **options: Any) -> None:
            is_stream = hasattr(fname, "write")
            named = "" if is_stream else Path(fname).suffix[1:].lower()
            kind = options.setdefault("format", named or "png")
            if kind in _UNSCALED and scale < 1.0:
                raise input_error("savefig", "format", "be pdf, svg or that of a picture, such as png", got=kind)
            across, high = self.get_size_inches()
            options.setdefault("bbox_inches", Bbox([[0, -room], [across, high]]) if room else None)
            if kind not in ("svg", "pdf") and width is not None:  # pixels: as many as the width takes
                dots = options.get("dpi", 300)
                options |= {"dpi": scale * dots, "pil_kwargs": {"dpi": (dots, dots)}}
            if kind == "svg":
                options.setdefault("metadata", _about(plot))
            if kind == "pdf":  # without a date, so that the same figure is the same file
                options.setdefault("metadata", {"Title": _line(plot.title), "CreationDate": None})
            out = io.BytesIO()
            with _styled(**{"svg.hashsalt": plot.name}), _smaller_pages(scale):
                super().savefig(out, **options)
            image = out.getvalue()
            if kind == "svg":
                image = _SIZE.sub(lambda size: b"%s%.4fpt" % (size[1], scale * float(size[2])), image, count=2)
            if is_stream:
                fname.write(image)
                return
            with replacing(Path(fname) if Path(fname).suffix else Path(f"{fname}.{kind}")) as partial:
                partial.write_bytes(image)

        def _repr_png_(self) -> bytes:
            out = io.BytesIO()
            self.savefig(out, format="png", dpi=144)
            return out.getvalue()

    with _styled():
        figure = _draw_on(Shown, replace(plot, width=max(inches, plot.width)))
        size = _CAPTION / scale  # in points, on paper that is made smaller afterwards
        lines = textwrap.wrap(caption, int(figure.get_size_inches()[0] * 72 / (0.55 * size)))
        room = len(lines) * 1.3 * size / 72
        if lines:
            figure.text(0.01, 0.0, "\n".join(lines), va="top", fontsize=size, linespacing=1.2)
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            for legend in figure.legends:  # at the bottom of the figure, not of the sheet with its caption
                legend.set_bbox_to_anchor((0, 0, 1, 1), figure.transFigure)
        return figure


@contextmanager
def _smaller_pages(scale: float) -> Iterator[None]:
    """Make the pages of a PDF, which matplotlib measures in points, smaller with everything on them."""
    from matplotlib.backends import backend_pdf

    whole: Any = backend_pdf.PdfFile

    class Smaller(whole):  # type: ignore[misc]
        def newPage(self, width: float, height: float) -> None:
            super().newPage(scale * width, scale * height)
            self.width, self.height = width, height  # beyond which nothing is drawn
            self.output(scale, 0, 0, scale, 0, 0, backend_pdf.Op.concat_matrix)

    backend_pdf.PdfFile = Smaller
    try:
        yield
    finally:
        backend_pdf.PdfFile = whole


def _draw_on(kind: type[Figure], plot: Plot, *, for_page: bool = False) -> Figure:
    from matplotlib.text import Text

    figure: Any = kind(figsize=(plot.width, plot.height), layout="constrained")
    figure.marks = list[_Mark]()  # in the order of drawing
    axes = figure.add_subplot()
    axes.grid(True)
    plot.draw(axes)
    for text in () if for_page else figure.findobj(Text):
        if "$" not in text.get_text() and _SIGN.search(text.get_text()):
            text.set(text=_SIGN.sub(r"$\\mathregular{\1_\2}$", text.get_text()), parse_math=True)
    return figure  # type: ignore[no-any-return]


@contextmanager
def _styled(**style: Any) -> Iterator[None]:
    import matplotlib

    with _DRAWING, matplotlib.rc_context({**_STYLE, **style}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")  # a reader's own font may have it
        yield
