"""Repeated answers to sums per bucket: accuracy, pairs of paraphrases, pairs of answers to one input."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist._validation import Integers
from paraconsist.errors import input_error
from paraconsist.uncertainty import Units, group_units

__all__ = [
    "KINDS",
    "accuracy_sums",
    "check_once",
    "kinds_of_runs",
    "pair_means",
    "same_input_pairs",
    "units_of",
    "within_runs",
]

Floats = npt.NDArray[np.float64]

KINDS = ("main", "numeric", "decoding")
"""What a run differs in from the main one: nothing, the batch composition alone, the sampling seed."""

_FUNCTION = "noise_floor"


def kinds_of_runs(listed: list[Any], runs: Integers) -> npt.NDArray[np.str_]:
    """Return each run's kind."""
    for row, value in enumerate(listed):
        if value not in KINDS:
            raise input_error(_FUNCTION, "kinds", f"be one of {', '.join(KINDS)}", got=value, row=row)
    column = np.array(listed)
    kind = np.empty(int(runs.max()) + 1, dtype=column.dtype)
    kind[runs] = column
    mixed = kind[runs] != column
    if mixed.any():
        row = int(mixed.argmax())
        raise input_error(_FUNCTION, "kinds", "be the same in all rows of a run", got=listed[row], row=row)
    n_main = int(np.count_nonzero(kind == "main"))
    if n_main != 1:
        raise input_error(_FUNCTION, "kinds", "be 'main' for exactly one run", got=f"{n_main} runs")
    return kind


def check_once(inputs: Integers, runs: Integers, listed: list[Any]) -> None:
    """Raise if an input occurs twice in a run."""
    code = inputs.astype(np.int64) * (int(runs.max()) + 1) + runs
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    if (counts > 1).any():
        row = int(first[int((counts > 1).argmax())])
        raise input_error(_FUNCTION, "examples", "occur once in a run", got=listed[row], row=row)


def accuracy_sums(bucket: Integers, right: Any, counted: Any, n: int) -> list[Floats]:
    """Return whether a bucket has an answer to a paraphrase, the share of right ones, and its square."""
    size = np.bincount(bucket[counted], minlength=n)
    share = np.bincount(bucket[right], minlength=n) / np.maximum(size, 1)
    return [(size > 0).astype(np.float64), share, share**2]


def within_runs(bucket: Integers, runs: Integers, right: Any, n: int) -> list[Floats]:
    """Return whether a bucket has two paraphrases in a run, and the chance that they differ in correctness."""
    cell = bucket.astype(np.int64) * (int(runs.max()) + 1) + runs
    cells, code = np.unique(cell, return_inverse=True)
    k = np.bincount(code).astype(np.float64)
    c = np.bincount(code, weights=right)
    owner = cells // (int(runs.max()) + 1)
    pairs = np.bincount(owner, weights=k * (k - 1.0) / 2.0, minlength=n)
    differ = np.bincount(owner, weights=c * (k - c), minlength=n)
    return [(pairs > 0).astype(np.float64), differ / np.maximum(pairs, 1.0)]


def same_input_pairs(inputs: Integers, runs: Integers, kind: Any, name: str) -> tuple[Integers, Integers]:
    """Return pairs of rows with one input from two runs that differ in `name`.

    Numeric: the main run and its numeric repeats, among one another. Decoding: a decoding repeat and any other run.
    """
    order = np.lexsort([runs, inputs])
    first, second = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
    sorted_inputs = inputs[order]
    for step in range(1, int(np.bincount(inputs).max())):
        same = sorted_inputs[step:] == sorted_inputs[:-step]
        one, two = order[:-step][same], order[step:][same]
        decoding = (kind[runs[one]] == "decoding") | (kind[runs[two]] == "decoding")
        wanted = decoding if name == "decoding" else ~decoding
        first.append(one[wanted])
        second.append(two[wanted])
    return np.concatenate(first), np.concatenate(second)


def pair_means(bucket: Integers, pairs: tuple[Integers, Integers], values: Any, n: int) -> list[Floats]:
    """Return whether a bucket has a pair, and the share of its pairs that differ."""
    one, two = pairs
    count = np.bincount(bucket[one], minlength=n)
    differ = np.bincount(bucket[one], weights=values[one] != values[two], minlength=n)
    return [(count > 0).astype(np.float64), differ / np.maximum(count, 1)]


def units_of(sums: Floats, groups: Integers | None) -> Units:
    """Return buckets, or their groups, as resampling units."""
    rows, code, counts = np.unique(sums, axis=0, return_inverse=True, return_counts=True)
    if groups is None:
        return Units.unstratified(rows, counts)
    return group_units(rows, code.ravel(), groups)
