"""Semantic sensitivity end to end: a pipeline worked out by hand, and the command."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from helpers.models import tiny_encoder
from helpers.perturb import labelled, write_csv

from paraconsist.data.predictions import read_predictions
from paraconsist.data.tasks import get_task
from paraconsist.errors import InputError
from paraconsist.models.encoders import encoder_of, load_encoder
from paraconsist.running.predictor import Predictor
from paraconsist.studies.sensitivity import compare_sides, generator_settings, measure_sensitivity
from paraconsist.transforms.paraphrase.settings import GeneratorSettings, preset

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
    ("p1", "one is right"): (0.8, 0.1, 0.1),
    ("p1", "one v stays"): (0.6, 0.2, 0.2),
    ("p1", "one v turns round"): (0.1, 0.1, 0.8),  # opposite
    ("p1", "two is right"): (0.2, 0.7, 0.1),
    ("p1", "two v moves"): (0.6, 0.3, 0.1),  # neutral has no opposite: any change is strict
    ("p2", "three is right"): (0.1, 0.2, 0.7),
    ("p2", "three v moves"): (0.1, 0.5, 0.4),  # relaxed only
    ("p2", "four is wrong"): (0.1, 0.1, 0.8),
    ("p3", "five has no variant"): (0.1, 0.8, 0.1),
    # judged: two ways; the second of these fails backwards
    ("five has no variant", "five has v"): (0.9, 0.1, 0.0),
    ("five has v", "five has no variant"): (0.2, 0.8, 0.0),
    ("one is right", "one v not equivalent"): (0.1, 0.9, 0.0),
}
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
    return measure_sensitivity(table, rows, generator, SETTINGS, n_resamples=50, **options), table


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
    with pytest.raises(InputError, match="`preset` must find an original with 5 variants or more; got 'at most 2'"):
        measured(preset="code")
    many = {"one is right": [f"one v {i}" for i in "abcdefg"], "two is right": ["two v moves"]}
    asked = []

    def seven(texts):
        asked.extend(texts)
        return [many.get(text, []) for text in texts]

    settings = generator_settings("code", preset("a24"))
    assert (settings.keep, settings.n) == (5, 10)
    found = measure_sensitivity(Table(), labelled("nli", ROWS), seven, settings, preset="code", n_resamples=50)
    assert found.fooling.n_items == 1
    assert found.sides["unchanged"]["n"] == 5
    assert found.refined.n_unused == 2
    with pytest.raises(InputError, match="`keep` must be at least 5 under preset code; got 3"):
        generator_settings("code", preset("a24").changed(keep=3))
    with pytest.raises(InputError, match="`preset` must be one of paper, code"):
        generator_settings("theirs", preset("a24"))
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
    with pytest.raises(InputError, match="`label_map` must have label names that say what they mean"):
        measure_sensitivity(table, rows, generator, SETTINGS)
    named = dict(zip(table.label_names, LABELS, strict=True))
    assert measure_sensitivity(table, rows, generator, SETTINGS, label_map=named).fooling.relaxed == 0.75


def test_sides_without_a_variant_are_undefined():
    found = compare_sides(np.array([False, False]), ["a b", "a"], ["a c", "a"], np.array([0.1, 0.3]), groups=["x", "y"])
    assert found["changed"]["n"] == 0
    assert math.isnan(found["changed"]["token_overlap"]["mean"])
    assert found["unchanged"]["token_overlap"]["mean"] == pytest.approx((1 / 3 + 1) / 2)
    assert found["unchanged"]["confidence_change"]["mean"] == pytest.approx(0.2)
    low, high = found["unchanged"]["confidence_change"]["confidence_interval"]
    assert low <= 0.2 <= high


# The command


SENTENCES = [
    "a man is riding a bike", "two kids are outside", "the dog is sleeping", "a woman is near the car",
    "many people are talking", "a boy is eating dinner", "there is a dog outside", "the kids are happy",
]  # fmt: skip
WORDS = tuple(dict.fromkeys(" ".join([*SENTENCES, "children sofa bicycle road right now currently lady guy"]).split()))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sensitivity")
    tiny_encoder(folder / "model", ("contradiction", "entailment", "neutral"), words=WORDS, seed=1)
    rows = [(SENTENCES[(i + 3) % 8], text, LABELS[(i + j) % 3]) for j in range(3) for i, text in enumerate(SENTENCES)]
    write_csv(folder / "rows.csv", ("premise", "hypothesis", "label"), [*rows, ("x", "y", "-")])
    write_csv(folder / "yes.csv", ("premise", "hypothesis", "label"), rows)
    return folder


def test_the_command_writes_a_run_that_score_reads(tmp_path, place, command):
    output = tmp_path / "s"
    given = ["sensitivity", place / "rows.csv", "--model", place / "model", "--output", output, "--n-resamples", 50]
    code, said, err = command(*given, "--device", "cpu", "--tries", 3)
    assert code == 0, err
    assert "rows left out 1: no gold label" in said
    assert "right originals with at least k variants" in said
    found = json.loads((output / "sensitivity.json").read_text())
    assert found["preset"] == "paper"
    assert found["fooling_rate"]["strict"] <= found["fooling_rate"]["relaxed"]
    assert f"relaxed: {100 * found['fooling_rate']['relaxed']:.2f} %" in said
    sides = found["sides"]
    predictions = read_predictions(output / "predictions" / "variants.parquet")
    rows = predictions.table.to_pylist()
    assert all(row["prediction"] == row["label"] for row in rows if row["role"] == "original")  # right originals only
    variants = [row for row in rows if row["role"] == "paraphrase"]
    assert sides["unchanged"]["n"] == sum(row["prediction"] == row["label"] for row in variants) > 0
    assert sides["changed"]["n"] == sum(row["prediction"] != row["label"] for row in variants)
    code, scored, err = command("score", output / "predictions" / "variants.parquet", "--n-resamples", 20)
    assert code == 0, err
    assert "P_C" in scored
    # the store is gone on with: the same command computes nothing anew, and says the same
    store = sorted((output / "store").rglob("*.jsonl"))
    before = [file.read_bytes() for file in store]
    _, again, _ = command(*given, "--device", "cpu", "--tries", 3)
    assert again == said
    assert [file.read_bytes() for file in store] == before


def test_embeddings_are_means_over_tokens(place):
    import torch

    from paraconsist.models.loading import load_model

    classifier = load_model(place / "model", task=get_task("nli"))
    encoder = encoder_of(classifier)
    texts = ["a man is riding a bike", "the dog", "the dog"]
    found = encoder(texts)
    assert np.array_equal(found[1], found[2])
    for text, vector in zip(texts, found, strict=True):
        with torch.inference_mode():
            states = classifier.module.bert(**classifier.tokenizer(text, return_tensors="pt")).last_hidden_state
        assert vector == pytest.approx(states[0].mean(dim=0).numpy(), abs=1e-4)
    assert load_encoder(str(place / "model"))(texts) == pytest.approx(found, abs=1e-5)
    assert encoder_of(object()) is None


def test_predictor_asks_each_distinct_input_once(tmp_path, place):
    from paraconsist.models.loading import load_model

    task = get_task("nli")
    classifier = load_model(place / "model", task=task)
    asked = []
    original = classifier.logits
    classifier.logits = lambda batch: asked.append(len(batch)) or original(batch)
    rows = [{"premise": "a man", "hypothesis": text} for text in ("the dog", "a bike", "the dog")]
    for store, expected in ((None, 2), (tmp_path, 2), (tmp_path, 0)):
        asked.clear()
        predictor = Predictor(classifier, task, store=store, device="cpu")
        found = predictor.probabilities(rows)
        predictor.probabilities(rows[:1])
        assert sum(asked) == expected
        assert found.shape == (3, 3)
        assert np.array_equal(found[0], found[2])
        assert found.sum(axis=1) == pytest.approx(1)
    assert predictor.probabilities([]).shape == (0, 3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--preset", "theirs"], "`--preset` must be one of paper, code; got 'theirs'"),
        (["--generation", "theirs"], "sensitivity: `--generation` must be one of a24, v23, s24"),
        (["--candidates", "0"], "sensitivity: `--candidates` must be a whole number of at least 1"),
        (["--generator", "nowhere:function"], "`--generator` must be in a module that can be imported"),
        (["--model", "NOWHERE"], "There is no such folder"),
        (["--columns", "premise=other"], "`column` must be TASK_COLUMN=FILE_COLUMN"),
    ],
)
def test_the_command_refuses(tmp_path, place, command, given, message):
    options = {"--model": place / "model", "--output": tmp_path / "out"} | dict(
        zip(given[::2], given[1::2], strict=True)
    )
    named = {"NOWHERE": tmp_path / "no"}
    code, _, err = command(
        "sensitivity", place / "rows.csv", *(named.get(x, x) for item in options.items() for x in item)
    )
    assert code == 2
    assert message in err
