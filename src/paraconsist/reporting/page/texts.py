"""The texts of a set's rows: from the run folder, from a file of the user's, or from the predictions file itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.data.predictions import KEY_COLUMNS, PREDICTION_COLUMNS, Predictions
from paraconsist.data.rows import ColumnNames
from paraconsist.data.tables import read_table
from paraconsist.data.tasks import TASKS
from paraconsist.errors import input_error
from paraconsist.reporting.page.aligned import AlignedSet

_JOINS = ("example_id", "input_id")
_TASK_COLUMNS = frozenset(column for task in TASKS.values() for column in task.columns)


@dataclass(frozen=True)
class SetTexts:
    """Texts of a set: the columns' names, and for each row of the aligned set a list of texts, or None."""

    columns: tuple[str, ...]
    rows: list[list[str] | None]


def read_texts_files(specs: Sequence[str]) -> list[pa.Table]:
    """Read what the user gave: files with an `example_id` (or `input_id`) column, or names of prepared sets."""
    tables = []
    for spec in specs:
        if Path(spec).exists() or ":" not in spec:
            table = read_table(spec, function="report", parameter="texts")
        else:
            from paraconsist.data.bucket_sets import load_bucket_set

            table = load_bucket_set(spec).table
        if not any(join in table.column_names for join in _JOINS):
            must, remedy = (
                "have a column example_id (or input_id) that says whose texts they are",
                f"Add one to {spec}.",
            )
            raise input_error("report", "texts", must, got=table.column_names, remedy=remedy)
        tables.append(table)
    return tables


def set_texts(
    aligned: AlignedSet, files: Sequence[Path], tables: Sequence[pa.Table], names: ColumnNames, columns: Sequence[str]
) -> SetTexts | None:
    """Return the texts of the set's rows, or None where nobody has them.

    The user's `tables` come before the `files` that runs kept; the columns of `names` are no texts. By default the
    `columns` to show are the task's, else those that look like texts.
    """
    kept = (read_table(path, function="report", parameter="texts") for path in files)
    joined = (_joined(aligned, table, names, columns) for table in chain(tables, kept))
    return next((texts for texts in joined if texts is not None), None) or _own(aligned, names, columns)


def _joined(aligned: AlignedSet, table: pa.Table, names: ColumnNames, columns: Sequence[str]) -> SetTexts | None:
    """Return the texts of another table, by the first id that it and all predictions have."""
    fields = _text_columns(table, names, columns)
    predictions = [aligned.predictions[model].table for model in aligned.models]
    for join in _JOINS:
        if not fields or not all(join in one.column_names for one in (table, *predictions)):
            continue
        keys = [_strings(one[join]) for one in predictions]
        index = {key: row for row, key in enumerate(_strings(table[join]))}
        rows = [index.get(keys[owner][place]) for owner, place in _base(aligned)]
        if any(row is not None for row in rows):
            texts = [_strings(table[column]) for column in fields]
            return SetTexts(fields, [None if row is None else [text[row] for text in texts] for row in rows])
    return None


def _own(aligned: AlignedSet, names: ColumnNames, columns: Sequence[str]) -> SetTexts | None:
    """Return the texts that stand beside the predictions."""
    tables = [aligned.predictions[model].table for model in aligned.models]
    fields = _text_columns(tables[0], names, columns, aligned.predictions[aligned.models[0]])
    if not fields:
        return None
    whole = (table if set(fields) <= set(table.column_names) else None for table in tables)
    texts = [[] if table is None else [_strings(table[column]) for column in fields] for table in whole]
    return SetTexts(fields, [[text[place] for text in texts[owner]] or None for owner, place in _base(aligned)])


def _base(aligned: AlignedSet) -> Iterator[tuple[int, int]]:
    """Yield for each row a model that has it and its place in that model's file."""
    return zip(*(part.tolist() for part in aligned.base), strict=True)


def _text_columns(
    table: pa.Table, names: ColumnNames, wanted: Sequence[str], predictions: Predictions | None = None
) -> tuple[str, ...]:
    if wanted:
        return tuple(c for c in wanted if c in table.column_names)
    named = tuple(c for c in table.column_names if c in _TASK_COLUMNS)
    if named:
        return named
    taken = {*KEY_COLUMNS, *PREDICTION_COLUMNS, names.bucket, names.prediction, names.label, names.role, names.group}
    taken |= set(names.strata or ())
    if predictions is not None and "set" in predictions.metadata:
        taken |= set(predictions.strata)
    return tuple(c for c in table.column_names if c not in taken and _looks_like_text(table[c]))


def _looks_like_text(column: Any) -> bool:
    """Say whether most of the first hundred values are text of several words."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    values = [value for value in column.slice(0, 100).to_pylist() if value]
    return bool(values) and sum(" " in value.strip() for value in values) > len(values) / 2


def _strings(column: Any) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]
