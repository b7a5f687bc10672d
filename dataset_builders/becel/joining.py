"""Finding the published original of a perturbed row; every row is found, exactly once, or building fails."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from paraconsist.errors import input_error

#: Config -> perturbed row -> original row, where BECEL mended a word of the original.
MENDED: Mapping[str, Mapping[int, int]] = {"snli_negational": {56: 6251, 255: 200, 368: 7048}}
_NOT_ALPHANUMERIC = re.compile(r"[^0-9a-z]")

Texts = Mapping[str, str]


def _plain(text: str) -> str:
    """`text` without case, spaces, punctuation and the characters that an encoding lost."""
    return _NOT_ALPHANUMERIC.sub("", text.lower().replace(" #39;", ""))


class TextIndex:
    """Looks originals up by their texts and label: as they stand, else without spaces, case and punctuation.

    Parameters
    ----------
    where
        The config's name, for error sentences.
    texts
        The base set's input texts, in order.
    labels
        The base set's gold labels.
    """

    def __init__(self, where: str, texts: Sequence[Texts], labels: Sequence[int]) -> None:
        self._where = where
        self._texts = texts
        self._exact: dict[tuple[object, ...], list[int]] = defaultdict(list)
        self._plain: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for number, (row, label) in enumerate(zip(texts, labels, strict=True)):
            exact, plain = self._keys(row, label)
            self._exact[exact].append(number)
            self._plain[plain].append(number)

    def find(self, number: int, texts: Texts, label: int) -> int:
        """Return the row of the base set that perturbed row `number` was made from.

        Raises
        ------
        InputError
            If there is none, or more than one.
        """
        mended = MENDED.get(self._where, {}).get(number)
        if mended is not None:
            rows = [mended] if self._differs_in_one_word(texts, self._texts[mended]) else []
        else:
            exact, plain = self._keys(texts, label)
            rows = self._exact.get(exact) or self._plain.get(plain) or []
        if len(rows) != 1:
            raise input_error(f"build becel:{self._where}", "original", "be one base row", got=rows, row=number)
        return rows[0]

    @staticmethod
    def _keys(texts: Texts, label: int) -> tuple[tuple[object, ...], tuple[object, ...]]:
        """What an original is looked up by: first as it stands, then letters and digits alone."""
        return (label, *texts.values()), (label, *map(_plain, texts.values()))

    @staticmethod
    def _differs_in_one_word(a: Texts, b: Texts) -> bool:
        words = [(" ".join(row.values())).split() for row in (a, b)]
        return len(words[0]) == len(words[1]) and sum(x != y for x, y in zip(*words, strict=True)) == 1


def join_by_index(where: str, rows: Sequence[Mapping[str, str]], base: Sequence[Mapping[str, str]]) -> list[int]:
    """Return, for each of `rows`, the position of the base row with the same published `index`.

    Raises
    ------
    InputError
        If a base index occurs twice, or one of `rows` has none of them.
    """
    positions = {row["index"]: position for position, row in enumerate(base)}
    if len(positions) != len(base):
        raise input_error(f"build becel:{where}", "index", "be unique in the base set", got=len(positions))
    for number, row in enumerate(rows):
        if row["index"] not in positions:
            raise input_error(f"build becel:{where}", "index", "be one of the base set", got=row["index"], row=number)
    return [positions[row["index"]] for row in rows]


def require_same(where: str, number: int, pairs: Mapping[str, tuple[str, str]]) -> None:
    """Check that texts joined by position agree, but for case, spaces and punctuation.

    Raises
    ------
    InputError
        If a pair does not.
    """
    for column, (text, joined) in pairs.items():
        if _plain(text) != _plain(joined):
            raise input_error(
                f"build becel:{where}", column, f"be that of its base row, {joined!r}", got=text, row=number
            )
