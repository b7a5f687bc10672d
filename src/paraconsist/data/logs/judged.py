"""Logs of answers with the verdicts of metrics: lighteval, deepeval, MLflow, promptfoo, OpenAI evals, Every Eval Ever.

Every reader raises InputError for a file that is cut short, and as `judged_rows` does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from paraconsist.data.logs import format as logs
from paraconsist.data.logs.fields import walk
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.errors import first_line, input_error
from paraconsist.files import Json, read_record

if TYPE_CHECKING:
    import pandas as pd

_DEEPEVAL = {"testCases", "conversationalTestCases", "metricsScores"}
_DEEPEVAL_START = re.compile(rb'\s*\{\s*("testFile"\s*:\s*"[^"]*"\s*,\s*)?"testCases"\s*:\s*\[\s*\{\s*"name"\s*:')


def _is_deepeval(path: Path, head: logs.Head) -> bool:
    is_start = _DEEPEVAL_START.match(head.start) is not None and b'"metricsData"' in head.start
    return is_start or head.first_row.keys() >= _DEEPEVAL


def _read_deepeval(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read a test run, ``test_run_<time>.json`` or ``.deepeval/.latest_run_full.json`` (tried with 4.3.1).

    It has test cases with the verdicts of their metrics, and how many passed each metric. The run's ``hyperparameters``
    may name the model; the version that wrote the file is not recorded.
    """
    run = logs.read_whole(path, "deepeval")
    must, remedy = "hold test cases of one question each", "Conversations are not scored."
    cases, totals = logs.objects_in(run.get("testCases"), must, path, remedy), run.get("metricsScores")
    metrics = [case.get("metricsData") or [] for case in cases]
    if not isinstance(totals, list) or not all(isinstance(of_case, list) for of_case in metrics):
        raise logs.bad_log(must, path, remedy=remedy)
    rows = [{key: value for key, value in case.items() if key not in ("metricsData", "trace")} for case in cases]
    scores = [{str(walk(metric, "name")): _deepeval_verdict(metric) for metric in of_case} for of_case in metrics]
    means = {str(walk(t, "metric")): _share(walk(t, "passes"), walk(t, "fails")) for t in totals}
    ids = [str(case.get("name")) for case in cases]
    if len(set(ids)) < len(ids):  # pytest names its cases after their test
        ids = [str(case.get("input")) for case in cases]
    name, model = run.get("identifier"), walk(run, "hyperparameters", "model")
    fields, roots = ("actualOutput", "expectedOutput", "input"), ("metadata", "additionalMetadata")  # or of version 3
    log = path, query, texts, "deepeval", rows, scores, means
    return logs.judged_rows(*log, ids=ids, named=fields, roots=roots, name=name, model=model)


def _deepeval_verdict(metric: Any) -> Any:
    """Return whether a metric was passed; its score if it has no threshold, None if it failed."""
    score, passed = walk(metric, "score"), walk(metric, "success")
    return score if score is None or passed is None else passed


def _share(right: Any, wrong: Any) -> float | None:
    """Return the share of right ones of two numbers; None where a tool gives no such numbers."""
    known = isinstance(right, int) and isinstance(wrong, int) and right + wrong
    return right / (right + wrong) if known else None


_TABLE, _SCORE = "eval_results_table.json", "/score"
_TABLE_START = re.compile(rb'\s*\{\s*"columns"\s*:\s*\[[^\[\]]*/score"[^\[\]]*\]\s*,\s*"data"\s*:\s*\[')


