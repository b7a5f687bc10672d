"""Prompts for language models, and questions of the user's own, which are answered in free text.

A `PromptTemplate` and the examples that were drawn for a run make a `Prompt`, which turns a row into one text, or into
the messages of a chat. `parse_answer` reads the label from a written answer. The templates of this package are in
``prompts.yaml``.

A row of questions has ``question`` (or ``prompt``, or ``messages``: a chat of roles and contents) and ``bucket_id``,
and may have ``context``, ``choices``, ``system`` and ``expected`` (one accepted answer or several). A YAML file lists
each question once with its wordings, of which ``question``, where an entry has both, is the original; see
docs/howto/questions.md.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from string import ascii_uppercase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from paraconsist.data.foreign import MAX_YAML, as_text, listed, parse_yaml, read_yaml, without_reasoning
from paraconsist.data.tasks import QUESTIONS, TASKS, Row, Task, Template, get_task, input_id
from paraconsist.errors import InputError, input_error
from paraconsist.files import Json, replacing

if TYPE_CHECKING:
    import pyarrow as pa


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
    cut: bool = False  # whether the limit of tokens ended it, before it named a label if it should

    def is_empty(self, *, free: bool) -> bool:
        """Say whether it is no complete answer, so that no label could be read from it; of `free` text, no text."""
        return (self.cut and not free) or (self.label is None and not self.raw_output.strip())


_DENIALS = (r"\b(?i:not) ", r"\b(?i:non)[- ]", r"\w(?i:n['’]t) ")


@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Match a label word between word boundaries; a single letter in its case, and not as a word of a sentence."""
    of_sentence = r"(?!\s+(?!(?:and|is|or)\b)[a-z])"
    alone = "|".join(
        re.escape(word) + of_sentence * (word in ("A", "I")) if len(word) == 1 else f"(?i:{re.escape(word)})"
        for word in sorted(words, key=len, reverse=True)
    )
    denials = _DENIALS if "no" in words else (*_DENIALS, r"\b(?i:no) ")
    denied = "".join(f"(?<!{denial}{article})" for denial in denials for article in ("", "a ", "an "))
    return re.compile(rf"(?<!\w)(?<!\w['’]){denied}(?:{alone})(?!\w)(?!['’]\w)(?!\.\d*[1-9])")


