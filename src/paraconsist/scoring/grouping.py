"""Groups for predictions that have none: shared contexts, from the table of the set itself."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from paraconsist.data.predictions import Predictions
from paraconsist.data.tables import read_table
from paraconsist.errors import input_error

_MOST_NAMES = 3


def with_groups(predictions: Predictions, table: Path, *, bucket: str, group: str) -> Predictions:
    """Add the column `group` to predictions, by their bucket.

    Parameters
    ----------
    predictions : Predictions
        With a column `bucket`; a column `group` of its own is replaced.
    table : Path
        A file with the columns `bucket` and `group`: the items of the set, say. Rows may repeat a bucket.

    Raises
    ------
    InputError
        If a column is missing, a bucket has two groups, or one of the predictions' buckets has none.
    """
    said = read_table(table, function="compare", parameter="groups-from")
    for name, columns in (
        (bucket, said.column_names),
        (group, said.column_names),
        (bucket, predictions.table.column_names),
    ):
        if name not in columns:
            raise input_error("compare", name, "be a column of the file", got=columns, remedy=f"Look at {table.name}.")
    of_bucket: dict[object, object] = {}
    for row, (one, two) in enumerate(zip(said[bucket].to_pylist(), said[group].to_pylist(), strict=True)):
        if of_bucket.setdefault(one, two) != two:
            raise input_error(
                "compare",
                group,
                "be the same in all rows of a bucket",
                got=[of_bucket[one], two],
                row=row,
                remedy=f"Look at bucket {one!r} of {table.name}.",
            )
    buckets = predictions.table[bucket].to_pylist()
    absent = [value for value in dict.fromkeys(buckets) if value not in of_bucket]
    if absent:
        shown = ", ".join(map(repr, absent[:_MOST_NAMES]))
        raise input_error(
            "compare", "groups-from", "have a group for every bucket", got=f"none for {len(absent)} buckets: {shown}"
        )
    kept = predictions.table.drop_columns([group]) if group in predictions.table.column_names else predictions.table
    column = pa.array([of_bucket[value] for value in buckets])
    return Predictions(kept.append_column(group, column), predictions.metadata)
