"""The tasks that paraconsist knows, by name and by the columns they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from paraconsist.errors import input_error
from paraconsist.tasks.task import Task
from paraconsist.tasks.template import Template

__all__ = ["TASKS", "get_task", "infer_task"]

_DEFEASIBLE_NLI = Task(
    name="defeasible_nli",
    description="Does an update weaken or strengthen a hypothesis, given a premise?",
    columns=("premise", "hypothesis", "update"),
    label_names=("weakener", "strengthener"),
    single=Template("{premise} {hypothesis}", "{update}"),
)

_ABDUCTIVE_NLI = Task(
    name="abductive_nli",
    description="Which of two hypotheses better explains what happened between two observations?",
    columns=("observation_1", "observation_2", "hypothesis_1", "hypothesis_2"),
    label_names=("hypothesis_1", "hypothesis_2"),
    single=Template("{observation_1} {observation_2}", "{hypothesis_1} {hypothesis_2}"),
    choices=(
        Template("{observation_1} {hypothesis_1}", "{observation_2}"),
        Template("{observation_1} {hypothesis_2}", "{observation_2}"),
    ),
)

_NLI = Task(
    name="nli",
    description="Does a premise entail a hypothesis, contradict it, or neither?",
    columns=("premise", "hypothesis"),
    label_names=("entailment", "neutral", "contradiction"),
    single=Template("{premise}", "{hypothesis}"),
)

TASKS: Mapping[str, Task] = MappingProxyType({t.name: t for t in (_DEFEASIBLE_NLI, _ABDUCTIVE_NLI, _NLI)})


def get_task(name: str) -> Task:
    """Return the task called `name`.

    Raises
    ------
    InputError
        If there is no such task.

    Examples
    --------
    >>> get_task("defeasible_nli").label_names
    ('weakener', 'strengthener')
    """
    task = TASKS.get(name)
    if task is None:
        raise input_error("get_task", "name", f"be one of {', '.join(TASKS)}", got=name)
    return task


def infer_task(columns: Iterable[str]) -> Task:
    """Return the task whose input columns are all there; the one with the most columns wins.

    Raises
    ------
    InputError
        If the columns of no task are all there.

    Examples
    --------
    >>> infer_task(["example_id", "premise", "hypothesis", "update", "label"]).name
    'defeasible_nli'
    """
    present = list(columns)
    fitting = [task for task in TASKS.values() if set(task.columns) <= set(present)]
    if not fitting:
        needed = "; ".join(f"{task.name}: {', '.join(task.columns)}" for task in TASKS.values())
        raise input_error(
            "infer_task",
            "columns",
            "hold all input columns of one task",
            got=present,
            remedy=f"Name the task, or rename columns. The tasks read: {needed}.",
        )
    return max(fitting, key=lambda task: len(task.columns))
