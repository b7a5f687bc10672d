"""The demo, as a person runs it: train, run, print, and a run folder with everything in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from paraconsist.data.predictions import read_predictions

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Run the demo twice, in fresh processes, without a network."""
    folder = tmp_path_factory.mktemp("demo")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home")}
    command = [sys.executable, "-m", "paraconsist", "demo", "--output", str(folder / "out")]
    runs = [subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300) for _ in range(2)]
    return folder / "out", runs


def test_it_prints_the_table(demo):
    _, (first, second) = demo
    for done in (first, second):
        assert done.returncode == 0, done.stderr
        for line in (
            "sample:defeasible_nli",
            "A, accuracy on paraphrases",
            "P_C, paraphrastic consistency",
            "P_C as published",
            "VAP, variance due to paraphrasing",
            "PVAP, share of variance",
            "least P_C that this accuracy allows",
            "P_C, corrected",
            "rewording",
        ):
            assert line in done.stdout
        assert "Traceback" not in done.stderr
    assert "Training" in first.stdout
    assert "Training" not in second.stdout
    assert "were there already" in second.stdout


def test_it_leaves_a_run_folder(demo):
    folder, _ = demo
    results = json.loads((folder / "run" / "results.json").read_text())
    measure = results["sample:defeasible_nli"]["measures"]["paraphrastic_consistency"]
    assert measure["n_buckets"] == 60
    low, high = measure["confidence_interval"]["paraphrastic_consistency"]
    assert low < measure["paraphrastic_consistency"] < high
    predictions = read_predictions(folder / "run" / "predictions" / "sample-defeasible_nli.parquet")
    assert predictions.metadata["task"] == "defeasible_nli"
    assert predictions.table.num_rows == measure["n_examples"] + 60


def test_the_model_learnt_something(demo):
    folder, _ = demo
    results = json.loads((folder / "run" / "results.json").read_text())["sample:defeasible_nli"]
    measure = results["measures"]["paraphrastic_consistency"]
    assert measure["test_accuracy"] > results["test_majority_rate"] + 0.1
