"""Resampling units, standard errors, and intervals: of functions of sums over units, and of shares of rows.

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
groups `korn_graubard_interval`; by default both give way to `rare_interval` where fewer than 20 rows or groups, and
fewer than a sixth, break the rule (or keep it), as do the logit-t intervals of the chances to be right, or wrong,
twice; weighted means over strata have `stratified_interval`; where a sample has no spread at all, means and shares have
`boundary_interval`. Quantiles come from scipy.special: importing scipy.stats takes longer than all measures
together.

What an interval is for: an interval covers the *expectation of its estimator*. The plug-in estimators of paraphrastic
consistency and VAP are biased for the model's true value, so their intervals are intervals for the plug-in expectation
(what the same number of paraphrases per bucket would give on new buckets); those of the unbiased estimators are
intervals for the true value.

Equal units are kept once, with their number (`Units`, `distinct`).

Rows may also share members: two texts joined in every row, each of them in many rows (`Dyads`). Rows that have a member
in common, on either side, are not independent, and no division of rows into groups expresses this: the second text of
one row is the first of another. The dyad-robust variance of a mean counts the products of residuals of every two rows
that share a member (Fafchamps, Gubert 2007; Aronow, Samii, Assenova 2015, "Cluster-robust variance estimation for
dyadic data", Political Analysis 23, 564-577; Cameron, Miller 2014, "Robust inference for dyadic data").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, expit, logit, ndtr, stdtrit

from paraconsist.measures.array_types import Floats, Integers, Mask, Whole
from paraconsist.measures.buckets import Column, check_comparable, code_jointly, partition_integers

Estimate = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Sums (..., m) to measures (..., q), by complex-differentiable arithmetic only (no abs, maximum or clip)."""

NO_SPREAD = 1e-12
"""Standard errors up to this are rounding."""

_CELLS_AT_ONCE = 1 << 21  # bounds the memory of a bootstrap: 16 MiB of weights at a time
_SUMS_AT_ONCE = 512  # bounds the memory of a gradient, which has two sums per variant
_MULTINOMIAL_COST = 6  # a multinomial cell costs about this many single draws


