"""Predictions made anywhere become the rows that the measures read: labels, answers, roles, probabilities, groups."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paraconsist.data import tables
from paraconsist.data.foreign import as_text, lines_in, listed
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import ARGUMENTS, CALLS, CHOICES, PROBLEM, TRIALS, UNANSWERED, VALUE, Predictions
from paraconsist.errors import input_error

#: A row's place in its bucket.
ROLES = (
    *("original", "paraphrase", "swap", "negation"),
    *("antecedent_1", "antecedent_2", "consequent", "part_1", "part_2", "merged"),
)

#: Roles of rows that stand in several buckets, as one of two texts which are joined there.
_JOINED = ("antecedent_1", "antecedent_2", "part_1", "part_2")

#: What the orders in which a judge is shown two texts are called -> the role.
_ORDERS = {"given": "original", "swapped": "swap"}

#: What marks originals, or the other rows -> the role.
_FLAGS = {"true": "original", "1": "original", "false": "paraphrase", "0": "paraphrase"}

_PROBABILITY_TOLERANCE = 1e-3
#: A column of ParaNLU's that marks a few rows, no stratum unless it is named.
_MARK = "copies_original"


@dataclass(frozen=True)
class Rows:
    """Predictions as arrays of equal length n."""

    buckets: NDArray[Any] | None  # shape (n,): Bucket ids
    groups: NDArray[Any] | None  # shape (n,): What intervals resample; None where that is the bucket
    roles: NDArray[Any]  # shape (n,): Each row's place in its bucket (`ROLES`)
    # shape (n,): Both integers, or both strings. Unparsed predictions hold a value that equals no label.
    labels: NDArray[Any]
    predictions: NDArray[Any]
    has_gold: NDArray[np.bool_]  # shape (n,): Where there is a gold label; a rule may allow several in its place
    unparsed: NDArray[np.bool_]  # shape (n,): Where no answer could be read
    confidences: NDArray[np.float64] | None  # shape (n,): The model's probability of the gold label
    # shape (n,): The model's probability of the label that it predicts; nan where that is unparsed.
    predicted_confidences: NDArray[np.float64] | None = None
    allowed: list[list[Any]] | None = None  # The labels that a rule allows each row
    strata: dict[str, NDArray[Any]] = field(default_factory=dict)  # shape (n,): What results can be broken down by
    is_marked: bool = False  # Whether -1 in the file is an unparsed answer
    never_agree: bool = False  # Whether an unparsed answer equals no other (each then holds a value of its own)
    variants: NDArray[Any] | None = None  # shape (n,): Which wording each row has, the same over buckets
    places: tuple[Any, ...] | None = None  # Labels of what a judge is shown first and second, and of ties
    #: The model's probability of each label, shape (n, n_labels), and of those that a rule allows, shape (n,); where a
    #: measure reads them.
    probabilities: NDArray[np.float64] | None = None
    allowed_probabilities: NDArray[np.float64] | None = None
    relations: Mapping[str, Any] | None = None  # between statements, where these are of the user's own
    inputs: NDArray[np.int32] | None = None  # shape (n,): Equal numbers, equal texts; where a bucket joins two of them
    #: shape (n,): What a comparer read in answers in free text, -1 where nothing; and which values are the same where
    #: these are not the equal ones alone, with the share of pairs of answers to different problems that are the same.
    values: NDArray[np.int64] | None = None
    same: frozenset[tuple[int, int]] | None = None
    chance: float = float("nan")
    problems: NDArray[Any] | None = None  # shape (n,): What was asked in several epochs, each of which is a bucket
    calls: list[tuple[str, ...]] | None = None  # The tools that the run of an agent called, in order
    arguments: list[tuple[str, ...]] | None = None  # and the arguments of each call
    are_runs: bool = True  # Whether a column says which run a row is: a text of calls may be of telephone calls

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_without_gold(self) -> bool:
        """Whether no row has a gold label or rule."""
        return self.allowed is None and not self.has_gold.any()

    @property
    def n_problems(self) -> int:
        """The number of buckets; the epochs of a problem count once."""
        return len(np.unique(np.asarray(self.buckets if self.problems is None else self.problems)))

    @property
    def nouns(self) -> tuple[str, str]:
        """What a bucket and a row are called."""
        return ("problem", "wording") if self.calls is None else ("task", "run")

    def where(self, mask: NDArray[np.bool_]) -> Rows:
        return self.take(np.flatnonzero(mask))

    def take(self, index: NDArray[np.intp]) -> Rows:
        """Return the rows at some positions, in that order."""
        taken = {}
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                value = value[index]
            elif isinstance(value, list):
                value = [value[i] for i in index]
            elif isinstance(value, dict) and name != "relations":
                value = {key: column[index] for key, column in value.items()}
            taken[name] = value
        return Rows(**taken)


def read_rows(
    predictions: Predictions, names: SourceOptions, *, need_buckets: bool = True, need_probabilities: bool = False
) -> Rows:
    """Take the measures' columns out of a predictions table; the rows of a full test set belong to no bucket.

    InputError if a column is missing, or holds missing values or values of two kinds; its parameter is the field of
    `SourceOptions` that names the column.
    """
    table = _answers_of_one_kind(tables.plain_table(predictions.table), names, predictions.label_names)
    predictions = replace(predictions, table=table)
    _check_columns(table, names, ("bucket", "prediction", "label") if need_buckets else ("prediction", "label"))
    if not need_buckets and names.label:  # the full test set, whose accuracy is wanted
        tables.column_of(table, names.label, parameter="label")
    labels, has_gold, allowed = gold_labels(predictions, names.label, names.prediction)
    guesses, unparsed, is_marked = predicted_labels(table, names.prediction, labels, has_gold, allowed)
    check_known("label", names.label, labels[has_gold], predictions.label_names)
    check_known("prediction", names.prediction, guesses[~unparsed], predictions.label_names)
    buckets = groups = None
    if need_buckets:
        buckets = tables.filled_column(table, names.bucket, "bucket")
        if names.group in table.column_names:
            groups = tables.plain_column(table[names.group], names.group, "group")
            groups = None if np.array_equal(groups, buckets) else groups
    values = None
    if VALUE in table.column_names:
        values = table[VALUE].fill_null(-1).to_numpy().astype(np.int64)
    elif not (predictions.label_names or predictions.metadata.get("source", {}).get("judged")) and has_gold.all():
        check_meeting(names.prediction, guesses, labels, ~unparsed, buckets)
    roles = (
        _roles(table, names, "relations" in predictions.metadata) if need_buckets else np.full(len(labels), "original")
    )
    if names.places is not None and need_buckets and "swap" not in roles:
        must = "be given for verdicts in both orders, whose `role` is given or swapped"
        raise input_error("score", "places", must, got=[*names.places])
    is_ordered = predictions.label_names or not tables.is_text(labels) or len(names.probabilities) > 1
    told = None
    if need_probabilities or (names.confidence is None and is_ordered):
        columns: Sequence[str] = names.probabilities
        if len(columns) > 1:
            known = {*labels[has_gold].tolist(), *(label for rule in allowed or () for label in rule)}
            columns = _in_order(columns, predictions.label_names, known, {*guesses[~unparsed].tolist()})
        told = _probabilities(predictions, columns, are_texts=tables.is_text(labels))
    of_gold = told.of(labels) if told else None
    if names.confidence is not None:
        of_gold = _own_confidences(table, names.confidence)
    inputs = None
    if np.isin(roles, _JOINED).any() and "input_id" in table.column_names and not table["input_id"].null_count:
        inputs = table["input_id"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int32)
    return Rows(
        buckets=buckets,
        groups=groups,
        roles=roles,
        labels=labels,
        predictions=guesses,
        has_gold=has_gold,
        unparsed=unparsed,
        is_marked=is_marked,
        confidences=of_gold,
        predicted_confidences=told.of(guesses) if told and names.confidence is None else None,
        allowed=allowed if need_buckets else None,
        strata=_strata(predictions, names),
        places=_places(names.places, labels),
        variants=tables.filled_column(table, names.variant, "variant") if names.variant and need_buckets else None,
        probabilities=told.matrix if told and need_probabilities else None,
        allowed_probabilities=told.of_rules(allowed) if told and need_probabilities and allowed is not None else None,
        relations=predictions.metadata.get("relations"),
        inputs=inputs,
        values=values,
        same=predictions.metadata.get("same_pairs"),
        chance=predictions.metadata.get("chance", float("nan")),
        problems=tables.filled_column(table, PROBLEM, "bucket") if PROBLEM in table.column_names else None,
        calls=_of_calls(table, CALLS),
        arguments=_of_calls(table, ARGUMENTS) if CALLS in table.column_names else None,
        are_runs=not {*TRIALS}.isdisjoint(table.column_names),
    )


def _of_calls(table: pa.Table, name: str) -> list[tuple[str, ...]] | None:
    """Return a text of each call of each run: a list, or a text with a line each; None where no column has them."""
    kind = table.schema.field(name).type if name in table.column_names else pa.null()
    if not (pa.types.is_string(kind) or (pa.types.is_list(kind) and pa.types.is_string(kind.value_type))):
        return None
    values = (value or () for value in table[name].to_pylist())
    return [tuple(map(str, lines_in(value) if isinstance(value, str) else value)) for value in values]


def _answers_of_one_kind(table: pa.Table, names: SourceOptions, label_names: Sequence[str]) -> pa.Table:
    """Return numbers, true and false as text where the other column, of labels or predictions, is text that holds them.

    One answer of many may be no number, and the gold labels may have another class than those that were given.
    """
    if label_names or not {names.label, names.prediction} <= {*table.column_names}:
        return table
    labels, answers = table[names.label], table[names.prediction]
    table = table.set_column(table.column_names.index(names.label), names.label, _written_as(answers, labels))
    if pa.types.is_string(tables.numeric(labels).type):
        place = table.column_names.index(names.prediction)
        table = table.set_column(place, names.prediction, answers_as(labels, answers))
    return table


def answers_as(texts: pa.ChunkedArray, answers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return answers as `_written_as`, unchanged if one is -1, which may be no answer."""
    is_marked = pa.types.is_integer(answers.type) and pc.any(pc.equal(answers.cast(pa.string()), "-1")).as_py()
    return answers if is_marked else _written_as(texts, answers)


