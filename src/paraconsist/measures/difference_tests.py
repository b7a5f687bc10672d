"""Tests of a paired difference that give p and interval alike: the interval is every difference that is not rejected.

Each test knows its two-sided p of the hypothesis that the true difference is `delta`, for any `delta`; its interval at
a level is where that p is above 1 less the level. So p and interval cannot contradict each other, and one-sided
p-values (`margin_test`) agree with the interval at twice their level.

The default is the sign-flip test (`sign_flip_test`). Under the null hypothesis that the two models are exchangeable,
each resampling unit (a bucket, or a group of buckets) might as well have had the models' answers the other way round.
Units that differ in the same way are interchangeable, so a permutation is a binomial draw of how many units of each
*distinct* difference are swapped: the same distribution as flipping units one by one, at a cost that depends on the
number of distinct ones only.

Inverted (`flip_tests`), the test gives an interval: the hypothesis that the first model is better by delta takes delta
off every unit's difference before the signs are flipped. Flipping the units F then has a difference as large as the
observed one where the mean difference over F alone lies beyond delta: the ends of the interval are quantiles of the
mean differences over random halves of the units (Hartigan 1969, "Using subsample values as typical values", JASA 64).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.special import binom, ndtr, ndtri, stdtr, stdtrit

from paraconsist.errors import input_error
from paraconsist.measures.array_types import Floats, Integers, Whole
from paraconsist.measures.bucket_model import log_binomial
from paraconsist.measures.intervals import (
    NO_SPREAD,
    Estimate,
    Intervals,
    Units,
    boundary_interval,
    design_effects,
    group_units,
    linearised_errors,
)
from paraconsist.measures.paired_tests import score_bound, score_statistic
from paraconsist.measures.results import IntervalSettings

_ROUNDING = 1e-9  # a p that differs from 1 - level by less is equal to it, and rejects

Ends = tuple[float, float]


def rejects(p_value: Any, level: float) -> Any:
    """Return whether p-values, a number or an array, reject at 1 - `level`: where intervals exclude the hypothesis.

    Every decision by a p-value that has an interval goes through here: 1 - .9 is below .1 by rounding.

    >>> rejects(0.1, 0.9), 0.1 <= 1.0 - 0.9
    (True, False)
    """
    return p_value <= 1.0 - level + _ROUNDING


class DifferenceTest(Protocol):
    """A test of one difference."""

    def p_at(self, delta: float) -> float:
        """Return the two-sided p of the hypothesis that the true difference is `delta`."""

    def interval(self, level: float) -> Ends:
        """Return the least and the greatest difference with a p above 1 - `level`; infinite where there is none."""


@dataclass(frozen=True)
class FlipTest:
    """Inverted sign flips: p at `delta` is the weight of the ends that lie beyond it; arrays of shape (n,)."""

    point: float
    #: The differences at which an assignment starts to count against the hypothesis, ascending; infinite for those that
    #: always do.
    low: Floats
    low_weight: Floats
    high: Floats
    high_weight: Floats

    def p_at(self, delta: float) -> float:
        if abs(delta - self.point) <= _TOLERANCE:
            return 1.0
        if delta < self.point:
            p = self.low_weight[: np.searchsorted(self.low, delta + _TOLERANCE, side="right")].sum()
        else:
            p = self.high_weight[np.searchsorted(self.high, delta - _TOLERANCE, side="left") :].sum()
        return min(1.0, float(p))

    def interval(self, level: float) -> Ends:
        alpha = 1.0 - level + _ROUNDING
        below = np.flatnonzero(np.cumsum(self.low_weight) > alpha)
        above = np.flatnonzero(np.cumsum(self.high_weight[::-1]) > alpha)
        low = self.low[below[0]] if len(below) else self.point
        high = self.high[::-1][above[0]] if len(above) else self.point
        return min(float(low), self.point), max(float(high), self.point)


@dataclass(frozen=True)
class StudentTest:
    """t intervals, and p from the same t."""

    point: float
    error: float
    degrees_of_freedom: float

    def p_at(self, delta: float) -> float:
        return 2.0 * float(stdtr(self.degrees_of_freedom, -abs(self.point - delta) / self.error))

    def interval(self, level: float) -> Ends:
        half = float(stdtrit(self.degrees_of_freedom, (1.0 + level) / 2.0)) * self.error
        return self.point - half, self.point + half


@dataclass(frozen=True)
class ScoreTest:
    """Tango's score test of two shares, over `size` pairs of which `only1` and `only2` differ; fractions are allowed.

    `degrees_of_freedom` are those of the standard error behind an effective size; None for independent rows. `scale` is
    the difference of a pair that differs.
    """

    size: float
    only1: float
    only2: float
    degrees_of_freedom: float | None = None
    scale: float = 1.0

    def p_at(self, delta: float) -> float:
        delta /= self.scale
        size, only1, only2 = (np.array([count]) for count in (self.size, self.only1, self.only2))
        if delta < (self.only1 - self.only2) / self.size:  # the mirror image, to the right of its difference
            only1, only2, delta = only2, only1, -delta
        z = -float(score_statistic(size, only1, only2, np.array([delta]))[0])
        return min(1.0, 2.0 * float(ndtr(z) if self.degrees_of_freedom is None else stdtr(self.degrees_of_freedom, z)))

    def interval(self, level: float) -> Ends:
        shrink, tail = 1.0, 0.5 + level / 2.0
        if self.degrees_of_freedom is not None:
            shrink = float((ndtri(tail) / stdtrit(self.degrees_of_freedom, tail)) ** 2)
        size, only1, only2 = (shrink * count for count in (self.size, self.only1, self.only2))
        both = np.array([only1, only2])
        above, below = score_bound(np.full(2, size), both, both[::-1], level).tolist()
        return -self.scale * below, self.scale * above


@dataclass(frozen=True)
class BoundaryTest:
    """A mean in [low, high] over units that all have one value: `paraconsist.measures.intervals.boundary_interval`."""

    value: float
    low: float
    high: float
    n_units: float

    def p_at(self, delta: float) -> float:
        if delta == self.value:
            return 1.0
        furthest = self.low if delta < self.value else self.high
        if abs(delta - self.value) >= abs(furthest - self.value):
            return 0.0
        return min(1.0, 2.0 * float((1.0 - (self.value - delta) / (self.value - furthest)) ** self.n_units))

    def interval(self, level: float) -> Ends:
        return boundary_interval(self.value, self.low, self.high, self.n_units, level)


@dataclass(frozen=True)
class NullTest:
    """A test with a p at 0 only, which rejects every other difference; use it in `Joined`."""

    point: float
    p_value: float

    def p_at(self, delta: float) -> float:
        return self.p_value if delta == 0.0 else 0.0

    def interval(self, level: float) -> Ends:
        if rejects(self.p_value, level):
            return self.point, self.point
        return min(0.0, self.point), max(0.0, self.point)


@dataclass(frozen=True)
class Joined:
    """Several tests that must all reject: the largest p, and the interval that spans all of theirs."""

    tests: Sequence[DifferenceTest]

    def p_at(self, delta: float) -> float:
        return max(test.p_at(delta) for test in self.tests)

    def interval(self, level: float) -> Ends:
        lows, highs = zip(*(test.interval(level) for test in self.tests), strict=True)
        return min(lows), max(highs)


def check_margin(function: str, margin: float | None, level: float) -> None:
    """Refuse a margin that is no share above 0 and below 1, and a confidence level of 0.5 or less with any.

    Its tests are one-sided at 1 less the level, and their interval is at the level 1 - 2 (1 - level): at 0.5 a
    difference on the good side of the margin would be enough, and there is no interval to read it from.
    """
    if margin is None:
        return
    must, remedy = "be a share above 0 and below 1", "Two points are 0.02."
    if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not 0.0 < margin < 1.0:
        raise input_error(function, "margin", must, got=margin, remedy=remedy)
    if level <= 0.5:
        remedy = "Tests on one side at 1 less this level show nothing there."
        raise input_error(function, "confidence_level", "be above 0.5 with `margin`", got=level, remedy=remedy)


class _CorrectedMarginTest(TypedDict, total=False):
    """Of several pairs: p corrected for their number, on which the verdict then rests."""

    corrected_p_not_worse1: float
    corrected_p_not_worse2: float
    corrected_p_equivalent: float


class MarginTest(_CorrectedMarginTest):
    """What `margin_test` returns."""

    margin: float
    p_not_worse1: float
    p_not_worse2: float
    p_equivalent: float
    interval: list[float]
    verdict: str


def margin_verdict(p_first: float, p_second: float, level: float) -> str:
    """Return what two p-values of non-inferiority show at 1 - `level`."""
    verdict = {(True, True): "equivalent", (True, False): "first_not_worse", (False, True): "second_not_worse"}
    return verdict.get((rejects(p_first, level), rejects(p_second, level)), "undecided")


def margin_test(test: DifferenceTest, point: float, margin: float, level: float, *, up_is_good: bool) -> MarginTest:
    """Test whether one of two models is not worse than the other by more than a margin, and whether both are equal.

    `test` is of the first model's value minus the second's, `point`; `margin`, above 0, has its unit; `level` is that
    of the two-sided interval, so the tests are one-sided at 1 - `level`. ``p_not_worse1`` and ``p_not_worse2`` are
    those of the hypothesis that the first (second) model is worse than the other by `margin` or more, ``p_equivalent``
    is the larger of the two (TOST). ``interval``, at the level 1 - 2 (1 - `level`), is on the good side of the margin
    exactly if these reject. ``verdict`` is ``"equivalent"``, ``"first_not_worse"``, ``"second_not_worse"`` or
    ``"undecided"``; comparisons have ``"unranked"`` where a model's answers are constant.

    Schuirmann (1987), "A comparison of the two one-sided tests procedure and the power approach for assessing the
    equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15.
    """
    alpha = 1.0 - level
    halves = test.p_at(-margin) / 2.0, test.p_at(margin) / 2.0
    p_above = halves[0] if point > -margin else 1.0 - halves[0]  # of a difference of -margin or less
    p_below = halves[1] if point < margin else 1.0 - halves[1]
    p_first, p_second = (p_above, p_below) if up_is_good else (p_below, p_above)
    return {
        "margin": margin,
        "p_not_worse1": p_first,
        "p_not_worse2": p_second,
        "p_equivalent": max(p_first, p_second),
        "interval": list(test.interval(1.0 - 2.0 * alpha)),
        "verdict": margin_verdict(p_first, p_second, level),
    }


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
    multiplicity: Whole,
    estimate: Estimate,
    n_permutations: int,
    rng: np.random.Generator,
) -> SignFlip:
    """Test whether q measures differ between two models that answered the same units.

    `first` and `second`, shape (p, m), are each model's sums in every distinct unit, `multiplicity`, shape (p,), how
    many units have these; `estimate` turns sums (..., m) into measures (..., q). There are `n_permutations` Monte Carlo
    draws where there are more than 131,072 different assignments.

    For means over buckets this is the test of a zero mean of signed differences, which holds its level also for models
    that are not exchangeable, if there are many units (the flips have the variance of the mean). With few it does not
    where differences are skewed: of two models with the same mean, .95, one that is all wrong in few buckets and one
    that is a little wrong in many differ at 5 % in 12 to 20 % of samples of 12 to 40 buckets. These lack the few, so
    nothing in them shows it (Bahadur and Savage 1956, Annals of Mathematical Statistics 27, 1115-1122: no test of a
    mean holds its level for all distributions). The studentized test (Janssen 1997, Statistics and Probability Letters
    36, 9-21) is the same one: flips leave the sum of squares as it is. For other measures (PVAP) exchangeability is
    what is tested.

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
    p = np.minimum(hits, 1.0) if exact else (hits + 1.0) / (n_permutations + 1.0)
    error = np.zeros(len(p)) if exact else np.sqrt(p * (1.0 - p) / n_permutations)
    undefined = ~np.isfinite(observed)
    p[undefined] = error[undefined] = np.nan
    return SignFlip(p, error, "exact" if exact else f"monte-carlo{n_permutations}")


