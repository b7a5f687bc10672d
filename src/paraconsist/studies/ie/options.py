"""Options of an IE experiment and of its decision, checked; standard library only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from paraconsist.data.options import DEVICE, TASK, option
from paraconsist.errors import check_choice, check_fraction, check_whole, input_error

if TYPE_CHECKING:
    from paraconsist.measures.ie_test import Options

#: How errors name the command.
FUNCTION = "ie-test"
_SEARCHES = ("once", "sample")
#: Names of a model's or a transformation's options, which the user chooses -> their values.
Parameters: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Unit:
    """One (rho, run): a sample, its trainings and their answers. Each unit is kept, or done again, as a whole."""

    rho: float
    run: int


@dataclass(frozen=True)
class ExperimentOptions:
    """Options of an IE experiment."""

    #: The experiment's folder; the same options go on with what is there.
    output: Path
    model: str = option(
        "gradient_boosting",
        "gradient_boosting (on word counts), gradient_boosting_tfidf, bow, glove_bow, bilstm, or a Hub id or folder of "
        "an encoder or classifier.",
    )
    transformation: str = option("wordnet_nouns", "wordnet_nouns, dictionary, suffix, or module:function.")
    transformation_options: Parameters = field(default_factory=dict)
    dataset: str | None = option(
        None, "builder:config or a Hub name (name:config), with splits train, validation and test."
    )
    train: Path | None = option(None, "Training rows in place of a split: CSV, TSV, JSON Lines or Parquet.")
    validation: Path | None = option(None, "Validation rows; else a share of the training rows.")
    test: Path | None = option(None, "Test rows.")
    task: str | None = option(None, TASK)
    text_columns: tuple[str, ...] | None = option(
        None, "One or two columns of text, with a comma, in place of the task's columns."
    )
    label_column: str = option("label", "Column of gold labels, by name or number.")
    label_names: tuple[str, ...] | None = option(None, "Labels in order, with commas.")
    transform_columns: tuple[str, ...] | None = option(
        None, "Columns to transform, with commas; by default all text columns."
    )
    drop_unlabelled: bool = option(False, "Leave out rows without a gold label, and report how many.")
    train_rows: int | None = option(None, "Size of a random sample of the training rows, drawn once with `seed`.")
    validation_rows: int | None = option(None, "Size of a random sample of the validation rows.")
    test_rows: int | None = option(None, "Size of a random sample of the test rows.")
    validation_share: float = option(0.1, "Share of the training rows to validate on, where `validation` is not given.")
    #: Probabilities of a transformed row in the training and validation samples, in [0, 1].
    rhos: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    runs: int = option(5, "M in the paper: samples (and trainings) for each rho.")
    repeats: int = option(1, "K in the paper: trainings on each sample, decided by majority (alternative 2).")
    budget: int = option(
        0, "B in the paper: trials of the random search for hyperparameters. With 0, defaults are used."
    )
    search: str = option("once", "When to search: 'once', at `search_rho`, or on every 'sample' (alternative 3).")
    search_rho: float = option(0.0, "The rho at which to search once.")
    exact_count: bool = option(
        False, "Transform exactly round(rho n) rows of each sample, in place of a draw for each row."
    )
    #: Fixed hyperparameters, which are not searched.
    parameters: Parameters = field(default_factory=dict)
    seed: int = option(0, "Random seed of splits, samples, searches, trainings and resampling.", min=0)
    jobs: int = option(1, "Trainings at a time. Results do not depend on it.")
    threads: int = option(1, "Threads of each training.")
    device: str | None = option(None, DEVICE)
    overwrite: bool = option(False, "Delete another experiment in the folder.")

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
        """Trainings of one unit; the best trial of a search on the unit's sample is its first training."""
        return self.repeats + (max(self.budget, 1) - 1 if self.search == "sample" else 0)

    @property
    def n_trainings(self) -> int:
        """Trainings of the whole experiment."""
        return self.n_trials + len(self.units) * self.trainings_a_unit

    def decisive(self) -> dict[str, object]:
        """Return everything that, besides the data, decides the answers of every unit."""
        names = ("model", "repeats", "budget", "exact_count", "seed", "threads", "device")
        return {
            **{name: getattr(self, name) for name in names},
            "parameters": dict(self.parameters),
            "search": self.search if self.budget else None,
            "search_rho": self.search_rho if self.n_trials else None,
        }


@dataclass(frozen=True)
class DecisionOptions:
    """Options of the decision, as in `paraconsist.measures.ie_test.ie_test`; the default is the exact test, mid ties.

    The replays need rows; a seed that a published file gives for a run takes precedence over `seed`.
    """

    method: str = option("exact", "exact, paper, replay, mcnemar, mcnemar_mid_p, mcnemar_resampled or mcnemar_replay.")
    ties: Literal["mid", "lower"] | None = option(
        None, "How the method exact counts ties: mid, or lower (as in the paper)."
    )
    n_resamples: int = option(1000, "How many resamples are drawn by the methods that resample.", min=1)
    seed: int = 0
    alpha: float = option(0.05, "Significance level of each decision.")
    correction: Literal["bonferroni", "holm"] = option(
        "bonferroni", "How decisions are corrected for their number: bonferroni or holm."
    )
    confidence_level: float = option(0.95, "Confidence level of the intervals.")
    group: str | None = option(
        None, "Column of test rows that are not independent (one premise, say): whole groups are swapped. With --from."
    )

    def __post_init__(self) -> None:
        from paraconsist.measures.ie_test import REPLAYS

        self.checked(self.method, self.ties)
        if self.group is not None and self.method in REPLAYS:
            must, remedy = "be left out for a replay", "The authors' program has none."
            raise input_error(FUNCTION, "group", must, got=self.group, remedy=remedy)

    def checked(self, method: str, ties: Literal["mid", "lower"] | None = None) -> Options:
        """Return the options of the IE test by a method, checked."""
        from paraconsist.measures.ie_test import Options

        sizes = self.n_resamples, self.seed, self.alpha, self.correction, self.confidence_level
        return Options(FUNCTION, method, ties, *sizes)  # type: ignore[arg-type]


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
