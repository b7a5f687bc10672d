"""Prompts for language models: an instruction, solved examples, a question and label words.

A `PromptTemplate` and the examples that were drawn for a run make a `Prompt`, which turns a row into one text, or into
the messages of a chat. `parse_answer` reads the label from a written answer. The templates of this package are in
``prompts.yaml``.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple

from paraconsist.data.foreign import parse_yaml
from paraconsist.data.tasks import Row, Task, Template, get_task, input_id
from paraconsist.errors import InputError, input_error


@dataclass(frozen=True)
class Example:
    """A solved row in a prompt: its texts by column, and the name of its label."""

    values: Mapping[str, str]
    label: str


@dataclass(frozen=True)
class PromptTemplate:
    """The text that puts a task to a language model.

    >>> template = PromptTemplate("mine", "nli", "{premise} So {hypothesis}?", {"entailment": "yes", "neutral": "no"})
    >>> template.answers
    (' yes', ' no')
    """

    name: str  # in results
    task: str  # name of the task whose columns the question reads
    question: str  # pattern with plain ``{column}`` fields up to the answer; white space at its end is removed
    labels: Mapping[str, str]  # label name -> label word, in label order; label names match those of a set
    instruction: str = ""  # text before the first question
    separator: str = "\n\n"  # between the instruction, the examples and the question
    answer_prefix: str = " "  # between the question and a label word; chats omit it
    source: str = ""  # the template's origin, for people
    stop: str = ""  # the text that ends a written answer, such as a newline; empty if the model ends it

    def __post_init__(self) -> None:
        task = get_task(self.task)
        object.__setattr__(self, "question", self.question.rstrip())
        object.__setattr__(self, "instruction", self.instruction.rstrip())
        try:
            unknown = self._pattern.columns - set(task.columns)
        except ValueError as problem:
            raise self._fault("question", "be text with plain {column} fields", self.question, f"{problem}.") from None
        if unknown or not self._pattern.columns:
            must = f"name columns of task {task.name} in braces: {', '.join(task.columns)}"
            remedy = "Write doubled braces for braces that are text."
            raise self._fault("question", must, sorted(unknown) or self.question, remedy)
        words = [word.strip().casefold() for word in self.labels.values()]
        if len(words) < 2 or not all(words):
            raise self._fault("labels", "give a word for each of two or more labels", dict(self.labels))
        if len(set(words)) < len(words):
            raise self._fault("labels", "give each label a different word", dict(self.labels))

    @property
    def _pattern(self) -> Template:
        return Template(self.question, None)

    @property
    def label_names(self) -> tuple[str, ...]:
        return tuple(self.labels)

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.labels.values())

    @property
    def answers(self) -> tuple[str, ...]:
        """The text after the question for each label: `answer_prefix` and the label word."""
        return tuple(self.answer_prefix + word for word in self.words)

    def ask(self, values: Mapping[str, str]) -> str:
        """Return the question for one row; an empty column leaves no double space."""
        return self._pattern.render(values).text.rstrip()

    def read(self, text: str, *, cut: bool = False) -> WrittenAnswer:
        """Return a written text up to `stop` as an answer; `cut` is whether the limit of tokens ended it."""
        shown = text.partition(self.stop)[0] if self.stop else text
        cut = cut and shown == text
        label = parse_answer(shown, self.words, self.label_names, cut=cut)
        return WrittenAnswer(label, shown, cut and label is None)

    def _fault(self, parameter: str, must: str, got: Any, remedy: str = "") -> InputError:
        return input_error(f"template {self.name}", parameter, must, got=got, remedy=remedy)


@dataclass(frozen=True)
class Prompt:
    """A template with the examples of a run, in order (none for zero-shot)."""

    template: PromptTemplate
    examples: tuple[Example, ...] = ()
    system: str = ""  # of chats: stands before the instruction

    def __post_init__(self) -> None:
        for example in self.examples:
            if example.label not in self.template.labels:
                must = f"be labelled {' or '.join(self.template.labels)}"
                raise input_error(f"template {self.template.name}", "examples", must, got=example.label)

    @cached_property
    def prefix(self) -> str:
        """The text before every row's question: instruction and solved examples, each with its separator."""
        template = self.template
        parts = [template.instruction] if template.instruction else []
        parts += [template.ask(e.values) + template.answer_prefix + template.labels[e.label] for e in self.examples]
        return "".join(part + template.separator for part in parts)

    def text(self, task: Task, row: Row) -> str:
        """Return the whole prompt of a row, up to the answer; raise as `Task.values` does."""
        if self.system:
            must, remedy = "be given only with a chat", "Give `chat`, or behind an endpoint `api` chat."
            raise input_error("run", "system", must, got=self.system, remedy=remedy)
        return self.prefix + self.template.ask(task.values(row))

    def messages(self, task: Task, row: Row) -> list[dict[str, str]]:
        """Return the prompt as a chat: the instruction, solved questions and answers, and the row's question."""
        template = self.template
        chat = self.opening(template.instruction)
        for example in self.examples:
            chat.append({"role": "user", "content": template.ask(example.values)})
            chat.append({"role": "assistant", "content": template.labels[example.label]})
        return [*chat, {"role": "user", "content": template.ask(task.values(row))}]

    def opening(self, own: str) -> list[dict[str, str]]:
        """Return the system message of a chat, if there is one: `system`, then the prompt's `own`."""
        text = "\n\n".join(part for part in (self.system, own) if part)
        return [{"role": "system", "content": text}] if text else []

    @property
    def hash(self) -> str:
        """16 hex digits that depend on everything a model is shown: patterns, label words, examples, their order."""
        template = {f.name: getattr(self.template, f.name) for f in fields(PromptTemplate)}
        unseen = ("name", "source") if self.template.stop else ("name", "source", "stop")
        parts = {key: value for key, value in template.items() if key not in unseen}
        parts["labels"] = list(self.template.labels.items())
        parts["examples"] = [[sorted(e.values.items()), e.label] for e in self.examples]
        if self.system:
            parts["system"] = self.system
        canonical = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(canonical.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def template_from_mapping(mapping: Any, *, name: str, task: Task | None = None) -> PromptTemplate:
    """Convert the mapping in a user's YAML or JSON file to a template; `name` is the default name.

    Fields other than ``question`` and ``labels`` are optional; ``task`` must be equal to `task`, if both are there.
    InputError for absent or unknown fields, fields of the wrong type, and columns that the task does not have.
    """
    function = f"template {name}"
    known = [f.name for f in fields(PromptTemplate)]
    required = ("question", "labels")
    if not isinstance(mapping, Mapping) or not set(required) <= set(mapping):
        got = sorted(map(str, mapping)) if isinstance(mapping, Mapping) else mapping
        raise input_error(function, "template", "be a mapping with `question` and `labels`", got=got)
    if unknown := sorted(str(key) for key in set(mapping) - set(known)):
        raise input_error(function, "template", f"have no fields but {', '.join(known)}", got=unknown)
    labels = mapping["labels"]
    if not isinstance(labels, Mapping):
        raise input_error(function, "labels", "be a mapping of label name to label word", got=labels)
    texts = {key: value for key, value in mapping.items() if key != "labels"}
    for key, value in [*texts.items(), *labels.items(), *((label, label) for label in labels)]:
        if not isinstance(value, str):
            raise input_error(function, str(key), "be text", got=value, remedy="Put it in quotes.")
    wanted = texts.get("task", task.name if task is not None else None)
    if wanted is None or (task is not None and wanted != task.name):
        must = "name the task it is for" if task is None else f"be for task {task.name}, the task of the set"
        raise input_error(function, "task", must, got=wanted)
    return PromptTemplate(**{"name": name, **texts, "task": wanted}, labels=dict(labels))


def draw_examples(
    task: Task, pools: Sequence[Sequence[Example]], shots: int, *, seed: int, exclude: Collection[str] = ()
) -> tuple[Example, ...]:
    """Draw `shots` examples, evenly from the pools and evenly over the labels of each, in random order.

    If the numbers do not divide, the first pools, and random labels, get one more. The result depends on the arguments
    only, not on the process or the order of rows in a pool. (S24 has three pools for its delta sets, 12 examples from
    each.) Input ids in `exclude`, which the model will be asked, are not drawn. InputError if a pool lacks rows of a
    label.

    >>> from paraconsist.data.tasks import get_task
    >>> pool = [Example({"text": f"text {i}"}, ("negative", "positive")[i % 2]) for i in range(9)]
    >>> sorted(e.label for e in draw_examples(get_task("sentiment"), [pool], 4, seed=0))
    ['negative', 'negative', 'positive', 'positive']
    """
    if shots < 0:
        raise input_error("run", "shots", "be 0 or more", got=shots)
    if shots and not pools:
        raise input_error("run", "examples", f"say where to draw {shots} examples from")
    rng = random.Random(f"paraconsist-examples-{seed}")
    drawn: list[Example] = []
    for number, pool in enumerate(pools):
        n_wanted = shots // len(pools) + (number < shots % len(pools))
        drawn += _draw(task, pool, n_wanted, rng, exclude, f"pool {number + 1}")
    rng.shuffle(drawn)
    return tuple(drawn)


def _draw(
    task: Task, pool: Sequence[Example], n_wanted: int, rng: random.Random, exclude: Collection[str], name: str
) -> list[Example]:
    distinct = {(input_id(task, example.values), example.label): example for example in pool}
    by_label: dict[str, list[Example]] = {}
    for (key, label), example in sorted(distinct.items(), key=lambda item: item[0]):
        if key not in exclude:
            by_label.setdefault(label, []).append(example)
    labels = sorted(by_label)
    rng.shuffle(labels)
    drawn: list[Example] = []
    for place, label in enumerate(labels):
        n_of_label = n_wanted // len(labels) + (place < n_wanted % len(labels))
        if n_of_label > len(by_label[label]):
            must = f"have {n_of_label} rows labelled {label} that are not asked themselves"
            got, remedy = f"{len(by_label[label])} in {name}", "Give fewer `shots`, or more examples."
            raise input_error("run", "examples", must, got=got, remedy=remedy)
        drawn += rng.sample(by_label[label], n_of_label)
    if len(drawn) < n_wanted:
        raise input_error("run", "examples", "have labelled rows that are not asked themselves", got=f"none in {name}")
    return drawn


class WrittenAnswer(NamedTuple):
    """An answer that a model wrote, and the position of the label read from it, if any."""

    label: int | None
    raw_output: str
    cut: bool = False  # whether the limit of tokens ended it before it named a label

    @property
    def is_empty(self) -> bool:
        """Whether it is no complete answer, so that no label could be read from it."""
        return self.cut or (self.label is None and not self.raw_output.strip())


@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Match a label word between word boundaries; a single letter in its case, and not as a word of a sentence."""
    longest_first = sorted(words, key=len, reverse=True)
    alone = "|".join(
        re.escape(word) + r"(?!\s+[a-z])" * (word in ("A", "I")) if len(word) == 1 else f"(?i:{re.escape(word)})"
        for word in longest_first
    )
    return re.compile(rf"(?<!\w)(?<!\w['’])(?:{alone})(?!\w)(?!['’]\w)")


def parse_answer(text: str, words: Sequence[str], names: Sequence[str] = (), *, cut: bool = False) -> int | None:
    """Return the position in `words` of the label word in an answer; None if there is none or several.

    Only the first non-blank line after the reasoning (``<think>`` to ``</think>``) counts. Case matters for single
    letters only. A label's name (`names`, in the words' order) counts as its word. An answer that begins with a label
    word gives that word, unless another one follows directly ("yes or no"); else the line must contain exactly one of
    the words, between word boundaries. If one contains another ("not entailed", "entailed") the longer one counts. Of
    a line that the limit of tokens has `cut` only a label at its beginning counts, which begins no other label's word.

    >>> words = ("no", "yes")
    >>> parse_answer(" Yes.\\n\\nPremise: ...", words), parse_answer("The answer is no", words)
    (1, 0)
    >>> parse_answer("yes or no", words), parse_answer("maybe", words), parse_answer("", words)
    (None, None, None)
    >>> parse_answer("It's unclear.", ("W", "S"), ("weakener", "strengthener"))
    >>> parse_answer("A strengthener.", ("W", "S"), ("weakener", "strengthener"))
    1
    >>> parse_answer("Weaken", ("Weaken", "Weakener"), cut=True)
    """
    answer = re.sub(r"^\s*<think>.*?(</think>|$)", "", text, flags=re.DOTALL)
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    if not lines:
        return None
    line = lines[0].lstrip("\"'`*([").strip()
    places = {_folded(name): place for place, name in enumerate(names)}
    places |= {_folded(word): place for place, word in enumerate(words)}
    matches = list(_pattern(tuple(places)).finditer(line.replace("_", " ")))
    labels = [places[_folded(match.group())] for match in matches]
    if matches and cut and len(lines) == 1 and not answer.endswith("\n"):
        word = _folded(matches[0].group())
        others = (other for other, place in places.items() if place != labels[0] and len(word) > 1)
        may_go_on = matches[0].end() == len(line) and any(other.startswith(word) for other in others)
        if matches[0].start() > 0 or may_go_on:
            return None
    if len(set(labels)) == 1:
        return labels[0]
    if len(matches) > 1 and matches[0].start() == 0:
        between = line[matches[0].end() : matches[1].start()].strip().casefold()
        return None if between in ("or", "/", "|", "and", ",", ", or") else labels[0]
    return None


def _folded(word: str) -> str:
    """Return a label's word or name in the form for comparisons with answers: only single letters keep their case."""
    word = word.strip().replace("_", " ")
    return word if len(word) == 1 else word.casefold()


