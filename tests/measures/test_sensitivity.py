"""Fooling rates and distribution shift: a hand-worked table, bad input."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from helpers.examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import jensenshannon
from scipy.special import expit

from paraconsist.errors import InputError
from paraconsist.measures.distribution_shift import SHIFTS, distribution_shift
from paraconsist.measures.fooling_rate import PRESETS, fooling_rate

E, N, C = "entailment", "neutral", "contradiction"

# item: (prediction on the original, gold label, predictions on its variants)
TABLE: dict[str, tuple[str, str, list[str]]] = {
    "e kept": (E, E, [E, E, E, E, E]),
    "e to n": (E, E, [E, E, N, E, E]),
    "e to c": (E, E, [E, E, E, C, E]),
    "e to c, late": (E, E, [E, E, E, E, E, C]),
    "n kept": (N, N, [N, N, N, N, N]),
    "n to e": (N, N, [E, N, N, N, N]),
    "c to n": (C, C, [C, N, C, C, C]),
    "c to e": (C, C, [E, C, C, C, C]),
    "c to n and e": (C, C, [C, C, C, N, E]),
    "e, too few": (E, E, [C, N]),
    "c, no variants": (C, C, []),
    "n, no variants": (N, N, []),
    "wrong, fooled": (E, C, [C, C, C, C, C]),
    "wrong, kept": (N, E, [N, N, N, N, N]),
}


def columns_of(table: dict[str, tuple[Any, Any, list[Any]]]) -> dict[str, list[Any]]:
    rows = [(v, o, g, item) for item, (o, g, variants) in table.items() for v in variants]
    names = ("predictions", "original_predictions", "references", "buckets")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def originals_of(table: dict[str, tuple[Any, Any, list[Any]]]) -> dict[str, tuple[Any, Any]]:
    return {item: (original, gold) for item, (original, gold, _) in table.items()}


# -------------------------------------------------------------------------------------- the table


def test_paper_every_right_original_counts() -> None:
    result = fooling_rate(**columns_of(TABLE), originals=originals_of(TABLE))
    # 12 right; another label: e to n, e to c, late, n to e, c to n, c to e, c to n and e, too few
    # the opposite (any other for neutral): e to c, late, n to e, c to e, c to n and e, too few
    assert (result.relaxed, result.strict, result.n_items) == (8 / 12, 6 / 12, 12)
    assert {
        label: (found["relaxed"], found["strict"], found["n_items"]) for label, found in result.by_label.items()
    } == {C: (3 / 4, 2 / 4, 4), E: (4 / 5, 3 / 5, 5), N: (1 / 3, 1 / 3, 3)}
    assert "preset:paper|variants:all|minimum:0|originals:all given" in result.signature
    assert f"opposites:{E}->{C}, {C}->{E}" in result.signature
    assert result.warnings == ()


def test_paper_without_the_originals_those_without_variants_are_unknown() -> None:
    result = fooling_rate(**columns_of(TABLE))
    assert (result.relaxed, result.strict, result.n_items) == (8 / 10, 6 / 10, 10)
    assert "originals:those with variants" in result.signature


def test_code_first_five_and_fewer_are_dropped() -> None:
    result = fooling_rate(**columns_of(TABLE), originals=originals_of(TABLE), preset="code")
    # the late change is the sixth variant; three items have fewer than five
    assert (result.relaxed, result.strict, result.n_items) == (6 / 9, 4 / 9, 9)
    assert "preset:code|variants:first 5|minimum:5" in result.signature
    assert result.warnings == ("3 of 12 originals that are answered right have fewer than 5 variants: left out",)
    assert fooling_rate(**columns_of(TABLE), preset="code").relaxed == result.relaxed


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"minimum": 1}, (8 / 10, 6 / 10, 10)),
        ({"minimum": 2}, (8 / 10, 6 / 10, 10)),
        ({"minimum": 3}, (7 / 9, 5 / 9, 9)),
        ({"minimum": 6}, (1 / 1, 1 / 1, 1)),
        ({"variants": 1}, (3 / 12, 3 / 12, 12)),
        ({"variants": 2}, (4 / 12, 3 / 12, 12)),
        ({"variants": 2, "minimum": 2}, (4 / 10, 3 / 10, 10)),
        ({"opposites": {E: N, N: E}}, (8 / 12, 6 / 12, 12)),
        ({"opposites": {}}, (8 / 12, 8 / 12, 12)),
    ],
)
def test_options(options: dict[str, Any], expected: tuple[float, float, int]) -> None:
    result = fooling_rate(**columns_of(TABLE), originals=originals_of(TABLE), **options)
    assert (result.relaxed, result.strict, result.n_items) == expected


def test_numbers_and_names_in_any_case_mean_the_same() -> None:
    names = fooling_rate(**columns_of(TABLE))
    for code in ({E: 0, N: 1, C: 2}, {E: "ENTAILMENT", N: "Neutral", C: "Contradiction"}):
        table = {i: (code[o], code[g], [code[v] for v in vs]) for i, (o, g, vs) in TABLE.items()}
        found = fooling_rate(**columns_of(table))
        assert (found.relaxed, found.strict, found.n_items) == (names.relaxed, names.strict, names.n_items)


def test_rows_of_a_bucket_need_not_be_adjacent() -> None:
    columns = columns_of(TABLE)
    by_turns = np.argsort([i % 5 for i in range(len(columns["buckets"]))], kind="stable")
    mixed = {name: [column[i] for i in by_turns] for name, column in columns.items()}
    assert fooling_rate(**mixed).relaxed == fooling_rate(**columns).relaxed


def test_no_item_and_a_constant_answer() -> None:
    wrong = fooling_rate([0, 0], [0, 0], [1, 1], ["a", "a"], opposites={0: 1, 1: 0})
    assert math.isnan(wrong.relaxed)
    assert wrong.n_items == 0
    assert math.isnan(wrong.by_label["1"]["strict"])
    assert wrong.warnings == (
        "no original is answered right and has enough variants",
        "every prediction is 0: a constant answer scores 0 regardless of the text",
        "undefined, so nan: relaxed, strict",
    )
    right = fooling_rate([0, 0], [0, 0], [0, 0], ["a", "b"], opposites={0: 1, 1: 0})
    assert (right.relaxed, right.strict) == (0.0, 0.0)
    assert right.confidence_interval["relaxed"] == pytest.approx(
        list(stats.binomtest(0, 2).proportion_ci(0.95, method="exact"))
    )


def test_labels_without_an_item_and_two_labels_without_opposites_are_warned_of() -> None:
    result = fooling_rate([0, 1], [0, 1], [0, 0], [1, 2])
    assert result.warnings == (
        "no label 2 occurs, and 0 and 2 are taken for opposites: for a task of two labels give `opposites`",
        "undefined, so nan: chance_corrected",
    )
    by_name = fooling_rate([E, "not_entailment"], [E, "not_entailment"], [E, E], [1, 2])
    assert (by_name.relaxed, by_name.strict) == (result.relaxed, result.strict)
    assert by_name.warnings == (
        "no label 'contradiction' occurs, and 'entailment' and 'contradiction' are taken for opposites: "
        "for a task of two labels give `opposites`",
        "undefined, so nan: chance_corrected",
    )
    assert "no label 0 occurs" in fooling_rate([1, 2], [1, 2], [1, 2], [1, 2]).warnings[0]
    result = fooling_rate([0, 2], [0, 2], [0, 1], [1, 2])
    assert result.warnings == (
        "undefined, so nan, for gold labels without an item: 1",
        "undefined, so nan: chance_corrected",
    )
    result = fooling_rate([0, 2], [0, 2], [0, 2], [1, 2], opposites={0: 2, 5: 0})
    assert "`opposites` names labels that never occur: [5]" in result.warnings


def test_groups_as_a_column_and_as_a_mapping() -> None:
    columns = columns_of(TABLE)
    premise = {item: i // 2 for i, item in enumerate(TABLE)}
    column = [premise[item] for item in columns["buckets"]]
    by_column = fooling_rate(**columns, groups=column)
    assert str(by_column) == str(fooling_rate(**columns, groups=premise))
    assert "ci:group-korn-graubard" in by_column.signature
    assert fooling_rate(**columns, originals=originals_of(TABLE), groups=premise).n_items == 12
    with pytest.raises(InputError, match="`groups` must map every bucket to its group; got 'one per row, and 2"):
        fooling_rate(**columns, originals=originals_of(TABLE), groups=column)
    with pytest.raises(InputError, match="`groups` must have the group of bucket 'e kept'"):
        fooling_rate(**columns, groups={"x": 1})
    with pytest.raises(InputError, match="`groups` must give every row of a bucket the same group"):
        fooling_rate(**columns, groups=list(range(len(column))))


# --------------------------------------------------------------------------------- distribution shift


def test_the_distance_is_scipys() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet([0.5, 0.5, 0.5], 200), rng.dirichlet([2, 1, 1], 200)
    result = distribution_shift(p, q)
    changed = p.argmax(1) != q.argmax(1)
    distance = jensenshannon(p, q, base=2, axis=1)
    assert result.jensen_shannon_distance["changed"] == pytest.approx(distance[changed].mean(), rel=1e-12)
    assert result.jensen_shannon_distance["unchanged"] == pytest.approx(distance[~changed].mean(), rel=1e-12)
    assert result.jensen_shannon_divergence["changed"] == pytest.approx((distance[changed] ** 2).mean())
    assert result.n_changed == changed.sum()


def test_shift_by_hand() -> None:
    result = distribution_shift([[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]], [[1, 0, 0], [1, 0, 0], [0.5, 0, 0.5]])
    assert result.jensen_shannon_distance == pytest.approx({"changed": 1.0, "unchanged": math.sqrt(0.5) / 2})
    assert result.jensen_shannon_divergence == pytest.approx({"changed": 1.0, "unchanged": 0.25})
    assert result.max_difference == {"changed": 1.0, "unchanged": 0.25}
    one_hot, half = math.sqrt(2) / 3, np.std([0.5, 0.5, 0])
    assert result.standard_deviation == pytest.approx({"changed": one_hot, "unchanged": (one_hot + half) / 2})
    surer = distribution_shift([[1, 0, 0], [0.5, 0.5, 0]], [[0.5, 0.5, 0], [0.5, 0, 0.5]])
    assert surer.standard_deviation_difference["unchanged"] == pytest.approx((one_hot - half) / 2)
    assert result.standard_deviation_difference == pytest.approx({"changed": 0.0, "unchanged": 0.0})


def test_equal_probabilities_shift_by_exactly_0() -> None:
    p = np.random.default_rng(0).dirichlet([1] * 3, 50)
    result = distribution_shift(p, p)
    assert result.jensen_shannon_distance["unchanged"] == 0.0
    assert math.isnan(result.max_difference["changed"])
    assert result.warnings == (
        "no prediction is changed: undefined, so nan, for those",
        "no spread between unchanged pairs, so the interval is a Clopper-Pearson type bound: "
        "jensen_shannon_distance, jensen_shannon_divergence, max_difference, standard_deviation_difference",
    )
    low, high = result.confidence_interval["max_difference"]["unchanged"]
    assert (low, high) == pytest.approx((0.0, 1 - 0.025 ** (1 / 50)))


def test_intervals_of_shifts_resample_groups_and_methods_agree() -> None:
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet([1] * 3, 60), rng.dirichlet([1] * 3, 60)
    p, q, groups = np.repeat(p, 5, axis=0), np.repeat(q, 5, axis=0), np.repeat(np.arange(60), 5)
    name, side = "jensen_shannon_distance", "changed"
    found = {
        method: distribution_shift(p, q, groups=groups, interval_method=method)
        for method in ("auto", "bootstrap", "closed_form")
    }
    assert "ci:group-logit-t" in found["auto"].signature
    widths = {m: float(np.ptp(r.confidence_interval[name][side])) for m, r in found.items()}
    assert widths["closed_form"] == pytest.approx(widths["bootstrap"], rel=0.15)
    rows = distribution_shift(p, q)
    assert widths["auto"] == pytest.approx(widths["bootstrap"], rel=0.15)
    assert np.ptp(rows.confidence_interval[name][side]) < 0.6 * widths["auto"]
    apart = rows.standard_error[name][side]
    effect = (found["auto"].standard_error[name][side] / apart) ** 2
    assert found["auto"].design_effect[name][side] == pytest.approx(effect)
    assert rows.design_effect[name][side] == pytest.approx(1.0, abs=1e-12)
    assert "group-bootstrap" in found["bootstrap"].signature
    assert "group-closed-form" in found["closed_form"].signature


def test_rows_are_divided_by_their_sum_and_ties_go_to_the_first() -> None:
    result = distribution_shift([[0.501, 0.501], [0.5, 0.5]], [[0.5, 0.5], [0.4, 0.6]])
    assert result.n_changed == 1
    assert result.max_difference["unchanged"] == 0.0
    half = np.float16([[0.3, 0.7]])
    assert distribution_shift(half, half.astype(np.float64)).n_unchanged == 1


def test_one_pair_has_no_interval() -> None:
    result = distribution_shift([[0.9, 0.1], [0.8, 0.2]], [[0.1, 0.9], [0.9, 0.1]])
    assert result.warnings == (
        "one of the pairs is changed: no interval for those, which takes 10",
        "one of the pairs is unchanged: no interval for those, which takes 15",
    )
    assert all(map(math.isnan, result.confidence_interval["max_difference"]["changed"]))


def moved(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Return confidences as models have them: most near 1, variants moved on the logit scale, some by much."""
    before = rng.normal(2.0, 2.0, n)
    after = before + 1.2 * rng.standard_t(4, n)
    return tuple(np.stack([p, 1 - p], axis=1) for p in (expit(after), expit(before)))  # type: ignore[return-value]


