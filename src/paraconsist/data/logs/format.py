"""Log formats: how they are recognised and read, and what all of them share.

Answers and verdicts become labels and predictions that agree with the verdicts: an answer is right if the tool counted
it as right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.foreign import cleaned
from paraconsist.data.logs.fields import Fields, Records, as_numbers, as_texts, column_under, value_of
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import CHOICES, WORDING, Metadata, Predictions
from paraconsist.data.rows import roles_of_flags
from paraconsist.data.tables import json_rows
from paraconsist.errors import InputError, input_error
from paraconsist.files import Json, json_in

#: The column of the gold label's probability, if a log's choices differ from row to row.
GOLD_CONFIDENCE = "gold_confidence"
Texts = Mapping[str, pa.ChunkedArray | Sequence[str | None]]  # columns of texts to show


@dataclass(frozen=True)
class Head:
    """The beginning of a file: its first bytes, and its first line if that is a JSON object."""

    start: bytes
    first_row: Json


@dataclass(frozen=True)
class LogFormat:
    """A format of logs."""

    name: str  # in messages and metadata
    what: str  # a description of its files, for messages
    recognises: Callable[[Path, Head], bool]
    #: Path, options and the fields of texts to add (() for the texts that the model read, None for no texts) -> the
    #: predictions in the long format. The metadata hold ``set``, ``model``, ``source`` (format, tool, version, task,
    #: file and the chosen metric or filter) and ``notes`` for the reader.
    read: Callable[[Path, SourceOptions, Sequence[str] | None], Predictions]
    pattern: str | None = None  # of its files' names in a folder; several with a space between
    options: tuple[str, ...] = ()  # those of metric, filter, epoch and model that apply to it
    repeats: bool = False  # whether several files of one set are further runs of it


def is_reworded(fields: Fields, roots: Sequence[str]) -> bool:
    """Return whether a log is of a task that `paraconsist reword` wrote."""
    return all(column_under(fields, name, roots) is not None for name in ("bucket_id", WORDING, "kind"))


def linked_columns(fields: Fields, query: SourceOptions, *, roots: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    """Return the columns that link a log's rows: bucket, role, group, strata, under the long format's names.

    Those of a reworded task have their wordings. A full test set, which has no buckets (`query.bucket` is empty), has
    none of them.
    """
    if not query.bucket:
        return {}
    columns = {"bucket_id": value_of(fields, query.bucket, parameter="bucket", roots=roots)}

    def add_unless_absent(column: str, text: str, parameter: str) -> None:
        """Add a column, which may be absent under its default name."""
        if query.named(parameter) or column_under(fields, text, roots) is not None:
            columns[column] = value_of(fields, text, parameter=parameter, roots=roots)

    if query.original is not None:
        flags = value_of(fields, query.original, parameter="original", roots=roots)
        columns["role"] = pa.chunked_array([roles_of_flags(flags, query.original)])
    else:
        add_unless_absent("role", query.role, "role")
    add_unless_absent("group_id", query.group, "group")
    for parameter, names in {"variant": filter(None, [query.variant]), "stratum": query.stratum or ()}.items():
        columns |= {name: value_of(fields, name, parameter=parameter, roots=roots) for name in names}
    if is_reworded(fields, roots):
        columns[WORDING] = value_of(fields, f"{{{WORDING}}} {{kind}}", parameter="variant", roots=roots)
    return columns


def free_text_columns(
    answers: Sequence[str | None], accepted: Sequence[Sequence[str]], choices: Sequence[Sequence[str] | None]
) -> dict[str, pa.ChunkedArray]:
    """Return the columns of answers in free text, which the scoring compares, with the accepted ones and choices."""
    texts, lists = pa.chunked_array([answers], pa.string()), pa.list_(pa.string())
    gold = pa.chunked_array([[[*each] or None for each in accepted]], lists)
    return {"label": gold, "prediction": texts, "raw_output": texts, CHOICES: pa.chunked_array([choices], lists)}


def log_predictions(
    path: Path,
    tool: str,
    ids: Sequence[Any],
    columns: Mapping[str, pa.ChunkedArray],
    label_names: list[str] | None,
    fields: Fields,
    texts: Sequence[str] | None,
    *,
    noun: str,
    roots: Sequence[str] = (),
    by_default: Callable[[], Texts] = dict,
    name: Any,
    model: Any,
    source: Json,
    notes: list[str],
) -> Predictions:
    """Return a log's rows under their ids, with the metadata of `LogFormat.read` and the texts to show.

    These are the fields of `texts` that the log has; those `by_default` if it is empty, none if it is None. `name` is
    the set's, None if the log does not say it. InputError if an id occurs twice; `noun` is what has ids.
    """
    shown: Texts = {}
    if texts:
        named = {text: column_under(fields, text, roots) for text in texts}
        shown = {text: as_texts(column) for text, column in named.items() if column is not None}
    elif texts is not None:
        shown = by_default()
    source = {"format": tool, "tool": tool, "file": path.name, **source}
    metadata = Metadata(model={"model": model}, source=source, notes=notes, texts=list(shown))
    if name:
        metadata["set"] = str(name)
    if label_names is not None:
        metadata["label_names"] = label_names
    return Predictions(pa.table({"example_id": pa.array(unique_ids(ids, path, noun)), **columns, **shown}), metadata)


def bad_log(must: str, got: Any, *, row: int | None = None, remedy: str = "") -> InputError:
    return input_error("score", "path", must, got=str(got) if isinstance(got, Path) else got, row=row, remedy=remedy)


def unique_ids(ids: Sequence[Any], path: Path, what: str) -> list[str]:
    """Return row ids as text, or raise if one occurs twice."""
    texts = [*map(str, ids)]
    if len(set(texts)) < len(texts):
        first: dict[str, int] = {}
        row, twice = next((row, text) for row, text in enumerate(texts) if first.setdefault(text, row) != row)
        remedy = (
            f"{path.name} holds it before: were two models' logs, or two runs, put into one file? "
            "Score each one by itself, and compare them with `paraconsist compare`."
        )
        raise bad_log(f"have each {what} once", twice, row=row, remedy=remedy)
    return texts


_LONGEST = 80


@dataclass(frozen=True)
class LogAnswers:
    """The n answers of a log, with its verdicts."""

    gold: Any  # the right answers, or their places in the row's choices
    answers: Any  # of the model; None or -1 if unparsed
    right: NDArray[np.bool_] | None  # shape (n,): the log's verdicts; None compares answers with `gold`
    choices: Sequence[Sequence[str]] | None = None  # each row's texts
    #: Shape (n, c): of each choice; nan beyond a row's last, and in rows without any.
    probabilities: NDArray[np.float64] | None = None
    raw: Sequence[str | None] | None = None  # the output from which the answer was read
    allowed: Sequence[Sequence[int]] | None = None  # the choices that a rule allows each row, by their places

    def columns(
        self, fields: Fields, query: SourceOptions, roots: Sequence[str]
    ) -> tuple[dict[str, pa.ChunkedArray], list[str] | None]:
        """Return the long format's labels, predictions and probabilities, and the labels' names.

        Fields that the user named replace those of the format; a named prediction is compared with the gold answer,
        since the log's verdict is about a different one.
        """
        label_names = None
        if self.choices is not None and query.named("label") is None and query.named("prediction") is None:
            columns, label_names = _chosen_columns(self)
            if self.allowed is not None:
                columns["label"] = pa.array([rule[0] if len(rule) == 1 else -1 for rule in self.allowed])
                columns["allowed_labels"] = pa.array(self.allowed)
        else:
            if self.choices is not None and query.named("label") is None:
                must = "be given with `prediction` for multiple choice"
                raise input_error("score", "label", must, got=None, remedy="Name both.")
            gold, answers, right = self.gold, self.answers, self.right
            if query.named("label") is not None:
                gold = _field_texts(fields, query.label, "label", roots)
            if query.named("prediction") is not None:
                answers, right = _field_texts(fields, query.prediction, "prediction", roots), None
            elif self.choices is not None:
                pairs = zip(self.choices, answers.tolist(), strict=True)
                answers = [None if answer < 0 else str(row[answer]) for row, answer in pairs]
            columns = _text_columns(gold, answers, right)
        if self.raw is not None:
            columns["raw_output"] = pa.array(self.raw, pa.string())
        if query.confidence is not None:
            column = value_of(fields, query.confidence, parameter="confidence", roots=roots)
            columns[GOLD_CONFIDENCE] = as_numbers(column, query.confidence, "confidence")
        if names := query.named("probabilities"):
            parts = [value_of(fields, name, parameter="probabilities", roots=roots) for name in names]
            columns["probabilities"] = parts[0]
            if len(parts) > 1:
                named = zip(parts, names, strict=True)
                numbers = [as_numbers(part, name, "probabilities").to_numpy() for part, name in named]
                columns["probabilities"] = _lists(np.column_stack(numbers))
        return columns, label_names


def verdicts(values: Sequence[Any], metric: str, others: Sequence[str]) -> NDArray[np.bool_]:
    """Return a metric's values as right and wrong; raise for values other than 0 and 1."""
    numbers = np.array([_number(value) for value in values])
    binary = (numbers == 0) | (numbers == 1)
    if not binary.all():
        row = int(np.argmin(binary))
        remedy = (
            f"That is {metric}; the log has {', '.join(others)}: choose one in `metric`, or name the fields to compare "
            "in `label` and `prediction`."
        )
        must = "be right or wrong in every row (1 or 0)"
        raise input_error("score", "metric", must, got=values[row], row=row, remedy=remedy)
    right: NDArray[np.bool_] = numbers == 1
    return right


