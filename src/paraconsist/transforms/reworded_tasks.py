"""Reworded tasks of lm-evaluation-harness: a folder that ``lm_eval --include_path`` reads (tried with 0.4.13).

For each task ``NAME_reworded.jsonl`` has a row for each wording of each question, and ``NAME_reworded.yaml`` is the
task, which `paraconsist.plugins.reworded` runs: the task's own prompts for wording 0, these rows for the others.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from paraconsist.data.options import option
from paraconsist.errors import InputError, first_line, input_error
from paraconsist.files import staged, to_json
from paraconsist.transforms.paraphrase.kept import language_of
from paraconsist.transforms.rewording import (
    KINDS,
    Answer,
    Prompt,
    RewordingKind,
    common_descriptors,
    named_kinds,
    reworded,
)

if TYPE_CHECKING:
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.tasks import TaskManager

#: What a reworded task's documents have beside their own fields; logs carry it.
ADDED = ("bucket_id", "role", "wording", "kind", "original_options", "gold_option")
ORIGINAL = "original"
_SUFFIX = "_reworded"
_MOST_VARIANTS = 3  # of a kind
_FEWEST = 3  # wordings of a question: P_C needs two
#: Keys of a task's YAML that the reworded task has of its own.
_OWN_KEYS = ("task", "metadata", "dataset_kwargs", "fewshot_config")


class WordingRow(TypedDict, total=False):
    """A wording of a question; what the kind leaves as it is may be absent."""

    question: int  # its place in the task's documents
    bucket_id: str
    wording: int  # 0 is the original; the others mean the same kind and variant for every question
    kind: str
    variant: int
    text: str
    options: list[str]  # what is scored; contexts, where the task scores one answer after several of them
    answer: Answer
    original_options: list[str]  # where options moved or have other labels: what the original calls each
    gold_option: int  # where options are contexts, of which the harness logs no right one


class Description(TypedDict):
    """What the YAML of a reworded task says of it, under ``metadata: reworded``."""

    yaml: str  # the original task's, from lm-eval's folder of tasks or absolute
    rows: str
    seed: int
    descriptors: dict[str, int]


@dataclass(frozen=True)
class RewordOptions:
    """Which wordings are made."""

    kinds: str | None = option(
        None, "Kinds of rewording, with commas between (`paraconsist list --kinds`); by default all but wordnet."
    )
    per_kind: int = option(
        1, "Wordings of each kind; more where a question would have fewer than three in all.", min=1, max=_MOST_VARIANTS
    )
    columns: str | None = option(
        None, "Fields of the documents whose text the rules of language may change; by default any in the prompt."
    )
    limit: int | None = option(None, "Only the first questions of each task.", min=1)
    seed: int = option(0, "Random seed of orders.", min=0)

    def chosen(self) -> list[RewordingKind]:
        """Return the kinds; InputError for an unknown name."""
        return named_kinds(self.kinds.replace(" ", "").split(",") if self.kinds is not None else None)


@dataclass(frozen=True)
class RewordedTask:
    """A task as it was written: its name, its numbers of questions and of wordings by kind."""

    name: str
    n_questions: int
    counts: Mapping[str, int]
    shots: int


def reword_lm_eval(
    name: str, folder: Path, options: RewordOptions, *, include_path: Path | None = None
) -> list[RewordedTask]:
    """Write a task, or all of a group or tag, reworded; return what was written, task by task.

    Raises
    ------
    InputError
        If there is no such task, its data cannot be loaded, it has no prompt (perplexity), or no kind applies.
    """
    kinds = options.chosen()
    manager = task_manager(include_path)
    if name not in manager.all_tasks:
        near = get_close_matches(name, manager.all_tasks, 1)
        remedy = f"Did you mean lm-eval:{near[0]}?" if near else "`lm_eval ls tasks` lists them."
        raise input_error("reword", "source", "name a task of lm-eval", got=f"lm-eval:{name}", remedy=remedy)
    try:
        loaded = manager.load(name)
    except InputError:
        raise
    except Exception as problem:  # of the Hub, of datasets, of the task's own code
        must, remedy = "be a task whose data can be loaded", f"{type(problem).__name__}: {first_line(problem)}"
        raise input_error("reword", "source", must, got=name, remedy=remedy) from problem
    done = []
    with staged(folder) as place:
        for task_name, task in loaded["tasks"].items():
            entry = manager.task_index[task_name]
            made = _TaskWordings(task, kinds, options, several=len(loaded["tasks"]) > 1)
            rows = list(made.rows())
            done.append(made.checked(rows))
            stem = f"{_file_name(task_name)}{_SUFFIX}"
            about = Description(
                yaml=_portable(entry.yaml_path), rows=f"{stem}.jsonl", seed=options.seed, descriptors=made.descriptors
            )
            lines = "".join(f"{to_json(row, indent=None)}\n" for row in rows)
            (place / about["rows"]).write_text(lines, encoding="utf-8")
            (place / f"{stem}.yaml").write_text(_yaml_of(task_name, task, about, entry.yaml_path), encoding="utf-8")
        for group, children in loaded.get("group_map", {}).items():
            text = _group_yaml(group, children, loaded["groups"][group].aggregate_metric_list)
            (place / f"{_file_name(group)}{_SUFFIX}.yaml").write_text(text, encoding="utf-8")
    return done


def task_manager(include_path: Path | None = None) -> TaskManager:
    """Return lm-eval's index of tasks: its own, which takes some 10 s to read, and those in a folder."""
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    from lm_eval import tasks

    return tasks.TaskManager(include_path=include_path)


