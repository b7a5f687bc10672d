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
from itertools import chain, islice
from math import factorial
from random import Random
from string import ascii_uppercase
from typing import TypeAlias

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
    is_settled: bool = True  # are the options that it lists surely those, and whole?
    written: tuple[str, ...] = ()  # whole texts in which a model put the question in other words

    @property
    def asked(self) -> str:
        """The part that a model may put in other words: the last of the question's own words with a question mark."""
        listed = listing(self.text, len(self.options))
        before = self.text[: listed[0].start()] if listed else self.text
        words = [part.strip() for part in self.words if part in before and not _DESCRIPTOR.search(part)]
        return next((part for part in reversed(words) if "?" in part and len(part.split()) > 2), "")


Variant: TypeAlias = Callable[[Prompt, Random], "Prompt | None"]
_Change: TypeAlias = Callable[[re.Match[str]], str]


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
    valid: tuple[int, int] | None = None  # how many variants a person found valid, of how many: docs/rewordings.md
    default: bool = True  # is it taken where no kinds are named?


#: Before a question, and before anything else, such as a sentence to be continued.
_INSTRUCTIONS = (
    ("Please answer the question below.", "Please work on the item below."),
    ("Here is a question for you to answer.", "Here is the next item."),
    ("Read the following question, then give your answer.", "Read the following, then go on."),
)


def _instruction(prompt: Prompt, _: Random, *, number: int) -> Prompt:
    is_one_question = "?" in prompt.text and max(prompt.descriptors.values(), default=1) == 1
    return replace(prompt, text=f"{_INSTRUCTIONS[number][not is_one_question]}\n{prompt.text}")


_DESCRIPTOR = re.compile(r"^([A-Z][A-Za-z ]{0,30}):(?=\s|\Z)", re.MULTILINE)


def common_descriptors(texts: Iterable[str], stops: Sequence[str] = ()) -> dict[str, int]:
    """Return the descriptors that all of several texts have, with the fewest occurrences; none in `stops`."""
    first, *others = (Counter(_DESCRIPTOR.findall(text)) for text in texts)
    common = reduce(Counter.__and__, others, first) if others else {}
    return {name: n for name, n in common.items() if not any(name in stop for stop in stops)}


def _descriptors(prompt: Prompt, _: Random, *, changes: Sequence[_Change], number: int) -> Prompt | None:
    """Change the template's descriptors; those that the question has, too, stay."""
    counts = Counter(_DESCRIPTOR.findall(prompt.text))
    ours = {name for name, n in prompt.descriptors.items() if counts[name] == n}
    text = _DESCRIPTOR.sub(lambda match: changes[number](match) if match[1] in ours else match[0], prompt.text)
    return None if text == prompt.text else replace(prompt, text=text)


def _apart(match: re.Match[str]) -> str:
    before = match.string[: match.start()]
    return match[0] if not before or before.endswith("\n\n") else f"\n{match[0]}"


_CASES: tuple[_Change, ...] = (lambda match: match[0].upper(), lambda match: match[0].lower())
_SEPARATORS: tuple[_Change, ...] = (lambda match: f"{match[1]}::", _apart)
_LINE = re.compile(r"^([ \t]*\(?)([A-Z]|[a-z]|\d{1,2})([.):][ \t]*)(\S.*)$", re.MULTILINE)
_FIRST = {"A": ascii_uppercase, "a": ascii_uppercase.lower(), "1": "123456789"}


def listing(text: str, n: int = 0) -> list[re.Match[str]]:
    """Return the lines of the last options that a text lists, after A, B, ..., a, b, ... or 1, 2, ...: `n`, if given.

    The groups of each are what is before the label, the label, what is after it, and the option.
    """
    found, best = list[re.Match[str]](), list[re.Match[str]]()
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
NAMES_LABELS = re.compile(r"\([A-Z]\)|\b[A-H](?:, ?| (?:n?or|and|&) )[B-H]\b|\b(?i:option|choice|letter)s? \(?[A-H]\b")


