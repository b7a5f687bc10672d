"""Intervals: against scipy, against drawing buckets one by one, their coverage, and their edges."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaincinv

from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.intervals import (
    Units,
    bootstrap,
    boundary_interval,
    design_effects,
    distinct,
    group_units,
    intervals,
    korn_graubard_interval,
    proportion_interval,
    standard_errors,
)
from paraconsist.measures.pairs import semantic_inconsistency
from paraconsist.measures.paraphrastic import (
    MEASURES,
    NOT_MEANS,
    RANGES,
    bucket_sums,
    measures_of_sums,
    paraphrastic_consistency,
)
from paraconsist.measures.prompt_sensitivity import prompt_sensitivity
from paraconsist.measures.trajectories import trajectory_consistency

ARE_MEANS = [name not in NOT_MEANS for name in MEASURES]
BUCKET_ACCURACY = MEASURES.index("bucket_accuracy")


def random_counts(rng: np.random.Generator, n: int) -> BucketCounts:
    size = rng.integers(1, 10, n)
    return BucketCounts.from_counts(size, rng.binomial(size, rng.beta(1, 1, n)))


def units_of(counts: BucketCounts) -> Units:
    first, _, multiplicity = distinct(counts.size, counts.correct, counts.same_label)
    return Units.of(bucket_sums(counts.take(first)), multiplicity)


def all_intervals(units: Units, **options: Any) -> Any:
    return intervals(units, measures_of_sums, list(RANGES.values()), ARE_MEANS, **options)


def test_closed_form_of_a_mean_is_the_t_interval() -> None:
    counts = random_counts(np.random.default_rng(0), 40)
    theta = counts.correct / counts.size
    found = all_intervals(units_of(counts), method="closed_form", confidence_level=0.9)
    expected = stats.ttest_1samp(theta, 0.0).confidence_interval(0.9)
    assert found.standard_error[BUCKET_ACCURACY] == pytest.approx(stats.sem(theta), rel=1e-12)
    assert found.low[BUCKET_ACCURACY] == pytest.approx(expected.low, rel=1e-10)
    assert found.high[BUCKET_ACCURACY] == pytest.approx(expected.high, rel=1e-10)
    skewed = all_intervals(units_of(counts), method="closed_form", confidence_level=0.9, skewed=True)
    degrees = 40 / stats.kurtosis(theta, fisher=False)  # the two parts, (kurtosis - 1) / 40 and 1 / 40, add up
    half = stats.t.ppf(0.95, degrees) * stats.sem(theta)
    assert skewed.low[BUCKET_ACCURACY] == pytest.approx(theta.mean() - half, rel=1e-10)


def test_closed_form_of_every_measure_agrees_with_the_jackknife() -> None:
    counts = random_counts(np.random.default_rng(1), 400)
    sums = bucket_sums(counts)
    left_out = measures_of_sums(sums.sum(axis=0) - sums)
    n = len(counts)
    jackknife = np.sqrt((n - 1) / n * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    np.testing.assert_allclose(standard_errors(units_of(counts), measures_of_sums), jackknife, rtol=0.02)


def test_cluster_robust_by_hand() -> None:
    """Two groups of two buckets, thetas (0, 0) and (1, .5): group sums of theta - .375 are -.75 and .75."""
    counts = BucketCounts.from_counts([2, 2, 2, 2], [0, 0, 2, 1])
    first, pattern, _ = distinct(counts.size, counts.correct, counts.same_label)
    units = group_units(bucket_sums(counts.take(first)), pattern, np.array([0, 0, 1, 1]))
    error = standard_errors(units, measures_of_sums)[BUCKET_ACCURACY]
    assert error == pytest.approx(np.sqrt(2 * (0.75**2 + 0.75**2)) / 4, rel=1e-12)


def test_groups_with_equal_content_are_one_distinct_unit() -> None:
    counts = BucketCounts.from_counts([2, 3, 3, 2, 2, 2], [1, 3, 3, 1, 1, 1])
    first, pattern, _ = distinct(counts.size, counts.correct, counts.same_label)
    units = group_units(bucket_sums(counts.take(first)), pattern, np.array([0, 0, 1, 1, 2, 2]))
    assert sorted(units.multiplicity.tolist()) == [1, 2]
    np.testing.assert_allclose(units.total, bucket_sums(counts).sum(axis=0))


@pytest.mark.parametrize("n_alike", [1, 40])
def test_bootstrap_over_patterns_has_the_distribution_of_drawing_buckets(n_alike: int) -> None:
    """Both ways of drawing weights (multinomial, one by one) against resampling the buckets themselves."""
    rng = np.random.default_rng(2)
    counts = random_counts(rng, 30).take(np.repeat(np.arange(30), n_alike))
    ours = bootstrap(units_of(counts), measures_of_sums, 4000, np.random.default_rng(3))
    sums = bucket_sums(counts)
    n = len(counts)
    theirs = np.array([measures_of_sums(sums[rng.integers(0, n, n)].sum(axis=0)) for _ in range(4000)])
    np.testing.assert_allclose(ours.mean(axis=0), theirs.mean(axis=0), rtol=0.02)
    np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), rtol=0.06)
    for j in range(len(MEASURES)):
        assert stats.ks_2samp(ours[:, j], theirs[:, j]).pvalue > 1e-4, MEASURES[j]


def test_bootstrap_is_repeatable_and_its_memory_bounded() -> None:
    size = np.arange(1, 1001)
    counts = BucketCounts.from_counts(size, np.random.default_rng(0).binomial(size, 0.7))
    units = units_of(counts)
    assert len(units.multiplicity) == 1000
    tracemalloc.start()
    first = bootstrap(units, measures_of_sums, 10_000, np.random.default_rng(5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 2**20
    np.testing.assert_array_equal(first, bootstrap(units, measures_of_sums, 10_000, np.random.default_rng(5)))


def test_coverage_of_the_unbiased_estimate() -> None:
    """1,000 experiments of 60 buckets of 5, theta ~ Beta(2, 1): true P_C = E[theta^2 + (1-theta)^2] = 2/3."""
    rng = np.random.default_rng(6)
    unbiased = MEASURES.index("paraphrastic_consistency_unbiased")
    covered = {"auto": 0, "bootstrap": 0, "closed_form": 0}
    for _ in range(1000):
        size = np.full(60, 5)
        counts = BucketCounts.from_counts(size, rng.binomial(size, rng.beta(2, 1, 60)))
        for method in covered:
            found = all_intervals(units_of(counts), method=method, n_resamples=500, rng=rng)
            covered[method] += bool(found.low[unbiased] <= 2 / 3 <= found.high[unbiased])
    for method, n in covered.items():
        assert 925 <= n <= 975, method


def test_no_spread_gives_the_clopper_pearson_type_bound() -> None:
    found = all_intervals(units_of(BucketCounts.from_counts([3] * 20, [3] * 20)))
    low = stats.binomtest(20, 20).proportion_ci(method="exact").low
    assert found.low[BUCKET_ACCURACY] == pytest.approx(low, rel=1e-10)
    assert found.high[BUCKET_ACCURACY] == 1.0
    assert found.at_boundary[BUCKET_ACCURACY]
    assert found.low[MEASURES.index("paraphrastic_consistency")] == pytest.approx(0.5 + low / 2)
    assert np.isnan(found.low[MEASURES.index("pvap")])


def test_all_buckets_alike_inside_the_range_have_a_bound_on_both_sides() -> None:
    low, high = boundary_interval(0.5, 0.0, 1.0, 10, 0.9)
    share = 1 - 0.05**0.1
    assert (low, high) == (pytest.approx(0.5 - share / 2), pytest.approx(0.5 + share / 2))


@pytest.mark.parametrize("method", ["auto", "bootstrap", "closed_form"])
def test_one_unit_has_no_interval(method: str) -> None:
    found = all_intervals(units_of(BucketCounts.from_counts([4], [3])), method=method)
    assert np.isnan(found.low).all()
    assert np.isnan(found.standard_error).all()


def test_never_excludes_the_point_estimate() -> None:
    """Percentiles of a biased measure can: variance between buckets shrinks in every resample."""
    rng = np.random.default_rng(7)
    for n in (2, 3, 4, 8, 30):
        for _ in range(20):
            units = units_of(random_counts(rng, n))
            with np.errstate(all="ignore"):
                point = measures_of_sums(units.total)
            for method in ("auto", "bootstrap", "closed_form"):
                found = all_intervals(units, method=method, n_resamples=30, confidence_level=0.5, rng=rng)
                defined = np.isfinite(found.low)
                assert np.all(found.low[defined] <= point[defined])
                assert np.all(point[defined] <= found.high[defined])


@pytest.mark.parametrize(("count", "n"), [(0, 7), (7, 7), (3, 7), (5000, 9439)])
def test_proportion_interval_is_clopper_pearson(count: int, n: int) -> None:
    expected = stats.binomtest(count, n).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose(proportion_interval(count, n), (expected.low, expected.high), rtol=1e-9)


# ------------------------------------------------------------------- shares in groups, design effect, bias


def test_korn_graubard_is_clopper_pearson_at_the_effective_size() -> None:
    """40 of 400 rows with twice the standard error of independent ones, 50 groups: n* is 100, less for few groups."""
    error = 2 * np.sqrt(0.1 * 0.9 / 400)
    size = 100 * (stats.t.ppf(0.975, 399) / stats.t.ppf(0.975, 49)) ** 2
    expected = stats.beta.ppf([0.025, 0.975], [0.1 * size, 0.1 * size + 1], [0.9 * size + 1, 0.9 * size])
    assert korn_graubard_interval(0.1, error, 400, 50) == pytest.approx(tuple(expected), rel=1e-9)
    # never an effective size above the rows there are
    small = korn_graubard_interval(0.1, error / 10, 400, 400)
    assert small == pytest.approx(proportion_interval(40, 400), rel=1e-9)


def test_grouped_shares_cover_where_they_are_rare() -> None:
    """600 sets of 100 groups of 10, 2 in 100 violated, intra-group correlation .3: t intervals cover 88 %."""
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(100), 10)
    covered = {"auto": 0, "closed_form": 0}
    for _ in range(600):
        chance = rng.beta(0.02 * 7 / 3, 0.98 * 7 / 3, 100)
        violated = (rng.random(1000) < chance[groups]).astype(int)
        for method in covered:
            found = semantic_inconsistency(np.zeros(1000, int), violated, groups=groups, interval_method=method)
            low, high = found.confidence_interval["inconsistency"]
            covered[method] += bool(low <= 0.02 <= high)
    assert covered["auto"] >= 0.92 * 600
    assert covered["closed_form"] < 0.92 * 600


def test_design_effect_of_groups_of_equal_buckets_is_their_size() -> None:
    counts = random_counts(np.random.default_rng(9), 60)
    thrice = counts.take(np.repeat(np.arange(60), 3))
    first, pattern, multiplicity = distinct(thrice.size, thrice.correct, thrice.same_label)
    buckets = Units.of(bucket_sums(thrice.take(first)), multiplicity)
    units = group_units(bucket_sums(thrice.take(first)), pattern, np.repeat(np.arange(60), 3))
    np.testing.assert_allclose(design_effects(units, buckets, measures_of_sums), 3 * (179 / 180) / (59 / 60), rtol=1e-9)
    assert design_effects(buckets, buckets, measures_of_sums).tolist() == [1.0] * len(MEASURES)
    same = units_of(BucketCounts.from_counts([3] * 9, [3] * 9))
    assert np.isnan(design_effects(same, same, measures_of_sums)[BUCKET_ACCURACY])


def test_what_stands_beside_every_value() -> None:
    """Design effect of the accuracy against rows; of consistency against buckets; what the plug-in adds."""
    rng = np.random.default_rng(10)
    bucket = np.repeat(np.arange(50), 6)
    right = (rng.random(300) < rng.beta(1, 1, 50)[bucket]).astype(int)
    found = paraphrastic_consistency(right, np.ones(300, int), np.where(bucket == 0, 99, bucket), n_resamples=50)
    p = right.mean()
    theta = np.bincount(bucket, weights=right) / 6
    variance = theta.var(ddof=1) / 50
    assert found.design_effect["accuracy"] == pytest.approx(variance / (p * (1 - p) / 299))
    assert found.design_effect["paraphrastic_consistency"] == 1.0
    assert found.n_clusters["accuracy"] == found.n_clusters["vap_unbiased"] == 50
    assert found.bias["vap"] == pytest.approx(found.vap - found.vap_unbiased)
    assert found.bias["paraphrastic_consistency"] == pytest.approx(-2 * found.bias["vap"])
    assert found.bias["vap"] == pytest.approx(-found.vap_unbiased / 6)  # buckets of 6: the plug-in is 5/6 of it
    single = np.append(bucket, 777)
    more = paraphrastic_consistency(np.append(right, 1), np.ones(301, int), single, n_resamples=50)
    assert (more.n_clusters["vap"], more.n_clusters["vap_unbiased"]) == (51, 50)


@pytest.mark.faults
def test_rare_breaches_have_jeffreys_interval_unless_an_exact_one_is_named():
    """Clopper-Pearson's of 1 to 3 % covers 98.9 to 99.5 % of the time; at 0 and from 20 on it is the default."""
    first, second = np.zeros(300, dtype=int), np.zeros(300, dtype=int)
    second[:3] = 1
    low, high = semantic_inconsistency(first, second).confidence_interval["inconsistency"]
    assert [low, high] == pytest.approx(betaincinv(3.5, 297.5, [0.025, 0.975]).tolist(), rel=1e-9)
    exact = semantic_inconsistency(first, second, interval_method="exact").confidence_interval["inconsistency"]
    assert exact == pytest.approx(proportion_interval(3, 300))
    none = semantic_inconsistency(first, first).confidence_interval["inconsistency"]
    assert none == pytest.approx(proportion_interval(0, 300))


