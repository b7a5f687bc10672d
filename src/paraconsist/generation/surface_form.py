"""Surface form of a bucket set: its paraphrases beside their originals, as in Table 6 of Srikanth et al. (2024)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from paraconsist.errors import input_error
from paraconsist.generation.refining import Judge
from paraconsist.generation.scorers import Parser
from paraconsist.measures.diversity import ParaphraseDiversityResult, paraphrase_diversity

if TYPE_CHECKING:
    from paraconsist.generation.embedding import SentenceEncoder


#: Task -> the columns that its papers paraphrase.
COLUMNS = {
    "nli": ("hypothesis",),
    "defeasible_nli": ("update",),
    "abductive_nli": ("hypothesis_1", "hypothesis_2"),
}

#: Paraphrase, original, bucket.
Pair = tuple[str, str, str]


def pairs_of(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> list[Pair]:
    """Return (paraphrase, original, bucket) of every paraphrase, once for each column that is paraphrased.

    Parameters
    ----------
    rows : sequence of dict
        Of a bucket set.
    columns : sequence of str

    Raises
    ------
    InputError
        If a bucket has paraphrases and no original, or the set has no paraphrases.
    """
    originals = {row["bucket_id"]: row for row in rows if row["role"] == "original"}
    found: list[Pair] = []
    for number, row in enumerate(rows):
        if row["role"] != "paraphrase":
            continue
        original = originals.get(row["bucket_id"])
        if original is None:
            raise input_error(
                "paraphrase", "data", "have an original in every bucket", got=row["bucket_id"], row=number
            )
        found += [(row[column], original[column], row["bucket_id"]) for column in columns]
    if not found:
        raise input_error("paraphrase", "data", "have paraphrases", got="none", remedy="Give a bucket set.")
    return found


def measure_pairs(
    pairs: Sequence[Pair],
    *,
    encoder: SentenceEncoder | None = None,
    bleurt: Callable[[Sequence[str], Sequence[str]], list[float]] | None = None,
    parser: Parser | None = None,
    judge: Judge | None = None,
    **options: Any,
) -> ParaphraseDiversityResult:
    """Measure pairs with whatever there is of encoder, BLEURT, parser and NLI model.

    Parameters
    ----------
    pairs : sequence of (str, str, str)
        Of `pairs_of`; intervals resample the buckets.
    encoder, bleurt, parser, judge
        For similarity (either), syntactic distance, and mutual entailment.
    options
        Of `paraconsist.measures.diversity.paraphrase_diversity`.
    """
    new, old = [p for p, _, _ in pairs], [o for _, o, _ in pairs]
    if encoder is not None:
        options |= {"embeddings": encoder(new), "original_embeddings": encoder(old)}
    if bleurt is not None:
        options |= {"similarities": bleurt(new, old)}
    if parser is not None:
        texts = list(dict.fromkeys([*new, *old]))
        trees = dict(zip(texts, parser(texts), strict=True))
        options |= {"parses": [trees[t] for t in new], "original_parses": [trees[t] for t in old]}
    if judge is not None:
        options |= {"entailed": judge(old, new).tolist()}
    return paraphrase_diversity(new, old, groups=[bucket for _, _, bucket in pairs], **options)
