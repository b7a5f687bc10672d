"""``paraconsist demo``: the whole main job on shipped data, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]


def demo(
    output: Annotated[Path, typer.Option(help="Where the model and the run go.")] = Path("runs/demo"),
) -> None:
    """Train a small model on the shipped sample set, run it, and print its consistency."""
    from paraconsist.cli.run import run
    from paraconsist.cli.train import train

    model = output / "model"
    if not (model / "config.json").exists():
        typer.echo("Training the bag-of-words baseline on the sample set ...")
        train(model="bow", dataset="sample:defeasible_nli_train", output=model, epochs=20)
    run(
        model=str(model),
        dataset=["sample:defeasible_nli"],
        output=output / "run",
        with_test=True,
        device="cpu",
    )