@pytest.mark.faults
@pytest.mark.parametrize(("n_broken", "is_rare"), [(4, True), (5, False)])
def test_breaches_are_rare_in_fewer_than_a_sixth_of_the_groups(n_broken, is_rare):
    """With a quarter, intervals of 30 groups of 1 to 40 rows, 3 % broken, cover 99.0 to 99.4 %."""
    first, groups = np.zeros(300, dtype=int), np.repeat(np.arange(30), 10)
    second = np.where((groups < n_broken) & (np.arange(300) % 10 < 2), 1, 0)
    chosen, named = (
        semantic_inconsistency(first, second, groups=groups, interval_method=method).confidence_interval[
            "inconsistency"
        ]
        for method in ("auto", "korn_graubard")
    )
    assert (chosen != named) is is_rare


@pytest.mark.faults
def test_what_few_buckets_decide_has_a_longer_interval():
    """Of 100 buckets 5 are unsteady: logit-t intervals of being wrong twice cover 90 % of the time."""
    right = np.ones((100, 5), dtype=int)
    right[:3, 0] = right[3:5, :2] = 0
    options = {"references": np.ones(500, dtype=int), "buckets": np.repeat(np.arange(100), 5)}
    result = paraphrastic_consistency(right.ravel(), **options)
    values = np.r_[[0.1] * 2, [0.0] * 98]
    half = 1.984 * values.std(ddof=1) / 10.0
    low, high = result.confidence_interval["consistently_wrong"]
    assert result.consistently_wrong == pytest.approx(0.002)
    assert low < 0.002 < 0.002 + 2.0 * half < high < 0.04