def parse_answer(text: str, words: Sequence[str], names: Sequence[str] = (), *, cut: bool = False) -> int | None:
    """Return the position in `words` of the label word in an answer; None if there is none or several.

    Only the first non-blank line after the reasoning (``<think>`` to ``</think>``) counts. Case matters for single
    letters only. A label's name (`names`, in the words' order) counts as its word. An answer that begins with a label
    word gives that word, unless another one follows directly ("yes or no"); else the line must contain exactly one of
    the words, between word boundaries and not after "not", "no", "non-" or "n't". If one contains another ("not
    entailed", "entailed") the longer one counts. Of a line that the limit of tokens has `cut` only a label at its
    beginning counts, which begins no other label's word.

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
    answer = without_reasoning(text)
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


#: Columns that a row may ask its question in, the first that is there.
ASKED = ("messages", "question", "prompt")
_ROLES = ("system", "user", "assistant", "developer")
_ENTRY = ("id", "wordings", *ASKED, "context", "choices", "system", "expected")
_COMMON = ("system", "context", "same", "right", "error_of_check")
_QUOTES = 'Put texts with : ? # or , into quotes, such as "Shipping: how much?".'
#: promptfoo's assertions whose value is an accepted answer, or a list of them.
_EQUAL = ("equals", "icontains", "contains", "contains-any", "icontains-any")
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def are_questions(columns: Iterable[str]) -> bool:
    """Say whether columns hold questions, and the texts of no other task."""
    present = set(columns)
    return bool(present & set(ASKED)) and not any(set(task.columns) <= present for task in TASKS.values())


def read_questions(path: Path) -> tuple[pa.Table, dict[str, str]]:
    """Return the rows of a YAML file of questions, or of promptfoo's tests, and how answers are compared.

    InputError, with the number of the entry, if it is no such file.
    """
    try:
        given = read_yaml("run", "dataset", path, typed=False)
    except InputError as problem:
        problem.remedy += f" {_QUOTES}" * bool(problem.remedy)  # a file that is absent has none
        raise
    entries: Any = given
    common: Json = {}
    if isinstance(given, Mapping):
        entries = given.get("questions")
        common = {key: value for key, value in given.items() if key in _COMMON}
        if entries is not None and (unknown := sorted(set(given) - {"questions", *_COMMON})):
            must = f"have no keys but questions, {', '.join(_COMMON)}"
            raise input_error("run", "dataset", must, got=unknown, remedy=f"Mend {path}.")
        if entries is None and isinstance(given.get("tests"), list):
            prompts = given.get("prompts") or []
            listed = [_of_promptfoo(test, n, prompts, path.stem) for n, test in enumerate(given["tests"])]
            entries = [entry for entries_of_test in listed for entry in entries_of_test]
    if not isinstance(entries, list) or not entries:
        must = "be a list of questions, or have one under `questions`"
        raise input_error("run", "dataset", must, got=str(path), remedy="`paraconsist init` writes an example.")
    comparers = {key: str(common[key]) for key in ("same", "right") if key in common}
    facts = {"error_of_check": common.get("error_of_check")}
    common = {key: value for key, value in common.items() if key not in (*comparers, *facts)}
    rows: list[Json] = []  # one for each wording
    ids: set[str] = set()
    for number, entry in enumerate(entries):
        known = {*_ENTRY, "bucket_id", "role"}
        if not isinstance(entry, Mapping) or not set(entry) <= known:
            got = sorted(set(entry) - known) if isinstance(entry, Mapping) else entry
            must = f"have entries with wordings (or question), of {', '.join(_ENTRY)}"
            raise input_error("run", "dataset", must, got=got, row=number, remedy=f"Mend {path}.")
        wordings = entry.get("wordings") or []
        asks = {*ASKED} & set(entry)
        is_mixed = "wordings" in entry and bool(asks - {"question"})
        if not isinstance(wordings, list) or is_mixed or not (wordings or asks):
            must = "have entries with a list of wordings, a question with or without such a list, a prompt, or messages"
            raise input_error("run", "dataset", must, got=dict(entry), row=number, remedy=f"Mend {path}.")
        shared = {key: value for key, value in {**common, **entry}.items() if key not in ("id", "wordings")}
        shared["bucket_id"] = str(entry.get("id") or entry.get("bucket_id") or f"{path.stem}-{number + 1}")
        shared.setdefault("role", "paraphrase")
        if "wordings" in entry and shared["bucket_id"] in ids:
            remedy = f"Mend {path}: entries of one id would be one question."
            raise input_error("run", "id", "be another in each entry", got=entry.get("id"), row=number, remedy=remedy)
        ids.add(shared["bucket_id"])
        if "question" in entry and "wordings" in entry:
            rows.append({**shared, "role": "original"})
        rows += [{**shared, "question": each} for each in wordings] if "wordings" in entry else [shared]
    for row, values in enumerate(rows):
        for column in ("question", "prompt", "context", "system", "bucket_id", "role", "expected"):
            if isinstance(values.get(column), dict if column == "expected" else (list, dict)):
                raise wrong_value(str(path), column, "be text", values[column], row, f"Mend {path}. {_QUOTES}")
    from paraconsist.data.tables import PARAPHRASE_KEY, table_of_rows  # prompts are read for help texts, too

    return table_of_rows(rows).replace_schema_metadata({PARAPHRASE_KEY: json.dumps(facts, default=str)}), comparers


def asked(row: Json, column: str = "question") -> str:
    """Return the text that is reworded: the last turn of the user in the row's chat, or without a chat, a column."""
    turns = [turn for turn in json.loads(row.get("messages") or "[]") if turn["role"] == "user"]
    if row.get("messages") and not turns:
        raise input_error("paraphrase", "messages", "have a turn of the user", got=row["messages"])
    return str(turns[-1]["content"] if turns else row[column])


