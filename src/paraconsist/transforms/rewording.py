"""Rewording of benchmarks' prompts: each kind changes how a question is put, and never what is right.

`KINDS` is the catalogue, from ``rewordings.yaml``: what a kind changes and keeps, for which tasks it is valid, and
where it comes from. A kind has variants, functions from a `Prompt` to a reworded one, or to None where the prompt gives
it nothing to change. Options' texts, accepted answers, code, numbers and formulas stay as they are; where options move,
the answer key does.

Tasks of lm-evaluation-harness (tried with 0.4.13) and inspect_ai (0.3.285), and tables, are written reworded. For each
task ``NAME_reworded.jsonl`` has a row for each wording of each question. Beside it ``NAME_reworded.yaml`` is the task
for ``lm_eval --include_path``, which `paraconsist.plugins.reworded` runs, or ``NAME_reworded.py`` that for inspect_ai,
which `paraconsist.plugins.reworded_inspect` runs: the task's own prompts or samples for wording 0, these rows for the
others.
"""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import partial, reduce
from importlib import import_module
from importlib.resources import files
from itertools import islice
from pathlib import Path
from random import Random
from string import ascii_uppercase
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import yaml

from paraconsist.data.foreign import parse_yaml
from paraconsist.data.options import option
from paraconsist.data.tasks import QUESTIONS
from paraconsist.errors import InputError, first_line, input_error
from paraconsist.files import Json, staged, to_json, write_text
from paraconsist.transforms.negation import NUMBERS
from paraconsist.transforms.paraphrase.kept import language_of, parts
from paraconsist.transforms.paraphrase.rules import contractions, exchanges, structures, wordnet_nouns
from paraconsist.transforms.perturbation import RowOptions

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessage
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.tasks import TaskManager

#: The place of the right option, its label or text, or several accepted ones.
Answer: TypeAlias = int | str | list[int] | list[str] | None


@dataclass(frozen=True)
class Prompt:
    """A question as its benchmark puts it."""

    text: str
    options: tuple[str, ...] = ()  # that are scored, such as labels or texts; () where the model writes its answer
    answer: Answer = None
    words: tuple[str, ...] = ()  # parts of `text` in the question's own words, which rules of language may change
    #: Words of the template before a colon at the beginning of a line -> how often the template has them.
    descriptors: Mapping[str, int] = field(default_factory=dict)
    originals: tuple[str, ...] = ()  # where options moved or have new labels: what the original calls each
    #: Are the options listed by the harness, below the text? Then `answer` is a list of letters, or texts, of options.
    is_unlisted: bool = False


Variant: TypeAlias = Callable[[Prompt, Random], "Prompt | None"]


@dataclass(frozen=True)
class RewordingKind:
    """A kind of rewording."""

    name: str
    title: str  # what it changes
    keeps: str
    tasks: str  # for which tasks it is valid
    source: str
    variants: tuple[Variant, ...]  # none where the harness makes the change itself, when it writes the prompt
    with_shots: bool = False  # are solved examples before the question reworded alike? Otherwise they are held.
    english: bool = False
    moves_key: bool = False  # then the task must score options or exact answers
    valid: list[int] | None = None  # how many variants a person found valid, of how many: docs/rewordings.md
    default: bool = True  # is it taken where no kinds are named?


#: Before a question, and before anything else.
_INSTRUCTIONS = (
    ("Please answer the question below.", "Please work on the item below."),
    ("Here is a question for you to answer.", "Here is the next item."),
    ("Read the following question, then give your answer.", "Read the following, then give your answer."),
)


def _instruction(prompt: Prompt, _: Random, *, number: int) -> Prompt:
    return replace(prompt, text=f"{_INSTRUCTIONS[number]['?' not in prompt.text]}\n{prompt.text}")


_DESCRIPTOR = re.compile(r"^([A-Z][A-Za-z ]{0,30}):(?=\s|\Z)", re.MULTILINE)


