"""The checks that every measure makes of its input, before any of it is counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_whole, input_error

Integers: TypeAlias = npt.NDArray[np.integer[Any]]

_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "boolean"),  # before int: bool is a subclass of int
    ((int, np.integer), "integer"),
    ((str,), "string"),
    ((float, np.floating), "real"),
)
_ARRAY_KINDS = {"b": "boolean", "i": "integer", "u": "integer", "f": "real"}
MOST_DRAWN = 10**7
"""Of resamples and permutations: beyond, chance is no longer what an interval or a p-value is uncertain by."""
_LARGEST_EXACT = 2.0**53  # integers beyond this are not told apart by float64


@dataclass(frozen=True)
class Column:
    """One checked column: `kind` is ``"integer"`` (`values` an integer array) or ``"string"`` (a list)."""

    kind: str
    values: Integers | list[str]

    def __len__(self) -> int:
        return len(self.values)

    def tolist(self) -> list[Any]:
        """Return the values as plain Python integers or strings."""
        return self.values if isinstance(self.values, list) else self.values.tolist()


def as_column(values: Any, *, function: str, parameter: str, what: str = "integers or strings") -> Column:
    """Return `values` as a `Column`, or raise an `InputError` that names the first row which cannot be one.

    Integers, booleans (read as 0 and 1), integral floats and strings are taken, one kind throughout; arrays,
    series, tensors and lists alike. Missing values (None, NaN, NA) are never taken, nor silently dropped.
    """
    if values is None:
        raise input_error(function, parameter, "be given", got=None)
    if isinstance(values, (str, bytes, Mapping, Set)) or not isinstance(values, Iterable):
        raise input_error(function, parameter, "be a list or a one-dimensional array", got=values)
    array = _as_array(values)
    if array is not None:
        check_unmasked(function, parameter, values)
        if array.ndim != 1:
            raise input_error(function, parameter, "be one-dimensional", got=f"an array of shape {array.shape}")
        if array.dtype.kind in _ARRAY_KINDS and len(array):
            return _numeric(array, function=function, parameter=parameter, what=what)
        listed = array.tolist() if array.dtype.kind in "UTO" else list(array)
    else:
        listed = list(values)
    if not listed:
        raise input_error(function, parameter, "not be empty", got=[])
    kind = _one_kind(listed, function=function, parameter=parameter, what=what)
    if kind == "string":
        return Column("string", listed)
    try:
        array = np.array(listed, dtype=np.float64 if kind == "real" else np.int64)
    except OverflowError:
        row = next(i for i, value in enumerate(listed) if not -(2**63) <= value < 2**63)
        remedy = "Give strings instead."
        raise input_error(function, parameter, "fit in 64 bits", got=listed[row], row=row, remedy=remedy) from None
    return _numeric(array, function=function, parameter=parameter, what=what)


def _as_array(values: Any) -> npt.NDArray[Any] | None:
    """Return arrays, series and tensors as an array; None for plain sequences, which numpy would cast."""
    if isinstance(values, (list, tuple)) or not hasattr(values, "__array__"):
        return None
    return np.asarray(values)


def rectangular(values: Any) -> npt.NDArray[Any]:
    """Return `values` as numpy reads them, or None in an array where their rows are of unequal lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.asarray(None)


def _numeric(array: npt.NDArray[Any], *, function: str, parameter: str, what: str) -> Column:
    if array.dtype.kind == "b":
        return Column("integer", array.view(np.uint8))
    if array.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            wrong = ~((array == np.floor(array)) & (np.abs(array) <= _LARGEST_EXACT))
        if wrong.any():
            row = int(wrong.argmax())
            value = float(array[row])
            if np.isnan(value):
                raise _missing(function, parameter, value, row)
            raise input_error(function, parameter, f"hold {what}", got=value, row=row)
        return Column("integer", array.astype(np.int64))
    if array.dtype == np.uint64:
        check_rows(function, parameter, "fit in 64 bits", array, array >= 2**63)
    return Column("integer", array.astype(np.int64) if array.dtype == np.uint64 else array)


