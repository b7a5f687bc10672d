"""Predictions made anywhere become the rows that the measures read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paraconsist.data.predictions import Predictions
from paraconsist.data.tables import column_of
from paraconsist.errors import InputError, input_error

#: A row's place in its bucket.
ROLES = (
    *("original", "paraphrase", "swap", "negation"),
    *("antecedent_1", "antecedent_2", "consequent", "part_1", "part_2", "merged"),
)

#: Roles of rows that stand in several buckets, as one of two texts which are joined there.
_JOINED = ("antecedent_1", "antecedent_2", "part_1", "part_2")

#: The largest number that stands for "no answer could be read" among integer predictions; see `mark_unparsed`.
UNPARSED = -2
_UNPARSED_TEXT = "\x00unparsed"
_PROBABILITY_TOLERANCE = 1e-3
_EMPTY = "Fill it in, or drop the row."
#: With fewer answers, labels may fail to meet by chance.
_FEW_ROWS = 10
_MOST_LISTED = 6


@dataclass(frozen=True)
class ColumnNames:
    """What the columns of a file are called.

    Attributes
    ----------
    bucket, prediction, label : str
        Must be there (`bucket` not for the rows of a full test set).
    role : str
        ``original`` marks originals; without the column every row counts as a paraphrase.
    original : str, optional
        A true/false column that marks originals, in place of `role`.
    group : str
        What intervals resample. Without the column, or where it holds the buckets' ids, that is the bucket: of
        measures on pairs where a bucket has several pairs, since one pair in each is independent.
    confidence : str, optional
        Probability of the gold label, in place of `probabilities`.
    probabilities : sequence of str
        One column of lists, or one column a label, in label order.
    strata : sequence of str, optional
        Columns to break results down by; by default those that the run named.
    """

    bucket: str = "bucket_id"
    prediction: str = "prediction"
    label: str = "label"
    role: str = "role"
    original: str | None = None
    group: str = "group_id"
    confidence: str | None = None
    probabilities: Sequence[str] = ("probabilities",)
    strata: Sequence[str] | None = None


@dataclass(frozen=True)
class Rows:
    """Predictions as arrays of equal length n."""

    buckets: NDArray[Any] | None  # shape (n,): Bucket ids
    groups: NDArray[Any] | None  # shape (n,): What intervals resample; None where that is the bucket
    roles: NDArray[Any]  # shape (n,): Each row's place in its bucket (`ROLES`)
    # shape (n,): Both integers, or both strings. Unparsed predictions hold a value that equals no label.
    labels: NDArray[Any]
    predictions: NDArray[Any]
    unparsed: NDArray[np.bool_]  # shape (n,): Where no answer could be read
    confidences: NDArray[np.float64] | None  # shape (n,): The model's probability of the gold label
    # shape (n,): The model's probability of the label that it predicts; nan where that is unparsed.
    predicted_confidences: NDArray[np.float64] | None = None
    allowed: list[list[Any]] | None = None  # The labels that a rule allows each row
    strata: dict[str, NDArray[Any]] = field(default_factory=dict)  # shape (n,): What results can be broken down by
    never_agree: bool = False  # Whether an unparsed answer equals no other (each then holds a value of its own)
    inputs: NDArray[np.int32] | None = None  # shape (n,): Equal numbers, equal texts; where a bucket joins two of them

    def __len__(self) -> int:
        return len(self.labels)

    def where(self, mask: NDArray[np.bool_]) -> Rows:
        """Return the rows of `mask`."""
        return self.take(np.flatnonzero(mask))

    def take(self, index: NDArray[np.intp]) -> Rows:
        """Return the rows at some positions, in that order."""
        taken = {}
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                value = value[index]
            elif isinstance(value, list):
                value = [value[i] for i in index]
            elif isinstance(value, dict):
                value = {key: column[index] for key, column in value.items()}
            taken[name] = value
        return Rows(**taken)


def read_rows(predictions: Predictions, names: ColumnNames, *, need_buckets: bool = True) -> Rows:
    """Take the measures' columns out of a predictions table; the rows of a full test set belong to no bucket.

    InputError if a column is missing, or holds missing values or values of two kinds; its parameter is the field of
    `ColumnNames` that names the column.
    """
    table = predictions.table
    labels = _filled(table, names.label, "label")
    guesses, unparsed = _predictions(table, names.prediction, labels)
    # a rule may allow several labels: the row then has no gold label of its own, -1
    gold = labels if labels.dtype.kind == "U" or "allowed_labels" not in table.column_names else labels[labels != -1]
    for parameter, name, values in (("label", names.label, gold), ("prediction", names.prediction, guesses[~unparsed])):
        _check_known(parameter, name, values, predictions.label_names)
    buckets = groups = None
    if need_buckets:
        buckets = _filled(table, names.bucket, "bucket")
        if names.group in table.column_names:
            groups = _plain(table[names.group], names.group, "group")
            groups = None if np.array_equal(groups, buckets) else groups
    if not predictions.label_names and len(gold) == len(labels):
        _check_meeting(names.prediction, guesses, labels, ~unparsed, buckets)
    roles = _roles(table, names) if need_buckets else np.full(len(labels), "original")
    own = names.confidence is None  # else a column says the gold label's probability, and nothing of another's
    return Rows(
        buckets=buckets,
        groups=groups,
        roles=roles,
        labels=labels,
        predictions=guesses,
        unparsed=unparsed,
        confidences=_gold_confidences(predictions, names, labels),
        predicted_confidences=_label_probabilities(predictions, names.probabilities, guesses) if own else None,
        allowed=_allowed(table, labels) if need_buckets else None,
        strata=_strata(predictions, names),
        inputs=_inputs(table) if np.isin(roles, _JOINED).any() else None,
    )


def _wrong(parameter: str, name: str, must: str, got: Any, row: int | None = None, remedy: str = "") -> InputError:
    """Return the error for what stands in a column: of the field that names it; the remedy says which column it is."""
    where = "" if name == parameter else f"It is column {name}. "
    return input_error("score", parameter, must, got=got, row=row, remedy=f"{where}{remedy}".rstrip())


def _plain(column: Any, name: str, parameter: str) -> NDArray[Any]:
    """Return a column without missing values, as integers or strings."""
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise _wrong(parameter, name, "not be empty", None, row, _EMPTY)
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
            raise _wrong(parameter, name, "hold whole numbers or text", float(values[row]), row)
        return np.asarray(values, dtype=np.int64)
    if pa.types.is_integer(kind):
        return np.asarray(column.to_numpy(), dtype=np.int64)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.asarray(column.to_pylist(), dtype=np.str_)
    raise _wrong(parameter, name, "hold whole numbers or text", str(kind))


def _filled(table: pa.Table, name: str, parameter: str) -> NDArray[Any]:
    """Return a column as `_plain`; an empty text is a missing value here."""
    values = _plain(column_of(table, name, parameter=parameter), name, parameter)
    if values.dtype.kind == "U" and (values == "").any():
        raise _wrong(parameter, name, "not be empty", "", int(np.argmax(values == "")), _EMPTY)
    return values


def _predictions(table: pa.Table, name: str, labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the predictions, and where no answer could be read: a missing value, or an empty text."""
    column = column_of(table, name, parameter="prediction")
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int64())
    missing = column.is_null()
    if pa.types.is_string(column.type):
        missing = pc.or_(missing, pc.fill_null(pc.equal(column, ""), True))
    unparsed = np.asarray(missing.to_numpy(), dtype=bool)
    named = labels.dtype.kind == "U"
    if unparsed.all():
        column = pa.chunked_array([pa.array(["" if named else 0] * len(column))])
    values = _plain(pc.fill_null(column, "" if pa.types.is_string(column.type) else 0), name, "prediction")
    if (values.dtype.kind == "U") != named:
        must = "be of the labels' kind (both names, or both numbers)"
        raise _wrong("prediction", name, must, values[0].item(), 0, f"The first label is {labels[0].item()!r}.")
    return mark_unparsed(values, unparsed, labels), unparsed