def common_descriptors(texts: Iterable[str], stops: Sequence[str] = ()) -> dict[str, int]:
    """Return the template's descriptors: those that all texts have, with the fewest occurrences; none in `stops`."""
    common = reduce(Counter.__and__, (Counter(_DESCRIPTOR.findall(text)) for text in texts))
    return {name: n for name, n in common.items() if not any(name in stop for stop in stops)}


def _descriptors(prompt: Prompt, _: Random, *, change: Callable[[re.Match[str]], str]) -> Prompt | None:
    """Change the template's descriptors; those that the question has, too, stay."""
    counts = Counter(_DESCRIPTOR.findall(prompt.text))
    ours = {name for name, n in prompt.descriptors.items() if counts[name] == n}
    text = _DESCRIPTOR.sub(lambda match: change(match) if match[1] in ours else match[0], prompt.text)
    return None if text == prompt.text else replace(prompt, text=text)


def _apart(match: re.Match[str]) -> str:
    before = match.string[: match.start()]
    return match[0] if not before or before.endswith("\n\n") else f"\n{match[0]}"


_LINE = re.compile(r"^([ \t]*\(?)([A-Z]|[a-z]|\d{1,2})([.):][ \t]*)(\S.*)$", re.MULTILINE)
_FIRST = {"A": ascii_uppercase, "a": ascii_uppercase.lower(), "1": "123456789"}


def listing(text: str, n: int = 0) -> list[re.Match[str]]:
    """Return the lines of the last options that a text lists, after A, B, ..., a, b, ... or 1, 2, ...: `n`, if given.

    The groups of each are what is before the label, the label, what is after it, and the option.
    """
    found: list[re.Match[str]] = []
    best: list[re.Match[str]] = []
    for match in _LINE.finditer(text):
        if found and match.start() == found[-1].end() + 1 and match[2] == _FIRST[found[0][2]][len(found) :][:1]:
            found.append(match)
        else:
            found = [match] if match[2] in _FIRST else []
        best = found if len(found) > 1 else best
    return best if not n or len(best) == n else []


#: Options that name others, and questions that name an option or the labels: neither order nor labels may change.
_NAMES_OPTIONS = re.compile(
    r"\b(?:all|none|neither|any|each|some|two) of (?:the|these|those)\b|\b(?:above|below|both|neither)\b|"
    r"\b[A-Z],? (?:and|or|&) \(?[A-Z]\b|\b(?:options?|choices?|answers?|statements?) \(?[A-Z1-9]\b",
    re.IGNORECASE,
)
_NAMES_LABELS = re.compile(r"\([A-Z]\)|\b[A-H](?:, ?| or )[B-H]\b|\b(?:[Oo]ption|[Cc]hoice|[Ll]etter)s? \(?[A-H]\b")


def _stripped(texts: Iterable[str]) -> list[str]:
    return [text.strip() for text in texts]


def _columns(listed: Sequence[re.Match[str]]) -> tuple[list[str], list[str]]:
    """Return the labels and the texts of listed options."""
    return [line[2] for line in listed], [line[4].strip() for line in listed]


def _shown(prompt: Prompt) -> list[re.Match[str]]:
    """Return the options that a prompt lists, if they can be told from what is scored and nothing names them."""
    listed = listing(prompt.text, len(prompt.options))
    if not listed or _NAMES_LABELS.search(prompt.text[: listed[0].start()] + prompt.text[listed[-1].end() :]):
        return []
    return listed if _stripped(prompt.options) in ([], *_columns(listed)) else []


def _relisted(prompt: Prompt, order: Sequence[int], labels: Sequence[str]) -> Prompt | None:
    """Return a prompt with options in another order (the old place of each) and labels; None if the key names none."""
    listed, answer, options = listing(prompt.text, len(order)), prompt.answer, prompt.options
    old_labels, texts = _columns(listed)
    bare, names = answer.strip(" ().") if isinstance(answer, str) else "", _stripped(options) or old_labels
    if isinstance(answer, int) and 0 <= answer < len(order):
        answer = order.index(answer)
    elif isinstance(answer, str) and bare in old_labels:
        answer = answer.replace(bare, labels[order.index(old_labels.index(bare))])
    elif bare not in [text.strip(" ().") for text in texts]:
        return None
    if names == old_labels:
        options = tuple(own.replace(old, new) for own, old, new in zip(options, old_labels, labels, strict=False))
    else:
        options = tuple(options[i] for i in order)
    lines = [f"{line[1]}{label}{line[3]}{listed[i][4]}" for line, label, i in zip(listed, labels, order, strict=True)]
    text = prompt.text[: listed[0].start()] + "\n".join(lines) + prompt.text[listed[-1].end() :]
    return replace(prompt, text=text, options=options, answer=answer, originals=tuple(names[i] for i in order))


