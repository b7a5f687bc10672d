"""Prediction change as an evaluate metric: declares the columns, checks them, calls one function."""

from typing import Any, Optional

import datasets
import evaluate

from paraconsist.evaluate_module import (
    check_call,  # From: paraconsist
    label_batch,  # From: paraconsist
)
from paraconsist.measures.prediction_change import prediction_change  # From: paraconsist

_DESCRIPTION = """
Prediction change is the share of pairs of an original and a paraphrase for which a model changes its
prediction (Verma et al., 2023), with the changes from right to wrong and from wrong to right counted
apart.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: predicted labels of the paraphrases, all integers or all strings.
    original_predictions: predicted labels of their originals, of the same kind.
    references: gold labels, of the same kind.
    strata (option): a column, or a mapping of names to columns, to break results down by.
    groups (option): the original of every pair, or a shared context: what intervals resample.
    interval_method, confidence_level, n_resamples, seed (options): see
        paraconsist.measures.prediction_change.prediction_change.
Returns:
    change_rate, n_changed, correct_to_incorrect, incorrect_to_correct, n_pairs,
    change_rate_given_correct, change_rate_given_incorrect, confidence_interval, standard_error,
    n_clusters, design_effect, signature, warnings; with strata also by_stratum.
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

_CITATION = """
@inproceedings{verma-etal-2023-evaluating,
    title = "Evaluating Paraphrastic Robustness in Textual Entailment Models",
    author = "Verma, Dhruv and Lal, Yash Kumar and Sinha, Shreyashee and Van Durme, Benjamin and
        Poliak, Adam",
    booktitle = "Proceedings of the 61st Annual Meeting of the Association for Computational Linguistics",
    year = "2023",
}
"""

_NAME = "prediction_change"
_COLUMNS = ("predictions", "original_predictions", "references")
_OPTIONS = (
    "strata",
    "groups",
    "interval_method",
    "confidence_level",
    "n_resamples",
    "seed",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class PredictionChange(evaluate.Metric):
    """See the description above."""

    def _info(self) -> evaluate.MetricInfo:
        # Strings first: evaluate takes the first alternative that can hold the data, and "3" would pass as 3.
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=[
                datasets.Features({name: datasets.Value(label) for name in _COLUMNS}) for label in ("string", "int64")
            ],
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add rows; they are checked here, before Arrow casts 1.7 to 1 and "3" to 3."""
        batch = {"predictions": predictions, "references": references, **kwargs}
        earlier = None if self.writer is None else self.selected_feature_format
        super().add_batch(**label_batch(_NAME, batch, _COLUMNS, earlier))

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one row."""
        row = {"predictions": prediction, "references": reference, **kwargs}
        self.add_batch(**{name: [value] for name, value in row.items()})

    def compute(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> Optional[dict[str, Any]]:  # noqa: UP045 - evaluate's own form
        """Return the measures of the rows given here or added before."""
        columns = {"predictions": predictions, "references": references}
        columns |= {name: kwargs.get(name) for name in _COLUMNS if name not in columns}
        options = {name: value for name, value in kwargs.items() if name not in _COLUMNS}
        check_call(_NAME, columns, options, _OPTIONS, has_rows=self.writer is not None)
        return super().compute(predictions=predictions, references=references, **kwargs)

    def _compute(
        self, predictions: list[Any], original_predictions: list[Any], references: list[Any], **options: Any
    ) -> dict[str, Any]:
        return prediction_change(predictions, original_predictions, references, **options).to_dict()
