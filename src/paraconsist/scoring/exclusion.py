"""Buckets that are left out of all numbers: those that a reader of the report marked as no paraphrases, say."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from paraconsist.data.predictions import Predictions
from paraconsist.data.tables import column_of, plain_column, read_table, values_of
from paraconsist.errors import input_error

if TYPE_CHECKING:
    from paraconsist.scoring.sources import Source

_BUCKET, _SET = "bucket_id", "set"


def without_listed(sources: Mapping[str, Source], listed: Any, function: str) -> dict[str, Source]:
    """Return the sets without the buckets of a list, counted in the metadata and said in a note.

    `listed` is a table with a column ``bucket_id`` (and ``set``, where the file says which set it is), or its ids.
    InputError if an id is in none of the sets that its line is about, or nothing is left of a set.
    """
    lines = _lines(listed, function)
    ids = {name: set(_bucket_ids(source.predictions, source.columns.bucket)) for name, source in sources.items()}
    excluded: dict[str, set[str]] = {name: set() for name in sources}
    for row, (set_name, bucket) in enumerate(lines):
        about = [name for name, source in sources.items() if set_name in (None, name) or not source.has_name]
        holding = [name for name in about if bucket in ids[name]]
        if not holding:
            where = "the predictions" if set_name is None else f"set {set_name}"
            remedy = f"These are of {', '.join(sources)}. Take out the lines that are of other predictions."
            must = f"hold ids of buckets of {where}"
            raise input_error(function, "exclude", must, got=bucket, row=row, remedy=remedy)
        for name in holding:
            excluded[name].add(bucket)
    for name in sources:
        if excluded[name] == ids[name]:
            raise input_error(function, "exclude", f"leave a bucket of {name}", got=f"all {len(ids[name])} of them")
    return {name: _without(source, excluded[name]) for name, source in sources.items()}


def without_buckets(predictions: Predictions, bucket: str, excluded: Collection[str]) -> Predictions:
    """Return predictions without the rows of some buckets, which are named as text; `bucket` is their column."""
    kept = np.array([one not in excluded for one in _bucket_ids(predictions, bucket)], dtype=np.bool_)
    return replace(predictions, table=predictions.table.filter(pa.array(kept)))


def _without(source: Source, excluded: Collection[str]) -> Source:
    if not excluded:
        return source
    kept = without_buckets(source.predictions, source.columns.bucket, excluded)
    n_rows = source.predictions.table.num_rows - kept.table.num_rows
    metadata = source.predictions.metadata
    note = f"{len(excluded):,} bucket{'s' * (len(excluded) > 1)} ({n_rows:,} rows) of a list are left out"
    counted = {"excluded": {"n_buckets": len(excluded), "n_rows": n_rows}, "notes": [*metadata.get("notes", ()), note]}
    return replace(source, predictions=replace(kept, metadata={**metadata, **counted}), excluded=frozenset(excluded))


def _bucket_ids(predictions: Predictions, name: str) -> list[str]:
    column = column_of(predictions.table, name, parameter="bucket")
    return [str(value) for value in plain_column(column, name, "bucket").tolist()]


def _lines(listed: Any, function: str) -> Sequence[tuple[str | None, str]]:
    """Return (set or None, bucket) of every line."""
    if not isinstance(listed, (str, Path)):
        return [(None, str(one)) for one in listed]
    table = read_table(listed, function=function, parameter="exclude")
    if _BUCKET not in table.column_names:
        raise input_error(function, "exclude", f"have a column {_BUCKET}", got=table.column_names)
    ids = [str(one) for one in values_of(table, _BUCKET, parameter="exclude", function=function)]
    if _SET not in table.column_names:
        return [(None, one) for one in ids]
    return list(zip(values_of(table, _SET, parameter="exclude", function=function), ids, strict=True))