def another_order(n: int, rng: Random) -> list[int]:
    """Return 0, ..., n - 1 in a random order that is not theirs, if there is one."""
    order = list(range(n))
    while n > 1 and order == sorted(order):
        rng.shuffle(order)
    return order


def _unlisted_order(prompt: Prompt, rng: Random) -> Prompt | None:
    """Return a prompt whose options the harness lists in another order; the key is one letter, or texts of options."""
    options, answer = prompt.options, prompt.answer
    letters = ascii_uppercase[: len(options)]
    is_named = _NAMES_LABELS.search(prompt.text) or any(map(_NAMES_OPTIONS.search, options)) or listing(prompt.text)
    if is_named or len({*options}) < len(options) or len(letters) < len(options) or not isinstance(answer, list):
        return None
    order = another_order(len(options), rng)
    if answer in [[letter] for letter in letters]:
        answer = [letters[order.index(letters.index(str(answer[0])))]]
    elif not {*answer} <= {*options}:
        return None
    return replace(prompt, options=tuple(options[i] for i in order), answer=answer)


def _order(prompt: Prompt, rng: Random) -> Prompt | None:
    if prompt.is_unlisted:
        return _unlisted_order(prompt, rng)
    listed = _shown(prompt)
    if not listed or any(_NAMES_OPTIONS.search(line[4]) for line in listed):
        return None
    return _relisted(prompt, another_order(len(listed), rng), _columns(listed)[0])


def _labels(prompt: Prompt, _: Random, *, number: int) -> Prompt | None:
    """Relabel scored options: what reads a written answer knows the task's own labels only."""
    listed = _shown(prompt)
    if not (listed and prompt.options) or len(listed) > 9 or any(_NAMES_LABELS.search(line[4]) for line in listed):
        return None
    first = [first for first in ("1", "a", "A") if first != listed[0][2]][number]
    return _relisted(prompt, range(len(listed)), _FIRST[first][: len(listed)])


_SENTENCE = re.compile(r"[^.!?\n]*[.!?]+(?=\s|\Z)|[^.!?\n]+(?=\n|\Z)")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; a line ends one."""
    return [match[0].strip() for match in _SENTENCE.finditer(text)]


_HEADING = re.compile(r"^[A-Z][\w ]{0,40}:\s+")
_COUNTS = re.compile(rf"\b(?:{'|'.join(sorted(NUMBERS))}|one|both|half|pair|couple|dozens?)\b", re.IGNORECASE)
#: A sentence with any of these is code, a formula, an option or a line of a form, which the rules cannot read.
_NO_PROSE = re.compile(r"[`{}\\_<>=^|~$:]|\w\(|^\(?\w[.)]\s")


def _by_rule(prompt: Prompt, _: Random, *, rule: Callable[[str], Iterable[str]], number: int) -> Prompt | None:
    """Return the prompt with a sentence of its own words changed by a rule, in the rule's next way for each number."""
    answers = prompt.answer if isinstance(prompt.answer, list) else [prompt.answer]
    texts = [*prompt.options, *_columns(listing(prompt.text, len(prompt.options)))[1], *map(str, answers)]
    held = {text: prompt.text.count(text) for text in _stripped(texts) if len(text) > 2}  # shorter ones are labels
    kept, counts = parts(prompt.text), Counter(_COUNTS.findall(prompt.text))

    def ways() -> Iterator[Prompt]:
        for words in prompt.words:
            for sentence in _SENTENCE.finditer(words):
                old = _HEADING.sub("", sentence[0].strip())
                if len(old.split()) < 3 or _NO_PROSE.search(old) or not old[0].isupper():
                    continue  # without capitals names cannot be told from other words
                start = prompt.text.index(words) + sentence.start() + sentence[0].index(old)
                for new in rule(old):
                    text = prompt.text[:start] + new + prompt.text[start + len(old) :]
                    is_kept = parts(text) == kept and Counter(_COUNTS.findall(text)) == counts
                    if is_kept and all(text.count(each) == n for each, n in held.items()):
                        yield replace(prompt, text=text)

    return next(islice(ways(), number, None), None)


