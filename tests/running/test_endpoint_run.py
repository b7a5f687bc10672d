"""Runs over an endpoint: killed and resumed, faulty, refused; keys that stand nowhere."""

import hashlib
import importlib.util
import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.endpoint import (
    CONCURRENCY,
    SEVERAL_TOKENS,
    WRITTEN,
    answered_tags,
    arguments,
    besides_the_estimate,
    command,
    done,
    kill_and_resume,
    predictions,
    refused,
    stored,
)
from helpers.faulty_server import KEY, FaultyServer, at_random, first
from helpers.language_models import save_language_model
from helpers.processes import NOWHERE, Forked, write_set

from paraconsist.data.predictions import read_predictions
from paraconsist.data.store import RunFolder


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
@pytest.mark.faults
@pytest.mark.parametrize(("code", "hangs"), [(130, False), (143, False), (130, True)])
def test_stopped_it_waits_for_what_is_under_way_and_a_second_time_ends_at_once(place, tmp_path, code, hangs):
    """After SIGTERM (143), which schedulers send, paid answers were lost."""
    number = signal.SIGTERM if code == 143 else signal.SIGINT
    script = (lambda number, tag: "hang" if number > 20 else None) if hangs else None
    with FaultyServer(script=script, delay=0.0 if hangs else 0.3) as server:
        given = arguments(server.url, place / "set.jsonl", tmp_path, concurrency=CONCURRENCY)
        errors = tmp_path.with_suffix(".err")
        process = Forked(given, streams=(NOWHERE, errors))
        while process.poll() is None and len(server.received) < 25:
            time.sleep(0.005)
        process.send_signal(number)
        if hangs:
            time.sleep(2)
            assert process.poll() is None
            process.send_signal(number)
        started = time.monotonic()
        assert process.wait() == code
        assert time.monotonic() - started < 15
        assert "Traceback" not in errors.read_text()
        assert "under way" in errors.read_text()
        kept = set(answered_tags(tmp_path))
        assert kept == set(server.answered())
        assert hangs or kept == set(server.sent())
        server.script, server.delay, seen = None, 0.0, len(server.received)
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
        said = refused(given)
        assert f"error: {message}" in said
        assert len(besides_the_estimate(said)) == 1
        kept = set(answered_tags(tmp_path))
        assert kept == set(server.answered())
        assert len(kept) >= 9
        n = len(server.received)
        done(given)
        assert not kept & set(server.sent(n))


@pytest.mark.slow
@pytest.mark.parametrize(("server", "options", "message"), [
    ({"log_probabilities": False}, {"scoring": "label"}, "`--scoring` must be 'generate' for an endpoint that"),
    ({}, {"model": "gpt"}, "`--model` must be a model that the endpoint serves; got 'gpt'. It serves toy."),
    ({"script": lambda n, tag: "html"}, {}, "`--endpoint` must be the address of an OpenAI-compatible API; got"),
    ({"script": lambda n, tag: "404"}, {}, "`--endpoint` must be the address of an OpenAI-compatible API with /compl"),
    ({"script": lambda n, tag: "too_long"}, {}, "`--shots` must make prompts that fit in the model's window"),
    ({}, {"device": "cpu"}, "`--device` must be given only without `--endpoint`; got 'cpu'"),
    ({}, {"kind": "causal"}, "`--kind` must be given only without `--endpoint`"),
    ({}, {"scoring": "guess"}, "`--scoring` must be one of label, generate; got 'guess'"),
    ({}, {"normalize": "bytes"}, "`--normalize` must be one of none, tokens, characters; got 'bytes'"),
    ({}, {"request_field": "model=x"}, "`--request-field` must be none of model"),
    ({}, {"price": 1}, "`--price` must be two numbers, 0 or more, with a comma between"),
    ({}, {"endpoint": "127.0.0.1/v1"}, "`--endpoint` must be an address with http:// or https://")
])  # fmt: skip
def test_refusals_are_one_line(place, tmp_path, server, options, message):
    with FaultyServer(**server) as running:
        code, _, said = command(arguments(running.url, place / "set.jsonl", tmp_path / "run", **options))
    assert code == 2
    assert f"error: run: {message}" in said
    assert len(besides_the_estimate(said)) == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_an_unreachable_host_is_one_line(place, tmp_path):
    with FaultyServer() as server:
        url = server.url
    said = refused(arguments(url, place / "set.jsonl", tmp_path / "run"))
    assert f"error: run: `--endpoint` must be an address that can be reached; got '{url}'" in said
    assert len(besides_the_estimate(said)) == 1


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
    said = refused([part for part in given if part not in ("--endpoint", "")])
    assert f"error: run: {message}" in said
    assert KEY not in said


