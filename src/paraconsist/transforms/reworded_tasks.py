"""Reworded tasks of lm-evaluation-harness: a folder that ``lm_eval --include_path`` reads (tried with 0.4.13).

For each task ``NAME_reworded.jsonl`` has a row for each wording of each question, and ``NAME_reworded.yaml`` is the
task, which `paraconsist.plugins.reworded` runs: the task's own prompts for wording 0, these rows for the others.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from itertools import islice
from math import factorial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import yaml

from paraconsist.data.options import option
from paraconsist.errors import InputError, first_line, input_error
from paraconsist.files import Json, staged, to_json, write_text
from paraconsist.transforms.paraphrase.kept import is_in_another, language_of
from paraconsist.transforms.rewording import (
    KINDS,
    NAMES_LABELS,
    WRITTEN,
    Answer,
    Prompt,
    RewordingKind,
    common_descriptors,
    reorder,
    reworded,
    settled,
    with_written,
)

if TYPE_CHECKING:
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.tasks import TaskManager

    from paraconsist.transforms.paraphrase.generators import Generator, GeneratorSettings
    from paraconsist.transforms.paraphrase.refining import Judge, Refined

#: What a reworded task's documents have beside their own fields; logs carry it.
ADDED = ("bucket_id", "role", "wording", "kind", "original_options", "gold_option")
ORIGINAL = "original"
#: What the names of reworded tasks end with.
SUFFIX = "_reworded"
_FEWEST = 3  # wordings of a question: P_C needs two


#: Adds to prompts what a model writes.
Write: TypeAlias = Callable[[list[Prompt]], list[Prompt]]


class WordingRow(TypedDict, total=False):
    """A wording of a question; what the kind leaves as it is may be absent."""

    question: int  # its place in the task's documents
    bucket_id: str
    role: str
    wording: int  # 0 is the original; the others mean the same kind and variant for every question
    kind: str
    variant: int
    text: str
    options: list[str]  # what is scored; contexts, where the task scores one answer after several of them
    answer: Answer
    original_options: list[str]  # where options moved or have other labels: what the original calls each
    gold_option: int  # where options are contexts, of which the harness logs no right one
    shots: list[int]  # where solved examples moved: the old place of each


class About(TypedDict):
    """What a reworded task's YAML says of its making."""

    yaml: str  # the original's file
    seed: int
    descriptors: dict[str, int]  # of its template


@dataclass(frozen=True)
class RewordOptions:
    """Which wordings are made."""

    kinds: str | None = option(None, "Kinds, with commas between (`list --kinds`); by default all but wordnet.")
    per_kind: int = option(1, "Wordings of each kind; more where a question has fewer than three.", min=1, max=3)
    limit: int | None = option(None, "Only the first questions of each task.", min=1)
    seed: int = option(0, "Random seed of orders, and of a generator.", min=0)
    generator: str | None = option(
        None, "For the kind generated: a model's folder or Hub id, or name behind --endpoint, or module:function."
    )
    check: str | None = option(None, "Keep what means the same: nli:MODEL, plui:MODEL, judge:FILE (YAML), similar.")

    def chosen(self) -> list[RewordingKind]:
        """Return the kinds in the catalogue's order; InputError for an unknown name, with the nearest one."""
        names = None if self.kinds is None else self.kinds.replace(" ", "").split(",")
        for name in names or ():
            if name not in KINDS:
                near = "".join(f"Did you mean {other}?" for other in get_close_matches(name, KINDS, 1))
                raise input_error("reword", "kinds", f"be one of {', '.join(KINDS)}", got=name, remedy=near)
        if names is not None and (self.generator is None) == (WRITTEN in names):
            must = f"be given for the kind {WRITTEN}, and only for it"
            raise input_error("reword", "generator", must, got=self.generator)
        usual = {kind.name for kind in KINDS.values() if kind.default or (kind.name == WRITTEN and self.generator)}
        return [kind for kind in KINDS.values() if kind.name in (usual if names is None else names)]


