"""Fooling rate as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.fooling_rate import fooling_rate  # From: paraconsist


class FoolingRate(evaluate_module.Metric):
    """The fooling rate is the share of items, answered right, whose prediction at least one meaning-preserving
    variant changes: to any other label (relaxed), or to the opposite one (strict) (Arakelyan, Liu and
    Augenstein, 2024).

    Args:
        predictions: predicted labels of the variants, all integers or all strings.
        original_predictions, references: predicted and gold labels of their originals, one per bucket.
        buckets: the item of every variant, all integers or all strings.
        originals (option): bucket -> (prediction, gold label) of every original, also without variants.
        opposites (option): label -> opposite label; by default entailment and contradiction, or 0 and 2.
        variants, minimum (options): how many variants are used; items with fewer are left out.
        preset (option): 'paper' (all variants, every original) or 'code' (the first 5, fewer are dropped).
        groups (option): what intervals resample where items are not independent.
    Returns:
        relaxed, strict, n_items, by_label, chance, chance_corrected,
        confidence_interval, standard_error, n_clusters,
        design_effect, signature, warnings.
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
