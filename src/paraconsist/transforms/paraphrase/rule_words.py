"""Rules that exchange words: our own table of near-synonyms, WordNet's first sense where it is there, contractions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from paraconsist.errors import InputError
from paraconsist.transforms.lexicon import Lexicon, load_lexicon
from paraconsist.transforms.verb_forms import NUMBERS, word_set
from paraconsist.transforms.wordnet_nouns import reinflect

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
_CONTRACTED = {
    "is not": "isn't",
    "are not": "aren't",
    "was not": "wasn't",
    "were not": "weren't",
    "does not": "doesn't",
    "do not": "don't",
    "did not": "didn't",
    "has not": "hasn't",
    "have not": "haven't",
    "can not": "can't",
    "cannot": "can't",
    "they are": "they're",
    "there is": "there's",
    "it is": "it's",
    "he is": "he's",
    "she is": "she's",
}
#: Nouns that WordNet's first sense serves badly.
_NOT_IN_WORDNET = NUMBERS | word_set(
    "one ones front back top bottom side kind lot lots pair group couple number way part thing things time times "
    "work play look run ride walk watch show hand hands head white black red blue green yellow orange color will can "
    "is are was be am do does has have had a an the in on at no so as it he she they outside inside middle years"
)


@cache
def _table() -> dict[str, str]:
    found: dict[str, str] = {}
    for text, both in ((_BOTH_WAYS, True), (_ONE_WAY, False)):
        for pair in " ".join(text.split()).split("; "):
            one, _, other = pair.strip().partition(": ")
            found.setdefault(one, other)
            if both:
                found.setdefault(other, one)
    return found


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    end = r"(?=\s*(?:[.,!?]|\Z))" if phrase in _LAST_ONLY else ""
    return re.compile(rf"(?<![\w']){re.escape(phrase)}(?![\w']){end}", re.IGNORECASE)


def replaced(text: str, phrase: str, other: str) -> str | None:
    """Return a text with one phrase in the place of another, its first letter's case kept; None if it is not there."""
    match = _pattern(phrase).search(text)
    if match is None:
        return None
    new = other[0].upper() + other[1:] if match[0][0].isupper() else other
    if len(match[0]) > 1 and match[0].isupper():
        new = other.upper()
    head, tail = text[: match.start()], text[match.end() :]
    article = re.search(r"\b(an?)\s+\Z", head, re.IGNORECASE)
    if article is not None:
        if re.match(r"(a|an|the|several|no|two)\s", other) or other in ("several people", "a lot of"):
            head = head[: article.start()]
        else:
            fitting = article_for(other)
            head = head[: article.start()] + (fitting.capitalize() if article[1][0] == "A" else fitting) + " "
    return head + new + tail


def article_for(word: str) -> str:
    """Return a or an, by the first letter and a few exceptions.

    >>> article_for("infant"), article_for("university"), article_for("hour")
    ('an', 'a', 'an')
    """
    lower = word.lower()
    if re.match(r"(uni(?!n)|eu|one\b|us[ei])", lower):
        return "a"
    return "an" if lower[:1] in "aeiou" or re.match(r"(hour|honest|heir)", lower) else "a"


def exchanges(text: str) -> Iterator[str]:
    """Yield the text with one word or phrase of the table exchanged, each in turn, in the text's order."""
    found = [
        (match.start(), -len(one), one, other)
        for one, other in _table().items()
        if (match := _pattern(one).search(text))
    ]
    for _, _, one, other in sorted(found):
        changed = replaced(text, one, other)
        if changed is not None:
            yield changed


def contractions(text: str) -> Iterator[str]:
    """Yield the text with one contraction made, or one taken apart."""
    for full, short in _CONTRACTED.items():
        changed = replaced(text, full, short)
        if changed is None:
            changed = replaced(text, short, full)
        if changed is not None:
            yield changed


def wordnet_nouns(text: str) -> Iterator[str]:
    """Yield the text with one noun as its first sense in WordNet calls it; nothing where WordNet is not installed."""
    lexicon = known_lexicon()
    if lexicon is None:
        return
    for word in dict.fromkeys(re.findall(r"[a-z]+", text)):  # lower case only: names stay
        if (
            word in _NOT_IN_WORDNET
            or len(word) < 3
            or lexicon.frequency(word, "n") < max(1, lexicon.frequency(word, "v"))
        ):
            continue
        plural = lexicon.is_plural(word)
        same = {word, *lexicon.base_forms(word, "n")}
        others = [name.lower() for name in lexicon.first_synset(word, ("n",)) if name not in same]
        for other in others[:2]:
            changed = replaced(text, word, reinflect(other, lexicon) if plural else other)
            if changed is not None:
                yield changed


@cache
def known_lexicon() -> Lexicon | None:
    """Return WordNet's table, None where WordNet is not installed."""
    try:
        return load_lexicon(None)
    except InputError:
        return None
