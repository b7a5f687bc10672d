"""The grid of a sweep: checkpoints, shares of the training rows, seeds, and any other option of training."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from paraconsist.errors import check_whole, input_error
from paraconsist.models.training.options import TrainingOptions, options_from_preset

_FUNCTION = "sweep"
#: Of Srikanth et al. 2024, Figure 6.
SHARES = (0.01, 0.05, 0.1, 0.5, 1.0)
#: Options of training that the grid sets itself.
_OWN = frozenset({"model", "output", "seed", "share", "limit_seed", "resume", "progress", "device", "data_dir"})


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """What every study says that trains models and runs them.

    Attributes
    ----------
    output : Path
    sets : sequence of str
        As `load_bucket_set` names them.
    with_test : bool
        Run the full test sets too.
    seeds : sequence of int
    training : mapping
        Options of training: ``train_file`` or ``dataset``, ``task``, ``epochs``, ...
    preset : str, optional
    limit : int, optional
        So many training rows at most, and whole buckets up to so many rows of each set: a trial.
    device, data_dir : str, optional
    n_resamples : int
        Of the intervals.
    """

    output: Path
    sets: Sequence[str]
    with_test: bool = False
    seeds: Sequence[int] = (0,)
    training: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None
    limit: int | None = None
    device: str | None = None
    data_dir: str | None = None
    n_resamples: int = 1000

    def train(self, output: Path, **own: Any) -> TrainingOptions:
        """How a model is trained into a folder, where a killed training goes on; `own` is what the study decides."""
        own |= {"device": self.device, "data_dir": self.data_dir, "resume": True, "progress": False}
        for name in self.training:
            if name in own:
                raise input_error("train", name, "be left to the study", got=self.training[name])
        return options_from_preset(self.preset, output=output, **own, **self.training)


@dataclass(frozen=True, kw_only=True)
class SweepOptions(StudyOptions):
    """What to train on, and what to run; what is not listed here is as for every study.

    Attributes
    ----------
    models : sequence of str
        Checkpoints: Hub ids, folders, or ``bow``, ``glove_bow``, ``bilstm``.
    shares : sequence of float
        Of the training rows, drawn by group.
    seeds : sequence of int
        Each draws its own share, and its own initial weights and order.
    vary : mapping
        Any other option of training -> its values; every combination is a cell.
    jobs : int
        Processes at a time.
    keep_models : bool
        Keep each cell's weights; by default they go once it is scored.
    """

    models: Sequence[str]
    shares: Sequence[float] = SHARES
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    jobs: int = 1
    keep_models: bool = False

    def __post_init__(self) -> None:
        for name in ("models", "sets", "shares", "seeds"):
            values = list(getattr(self, name))
            if not values or len(set(values)) < len(values):
                raise input_error(_FUNCTION, name, "be given, each once", got=values)
        if any(not 0 < share <= 1 for share in self.shares):
            raise input_error(_FUNCTION, "shares", "be above 0, and 1 at most", got=list(self.shares))
        if any(seed < 0 for seed in self.seeds):
            raise input_error(_FUNCTION, "seeds", "not be negative", got=list(self.seeds))
        check_whole(_FUNCTION, "jobs", self.jobs)
        known = {f.name for f in dataclasses.fields(TrainingOptions)} - _OWN
        for name, choices in self.vary.items():
            if name not in known or not choices:
                must = f"be options of training with values: {', '.join(sorted(known))}"
                raise input_error(_FUNCTION, "vary", must, got=name)


@dataclass(frozen=True)
class Cell:
    """One training, run and score; `varied` holds the other options of training, (name, value) each."""

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
    training = {**options.training, **dict(cell.varied)}
    if options.limit is not None:
        training["limit"] = options.limit
    own = {"model": cell.model, "share": cell.share, "seed": cell.seed, "limit_seed": cell.seed}
    return replace(options, training=training).train(output, **own)


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
    identity = {
        "training": trained,
        "sets": sorted(options.sets),
        "with_test": options.with_test,
        "limit": options.limit,
        "files": dict(sorted(hashes.items())),
    }
    plain: dict[str, Any] = json.loads(json.dumps(identity, default=str))
    return plain


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