def reworded(row: Json, text: str) -> Json:
    """Return a row that asks `text` in place of `asked`."""
    if not row["messages"]:
        return {**row, "question": text}
    turns = json.loads(row["messages"])
    next(turn for turn in reversed(turns) if turn["role"] == "user")["content"] = text
    return {**row, "messages": json.dumps(turns, ensure_ascii=False)}


def by_bucket(rows: Iterable[Json]) -> dict[str, list[Json]]:
    """Return each question's rows, the first of them the original: by its role, or as the first wording.

    Rows are named by their roles, so that YAML, which has no names of rows, and Parquet give the same names.
    """
    buckets: dict[str, list[Json]] = {}
    for row in rows:
        buckets.setdefault(row["bucket_id"], []).append(row)
    for bucket, group in buckets.items():
        group.sort(key=lambda row: row["role"] != "original")  # stable
        numbers = Counter[str]()
        for place, row in enumerate(group):
            role = row["role"] if place else "original"
            numbers[role] += 1
            group[place] = {**row, "role": role, "example_id": f"{bucket}.{role}{f'_{numbers[role]}' if place else ''}"}
    return buckets


def write_questions(rows: Iterable[Json], about: Mapping[str, str], path: Path) -> None:
    """Write rows of the long format as a YAML file that `read_questions` reads; `about` are the file's own fields.

    Wordings that differ in nothing else are listed in one entry, other rows are entries with a role.
    """
    import yaml  # its first import is slow

    entries: list[Json] = []
    for bucket, group in groupby(rows, key=lambda row: row["bucket_id"]):
        roles, fields = [], []
        for row in group:
            lists = {name: json.loads(row[name] or "[]") for name in ("messages", "choices")}
            accepted = list(row["label"] or ())
            lists["expected"] = accepted if len(accepted) != 1 or accepted[0].startswith("[") else accepted[0]
            named = {**{name: row[name] for name in ("question", "context", "system")}, **lists}
            fields.append({name: value for name, value in named.items() if value})
            roles.append(row["role"])
        texts = [entry.get("question") for entry in fields]
        is_plain = all({**entry, "question": texts[0]} == fields[0] for entry in fields) and "messages" not in fields[0]
        if is_plain and roles == ["original"] + ["paraphrase"] * (len(roles) - 1):
            entries.append({"id": bucket, "question": texts[0], "wordings": texts[1:], **fields[0]})
        else:
            entries += [{"id": bucket, "role": role, **entry} for role, entry in zip(roles, fields, strict=True)]
    text = yaml.safe_dump({**about, "questions": entries}, allow_unicode=True, sort_keys=False, width=120)
    if len(text.encode()) > MAX_YAML:
        must = "end in .parquet: as YAML these questions would be longer than a megabyte"
        raise input_error("paraphrase", "output", must, got=str(path))
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _of_promptfoo(test: Any, number: int, prompts: Any, stem: str) -> list[Json]:
    """Return the entries of a test: a wording for each of the prompts, filled in; without prompts its own question."""
    values = test.get("vars") if isinstance(test, Mapping) else None
    if not isinstance(values, Mapping):
        raise input_error("run", "dataset", "have vars in each of promptfoo's tests", got=test, row=number)

    def fill(text: Any) -> Any:
        return _VARIABLE.sub(lambda name: str(values.get(name[1], name[0])), text) if isinstance(text, str) else text

    more = {**(test.get("metadata") or {}), **values}
    checks = [check for check in test.get("assert") or () if isinstance(check, Mapping)]
    accepted = [(check["type"], check["value"]) for check in checks if check.get("type") in _EQUAL and "value" in check]
    n_parts = sum(kind.endswith("contains") for kind, _ in accepted)  # of several all must be there: none is an answer
    accepted = [(kind, value) for kind, value in accepted if n_parts < 2 or not kind.endswith("contains")]
    lists = [re.split(r"\s*,\s*", v) if "any" in kind and isinstance(v, str) else v for kind, v in accepted]
    expected = [fill(one) for value in lists for one in (value if isinstance(value, list) else [value])]
    known = {key: value for key, value in more.items() if key in (*_ENTRY, "bucket_id", "role")}
    known |= {"expected": expected} if expected and "expected" not in known else {}
    is_asked = bool(set(ASKED) & set(known))
    are_texts = isinstance(prompts, list) and all(map(_is_template, prompts))
    if not are_texts and not is_asked:
        must = "have prompts with variables in {{ }}, or a variable `question` in each test"
        raise input_error("run", "dataset", must, got=prompts, row=number)
    if not prompts or not are_texts:
        return [known if is_asked or len(values) != 1 else {**known, "question": next(iter(values.values()))}]
    named = {name for each in prompts for name in _VARIABLE.findall(each)}
    if missing := sorted(name for name in named if not isinstance(values.get(name), (str, int, float))):
        must = "have vars for what its prompts name, each a text or a number"
        raise input_error("run", "dataset", must, got=", ".join(missing), row=number)
    texts = list(map(fill, prompts))
    rest = {key: value for key, value in known.items() if key not in {*ASKED, *named}}
    return [{"bucket_id": f"{stem}-{number + 1}", **rest, "question": text} for text in texts]


