"""The plot of variance components: the share of each, with its interval."""

from __future__ import annotations

from paraconsist.measures.variance_components import VarianceComponentsResult
from paraconsist.reporting.formatting import bounds
from paraconsist.reporting.plots.answers import Line, forest_plot
from paraconsist.reporting.plots.canvas import Plot


def components_plot(result: VarianceComponentsResult) -> Plot:
    """Return the plot of the components' shares around a line at 0; hollow ones have no interval."""
    ends = {name: bounds(result.confidence_interval, f"share/{name}") for name in result.share}
    lines = [Line("", name, "", share, ends[name]) for name, share in result.share.items()]
    caption = "Shares of the variance, with their intervals. A share below 0 is next to nothing."
    title, axis = "Where the variance comes from", "share of the variance, %"
    return forest_plot("variance-components", title, caption, axis, lines, zero=True)
