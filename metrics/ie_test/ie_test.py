"""The IE test as an evaluate comparison."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.ie_test import ie_test  # From: paraconsist


class IETest(evaluate_module.Comparison):
    """The IE test (invariance under equivalence) asks whether a model is as accurate on a test set as on the same
    test set after a change that keeps the meaning, such as replacing nouns by synonyms (Salvatore et al., 2023).
    It is a paired test on the items: exact, without resampling error, or as the paper and its authors' program
    compute it, with corrections for many runs and the signal-to-noise ratio of their accuracies.

    Args:
        predictions: predicted labels of the original items, all integers or all strings.
        transformed_predictions: predicted labels of the transformed items, in the same order, of the same kind.
        references: gold labels, of the same kind.
        runs (option): which run every row comes from; each run is tested, the correction runs over all of them.
        groups (option): which rows are not independent (items that share a premise, say): whole groups are swapped.
        method (option): 'exact' (default), 'paper', 'replay', 'mcnemar', 'mcnemar_mid_p', 'mcnemar_resampled' or
            'mcnemar_replay'.
        ties (option): 'mid' (default) or 'lower' (as published), for method 'exact'.
    Returns:
        statistic, p_value, reject, accuracy, transformed_accuracy, accuracy_difference, n10, n01, n, n_runs,
        p_values, statistics, rejected, accuracies, transformed_accuracies, intervals, n_collapsed,
        confidence_interval, signature, warnings; with runs also runs and collapsed_runs; with two runs or more
        also snr; with groups also standard_error, n_clusters, design_effect.
    Examples:
        >>> comparison = evaluate.load("metrics/ie_test")
        >>> results = comparison.compute(
        ...     predictions=[1] * 50,
        ...     transformed_predictions=[0] * 3 + [1] * 47,
        ...     references=[1] * 50,
        ... )
        >>> round(results["statistic"], 3), round(results["p_value"], 4), results["reject"]
        (1.786, 0.0615, False)
    """

    function = staticmethod(ie_test)
    labels = ("predictions", "transformed_predictions", "references")
