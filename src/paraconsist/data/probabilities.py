"""The model's probability of the gold and of the predicted label, from whatever columns say it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paraconsist.data.predictions import Predictions
from paraconsist.errors import input_error

_PROBABILITY_TOLERANCE = 1e-3


def gold_confidences(
    predictions: Predictions, confidence: str | None, probabilities: Sequence[str], labels: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Return the probability of the gold label of every row, shape (n,), or None where no column says it.

    Parameters
    ----------
    predictions : Predictions
        The file.
    confidence : str, optional
        The column that holds it ready-made.
    probabilities : sequence of str
        Else: one column of lists, or one column a label, in label order.
    labels : array, shape (n,)
        The gold labels; nan comes back where a row has none.

    Raises
    ------
    InputError
        For values outside [0, 1], ragged lists, probabilities that do not sum to one, absent columns.
    """
    table = predictions.table
    if confidence is not None:
        if confidence not in table.column_names:
            raise input_error("score", confidence, "be a column of the predictions file", got=table.column_names)
        values = np.asarray(table[confidence].to_numpy(zero_copy_only=False), dtype=np.float64)
        inside = (values >= 0) & (values <= 1)
        if not inside.all():
            row = int(np.argmin(inside))
            raise input_error("score", confidence, "lie between 0 and 1", got=float(values[row]), row=row)
        return values
    return _picked(predictions, probabilities, labels)


def predicted_confidences(
    predictions: Predictions, confidence: str | None, probabilities: Sequence[str], guesses: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Return the probability of the predicted label of every row, shape (n,), or None where no column says it.

    Parameters
    ----------
    predictions : Predictions
        The file.
    confidence : str, optional
        A column of the gold label's probability stands in place of `probabilities`, and says nothing of the
        predicted label's.
    probabilities : sequence of str
        One column of lists, or one column a label, in label order.
    guesses : array, shape (n,)
        The predicted labels; nan comes back where a row has none (unparsed).

    Raises
    ------
    InputError
        For ragged lists, probabilities that do not sum to one, absent columns.
    """
    return _picked(predictions, probabilities, guesses) if confidence is None else None


def _picked(predictions: Predictions, probabilities: Sequence[str], labels: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the probability of every row's label; nan for what is no label."""
    table = predictions.table
    given = [name for name in probabilities if name in table.column_names]
    if not given:
        return None
    if len(given) < len(probabilities):
        absent = [name for name in probabilities if name not in given]
        raise input_error("score", absent[0], "be a column of the predictions file", got=table.column_names)
    if labels.dtype.kind == "U":
        index = {name: i for i, name in enumerate(predictions.label_names)}
        if not index:
            return None
        labels = np.array([index.get(label, -1) for label in labels.tolist()])
    matrix = _matrix(table, given)
    if "(none)" not in predictions.metadata.get("label_map", ""):  # a partial map leaves probability out
        _check_probabilities(matrix, given[0])
    inside = (labels >= 0) & (labels < matrix.shape[1])
    picked = matrix[np.arange(len(labels)), np.where(inside, labels, 0)]
    return np.where(inside, picked, np.nan)


def _matrix(table: pa.Table, names: Sequence[str]) -> NDArray[np.float64]:
    if len(names) > 1:
        return np.column_stack([np.asarray(table[n].to_numpy(), dtype=np.float64) for n in names])
    column = table[names[0]].combine_chunks()
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise input_error(
            "score",
            names[0],
            "hold lists of numbers",
            got=column[0].as_py(),
            row=0,
            remedy="For one column a label give --probabilities P0,P1,...; for the gold label's alone, --confidence.",
        )
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
