"""The predictions file: the one seam between what runs models and what measures them.

One row is one row of a bucket set. Parquet is what the runner writes; JSON Lines and CSV are accepted on
reading. The identity of the run (model, data, label names, versions) travels in the Parquet file's own
metadata, so a file that was moved or mailed still says what it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.data.tables import read_table
from paraconsist.data.writing import write_table

#: What every row of a bucket set has, in the order in which it is written.
KEY_COLUMNS = ("example_id", "input_id", "bucket_id", "group_id", "role", "label", "allowed_labels")
#: What the run adds to it.
PREDICTION_COLUMNS = ("prediction", "probabilities", "raw_output")

_METADATA_KEY = b"paraconsist"


@dataclass(frozen=True)
class Predictions:
    """The rows of a predictions file and the identity of the run that made them."""

    table: pa.Table  # One row for each row of the bucket set: `KEY_COLUMNS`, strata, `PREDICTION_COLUMNS`
    metadata: dict[str, Any] = field(default_factory=dict)  # The identity of the run; empty for files made elsewhere

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels in order, empty where the file does not say."""
        return tuple(self.metadata.get("label_names", ()))

    @property
    def strata(self) -> tuple[str, ...]:
        """The columns that results can be broken down by."""
        known = set(KEY_COLUMNS) | set(PREDICTION_COLUMNS)
        return tuple(name for name in self.table.column_names if name not in known)


def write_predictions(path: Path, table: pa.Table, metadata: Mapping[str, Any]) -> None:
    """Write a predictions file whole or not at all, into a folder that exists.

    `metadata` is the run's identity: anything that JSON can hold.
    """
    identity = json.dumps(dict(metadata), sort_keys=True).encode()
    write_table(table.replace_schema_metadata({_METADATA_KEY: identity}), path)


def read_predictions(path: str | os.PathLike[str]) -> Predictions:
    """Read a predictions file in any of its formats (Parquet, JSON Lines, CSV, TSV).

    InputError if the file is absent, cut short, empty or of an unknown format.
    """
    table = read_table(path, function="read_predictions")
    raw = (table.schema.metadata or {}).get(_METADATA_KEY)
    return Predictions(table, json.loads(raw) if raw is not None else {})
