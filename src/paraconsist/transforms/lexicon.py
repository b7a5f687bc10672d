"""What noun substitution asks of WordNet, as one table: sense counts, first synsets, base forms.

The table is made once through nltk's reader and kept in the user's cache (`lexicon_cache`); from there it needs
neither nltk's reader nor its loading time.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from paraconsist.errors import input_error

#: Parts of speech in the order in which nltk lists a word's synsets.
PARTS = ("n", "v", "a", "r")

_FILE_OF_PART = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}

#: Where an adjective may stand, as its synset's line has it: "galore(ip)".
_MARK = re.compile(r"\([a-z]+\)\Z")

#: The first digit of a sense key's code -> part of speech; 5 is a satellite adjective.
_PART_OF_CODE = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}


@dataclass(frozen=True)
class Lexicon:
    """WordNet's single words.

    Attributes
    ----------
    entries : mapping
        Lemma, lower case -> part of speech -> (times seen in WordNet's tagged texts, words of its first synset).
    exceptions : mapping
        Part of speech -> irregular form -> its lemmas.
    endings : mapping
        Part of speech -> (ending, ending of the lemma) pairs.
    source : str
        Where WordNet was found.
    """

    entries: Mapping[str, Mapping[str, Sequence[Any]]]
    exceptions: Mapping[str, Mapping[str, Sequence[str]]]
    endings: Mapping[str, Sequence[Sequence[str]]]
    source: str

    def base_forms(self, word: str, part: str) -> list[str]:
        """Return a word's lemmas as a part of speech, the word itself first if it is one; as nltk finds them."""
        irregular = self.exceptions[part].get(word)
        if irregular is not None:
            forms = [word, *irregular]
        else:
            forms = [word, *(word[: -len(old)] + new for old, new in self.endings[part] if word.endswith(old))]
        return [form for form in dict.fromkeys(forms) if part in self.entries.get(form, ())]

    def frequency(self, word: str, part: str) -> int:
        """Return how often a word was seen as a part of speech; -1 if it is none."""
        forms = self.base_forms(word, part)
        return sum(self.entries[form][part][0] for form in forms) if forms else -1

    def first_synset(self, word: str, parts: Sequence[str] = PARTS) -> tuple[str, ...]:
        """Return the words of a word's first synset over these parts of speech in order, () if it has none."""
        for part in parts:
            forms = self.base_forms(word, part)
            if forms:
                return tuple(self.entries[forms[0]][part][1])
        return ()

    def is_plural(self, word: str) -> bool:
        """Return whether a word is a noun's plural and no noun of its own."""
        forms = self.base_forms(word, "n")
        return bool(forms) and word not in forms

    def plural(self, word: str) -> str:
        """Return a noun's plural: WordNet's irregular one if it lists one, else by its ending."""
        irregular = self._irregular_plurals.get(word)
        if irregular is not None:
            return irregular
        if self.is_plural(word) or (word.endswith("s") and not word.endswith(("ss", "us", "is"))):
            return word
        if word.endswith("man") and word not in ("human", "german", "roman", "shaman", "talisman"):
            return word[:-3] + "men"
        if word.endswith(("s", "x", "z", "ch", "sh")):
            return word + "es"
        if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
            return word[:-1] + "ies"
        return word + "s"

    @cached_property
    def _irregular_plurals(self) -> dict[str, str]:
        """Lemma -> irregular plural; of several the first in the alphabet."""
        found: dict[str, str] = {}
        for plural, singulars in sorted(self.exceptions["n"].items()):
            for singular in singulars:
                found.setdefault(singular, plural)
        return found


def scan(reader: Any, source: str) -> Lexicon:
    """Make the table from nltk's reader: its index, and the files themselves (nltk's synsets take ten times as long).

    Raises
    ------
    InputError
        If WordNet's folder lacks its counts.
    """
    counts = _counts(reader, source)
    index = reader._lemma_pos_offset_map
    data = {part: _text(reader, f"data.{_FILE_OF_PART[part]}", source) for part in PARTS}
    names: dict[tuple[str, int], list[str]] = {}
    entries: dict[str, dict[str, list[Any]]] = {}
    for lemma, places in index.items():
        if "_" in lemma:
            continue
        for part in PARTS:
            if not places.get(part):
                continue
            place = (part, places[part][0])
            if place not in names:
                names[place] = _words(data[part], place[1])
            entries.setdefault(lemma, {})[part] = [counts[lemma, part], names[place]]
    exceptions = {part: {form: list(found) for form, found in reader._exception_map[part].items()} for part in PARTS}
    endings = {part: [list(pair) for pair in reader.MORPHOLOGICAL_SUBSTITUTIONS[part]] for part in PARTS}
    return Lexicon(entries, exceptions, endings, source)


def load_lexicon(folder: str | os.PathLike[str] | None = None) -> Lexicon:
    """Return the table: from the cache if it is there, else made and kept; once a process.

    Parameters
    ----------
    folder : path, optional
        With WordNet's dict files; by default nltk's own data, else the system's folder.

    Raises
    ------
    InputError
        If nltk or WordNet is not there; the message says how to get them.
    """
    from paraconsist.transforms.lexicon_cache import read_or_make

    return _load(None if folder is None else os.fspath(folder), read_or_make)


@cache
def _load(folder: str | None, read_or_make: Any) -> Lexicon:
    found: Lexicon = read_or_make(folder)
    return found


def _counts(reader: Any, source: str) -> Counter[tuple[str, str]]:
    """Return (lemma, part of speech) -> times seen, summed over senses."""
    found: Counter[tuple[str, str]] = Counter()
    for line in _text(reader, "cntlist.rev", source).splitlines():
        key, _, times = line.split()
        lemma, _, code = key.partition("%")
        found[lemma, _PART_OF_CODE[code[0]]] += int(times)
    return found


def _words(data: str, start: int) -> list[str]:
    """Return the words of the synset whose line begins at an offset: after its third field how many, in base 16."""
    fields = data[start : data.index("\n", start)].split(" ")
    number = int(fields[3], 16)
    return [_MARK.sub("", word).replace("_", " ") for word in fields[4 : 4 + 2 * number : 2]]


def _text(reader: Any, name: str, source: str) -> str:
    """Return one of WordNet's files; they are in ASCII, so offsets in bytes are offsets in it."""
    try:
        stream = reader.open(name)
    except OSError:
        raise input_error(
            "wordnet", "folder", f"hold {name}", got=source, remedy="Install WordNet 3.0 whole."
        ) from None
    with stream:
        text = stream.read()
    return text if isinstance(text, str) else text.decode("ascii")
