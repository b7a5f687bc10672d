"""What all plots share: paper, ink, palette, and the ways out of a figure (inline SVG, SVG file, PNG file).

A figure's SVG made part of a page: colours by class, so that they follow the page's theme; no style attributes.

A strict content security policy forbids ``style="..."``; what matplotlib says there becomes presentation attributes.

Matplotlib figures as SVG whose colours are the page's own, so that they change with its light and dark mode.
"""

from __future__ import annotations

import io
import re
import threading
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: The light theme; the page's style sheet has the dark one under the same names. Series: after Okabe and Ito, whose
#: colours stay apart for colour-blind readers.
COLOURS = {
    "paper": "#ffffff",
    "ink": "#1f2430",
    "muted": "#667080",
    "grid": "#e4e7ec",
    "shade": "#f1f3f6",
    "series-0": "#0072b2",
    "series-1": "#d55e00",
    "series-2": "#009e73",
    "series-3": "#b5598c",
    "series-4": "#3d9bd1",
    "series-5": "#b87f00",
}
_NAMES = {value: name for name, value in COLOURS.items()}
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_FONT = re.compile(r"(?:(?P<weight>bold|\d{3}) )?(?P<size>[\d.]+)px")
#: matplotlib draws the paper first; on a page that is the page's own.
_BACKGROUNDS = ("patch_1",)


def themed(svg: bytes, name: str, description: str) -> str:
    """Return the SVG element for a page.

    Parameters
    ----------
    svg : bytes
        What matplotlib wrote, with letters as text.
    name : str
        Makes the ids unique on the page.
    description : str
        The text alternative.
    """
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    root = ET.fromstring(svg)
    for child in list(root):
        if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}title") or child.get("id") in _BACKGROUNDS:
            root.remove(child)
    for element in root.iter():
        for parent_child in [c for c in element if c.tag in (f"{{{_SVG}}}style", f"{{{_SVG}}}title")]:
            element.remove(parent_child)
        for background in [c for c in element if c.get("id") in _BACKGROUNDS and element.get("id") == "figure_1"]:
            element.remove(background)
    for element in root.iter():
        _without_style(element)
        _rename(element, name)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("role", "img")
    root.set("aria-label", description)
    root.set("class", "plot")
    return ET.tostring(root, encoding="unicode")


def _without_style(element: ET.Element) -> None:
    style = element.attrib.pop("style", "")
    classes = []
    said = dict(part.split(":", 1) for part in style.split(";") if ":" in part)
    said = {key.strip(): value.strip() for key, value in said.items()}
    for key in ("fill", "stroke"):
        if key in element.attrib:
            said.setdefault(key, element.attrib.pop(key))
    for key, value in said.items():
        colour = _NAMES.get(value.lower())
        if key in ("fill", "stroke") and colour is not None:
            classes.append(f"{key}-{colour}")
        elif key == "font":
            found = _FONT.search(value)
            if found is not None:
                element.set("font-size", found["size"])
                if found["weight"]:
                    element.set("font-weight", found["weight"])
        elif key != "font-family":
            element.set(key, value.removesuffix("px") if key == "font-size" else value)
    if element.tag == f"{{{_SVG}}}text" and not any(c.startswith("fill-") for c in classes):
        classes.append("fill-ink")
    if classes:
        element.set("class", " ".join(classes))


def _rename(element: ET.Element, name: str) -> None:
    if "id" in element.attrib:
        element.set("id", f"{name}-{element.get('id')}")
    for key in (f"{{{_XLINK}}}href", "href"):
        if element.get(key, "").startswith("#"):
            element.set(key, f"#{name}-{element.get(key, '')[1:]}")
    if element.get("clip-path", "").startswith("url(#"):
        element.set("clip-path", element.get("clip-path", "").replace("url(#", f"url(#{name}-"))


#: Width of every figure in inches; at this width its letters are readable on a phone.
WIDTH = 5.0
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
_MOST_LETTERS = 30

