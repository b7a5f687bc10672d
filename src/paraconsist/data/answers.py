"""Gold labels, the labels that rules allow, and predictions: what a file holds of them, as arrays."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data import tables
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.errors import input_error

#: The largest number that stands for "no answer could be read" among integer predictions; see `mark_unparsed`.
UNPARSED = -2
#: The gold label of every row of a file without gold labels, where predictions are numbers; else it is empty text.
NO_GOLD = 2**63 - 1
_ALLOWED = "allowed_labels"
#: With fewer answers, labels may fail to meet by chance.
_FEW_ROWS = 10
_MOST_LISTED = 6


def gold_labels(
    predictions: Predictions, label: str, prediction: str
) -> tuple[NDArray[Any], NDArray[np.bool_], list[list[Any]] | None]:
    """Return the gold labels, which rows have one, and the labels that a rule allows each row.

    Without a column of labels, which is then called as by default or not at all, no row has one (`NO_GOLD`). Where a
    rule allows several the label may be empty; it is -1 then, or ``(none)``. A label -1 says the same if the file names
    its labels, or the rule of the row does not allow -1; elsewhere it is a label like any other.
    """
    table = predictions.table
    if label in ("", SourceOptions.label) and label not in table.column_names:
        column = tables.column_of(table, prediction, parameter="prediction")
        answers, _ = tables.fillable_column(column, prediction, "prediction")
        labels = np.full(len(answers), "" if tables.is_text(answers) else NO_GOLD)
        return labels, np.zeros(len(labels), dtype=np.bool_), None
    if _ALLOWED not in table.column_names:
        labels = tables.filled_column(table, label, "label")
        return labels, np.ones(len(labels), dtype=np.bool_), None
    column = tables.column_of(table, label, parameter="label")
    if pa.types.is_null(column.type):
        column = column.cast(tables.column_of(table, prediction, parameter="prediction").type)
    labels, empty = tables.fillable_column(column, label, "label")
    named = tables.is_text(labels)
    allowed = allowed_labels(table[_ALLOWED].to_pylist(), None if named else predictions.label_names)
    for row in np.flatnonzero(empty).tolist():
        if not allowed[row]:
            raise tables.column_error("label", label, "not be empty", None, row, tables.EMPTY)
    if empty.any():
        none: Any = "(none)" if named else -1
        of_rules = [rule[0] if len(rule) == 1 else none for rule in allowed]
        labels = np.where(empty, tables.text_array(of_rules) if named else np.array(of_rules), labels)
    if not all(allowed):
        allowed = [rule or [label] for rule, label in zip(allowed, labels.tolist(), strict=True)]
    has_gold = np.ones(len(labels), dtype=np.bool_)
    for row in np.flatnonzero(empty if named else labels == -1).tolist():
        has_gold[row] = labels[row] in allowed[row] and (named or not predictions.label_names)
    return labels, has_gold, allowed


def allowed_labels(cells: Iterable[Any], label_names: Sequence[str] | None, function: str = "score") -> list[list[Any]]:
    """Return the labels that a rule allows each row, empty where a cell is.

    A cell is a list of labels, a single label, or text of either: ``neutral|contradiction``, ``[1, 2]``, ``['a',
    'b']``. `label_names` is None where gold labels are names; else they are numbers, and these the names of 0, 1, ...
    as far as there are any: names are turned into numbers. InputError if a cell holds no labels of the gold labels'
    kind.
    """
    number = {name: i for i, name in enumerate(label_names or ())}

    def read(label: Any) -> Any:
        if label_names is None:
            return label if isinstance(label, str) and label else None
        if isinstance(label, float) and label.is_integer():
            return int(label)
        if isinstance(label, str):
            return number.get(label, int(label) if label.lstrip("-").isdecimal() else None)
        return int(label) if isinstance(label, int) else None

    def read_rule(cell: Any, row: int) -> list[Any]:
        labels = [read(label) for label in labels_in(cell)]
        if any(label is None or (label_names is not None and not -(2**63) <= label < 2**63) for label in labels):
            must = f"hold {'names' if label_names is None else 'numbers'} as `label` does, or lists of them"
            raise input_error(function, _ALLOWED, must, got=cell, row=row)
        return labels

    rules: dict[str, list[Any]] = {}  # most rows share theirs
    allowed = []
    for row, cell in enumerate(cells):
        key = repr(cell)
        if key not in rules:
            rules[key] = read_rule(cell, row)
        allowed.append(rules[key])
    return allowed


def labels_in(cell: Any) -> Sequence[Any]:
    """Return the labels of a cell of ``allowed_labels``, one None where it cannot be read."""
    if cell is None or cell == "":
        return []
    if isinstance(cell, str) and cell.startswith("["):
        try:
            cell = literal_eval(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [None]
    elif isinstance(cell, str):
        return [label.strip() for label in cell.split("|")]
    return cell if isinstance(cell, list) else [cell]


def predicted_labels(
    table: pa.Table, name: str, labels: NDArray[Any], has_gold: NDArray[np.bool_], allowed: list[list[Any]] | None
) -> tuple[NDArray[Any], NDArray[np.bool_], bool]:
    """Return the predictions, where no answer could be read, and whether -1 says so.

    A missing value and an empty text say so, and -1 where there are gold labels, none of which is -1.
    """
    column = tables.column_of(table, name, parameter="prediction")
    named = tables.is_text(labels)
    values, unparsed = tables.fillable_column(column, name, "prediction")
    if unparsed.all():
        values = np.full(len(values), "" if named else 0)
    if tables.is_text(values) != named:
        must = "be of the labels' kind (both names, or both numbers)"
        remedy = f"The first label is {labels.item(0)!r}."
        remedy += "" if named else " If labels are numbers for names, give the names in order as `label_names`."
        raise tables.column_error("prediction", name, must, values.item(0), 0, remedy)
    of_rules = np.array([label for rule in allowed or () for label in rule], dtype=values.dtype)
    gold = np.concatenate([labels[has_gold], of_rules])
    is_mark = np.zeros(len(values), np.bool_) if named or not len(gold) or -1 in gold else ~unparsed & (values == -1)
    unparsed = unparsed | is_mark
    return mark_unparsed(values, unparsed, labels, of_rules), unparsed, bool(is_mark.any())


def mark_unparsed(
    predictions: NDArray[Any], unparsed: NDArray[np.bool_], *labels: NDArray[Any], each: bool = False
) -> NDArray[Any]:
    """Return the predictions, those that are unparsed holding a value that is none of the labels or other predictions.

    The predictions are all numbers or all names, shape (n,), as are `labels`, what the value must not be beside them.
    With `each` every unparsed prediction holds a value of its own. InputError if labels are numbers so low that none is
    left below them.
    """
    n = int(np.count_nonzero(unparsed))
    if not n:
        return predictions
    if tables.is_text(predictions):
        names = np.char.add("\x00unparsed", np.arange(n).astype(str) if each else "")
        marked = predictions.astype(np.promote_types(predictions.dtype, names.dtype))  # objects stay objects
        marked[unparsed] = names
        return marked
    lowest = min(int(values.min()) for values in (predictions, *labels) if len(values))
    start = min(lowest - 1, UNPARSED)
    if start - n < np.iinfo(np.int64).min:
        must, remedy = "leave room for unparsed answers below them", "Write labels as names."
        raise tables.column_error("label", "label", must, lowest, remedy=remedy)
    marked = predictions.copy()
    marked[unparsed] = start - np.arange(n) if each else start
    return marked


def check_known(parameter: str, name: str, values: NDArray[Any], label_names: Sequence[str]) -> None:
    """Refuse labels that the file itself does not know; files made elsewhere name none."""
    if not label_names:
        return
    known = tables.text_array(label_names) if tables.is_text(values) else np.arange(len(label_names))
    wrong = ~tables.is_among(values, known)
    if wrong.any():
        row = int(np.argmax(wrong))
        numbered = ", ".join(f"{i} {label}" for i, label in enumerate(label_names))
        raise tables.column_error(parameter, name, f"be one of the file's labels ({numbered})", values.item(row), row)


def check_meeting(
    name: str, predictions: NDArray[Any], labels: NDArray[Any], parsed: NDArray[np.bool_], buckets: NDArray[Any] | None
) -> None:
    """Refuse predictions that use other names than the gold labels: no row could be right.

    That no prediction is any row's gold label is no proof by itself: a constant model may give a label that no row has,
    and where every problem has an answer of its own a weak model may never give one. It is one where a label differs in
    case or spaces only, or where both columns hold several labels, gold ones that come back from bucket to bucket. A
    file that names its labels is checked against these names instead.
    """
    if ((predictions == labels) & parsed).any():
        return
    answers, gold = np.unique(predictions[parsed]), np.unique(labels)
    if not len(answers) or tables.is_among(answers, gold).any():
        return
    n_problems = len(labels) if buckets is None else len(np.unique(buckets))
    several = min(len(answers), len(gold)) > 1 and parsed.sum() >= _FEW_ROWS and 2 * len(gold) <= n_problems
    named = tables.is_text(gold)
    by_case = named and bool(_folded(answers) & _folded(gold))
    if by_case or several:
        remedy = "Renumber one column; if these are classes of one task, name every class in `label_names`."
        if named:
            remedy = "Rename the labels of one column, or mend what reads the answers."
        if by_case:
            remedy = "They differ in case or spaces only: write both columns alike."
        must = f"use the gold labels, {_some(gold)}"
        raise tables.column_error("prediction", name, must, answers[:_MOST_LISTED].tolist(), remedy=remedy)


def _folded(labels: NDArray[Any]) -> set[str]:
    return {str(label).strip().casefold() for label in labels.tolist()}


def _some(labels: NDArray[Any]) -> str:
    more = ", ..." if len(labels) > _MOST_LISTED else ""
    return ", ".join(repr(label) for label in labels[:_MOST_LISTED].tolist()) + more
