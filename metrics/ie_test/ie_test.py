"""The IE test as an evaluate comparison."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.ie_test import ie_test  # From: paraconsist


class IETest(evaluate_module.Comparison):
    """The IE test (invariance under equivalence) asks whether a model is as accurate on a test set as on the same
    test set after a change that keeps the meaning, such as replacing nouns by synonyms (Salvatore et al., 2023).
    It is a paired test on the items: exact, without resampling error, or as the paper and its authors' program
    compute it, with corrections for many runs and the signal-to-noise ratio of their accuracies.

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
