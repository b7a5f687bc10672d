"""Negational inconsistency as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.pairs import negational_inconsistency  # From: paraconsist


class NegationalInconsistency(evaluate_module.Metric):
    """Negational inconsistency is the share of texts and their negations that a model gives the same label,
    where negation changes the label (Jang, Kwon and Lukasiewicz, 2022).

    Args:
        predictions: predicted labels of the originals, all integers or all strings.
        perturbed_predictions: predicted labels of the perturbed texts, of the same kind.
        condition (option): a label; also gives the value over the pairs whose original is predicted so.
        references, perturbed_references (options): gold labels of the two sides; give the accuracies.
        unanswered (option): true where one of the two answers could not be read; such a pair breaks the rule.
        groups (option): the original of every pair, or a shared context: what intervals resample.
    Returns:
        inconsistency, n_pairs, chance, chance_corrected,
        confidence_interval, standard_error, n_clusters, design_effect,
        signature, warnings; with condition also conditional_inconsistency and n_conditional; with
        references accuracy; with perturbed_references perturbed_accuracy.
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
