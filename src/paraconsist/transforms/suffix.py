"""Tautology suffixes: a text goes on with something that adds nothing ("and true is true").

Naik et al. (2018, "Stress Test Evaluation for Natural Language Inference", COLING), cited by Salvatore et al. (2023).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from paraconsist.errors import input_error
from paraconsist.transforms.change_statistics import change_statistics
from paraconsist.transforms.interface import Items, each_text

#: Short names: word overlap, negation and length mismatch of the stress tests.
SUFFIXES: Mapping[str, tuple[str, int]] = {
    "tautology": ("and true is true", 1),
    "negation": ("and false is not true", 1),
    "length": ("and true is true", 5),
}

_END = re.compile(r"[\s.!?…]*\Z")


class SuffixTransformation:
    """Adds a suffix to every text, before its final punctuation.

    Parameters
    ----------
    suffix : str
        ``tautology``, ``negation``, ``length`` (see `SUFFIXES`), or the words themselves.
    times : int, optional
        How often it is said; by default once, five times for ``length``.
    """

    name = "suffix"

    def __init__(self, suffix: str = "tautology", times: int | None = None) -> None:
        if not isinstance(suffix, str) or not suffix.strip():
            raise input_error("suffix", "suffix", f"be one of {', '.join(SUFFIXES)}, or words", got=suffix)
        words, usual = SUFFIXES.get(suffix, (suffix, 1))
        times = usual if times is None else times
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise input_error("suffix", "times", "be a whole number of at least 1", got=times)
        self._added = " ".join([words.strip()] * times)
        self.parameters: Mapping[str, object] = {"suffix": words.strip(), "times": times}

    def fit(self, texts: Sequence[str]) -> SuffixTransformation:
        """Return itself: there is nothing to learn."""
        return self

    def apply(self, texts: Sequence[str]) -> list[str]:
        """Return each text with the suffix; an empty text stays empty."""
        return each_text(self._one, texts, "suffix")

    def report(self, texts: Items, changed: Items) -> dict[str, Any]:
        """Return `change_statistics`."""
        return change_statistics(texts, changed)

    def _one(self, text: str) -> str:
        body = _END.sub("", text)
        return f"{body} {self._added}{text[len(body) :]}" if body else text
