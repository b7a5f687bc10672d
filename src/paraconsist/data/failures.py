"""Inputs without an answer and inputs that were cut: what a run keeps, counts and says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.arrays import Places
from paraconsist.data.store import Failed, Results
from paraconsist.errors import InputError

#: The kinds of failures.
REFUSED, NO_ANSWER, NOT_FINITE, TOO_LONG = "refused", "no answer", "not finite", "too long"
NOT_FINITE_REMEDY = "Its weights may be damaged, or its numbers pass the range of its `dtype`: try float32."
#: So many failures without an answer between them are no matter of single inputs.
_HOPELESS = 20
_MOST_NAMED = 3


class Failures:
    """What becomes of the inputs of one pass that fail; `on_error` is one of `ON_ERROR`.

    One that fails counts beside those that are answered. Where none is, or where a server answers nothing any more, the
    pass ends: that is no input's fault.
    """

    def __init__(self, on_error: str, *, any_answered: bool) -> None:
        self._on_error, self._any_answered, self._in_a_row = on_error, any_answered, 0

    def answered(self) -> None:
        self._any_answered, self._in_a_row = True, 0

    def failed(self, kind: str, problem: InputError) -> Failed:
        """Return what the store keeps of an input that met a problem; raise that where the run is to end for it."""
        self._in_a_row += 1
        if self._on_error == "stop":
            raise problem
        if self._in_a_row >= _HOPELESS and (kind == NO_ANSWER or not self._any_answered):
            problem.remedy = f"{problem.remedy} {self._in_a_row} inputs one after another failed like this one.".strip()
            raise problem
        return Failed(kind, str(problem))


def to_ask(ids: Sequence[str], finished: Results, *, retry_failed: bool = False) -> list[str]:
    """Return which inputs have no result yet; one that failed has, unless it is to be asked again or none has another.

    `finished` is from the store.
    """
    return list(compress(ids, are_open(finished.places(ids), finished, retry_failed=retry_failed)))


def are_open(places: Places, finished: Results, *, retry_failed: bool = False) -> NDArray[np.bool_]:
    """Return `to_ask` of inputs by their places in `finished` (-1: without a result), shape (n,)."""
    absent: NDArray[np.bool_] = places < 0
    if (retry_failed or all_failed(finished)) and len(finished):
        absent |= finished.where(Failed)[places]
    return absent


def all_failed(finished: Results) -> bool:
    """Whether no result of a store is an answer."""
    return bool(finished.where(Failed).all())


def count_inputs(ids: Any, places: Places, finished: Results) -> dict[str, Any]:
    """Return what became of the inputs of a column of ids, which have `places` in `finished`, for ``run.json``."""
    used = finished.used(places)
    n_cut = finished.n_cut[used]
    rows = np.flatnonzero(finished.where(Failed)[places])
    failed = {str(ids[row]): str(finished.at(places[row])[0]) for row in rows.tolist()}
    return {
        "n_inputs": int(used.sum()),
        "n_cut": int((n_cut > 0).sum()),
        "most_tokens_cut": int(n_cut.max(initial=0)),
        "n_failed": len(failed),
        "failed": dict(Counter(failed.values()).most_common()),
        "first_failed": list(failed)[:_MOST_NAMED],
    }


def add_counts(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the counts of parts that have no input in common as those of the whole."""
    kinds: Counter[str] = sum((Counter(one["failed"]) for one in several), Counter())
    return {
        **{name: sum(one[name] for one in several) for name in ("n_inputs", "n_cut", "n_failed")},
        "most_tokens_cut": max(one["most_tokens_cut"] for one in several),
        "failed": dict(kinds.most_common()),
        "first_failed": [name for one in several for name in one["first_failed"]][:_MOST_NAMED],
    }
