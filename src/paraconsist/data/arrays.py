"""Arrays that may be larger than memory, in mapped files, and the rows of Arrow columns and tables by their numbers."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

Places = NDArray[np.int64]
_BLOCK = 1 << 16  # rows
_SORTED = 1 << 19  # rows that are sorted at a time
_IN_MEMORY = 1 << 24  # bytes of an array
_SHORT = 64  # bytes of an id that is kept as it is


def first_rows(column: Any) -> Places:
    """Return the rows of a column in which a value occurs for the first time.

    >>> first_rows(pa.chunked_array([["a", "b"], ["a", "c"]])).tolist()
    [0, 1, 3]
    """
    starts = range(0, len(column), _BLOCK)
    is_first = np.zeros(len(column), dtype=np.bool_)
    for rows, ids in sorted_pieces(mapped((as_bytes(column[start : start + _BLOCK]) for start in starts), "S1")):
        is_first[rows[np.append(True, ids[1:] != ids[:-1])]] = True
    return mapped((start + np.flatnonzero(is_first[start : start + _BLOCK]) for start in starts), np.int64)


def as_bytes(ids: Any) -> NDArray[np.bytes_]:
    """Return ids (texts, in a sequence or an Arrow column) as bytes, shape (n,); very long ones become their hashes."""
    if isinstance(ids, Sequence):
        ids = pa.array(ids, pa.string())
    column, widths = ids.cast(pa.binary()), pc.min_max(pc.binary_length(ids))
    width = widths["max"].as_py() or 0
    if 0 < widths["min"].as_py() == width <= _SHORT:
        chunks = pa.chunked_array(column).cast(pa.binary(width)).chunks
        return np.concatenate([np.frombuffer(c.buffers()[1], f"S{width}")[c.offset :][: len(c)] for c in chunks])
    values = column.to_pylist()
    if width > _SHORT:
        values = [value if len(value) <= _SHORT else hashlib.blake2b(value).hexdigest() for value in values]
    return np.array(values, "S")


class Growing:
    """An array, shape (n,) or (n, n_columns), made of blocks; a large one is mapped from a temporary file."""

    def __init__(self, kind: DTypeLike, *n_columns: int) -> None:
        self._kind, self._n, self._columns = np.dtype(kind), 0, n_columns
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115

    def append(self, block: NDArray[Any]) -> None:
        kind = np.promote_types(self._kind, block.dtype)
        if kind != self._kind:  # longer texts
            shorter = self.array()
            self._kind, self._n, self._file = kind, 0, SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
            self.append(shorter)
        self._n += len(block)
        self._file.write(np.ascontiguousarray(block, kind).tobytes())

    def array(self) -> NDArray[Any]:
        """Return the blocks as one read-only array; nothing can be appended afterwards."""
        with self._file as file:
            is_large = file.tell() > _IN_MEMORY
            file.seek(0)
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if is_large else file.read()
        return np.frombuffer(data, self._kind).reshape(self._n, *self._columns)

    def __del__(self) -> None:
        self._file.close()


def mapped(blocks: Iterable[NDArray[Any]], kind: DTypeLike) -> NDArray[Any]:
    """Return blocks as one array of a kind, shape (n,)."""
    array = Growing(kind)
    for block in blocks:
        array.append(block)
    return array.array()


def sorted_pieces(keys: NDArray[Any]) -> Iterator[tuple[Places, NDArray[Any]]]:
    """Yield ``np.argsort(keys, kind="stable")`` and the keys in that order, in pieces; equal keys share a piece.

    Keys are texts whose beginnings differ, such as hashes, or numbers from 0, few of them above 65535.
    """
    first = (keys.astype("S2").view(">u2") if keys.dtype.kind == "S" else np.minimum(keys, 65535)).astype(np.uint16)
    some = np.sort(first[:: len(first) // _SORTED + 1])
    edges = np.unique([0, *some[:: _SORTED * len(some) // max(len(first), 1) + 1], 65536])
    for low, high in pairwise(edges.tolist()):
        rows = np.flatnonzero((first >= low) & (first < high))
        if len(rows):
            order = np.argsort(part := keys[rows], kind="stable")
            yield rows[order], part[order]


def own_stream(data: bytes) -> pa.BufferReader:
    """Return bytes as a stream in Arrow's own memory, as Arrow's readers must be given.

    A thread of theirs may be the last to let go of the stream while the interpreter ends; if the memory were Python's,
    it would wait for the interpreter's lock, and the process would abort.
    """
    stream = pa.BufferOutputStream()
    stream.write(data)
    return pa.BufferReader(stream.getvalue())


def take_rows(table: pa.Table, rows: Places) -> pa.Table:
    """Return rows of a table by their numbers; the other rows of a mapped table are not read."""
    batches = table.to_batches()
    starts = np.cumsum([0, *(batch.num_rows for batch in batches)])
    order = np.argsort(rows)
    rows = rows[order]
    cuts = np.searchsorted(rows, starts)
    used = np.flatnonzero(cuts[:-1] < cuts[1:]).tolist()
    parts = [batches[i].take(pa.array(rows[cuts[i] : cuts[i + 1]] - starts[i])) for i in used]
    return pa.Table.from_batches(parts, table.schema).combine_chunks().take(pa.array(np.argsort(order)))


def rows_counted(table: pa.Table, names: list[str]) -> pa.Table | None:
    """Return the distinct rows of some columns and their ``count_all``; None for types that Arrow cannot group by."""
    with suppress(pa.ArrowNotImplementedError):
        return table.select(names).group_by(names, use_threads=False).aggregate([([], "count_all")])
    return None
