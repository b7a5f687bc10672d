"""How consistent models are: P_C against accuracy, with PVAP's curves, and how right each bucket is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.reporting.formatting import percent
from paraconsist.reporting.plots.canvas import COLOURS, MARKERS, Plot, legend, legend_entry, series_colour, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHARES = (0.25, 0.5, 0.75)
_MOST_IN_LEGEND = 14
_EDGES = (0.2, 0.4, 0.6, 0.8)
_LABELS = ("all\nwrong", "0–20", "20–40", "40–60", "60–80", "80–100", "all\nright")


@dataclass(frozen=True)
class Point:
    """One model on one set: bucket accuracy and P_C in [0, 1], with their intervals where there are any."""

    model: str
    set: str
    accuracy: float
    consistency: float
    accuracy_interval: tuple[float, float] | None = None
    consistency_interval: tuple[float, float] | None = None


def accuracy_consistency_plot(points: Sequence[Point]) -> Plot:
    """Return the plot of S24's Figures 3 to 6: P_C (unbiased) against bucket accuracy.

    Below the lowest curve, 1 - 2a(1-a), no model can lie but by chance; on the curve with PVAP p, 1 - 2pa(1-a), a share
    p of the variance of correctness is due to paraphrasing.
    """
    described = "; ".join(
        f"{short(p.model)} on {short(p.set)}: accuracy {percent(p.accuracy)} %, consistency {percent(p.consistency)} %"
        for p in points[:24]
    )
    return Plot(
        name="accuracy-consistency",
        title="Accuracy against consistency",
        caption=(
            "Each point is a model on a set: how often its answers to paraphrases are right (mean over buckets), and "
            "P_C, how often two different paraphrases of one problem are both right or both wrong. Up and to the right "
            "is better. Only chance leads into the shaded region. On a grey curve the given share of the variance of "
            "correctness is due to wording (PVAP); the rest is due to some problems being harder than others."
        ),
        description=f"Scatter plot. {described}.",
        draw=lambda axes: _draw_points(axes, points),
        height=3.7,
    )


def _draw_points(axes: Axes, points: Sequence[Point]) -> None:
    models = list(dict.fromkeys(p.model for p in points))
    sets = list(dict.fromkeys(p.set for p in points))
    lowest = min(min(p.accuracy, *(p.accuracy_interval or (1.0,))) for p in points)
    left = max(0.0, min(40.0, 100 * lowest - 5))
    floor = max(0.0, min(50.0, 100 * min(min(p.consistency, *(p.consistency_interval or (1.0,))) for p in points) - 2))
    _draw_curves(axes, left, floor)
    for point in points:
        colour = series_colour(models.index(point.model) if len(models) > 1 else sets.index(point.set))
        marker = MARKERS[sets.index(point.set) % len(MARKERS)]
        x, y = 100 * point.accuracy, 100 * point.consistency
        if point.accuracy_interval is not None:
            axes.plot([100 * end for end in point.accuracy_interval], [y, y], color=colour, linewidth=0.9)
        if point.consistency_interval is not None:
            axes.plot([x, x], [100 * end for end in point.consistency_interval], color=colour, linewidth=0.9)
        axes.plot([x], [y], marker, color=colour, markersize=6.5, markeredgecolor=COLOURS["paper"])
    axes.set(xlim=(left, 100), ylim=(floor, 100.8), xlabel="bucket accuracy, %", ylabel="P_C, %")
    entries = []
    if len(models) > 1:
        entries += [legend_entry(model, series_colour(i), "o", linestyle="") for i, model in enumerate(models)]
    if len(sets) > 1:
        colours = [COLOURS["muted"] if len(models) > 1 else series_colour(i) for i in range(len(sets))]
        marked = zip(sets, colours, (MARKERS[i % len(MARKERS)] for i in range(len(sets))), strict=True)
        entries += [legend_entry(*one, linestyle="") for one in marked]
    legend(axes, entries[:_MOST_IN_LEGEND], handletextpad=0.2)


def _draw_curves(axes: Axes, left: float, floor: float) -> None:
    accuracy = np.linspace(0, 1, 201)
    spread = accuracy * (1 - accuracy)
    axes.fill_between(100 * accuracy, floor, 100 * (1 - 2 * spread), color=COLOURS["shade"], linewidth=0)
    axes.plot(100 * accuracy, 100 * (1 - 2 * spread), color=COLOURS["muted"], linewidth=1.1)
    for share in _SHARES:
        axes.plot(100 * accuracy, 100 * (1 - 2 * share * spread), color=COLOURS["muted"], linewidth=0.7, dashes=(4, 3))
    at = (left + 2) / 100
    small: dict[str, Any] = {"fontsize": 8.5, "color": COLOURS["muted"]}
    for share in _SHARES:
        height = 100 * (1 - 2 * share * at * (1 - at))
        text = f"PVAP {100 * share:.0f} %"
        axes.annotate(text, (100 * at, height), xytext=(0, 3), textcoords="offset points", **small)
    least = (100 + left) / 2 + 0.34 * (100 - left), 0.86 * floor + 14
    axes.annotate("only chance\nleads here", least, ha="center", va="center", **small)


def bucket_accuracy_shares(accuracies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of buckets in each of 7 bins: exactly 0, five equal bins of what lies between, exactly 1.

    Shares on an edge count to the bin nearer the middle, so that right and wrong are treated alike.

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
    """Return the histogram of bucket accuracy, shape (n_buckets,), of one set, for each model."""
    shares = {model: bucket_accuracy_shares(values) for model, values in accuracies.items()}
    described = "; ".join(
        f"{short(model)}: {100 * bins[0]:.0f} % of buckets all wrong, {100 * bins[-1]:.0f} % all right, "
        f"{100 * bins[1:-1].sum():.0f} % in between"
        for model, bins in shares.items()
    )
    return Plot(
        name=name,
        title=f"Bucket accuracy, {set_name}",
        caption=(
            "Share of buckets by how many of their paraphrases are answered right. The two outer columns are the "
            "buckets whose answers do not depend on the wording: all wrong, all right."
        ),
        description=f"Histogram. {described}.",
        draw=lambda axes: _draw_bins(axes, shares),
        height=2.6,
    )


def _draw_bins(axes: Axes, shares: Mapping[str, NDArray[np.float64]]) -> None:
    axes.grid(False, axis="x")
    places, width = np.arange(7), 0.82 / len(shares)
    for number, (model, bins) in enumerate(shares.items()):
        offset = (number - (len(shares) - 1) / 2) * width
        axes.bar(places + offset, 100 * bins, width=width * 0.94, color=series_colour(number), label=short(model, 34))
    axes.set_xticks(places, _LABELS)
    for edge in (0.5, 5.5):
        axes.axvline(edge, color=COLOURS["grid"], linewidth=0.7)
    axes.set(xlim=(-0.6, 6.6), xlabel="paraphrases right, %", ylabel="buckets, %")
    if len(shares) > 1:
        legend(axes, handlelength=1)