@pytest.mark.slow
def test_another_address_goes_on(place, tmp_path):
    with FaultyServer(script=first(*[None] * 9, "400"), facts={"root": "/here/toy-1b", "created": 1}) as one:
        assert command(arguments(one.url, place / "set.jsonl", tmp_path, concurrency=4, on_error="stop"))[0] == 2
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
        assert sorted([*one.answered()[n_sent:], *two.answered()]) == sorted(answered_tags(tmp_path / "run"))
        assert two.answered()
        assert predictions(tmp_path / "run").table.equals(predictions(tmp_path / "whole").table)
        code, _, said = command([*given, "--endpoint", other.url])
    assert code == 2
    assert "`--endpoint` must be servers of one model that offer the same; got " in said


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
    assert "holds a run with other settings" in said
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    for text in (out, said, *(path.read_bytes().decode("latin-1") for path in files)):
        assert "Pa55" not in text
    assert '"top_k": 1, "user": "sha256:' in predictions(tmp_path).metadata["model"]["request_fields"]


# ---------- The numbers of a run over an endpoint: those of the model itself, of `transformers serve`, bounds and costs


class ModelBrain:
    """A real causal model behind the scripted server."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.torch = torch
        self.module = AutoModelForCausalLM.from_pretrained(folder).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def values(self, text: str):
        ids = self.tokenizer(text)["input_ids"]
        with self.torch.inference_mode():
            return ids, self.module(self.torch.tensor([ids])).logits[0].float().log_softmax(-1)

    def echo(self, text: str):
        ids, values = self.values(text)
        names = [self.tokenizer.decode([i]) for i in ids]
        return [(names[0], None), *((names[i], float(values[i - 1, ids[i]])) for i in range(1, len(ids)))]

    def top(self, text: str, k: int):
        best = self.values(text)[1][-1].topk(k)
        return [(self.tokenizer.decode([i]), float(v)) for v, i in zip(best.values, best.indices, strict=True)]

    def write(self, text: str, n: int) -> str:
        return self.top(text, 1)[0][0]


@pytest.fixture(scope="module")
def language_model(place):
    return save_language_model(place / "model", "llama", chat=True)


@pytest.mark.slow
@pytest.mark.parametrize(("template", "offered"), [(None, {}), ("several.yaml", {}), (None, {"most_top": 5})])
def test_probabilities_are_those_of_the_model_itself(place, tmp_path, language_model, template, offered):
    import torch

    from paraconsist.data.bucket_sets import load_bucket_set
    from paraconsist.models.loading import prompted
    from paraconsist.models.pretrained import load_language_model
    from paraconsist.models.prompted import PromptSettings
    from paraconsist.running.by_name import make_prompt
    from paraconsist.running.options import PromptOptions

    write_set(tmp_path / "set.jsonl", 9)
    template = None if template is None else str(place / template)
    options = {} if template is None else {"template": template}
    with FaultyServer(brain=ModelBrain(language_model), **offered) as server:
        done(arguments(server.url, tmp_path / "set.jsonl", tmp_path / "run", **options))
    rows = load_bucket_set(str(tmp_path / "set.jsonl"))
    prompt = make_prompt(PromptOptions(template), [], rows.task, rows.label_names, ())
    local = prompted(load_language_model(str(language_model), "causal"), PromptSettings(prompt))
    inputs = [local.encode(rows.task, row) for row in rows.table.to_pylist()]
    with torch.inference_mode():
        expected = torch.softmax(local.logits(local.prepare(inputs)).double(), -1).numpy()
    table = predictions(tmp_path / "run").table
    np.testing.assert_allclose(np.array(table["probabilities"].to_pylist()), expected, rtol=0, atol=1e-4)
    assert table["prediction"].to_pylist() == expected.argmax(1).tolist()


@pytest.mark.slow
def test_a_chat_without_any_label_among_its_first_tokens_ends_early(place, tmp_path):
    with FaultyServer() as server:
        given = arguments(
            server.url, place / "set.jsonl", tmp_path, api="chat", template=place / "several.yaml", concurrency=1
        )
        said = refused(given)
        assert "must have label words that the model answers with, as one token each (weakening, supporting)" in said
        assert "`--scoring` generate" in said
        assert len(server.sent()) == 16


@pytest.mark.slow
def test_labels_that_are_not_shown_have_a_bound(place, tmp_path):
    # of five first tokens shown, some hold one of the two label words, some both, some none
    with FaultyServer(most_top=5) as server:
        out = done(arguments(server.url, place / "set.jsonl", tmp_path, api="chat"))
        brain = server.brain
        asked = {r.tag.partition(":")[0]: brain.top(brain.chat(r.body["messages"]), 5) for r in server.received}
    assert "first token, top 5" in out
    table = predictions(tmp_path).table
    assert {row["probabilities"] is None for row in table.to_pylist()} == {True, False}
    kept = {line["input_id"]: line for line in stored(tmp_path, "rank-*.jsonl")}
    seen = set()
    for row in table.to_pylist():
        top = {token.strip(): value for token, value in asked[row["input_id"]]}
        words = [top.get("W"), top.get("S")]
        seen.add(sum(word is not None for word in words))
        if words == [None, None]:
            assert row["prediction"] is None
            assert row["raw_output"].strip() == max(top, key=top.get)
        else:
            values = [min(top.values()) if word is None else word for word in words]
            assert row["prediction"] == int(values[1] > values[0])
            odds = 1 / (1 + math.exp(values[1] - values[0]))
            assert kept[row["input_id"]]["probabilities"][0] == pytest.approx(odds)
    assert seen == {0, 1, 2}


@pytest.mark.slow
def test_written_answers_are_read_and_what_they_cost_is_told(place, tmp_path):
    from paraconsist.data.prompts import parse_answer

    with FaultyServer() as server:
        options = {"scoring": "generate", "max_tokens": 3, "price": "2,10"}
        out = done(arguments(server.url, place / "set.jsonl", tmp_path, **options))
        sent = {r.tag: r.body for r in server.received if r.tag != "probe"}
    table = predictions(tmp_path).table
    for row in table.to_pylist():
        written = server.brain.write(sent[f"{row['input_id']}:text"]["prompt"], 3)
        assert row["raw_output"] == written
        assert row["prediction"] == parse_answer(written, ("W", "S"), cut=True)
    read, cost = sum(len(body["prompt"].split()) for body in sent.values()), predictions(tmp_path).metadata["endpoint"]
    assert (cost["prompt_tokens"], cost["completion_tokens"], cost["served"]) == (read, 3 * 54, {"toy": 54})
    assert cost["cost"] == pytest.approx((2 * read + 10 * 3 * 54) / 1e6)
    assert f"54 requests answered in all, {read:,} tokens read, 162 written, cost {cost['cost']:,.4f}" in out
    said = json.loads((tmp_path / "run.json").read_text())
    assert said["endpoint"]["defeasible_nli"]["cost"] == cost["cost"]
    assert said["endpoint"]["defeasible_nli"]["last"]["urls"] == [server.url]


def test_written_answers_end_where_the_template_says(place, tmp_path):
    template = tmp_path / "stop.yaml"
    template.write_text(
        'question: "{premise} {hypothesis} {update}"\nlabels: {weakener: W, strengthener: S}\nstop: "\\n"\n'
    )
    with FaultyServer(write=lambda text, body: "S\nW") as server:
        options = {"scoring": "generate", "template": template}
        done(arguments(server.url, place / "set.jsonl", tmp_path / "run", **options))
        assert all(r.body["stop"] == ["\n"] for r in server.received if r.tag != "probe")
    assert {row["raw_output"] for row in predictions(tmp_path / "run").table.to_pylist()} == {"S"}


@contextmanager
def transformers_serve(folder: Path) -> Iterator[str]:
    """`transformers serve` on a free port of loopback."""
    for module in ("fastapi", "uvicorn", "openai", "pydantic"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"transformers serve needs {module}: install transformers[serving]")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder), "--port", str(port)]
    line += ["--host", "127.0.0.1", "--device", "cpu", "--dtype", "float32"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(line, env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}, **quiet)
    try:
        until = time.monotonic() + 300
        while time.monotonic() < until:
            if process.poll() is not None:
                pytest.fail(f"transformers serve ended: {process.communicate()[1][-800:]}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                    break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.fail("transformers serve did not begin to answer")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_transformers_serve_answers_as_the_model_does(place, tmp_path, language_model):
    from paraconsist.data.bucket_sets import load_bucket_set
    from paraconsist.models.endpoint.settings import EndpointSettings
    from paraconsist.models.loading import prompted
    from paraconsist.models.pretrained import load_language_model
    from paraconsist.models.prompted import PromptSettings
    from paraconsist.running.by_name import make_prompt
    from paraconsist.running.options import PromptOptions
    from paraconsist.transforms.paraphrase.generators import EndpointGenerator, GeneratorSettings

    data = write_set(tmp_path / "set.jsonl", 7)
    options = {"model": language_model, "template": place / "written.yaml", "max_tokens": 6}
    rows = load_bucket_set(str(data))
    prompt = make_prompt(PromptOptions(str(place / "written.yaml")), [], rows.task, rows.label_names, ())
    language = load_language_model(str(language_model), "causal")

    def rephrase(url: str, api: str) -> list[list[str]]:
        settings = GeneratorSettings(prompt="Rephrase: {sentence}", n=2, max_new_tokens=5, temperature=0.8)
        made = EndpointGenerator(EndpointSettings(url, api=api), str(language_model), settings, tmp_path / "answers")
        return made(["It rains.", "It snows."])

    with transformers_serve(language_model) as url:
        refused, _, why = command(arguments(url, data, tmp_path / "label", model=language_model, scoring="label"))
        for api in ("completions", "chat"):
            output = tmp_path / api
            out = done(arguments(url, data, output, api=api, **options))
            assert "written answers (the endpoint returns no log-probabilities)" in out
            settings = PromptSettings(prompt, scoring="generate", max_new_tokens=6, chat=api == "chat")
            local = prompted(language, settings)
            expected = local.write(local.prepare([local.encode(rows.task, row) for row in rows.table.to_pylist()]))
            table = predictions(output).table
            assert table["raw_output"].to_pylist() == [written.raw_output for written in expected]
            assert table["prediction"].to_pylist() == [written.label for written in expected]
            assert predictions(output).metadata["endpoint"]["completion_tokens"] > 0
        rephrased = rephrase(url, "completions"), rephrase(url, "chat")
        unknown, _, missing = command(arguments(url, data, tmp_path / "none", model="no-such-model"))
    assert [len(texts) for written in rephrased for texts in written] == [2] * 4
    assert (rephrase(url, "completions"), rephrase(url, "chat")) == rephrased  # kept: the server is gone
    assert (refused, unknown) == (2, 2)
    assert "`--scoring` must be 'generate' for an endpoint that returns no log-probabilities" in why
    (problem,) = besides_the_estimate(missing)
    assert problem.startswith("error: run: `--model` must be a model that the endpoint serves; got 'no-such-model'")


# ---------- Answers of an endpoint asked again: drawn ones with other seeds, certain ones in the server's other batches

N_BUCKETS, N_WORDINGS = 15, 4


@pytest.fixture(scope="module")
def repeats_place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repeats")
    (folder / "written.yaml").write_text(WRITTEN)
    lines = [
        {
            "premise": f"problem {b}",
            "hypothesis": "it rains",
            "update": f"wording {j}",
            "example_id": f"{b}-{j}",
            "bucket_id": f"b{b}",
            "role": "original" if j == 0 else "paraphrase",
            "label": ["weakener", "strengthener"][b % 2],
        }
        for b in range(N_BUCKETS)
        for j in range(N_WORDINGS + 1)
    ]
    (folder / "set.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


def drawn(prompt: str, body: dict[str, Any]) -> str:
    """An answer that depends on the prompt and, at a temperature, on the seed."""
    key = [prompt, body.get("seed")] if body["temperature"] else [prompt]
    return " e" if hashlib.sha256(json.dumps(key).encode()).digest()[0] < 150 else " s"


def given(repeats_place, url: str, output, **options: object) -> list[str]:
    options = {"template": repeats_place / "written.yaml", "scoring": "generate", **options}
    return arguments(url, repeats_place / "set.jsonl", output, **options)


@pytest.mark.slow
def test_drawn_answers_are_asked_again_with_other_seeds(repeats_place, tmp_path):
    with FaultyServer(write=drawn) as server:
        line = given(repeats_place, server.url, tmp_path, temperature=0.7, repeats=3, noise_share=1)
        done(line)
        bodies = [r.body for r in server.received if r.tag != "probe"]
        n_sent = len(server.received)
        done(line)
        assert len(server.received) == n_sent  # all was there already
    assert {body["temperature"] for body in bodies} == {0.7}
    n = N_BUCKETS * (N_WORDINGS + 1)
    assert [sum(body["seed"] == seed for body in bodies) for seed in range(5)] == [n, n, n, n, 0]
    again = read_predictions(tmp_path / "noise" / "set.parquet")
    assert again.table["repeat"].to_pylist() == [1] * n + [2] * n + [3] * n
    assert set(again.table["kind"].to_pylist()) == {"decoding"}
    assert predictions(tmp_path).metadata["endpoint"]["n_requests"] == 4 * n

    # the split by hand: answers of shape (runs, problems, wordings), paraphrases alone
    first = predictions(tmp_path).table
    labels = np.array(first["label"].to_pylist() * 4)
    answers = np.array(first["prediction"].to_pylist() + again.table["prediction"].to_pylist())
    right = (answers == labels).astype(float).reshape(4, N_BUCKETS, N_WORDINGS + 1)[:, :, 1:]
    flips = np.mean([[one != two for one, two in combinations(cell, 2)] for cell in right.reshape(4, -1).T])
    means = right.mean(axis=0)
    differ = np.mean([[p * (1 - q) + q * (1 - p) for p, q in combinations(problem, 2)] for problem in means])
    result = json.loads((tmp_path / "results.json").read_text())["set"]["noise_floor"]
    assert 0.2 < flips < 0.8
    assert result["flip_rate"] == {"decoding": pytest.approx(flips)}
    assert result["inconsistency"] == pytest.approx(differ)
    assert result["excess_inconsistency"] == pytest.approx(differ - flips)
    assert result["variance"]["decoding"] == pytest.approx(flips / 2)
    assert result["variance"]["paraphrase"] == pytest.approx((differ - flips) / 2)


@pytest.mark.slow
def test_certain_answers_are_asked_again_and_their_flips_are_the_servers(repeats_place, tmp_path):
    seen: dict[str, int] = {}

    def unsteady(prompt: str, body: dict[str, Any]) -> str:
        seen[prompt] = seen.get(prompt, -1) + 1
        return " s" if seen[prompt] == 1 and "wording 2" in prompt else " e"

    with FaultyServer(write=unsteady) as server:
        done(given(repeats_place, server.url, tmp_path, noise_floor=1, noise_share=1))
        bodies = [r.body for r in server.received]
    assert not any("seed" in body or body["temperature"] for body in bodies)
    assert set(read_predictions(tmp_path / "noise" / "set.parquet").table["kind"].to_pylist()) == {"numeric"}
    result = json.loads((tmp_path / "results.json").read_text())["set"]["noise_floor"]
    assert result["flip_rate"] == {"numeric": pytest.approx(1 / N_WORDINGS)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeats": 2}, "`--repeats` must be given only where answers are drawn"),
        ({"temperature": 0.7, "noise_floor": 1}, "`--noise-floor` must not be given with `--endpoint` where answers"),
        ({"temperature": 0.7, "request_field": "temperature=1"}, "`--temperature` must not be given with a"),
        ({"temperature": 0.7, "repeats": 1, "request_field": "seed=4"}, "`--request-field` must not set the seed"),
        ({"temperature": 0.7, "scoring": "label"}, "`--temperature` must be given only with `--scoring` generate"),
        ({"noise_floor": 1, "noise_share": 0}, "`--noise-share` must lie between 0 and 1"),
        ({"noise_floor": 1, "request_field": "temperature=1"}, "`--noise-floor` must not be given with `--endpoint`"),
    ],
)
def test_repeats_that_would_show_something_else_are_refused(repeats_place, tmp_path, options, message):
    with FaultyServer(write=drawn) as server:
        code, _, why = command(given(repeats_place, server.url, tmp_path / "run", **options))
    assert code == 2
    assert message in why
    assert not (tmp_path / "run").exists()