def _columns(listed: Sequence[re.Match[str]]) -> tuple[list[str], list[str]]:
    """Return the labels and the texts of listed options."""
    return [line[2] for line in listed], [line[4].strip() for line in listed]


def settled(prompts: Sequence[Prompt]) -> list[Prompt]:
    """Return a task's prompts, each with whether the options that it lists are surely options, and whole.

    Where most go on with the same text after their options, another's last option has several lines. Numbers label
    options where every written answer is one of them, or of their texts; else they count steps.
    """
    lists = [listing(prompt.text, len(prompt.options)) for prompt in prompts]
    pairs = [(prompt, listed) for prompt, listed in zip(prompts, lists, strict=True) if listed]
    rests = Counter(prompt.text[listed[-1].end() :] for prompt, listed in pairs)
    usual = {rest for rest, n in rests.items() if 2 * n > rests.total()}
    are_steps = any(
        _bare(str(prompt.answer)) not in map(_bare, chain(*_columns(listed)))
        for prompt, listed in pairs
        if not prompt.options and listed[0][2] == "1"
    )
    vague = "1" if are_steps else ""
    return [
        replace(each, is_settled=not listed or (listed[0][2] != vague and usual <= {each.text[listed[-1].end() :]}))
        for each, listed in zip(prompts, lists, strict=True)
    ]


def _bare(text: str) -> str:
    return text.strip(" ().")


def _shown(prompt: Prompt) -> list[re.Match[str]]:
    """Return the options that a prompt lists, if they can be told from what is scored and nothing names them."""
    listed = listing(prompt.text, len(prompt.options)) if prompt.is_settled else []
    if not listed or NAMES_LABELS.search(prompt.text[: listed[0].start()] + prompt.text[listed[-1].end() :]):
        return []
    return listed if [*map(str.strip, prompt.options)] in ([], *_columns(listed)) else []


def _relisted(prompt: Prompt, order: Sequence[int], labels: Sequence[str]) -> Prompt | None:
    """Return a prompt with options in another order (the old place of each) and labels; None if the key names none."""
    listed, answer, options = listing(prompt.text, len(order)), prompt.answer, prompt.options
    old_labels, texts = _columns(listed)
    bare, names = _bare(answer) if isinstance(answer, str) else "", [*map(str.strip, options)] or old_labels
    if isinstance(answer, int) and 0 <= answer < len(options):  # without options it is a number
        answer = order.index(answer)
    elif not bare or (bare in old_labels) == (bare in map(_bare, texts)):  # which of the two is meant?
        return None
    elif isinstance(answer, str) and bare in old_labels:
        answer = answer.replace(bare, labels[order.index(old_labels.index(bare))])
    if names == old_labels:
        options = tuple(own.replace(old, new) for own, old, new in zip(options, old_labels, labels, strict=False))
    else:
        options = tuple(options[i] for i in order)
    lines = [f"{line[1]}{label}{line[3]}{listed[i][4]}" for line, label, i in zip(listed, labels, order, strict=True)]
    text = prompt.text[: listed[0].start()] + "\n".join(lines) + prompt.text[listed[-1].end() :]
    return replace(prompt, text=text, options=options, answer=answer, originals=tuple(names[i] for i in order))


def reorder(n: int, rng: Random, number: int = 0) -> list[int]:
    """Return 0, ..., n - 1 in the next random order for each `number`, each but theirs once while there are any."""
    orders = [list(range(n))]
    while len(orders) < min(number + 2, factorial(n)):
        orders += [order] if (order := rng.sample(range(n), n)) not in orders else []
    return orders[-1]


def _unlisted_order(prompt: Prompt, rng: Random) -> Prompt | None:
    """Return a prompt whose options the harness lists in another order; the key is one letter, or texts of options."""
    options, answer, letters = prompt.options, prompt.answer, ascii_uppercase[: len(prompt.options)]
    is_named = NAMES_LABELS.search(prompt.text) or any(map(_NAMES_OPTIONS.search, options)) or listing(prompt.text)
    if is_named or len({*options}) < len(options) or len(letters) < len(options) or not isinstance(answer, list):
        return None
    order, originals = reorder(len(options), rng), ""
    if answer in [[letter] for letter in letters]:
        originals = "".join(letters[i] for i in order)
        answer = [letters[originals.index(str(answer[0]))]]
    elif not {*answer} <= {*options}:
        return None
    return replace(prompt, options=tuple(options[i] for i in order), answer=answer, originals=(*originals,))


