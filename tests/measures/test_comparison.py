"""Comparing models: permutation tests against enumeration, intervals against their parts, bad input."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from helpers.errors import refuses
from scipy import stats

from paraconsist.errors import InputError
from paraconsist.measures.antecedents import transitive_inconsistency
from paraconsist.measures.consistency_difference import consistency_difference, share_difference
from paraconsist.measures.difference_tests import (
    BoundaryTest,
    Compared,
    DifferenceTest,
    Joined,
    NullTest,
    ScoreTest,
    StudentTest,
    flip_tests,
    margin_test,
    paired_differences,
    sign_flip_test,
)
from paraconsist.measures.inconsistency_difference import inconsistency_difference
from paraconsist.measures.intervals import mean_of_sums
from paraconsist.measures.paired_tests import paired_difference_interval
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.measures.results import IntervalSettings
from paraconsist.measures.standings import (
    PairTest,
    compact_letters,
    corrected_margin_p_values,
    corrected_p_values,
    joint_test,
    pareto_table,
    standings,
)

P_C = "paraphrastic_consistency_unbiased"


def mean(sums: Any) -> Any:
    return sums[..., 1:] / sums[..., :1]


def two_models(rng: np.random.Generator, n: int, *, alike: bool = True) -> dict[str, Any]:
    """n buckets of 2 to 6 paraphrases answered by two models of one skill; unlike, the second is steadier."""
    size = rng.integers(2, 7, n)
    bucket = np.repeat(np.arange(n), size)
    theta = rng.beta(2, 1, n)
    other = theta if alike else np.where(rng.random(n) < theta, 0.97, 0.03)
    return {
        "predictions1": (rng.random(len(bucket)) < theta[bucket]).astype(int),
        "predictions2": (rng.random(len(bucket)) < other[bucket]).astype(int),
        "references": np.ones(len(bucket), dtype=int),
        "buckets": bucket,
    }


# ------------------------------------------------------------------------------------- the sign-flip test


def test_exact_p_is_that_of_flipping_every_unit() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(1, 9))
        d = rng.choice([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0], n)
        first, second = np.stack([np.ones(n), d], axis=1), np.stack([np.ones(n), np.zeros(n)], axis=1)
        found = sign_flip_test(first, second, np.ones(n, dtype=int), mean, 10, rng)
        every = [abs(np.dot(signs, d)) >= abs(d.sum()) - 1e-9 for signs in product((-1, 1), repeat=n)]
        assert found.p_value[0] == pytest.approx(np.mean(every), abs=1e-12)
        assert (found.method, found.error[0]) == ("exact", 0.0)


def test_units_in_which_two_models_are_alike_are_no_assignments() -> None:
    """Of 200,006 units six differ, all in one direction: 2 of 64 assignments are as extreme."""
    first, second = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [1.0, 0.0]])
    found = sign_flip_test(first, second, np.array([200_000, 6]), mean, 10, np.random.default_rng(0))
    assert (found.method, found.p_value.tolist()) == ("exact", [2 / 64])


def test_many_units_that_differ_alike_have_the_p_of_the_binomial_test() -> None:
    first, second = np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    for n_first in (500, 530, 600):
        found = sign_flip_test(first, second, np.array([n_first, 1040 - n_first]), mean, 10, np.random.default_rng(0))
        assert found.method == "exact"
        assert found.p_value[0] == pytest.approx(stats.binomtest(n_first, 1040).pvalue)


def test_exact_p_of_a_measure_that_is_no_mean() -> None:
    """A ratio of sums: the assignments are enumerated by hand."""
    rng = np.random.default_rng(1)
    first, second = rng.integers(1, 5, (2, 6, 2)).astype(float)
    found = sign_flip_test(first, second, np.ones(6, dtype=int), mean, 10, rng)
    values = []
    for swapped in product((False, True), repeat=6):
        mask = np.array(swapped)[:, np.newaxis]
        one, two = np.where(mask, second, first).sum(axis=0), np.where(mask, first, second).sum(axis=0)
        values.append(abs(one[1] / one[0] - two[1] / two[0]))
    assert found.p_value[0] == pytest.approx(np.mean(np.array(values) >= values[0] - 1e-9))


def test_monte_carlo_agrees_with_the_exact_p_within_its_stated_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    d = rng.choice([-0.5, 0.5, 0.25, 1.0], 16)
    units = np.stack([np.ones(16), d], axis=1), np.stack([np.ones(16), np.zeros(16)], axis=1)
    exact = sign_flip_test(*units, np.ones(16, dtype=int), mean, 1, rng)
    monkeypatch.setattr("paraconsist.measures.difference_tests._MOST_EXACT", 1)
    drawn = sign_flip_test(*units, np.ones(16, dtype=int), mean, 20_000, rng)
    assert drawn.method == "monte-carlo20000"
    assert drawn.error[0] == pytest.approx(np.sqrt(drawn.p_value[0] * (1 - drawn.p_value[0]) / 20_000))
    assert abs(drawn.p_value[0] - exact.p_value[0]) < 5 * drawn.error[0] + 1e-4


def test_p_is_uniform_for_exchangeable_models() -> None:
    """300 pairs of models of one skill; a level of .05 is kept and p is spread evenly."""
    rng = np.random.default_rng(3)
    options: dict[str, Any] = {"interval_method": "closed_form", "n_permutations": 199}
    p = np.array([consistency_difference(**two_models(rng, 60), **options).p_value for _ in range(300)])
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert (p <= 0.05).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


# ------------------------------------------------------------------------------- consistency differences


def test_values_are_those_of_the_measure_and_the_interval_that_of_paired_buckets() -> None:
    columns = two_models(np.random.default_rng(4), 200, alike=False)
    shared = {name: columns[name] for name in ("references", "buckets")}
    found = consistency_difference(**columns, interval_method="closed_form")
    single = [paraphrastic_consistency(columns[f"predictions{i}"], **shared) for i in (1, 2)]
    for name, value in found.values1.items():
        assert value == pytest.approx(getattr(single[0], name)), name
        assert found.values2[name] == pytest.approx(getattr(single[1], name)), name
    assert found.difference == found.values1[P_C] - found.values2[P_C] == found.differences[P_C]
    f = []
    for i in (1, 2):
        c = np.bincount(columns["buckets"], weights=columns[f"predictions{i}"])
        k = np.bincount(columns["buckets"])
        f.append(1 - 2 * c * (k - c) / (k * (k - 1)))
    expected = stats.ttest_rel(f[0], f[1])
    assert found.standard_error["difference"] == pytest.approx(stats.sem(f[0] - f[1]), rel=1e-9)
    assert found.confidence_interval["difference"] == pytest.approx(list(expected.confidence_interval()), rel=1e-9)
    assert max(found.p_value, expected.pvalue) < 0.001
    assert found.n_buckets == 200


def test_pairing_makes_the_interval_narrower_than_two_single_ones() -> None:
    rng = np.random.default_rng(5)
    columns = two_models(rng, 300)
    flipped = rng.random(len(columns["buckets"])) < 0.05
    columns["predictions2"] = np.where(flipped, 1 - columns["predictions1"], columns["predictions1"])
    found = consistency_difference(**columns, interval_method="closed_form")
    single = paraphrastic_consistency(
        columns["predictions1"], columns["references"], columns["buckets"], interval_method="closed_form"
    )
    assert np.ptp(found.confidence_interval["difference"]) < 0.7 * np.ptp(single.confidence_interval[P_C])


def test_sign_flips_and_closed_form_agree_and_duplication_keeps_the_difference() -> None:
    columns = two_models(np.random.default_rng(6), 150, alike=False)
    closed = consistency_difference(**columns, interval_method="closed_form", n_permutations=50)
    drawn = consistency_difference(**columns, n_permutations=50)
    assert drawn.confidence_interval["difference"] == pytest.approx(closed.confidence_interval["difference"], abs=0.01)
    twice = {name: np.concatenate([values, values]) for name, values in columns.items()}
    twice["buckets"] = np.concatenate([columns["buckets"], columns["buckets"] + 1000])
    doubled = consistency_difference(**twice, interval_method="closed_form", n_permutations=50)
    for name, difference in closed.differences.items():
        if name not in ("between_variance_unbiased", "pvap_unbiased"):  # which know that half of the buckets are new
            assert doubled.differences[name] == pytest.approx(difference), name
    assert doubled.standard_error["difference"] < closed.standard_error["difference"]
    grouped = consistency_difference(
        **twice, groups=twice["buckets"] % 1000, interval_method="closed_form", n_permutations=50
    )
    assert grouped.standard_error["difference"] == pytest.approx(closed.standard_error["difference"], rel=1e-9)
    assert grouped.design_effect["difference"] == pytest.approx(2.0, rel=0.02)
    assert grouped.n_clusters["difference"] == 150


def test_one_and_the_same_predictions() -> None:
    columns = two_models(np.random.default_rng(7), 40)
    found = consistency_difference(**{**columns, "predictions2": columns["predictions1"]})
    assert (found.difference, found.p_value) == (0.0, 1.0)
    low, high = found.confidence_interval["difference"]
    assert low == -high
    assert high == pytest.approx(1 - 0.025 ** (1 / 40))
    assert any("Clopper-Pearson type bound: paraphrastic_consistency," in warning for warning in found.warnings)


def test_originals_apart_and_models_that_never_change_their_mind() -> None:
    columns = two_models(np.random.default_rng(8), 30)
    first = np.unique(columns["buckets"], return_index=True)[1]
    roles = np.full(len(columns["buckets"]), "paraphrase", dtype=object)
    roles[first] = "original"
    columns["predictions2"] = (columns["buckets"] % 2).astype(int)
    found = consistency_difference(**columns, roles=roles.tolist(), n_permutations=99, n_resamples=50)
    right = columns["predictions1"][first].mean(), columns["predictions2"][first].mean()
    assert found.differences["original_accuracy"] == pytest.approx(right[0] - right[1])
    assert found.values2[P_C] == 1.0
    assert any("no prediction of model 2 differs within any bucket" in warning for warning in found.warnings)


# ---------------------------------------------------------------------------- shares on a common population


def test_without_groups_it_is_mcnemars_test_and_tangos_interval() -> None:
    violated1 = [1] * 12 + [0] * 3 + [1] * 5 + [0] * 80
    violated2 = [0] * 12 + [1] * 3 + [1] * 5 + [0] * 80
    found = inconsistency_difference(violated1, violated2)
    assert found.difference == pytest.approx(0.09)
    assert found.p_value == pytest.approx(stats.binomtest(3, 15).pvalue)
    assert found.confidence_interval["difference"] == pytest.approx(paired_difference_interval(100, 12, 3))
    assert (found.n_only1, found.n_only2) == (12, 3)
    assert found.design_effect["difference"] == pytest.approx(1.0)


def test_transitive_models_are_compared_where_both_satisfy_the_antecedents() -> None:
    """The first model's own value is better only because it satisfies the easy rows alone."""
    rng = np.random.default_rng(9)
    n = 400
    hard = np.arange(n) < 200
    answers: list[dict[str, Any]] = []
    for satisfied in (~hard, np.ones(n, dtype=bool)):
        violated = rng.random(n) < np.where(hard, 0.6, 0.1)
        answers.append(
            {
                "predictions": np.where(violated, 0, 2),
                "antecedent_1_predictions": np.where(satisfied, 0, 1),
                "violated": violated,
                "satisfied": satisfied,
            }
        )
    own = [
        transitive_inconsistency(a["predictions"], [2] * n, a["antecedent_1_predictions"], [0] * n, [2] * n, [2] * n)
        for a in answers
    ]
    one, two = answers
    found = inconsistency_difference(
        one["violated"], two["violated"], satisfied1=one["satisfied"], satisfied2=two["satisfied"]
    )
    assert (found.own_value1, found.own_value2) == (own[0].inconsistency, own[1].inconsistency)
    assert (found.n_own1, found.n_own2, found.n_common, found.n_rows) == (200, 400, 200, 400)
    assert found.own_value1 - found.own_value2 < -0.2
    assert abs(found.difference) < 0.1 < found.p_value
    assert any("0 and 200 rows count for one model only" in warning for warning in found.warnings)


