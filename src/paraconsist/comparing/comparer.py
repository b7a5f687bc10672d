"""When two answers are the same: what a comparer is, where they are found, and what they say of answers of buckets.

A comparer *reads* each answer, and compares what it read. Most say that two answers are the same if they read the same
thing in both (*transitive*: texts, numbers, dates); the others give pairs a similarity and have a threshold. An answer
that cannot be read is the same as no other. Rates are means over verdicts on pairs; classes, which the transitive
comparers have anyway, are made by complete linkage for the others, to show and to mend by hand only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.foreign import without_reasoning
from paraconsist.entry_points import added, load, load_function, names_function
from paraconsist.errors import InputError, check_names, input_error
from paraconsist.measures.buckets import as_column, check_length, partition

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.intp]
Pairs: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Floats]

#: Characters of an answer that comparers read; what comes after them is cut, from the middle, as answers end with what
#: they conclude.
MOST_CHARACTERS = 10_000
_FUNCTION = "compare_answers"  # of errors, until `get_comparer` names the caller


@dataclass(frozen=True)
class Comparer:
    """A way of comparing answers, with its argument.

    `read` takes an answer and the choices of its question (None where it has none), and returns what is compared: a
    hashable value, None where the answer cannot be read. `similarity` takes m values and m others to m numbers in
    [0, 1]; without it, equal values are the same. `to_reference` does so for answers and references where these differ
    in kind (is the reference *in* the answer?).
    """

    read: Callable[[str, Sequence[str] | None], Hashable | None]
    similarity: Pairs | None = None
    to_reference: Pairs | None = None
    threshold: float = 1.0
    is_cheap: bool = True  # whether pairs may be compared that no rate needs
    is_word_for_word: bool = False  # whether one other word makes two answers differ
    notes: list[str] = field(default_factory=list)  # what it says of its verdicts so far; whoever reads it empties it

    @property
    def is_transitive(self) -> bool:
        """Whether answers that are the same as a third one are the same as each other."""
        return self.similarity is None

    def values(self, answers: Sequence[str | None], choices: Sequence[Any] | None = None) -> list[Hashable | None]:
        """Return what is read in each answer; equal answers to questions with equal choices are read once."""
        known: dict[Any, Hashable | None] = {}
        values = []
        for i, answer in enumerate(answers):
            offered = None if choices is None or choices[i] is None else tuple(choices[i])
            key = answer, offered
            if key not in known:
                known[key] = None if answer is None else self.read(_bounded(without_reasoning(answer)), offered)
            values.append(known[key])
        return values

    def pairs(self, first: Sequence[Any], second: Sequence[Any], *, reference: bool = False) -> Floats:
        """Return the similarity of values that were read, of shape (m,): 0 where one is None.

        With `reference`, `second` are references that the answers `first` are held against. Equal pairs are computed
        once.
        """
        compare = self.to_reference if reference and self.to_reference is not None else self.similarity
        equal = np.array([a is not None and a == b for a, b in zip(first, second, strict=True)], dtype=np.float64)
        if compare is None:
            return equal
        places: dict[tuple[Any, Any], list[int]] = {}
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
            if a is not None and b is not None and not equal[i]:
                places.setdefault((a, b), []).append(i)
        if places:
            found = compare([a for a, _ in places], [b for _, b in places])
            for where, value in zip(places.values(), np.clip(found, 0.0, 1.0).tolist(), strict=True):
                equal[where] = value
        return equal

    def are_same(self, first: Sequence[Any], second: Sequence[Any], *, reference: bool = False) -> NDArray[np.bool_]:
        """Return whether values that were read are the same, of shape (m,)."""
        return self.pairs(first, second, reference=reference) >= self.threshold


@dataclass(frozen=True)
class ComparerSpec:
    """What there is to know of a comparer: a line of the table that `paraconsist list --comparers` shows."""

    name: str
    title: str  # when two answers are the same
    make: Callable[[str], Comparer]  # from its argument, "" for none
    argument: str = ""  # what may follow the name after a colon
    needs: str = ""  # beyond numpy and scipy
    unread: str = "never"  # which answers cannot be read
    is_symmetric: bool = True  # of two answers; against a reference no comparer need be
    is_transitive: bool = True


#: Name -> module of `paraconsist.comparing` with its `ComparerSpec`, under the name in capitals.
_HOMES = {
    **dict.fromkeys(("exact", "text", "contains", "tokens"), "words"),
    **dict.fromkeys(("number", "choice", "date", "regex"), "extracted"),
    **dict.fromkeys(("json", "math"), "structures"),
    **dict.fromkeys(("similar", "nli", "judge"), "meaning"),
}


def comparer_names() -> list[str]:
    """Return the names of all comparers, also of those that other distributions add."""
    return [*_HOMES, *added("comparers", tuple(_HOMES))]


@cache
def comparer_spec(name: str) -> ComparerSpec | None:
    """Return what there is to know of a comparer, None where there is none of this name."""
    if name in _HOMES:
        spec: ComparerSpec = getattr(import_module(f"paraconsist.comparing.{_HOMES[name]}"), name.upper())
        return spec
    entries = added("comparers", tuple(_HOMES))
    return load(entries[name], ComparerSpec) if name in entries else None


def get_comparer(named: str, parameter: str = "same", function: str = "score") -> Comparer:
    """Return a comparer by its name, with what follows a colon as its argument: ``text``, ``number:0.01``.

    ``module:function`` is a function of the user's, from two texts to whether they are the same, or how much, in
    [0, 1]. InputError if there is none of this name, or the argument is not one of its.
    """
    if not isinstance(named, str):
        raise input_error(function, parameter, "name a comparer", got=named)
    changed, argument = (0, 0), Path(named.partition(":")[2])
    with suppress(OSError, ValueError):
        if argument.is_file():
            changed = (state := argument.stat()).st_mtime_ns, state.st_size
    try:
        return _comparer(named, changed)
    except InputError as problem:
        problem.function = function
        problem.parameter = problem.parameter and parameter
        raise


@cache
def _comparer(named: str, changed: tuple[int, int]) -> Comparer:
    name, _, argument = named.partition(":")
    spec = comparer_spec(name)
    if spec is not None:
        if argument and not spec.argument:
            raise input_error(_FUNCTION, "same", f"have nothing after {name}", got=named)
        return spec.make(argument)
    if names_function(named):
        return _own(load_function(named, _FUNCTION, "same", "two texts to True or False"), named)
    names = comparer_names()
    close = "".join(f" Did you mean {other!r}?" for other in get_close_matches(name, names, 1))
    remedy = f"`paraconsist list --comparers` explains them. Or a function of yours, as module:function.{close}"
    raise input_error(_FUNCTION, "same", f"be one of {', '.join(names)}", got=named, remedy=remedy)


def _own(call: Callable[[str, str], Any], named: str) -> Comparer:
    """Return the comparer that a function of the user's is; it may take texts in any order and is asked in both."""

    def directed(first: Sequence[str], second: Sequence[str]) -> Floats:
        return np.array([_share(call(a, b), named) for a, b in zip(first, second, strict=True)])

    def both_ways(first: Sequence[str], second: Sequence[str]) -> Floats:
        return np.minimum(directed(first, second), directed(second, first))

    return Comparer(lambda answer, _: answer, both_ways, directed, threshold=0.5)