def _read_mlflow(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read the table of `mlflow.models.evaluate` (tried with 3.17.2), of one model.

    It has a column ``<metric>/score`` for each metric that judges rows; `save` also writes the metrics' means to
    ``metrics.json`` next to its folder. The version that wrote the table is not recorded.
    """
    if path.read_bytes().strip() == b"null":
        remedy = "MLflow saves a table only once it was loaded: read `result.tables` before `result.save(...)`."
        raise logs.bad_log("hold a table", path, remedy=remedy)
    table, summary = logs.read_whole(path, "MLflow"), path.parent.parent / "metrics.json"
    columns: Any = table.get("columns")
    data: Any = table.get("data")
    is_table = isinstance(columns, list) and isinstance(data, list) and len({*map(str, columns)}) == len(columns)
    if not is_table or not data or not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        raise logs.bad_log("hold columns with different names, and rows of that length", path)
    rows = [dict(zip(map(str, columns), row, strict=True)) for row in data]
    models = [str(row["model"]) for row in rows if row.get("model")]
    logs.check_one("model's answers", models, "Write a table for each, and compare them with `paraconsist compare`.")
    metrics = [name.removesuffix(_SCORE) for name in rows[0] if name.endswith(_SCORE)]
    scores = [{metric: row[f"{metric}{_SCORE}"] for metric in metrics} for row in rows]
    reported = logs.read_whole(summary, "MLflow") if path.parent.name == "artifacts" and summary.is_file() else {}
    means = {metric: walk(reported, f"{metric}/mean") for metric in metrics}
    ids, model = [row.get("example_id", number) for number, row in enumerate(rows)], models[0] if models else None
    log = path, query, texts, "mlflow", rows, scores, means
    return logs.judged_rows(*log, ids=ids, named=("outputs", "target", "inputs"), name=None, model=model)


_EVAL_START = re.compile(rb'\s*\{\s*"evalId"\s*:\s*("[^"]*"|null)\s*,\s*"results"\s*:')
_PASSED = "success"
_KEPT = ("vars", "metadata", "prompt", "response", "testIdx")
_ERROR = 2  # promptfoo's reason for failures other than those of assertions


def _read_promptfoo(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read one provider's answers to one prompt, which `query.filter` names, of promptfoo (tried with 0.121.20).

    A result is right if all assertions of its test passed. promptfoo has no field for the correct answer: `label` names
    one of the test's variables. InputError if the file has answers of several and none was named.
    """
    whole = logs.read_whole(path, "promptfoo")
    remedy = "`promptfoo eval --output results.json` writes them."
    results = _chosen(logs.objects_in(walk(whole, "results", "results"), "hold results", path, remedy), query.filter)
    if query.metric is None and query.named("prediction") is None:
        query = replace(query, metric=_PASSED)
    named = (result.get("namedScores") for result in results)
    own = [scores if isinstance(scores, dict) else {} for scores in named]
    failed = [result.get("failureReason") == _ERROR for result in results]  # of the provider
    passed = [None if is_out else bool(result.get(_PASSED)) for result, is_out in zip(results, failed, strict=True)]
    scores = [{_PASSED: verdict, **extra} for verdict, extra in zip(passed, own, strict=True)]
    counts = [walk(whole, "results", "stats", name) for name in ("successes", "failures")]
    means = {_PASSED: _share(*counts) if query.filter is None else None}
    rows = [{name: result[name] for name in _KEPT if name in result} for result in results]
    ids, model, version = (
        [r.get("testIdx") for r in results],
        _provider(results[0]),
        walk(whole, "metadata", "promptfooVersion"),
    )
    name = walk(whole, "config", "description")
    fields, roots = ("response.output", "vars.expected", "prompt.raw"), ("metadata", "vars")
    log = path, query, texts, "promptfoo", rows, scores, means
    read = logs.judged_rows(*log, ids=ids, named=fields, roots=roots, name=name, model=model, version=version)
    parts = [("vars",), ("testCase", "metadata"), ("prompt", "raw")]
    asked = [json.dumps([walk(result, *part) for part in parts], sort_keys=True) for result in results]
    if n := len(asked) - len({*asked}):  # of `--repeat`, which the file does not tell
        equal = f"{n:,} of {len(asked):,} rows ask what another row of their bucket asks, as `promptfoo eval --repeat` "
        read.metadata["notes"] = [*read.metadata["notes"], f"{equal}does: they are counted as further wordings"]
    return read


def _provider(result: Json) -> Any:
    return walk(result, "provider", "label") or walk(result, "provider", "id")


def _chosen(results: list[Json], wanted: str | None) -> list[Json]:
    """Return the results of the provider or prompt of a name, or of the pair of them that has this number."""
    names = [(str(r.get("promptIdx")), str(_provider(r)), str(walk(r, "prompt", "label"))) for r in results]
    chosen = [result for result, own in zip(results, names, strict=True) if wanted is None or wanted in own]
    pairs = dict.fromkeys(f"{number} ({provider} with {prompt[:60]!r})" for number, provider, prompt in names)
    remedy = f"Name one in `filter`: {', '.join(pairs)}."
    if not chosen:
        raise input_error("score", "filter", "name a provider, a prompt or its number", got=wanted, remedy=remedy)
    providers = [*map(_provider, chosen)]
    if len({result.get("promptIdx") for result in chosen}) == len({*providers}):  # a prompt of each
        logs.check_one_model("answers", providers, choice="filter", beside=f"{remedy} ")
    logs.check_one("model's answers", providers, remedy)
    logs.check_one("prompt's answers", (result.get("promptIdx") for result in chosen), remedy)
    return chosen


def _read_openai_evals(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read the record of one run and model that ``oaieval --record_path FILE.jsonl`` writes (tried with 3.0.1).

    The events of type ``match`` hold the verdicts. A sample has a number and no metadata, unless the eval calls
    ``record_match(..., question_id=...)`` to link its rows.
    """
    lines = logs.read_whole_lines(path, "OpenAI evals")
    spec, reports = walk(lines[0], "spec"), [line["final_report"] for line in lines if "final_report" in line]
    if not reports:
        raise logs.bad_log(
            "be the record of a run that ended", path, remedy="It has no final report: the run was stopped."
        )
    events = [line for line in lines if isinstance(line.get("data"), dict)]
    logs.check_one("run", [event.get("run_id") for event in events], "Give the record of each run by itself.")
    models: Any = walk(spec, "completion_fns")
    models = models if isinstance(models, list) else [models]
    logs.check_one("model's answers", models, "Record each model by itself, and compare them.")
    samples: dict[str, Json] = {}
    for event in events:
        if event.get("type") == "sampling":
            sampled = event["data"].get("sampled")
            text = sampled[0] if isinstance(sampled, list) and len(sampled) == 1 else sampled
            samples[str(event.get("sample_id"))] = {"prompt": event["data"].get("prompt"), "sampled": text}
    matches = [event for event in events if event.get("type") == "match"]
    if not matches:
        kinds = ", ".join(sorted({str(event.get("type")) for event in events}))
        raise logs.bad_log("hold `match` events with verdicts", f"{path.name}, with {kinds or 'no events'}")
    ids = [str(event.get("sample_id")) for event in matches]
    rows = [{**samples.get(id_, {}), **e["data"], "sample_id": id_} for id_, e in zip(ids, matches, strict=True)]
    scores, means = [{"match": row.get("correct")} for row in rows], {"match": walk(reports[-1], "accuracy")}
    name, model = str(walk(spec, "eval_name")), models[0] if models else None
    log = path, query, texts, "openai_evals", rows, scores, means
    return logs.judged_rows(*log, ids=ids, named=("sampled", "expected", "prompt"), name=name, model=model)


_SAMPLE = {"evaluation_id", "evaluation_name", "sample_id", "interaction_type", "evaluation"}


def _read_samples(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read a file of samples of one evaluation, ``*_samples.jsonl`` (evaleval/every_eval_ever, schema 0.3).

    It has a line for each question and metric, with the model's output, the answer read from it and the verdict.
    """
    lines = logs.read_whole_lines(path, "Every Eval Ever")
    each = "Give the file of each by itself."
    for what, key in (("schema", "schema_version"), ("model's answers", "model_id"), ("evaluation", "evaluation_name")):
        logs.check_one(what, [line.get(key) for line in lines], each)
    rows: dict[str, Json] = {}
    scores: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines):
        sample, metric = str(line.get("sample_id")), str(line.get("evaluation_result_id") or "is_correct")
        of_sample = scores.setdefault(sample, {})
        if metric in of_sample:
            raise logs.bad_log(f"have each sample once under {metric}", sample, row=number)
        of_sample[metric] = None if line.get("error") else walk(line, "evaluation", "is_correct")
        rows.setdefault(sample, {**line, "answer": _answer(line), "reference": _reference(line)})
    name, model, version = (lines[0].get(key) for key in ("evaluation_name", "model_id", "schema_version"))
    means: Json = {}  # it has none
    log = path, query, texts, "every_eval_ever", [*rows.values()], [*scores.values()], means
    fields = ("answer", "reference", "input.raw")
    what_of: Json = {"named": fields, "roots": ("metadata",), "name": str(name), "model": model, "version": version}
    return logs.judged_rows(*log, ids=list(rows), **what_of)


def _answer(line: Any) -> str | None:
    """Return the answer read from the model's last output, else the output."""
    attributions, outputs = line.get("answer_attribution"), walk(line, "output", "raw")
    last = attributions[-1] if isinstance(attributions, list) and attributions else None
    answer = walk(last, "extracted_value") or (outputs[-1] if isinstance(outputs, list) and outputs else None)
    return None if answer is None else str(answer)


def _reference(line: Any) -> str | None:
    reference = walk(line, "input", "reference")
    return " | ".join(map(str, reference)) if isinstance(reference, list) and reference else None


#: What is read of lighteval's rows: documents also hold few-shot examples, responses tokens and logits.
_USED = (
    *(f"doc.{name}" for name in ("query", "choices", "gold_index", "specific", "id", "task_name")),
    *("metric", "model_response.text", "model_response.text_post_processed", "model_response.logprobs"),
)


def _is_lighteval(path: Path, head: logs.Head) -> bool:
    if not head.start.startswith(b"PAR1"):
        return False
    try:
        return {*pq.read_schema(path).names} == {"doc", "metric", "model_response"}
    except pa.ArrowException:  # cut short
        return path.name.startswith("details_")


def _read_lighteval(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read the details of one task, ``details/MODEL/TIME/details_TASK_TIME.parquet`` (tried with lighteval 0.13.0).

    An answer that was chosen is the likeliest choice; the metric, which may divide by lengths, decides whether it is
    right. InputError if questions were answered several times.
    """
    try:
        rows = pq.ParquetFile(path).read([*_USED]).to_pylist()
    except pa.ArrowException as problem:
        raise logs.not_whole(path, "lighteval", f"{first_line(problem)}. ") from None
    if not rows:
        raise logs.bad_log("hold answers", path)
    for number, row in enumerate(rows):
        doc, response = row["doc"], row["model_response"]
        written, scores = response["text_post_processed"] or response["text"] or [], response["logprobs"] or []
        if len(written) > 1:
            remedy = "Evaluate with `num_samples=1`: several answers to a question have one verdict together."
            raise logs.bad_log("have one answer to each question", len(written), row=number, remedy=remedy)
        choices, gold = doc["choices"] or [], doc["gold_index"]
        right = [choices[i] for i in (gold if isinstance(gold, list) else [gold]) if i in range(len(choices))]
        row["answer"] = written[0] if written else None
        if not written and len(scores) == len(choices) > 0:
            row["answer"] = choices[int(np.argmax(scores))]
        row["gold"] = " | ".join(right)
    scores, name = [row.pop("metric") for row in rows], str(rows[0]["doc"]["task_name"]).partition("|")[0]
    parts = path.resolve().parts
    model = "/".join(parts[parts.index("details") + 1 : -2]) if "details" in parts[:-3] else None
    means: Json = {}  # they are in another file
    log = path, query, texts, "lighteval", rows, scores, means
    ids = [str(row["doc"]["id"] or number) for number, row in enumerate(rows)]
    named, roots = ("answer", "gold", "doc.query"), ("doc.specific", "doc")
    return logs.judged_rows(*log, ids=ids, named=named, roots=roots, name=name, model=model)


_DETAILS = {
    "value": ("score",),
    "low": ("uncertainty", "confidence_interval", "lower"),
    "high": ("uncertainty", "confidence_interval", "upper"),
    "confidence_level": ("uncertainty", "confidence_interval", "confidence_level"),
    "n_clusters": ("uncertainty", "num_samples"),
    "signature": ("details", "signature"),
}


def read_evaluations(*paths: str | Path) -> pd.DataFrame:
    """Return a line for each number of records of Every Eval Ever (schema 0.2), from any program.

    Its columns are model, set, measure (``metric_id``, else ``metric_name``), value, low, high (in the record's unit),
    confidence_level, n_clusters and signature; absent values are null. InputError if a file is not such a record.
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


def _is_openai_evals(path: Path, head: logs.Head) -> bool:
    return all(walk(head.first_row, "spec", name) is not None for name in ("eval_name", "completion_fns"))


_METRIC, _WITH_FILTER = ("metric",), ("metric", "filter")
#: These formats, in the order of detection.
JUDGED = (
    logs.LogFormat(
        "lighteval", "details_*.parquet of lighteval", _is_lighteval, _read_lighteval, "details_*.parquet", _METRIC
    ),
    logs.LogFormat("deepeval", "test_run_*.json of deepeval", _is_deepeval, _read_deepeval, "test_run_*.json", _METRIC),
    logs.LogFormat(
        "mlflow",
        f"{_TABLE} of MLflow",
        lambda path, head: path.name.endswith(_TABLE) or _TABLE_START.match(head.start) is not None,
        _read_mlflow,
        f"*{_TABLE}",
        _METRIC,
    ),
    logs.LogFormat(
        "promptfoo",
        "results of promptfoo as JSON",
        lambda _, head: _EVAL_START.match(head.start) is not None,
        _read_promptfoo,
        options=_WITH_FILTER,
    ),
    logs.LogFormat("openai_evals", "record of OpenAI evals", _is_openai_evals, _read_openai_evals, options=_METRIC),
    logs.LogFormat(
        "every_eval_ever",
        "file of samples of Every Eval Ever",
        lambda _, head: head.first_row.keys() >= _SAMPLE,
        _read_samples,
        "*_samples.jsonl",
        _METRIC,
    ),
)