def _numbered(make: Callable[..., Prompt | None], n: int, **more: object) -> tuple[Variant, ...]:
    return tuple(partial(make, number=number, **more) for number in range(n))


def _plain_structures(text: str) -> Iterator[str]:
    return (new for _, new in structures(text) if "'" not in text)


_VARIANTS: Mapping[str, tuple[Variant, ...]] = {
    "instruction": _numbered(_instruction, 3),
    "case": tuple(partial(_descriptors, change=change) for change in (lambda m: m[0].upper(), lambda m: m[0].lower())),
    "separator": tuple(partial(_descriptors, change=change) for change in (lambda match: f"{match[1]} -", _apart)),
    "option_order": (_order,) * 3,
    "option_labels": _numbered(_labels, 2),
    "shot_order": (),
    "contraction": _numbered(_by_rule, 3, rule=contractions),
    "phrase": _numbered(_by_rule, 3, rule=exchanges),
    "structure": _numbered(_by_rule, 3, rule=_plain_structures),
    "wordnet": _numbered(_by_rule, 3, rule=wordnet_nouns),
}
_DECLARED = parse_yaml(files("paraconsist.transforms").joinpath("rewordings.yaml").read_text(encoding="utf-8"))
#: The catalogue of kinds, in the order of the wordings.
KINDS = {name: RewordingKind(name, variants=_VARIANTS[name], **declared) for name, declared in _DECLARED.items()}


def reworded(prompt: Prompt, kind: str, variant: int, key: str) -> Prompt | None:
    """Return a prompt in a variant of a kind, None where that changes nothing; `key` seeds what is drawn at random."""
    changed = KINDS[kind].variants[variant](prompt, Random(f"{key}/{kind}/{variant}"))
    return None if changed is None or changed == prompt else changed


#: What a reworded task's documents have beside their own fields; logs carry it.
ADDED = ("bucket_id", "role", "wording", "kind", "original_options", "gold_option")
ORIGINAL = "original"
#: What the names of reworded tasks end with.
SUFFIX = "_reworded"
_FEWEST = 3  # wordings of a question: P_C needs two


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
    seed: int = option(0, "Random seed of orders.", min=0)

    def chosen(self) -> list[RewordingKind]:
        """Return the kinds in the catalogue's order; InputError for an unknown name, with the nearest one."""
        names = None if self.kinds is None else self.kinds.replace(" ", "").split(",")
        for name in names or ():
            if name not in KINDS:
                near = "".join(f"Did you mean {other}?" for other in get_close_matches(name, KINDS, 1))
                raise input_error("reword", "kinds", f"be one of {', '.join(KINDS)}", got=name, remedy=near)
        return [kind for kind in KINDS.values() if (kind.default if names is None else kind.name in names)]


@contextmanager
def loadable(name: str) -> Iterator[None]:
    """Turn errors of the Hub, of datasets and of the task's own code into one about the source."""
    try:
        yield
    except InputError:
        raise
    except Exception as problem:
        must, remedy = "be a task whose data can be loaded", f"{type(problem).__name__}: {first_line(problem)}"
        raise input_error("reword", "source", must, got=name, remedy=remedy) from problem


def valid_kinds(prompts: Sequence[Prompt], options: RewordOptions, invalid: Collection[str]) -> list[RewordingKind]:
    """Return the chosen kinds without the `invalid` ones, and without English ones where the questions are not."""
    is_english = language_of(" ".join(part for prompt in prompts[:50] for part in prompt.words)) in ("en", None)
    return [kind for kind in options.chosen() if kind.name not in invalid and (is_english or not kind.english)]


