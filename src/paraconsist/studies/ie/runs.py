"""A family of runs: one model, transformation and test set over (rho, run), as counts that decisions start from.

Matched vectors: for every (rho, run) and test row, whether each version was answered correctly.

One Parquet file, a row group for each (rho, run), written and read one at a time: memory does not grow with the runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paraconsist.errors import input_error
from paraconsist.files import to_strict_json
from paraconsist.studies.ie.options import FUNCTION

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Family:
    """Runs that are decided together, in the order of rho and run.

    Attributes
    ----------
    name : str
        For tables.
    rho : float array, shape (n_runs,)
    run : tuple, length n_runs
    n, n10, n01, n_correct : int64 array, shape (n_runs,)
        Test rows; right on the original only; right on the transformed one only; right on the original.
    collapsed : tuple of bool or None
        Whether the run gives every original one label; None where nobody can say.
    validation_accuracy : float array, shape (n_runs,)
        nan where it is not known.
    seeds : tuple of int or None
        Of published resampling.
    vectors : callable, optional
        Gives the runs' `Matched`, in the same order, one at a time; None where only counts are known.
    metadata : mapping
        What the file says of itself.
    """

    name: str
    rho: NDArray[np.float64]
    run: tuple[Any, ...]
    n: IntArray
    n10: IntArray
    n01: IntArray
    n_correct: IntArray
    collapsed: tuple[bool | None, ...]
    validation_accuracy: NDArray[np.float64]
    seeds: tuple[int | None, ...]
    vectors: Callable[[], Iterator[Matched]] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_runs(self) -> int:
        """M times the number of rhos, where none is missing."""
        return len(self.run)

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Of each run on the originals."""
        found: NDArray[np.float64] = self.n_correct / self.n
        return found

    @property
    def transformed_accuracy(self) -> NDArray[np.float64]:
        """Of each run on the transformed rows."""
        found: NDArray[np.float64] = (self.n_correct - self.n10 + self.n01) / self.n
        return found

    def at(self, rhos: Sequence[float]) -> Family:
        """The runs at some rhos only.

        Raises
        ------
        InputError
            If there is no run at one of them.
        """
        for rho in rhos:
            if not np.isclose(self.rho, rho, rtol=0, atol=1e-9).any():
                raise input_error(
                    FUNCTION, "rhos", f"be rhos of {self.name}: {_list(self.rho)}", got=rho, remedy="Train those first."
                )
        kept = np.flatnonzero(np.isclose(self.rho[:, None], np.array(rhos)[None, :], rtol=0, atol=1e-9).any(axis=1))
        return self._take(kept)

    def _take(self, kept: NDArray[np.intp]) -> Family:
        chosen = set(kept.tolist())
        vectors = self.vectors

        def some() -> Iterator[Matched]:
            assert vectors is not None
            return (one for i, one in enumerate(vectors()) if i in chosen)

        return replace(
            self,
            rho=self.rho[kept],
            run=tuple(self.run[i] for i in kept),
            n=self.n[kept],
            n10=self.n10[kept],
            n01=self.n01[kept],
            n_correct=self.n_correct[kept],
            collapsed=tuple(self.collapsed[i] for i in kept),
            validation_accuracy=self.validation_accuracy[kept],
            seeds=tuple(self.seeds[i] for i in kept),
            vectors=None if vectors is None else some,
        )


def family_of_vectors(
    name: str, vectors: Callable[[], Iterator[Matched]], metadata: Mapping[str, Any] | None = None
) -> Family:
    """Count a family's vectors; `vectors` gives them in the order of rho and run, and may be called again."""
    rows: list[tuple[Any, ...]] = []
    for one in vectors():
        before, after = one.original_correct, one.transformed_correct
        counts = one.n, int((before & ~after).sum()), int((after & ~before).sum()), int(before.sum())
        rows.append((one.rho, one.run, *counts, one.collapsed, one.validation_accuracy, one.seed))
    return _family(name, rows, vectors, metadata)


def family_of_counts(name: str, rows: Iterable[tuple[Any, ...]]) -> Family:
    """A family from counts alone: (rho, run, n, n10, n01, n_correct) for each run, in any order."""
    ordered = sorted((tuple(row) for row in rows), key=lambda row: (row[0], str(row[1]).zfill(12)))
    return _family(name, [(*row, None, float("nan"), None) for row in ordered], None, None)


