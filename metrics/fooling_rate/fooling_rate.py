"""Fooling rate as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.fooling_rate import fooling_rate  # From: paraconsist


class FoolingRate(evaluate_module.Metric):
    """The fooling rate is the share of items, answered right, whose prediction at least one meaning-preserving
    variant changes: to any other label (relaxed), or to the opposite one (strict) (Arakelyan, Liu and
    Augenstein, 2024).

    Examples:
        >>> metric = evaluate.load("metrics/fooling_rate")
        >>> results = metric.compute(
        ...     predictions=[0, 1, 2, 0, 1, 1],
        ...     original_predictions=[0, 0, 2, 2, 1, 1],
        ...     references=[0, 0, 2, 2, 1, 1],
        ...     buckets=["a", "a", "b", "b", "c", "c"],
        ... )
        >>> results["relaxed"]
        0.6666666666666666
        >>> results["strict"]
        0.3333333333333333
        >>> results["n_items"]
        3
    """

    function = staticmethod(fooling_rate)
    labels = ("predictions", "original_predictions", "references")
    identifiers = ("buckets",)
