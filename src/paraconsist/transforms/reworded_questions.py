"""Questions whose choices something else lists, reworded: tasks of inspect_ai (tried with 0.3.285).

``NAME_reworded.jsonl`` has a row for each wording of each question, and ``NAME_reworded.py`` is the task, which
`paraconsist.plugins.reworded_inspect` runs: the task's own samples for wording 0, these rows for the others.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from importlib import import_module
from importlib.resources import files
from itertools import islice
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, TypeAlias

from paraconsist.data.prompts import asked, by_bucket, offered
from paraconsist.data.prompts import reworded as with_wording
from paraconsist.data.tasks import QUESTIONS
from paraconsist.errors import input_error
from paraconsist.files import Json, staged
from paraconsist.transforms.labelled_sets import load_rows
from paraconsist.transforms.perturbation import RowOptions
from paraconsist.transforms.reworded_tasks import (
    ADDED,
    SUFFIX,
    RewordOptions,
    WordingRow,
    Write,
    opened,
    wordings,
    write_rows,
)
from paraconsist.transforms.rewording import Prompt, common_descriptors, listing, sentences

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessage

#: inspect_ai's scorers that read the right answer in the target, as a letter where there are choices.
_SCORERS = {f"inspect_ai/{name}" for name in ("answer", "choice", "exact", "includes", "match", "pattern")}
_ANY_LABEL = ("exact", "generate", "match")  # solver and scorers that have no labels of their own
#: Kind -> why a task of inspect_ai, or a table, cannot have it.
_REFUSED = {
    "option_order": "Its scorer, which is not inspect_ai's own, may know the right place from elsewhere.",
    "option_labels": "Its samples must list their options, for generate() and match or exact: others name A, B, ...",
    "shot_order": "It must have two or more solved examples, the same turns in all samples: others are the solver's.",
}
_BY_RUN = {"option_labels": "`run` labels choices A, B, ... itself.", "shot_order": "A table has no solved examples."}
#: What a question asks, offers and accepts.
Question: TypeAlias = tuple[str, list[str], list[str]]


def question_rows(
    questions: Sequence[Question],
    options: RewordOptions,
    invalid: Mapping[str, str],
    n_shots: int = 0,
    write: Write = list,
) -> list[WordingRow]:
    """Return the wordings of questions; what all of them have alike is their template, and keeps its words.

    `write` adds what a model writes.
    """
    own = [sentences(text) for text, _, _ in questions]
    alike = set.intersection(*map(set, own)) if len(own) > 1 else set()
    descriptors, prompts = common_descriptors(text for text, _, _ in questions), []
    for (text, choices, accepted), of_text in zip(questions, own, strict=True):
        words = tuple(each for each in of_text if each not in alike) if alike & {*of_text} else (text,)
        answer = accepted[0] if len(accepted) == 1 and not choices else accepted
        prompts.append(Prompt(text, (*choices,), answer, words, descriptors, is_unlisted=bool(choices)))
    return [*wordings(write(prompts), options, invalid, n_shots)]


def reword_inspect(spec: str, folder: Path, options: RewordOptions, write: Write = list) -> dict[str, Counter[str]]:
    """Write a task of inspect_ai, reworded; return its number of wordings by kind.

    `spec` is a file or module with a task's name after ``@``, a registered name, or ``hf/ORG/SET``. InputError if the
    task cannot be loaded, has no samples with a text, or no kind applies.
    """
    with opened(spec):
        task = load_original(spec)
        samples = [*islice(task.dataset, options.limit)]
    questions = [question_of(sample) for sample in samples]
    if not any(text.strip() for text, _, _ in questions):
        raise input_error("reword", "source", "have samples that ask something", got=spec)
    if taken := {*ADDED}.intersection(name for sample in samples for name in sample.metadata or ()):
        must = f"have samples without the metadata {', '.join(ADDED)}, which wordings bring"
        raise input_error("reword", "source", must, got=sorted(taken))
    invalid = _invalid(task, samples)
    rows = question_rows(questions, options, invalid, len(shots_of(samples[0])) // 2, write)
    called = re.sub(r"\W|^(?=\d)", "_", task.name.rpartition("/")[2])
    with staged(folder) as place:
        file = place / f"{called}{SUFFIX}.jsonl"
        counts = write_rows(file, rows, options, invalid)
        path, at, name = spec.rpartition("@")
        if Path(path).is_file():  # the folder finds it where both are moved together
            spec = f"{Path(os.path.relpath(path, folder)).as_posix()}{at}{name}"
        module = files("paraconsist.transforms").joinpath("reworded_task.txt").read_text(encoding="utf-8")
        file.with_suffix(".py").write_text(module.format(name=file.stem, original=spec), encoding="utf-8")
    return {called: counts}


def reword_table(
    spec: str, folder: Path, options: RewordOptions, reading: RowOptions, write: Write = list
) -> tuple[dict[str, Counter[str]], dict[str, str]]:
    """Write a table's questions, reworded, as a set of questions; return the wordings by kind, and which comparers fit.

    Of a question that has several wordings, the original is reworded. Where the table has choices, its accepted
    answers are texts, letters or places (from 0) of them; the set's are texts, which are the same in every order.
    """
    columns = re.sub(r"(^|,)answer=", r"\1expected=", ",".join(reading.columns))
    pairs = re.split(r",(?=\w+=)", columns) if columns else []
    reading = replace(reading, task=QUESTIONS.name, columns=pairs)
    rows = load_rows(spec, Counter(), reading)
    if "answer" in rows.table.column_names and not any(rows.table["label"].to_pylist()):
        rows = load_rows(spec, Counter(), replace(reading, columns=[*pairs, "expected=answer"]))
    originals = [group[0] for group in by_bucket(rows.table.to_pylist()).values()]
    choices = [each or [] for each in offered([row["choices"] for row in originals])]
    accepted = _texts([row["label"] or [] for row in originals], choices)
    questions = [*zip(map(asked, originals), choices, accepted, strict=True)][: options.limit]

    def labels_stay(prompts: list[Prompt]) -> list[Prompt]:
        """Keep options where they are if the key is a label in the text: `run` reads all answers by one listing."""
        labels = ([line[2] for line in listing(each.text)] for each in prompts)
        is_label = (str(each.answer).strip(" ().") in of for each, of in zip(prompts, labels, strict=True))
        return [replace(each, answer=[]) if is_it else each for each, is_it in zip(prompts, is_label, strict=True)]

    written: list[Json] = []
    for row in question_rows(questions, options, _BY_RUN, write=lambda prompts: write(labels_stay(prompts))):
        own, (_, listed, right) = originals[row["question"]], questions[row["question"]]
        texts = {name: with_wording(own, row["text"])[name] for name in QUESTIONS.columns}
        texts |= {"choices": row.get("options") or listed, "expected": right}
        named = {"bucket_id": own["bucket_id"], "role": row["role"], "wording": row["wording"], "kind": row["kind"]}
        written.append({**named, **{name: value for name, value in texts.items() if value}})
    with staged(folder) as place:
        file = place / f"{rows.file_name}{SUFFIX}.jsonl"
        counts = write_rows(file, written, options, _BY_RUN)
    return {rows.file_name: counts}, {**({"same": "choice"} if any(choices) else {}), **rows.comparers}


def _texts(accepted: Sequence[list[str]], choices: Sequence[list[str]]) -> list[list[str]]:
    """Return accepted answers, as texts of the choices where there are any.

    In the table they all are texts, all letters or all places: 2 alone may be a text or a place.
    """
    marks = [*ascii_uppercase], [*map(str, range(max(map(len, choices), default=0)))]
    ways = [[*choices], *([names[: len(listed)] for listed in choices] for names in marks)]
    wrong = [
        [row for row, (own, names) in enumerate(zip(accepted, way, strict=True)) if names and not {*own} <= {*names}]
        for way in ways
    ]
    if all(wrong):
        must, (row, *_) = "name all texts, all letters or all places (from 0) of the choices", min(wrong, key=len)
        raise input_error("reword", "columns", must, got=accepted[row], row=row)
    rows = zip(accepted, ways[wrong.index([])], choices, strict=True)
    return [[listed[names.index(each)] if names else each for each in own] for own, names, listed in rows]


def _invalid(task: Task, samples: Sequence[Sample]) -> dict[str, str]:
    """Return the kinds that are invalid for a task of inspect_ai, whatever its questions, each with the reason."""
    from inspect_ai._util.registry import registry_info

    asking = task.solver if isinstance(task.solver, Sequence) else [task.solver]
    scorers, solvers = ({registry_info(each).name for each in parts} for parts in (task.scorer or (), asking))
    is_listed = all(isinstance(sample.input, str) and not sample.choices for sample in samples)
    shots = {tuple(turn.text for turn in shots_of(sample)) for sample in samples}
    valid = {
        "option_order": scorers <= _SCORERS,
        "option_labels": is_listed and scorers | solvers <= {f"inspect_ai/{name}" for name in _ANY_LABEL},
        "shot_order": len(shots) == 1 < len(samples) and len(*shots) > 2,
    }
    return {kind: why for kind, why in _REFUSED.items() if not valid[kind]}


def load_original(spec: str, folder: Path = Path(), **parameters: object) -> Task:
    """Return a task by its name; a file is named from `folder`, and a module by its dotted name."""
    from inspect_ai._eval.loader import load_tasks
    from inspect_ai._util.registry import is_registry_object, registry_find, registry_info

    path, at, name = spec.rpartition("@")
    names = [] if spec.endswith(".py") else [f"{folder / path}@{name}" if at else spec]
    if at and not path.endswith(".py"):  # the name by which it is registered: its package's imports may be relative
        members = (each for each in vars(import_module(path)).values() if is_registry_object(each, "task"))
        names = [*{full for each in members if (full := registry_info(each).name).rpartition("/")[2] == name}]
    tasks = load_tasks(names, parameters) if names else []
    if len(tasks) != 1:
        package = re.split("[./]", spec)[0] + "/"
        found = registry_find(lambda info: info.type == "task" and info.name.startswith(package))
        known = [task.name for task in tasks] or sorted(registry_info(each).name for each in found)
        such = ", ".join(known) or (f"{spec}@NAME" if spec.endswith(".py") else "PACKAGE/TASK of an installed package")
        raise input_error("reword", "source", "name one task", got=spec, remedy=f"Such as {such}.")
    return tasks[0]


def question_of(sample: Sample) -> Question:
    """Return what a sample asks, offers and accepts; of several messages the last one of the user asks."""
    text = sample.input
    if not isinstance(text, str):
        text = next((message.text for message in reversed(text) if message.role == "user"), "")
    return text, sample.choices or [], [sample.target] if isinstance(sample.target, str) else sample.target


def shots_of(sample: Sample) -> list[ChatMessage]:
    """Return the solved examples before a question, turns of the user and the assistant; [] if there are none."""
    turns = [] if isinstance(sample.input, str) else [turn for turn in sample.input[:-1] if turn.role != "system"]
    return turns if [turn.role for turn in turns] == ["user", "assistant"] * (len(turns) // 2) else []


def input_of(sample: Sample, row: WordingRow) -> str | list[ChatMessage]:
    """Return a sample's input in a wording: another text where `question_of` found it, or examples in another order."""
    if isinstance(sample.input, str):
        return row.get("text", sample.input)
    messages: list[ChatMessage] = deepcopy(sample.input)
    if row.get("text", question_of(sample)[0]) != question_of(sample)[0]:  # a message in parts keeps them
        next(message for message in reversed(messages) if message.role == "user").text = row["text"]
    turns = shots_of(sample)
    moved = (turns[2 * i + k] for i in row.get("shots", range(len(turns) // 2)) for k in (0, 1))
    return [next(moved, turn) if turn.role != "system" else turn for turn in messages]