def mean_of_sums(total: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return means from sums, the first of which is the number of rows: the most common `Estimate`."""
    return np.asarray(total[..., 1:] / total[..., :1])


@dataclass(frozen=True)
class Units:
    """The distinct resampling units."""

    sums: Floats  # the m sums of each distinct unit, shape (p, m)
    multiplicity: Whole  # the number of units with these sums, shape (p,)

    @classmethod
    def of(cls, sums: Floats, multiplicity: npt.ArrayLike) -> Units:
        return cls(sums, np.asarray(multiplicity, dtype=np.int64))

    @classmethod
    def of_rows(cls, values: Floats, groups: Integers | None) -> Units:
        """Return rows, or their groups, as units: the number of rows, then the sums of their values."""
        sums = np.concatenate([np.ones((len(values), 1)), values], axis=1)
        if groups is not None:
            sums = sums_by_group(sums, groups)
        rows, multiplicity = np.unique(sums, axis=0, return_counts=True)
        return cls.of(rows, multiplicity)

    @property
    def total(self) -> Floats:
        """The sums over all units, shape (m,)."""
        return np.asarray(self.multiplicity @ self.sums)

    @property
    def n(self) -> int:
        return int(self.multiplicity.sum())

    @property
    def effective_n(self) -> float:
        """Kish's effective number of units, from the first sum of each; the number of units if all have one size."""
        return float(self.effective((0,))[0])

    def effective(self, over: Sequence[int]) -> Floats:
        """Return Kish's effective number of units by each of some columns of the sums, nan where all are 0."""
        size = self.sums[:, list(over)]
        with np.errstate(invalid="ignore"):
            return np.asarray((self.multiplicity @ size) ** 2 / (self.multiplicity @ size**2), dtype=np.float64)

    def counted(self, over: Sequence[int]) -> Whole:
        """Return the number of units that are above 0 in each of some columns of the sums."""
        return np.asarray(self.multiplicity @ (self.sums[:, list(over)] > 0.0))


def sums_by_group(sums: Floats, groups: Integers) -> Floats:
    """Return the sums of every group's rows, shape (n_groups, m); groups are codes from 0."""
    return np.stack([np.bincount(groups, weights=column) for column in sums.T], axis=1)


def group_units(sums: Floats, pattern: Integers, groups: Integers | None) -> Units:
    """Return groups of buckets, or the buckets where there are none, as units.

    `sums`, shape (p, m), are those of each distinct bucket; `pattern` and `groups`, shape (n_buckets,), are the
    distinct bucket and the group (codes from 0) of each bucket. Groups made of the same buckets are recognised by the
    wrapped sum of a random 64-bit number per distinct bucket, which does not depend on the order of the buckets (two
    different groups collide with probability 2**-64).
    """
    if groups is None:
        return Units.of(sums, np.bincount(pattern, minlength=len(sums)))
    n_groups = int(groups.max()) + 1
    marks = np.random.default_rng(0).integers(0, 2**64, size=len(sums), dtype=np.uint64)
    content = np.zeros(n_groups, dtype=np.uint64)
    np.add.at(content, groups, marks[pattern])
    _, first, counts = np.unique(content, return_index=True, return_counts=True)
    return Units.of(sums_by_group(sums[pattern], groups)[first], counts)


def distinct(*columns: Integers) -> tuple[npt.NDArray[np.intp], Integers, npt.NDArray[np.intp]]:
    """Return the distinct rows of integer columns: index of one row of each, each row's code, multiplicities.

    Codes follow the lexicographic order of the rows, so they depend on neither the order nor the names of buckets.
    """
    code = partition_integers(columns[0]).codes
    for column in columns[1:]:
        inner = partition_integers(column).codes
        code = partition_integers(code.astype(np.int64) * (int(inner.max()) + 1) + inner).codes
    n = int(code.max()) + 1
    first = np.empty(n, dtype=np.intp)
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1)
    return first, code, np.bincount(code, minlength=n)


def standard_errors(units: Units, estimate: Estimate) -> Floats:
    """Return the closed-form, cluster-robust standard errors of the measures, shape (q,); nan for one unit."""
    return linearised_errors(units, estimate).standard_error


class Linearised(NamedTuple):
    """Errors of q measures from the influence of each unit, each of shape (q,)."""

    #: Cluster-robust; each unit's influence is divided by 1 - h, h being its share of what the measure is a mean over
    #: (the jackknife's correction, exact for means), so that a few large units do not make it too small; nan for one
    #: unit.
    standard_error: Floats
    #: Without this correction and without the factor n / (n - 1): the error of infinitely many bootstrap resamples.
    bootstrap_error: Floats
    degrees_of_freedom: Floats  # Of the standard error, from the kurtosis of the influences (Satterthwaite).


def linearised_errors(units: Units, estimate: Estimate, over: Sequence[int] = (0,)) -> Linearised:
    """Return the closed-form standard errors of the measures, each a mean over a column of the sums (`intervals`)."""
    total, n, weight = units.total, units.counted(over), units.multiplicity
    step = 1e-20 * max(1.0, float(np.abs(total).max()))
    with np.errstate(divide="ignore", invalid="ignore"):
        starts = range(0, len(total), _SUMS_AT_ONCE)
        steps = (1j * step * np.eye(min(_SUMS_AT_ONCE, len(total) - at), len(total), at) for at in starts)
        gradient = np.concatenate([estimate(total + change).imag for change in steps]) / step  # (m, q)
        influence = units.sums @ gradient  # (p, q)
        influence -= weight @ influence / units.n
        size = units.sums[:, list(over)] / total[list(over)]
        variance = (n - 1) / n * (weight @ np.where(influence == 0.0, 0.0, influence / (1.0 - size)) ** 2)
        squares, fourth = weight @ influence**2, weight @ influence**4
        variance = np.where(n == 1, np.nan, variance)
        spare = fourth - squares**2 / n
        degrees = np.where(spare > 0.0, 2.0 * squares**2 / spare, np.inf)
    return Linearised(np.sqrt(variance), np.sqrt(squares), degrees)


