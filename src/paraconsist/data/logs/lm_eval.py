"""lm-evaluation-harness: ``samples_<task>_<time>.jsonl``, written with ``--log_samples`` (tried with 0.4.13).

All values are text, with a row per question and filter. The results file of the same time names version and model.
Multiple choice has the log-likelihoods of the choices, as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paraconsist.data.logs import format as logs
from paraconsist.data.logs.fields import Fields, Records, Table, as_texts, walk
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Metadata, Predictions
from paraconsist.data.tables import read_json_lines
from paraconsist.data.tasks import QUESTIONS
from paraconsist.errors import input_error
from paraconsist.files import json_in

_KEYS = {"doc_id", "doc", "target", "filtered_resps"}
_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[^_]*)")
_PREFERRED = ("acc", "exact_match", "em", "acc_norm")
_UNPARSED = "[invalid]"
_ROOTS = ("doc",)
_MOVED = "doc.original_options"  # what the original calls each option, in the order in which `reword` put them

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


def recognises(path: Path, head: logs.Head) -> bool:
    return head.first_row.keys() >= _KEYS


def read(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read one file of samples.

    InputError if the file is cut short, a field is missing, it has several filters and none was named, a question
    is repeated, or no metric has verdicts of right and wrong.
    """
    parts = _NAME.fullmatch(path.stem)
    task = parts["task"] if parts else path.stem
    results = _results(path, parts["time"] if parts else None)
    fields, which = _of_one_filter(_rows(path), query.filter, path)
    is_compared = query.named("prediction") is not None or fields.column("doc.same") is not None
    metric, right = _verdicts(fields, query, compared=is_compared)
    filters = walk(results, "configs", task, "filter_list")
    pipelines = [walk(entry, "filter") for entry in filters] if isinstance(filters, list) else []
    fallbacks = [walk(step, "fallback") for steps in pipelines if isinstance(steps, list) for step in steps]
    answers = _answers(fields, metric, right, {_UNPARSED, *(text for text in fallbacks if isinstance(text, str))})
    columns, label_names = answers.columns(fields, query, _ROOTS)
    asked: Metadata = {}
    own = walk(results, "configs", task, "metadata", "dataset") if task.startswith("paraconsist") else None
    if own is not None and (same := fields.column("doc.same")) is not None:  # our own task of questions
        of_docs = [fields.column(f"doc.{name}") for name in ("right", "accepted", "choices")]
        right_by, accepted, choices = ([*map(str, column.to_pylist())] for column in of_docs if column is not None)
        asked = {"task": QUESTIONS.name, "same": str(same[0]), "right": right_by[0], "label_names": []}
        listed = [[*map(json.loads, texts)] for texts in (accepted, choices)]
        columns = logs.free_text_columns(_raw(fields) or [], listed[0], [each or None for each in listed[1]])
    doc_ids = fields.column("doc_id" if own is None else "doc.example_id")  # the id in the bucket set of our own tasks
    if doc_ids is None or doc_ids.null_count:
        raise logs.bad_log("have `doc_id` in every row", path, remedy="lm-eval writes it.")
    notes = []
    reported = walk(results, "results", task, f"{metric},{which}")
    if right is not None and isinstance(reported, (int, float)) and abs(reported - right.mean()) > 1e-6:
        notes.append(
            f"the results file of {path.name} reports {metric} {reported:.4f}, its rows give {right.mean():.4f}: "
            "were rows added or removed?"
        )
    resps = fields.column("resps") if answers.raw is not None else None
    outputs = [] if resps is None else [walk(row, "0") for row in resps.to_pylist()]
    if (n := max((len(texts) for texts in outputs if isinstance(texts, list)), default=1)) > 1:
        notes.append(
            f"questions of {path.name} were asked {n} times: scored is the one answer that filter {which} leaves"
        )
    versions = {"version": walk(results, "lm_eval_version"), "task_version": walk(results, "versions", task)}
    columns = logs.linked_columns(fields, query, roots=_ROOTS) | columns
    rows = logs.log_predictions(
        *(path, LM_EVAL.name, doc_ids.to_pylist(), columns, label_names, fields, texts),
        noun="doc_id",
        roots=_ROOTS,
        by_default=lambda: _texts(fields),
        name=task if own is None else str(own),
        model=walk(results, "model_name") or walk(results, "config", "model_args"),
        source={**versions, "filter": which, "metric": metric, "reported": reported, "judged": right is not None},
        notes=notes,
    )
    return replace(rows, metadata={**rows.metadata, **asked})


