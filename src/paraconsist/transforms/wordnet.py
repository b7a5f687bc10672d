"""WordNet through nltk's reader: from nltk's own data, or from the folder that Debian's package installs."""

from __future__ import annotations

import importlib
import io
import os
import warnings
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from paraconsist.errors import input_error

#: Where systems put WordNet's own files; Debian and its kin use the first.
SYSTEM_FOLDERS = ("/usr/share/wordnet", "/usr/local/share/wordnet", "/usr/local/WordNet-3.0/dict")

#: The names of the lexicographer files, by part of speech (1 noun, 2 verb, 3 adjective, 4 adverb) in the order of
#: their numbers. Debian leaves the file with them out; they are part of the format.
_NOUNS = (
    "Tops act animal artifact attribute body cognition communication event feeling food group location motive object "
    "person phenomenon plant possession process quantity relation shape state substance time"
)
_VERBS = (
    "body change cognition communication competition consumption contact creation emotion motion perception "
    "possession social stative weather"
)
_LEXICOGRAPHER_FILES = [
    *(("adj", name, 3) for name in ("all", "pert")),
    ("adv", "all", 4),
    *(("noun", name, 1) for name in _NOUNS.split()),
    *(("verb", name, 2) for name in _VERBS.split()),
    ("adj", "ppl", 3),
]

_REMEDY = (
    "Install nltk (pip install 'paraconsist[nlp]'), then WordNet: `python -m nltk.downloader wordnet`, or on Debian "
    "and Ubuntu `apt-get install wordnet-base`, or name the folder with WordNet's dict files."
)


class WordNet:
    """What the transforms ask of WordNet; all words are lower case.

    Parameters
    ----------
    reader
        An nltk ``WordNetCorpusReader``, for what is not asked here (`reader.synsets` and so on).
    source : str
        Where it was found, for messages.
    """

    def __init__(self, reader: Any, source: str) -> None:
        self.reader = reader
        self.source = source
        self._frequency = lru_cache(maxsize=65536)(self._count)

    def __repr__(self) -> str:
        return f"WordNet({self.source})"

    def base_forms(self, word: str, part: str) -> tuple[str, ...]:
        """Return the dictionary forms of a word as a part of speech (``n``, ``v``, ``a``, ``r``), () if none.

        nltk gives them as a set in effect: they are sorted, the word itself first if it is one of them.
        """
        forms = self.reader._morphy(word, part)
        return tuple(sorted(set(forms), key=lambda form: (form != word, form)))

    def frequency(self, word: str, part: str) -> int:
        """Return how often a word was seen as a part of speech in WordNet's tagged texts; -1 if it is none."""
        return self._frequency(word, part)

    def _count(self, word: str, part: str) -> int:
        forms = self.base_forms(word, part)
        if not forms:
            return -1
        found = 0
        for form in forms:
            for synset in self.reader.synsets(form, part):
                found += sum(lemma.count() for lemma in synset.lemmas() if lemma.name().lower() == form)
        return found

    def antonyms(self, word: str, parts: str = "ar") -> tuple[str, ...]:
        """Return a word's direct antonyms, sorted, over all its senses in these parts of speech."""
        found = set()
        for part in parts:
            for synset in self.reader.synsets(word, part):
                for lemma in synset.lemmas():
                    if lemma.name().lower() == word:
                        found |= {other.name().replace("_", " ") for other in lemma.antonyms()}
        return tuple(sorted(found))


def find_wordnet(folder: str | os.PathLike[str] | None = None) -> str | None:
    """Return where WordNet is: the named folder, ``nltk`` for nltk's own data, a system folder, or None.

    Raises
    ------
    InputError
        If a folder is named and is not WordNet's.
    """
    if folder is not None:
        if not (Path(folder) / "index.noun").is_file():
            raise input_error(
                "wordnet", "folder", "hold WordNet's dict files (index.noun ...)", got=str(folder), remedy=_REMEDY
            )
        return str(folder)
    if _nltk() is None:
        return None
    if _in_nltk() is not None:
        return "nltk"
    return next((place for place in SYSTEM_FOLDERS if (Path(place) / "index.noun").is_file()), None)


@cache
def load_wordnet(folder: str | os.PathLike[str] | None = None) -> WordNet:
    """Return WordNet, read once a process (about two seconds).

    Parameters
    ----------
    folder : path, optional
        With WordNet's dict files; by default nltk's own data, else the system's folder.

    Raises
    ------
    InputError
        If nltk or WordNet is not there; the message says how to get them.
    """
    source = find_wordnet(folder)
    if source is None or _nltk() is None:
        raise input_error("wordnet", "folder", "be found, and nltk installed", remedy=_REMEDY)
    root: Any = _in_nltk() if source == "nltk" else source
    nltk_data = importlib.import_module("nltk.data")
    if source != "nltk" and source not in nltk_data.path:  # nltk opens files below these folders only
        nltk_data.path.append(source)
    with warnings.catch_warnings():  # that there are no other languages
        warnings.simplefilter("ignore")
        return WordNet(_reader_class()(root, None), source)


def _nltk() -> Any:
    try:
        return importlib.import_module("nltk")
    except ImportError:
        return None


def _in_nltk() -> Any:
    """Return the place of WordNet in nltk's own data, unpacked or not, or None."""
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return importlib.import_module("nltk.data").find(name)
        except LookupError:
            continue
    return None


def _lexnames() -> Iterator[str]:
    for number, (kind, name, part) in enumerate(_LEXICOGRAPHER_FILES):
        yield f"{number:02d}\t{kind}.{name}\t{part}\n"


@cache
def _reader_class() -> Any:
    """Return nltk's reader with the one file that Debian omits, and without the map to other versions."""
    base: Any = importlib.import_module("nltk.corpus.reader.wordnet").WordNetCorpusReader

    def open_file(self: Any, file: str) -> Any:
        if file == "lexnames":
            return io.StringIO("".join(_lexnames()))
        return base.open(self, file)

    def no_map(self: Any, version: str = "wordnet") -> None:
        return None

    return type("FolderWordNetReader", (base,), {"open": open_file, "map_wn": no_map})