def _is_template(prompt: Any) -> bool:
    """Say whether a prompt is a text with variables and nothing else to fill in, not a file or a chat."""
    rest = _VARIABLE.sub("", prompt) if isinstance(prompt, str) else prompt
    return rest != prompt and not re.match(r"\s*(\[|- )", prompt) and not re.search(r"\{[{%]", rest)


def question_columns(table: pa.Table, name: str) -> dict[str, pa.Array]:
    """Return the columns of `QUESTIONS` and the accepted answers (``label``) of rows that ask questions.

    InputError, with the row, for what is no text, no chat, no list of choices, or no accepted answer.
    """
    held = {
        column: [None if value != value else value for value in table[column].to_pylist()]  # NaN
        for column in (*ASKED, "context", "choices", "system", "expected", "label")
        if column in table.column_names
    }
    n = len(table)
    if not {*ASKED} & held.keys():
        raise input_error("run", "question", f"be a column of {name}", got=table.column_names)
    asked = "question" if "question" in held else "prompt"
    questions = held.get(asked, [""] * n)
    chats = [_chat(value, name, row) for row, value in enumerate(held.get("messages", [None] * n))]
    texts = {"question": [_text(v, asked, name, row, chats[row] != "") for row, v in enumerate(questions)]}
    for column in ("context", "system"):
        texts[column] = [_text(value, column, name, row, True) for row, value in enumerate(held.get(column, [""] * n))]
    choices = [_list(value, "choices", name, row) for row, value in enumerate(held.get("choices", [None] * n))]
    for row, each in enumerate(choices):
        if len(each) > len(ascii_uppercase):
            raise wrong_value(name, "choices", f"be at most {len(ascii_uppercase)}, a letter each", len(each), row)
    texts |= {"messages": chats, "choices": [json.dumps(each, ensure_ascii=False) if each else "" for each in choices]}
    gold = held.get("expected", held.get("label", [None] * n))
    accepted = [_list(value, "expected", name, row) or None for row, value in enumerate(gold)]
    import pyarrow as pa

    columns = {column: pa.array(texts[column], pa.string()) for column in QUESTIONS.columns}
    return columns | {"label": pa.array(accepted, pa.list_(pa.string()))}


