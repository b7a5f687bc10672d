"""Substitution by a dictionary of the user's: every word that is a key becomes its value."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from paraconsist.transforms.change_statistics import change_statistics
from paraconsist.transforms.interface import Items
from paraconsist.transforms.replacing import Replacer, check_surface, plain_text
from paraconsist.transforms.word_files import check_dictionary, read_dictionary, read_words


class FittedDictionary:
    """Replaces the words of a dictionary.

    Attributes
    ----------
    dictionary : mapping of str to str
        Word -> what stands in its place, lower case.
    """

    def __init__(
        self,
        dictionary: Mapping[str, str],
        *,
        surface: str = "kept",
        repair_articles: bool = False,
        chosen: Callable[[str], Sequence[bool]] | None = None,
        nouns: Callable[[str], Sequence[bool]] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self.dictionary = dict(dictionary)
        self._replacer = Replacer(self.dictionary, surface=surface, repair_articles=repair_articles, chosen=chosen)
        self._nouns, self._plain = nouns, surface == "plain"
        self._details = dict(details or {})

    def apply(self, texts: Sequence[str]) -> list[str]:
        """Return each text with its words replaced."""
        return self._replacer.apply(texts)

    def unchanged(self, text: str) -> str:
        """Return a text in the surface of `apply`, with no word replaced."""
        return plain_text(text) if self._plain else text

    def report(self, texts: Items, changed: Items) -> dict[str, Any]:
        """Return `change_statistics`, with the dictionary's size and where it comes from."""
        return {
            **change_statistics(texts, changed, substitutions=self._replacer.substitutions, nouns=self._nouns),
            "dictionary_size": len(self.dictionary),
            **self._details,
        }


class DictionaryTransformation:
    """Replaces words by a dictionary given as a file or a mapping.

    Parameters
    ----------
    dictionary : path or mapping of str to str
        A CSV or TSV with the columns `key` and `value`, a JSON object, or a mapping; one word a key.
    block_list : path or iterable of str, optional
        Words that are never replaced.
    surface : str
        ``kept``: case, punctuation and white space stay; ``plain``: the text is lower-cased and punctuation
        removed, as the published code does (do the same to the texts that are not transformed).
    repair_articles : bool
        Set a/an before a replaced word right.

    Raises
    ------
    InputError
        If the dictionary cannot be read, repeats a key, has empty entries, or entries that cancel out.
    """

    name = "dictionary"

    def __init__(
        self,
        dictionary: str | os.PathLike[str] | Mapping[str, str],
        block_list: str | os.PathLike[str] | Iterable[str] | None = None,
        surface: str = "kept",
        repair_articles: bool = False,
    ) -> None:
        check_surface(surface)
        is_mapping = isinstance(dictionary, Mapping)
        entries = (
            check_dictionary(dictionary.items()) if isinstance(dictionary, Mapping) else read_dictionary(dictionary)
        )
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
        """Return the dictionary ready for use: there is nothing to learn."""
        return FittedDictionary(self.dictionary, surface=self._surface, repair_articles=self._repair)
