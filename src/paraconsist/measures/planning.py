"""How many buckets, and how many paraphrases each, from a pilot's variance components.

A measure over buckets has variance V(k)/B with B buckets of k paraphrases. V(k) has a part that more paraphrases
cannot reduce (problems differ) and one that they can (paraphrases of a problem differ); a pilot with any sizes
gives both without bias, so V at every other k follows.

For P_C (unbiased), with mu = 2 theta (1 - theta) the chance that two paraphrases of a problem differ, each bucket's
value is a U-statistic of order 2, and

    V(k) = E mu^2 - (E mu)^2 + [4 (k-2) (E mu / 2 - E mu^2) + 2 (E mu - E mu^2)] / (k (k-1))

E mu comes from pairs of paraphrases, E mu^2 from quadruples. For accuracies and shares of rows V(k) is the variance
between problems plus that within them over k. Buckets in shared contexts add their covariance, as in the pilot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from paraconsist.errors import check_choice, check_fraction, check_whole, input_error
from paraconsist.measures._validation import Integers
from paraconsist.measures.buckets import BucketCounts, partition
from paraconsist.measures.resampling import Floats, Units, mean_of_sums, standard_errors, sums_by_group
from paraconsist.measures.results import Record

MEASURES = ("paraphrastic_consistency_unbiased", "vap_unbiased", "accuracy", "inconsistency")
"""What can be planned for: the last is a share of rows, such as answers that differ from the original's."""

PARAPHRASES = (2, 3, 4, 5, 6, 8, 10, 15, 20)
_MOST_BUCKETS = 10**8
_FEW_BUCKETS = 30


@dataclass(frozen=True)
class Pilot(Record):
    """What a pilot says of a measure's variance.

    Attributes
    ----------
    measure : str
        One of `MEASURES`.
    value : float
        The pilot's estimate (mean over buckets).
    between_variance, within_variance : float
        V(k) for infinitely many paraphrases, and what one more pair or row per bucket adds: for accuracies and
        shares V(k) = between + within / k; for P_C and VAP `within_variance` is 4 (E mu / 2 - E mu^2) or a
        quarter of it, its leading term.
    moments : list of float
        E mu and E mu^2 for P_C and VAP, else empty.
    context_covariance : float
        What shared contexts add to V, at the pilot's number of buckets per context; 0 without groups.
    buckets_per_cluster : float
    n_buckets : int
        Buckets of the pilot that were used.
    warnings : tuple of str
    """

    measure: str
    value: float
    between_variance: float
    within_variance: float
    moments: list[float]
    context_covariance: float
    buckets_per_cluster: float
    n_buckets: int
    warnings: tuple[str, ...]

    def variance(self, k: int) -> float:
        """Return V(k): the variance of the measure is this over the number of buckets."""
        if not self.moments:
            return self.between_variance + self.within_variance / k + self.context_covariance
        return _pair_variance(self.moments[0], self.moments[1], k) * _scale(self.measure) + self.context_covariance

    def t(self, n_buckets: int, confidence_level: float) -> float:
        """Return the t quantile of intervals over so many buckets, in contexts as large as the pilot's."""
        return float(stdtrit(max(1.0, n_buckets / self.buckets_per_cluster - 1.0), (1.0 + confidence_level) / 2.0))


@dataclass(frozen=True)
class PlanRow(Record):
    """What it takes with `paraphrases` in each bucket.

    Attributes
    ----------
    paraphrases : int
    buckets_for_half_width, buckets_for_difference : int or None
        None where it was not asked for.
    rows_for_half_width, rows_for_difference : int or None
        Buckets times paraphrases.
    """

    paraphrases: int
    buckets_for_half_width: int | None
    rows_for_half_width: int | None
    buckets_for_difference: int | None
    rows_for_difference: int | None


