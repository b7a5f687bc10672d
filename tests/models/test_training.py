"""Training: learns, repeats itself, resumes after a kill, stops early, takes several seeds; what it refuses."""

from __future__ import annotations

import random
import shutil
import signal
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from helpers.errors import refuses
from helpers.models import WORDS, tiny_encoder, tiny_tokenizer
from helpers.processes import launch
from helpers.rows import accuracy, easy_rows, record, write_csv
from safetensors.torch import load_file

from paraconsist.cli.app import main
from paraconsist.data.tasks import get_task
from paraconsist.errors import InputError
from paraconsist.files import locked
from paraconsist.models.loading import load_model
from paraconsist.models.training.options import TrainingOptions, options_from_preset
from paraconsist.models.training.trainer import train, train_seeds

pytestmark = pytest.mark.slow

DEFEASIBLE, ABDUCTIVE = get_task("defeasible_nli"), get_task("abductive_nli")


@pytest.fixture
def files(tmp_path):
    return write_csv(tmp_path / "train.csv", easy_rows(200)), write_csv(tmp_path / "dev.csv", easy_rows(60, seed=1))


def _bow(files, output, **overrides) -> TrainingOptions:
    settings = {"n_buckets": 2**12, "epochs": 8.0, "batch_size": 32, "device": "cpu"} | overrides
    return options_from_preset("bow", output=output, model="bow", train_file=files[0], eval_file=files[1], **settings)


def test_bow_learns_and_the_folder_loads(files, tmp_path):
    said: list[str] = []
    folder = train(_bow(files, tmp_path / "model"), say=said.append)
    assert sorted(p.name for p in folder.iterdir()) == ["config.json", "model.safetensors", "training.json"]
    written = record(folder)
    assert written["status"] == "finished"
    assert written["data"]["train"]["labels"] == {"weakener": 100, "strengthener": 100}
    assert written["options"]["seed"] == 0
    metrics = written["metrics"]
    assert metrics["eval_accuracy"] > 0.8
    assert metrics["eval_majority"] == 0.5
    assert len(metrics["epochs"]) == 8
    assert sum("accuracy" in line for line in said) == 8
    classifier = load_model(folder, task=DEFEASIBLE)
    assert accuracy(classifier, DEFEASIBLE, easy_rows(60, seed=1)) == metrics["eval_accuracy"]


def test_a_seed_gives_the_same_weights_and_another_seed_others(files, tmp_path):
    weights = [
        load_file(train(_bow(files, tmp_path / name, seed=seed, epochs=1.0)) / "model.safetensors")
        for name, seed in [("a", 0), ("b", 0), ("c", 1)]
    ]
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])
    assert not torch.equal(weights[0]["bag.weight"], weights[2]["bag.weight"])


def test_two_processes_share_one_training(files, tmp_path, monkeypatch):
    """Without a GPU too: one folder, the steps and the weights of one process, the rows of each step divided."""
    rows = write_csv(tmp_path / "rows.csv", easy_rows(64)), files[1]
    settings = {"epochs": 2.0, "batch_size": 16, "embedding_dim": 4, "n_buckets": 2**18, "device": None}
    one = train(_bow(rows, tmp_path / "one", **settings))
    command = ["train", "--model", "bow", "--train-file", str(rows[0]), "--eval-file", str(rows[1]), "--epochs", "2"]
    launch([*command, "--batch-size=16", "--embedding-dim=4", "--output", str(tmp_path / "two")], processes=2)
    records = [record(folder) for folder in (one, tmp_path / "two")]
    assert [written["n_processes"] for written in records] == [1, 2]
    assert [written["metrics"]["steps"] for written in records] == [8, 8]
    weights = [load_file(folder / "model.safetensors") for folder in (one, tmp_path / "two")]
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight, rtol=0, atol=1e-4)
    monkeypatch.setattr(transformers.TrainingArguments, "world_size", 2)
    refuses(r"`batch_size` must be a multiple of 2, .* got 15", train, _bow(rows, tmp_path / "odd", batch_size=15))


def test_a_limit_is_a_sample_that_the_seed_does_not_change(files, tmp_path):
    def content_hash(name, **overrides):
        folder = train(_bow(files, tmp_path / name, limit=50, epochs=1.0, **overrides))
        return record(folder)["data"]["train"]["content_hash"], record(folder)["data"]["train"]["n_rows"]

    assert content_hash("a") == content_hash("b", seed=3)
    assert content_hash("a2")[1] == 50
    assert content_hash("c", limit_seed=1) != content_hash("a3")


