"""Intervals for measures over buckets: closed form and bootstrap, resampling buckets or groups, never rows.

Every measure here is a smooth function of *sums over resampling units*. A unit is a bucket, or a group of
buckets that are not independent (items made from one original). That gives both intervals without reading a
row again:

* closed form: the measure's gradient with respect to the sums gives each unit's influence (by the complex
  step, exact to rounding); the standard error is that of the units' mean influence, so cluster-robust, and
  for a plain mean over buckets exactly the t interval;
* bootstrap: units with equal sums are exchangeable, so a resample of N units is a multinomial draw of how
  often each *distinct* unit occurs. Same distribution as drawing buckets one by one, at a cost that depends
  on the number of distinct units only. Percentiles are taken at Hesterberg's expanded levels, which give
  small samples, and strata of few units, the width of a t interval (Hesterberg 2015, "What teachers should
  know about the bootstrap").

What an interval is for: an interval covers the *expectation of its estimator*. The plug-in estimators of
paraphrastic consistency and VAP are biased for the model's true value, so their intervals are intervals for
the plug-in expectation (what the same number of paraphrases per bucket would give on new buckets); those of
the unbiased estimators are intervals for the true value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtr, stdtrit

from paraconsist._validation import Integers
from paraconsist.buckets import partition_integers

__all__ = [
    "Estimate",
    "Intervals",
    "Units",
    "bootstrap",
    "boundary_interval",
    "group_units",
    "intervals",
    "proportion_interval",
    "standard_errors",
]

Floats = npt.NDArray[np.float64]
Estimate = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Sums (..., m) to measures (..., q), by complex-differentiable arithmetic only (no abs, maximum or clip)."""

_CELLS_AT_ONCE = 1 << 21  # bounds the memory of a bootstrap: 16 MiB of weights at a time
_MULTINOMIAL_COST = 6  # a multinomial cell costs about this many single draws
_MOST_DRAWS = 2_000_000_000  # `method="auto"` takes the closed form beyond this
_MOST_UNDEFINED = 0.05  # share of replicates without a value, above which percentiles mean nothing


@dataclass(frozen=True)
class Units:
    """The distinct resampling units.

    Attributes
    ----------
    sums : ndarray, shape (p, m)
        The m sums of each distinct unit.
    multiplicity : ndarray of int, shape (p,)
        How many units have these sums.
    strata : ndarray of int, shape (p,)
        Units are resampled within their stratum; all 0 where there is one.
    """

    sums: Floats
    multiplicity: npt.NDArray[np.int64]
    strata: npt.NDArray[np.int64]

    @classmethod
    def unstratified(cls, sums: Floats, multiplicity: npt.ArrayLike) -> Units:
        """Return units that form one stratum."""
        counts = np.asarray(multiplicity, dtype=np.int64)
        return cls(sums, counts, np.zeros(len(counts), dtype=np.int64))

    @property
    def total(self) -> Floats:
        """The sums over all units, shape (m,)."""
        total: Floats = self.multiplicity @ self.sums
        return total

    @property
    def n(self) -> int:
        """The number of units."""
        return int(self.multiplicity.sum())

    @property
    def degrees_of_freedom(self) -> int:
        """The number of units less the number of strata."""
        return self.n - len(np.unique(self.strata))

    def by_stratum(self) -> Iterator[tuple[npt.NDArray[np.intp], int]]:
        """Yield, for each stratum, the indices of its distinct units and its number of units."""
        for stratum in np.unique(self.strata):
            members = np.flatnonzero(self.strata == stratum)
            yield members, int(self.multiplicity[members].sum())


def group_units(sums: Floats, pattern: Integers, groups: Integers) -> Units:
    """Return groups of buckets as units.

    Parameters
    ----------
    sums : ndarray, shape (p, m)
        The sums of each distinct bucket.
    pattern, groups : ndarray of int, shape (n_buckets,)
        Which distinct bucket each bucket is, and which group it belongs to (both as codes from 0).

    Notes
    -----
    Groups made of the same buckets are recognised by the wrapped sum of a random 64-bit number per distinct
    bucket: exact, whatever the order of the buckets (two different groups meet with probability 2**-64).
    """
    n_groups = int(groups.max()) + 1
    marks = np.random.default_rng(0).integers(0, 2**64, size=len(sums), dtype=np.uint64)
    content = np.zeros(n_groups, dtype=np.uint64)
    np.add.at(content, groups, marks[pattern])
    _, first, counts = np.unique(content, return_index=True, return_counts=True)
    summed: Floats = np.stack(
        [np.bincount(groups, weights=column[pattern], minlength=n_groups)[first] for column in sums.T], axis=1
    )
    return Units.unstratified(summed, counts)


