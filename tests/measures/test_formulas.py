"""Formulas that stand in one place of a longer computation, against their definitions."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, norm, t

import paraconsist as pc
from paraconsist.errors import InputError
from paraconsist.measures.alarms import nearly_constant, permuted_labels
from paraconsist.measures.buckets import BucketCounts, _is_sum_of_squares
from paraconsist.measures.diversity import parse_tree
from paraconsist.measures.edit_effects import _numbers, _permutation_p_value
from paraconsist.measures.intervals import Dyads, on_logit_scale, rare_interval, stratified_interval
from paraconsist.measures.noise_floor import _scales as noise_scales
from paraconsist.measures.paired_tests import _LIMIT, TRUNCATION_ERROR, _shape, mcnemar_p_value
from paraconsist.measures.paraphrastic import RANGES, _scales
from paraconsist.measures.planning import pilot_of
from paraconsist.measures.sequential import MeanSequence


def partitions(n, most=None):
    """Yield the ways to write n as a sum of positive integers, the largest first."""
    if n == 0:
        yield ()
    for part in range(min(n, most or n), 0, -1):
        yield from ((part, *rest) for rest in partitions(n - part, part))


@pytest.mark.parametrize("n", range(10))
def test_sums_of_squares_of_answers_by_label(n):
    possible = {sum(part * part for part in parts) for parts in partitions(n)}
    assert {total for total in range(n * n + 2) if _is_sum_of_squares(n, total)} == possible


def test_the_grid_of_a_grouped_test_is_the_least_that_bernstein_allows():
    """K* and Q* leave it with a chance of `TRUNCATION_ERROR` at most: an eighth of it at each of their two ends."""
    steps = np.repeat([1, -2], 200)
    (n_k, n_q), least = _shape(steps)
    of_k, of_q = (n_k - 1) // 2, 1000 - least
    assert n_q == 2 * of_q + 1
    for reach, largest, variance in ((of_k, 2, 1000), (of_q, 4, 400 * np.var(steps**2))):
        beyond = [math.exp(-(x**2) / (2 * (variance + largest * x / 3))) for x in (reach, reach - 1)]
        assert beyond[0] <= TRUNCATION_ERROR / 8 < beyond[1]


@pytest.mark.parametrize("mid_p", [False, True])
def test_as_many_changes_either_way_have_p_1(mid_p):
    assert mcnemar_p_value([3, 0, 5], [3, 0, 5], mid_p=mid_p).tolist() == [1.0] * 3


def test_strata_of_zeros_and_ones_are_jeffreys_intervals_put_together():
    of_strata, weights = ([0, 1, 1, 1], [0, 0, 1, 0, 1, 1, 0]), np.array([0.3, 0.7])
    values = np.concatenate(of_strata).astype(float)
    low, high = stratified_interval(values, np.repeat([0, 1], [4, 7]), weights)
    down = up = 0.0
    for stratum, weight in zip(of_strata, weights, strict=True):
        hits, n = sum(stratum), len(stratum)
        ends = beta.ppf([0.025, 0.975], hits + 0.5, n - hits + 0.5)
        down += (weight * (hits / n - ends[0])) ** 2
        up += (weight * (ends[1] - hits / n)) ** 2
    mean = float(weights @ [np.mean(stratum) for stratum in of_strata])
    assert (low, high) == pytest.approx((mean - math.sqrt(down), mean + math.sqrt(up)))


def test_strata_of_any_values_have_the_effective_size_of_their_spread():
    of_strata = ([0.4, 0.5, 0.6, 0.5], [0.0, 1.0, 0.7, 0.9, 0.8], [0.25, 0.3, 0.2], [0.6])
    weights = np.array([0.3, 0.4, 0.2, 0.1])
    sizes = [len(stratum) for stratum in of_strata]
    low, high = stratified_interval(np.concatenate(of_strata), np.repeat(range(4), sizes), weights)
    means = [np.mean(stratum) for stratum in of_strata]
    squares = [n * np.var(stratum) for n, stratum in zip(sizes, of_strata, strict=True)]
    pooled = sum(squares) / sum((n - 1) * p * (1 - p) for n, p in zip(sizes, means, strict=True))
    down = up = 0.0
    for n, p, square, weight in zip(sizes, means, squares, weights, strict=True):
        own = square / max(n - 1, 1) / (p * (1 - p))  # one unit has none
        spread = min(1.0, max(pooled, (n * own + 1) / (n + 1)))  # shrunk towards 1 by one unit
        ends = beta.ppf([0.025, 0.975], p * n / spread + 0.5, (1 - p) * n / spread + 0.5)
        down, up = down + (weight * (p - ends[0])) ** 2, up + (weight * (ends[1] - p)) ** 2
    mean = float(weights @ means)
    assert (low, high) == pytest.approx((mean - math.sqrt(down), mean + math.sqrt(up)))


def test_the_part_of_problems_is_at_least_what_was_taken_off_their_variance():
    theta = np.array([0.2, 0.9, 0.5, 1.0, 0.4])
    total = np.array([0.0, 5.0, theta.sum(), (theta**2).sum()])
    scales = noise_scales({"variance/problem": 0.02, "variance/decoding": 0.1}, [(-0.5, 0.5), (0.0, 0.5)], total)
    assert scales == [pytest.approx((-(np.var(theta, ddof=1) - 0.02), 0.25)), (0.0, 0.5)]


def rows(seed, n=60, n_groups=12):
    rng = np.random.default_rng(seed)
    level = np.repeat(rng.beta(1, 1, n_groups), n // n_groups)
    predictions = (rng.random((n, 4)) < level[:, np.newaxis]).astype(int)
    return predictions.ravel(), np.ones(4 * n, dtype=int), np.repeat(np.arange(n), 4), n_groups


def test_the_design_effect_of_consistency_above_chance_is_against_independent_buckets():
    predictions, labels, buckets, n_groups = rows(0)
    alone = pc.paraphrastic_consistency(predictions, labels, buckets)
    grouped = pc.paraphrastic_consistency(predictions, labels, buckets, groups=buckets // (60 // n_groups))
    assert alone.design_effect["chance_corrected"] == 1.0
    ratio = grouped.standard_error["chance_corrected"] / alone.standard_error["chance_corrected"]
    assert grouped.design_effect["chance_corrected"] == pytest.approx(ratio**2)
    assert ratio > 1.1


@pytest.mark.parametrize("size", [1, 5])
def test_a_nearly_constant_answer_is_told_where_its_gain_is_not_above_zero(size):
    """The lower 95 % bound of the mean gain over the commonest label, by the t interval of sums of clusters."""
    told = {True: 0, False: 0}
    order = np.random.default_rng(0).permutation(100)
    for n_right, n_wrong, n_gold in product(range(10), (0, 1), (52, 60)):
        gold = np.array([1] * n_gold + [0] * (100 - n_gold))
        predictions = np.ones(100, dtype=int)
        predictions[n_gold : n_gold + n_right] = predictions[:n_wrong] = 0
        if not 0.9 <= predictions.mean() < 1.0:
            continue
        predictions, gold = predictions[order], gold[order]
        gain = ((predictions == gold) * 1.0 - (gold == 1)).reshape(-1, size).sum(axis=1)
        bound = gain.sum() / 100 - t.ppf(0.95, len(gain) - 1) * gain.std(ddof=1) * math.sqrt(len(gain)) / 100
        is_told = nearly_constant(predictions, gold, np.arange(100) // size) is not None
        assert is_told == (bound <= 0)
        told[is_told] += 1
    assert min(told.values()) >= 3


def test_counts_without_labels_are_of_two_labels():
    assert BucketCounts.from_counts([5, 3], [2, 0]).same_label.tolist() == [2 * 2 + 3 * 3, 9]


def test_buckets_with_fewer_answers_than_draws_are_counted_in_the_warning():
    sizes = (2, 2, 3, 4)
    buckets = np.repeat(np.arange(4), sizes)
    found = pc.prompt_sensitivity(np.arange(11) % 2, np.ones(11, dtype=int), buckets, draws=[2, 3, 4])
    assert any("(n: buckets; 3: 2, 4: 3)" in warning for warning in found.warnings)


def test_unbiased_variances_have_scales_that_reach_beyond_their_range():
    counts = BucketCounts.from_counts([4, 4, 2, 1], [2, 4, 1, 1])
    scales = dict(zip(RANGES, _scales(counts, {"vap_unbiased": 0.1, "between_variance_unbiased": 0.15}), strict=True))
    added = (0.25 / 3 + 0.0 + 0.25 / 1) / 3 / 4  # a quarter of the mean of theta (1 - theta) / (n - 1), pairs alone
    assert scales["between_variance_unbiased"] == pytest.approx((-added, 0.25))
    assert scales["pvap_unbiased"] == pytest.approx((0.0, 1.0 + added / 0.25))
    nothing = dict(zip(RANGES, _scales(counts, {"vap_unbiased": 0.0, "between_variance_unbiased": 0.0}), strict=True))
    assert nothing["pvap_unbiased"] == (0.0, 1.0)


@pytest.mark.parametrize("n_values", [None, 200])
@pytest.mark.parametrize("aim", [{"half_width": 0.05}, {"bound": 0.8}])
def test_the_expected_number_of_values_is_that_of_the_best_stakes(aim, n_values):
    values = np.random.default_rng(4).beta(2, 1, 60)
    sequence = MeanSequence(**aim, n_values=n_values)
    for value in values:
        sequence.add(float(value))
    seen = np.append(0.5, np.arange(1, 61) + 0.5)  # with half a value that stakes assume to have seen
    means = np.append(0.5, (np.cumsum(values) + 0.25) / seen[1:])
    variance = (0.125 + np.square(values - means[1:]).sum()) / seen[-1]
    distance = aim.get("half_width") or max(abs(means[-1] - 0.8), 0.01)
    n = 2 * math.log(2 / 0.05) * variance / distance**2
    assert sequence.n_expected == pytest.approx(n if n_values is None else n / (1 + n / n_values), rel=1e-9)


def between_and_within(values):
    """Return the variance between problems, from pairs of rows of two problems, and within; shape (problems, rows)."""
    within = ((values - values.mean(axis=1, keepdims=True)) ** 2).sum() / (values.size - len(values))
    pairs = [((one[:, None] - two) ** 2).mean() / 2 for i, one in enumerate(values) for two in np.delete(values, i, 0)]
    return np.mean(pairs) - within, within


def test_a_component_and_its_share_have_the_degrees_of_freedom_of_their_replicates():
    rng = np.random.default_rng(3)
    values = (rng.random((20, 4)) < np.where(np.arange(20) < 2, 0.1, 0.85)[:, None]).astype(float)
    levels = {"problem": np.repeat(np.arange(20), 4), "wording": np.arange(80)}
    found = pc.variance_components(values.ravel(), levels)
    component, within = between_and_within(values)
    noise, share_noise = within / 4, within / 4 / (component + within)
    of_component = (lambda one, _: math.log(one + noise), lambda z: math.exp(z) - noise)
    of_share = (  # the log odds of a share that is raised by what the noise is of the total
        lambda one, rest: math.log((one / (one + rest) + share_noise) / (1 - one / (one + rest))),
        lambda z: 1 - (1 + share_noise) / (1 + math.exp(z)),
    )
    for name, most, (scaled, back) in (("variance", 0.25, of_component), ("share", 1.0, of_share)):
        d = [scaled(*between_and_within(np.delete(values, i, 0))) for i in range(20)]
        d = np.array(d) - scaled(component, within)
        squares, fourths = (d**2).sum(), (d**4).sum()
        freedom = min(19, 2 * squares**2 / (fourths - squares**2 / 20))
        assert freedom < 17  # of 19 that 20 problems could have
        half = t.ppf(0.975, freedom) * math.sqrt(19 / 20 * squares)
        ends = [min(back(scaled(component, within) + end), most) for end in (-half, half)]  # of outcomes 0 and 1
        assert found.confidence_interval[f"{name}/problem"] == pytest.approx(ends)
    assert found.variance["problem"] == pytest.approx(component)


def test_names_that_gain_little_in_another_order_are_in_order_however_many_rows():
    predictions = np.repeat([0, 0, 1, 1], [12_000, 40_000, 11_000, 37_000])
    gold = np.repeat([0, 1, 0, 1], [12_000, 40_000, 11_000, 37_000])  # 49 % right, 51 % the other way round
    assert permuted_labels(predictions, gold) is None


def test_counts_are_refused_from_the_limit_on():
    assert 0.0 <= mcnemar_p_value(_LIMIT - 1, 0) <= 1.0
    with pytest.raises(InputError, match=f"be below {_LIMIT}"):
        mcnemar_p_value(_LIMIT, 0)


@pytest.mark.parametrize(("edges", "n"), [([(0, 1), (2, 3)], 2), ([(0, 1), (1, 2), (0, 2)], 1), ([(0, 1)] * 3, 1)])
def test_rows_without_a_common_member_are_bounded_from_below(edges, n):
    one, two = zip(*edges, strict=True)
    assert Dyads(np.array(one), np.array(two)).n_apart == n
    assert Dyads(np.array(one), np.array(two)).n_members == len({*one, *two})
    assert Dyads(np.array([], dtype=int), np.array([], dtype=int)).n_members == 0


@pytest.mark.parametrize(
    ("words", "numbers"),
    [("one hundred and five", {105}), ("two thousand and five hundred", {2500}), ("a hundred and", {100})],
)
def test_numbers_in_words(words, numbers):
    assert _numbers(words.split(), frozenset(words.split())) == numbers


def test_signatures_name_what_intervals_resample_and_where_originals_are():
    answers, buckets = np.arange(48) % 3 % 2, np.repeat(np.arange(24), 2)
    examples, runs = np.tile(np.arange(24), 2), np.repeat([0, 1], 24)
    noise = [answers, np.ones(48, dtype=int), np.tile(np.arange(24) // 2, 2), examples, runs]
    assert "ci:bucket-" in pc.noise_floor(*noise).signature
    assert "ci:group-" in pc.noise_floor(*noise, groups=np.tile(np.arange(24) // 2, 2)).signature
    pair = [answers, 1 - answers, np.ones(48, dtype=int), buckets]
    assert "orig:among-paraphrases" in pc.consistency_difference(*pair, n_permutations=99).signature
    roles = ["original", "paraphrase", "paraphrase", "paraphrase"] * 12
    found = pc.consistency_difference(*pair[:3], np.repeat(np.arange(12), 4), roles=roles, n_permutations=99)
    assert "orig:apart" in found.signature


def test_what_nearly_all_buckets_have_is_the_interval_of_what_few_lack():
    right = np.ones((40, 4), dtype=int)
    right[:3, 0] = right[3, :2] = 0
    found = pc.paraphrastic_consistency(right.ravel(), np.ones(160, dtype=int), np.repeat(np.arange(40), 4))
    c = right.sum(axis=1)
    both_right = c * (c - 1) / 12  # of two different paraphrases
    assert found.consistently_right == pytest.approx(both_right.mean())
    ends = rare_interval(np.ones(40), both_right, np.ones(40), 0.95)
    assert found.confidence_interval["consistently_right"] == pytest.approx(ends)


@pytest.mark.parametrize("most", [np.inf, 90.0])
def test_what_few_units_of_unequal_size_have_is_as_in_a_sample_with_half_a_unit_more(most):
    sizes, values = np.array([2.0, 4.0, 2.0, 4.0]), np.array([0.2, 0.4, 1.0, 3.0])
    times = np.array([28, 17, 3, 2])
    units = np.repeat(np.stack([sizes, values], axis=1), times, axis=0)
    n, total, average = len(units), units[:, 0].sum(), units[:, 0].mean()
    freedom = total**2 / (units[:, 0] ** 2).sum() - 1
    rare = []
    for tail, share, more in ((0.025, 0.1 / 3, (0.5, 0)), (0.975, (0.75 + 2) / 3, (0, 0.5))):
        weights = np.append(np.ones(n), 0.5)  # half a unit of average size
        k, c = np.append(units[:, 0], average), np.append(units[:, 1], share * average)
        p = (weights @ c) / (weights @ k)
        normal = t.ppf(0.975, most - 1) if most < np.inf else norm.ppf(0.975)
        variance = weights @ (c - p * k) ** 2 / (weights @ k) ** 2
        size = min(p * (1 - p) / variance * (normal / t.ppf(0.975, freedom)) ** 2, most * (weights @ k) / total)
        rare.append(beta.ppf(tail, p * size + more[0], (1 - p) * size + more[1]))
    assert rare_interval(sizes, values, times, 0.95, most) == pytest.approx(rare, rel=1e-6)


def test_a_scale_without_ends_has_plain_intervals():
    scales = np.array([[-np.inf, np.inf], [0.0, np.inf], [0.0, 2.0]])
    low, high = on_logit_scale(np.full(3, 0.5), np.full(3, 0.2), scales)
    ends = 2.0 * expit(logit(0.25) + np.array([-1.0, 1.0]) * 0.2 / (2.0 * 0.25 * 0.75))
    assert low.tolist() == pytest.approx([0.3, 0.3, ends[0]])
    assert high.tolist() == pytest.approx([0.7, 0.7, ends[1]])


def test_fewer_flips_away_than_half_a_flip_are_none():
    """Of several models the p-value is that of a normal number, half a flip nearer to what is expected."""
    strata = np.array([[2, 3], [4, 6], [2, 2], [2, 2]])  # of the kind, all rows, flips, squares of flips
    assert _permutation_p_value(strata, 2, 2) == 1.0  # 2 are expected
    variance = sum(n1 * (n - n1) / (n * (n - 1)) * (s - f**2 / n) for n1, n, f, s in strata.T.tolist())
    assert _permutation_p_value(strata, 4, 2) == pytest.approx(2 * norm.sf(1.5 / math.sqrt(variance)))


@pytest.mark.parametrize("text", ["(", "(S (", "(S (NP", ")", "(S))", ""])
def test_a_tree_that_ends_early_is_refused(text):
    with pytest.raises(InputError, match="one bracketed tree"):
        parse_tree(text)


def test_the_intervals_of_a_plan_have_one_degree_of_freedom_less_than_clusters():
    rng = np.random.default_rng(0)
    right = rng.binomial(6, 0.6, 40)
    pilot = pilot_of(BucketCounts(np.full(40, 6), right, right**2 + (6 - right) ** 2))
    assert pilot.t(12, 0.9) == pytest.approx(t.ppf(0.95, 11))
    assert pilot.t(1, 0.9) == pytest.approx(t.ppf(0.95, 1))  # at least two units


def test_the_combined_score_of_a_clear_best_wording_varies_as_leaving_a_bucket_out_says():
    rng = np.random.default_rng(2)
    right = (rng.random((120, 3)) < [0.9, 0.5, 0.4]).astype(int)

    def combined(rows):
        means = rows.mean(axis=0)
        return means[0] * (1 - (means[0] - means.mean()))

    labels = {"predictions": right.ravel(), "references": np.ones(360, dtype=int)}
    result = pc.prompt_sensitivity(**labels, buckets=np.repeat(np.arange(120), 3), variants=np.tile(np.arange(3), 120))
    without = [combined(np.delete(right, i, axis=0)) for i in range(120)]
    half = t.ppf(0.975, 119) * math.sqrt(119 * np.var(without))
    ends = combined(right) - half, combined(right) + half
    assert result.confidence_interval["combined_performance_score"] == pytest.approx(ends, abs=0.1 * half)
