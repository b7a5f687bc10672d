"""Runs the tasks that ``paraconsist reword`` writes, in inspect_ai (tried with 0.3.285).

Samples of wording 0 are the original's own, with their ids; solver, scorer, examples and settings are the task's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspect_ai import Task, task_with
from inspect_ai._eval.task.task import resolve_scorer_metrics
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer._scorer import scorer_metrics

from paraconsist.plugins.inspect_ai import original
from paraconsist.transforms.reworded_questions import input_of, load_original, question_of
from paraconsist.transforms.reworded_tasks import ADDED, WordingRow, read_wordings


def reworded(file: str, spec: str, **parameters: object) -> Task:
    """Return the task `spec`, named from the folder of `file`, with the wordings that stand beside that.

    `parameters` are the original's; they must leave its samples as they are.
    """
    place = Path(file)
    task = load_original(spec, place.parent, **parameters)
    samples = [*task.dataset]
    rows = read_wordings(place.with_suffix(".jsonl"))
    for row in rows:
        number, answer = row["question"], row.get("answer")
        of_row = row.get("text"), row.get("options"), [answer] if isinstance(answer, str) else answer
        if number >= len(samples) or (not row["wording"] and of_row != question_of(samples[number])):
            remedy = "They changed since, or the task shuffles them without a seed: write the folder again."
            raise PrerequisiteError(f"{place.stem}: sample {number + 1} of {spec} is another one. {remedy}")
    dataset = MemoryDataset([_sample(samples[row["question"]], row) for row in rows], name=task.dataset.name)
    for scorer in task.scorer or ():
        resolve_scorer_metrics([scorer], _beside(scorer_metrics(scorer)))
    return task_with(task, dataset=dataset, metrics=_beside(task.metrics), name=place.stem)


def _sample(sample: Sample, row: WordingRow) -> Sample:
    """Return a sample in a wording; what the wording does not change is the sample's own."""
    added = {name: value for name, value in row.items() if name in ADDED}
    number = row["question"] + 1 if sample.id is None else sample.id
    changes: dict[str, Any] = {"metadata": {**(sample.metadata or {}), **added}, "id": number}
    if row["wording"]:
        changes |= {"id": f"{number} wording {row['wording']}", "input": input_of(sample, row)}
        changes |= {to: row[name] for name, to in (("options", "choices"), ("answer", "target")) if row.get(name)}  # type: ignore[literal-required]
    return sample.model_copy(update=changes)


def _beside(metrics: Any, keyed: bool = False) -> Any:
    """Return metrics with those of the originals after them; scorers may have them by keys of their values."""
    if isinstance(metrics, Mapping):
        return {key: _beside(of_key, keyed=True) for key, of_key in metrics.items()}
    if metrics is None:
        return None
    plain = [each for each in metrics if not isinstance(each, Mapping)]
    return [*(each if each in plain else _beside(each) for each in metrics), *([original(plain, keyed)] * bool(plain))]