def test_groups_of_equal_rows_count_as_one_row() -> None:
    rng = np.random.default_rng(10)
    one, two = rng.random((2, 60)) < [[0.4], [0.2]]
    alone = inconsistency_difference(one, two)
    grouped = inconsistency_difference(np.repeat(one, 5), np.repeat(two, 5), groups=np.repeat(np.arange(60), 5))
    assert grouped.difference == alone.difference
    assert grouped.p_value == pytest.approx(alone.p_value, abs=0.01)
    assert grouped.confidence_interval["difference"] == pytest.approx(
        alone.confidence_interval["difference"], abs=0.012
    )


def test_no_common_row_and_bad_shares() -> None:
    found = inconsistency_difference([1, 0], [0, 1], satisfied1=[1, 0], satisfied2=[0, 1])
    assert np.isnan(found.difference)
    assert found.warnings == ("no row counts for both models: undefined, so nan: difference",)
    refuses("`violated2` must be true or false; got 2 at row 1", inconsistency_difference, [1, 0], [0, 2])
    refuses("`satisfied2` must be given too", inconsistency_difference, [1, 0], [0, 1], satisfied1=[1, 1])


def test_a_rare_difference_is_covered_in_groups() -> None:
    """200 sets of 100 groups of 5, violations of 4 and 2 in 100, alike in groups: 92 % or more are covered."""
    rng = np.random.default_rng(11)
    covered = 0
    groups = np.repeat(np.arange(100), 5)
    for _ in range(200):
        one, two = (np.repeat(rng.beta(p * 4, (1 - p) * 4, 100), 5) for p in (0.04, 0.02))
        found = inconsistency_difference(rng.random(500) < one, rng.random(500) < two, groups=groups, n_permutations=1)
        low, high = found.confidence_interval["difference"]
        covered += low <= 0.02 <= high
    assert covered >= 184


