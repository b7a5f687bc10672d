"""Training rows: from a file or a data set to encoded texts and label numbers, with every row checked."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.tables import read_table
from paraconsist.data.tasks import ModelInput, Task, Template, get_task, infer_task, partial_task
from paraconsist.errors import InputError, input_error
from paraconsist.models.labels import normalise_label
from paraconsist.models.training.options import TrainingOptions

_UNLABELLED = ("", "-", "-1", "nan", "none")
#: Takes a line for the user.
Say = Callable[[str], None]
Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Source:
    """Rows as read, before encoding; task and label names as the data set declares them."""

    name: str  # for messages
    columns: Columns  # all of one length
    task: str | None = None
    label_names: tuple[str, ...] | None = None

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True)
class Examples:
    """Encoded rows."""

    inputs: tuple[tuple[ModelInput, ...], ...]  # for each row one, or one per choice
    labels: tuple[int, ...]  # positions in the label names
    n_dropped: int = 0  # rows without a gold label, which are excluded
    contexts: tuple[int, ...] | None = None  # each row's group, if rows are drawn by group

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def majority(self) -> float:
        """Accuracy of always answering the commonest label, in [0, 1]."""
        return max(Counter(self.labels).values()) / len(self)

    @property
    def content_hash(self) -> str:
        """The hash of texts, labels and order, 16 hex digits."""
        digest = hashlib.blake2b(digest_size=8)
        for row in zip(self.inputs, self.labels, strict=True):
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def open_sources(options: TrainingOptions) -> tuple[Source, Source | None]:
    """Open the training rows and the evaluation rows, if any.

    These are the validation split of a data set that has one, unless other evaluation rows are named.
    """
    if options.train_file is not None:
        rows, validation = file_source(options.train_file, "train_file"), None
    else:
        assert options.dataset is not None  # TrainingOptions requires one of the two
        rows, validation = _build(options.dataset, "dataset", options.data_dir)
    if options.eval_file is not None:
        return rows, file_source(options.eval_file, "eval_file")
    if options.eval_dataset is not None:
        evaluation, own_validation = _build(options.eval_dataset, "eval_dataset", options.data_dir)
        return rows, own_validation or evaluation
    return rows, validation


def file_source(file: Path, parameter: str, *, function: str = "train") -> Source:
    return Source(str(file), read_table(file, function=function, parameter=parameter).to_pydict())


def split_source(name: str, rows: Any, task: str | None = None) -> Source:
    """Read a split of a data set (of `datasets`), with the labels that it declares."""
    names = getattr(rows.features.get("label"), "names", None)
    columns = {column: list(rows[column]) for column in rows.column_names}
    return Source(name, columns, task, None if names is None else tuple(names))


def _build(dataset: str, parameter: str, data_dir: str | None) -> tuple[Source, Source | None]:
    """Return the training split (else the first) of ``builder:config``, and its validation split if there is one."""
    from paraconsist.data.building import prepare_spec

    builder = prepare_spec(dataset, function="train", parameter=parameter, data_dir=data_dir)
    splits = list(builder.info.splits or ())

    def source(split: str) -> Source:
        name = dataset if split == "train" else f"{dataset} ({split})"
        return split_source(name, builder.as_dataset(split=split), builder.config.task)

    rows = source("train" if "train" in splits else splits[0])
    return rows, source("validation") if "validation" in splits else None


def find_task(
    source: Source, named: str | None, *, function: str = "train", remedy: str = "For instance defeasible_nli."
) -> Task:
    """Return the task that the user named, else the data set's, else the one that fits the columns."""
    named = named or source.task
    if named is not None:
        return get_task(named)
    try:
        return infer_task(source.columns)
    except InputError:
        must = "be given, because the columns do not determine it"
        raise input_error(function, "task", must, got=list(source.columns), remedy=remedy) from None


def encode_examples(
    source: Source, task: Task, options: TrainingOptions, names: Sequence[str], *, multiple_choice: bool, say: Say
) -> Examples:
    """Encode and check every row.

    InputError, which names the row, for a missing column, text or label, or a label that the task does not have.
    """
    labels = label_rows(source, names, options.label_column, drop_unlabelled=options.drop_unlabelled)
    encode = _encoder(source, task, options, multiple_choice=multiple_choice, say=say)
    inputs = tuple(encode(i) for i in labels)
    n_dropped = source.n_rows - len(labels)
    if n_dropped:
        say(f"{source.name}: {n_dropped:,} of {source.n_rows:,} rows have no gold label and are excluded.")
    contexts = None
    if options.share < 1:
        by = options.group_columns
        contexts = tuple(context_keys(source.columns, task, by, list(labels), function="train", name=source.name))
    return Examples(inputs, tuple(labels.values()), n_dropped, contexts)


