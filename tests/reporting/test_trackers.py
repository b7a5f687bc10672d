"""MLflow and trackio take a scoring and a training: their own API gives back the same numbers, and nothing phones."""

import json
import math
import socket

import numpy as np
import pytest
from helpers.commands import write

import paraconsist as pc
from paraconsist.reporting import trackers

HEADLINE = "paraphrastic_consistency_unbiased"
SETS = "one set", "another: two wordings"


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    asked = []

    def refuse(*where, **_):
        asked.append(where)  # also in a thread, whose errors nobody hears
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    yield
    assert asked == []


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """MLflow's own default store, a database of SQLite, with an experiment."""
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/mlflow.db"


@pytest.fixture
def mlflow(store, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    return mlflow


def in_mlflow(mlflow, experiment):
    (run,) = mlflow.search_runs(experiment_names=[experiment], output_format="list")
    return run.info.run_name, run.data.metrics, run.data.tags


def in_trackio(project):
    trackio = pytest.importorskip("trackio")
    from trackio.sqlite_storage import SQLiteStorage

    (run,) = trackio.Api().runs(project)
    *_, metrics = SQLiteStorage.get_logs(project, run.name)
    return run.name, metrics, run.config


def answers(folder, *, size=5, n_buckets=12):
    """A file of a run's log: buckets of `size` wordings, whose answers are right in most."""
    right = np.random.default_rng(1).random((n_buckets, size)) < 0.7
    rows = [
        {"bucket_id": f"b{i}", "example_id": f"b{i}.{j}", "label": i % 2, "prediction": int(is_right) ^ 1 ^ i % 2}
        for i, bucket in enumerate(right)
        for j, is_right in enumerate(bucket)
    ]
    return write(folder / "answers.jsonl", rows)


def expected_metrics(results):
    """Every number of the results, by the names that trackers show; undefined ones are nan."""
    metrics = {}
    for name, result in results.items():
        wording = {"wording": result["wording"]} if "wording" in result else {}
        for measure, values in {**result["measures"], **wording}.items():
            ends = values["confidence_interval"]
            for key, value in values.items():
                if key in ends or isinstance(value, (int, float)):
                    metrics[f"{name}/{measure}/{key}"] = value
                if key in ends:
                    metrics |= zip(
                        (f"{name}/{measure}/{key}_{side}" for side in ("low", "high")), ends[key], strict=True
                    )
    return {name: math.nan if value is None else value for name, value in metrics.items()}


def same_numbers(metrics, expected):
    left = {name: metrics.get(name) for name in expected}
    assert left == pytest.approx(expected, abs=1e-12, rel=0, nan_ok=True)


@pytest.mark.parametrize("size", [5, 1])  # of wordings of one each P_C is undefined
def test_score_logs_every_number_to_both(command, mlflow, tmp_path, monkeypatch, size):
    names = f"score {size}"
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", names)
    monkeypatch.setenv("TRACKIO_PROJECT", names)
    file = answers(tmp_path, size=size)
    code, out, err = command("score", file, "--json", "--log-to", "mlflow", "--log-to", "trackio")
    assert code == 0, err
    results = json.loads(out)  # what the tools print does not stand among it
    expected = expected_metrics(results)
    assert len(expected) > 40
    assert math.isnan(expected[f"answers/paraphrastic_consistency/{HEADLINE}"]) == (size == 1)
    assert ("answers/wording/wording_change_low" in expected) == (size > 1)  # it was in no tracker
    (signature,) = (one["signature"] for one in results["answers"]["measures"].values())
    for run, metrics, tags in (in_mlflow(mlflow, names), in_trackio(names)):
        same_numbers(metrics, expected)
        assert run == "answers"
        assert tags["answers/paraphrastic_consistency/signature"] == signature
        assert tags["paraconsist_version"] == pc.__version__
    assert f"logged to mlflow: run answers of experiment {names}" in err
    assert f"logged to trackio: run answers of project {names}" in err


@pytest.mark.faults
def test_pass_hat_k_the_noise_floor_and_checked_rates_are_logged(mlflow, monkeypatch):
    """They were in no tracker."""
    logged = {}
    monkeypatch.setitem(trackers._LOGGERS, "mlflow", lambda *given: logged.update(given[2][0][1]) or "")
    runs = {"task": [*"aabb"], "run": [1, 2] * 2, "success": [1, 1, 1, 0], "calls": [["find"]] * 4}
    pc.score(runs).log_to("mlflow")
    assert [logged[f"predictions/trajectory_consistency/pass_hat_n/{k}"] for k in "12"] == [0.75, 0.5]
    rows = {"bucket_id": [*"aaabb"], "example_id": [*"11234"], "trial": [1, 2, 1, 1, 1], "prediction": [*"yyyny"]}
    results = pc.score(rows, label=None, trial="trial").to_dict()
    rates = {"accuracy": {"corrected": 0.5, "refused": "", "confidence_interval": {"corrected": [0.4, 0.6]}}}
    trackers.log_results({name: {**one, "checked": {"rates": rates}} for name, one in results.items()}, "mlflow")
    assert [logged[f"predictions/noise/{key}"] for key in ("flip_rate/decoding", "wording_change")] == [0.0, 0.5]
    assert logged["predictions/checked/accuracy/corrected_high"] == 0.6


def test_an_active_run_of_mlflow_takes_the_numbers(mlflow, tmp_path):
    rows = {"bucket_id": [1, 1, 2, 2], "label": [0, 0, 1, 1], "prediction": [0, 1, 1, 1]}
    scores = pc.score(rows)
    mlflow.set_experiment("active")
    with mlflow.start_run(run_name="mine"):
        assert scores.log_to("mlflow").startswith("logged to mlflow: run mine of experiment active")
        assert mlflow.active_run() is not None
    same_numbers(in_mlflow(mlflow, "active")[1], expected_metrics(scores.to_dict()))
    mlflow.set_experiment("Default")


def test_what_others_see_names_no_folder(monkeypatch):
    """A tracker may be a server: names of sets and models are those of `sharing`, in the letters that MLflow takes."""
    parts = []
    monkeypatch.setitem(trackers._LOGGERS, "mlflow", lambda *given: parts.append(given) or "there")
    values = {"accuracy": None, "n_buckets": 3, "by_stratum": {}, "signature": "pc|data:x|v:1"}
    measures = {"paraphrastic_consistency": {**values, "confidence_interval": {"accuracy": [None, None]}}}
    results = {"/home/ada/x/rows@é.csv": {"model": "/home/ada/bow", "measures": measures}}
    trackers.log_results(results, "mlflow")
    ((name, identity, [(signatures, numbers)]),) = parts
    assert (name, identity["model"], identity["set"]) == ("bow", "bow", "rows@é.csv")
    assert signatures == {"rows__.csv/paraphrastic_consistency/signature": "pc|data:x|v:1"}
    assert [name.rpartition("/")[2] for name in numbers] == ["accuracy", "accuracy_low", "accuracy_high", "n_buckets"]


@pytest.mark.parametrize(
    ("tracker", "variable", "value", "sentence"),
    [
        ("wandb", "X", "", "`--log-to` must be one of mlflow, trackio; got 'wandb'"),
        ("mlflow", "MLFLOW_TRACKING_URI", "no://where", "mlflow did not take the numbers: "),
        ("trackio", "TRACKIO_SERVER_URL", "http://x", "trackio did not take the numbers: "),
    ],
)
def test_a_refusal_is_one_sentence(command, tmp_path, monkeypatch, tracker, variable, value, sentence):
    monkeypatch.setenv(variable, value)
    err = command.refused("score", answers(tmp_path), "--log-to", tracker)
    assert err.splitlines()[-1].startswith(
        f"error: {sentence}" if "log_to" in sentence else f"error: score: {sentence}"
    )


@pytest.mark.parametrize("size", [5, 1])
def test_trainer_logs_value_low_and_high(mlflow, tmp_path, monkeypatch, size):
    """Each evaluation of a training, through `report_to`; trackio calls eval_X eval/X."""
    import torch
    from datasets import Dataset
    from transformers import Trainer, TrainingArguments

    class Linear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(3, 2)

        def forward(self, features, labels):
            logits = self.layer(features)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    buckets = np.repeat(np.arange(20), size)
    features = np.random.default_rng(0).normal(size=(len(buckets), 3)).astype(np.float32)
    rows = Dataset.from_dict({"features": features, "labels": buckets % 2, "bucket_id": buckets})
    evaluation = pc.BucketEvaluation(rows, label="labels")
    name = f"trainer {size}"
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", name)
    settings = {"report_to": ["mlflow", "trackio"], "project": name, "run_name": name, "max_steps": 2}
    settings |= {"eval_strategy": "steps", "eval_steps": 1, "learning_rate": 1.0, "save_strategy": "no"}
    trainer = Trainer(
        Linear(),
        TrainingArguments(str(tmp_path), **settings, use_cpu=True, disable_tqdm=True),
        train_dataset=rows,
        eval_dataset=rows,
        compute_metrics=evaluation.compute_metrics,
        callbacks=[evaluation.callback],
    )
    trainer.train()
    keys = [f"eval_{HEADLINE}{end}" for end in ("", "_low", "_high")]
    logged = [[one[key] for key in keys] for one in trainer.state.log_history if keys[0] in one]
    assert np.shape(logged) == (2, 3)
    assert np.isnan(logged).all() == (size == 1)

    from trackio.sqlite_storage import SQLiteStorage

    in_trackio = [one for one in SQLiteStorage.get_logs(name, name) if keys[0].replace("_", "/", 1) in one]
    columns = [[one[key.replace("_", "/", 1)] for key in keys] for one in in_trackio]
    np.testing.assert_allclose(columns, logged, rtol=0, atol=1e-12)
    (run,) = mlflow.search_runs(experiment_names=[name], output_format="list")
    histories = [mlflow.MlflowClient().get_metric_history(run.info.run_id, key) for key in keys]
    by_step = [{one.step: one.value for one in history} for history in histories]
    np.testing.assert_allclose([[one[step] for one in by_step] for step in (1, 2)], logged, rtol=0, atol=1e-12)