def _order(prompt: Prompt, rng: Random) -> Prompt | None:
    if prompt.is_unlisted:
        return _unlisted_order(prompt, rng)
    listed = _shown(prompt)
    if not listed or any(_NAMES_OPTIONS.search(line[4]) for line in listed):
        return None
    return _relisted(prompt, reorder(len(listed), rng), _columns(listed)[0])


def _labels(prompt: Prompt, _: Random, *, number: int) -> Prompt | None:
    listed = _shown(prompt)
    if not listed or len(listed) > 9 or re.search(r"\bletters?\b", prompt.text, re.IGNORECASE):
        return None
    first = [first for first in ("1", "a", "A") if first != listed[0][2]][number]
    labels = _FIRST[first][: len(listed)]
    taken = re.compile(rf"\W*(?:[{labels}]{f'|{_COUNTS.pattern}' if first == '1' else ''})\W*", re.IGNORECASE)
    if any(taken.fullmatch(line[4]) or NAMES_LABELS.search(line[4]) for line in listed):  # which of the two is meant?
        return None
    return _relisted(prompt, range(len(listed)), labels)


_SENTENCE = re.compile(r"[^.!?\n]*[.!?]+(?=\s|\Z)|[^.!?\n]+(?=\n|\Z)")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; a line ends one."""
    return [match[0].strip() for match in _SENTENCE.finditer(text)]


#: Before an option that is no line of a list; a Q is a question's.
_ITEM = re.compile(r"(?:^[ \t]*(?:[-*•]|(?![Qq])\w[.)])|(?<![\w.])(?:\w\)|[A-H]\.))[ \t]*\Z", re.MULTILINE)
_HEADING = re.compile(r"^[A-Z][\w ]{0,40}:\s+")
_COUNTS = re.compile(rf"\b(?:{'|'.join(sorted(NUMBERS))}|one|both|half|pair|couple|dozens?)\b", re.IGNORECASE)
#: A sentence with any of these is code, a formula, an option or a line of a form, which the rules cannot read.
_NO_PROSE = re.compile(r"[`{}\\_<>=^|~$:]|\w\(|^\(?\w[.)]\s")


def _by_rule(prompt: Prompt, _: Random, *, rule: Callable[[str], Iterable[str]], number: int) -> Prompt | None:
    """Return the prompt with a sentence of its own words changed by a rule, in the rule's next way for each number."""
    is_kept = _keeping(prompt)

    def ways() -> Iterator[Prompt]:
        for words in prompt.words:
            for sentence in _SENTENCE.finditer(words):
                old = _HEADING.sub("", sentence[0].strip())
                if len(old.split()) < 3 or _NO_PROSE.search(old) or not old[0].isupper():
                    continue  # without capitals names cannot be told from other words
                start = prompt.text.index(words) + sentence.start() + sentence[0].index(old)
                if _ITEM.search(prompt.text[max(0, start - 9) : start]):
                    continue
                for new in rule(old):
                    text = prompt.text[:start] + new + prompt.text[start + len(old) :]
                    if is_kept(text):
                        yield replace(prompt, text=text)

    return next(islice(ways(), number, None), None)


def _keeping(prompt: Prompt) -> Callable[[str], bool]:
    """Return what tells whether a text has a prompt's options, accepted answers, numbers, names and code as it has."""
    answers = prompt.answer if isinstance(prompt.answer, list) else [prompt.answer]
    texts = [*prompt.options, *_columns(listing(prompt.text, len(prompt.options)))[1], *map(str, answers)]
    shown = [text for text in map(str.strip, texts) if len(text) > 2]  # shorter ones are labels

    def held(text: str) -> tuple[object, ...]:
        small = text.lower()  # an answer that begins a sentence has a capital
        named = [(text.count(each), small.count(each.lower())) for each in shown]
        return parts(text), Counter(_COUNTS.findall(text)), named

    kept = held(prompt.text)
    return lambda text: held(text) == kept


