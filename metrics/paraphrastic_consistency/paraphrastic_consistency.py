"""Paraphrastic consistency as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.paraphrastic import paraphrastic_consistency  # From: paraconsist


class ParaphrasticConsistency(evaluate_module.Metric):
    """Paraphrastic consistency P_C is the probability that a model's predictions for two paraphrases of the same
    problem are both right or both wrong (Srikanth, Carpuat and Rudinger, 2024). Published (plug-in) and unbiased
    estimators, accuracy, variance attributable to paraphrasing, values corrected for stratified sampling, and
    intervals over buckets.

    Examples:
        >>> metric = evaluate.load("metrics/paraphrastic_consistency")
        >>> results = metric.compute(
        ...     predictions=[1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1],
        ...     references=[1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0],
        ...     buckets=["a", "a", "a", "a", "b", "b", "b", "b", "c", "c", "c", "c"],
        ... )
        >>> round(results["paraphrastic_consistency"], 4), round(results["paraphrastic_consistency_unbiased"], 4)
        (0.8333, 0.7778)
    """

    function = staticmethod(paraphrastic_consistency)
    labels = ("predictions", "references")
    identifiers = ("buckets",)
    answers = ("predictions",)
