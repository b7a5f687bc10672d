"""Replacing words of a text by a dictionary: case, punctuation, possessives and a/an."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from paraconsist.errors import input_error
from paraconsist.transforms.interface import Substitution, each_text

#: What becomes of case and punctuation.
SURFACES = ("kept", "plain")

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’][sS]\Z")
_NOT_PLAIN = re.compile(r"[^\w\s]|_")

#: Begins of words that sound otherwise than they are spelt.
_SAID_WITH_VOWEL = ("hour", "honest", "honor", "honour", "heir", "herb")
_SAID_WITH_CONSONANT = ("uni", "use", "usa", "usu", "uti", "ute", "ura", "eu", "ewe", "one", "once", "ubi", "ufo")
_UNI_WITH_VOWEL = ("unin", "unim", "unid")  # uninterested, unimportant, unidentified


def check_surface(surface: str) -> None:
    """Refuse a surface that is none of `SURFACES`."""
    if surface not in SURFACES:
        raise input_error("transformation", "surface", f"be {' or '.join(SURFACES)}", got=surface)


def plain_text(text: str) -> str:
    """Return a text lower-cased, without punctuation, with single spaces: the form of S23's experiments."""
    return " ".join(_NOT_PLAIN.sub("", text.lower()).split())


def words_of(text: str) -> list[str]:
    """Return a text's words in lower case as dictionaries know them: without punctuation and possessive endings."""
    return [_POSSESSIVE.sub("", word) for word in _WORD.findall(text.lower())]


def words_with_places(text: str) -> list[tuple[int, int]]:
    """Return where each word of `words_of` begins and ends in a text; the end is before a possessive ending."""
    places = []
    for match in _WORD.finditer(text):
        ending = _POSSESSIVE.search(match.group())
        places.append((match.start(), match.end() - (len(ending.group()) if ending else 0)))
    return places


def article_for(word: str) -> str:
    """Return ``a`` or ``an``, by the spelling of the word that follows."""
    word = word.lower()
    if word.startswith(_UNI_WITH_VOWEL) or word.startswith(_SAID_WITH_VOWEL):
        return "an"
    if word.startswith(_SAID_WITH_CONSONANT):
        return "a"
    return "an" if word[:1] in tuple("aeiou") else "a"


class Replacer:
    """Replaces each word that is a key by its value.

    Parameters
    ----------
    dictionary : mapping of str to str
        Lower-case word -> its replacement.
    surface : str
        ``kept`` or ``plain``, see `SURFACES`. A capitalised word keeps its capital, a possessive its ending.
    repair_articles : bool
        Set a/an right before a word that was replaced.
    chosen : callable, optional
        Text -> for each of its words in order, whether it may be replaced; by default all may.
    """

    def __init__(
        self,
        dictionary: Mapping[str, str],
        *,
        surface: str = "kept",
        repair_articles: bool = False,
        chosen: Callable[[str], Sequence[bool]] | None = None,
    ) -> None:
        check_surface(surface)
        self._dictionary = dict(dictionary)
        self._plain = surface == "plain"
        self._repair = repair_articles
        self._chosen = chosen

    def apply(self, texts: Sequence[str]) -> list[str]:
        """Return the texts with their words replaced."""
        return each_text(lambda text: self._replace(text)[0], texts, "transform")

    def substitutions(self, text: str) -> list[Substitution]:
        """Return what is replaced in a text, in order."""
        return self._replace(text)[1]

    def _replace(self, text: str) -> tuple[str, list[Substitution]]:
        if self._plain:
            text = plain_text(text)
        may = None if self._chosen is None else self._chosen(text)
        out: list[str] = []
        made: list[Substitution] = []
        end, article = 0, -1  # where the last word ended, and which piece of `out` is a/an if it was one
        for index, match in enumerate(_WORD.finditer(text)):
            word = match.group()
            between = text[end : match.start()]
            end = match.end()
            out.append(between)
            lower = word.lower()
            ending = ""
            value = self._dictionary.get(lower)
            if value is None and (found := _POSSESSIVE.search(word)):
                lower, ending = lower[: found.start()], found.group()
                value = self._dictionary.get(lower)
            if value is None or (may is not None and not may[index]):
                article = len(out) if lower in ("a", "an") else -1
                out.append(word)
                continue
            if self._repair and article >= 0 and not between.strip() and between:
                out[article] = _cased(article_for(value), out[article])
            out.append(_cased(value, word[: len(word) - len(ending)]) + ending)
            made.append(Substitution(lower, value, index))
            article = -1
        out.append(text[end:])
        return "".join(out), made


def _cased(value: str, word: str) -> str:
    """Give a replacement the case of the word it stands for; a single capital says nothing of the others."""
    if word.isupper() and len(word) > 1:
        return value.upper()
    return value[:1].upper() + value[1:] if word[:1].isupper() else value
