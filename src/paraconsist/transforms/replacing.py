"""Replacing words of a text by a dictionary: case, punctuation, possessives and a/an."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from paraconsist.errors import check_choice
from paraconsist.transforms.interface import Substitution, each_text

#: What becomes of case and punctuation.
SURFACES = ("kept", "plain")

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’][sS]\Z")
_ARTICLE = re.compile(r"\b(an?)(\s+)\Z", re.IGNORECASE)
_NOT_PLAIN = re.compile(r"[^\w\s]|_")

#: How words begin that sound otherwise than they are spelt: with a vowel ("unimportant"), with a consonant ("utility").
_VOWEL_SOUND = re.compile(r"hour|hon(?:est|ou?r)|heir|herb(?!ert)|uni(?:n|m(?!od)|d(?!i[mr]))")
_CONSONANT_SOUND = re.compile(r"eu|ewe|one(?![gir])|once|uni|us[aeiu]|ut[eio]|ur[aei]|ubi|ufo")


def plain_text(text: str) -> str:
    """Return a text lower-cased, without punctuation, with single spaces: the form of S23's experiments."""
    return " ".join(_NOT_PLAIN.sub("", text.lower()).split())


def bare_words(text: str) -> list[str]:
    """Return a text's words in lower case as dictionaries know them: without punctuation and possessive endings."""
    return [_POSSESSIVE.sub("", word) for word in _WORD.findall(text.lower())]


def bare_word_spans(text: str) -> list[tuple[int, int]]:
    """Return where each word of `bare_words` begins and ends in a text."""
    spans = ((match.start(), _POSSESSIVE.sub("", match.group())) for match in _WORD.finditer(text))
    return [(start, start + len(word)) for start, word in spans]


def article_for(word: str) -> str:
    """Return ``a`` or ``an``, by the spelling of the word that follows.

    >>> [article_for(word) for word in ("dog", "infant", "university", "uninvited guest", "hour", "one-armed bandit")]
    ['a', 'an', 'a', 'an', 'an', 'a']
    """
    word = word.lower()
    by_letter = word[:1] in tuple("aeiou") and not _CONSONANT_SOUND.match(word)
    return "an" if by_letter or _VOWEL_SOUND.match(word) else "a"


def cased(new: str, word: str) -> str:
    """Give a replacement the case of the word it stands for; a single capital says nothing of the others."""
    if word.isupper() and len(word) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if word[:1].isupper() else new


def article_before(text: str, end: int) -> re.Match[str] | None:
    """Return the match of a or an (group 1) that stands right before a place of a text."""
    return _ARTICLE.search(text[:end])


def replace_span(text: str, start: int, end: int, new: str) -> str:
    """Return `text` with ``text[start:end]`` replaced, in its case, and with the article before it set right.

    >>> replace_span("An old man sleeps.", 3, 6, "young")
    'A young man sleeps.'
    """
    head = text[:start]
    article = article_before(text, start)
    if article is not None:
        head = head[: article.start()] + cased(article_for(new), article[1]) + article[2]
    return head + cased(new, text[start:end]) + text[end:]


class Replacer:
    """Replaces each word that is a key of the dictionary (lower case) by its value.

    With `repair_articles` a/an before it is set right. `surface` is one of `SURFACES`; with ``kept`` a capitalised word
    keeps its capital, a possessive its ending. `chosen` says for each word of a text, in order, whether it may be
    replaced; by default all may.
    """

    def __init__(
        self,
        dictionary: Mapping[str, str],
        *,
        surface: str = "kept",
        repair_articles: bool = False,
        chosen: Callable[[str], Sequence[bool]] | None = None,
    ) -> None:
        check_choice("transformation", "surface", surface, SURFACES)
        self.dictionary = dict(dictionary)
        self._plain, self._repair, self._chosen = surface == "plain", repair_articles, chosen

    def apply(self, texts: Sequence[str]) -> list[str]:
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
            value = self.dictionary.get(lower)
            if value is None and (possessive := _POSSESSIVE.search(word)):
                lower, ending = lower[: possessive.start()], possessive.group()
                value = self.dictionary.get(lower)
            if value is None or (may is not None and not may[index]):
                article = len(out) if lower in ("a", "an") else -1
                out.append(word)
                continue
            if self._repair and article >= 0 and not between.strip() and between:
                out[article] = cased(article_for(value), out[article])
            out.append(cased(value, word[: len(word) - len(ending)]) + ending)
            made.append(Substitution(lower, value, index))
            article = -1
        out.append(text[end:])
        return "".join(out), made