def wordings(
    prompts: Sequence[Prompt], kinds: Sequence[RewordingKind], options: RewordOptions, *, contexts: bool = False
) -> Iterator[WordingRow]:
    """Yield each question's original and its wordings; more than `per_kind` of a kind where they are too few.

    With `contexts` options are contexts of one answer, and each has the question's text in it.
    """
    plan = [(v, kind) for v in range(3) for kind in kinds if v < len(kind.variants or "all")]
    for question, prompt in enumerate(prompts):
        first = WordingRow(question=question, bucket_id=str(question), role=ORIGINAL, wording=0, kind=ORIGINAL)
        if isinstance(prompt.answer, int) and contexts:
            first["gold_option"] = prompt.answer
        known = WordingRow(text=prompt.text, options=[*prompt.options], answer=prompt.answer)
        yield first if contexts else {**first, **known}
        seen, n = {(prompt.text, prompt.options)}, 0
        for wording, (variant, kind) in enumerate(plan, start=1):
            if variant >= options.per_kind and n >= _FEWEST:
                break
            row: WordingRow = {**first, "role": "paraphrase", "wording": wording, "kind": kind.name, "variant": variant}
            new = reworded(prompt, kind.name, variant, f"{options.seed}/{question}") if kind.variants else prompt
            if new is None or (kind.variants and (new.text, new.options) in seen):
                continue
            seen.add((new.text, new.options))
            if contexts:
                before = new.text.removesuffix(prompt.text)
                row["options"] = [before + context for context in prompt.options]
            elif kind.variants:  # otherwise the harness changes the prompt
                row["text"] = new.text
            if kind.moves_key:
                row |= {"options": [*new.options], "answer": new.answer, "original_options": [*new.originals]}
            n += 1
            yield row


def write_rows(
    file: Path,
    rows: Sequence[WordingRow],
    name: str,
    options: RewordOptions,
    *,
    all_kinds: bool = True,
    written: Callable[[WordingRow], object] = dict,
) -> Counter[str]:
    """Write wordings as JSON Lines, in the form that `written` gives them; return their number by kind.

    InputError if there is no wording but originals, or, with `all_kinds`, none of a kind that the user named.
    """
    counts = Counter(row["kind"] for row in rows)
    absent = [kind for kind in options.chosen() if not counts[kind.name]]
    if absent and (len(counts) == 1 or (options.kinds is not None and all_kinds)):
        remedy = f"{absent[0].name} is for {absent[0].tasks}."
        raise input_error("reword", "kinds", f"be valid for {name}", got=absent[0].name, remedy=remedy)
    write_text(file, "".join(f"{to_json(row, indent=None)}\n" for row in map(written, rows)))
    return counts


def reword_lm_eval(
    name: str, folder: Path, options: RewordOptions, include_path: Path | None = None
) -> dict[str, Counter[str]]:
    """Write a task, or all of a group or tag, reworded; return each task's number of wordings by kind.

    InputError if there is no such task, its data cannot be loaded, it has no prompt (perplexity), or no kind applies.
    """
    manager = task_manager(include_path)
    if name not in manager.all_tasks:
        near = get_close_matches(name, manager.all_tasks, 1)
        remedy = f"Did you mean lm-eval:{near[0]}?" if near else "`lm_eval ls tasks` lists them."
        raise input_error("reword", "source", "name a task of lm-eval", got=f"lm-eval:{name}", remedy=remedy)
    with loadable(name):
        loaded = manager.load(name)
    done: dict[str, Counter[str]] = {}
    with staged(folder) as place:
        for task_name, task in loaded["tasks"].items():
            prompts, descriptors = _prompts(task, options.limit)
            kinds = valid_kinds(prompts, options, _invalid(task))
            rows = list(wordings(prompts, kinds, options, contexts=task.multiple_input))
            file, is_one = place / f"{task_name}{SUFFIX}.jsonl", len(loaded["tasks"]) == 1
            done[task_name] = write_rows(file, rows, task_name, options, all_kinds=is_one)
            path = manager.task_index[task_name].yaml_path.resolve()
            if path.is_relative_to(_tasks_folder()):  # which may be elsewhere on another machine
                path = path.relative_to(_tasks_folder())
            about = About(yaml=path.as_posix(), seed=options.seed, descriptors=descriptors)
            file.with_suffix(".yaml").write_text(_task_yaml(task_name, task, about), encoding="utf-8")
        for name, children in loaded.get("group_map", {}).items():
            aggregates = loaded["groups"][name].aggregate_metric_list or ()
            group = {"group": f"{name}{SUFFIX}", "task": [f"{child}{SUFFIX}" for child in children]}
            group["aggregate_metric_list"] = [vars(each) for each in aggregates if isinstance(each.aggregation, str)]
            (place / f"{name.replace('::', '_')}{SUFFIX}.yaml").write_text(
                yaml.safe_dump(group, sort_keys=False), encoding="utf-8"
            )
    return done


