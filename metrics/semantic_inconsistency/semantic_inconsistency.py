"""Semantic inconsistency as an evaluate metric: declares the columns, checks them, calls one function."""

from typing import Any, Optional

import datasets
import evaluate

from paraconsist.evaluate_module import (
    check_call,  # From: paraconsist
    label_batch,  # From: paraconsist
)
from paraconsist.measures.pairs import semantic_inconsistency  # From: paraconsist

_DESCRIPTION = """
Semantic inconsistency is the share of texts and their paraphrases that a model gives different labels
(Jang, Kwon and Lukasiewicz, 2022). Gold labels play no part.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: predicted labels of the originals, all integers or all strings.
    perturbed_predictions: predicted labels of the perturbed texts, of the same kind.
    condition (option): a label; also gives the value over the pairs whose original is predicted so.
    references, perturbed_references (options): gold labels of the two sides; give the accuracies.
    groups (option): the original of every pair, or a shared context: what intervals resample.
    interval_method, confidence_level, n_resamples, seed (options): see
        paraconsist.measures.pairs.semantic_inconsistency.
Returns:
    inconsistency, n_pairs, confidence_interval, standard_error, n_clusters, design_effect,
    signature, warnings; with condition also conditional_inconsistency and n_conditional; with
    references accuracy; with perturbed_references perturbed_accuracy.
Examples:
    >>> metric = evaluate.load("metrics/semantic_inconsistency")
    >>> results = metric.compute(
    ...     predictions=[1, 1, 0, 0],
    ...     perturbed_predictions=[1, 0, 0, 0],
    ...     condition=1,
    ... )
    >>> results["inconsistency"]
    0.25
    >>> results["conditional_inconsistency"]
    0.5
"""

_CITATION = """
@inproceedings{jang-etal-2022-becel,
    title = "{BECEL}: Benchmark for Consistency Evaluation of Language Models",
    author = "Jang, Myeongjun and Kwon, Deuk Sin and Lukasiewicz, Thomas",
    booktitle = "Proceedings of the 29th International Conference on Computational Linguistics",
    year = "2022",
}
"""

_NAME = "semantic_inconsistency"
_COLUMNS = ("predictions", "perturbed_predictions")
_OPTIONS = (
    "condition",
    "references",
    "perturbed_references",
    "groups",
    "interval_method",
    "confidence_level",
    "n_resamples",
    "seed",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class SemanticInconsistency(evaluate.Metric):
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
        batch = {"predictions": predictions, **kwargs}
        if references is not None:
            batch["references"] = references  # an option of `compute`, so refused here
        earlier = None if self.writer is None else self.selected_feature_format
        super().add_batch(**label_batch(_NAME, batch, _COLUMNS, earlier))

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one row."""
        row = {"predictions": prediction, "references": reference, **kwargs}
        self.add_batch(**{name: [value] for name, value in row.items() if value is not None})

    def compute(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> Optional[dict[str, Any]]:  # noqa: UP045 - evaluate's own form
        """Return the measures of the rows given here or added before."""
        columns = {"predictions": predictions, _COLUMNS[1]: kwargs.get(_COLUMNS[1])}
        options = {name: value for name, value in kwargs.items() if name not in _COLUMNS}
        check_call(_NAME, columns, options, _OPTIONS, has_rows=self.writer is not None)
        # evaluate drops `references` where they are no column: they go on under another name
        return super().compute(predictions=predictions, original_references=references, **kwargs)

    def _compute(
        self,
        predictions: list[Any],
        perturbed_predictions: list[Any],
        original_references: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        return semantic_inconsistency(
            predictions, perturbed_predictions, references=original_references, **options
        ).to_dict()
