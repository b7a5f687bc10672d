"""Files with a pair in each row (an original's prediction beside its paraphrase's), in the long format."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from paraconsist.data.predictions import Predictions
from paraconsist.errors import input_error
from paraconsist.scoring.columns import ColumnNames


def long_format(
    predictions: Predictions, names: ColumnNames, original_prediction: str, role: str = "paraphrase"
) -> Predictions:
    """Write each row out as a bucket of two: the original, and what `role` says.

    Parameters
    ----------
    predictions : Predictions
        One row a pair. Probabilities are left out, since a row has them for one of its two texts at most.
    names : ColumnNames
        What its columns are called; `prediction` is that of the perturbed text. The bucket is the row.
    original_prediction : str
        The column of the originals' predictions.
    role : str
        The role of the perturbed texts.

    Raises
    ------
    InputError
        If a column is missing.
    """
    table = predictions.table
    for column, option in (
        (original_prediction, "--original-prediction"),
        (names.prediction, "--prediction"),
        (names.label, "--label"),
    ):
        if column not in table.column_names:
            raise input_error(
                "score",
                column,
                "be a column of the predictions file",
                got=table.column_names,
                remedy=f"Say with {option} how the column is called.",
            )
    sided = {original_prediction, names.prediction, names.bucket, names.role, *names.probabilities}
    kept = [c for c in table.column_names if c not in sided]
    buckets = pa.array([f"pair.{row}" for row in range(table.num_rows)])

    def side(column: str, what: str) -> pa.Table:
        columns: dict[str, Any] = {c: table[c] for c in kept}
        columns[names.prediction] = table[column]
        columns[names.bucket] = buckets
        columns[names.role] = pa.array(np.full(table.num_rows, what))
        return pa.table(columns)

    sides = [side(original_prediction, "original"), side(names.prediction, role)]
    return Predictions(pa.concat_tables(sides, promote_options="permissive"), predictions.metadata)


def named_labels(predictions: Predictions, column: str, label_names: list[str]) -> Predictions:
    """Turn labels given by name into their numbers in `label_names`, for files whose predictions are numbers.

    Raises
    ------
    InputError
        If a label is none of the names.
    """
    if column not in predictions.table.column_names:
        raise input_error("score", column, "be a column of the predictions file", got=predictions.table.column_names)
    index = {name: number for number, name in enumerate(label_names)}
    values = predictions.table[column].to_pylist()
    if all(isinstance(value, str) for value in values):
        for row, value in enumerate(values):
            if value not in index:
                raise input_error("score", column, f"be one of {', '.join(label_names)}", got=value, row=row)
        place = predictions.table.column_names.index(column)
        numbers = pa.array([index[value] for value in values])
        table = predictions.table.set_column(place, column, numbers)
    else:
        table = predictions.table
    return Predictions(table, {**predictions.metadata, "label_names": label_names})
