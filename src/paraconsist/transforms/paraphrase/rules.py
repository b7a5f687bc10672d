"""The rule-based generator: no model, no randomness, English.

It rewords short descriptions ("A man is riding a horse on the beach.") by exchanging words and by turning sentences
round (there is, fronted places, passives, clefts, simple present, exchanged conjuncts), and then both at once; what
does not look like one is left alone. Its paraphrases are closer to their originals than people's: read
`paraphrase_diversity` beside anything measured on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import islice, zip_longest
from typing import NamedTuple

from paraconsist.errors import check_whole, input_error
from paraconsist.transforms.dictionary import article_before, cased, replace_span
from paraconsist.transforms.lexicon import english, known_lexicon
from paraconsist.transforms.negation import (
    CLAUSE_WORDS,
    DETERMINERS,
    NEGATIVES,
    NUMBERS,
    PREPOSITIONS,
    SUBJECT_PRONOUNS,
    word_set,
)
from paraconsist.transforms.paraphrase.kept import is_in_another, language_of
from paraconsist.transforms.wordnet_nouns import pluralised

#: Exchanged only where it ends a clause: "outside a house" is not "outdoors a house".
_LAST_ONLY = frozenset({"outside"})
_NOT = ("is", "are", "was", "were", "does", "do", "did", "has", "have")
_WITH_IS = {f"{who} is": f"{who}'s" for who in ("there", "it", "he", "she")}
_CONTRACTED = {f"{verb} not": f"{verb}n't" for verb in _NOT} | {"cannot": "can't", "can not": "can't"}
_CONTRACTED |= {"they are": "they're"} | _WITH_IS
#: Phrases that mean something else after some words ("how many", "the other two", "it was started") ...
_NOT_AFTER = {phrase: word_set(words) for phrase, words in english()["not_after"].items()}
#: ... and before some: "has" is also an auxiliary, "he's been" is no "he is", and "how busy he is" has no short form.
_ONLY_BEFORE = {
    "has": re.compile(rf"\s+(?:(?:{'|'.join(sorted(DETERMINERS | NUMBERS))}|no|some|several)\b|\d)", re.IGNORECASE),
    "two": re.compile(r"\s+[a-z]+s\b", re.IGNORECASE),
    "road": re.compile(r"(?!\s+trip)"),
    "watching": re.compile(r"(?!\s+(?:tv|television|movies|films)\b)", re.IGNORECASE),
    "small": re.compile(r"(?!\s+change)"),
    **dict.fromkeys((*_WITH_IS, "they are"), re.compile(r"\s+\w")),
    **dict.fromkeys(_WITH_IS.values(), re.compile(r"\s+(?!\w+(?:ed|en|wn)\b|got|had|made|gone|won|lost|set|put)\w")),
}
#: Nouns that WordNet's first sense serves badly.
_NOT_IN_WORDNET = NUMBERS | frozenset(english()["not_in_wordnet"])
#: What begins so takes the place of an article before it.
_BRINGS_ITS_OWN = re.compile(r"(?:a|an|the|several|no|two)\s", re.IGNORECASE)


@cache
def _table() -> dict[str, str]:
    """Words and phrases that mean nearly the same; `one_way` would say more than the original the other way round."""
    table: dict[str, str] = {}
    pairs = [pair for one, other in english()["both_ways"].items() for pair in ((one, other), (other, one))]
    for one, other in [*pairs, *english()["one_way"].items()]:
        table.setdefault(one, other)
    return table


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    end = r"(?=\s*(?:[.,!?]|\Z))" if phrase in _LAST_ONLY else ""
    return re.compile(rf"(?<![\w']){re.escape(phrase)}(?![\w']){end}", re.IGNORECASE)


def _found(text: str, phrase: str) -> re.Match[str] | None:
    """Return the first place of a phrase where it has its usual meaning."""
    others, after = _NOT_AFTER.get(phrase, frozenset()), _ONLY_BEFORE.get(phrase)
    for match in _pattern(phrase).finditer(text):
        before = re.search(r"(\w+)\W*\Z", text[: match.start()])
        if not (before and before[1].lower() in others) and (after is None or after.match(text, match.end())):
            return match
    return None


def replaced(text: str, phrase: str, other: str) -> str | None:
    """Return a text with one phrase in the place of another, its first letter's case kept; None if it is not there."""
    match = _found(text, phrase)
    if match is None:
        return None
    article = article_before(text, match.start())
    if article is not None and _BRINGS_ITS_OWN.match(other):
        return text[: article.start()] + cased(other, match[0]) + text[match.end() :]
    return replace_span(text, match.start(), match.end(), other)


