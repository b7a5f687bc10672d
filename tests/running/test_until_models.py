"""Runs over endpoints and of loaded models that stop once a condition is known."""

import json

import pytest
from helpers.endpoint import arguments, command, done, predictions
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


def test_a_run_that_ends_at_its_budget_has_what_its_whole_rounds_say_and_goes_on_as_if_it_had_not_ended(tmp_path):
    """It could not be scored, and after it the rest was said to cost as much less as had been paid before."""
    write_set(tmp_path / "set.jsonl", 200)
    given = {"until": "wording_change +- 0.1", "scoring": "generate", "max_tokens": 3, "price": "1000,2000"}

    def lines(said):
        return [line for line in said.splitlines() if line.startswith("set: wording_change")]

    with FaultyServer() as server:
        undisturbed = lines(done(arguments(server.url, tmp_path / "set.jsonl", tmp_path / "whole", **given)))
        url, folder = server.url, tmp_path / "run"
        code, _, said = command(arguments(url, tmp_path / "set.jsonl", folder, **given, max_cost=7))
        assert (code, lines(said)) == (75, undisturbed[:1])
        assert command("gate", "wording_change >= 0.95", folder, "--sequential")[0] == 3
        (scores,) = json.loads(command.done("score", folder, "--json")).values()
        assert 0.0 < scores["until"]["low"] < 0.95 < scores["until"]["high"] == 1.0
        assert "goes on from there" in command("check", folder)[1]
        assert lines(done(arguments(url, tmp_path / "set.jsonl", folder, **given))) == undisturbed
    assert len(undisturbed) > 2
    assert all(", cost " in line for line in undisturbed)


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
