"""Sets of originals alone, in a run: their accuracy, and no measure of consistency."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import Command
from helpers.models import tiny_encoder
from helpers.processes import write_set

from paraconsist.data.predictions import read_predictions
from paraconsist.scoring.score import plain_accuracies
from paraconsist.scoring.sources import open_source


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    tiny_encoder(folder / "model")
    rows = [json.loads(line) for line in write_set(folder / "buckets.jsonl", 30).read_text().splitlines()]
    plain = [{**row, "bucket_id": row["example_id"], "role": "original"} for row in rows]
    (folder / "plain.jsonl").write_text("".join(json.dumps(row) + "\n" for row in plain))
    return folder


def run(place: Path, command: Command, output: Path, *sets: str) -> str:
    given = [part for name in sets for part in ("--dataset", str(place / name))]
    return command.out("run", "--model", place / "model", *given, "--output", output)


def test_a_plain_set_alone_gives_its_accuracy(place, command, tmp_path):
    out = run(place, command, tmp_path / "run", "plain.jsonl")
    table = read_predictions(tmp_path / "run" / "predictions" / "plain.parquet").table
    labels, predictions = (table[name].to_numpy() for name in ("label", "prediction"))
    said = json.loads((tmp_path / "run" / "run.json").read_text())["accuracies"]["plain"]
    assert said["accuracy"] == np.mean(labels == predictions)
    assert said["majority_rate"] == np.bincount(labels).max() / len(labels)
    assert (said["n_rows"], said["n_unparsed"]) == (30, 0)
    assert f"plain: accuracy {said['accuracy']:.1%} on 30 rows" in out
    assert json.loads((tmp_path / "run" / "results.json").read_text()) == {}


def test_beside_a_bucket_set_it_does_not_stand_in_the_results(place, command, tmp_path):
    assert "plain: accuracy" in run(place, command, tmp_path / "run", "plain.jsonl", "buckets.jsonl")
    assert list(json.loads((tmp_path / "run" / "results.json").read_text())) == ["buckets"]


def test_a_full_test_set_is_said_once_in_the_table_of_its_set(command, tmp_path):
    model = tiny_encoder(tmp_path / "model", labels=("weakener", "strengthener"))
    arguments = ("--dataset", "sample:defeasible_nli", "--with-test", "--limit", "20", "--output", tmp_path / "run")
    assert "defeasible_nli_test" not in command.out("run", "--model", model, *arguments)
    found = plain_accuracies(open_source(tmp_path / "run"))["sample:defeasible_nli_test"]
    (result,) = json.loads((tmp_path / "run" / "results.json").read_text()).values()
    assert found["corrects"] == "sample:defeasible_nli"
    assert found["accuracy"] == result["measures"]["paraphrastic_consistency"]["test_accuracy"]
    assert found["split"] == "test"
