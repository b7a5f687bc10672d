"""Logical consistency: every measure equals its definition written as a naive loop."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.examples import examples
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.measures.antecedents import additive_inconsistency, transitive_inconsistency
from paraconsist.measures.pairs import negational_inconsistency, semantic_inconsistency, symmetric_inconsistency
from paraconsist.measures.prediction_change import prediction_change

MANY = examples(2000)
PAIRS = (semantic_inconsistency, symmetric_inconsistency, negational_inconsistency)
NAN = math.nan


def share(hits: list[bool]) -> float:
    return sum(hits) / len(hits) if hits else NAN


def same(value: float, expected: float) -> bool:
    return value == pytest.approx(expected, abs=1e-12, nan_ok=True)


def intervals_hold(result: dict[str, Any]) -> None:
    for name, (low, high) in result["confidence_interval"].items():
        value = result[name]
        assert math.isnan(low) == math.isnan(high), name
        least = -math.inf if name == "chance_corrected" else 0.0
        assert math.isnan(low) or least <= low <= value <= high <= 1.0, name
        assert not math.isnan(value) or math.isnan(low), name


@st.composite
def columns(draw: Any, n_columns: int) -> list[list[Any]]:
    n = draw(st.integers(1, 25))
    labels = draw(st.sampled_from([[0, 1], [0, 1, 2], ["a", "b"], ["E", "N", "C"], [-5, 10**12, 3]]))
    column = st.lists(st.sampled_from(labels), min_size=n, max_size=n)
    return [draw(column) for _ in range(n_columns)]


@st.composite
def groups_of(draw: Any, n: int) -> list[int] | None:
    return draw(st.none() | st.lists(st.integers(0, 4), min_size=n, max_size=n))


@pytest.mark.parametrize("measure", PAIRS)
@MANY
@given(data=st.data())
def test_pairs_equal_the_naive_loop(measure: Any, data: st.DataObject) -> None:
    original, perturbed, gold, other_gold = data.draw(columns(4))
    condition = data.draw(st.none() | st.sampled_from(original))
    groups = data.draw(groups_of(len(original)))
    found = measure(
        original,
        perturbed,
        condition=condition,
        references=gold,
        perturbed_references=other_gold,
        groups=groups,
        n_resamples=20,
    ).to_dict()
    violated = [
        (a == b) if measure is negational_inconsistency else (a != b) for a, b in zip(original, perturbed, strict=True)
    ]
    assert same(found["inconsistency"], share(violated))
    assert same(found["accuracy"], share([a == b for a, b in zip(original, gold, strict=True)]))
    assert same(found["perturbed_accuracy"], share([a == b for a, b in zip(perturbed, other_gold, strict=True)]))
    if condition is not None:
        kept = [v for a, v in zip(original, violated, strict=True) if a == condition]
        assert same(found["conditional_inconsistency"], share(kept))
        assert found["n_conditional"] == len(kept)
    intervals_hold(found)


@MANY
@given(data=st.data())
def test_transitive_equals_the_naive_loop(data: st.DataObject) -> None:
    consequent, a, a_gold, b, b_gold = data.draw(columns(5))
    labels = sorted({*consequent, *a, *b, *a_gold, *b_gold})
    allowed = data.draw(
        st.lists(st.lists(st.sampled_from(labels), min_size=1, max_size=3), min_size=len(a), max_size=len(a))
    )
    groups = data.draw(groups_of(len(a)))
    found = transitive_inconsistency(consequent, allowed, a, a_gold, b, b_gold, groups=groups, n_resamples=20).to_dict()
    counted: dict[str, list[bool]] = {}
    for c, rule, p, p_gold, q, q_gold in zip(consequent, allowed, a, a_gold, b, b_gold, strict=True):
        name = f"{p_gold} & {q_gold} -> {'|'.join(map(str, sorted(set(rule))))}"
        of_rule = counted.setdefault(name, [])
        if p == p_gold and q == q_gold:
            of_rule.append(c not in rule)
    everything = [violated for of_rule in counted.values() for violated in of_rule]
    assert same(found["inconsistency"], share(everything))
    assert found["n_satisfied"] == len(everything)
    assert set(found["by_rule"]) == set(counted)
    for name, of_rule in counted.items():
        assert same(found["by_rule"][name]["inconsistency"], share(of_rule))
        assert found["by_rule"][name]["n_satisfied"] == len(of_rule)
    assert sum(rule["n_rows"] for rule in found["by_rule"].values()) == found["n_rows"] == len(a)
    intervals_hold(found)


@MANY
@given(data=st.data())
def test_additive_equals_the_naive_loop(data: st.DataObject) -> None:
    merged, gold, one, two = data.draw(columns(4))
    groups = data.draw(groups_of(len(gold)))
    found = additive_inconsistency(merged, gold, one, two, groups=groups, n_resamples=20).to_dict()
    kept = [m != label for m, label, p, q in zip(merged, gold, one, two, strict=True) if p == label and q == label]
    assert same(found["inconsistency"], share(kept))
    assert (found["n_satisfied"], found["n_rows"]) == (len(kept), len(gold))
    intervals_hold(found)


@MANY
@given(data=st.data())
def test_change_equals_the_naive_loop(data: st.DataObject) -> None:
    now, before, gold = data.draw(columns(3))
    strata = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(now), max_size=len(now)))
    groups = data.draw(groups_of(len(now)))
    found = prediction_change(now, before, gold, strata=strata, groups=groups, n_resamples=20).to_dict()
    rows = list(zip(now, before, gold, strata, strict=True))
    assert same(found["change_rate"], share([p != o for p, o, _, _ in rows]))
    assert found["correct_to_incorrect"] == sum(o == g and p != g for p, o, g, _ in rows)
    assert found["incorrect_to_correct"] == sum(o != g and p == g for p, o, g, _ in rows)
    assert same(found["change_rate_given_correct"], share([p != o for p, o, g, _ in rows if o == g]))
    assert same(found["change_rate_given_incorrect"], share([p != o for p, o, g, _ in rows if o != g]))
    assert list(found["by_stratum"]) == sorted(set(strata))
    for name, stratum in found["by_stratum"].items():
        assert same(stratum["change_rate"], share([p != o for p, o, _, s in rows if s == name]))
        assert stratum["n_pairs"] == strata.count(name)
        intervals_hold(stratum)
    for name in ("n_changed", "correct_to_incorrect", "incorrect_to_correct", "n_pairs"):
        assert sum(stratum[name] for stratum in found["by_stratum"].values()) == found[name]
    intervals_hold(found)