@dataclass
class Writer:
    """Puts questions in other words: a generator of candidates, and a check of their meaning."""

    generator: Generator
    settings: GeneratorSettings
    check: Judge | None = None
    say: Callable[[Refined], object] = lambda _: None  # is told what was kept of each task, and left out

    def __call__(self, prompts: Sequence[Prompt]) -> list[Prompt]:
        """Return the prompts with what was written for them."""
        from paraconsist.transforms.paraphrase.refining import refine

        asked = [*dict.fromkeys(prompt.asked for prompt in prompts if prompt.asked)]
        refined = refine(asked, self.generator, self.settings, self.check)
        self.say(refined)
        return [with_written(each, refined.accepted.get(each.asked, ())) for each in prompts]


@contextmanager
def opened(name: str) -> Iterator[None]:
    """Turn errors of the Hub, of datasets and of the task's own code into one about the source."""
    try:
        yield
    except InputError:
        raise
    except Exception as problem:
        must, remedy = "be a task whose data can be loaded", f"{type(problem).__name__}: {first_line(problem)}"
        raise input_error("reword", "source", must, got=name, remedy=remedy) from problem


def wordings(
    prompts: Sequence[Prompt], options: RewordOptions, invalid: Collection[str], n_shots: int, contexts: bool = False
) -> Iterator[WordingRow]:
    """Yield each question's original and its wordings; more than `per_kind` of a kind where they are too few.

    Kinds that are `invalid`, or English where the questions, or this one, are not, make none. With `contexts` options
    are contexts of one answer, and each has the question's text in it. `n_shots` solved examples have n! - 1 other
    orders.
    """
    is_english = language_of(" ".join(part for prompt in prompts[:50] for part in prompt.words)) in ("en", None)
    kinds = [kind for kind in options.chosen() if kind.name not in invalid and (is_english or not kind.english)]
    plan = [(v, kind) for v in range(3) for kind in kinds if v < (len(kind.variants) or factorial(n_shots) - 1)]
    for question, prompt in enumerate(settled(prompts)):
        first = WordingRow(question=question, bucket_id=str(question), role=ORIGINAL, wording=0, kind=ORIGINAL)
        if isinstance(prompt.answer, int) and contexts:
            first["gold_option"] = prompt.answer
        known = WordingRow(text=prompt.text, options=[*prompt.options], answer=prompt.answer)
        yield first if contexts else {**first, **known}
        seen, n, is_foreign = {(prompt.text, prompt.options)}, 0, is_in_another(" ".join(prompt.words), "en")
        for wording, (variant, kind) in enumerate(plan, start=1):
            if variant >= options.per_kind and n >= _FEWEST:
                break
            if kind.english and is_foreign:
                continue
            row: WordingRow = {**first, "role": "paraphrase", "wording": wording, "kind": kind.name, "variant": variant}
            new = reworded(prompt, kind.name, variant, f"{options.seed}/{question}") if kind.variants else prompt
            if new is None or (kind.variants and (new.text, new.options) in seen):
                continue
            seen.add((new.text, new.options))
            if contexts:
                before = new.text.removesuffix(prompt.text)
                row["options"] = [before + context for context in prompt.options]
            elif kind.variants:
                row["text"] = new.text
            if not kind.variants:  # the harness changes the prompt
                row["shots"] = reorder(n_shots, Random(f"{options.seed}/{question}"), variant)
            if kind.moves_key:
                row |= {"options": [*new.options], "answer": new.answer, "original_options": [*new.originals]}
            n += 1
            yield row


def write_rows(
    file: Path,
    rows: Sequence[Mapping[str, object]],
    options: RewordOptions,
    invalid: Mapping[str, str],
    all_kinds: bool = True,
) -> Counter[str]:
    """Write wordings as JSON Lines; return their number by kind.

    InputError if there is none, or, with `all_kinds`, none of a kind that the user named; `invalid` may say why.
    """
    counts, name = Counter(str(row["kind"]) for row in rows), file.stem.removesuffix(SUFFIX)
    absent = [kind for kind in options.chosen() if not counts[kind.name]]
    if absent and (len(counts) == 1 or (options.kinds is not None and all_kinds)):
        remedy = invalid.get(absent[0].name) or f"{absent[0].name} is for {absent[0].tasks}."
        raise input_error("reword", "kinds", f"be valid for {name}", got=absent[0].name, remedy=remedy)
    write_text(file, "".join(f"{to_json(row, indent=None)}\n" for row in rows))
    return counts


