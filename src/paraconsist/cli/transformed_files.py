"""Rows of texts read and written for ``paraconsist transform``: every column but the texts stays as it is."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from paraconsist.data.tables import read_table
from paraconsist.errors import input_error

_ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")


def check_files(files: Sequence[Path], output: Path, *, overwrite: bool) -> None:
    """Refuse what cannot be written, or is there already (a sheet may hold hours of work).

    Raises
    ------
    InputError
    """
    if output.suffix not in _ENDINGS:
        raise input_error("transform", "output", f"end in one of {', '.join(_ENDINGS)}", got=str(output))
    if len({file.resolve() for file in files}) < len(files):
        raise input_error("transform", "output", "be another file than the sheet and the dictionary", got=str(output))
    for file in files:
        if not file.parent.is_dir():
            raise input_error("transform", "output", "be in a folder that exists", got=str(file))
        if file.exists() and not overwrite:
            raise input_error(
                "transform", "output", "not be there already", got=str(file), remedy="Give --overwrite to replace it."
            )


def read_rows(path: Path) -> pa.Table:
    """Read a file of rows.

    Raises
    ------
    InputError
    """
    return read_table(path, function="transform", parameter="file")


def texts_of(rows: pa.Table, columns: Sequence[str], path: Path) -> dict[str, list[str]]:
    """Return columns of texts.

    Raises
    ------
    InputError
        If there are none, one is not there, or holds something else than texts; rows count from 0.
    """
    if not columns or len(set(columns)) < len(columns):
        raise input_error("transform", "columns", "name columns, each once", got=list(columns))
    found = {}
    for column in columns:
        if column not in rows.column_names:
            raise input_error(
                "transform",
                "columns",
                f"be columns of {path.name}",
                got=column,
                remedy=f"There are {', '.join(rows.column_names)}.",
            )
        values = rows[column].to_pylist()
        for row, value in enumerate(values):
            if not isinstance(value, str):
                raise input_error("transform", column, "hold texts only", got=value, row=f"{row} of {path.name}")
        found[column] = values
    return found


def labels_of(rows: pa.Table, column: str) -> list[str] | None:
    """Return a column as texts, None if it is not there."""
    if column not in rows.column_names:
        return None
    return ["" if value is None else str(value) for value in rows[column].to_pylist()]


def write_rows(rows: pa.Table, changed: Mapping[str, Sequence[str]], path: Path) -> None:
    """Write the rows with their changed texts; the file is there whole or not at all."""
    for column, texts in changed.items():
        rows = rows.set_column(rows.column_names.index(column), column, pa.array(texts, pa.string()))
    partial = path.with_name(path.name + ".partial")
    try:
        if path.suffix == ".parquet":
            pq.write_table(rows, partial, compression="zstd")
        elif path.suffix == ".jsonl":
            with partial.open("w", encoding="utf-8", newline="\n") as stream:
                stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows.to_pylist())
        else:
            with partial.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, delimiter="," if path.suffix == ".csv" else "\t", lineterminator="\n")
                writer.writerow(rows.column_names)
                writer.writerows(zip(*(rows[c].to_pylist() for c in rows.column_names), strict=True))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