def _texts(fields: Fields) -> logs.Texts:
    """Return the model's prompts and, if there are several, the choices; without prompts the documents' texts."""
    prompts = [column.to_pylist() for column in _arguments(fields, 0)]
    if not prompts or not any(prompts[0]):
        named = {name: fields.column(name) for name in fields.names() if name.startswith("doc.")}
        return {n: column for n, column in named.items() if column is not None and pa.types.is_string(column.type)}
    continuations = [column.to_pylist() for column in _arguments(fields, 1)]
    texts = {"prompt": prompts[0]}
    if len(continuations) > 1:
        rows = zip(zip(*prompts, strict=True), zip(*continuations, strict=True), strict=True)
        texts["choices"] = [" | ".join(_as_read(*row)) for row in rows]
    return texts


def _as_read(prompts: Sequence[str | None], continuations: Sequence[str | None]) -> list[str]:
    """Return a row's choices, each with its prompt if prompts differ."""
    alike = {prompt for prompt in prompts if prompt} == {prompts[0]}
    pairs = zip(prompts, continuations, strict=True)
    return list(dict.fromkeys((text if alike else f"{prompt}{text}").strip() for prompt, text in pairs if text))


def _results(path: Path, time: str | None) -> Any:
    results = path.with_name(f"results_{time}.json")
    if time is None or not results.is_file():
        return {}
    try:
        return json_in(results)
    except (ValueError, OSError):
        raise logs.bad_log("have a whole results file", results, remedy="Mend it, or move it away.") from None


def _rows(path: Path) -> Fields:
    """Read the rows in columns, or one by one if their values are of several kinds (older versions)."""
    answers = ("filtered_resps", "resps")
    with suppress(ValueError):
        table = read_json_lines(path)
        if all(_leaf(table.schema.field(name).type) == pa.string() for name in answers if name in table.column_names):
            return Table(table)
    rows = logs.read_whole_lines(path, "lm-evaluation-harness")
    return Records([{**row, **{name: _as_texts(row[name]) for name in answers if name in row}} for row in rows])


def _leaf(kind: pa.DataType) -> pa.DataType:
    return _leaf(kind.value_type) if pa.types.is_list(kind) else kind


def _as_texts(value: Any) -> Any:
    return [_as_texts(inner) for inner in value] if isinstance(value, list) else None if value is None else str(value)


def _of_one_filter(fields: Fields, wanted: str | None, path: Path) -> tuple[Fields, str]:
    column = fields.column("filter")
    if column is None:
        return fields, "none"
    names = as_texts(column).unique().to_pylist()
    if wanted is None and logs.is_reworded(fields, ("doc",)):
        wanted = names[0]
    if wanted is None and len(names) > 1:
        remedy = f"{path.name} has every answer through {', '.join(map(str, names))}: give `filter` one of them."
        raise input_error("score", "filter", "name one of the log's filters", got=None, remedy=remedy)
    chosen = names[0] if wanted is None else wanted
    if chosen not in names:
        raise input_error("score", "filter", f"be one of {', '.join(map(str, names))}", got=wanted)
    if len(names) == 1:
        return fields, chosen
    keep = pc.fill_null(pc.equal(as_texts(column), chosen), False)
    if isinstance(fields, Table):
        return Table(fields.table.filter(keep)), chosen
    assert isinstance(fields, Records)
    return Records([*compress(fields.rows, keep.to_pylist())]), chosen


def _verdicts(fields: Fields, query: SourceOptions, *, compared: bool) -> tuple[str | None, NDArray[np.bool_] | None]:
    """Return the metric of right and wrong, and its verdicts unless the user named the fields to compare."""
    names = [name for name in _metrics(fields) if fields.column(name) is not None]
    metric = query.metric
    if metric is None:
        metric = next((name for name in (*_PREFERRED, *names) if name in names), None)
    elif metric not in names:
        raise input_error("score", "metric", f"be one of the log's ({', '.join(names)})", got=metric)
    values = None if metric is None else fields.column(metric)
    if compared or values is None:
        return metric, None
    return metric, logs.verdicts(values.to_pylist(), str(metric), names)


