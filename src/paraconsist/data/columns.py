"""A column of a table as an array of whole numbers or text; what cannot be one is refused by column and row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paraconsist.data.tables import column_of
from paraconsist.errors import InputError, input_error

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
