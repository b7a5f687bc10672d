"""The distinct inputs of sets: which they are and how long, without their texts in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

if TYPE_CHECKING:
    from paraconsist.data.bucket_sets import BucketSet

Places = NDArray[np.int64]
#: Of `lengths`, in a token; and bytes that count for as much as a space (fitted to English and a WordPiece tokenizer).
PER_TOKEN, _PER_SPACE = 20, 20


class DistinctInputs:
    """Every distinct input of some sets of one task, by its place in the order of first appearance."""

    def __init__(self, sets: Sequence[BucketSet]) -> None:
        self.task = sets[0].task
        columns = ["input_id", *self.task.columns]
        self._batches = [batch for one in sets for batch in one.table.select(columns).to_batches()]
        self._starts = np.cumsum([0, *(batch.num_rows for batch in self._batches)])
        self._rows = first_rows(pa.chunked_array([batch["input_id"] for batch in self._batches], pa.string()))

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, places: Places) -> pa.Table:
        """Return inputs by their places: ``input_id`` and the task's columns."""
        rows = self._rows[places]
        order = np.argsort(rows)
        rows = rows[order]
        cuts = np.searchsorted(rows, self._starts)
        used = np.flatnonzero(cuts[:-1] < cuts[1:]) if len(rows) else [0]
        parts = [self._batches[i].take(pa.array(rows[cuts[i] : cuts[i + 1]] - self._starts[i])) for i in used]
        kinds = pa.schema([(name, pa.string()) for name in parts[0].schema.names])  # of sets they may differ
        table = pa.concat_tables([pa.Table.from_batches([part]).cast(kinds) for part in parts])
        return table.combine_chunks().take(pa.array(np.argsort(order)))

    def in_order(self) -> Iterator[pa.Table]:
        """Yield all inputs in order of first appearance, a table with ``input_id`` and the task's columns at a time."""
        for batch, start, end in zip(self._batches, self._starts, self._starts[1:], strict=False):
            first, last = np.searchsorted(self._rows, (start, end))
            yield pa.Table.from_batches([batch.take(pa.array(self._rows[first:last] - start))])

    def lengths(self) -> NDArray[np.int32]:
        """Return a length of each input's texts, shape (n,), that goes nearly with their tokens: `PER_TOKEN` in one."""
        parts = [np.empty(0, np.int32)]
        for batch in self._batches:
            columns = [batch[column] for column in self.task.columns]
            counts = [(np.asarray(pc.binary_length(c)), np.asarray(pc.count_substring(c, " "))) for c in columns]
            parts.append(np.sum([n_bytes + _PER_SPACE * spaces for n_bytes, spaces in counts], axis=0, dtype=np.int32))
        return np.concatenate(parts)[self._rows]

    def by_text(self) -> Places:
        """Return the places in the order of the texts: those that begin alike are neighbours."""
        tables = [pa.Table.from_batches([batch]).drop_columns("input_id") for batch in self._batches]
        texts = pa.concat_tables(tables, promote_options="permissive").take(pa.array(self._rows))
        return np.asarray(pc.sort_indices(texts, [(c, "ascending") for c in self.task.columns])).astype(np.int64)


def first_rows(column: Any) -> Places:
    """Return the rows of a column in which a value stands for the first time.

    >>> first_rows(pa.chunked_array([["a", "b"], ["a", "c"]])).tolist()
    [0, 1, 3]
    """
    chunks = column.dictionary_encode().chunks
    codes = np.concatenate([np.empty(0, np.int32), *(chunk.indices.to_numpy() for chunk in chunks)])
    first = np.empty(codes.max(initial=-1) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # of equal codes the last one stays
    return first
