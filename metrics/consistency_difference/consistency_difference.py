"""Consistency difference as an evaluate comparison: declares the columns, checks them, calls one function."""

from typing import Any, Optional

import datasets
import evaluate

from paraconsist.evaluate_module import (
    check_call,  # From: paraconsist
    label_batch,  # From: paraconsist
)
from paraconsist.measures.consistency_difference import consistency_difference  # From: paraconsist

_DESCRIPTION = """
Difference of two models' paraphrastic consistency on the same buckets of paraphrases: paired, with an interval over
buckets and the p-value of a sign-flip permutation test; accuracy and every other measure of paraphrastic consistency
(Srikanth, Carpuat and Rudinger, 2024) are compared as well.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions1, predictions2: the two models' labels for the same rows, all integers or all strings.
    references: gold labels, of the same kind; one and the same within a bucket.
    buckets: the bucket of every row, all integers or all strings.
    roles (option): 'original' or 'paraphrase' for every row; originals leave the buckets.
    groups (option): what stays together in resampling and permutation where buckets are not independent.
    estimator (option): 'unbiased' or 'plugin', the P_C that difference and p_value are of.
    interval_method, confidence_level, n_resamples, n_permutations, seed (options): see
        paraconsist.measures.consistency_difference.consistency_difference.
Returns:
    difference, p_value, n_buckets, n_examples, values1, values2, differences, p_values, p_value_error,
    confidence_interval, standard_error, n_clusters, design_effect, signature, warnings.
Examples:
    >>> comparison = evaluate.load("metrics/consistency_difference", module_type="comparison")
    >>> results = comparison.compute(
    ...     predictions1=[1] * 12,
    ...     predictions2=[1, 0] * 6,
    ...     references=[1] * 12,
    ...     buckets=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
    ... )
    >>> results["difference"], results["p_value"], results["n_buckets"]
    (1.0, 0.03125, 6)
"""

_CITATION = """
@article{srikanth-etal-2024-often,
    title = "How Often Are Errors in Natural Language Reasoning Due to Paraphrastic Variability?",
    author = "Srikanth, Neha and Carpuat, Marine and Rudinger, Rachel",
    journal = "Transactions of the Association for Computational Linguistics",
    year = "2024",
}
"""

_NAME = "consistency_difference"
_COLUMNS = ("predictions1", "predictions2", "references", "buckets")
_OPTIONS = (
    "roles",
    "groups",
    "estimator",
    "interval_method",
    "confidence_level",
    "n_resamples",
    "n_permutations",
    "seed",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class ConsistencyDifference(evaluate.Comparison):
    """See the description above."""

    def _info(self) -> evaluate.ComparisonInfo:
        # Strings first: evaluate takes the first alternative that can hold the data, and "3" would pass as 3.
        return evaluate.ComparisonInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=[
                datasets.Features(
                    {
                        "predictions1": datasets.Value(label),
                        "predictions2": datasets.Value(label),
                        "references": datasets.Value(label),
                        "buckets": datasets.Value(bucket),
                    }
                )
                for label in ("string", "int64")
                for bucket in ("string", "int64")
            ],
        )

    def add_batch(self, *, references: Any = None, **kwargs: Any) -> None:
        """Add rows; they are checked here, before Arrow casts 1.7 to 1 and "3" to 3."""
        batch = {**{name: kwargs.get(name) for name in _COLUMNS}, **kwargs, "references": references}
        earlier = None if self.writer is None else self.selected_feature_format
        super().add_batch(**label_batch(_NAME, batch, _COLUMNS, earlier, ids=("buckets",)))

    def add(self, *, reference: Any = None, **kwargs: Any) -> None:
        """Add one row."""
        row = {"references": reference, **kwargs}
        self.add_batch(**{name: [value] for name, value in row.items()})

    def compute(self, *, references: Any = None, **kwargs: Any) -> Optional[dict[str, Any]]:  # noqa: UP045 - evaluate's own form
        """Return the comparison of the rows given here or added before."""
        columns = {name: kwargs.get(name) for name in _COLUMNS} | {"references": references}
        options = {name: value for name, value in kwargs.items() if name not in _COLUMNS}
        check_call(_NAME, columns, options, _OPTIONS, has_rows=self.writer is not None)
        return super().compute(references=references, **kwargs)

    def _compute(
        self,
        predictions1: list[Any],
        predictions2: list[Any],
        references: list[Any],
        buckets: list[Any],
        **options: Any,
    ) -> dict[str, Any]:
        return consistency_difference(predictions1, predictions2, references, buckets, **options).to_dict()
