"""Comparers of an answer's words: `exact`, `text`, `contains` and `tokens`."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np

from paraconsist.comparing.comparer import Comparer, ComparerSpec, Floats
from paraconsist.errors import input_error

# What stands within a word or a number and is no part of it: it's, 1,000, U.S.A.
_INNER = re.compile(r"(?<=\w)['’](?=\w)|(?<=\d),(?=\d{3})|(?<=\b[^\W\d_])\.(?=[^\W\d_]\b)")
# All other signs but a decimal point, a minus before a number and the ends of C++ and C#.
_NO_WORD = re.compile(r"(?<![\w+])\+|\+(?=\w)|(?<!\w)\#|[^\w\s.+#-]|_|\.(?!\d)|(?<!\d)\.(?=\D)|-(?!\.?\d)|(?<=\w)-")
# Thai, Lao, Burmese, Khmer, Japanese and Chinese, which write no blanks between words: each letter is a word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_RAISED = re.compile("(?<=\\d)(?=[⁰¹²³⁴-⁹])")  # 10³ is not 103
_ARTICLES = frozenset({"a", "an", "the"})


def normalised(answer: str) -> str:
    """Return an answer in lower case, without punctuation, English articles and superfluous blanks.

    Unicode is normalised (NFKC). Where nothing would be left, such as of ``?!``, punctuation or articles stay.

    >>> normalised("  It's the  Café! "), normalised("The"), normalised("?!")
    ('its café', 'the', '?!')
    """
    plain = unicodedata.normalize("NFKC", answer if answer.isascii() else _RAISED.sub(" ", answer)).casefold()
    if not (is_ascii := plain.isascii()):
        plain = _UNSPACED.sub(r" \g<0> ", plain)
    words = _NO_WORD.sub(" " if is_ascii else _sign, _INNER.sub("", plain)).split()
    return " ".join([word for word in words if word not in _ARTICLES] or words or plain.split())


def _sign(found: re.Match[str]) -> str:
    """Return a sign that is part of a word, such as the vowels of Hindi and Tamil; a blank in place of others."""
    sign = found[0]
    is_letter = unicodedata.category(sign).startswith("M") and not re.match("[\u20d0-\u20ff\ufe00-\ufe0f]", sign)
    return sign if is_letter else " "


def _words(answer: str, _: Sequence[str] | None) -> str | None:
    return normalised(answer) or None


def shared_words(first: Sequence[str], second: Sequence[str], *, reference: bool = False) -> Floats:
    """Return the share of the words of each shorter text that stand in the other, shape (m,); texts are normalised.

    With `reference` it is that of the words of `second`, references: their recall. Without, it is the overlap
    coefficient, which makes that symmetric: the shorter answer is taken for the reference.
    """
    shares = []
    for a, b in zip(first, second, strict=True):
        ours, theirs = a.split(), b.split()
        common = sum((Counter(ours) & Counter(theirs)).values())
        shares.append(common / (len(theirs) if reference else min(len(ours), len(theirs))))
    return np.array(shares, dtype=np.float64)


def _in_answer(answers: Sequence[str], references: Sequence[str]) -> Floats:
    return np.array([f" {b} " in f" {a} " for a, b in zip(answers, references, strict=True)], dtype=np.float64)


def _either_in_other(first: Sequence[str], second: Sequence[str]) -> Floats:
    return np.maximum(_in_answer(first, second), _in_answer(second, first))


EXACT = ComparerSpec(
    name="exact",
    title="the texts are equal, but for blanks at their ends",
    make=lambda _: Comparer(lambda answer, _: answer.strip() or None, is_word_for_word=True),
    unread="empty texts",
)
TEXT = ComparerSpec(
    name="text",
    title="the texts are equal, but for case, punctuation, English articles, blanks and forms of Unicode",
    make=lambda _: Comparer(_words, is_word_for_word=True),
    unread="empty texts",
)
CONTAINS = ComparerSpec(
    name="contains",
    title="the words of the reference, or of either answer, stand together in the other text",
    make=lambda _: Comparer(_words, _either_in_other, _in_answer),
    unread="empty texts",
    is_transitive=False,
)
TOKENS = ComparerSpec(
    name="tokens",
    title="the words of the reference, or of the shorter answer, stand in the other text",
    make=lambda argument: Comparer(
        _words, shared_words, partial(shared_words, reference=True), threshold=threshold_of("tokens", argument, 1.0)
    ),
    argument="the least share of the words, 1 by default",
    unread="empty texts",
    is_transitive=False,
)


def threshold_of(name: str, argument: str, default: float) -> float:
    """Return the threshold that a comparer's argument is; InputError if it is no number in (0, 1]."""
    try:
        value = float(argument) if argument else default
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 1.0:
        must = f"have a number above 0 and at most 1 after {name}"
        raise input_error("compare_answers", "same", must, got=f"{name}:{argument}")
    return value
