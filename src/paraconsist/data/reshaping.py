"""Files with a pair in each row (an original's prediction beside its paraphrase's), in the long format.

Groups for predictions that have none: shared contexts, from the table of the set itself.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import ColumnNames
from paraconsist.data.tables import column_of, read_table, values_of
from paraconsist.errors import input_error

_MOST_NAMES = 3


def long_format(
    predictions: Predictions, names: ColumnNames, original_prediction: str, role: str = "paraphrase"
) -> tuple[Predictions, ColumnNames]:
    """Write each row out as a bucket of two: the original, and the perturbed text, whose role is `role`.

    `names.prediction` is the perturbed texts' column, `original_prediction` the originals'. Probabilities are left out,
    since a row has them for one of its two texts at most. Without groups the file's own buckets become the groups,
    where a bucket has several rows. Returns the rows, and what their columns are called now: the buckets are the pairs.
    InputError if a column is missing.
    """
    table = predictions.table
    column_of(table, original_prediction, parameter="original_prediction")
    column_of(table, names.prediction, parameter="prediction")
    column_of(table, names.label, parameter="label")
    sided = {original_prediction, names.prediction, names.bucket, names.role, *names.probabilities}
    kept = [c for c in table.column_names if c not in sided]
    grouped_by = shared_buckets(table, names)
    group = ColumnNames.group if names.group == names.bucket else names.group
    buckets = pa.array([f"pair.{row}" for row in range(table.num_rows)])

    def side(column: str, what: str) -> pa.Table:
        columns: dict[str, Any] = {c: table[c] for c in kept}
        columns[names.prediction] = table[column]
        columns[names.bucket] = buckets
        columns[names.role] = pa.array(np.full(table.num_rows, what))
        if grouped_by is not None:
            columns[group] = table[grouped_by]
        return pa.table(columns)

    sides = [side(original_prediction, "original"), side(names.prediction, role)]
    try:
        spread = pa.concat_tables(sides, promote_options="permissive")
    except pa.ArrowException:
        must, got = "be of one kind with `prediction`", [str(side[names.prediction].type) for side in sides]
        raise input_error("score", "original_prediction", must, got=got) from None
    return Predictions(spread, predictions.metadata), replace(names, group=group)


def shared_buckets(table: pa.Table, names: ColumnNames) -> str | None:
    """Return the column of the buckets of a file with a pair in each row, where it says which rows belong together.

    None where it has groups beside them, no buckets, or no bucket with two rows.
    """
    if names.bucket not in table.column_names or (names.group in table.column_names and names.group != names.bucket):
        return None
    buckets = values_of(table, names.bucket, parameter="bucket")
    return names.bucket if len(set(buckets)) < table.num_rows else None


def named_labels(predictions: Predictions, column: str, label_names: list[str]) -> Predictions:
    """Turn labels given by name into their numbers in `label_names`, for files whose predictions are numbers.

    InputError if a label is none of the names.
    """
    table = predictions.table
    values = column_of(table, column, parameter="label").to_pylist()
    if all(isinstance(value, str) for value in values):
        index = {name: number for number, name in enumerate(label_names)}
        for row, value in enumerate(values):
            if value not in index:
                raise input_error("score", column, f"be one of {', '.join(label_names)}", got=value, row=row)
        table = table.set_column(table.column_names.index(column), column, pa.array([index[value] for value in values]))
    return Predictions(table, {**predictions.metadata, "label_names": label_names})


def with_groups(predictions: Predictions, table: Path, *, bucket: str, group: str) -> Predictions:
    """Add the column `group` to predictions by their `bucket`, from a file with both; it replaces one of theirs.

    Its rows (the items of the set, say) may repeat a bucket. InputError if a column is missing, a bucket has two
    groups, or one of the predictions' buckets has none.
    """
    items = read_table(table, function="compare", parameter="groups_from")
    for rows, name in ((items, bucket), (items, group), (predictions.table, bucket)):
        if name not in rows.column_names:
            remedy = f"Look at {table.name}."
            raise input_error("compare", name, "be a column of the file", got=rows.column_names, remedy=remedy)
    of_bucket: dict[object, object] = {}
    both = [values_of(items, name, parameter="groups_from", function="compare") for name in (bucket, group)]
    for row, (one, two) in enumerate(zip(*both, strict=True)):
        if of_bucket.setdefault(one, two) != two:
            two_groups, remedy = [of_bucket[one], two], f"Look at bucket {one!r} of {table.name}."
            must = "be the same in all rows of a bucket"
            raise input_error("compare", group, must, got=two_groups, row=row, remedy=remedy)
    buckets = values_of(predictions.table, bucket, parameter="bucket", function="compare")
    absent = [value for value in dict.fromkeys(buckets) if value not in of_bucket]
    if absent:
        got = f"none for {len(absent)} buckets: {', '.join(map(repr, absent[:_MOST_NAMES]))}"
        raise input_error("compare", "groups_from", "have a group for every bucket", got=got)
    kept = predictions.table.drop_columns([group]) if group in predictions.table.column_names else predictions.table
    column = pa.array([of_bucket[value] for value in buckets])
    return Predictions(kept.append_column(group, column), predictions.metadata)
