"""What an IE experiment needs to know, as one frozen record, checked (standard library only)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paraconsist.errors import check_choice, check_fraction, check_whole, input_error

#: How errors name the command.
FUNCTION = "ie-test"
_SEARCHES = ("once", "sample")


@dataclass(frozen=True)
class Unit:
    """One (rho, run): a sample, its trainings and their answers. The piece of work that is kept or done again."""

    rho: float
    run: int


@dataclass(frozen=True)
class ExperimentOptions:
    """How to run an IE experiment.

    Attributes
    ----------
    output : Path
        The folder of the experiment; the same options go on with what is there.
    model : str
        ``gradient_boosting`` (on word counts), ``gradient_boosting_tfidf``, ``bow``, ``glove_bow``, ``bilstm``, or a
        Hub id or folder of a Hugging Face encoder or classifier.
    transformation : str
        A name of `paraconsist.transforms.registry`, or ``module:function``.
    transformation_options : mapping
        Its options.
    dataset : str, optional
        ``builder:config`` or a Hub name (``name:config``) with splits train, validation and test.
    train, validation, test : Path, optional
        Files in place of splits: CSV, TSV, JSON Lines or Parquet. Without validation rows `validation_share` of the
        training rows are split off.
    task, text_columns, label_column, label_names
        As in `paraconsist train`; `text_columns` are one or two columns in place of the task's own.
    transform_columns : tuple of str, optional
        Columns that are transformed; by default all text columns.
    drop_unlabelled : bool
        Leave out rows without a gold label, saying how many; otherwise they are an error.
    train_rows, validation_rows, test_rows : int, optional
        Random samples of so many rows, drawn with `seed` once for the whole experiment.
    validation_share : float
        In (0, 1).
    rhos : tuple of float
        Probabilities of a transformed row in the training and validation samples, in [0, 1].
    runs : int
        M, samples for each rho.
    repeats : int
        K, trainings on each sample, decided by majority vote (the paper's alternative 2).
    budget : int
        B, trials of the random search for hyperparameters; 0 takes the defaults.
    search : {"once", "sample"}
        Search once, on a sample at `search_rho`, or on every sample (alternative 3).
    search_rho : float
    exact_count : bool
        Transform round(rho n) rows in place of an independent draw for each row.
    parameters : mapping
        Hyperparameters that are set, and not searched.
    seed : int
        Of splits, samples, searches and trainings; a unit's seeds depend on it, rho and the run only.
    jobs : int
        Processes; the results do not depend on it.
    threads : int
        Threads of each training; pinned, because sums of floats depend on it.
    device : str, optional
        ``"cpu"``, or the accelerator there is.
    overwrite : bool
        Delete another experiment in the folder.
    """

    output: Path
    model: str = "gradient_boosting"
    transformation: str = "wordnet_nouns"
    transformation_options: Mapping[str, Any] = field(default_factory=dict)
    dataset: str | None = None
    train: Path | None = None
    validation: Path | None = None
    test: Path | None = None
    task: str | None = None
    text_columns: tuple[str, ...] | None = None
    label_column: str = "label"
    label_names: tuple[str, ...] | None = None
    transform_columns: tuple[str, ...] | None = None
    drop_unlabelled: bool = False
    train_rows: int | None = None
    validation_rows: int | None = None
    test_rows: int | None = None
    validation_share: float = 0.1
    rhos: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    runs: int = 5
    repeats: int = 1
    budget: int = 0
    search: str = "once"
    search_rho: float = 0.0
    exact_count: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    jobs: int = 1
    threads: int = 1
    device: str | None = None
    overwrite: bool = False

    def __post_init__(self) -> None:
        if (self.dataset is None) == (self.train is None):
            remedy = "Name files with `train` and `test`, or a data set with `dataset`."
            got = (self.train, self.dataset)
            raise input_error(FUNCTION, "train", "be given, or `dataset`, and not both", got=got, remedy=remedy)
        if self.train is not None and self.test is None:
            raise input_error(FUNCTION, "test", "be given with `train`", got=None)
        if self.text_columns is not None and len(self.text_columns) not in (1, 2):
            raise input_error(FUNCTION, "text_columns", "be one column or two", got=self.text_columns)
        if not self.rhos or len(set(self.rhos)) < len(self.rhos):
            raise input_error(FUNCTION, "rhos", "be at least one number, each once", got=self.rhos)
        for rho in (*self.rhos, self.search_rho):
            if not 0 <= rho <= 1:  # nan too
                raise input_error(FUNCTION, "rhos", "lie between 0 and 1", got=rho)
        check_fraction(FUNCTION, "validation_share", self.validation_share)
        for name in ("runs", "repeats", "jobs", "threads", "train_rows", "validation_rows", "test_rows"):
            if getattr(self, name) is not None:
                check_whole(FUNCTION, name, getattr(self, name))
        for name in ("budget", "seed"):
            check_whole(FUNCTION, name, getattr(self, name), at_least=0)
        check_choice(FUNCTION, "search", self.search, _SEARCHES)

    @property
    def units(self) -> list[Unit]:
        """Every (rho, run), rho by rho."""
        return [Unit(rho, run) for rho in sorted(self.rhos) for run in range(1, self.runs + 1)]

    @property
    def n_trials(self) -> int:
        """Trials of a search before the units."""
        return self.budget if self.search == "once" else 0

    @property
    def trainings_a_unit(self) -> int:
        """The best trial of a search on the unit's own sample is its first training."""
        return self.repeats + (max(self.budget, 1) - 1 if self.search == "sample" else 0)

    @property
    def n_trainings(self) -> int:
        """Trainings of the whole experiment."""
        return self.n_trials + len(self.units) * self.trainings_a_unit

    def decisive(self) -> dict[str, Any]:
        """What, besides the data, decides the answer of every unit."""
        return {
            "model": self.model,
            "parameters": dict(self.parameters),
            "repeats": self.repeats,
            "budget": self.budget,
            "search": self.search if self.budget else None,
            "search_rho": self.search_rho if self.n_trials else None,
            "exact_count": self.exact_count,
            "seed": self.seed,
            "threads": self.threads,
            "device": self.device,
        }


def parse_rhos(texts: Sequence[str]) -> tuple[float, ...]:
    """Read ``0,0.5,1`` or ``0:1:21`` (21 equally spaced numbers from 0 to 1), or several such.

    >>> parse_rhos(["0:1:5"])
    (0.0, 0.25, 0.5, 0.75, 1.0)
    >>> parse_rhos(["0,0.5", "1"])
    (0.0, 0.5, 1.0)
    """
    rhos: list[float] = []
    for part in ",".join(map(str, texts)).split(","):
        try:
            if ":" in part:
                first, last, count = part.split(":")
                low, high, n = float(first), float(last), int(count)
                if n < 2 or not (math.isfinite(low) and math.isfinite(high)):
                    raise ValueError
                rhos += [round(low + (high - low) * i / (n - 1), 10) for i in range(n)]
            else:
                rhos.append(float(part))
        except ValueError:
            must = "be numbers with commas between, or FIRST:LAST:HOW_MANY"
            raise input_error(FUNCTION, "rhos", must, got=part) from None
    return tuple(rhos)