def task_manager(include_path: Path | None) -> TaskManager:
    """Return lm-eval's index of tasks: its own, which takes some 10 s to read, and those in a folder."""
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    from lm_eval import tasks

    return tasks.TaskManager(include_path=include_path)


def _prompts(task: ConfigurableTask, limit: int | None) -> tuple[list[Prompt], dict[str, int]]:
    """Return the prompts of a task's questions, and the descriptors of its template."""
    docs = [*islice(task.eval_docs, limit)]
    if taken := sorted({*ADDED} & set(docs[0])):
        must = f"have documents without the fields {', '.join(ADDED)}, which wordings bring"
        raise input_error("reword", "source", must, got=taken)
    prompts = [_prompt(task, doc) for doc in docs]
    if task.OUTPUT_TYPE == "loglikelihood_rolling" or not any(prompt.text.strip() for prompt in prompts):
        remedy = "It scores whole texts, as perplexity does: reworded, these are other texts."
        raise input_error("reword", "source", "have a prompt", got=task.task_name, remedy=remedy)
    stops = (task.config.generation_kwargs or {}).get("until", ()) if task.OUTPUT_TYPE == "generate_until" else ()
    descriptors = common_descriptors((prompt.text for prompt in prompts), stops)
    return [replace(prompt, descriptors=descriptors) for prompt in prompts], descriptors


def _prompt(task: ConfigurableTask, doc: Json) -> Prompt:
    """Return a document as the task puts it; where options are contexts, the first, and the place of the right one."""
    options = tuple(map(str, task.doc_to_choice(doc))) if task.config.doc_to_choice is not None else ()
    text = task.doc_to_text(doc)
    if task.multiple_input:
        return Prompt(options[0], options, text)
    answer = task.doc_to_target(doc)
    texts = [part.strip() for part in doc.values() if isinstance(part, str) and len(part.split()) > 2]
    texts = [part for part in texts if text.count(part) == 1]
    words = tuple(part for part in texts if not any(part in other and part != other for other in texts))
    return Prompt(text, options, answer if isinstance(answer, (int, str, list)) else None, tuple(dict.fromkeys(words)))


def _invalid(task: ConfigurableTask) -> set[str]:
    """Return the kinds that are invalid for a task, whatever its questions."""
    from lm_eval.api.task import ConfigurableTask

    config = task.config
    steps = [step["function"] for each in config.filter_list or () for step in each["filter"]]
    reads_document = config.process_results is not None or any(map(callable, steps)) or "multi_choice_regex" in steps
    is_fixed = reads_document or type(task).process_results is not ConfigurableTask.process_results
    names = {kind.name for kind in KINDS.values() if is_fixed and kind.moves_key}
    if task.multiple_input:
        names |= KINDS.keys() - {"instruction", "shot_order"}
    return names if (config.num_fewshot or 0) > 1 else {*names, "shot_order"}


def _tasks_folder() -> Path:
    from lm_eval import tasks

    return Path(tasks.__file__).resolve().parent


def original_config(about: About) -> dict[str, object]:
    """Return the configuration of the task that was reworded, read from its YAML."""
    from lm_eval.tasks._yaml_loader import load_yaml

    config = load_yaml(_tasks_folder() / about["yaml"])
    return {key: value for key, value in config.items() if key not in ("tag", "group", "task_list")}