def _written_as(texts: pa.ChunkedArray, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of whole numbers, or true and false, as text if another has some of them as text in their rows.

    Not where a text is such a number with ``.0``, which would be another.
    """
    if pa.types.is_string(texts.type) and (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
        is_pointed = pc.any(pc.match_substring_regex(texts, r"^-?\d+\.0+$")).as_py()
        for written in (column.cast(pa.string()), pc.utf8_title(column.cast(pa.string()))):  # true, True
            if not is_pointed and pc.any(pc.equal(written, texts)).as_py():
                return written
    return column


def _check_columns(table: pa.Table, names: SourceOptions, needed: Sequence[str]) -> None:
    """Name all missing columns at once, where it is more than one."""
    named = {parameter: getattr(names, parameter) for parameter in needed}
    absent = {parameter: name for parameter, name in named.items() if name and name not in table.column_names}
    if len(absent) > 1:
        raise tables.missing_columns(table, absent)


def _roles(table: pa.Table, names: SourceOptions, are_statements: bool = False) -> NDArray[Any]:
    if names.original is not None:
        return roles_of_flags(tables.column_of(table, names.original, parameter="original"), names.original)
    if names.role not in table.column_names:
        return np.full(table.num_rows, "paraphrase")
    roles = tables.plain_column(table[names.role], names.role, "role")
    if are_statements:
        return roles
    distinct, codes = np.unique(roles, return_inverse=True)
    lowered = [str(role).lower() for role in distinct.tolist()]  # Original is original
    lowered = [_ORDERS.get(role, role) for role in lowered]
    unknown = np.array([role not in ROLES for role in lowered])
    if unknown.any():
        row = int(np.argmax(unknown[codes]))
        remedy = "Give a column that is true or false as `original`." if {*lowered} <= _FLAGS.keys() else ""
        raise tables.column_error("role", names.role, f"be one of {', '.join(ROLES)}", roles.item(row), row, remedy)
    return np.array(lowered)[codes]


def roles_of_flags(column: pa.ChunkedArray, name: str) -> NDArray[Any]:
    """Return the roles of rows from a column that is true or false, 1 or 0, or one of these as text, in every row."""
    flags, codes = np.unique(tables.plain_column(column, name, "original"), return_inverse=True)
    roles = [_FLAGS.get(str(flag).lower(), "") for flag in flags.tolist()]
    if "" in roles:
        row = int(np.argmin(np.array(roles)[codes] != ""))
        remedy = f"Compare it, as in '{name} == \"...\"'."
        raise tables.column_error("original", name, "be true or false in every row", column[row].as_py(), row, remedy)
    if "original" not in roles:
        warnings.warn(f"no row is an original by {name}", UserWarning, stacklevel=2)
    return np.array(roles)[codes]


def _places(places: Sequence[str] | None, labels: NDArray[Any]) -> tuple[Any, ...] | None:
    """Return labels that were named as text as what the labels are."""
    if places is None or tables.is_text(labels):
        return None if places is None else tuple(places)
    try:
        return tuple(map(int, places))
    except ValueError:
        raise input_error("score", "places", "be numbers, as the labels are", got=[*places]) from None


def _strata(predictions: Predictions, names: SourceOptions) -> dict[str, NDArray[Any]]:
    """Return the columns that were named; else those of a run that are counted easily and have no gaps."""
    table = predictions.table
    if names.stratum is not None:
        return {name: _stratum(tables.column_of(table, name, parameter="stratum"), name) for name in names.stratum}
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_boolean)
    wanted = [name for name in predictions.strata if "set" in predictions.metadata and name != _MARK]
    countable = [name for name in wanted if any(is_kind(table[name].type) for is_kind in kinds)]
    return {name: _stratum(table[name], name) for name in countable if not table[name].null_count}


def _stratum(column: Any, name: str) -> NDArray[Any]:
    values = tables.plain_column(column, name, "stratum")
    return np.where(values != 0, "yes", "no") if pa.types.is_boolean(column.type) else values


def _own_confidences(table: pa.Table, name: str) -> NDArray[np.float64] | None:
    """Return the gold labels' probabilities in a column that holds them, nan where it is empty; None if it is."""
    values = tables.floats(tables.column_of(table, name, parameter="confidence"), name, "confidence")
    wrong = (values < 0) | (values > 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise tables.column_error("confidence", name, "lie between 0 and 1", float(values[row]), row)
    return None if np.isnan(values).all() else values


def _in_order(columns: Sequence[str], label_names: Sequence[str], gold: set[Any], answers: set[Any]) -> Sequence[str]:
    """Return columns of probabilities in the order of the labels that they are named after, if they are.

    Only numbered labels, and labels with names in `label_names`, allow columns with other names, in the labels' order.
    InputError if a label has no column, or a column is no label.
    """
    by_number = not label_names and not any(isinstance(label, str) for label in gold | answers)
    labels = [*label_names] or sorted(map(str, gold))
    if by_number and not all(map(str.isdecimal, columns)):
        return columns
    if label_names and not set(columns) & set(label_names):
        return columns
    known = {*label_names, *labels, *([] if label_names else map(str, columns if by_number else answers))}
    absent, strange = ([name for name in some if name not in of] for some, of in ((labels, columns), (columns, known)))
    if absent or strange:
        must = "name a column for every label, called as the label" if absent else "name columns called as labels"
        remedy = f"The labels are {', '.join(labels)}. If there are others, or columns have other names, give all "
        remedy += "labels, in the order of the columns, as `label_names`."
        raise input_error("score", "probabilities", must, got=(absent and [*columns]) or strange, remedy=remedy)
    return [*label_names] or sorted(columns, key=lambda name: (int(name) if by_number else 0, name))


@dataclass(frozen=True)
class _Probabilities:
    """The model's probability of each label, shape (n, n_labels), nan in rows without any."""

    matrix: NDArray[np.float64]
    labels: Sequence[Any]  # of the columns, in order; none where no column says it

    def of(self, labels: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return the probability of each row's label, nan for what is no label; None where no column says it."""
        if not self.labels:
            return None
        index = {label: place for place, label in enumerate(self.labels[: self.matrix.shape[1]])}
        places = np.array([index.get(label, -1) for label in labels.tolist()], dtype=np.intp)
        return np.where(places >= 0, self.matrix[np.arange(len(labels)), places], np.nan)

    def of_rules(self, allowed: list[list[Any]]) -> NDArray[np.float64]:
        """Return the probability of the labels that a rule allows each row, shape (n,)."""
        total = np.zeros(len(allowed))
        for label in {label for rule in allowed for label in rule}:
            each: Any = self.of(np.full(len(allowed), label))
            total += np.where([label in rule for rule in allowed], each, 0.0)
        return total


def _probabilities(predictions: Predictions, columns: Sequence[str], *, are_texts: bool) -> _Probabilities | None:
    """Return what columns, in the labels' order, say of the labels; None where no row has any."""
    matrix = _probability_rows(predictions, columns)
    if matrix is None:
        return None
    labels: Sequence[Any] = predictions.label_names if are_texts else range(sys.maxsize)
    if len(columns) > 1 and not predictions.label_names:
        if are_texts:
            labels = columns
        elif all(map(str.isdecimal, columns)):
            labels = [*map(int, columns)]
    return _Probabilities(matrix, labels)


def _probability_rows(predictions: Predictions, probabilities: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the probability of every label, shape (n, n_labels), nan in rows without any; None where no row has any.

    A row without any has no list, or an empty cell in the column of each label.
    """
    table = predictions.table
    columns = [name for name in probabilities if name in table.column_names]
    if not columns:
        return None
    if len(columns) == 1:
        table = table.set_column(table.column_names.index(columns[0]), columns[0], _out_of_json(table[columns[0]]))
    for name in probabilities:
        tables.column_of(table, name, parameter="probabilities")
    if len(columns) > 1:
        matrix = np.column_stack([tables.floats(table[name], name, "probabilities") for name in columns])
        rows = np.flatnonzero(~np.isnan(matrix).all(axis=1))
    else:
        known = table[columns[0]].is_valid()
        if UNANSWERED in table.column_names:
            known = pc.and_(known, table[UNANSWERED].is_null())
        rows = np.flatnonzero(known)
        if not len(rows):
            return None
        column = table[columns[0]]
        held = _lists(column if pa.types.is_run_end_encoded(column.type) else column.filter(known), columns[0], rows)
        matrix = np.full((len(table), held.shape[1]), np.nan)
        matrix[rows] = held
    if "(none)" not in predictions.metadata.get("label_map", ""):  # a partial map leaves probability out
        good = (np.abs(matrix[rows].sum(axis=1) - 1) <= _PROBABILITY_TOLERANCE) & (matrix[rows] >= 0).all(axis=1)
        if not good.all():
            row = int(rows[np.argmin(good)])
            got, remedy = [round(float(p), 6) for p in matrix[row]], "Logits become probabilities by softmax."
            raise tables.column_error("probabilities", columns[0], "be non-negative and sum to one", got, row, remedy)
    return matrix if len(rows) else None


def _out_of_json(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a column of JSON, as CSV has lists; other columns unchanged."""
    with suppress(ValueError, TypeError, OverflowError, RecursionError):
        if pa.types.is_string(column.type):
            column = pa.chunked_array([pa.array([json.loads(text) if text else None for text in column.to_pylist()])])
    return column


def _lists(column: pa.ChunkedArray, name: str, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return a column of lists without nulls as a matrix; `rows` are the numbers of its rows in the file."""
    column = column.combine_chunks()
    if not len(column):
        return np.empty((0, 0))
    if pa.types.is_fixed_size_list(column.type) or pa.types.is_list_view(column.type):
        column = column.cast(pa.list_(column.type.value_type))
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        remedy = "Name a column for each label in `probabilities`, or that of the gold label alone in `confidence`."
        raise tables.column_error(
            "probabilities", name, "hold lists of numbers", column[0].as_py(), int(rows[0]), remedy
        )
    lengths = pc.list_value_length(column)
    others = np.flatnonzero(pc.not_equal(lengths, lengths[0]))
    if len(others):
        row = int(others[0])
        raise tables.column_error("probabilities", name, "hold equally long lists", column[row].as_py(), int(rows[row]))
    flat = tables.floats(pa.chunked_array([column.flatten()]), name, "probabilities")
    return flat.reshape(len(column), lengths[0].as_py())


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
            raise tables.empty_cell("label", label, None, row)
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
            is_number = len(label) <= 20 and label.removeprefix("-").isdecimal()  # of 64 bits
            return number.get(label, int(label) if is_number else None)
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
    values = listed(cell, python=True)
    if isinstance(cell, str) and values == [cell]:
        return [None] if cell.startswith("[") else [label.strip() for label in cell.split("|")]
    return values


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
    folded = [{str(label).strip().casefold() for label in some.tolist()} for some in (answers, gold)]
    by_case = named and not folded[0].isdisjoint(folded[1])
    if by_case or several:
        remedy = "Renumber one column; if these are classes of one task, name every class in `label_names`."
        if named:
            remedy = "Rename the labels of one column, or mend what reads the answers."
        if by_case:
            remedy = "They differ in case or spaces only: write both columns alike."
        some = ", ".join(map(repr, gold[:_MOST_LISTED].tolist())) + ", ..." * (len(gold) > _MOST_LISTED)
        must = f"use the gold labels, {some}"
        raise tables.column_error("prediction", name, must, answers[:_MOST_LISTED].tolist(), remedy=remedy)


def answer_texts(table: pa.Table, name: str, parameter: str = "prediction") -> list[str | None]:
    """Return the answers in a column as texts: numbers as they are written, and true or false."""
    column = tables.column_of(table, name, parameter=parameter)
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        raise tables.column_error(parameter, name, "hold texts", str(kind))
    if pa.types.is_floating(kind):
        return [None if x is None or x != x else as_text(x) for x in column.to_pylist()]
    texts: list[str | None] = column.cast(pa.string()).to_pylist()
    return texts


def offered_choices(table: pa.Table) -> list[list[str] | None] | None:
    """Return the choices of every row (`CHOICES`), in a list or a text that is one; None where there are none."""
    if CHOICES not in table.column_names:
        return None
    cells = [(cell, listed(cell, python=True)) for cell in table[CHOICES].to_pylist()]
    return [None if values == [cell] else [*map(str, values)] for cell, values in cells]


def accepted_answers(table: pa.Table, label: str) -> list[list[str]]:
    """Return the accepted answers of every row, in a list or a text that is one; no list where no row has any."""
    if not label or label not in table.column_names:
        return []
    column = table[label]
    if pa.types.is_list(column.type):
        cells = [[str(text) for text in cell or () if text not in (None, "")] for cell in column.to_pylist()]
    else:
        cells = [_listed(text) for text in answer_texts(table, label, "label")]
    return cells if any(cells) else []


def _listed(text: str | None) -> list[str]:
    values = listed(text) if text else []
    are_texts = bool(values) and all(isinstance(value, (str, int, float)) for value in values)
    return [*map(str, values)] if are_texts else [text] if text else []