@pytest.mark.parametrize(("n", "n_changed"), [(37, 5), (96, 13), (440, 60)])
def test_intervals_of_shifts_hold_or_are_not_there(n: int, n_changed: int) -> None:
    """Five changed pairs had percentiles that covered 70 to 78 %, thirteen 88 to 92 %."""
    rng = np.random.default_rng(n)
    truth = distribution_shift(*moved(rng, 200_000), interval_method="closed_form")
    assert truth.n_changed / 200_000 == pytest.approx(n_changed / n, abs=0.005)
    sides = ("changed", "unchanged")
    covered, there, replications = np.zeros((5, 2)), np.zeros((5, 2)), 200
    for _ in range(replications):
        result = distribution_shift(*moved(rng, n))
        for (i, name), (j, side) in product(enumerate(SHIFTS), enumerate(sides)):
            low, high = result.confidence_interval[name][side]
            there[i, j] += low <= high
            covered[i, j] += low <= getattr(truth, name)[side] <= high
        assert math.isnan(result.confidence_interval["max_difference"]["changed"][0]) == (result.n_changed < 10)
    if n_changed < 10:
        assert (there[:, 0] < 0.05 * replications).all()
        covered, there = covered[:, 1:], there[:, 1:]
    error = np.sqrt(0.95 * 0.05 / there)
    assert (covered / there >= 0.93 - 2 * error).all()
    assert (covered / there <= 0.985 + 2 * error).all()


