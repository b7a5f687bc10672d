"""Questions whose choices something else lists, reworded: tasks of inspect_ai (tried with 0.3.285).

``NAME_reworded.jsonl`` has a row for each wording of each question, and ``NAME_reworded.py`` is the task, which
`paraconsist.plugins.reworded_inspect` runs: the task's own samples for wording 0, these rows for the others.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING

from paraconsist.errors import input_error
from paraconsist.files import staged
from paraconsist.transforms.reworded_tasks import (
    ADDED,
    SUFFIX,
    RewordOptions,
    WordingRow,
    loadable,
    valid_kinds,
    wordings,
    write_rows,
)
from paraconsist.transforms.rewording import KINDS, Prompt, common_descriptors, listing, sentences

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessage

#: inspect_ai's scorers that read the right answer in the target, as a letter where there are choices.
_SCORERS = {f"inspect_ai/{name}" for name in ("answer", "choice", "exact", "includes", "match", "pattern")}
_TASK = '''"""{original} in several wordings, which {name}.jsonl has; paraconsist must be installed."""

from inspect_ai import Task, task

from paraconsist.plugins.reworded_inspect import reworded


@task
def {name}() -> Task:
    return reworded(__file__, {original!r})
'''


@dataclass(frozen=True)
class Question:
    """A question, its choices, and its accepted answers: letters of choices, or texts."""

    text: str
    choices: Sequence[str] = ()
    accepted: Sequence[str] = ()

    @property
    def letters(self) -> str:
        """The letters of the choices; none where these are more than the alphabet has."""
        return ascii_uppercase[: len(self.choices)] if len(self.choices) <= len(ascii_uppercase) else ""

    @property
    def listed(self) -> str:
        """The choices, a line each, which follow the text while kinds of rewording are applied."""
        return "".join(f"\n{letter}. {choice}" for letter, choice in zip(self.letters, self.choices, strict=False))

    @property
    def has_key(self) -> bool:
        """Say whether all accepted answers are letters of choices."""
        return bool(self.accepted) and {*self.accepted} <= {*self.letters}

    def prompt(self, words: Sequence[str], descriptors: dict[str, int]) -> Prompt:
        """Return the question with its choices listed; the key is its first choice's, as only the order is wanted."""
        answer = self.accepted[0] if len(self.accepted) == 1 else [*self.accepted]
        key = 0 if self.has_key else answer
        is_listed_twice = bool(self.choices and listing(self.text))
        return Prompt(
            self.text + self.listed, tuple(self.letters), None if is_listed_twice else key, (*words,), descriptors
        )

    def apart(self, row: WordingRow) -> WordingRow:
        """Return a wording with the text alone, and with choices and answers in the wording's order."""
        row["text"] = row["text"][: len(row["text"]) - len(self.listed)]
        if not row["wording"]:
            row |= {"options": [*self.choices], "answer": [*self.accepted]}
        elif self.choices and (moved := row.pop("original_options", [])):
            new = dict(zip(moved, self.letters, strict=True))
            row["options"] = [self.choices[self.letters.index(letter)] for letter in moved]
            row["answer"] = [new[each] if self.has_key else each for each in self.accepted]
        return row


def question_rows(
    questions: Sequence[Question], options: RewordOptions, invalid: Sequence[str] = ()
) -> Iterator[WordingRow]:
    """Yield the wordings of questions; what all questions have alike is their template, and keeps its words."""
    own = [sentences(question.text) for question in questions]
    alike = set.intersection(*map(set, own)) if len(own) > 1 else set()
    descriptors = common_descriptors(question.text for question in questions)
    prompts = [
        question.prompt([each for each in of_text if each not in alike], descriptors)
        for question, of_text in zip(questions, own, strict=True)
    ]
    kinds = valid_kinds(prompts, options, {"option_labels", "shot_order", *invalid})
    for row in wordings(prompts, kinds, options):
        yield questions[row["question"]].apart(row)


def reword_inspect(spec: str, folder: Path, options: RewordOptions) -> dict[str, Counter[str]]:
    """Write a task of inspect_ai, reworded; return its number of wordings by kind.

    `spec` is a file or module with a task's name after ``@``, a registered name, or ``hf/ORG/SET``. InputError if the
    task cannot be loaded, has no samples with a text, or no kind applies.
    """
    from inspect_ai._util.registry import registry_info

    with loadable(spec):
        task = load_original(spec)
        samples = [*islice(task.dataset, options.limit)]
    questions = [question_of(sample) for sample in samples]
    if not any(question.text.strip() for question in questions):
        raise input_error("reword", "source", "have samples that ask something", got=spec)
    if taken := {*ADDED}.intersection(*(sample.metadata or () for sample in samples)):
        must = f"have samples without the metadata {', '.join(ADDED)}, which wordings bring"
        raise input_error("reword", "source", must, got=sorted(taken))
    is_fixed = not {registry_info(scorer).name for scorer in task.scorer or ()} <= _SCORERS
    rows = [*question_rows(questions, options, [name for name in KINDS if is_fixed and KINDS[name].moves_key])]
    called = re.sub(r"\W|^(?=\d)", "_", task.name.rpartition("/")[2])
    with staged(folder) as place:
        file = place / f"{called}{SUFFIX}.jsonl"
        counts = write_rows(file, rows, called, options)
        path, at, name = spec.rpartition("@")
        if Path(path).is_file():  # the folder finds it where both are moved together
            spec = f"{Path(os.path.relpath(path, folder)).as_posix()}{at}{name}"
        file.with_suffix(".py").write_text(_TASK.format(name=file.stem, original=spec), encoding="utf-8")
    return {called: counts}


def load_original(spec: str, folder: Path = Path()) -> Task:
    """Return a task by its name; a file is named from `folder`, and a module by its dotted name."""
    from inspect_ai._eval.loader import load_tasks

    path, at, name = spec.rpartition("@")
    if at and not path.endswith(".py"):
        module = find_spec(path)
        path = str(module.origin) if module is not None else path
    tasks = [] if spec.endswith(".py") else load_tasks([f"{folder / path}@{name}" if at else spec])
    if len(tasks) != 1:
        names = ", ".join(task.name for task in tasks) or f"{spec}@NAME"
        raise input_error("reword", "source", "name one task", got=spec, remedy=f"Such as {names}.")
    return tasks[0]


def question_of(sample: Sample) -> Question:
    """Return what a sample asks, offers and accepts."""
    targets = [sample.target] if isinstance(sample.target, str) else sample.target
    return Question(asked_text(sample), sample.choices or [], targets)


def asked_text(sample: Sample) -> str:
    """Return a sample's text, or of several messages the last one of the user."""
    if isinstance(sample.input, str):
        return sample.input
    return next((message.text for message in reversed(sample.input) if message.role == "user"), "")


def with_text(sample: Sample, text: str) -> str | list[ChatMessage]:
    """Return a sample's input with another text where `asked_text` found it."""
    if isinstance(sample.input, str):
        return text
    messages: list[ChatMessage] = deepcopy(sample.input)
    next(message for message in reversed(messages) if message.role == "user").text = text
    return messages
