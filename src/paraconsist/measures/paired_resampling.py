"""The IE test and McNemar's test by resampling: as the paper defines them, and as the authors ran them.

`paraconsist.measures.paired_tests.exact_p_value` gives what these estimate, without a seed; use it unless a published
number is to be met. K = n10 - n01 and D = n10 + n01 throughout.

Source: Salvatore et al. 2023, "A resampling-based method to evaluate NLI models", equation 14.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_whole, input_error
from paraconsist.measures._validation import MOST_DRAWN, as_generator, check_rows, check_unmasked, rectangular
from paraconsist.measures.paired_tests import IntArray, compare_squares, compare_statistics, paired_counts, shaped


def resampled_p_value(
    n: npt.ArrayLike, n10: npt.ArrayLike, n01: npt.ArrayLike, *, n_resamples: int = 1000, rng: int | np.random.Generator
) -> Any:
    """The two-sided p of the IE test as the paper computes it: `n_resamples` draws, no plus-one.

    .. math:: p = 2 \\min(\\#\\{t^* \\le t\\}, \\#\\{t^* > t\\}) / S

    Ties count in the lower tail (equation 14). As S grows it tends to ``exact_p_value(..., ties="lower")``. The counts,
    of one run or several, are items, items right on the original only, and on the transformed one only. `n_resamples`
    is S, the paper's 1,000: p is a multiple of 2/S and can be 0; 1 where D = 0. `rng`, a Generator or its seed, is used
    run after run, in the order given.
    """

    def two_tails(k_star: IntArray, d_star: IntArray, k: int, d: int) -> float:
        lower = int(np.count_nonzero(compare_statistics(k_star, d_star, k, d) <= 0))
        return 2 * min(lower, len(k_star) - lower) / len(k_star)

    return _resampled("resampled_p_value", n, n10, n01, n_resamples, rng, two_tails)


def mcnemar_resampled_p_value(
    n: npt.ArrayLike, n10: npt.ArrayLike, n01: npt.ArrayLike, *, n_resamples: int = 1000, rng: int | np.random.Generator
) -> Any:
    """McNemar's test by the paper's resampling (its alternative 1): the share with K*^2/D* > K^2/D.

    The statistic has no sign, so that one tail is both; ties do not count, as in the authors' code.
    Parameters and range as in `resampled_p_value`.
    """

    def one_tail(k_star: IntArray, d_star: IntArray, k: int, d: int) -> float:
        return int(np.count_nonzero(compare_squares(np.abs(k_star), d, abs(k), d_star) > 0)) / len(k_star)

    return _resampled("mcnemar_resampled_p_value", n, n10, n01, n_resamples, rng, one_tail)


def _resampled(
    function: str,
    n: npt.ArrayLike,
    n10: npt.ArrayLike,
    n01: npt.ArrayLike,
    n_resamples: int,
    rng: int | np.random.Generator,
    p_value: Callable[[IntArray, IntArray, int, int], float],
) -> Any:
    """Return `p_value` of K*, D*, K and D for every entry of the counts, drawing anew for equal counts."""
    counts = paired_counts(function, n=n, n10=n10, n01=n01)
    total = check_whole(function, "n_resamples", n_resamples, at_most=MOST_DRAWN)
    generator = as_generator(function, "rng", rng)
    p_values = []
    for items, before, after in zip(*(array.ravel().tolist() for array in counts), strict=True):
        k, d = before - after, before + after
        if d == 0:
            p_values.append(1.0)
            continue
        # resamples under the null hypothesis: two binomial draws each, whatever n
        d_star = generator.binomial(items, d / items, total).astype(np.int64)
        k_star = 2 * generator.binomial(d_star, 0.5).astype(np.int64) - d_star
        p_values.append(p_value(k_star, d_star, k, d))
    return shaped(np.array(p_values, dtype=np.float64), counts[0].shape)


def replayed_p_value(
    original_correct: npt.ArrayLike, transformed_correct: npt.ArrayLike, *, seed: int, n_resamples: int = 1000
) -> float:
    """The p that the authors' program gives: their random numbers, their swap of the first n // 2 drawn rows.

    For checking published numbers only: the rows' order matters, and where D = 0 (t is 0/0) it gives 0, that is,
    rejects. A resample with D* = 0 counts in neither tail, because its t is undefined there. The arrays, shape (n,),
    say which items are right before and after the change, in the authors' order; `seed` is what their program seeded
    numpy's `RandomState` with, `n_resamples` 1,000 in the published runs. Takes time proportional to ``n *
    n_resamples``.
    """
    k, d, k_star, d_star = _replay("replayed_p_value", original_correct, transformed_correct, seed, n_resamples)
    if d == 0:
        return 0.0
    sign = compare_statistics(k_star, d_star, k, d)[d_star > 0]
    return 2 * min(int(np.count_nonzero(sign <= 0)), int(np.count_nonzero(sign > 0))) / len(d_star)


def mcnemar_replayed_p_value(
    original_correct: npt.ArrayLike, transformed_correct: npt.ArrayLike, *, seed: int, n_resamples: int = 1000
) -> float:
    """As `replayed_p_value`, for the authors' resampled McNemar test (they use the same seed for both)."""
    name = "mcnemar_replayed_p_value"
    k, d, k_star, d_star = _replay(name, original_correct, transformed_correct, seed, n_resamples)
    if d == 0:
        return 0.0
    return int(np.count_nonzero(compare_squares(np.abs(k_star), d, abs(k), d_star) > 0)) / len(d_star)


def _replay(
    function: str, original_correct: npt.ArrayLike, transformed_correct: npt.ArrayLike, seed: int, n_resamples: int
) -> tuple[int, int, IntArray, IntArray]:
    total = check_whole(function, "n_resamples", n_resamples, at_most=MOST_DRAWN)
    if check_whole(function, "seed", seed, at_least=0, at_most=None) >= 2**32:
        raise input_error(function, "seed", "be below 2**32", got=seed)
    before = _zero_one(function, "original_correct", original_correct)
    after = _zero_one(function, "transformed_correct", transformed_correct)
    if before.shape != after.shape:
        must = f"have the length of `original_correct`, {before.size}"
        raise input_error(function, "transformed_correct", must, got=after.size)
    change = before - after
    n, half = change.size, change.size // 2
    legacy = np.random.RandomState(seed)  # the authors' generator
    replicates = np.empty((2, total), dtype=np.int64)
    for replicate in range(total):
        drawn = change[legacy.randint(0, n, n, dtype=np.int64)]
        swapped = int(np.count_nonzero(drawn[:half] == 1)) - int(np.count_nonzero(drawn[:half] == -1))
        kept = int(np.count_nonzero(drawn[half:] == 1)) - int(np.count_nonzero(drawn[half:] == -1))
        replicates[:, replicate] = kept - swapped, np.count_nonzero(drawn)
    return int(change.sum()), int(np.count_nonzero(change)), replicates[0], replicates[1]


def _zero_one(function: str, name: str, values: npt.ArrayLike) -> npt.NDArray[np.int8]:
    check_unmasked(function, name, values)
    array = rectangular(values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "biu":
        raise input_error(function, name, "be a list of true and false with at least one row", got=values)
    check_rows(function, name, "be 0 or 1", array, (array != 0) & (array != 1))
    return array.astype(np.int8)