def pilot_of(counts: BucketCounts, measure: str = MEASURES[0], *, groups: Integers | None = None) -> Pilot:
    """Return a pilot's variance components.

    Parameters
    ----------
    counts : BucketCounts
        Size and number of right (for ``inconsistency`` of violating) rows of each bucket; sizes may differ.
    measure : str
        One of `MEASURES`.
    groups : ndarray of int, shape (n_buckets,), optional
        The shared context of each bucket, as codes.

    Raises
    ------
    InputError
        If fewer than two buckets have two paraphrases.

    Examples
    --------
    >>> pilot = pilot_of(BucketCounts.from_counts([4, 4, 4, 4], [4, 3, 2, 0]))
    >>> round(pilot.value, 4), [round(pilot.variance(k), 4) for k in (2, 4, 100)]
    (0.7083, [0.2066, 0.0851, 0.0608])
    """
    check_choice("plan", "measure", measure, MEASURES)
    used = np.flatnonzero(counts.size >= 2)
    if len(used) < 2:
        must, few = "have at least two buckets with two paraphrases", f"{len(used)} of {len(counts)} buckets"
        remedy = "Without them nothing is known of how paraphrases differ."
        raise input_error("plan", "pilot", must, got=few, remedy=remedy)
    k, c = counts.size[used].astype(np.float64), counts.correct[used].astype(np.float64)
    warnings = []
    if len(used) < len(counts):
        warnings.append(f"{len(counts) - len(used)} of {len(counts)} buckets have one paraphrase and say nothing here")
    if len(used) < _FEW_BUCKETS:
        warnings.append(f"only {len(used)} buckets: the plan is rough")
    codes = None if groups is None else partition(groups[used]).codes
    pairs = measure in ("paraphrastic_consistency_unbiased", "vap_unbiased")
    statistic = 2.0 * c * (k - c) / (k * (k - 1.0)) if pairs else c / k
    scale = _scale(measure)
    covariance = max(0.0, _covariance(statistic, codes)) * scale
    value = float(statistic.mean())
    moments: list[float] = []
    if pairs:
        first, second, notes = _moments(k, c)
        warnings += notes
        moments = [first, second]
        between, within = scale * (second - first**2), scale * 4.0 * (first / 2.0 - second)
        value = 1.0 - value if measure == MEASURES[0] else value / 2.0
    else:
        noise = statistic * (1.0 - statistic) / (k - 1.0)  # unbiased for the variance of a share given its problem
        within = float((k * noise).mean())
        between = max(0.0, float(statistic.var(ddof=1) - noise.mean()))
    n_clusters = len(used) if codes is None else int(codes.max()) + 1
    return Pilot(
        measure, value, between, within, moments, covariance, len(used) / n_clusters, len(used), tuple(warnings)
    )


def _scale(measure: str) -> float:
    return 0.25 if measure == "vap_unbiased" else 1.0


def _pair_variance(first: float, second: float, k: int) -> float:
    within = 4.0 * (k - 2) * (first / 2.0 - second) + 2.0 * (first - second)
    return second - first**2 + within / (k * (k - 1.0))


def _moments(k: Floats, c: Floats) -> tuple[float, float, list[str]]:
    """Return unbiased estimates of E mu and E mu^2, within what is possible."""
    first = float((2.0 * c * (k - c) / (k * (k - 1.0))).mean())
    four = k >= 4
    highest, lowest = first / 2.0, first**2  # mu <= 1/2, and a variance is not negative
    if not four.any():
        return first, highest, ["no bucket has four paraphrases: what more of them would gain is put at its least"]
    n, right = k[four], c[four]
    wrong = n - right
    quadruples = 4.0 * right * (right - 1.0) * wrong * (wrong - 1.0) / (n * (n - 1.0) * (n - 2.0) * (n - 3.0))
    return first, min(max(float(quadruples.mean()), lowest), highest), []


def _covariance(statistic: Floats, groups: Integers | None) -> float:
    """Return what resemblance within groups adds to the variance of a mean over buckets, times their number."""
    if groups is None or int(groups.max()) + 1 >= len(groups):
        return 0.0
    rows = np.stack([np.ones_like(statistic), statistic], axis=1)
    grouped, alone = (
        float(standard_errors(Units.unstratified(sums, np.ones(len(sums))), mean_of_sums)[0])
        for sums in (sums_by_group(rows, groups), rows)
    )
    return len(statistic) * (grouped**2 - alone**2)


