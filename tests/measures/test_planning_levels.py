"""Plans over three levels: components against enumerated pairs and simulations, savings against simulated studies."""

from itertools import combinations

import numpy as np
import pytest

from paraconsist.errors import InputError
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.planning import MEASURES, Costs, Pilot, half_width, pilot_of, savings, spend

P_C, VAP, ACCURACY, INCONSISTENCY = MEASURES


def answers(rng: np.random.Generator, sizes: np.ndarray, k: int, *, context: float, problem: float) -> np.ndarray:
    """Return right rows of buckets with chances .5 +- context +- problem: components context**2, problem**2."""
    contexts = rng.choice([-context, context], len(sizes))
    chances = 0.5 + np.repeat(contexts, sizes) + rng.choice([-problem, problem], sizes.sum())
    return rng.binomial(k, chances)


def pilot_from(right: np.ndarray, k: int, sizes: np.ndarray, measure: str = ACCURACY) -> Pilot:
    counts = BucketCounts.from_counts(np.full(len(right), k), right)
    return pilot_of(counts, measure, groups=np.repeat(np.arange(len(sizes)), sizes))


@pytest.mark.parametrize("measure", [P_C, VAP, ACCURACY])
def test_components_are_means_over_pairs(measure: str) -> None:
    """Half the mean squared difference over pairs in one context, and over pairs in different ones, by enumeration."""
    rng, sizes = np.random.default_rng(0), np.array([1, 2, 5, 3, 4])
    right, groups = rng.integers(0, 6, sizes.sum()), np.repeat(np.arange(5), sizes)
    pilot = pilot_from(right, 5, sizes, measure)
    scale = {P_C: 1.0, VAP: 0.5}.get(measure)
    u = right / 5 if scale is None else scale * 2 * right * (5 - right) / 20
    apart = [(u[i] - u[j]) ** 2 / 2 for i, j in combinations(range(len(u)), 2) if groups[i] != groups[j]]
    within = {g: [(a - b) ** 2 / 2 for a, b in combinations(u[groups == g], 2)] for g in range(5) if sizes[g] > 1}
    same = sum(sizes[g] * np.mean(pairs) for g, pairs in within.items()) / sizes[sizes > 1].sum()
    assert pilot.context_variance == pytest.approx(np.mean(apart) - same, abs=1e-12)
    assert pilot.variance(5) == pytest.approx(
        np.mean(apart) + max(0.0, pilot.context_variance) * (pilot.buckets_per_context - 1), abs=1e-12
    )
    assert pilot.buckets_per_context == pytest.approx((sizes**2).sum() / sizes.sum())
    whole = np.mean(apart) + pilot.products[-1] - np.mean(u**2)  # of one kernel
    parts = pilot.wording_variance + pilot.problem_variance + pilot.context_variance
    assert parts == pytest.approx(whole, abs=1e-12)


def test_components_are_unbiased_over_unequal_contexts() -> None:
    """Over 1,500 pilots of six contexts of 1 to 12 buckets the means are the known components."""
    rng, sizes = np.random.default_rng(1), np.array([1, 2, 3, 5, 8, 12])
    seen = []
    for _ in range(1500):
        pilot = pilot_from(answers(rng, sizes, 4, context=0.2, problem=0.15), 4, sizes)
        seen.append([pilot.wording_variance, pilot.problem_variance, pilot.context_variance])
    error = np.std(seen, axis=0) / np.sqrt(len(seen))
    known = np.array([0.25 - 0.2**2 - 0.15**2, 0.15**2, 0.2**2])
    assert np.all(np.abs(np.mean(seen, axis=0) - known) < 4 * error)


def test_a_plan_for_other_contexts_is_that_of_fresh_studies() -> None:
    """From a pilot of 4 buckets a context to studies of 1, 10 and 30: the half-width is that of simulated ones."""
    rng, sizes = np.random.default_rng(2), np.full(3000, 4)
    pilot = pilot_from(answers(rng, sizes, 6, context=0.2, problem=0.1), 6, sizes)
    for n in (1, 10, 30):
        study = np.full(40, n)
        means = [answers(rng, study, 2, context=0.2, problem=0.1).mean() / 2 for _ in range(3000)]
        expected = pilot.in_contexts_of(n).t(40 * n, 0.95) * np.std(means)
        assert half_width(pilot.in_contexts_of(n), 40 * n, 2) == pytest.approx(expected, rel=0.05)


def test_a_negative_component_is_reported_and_taken_as_zero_in_plans() -> None:
    """Two buckets of each context that are never alike: less than nothing is shared."""
    sizes = np.full(20, 2)
    right = np.tile([4, 2], 20) - np.repeat(np.arange(20) % 2, 2)
    pilot = pilot_from(right, 4, sizes)
    assert pilot.context_variance < 0
    assert pilot.context_covariance == 0
    assert any("below 0" in warning and "taken as 0" in warning for warning in pilot.warnings)
    assert pilot.in_contexts_of(50).variance(4) == pilot.in_contexts_of(1).variance(4)