# -------------------------------------------------------------------------------------------- many models


def test_corrections() -> None:
    p = [0.01, 0.02, 0.03, 0.5]
    assert corrected_p_values(p, "holm") == pytest.approx([0.04, 0.06, 0.06, 0.5])
    assert corrected_p_values(p, "bonferroni") == pytest.approx([0.04, 0.08, 0.12, 1.0])
    expected = stats.false_discovery_control(p)
    assert corrected_p_values(p, "benjamini_hochberg") == pytest.approx(expected)
    assert corrected_p_values(p, "none") == p
    with_nan = corrected_p_values([0.02, float("nan"), 0.03])
    assert with_nan[::2] == pytest.approx([0.04, 0.04])
    assert np.isnan(with_nan[1])
    refuses("`correction` must be one of holm, bonferroni", corrected_p_values, p, "sidak")


def test_margins_of_several_pairs_are_corrected_for_the_hypotheses_that_may_be_true() -> None:
    """Shaffer (1986), Journal of the American Statistical Association 81: one of a pair, while one is left of it."""
    rng = np.random.default_rng(0)
    for m in (1, 2, 5):
        for _ in range(20):
            p = rng.random((m, 2)) ** rng.integers(1, 6, (m, 2))
            expected, least = np.empty((m, 2)), 0.0
            for pair, side in sorted(product(range(m), range(2)), key=lambda place: p[place]):
                n_true = sum(p[other].max() >= p[pair, side] for other in range(m))
                least = max(least, n_true * p[pair, side])
                expected[pair, side] = min(1.0, least)
            assert corrected_margin_p_values(p, "holm") == pytest.approx(expected)
            assert corrected_margin_p_values(p, "bonferroni") == pytest.approx(np.minimum(1.0, m * p))
            halved = stats.false_discovery_control(p.ravel()).reshape(m, 2) / 2
            assert corrected_margin_p_values(p, "benjamini_hochberg") == pytest.approx(np.maximum(p, halved))
            assert corrected_margin_p_values(p, "none").tolist() == p.tolist()


