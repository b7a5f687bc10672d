"""Paraphrase diversity: the mean surface distances of paraphrases from their originals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist.errors import input_error
from paraconsist.measures._estimates import Estimates, interval_options
from paraconsist.measures._validation import as_column, as_mask, check_both, check_length, check_rows, check_unmasked
from paraconsist.measures.buckets import group_codes
from paraconsist.measures.intervals import FEW_UNITS
from paraconsist.measures.resampling import Floats, Units, mean_of_sums
from paraconsist.measures.results import Result
from paraconsist.measures.text_distances import jaccard, lexical_distance, syntactic_distance

_RANGES = {
    "lexical_distance": (0.0, 1.0),
    "jaccard": (0.0, 1.0),
    "semantic_similarity": (-1.0, 1.0),
    "syntactic_distance": (0.0, 1.0),
    "mutual_entailment": (0.0, 1.0),
}
_NEEDS = {
    "semantic_similarity": "give `embeddings` and `original_embeddings`, or `similarities` (BLEURT's, say)",
    "syntactic_distance": "give `parses` and `original_parses` of a constituency parser",
    "mutual_entailment": "give `entailed`, what an NLI model says of each pair",
}


@dataclass(frozen=True, repr=False)
class ParaphraseDiversityResult(Result):
    """Means over the pairs of paraphrase and original.

    Attributes
    ----------
    lexical_distance : float
        In [0, 1]: 0 for the same words in any order.
    jaccard : float
        In [0, 1]: shared words over all words.
    semantic_similarity : float
        Cosine of embeddings, in [-1, 1], or the mean of `similarities`; nan where neither is given.
    syntactic_distance : float
        In [0, 1): of constituency trees cut at the third level; nan without parses.
    mutual_entailment : float
        Share of pairs that entail each other; nan if it is not given.
    n_pairs : int
    """

    lexical_distance: float
    jaccard: float
    semantic_similarity: float
    syntactic_distance: float
    mutual_entailment: float
    n_pairs: int


def paraphrase_diversity(
    paraphrases: Any,
    originals: Any,
    *,
    embeddings: Any = None,
    original_embeddings: Any = None,
    similarities: Any = None,
    parses: Any = None,
    original_parses: Any = None,
    entailed: Any = None,
    groups: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> ParaphraseDiversityResult:
    """Mean distance of paraphrases from their originals, in words, structure and meaning.

    The reader learns whether paraphrases say the same (similarity, mutual entailment) in other words (lexical
    distance) and in another form (syntactic distance). Neither end of any of them is good by itself.

    Parameters
    ----------
    paraphrases, originals : sequence of str, shape (n,)
        Each paraphrase, and its original (repeated for each of its paraphrases).
    embeddings, original_embeddings : array_like, shape (n, d), optional
        Sentence vectors: their cosine is `semantic_similarity`.
    similarities : sequence of float, shape (n,), optional
        Similarity in place of embeddings, on any scale, such as BLEURT's.
    parses, original_parses : sequence of str, shape (n,), optional
        Constituency trees in brackets, see `paraconsist.measures.text_distances.parse_tree`.
    entailed : sequence of bool, shape (n,), optional
        Whether each pair entails each other.
    groups : sequence of int or str, shape (n,), optional
        The original's id: what intervals resample.
    interval_method : {"auto", "bootstrap", "closed_form"}
        Percentiles of a bootstrap over groups, or t intervals from cluster-robust standard errors.
    confidence_level, n_resamples, seed
        As for `paraconsist.measures.pairs.semantic_inconsistency`.

    Returns
    -------
    ParaphraseDiversityResult
        What could not be measured is nan, and `warnings` says what it needs; nothing is printed.

    Raises
    ------
    InputError
        For empty, missing or unequally long input, texts that are none, and parses that cannot be read.

    References
    ----------
    Srikanth, Carpuat, Rudinger (2024), section 6 and Table 6. Verma et al. (2023), section 3.1 (Jaccard).

    Examples
    --------
    >>> result = paraphrase_diversity(["Dogs make him sneeze."], ["He is allergic to dogs."])
    >>> round(result.lexical_distance, 4), round(result.jaccard, 4)
    (0.5593, 0.125)

    On ParaNLU's human paraphrases of the SOCIAL set the mean lexical distance is 0.399 (the paper's Table 6: 40.0).
    """
    function = "paraphrase_diversity"
    options = interval_options(function, interval_method, confidence_level, n_resamples, seed)
    new = _texts(paraphrases, function, "paraphrases")
    n = len(new)
    old = _texts(originals, function, "originals", n)
    measured: dict[str, Any] = {
        "lexical_distance": [lexical_distance(p, o) for p, o in zip(new, old, strict=True)],
        "jaccard": [jaccard(p, o) for p, o in zip(new, old, strict=True)],
    }
    similarity = _similarity(function, n, embeddings, original_embeddings, similarities)
    if similarity is not None:
        measured["semantic_similarity"] = similarity
    if parses is not None or original_parses is not None:
        trees, others = _texts(parses, function, "parses", n), _texts(original_parses, function, "original_parses", n)
        measured["syntactic_distance"] = [syntactic_distance(p, o) for p, o in zip(trees, others, strict=True)]
    if entailed is not None:
        column = as_column(entailed, function=function, parameter="entailed", what="true or false")
        check_length(function, "entailed", column, n, "paraphrases")
        measured["mutual_entailment"] = as_mask(function, "entailed", column)
    codes = group_codes(function, groups, n, "paraphrases")
    values = {name: np.asarray(column, dtype=np.float64) for name, column in measured.items()}
    units = Units.of_rows(np.stack(list(values.values()), axis=1), codes)
    ranges = {name: _RANGES[name] for name in values}
    if similarities is not None:  # no boundary-safe interval on a scale without ends
        ranges["semantic_similarity"] = (-np.inf, np.inf)
    estimates = Estimates(options, "pair" if codes is None else "group")
    are_means = [bool(np.isfinite(low)) for low, _ in ranges.values()]
    bounds = estimates.intervals(units, mean_of_sums, list(ranges.values()), are_means)
    nan = float("nan")
    for name in _RANGES:
        estimates.put(name, (nan, nan), nan, 0, None)
        if name not in values:
            estimates.warnings.append(f"{name} is undefined, so nan: {_NEEDS[name]}")
    estimates.add(list(values), bounds, units.n, between=None)
    if units.n < FEW_UNITS:
        estimates.warn_of_few(units.n)
    origin = "given" if similarities is not None else "none" if similarity is None else "cosine"
    means: dict[str, Any] = {name: float(values[name].mean()) if name in values else nan for name in _RANGES}
    return ParaphraseDiversityResult(
        **means, n_pairs=n, **estimates.fields(bounds.method, avg="pair", similarity=origin)
    )


def _texts(values: Any, function: str, parameter: str, n: int | None = None) -> list[str]:
    column = as_column(values, function=function, parameter=parameter, what="texts")
    listed = column.tolist()
    if column.kind != "string":
        raise input_error(function, parameter, "hold texts", got=listed[0], row=0)
    check_length(function, parameter, listed, len(listed) if n is None else n, "paraphrases")
    return listed


def _similarity(function: str, n: int, new: Any, old: Any, similarities: Any) -> Floats | None:
    if similarities is not None:
        if new is not None or old is not None:
            raise input_error(function, "similarities", "be given without embeddings, or these without it")
        return _floats(similarities, n, function, "similarities", "hold finite numbers, one a row", n_axes=1)
    both = {"embeddings": new, "original_embeddings": old}
    if not check_both(function, both):
        return None
    must = "hold vectors of finite numbers and of one length, one a row"
    one, other = (_floats(values, n, function, name, must, n_axes=2) for name, values in both.items())
    if one.shape != other.shape:
        must = f"have {one.shape[1]} numbers a row, as `embeddings` has"
        raise input_error(function, "original_embeddings", must, got=other.shape[1])
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    check_rows(function, "embeddings", "have lengths above 0 on both sides", lengths, lengths == 0)
    cosines: Floats = np.clip((one * other).sum(axis=1) / lengths, -1.0, 1.0)
    return cosines


def _floats(values: Any, n: int, function: str, parameter: str, must: str, *, n_axes: int) -> Floats:
    check_unmasked(function, parameter, values)
    try:
        array = np.asarray(values if hasattr(values, "__array__") else list(values), dtype=np.float64)
    except (TypeError, ValueError):
        raise input_error(function, parameter, must, got=values) from None
    if array.ndim != n_axes or not np.isfinite(array).all():
        raise input_error(function, parameter, must, got=values)
    check_length(function, parameter, array, n, "paraphrases")
    return array