def offered(choices: Sequence[str]) -> list[list[str] | None]:
    """Return the choices of each row from the task's column; None where there are none."""
    return [json.loads(text) if text else None for text in choices]


def _text(value: Any, column: str, name: str, row: int, may_lack: bool) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    if value is None and may_lack:
        return ""
    if not isinstance(value, str) or not (value.strip() or may_lack):
        raise wrong_value(name, column, "be text", value, row)
    return value


def _list(value: Any, column: str, name: str, row: int) -> list[str]:
    """Return the texts of a list, of a JSON list in a text, or of one text."""
    values = [] if value is None or value == "" else listed(value, python=column == "choices")
    if not all(isinstance(each, (str, int, float)) for each in values):
        raise wrong_value(name, column, "be text, or a list of texts", value, row)
    return [as_text(each) for each in values]


def _chat(value: Any, name: str, row: int) -> str:
    """Return a chat as JSON; empty where there is none."""
    if value is None or value == "":
        return ""
    try:
        turns = json.loads(value) if isinstance(value, str) else value
        chat = [{"role": turn["role"], "content": turn["content"]} for turn in turns]
        if not chat or not all(t["role"] in _ROLES and isinstance(t["content"], str) for t in chat):
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise wrong_value(name, "messages", "be a list of role and content", value, row) from None
    return json.dumps(chat, ensure_ascii=False)


def wrong_value(name: str, column: str, must: str, got: Any, row: int | None = None, remedy: str = "") -> InputError:
    """Return the error for a value in a column of rows that are called `name`."""
    return input_error("run", column, must, got=got, row=row, remedy=remedy or f"Mend {name}.")


_CUT = "the limit of tokens cut answers, whose beginnings are compared. Give a higher `max_new_tokens`."


@dataclass(frozen=True)
class QuestionTemplate(PromptTemplate):
    """How a question is put: its context, the question, its choices with letters. Any text is an answer."""

    def __post_init__(self) -> None:
        """Have no labels to check."""

    def ask(self, values: Mapping[str, str]) -> str:
        """Return the question for one row."""
        choices = json.loads(values["choices"]) if values["choices"] else []
        listed = "\n".join(f"{letter}. {choice}" for letter, choice in zip(ascii_uppercase, choices, strict=False))
        return "\n\n".join(part for part in (values["context"], values["question"], listed) if part)

    def read(self, text: str, *, cut: bool = False) -> WrittenAnswer:
        """Return the text, as it is, as an answer; warn of the first that the limit of tokens cut."""
        if cut:
            warnings.warn(_CUT, UserWarning, stacklevel=2)
        return WrittenAnswer(None, text, cut)


@dataclass(frozen=True)
class QuestionPrompt(Prompt):
    """The prompt of questions, which bring their own."""

    template: PromptTemplate = QuestionTemplate("questions", QUESTIONS.name, "{question}", {})

    def text(self, task: Task, row: Row) -> str:
        """Return the texts of the chat one after another."""
        return "\n\n".join(turn["content"] for turn in self.messages(task, row))

    def messages(self, task: Task, row: Row) -> list[dict[str, str]]:
        """Return the chat: the row's own, or its system message and its question."""
        values = task.values(row)
        if values["messages"]:
            chat: list[dict[str, str]] = json.loads(values["messages"])
            own = chat.pop(0)["content"] if self.system and chat[0]["role"] == "system" else ""
            return [*self.opening(own), *chat]
        return [*self.opening(values["system"]), {"role": "user", "content": self.template.ask(values)}]

    def shown(self, task: Task, row: Row) -> str | list[dict[str, str]]:
        """Return what a function is asked: the question's text alone, or the chat where there is more than one turn."""
        chat = self.messages(task, row)
        return chat[0]["content"] if len(chat) == 1 else chat