@pytest.mark.faults
@pytest.mark.parametrize(("n", "n_groups"), [(25, 25), (200, 20)])
def test_few_units_have_no_interval_of_between_variance_and_pvap(n, n_groups):
    rng = np.random.default_rng(0)
    right = rng.random((n, 8)) < rng.random((n, 1))
    buckets = np.repeat(np.arange(n), 8)
    options = {"references": np.ones(8 * n, dtype=int), "buckets": buckets, "groups": buckets % n_groups}
    result = paraphrastic_consistency(right.ravel().astype(int), **options)
    for key in ("between_variance_unbiased", "pvap_unbiased"):
        assert np.isnan(result.confidence_interval[key]).all()
    assert any("28" in warning for warning in result.warnings)


def in_sizes(*sizes_and_numbers: tuple[int, int], right: int = 1) -> tuple[list[int], list[int], list[int]]:
    """Return predictions, labels and buckets of so many buckets of each size; all are right, or all wrong."""
    sizes = [size for size, n in sizes_and_numbers for _ in range(n)]
    buckets = [bucket for bucket, size in enumerate(sizes) for _ in range(size)]
    return [right] * len(buckets), [1] * len(buckets), buckets


@pytest.mark.faults
def test_buckets_of_one_paraphrase_do_not_count_for_the_interval_of_what_takes_two() -> None:
    """Five buckets of four among 100 had P_C in [.964, 1], and the gate pc.low >= .9 passed."""
    result = paraphrastic_consistency(*in_sizes((1, 95), (4, 5)))
    ends = result.confidence_interval
    assert np.isnan(ends["paraphrastic_consistency_unbiased"]).all()
    assert np.isnan(ends["consistently_right"]).all()
    assert ends["bucket_accuracy"][0] == pytest.approx(boundary_interval(1.0, 0.0, 1.0, 100)[0])
    assert "only 5 buckets with two paraphrases: no interval below 10" in result.warnings
    for n in (12, 40):
        ends = paraphrastic_consistency(*in_sizes((1, 60), (4, n))).confidence_interval
        assert ends["paraphrastic_consistency_unbiased"] == pytest.approx(boundary_interval(1.0, 0.0, 1.0, n))