def design_effects(units: Units, independent: Units, estimate: Estimate) -> Floats:
    """Return how much larger the measures' variance is than if smaller units were independent, shape (q,).

    `independent` are the units that a naive analysis would take for independent: buckets or rows where `units` are
    groups. 1 where the two are the same, above 1 where units of a group resemble one another, nan where the sample has
    no spread. The number of units over the design effect is the effective sample size.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        clustered = standard_errors(units, estimate)
        naive = standard_errors(independent, estimate)
        spread = (clustered > NO_SPREAD) & (naive > NO_SPREAD)
        effects: Floats = np.where(spread, (clustered / naive) ** 2, np.nan)
    return effects


def bootstrap(units: Units, estimate: Estimate, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Return the measures on `n_resamples` resamples of the units, shape (n_resamples, q).

    Memory is bounded: about 16 MiB of weights at a time for any number of units and resamples.
    """
    members, n = len(units.sums), units.n
    chunk = max(1, _CELLS_AT_ONCE // max(members, n if n < _MULTINOMIAL_COST * members else 0))
    replicates = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, n_resamples, chunk):
            weights = _weights(units.multiplicity, n, min(chunk, n_resamples - start), rng)
            replicates.append(estimate(weights @ units.sums))
    return np.concatenate(replicates)


def _weights(multiplicity: Whole, n: int, size: int, rng: np.random.Generator) -> Floats:
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


_PAIR = ("groups[0]", "groups[1]")
_CELLS_PER_ROW = 16  # pairs of members that are counted without a sort, for each row


def is_pair(groups: Any) -> bool:
    """Return whether `groups` are two columns (the members of each row) rather than one."""
    if not isinstance(groups, (list, tuple)) or len(groups) != 2:
        return False
    return all(isinstance(column, Iterable) and not isinstance(column, (str, bytes)) for column in groups)


def group_columns(groups: Any) -> dict[str, object]:
    """Return the columns of `groups`, if any, by their names in errors."""
    if is_pair(groups):
        return dict(zip(_PAIR, groups, strict=True))
    return {} if groups is None else {"groups": groups}


def grouping(function: str, columns: Mapping[str, Column]) -> Column | Dyads | None:
    """Return the groups of the rows from checked columns: one column, two members per row, or None."""
    if _PAIR[0] not in columns:
        return columns.get("groups")
    pair = {name: columns[name] for name in _PAIR}
    check_comparable(function, pair)
    (first, second), _ = code_jointly(*pair.values())
    return Dyads(first, second)


