"""MLflow: ``eval_results_table.json`` of `mlflow.models.evaluate` (tried with 3.17.2).

The table has a column ``<metric>/score`` for each metric that judges rows; `save` also writes the metrics' means to
``metrics.json`` next to its folder. The version that wrote the table is not recorded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paraconsist.data.logs.fields import walk
from paraconsist.data.logs.format import Head, LogFormat, bad_log
from paraconsist.data.logs.verdicts import check_one, judged_rows, read_whole
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions

_TABLE = "eval_results_table.json"
_SCORE = "/score"
_START = re.compile(rb'\s*\{\s*"columns"\s*:\s*\[[^\[\]]*/score"[^\[\]]*\]\s*,\s*"data"\s*:\s*\[')
_FIELDS = ("outputs", "target", "inputs")


def recognises(path: Path, head: Head) -> bool:
    return path.name.endswith(_TABLE) or _START.match(head.start) is not None


def read(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read one table; InputError if it is cut short, no table, or of several models, and as `judged_rows`."""
    if path.read_bytes().strip() == b"null":
        remedy = "MLflow saves a table only once it was loaded: read `result.tables` before `result.save(...)`."
        raise bad_log("hold a table", path, remedy=remedy)
    table, summary = read_whole(path, "MLflow"), path.parent.parent / "metrics.json"
    columns: Any = table.get("columns")
    data: Any = table.get("data")
    is_table = isinstance(columns, list) and isinstance(data, list) and len({*map(str, columns)}) == len(columns)
    if not is_table or not data or not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        raise bad_log("hold columns with different names, and rows of that length", path)
    rows = [dict(zip(map(str, columns), row, strict=True)) for row in data]
    models = [str(row["model"]) for row in rows if row.get("model")]
    check_one("model's answers", models, "Write a table for each, and compare them with `paraconsist compare`.")
    metrics = [name.removesuffix(_SCORE) for name in rows[0] if name.endswith(_SCORE)]
    scores = [{metric: row[f"{metric}{_SCORE}"] for metric in metrics} for row in rows]
    reported = read_whole(summary, "MLflow") if path.parent.name == "artifacts" and summary.is_file() else {}
    means = {metric: walk(reported, f"{metric}/mean") for metric in metrics}
    ids = [row.get("example_id", number) for number, row in enumerate(rows)]
    model = models[0] if models else None
    log = path, query, texts, MLFLOW.name, rows, scores, means
    return judged_rows(*log, ids=ids, named=_FIELDS, name=path.stem, model=model)


MLFLOW = LogFormat("mlflow", f"{_TABLE} of MLflow", recognises, read, f"*{_TABLE}", ("metric",))
