r"""A tiny language for the values of fields: a path, a pattern, a comparison or a template, without any evaluation.

==============================  ==========================================================================
``doc.question_id``             a field, by its path; a number picks an item of a list (``target.0``)
``doc.id ~ "^(\d+)-"``          the match of the pattern's one group in the field
``doc.id ~ "-0$"``              without a group: true if the pattern matches, else false
``doc.variant == "original"``   true or false; also ``!=``
``{doc.set}-{doc.number}``      text with fields in it
==============================  ==========================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paraconsist.data.tables import likely_column
from paraconsist.errors import input_error
from paraconsist.files import Json

_WITH_TEXT = re.compile(  # without quotation marks, which a shell takes away, one word
    r"""\s*(?P<path>[^\s~=!{}]+)\s*(?P<sign>~|==|!=)\s*(?:(?P<quote>["'])(?P<text>.*)(?P=quote)|(?P<word>[^\s"']+))\s*"""
)
_IN_TEMPLATE = re.compile(r"\{([^{}]*)\}")
_NUMBER = re.compile("[0-9]{1,9}")
_MOST_NAMES = 40


class Fields(Protocol):
    """Rows whose fields can be read by path."""

    def column(self, path: str) -> pa.ChunkedArray | None:
        """Return a field of every row; None if no row has it."""

    def names(self) -> list[str]:
        """Return the paths of all fields."""


@dataclass(frozen=True)
class Table:
    """An Arrow table, which may have columns of structs."""

    table: pa.Table

    def column(self, path: str) -> pa.ChunkedArray | None:
        """Return a field of every row; a column named like the whole path takes precedence."""
        if path in self.table.column_names:
            return self.table[path]
        name, *steps = path.split(".")
        column = self.table[name] if name in self.table.column_names else None
        for place, step in enumerate(steps):
            if column is None:
                return None
            kind, rest = column.type, ".".join(steps[place:])
            if pa.types.is_struct(kind) and kind.get_field_index(rest) >= 0:  # a name with a point in it
                return pc.struct_field(column, [rest])
            if pa.types.is_struct(kind) and kind.get_field_index(step) >= 0:
                column = pc.struct_field(column, [step])
            elif (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _NUMBER.fullmatch(step):
                column = pa.chunked_array([_item(chunk, int(step)) for chunk in column.chunks], kind.value_type)
            else:
                return None
        return column

    def names(self) -> list[str]:
        return [path for column in self.table.schema for path in _leaves(column.name, column.type)]


@dataclass(frozen=True)
class Records:
    """Rows as mappings, whose fields may be of several kinds."""

    rows: Sequence[Json]

    def column(self, path: str) -> pa.ChunkedArray | None:
        """Return a field of every row, as text if its values are of several kinds."""
        values = [walk(row, *path.split(".")) for row in self.rows]
        if all(value is None for value in values) and path not in self.names():
            return None
        try:
            return pa.chunked_array([pa.array(values)])
        except (pa.ArrowException, OverflowError):
            return pa.chunked_array([pa.array([_as_text(value) for value in values])])

    @cached_property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(path for row in self.rows for path in _paths("", row)))

    def names(self) -> list[str]:
        return self._names


def is_expression(text: str) -> bool:
    """Say whether `text` is more than a path."""
    return _WITH_TEXT.fullmatch(text) is not None or "{" in text


def value_of(fields: Fields, text: str, *, parameter: str, roots: Sequence[str] = ()) -> pa.ChunkedArray:
    """Return the value of `text`, a path or an expression (see the module), for each row; null if a row lacks it.

    A path may also begin under one of `roots`: with ``doc``, ``question_id`` is also ``doc.question_id``. InputError,
    about the caller's `parameter`, if no row has the field (the message lists the fields), the pattern is invalid, or
    it does not match in some row.
    """
    parts = _WITH_TEXT.fullmatch(text)
    if parts is not None:
        values, wanted = as_texts(_field(fields, parts["path"], parameter, roots)), parts["word"] or parts["text"]
        if parts["sign"] == "~":
            return _matched(values, wanted, text, parameter)
        same = pc.fill_null(pc.equal(values, wanted), False)
        return same if parts["sign"] == "==" else pc.invert(same)
    if "{" not in text:
        return _field(fields, text.strip(), parameter, roots)
    texts: list[Any] = []
    end = 0
    for place in _IN_TEMPLATE.finditer(text):
        texts += [text[end : place.start()], as_texts(_field(fields, place[1].strip(), parameter, roots))]
        end = place.end()
    if not texts:
        raise input_error("score", parameter, "hold a field in each pair of braces", got=text)
    return pc.binary_join_element_wise(*texts, text[end:], "")


def _field(fields: Fields, path: str, parameter: str, roots: Sequence[str]) -> pa.ChunkedArray:
    if (column := column_under(fields, path, roots)) is not None:
        return column
    names = fields.names()
    more = [f"and {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    perhaps = f" Perhaps `{parameter}` {likely!r}?" if (likely := likely_column(names, parameter, path)) else ""
    remedy = f"Its columns are {', '.join([*names[:_MOST_NAMES], *more])}.{perhaps}"
    raise input_error("score", parameter, "name a column of the file", got=path, remedy=remedy)


def column_under(fields: Fields, path: str, roots: Sequence[str]) -> pa.ChunkedArray | None:
    """Return a field of every row by its path, which may begin under one of `roots`; None if no row has it."""
    columns = map(fields.column, (path, *(f"{root}.{path}" for root in roots)))
    return next((column for column in columns if column is not None), None)


def as_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as text: numbers in decimals, true and false in lower case, lists and structs as JSON."""
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        return pa.chunked_array([pa.array([_as_text(value) for value in column.to_pylist()], pa.string())])


def as_numbers(column: pa.ChunkedArray, text: str, parameter: str) -> pa.ChunkedArray:
    """Return the values of the field that `text` names as floats, or raise."""
    try:
        return column.cast(pa.float64())
    except pa.ArrowException:
        raise input_error("score", parameter, "name a field of numbers", got=text) from None


def _matched(values: pa.ChunkedArray, pattern: str, text: str, parameter: str) -> pa.ChunkedArray:
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as problem:
        raise input_error("score", parameter, f"hold a regular expression ({problem})", got=text) from None
    if compiled.groups > 1:
        remedy = "Write (?:...) for other groups."
        raise input_error("score", parameter, "have at most one group", got=text, remedy=remedy)
    coded = values.combine_chunks().dictionary_encode()
    distinct = [compiled.search(value) for value in coded.dictionary.to_pylist()]
    if compiled.groups == 0:
        answers = pa.array([match is not None for match in distinct], pa.bool_())
        return pa.chunked_array([pc.fill_null(answers.take(coded.indices), False)])
    answers = pa.array([None if match is None else match[1] for match in distinct], pa.string())
    taken = answers.take(coded.indices)
    if taken.null_count:
        row = pc.index(taken.is_null(), True).as_py()
        got, remedy = values[row].as_py(), f"The expression is {text}."
        raise input_error("score", parameter, "match in every row", got=got, row=row, remedy=remedy)
    return pa.chunked_array([taken])


def _item(chunk: pa.Array, index: int) -> pa.Array:
    """Return the item at `index` of every list; null if a list is shorter."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(zero_copy_only=False))
    starts = np.asarray(chunk.offsets.to_numpy(zero_copy_only=False))[:-1]
    return chunk.values.take(pa.array(starts + index, pa.int64(), mask=lengths <= index))


def _leaves(path: str, kind: pa.DataType) -> Iterable[str]:
    if not pa.types.is_struct(kind):
        return [path]
    return [leaf for inner in kind for leaf in _leaves(f"{path}.{inner.name}", inner.type)]


def walk(value: Any, *steps: str) -> Any:
    """Return the value at a path of keys in nested mappings and lists; None if there is none."""
    for place, step in enumerate(steps):
        if isinstance(value, Mapping):
            rest = ".".join(steps[place:])
            if rest in value:  # a key with a point in it
                return value[rest]
            value = value.get(step)
        elif isinstance(value, list) and _NUMBER.fullmatch(step):
            value = value[int(step)] if int(step) < len(value) else None
        else:
            return None
    return value


def _paths(path: str, value: Any) -> Iterable[str]:
    if not isinstance(value, Mapping):
        return [path]
    inner = ((f"{path}.{key}" if path else str(key), below) for key, below in value.items())
    return [leaf for full, below in inner for leaf in _paths(full, below)]


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)
