"""Prediction change as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.prediction_change import prediction_change  # From: paraconsist


class PredictionChange(evaluate_module.Metric):
    """Prediction change is the share of pairs of an original and a paraphrase for which a model changes its
    prediction (Verma et al., 2023), with the changes from right to wrong and from wrong to right counted
    apart.

    Examples:
        >>> metric = evaluate.load("metrics/prediction_change")
        >>> results = metric.compute(
        ...     predictions=[1, 0, 1, 0],
        ...     original_predictions=[1, 1, 0, 0],
        ...     references=[1, 1, 1, 0],
        ...     strata=["p", "h", "h", "p"],
        ... )
        >>> results["change_rate"]
        0.5
        >>> results["correct_to_incorrect"]
        1
        >>> results["incorrect_to_correct"]
        1
    """

    function = staticmethod(prediction_change)
    labels = ("predictions", "original_predictions", "references")
    answers = ("predictions", "original_predictions")
