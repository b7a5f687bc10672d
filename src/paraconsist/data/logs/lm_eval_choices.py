"""lm-eval's multiple choice: log-likelihoods of the choices, as text, to places among them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paraconsist.data.logs.fields import Fields
from paraconsist.data.logs.verdicts import Judged
from paraconsist.errors import input_error

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


def multiple_choice(
    fields: Fields, answers: pa.Array, target: Sequence[str], metric: str | None, right: NDArray[np.bool_] | None
) -> Judged | None:
    """Return what the log says, or None where its answers are no log-likelihoods of choices.

    The answer is the choice that the metric looks at: the likeliest one, per character for ``acc_norm``, per
    byte for ``acc_bytes``. Probabilities are the softmax of the same numbers.
    """
    scores = _log_likelihoods(answers)
    if scores is None:
        return None
    if scores.shape[1] == 1:  # one continuation: greedily generated or not
        told = [gold if is_right else "(another answer)" for gold, is_right in zip(target, _sure(right), strict=True)]
        return Judged(list(target), told, right)
    if metric == "acc_mutual_info" or _has_unconditional(fields):
        half = scores.shape[1] // 2
        scores, unconditional = scores[:, :half], scores[:, half:]
        if metric == "acc_mutual_info":
            scores = scores - unconditional
    choices = _choices(fields, scores)
    if metric in ("acc_norm", "acc_bytes"):
        scores = scores / _lengths(choices, scores, in_bytes=metric == "acc_bytes")
    ranked = np.where(np.isnan(scores), -np.inf, scores)
    chosen = np.argmax(ranked, axis=1)
    stripped = _named([c.strip() for c in choices] if _common(choices) else [[c.strip() for c in r] for r in choices])
    gold = _gold(target, stripped, chosen, right)
    with np.errstate(invalid="ignore"):
        exponents = np.exp(ranked - ranked.max(axis=1, keepdims=True))
        probabilities = exponents / exponents.sum(axis=1, keepdims=True)
    known = None if np.isnan(probabilities).any() else np.where(np.isnan(scores), np.nan, probabilities)
    return Judged(gold, chosen, right, stripped, known)


def _log_likelihoods(answers: pa.Array) -> Floats | None:
    """Return each choice's log-likelihood, shape (n, most choices), nan beyond a row's last; None for other answers."""
    kind = answers.type
    if not (pa.types.is_list(kind) and pa.types.is_list(kind.value_type)) or answers.null_count:
        return None
    pairs = answers.flatten()
    if not len(pairs) or pc.min_max(pc.list_value_length(pairs)).as_py() != {"min": 2, "max": 2}:
        return None
    leaves = pairs.flatten()
    greedy = leaves.take(pa.array(np.arange(1, len(leaves), 2)))
    if not set(greedy.unique().to_pylist()) <= {"True", "False"}:
        return None
    try:
        flat = leaves.take(pa.array(np.arange(0, len(leaves), 2))).cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    lengths = pc.list_value_length(answers).to_numpy()
    matrix = np.full((len(answers), int(lengths.max())), np.nan)
    matrix[np.arange(matrix.shape[1]) < lengths[:, np.newaxis]] = flat
    return matrix


def _sure(right: NDArray[np.bool_] | None) -> list[bool]:
    if right is None:
        raise input_error("score", "metric", "say which answers are right", got=None, remedy="Name it with --metric.")
    said: list[bool] = right.tolist()
    return said


def _has_unconditional(fields: Fields) -> bool:
    column = fields.column("metrics")
    return column is not None and "acc_mutual_info" in (column[0].as_py() or [])


def _choices(fields: Fields, scores: Floats) -> Any:
    """Return the texts of the choices: one list where all rows share it, else one for each row."""
    columns = []
    for i in range(scores.shape[1]):
        column = fields.column(f"arguments.gen_args_{i}.arg_1")
        column = fields.column(f"arguments.{i}.1") if column is None else column
        if column is None:
            return [str(number) for number in range(scores.shape[1])]
        columns.append(column.cast(pa.string()))
    distinct = [column.unique().to_pylist() for column in columns]
    if all(len(texts) == 1 and texts[0] is not None for texts in distinct) and not np.isnan(scores).any():
        return [str(texts[0]).removeprefix(" ") for texts in distinct]
    sizes = (~np.isnan(scores)).sum(axis=1).tolist()
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return [[str(text).removeprefix(" ") for text in row[:size]] for row, size in zip(rows, sizes, strict=True)]


def _common(choices: Any) -> bool:
    return isinstance(choices[0], str)


def _named(choices: Any) -> Any:
    """Return numbers for names where a row's choices are one text (they differ in their context)."""
    if _common(choices):
        return choices
    if all(len(set(row)) == 1 for row in choices):
        return [str(number) for number in range(max(map(len, choices)))]
    return choices


def _lengths(choices: Any, scores: Floats, *, in_bytes: bool) -> Floats:
    def length(text: str) -> int:
        return len(text.encode()) if in_bytes else len(text)

    if _common(choices):
        return np.array([float(length(text)) for text in choices])
    lengths = np.ones_like(scores)
    for row, texts in enumerate(choices):
        lengths[row, : len(texts)] = [length(text) for text in texts]
    return lengths


def _gold(target: Sequence[str], choices: Any, chosen: Places, right: NDArray[np.bool_] | None) -> Places:
    """Return the places of the gold choices: targets are numbers, texts or lists, and the log does not say which.

    The reading under which the verdicts come out is the right one.
    """
    rows = [choices] * len(target) if _common(choices) else choices
    readings = []
    if all(one.isdigit() for one in target):
        readings.append(np.array([int(one) for one in target]))
    with suppress(ValueError):
        readings.append(np.array([row.index(one.strip()) for row, one in zip(rows, target, strict=True)]))
    sizes = np.array([len(row) for row in rows])
    readings = [reading for reading in readings if (reading < sizes).all()]
    for reading in readings:
        if right is None or ((chosen == reading) == right).all():
            return reading
    several = [_numbers(one) for one in target]
    if right is not None and all(several):
        fits = [chose in numbers for chose, numbers in zip(chosen.tolist(), several, strict=True)]
        if (np.array(fits) == right).all():
            return np.array([numbers[0] for numbers in several])
    shown = 0 if not readings else int(np.argmin((chosen == readings[0]) == right))
    raise input_error(
        "score",
        "target",
        "be a choice's number or text that agrees with the log's verdicts",
        got=target[shown],
        row=shown,
        remedy=f"The choices are {', '.join(rows[shown])}. Say with --metric what decides, or with --label which "
        "field holds the gold answer.",
    )


def _numbers(text: str) -> list[int]:
    try:
        value = json.loads(text)
    except ValueError:
        return []
    return value if isinstance(value, list) and value and all(isinstance(one, int) for one in value) else []