def with_written(prompt: Prompt, written: Iterable[str]) -> Prompt:
    """Return a prompt with the texts in which its question stands in other words, those that keep the rest."""
    is_kept, asked = _keeping(prompt), prompt.asked
    texts = (prompt.text.replace(asked, new, 1) for new in written)
    return replace(prompt, written=tuple(filter(is_kept, texts)))


def _as_written(prompt: Prompt, _: Random, *, number: int) -> Prompt | None:
    return replace(prompt, text=prompt.written[number]) if number < len(prompt.written) else None


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
WRITTEN = "generated"
#: The catalogue of kinds, in the order of the wordings.
KINDS = {kind.name: kind for kind in (
    RewordingKind("instruction", "A sentence before the question that asks for an answer.", "the whole prompt", _ALL,
        _STATE, _numbered(_instruction, 3), valid=(200, 200)),
    RewordingKind("case", "The template's descriptors (Question:, Answer:) in capitals, or small.",
        "all but case", _FORM, _SCLAR, _numbered(_descriptors, 2, changes=_CASES), with_shots=True, valid=(200, 200)),
    RewordingKind("separator", "Two colons for one after descriptors, or an empty line before each.",
        "all but what separates", _FORM, _SCLAR, _numbered(_descriptors, 2, changes=_SEPARATORS),
        with_shots=True, valid=(200, 200)),
    RewordingKind("option_order", "The options in another order; the answer key moves with them.",
        "the options' texts, and which is right", _LISTED, _ORDER, (_order,) * 3, moves_key=True, valid=(200, 200)),
    RewordingKind("option_labels", "Options labelled 1, 2, ... or a, b, ...; the answer key has the new labels.",
        "the options, their order, and which is right", _LISTED, _SCLAR, _numbered(_labels, 2), with_shots=True,
        moves_key=True, valid=(199, 200)),
    RewordingKind("shot_order", "The solved examples before the question in another order.",
        "the examples, and the question", "those with two or more solved examples", _SHOTS, (), valid=(200, 200)),
    RewordingKind("contraction", "A contraction made or taken apart: is not, isn't.", _WORDS, _OWN, _RULES,
        _numbered(_by_rule, 3, rule=contractions), english=True, valid=(151, 151)),
    RewordingKind("phrase", "A word or phrase exchanged for one that means nearly the same, by a table.", _WORDS, _OWN,
        _RULES, _numbered(_by_rule, 3, rule=exchanges), english=True, valid=(198, 200)),
    RewordingKind("structure", "A descriptive sentence turned round: there is, passive, cleft, fronted place.",
        "what the sentence says; options, accepted answers, code, numbers, formulas", _OWN, _RULES,
        _numbered(_by_rule, 3, rule=lambda text: (new for _, new in structures(text) if "'" not in text)), english=True,
        valid=(135, 140)),
    RewordingKind("wordnet", "A noun exchanged for a synonym of its first sense in WordNet.", _WORDS, _OWN, _PENHA,
        _numbered(_by_rule, 3, rule=wordnet_nouns), english=True, valid=(87, 230), default=False),
    RewordingKind(WRITTEN, "The question in other words, by a model of your own (`--generator`), checked.",
        "options, accepted answers, code, numbers, names, quotations",
        "those that ask with a question mark, where what is written passes",
        "the model that you name", _numbered(_as_written, 3), default=False),
)}  # fmt: skip


def reworded(prompt: Prompt, kind: str, variant: int, key: str) -> Prompt | None:
    """Return a prompt in a variant of a kind, None where that changes nothing; `key` seeds what is drawn at random."""
    changed = KINDS[kind].variants[variant](prompt, Random(f"{key}/{kind}/{variant}"))
    return None if changed is None or changed == prompt else changed
