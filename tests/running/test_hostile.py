"""A hostile endpoint: each input is answered, failed by name or asked again, and no file has the key."""

import copy
import gzip
import json
import random
from typing import Any

import pytest
from helpers.endpoint import arguments, command, done, predictions, stored
from helpers.faulty_server import KEY, FaultyServer, Raw, Received
from helpers.processes import write_set

from paraconsist.models.endpoint import client

pytestmark = [pytest.mark.faults, pytest.mark.slow]
_JSON = {"Content-Type": "application/json"}
RAW: dict[str, Raw] = {
    "no body": (200, _JSON, b""), "null": (200, _JSON, b"null"), "a list": (200, _JSON, b"[1]"),
    "brackets": (200, _JSON, b"[" * 200_000), "deep": (200, _JSON, b'{"a": ' * 990 + b"1" + b"}" * 990),
    "bomb": (200, {**_JSON, "Content-Encoding": "gzip"}, gzip.compress(bytes(1 << 28), 1)),
    "no gzip": (200, {**_JSON, "Content-Encoding": "gzip"}, b"{}"),
    "brotli": (200, {**_JSON, "Content-Encoding": "br"}, b"{}"),
    "latin": (200, _JSON, b'{"choices": [{"text": "\xe9"}]}'), "plain": (200, {"Content-Type": "text/plain"}, b"OK"),
    "refused": (400, _JSON, json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()),
    "unavailable": (503, _JSON, f"api_key={KEY}".encode()), "unauthorised": (401, _JSON, f"Bearer,{KEY}".encode()),
    "legal": (451, _JSON, b'{"detail": [[{"message": {}}]]}'),
    "redirect": (302, {"Location": "http://127.0.0.1:1/"}, b""),
    "permanent": (308, {"Location": "file:///etc/passwd"}, b""), "long wait": (429, {"Retry-After": "99999"}, b"{}")
}  # fmt: skip
SCRIPTED = (
    *("429:0", "500", "502", "529", "cut", "malformed", "html", "too_long", "quota", "unknown_model", "endless"),
    "hang",
)


def _choice(**fields: Any) -> Any:
    return lambda answer: answer["choices"][0].update(fields)


def _message(reason: str = "stop", **fields: Any) -> Any:
    return _choice(finish_reason=reason, message=fields)


CHANGES = {
    "error": _message("error", content=""),
    "filtered": _message("content_filter", content=""),
    "cut short": _message("length", content="<think> Hm"),
    "tools": _message("tool_calls", content=None, tool_calls=[{"function": {"arguments": "\ud83d"}}]),
    "declined": _message("refusal", content=None, refusal="No."),
    "reasoning": _message("stop", content=None, reasoning_content="Hm. " * 100_000),
    "empty": _message("stop", content=""),
    "half": _message("stop", content="S \ud83d", reasoning="\udfff"),
    "controls": _message("stop", content="S \x00\x1b[2J\u202e"),
    "long": _message("stop", content="S" * 200_000),
    "number": _message("stop", content=5),
    "parts": _message("stop", content=[{"type": "text", "text": "S"}, None, {"text": 1}]),
    "echo": _message("stop", content=f"S api_key={KEY} Bearer,{KEY[:20]}"),
    "second first": lambda answer: answer.update(choices=[{"index": 1}, {"index": 0, **answer["choices"][0]}]),
    "no choices": lambda answer: answer.update(choices=[]),
    "odd choices": lambda answer: answer.update(choices=[None, {"index": "a"}]),
    "error in 200": lambda answer: answer.update(choices=None, error={"message": f"key {KEY}"}),
    "usage": lambda answer: answer.update(usage={"prompt_tokens": 10**300, "completion_tokens": -1}),
    "odd usage": lambda answer: answer.update(usage=[KEY], model={KEY: KEY}, system_fingerprint=f"{KEY} \ud83d"),
}
#: After which a run ends at once, with the error; the same command goes on.
ENDS = {"html", "quota", "unknown_model", "unauthorised", "redirect", "permanent", "long wait"}
#: Nobody bills these, so that a run is patient with them: two tries of each of the first inputs.
UNPAID = {"500", "502", "529", "unavailable", "cut"}
BEHAVIOURS = [*SCRIPTED, *RAW, *CHANGES]


class Hostile(FaultyServer):
    """Shows the behaviour that `choose` names for a request, of those about inputs."""

    choose: Any = None

    def __enter__(self) -> FaultyServer:
        self.raw, self._chosen = RAW, {}

        def script(number: int, tag: str) -> str | None:
            name = None if tag == "probe" else self.choose(number, tag)
            self._chosen[number] = name
            return None if name in CHANGES else name

        def change(answer: dict[str, Any], request: Received) -> dict[str, Any]:
            if name := self._chosen[request.number]:
                CHANGES[name](answer)
            return answer

        self.script, self.change = script, change
        return super().__enter__()


