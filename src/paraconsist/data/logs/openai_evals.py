"""OpenAI evals: the record that ``oaieval --record_path FILE.jsonl`` writes (tried with 3.0.1).

The events of type ``match`` hold the verdicts. A sample has a number and no metadata, unless the eval calls
``record_match(..., question_id=...)`` to link its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paraconsist.data.logs.fields import walk
from paraconsist.data.logs.format import Head, LogFormat, bad_log
from paraconsist.data.logs.verdicts import check_one, judged_rows, read_whole_lines
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.files import Json

_FIELDS = ("sampled", "expected", "prompt")


def recognises(path: Path, head: Head) -> bool:
    return all(walk(head.first_row, "spec", name) is not None for name in ("eval_name", "completion_fns"))


def read(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read one record; InputError if it is cut short, or of several runs or models, and as `judged_rows`."""
    lines = read_whole_lines(path, "OpenAI evals")
    spec, reports = walk(lines[0], "spec"), [line["final_report"] for line in lines if "final_report" in line]
    if not reports:
        raise bad_log("be the record of a run that ended", path, remedy="It has no final report: the run was stopped.")
    events = [line for line in lines if isinstance(line.get("data"), dict)]
    check_one("run", [event.get("run_id") for event in events], "Give the record of each run by itself.")
    models: Any = walk(spec, "completion_fns")
    models = models if isinstance(models, list) else [models]
    check_one("model's answers", models, "Record each model by itself, and compare them.")
    samples: dict[str, Json] = {}
    for event in events:
        if event.get("type") == "sampling":
            sampled = event["data"].get("sampled")
            text = sampled[0] if isinstance(sampled, list) and len(sampled) == 1 else sampled
            samples[str(event.get("sample_id"))] = {"prompt": event["data"].get("prompt"), "sampled": text}
    matches = [event for event in events if event.get("type") == "match"]
    if not matches:
        kinds = ", ".join(sorted({str(event.get("type")) for event in events}))
        raise bad_log("hold `match` events with verdicts", f"{path.name}, with {kinds or 'no events'}")
    ids = [str(event.get("sample_id")) for event in matches]
    rows = [{**samples.get(id_, {}), **e["data"], "sample_id": id_} for id_, e in zip(ids, matches, strict=True)]
    scores = [{"match": row.get("correct")} for row in rows]
    name, model = str(walk(spec, "eval_name")), models[0] if models else None
    means = {"match": walk(reports[-1], "accuracy")}
    log = path, query, texts, OPENAI_EVALS.name, rows, scores, means
    return judged_rows(*log, ids=ids, named=_FIELDS, name=name, model=model)


OPENAI_EVALS = LogFormat("openai_evals", "record of OpenAI evals", recognises, read, options=("metric",))