#: What matplotlib is told while a figure is made or written; nothing outside of that is changed.
_STYLE = {
    "font.size": 9.5,
    "font.family": "sans-serif",
    "axes.edgecolor": COLOURS["muted"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "figure.facecolor": COLOURS["paper"],
    "axes.facecolor": COLOURS["paper"],
    "savefig.facecolor": COLOURS["paper"],
    "text.color": COLOURS["ink"],
    "text.parse_math": False,
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "xtick.labelcolor": COLOURS["ink"],
    "ytick.labelcolor": COLOURS["ink"],
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "grid.color": COLOURS["grid"],
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.4,
}


@dataclass(frozen=True)
class Plot:
    """A figure and the words that go with it.

    Attributes
    ----------
    name : str
        Of its files and of its place on the page: letters, digits and dashes.
    title, caption : str
        What it shows, and how to read it, in plain words.
    description : str
        What somebody learns who cannot see it.
    draw : callable
        Makes the figure.
    """

    name: str
    title: str
    caption: str
    description: str
    draw: Callable[[], Figure]


@contextmanager
def _style(**more: Any) -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context({**_STYLE, **more}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")  # a reader's own font may have it
        yield


def figure(height: float) -> Figure:
    """Return an empty figure of the common width; `height` in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")


def axes_of(made: Figure) -> Axes:
    """Return the figure's one new pair of axes, with a quiet grid along both directions."""
    axes = made.add_subplot()
    axes.grid(True)
    return axes


def series_colour(number: int) -> str:
    """Return the colour of the model with this number; after six they come round again."""
    return COLOURS[f"series-{number % 6}"]


def shown(text: str, most: int = _MOST_LETTERS) -> str:
    """Return a name as it can stand in a figure: one line, no control characters, not too long."""
    line = _line(text)
    return line if len(line) <= most else line[: most - 1] + "…"


def _line(text: str) -> str:
    """Return a text on one line, without the control characters that no SVG may hold."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())


def inline_svg(plot: Plot) -> str:
    """Return the figure as an SVG element that takes its colours and letters from the page around it."""
    return themed(_svg(plot, fonttype="none"), plot.name, _line(f"{plot.title}. {plot.description}"))


def write_plot(plot: Plot, folder: Path) -> list[Path]:
    """Write ``<name>.png`` and ``<name>.svg`` on white paper; return the two paths."""
    png, svg = folder / f"{plot.name}.png", folder / f"{plot.name}.svg"
    svg.write_bytes(_svg(plot, fonttype="path"))
    with _style():
        plot.draw().savefig(png, format="png", dpi=200)
    return [png, svg]


def _svg(plot: Plot, fonttype: str) -> bytes:
    out = io.BytesIO()
    with _style(**{"svg.fonttype": fonttype, "svg.hashsalt": plot.name, "svg.id": None}):
        about = {"Title": _line(plot.title), "Description": _line(plot.description), "Date": None, "Creator": None}
        plot.draw().savefig(out, format="svg", metadata=about)
    return out.getvalue()


# Stand-ins, replaced by the page's variables: matplotlib knows no CSS.
INK, MUTED, GRID = "#010101", "#020202", "#030303"
GOOD, BAD, PAPER = "#040404", "#050505", "#060606"
_VARIABLES = {
    INK: "--body-text-color",
    MUTED: "--body-text-color-subdued",
    GRID: "--border-color-primary",
    GOOD: "--pc-good",
    BAD: "--pc-bad",
    PAPER: "--block-background-fill",
}
_WIDTH, _FONT_SIZE = 4.6, 9.5
_rendering = threading.Lock()  # matplotlib's settings belong to the process


def axes(height: float = 3.0, *, width: float = _WIDTH) -> Any:
    """Return axes on a figure of this size in inches, without a frame."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    drawn = figure.add_subplot()
    for side in ("top", "right"):
        drawn.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        drawn.spines[side].set_color(GRID)
    drawn.tick_params(colors=MUTED, labelsize=_FONT_SIZE - 0.5, length=0, pad=5)
    drawn.xaxis.label.set(color=INK, fontsize=_FONT_SIZE)
    drawn.yaxis.label.set(color=INK, fontsize=_FONT_SIZE)
    drawn.set_axisbelow(True)
    return drawn


def to_svg(drawn: Any, description: str) -> str:
    """Return the axes' figure as SVG for a page, `description` for those who cannot see it (escaped here)."""
    import html

    import matplotlib

    text = StringIO()
    legend = drawn.get_legend()
    if legend is not None:
        for label in legend.get_texts():
            label.set_color(INK)
    with _rendering, matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "paraconsist"}):
        drawn.figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)  # inline it would hold for the whole page
    svg = re.sub(r"font-family: [^;\"]*", "font-family: var(--font)", svg)
    named = html.escape(description, quote=True)
    return re.sub(
        r'<svg[^>]*? viewBox="([^"]*)"[^>]*>',
        lambda match: (
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'role="img" aria-label="{named}" viewBox="{match[1]}">'
        ),
        svg,
        count=1,
    )
