"""Paraphrase diversity: the mean surface distances of paraphrases from their originals.

Wording: words (lower case, without punctuation) matched one to one by edit similarity, and the overlap of their sets.
Structure: edit distance between constituency trees, cut below their upper levels; the parses are supplied by the
caller, as bracketed text ("(S (NP ...) (VP ...))").
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paraconsist.errors import extras, input_error
from paraconsist.measures.array_types import Floats
from paraconsist.measures.buckets import (
    as_column,
    as_floats,
    as_mask,
    check_both,
    check_length,
    check_rows,
    group_codes,
)
from paraconsist.measures.intervals import Units, mean_of_sums
from paraconsist.measures.results import Estimates, Result, documented, interval_options

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


@documented("values that are not texts, parses that cannot be read")
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
        Constituency trees in brackets, see `paraconsist.measures.diversity.parse_tree`.
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
        Unmeasured values are nan, and `warnings` tells what they need; nothing is printed.

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
    measured: dict[str, npt.ArrayLike] = {
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
            estimates.warn(f"{name} is undefined, so nan: {_NEEDS[name]}")
    estimates.add(list(values), bounds, units.n, between=None)
    estimates.warn_if_few(units.n)
    origin = "given" if similarities is not None else "none" if similarity is None else "cosine"
    means = {name: float(values[name].mean()) if name in values else nan for name in _RANGES}
    return ParaphraseDiversityResult(n_pairs=n, **estimates.fields(means, bounds.method, avg="pair", similarity=origin))


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
    return np.asarray(np.clip((one * other).sum(axis=1) / lengths, -1.0, 1.0))


def _floats(values: Any, n: int, function: str, parameter: str, must: str, *, n_axes: int) -> Floats:
    array = as_floats(values, function, parameter, must)
    if array.ndim != n_axes or not np.isfinite(array).all():
        raise input_error(function, parameter, must, got=values)
    check_length(function, parameter, array, n, "paraphrases")
    return array


#: Srikanth et al. cut trees at the third level, the sentence's own node being the first.
DEPTH = 3

_PIECE = re.compile(r"[()]|[^\s()]+")
_WRAPPERS = ("ROOT", "TOP", "")  # what parsers put around a sentence's own node


@lru_cache(maxsize=65536)
def bare_words(text: str) -> tuple[str, ...]:
    """Return the words between white space, in lower case, with every punctuation mark and symbol taken out.

    >>> bare_words("The boy's boss isn't here!")
    ('the', 'boys', 'boss', 'isnt', 'here')
    """
    letters = "".join(c for c in text.lower() if unicodedata.category(c)[0] not in "PS")
    return tuple(letters.split())


def set_ratio(first: Sequence[str], second: Sequence[str]) -> float:
    r"""Return the similarity of two lists of words, regardless of their order.

    .. math:: 1 - \frac{|n - m| + 2 \min_\pi \sum_i d(a_i, b_{\pi(i)})}{n + m}

    with :math:`\pi` a one-to-one matching of the shorter list's words into the longer one's and d the insertions and
    deletions between two words over their joint length. Equal to ``Levenshtein.setratio`` in the package of that name.
    In [0, 1], 1 for the same words in any order, and for two empty lists.

    >>> set_ratio(["a", "dog"], ["dog", "a"]), round(set_ratio(["dog"], ["dogs"]), 4)
    (1.0, 0.8571)
    """
    total = len(first) + len(second)
    if not first or not second:
        return 0.0 if total else 1.0
    from scipy.optimize import linear_sum_assignment  # takes longer to import than all measures together

    distance = _word_distance()
    costs = np.array([[distance(a, b) for b in second] for a in first])
    matched = float(costs[linear_sum_assignment(costs)].sum())
    return (total - abs(len(first) - len(second)) - 2.0 * matched) / total


def lexical_distance(paraphrase: str, original: str) -> float:
    """Return 1 - `set_ratio` of two texts' words (lower case, no punctuation): in [0, 1], 0 for the same words.

    Srikanth et al. (2024), section 6 and Table 6.

    >>> lexical_distance("The dog sleeps.", "the dog sleeps")
    0.0
    """
    return 1.0 - set_ratio(bare_words(paraphrase), bare_words(original))


def jaccard(paraphrase: str, original: str) -> float:
    """Return shared words over all words of two texts, as sets: in [0, 1]; 1 if neither has a word.

    Verma et al. (2023), section 3.1 and appendix A: a paraphrase with 0.75 or more says the same in the same words.

    >>> jaccard("A dog sleeps.", "The dog sleeps.")
    0.5
    """
    one, other = set(bare_words(paraphrase)), set(bare_words(original))
    return len(one & other) / len(one | other) if one or other else 1.0


@cache
def _word_distance() -> Callable[[str, str], float]:
    """Return rapidfuzz's, or the same in plain Python where it is not installed."""
    try:
        distance: Callable[[str, str], float] = importlib.import_module("rapidfuzz.distance.Indel").normalized_distance
    except ImportError:
        return plain_word_distance
    return distance


