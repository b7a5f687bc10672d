"""Matched vectors: for every (rho, run) and test row, whether each version was answered correctly.

One Parquet file, a row group for each (rho, run), written and read one at a time: memory does not grow with the runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paraconsist.files import to_strict_json

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
