"""The demo, as a person runs it: train, run, print, and a run folder with everything in it."""

import json
import os
import subprocess

import pytest
from helpers.missing import EXTRAS, without
from helpers.processes import launch
from helpers.scripts import ROOT

from paraconsist.data.predictions import read_predictions, write_predictions
from paraconsist.errors import EXTRAS as OWN_EXTRAS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Run the demo twice, without a network, the first time with no other extra than the one that it needs."""
    folder = tmp_path_factory.mktemp("demo")
    others = [name for name in EXTRAS if OWN_EXTRAS.get(name) != "run"]
    (folder / "sitecustomize.py").write_text(without(others))
    command = ("-m", "paraconsist", "demo", "--output", str(folder / "out"))
    runs = []
    for is_fresh in (True, False):  # the second is forked, from a process that other tests share
        with pytest.MonkeyPatch.context() as patch:
            if is_fresh:
                patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
            runs.append(launch([], script=command, check=False, fresh=is_fresh))
        records.append(json.loads((folder / "out" / "run" / "run.json").read_text()))
    return folder / "out", runs


#: run.json after each of the two.
records: list[dict] = []


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
            "least P_C as published at this accuracy",
            "P_C, corrected",
            "rewording",
        ):
            assert line in done.stdout
        assert "Traceback" not in done.stderr
    assert "Training" in first.stderr
    assert "Training" not in second.stderr
    assert "were there already" in second.stderr


def test_it_says_what_it_does(demo):
    for done in demo[1]:
        for step in ("Loading torch", "Running the model over 60 problems", "Scoring its answers"):
            assert step in done.stdout + done.stderr


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
    assert results["measures"]["paraphrastic_consistency"]["test_accuracy"] > results["test_majority_rate"] + 0.1


def test_the_second_one_leaves_what_the_first_did(demo):
    first, second = records
    assert first["loop"]["defeasible_nli"]["n_tokens"] > 0
    assert {**second, "accuracies": None} == {**first, "accuracies": None}


@pytest.mark.parametrize("limit", [37, 250])
def test_a_trial_says_so_in_its_signature_and_files(demo, tmp_path, command, limit):
    words = ["run", "--model", str(demo[0] / "model"), "--dataset", "sample:defeasible_nli", "--device", "cpu"]
    words += ["--limit", str(limit), "--output", str(tmp_path / "run")]
    out = command.out(*words)
    run, results = (json.loads((tmp_path / "run" / f"{name}.json").read_text()) for name in ("run", "results"))
    (result,) = results.values()
    assert run["command"] == result["command"] == ["paraconsist", *words]
    assert run["options"]["limit"] == [str(limit)]
    assert result["limit"] == limit
    assert result["options"]["n_resamples"] == 10_000
    assert f"-limit{limit}|" in out.replace("\n", "")


@pytest.mark.parametrize(("limit", "n_test"), [("37", 160), ("*_test=48", 48)])
def test_a_trial_has_an_accuracy_on_the_full_test_set_or_none(demo, tmp_path, command, limit, n_test):
    words = ["run", "--model", str(demo[0] / "model"), "--dataset", "sample:defeasible_nli", "--device", "cpu"]
    words += ["--limit", limit, "--with-test", "--n-resamples", "20", "--output", str(tmp_path / "run")]
    out = command.out(*words)
    test = read_predictions(tmp_path / "run" / "predictions" / "sample-defeasible_nli_test.parquet")
    assert len(test.table) == n_test
    results = json.loads((tmp_path / "run" / "results.json").read_text())["sample:defeasible_nli"]
    measure = results["measures"]["paraphrastic_consistency"]
    assert ("test_accuracy" in measure) is ("full test set" in out) is (n_test == 160)
    assert ("accuracy" in out.partition("sample:defeasible_nli_test")[2].partition("48 rows")[0]) is (n_test == 48)
    file = tmp_path / "run" / "predictions" / "sample-defeasible_nli_test.parquet"
    other = {**test.metadata, "model": {**test.metadata["model"], "model": "another"}}
    write_predictions(file, test.table, other)
    assert "must hold one model's predictions of sample:defeasible_nli" in command.refused("score", tmp_path / "run")


@pytest.mark.faults
def test_make_demo_prints_one_line_before_the_demo(tmp_path):
    """Q10: with a pip that talks as much as pip does."""
    stub = tmp_path / "python"
    stub.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        '"-m venv "*) for venv; do :; done; mkdir "$venv" "$venv/bin"\n'
        'cp "$0" "$venv/bin/python"; cp "$0" "$venv/bin/paraconsist";;\n'
        "*pip*--quiet*) ;;\n"
        "*pip*) seq 300;;\n"
        "demo) echo the demo;;\n"
        "esac\n"
    )
    stub.chmod(0o755)
    call = ["make", "demo", f"PYTHON={stub}", f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
    first, *rest = done.stdout.splitlines()
    assert first.startswith("Installing paraconsist")
    assert rest == ["the demo"]