def _answers(
    fields: Fields, metric: str | None, right: NDArray[np.bool_] | None, unparsed: set[str]
) -> logs.LogAnswers:
    """Return the answers; `unparsed` are the texts that the task's filters write for those that they cannot parse."""
    answers = fields.column("filtered_resps")
    target = fields.column("doc.gold_option") or fields.column("target")
    if answers is None or target is None:
        raise logs.bad_log("hold targets and answers", fields.names()[:10])
    gold = [*map(str, target.to_pylist())]
    by_choice = multiple_choice(fields, answers.combine_chunks(), gold, metric, right)
    if by_choice is not None:
        return by_choice
    inner = _innermost(answers)
    for row, several in enumerate(inner):
        if isinstance(several, list):
            must, remedy = "leave one answer to each question", "Name a filter that chooses one, such as take_first or "
            remedy += "majority_vote, in `filter`."
            raise input_error("score", "filter", must, got=several, row=row, remedy=remedy)
    texts = [None if text is None else str(text) for text in inner]
    if (moved := fields.column(_MOVED)) is not None:
        gold, texts = ([*map(logs.as_original, column, moved.to_pylist())] for column in (gold, texts))
    parsed = [text if text is not None and text.strip() and text not in unparsed else None for text in texts]
    return logs.LogAnswers(gold, parsed, right, raw=_raw(fields))


def _raw(fields: Fields) -> list[str | None] | None:
    """Return the model's outputs, if each question was asked once."""
    column = fields.column("resps")
    return None if column is None else [text if isinstance(text, str) else None for text in _innermost(column)]


def _innermost(column: pa.ChunkedArray) -> list[Any]:
    """Return what is in nested lists of one item each."""
    values, single = column.combine_chunks(), {"min": 1, "max": 1}
    while pa.types.is_list(values.type) and not values.null_count:
        if pc.min_max(pc.list_value_length(values)).as_py() != single:
            break
        values = values.flatten()
    answers: list[Any] = values.to_pylist()
    for row, answer in enumerate(answers):
        while isinstance(answer, list) and len(answer) == 1:
            answer = answers[row] = answer[0]
    return answers


