"""Tests of a paired difference that give p and interval alike: the interval is every difference that is not rejected.

Each test knows its two-sided p of the hypothesis that the true difference is `delta`, for any `delta`; its interval at
a level is where that p is above 1 less the level. So p and interval cannot contradict each other, and one-sided
p-values (`margin_test`) agree with the interval at twice their level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from paraconsist.errors import input_error
from paraconsist.measures.intervals import boundary_interval
from paraconsist.measures.paired_tests import score_bound, score_statistic
from paraconsist.measures.resampling import Floats

_ROUNDING = 1e-9  # a p that differs from 1 - level by less is equal to it, and rejects

Ends = tuple[float, float]


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
        if delta == self.point:
            return 1.0
        if delta < self.point:
            p = self.low_weight[: np.searchsorted(self.low, delta, side="right")].sum()
        else:
            p = self.high_weight[np.searchsorted(self.high, delta, side="left") :].sum()
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
        if abs(delta) >= 1.0:
            return 0.0
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
    """A test that knows its p at 0 alone and rejects every other difference: to be joined with one that does not."""

    point: float
    p_value: float

    def p_at(self, delta: float) -> float:
        return self.p_value if delta == 0.0 else 0.0

    def interval(self, level: float) -> Ends:
        if self.p_value > 1.0 - level + _ROUNDING:
            return min(0.0, self.point), max(0.0, self.point)
        return self.point, self.point


@dataclass(frozen=True)
class Joined:
    """Several tests, of which all must reject: the largest p, and the interval that spans all of theirs."""

    tests: Sequence[DifferenceTest]

    def p_at(self, delta: float) -> float:
        return max(test.p_at(delta) for test in self.tests)

    def interval(self, level: float) -> Ends:
        lows, highs = zip(*(test.interval(level) for test in self.tests), strict=True)
        return min(lows), max(highs)


def check_margin(function: str, margin: float | None) -> float | None:
    """Return a margin as a float, None as None; InputError if it is no share above 0 and below 1."""
    if margin is None:
        return None
    must, remedy = "be a share above 0 and below 1", "Two points are 0.02."
    if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not 0.0 < margin < 1.0:
        raise input_error(function, "margin", must, got=margin, remedy=remedy)
    return float(margin)


def margin_test(test: DifferenceTest, point: float, margin: float, level: float, *, up_is_good: bool) -> dict[str, Any]:
    """Test whether one of two models is not worse than the other by more than a margin, and whether both are equal.

    `test` is of the first model's value minus the second's, which is `point`, in whose unit `margin` is, above 0;
    `level` that of the two-sided interval: the tests are one-sided at 1 - `level`. Returns ``margin``; ``p_not_worse1``
    and ``p_not_worse2``, of the hypothesis that the first (second) model is worse than the other by `margin` or more;
    ``p_equivalent``, the larger of the two (TOST); ``interval``, at the level 1 - 2 (1 - `level`), which lies on the
    good side of the margin just where these reject; ``verdict``: ``"equivalent"``, ``"first_not_worse"``,
    ``"second_not_worse"`` or ``"undecided"``.

    Schuirmann (1987), "A comparison of the two one-sided tests procedure and the power approach for assessing the
    equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15.
    """
    alpha = 1.0 - level
    halves = test.p_at(-margin) / 2.0, test.p_at(margin) / 2.0
    p_above = halves[0] if point > -margin else 1.0 - halves[0]  # of a difference of -margin or less
    p_below = halves[1] if point < margin else 1.0 - halves[1]
    p_first, p_second = (p_above, p_below) if up_is_good else (p_below, p_above)
    first, second = p_first <= alpha + _ROUNDING, p_second <= alpha + _ROUNDING
    verdict = {(True, True): "equivalent", (True, False): "first_not_worse", (False, True): "second_not_worse"}
    return {
        "margin": margin,
        "p_not_worse1": p_first,
        "p_not_worse2": p_second,
        "p_equivalent": max(p_first, p_second),
        "interval": list(test.interval(1.0 - 2.0 * alpha)),
        "verdict": verdict.get((first, second), "undecided"),
    }
