"""The plot of variance components: the share of each, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraconsist.measures.variance_components import VarianceComponentsResult
from paraconsist.reporting.formatting import percent
from paraconsist.reporting.plots.canvas import COLOURS, Plot, series_colour, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def components_plot(result: VarianceComponentsResult) -> Plot:
    """Return the plot of the components' shares; bars without a line have no interval."""
    names = list(result.share)

    def draw(axes: Axes) -> None:
        for place, name in enumerate(names):
            share, ends = 100.0 * result.share[name], result.confidence_interval[f"share/{name}"]
            axes.barh([place], [share], height=0.7, color=series_colour(0))
            if ends[0] == ends[0]:
                axes.hlines(place, 100.0 * ends[0], 100.0 * ends[1], color=COLOURS["ink"], linewidth=1.2)
        axes.set_yticks(range(len(names)), [short(name, 44) for name in names])
        axes.set(xlabel="share of the variance, %", ylim=(len(names) - 0.4, -0.6))
        axes.axvline(0.0, color=COLOURS["muted"], linewidth=0.7)

    title = "Where the variance comes from"
    caption = "Bars are shares of the variance; lines are intervals. A share below 0 is next to nothing."
    described = "; ".join(f"{name}: {percent(share)} %" for name, share in result.share.items())
    return Plot("variance-components", title, caption, f"{title}. {described}.", draw, 1.0 + 0.3 * len(names))