def read_wordings(file: Path) -> list[WordingRow]:
    """Read what `write_rows` wrote, of which people may have deleted rows; texts may have separators of lines."""
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def reword_lm_eval(
    name: str, folder: Path, options: RewordOptions, include_path: Path | None = None, write: Write = list
) -> dict[str, Counter[str]]:
    """Write a task, or all of a group or tag, reworded; return each task's number of wordings by kind.

    `write` adds what a model writes. InputError if there is no such task, its data cannot be loaded, it has no prompt
    (perplexity), or no kind applies.
    """
    manager = task_manager(include_path)
    if name not in manager.all_tasks:
        near = get_close_matches(name, manager.all_tasks, 1)
        remedy = f"Did you mean lm-eval:{near[0]}?" if near else "`lm_eval ls tasks` lists them."
        raise input_error("reword", "source", "name a task of lm-eval", got=f"lm-eval:{name}", remedy=remedy)
    with opened(name):
        loaded = manager.load(name)
    done: dict[str, Counter[str]] = {}
    with staged(folder) as place:
        for task_name, task in loaded["tasks"].items():
            prompts, invalid = write(_prompts(task, options.limit)), _invalid(task)
            rows = [*wordings(prompts, options, invalid, task.config.num_fewshot or 0, task.multiple_input)]
            file, is_one = place / f"{task_name}{SUFFIX}.jsonl", len(loaded["tasks"]) == 1
            done[task_name] = write_rows(file, rows, options, invalid, is_one)
            if task_name not in manager.task_index:
                must, remedy = "be of tasks with files of their own", "Its group defines it: move it into a file."
                raise input_error("reword", "source", must, got=task_name, remedy=remedy)
            path = manager.task_index[task_name].yaml_path.resolve()
            if path.is_relative_to(_tasks_folder()):  # which may be elsewhere on another machine
                path = path.relative_to(_tasks_folder())
            about = About(yaml=path.as_posix(), seed=options.seed, descriptors={**prompts[0].descriptors})
            write_text(file.with_suffix(".yaml"), _task_yaml(task_name, task, about))
        for name, children in loaded.get("group_map", {}).items():
            aggregates = loaded["groups"][name].aggregate_metric_list or ()
            group = {"group": f"{name}{SUFFIX}", "task": [f"{child}{SUFFIX}" for child in children]}
            group["aggregate_metric_list"] = [vars(each) for each in aggregates if isinstance(each.aggregation, str)]
            write_text(place / f"{name.replace('::', '_')}{SUFFIX}.yaml", yaml.safe_dump(group, sort_keys=False))
    return done


def task_manager(include_path: Path | None) -> TaskManager:
    """Return lm-eval's index of tasks: its own, which takes some 10 s to read, and those in a folder."""
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    from lm_eval import tasks

    return tasks.TaskManager(include_path=include_path)


def _prompts(task: ConfigurableTask, limit: int | None) -> list[Prompt]:
    """Return the prompts of a task's questions."""
    docs = [*islice(task.eval_docs, limit)]
    if taken := sorted({*ADDED} & set(docs[0])):
        must = f"have documents without the fields {', '.join(ADDED)}, which wordings bring"
        raise input_error("reword", "source", must, got=taken)
    prompts = [_prompt(task, doc) for doc in docs]
    if task.OUTPUT_TYPE == "loglikelihood_rolling" or not any(prompt.text.strip() for prompt in prompts):
        remedy = "It scores whole texts, as perplexity does: reworded, these are other texts."
        raise input_error("reword", "source", "have a prompt", got=task.task_name, remedy=remedy)
    until = (task.config.generation_kwargs or {}).get("until", ()) if task.OUTPUT_TYPE == "generate_until" else ()
    stops = [until] if isinstance(until, str) else until
    descriptors = common_descriptors((prompt.text for prompt in prompts), stops)
    return [replace(prompt, descriptors=descriptors) for prompt in prompts]


