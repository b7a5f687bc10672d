"""Predictions made anywhere become the rows that the measures read."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paraconsist.data.answers import check_known, check_meeting, gold_labels, predicted_labels
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import ARGUMENTS, CALLS, PROBLEM, TRIALS, UNANSWERED, VALUE, Predictions
from paraconsist.data.tables import column_error, column_of, filled_column, floats, is_text, plain_column, plain_table
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
    table = _answers_of_one_kind(plain_table(predictions.table), names, predictions.label_names)
    predictions = replace(predictions, table=table)
    _check_columns(table, names, ("bucket", "prediction", "label") if need_buckets else ("prediction", "label"))
    if not need_buckets:  # the full test set, whose accuracy is wanted
        column_of(table, names.label, parameter="label")
    labels, has_gold, allowed = gold_labels(predictions, names.label, names.prediction)
    guesses, unparsed, is_marked = predicted_labels(table, names.prediction, labels, has_gold, allowed)
    check_known("label", names.label, labels[has_gold], predictions.label_names)
    check_known("prediction", names.prediction, guesses[~unparsed], predictions.label_names)
    buckets = groups = None
    if need_buckets:
        buckets = filled_column(table, names.bucket, "bucket")
        if names.group in table.column_names:
            groups = plain_column(table[names.group], names.group, "group")
            groups = None if np.array_equal(groups, buckets) else groups
    values = None
    if VALUE in table.column_names:
        values = table[VALUE].fill_null(-1).to_numpy().astype(np.int64)
    elif not predictions.label_names and has_gold.all():
        check_meeting(names.prediction, guesses, labels, ~unparsed, buckets)
    roles = (
        _roles(table, names, "relations" in predictions.metadata) if need_buckets else np.full(len(labels), "original")
    )
    if names.places is not None and need_buckets and "swap" not in roles:
        must = "be given for verdicts in both orders, whose `role` is given or swapped"
        raise input_error("score", "places", must, got=[*names.places])
    is_ordered = predictions.label_names or not is_text(labels) or len(names.probabilities) > 1
    needs = need_probabilities or (names.confidence is None and is_ordered)
    columns: Sequence[str] = names.probabilities
    if needs and len(columns) > 1:
        known = {*labels[has_gold].tolist(), *(label for rule in allowed or () for label in rule)}
        columns = _in_order(columns, predictions.label_names, known, {*guesses[~unparsed].tolist()})
    matrix = _probability_rows(predictions, columns) if needs else None
    of_columns: Sequence[Any] = predictions.label_names if is_text(labels) else range(sys.maxsize)
    if len(columns) > 1 and not predictions.label_names:
        if is_text(labels):
            of_columns = columns
        elif all(map(str.isdecimal, columns)):
            of_columns = [*map(int, columns)]
    of_label = partial(_label_probabilities, matrix, of_columns)
    of_rules = None
    if need_probabilities and matrix is not None and allowed is not None:
        of_rules = np.zeros(len(labels))
        for label in {label for rule in allowed for label in rule}:
            each: Any = of_label(np.full(len(labels), label))
            of_rules += np.where([label in rule for rule in allowed], each, 0.0)
    return Rows(
        buckets=buckets,
        groups=groups,
        roles=roles,
        labels=labels,
        predictions=guesses,
        has_gold=has_gold,
        unparsed=unparsed,
        is_marked=is_marked,
        confidences=of_label(labels) if names.confidence is None else _own_confidences(table, names.confidence),
        predicted_confidences=of_label(guesses) if names.confidence is None else None,
        allowed=allowed if need_buckets else None,
        strata=_strata(predictions, names),
        places=_places(names.places, labels),
        variants=filled_column(table, names.variant, "variant") if names.variant and need_buckets else None,
        probabilities=matrix if need_probabilities else None,
        allowed_probabilities=of_rules,
        relations=predictions.metadata.get("relations"),
        inputs=_inputs(table) if np.isin(roles, _JOINED).any() else None,
        values=values,
        same=predictions.metadata.get("same_pairs"),
        chance=predictions.metadata.get("chance", float("nan")),
        problems=filled_column(table, PROBLEM, "bucket") if PROBLEM in table.column_names else None,
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
    return [tuple(value.splitlines() if isinstance(value, str) else map(str, value)) for value in values]


def _answers_of_one_kind(table: pa.Table, names: SourceOptions, label_names: Sequence[str]) -> pa.Table:
    """Return numeric labels as text where predictions are text that holds them: one answer of many may be no number."""
    columns = [name for name in (names.label, names.prediction) if name in table.column_names]
    if len(columns) < 2 or label_names or not pa.types.is_string(table[names.prediction].type):
        return table
    labels = table[names.label]
    if not pa.types.is_integer(labels.type):
        return table
    texts = labels.cast(pa.string())
    if not pc.any(pc.equal(texts, table[names.prediction])).as_py():
        return table
    return table.set_column(table.column_names.index(names.label), names.label, texts)


def _check_columns(table: pa.Table, names: SourceOptions, needed: Sequence[str]) -> None:
    """Name all missing columns at once, where it is more than one."""
    columns = {parameter: getattr(names, parameter) for parameter in needed}
    absent = [parameter for parameter, name in columns.items() if name and name not in table.column_names]
    if len(absent) > 1:
        must = f"name a column of the predictions, as must {' and '.join(f'`{other}`' for other in absent[1:])}"
        remedy = f"Its columns are {', '.join(table.column_names)}."
        raise input_error("score", absent[0], must, got=[columns[one] for one in absent], remedy=remedy)


def _roles(table: pa.Table, names: SourceOptions, are_statements: bool = False) -> NDArray[Any]:
    if names.original is not None:
        flags = plain_column(column_of(table, names.original, parameter="original"), names.original, "original")
        if is_text(flags):
            texts = np.array([flag.lower() for flag in flags.tolist()], dtype=object)
            known = (texts == "true") | (texts == "false")
            if not known.all():
                row = int(np.argmin(known))
                raise column_error("original", names.original, "be true or false", str(flags[row]), row)
            flags = texts == "true"
        return np.where(flags, "original", "paraphrase")
    if names.role not in table.column_names:
        return np.full(table.num_rows, "paraphrase")
    roles = plain_column(table[names.role], names.role, "role")
    if are_statements:
        return roles
    distinct, codes = np.unique(roles, return_inverse=True)
    lowered = [str(role).lower() for role in distinct.tolist()]  # Original is original
    lowered = [_ORDERS.get(role, role) for role in lowered]
    unknown = np.array([role not in ROLES for role in lowered])
    if unknown.any():
        row = int(np.argmax(unknown[codes]))
        raise column_error("role", names.role, f"be one of {', '.join(ROLES)}", roles.item(row), row)
    return np.array(lowered)[codes]


def _places(places: Sequence[str] | None, labels: NDArray[Any]) -> tuple[Any, ...] | None:
    """Return labels that were named as text as what the labels are."""
    if places is None or is_text(labels):
        return None if places is None else tuple(places)
    try:
        return tuple(map(int, places))
    except ValueError:
        raise input_error("score", "places", "be numbers, as the labels are", got=[*places]) from None


def _inputs(table: pa.Table) -> NDArray[np.int32] | None:
    """Return which rows have the same input, as codes; None where the file does not say."""
    if "input_id" not in table.column_names or table["input_id"].null_count:
        return None
    codes = table["input_id"].combine_chunks().dictionary_encode()
    return np.asarray(codes.indices.to_numpy(), dtype=np.int32)


def _strata(predictions: Predictions, names: SourceOptions) -> dict[str, NDArray[Any]]:
    """Return the columns that were named; else those of a run that are counted easily and have no gaps."""
    table = predictions.table
    if names.stratum is not None:
        return {name: _stratum(column_of(table, name, parameter="stratum"), name) for name in names.stratum}
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_boolean)
    wanted = [name for name in predictions.strata if "set" in predictions.metadata and name != _MARK]
    countable = [name for name in wanted if any(is_kind(table[name].type) for is_kind in kinds)]
    return {name: _stratum(table[name], name) for name in countable if not table[name].null_count}


def _stratum(column: Any, name: str) -> NDArray[Any]:
    values = plain_column(column, name, "stratum")
    return np.where(values != 0, "yes", "no") if pa.types.is_boolean(column.type) else values


def _own_confidences(table: pa.Table, name: str) -> NDArray[np.float64] | None:
    """Return the gold labels' probabilities in a column that holds them, nan where it is empty; None if it is."""
    values = floats(column_of(table, name, parameter="confidence"), name, "confidence")
    wrong = (values < 0) | (values > 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise column_error("confidence", name, "lie between 0 and 1", float(values[row]), row)
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


def _label_probabilities(
    matrix: NDArray[np.float64] | None, of_columns: Sequence[Any], labels: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Return the probability of each row's label, nan for what is no label; None where no column says it.

    `of_columns` are the labels of the matrix's columns, in order.
    """
    if matrix is None or not of_columns:
        return None
    index = {label: place for place, label in enumerate(of_columns[: matrix.shape[1]])}
    places = np.array([index.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    return np.where(places >= 0, matrix[np.arange(len(labels)), places], np.nan)


def _probability_rows(predictions: Predictions, probabilities: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the probability of every label, shape (n, n_labels), nan in rows without any; None where no row has any.

    A row without any has no list, or an empty cell in the column of each label.
    """
    table = predictions.table
    columns = [name for name in probabilities if name in table.column_names]
    if not columns:
        return None
    for name in probabilities:
        column_of(table, name, parameter="probabilities")
    if len(columns) > 1:
        matrix = np.column_stack([floats(table[name], name, "probabilities") for name in columns])
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
            raise column_error("probabilities", columns[0], "be non-negative and sum to one", got, row, remedy)
    return matrix if len(rows) else None


def _lists(column: pa.ChunkedArray, name: str, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return a column of lists without nulls as a matrix; `rows` are the numbers of its rows in the file."""
    column = column.combine_chunks()
    if not len(column):
        return np.empty((0, 0))
    if pa.types.is_fixed_size_list(column.type) or pa.types.is_list_view(column.type):
        column = column.cast(pa.list_(column.type.value_type))
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        remedy = "Name a column for each label in `probabilities`, or that of the gold label alone in `confidence`."
        raise column_error("probabilities", name, "hold lists of numbers", column[0].as_py(), int(rows[0]), remedy)
    lengths = pc.list_value_length(column)
    others = np.flatnonzero(pc.not_equal(lengths, lengths[0]))
    if len(others):
        row = int(others[0])
        raise column_error("probabilities", name, "hold equally long lists", column[row].as_py(), int(rows[row]))
    flat = floats(pa.chunked_array([column.flatten()]), name, "probabilities")
    return flat.reshape(len(column), lengths[0].as_py())
