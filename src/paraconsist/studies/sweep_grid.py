"""The grid of a sweep: checkpoints, shares of the training rows, seeds, and any other option of training."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paraconsist.errors import input_error
from paraconsist.models.training.options import TrainingOptions
from paraconsist.models.training.presets import options_from_preset

_FUNCTION = "sweep"
#: Of Srikanth et al. 2024, Figure 6.
SHARES = (0.01, 0.05, 0.1, 0.5, 1.0)
#: Options of training that the grid sets itself.
_OWN = frozenset({"model", "output", "seed", "share", "limit_seed", "resume", "progress", "device", "data_dir"})


@dataclass(frozen=True)
class SweepOptions:
    """What to train on, and what to run.

    Attributes
    ----------
    output : Path
    models : sequence of str
        Checkpoints: Hub ids, folders, or ``bow``, ``glove_bow``, ``bilstm``.
    sets : sequence of str
        As ``--dataset`` of `paraconsist run`.
    shares : sequence of float
        Of the training rows, drawn by group.
    seeds : sequence of int
        Each draws its own share, and its own initial weights and order.
    vary : mapping
        Any other option of training -> its values; every combination is a cell.
    training : mapping
        Options of training that all cells have: ``train_file`` or ``dataset``, ``task``, ``epochs``, ...
    preset : str, optional
    with_test : bool
        Run the full test sets too.
    limit : int, optional
        So many training rows at most, and whole buckets up to so many rows of each set: a trial.
    jobs : int
        Processes at a time.
    device, data_dir : str, optional
    keep_models : bool
        Keep each cell's weights; by default they go once it is scored.
    n_resamples : int
        Of each cell's intervals.
    """

    output: Path
    models: Sequence[str]
    sets: Sequence[str]
    shares: Sequence[float] = SHARES
    seeds: Sequence[int] = (0,)
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None
    with_test: bool = False
    limit: int | None = None
    jobs: int = 1
    device: str | None = None
    data_dir: str | None = None
    keep_models: bool = False
    n_resamples: int = 1000

    def __post_init__(self) -> None:
        for name in ("models", "sets", "shares", "seeds"):
            values = list(getattr(self, name))
            if not values or len(set(values)) < len(values):
                raise input_error(_FUNCTION, name, "be given, each once", got=values)
        if any(not 0 < share <= 1 for share in self.shares):
            raise input_error(_FUNCTION, "shares", "be above 0, and 1 at most", got=list(self.shares))
        if any(seed < 0 for seed in self.seeds):
            raise input_error(_FUNCTION, "seeds", "not be negative", got=list(self.seeds))
        if self.jobs < 1:
            raise input_error(_FUNCTION, "jobs", "be at least 1", got=self.jobs)
        known = {f.name for f in dataclasses.fields(TrainingOptions)} - _OWN
        for name, wanted in self.vary.items():
            if name not in known or not wanted:
                raise input_error(
                    _FUNCTION, "vary", f"be options of training with values: {', '.join(sorted(known))}", got=name
                )


@dataclass(frozen=True)
class Cell:
    """One training, run and score.

    Attributes
    ----------
    model : str
    share : float
    seed : int
    varied : tuple of (name, value)
    """

    model: str
    share: float
    seed: int
    varied: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """For folders and messages."""
        model = Path(self.model).name or self.model
        parts = [model, f"share-{self.share:g}", *(f"{k}-{v}" for k, v in self.varied), f"seed-{self.seed}"]
        return "".join(c if c.isalnum() or c in "._-" else "-" for c in "_".join(parts))

    @property
    def configuration(self) -> tuple[Any, ...]:
        """What cells of different seeds have in common."""
        return (self.model, self.share, self.varied)


def cells_of(options: SweepOptions) -> list[Cell]:
    """Return every cell, the largest shares first: they take longest, and the others fill the gaps."""
    names = list(options.vary)
    combinations = list(itertools.product(*(options.vary[name] for name in names)))
    return [
        Cell(model, share, seed, tuple(zip(names, values, strict=True)))
        for share in sorted(options.shares, reverse=True)
        for model in options.models
        for values in combinations
        for seed in options.seeds
    ]


def training_options(options: SweepOptions, cell: Cell, output: Path) -> TrainingOptions:
    """Return how a cell is trained."""
    given = {**options.training, **dict(cell.varied)}
    if options.limit is not None:
        given["limit"] = options.limit
    return options_from_preset(
        options.preset,
        output=output,
        model=cell.model,
        share=cell.share,
        seed=cell.seed,
        limit_seed=cell.seed,
        resume=True,
        progress=False,
        device=options.device,
        data_dir=options.data_dir,
        **given,
    )


def identity_of(options: SweepOptions, cell: Cell, hashes: Mapping[str, str]) -> dict[str, Any]:
    """Return all that decides a cell's results, ready for JSON.

    Parameters
    ----------
    hashes : mapping
        File -> hash of its content: a changed file never meets old results.
    """
    trained = training_options(options, cell, Path("model")).to_dict()
    for name in ("output", "resume", "device", "progress", "data_dir"):
        trained.pop(name)
    said = {
        "training": trained,
        "sets": sorted(options.sets),
        "with_test": options.with_test,
        "limit": options.limit,
        "files": dict(sorted(hashes.items())),
    }
    found: dict[str, Any] = json.loads(json.dumps(said, default=str))
    return found


def hashes_of(options: SweepOptions) -> dict[str, str]:
    """Return the hash of every file that the sweep reads, and of the weights of folders."""
    from paraconsist.models.pretrained import weights_hash

    names = [options.training.get("train_file"), options.training.get("eval_file"), *options.sets, *options.models]
    out = {}
    for name in (str(name) for name in names if name is not None):
        path = Path(name).expanduser()
        if path.is_file():
            out[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.is_dir() and (path / "config.json").is_file():
            out[name] = weights_hash(path)
    return out
