"""lm-evaluation-harness: ``samples_<task>_<time>.jsonl``, written with ``--log_samples`` (tried with 0.4.13).

Everything in them is text, one row a question and filter; the file of results beside it, of the same time, says
which version and model wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from numpy.typing import NDArray

from paraconsist.data.logs.fields import Fields, Records, Table
from paraconsist.data.logs.format import Asked, Head, LogFormat, linked_columns, unique_ids
from paraconsist.data.logs.lm_eval_choices import multiple_choice
from paraconsist.data.logs.verdicts import Judged, verdicts
from paraconsist.data.predictions import Predictions
from paraconsist.errors import input_error

_KEYS = {"doc_id", "doc", "target", "filtered_resps"}
_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[^_]*)")
_PREFERRED = ("acc", "exact_match", "em", "acc_norm")
_UNPARSED = "[invalid]"
_ROOTS = ("doc",)


def recognises(path: Path, head: Head) -> bool:
    """Say whether a file's rows are lm-eval's samples."""
    return head.first_row.keys() >= _KEYS


def read(path: Path, asked: Asked) -> Predictions:
    """Read one file of samples.

    Raises
    ------
    InputError
        If the file is cut short, a field is missing, several filters are in it and none was named, a question
        occurs twice, or no metric says right or wrong.
    """
    named = _NAME.fullmatch(path.stem)
    task = named["task"] if named else path.stem
    results = _results(path, named["time"] if named else None)
    fields, which = _of_one_filter(_rows(path), asked.filter, path)
    metric, right = _verdicts(fields, asked, compared=asked.prediction is not None)
    judged = _judged(fields, metric, right, _fallbacks(results, task))
    columns, label_names = judged.columns(fields, asked, _ROOTS)
    ids = unique_ids(_needed(fields, "doc_id", path).to_pylist(), path, "doc_id")
    notes = []
    reported = results.get("results", {}).get(task, {}).get(f"{metric},{which}")
    if right is not None and isinstance(reported, (int, float)) and abs(reported - right.mean()) > 1e-6:
        notes.append(
            f"the results file beside {path.name} says {metric} {reported:.4f}, its rows give {right.mean():.4f}: "
            "were rows added or removed?"
        )
    said = {
        "set": task,
        "model": {"model": results.get("model_name") or results.get("config", {}).get("model_args")},
        "source": {
            "format": LM_EVAL.name,
            "tool": "lm_eval",
            "version": results.get("lm_eval_version"),
            "task_version": results.get("versions", {}).get(task),
            "file": path.name,
            "filter": which,
            "metric": metric,
            "reported": reported,
        },
        "notes": notes,
    }
    if label_names is not None:
        said["label_names"] = label_names
    linked = linked_columns(fields, asked, roots=_ROOTS)
    return Predictions(pa.table({"example_id": pa.array(ids), **linked, **columns}), said)


def _results(path: Path, time: str | None) -> dict[str, Any]:
    beside = path.with_name(f"results_{time}.json")
    if time is None or not beside.is_file():
        return {}
    try:
        found = json.loads(beside.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        raise input_error(
            "score", "path", "stand beside a whole results file", got=str(beside), remedy="Mend it, or move it away."
        ) from None
    return found if isinstance(found, dict) else {}


def _rows(path: Path) -> Fields:
    """Read the rows in columns; one by one where their values are of several kinds (older versions)."""
    options = pa.json.ReadOptions(block_size=1 << 24)
    try:
        table = pa.json.read_json(path, read_options=options)
        if any(_has_time(column.type) for column in table.schema):  # text that looks like a time stays text
            schema = pa.schema([pa.field(column.name, _without_time(column.type)) for column in table.schema])
            parse = pa.json.ParseOptions(explicit_schema=schema)
            table = pa.json.read_json(path, read_options=options, parse_options=parse)
        return Table(table)
    except pa.ArrowInvalid:
        pass
    rows = []
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream):
            try:
                row = json.loads(line)
            except ValueError:
                raise input_error(
                    "score",
                    "path",
                    "be a readable, whole file",
                    got=str(path),
                    row=number,
                    remedy="The line is no JSON object: the file may be cut short; copy it again.",
                ) from None
            rows.append(row | {name: _as_texts(row[name]) for name in ("filtered_resps", "resps") if name in row})
    return Records(rows)


def _has_time(kind: pa.DataType) -> bool:
    inner = [kind.field(i).type for i in range(kind.num_fields)]
    return bool(pa.types.is_temporal(kind)) or any(_has_time(one) for one in inner)


def _without_time(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _without_time(f.type)) for f in kind])
    if pa.types.is_list(kind):
        return pa.list_(_without_time(kind.value_type))
    return pa.string() if pa.types.is_temporal(kind) else kind


def _as_texts(value: Any) -> Any:
    return [_as_texts(inner) for inner in value] if isinstance(value, list) else None if value is None else str(value)


def _needed(fields: Fields, name: str, path: Path) -> pa.ChunkedArray:
    column = fields.column(name)
    if column is None or column.null_count:
        raise input_error("score", "path", f"have `{name}` in every row", got=str(path), remedy="lm-eval writes it.")
    return column


def _of_one_filter(fields: Fields, wanted: str | None, path: Path) -> tuple[Fields, str]:
    column = fields.column("filter")
    if column is None:
        return fields, "none"
    names = column.unique().to_pylist()
    if wanted is None and len(names) > 1:
        raise input_error(
            "score",
            "filter",
            "name one of the log's filters",
            got=None,
            remedy=f"{path.name} has every answer through {', '.join(map(str, names))}: say --filter {names[0]}.",
        )
    chosen = names[0] if wanted is None else wanted
    if chosen not in names:
        raise input_error("score", "filter", f"be one of {', '.join(map(str, names))}", got=wanted)
    if len(names) == 1:
        return fields, chosen
    keep = pc.equal(column, chosen)
    if isinstance(fields, Table):
        return Table(fields.table.filter(keep)), chosen
    assert isinstance(fields, Records)
    return Records([row for row in fields.rows if row.get("filter") == chosen]), chosen


def _verdicts(fields: Fields, asked: Asked, *, compared: bool) -> tuple[str | None, NDArray[np.bool_] | None]:
    """Return the metric that says right or wrong, and what it says; neither where the user names what to compare."""
    column = fields.column("metrics")
    listed = list(column[0].as_py() or []) if column is not None else []
    names = [name for name in listed if fields.column(name) is not None]
    metric = asked.metric
    if metric is None:
        metric = next((name for name in (*_PREFERRED, *names) if name in names), None)
    elif metric not in names:
        raise input_error("score", "metric", f"be one of the log's ({', '.join(names)})", got=metric)
    values = None if metric is None else fields.column(metric)
    if compared or values is None:
        return metric, None
    return metric, verdicts(values.to_pylist(), str(metric), names)


def _fallbacks(results: Mapping[str, Any], task: str) -> set[str]:
    """Return what the task's filters write where they find no answer."""
    steps = (results.get("configs", {}).get(task, {}) or {}).get("filter_list") or []
    given = [step.get("fallback") for one in steps for step in one.get("filter", []) if isinstance(step, dict)]
    return {_UNPARSED, *(fallback for fallback in given if isinstance(fallback, str))}


