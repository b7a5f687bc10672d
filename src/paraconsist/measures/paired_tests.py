"""Paired tests of two accuracies on the same items: the IE test's statistic, its null distribution, McNemar.

The functions take three counts: ``n`` items, ``n10`` right before and wrong after the change, ``n01`` wrong before and
right after it. Below, K = n10 - n01 and D = n10 + n01. Counts are numbers, or arrays of one shape (one entry per run),
and so are the results.

Source: Salvatore et al. 2023, "A resampling-based method to evaluate NLI models", equations 12 to 14.

The first functions are exact. Those with ``resampled`` and ``replay`` in their names estimate the same p by resampling,
as the paper defines it and as the authors ran it: use them to reproduce a published number.

Those with ``grouped`` in their names are for items in groups that are not independent: whole groups are swapped. There
k_g = n10 - n01 within group g, K is their sum, Q the sum of their squares and G the number of groups. The statistic is
the paired t over groups, t = K / sqrt(Q - K^2 / G), and the null draws G groups with replacement and swaps the two
versions of each with probability 1/2 (equation 14, for groups). With one item per group Q is D and G is n, and all
values are those of the ungrouped tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from paraconsist.errors import check_choice, check_fraction, check_whole, input_error
from paraconsist.measures.array_types import Floats, Integers, Whole
from paraconsist.measures.buckets import (
    MOST_DRAWN,
    as_column,
    as_generator,
    as_mask,
    check_rows,
    check_same_length,
    check_unmasked,
    rectangular,
)
from paraconsist.measures.intervals import NO_SPREAD, Units, design_effects, mean_of_sums, standard_errors

Ties: TypeAlias = Literal["mid", "lower"]

TRUNCATION_ERROR: Final = 2e-13
"""Upper bound of what `exact_p_value` excludes from its sum (absolute, for the two-sided p)."""

_LIMIT: Final = 2**31
_SMALL: Final = 2**21  # products of three such numbers fit in 63 bits


def paired_counts(function: str, **counts: Any) -> tuple[Whole, ...]:
    """Return the counts as int64 arrays of one shape, checked one by one and against each other."""
    arrays = []
    for name, value in counts.items():
        check_unmasked(function, name, value)
        array = rectangular(value)
        if array.dtype.kind not in "iu":
            raise input_error(function, name, "be a whole number or an array of them", got=value)
        check_rows(function, name, "not be negative", array, array < 0)
        check_rows(function, name, f"be below {_LIMIT}", array, array >= _LIMIT)
        arrays.append(array.astype(np.int64))
    try:
        shaped = [np.array(array) for array in np.broadcast_arrays(*arrays)]
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(counts, arrays, strict=True))
        raise input_error(function, next(iter(counts)), f"have the shape of the other counts ({shapes})") from None
    if "n" in counts:
        n, n10, n01 = shaped[:3]
        check_rows(function, "n", "be at least 1", n, n < 1)
        remedy = "Discordant items cannot be more than all items."
        check_rows(function, "n", "be at least n10 + n01", n, n10 + n01 > n, remedy=remedy)
    return tuple(shaped)


def shaped(values: Floats, shape: tuple[int, ...]) -> Any:
    return values.reshape(shape) if shape else float(values.ravel()[0])


def paired_statistic(n: npt.ArrayLike, n10: npt.ArrayLike, n01: npt.ArrayLike) -> Any:
    """Return the paired t statistic of the IE test, t = K / sqrt(D - K^2 / n) (equations 12 and 13).

    It is the number of standard errors (population standard deviation) by which the accuracy falls when the test set is
    transformed: positive if the original is answered better, 0 for no difference, nan if D = 0 (no item changed), and
    infinite if every item changed in the same direction. The authors' repository publishes this value:

    >>> print(f"{paired_statistic(19_647, 1_232, 616):.10f}")
    14.4049284322
    """
    items, right_before, right_after = paired_counts("paired_statistic", n=n, n10=n10, n01=n01)
    k = (right_before - right_after).astype(np.float64)
    d = right_before + right_after
    # n D - K^2 in integers: below 2^62, so that "every item changed the same way" is exactly 0
    scaled = items * d - (right_before - right_after) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        t = k / np.sqrt(scaled / items)
    return shaped(np.where(d == 0, np.nan, t), items.shape)


def mcnemar_statistic(n10: npt.ArrayLike, n01: npt.ArrayLike) -> Any:
    """Return McNemar's statistic without continuity correction, K^2 / D; nan if D = 0.

    >>> print(f"{mcnemar_statistic(344, 383):.6f}")     # the authors' bert_base run on SNLI, rho 1, batch 5
    2.092160
    """
    right_before, right_after = paired_counts("mcnemar_statistic", n10=n10, n01=n01)
    d = right_before + right_after
    with np.errstate(divide="ignore", invalid="ignore"):
        return shaped((right_before - right_after) ** 2 / d, d.shape)


def compare_squares(a: Whole, d: int, b: int, m: Whole) -> Whole:
    """Return the sign of a^2 d - b^2 m without rounding or overflow, for whole numbers in [0, 2^31)."""
    if max(d, b, int(a.max()), int(m.max())) >= _SMALL:
        a, m = a.astype(object), m.astype(object)  # Python's integers
    return np.asarray(np.sign(a * a * d - m * (b * b)), dtype=np.int64)


def compare_statistics(k_star: Whole, d_star: Whole, k: int, d: int) -> Whole:
    """Return the sign of t* - t, from t* <= t <=> K*|K*| D <= K|K| D*; t* is 0 if D* = 0."""
    sign_star: Whole = np.sign(k_star)
    sign = int(np.sign(k))
    same = sign_star * compare_squares(np.abs(k_star), d, abs(k), d_star)
    return np.where(sign_star == sign, same, np.sign(sign_star - sign))


def exact_p_value(n: npt.ArrayLike, n10: npt.ArrayLike, n01: npt.ArrayLike, *, ties: Ties = "mid") -> Any:
    """Return the two-sided p of the IE test without resampling error: equation 14 with infinitely many resamples.

    p is the probability that data whose two versions are equally easy have a t at least as extreme. Resampling n rows
    and swapping each pair with probability 1/2 gives D* ~ Bin(n, D/n) discordant items, of which N ~ Bin(D*, 1/2) are
    right on the original only, and K* = 2 N - D*. Hence

    .. math:: P(t^* \\le t) = \\sum_m \\mathrm{Bin}(m; n, D/n)\\, P(K^* |K^*| D \\le K |K| m \\mid D^* = m),

    compared in integers, so that ties are exact; t* = 0 if m = 0. The sum runs over a window that excludes at most
    `TRUNCATION_ERROR` (2e-13) of the p-value, by Bernstein's inequality. p is 1 if D = 0; counts are below 2^31.

    `ties` "mid" counts half of P(t* = t), so p stays the same if the two versions are swapped; "lower" counts all of it
    in the lower tail, as equation 14 does, which is *not* symmetric.

    >>> print(f"{exact_p_value(50, 3, 0):.4f} {exact_p_value(50, 0, 3):.4f}")
    0.0615 0.0615
    >>> print(f"{exact_p_value(50, 3, 0, ties='lower'):.4f} {exact_p_value(50, 0, 3, ties='lower'):.4f}")
    0.0326 0.0904
    """
    check_choice("exact_p_value", "ties", ties, ("mid", "lower"))
    counts = paired_counts("exact_p_value", n=n, n10=n10, n01=n01)
    flat = list(zip(*(array.ravel().tolist() for array in counts), strict=True))
    p_values = dict.fromkeys(flat, 1.0)
    for size, before, after in p_values:
        k, d = before - after, before + after
        if d > 0 and (k != 0 or ties == "lower"):
            p_values[size, before, after] = two_sided(k, *_null_tail(size, d, abs(k)), ties)
    return shaped(np.array([p_values[count] for count in flat], dtype=np.float64), counts[0].shape)


def two_sided(k: int, beyond: float, equal: float, ties: Ties) -> float:
    """Return the two-sided p from P(t* > t) and P(t* = t), which are given for K = |k|."""
    tail = beyond + (equal / 2 if ties == "mid" else equal * (k < 0))
    return min(1.0, 2 * min(tail, 1 - tail))


def _null_tail(n: int, d: int, k: int) -> tuple[float, float]:
    """Return P(t* > t) and P(t* = t) under the null hypothesis, for K = k >= 0 and D = d > 0."""
    from scipy.stats import binom  # not at the top: takes longer to import than all measures together

    first, last = _window(n, d)
    if k > 0:
        first = max(first, 1)  # D* = 0 gives t* = 0 < t
    m = np.arange(first, last + 1, dtype=np.int64)
    weights = binom.pmf(m, n, d / n)
    # t* <= t  <=>  K* <= |K| sqrt(m / D): round the root, then decide in integers on which side it lies
    limit = np.rint(k * np.sqrt(m / d)).astype(np.int64)
    side = compare_squares(limit, d, k, m)
    limit -= side > 0  # now the largest whole number that K* may be
    most = (m + limit) // 2  # K* <= limit  <=>  N <= most
    beyond = float(weights @ binom.sf(most, m, 0.5))
    tied = (side == 0) & ((m + limit) % 2 == 0)
    equal = float(weights[tied] @ binom.pmf(most[tied], m[tied], 0.5))
    return beyond, equal


def _window(n: int, d: int) -> tuple[int, int]:
    """Return the range that holds all but `TRUNCATION_ERROR` / 2 of Bin(n, d/n), by Bernstein's inequality."""
    exponent = float(np.log(4 / TRUNCATION_ERROR))
    variance = d * (1 - d / n)
    reach = exponent / 3 + np.sqrt(exponent**2 / 9 + 2 * exponent * variance)
    return max(0, int(np.floor(d - reach))), min(n, int(np.ceil(d + reach)))


