"""Records of Every Eval Ever (evaleval/every_eval_ever, schema 0.2): numbers with their intervals, and no answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from paraconsist.data.logs.fields import walk
from paraconsist.errors import input_error
from paraconsist.files import read_record

if TYPE_CHECKING:
    import pandas as pd

_DETAILS = {
    "value": ("score",),
    "low": ("uncertainty", "confidence_interval", "lower"),
    "high": ("uncertainty", "confidence_interval", "upper"),
    "confidence_level": ("uncertainty", "confidence_interval", "confidence_level"),
    "n_clusters": ("uncertainty", "num_samples"),
    "signature": ("details", "signature"),
}


def read_evaluations(*paths: str | Path) -> pd.DataFrame:
    """Return a line for each number of the records, whoever wrote them; what one does not say is null.

    Its columns are model, set, measure (``metric_id``, else ``metric_name``), value, low, high (in the record's unit),
    confidence_level, n_clusters and signature. InputError if a file is no such record.
    """
    import pandas as pd

    lines = []
    for path in map(Path, paths):
        record = read_record("read_evaluations", "paths", path, remedy="Give a record's JSON file.")
        results, model = record.get("evaluation_results"), walk(record, "model_info", "id")
        if not isinstance(results, list) or any(walk(one, "score_details", "score") is None for one in results):
            raise input_error("read_evaluations", "paths", "be records of Every Eval Ever", got=str(path))
        for one in results:
            metric = walk(one, "metric_config", "metric_id") or walk(one, "metric_config", "metric_name")
            known = {"model": model, "set": walk(one, "evaluation_name"), "measure": metric}
            lines.append({**known, **{key: walk(one, "score_details", *steps) for key, steps in _DETAILS.items()}})
    return pd.DataFrame(lines, columns=["model", "set", "measure", *_DETAILS])
