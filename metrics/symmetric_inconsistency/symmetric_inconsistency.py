"""Symmetric inconsistency as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.pairs import symmetric_inconsistency  # From: paraconsist


class SymmetricInconsistency(evaluate_module.Metric):
    """Symmetric inconsistency is the share of pairs of texts that a model labels differently when the two texts
    are swapped, where the relation is symmetric (Jang, Kwon and Lukasiewicz, 2022).

    Examples:
        >>> metric = evaluate.load("metrics/symmetric_inconsistency")
        >>> results = metric.compute(
        ...     predictions=[2, 2, 0, 2],
        ...     perturbed_predictions=[2, 1, 1, 2],
        ...     condition=0,
        ... )
        >>> results["inconsistency"]
        0.5
        >>> results["conditional_inconsistency"]
        1.0
    """

    function = staticmethod(symmetric_inconsistency)
    labels = ("predictions", "perturbed_predictions")
    answers = ("predictions", "perturbed_predictions")
