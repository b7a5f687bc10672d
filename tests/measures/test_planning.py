"""The planner: sizes against each other, and what it promises against simulated studies of the planned size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.scripts import load_script
from scipy.special import stdtrit

from paraconsist.errors import InputError
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.planning import (
    MEASURES,
    Costs,
    Target,
    detectable_difference,
    half_width,
    pilot_of,
    pilot_of_difference,
    plan,
    spend,
)

simulation: Any = load_script("benchmarks/planning.py")
P_C, VAP, ACCURACY, INCONSISTENCY = MEASURES


def drawn(rng: np.random.Generator, n: int, k: int, shape: tuple[float, float] = (2.0, 1.0)) -> BucketCounts:
    return BucketCounts.from_counts(np.full(n, k), rng.binomial(k, rng.beta(*shape, n)))


@pytest.mark.parametrize("measure", [P_C, VAP, ACCURACY])
@pytest.mark.parametrize(("n", "k"), [(200, 2), (300, 5), (150, 12)])
def test_half_widths_are_those_of_fresh_studies(measure: str, n: int, k: int) -> None:
    """A large pilot of 4 to 8 paraphrases gives the mean of other studies' half-widths, and their quantiles."""
    rng = np.random.default_rng(0)
    size = rng.integers(4, 9, 20_000)
    pilot = pilot_of(BucketCounts.from_counts(size, rng.binomial(size, rng.beta(2, 1, 20_000))), measure)
    right = rng.binomial(k, rng.beta(2, 1, (2000, n)))
    values = (
        right / k if measure == ACCURACY else 2 * right * (k - right) / (k * (k - 1)) * (1 if measure == P_C else 0.5)
    )
    fresh = stdtrit(n - 1, 0.975) * values.std(axis=1, ddof=1) / np.sqrt(n)
    assert half_width(pilot, n, k) == pytest.approx(fresh.mean(), rel=0.02)
    for assurance in (0.2, 0.8, 0.95):
        share = float(np.mean(fresh <= half_width(pilot, n, k, assurance=assurance)))
        assert share == pytest.approx(assurance, abs=0.1)


@pytest.mark.parametrize(("k", "studies"), [(2, 2000), (4, 4000), (20, 8000)])
def test_power_at_another_number_of_paraphrases(k: int, studies: int) -> None:
    """From 20 paraphrases to k (N9): with the pilot's correlation, not its covariance, .80 was .46 at 2, .56 at 4."""
    design = simulation.DESIGNS[f"P_C, 20 to {k}"]
    rng = np.random.default_rng(k)
    pilot, of_difference = simulation.pilots(design, rng, 20_000)
    (row,) = plan(
        pilot, difference=abs(simulation.true_difference(design)), of_difference=of_difference, paraphrases=[k]
    )
    power, _ = simulation.studies(design, rng, row.buckets_for_difference, studies)
    assert power == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("name", list(simulation.DESIGNS))
def test_promises_from_small_pilots(name: str) -> None:
    """The short form of `benchmarks/planning.py`: within 3 points, and two standard errors of 40 pilots."""
    design = simulation.DESIGNS[name]
    power, narrow, *_ = simulation.kept(design, 40, 10, seed=1)
    assert power == pytest.approx(design.power, abs=0.03 + 0.05)
    assert narrow >= design.assurance - 0.03 - 0.08


def test_half_widths_that_were_promised_on_average_were_met_by_half() -> None:
    """I8: the expected half-width is met by about half of the studies, the assured one by the share asked for."""
    rng = np.random.default_rng(8)
    met = np.zeros(2)
    for _ in range(200):
        pilot = pilot_of(drawn(rng, 100, 5))
        sizes = [row.buckets for row in spend(pilot, 1000, paraphrases=[4])]
        widths = half_width(pilot, sizes[0], 4), half_width(pilot, sizes[0], 4, assurance=0.8)
        right = rng.binomial(4, rng.beta(2, 1, (20, sizes[0])))
        fresh = (right * (4 - right) / 6).std(axis=1, ddof=1) * stdtrit(sizes[0] - 1, 0.975) / np.sqrt(sizes[0])
        met += [np.mean(fresh <= width) / 200 for width in widths]
    assert 0.4 < met[0] < 0.6
    assert 0.77 < met[1] < 0.9


def test_plans_are_monotone_and_least() -> None:
    pilot = pilot_of(drawn(np.random.default_rng(4), 300, 5))
    rows = plan(pilot, half_width=0.03, difference=0.05)
    n = [row.buckets_for_half_width for row in rows]
    assert n == sorted(n, reverse=True)  # type: ignore[type-var]
    first = rows[0]
    assert first.buckets_for_half_width is not None
    assert first.buckets_for_difference is not None
    assert half_width(pilot, first.buckets_for_half_width, first.paraphrases, assurance=0.8) <= 0.03
    assert half_width(pilot, first.buckets_for_half_width - 1, first.paraphrases, assurance=0.8) > 0.03
    assert detectable_difference(pilot, first.buckets_for_difference, first.paraphrases) <= 0.05
    assert detectable_difference(pilot, first.buckets_for_difference - 1, first.paraphrases) > 0.05
    more = plan(pilot, half_width=0.03, difference=0.05, target=Target(assurance=0.95, power=0.95))
    assert all(a.buckets_for_half_width > b.buckets_for_half_width for a, b in zip(more, rows, strict=True))  # type: ignore[operator]
    assert all(a.buckets_for_difference > b.buckets_for_difference for a, b in zip(more, rows, strict=True))  # type: ignore[operator]


