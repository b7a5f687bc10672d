"""The lexicon's table in the user's cache folder, under the hash of the WordNet files that it was made from.

A file is written beside its place and then moved there, so that several writers do each other no harm; it
begins with the hash of the rest, so that a damaged one is seen and made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paraconsist.errors import input_error
from paraconsist.transforms.lexicon import PARTS, Lexicon, scan
from paraconsist.transforms.wordnet import find_wordnet, load_wordnet

#: Changes whenever the table's content or form does.
_FORM = "1"

_KINDS = ("noun", "verb", "adj", "adv")
_FILES = (*(f"index.{k}" for k in _KINDS), *(f"data.{k}" for k in _KINDS), *(f"{k}.exc" for k in _KINDS), "cntlist.rev")


def cache_folder() -> Path:
    """Return paraconsist's own cache folder: `PARACONSIST_CACHE`, else the system's place for a user's caches."""
    named = os.environ.get("PARACONSIST_CACHE")
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "paraconsist"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "paraconsist"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paraconsist"


def read_or_make(folder: str | None = None) -> Lexicon:
    """Return the table of this WordNet; read if it is kept and whole, else made through nltk and kept.

    Where the cache cannot be written it is made each time, with a warning.

    Raises
    ------
    InputError
        If nltk or WordNet is not there.
    """
    source = find_wordnet(folder)
    if source is None:
        return scan(load_wordnet(folder).reader, "")  # raises, saying what to install
    file = cache_folder() / f"wordnet-{_key(source)}.json"
    kept = _read(file)
    if kept is not None:
        return Lexicon(kept["entries"], kept["exceptions"], kept["endings"], source)
    made = scan(load_wordnet(folder).reader, source)
    _write(file, {"entries": made.entries, "exceptions": made.exceptions, "endings": made.endings})
    return made


def _key(source: str) -> str:
    """Return the hash of the files' content, the table's form and nltk's rules of endings."""
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    rules = {part: WordNetCorpusReader.MORPHOLOGICAL_SUBSTITUTIONS[part] for part in PARTS}
    digest = hashlib.sha256(json.dumps([_FORM, rules]).encode())
    for name, content in _contents(source):
        digest.update(f"\n{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


def _contents(source: str) -> Iterator[tuple[str, bytes]]:
    for name in _FILES:
        try:
            yield name, _content(source, name)
        except (OSError, LookupError):
            raise input_error(
                "wordnet", "folder", f"hold {name}", got=source, remedy="Install WordNet 3.0 whole."
            ) from None


def _content(source: str, name: str) -> bytes:
    if source != "nltk":
        return (Path(source) / name).read_bytes()
    import nltk.data

    try:
        place = nltk.data.find(f"corpora/wordnet/{name}")
    except LookupError:
        place = nltk.data.find(f"corpora/wordnet.zip/wordnet/{name}")
    with place.open() as stream:
        content: bytes = stream.read()
    return content


def _read(file: Path) -> Any:
    """Return what a cache file holds; None if it is not there or not whole."""
    try:
        head, _, body = file.read_bytes().partition(b"\n")
    except OSError:
        return None
    if head != hashlib.sha256(body).hexdigest().encode():
        return None
    return json.loads(body)


def _write(file: Path, table: Any) -> None:
    body = json.dumps(table, separators=(",", ":")).encode()
    partial = None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f"{file.stem}-", suffix=".partial", dir=file.parent)
        partial = Path(name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(file)
    except OSError as problem:
        if partial is not None:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
        warnings.warn(
            f"WordNet's table could not be kept ({problem}): it is made anew each time, which takes some seconds. "
            f"PARACONSIST_CACHE names another folder.",
            UserWarning,
            stacklevel=2,
        )
