"""The studies' figures and a sweep's table: the filter's learning curve, and measures against what was varied."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.reporting.formatting import percent
from paraconsist.reporting.plots.canvas import MARKERS, MUTED, Plot, legend, series_colour, short, told_apart
from paraconsist.reporting.plots.consistency import Point, accuracy_consistency_plot
from paraconsist.scoring.score import ABOVE_ALL
from paraconsist.studies.aflite import Iteration
from paraconsist.studies.sweep import CellResult, ConfigurationSummary, SeedMean, figures, sets_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LETTERS = 100  # of a configuration in a table
_P_C = PARAPHRASTIC.name
_X = TypeVar("_X", float, str)
_AXES = (("n_rows", "rows", "training rows"), ("n_parameters", "size", "parameters"))


def aflite_plot(curve: Sequence[Iteration]) -> Plot:
    """Return held-out accuracy of the linear classifiers against the rows that are left."""
    ends = [f"{percent(iteration.accuracy)} % at {iteration.n_rows:,}" for iteration in (*curve[:1], *curve[-1:])]
    described = f"from {ends[0]} rows to {ends[1]}" if curve else "no iteration"

    def draw(axes: Axes) -> None:
        rows = [it.n_rows for it in curve]
        axes.plot(rows, [100 * it.accuracy for it in curve], color=series_colour(0), marker="o", markersize=3)
        axes.plot(rows, [100 * it.majority for it in curve], color=MUTED, dashes=(4, 3), linewidth=0.9)
        axes.invert_xaxis()
        axes.set(xlabel="rows left", ylabel="held-out accuracy, %")

    caption = (
        "Accuracy of linear classifiers on rows that they were not trained on, as the rows that are easiest to predict "
        "go. The dashed line is the share of the commonest label."
    )
    return Plot("aflite", "Adversarial filtering", caption, f"Line plot of held-out accuracy, {described}.", draw)


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
    """Return a plot of each cell's (x, y), with a line through the means of a series; y is a share, x may be `log`."""
    described = "; ".join(
        f"{short(label)}: " + ", ".join(f"{x:,.4g} gives {percent(y)} %" for x, y in _means(points))
        for label, points in series.items()
    )

    def draw(axes: Axes) -> None:
        for number, (label, points) in enumerate(series.items()):
            plot = partial(axes.plot, color=series_colour(number), marker=MARKERS[number % len(MARKERS)])
            x, y = zip(*points, strict=True)
            plot(x, [100 * value for value in y], markersize=3.5, alpha=0.55, linestyle="")
            x, y = zip(*_means(points), strict=True)
            plot(x, [100 * value for value in y], markersize=5.5, label=short(label, 34))
        axes.set(xlabel=xlabel, ylabel=ylabel)
        if log:
            places = sorted({x for points in series.values() for x, _ in points})
            axes.set_xscale("log")
            axes.set_xticks(places, [_tick(x) for x in places])
            axes.set_xticks([], minor=True)
        if len(series) > 1:
            legend(axes)

    return Plot(name, title, caption, f"{ylabel} against {xlabel}. {described}.", draw, height=3.1)


def _tick(value: float) -> str:
    """Return a short tick label: 284, 28.4k, 2.1M."""
    units = ((1e9, 1e9, "B"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
    return next((f"{value / unit:.3g}{name}" for least, unit, name in units if value >= least), f"{value:,.0f}")


def _means(points: Sequence[tuple[_X, float]]) -> list[tuple[_X, float]]:
    """Return each x, in order, with the mean of its points."""
    by_x: dict[_X, list[float]] = {}
    for x, y in points:
        by_x.setdefault(x, []).append(y)
    return [(x, sum(values) / len(values)) for x, values in sorted(by_x.items())]


def sweep_plots(cells: Sequence[CellResult]) -> list[Plot]:
    """Return every plot of a sweep: those of S24's Figures 5 and 6 and of J22's Figure 4."""
    cells = sorted(cells, key=lambda cell: (cell.model, str(cell.varied), cell.share))
    plots = []
    for name in sets_of(cells):
        points = [
            Point(cell.configuration, name, values["bucket_accuracy"], values[_P_C])
            for cell in cells
            if (values := cell.sets.get(name, {}).get(_P_C)) is not None
        ]
        if points:
            plots.append(replace(accuracy_consistency_plot(points), name=f"accuracy-consistency-{_slug(name)}"))
        for axis, word, label in _AXES:
            plots += _against(cells, name, axis, word, label)
    return plots


def _against(cells: Sequence[CellResult], name: str, axis: str, word: str, label: str) -> list[Plot]:
    # shares are drawn by group: the seeds' rows differ a little
    place = dict(_means([(cell.configuration, float(cell[axis])) for cell in cells]))
    if len(set(place.values())) < 2:
        return []
    taus = [figure.symbol for figure in figures() if figure.symbol.startswith("tau")]
    kinds = {"P_C": ["A", "P_C", "P_C publ.", "A_T"], "tau": taus}
    plots = []
    for kind, labels in kinds.items():
        series: dict[str, list[tuple[float, float]]] = {}
        for measure, key, line, _ in figures():
            for cell in cells if line in labels else ():
                value = cell.value(name, measure, key)
                if value is not None:
                    series.setdefault(line, []).append((place[cell.configuration], float(value)))
        if series:
            file, title = f"{kind.lower().replace('_', '')}-by-{word}-{_slug(name)}", f"{kind} against {label}: {name}"
            caption = f"Small marks are single trainings, lines go through their means. {name}."
            plots.append(curve_plot(file, title, series, xlabel=label, ylabel="per cent", log=True, caption=caption))
    return plots


def markdown_table(summary: Sequence[ConfigurationSummary]) -> str:
    """Return a sweep's summary as a Markdown table: mean and standard deviation over seeds, in per cent."""
    lines = []
    for name in dict.fromkeys(row.set for row in summary):
        rows = [row for row in summary if row.set == name]
        shown_figures = [figure for figure in figures() if any(figure.symbol in row.figures for row in rows)]
        symbols = [figure.symbol for figure in shown_figures]
        lines += [f"**{name}**", "", f"| configuration | rows | seeds | {' | '.join(symbols)} |"]
        lines.append("|---" * (3 + len(symbols)) + "|")
        grid = [*dict.fromkeys(str(row.varied) for row in rows)]  # as it was given: 8 before 16
        rows.sort(key=lambda row: (row.model, grid.index(str(row.varied)), row.share))
        shown = told_apart([row.configuration.replace("|", "\\|") for row in rows], _MOST_LETTERS)
        for row, configuration in zip(rows, shown, strict=True):
            values = [_cell(row.figures.get(symbol)) for symbol in symbols]
            lines.append(f"| {configuration} | {row.n_rows:,.0f} | {row.n_seeds} | {' | '.join(values)} |")
        lines.append("")
        of_pvap = [figure.symbol for figure in shown_figures if figure.key == "pvap_unbiased"]
        if any(row.figures[symbol].mean > 1.0 for row in rows for symbol in of_pvap if symbol in row.figures):
            lines += [f"{ABOVE_ALL}.", ""]
    return "\n".join(lines)


def _cell(value: SeedMean | None) -> str:
    if value is None:
        return "-"
    mean = percent(value.mean)
    return mean if math.isnan(value.sd) else f"{mean} ± {percent(value.sd)}"


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name).strip("-").lower()
