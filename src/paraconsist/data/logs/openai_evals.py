"""OpenAI evals: the record that ``oaieval --record_path FILE.jsonl`` writes (tried with 3.0.1).

Events, of which a ``match`` says whether a sample's answer was right. A sample has a number and no metadata: an eval
that calls ``record_match(..., question_id=...)`` records what links its rows.
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
    samples: dict[str, dict[str, Any]] = {}
    for event in events:
        if event.get("type") == "sampling":
            sampled = event["data"].get("sampled")
            text = sampled[0] if isinstance(sampled, list) and len(sampled) == 1 else sampled
            samples[str(event.get("sample_id"))] = {"prompt": event["data"].get("prompt"), "sampled": text}
    matches = [event for event in events if event.get("type") == "match"]
    if not matches:
        kinds = ", ".join(sorted({str(event.get("type")) for event in events}))
        raise bad_log("hold `match` events, which say what is right", f"{path.name}, with {kinds or 'no events'}")
    ids = [str(event.get("sample_id")) for event in matches]
    rows = [{**samples.get(one, {}), **e["data"], "sample_id": one} for one, e in zip(ids, matches, strict=True)]
    scores = [{"match": row.get("correct")} for row in rows]
    about: dict[str, Any] = {"ids": ids, "named": _FIELDS, "name": str(walk(spec, "eval_name"))}
    about["model"] = models[0] if models else None
    means = {"match": walk(reports[-1], "accuracy")}
    return judged_rows(path, query, texts, OPENAI_EVALS.name, rows, scores, means, **about)


OPENAI_EVALS = LogFormat("openai_evals", "record of OpenAI evals", recognises, read, options=("metric",))