def test_multiple_choice_bow(tmp_path):
    rng = random.Random(0)
    rows = []
    for i in range(200):
        good, bad = f"she {rng.choice(WORDS[:9])} likes", f"she {rng.choice(WORDS[:9])} hates"
        pair = (good, bad) if i % 2 == 0 else (bad, good)
        rows.append(
            {"observation_1": "a b", "observation_2": "c", "hypothesis_1": pair[0], "hypothesis_2": pair[1],
             "label": f"hypothesis_{i % 2 + 1}"}
        )  # fmt: skip
    file = write_csv(tmp_path / "rows.csv", rows)
    other = write_csv(tmp_path / "dev.csv", rows[::-1])
    with pytest.warns(UserWarning, match="200 of 200 evaluation inputs are also training inputs"):
        folder = train(_bow((file, other), tmp_path / "model"))
    assert load_model(folder, task=ABDUCTIVE).multiple_choice
    assert record(folder)["metrics"]["eval_accuracy"] > 0.95
    options = _bow((file, other), tmp_path / "single", head="classification", epochs=1.0)
    assert not load_model(train(replace(options, eval_file=None)), task=ABDUCTIVE).multiple_choice


def test_training_goes_on_from_a_folder(files, tmp_path):
    first = train(_bow(files, tmp_path / "a", epochs=1.0))
    second = train(replace(_bow(files, tmp_path / "b", epochs=2.0), model=str(first)))
    losses = [record(folder)["metrics"]["epochs"][-1]["loss"] for folder in (first, second)]
    assert losses[1] < losses[0]


def _bert(folder: Path, **config) -> Path:
    """A bare encoder, without a head."""
    from transformers import BertConfig, BertModel

    tokenizer = tiny_tokenizer([*WORDS, "happy"])
    torch.manual_seed(0)
    settings = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(tokenizer), **settings | config)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _head(files, output, model, **overrides) -> TrainingOptions:
    settings = {"epochs": 6.0, "batch_size": 8, "learning_rate": 2e-3, "device": "cpu"} | overrides
    return options_from_preset(
        "minilm-quick", output=output, model=str(model), train_file=files[0], eval_file=files[1], **settings
    )


def test_an_encoder_gets_a_head_and_learns(files, tmp_path):
    encoder = _bert(tmp_path / "encoder")
    refuses("no trained head", load_model, encoder, task=DEFEASIBLE)
    said: list[str] = []
    folder = train(_head(files, tmp_path / "model", encoder, best_model=True), say=said.append)
    assert any("New weights, not from" in line and "classifier.weight" in line for line in said)
    classifier = load_model(folder, task=DEFEASIBLE)
    assert classifier.label_names == ("weakener", "strengthener")
    metrics = record(folder)["metrics"]
    assert metrics["eval_accuracy"] > 0.9
    assert accuracy(classifier, DEFEASIBLE, easy_rows(60, seed=1)) == metrics["eval_accuracy"]


def test_a_head_with_the_tasks_labels_keeps_its_own_order(files, tmp_path):
    model = tiny_encoder(tmp_path / "start", ("Strengthener", "WEAKENER"), words=[*WORDS, "happy"])
    folder = train(_head(files, tmp_path / "model", model))
    assert load_model(folder, task=DEFEASIBLE).label_names == ("strengthener", "weakener")
    assert record(folder)["metrics"]["eval_accuracy"] > 0.9
    said: list[str] = []
    other = tiny_encoder(tmp_path / "mnli", ("entailment", "neutral", "contradiction"))
    replaced = train(_head(files, tmp_path / "other", other, epochs=1.0), say=said.append)
    assert load_model(replaced, task=DEFEASIBLE).label_names == ("weakener", "strengthener")
    assert any("other labels" in line for line in said)
    assert any("New weights" in line for line in said)


def test_a_decoder_without_pad_token_is_trained_and_run(files, tmp_path):
    from transformers import GPT2Config, GPT2Model

    tokenizer = tiny_tokenizer([*WORDS, "happy", "<end>"])
    tokenizer.pad_token = None
    tokenizer.eos_token = "<end>"
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=32, n_layer=1, n_head=2, n_positions=64)
    GPT2Model(config).save_pretrained(tmp_path / "start")
    tokenizer.save_pretrained(tmp_path / "start")
    folder = train(_head(files, tmp_path / "model", tmp_path / "start", epochs=1.0))
    classifier = load_model(folder, task=DEFEASIBLE)
    batch = classifier.prepare([classifier.encode(DEFEASIBLE, row) for row in easy_rows(8, seed=1)])
    alone = torch.cat([classifier.logits([row]) for row in batch])
    torch.testing.assert_close(classifier.logits(batch), alone, rtol=0, atol=1e-5)