class _TaskWordings:
    """The wordings of one task's questions."""

    def __init__(
        self, task: ConfigurableTask, kinds: Sequence[RewordingKind], options: RewordOptions, *, several: bool
    ) -> None:
        config = task.config
        if task.OUTPUT_TYPE == "loglikelihood_rolling":
            must = "have a prompt"
            remedy = "Its measure is perplexity, which is of a whole text: reworded, it is another text."
            raise input_error("reword", "source", must, got=task.task_name, remedy=remedy)
        self.task, self.kinds, self.options, self.several = task, kinds, options, several
        docs = [*islice(task.eval_docs, options.limit)]
        if taken := sorted({*ADDED} & set(docs[0])):
            must = f"have documents without the fields {', '.join(ADDED)}, which wordings bring"
            raise input_error("reword", "source", must, got=taken)
        columns = options.columns.split(",") if options.columns else None
        if missing := [column for column in columns or () if column not in docs[0]]:
            must = f"be fields of {task.task_name}: {', '.join(docs[0])}"
            raise input_error("reword", "columns", must, got=missing[0])
        self.has_contexts = bool(task.multiple_input)  # one context an option, and no prompt of their own
        self.gold = [int(task.doc_to_text(doc)) for doc in docs] if self.has_contexts else []
        self.prompts = [task_prompt(task, doc, columns) for doc in docs]
        stops = [*(config.generation_kwargs or {}).get("until", ())] if task.OUTPUT_TYPE == "generate_until" else []
        self.descriptors = common_descriptors((prompt.text for prompt in self.prompts), stops)
        self.n_shots = config.num_fewshot or 0
        sample = " ".join(part for prompt in self.prompts[:50] for part in prompt.words)
        self.is_english = language_of(sample) in ("en", None)

    def _may(self, kind: RewordingKind) -> bool:
        """Say whether a kind is valid for the task; whether it is for a question its variants say."""
        if self.has_contexts:
            return kind.name in ("instruction", "shot_order")
        if kind.english and not self.is_english:
            return False
        return not kind.moves_key or _scores_by_key(self.task)

    def rows(self) -> Iterator[WordingRow]:
        """Yield each question's original and its wordings; more than `per_kind` of a kind where they are too few."""
        kinds = [kind for kind in self.kinds if self._may(kind)]
        plan = [
            (kind, variant)
            for variant in range(_MOST_VARIANTS)
            for kind in kinds
            if variant < (len(kind.variants) or (_MOST_VARIANTS if self.n_shots > 1 else 0))
        ]
        for question, prompt in enumerate(self.prompts):
            first = WordingRow(question=question, bucket_id=str(question), wording=0, kind=ORIGINAL)
            if self.has_contexts:
                first["gold_option"] = self.gold[question]
            yield first if self.has_contexts else {**first, "text": prompt.text}
            seen, n = {(prompt.text, prompt.options)}, 0
            for wording, (kind, variant) in enumerate(plan, start=1):
                if variant >= self.options.per_kind and n >= _FEWEST:
                    break
                row: WordingRow = {**first, "wording": wording, "kind": kind.name, "variant": variant}
                changes = self._changes(replace(prompt, descriptors=self.descriptors), row, seen)
                if changes is not None:
                    n += 1
                    yield {**row, **changes}  # type: ignore[typeddict-item]

    def _changes(
        self, prompt: Prompt, row: WordingRow, seen: set[tuple[str, tuple[str, ...]]]
    ) -> Mapping[str, object] | None:
        """Return what a wording changes; None where nothing, or what another wording did."""
        kind = KINDS[row["kind"]]
        if not kind.variants:  # the order of examples, which the task changes when it draws them
            return {}
        new = reworded(prompt, kind.name, row["variant"], f"{self.options.seed}/{row['question']}")
        if new is None or (new.text, new.options) in seen:
            return None
        seen.add((new.text, new.options))
        if self.has_contexts:
            before = new.text.removesuffix(prompt.text)
            return {"options": [before + context for context in prompt.options]}
        if not kind.moves_key:
            return {"text": new.text}
        moved = {"options": [*new.options], "answer": new.answer, "original_options": [*new.originals]}
        return {"text": new.text, **moved}

    def checked(self, rows: Iterable[WordingRow]) -> RewordedTask:
        """Return what the rows are; InputError if a kind was named that none of them has."""
        counts = Counter(row["kind"] for row in rows)
        name, kinds = self.task.task_name, self.options.chosen()
        if len(counts) == 1 or (self.options.kinds is not None and not self.several):
            absent = [kind for kind in kinds if not counts[kind.name]]
            if absent:
                remedy = f"{absent[0].name} is for {absent[0].tasks}."
                raise input_error("reword", "kinds", f"be valid for {name}", got=absent[0].name, remedy=remedy)
        return RewordedTask(name, counts.pop(ORIGINAL), counts, self.n_shots)


