"""Substitution by a dictionary: every word that is a key becomes its value; dictionaries and word lists as files.

Replaced words keep their case, punctuation and possessive ending; a/an before them can be corrected.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from paraconsist.errors import check_choice, input_error
from paraconsist.transforms.interface import Items, Report, Substitution, change_statistics, each_text, plain_text
from paraconsist.transforms.sheets import read_sheet, write_sheet

#: Case and punctuation are kept, or removed.
SURFACES = ("kept", "plain")

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’][sS]\Z")
_ARTICLE = re.compile(r"\b(an?)(\s+)\Z", re.IGNORECASE)
#: Beginnings of words that do not sound as they are spelt: with a vowel ("unimportant"), with a consonant ("utility").
_VOWEL_SOUND = re.compile(r"hour|hon(?:est|ou?r)|heir|herb(?!ert)|uni(?:n|m(?!od)|d(?!i[mr]))")
_CONSONANT_SOUND = re.compile(r"eu|ewe|one(?![gir])|once|uni|us[aeiu]|ut[eio]|ur[aei]|ubi|ufo")


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
    """Return a replacement in the case of the original word; a single capital letter is not taken as upper case."""
    if word.isupper() and len(word) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if word[:1].isupper() else new


def article_before(text: str, end: int) -> re.Match[str] | None:
    """Return the match of a or an (group 1) right before a position in a text."""
    return _ARTICLE.search(text[:end])


def replace_span(text: str, start: int, end: int, new: str) -> str:
    """Return `text` with ``text[start:end]`` replaced, in its case, and the article before it corrected.

    >>> replace_span("An old man sleeps.", 3, 6, "young")
    'A young man sleeps.'
    """
    head = text[:start]
    article = article_before(text, start)
    if article is not None:
        head = head[: article.start()] + cased(article_for(new), article[1]) + article[2]
    return head + cased(new, text[start:end]) + text[end:]


@dataclass(eq=False)
class FittedDictionary:
    """Replaces each word that is a key of the dictionary (lower case) by its value, and reports what it did.

    With `repair_articles` a/an before a replaced word is corrected. `surface` is one of `SURFACES`; with ``kept`` a
    capitalised word keeps its capital, a possessive its ending. `chosen` returns for each word of a text, in order,
    whether it may be replaced; by default all may. `nouns` is that of `change_statistics`; the report has `details`.
    """

    dictionary: Mapping[str, str]
    surface: str = "kept"
    repair_articles: bool = False
    chosen: Callable[[str], Sequence[bool]] | None = None
    nouns: Callable[[str], Sequence[bool]] | None = None
    details: Mapping[str, object] = field(default_factory=dict)

    def apply(self, texts: Sequence[str]) -> list[str]:
        return each_text(lambda text: self._replace(text)[0], texts, "transform")

    def substitutions(self, text: str) -> list[Substitution]:
        return self._replace(text)[1]

    def unchanged(self, text: str) -> str:
        return plain_text(text) if self.surface == "plain" else text

    def report(self, texts: Items, changed: Items) -> Report:
        """Return `change_statistics`, with the dictionary's size and where it comes from."""
        flags = self.nouns
        nouns = None if flags is None else lambda text: flags(self.unchanged(text))
        return {
            **change_statistics(texts, changed, substitutions=self.substitutions, nouns=nouns),
            "dictionary_size": len(self.dictionary),
            **self.details,
        }

    def _replace(self, text: str) -> tuple[str, list[Substitution]]:
        text = self.unchanged(text)
        may_be_replaced = None if self.chosen is None else self.chosen(text)
        pieces: list[str] = []
        substitutions: list[Substitution] = []
        end, article = 0, -1  # the end of the last word, and the index of its piece if it is a/an
        for index, match in enumerate(_WORD.finditer(text)):
            word = match.group()
            between = text[end : match.start()]
            end = match.end()
            pieces.append(between)
            lower = word.lower()
            ending = ""
            value = self.dictionary.get(lower)
            if value is None and (possessive := _POSSESSIVE.search(word)):
                lower, ending = lower[: possessive.start()], possessive.group()
                value = self.dictionary.get(lower)
            if value is None or (may_be_replaced is not None and not may_be_replaced[index]):
                article = len(pieces) if lower in ("a", "an") else -1
                pieces.append(word)
                continue
            if self.repair_articles and article >= 0 and not between.strip() and between:
                pieces[article] = cased(article_for(value), pieces[article])
            pieces.append(cased(value, word[: len(word) - len(ending)]) + ending)
            substitutions.append(Substitution(lower, value, index))
            article = -1
        pieces.append(text[end:])
        return "".join(pieces), substitutions


