"""Detection and reading of files: a plain table, a log, several files of one run, or a folder of logs."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paraconsist.data.logs.fields import Table, is_expression, value_of, walk
from paraconsist.data.logs.format import Head, LogFormat, bad_log, check_one_model
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import FILE, RUN, Predictions, read_predictions
from paraconsist.data.store import RunFolder
from paraconsist.data.tables import ENDINGS, column_of, json_rows
from paraconsist.entry_points import added, load
from paraconsist.errors import InputError, first_line, input_error, plural

_MODEL_COLUMNS = ("model", "model_name", "model_id")  # whatever the case of their letters


def _read_table(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read one table; its columns keep their names, and expressions of the query become columns."""
    # fields that the user named, with their parameters; those with default names may be absent
    single = ("bucket", "role", "group", "original", "label", "prediction", "variant", "confidence")
    named = [(query.named(name), name) for name in single if query.named(name) is not None]
    named += [(text, "probabilities") for text in query.named("probabilities") or ()]
    named += [(text, "stratum") for text in query.stratum or ()]
    columns = [query.bucket, query.prediction, query.label, *(text for text, _ in named)]
    predictions = read_predictions(path, query.encoding, columns)
    table = predictions.table
    for name in query.stratum or ():
        if not is_expression(name) and "." not in name:
            column_of(table, name, parameter="stratum")
    predictions = of_one_model(predictions, query, f" of {path.name}")
    table = predictions.table
    for text, parameter in named:
        if text not in table.column_names and (is_expression(text) or "." in text):
            table = table.append_column(text, value_of(Table(table), text, parameter=parameter))
    return Predictions(table, predictions.metadata)


def of_one_model(predictions: Predictions, query: SourceOptions, of_file: str = "") -> Predictions:
    """Return the rows of the only model that columns name, or of `query.model`; SeveralModels if there are more."""
    table, metadata, strata = predictions.table, predictions.metadata, query.stratum or ()
    columns = [each.strip() for each in query.prediction.split(",")]
    if query.prediction not in table.column_names and not {*columns}.isdisjoint(table.column_names):
        for name in columns:
            column_of(table, name, parameter="prediction")
        check_one_model("predictions", columns, choice="prediction")
    names = [name for name in table.column_names if name.lower() in _MODEL_COLUMNS and name not in strata]
    names = [n for n in names if pa.types.is_string(kind := table[n].type) or pa.types.is_integer(kind)]
    for name in names:
        models, cells = _named_in(table[name]), table[name].unique().to_pylist()
        is_divided = len(models) > 1 if query.model is None else query.model in map(str, models)
        if is_divided and len(models) < len(cells):
            row = next(row for row, cell in enumerate(table[name].to_pylist()) if cell in (None, ""))
            must, remedy = "be named in every row", f"Column {name}{of_file} names {plural(len(models), 'model')}."
            raise input_error("score", "model", must, got=None, row=row, remedy=remedy)
    if query.model == query.prediction:  # a column for each model, of which this is one
        metadata = {**metadata, "model": {"model": query.model}}
    elif query.model is not None:
        named = {name: pc.fill_null(pc.equal(table[name].cast(pa.string()), query.model), False) for name in names}
        chosen = next((name for name, rows in named.items() if pc.any(rows).as_py()), None)
        if chosen is None:
            known = [str(one) for name in names for one in _named_in(table[name])]
            remedy = f"The table names {', '.join(known[:8]) or 'no models'}."
            raise input_error("score", "model", "be a model that the table names", got=query.model, remedy=remedy)
        table, metadata = table.filter(named[chosen]), {**metadata, "model": {"model": query.model}}
    for name in names:
        models = _named_in(table[name])
        told = f"Column {name}{of_file} names {len(models)} models; if it is of something else, give it as `stratum`. "
        check_one_model("predictions", models, beside=told)
    return Predictions(table, metadata)


def _named_in(column: pa.ChunkedArray) -> list[Any]:
    return [name for name in column.unique().to_pylist() if name not in (None, "")]


