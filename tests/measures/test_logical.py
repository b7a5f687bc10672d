"""Logical consistency: hand-made cases of every rule, intervals, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from paraconsist.errors import InputError
from paraconsist.measures.antecedents import additive_inconsistency, transitive_inconsistency
from paraconsist.measures.pairs import negational_inconsistency, semantic_inconsistency, symmetric_inconsistency
from paraconsist.measures.prediction_change import prediction_change
from paraconsist.measures.results import parse_signature

PAIRS = (semantic_inconsistency, symmetric_inconsistency, negational_inconsistency)

# entailment 0, neutral 1, contradiction 2
ORIGINAL = [0, 0, 0, 1, 2, 2]
PERTURBED = [0, 1, 2, 1, 2, 0]


def same(value: float, expected: float) -> bool:
    return value == pytest.approx(expected, abs=1e-12, nan_ok=True)


# --------------------------------------------------------------------------------------- pairs, by hand


@pytest.mark.parametrize(
    ("measure", "whole", "by_condition"),
    [
        (semantic_inconsistency, 3 / 6, {0: 2 / 3, 1: 0.0, 2: 1 / 2}),
        (symmetric_inconsistency, 3 / 6, {0: 2 / 3, 1: 0.0, 2: 1 / 2}),
        (negational_inconsistency, 3 / 6, {0: 1 / 3, 1: 1.0, 2: 1 / 2}),
    ],
)
def test_pairs_by_hand_with_every_condition(measure: Any, whole: float, by_condition: Any) -> None:
    plain = measure(ORIGINAL, PERTURBED).to_dict()
    assert plain["inconsistency"] == whole
    assert plain["n_pairs"] == 6
    assert "conditional_inconsistency" not in plain
    for condition, expected in by_condition.items():
        result = measure(ORIGINAL, PERTURBED, condition=condition)
        assert same(result.conditional_inconsistency, expected), condition
        assert result.n_conditional == ORIGINAL.count(condition)
        assert result.inconsistency == whole
        assert f"condition:original predicted {condition}" in result.signature


@pytest.mark.parametrize("measure", PAIRS)
def test_label_0_and_false_and_the_empty_name_are_conditions(measure: Any) -> None:
    assert measure([0, 1], [0, 0], condition=0).n_conditional == 1
    assert measure([False, True, True], [0, 0, 0], condition=False).n_conditional == 1
    assert measure(["", "a", "a"], ["", "a", "b"], condition="").n_conditional == 1


@pytest.mark.parametrize("measure", PAIRS)
def test_a_condition_that_never_occurs(measure: Any) -> None:
    result = measure(ORIGINAL, PERTURBED, condition=7)
    assert math.isnan(result.conditional_inconsistency)
    assert result.n_conditional == 0
    assert result.warnings == ("no original is predicted to be 7", "undefined, so nan: conditional_inconsistency")


def test_accuracy_of_both_sides() -> None:
    result = negational_inconsistency(
        ["E", "N"], ["C", "C"], references=["E", "E"], perturbed_references=["C", "C"]
    ).to_dict()
    assert (result["accuracy"], result["perturbed_accuracy"]) == (0.5, 1.0)
    assert set(result["confidence_interval"]) == {
        "inconsistency",
        "accuracy",
        "perturbed_accuracy",
        "chance_corrected",
    }
    assert "accuracy" not in semantic_inconsistency([1], [1], perturbed_references=[1]).to_dict()


def test_unanswered_pairs_break_the_rule_of_negation_whatever_their_labels() -> None:
    plain = negational_inconsistency(["E", "?"], ["C", "C"], perturbed_references=["C", "C"])
    found = negational_inconsistency(["E", "?"], ["C", "C"], perturbed_references=["C", "C"], unanswered=[False, True])
    assert (plain.inconsistency, found.inconsistency) == (0.0, 0.5)
    assert found.perturbed_accuracy == 1.0
    for unanswered, message in (([True], "`unanswered` must have one value per row"), ([0, 2], "be true or false")):
        with pytest.raises(InputError, match=message):
            negational_inconsistency([0, 1], [0, 1], unanswered=unanswered)


def test_constant_answers() -> None:
    for measure, score in zip(PAIRS, (0, 0, 1), strict=True):
        result = measure(["x"] * 4, ["x"] * 4)
        assert result.inconsistency == score
        constant = f"every prediction is 'x': a constant answer scores {score} regardless of the text"
        undefined = () if measure is negational_inconsistency else ("undefined, so nan: chance_corrected",)
        assert result.warnings == (constant, *undefined)
        assert (result.chance, result.chance_corrected) == (
            score,
            pytest.approx(math.nan if undefined else 0, nan_ok=True),
        )


# --------------------------------------------------------------------------------------------- transitive


def transitive(rows: list[tuple[Any, ...]], **options: Any) -> Any:
    """Rows of (prediction, allowed, antecedent 1 predicted, gold, antecedent 2 predicted, gold)."""
    return transitive_inconsistency(*map(list, zip(*rows, strict=True)), **options)


def test_every_rule_of_three_way_inference() -> None:
    not_e, not_c, only_c = [1, 2], [0, 1], [2]
    rows = [
        (2, only_c, 0, 0, 2, 2),  # E, C -> C: holds
        (1, only_c, 0, 0, 2, 2),  # violated
        (0, only_c, 0, 0, 2, 2),  # violated
        (0, not_e, 1, 1, 2, 2),  # N, C -> not E: violated
        (1, not_e, 1, 1, 2, 2),
        (2, not_e, 1, 1, 2, 2),
        (0, not_c, 1, 1, 0, 0),  # N, E -> not C
        (1, not_c, 1, 1, 0, 0),
        (2, not_c, 1, 1, 0, 0),  # violated
        (0, only_c, 1, 0, 2, 2),  # antecedent 1 wrong
        (0, only_c, 0, 0, 1, 2),  # antecedent 2 wrong
        (0, only_c, 1, 0, 1, 2),  # both wrong
    ]
    result = transitive(rows)
    assert same(result.inconsistency, 4 / 9)
    assert (result.n_satisfied, result.n_rows) == (9, 12)
    assert {
        rule: (round(found["inconsistency"], 4), found["n_satisfied"], found["n_rows"])
        for rule, found in result.by_rule.items()
    } == {"0 & 2 -> 2": (0.6667, 3, 6), "1 & 0 -> 0|1": (0.3333, 3, 3), "1 & 2 -> 1|2": (0.3333, 3, 3)}


def test_word_senses_two_rules_that_give_the_same_label_are_told_apart() -> None:
    rows = [("F", "F", "T", "T", "F", "F"), ("T", "F", "F", "F", "T", "T"), ("T", "T", "T", "T", "T", "T")]
    result = transitive(rows)
    assert same(result.inconsistency, 1 / 3)
    assert {rule: found["inconsistency"] for rule, found in result.by_rule.items()} == {
        "F & T -> F": 1.0,
        "T & F -> F": 0.0,
        "T & T -> T": 0.0,
    }


def test_labels_and_lists_of_one_mean_the_same_and_order_and_repeats_do_not_matter() -> None:
    labels = transitive([(0, 0, 1, 1, 1, 1), (1, 0, 1, 1, 1, 1)])
    assert repr(transitive([(0, [0], 1, 1, 1, 1), (1, [0], 1, 1, 1, 1)])) == repr(labels)
    one = transitive([(0, [2, 1], 0, 0, 0, 0), (2, [1, 2, 1], 0, 0, 0, 0)])
    assert list(one.by_rule) == ["0 & 0 -> 1|2"]
    assert one.inconsistency == 0.5
    for references in (np.array([[1, 2], [1, 2]]), [{1, 2}, (1, 2)], [np.array([1, 2]), [2, 1]]):
        found = transitive_inconsistency([0, 2], references, [0, 0], [0, 0], [0, 0], [0, 0])
        assert found.by_rule == one.by_rule


def test_a_constant_model_satisfies_no_antecedents() -> None:
    result = transitive([(0, [2], 0, 0, 0, 2)] * 3)
    assert math.isnan(result.inconsistency)
    assert (result.n_satisfied, result.n_rows) == (0, 3)
    assert math.isnan(result.by_rule["0 & 2 -> 2"]["inconsistency"])
    assert all(map(math.isnan, result.confidence_interval["inconsistency"]))
    assert result.warnings == (
        "no row has both antecedents predicted correctly: nothing follows from them",
        "undefined, so nan: inconsistency",
    )


def test_a_rule_that_no_row_satisfies_is_named() -> None:
    result = transitive([(0, [2], 0, 0, 0, 2), (2, [1, 2], 1, 1, 2, 2)])
    assert result.warnings == ("undefined, so nan, for rules that no row satisfies: 0 & 2 -> 2",)


def test_many_labels_and_sets_take_the_sparse_way_to_the_same_numbers() -> None:
    n = 3000
    names = [f"label {i}" for i in range(n)]
    result = transitive_inconsistency(names, [[names[i], names[i - 1]] for i in range(n)], *[names] * 4)
    assert (result.inconsistency, result.n_satisfied, len(result.by_rule)) == (0.0, n, n)
    wrong = transitive_inconsistency(names[1:] + names[:1], [[name] for name in names], *[names] * 4)
    assert wrong.inconsistency == 1.0


# ---------------------------------------------------------------------------------- additive, and change


def test_additive_by_hand() -> None:
    result = additive_inconsistency(
        predictions=[1, 0, 0, 0, 1],
        references=[1, 1, 0, 0, 0],
        part_1_predictions=[1, 1, 0, 0, 1],
        part_2_predictions=[1, 1, 0, 1, 1],
    )
    assert same(result.inconsistency, 1 / 3)
    assert (result.n_satisfied, result.n_rows) == (3, 5)
    empty = additive_inconsistency([1], [1], [0], [1])
    assert math.isnan(empty.inconsistency)
    assert empty.warnings == (
        "no row has both parts predicted correctly: nothing follows from them",
        "undefined, so nan: inconsistency",
    )
    constant = additive_inconsistency([1, 1], [1, 0], [1, 1], [1, 1])
    assert constant.inconsistency == 0.0
    assert constant.warnings == ("every prediction is 1: a constant answer scores 0 regardless of the text",)


def test_change_by_hand() -> None:
    result = prediction_change(
        predictions=[0, 1, 2, 0, 1, 2],
        original_predictions=[0, 0, 1, 1, 1, 2],
        references=[0, 0, 0, 0, 0, 2],
        strata=["h", "h", "h", "p", "p", "p"],
    )
    assert (result.change_rate, result.n_changed, result.n_pairs) == (0.5, 3, 6)
    # 0 -> 1 breaks a right answer, 1 -> 0 mends a wrong one, 1 -> 2 leads from wrong to wrong
    assert (result.correct_to_incorrect, result.incorrect_to_correct) == (1, 1)
    assert same(result.change_rate_given_correct, 1 / 3)
    assert same(result.change_rate_given_incorrect, 2 / 3)
    assert result.by_stratum is not None
    assert {name: (s["n_changed"], s["n_pairs"]) for name, s in result.by_stratum.items()} == {"h": (2, 3), "p": (1, 3)}
    low, high = result.by_stratum["h"]["confidence_interval"]["change_rate"]
    assert low < 2 / 3 < high


def test_change_with_several_strata_and_without_wrong_originals() -> None:
    result = prediction_change([1, 0], [1, 1], [1, 1], strata={"label": [1, 1], "source": [10, 9]})
    assert result.by_stratum is not None
    assert list(result.by_stratum["source"]) == ["9", "10"]
    assert result.by_stratum["label"]["1"]["change_rate"] == 0.5
    assert math.isnan(result.change_rate_given_incorrect)
    assert result.warnings == ("undefined, so nan: change_rate_given_incorrect",)


# ------------------------------------------------------------------------------------------- intervals


def test_independent_pairs_get_the_exact_interval() -> None:
    for k, n in [(0, 20), (1, 20), (7, 20), (20, 20)]:
        options = {"confidence_level": 0.9, "interval_method": "exact"}
        result = semantic_inconsistency([0] * n, [1] * k + [0] * (n - k), **options)
        exact = stats.binomtest(k, n).proportion_ci(0.9, method="exact")
        assert result.confidence_interval["inconsistency"] == pytest.approx([exact.low, exact.high])
        assert "ci:pair-clopper-pearson|level:0.9|" in result.signature


@pytest.mark.parametrize(
    ("groups", "method", "written"),
    [(None, "exact", "pair-clopper-pearson"), (range(100), "korn_graubard", "group-korn-graubard")],
)
def test_the_signature_tells_the_default_from_the_method_that_it_gives_way_for(groups, method, written) -> None:
    # three breaches in 100: by default Jeffreys' interval
    rows, groups = ([0] * 100, [1] * 3 + [0] * 97), None if groups is None else [*groups]
    default, named = (
        semantic_inconsistency(*rows, groups=groups, **given) for given in ({}, {"interval_method": method})
    )
    assert default.confidence_interval != named.confidence_interval
    assert parse_signature(default.signature).parts["ci"] == f"{written}+jeffreys"
    assert parse_signature(named.signature).parts["ci"] == written


def test_groups_of_equal_rows_widen_the_interval_and_count_as_one() -> None:
    rng = np.random.default_rng(5)
    changed = np.repeat(rng.random(40) < 0.3, 10)
    groups = np.repeat(np.arange(40), 10)
    rows = semantic_inconsistency(np.zeros(400, int), changed)
    grouped = semantic_inconsistency(np.zeros(400, int), changed, groups=groups)
    alone = semantic_inconsistency(np.zeros(40, int), changed[::10])
    wide, narrow = (np.ptp(r.confidence_interval["inconsistency"]) for r in (grouped, rows))
    assert wide > 2.5 * narrow
    assert grouped.confidence_interval["inconsistency"] == pytest.approx(
        alone.confidence_interval["inconsistency"], abs=0.02
    )
    assert grouped.design_effect["inconsistency"] == pytest.approx(10 * 399 / 390)
    assert rows.design_effect["inconsistency"] == 1.0
    assert (grouped.n_clusters["inconsistency"], rows.n_clusters["inconsistency"]) == (40, 400)
    assert "ci:group-korn-graubard+jeffreys|level:0.95|" in grouped.signature


def test_at_0_and_1_the_interval_counts_groups_with_a_row_in_the_population() -> None:
    result = negational_inconsistency([0] * 30 + [1] * 30, [1] * 30 + [1] * 30, condition=1, groups=list(range(20)) * 3)
    assert result.conditional_inconsistency == 1.0
    low, high = result.confidence_interval["conditional_inconsistency"]
    effective = 30**2 / (10 * 2**2 + 10 * 1**2)  # ten groups have two rows in the population, ten have one
    assert (low, high) == pytest.approx((0.025 ** (1 / effective), 1.0))
    assert any("Clopper-Pearson type bound: conditional_inconsistency" in w for w in result.warnings)


def test_an_interval_does_not_depend_on_what_else_is_asked_for() -> None:
    rng = np.random.default_rng(0)
    a, b, groups = rng.integers(0, 3, (3, 200))
    bare = semantic_inconsistency(a, b, groups=groups * 50 + np.arange(200) % 40)
    full = semantic_inconsistency(a, b, groups=groups * 50 + np.arange(200) % 40, condition=1, references=a)
    name = "inconsistency"
    assert bare.confidence_interval[name] == full.confidence_interval[name]


def test_methods_and_seeds() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, (2, 300))
    groups = np.arange(300) // 3
    found = {
        method: semantic_inconsistency(a, b, groups=groups, interval_method=method)
        for method in ("auto", "korn_graubard", "bootstrap", "closed_form")
    }
    assert found["auto"].confidence_interval == found["korn_graubard"].confidence_interval  # breaches are frequent
    assert found["auto"].confidence_interval["inconsistency"] == pytest.approx(
        found["bootstrap"].confidence_interval["inconsistency"], abs=0.01
    )
    assert found["closed_form"].confidence_interval["inconsistency"] == pytest.approx(
        found["bootstrap"].confidence_interval["inconsistency"], abs=0.01
    )
    assert "closed-form" in found["closed_form"].signature
    drawn = {"groups": groups, "interval_method": "bootstrap"}
    generator = [semantic_inconsistency(a, b, **drawn, seed=np.random.default_rng(3)) for _ in "ab"]
    assert generator[0] == generator[1]
    assert "seed:given" in generator[0].signature
    assert semantic_inconsistency(a, b, **drawn, seed=1) != found["bootstrap"]


def test_one_group_and_few_groups() -> None:
    one = semantic_inconsistency([0, 1], [1, 1], groups=["g", "g"])
    assert one.warnings == ("one group: no interval below 10",)
    assert all(map(math.isnan, one.confidence_interval["inconsistency"]))
    few = semantic_inconsistency([0, 1, 1], [1, 1, 1], groups=[1, 2, 2])
    assert few.warnings[0] == "only 2 groups: no interval below 10"
    assert all(map(math.isnan, few.confidence_interval["inconsistency"]))


# ------------------------------------------------------------------------------------------- bad input


def test_bad_antecedents_parts_and_strata() -> None:
    with pytest.raises(InputError, match="`antecedent_2_references` must have one value per row of"):
        transitive_inconsistency([0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [0])
    with pytest.raises(InputError, match="`antecedent_1_references` must hold integers, as `predictions`"):
        transitive_inconsistency([0, 1], [0, 1], [0, 1], ["0", "1"], [0, 1], [0, 1])
    with pytest.raises(InputError, match="additive_inconsistency: `part_2_predictions` must be given"):
        additive_inconsistency([0], [0], [0], None)
    with pytest.raises(InputError, match="prediction_change: `strata` must have one value per row of"):
        prediction_change([0, 1], [0, 1], [0, 1], strata=["a"])
    with pytest.raises(InputError, match=r"`strata\['who'\]` must not hold missing values; got None at row 1"):
        prediction_change([0, 1], [0, 1], [0, 1], strata={"who": ["a", None]})


# ---------- Logical consistency: every measure equals its definition written as a naive loop

MANY = examples(2000)
NAN = math.nan


def share(hits: list[bool]) -> float:
    return sum(hits) / len(hits) if hits else NAN


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