def mcnemar_p_value(n10: npt.ArrayLike, n01: npt.ArrayLike, *, mid_p: bool = False) -> Any:
    """Return McNemar's exact two-sided p: the binomial test of n10 out of D at 1/2 (the paper's alternative 1).

    p = min(1, 2 P(Bin(D, 1/2) <= min(n10, n01))), symmetric in n10 and n01, and 1 if D = 0. It tests whether the
    direction of the changes is lopsided, given D; the IE test does not condition on D. `mid_p` counts half of
    the probability of the observed counts: less conservative, but not guaranteed to keep the level.

    >>> mcnemar_p_value(3, 0), mcnemar_p_value(3, 0, mid_p=True)
    (0.25, 0.125)
    """
    from scipy.stats import binom

    right_before, right_after = paired_counts("mcnemar_p_value", n10=n10, n01=n01)
    d, fewer = right_before + right_after, np.minimum(right_before, right_after)
    tail = binom.cdf(fewer, d, 0.5)
    if mid_p:
        tail = tail - binom.pmf(fewer, d, 0.5) / 2
    balanced = right_before == right_after
    return shaped(np.where(balanced, 1.0, np.minimum(1.0, 2 * tail)), d.shape)


def paired_difference_interval(
    n: npt.ArrayLike, n10: npt.ArrayLike, n01: npt.ArrayLike, *, confidence_level: float = 0.95
) -> tuple[Any, Any]:
    """Return the ends of Tango's score interval for the accuracy lost by the change, K / n, as shares of items.

    Unlike the t interval it keeps its level near 0 and if nothing changed; it contains 0 exactly if McNemar's K^2/D is
    within the normal quantile. Tango 1998, "Equivalence test and confidence interval for the difference in proportions
    for the paired-sample design", Statistics in Medicine 17.
    """
    name = "paired_difference_interval"
    level = check_fraction(name, "confidence_level", confidence_level)
    items, right_before, right_after = paired_counts(name, n=n, n10=n10, n01=n01)
    high = score_bound(items, right_before, right_after, level)
    low = -score_bound(items, right_after, right_before, level)
    return shaped(low, items.shape), shaped(high, items.shape)


