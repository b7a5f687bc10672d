"""The loop: ask for candidates, filter them, ask again for originals that have too few, until the tries are spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paraconsist.errors import input_error
from paraconsist.generation.filters import reason_against
from paraconsist.generation.generators import Generator, call
from paraconsist.generation.settings import GeneratorSettings

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