@dataclass(frozen=True)
class Dyads:
    """The two members of every row, as codes of one numbering, shape (n,); a row may have one member twice."""

    first: Integers
    second: Integers

    def where(self, rows: Mask | None) -> Dyads:
        return self if rows is None else Dyads(self.first[rows], self.second[rows])

    @cached_property
    def _ends(self) -> tuple[Integers, Integers]:
        """The members as codes without gaps."""
        codes = partition_integers(np.concatenate([self.first, self.second])).codes
        return codes[: len(self.first)], codes[len(self.first) :]

    @cached_property
    def _cells(self) -> Integers:
        """The unordered pair of members of every row, as codes."""
        one, two = self._ends
        pair = np.minimum(one, two).astype(np.int64) * self.n_members + np.maximum(one, two)
        few = self.n_members**2 <= _CELLS_PER_ROW * len(pair)
        return pair if few else partition_integers(pair).codes

    @cached_property
    def n_members(self) -> int:
        return int(max(end.max() for end in self._ends)) + 1 if len(self.first) else 0

    @property
    def n_apart(self) -> int:
        """The size of a set of rows without a common member, which are independent.

        The larger of two bounds: a graph with E edges and maximum degree d has at least E / (d + 1) disjoint edges
        (Vizing 1964); of an assignment of M vertices to different neighbours, M / 3 disjoint edges can be retained.
        """
        from scipy.sparse import csr_array  # slow to import, and rarely needed
        from scipy.sparse.csgraph import maximum_bipartite_matching

        one, two = self._ends
        first = np.unique(self._cells, return_index=True)[1]
        rows = np.concatenate([one[first], two[first]]).astype(np.int32)  # scipy 1.11 accepts no other type
        columns = np.concatenate([two[first], one[first]]).astype(np.int32)
        graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(self.n_members,) * 2)
        assigned = int(np.count_nonzero(maximum_bipartite_matching(graph) >= 0))
        degree = np.bincount(np.concatenate([one[first], two[first[one[first] != two[first]]]]))
        return max(-(-assigned // 3), -(-len(first) // (int(degree.max()) + 1)))

    def standard_error(self, values: npt.NDArray[Any]) -> tuple[float, float]:
        """Return the standard error of the mean of `values`, shape (n,), and its degrees of freedom.

        With u the residuals, S their sums over the rows of a member, and T those over the rows of two members, the
        variance of the sum is estimated by sum S^2 - sum T^2 (every two rows that share a member, once), divided by 1 -
        C / n^2 with C the number of such pairs of rows, each row with itself included. The division corrects for the
        estimated mean: exactly for all pairs of a set and for equal groups, where it is G / (G - 1). The variance is
        never below that of independent rows. Its degrees of freedom are the effective number of members, (sum S^2)^2 /
        sum S^4, and at most Kish's effective number of members less 1: if a few members break a rule in most of their
        rows, the estimate of the variance is unreliable. nan if every two rows share a member.
        """
        n = len(self.first)
        rows, residuals = self._sums(np.ones(n)), values - values.mean()
        connected = self.connected(np.ones(n))
        if n < 2 or connected >= n * n:
            return float("nan"), float("nan")
        variance = max(self.connected(residuals) / (1.0 - connected / n**2), residuals @ residuals * n / (n - 1))
        squares = self._sums(residuals) ** 2
        freedom = rows.sum() ** 2 / (rows @ rows) - 1.0
        if squares.any():
            freedom = min(freedom, squares.sum() ** 2 / (squares @ squares))
        return float(np.sqrt(variance) / n), float(freedom)

    def connected(self, weights: Floats) -> float:
        """Return the sum of the products of the weights of every two rows that share a member."""
        one, two = self._ends
        members = self._sums(weights)
        cells = np.bincount(self._cells, weights=np.where(one == two, 0.0, weights))
        return float(members @ members - cells @ cells)

    def _sums(self, weights: Floats) -> Floats:
        """Return the sum of weights over the rows of every member; a row with one member twice counts once."""
        one, two = self._ends
        twice = one != two
        sums = np.bincount(one, weights=weights, minlength=self.n_members)
        second = np.bincount(two, weights=np.where(twice, weights, 0.0), minlength=self.n_members)
        return np.asarray(sums + second, dtype=np.float64)


FEW_UNITS = 10
"""With fewer resampling units there is no logit-t interval, and other intervals are rough."""

_LEAST_EFFECTIVE = 3.0
_LEAST_DISTANCE = 1e-3  # from the ends of a range on the logit scale, as a share of it
_FEW_DIFFERENT = 20  # units that differ from an end, below which a mean is rare
_PRIOR_UNITS = 1.0  # of a stratum's own spread, in `stratified_interval`
_MOST_UNDEFINED = 0.05  # share of replicates without a value, above which percentiles mean nothing


@dataclass(frozen=True)
class Intervals:
    """Intervals and standard errors of q measures, shape (q,); nan where undefined."""

    low: Floats
    high: Floats
    standard_error: Floats
    at_boundary: Mask  # where the sample has no spread and `boundary_interval` was used
    method: str  # "logit_t", "bootstrap" or "closed_form"


def intervals(
    units: Units,
    estimate: Estimate,
    ranges: npt.ArrayLike,
    are_means: npt.ArrayLike,
    method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    rng: np.random.Generator | None = None,
    *,
    scales: npt.ArrayLike | None = None,
    reported: npt.ArrayLike | None = None,
    skewed: bool = False,
    over: Sequence[int] | None = None,
) -> Intervals:
    """Return an interval for every measure, which always contains its point estimate.

    `units` are resampled, and `estimate` turns their sums into the q measures. `ranges`, shape (q, 2), are the least
    and greatest possible value of each measure; ends are clipped to it. `are_means`, shape (q,), marks means over
    units, which have a boundary-safe interval if the sample has no spread; other measures get nan there. The `method`
    ``"auto"`` is logit-t, or a t interval if a range has no end. `scales`, shape (q, 2), are the ends of the logit
    scale if they differ from those of the range, for unbiased estimators that can leave it by chance. `reported`, shape
    (q,), are the point estimates as reported, if they were summed in another order. `skewed` is for means of quantities
    with long tails near the ends of their ranges: the degrees of freedom are the effective number of units that the
    variance comes from, (sum u^2)^2 / sum u^4 with u their influences. `over`, shape (q,), are the columns
    of the sums that the measures are means over, the first by default: units that are 0 there do not count. All ends
    are nan for one unit, and if there are `too_few` for logit-t.
    """
    bounds = np.asarray(ranges, dtype=np.float64)
    means = np.asarray(are_means, dtype=np.bool_)
    with np.errstate(divide="ignore", invalid="ignore"):
        point = np.asarray(estimate(units.total) if reported is None else reported, dtype=np.float64)
    method = "logit_t" if method == "auto" else method
    over = [0] * len(point) if over is None else over
    n_units, few = units.effective(over), too_few(units, over) if method == "logit_t" else units.counted(over) < 2
    if few.all():
        nothing, nowhere = np.full(len(point), np.nan), np.zeros(len(point), dtype=np.bool_)
        return Intervals(nothing, nothing, standard_errors(units, estimate), nowhere, method)

    error, bootstrap_error, degrees = linearised_errors(units, estimate, over)
    spread = error > NO_SPREAD
    if skewed:
        counted = np.maximum(units.counted(over), 1)
        degrees = np.minimum(n_units - 1.0, 1.0 / (2.0 / degrees + 1.0 / counted))
    else:
        degrees = np.where(means, n_units - 1.0, np.minimum(n_units - 1.0, degrees))
    t = stdtrit(np.maximum(degrees, 1.0), (1.0 + confidence_level) / 2.0)
    half = t * error
    low, high = point - half, point + half
    if method == "logit_t":
        ends = bounds if scales is None else np.asarray(scales, dtype=np.float64)
        low, high = on_logit_scale(point, half, ends, 0.0 if skewed else _LEAST_DISTANCE)
    elif method == "bootstrap":
        replicates = bootstrap(units, estimate, n_resamples, rng or np.random.default_rng(0))
        defined = np.isfinite(replicates)
        usable = defined.mean(axis=0) > 1.0 - _MOST_UNDEFINED
        for j in np.flatnonzero(usable):
            values = replicates[defined[:, j], j]
            tail = float(ndtr(-t[j] * (error[j] / bootstrap_error[j] if bootstrap_error[j] > 0.0 else 1.0)))
            low[j], high[j] = np.quantile(values, [tail, 1.0 - tail])
            spread[j] |= np.ptp(values) > NO_SPREAD

    at_boundary = ~spread & means & np.isfinite(point) & ~few
    for j in np.flatnonzero(at_boundary):
        low[j], high[j] = boundary_interval(point[j], bounds[j, 0], bounds[j, 1], n_units[j], confidence_level)
    low[few] = high[few] = np.nan
    low[~spread & ~means] = high[~spread & ~means] = np.nan
    low = np.minimum(np.clip(low, *bounds.T), point)
    high = np.maximum(np.clip(high, *bounds.T), point)
    return Intervals(low, high, error, at_boundary, method)


def too_few(units: Units, over: Sequence[int] = (0,)) -> Mask:
    """Return whether no interval would hold its level: too few units that count, or a few that outweigh all others.

    One for each of the columns of the sums that are counted `over`.
    """
    return np.asarray((units.counted(over) < FEW_UNITS) | ~(units.effective(over) >= _LEAST_EFFECTIVE))


def on_logit_scale(
    point: Floats, half: Floats, scales: Floats, least: float = _LEAST_DISTANCE
) -> tuple[Floats, Floats]:
    """Return the ends of t intervals on the logit scale; plain ones if a scale has no end.

    `least` is the least distance of a point from the ends of its scale, as a share of it.
    """
    start, width = scales[:, 0], scales[:, 1] - scales[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip((point - start) / width, least, 1.0 - least)
        step = half / (width * share * (1.0 - share))
        ends = [start + width * expit(logit(share) + sign * step) for sign in (-1.0, 1.0)]
    bounded = np.isfinite(width)
    return np.where(bounded, ends[0], point - half), np.where(bounded, ends[1], point + half)


def ratio_interval(upper: Floats, lower: Floats, multiplicity: Floats | Whole, quantile: float) -> tuple[float, float]:
    """Return Fieller's interval of (sum of `upper`) / (sum of `lower`) over units; nan where it has no ends.

    Fieller (1954), "Some problems in interval estimation", Journal of the Royal Statistical Society B 16, 175-185.
    """
    n = float(multiplicity.sum())
    totals = np.array([multiplicity @ upper, multiplicity @ lower])
    centred = np.stack([upper, lower]) - totals[:, np.newaxis] / n
    terms = np.outer(totals, totals) - quantile**2 * n / (n - 1.0) * (centred * multiplicity) @ centred.T
    (constant, mixed), (_, square) = terms
    discriminant = mixed**2 - square * constant
    if square <= 0.0 or discriminant < 0.0:
        return float("nan"), float("nan")
    half = discriminant**0.5
    return float((mixed - half) / square), float((mixed + half) / square)


def boundary_interval(
    value: float, low: float, high: float, n_units: float, confidence_level: float = 0.95
) -> tuple[float, float]:
    """Return an interval for a mean over units that all have the same `value` in [low, high].

    The sample has no spread, so neither t nor bootstrap gives an interval. If a share p of all units differed from
    `value`, n units would all show it with probability (1-p)^n; the Clopper-Pearson bound is the p at which that is
    half of 1 - confidence_level. Those units may be anywhere in [low, high], hence the conservative ``[value - p (value
    - low), value + p (high - value)]``. The Clopper-Pearson interval of 20 in 20 is [0.8316, 1]:

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
    squared ratio of the t quantiles at n_rows - 1 and n_groups - 1 degrees of freedom (few groups estimate their
    variance badly), and at most n_rows. The interval is the Clopper-Pearson interval of n* p in n*. Unlike t and
    percentile intervals it is wide enough for small shares: with 100 groups of ten rows, intra-group correlation .3 and
    a true share of .02 it covers 94 to 95 % of the time at nominal 95, the others 86 to 88 %
    (``benchmarks/coverage.py``).

    The share is strictly between 0 and 1 (use `boundary_interval` at the ends), its cluster-robust standard error above
    0; `n_groups` is 1 plus the degrees of freedom of that, and above 1: Kish's effective number of groups.

    Korn, Graubard (1998), "Confidence intervals for proportions with small expected number of positive counts estimated
    from survey data", Survey Methodology 24, 193-201. With one row per group it is nearly the Clopper-Pearson interval:

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


def are_rare(sizes: Floats, values: Floats, multiplicity: Whole) -> bool:
    """Return whether few units, and fewer than a sixth, have more than the least value, or less than the greatest."""
    some = int(multiplicity[values > NO_SPREAD].sum())
    short = int(multiplicity[values < sizes - NO_SPREAD].sum())
    return min(some, short) < min(_FEW_DIFFERENT, int(multiplicity.sum()) / 6)


def rare_interval(
    sizes: Floats, values: Floats, multiplicity: Whole, confidence_level: float = 0.95, most: float = np.inf
) -> tuple[float, float]:
    """Return an interval of sum values / sum sizes, in [0, 1], where few units differ from one of its ends.

    `values`, from 0 to `sizes`, `sizes` and `multiplicity` are those of the distinct units, shape (p,). Units that
    happen to be missing from the sample would enlarge the mean and its variance at once, so an interval from the
    sample's own variance is too short. The upper end is a quantile of the beta distribution of the sample with half a
    unit more, two thirds of the way from the greatest share seen to 1; the lower end of one with half a unit as far
    from the least to 0. The effective size is that of `korn_graubard_interval`, and at most that of `most` rows. In the
    rare designs of ``benchmarks/coverage.py`` it covers 94.3 to 98.6 % of the time, where Korn and Graubard's and
    logit-t intervals cover 88 to 99.5 %.

    For one row a unit it is Jeffreys' interval; the idea for weighted counts is Fay and Feuer's (1997),
    "Confidence intervals for directly standardized rates", Statistics in Medicine 16, 791-801.

    >>> low, high = rare_interval(np.ones(2), np.array([0.0, 1.0]), np.array([97, 3]), most=100)
    >>> round(low, 4), round(high, 4)
    (0.0085, 0.0779)
    """
    tail = (1.0 - confidence_level) / 2.0
    total = float(multiplicity @ sizes)
    n_units = total**2 / float(multiplicity @ sizes**2)
    ratio = float(stdtrit(min(most, 1e9) - 1.0, 1.0 - tail) / stdtrit(n_units - 1.0, 1.0 - tail))
    half = total / float(multiplicity.sum()) / 2.0
    n_rows, shares = total + half, values / sizes
    ends = []
    for quantile, share in ((tail, shares.min() / 3.0), (1.0 - tail, (shares.max() + 2.0) / 3.0)):
        mean = (float(multiplicity @ values) + share * half) / n_rows
        squares = float(multiplicity @ (values - mean * sizes) ** 2) + 2.0 * ((share - mean) * half) ** 2
        if squares <= 0.0:  # all have the share of this end
            ends.append(mean)
            continue
        size = min(mean * (1.0 - mean) * n_rows**2 / squares * ratio**2, most * n_rows / total)
        more = (0.5, 0.0) if quantile < 0.5 else (0.0, 0.5)
        ends.append(float(betaincinv(mean * size + more[0], (1.0 - mean) * size + more[1], quantile)))
    value = float(multiplicity @ values) / total
    return min(ends[0], value), max(ends[1], value)


def stratified_interval(
    values: Floats,
    strata: Whole,
    weights: Floats,
    lowest: float = 0.0,
    design_effect: float = 1.0,
    confidence_level: float = 0.95,
) -> tuple[float, float]:
    """Return an interval of a weighted mean of strata of few units, whose means are in [lowest, 1].

    Each stratum's mean gets a Jeffreys interval at its effective size, that of a share with the same spread: the spread
    over p (1 - p) of the stratum, shrunk towards 1 by one unit of prior and at least that of all strata pooled, so that
    a stratum whose few units all agree still has an interval. The distances of the strata to their ends then add up as
    standard errors do (MOVER), on each side. With the deciles of a real model, 5 to 25 buckets each, it covers 93 to 99
    % at nominal 95, where normal and bootstrap intervals cover 50 to 90 % (``benchmarks/coverage.py``).

    `values` and `strata`, shape (n,), are each unit's value and stratum, 0..d-1, each with a unit; `weights`, shape
    (d,), sum to 1. No stratum's true mean is below `lowest`; single values may be. Sizes are divided by
    `design_effect`, at least 1, if units are not independent.

    Zou, Donner (2008), "Construction of confidence limits about effect measures: a general approach", Statistics in
    Medicine 27, 1693-1702; Brown, Cai, DasGupta (2001), "Interval estimation for a binomial proportion", Statistical
    Science 16, 101-133. One stratum of zeros and ones has Jeffreys' interval:

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