def task_prompt(task: ConfigurableTask, doc: Mapping[str, Any], columns: Sequence[str] | None = None) -> Prompt:
    """Return a document as the task puts it, without what the task does to every prompt (examples, description)."""
    options = tuple(task.doc_to_choice(doc)) if task.config.doc_to_choice is not None else ()
    answer = task.doc_to_target(doc)
    if not isinstance(answer, (int, str, list)):
        answer = None
    if task.multiple_input:
        return Prompt(options[0], options, answer)
    text = task.doc_to_text(doc)
    fields = doc if columns is None else {name: doc[name] for name in columns}
    parts = sorted((part for part in _texts(fields) if text.count(part) == 1), key=len, reverse=True)
    words: list[str] = []
    for part in parts:
        if not any(part in longer for longer in words):
            words.append(part)
    return Prompt(text, options, answer, tuple(words))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str) and len(value.split()) > 2:
        yield value.strip()
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)


def _scores_by_key(task: ConfigurableTask) -> bool:
    """Say whether the verdict follows from the answer key alone, not from the document's own fields."""
    from lm_eval.api.task import ConfigurableTask

    is_own = type(task).process_results is not ConfigurableTask.process_results
    steps = [step["function"] for each in task.config.filter_list or () for step in each["filter"]]
    reads_document = any(callable(step) or step == "multi_choice_regex" for step in steps)
    return task.config.process_results is None and not is_own and not reads_document


def _tasks_folder() -> Path:
    from lm_eval import tasks

    return Path(tasks.__file__).parent


def _portable(path: Path) -> str:
    """Return where a task's YAML is: in lm-eval's folder of tasks, which may be elsewhere on another machine."""
    folder = _tasks_folder().resolve()
    path = path.resolve()
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def original_config(about: Description) -> dict[str, Any]:
    """Return the configuration of the task that was reworded, read from its YAML."""
    from lm_eval.tasks._yaml_loader import load_yaml

    path = _tasks_folder() / about["yaml"]
    if not path.is_file():
        remedy = "Install the version of lm-eval that it was written with, or write it again."
        raise input_error("lm_eval", "yaml", "be the original task's file", got=str(path), remedy=remedy)
    config: dict[str, Any] = load_yaml(path)
    return {key: value for key, value in config.items() if key not in ("tag", "group", "task_list")}


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)


def _yaml_of(name: str, task: ConfigurableTask, about: Description, path: Path) -> str:
    """Return the YAML of a reworded task: the class that runs it, what it is of, and what a group sets for it."""
    import yaml
    from lm_eval.config.task import TaskConfig

    config = original_config(about)
    changed: dict[str, object] = {}
    if "class" not in config:
        own = TaskConfig(**config)
        for each in fields(TaskConfig):
            value = getattr(task.config, each.name)
            is_plain = not callable(value) and each.name not in _OWN_KEYS
            if is_plain and value != getattr(own, each.name):
                changed[each.name] = value
    metadata = {"version": (task.config.metadata or {}).get("version", 0), "reworded": dict(about)}
    rest = yaml.safe_dump({**changed, "metadata": metadata}, allow_unicode=True, sort_keys=False)
    called = yaml.safe_dump({"task": f"{name}{_SUFFIX}"})
    return f"{called}class: !function paraconsist.plugins.reworded.Reworded\n{rest}"


def _group_yaml(name: str, children: Sequence[str], aggregates: Sequence[Any] | None) -> str:
    import yaml

    group: dict[str, object] = {"group": f"{name}{_SUFFIX}", "task": [f"{child}{_SUFFIX}" for child in children]}
    plain = [vars(each) for each in aggregates or () if isinstance(each.aggregation, str)]
    if plain:
        group["aggregate_metric_list"] = plain
    return str(yaml.safe_dump(group, allow_unicode=True, sort_keys=False))
