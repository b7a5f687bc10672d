"""Every Eval Ever (evaleval/every_eval_ever): records of numbers (schema 0.2), and files of samples (schema 0.3).

A record (`read_evaluations`) has numbers with their intervals and no answers. A file of samples, ``*_samples.jsonl``,
has a line for each question and metric, with the model's output, the answer read from it and the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraconsist.data.logs.fields import walk
from paraconsist.data.logs.format import Head, LogFormat, bad_log
from paraconsist.data.logs.verdicts import check_one, judged_rows, read_whole_lines
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.errors import input_error
from paraconsist.files import Json, read_record

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
    """Return a line for each number of the records, from any program; absent values are null.

    Its columns are model, set, measure (``metric_id``, else ``metric_name``), value, low, high (in the record's unit),
    confidence_level, n_clusters and signature. InputError if a file is not such a record.
    """
    import pandas as pd

    lines = []
    for path in map(Path, paths):
        record = read_record("read_evaluations", "paths", path, remedy="Give a record's JSON file.")
        results, model = record.get("evaluation_results"), walk(record, "model_info", "id")
        if not isinstance(results, list) or any(walk(r, "score_details", "score") is None for r in results):
            raise input_error("read_evaluations", "paths", "be records of Every Eval Ever", got=str(path))
        for result in results:
            metric = walk(result, "metric_config", "metric_id") or walk(result, "metric_config", "metric_name")
            known = {"model": model, "set": walk(result, "evaluation_name"), "measure": metric}
            lines.append({**known, **{key: walk(result, "score_details", *steps) for key, steps in _DETAILS.items()}})
    return pd.DataFrame(lines, columns=["model", "set", "measure", *_DETAILS])


_KEYS = {"evaluation_id", "evaluation_name", "sample_id", "interaction_type", "evaluation"}
_FIELDS = ("answer", "reference", "input.raw")


def recognises(path: Path, head: Head) -> bool:
    return head.first_row.keys() >= _KEYS


def read(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read one file of samples; InputError if it is cut short or of several evaluations, and as `judged_rows`."""
    lines = read_whole_lines(path, "Every Eval Ever")
    each = "Give the file of each by itself."
    for what, key in (("schema", "schema_version"), ("model's answers", "model_id"), ("evaluation", "evaluation_name")):
        check_one(what, [line.get(key) for line in lines], each)
    rows: dict[str, Json] = {}
    scores: dict[str, dict[str, tuple[int, Any]]] = {}
    for number, line in enumerate(lines):
        sample, metric = str(line.get("sample_id")), str(line.get("evaluation_result_id") or "is_correct")
        verdict = None if line.get("error") else walk(line, "evaluation", "is_correct")
        if scores.setdefault(sample, {}).setdefault(metric, (number, verdict))[0] != number:
            raise bad_log(f"have each sample once under {metric}", sample, row=number)
        rows.setdefault(sample, {**line, "answer": _answer(line), "reference": _reference(line)})
    judged = [{metric: verdict for metric, (_, verdict) in of_sample.items()} for of_sample in scores.values()]
    name, model, version = str(lines[0]["evaluation_name"]), lines[0].get("model_id"), lines[0].get("schema_version")
    means: Json = {}
    log = path, query, texts, SAMPLES.name, list(rows.values()), judged, means
    return judged_rows(
        *log, ids=list(rows), named=_FIELDS, roots=("metadata",), name=name, model=model, version=version
    )


def _answer(line: Any) -> str | None:
    """Return the answer read from the model's last output, else the output."""
    attributions, outputs = line.get("answer_attribution"), walk(line, "output", "raw")
    last = attributions[-1] if isinstance(attributions, list) and attributions else None
    answer = walk(last, "extracted_value") or (outputs[-1] if isinstance(outputs, list) and outputs else None)
    return None if answer is None else str(answer)


def _reference(line: Any) -> str | None:
    reference = walk(line, "input", "reference")
    return " | ".join(map(str, reference)) if isinstance(reference, list) and reference else None


SAMPLES = LogFormat(
    "every_eval_ever", "file of samples of Every Eval Ever", recognises, read, "*_samples.jsonl", ("metric",)
)
