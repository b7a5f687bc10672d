"""Kinds of rewording for the prompts of benchmarks: each changes how a question is put, and never what is right.

`KINDS` is the catalogue: what a kind changes and keeps, for which tasks it is valid, and where it comes from. A kind
has variants, functions from a `Prompt` to a reworded one, or to None where the prompt gives it nothing to change.
Options' texts, accepted answers, code, numbers and formulas stay as they are; where options move, the answer key does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import islice
from random import Random
from typing import NamedTuple, TypeAlias

from paraconsist.transforms.paraphrase.kept import parts
from paraconsist.transforms.paraphrase.rules import contractions, exchanges, structures, wordnet_nouns

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
    valid: tuple[int, int] | None = None  # how many variants of a like method people found valid, of how many
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


class Listing(NamedTuple):
    """Options listed one a line in a prompt, between two places of its text."""

    start: int
    end: int
    marks: list[tuple[str, str]]  # before each label and after it
    labels: list[str]
    texts: list[str]


_LINE = re.compile(r"^([ \t]*\(?)([A-Z]|[a-z]|\d{1,2})([.):][ \t]*)(\S.*)$", re.MULTILINE)
_FIRST = {"A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "a": "abcdefghijklmnopqrstuvwxyz", "1": "123456789"}


def listing(text: str, n: int = 0) -> Listing | None:
    """Return the last list of options (`n`, if given), each on a line after A, B, ..., a, b, ... or 1, 2, ..."""
    found: list[re.Match[str]] = []
    best: list[re.Match[str]] = []
    for match in _LINE.finditer(text):
        if found and match.start() == found[-1].end() + 1 and match[2] == _FIRST[found[0][2]][len(found) :][:1]:
            found.append(match)
        else:
            found = [match] if match[2] in _FIRST else []
        best = found if len(found) > 1 else best
    if not best or (n and len(best) != n):
        return None
    marks = [(match[1], match[3]) for match in best]
    return Listing(best[0].start(), best[-1].end(), marks, [match[2] for match in best], [match[4] for match in best])


#: Options that name others, and questions that name an option or the labels: neither order nor labels may change.
_NAMES_OPTIONS = re.compile(
    r"\b(?:all|none|neither|any|each|some|two) of (?:the|these|those)\b|\b(?:above|below|both|neither)\b|"
    r"\b[A-Z],? (?:and|or|&) \(?[A-Z]\b|\b(?:options?|choices?|answers?|statements?) \(?[A-Z1-9]\b",
    re.IGNORECASE,
)
_NAMES_LABELS = re.compile(r"\([A-Z]\)|\b[A-H](?:, ?| or )[B-H]\b|\b(?:[Oo]ption|[Cc]hoice|[Ll]etter)s? \(?[A-H]\b")


def _stripped(texts: Iterable[str]) -> list[str]:
    return [text.strip() for text in texts]


def _shown(prompt: Prompt) -> Listing | None:
    """Return the options that a prompt lists, if they can be told from what is scored and nothing names them."""
    listed = listing(prompt.text, len(prompt.options))
    if listed is None or _NAMES_LABELS.search(prompt.text[: listed.start] + prompt.text[listed.end :]):
        return None
    return listed if _stripped(prompt.options) in ([], listed.labels, _stripped(listed.texts)) else None


def _relisted(prompt: Prompt, listed: Listing, order: Sequence[int], labels: Sequence[str]) -> Prompt | None:
    """Return a prompt with options in another order (the old place of each) and labels; None if the key names none."""
    names, answer, options = _stripped(prompt.options) or listed.labels, prompt.answer, prompt.options
    bare = answer.strip(" ().") if isinstance(answer, str) else ""
    if isinstance(answer, int) and 0 <= answer < len(order):
        answer = order.index(answer)
    elif isinstance(answer, str) and bare in listed.labels:
        answer = answer.replace(bare, labels[order.index(listed.labels.index(bare))])
    elif bare not in [text.strip(" ().") for text in listed.texts]:
        return None
    if names == listed.labels:
        options = tuple(own.replace(old, new) for own, old, new in zip(options, listed.labels, labels, strict=False))
    elif options:
        options = tuple(options[i] for i in order)
    shown = zip(listed.marks, labels, (listed.texts[i] for i in order), strict=True)
    lines = "\n".join(f"{before}{label}{after}{text}" for (before, after), label, text in shown)
    text, originals = prompt.text[: listed.start] + lines + prompt.text[listed.end :], tuple(names[i] for i in order)
    return replace(prompt, text=text, options=options, answer=answer, originals=originals)


def another_order(n: int, rng: Random) -> list[int]:
    """Return 0, ..., n - 1 in a random order that is not theirs, if there is one."""
    order = list(range(n))
    while n > 1 and order == sorted(order):
        rng.shuffle(order)
    return order


def _order(prompt: Prompt, rng: Random) -> Prompt | None:
    listed = _shown(prompt)
    if listed is None or any(map(_NAMES_OPTIONS.search, listed.texts)):
        return None
    return _relisted(prompt, listed, another_order(len(listed.texts), rng), listed.labels)


def _labels(prompt: Prompt, _: Random, *, number: int) -> Prompt | None:
    """Relabel scored options: what reads a written answer knows the task's own labels only."""
    listed = _shown(prompt)
    n = 0 if listed is None else len(listed.texts)
    if listed is None or not prompt.options or n > 9 or any(map(_NAMES_LABELS.search, listed.texts)):
        return None
    first = [first for first in ("1", "a", "A") if first != listed.labels[0]][number]
    return _relisted(prompt, listed, range(n), _FIRST[first][:n])


