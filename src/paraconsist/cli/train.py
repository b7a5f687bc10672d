"""``paraconsist train``: fine-tune a classifier or train a word-level baseline; ``demo``: train, run and score one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import Fields, Given, echo, quiet_libraries, read_numbers
from paraconsist.data.options import option
from paraconsist.files import is_main
from paraconsist.models.training.options import PRESETS, TrainingFolder, TrainingOptions, options_from_preset

#: What only presets and the options of `sweep` change.
_NO_OPTIONS = ("model", "scheduler", "max_grad_norm", "n_buckets", "max_ngram", "min_count", "progress")
#: What a preset may set has no default here.
_OF_PRESETS = frozenset(name for preset in PRESETS.values() for name in preset.settings)


def train(
    model: str | None = option(
        None, "bow, glove_bow, bilstm, or the Hub id or folder of an encoder or of a classifier to train further."
    ),
    *,
    training: Annotated[Given, Fields(TrainingOptions, without=_NO_OPTIONS, unset=_OF_PRESETS)],
    seeds: str | None = option(None, "Several, with commas: one training each, in OUTPUT/seed-0 and so on."),
) -> None:
    """Train a classifier that `paraconsist run` can run.

    paraconsist train --model bow --dataset sample:defeasible_nli_train --output models/bow
    paraconsist train --model ORG/ENCODER --train-file rows.csv --task nli --output models/a
    """
    options = options_from_preset(training.pop("preset", None), model=model, **training)
    chosen = None if seeds is None else read_numbers("train", "seeds", seeds)
    quiet_libraries()
    from paraconsist.models.training.trainer import train as train_model
    from paraconsist.models.training.trainer import train_seeds

    folders = [train_model(options, say=say_status)] if chosen is None else train_seeds(options, chosen, say=say_status)
    if not is_main():
        return
    for folder in folders:
        if folder.is_dir() and (folder / "training.json").is_file():
            _conclude(folder, TrainingFolder(folder).read())


def _conclude(folder: Path, record: Mapping[str, Any]) -> None:
    metrics = record.get("metrics")
    if metrics is None:  # another process of several is still writing
        return
    n_rows = record["data"]["train"]["n_rows"]
    say_status(f"Trained on {n_rows:,} rows in {record['seconds']:.0f} s; saved in {folder}.")
    if "eval_accuracy" in metrics:
        _say_accuracy(f"{record['data']['eval']['n_rows']:,} evaluation rows", metrics)
    else:
        say_status("No evaluation rows were given (--eval-file), so its accuracy was not measured.")
    say_status(f"Next: paraconsist run --model {shlex.quote(str(folder))} --dataset SET --output FOLDER")


def _say_accuracy(rows: str, metrics: Mapping[str, float]) -> None:
    commonest = f"(always the commonest label: {100 * metrics['eval_majority']:.1f})"
    echo(f"Accuracy on {rows}: {100 * metrics['eval_accuracy']:.1f} {commonest}.")


def demo(output: Path = option(Path("runs/demo"), "Where the model and the run go.")) -> None:
    """Train a small model on the shipped sample set, run it, and print its consistency.

    paraconsist demo
    paraconsist demo --output runs/demo
    """
    say_status("Loading torch and transformers ...")
    quiet_libraries()
    from paraconsist.cli.run import say_run, score_and_show
    from paraconsist.models.training.trainer import train as train_model
    from paraconsist.running.by_name import NamedRun, run_by_name
    from paraconsist.running.options import LoadOptions, PromptOptions, RunOptions, SetOptions
    from paraconsist.running.run import RunReport
    from paraconsist.scoring.options import ScoreOptions

    model = output / "model"
    if not (model / "model.safetensors").exists():
        say_status("Training the bag-of-words baseline on the sample set ...")
        training = options_from_preset(
            "bow", output=model, dataset="sample:defeasible_nli_train", epochs=20.0, device="cpu", resume=True
        )
        train_model(training, say=lambda line: None)
        _say_accuracy("the validation rows", TrainingFolder(model).read()["metrics"])
    sets, options = SetOptions(["sample:defeasible_nli"], with_test=True), RunOptions(output / "run", device="cpu")
    say_status("Running the model over 60 problems in several wordings each, and over the full test set ...")
    report = run_by_name(NamedRun([str(model)], sets, PromptOptions(), LoadOptions(), options))
    if isinstance(report, RunReport) and report.is_main_process:
        say_run(report)
        say_status("Scoring its answers ...")
        score_and_show(options.output, ScoreOptions())