def exchanges(text: str) -> Iterator[str]:
    """Yield the text with one word or phrase of the table exchanged, each in turn, in the text's order."""
    places = ((_found(text, one), one, other) for one, other in _table().items())
    in_order = sorted((match.start(), -len(one), one, other) for match, one, other in places if match)
    yield from filter(None, (replaced(text, one, other) for _, _, one, other in in_order))


def contractions(text: str) -> Iterator[str]:
    """Yield the text with one contraction made, or one taken apart."""
    pairs = _CONTRACTED.items()
    yield from filter(None, (replaced(text, full, short) or replaced(text, short, full) for full, short in pairs))


def wordnet_nouns(text: str) -> Iterator[str]:
    """Yield the text with one noun as its first sense in WordNet calls it; nothing where WordNet is not installed."""
    lexicon = known_lexicon()
    if lexicon is None:
        return
    for word in dict.fromkeys(re.findall(r"[a-z]+", text)):  # lower case only: names stay
        is_noun = lexicon.frequency(word, "n") >= max(1, lexicon.frequency(word, "v"))
        if word in _NOT_IN_WORDNET or len(word) < 3 or not is_noun:
            continue
        plural = lexicon.is_plural(word)
        same = {word, *lexicon.base_forms(word, "n")}
        others = [name.lower() for name in lexicon.first_synset(word, ("n",)) if name not in same]
        changed = (replaced(text, word, pluralised(other, lexicon) if plural else other) for other in others[:2])
        yield from filter(None, changed)


_BE = ("is", "are", "was", "were")
_INDEFINITE = word_set("a an some two three four five several many")
_PLACES = word_set("in on near outside inside under behind beside along across by through during")
_PEOPLE = frozenset(english()["people"])
_CLOSED = DETERMINERS | _INDEFINITE | SUBJECT_PRONOUNS - {"i"} | word_set("people children kids men women someone")
_STATE = word_set("wearing having being going trying getting looking waiting about taking making doing")


class Sentence(NamedTuple):
    """Subject, form of be, and the rest, as words; the closing mark."""

    subject: list[str]
    be: str
    rest: list[str]
    end: str


def structures(text: str) -> Iterator[tuple[str, str]]:
    """Yield (rule, rewritten text) for every rule that applies, likeliest to keep the meaning first."""
    body = text.strip()
    end = body[len(body.rstrip(".!?")) :]
    words = body[: len(body) - len(end)].split()
    if not words or "?" in end or any(word.lower() in CLAUSE_WORDS - {"and"} for word in words) or "," in body:
        return
    yield from _there_is_undone(words, end)
    sentence = _parsed(words, end)
    if sentence is None:
        if words[0].lower() in _INDEFINITE and not {w.lower() for w in words} & {*_BE, "has", "have"}:
            yield from _fragment(words, end)
        return
    if not {word.lower() for word in words} & NEGATIVES:
        for rule in (_there_is, _simple_present, _fronted, _passive, _cleft, _now):
            yield from rule(sentence)
    yield from _conjuncts(sentence)


def _parsed(words: list[str], end: str) -> Sentence | None:
    """Find the first form of be; what stands before it must be a bare noun phrase."""
    i = next((i for i, word in enumerate(words) if word.lower() in _BE), 0)
    if 0 < i < len(words) - 1 and words[0].lower() not in ("there", "it", "this", "that", "these"):
        return Sentence(words[:i], words[i], words[i + 1 :], end)
    return None


def _there_is(s: Sentence) -> Iterator[tuple[str, str]]:
    """A man is riding -> There is a man riding."""
    if s.subject[0].lower() in _INDEFINITE and (_is_ing(s.rest[0]) or s.rest[0].lower() in _PLACES):
        yield "there is", _sentence(["There", s.be, *_lowered(s.subject), *s.rest], s.end)


def _there_is_undone(words: list[str], end: str) -> Iterator[tuple[str, str]]:
    """There is a man riding -> A man is riding; There is a dog outside -> A dog is outside."""
    if len(words) > 3 and words[0].lower() == "there" and words[1].lower() in _BE and words[2].lower() in _INDEFINITE:
        for i in range(4, len(words)):
            if _is_ing(words[i]) or words[i].lower() in _PLACES:
                yield "there is, undone", _sentence([*words[2:i], words[1], *words[i:]], end)
                yield "can be seen", _sentence([*words[2:i], "can", "be", "seen", *words[i:]], end)
                return
        yield "one can see", _sentence(["One", "can", "see", *words[2:]], end)