def flip_tests(
    first: Floats,
    second: Floats,
    multiplicity: Whole,
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
    side = -np.sign(point) if abs(point) > _TOLERANCE else 0.0  # where 0 lies
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


def _distinct_differences(first: Floats, second: Floats, multiplicity: Whole) -> tuple[Floats, Floats, Whole]:
    """Return the total of the lower sums of all units, the distinct differences above them, and their numbers.

    A unit and its mirror image differ by the same vector up to its sign: one pattern.
    """
    difference = second - first
    difference[np.abs(difference) < 1e-12] = 0.0  # rounding of sums that are equal
    leading = (difference != 0.0).argmax(axis=1)
    mirrored = difference[np.arange(len(difference)), leading] < 0.0
    low = multiplicity.astype(np.float64) @ np.where(mirrored[:, np.newaxis], second, first)
    steps, code = np.unique(np.where(mirrored[:, np.newaxis], -difference, difference), axis=0, return_inverse=True)
    counts = np.bincount(code.ravel(), weights=multiplicity, minlength=len(steps)).astype(np.int64)
    moves = (steps != 0.0).any(axis=1)
    return low, steps[moves], counts[moves]


def _n_assignments(counts: Whole) -> float:
    """Return in how many ways the units of each pattern can be swapped, or infinity."""
    with np.errstate(over="ignore"):
        return float(np.prod(counts + 1.0))


def _every(counts: Whole) -> Iterator[tuple[Floats, Floats]]:
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
    return np.asarray(np.exp(log_binomial(n, heads) - n * np.log(2.0)), dtype=np.float64)


def _drawn(counts: Whole, n_permutations: int, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Yield how many units of each pattern are swapped in random assignments, each with weight 1."""
    chunk = max(1, _CELLS_AT_ONCE // len(counts))
    for start in range(0, n_permutations, chunk):
        n = min(chunk, n_permutations - start)
        yield rng.binomial(counts, 0.5, size=(n, len(counts))).astype(np.float64), np.ones(n)


METHODS = ("auto", "sign_flip", "closed_form")
"""Of p and interval alike: the inverted sign-flip test (the default), or t."""

_FEW_DIFFERENT = 20  # units that differ, below which a rare difference is judged by its size as well as by its signs


class Compared(NamedTuple):
    """A measure that two models are compared by.

    `widest` is the largest possible difference of two values, `denominator` the column of the sums that it is a mean
    over; measures that are not means over units (`is_mean`) are shifted as if they were.
    """

    name: str
    widest: float
    is_mean: bool = True
    denominator: int = 0


@dataclass(frozen=True)
class PairedDifferences:
    """Each model's values of q measures, and what is known of their differences, first model minus second.

    `tests` has None for an undefined difference; `p_method` is the method of p, for a signature.
    """

    first: Floats
    second: Floats
    tests: list[DifferenceTest | None]
    interval: Intervals
    p_value: Floats
    p_value_error: Floats
    p_method: str
    design_effect: Floats
    n_units: int


def paired_differences(
    options: IntervalSettings,
    first: Floats,
    second: Floats,
    pattern: Integers,
    groups: Integers | None,
    estimate: Estimate,
    measures: Sequence[Compared],
    n_permutations: int,
) -> PairedDifferences:
    """Compare two models' sums in every distinct bucket, shape (p, m); `pattern` is the distinct bucket of each bucket.

    `estimate` turns sums (..., m) into `measures` (..., q). The `method` of the options is one of `METHODS`, their
    `n_resamples` the draws for the ends of intervals; `n_permutations` those for p. Buckets of one of the `groups`,
    shape (n_buckets,), stay together.
    """
    m = first.shape[1]
    both = np.concatenate([first, second], axis=1)
    buckets, units = group_units(both, pattern, None), group_units(both, pattern, groups)

    def difference(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(estimate(sums[..., :m]) - estimate(sums[..., m:]))

    total = units.total
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (np.asarray(estimate(part), dtype=np.float64) for part in (total[:m], total[m:]))
    counted = np.minimum(units.counted([measure.denominator for measure in measures]), units.effective_n)
    point, df = one - two, np.maximum(counted - 1.0, 1.0)
    error, _, degrees = linearised_errors(units, difference)
    tests: list[list[DifferenceTest]]
    flips = None
    if options.method == "closed_form":
        p_value, p_error = np.where(point == 0.0, 1.0, np.nan), np.zeros(len(point))
        method = p_method = "student-t"
        of_measure = [n if m.is_mean else max(1.0, min(n, d)) for m, n, d in zip(measures, df, degrees, strict=True)]
        parts = zip(point, error, of_measure, strict=True)
        tests = [[StudentTest(*part)] if part[1] > NO_SPREAD else [] for part in parts]
    else:
        models = units.sums[:, :m], units.sums[:, m:], units.multiplicity, estimate
        of_ends, of_p = map(np.random.default_rng, np.random.SeedSequence(options.entropy).spawn(2))
        flips = sign_flip_test(*models, n_permutations, of_p)
        p_value, p_error, p_method = flips.p_value.copy(), flips.error, f"sign-flip-{flips.method}"
        method = f"sign_flip{options.n_resamples}"
        denominators = [measure.denominator for measure in measures]
        tests = [[test] for test in flip_tests(*models, denominators, p_value, options.n_resamples, of_ends)]
        for test, rare in zip(tests, _rare_differences(units, estimate, measures, point, error, df), strict=True):
            test += rare

    flat = (error <= NO_SPREAD) & [measure.is_mean for measure in measures] & np.isfinite(point)
    low, high = np.full((2, len(measures)), np.nan)
    joined: list[DifferenceTest | None] = [None] * len(measures)
    for j, measure in enumerate(measures):
        if flat[j]:
            tests[j].append(BoundaryTest(float(point[j]), -measure.widest, measure.widest, float(counted[j])))
        if np.isfinite(point[j]) and (error[j] > NO_SPREAD or (flat[j] and units.n > 1)):
            joined[j] = one_test = Joined(tests[j])
            low[j], high[j] = np.clip(one_test.interval(options.confidence_level), -measure.widest, measure.widest)
            of_flips = [float(p_value[j])] if flips else []  # without the rounding of a sum of weights
            p_value[j] = max(of_flips + [test.p_at(0.0) for test in tests[j][len(of_flips) :]])
    endless = np.isinf(low) | np.isinf(high)
    low[endless] = high[endless] = np.nan
    bounds = Intervals(low, high, error, flat, method)
    effects = design_effects(units, buckets, difference)
    return PairedDifferences(one, two, joined, bounds, p_value, p_error, p_method, effects, units.n)


def _rare_differences(
    units: Units, estimate: Estimate, measures: Sequence[Compared], point: Floats, error: Floats, df: Floats
) -> list[list[DifferenceTest]]:
    """Return Tango's score test at the effective sample size for means in which few units differ."""
    first, second = np.split(units.sums, 2, axis=1)
    totals = units.multiplicity @ first, units.multiplicity @ second
    one = totals[0] + second - first  # with one unit swapped
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.asarray(estimate(one) - estimate(totals[0] + totals[1] - one), dtype=np.float64)
    parts = (point - moved) / 2.0  # what each unit adds to the difference
    tests: list[list[DifferenceTest]] = [[] for _ in measures]
    for j, measure in enumerate(measures):
        differ = int(units.multiplicity[np.abs(parts[:, j]) > NO_SPREAD].sum())
        n = int(units.multiplicity[units.sums[:, measure.denominator] > 0.0].sum())
        if measure.is_mean and error[j] > NO_SPREAD and differ < _FEW_DIFFERENT and 2 * differ < n:
            scaled = parts[:, j] / measure.widest
            only1, only2 = (float(units.multiplicity @ np.maximum(sign * scaled, 0.0)) for sign in (1.0, -1.0))
            size = (only1 + only2 - (only1 - only2) ** 2) / (error[j] / measure.widest) ** 2
            tests[j].append(ScoreTest(size, size * only1, size * only2, float(df[j]), measure.widest))
    return tests
