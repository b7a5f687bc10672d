"""Additive inconsistency as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.antecedents import additive_inconsistency  # From: paraconsist


class AdditiveInconsistency(evaluate_module.Metric):
    """Additive inconsistency is the share of merged texts that lose the label which a model gives, correctly, to
    both of their parts (Jang, Kwon and Lukasiewicz, 2022).

    Examples:
        >>> metric = evaluate.load("metrics/additive_inconsistency")
        >>> results = metric.compute(
        ...     predictions=[1, 0, 1, 0],
        ...     references=[1, 1, 0, 0],
        ...     part_1_predictions=[1, 1, 0, 0],
        ...     part_2_predictions=[1, 1, 1, 0],
        ... )
        >>> results["inconsistency"]
        0.3333333333333333
        >>> results["n_satisfied"]
        3
    """

    function = staticmethod(additive_inconsistency)
    labels = ("predictions", "references", "part_1_predictions", "part_2_predictions")
