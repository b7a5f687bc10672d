"""The templates that paraconsist knows: one or two for each task, among them the papers', restated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from paraconsist.data.prompts import PromptTemplate, describe_labels
from paraconsist.data.tasks import Task
from paraconsist.errors import input_error

_S24 = "Srikanth et al. 2024, Table 5 (restated): meant for 36 examples"
_V23 = "Verma et al. 2023, appendix A.5: zero-shot, one token"

_TEMPLATES = (
    PromptTemplate(
        name="s24-delta",
        task="defeasible_nli",
        instruction=(
            "Each problem has a premise, a hypothesis that is plausible given the premise, and an update: a new "
            "piece of information. An update is a weakener (W) if it makes the hypothesis less likely to be true, "
            "and a strengthener (S) if it makes the hypothesis more likely to be true. Answer W or S."
        ),
        question="Premise: {premise}\nHypothesis: {hypothesis}\nUpdate: {update}\nAnswer:",
        labels={"weakener": "W", "strengthener": "S"},
        source=_S24,
    ),
    PromptTemplate(
        name="s24-alpha",
        task="abductive_nli",
        instruction=(
            "Each problem has the beginning and the end of a short story, and two sentences that could stand in the "
            "middle. Choose the middle sentence that is most plausible and best explains the beginning and the end. "
            "Answer 1 or 2."
        ),
        question=(
            "Beginning: {observation_1}\nMiddle 1: {hypothesis_1}\nMiddle 2: {hypothesis_2}\nEnd: {observation_2}\n"
            "Answer:"
        ),
        labels={"hypothesis_1": "1", "hypothesis_2": "2"},
        source=_S24,
    ),
    PromptTemplate(
        name="v23-nli",
        task="nli",
        question=("Premise: {premise}\nHypothesis: {hypothesis}\n\nDoes the premise entail the hypothesis?\nAnswer:"),
        labels={"entailment": "yes", "not_entailment": "no"},
        source=_V23,
    ),
    PromptTemplate(
        name="nli-3",
        task="nli",
        question=(
            "Premise: {premise}\nHypothesis: {hypothesis}\n\nGiven the premise, is the hypothesis true, false, or "
            "neither?\nAnswer:"
        ),
        labels={"entailment": "true", "neutral": "neither", "contradiction": "false"},
    ),
    PromptTemplate(
        name="paraphrase",
        task="paraphrase_identification",
        question=("Sentence 1: {sentence_1}\nSentence 2: {sentence_2}\n\nDo the two sentences mean the same?\nAnswer:"),
        labels={"not_paraphrase": "no", "paraphrase": "yes"},
    ),
    PromptTemplate(
        name="yes-no",
        task="yes_no_qa",
        question="Passage: {passage}\nQuestion: {question}\nAnswer:",
        labels={"no": "no", "yes": "yes"},
    ),
    PromptTemplate(
        name="word-in-context",
        task="word_in_context",
        question=(
            'Sentence 1: {sentence_1}\nSentence 2: {sentence_2}\n\nDoes the word "{word}" have the same meaning in '
            "both sentences?\nAnswer:"
        ),
        labels={"different_sense": "no", "same_sense": "yes"},
    ),
    PromptTemplate(
        name="sentiment",
        task="sentiment",
        question="Text: {text}\n\nIs this positive or negative?\nAnswer:",
        labels={"negative": "negative", "positive": "positive"},
    ),
    PromptTemplate(
        name="topic",
        task="topic",
        question="News: {text}\n\nIs this about the world, sports, business, or technology?\nAnswer:",
        labels={"world": "world", "sports": "sports", "business": "business", "sci_tech": "technology"},
    ),
)

#: Name -> template.
TEMPLATES: Mapping[str, PromptTemplate] = MappingProxyType({template.name: template for template in _TEMPLATES})


def get_template(name: str, task: Task) -> PromptTemplate:
    """Return the template called `name`, for `task`. InputError if there is none, or it is another task's."""
    template = TEMPLATES.get(name)
    if template is None or template.task != task.name:
        fitting = ", ".join(t.name for t in TEMPLATES.values() if t.task == task.name)
        must = f"be a template for task {task.name} ({fitting}), or a YAML file that exists"
        raise input_error("run", "template", must, got=name)
    return template


def default_template(task: Task, label_names: Sequence[str]) -> PromptTemplate:
    """Return the template for a task and the label names of a set: the first with as many labels; else InputError.

    >>> from paraconsist.data.tasks import get_task
    >>> default_template(get_task("nli"), ["entailed", "not_entailed"]).name
    'v23-nli'
    """
    fitting = [template for template in TEMPLATES.values() if template.task == task.name]
    for template in fitting:
        if len(template.labels) == len(label_names):
            return template
    must = f"be given for a set with the labels {', '.join(label_names)}"
    remedy = f"The templates for task {task.name} are {describe_labels(fitting)}; write one in a YAML file."
    raise input_error("run", "template", must, remedy=remedy)
