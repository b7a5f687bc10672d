"""From a log's answers and verdicts to labels and predictions that agree with the verdicts.

What is right is what the tool said: paraconsist scores the same rows right and wrong as the log does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.logs.fields import Fields, value_of
from paraconsist.data.logs.format import GOLD_CONFIDENCE, Asked
from paraconsist.errors import input_error

_LONGEST = 80


@dataclass(frozen=True)
class Judged:
    """What a log says of n answers.

    Attributes
    ----------
    gold : sequence of n str, or int array
        The right answers, or their places in the row's choices.
    answers : sequence of n (str or None), or int array
        The model's; None or -1 where none could be read.
    right : bool array, shape (n,), or None
        The log's verdicts; without them answers are right that equal the gold answer.
    choices : sequence of str, or of n sequences of str, optional
        The choices' texts, one list for all rows or one for each.
    probabilities : float array, shape (n, c), optional
        Of each choice; nan beyond a row's last.
    raw : sequence of n (str or None), optional
        What the model wrote, before the answer was read from it.
    """

    gold: Any
    answers: Any
    right: NDArray[np.bool_] | None
    choices: Any = None
    probabilities: NDArray[np.float64] | None = None
    raw: Sequence[str | None] | None = None

    def columns(self, fields: Fields, asked: Asked, roots: Sequence[str]) -> tuple[dict[str, Any], list[str] | None]:
        """Return the long format's labels, predictions and probabilities, and the labels' names.

        What the user named takes the place of what the log says; a named prediction is compared with the gold
        answer, since the log's verdict is on another.
        """
        names = None
        if asked.label is None and asked.prediction is None:
            if self.choices is None:
                columns = text_columns(self.gold, self.answers, self.right)
            else:
                columns, names = chosen_columns(self.choices, self.gold, self.answers, self.right, self.probabilities)
        else:
            if self.choices is not None and asked.label is None:
                raise input_error(
                    "score", "label", "be given with --prediction for multiple choice", got=None, remedy="Name both."
                )
            gold = self.gold if asked.label is None else _named(fields, asked.label, "label", roots)
            if asked.prediction is not None:
                columns = text_columns(gold, _named(fields, asked.prediction, "prediction", roots), None)
            elif self.choices is None:
                columns = text_columns(gold, self.answers, self.right)
            else:
                told = _texts_of(self.choices, self.answers)
                columns = text_columns(gold, told, self.right)
        if self.raw is not None:
            columns["raw_output"] = pa.array(self.raw, pa.string())
        if asked.confidence is not None:
            column = value_of(fields, asked.confidence, option="confidence", roots=roots)
            columns[GOLD_CONFIDENCE] = column.cast(pa.float64())
        if asked.probabilities is not None:
            parts = [value_of(fields, one, option="probabilities", roots=roots) for one in asked.probabilities]
            columns["probabilities"] = parts[0] if len(parts) == 1 else _lists(parts)
        return columns, names


def verdicts(values: Sequence[Any], metric: str, others: Sequence[str]) -> NDArray[np.bool_]:
    """Return a metric's values as right and wrong.

    Raises
    ------
    InputError
        If a value is neither 0 nor 1: consistency is defined for right and wrong answers only.
    """
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([value if isinstance(value, (int, float)) else np.nan for value in values], dtype=np.float64)
    binary = (numbers == 0) | (numbers == 1)
    if not binary.all():
        row = int(np.argmin(binary))
        raise input_error(
            "score",
            "metric",
            "be right or wrong in every row (1 or 0)",
            got=values[row],
            row=row,
            remedy=f"That is {metric}; the log has {', '.join(others)}: choose one with --metric, or name the "
            "fields to compare with --label and --prediction.",
        )
    right: NDArray[np.bool_] = numbers == 1
    return right


def text_columns(
    gold: Sequence[str], answers: Sequence[str | None], right: NDArray[np.bool_] | None
) -> dict[str, pa.Array]:
    """Return labels and predictions as text: the gold answer where the log says right, else what was answered.

    Parameters
    ----------
    gold : sequence of n str
    answers : sequence of n str or None
        None where none could be read.
    right : bool array, shape (n,), optional
        The log's verdicts; without them answers are right that equal the gold answer.
    """
    named = {one: _short(one) for one in set(gold)}
    labels = [named[one] for one in gold]
    read = {one: _short(one) for one in set(answers) if one is not None}
    if right is None:
        told = [None if answer is None else read[answer] for answer in answers]
    else:  # Yes is the label yes, if the log has such a label
        known = {label.strip().casefold(): label for label in named.values()}
        same = {one: known.get(short.strip().casefold(), short) for one, short in read.items()}
        told = [
            label
            if is_right
            else None
            if answer is None
            else f"{label} (judged wrong)"
            if same[answer] == label
            else same[answer]
            for label, answer, is_right in zip(labels, answers, right.tolist(), strict=True)
        ]
    return {"label": pa.array(labels, pa.string()), "prediction": pa.array(told, pa.string())}


def chosen_columns(
    choices: Sequence[str] | Sequence[Sequence[str]],
    gold: NDArray[np.intp],
    chosen: NDArray[np.intp],
    right: NDArray[np.bool_] | None,
    probabilities: NDArray[np.float64] | None = None,
) -> tuple[dict[str, pa.Array], list[str] | None]:
    """Return labels and predictions of multiple-choice rows, and the labels' names where all rows share them.

    Choices in another order are brought into the first row's; where rows offer different choices, labels are
    the choices' texts.

    Parameters
    ----------
    choices : sequence of str, or of n sequences of str
        The texts, one list for all rows or one for each.
    gold, chosen : int array, shape (n,)
        Places in the row's choices; `chosen` is -1 where no answer could be read.
    right : bool array, shape (n,), optional
        The log's verdicts: a row that it says is right (one of several gold answers) gets the gold label.
    probabilities : float array, shape (n, c), optional
        Of each choice; nan beyond a row's last.
    """
    picked = chosen if right is None else np.where(right, gold, chosen)
    wrongly = None if right is None else ~right & (chosen == gold)
    if wrongly is not None and wrongly.any():
        row = int(np.argmax(wrongly))
        raise input_error(
            "score",
            "prediction",
            "differ from the gold answer where the log says wrong",
            got=int(chosen[row]),
            row=row,
            remedy="Say with --label, --prediction or --metric what is compared with what.",
        )
    if len(choices) and isinstance(choices[0], str):
        return _numbered([str(c) for c in choices], gold, picked, probabilities)
    listed = [list(row) for row in choices]
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
    columns = text_columns(labels, answers, None)
    if probabilities is not None:
        columns[GOLD_CONFIDENCE] = pa.array(probabilities[np.arange(len(gold)), gold])
    return columns, None


def _numbered(
    names: list[str], gold: NDArray[np.intp], picked: NDArray[np.intp], probabilities: NDArray[np.float64] | None
) -> tuple[dict[str, pa.Array], list[str] | None]:
    columns = {"label": pa.array(gold), "prediction": pa.array(picked, mask=picked < 0)}
    if probabilities is not None:
        flat = pa.array(np.ascontiguousarray(probabilities).ravel())
        columns["probabilities"] = pa.FixedSizeListArray.from_arrays(flat, probabilities.shape[1]).cast(
            pa.list_(pa.float64())
        )
    return columns, names if len(set(names)) == len(names) and all(names) else None


def _named(fields: Fields, text: str, option: str, roots: Sequence[str]) -> list[Any]:
    """Return a named field as text; an empty answer is none, an empty label a mistake that is found later."""
    values = value_of(fields, text, option=option, roots=roots).cast(pa.string()).to_pylist()
    return [value or None for value in values] if option == "prediction" else [value or "" for value in values]


def _texts_of(choices: Any, answers: NDArray[np.intp]) -> list[str | None]:
    common = len(choices) and isinstance(choices[0], str)
    rows = [choices] * len(answers) if common else choices
    return [None if a < 0 else str(row[a]) for row, a in zip(rows, answers.tolist(), strict=True)]


def _lists(columns: Sequence[pa.ChunkedArray]) -> pa.Array:
    matrix = np.column_stack([column.cast(pa.float64()).to_numpy() for column in columns])
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1]).cast(pa.list_(pa.float64()))


def _short(text: str) -> str:
    """Return a text that stands for itself; long ones keep their beginning and a hash of the whole."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 12]}... {hashlib.sha256(text.encode()).hexdigest()[:8]}"
