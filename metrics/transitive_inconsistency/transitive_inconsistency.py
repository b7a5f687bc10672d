"""Transitive inconsistency as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.antecedents import transitive_inconsistency  # From: paraconsist


class TransitiveInconsistency(evaluate_module.Metric):
    """Transitive inconsistency is the share of rows whose conclusion a model denies although it gets both
    premises of the rule right (Jang, Kwon and Lukasiewicz, 2022). A rule allows the conclusion one label or
    several.

    Examples:
        >>> metric = evaluate.load("metrics/transitive_inconsistency")
        >>> results = metric.compute(
        ...     predictions=[2, 1, 1, 0],
        ...     references=[[2], [2], [1, 2], [1, 2]],
        ...     antecedent_1_predictions=[0, 0, 1, 0],
        ...     antecedent_1_references=[0, 0, 1, 1],
        ...     antecedent_2_predictions=[2, 2, 2, 2],
        ...     antecedent_2_references=[2, 2, 2, 2],
        ... )
        >>> results["inconsistency"]
        0.3333333333333333
        >>> results["n_satisfied"]
        3
    """

    function = staticmethod(transitive_inconsistency)
    labels = (
        "predictions",
        "antecedent_1_predictions",
        "antecedent_1_references",
        "antecedent_2_predictions",
        "antecedent_2_references",
    )
    allowed_labels = ("references",)