def half_width(pilot: Pilot, n_buckets: int, paraphrases: int, *, confidence_level: float = 0.95) -> float:
    """Return the expected half-width of the measure's interval with B buckets of k paraphrases.

    The t interval's; the bootstrap's is the same but for its own noise. That of a small share is Korn and
    Graubard's, a little wider.
    """
    return pilot.t(n_buckets, confidence_level) * math.sqrt(max(pilot.variance(paraphrases), 0.0) / n_buckets)


def buckets_for_half_width(pilot: Pilot, wanted: float, paraphrases: int, *, confidence_level: float = 0.95) -> int:
    """Return the least number of buckets whose interval is expected to be at most `wanted` on either side."""
    return _least(lambda n: half_width(pilot, n, paraphrases, confidence_level=confidence_level) <= wanted)


def buckets_for_difference(
    pilot: Pilot,
    difference: float,
    paraphrases: int,
    *,
    power: float = 0.8,
    confidence_level: float = 0.95,
    correlation: float = 0.0,
    other: Pilot | None = None,
) -> int:
    """Return the least number of common buckets that show a true difference of two models with this power.

    Parameters
    ----------
    pilot, other : Pilot
        The two models'; without `other` the second varies as the first.
    difference : float
        The true difference to be found, above 0.
    correlation : float
        Of the two models' values over the same buckets, in (-1, 1): what is hard for both. 0 is cautious.
    power : float
        Chance of an interval that excludes 0, in (0, 1).
    """
    one, two = pilot.variance(paraphrases), (other or pilot).variance(paraphrases)
    variance = max(one + two - 2.0 * correlation * math.sqrt(max(one * two, 0.0)), 0.0)
    z = float(ndtri(power))

    return _least(lambda n: (pilot.t(n, confidence_level) + z) * math.sqrt(variance / n) <= difference)


def _least(enough: Callable[[int], bool]) -> int:
    """Return the least n of at least 2 that is enough, by doubling and bisection; `enough` is monotone."""
    high = 2
    while not enough(high):
        high *= 2
        if high > _MOST_BUCKETS:
            must, remedy = "be reachable with 100 million buckets", "Ask for a wider interval."
            raise input_error("plan", "half_width", must, remedy=remedy)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return max(high, 2)


def plan(
    pilot: Pilot,
    *,
    half_width: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    confidence_level: float = 0.95,
    correlation: float = 0.0,
    other: Pilot | None = None,
    paraphrases: Sequence[int] = PARAPHRASES,
) -> list[PlanRow]:
    """Return buckets by paraphrases for a wanted half-width, a wanted difference, or both.

    Raises
    ------
    InputError
        If neither is given, or a number is outside its range.
    """
    if half_width is None and difference is None:
        raise input_error("plan", "half_width", "be given, or `difference`", got=None)
    for name, value in (("half_width", half_width), ("difference", difference), ("power", power)):
        if value is not None:
            check_fraction("plan", name, value)
    if not -1.0 < correlation < 1.0:
        raise input_error("plan", "correlation", "lie between -1 and 1", got=correlation)
    options = {"confidence_level": confidence_level, "power": power, "correlation": correlation}
    rows = []
    for k in paraphrases:
        check_whole("plan", "paraphrases", k, at_least=2 if pilot.moments else 1)
        of_width = of_difference = None
        if half_width is not None:
            of_width = buckets_for_half_width(pilot, half_width, k, confidence_level=confidence_level)
        if difference is not None:
            of_difference = buckets_for_difference(pilot, difference, k, other=other, **options)
        n_rows = [None if n is None else n * k for n in (of_width, of_difference)]
        rows.append(PlanRow(k, of_width, n_rows[0], of_difference, n_rows[1]))
    return rows
