"""JSON Lines, and JSON arrays of objects: every line is checked before it becomes a row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from paraconsist.errors import first_line

_BLOCK = 1 << 14
_DEEPEST = 64
_MOST_SHOWN = 60
_LEADING_NULL = re.compile(rb"\[\s*null")
_LONGEST_LINE = 4000  # bytes for Arrow's reader: what fits is not too deep


def json_rows(file: Path, encoding: str = "utf-8-sig") -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON Lines file, or of a JSON array of objects; blank lines are passed over.

    ValueError, with the row, counted from 1, where a line is no whole JSON object, names a key twice or is nested too
    deeply.
    """
    checked = json.JSONDecoder(object_pairs_hook=_once).decode
    decode = json.JSONDecoder().raw_decode
    with file.open(encoding=encoding) as stream:
        is_array = stream.read(1) == "["
        stream.seek(0)
        for row, line in enumerate(checked(stream.read()) if is_array else filter(str.strip, stream), 1):
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
                raise ValueError(f"row {row} is no JSON object but {json.dumps(value)[:_MOST_SHOWN]}")
            if (is_array or text.count("[") + text.count("{") > _DEEPEST) and _is_deep(value):
                raise ValueError(f"the values at row {row} are nested too deeply")
            yield value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        twice = next(name for i, (name, _) in enumerate(pairs) if name in dict(pairs[:i]))
        raise ValueError(f"the key {twice!r} stands twice")
    return row


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        nested = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = list(chain.from_iterable(nested))
    return bool(level)


def read_json_lines(file: Path, encoding: str = "utf-8-sig") -> pa.Table:
    """Read JSON Lines, or a JSON array of objects, in columns; a key that a row lacks is null there.

    ValueError where `json_rows` raises it, a column holds values of several kinds, or numbers beyond 64 bits.
    """
    if (table := _by_arrow(file, encoding)) is not None:
        return table
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


def _by_arrow(file: Path, encoding: str) -> pa.Table | None:
    """Read JSON Lines by Arrow's reader, several times as fast, where it reads them as `json_rows`; None elsewhere.

    A line ``null`` ends its process (47409), a list that begins with a null shifts the rows below (51305), deep values
    overflow its stack, text that looks like a time becomes one, and whole numbers beyond 64 bits become doubles.
    """
    data = file.read_bytes()
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
    n_rows = len(ends) + (not data.endswith(b"\n"))
    is_plain = encoding == "utf-8" and data.startswith(b"{") and data.count(b"\n{") == n_rows - 1
    longest = np.diff(ends, prepend=0, append=len(data)).max()
    if not is_plain or longest > _LONGEST_LINE or _LEADING_NULL.search(data):
        return None
    try:
        table = pa.json.read_json(pa.BufferReader(data))
        table.validate(full=True)
    except pa.ArrowException:
        return None
    for column in table.columns:
        kind = column.type.value_type if pa.types.is_list(column.type) else column.type
        is_large = pa.types.is_floating(column.type) and pc.any(pc.greater_equal(pc.abs(column), 2.0**53)).as_py()
        if pa.types.is_nested(kind) or pa.types.is_temporal(kind) or is_large:
            return None
    return table if table.num_rows == n_rows else None


def _json_column(name: str, values: list[Any], start: int) -> pa.Array:
    kinds = {bool: "true or false", str: "text", list: "lists", dict: "objects", int: "numbers", float: "numbers"}
    first = next((value for value in values if value is not None), None)
    for kind in set(map(type, values)) - {type(None), type(first)}:
        if kinds[kind] != kinds[type(first)]:
            row = start + next(row for row, value in enumerate(values, 1) if type(value) is kind)
            raise ValueError(f"column {name} holds {kinds[type(first)]} and, at row {row}, {kinds[kind]}")
    try:
        return pa.array(values)
    except OverflowError:
        reason = "whole numbers too large to be told apart; write them as text"
    except (pa.ArrowException, UnicodeEncodeError) as problem:
        reason = f"what cannot be read as one kind of value ({first_line(problem)})"
    raise ValueError(f"column {name} has {reason}")
