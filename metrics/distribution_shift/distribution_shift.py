"""Distribution shift as an evaluate metric: declares the columns, checks them, calls one function."""

from typing import Any, Optional

import datasets
import evaluate

from paraconsist.evaluate_module import (
    check_call,  # From: paraconsist
    probability_batch,  # From: paraconsist
)
from paraconsist.measures.distribution_shift import distribution_shift  # From: paraconsist

_DESCRIPTION = """
Distribution shift is how far a model's class probabilities move between an original and its variant, for
changed and unchanged predictions apart (Arakelyan, Liu and Augenstein, 2024).
"""

_KWARGS_DESCRIPTION = """
Args:
    probabilities: class probabilities of every variant, lists of floats that sum to 1.
    original_probabilities: the same for its original.
    groups (option): the original of every pair, or a shared context: what intervals resample.
    interval_method, confidence_level, n_resamples, seed (options): see
        paraconsist.measures.distribution_shift.distribution_shift.
Returns:
    jensen_shannon_distance, jensen_shannon_divergence, max_difference, standard_deviation (each a
    mapping with the keys changed and unchanged), n_changed, n_unchanged, confidence_interval,
    standard_error, n_clusters, design_effect, signature, warnings.
Examples:
    >>> metric = evaluate.load("metrics/distribution_shift")
    >>> results = metric.compute(
    ...     probabilities=[[0.9, 0.1], [0.25, 0.75]],
    ...     original_probabilities=[[0.9, 0.1], [0.75, 0.25]],
    ... )
    >>> results["max_difference"]
    {'changed': 0.5, 'unchanged': 0.0}
    >>> results["n_changed"]
    1
"""

_CITATION = """
@inproceedings{arakelyan-etal-2024-semantic,
    title = "Semantic Sensitivities and Inconsistent Predictions: Measuring the Fragility of {NLI} Models",
    author = "Arakelyan, Erik and Liu, Zhaoqi and Augenstein, Isabelle",
    booktitle = "Proceedings of the 18th Conference of the European Chapter of the Association for
        Computational Linguistics",
    year = "2024",
}
"""

_NAME = "distribution_shift"
_COLUMNS = ("probabilities", "original_probabilities")
_OPTIONS = (
    "groups",
    "interval_method",
    "confidence_level",
    "n_resamples",
    "seed",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class DistributionShift(evaluate.Metric):
    """See the description above."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features({name: datasets.List(datasets.Value("float64")) for name in _COLUMNS}),
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add rows; they are checked here, before evaluate stores them."""
        given = {"predictions": predictions, "references": references}
        batch = {**{name: values for name, values in given.items() if values is not None}, **kwargs}
        super().add_batch(**probability_batch(_NAME, batch, _COLUMNS))

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one row."""
        row = {"predictions": prediction, "references": reference, **kwargs}
        self.add_batch(**{name: [value] for name, value in row.items() if value is not None})

    def compute(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> Optional[dict[str, Any]]:  # noqa: UP045 - evaluate's own form
        """Return the measures of the rows given here or added before."""
        columns = {name: kwargs.get(name) for name in _COLUMNS}
        given = {"predictions": predictions, "references": references, **kwargs}
        options = {name: value for name, value in given.items() if name not in _COLUMNS and value is not None}
        check_call(_NAME, columns, options, _OPTIONS, has_rows=self.writer is not None)
        return super().compute(**kwargs)

    def _compute(self, probabilities: list[Any], original_probabilities: list[Any], **options: Any) -> dict[str, Any]:
        return distribution_shift(probabilities, original_probabilities, **options).to_dict()
