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
from difflib import get_close_matches
from functools import partial
from itertools import islice
from random import Random
from typing import NamedTuple, TypeAlias

from paraconsist.errors import input_error
from paraconsist.transforms.paraphrase.rules import contractions, exchanges, structures, wordnet_nouns

#: The place of the right option, its label or text, or several accepted ones.
Answer: TypeAlias = int | str | list[int] | list[str] | None


@dataclass(frozen=True)
class Prompt:
    """A question as its benchmark puts it."""

    text: str
    #: What the model is scored on, such as labels or texts of options; () where it writes its answer.
    options: tuple[str, ...] = ()
    answer: Answer = None
    #: Parts of `text` that are the question's own words, which rules of language may change.
    words: tuple[str, ...] = ()
    #: Words of the template before a colon at the beginning of a line -> how often the template has them.
    descriptors: Mapping[str, int] = field(default_factory=dict)
    #: Where a kind moved or relabelled options: what the original calls each, in the order in which they are now.
    originals: tuple[str, ...] = ()

    def held(self) -> list[str]:
        """Return the texts that no rewording may change: options and accepted answers."""
        answers = self.answer if isinstance(self.answer, list) else [self.answer]
        listed = listing(self.text, len(self.options))
        texts = [*self.options, *(listed.texts if listed else ()), *(text for text in answers if isinstance(text, str))]
        return [text.strip() for text in texts if len(text.strip()) > 2]  # shorter ones are labels


Variant: TypeAlias = Callable[[Prompt, Random], "Prompt | None"]


@dataclass(frozen=True)
class RewordingKind:
    """A kind of rewording."""

    name: str
    title: str  # what it changes
    keeps: str
    tasks: str  # for which tasks it is valid
    source: str
    #: How it changes a prompt; none where the harness makes the change itself, when it writes the prompt.
    variants: tuple[Variant, ...]
    #: Whether solved examples before the question are reworded in the same way; otherwise they are held.
    with_shots: bool = False
    #: Whether a wording needs the English language.
    english: bool = False
    #: Whether the answer key may move, so that the task must score by options or exact answers.
    moves_key: bool = False
    #: Of how many variants of a like method people found how many valid; None where nobody has measured it.
    valid: tuple[int, int] | None = None
    #: Whether it is taken where no kinds are named.
    default: bool = True


_INSTRUCTIONS = {
    "question": (
        "Please answer the question below.",
        "Here is a question for you to answer.",
        "Read the following question, then give your answer.",
    ),
    "item": ("Please work on the item below.", "Here is the next item.", "Read the following, then give your answer."),
}


def _instruction(prompt: Prompt, _: Random, *, number: int) -> Prompt:
    pool = _INSTRUCTIONS["question" if "?" in prompt.text else "item"]
    return replace(prompt, text=f"{pool[number]}\n{prompt.text}")


_DESCRIPTOR = re.compile(r"^([A-Z][A-Za-z ]{0,30}):(?=\s|\Z)", re.MULTILINE)


def common_descriptors(texts: Iterable[str], stops: Sequence[str] = ()) -> dict[str, int]:
    """Return the descriptors that all texts have, with the fewest occurrences: they belong to the template.

    Those that occur in `stops`, at which answers end, are left out: a reworded one would not end them.
    """
    common: Counter[str] | None = None
    for text in texts:
        counts = Counter(_DESCRIPTOR.findall(text))
        common = counts if common is None else common & counts
        if not common:
            break
    return {name: n for name, n in (common or {}).items() if not any(name in stop for stop in stops)}


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
    """Options listed one a line in a prompt."""

    start: int  # of the first line in the text
    end: int
    marks: list[tuple[str, str, str]]  # before the label, the label, after it
    texts: list[str]

    @property
    def labels(self) -> list[str]:
        return [label for _, label, _ in self.marks]

    def written(self, text: str, marks: Sequence[tuple[str, str, str]], texts: Sequence[str]) -> str:
        """Return `text` with these marks and options in place of its own."""
        lines = ("".join((*mark, option)) for mark, option in zip(marks, texts, strict=True))
        return text[: self.start] + "\n".join(lines) + text[self.end :]

    def rest(self, text: str) -> str:
        """Return what is written around the options."""
        return text[: self.start] + text[self.end :]


