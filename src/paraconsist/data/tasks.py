"""The tasks that paraconsist knows: their input columns and labels, and how a row becomes what a classifier reads.

A template turns the text columns of a row into one text, or a pair. An input's id names its task and its texts, so
that the same text under the same task has the same id wherever it stands. A partial task shows some columns only:
what labels give away of themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import repeat
from string import Formatter
from types import MappingProxyType
from typing import Any, NamedTuple

from paraconsist.errors import InputError, check_choice, input_error


@dataclass(frozen=True)
class Task:
    """One kind of classification problem."""

    name: str  # That data sets declare
    description: str  # One sentence for people
    columns: tuple[str, ...]  # The input columns, in the order in which they enter an `input_id`
    #: The default labels, in class order. A data set's own `ClassLabel` names win (two-way NLI, for one).
    label_names: tuple[str, ...]
    single: Template  # For sequence classifiers
    choices: tuple[Template, ...] = ()  # One per label where the task can be put as multiple choice, else empty

    def __post_init__(self) -> None:
        unknown = set().union(*(t.columns for t in (self.single, *self.choices))) - set(self.columns)
        if unknown:
            raise ValueError(f"templates of task {self.name!r} name columns it does not have: {sorted(unknown)}")
        if self.choices and len(self.choices) != len(self.label_names):
            raise ValueError(f"task {self.name!r} needs one choice template per label")

    def values(self, row: Mapping[str, Any]) -> dict[str, str]:
        """Return the task's input columns of `row`, checked to be text.

        InputError if a column is missing or holds anything but a string; the message names column and example.
        """
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

    def _wrong(self, row: Mapping[str, Any], column: str, must: str, got: Any, remedy: str) -> InputError:
        example_id = row.get("example_id")
        name = None if example_id is None else str(example_id)
        return input_error(f"task {self.name}", column, must, got=got, row=name, remedy=remedy)

    def encode(self, row: Mapping[str, Any]) -> ModelInput:
        """Return the text and text pair that a sequence classifier reads for `row`; raise as `values` does."""
        return self.single.render(self.values(row))

    def encode_choices(self, row: Mapping[str, Any]) -> tuple[ModelInput, ...]:
        """Return one text pair per label for a multiple-choice model, in the order of `label_names`.

        InputError if the task cannot be put as multiple choice, or an input column is missing or is not text.
        """
        templates, values = self.templates(multiple_choice=True), self.values(row)
        return tuple(template.render(values) for template in templates)

    def templates(self, *, multiple_choice: bool) -> tuple[Template, ...]:
        """Return the template of sequence classifiers, or those of the choices; InputError if there are none."""
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
    """What a model reads for one row (or for one choice of a row): a text, or a text pair."""

    text: str
    text_pair: str | None


@cache
def _parse(pattern: str) -> tuple[tuple[str, str | None], ...]:
    """Split a pattern into (literal, column) pieces; only plain ``{column}`` fields are allowed."""
    pieces: list[tuple[str, str | None]] = []
    for literal, column, format_spec, conversion in Formatter().parse(pattern):
        if column is not None and (format_spec or conversion or not column.isidentifier()):
            raise ValueError(f"a template has plain {{column}} fields only; got {pattern!r}")
        pieces.append((literal, column))
    return tuple(pieces)


def _render(pattern: str, values: Mapping[str, str]) -> str:
    """Fill `pattern`; where a column's text is empty, the space that would join it is left out as well."""
    if all(values.values()):
        return pattern.format_map(values)
    rendered = ""
    drop_space = False  # an empty text opened the result: the space after it joins nothing
    for literal, column in _parse(pattern):
        rendered += literal.removeprefix(" ") if drop_space else literal
        drop_space = False
        if column is None:
            continue
        value = values[column]
        if value:
            rendered += value
        elif rendered.endswith(" ") and literal:
            rendered = rendered[:-1]
        else:
            drop_space = rendered == ""
    return rendered


def _filled(pattern: str, columns: Mapping[str, Sequence[str]]) -> Iterable[str]:
    """Fill `pattern` for each row, whose texts are not empty."""
    pieces: list[Iterable[str]] = []
    for literal, column in _parse(pattern):
        pieces += [repeat(literal)] if literal else []
        pieces += [] if column is None else [columns[column]]
    return pieces[0] if len(pieces) == 1 else map("".join, zip(*pieces, strict=False))


