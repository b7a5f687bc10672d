"""Additive inconsistency as an evaluate metric: declares the columns, checks them, calls one function."""

from typing import Any, Optional

import datasets
import evaluate

from paraconsist.evaluate_module import (
    check_call,  # From: paraconsist
    label_batch,  # From: paraconsist
)
from paraconsist.measures.antecedents import additive_inconsistency  # From: paraconsist

_DESCRIPTION = """
Additive inconsistency is the share of merged texts that lose the label which a model gives, correctly, to
both of their parts (Jang, Kwon and Lukasiewicz, 2022).
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: predicted labels of the merged texts, all integers or all strings.
    references: the one gold label of both parts, of the same kind.
    part_1_predictions, part_2_predictions: predicted labels of the parts.
    groups (option): what intervals resample.
    interval_method, confidence_level, n_resamples, seed (options): see
        paraconsist.measures.antecedents.additive_inconsistency.
Returns:
    inconsistency, n_satisfied, n_rows, confidence_interval, standard_error, n_clusters,
    design_effect, signature, warnings.
Examples:
    >>> metric = evaluate.load("metrics/additive_inconsistency")
    >>> results = metric.compute(
    ...     predictions=[1, 0, 1, 0],
    ...     references=[1, 1, 0, 0],
    ...     part_1_predictions=[1, 1, 0, 0],
    ...     part_2_predictions=[1, 1, 1, 0],
    ... )
    >>> results["inconsistency"]
    0.3333333333333333
    >>> results["n_satisfied"]
    3
"""

_CITATION = """
@inproceedings{jang-etal-2022-becel,
    title = "{BECEL}: Benchmark for Consistency Evaluation of Language Models",
    author = "Jang, Myeongjun and Kwon, Deuk Sin and Lukasiewicz, Thomas",
    booktitle = "Proceedings of the 29th International Conference on Computational Linguistics",
    year = "2022",
}
"""

_NAME = "additive_inconsistency"
_COLUMNS = ("predictions", "references", "part_1_predictions", "part_2_predictions")
_OPTIONS = (
    "groups",
    "interval_method",
    "confidence_level",
    "n_resamples",
    "seed",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class AdditiveInconsistency(evaluate.Metric):
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
        self,
        predictions: list[Any],
        references: list[Any],
        part_1_predictions: list[Any],
        part_2_predictions: list[Any],
        **options: Any,
    ) -> dict[str, Any]:
        return additive_inconsistency(
            predictions, references, part_1_predictions, part_2_predictions, **options
        ).to_dict()
