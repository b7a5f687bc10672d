"""Paraphrase diversity: the mean surface distances of paraphrases from their originals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.errors import input_error
from paraconsist.measures._estimates import interval_options, interval_parts
from paraconsist.measures._validation import Integers, as_column, check_same_length
from paraconsist.measures.buckets import partition
from paraconsist.measures.intervals import intervals
from paraconsist.measures.resampling import Units
from paraconsist.measures.results import Result
from paraconsist.measures.signatures import signature
from paraconsist.measures.text_distances import jaccard, lexical_distance, syntactic_distance

Floats = npt.NDArray[np.float64]

_METHODS = ("auto", "bootstrap", "closed_form")
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


@dataclass(frozen=True)
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
    confidence_interval : dict of str to list of two floats
    standard_error : dict of str to float
    n_clusters : dict of str to int
        Groups, or pairs where there are none.
    signature : str
    warnings : tuple of str
    """

    lexical_distance: float
    jaccard: float
    semantic_similarity: float
    syntactic_distance: float
    mutual_entailment: float
    n_pairs: int
    confidence_interval: dict[str, list[float]]
    standard_error: dict[str, float]
    n_clusters: dict[str, int]
    signature: str
    warnings: tuple[str, ...]


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
    options = interval_options(function, interval_method, confidence_level, n_resamples, seed, _METHODS)
    new = _texts(paraphrases, function, "paraphrases")
    old = _texts(originals, function, "originals", n=len(new))
    values: dict[str, Floats] = {
        "lexical_distance": np.array([lexical_distance(p, o) for p, o in zip(new, old, strict=True)]),
        "jaccard": np.array([jaccard(p, o) for p, o in zip(new, old, strict=True)]),
    }
    similar = _similarity(function, len(new), embeddings, original_embeddings, similarities)
    if similar is not None:
        values["semantic_similarity"] = similar
    if parses is not None or original_parses is not None:
        trees = _texts(parses, function, "parses", n=len(new))
        others = _texts(original_parses, function, "original_parses", n=len(new))
        values["syntactic_distance"] = np.array([syntactic_distance(p, o) for p, o in zip(trees, others, strict=True)])
    if entailed is not None:
        column = as_column(entailed, function=function, parameter="entailed", what="true or false")
        said = _numbers(column.tolist(), len(new), function, "entailed")
        if not np.isin(said, (0.0, 1.0)).all():
            wrong = int((~np.isin(said, (0.0, 1.0))).argmax())
            raise input_error(function, "entailed", "hold true or false", got=column.tolist()[wrong], row=wrong)
        values["mutual_entailment"] = said
    groups_of = None if groups is None else _groups(groups, new, function)

    units = _units(np.stack(list(values.values()), axis=1), groups_of)
    outside = similarities is not None
    ranges = [(-np.inf, np.inf) if outside and name == "semantic_similarity" else _RANGES[name] for name in values]
    # no boundary-safe interval on a scale without ends
    found = intervals(
        units,
        _means,
        ranges,
        [bool(np.isfinite(low)) for low, _ in ranges],
        method=options.method,
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples,
        rng=np.random.default_rng(options.entropy),
    )
    ends = dict(zip(values, np.stack([found.low, found.high], axis=1).tolist(), strict=True))
    errors = dict(zip(values, found.standard_error.tolist(), strict=True))
    nowhere = [float("nan")] * 2
    warnings = [f"{name} is undefined, so nan: {need}" for name, need in _NEEDS.items() if name not in values]
    unit = "pairs" if groups is None else "groups"
    if units.n < 2:
        warnings.append(f"only one of the {unit}: no interval")
    return ParaphraseDiversityResult(
        **{name: float(values[name].mean()) if name in values else float("nan") for name in _RANGES},
        n_pairs=len(new),
        confidence_interval={name: ends.get(name, nowhere) for name in _RANGES},
        standard_error={name: errors.get(name, float("nan")) for name in _RANGES},
        n_clusters={name: units.n if name in values else 0 for name in _RANGES},
        signature=signature(
            function,
            avg="pair",
            similarity="given" if similarities is not None else "none" if similar is None else "cosine",
            **interval_parts(options, found.method, "pair" if groups is None else "group"),
        ),
        warnings=tuple(warnings),
    )


def _units(values: Floats, groups: Integers | None) -> Units:
    """Return sums over what is resampled: a one for each pair, then its values."""
    sums = np.concatenate([np.ones((len(values), 1)), values], axis=1)
    if groups is not None:
        sums = np.stack([np.bincount(groups, weights=column) for column in sums.T], axis=1)
    distinct, multiplicity = np.unique(sums, axis=0, return_counts=True)
    return Units.unstratified(distinct, multiplicity)


def _means(total: npt.NDArray[Any]) -> npt.NDArray[Any]:
    means: npt.NDArray[Any] = total[..., 1:] / total[..., :1]
    return means


def _texts(values: Any, function: str, parameter: str, *, n: int | None = None) -> list[str]:
    column = as_column(values, function=function, parameter=parameter, what="texts")
    listed = column.tolist()
    if column.kind != "string":
        raise input_error(function, parameter, "hold texts", got=listed[0], row=0)
    _check_length(len(listed), n, function, parameter)
    return listed


def _groups(groups: Any, pairs: Sequence[str], function: str) -> Integers:
    column = as_column(groups, function=function, parameter="groups")
    check_same_length(
        function, {"paraphrases": as_column(pairs, function=function, parameter="paraphrases")} | {"groups": column}
    )
    return partition(column).codes


def _check_length(found: int, n: int | None, function: str, parameter: str) -> None:
    if n is not None and found != n:
        raise input_error(function, parameter, f"have one value per row of `paraphrases` ({n})", got=f"{found} values")


def _similarity(function: str, n: int, new: Any, old: Any, given: Any) -> Floats | None:
    if given is not None:
        if new is not None or old is not None:
            raise input_error(function, "similarities", "be given without embeddings, or these without it")
        return _numbers(given, n, function, "similarities")
    if new is None and old is None:
        return None
    one, other = _vectors(new, n, function, "embeddings"), _vectors(old, n, function, "original_embeddings")
    if one.shape != other.shape:
        raise input_error(
            function,
            "original_embeddings",
            f"have {one.shape[1]} numbers a row, as `embeddings` has",
            got=other.shape[1],
        )
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    if (lengths == 0).any():
        row = int((lengths == 0).argmax())
        raise input_error(function, "embeddings", "have a length above 0", got="a vector of zeros", row=row)
    cosines: Floats = np.clip((one * other).sum(axis=1) / lengths, -1.0, 1.0)
    return cosines


def _vectors(values: Any, n: int, function: str, parameter: str) -> Floats:
    if values is None:
        raise input_error(function, parameter, "be given together with the other side's", got=None)
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise input_error(function, parameter, "hold vectors of one length", got=values) from None
    if array.ndim != 2 or not np.isfinite(array).all():
        raise input_error(function, parameter, "hold vectors of finite numbers, one a row", got=f"shape {array.shape}")
    _check_length(len(array), n, function, parameter)
    return array


def _numbers(values: Any, n: int, function: str, parameter: str) -> Floats:
    listed = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    try:
        array = np.asarray(listed, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array([np.nan])
    if array.ndim != 1 or not np.isfinite(array).all():
        raise input_error(function, parameter, "hold finite numbers, one a row", got=values)
    _check_length(len(array), n, function, parameter)
    return array
