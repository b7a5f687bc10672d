"""Words for the word-level models: splitting, the vocabulary, and files of word vectors."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import input_error
from paraconsist.files import write_text
from paraconsist.models.bow import split_words

VOCABULARY_FILE = "words.json"
_TYPOGRAPHY = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"})
_CLITIC = r"n't|'(?:s|re|ve|ll|d|m)"
_WHOLE = re.compile(rf"{_CLITIC}|'+")
_PARTS = re.compile(rf"('*)(.*?)({_CLITIC})?('*)")


def split_text(text: str) -> list[str]:
    """Split a text into lower-cased words, punctuation marks and clitics, as files of word vectors do.

    >>> split_text("The dog's tail doesn't wag, 'Rex'!")
    ['the', 'dog', "'s", 'tail', 'does', "n't", 'wag', ',', "'", 'rex', "'", '!']
    """
    words = split_words(text.translate(_TYPOGRAPHY))
    return [part for word in words for part in (_parts(word) if "'" in word else (word,))]


def _parts(word: str) -> list[str]:
    """Cut clitics and quotation marks off both ends, until none is left."""
    match = None if _WHOLE.fullmatch(word) else _PARTS.fullmatch(word)
    if match is None or match[2] == word:
        return [word]
    return [smaller for part in match.groups() if part for smaller in _parts(part)]


class Vocabulary:
    """Different words and their numbers, from 2 on; 0 is padding, 1 is any word that is not in it."""

    UNKNOWN = 1
    _FIRST = 2

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._numbers = {word: i for i, word in enumerate(self.words, start=self._FIRST)}

    def __len__(self) -> int:
        return len(self.words) + self._FIRST

    def number(self, word: str) -> int:
        """The word's number; 1 if it is not in the vocabulary."""
        return self._numbers.get(word, self.UNKNOWN)

    def encode(self, texts: Iterable[str]) -> list[NDArray[np.int64]]:
        """One array of word numbers for each text (of length 0 for an empty text)."""
        numbers, unknown = self._numbers, self.UNKNOWN
        return [np.array([numbers.get(w, unknown) for w in split_text(t)], dtype=np.int64) for t in texts]

    def save(self, folder: Path) -> None:
        """Write `VOCABULARY_FILE`: a JSON list in the order of the numbers."""
        write_text(folder / VOCABULARY_FILE, json.dumps(self.words, indent=0) + "\n", encoding="ascii")

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """Read what `save` wrote; raises OSError or ValueError where it is not there, or no list of different words."""
        words = json.loads((folder / VOCABULARY_FILE).read_text(encoding="ascii"))
        if not isinstance(words, list) or not all(isinstance(w, str) for w in words) or len(set(words)) < len(words):
            raise ValueError(f"{VOCABULARY_FILE} is not a list of different words")
        return cls(words)


def count_words(texts: Iterable[str]) -> Counter[str]:
    """How often each word occurs, in the order of first occurrence."""
    return Counter(word for text in texts for word in split_text(text))


@dataclass(frozen=True)
class WordVectors:
    """Pretrained vectors of some words, in the order of the file."""

    words: tuple[str, ...]
    matrix: NDArray[np.float32]  # shape (n words, dim)


def read_vectors(file: Path, wanted: Collection[str], *, extra: int = 0) -> WordVectors:
    """Read the vectors of some words, as `split_text` gives them, from a UTF-8 file in GloVe's text format.

    Each line is a word and its numbers, with single spaces between; a first line with the number of words and of
    dimensions (word2vec's and fastText's text format) is passed over. The first `extra` other words that `split_text`
    can give are taken, too: such files are ordered by how frequent words are. A file or line that cannot be read is an
    `InputError`.
    """
    wanted = frozenset(wanted)
    taken: dict[str, NDArray[np.float32]] = {}
    dim = 0
    try:
        with Path(file).expanduser().open(encoding="utf-8", errors="replace", newline="\n") as stream:
            for row, line in enumerate(stream):
                fields = line.rstrip(" \r\n").split(" ")
                if row == 0 and len(fields) == 2 and all(field.isdigit() for field in fields):
                    dim = int(fields[1])
                    continue
                dim = dim or len(fields) - 1
                word = fields[0]
                if len(fields) > dim + 1 or word in taken:  # a "word" with spaces in it, or a second time
                    continue
                if word not in wanted:
                    if extra <= 0 or split_text(word) != [word]:
                        continue
                    extra -= 1
                taken[word] = _vector(fields, dim, file, row)
    except OSError as problem:
        raise input_error("read_vectors", "vectors", "be a file that can be read", got=f"{problem}") from None
    if not taken:
        remedy = "It is read as GloVe's text format: a word and its numbers on each line."
        raise input_error("read_vectors", "vectors", "hold words of the training rows", got=str(file), remedy=remedy)
    return WordVectors(tuple(taken), np.stack(list(taken.values())))


def _vector(fields: Sequence[str], dim: int, file: Path, row: int) -> NDArray[np.float32]:
    try:
        numbers = np.array(fields[1:], dtype=np.float32)
    except ValueError:
        numbers = np.empty(0, dtype=np.float32)
    if numbers.size != dim or dim == 0 or not np.isfinite(numbers).all():
        must = f"hold a word and {dim or 'its'} numbers on each line"
        remedy = f"Mend {file}, or name a file in GloVe's text format."
        raise input_error("read_vectors", "vectors", must, got=" ".join(fields[:5]), row=row, remedy=remedy)
    return numbers
