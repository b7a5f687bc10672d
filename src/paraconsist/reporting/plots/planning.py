"""The plots of plans: half-width against calls, and the share of each variance component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from paraconsist.measures.planning import SavingRow
from paraconsist.measures.variance_components import VarianceComponentsResult
from paraconsist.reporting.formatting import bounds
from paraconsist.reporting.plots.answers import Line, forest_plot
from paraconsist.reporting.plots.canvas import Plot, legend, series_colour, series_marker, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def savings_plot(sets: Mapping[str, Sequence[SavingRow]]) -> Plot:
    """Return the plot of half-width against calls: of several sets by fewer paraphrases, of one in every way."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for name, rows in sets.items():
        full = rows[-1].half_width
        lines[short(name, 30) if len(sets) > 1 else "fewer paraphrases"] = [(row.calls, row.half_width) for row in rows]
        if len(sets) == 1:
            fewer = [(row.calls, row.widening_by_buckets) for row in rows]
            lines["fewer buckets of each context"] = [(calls, full * by) for calls, by in fewer if by is not None]
            lines["fewer contexts or buckets"] = [(row.calls, full * row.widening_by_contexts) for row in rows]

    def draw(axes: Axes) -> None:
        for number, (label, points) in enumerate(lines.items()):
            if points:
                colour, marker = series_colour(number), series_marker(number)
                axes.plot(*zip(*points, strict=True), color=colour, marker=marker, label=label)
        axes.set(xlabel="calls", ylabel="half-width", ylim=(0, None))
        legend(axes)

    title = "Half-width against calls"
    ends = [f"{name}: {points[0][1]:.4f} with {points[0][0]:,} calls" for name, points in lines.items() if points]
    return Plot("half-width", title, "", f"{title}. {'; '.join(ends)}.", draw)


def components_plot(result: VarianceComponentsResult) -> Plot:
    """Return the plot of the components' shares around a line at 0; hollow ones have no interval."""
    ends = {name: bounds(result.confidence_interval, f"share/{name}") for name in result.share}
    lines = [Line("", name, "", share, ends[name]) for name, share in result.share.items()]
    caption = "Shares of the variance, with their intervals. A share below 0 is next to nothing."
    title, axis = "Where the variance comes from", "share of the variance, %"
    return forest_plot("variance-components", title, caption, axis, lines, zero=True)
