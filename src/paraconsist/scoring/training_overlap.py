"""Training rows inside the test set: which rows a model may simply remember."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paraconsist.data.predictions import KEY_COLUMNS, PREDICTION_COLUMNS, Predictions
from paraconsist.data.tasks import get_task, input_id
from paraconsist.errors import InputError, input_error

_FUNCTION, _PARAMETER = "score", "training_file"


@dataclass(frozen=True)
class Overlap:
    """What of a predictions file stands in a training file."""

    n_shared: int  # rows whose input stands in the training file
    n_rows: int  # rows of the predictions file
    by_role: dict[str, int]  # `n_shared` by the rows' role
    columns: tuple[str, ...]  # what was compared

    def warnings(self) -> list[str]:
        """Return a sentence where a row is shared."""
        roles = ", ".join(f"{n:,} with role {role}" for role, n in sorted(self.by_role.items()))
        shared = (
            f"{self.n_shared:,} of {self.n_rows:,} rows stand in the training file, word for word ({roles}; compared: "
            f"{', '.join(self.columns)}): the model may remember them"
        )
        return [shared] if self.n_shared else []


def training_overlap(predictions: Predictions, training: pa.Table, *, role: str = "role") -> Overlap:
    """Find the rows of a predictions file whose input the model was trained on; labels are not compared.

    A run's file knows the hash of every input, and the training file needs the columns that the task reads. Files made
    elsewhere are compared in the text columns that both files have. `role` is the role column of `predictions`, if
    there is one. InputError if the files have no column to compare, or a text is missing.
    """
    table, task = predictions.table, predictions.metadata.get("task")
    columns: tuple[str, ...] = get_task(task).columns if task is not None else ()
    if task and columns and "input_id" in table.column_names and set(columns) <= set(training.column_names):
        try:
            seen = {input_id(task, row) for row in training.select(list(columns)).to_pylist()}
        except InputError as problem:
            raise InputError(f"{_FUNCTION}: `{_PARAMETER}` cannot be compared: {problem}") from None
        shared = [one in seen for one in table["input_id"].to_pylist()]
    else:
        needed = f"the columns that task {task} reads: {', '.join(columns)}" if task else "text columns"
        columns = tuple(name for name in table.column_names if all(_has_text(t, name) for t in (table, training)))
        if not columns:
            remedy = "Rename its columns to those of the predictions file."
            raise input_error(_FUNCTION, _PARAMETER, f"have {needed}", got=training.column_names, remedy=remedy)
        known, texts = ([_stripped(t[name]) for name in columns] for t in (training, table))
        seen_texts = set(zip(*known, strict=True))
        shared = [row in seen_texts for row in zip(*texts, strict=True)]
    roles = table[role].to_pylist() if role in table.column_names else ["paraphrase"] * len(shared)
    by_role = Counter(str(place) for place, is_shared in zip(roles, shared, strict=True) if is_shared)
    return Overlap(sum(shared), len(shared), dict(by_role), columns)


def _has_text(table: pa.Table, name: str) -> bool:
    """Say whether a column is there and holds text, not ids, labels or answers."""
    if name in {*KEY_COLUMNS, *PREDICTION_COLUMNS, "gold", "split"} or name not in table.column_names:
        return False
    kind = table.schema.field(name).type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return False
    return bool(pc.any(pc.match_substring(table[name], " ")).as_py())  # names of labels and sources have one word


def _stripped(column: pa.ChunkedArray) -> list[str]:
    return [(text or "").strip() for text in column.to_pylist()]
