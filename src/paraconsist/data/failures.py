"""Inputs that fail or are cut: which of them a run asks again, and how many of each there were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import compress

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.arrays import Places
from paraconsist.data.predictions import InputCounts
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.store import Failed, Results
from paraconsist.errors import InputError

#: The kinds of failures.
REFUSED, NO_ANSWER, NOT_FINITE, TOO_LONG = "refused", "no answer", "not finite", "too long"
#: The kinds of answers that hold no answer: an endpoint's filter, or the model's choice.
FILTERED, DECLINED, TOOL_CALLS, REASONING_ONLY = "filtered", "declined", "tool calls only", "reasoning only"
NOT_FINITE_REMEDY = "Its weights may be damaged, or its numbers pass the range of its `dtype`: try float32."
#: This many consecutive failures point to a systemic problem.
HOPELESS = 16
_MOST_NAMED = 3


class Failures:
    """The failures of one pass over the inputs.

    With `on_error` "stop" the first failure ends the pass. Else a failed input counts as unparsed, unless nothing was
    answered so far or a server stops answering: after `HOPELESS` consecutive failures of that sort the pass ends.
    """

    def __init__(self, on_error: str, *, any_answered: bool) -> None:
        self._on_error, self.any_answered, self._in_a_row = on_error, any_answered, 0

    def answered(self) -> None:
        self.any_answered, self._in_a_row = True, 0

    def empty(self, problem: InputError) -> None:
        """Count an answer from which no label can be read; raise its problem where that ends the pass."""
        self._in_a_row = 0 if self.any_answered else self._in_a_row + 1  # the server answers
        self._end_if_hopeless(problem, ends=not self.any_answered)

    def failed(self, kind: str, problem: InputError) -> Failed:
        """Return the store's record of a failed input; raise its problem where that ends the pass."""
        self._in_a_row += 1
        if self._on_error == "stop":
            raise problem
        record = Failed(kind, str(problem))
        self._end_if_hopeless(problem, ends=kind == NO_ANSWER or not self.any_answered)
        return record

    def _end_if_hopeless(self, problem: InputError, *, ends: bool) -> None:
        if ends and self._in_a_row >= HOPELESS:
            problem.remedy = f"{problem.remedy} {self._in_a_row} consecutive inputs failed this way.".strip()
            raise problem


def to_ask(ids: Sequence[str], finished: Results, *, retry_failed: bool = False) -> list[str]:
    """Return the inputs to ask: those without a result, and failed ones with `retry_failed` or where all failed."""
    return list(compress(ids, are_open(finished.places(ids), finished, retry_failed=retry_failed)))


def are_open(places: Places, finished: Results, *, retry_failed: bool = False) -> NDArray[np.bool_]:
    """Return `to_ask` as a mask, shape (n,), of inputs by their places in `finished` (-1: without a result)."""
    absent: NDArray[np.bool_] = places < 0
    if (retry_failed or all_failed(finished)) and len(finished):
        absent |= finished.where(Failed)[places]
    return absent


def all_failed(finished: Results) -> bool:
    """Say whether no result of a store is an answer."""
    return bool(finished.where(Failed).all())


def any_read(finished: Results, *, written: bool) -> bool:
    """Say whether an answer in a store could be read: a `written` one that is complete, else probabilities."""
    if not written:
        return len(finished) > len(finished.others)
    return any(isinstance(result, WrittenAnswer) and not result.is_empty for result in finished.others.values())


def count_inputs(ids: pa.ChunkedArray | Sequence[str], places: Places, finished: Results) -> InputCounts:
    """Return the counts of the inputs in a column of ids, which have `places` in `finished`."""
    used = finished.used(places)
    n_cut = finished.n_cut[used]
    rows = np.flatnonzero(finished.where(Failed)[places])
    failed = {str(ids[row]): str(finished.at(places[row])[0]) for row in rows.tolist()}
    return {
        "n_inputs": int(used.sum()),
        "n_cut": int((n_cut > 0).sum()),
        "most_tokens_cut": int(n_cut.max(initial=0)),
        "n_unfinished": sum(
            bool(used[place]) and getattr(result, "cut", False) for place, result in finished.others.items()
        ),
        "n_failed": len(failed),
        "failed": dict(Counter(failed.values()).most_common()),
        "first_failed": list(failed)[:_MOST_NAMED],
    }


def add_counts(parts: Sequence[InputCounts]) -> InputCounts:
    """Return the counts of a whole from those of its parts, which have no input in common."""
    kinds: Counter[str] = sum((Counter(part["failed"]) for part in parts), Counter())
    return {
        "n_inputs": sum(part["n_inputs"] for part in parts),
        "n_cut": sum(part["n_cut"] for part in parts),
        "most_tokens_cut": max(part["most_tokens_cut"] for part in parts),
        "n_unfinished": sum(part.get("n_unfinished", 0) for part in parts),
        "n_failed": sum(part["n_failed"] for part in parts),
        "failed": dict(kinds.most_common()),
        "first_failed": [name for part in parts for name in part["first_failed"]][:_MOST_NAMED],
    }
