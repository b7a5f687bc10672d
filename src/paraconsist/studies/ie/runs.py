"""Families of runs: one model, transformation and test set over (rho, run), as counts that decisions start from.

Matched vectors say for every (rho, run) and test row whether each version was answered correctly. They are one Parquet
file, a row group for each (rho, run), written and read one at a time: memory does not grow with the runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paraconsist.errors import input_error
from paraconsist.files import replacing, to_strict_json
from paraconsist.studies.ie.options import FUNCTION

IntArray = NDArray[np.int64]
METADATA_KEY = b"paraconsist"


class Run(NamedTuple):
    """One run as counts."""

    rho: float
    run: Any
    n: int  # test rows
    n10: int  # right on the original only
    n01: int  # right on the transformed one only
    n_correct: int  # right on the original
    collapsed: bool | None = None  # whether it gives every original one label; None where nobody can say
    validation_accuracy: float = float("nan")  # nan where it is not known
    seed: int | None = None  # of published resampling


@dataclass(frozen=True)
class Family:
    """Runs that are decided together."""

    name: str  # for tables
    runs: tuple[Run, ...]  # in the order of rho and run
    #: Gives the runs' `Matched`, in the same order, one at a time; None where only counts are known.
    vectors: Callable[[], Iterator[Matched]] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)  # what the file says of itself

    def __post_init__(self) -> None:
        seen: set[tuple[Any, Any]] = set()
        for rho, run, *_ in self.runs:
            if not 0 <= rho <= 1:
                raise input_error(FUNCTION, "from", f"hold rhos between 0 and 1, in {self.name}", got=rho)
            if (rho, run) in seen:
                must, got = f"hold each rho and run of {self.name} once", f"rho {rho:g}, run {run}"
                raise input_error(FUNCTION, "from", must, got=got)
            seen.add((rho, run))

    @property
    def n_runs(self) -> int:
        """M times the number of rhos, where none is missing."""
        return len(self.runs)

    @cached_property
    def rho(self) -> NDArray[np.float64]:
        """Of each run, as `n`, `n10`, `n01` and `n_correct` are."""
        return np.array([run.rho for run in self.runs], dtype=np.float64)

    @cached_property
    def n(self) -> IntArray:
        return np.array([run.n for run in self.runs], dtype=np.int64)

    @cached_property
    def n10(self) -> IntArray:
        return np.array([run.n10 for run in self.runs], dtype=np.int64)

    @cached_property
    def n01(self) -> IntArray:
        return np.array([run.n01 for run in self.runs], dtype=np.int64)

    @cached_property
    def n_correct(self) -> IntArray:
        return np.array([run.n_correct for run in self.runs], dtype=np.int64)

    @cached_property
    def accuracy(self) -> NDArray[np.float64]:
        """Of each run on the originals."""
        return np.asarray(self.n_correct / self.n)

    @cached_property
    def transformed_accuracy(self) -> NDArray[np.float64]:
        """Of each run on the transformed rows."""
        return np.asarray((self.n_correct - self.n10 + self.n01) / self.n)

    def at(self, rhos: Sequence[float]) -> Family:
        """The runs at some rhos only; an InputError if there is none at one of them."""
        at = np.isclose(self.rho[:, None], np.array(rhos)[None, :], rtol=0, atol=1e-9)
        if not at.any(axis=0).all():
            must = f"be rhos of {self.name}: {', '.join(f'{rho:g}' for rho in np.unique(self.rho))}"
            rho = rhos[int(np.argmin(at.any(axis=0)))]
            raise input_error(FUNCTION, "rhos", must, got=rho, remedy="Train those first.")
        kept, vectors = at.any(axis=1), self.vectors
        runs = tuple(compress(self.runs, kept))
        if vectors is None:
            return replace(self, runs=runs)
        return replace(self, runs=runs, vectors=lambda: compress(vectors(), kept))


def family_of_vectors(
    name: str, vectors: Callable[[], Iterator[Matched]], metadata: Mapping[str, Any] | None = None
) -> Family:
    """Count a family's vectors; `vectors` gives them in the order of rho and run, and may be called again."""
    return Family(name, tuple(one.counts for one in vectors()), vectors, dict(metadata or {}))


