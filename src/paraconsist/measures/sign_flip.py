"""The sign-flip permutation test: would the difference be as large if the two models changed places at random?

Under the null hypothesis that the two models are exchangeable, each resampling unit (a bucket, or a group of
buckets) might as well have had the models' answers the other way round. Units that differ in the same way are
interchangeable, so a permutation is a binomial draw of how many units of each *distinct* difference are swapped:
the same distribution as flipping units one by one, at a cost that depends on the number of distinct ones only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import binom, gammaln

from paraconsist.measures.resampling import Estimate, Floats

_MOST_EXACT = 1 << 17  # assignments that are enumerated
_CELLS_AT_ONCE = 1 << 20
_TOLERANCE = 1e-9  # differences closer than this are ties, which count against the null's rejection


@dataclass(frozen=True)
class SignFlip:
    """Two-sided p-values of q measures.

    Attributes
    ----------
    p_value : ndarray, shape (q,)
        Share of assignments with a difference at least as large in absolute value; nan where the measure is
        undefined for a model.
    error : ndarray, shape (q,)
        Monte Carlo standard error of `p_value`, sqrt(p(1-p)/S); 0 where it is exact.
    method : str
        ``"exact"`` (all assignments) or ``"monte-carlo<S>"``, which counts the observed one as well: (hits +
        1)/(S + 1), so that it is never 0 and never too small on average.
    """

    p_value: Floats
    error: Floats
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

    Parameters
    ----------
    first, second : ndarray, shape (p, m)
        Each model's sums in every distinct unit.
    multiplicity : ndarray of int, shape (p,)
        How many units have these sums.
    estimate : callable
        Sums (..., m) to measures (..., q).
    n_permutations : int
        Monte Carlo draws where there are more than 131,072 different assignments.
    rng : numpy.random.Generator

    Notes
    -----
    For means over buckets this is the test of a zero mean of signed differences, which holds its level also for
    models that are not exchangeable, if there are many units (the flips have the variance of the mean). For
    other measures (PVAP) exchangeability is what is tested.

    Examples
    --------
    Five buckets, the first model right in all, the second in none: 2 of 32 assignments are as extreme.

    >>> rng = np.random.default_rng(0)
    >>> one, none = np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]])
    >>> sign_flip_test(one, none, np.array([5]), lambda s: s[..., 1:] / s[..., :1], 100, rng).p_value.tolist()
    [0.0625]
    """
    totals = multiplicity @ first, multiplicity @ second
    observed = np.abs(_difference(estimate, *totals))
    low, steps, counts = _distinct_differences(first, second, multiplicity)
    assignments = float(np.prod(counts + 1.0)) if len(counts) else 1.0
    exact = assignments <= _MOST_EXACT
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
