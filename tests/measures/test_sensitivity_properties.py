"""Fooling rates and distribution shift equal their definitions written as naive loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.examples import examples
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.measures.distribution_shift import SHIFTS, distribution_shift
from paraconsist.measures.fooling_rate import fooling_rate

MANY = examples(2000)
E, N, C = "entailment", "neutral", "contradiction"


def columns_of(table: dict[str, tuple[Any, Any, list[Any]]]) -> dict[str, list[Any]]:
    rows = [(v, o, g, item) for item, (o, g, variants) in table.items() for v in variants]
    names = ("predictions", "original_predictions", "references", "buckets")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def originals_of(table: dict[str, tuple[Any, Any, list[Any]]]) -> dict[str, tuple[Any, Any]]:
    return {item: (original, gold) for item, (original, gold, _) in table.items()}


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