def family_of_counts(name: str, rows: Iterable[tuple[Any, ...]]) -> Family:
    """A family from counts alone: (rho, run, n, n10, n01, n_correct) for each run, in any order."""
    return Family(name, tuple(sorted((Run(*row) for row in rows), key=lambda run: (run.rho, str(run.run).zfill(12)))))


def distinct(read: Sequence[tuple[Path, Family]]) -> list[Family]:
    """Families from several files; those of one name get that of their folder or file as well."""
    names = [family.name for _, family in read]
    return [
        replace(family, name=f"{family.name} ({_place(path)})") if names.count(family.name) > 1 else family
        for path, family in read
    ]


def _place(path: Path) -> str:
    return path.resolve().parent.name if path.name == "matched.parquet" else path.resolve().stem


@dataclass(frozen=True)
class Matched:
    """The answers of one run to both versions of the test set; arrays have shape (n,)."""

    rho: float
    run: int
    original_correct: NDArray[np.bool_]  # A_i
    transformed_correct: NDArray[np.bool_]  # B_i
    label: NDArray[Any] | None = None  # gold labels and predictions, where they are known
    prediction: NDArray[Any] | None = None
    transformed_prediction: NDArray[Any] | None = None
    seed: int | None = None  # of the published resampling, where the file says it
    validation_accuracy: float = float("nan")  # of the training, on its own validation sample; nan where not known
    groups: NDArray[Any] | None = None  # which rows are not independent

    @property
    def n(self) -> int:
        """Test rows."""
        return len(self.original_correct)

    @property
    def counts(self) -> Run:
        """What decisions need to know of the run."""
        before, after = self.original_correct, self.transformed_correct
        n10, n01, n_correct = int((before & ~after).sum()), int((after & ~before).sum()), int(before.sum())
        known = self.collapsed, self.validation_accuracy, self.seed
        return Run(self.rho, self.run, self.n, n10, n01, n_correct, *known)

    @property
    def collapsed(self) -> bool | None:
        """Whether every original row got one label although the gold labels differ; None where nobody can say.

        Without predictions it is enough that the right answers are exactly the rows of one gold label.
        """
        if self.label is None or np.unique(self.label).size < 2:
            return None
        if self.prediction is not None:
            return bool((self.prediction == self.prediction[0]).all())
        right = np.unique(self.label[self.original_correct])
        return right.size == 1 and bool((self.original_correct == (self.label == right[0])).all())


_COLUMNS = (
    ("rho", pa.float64()),
    ("run", pa.int32()),
    ("row", pa.int32()),
    ("original_correct", pa.bool_()),
    ("transformed_correct", pa.bool_()),
    ("label", pa.int16()),
    ("prediction", pa.int16()),
    ("transformed_prediction", pa.int16()),
    ("validation_accuracy", pa.float64()),
)


def write_matched(path: Path, runs: Iterable[Matched], metadata: Mapping[str, Any]) -> None:
    """Write matched vectors, with labels and predictions, to a Parquet file, whole or not at all; one run at a time.

    `metadata` may be anything that JSON can hold: name, identity, label names.
    """
    text = json.dumps(to_strict_json(dict(metadata)), sort_keys=True, default=str)
    schema = pa.schema(list(_COLUMNS), metadata={METADATA_KEY: text.encode()})
    with replacing(path) as partial, pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        for one in runs:
            columns = {name: getattr(one, name, None) for name, _ in _COLUMNS}
            columns["row"] = np.arange(one.n, dtype=np.int32)
            for name in ("rho", "run", "validation_accuracy"):
                columns[name] = np.full(one.n, columns[name])
            writer.write_table(pa.table(columns, schema=schema))
