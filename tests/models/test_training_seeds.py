"""Early stopping, also across a kill; the best epoch by accuracy and by loss; several seeds in one command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import transformers
from helpers.rows import accuracy, easy_rows, record, write_csv
from safetensors.torch import load_file

from paraconsist.cli.app import main
from paraconsist.data.tasks import get_task
from paraconsist.errors import InputError
from paraconsist.models.loading import load_model
from paraconsist.models.training.options import TrainingOptions, options_from_preset
from paraconsist.models.training.trainer import train, train_seeds

pytestmark = pytest.mark.slow

DEFEASIBLE = get_task("defeasible_nli")


@pytest.fixture
def files(tmp_path):
    return write_csv(tmp_path / "train.csv", easy_rows(96)), write_csv(tmp_path / "dev.csv", easy_rows(40, seed=1))


def _options(files, output, **overrides) -> TrainingOptions:
    settings = {"embedding_dim": 8, "batch_size": 32, "epochs": 12.0, "learning_rate": 3e-2, "device": "cpu"}
    settings |= {"mlp_size": 8, "dropout": 0.0} | overrides
    return options_from_preset(
        None, output=output, model="glove_bow", train_file=files[0], eval_file=files[1], **settings
    )


def at_odds(file: Path) -> list[dict]:
    """Write evaluation rows with labels at odds with the training rows: the loss rises from the first epochs on."""
    rows = [row | {"label": 1 - row["label"] if i % 3 else row["label"]} for i, row in enumerate(easy_rows(40, seed=1))]
    write_csv(file, rows)
    return rows


@pytest.mark.parametrize("by", ["accuracy", "loss"])
def test_early_stopping_ends_after_its_patience_and_keeps_the_best(files, tmp_path, by):
    said: list[str] = []
    rows = at_odds(files[1])
    options = _options(files, tmp_path / by, patience=2, best_by=by)
    assert options.best_model
    folder = train(options, say=said.append)
    metrics = record(folder)["metrics"]
    values = [epoch[by] for epoch in metrics["epochs"]]
    best = values.index(max(values) if by == "accuracy" else min(values))
    assert len(values) == best + 1 + 2 < 12
    assert f"Stopped early: no better {by} in 2 epochs." in said
    assert metrics["best_epoch"] == best + 1
    assert metrics["eval_accuracy"] == metrics["epochs"][best]["accuracy"]
    classifier = load_model(folder, task=DEFEASIBLE)
    assert accuracy(classifier, DEFEASIBLE, rows) == metrics["eval_accuracy"]


def test_patience_needs_evaluation_rows_and_may_never_be_used_up(files, tmp_path):
    with pytest.raises(InputError, match=r"`patience` must come with evaluation rows; got 2"):
        train(replace(_options(files, tmp_path / "a", patience=2), eval_file=None))
    said: list[str] = []
    train(_options(files, tmp_path / "b", patience=3, epochs=3.0), say=said.append)
    assert not any("Stopped early" in line for line in said)


class _Killed(Exception):
    pass


def test_an_interrupted_training_stops_where_the_whole_one_does(files, tmp_path, monkeypatch):
    at_odds(files[1])
    whole = record(train(_options(files, tmp_path / "whole", patience=2, best_by="loss")))["metrics"]
    after = len(whole["epochs"]) - 1  # one of the two epochs of patience is behind it

    def interrupt(self, args, state, control, **kwargs):
        if state.epoch > after:
            raise _Killed

    killed = tmp_path / "killed"
    with monkeypatch.context() as patched:
        patched.setattr(transformers.TrainerCallback, "on_step_begin", interrupt)
        with pytest.raises(_Killed):
            train(_options(files, killed, patience=2, best_by="loss"))
    assert record(killed)["status"] == "running"
    said: list[str] = []
    train(_options(files, killed, patience=2, best_by="loss", resume=True), say=said.append)
    assert any(line.startswith("Resuming from checkpoint-") for line in said)
    assert "Stopped early: no better loss in 2 epochs." in said
    resumed = record(killed)["metrics"]
    assert [e["loss"] for e in resumed["epochs"]] == pytest.approx([e["loss"] for e in whole["epochs"]], abs=1e-6)
    assert resumed["best_epoch"] == whole["best_epoch"]


def test_several_seeds_are_several_trainings(files, tmp_path, capsys):
    options = _options(files, tmp_path / "seeds", epochs=1.0)
    folders = train_seeds(options, [0, 3])
    assert [folder.name for folder in folders] == ["seed-0", "seed-3"]
    weights = [load_file(folder / "model.safetensors")["head.1.weight"] for folder in folders]
    assert not weights[0].equal(weights[1])
    alone = train(replace(options, output=tmp_path / "alone", seed=3))
    assert (alone / "model.safetensors").read_bytes() == (folders[1] / "model.safetensors").read_bytes()
    records = [record(folder) for folder in folders]
    assert [written["options"]["seed"] for written in records] == [0, 3]
    assert records[0]["data"] == records[1]["data"]
    said: list[str] = []
    train_seeds(replace(options, resume=True), [0, 3, 4], say=said.append)
    assert sum("already holds this training" in line for line in said) == 2
    assert (tmp_path / "seeds" / "seed-4" / "training.json").is_file()
    for seeds in ([], [1, 1], [-1]):
        with pytest.raises(InputError, match="`seeds` must be numbers from 0 on, each once"):
            train_seeds(options, seeds)
    with pytest.raises(InputError, match="not hold a single training"):
        train_seeds(replace(options, output=alone), [0])
    capsys.readouterr()
    command = ["train", "--model", "glove_bow", "--train-file", str(files[0]), "--eval-file", str(files[1]),
               "--epochs", "1", "--embedding-dim", "4", "--device", "cpu", "--output"]  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        main([*command, str(tmp_path / "cli"), "--seeds", "0,1"])
    assert ended.value.code == 0
    printed = capsys.readouterr()
    assert printed.out.count("(always the commonest label: 50.0)") == 2
    assert f"--model {tmp_path / 'cli' / 'seed-1'}" in printed.err
    with pytest.raises(SystemExit, match="2"):
        main([*command, str(tmp_path / "bad"), "--seeds", "0;1"])
    assert "`--seeds` must be whole numbers with commas between" in capsys.readouterr().err
