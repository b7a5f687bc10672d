"""Questions reworded, and checked by a model in both directions: from the set to a filtered set and its run."""

import csv

import pytest
from helpers.commands import done
from helpers.faulty_server import FaultyServer
from helpers.language_models import save_language_model
from helpers.models import WORDS, tiny_encoder

from paraconsist.comparing.meaning import comparer_of_texts
from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.transforms.paraphrase.sets import read_generated

LABELS = ("entailment", "not_entailment")
QUESTIONS = {
    "Is the dog late in the rain?": [
        "Was the dog lost in the rain?",
        "Is the dog early after the rain?",
        "Is it the dog in rain?",
    ],
    "Was she in school every day?": ["Is she always in school?", "Was she late in school?", "Did she work in school?"],
    "Was the food very early?": ["Was food early?", "Is the food still very early?", "Was it food after work?"],
}


def model(prompt, body):
    return QUESTIONS[next(text for text in QUESTIONS if text in prompt)][body["seed"] % 3]


@pytest.fixture(scope="module")
def nli(tmp_path_factory):
    words = [*dict.fromkeys([*WORDS, "?", "did", "early"])]
    return tiny_encoder(tmp_path_factory.mktemp("nli") / "model", LABELS, words=words, seed=9)


@pytest.fixture(scope="module")
def entails(nli):
    """Whether a text entails another, by the model's library alone."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    module = AutoModelForSequenceClassification.from_pretrained(nli).eval()
    tokenizer = AutoTokenizer.from_pretrained(nli)

    def one(premise, hypothesis):
        with torch.inference_mode():
            logits = module(**tokenizer(premise, hypothesis, return_tensors="pt")).logits[0]
        return float(logits.softmax(dim=0)[LABELS.index("entailment")]) >= 0.5

    return one


@pytest.mark.parametrize("source", ["file", "folder"])
def test_what_is_entailed_in_one_direction_only_is_left_out(source, nli, entails, tmp_path):
    expected = {
        text: [new for new in candidates if entails(text, new) and entails(new, text)]
        for text, candidates in QUESTIONS.items()
    }
    n = sum(map(len, expected.values()))
    one_way = [new for text, each in QUESTIONS.items() for new in each if entails(text, new) != entails(new, text)]
    assert (n, len(one_way)) == (5, 3)  # so that both directions are tried
    data = tmp_path / "questions" / "q.csv"
    data.parent.mkdir()
    with data.open("w", newline="") as stream:
        csv.writer(stream).writerows([("bucket_id", "asked"), *enumerate(QUESTIONS)])
    given = ["paraphrase", data if source == "file" else data.parent, "--columns", "question=asked", "--least", 1]
    given += ["--candidates", 3, "--output", tmp_path / "set.parquet", "--language", "en"]
    with FaultyServer(write=model) as server:
        shown = done(*given, "--generator", "toy", "--endpoint", server.url, "--check", f"nli:{nli}")
    assert f"{n} of 9 candidates accepted ({100 * n / 9:.1f} %)" in shown
    assert f"left out {9 - n}: another meaning (nli)" in shown
    found = {text: [] for text in QUESTIONS}
    rows = load_bucket_set(tmp_path / "set.parquet").table.to_pylist()
    originals = {row["bucket_id"]: row["question"] for row in rows if row["role"] == "original"}
    for row in rows:
        if row["role"] == "paraphrase":
            found[originals[row["bucket_id"]]].append(row["question"])
    assert {text: sorted(new) for text, new in found.items() if new} == {
        text: sorted(new) for text, new in expected.items() if new
    }
    with (tmp_path / "set.check.csv").open(encoding="utf-8-sig", newline="") as stream:
        checks = [line["checks"].partition(";")[0] for line in csv.DictReader(stream)]
    assert (checks.count("passed"), checks.count("left out: another meaning (nli)")) == (n, 9 - n)


def test_a_language_model_checks_by_its_odds_of_yes_and_no(tmp_path):
    folder = save_language_model(tmp_path / "toy-lm", seed=1)
    comparer = comparer_of_texts(f"plui:{folder}")
    expected = {
        text: [new for new in candidates if comparer.pairs([text], [new])[0] >= comparer.threshold]
        for text, candidates in QUESTIONS.items()
    }
    data = tmp_path / "q.csv"
    with data.open("w", newline="") as stream:
        csv.writer(stream).writerows([("bucket_id", "question"), *enumerate(QUESTIONS)])
    given = ["paraphrase", data, "--candidates", 3, "--output", tmp_path / "set.parquet", "--language", "en"]
    with FaultyServer(write=model) as server:
        said = done(*given, "--generator", "toy", "--endpoint", server.url, "--check", f"plui:{folder}")
    n = sum(map(len, expected.values()))
    assert f"{n} of 9 candidates accepted" in said
    assert "check: the error of plui:toy-lm is not measured: let people judge" in said
    facts = read_generated(tmp_path / "set.parquet")[1]
    assert facts["check"] == "plui:toy-lm"
    assert facts["error_of_check"].startswith("the error of plui:toy-lm is not measured")