def as_original(text: str | None, options: list[str] | None) -> Any:
    """Return an answer that is an option's label as the original's label of that option, which `reword` moved."""
    names, bare = options or [], (text or "").strip(" ().")
    others = ("123456789", ascii_lowercase, ascii_uppercase) if "".join(names) in f"{ascii_letters}{digits}" else ()
    for labels in (sorted(names), *map(list, others)):
        if text and bare in labels[: len(names)]:
            return text.replace(bare, names[labels.index(bare)])
    return text


def judged_rows(
    path: Path,
    query: SourceOptions,
    texts: Sequence[str] | None,
    tool: str,
    rows: Sequence[Json],
    scores: Sequence[Json],
    means: Json,
    *,
    ids: Sequence[Any],
    named: tuple[str, str, str],
    roots: Sequence[str] = (),
    name: Any,
    model: Any,
    version: Any = None,
) -> Predictions:
    """Return rows with answers as predictions, right by the verdicts of `query.metric`.

    `scores` are the metrics' values for each row (None if a metric failed), `means` their means reported by the tool,
    `named` the default fields of answer, gold answer and question. Without a metric answers are compared. InputError if
    several metrics judged the rows and none was named, a field is missing, or a row is repeated.
    """
    fields, metrics = Records(rows), list(dict.fromkeys(metric for of_row in scores for metric in of_row))
    metric, notes, log = query.metric, list[str](), LogAnswers([], [], None)
    answer = query.named("prediction") or named[0]
    if metric is None and query.named("prediction") is None and metrics:
        metric = metrics[0] if len(metrics) == 1 else ""
    if metric is not None and metric not in metrics:
        must, remedy = f"be one of the log's ({', '.join(metrics)})", "It decides which answers are right."
        raise input_error("score", "metric", must, got=query.metric, remedy=remedy)
    if metric is not None:
        written = as_texts(value_of(fields, answer, parameter="prediction", roots=roots)).to_pylist()
        values, reported = [of_row.get(metric) for of_row in scores], means.get(metric)
        known = np.array([value is not None for value in values])
        right = verdicts([0.0 if value is None else value for value in values], metric, metrics)
        parsed = [t if t and t.strip() and ok else None for t, ok in zip(written, known, strict=True)]
        log = LogAnswers([], parsed, right)
        if not known.all():
            failed = f"{metric} has no value for {(~known).sum()} of {len(known)} rows of {path.name}"
            notes.append(f"{failed}: they count as unparsed here, and {tool}'s own mean excludes them")
        mean = right.sum() / max(known.sum(), 1)
        if isinstance(reported, (int, float)) and abs(reported - mean) > 1e-6:
            difference = f"{tool} reports {metric} {reported:.4f}, the rows of {path.name} give {mean:.4f}"
            notes.append(f"{difference}: were rows added or removed?")
    prediction = SourceOptions.prediction if metric is not None else answer
    compared = replace(query, label=query.named("label") or named[1], prediction=prediction)
    columns, question = linked_columns(fields, query, roots=roots), fields.column(named[2])
    if metric is not None and not query.named("label") and column_under(fields, named[1], roots) is None:
        roles = map(str.lower, as_texts(columns["role"]).to_pylist() if "role" in columns else ())
        if {"original", "paraphrase"}.issuperset(roles):  # of others a rule says which answers go together
            problems = as_texts(columns["bucket_id"]).to_pylist() if "bucket_id" in columns else ids
            log = replace(log, gold=[f"right ({each})" for each in problems])
            compared = replace(compared, label=SourceOptions.label)
            notes.append(f"right by {metric} alone: there is no field {named[1]} (`label` names another)")
    labels, label_names = log.columns(fields, compared, roots)
    return log_predictions(
        *(path, tool, ids, columns | labels, label_names, fields, texts),
        noun="question",
        roots=roots,
        by_default=lambda: {} if question is None else {named[2]: as_texts(question)},
        name=name,
        model=model,
        source={"version": version, "metric": metric, "reported": means.get(str(metric)), "judged": metric is not None},
        notes=notes,
    )


