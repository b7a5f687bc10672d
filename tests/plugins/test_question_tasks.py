"""Questions in free text: the command line, Python, inspect_ai and lm-evaluation-harness give one number."""

import json
import math
import re
from importlib.util import find_spec

import pytest
from helpers.commands import write
from helpers.faulty_server import FaultyServer
from helpers.inspect_evaluations import inspect_eval, plugin

import paraconsist as pc

ANSWERS = {
    "How many days do I have?": "You have thirty days.",
    "Within how many days can I return it?": "30",
    "What is the deadline, in days?": "14 days",
    "What does shipping cost?": "It is 4.99.",
    "How much is the fee?": "5 euro",
    "What do I pay for shipping?": "Nothing.",
}
DAYS, FEE = [*ANSWERS][:3], [*ANSWERS][3:]
#: `days`: in half of the shops one of three pairs has one answer, in the others all have; `fee`: 4.99 and 5 are both
#: accepted, the third cannot be read.
CHANGE = {True: (1 / 3 + 2 / 3) / 2, False: (1 / 3 + 1) / 2}
N_SHOPS, ACCURACY = 12, (2 / 3 + 5 / 6) / 2


def answer(asked):
    """Return the answer to the last message of a chat, or to the end of a prompt."""
    text = asked if isinstance(asked, str) else asked[-1]["content"]
    question, _, shop = text.rpartition("\n\n")[2].partition(" (shop ")
    found = ANSWERS.get(question, "Hm.")
    return "30" if found == "14 days" and int(shop[:-1]) % 2 else found


@pytest.fixture(params=[True, False], ids=["accepted", "none accepted"])
def shop(request, tmp_path):
    """A file, whether it has accepted answers, and the scores of a Python function's answers."""
    listed = []
    for number in range(N_SHOPS):
        for name, wordings, expected in (("days", DAYS, 30), ("fee", FEE, [5, 4.99])):
            asked = [f"{wording} (shop {number})" for wording in wordings]
            listed.append(
                {"id": f"{name}-{number}", "wordings": asked} | ({"expected": expected} if request.param else {})
            )
    file = tmp_path / "shop.yaml"
    file.write_text(f"same: number\nsystem: You work in a shoe shop.\nquestions: {json.dumps(listed)}\n")
    answered = pc.run(lambda chats: [*map(answer, chats)], file, output=tmp_path / "run", version="1")
    return file, request.param, answered.score()


def one(scores):
    (values,) = scores.to_dict().values()
    return values


def check(values, shop):
    """Compare a result with the definition, and with that of the Python function."""
    expected = one(shop[2])
    assert (values["same"], values["task"]) == ("number", "questions")
    assert values["wording"]["wording_change"] == pytest.approx(CHANGE[shop[1]], abs=1e-12)
    ends = values["wording"]["confidence_interval"]["wording_change"]
    assert None not in ends
    assert ends == pytest.approx(expected["wording"]["confidence_interval"]["wording_change"], abs=1e-12)
    assert {key: values[key] for key in ("n_rows", "n_unparsed", "right")} == {
        key: expected[key] for key in ("n_rows", "n_unparsed", "right")
    }
    assert {name: found.get("accuracy") for name, found in values["measures"].items()} == {
        name: found.get("accuracy") for name, found in expected["measures"].items()
    }


def test_the_command_line(shop, tmp_path, command):
    with FaultyServer(write=lambda text, body: answer(body["messages"])) as server:
        options = ["--model", server.model, "--endpoint", server.url, "--dataset", shop[0], "--output", tmp_path / "b"]
        assert command("run", *options)[0] == 0
    check(next(iter(json.loads(command("score", tmp_path / "b", "--json")[1]).values())), shop)