def test_intervals_of_what_takes_two_are_those_without_buckets_of_one() -> None:
    rng = np.random.default_rng(5)
    size = np.repeat([1, 3], [60, 15])
    buckets = np.repeat(np.arange(75), size)
    answers = (rng.random(len(buckets)) < rng.beta(2, 1, 75)[buckets]).astype(int)
    with_pair = buckets >= 60
    gold = np.ones_like(answers)
    for function in (paraphrastic_consistency, prompt_sensitivity):
        every, pairs = (function(answers[of], gold[of], buckets[of]) for of in (np.full(len(gold), True), with_pair))
        names = {"paraphrastic_consistency_unbiased", "vap_unbiased", "consistently_right"}
        for name in (names | {"agreement", "prompt_sensitivity_score", "pass_hat_n/3"}) & {*every.confidence_interval}:
            if name != "agreement" or function is prompt_sensitivity:  # that of P_C counts buckets of one
                assert every.confidence_interval[name] == pytest.approx(pairs.confidence_interval[name]), name
                assert every.standard_error[name] == pytest.approx(pairs.standard_error[name])
                assert every.n_clusters[name] == 15


def test_runs_that_few_tasks_have_carry_no_interval() -> None:
    calls = [["a"]] * 60 + [["b"]] * 3
    successes = [1, 1] * 27 + [1, 0] * 3 + [1, 1, 1]  # of three tasks one run of two failed
    buckets = [*np.repeat(np.arange(30), 2).tolist(), 0, 1, 2]
    result = trajectory_consistency(calls, successes, buckets)
    assert np.isnan(result.confidence_interval["trajectory_consistency_mixed"]).all()
    assert np.isnan(result.confidence_interval["pass_hat_n/3"]).all()
    assert not np.isnan(result.confidence_interval["trajectory_consistency_succeeded"]).any()
    assert result.n_clusters["trajectory_consistency_mixed"] == 3
    assert any("trajectory_consistency_mixed" in warning and "fewer than 10" in warning for warning in result.warnings)


