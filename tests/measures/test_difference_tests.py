"""p and interval of a difference from one test: they agree in every data set, at every level and margin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from paraconsist.errors import InputError
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.difference_tests import (
    BoundaryTest,
    Compared,
    DifferenceTest,
    Joined,
    NullTest,
    ScoreTest,
    StudentTest,
    flip_tests,
    paired_differences,
    sign_flip_test,
)
from paraconsist.measures.inconsistency_difference import inconsistency_difference
from paraconsist.measures.intervals import mean_of_sums
from paraconsist.measures.paired_tests import paired_difference_interval
from paraconsist.measures.results import IntervalSettings


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


def test_sign_flips_invert_to_the_quantiles_of_half_means() -> None:
    """Eight differences, all 256 subsets by hand: p at delta, and the least delta that is not rejected."""
    d = np.array([0.5, 0.25, -0.125, 0.75, 0.0, 1.0, 0.375, 0.0625])
    w = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0])
    units = np.stack([w, d], axis=1), np.stack([w, 0.0 * d], axis=1), np.ones(8, dtype=np.int64), mean_of_sums
    p = sign_flip_test(*units, 10, np.random.default_rng(0)).p_value
    (test,) = flip_tests(*units, [0], p, 10, np.random.default_rng(0))
    signs = 1.0 - 2.0 * ((np.arange(256)[:, np.newaxis] >> np.arange(8)) & 1)
    for delta in (-0.3, 0.0, 0.05, 0.11, 0.21, 0.3, 0.55, 0.9):
        shifted = d - delta * w
        expected = np.mean(np.abs(signs @ shifted) >= abs(shifted.sum()) - 1e-12)
        assert test.p_at(delta) == pytest.approx(expected, abs=1e-12), delta
    low, high = test.interval(0.9)
    assert test.p_at(low) > 0.1 >= test.p_at(low - 1e-9)
    assert test.p_at(high) > 0.1 >= test.p_at(high + 1e-9)


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


def test_a_margin_is_a_share() -> None:
    with pytest.raises(InputError, match="`margin` must be a share above 0 and below 1; got 2") as raised:
        consistency_difference([1, 0], [1, 1], [1, 1], [0, 0], margin=2)
    assert raised.value.remedy == "Two points are 0.02."
