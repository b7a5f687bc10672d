"""The crash-safe store: what a run has computed so far, safe against SIGKILL at any moment.

Every process appends to a shard of its own, one JSON line an input, and hands each batch to the operating system in one
write; a thread syncs the shard to the disk each second. What was written before a kill is found by the next run,
whatever its number of processes and its batches, and after a power cut all but the last second. A line that was cut in
two is repaired by cutting it off; its input is computed again. Each line ends with a checksum of what stands before it,
so that no damaged probability passes for a computed one; lines of stores from before there were checksums are read too.

The store's folder is named by a hash of all that decides a prediction besides the input itself (model
weights, dtype, task, template), and lines are keyed by a hash of the input's content: a changed model,
template or text can never meet an old prediction.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import threading
import zlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from numpy.typing import NDArray

from paraconsist.data.arrays import Growing, Places, as_bytes, mapped, sorted_pieces
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.errors import InputError, input_error
from paraconsist.files import MISSING, make_folder, sync_one, write_json, writing

try:
    import fcntl
except ImportError:  # Windows has no such locks: two runs into one folder go unnoticed there
    _LOCKS = False
else:
    _LOCKS = True


class Failed(NamedTuple):
    """An input without an answer, in the place of its result."""

    kind: str
    reason: str  # the whole sentence, which may quote the input: it stays in the store


#: Probabilities over the model's labels, an answer that the model wrote, or why there is none.
Result = list[float] | WrittenAnswer | Failed
#: Where a store keeps an endpoint's answers.
JOURNAL = "answers.jsonl"
#: The keys of a shard's records.
SHARD_COLUMNS = ("input_id", "probabilities", *WrittenAnswer._fields, *Failed._fields, "n_cut")
_SEAL = re.compile(rb', "crc32": "([0-9a-f]{8})"\}$')
_SEAL_BYTES = len(', "crc32": "00000000"}\n')
_READ_BYTES = 1 << 20  # bytes of a shard that are read at a time
_BLOCK = 1 << 14  # results that are Python objects at a time
_SYNC_SECONDS = 1.0
#: What to do where processes do not see what another has written.
SHARED = "Processes on several nodes need one folder that all of them see."
_ENCODER = json.JSONEncoder(ensure_ascii=False)  # `json.dumps` would make one for each line


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


def store_key(identity: Mapping[str, Any]) -> str:
    """Return 16 hex digits that stand for everything that decides a prediction besides the input."""
    canonical = json.dumps(identity, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


class Store:
    """The finished predictions of one model on one task.

    `folder` is the run's store folder, with one sub-folder a key; `identity` what decides a prediction besides the
    input (see `store_key`).
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder = folder / store_key(identity)
        self._identity = dict(identity)
        self._first: ShardWriter | None = None  # of the first shard, if it was empty

    def create(self) -> None:
        """Make the folder, with a file that says what its name stands for."""
        make_folder(self.folder)
        file = self.folder / "identity.json"
        if not file.exists():
            write_json(file, dict(sorted(self._identity.items())))

    def finished(self) -> Results:
        """Read every shard: input id -> probabilities over the model's labels, what it wrote, or why there is neither.

        What `writer` wrote into the first one is still in memory where that was empty, and is not read.
        A last line without its newline is a write that a kill cut short: it is passed over here, and cut off when the
        shard is next opened for writing. InputError if a whole line is damaged, or two shards hold different values for
        one input.
        """
        shards = sorted(self.folder.glob("rank-*.jsonl"))
        own = None if self._first is None else self._first.taken()  # of the first shard
        results, ends = Collected() if own is None else own, [] if own is None else [len(own)]
        for shard in shards[len(ends) :]:
            begin = len(results)
            with shard.open("rb") as stream:
                for lines in iter(partial(stream.readlines, _READ_BYTES), []):
                    try:
                        _read_lines(lines if lines[-1].endswith(b"\n") else lines[:-1], results)
                    except (ValueError, KeyError):
                        remedy = "Delete that line (its input is computed again) or start a new run folder."
                        raise _damaged(shard, f"is damaged at line {len(results) - begin + 1}", remedy) from None
            ends.append(len(results))

        def second(input_id: str, number: int) -> InputError:
            place = bisect_right(ends, number)
            what = f"holds a second, different value for input {input_id} at line "
            what += str(number - (ends[place - 1] if place else 0) + 1)
            return _damaged(shards[place], what, "Two runs may have written into one folder; start a new run folder.")

        return results.results(second)

    def writer(self, rank: int) -> ShardWriter:
        """Open this process's shard for appending."""
        shard = ShardWriter(self.folder / f"rank-{rank:05d}.jsonl")
        if rank == 0 and shard.path.stat().st_size == 0:
            self._first, shard.written = shard, Collected()
        return shard