def _encoder(
    source: Source, task: Task, options: TrainingOptions, *, multiple_choice: bool, say: Say
) -> Callable[[int], tuple[ModelInput, ...]]:
    """Find the columns with the text, and return a function from row number to inputs."""
    columns = source.columns
    visible = partial_task(task, options.input_columns, function="train")
    if options.text_column is None and set(task.columns) <= set(columns):

        def from_task(i: int) -> tuple[ModelInput, ...]:
            row = {column: columns[column][i] for column in task.columns} | {"example_id": i}
            return visible.encode_choices(row) if multiple_choice else (visible.encode(row),)

        return from_task
    text, pair = options.text_column, options.text_pair_column
    if text is None and set(READY_MADE) <= set(columns) and visible is not task:
        text, pair = _ready_made_side(task, options, source.name), None
        say(f"{source.name}: taking {text!r} as the text of {', '.join(options.input_columns or ())}.")
    elif text is None and set(READY_MADE) <= set(columns):
        text, pair = READY_MADE
        say(f"{source.name}: taking {text!r} as text and {pair!r} as text pair of task {task.name}.")
    needed = [column for column in (text, pair) if column is not None]
    missing = [column for column in needed or task.columns if column not in columns]
    if text is None or missing:
        remedy = f"Task {task.name} reads {', '.join(task.columns)}; or name `text_column` and `text_pair_column`."
        raise input_error("train", missing[0], f"be a column of {source.name}", got=list(columns), remedy=remedy)
    if multiple_choice:
        must = f"be 'classification' unless the rows have the task's columns {', '.join(task.columns)}"
        raise input_error("train", "head", must, got=options.head)

    def from_pair(i: int) -> tuple[ModelInput, ...]:
        for column in needed:
            if not isinstance(value := columns[column][i], str):
                remedy = f"Mend {source.name} or drop the row."
                raise input_error("train", column, "be text", got=value, row=i, remedy=remedy)
        return (ModelInput(columns[text][i].strip(), columns[pair][i].strip() if pair is not None else None),)

    return from_pair


def _ready_made_side(task: Task, options: TrainingOptions, name: str) -> str:
    """Return the ready-made column that contains exactly `input_columns`."""
    sides = [Template(text, None).columns for text in (task.single.text, task.single.text_pair) if text is not None]
    for column, side in zip(READY_MADE, sides, strict=False):
        if side == set(options.input_columns or ()):
            return column
    must, got = f"be all that one ready-made text of {name} holds", list(options.input_columns or ())
    remedy = f"Its {READY_MADE[0]} is {' and '.join(sorted(sides[0]))} in one: give rows with the task's columns."
    raise input_error("train", "input_columns", must, got=got, remedy=remedy)


def is_unlabelled(value: Any) -> bool:
    """Say if a value means that there is no gold label."""
    return value is None or str(value).strip().lower() in _UNLABELLED


def label_rows(
    source: Source, names: Sequence[str], column: str, *, drop_unlabelled: bool, function: str = "train"
) -> dict[int, int]:
    """Return row -> label number (place in `names`), for every row with a gold label; `column` has names or numbers.

    Rows without a gold label are excluded with `drop_unlabelled`. InputError for them otherwise, for a missing column,
    for a label that is not one of the names or their numbers, and for a source without any label.
    """
    if column not in source.columns:
        remedy = f"Its columns are {', '.join(map(str, source.columns))}: name the one with gold labels."
        raise input_error(function, "label_column", f"be a column of {source.name}", got=column, remedy=remedy)
    by_name = {normalise_label(name): i for i, name in enumerate(names)}
    labels: dict[int, int] = {}
    known: dict[str, int | None] = {}
    for row, value in enumerate(source.columns[column]):
        text = "" if value is None else str(value).strip()
        if text not in known:
            known[text] = _label(text, by_name, len(names))
        label = known[text]
        if label is not None:
            labels[row] = label
        elif not is_unlabelled(value):
            must = f"be one of {', '.join(names)}, or a number from 0 to {len(names) - 1}"
            remedy = f"Mend {source.name}, or name its labels in order as `label_names`."
            raise input_error(function, column, must, got=value, row=row, remedy=remedy)
        elif not drop_unlabelled:
            must = f"hold a gold label in every row of {source.name}"
            remedy = "Fill it in, or exclude such rows (`drop_unlabelled`)."
            raise input_error(function, column, must, got=value, row=row, remedy=remedy)
    if not labels:
        raise input_error(function, column, "give at least one row a label", got=source.name)
    return labels


