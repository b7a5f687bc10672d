"""Answers of an endpoint asked again: drawn ones with other seeds, certain ones in the server's other batches."""

from __future__ import annotations

import hashlib
import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from helpers.endpoint import WRITTEN, arguments, command, done, predictions
from helpers.faulty_server import FaultyServer

from paraconsist.data.predictions import read_predictions

N_BUCKETS, N_WORDINGS = 15, 4


@pytest.fixture(scope="module")
def place(tmp_path_factory):
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


def given(place, url: str, output, **options: object) -> list[str]:
    options = {"template": place / "written.yaml", "scoring": "generate", **options}
    return arguments(url, place / "set.jsonl", output, **options)


@pytest.mark.slow
def test_drawn_answers_are_asked_again_with_other_seeds(place, tmp_path):
    with FaultyServer(write=drawn) as server:
        line = given(place, server.url, tmp_path, temperature=0.7, repeats=3, noise_share=1)
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
def test_certain_answers_are_asked_again_and_their_flips_are_the_servers(place, tmp_path):
    seen: dict[str, int] = {}

    def unsteady(prompt: str, body: dict[str, Any]) -> str:
        seen[prompt] = seen.get(prompt, -1) + 1
        return " s" if seen[prompt] == 1 and "wording 2" in prompt else " e"

    with FaultyServer(write=unsteady) as server:
        done(given(place, server.url, tmp_path, noise_floor=1, noise_share=1))
        bodies = [r.body for r in server.received]
    assert not any("seed" in body or body["temperature"] for body in bodies)
    again = read_predictions(tmp_path / "noise" / "set.parquet")
    assert set(again.table["kind"].to_pylist()) == {"numeric"}
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
def test_repeats_that_would_show_something_else_are_refused(place, tmp_path, options, message):
    with FaultyServer(write=drawn) as server:
        code, _, why = command(given(place, server.url, tmp_path / "run", **options))
    assert code == 2
    assert message in why
    assert not (tmp_path / "run").exists()
