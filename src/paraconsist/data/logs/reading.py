"""Say what files are and read them: one file, several files of one run, or a folder of logs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paraconsist.data.logs.format import DEFAULT_FIELDS, Asked, Head, LogFormat
from paraconsist.data.logs.inspect_ai import INSPECT
from paraconsist.data.logs.lm_eval import LM_EVAL
from paraconsist.data.logs.tables import PLAIN
from paraconsist.data.predictions import Predictions
from paraconsist.errors import InputError, input_error

#: In the order in which they are asked whether a file is theirs.
FORMATS: tuple[LogFormat, ...] = (INSPECT, LM_EVAL, PLAIN)

_LONGEST_LINE = 1 << 24


def detect(path: Path) -> LogFormat:
    """Say which format a file is of, by what is in it.

    Raises
    ------
    InputError
        If it is absent or of no known format; the message says what it looks like.
    """
    if not path.is_file():
        raise input_error("score", "path", "name a file that exists", got=str(path))
    head = _head(path)
    for one in FORMATS:
        if _is_summary(path, head):
            break
        if one.recognises(path, head):
            return one
    known = "; ".join(one.what for one in FORMATS)
    raise input_error(
        "score",
        "path",
        "be a log or a table of a known format",
        got=str(path),
        remedy=f"It is {_looks(path, head)}. Known are: {known}.",
    )


def read_logs(paths: Sequence[Path], asked: Asked = DEFAULT_FIELDS) -> dict[str, Predictions]:
    """Read the files of one run of one model; each is a set of its own.

    Parameters
    ----------
    paths : sequence of Path
        Files, or folders, whose logs are found at any depth.
    asked : Asked
        What was said of their fields.

    Returns
    -------
    dict
        Set name (the task, or the file's name) -> predictions in the long format.

    Raises
    ------
    InputError
        If a file cannot be read (see each format), or the files are of several formats, tool versions, models,
        or runs of one set.
    """
    files = [file for path in paths for file in (_logs_in(path) if path.is_dir() else [path])]
    formats = {file: detect(file) for file in files}
    _check_same(
        "be of one format",
        {file: one.name for file, one in formats.items()},
        "Score files of each format by themselves.",
    )
    found = {file: _read(file, one, asked, alone=len(files) == 1) for file, one in formats.items()}
    _check_same(
        "be written by one version of the tool",
        {file: _source(p).get("version") for file, p in found.items()},
        "Versions may ask and judge differently: score each version's files by themselves.",
    )
    _check_same(
        "hold one model's answers",
        {file: (p.metadata.get("model") or {}).get("model") for file, p in found.items()},
        "Score each model's files by themselves, and compare them with `paraconsist compare`.",
    )
    named: dict[str, Predictions] = {}
    of_set: dict[str, Path] = {}
    for file, predictions in found.items():
        name = str(predictions.metadata.get("set", file.stem))
        if name in named:
            raise input_error(
                "score",
                "path",
                f"hold one run of {name}",
                got=[of_set[name].name, file.name],
                remedy="They are two runs, or two models' files: give the file that you mean.",
            )
        named[name], of_set[name] = predictions, file
    return named


def _read(file: Path, one: LogFormat, asked: Asked, *, alone: bool) -> Predictions:
    """Read a file; among several, errors say which it is."""
    for option in ("metric", "filter", "epoch"):
        given = getattr(asked, option)
        if given is not None and option not in one.options:
            known = [other.name for other in FORMATS if option in other.options]
            raise input_error(
                "score", option, f"be given for logs of {' or '.join(known)} only", got=given, remedy=f"{file} is none."
            )
    try:
        return one.read(file, asked)
    except InputError as problem:
        if alone or file.name in str(problem):
            raise
        raise InputError(f"{problem} (In {file.name}.)") from None


def _head(path: Path) -> Head:
    with path.open("rb") as stream:
        first = stream.readline(_LONGEST_LINE)
        start = (first + stream.read(8192))[:8192]
    try:
        row = json.loads(first)
    except ValueError:
        row = {}
    return Head(start, row if isinstance(row, dict) else {})


def _is_summary(path: Path, head: Head) -> bool:
    """Say whether a file is lm-eval's results, which have no rows."""
    return path.suffix == ".json" and path.name.startswith("results_") and b'"results"' in head.start


def _looks(path: Path, head: Head) -> str:
    if _is_summary(path, head):
        return "lm-evaluation-harness's summary; its rows are in samples_*.jsonl beside it, written with --log_samples"
    if not head.start:
        return "empty"
    if head.start.startswith(b"PK"):
        return "a zip archive without an inspect_ai log in it"
    if path.suffix.lower() == ".eval":
        return "no zip archive, as an inspect_ai log is: it may be cut short"
    if head.first_row:
        return f"JSON with the keys {', '.join(list(head.first_row)[:10])}, under a name that ends in {path.suffix!r}"
    return f"a file that ends in {path.suffix!r} and begins {head.start[:40]!r}"


def _logs_in(folder: Path) -> list[Path]:
    patterns = [one.pattern for one in FORMATS if one.pattern is not None]
    files = sorted(file for pattern in patterns for file in folder.rglob(pattern) if file.is_file())
    if not files:
        there = sorted(file.name for file in folder.iterdir())
        raise input_error(
            "score",
            "path",
            f"be a predictions file or a run folder with predictions, or hold logs ({', '.join(patterns)})",
            got=str(folder),
            remedy=f"It holds {', '.join(there[:10]) or 'nothing'}. A table is given by its file's name.",
        )
    return files


def _source(predictions: Predictions) -> Mapping[str, Any]:
    source: Mapping[str, Any] = predictions.metadata.get("source") or {}
    return source


def _check_same(must: str, said: Mapping[Path, Any], remedy: str) -> None:
    """Raise if the files say several things; those that say nothing fit anything."""
    by_value: dict[str, Path] = {}
    for file, value in said.items():
        if value is not None:
            by_value.setdefault(str(value), file)
    if len(by_value) > 1:
        shown = ", ".join(f"{value} in {file.name}" for value, file in by_value.items())
        raise input_error("score", "path", must, got=list(by_value), remedy=f"{shown}. {remedy}")