def mark_unparsed(
    predictions: NDArray[Any], unparsed: NDArray[np.bool_], *labels: NDArray[Any], each: bool = False
) -> NDArray[Any]:
    """Return the predictions, those that are unparsed holding a value that is none of the labels or other predictions.

    Parameters
    ----------
    predictions, unparsed : array, shape (n,)
        The answers, all numbers or all names, and where none could be read.
    *labels : arrays
        What the value must not be, beside the other predictions.
    each : bool
        Whether every unparsed prediction holds a value of its own.

    Raises
    ------
    InputError
        If labels are numbers so low that none is left below them.
    """
    n = int(np.count_nonzero(unparsed))
    if not n:
        return predictions
    if predictions.dtype.kind == "U":
        names = np.char.add(_UNPARSED_TEXT, np.arange(n).astype(str) if each else "")
        marked = predictions.astype(np.promote_types(predictions.dtype, names.dtype))
        marked[unparsed] = names
        return marked
    used = [values for values in (predictions[~unparsed], *labels) if len(values)]
    lowest = min((int(values.min()) for values in used), default=0)
    start = min(lowest - 1, UNPARSED)
    if start - n < np.iinfo(np.int64).min:
        must, remedy = "leave room for unparsed answers below them", "Write labels as names."
        raise _wrong("label", "label", must, lowest, remedy=remedy)
    marked = predictions.copy()
    marked[unparsed] = start - np.arange(n) if each else start
    return marked


