"""Runs over an endpoint: killed and resumed, faulty, refused; keys that stand nowhere."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter

import numpy as np
import pytest
from helpers.endpoint import (
    CONCURRENCY,
    SEVERAL_TOKENS,
    WRITTEN,
    answered_tags,
    arguments,
    command,
    done,
    kill_and_resume,
    predictions,
)
from helpers.faulty_server import KEY, FaultyServer, at_random, first
from helpers.processes import NOWHERE, Forked, write_set

from paraconsist.data.run_folder import RunFolder
from paraconsist.data.store import store_key


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("endpoint")
    write_set(folder / "set.jsonl", 60)
    (folder / "several.yaml").write_text(SEVERAL_TOKENS)
    (folder / "written.yaml").write_text(WRITTEN)
    return folder


@pytest.mark.slow
def test_killed_three_times_loses_nothing_and_sends_nothing_again(place, tmp_path):
    # a request for each label of each input; a quarter of them meet a fault
    options = {"concurrency": CONCURRENCY, "template": place / "several.yaml"}
    with FaultyServer() as server:
        done(arguments(server.url, place / "set.jsonl", tmp_path / "whole", **options))
    expected = predictions(tmp_path / "whole").table
    with FaultyServer(script=at_random(5, 0.25), delay=0.03) as server:
        given = arguments(server.url, place / "set.jsonl", tmp_path / "run", **options)
        kills, n_requests, _ = kill_and_resume(given, tmp_path / "run", server, random.Random(0), 3, 30)
    assert kills == 3
    assert n_requests == 2 * len(set(expected["input_id"].to_pylist()))
    assert predictions(tmp_path / "run").table.equals(expected)


@pytest.mark.slow
def test_stopped_by_the_user_it_ends_at_once_and_keeps_what_was_answered(place, tmp_path):
    with FaultyServer(script=lambda number, tag: "hang" if number > 20 else None) as server:
        given = arguments(server.url, place / "set.jsonl", tmp_path, concurrency=CONCURRENCY)
        errors = tmp_path.with_suffix(".err")
        process = Forked(given, streams=(NOWHERE, errors))
        while process.poll() is None and len(server.received) < 25:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert "Traceback" not in errors.read_text()
        kept = set(answered_tags(tmp_path))
        assert kept == set(server.answered())
        server.script, seen = None, len(server.received)
        done(given)
        assert not kept & set(server.sent(seen))


@pytest.mark.slow
def test_a_finished_run_needs_no_server(place, tmp_path):
    with FaultyServer() as server:
        given = arguments(server.url, place / "set.jsonl", tmp_path)
        assert "54 distinct inputs asked in" in done(given)
    first_table = predictions(tmp_path).table
    assert "defeasible_nli: all 54 distinct inputs were there already." in done(given)
    assert predictions(tmp_path).table.equals(first_table)


@pytest.mark.slow
def test_faults_of_every_kind_change_nothing(place, tmp_path):
    with FaultyServer() as server:
        done(arguments(server.url, place / "set.jsonl", tmp_path / "whole"))
    faults = first("429:0.2", "500", "cut", "malformed", "hang", "503:0.1", "cut", "429", "529")
    with FaultyServer(script=faults) as server:
        out = done(arguments(server.url, place / "set.jsonl", tmp_path / "run", timeout=4))
        assert Counter(server.answered()).most_common(1)[0][1] == 1
    assert predictions(tmp_path / "run").table.equals(predictions(tmp_path / "whole").table)
    assert "sent again: " in out
    assert all(f"for {kind}" in out for kind in ("429", "500", "connection", "malformed", "timeout"))


@pytest.mark.slow
def test_scored_tokens_have_the_probabilities_of_first_tokens(place, tmp_path):
    tables = []
    for name, options in (("first", {}), ("scored", {"scores": True, "facts": {"owned_by": "sglang"}})):
        with FaultyServer(script=at_random(1, 0.2), **options) as server:
            done(arguments(server.url, place / "set.jsonl", tmp_path / name, concurrency=CONCURRENCY))
            answered = [r for r in server.received if r.outcome == "answered" and r.tag != "probe"]
        assert {r.path for r in answered} == {"/v1/score" if options else "/v1/completions"}
        tables.append(predictions(tmp_path / name))
    before, after = (np.array(table.table["probabilities"].to_pylist()) for table in tables)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-9)
    assert tables[1].metadata["model"]["log_probabilities"] == "scored tokens; prompt echo"


@pytest.mark.slow
def test_prompts_with_one_beginning_follow_each_other_and_ask_for_one_token(place, tmp_path):
    with FaultyServer() as server:
        done(arguments(server.url, place / "set.jsonl", tmp_path, concurrency=1))
        bodies = [request.body for request in server.received if request.tag != "probe"]
    prompts = [body["prompt"] for body in bodies]
    assert [len(prompt) for prompt in prompts[:2]] == [min(map(len, prompts)), max(map(len, prompts))]
    assert prompts[2:] == sorted(prompts[2:])
    assert len(prompts) == 54
    assert all((body["max_tokens"], body["logprobs"], "echo" in body) == (1, 20, False) for body in bodies)


# refusals and keys


@pytest.mark.slow
def test_the_key_stands_in_no_file_and_no_message(place, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    with FaultyServer(key=KEY, script=first("500", "cut")) as server:
        given = arguments(server.url, place / "set.jsonl", tmp_path / "run", api_key_variable="MY_KEY")
        code, out, said = command(given)
        assert code == 0
        assert all(request.authorization == f"Bearer {KEY}" for request in server.received)
        monkeypatch.setenv("MY_KEY", KEY.replace("0123", "9999"))
        wrong, _, why = command([*given, "--overwrite"])
        monkeypatch.delenv("MY_KEY")
        absent, _, missing = command([*given, "--overwrite"])
        bare = [part for part in given if part not in ("--api-key-variable", "MY_KEY")]
        none, _, wanted = command([*bare, "--overwrite"])
    assert (wrong, absent, none) == (2, 2, 2)
    assert "answered 401. Look at what the environment variable MY_KEY holds" in why
    assert "`--api-key-variable` must name an environment variable that is set" in missing
    assert "It wants a key: put it into an environment variable" in wanted
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(files) >= 6
    for text in (out, said, why, *(path.read_bytes().decode("latin-1") for path in files)):
        assert KEY not in text
        assert KEY[6:20] not in text
        assert "9999456789abcdef" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("too_long", "run: `--shots` must make prompts that fit in the model's window; got 'input "),
        ("400", "run: the endpoint refused input "),
        ("unknown_model", "run: `--model` must be a model that the endpoint serves; got 'toy'"),
    ],
)
def test_a_refused_input_ends_the_run_and_loses_nothing(place, tmp_path, fault, message):
    with FaultyServer(script=first(*[None] * 9, fault), delay=0.01) as server:
        given = arguments(server.url, place / "set.jsonl", tmp_path, concurrency=4, on_error="stop")
        code, _, said = command(given)
        assert code == 2
        assert f"error: {message}" in said
        assert said.count("\n") == 1
        kept = set(answered_tags(tmp_path))
        assert kept == set(server.answered())
        assert len(kept) >= 9
        n = len(server.received)
        done(given)
        assert not kept & set(server.sent(n))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "options", "message"),
    [
        ({"log_probabilities": False}, {"scoring": "label"}, "`--scoring` must be 'generate' for an endpoint that"),
        ({}, {"model": "gpt"}, "`--model` must be a model that the endpoint serves; got 'gpt'. It serves toy."),
        (
            {"script": lambda n, tag: "html"},
            {},
            "`--endpoint` must be the address of an OpenAI-compatible API; got",
        ),
        (
            {"script": lambda n, tag: "404"},
            {},
            "`--endpoint` must be the address of an OpenAI-compatible API with /compl",
        ),
        ({"script": lambda n, tag: "too_long"}, {}, "`--shots` must make prompts that fit in the model's window"),
        ({}, {"device": "cpu"}, "`--device` must be given only without `--endpoint`; got 'cpu'"),
        ({}, {"kind": "causal"}, "`--kind` must be given only without `--endpoint`"),
        ({}, {"scoring": "guess"}, "`--scoring` must be one of label, generate; got 'guess'"),
        ({}, {"normalize": "bytes"}, "`--normalize` must be one of none, tokens, characters; got 'bytes'"),
        ({}, {"request_field": "model=x"}, "`--request-field` must be none of model"),
        ({}, {"price_input": 1}, "`--price-output` must be given with `--price-input`"),
        ({}, {"endpoint": "127.0.0.1/v1"}, "`--endpoint` must be an address with http:// or https://"),
    ],
)
def test_refusals_are_one_line(place, tmp_path, server, options, message):
    with FaultyServer(**server) as running:
        code, _, said = command(arguments(running.url, place / "set.jsonl", tmp_path / "run", **options))
    assert code == 2
    assert f"error: run: {message}" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_an_unreachable_host_is_one_line(place, tmp_path):
    with FaultyServer() as server:
        url = server.url
    code, _, said = command(arguments(url, place / "set.jsonl", tmp_path / "run"))
    assert code == 2
    assert f"error: run: `--endpoint` must be an address that can be reached; got '{url}'" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concurrency": 3}, "`--concurrency` must be given only with `--endpoint`"),
        ({"api_key_variable": KEY}, "`--api-key-variable` must be given only with `--endpoint`"),
        ({"model": "http://h:8000/v1"}, "`--model` must be a model, not an address. Give the address as `--endpoint`"),
    ],
)
def test_options_of_endpoints_without_one(place, tmp_path, options, message):
    given = arguments("", place / "set.jsonl", tmp_path / "run", **options)
    code, _, said = command([part for part in given if part not in ("--endpoint", "")])
    assert code == 2
    assert f"error: run: {message}" in said
    assert KEY not in said


# the model's identity


@pytest.mark.slow
def test_another_address_goes_on(place, tmp_path):
    with FaultyServer(script=first(*[None] * 9, "400"), facts={"root": "/here/toy-1b", "created": 1}) as one:
        given = arguments(one.url, place / "set.jsonl", tmp_path, concurrency=4, on_error="stop")
        assert command(given)[0] == 2
    kept = set(answered_tags(tmp_path))
    assert len(kept) >= 9
    with FaultyServer(facts={"root": "/there/toy-1b/", "created": 2}) as other:
        done(arguments(other.url, place / "set.jsonl", tmp_path))
        assert not kept & set(other.sent())
        assert len(other.sent()) == 54 - len(kept)
    assert one.url not in json.dumps(predictions(tmp_path).metadata["model"])
    assert predictions(tmp_path).metadata["model"]["served"] == "root toy-1b"
    with FaultyServer(facts={"root": "/there/toy-2b"}) as another:
        code, _, said = command(arguments(another.url, place / "set.jsonl", tmp_path))
    assert code == 2
    assert "another model's run of task defeasible_nli (served: 'root toy-1b' there, 'root toy-2b' now)" in said


@pytest.mark.slow
def test_several_addresses_of_one_model_answer_one_run(place, tmp_path):
    with FaultyServer() as gone:
        url = gone.url
    with FaultyServer() as one, FaultyServer(most_top=5) as other, FaultyServer(script=at_random(3, 0.4)) as two:
        two.facts = {"root": "toy-1b"}  # the first says nothing of the model
        done(arguments(one.url, place / "set.jsonl", tmp_path / "whole"))
        n_sent, given = len(one.sent()), arguments(one.url, place / "set.jsonl", tmp_path / "run")
        done([*given, "--endpoint", two.url, "--endpoint", url])
        answered = [*one.answered()[n_sent:], *two.answered()]
        assert sorted(answered) == sorted(answered_tags(tmp_path / "run"))
        assert two.answered()
        assert predictions(tmp_path / "run").table.equals(predictions(tmp_path / "whole").table)
        code, _, said = command([*given, "--endpoint", other.url])
    assert code == 2
    assert "`--endpoint` must be servers of one model that offer the same; got " in said


@pytest.mark.slow
def test_a_run_of_an_earlier_version_goes_on(place, tmp_path):
    """It had the address in its identity, and what the request fields are."""
    fields = {"request_field": "user=opaque-Pa55"}
    with FaultyServer() as server:
        done(arguments(server.url, place / "set.jsonl", tmp_path, noise_floor=1, **fields))
    n_answers, folder = len(answered_tags(tmp_path)), RunFolder(tmp_path)
    old = {"endpoint": server.url, "request_fields": '{"user": "opaque-Pa55"}'}
    folder.update_run({"models": {task: {**one, **old} for task, one in folder.read()["models"].items()}})
    for file in sorted(folder.store.glob("*/identity.json")):
        stored = json.loads(file.read_text())
        stored["model"] |= old
        file.write_text(json.dumps(stored))
        file.parent.rename(folder.store / store_key(stored))
    with FaultyServer(facts={"root": "toy-1b"}) as other:
        done(arguments(other.url, place / "set.jsonl", tmp_path, noise_floor=1, **fields))
        assert not other.sent()
    assert len(answered_tags(tmp_path)) == n_answers
    assert not [path for path in tmp_path.rglob("*.json*") if "opaque-Pa55" in path.read_text()]


@pytest.mark.slow
def test_starting_anew_keeps_what_was_answered(place, tmp_path):
    with FaultyServer() as server:
        given = arguments(server.url, place / "set.jsonl", tmp_path)
        done(given)
        (before,) = tmp_path.glob("store/*/answers.jsonl")
        lines = sorted(before.read_bytes().splitlines())
        for n in (1, 2):
            done([*given, "--overwrite"])
            kept = tmp_path / f"store.{n}" / before.parent.name / before.name
            assert sorted(kept.read_bytes().splitlines()) == lines
        assert len(server.sent()) == 3 * 54
    with pytest.warns(UserWarning, match="the endpoint's 54 answers of the earlier run are kept"):
        RunFolder(tmp_path).open({}, overwrite=True)


@pytest.mark.slow
def test_request_fields_decide_who_answered_and_stand_nowhere(place, tmp_path):
    with FaultyServer() as server:
        given = arguments(server.url, place / "set.jsonl", tmp_path, request_field="user=opaque-Pa55")
        out = done([*given, "--request-field", "top_k=1"])
        assert {request.body["user"] for request in server.received} == {"opaque-Pa55"}
        code, _, said = command([*given[:-1], "user=other-Pa55", "--request-field", "top_k=1"])
    assert code == 2
    assert "holds another model's run" in said
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    for text in (out, said, *(path.read_bytes().decode("latin-1") for path in files)):
        assert "Pa55" not in text
    assert '"top_k": 1, "user": "sha256:' in predictions(tmp_path).metadata["model"]["request_fields"]
