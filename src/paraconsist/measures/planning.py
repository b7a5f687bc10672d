"""How many buckets, and how many paraphrases in each, from what a pilot says of a measure's variance.

A plan promises, and both promises allow for a pilot that is itself a sample:

* a half-width: a share `assurance` of studies of the planned size have an interval no wider. A study's own variance
  goes like a chi-square over its degrees of freedom (fewer where buckets have long tails), and so does the pilot's:
  their ratio has an F distribution, whose quantile takes the place of 1. Planned for the mean, half would have it.
* a power: with the pilot's variance in place of the true one, the power is a noncentral t probability, and its quantile
  takes the place of z + z.

Studies are taken to use t intervals over buckets, or over shared contexts, with as many degrees of freedom as there are
of them less one. Korn and Graubard's intervals of small shares are a little wider.

Sources: Beal (1989), "Sample size determination for confidence intervals on the population mean and on the difference
between two population means", Biometrics 45, 969-977 (half-widths); Julious, Owen (2006), "Sample size calculations for
clinical studies allowing for uncertainty about the variance", Pharmaceutical Statistics 5, 29-37 (power).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from scipy.special import fdtri, nctdtrit

from paraconsist.errors import check_fraction, check_whole, input_error
from paraconsist.measures.pilots import Pilot
from paraconsist.measures.results import Record

PARAPHRASES = (2, 3, 4, 5, 6, 8, 10, 15, 20)
_MOST_BUCKETS = 10**8


@dataclass(frozen=True)
class Target:
    """What a study is to achieve."""

    confidence_level: float = 0.95  # of intervals
    assurance: float = 0.8  # the share of studies whose half-width is to be no larger than planned
    power: float = 0.8  # the chance of an interval of the difference that excludes 0
    #: Of two models' true values over the same buckets, in (-1, 1): what is hard for both. 0 is cautious. It is not
    #: read where there is a pilot of the difference, and saves nothing where `Pilot.between_variance` is nan.
    correlation: float = 0.0

    def __post_init__(self) -> None:
        for name in ("confidence_level", "assurance", "power"):
            check_fraction("plan", name, getattr(self, name))
        if not -1.0 < self.correlation < 1.0:
            raise input_error("plan", "correlation", "lie between -1 and 1", got=self.correlation)


@dataclass(frozen=True)
class Costs:
    """What a study costs: a bucket beside its paraphrases, and each paraphrase, in one unit."""

    bucket: float = 1.0
    paraphrase: float = 1.0

    def of(self, n_buckets: int, paraphrases: int) -> float:
        """Return the cost of so many buckets of so many paraphrases."""
        return n_buckets * (self.bucket + paraphrases * self.paraphrase)


@dataclass(frozen=True)
class PlanRow(Record):
    """What it takes with `paraphrases` in each bucket (rows: buckets times these); None where it was not asked for."""

    paraphrases: int
    buckets_for_half_width: int | None
    rows_for_half_width: int | None
    cost_for_half_width: float | None
    buckets_for_difference: int | None
    rows_for_difference: int | None
    cost_for_difference: float | None


@dataclass(frozen=True)
class BudgetRow(Record):
    """What a budget buys with `paraphrases` in each bucket."""

    paraphrases: int
    buckets: int
    rows: int
    half_width: float  # expected
    assured_half_width: float  # which the share `assurance` of such studies do not exceed
    difference: float  # the least true difference of two models that is found with the power


def half_width(
    pilot: Pilot, n_buckets: int, paraphrases: int, *, confidence_level: float = 0.95, assurance: float | None = None
) -> float:
    """Return the half-width of the measure's interval with B buckets of k paraphrases.

    The expected one; with `assurance` the one that this share of studies do not exceed.
    """
    variance = pilot.variance(paraphrases)
    if assurance is not None:
        variance, degrees = pilot.bound(paraphrases)
        variance *= float(fdtri(pilot.study_degrees_of_freedom(n_buckets, paraphrases), degrees, assurance))
    return pilot.t(n_buckets, confidence_level) * math.sqrt(variance / n_buckets)


def detectable_difference(
    pilot: Pilot, n_buckets: int, paraphrases: int, target: Target | None = None, *, of_difference: Pilot | None = None
) -> float:
    """Return the least true difference of two models that B common buckets of k paraphrases show with the power.

    `pilot` is the first model's; the second is taken to vary alike, and to correlate with it as `target` says.
    `of_difference`, from both models on the same buckets (`paraconsist.measures.pilots.pilot_of_difference`), stands in
    for it.
    """
    target = target or Target()
    variance, degrees = (of_difference or pilot).bound(paraphrases)
    if of_difference is None:
        variance = 2.0 * (variance - target.correlation * pilot.lasting_variance)
    t = (of_difference or pilot).t(n_buckets, target.confidence_level)
    quantile = float(nctdtrit(degrees, t, target.power))
    return quantile * math.sqrt(variance / n_buckets)


def plan(
    pilot: Pilot,
    *,
    half_width: float | None = None,
    difference: float | None = None,
    target: Target | None = None,
    of_difference: Pilot | None = None,
    paraphrases: Sequence[int] = PARAPHRASES,
    costs: Costs | None = None,
) -> list[PlanRow]:
    """Return the least buckets by paraphrases for a wanted half-width, a wanted difference, or both.

    InputError if neither is given, a number is outside its range, or the pilot has no spread.
    """
    if half_width is None and difference is None:
        raise input_error("plan", "half_width", "be given, or `difference`, or `budget`", got=None)
    for name, value in (("half_width", half_width), ("difference", difference)):
        if value is not None:
            check_fraction("plan", name, value)
    target, costs = target or Target(), costs or Costs()
    rows = []
    for k in _checked(paraphrases, pilot, of_difference):
        sizes: list[int | None] = [None, None]
        if half_width is not None:
            sizes[0] = _least("half_width", half_width, partial(_assured, pilot, k=k, target=target))
        if difference is not None:
            smallest = partial(detectable_difference, pilot, paraphrases=k, target=target, of_difference=of_difference)
            sizes[1] = _least("difference", difference, smallest)
        of_width, of_finding = ((None, None, None) if n is None else (n, n * k, costs.of(n, k)) for n in sizes)
        rows.append(PlanRow(k, *of_width, *of_finding))
    return rows


def spend(
    pilot: Pilot,
    budget: float,
    *,
    target: Target | None = None,
    of_difference: Pilot | None = None,
    paraphrases: Sequence[int] = PARAPHRASES,
    costs: Costs | None = None,
) -> list[BudgetRow]:
    """Return what a budget buys with each number of paraphrases that leaves it two buckets or more.

    InputError if it pays for two buckets with none of them, or nothing costs anything.
    """
    target, costs = target or Target(), costs or Costs()
    if min(costs.bucket, costs.paraphrase) < 0 or costs.bucket + costs.paraphrase <= 0:
        raise input_error("plan", "bucket_cost", "be above 0, or `paraphrase_cost`", got=costs.bucket)
    rows = []
    for k in _checked(paraphrases, pilot, of_difference):
        n = int(min(budget / costs.of(1, k), _MOST_BUCKETS))
        if n >= 2:
            width = half_width(pilot, n, k, confidence_level=target.confidence_level)
            difference = detectable_difference(pilot, n, k, target, of_difference=of_difference)
            rows.append(BudgetRow(k, n, n * k, width, _assured(pilot, n, k, target), difference))
    if not rows:
        raise input_error("plan", "budget", "pay for at least two buckets", got=budget)
    return rows


def _assured(pilot: Pilot, n_buckets: int, k: int, target: Target) -> float:
    return half_width(pilot, n_buckets, k, confidence_level=target.confidence_level, assurance=target.assurance)


def _checked(paraphrases: Sequence[int], pilot: Pilot, of_difference: Pilot | None) -> Sequence[int]:
    """Return the numbers of paraphrases, or raise where a pilot says nothing of one."""
    for one in (pilot, of_difference or pilot):
        for k in paraphrases:
            check_whole("plan", "paraphrases", k, at_least=len(one.products) - 1)
            if one.variance(k) <= 0.0:
                must, got = "differ between buckets or paraphrases", f"{one.value:g} in all {one.n_buckets} buckets"
                raise input_error("plan", "pilot" if one is pilot else "against", must, got=got)
    return paraphrases


def _least(parameter: str, wanted: float, reached: Callable[[int], float]) -> int:
    """Return the least n of at least 2 with ``reached(n) <= wanted``, which falls with n, by doubling and bisection."""
    high = 2
    while not reached(high) <= wanted:  # also where a tiny pilot has no quantile
        high *= 2
        if high > _MOST_BUCKETS:
            must = "be reachable with 100 million buckets"
            raise input_error(
                "plan", parameter, must, got=wanted, remedy="Ask for a larger one, or take a larger pilot."
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) <= wanted else (middle, high)
    return max(high, 2)
