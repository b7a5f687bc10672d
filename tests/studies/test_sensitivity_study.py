"""Semantic sensitivity: a pipeline worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.errors import refuses
from helpers.perturb import labelled

from paraconsist.data.tasks import get_task
from paraconsist.errors import InputError
from paraconsist.studies.options import SensitivityOptions
from paraconsist.studies.sensitivity import compare_sides, generator_settings, measure_sensitivity
from paraconsist.transforms.paraphrase.generators import GeneratorSettings, preset

LABELS = ("entailment", "neutral", "contradiction")
ROWS = [
    ("p1", "one is right", "entailment"),
    ("p1", "two is right", "neutral"),
    ("p2", "three is right", "contradiction"),
    ("p2", "four is wrong", "entailment"),
    ("p3", "five has no variant", "neutral"),
]
#: (premise, hypothesis) -> probabilities of LABELS; what is not here is certain of entailment.
ANSWERS = {
    ("p1", "one is right"): (0.8, 0.1, 0.1), ("p1", "one v stays"): (0.6, 0.2, 0.2),
    ("p1", "one v turns round"): (0.1, 0.1, 0.8), ("p1", "two is right"): (0.2, 0.7, 0.1),
    ("p1", "two v moves"): (0.6, 0.3, 0.1), ("p2", "three is right"): (0.1, 0.2, 0.7),
    ("p2", "three v moves"): (0.1, 0.5, 0.4), ("p2", "four is wrong"): (0.1, 0.1, 0.8),
    ("p3", "five has no variant"): (0.1, 0.8, 0.1), ("five has no variant", "five has v"): (0.9, 0.1, 0.0),
    ("five has v", "five has no variant"): (0.2, 0.8, 0.0), ("one is right", "one v not equivalent"): (0.1, 0.9, 0.0)
}  # fmt: skip
VARIANTS = {
    "one is right": ["one v not equivalent", "one v stays", "one v turns round"],
    "two is right": ["two v moves", "TWO IS RIGHT!"],
    "three is right": ["three v moves"],
    "five has no variant": ["five has v"],
}


class Table:
    """What `measure_sensitivity` asks of a predictor, from the table above."""

    task = get_task("nli")
    label_names = LABELS

    def __init__(self):
        self.asked = []

    def probabilities(self, rows):
        keys = [(row["premise"], row["hypothesis"]) for row in rows]
        self.asked += keys
        return np.array([ANSWERS.get(key, (1.0, 0.0, 0.0)) for key in keys])


def generator(texts):
    return [VARIANTS.get(text, []) for text in texts]


SETTINGS = GeneratorSettings(n=5, keep=5, mutual_entailment=True)


def measured(**options):
    table = Table()
    rows = labelled("nli", ROWS)
    return measure_sensitivity(table, rows, generator, SETTINGS, SensitivityOptions(n_resamples=50, **options)), table


def test_the_pipeline_worked_out_by_hand():
    found, table = measured()
    assert (found.n_rows, found.n_right, found.n_used) == (5, 4, 4)
    assert found.refined.accepted == {
        "one is right": ["one v stays", "one v turns round"],
        "two is right": ["two v moves"],
        "three is right": ["three v moves"],
        "five has no variant": [],
    }
    assert dict(found.refined.reasons) == {"not entailed both ways": 2, "copy of the original": 1}
    assert ("one v not equivalent", "one is right") not in table.asked  # forwards failed: backwards is not asked
    assert dict(found.n_with) == {1: 3, 2: 1, 3: 0, 4: 0, 5: 0}
    # of four right originals: one turned round, two moved (neutral: strict), three moved, five has no variant
    assert found.fooling.relaxed == 3 / 4
    assert found.fooling.strict == 2 / 4
    assert found.fooling.by_label["contradiction"]["strict"] == 0
    assert found.fooling.by_label["contradiction"]["relaxed"] == 1
    assert found.fooling.by_label["neutral"]["relaxed"] == 1 / 2
    assert found.fooling.n_clusters["relaxed"] == 3  # premises
    assert (found.shift.n_changed, found.shift.n_unchanged) == (3, 1)
    assert found.shift.max_difference["unchanged"] == pytest.approx(0.2)
    assert found.shift.max_difference["changed"] == pytest.approx((0.7 + 0.4 + 0.3) / 3)
    changed, unchanged = found.sides["changed"], found.sides["unchanged"]
    assert (changed["n"], unchanged["n"]) == (3, 1)
    assert changed["confidence_change"]["mean"] == pytest.approx((-0.7 - 0.4 - 0.3) / 3)
    assert unchanged["confidence_change"]["mean"] == pytest.approx(-0.2)
    assert changed["token_overlap"]["mean"] == pytest.approx((1 / 6 + 1 / 5 + 1 / 5) / 3)
    assert math.isnan(changed["embedding_distance"]["mean"])


def test_preset_code_takes_the_first_five_and_drops_items_with_fewer():
    refuses("`preset` must find an original with 5 variants or more; got 'at most 2'", measured, preset="code")
    many = {"one is right": [f"one v {i}" for i in "abcdefg"], "two is right": ["two v moves"]}
    asked = []

    def seven(texts):
        asked.extend(texts)
        return [many.get(text, []) for text in texts]

    settings = generator_settings("code", preset("a24"))
    assert (settings.keep, settings.n) == (5, 10)
    options = SensitivityOptions(preset="code", n_resamples=50)
    found = measure_sensitivity(Table(), labelled("nli", ROWS), seven, settings, options)
    assert found.fooling.n_items == 1
    assert found.sides["unchanged"]["n"] == 5
    assert found.refined.n_unused == 2
    with pytest.raises(InputError, match="`keep` must be at least 5 under preset code; got 3"):
        generator_settings("code", preset("a24").changed(keep=3))
    refuses("`preset` must be one of paper, code", generator_settings, "theirs", preset("a24"))
    assert generator_settings("paper", preset("v23")).mutual_entailment


def test_right_originals_can_be_drawn():
    found, _ = measured(limit=2)
    assert (found.n_right, found.n_used) == (4, 2)
    assert found.fooling.n_items == 2


def test_bad_input():
    table, rows = Table(), labelled("nli", ROWS)
    with pytest.raises(InputError, match="`task` must be nli"):
        measure_sensitivity(table, labelled("sentiment", [("a", "negative")]), generator, SETTINGS)
    with pytest.raises(InputError, match="`model` must answer at least one row right; got 'none of 1'"):
        measure_sensitivity(table, labelled("nli", [ROWS[3]]), generator, SETTINGS)
    with pytest.raises(InputError, match=r"`generator` must write at least one variant .* Left out: 2 not entailed"):
        only = {"five has no variant": ["five has v"], "one is right": ["one v not equivalent"]}
        measure_sensitivity(table, rows, lambda texts: [only.get(text, []) for text in texts], SETTINGS)
    with pytest.raises(InputError, match="`generator` must write texts"):
        measure_sensitivity(table, rows, lambda texts: [[""] for _ in texts], SETTINGS)
    table.label_names = ("LABEL_0", "LABEL_1", "LABEL_2")
    refuses("`label_map` must have meaningful label names", measure_sensitivity, table, rows, generator, SETTINGS)
    options = SensitivityOptions(label_map=dict(zip(table.label_names, LABELS, strict=True)))
    assert measure_sensitivity(table, rows, generator, SETTINGS, options).fooling.relaxed == 0.75


def test_sides_without_a_variant_are_undefined():
    found = compare_sides(np.array([False, False]), ["a b", "a"], ["a c", "a"], np.array([0.1, 0.3]), groups=["x", "y"])
    assert found["changed"]["n"] == 0
    assert math.isnan(found["changed"]["token_overlap"]["mean"])
    assert found["unchanged"]["token_overlap"]["mean"] == pytest.approx((1 / 3 + 1) / 2)
    assert found["unchanged"]["confidence_change"]["mean"] == pytest.approx(0.2)
    assert np.isnan(found["unchanged"]["confidence_change"]["confidence_interval"]).all()  # two groups say too little


def test_distances_of_embeddings_are_one_less_their_cosine():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 2.0], "c": [3.0, 0.0]}
    sides = compare_sides(
        np.array([True, False, False]),
        ["a", "a", "b"],
        ["b", "c", "b"],
        np.zeros(3),
        groups=["x", "y", "z"],
        encoder=lambda texts: np.array([vectors[text] for text in texts]),
    )
    assert sides["changed"]["embedding_distance"]["mean"] == pytest.approx(1.0)
    assert sides["unchanged"]["embedding_distance"]["mean"] == pytest.approx(0.0)
    assert sides["unchanged"]["token_overlap"]["standard_deviation"] == 0.5