_SENTENCE = re.compile(r"[^.!?\n]*[.!?]+(?=\s|\Z)|[^.!?\n]+(?=\n|\Z)")
_HEADING = re.compile(r"^[A-Z][\w ]{0,40}:\s+")
#: A sentence with any of these is code, a formula, an option or a line of a form, which the rules cannot read.
_NO_PROSE = re.compile(r"[`{}\\_<>=^|~$:]|\w\(|^\(?\w[.)]\s")


def _by_rule(prompt: Prompt, _: Random, *, rule: Callable[[str], Iterable[str]], number: int) -> Prompt | None:
    """Return the prompt with a sentence of its own words changed by a rule, in the rule's next way for each number."""
    answers = prompt.answer if isinstance(prompt.answer, list) else [prompt.answer]
    listed = listing(prompt.text, len(prompt.options))
    texts = [*prompt.options, *(listed.texts if listed else ()), *map(str, answers)]
    held = {text: prompt.text.count(text) for text in _stripped(texts) if len(text) > 2}  # shorter ones are labels
    kept = parts(prompt.text)

    def ways() -> Iterator[Prompt]:
        for words in prompt.words:
            for sentence in _SENTENCE.finditer(words):
                old = _HEADING.sub("", sentence[0].strip())
                if len(old.split()) < 3 or _NO_PROSE.search(old):
                    continue
                start = prompt.text.index(words) + sentence.start() + sentence[0].index(old)
                for new in rule(old):
                    text = prompt.text[:start] + new + prompt.text[start + len(old) :]
                    if parts(text) == kept and all(text.count(each) == n for each, n in held.items()):
                        yield replace(prompt, text=text)

    return next(islice(ways(), number, None), None)


def _turned(text: str) -> Iterator[str]:
    return (rewritten for _, rewritten in (() if "'" in text else structures(text)))  # it reads no contractions


def _descriptor_variants(*changes: Callable[[re.Match[str]], str]) -> tuple[Variant, ...]:
    return tuple(partial(_descriptors, change=change) for change in changes)


def _numbered(make: Callable[..., Prompt | None], n: int, **more: object) -> tuple[Variant, ...]:
    return tuple(partial(make, number=number, **more) for number in range(n))


_ALL, _FORM = "all that have a prompt", "those whose lines begin with descriptors and a colon"
_LISTED = "those that list their options in the prompt, one a line, and score them or an exact answer"
_OWN = "those whose prompt has text of the question as it is, in English"
_WORDS = "everything but a word or phrase; options, accepted answers, code, numbers, formulas"
_SCLAR = "Sclar et al. (2024), Quantifying language models' sensitivity to spurious features in prompt design"
_ORDER = "Pezeshkpour and Hruschka (2024), Large language models sensitivity to the order of options"
_STATE = "Mizrahi et al. (2024), State of what art? A call for multi-prompt LLM evaluation"
_SHOTS = "Lu et al. (2022), Fantastically ordered prompts and where to find them"
_PENHA = "Penha et al. (2022), Evaluating the robustness of retrieval pipelines with query variation generators"
_RULES = "paraconsist's rules of English"
_KINDS = (
    RewordingKind(
        "instruction", "A sentence before the question that asks for an answer.", "the whole prompt", _ALL, _STATE,
        _numbered(_instruction, 3),
    ),
    RewordingKind(
        "case", "The template's descriptors (Question:, Answer:) in capitals, or small.", "all but their case", _FORM,
        _SCLAR, _descriptor_variants(lambda match: match[0].upper(), lambda match: match[0].lower()), with_shots=True,
    ),
    RewordingKind(
        "separator", "A dash for the colon after descriptors, or an empty line before each.", "all but what separates",
        _FORM, _SCLAR, _descriptor_variants(lambda match: f"{match[1]} -", _apart), with_shots=True,
    ),
    RewordingKind(
        "option_order", "The options in another order; the answer key moves with them.",
        "the options' texts, and which is right", _LISTED, _ORDER, (_order,) * 3, moves_key=True,
    ),
    RewordingKind(
        "option_labels", "Options labelled 1, 2, ... or a, b, ...; the answer key has the new labels.",
        "the options, their order, and which is right", _LISTED, _SCLAR, _numbered(_labels, 2), with_shots=True,
        moves_key=True,
    ),
    RewordingKind(
        "shot_order", "The solved examples before the question in another order.", "the examples, and the question",
        "those with two or more solved examples", _SHOTS, (),
    ),
    RewordingKind(
        "contraction", "A contraction made or taken apart: is not, isn't.", _WORDS, _OWN, _RULES,
        _numbered(_by_rule, 3, rule=contractions), english=True,
    ),
    RewordingKind(
        "phrase", "A word or phrase exchanged for one that means nearly the same, by a table.", _WORDS, _OWN, _RULES,
        _numbered(_by_rule, 3, rule=exchanges), english=True,
    ),
    RewordingKind(
        "structure", "A descriptive sentence turned round: there is, passive, cleft, fronted place.",
        "what the sentence says; options, accepted answers, code, numbers, formulas", _OWN, _RULES,
        _numbered(_by_rule, 3, rule=_turned), english=True,
    ),
    RewordingKind(
        "wordnet", "A noun exchanged for a synonym of its first sense in WordNet.", _WORDS, _OWN, _PENHA,
        _numbered(_by_rule, 3, rule=wordnet_nouns), english=True, valid=(87, 230), default=False,
    ),
)  # fmt: skip
#: The catalogue of kinds, in the order of the wordings.
KINDS = {kind.name: kind for kind in _KINDS}


def reworded(prompt: Prompt, kind: str, variant: int, key: str) -> Prompt | None:
    """Return a prompt in a variant of a kind, None where that changes nothing; `key` seeds what is drawn at random."""
    changed = KINDS[kind].variants[variant](prompt, Random(f"{key}/{kind}/{variant}"))
    return None if changed is None or changed == prompt else changed