def distinct(read: Sequence[tuple[Path, Family]]) -> list[Family]:
    """Families from several files; those of one name get that of their folder or file as well."""
    names = [family.name for _, family in read]
    return [
        replace(family, name=f"{family.name} ({_place(path)})") if names.count(family.name) > 1 else family
        for path, family in read
    ]


def _place(path: Path) -> str:
    return path.resolve().parent.name if path.name == "matched.parquet" else path.resolve().stem


def _family(
    name: str,
    rows: Sequence[tuple[Any, ...]],
    vectors: Callable[[], Iterator[Matched]] | None,
    metadata: Mapping[str, Any] | None,
) -> Family:
    seen: set[tuple[Any, Any]] = set()
    for rho, run, *_ in rows:
        if not 0 <= rho <= 1:
            raise input_error(FUNCTION, "from", f"hold rhos between 0 and 1, in {name}", got=rho)
        if (rho, run) in seen:
            raise input_error(FUNCTION, "from", f"hold each rho and run of {name} once", got=f"rho {rho:g}, run {run}")
        seen.add((rho, run))
    rho, run, n, n10, n01, n_correct, collapsed, validation, seeds = zip(*rows, strict=True)
    whole = [np.array(counts, dtype=np.int64) for counts in (n, n10, n01, n_correct)]
    return Family(
        name,
        np.array(rho, dtype=np.float64),
        tuple(run),
        whole[0],
        whole[1],
        whole[2],
        whole[3],
        tuple(collapsed),
        np.array(validation, dtype=np.float64),
        tuple(seeds),
        vectors,
        dict(metadata or {}),
    )


def _list(rhos: NDArray[np.float64]) -> str:
    return ", ".join(f"{rho:g}" for rho in sorted(set(rhos.tolist())))


METADATA_KEY = b"paraconsist"


@dataclass(frozen=True)
class Matched:
    """The answers of one run to both versions of the test set.

    Attributes
    ----------
    rho, run
        Which run.
    original_correct, transformed_correct : bool array, shape (n,)
        A_i and B_i.
    label, prediction, transformed_prediction : array, optional
        Gold labels and predictions, where they are known.
    seed : int, optional
        Of the published resampling, where the file says it.
    validation_accuracy : float
        Of the training, on its own validation sample; nan where it is not known.
    """

    rho: float
    run: int
    original_correct: NDArray[np.bool_]
    transformed_correct: NDArray[np.bool_]
    label: NDArray[Any] | None = None
    prediction: NDArray[Any] | None = None
    transformed_prediction: NDArray[Any] | None = None
    seed: int | None = None
    validation_accuracy: float = float("nan")

    @property
    def n(self) -> int:
        """Test rows."""
        return len(self.original_correct)

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
    """Write matched vectors whole or not at all.

    Parameters
    ----------
    path : Path
        A Parquet file; the folder must exist.
    runs : iterable of Matched
        With labels and predictions; taken one at a time.
    metadata : mapping
        Anything that JSON can hold: name, identity, label names.
    """
    said = json.dumps(to_strict_json(dict(metadata)), sort_keys=True, default=str).encode()
    schema = pa.schema(list(_COLUMNS), metadata={METADATA_KEY: said})
    partial = path.with_name(path.name + ".partial")
    with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        for one in runs:
            writer.write_table(_table(one, schema))
    partial.replace(path)


def _table(one: Matched, schema: pa.Schema) -> pa.Table:
    columns = {
        "rho": np.full(one.n, one.rho),
        "run": np.full(one.n, one.run, dtype=np.int32),
        "row": np.arange(one.n, dtype=np.int32),
        "original_correct": one.original_correct,
        "transformed_correct": one.transformed_correct,
        "label": one.label,
        "prediction": one.prediction,
        "transformed_prediction": one.transformed_prediction,
        "validation_accuracy": np.full(one.n, one.validation_accuracy),
    }
    return pa.table(columns, schema=schema)


def read_row_groups(path: Path) -> Iterator[pa.Table]:
    """The row groups of a Parquet file, one at a time."""
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            yield file.read_row_group(number)