PLAIN = LogFormat(
    name="table",
    what=f"a table with a row per prediction, whose name must end in one of {', '.join(ENDINGS)}",
    recognises=lambda path, _: path.suffix.lower() in ENDINGS,
    read=_read_table,
    options=("model",),
)


@cache
def built_in() -> tuple[LogFormat, ...]:
    """Return the formats of this package, in the order of detection."""
    from paraconsist.data.logs.agents import BFCL, HAL, RUNS, TAU2
    from paraconsist.data.logs.inspect_ai import INSPECT
    from paraconsist.data.logs.judged import JUDGED
    from paraconsist.data.logs.lm_eval import LM_EVAL

    return INSPECT, LM_EVAL, *JUDGED, TAU2, BFCL, HAL, RUNS, PLAIN


#: Endings of files that are tables, so that the formats of other distributions need not be looked up.
_TABLES = (".csv", ".tsv", ".parquet")
_LONGEST_LINE = 1 << 24
_WORD = re.compile(r"[^ _.-]*[ _.-]*")  # of the name of a set


@cache
def formats() -> tuple[LogFormat, ...]:
    """Return every format, those of other distributions after the tools' and before plain tables."""
    entries = added("logs", tuple(log_format.name for log_format in built_in())).values()
    return (*built_in()[:-1], *(log_format for entry in entries if (log_format := load(entry, LogFormat))), PLAIN)


def _recognises(log_format: LogFormat, path: Path, head: Head) -> bool:
    try:
        return log_format.recognises(path, head)
    except Exception as problem:
        if log_format in built_in():
            raise
        fault = f"it fails on {path.name} ({problem!r})"
        warnings.warn(f"the log format {log_format.name} is passed over: {fault}", stacklevel=2)
        return False


def detect(path: Path) -> LogFormat:
    """Return the format of a file by its content; InputError if it is absent or of no known format."""
    if not path.is_file():
        raise bad_log("name a file that exists", path)
    head = _head(path)
    if not _is_summary(path, head):
        is_table = path.suffix.lower() in _TABLES
        is_plain = is_table and not head.start.lstrip().startswith((b"{", b"[", b"PK", b"PAR1"))  # what logs begin with
        candidates = (PLAIN,) if is_plain else built_in() if is_table else formats()
        for log_format in candidates:
            if _recognises(log_format, path, head):
                return log_format
    if path.suffix.lower() in (".yaml", ".yml"):
        raise bad_log("hold answers", path, remedy="YAML is read as questions: `paraconsist run` asks them first.")
    remedy = f"It is {_description(path, head)}. Known formats: {'; '.join(known.what for known in formats())}."
    raise bad_log("be a log or a table of a known format", path, remedy=remedy)


def read_logs(
    paths: Sequence[Path], query: SourceOptions | None = None, texts: Sequence[str] | None = None
) -> dict[str, Predictions]:
    """Return the predictions in the files, and at any depth of the folders, of one run of one model by set name.

    The name of a set is that of the task, or of the file. InputError if a file cannot be read (see each format), or the
    files are of several formats, tool versions, models, or runs of one set.
    """
    query = query or SourceOptions()
    files = [file for path in paths for file in (_logs_in(path) if path.is_dir() else [path])]
    are_wordings = query.variant == FILE and len(files) > 1
    query = replace(query, variant=None) if are_wordings else query
    formats = {file: detect(file) for file in files}
    names = {file: log_format.name for file, log_format in formats.items()}
    _check_same("be of one format", names, "Score files of each format by themselves.")
    predictions = {file: _read(file, formats[file], query, texts, alone=len(files) == 1) for file in files}
    versions = {file: walk(p.metadata, "source", "version") for file, p in predictions.items()}
    remedy = "Versions may ask and judge differently: score each version's files by themselves."
    _check_same("be written by one version of the tool", versions, remedy)
    models = {file: walk(p.metadata, "model", "model") for file, p in predictions.items()}
    remedy = "Give each model's files by themselves: `paraconsist compare` and `report` take several."
    _check_same("hold one model's answers", models, remedy)
    by_set: dict[str, list[Path]] = {}
    for file, of_file in predictions.items():
        name = str(of_file.metadata.get("set", file.stem))
        of_set = by_set.setdefault(name, [])
        of_set.append(file)
        if len(of_set) > 1 and not formats[file].repeats:
            remedy = "They are of two runs, or two models: pass one of them only."
            raise bad_log(f"hold one run of {name}", [one.name for one in of_set], remedy=remedy)
    of_sets = {name: {file.as_posix(): predictions[file] for file in files} for name, files in by_set.items()}
    sets = {name: _joined(parts, query) for name, parts in of_sets.items()}
    if not are_wordings:
        return sets
    whole = _joined(sets, query, are_wordings=True)
    words = zip(*(_WORD.findall(name) for name in sets), strict=False)
    shared = takewhile(lambda of_each: len({*of_each}) == 1, words)
    name = "".join(word for word, *_ in shared).rstrip(" _-.") or " + ".join(sets)
    return {name: replace(whole, metadata={**whole.metadata, "set": name})}


