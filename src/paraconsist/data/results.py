"""What a store holds, in arrays, which lie in mapped files where they are large."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.failures import Failed
from paraconsist.data.inputs import Growing, Places, as_bytes, mapped, sorted_pieces
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
        starts, last = range(0, len(ids), _BLOCK), len(self._ids) - 1

        def of(wanted: NDArray[np.bytes_]) -> Places:
            if last < 0:
                return np.full(len(wanted), -1)
            order, near = np.argsort(wanted), np.empty(len(wanted), np.int64)
            near[order] = np.searchsorted(self._ids, wanted[order]).clip(max=last)  # neighbours are found faster
            return np.where(self._ids[near] == wanted, near, -1)

        return mapped((of(as_bytes(ids[start : start + _BLOCK])) for start in starts), np.int64)

    def used(self, places: Places) -> NDArray[np.bool_]:
        """Return which results stand at some places, shape (n,)."""
        mask = np.zeros(len(self), dtype=np.bool_)
        mask[places] = True
        return mask

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
    """Results as they come, to be made `Results` of, once."""

    def __init__(self) -> None:
        self._ids, self._n_cut = Growing("S1"), Growing(np.int32)
        self._values = Growing(np.float64, 0)  # shape (n, n_labels), (n, 0) while none has any
        self._others: dict[int, Result] = {}
        self._new: list[tuple[bytes, Result, int]] = []
        self._n_before, self._n_labels = 0, 0  # how many stand in blocks

    def __len__(self) -> int:
        return self._n_before + len(self._new)

    def add(self, input_id: bytes, result: Result, n_cut: int = 0) -> None:
        self._new.append((input_id, result, n_cut))
        if len(self._new) == _BLOCK:
            self._flush()

    def extend(self, ids: NDArray[np.bytes_], probabilities: NDArray[np.float64]) -> None:
        """Add a block of results of which nothing was cut; `probabilities`, shape (n, n_labels), is kept."""
        if self._n_labels not in (0, probabilities.shape[1]):
            for input_id, row in zip(ids.tolist(), probabilities.tolist(), strict=True):
                self.add(input_id, row)
            return
        self._flush()
        self._append(ids, probabilities, np.zeros(len(ids), np.int32))

    def _flush(self) -> None:
        """Make a block of single results."""
        if self._new:
            ids, results, n_cut = zip(*self._new, strict=True)
            self._new = []
            n = self._n_labels or next((len(one) for one in results if isinstance(one, list)), 0)
            own = [isinstance(one, list) and len(one) == n > 0 for one in results]
            self._others.update({self._n_before + i: one for i, one in enumerate(results) if not own[i]})
            values = np.full((len(ids), n), math.nan)
            values[own] = np.array([*compress(results, own)], np.float64).reshape(-1, n) if n else 0
            self._append(np.array(ids, "S"), values, np.array(n_cut, np.int32))

    def _append(self, ids: NDArray[np.bytes_], values: NDArray[np.float64], n_cut: NDArray[np.int32]) -> None:
        if self._n_labels < values.shape[1]:
            self._n_labels = values.shape[1]
            self._values = Growing(np.float64, self._n_labels)
            self._values.append(np.full((self._n_before, self._n_labels), math.nan))  # for those before the first
        self._n_before += len(ids)
        self._ids.append(ids)
        self._values.append(values)
        self._n_cut.append(n_cut)

    def results(self, refuse: Callable[[str, int], InputError] | None = None) -> Results:
        """Return what was added; `refuse` makes the error for a second result that differs, by id and number from 0."""
        self._flush()
        probabilities, n_cut = self._values.array(), self._n_cut.array()
        ids_kept, values_kept, cut_kept = Growing("S1"), Growing(np.float64, self._n_labels), Growing(np.int32)
        numbers_of_others, others, n_kept = np.array([*self._others], np.int64), dict[int, Result](), 0
        for order, ids in sorted_pieces(self._ids.array()):
            is_first = np.append(True, ids[1:] != ids[:-1])
            kept, groups = order[is_first], np.cumsum(is_first) - 1
            for place in np.flatnonzero(~is_first).tolist():
                group, number = groups[place], int(order[place])
                first, second = (
                    self._others.get(one) or probabilities[one].tolist() for one in (int(kept[group]), number)
                )
                if isinstance(first, Failed) and not isinstance(second, Failed):  # it was asked again
                    kept[group] = number
                elif refuse is not None and first != second and Failed not in (type(first), type(second)):
                    raise refuse(ids[place].decode(), number)
            for place in np.flatnonzero(np.isin(kept, numbers_of_others)).tolist():
                others[n_kept + place] = self._others[int(kept[place])]
            n_kept += len(kept)
            ids_kept.append(ids[is_first])
            values_kept.append(probabilities[kept])
            cut_kept.append(n_cut[kept])
        return Results(ids_kept.array(), values_kept.array(), others, cut_kept.array())
