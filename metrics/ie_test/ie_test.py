"""The IE test as an evaluate comparison: declares the columns, checks them, calls one function."""

from typing import Any, Optional

import datasets
import evaluate

from paraconsist.evaluate_module import check_call, checked_batch
from paraconsist.measures.ie_test import check_labels, ie_test

_DESCRIPTION = """
The IE test (invariance under equivalence) asks whether a model is as accurate on a test set as on the same
test set after a change that keeps the meaning, such as replacing nouns by synonyms (Salvatore et al., 2023).
It is a paired test on the items: exact, without resampling error, or as the paper and its authors' program
compute it, with corrections for many runs and the signal-to-noise ratio of their accuracies.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: predicted labels of the original items, all integers or all strings.
    transformed_predictions: predicted labels of the transformed items, in the same order, of the same kind.
    references: gold labels, of the same kind.
    runs (option): which run every row comes from; each run is tested, the correction runs over all of them.
    method (option): 'exact' (default), 'paper', 'replay', 'mcnemar', 'mcnemar_mid_p', 'mcnemar_resampled' or
        'mcnemar_replay'.
    ties (option): 'mid' (default) or 'lower' (as published), for method 'exact'.
    n_resamples, seed, alpha, correction, confidence_level (options): see paraconsist.measures.ie_test.ie_test.
Returns:
    statistic, p_value, reject, accuracy, transformed_accuracy, accuracy_difference, n10, n01, n, n_runs,
    p_values, statistics, rejected, accuracies, transformed_accuracies, intervals, n_collapsed,
    confidence_interval, signature, warnings; with runs also runs and collapsed_runs; with two runs or more
    also snr.
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

_CITATION = """
@article{salvatore-etal-2023-resampling,
    title = "A resampling-based method to evaluate {NLI} models",
    author = "Salvatore, Felipe and Finger, Marcelo and Hirata Jr., Roberto and Patriota, Alexandre G.",
    journal = "Natural Language Engineering",
    year = "2023",
}
"""

_NAME = "ie_test"
_COLUMNS = ("predictions", "transformed_predictions", "references")
_OPTIONS = (
    "runs",
    "method",
    "ties",
    "n_resamples",
    "seed",
    "alpha",
    "correction",
    "confidence_level",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class IETest(evaluate.Comparison):
    """See the description above."""

    def _info(self) -> evaluate.ComparisonInfo:
        # Strings first: evaluate takes the first alternative that can hold the data, and "3" would pass as 3.
        return evaluate.ComparisonInfo(
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
        checked = checked_batch(_NAME, batch, _COLUMNS, earlier)
        check_labels(**checked)
        super().add_batch(**checked)

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one row."""
        row = {"predictions": prediction, "references": reference, **kwargs}
        self.add_batch(**{name: [value] for name, value in row.items()})

    def compute(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> Optional[dict[str, Any]]:  # noqa: UP045 - evaluate's own form
        """Return the test of the rows given here or added before."""
        columns = {"predictions": predictions, "references": references}
        columns |= {name: kwargs.get(name) for name in _COLUMNS if name not in columns}
        options = {name: value for name, value in kwargs.items() if name not in _COLUMNS}
        check_call(_NAME, columns, options, _OPTIONS, has_rows=self.writer is not None)
        return super().compute(predictions=predictions, references=references, **kwargs)

    def _compute(
        self,
        predictions: list[Any],
        transformed_predictions: list[Any],
        references: list[Any],
        **options: Any,
    ) -> dict[str, Any]:
        return ie_test(predictions, transformed_predictions, references, **options).to_dict()
