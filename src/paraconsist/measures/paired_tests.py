"""Paired tests of two accuracies on the same items: the IE test's statistic, its null distribution, McNemar.

Everything here needs three counts: ``n`` items, ``n10`` right before and wrong after the change, ``n01``
wrong before and right after it. Below, K = n10 - n01 and D = n10 + n01. All functions take numbers or
arrays of one shape (one entry a run) and return the same.

Source: Salvatore et al. 2023, "A resampling-based method to evaluate NLI models", equations 12 to 14.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from paraconsist.errors import check_choice, check_fraction, input_error
from paraconsist.measures._validation import check_rows, check_unmasked, rectangular

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
Ties: TypeAlias = Literal["mid", "lower"]

TRUNCATION_ERROR: Final = 2e-13
"""Upper bound of what `exact_p_value` leaves out of its sum (absolute, for the two-sided p)."""

_LIMB_BITS: Final = 31
_LIMIT: Final = 2**_LIMB_BITS
_LIMB_MASK: Final = _LIMIT - 1
_SMALL: Final = 2**21  # products of three such numbers fit in 63 bits
_FEW: Final = 256  # below this many terms every binomial tail is evaluated on its own


def paired_counts(function: str, **counts: Any) -> tuple[IntArray, ...]:
    """The counts as int64 arrays of one shape, checked one by one and against each other."""
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


def _each(function: Callable[..., float], *arrays: IntArray) -> Any:
    """Apply `function` to every entry of the arrays; equal counts are computed once."""
    values: dict[tuple[int, ...], float] = {}
    flat = list(zip(*(array.ravel().tolist() for array in arrays), strict=True))
    for counts in flat:
        if counts not in values:
            values[counts] = function(*counts)
    return shaped(np.array([values[counts] for counts in flat], dtype=np.float64), arrays[0].shape)


def shaped(values: FloatArray, shape: tuple[int, ...]) -> Any:
    return values.reshape(shape) if shape else float(values.ravel()[0])


def paired_statistic(n: npt.ArrayLike, n10: npt.ArrayLike, n01: npt.ArrayLike) -> Any:
    """The paired t statistic of the IE test (equations 12 and 13, population standard deviation).

    How many standard errors the accuracy falls when the test set is transformed: positive where the original
    is answered better.

    .. math:: t = K / \\sqrt{D - K^2 / n}

    Parameters
    ----------
    n, n10, n01 : int or array of int
        Items; items right on the original only; items right on the transformed one only.

    Returns
    -------
    float or array of float
        In [-inf, inf]; 0 is no difference. nan where D = 0 (no item changed: undefined), infinite where
        every item changed in the same direction.

    References
    ----------
    Salvatore et al. 2023, equations 12 and 13. With n = 19,647, n10 = 1,232 and n01 = 616 their repository
    publishes t = 14.4049284322.

    Examples
    --------
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
    """McNemar's statistic without continuity correction, K^2 / D; nan where D = 0.

    Examples
    --------
    >>> print(f"{mcnemar_statistic(344, 383):.6f}")     # their bert_base run on SNLI, rho 1, batch 5
    2.092160
    """
    right_before, right_after = paired_counts("mcnemar_statistic", n10=n10, n01=n01)
    d = right_before + right_after
    with np.errstate(divide="ignore", invalid="ignore"):
        return shaped((right_before - right_after) ** 2 / d, d.shape)


def compare_squares(a: IntArray, d: int, b: int, m: IntArray) -> IntArray:
    """The sign of a^2 d - b^2 m without rounding or overflow, for whole numbers in [0, 2^31)."""
    if max(d, b, int(a.max()), int(m.max())) < _SMALL:
        sign: IntArray = np.sign(a * a * d - m * (b * b))
        return sign
    high_1, low_1 = _product(a, d)
    high_2, low_2 = _product(b, m)
    sign = np.sign(2 * np.sign(high_1 - high_2) + np.sign(low_1 - low_2))
    return sign


def _product(x: IntArray | int, y: IntArray | int) -> tuple[IntArray, IntArray]:
    """x^2 y as high * 2^31 + low: x^2 < 2^62 is cut into two limbs before it is multiplied."""
    square = np.multiply(x, x, dtype=np.int64)
    low = (square & _LIMB_MASK) * y
    high = (square >> _LIMB_BITS) * y + (low >> _LIMB_BITS)
    return high, low & _LIMB_MASK