def test_pareto_table() -> None:
    none = (0.5, 1.0)
    tests = {
        ("a", "b"): PairTest(0.1, 0.001, 0.003, -0.2, 0.001, 0.05),  # p at alpha is beyond chance
        ("a", "c"): PairTest(0.1, 0.001, 0.05, 0.1, *none),
        ("b", "c"): PairTest(0.0, *none, 0.3, 0.01, 0.06),  # not beyond chance, corrected
        ("a", "d"): PairTest(*(float("nan"),) * 6),
    }
    rows = pareto_table(
        {"a": 0.9, "b": 0.8, "c": 0.8, "d": float("nan")}, {"a": 0.7, "b": 0.9, "c": 0.6, "d": 0.9}, tests
    )
    assert [row.model for row in rows] == ["a", "b", "c", "d"]
    assert [not row.dominated_by for row in rows] == [True, True, False, True]
    assert rows[2].dominated_by == ["a"]
    assert rows[0].less_consistent_than_worse == ["b"]
    assert [row.untested for row in rows] == [[], ["d"], ["d"], ["b", "c"]]
    worse = {("a", "b"): PairTest(0.1, 0.001, 0.003, -0.02, 0.04, 0.08)}  # better in one, worse in the other
    assert not any(row.dominated_by for row in pareto_table({"a": 0.9, "b": 0.8}, {"a": 0.7, "b": 0.72}, worse))
    tie = {("a", "b"): PairTest(0.1, 0.1, 0.1, 0.0, 1.0, 1.0)}  # 1 - .9 is below .1 by rounding
    assert pareto_table({"a": 0.9, "b": 0.8}, {"a": 0.7, "b": 0.7}, tie, alpha=1 - 0.9)[1].dominated_by == ["a"]
    refuses("name the models", pareto_table, {"a": 0.9, "b": 0.8}, {"a": 0.7}, worse)


