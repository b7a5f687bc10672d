"""Which candidates are kept: filters on the texts alone, each with the reason that it gives."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache

from paraconsist.generation.settings import GeneratorSettings
from paraconsist.measures.text_distances import jaccard, words_of

#: What a candidate can be left out for, in the order in which it is looked at.
REASONS = ("empty", "copy of the original", "duplicate", "too short", "too long", "another language", "words overlap")

#: English words that hardly any sentence does without.
_FUNCTION_WORDS = frozenset(
    words_of(
        "a an the is are was were be been am has have had do does did will would can could may might must should of in "
        "on at to from by with for and or but not no that this these those it its he she they we you i his her their "
        "there who which as into over under near about up down out off than then so if when while because someone"
    )
)
_FEW_WORDS = 2  # more or less than the original are always allowed


def reason_against(candidate: str, original: str, accepted: Collection[str], settings: GeneratorSettings) -> str | None:
    """Return why a candidate is left out, one of `REASONS`; None if nothing in its text is against it.

    Parameters
    ----------
    candidate, original : str
    accepted : collection of str
        What was kept or is waiting to be judged for this original.
    settings : GeneratorSettings
        Lengths and overlap.

    Notes
    -----
    Copies and duplicates are those with the same words in the same order, whatever case and punctuation. The
    language check is a simple one of our own: letters of the original's scripts only, and, where the original has an
    English function word, one of those or one of the original's words in a candidate of four words or more.
    """
    words, own = words_of(candidate), words_of(original)
    if not words:
        return "empty"
    if words == own:
        return "copy of the original"
    if any(words == words_of(other) for other in accepted):
        return "duplicate"
    if len(words) < min(settings.shortest * len(own), len(own) - _FEW_WORDS):
        return "too short"
    if len(words) > max(settings.longest * len(own), len(own) + _FEW_WORDS):
        return "too long"
    if not scripts(candidate) <= scripts(original):
        return "another language"
    if len(words) > 3 and _FUNCTION_WORDS & set(own) and not (_FUNCTION_WORDS | set(own)) & set(words):
        return "another language"
    if settings.most_jaccard is not None and jaccard(candidate, original) >= settings.most_jaccard:
        return "words overlap"
    return None


@lru_cache(maxsize=65536)
def scripts(text: str) -> frozenset[str]:
    """Return the scripts of a text's letters, by the first word of their Unicode names.

    >>> sorted(scripts("Der Hund, собака"))
    ['CYRILLIC', 'LATIN']
    """
    return frozenset(_scripts(text))


def _scripts(text: str) -> Iterator[str]:
    for letter in set(text):
        if letter.isalpha():
            yield unicodedata.name(letter, "UNKNOWN").split()[0]
