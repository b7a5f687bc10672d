"""Transitive inconsistency as an evaluate metric: declares the columns, checks them, calls one function."""

from typing import Any, Optional

import datasets
import evaluate

from paraconsist.evaluate_module import (
    allowed_batch,  # From: paraconsist
    check_call,  # From: paraconsist
)
from paraconsist.measures.antecedents import transitive_inconsistency  # From: paraconsist

_DESCRIPTION = """
Transitive inconsistency is the share of rows whose conclusion a model denies although it gets both
premises of the rule right (Jang, Kwon and Lukasiewicz, 2022). A rule allows the conclusion one label or
several.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: predicted labels of the consequents, all integers or all strings.
    references: what the rule allows, in every row a label or in every row a list of labels.
    antecedent_1_predictions, antecedent_1_references: predicted and gold labels of the first antecedents.
    antecedent_2_predictions, antecedent_2_references: the same for the second antecedents.
    groups (option): what intervals resample where rows share an antecedent.
    interval_method, confidence_level, n_resamples, seed (options): see
        paraconsist.measures.antecedents.transitive_inconsistency.
Returns:
    inconsistency, n_satisfied, n_rows, by_rule, confidence_interval, standard_error, n_clusters,
    design_effect, signature, warnings.
Examples:
    >>> metric = evaluate.load("metrics/transitive_inconsistency")
    >>> results = metric.compute(
    ...     predictions=[2, 1, 1, 0],
    ...     references=[[2], [2], [1, 2], [1, 2]],
    ...     antecedent_1_predictions=[0, 0, 1, 0],
    ...     antecedent_1_references=[0, 0, 1, 1],
    ...     antecedent_2_predictions=[2, 2, 2, 2],
    ...     antecedent_2_references=[2, 2, 2, 2],
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

_NAME = "transitive_inconsistency"
_COLUMNS = (
    "predictions",
    "references",
    "antecedent_1_predictions",
    "antecedent_1_references",
    "antecedent_2_predictions",
    "antecedent_2_references",
)
_OPTIONS = (
    "groups",
    "interval_method",
    "confidence_level",
    "n_resamples",
    "seed",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class TransitiveInconsistency(evaluate.Metric):
    """See the description above."""

    def _info(self) -> evaluate.MetricInfo:
        # Strings first: evaluate takes the first alternative that can hold the data, and "3" would pass as 3.
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=[
                datasets.Features(
                    {
                        name: datasets.List(datasets.Value(label)) if name == "references" else datasets.Value(label)
                        for name in _COLUMNS
                    }
                )
                for label in ("string", "int64")
            ],
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add rows; they are checked here, before Arrow casts 1.7 to 1 and "3" to 3."""
        batch = {"predictions": predictions, "references": references, **kwargs}
        earlier = None if self.writer is None else self.selected_feature_format
        super().add_batch(**allowed_batch(_NAME, batch, _COLUMNS, "references", earlier))

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
        antecedent_1_predictions: list[Any],
        antecedent_1_references: list[Any],
        antecedent_2_predictions: list[Any],
        antecedent_2_references: list[Any],
        **options: Any,
    ) -> dict[str, Any]:
        return transitive_inconsistency(
            predictions,
            references,
            antecedent_1_predictions,
            antecedent_1_references,
            antecedent_2_predictions,
            antecedent_2_references,
            **options,
        ).to_dict()
