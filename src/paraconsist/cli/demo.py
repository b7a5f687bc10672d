"""``paraconsist demo``: the whole main job on shipped data, without a network."""

from __future__ import annotations

from pathlib import Path

import typer

from paraconsist.cli.options import option, quiet_libraries
from paraconsist.cli.run_report import say_run, score_and_show


def demo(output: Path = option(Path("runs/demo"), "Where the model and the run go.")) -> None:
    """Train a small model on the shipped sample set, run it, and print its consistency."""
    quiet_libraries()
    from paraconsist.running.by_name import run_by_name
    from paraconsist.running.options import AskOptions, LoadOptions, PromptOptions, RunOptions, SetOptions
    from paraconsist.running.run import RunReport
    from paraconsist.scoring.score import ScoreOptions

    model = output / "model"
    if not (model / "model.safetensors").exists():
        _train(model)
    sets, options = SetOptions(["sample:defeasible_nli"], with_test=True), RunOptions(output / "run", device="cpu")
    report = run_by_name([str(model)], sets, AskOptions(PromptOptions()), LoadOptions(), options)
    if isinstance(report, RunReport) and report.is_main_process:
        say_run(report)
        score_and_show(options.output, ScoreOptions())


def _train(model: Path) -> None:
    typer.echo("Training the bag-of-words baseline on the sample set ...")
    from paraconsist.models.training.options import TrainingFolder, options_from_preset
    from paraconsist.models.training.trainer import train

    options = options_from_preset(
        "bow", output=model, dataset="sample:defeasible_nli_train", epochs=20.0, device="cpu", resume=True
    )
    train(options, say=lambda line: None)
    metrics = TrainingFolder(model).read()["metrics"]
    typer.echo(
        f"Accuracy on the validation rows: {100 * metrics['eval_accuracy']:.1f} "
        f"(always the commonest label: {100 * metrics['eval_majority']:.1f})."
    )
