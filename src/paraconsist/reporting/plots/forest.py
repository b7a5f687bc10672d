"""Estimates with their intervals, a line each: breakdowns by stratum, rates of several sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraconsist.reporting.plots.canvas import MARKERS, Plot, axes_of, figure, series_colour, shown
from paraconsist.reporting.plots.theming import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_ROW, _HEADING = 0.2, 0.23
_MOST_LINES = 90


@dataclass(frozen=True)
class Line:
    """One estimate: the heading it stands under, its label, the model, a value in [0, 1], an interval."""

    heading: str
    label: str
    model: str
    value: float
    interval: tuple[float, float] | None = None


def forest_plot(
    name: str,
    title: str,
    caption: str,
    axis: str,
    lines: Sequence[Line],
    reference: float | None = None,
) -> Plot:
    """Return the plot; `reference` is a value in [0, 1] that a thin line marks. At most 90 lines are drawn."""
    lines = lines[:_MOST_LINES]
    several = len({line.model for line in lines}) > 1
    told = "; ".join(
        f"{shown(line.heading + ' ' + line.label)}{', ' + shown(line.model) if several else ''}: {_said(line)}"
        for line in lines[:40]
    )
    return Plot(name, title, caption, f"{axis}: {told}.", lambda: _draw(lines, axis, reference))


def _said(line: Line) -> str:
    value = f"{100 * line.value:.1f} %"
    return value if line.interval is None else f"{value} ({100 * line.interval[0]:.1f} to {100 * line.interval[1]:.1f})"


def _draw(lines: Sequence[Line], axis: str, reference: float | None) -> Figure:
    models = list(dict.fromkeys(line.model for line in lines))
    headings = list(dict.fromkeys(line.heading for line in lines))
    places: dict[tuple[str, str], float] = {}
    ticks: list[tuple[float, str, bool]] = []
    y = 0.0
    for heading in headings:
        if heading:
            ticks.append((y, shown(heading, 26), True))
            y += _HEADING / _ROW
        for label in dict.fromkeys(line.label for line in lines if line.heading == heading):
            places[heading, label] = y
            ticks.append((y, shown(label, 26), False))
            y += max(1.0, 0.62 * len(models))
    made = figure(0.55 + _ROW * y + (0.19 * -(-len(models) // 2) if len(models) > 1 else 0))
    axes = axes_of(made)
    axes.grid(False, axis="y")
    if reference is not None:
        axes.axvline(100 * reference, color=COLOURS["muted"], linewidth=0.8, dashes=(4, 3))
    for line in lines:
        number = models.index(line.model)
        at = places[line.heading, line.label] + (number - (len(models) - 1) / 2) * 0.5
        colour = series_colour(number)
        if line.interval is not None:
            axes.plot([100 * end for end in line.interval], [at, at], color=colour, linewidth=1.3)
        axes.plot([100 * line.value], [at], MARKERS[0], color=colour, markersize=4.5)
    axes.set_yticks([place for place, _, _ in ticks], [label for _, label, _ in ticks])
    for tick, (_, _, is_heading) in zip(axes.get_yticklabels(), ticks, strict=True):
        tick.set_fontweight("bold" if is_heading else "normal")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set(ylim=(y - 0.4, -0.7), xlabel=axis)
    if len(models) > 1:
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], marker=MARKERS[0], color=series_colour(i), label=shown(m, 34)) for i, m in enumerate(models)
        ]
        made.legend(handles=handles, loc="outside lower center", ncols=2)
    return made
