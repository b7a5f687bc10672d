"""The model's probability of the gold and of the predicted label, from whatever columns say it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paraconsist.data.predictions import Predictions
from paraconsist.data.tables import column_of
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
    if confidence is None:
        return label_probabilities(predictions, probabilities, labels)
    column = column_of(predictions.table, confidence, parameter="confidence")
    values = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    inside = (values >= 0) & (values <= 1)
    if not inside.all():
        row = int(np.argmin(inside))
        raise input_error("score", confidence, "lie between 0 and 1", got=float(values[row]), row=row)
    return values


def label_probabilities(
    predictions: Predictions, probabilities: Sequence[str], labels: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Return the probability of each row's label in `labels`, shape (n,), or None where no column says it.

    As for `gold_confidences`; nan comes back for what is no label (an unparsed prediction, say).
    """
    table = predictions.table
    names = [name for name in probabilities if name in table.column_names]
    if not names:
        return None
    for name in probabilities:
        column_of(table, name, parameter="probabilities")
    if labels.dtype.kind == "U":
        index = {name: i for i, name in enumerate(predictions.label_names)}
        if not index:
            return None
        labels = np.array([index.get(label, -1) for label in labels.tolist()])
    matrix = _matrix(table, names)
    if "(none)" not in predictions.metadata.get("label_map", ""):  # a partial map leaves probability out
        _check_probabilities(matrix, names[0])
    inside = (labels >= 0) & (labels < matrix.shape[1])
    picked = matrix[np.arange(len(labels)), np.where(inside, labels, 0)]
    return np.where(inside, picked, np.nan)


def _matrix(table: pa.Table, names: Sequence[str]) -> NDArray[np.float64]:
    if len(names) > 1:
        return np.column_stack([np.asarray(table[n].to_numpy(), dtype=np.float64) for n in names])
    column = table[names[0]].combine_chunks()
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        remedy = "Name one column a label in `probabilities`, or that of the gold label's alone in `confidence`."
        raise input_error("score", names[0], "hold lists of numbers", got=column[0].as_py(), row=0, remedy=remedy)
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
        values = [round(float(p), 6) for p in probabilities[row]]
        remedy = "Logits become probabilities by softmax."
        raise input_error("score", name, "be non-negative and sum to one", got=values, row=row, remedy=remedy)