# ------------------------------------------------------------------------------------------- bad input


def test_names_that_are_no_inference_labels_need_opposites() -> None:
    with pytest.raises(InputError, match="`opposites` must be given where no label is called entailment"):
        fooling_rate(["yes", "maybe"], ["yes", "no"], ["yes", "no"], ["a", "b"])
    two = fooling_rate(["yes", "no", "yes"], ["yes", "yes", "no"], ["yes", "yes", "no"], ["a", "b", "c"])
    assert (two.strict, two.relaxed) == (2 / 3, 2 / 3)  # two labels are each other's
    assert fooling_rate(["no"], ["yes"], ["yes"], ["a"], opposites={"yes": "no", "no": "yes"}).strict == 1.0


def test_an_unread_answer_is_no_label_that_needs_an_opposite() -> None:
    """One -1 among the answers, and 0, 1, 2 had no opposites any more."""
    two = fooling_rate(["", "no", "yes"], ["yes"] * 3, ["yes"] * 3, ["a", "b", "c"])
    assert (two.relaxed, two.strict) == (2 / 3, 1 / 3)
    result = fooling_rate([-1, 2, 0], [0, 0, 0], [0, 0, 0], ["a", "b", "c"])
    assert (result.relaxed, result.strict) == (2 / 3, 1 / 3)
    with pytest.raises(InputError, match="`opposites` must be given where labels are not 0, 1, 2"):
        fooling_rate([-1, 1], [1, 1], [1, -1], ["a", "b"])


