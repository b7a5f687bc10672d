"""Paraphrastic consistency as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.paraphrastic import paraphrastic_consistency  # From: paraconsist


class ParaphrasticConsistency(evaluate_module.Metric):
    """Paraphrastic consistency P_C is the probability that a model's predictions for two paraphrases of the same
    problem are both right or both wrong (Srikanth, Carpuat and Rudinger, 2024). Published (plug-in) and unbiased
    estimators, accuracy, variance attributable to paraphrasing, values corrected for stratified sampling, and
    intervals over buckets.

    Args:
        predictions: predicted labels, all integers or all strings. references: gold labels, of the same kind; one
        and the same within a bucket. buckets: the bucket of every row, all integers or all strings. roles
        (option): 'original' or 'paraphrase' for every row; originals leave the buckets and give
        original_accuracy. groups (option): what intervals resample where buckets are not independent.
        original_confidences, test_confidences (options): bucket -> confidence in gold, and those of the test set;
        give the corrected values. renormalize (option): divide them by covered_mass.
        test_predictions, test_references (options): give test_accuracy.
    Returns:
        paraphrastic_consistency, paraphrastic_consistency_unbiased, accuracy, bucket_accuracy, vap,
        vap_unbiased, between_variance, between_variance_unbiased, pvap, pvap_unbiased, pvap_pooled,
        min_paraphrastic_consistency, agreement, agreement_unbiased, consistently_right,
        consistently_wrong, agreement_chance, krippendorff_alpha, fleiss_kappa (where buckets are of one
        size), n_buckets, n_examples, chance, chance_corrected, confidence_interval, standard_error,
        n_clusters, design_effect, bias, signature, warnings.
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