def _one_kind(listed: list[Any], *, function: str, parameter: str, what: str) -> str:
    types = set(map(type, listed))
    kinds = {t: next((kind for bases, kind in _KINDS if issubclass(t, bases)), "") for t in types}
    if len(set(kinds.values())) == 1 and "" not in kinds.values():
        return next(iter(kinds.values()))
    for row, value in enumerate(listed):  # only reached to name the row that is wrong
        is_nan = kinds[type(value)] == "real" and value != value
        if value is None or is_nan or type(value).__name__ in ("NAType", "NaTType"):
            raise _missing(function, parameter, value, row)
        if not kinds[type(value)]:
            raise input_error(function, parameter, f"hold {what}", got=value, row=row)
    first = kinds[type(listed[0])]
    row = next(i for i, value in enumerate(listed) if kinds[type(value)] != first)
    remedy = f"The first row is {listed[0]!r}."
    raise input_error(function, parameter, "be of one kind throughout", got=listed[row], row=row, remedy=remedy)


def _missing(function: str, parameter: str, value: Any, row: int | None) -> Exception:
    remedy = "Leave the row out of every column, or give unparsed answers a label of their own."
    return input_error(function, parameter, "not hold missing values", got=value, row=row, remedy=remedy)


def check_unmasked(function: str, parameter: str, values: Any) -> None:
    """Raise if `values` is a masked array that hides any: numpy would go on with what stands under the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        row = int(np.argwhere(np.ma.getmaskarray(values))[0, 0]) if values.ndim else None
        raise _missing(function, parameter, "--", row)


def check_both(function: str, values: Mapping[str, Any], remedy: str = "") -> bool:
    """Return whether the parameters are given; raise if only some of them are."""
    missing = [name for name, value in values.items() if value is None]
    if missing and len(missing) < len(values):
        raise input_error(function, missing[0], "be given too", got=None, remedy=remedy)
    return not missing


def check_rows(
    function: str,
    parameter: str,
    must: str,
    array: npt.NDArray[Any],
    wrong: npt.NDArray[np.bool_],
    *,
    rows: Sequence[Any] | None = None,
    remedy: str = "",
) -> None:
    """Raise if a value is `wrong`, naming the first; `rows` are what an error calls the rows."""
    if not wrong.any():
        return
    at = int(wrong.argmax())
    row = None if not array.ndim else at if rows is None else repr(rows[at])
    value = array.ravel()[at : at + 1].tolist()[0]
    raise input_error(function, parameter, must, got=value, row=row, remedy=remedy)


def check_length(function: str, parameter: str, values: Sized, n: int, other: str = "predictions") -> None:
    """Raise unless there are n `values`, as many as rows of `other`."""
    if len(values) != n:
        raise input_error(
            function, parameter, f"have one value per row of `{other}` ({n})", got=f"{len(values)} values"
        )


def check_same_length(function: str, columns: Mapping[str, Column]) -> None:
    """Raise unless all columns have as many rows as the first."""
    first, *others = columns
    for name in others:
        check_length(function, name, columns[name], len(columns[first]), first)


def check_comparable(function: str, columns: Mapping[str, Column]) -> None:
    """Raise unless all columns are integers or all are strings: ``1`` and ``"1"`` would never be equal."""
    first, *others = columns
    for name in others:
        if columns[name].kind != columns[first].kind:
            must, remedy = (
                f"hold {columns[first].kind}s, as `{first}` does",
                "Give labels in one form, as numbers or as names.",
            )
            raise input_error(function, name, must, got=columns[name].tolist()[0], row=0, remedy=remedy)


def code_jointly(*columns: Column) -> tuple[list[Integers], list[Any]]:
    """Return the columns with their values replaced by common codes 0..n-1, and the n values themselves."""
    if columns[0].kind == "string":
        names = list(dict.fromkeys(chain.from_iterable(column.values for column in columns)))
        index = dict(zip(names, range(len(names)), strict=True))
        codes: list[Integers] = [
            np.fromiter(map(index.__getitem__, column.tolist()), dtype=np.intp, count=len(column)) for column in columns
        ]
        return codes, names
    arrays = [np.asarray(column.values) for column in columns]
    low = min(int(array.min()) for array in arrays)
    high = max(int(array.max()) for array in arrays)
    if high - low < 1000:
        shifted = [array.astype(np.intp) - low if low else array for array in arrays]
        return list(shifted), list(range(low, high + 1))
    values, joint = np.unique(np.concatenate(arrays), return_inverse=True)
    return np.split(joint, np.cumsum([len(array) for array in arrays])[:-1]), values.tolist()


@dataclass(frozen=True)
class CodedColumns:
    """Checked columns, and those that hold labels as common codes: `labels[code]` is the label."""

    columns: Mapping[str, Column]
    codes: Mapping[str, Integers]
    labels: list[Any]

    def __getitem__(self, name: str) -> Integers:
        return self.codes[name]

    def code_of(self, label: Any) -> int:
        """Return the code of a label, -1 if it does not occur."""
        return self.labels.index(label) if label in self.labels else -1

    def constant(self, *names: str) -> list[Any]:
        """Return [label] if the columns hold one and the same label in all of at least two rows, else []."""
        first = self.codes[names[0]][:1]
        columns = [self.codes[name] for name in names]
        if len(columns[0]) < 2 or not all((column == first).all() for column in columns):
            return []
        return [self.labels[int(first[0])]]


def code_columns(
    function: str, labels: Mapping[str, Any], others: Mapping[str, Any] | None = None, **optional: Any
) -> CodedColumns:
    """Check columns (one length, one kind each and one for all labels, nothing missing) and code the labels.

    `others` are columns that hold no labels; of `optional` ones those that are None are left out.
    """
    values_of = {**labels, **(others or {})} | {name: values for name, values in optional.items() if values is not None}
    columns = {name: as_column(values, function=function, parameter=name) for name, values in values_of.items()}
    check_same_length(function, columns)
    check_comparable(function, {name: columns[name] for name in labels})
    codes, names = code_jointly(*(columns[name] for name in labels))
    return CodedColumns(columns, dict(zip(labels, codes, strict=True)), names)


def as_mask(function: str, parameter: str, column: Column) -> npt.NDArray[np.bool_]:
    """Return a column of true and false (or 1 and 0) as booleans."""
    array = np.array(column.tolist(), dtype=object)
    check_rows(function, parameter, "be true or false", array, (array != 0) & (array != 1))
    return array.astype(np.bool_)


def as_probabilities(
    values: Any, *, function: str, parameter: str, names: Sequence[Any] | None = None
) -> npt.NDArray[np.float64]:
    """Return `values` as floats in [0, 1]; float32 softmax may exceed 1 in the seventh digit and is let pass.

    `names` are what an error calls the rows.
    """
    check_unmasked(function, parameter, values)
    try:
        array = np.asarray(values if hasattr(values, "__array__") else list(values), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise input_error(function, parameter, "hold numbers between 0 and 1", got=values) from None
    if array.ndim != 1 or len(array) == 0:
        raise input_error(function, parameter, "be a list of at least one number", got=values)
    wrong = ~((array >= 0.0) & (array <= 1.0 + 1e-6))
    check_rows(function, parameter, "lie between 0 and 1", array, wrong, rows=names)
    return np.minimum(array, 1.0)


def as_generator(function: str, parameter: str, seed: Any) -> np.random.Generator:
    """Return the random generator that `seed` is or stands for; 0 is a seed, None is not."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(check_whole(function, parameter, seed, at_least=0, at_most=None))
