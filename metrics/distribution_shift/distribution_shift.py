"""Distribution shift as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.distribution_shift import distribution_shift  # From: paraconsist


class DistributionShift(evaluate_module.Metric):
    """Distribution shift is how far a model's class probabilities move between an original and its variant, for
    changed and unchanged predictions apart (Arakelyan, Liu and Augenstein, 2024).

    Examples:
        >>> metric = evaluate.load("metrics/distribution_shift")
        >>> results = metric.compute(
        ...     probabilities=[[0.9, 0.1], [0.25, 0.75]],
        ...     original_probabilities=[[0.9, 0.1], [0.75, 0.25]],
        ... )
        >>> results["max_difference"]
        {'changed': 0.5, 'unchanged': 0.0}
        >>> results["n_changed"]
        1
    """

    function = staticmethod(distribution_shift)
    probabilities = ("probabilities", "original_probabilities")
