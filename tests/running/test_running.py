"""The runner from end to end: one, two and three processes, killed and resumed, the same file every time."""

import json
import random
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import words
from helpers.endpoint import predictions
from helpers.errors import refuses
from helpers.models import WORDS, tiny_encoder
from helpers.processes import FAULTY, N_ROWS, Forked, launch, shards, write_set

from paraconsist.data.predictions import KEY_COLUMNS
from paraconsist.models.batching import check_device

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("running")
    tiny_encoder(folder / "model")
    tiny_encoder(folder / "other_model", seed=1)
    write_set(folder / "set.jsonl")
    write_set(folder / "two_rows.jsonl", 2)
    return folder


def arguments(place: Path, output: Path, data: str = "set.jsonl", **options: object) -> list[str]:
    given = {"model": place / "model", "dataset": place / data, "output": output, "batch_tokens": 120}
    return words("run", **given | options)


@pytest.fixture(scope="module")
def undisturbed(place):
    launch(arguments(place, place / "one"))
    return predictions(place / "one")


def assert_same_rows(found: pa.Table, expected: pa.Table) -> None:
    rest = [c for c in expected.column_names if c != "probabilities"]
    assert found.column_names == expected.column_names
    assert found.select(rest).equals(expected.select(rest))
    ours = np.array(found["probabilities"].to_pylist())
    np.testing.assert_allclose(ours, np.array(expected["probabilities"].to_pylist()), rtol=0, atol=1e-5)


def test_predictions_are_those_of_the_model_row_by_row(place, undisturbed):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(place / "model").eval()
    tokenizer = AutoTokenizer.from_pretrained(place / "model")
    table = undisturbed.table
    rows = [json.loads(line) for line in (place / "set.jsonl").read_text().splitlines()]
    assert table["example_id"].to_pylist() == [row["example_id"] for row in rows]
    for row, prediction, found in zip(
        rows, table["prediction"].to_pylist(), table["probabilities"].to_pylist(), strict=True
    ):
        encoded = tokenizer(f"{row['premise']} {row['hypothesis']}", row["update"], return_tensors="pt")
        with torch.inference_mode():
            expected = torch.softmax(model(**encoded).logits.double(), -1)[0].tolist()
        assert found == pytest.approx(expected, abs=1e-5)
        assert prediction == int(np.argmax(expected))
    assert len(set(table["prediction"].to_pylist())) == 2


def test_the_file_says_whose_it_is(place, undisturbed):
    said = undisturbed.metadata
    assert tuple(undisturbed.table.column_names[: len(KEY_COLUMNS)]) == KEY_COLUMNS
    assert undisturbed.strata == ("theme",)
    assert said["label_names"] == ["weakener", "strengthener"]
    assert said["n_processes"] == 1
    assert said["task"] == "defeasible_nli"
    assert {"torch", "paraconsist"} <= set(said["versions"])
    assert len(said["model"]["weights_hash"]) >= 16


def test_identical_inputs_are_computed_once(place, undisturbed):
    loop = json.loads((place / "one" / "run.json").read_text())["loop"]["defeasible_nli"]
    distinct = len(set(undisturbed.table["input_id"].to_pylist()))
    assert loop["n_inputs"] == loop["n_computed"] == distinct < N_ROWS
    assert sum(shards(place / "one").values()) == distinct


@pytest.mark.parametrize("processes", [2, 3])
def test_more_processes_give_the_same_file(place, undisturbed, tmp_path, processes):
    launch(arguments(place, tmp_path), processes=processes, fresh=processes == 2)
    found = predictions(tmp_path)
    assert_same_rows(found.table, undisturbed.table)
    assert found.metadata["n_processes"] == processes
    lines = shards(tmp_path)
    assert len(lines) == processes
    assert all(lines.values())


def test_several_threads_give_the_same_file(place, undisturbed, tmp_path):
    launch(arguments(place, tmp_path), threads=3)
    assert_same_rows(predictions(tmp_path).table, undisturbed.table)
    assert sum(shards(tmp_path).values()) == len(set(undisturbed.table["input_id"].to_pylist()))


