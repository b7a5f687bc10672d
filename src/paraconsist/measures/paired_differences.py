"""Two models' sums over the same units to differences of measures: each with one test that gives p and interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paraconsist.measures._estimates import IntervalOptions
from paraconsist.measures._validation import Integers
from paraconsist.measures.difference_tests import BoundaryTest, DifferenceTest, Joined, ScoreTest, StudentTest
from paraconsist.measures.intervals import Intervals
from paraconsist.measures.resampling import (
    NO_SPREAD,
    Estimate,
    Floats,
    Units,
    design_effects,
    group_units,
    linearised_errors,
)
from paraconsist.measures.sign_flip import flip_tests, sign_flip_test

METHODS = ("auto", "sign_flip", "closed_form")
"""Of p and interval alike: the inverted sign-flip test (the default), or t."""

_FEW_DIFFERENT = 20  # units that differ, below which a rare difference is judged by its size as well as by its signs


class Compared(NamedTuple):
    """A measure that two models are compared by.

    `widest` is how far two values may lie apart, `denominator` the column of the sums that it is a mean over; measures
    that are no means over units (`is_mean`) are shifted as if they were.
    """

    name: str
    widest: float
    is_mean: bool = True
    denominator: int = 0


@dataclass(frozen=True)
class PairedDifferences:
    """Each model's values of q measures, and what is known of their differences, first model minus second.

    `tests` has None where nothing can be said; `p_method` is how p was found, for a signature.
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
    options: IntervalOptions,
    first: Floats,
    second: Floats,
    pattern: Integers,
    groups: Integers | None,
    estimate: Estimate,
    measures: Sequence[Compared],
    n_permutations: int,
) -> PairedDifferences:
    """Compare two models' sums in every distinct bucket, shape (p, m); `pattern` says which of these each bucket is.

    `estimate` turns sums (..., m) into `measures` (..., q). The `method` of the options is one of `METHODS`, their
    `n_resamples` the draws for the ends of intervals; `n_permutations` those for p. Buckets of one of the `groups`,
    shape (n_buckets,), stay together.
    """
    m = first.shape[1]
    both = np.concatenate([first, second], axis=1)
    buckets = Units.of(both, np.bincount(pattern, minlength=len(both)))
    units = buckets if groups is None else group_units(both, pattern, groups)

    def difference(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = estimate(sums[..., :m]) - estimate(sums[..., m:])
        return values

    total = units.total
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (np.asarray(estimate(part), dtype=np.float64) for part in (total[:m], total[m:]))
    point, df = one - two, max(1.0, units.effective_n - 1.0)
    error, _, degrees = linearised_errors(units, difference)
    tests: list[list[DifferenceTest]]
    flips = None
    if options.method == "closed_form":
        p_value, p_error = np.where(point == 0.0, 1.0, np.nan), np.zeros(len(point))
        method = p_method = "student-t"
        of_measure = [df if one.is_mean else max(1.0, min(df, d)) for one, d in zip(measures, degrees, strict=True)]
        tests = [
            [StudentTest(*each)] if each[1] > NO_SPREAD else [] for each in zip(point, error, of_measure, strict=True)
        ]
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
            tests[j].append(BoundaryTest(float(point[j]), -measure.widest, measure.widest, units.effective_n))
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
    units: Units, estimate: Estimate, measures: Sequence[Compared], point: Floats, error: Floats, df: float
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
            tests[j].append(ScoreTest(size, size * only1, size * only2, df, measure.widest))
    return tests