def read_whole(path: Path, tool: str) -> Json:
    """Return the JSON object in a tool's file, or raise."""
    with suppress(ValueError, RecursionError):
        value = cleaned(json_in(path))
        if isinstance(value, dict):
            return value
    raise not_whole(path, tool)


def objects_in(value: Any, must: str, path: Path, remedy: str = "") -> list[Any]:
    """Return a list of JSON objects, one at least, in a tool's file, or raise."""
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        raise bad_log(must, path, remedy=remedy)
    return value


def read_whole_lines(path: Path, tool: str) -> list[Json]:
    """Return the JSON objects in the lines of a tool's file, or raise."""
    try:
        return list(json_rows(path))
    except ValueError as problem:
        raise not_whole(path, tool, f"{problem}. ") from None


def not_whole(path: Path, tool: str, what: str = "") -> InputError:
    """Return the error for a file of a tool that is cut short or damaged."""
    remedy = f"{what}Its name or beginning is that of {tool}, but it is empty, cut short or damaged: copy it again."
    return bad_log("be a readable, whole file", path, remedy=remedy)


def check_one(what: str, values: Iterable[Any], remedy: str) -> None:
    """Raise if rows of one file are of several models, runs or versions."""
    distinct = list(dict.fromkeys(None if value is None else str(value) for value in values))
    if len(distinct) > 1:
        raise bad_log(f"hold one {what}", distinct[:5], remedy=remedy)