def test_presets_are_the_published_ones() -> None:
    assert PRESETS == {"paper": (None, 0), "code": (5, 5)}


# ---------- Fooling rates and distribution shift equal their definitions written as naive loops

MANY = examples(2000)


def same(value: float, expected: float) -> bool:
    return value == pytest.approx(expected, abs=1e-12, nan_ok=True)


@st.composite
def tables(draw: Any) -> dict[Any, tuple[Any, Any, list[Any]]]:
    labels = draw(st.sampled_from([[0, 1, 2], [E, N, C]]))
    label = st.sampled_from(labels)
    items = draw(st.lists(st.tuples(label, label, st.lists(label, max_size=7)), min_size=1, max_size=12))
    items.append((labels[0], labels[0], [draw(label)]))
    names = draw(st.sampled_from([list(range(50)), [f"b{i}" for i in range(50)]]))
    return dict(zip(names, items, strict=False))


@MANY
@given(data=st.data())
def test_fooling_rate_equals_the_naive_loop(data: st.DataObject) -> None:
    table = data.draw(tables())
    k = data.draw(st.none() | st.integers(1, 6))
    least = data.draw(st.integers(0, k if k is not None else 6))
    knows_originals = data.draw(st.booleans())
    columns = columns_of(table)
    if data.draw(st.booleans()):  # buckets interleaved, variants of each in order
        order = np.argsort(data.draw(st.lists(st.integers(0, 3), min_size=9, max_size=9)) * 20)
        turn = {bucket: int(order[i % 9]) for i, bucket in enumerate(table)}
        by_turns = sorted(range(len(columns["buckets"])), key=lambda i: turn[columns["buckets"][i]])
        columns = {name: [column[i] for i in by_turns] for name, column in columns.items()}
    found = fooling_rate(
        **columns,
        originals=originals_of(table) if knows_originals else None,
        opposites={0: 2, 2: 0} if isinstance(columns["references"][0], int) else None,
        variants=k,
        minimum=least,
    ).to_dict()
    opposite = {0: 2, 2: 0, E: C, C: E}
    outcomes: dict[str, list[tuple[bool, bool]]] = {}
    for original, gold, variants in table.values():
        if not variants and not knows_originals:
            continue
        of_label = outcomes.setdefault(str(gold), [])
        if original != gold or len(variants) < least:
            continue
        relaxed = strict = False
        for variant in variants[:k]:
            relaxed = relaxed or variant != original
            strict = strict or (variant == opposite.get(original, variant) and variant != original)
        of_label.append((relaxed, strict))
    everything = [outcome for of_label in outcomes.values() for outcome in of_label]
    assert found["n_items"] == len(everything)
    for i, name in enumerate(("relaxed", "strict")):
        share = sum(o[i] for o in everything) / len(everything) if everything else math.nan
        assert same(found[name], share)
        low, high = found["confidence_interval"][name]
        assert math.isnan(share) or low <= found[name] <= high
        for label, of_label in outcomes.items():
            expected = sum(o[i] for o in of_label) / len(of_label) if of_label else math.nan
            assert same(found["by_label"][label][name], expected)
    assert set(found["by_label"]) == set(outcomes)
    assert everything == [] or found["strict"] <= found["relaxed"]


