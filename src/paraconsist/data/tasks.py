"""The tasks of paraconsist: input columns, labels, and templates that turn a row into a classifier's input.

A template turns the text columns of a row into one text, or a pair. An input's id depends on its task and texts only,
so that the same text has the same id in every set. A partial task shows some of the columns only, to measure how much
labels can be guessed from them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from string import Formatter
from types import MappingProxyType
from typing import Any, NamedTuple

from paraconsist.errors import InputError, check_choice, input_error

Row = Mapping[str, Any]  # of a table: its values by column


@dataclass(frozen=True)
class Task:
    """One kind of classification problem."""

    name: str  # as data sets declare it
    description: str  # one sentence for people
    columns: tuple[str, ...]  # the input columns, in the order of an `input_id`
    label_names: tuple[str, ...]  # in class order; a data set's `ClassLabel` names take precedence (two-way NLI)
    single: Template  # for sequence classifiers
    choices: tuple[Template, ...] = ()  # one per label if the task can be put as multiple choice, else empty

    def __post_init__(self) -> None:
        unknown = set().union(*(t.columns for t in (self.single, *self.choices))) - set(self.columns)
        if unknown:
            raise ValueError(f"templates of task {self.name!r} name columns it does not have: {sorted(unknown)}")
        if self.choices and len(self.choices) != len(self.label_names):
            raise ValueError(f"task {self.name!r} needs one choice template per label")

    def values(self, row: Row) -> dict[str, str]:
        """Return the task's input columns of `row`; InputError, with the example, if one is missing or not text."""
        values: dict[str, str] = {}
        for column in self.columns:
            if column not in row:
                remedy = f"The task reads {', '.join(self.columns)}: rename columns, or name another task."
                raise self._wrong(row, column, "be a column of the data", sorted(str(name) for name in row), remedy)
            if not isinstance(row[column], str):
                remedy = "Fill the text in or drop the row before running (an empty string is allowed)."
                raise self._wrong(row, column, "be text", row[column], remedy)
            values[column] = row[column]
        return values

    def _wrong(self, row: Row, column: str, must: str, got: Any, remedy: str) -> InputError:
        example_id = row.get("example_id")
        name = None if example_id is None else str(example_id)
        return input_error(f"task {self.name}", column, must, got=got, row=name, remedy=remedy)

    def encode(self, row: Row) -> ModelInput:
        """Return a sequence classifier's input for `row`; raise as `values` does."""
        return self.single.render(self.values(row))

    def encode_choices(self, row: Row) -> tuple[ModelInput, ...]:
        """Return a multiple-choice model's input for each label; raise as `templates` and `values` do."""
        templates, values = self.templates(multiple_choice=True), self.values(row)
        return tuple(template.render(values) for template in templates)

    def templates(self, *, multiple_choice: bool) -> tuple[Template, ...]:
        """Return the template for sequence classifiers, or those of the choices; InputError if there are none."""
        if multiple_choice and not self.choices:
            must = "be one that can be put as multiple choice"
            remedy = "Use a model with a sequence-classification head for this task."
            raise input_error("encode_choices", "task", must, got=self.name, remedy=remedy)
        return self.choices if multiple_choice else (self.single,)

    @property
    def template_hash(self) -> str:
        """16 hex digits that change with any pattern, so that stored predictions are not reused after it."""
        digest = hashlib.blake2b(digest_size=8)
        for template in (self.single, *self.choices):
            digest.update(repr((template.text, template.text_pair)).encode("utf-8"))
        return digest.hexdigest()


class ModelInput(NamedTuple):
    """A model's input for one row (or one choice of a row): a text, or a text pair."""

    text: str
    text_pair: str | None


@cache
def _parse(pattern: str) -> tuple[tuple[str, str | None], ...]:
    """Split a pattern into (literal, column) pieces; ValueError for fields other than plain ``{column}``."""
    pieces: list[tuple[str, str | None]] = []
    for literal, column, format_spec, conversion in Formatter().parse(pattern):
        if column is not None and (format_spec or conversion or not column.isidentifier()):
            raise ValueError(f"a template has plain {{column}} fields only; got {pattern!r}")
        pieces.append((literal, column))
    return tuple(pieces)


def _render(pattern: str, values: Mapping[str, str]) -> str:
    """Fill `pattern`; an empty text also removes the space that would join it."""
    if empty := "|".join(rf"\{{{column}\}}" for column, value in values.items() if not value):
        pattern = re.sub(f"^(?:{empty})+ ?", "", re.sub(f" (?:{empty})", "", pattern))
    return pattern.format_map(values)


