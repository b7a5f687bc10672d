"""Matplotlib figures as SVG whose colours are the page's own, so that they change with its light and dark mode."""

from __future__ import annotations

import re
import threading
from io import StringIO
from typing import Any

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
