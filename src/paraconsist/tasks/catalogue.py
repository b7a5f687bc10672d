"""The tasks that paraconsist knows, by name and by the columns they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from paraconsist.errors import input_error
from paraconsist.tasks.task import Task
from paraconsist.tasks.template import Template

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

_PARAPHRASE_IDENTIFICATION = Task(
    name="paraphrase_identification",
    description="Do two sentences mean the same?",
    columns=("sentence_1", "sentence_2"),
    label_names=("not_paraphrase", "paraphrase"),
    single=Template("{sentence_1}", "{sentence_2}"),
)

_YES_NO_QA = Task(
    name="yes_no_qa",
    description="Is the answer to a question, given a passage, no or yes?",
    columns=("question", "passage"),
    label_names=("no", "yes"),
    single=Template("{question}", "{passage}"),
)

_WORD_IN_CONTEXT = Task(
    name="word_in_context",
    description="Is a word used in the same sense in two sentences?",
    columns=("sentence_1", "sentence_2", "word"),
    label_names=("different_sense", "same_sense"),
    single=Template("{word}: {sentence_1}", "{sentence_2}"),
)

_SENTIMENT = Task(
    name="sentiment",
    description="Is a text negative or positive about what it speaks of?",
    columns=("text",),
    label_names=("negative", "positive"),
    single=Template("{text}", None),
)

_TOPIC = Task(
    name="topic",
    description="What kind of news is a text: world, sports, business, or science and technology?",
    columns=("text",),
    label_names=("world", "sports", "business", "sci_tech"),
    single=Template("{text}", None),
)

TASKS: Mapping[str, Task] = MappingProxyType(
    {
        task.name: task
        for task in (
            _DEFEASIBLE_NLI,
            _ABDUCTIVE_NLI,
            _NLI,
            _PARAPHRASE_IDENTIFICATION,
            _YES_NO_QA,
            _WORD_IN_CONTEXT,
            _SENTIMENT,
            _TOPIC,
        )
    }
)


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
        If the columns of no task are all there, or those of several tasks that have as many columns
        (`sentiment` and `topic` read the same one).

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
    most = max(len(task.columns) for task in fitting)
    best = [task for task in fitting if len(task.columns) == most]
    if len(best) > 1:
        raise input_error(
            "infer_task",
            "columns",
            "fit one task only",
            got=present,
            remedy=f"They fit {' and '.join(task.name for task in best)}: name the task.",
        )
    return best[0]