def test_fewer_rows_than_processes(place, tmp_path):
    launch(arguments(place, tmp_path / "one", "two_rows.jsonl"))
    launch(arguments(place, tmp_path / "three", "two_rows.jsonl"), processes=3)
    ours, expected = (predictions(tmp_path / n, "two_rows").table for n in ("three", "one"))
    assert_same_rows(ours, expected)
    assert sorted(shards(tmp_path / "three").values()) == [0, 1, 1]


@pytest.mark.parametrize("point", ["before", "mid_line", "after"])
def test_killed_at_a_fault_point_and_resumed(place, undisturbed, tmp_path, point):
    done = launch([point, "4", "0", *arguments(place, tmp_path)], script=FAULTY, check=False)
    assert done.returncode == -signal.SIGKILL
    shard = next(tmp_path.glob("store/*/rank-00000.jsonl")).read_bytes()
    kept = shard.count(b"\n")
    assert shard.endswith(b"\n") == (point != "mid_line")
    assert kept > 0
    launch(arguments(place, tmp_path))
    assert_same_rows(predictions(tmp_path).table, undisturbed.table)
    loop = json.loads((tmp_path / "run.json").read_text())["loop"]["defeasible_nli"]
    assert loop["n_computed"] == loop["n_inputs"] - kept
    assert sum(shards(tmp_path).values()) == loop["n_inputs"]


def test_one_of_two_processes_killed_then_resumed_by_one(place, undisturbed, tmp_path):
    done = launch(["mid_line", "2", "1", *arguments(place, tmp_path)], script=FAULTY, processes=2, check=False)
    assert done.returncode != 0
    assert not list((tmp_path / "predictions").glob("*.parquet"))
    launch(arguments(place, tmp_path))
    assert_same_rows(predictions(tmp_path).table, undisturbed.table)


def test_killed_at_random_and_resumed(place, undisturbed, tmp_path):
    process = Forked(arguments(place, tmp_path))
    deadline = time.monotonic() + 60
    while not shards(tmp_path) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(random.uniform(0, 0.1))
    process.send_signal(signal.SIGKILL)
    process.wait()
    launch(arguments(place, tmp_path))
    assert_same_rows(predictions(tmp_path).table, undisturbed.table)
    assert sum(shards(tmp_path).values()) == len(set(undisturbed.table["input_id"].to_pylist()))


def test_a_finished_run_computes_nothing_again(place, undisturbed):
    assert "were there already" in launch(arguments(place, place / "one", batch_tokens=500)).stderr
    assert predictions(place / "one").table.equals(undisturbed.table)


def test_changed_text_is_computed_and_the_rest_is_not(place, tmp_path):
    data = write_set(tmp_path / "set.jsonl")
    launch(arguments(place, tmp_path / "run", str(data)))
    before = predictions(tmp_path / "run").table
    lines = data.read_text().splitlines()
    lines[0] = json.dumps({**json.loads(lines[0]), "update": "never the dog"})
    data.write_text("\n".join(lines) + "\n")
    launch(arguments(place, tmp_path / "run", str(data)))
    after = predictions(tmp_path / "run").table
    assert json.loads((tmp_path / "run" / "run.json").read_text())["loop"]["defeasible_nli"]["n_computed"] == 1
    assert after["input_id"][0] != before["input_id"][0]
    assert after["probabilities"][0] != before["probabilities"][0]
    assert after["probabilities"][1:].equals(before["probabilities"][1:])


def test_a_run_folder_of_another_model_is_refused_and_overwrite_starts_anew(place, tmp_path):
    launch(arguments(place, tmp_path))
    first = predictions(tmp_path).table["probabilities"].to_pylist()
    (tmp_path / "notes.txt").write_text("the user's own")
    other = arguments(place, tmp_path, model=place / "other_model")
    refused = launch(other, check=False)
    assert refused.returncode == 2
    assert "must be a new folder or hold a run of the same model" in refused.stderr
    assert "Traceback" not in refused.stderr
    launch([*other, "--overwrite"])
    assert predictions(tmp_path).table["probabilities"].to_pylist() != first
    assert (tmp_path / "notes.txt").read_text() == "the user's own"


