"""Hashed word n-grams: texts -> feature numbers, the same on every machine, process and Python version.

Numpy and the standard library only. Words are hashed once each (blake2b); n-grams are combined from the
word hashes with 64-bit arithmetic over the whole set at once, so that 30,000 rows take a second or two.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

_PUNCTUATION = str.maketrans({mark: f" {mark} " for mark in string.punctuation if mark not in "'_"})
_MULTIPLY = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def split_words(text: str) -> list[str]:
    """Split a text into lower-cased words and punctuation marks (apostrophes stay inside words).

    >>> split_words("The dog's tail, wagging!")
    ['the', "dog's", 'tail', ',', 'wagging', '!']
    """
    return text.lower().translate(_PUNCTUATION).split()


def hash_ngrams(
    texts: Sequence[str], *, max_n: int, n_buckets: int, salt: str = ""
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Feature numbers of all word n-grams (1 to `max_n`) of every text.

    Parameters
    ----------
    texts : sequence of str, length n
    max_n : int
        Longest n-gram, in words.
    n_buckets : int
        Features are numbers in ``1 .. n_buckets``; 0 is kept free for padding.
    salt : str
        Separates name spaces: the same n-gram under two salts gets two features.

    Returns
    -------
    features : int64 array
        All features, text after text; within a text 1-grams first, repeats kept.
    lengths : int64 array, shape (n,)
        How many features each text has (0 for an empty text).
    """
    vocabulary: dict[str, int] = {}
    numbers: list[int] = []
    words_per_text = np.empty(len(texts), dtype=np.int64)
    for i, text in enumerate(texts):
        words = split_words(text)
        words_per_text[i] = len(words)
        numbers.extend([vocabulary.setdefault(word, len(vocabulary)) for word in words])
    key = salt.encode("utf-8")[:64]
    table = np.array(
        [
            int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest(), "little")
            for word in vocabulary
        ],
        dtype=np.uint64,
    )
    words_hashed = table[np.array(numbers, dtype=np.int64)] if numbers else np.empty(0, dtype=np.uint64)
    owner = np.repeat(np.arange(len(texts), dtype=np.int64), words_per_text)
    parts, owners = [_finish(words_hashed, n_buckets)], [owner]
    rolling = words_hashed
    for n in range(2, max_n + 1):
        if rolling.size <= 1:
            break
        # the n-gram at i is the (n-1)-gram at i and the word at i + n - 1, when both are in one text
        rolling = _mix(rolling[:-1] * _MULTIPLY) ^ words_hashed[n - 1 :]
        inside = owner[: rolling.size] == owner[n - 1 :]
        parts.append(_finish(rolling[inside], n_buckets))
        owners.append(owner[: rolling.size][inside])
    all_owners = np.concatenate(owners)
    order = np.argsort(all_owners, kind="stable")
    lengths = np.bincount(all_owners, minlength=len(texts)).astype(np.int64)
    return np.concatenate(parts)[order], lengths


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every input bit changes about half of the output bits."""
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    return values ^ (values >> np.uint64(31))


def _finish(values: NDArray[np.uint64], n_buckets: int) -> NDArray[np.int64]:
    features: NDArray[np.int64] = (_mix(values) % np.uint64(n_buckets)).astype(np.int64) + 1
    return features