def _fragment(words: list[str], end: str) -> Iterator[tuple[str, str]]:
    """A man on a horse -> There is a man on a horse."""
    be = "is" if words[0].lower() in ("a", "an") else "are"
    for i in range(2, len(words)):
        if any(_may_be_finite(word) for word in words[1:i]):
            return
        if _is_ing(words[i]) or words[i].lower() in _PLACES:
            yield "there is", _sentence(["There", be, *_lowered(words)], end)
            yield "whole sentence", _sentence([*words[:i], be, *words[i:]], end)
            who = "who" if words[i - 1].lower() in _PEOPLE else "that"
            yield "relative clause", _sentence([*words[:i], who, be, *words[i:]], end)
            return


def _simple_present(s: Sentence) -> Iterator[tuple[str, str]]:
    """A man is riding a horse -> A man rides a horse."""
    base = _base(s.rest[0])
    if base is not None and s.be in ("is", "are") and s.rest[0].lower() not in _STATE and s.subject[0].lower() != "i":
        verb = base if s.be == "are" else _inflected(base, "VBZ")
        yield "simple present", _sentence([*s.subject, verb, *s.rest[1:]], s.end)


def _fronted(s: Sentence) -> Iterator[tuple[str, str]]:
    """A man is sitting on a bench -> On a bench, a man is sitting."""
    if not _is_ing(s.rest[0]):
        return
    for i in range(len(s.rest) - 2, 0, -1):
        if s.rest[i].lower() in PREPOSITIONS | {"of", "with", "to", "for"}:
            if s.rest[i].lower() in _PLACES and s.rest[i + 1].lower() in DETERMINERS:
                place = [s.rest[i].capitalize(), *s.rest[i + 1 : -1], s.rest[-1] + ","]
                yield "place first", _sentence([*place, *_lowered(s.subject), s.be, *s.rest[:i]], s.end)
            return


def _passive(s: Sentence) -> Iterator[tuple[str, str]]:
    """A man is riding a horse on the beach -> A horse is being ridden by a man on the beach."""
    base = _base(s.rest[0])
    if base is None or s.rest[0].lower() in _STATE or len(s.rest) < 3 or s.be not in ("is", "are"):
        return
    if s.rest[1].lower() not in DETERMINERS | _INDEFINITE or s.subject[0].lower() in SUBJECT_PRONOUNS:
        return
    ends = PREPOSITIONS | {"to", "for", "with", "and"}
    stop = next((i for i in range(2, len(s.rest)) if s.rest[i].lower() in ends), None)
    thing, tail = s.rest[1:stop], [] if stop is None else s.rest[stop:]
    if len(thing) < 2 or {"of", "his", "her", "their", "and"} & {word.lower() for word in (*thing, *tail)}:
        return
    be = "are" if thing[0].lower() in _INDEFINITE - {"a", "an", "some"} or thing[-1].lower().endswith("s") else "is"
    yield "passive", _sentence([*thing, be, "being", _inflected(base, "VBN"), "by", *_lowered(s.subject), *tail], s.end)


def _cleft(s: Sentence) -> Iterator[tuple[str, str]]:
    """A man is riding -> It is a man who is riding."""
    if _is_ing(s.rest[0]) and s.subject[0].lower() in DETERMINERS and s.be in ("is", "are"):
        who = "who" if s.subject[-1].lower() in _PEOPLE else "that"
        yield "cleft", _sentence(["It", "is", *_lowered(s.subject), who, s.be, *s.rest], s.end)


def _now(s: Sentence) -> Iterator[tuple[str, str]]:
    """A man is riding -> A man is currently riding; A man is busy riding."""
    if _is_ing(s.rest[0]) and s.be in ("is", "are"):
        yield "currently", _sentence([*s.subject, s.be, "currently", *s.rest], s.end)
        yield "right now", _sentence(["Right", "now,", *_lowered(s.subject), s.be, *s.rest], s.end)
        yield "in the middle of", _sentence([*s.subject, s.be, "in", "the", "middle", "of", *s.rest], s.end)
    elif s.be in ("is", "are"):
        yield "in fact", _sentence(["In", "fact,", *_lowered(s.subject), s.be, *s.rest], s.end)


def _conjuncts(s: Sentence) -> Iterator[tuple[str, str]]:
    """A man and a woman are ... -> A woman and a man are ..."""
    lower = [word.lower() for word in s.subject]
    if lower.count("and") == 1:
        i = lower.index("and")
        if lower[0] in DETERMINERS and lower[i + 1 : i + 2] and lower[i + 1] in DETERMINERS and "of" not in lower:
            yield "conjuncts", _sentence([*s.subject[i + 1 :], "and", *_lowered(s.subject[:i]), s.be, *s.rest], s.end)