KILLED = """
    import os, signal, sys
    from pathlib import Path
    import transformers
    from paraconsist.models.training.options import options_from_preset
    from paraconsist.models.training import trainer
    after = int(sys.argv[4])
    class Kill(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            if state.global_step == after:
                os.kill(os.getpid(), signal.SIGKILL)
    original = transformers.Trainer.__init__
    def patched(self, *args, **kwargs):
        original(self, *args, **kwargs)
        self.add_callback(Kill())
    transformers.Trainer.__init__ = patched
    trainer.train(options_from_preset(
        "bow", output=Path(sys.argv[3]), model="bow", train_file=Path(sys.argv[1]),
        eval_file=Path(sys.argv[2]), n_buckets=2**12, epochs=3.0, batch_size=32, device="cpu"))
"""


def cut(file: Path) -> None:
    """Leave the first half of a file, as a kill or a power cut does."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def test_a_killed_training_resumes_to_the_same_weights(files, tmp_path):
    whole = train(_bow(files, tmp_path / "whole", epochs=3.0))
    killed = tmp_path / "killed"
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(KILLED), encoding="utf-8")
    result = launch([*map(str, files), str(killed), "17"], script=(str(script),), check=False)
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert record(killed)["status"] == "running"
    refuses(r"config\.json", load_model, killed, task=DEFEASIBLE)
    options = _bow(files, killed, epochs=3.0)
    refuses(r"interrupted: give `resume`", train, options)
    (killed / "checkpoints" / "checkpoint-999").mkdir()
    expected = load_file(whole / "model.safetensors")
    for broken in ("trainer_state.json", "optimizer.pt", "model.safetensors", None):
        folder = shutil.copytree(killed, tmp_path / f"without {broken}")
        if broken is not None:
            cut(folder / "checkpoints" / "checkpoint-14" / broken)
        said: list[str] = []
        train(replace(options, output=folder, resume=True), say=said.append)
        assert f"Resuming from checkpoint-{14 if broken is None else 7}." in said
        found = load_file(folder / "model.safetensors")
        for key, tensor in expected.items():
            torch.testing.assert_close(found[key], tensor, rtol=0, atol=1e-6)
        ours, theirs = record(folder)["metrics"], record(whole)["metrics"]
        assert ours.pop("train_loss") == pytest.approx(theirs["train_loss"], abs=1e-6)
        assert ours["epochs"] == theirs["epochs"]
        assert not any(file.name.startswith((".", "checkpoints")) for file in folder.iterdir())


def test_checkpoints_between_epochs_keep_the_loss(files, tmp_path):
    whole = train(_bow(files, tmp_path / "whole", epochs=2.0))
    options = _bow(files, tmp_path / "steps", epochs=2.0, save_steps=4)
    loss = record(train(options))["metrics"]["train_loss"]
    assert loss == pytest.approx(record(whole)["metrics"]["train_loss"], abs=1e-6)


def test_one_training_at_a_time_writes_into_a_folder(files, tmp_path):
    options = _bow(files, tmp_path / "model", epochs=1.0)
    busy = pytest.raises(InputError, match="not be in use by another command")
    with locked(options.output, "train", "output"), ThreadPoolExecutor(1) as other, busy:
        other.submit(train, options).result()
    assert train(options) == options.output


def test_output_folders_are_not_overwritten(files, tmp_path):
    options = _bow(files, tmp_path / "model", epochs=1.0)
    train(options)
    before = (tmp_path / "model" / "model.safetensors").stat().st_mtime_ns
    refuses("this same training, finished: give `resume`", train, options)
    assert train(replace(options, resume=True)) == tmp_path / "model"
    with pytest.raises(InputError, match=r"not hold another training.*These differ: learning_rate, seed"):
        train(replace(options, resume=True, seed=1, learning_rate=1.0))
    write_csv(files[0], easy_rows(100))
    refuses("These differ: the rows", train, replace(options, resume=True))
    assert (tmp_path / "model" / "model.safetensors").stat().st_mtime_ns == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    refuses("new or empty folder", train, replace(options, output=tmp_path / "other"))
    refuses("name a folder", train, replace(options, output=tmp_path / "other" / "notes.txt"))
    refuses("folder that can be written", train, replace(options, output=tmp_path / "other" / "notes.txt" / "model"))
    (tmp_path / "not_a_model").mkdir()
    refuses("config.json", train, replace(options, model=str(tmp_path / "not_a_model"), output=tmp_path / "new"))
    assert not (tmp_path / "new" / "training.json").exists()  # else the mended command would meet another training


def test_inputs_that_are_cut_are_said_and_warned_of(files, tmp_path):
    encoder = _bert(tmp_path / "encoder")
    with pytest.warns(UserWarning, match=r"200 of 200 inputs are longer than the model's window of 8 tokens"):
        train(replace(_head(files, tmp_path / "a", encoder, epochs=1.0, max_length=8), eval_file=None))


def test_the_command(files, tmp_path, capsys):
    command = [
        "train", "--model", "bow", "--train-file", str(files[0]),
        "--eval-file", str(files[1]), "--output", str(tmp_path / "model"), "--epochs", "2", "--device", "cpu",
        "--quiet",
    ]  # fmt: skip
    started = time.monotonic()
    result = launch(command)
    assert time.monotonic() - started < 60
    assert "(always the commonest label: 50.0)" in result.stdout
    assert result.stderr == ""
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: train: `--output` must be")
    assert len(said.splitlines()) == 1


@pytest.mark.real_data
def test_bow_learns_delta_social(data_folder, tmp_path):
    folder = data_folder / "finetune" / "delta_nli"
    options = options_from_preset(
        "bow", output=tmp_path / "model", model="bow", task="defeasible_nli", device="cpu",
        train_file=folder / "social_embedding_train.csv", eval_file=folder / "social_embedding_dev.csv",
    )  # fmt: skip
    metrics = record(train(options))["metrics"]
    assert metrics["eval_accuracy"] > metrics["eval_majority"] + 0.06


# ---------- Early stopping, also across a kill; the best epoch by accuracy and by loss; several seeds in one command


@pytest.fixture
def few_files(tmp_path):
    return write_csv(tmp_path / "train.csv", easy_rows(96)), write_csv(tmp_path / "dev.csv", easy_rows(40, seed=1))


def _glove_bow(few_files, output, **overrides) -> TrainingOptions:
    settings = {"embedding_dim": 8, "batch_size": 32, "epochs": 12.0, "learning_rate": 3e-2, "device": "cpu"}
    settings |= {"mlp_size": 8, "dropout": 0.0} | overrides
    return options_from_preset(
        None, output=output, model="glove_bow", train_file=few_files[0], eval_file=few_files[1], **settings
    )


def at_odds(file: Path) -> list[dict]:
    """Write evaluation rows with labels at odds with the training rows: the loss rises from the first epochs on."""
    rows = [row | {"label": 1 - row["label"] if i % 3 else row["label"]} for i, row in enumerate(easy_rows(40, seed=1))]
    write_csv(file, rows)
    return rows


@pytest.mark.parametrize("by", ["accuracy", "loss"])
def test_early_stopping_ends_after_its_patience_and_keeps_the_best(few_files, tmp_path, by):
    said: list[str] = []
    rows = at_odds(few_files[1])
    options = _glove_bow(few_files, tmp_path / by, patience=2, best_by=by)
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


def test_patience_needs_evaluation_rows_and_may_never_be_used_up(few_files, tmp_path):
    with pytest.raises(InputError, match=r"`patience` must come with evaluation rows; got 2"):
        train(replace(_glove_bow(few_files, tmp_path / "a", patience=2), eval_file=None))
    said: list[str] = []
    train(_glove_bow(few_files, tmp_path / "b", patience=3, epochs=3.0), say=said.append)
    assert not any("Stopped early" in line for line in said)


class _Killed(Exception):
    pass


def test_an_interrupted_training_stops_where_the_whole_one_does(few_files, tmp_path, monkeypatch):
    at_odds(few_files[1])
    whole = record(train(_glove_bow(few_files, tmp_path / "whole", patience=2, best_by="loss")))["metrics"]
    after = len(whole["epochs"]) - 1  # one of the two epochs of patience is behind it

    def interrupt(self, args, state, control, **kwargs):
        if state.epoch > after:
            raise _Killed

    killed = tmp_path / "killed"
    with monkeypatch.context() as patched:
        patched.setattr(transformers.TrainerCallback, "on_step_begin", interrupt)
        with pytest.raises(_Killed):
            train(_glove_bow(few_files, killed, patience=2, best_by="loss"))
    assert record(killed)["status"] == "running"
    said: list[str] = []
    train(_glove_bow(few_files, killed, patience=2, best_by="loss", resume=True), say=said.append)
    assert any(line.startswith("Resuming from checkpoint-") for line in said)
    assert "Stopped early: no better loss in 2 epochs." in said
    resumed = record(killed)["metrics"]
    assert [e["loss"] for e in resumed["epochs"]] == pytest.approx([e["loss"] for e in whole["epochs"]], abs=1e-6)
    assert resumed["best_epoch"] == whole["best_epoch"]


def test_several_seeds_are_several_trainings(few_files, tmp_path, capsys):
    options = _glove_bow(few_files, tmp_path / "seeds", epochs=1.0)
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
        refuses("`seeds` must be numbers from 0 on, each once", train_seeds, options, seeds)
    refuses("not hold a single training", train_seeds, replace(options, output=alone), [0])
    capsys.readouterr()
    command = ["train", "--model", "glove_bow", "--train-file", str(few_files[0]), "--eval-file", str(few_files[1]),
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