@dataclass(eq=False)
class DictionaryTransformation:
    """Replaces words by a dictionary: a CSV or TSV with the columns `key` and `value`, a JSON object, or a mapping.

    The words of `block_list` are never replaced. `surface`: with ``kept`` case, punctuation and white space stay; with
    ``plain`` the text is lower-cased and punctuation removed, as the published code does (do the same to the texts that
    are not transformed). `repair_articles` sets a/an before a replaced word right.
    """

    dictionary: Any  # a file or a mapping
    block_list: str | os.PathLike[str] | Iterable[str] | None = None
    surface: str = "kept"
    repair_articles: bool = False
    name: ClassVar[str] = "dictionary"

    def __post_init__(self) -> None:
        check_choice("transformation", "surface", self.surface, SURFACES)
        is_mapping = isinstance(self.dictionary, Mapping)
        entries = check_dictionary(self.dictionary.items()) if is_mapping else read_dictionary(self.dictionary)
        blocked = frozenset[str]() if self.block_list is None else read_words(self.block_list)
        self.parameters: Mapping[str, object] = {
            "dictionary": dict(entries) if is_mapping else str(self.dictionary),
            "block_list": sorted(blocked),
            "surface": self.surface,
            "repair_articles": bool(self.repair_articles),
        }
        self.dictionary = {key: value for key, value in entries.items() if key not in blocked}

    def fit(self, texts: Sequence[str]) -> FittedDictionary:
        return FittedDictionary(self.dictionary, self.surface, bool(self.repair_articles))


def read_dictionary(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read a dictionary: CSV or TSV with the columns `key` and `value`, or a JSON object."""
    file = Path(path)
    if file.suffix not in (".csv", ".tsv", ".json"):
        raise input_error("dictionary", "dictionary", "be a .csv, .tsv or .json file", got=str(file))
    if file.suffix != ".json":
        sheet = read_sheet(file, ("key", "value"), function="dictionary", parameter="dictionary")
        return check_dictionary([(row["key"], row["value"]) for row in sheet.rows], source=file.name)
    try:
        entries = json.loads(file.read_text(encoding="utf-8-sig"), object_pairs_hook=list)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
        must = "name a file that can be read"
        raise input_error("dictionary", "dictionary", must, got=str(file), remedy=f"{problem}.") from None
    if not isinstance(entries, list) or not all(isinstance(entry, tuple) for entry in entries):
        raise input_error("dictionary", "dictionary", "be one JSON object of word: word", got=str(file))
    return check_dictionary(entries, source=file.name)


def check_dictionary(entries: Iterable[tuple[Any, Any]], *, source: str = "") -> dict[str, str]:
    """Return entries as a dictionary in lower case, with single spaces.

    Words that become one another (a -> b, b -> a, or in longer rounds) are kept with a warning: S23's dictionary has
    them, but a text with all of them only exchanges them.
    """
    dictionary: dict[str, str] = {}
    for number, (key, value) in enumerate(entries):
        row = f"{number + 1} of {source}" if source else number
        for name, text in (("key", key), ("value", value)):
            if not isinstance(text, str) or not text.strip():
                raise input_error("dictionary", name, "be words, not empty", got=text, row=row)
        key, value = " ".join(key.lower().split()), " ".join(value.split())
        if " " in key:
            raise input_error("dictionary", "key", "be one word", got=key, row=row)
        if key in dictionary:
            must = f"be unique (before: {key} -> {dictionary[key]})"
            raise input_error("dictionary", "key", must, got=f"{key} -> {value}", row=row)
        if key == value.lower():
            raise input_error("dictionary", "value", "differ from its key", got=value, row=row)
        dictionary[key] = value
    if not dictionary:
        raise input_error("dictionary", "dictionary", "have at least one entry", got=source or {})
    if rounds := _in_rounds(dictionary):
        listed = ", ".join(f"{key} -> {dictionary[key]}" for key in rounds[:4]) + (" ..." if len(rounds) > 4 else "")
        where = f"dictionary{source and f' of {source}'}"
        warnings.warn(f"{where}: {len(rounds)} words become one another: {listed}", UserWarning, stacklevel=2)
    return dictionary


def _in_rounds(dictionary: Mapping[str, str]) -> list[str]:
    """Return the keys from which the dictionary leads back to themselves."""

    def leads_back(key: str) -> bool:
        word, passed = dictionary[key].lower(), {key}
        while word in dictionary and word not in passed:
            passed.add(word)
            word = dictionary[word].lower()
        return word == key

    return sorted(filter(leads_back, dictionary))


def read_words(source: str | os.PathLike[str] | Iterable[str], *, parameter: str = "block_list") -> frozenset[str]:
    """Return words in lower case, from a text file with a word a line (``#`` begins a comment) or a list."""
    if isinstance(source, str | os.PathLike):
        try:
            lines = Path(source).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            must = "name a text file with one word on each line"
            raise input_error("transformation", parameter, must, got=str(source), remedy=f"{problem}.") from None
        words = [line.partition("#")[0].strip() for line in lines]
    else:
        words = list(source)
        for word in words:
            if not isinstance(word, str):
                raise input_error("transformation", parameter, "hold words", got=word)
    return frozenset(word.lower() for word in words if word.strip())


def write_dictionary(dictionary: Mapping[str, str], path: str | os.PathLike[str]) -> None:
    """Write a dictionary as CSV with the columns `key` and `value`, sorted: `read_dictionary` reads it back."""
    write_sheet(path, ("key", "value"), sorted(dictionary.items()))
