"""How an answer ended: refusals, filters, limits and hostile bodies are named, counted, or asked again."""

import gzip
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.endpoint import arguments, command, done, predictions, stored
from helpers.faulty_server import KEY, FaultyServer, Received
from helpers.processes import write_set

from paraconsist.data import foreign
from paraconsist.data.prompts import WrittenAnswer, parse_answer
from paraconsist.data.store import Failed, Store, opened, sealed
from paraconsist.models.endpoint.client import Key
from paraconsist.models.endpoint.protocol import Answered, Ending, Interrupted, text_of, tokens_used

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_set(tmp_path_factory.mktemp("endings") / "set.jsonl", 60)


Change = Callable[[dict[str, Any], Received], dict[str, Any]]


def ended(reason: str, message: dict[str, Any]) -> Change:
    def change(body: dict[str, Any], request: Received) -> dict[str, Any]:
        if request.tag != "probe":
            body["choices"][0] |= {"finish_reason": reason, "message": message}
        return body

    return change


HOPELESS = {
    "filtered": ("content_filter", {"content": ""}, "filtered"),
    "declined": ("stop", {"content": None, "refusal": "I cannot help."}, "declined"),
    "tools": ("tool_calls", {"content": None, "tool_calls": [{"id": "a"}]}, "tool"),
    "reasoning": ("stop", {"content": None, "reasoning_content": "Hm."}, "reasoning"),
    "cut": ("length", {"content": "<think> Hm"}, "max-new-tokens"),
    "empty": ("stop", {"content": ""}, "empty"),
    "error": ("error", {"content": ""}, "error"),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_a_run_that_cannot_succeed_costs_at_most_32_requests(data, tmp_path, name):
    reason, message, word = HOPELESS[name]
    with FaultyServer(change=ended(reason, message)) as server:
        code, _, said = command(arguments(server.url, data, tmp_path / "run", api="chat", scoring="generate"))
        assert len(server.received) <= 32
    assert code == 2
    assert word in said


def test_failed_and_cut_answers_are_named_counted_and_kept(data, tmp_path):
    kinds = [("stop", {"content": "W"}), ("content_filter", {"content": ""}), ("length", {"content": "It is W"})]

    def change(body: dict[str, Any], request: Received) -> dict[str, Any]:
        reason, message = kinds[request.number % 3]
        body["choices"][0] |= {"finish_reason": reason, "message": message}
        return body

    with FaultyServer(change=change) as server:
        given = arguments(server.url, data, tmp_path / "run", api="chat", scoring="generate", concurrency=1)
        out = done(given)
        n = len(server.received)
        done(given)
        assert len(server.received) == n
    counts = predictions(tmp_path / "run").metadata["inputs"]
    assert set(counts["failed"]) == {"filtered"}
    assert counts["n_unfinished"] > 0
    results = json.loads((tmp_path / "run" / "results.json").read_text())["set"]["warnings"]
    assert "cut at 8 tokens" in " ".join(results) + out
    endings = {line["ending"]["reason"] for line in stored(tmp_path / "run", "answers.jsonl")}
    assert endings == {"stop", "content_filter", "length"}


def test_half_an_emoji_does_not_block_a_run(data, tmp_path):
    with FaultyServer(write=lambda text, body: "S \ud83d") as server:
        done(arguments(server.url, data, tmp_path / "run", scoring="generate"))
    assert set(predictions(tmp_path / "run").table["raw_output"].to_pylist()) == {"S \ufffd"}


def test_stores_of_earlier_versions_are_healed(tmp_path):
    line = sealed({"input_id": "a", "label": 1, "raw_output": "S \ud83d"})
    assert opened(line[:-1])["raw_output"] == "S \ufffd"
    store = Store(tmp_path, {})
    store.create()
    (store.folder / "rank-00000.jsonl").write_bytes(line)
    assert store.finished() == {"a": WrittenAnswer(1, "S \ufffd")}


def test_the_lines_of_a_store(tmp_path):
    """Nothing stands in them that is so of most inputs."""
    results = [[0.25, 0.75], WrittenAnswer(1, "S"), WrittenAnswer(None, "It", True), Failed("refused", "Why.")]
    store = Store(tmp_path, {})
    store.create()
    with store.writer(0) as shard:
        shard.append([*"abcd"], results, [0, 0, 0, 3])
    assert [opened(line) for line in shard.path.read_bytes().splitlines()] == [
        {"input_id": "a", "probabilities": [0.25, 0.75]},
        {"input_id": "b", "label": 1, "raw_output": "S"},
        {"input_id": "c", "label": None, "raw_output": "It", "cut": True},
        {"input_id": "d", "kind": "refused", "reason": "Why.", "n_cut": 3},
    ]


def test_one_cut_input_of_a_batch_is_counted(tmp_path):
    store = Store(tmp_path, {})
    store.create()
    with store.writer(1) as shard:
        shard.append([*"ab"], np.array([[0.25, 0.75], [0.5, 0.5]]), [0, 3])
    assert store.finished().n_cut.tolist() == [0, 3]


def test_an_echoed_key_stands_in_no_file(data, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    forms = [f"S api_key={KEY}", f"W Bearer,{KEY}", json.dumps({"key": KEY}), f"W {KEY[:20]}"]
    with FaultyServer(write=lambda text, body: forms[len(text) % 4]) as server:
        server.model = "toy"
        done(arguments(server.url, data, tmp_path / "run", scoring="generate", api_key_variable="MY_KEY"))
    for path in (path for path in (tmp_path / "run").rglob("*") if path.is_file()):
        assert KEY[:18].encode() not in path.read_bytes()
    assert any("***" in text for text in set(predictions(tmp_path / "run").table["raw_output"].to_pylist()))


@pytest.mark.parametrize("text", ["api_key=KEY", "Bearer,KEY", '{"key":"KEY"}', "a:KEY;b", "KEY"])
def test_a_key_is_hidden_between_any_marks(text):
    for part in (KEY, KEY[:14]):
        assert part[:10] not in Key(KEY).hide(text.replace("KEY", part), in_answers=True)
    assert Key("EMPTY").hide("EMPTY", in_answers=True) == "EMPTY"


def test_a_body_is_bounded(monkeypatch):
    monkeypatch.setattr(foreign, "MOST_BYTES", 1000)
    body = foreign.Body("gzip")
    with pytest.raises(foreign.Malformed, match="longer"):
        body.add(gzip.compress(bytes(10_000_000)))
    assert len(body.data) <= 1001
    body = foreign.Body("gzip")
    body.add(gzip.compress(b"{}"))
    assert foreign.read_object(body.data) == {}
    for encoding, data in (("br", b""), ("gzip", b"no gzip")):
        with pytest.raises(foreign.Malformed):
            foreign.Body(encoding).add(data)


@pytest.mark.parametrize("data", [b"[" * 200_000, b"[1]", b"{", b'{"a": "\xff"}', b'{"a": ' * 900 + b"1" + b"}" * 900])
@pytest.mark.parametrize("limit", [1000, 5000])
def test_what_is_no_object_is_malformed(data, limit):
    before = sys.getrecursionlimit()  # a library may have raised it
    sys.setrecursionlimit(limit)
    try:
        with pytest.raises(foreign.Malformed):
            foreign.read_object(data)
    finally:
        sys.setrecursionlimit(before)


def test_choices_are_read_by_index_and_absurd_counts_are_passed_over():
    body = {"choices": [{"index": 1, "text": "b"}, {"index": 0, "text": "a"}], "usage": {"prompt_tokens": 10**4000}}
    assert text_of(body) == "a"
    assert tokens_used(body) == (None, None)
    with pytest.raises(Interrupted):
        Ending.of({"error": {"message": "overloaded"}}, is_text=True)


def test_a_journal_keeps_an_ending_and_reads_lines_without_one():
    body = {"choices": [{"message": {"content": "a", "reasoning": "Hm."}, "finish_reason": "stop"}]}
    answered = Answered.of("a", "text", body, text_of)
    assert Answered.from_dict(answered.to_dict()) == answered
    assert answered.ending.reasoning == "Hm."
    plain = answered._replace(ending=Ending())
    assert "ending" not in plain.to_dict()
    assert Answered.from_dict(plain.to_dict()) == plain


@pytest.mark.parametrize(("text", "cut", "label"), [
    ("Weaken", True, None), ("Weaken", False, 0), ("Weakener", True, 1), ("Weaken.", True, 0),
    ("It is Weakener", True, None), ("Weaken\nIt is", True, 0), ("<think> Weaken", True, None)
])  # fmt: skip
def test_a_cut_answer_is_not_read_as_another_label(text, cut, label):
    assert parse_answer(text, ("Weaken", "Weakener"), cut=cut) == label


def test_prices_given_after_a_run_reach_its_record(data, tmp_path):
    with FaultyServer() as server:
        given = arguments(server.url, data, tmp_path / "run")
        done(given)
        done([*given, "--price", "2,10"])
    entry = json.loads((tmp_path / "run" / "run.json").read_text())["endpoint"]["defeasible_nli"]
    assert entry["cost"] > 0
    assert entry["last"]["n_computed"] == 54


def test_one_input_without_a_label_leaves_the_others_probabilities(data, tmp_path):
    def change(body: dict[str, Any], request: Received) -> dict[str, Any]:
        if request.number == 30:
            body["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = [{"token": "Hm", "logprob": -0.1}]
        return body

    with FaultyServer(change=change) as server:
        done(arguments(server.url, data, tmp_path / "run", api="chat"))
    rows = predictions(tmp_path / "run").table.to_pylist()
    unread = {row["input_id"] for row in rows if row["probabilities"] is None}
    assert len(unread) == 1
    assert {row["input_id"] for row in rows if row["prediction"] is None} == unread
    results = json.loads((tmp_path / "run" / "results.json").read_text())["set"]
    assert results["n_unparsed"] == sum(row["input_id"] in unread for row in rows)
