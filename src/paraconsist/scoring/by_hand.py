"""Classes of answers that a reader made by hand: a file with a class for some answers of each problem.

Two answers of a problem that the file names are the same where it gives them one class, and differ where it gives them
two; pairs with an answer that it does not name keep the comparer's verdict.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.tables import read_table
from paraconsist.errors import input_error

_COLUMNS = ("bucket_id", "answer", "class")
_LONGEST = 4_000  # characters of an answer that files name by its text

Integers = NDArray[np.intp]


@dataclass(frozen=True)
class ClassLine:
    """The class of one answer to a problem; `set` and `model` are None where the file does not say them."""

    bucket: str
    answer: str
    named: str
    set: str | None = None
    model: str | None = None


def answer_key(answer: str) -> str:
    """Return the text by which files and pages name an answer: a long one's beginning, with a digest of the whole."""
    if len(answer) <= _LONGEST:
        return answer
    return f"{answer[: _LONGEST - 100]}… [sha256 {hashlib.sha256(answer.encode()).hexdigest()}]"


def read_classes(path: Path, function: str = "score") -> list[ClassLine]:
    """Read a table with the columns ``bucket_id``, ``answer`` and ``class``, perhaps also ``set`` and ``model``.

    InputError if a column or a cell is missing, or an answer to a problem is in two classes.
    """
    table = read_table(path, function=function, parameter="classes")
    if absent := [name for name in _COLUMNS if name not in table.column_names]:
        must = f"have the columns {', '.join(_COLUMNS)}"
        raise input_error(function, "classes", must, got=table.column_names, remedy=f"There is no {absent[0]}.")
    cells = {
        name: table[name].cast(pa.string()).to_pylist() if name in table.column_names else [None] * table.num_rows
        for name in (*_COLUMNS, "set", "model")
    }
    lines: list[ClassLine] = []
    known: dict[tuple[str | None, str, str], str] = {}
    for row, (bucket, answer, named, of_set, model) in enumerate(zip(*cells.values(), strict=True)):
        if bucket is None or not named:
            raise input_error(function, "classes", "name a bucket and a class in every line", got=None, row=row)
        line = ClassLine(bucket, answer_key(answer or ""), named, of_set, model)
        if known.setdefault((of_set, bucket, line.answer), named) != named:
            raise input_error(function, "classes", "give each answer of a bucket one class", got=answer, row=row)
        lines.append(line)
    return lines


def numbers_by_hand(
    answers: Sequence[str | None], buckets: Integers, ids: Sequence[object], classes: Mapping[tuple[str, str], str]
) -> Integers:
    """Return the number of each answer's class by hand, -1 for answers without one, shape (n,).

    `buckets` are places in `ids`.
    """
    numbers: dict[tuple[int, str], int] = {}
    by_hand = np.full(len(answers), -1, dtype=np.intp)
    for row, (answer, bucket) in enumerate(zip(answers, buckets.tolist(), strict=True)):
        named = None if answer is None else classes.get((str(ids[bucket]), answer_key(answer)))
        if named is not None:
            by_hand[row] = numbers.setdefault((bucket, named), len(numbers))
    return by_hand


def right_by_hand(
    is_right: NDArray[np.bool_], is_literal: NDArray[np.bool_], by_hand: Integers, buckets: Integers
) -> NDArray[np.bool_]:
    """Return which answers are right when classes by hand are right as a whole, shape (n,).

    A class is right if any of its answers is. Of several such classes of a problem, which differ from each other, one
    is right: the one with the most answers that are an accepted one word for word, then the most right answers.
    """
    corrected = is_right.copy()
    of_bucket: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for row in np.flatnonzero(is_right & (by_hand >= 0)).tolist():
        of_bucket[int(buckets[row])][int(by_hand[row])] += 1 + len(is_right) * int(is_literal[row])
    for candidates in of_bucket.values():
        best = max(candidates, key=candidates.__getitem__)
        for number in candidates:
            corrected[by_hand == number] = number == best
    return corrected


@dataclass(frozen=True)
class Corrected:
    """The n answers of a set as values whose equality, and whose `same` pairs, follow the classes by hand."""

    values: Integers  # shape (n,); -1 where an answer can be neither read nor has a class
    names: list[str]  # of each answer's class
    same: frozenset[tuple[int, int]]
    n_verdicts: int  # pairs of different answers to a problem that both have a class by hand
    n_changed: int  # those of them on which the comparer says otherwise


def correct(
    before: Integers,
    values: Integers,
    same: frozenset[tuple[int, int]],
    names: Sequence[str],
    is_right: NDArray[np.bool_],
    by_hand: Integers,
    buckets: Integers,
    answers: Sequence[str | None],
) -> Corrected:
    """Return what the classes by hand make of a comparer's verdicts.

    `before` are the values as the comparer alone has them, `values` those with the right answers of `is_right` joined;
    `names` the classes of these. Answers without a class by hand join one if they are the same as all of it.
    """
    corrected, new_names, new_same = values.copy(), list(names), set(same)
    free = int(max(values.max(initial=0), before.max(initial=0))) + 1
    n_verdicts = n_changed = 0

    def same_by_comparer(a: int, b: int) -> bool:
        return min(a, b) >= 0 and (a == b or (min(a, b), max(a, b)) in same)

    for bucket in np.unique(buckets[by_hand >= 0]).tolist():
        members = np.flatnonzero(buckets == bucket).tolist()
        named = {answers[row]: row for row in members if by_hand[row] >= 0}
        for i, j in combinations(named.values(), 2):
            n_verdicts += 1
            n_changed += same_by_comparer(int(before[i]), int(before[j])) != bool(by_hand[i] == by_hand[j])
        units: dict[tuple[int, int, bool, str], list[int]] = {}
        for row in members:
            hand, value = int(by_hand[row]), int(values[row])
            if hand >= 0 or value >= 0:
                units.setdefault((hand, value, bool(is_right[row]), "" if hand >= 0 else names[row]), []).append(row)
        clusters: dict[tuple[int, str], list[int]] = {}
        keys = list(units)
        alike = np.eye(len(keys), dtype=np.bool_)
        for i, j in combinations(range(len(keys)), 2):
            (hand, value, right, _), (other, other_value, other_right, _) = keys[i], keys[j]
            if min(hand, other) >= 0:
                alike[i, j] = hand == other
            else:
                alike[i, j] = right == other_right and same_by_comparer(value, other_value)
            alike[j, i] = alike[i, j]
            if alike[i, j]:
                new_same.add((free + i, free + j))
        for i, (hand, _, _, name) in sorted(enumerate(keys), key=lambda unit: unit[1][0] < 0):
            if hand < 0 and (-1, name) not in clusters:
                fitting = [key for key, others in clusters.items() if key[0] >= 0 and alike[i, others].all()]
                clusters.setdefault(fitting[0] if fitting else (-1, name), []).append(i)
            else:
                clusters.setdefault((hand, name), []).append(i)
        taken: Counter[str] = Counter()
        for cluster in clusters.values():
            rows = [row for i in cluster for row in units[keys[i]]]
            name = Counter(names[row] for row in rows).most_common(1)[0][0]
            taken[name] += 1
            for row in rows:
                new_names[row] = name if taken[name] == 1 else f"{name} ({taken[name]})"
        for i, key in enumerate(keys):
            corrected[units[key]] = free + i
        free += len(keys)
    return Corrected(corrected, new_names, frozenset(new_same), n_verdicts, n_changed)
