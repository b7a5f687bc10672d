"""Semantic inconsistency as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.pairs import semantic_inconsistency  # From: paraconsist


class SemanticInconsistency(evaluate_module.Metric):
    """Semantic inconsistency is the share of texts and their paraphrases that a model gives different labels
    (Jang, Kwon and Lukasiewicz, 2022). Gold labels play no part.

    Args:
        predictions: predicted labels of the originals, all integers or all strings.
        perturbed_predictions: predicted labels of the perturbed texts, of the same kind.
        condition (option): a label; also gives the value over the pairs whose original is predicted so.
        references, perturbed_references (options): gold labels of the two sides; give the accuracies.
        groups (option): the original of every pair, or a shared context: what intervals resample.
    Returns:
        inconsistency, n_pairs, chance, chance_corrected,
        confidence_interval, standard_error, n_clusters, design_effect,
        signature, warnings; with condition also conditional_inconsistency and n_conditional; with
        references accuracy; with perturbed_references perturbed_accuracy.
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
