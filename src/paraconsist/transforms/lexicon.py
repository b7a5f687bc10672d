"""Lists of English words, and WordNet by nltk: sense counts, first synsets, base forms."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from paraconsist.errors import input_error

#: Where systems put WordNet's own files; Debian and its kin use the first.
SYSTEM_FOLDERS = ("/usr/share/wordnet", "/usr/local/share/wordnet", "/usr/local/WordNet-3.0/dict")

_REMEDY = (
    "Install nltk (pip install 'paraconsist[nlp]'), then WordNet: `python -m nltk.downloader wordnet`, or on Debian "
    "and Ubuntu `apt-get install wordnet-base`, or name the folder with WordNet's dict files as `wordnet`."
)


@cache
def english() -> dict[str, dict[str, str]]:
    """Return the longer lists of words: name -> word -> what stands beside it, where something does."""
    text = files("paraconsist.transforms").joinpath("english.tsv").read_text(encoding="utf-8")
    lists: dict[str, dict[str, str]] = {}
    for row in csv.DictReader(io.StringIO(text), delimiter="\t"):
        lists.setdefault(row["list"], {})[row["word"]] = row["other"]
    return lists


def find_wordnet(folder: str | os.PathLike[str] | None = None) -> str | None:
    """Return where WordNet is: the named folder, ``nltk`` for nltk's own data, a system folder, or None.

    InputError if a folder is named and is not WordNet's.
    """
    if folder is not None:
        if not (Path(folder) / "index.noun").is_file():
            must = "hold WordNet's dict files (index.noun ...)"
            raise input_error("load_wordnet", "wordnet", must, got=str(folder), remedy=_REMEDY)
        return str(folder)
    if importlib.util.find_spec("nltk") is None:
        return None
    if _in_nltk() is not None:
        return "nltk"
    return next((place for place in SYSTEM_FOLDERS if (Path(place) / "index.noun").is_file()), None)


def load_wordnet(folder: str | os.PathLike[str] | None = None) -> Any:
    """Return nltk's ``WordNetCorpusReader``, made once a process (about two seconds).

    `folder` holds WordNet's dict files; by default nltk's own data, else the system's folder. InputError if nltk or
    WordNet is not there; the message says how to get them.
    """
    source = find_wordnet(folder)
    if source is None or importlib.util.find_spec("nltk") is None:
        raise input_error("load_wordnet", "wordnet", "be found, and nltk installed", remedy=_REMEDY)
    return _reader(source)


@cache
def _reader(source: str) -> Any:
    """Return nltk's reader without the map to other versions, and without the names of the lexicographers' files.

    These 45 names, which Debian omits, are read of no synset here: numbers take their place.
    """
    base: Any = importlib.import_module("nltk.corpus.reader.wordnet").WordNetCorpusReader
    lexnames = "".join(f"{i:02d}\t{i}\t0\n" for i in range(45))

    def open_file(self: Any, file: str) -> Any:
        return io.StringIO(lexnames) if file == "lexnames" else base.open(self, file)

    reader: Any = type("FolderWordNetReader", (base,), {"open": open_file, "map_wn": lambda *_: None})
    root: Any = _in_nltk() if source == "nltk" else source
    nltk_data = importlib.import_module("nltk.data")
    if source != "nltk" and source not in nltk_data.path:  # nltk opens files below these folders only
        nltk_data.path.append(source)
    with warnings.catch_warnings():  # that there are no other languages
        warnings.simplefilter("ignore")
        return reader(root, None)


def _in_nltk() -> Any:
    """Return the place of WordNet in nltk's own data, unpacked or not, or None."""
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return importlib.import_module("nltk.data").find(name)
        except LookupError:
            continue
    return None


#: Parts of speech in the order in which nltk lists a word's synsets.
PARTS = ("n", "v", "a", "r")
#: The first digit of a sense key's code -> part of speech; 5 is a satellite adjective.
_PART_OF_CODE = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
#: The files that nltk's reader opens when they are needed.
_FILES = ("data.noun", "data.verb", "data.adj", "data.adv", "cntlist.rev")


@dataclass(frozen=True)
class Lexicon:
    """WordNet's single words."""

    reader: Any  # nltk's
    counts: Mapping[tuple[str, str], int]  # lemma and part of speech -> times seen in WordNet's tagged texts

    def base_forms(self, word: str, part: str) -> list[str]:
        """Return a word's lemmas as a part of speech, the word itself first if it is one; as nltk finds them."""
        return list(self.reader._morphy(word, part))

    def frequency(self, word: str, part: str) -> int:
        """Return how often a word was seen as a part of speech; -1 if it is none."""
        forms = self.base_forms(word, part)
        return sum(self.counts.get((form, part), 0) for form in forms) if forms else -1

    def first_synset(self, word: str, parts: Sequence[str] = PARTS) -> tuple[str, ...]:
        """Return the words of a word's first synset over these parts of speech in order, () if it has none."""
        for part in parts:
            forms = self.base_forms(word, part)
            if forms:
                offset = self.reader._lemma_pos_offset_map[forms[0]][part][0]
                names = self.reader.synset_from_pos_and_offset(part, offset).lemma_names()
                return tuple(name.replace("_", " ") for name in names)
        return ()

    def is_plural(self, word: str) -> bool:
        """Return whether a word is a noun's plural and no noun of its own."""
        forms = self.base_forms(word, "n")
        return bool(forms) and word not in forms

    def plural(self, word: str) -> str:
        """Return a noun's plural: WordNet's irregular one if it lists one, else by its ending.

        Of 4,393 nouns lemminflect forms 9 plurals that WordNet does not lead back to the noun, this 1 ("axe").
        """
        if word in self._irregular_plurals:
            return self._irregular_plurals[word]
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
        plurals: dict[str, str] = {}
        for plural, singulars in sorted(self.reader._exception_map["n"].items()):
            for singular in singulars:
                plurals.setdefault(singular, plural)
        return plurals


@cache
def known_lexicon(folder: str | os.PathLike[str] | None = None) -> Lexicon | None:
    """Return WordNet's single words, None where nltk or WordNet is not installed."""
    return None if find_wordnet(folder) is None else load_lexicon(folder)


def load_lexicon(folder: str | os.PathLike[str] | None = None) -> Lexicon:
    """Return WordNet's single words; InputError as for `load_wordnet`, and if WordNet's folder lacks a file."""
    return _counted(load_wordnet(folder))


@cache
def _counted(reader: Any) -> Lexicon:
    try:
        for name in _FILES:
            with reader.open(name) as stream:
                lines = stream.readlines() if name == "cntlist.rev" else ()
    except OSError:
        got, remedy = str(reader.root), "Install WordNet 3.0 whole."
        raise input_error("load_wordnet", "wordnet", f"hold {name}", got=got, remedy=remedy) from None
    counts: Counter[tuple[str, str]] = Counter()
    for line in lines:
        key, _, times = line.split()
        lemma, _, code = key.partition("%")
        counts[lemma, _PART_OF_CODE[code[0]]] += int(times)
    return Lexicon(reader, counts)