@pytest.fixture
def hasty(monkeypatch):
    """Let waits end soon, and have a key."""
    monkeypatch.setattr(client, "_FIRST_WAIT", 0.001)
    monkeypatch.setattr(client, "_LONGEST_WAIT", 0.01)
    monkeypatch.setenv("MY_KEY", KEY)
    return {"api": "chat", "scoring": "generate", "api_key_variable": "MY_KEY", "timeout": 1}


def holds_no_key(folder, said: str) -> bool:
    texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    return not any(KEY[:18].encode() in text for text in [said.encode("utf-8", "replace"), *texts])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_set(tmp_path_factory.mktemp("hostile") / "set.jsonl", 60)


@pytest.mark.parametrize("behaviour", [name for name in BEHAVIOURS if name != "429:0"])
def test_one_behaviour_for_ever_ends_by_name_and_costs_little(data, tmp_path, hasty, behaviour):
    with Hostile() as server:
        server.choose = lambda number, tag: behaviour
        hasty["tries"] = 2
        code, out, said = command(arguments(server.url, data, tmp_path / "run", **hasty))
        sent = [request for request in server.received if request.tag != "probe"]
    assert code in (0, 2)
    assert holds_no_key(tmp_path, out + said)
    if code == 0:
        rows = predictions(tmp_path / "run").table.to_pylist()
        assert all(row["raw_output"] is not None or row.get("unanswered") for row in rows)
    else:
        assert said.startswith("error: ") or "\nerror: " in said
        paid = [request for request in sent if request.outcome in {"answered", *RAW, *SCRIPTED}]
        assert len(paid) <= (48 if behaviour in UNPAID else 32)


def test_all_behaviours_at_once(tmp_path, hasty):
    data = write_set(tmp_path / "set.jsonl", 445)
    rng = random.Random(0)
    left = dict.fromkeys(ENDS, 1) | {"hang": 2, "endless": 3, "bomb": 3}
    transient = [name for name in BEHAVIOURS if name not in left]

    def choose(number: int, tag: str) -> str | None:
        if number < 40 or rng.random() < 0.5:
            return None
        name = rng.choice([*transient, *(name for name, n in left.items() if n)])
        left[name] = left.get(name, 1) - 1
        return name

    with Hostile() as server:
        server.choose = choose
        given = arguments(server.url, data, tmp_path / "run", **hasty)
        for _ in range(len(ENDS) + 1):
            code, out, said = command(given)
            assert holds_no_key(tmp_path / "run", out + said)
            if code == 0:
                break
            assert code == 2
        assert code == 0, said
    rows = {row["input_id"]: row for row in predictions(tmp_path / "run").table.to_pylist()}
    assert len(rows) >= 400
    assert all(row["raw_output"] is not None or row["unanswered"] for row in rows.values())
    failed = {row["unanswered"] for row in rows.values()} - {None}
    assert {"refused", "filtered", "declined", "tool calls only", "too long"} <= failed
    assert len({line["input_id"] for line in stored(tmp_path / "run", "rank-*.jsonl")}) == len(rows)


VALUES = (
    *(None, True, -1, 0.5, 10**400, float("nan"), float("-inf"), "", "S", " \ud83d", "x" * 10_000, [], {}, [None]),
    *([[]], {"": None}, [1, "a"], {"text": 1}, -10_000),
)


def mutated(value: Any, rng: random.Random) -> Any:
    """Return a JSON value with something in it removed, replaced or repeated."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.15:
        return rng.choice(VALUES)
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key, how = rng.choice(list(keys)), rng.random()
    if how < 0.15:
        del value[key]
    elif how < 0.25 and isinstance(value, list):
        value.append(copy.deepcopy(value[key]))
    else:
        value[key] = mutated(value[key], rng)
    return value


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("api", ["completions", "chat"])
@pytest.mark.parametrize("scoring", ["label", "generate"])
def test_mutated_answers_leave_the_predictions_of_all_other_inputs(data, tmp_path, hasty, api, scoring, seed):
    hasty |= {"api": api, "scoring": scoring, "tries": 2, "timeout": 10}
    touched: set[str] = set()

    def change(answer: dict[str, Any], request: Received) -> dict[str, Any]:
        rng = random.Random(f"{seed} {request.tag}")
        if request.tag == "probe" or rng.random() > 0.3:
            return answer
        touched.add(request.tag.partition(":")[0])
        for _ in range(rng.randint(1, 3)):
            answer = mutated(answer, rng)
        return answer

    tables = []
    for changed in (None, change):
        with FaultyServer(change=changed) as server:
            output = tmp_path / ("run" if changed else "whole")
            done(arguments(server.url, data, output, **hasty))
        columns = ("input_id", "prediction", "probabilities", "raw_output")
        tables.append([{name: row.get(name) for name in columns} for row in predictions(output).table.to_pylist()])
    assert touched
    for whole, row in zip(*tables, strict=True):
        assert row["input_id"] in touched or row == whole