def _share(value: Any, named: str) -> float:
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise InputError(f"{named} must return True, False or a number from 0 to 1; got {value!r}")
    return share


def _bounded(answer: str) -> str:
    if len(answer) <= MOST_CHARACTERS:
        return answer
    return answer[: MOST_CHARACTERS // 2] + " " + answer[-MOST_CHARACTERS // 2 :]


def answer_similarity(answers: Sequence[str], others: Sequence[str], *, same: str = "text") -> Floats:
    """Return how similar answers are to others under a comparer.

    Parameters
    ----------
    answers, others : sequence of str, of length m
        What is compared, pair by pair.
    same : str
        A comparer (`paraconsist list --comparers`), with its argument after a colon.

    Returns
    -------
    ndarray of shape (m,)
        In [0, 1]: 1 for the same. Where a comparer has no degrees it is 0 or 1; 0 where an answer cannot be read.

    Examples
    --------
    >>> import paraconsist as pc
    >>> pc.answer_similarity(["It is Paris.", "3 dogs"], ["Paris", "two dogs"], same="tokens").tolist()
    [1.0, 0.5]
    """
    first, second = (_texts("answer_similarity", n, t) for n, t in (("answers", answers), ("others", others)))
    check_length("answer_similarity", "others", second, len(first), "answers")
    comparer = get_comparer(same, function="answer_similarity")
    return comparer.pairs(comparer.values(first), comparer.values(second))


def answer_classes(
    answers: Sequence[str], buckets: Sequence[Any], *, same: str = "text", choices: Sequence[Any] | None = None
) -> Integers:
    """Return which answers of each bucket are the same, as class numbers.

    Parameters
    ----------
    answers : sequence of str, of length n
    buckets : sequence, of length n
        The problem that each answers.
    same : str
        A comparer (`paraconsist list --comparers`), with its argument after a colon. Those that are not transitive
        give classes by complete linkage: all answers of a class are the same as each other.
    choices : sequence of sequences of str, optional
        The choices of each question, for ``choice``.

    Returns
    -------
    ndarray of int, shape (n,)
        From 0 in each bucket, in the order of first appearance; -1 where an answer cannot be read.

    Examples
    --------
    >>> import paraconsist as pc
    >>> pc.answer_classes(["Paris", "paris.", "Rome", "Rome"], [0, 0, 0, 1]).tolist()
    [0, 0, 1, 0]
    """
    texts = _texts("answer_classes", "answers", answers)
    ids = as_column(buckets, function="answer_classes", parameter="buckets")
    check_length("answer_classes", "buckets", ids, len(texts), "answers")
    offered = None
    if choices is not None:
        rows = check_names("answer_classes", "choices", choices)
        offered = [None if row is None else _texts("answer_classes", "choices", row, i) for i, row in enumerate(rows)]
    check_length("answer_classes", "choices", texts if offered is None else offered, len(texts), "answers")
    comparer = get_comparer(same, function="answer_classes")
    return compare_within(texts, partition(ids).codes.astype(np.intp), comparer, offered).classes


def _texts(function: str, parameter: str, values: Any, row: int | None = None) -> list[Any]:
    """Return texts, None among them, as a list; they may all be of one row."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise input_error(function, parameter, "be a sequence of texts", got=values, row=row)
    texts = list(values)
    wrong = next((row for row, text in enumerate(texts) if not (text is None or isinstance(text, str))), None)
    if wrong is not None:
        raise input_error(function, parameter, "hold texts", got=texts[wrong], row=wrong if row is None else row)
    return texts


def _in_one_order(values: Sequence[Any], buckets: Integers, choices: Sequence[Any]) -> list[Any]:
    """Return places of choices as in the bucket's first row, where another has the same choices in another order."""
    first: dict[int, Any] = {}
    placed = []
    for value, bucket, offered in zip(values, buckets.tolist(), choices, strict=True):
        usual = first.setdefault(bucket, offered)
        is_moved = isinstance(value, int) and offered != usual and sorted(offered or ()) == sorted(usual or ())
        placed.append(usual.index(offered[value]) if is_moved else value)
    return placed


@dataclass(frozen=True)
class Compared:
    """The n answers of a set, compared within their buckets."""

    values: Integers  # equal numbers, equal values; -1 where an answer cannot be read, shape (n,)
    classes: Integers  # as `answer_classes` returns them, shape (n,)
    #: Two values, the smaller first -> whether they are the same; None for transitive comparers, where none are.
    same: Mapping[tuple[int, int], bool] | None
    #: Of the triples of answers of a bucket that have two same pairs, the share whose third pair is not: how far
    #: classes and pairs differ. nan where there are none.
    intransitive: float
    known: Sequence[Any]  # what was read, by its number in `values`


def compare_within(
    answers: Sequence[str | None], buckets: Integers, comparer: Comparer, choices: Sequence[Any] | None = None
) -> Compared:
    """Compare the answers of each bucket; each distinct pair of values is compared once.

    `buckets` numbers each answer's bucket, shape (n,).
    """
    read = comparer.values(answers, choices)
    if choices is not None:
        read = _in_one_order(read, buckets, choices)
    distinct = {value: code for code, value in enumerate(dict.fromkeys(v for v in read if v is not None))}
    values = np.array([-1 if value is None else distinct[value] for value in read], dtype=np.intp)
    if comparer.is_transitive:
        return Compared(values, _by_appearance(values, buckets), None, float("nan"), list(distinct))
    of_buckets = [(members, sorted(set(values[members].tolist()) - {-1})) for _, members in _members(buckets)]
    pairs = list(dict.fromkeys(pair for _, known in of_buckets for pair in combinations(known, 2)))
    known_values = list(distinct)
    found = comparer.pairs([known_values[a] for a, _ in pairs], [known_values[b] for _, b in pairs])
    similarity = dict(zip(pairs, found.tolist(), strict=True))
    same = {pair: value >= comparer.threshold for pair, value in similarity.items()}
    linked = np.empty(len(values), dtype=np.intp)
    n_open = n_triples = 0
    for members, known in of_buckets:
        of_value = dict(zip(known, _linked(known, similarity, comparer.threshold), strict=True))
        linked[members] = [of_value.get(value, -1) for value in values[members].tolist()]
        alike = np.zeros((len(known), len(known)))
        for i, j in combinations(range(len(known)), 2):
            alike[i, j] = alike[j, i] = same[known[i], known[j]]
        n_alike = alike.sum(axis=0)
        n_closed = round(float(((alike @ alike) * alike).sum()) / 6)  # each counted from its three values, both ways
        n_pairs = round(float((n_alike * (n_alike - 1)).sum()) / 2)  # two same pairs that share a value
        n_open, n_triples = n_open + n_pairs - 3 * n_closed, n_triples + n_pairs - 2 * n_closed
    share = n_open / n_triples if n_triples else float("nan")
    return Compared(values, _by_appearance(linked, buckets), same, share, known_values)


def _members(buckets: Integers) -> list[tuple[int, Integers]]:
    """Return (bucket, its rows in their order) of every bucket that has rows."""
    order = np.argsort(buckets, kind="stable")
    names, starts = np.unique(buckets[order], return_index=True)
    return list(zip(names.tolist(), np.split(order, starts[1:]), strict=True)) if len(names) else []


def _linked(known: Sequence[int], similarity: Mapping[tuple[int, int], float], threshold: float) -> list[int]:
    """Return the class of each value of a bucket, by complete linkage at a threshold."""
    n = len(known)
    if n < 2:
        return [0] * n
    condensed = np.array([similarity[pair] for pair in combinations(known, 2)])
    if (condensed >= threshold).all():
        return [0] * n
    if (condensed < threshold).all():
        return list(range(n))
    from scipy.cluster.hierarchy import fcluster, linkage

    tree = linkage(1.0 - condensed, method="complete")
    return [int(number) for number in fcluster(tree, 1.0 - threshold, criterion="distance")]


def _by_appearance(codes: Integers, buckets: Integers) -> Integers:
    """Return the codes of each bucket numbered from 0 in the order of first appearance; -1 stays."""
    numbers: dict[int, dict[int, int]] = {}  # bucket -> code -> class
    classes = np.full(len(codes), -1, dtype=np.intp)
    for i, (bucket, code) in enumerate(zip(buckets.tolist(), codes.tolist(), strict=True)):
        if code >= 0:
            of_bucket = numbers.setdefault(bucket, {})
            classes[i] = of_bucket.setdefault(code, len(of_bucket))
    return classes
