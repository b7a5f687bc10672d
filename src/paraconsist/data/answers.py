"""From what a language model wrote to a label, or to none where it cannot be told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple


class Written(NamedTuple):
    """An answer that a model wrote, and the position of the label read from it; None where none could be."""

    label: int | None
    raw_output: str


@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in longest_first), re.IGNORECASE)


def parse_answer(text: str, words: Sequence[str]) -> int | None:
    """Return the position in `words` of the label word that an answer gives; None where it gives none or several.

    Only the first line that is not blank counts, letters' case does not. An answer that begins with a label word
    means that word, unless another one is offered right behind it ("yes or no"); else the line must hold exactly
    one of the words, as a word of its own.

    Parameters
    ----------
    text : str
        What the model wrote after the prompt.
    words : sequence of str
        The label words; where one contains another ("not entailed", "entailed") the longer one is meant.

    Examples
    --------
    >>> words = ("no", "yes")
    >>> parse_answer(" Yes.\\n\\nPremise: ...", words), parse_answer("The answer is no", words)
    (1, 0)
    >>> parse_answer("yes or no", words), parse_answer("maybe", words), parse_answer("", words)
    (None, None, None)
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    line = lines[0].lstrip("\"'`*([").strip()
    places = {word.strip().casefold(): place for place, word in enumerate(words)}
    found = list(_pattern(tuple(word.strip() for word in words)).finditer(line))
    labels = [places[match.group().casefold()] for match in found]
    if len(set(labels)) == 1:
        return labels[0]
    if len(found) > 1 and found[0].start() == 0:
        between = line[found[0].end() : found[1].start()].strip().casefold()
        return None if between in ("or", "/", "|", "and", ",", ", or") else labels[0]
    return None
