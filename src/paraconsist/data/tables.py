"""Tables of rows from files (CSV, JSON Lines, Parquet), and their columns as arrays of whole numbers or text."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paraconsist.data.writing import unquoted_columns
from paraconsist.errors import InputError, first_line, input_error

#: The formats of `read_table`, by the file's ending.
ENDINGS = (".parquet", ".csv", ".tsv", ".jsonl", ".json")
_BLOCK = 1 << 14
_DEEPEST = 64
_MOST_SHOWN = 60


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
            table = read_json_lines(file)
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, RecursionError, MemoryError) as problem:
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


def json_rows(file: Path, encoding: str = "utf-8-sig") -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON Lines file, or of a JSON array of objects; blank lines are passed over.

    ValueError, with the row from 0, where a line is no whole JSON object, names a key twice or is nested too deeply.
    """
    checked = json.JSONDecoder(object_pairs_hook=_once).decode
    decode = json.JSONDecoder().raw_decode
    with file.open(encoding=encoding) as stream:
        is_array = stream.read(1) == "["
        stream.seek(0)
        for row, line in enumerate(checked(stream.read()) if is_array else filter(str.strip, stream)):
            value, text = line, "" if is_array else line.strip()
            try:
                if not is_array:
                    value, end = decode(text)
                    if end < len(text) or (isinstance(value, dict) and text.count(":") > len(value)):
                        value = checked(text)  # more than one value, or keys that may be one
            except RecursionError:
                raise ValueError(f"the values at row {row} are nested too deeply") from None
            except ValueError as problem:
                raise ValueError(f"row {row} is no whole JSON object: {first_line(problem)}") from None
            if not isinstance(value, dict):
                raise ValueError(f"row {row} is no JSON object but {repr(value)[:_MOST_SHOWN]}")
            if (is_array or text.count("[") + text.count("{") > _DEEPEST) and _is_deep(value):
                raise ValueError(f"the values at row {row} are nested too deeply")
            yield value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return row


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        nested = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list))]
        level = [inner for one in nested for inner in one]
        if not level:
            return False
    return True


def read_json_lines(file: Path, encoding: str = "utf-8-sig") -> pa.Table:
    """Read JSON Lines, or a JSON array of objects, in columns; a key that a row lacks is null there.

    Arrow's own reader is not used: a line ``null`` ends its process, and a list that begins with a null shifts the rows
    below. ValueError where `json_rows` raises it, a column holds values of several kinds, or numbers beyond 64 bits.
    """
    rows, parts, start = json_rows(file, encoding), list[pa.Table](), 0
    while block := list(islice(rows, _BLOCK)):
        names = dict.fromkeys(chain.from_iterable(block))
        columns = {name: _json_column(name, [row.get(name) for row in block], start) for name in names}
        parts.append(pa.table(columns or {"": pa.nulls(len(block))}))
        start += len(block)
    if not parts:
        return pa.table({})
    try:
        table = pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException:
        raise ValueError("a column holds values of several kinds") from None
    return table.drop_columns([""]) if "" in table.column_names and table[""].type == pa.null() else table


def _json_column(name: str, values: list[Any], start: int) -> pa.Array:
    kinds = {bool: "true or false", str: "text", list: "lists", dict: "objects", int: "numbers", float: "numbers"}
    first = next((value for value in values if value is not None), None)
    for kind in set(map(type, values)) - {type(None), type(first)}:
        if kinds[kind] != kinds[type(first)]:
            row = start + next(row for row, value in enumerate(values) if type(value) is kind)
            raise ValueError(f"column {name} holds {kinds[type(first)]} and, at row {row}, {kinds[kind]}")
    try:
        return pa.array(values)
    except OverflowError:
        reason = "whole numbers too large to be told apart; write them as text"
    except (pa.ArrowException, UnicodeEncodeError) as problem:
        reason = f"what cannot be read as one kind of value ({first_line(problem)})"
    raise ValueError(f"column {name} has {reason}")


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
