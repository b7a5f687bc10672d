"""Intervals: of functions of sums over resampling units (`intervals`), and of shares of rows.

Every measure over buckets is a smooth function of *sums over resampling units*. A unit is a bucket, or a group of
buckets that are not independent (items made from one original). The measure's gradient with respect to the sums gives
each unit's influence (by the complex step, exact to rounding), and these its cluster-robust standard error, without
reading a row again. From there:

* logit-t, the default: a t interval on the logit scale of the measure's range. It does not run short near the ends of
  the range, where the error is skewed. The degrees of freedom are Kish's effective number of units less one, so a few
  large units among many small ones widen it. Below `FEW_UNITS` units, or `_LEAST_EFFECTIVE` effective ones, there is no
  interval: none would hold.
* closed form: plain t intervals, for any number of units;
* bootstrap: units with equal sums are exchangeable, so a resample of N units is a multinomial draw of how often each
  *distinct* unit occurs. Percentiles are taken at Hesterberg's expanded levels, which give small samples the width of a
  t interval (Hesterberg 2015, "What teachers should know about the bootstrap").

``benchmarks/coverage.py`` shows how often each holds. Shares of rows have `proportion_interval` (Clopper-Pearson), in
groups `korn_graubard_interval`; weighted means over strata `stratified_interval`; where a sample has no spread at all,
means and shares have `boundary_interval`. Quantiles come from scipy.special: importing scipy.stats takes longer than
all measures together.

What an interval is for: an interval covers the *expectation of its estimator*. The plug-in estimators of paraphrastic
consistency and VAP are biased for the model's true value, so their intervals are intervals for the plug-in expectation
(what the same number of paraphrases per bucket would give on new buckets); those of the unbiased estimators are
intervals for the true value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, expit, logit, ndtr, stdtrit

from paraconsist.measures.resampling import (
    NO_SPREAD,
    Estimate,
    Floats,
    Units,
    bootstrap,
    linearised_errors,
    standard_errors,
)

FEW_UNITS = 10
"""Below this many resampling units there is no logit-t interval, and others are rough."""

_LEAST_EFFECTIVE = 3.0
_LEAST_DISTANCE = 1e-3  # from the ends of a range on the logit scale, as a share of it
_PRIOR_UNITS = 1.0  # of a stratum's own spread, in `stratified_interval`
_MOST_UNDEFINED = 0.05  # share of replicates without a value, above which percentiles mean nothing


@dataclass(frozen=True)
class Intervals:
    """Intervals and standard errors of q measures, shape (q,); nan where undefined."""

    low: Floats
    high: Floats
    standard_error: Floats
    at_boundary: npt.NDArray[np.bool_]  # where the sample has no spread and `boundary_interval` was used
    method: str  # "logit_t", "bootstrap" or "closed_form"


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
    scales: npt.ArrayLike | None = None,
    reported: npt.ArrayLike | None = None,
    skewed: bool = False,
) -> Intervals:
    """Return an interval for every measure; never one that excludes its own point estimate.

    `units` are resampled, `estimate` turns their sums into the q measures. `ranges`, shape (q, 2), are the least and
    greatest possible value of each measure; ends are clipped to it. `are_means`, shape (q,): means over units, which
    have a boundary-safe interval where the sample has no spread; other measures get nan there. The `method` ``"auto"``
    is logit-t, or where a range has no end, a t interval. `scales`, shape (q, 2), are the ends of the logit scale where
    they are not those of the range: for unbiased estimators that chance may lead out of it. `reported`, shape (q,), are
    the point estimates as reported, where they were summed in another order. `skewed`, for means of quantities with
    long tails, near the ends of their ranges: the degrees of freedom are the effective number of units that the
    variance comes from, (sum u^2)^2 / sum u^4 with u their influences.

    All ends are nan for one unit, and where `too_few` for logit-t.
    """
    bounds = np.asarray(ranges, dtype=np.float64)
    means = np.asarray(are_means, dtype=np.bool_)
    with np.errstate(divide="ignore", invalid="ignore"):
        point = np.asarray(estimate(units.total) if reported is None else reported, dtype=np.float64)
    method = "logit_t" if method == "auto" else method
    n_units = units.effective_n
    if units.n < 2 or (method == "logit_t" and too_few(units)):
        nothing, nowhere = np.full(len(point), np.nan), np.zeros(len(point), dtype=np.bool_)
        return Intervals(nothing, nothing, standard_errors(units, estimate), nowhere, method)

    error, bootstrap_error, degrees = linearised_errors(units, estimate)
    spread = error > NO_SPREAD
    if skewed:
        degrees = np.minimum(n_units - 1.0, 1.0 / (2.0 / degrees + 1.0 / units.n))
    else:
        degrees = np.where(means, n_units - 1.0, np.minimum(n_units - 1.0, degrees))
    t = stdtrit(np.maximum(degrees, 1.0), (1.0 + confidence_level) / 2.0)
    half = t * error
    low, high = point - half, point + half
    if method == "logit_t":
        ends = bounds if scales is None else np.asarray(scales, dtype=np.float64)
        low, high = _on_logit_scale(point, half, ends, 0.0 if skewed else _LEAST_DISTANCE)
    elif method == "bootstrap":
        replicates = bootstrap(units, estimate, n_resamples, rng or np.random.default_rng(0))
        defined = np.isfinite(replicates)
        usable = defined.mean(axis=0) > 1.0 - _MOST_UNDEFINED
        for j in np.flatnonzero(usable):
            values = replicates[defined[:, j], j]
            tail = float(ndtr(-t[j] * (error[j] / bootstrap_error[j] if bootstrap_error[j] > 0.0 else 1.0)))
            low[j], high[j] = np.quantile(values, [tail, 1.0 - tail])
            spread[j] |= np.ptp(values) > NO_SPREAD

    at_boundary = ~spread & means & np.isfinite(point)
    for j in np.flatnonzero(at_boundary):
        low[j], high[j] = boundary_interval(point[j], bounds[j, 0], bounds[j, 1], n_units, confidence_level)
    low[~spread & ~means] = high[~spread & ~means] = np.nan
    low = np.minimum(np.clip(low, *bounds.T), point)
    high = np.maximum(np.clip(high, *bounds.T), point)
    return Intervals(low, high, error, at_boundary, method)


def too_few(units: Units) -> bool:
    """Return whether no interval would hold: too few units, or a few that outweigh all others."""
    return units.n < FEW_UNITS or units.effective_n < _LEAST_EFFECTIVE


def _on_logit_scale(point: Floats, half: Floats, scales: Floats, least: float) -> tuple[Floats, Floats]:
    """Return the ends of t intervals on the logit scale; plain ones where a scale has no end.

    `least` is how near the ends of a scale a point may be, as a share of it.
    """
    start, width = scales[:, 0], scales[:, 1] - scales[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip((point - start) / width, least, 1.0 - least)
        step = half / (width * share * (1.0 - share))
        ends = [start + width * expit(logit(share) + sign * step) for sign in (-1.0, 1.0)]
    bounded = np.isfinite(width)
    return np.where(bounded, ends[0], point - half), np.where(bounded, ends[1], point + half)


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


def korn_graubard_interval(
    share: float, standard_error: float, n_rows: int, n_groups: float, confidence_level: float = 0.95
) -> tuple[float, float]:
    """Return the Korn-Graubard interval of a share of rows in groups: Clopper-Pearson at the effective size.

    The effective sample size is that of independent rows with the same standard error, n* = p(1-p)/se^2, times the
    squared ratio of the t quantiles at n_rows - 1 and n_groups - 1 degrees of freedom (few groups know their own
    variance badly), and never above n_rows. Then the Clopper-Pearson interval of n* p in n*. Unlike t and percentile
    intervals it does not run short where the share is small: with 100 groups of ten rows, intra-group correlation .3
    and a true share of .02 it covers 94 to 95 % of the time at nominal 95, those 86 to 88 %
    (``benchmarks/coverage.py``).

    The share is strictly between 0 and 1 (at the ends there is no standard error: take `boundary_interval`), its
    cluster-robust standard error above 0; `n_groups` is 1 more than the degrees of freedom of that, and above 1: Kish's
    effective number of groups.

    Korn, Graubard (1998), "Confidence intervals for proportions with small expected number of positive counts estimated
    from survey data", Survey Methodology 24, 193-201.

    With one row a group it is the Clopper-Pearson interval, but for the n - 1 in the standard error:

    >>> low, high = korn_graubard_interval(0.1, (0.1 * 0.9 / 50) ** 0.5, 50, 50)
    >>> [round(end, 4) for end in (low, high)], [round(end, 4) for end in proportion_interval(5, 50)]
    ([0.0333, 0.2181], [0.0333, 0.2181])
    """
    tail = (1.0 - confidence_level) / 2.0
    ratio = float(stdtrit(n_rows - 1, 1.0 - tail) / stdtrit(n_groups - 1, 1.0 - tail))
    size = min(share * (1.0 - share) / standard_error**2 * ratio**2, float(n_rows))
    hits, misses = share * size, (1.0 - share) * size
    low, high = float(betaincinv(hits, misses + 1.0, tail)), float(betaincinv(hits + 1.0, misses, 1.0 - tail))
    return min(low, share), max(high, share)


def stratified_interval(
    values: Floats,
    strata: npt.NDArray[np.int64],
    weights: Floats,
    lowest: float = 0.0,
    design_effect: float = 1.0,
    confidence_level: float = 0.95,
) -> tuple[float, float]:
    """Return an interval of a weighted mean of strata of few units, whose means lie in [lowest, 1].

    Each stratum's mean gets a Jeffreys interval at its effective size, that of a share with the same spread: the spread
    over p (1 - p), of the stratum, drawn towards 1 by one unit of prior and never below that of all strata pooled. A
    stratum whose few units all agree so keeps an interval of its own. The stratum's distances to its ends then add up
    as standard errors do (MOVER), on each side. With the deciles of a real model, 5 to 25 buckets each, it covers 93 to
    99 % at nominal 95, where normal and bootstrap intervals cover 50 to 90 % (``benchmarks/coverage.py``).

    `values` and `strata`, shape (n,), are each unit's value and stratum, 0..d-1, each with a unit; `weights`, shape
    (d,), sum to 1. No stratum's true mean lies below `lowest`; single values may. Sizes are divided by `design_effect`,
    at least 1, where units are not independent.

    Zou, Donner (2008), "Construction of confidence limits about effect measures: a general approach", Statistics in
    Medicine 27, 1693-1702; Brown, Cai, DasGupta (2001), "Interval estimation for a binomial proportion", Statistical
    Science 16, 101-133.

    One stratum of zeros and ones is Jeffreys' interval:

    >>> low, high = stratified_interval(np.array([0.0, 1, 1, 1]), np.zeros(4, dtype=int), np.array([1.0]))
    >>> round(low, 4), round(high, 4)
    (0.2838, 0.9715)
    """
    share = (values - lowest) / (1.0 - lowest)
    n = np.bincount(strata).astype(np.float64)
    mean = np.bincount(strata, weights=share) / n
    variance = np.bincount(strata, weights=(share - mean[strata]) ** 2) / n
    p = np.clip(mean, 0.0, 1.0)
    most = p * (1.0 - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = float(np.nan_to_num((n @ variance) / ((n - 1.0) @ most), nan=1.0))
        own = np.nan_to_num(n / (n - 1.0) * variance / most, nan=0.0, posinf=0.0)
    spread = np.where(most > 0.0, (n * own + _PRIOR_UNITS) / (n + _PRIOR_UNITS), pooled)
    size = n / np.clip(spread, min(pooled, 1.0), 1.0) / design_effect
    tail = (1.0 - confidence_level) / 2.0
    hits, misses = p * size + 0.5, (1.0 - p) * size + 0.5
    low = np.where(p > 0.0, betaincinv(hits, misses, tail), 0.0)
    high = np.where(p < 1.0, betaincinv(hits, misses, 1.0 - tail), 1.0)
    value = float(weights @ mean)
    ends = value - np.sqrt(weights**2 @ (p - low) ** 2), value + np.sqrt(weights**2 @ (high - p) ** 2)
    return lowest + (1.0 - lowest) * float(ends[0]), lowest + (1.0 - lowest) * float(ends[1])