def test_models_that_are_alike_in_few_pairs_may_differ_in_others() -> None:
    answers, gold, buckets = in_sizes((1, 90), (4, 10))
    result = consistency_difference(answers, answers, gold, buckets)
    assert result.confidence_interval["difference"] == pytest.approx([-(1 - 0.025**0.1), 1 - 0.025**0.1])


@pytest.mark.faults
@pytest.mark.parametrize("grouped", [False, True])
def test_errors_of_means_over_rows_are_a_jackknife_over_buckets_of_any_sizes(grouped: bool) -> None:
    """A bucket of 100 rows weighed as one of 40: intervals of the accuracy held 65 % of the time."""
    rng = np.random.default_rng(5)
    size = np.array([100, 30, *[2, 3] * 20])
    correct = rng.binomial(size, rng.beta(2.1, 0.9, len(size)))
    units = np.arange(len(size)) // (2 if grouped else 1)
    buckets = np.repeat(np.arange(len(size)), size)
    right = np.concatenate([np.arange(k) < c for k, c in zip(size, correct, strict=True)]).astype(int)
    columns = right, np.ones_like(right), buckets
    same = size * (size - 1) - 2 * correct * (size - correct)
    of_all = {"accuracy": (correct, size), "consistency_rate_pooled": (same, size * (size - 1))}
    for measure in (paraphrastic_consistency, prompt_sensitivity):
        result = measure(*columns, groups=units[buckets])
        for name, (above, below) in of_all.items():
            if name in result.standard_error:
                left = [above[units != unit].sum() / below[units != unit].sum() for unit in np.unique(units)]
                n, whole = len(left), above.sum() / below.sum()
                error = np.sqrt((n - 1) / n * ((np.array(left) - whole) ** 2).sum())
                assert result.standard_error[name] == pytest.approx(error, rel=1e-9), (measure, name)
