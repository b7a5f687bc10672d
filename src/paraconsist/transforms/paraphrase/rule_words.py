"""Rules that exchange words: our own table of near-synonyms, WordNet's first sense where it is there, contractions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from paraconsist.transforms.lexicon import known_lexicon
from paraconsist.transforms.negation import NUMBERS, word_set
from paraconsist.transforms.replacing import article_before, cased, replace_span
from paraconsist.transforms.wordnet_nouns import pluralised

#: Words and phrases that mean nearly the same in everyday descriptions; both directions.
_BOTH_WAYS = """
    kids: children; kid: child; street: road; outside: outdoors; inside: indoors; photo: picture; bike: bicycle;
    bikes: bicycles; big: large; little: small; couch: sofa; car: automobile; sidewalk: pavement; happy: glad;
    someone: somebody; everyone: everybody; nobody: no one; talking: speaking; trying: attempting; relaxing:
    resting; dad: father; mom: mother; movie: film; ocean: sea; near: close to; next to: beside; taking a nap:
    napping; because: since; shouting: yelling; a group of people: several people; sitting: seated; beautiful:
    pretty; trash: garbage; soccer: football; jumping: leaping; many: a lot of; is sleeping: is asleep; are
    sleeping: are asleep; wants to: would like to; want to: would like to; watching: looking at; is about to: is
    going to; are about to: are going to; tired: weary; woman: lady; women: ladies; dinner: supper; cannot: is
    unable to; is wearing: has on; are wearing: have on; started: began; is starting: is beginning; crying:
    weeping; friends: pals; doctor: physician; tv: television; rocks: stones
"""
#: One direction only: the other would say more than the original.
_ONE_WAY = """
    man: guy; men: guys; people: individuals; puppy: young dog; both: the two; two: a pair of; several: a number
    of; lots of: a lot of; at the beach: on the beach; very: really; has: has got; in front of: before; quickly:
    fast; store: shop
"""
#: Exchanged only where they end a clause: "inside a house" is not "indoors a house".
_LAST_ONLY = frozenset({"inside", "outside"})
_NOT = ("is", "are", "was", "were", "does", "do", "did", "has", "have")
_CONTRACTED = {f"{verb} not": f"{verb}n't" for verb in _NOT} | {"can not": "can't", "cannot": "can't"}
_CONTRACTED |= {"they are": "they're"} | {f"{who} is": f"{who}'s" for who in ("there", "it", "he", "she")}
#: Nouns that WordNet's first sense serves badly.
_NOT_IN_WORDNET = NUMBERS | word_set(
    "one ones front back top bottom side kind lot lots pair group couple number way part thing things time times "
    "work play look run ride walk watch show hand hands head white black red blue green yellow orange color will can "
    "is are was be am do does has have had a an the in on at no so as it he she they outside inside middle years"
)
#: What begins so takes the place of an article before it.
_BRINGS_ITS_OWN = re.compile(r"(?:a|an|the|several|no|two)\s", re.IGNORECASE)


@cache
def _table() -> dict[str, str]:
    table: dict[str, str] = {}
    for text, both in ((_BOTH_WAYS, True), (_ONE_WAY, False)):
        for pair in " ".join(text.split()).split("; "):
            one, _, other = pair.strip().partition(": ")
            table.setdefault(one, other)
            if both:
                table.setdefault(other, one)
    return table


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    end = r"(?=\s*(?:[.,!?]|\Z))" if phrase in _LAST_ONLY else ""
    return re.compile(rf"(?<![\w']){re.escape(phrase)}(?![\w']){end}", re.IGNORECASE)


def replaced(text: str, phrase: str, other: str) -> str | None:
    """Return a text with one phrase in the place of another, its first letter's case kept; None if it is not there."""
    match = _pattern(phrase).search(text)
    if match is None:
        return None
    article = article_before(text, match.start())
    if article is not None and _BRINGS_ITS_OWN.match(other):
        return text[: article.start()] + cased(other, match[0]) + text[match.end() :]
    return replace_span(text, match.start(), match.end(), other)


def exchanges(text: str) -> Iterator[str]:
    """Yield the text with one word or phrase of the table exchanged, each in turn, in the text's order."""
    places = ((_pattern(one).search(text), one, other) for one, other in _table().items())
    for _, _, one, other in sorted((match.start(), -len(one), one, other) for match, one, other in places if match):
        changed = replaced(text, one, other)
        if changed is not None:
            yield changed


def contractions(text: str) -> Iterator[str]:
    """Yield the text with one contraction made, or one taken apart."""
    for full, short in _CONTRACTED.items():
        changed = replaced(text, full, short) or replaced(text, short, full)
        if changed is not None:
            yield changed


def wordnet_nouns(text: str) -> Iterator[str]:
    """Yield the text with one noun as its first sense in WordNet calls it; nothing where WordNet is not installed."""
    lexicon = known_lexicon()
    if lexicon is None:
        return
    for word in dict.fromkeys(re.findall(r"[a-z]+", text)):  # lower case only: names stay
        if word in _NOT_IN_WORDNET or len(word) < 3:
            continue
        if lexicon.frequency(word, "n") < max(1, lexicon.frequency(word, "v")):
            continue
        plural = lexicon.is_plural(word)
        same = {word, *lexicon.base_forms(word, "n")}
        others = [name.lower() for name in lexicon.first_synset(word, ("n",)) if name not in same]
        for other in others[:2]:
            changed = replaced(text, word, pluralised(other, lexicon) if plural else other)
            if changed is not None:
                yield changed