def plain_word_distance(first: str, second: str) -> float:
    """Return insertions and deletions from one word to another over their joint length."""
    longest = [0] * (len(second) + 1)  # common subsequences of what was read of `first` and each head of `second`
    for a in first:
        before = longest
        longest = [0]
        for j, b in enumerate(second):
            longest.append(before[j] + 1 if a == b else max(before[j + 1], longest[j]))
    total = len(first) + len(second)
    return (total - 2 * longest[-1]) / total if total else 0.0


class Tree(NamedTuple):
    """A constituent: its label, and what it is made of. `apted` reads these two names."""

    name: str
    children: tuple[Tree, ...]

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, this one included."""
        return 1 + sum(child.n_nodes for child in self.children)


def parse_tree(bracketed: str, *, depth: int = DEPTH) -> Tree:
    """Read a bracketed parse, as the Penn Treebank writes trees, down to `depth` levels.

    Words, grammatical functions (NP-SBJ) and a node called ROOT, TOP or nothing around the sentence are left out.
    InputError if brackets do not match, or there is no labelled node.

    >>> parse_tree("(ROOT (S (NP (DT A) (NN dog)) (VP (VBZ sleeps))))", depth=2)
    Tree(name='S', children=(Tree(name='NP', children=()), Tree(name='VP', children=())))
    """
    pieces = _PIECE.findall(bracketed) if isinstance(bracketed, str) else []
    trees, end = _read(pieces, 0)
    while len(trees) == 1 and trees[0].name in _WRAPPERS:
        trees = trees[0].children
    if end != len(pieces) or len(trees) != 1 or not trees[0].name:
        must = "be one bracketed tree, such as (S (NP (NN Rain)) (VP (VBZ falls)))"
        raise input_error("parse_tree", "bracketed", must, got=bracketed)
    return _cut(trees[0], depth)


def syntactic_distance(parse: str | Tree, original_parse: str | Tree, *, depth: int = DEPTH) -> float:
    r"""Return the tree edit distance of two parses, cut at the third level, over their number of nodes.

    .. math:: TED(T_1, T_2) / (|T_1| + |T_2|)

    Inserting, deleting and renaming a node cost 1 each. Parses are bracketed text, or what `parse_tree` made of it;
    `depth` levels are compared. In [0, 1), 0 for the same upper structure. Srikanth et al. (2024), section 6, say
    "normalised" and not by what; with the sum of nodes 1 is never passed. InputError if a parse cannot be read, or
    `apted` is not installed.

    >>> one, other = "(S (NP (DT A) (NN dog)) (VP (VBZ sleeps)))", "(S (NP (NN Rain)) (VP (VBZ falls)))"
    >>> round(syntactic_distance(one, other), 4)
    0.0909
    """
    with extras("syntactic_distance"):
        apted: Any = importlib.import_module("apted")
    one, other = (t if isinstance(t, Tree) else parse_tree(t, depth=depth) for t in (parse, original_parse))
    return float(apted.APTED(one, other).compute_edit_distance()) / (one.n_nodes + other.n_nodes)


def _read(pieces: list[str], start: int) -> tuple[tuple[Tree, ...], int]:
    """Read the trees from `start` up to a bracket that closes more than they open; words are passed over."""
    trees: list[Tree] = []
    place = start
    while place < len(pieces) and pieces[place] != ")":
        if pieces[place] != "(":
            place += 1
            continue
        has_name = place + 1 < len(pieces) and pieces[place + 1] not in "()"
        name = re.split(r"(?<=.)[-=|](?=.)", pieces[place + 1])[0] if has_name else ""
        children, place = _read(pieces, place + 2 if has_name else place + 1)
        if not 0 <= place < len(pieces):  # a bracket, this one or one in it, is never closed
            return (), -1
        trees.append(Tree(name, children))
        place += 1
    return tuple(trees), place


def _cut(tree: Tree, depth: int) -> Tree:
    return Tree(tree.name, tuple(_cut(child, depth - 1) for child in tree.children) if depth > 1 else ())