@dataclass(frozen=True)
class Template:
    """A pair of `str.format` patterns with plain ``{column}`` fields that join the text columns of a task.

    >>> Template("{premise} {hypothesis}", "{update}").render(
    ...     {"premise": "", "hypothesis": "It is rude to whisper.", "update": "A baby sleeps nearby."}
    ... )
    ModelInput(text='It is rude to whisper.', text_pair='A baby sleeps nearby.')
    """

    text: str
    text_pair: str | None

    def render(self, values: Mapping[str, str]) -> ModelInput:
        """Fill both patterns with `values` (column -> text); an empty premise leaves no leading space."""
        pair = None if self.text_pair is None else _render(self.text_pair, values)
        return ModelInput(_render(self.text, values), pair)

    def render_all(self, columns: Mapping[str, Sequence[str]]) -> list[ModelInput]:
        """Fill both patterns for all rows; `columns` maps columns to texts, of equal length."""
        return [self.render(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the patterns name."""
        patterns = [self.text] if self.text_pair is None else [self.text, self.text_pair]
        return frozenset(column for p in patterns for _, column in _parse(p) if column is not None)


IN_JSON = ("choices", "messages")  # columns of `QUESTIONS` that hold JSON, or are empty
#: Questions of the user's own (`paraconsist.data.prompts`).
QUESTIONS = Task(
    name="questions",
    description="What is the answer, in free text, to a question of your own?",
    columns=("system", "context", "question", "choices", "messages"),
    label_names=(),
    single=Template("{context} {question}", None),
)
_TASKS = (
    Task(
        name="defeasible_nli",
        description="Does an update weaken or strengthen a hypothesis, given a premise?",
        columns=("premise", "hypothesis", "update"),
        label_names=("weakener", "strengthener"),
        single=Template("{premise} {hypothesis}", "{update}"),
    ),
    Task(
        name="abductive_nli",
        description="Which of two hypotheses better explains what happened between two observations?",
        columns=("observation_1", "observation_2", "hypothesis_1", "hypothesis_2"),
        label_names=("hypothesis_1", "hypothesis_2"),
        single=Template("{observation_1} {observation_2}", "{hypothesis_1} {hypothesis_2}"),
        choices=(
            Template("{observation_1} {hypothesis_1}", "{observation_2}"),
            Template("{observation_1} {hypothesis_2}", "{observation_2}"),
        ),
    ),
    Task(
        name="nli",
        description="Does a premise entail a hypothesis, contradict it, or neither?",
        columns=("premise", "hypothesis"),
        label_names=("entailment", "neutral", "contradiction"),
        single=Template("{premise}", "{hypothesis}"),
    ),
    Task(
        name="paraphrase_identification",
        description="Do two sentences mean the same?",
        columns=("sentence_1", "sentence_2"),
        label_names=("not_paraphrase", "paraphrase"),
        single=Template("{sentence_1}", "{sentence_2}"),
    ),
    Task(
        name="yes_no_qa",
        description="Is the answer to a question, given a passage, no or yes?",
        columns=("question", "passage"),
        label_names=("no", "yes"),
        single=Template("{question}", "{passage}"),
    ),
    Task(
        name="word_in_context",
        description="Is a word used in the same sense in two sentences?",
        columns=("sentence_1", "sentence_2", "word"),
        label_names=("different_sense", "same_sense"),
        single=Template("{word}: {sentence_1}", "{sentence_2}"),
    ),
    Task(
        name="sentiment",
        description="Is a text negative or positive about what it speaks of?",
        columns=("text",),
        label_names=("negative", "positive"),
        single=Template("{text}", None),
    ),
    Task(
        name="topic",
        description="What kind of news is a text: world, sports, business, or science and technology?",
        columns=("text",),
        label_names=("world", "sports", "business", "sci_tech"),
        single=Template("{text}", None),
    ),
)

#: Name -> task whose answers are labels; `QUESTIONS` is the other one.
TASKS: Mapping[str, Task] = MappingProxyType({task.name: task for task in _TASKS})


def get_task(name: str) -> Task:
    """Return the task called `name`; InputError if there is none.

    >>> get_task("defeasible_nli").label_names
    ('weakener', 'strengthener')
    """
    check_choice("run", "task", name, [*TASKS, QUESTIONS.name])
    return TASKS.get(name, QUESTIONS)


def infer_task(columns: Iterable[str], *, function: str = "infer_task") -> Task:
    """Return the task all of whose input columns are present; the one with the most columns wins.

    InputError if no task fits, or several with equally many columns (`sentiment` and `topic` read the same one).

    >>> infer_task(["example_id", "premise", "hypothesis", "update", "label"]).name
    'defeasible_nli'
    """
    present = list(columns)
    fitting = [task for task in TASKS.values() if set(task.columns) <= set(present)]
    if not fitting:
        needed = "; ".join(f"{task.name}: {', '.join(task.columns)}" for task in TASKS.values())
        needed += "; questions: question, prompt or messages" * (function == "run")
        named = "name columns by `column`, such as question=text" if function == "run" else "rename columns"
        remedy = f"Name the task as `task`, or {named}. The tasks read: {needed}."
        raise input_error(function, "columns", "hold all input columns of one task", got=present, remedy=remedy)
    most = max(len(task.columns) for task in fitting)
    best = [task for task in fitting if len(task.columns) == most]
    if len(best) > 1:
        remedy = f"They fit {' and '.join(task.name for task in best)}: name it as `task`."
        remedy += " For questions of your own give `column` question=text." * (function == "run" and "text" in present)
        raise input_error(function, "columns", "fit one task only", got=present, remedy=remedy)
    return best[0]


def named_in_rows(task: Task) -> dict[str, str]:
    """Return the column that names a task in rows whose other columns fit several, by which these are read again.

    >>> named_in_rows(get_task("sentiment")), named_in_rows(get_task("nli"))
    ({'task': 'sentiment'}, {})
    """
    return {"task": task.name} if sum(other.columns == task.columns for other in TASKS.values()) > 1 else {}


def input_id(task: Task | str, row: Row) -> str:
    """Return 32 hex digits that depend on the task and the input texts of `row` only.

    Two rows have the same id exactly if task, column names and texts are the same (up to collisions of a 128-bit hash),
    so that a model's answer is computed once for all rows, buckets and configs that share it. Each part is hashed with
    its length, so that moving text from one column to the next changes the id. InputError if the task is unknown, or an
    input column is missing or not text.

    >>> a = input_id("nli", {"premise": "It rains.", "hypothesis": "It is wet.", "label": 0})
    >>> a == input_id("nli", {"premise": "It rains.", "hypothesis": "It is wet.", "label": 1}), len(a)
    (True, 32)
    """
    task = get_task(task) if isinstance(task, str) else task
    return input_ids(task, [[value] for value in task.values(row).values()])[0]


def input_ids(task: Task, columns: Sequence[Sequence[str]]) -> list[str]:
    """Return the `input_id` of each row; `columns` are the texts of the task's columns, of equal length."""
    begun = hashlib.blake2b(_part(task.name), digest_size=16)
    names = [_part(column) for column in task.columns]
    ids = []
    for values in zip(*columns, strict=True):
        digest = begun.copy()
        for name, value in zip(names, values, strict=True):
            digest.update(name + _part(value))
        ids.append(digest.hexdigest())
    return ids


def _part(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "big") + data


def partial_task(task: Task, input_columns: Sequence[str] | None, *, function: str = "partial_task") -> Task:
    """Return the task of a model that reads only `input_columns`; None, or all of them, returns the task itself.

    Columns, labels and input ids are kept; the templates, and with them `template_hash`, change. An empty side of a
    text pair is removed, as in the partial-input models of Srikanth et al. 2024. InputError if there are no columns,
    one is repeated or not the task's, or a choice would be empty.

    >>> partial_task(get_task("defeasible_nli"), ["update"]).single
    Template(text='{update}', text_pair=None)
    """
    if input_columns is None:
        return task
    names = list(input_columns)
    unknown = [column for column in names if column not in task.columns]
    if not names or unknown or len(set(names)) < len(names):
        must = f"name columns of task {task.name} ({', '.join(task.columns)}), each once"
        raise input_error(function, "input_columns", must, got=unknown or names)
    if set(names) == set(task.columns):
        return task
    choices = []
    for template in task.choices:
        if not template.columns & set(names):
            must, remedy = f"leave each choice of task {task.name} a text", "Name a column of every choice."
            raise input_error(function, "input_columns", must, got=names, remedy=remedy)
        choices.append(partial_template(template, names))
    if not task.single.columns & set(names):  # a column that no template reads
        raise input_error(function, "input_columns", f"name columns that task {task.name} shows to models", got=names)
    return replace(task, single=partial_template(task.single, names), choices=tuple(choices))


def partial_template(template: Template, columns: Sequence[str]) -> Template:
    """Return the template with some of its columns only, and the text between them."""
    sides = [side for side in (template.text, template.text_pair) if side is not None]
    patterns = [pattern for side in sides if (pattern := _only(side, set(columns)))]
    return Template(patterns[0], patterns[1] if len(patterns) > 1 else None)


def _only(pattern: str, columns: set[str]) -> str:
    """Keep `columns`, each with the words right before it, unless another column opened the pattern."""
    out, keeps_last, opened = "", True, False
    for literal, column in _parse(pattern):
        if column is None or column in columns:
            out += literal if (out or not opened) and (column is not None or keeps_last) else ""
        if column is not None:
            out += "{" + column + "}" if column in columns else ""
            keeps_last, opened = column in columns, True
    return out if "{" in out else ""