_LINE = re.compile(r"^([ \t]*\(?)([A-Z]|[a-z]|\d{1,2})([.):][ \t]*)(\S.*)$", re.MULTILINE)
_FIRST = {"A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "a": "abcdefghijklmnopqrstuvwxyz", "1": "123456789"}


def listing(text: str, n: int = 0) -> Listing | None:
    """Return the last list of options in a text, each on a line after A, B, ..., a, b, ... or 1, 2, ...

    With `n`, a list of exactly so many options. None where there is none.
    """
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
    marks = [(match[1], match[2], match[3]) for match in best]
    return Listing(best[0].start(), best[-1].end(), marks, [match[4] for match in best])


#: Options that name others, and questions that name an option or the labels: neither order nor labels may change.
_NAMES_OPTIONS = re.compile(
    r"\b(?:all|none|both|neither|any|each|some|two) of (?:the|these|those)\b|\babove\b|\bbelow\b|"
    r"\b[A-Z],? (?:and|or|&) \(?[A-Z]\b|\bneither\b.*\bnor\b|\bboth\b|"
    r"\b(?:options?|choices?|answers?|statements?) \(?[A-Z1-9]\b",
    re.IGNORECASE,
)
_NAMES_LABELS = re.compile(
    r"\([A-Z]\)|\b[A-H], ?[B-H]\b|\b[A-H] or [B-H]\b|\b(?:[Oo]ption|[Cc]hoice|[Ll]etter)s? \(?[A-H]\b"
)


def _stripped(texts: Iterable[str]) -> list[str]:
    return [text.strip() for text in texts]


def _shown(prompt: Prompt) -> Listing | None:
    """Return the options that a prompt lists, if they can be told from what is scored and nothing names them."""
    listed = listing(prompt.text, len(prompt.options))
    if listed is None or _NAMES_LABELS.search(listed.rest(prompt.text)):
        return None
    return listed if _stripped(prompt.options) in ([], listed.labels, _stripped(listed.texts)) else None


def _key(answer: Answer, labels: Sequence[str], texts: Sequence[str], place: Callable[[int], int | str]) -> Answer:
    """Return the answer key where the option at i is at, or has the label, `place(i)`; None if it names no option."""
    if isinstance(answer, int):
        moved = place(answer) if 0 <= answer < len(labels) else None
        return answer if isinstance(moved, str) else moved
    if not isinstance(answer, str):
        return None
    bare = answer.strip(" ().")
    if bare in labels:
        moved = place(labels.index(bare))
        return answer.replace(bare, labels[moved] if isinstance(moved, int) else moved)
    return answer if answer.strip() in _stripped(texts) else None


def _order(prompt: Prompt, rng: Random) -> Prompt | None:
    listed = _shown(prompt)
    if listed is None or any(map(_NAMES_OPTIONS.search, listed.texts)):
        return None
    order = list(range(len(listed.texts)))
    while order == sorted(order):
        rng.shuffle(order)
    answer = _key(prompt.answer, listed.labels, listed.texts, order.index)
    if answer is None:
        return None
    options = prompt.options
    if options and _stripped(options) != listed.labels:
        options = tuple(options[i] for i in order)
    names = _stripped(prompt.options) or listed.labels
    text = listed.written(prompt.text, listed.marks, [listed.texts[i] for i in order])
    return replace(prompt, text=text, options=options, answer=answer, originals=tuple(names[i] for i in order))


def _labels(prompt: Prompt, _: Random, *, number: int) -> Prompt | None:
    """Relabel: 1, 2, ..., or a, b, ..., or A, B, ... in brackets; the first and second that differ are variants."""
    listed = _shown(prompt)
    if listed is None or any(map(_NAMES_LABELS.search, listed.texts)) or len(listed.texts) > len(_FIRST["1"]):
        return None
    first = [one for one in ("1", "a", "A") if one != listed.labels[0]][number]
    labels = list(_FIRST[first][: len(listed.texts)])
    answer = _key(prompt.answer, listed.labels, listed.texts, labels.__getitem__)
    if answer is None or (not prompt.options and answer != prompt.answer):
        return None  # what reads a written answer knows the task's own labels
    options = prompt.options
    if _stripped(options) == listed.labels:
        options = tuple(own.replace(old, new) for own, old, new in zip(options, listed.labels, labels, strict=True))
    marks = [(before, label, after) for (before, _, after), label in zip(listed.marks, labels, strict=True)]
    text, names = listed.written(prompt.text, marks, listed.texts), _stripped(prompt.options) or listed.labels
    return replace(prompt, text=text, options=options, answer=answer, originals=tuple(names))


#: What no rule of language may change, whatever it means: code, formulas, addresses, numbers.
_HELD = re.compile(
    r"```.*?```|`[^`\n]+`|\$\$.+?\$\$|\$[^$\n]+\$|\\\(.+?\\\)|\\\[.+?\\\]|https?://\S+|\S*[_{}\\<>=^|~]\S*|\d[\d.,:/%]*",
    re.DOTALL,
)
_SENTENCE = re.compile(r"[^.!?\n]*[.!?]+(?=\s|\Z)|[^.!?\n]+(?=\n|\Z)")
_HEADING = re.compile(r"^[A-Z][\w ]{0,40}:\s+")
#: A sentence with any of these is code, a formula, an option or a line of a form, which the rules cannot read.
_NO_PROSE = re.compile(r"[`{}\\_<>=^|~$:]|\w\(|^\(?\w[.)]\s")


def keeps_texts(prompt: Prompt, text: str) -> bool:
    """Say whether `text` has the code, formulas, numbers, options and accepted answers of a prompt's text."""
    if _HELD.findall(prompt.text) != _HELD.findall(text):
        return False
    return all(prompt.text.count(each) == text.count(each) for each in prompt.held())


def _by_rule(prompt: Prompt, _: Random, *, rule: Callable[[str], Iterable[str]], number: int) -> Prompt | None:
    return next(islice(_ruled(prompt, rule), number, None), None)


def _ruled(prompt: Prompt, rule: Callable[[str], Iterable[str]]) -> Iterator[Prompt]:
    for part in prompt.words:
        if prompt.text.count(part) != 1:
            continue
        at = prompt.text.index(part)
        for sentence in _SENTENCE.finditer(part):
            old = _HEADING.sub("", sentence[0].strip())
            if len(old.split()) < 3 or _NO_PROSE.search(old):
                continue
            start = at + sentence.start() + sentence[0].index(old)
            for new in rule(old):
                text = prompt.text[:start] + new + prompt.text[start + len(old) :]
                if text != prompt.text and keeps_texts(prompt, text):
                    yield replace(prompt, text=text)


def _turned(text: str) -> Iterator[str]:
    return (rewritten for _, rewritten in (() if "'" in text else structures(text)))  # it reads no contractions


def _numbered(make: Callable[..., Prompt | None], n: int, **more: object) -> tuple[Variant, ...]:
    return tuple(partial(make, number=number, **more) for number in range(n))


_SCLAR = "Sclar et al. (2024), Quantifying language models' sensitivity to spurious features in prompt design"
_PEZESHKPOUR = "Pezeshkpour and Hruschka (2024), Large language models sensitivity to the order of options"
_ALL, _LISTED = "all that have a prompt", "those that list their options in the prompt, one a line"
_OWN = "those whose prompt has text of the question as it is, in English"
_WORDS = "everything but a word or phrase; options, accepted answers, code, numbers, formulas"


def _cased(change: Callable[[str], str]) -> Variant:
    return partial(_descriptors, change=lambda match: change(match[0]))


_RULES = "paraconsist's rules of English"

#: The catalogue of kinds, in the order of the wordings.
KINDS = {
    kind.name: kind
    for kind in (
        RewordingKind(
            "instruction", "A sentence before the question that asks for an answer.", "the whole prompt", _ALL,
            "Mizrahi et al. (2024), State of what art? A call for multi-prompt LLM evaluation",
            _numbered(_instruction, 3),
        ),
        RewordingKind(
            "case", "The template's descriptors (Question:, Answer:) in capitals, or small.",
            "everything but the case of the template's own words", "those with descriptors at the beginning of lines",
            _SCLAR, (_cased(str.upper), _cased(str.lower)), with_shots=True,
        ),
        RewordingKind(
            "separator", "A dash for the colon after descriptors, or an empty line before each.",
            "everything but what separates the parts", "those with descriptors at the beginning of lines",
            _SCLAR,
            (partial(_descriptors, change=lambda m: f"{m[1]} -"), partial(_descriptors, change=_apart)),
            with_shots=True,
        ),
        RewordingKind(
            "option_order", "The options in another order; the answer key moves with them.",
            "the options' texts, and which is right", _LISTED, _PEZESHKPOUR, (_order,) * 3, moves_key=True,
        ),
        RewordingKind(
            "option_labels", "Options labelled 1, 2, ... or a, b, ...; the answer key has the new labels.",
            "the options' texts, their order, and which is right", f"{_LISTED}, and score options",
            _SCLAR, _numbered(_labels, 2), with_shots=True, moves_key=True,
        ),
        RewordingKind(
            "shot_order", "The solved examples before the question in another order.",
            "the examples, and the question", "those with two or more solved examples",
            "Lu et al. (2022), Fantastically ordered prompts and where to find them", (),
        ),
        RewordingKind(
            "contraction", "A contraction made or taken apart: is not, isn't.", _WORDS, _OWN, _RULES,
            _numbered(_by_rule, 3, rule=contractions), english=True,
        ),
        RewordingKind(
            "phrase", "A word or phrase exchanged for one that means nearly the same, by a table.", _WORDS, _OWN,
            _RULES, _numbered(_by_rule, 3, rule=exchanges), english=True,
        ),
        RewordingKind(
            "structure", "A descriptive sentence turned round: there is, passive, cleft, fronted place.",
            _WORDS.replace("a word or phrase", "the form of a sentence"), _OWN, _RULES,
            _numbered(_by_rule, 3, rule=_turned), english=True,
        ),
        RewordingKind(
            "wordnet", "A noun exchanged for a synonym of its first sense in WordNet.", _WORDS, _OWN,
            "Penha et al. (2022), Evaluating the robustness of retrieval pipelines with query variation generators",
            _numbered(_by_rule, 3, rule=wordnet_nouns), english=True, valid=(87, 230), default=False,
        ),
    )
}  # fmt: skip


def named_kinds(names: Sequence[str] | None) -> list[RewordingKind]:
    """Return kinds by name, in the catalogue's order; without names those that are taken by default.

    InputError for an unknown name, with the nearest one.
    """
    for name in names or ():
        if name not in KINDS:
            near = get_close_matches(name, KINDS, 1)
            remedy = f"Did you mean {near[0]}?" if near else ""
            raise input_error("reword", "kinds", f"be of {', '.join(KINDS)}", got=name, remedy=remedy)
    return [kind for kind in KINDS.values() if (kind.name in names if names else kind.default)]


def reworded(prompt: Prompt, kind: str, variant: int, key: str) -> Prompt | None:
    """Return a prompt in one variant of a kind, or None where the kind has nothing to change in it.

    `key` seeds what is drawn at random: the same prompt, kind, variant and key give the same wording.
    """
    changed = KINDS[kind].variants[variant](prompt, Random(f"{key}/{kind}/{variant}"))
    return None if changed is None or changed == prompt else changed
