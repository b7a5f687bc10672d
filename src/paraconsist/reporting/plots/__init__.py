"""Plots of results: matplotlib figures without global state, as themed inline SVG or as files."""

from __future__ import annotations

from paraconsist.reporting.plots.canvas import Plot, inline_svg, write_plot

__all__ = ["Plot", "inline_svg", "write_plot"]