def _label(text: str, by_name: Mapping[str, int], n_labels: int) -> int | None:
    number = int(float(text)) if re.fullmatch(r"\d+(\.0)?", text) else n_labels
    number = by_name.get(normalise_label(text), number)
    return number if number < n_labels else None


#: Task -> the columns that several of its items share; in other tasks only equal items belong together.
CONTEXT_COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"defeasible_nli": ("premise", "hypothesis"), "abductive_nli": ("observation_1", "observation_2")}
    | {"nli": ("premise",), "yes_no_qa": ("passage",), "word_in_context": ("word",)}
)
#: Columns of ready-made text, as in the authors' files of delta-NLI.
READY_MADE = ("sentence1", "sentence2")


def context_texts(
    columns: Columns, task: Task, group_columns: Sequence[str] | None, *, function: str, name: str
) -> list[str] | None:
    """Return each row's context as one text; None if the columns do not determine it, and each row is alone.

    `group_columns` replace the task's context; InputError if one is absent. If rows hold ready-made text, its first
    column is the context. `function` and `name` (of the rows) are for messages.
    """
    has_context = task.name in CONTEXT_COLUMNS
    chosen: Sequence[str] = CONTEXT_COLUMNS.get(task.name, task.columns)
    if group_columns is not None:
        for column in group_columns:
            if column not in columns:
                raise input_error(function, "group_columns", f"be columns of {name}", got=column)
        chosen = group_columns
    elif not set(chosen) <= set(columns):
        chosen = READY_MADE[:1] if has_context else READY_MADE
        if not set(chosen) <= set(columns):
            return None
    rows = zip(*(columns[column] for column in chosen), strict=True)
    return [" ".join(" ".join(str(value).split()) for value in row).strip() for row in rows]


def context_keys(
    columns: Columns, task: Task, group_columns: Sequence[str] | None, rows: Sequence[int], *, function: str, name: str
) -> list[int]:
    """Return a number for each of `rows`, equal for rows of one context; parameters as of `context_texts`."""
    texts = context_texts(columns, task, group_columns, function=function, name=name)
    known: dict[str, int] = {}
    return [place if texts is None else known.setdefault(texts[i], len(known)) for place, i in enumerate(rows)]


def sample_share(examples: Examples, share: float, seed: int, label_names: Sequence[str]) -> Examples:
    """Return a random share of the groups (for S24's learning curves), in the order of the rows.

    ``floor(share * groups)`` of them, as in the authors' code, and at least one. With one seed, a smaller share is part
    of a larger one. InputError if a label of the rows is not among those drawn.
    """
    if share >= 1:
        return examples
    assert examples.contexts is not None  # encode_examples gives them where a share is asked for
    groups, codes = np.unique(np.array(examples.contexts), return_inverse=True)
    n_drawn = max(1, math.floor(share * len(groups) + 1e-9))
    drawn = np.random.default_rng(seed).permutation(len(groups))[:n_drawn]
    part = _part(examples, np.flatnonzero(np.isin(codes, drawn)))
    absent = [name for i, name in enumerate(label_names) if i in set(examples.labels) - set(part.labels)]
    if absent:
        must = "be large enough that every label is among the rows drawn"
        remedy = f"It draws {len(part):,} rows in {n_drawn:,} of {len(groups):,} groups, none labelled "
        remedy += f"{', '.join(absent)}. Give a larger share, or another `limit_seed`."
        raise input_error("train", "share", must, got=share, remedy=remedy)
    return part


def draw(examples: Examples, options: TrainingOptions, label_names: Sequence[str]) -> Examples:
    """Return the sample of the rows that the options specify, without replacement, in the order of the rows."""
    n, rng = len(examples), np.random.default_rng(options.limit_seed)
    if options.limit is not None and options.limit < n:
        examples = _part(examples, np.sort(rng.choice(n, size=options.limit, replace=False)))
    return sample_share(examples, options.share, options.limit_seed, label_names)


def _part(examples: Examples, chosen: NDArray[np.intp]) -> Examples:
    inputs, labels = tuple(examples.inputs[i] for i in chosen), tuple(examples.labels[i] for i in chosen)
    contexts = None if examples.contexts is None else tuple(examples.contexts[i] for i in chosen)
    return replace(examples, inputs=inputs, labels=labels, contexts=contexts)
