"""Prompt sensitivity as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.prompt_sensitivity import prompt_sensitivity  # From: paraconsist


class PromptSensitivity(evaluate_module.Metric):
    """Prompt sensitivity gives the indices by which papers report how a model's answers depend on the wording, under
    their own names and each with an interval over buckets: PromptSensiScore, agreement and consistency rate, worst
    and best case, pass^n and pass@n, the minimum accuracy curve, alpha and kappa, entropy, spread and drop over shared
    prompt templates, combined performance score, contrast consistency.

    Args:
        predictions: predicted labels, all integers or all strings.
        references: gold labels, of the same kind; one and the same over the wordings of a bucket.
        buckets: the bucket of every row, all integers or all strings.
        variants (option): which wording each row is, the same over buckets, such as a prompt template.
        roles (option): 'original', which leaves the buckets, 'paraphrase', or 'contrast', a text of another meaning.
        groups (option): what intervals resample where buckets are not independent.
        draws (option): how many wordings pass_hat_n and pass_at_n draw.
    Returns:
        prompt_sensitivity_score, agreement, agreement_plugin, consistency_rate_pooled, accuracy, majority_accuracy,
        worst_case_accuracy, best_case_accuracy, pass_hat_n, pass_at_n, minimum_accuracy_curve, aucar, core,
        krippendorff_alpha, fleiss_kappa (where buckets are of one size), normalized_entropy, unanimous_share,
        n_buckets, n_examples, chance, chance_corrected, confidence_interval, standard_error, n_clusters,
        design_effect, signature, warnings; with contrasts contrast_consistency; with variants mean_accuracy,
        max_accuracy, spread, performance_drop_rate, combined_performance_score, variant_deviation,
        variant_accuracies.
    Examples:
        >>> metric = evaluate.load("metrics/prompt_sensitivity")
        >>> results = metric.compute(
        ...     predictions=[1, 1, 1, 0, 1, 1],
        ...     references=[1, 1, 1, 1, 0, 0],
        ...     buckets=["x", "x", "y", "y", "z", "z"],
        ...     variants=["a", "b", "a", "b", "a", "b"],
        ... )
        >>> round(results["prompt_sensitivity_score"], 4)
        0.3333
        >>> round(results["spread"], 4)
        0.3333
    """

    function = staticmethod(prompt_sensitivity)
    labels = ("predictions", "references")
    identifiers = ("buckets",)
    answers = ("predictions",)
