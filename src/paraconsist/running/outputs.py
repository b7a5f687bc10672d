"""From the store to the predictions file: every row gets the prediction of its input."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.failures import Failed
from paraconsist.data.predictions import KEY_COLUMNS, UNANSWERED
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.run_folder import content_identity
from paraconsist.data.store import Result
from paraconsist.errors import InputError

if TYPE_CHECKING:
    from paraconsist.data.tasks import Task
    from paraconsist.models.labels import LabelMap


_PACKAGES = ("paraconsist", "torch", "transformers", "accelerate", "datasets", "numpy")


def store_identity(model_identity: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """Return what decides a prediction besides its input: what the store of one model and task is named by."""
    return {"model": content_identity(model_identity), "task": task.name, "template_hash": task.template_hash}


def predictions_table(bucket_set: BucketSet, finished: Mapping[str, Result], label_map: LabelMap) -> pa.Table:
    """Give every row of the set the prediction of its input.

    `finished` is from the store: input id -> probabilities over the model's labels, what the model wrote, or why there
    is neither. The table has `KEY_COLUMNS`, strata, `prediction` (null where no label could be read from what the model
    wrote, and where there is no answer), `probabilities` (over the task's labels, null where there is no answer; absent
    where some answer has none, as written ones), `raw_output` (null for the others) and, where inputs failed,
    `unanswered` (of which kind).
    """
    table = bucket_set.table
    ids = table["input_id"].to_pylist()
    distinct = {input_id: i for i, input_id in enumerate(dict.fromkeys(ids))}
    missing = [input_id for input_id in distinct if input_id not in finished]
    if missing:
        what = f"{len(missing)} of {len(distinct)} inputs of {bucket_set.name} were not computed"
        remedy = "Run the same command again to go on."
        raise InputError(f"{what} (the first is {missing[0]}).", function="run", remedy=remedy)
    results = [finished[input_id] for input_id in distinct]
    n_labels = len(label_map.model_labels)
    by_input = np.array([_as_probabilities(r, n_labels) for r in results], dtype=np.float64)
    predictions, probabilities = label_map.apply(by_input.reshape(len(results), n_labels))
    outputs = [result.raw_output if isinstance(result, WrittenAnswer) else None for result in results]
    unread = np.array([getattr(result, "label", 0) is None or isinstance(result, Failed) for result in results])
    rows = np.array([distinct[input_id] for input_id in ids], dtype=np.int64)
    columns: dict[str, Any] = {c: table[c] for c in (*KEY_COLUMNS, *bucket_set.strata)}
    predictions = np.where(unread, -1, predictions)[rows].astype(np.int64)
    columns["prediction"] = pa.array(predictions, mask=predictions < 0)
    failed = [result.kind if isinstance(result, Failed) else None for result in results]
    if not any(isinstance(result, WrittenAnswer) for result in results):
        values = [None if failed[row] else probabilities[row] for row in rows]
        columns["probabilities"] = pa.array(values, pa.list_(pa.float64()))
    columns["raw_output"] = pa.array([outputs[row] for row in rows], pa.string())
    if any(failed):
        columns[UNANSWERED] = pa.array([failed[row] for row in rows], pa.string())
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
    table = bucket_set.table.select(["input_id", *bucket_set.task.columns])
    first = {input_id: row for row, input_id in reversed(list(enumerate(table["input_id"].to_pylist())))}
    return table.take(pa.array(sorted(first.values()), pa.int64()))


def distinct_rows(sets: Sequence[BucketSet]) -> Iterator[tuple[str, Task, dict[str, str]]]:
    """Yield every distinct input of the sets, in order of first appearance: its id, task, and the task's columns."""
    seen: set[str] = set()
    for bucket_set in sets:
        for row in texts_table(bucket_set).to_pylist():
            if (input_id := row.pop("input_id")) not in seen:
                seen.add(input_id)
                yield input_id, bucket_set.task, row


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