class ShardWriter:
    """Append finished inputs to one shard; use as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written: Collected | None = None  # what was appended, where somebody wants it
        self._left: tuple[int, int] | None = None  # size and time of the shard when it was closed
        self._unsynced, self._closing = False, threading.Event()
        self._problem: OSError | None = None
        with writing("run", "output", path.parent, remedy="" if path.parent.is_dir() else SHARED):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                self._lock()
                _cut_half_line(self._descriptor)
                sync_one(path.parent)
            except BaseException:
                os.close(self._descriptor)
                raise
        self._syncing = threading.Thread(target=self._sync, name=f"sync {path.name}", daemon=True)
        self._syncing.start()

    def append(
        self, input_ids: Sequence[str], results: Iterable[Result] | NDArray[np.float64], n_cut: Sequence[int] = ()
    ) -> None:
        """Write a batch, in one call to the operating system, before returning.

        `results` may be finite probabilities, shape (n, n_labels); `n_cut` are the tokens that each input lost, if any.
        """
        if isinstance(results, np.ndarray):
            if not any(n_cut) and "".join(input_ids).encode("utf-8", "surrogatepass").isalnum():
                self._write(b"".join(_number_lines(input_ids, results)))
                if self.written is not None:
                    self.written.extend(np.array(input_ids, "S"), results)
                return
            results = results.tolist()
        batch = [*zip(input_ids, results, n_cut or [0] * len(input_ids), strict=True)]
        lines = []
        for input_id, one, n in batch:
            result = one._asdict() if isinstance(one, WrittenAnswer | Failed) else {"probabilities": list(one)}
            lines.append(sealed({"input_id": input_id, **result, **({"n_cut": n} if n else {})}))
        self._write(b"".join(lines))
        if self.written is not None:
            for input_id, one, n in batch:
                self.written.add(input_id.encode(), one, n)

    def _write(self, data: bytes) -> None:
        """Append whole lines or none of them: behind a half one every later line would be lost."""
        view = memoryview(data)
        with writing(
            "run", "output", self.path.parent, remedy="What was written is kept; the same command goes on from there."
        ):
            if self._problem is not None:
                raise self._problem
            end = os.lseek(self._descriptor, 0, os.SEEK_END)
            try:
                while view:
                    view = view[os.write(self._descriptor, view) :]
            except BaseException:
                os.ftruncate(self._descriptor, end)
                raise
        self._unsynced = True

    def _sync(self) -> None:
        """Sync what was written, each second and at the end."""
        while not self._closing.wait(_SYNC_SECONDS) or self._unsynced:
            if self._unsynced:
                self._unsynced = False
                try:
                    os.fsync(self._descriptor)
                except OSError as problem:
                    if problem.errno not in MISSING:
                        self._problem = problem

    def _lock(self) -> None:
        try:
            if _LOCKS:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            if problem.errno in MISSING:  # the folder's lock, of the main process, stands for it
                return
            if not isinstance(problem, BlockingIOError):
                raise
            remedy = "Wait for that run to end, or choose another folder."
            folder = str(self.path.parent)
            raise input_error("run", "output", "not be in use by another run", got=folder, remedy=remedy) from None

    def close(self) -> None:
        self._closing.set()
        self._syncing.join()
        self._left = _state(os.fstat(self._descriptor))
        os.close(self._descriptor)
        if self._problem is not None:
            with writing("run", "output", self.path.parent):
                raise self._problem

    def taken(self) -> Collected | None:
        """Give away `written`, where the shard is closed and as it was left."""
        if self._left is None:
            return None
        written, self.written = self.written, None
        return written if self._left == _state(self.path.stat()) else None

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _state(file: os.stat_result) -> tuple[int, int]:
    return file.st_size, file.st_mtime_ns


def _number_lines(ids: Sequence[str], probabilities: NDArray[np.float64]) -> Iterator[bytes]:
    """Yield the lines of finite probabilities; their numbers are the shortest that give the same ones."""
    for input_id, row in zip(ids, probabilities.tolist(), strict=True):
        yield _sealed(f'{{"input_id": "{input_id}", "probabilities": {row}'.encode())


def sealed(record: Mapping[str, Any]) -> bytes:
    """Return a record as a JSON line whose last key is a checksum (CRC-32) of the line without it.

    >>> sealed({"input_id": "a"})
    b'{"input_id": "a", "crc32": "a9f6bcfc"}\\n'
    """
    return _sealed(_ENCODER.encode(record).encode("utf-8", "surrogatepass")[:-1])


def _sealed(line: bytes) -> bytes:
    """Return a line that lacks its last brace with its checksum."""
    return line + b', "crc32": "%08x"}\n' % zlib.crc32(b"}", zlib.crc32(line))


def opened(line: bytes, columns: Collection[str]) -> dict[str, Any]:
    """Return the record of a line that `sealed` wrote, or of one without a checksum; ValueError where it is damaged.

    `columns` are the keys that a record may have: a damaged name of the checksum is none of them.
    """
    seal = _SEAL.search(line)
    if seal is not None:
        line = line[: seal.start()] + b"}"
        if zlib.crc32(line) != int(seal[1], 16):
            raise ValueError("another checksum")
    record = json.loads(line.decode("utf-8", "surrogatepass"))
    if not isinstance(record, dict) or not record.keys() <= set(columns):
        raise ValueError("other keys")
    return record


def _read_lines(lines: Sequence[bytes], results: Collected) -> None:
    """Add what whole lines hold; ValueError or KeyError where one is damaged, when those before it are added."""
    try:
        results.extend(*_plain(lines))
    except ValueError:
        for line in lines:
            _read_line(line[:-1], results)


def _plain(lines: Sequence[bytes]) -> tuple[NDArray[np.bytes_], NDArray[np.float64]]:
    """Return what lines hold that are an id, probabilities and a checksum, as nearly all; ValueError for others."""
    data, kinds = (
        b"".join(lines),
        {"input_id": pa.string(), "probabilities": pa.list_(pa.float64()), "crc32": pa.string()},
    )
    reading = pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1)
    parsing = pa.json.ParseOptions(explicit_schema=pa.schema(kinds), unexpected_field_behavior="error")
    ids, numbers, seals = pa.json.read_json(pa.BufferReader(data), reading, parsing).combine_chunks().columns
    if seals.to_pylist() != [f"{zlib.crc32(b'}', zlib.crc32(line[:-_SEAL_BYTES])):08x}" for line in lines]:
        raise ValueError("without a checksum")
    if pc.count_distinct(pc.list_value_length(numbers)).as_py() != 1:
        raise ValueError("of several lengths")
    return np.array(ids.to_pylist(), "S"), pc.list_flatten(numbers).to_numpy().reshape(len(lines), -1)


def _read_line(line: bytes, results: Collected) -> None:
    """Add what a line holds; ValueError or KeyError where it is damaged."""
    record = opened(line, SHARD_COLUMNS)
    result: Result
    if "kind" in record:
        result = Failed(record["kind"], record["reason"])
    elif "raw_output" in record:
        result = WrittenAnswer(record["label"], record["raw_output"])
    else:
        result = record["probabilities"]
    results.add(record["input_id"].encode(), result, record.get("n_cut", 0))


def _damaged(shard: Path, what: str, remedy: str) -> InputError:
    return InputError(f"shard {shard} {what}.", function="run", remedy=remedy)


def _cut_half_line(descriptor: int) -> None:
    """Cut the shard after its last newline."""
    end = os.lseek(descriptor, 0, os.SEEK_END)
    position = end
    while position > 0:
        start = max(0, position - 65536)
        os.lseek(descriptor, start, os.SEEK_SET)
        newline = os.read(descriptor, position - start).rfind(b"\n")
        if newline >= 0:
            if start + newline + 1 < end:
                os.ftruncate(descriptor, start + newline + 1)
            return
        position = start
    if end > 0:
        os.ftruncate(descriptor, 0)
