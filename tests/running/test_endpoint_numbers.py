"""The numbers of a run over an endpoint: those of the model itself, of `transformers serve`, bounds and costs."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from helpers.endpoint import (
    SEVERAL_TOKENS,
    WRITTEN,
    arguments,
    command,
    done,
    predictions,
    stored,
)
from helpers.faulty_server import FaultyServer
from helpers.language_models import save_language_model
from helpers.processes import write_set


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("endpoint")
    write_set(folder / "set.jsonl", 60)
    (folder / "several.yaml").write_text(SEVERAL_TOKENS)
    (folder / "written.yaml").write_text(WRITTEN)
    return folder


# the numbers


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
    from paraconsist.running.options import PromptOptions
    from paraconsist.running.prompting import make_prompt

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
        code, _, said = command(given)
        assert code == 2
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
    assert "probabilities" not in table.column_names  # some rows have none
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
        options = {"scoring": "generate", "max_tokens": 3, "price_input": 2, "price_output": 10}
        out = done(arguments(server.url, place / "set.jsonl", tmp_path, **options))
        sent = {r.tag: r.body for r in server.received if r.tag != "probe"}
    table = predictions(tmp_path).table
    for row in table.to_pylist():
        written = server.brain.write(sent[f"{row['input_id']}:text"]["prompt"], 3)
        assert row["raw_output"] == written
        assert row["prediction"] == parse_answer(written, ("W", "S"))
    read, cost = sum(len(body["prompt"].split()) for body in sent.values()), predictions(tmp_path).metadata["endpoint"]
    assert (cost["prompt_tokens"], cost["completion_tokens"], cost["served"]) == (read, 3 * 54, {"toy": 54})
    assert cost["cost"] == pytest.approx((2 * read + 10 * 3 * 54) / 1e6)
    assert f"{read:,} tokens read, 162 written, cost {cost['cost']:,.4f}" in out
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


# a real server


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
    from paraconsist.running.options import PromptOptions
    from paraconsist.running.prompting import make_prompt
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
    assert missing.startswith("error: run: `--model` must be a model that the endpoint serves; got 'no-such-model'")
    assert missing.count("\n") == 1