def compare_statistics(k_star: IntArray, d_star: IntArray, k: int, d: int) -> IntArray:
    """The sign of t* - t, from t* <= t <=> K*|K*| D <= K|K| D*; where D* = 0, t* is 0."""
    sign_star: IntArray = np.sign(k_star)
    sign = int(np.sign(k))
    same = sign_star * compare_squares(np.abs(k_star), d, abs(k), d_star)
    return np.where(sign_star == sign, same, np.sign(sign_star - sign))


def exact_p_value(n: npt.ArrayLike, n10: npt.ArrayLike, n01: npt.ArrayLike, *, ties: Ties = "mid") -> Any:
    """The two-sided p of the IE test, with no resampling error: equation 14 with infinitely many resamples.

    How often would data whose two versions are equally easy show a t at least this far out. Resampling n
    rows and swapping each pair with probability 1/2 makes D* ~ Bin(n, D/n) discordant items, of which N ~
    Bin(D*, 1/2) are right on the original only, and K* = 2 N - D*. Hence

    .. math:: P(t^* \\le t) = \\sum_m \\mathrm{Bin}(m; n, D/n)\\, P(K^* |K^*| D \\le K |K| m \\mid D^* = m),

    compared in integers, so that ties are ties; t* = 0 where m = 0. The sum runs over a window that leaves
    out at most `TRUNCATION_ERROR` (2e-13) of the p-value, by Bernstein's inequality.

    Parameters
    ----------
    n, n10, n01 : int or array of int
        Items; items right on the original only; items right on the transformed one only. Each below 2^31.
    ties : {"mid", "lower"}
        "mid" counts half of P(t* = t): the p is the same when the two versions are swapped. "lower" counts
        all of it in the lower tail, as equation 14 does: *not* symmetric (n = 50: 3 and 0 give .0326, 0 and
        3 .0904).

    Returns
    -------
    float or array of float
        In [0, 1], small where the accuracies differ; 1 where D = 0. Uniform in the limit under the null
        hypothesis.

    References
    ----------
    Salvatore et al. 2023, equation 14.

    Examples
    --------
    >>> print(f"{exact_p_value(50, 3, 0):.4f} {exact_p_value(50, 0, 3):.4f}")
    0.0615 0.0615
    >>> print(f"{exact_p_value(50, 3, 0, ties='lower'):.4f} {exact_p_value(50, 0, 3, ties='lower'):.4f}")
    0.0326 0.0904
    """
    check_choice("exact_p_value", "ties", ties, ("mid", "lower"))
    counts = paired_counts("exact_p_value", n=n, n10=n10, n01=n01)
    return _each(lambda *count: _exact_p(*count, ties=ties), *counts)


def _exact_p(n: int, n10: int, n01: int, *, ties: Ties) -> float:
    k, d = n10 - n01, n10 + n01
    if d == 0 or (k == 0 and ties == "mid"):
        return 1.0
    return two_sided(k, *_null_tail(n, d, abs(k)), ties)


def two_sided(k: int, beyond: float, equal: float, ties: Ties) -> float:
    """The two-sided p of P(t* > t) and P(t* = t), which are those for K = |k|."""
    if ties == "mid":
        tail = beyond + equal / 2
    else:
        tail = beyond if k >= 0 else beyond + equal
    return min(1.0, 2 * min(tail, 1 - tail))


def _null_tail(n: int, d: int, k: int) -> tuple[float, float]:
    """P(t* > t) and P(t* = t) under the null hypothesis, for K = k >= 0 and D = d > 0."""
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
    beyond = float(weights @ _fair_tail(m, most, slow=4 * first * d < k * k))
    tied = (side == 0) & ((m + limit) % 2 == 0)
    equal = float(weights[tied] @ binom.pmf(most[tied], m[tied], 0.5))
    return beyond, equal


def _window(n: int, d: int) -> tuple[int, int]:
    """Where Bin(n, d/n) has all but `TRUNCATION_ERROR` / 2 of its mass: Bernstein's inequality."""
    exponent = float(np.log(4 / TRUNCATION_ERROR))
    variance = d * (1 - d / n)
    reach = exponent / 3 + np.sqrt(exponent**2 / 9 + 2 * exponent * variance)
    return max(0, int(np.floor(d - reach))), min(n, int(np.ceil(d + reach)))


