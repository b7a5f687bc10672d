"""``paraconsist demo``: the whole main job on shipped data, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[Path, typer.Option(help="Where the model and the run go.")] = Path("runs/demo"),
) -> None:
    """Train a small model on the shipped sample set, run it, and print its consistency."""
    from paraconsist.cli.run import run

    model = output / "model"
    if not (model / "model.safetensors").exists():
        _train(model)
    run(
        model=[str(model)],
        dataset=["sample:defeasible_nli"],
        output=output / "run",
        with_test=True,
        device="cpu",
    )


def _train(model: Path) -> None:
    from paraconsist.cli.options import quiet_libraries

    typer.echo("Training the bag-of-words baseline on the sample set ...")
    quiet_libraries()
    from paraconsist.models.training.folder import TrainingFolder
    from paraconsist.models.training.presets import options_from_preset
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
