"""What a store holds, in arrays: a million results in 60 MB."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.failures import Failed
from paraconsist.data.inputs import Places
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.errors import InputError

#: Probabilities over the model's labels, an answer that the model wrote, or why there is none.
Result = list[float] | WrittenAnswer | Failed

_BLOCK = 1 << 14


class Results(Mapping[str, Result]):
    """Input id -> result, by its place in the order of the ids.

    `probabilities`, shape (n, n_labels), are nan for the results in `others` (place -> what it is), which are written
    answers and failures. `n_cut`, shape (n,), are the tokens that each input lost to the model's window.
    """

    def __init__(
        self,
        ids: NDArray[np.bytes_],
        probabilities: NDArray[np.float64],
        others: Mapping[int, Result],
        n_cut: NDArray[np.int32],
    ) -> None:
        self._ids, self.probabilities, self.others, self.n_cut = ids, probabilities, others, n_cut

    @classmethod
    def of(cls, results: Mapping[str, Result]) -> Results:
        """Return the results of a mapping."""
        if isinstance(results, cls):
            return results
        collected = Collected()
        for input_id, result in results.items():
            collected.add(input_id.encode(), result)
        return collected.results()

    def places(self, ids: Any) -> Places:
        """Return the places of ids (texts, in a sequence or an Arrow column), -1 for those without a result."""
        places = [self._places(ids[start : start + _BLOCK]) for start in range(0, len(ids), _BLOCK)]
        return np.concatenate([np.empty(0, np.int64), *places])

    def _places(self, ids: Any) -> Places:
        wanted = np.array([one.encode() for one in (ids if isinstance(ids, Sequence) else ids.to_pylist())], "S")
        if not len(self._ids):
            return np.full(len(wanted), -1)
        near = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
        return np.where(self._ids[near] == wanted, near, -1)

    def at(self, place: int) -> Result:
        """Return the result at a place."""
        return self.others[place] if place in self.others else self.probabilities[place].tolist()

    def where(self, kind: type) -> NDArray[np.bool_]:
        """Return which places hold a written answer, or a failure, shape (n,)."""
        mask = np.zeros(len(self), dtype=bool)
        mask[[place for place, result in self.others.items() if isinstance(result, kind)]] = True
        return mask

    def __getitem__(self, input_id: str) -> Result:
        place = int(self.places([input_id])[0])
        if place < 0:
            raise KeyError(input_id)
        return self.at(place)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _BLOCK):
            yield from (one.decode() for one in self._ids[start : start + _BLOCK].tolist())

    def __len__(self) -> int:
        return len(self._ids)


class Collected:
    """Results as they come, to be made `Results` of."""

    def __init__(self) -> None:
        self._ids: list[NDArray[np.bytes_]] = []
        self._new: list[bytes] = []
        self._values, self._n_labels, self._n_before = array("d"), 0, 0  # how many came before the first probabilities
        self._others: dict[int, Result] = {}
        self._n_cut = array("i")

    def __len__(self) -> int:
        return len(self._n_cut)

    def add(self, input_id: bytes, result: Result, n_cut: int = 0) -> None:
        if isinstance(result, list) and len(result) == (self._n_labels or len(result) or -1):
            if not self._n_labels:
                self._n_labels, self._n_before = len(result), len(self)
            self._values.extend(result)
        else:
            self._others[len(self)] = result
            self._values.extend([math.nan] * self._n_labels)
        self._n_cut.append(n_cut)
        self._new.append(input_id)
        if len(self._new) == _BLOCK:
            self._ids.append(np.array(self._new, "S"))
            self._new.clear()

    def results(self, refuse: Callable[[str, int], InputError] | None = None) -> Results:
        """Return what was added; `refuse` makes the error for a second result that differs, by id and number from 0."""
        ids = np.concatenate([*self._ids, np.array(self._new, "S")])
        values = np.frombuffer(self._values).reshape(-1, self._n_labels) if self._n_labels else np.empty((0, 0))
        before = np.full((len(self) - len(values), self._n_labels), math.nan)
        probabilities, n_cut = np.concatenate([before, values]), np.frombuffer(self._n_cut, np.int32)
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
        is_first = np.append(True, ids[1:] != ids[:-1])[: len(ids)]
        kept = order[is_first]
        if len(kept) < len(order):
            groups = np.cumsum(is_first) - 1
            for place in np.flatnonzero(~is_first).tolist():
                group, number = groups[place], int(order[place])
                first, second = (
                    self._others.get(one) or probabilities[one].tolist() for one in (int(kept[group]), number)
                )
                if isinstance(first, Failed) and not isinstance(second, Failed):  # it was asked again
                    kept[group] = number
                elif refuse is not None and first != second and Failed not in (type(first), type(second)):
                    raise refuse(ids[place].decode(), number)
        places = np.full(len(self), -1)
        places[kept] = np.arange(len(kept))
        others = {int(places[number]): one for number, one in self._others.items() if places[number] >= 0}
        return Results(ids[is_first], probabilities[kept], others, n_cut[kept])
