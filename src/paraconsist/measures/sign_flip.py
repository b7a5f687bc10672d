"""The sign-flip permutation test: would the difference be as large if the two models changed places at random?

Under the null hypothesis that the two models are exchangeable, each resampling unit (a bucket, or a group of
buckets) might as well have had the models' answers the other way round. Units that differ in the same way are
interchangeable, so a permutation is a binomial draw of how many units of each *distinct* difference are swapped:
the same distribution as flipping units one by one, at a cost that depends on the number of distinct ones only.

Inverted (`flip_tests`), the test gives an interval: the hypothesis that the first model is better by delta takes delta
off every unit's difference before the signs are flipped. Flipping the units F then has a difference as large as the
observed one where the mean difference over F alone lies beyond delta: the ends of the interval are quantiles of the
mean differences over random halves of the units (Hartigan 1969, "Using subsample values as typical values", JASA 64).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import binom, gammaln

from paraconsist.measures.difference_tests import FlipTest
from paraconsist.measures.resampling import Estimate, Floats

_MOST_EXACT = 1 << 17  # assignments that are enumerated
_MOST_ENDS = 1 << 14  # assignments that are enumerated for intervals, which have to be sorted
_CELLS_AT_ONCE = 1 << 20
_TOLERANCE = 1e-9  # differences closer than this are ties, which count against the null's rejection


@dataclass(frozen=True)
class SignFlip:
    """Two-sided p-values of q measures; arrays have shape (q,)."""

    #: Share of assignments with a difference at least as large in absolute value; nan where the measure is undefined
    #: for a model.
    p_value: Floats
    error: Floats  # Monte Carlo standard error of `p_value`, sqrt(p(1-p)/S); 0 where it is exact.
    #: "exact" (all assignments) or "monte-carlo<S>", which counts the observed one as well: (hits + 1)/(S + 1), so that
    #: it is never 0 and never too small on average.
    method: str


def sign_flip_test(
    first: Floats,
    second: Floats,
    multiplicity: npt.NDArray[np.int64],
    estimate: Estimate,
    n_permutations: int,
    rng: np.random.Generator,
) -> SignFlip:
    """Test whether q measures differ between two models that answered the same units.

    `first` and `second`, shape (p, m), are each model's sums in every distinct unit, `multiplicity`, shape (p,), how
    many units have these; `estimate` turns sums (..., m) into measures (..., q). There are `n_permutations` Monte Carlo
    draws where there are more than 131,072 different assignments.

    For means over buckets this is the test of a zero mean of signed differences, which holds its level also for models
    that are not exchangeable, if there are many units (the flips have the variance of the mean). For other measures
    (PVAP) exchangeability is what is tested.

    Five buckets, the first model right in all, the second in none: 2 of 32 assignments are as extreme.

    >>> rng = np.random.default_rng(0)
    >>> one, none = np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]])
    >>> sign_flip_test(one, none, np.array([5]), lambda s: s[..., 1:] / s[..., :1], 100, rng).p_value.tolist()
    [0.0625]
    """
    totals = multiplicity @ first, multiplicity @ second
    observed = np.abs(_difference(estimate, *totals))
    low, steps, counts = _distinct_differences(first, second, multiplicity)
    exact = _n_assignments(counts) <= _MOST_EXACT
    swapped = _every(counts) if exact else _drawn(counts, n_permutations, rng)
    hits = np.zeros(len(observed))
    for times, weight in swapped:
        one = low + times @ steps
        values = np.abs(_difference(estimate, one, totals[0] + totals[1] - one))
        as_large = ~(values < observed - _TOLERANCE)  # an undefined difference counts as large
        hits += as_large.T.astype(np.float64) @ weight
    if exact:
        p = np.minimum(hits, 1.0)
        error = np.zeros(len(p))
    else:
        p = (hits + 1.0) / (n_permutations + 1.0)
        error = np.sqrt(p * (1.0 - p) / n_permutations)
    undefined = ~np.isfinite(observed)
    p[undefined] = error[undefined] = np.nan
    return SignFlip(p, error, "exact" if exact else f"monte-carlo{n_permutations}")


def flip_tests(
    first: Floats,
    second: Floats,
    multiplicity: npt.NDArray[np.int64],
    estimate: Estimate,
    denominators: Sequence[int],
    p_values: Floats,
    n_draws: int,
    rng: np.random.Generator,
) -> list[FlipTest]:
    """Invert `sign_flip_test`: for each of q measures, its p at every difference.

    `denominators` are the columns of the sums that each measure is a mean over: what delta is taken off, the same for
    both models. `p_values` are what `sign_flip_test` found: assignments that lie beyond 0 are weighted to be this share
    of all, so that p and interval agree also where one was enumerated and the other drawn. There are `n_draws` where
    there are more than 16,384 different assignments.

    For means with a common denominator this is exact if differences are symmetric about their mean. For other measures
    the shift is that of their value: a swap that moves the difference to D(s) moves delta to delta times the mean sign.
    """
    if tuple(multiplicity @ first) < tuple(multiplicity @ second):  # so that models that change places mirror the ends
        mirrored = flip_tests(second, first, multiplicity, estimate, denominators, p_values, n_draws, rng)
        return [
            FlipTest(-t.point, -t.high[::-1], t.high_weight[::-1], -t.low[::-1], t.low_weight[::-1]) for t in mirrored
        ]
    totals = multiplicity @ first, multiplicity @ second
    observed = _difference(estimate, *totals)
    weights = (first + second)[:, list(denominators)]
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = 2.0 * weights / (multiplicity @ weights)  # what a swap takes off the mean sign
    patterns, code = np.unique(np.concatenate([second - first, weights], axis=1), axis=0, return_inverse=True)
    counts = np.bincount(code.ravel(), weights=multiplicity, minlength=len(patterns)).astype(np.int64)
    steps, taken = np.split(patterns, [first.shape[1]], axis=1)
    exact = _n_assignments(counts) <= _MOST_ENDS
    ends, masses = [], []
    for times, mass in _every(counts) if exact else _drawn(counts, n_draws, rng):
        one = totals[0] + times @ steps
        moved = _difference(estimate, one, totals[0] + totals[1] - one)
        sign = 1.0 - times @ taken  # the mean sign
        for swapped, mean in ((moved, sign), (-moved, -sign)):  # an assignment and its opposite
            with np.errstate(divide="ignore", invalid="ignore"):
                end = (observed - swapped) / (1.0 - mean)
            end[np.abs(observed - swapped) <= _TOLERANCE] = 0.0
            end[1.0 - mean <= _TOLERANCE] = np.nan  # nothing that counts is swapped
            ends.append(end)
            masses.append(mass if exact else mass / (n_draws + 1.0))
    every, weight = np.concatenate(ends).T, np.concatenate(masses)
    if exact:
        order = np.argsort(every, axis=1, kind="stable")
        every, weights = np.take_along_axis(every, order, axis=1), weight[order]
    else:  # all weigh the same
        every, weights = np.sort(every, axis=1), np.broadcast_to(weight, every.shape)
    always = 0.0 if exact else 1.0 / (n_draws + 1.0)  # the observed assignment
    tests = zip(observed.tolist(), every, weights, p_values.tolist(), strict=True)
    return [_flip_test(point, row, row_weight, always, p) for point, row, row_weight, p in tests]


def _flip_test(point: float, ends: Floats, weight: Floats, always: float, p_value: float) -> FlipTest:
    """Make the test of one measure from its ends, ascending; those that are undefined, the last ones, always count."""
    n = int(np.count_nonzero(~np.isnan(ends)))
    never = np.append(weight[n:], always)
    endless = np.full(len(never), np.inf)
    values = {-1.0: np.concatenate([-endless, ends[:n]]), 1.0: np.concatenate([ends[:n], endless])}
    masses = {-1.0: np.concatenate([never, weight[:n]]), 1.0: np.concatenate([weight[:n], never])}
    side = -np.sign(point)  # where 0 lies
    if side in masses:
        at = int(np.searchsorted(values[side], 0.0, side="left" if side > 0.0 else "right"))
        parts, every = (masses[side][:at], masses[side][at:]), float(masses[side].sum())
        for part, share in zip(parts[:: -int(side)], (p_value, every - p_value), strict=True):  # beyond 0 first
            total = part.sum()
            if total > 0.0:
                part *= share / total
    return FlipTest(point, values[-1.0], masses[-1.0], values[1.0], masses[1.0])


def _difference(estimate: Estimate, first: npt.NDArray[Any], second: npt.NDArray[Any]) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        difference: Floats = np.asarray(estimate(first) - estimate(second), dtype=np.float64)
    return difference


def _distinct_differences(
    first: Floats, second: Floats, multiplicity: npt.NDArray[np.int64]
) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Return the total of the lower sums of all units, the distinct differences above them, and their numbers.

    A unit and its mirror image differ by the same vector up to its sign: one pattern.
    """
    difference = second - first
    difference[np.abs(difference) < 1e-12] = 0.0  # rounding of sums that are equal
    nonzero = difference != 0.0
    leading = np.where(nonzero.any(axis=1), nonzero.argmax(axis=1), 0)
    mirrored = difference[np.arange(len(difference)), leading] < 0.0
    low = multiplicity.astype(np.float64) @ np.where(mirrored[:, np.newaxis], second, first)
    steps, code = np.unique(np.where(mirrored[:, np.newaxis], -difference, difference), axis=0, return_inverse=True)
    counts = np.bincount(code.ravel(), weights=multiplicity, minlength=len(steps)).astype(np.int64)
    moves = (steps != 0.0).any(axis=1)
    return low, steps[moves], counts[moves]