def multiple_choice(
    fields: Fields, answers: pa.Array, target: Sequence[str], metric: str | None, right: NDArray[np.bool_] | None
) -> logs.LogAnswers | None:
    """Return answers from the log-likelihoods of choices, or None if the log has none.

    The answer is the choice that the metric judges: the likeliest one, per character for ``acc_norm``, per byte for
    ``acc_bytes``. Probabilities are the softmax of the same numbers. A row with a log-likelihood that is no number is
    unparsed: lm-eval takes that choice for the likeliest.
    """
    scores = _log_likelihoods(answers)
    if scores is None:
        return None
    sizes = pc.list_value_length(answers).to_numpy()
    failed = np.isnan(scores).sum(axis=1) > scores.shape[1] - sizes
    if scores.shape[1] == 1:  # one continuation: greedily generated or not
        if right is None:
            raise input_error("score", "metric", "name a metric of right and wrong", got=None)
        verdict_of = zip(target, right.tolist(), strict=True)
        texts = [gold if is_right else "(another answer)" for gold, is_right in verdict_of]
        return logs.LogAnswers(list(target), texts, right)
    if "acc_mutual_info" in (metric, *_metrics(fields)) and scores.shape[1] % 2 == 0:
        half = scores.shape[1] // 2
        scores, unconditional = scores[:, :half], scores[:, half:]
        if metric == "acc_mutual_info":
            scores = scores - unconditional
        sizes = sizes // 2
    scores[failed] = np.where(np.arange(scores.shape[1]) < sizes[failed, np.newaxis], -np.inf, np.nan)
    choices = _choices(fields, sizes)
    if metric in ("acc_norm", "acc_bytes"):
        with np.errstate(divide="ignore", invalid="ignore"):  # an empty choice
            scores = scores / _lengths(choices, scores, in_bytes=metric == "acc_bytes")
    ranked = np.where(np.isnan(scores), -np.inf, scores)
    chosen = np.where(failed, -1, np.argmax(ranked, axis=1))
    right = None if right is None else right & ~failed
    distinct = choices[:1] if choices[0] is choices[-1] else choices  # else one list is that of all rows
    stripped = [[text.strip() for text in row] for row in distinct] * (len(choices) // len(distinct))
    if all(len(set(row)) == 1 for row in stripped):  # only their contexts differ: number them
        stripped = [[str(number) for number in range(int(sizes.max()))]] * len(stripped)
    gold = _gold(target, stripped, chosen, right)
    with np.errstate(invalid="ignore"):
        exponents = np.exp(ranked - ranked.max(axis=1, keepdims=True))
        probabilities = exponents / exponents.sum(axis=1, keepdims=True)
    if (moved := fields.column(_MOVED)) is not None:
        stripped = [names or row for names, row in zip(moved.to_pylist(), stripped, strict=True)]
    return logs.LogAnswers(gold, chosen, right, stripped, np.where(np.isnan(scores), np.nan, probabilities))


def _log_likelihoods(answers: pa.Array) -> Floats | None:
    """Return each choice's log-likelihood, shape (n, most choices), nan beyond a row's last; None for other answers."""
    kind = answers.type
    if not (pa.types.is_list(kind) and pa.types.is_list(kind.value_type)) or answers.null_count:
        return None
    pairs = answers.flatten()
    if (
        not len(pairs)
        or pairs.null_count
        or not pa.types.is_string(pairs.type.value_type)
        or pc.min_max(pc.list_value_length(pairs)).as_py() != {"min": 2, "max": 2}
    ):
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


def _metrics(fields: Fields) -> list[str]:
    column = fields.column("metrics")
    names = None if column is None else column[0].as_py()
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _choices(fields: Fields, sizes: Places) -> list[list[str]]:
    """Return the texts of each row's choices, their numbers where the log has no texts."""
    n = int(sizes.max())
    columns = _arguments(fields, 1)[:n]
    if len(columns) < n:
        return [[str(number) for number in range(n)]] * len(sizes)
    distinct = [column.unique().to_pylist() for column in columns]
    if all(len(texts) == 1 and texts[0] is not None for texts in distinct) and (sizes == n).all():
        return [[str(texts[0]).removeprefix(" ") for texts in distinct]] * len(sizes)
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return [
        [str(text).removeprefix(" ") for text in row[:size]] for row, size in zip(rows, sizes.tolist(), strict=True)
    ]


def _arguments(fields: Fields, part: int) -> list[pa.ChunkedArray]:
    """Return a part of each request: its prompt (0), or its continuation (1) if it has one."""
    columns: list[pa.ChunkedArray] = []
    while True:
        names = f"arguments.gen_args_{len(columns)}.arg_{part}", f"arguments.{len(columns)}.{part}"
        column = next((field for field in map(fields.column, names) if field is not None), None)
        if column is None or pa.types.is_nested(column.type):
            return columns
        columns.append(as_texts(column))


def _lengths(choices: Sequence[Sequence[str]], scores: Floats, *, in_bytes: bool) -> Floats:
    lengths = np.ones_like(scores)
    for row, texts in enumerate(choices):
        lengths[row, : len(texts)] = [len(text.encode() if in_bytes else text) for text in texts]
    return lengths


def _gold(
    target: Sequence[str], rows: Sequence[Sequence[str]], chosen: Places, right: NDArray[np.bool_] | None
) -> Places:
    """Return the places of the gold choices; targets may be numbers, texts or lists.

    The log does not record which, so the verdicts decide: they must agree with the reading.
    """
    readings = []
    with suppress(ValueError, OverflowError):
        if all(map(str.isdecimal, target)):
            readings.append(np.array([*map(int, target)], dtype=np.intp))
    with suppress(ValueError):
        readings.append(np.array([row.index(text.strip()) for row, text in zip(rows, target, strict=True)]))
    if {*target} <= {"True", "False"}:  # as the tool takes them, numbers
        readings.append(np.array([text == "True" for text in target], dtype=np.intp))
    sizes = np.array([len(row) for row in rows])
    readings = [reading for reading in readings if (reading < sizes).all()]
    for reading in readings:
        if right is None or ((chosen == reading) == right).all():
            return reading
    several = [_numbers(text, len(row)) for row, text in zip(rows, target, strict=True)]
    if right is not None and all(several):
        fits = [chose in numbers for chose, numbers in zip(chosen.tolist(), several, strict=True)]
        if (np.array(fits) == right).all():
            return np.array([numbers[0] for numbers in several])
    row = 0 if not readings else int(np.argmin((chosen == readings[0]) == right))
    must = "be a choice's number or text that agrees with the log's verdicts"
    remedy = (
        f"The choices are {', '.join(rows[row])}. Name the deciding `metric`, or in `label` the gold answer's field."
    )
    raise input_error("score", "target", must, got=target[row], row=row, remedy=remedy)


def _numbers(text: str, n_choices: int) -> list[int]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) and value and all(one in range(n_choices) for one in value) else []


LM_EVAL = logs.LogFormat(
    name="lm_eval",
    what="samples_<task>_<time>.jsonl of lm-evaluation-harness",
    recognises=recognises,
    read=read,
    pattern="samples_*.jsonl",
    options=("metric", "filter"),
)
