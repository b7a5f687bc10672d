"""Runs over endpoints and of loaded models that stop once a condition is known."""

import json

import pytest
from helpers.endpoint import arguments, done, predictions
from helpers.faulty_server import FaultyServer
from helpers.processes import write_set


def test_an_endpoint_is_asked_each_input_once_and_says_what_the_rest_takes(tmp_path):
    write_set(tmp_path / "set.jsonl", 120)
    with FaultyServer() as server:
        given = arguments(server.url, tmp_path / "set.jsonl", tmp_path / "run", until="wording_change +- 0.2")
        said = done(given)
        sent = len(server.received)
        done(given)
        assert len(server.received) == sent
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    (found,) = run["until"].values()
    rows = predictions(tmp_path / "run").table
    assert found["n_asked"] == len(set(rows["bucket_id"].to_pylist()))
    assert "if all buckets must be asked" in said
    assert "of the population" in said
    assert " more (" in said or "is known" in said
    (passed,) = run["endpoint"].values()
    assert passed["last"]["n_computed"] == passed["last"]["n_inputs"] == len(set(rows["input_id"].to_pylist()))


@pytest.mark.slow
def test_a_loaded_model_stops_too(tmp_path):
    from helpers.commands import command
    from helpers.models import tiny_encoder

    write_set(tmp_path / "set.jsonl", 120)
    tiny_encoder(tmp_path / "model")
    given = ["run", "--model", tmp_path / "model", "--dataset", tmp_path / "set.jsonl", "--output", tmp_path / "run"]
    command.done(*given, "--device", "cpu", "--until", "wording_change +- 0.2")
    (found,) = json.loads((tmp_path / "run" / "run.json").read_text())["until"].values()
    assert found["verdict"] is True or found["n_asked"] == found["n_in_all"]