def _task_yaml(name: str, task: ConfigurableTask, about: About) -> str:
    """Return the YAML of a reworded task: the class that runs it, what it is of, and what a group sets for it."""
    from lm_eval.config.task import TaskConfig

    config = original_config(about)
    own = task.config if "class" in config else TaskConfig(**config)
    named = {each.name for each in fields(TaskConfig)} - {"task", "metadata", "dataset_kwargs", "fewshot_config"}
    values = {name: getattr(task.config, name) for name in sorted(named)}
    changed = {name: v for name, v in values.items() if not callable(v) and v != getattr(own, name)}
    metadata = {"version": (task.config.metadata or {}).get("version", 0), "reworded": about}
    called = yaml.safe_dump({"task": f"{name}{SUFFIX}"}) + "class: !function paraconsist.plugins.reworded.Reworded\n"
    return called + yaml.safe_dump({**changed, "metadata": metadata}, sort_keys=False)


#: inspect_ai's scorers that read the right answer in the target, as a letter where there are choices.
_SCORERS = {f"inspect_ai/{name}" for name in ("answer", "choice", "exact", "includes", "match", "pattern")}
_TASK = '''"""{original} in several wordings, which {name}.jsonl has; paraconsist must be installed."""

from inspect_ai import Task, task

from paraconsist.plugins.reworded_inspect import reworded


@task
def {name}() -> Task:
    return reworded(__file__, {original!r})
'''


#: What a question asks, offers and accepts.
Question: TypeAlias = tuple[str, list[str], list[str]]


def question_rows(
    questions: Sequence[Question], options: RewordOptions, invalid: Collection[str] = ()
) -> list[WordingRow]:
    """Return the wordings of questions; what all of them have alike is their template, and keeps its words."""
    own = [sentences(text) for text, _, _ in questions]
    alike = set.intersection(*map(set, own)) if len(own) > 1 else set()
    descriptors, prompts = common_descriptors(text for text, _, _ in questions), []
    for (text, choices, accepted), of_text in zip(questions, own, strict=True):
        words = tuple(each for each in of_text if each not in alike)
        answer = accepted[0] if len(accepted) == 1 and not choices else accepted
        prompts.append(Prompt(text, (*choices,), answer, words, descriptors, is_unlisted=bool(choices)))
    kinds = valid_kinds(prompts, options, {"option_labels", "shot_order", *invalid})
    return [*wordings(prompts, kinds, options)]


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
    if not any(text.strip() for text, _, _ in questions):
        raise input_error("reword", "source", "have samples that ask something", got=spec)
    if taken := {*ADDED}.intersection(*(sample.metadata or () for sample in samples)):
        must = f"have samples without the metadata {', '.join(ADDED)}, which wordings bring"
        raise input_error("reword", "source", must, got=sorted(taken))
    is_fixed = not {registry_info(scorer).name for scorer in task.scorer or ()} <= _SCORERS
    rows = question_rows(questions, options, [name for name in KINDS if is_fixed and KINDS[name].moves_key])
    called = re.sub(r"\W|^(?=\d)", "_", task.name.rpartition("/")[2])
    with staged(folder) as place:
        file = place / f"{called}{SUFFIX}.jsonl"
        counts = write_rows(file, rows, called, options)
        path, at, name = spec.rpartition("@")
        if Path(path).is_file():  # the folder finds it where both are moved together
            spec = f"{Path(os.path.relpath(path, folder)).as_posix()}{at}{name}"
        file.with_suffix(".py").write_text(_TASK.format(name=file.stem, original=spec), encoding="utf-8")
    return {called: counts}


