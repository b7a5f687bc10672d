"""The IE test with groups: against the test of items, against every resample, its size, and where it draws."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from paraconsist.errors import InputError
from paraconsist.measures import paired_tests
from paraconsist.measures.difference_tests import ScoreTest
from paraconsist.measures.ie_test import ie_test
from paraconsist.measures.paired_tests import (
    grouped_exact_p_value,
    grouped_mcnemar_p_value,
    grouped_resampled_p_value,
    grouped_statistic,
)

RNG = np.random.default_rng(0)


def outcome(changes: Any, groups: Any, **options: Any) -> Any:
    """Return the test of items of which 1 is lost by the change, -1 gained, and 0 right in both."""
    changes = np.asarray(changes)
    return ie_test(
        (changes >= 0).astype(int), (changes <= 0).astype(int), np.ones(len(changes), int), groups=groups, **options
    )


@pytest.mark.parametrize(("n", "lost", "gained"), [(50, 3, 0), (50, 0, 3), (60, 14, 5), (7, 2, 2), (300, 30, 21)])
@pytest.mark.parametrize(
    "options", [{}, {"ties": "lower"}, {"method": "mcnemar"}, {"method": "mcnemar_mid_p"}], ids=lambda o: str(o)
)
def test_groups_of_one_item_are_items(n: int, lost: int, gained: int, options: dict[str, Any]) -> None:
    changes = [1] * lost + [-1] * gained + [0] * (n - lost - gained)
    items, groups = outcome(changes, None, **options), outcome(changes, np.arange(n), **options)
    assert groups.p_value == pytest.approx(items.p_value, abs=1e-11)
    assert groups.statistic == pytest.approx(items.statistic)
    assert groups.intervals[0] == pytest.approx(items.intervals[0])
    assert groups.design_effect["accuracy_difference"] == pytest.approx(1.0)
    assert (items.n_clusters, groups.n_clusters) == ({}, {"accuracy_difference": n})


@pytest.mark.parametrize("differences", [[2, 1, 0], [1, 1, -1], [3, -1], [2, 2, 1, 0], [4, -2, 2], [1, 1, 1]])
@pytest.mark.parametrize("ties", ["mid", "lower"])
def test_the_p_is_that_of_every_resample_and_every_swap(differences: list[int], ties: Any) -> None:
    def squared(k: int, q: int) -> float:
        return math.copysign(k * k / q, k) if q else 0.0

    n, observed = len(differences), squared(sum(differences), sum(k * k for k in differences))
    resamples = [
        squared(sum(s * k for s, k in zip(signs, drawn, strict=True)), sum(k * k for k in drawn))
        for drawn in product(differences, repeat=n)
        for signs in product((1, -1), repeat=n)
    ]
    equal = np.isclose(resamples, observed, atol=1e-12)
    lower = (np.less(resamples, observed) & ~equal).mean()
    tail = lower + equal.mean() * (0.5 if ties == "mid" else 1.0)
    expected = 2 * min(tail, 1 - tail)
    assert grouped_exact_p_value(np.array(differences), ties=ties, rng=RNG) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("differences", [[2, 1, 0], [3, -1, 1, 1], [4, 2, 2, -2], [5, 0, 0]])
def test_mcnemars_p_is_that_of_every_swap(differences: list[int]) -> None:
    swaps = product((1, -1), repeat=len(differences))
    sums = [abs(sum(s * k for s, k in zip(signs, differences, strict=True))) for signs in swaps]
    k = abs(sum(differences))
    p = np.mean([one >= k for one in sums])
    mid = p - np.mean([one == k for one in sums]) / 2
    assert grouped_mcnemar_p_value(np.array(differences), mid_p=False) == pytest.approx(p, abs=1e-12)
    assert grouped_mcnemar_p_value(np.array(differences), mid_p=True) == pytest.approx(mid, abs=1e-12)


def test_swapping_the_versions_keeps_p_and_turns_the_rest() -> None:
    rng = np.random.default_rng(1)
    changes, groups = rng.choice([1, 0, -1], 120, p=[0.2, 0.7, 0.1]), rng.integers(0, 30, 120)
    one, other = outcome(changes, groups), outcome(-changes, groups)
    assert one.p_value == pytest.approx(other.p_value, abs=1e-12)
    assert one.statistic == -other.statistic
    assert one.intervals[0] == pytest.approx([-end for end in other.intervals[0][::-1]])
    renamed = outcome(changes, [f"g{-group}" for group in groups])
    assert renamed.p_value == pytest.approx(one.p_value, abs=1e-12)


def test_groups_that_change_together_count_once() -> None:
    changes = np.repeat([1, 1, 1, 1, -1] + [0] * 15, 6)
    together = outcome(changes, np.repeat(np.arange(20), 6))
    alone = outcome(changes[::6], None)
    items = outcome(changes, None)
    assert together.p_value == pytest.approx(alone.p_value, abs=1e-11)
    assert together.statistic == pytest.approx(alone.statistic)
    assert items.p_value < 0.001 < 0.1 < together.p_value
    assert np.ptp(together.intervals[0]) > 2 * np.ptp(items.intervals[0])
    effect = 119 / 19  # variances of means over 20 groups and 120 items that spread alike
    assert together.intervals[0] == pytest.approx(
        ScoreTest(120 / effect, 24 / effect, 6 / effect, degrees_of_freedom=19).interval(0.95)
    )
    assert "ci:group-tango" in together.signature
    assert "ci:item-tango" in items.signature


def test_the_size_holds_where_groups_are_alike() -> None:
    """Twelve groups of eight items, of which a group's all lean one way: items reject in a fifth of true nulls."""
    rng = np.random.default_rng(2)
    groups, replications = np.repeat(np.arange(12), 8), 120
    rejected = {"exact": 0, "mcnemar_mid_p": 0, "items": 0}
    for _ in range(replications):
        leaning = rng.random(12) < 0.5
        changed = rng.random(96) < 0.3
        changes = np.where(changed, np.where(rng.random(96) < np.where(leaning, 0.9, 0.1)[groups], 1, -1), 0)
        for method in rejected:
            options = {} if method == "items" else {"method": method, "groups": groups}
            rejected[method] += outcome(changes, **{"groups": None, **options}).reject
    assert rejected["items"] > 0.12 * replications
    assert rejected["exact"] < 0.08 * replications
    assert rejected["mcnemar_mid_p"] < 0.08 * replications


