"""The studies' figures: the filter's learning curve, and measures against what was varied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from paraconsist.reporting.plots.canvas import MARKERS, Plot, axes_of, figure, series_colour, shown
from paraconsist.reporting.plots.theming import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def aflite_plot(curve: Sequence[Mapping[str, Any]]) -> Plot:
    """Return held-out accuracy of the linear classifiers against the rows that are left."""
    ends = f"from {100 * curve[0]['accuracy']:.1f} % at {curve[0]['n_rows']:,} rows" if curve else "no iteration"
    if curve:
        ends += f" to {100 * curve[-1]['accuracy']:.1f} % at {curve[-1]['n_rows']:,}"
    return Plot(
        name="aflite",
        title="Adversarial filtering",
        caption=(
            "Accuracy of linear classifiers on rows that they were not trained on, as the rows that are easiest to "
            "predict go. The dashed line is the share of the commonest label."
        ),
        description=f"Line plot of held-out accuracy, {ends}.",
        draw=lambda: _aflite(curve),
    )


def _aflite(curve: Sequence[Mapping[str, Any]]) -> Figure:
    made = figure(3.0)
    axes = axes_of(made)
    rows = [entry["n_rows"] for entry in curve]
    axes.plot(rows, [100 * e["accuracy"] for e in curve], color=series_colour(0), marker="o", markersize=3)
    axes.plot(rows, [100 * e["majority"] for e in curve], color=COLOURS["muted"], dashes=(4, 3), linewidth=0.9)
    axes.invert_xaxis()
    axes.set(xlabel="rows left", ylabel="held-out accuracy, %")
    return made


def curve_plot(
    name: str,
    title: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    xlabel: str,
    ylabel: str,
    log: bool,
    caption: str,
) -> Plot:
    """Return a plot of values against what was varied: a dot for each cell, a line through the means.

    Parameters
    ----------
    name, title, caption : str
    series : mapping
        Series -> (x, y) of each cell; y is a share and is shown in per cent.
    xlabel, ylabel : str
    log : bool
        Whether x is drawn on a logarithmic scale.
    """
    told = "; ".join(
        f"{shown(label)}: " + ", ".join(f"{x:,.4g} gives {100 * y:.1f} %" for x, y in _means(points))
        for label, points in series.items()
    )
    return Plot(
        name, title, caption, f"{ylabel} against {xlabel}. {told}.", lambda: _curve(series, xlabel, ylabel, log)
    )


def _curve(series: Mapping[str, Sequence[tuple[float, float]]], xlabel: str, ylabel: str, log: bool) -> Figure:
    made = figure(3.1 + 0.19 * (len(series) if len(series) > 1 else 0) / 2)
    axes = axes_of(made)
    for number, (label, points) in enumerate(series.items()):
        colour, marker = series_colour(number), MARKERS[number % len(MARKERS)]
        x, y = zip(*points, strict=True)
        axes.plot(x, [100 * value for value in y], marker, color=colour, markersize=3.5, alpha=0.55)
        mx, my = zip(*_means(points), strict=True)
        axes.plot(
            mx, [100 * value for value in my], color=colour, marker=marker, markersize=5.5, label=shown(label, 34)
        )
    axes.set(xlabel=xlabel, ylabel=ylabel)
    if log:
        places = sorted({x for points in series.values() for x, _ in points})
        axes.set_xscale("log")
        axes.set_xticks(places, [_number(x) for x in places])
        axes.set_xticks([], minor=True)
    if len(series) > 1:
        made.legend(loc="outside lower center", ncols=2)
    return made


def _number(value: float) -> str:
    """As short as a tick must be: 284, 28.4k, 2.1M."""
    for unit, name in ((1e9, "B"), (1e6, "M"), (1e4, "k")):
        if value >= unit:
            scale = 1e3 if name == "k" else unit
            return f"{value / scale:.3g}{name}"
    return f"{value:,.0f}"


def _means(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    by_x: dict[float, list[float]] = {}
    for x, y in points:
        by_x.setdefault(x, []).append(y)
    return [(x, sum(values) / len(values)) for x, values in sorted(by_x.items())]
