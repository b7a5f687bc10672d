"""Consistency difference as an evaluate comparison."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.consistency_difference import consistency_difference  # From: paraconsist


class ConsistencyDifference(evaluate_module.Comparison):
    """Difference of two models' paraphrastic consistency on the same buckets of paraphrases: paired, with the p-value
    of a sign-flip permutation test over buckets and the interval that this test gives; accuracy and every other measure
    of paraphrastic consistency (Srikanth, Carpuat and Rudinger, 2024) are compared as well.

    Examples:
        >>> comparison = evaluate.load("metrics/consistency_difference", module_type="comparison")
        >>> results = comparison.compute(
        ...     predictions1=[1] * 12,
        ...     predictions2=[1, 0] * 6,
        ...     references=[1] * 12,
        ...     buckets=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
        ... )
        >>> results["difference"], results["p_value"], results["n_buckets"]
        (1.0, 0.03125, 6)
    """

    function = staticmethod(consistency_difference)
    labels = ("predictions1", "predictions2", "references")
    identifiers = ("buckets",)
    answers = ("predictions1", "predictions2")
