"""Paraphrase diversity as an evaluate measurement: declares the columns, checks them, calls one function."""

from typing import Any, Optional

import datasets
import evaluate

from paraconsist.evaluate_module import (
    check_call,  # From: paraconsist
    text_batch,  # From: paraconsist
)
from paraconsist.measures.diversity import paraphrase_diversity  # From: paraconsist

_DESCRIPTION = """
Paraphrase diversity is how far paraphrases are from their originals in words, structure and meaning (Srikanth,
Carpuat and Rudinger, 2024, section 6; Jaccard as in Verma et al., 2023).
"""

_KWARGS_DESCRIPTION = """
Args:
    paraphrases: texts.
    originals: each paraphrase's original, repeated for each of its paraphrases.
    embeddings, original_embeddings (options): a sentence vector for each text, for semantic_similarity.
    similarities (option): a similarity for each pair in place of embeddings, such as BLEURT's.
    parses, original_parses (options): constituency trees in brackets, for syntactic_distance.
    entailed (option): whether the texts of each pair entail each other, for mutual_entailment.
    groups (option): the original of every pair: what intervals resample.
    interval_method, confidence_level, n_resamples, seed (options): see paraconsist.paraphrase_diversity.
Returns:
    lexical_distance, jaccard, semantic_similarity, syntactic_distance, mutual_entailment (nan, with a
    warning, for what was not given), n_pairs, confidence_interval, standard_error, n_clusters, signature,
    warnings.
Examples:
    >>> measurement = evaluate.load("metrics/paraphrase_diversity")
    >>> results = measurement.compute(
    ...     paraphrases=["Dogs make him sneeze.", "He reacts to dogs."],
    ...     originals=["He is allergic to dogs.", "He is allergic to dogs."],
    ... )
    >>> round(results["lexical_distance"], 3), round(results["jaccard"], 3)
    (0.415, 0.312)
"""

_CITATION = """
@article{srikanth-etal-2024-often,
    title = "How Often Are Errors in Natural Language Reasoning Due to Paraphrastic Variability?",
    author = "Srikanth, Neha and Carpuat, Marine and Rudinger, Rachel",
    journal = "Transactions of the Association for Computational Linguistics",
    year = "2024",
}
"""

_NAME = "paraphrase_diversity"
_COLUMNS = ("paraphrases", "originals")
_OPTIONS = (
    "embeddings",
    "original_embeddings",
    "similarities",
    "parses",
    "original_parses",
    "entailed",
    "groups",
    "interval_method",
    "confidence_level",
    "n_resamples",
    "seed",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class ParaphraseDiversity(evaluate.Measurement):
    """See the description above."""

    def _info(self) -> evaluate.MeasurementInfo:
        return evaluate.MeasurementInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features({name: datasets.Value("string") for name in _COLUMNS}),
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add rows; they are checked here, before evaluate stores them."""
        given = {"predictions": predictions, "references": references}
        batch = {**{name: values for name, values in given.items() if values is not None}, **kwargs}
        super().add_batch(**text_batch(_NAME, batch, _COLUMNS))

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

    def _compute(self, paraphrases: list[str], originals: list[str], **options: Any) -> dict[str, Any]:
        return paraphrase_diversity(paraphrases, originals, **options).to_dict()
