"""promptfoo: the output of ``promptfoo eval --output results.json`` (tried with 0.121.20).

A result is right if all assertions of its test passed. promptfoo has no field for the correct answer: `--label` names
one of the test's variables.
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
from paraconsist.errors import input_error
from paraconsist.files import Json

_START = re.compile(rb'\s*\{\s*"evalId"\s*:\s*("[^"]*"|null)\s*,\s*"results"\s*:')
_FIELDS = ("response.output", "vars.expected", "prompt.raw")
_ROOTS = ("metadata", "vars")
_PASSED = "success"
_KEPT = ("vars", "metadata", "prompt", "response", "testIdx")
_ERROR = 2  # promptfoo's reason for failures other than those of assertions


def recognises(path: Path, head: Head) -> bool:
    return _START.match(head.start) is not None


def read(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read one provider's answers to one prompt, which `query.filter` names, and as `judged_rows`.

    InputError if the file is cut short, or has answers of several and none was named.
    """
    whole = read_whole(path, "promptfoo")
    results: Any = walk(whole, "results", "results")
    if not isinstance(results, list) or not results or not all(isinstance(result, dict) for result in results):
        raise bad_log("hold results", path, remedy="`promptfoo eval --output results.json` writes them.")
    results = _chosen(results, query.filter)
    providers = [_provider(result) for result in results]
    if query.metric is None and query.named("prediction") is None:
        query = replace(query, metric=_PASSED)
    named = (result.get("namedScores") for result in results)
    own = [scores if isinstance(scores, dict) else {} for scores in named]
    scores = [{_PASSED: _verdict(result), **extra} for result, extra in zip(results, own, strict=True)]
    counts = [walk(whole, "results", "stats", name) for name in ("successes", "failures")]
    is_whole = query.filter is None and all(isinstance(count, int) for count in counts)
    n_judged = sum(counts) if is_whole else 0
    rows = [{name: result[name] for name in _KEPT if name in result} for result in results]
    means = {_PASSED: counts[0] / n_judged if n_judged else None}
    ids, model = [result.get("testIdx") for result in results], providers[0]
    name, version = str(walk(whole, "config", "description") or path.stem), walk(whole, "metadata", "promptfooVersion")
    log = path, query, texts, PROMPTFOO.name, rows, scores, means
    return judged_rows(*log, ids=ids, named=_FIELDS, roots=_ROOTS, name=name, model=model, version=version)


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
    check_one("model's answers", map(_provider, chosen), remedy)
    check_one("prompt's answers", (result.get("promptIdx") for result in chosen), remedy)
    return chosen


def _verdict(result: Any) -> bool | None:
    """Return whether all assertions passed; None if the provider failed."""
    return None if result.get("failureReason") == _ERROR else bool(result.get(_PASSED))


PROMPTFOO = LogFormat("promptfoo", "results of promptfoo as JSON", recognises, read, options=("metric", "filter"))
