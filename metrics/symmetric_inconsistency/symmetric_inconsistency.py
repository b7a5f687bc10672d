"""Symmetric inconsistency as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.pairs import symmetric_inconsistency  # From: paraconsist


class SymmetricInconsistency(evaluate_module.Metric):
    """Symmetric inconsistency is the share of pairs of texts that a model labels differently when the two texts
    are swapped, where the relation is symmetric (Jang, Kwon and Lukasiewicz, 2022).

    Args:
        predictions: predicted labels of the originals, all integers or all strings.
        perturbed_predictions: predicted labels of the perturbed texts, of the same kind.
        condition (option): a label; also gives the value over the pairs whose original is predicted so.
        references, perturbed_references (options): gold labels of the two sides; give the accuracies.
        places (option): of a judge that names the better of two texts, the label of the text that the originals show
            first, that of the other, and that of ties; gives its position bias.
        groups (option): the original of every pair, or a shared context: what intervals resample.
    Returns:
        inconsistency, n_pairs, chance, chance_corrected,
        confidence_interval, standard_error, n_clusters, design_effect,
        signature, warnings; with condition also conditional_inconsistency and n_conditional; with
        references accuracy; with perturbed_references perturbed_accuracy; with places first_place_share, primacy
        and tie_rate.
    Examples:
        >>> metric = evaluate.load("metrics/symmetric_inconsistency")
        >>> results = metric.compute(
        ...     predictions=[2, 2, 0, 2],
        ...     perturbed_predictions=[2, 1, 1, 2],
        ...     condition=0,
        ... )
        >>> results["inconsistency"]
        0.5
        >>> results["conditional_inconsistency"]
        1.0
    """

    function = staticmethod(symmetric_inconsistency)
    labels = ("predictions", "perturbed_predictions")
    answers = ("predictions", "perturbed_predictions")
