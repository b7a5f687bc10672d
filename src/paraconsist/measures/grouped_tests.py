"""The IE test and McNemar's test where items come in groups that are not independent: whole groups are swapped.

Below, k_g = n10 - n01 within group g, K their sum, Q the sum of their squares and G the number of groups. The statistic
is the paired t over groups, t = K / sqrt(Q - K^2 / G), and the null draws G groups with replacement and swaps the two
versions of each with probability 1/2 (Salvatore et al. 2023, equation 14, for groups). With one item a group Q is D, G
is n, and all values are those of `paraconsist.measures.paired_tests`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.special import ndtri, stdtrit

from paraconsist.measures._validation import Integers
from paraconsist.measures.paired_tests import (
    TRUNCATION_ERROR,
    IntArray,
    Ties,
    compare_squares,
    compare_statistics,
    score_bound,
    two_sided,
)
from paraconsist.measures.resampling import NO_SPREAD, Units, design_effects, mean_of_sums, standard_errors

MOST_CELLS: Final = 1 << 22
"""Of the joint distribution of K* and Q* that `grouped_exact_p_value` computes; beyond, it draws."""

DRAWS: Final = 500_000
_CELLS_AT_ONCE: Final = 1 << 22


def group_differences(change: Integers, groups: Integers) -> IntArray:
    """Return k_g of every group, shape (G,); `change` is 1, 0 or -1 for each item, `groups` codes from 0."""
    return np.bincount(groups, weights=change).astype(np.int64)


def grouped_statistic(differences: IntArray) -> float:
    """Return the paired t over groups: nan where all differences are 0, infinite where all are equal."""
    k, q, n = float(differences.sum()), float(differences @ differences), len(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(k) / np.sqrt(np.float64(max(q - k * k / n, 0.0)))) if q else float("nan")


def grouped_mcnemar_statistic(differences: IntArray) -> float:
    """Return K^2 / Q; nan where all differences are 0."""
    q = float(differences @ differences)
    return float(differences.sum()) ** 2 / q if q else float("nan")


def is_exact(differences: IntArray) -> bool:
    """Return whether `grouped_exact_p_value` is exact: whether the distribution has at most `MOST_CELLS` cells."""
    return not differences.any() or int(np.prod(_shape(_reduced(differences))[0])) <= MOST_CELLS


def grouped_exact_p_value(differences: IntArray, *, ties: Ties, rng: np.random.Generator) -> float:
    """The two-sided p of the test over groups, in the limit of infinitely many resamples.

    K* and Q* are sums over G independent draws of a k_g (`differences`, shape (G,)) with a random sign, and of its
    square. Their joint distribution is the G-th power of the characteristic function, turned back by a Fourier
    transform over a window that leaves out at most `TRUNCATION_ERROR` (Bernstein's inequality); t* <= t is decided in
    integers. Where the window has more than `MOST_CELLS` cells, the p is that of `DRAWS` draws with `rng`. `ties` as
    for `paraconsist.measures.paired_tests.exact_p_value`.

    Three of fifty items are lost. Each alone it is the test of items; in one group it says less:

    >>> rng = np.random.default_rng(0)
    >>> for lost in ([1, 1, 1], [3]):
    ...     print(f"{grouped_exact_p_value(np.array(lost + [0] * (50 - len(lost))), ties='mid', rng=rng):.4f}")
    0.0615
    0.3005
    """
    k = int(differences.sum())
    if not differences.any() or (k == 0 and ties == "mid"):
        return 1.0
    beyond, equal = _null_tail(differences, rng)
    return two_sided(k, beyond, equal, ties)


def grouped_resampled_p_value(differences: IntArray, *, n_resamples: int, rng: np.random.Generator) -> float:
    """The same with `n_resamples` draws, no plus-one, and ties in the lower tail, as equation 14 has it."""
    if not differences.any():
        return 1.0
    k, q = int(differences.sum()), int(differences @ differences)
    drawn = null_draws(differences, n_resamples, rng)
    lower = sum(int(np.count_nonzero(compare_statistics(*one, k, q) <= 0)) for one in drawn)
    return 2 * min(lower, n_resamples - lower) / n_resamples


def grouped_mcnemar_resampled_p_value(differences: IntArray, *, n_resamples: int, rng: np.random.Generator) -> float:
    """The share of draws with K*^2 / Q* > K^2 / Q."""
    if not differences.any():
        return 1.0
    k, q = abs(int(differences.sum())), int(differences @ differences)
    drawn = null_draws(differences, n_resamples, rng)
    return sum(int(np.count_nonzero(compare_squares(np.abs(a), q, k, b) > 0)) for a, b in drawn) / n_resamples


def grouped_mcnemar_p_value(differences: IntArray, *, mid_p: bool) -> float:
    """The exact p of the groups' differences as they are, each with a random sign: P(|K*| >= |K|).

    For groups of one item it is the binomial test. The distribution of K* is the product of cos(a k_g) over groups,
    turned back by a Fourier transform.
    """
    from scipy.fft import irfft, next_fast_len

    steps = _reduced(differences)
    k = abs(int(steps.sum()))
    if k == 0:
        return 1.0
    values, counts = np.unique(np.abs(steps[steps != 0]), return_counts=True)
    size = next_fast_len(2 * int(values @ counts) + 1, real=True)
    angles = 2.0 * np.pi * np.arange(size // 2 + 1) / size
    chances = np.ones(len(angles))
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        chances *= np.cos(angles * value) ** count
    mass = np.maximum(irfft(chances, size), 0.0)
    most = int(values @ counts)
    tail = 2.0 * float(mass[k : most + 1].sum())
    return min(1.0, tail - float(mass[k]) if mid_p else tail)


def grouped_difference(
    right_before: IntArray, right_after: IntArray, sizes: IntArray, confidence_level: float
) -> tuple[list[float], float, float]:
    """Return the interval of the accuracy lost, its standard error, and the design effect.

    The interval is Tango's score interval at the effective sample size: items over the design effect, for few groups
    less. nan for one group. Arrays have shape (G,): every group's n10, n01 and number of items.
    """
    n, n10, n01 = int(sizes.sum()), int(right_before.sum()), int(right_after.sum())
    groups = Units.of(np.stack([sizes, right_before - right_after], 1).astype(float), np.ones(len(sizes)))
    items = Units.of(np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 0.0]]), [n10, n01, n - n10 - n01])
    error = float(standard_errors(groups, mean_of_sums)[0])
    effect = float(design_effects(groups, items, mean_of_sums)[0])
    if len(sizes) == 1:
        return [float("nan")] * 2, error, effect
    shrink = 1.0
    if error <= NO_SPREAD:
        shrink = len(sizes) / n  # no spread between groups: each counts once
    elif len(sizes) < n and effect > 0.0:
        normal, t = float(ndtri(0.5 + confidence_level / 2)), float(stdtrit(len(sizes) - 1, 0.5 + confidence_level / 2))
        shrink = min(1.0, (normal / t) ** 2 / effect)
    size, before, after = (np.array([shrink * count]) for count in (n, n10, n01))
    low = -float(score_bound(size, after, before, confidence_level)[0])
    high = float(score_bound(size, before, after, confidence_level)[0])
    point = (n10 - n01) / n
    return [min(low, point), max(high, point)], error, effect


def _reduced(differences: IntArray) -> IntArray:
    """Return the differences in units of their greatest common divisor, which changes no p."""
    return differences // max(int(np.gcd.reduce(differences)), 1)


def _shape(steps: IntArray) -> tuple[tuple[int, int], int]:
    """Return how many values of K* and of Q* hold all but `TRUNCATION_ERROR` of the mass, and the least of Q*."""
    n, largest, squares = len(steps), int(np.abs(steps).max()), steps.astype(np.float64) ** 2
    exponent = float(np.log(8 / TRUNCATION_ERROR))

    def reach(step: float, variance: float) -> int:
        return int(np.ceil(exponent * step / 3 + np.sqrt((exponent * step / 3) ** 2 + 2 * exponent * variance)))

    q = float(squares.sum())
    for_k = min(reach(largest, q), n * largest)
    for_q = reach(largest**2, float(squares @ squares) - q * q / n)
    least = max(0, int(q) - for_q)
    most = min(n * largest**2, int(q) + for_q)
    return (2 * for_k + 1, most - least + 1), least


def _null_tail(differences: IntArray, rng: np.random.Generator) -> tuple[float, float]:
    """P(t* > t) and P(t* = t) under the null hypothesis, for |K|."""
    steps = _reduced(differences)
    k, q = abs(int(steps.sum())), int(steps @ steps)
    if not is_exact(differences):
        sides = [compare_statistics(*one, k, q) for one in null_draws(steps, DRAWS, rng)]
        beyond, equal = (sum(int(np.count_nonzero(side == sign)) for side in sides) / DRAWS for sign in (1, 0))
        return beyond, equal
    values, counts = np.unique(np.abs(steps), return_counts=True)
    return _exact_tail(k, tuple(values.tolist()), tuple(counts.tolist()))


@lru_cache(maxsize=256)
def _exact_tail(k: int, sizes: tuple[int, ...], times: tuple[int, ...]) -> tuple[float, float]:
    """P(t* > t) and P(t* = t) for K = k, where so many groups have differences of these sizes."""
    from scipy.fft import irfft, next_fast_len

    values, counts = np.array(sizes), np.array(times)
    steps = np.repeat(values, counts)
    q = int(steps @ steps)
    shape, least = _shape(steps)
    rows, columns = (next_fast_len(size, real=True) for size in shape)
    # a quarter of the plane: the mass is real, and even in K*
    angles = [2.0 * np.pi * np.arange(size // 2 + 1) / size for size in (rows, columns)]
    cosines = np.cos(np.multiply.outer(angles[0], values)) * (counts / len(steps))
    transform = cosines @ np.exp(-1j * np.multiply.outer(values**2, angles[1]))
    mass = np.maximum(irfft(irfft(transform ** len(steps), columns, axis=1), rows, axis=0), 0.0)
    index = np.arange(rows)
    k_star = np.where(index <= rows // 2, index, index - rows)[:, np.newaxis]
    q_star = least + (np.arange(columns) - least) % columns
    grid = np.broadcast_arrays(k_star, q_star)
    side = compare_statistics(grid[0], grid[1], k, q)
    return float(mass[side > 0].sum()), float(mass[side == 0].sum())


def null_draws(differences: IntArray, total: int, rng: np.random.Generator) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield K* and Q* of `total` resamples, in parts: how often each size of difference is drawn, then signs."""
    values, counts = np.unique(np.abs(differences), return_counts=True)
    chunk = max(1, _CELLS_AT_ONCE // len(values))
    for start in range(0, total, chunk):
        times = rng.multinomial(len(differences), counts / len(differences), size=min(chunk, total - start))
        times = times.astype(np.int64)
        yield (2 * rng.binomial(times, 0.5) - times) @ values, times @ values**2
