"""From the store to the predictions file: every row gets the prediction of its input."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from paraconsist.data.arrays import Places
from paraconsist.data.bucket_sets import BucketSet, DistinctInputs
from paraconsist.data.predictions import KEY_COLUMNS, UNANSWERED
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.run_folder import content_identity
from paraconsist.data.store import SHARED, Failed, Result, Results
from paraconsist.data.tables import joined
from paraconsist.errors import InputError

if TYPE_CHECKING:
    from paraconsist.data.tasks import Task
    from paraconsist.models.labels import LabelMap


_BLOCK = 1 << 16  # rows that are put together at a time
_PACKAGES = ("paraconsist", "torch", "transformers", "accelerate", "datasets", "numpy")


def store_identity(model_identity: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """Return what decides a prediction besides its input: what the store of one model and task is named by."""
    return {"model": content_identity(model_identity), "task": task.name, "template_hash": task.template_hash}


def predictions_table(bucket_set: BucketSet, finished: Mapping[str, Result], label_map: LabelMap) -> pa.Table:
    """Return the rows of `predictions_parts` as one table."""
    return joined(predictions_parts(bucket_set, finished, label_map))


def predictions_parts(
    bucket_set: BucketSet, finished: Mapping[str, Result], label_map: LabelMap, places: Places | None = None
) -> Iterator[pa.Table]:
    """Give every row of the set the prediction of its input, a block of rows at a time (one at least).

    `finished` is from the store: input id -> probabilities over the model's labels, what the model wrote, or why there
    is neither; `places` are those of the rows' inputs in it, where they are known already. A block has `KEY_COLUMNS`,
    strata, `prediction` (null where no label could be read from what the model wrote, and where there is no answer),
    `probabilities` (over the task's labels, null where there is no answer; absent where some answer has none, as
    written ones), `raw_output` (null for the others) and, where inputs failed, `unanswered` (of which kind).
    """
    table, results = bucket_set.table, Results.of(finished)
    places = results.places(table["input_id"]) if places is None else places
    if places.min(initial=0) < 0:
        ids = table["input_id"].unique()
        missing = ids.filter(pa.array(results.places(ids) < 0))
        what = f"{len(missing)} of {len(ids)} inputs of {bucket_set.name} were not computed"
        remedy = f"Run the same command again to go on. {SHARED}"
        raise InputError(f"{what} (the first is {missing[0]}).", function="run", remedy=remedy)
    used = results.used(places)
    kinds = {type(result) for place, result in results.others.items() if used[place]}
    table = table.select([*KEY_COLUMNS, *bucket_set.strata])
    starts = range(0, len(table), _BLOCK) or [0]
    return (
        _predicted(table.slice(start, _BLOCK), places[start : start + _BLOCK], results, kinds, label_map)
        for start in starts
    )


def _predicted(table: pa.Table, places: Places, results: Results, kinds: set[type], label_map: LabelMap) -> pa.Table:
    """The rows of a block, whose results are at `places`, with what `predictions_table` adds to them."""
    n, n_labels = len(places), len(label_map.model_labels)
    others = {row: results.others[place] for row, place in enumerate(places.tolist()) if place in results.others}
    by_row = results.probabilities[places] if results.probabilities.size else np.empty((n, n_labels))
    for row, result in others.items():
        by_row[row] = _as_probabilities(result, n_labels)
    predictions, probabilities = label_map.apply(by_row)
    failed = {row: result.kind for row, result in others.items() if isinstance(result, Failed)}
    outputs = {row: result.raw_output for row, result in others.items() if isinstance(result, WrittenAnswer)}
    predictions[[row for row, result in others.items() if getattr(result, "label", None) is None]] = -1
    columns = {name: table[name] for name in table.column_names}
    columns["prediction"] = pa.array(predictions, pa.int64(), mask=predictions < 0)
    if WrittenAnswer not in kinds:
        answered = np.array([row not in failed for row in range(n)], dtype=np.bool_)
        ends = pa.array(np.cumsum([0, *answered]) * probabilities.shape[1], pa.int32())
        values, mask = pa.array(probabilities[answered].ravel()), pa.array(~answered) if failed else None
        columns["probabilities"] = pa.ListArray.from_arrays(ends, values, mask=mask)
    columns["raw_output"] = pa.array([outputs.get(row) for row in range(n)], pa.string())
    if Failed in kinds:
        columns[UNANSWERED] = pa.array([failed.get(row) for row in range(n)], pa.string())
    return pa.table(columns)


def _as_probabilities(result: Result, n_labels: int) -> list[float]:
    """A written answer counts as certain of the label read from it, to be mapped as probabilities are."""
    if isinstance(result, list):
        return result
    return [float(getattr(result, "label", None) == label) for label in range(n_labels)]


def texts_table(bucket_set: BucketSet) -> pa.Table:
    """Return what the model read: `input_id` and the task's columns, a row for each distinct input.

    The run folder keeps it beside the predictions, which hold no texts, so that a report can show them.
    """
    return joined(DistinctInputs([bucket_set]).in_order())


def distinct_rows(sets: Sequence[BucketSet]) -> Iterator[tuple[str, Task, dict[str, str]]]:
    """Yield every distinct input of the sets, in order of first appearance: its id, task, and the task's columns."""
    inputs = DistinctInputs(sets)
    for table in inputs.in_order():
        for row in table.to_pylist():
            yield row.pop("input_id"), inputs.task, row


def run_metadata(
    bucket_set: BucketSet, model_identity: Mapping[str, Any], label_map: LabelMap, **more: Any
) -> dict[str, Any]:
    """Return the run's identity, as it stands in the predictions file."""
    return {
        "format": "paraconsist-predictions-1",
        "set": bucket_set.name,
        "set_fingerprint": bucket_set.fingerprint,
        "split": bucket_set.split,
        "limit": bucket_set.limit,
        "n_rows": bucket_set.table.num_rows,
        "task": bucket_set.task.name,
        "template_hash": bucket_set.task.template_hash,
        "label_names": list(bucket_set.label_names),
        "strata": list(bucket_set.strata),
        **({} if bucket_set.part is None else {"part": bucket_set.part}),
        "label_map": label_map.describe(),
        "model": dict(model_identity),
        "versions": {"python": platform.python_version(), **{package: _version(package) for package in _PACKAGES}},
        **more,
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