def _check_known(parameter: str, name: str, values: NDArray[Any], label_names: Sequence[str]) -> None:
    """Refuse labels that the file itself does not know; files made elsewhere name none."""
    if not label_names:
        return
    known = np.array(label_names) if values.dtype.kind == "U" else np.arange(len(label_names))
    wrong = ~np.isin(values, known)
    if wrong.any():
        row = int(np.argmax(wrong))
        numbered = ", ".join(f"{i} {label}" for i, label in enumerate(label_names))
        raise _wrong(parameter, name, f"be one of the file's labels ({numbered})", values[row].item(), row)


def _check_meeting(
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
    if not len(answers) or np.isin(answers, gold).any():
        return
    n_problems = len(labels) if buckets is None else len(np.unique(buckets))
    several = min(len(answers), len(gold)) > 1 and parsed.sum() >= _FEW_ROWS and 2 * len(gold) <= n_problems
    named = gold.dtype.kind == "U"
    by_case = named and bool(_folded(answers) & _folded(gold))
    if by_case or several:
        remedy = (
            "They differ in case or spaces only: write both columns alike."
            if by_case
            else "Rename the labels of one column, or mend what reads the answers."
            if named
            else "Renumber one column; if these are classes of one task, name every class in `label_names`."
        )
        must = f"use the gold labels, {_some(gold)}"
        raise _wrong("prediction", name, must, answers[:_MOST_LISTED].tolist(), remedy=remedy)


def _folded(labels: NDArray[Any]) -> set[str]:
    """Return labels without their case and the spaces around them."""
    return {str(label).strip().casefold() for label in labels.tolist()}


def _some(labels: NDArray[Any]) -> str:
    more = ", ..." if len(labels) > _MOST_LISTED else ""
    return ", ".join(repr(label) for label in labels[:_MOST_LISTED].tolist()) + more


def _roles(table: pa.Table, names: ColumnNames) -> NDArray[Any]:
    """Return every row's role; without a column for it every row is a paraphrase."""
    if names.original is not None:
        flags = _plain(column_of(table, names.original, parameter="original"), names.original, "original")
        if flags.dtype.kind == "U":
            texts = np.char.lower(flags)
            known = np.isin(texts, ["true", "false"])
            if not known.all():
                row = int(np.argmin(known))
                raise _wrong("original", names.original, "be true or false", str(flags[row]), row)
            flags = texts == "true"
        return np.where(flags, "original", "paraphrase")
    if names.role not in table.column_names:
        return np.full(table.num_rows, "paraphrase")
    roles = _plain(table[names.role], names.role, "role")
    distinct, codes = np.unique(roles, return_inverse=True)
    lowered = np.char.lower(distinct) if distinct.dtype.kind == "U" else distinct  # Original is original
    unknown = ~np.isin(lowered, ROLES)
    if unknown.any():
        row = int(np.argmax(unknown[codes]))
        raise _wrong("role", names.role, f"be one of {', '.join(ROLES)}", roles[row].item(), row)
    return lowered[codes]


def _allowed(table: pa.Table, labels: NDArray[Any]) -> list[list[Any]] | None:
    if "allowed_labels" not in table.column_names or labels.dtype.kind == "U":
        return None
    allowed: list[list[Any]] = table["allowed_labels"].to_pylist()
    return allowed


def _inputs(table: pa.Table) -> NDArray[np.int32] | None:
    """Return which rows have the same input, as codes; None where the file does not say."""
    if "input_id" not in table.column_names or table["input_id"].null_count:
        return None
    codes = table["input_id"].combine_chunks().dictionary_encode()
    return np.asarray(codes.indices.to_numpy(), dtype=np.int32)


def _strata(predictions: Predictions, names: ColumnNames) -> dict[str, NDArray[Any]]:
    """Return the columns that were named; else those of a run that are counted easily and have no gaps."""
    table = predictions.table
    if names.strata is not None:
        return {name: _stratum(column_of(table, name, parameter="stratum"), name) for name in names.strata}
    wanted = predictions.strata if "set" in predictions.metadata else ()
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string, pa.types.is_boolean)
    countable = [name for name in wanted if any(is_kind(table[name].type) for is_kind in kinds)]
    return {name: _stratum(table[name], name) for name in countable if not table[name].null_count}


