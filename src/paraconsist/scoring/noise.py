"""The noise floor of a run: the same inputs asked again, beside the run itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import ColumnNames, Rows, mark_unparsed, read_rows
from paraconsist.errors import input_error
from paraconsist.measures.noise_floor import noise_floor
from paraconsist.measures.signatures import parse_signature

#: Where a run folder keeps the answers that were asked again: the same file names as in ``predictions/``.
NOISE_FOLDER = "noise"
RUN_AGAIN = "Run with --noise-floor again."
_RUN, _KIND = "repeat", "kind"


def score_noise(
    main: Predictions, again: Predictions, columns: ColumnNames, *, example: str = "input_id", **intervals: Any
) -> dict[str, Any]:
    """Return the noise floor of a set: flip rates at no change, inconsistency in excess of them, the variance split.

    Parameters
    ----------
    main : Predictions
        The run.
    again : Predictions
        Some of its rows asked again: the same columns, with ``repeat`` (which run, from 1) and ``kind``
        (``numeric``: another batch composition; ``decoding``: another sampling seed).
    columns : ColumnNames
        What the columns are called.
    example : str
        The column that says which rows are the same input.
    **intervals
        confidence_level, n_resamples, seed.

    Returns
    -------
    dict
        What `paraconsist.measures.noise_floor.noise_floor` returns. Two answers that could not be read are the same
        answer here.

    Raises
    ------
    InputError
        If a column is missing, or the rows are not of this run.
    """
    for name in (_RUN, _KIND, example):
        if name not in again.table.column_names:
            raise input_error("score", name, "be a column of the repeats", got=again.table.column_names)
    if not same_run(main, again):
        must = "be of the same model and set as the run"
        raise input_error("score", "noise", must, got=[_identity(main), _identity(again)], remedy=RUN_AGAIN)
    one, two = (read_rows(p, replace(columns, strata=())) for p in (main, again))
    kept, inputs = _once(one, main.table[example].to_pylist())
    first, repeats = one.where(kept), again.table
    answers, unparsed, labels = (
        [getattr(rows, name) for rows in (first, two)] for name in ("predictions", "unparsed", "labels")
    )
    result = noise_floor(
        mark_unparsed(*(np.concatenate(pair) for pair in (answers, unparsed, labels))),
        np.concatenate(labels),
        _joined(first, two, "buckets"),
        [*inputs, *_of_bucket(two, repeats[example].to_pylist())],
        [0] * len(first) + _column(repeats, _RUN),
        ["main"] * len(first) + _column(repeats, _KIND),
        roles=np.concatenate([first.roles, two.roles]).tolist(),
        groups=None if one.groups is None else _joined(first, two, "groups"),
        **intervals,
    )
    made = parse_signature(result.signature).replace(unparsed="own_class")
    return result.to_dict() | {"signature": str(made)}


def same_run(main: Predictions, again: Predictions) -> bool:
    """Say whether repeats are of the same model and the same rows as the run."""
    return _identity(main) == _identity(again)


def _identity(predictions: Predictions) -> tuple[Any, ...]:
    metadata = predictions.metadata
    return metadata.get("set"), metadata.get("set_fingerprint"), metadata.get("model", {}).get("weights_hash")


def _once(rows: Rows, inputs: Sequence[str]) -> tuple[NDArray[np.bool_], list[str]]:
    """Keep one row of those in a bucket that are the same text: they were computed once, and say nothing of noise."""
    keys = _of_bucket(rows, inputs)
    first = {key: row for row, key in reversed(list(enumerate(keys)))}
    kept = np.zeros(len(keys), dtype=np.bool_)
    kept[list(first.values())] = True
    return kept, [key for key, keep in zip(keys, kept.tolist(), strict=True) if keep]


def _of_bucket(rows: Rows, inputs: Sequence[str]) -> list[str]:
    """Name an input by its bucket too: the same text may stand in two buckets."""
    assert rows.buckets is not None
    return [f"{bucket}\x00{text}" for bucket, text in zip(rows.buckets.tolist(), inputs, strict=True)]


def _joined(one: Rows, two: Rows, name: str) -> list[Any]:
    return [*getattr(one, name).tolist(), *getattr(two, name).tolist()]


def _column(table: pa.Table, name: str) -> list[Any]:
    values: list[Any] = table[name].to_pylist()
    return values