def _sentence(words: list[str], end: str) -> str:
    text = " ".join(words)
    return text[:1].upper() + text[1:] + end


def _lowered(words: list[str]) -> list[str]:
    """Lower the first word's case inside a sentence, unless it may be a name."""
    first = words[0].lower()
    return [first if first in _CLOSED else words[0], *words[1:]]


def _is_ing(word: str) -> bool:
    return bool(re.fullmatch(r"[a-z]{2,}ing", word)) and word not in ("thing", "something", "nothing", "king", "spring")


@cache
def _may_be_finite(word: str) -> bool:
    """Say whether a word may be the verb of its sentence: as commonly a verb as a noun."""
    lexicon = known_lexicon()
    if lexicon is None:
        return word.endswith(("s", "ed"))
    verb = lexicon.frequency(word.lower(), "v")
    return verb > 0 and verb >= lexicon.frequency(word.lower(), "n") and not _is_ing(word)


@cache
def _base(word: str) -> str | None:
    """Return the verb that a word in -ing is a form of; None where it is of none, or lemminflect is not installed.

    Of 2,143 verbs of WordNet lemminflect misses 7 by their -ing form and 1 participle; rules of our own 36 and 187.
    """
    if not _is_ing(word) or find_spec("lemminflect") is None:
        return None
    lemmas: tuple[str, ...] = import_module("lemminflect").getLemma(word, "VERB", lemmatize_oov=False)
    return lemmas[0] if lemmas else None


def _inflected(base: str, tag: str) -> str:
    """Return a verb's participle (VBN) or third person (VBZ)."""
    return str(import_module("lemminflect").getInflection(base, tag)[0])


_FEW_WORDS = 20  # of which any language may be seen
_MOST = 60  # of one text: what two rules at once can give grows with the square


class RuleGenerator:
    """A generator by rules, `n` candidates a call; every further call for a text gives the next ones, then none.

    `rules` holds what made each: (original, candidate) -> rules.
    """

    def __init__(self, n: int = 10, language: str | None = None) -> None:
        self.n, self.language = check_whole("paraphrase", "n", n), language
        self.rules: dict[tuple[str, str], str] = {}
        self._upcoming: dict[str, Iterator[tuple[str, str]]] = {}

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        check_english(texts, self.language)
        lists = []
        for text in texts:
            is_foreign = self.language is None and is_in_another(text, "en")
            drawn = [] if is_foreign else list(islice(self._upcoming.setdefault(text, rewordings(text)), self.n))
            self.rules.update({(text, candidate): rule for rule, candidate in drawn})
            lists.append([candidate for _, candidate in drawn])
        return lists


def check_english(texts: Sequence[str], language: str | None = None) -> None:
    """Refuse texts in another language than English: the rules would exchange what looks like its words.

    Without a `language` it is told from the texts, where these are long enough and py3langid is there.
    """
    whole = " ".join(texts)
    language = language or (language_of(whole) if len(whole.split(maxsplit=_FEW_WORDS)) > _FEW_WORDS else None)
    if language not in (None, "en"):
        must, remedy = "be for the texts' language", "Give a language model as `generator`."
        raise input_error("paraphrase", "generator", must, got=f"rules ({language})", remedy=remedy)


def rewordings(text: str) -> Iterator[tuple[str, str]]:
    """Yield (rules, rewritten text), each text once: by one rule, structure and words in turn, then by two.

    >>> next(rewordings("The kids are outside."))
    ('in fact', 'In fact, the kids are outside.')
    """
    seen = {text}
    turned = list(structures(text))
    worded = [*(("synonym", t) for t in exchanges(text)), *(("contraction", t) for t in contractions(text))]
    senses = [("WordNet", t) for t in wordnet_nouns(text)]
    single = [*(pair for pairs in zip_longest(turned, worded) for pair in pairs if pair is not None), *senses]
    double = (
        (f"{first} + {second}", again)
        for first, changed in turned
        for second, rule in (("synonym", exchanges), ("WordNet", wordnet_nouns))
        for again in rule(changed)
    )
    twice = ((f"{first} + synonym", again) for first, changed in (*worded, *senses) for again in exchanges(changed))
    for rule, candidate in (*single, *islice(double, _MOST), *islice(twice, _MOST)):
        if candidate not in seen:
            seen.add(candidate)
            yield rule, candidate
