"""Fooling rate as an evaluate metric: declares the columns, checks them, calls one function."""

from typing import Any, Optional

import datasets
import evaluate

from paraconsist.evaluate_module import (
    check_call,  # From: paraconsist
    label_batch,  # From: paraconsist
)
from paraconsist.measures.fooling_rate import fooling_rate  # From: paraconsist

_DESCRIPTION = """
The fooling rate is the share of items, answered right, whose prediction at least one meaning-preserving
variant changes: to any other label (relaxed), or to the opposite one (strict) (Arakelyan, Liu and
Augenstein, 2024).
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: predicted labels of the variants, all integers or all strings.
    original_predictions, references: predicted and gold labels of their originals, one per bucket.
    buckets: the item of every variant, all integers or all strings.
    originals (option): bucket -> (prediction, gold label) of every original, also without variants.
    opposites (option): label -> opposite label; by default entailment and contradiction, or 0 and 2.
    variants, minimum (options): how many variants are used; items with fewer are left out.
    preset (option): 'paper' (all variants, every original) or 'code' (the first 5, fewer are dropped).
    groups (option): what intervals resample where items are not independent.
    interval_method, confidence_level, n_resamples, seed (options): see
        paraconsist.measures.fooling_rate.fooling_rate.
Returns:
    relaxed, strict, n_items, by_label, confidence_interval, standard_error, n_clusters,
    design_effect, signature, warnings.
Examples:
    >>> metric = evaluate.load("metrics/fooling_rate")
    >>> results = metric.compute(
    ...     predictions=[0, 1, 2, 0, 1, 1],
    ...     original_predictions=[0, 0, 2, 2, 1, 1],
    ...     references=[0, 0, 2, 2, 1, 1],
    ...     buckets=["a", "a", "b", "b", "c", "c"],
    ... )
    >>> results["relaxed"]
    0.6666666666666666
    >>> results["strict"]
    0.3333333333333333
    >>> results["n_items"]
    3
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

_NAME = "fooling_rate"
_COLUMNS = ("predictions", "original_predictions", "references", "buckets")
_OPTIONS = (
    "originals",
    "opposites",
    "variants",
    "minimum",
    "preset",
    "groups",
    "interval_method",
    "confidence_level",
    "n_resamples",
    "seed",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class FoolingRate(evaluate.Metric):
    """See the description above."""

    def _info(self) -> evaluate.MetricInfo:
        # Strings first: evaluate takes the first alternative that can hold the data, and "3" would pass as 3.
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=[
                datasets.Features({name: datasets.Value(bucket if name == "buckets" else label) for name in _COLUMNS})
                for label in ("string", "int64")
                for bucket in ("string", "int64")
            ],
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add rows; they are checked here, before Arrow casts 1.7 to 1 and "3" to 3."""
        batch = {"predictions": predictions, "references": references, **kwargs}
        earlier = None if self.writer is None else self.selected_feature_format
        super().add_batch(**label_batch(_NAME, batch, _COLUMNS, earlier, ids=("buckets",)))

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
        original_predictions: list[Any],
        references: list[Any],
        buckets: list[Any],
        **options: Any,
    ) -> dict[str, Any]:
        return fooling_rate(predictions, original_predictions, references, buckets, **options).to_dict()
