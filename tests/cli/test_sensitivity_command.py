"""The command `sensitivity`, and the encoder and predictor that it works with."""

import json

import numpy as np
import pytest
from helpers.models import tiny_encoder
from helpers.perturb import write_csv

from paraconsist.data.predictions import read_predictions
from paraconsist.data.tasks import get_task
from paraconsist.models.encoders import encoder_of, load_encoder
from paraconsist.running.predictor import Predictor

LABELS = ("entailment", "neutral", "contradiction")
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
    assert "rows left out 1: no gold label" in err
    assert "right originals with at least k variants" in said
    found = json.loads((output / "sensitivity.json").read_text())
    assert found["preset"] == "paper"
    assert found["fooling_rate"]["strict"] <= found["fooling_rate"]["relaxed"]
    assert f"relaxed: {100 * found['fooling_rate']['relaxed']:.2f} %" in said
    sides = found["sides"]
    rows = read_predictions(output / "predictions" / "variants.parquet").table.to_pylist()
    assert all(row["prediction"] == row["label"] for row in rows if row["role"] == "original")  # right originals only
    variants = [row for row in rows if row["role"] == "paraphrase"]
    assert sides["unchanged"]["n"] == sum(row["prediction"] == row["label"] for row in variants) > 0
    assert sides["changed"]["n"] == sum(row["prediction"] != row["label"] for row in variants)
    assert "P_C" in command.out("score", output / "predictions" / "variants.parquet", "--n-resamples", 20)
    assert "all well" in command.out("check", output)  # it was "not finished: the same command goes on from there"
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
        (["--columns", "premise=other"], "`--columns` must be FIELD=COLUMN"),
    ],
)
def test_the_command_refuses(tmp_path, place, command, given, message):
    options = {"--model": place / "model", "--output": tmp_path / "out"} | dict(
        zip(given[::2], given[1::2], strict=True)
    )
    named = {"NOWHERE": tmp_path / "no"}
    assert message in command.refused(
        "sensitivity", place / "rows.csv", *(named.get(x, x) for item in options.items() for x in item)
    )