@cache
def templates() -> Mapping[str, PromptTemplate]:
    """Return the templates that come with paraconsist, by name."""
    listed = parse_yaml(files("paraconsist.data").joinpath("prompts.yaml").read_text(encoding="utf-8"), typed=False)
    return MappingProxyType({fields["name"]: template_from_mapping(fields, name=fields["name"]) for fields in listed})


def get_template(name: str, task: Task) -> PromptTemplate:
    """Return the template called `name`; InputError if there is none for `task`."""
    template = templates().get(name)
    if template is None or template.task != task.name:
        fitting = ", ".join(t.name for t in templates().values() if t.task == task.name)
        must = f"be a template for task {task.name} ({fitting}), or a YAML file that exists"
        raise input_error("run", "template", must, got=name)
    return template


def default_template(task: Task, label_names: Sequence[str]) -> PromptTemplate:
    """Return the first template for a task with as many labels as a set; InputError if there is none.

    >>> from paraconsist.data.tasks import get_task
    >>> default_template(get_task("nli"), ["entailed", "not_entailed"]).name
    'v23-nli'
    """
    fitting = [template for template in templates().values() if template.task == task.name]
    for template in fitting:
        if len(template.labels) == len(label_names):
            return template
    listed = "; ".join(f"{template.name} ({', '.join(template.label_names)})" for template in fitting)
    remedy = f"The templates for task {task.name} are {listed}; write one in a YAML file."
    raise input_error("run", "template", f"be given for a set with the labels {', '.join(label_names)}", remedy=remedy)
