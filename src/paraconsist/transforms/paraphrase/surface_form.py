"""Surface form of a bucket set: its paraphrases beside their originals, as in Table 6 of Srikanth et al. (2024).

A constituency parser and BLEURT come from outside and are optional.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from paraconsist.errors import InputError, first_line, input_error, renamed
from paraconsist.measures.diversity import ParaphraseDiversityResult, paraphrase_diversity
from paraconsist.transforms.paraphrase.refining import Judge, load_judge

if TYPE_CHECKING:
    from paraconsist.data.bucket_sets import BucketSet
    from paraconsist.models.encoders import Encoder


#: Task -> the columns that its papers paraphrase.
COLUMNS = {"nli": ("hypothesis",), "defeasible_nli": ("update",), "abductive_nli": ("hypothesis_1", "hypothesis_2")}

#: Paraphrase, original, bucket.
Pair = tuple[str, str, str]


def pairs_of(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> list[Pair]:
    """Return (paraphrase, original, bucket) of every paraphrase, once for each column that is paraphrased.

    InputError if a bucket has paraphrases and no original, or the set has no paraphrases.
    """
    originals = {row["bucket_id"]: row for row in rows if row["role"] == "original"}
    pairs: list[Pair] = []
    for number, row in enumerate(rows):
        if row["role"] != "paraphrase":
            continue
        original = originals.get(row["bucket_id"])
        if original is None:
            must = "have an original in every bucket"
            raise input_error("paraphrase", "data", must, got=row["bucket_id"], row=number)
        pairs += [(row[column], original[column], row["bucket_id"]) for column in columns]
    if not pairs:
        raise input_error("paraphrase", "data", "have paraphrases", got="none", remedy="Give a bucket set.")
    return pairs


def measure_pairs(
    pairs: Sequence[Pair],
    *,
    encoder: Encoder | None = None,
    bleurt: Callable[[Sequence[str], Sequence[str]], list[float]] | None = None,
    parser: Parser | None = None,
    judge: Judge | None = None,
    **options: Any,
) -> ParaphraseDiversityResult:
    """Measure the pairs of `pairs_of` with whatever there is of encoder, BLEURT, parser and NLI model.

    Encoder or BLEURT give similarity, the parser syntactic distance, the judge mutual entailment; intervals resample
    the buckets. `options` as for `paraconsist.measures.diversity.paraphrase_diversity`.
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


def measure_set(
    rows: BucketSet,
    *,
    column: str | None = None,
    nli_model: str | None = None,
    label_map: dict[str, str] | None = None,
    embedding_model: str | None = None,
    bleurt: str | None = None,
    parser: str | None = None,
) -> ParaphraseDiversityResult:
    """Measure a bucket set with the models that are named, as `measure_pairs`.

    `column` is the text that was paraphrased, by default what the task's papers paraphrase; `label_map` as for
    `paraconsist.transforms.paraphrase.refining.entailment_label`. InputError if there is no such column or model, or
    the set has no paraphrases.
    """
    from paraconsist.models.encoders import load_encoder

    columns = COLUMNS.get(rows.task.name, ()) if column is None else (column,)
    if not columns or not set(columns) <= set(rows.task.columns):
        raise input_error("paraphrase", "column", f"be one of {', '.join(rows.task.columns)}", got=column)
    if bleurt is not None and embedding_model is not None:
        raise input_error("paraphrase", "bleurt", "be given without `embedding_model`", got=bleurt)
    with renamed(model="embedding_model"):
        encoder = None if embedding_model is None else load_encoder(embedding_model)
    return measure_pairs(
        pairs_of(rows.table.to_pylist(), columns),
        encoder=encoder,
        bleurt=None if bleurt is None else load_bleurt(bleurt),
        parser=None if parser is None else load_parser(parser),
        judge=None if nli_model is None else load_judge(nli_model, label_map),
    )


#: Texts -> a bracketed constituency tree for each.
Parser: TypeAlias = Callable[[Sequence[str]], list[str]]


def load_parser(name: str) -> Parser:
    """Return a constituency parser: ``stanza``, or ``module:function`` of the user's own (texts -> bracketed trees).

    InputError if it is not installed; the message says how to get it.
    """
    if ":" in name:
        from paraconsist.transforms.registry import load_function

        own: Parser = load_function(name, parameter="parser", signature="texts to bracketed trees")
        return own
    if name != "stanza":
        raise input_error("paraphrase", "parser", "be stanza, or module:function of your own", got=name)
    try:
        stanza: Any = importlib.import_module("stanza")
    except ImportError:
        raise _missing("parser", "stanza", 'pip install stanza, then stanza.download("en")') from None
    try:
        pipeline = stanza.Pipeline("en", processors="tokenize,pos,constituency", tokenize_no_ssplit=True, verbose=False)
    except Exception as problem:
        how = f'stanza.download("en"). Its error: {first_line(problem)}'
        raise _missing("parser", "stanza with its English model", how) from None
    return lambda texts: [str(pipeline(text).sentences[0].constituency) for text in texts]


def load_bleurt(checkpoint: str) -> Callable[[Sequence[str], Sequence[str]], list[float]]:
    """Return BLEURT: (paraphrases, originals) -> scores, with Google's package ``bleurt`` and one of its checkpoints.

    InputError if package or checkpoint are not there; the message says how to get them.
    """
    try:
        score: Any = importlib.import_module("bleurt.score")
    except ImportError:
        how = "pip install git+https://github.com/google-research/bleurt, and unpack a checkpoint; "
        how += "or give `embedding_model` for the cosine of embeddings"
        raise _missing("similarity", "bleurt", how) from None
    try:
        scorer = score.BleurtScorer(checkpoint)
    except Exception as problem:
        must, remedy = "name a BLEURT checkpoint", first_line(problem)
        raise input_error("paraphrase", "similarity", must, got=checkpoint, remedy=remedy) from None
    return lambda paraphrases, originals: [
        float(value) for value in scorer.score(references=list(originals), candidates=list(paraphrases))
    ]


def _missing(parameter: str, package: str, how: str) -> InputError:
    return input_error("paraphrase", parameter, f"be installed: {package}", remedy=f"{how}.")