def _n_assignments(counts: npt.NDArray[np.int64]) -> float:
    """Return in how many ways the units of each pattern can be swapped, or infinity."""
    with np.errstate(over="ignore"):
        return float(np.prod(counts + 1.0))


def _every(counts: npt.NDArray[np.int64]) -> Iterator[tuple[Floats, Floats]]:
    """Yield how many units of each pattern are swapped, in all ways, with the probability of each."""
    shape = tuple((counts + 1).tolist())
    n = int(np.prod(shape)) if shape else 1
    tables = [_chances(count) for count in counts.tolist()]
    chunk = max(1, _CELLS_AT_ONCE // max(1, len(counts)))
    for start in range(0, n, chunk):
        index = np.arange(start, min(start + chunk, n))
        times = np.stack(np.unravel_index(index, shape), axis=1) if shape else np.zeros((1, 0))
        weight = np.ones(len(times))
        for chances, swapped in zip(tables, times.T, strict=True):
            weight *= chances[swapped]
        yield times.astype(np.float64), weight


def _chances(n: int) -> Floats:
    """Return the probabilities of 0 to n heads in n throws; exact but for one rounding up to n = 1,000."""
    heads = np.arange(n + 1.0)
    if n <= 1000:
        return np.asarray(binom(n, heads) * 0.5**n, dtype=np.float64)
    logarithm = gammaln(n + 1.0) - gammaln(heads + 1.0) - gammaln(n - heads + 1.0) - n * np.log(2.0)
    return np.asarray(np.exp(logarithm), dtype=np.float64)


def _drawn(
    counts: npt.NDArray[np.int64], n_permutations: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Yield how many units of each pattern are swapped in random assignments, each with weight 1."""
    chunk = max(1, _CELLS_AT_ONCE // len(counts))
    for start in range(0, n_permutations, chunk):
        size = min(chunk, n_permutations - start)
        yield rng.binomial(counts, 0.5, size=(size, len(counts))).astype(np.float64), np.ones(size)