def test_a_smaller_pilot_needs_a_larger_study() -> None:
    """The same shares of the same buckets: what the pilot does not know is paid for."""
    counts = drawn(np.random.default_rng(6), 50, 5)
    small, large = pilot_of(counts), pilot_of(counts.take(np.tile(np.arange(50), 40)))
    for a, b in zip(
        plan(small, half_width=0.03, difference=0.05), plan(large, half_width=0.03, difference=0.05), strict=True
    ):
        assert (a.buckets_for_half_width or 0) > (b.buckets_for_half_width or 0)
        assert (a.buckets_for_difference or 0) > (b.buckets_for_difference or 0)


def test_without_a_second_pilot_models_correlate_in_their_true_values() -> None:
    """The covariance is the correlation times what no paraphrase can take away, so it does not grow at small k."""
    pilot = pilot_of(drawn(np.random.default_rng(7), 2000, 8))
    for k in (2, 20):
        apart, alike = (detectable_difference(pilot, 500, k, Target(correlation=r)) for r in (0.0, 0.5))
        saved = pilot.between_variance / (2 * pilot.variance(k))
        assert (alike / apart) ** 2 == pytest.approx(1 - saved, rel=1e-6)
    three = pilot_of(drawn(np.random.default_rng(7), 2000, 3))  # says nothing of true values
    assert math.isnan(three.between_variance)
    apart, alike = (detectable_difference(three, 500, 3, Target(correlation=r)) for r in (0.0, 0.5))
    assert alike == apart


def test_a_budget_buys_what_the_plan_costs() -> None:
    pilot = pilot_of(drawn(np.random.default_rng(9), 300, 5))
    costs = Costs(bucket=5.0, paraphrase=0.5)
    for row in spend(pilot, 3000, costs=costs):
        assert row.buckets == int(3000 / (5 + row.paraphrases / 2))
        assert row.rows == row.buckets * row.paraphrases
        assert row.half_width < row.assured_half_width
        (planned,) = plan(
            pilot,
            half_width=row.assured_half_width,
            difference=row.difference,
            paraphrases=[row.paraphrases],
            costs=costs,
        )
        assert (planned.buckets_for_half_width, planned.buckets_for_difference) == (row.buckets, row.buckets)
        assert planned.cost_for_half_width == costs.of(row.buckets, row.paraphrases) <= 3000
    cheap = [
        min(spend(pilot, 3000, costs=Costs(c, 1.0)), key=lambda row: row.half_width).paraphrases for c in (0, 5, 50)
    ]
    assert cheap == sorted(cheap)
    assert cheap[0] < cheap[-1]  # the dearer a bucket, the more paraphrases each


def test_bad_plans() -> None:
    pilot = pilot_of(drawn(np.random.default_rng(5), 50, 4))
    for options, parameter in [
        ({}, "half_width"),
        ({"half_width": 2.0}, "half_width"),
        ({"half_width": 1e-6}, "half_width"),
        ({"difference": 1e-6}, "difference"),
        ({"difference": 0.1, "paraphrases": [1]}, "paraphrases"),
    ]:
        with pytest.raises(InputError) as problem:
            plan(pilot, **options)  # type: ignore[arg-type]
        assert problem.value.parameter == parameter
    for options, parameter in [
        ({"power": 1.0}, "power"),
        ({"assurance": 0.0}, "assurance"),
        ({"correlation": 1.0}, "correlation"),
    ]:
        with pytest.raises(InputError) as problem:
            Target(**options)  # type: ignore[arg-type]
        assert problem.value.parameter == parameter
    with pytest.raises(InputError, match="`budget` must pay for at least two buckets"):
        spend(pilot, 3.0)
    with pytest.raises(InputError, match="`bucket_cost` must be above 0"):
        spend(pilot, 3.0, costs=Costs(0.0, 0.0))


def test_pilots_that_say_nothing() -> None:
    """Buckets that are all alike have variance 0, and two buckets would do: refused."""
    steady = BucketCounts.from_counts(np.full(60, 4), np.full(60, 4))
    with pytest.raises(InputError, match="`pilot` must differ between buckets"):
        plan(pilot_of(steady), half_width=0.02)
    some = drawn(np.random.default_rng(1), 60, 4)
    same = pilot_of_difference(some, some, both=some.correct)
    with pytest.raises(InputError, match="`against` must differ between buckets"):
        plan(pilot_of(some), difference=0.02, of_difference=same)