def test_inspect_ai(shop, tmp_path):
    log = inspect_eval(plugin().bucket_set(str(shop[0])), answer, tmp_path / "logs")
    check(one(pc.score(tmp_path / "logs")), shop)
    assert [message.role for message in log.samples[0].messages] == ["system", "user", "assistant"]
    (shown,) = log.results.scores
    values = {name.rpartition("/")[2]: metric.value for name, metric in shown.metrics.items()}
    values = next(iter(values.values())) if isinstance(next(iter(values.values())), dict) else values
    wording = one(shop[2])["wording"]
    assert values["wording_change"] == pytest.approx(CHANGE[shop[1]], abs=1e-12)
    ends = [values["wording_change_low"], values["wording_change_high"]]
    assert None not in ends
    assert ends == pytest.approx(wording["confidence_interval"]["wording_change"], abs=1e-12)
    assert values["accuracy"] == pytest.approx(ACCURACY, abs=1e-12) if shop[1] else math.isnan(values["accuracy"])


@pytest.mark.faults
def test_accuracy_is_of_questions_with_an_accepted_answer(tmp_path):
    """In inspect's table the others counted as wrong; in the harness's and by `score --labelled` they do not count."""
    listed = [{"wordings": DAYS, "expected": 30}, {"wordings": FEE}]
    file = tmp_path / "shop.yaml"
    file.write_text(json.dumps({"same": "number", "questions": listed}))
    log = inspect_eval(plugin().bucket_set(str(file)), ANSWERS.__getitem__, tmp_path / "logs")
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(2 / 3)
    labelled = one(pc.score(tmp_path / "logs", labelled=True))
    assert labelled["measures"]["paraphrastic_consistency"]["accuracy"] == pytest.approx(2 / 3)


@pytest.mark.skipif(find_spec("lm_eval") is None, reason="lm_eval is not installed")
def test_lm_evaluation_harness(shop, tmp_path, monkeypatch):
    from helpers.harness import lm_eval
    from lm_eval.models.dummy import DummyLM

    import paraconsist.plugins as plugins

    asked = []

    def generate(self, requests, **_):
        asked.extend(request.args[0] for request in requests)
        return [answer(request.args[0]) for request in requests]

    monkeypatch.setattr(DummyLM, "generate_until", generate)
    folder = f"{next(iter(plugins.__path__))}/lm_eval_tasks"
    metadata = json.dumps({"dataset": str(shop[0])})
    lm_eval("run", "--model", "dummy", "--include_path", folder, "--tasks", "paraconsist_questions", "--metadata",
            metadata, "--log_samples", "--output_path", tmp_path / "harness")  # fmt: skip
    assert asked[0] == f"You work in a shoe shop.\n\n{DAYS[0]} (shop 0)"
    check(one(pc.score(tmp_path / "harness")), shop)
    (results,) = (tmp_path / "harness").rglob("results_*.json")
    reported = json.loads(results.read_text())["results"]["paraconsist_questions"]
    assert reported["wording_change,none"] == pytest.approx(CHANGE[shop[1]], abs=1e-12)
    assert reported.get("acc,none") == (pytest.approx(ACCURACY, abs=1e-12) if shop[1] else None)


def test_negations_beside_the_wordings(tmp_path):
    """Each measure has its metric, which `score` says of the log, and the harness's numbers are of the wordings."""
    rows = [
        {"bucket_id": f"b{i}", "role": role, "question": f"{role} {k} of {i}?", "expected": answers[k == 3]}
        for i in range(12)
        for k, role in enumerate(["original", "paraphrase", "paraphrase", "negation"])
        for answers in [("yes", "no")]
    ]

    def said(prompt):
        text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
        k, i = map(int, re.findall(r"(\d+) of (\d+)", text)[-1])
        return "no" if (k == 3 and i > 2) or (k == 2 and i < 2) else "yes"

    path = write(tmp_path / "both.csv", rows)
    log = inspect_eval(plugin().bucket_set(str(path)), said, tmp_path / "logs")
    scores = pc.score(tmp_path / "logs").sets
    (shown,) = log.results.scores
    values = {name.rpartition("/")[2]: metric.value for name, metric in shown.metrics.items()}
    change, negational = (part for role in ("paraphrase", "negation") for name, part in scores.items() if role in name)
    assert change.wording.wording_change == pytest.approx(2 / 3 * 2 / 12)
    assert values["wording_change"] == pytest.approx(change.wording.wording_change, abs=1e-12)
    assert values["negational"] == pytest.approx(3 / 12, abs=1e-12)
    assert negational.measures["negational_inconsistency"]["inconsistency"] == pytest.approx(3 / 12, abs=1e-12)