def test_savings_are_those_of_fresh_studies() -> None:
    """Fewer wordings, buckets or contexts: the ratio of standard deviations of simulated studies."""
    rng, sizes = np.random.default_rng(3), np.full(2000, 12)
    pilot = pilot_from(answers(rng, sizes, 20, context=0.15, problem=0.2), 20, sizes)
    rows = savings(pilot, buckets=480)
    assert [row.paraphrases for row in rows] == [2, 3, 4, 5, 6, 8, 10, 15, 20]
    whole = rows[-1]
    assert (whole.calls, whole.share, whole.widening, whole.widening_by_contexts) == (9600, 1.0, 1.0, 1.0)
    (row,) = (row for row in rows if row.paraphrases == 5)
    assert (row.calls, row.share) == (2400, 0.25)

    def spread(n_contexts: int, n: int, k: int) -> float:
        study = np.full(n_contexts, n)
        return float(np.std([answers(rng, study, k, context=0.15, problem=0.2).mean() / k for _ in range(3000)]))

    full = spread(40, 12, 20)
    assert row.widening == pytest.approx(spread(40, 12, 5) / full, rel=0.05)
    assert row.widening_by_buckets == pytest.approx(spread(40, 3, 20) / full, rel=0.05)
    assert row.widening_by_contexts == pytest.approx(
        spread(10, 12, 20) / full * pilot.t(120, 0.95) / pilot.t(480, 0.95), rel=0.05
    )
    assert row.half_width == pytest.approx(row.widening * half_width(pilot, 480, 20), rel=0.01)
    assert row.saves


def test_the_widening_from_small_pilots_has_an_unbiased_logarithm() -> None:
    """Ten contexts say little of their variance: the mean logarithm of the estimates alone is several errors off."""
    rng, options = np.random.default_rng(4), {"context": 0.08, "problem": 0.05}
    sizes, logs = np.full(10, 10), []
    within = 0.25 - options["context"] ** 2 - options["problem"] ** 2
    exact = np.sqrt(options["problem"] ** 2 + 10 * options["context"] ** 2 + within / np.array([2, 20]))
    for _ in range(500):
        pilot = pilot_from(answers(rng, sizes, 20, **options), 20, sizes)
        logs.append(np.log([savings(pilot)[0].widening, np.sqrt(pilot.variance(2) / pilot.variance(20))]))
    corrected, alone = (np.mean(logs, axis=0) - np.log(exact[0] / exact[1])) / np.std(logs, axis=0) * np.sqrt(500)
    assert abs(corrected) < 3 < alone


def test_where_buckets_share_nothing_there_is_no_saving() -> None:
    """Coins: two of twenty wordings have 190 times the variance of a P_C, for a tenth of the calls."""
    rng, sizes = np.random.default_rng(5), np.full(4000, 5)
    rows = savings(pilot_from(rng.binomial(20, 0.5, 20_000), 20, sizes, P_C))
    assert rows[0].widening == pytest.approx(np.sqrt(190), rel=0.1)
    assert not any(row.saves for row in rows)


def test_a_budget_for_contexts_buys_the_most_precise_design() -> None:
    """The best of every design that the budget pays for, by trying all of them."""
    rng, sizes = np.random.default_rng(6), np.full(300, 6)
    pilot = pilot_from(answers(rng, sizes, 6, context=0.15, problem=0.2), 6, sizes)
    for costs, most in ((Costs(1.0, 0.5, context=20.0), None), (Costs(1.0, 0.5), 30), (Costs(2.0, 1.0, 5.0), 25)):
        best = {}
        for k in (2, 5):
            designs = {}
            for n in range(1, 200):
                n_contexts = min(
                    int(1500 // (costs.context + n * (costs.bucket + k * costs.paraphrase))), most or 10**9
                )
                if n_contexts >= 2:
                    designs[n] = half_width(pilot.in_contexts_of(n), n * n_contexts, k)
            best[k] = min(designs.values())
        for row in spend(pilot, 1500, costs=costs, paraphrases=[2, 5], max_contexts=most):
            assert row.contexts is not None
            assert row.buckets == row.contexts * row.buckets_per_context
            assert costs.of(row.buckets, row.paraphrases, row.contexts) <= 1500
            assert row.contexts <= (most or row.contexts)
            assert row.half_width == pytest.approx(best[row.paraphrases], rel=0.01)


def test_levels_that_a_pilot_does_not_have() -> None:
    pilot = pilot_of(BucketCounts.from_counts(np.full(50, 5), np.arange(50) % 6))
    assert (pilot.context_variance, pilot.buckets_per_context) == (0.0, 1.0)
    assert all(row.widening_by_buckets is None for row in savings(pilot))
    for given in ({"costs": Costs(context=2.0)}, {"max_contexts": 10}):
        with pytest.raises(InputError, match="shared contexts"):
            spend(pilot, 500, **given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="shared contexts"):
        pilot.in_contexts_of(5)