@pytest.mark.parametrize("seed", range(20))
def test_models_share_a_letter_just_where_they_do_not_differ(seed: int) -> None:
    rng = np.random.default_rng(seed)
    models = [f"m{i}" for i in range(int(rng.integers(2, 9)))]
    different = [pair for pair in combinations(models, 2) if rng.random() < rng.choice([0.2, 0.5, 0.9])]
    letters = compact_letters(models, different)
    for one, two in combinations(models, 2):
        assert bool(set(letters[one]) & set(letters[two])) == ((one, two) not in different)
    every = set("".join(letters.values()))
    members = [{model for model in models if letter in letters[model]} for letter in every]
    assert not any(one < two for one, two in permutations(members, 2))  # no letter says what another one says


def test_letters_after_z_have_numbers() -> None:
    models = [f"m{i}" for i in range(54)]
    letters = list(compact_letters(models, list(combinations(models, 2))).values())
    assert [letters[i] for i in (0, 24, 25, 26, 51, 52)] == ["a", "y", "z", "a1", "z1", "a2"]


def test_ranks_hold_the_pairs_that_differ() -> None:
    better = {("a", "b"): True, ("a", "c"): True, ("b", "c"): False}
    differ = {("a", "b"): True, ("a", "c"): False, ("b", "c"): False}
    rows = {row.model: row for row in standings("pc", ["a", "c", "b"], better, differ)}
    assert {model: (row.rank_low, row.rank_high) for model, row in rows.items()} == {
        "a": (1, 2),
        "b": (2, 3),
        "c": (1, 3),
    }
    assert {model: row.letters for model, row in rows.items()} == {"a": "a", "c": "ab", "b": "b"}


def test_joint_tests_lie_between_one_test_and_bonferronis() -> None:
    rng = np.random.default_rng(0)
    d = rng.normal(size=(60, 4))
    for columns, bounds in (
        (d[:, :1], (0.01, 0.0125)),
        (d[:, :1] * [1.0, 2.0, -1.0, 5.0], (0.01, 0.0125)),  # the same pair four times
        (d, (0.03, 0.045)),  # four unrelated ones
    ):
        joint = joint_test(columns)
        assert bounds[0] <= joint.adjusted(0.01) <= bounds[1]
        assert joint.adjusted(1.0) == 1.0
        assert np.isnan(joint.adjusted(float("nan")))
        for alpha in (0.01, 0.05, 0.2):
            critical = joint.critical(alpha)
            assert 0.2 * alpha < critical <= alpha
            assert joint.adjusted(critical) <= alpha < joint.adjusted(critical + 1e-3)
    assert joint_test(d, n_draws=9).critical(0.05) == 0.0  # too few draws to reject anything


def test_many_units_are_taken_for_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    d = np.random.default_rng(1).normal(size=(300, 3))
    drawn = joint_test(d)
    monkeypatch.setattr("paraconsist.measures.standings._MOST_DRAWN", 10)
    assert joint_test(d).adjusted(0.02) == pytest.approx(drawn.adjusted(0.02), abs=0.005)


# ---------- p and interval of a difference from one test: they agree in every data set, at every level and margin


