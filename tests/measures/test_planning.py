"""The planner: sizes against each other, and what it promises against simulated studies of the planned size."""

import math
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from helpers.errors import refuses
from helpers.scripts import load_script
from scipy import stats
from scipy.special import stdtrit

from paraconsist.errors import InputError
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.paraphrastic import measures_of_counts, paraphrastic_consistency
from paraconsist.measures.planning import (
    MEASURES,
    Costs,
    Pilot,
    Target,
    detectable_difference,
    half_width,
    pilot_of,
    pilot_of_changes,
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
    for row in rows:
        k, n_width, n_found = row.paraphrases, row.buckets_for_half_width or 0, row.buckets_for_difference or 0
        assert (row.rows_for_half_width, row.rows_for_difference) == (n_width * k, n_found * k)
        widths = [half_width(pilot, n, k, assurance=0.8) for n in (n_width, n_width - 1)]
        assert widths[0] <= 0.03 < widths[1]
        assert detectable_difference(pilot, n_found, k) <= 0.05 < detectable_difference(pilot, n_found - 1, k)
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
    refuses("`budget` must pay for at least 10 buckets", spend, pilot, 3.0)
    refuses("`bucket_cost` must be above 0", spend, pilot, 3.0, costs=Costs(0.0, 0.0))


def test_pilots_that_say_nothing() -> None:
    """Buckets that are all alike have variance 0, and two buckets would do: refused."""
    steady = BucketCounts.from_counts(np.full(60, 4), np.full(60, 4))
    refuses("`pilot` must differ between buckets", plan, pilot_of(steady), half_width=0.02)
    some = drawn(np.random.default_rng(1), 60, 4)
    same = pilot_of_difference(some, some, both=some.correct)
    with pytest.raises(InputError, match="`against` must differ between buckets") as problem:
        plan(pilot_of(some), difference=0.02, of_difference=same)
    assert problem.value.got == "0 in all 60 buckets"  # it said -0


# ---------- Pilots: every product against its definition, variances at other sizes against all subsets of the rows

Rows = list[np.ndarray]


def answers(seed: int, n: int, sizes: tuple[int, int]) -> tuple[Rows, Rows]:
    """Return two models' right and wrong answers to the same rows, bucket by bucket; they are alike."""
    rng = np.random.default_rng(seed)
    first, second = [], []
    for _ in range(n):
        u = rng.random(int(rng.integers(sizes[0], sizes[1] + 1)))
        first.append((u < rng.beta(2, 1)).astype(int))
        second.append(np.where(rng.random(len(u)) < 0.3, rng.random(len(u)), u) < rng.choice([0.1, 0.6, 1.0]))
    return first, [right.astype(int) for right in second]


def counted(rows: Rows) -> BucketCounts:
    return BucketCounts.from_counts([len(right) for right in rows], [int(right.sum()) for right in rows])


def paired(first: Rows, second: Rows, measure: str) -> Pilot:
    both = np.array([int((one & two).sum()) for one, two in zip(first, second, strict=True)])
    return pilot_of_difference(counted(first), counted(second), measure, both=both)


def value(right: np.ndarray, measure: str) -> float:
    """Return a bucket's statistic by its definition: over all pairs, or over all rows."""
    if measure not in (P_C, VAP):
        return float(right.mean())
    differ = float(np.mean([a != b for a, b in combinations(right.tolist(), 2)]))
    return differ if measure == P_C else differ / 2


@pytest.mark.parametrize("measure", [P_C, VAP, ACCURACY])
def test_products_are_means_over_all_choices_of_rows(measure: str) -> None:
    """e_j is the mean product of two kernels that share j rows, over every ordered choice of different rows."""
    first, second = answers(0, 20, (4, 6))
    m = 1 if measure == ACCURACY else 2
    scale = 0.5 if measure == VAP else 1.0

    def kernel(right: np.ndarray, at: tuple[int, ...]) -> float:
        return float(right[at[0]]) if m == 1 else scale * float(right[at[0]] != right[at[1]])

    for one, two, pilot in [
        (first, [np.zeros_like(right) for right in first], pilot_of(counted(first), measure)),
        (first, second, paired(first, second, measure)),
    ]:
        for j in range(m + 1):
            means = []
            for a, b in zip(one, two, strict=True):
                products = [
                    (kernel(a, at[:m]) - kernel(b, at[:m])) * (kernel(a, at[m - j :][:m]) - kernel(b, at[m - j :][:m]))
                    for at in permutations(range(len(a)), 2 * m - j)
                ]
                means.append(np.mean(products))
            assert pilot.products[j] == pytest.approx(np.mean(means), abs=1e-12)


@pytest.mark.parametrize("measure", [P_C, VAP, ACCURACY])
@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_a_smaller_study_is_a_subset_of_the_rows(measure: str, k: int) -> None:
    """V(k) is that of the statistic over all subsets of k rows, less the squared value: no model of the answers."""
    first, second = answers(1, 15, (5, 5))
    for one, two, pilot in [
        (first, None, pilot_of(counted(first), measure)),
        (first, second, paired(first, second, measure)),
    ]:
        squares = []
        for b, right in enumerate(one):
            for rows in combinations(range(5), k):
                d = value(right[list(rows)], measure) - (0 if two is None else value(two[b][list(rows)], measure))
                squares.append(d**2)
        assert pilot.variance(k) == pytest.approx(np.mean(squares) - pilot.squared_value, abs=1e-12)
    statistic = [value(right, measure) for right in first]
    assert pilot_of(counted(first), measure).variance(5) == pytest.approx(np.var(statistic, ddof=1), abs=1e-12)


def changes(seed: int, n: int, sizes: tuple[int, int]) -> list[np.ndarray]:
    """Which pairs of k answers of three differ, and some that the comparer takes for the same though no third is."""
    rng, matrices = np.random.default_rng(seed), []
    for _ in range(n):
        own = rng.choice(3, int(rng.integers(sizes[0], sizes[1] + 1)), p=rng.dirichlet([1, 1, 0.5]))
        kept = np.triu(rng.random((len(own), len(own))) < 0.8)
        matrices.append((own[:, np.newaxis] != own) & (kept | kept.T))
    return matrices


def test_products_of_wording_changes_are_means_over_all_choices_of_pairs() -> None:
    """e_j by its definition, and V(k) as that over all subsets of k wordings, for one model and for two."""
    first = changes(0, 40, (4, 6))
    rng = np.random.default_rng(1)
    second = [matrix ^ (upper | upper.T) for matrix in first for upper in [np.triu(rng.random(matrix.shape) < 0.2, 1)]]
    none = [np.zeros_like(matrix) for matrix in first]
    for other, pilot in ((none, pilot_of_changes(first)), (second, pilot_of_changes(first, second))):
        kernels = [one.astype(int) - two for one, two in zip(first, other, strict=True)]
        for j in range(3):
            at = [
                np.mean([d[a] * d[b] for a in permutations(range(len(d)), 2) for b in permutations(range(len(d)), 2)
                         if len({*a} & {*b}) == j])
                for d in kernels
            ]  # fmt: skip
            assert pilot.products[j] == pytest.approx(np.mean(at), abs=1e-12)
        statistic = [d.sum() / (len(d) * (len(d) - 1)) for d in kernels]
        assert pilot.value == pytest.approx(np.mean(statistic), abs=1e-12)
    fives = changes(2, 40, (5, 5))
    for k in (2, 3, 4, 5):
        parts = [matrix[np.ix_(rows, rows)] for matrix in fives for rows in combinations(range(5), k)]
        squares = [(part.sum() / (k * (k - 1))) ** 2 for part in parts]
        pilot = pilot_of_changes(fives)
        assert pilot.variance(k) == pytest.approx(np.mean(squares) - pilot.squared_value, abs=1e-12)
    shared, apart = (pilot_of_changes(fives, changes(3, 40, (5, 5)), same_texts=same) for same in (True, False))
    assert shared.variance(5) == pytest.approx(apart.variance(5), abs=1e-12)  # the pilot's own, either way


def test_half_widths_of_wording_changes_are_those_of_fresh_studies() -> None:
    rng, n, k = np.random.default_rng(3), 200, 3
    pilot = pilot_of_changes([own[:, np.newaxis] != own for own in answers_of_three(rng, 20_000, 5)])
    own = answers_of_three(rng, 500 * n, k).reshape(500, n, k)
    values = np.mean([own[..., i] != own[..., j] for i, j in combinations(range(k), 2)], axis=0)
    fresh = stdtrit(n - 1, 0.975) * values.std(axis=1, ddof=1) / np.sqrt(n)
    assert half_width(pilot, n, k) == pytest.approx(fresh.mean(), rel=0.02)
    assert pilot.value == pytest.approx(values.mean(), abs=0.005)


def answers_of_three(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Return k answers to each of n problems, shape (n, k); each problem has its own shares of three answers."""
    shares = rng.dirichlet([1, 1, 0.5], n).cumsum(axis=1)
    return (rng.random((n, k))[..., np.newaxis] > shares[:, np.newaxis, :2]).sum(axis=-1)


def test_the_covariance_of_two_models_stays_and_their_correlation_does_not() -> None:
    """Independent answers given the problem: V of the difference falls to what no paraphrase can take away (N9)."""
    rng = np.random.default_rng(2)
    one = rng.beta(2, 1, 100_000)
    two = np.clip(one + 0.1 * rng.standard_normal(len(one)), 0, 1)
    for measure, bucket in [(P_C, lambda t: 2 * t * (1 - t)), (ACCURACY, lambda t: t)]:
        counts = [BucketCounts.from_counts(np.full(len(t), 20), rng.binomial(20, t)) for t in (one, two)]
        pilot = pilot_of_difference(*counts, measure)
        assert pilot.between_variance == pytest.approx(np.var(bucket(one) - bucket(two)), rel=0.05)
        correlations = []
        for k in (2, 4, 40):
            fresh = [rng.binomial(k, t) for t in (one, two)]
            values = [2 * c * (k - c) / (k * (k - 1)) if measure == P_C else c / k for c in fresh]
            assert pilot.variance(k) == pytest.approx(np.var(values[0] - values[1]), rel=0.03)
            correlations.append(float(np.corrcoef(values)[0, 1]))
        assert correlations[0] < correlations[1] - 0.1 < correlations[2] - 0.2


def test_answers_to_the_same_texts_vary_together() -> None:
    """What two answers to one text have in common goes with k; taken for independent, it would stay."""
    first, second = answers(3, 4000, (6, 6))
    shared, apart = (
        paired(first, second, ACCURACY),
        pilot_of_difference(counted(first), counted(second), ACCURACY),
    )
    assert shared.variance(6) == pytest.approx(apart.variance(6), abs=1e-12)  # the pilot's own, either way
    fresh = [float(one.mean() - two.mean()) for one, two in zip(*answers(4, 8000, (2, 2)), strict=True)]
    assert shared.variance(2) == pytest.approx(np.var(fresh), rel=0.05)
    assert apart.variance(2) > 1.05 * np.var(fresh)


def test_without_four_paraphrases_the_plan_is_cautious() -> None:
    rng = np.random.default_rng(2)
    theta = rng.beta(2, 1, 5000)
    three, six = (pilot_of(BucketCounts.from_counts(np.full(5000, k), rng.binomial(k, theta))) for k in (3, 6))
    assert three.variance(3) == pytest.approx(six.variance(3), rel=0.05)
    assert three.variance(10) > six.variance(10)
    assert [warning[:31] for warning in three.warnings] == ["no bucket has four paraphrases:"]
    first, second = answers(4, 200, (2, 2))
    assert paired(first, second, P_C).variance(10) == pytest.approx(paired(first, second, P_C).variance(2))


def test_the_kurtosis_is_that_of_what_buckets_add() -> None:
    counts = BucketCounts.from_counts(np.full(80, 6), np.random.default_rng(2).binomial(6, 0.9, 80))
    assert pilot_of(counts, ACCURACY).kurtosis == pytest.approx(stats.kurtosis(counts.correct, fisher=False))


def test_buckets_of_too_few_rows_add_nothing_to_the_error_of_a_product() -> None:
    """Of two pairs without a row in common both differ in two of three choices of four rows, two of them right."""
    right = [4, 3, 2, 2, 1, 0, 2, 4, 2, 2]
    counts = BucketCounts.from_counts([4] * 10 + [2] * 5, [*right, 2, 1, 1, 0, 2])
    apart = np.array([2 / 3 if count == 2 else 0.0 for count in right])
    error = ((apart - apart.mean()) ** 2).sum() / 10**2
    assert pilot_of(counts, P_C).covariance[2, 2] == pytest.approx(error * 15 / 14)


def test_shared_contexts_add_their_covariance() -> None:
    rng = np.random.default_rng(1)
    counts = BucketCounts.from_counts(np.full(400, 6), rng.binomial(6, rng.beta(2, 1, 400)))
    twice = counts.take(np.repeat(np.arange(400), 2))  # every bucket once more in its context
    alone, grouped = pilot_of(twice), pilot_of(twice, groups=np.repeat(np.arange(400), 2))
    assert grouped.variance(6) / alone.variance(6) == pytest.approx(2.0, rel=0.1)
    assert (grouped.n_clusters, grouped.clusters(100)) == (400, 50)
    assert grouped.degrees_of_freedom(6) < 0.7 * alone.degrees_of_freedom(6)


@pytest.mark.parametrize("measure", [P_C, ACCURACY])
def test_degrees_of_freedom_are_those_of_fresh_variances(measure: str) -> None:
    """2 V^2 over the variance of V, of pilots at their own size and at another, and of studies of 60 buckets."""
    rng = np.random.default_rng(5)

    def fresh(n: int, k: int) -> Pilot:
        return pilot_of(BucketCounts.from_counts(np.full(n, k), rng.binomial(k, rng.beta(4, 1, n))), measure)

    large = fresh(20_000, 6)
    for k in (6, 12):
        estimates = np.array([fresh(60, 6).variance(k) for _ in range(400)])
        seen = 2 * estimates.mean() ** 2 / estimates.var()
        assert large.degrees_of_freedom(k) * 60 / 20_000 == pytest.approx(seen, rel=0.2)
    for k, near in ((3, 0.06), (12, 0.15)):  # six answers say less of the tails of twelve
        right = rng.binomial(k, rng.beta(4, 1, (4000, 60)))
        estimates = (2 * right * (k - right) / (k * (k - 1)) if measure == P_C else right / k).var(axis=1, ddof=1)
        seen = 2 * estimates.mean() ** 2 / estimates.var()
        assert large.study_degrees_of_freedom(60, k) == pytest.approx(seen, rel=near)


def test_too_small_pilots() -> None:
    with pytest.raises(InputError) as problem:
        pilot_of(BucketCounts.from_counts([1, 1, 2], [1, 0, 1]))
    assert (problem.value.parameter, problem.value.got) == ("pilot", "1 of 3 buckets")
    two = BucketCounts.from_counts([2, 2, 1], [1, 0, 1])
    with pytest.raises(InputError) as problem:
        pilot_of_difference(two, two)
    assert (problem.value.parameter, problem.value.got) == ("against", 2)
    refuses("measure", pilot_of, two, "f1")
    changed = [~np.eye(2, dtype=bool), np.zeros((2, 2), dtype=bool)]
    assert pilot_of_changes(changed).n_buckets == 2
    refuses("at least 2 buckets with two wordings; got '1 of 1", pilot_of_changes, changed[:1])
    refuses("at least 3 buckets with two wordings; got '2 of 2", pilot_of_changes, changed, changed)


def test_values() -> None:
    """A pilot's value is the measure's, and of two models the first's less the second's."""
    first, second = answers(6, 50, (3, 6))
    for measure in (P_C, VAP, ACCURACY):
        values = [measures_of_counts(counted(rows)) for rows in (first, second)]
        expected = [value["bucket_accuracy" if measure == ACCURACY else measure] for value in values]
        assert pilot_of(counted(first), measure).value == pytest.approx(expected[0], abs=1e-12)
        assert paired(first, second, measure).value == pytest.approx(expected[0] - expected[1], abs=1e-12)


def test_many_paraphrases_are_bounded_by_what_the_pilot_knows_of_few() -> None:
    """Where buckets hardly differ, two answers each leave V(20) open: it is taken to be V at fewer, not without end."""
    rng = np.random.default_rng(0)
    pilot = pilot_of(BucketCounts.from_counts(np.full(40, 2), rng.binomial(2, 0.8, 40)), ACCURACY)
    assert pilot.degrees_of_freedom(20) < 5
    variance, degrees = pilot.bound(20)
    assert variance > pilot.variance(20)
    assert degrees > 2 * pilot.degrees_of_freedom(20)
    assert pilot.bound(2) == (pilot.variance(2), pilot.degrees_of_freedom(2))


@pytest.mark.faults
def test_near_the_ceiling_the_half_width_is_that_of_the_interval_on_the_logit_scale():
    """Of 100 problems 8 are coin flips: planned by plain t intervals, 58 to 78 % of studies kept a promise of 80."""
    design = simulation.DESIGNS["P_C, near the ceiling, short"]
    _, narrow, _, _ = simulation.kept(design, 30, 20, seed=0)
    assert 0.77 <= narrow <= 0.93
    pilot = pilot_of(BucketCounts.from_counts([6] * 100, [6] * 92 + [2, 2, 3, 3, 3, 3, 4, 4]), P_C)
    plain = pilot.t(60, 0.95) * math.sqrt(pilot.variance(6) / 60)
    assert 1.05 * plain < half_width(pilot, 60, 6)


@pytest.mark.faults
def test_a_planned_study_may_find_no_problem_that_varies():
    """One wrong answer among 1,000 took 20 buckets for +-0.02, two thirds of which have +-0.084."""
    counts = BucketCounts.from_counts(np.full(200, 5), np.append(np.full(199, 5), 4))
    for measure in ("accuracy", "paraphrastic_consistency_unbiased"):
        pilot = pilot_of(counts, measure)
        for row in plan(pilot, half_width=0.02, paraphrases=[2, 5, 15]):
            k, n = row.paraphrases, row.buckets_for_half_width
            right = (np.random.default_rng(k).random((50, n, k)) < 0.999).astype(int)
            widths = []
            for study in right:
                result = paraphrastic_consistency(study.ravel(), np.ones(n * k, int), np.repeat(np.arange(n), k))
                widths.append(np.diff(result.confidence_interval[measure])[0] / 2)
            assert np.mean(np.array(widths) <= 0.02 + 1e-9) >= 0.8, (measure, k, n)


@pytest.mark.faults
def test_a_planned_study_has_an_interval():
    """Two buckets were planned for +-0.5, and five bought, which `score` gives no interval."""
    pilot = pilot_of(BucketCounts.from_counts(np.full(60, 5), np.arange(60) % 6))
    (row,) = plan(pilot, half_width=0.5, difference=0.9, target=Target(power=0.1), paraphrases=[5])
    assert (row.buckets_for_half_width, row.buckets_for_difference) == (10, 10)
    assert [row.paraphrases for row in spend(pilot, 55.0, paraphrases=[4, 5])] == [4]
    grouped = pilot_of(BucketCounts.from_counts(np.full(60, 5), np.arange(60) % 6), groups=np.arange(60) // 3)
    assert plan(grouped, half_width=0.5, paraphrases=[5])[0].buckets_for_half_width == 30


@pytest.mark.faults
@pytest.mark.parametrize("measure", ["accuracy", "paraphrastic_consistency_unbiased"])
@pytest.mark.parametrize("n", [20, 40, 80])
def test_the_expected_half_width_is_a_mean_over_studies_in_which_no_problem_varies_and_others(measure, n):
    """Of 20 buckets, of which one in 100 varies, +-.32 was expected; the mean was .085."""
    pilot = pilot_of(
        BucketCounts.from_counts(np.full(2000, 4), np.append(np.full(1980, 4), [1] * 10 + [3] * 10)), measure
    )
    varied = np.random.default_rng(n).random((100, n))
    rights = np.where(varied < 0.005, 1, np.where(varied < 0.01, 3, 4))[:, :, np.newaxis] > np.arange(4)
    widths = []
    for right in rights.astype(int):
        result = paraphrastic_consistency(right.ravel(), np.ones(4 * n, int), np.repeat(np.arange(n), 4))
        widths.append(np.diff(result.confidence_interval[measure])[0] / 2)
    assert half_width(pilot, n, 4) == pytest.approx(np.mean(widths), rel=0.12)
