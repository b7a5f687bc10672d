"""WordNet: nltk's reader, and what noun substitution and negation ask of it as one table.

The table has sense counts, first synsets, base forms. It is made once through nltk's reader and kept in the user's
cache folder; from there it needs neither the reader nor its loading time. The file's name holds the hash of the WordNet
files that it was made from; it begins with the hash of its own rest, so that a damaged one is noticed and made anew.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from paraconsist.errors import input_error
from paraconsist.files import cache_folder, replacing

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
    "and Ubuntu `apt-get install wordnet-base`, or name the folder with WordNet's dict files as `wordnet`."
)


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


def wordnet_file(source: str, name: str) -> bytes:
    """Return the content of one of WordNet's files. InputError if it is not there."""
    try:
        if source != "nltk":
            return (Path(source) / name).read_bytes()
        with _in_nltk().join(name).open() as stream:
            return bytes(stream.read())
    except OSError:
        remedy = "Install WordNet 3.0 whole."
        raise input_error("load_wordnet", "wordnet", f"hold {name}", got=source, remedy=remedy) from None


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
    """Return nltk's reader with the one file that Debian omits, and without the map to other versions."""
    base: Any = importlib.import_module("nltk.corpus.reader.wordnet").WordNetCorpusReader
    lexnames = "".join(f"{i:02d}\t{kind}.{name}\t{part}\n" for i, (kind, name, part) in enumerate(_LEXICOGRAPHER_FILES))

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

_FILE_OF_PART = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}

#: Where an adjective may stand, as its synset's line has it: "galore(ip)".
_MARK = re.compile(r"\([a-z]+\)\Z")

#: WordNet's files that the table is made from.
_FILES = (
    *(f"{kind}.{part}" for kind in ("index", "data") for part in _FILE_OF_PART.values()),
    *(f"{part}.exc" for part in _FILE_OF_PART.values()),
    "cntlist.rev",
)
#: Changes whenever the table's content or form does.
_FORM = "1"
_WRITING = threading.Lock()

#: The first digit of a sense key's code -> part of speech; 5 is a satellite adjective.
_PART_OF_CODE = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}


@dataclass(frozen=True)
class Lexicon:
    """WordNet's single words."""

    # Lemma, lower case -> part of speech -> (times seen in WordNet's tagged texts, words of its first synset).
    entries: Mapping[str, Mapping[str, Sequence[Any]]]
    exceptions: Mapping[str, Mapping[str, Sequence[str]]]  # Part of speech -> irregular form -> its lemmas
    endings: Mapping[str, Sequence[Sequence[str]]]  # Part of speech -> (ending, ending of the lemma) pairs
    source: str  # Where WordNet was found

    def base_forms(self, word: str, part: str) -> list[str]:
        """Return a word's lemmas as a part of speech, the word itself first if it is one; as nltk finds them."""
        by_rule = [word[: -len(old)] + new for old, new in self.endings[part] if word.endswith(old)]
        forms = [word, *self.exceptions[part].get(word, by_rule)]
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
        for plural, singulars in sorted(self.exceptions["n"].items()):
            for singular in singulars:
                plurals.setdefault(singular, plural)
        return plurals


@cache
def known_lexicon(folder: str | os.PathLike[str] | None = None) -> Lexicon | None:
    """Return the table, None where nltk or WordNet is not installed."""
    return None if find_wordnet(folder) is None else load_lexicon(folder)


def read_or_make(folder: str | os.PathLike[str] | None = None) -> Lexicon:
    """Return the table of this WordNet; read if it is kept and whole, else made through nltk and kept.

    Where the cache cannot be written it is made each time, with a warning. `folder` and InputError as for
    `load_wordnet`.
    """
    source = find_wordnet(folder)
    if source is None:
        return scan(load_wordnet(folder), "")  # raises, saying what to install
    file = cache_folder() / f"wordnet-{_key(source)}.json"
    table = _read(file)
    if table is not None:
        return Lexicon(table["entries"], table["exceptions"], table["endings"], source)
    lexicon = scan(load_wordnet(folder), source)
    _write(file, {"entries": lexicon.entries, "exceptions": lexicon.exceptions, "endings": lexicon.endings})
    return lexicon


#: `read_or_make`, once a process.
load_lexicon: Callable[..., Lexicon] = cache(read_or_make)


def scan(reader: Any, source: str) -> Lexicon:
    """Make the table from nltk's reader: its index, and the files themselves (nltk's synsets take ten times as long).

    InputError if WordNet's folder lacks one of its files.
    """
    counts = _counts(source)
    data = {part: wordnet_file(source, f"data.{_FILE_OF_PART[part]}").decode("ascii") for part in PARTS}
    names: dict[tuple[str, int], list[str]] = {}
    entries: dict[str, dict[str, list[Any]]] = {}
    for lemma, places in reader._lemma_pos_offset_map.items():
        if "_" in lemma:
            continue
        for part in PARTS:
            if not places.get(part):
                continue
            place = (part, places[part][0])
            if place not in names:
                names[place] = _words(data[part], place[1])
            entries.setdefault(lemma, {})[part] = [counts[lemma, part], names[place]]
    exceptions = {part: {form: list(lemmas) for form, lemmas in reader._exception_map[part].items()} for part in PARTS}
    endings = {part: [list(pair) for pair in reader.MORPHOLOGICAL_SUBSTITUTIONS[part]] for part in PARTS}
    return Lexicon(entries, exceptions, endings, source)


def _counts(source: str) -> Counter[tuple[str, str]]:
    """Return (lemma, part of speech) -> times seen, summed over senses."""
    counts: Counter[tuple[str, str]] = Counter()
    for line in wordnet_file(source, "cntlist.rev").decode("ascii").splitlines():
        key, _, times = line.split()
        lemma, _, code = key.partition("%")
        counts[lemma, _PART_OF_CODE[code[0]]] += int(times)
    return counts


def _words(data: str, start: int) -> list[str]:
    """Return the words of the synset whose line begins at an offset: after its third field how many, in base 16."""
    fields = data[start : data.index("\n", start)].split(" ")
    number = int(fields[3], 16)
    return [_MARK.sub("", word).replace("_", " ") for word in fields[4 : 4 + 2 * number : 2]]


def _key(source: str) -> str:
    """Return the hash of the files' content, the table's form and nltk's rules of endings."""
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    rules = {part: WordNetCorpusReader.MORPHOLOGICAL_SUBSTITUTIONS[part] for part in PARTS}
    digest = hashlib.sha256(json.dumps([_FORM, rules]).encode())
    for name in _FILES:
        content = wordnet_file(source, name)
        digest.update(f"\n{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


def _read(file: Path) -> Any:
    """Return what a cache file holds; None if it is not there or not whole."""
    try:
        head, _, body = file.read_bytes().partition(b"\n")
    except OSError:
        return None
    return json.loads(body) if head == hashlib.sha256(body).hexdigest().encode() else None


def _write(file: Path, table: Any) -> None:
    body = json.dumps(table, separators=(",", ":")).encode()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with _WRITING, replacing(file) as partial:
            partial.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    except OSError as problem:
        text = f"WordNet's table could not be kept ({problem}): it is made anew each time, which takes some seconds. "
        warnings.warn(f"{text}PARACONSIST_CACHE names another folder.", UserWarning, stacklevel=2)