def _judged(fields: Fields, metric: str | None, right: NDArray[np.bool_] | None, unparsed: set[str]) -> Judged:
    answers = fields.column("filtered_resps")
    target = fields.column("target")
    if answers is None or target is None:
        raise input_error("score", "path", "hold targets and answers", got=fields.names()[:10])
    gold = [str(one) for one in target.to_pylist()]
    found = multiple_choice(fields, answers.combine_chunks(), gold, metric, right)
    if found is not None:
        return found
    told = _singles(answers)
    if told is None:
        told = [_only(answer, row) for row, answer in enumerate(answers.to_pylist())]
    read = {one for one in set(told) if one is not None and one.strip() and one not in unparsed}
    scored = right if right is not None else np.zeros(len(told), dtype=bool)
    read_or_right = zip(told, scored.tolist(), strict=True)
    parsed = [answer if is_right or answer in read else None for answer, is_right in read_or_right]
    return Judged(gold, parsed, right, raw=_raw(fields))


def _raw(fields: Fields) -> list[str | None] | None:
    """Return what the model wrote, where each question was asked once."""
    column = fields.column("resps")
    if column is None:
        return None
    singles = _singles(column)
    if singles is not None:
        return singles
    found = []
    for answer in column.to_pylist():
        while isinstance(answer, list) and len(answer) == 1:
            answer = answer[0]
        found.append(answer if isinstance(answer, str) else None)
    return found


def _singles(column: pa.ChunkedArray) -> list[str | None] | None:
    """Return the texts in lists (of lists) of one each, None for anything else."""
    values = column.combine_chunks()
    while pa.types.is_list(values.type):
        if values.null_count or pc.min_max(pc.list_value_length(values)).as_py() != {"min": 1, "max": 1}:
            return None
        values = values.flatten()
    texts: list[str | None] | None = values.to_pylist() if pa.types.is_string(values.type) else None
    return texts


def _only(answer: Any, row: int) -> str | None:
    """Return the one answer to a question; the answers of one filter are a list."""
    inner: Any = answer
    while isinstance(inner, Sequence) and not isinstance(inner, str):
        if len(inner) != 1:
            raise input_error(
                "score",
                "filter",
                "leave one answer to each question",
                got=inner,
                row=row,
                remedy="Where a question is asked several times, a filter such as take_first or majority_vote "
                "chooses: name one with --filter.",
            )
        inner = inner[0]
    return None if inner is None else str(inner)


LM_EVAL = LogFormat(
    name="lm_eval",
    what="samples_<task>_<time>.jsonl of lm-evaluation-harness",
    recognises=recognises,
    read=read,
    pattern="samples_*.jsonl",
    options=("metric", "filter"),
)
