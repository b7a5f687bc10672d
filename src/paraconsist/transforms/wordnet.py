"""WordNet through nltk's reader: from nltk's own data, or from the folder that Debian's package installs."""

from __future__ import annotations

import importlib.util
import io
import os
import warnings
from functools import cache
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


def find_wordnet(folder: str | os.PathLike[str] | None = None) -> str | None:
    """Return where WordNet is: the named folder, ``nltk`` for nltk's own data, a system folder, or None.

    InputError if a folder is named and is not WordNet's.
    """
    if folder is not None:
        if not (Path(folder) / "index.noun").is_file():
            must = "hold WordNet's dict files (index.noun ...)"
            raise input_error("wordnet", "folder", must, got=str(folder), remedy=_REMEDY)
        return str(folder)
    if importlib.util.find_spec("nltk") is None:
        return None
    if _in_nltk() is not None:
        return "nltk"
    return next((place for place in SYSTEM_FOLDERS if (Path(place) / "index.noun").is_file()), None)


def wordnet_file(source: str, name: str) -> bytes:
    """Return the content of one of WordNet's files. InputError if it is not there."""
    try:
        if source != "nltk":
            return (Path(source) / name).read_bytes()
        with _in_nltk().join(name).open() as stream:
            content: bytes = stream.read()
        return content
    except OSError:
        remedy = "Install WordNet 3.0 whole."
        raise input_error("wordnet", "folder", f"hold {name}", got=source, remedy=remedy) from None


def load_wordnet(folder: str | os.PathLike[str] | None = None) -> Any:
    """Return nltk's ``WordNetCorpusReader``, made once a process (about two seconds).

    `folder` holds WordNet's dict files; by default nltk's own data, else the system's folder. InputError if nltk or
    WordNet is not there; the message says how to get them.
    """
    source = find_wordnet(folder)
    if source is None or importlib.util.find_spec("nltk") is None:
        raise input_error("wordnet", "folder", "be found, and nltk installed", remedy=_REMEDY)
    return _reader(source)


@cache
def _reader(source: str) -> Any:
    root: Any = _in_nltk() if source == "nltk" else source
    nltk_data = importlib.import_module("nltk.data")
    if source != "nltk" and source not in nltk_data.path:  # nltk opens files below these folders only
        nltk_data.path.append(source)
    with warnings.catch_warnings():  # that there are no other languages
        warnings.simplefilter("ignore")
        return _reader_class()(root, None)


def _in_nltk() -> Any:
    """Return the place of WordNet in nltk's own data, unpacked or not, or None."""
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return importlib.import_module("nltk.data").find(name)
        except LookupError:
            continue
    return None


@cache
def _reader_class() -> Any:
    """Return nltk's reader with the one file that Debian omits, and without the map to other versions."""
    base: Any = importlib.import_module("nltk.corpus.reader.wordnet").WordNetCorpusReader
    lexnames = "".join(f"{i:02d}\t{kind}.{name}\t{part}\n" for i, (kind, name, part) in enumerate(_LEXICOGRAPHER_FILES))

    def open_file(self: Any, file: str) -> Any:
        return io.StringIO(lexnames) if file == "lexnames" else base.open(self, file)

    return type("FolderWordNetReader", (base,), {"open": open_file, "map_wn": lambda *_: None})
