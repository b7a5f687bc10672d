"""What all plots share: paper, ink, palette, and the ways out of a figure (inline SVG, SVG file, PNG file)."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraconsist.reporting.plots.theming import COLOURS, themed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
