"""Predictions made anywhere become the rows that the measures read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paraconsist.errors import input_error
from paraconsist.predictions import KEY_COLUMNS, PREDICTION_COLUMNS, Predictions

__all__ = ["UNPARSED", "ColumnNames", "Rows", "read_rows"]

#: Stands for "no answer could be read" among integer predictions; no label has this number.
UNPARSED = -2
_UNPARSED_TEXT = "\x00unparsed"
_PROBABILITY_TOLERANCE = 1e-3


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
        What intervals resample; without the column, buckets.
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
    """Predictions as arrays of equal length n.

    Attributes
    ----------
    buckets : array, shape (n,), or None
        Bucket ids.
    groups : array, shape (n,), or None
        What intervals resample; None where that is the bucket.
    is_original : bool array, shape (n,)
        True for the originals of buckets.
    labels, predictions : array, shape (n,)
        Both integers, or both strings. Unparsed predictions hold a value that equals no label.
    unparsed : bool array, shape (n,)
        Where no answer could be read.
    confidences : float array, shape (n,), or None
        The model's probability of the gold label.
    strata : dict of str to array, shape (n,)
        What results can be broken down by.
    """

    buckets: NDArray[Any] | None
    groups: NDArray[Any] | None
    is_original: NDArray[np.bool_]
    labels: NDArray[Any]
    predictions: NDArray[Any]
    unparsed: NDArray[np.bool_]
    confidences: NDArray[np.float64] | None
    strata: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    def where(self, mask: NDArray[np.bool_]) -> Rows:
        """Return the rows of `mask`."""
        return Rows(
            None if self.buckets is None else self.buckets[mask],
            None if self.groups is None else self.groups[mask],
            self.is_original[mask],
            self.labels[mask],
            self.predictions[mask],
            self.unparsed[mask],
            None if self.confidences is None else self.confidences[mask],
            {name: values[mask] for name, values in self.strata.items()},
        )


def read_rows(predictions: Predictions, names: ColumnNames, *, need_buckets: bool = True) -> Rows:
    """Take the measures' columns out of a predictions table.

    Parameters
    ----------
    predictions : Predictions
        The file.
    names : ColumnNames
        What its columns are called.
    need_buckets : bool
        False for the rows of a full test set, which belong to no bucket.

    Raises
    ------
    InputError
        If a column is missing, or holds missing values or values of two kinds; the message names the
        column, the row and the option that helps.
    """
    table = predictions.table
    labels = _plain(table, names.label, "--label")
    guesses, unparsed = _predictions(table, names.prediction, labels)
    for name, values in ((names.label, labels), (names.prediction, guesses[~unparsed])):
        _check_known(name, values, predictions.label_names)
    buckets = groups = None
    if need_buckets:
        buckets = _plain(table, names.bucket, "--bucket")
        if names.group in table.column_names:
            groups = _plain(table, names.group, "--group")
            groups = None if np.array_equal(groups, buckets) else groups
    return Rows(
        buckets=buckets,
        groups=groups,
        is_original=_is_original(table, names) if need_buckets else np.zeros(len(labels), dtype=bool),
        labels=labels,
        predictions=guesses,
        unparsed=unparsed,
        confidences=_confidences(predictions, names, labels),
        strata=_strata(predictions, names),
    )


def _column(table: pa.Table, name: str, option: str) -> Any:
    if name not in table.column_names:
        raise input_error(
            "score",
            name,
            "be a column of the predictions file",
            got=table.column_names,
            remedy=f"Say with {option} how the column is called.",
        )
    return table[name]


def _plain(table: pa.Table, name: str, option: str) -> NDArray[Any]:
    """Return a column without missing values, as integers or strings."""
    column = _column(table, name, option)
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise input_error("score", name, "not be empty", got=None, row=row, remedy="Fill it in, or drop the row.")
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
            raise input_error("score", name, "hold whole numbers or text", got=float(values[row]), row=row)
        return np.asarray(values, dtype=np.int64)
    if pa.types.is_integer(kind):
        return np.asarray(column.to_numpy(), dtype=np.int64)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.asarray(column.to_pylist(), dtype=np.str_)
    raise input_error("score", name, "hold whole numbers or text", got=str(kind))


def _predictions(table: pa.Table, name: str, labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    column = _column(table, name, "--prediction")
    unparsed = np.asarray(column.is_null().to_numpy(), dtype=bool)
    if unparsed.all():
        filler = pa.scalar("") if labels.dtype.kind == "U" else pa.scalar(0)
        column = pa.chunked_array([pa.array([filler.as_py()] * len(column))])
    filled = table.set_column(
        table.column_names.index(name),
        name,
        pc.fill_null(column, "" if pa.types.is_string(column.type) else 0),
    )
    values = _plain(filled, name, "--prediction")
    if (values.dtype.kind == "U") != (labels.dtype.kind == "U"):
        raise input_error(
            "score",
            name,
            "be of the labels' kind (both names, or both numbers)",
            got=values[0].item(),
            row=0,
            remedy=f"The first label is {labels[0].item()!r}.",
        )
    if unparsed.any():
        values = (
            values.astype(np.result_type(values.dtype, f"U{len(_UNPARSED_TEXT)}"))
            if (values.dtype.kind == "U")
            else values.copy()
        )
        values[unparsed] = _UNPARSED_TEXT if values.dtype.kind == "U" else UNPARSED
    return values, unparsed


def _check_known(name: str, values: NDArray[Any], label_names: Sequence[str]) -> None:
    """Refuse labels that the file itself does not know; files made elsewhere name none."""
    if not label_names:
        return
    known = label_names if values.dtype.kind == "U" else range(len(label_names))
    wrong = ~np.isin(values, list(known))
    if wrong.any():
        row = int(np.argmax(wrong))
        shown = ", ".join(f"{i} {label}" for i, label in enumerate(label_names))
        raise input_error("score", name, f"be one of the file's labels ({shown})", got=values[row].item(), row=row)


def _is_original(table: pa.Table, names: ColumnNames) -> NDArray[np.bool_]:
    if names.original is not None:
        flags = _plain(table, names.original, "--original")
        if flags.dtype.kind == "U":
            texts = np.char.lower(flags)
            known = np.isin(texts, ["true", "false"])
            if not known.all():
                row = int(np.argmin(known))
                raise input_error("score", names.original, "be true or false", got=str(flags[row]), row=row)
            return np.asarray(texts == "true")
        return np.asarray(flags != 0)
    if names.role not in table.column_names:
        return np.zeros(table.num_rows, dtype=bool)
    roles = _plain(table, names.role, "--role")
    known = np.isin(roles, ["original", "paraphrase"])
    if not known.all():
        row = int(np.argmin(known))
        raise input_error(
            "score",
            names.role,
            "be 'original' or 'paraphrase'",
            got=roles[row].item(),
            row=row,
            remedy="Paraphrastic consistency knows no other role.",
        )
    return np.asarray(roles == "original")


def _confidences(predictions: Predictions, names: ColumnNames, labels: NDArray[Any]) -> NDArray[np.float64] | None:
    table = predictions.table
    if names.confidence is not None:
        column = _column(table, names.confidence, "--confidence")
        values = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        inside = (values >= 0) & (values <= 1)
        if not inside.all():
            row = int(np.argmin(inside))
            raise input_error("score", names.confidence, "lie between 0 and 1", got=float(values[row]), row=row)
        return values
    given = [name for name in names.probabilities if name in table.column_names]
    if not given:
        return None
    if len(given) < len(names.probabilities):
        absent = [name for name in names.probabilities if name not in given]
        raise input_error("score", absent[0], "be a column of the predictions file", got=table.column_names)
    if labels.dtype.kind == "U":
        index = {name: i for i, name in enumerate(predictions.label_names)}
        if not index:
            return None
        labels = np.array([index.get(label, -1) for label in labels.tolist()])
    probabilities = _matrix(table, given)
    if "(none)" not in predictions.metadata.get("label_map", ""):  # a partial map leaves probability out
        _check_probabilities(probabilities, given[0])
    inside = (labels >= 0) & (labels < probabilities.shape[1])
    picked = probabilities[np.arange(len(labels)), np.where(inside, labels, 0)]
    return np.where(inside, picked, np.nan)


def _matrix(table: pa.Table, names: Sequence[str]) -> NDArray[np.float64]:
    if len(names) > 1:
        return np.column_stack([np.asarray(table[n].to_numpy(), dtype=np.float64) for n in names])
    column = table[names[0]].combine_chunks()
    lengths = pc.list_value_length(column)
    counts = pc.value_counts(lengths)
    if len(counts) != 1 or column.null_count:
        row = pc.index(pc.fill_null(pc.not_equal(lengths, lengths[0]), True), True).as_py()
        raise input_error("score", names[0], "hold equally long lists", got=column[row].as_py(), row=row)
    flat = np.asarray(column.flatten().to_numpy(zero_copy_only=False), dtype=np.float64)
    return flat.reshape(len(column), lengths[0].as_py())


def _check_probabilities(probabilities: NDArray[np.float64], name: str) -> None:
    sums = probabilities.sum(axis=1)
    good = (np.abs(sums - 1) <= _PROBABILITY_TOLERANCE) & (probabilities >= 0).all(axis=1)
    if not good.all():
        row = int(np.argmin(good))
        raise input_error(
            "score",
            name,
            "be non-negative and sum to one",
            got=[round(float(p), 6) for p in probabilities[row]],
            row=row,
            remedy="Logits become probabilities by softmax.",
        )


def _strata(predictions: Predictions, names: ColumnNames) -> dict[str, NDArray[Any]]:
    table = predictions.table
    if names.strata is not None:
        return {name: _stratum(table, name) for name in names.strata}
    wanted = predictions.strata if predictions.metadata else ()
    skipped = {*KEY_COLUMNS, *PREDICTION_COLUMNS}
    found = {}
    for name in wanted:
        column = table[name]
        countable = pa.types.is_integer(column.type) or pa.types.is_string(column.type)
        countable = countable or pa.types.is_boolean(column.type) or pa.types.is_large_string(column.type)
        if name not in skipped and countable and not column.null_count:
            found[name] = _stratum(table, name)
    return found


def _stratum(table: pa.Table, name: str) -> NDArray[Any]:
    values = _plain(table, name, "--stratum")
    if pa.types.is_boolean(table.schema.field(name).type):
        return np.where(values != 0, "yes", "no")
    return values