class SeveralModels(InputError):
    """The error that a file has answers of several `models`, of which an option (`choice`) takes one."""

    models: tuple[str, ...] = ()
    choice = "model"


def check_one_model(what: str, models: Sequence[Any], *, choice: str = "model", beside: str = "") -> None:
    """Raise SeveralModels if rows of one file are of several; `beside` is what else the error says."""
    distinct = list(dict.fromkeys(map(str, models)))
    if len(distinct) > 1:
        remedy = f"{beside}`{choice}` takes one of them; `compare` and `report` take them all."
        problem = SeveralModels(
            f"hold one model's {what}", function="score", parameter="path", got=distinct[:5], remedy=remedy
        )
        problem.models, problem.choice = tuple(distinct), choice
        raise problem


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _text_columns(
    gold: Sequence[str], answers: Sequence[str | None], right: NDArray[np.bool_] | None
) -> dict[str, pa.Array]:
    """Return labels and predictions as text: the gold answer where the verdict is right, else the answer."""
    short_gold = {text: _short(text) for text in set(gold)}
    labels = [short_gold[text] for text in gold]
    read = {text: _short(text) for text in set(answers) if text is not None}
    if right is None:
        predictions = [None if answer is None else read[answer] for answer in answers]
    else:  # "Yes" is the label "yes", if the log has such a label
        known = {label.strip().casefold(): label for label in short_gold.values()}
        same = {text: known.get(short.strip().casefold(), short) for text, short in read.items()}
        predictions = []
        for label, answer, is_right in zip(labels, answers, right.tolist(), strict=True):
            if is_right or answer is None:
                predictions.append(label if is_right else None)
            else:
                predictions.append(f"{label} (judged wrong)" if same[answer] == label else same[answer])
    return {"label": pa.array(labels, pa.string()), "prediction": pa.array(predictions, pa.string())}


