"""Reshaping of predictions: files with a pair in each row, label names, and groups from the table of a set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.tables import column_of, read_table, values_of
from paraconsist.errors import input_error

_MOST_NAMES = 3


def long_format(
    predictions: Predictions, names: SourceOptions, original_prediction: str, role: str = "paraphrase"
) -> tuple[Predictions, SourceOptions]:
    """Turn each row into a bucket of two rows: the original, and the perturbed text, whose role is `role`.

    `names.prediction` is the column of the perturbed texts, `original_prediction` that of the originals. Probabilities
    are dropped, since a row has them for at most one of its texts. The file's own buckets, if they have several rows,
    replace missing groups. Returns the rows and their new column names. InputError if a column is missing.
    """
    table = predictions.table
    column_of(table, original_prediction, parameter="original_prediction")
    column_of(table, names.prediction, parameter="prediction")
    column_of(table, names.label, parameter="label")
    sided = {original_prediction, names.prediction, names.bucket, names.role, *names.probabilities}
    kept = [c for c in table.column_names if c not in sided]
    grouped_by = shared_buckets(table, names)
    group = SourceOptions.group if names.group == names.bucket else names.group
    buckets = pa.array([f"pair.{row}" for row in range(table.num_rows)])

    def side(column: str, what: str) -> pa.Table:
        columns: dict[str, pa.ChunkedArray] = {c: table[c] for c in kept}
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


def shared_buckets(table: pa.Table, names: SourceOptions) -> str | None:
    """Return the column of buckets of a file with a pair in each row, if it tells which rows belong together.

    None if the file has groups too, no buckets, or no bucket with two rows.
    """
    if names.bucket not in table.column_names or (names.group in table.column_names and names.group != names.bucket):
        return None
    buckets = values_of(table, names.bucket, parameter="bucket")
    return names.bucket if len(set(buckets)) < table.num_rows else None


def named_labels(predictions: Predictions, column: str, answered: str, label_names: list[str]) -> Predictions:
    """Replace names by their numbers in `label_names` in the columns of labels and of predictions (`answered`).

    A prediction that is none of them could not be read. InputError if a label is not among the names.
    """
    table = predictions.table
    number = {name: place for place, name in enumerate(label_names)}
    if answered in table.column_names and pa.types.is_string(table[answered].type):
        numbers = pa.array([number.get(answer) for answer in table[answered].to_pylist()], pa.int64())
        table = table.set_column(table.column_names.index(answered), answered, numbers)
    values = column_of(table, column, parameter="label").to_pylist()
    if all(isinstance(value, str) for value in values):
        for row, value in enumerate(values):
            if value not in number:
                raise input_error("score", column, f"be one of {', '.join(label_names)}", got=value, row=row)
        gold = pa.array([number[value] for value in values])
        table = table.set_column(table.column_names.index(column), column, gold)
    return Predictions(table, {**predictions.metadata, "label_names": label_names})


def with_groups(predictions: Predictions, table: Path, *, bucket: str, group: str) -> Predictions:
    """Add or replace the column `group` of predictions, by their `bucket`, from a file with both columns.

    The file may repeat a bucket, for example as the items of the set. InputError if a column is missing, a bucket has
    two groups, or a bucket of the predictions has none.
    """
    items = read_table(table, function="compare", parameter="groups_from")
    for rows, name in ((items, bucket), (items, group), (predictions.table, bucket)):
        if name not in rows.column_names:
            remedy = f"Look at {table.name}."
            raise input_error("compare", name, "be a column of the file", got=rows.column_names, remedy=remedy)
    of_bucket: dict[object, object] = {}
    both = [values_of(items, name, parameter="groups_from", function="compare") for name in (bucket, group)]
    for row, (bucket_name, group_name) in enumerate(zip(*both, strict=True)):
        if of_bucket.setdefault(bucket_name, group_name) != group_name:
            two_groups, must = [of_bucket[bucket_name], group_name], "be the same in all rows of a bucket"
            remedy = f"Look at bucket {bucket_name!r} of {table.name}."
            raise input_error("compare", group, must, got=two_groups, row=row, remedy=remedy)
    buckets = values_of(predictions.table, bucket, parameter="bucket", function="compare")
    absent = [value for value in dict.fromkeys(buckets) if value not in of_bucket]
    if absent:
        got = f"none for {len(absent)} buckets: {', '.join(map(repr, absent[:_MOST_NAMES]))}"
        raise input_error("compare", "groups_from", "have a group for every bucket", got=got)
    rows = predictions.table.drop_columns([group]) if group in predictions.table.column_names else predictions.table
    column = pa.array([of_bucket[value] for value in buckets])
    return Predictions(rows.append_column(group, column), predictions.metadata)