def standard_errors(units: Units, estimate: Estimate) -> Floats:
    """Return the closed-form, cluster-robust standard errors of the measures, shape (q,); nan for one unit.

    A stratum of one unit says nothing of its variance and adds none.
    """
    return _standard_errors(units, estimate)[0]


def _standard_errors(units: Units, estimate: Estimate) -> tuple[Floats, Floats]:
    """Return the standard errors, and those without the small-sample factor n / (n - 1) of each stratum.

    The second are what a bootstrap of infinitely many resamples finds, to first order.
    """
    total = units.total
    step = 1e-20 * max(1.0, float(np.abs(total).max()))
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = estimate(total + 1j * step * np.eye(len(total))).imag / step  # (m, q)
        influence = units.sums @ gradient  # (p, q)
        variance, uncorrected = np.zeros((2, influence.shape[1]))
        for members, n in units.by_stratum():
            if n > 1:
                weight = units.multiplicity[members]
                centred = influence[members] - weight @ influence[members] / n
                squares = weight @ centred**2
                variance += n / (n - 1) * squares
                uncorrected += squares
    if units.degrees_of_freedom < 1:
        return np.full(len(variance), np.nan), uncorrected
    return np.sqrt(variance), np.sqrt(uncorrected)


def bootstrap(units: Units, estimate: Estimate, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Return the measures on `n_resamples` resamples of the units, shape (n_resamples, q).

    Memory is bounded: about 16 MiB of weights at a time, whatever the numbers of units and resamples.
    """
    strata = list(units.by_stratum())
    sums = [units.sums[members] for members, _ in strata]
    largest = max(max(len(members), n if _draws_one_by_one(members, n) else 0) for members, n in strata)
    chunk = max(1, _CELLS_AT_ONCE // largest)
    replicates = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, n_resamples, chunk):
            size = min(chunk, n_resamples - start)
            total = np.zeros((size, units.sums.shape[1]))
            for (members, n), stratum_sums in zip(strata, sums, strict=True):
                total += _weights(units.multiplicity[members], n, size, rng) @ stratum_sums
            replicates.append(estimate(total))
    return np.concatenate(replicates)


def _draws_one_by_one(members: npt.NDArray[np.intp], n: int) -> bool:
    return n < _MULTINOMIAL_COST * len(members)


def _weights(multiplicity: npt.NDArray[np.int64], n: int, size: int, rng: np.random.Generator) -> Floats:
    """Return how often each distinct unit occurs in each of `size` resamples of n units, shape (size, p)."""
    p = len(multiplicity)
    if n >= _MULTINOMIAL_COST * p:
        return rng.multinomial(n, multiplicity / n, size=size).astype(np.float64)
    drawn = rng.integers(0, n, size=(size, n))
    if p < n:
        drawn = np.repeat(np.arange(p), multiplicity)[drawn]
    drawn += (np.arange(size) * p)[:, np.newaxis]
    counts = np.bincount(drawn.ravel(), minlength=size * p)
    return counts.reshape(size, p).astype(np.float64)


def boundary_interval(
    value: float, low: float, high: float, n_units: float, confidence_level: float = 0.95
) -> tuple[float, float]:
    """Return an interval for a mean over units that were all seen to have the same `value` in [low, high].

    The sample has no spread, so neither t nor bootstrap says anything. If a share p of all units differed
    from `value`, n units would all show it with probability (1-p)^n; the Clopper-Pearson bound is the p where
    that is half of 1 - confidence_level. Those units may lie anywhere in [low, high], hence ``[value - p
    (value - low), value + p (high - value)]``. Conservative.

    Examples
    --------
    All of 20 buckets consistent; the Clopper-Pearson interval of 20 in 20 is [0.8316, 1]:

    >>> low, high = boundary_interval(1.0, 0.0, 1.0, 20)
    >>> round(low, 4), high
    (0.8316, 1.0)
    """
    share = -np.expm1(np.log((1.0 - confidence_level) / 2.0) / n_units)
    return float(value - share * (value - low)), float(value + share * (high - value))


def proportion_interval(count: int, n: int, confidence_level: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of `count` in `n` independent rows."""
    tail = (1.0 - confidence_level) / 2.0
    low = 0.0 if count == 0 else float(betaincinv(count, n - count + 1, tail))
    high = 1.0 if count == n else float(betaincinv(count + 1, n - count, 1.0 - tail))
    return low, high


@dataclass(frozen=True)
class Intervals:
    """Intervals and standard errors of q measures.

    Attributes
    ----------
    low, high, standard_error : ndarray, shape (q,)
        nan where undefined.
    at_boundary : ndarray of bool, shape (q,)
        True where the sample has no spread and `boundary_interval` was used.
    method : str
        ``"bootstrap"`` or ``"closed_form"``: what was used for the measures as a whole.
    """

    low: Floats
    high: Floats
    standard_error: Floats
    at_boundary: npt.NDArray[np.bool_]
    method: str


def intervals(
    units: Units,
    estimate: Estimate,
    ranges: npt.ArrayLike,
    are_means: npt.ArrayLike,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    rng: np.random.Generator | None = None,
    effective_n: float | None = None,
    reported: npt.ArrayLike | None = None,
) -> Intervals:
    """Return an interval for every measure; never one that excludes its own point estimate.

    Parameters
    ----------
    units, estimate
        What is resampled, and how sums become the q measures.
    ranges : array_like, shape (q, 2)
        The least and greatest possible value of each measure; ends are clipped to it.
    are_means : array_like of bool, shape (q,)
        True for means over units, which have a boundary-safe interval where the sample has no spread; other
        measures get nan there.
    method : {"auto", "bootstrap", "closed_form"}
        ``"auto"`` is the bootstrap, unless that would take more than about 2e9 random draws.
    effective_n : float, optional
        The number of units that `boundary_interval` counts with (strata of unequal weight make it smaller).
    reported : array_like, shape (q,), optional
        The point estimates as reported, where they were summed in another order.

    Returns
    -------
    Intervals
        All nan for one unit.
    """
    bounds = np.asarray(ranges, dtype=np.float64)
    means = np.asarray(are_means, dtype=np.bool_)
    with np.errstate(divide="ignore", invalid="ignore"):
        point = np.asarray(estimate(units.total) if reported is None else reported, dtype=np.float64)
    if units.degrees_of_freedom < 1:
        nothing = np.full(len(point), np.nan)
        return Intervals(nothing, nothing, nothing, np.zeros(len(point), dtype=np.bool_), method)

    error, bootstrap_error = _standard_errors(units, estimate)
    spread = error > 1e-12
    t = float(stdtrit(units.degrees_of_freedom, (1.0 + confidence_level) / 2.0))
    half = t * error
    low, high = point - half, point + half
    if method == "auto":
        method = "bootstrap" if _work(units) * n_resamples <= _MOST_DRAWS else "closed_form"
    if method == "bootstrap":
        replicates = bootstrap(units, estimate, n_resamples, rng or np.random.default_rng(0))
        defined = np.isfinite(replicates)
        usable = defined.mean(axis=0) > 1.0 - _MOST_UNDEFINED
        for j in np.flatnonzero(usable):
            values = replicates[defined[:, j], j]
            tail = float(ndtr(-t * (error[j] / bootstrap_error[j] if bootstrap_error[j] > 0.0 else 1.0)))
            low[j], high[j] = np.quantile(values, [tail, 1.0 - tail])
            spread[j] |= np.ptp(values) > 1e-12

    at_boundary = ~spread & means & np.isfinite(point)
    for j in np.flatnonzero(at_boundary):
        low[j], high[j] = boundary_interval(
            point[j], bounds[j, 0], bounds[j, 1], effective_n or units.n, confidence_level
        )
    low[~spread & ~means] = high[~spread & ~means] = np.nan
    low = np.minimum(np.clip(low, *bounds.T), point)
    high = np.maximum(np.clip(high, *bounds.T), point)
    return Intervals(low, high, error, at_boundary, method)


def _work(units: Units) -> int:
    return sum(
        n if _draws_one_by_one(members, n) else _MULTINOMIAL_COST * len(members) for members, n in units.by_stratum()
    )


def distinct(*columns: Integers) -> tuple[npt.NDArray[np.intp], Integers, npt.NDArray[np.intp]]:
    """Return the distinct rows of integer columns: index of one row of each, each row's code, multiplicities.

    Codes follow the lexicographic order of the rows, so they do not depend on the order or the names of
    buckets.
    """
    code = partition_integers(columns[0]).codes
    for column in columns[1:]:
        inner = partition_integers(column).codes
        code = partition_integers(code.astype(np.int64) * (int(inner.max()) + 1) + inner).codes
    n = int(code.max()) + 1
    first = np.empty(n, dtype=np.intp)
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1)
    return first, code, np.bincount(code, minlength=n)
