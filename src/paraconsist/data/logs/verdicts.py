"""Conversion of a log's answers and verdicts to labels and predictions that agree with the verdicts.

An answer is right if the tool counted it as right: the log's own verdicts decide.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.foreign import cleaned
from paraconsist.data.logs import format as logs
from paraconsist.data.logs.fields import Fields, Records, as_numbers, as_texts, value_of
from paraconsist.data.logs.format import GOLD_CONFIDENCE
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.tables import json_rows
from paraconsist.errors import InputError, input_error
from paraconsist.files import Json

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
    bare = "" if text is None else text.strip(" ().")
    shown = sorted(options or ())
    if text is None or not options or bare not in shown:
        return text
    return text.replace(bare, options[shown.index(bare)])


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
    name: str,
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
    labels, label_names = log.columns(fields, compared, roots)
    columns, question = logs.linked_columns(fields, query, roots=roots) | labels, fields.column(named[2])
    return logs.log_predictions(
        *(path, tool, ids, columns, label_names, fields, texts),
        noun="question",
        roots=roots,
        by_default=lambda: {} if question is None else {named[2]: as_texts(question)},
        name=name,
        model=model,
        source={"version": version, "metric": metric, "reported": means.get(str(metric))},
        notes=notes,
    )


def read_whole(path: Path, tool: str) -> Json:
    """Return the JSON object in a tool's file, or raise."""
    with suppress(ValueError, RecursionError):
        value = cleaned(json.loads(path.read_text(encoding="utf-8")))
        if isinstance(value, dict):
            return value
    raise not_whole(path, tool)


def objects_in(value: Any, must: str, path: Path, remedy: str = "") -> list[Any]:
    """Return a list of JSON objects, one at least, in a tool's file, or raise."""
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        raise logs.bad_log(must, path, remedy=remedy)
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
    return logs.bad_log("be a readable, whole file", path, remedy=remedy)


def check_one(what: str, values: Iterable[Any], remedy: str) -> None:
    """Raise if rows of one file are of several models, runs or versions."""
    distinct = list(dict.fromkeys(None if value is None else str(value) for value in values))
    if len(distinct) > 1:
        raise logs.bad_log(f"hold one {what}", distinct[:5], remedy=remedy)


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
    listed = [[*map(str, row)] for row in log.choices or ()]
    first = listed[0]
    if all(row == first for row in listed):
        return _numbered(first, gold, picked, probabilities)
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