@dataclass(frozen=True)
class Template:
    """How the text columns of a task are put together: `str.format` patterns with plain ``{column}`` fields.

    >>> Template("{premise} {hypothesis}", "{update}").render(
    ...     {"premise": "", "hypothesis": "It is rude to whisper.", "update": "A baby sleeps nearby."}
    ... )
    ModelInput(text='It is rude to whisper.', text_pair='A baby sleeps nearby.')
    """

    text: str
    text_pair: str | None

    def render(self, values: Mapping[str, str]) -> ModelInput:
        """Fill both patterns with `values` (column -> text).

        Where a column is empty the space that would join it to its neighbour is left out, so that an empty
        premise gives no leading space.
        """
        pair = None if self.text_pair is None else _render(self.text_pair, values)
        return ModelInput(_render(self.text, values), pair)

    def render_all(self, columns: Mapping[str, Sequence[str]]) -> list[ModelInput]:
        """`render` of all rows; `columns` are column -> texts, of equal length."""
        if not all(map(all, columns.values())):  # an empty text takes a space with it
            return [self.render(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
        pairs = repeat(None) if self.text_pair is None else _filled(self.text_pair, columns)
        return [*map(ModelInput, _filled(self.text, columns), pairs)]

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the patterns name."""
        patterns = [self.text] if self.text_pair is None else [self.text, self.text_pair]
        return frozenset(column for p in patterns for _, column in _parse(p) if column is not None)


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

#: Name -> task.
TASKS: Mapping[str, Task] = MappingProxyType({task.name: task for task in _TASKS})


def get_task(name: str) -> Task:
    """Return the task called `name`; InputError if there is none.

    >>> get_task("defeasible_nli").label_names
    ('weakener', 'strengthener')
    """
    check_choice("get_task", "name", name, TASKS)
    return TASKS[name]


def infer_task(columns: Iterable[str]) -> Task:
    """Return the task whose input columns are all there; the one with the most columns wins.

    InputError if the columns of no task are all there, or those of several tasks that have as many columns (`sentiment`
    and `topic` read the same one).

    >>> infer_task(["example_id", "premise", "hypothesis", "update", "label"]).name
    'defeasible_nli'
    """
    present = list(columns)
    fitting = [task for task in TASKS.values() if set(task.columns) <= set(present)]
    if not fitting:
        needed = "; ".join(f"{task.name}: {', '.join(task.columns)}" for task in TASKS.values())
        remedy = f"Name the task as `task`, or rename columns. The tasks read: {needed}."
        raise input_error("infer_task", "columns", "hold all input columns of one task", got=present, remedy=remedy)
    most = max(len(task.columns) for task in fitting)
    best = [task for task in fitting if len(task.columns) == most]
    if len(best) > 1:
        remedy = f"They fit {' and '.join(task.name for task in best)}: name it as `task`."
        raise input_error("infer_task", "columns", "fit one task only", got=present, remedy=remedy)
    return best[0]


def input_id(task: Task | str, row: Mapping[str, Any]) -> str:
    """Return 32 hex digits that name the task and the input texts of `row`, and nothing else.

    Two rows have the same id exactly when task, column names and texts are the same (up to chance collisions of a
    128-bit hash), so that a model's answer is computed once for all rows, buckets and configs that share it. Each part
    enters with its length, so that moving text from one column to the next changes the id. InputError if the task is
    unknown, or an input column is missing or is not text.

    >>> a = input_id("nli", {"premise": "It rains.", "hypothesis": "It is wet.", "label": 0})
    >>> a == input_id("nli", {"premise": "It rains.", "hypothesis": "It is wet.", "label": 1}), len(a)
    (True, 32)
    """
    task = get_task(task) if isinstance(task, str) else task
    return input_ids(task, [[value] for value in task.values(row).values()])[0]


def input_ids(task: Task, columns: Sequence[Sequence[str]]) -> list[str]:
    """Return the `input_id` of each row; `columns` are the task's, in their order, of equal length and all text."""
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
    """Return the task as seen by a model that reads only `input_columns`; None, or all of them, leaves it as it is.

    Columns, labels and input ids stay what they are; the templates, and with them `template_hash`, change. A side of a
    text pair of which nothing is left falls away, as in the partial-input models of Srikanth et al. 2024. InputError if
    there are no columns, one comes twice or is not the task's, or a choice would be empty.

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
    """Return the template with some of its columns only; text between two of them stays."""
    sides = [side for side in (template.text, template.text_pair) if side is not None]
    kept = [pattern for side in sides if (pattern := _only(side, set(columns)))]
    return Template(kept[0], kept[1] if len(kept) > 1 else None)


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
