"""Results and rows as lm-evaluation-harness writes them: ``results_<time>.json``, ``samples_<set>_<time>.jsonl``.

What reads lm-eval's files reads these: its table maker, leaderboards, `datasets`, and `paraconsist score` itself.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from paraconsist._version import __version__
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import Rows, read_rows
from paraconsist.data.sharing import public_name
from paraconsist.data.tables import is_text
from paraconsist.files import make_folder, replacing, write_json, writing
from paraconsist.measures.catalogue import PARAPHRASTIC

_UNPARSED = "[invalid]"
#: Measures of which less is better; the others of `paraconsist` are better when larger.
_LOWER = ("inconsistency", "rate", "vap", "variance", "wrong")
#: What no end of is better, and what the unbiased value says better.
_LEFT_OUT = ("chance", "agreement_chance", "agreement")


def export_lm_eval(
    folder: Path,
    name: str,
    result: Mapping[str, Any],
    predictions: Predictions,
    columns: SourceOptions,
    *,
    now: datetime | None = None,
) -> tuple[Path, Path]:
    """Write one set's results (of `paraconsist.scoring.score.score`) and rows; return the results and the samples file.

    The files go in a folder of the model's name in `folder`, as lm-eval's do, where the model is known; `name` is the
    set, their task, `now` the time in their names. `columns` is ignored for logs, whose reader named them. InputError
    if the folder cannot be written.
    """
    if "source" in predictions.metadata:
        columns = SourceOptions()
    rows = read_rows(predictions, columns)
    model = public_name(str(result.get("model") or ""))
    task = _safe(name)
    time = (now or datetime.now()).isoformat().replace(":", "-")
    target = folder / _safe(model) if model else folder
    with writing("score", "output_dir", folder):
        make_folder(target)
        results_file, samples_file = target / f"results_{time}.json", target / f"samples_{task}_{time}.jsonl"
        write_json(results_file, _results(task, result, rows, model))
        samples = _samples(predictions, rows, columns)
        with replacing(samples_file) as partial, partial.open("w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples)
    return results_file, samples_file


def _results(task: str, result: Mapping[str, Any], rows: Rows, model: str) -> dict[str, Any]:
    right = rows.predictions == rows.labels
    n = len(rows)
    accuracy = float(right.mean())
    error = math.sqrt(accuracy * (1 - accuracy) / (n - 1)) if n > 1 else None
    values: dict[str, Any] = {"alias": task, "acc,none": accuracy, "acc_stderr,none": error}
    better: dict[str, bool] = {"acc": True}
    measures = result["measures"]
    for measure, scores in measures.items():
        errors = scores.get("standard_error") or {}
        for key, value in scores.items():
            if isinstance(value, float) and key not in _LEFT_OUT:
                metric = key if key.startswith(measure) or measure == PARAPHRASTIC.name else f"{measure}_{key}"
                values[f"{metric},none"] = value
                values[f"{metric}_stderr,none"] = errors.get(key, "N/A")
                better[metric] = not any(word in key for word in _LOWER)
    return {
        "results": {task: values},
        "group_subtasks": {task: []},
        "configs": {task: {"task": task, "output_type": "multiple_choice" if _chosen(rows) else "generate_until"}},
        "versions": {task: __version__},
        "n-shot": {task: 0},
        "higher_is_better": {task: better},
        "n-samples": {task: {"original": n, "effective": n}},
        "config": {"model": "paraconsist", "model_args": {"pretrained": model} if model else {}},
        "git_hash": None,
        "date": datetime.now().timestamp(),
        "model_source": "paraconsist",
        "model_name": model,
        "model_name_sanitized": _safe(model),
        "paraconsist_version": __version__,
        "signatures": {measure: scores.get("signature") for measure, scores in measures.items()},
        "confidence_intervals": {measure: scores.get("confidence_interval") for measure, scores in measures.items()},
    }


def _samples(predictions: Predictions, rows: Rows, columns: SourceOptions) -> Iterator[dict[str, Any]]:
    """Yield the rows; `doc` has everything that the predictions file says of them."""
    table = predictions.table
    names = predictions.label_names
    assert rows.buckets is not None
    known = {columns.prediction, columns.bucket, *columns.probabilities, "raw_output"}
    docs = table.select([c for c in table.column_names if c not in known]).to_pylist()
    probabilities: Sequence[Any] = [None] * len(rows)
    if len(columns.probabilities) == 1 and columns.probabilities[0] in table.column_names:
        probabilities = table[columns.probabilities[0]].to_pylist()
    raw = table["raw_output"].to_pylist() if "raw_output" in table.column_names else [None] * len(rows)
    by_number = _chosen(rows)
    right = rows.predictions == rows.labels
    for i, doc in enumerate(docs):
        label, prediction = rows.labels.item(i), rows.predictions.item(i)
        doc = {**doc, "bucket_id": rows.buckets.item(i), "role": str(rows.roles[i])}
        row = probabilities[i]
        likely = by_number and row is not None and not rows.unparsed[i] and max(row) == row[prediction]
        if likely:
            logs = [str(math.log(p)) if p > 0 else "-inf" for p in row]
            answers: list[Any] = [[one, "False"] for one in logs]
            texts = [names[k] if k < len(names) else str(k) for k in range(len(row))]
            responses: list[Any] = [[answer] for answer in answers]
        else:
            answers = [_UNPARSED if rows.unparsed[i] else _label_text(prediction, names)]
            texts = []
            responses = [[raw[i] if raw[i] is not None else answers[0]]]
        gold = str(label) if likely else _label_text(label, names)
        prompt = json.dumps(doc, default=str, ensure_ascii=False)
        yield {
            "doc_id": i,
            "doc": json.loads(prompt),
            "target": gold,
            "arguments": {f"gen_args_{k}": {"arg_0": "", "arg_1": f" {text}"} for k, text in enumerate(texts)},
            "resps": responses,
            "filtered_resps": answers,
            "filter": "none",
            "metrics": ["acc"],
            "doc_hash": _hash(prompt),
            "prompt_hash": _hash(""),
            "target_hash": _hash(gold),
            "acc": float(right[i]),
        }


def _chosen(rows: Rows) -> bool:
    return not is_text(rows.labels)


def _label_text(label: Any, names: Sequence[str]) -> str:
    return names[label] if isinstance(label, int) and 0 <= label < len(names) else str(label)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _safe(name: str) -> str:
    """Return a name that can be part of a file's, in lm-eval's manner, and names no other folder."""
    return re.sub(r"[\"<>:/|\\?*\[\]\s]+", "__", name).strip("_.") or "results"
