"""One training for each of several seeds; figures are averaged where predictions are scored, not here."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from paraconsist.errors import input_error
from paraconsist.training.options import TrainingOptions


def train_seeds(
    options: TrainingOptions, seeds: Sequence[int], *, say: Callable[[str], None] | None = None
) -> list[Path]:
    """Train once for each seed, into ``output/seed-<seed>``.

    Parameters
    ----------
    options : TrainingOptions
        Of every training; its own seed counts for nothing. With `resume`, finished seeds are left as they are
        and an interrupted one goes on.
    seeds : sequence of int
        Each once; they change initial weights, order and dropout, never the rows.
    say : callable, optional
        As for `train`.

    Returns
    -------
    list of Path
        A folder for each seed, in their order, that `load_model` loads.

    Raises
    ------
    InputError
        If seeds are negative or repeated, if the folder holds a single training, and as for `train`.
    """
    from paraconsist.training.trainer import train

    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise input_error("train", "seeds", "be numbers from 0 on, each once", got=list(seeds))
    if (options.output / "training.json").exists():
        raise input_error(
            "train",
            "output",
            "not hold a single training when there are several seeds",
            got=str(options.output),
            remedy="Name another folder.",
        )
    every = [replace(options, seed=seed, output=options.output / f"seed-{seed}") for seed in seeds]
    folders = []
    for each in every:
        if say is not None and os.environ.get("RANK", "0") == "0":
            say(f"Seed {each.seed}:")
        folders.append(train(each) if say is None else train(each, say=say))
    return folders
