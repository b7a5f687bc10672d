"""Tables of rows from files (CSV, JSON Lines, Parquet), and their columns as arrays of whole numbers or text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paraconsist.data.writing import unquoted_columns
from paraconsist.errors import InputError, first_line, input_error

#: The formats of `read_table`, by the file's ending.
ENDINGS = (".parquet", ".csv", ".tsv", ".jsonl", ".json")


def read_table(path: str | os.PathLike[str], *, function: str, parameter: str = "path") -> pa.Table:
    """Read a table of rows from Parquet, JSON Lines, CSV or TSV, by the file's ending.

    InputError if the file is absent, cut short, empty or of an unknown format; the message names the file.
    """
    file = Path(path)
    if not file.is_file():
        raise input_error(function, parameter, "name a file that exists", got=str(file))
    ending = file.suffix.lower()
    if ending not in ENDINGS:
        remedy = "Convert the file to CSV, JSON Lines or Parquet."
        raise input_error(function, parameter, f"end in one of {', '.join(ENDINGS)}", got=str(file), remedy=remedy)
    try:
        if ending == ".parquet":
            table = pq.read_table(file)
        elif ending in (".csv", ".tsv"):
            table = unquoted_columns(_read_delimited(file, "," if ending == ".csv" else "\t"))
        else:
            table = _read_json_lines(file)
    except InputError:
        raise
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError, ValueError) as problem:
        remedy = f"It could not be read ({first_line(problem)}): it may be cut short; mend it or copy it again."
        raise input_error(function, parameter, "be a readable, whole file", got=str(file), remedy=remedy) from None
    twice = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if twice:
        raise input_error(function, parameter, "name each of its columns once", got=twice, remedy=f"Mend {file}.")
    if table.num_rows == 0:
        raise input_error(function, parameter, "have at least one row", got=str(file), remedy="The file holds none.")
    return with_plain_text(table)


def with_plain_text(table: pa.Table) -> pa.Table:
    """Return the table with every kind of text column (large, view, dictionary: pandas, polars write them) alike."""
    columns = {}
    for field in table.schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        columns[field.name] = table[field.name].cast(pa.string()) if is_text else table[field.name]
    return pa.table(columns).replace_schema_metadata(table.schema.metadata)


def column_of(table: pa.Table, name: str, *, parameter: str, function: str = "score") -> Any:
    """Return a column; raise if `parameter` names one that the table does not have."""
    if name not in table.column_names:
        remedy = f"Its columns are {', '.join(table.column_names)}."
        raise input_error(function, parameter, "name a column of the predictions", got=name, remedy=remedy)
    return table[name]


def _read_delimited(file: Path, delimiter: str) -> pa.Table:
    """Read cells as whole numbers, decimals, true/false or text; what would change on the way stays text."""

    def parse(types: Mapping[str, pa.DataType]) -> pa.Table:
        # An empty string stays an empty string (a premise may be empty); only an unquoted empty cell of a
        # numeric column is a missing value.
        return pa.csv.read_csv(
            file,
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                strings_can_be_null=False, column_types=types, include_columns=list(types)
            ),
        )

    table = parse({})
    if len(set(table.column_names)) < table.num_columns:
        return table  # the caller says so
    kept = (pa.types.is_string, pa.types.is_boolean)
    doubtful = [c.name for c in table.schema if not any(is_kept(c.type) for is_kept in kept)]
    texts = parse(dict.fromkeys(doubtful, pa.string())) if doubtful else table
    for name in doubtful:
        if not _means_its_text(table[name].type, texts[name]):
            table = table.set_column(table.column_names.index(name), name, texts[name])
    return table


def _means_its_text(kind: pa.DataType, texts: pa.ChunkedArray) -> bool:
    """Say whether cells read as `kind` are what they were: 007 is no number, nor are ids too long for one."""
    if pa.types.is_null(kind):
        return bool(pc.all(pc.equal(texts, "")).as_py())  # else words such as NA
    if pa.types.is_integer(kind):
        changed = r"^[-+]?0\d"
    elif pa.types.is_floating(kind):
        changed = r"^[-+]?(0\d|\d{16,}$)"
    else:  # dates and times
        return False
    return not pc.any(pc.match_substring_regex(texts, changed)).as_py()


def _read_json_lines(file: Path) -> pa.Table:
    with file.open("rb") as stream:
        head = stream.read(1)
    if head == b"[":
        rows = json.loads(file.read_text(encoding="utf-8"))
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("a JSON array of objects was expected")
        return pa.Table.from_pylist(rows)
    table = _parse_json_lines(file, {})
    dates = {c.name: pa.string() for c in table.schema if pa.types.is_temporal(c.type)}  # they stay the text they are
    table = _parse_json_lines(file, dates) if dates else table
    for column in table.schema:
        numbers = table[column.name] if pa.types.is_floating(column.type) else None
        if numbers is not None and pc.any(pc.greater_equal(pc.abs(numbers), 2.0**53)).as_py():
            raise ValueError(f"column {column.name} has whole numbers too large to be told apart; write them as text")
    return table


def _parse_json_lines(file: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    schema = pa.schema(list(types.items()))
    return pa.json.read_json(file, parse_options=pa.json.ParseOptions(newlines_in_values=False, explicit_schema=schema))


EMPTY = "Fill it in, or drop the row."


def column_error(
    parameter: str, name: str, must: str, got: Any, row: int | None = None, remedy: str = ""
) -> InputError:
    """Return the error for what stands in a column: of the field that names it; the remedy says which column it is."""
    where = "" if name == parameter else f"It is column {name}. "
    return input_error("score", parameter, must, got=got, row=row, remedy=f"{where}{remedy}".rstrip())


def plain_column(column: Any, name: str, parameter: str) -> NDArray[Any]:
    """Return a column without missing values, as integers or strings."""
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise column_error(parameter, name, "not be empty", None, row, EMPTY)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_boolean(kind):
        column, kind = column.cast(pa.int64()), pa.int64()
    if pa.types.is_floating(kind):
        values = column.to_numpy()
        whole = np.isfinite(values) & (values == np.floor(values))
        if not whole.all():
            row = int(np.argmin(whole))
            raise column_error(parameter, name, "hold whole numbers or text", float(values[row]), row)
        return np.asarray(values, dtype=np.int64)
    if pa.types.is_integer(kind):
        return np.asarray(column.to_numpy(), dtype=np.int64)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.asarray(column.to_pylist(), dtype=np.str_)
    raise column_error(parameter, name, "hold whole numbers or text", str(kind))


def filled_column(table: pa.Table, name: str, parameter: str) -> NDArray[Any]:
    """Return a column as `plain_column`; an empty text is a missing value here."""
    values = plain_column(column_of(table, name, parameter=parameter), name, parameter)
    if values.dtype.kind == "U" and (values == "").any():
        raise column_error(parameter, name, "not be empty", "", int(np.argmax(values == "")), EMPTY)
    return values


def fillable_column(column: Any, name: str, parameter: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return a column as `plain_column`, and where it is empty: a missing value, which is 0 then, or an empty text."""
    if pa.types.is_boolean(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.int64())
    is_text = pa.types.is_string(column.type)
    missing = pc.fill_null(pc.equal(column, ""), True) if is_text else column.is_null()
    values = plain_column(pc.fill_null(column, "" if is_text else 0), name, parameter)
    return values, np.asarray(missing.to_numpy(), dtype=np.bool_)
