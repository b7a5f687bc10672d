"""Plots of the report with many models, and how many values each holds."""

from collections.abc import Callable

import numpy as np

from paraconsist.reporting.plots import Plot
from paraconsist.reporting.plots.answers import Line, forest_plot
from paraconsist.reporting.plots.consistency import Buckets, Point, accuracy_consistency_plot, bucket_accuracy_plot


def models(n: int) -> list[str]:
    """Names that differ at their ends alone."""
    return [f"organisation/a-long-name-of-model-{number}" for number in range(n)]


def _forest(names: list[str], labels: int, *, zero: bool = False) -> tuple[Plot, int]:
    rng = np.random.default_rng(len(names))
    values = rng.uniform(-0.5 if zero else 0.1, 0.5 if zero else 0.9, (labels, len(names)))
    lines = [
        Line(f"column {i % 2}", f"stratum value {i}", model, value, (value - 0.1, value + 0.1) if i else None, "#?x")
        for i, row in enumerate(values)
        for model, value in zip(names, row, strict=True)
    ]
    return forest_plot(f"forest-{zero}-{values.size}", "title", "caption", "P_C, %", lines, zero=zero), len(lines)


def _scatter(names: list[str], n_sets: int) -> tuple[Plot, int]:
    rng = np.random.default_rng(len(names))
    places = rng.uniform(0.6, 0.62, (n_sets, len(names), 2))  # all but on top of each other
    points = [
        Point(model, f"set {i}", *place, (0.55, 0.7), (0.5, 0.65), "#?x")
        for i, row in enumerate(places.tolist())
        for model, place in zip(names, row, strict=True)
    ]
    return accuracy_consistency_plot(points), len(points)


def _histogram(names: list[str]) -> tuple[Plot, int]:
    sizes = np.full(40, 9)
    right = np.random.default_rng(0).integers(0, 10, (len(names), 40)) / 9
    some = [Buckets(model, one, sizes, lambda accuracy: "#?x") for model, one in zip(names, right, strict=True)]
    return bucket_accuracy_plot("buckets", "set", some), 7 * len(names)


#: Name -> what makes, of the models' names, a plot and the number of its values.
KINDS: dict[str, Callable[[list[str]], tuple[Plot, int]]] = {
    "forest": lambda names: _forest(names, 4),
    "differences": lambda names: _forest([""], len(names), zero=True),
    "points": lambda names: _scatter(names, 1),
    "sets": lambda names: _scatter(names, 2),
    "histogram": _histogram,
}
