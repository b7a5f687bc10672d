"""Whatever an answer is, every comparer gives a verdict on it, and no answer makes the work on a pair endless."""

import time

import numpy as np
import pytest
from helpers.faulty_server import FaultyServer
from helpers.hostile import ENDLESS, UNITS, hostile, nested
from helpers.models import tiny_encoder

import paraconsist as pc
from paraconsist.comparing import structures
from paraconsist.comparing.comparer import comparer_names, get_comparer
from paraconsist.comparing.structures import read_json

ANSWERS = {**{kind: hostile(kind, 100_000) for kind in UNITS}, **nested(10_000)}
LIGHT = ["exact", "text", "contains", "tokens", "number", "number:0.01", "choice", "date", "json", r"regex:\w+$"]


def verdicts(same: str, answers: dict[str, str]) -> None:
    """Compare each answer with itself, with a longer one and with a plain one, in both directions."""
    comparer = get_comparer(same)
    for kind, answer in answers.items():
        texts = [answer, answer + " x 7", "5"]
        values = comparer.values(texts, [["red", "blue"]] * 3 if same == "choice" else None)
        first, second = [0, 0, 1, 1, 2], [0, 1, 0, 2, 1]
        found = comparer.pairs([values[i] for i in first], [values[j] for j in second])
        assert ((found >= 0) & (found <= 1)).all(), kind
        assert found[0] == (values[0] is not None), kind
        assert found[1] == found[2], kind
        assert found[3] == found[4], kind


@pytest.mark.parametrize("same", LIGHT)
def test_hostile_answers_are_compared_like_others(same):
    verdicts(same, ANSWERS)


def test_hostile_answers_are_compared_by_vectors():
    pytest.importorskip("wordllama")
    verdicts("similar", ANSWERS)


def test_hostile_answers_are_compared_by_a_model(tmp_path):
    model = tiny_encoder(tmp_path, ("entailment", "neutral", "contradiction"))
    kinds = (
        "orders",
        "nulls",
        "lone surrogates",
        "right to left",
        "brackets",
        "lists",
        "emoji",
    )  # others are the same to it
    verdicts(f"nli:{model}", {kind: ANSWERS[kind] for kind in kinds})


def test_hostile_answers_are_compared_by_a_judge_and_give_it_no_orders(tmp_path):
    with FaultyServer(write=lambda text, body: "yes" if text.startswith("yes") else "no") as server:
        (tmp_path / "judge.yaml").write_text(f"model: {server.model}\nendpoint: {server.url}\n")
        verdicts(f"judge:{tmp_path / 'judge.yaml'}", ANSWERS)
        bodies = [received.body for received in server.received if "messages" in received.body]
    asked = [body["messages"][-1]["content"] for body in bodies]
    assert len(asked) > 100
    for text in asked:  # what an answer says stays in one line, in quotation marks
        lines = text.split("\n")
        assert [line for line in lines if line.startswith("Reply")] == ["Reply with one word, yes or no."]
        assert all(line.endswith('"') for line in lines if line.startswith("Answer "))
        assert len(text) < 7 * 20_000  # two answers of at most 10,000 characters, escaped


def test_hostile_answers_are_compared_by_a_function(tmp_path, monkeypatch):
    (tmp_path / "starts.py").write_text("def alike(a, b):\n    return a[:1] == b[:1]\n")
    monkeypatch.syspath_prepend(tmp_path)
    verdicts("starts:alike", ANSWERS)


def test_hostile_answers_are_compared_as_expressions(monkeypatch):
    pytest.importorskip("math_verify")
    monkeypatch.setattr(structures, "_MOST_SECONDS", 1.0)
    verdicts("math", ANSWERS)


def test_expressions_without_end_are_not_read(monkeypatch):
    pytest.importorskip("math_verify")
    monkeypatch.setattr(structures, "_MOST_SECONDS", 1.0)
    started = time.monotonic()
    found = pc.answer_similarity([*ENDLESS, "1/2"], [*[f"{text} + 1" for text in ENDLESS], "0.5"], same="math")
    assert found.tolist() == [0.0] * len(ENDLESS) + [1.0]  # the next process goes on
    assert time.monotonic() - started < 600


def test_every_comparer_is_tried():
    tried = {name.partition(":")[0] for name in LIGHT} | {"similar", "nli", "judge", "math"}
    assert set(comparer_names()) <= tried


def test_a_number_that_no_float_holds_is_json():
    large = "1" * 1_000
    assert read_json(f"[{large}]") == read_json(f"[{large}]") != read_json(f"[{large}1]")
    assert read_json("[10000000000000000000000]") == read_json("[1e22]")


def test_a_bucket_of_many_answers_has_no_cubic_work():
    rng = np.random.default_rng(0)
    answers = [" ".join(rng.choice(list("abcdefgh"), 3)) for _ in range(600)]
    assert pc.answer_classes(answers, [0] * 600, same="tokens:0.6").min() == 0
