"""Training rows inside the test set: which rows a model may simply remember."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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

    def warning(self) -> str | None:
        """Return a sentence where a row is shared, else None."""
        if not self.n_shared:
            return None
        roles = ", ".join(f"{n:,} with role {role}" for role, n in sorted(self.by_role.items()))
        return (
            f"{self.n_shared:,} of {self.n_rows:,} rows stand in the training file, word for word ({roles}; compared: "
            f"{', '.join(self.columns)}): the model may remember them"
        )


def training_overlap(predictions: Predictions, training: pa.Table, *, role: str = "role") -> Overlap:
    """Find the rows of a predictions file whose input the model was trained on; labels are not compared.

    A run's file knows the hash of every input, and the training file needs the columns that the task reads. Files made
    elsewhere are compared in the text columns that both files have. `role` is the role column of `predictions`, if
    there is one. InputError if the files have no column to compare, or a text is missing.
    """
    table = predictions.table
    task = predictions.metadata.get("task")
    columns: tuple[str, ...] = get_task(task).columns if task is not None else ()
    if columns and "input_id" in table.column_names and set(columns) <= set(training.column_names):
        assert task is not None
        seen = set(_input_ids(training, task, columns))
        shared = [one in seen for one in table["input_id"].to_pylist()]
    else:
        columns = _shared_texts(table, training)
        if not columns:
            needed = (
                f"the columns that task {task} reads: {', '.join(get_task(task).columns)}" if task else "text columns"
            )
            remedy = "Rename its columns to those of the predictions file."
            raise input_error(*(_FUNCTION, _PARAMETER, f"have {needed}"), got=training.column_names, remedy=remedy)
        known = set(zip(*(_stripped(training[name]) for name in columns), strict=True))
        shared = [row in known for row in zip(*(_stripped(table[name]) for name in columns), strict=True)]
    roles = table[role].to_pylist() if role in table.column_names else ["paraphrase"] * len(shared)
    by_role = Counter(str(place) for place, is_shared in zip(roles, shared, strict=True) if is_shared)
    return Overlap(sum(shared), len(shared), dict(by_role), columns)


def _input_ids(training: pa.Table, task: str, columns: Sequence[str]) -> list[str]:
    rows = training.select(list(columns)).to_pylist()
    try:
        return [input_id(task, row) for row in rows]
    except InputError as problem:
        raise InputError(f"{_FUNCTION}: `{_PARAMETER}` cannot be compared: {problem}") from None


def _shared_texts(table: pa.Table, training: pa.Table) -> tuple[str, ...]:
    """Return the columns of text that both files have and that are no ids, labels or answers."""
    apart = {*KEY_COLUMNS, *PREDICTION_COLUMNS, "gold", "split"}
    return tuple(
        name
        for name in table.column_names
        if name not in apart and name in training.column_names and all(_is_text(t, name) for t in (table, training))
    )


def _is_text(table: pa.Table, name: str) -> bool:
    kind = table.schema.field(name).type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return False
    return bool(pc.any(pc.match_substring(table[name], " ")).as_py())  # names of labels and sources have one word


def _stripped(column: pa.ChunkedArray) -> list[str]:
    return [(text or "").strip() for text in column.to_pylist()]
