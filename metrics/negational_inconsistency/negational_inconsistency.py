"""Negational inconsistency as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.pairs import negational_inconsistency  # From: paraconsist


class NegationalInconsistency(evaluate_module.Metric):
    """Negational inconsistency is the share of texts and their negations that a model gives the same label,
    where negation changes the label (Jang, Kwon and Lukasiewicz, 2022).

    Examples:
        >>> metric = evaluate.load("metrics/negational_inconsistency")
        >>> results = metric.compute(
        ...     predictions=[0, 0, 1, 2],
        ...     perturbed_predictions=[0, 2, 1, 2],
        ...     condition=0,
        ... )
        >>> results["inconsistency"]
        0.75
        >>> results["conditional_inconsistency"]
        0.5
    """

    function = staticmethod(negational_inconsistency)
    labels = ("predictions", "perturbed_predictions")
    answers = ("predictions", "perturbed_predictions")