def _joined(parts: Mapping[str, Predictions], query: SourceOptions, *, are_wordings: bool = False) -> Predictions:
    """Return files, or sets that are wordings of one, as one; runs and rows of several are named after theirs too."""
    (first, *others), tables = parts.values(), []
    if not others:
        return first
    names = {"example_id", query.example, *([] if are_wordings else [RUN])} - {query.bucket}
    for part, predictions in parts.items():
        table = predictions.table
        for name in names & {*table.column_names}:
            named = pa.array([f"{part}: {value}" for value in table[name].to_pylist()])
            table = table.set_column(table.column_names.index(name), name, named)
        tables.append(table.append_column(FILE, pa.array([part] * len(table))) if are_wordings else table)
    notes = [note for predictions in parts.values() for note in predictions.metadata.get("notes", ())]
    texts = [
        (name, table[name]) for table in tables for name in table.column_names if pa.types.is_string(table[name].type)
    ]
    for name, column in texts:  # one answer of many may be no number; 1.0 would be another than 1
        if not pc.any(pc.match_substring_regex(column, r"^-?\d+\.0+$")).as_py():
            tables = [_in_text(table, name) for table in tables]
    try:
        whole = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as problem:
        raise bad_log("have columns of one kind", [*parts], remedy=f"{first_line(problem)}.") from None
    return Predictions(whole, {**first.metadata, "notes": [*dict.fromkeys(notes)]})


def _in_text(table: pa.Table, name: str) -> pa.Table:
    """Return a table with the whole numbers of a column, if it has them, as text."""
    if name not in table.column_names or not pa.types.is_integer(table[name].type):
        return table
    return table.set_column(table.column_names.index(name), name, table[name].cast(pa.string()))


@dataclass(frozen=True)
class LogTexts:
    """The texts of logs, read when they are shown."""

    paths: tuple[Path, ...]
    query: SourceOptions
    set_name: str = ""  # as the logs call it, whatever it is called next to other files
    tables: dict[tuple[str, ...], dict[str, pa.Table]] = field(default_factory=dict, compare=False)  # a cache

    def table(self, columns: Sequence[str] = ()) -> pa.Table:
        """Return the texts of the set with its `example_id`: these fields of the log, or the model's input."""
        wanted = tuple(columns)
        if wanted not in self.tables:
            read = read_logs(self.paths, self.query, wanted)
            texts = {name: ("example_id", *of_set.metadata.get("texts", ())) for name, of_set in read.items()}
            self.tables[wanted] = {name: read[name].table.select(columns) for name, columns in texts.items()}
        return self.tables[wanted][self.set_name]


