"""Semantic inconsistency as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.pairs import semantic_inconsistency  # From: paraconsist


class SemanticInconsistency(evaluate_module.Metric):
    """Semantic inconsistency is the share of texts and their paraphrases that a model gives different labels
    (Jang, Kwon and Lukasiewicz, 2022). Gold labels play no part.

    Examples:
        >>> metric = evaluate.load("metrics/semantic_inconsistency")
        >>> results = metric.compute(
        ...     predictions=[1, 1, 0, 0],
        ...     perturbed_predictions=[1, 0, 0, 0],
        ...     condition=1,
        ... )
        >>> results["inconsistency"]
        0.25
        >>> results["conditional_inconsistency"]
        0.5
    """

    function = staticmethod(semantic_inconsistency)
    labels = ("predictions", "perturbed_predictions")
    answers = ("predictions", "perturbed_predictions")
