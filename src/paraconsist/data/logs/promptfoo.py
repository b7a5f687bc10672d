"""promptfoo: what ``promptfoo eval --output results.json`` writes (tried with 0.121.20).

One result for each test, right where all its assertions passed. promptfoo has no field for the correct answer:
`--label` names one of the test's variables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from paraconsist.data.logs.fields import walk
from paraconsist.data.logs.format import Head, LogFormat, bad_log
from paraconsist.data.logs.verdicts import check_one, judged_rows, read_whole
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions

_START = re.compile(rb'\s*\{\s*"evalId"\s*:\s*("[^"]*"|null)\s*,\s*"results"\s*:')
_FIELDS = ("response.output", "vars.expected", "prompt.raw")
_ROOTS = ("metadata", "vars")
_PASSED = "success"
_KEPT = ("vars", "metadata", "prompt", "response", "testIdx")
_ERROR = 2  # promptfoo's reason of a failure that is no assertion's


def recognises(path: Path, head: Head) -> bool:
    return _START.match(head.start) is not None


def read(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read one evaluation; InputError if it is cut short, or of several models or prompts, and as `judged_rows`."""
    whole = read_whole(path, "promptfoo")
    results: Any = walk(whole, "results", "results")
    if not isinstance(results, list) or not results or not all(isinstance(one, dict) for one in results):
        raise bad_log("hold results", path, remedy="`promptfoo eval --output results.json` writes them.")
    providers = [walk(one, "provider", "label") or walk(one, "provider", "id") for one in results]
    prompts = [one.get("promptIdx") for one in results]
    remedy = "Evaluate each by itself (`promptfoo eval --filter-providers`), and compare the files."
    check_one("model's answers", providers, remedy)
    check_one("prompt's answers", prompts, remedy)
    if query.metric is None and query.named("prediction") is None:
        query = replace(query, metric=_PASSED)
    named = [one.get("namedScores") for one in results]
    scores = [
        {_PASSED: _verdict(one), **(more if isinstance(more, dict) else {})}
        for one, more in zip(results, named, strict=True)
    ]
    counts = [walk(whole, "results", "stats", name) for name in ("successes", "failures")]
    n_judged = sum(counts) if all(isinstance(count, int) for count in counts) else 0
    about = {"ids": [one.get("testIdx") for one in results], "model": providers[0], "named": _FIELDS, "roots": _ROOTS}
    about |= {"version": walk(whole, "metadata", "promptfooVersion")}
    about |= {"name": str(walk(whole, "config", "description") or path.stem)}
    rows = [{name: one[name] for name in _KEPT if name in one} for one in results]
    means = {_PASSED: counts[0] / n_judged if n_judged else None}
    return judged_rows(path, query, texts, PROMPTFOO.name, rows, scores, means, **about)


def _verdict(result: Any) -> bool | None:
    """Return whether all assertions passed; None where the provider failed."""
    return None if result.get("failureReason") == _ERROR else bool(result.get(_PASSED))


PROMPTFOO = LogFormat("promptfoo", "results of promptfoo as JSON", recognises, read, options=("metric",))