def reword_table(
    spec: str, folder: Path, options: RewordOptions, reading: RowOptions
) -> tuple[dict[str, Counter[str]], dict[str, str]]:
    """Write a table's questions, reworded, as a set of questions; return the wordings by kind, and which comparers fit.

    Of a question that has several wordings, the original is reworded. Where the table has choices, its accepted
    answers are texts, letters or places (from 0) of them; the set's are texts, which are the same in every order.
    """
    from paraconsist.data.questions import asked, by_bucket, offered  # imports pyarrow
    from paraconsist.data.questions import reworded as with_wording
    from paraconsist.transforms.labelled_sets import load_rows

    columns = re.sub(r"(^|,)answer=", r"\1expected=", ",".join(reading.columns))
    pairs = re.split(r",(?=\w+=)", columns) if columns else []
    rows = load_rows(spec, Counter(), replace(reading, task=QUESTIONS.name, columns=pairs))
    originals = [group[0] for group in by_bucket(rows.table.to_pylist()).values()]
    choices = [each or [] for each in offered([row["choices"] for row in originals])]
    accepted = _texts([row["label"] or [] for row in originals], choices)
    questions = [*zip(map(asked, originals), choices, accepted, strict=True)][: options.limit]

    def written(row: WordingRow) -> Json:
        own, (_, listed, right) = originals[row["question"]], questions[row["question"]]
        texts = {name: with_wording(own, row["text"])[name] for name in QUESTIONS.columns}
        texts |= {"choices": row.get("options") or listed, "expected": right}
        named = {"bucket_id": own["bucket_id"], "role": row["role"], "wording": row["wording"], "kind": row["kind"]}
        return {**named, **{name: value for name, value in texts.items() if value}}

    made = question_rows(questions, options)
    with staged(folder) as place:
        file = place / f"{rows.file_name}{SUFFIX}.jsonl"
        counts = write_rows(file, made, rows.name, options, written=written)
    return {rows.file_name: counts}, {**({"same": "choice"} if any(choices) else {}), **rows.comparers}


def _texts(accepted: Sequence[list[str]], choices: Sequence[list[str]]) -> list[list[str]]:
    """Return accepted answers, as texts of the choices where there are any.

    In the table they all are texts, all letters or all places: 2 alone may be a text or a place.
    """
    ways: list[list[list[str]]] = [
        [*choices],
        [[*ascii_uppercase[: len(listed)]] for listed in choices],
        [[*map(str, range(len(listed)))] for listed in choices],
    ]
    wrong = [
        [row for row, (own, names) in enumerate(zip(accepted, way, strict=True)) if names and not {*own} <= {*names}]
        for way in ways
    ]
    if all(wrong):
        must, (row, *_) = "name all texts, all letters or all places (from 0) of the choices", min(wrong, key=len)
        raise input_error("reword", "columns", must, got=accepted[row], row=row)
    rows = zip(accepted, ways[wrong.index([])], choices, strict=True)
    return [[listed[names.index(each)] if names else each for each in own] for own, names, listed in rows]


def load_original(spec: str, folder: Path = Path(), **parameters: object) -> Task:
    """Return a task by its name; a file is named from `folder`, and a module by its dotted name."""
    from inspect_ai._eval.loader import load_tasks

    path, at, name = spec.rpartition("@")
    if at and not path.endswith(".py"):
        path = str(import_module(path).__file__)
    tasks = [] if spec.endswith(".py") else load_tasks([f"{folder / path}@{name}" if at else spec], parameters)
    if len(tasks) != 1:
        names = ", ".join(task.name for task in tasks) or f"{spec}@NAME"
        raise input_error("reword", "source", "name one task", got=spec, remedy=f"Such as {names}.")
    return tasks[0]


def question_of(sample: Sample) -> Question:
    """Return what a sample asks, offers and accepts; of several messages the last one of the user asks."""
    text = sample.input
    if not isinstance(text, str):
        text = next((message.text for message in reversed(text) if message.role == "user"), "")
    return text, sample.choices or [], [sample.target] if isinstance(sample.target, str) else sample.target


def with_text(sample: Sample, text: str) -> str | list[ChatMessage]:
    """Return a sample's input with another text where `question_of` found it."""
    if isinstance(sample.input, str) or text == question_of(sample)[0]:
        return text if isinstance(sample.input, str) else sample.input
    messages: list[ChatMessage] = deepcopy(sample.input)
    next(message for message in reversed(messages) if message.role == "user").text = text
    return messages