def test_a_model_that_was_moved_goes_on_with_its_run(place, undisturbed, tmp_path):
    launch(arguments(place, tmp_path / "run"))
    shutil.copytree(place / "model", tmp_path / "moved")
    assert "were there already" in launch(arguments(place, tmp_path / "run", model=tmp_path / "moved")).stderr
    assert_same_rows(predictions(tmp_path / "run").table, undisturbed.table)


def test_a_problem_of_one_process_is_said_once(place, tmp_path):
    done = launch(["refuse", "2", "1", *arguments(place, tmp_path)], script=FAULTY, processes=2, check=False)
    assert done.returncode != 0
    assert done.stderr.count("error: run: the model returned numbers that are not finite") == 1
    assert shards(tmp_path)["rank-00000.jsonl"] > shards(tmp_path)["rank-00001.jsonl"] > 0


@pytest.mark.faults
@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_that_hangs_is_named(place, tmp_path, rank):
    waiting = ["wait", "2", str(rank), *arguments(place, tmp_path, batch_tokens=1000)]
    done = launch(waiting, script=FAULTY, processes=2)
    assert done.stderr.count(f"warning: process {rank} of 2 ") == 1
    assert f"process {1 - rank} of 2" not in done.stderr


@pytest.mark.faults
def test_another_library_or_device_between_two_halves_is_said(place, tmp_path):
    launch(arguments(place, tmp_path, limit=40))
    (file,) = tmp_path.glob("store/*/environment.json")
    environment = json.loads(file.read_text())
    file.write_text(json.dumps({**environment, "torch": "2.0.1", "device": "NVIDIA H100"}))
    said = launch(arguments(place, tmp_path)).stderr
    assert f"torch 2.0.1, now {environment['torch']}; device NVIDIA H100, now cpu" in said
    assert "NVIDIA" not in launch(arguments(place, tmp_path)).stderr  # which computes nothing


def test_one_process_alone_looks_into_the_store(place, undisturbed, tmp_path):
    """What each looked up for itself differed where the store changed meanwhile."""
    launch(arguments(place, tmp_path, limit=40))
    launch(["look", "1", "1", *arguments(place, tmp_path)], script=FAULTY, processes=2)
    assert_same_rows(predictions(tmp_path).table, undisturbed.table)


def test_a_device_that_is_none(monkeypatch):
    import torch

    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    for device in ("cuda", "mps", "gpu"):
        refuses("`device` must be cpu: this machine has no accelerator; got", check_device, "run", device)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    check_device("run", "cuda")
    refuses("be cpu or cuda, which is here; got 'mps'", check_device, "run", "mps")


def test_a_many_to_one_label_map_under_both_rules(tmp_path):
    tiny_encoder(tmp_path / "model", ["entailment", "neutral", "contradiction"])
    names = ["entailment", "not_entailment"]
    rows = [
        {
            "bucket_id": f"b{i // 3}",
            "premise": "the dog",
            "hypothesis": f"{a} {b}",
            "label": names[(i // 3) % 2],
        }
        for i, (a, b) in enumerate(zip(WORDS, reversed(WORDS), strict=True))
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "set.parquet")
    given = ["run", "--model", str(tmp_path / "model"), "--dataset", str(tmp_path / "set.parquet")]
    refused = launch([*given, "--output", str(tmp_path / "refused")], check=False)
    assert refused.returncode == 2
    assert "--label-map" in refused.stderr
    tables = {}
    for rule in ("argmax", "sum"):
        maps = ["--label-map", "neutral=not_entailment", "--label-map", "contradiction=not_entailment"]
        launch([*given, *maps, "--label-rule", rule, "--output", str(tmp_path / rule)])
        tables[rule] = predictions(tmp_path / rule)
        assert tables[rule].label_names == tuple(names)
        assert "rule=" + rule in tables[rule].metadata["label_map"]
    probabilities = np.array(tables["sum"].table["probabilities"].to_pylist())
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert tables["sum"].table["prediction"].to_pylist() == probabilities.argmax(1).tolist()
    assert tables["argmax"].table["probabilities"].equals(tables["sum"].table["probabilities"])


def test_output_that_cannot_be_written(place, tmp_path):
    (tmp_path / "file").write_text("")
    done = launch(arguments(place, tmp_path / "file"), check=False)
    assert done.returncode == 2
    assert "run: `--output` must be a folder that can be written" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