def _fair_tail(m: IntArray, most: IntArray, *, slow: bool) -> FloatArray:
    """P(N > most) for N ~ Bin(m, 1/2), for consecutive m.

    A tail is dear and a probability is cheap, so that long windows take one tail in the middle and walk
    from there: P(N' > s) = P(N > s) + P(N = s) / 2 and P(N' > s + 1) = P(N > s) - P(N = s + 1) / 2, with
    one more toss in N'. This needs `most` to grow by 0 or 1 a step, which it does where 4 m D >= K^2 (else
    `slow`).
    """
    from scipy.stats import binom

    if slow or m.size <= _FEW:
        tails: FloatArray = np.asarray(binom.sf(most, m, 0.5))
        return tails
    step = np.diff(most)
    change = np.where(step == 0, 0.5, -0.5) * binom.pmf(most[:-1] + step, m[:-1], 0.5)
    walk = np.concatenate([[0.0], np.cumsum(change)])
    middle = m.size // 2
    anchor = float(binom.sf(most[middle], m[middle], 0.5))
    walked: FloatArray = np.maximum(anchor + (walk - walk[middle]), 0.0)
    return walked


def mcnemar_p_value(n10: npt.ArrayLike, n01: npt.ArrayLike, *, mid_p: bool = False) -> Any:
    """McNemar's exact two-sided p: the binomial test of n10 out of D at 1/2 (the paper's alternative 1).

    Given how many items changed from right to wrong or back, is the direction lopsided. Unlike the IE test
    it takes D as it is.

    .. math:: p = \\min(1, 2 P(\\mathrm{Bin}(D, 1/2) \\le \\min(n_{10}, n_{01})))

    Parameters
    ----------
    n10, n01 : int or array of int
        Items right on the original only; items right on the transformed one only.
    mid_p : bool
        Count half of the probability of the observed counts: less conservative, not guaranteed to keep the
        level.

    Returns
    -------
    float or array of float
        In [0, 1]; 1 where D = 0. Symmetric in n10 and n01.

    Examples
    --------
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
    """Tango's score interval for the accuracy lost by the change, K / n (before minus after).

    Keeps its level near 0 and where nothing changed, where the interval from t does not; it holds 0 exactly
    where McNemar's K^2/D is within the normal quantile.

    Parameters
    ----------
    n, n10, n01 : int or array of int
        Items; items right on the original only; items right on the transformed one only.
    confidence_level : float
        In (0, 1).

    Returns
    -------
    low, high : float or array of float
        In [-1, 1], as shares of items.

    References
    ----------
    Tango 1998, "Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design", Statistics in Medicine 17.
    """
    name = "paired_difference_interval"
    level = check_fraction(name, "confidence_level", confidence_level)
    items, right_before, right_after = paired_counts(name, n=n, n10=n10, n01=n01)
    high = score_bound(items, right_before, right_after, level)
    low = -score_bound(items, right_after, right_before, level)
    return shaped(low, items.shape), shaped(high, items.shape)


def score_statistic(
    n: IntArray | FloatArray, n10: IntArray | FloatArray, n01: IntArray | FloatArray, delta: FloatArray
) -> FloatArray:
    """How many standard errors the difference `delta` lies above that of the counts, which may be fractions.

    The standard error is that of the hypothesis that `delta` is the true difference (Tango); 0 where neither differs.
    """
    k = n10 - n01
    # the likeliest share of n01 items given the difference delta: the root of 2n q^2 + b q + c
    b = (2 * n - k) * delta - n10 - n01
    c = -n01 * delta * (1 - delta)
    share = (np.sqrt(np.maximum(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
    spread = np.sqrt(np.maximum(n * (2 * share + delta * (1 - delta)), 0.0))
    above = n * delta - k
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > 0.0, above / spread, np.where(above > 0.0, np.inf, 0.0))


def score_bound(
    n: IntArray | FloatArray, n10: IntArray | FloatArray, n01: IntArray | FloatArray, confidence_level: float
) -> FloatArray:
    """The largest difference that the score test does not reject, by bisection; effective counts may be fractions."""
    z = float(ndtri(0.5 + confidence_level / 2))
    inside, outside = (n10 - n01).astype(np.float64) / n, np.ones(n.shape)
    for _ in range(60):
        delta = (inside + outside) / 2
        kept = score_statistic(n, n10, n01, delta) <= z
        inside, outside = np.where(kept, delta, inside), np.where(kept, outside, delta)
    return inside
