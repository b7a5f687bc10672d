"""Samples of training rows: which rows share a context, so many rows, or a share of the contexts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.tasks import Task
from paraconsist.errors import input_error

if TYPE_CHECKING:
    from paraconsist.models.training.data import Examples

#: Task -> the columns that several of its items share; of the other tasks only equal items belong together.
CONTEXT_COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "defeasible_nli": ("premise", "hypothesis"),
        "abductive_nli": ("observation_1", "observation_2"),
        "nli": ("premise",),
        "yes_no_qa": ("passage",),
        "word_in_context": ("word",),
    }
)
#: Columns of text ready made, as the authors' files of delta-NLI have them.
READY_MADE = ("sentence1", "sentence2")


def context_texts(
    columns: Mapping[str, Sequence[Any]], task: Task, group_columns: Sequence[str] | None, *, function: str, name: str
) -> list[str] | None:
    """Return each row's context as one text; None where the columns do not say it, and each row stands alone.

    `group_columns` make a context in place of the task's; one that is not there is an `InputError`. Where rows hold
    ready-made text, its first column is the context. `function` and `name` (of the rows) are for messages.
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
    columns: Mapping[str, Sequence[Any]],
    task: Task,
    group_columns: Sequence[str] | None,
    rows: Sequence[int],
    *,
    function: str,
    name: str,
) -> list[int]:
    """Return a number for each of `rows`: rows of one context have the same. The rest is as in `context_texts`."""
    texts = context_texts(columns, task, group_columns, function=function, name=name)
    if texts is None:
        return list(range(len(rows)))
    known: dict[str, int] = {}
    return [known.setdefault(texts[i], len(known)) for i in rows]


def sample(examples: Examples, limit: int | None, seed: int) -> Examples:
    """A random sample without replacement, in the order of the rows; everything where `limit` is None."""
    if limit is None or limit >= len(examples):
        return examples
    return _part(examples, np.sort(np.random.default_rng(seed).choice(len(examples), size=limit, replace=False)))


def sample_share(examples: Examples, share: float, seed: int, label_names: Sequence[str]) -> Examples:
    """A random share of the groups (of S24's learning curves), in the order of the rows.

    ``floor(share * groups)`` of them, as in the authors' code, and at least one. Of one seed, a smaller share is part
    of a larger one. A label that the rows have must be among those drawn, else that is an `InputError`.
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


def _part(examples: Examples, chosen: NDArray[np.intp]) -> Examples:
    return replace(
        examples,
        inputs=tuple(examples.inputs[i] for i in chosen),
        labels=tuple(examples.labels[i] for i in chosen),
        contexts=None if examples.contexts is None else tuple(examples.contexts[i] for i in chosen),
    )
