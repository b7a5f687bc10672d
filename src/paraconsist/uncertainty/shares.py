"""Intervals for shares: of independent rows, of rows in groups, and where the sample has no spread."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, stdtrit

__all__ = ["boundary_interval", "korn_graubard_interval", "proportion_interval"]


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
    share: float, standard_error: float, n_rows: int, n_groups: int, confidence_level: float = 0.95
) -> tuple[float, float]:
    """Return the Korn-Graubard interval of a share of rows in groups: Clopper-Pearson at the effective size.

    The effective sample size is that of independent rows with the same standard error, n* = p(1-p)/se^2,
    times the squared ratio of the t quantiles at n_rows - 1 and n_groups - 1 degrees of freedom (few groups
    know their own variance badly), and never above n_rows. Then the Clopper-Pearson interval of n* p in n*.

    Unlike t and percentile intervals it does not run short where the share is small: with 100 groups of ten
    rows, intra-group correlation .3 and a true share of .02 it covers 94 to 95 % of the time at nominal 95,
    those 86 to 88 % (``benchmarks/coverage.py``).

    Parameters
    ----------
    share : float
        Strictly between 0 and 1; at the ends there is no standard error: take `boundary_interval`.
    standard_error : float
        Cluster-robust, above 0.
    n_rows, n_groups : int
        At least 2 groups.

    References
    ----------
    Korn, Graubard (1998), "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", Survey Methodology 24, 193-201.

    Examples
    --------
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
