"""Which rows share a context (a premise and hypothesis, say), so that samples and partitions never cut through one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from paraconsist.data.tasks import Task
from paraconsist.errors import input_error

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
_READY_MADE = ("sentence1", "sentence2")


def context_texts(
    columns: Mapping[str, Sequence[Any]],
    task: Task,
    asked: Sequence[str] | None,
    *,
    function: str,
    name: str,
) -> list[str] | None:
    """Return each row's context as one text; None where the columns do not say it, and each row stands alone.

    Where rows hold ready-made text, as the authors' files of delta-NLI do, its first column is the context.

    Parameters
    ----------
    columns : mapping
        Column -> values of all rows.
    task : Task
    asked : sequence of str, optional
        Columns that make a context, in place of the task's.
    function, name : str
        For messages: who asks, and what the rows are called.

    Raises
    ------
    InputError
        If a column that is asked for is not there.
    """
    has_context = task.name in CONTEXT_COLUMNS
    chosen: Sequence[str] = CONTEXT_COLUMNS.get(task.name, task.columns)
    if asked is not None:
        for column in asked:
            if column not in columns:
                raise input_error(function, "group_columns", f"be columns of {name}", got=column)
        chosen = asked
    elif not set(chosen) <= set(columns):
        chosen = _READY_MADE[:1] if has_context else _READY_MADE
        if not set(chosen) <= set(columns):
            return None
    rows = zip(*(columns[column] for column in chosen), strict=True)
    return [" ".join(" ".join(str(value).split()) for value in row).strip() for row in rows]


def context_keys(
    columns: Mapping[str, Sequence[Any]],
    task: Task,
    asked: Sequence[str] | None,
    rows: Sequence[int],
    *,
    function: str,
    name: str,
) -> list[int]:
    """Return a number for each of `rows`: rows of one context have the same. The rest is as in `context_texts`."""
    texts = context_texts(columns, task, asked, function=function, name=name)
    if texts is None:
        return list(range(len(rows)))
    known: dict[str, int] = {}
    return [known.setdefault(texts[i], len(known)) for i in rows]
