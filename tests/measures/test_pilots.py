"""Pilots: every product against its definition, variances at other sizes against all subsets of the rows."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from paraconsist.errors import InputError
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.paraphrastic import measures_of_counts
from paraconsist.measures.planning import MEASURES, Pilot, pilot_of, pilot_of_difference

P_C, VAP, ACCURACY, _ = MEASURES
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
    shared, apart = paired(first, second, ACCURACY), pilot_of_difference(counted(first), counted(second), ACCURACY)
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
    with pytest.raises(InputError, match="measure"):
        pilot_of(two, "f1")


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
