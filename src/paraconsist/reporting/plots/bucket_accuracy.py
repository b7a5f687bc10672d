"""How right buckets are: from all wrong to all right, with the buckets that wording divides in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from paraconsist.reporting.plots.canvas import Plot, axes_of, figure, series_colour, shown
from paraconsist.reporting.plots.theming import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_EDGES = (0.2, 0.4, 0.6, 0.8)
_LABELS = ("all\nwrong", "0–20", "20–40", "40–60", "60–80", "80–100", "all\nright")


def bucket_accuracy_shares(accuracies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of buckets in each of 7 bins: exactly 0, five equal bins of what lies between, exactly 1.

    Shares on an edge count to the bin nearer the middle, so that right and wrong are treated alike.

    Parameters
    ----------
    accuracies : float array, shape (n_buckets,)
        In [0, 1].

    Examples
    --------
    >>> bucket_accuracy_shares(np.array([0.0, 0.2, 0.5, 0.8, 1.0])).tolist()
    [0.2, 0.0, 0.2, 0.2, 0.2, 0.0, 0.2]
    """
    values = np.round(accuracies, 9)
    low, high = np.searchsorted(_EDGES, values, side="right"), np.searchsorted(_EDGES, values, side="left")
    bins = np.where(values <= 0.5, low, high) + 1
    bins[values <= 0.0] = 0
    bins[values >= 1.0] = 6
    return np.bincount(bins, minlength=7) / max(len(accuracies), 1)


def bucket_accuracy_plot(name: str, set_name: str, accuracies: Mapping[str, NDArray[np.float64]]) -> Plot:
    """Return the histogram of bucket accuracy of one set, for each model.

    Parameters
    ----------
    name : str
        Of the plot.
    set_name : str
        Of the set.
    accuracies : mapping of model to float array, shape (n_buckets,)
    """
    shares = {model: bucket_accuracy_shares(values) for model, values in accuracies.items()}
    told = "; ".join(
        f"{shown(model)}: {100 * found[0]:.0f} % of buckets all wrong, {100 * found[-1]:.0f} % all right, "
        f"{100 * found[1:-1].sum():.0f} % in between"
        for model, found in shares.items()
    )
    return Plot(
        name=name,
        title=f"Bucket accuracy, {set_name}",
        caption=(
            "Share of buckets by how many of their paraphrases are answered right. The two outer columns are the "
            "buckets whose answers do not depend on the wording: all wrong, all right."
        ),
        description=f"Histogram. {told}.",
        draw=lambda: _draw(shares),
    )


def _draw(shares: Mapping[str, NDArray[np.float64]]) -> Figure:
    made = figure(2.6 + (0.19 * -(-len(shares) // 2) if len(shares) > 1 else 0))
    axes = axes_of(made)
    axes.grid(False, axis="x")
    places, width = np.arange(7), 0.82 / len(shares)
    for number, (model, found) in enumerate(shares.items()):
        offset = (number - (len(shares) - 1) / 2) * width
        axes.bar(places + offset, 100 * found, width=width * 0.94, color=series_colour(number), label=shown(model, 34))
    axes.set_xticks(places, _LABELS)
    for edge in (0.5, 5.5):
        axes.axvline(edge, color=COLOURS["grid"], linewidth=0.7)
    axes.set(xlim=(-0.6, 6.6), xlabel="paraphrases right, %", ylabel="buckets, %")
    if len(shares) > 1:
        made.legend(loc="outside lower center", ncols=2, handlelength=1)
    return made