def _prompt(task: ConfigurableTask, doc: Json) -> Prompt:
    """Return a document as the task puts it; where options are contexts, the first, and the place of the right one."""
    options = tuple(map(str, task.doc_to_choice(doc))) if task.config.doc_to_choice is not None else ()
    text = task.doc_to_text(doc)
    if task.multiple_input:
        return Prompt(options[0], options, text)
    answer = task.doc_to_target(doc)
    texts = {part.strip(): text.count(part.strip()) for part in doc.values() if isinstance(part, str)}
    parts = [part for part, n in texts.items() if n == 1 and len(part.split()) > 2]
    words = tuple(part for part in parts if not any(part in other and part != other for other in parts))
    return Prompt(text, options, answer if isinstance(answer, (int, str, list)) else None, words)


def _invalid(task: ConfigurableTask) -> dict[str, str]:
    """Return the kinds that are invalid for a task, whatever its questions; the catalogue says why."""
    from lm_eval.api.task import ConfigurableTask

    config = task.config
    steps = [step["function"] for each in config.filter_list or () for step in each["filter"]]
    reads_document = config.process_results is not None or any(map(callable, steps)) or "multi_choice_regex" in steps
    has_key = (task.OUTPUT_TYPE, config.doc_to_choice is None) in (("multiple_choice", False), ("generate_until", True))
    is_fixed = reads_document or not has_key or type(task).process_results is not ConfigurableTask.process_results
    names = {kind.name for kind in KINDS.values() if is_fixed and kind.moves_key}
    names |= KINDS.keys() - {"instruction", "shot_order"} if task.multiple_input else set()
    described = str(config.description)
    is_named = config.doc_to_choice is None or "letter" in described or NAMES_LABELS.search(described)
    return dict.fromkeys({*names, "option_labels"} if is_named else names, "")


def _tasks_folder() -> Path:
    from lm_eval import tasks

    return Path(tasks.__file__).resolve().parent


def original_config(about: About) -> Json:
    """Return the configuration of the task that was reworded, read from its YAML."""
    from lm_eval.tasks._yaml_loader import load_yaml

    config = load_yaml(_tasks_folder() / about["yaml"])
    return {key: value for key, value in config.items() if key not in ("tag", "group", "task_list")}


def _task_yaml(name: str, task: ConfigurableTask, about: About) -> str:
    """Return the YAML of a reworded task: the class that runs it, what it is of, and what a group sets for it."""
    from lm_eval.config.task import TaskConfig

    config = original_config(about)
    own = task.config if "class" in config else TaskConfig(**config)
    named = {each.name for each in fields(TaskConfig)} - {"task", "metadata", "fewshot_config"}
    changed = _changed(task.config, own, sorted(named))
    if shots := _changed(task.config.fewshot_config, own.fewshot_config, vars(own.fewshot_config)):
        changed["fewshot_config"] = shots
    about_it = {name: value for name, value in (task.config.metadata or {}).items() if name != "config_source"}
    called = yaml.safe_dump({"task": f"{name}{SUFFIX}"}) + "class: !function paraconsist.plugins.reworded.Reworded\n"
    try:
        metadata = {"version": 0, **about_it, "reworded": about}
        return called + yaml.safe_dump({**changed, "metadata": metadata}, sort_keys=False)
    except yaml.representer.RepresenterError:
        must, remedy = "have its functions in its own file", "Its group sets one: move that into the task's file."
        raise input_error("reword", "source", must, got=name, remedy=remedy) from None


def _changed(settings: object, own: object, names: Iterable[str]) -> dict[str, object]:
    """Return the settings of a group for its task that are not the task's own, of which partials are copies."""
    values = {name: getattr(settings, name) for name in names}
    return {name: value for name, value in values.items() if repr(value) != repr(getattr(own, name))}
