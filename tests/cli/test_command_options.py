"""What the command line accepts, and how it refuses: options by name in a file, bounds, models and their test sets."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from helpers.processes import launch

from paraconsist.cli.options import spread, typed
from paraconsist.data.predictions import read_predictions
from paraconsist.scoring.score import data_of

pytestmark = pytest.mark.slow


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("bucket_id,prediction,label\n" + "a,1,1\na,0,1\nb,0,0\nb,0,0\n")
    return path


def test_options_in_a_file_have_their_names_of_the_command_line(tmp_path, rows):
    config = tmp_path / "c.yaml"
    config.write_text(f"json: true\npath: {rows}\nn-resamples: 10\n")
    assert "rows" in json.loads(launch(["score", "--config", str(config)]).stdout)


def test_a_config_file_that_is_no_text(tmp_path, rows):
    config = tmp_path / "c.yaml"
    config.write_bytes(b"\x88\xff")
    done = launch(["score", str(rows), "--config", str(config)], check=False)
    assert done.returncode == 2
    assert "error: paraconsist: `config` must name a text file that can be read" in done.stderr


@pytest.mark.parametrize("option", [("confidence-level", 95), ("n-resamples", 0), ("seed", -1)])
def test_options_out_of_bounds_are_refused_before_anything_runs(rows, option):
    name, value = option
    done = launch(["score", str(rows), f"--{name}", str(value)], check=False)
    assert done.returncode == 2
    assert f"Invalid value for '--{name}'" in done.stderr


def test_a_set_and_its_test_set_are_answered_by_one_model(tmp_path):
    from paraconsist.models.training.options import options_from_preset
    from paraconsist.models.training.trainer import train

    models = [tmp_path / "a", tmp_path / "b"]
    for seed, model in enumerate(models):
        options = options_from_preset(
            "bow", output=model, dataset="sample:defeasible_nli_train", epochs=1.0, limit=40, device="cpu", seed=seed
        )
        train(options, say=lambda line: None)
    given = ["--model", f"sample:defeasible_nli={models[0]}", "--model", str(models[1])]
    given += ["--dataset", "sample:defeasible_nli", "--with-test", "--n-resamples", "10"]
    launch(["run", *given, "--output", str(tmp_path / "run")])
    files = sorted((tmp_path / "run" / "predictions").iterdir())
    assert [file.stem for file in files] == ["sample-defeasible_nli", "sample-defeasible_nli_test"]
    assert {read_predictions(file).metadata["model"]["model"] for file in files} == {str(models[0])}


@pytest.mark.parametrize("option", ["role", "group", "probabilities"])
def test_a_named_column_that_is_not_there_is_not_passed_over(rows, option):
    done = launch(["score", str(rows), f"--{option}", "nothing"], check=False)
    assert done.returncode == 2
    assert f"error: score: `--{option}` must name a column of the file; got 'nothing'" in done.stderr
    assert launch(["score", str(rows), "--n-resamples", "10"]).stdout


@pytest.mark.parametrize(
    "words", [("--request-field", "key=abc"), ("--request-field=key=abc",), ("--request_field", "key=abc")]
)
def test_the_command_line_that_is_kept_holds_no_key(monkeypatch, words):
    seen = []

    def ask(request_fields: list[str] | None = None, output: Path | None = None) -> None:
        seen.append(typed())

    monkeypatch.setattr(sys, "argv", ["paraconsist", "run", *words, "--output", "x"])
    spread(ask)(request_fields=["key=abc"], output=Path("x"))
    assert "abc" not in json.dumps(seen)
    assert seen[0]["command"][-2:] == ["--output", "x"]
    assert seen[0]["options"] == {"request_fields": ["key=..."], "output": "x"}


def test_the_signature_tells_two_limits_apart():
    metadata = [{"set": "a:b", "set_fingerprint": f"1.0.0-{'0123456789abcdef' * 4}-limit{n}"} for n in (37, 250)]
    assert data_of(metadata[0]) == "a/b@1.0.0-0123456789abcdef01-limit37"
    assert data_of(metadata[1]).endswith("-limit250")
