"""Long texts cut around what differs between them, alike in all of them, and never within a letter."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence

MOST_LETTERS = 4000  # of a text on the page
_AROUND = MOST_LETTERS // 8  # of what all texts share, before and after what differs
_ANCHOR = 32  # consecutive letters by which texts are found to agree again
_GAP = " … "


def excerpts(texts: Sequence[str]) -> list[str]:
    """Return the texts of a bucket's rows, those of more than `MOST_LETTERS` cut around their differences.

    What all of them share is left out where it is long, in all of them alike, so that the excerpts differ as the texts
    do; where more differs than can be shown, the first of it is.
    """
    if max(map(len, texts), default=0) <= MOST_LETTERS:
        return list(texts)
    heads, rests = [""] * len(texts), list(texts)
    while True:
        run, left = len(os.path.commonprefix(rests)), MOST_LETTERS - max(map(len, heads))  # noqa: RUF071
        is_end = all(len(rest) == run for rest in rests)
        if is_end or left < 2 * _AROUND + len(_GAP):
            end = min(boundary(rest, min(run, left)) for rest in rests)
            return _cut(heads, end, rests)
        head = boundary(rests[0], min(run, _AROUND)) if any(heads) else 0
        tail = boundary(rests[0], max(0, run - _AROUND))
        gap = _GAP if any(heads) else _GAP.lstrip()
        same = rests[0][:run] if tail - head <= len(gap) else rests[0][:head] + gap + rests[0][tail:run]
        ends = _where_they_agree([rest[run:] for rest in rests])
        parts = list(zip(heads, rests, ends, strict=True))
        heads = [text + same + rest[run : run + end] for text, rest, end in parts]
        rests = [rest[run + end :] for _, rest, end in parts]
        if max(map(len, heads)) > MOST_LETTERS:
            rests = [text[MOST_LETTERS:] + rest for text, rest in zip(heads, rests, strict=True)]
            return _cut([text[: boundary(text, MOST_LETTERS)] for text in heads], 0, rests)


def _cut(heads: Sequence[str], end: int, rests: Sequence[str]) -> list[str]:
    parts = zip(heads, rests, strict=True)
    return [f"{text}{rest[:end]}{'…' if len(rest) > end else ''}" for text, rest in parts]


def _where_they_agree(texts: Sequence[str]) -> list[int]:
    """Return the place in each text, all different in their first letter, where they agree again."""
    first, *others = texts
    best: list[int] = []
    for start in range(0, min(len(first) - _ANCHOR, MOST_LETTERS), _ANCHOR):
        anchor = first[start : start + _ANCHOR]
        places = [start, *(text.find(anchor, 0, 2 * MOST_LETTERS) for text in others)]
        if min(places) >= 0 and (not best or sum(places) < sum(best)):
            best = places
    if not best:
        return [len(text) for text in texts]
    back = 0
    while min(best) > back and len({text[p - back - 1] for text, p in zip(texts, best, strict=True)}) == 1:
        back += 1
    return [place - back for place in best]


def boundary(text: str, place: int) -> int:
    """Return where to cut a text, at `place` or shortly before it: before a word, else at least before a letter.

    A letter may be of several signs: with marks, joined emoji, flags. Blanks stay with the word before them.
    """
    if place >= len(text):
        return len(text)
    word = next((at for at in range(place, max(0, place - 40), -1) if text[at - 1].isspace()), place)
    while word > 0 and _is_joined(text[word - 1], text[word]):
        word -= 1
    return word


def _is_joined(before: str, sign: str) -> bool:
    """Return whether two characters may belong to one letter."""
    kinds = {unicodedata.category(sign)[0], unicodedata.category(sign), unicodedata.category(before)}
    return (
        bool(kinds & {"M", "Cf"})
        or sign in "\u0e33\u0eb3"
        or unicodedata.combining(before) == 9  # a virama, which joins consonants
        or before + sign == "\r\n"
        or "\u1160" <= sign <= "\u11ff"  # vowels and finals of Hangul in pieces
        or "\ud7b0" <= sign <= "\ud7ff"
        or "\U0001f3fb" <= sign <= "\U0001f3ff"  # colours of skin
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= sign <= "\U0001f1ff")  # flags
    )
