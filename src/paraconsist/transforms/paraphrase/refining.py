"""The loop: ask for candidates, filter them, ask again for originals that have too few, until the tries are spent.

Which candidates are kept: filters on the texts alone, each with the reason that it gives.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paraconsist.errors import input_error
from paraconsist.measures.text_distances import jaccard, words_of
from paraconsist.transforms.paraphrase.generators import Generator, call
from paraconsist.transforms.paraphrase.settings import GeneratorSettings

#: (originals, candidates) -> whether each pair means the same.
Judge: TypeAlias = Callable[[Sequence[str], Sequence[str]], npt.NDArray[np.bool_]]

_NOT_ENTAILED = "not entailed both ways"


@dataclass
class Refined:
    """What came of it.

    Attributes
    ----------
    accepted : dict of str to list of str
        Original -> its paraphrases, in the order in which they came.
    candidates : Counter of str to int
        Original -> candidates that were looked at.
    reasons : Counter
        Reason -> candidates left out for it.
    n_candidates, n_calls : int
        Candidates that the generator gave; times that it was called.
    n_unused : int
        Candidates that nobody looked at, because there were enough.
    """

    accepted: dict[str, list[str]]
    reasons: Counter[str] = field(default_factory=Counter)
    n_candidates: int = 0
    n_calls: int = 0
    n_unused: int = 0

    @property
    def n_accepted(self) -> int:
        return sum(map(len, self.accepted.values()))

    @property
    def n_judged(self) -> int:
        """Candidates that were kept or left out for a reason."""
        return self.n_accepted + sum(self.reasons.values())

    @property
    def acceptance_rate(self) -> float:
        """Kept candidates over those looked at, in [0, 1]; nan where there was none."""
        return self.n_accepted / self.n_judged if self.n_judged else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, ready for JSON but for nan."""
        return {
            "n_originals": len(self.accepted),
            "n_accepted": self.n_accepted,
            "acceptance_rate": self.acceptance_rate,
            "n_candidates": self.n_candidates,
            "n_judged": self.n_judged,
            "n_unused": self.n_unused,
            "n_calls": self.n_calls,
            "left_out": dict(self.reasons.most_common()),
        }


def refine(
    originals: Sequence[str], generator: Generator, settings: GeneratorSettings, judge: Judge | None = None
) -> Refined:
    """Generate paraphrases until every original has `settings.keep`, or the tries are spent.

    Parameters
    ----------
    originals : sequence of str
        Equal ones are one.
    generator : Generator
    settings : GeneratorSettings
        `keep`, `tries` and the filters.
    judge : callable, optional
        Asked last, for as many candidates of an original as are still wanted at a time.

    Returns
    -------
    Refined

    Raises
    ------
    InputError
        If an original is empty, or the generator returns no lists of texts, or nothing but empty texts.
    """
    for row, text in enumerate(originals):
        if not text.strip():
            raise input_error(
                "paraphrase", "originals", "not be empty", got=text, row=row, remedy="Leave such rows out of the file."
            )
    found = Refined({text: [] for text in originals})
    seen: dict[str, list[str]] = {text: [] for text in found.accepted}
    for _ in range(settings.tries):
        wanting = [text for text, kept in found.accepted.items() if len(kept) < settings.keep]
        if not wanting:
            break
        given = call(generator, wanting)
        found.n_calls += 1
        found.n_candidates += sum(map(len, given))
        queues = {text: list(candidates) for text, candidates in zip(wanting, given, strict=True)}
        _judge_in_waves(found, queues, seen, settings, judge)
        if not any(given):
            break  # it has nothing more to say
    if found.n_candidates and found.reasons["empty"] == found.n_candidates:
        raise input_error(
            "paraphrase",
            "generator",
            "write texts",
            got=f"{found.n_candidates:,} empty texts in {found.n_calls} calls",
            remedy="Look at its prompt, and at what it writes for one sentence.",
        )
    return found


def _judge_in_waves(
    found: Refined,
    queues: Mapping[str, list[str]],
    seen: Mapping[str, list[str]],
    settings: GeneratorSettings,
    judge: Judge | None,
) -> None:
    """Take as many candidates of each original as it lacks, judge them, and go on until all are enough or through."""
    while True:
        asked: list[tuple[str, str]] = []
        for original, queue in queues.items():
            lacking = settings.keep - len(found.accepted[original])
            while lacking > 0 and queue:
                candidate = queue.pop(0).strip()
                reason = reason_against(candidate, original, seen[original], settings)
                if reason is not None:
                    found.reasons[reason] += 1
                    continue
                seen[original].append(candidate)
                asked.append((original, candidate))
                lacking -= 1
        if not asked:
            break
        holds = judge([o for o, _ in asked], [c for _, c in asked]) if judge is not None else [True] * len(asked)
        for (original, candidate), is_kept in zip(asked, holds, strict=True):
            if is_kept:
                found.accepted[original].append(candidate)
            else:
                found.reasons[_NOT_ENTAILED] += 1
    found.n_unused += sum(map(len, queues.values()))


#: What a candidate can be left out for, in the order in which it is looked at.
REASONS = ("empty", "copy of the original", "duplicate", "too short", "too long", "another language", "words overlap")

#: English words that hardly any sentence does without.
_FUNCTION_WORDS = frozenset(
    words_of(
        "a an the is are was were be been am has have had do does did will would can could may might must should of in "
        "on at to from by with for and or but not no that this these those it its he she they we you i his her their "
        "there who which as into over under near about up down out off than then so if when while because someone"
    )
)
_FEW_WORDS = 2  # more or less than the original are always allowed


def reason_against(candidate: str, original: str, accepted: Collection[str], settings: GeneratorSettings) -> str | None:
    """Return why a candidate is left out, one of `REASONS`; None if nothing in its text is against it.

    Parameters
    ----------
    candidate, original : str
    accepted : collection of str
        What was kept or is waiting to be judged for this original.
    settings : GeneratorSettings
        Lengths and overlap.

    Notes
    -----
    Copies and duplicates are those with the same words in the same order, whatever case and punctuation. The
    language check is a simple one of our own: letters of the original's scripts only, and, where the original has an
    English function word, one of those or one of the original's words in a candidate of four words or more.
    """
    words, own = words_of(candidate), words_of(original)
    if not words:
        return "empty"
    if words == own:
        return "copy of the original"
    if any(words == words_of(other) for other in accepted):
        return "duplicate"
    if len(words) < min(settings.shortest * len(own), len(own) - _FEW_WORDS):
        return "too short"
    if len(words) > max(settings.longest * len(own), len(own) + _FEW_WORDS):
        return "too long"
    if not scripts(candidate) <= scripts(original):
        return "another language"
    if len(words) > 3 and _FUNCTION_WORDS & set(own) and not (_FUNCTION_WORDS | set(own)) & set(words):
        return "another language"
    if settings.most_jaccard is not None and jaccard(candidate, original) >= settings.most_jaccard:
        return "words overlap"
    return None


@lru_cache(maxsize=65536)
def scripts(text: str) -> frozenset[str]:
    """Return the scripts of a text's letters, by the first word of their Unicode names.

    >>> sorted(scripts("Der Hund, собака"))
    ['CYRILLIC', 'LATIN']
    """
    return frozenset(_scripts(text))


def _scripts(text: str) -> Iterator[str]:
    for letter in set(text):
        if letter.isalpha():
            yield unicodedata.name(letter, "UNKNOWN").split()[0]