@st.composite
def probability_pairs(draw: Any) -> tuple[list[list[float]], list[list[float]]]:
    n, n_labels = draw(st.integers(1, 12)), draw(st.integers(2, 4))
    weight = st.lists(st.integers(0, 9), min_size=n_labels, max_size=n_labels).filter(any)
    rows = draw(st.lists(st.tuples(weight, weight), min_size=n, max_size=n))
    p, q = ([[w / sum(row[side]) for w in row[side]] for row in rows] for side in (0, 1))
    return p, q


@MANY
@given(probability_pairs())
def test_distribution_shift_equals_the_naive_loop(pairs: Any) -> None:
    p, q = pairs
    found = distribution_shift(p, q, n_resamples=20).to_dict()
    rows: dict[str, list[list[float]]] = {"changed": [], "unchanged": []}
    for variant, original in zip(p, q, strict=True):
        side = "changed" if variant.index(max(variant)) != original.index(max(original)) else "unchanged"
        middle = [(a + b) / 2 for a, b in zip(variant, original, strict=True)]
        divergence = sum(
            0.5 * x * math.log2(x / m) for xs in (variant, original) for x, m in zip(xs, middle, strict=True) if x > 0
        )
        mean = sum(variant) / len(variant)
        spread = math.sqrt(sum((x - mean) ** 2 for x in variant) / len(variant))
        largest = max(abs(a - b) for a, b in zip(variant, original, strict=True))
        middle_of_original = sum(original) / len(original)
        before = math.sqrt(sum((x - middle_of_original) ** 2 for x in original) / len(original))
        rows[side].append([math.sqrt(max(divergence, 0.0)), max(divergence, 0.0), largest, spread, spread - before])
    for side, values in rows.items():
        assert found[f"n_{side}"] == len(values)
        for i, name in enumerate(SHIFTS):
            expected = sum(v[i] for v in values) / len(values) if values else math.nan
            assert found[name][side] == pytest.approx(expected, abs=2e-8, nan_ok=True)
            low, high = found["confidence_interval"][name][side]
            least = -0.5 if name == "standard_deviation_difference" else 0.0
            assert math.isnan(low) or least <= low <= found[name][side] <= high <= 1.0
