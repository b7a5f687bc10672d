"""Substitution by a dictionary: every word that is a key becomes its value; dictionaries and word lists as files."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from paraconsist.errors import check_choice, input_error
from paraconsist.transforms.change_statistics import change_statistics
from paraconsist.transforms.interface import Items
from paraconsist.transforms.replacing import SURFACES, Replacer, plain_text
from paraconsist.transforms.sheets import read_sheet, write_sheet


class FittedDictionary(Replacer):
    """Replaces words as `Replacer` does and reports it; `nouns` as for `change_statistics`, `details` go into it."""

    def __init__(
        self,
        dictionary: Mapping[str, str],
        *,
        nouns: Callable[[str], Sequence[bool]] | None = None,
        details: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(dictionary, **options)
        self._nouns, self._details = nouns, dict(details or {})

    def unchanged(self, text: str) -> str:
        return plain_text(text) if self._plain else text

    def report(self, texts: Items, changed: Items) -> dict[str, Any]:
        """Return `change_statistics`, with the dictionary's size and where it comes from."""
        return {
            **change_statistics(texts, changed, substitutions=self.substitutions, nouns=self._nouns),
            "dictionary_size": len(self.dictionary),
            **self._details,
        }


class DictionaryTransformation:
    """Replaces words by a dictionary given as a file or a mapping.

    `dictionary` is a CSV or TSV with the columns `key` and `value`, a JSON object, or a mapping; one word a key. The
    words of `block_list` are never replaced. `surface`: with ``kept`` case, punctuation and white space stay; with
    ``plain`` the text is lower-cased and punctuation removed, as the published code does (do the same to the texts that
    are not transformed). `repair_articles` sets a/an before a replaced word right. InputError if the dictionary cannot
    be read, repeats a key, has empty entries, or entries that cancel out.
    """

    name = "dictionary"

    def __init__(
        self,
        dictionary: str | os.PathLike[str] | Mapping[str, str],
        block_list: str | os.PathLike[str] | Iterable[str] | None = None,
        surface: str = "kept",
        repair_articles: bool = False,
    ) -> None:
        check_choice("transformation", "surface", surface, SURFACES)
        is_mapping = isinstance(dictionary, Mapping)
        entries = check_dictionary(dictionary.items()) if is_mapping else read_dictionary(dictionary)  # type: ignore
        self.blocked = frozenset() if block_list is None else read_words(block_list)
        self.dictionary = {key: value for key, value in entries.items() if key not in self.blocked}
        self.parameters: Mapping[str, object] = {
            "dictionary": dict(entries) if is_mapping else str(dictionary),
            "block_list": sorted(self.blocked),
            "surface": surface,
            "repair_articles": bool(repair_articles),
        }
        self._surface, self._repair = surface, bool(repair_articles)

    def fit(self, texts: Sequence[str]) -> FittedDictionary:
        return FittedDictionary(self.dictionary, surface=self._surface, repair_articles=self._repair)


def read_dictionary(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read a dictionary: CSV or TSV with the columns `key` and `value`, or a JSON object.

    InputError if it cannot be read, or `check_dictionary` refuses it.
    """
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
    """Return entries as a dictionary in lower case, white space evened out.

    Words that become one another (a -> b, b -> a, or in longer rounds) are kept and warned of: S23's own dictionary has
    them, but a text that holds them all only trades them. InputError if there is no entry, an entry is empty, no text
    or its own key, a key is more than one word, or there twice.
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
            must = f"be there once (before: {key} -> {dictionary[key]})"
            raise input_error("dictionary", "key", must, got=f"{key} -> {value}", row=row)
        if key == value.lower():
            raise input_error("dictionary", "value", "be another word than its key", got=value, row=row)
        dictionary[key] = value
    if not dictionary:
        raise input_error("dictionary", "dictionary", "have at least one entry", got=source or {})
    rounds = _in_rounds(dictionary)
    if rounds:
        listed = ", ".join(f"{key} -> {dictionary[key]}" for key in rounds[:4]) + (" ..." if len(rounds) > 4 else "")
        warnings.warn(
            f"dictionary{source and f' of {source}'}: {len(rounds)} words become one another: {listed}",
            UserWarning,
            stacklevel=2,
        )
    return dictionary


def _in_rounds(dictionary: Mapping[str, str]) -> list[str]:
    """Return the keys from which the dictionary leads back to themselves."""
    on_round: set[str] = set()
    seen: set[str] = set()
    for key in dictionary:
        path: dict[str, int] = {}
        while key in dictionary and key not in seen and key not in path:
            path[key] = len(path)
            key = dictionary[key].lower()
        if key in path:
            on_round |= {word for word, place in path.items() if place >= path[key]}
        seen |= path.keys()
    return sorted(on_round)


def read_words(source: str | os.PathLike[str] | Iterable[str], *, parameter: str = "block_list") -> frozenset[str]:
    """Return words in lower case: from a text file with one a line (``#`` begins a comment), or as given.

    InputError if the file cannot be read, or a word is no text.
    """
    if isinstance(source, str | os.PathLike):
        try:
            lines = Path(source).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            must = "name a text file with a word a line"
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