def test_where_the_distribution_is_too_large_p_is_drawn_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    changes, groups = rng.choice([1, 0, -1], 200, p=[0.25, 0.6, 0.15]), rng.integers(0, 40, 200)
    exact = outcome(changes, groups)
    assert "resamples" not in exact.signature
    monkeypatch.setattr(paired_tests, "MOST_CELLS", 0)
    drawn = outcome(changes, groups, seed=5)
    assert drawn.p_value == pytest.approx(exact.p_value, abs=5 * math.sqrt(exact.p_value / 500_000))
    assert {"resamples:500000", "seed:5"} <= set(drawn.signature.split("|"))
    assert outcome(changes, groups, seed=5) == drawn


def test_resampled_methods_tend_to_the_exact_p() -> None:
    differences = np.array([3, 2, 2, 1, -1, -1, 0, 0, 1, 0])
    exact = grouped_exact_p_value(differences, ties="lower", rng=RNG)
    drawn = grouped_resampled_p_value(differences, n_resamples=200_000, rng=np.random.default_rng(0))
    assert grouped_resampled_p_value(0 * differences, n_resamples=1, rng=np.random.default_rng(0)) == 1.0
    assert drawn == pytest.approx(exact, abs=0.01)
    changes, groups = np.repeat(np.sign(differences), np.maximum(np.abs(differences), 1)), []
    for group, k in enumerate(differences.tolist()):
        groups += [group] * max(abs(k), 1)
    for method in ("paper", "mcnemar_resampled"):
        result = outcome(changes, groups, method=method, n_resamples=5000)
        assert "resamples:5000" in result.signature
        assert 0.0 < result.p_value < 0.3


def test_each_run_has_its_groups() -> None:
    changes = np.concatenate([np.repeat([1, 0, 0, 1, -1], 4), np.repeat([1, 1, 1, 0, 0], 4)])
    runs, groups = np.repeat(["a", "b"], 20), np.tile(np.repeat(np.arange(5), 4), 2)
    both = outcome(changes, groups, runs=runs)
    for i, run in enumerate("ab"):
        alone = outcome(changes[runs == run], groups[runs == run])
        assert (both.p_values[i], both.intervals[i]) == (alone.p_value, alone.intervals[0])
    assert both.n_clusters == {"accuracy_difference": 10}
    assert "only 5 groups: the p-value and the interval are rough" in both.warnings


def test_groups_that_lose_as_much_as_they_gain_say_nothing() -> None:
    result = outcome([1, -1, 0, 0] * 3, np.repeat(np.arange(3), 4))
    assert (result.p_value, result.n10, result.n01) == (1.0, 3, 3)
    assert math.isnan(result.statistic)
    assert "no group lost or gained: t is undefined and p is 1" in result.warnings
    assert grouped_statistic(np.array([2, 2])) == math.inf
    one = outcome([1, 0, 0], ["g"] * 3)
    assert all(map(math.isnan, one.intervals[0]))
    two = outcome([0, 0, 0, 1, -1, 0], np.arange(6), runs=[0, 0, 0, 1, 1, 1])
    assert (two.p_values, two.statistic) == ([1.0, 1.0], 0.0)  # that of the run that has one


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"groups": [0, 1]}, "groups"),
        ({"groups": [0, None, 1]}, "groups"),
        ({"groups": [0, 1, 1], "method": "replay"}, "groups"),
        ({"groups": [0, 1, 1], "method": "mcnemar_replay"}, "groups"),
    ],
)
def test_bad_groups(options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(InputError) as raised:
        outcome([1, 0, -1], **options)
    assert raised.value.parameter == parameter
