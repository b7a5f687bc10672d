"""Paraphrastic consistency as an evaluate metric: declares the columns, checks them, calls one function."""

from typing import Any, Optional

import datasets
import evaluate

from paraconsist.evaluate_module import (
    check_call,  # From: paraconsist
    label_batch,  # From: paraconsist
)
from paraconsist.measures.paraphrastic import paraphrastic_consistency  # From: paraconsist

_DESCRIPTION = """
Paraphrastic consistency P_C is the probability that a model's predictions for two paraphrases of the same
problem are both right or both wrong (Srikanth, Carpuat and Rudinger, 2024). Published (plug-in) and unbiased
estimators, accuracy, variance attributable to paraphrasing, values corrected for stratified sampling, and
intervals over buckets.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: predicted labels, all integers or all strings. references: gold labels, of the same kind; one
    and the same within a bucket. buckets: the bucket of every row, all integers or all strings. roles
    (option): 'original' or 'paraphrase' for every row; originals leave the buckets and give
    original_accuracy. groups (option): what intervals resample where buckets are not independent.
    original_confidences, test_confidences (options): bucket -> confidence in gold, and those of the test set;
    give the
        corrected values. renormalize (option): divide them by covered_mass.
    test_predictions, test_references (options): give test_accuracy.
    estimator, interval_method, confidence_level, n_resamples, seed (options): see
        paraconsist.measures.paraphrastic.paraphrastic_consistency.
Returns:
    paraphrastic_consistency, paraphrastic_consistency_unbiased, accuracy, bucket_accuracy, vap,
    vap_unbiased, between_variance, pvap, pvap_pooled, min_paraphrastic_consistency, agreement,
    agreement_unbiased, n_buckets, n_examples, confidence_interval, standard_error, n_clusters,
    design_effect, bias, signature, warnings.
Examples:
    >>> metric = evaluate.load("metrics/paraphrastic_consistency")
    >>> results = metric.compute(
    ...     predictions=[1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1],
    ...     references=[1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0],
    ...     buckets=["a", "a", "a", "a", "b", "b", "b", "b", "c", "c", "c", "c"],
    ... )
    >>> round(results["paraphrastic_consistency"], 4), round(results["paraphrastic_consistency_unbiased"], 4)
    (0.8333, 0.7778)
"""

_CITATION = """
@article{srikanth-etal-2024-often,
    title = "How Often Are Errors in Natural Language Reasoning Due to Paraphrastic Variability?",
    author = "Srikanth, Neha and Carpuat, Marine and Rudinger, Rachel",
    journal = "Transactions of the Association for Computational Linguistics",
    year = "2024",
}
"""

_NAME = "paraphrastic_consistency"
_COLUMNS = ("predictions", "references", "buckets")
_OPTIONS = (
    "roles",
    "groups",
    "original_confidences",
    "test_confidences",
    "renormalize",
    "test_predictions",
    "test_references",
    "estimator",
    "interval_method",
    "confidence_level",
    "n_resamples",
    "seed",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class ParaphrasticConsistency(evaluate.Metric):
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
                        "predictions": datasets.Value(label),
                        "references": datasets.Value(label),
                        "buckets": datasets.Value(bucket),
                    }
                )
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
        self, predictions: list[Any], references: list[Any], buckets: list[Any], **options: Any
    ) -> dict[str, Any]:
        return paraphrastic_consistency(predictions, references, buckets, **options).to_dict()