def _read(
    file: Path, log_format: LogFormat, query: SourceOptions, texts: Sequence[str] | None, *, alone: bool
) -> Predictions:
    """Read a file; errors name it if it is one of several."""
    for name in ("metric", "filter", "epoch", "model"):
        value = getattr(query, name)
        if value is not None and name not in log_format.options:
            others = " or ".join(other.name for other in formats() if name in other.options)
            must, remedy = f"be used for logs of {others} only", f"{file} is of {log_format.name}."
            raise input_error("score", name, must, got=value, remedy=remedy)
    try:
        return log_format.read(file, query, texts)
    except InputError as problem:
        if not alone and file.name not in str(problem):
            problem.remedy = f"{problem.remedy} (In {file.name}.)".lstrip()
        raise
    except (pa.ArrowException, OSError, UnicodeError, OverflowError, RecursionError, MemoryError) as problem:
        remedy = f"It could not be read ({first_line(problem)}): mend it, or copy it again."
        raise bad_log("hold values that can be read", file, remedy=remedy) from None
    except Exception as problem:
        if log_format in built_in():
            raise
        remedy = f"{log_format.name}, a format of another distribution, failed: {problem!r}."
        raise bad_log("be read by its format", file, remedy=remedy) from problem


def _head(path: Path) -> Head:
    try:
        with path.open("rb") as stream:
            first = stream.readline(_LONGEST_LINE)
            start = (first + stream.read(8192))[:8192]
    except OSError as problem:
        raise bad_log("name a file that can be read", path, remedy=f"{problem.strerror}.") from None
    try:
        is_array = path.suffix == ".jsonl" and first.lstrip().startswith(b"[")  # lm-eval up to 0.4.2 wrote one
        row = next(json_rows(path), {}) if is_array else json.loads(first)
    except (ValueError, RecursionError):
        row = {}
    return Head(start, row if isinstance(row, dict) else {})


def _is_summary(path: Path, head: Head) -> bool:
    """Say whether a file holds lm-eval's results, which have no rows."""
    return path.suffix == ".json" and path.name.startswith("results_") and b'"results"' in head.start


def _description(path: Path, head: Head) -> str:
    if _is_summary(path, head):
        return "lm-evaluation-harness's summary; its rows are in samples_*.jsonl, written with --log_samples"
    if not head.start:
        return "empty"
    if head.start.startswith(b"PK"):
        return "a zip archive without an inspect_ai log in it"
    if path.suffix.lower() == ".eval":
        return "not a zip archive, unlike logs of inspect_ai: it may be cut short"
    if head.first_row:
        return f"JSON with the keys {', '.join(list(head.first_row)[:10])}, under a name that ends in {path.suffix!r}"
    return f"a file that ends in {path.suffix!r} and begins {head.start[:40]!r}"


def _logs_in(folder: Path) -> list[Path]:
    patterns = [pattern for log_format in formats() for pattern in (log_format.pattern or "").split()]
    files = sorted(file for pattern in patterns for file in folder.rglob(pattern) if file.is_file())
    if not files:
        present = sorted(file.name for file in folder.iterdir())
        must = f"be a predictions file or a run folder with predictions, or hold logs ({', '.join(patterns)})"
        remedy = f"It holds {', '.join(present[:10]) or 'nothing'}. Name the file of a table itself."
        runs = [str(file.parent) for file in sorted(folder.rglob("run.json"))]
        if RunFolder(folder).run_file.is_file():
            must, remedy = "be a finished run", "Give the command of the run again: it goes on."
            if any((folder / "predictions").glob("*.parquet")):
                must, remedy = "be the only one, as it is a run", "`paraconsist compare` and `report` take several."
        elif runs:
            remedy = f"Give the runs in it: {' '.join(runs[:10])}{' ...' if len(runs) > 10 else ''}."
        elif {"training.json", "config.json"} & {*present}:
            remedy = f"It holds a model: `paraconsist run --model {folder} ...` asks it."
        raise bad_log(must, folder, remedy=remedy)
    return files


def _check_same(must: str, values: Mapping[Path, Any], remedy: str) -> None:
    """Raise if the files have several values; None fits any."""
    by_value: dict[str, Path] = {}
    for file, value in values.items():
        if value is not None:
            by_value.setdefault(str(value), file)
    if len(by_value) > 1:
        listed = ", ".join(f"{value} in {file.name}" for value, file in by_value.items())
        raise bad_log(must, list(by_value), remedy=f"{listed}. {remedy}")
