"""Confidence sequences: intervals for a mean that may be looked at after every value.

An interval for a fixed number of values holds at one look only: whoever looks after every value and stops when it is
narrow enough is misled far more often than it says. A confidence sequence misses at *any* look with at most
1 - confidence level (Waudby-Smith, Ramdas 2024, "Estimating means of bounded random variables by betting", JRSS B 86,
1-27): a gambler bets against every candidate mean m, on the next value being above m or below it, at odds that are fair
if m is the mean. The stakes depend on earlier values only, so that the capital is a nonnegative martingale under the
true mean and reaches 2 / alpha with probability alpha / 2 at most, in each of the two directions (Ville's inequality).
Candidates against which it did are excluded for good.

A capital falls (bets on more) or rises (bets on less) with m, so the candidates that are left form an interval. Stakes
are those that grow the capital fastest against a mean at the distance that matters: the wanted half-width, or the
distance of the estimate from the wanted bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist.errors import check_fraction, check_whole, input_error
from paraconsist.measures.array_types import Floats
from paraconsist.measures.buckets import as_probabilities

_N_CANDIDATES = 8_000  # at most 0.0002 apart, and closer near 0 and 1
_BOLDEST = 0.9  # the largest share of the capital that one value may lose
_PRIOR = 0.5  # values with mean 1/2 and variance 1/4 that the stakes assume to have seen before the first
_LEAST_AIM = 0.01  # a bound that the estimate nearly equals is not worth smaller stakes


class MeanSequence:
    """An interval for the mean of values in [0, 1], narrowed by every value, that holds at all looks together.

    Parameters
    ----------
    half_width : float, default 0.03
        The half-width at which the interval should arrive with as few values as possible.
    bound : float, optional
        The bound of the mean that should be decided with as few values as possible, instead of `half_width`.
    n_values : int, optional
        The size of the finite set from which values are drawn without replacement: the interval is for the mean of
        that set, and has width 0 when all its values are known. By default it is for the mean of a population.
    confidence_level : float, default 0.95

    Notes
    -----
    With weights in (0, 1] the mean is that of a population in which a value counts as much as its weight says: sum of
    weight times value over sum of weights. Clusters of unequal size have the size over the largest size as weight.
    """

    def __init__(
        self,
        *,
        half_width: float = 0.03,
        bound: float | None = None,
        n_values: int | None = None,
        confidence_level: float = 0.95,
    ) -> None:
        level = check_fraction("MeanSequence", "confidence_level", confidence_level)
        self._threshold = math.log(2.0 / (1.0 - level))
        self._aim, self._bound = check_fraction("MeanSequence", "half_width", half_width), bound
        self._n_values = None if n_values is None else check_whole("MeanSequence", "n_values", n_values)
        self.n = 0
        self.low, self.high = 0.0, 1.0
        self._weight, self._sum, self._squares = _PRIOR, _PRIOR / 2.0, _PRIOR / 4.0
        self._candidates: Floats = np.sin(np.linspace(0.0, math.pi / 2.0, _N_CANDIDATES + 1)) ** 2
        self._above, self._below = np.zeros((2, len(self._candidates)))  # logarithms of the capitals

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2.0

    @property
    def n_expected(self) -> float:
        """About how many values it takes in all to arrive at the half-width, or to decide the bound."""
        n = 2.0 * self._threshold * self._squares / (self._weight * self._distance) ** 2 * (self.n + _PRIOR)
        return n if self._n_values is None else n / (1.0 + n / self._n_values)

    @property
    def mean(self) -> float:
        """The mean of the values; nan before the first."""
        return (self._sum - _PRIOR / 2.0) / (self._weight - _PRIOR) if self.n else math.nan

    @property
    def _distance(self) -> float:
        """The distance of a mean from the estimate at which the capital should grow fastest."""
        mean = self._sum / self._weight
        return self._aim if self._bound is None else max(abs(mean - self._bound), _LEAST_AIM)

    def add(self, value: float, weight: float = 1.0) -> tuple[float, float]:
        """Return the interval after one more value.

        InputError for a value outside [0, 1], a weight outside (0, 1], a weight in a finite set, or more values than
        the finite set has.
        """
        if not 0.0 <= value <= 1.0:
            raise input_error("MeanSequence", "value", "lie in [0, 1]", got=value)
        if not 0.0 < weight <= 1.0 or (weight < 1.0 and self._n_values is not None):
            raise input_error("MeanSequence", "weight", "lie in (0, 1], and be 1 in a finite set", got=weight)
        if self.n == self._n_values:
            raise input_error("MeanSequence", "value", f"be one of the set's {self._n_values}", got=value)
        aim, expected = self._distance, self._candidates
        if self._n_values is not None:  # of the values that are left, if the candidate is the mean of all
            left = self._n_values - self.n
            seen = self._sum - _PRIOR / 2.0
            expected = np.clip((self._n_values * expected - seen) / left, 0.0, 1.0)
            aim *= self._n_values / left
        stake = aim * self._weight / self._squares
        with np.errstate(divide="ignore"):
            on_above = np.minimum(stake, _BOLDEST / expected)
            on_below = np.minimum(stake, _BOLDEST / (1.0 - expected))
        gain = weight * (value - expected)
        self._above += np.log1p(on_above * gain)
        self._below += np.log1p(-on_below * gain)
        self.n += 1
        self._weight += weight
        self._sum += weight * value
        self._squares += (weight * (value - self._sum / self._weight)) ** 2
        self._narrow()
        return self.low, self.high

    def _narrow(self) -> None:
        """Exclude candidates for good; the ends are excluded candidates, so that no rounding narrows the interval."""
        first = int(np.argmin(np.append(self._above >= self._threshold, False)))
        last = len(self._candidates) - int(np.argmin(np.append(self._below[::-1] >= self._threshold, False)))
        low, high = self.low, self.high
        if first > 0:
            low = max(low, float(self._candidates[first - 1]))
        if last < len(self._candidates):
            high = min(high, float(self._candidates[last]))
        if self._n_values is not None:
            seen = self._sum - _PRIOR / 2.0
            low = max(low, seen / self._n_values)
            high = min(high, (seen + self._n_values - self.n) / self._n_values)
        if self.n == self._n_values:
            low = high = seen / self.n
        elif low > high:  # the interval missed at an earlier look: what it was then is all there is to say
            return
        self.low, self.high = low, high
        keep = slice(max(first - 1, 0), last + 1)
        self._candidates, self._above, self._below = self._candidates[keep], self._above[keep], self._below[keep]


@dataclass(frozen=True)
class ConfidenceSequence:
    """Intervals for one mean, of which all hold together; arrays have shape (n,), one interval after each value."""

    low: Floats
    high: Floats


def confidence_sequence(
    values: Any, n_total: int | None = None, confidence_level: float = 0.95, *, half_width: float = 0.03
) -> ConfidenceSequence:
    """Return the interval for a mean after each value; it may be looked at every time, and stopped at any.

    With probability `confidence_level` at least, none of the intervals misses the mean, so that whoever stops as soon
    as one is narrow enough, or above a bound, is not misled.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        In [0, 1], in the order in which they came, which must be random: whether an answer is right, or a problem's
        share of pairs of wordings with another answer.
    n_total : int, optional
        The size of the finite set from which they are drawn without replacement. The intervals are then for the mean of
        that set, and the last has width 0 once all values are known; by default they are for a population's mean.
    confidence_level : float, default 0.95
    half_width : float, default 0.03
        At which half-width the interval should arrive with as few values as possible; it holds whatever is given.

    Returns
    -------
    ConfidenceSequence
        `low` and `high`, shape (n,), in [0, 1]; intervals only narrow, and that of a whole set is its mean.

    Raises
    ------
    InputError
        If a value is not in [0, 1], or there are more values than `n_total`.

    References
    ----------
    Waudby-Smith, Ramdas (2024), "Estimating means of bounded random variables by betting", Journal of the Royal
    Statistical Society B 86, 1-27.

    Examples
    --------
    >>> sequence = confidence_sequence([1, 0] * 500)
    >>> print(f"{sequence.low[99]:.3f} {sequence.high[99]:.3f}, at last {sequence.low[-1]:.3f} {sequence.high[-1]:.3f}")
    0.202 0.787, at last 0.454 0.545
    """
    name = "confidence_sequence"
    shares = as_probabilities(values, function=name, parameter="values")
    check_fraction(name, "confidence_level", confidence_level)
    check_fraction(name, "half_width", half_width)
    if n_total is not None and check_whole(name, "n_total", n_total) < len(shares):
        raise input_error(name, "values", f"be at most the set's {n_total}", got=f"{len(shares)} values")
    sequence = MeanSequence(half_width=half_width, n_values=n_total, confidence_level=confidence_level)
    low, high = np.array([sequence.add(share) for share in shares.tolist()]).T
    return ConfidenceSequence(low, high)
