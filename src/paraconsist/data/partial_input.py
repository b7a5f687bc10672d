"""Partial input: the same task, of which a model is shown some columns only (what labels give away of themselves)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from string import Formatter

from paraconsist.data.tasks import Task, Template
from paraconsist.errors import input_error


def partial_task(task: Task, input_columns: Sequence[str] | None, *, function: str = "partial_task") -> Task:
    """Return the task as seen by a model that reads only `input_columns`.

    Columns, labels and input ids stay what they are; the templates, and with them `template_hash`, change. A side
    of a text pair of which nothing is left falls away, as in the partial-input models of Srikanth et al. 2024.

    Parameters
    ----------
    task : Task
    input_columns : sequence of str or None
        Some of the task's columns; None, or all of them, leaves the task as it is.
    function : str
        For messages.

    Raises
    ------
    InputError
        If there are none, a name comes twice or is no column of the task, or a choice would be empty.

    Examples
    --------
    >>> from paraconsist.data.tasks import get_task
    >>> partial_task(get_task("defeasible_nli"), ["update"]).single
    Template(text='{update}', text_pair=None)
    """
    if input_columns is None:
        return task
    shown = list(input_columns)
    unknown = [column for column in shown if column not in task.columns]
    if not shown or unknown or len(set(shown)) < len(shown):
        raise input_error(
            function,
            "input_columns",
            f"name columns of task {task.name} ({', '.join(task.columns)}), each once",
            got=unknown or shown,
        )
    if set(shown) == set(task.columns):
        return task
    choices = []
    for template in task.choices:
        if not template.columns & set(shown):
            raise input_error(
                function,
                "input_columns",
                f"leave each choice of task {task.name} a text",
                got=shown,
                remedy="Name a column of every choice.",
            )
        choices.append(partial_template(template, shown))
    if not task.single.columns & set(shown):  # a column that no template reads
        raise input_error(function, "input_columns", f"name columns that task {task.name} shows to models", got=shown)
    return replace(task, single=partial_template(task.single, shown), choices=tuple(choices))


def partial_template(template: Template, shown: Sequence[str]) -> Template:
    """Return the template without the columns that are not shown; text between two that are stays."""
    sides = [side for side in (template.text, template.text_pair) if side is not None]
    kept = [pattern for side in sides if (pattern := _without(side, set(shown)))]
    return Template(kept[0], kept[1] if len(kept) > 1 else None)


def _without(pattern: str, shown: set[str]) -> str:
    """Keep the shown columns, each with the words right before it, unless a hidden column opened the pattern."""
    out, last_shown, opened = "", True, False
    for literal, column, _, _ in Formatter().parse(pattern):
        if column is None or column in shown:
            out += literal if (out or not opened) and (column is not None or last_shown) else ""
        if column is not None:
            out += "{" + column + "}" if column in shown else ""
            last_shown, opened = column in shown, True
    return out if "{" in out else ""
