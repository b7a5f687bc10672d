"""The predictions file: the one seam between what runs models and what measures them.

One row is one row of a bucket set. Parquet is what the runner writes; JSON Lines and CSV are accepted on
reading. The identity of the run (model, data, label names, versions) travels in the Parquet file's own
metadata, so a file that was moved or mailed still says what it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.data.tables import NOTES, read_table
from paraconsist.data.writing import write_row_groups, write_table
from paraconsist.errors import input_error

#: What every row of a bucket set has, in the order in which it is written.
KEY_COLUMNS = ("example_id", "input_id", "bucket_id", "group_id", "role", "label", "allowed_labels")
#: What the run adds to it.
UNANSWERED = "unanswered"  # of which kind the failure of an input was; only where some failed
PREDICTION_COLUMNS = ("prediction", "probabilities", "raw_output", UNANSWERED)

#: What this package's own sets and studies break results down by. A set's other columns are kept where they are named:
#: they may say who wrote a text.
STRATUM_COLUMNS = (
    *("aflite_score", "challenge", "confidence", "context_id", "copies_original", "decile", "difficulty", "generator"),
    *("gold_label", "negation_method", "paraphrased", "relation", "rewording", "rule", "source", "source_split"),
    *("source_task", "theme"),
)

#: Under which a Parquet file of ours holds its metadata, as JSON.
METADATA_KEY = b"paraconsist"
_KINDS: dict[str, tuple[type, str]] = {
    **dict.fromkeys(("label_names", "measures", "notes"), (list, "a list of names")),
    **dict.fromkeys(("model", "source", "inputs"), (dict, "a JSON object")),
    **dict.fromkeys(("set", "task", "label_map"), (str, "text")),
}


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


def write_predictions(path: Path, table: pa.Table | Iterator[pa.Table], metadata: Mapping[str, Any]) -> int:
    """Write a predictions file whole or not at all, into a folder that exists; return its number of rows.

    `table` may be the file's row groups, one at least, of which one at a time is in memory; `metadata` is the run's
    identity: anything that JSON can hold.
    """
    if isinstance(table, pa.Table):
        write_table(with_identity(table, metadata), path)
        return len(table)
    return write_row_groups((with_identity(part, metadata) for part in table), path)


def with_identity(table: pa.Table, metadata: Mapping[str, Any]) -> pa.Table:
    """Return the table with the run's identity, and nothing else, in its metadata."""
    return table.replace_schema_metadata({METADATA_KEY: json.dumps(dict(metadata), sort_keys=True).encode()})


def read_predictions(path: str | os.PathLike[str], encoding: str | None = None) -> Predictions:
    """Read a predictions file in any of its formats (Parquet, JSON Lines, CSV, TSV); see `read_table`.

    InputError if the file is absent, cut short, empty or of an unknown format, or its metadata are none.
    """
    table = read_table(path, function="read_predictions", encoding=encoding)
    of_file = table.schema.metadata or {}
    try:
        metadata = json.loads(of_file.get(METADATA_KEY, b"{}"))
        wrong = "metadata" if not isinstance(metadata, dict) else _wrong_field(metadata)
    except (ValueError, RecursionError):
        wrong = "metadata"
    if wrong is not None:
        must = f"hold a run's metadata, with {_KINDS.get(wrong, (dict, 'a JSON object'))[1]} as {wrong}"
        raise input_error("read_predictions", "path", must, got=str(path), remedy="Write the file again.")
    if NOTES in of_file:
        metadata = {**metadata, "notes": [*metadata.get("notes", ()), *json.loads(of_file[NOTES])]}
    return Predictions(table, metadata)


def _wrong_field(metadata: Mapping[str, Any]) -> str | None:
    """Return a field of a run's metadata that is not of its kind."""
    for name, (kind, _) in _KINDS.items():
        value = metadata.get(name, kind())
        if type(value) is not kind or any(type(one) is not str for one in (value if isinstance(value, list) else ())):
            return name
    return None


def input_notes(metadata: Mapping[str, Any]) -> list[str]:
    """Return a sentence on the inputs that failed and one on those that were cut, of a run's metadata; none without."""
    counts, max_length = metadata.get("inputs", {}), metadata.get("model", {}).get("max_length")
    notes, n = [], f"{counts.get('n_inputs')} inputs"
    if counts.get("n_failed"):
        kinds = ", ".join(f"{number} {kind}" for kind, number in dict(counts.get("failed", {})).items())
        names = ", ".join(map(str, counts.get("first_failed", ())))
        notes.append(f"{counts['n_failed']} of {n} have no answer and count as unparsed ({kinds}; the first: {names})")
    if counts.get("n_cut"):
        limit = "" if max_length is None else f" of {max_length} tokens"
        notes.append(
            f"{counts['n_cut']} of {n} are longer than the model's window{limit} and were cut, the longer text of a "
            f"pair first, by up to {counts.get('most_tokens_cut')} tokens"
        )
    return notes
