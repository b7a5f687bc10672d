"""Consistency difference as an evaluate comparison."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.consistency_difference import consistency_difference  # From: paraconsist


class ConsistencyDifference(evaluate_module.Comparison):
    """Difference of two models' paraphrastic consistency on the same buckets of paraphrases: paired, with the p-value
    of a sign-flip permutation test over buckets and the interval that this test gives; accuracy and every other measure
    of paraphrastic consistency (Srikanth, Carpuat and Rudinger, 2024) are compared as well.

    Args:
        predictions1, predictions2: the two models' labels for the same rows, all integers or all strings.
        references: gold labels, of the same kind; one and the same within a bucket.
        buckets: the bucket of every row, all integers or all strings.
        roles (option): 'original' or 'paraphrase' for every row; originals leave the buckets.
        groups (option): what stays together in resampling and permutation where buckets are not independent.
        estimator (option): 'unbiased' or 'plugin', the P_C that difference and p_value are of.
        margin (option): a share; margin_test then says whether one model is not worse than the other by more than it.
    Returns:
        difference, p_value, n_buckets, n_examples, values1, values2, differences, p_values, p_value_error,
        margin_test (with a margin), confidence_interval, standard_error, n_clusters, design_effect, signature,
        warnings.
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
