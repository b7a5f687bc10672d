"""What a rule allows a prediction to be: one label, or any of a list of labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.errors import input_error
from paraconsist.measures._validation import Column, Integers, as_column
from paraconsist.measures.buckets import partition


@dataclass(frozen=True)
class AllowedLabels:
    """The sets of labels that rows allow."""

    sets: list[tuple[Any, ...]]  # the distinct sets, each without repeats and in ascending order
    of_row: Integers  # which set each row allows, shape (n_rows,)
    kind: str  # "integer" or "string", as for `Column`

    def __len__(self) -> int:
        return len(self.of_row)

    def tolist(self) -> list[list[Any]]:
        """Return the labels that each row allows."""
        lists = [list(labels) for labels in self.sets]
        return [lists[code] for code in self.of_row.tolist()]

    def labels(self) -> Column:
        """Return every label that is allowed somewhere."""
        labels = sorted({label for one_set in self.sets for label in one_set})
        return Column(self.kind, labels if self.kind == "string" else np.array(labels, dtype=np.int64))

    def members(self, labels: list[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return set and label of every label that a set allows; a label is a code that stands for ``labels[code]``."""
        code = {label: i for i, label in enumerate(labels)}
        members = [(i, code[label]) for i, one_set in enumerate(self.sets) for label in one_set if label in code]
        one_set, label = np.array(members, dtype=np.int64).reshape(-1, 2).T
        return one_set, label

    def allow(self, predicted: Integers, labels: list[Any]) -> npt.NDArray[np.bool_]:
        """Return whether each row allows its prediction, a code that stands for ``labels[code]``."""
        one_set, label = self.members(labels)
        allowed = np.sort(one_set * len(labels) + label)
        cells = self.of_row.astype(np.int64) * len(labels) + predicted
        if len(self.sets) * len(labels) <= 1 << 22:
            table = np.zeros(len(self.sets) * len(labels), dtype=np.bool_)
            table[allowed] = True
            return np.asarray(table[cells])
        return np.isin(cells, allowed)


def is_list_of_labels(value: Any) -> bool:
    """Return whether a row holds a list of labels rather than one label."""
    return isinstance(value, (list, tuple, set, frozenset)) or (isinstance(value, np.ndarray) and value.ndim == 1)


def as_allowed_labels(values: Any, *, function: str, parameter: str) -> AllowedLabels:
    """Return one label per row, or one list of allowed labels per row, as sets.

    InputError if rows hold labels and lists, an empty list, labels of two kinds, or what is no label.
    """
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise input_error(function, parameter, "be a list of labels, or of lists of allowed labels", got=values)
    rows = _rows(values)
    if rows and is_list_of_labels(rows[0]):
        return _from_lists(rows, function, parameter)
    for row, value in enumerate(rows):
        if is_list_of_labels(value):
            raise _not_throughout(function, parameter, value, row)
    column = as_column(values, function=function, parameter=parameter)
    divided = partition(column)
    return AllowedLabels([(label,) for label in divided.ids_of()], divided.codes, column.kind)


def _rows(values: Any) -> list[Any]:
    if isinstance(values, (list, tuple)):
        return list(values)
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    return listed if isinstance(listed, list) else [listed]


def _not_throughout(function: str, parameter: str, value: Any, row: int) -> Exception:
    must, remedy = "hold labels throughout, or lists of allowed labels throughout", "Write one label as a list of one."
    return input_error(function, parameter, must, got=value, row=row, remedy=remedy)


def _from_lists(rows: list[Any], function: str, parameter: str) -> AllowedLabels:
    for row, value in enumerate(rows):
        if not is_list_of_labels(value):
            raise _not_throughout(function, parameter, value, row)
    try:
        written = list(map(tuple, rows))
        first_row: dict[tuple[Any, ...], int] = {}
        for row, labels in enumerate(written):
            first_row.setdefault(labels, row)
    except TypeError:
        raise input_error(function, parameter, "hold lists of labels", got=rows[0], row=0) from None
    kind, sets = "", {}
    for labels, row in first_row.items():
        if not labels:
            raise input_error(function, parameter, "allow at least one label", got=rows[row], row=row)
        column = _one_set(labels, row, function, parameter)
        kind = kind or column.kind
        if column.kind != kind:
            raise input_error(function, parameter, f"hold {kind}s, as the first row does", got=rows[row], row=row)
        sets[labels] = tuple(sorted(set(column.tolist())))
    distinct = list(dict.fromkeys(sets.values()))
    index = {labels: i for i, labels in enumerate(distinct)}
    code = {labels: index[one_set] for labels, one_set in sets.items()}
    of_row = np.fromiter(map(code.__getitem__, written), dtype=np.intp, count=len(written))
    return AllowedLabels(distinct, of_row, kind)


def _one_set(labels: tuple[Any, ...], row: int, function: str, parameter: str) -> Column:
    try:
        return as_column(list(labels), function=function, parameter=parameter)
    except ValueError:
        must = "hold lists of integers or of strings, nothing missing"
        raise input_error(function, parameter, must, got=list(labels), row=row) from None
