"""Stored runs: what a model predicted, without any text or gold label, and how it meets its set again.

`benchmarks/store_results.py` writes them. A file has one row for each row of the set that was run, in the set's
order: ``prediction`` (int8, null where unparsed) and, where a measure reads them, ``p0``, ``p1`` ... (float32), the
probabilities of all labels but the last. Its metadata name the set, its split, and the sha256 of its example ids;
those of a sweep's cell also how many rows it was trained on, ``noise`` the answers to rows that were asked again.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from paraconsist.data.predictions import KEY_COLUMNS, Predictions
from paraconsist.scoring.noise import Repeats

__all__ = ["FORMAT", "METADATA_KEY", "StoredRun", "digest_of_ids", "predictions_of", "read_stored", "repeats_of"]
FORMAT = "paraconsist-stored-run-1"
METADATA_KEY = b"paraconsist"


@dataclass(frozen=True)
class StoredRun:
    """The predictions of one set, and what the run said of itself."""

    path: Path
    table: pa.Table
    metadata: dict[str, Any]

    @property
    def n_rows(self) -> int:
        return int(self.table.num_rows)

    @property
    def split(self) -> str:
        return str(self.metadata.get("split") or "test")


def digest_of_ids(ids: Iterable[str]) -> str:
    """Return the sha256 of example ids, one a line: rows join by it, and it tells no text."""
    return hashlib.sha256("".join(f"{name}\n" for name in ids).encode()).hexdigest()


def read_stored(path: Path) -> StoredRun:
    """Read a stored file.

    Raises
    ------
    AssertionError
        If it is not there or not a stored run.
    """
    assert path.is_file(), f"{path} is not there: benchmarks/store_results.py makes it from a run folder"
    table = pq.read_table(path)
    metadata = json.loads((table.schema.metadata or {}).get(METADATA_KEY, b"{}"))
    assert metadata.get("format") == FORMAT, f"{path} is no stored run"
    return StoredRun(path, table, metadata)


def predictions_of(stored: StoredRun, rows: pa.Table) -> Predictions:
    """Join stored predictions with the rows of their set: the predictions file that the run wrote, but for strata.

    Raises
    ------
    AssertionError
        If the rows are not those that were run, in their order.
    """
    rows = rows.slice(0, stored.n_rows)
    digest = digest_of_ids(rows["example_id"].to_pylist())
    assert digest == stored.metadata["example_ids_sha256"], f"{stored.path} was made for other rows"
    kept = rows.select(list(KEY_COLUMNS))
    kept = kept.append_column("prediction", stored.table["prediction"].cast(pa.int64()))
    given = [stored.table[name].to_numpy().astype(np.float64) for name in stored.table.column_names[1:]]
    if given:
        probabilities = np.column_stack([*given, 1 - np.sum(given, axis=0)]).clip(0, 1)
        kept = kept.append_column("probabilities", pa.array(list(probabilities), pa.list_(pa.float64())))
    return Predictions(kept, dict(stored.metadata["run"]))


def repeats_of(stored: StoredRun, joined: Predictions) -> Repeats:
    """The rows of a stored run that were asked again in other batches, as the run's own file has them."""
    rows, numbers, answers = (list(column) for column in zip(*stored.metadata["noise"], strict=True))
    table = joined.table.select(list(KEY_COLUMNS)).take(rows)
    for name, column in (("prediction", answers), ("repeat", numbers), ("kind", ["numeric"] * len(rows))):
        table = table.append_column(name, pa.array(column, pa.string() if name == "kind" else pa.int64()))
    return Repeats(Predictions(table, joined.metadata))
