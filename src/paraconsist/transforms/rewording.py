"""Kinds of rewording for the prompts of benchmarks: each changes how a question is put, and never what is right.

`KINDS` is the catalogue, from ``rewordings.yaml``: what a kind changes and keeps, for which tasks it is valid, and
where it comes from. A kind has variants, functions from a `Prompt` to a reworded one, or to None where the prompt gives
it nothing to change. Options' texts, accepted answers, code, numbers and formulas stay as they are; where options move,
the answer key does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from importlib.resources import files
from itertools import islice
from random import Random
from string import ascii_uppercase
from typing import TypeAlias

from paraconsist.data.foreign import parse_yaml
from paraconsist.transforms.negation import NUMBERS
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