def small_set(rng: np.random.Generator) -> dict[str, Any]:
    """Two models on 3 to 40 buckets of 1 to 5 paraphrases, alike or not, some near the ceiling, some in groups."""
    n = int(rng.integers(3, 41))
    skill = rng.choice([0.5, 0.8, 0.97])
    bucket = np.repeat(np.arange(n), rng.integers(1, 6, n))
    theta = rng.beta(2 * skill, 2 * (1 - skill), (2, n))
    if rng.random() < 0.5:
        theta[1] = theta[1] > 0.5  # steadier
    answers = (rng.random((2, len(bucket))) < theta[:, bucket]).astype(int)
    groups = {"groups": np.sort(rng.integers(0, max(2, n // 3), n))[bucket]} if rng.random() < 0.4 else {}
    return {
        "predictions1": answers[0],
        "predictions2": answers[1],
        "references": np.ones(len(bucket), dtype=int),
        "buckets": bucket,
        **groups,
    }


def contradictions(result: Any, p_values: dict[str, float], alpha: float) -> list[str]:
    found = []
    for name, p in p_values.items():
        low, high = result.confidence_interval[name]
        if not np.isnan(low) and (low <= 0.0 <= high) != (p > alpha):
            found.append(f"{name}: p {p}, interval [{low}, {high}]")
    return found


@pytest.mark.parametrize(("method", "n_sets"), [("sign_flip", 150), ("closed_form", 100)])
def test_consistency_p_and_interval_never_contradict_each_other(method: str, n_sets: int) -> None:
    """Eleven measures a set (before: 3 to 5 % of them); benchmarks/test_size.py has more sets."""
    rng = np.random.default_rng(0)
    options: dict[str, Any] = {"interval_method": method, "n_resamples": 99, "n_permutations": 199}
    found, checked, rejected = [], 0, 0
    for i in range(n_sets):
        level = (0.95, 0.9, 0.99)[i % 3]
        result = consistency_difference(**small_set(rng), **options, confidence_level=level)
        found += contradictions(result, {"difference": result.p_value, **result.p_values}, 1.0 - level)
        checked += sum(not np.isnan(ends[0]) for ends in result.confidence_interval.values())
        rejected += result.p_value <= 1.0 - level
    assert not found
    assert checked > 9 * n_sets
    assert rejected > n_sets // 10


def test_inconsistency_p_and_interval_never_contradict_each_other() -> None:
    rng = np.random.default_rng(1)
    found, rejected = [], 0
    for i in range(700):
        n, level = int(rng.integers(3, 80)), (0.95, 0.9, 0.99)[i % 3]
        rates = rng.beta(1, 3, 2)
        groups = rng.integers(0, max(2, n // 3), n) if i % 2 else None
        one, two = rng.random((2, n)) < rates[:, np.newaxis]
        result = inconsistency_difference(one, two, groups=groups, confidence_level=level, n_permutations=199)
        found += contradictions(result, {"difference": result.p_value}, 1.0 - level)
        rejected += result.p_value <= 1.0 - level
    assert not found
    assert rejected > 70


# ------------------------------------------------------------------------------------------ the tests themselves


TESTS: dict[str, DifferenceTest] = {
    "t": StudentTest(0.1, 0.05, 12.5),
    "score": ScoreTest(100, 12, 3),
    "score, effective": ScoreTest(37.5, 4.5, 1.5, 14.0, 0.5),
    "boundary": BoundaryTest(0.25, -1.0, 1.0, 12),
    "joined": Joined([ScoreTest(40, 7, 1), NullTest(0.15, 0.0703)]),
}


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_an_interval_is_every_difference_with_a_p_above(name: str, level: float) -> None:
    test = TESTS[name]
    low, high = test.interval(level)
    inside = np.linspace(low + 1e-7, high - 1e-7, 50)
    if name == "joined":  # between 0 and the score interval p is known at 0 alone
        inside = inside[(inside <= 0) | (inside >= ScoreTest(40, 7, 1).interval(level)[0])]
    assert all(test.p_at(delta) > 1.0 - level for delta in inside)
    assert all(test.p_at(delta) <= 1.0 - level for delta in (low - 1e-7, high + 1e-7) if abs(delta) < 1.0)


def test_score_intervals_are_tangos_and_at_no_difference_mcnemars() -> None:
    test = ScoreTest(100, 12, 3)
    assert test.interval(0.95) == pytest.approx(paired_difference_interval(100, 12, 3), abs=1e-12)
    assert test.p_at(0.0) == pytest.approx(0.0201367, abs=1e-6)  # K^2/D = 81/15, normal
    for impossible in (-1.0, 1.0, 1.5):
        assert test.p_at(impossible) == TESTS["score, effective"].p_at(impossible) == 0.0
        assert TESTS["boundary"].p_at(impossible) == 0.0


def test_sign_flips_invert_to_the_quantiles_of_half_means() -> None:
    """Eight differences, all 256 subsets by hand: p at delta, and the least delta that is not rejected."""
    d = np.array([0.5, 0.25, -0.125, 0.75, 0.0, 1.0, 0.375, 0.0625])
    w = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0])
    units = np.stack([w, d], axis=1), np.stack([w, 0.0 * d], axis=1), np.ones(8, dtype=np.int64), mean_of_sums
    p = sign_flip_test(*units, 10, np.random.default_rng(0)).p_value
    (test,) = flip_tests(*units, [0], p, 10, np.random.default_rng(0))
    signs = 1.0 - 2.0 * ((np.arange(256)[:, np.newaxis] >> np.arange(8)) & 1)
    for delta in (-0.3, 0.0, 0.05, 0.11, 0.21, d.sum() / w.sum(), 0.3, 0.55, 0.9):
        shifted = d - delta * w
        expected = np.mean(np.abs(signs @ shifted) >= abs(shifted.sum()) - 1e-12)
        assert test.p_at(delta) == pytest.approx(expected, abs=1e-12), delta
    low, high = test.interval(0.9)
    assert test.p_at(low) > 0.1 >= test.p_at(low - 1e-8)
    assert test.p_at(high) > 0.1 >= test.p_at(high + 1e-8)


def test_models_that_change_places_mirror_the_interval() -> None:
    columns = small_set(np.random.default_rng(4))
    swapped = {**columns, "predictions1": columns["predictions2"], "predictions2": columns["predictions1"]}
    one, two = (consistency_difference(**c, n_resamples=500) for c in (columns, swapped))
    for name, (low, high) in one.confidence_interval.items():
        assert two.confidence_interval[name] == pytest.approx([-high, -low], nan_ok=True), name
    assert two.p_values == pytest.approx(one.p_values, nan_ok=True)


def test_a_rare_difference_is_not_cut_short() -> None:
    """4 of 100 buckets differ: sign flips alone end at .07, Tango's interval of 4 in 100 at .10."""
    wrong = np.arange(200) < 8
    wrong[1::2] = False
    found = consistency_difference(np.ones(200, int), 1 - wrong, np.ones(200, int), np.arange(200) // 2)
    assert found.difference == pytest.approx(0.04)
    assert found.confidence_interval["difference"][1] == pytest.approx(
        paired_difference_interval(100, 4, 0)[1], abs=0.002
    )
    assert found.p_value == pytest.approx(0.125)


def test_a_p_of_just_the_level_rejects() -> None:
    """50 of 1,000 assignments: p is .05 and not a rounding above it, and the interval excludes 0."""
    rng = np.random.default_rng(0)
    d = rng.normal(0.16, 1.0, 60)
    units = np.stack([np.ones(60), d], axis=1), np.stack([np.ones(60), np.zeros(60)], axis=1)
    at_level = 0
    for seed in range(200):
        options = IntervalSettings("", "auto", 0.95, 999, seed)
        found = paired_differences(options, *units, np.arange(60), None, mean_of_sums, [Compared("", 9.0)], 999)
        if abs(found.p_value[0] - 0.05) < 1e-6:
            at_level += 1
            assert found.p_value[0] == 0.05
            assert found.interval.low[0] > 0.0
    assert at_level > 3


def test_many_different_groups_are_no_overflow() -> None:
    rng = np.random.default_rng(0)
    buckets = np.repeat(np.arange(12000), 5)
    one, two = (rng.random((2, len(buckets))) < 0.8).astype(int)
    options: dict[str, Any] = {"n_resamples": 99, "n_permutations": 99}
    found = consistency_difference(one, two, np.ones_like(one), buckets, groups=buckets // 4, **options)
    assert contradictions(found, found.p_values, 0.05) == []


def test_few_units_reject_nothing() -> None:
    found = consistency_difference([1] * 10, [1, 0] * 5, [1] * 10, [i // 2 for i in range(10)])
    assert (found.difference, found.p_value) == (1.0, 0.0625)
    assert found.confidence_interval["difference"][0] <= 0.0
    assert any("no p-value is below 0.062" in warning for warning in found.warnings)


# ------------------------------------------------------------------------- non-inferiority and equivalence


@pytest.mark.parametrize("seed", range(3))
def test_margins_agree_with_the_interval_at_twice_the_level(seed: int) -> None:
    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {"n_resamples": 499, "n_permutations": 499}
    verdicts = set()
    for _ in range(20):
        columns, margin = small_set(rng), float(rng.choice([0.02, 0.1, 0.3]))
        one, two = rng.random((2, 60)) < rng.beta(1, 6, 2)[:, np.newaxis]
        for up, found, ends in (
            (
                True,
                consistency_difference(**columns, margin=margin, **options),
                consistency_difference(**columns, confidence_level=0.9, **options).confidence_interval["difference"],
            ),
            (
                False,
                inconsistency_difference(one, two, margin=margin),
                inconsistency_difference(one, two, confidence_level=0.9).confidence_interval["difference"],
            ),
        ):
            test = found.margin_test
            if test is None:
                continue
            low, high = test["interval"]
            assert (max(low, -1), min(high, 1)) == pytest.approx(ends)
            above, below = low > -margin, high < margin
            assert (test["p_not_worse1"] <= 0.05) == (above if up else below)
            assert (test["p_not_worse2"] <= 0.05) == (below if up else above)
            assert test["p_equivalent"] == max(test["p_not_worse1"], test["p_not_worse2"])
            assert (test["verdict"] == "equivalent") == (above and below)
            verdicts.add(test["verdict"])
    assert len(verdicts) > 1


@pytest.mark.parametrize("seed", range(12))
def test_margins_are_tested_by_every_flip_of_the_signs_in_whole_numbers(seed: int) -> None:
    """Of eight problems with shares in tenths, ends at a margin of a tenth were beside it by rounding."""
    one, two = np.random.default_rng(seed).integers(0, 11, (2, 8))
    assert np.count_nonzero(one != two) > 4  # others are tested by Tango's score as well
    found = share_difference("wording_change", one / 10, two / 10, n_examples=16, margin=0.1).margin_test
    assert found is not None
    signs = np.array(list(product([-1, 1], repeat=8)))
    for key, apart in (("p_not_worse1", two - one + 1), ("p_not_worse2", one - two + 1)):  # tenths above -margin
        half = float(np.mean(abs(signs @ apart) >= abs(apart.sum()))) / 2
        assert found[key] == pytest.approx(half if apart.sum() > 0 else 1 - half), key


def test_no_difference_but_for_rounding_is_no_difference() -> None:
    """Shares in thirds whose means differ by 1.1e-16: the ends on one side of it were weighted anew."""
    one, two = np.array([[3, 3, 1, 3, 1, 2], [3, 3, 3, 1, 0, 3]])
    thirds = share_difference("wording_change", one / 3, two / 3, n_examples=12, margin=0.1)
    whole = share_difference("wording_change", (one + 3) / 8, (two + 3) / 8, n_examples=12, margin=0.0375)
    assert 0.0 < abs(thirds.difference) < 1e-9
    assert whole.difference == 0.0
    assert thirds.margin_test is not None
    assert whole.margin_test is not None
    for key in ("p_not_worse1", "p_not_worse2"):
        assert thirds.margin_test[key] == pytest.approx(whole.margin_test[key])


@pytest.mark.parametrize("point", [-0.2, -0.1, 0.03, 0.1, 0.2])
def test_margins_are_tested_on_one_side(point: float) -> None:
    error, df = 0.05, 9.0
    found = margin_test(StudentTest(point, error, df), point, 0.1, 0.95, up_is_good=True)
    above, below = stats.t.sf((point + 0.1) / error, df), stats.t.cdf((point - 0.1) / error, df)
    assert (found["p_not_worse1"], found["p_not_worse2"]) == pytest.approx((above, below))
    half = stats.t.ppf(0.95, df) * error
    assert found["interval"] == pytest.approx([point - half, point + half])
    turned = margin_test(StudentTest(point, error, df), point, 0.1, 0.95, up_is_good=False)
    assert (turned["p_not_worse1"], turned["p_not_worse2"]) == pytest.approx((below, above))


def test_a_margin_is_a_share() -> None:
    with pytest.raises(InputError, match="`margin` must be a share above 0 and below 1; got 2") as raised:
        consistency_difference([1, 0], [1, 1], [1, 1], [0, 0], margin=2)
    assert raised.value.remedy == "Two points are 0.02."


def test_a_margin_has_a_level_above_one_half() -> None:
    """Models that differ by 0 in all of 12 problems were equivalent within 3 points, beside an interval of 5.6."""
    columns = [1] * 24, [1] * 24, [1] * 24, [i // 2 for i in range(24)]
    for level in (0.3, 0.5):
        with pytest.raises(InputError, match=r"`confidence_level` must be above 0\.5 with `margin`"):
            consistency_difference(*columns, margin=0.03, confidence_level=level)
    found = consistency_difference(*columns, margin=0.03, confidence_level=0.55).margin_test
    assert found is not None
    assert (found["verdict"] == "equivalent") == (found["interval"][1] < 0.03)