def _stratum(column: Any, name: str) -> NDArray[Any]:
    values = _plain(column, name, "stratum")
    return np.where(values != 0, "yes", "no") if pa.types.is_boolean(column.type) else values


def _gold_confidences(predictions: Predictions, names: ColumnNames, labels: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the probability of each row's gold label, ready-made where a column has it; None where none says it."""
    if names.confidence is None:
        return _label_probabilities(predictions, names.probabilities, labels)
    column = column_of(predictions.table, names.confidence, parameter="confidence")
    values = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    inside = (values >= 0) & (values <= 1)
    if not inside.all():
        row = int(np.argmin(inside))
        raise _wrong("confidence", names.confidence, "lie between 0 and 1", float(values[row]), row)
    return values


def _label_probabilities(
    predictions: Predictions, probabilities: Sequence[str], labels: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Return the probability of each row's label, nan for what is no label; None where no column says it."""
    table = predictions.table
    columns = [name for name in probabilities if name in table.column_names]
    if not columns:
        return None
    for name in probabilities:
        column_of(table, name, parameter="probabilities")
    if labels.dtype.kind == "U":
        index = {name: i for i, name in enumerate(predictions.label_names)}
        if not index:
            return None
        labels = np.array([index.get(label, -1) for label in labels.tolist()])
    matrix = _probability_matrix(table, columns)
    if "(none)" not in predictions.metadata.get("label_map", ""):  # a partial map leaves probability out
        _check_probabilities(matrix, columns[0])
    inside = (labels >= 0) & (labels < matrix.shape[1])
    picked = matrix[np.arange(len(labels)), np.where(inside, labels, 0)]
    return np.where(inside, picked, np.nan)


def _probability_matrix(table: pa.Table, names: Sequence[str]) -> NDArray[np.float64]:
    if len(names) > 1:
        return np.column_stack([np.asarray(table[n].to_numpy(), dtype=np.float64) for n in names])
    column = table[names[0]].combine_chunks()
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        remedy = "Name one column a label in `probabilities`, or that of the gold label's alone in `confidence`."
        raise _wrong("probabilities", names[0], "hold lists of numbers", column[0].as_py(), 0, remedy)
    lengths = pc.list_value_length(column)
    counts = pc.value_counts(lengths)
    if len(counts) != 1 or column.null_count:
        row = pc.index(pc.fill_null(pc.not_equal(lengths, lengths[0]), True), True).as_py()
        raise _wrong("probabilities", names[0], "hold equally long lists", column[row].as_py(), row)
    flat = np.asarray(column.flatten().to_numpy(zero_copy_only=False), dtype=np.float64)
    return flat.reshape(len(column), lengths[0].as_py())


def _check_probabilities(probabilities: NDArray[np.float64], name: str) -> None:
    sums = probabilities.sum(axis=1)
    good = (np.abs(sums - 1) <= _PROBABILITY_TOLERANCE) & (probabilities >= 0).all(axis=1)
    if not good.all():
        row = int(np.argmin(good))
        values = [round(float(p), 6) for p in probabilities[row]]
        remedy = "Logits become probabilities by softmax."
        raise _wrong("probabilities", name, "be non-negative and sum to one", values, row, remedy)
