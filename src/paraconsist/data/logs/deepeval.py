"""deepeval: ``test_run_<time>.json`` of a results folder, or ``.deepeval/.latest_run_full.json`` (tried with 4.3.1).

The file holds test cases with the verdicts of their metrics, and how many passed each metric. The run's
``hyperparameters`` may name the model; the version that wrote the file is not recorded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paraconsist.data.logs.fields import walk
from paraconsist.data.logs.format import Head, LogFormat, bad_log
from paraconsist.data.logs.verdicts import judged_rows, read_whole
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions

_KEYS = {"testCases", "conversationalTestCases", "metricsScores"}
_START = re.compile(rb'\s*\{\s*("testFile"\s*:\s*"[^"]*"\s*,\s*)?"testCases"\s*:\s*\[\s*\{\s*"name"\s*:')
_FIELDS = ("actualOutput", "expectedOutput", "input")
_ROOTS = ("metadata", "additionalMetadata")  # the latter in version 3


def recognises(path: Path, head: Head) -> bool:
    return head.first_row.keys() >= _KEYS or (_START.match(head.start) is not None and b'"metricsData"' in head.start)


def read(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read one test run; InputError if it is cut short or holds no single questions, and as `judged_rows`."""
    run = read_whole(path, "deepeval")
    cases: Any = run.get("testCases")
    totals: Any = run.get("metricsScores")
    metrics = [walk(case, "metricsData") or [] for case in cases] if isinstance(cases, list) else []
    is_run = all(isinstance(value, list) for value in (cases, totals, *metrics))
    if not is_run or not cases or not all(isinstance(case, dict) for case in cases):
        raise bad_log("hold test cases of one question each", path, remedy="Conversations are not scored.")
    rows = [{key: value for key, value in case.items() if key not in ("metricsData", "trace")} for case in cases]
    scores = [{str(walk(metric, "name")): _verdict(metric) for metric in of_case} for of_case in metrics]
    means = {str(walk(total, "metric")): _pass_rate(total) for total in totals}
    ids = [str(case.get("name")) for case in cases]
    if len(set(ids)) < len(ids):  # pytest names its cases after their test
        ids = [str(case.get("input")) for case in cases]
    name, model = str(run.get("identifier") or path.stem), walk(run, "hyperparameters", "model")
    log = path, query, texts, DEEPEVAL.name, rows, scores, means
    return judged_rows(*log, ids=ids, named=_FIELDS, roots=_ROOTS, name=name, model=model)


def _verdict(metric: Any) -> Any:
    """Return whether a metric was passed; its score if it has no threshold, None if it failed."""
    score, passed = walk(metric, "score"), walk(metric, "success")
    return score if score is None or passed is None else passed


def _pass_rate(total: Any) -> float | None:
    passes, fails = walk(total, "passes"), walk(total, "fails")
    return passes / (passes + fails) if isinstance(passes, int) and isinstance(fails, int) and passes + fails else None


DEEPEVAL = LogFormat("deepeval", "test_run_*.json of deepeval", recognises, read, "test_run_*.json", ("metric",))