def _chosen_columns(log: LogAnswers) -> tuple[dict[str, pa.Array], list[str] | None]:
    """Return labels and predictions of multiple-choice rows, and the labels' names where all rows share them.

    Choices are sorted as in the first row; if rows offer different choices, the choices' texts are the labels. A row
    whose verdict is right (it may match one of several gold answers) gets the gold label.
    """
    gold, chosen, right, probabilities = log.gold, log.answers, log.right, log.probabilities
    picked = chosen if right is None else np.where(right, gold, chosen)
    wrongly = None if right is None else ~right & (chosen == gold)
    if wrongly is not None and wrongly.any():
        row = int(np.argmax(wrongly))
        must = "differ from the gold answer where the verdict is wrong"
        remedy = "Name the fields to compare in `label` and `prediction`, or another `metric`."
        raise input_error("score", "prediction", must, got=int(chosen[row]), row=row, remedy=remedy)
    choices = log.choices or ()
    if all(row == choices[0] for row in choices):
        return _numbered([*map(str, choices[0])], gold, picked, probabilities)
    listed = [[*map(str, row)] for row in choices]
    first = listed[0]
    if len(set(first)) == len(first) and all(len(row) == len(first) and set(row) == set(first) for row in listed):
        place = {text: i for i, text in enumerate(first)}
        order = np.array([[place[text] for text in row] for row in listed])
        rows = np.arange(len(order))
        moved = None
        if probabilities is not None:
            moved = np.empty_like(probabilities)
            np.put_along_axis(moved, order, probabilities, axis=1)
        return _numbered(first, order[rows, gold], np.where(picked < 0, -1, order[rows, picked]), moved)
    texts = [row if len(set(row)) == len(row) else [f"{i}: {text}" for i, text in enumerate(row)] for row in listed]
    labels = [row[g] for row, g in zip(texts, gold.tolist(), strict=True)]
    answers = [None if p < 0 else row[p] for row, p in zip(texts, picked.tolist(), strict=True)]
    columns = _text_columns(labels, answers, None)
    if probabilities is not None:
        columns[GOLD_CONFIDENCE] = pa.array(probabilities[np.arange(len(gold)), gold])
    return columns, None


def _numbered(
    names: list[str], gold: NDArray[np.intp], picked: NDArray[np.intp], probabilities: NDArray[np.float64] | None
) -> tuple[dict[str, pa.Array], list[str] | None]:
    columns = {"label": pa.array(gold), "prediction": pa.array(picked, mask=picked < 0)}
    if probabilities is not None:
        columns["probabilities"] = _lists(probabilities)
    return columns, names if len(set(names)) == len(names) and all(names) else None


def _field_texts(fields: Fields, text: str, parameter: str, roots: Sequence[str]) -> list[Any]:
    """Return a named field as text; an empty answer counts as unparsed, an empty label is refused later."""
    values = as_texts(value_of(fields, text, parameter=parameter, roots=roots)).to_pylist()
    return [value or None for value in values] if parameter == "prediction" else [value or "" for value in values]


def _lists(matrix: NDArray[np.float64]) -> pa.Array:
    """Return the rows of a matrix as lists, null for those with nan."""
    flat, unknown = pa.array(np.ascontiguousarray(matrix).ravel()), pa.array(np.isnan(matrix).any(axis=1))
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1], mask=unknown).cast(pa.list_(pa.float64()))


def _short(text: str) -> str:
    """Return a text, or the beginning and a hash of a long one."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 12]}... {hashlib.sha256(text.encode()).hexdigest()[:8]}"