def score_statistic(n: Whole | Floats, n10: Whole | Floats, n01: Whole | Floats, delta: Floats) -> Floats:
    """Return by how many standard errors the difference `delta` exceeds that of the counts, which may be fractions.

    The standard error is that under the hypothesis that `delta` is the true difference (Tango); 0 if neither differs.
    """
    k = n10 - n01
    # the likeliest share of n01 items given the difference delta: the root of 2n q^2 + b q + c
    b = (2 * n - k) * delta - n10 - n01
    c = -n01 * delta * (1 - delta)
    share = (np.sqrt(np.maximum(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
    spread = np.sqrt(np.maximum(n * (2 * share + delta * (1 - delta)), 0.0))
    above = n * delta - k
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(above == 0.0, 0.0, above / spread)


def score_bound(n: Whole | Floats, n10: Whole | Floats, n01: Whole | Floats, confidence_level: float) -> Floats:
    """Return the largest difference that the score test accepts, by bisection; counts may be fractions."""
    z = float(ndtri(0.5 + confidence_level / 2))
    inside, outside = (n10 - n01).astype(np.float64) / n, np.ones(n.shape)
    for _ in range(60):
        delta = (inside + outside) / 2
        kept = score_statistic(n, n10, n01, delta) <= z
        inside, outside = np.where(kept, delta, inside), np.where(kept, outside, delta)
    return inside


def resampled_p_value(
    n: npt.ArrayLike,
    n10: npt.ArrayLike,
    n01: npt.ArrayLike,
    *,
    n_resamples: int = 1000,
    rng: int | np.random.Generator,
    mcnemar: bool = False,
) -> Any:
    """Return the two-sided p of the IE test as the paper computes it: `n_resamples` draws, no plus-one.

    .. math:: p = 2 \\min(\\#\\{t^* \\le t\\}, \\#\\{t^* > t\\}) / S

    Ties count in the lower tail (equation 14); for large S (`n_resamples`, 1,000 in the paper) it converges to
    ``exact_p_value(..., ties="lower")``. p is a multiple of 2/S and can be 0; it is 1 if D = 0. `rng`, a Generator or
    its seed, is used run after run, in the given order, with new draws for equal counts.

    With `mcnemar` it is McNemar's test (the paper's alternative 1), the share with K*^2/D* > K^2/D: the statistic has
    no sign, so one tail covers both sides; ties do not count, as in the authors' code.
    """
    counts = paired_counts("resampled_p_value", n=n, n10=n10, n01=n01)
    total = check_whole("resampled_p_value", "n_resamples", n_resamples, at_most=MOST_DRAWN)
    generator = as_generator("resampled_p_value", "rng", rng)
    p_values = []
    for items, before, after in zip(*(array.ravel().tolist() for array in counts), strict=True):
        k, d = before - after, before + after
        if d == 0:
            p_values.append(1.0)
            continue
        # resamples under the null hypothesis: two binomial draws each, whatever n
        d_star = generator.binomial(items, d / items, total).astype(np.int64)
        k_star = 2 * generator.binomial(d_star, 0.5).astype(np.int64) - d_star
        p_values.append(_resampled_p([(k_star, d_star)], k, d, total, mcnemar))
    return shaped(np.array(p_values, dtype=np.float64), counts[0].shape)


def _resampled_p(draws: Iterable[tuple[Whole, Whole]], k: int, d: int, n_resamples: int, mcnemar: bool) -> float:
    """Return p from K* and D* of all resamples: twice the smaller tail of t*, or the share with K*^2/D* > K^2/D."""
    if mcnemar:
        return sum(_n_beyond(*sums, k, d) for sums in draws) / n_resamples
    n_lower = sum(int(np.count_nonzero(compare_statistics(*sums, k, d) <= 0)) for sums in draws)
    return 2 * min(n_lower, n_resamples - n_lower) / n_resamples


def _n_beyond(k_star: Whole, d_star: Whole, k: int, d: int) -> int:
    """Return the number of resamples with K*^2 / D* > K^2 / D."""
    return int(np.count_nonzero(compare_squares(np.abs(k_star), d, abs(k), d_star) > 0))


def replayed_p_value(
    original_correct: npt.ArrayLike,
    transformed_correct: npt.ArrayLike,
    *,
    seed: int,
    n_resamples: int = 1000,
    mcnemar: bool = False,
) -> float:
    """Return the p of the authors' program: their random numbers, their swap of the first n // 2 drawn rows.

    Only for checking published numbers: the order of the rows matters, and p is 0 (a rejection) if D = 0, where t is
    0/0. A resample with D* = 0 counts in neither tail, because its t is undefined. The arrays, shape (n,), tell which
    items are right before and after the change, in the authors' order; `seed` seeds numpy's `RandomState` as in their
    program, and `n_resamples` is 1,000 in the published runs. The time is proportional to ``n * n_resamples``. With
    `mcnemar` it is their resampled McNemar test, for which they use the same seed.
    """
    function = "replayed_p_value"
    total = check_whole(function, "n_resamples", n_resamples, at_most=MOST_DRAWN)
    if check_whole(function, "seed", seed, at_least=0, at_most=None) >= 2**32:
        raise input_error(function, "seed", "be below 2**32", got=seed)
    both = {"original_correct": original_correct, "transformed_correct": transformed_correct}
    columns = {name: as_column(v, function=function, parameter=name, what="true or false") for name, v in both.items()}
    check_same_length(function, columns)
    before, after = (as_mask(function, name, column).astype(np.int8) for name, column in columns.items())
    change = before - after
    n, half = change.size, change.size // 2
    k, d = int(change.sum()), int(np.count_nonzero(change))
    if d == 0:
        return 0.0
    legacy = np.random.RandomState(seed)  # the authors' generator
    k_star, d_star = np.empty((2, total), dtype=np.int64)
    for replicate in range(total):
        drawn = change[legacy.randint(0, n, n, dtype=np.int64)]
        swapped, kept = int(drawn[:half].sum(dtype=np.int64)), int(drawn[half:].sum(dtype=np.int64))
        k_star[replicate], d_star[replicate] = kept - swapped, np.count_nonzero(drawn)
    if mcnemar:
        return _n_beyond(k_star, d_star, k, d) / total
    sign = compare_statistics(k_star, d_star, k, d)[d_star > 0]
    return 2 * min(int(np.count_nonzero(sign <= 0)), int(np.count_nonzero(sign > 0))) / total


MOST_CELLS: Final = 1 << 22
"""Cells of the joint distribution of K* and Q* that `grouped_exact_p_value` computes at most; beyond, it draws."""

DRAWS: Final = 500_000
_CELLS_AT_ONCE: Final = 1 << 22


def group_differences(change: Integers, groups: Integers) -> Whole:
    """Return k_g of every group, shape (G,); `change` is 1, 0 or -1 for each item, `groups` codes from 0."""
    return np.bincount(groups, weights=change).astype(np.int64)


def grouped_statistic(differences: Whole, *, mcnemar: bool = False) -> float:
    """Return the paired t over groups, infinite where all are equal, or McNemar's K^2 / Q; nan where all are 0."""
    k, q, n = float(differences.sum()), float(differences @ differences), len(differences)
    if mcnemar or not q:
        return k**2 / q if q else float("nan")
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(k) / np.sqrt(np.float64(max(q - k * k / n, 0.0))))


def is_exact(differences: Whole) -> bool:
    """Return whether `grouped_exact_p_value` is exact: whether the distribution has at most `MOST_CELLS` cells."""
    return not differences.any() or int(np.prod(_shape(_reduced(differences))[0])) <= MOST_CELLS


def grouped_exact_p_value(differences: Whole, *, ties: Ties, rng: np.random.Generator) -> float:
    """Return the two-sided p of the test over groups, in the limit of infinitely many resamples.

    K* and Q* are sums over G independent draws of a k_g (`differences`, shape (G,)) with a random sign, and of its
    square. Their joint distribution is the G-th power of the characteristic function, inverted by a Fourier transform
    over a window that excludes at most `TRUNCATION_ERROR` (Bernstein's inequality); t* <= t is decided in integers. If
    the window has more than `MOST_CELLS` cells, p is that of `DRAWS` draws with `rng`. `ties` as for `exact_p_value`.

    Three of fifty items are lost. In three groups it is the test of items; in one group the evidence is weaker:

    >>> rng = np.random.default_rng(0)
    >>> for lost in ([1, 1, 1], [3]):
    ...     print(f"{grouped_exact_p_value(np.array(lost + [0] * (50 - len(lost))), ties='mid', rng=rng):.4f}")
    0.0615
    0.3005
    """
    k = int(differences.sum())
    if not differences.any() or (k == 0 and ties == "mid"):
        return 1.0
    beyond, equal = _grouped_null_tail(differences, rng)
    return two_sided(k, beyond, equal, ties)


def grouped_resampled_p_value(
    differences: Whole, *, n_resamples: int, rng: np.random.Generator, mcnemar: bool = False
) -> float:
    """Return the same p from `n_resamples` draws, no plus-one, with ties in the lower tail as in equation 14.

    With `mcnemar` it is the share of draws with K*^2 / Q* > K^2 / Q.
    """
    if not differences.any():
        return 1.0
    k, q = int(differences.sum()), int(differences @ differences)
    return _resampled_p(null_draws(differences, n_resamples, rng), k, q, n_resamples, mcnemar)


def grouped_mcnemar_p_value(differences: Whole, *, mid_p: bool) -> float:
    """Return the exact p of the groups' differences, each with a random sign: P(|K*| >= |K|).

    For groups of one item it is the binomial test. The distribution of K* is the product of cos(a k_g) over groups,
    inverted by a Fourier transform.
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
    right_before: Whole, right_after: Whole, sizes: Whole, confidence_level: float
) -> tuple[list[float], float, float]:
    """Return the interval of the accuracy lost, its standard error, and the design effect.

    The interval is Tango's score interval at the effective sample size: items over the design effect, fewer for few
    groups; nan for one group. The arrays, shape (G,), are every group's n10, n01 and number of items.
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
    elif len(sizes) < n:
        normal, t = float(ndtri(0.5 + confidence_level / 2)), float(stdtrit(len(sizes) - 1, 0.5 + confidence_level / 2))
        shrink = min(1.0, (normal / t) ** 2 / effect)
    size, before, after = (np.array([shrink * count]) for count in (n, n10, n01))
    low = -float(score_bound(size, after, before, confidence_level)[0])
    high = float(score_bound(size, before, after, confidence_level)[0])
    point = (n10 - n01) / n
    return [min(low, point), max(high, point)], error, effect


def _reduced(differences: Whole) -> Whole:
    """Return the differences in units of their greatest common divisor, which changes no p."""
    return differences // max(int(np.gcd.reduce(differences)), 1)


def _shape(steps: Whole) -> tuple[tuple[int, int], int]:
    """Return the numbers of values of K* and Q* that hold all but `TRUNCATION_ERROR` of the mass, and the least Q*."""
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


def _grouped_null_tail(differences: Whole, rng: np.random.Generator) -> tuple[float, float]:
    """Return P(t* > t) and P(t* = t) under the null hypothesis, for |K|."""
    steps = _reduced(differences)
    k, q = abs(int(steps.sum())), int(steps @ steps)
    if not is_exact(differences):
        sides = [compare_statistics(*sums, k, q) for sums in null_draws(steps, DRAWS, rng)]
        beyond, equal = (sum(int(np.count_nonzero(side == sign)) for side in sides) / DRAWS for sign in (1, 0))
        return beyond, equal
    from scipy.fft import irfft, next_fast_len

    values, counts = np.unique(np.abs(steps), return_counts=True)
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


def null_draws(differences: Whole, total: int, rng: np.random.Generator) -> Iterator[tuple[Whole, Whole]]:
    """Yield K* and Q* of `total` resamples in parts: how often each size of difference is drawn, then signs."""
    values, counts = np.unique(np.abs(differences), return_counts=True)
    chunk = max(1, _CELLS_AT_ONCE // len(values))
    for start in range(0, total, chunk):
        times = rng.multinomial(len(differences), counts / len(differences), size=min(chunk, total - start))
        times = times.astype(np.int64)
        yield (2 * rng.binomial(times, 0.5) - times) @ values, times @ values**2
