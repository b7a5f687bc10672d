"""A run on the disk: its folder, and in it the store of the results so far, safe against SIGKILL at any moment.

Each process appends to its own shard of the store, one JSON line per input, with one system call per batch; a thread
syncs the shard every second. After a kill the next run finds all written results, even if its processes and batches
differ; a power cut loses at most the last second. An incomplete last line is cut off and its input computed again. Each
line ends with a checksum, so that damaged probabilities are noticed.
`compact` puts all lines into one file, which begins with them compressed; later lines follow as they are.

The folder's name is a hash of everything that decides a prediction except the input (model weights, dtype, task,
template), and the key of a line is a hash of the input's content: no changed model, template or text can get an old
prediction.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import os
import re
import shutil
import threading
import warnings
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, compress, count
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from numpy.typing import NDArray

from paraconsist.data.arrays import Growing, Places, as_bytes, mapped, own_stream, sorted_pieces
from paraconsist.data.foreign import valid_text
from paraconsist.data.predictions import InputCounts, write_predictions
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.errors import InputError, input_error
from paraconsist.files import (
    MISSING,
    Json,
    digest,
    locked,
    make_folder,
    read_record,
    rename_folder,
    replacing,
    sync_one,
    write_json,
    writing,
)

try:
    import fcntl
except ImportError:  # Windows has no such locks: it does not notice two runs into one folder
    _LOCKS = False
else:
    _LOCKS = True


class Failed(NamedTuple):
    """The result of an input without an answer."""

    kind: str
    reason: str  # a sentence that may quote the input, so it never leaves the store


#: Probabilities over the model's labels, an answer that the model wrote, or the reason why there is none.
Result = list[float] | WrittenAnswer | Failed
#: Where a store keeps an endpoint's answers.
JOURNAL = "answers.jsonl"
_SEAL = re.compile(rb', "crc32": "([0-9a-f]{8})"\}$')
_SEAL_BYTES = len(', "crc32": "00000000"}\n')
_COMPACT, _COMPACT_HEAD = b'{"gzip": ', b'{"gzip": %020d}\n'  # before so many bytes of compressed lines
_READ_BYTES = 1 << 20  # bytes of a shard that are read at a time
_BLOCK = 1 << 14  # results that are Python objects at a time
_SYNC_SECONDS = 1.0
#: The remedy if processes do not see each other's files.
SHARED = "Processes on several nodes need one folder that all of them see."
_ENCODER = json.JSONEncoder(ensure_ascii=False)  # `json.dumps` would make one for each line


class Results(Mapping[str, Result]):
    """A mapping of input ids to results, which are numbered by the order of the ids (their places).

    `probabilities`, shape (n, n_labels), are nan for the written answers and failures in `others` (by place). `n_cut`,
    shape (n,), counts the tokens that each input lost to the model's window.
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
        """Convert a mapping to `Results`."""
        if isinstance(results, cls):
            return results
        collected = Collected()
        for input_id, result in results.items():
            collected.add(input_id.encode(), result)
        return collected.results()

    def places(self, ids: Sequence[str] | pa.ChunkedArray) -> Places:
        """Return the places of ids (texts, in a sequence or an Arrow column), -1 for those without a result."""
        starts, last = range(0, len(ids), _BLOCK), len(self._ids) - 1

        def of(wanted: NDArray[np.bytes_]) -> Places:
            if last < 0:
                return np.full(len(wanted), -1)
            order, near = np.argsort(wanted), np.empty(len(wanted), np.int64)
            near[order] = np.searchsorted(self._ids, wanted[order]).clip(max=last)  # sorted ids are found faster
            return np.where(self._ids[near] == wanted, near, -1)

        return mapped((of(as_bytes(ids[start : start + _BLOCK])) for start in starts), np.int64)

    def used(self, places: Places) -> NDArray[np.bool_]:
        """Return a mask of results, shape (n,), that is true at `places`."""
        mask = np.zeros(len(self), dtype=np.bool_)
        mask[places] = True
        return mask

    def at(self, place: int) -> Result:
        """Return the result at a place."""
        return self.others[place] if place in self.others else self.probabilities[place].tolist()

    def where(self, kind: type) -> NDArray[np.bool_]:
        """Return a mask of the results that are a `WrittenAnswer` or `Failed`, shape (n,)."""
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
            yield from map(bytes.decode, self._ids[start : start + _BLOCK].tolist())

    def __len__(self) -> int:
        return len(self._ids)


class Collected:
    """Results in the order of their arrival, to be converted to `Results` once."""

    def __init__(self) -> None:
        self._ids, self._n_cut = Growing("S1"), Growing(np.int32)
        self._values = Growing(np.float64, 0)  # shape (n, n_labels), (n, 0) while none has any
        self._others: dict[int, Result] = {}
        self._new: list[tuple[bytes, Result, int]] = []
        self._n_before, self._n_labels = 0, 0  # the first: results in blocks

    def __len__(self) -> int:
        return self._n_before + len(self._new)

    def add(self, input_id: bytes, result: Result, n_cut: int = 0) -> None:
        self._new.append((input_id, result, n_cut))
        if len(self._new) == _BLOCK:
            self._flush()

    def extend(self, ids: NDArray[np.bytes_], probabilities: NDArray[np.float64]) -> None:
        """Add a block of uncut results; `probabilities`, shape (n, n_labels), is not copied."""
        if self._n_labels not in (0, probabilities.shape[1]):
            for input_id, row in zip(ids.tolist(), probabilities.tolist(), strict=True):
                self.add(input_id, row)
            return
        self._flush()
        self._append(ids, probabilities, np.zeros(len(ids), np.int32))

    def _flush(self) -> None:
        """Collect the single results in a block."""
        if self._new:
            ids, results, n_cut = zip(*self._new, strict=True)
            self._new = []
            n = self._n_labels or next((len(result) for result in results if isinstance(result, list)), 0)
            fits = [isinstance(result, list) and len(result) == n > 0 for result in results]
            self._others.update({self._n_before + i: result for i, result in enumerate(results) if not fits[i]})
            values = np.full((len(ids), n), math.nan)
            values[fits] = np.array([*compress(results, fits)], np.float64).reshape(-1, n) if n else 0
            self._append(np.array(ids, "S"), values, np.array(n_cut, np.int32))

    def _append(self, ids: NDArray[np.bytes_], values: NDArray[np.float64], n_cut: NDArray[np.int32]) -> None:
        if self._n_labels < values.shape[1]:
            self._n_labels = values.shape[1]
            self._values = Growing(np.float64, self._n_labels)
            self._values.append(np.full((self._n_before, self._n_labels), math.nan))  # for earlier results
        self._n_before += len(ids)
        self._ids.append(ids)
        self._values.append(values)
        self._n_cut.append(n_cut)

    def results(self, refuse: Callable[[str, int], InputError] | None = None) -> Results:
        """Return all results; `refuse` makes the error for a second, different result from its id and number from 0."""
        self._flush()
        probabilities, n_cut = self._values.array(), self._n_cut.array()
        all_ids, all_values, all_cut = Growing("S1"), Growing(np.float64, self._n_labels), Growing(np.int32)
        numbers_of_others, others, n = np.array([*self._others], np.int64), dict[int, Result](), 0

        def numbered(number: int) -> Result:
            return self._others.get(number) or probabilities[number].tolist()

        for order, ids in sorted_pieces(self._ids.array()):
            is_first = np.append(True, ids[1:] != ids[:-1])
            chosen, groups = order[is_first], np.cumsum(is_first) - 1
            for place in np.flatnonzero(~is_first).tolist():
                group, number = groups[place], int(order[place])
                first, second = numbered(int(chosen[group])), numbered(number)
                if isinstance(first, Failed) and not isinstance(second, Failed):  # it was asked again
                    chosen[group] = number
                elif refuse is not None and first != second and Failed not in (type(first), type(second)):
                    raise refuse(ids[place].decode(), number)
            for place in np.flatnonzero(np.isin(chosen, numbers_of_others)).tolist():
                others[n + place] = self._others[int(chosen[place])]
            n += len(chosen)
            all_ids.append(ids[is_first])
            all_values.append(probabilities[chosen])
            all_cut.append(n_cut[chosen])
        return Results(all_ids.array(), all_values.array(), others, all_cut.array())


def store_key(identity: Mapping[str, object]) -> str:
    """Return 16 hex digits for everything that decides a prediction except the input."""
    canonical = json.dumps(identity, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


class Store:
    """The finished predictions of one model on one task.

    `folder` is the run's store folder, with one sub-folder per `store_key` of an `identity`.
    """

    def __init__(self, folder: Path, identity: Mapping[str, object]) -> None:
        self.folder = folder / store_key(identity)
        self._identity = dict(identity)
        self._first: ShardWriter | None = None  # of the first shard, if it was empty

    def create(self) -> None:
        """Make the folder, with a file of the identity that its name is a hash of."""
        make_folder(self.folder)
        file = self.folder / "identity.json"
        if not file.exists():
            write_json(file, dict(sorted(self._identity.items())))

    def finished(self) -> Results:
        """Read the results of every shard.

        Those that `writer` appended to an empty first shard are still in memory and are not read again. A last line
        without a newline, which a kill cut short, is skipped; it is cut off when the shard is next opened for writing.
        InputError if a whole line is damaged, or two shards hold different values for one input.
        """
        shards = sorted(self.folder.glob("rank-*.jsonl"))
        written = None if self._first is None else self._first.taken()  # of the first shard
        results, ends = Collected() if written is None else written, [] if written is None else [len(written)]
        for shard in shards[len(ends) :]:
            begin = len(results)
            try:
                for lines in lines_of(shard):
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
        shard = ShardWriter(shard_of(self.folder, rank))
        if rank == 0 and shard.path.stat().st_size == 0:
            self._first, shard.written = shard, Collected()
        return shard


def lines_of(path: Path) -> Iterator[list[bytes]]:
    """Yield the lines of a shard or journal, many at a time; the last one of all may lack its end.

    ValueError if its compressed lines are damaged.
    """
    with path.open("rb") as stream:
        streams: list[io.BufferedIOBase] = [stream]
        if stream.peek(len(_COMPACT)).startswith(_COMPACT):
            n = int(stream.readline()[len(_COMPACT) : -2])
            streams.insert(0, gzip.GzipFile(fileobj=io.BytesIO(stream.read(n))))
            stream.seek(1, os.SEEK_CUR)  # the end of the line
        try:
            for each in streams:
                yield from iter(partial(each.readlines, _READ_BYTES), [])
        except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
            raise ValueError(f"the compressed lines are damaged: {problem}") from None


def compact(paths: Sequence[Path]) -> None:
    """Put the whole lines of shards, or of a journal, into the first of the files, compressed, and remove the others.

    After a kill the first is as it was or has all lines; others that are still there repeat some of them.
    """
    with replacing(paths[0]) as partial_file, partial_file.open("wb") as stream:
        stream.write(_COMPACT_HEAD % 0)
        with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
            for lines in chain.from_iterable(map(lines_of, paths)):
                packed.writelines(line for line in lines if line.endswith(b"\n"))
        n = stream.tell() - len(_COMPACT_HEAD % 0)
        stream.write(b"\n")  # behind which an incomplete line is cut off
        stream.seek(0)
        stream.write(_COMPACT_HEAD % n)
    for path in paths[1:]:
        path.unlink()


_Writer = TypeVar("_Writer", bound="ShardWriter")


def shard_of(folder: Path, rank: int) -> Path:
    """Return the shard of a process in the folder of a store."""
    return folder / f"rank-{rank:05d}.jsonl"


class ShardWriter:
    """Append finished inputs to one shard; use as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written: Collected | None = None  # the appended results, if the store collects them
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
        """Write a batch in one system call.

        `results` may be finite probabilities, shape (n, n_labels); `n_cut` counts the tokens that each input lost.
        """
        if isinstance(results, np.ndarray):
            if not any(n_cut) and "".join(input_ids).encode("utf-8", "surrogatepass").isalnum():
                rows = zip(input_ids, results.tolist(), strict=True)  # in the shortest digits that read back the same
                lines = [_sealed(f'{{"input_id": "{name}", "probabilities": {row}'.encode()) for name, row in rows]
                self._write(b"".join(lines))
                if self.written is not None:
                    self.written.extend(np.array(input_ids, "S"), results)
                return
            results = results.tolist()
        batch, lines = [*zip(input_ids, results, n_cut or [0] * len(input_ids), strict=True)], []
        for input_id, result, n in batch:
            fields = result._asdict() if isinstance(result, WrittenAnswer | Failed) else {"probabilities": list(result)}
            fields = {name: value for name, value in fields.items() if name != "cut" or value}
            lines.append(sealed({"input_id": input_id, **fields, **({"n_cut": n} if n else {})}))
        self._write(b"".join(lines))
        if self.written is not None:
            for input_id, result, n in batch:
                self.written.add(input_id.encode(), result, n)

    def _write(self, data: bytes) -> None:
        """Append lines atomically: every line after an incomplete one would be lost."""
        view = memoryview(data)
        with writing("run", "output", self.path.parent, remedy="Run the same command again to continue from here."):
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
        """Sync the shard every second and at the end."""
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
            if problem.errno in MISSING:  # the main process holds the folder's own lock
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
        self._descriptor = -1  # its number may be another file's soon: a thread left at a second Ctrl-C writes nothing
        if self._problem is not None:
            with writing("run", "output", self.path.parent):
                raise self._problem

    def taken(self) -> Collected | None:
        """Hand over `written` if the shard is closed and nobody changed it since."""
        if self._left is None:
            return None
        written, self.written = self.written, None
        return written if self._left == _state(self.path.stat()) else None

    def __enter__(self: _Writer) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _state(file: os.stat_result) -> tuple[int, int]:
    return file.st_size, file.st_mtime_ns


def sealed(record: Mapping[str, object]) -> bytes:
    """Return a record as a JSON line whose last key is a checksum (CRC-32) of the line without it.

    >>> sealed({"input_id": "a"})
    b'{"input_id": "a", "crc32": "a9f6bcfc"}\\n'
    """
    return _sealed(_ENCODER.encode(record).encode("utf-8", "surrogatepass")[:-1])


def _sealed(line: bytes) -> bytes:
    """Complete a line that lacks its last brace with its checksum."""
    return line + b', "crc32": "%08x"}\n' % zlib.crc32(b"}", zlib.crc32(line))


def opened(line: bytes) -> Json:
    """Return the record of a line that `sealed` wrote, its texts valid Unicode; ValueError if it is damaged."""
    seal = _SEAL.search(line)
    if seal is None or zlib.crc32(line[: seal.start()] + b"}") != int(seal[1], 16):
        raise ValueError("without its checksum")
    record: Json = json.loads(valid_text(line[: seal.start()].decode("utf-8", "surrogatepass") + "}"))
    return record


def _read_lines(lines: Sequence[bytes], results: Collected) -> None:
    """Add the results of whole lines; ValueError or KeyError at a damaged one, after those before it."""
    try:
        results.extend(*_plain(lines))
    except ValueError:
        for line in lines:
            _read_line(line[:-1], results)


def _plain(lines: Sequence[bytes]) -> tuple[NDArray[np.bytes_], NDArray[np.float64]]:
    """Return ids and probabilities of lines with nothing else, as most are; ValueError for others."""
    data = b"".join(lines)
    kinds = {"input_id": pa.string(), "probabilities": pa.list_(pa.float64()), "crc32": pa.string()}
    reading = pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1)
    parsing = pa.json.ParseOptions(explicit_schema=pa.schema(kinds), unexpected_field_behavior="error")
    ids, numbers, seals = pa.json.read_json(own_stream(data), reading, parsing).combine_chunks().columns
    if seals.to_pylist() != [f"{zlib.crc32(b'}', zlib.crc32(line[:-_SEAL_BYTES])):08x}" for line in lines]:
        raise ValueError("without a checksum")
    if pc.count_distinct(pc.list_value_length(numbers)).as_py() != 1:
        raise ValueError("of several lengths")
    return np.array(ids.to_pylist(), "S"), pc.list_flatten(numbers).to_numpy().reshape(len(lines), -1)


def _read_line(line: bytes, results: Collected) -> None:
    """Add the result of a line; ValueError or KeyError if it is damaged."""
    record = opened(line)
    result: Result
    if "kind" in record:
        result = Failed(record["kind"], record["reason"])
    elif "raw_output" in record:
        result = WrittenAnswer(record["label"], record["raw_output"], record.get("cut", False))
    else:
        result = record["probabilities"]
    results.add(record["input_id"].encode(), result, record.get("n_cut", 0))


def _damaged(shard: Path, what: str, remedy: str) -> InputError:
    return InputError(f"shard {shard} {what}.", function="run", remedy=remedy)


def _cut_half_line(descriptor: int) -> None:
    """Cut the shard after its last newline."""
    position = os.lseek(descriptor, 0, os.SEEK_END)
    while position > 0:
        start = max(0, position - 65536)
        os.lseek(descriptor, start, os.SEEK_SET)
        newline = os.read(descriptor, position - start).rfind(b"\n")
        position = start
        if newline >= 0:
            position += newline + 1
            break
    os.ftruncate(descriptor, position)


def content_identity(identity: Json) -> Json:
    """Return the part of a model's identity that decides its predictions: no path if its weights are hashed."""
    paths = ("model", "base_model") if "revision" not in identity else ("model",)  # an adapter's model may be the Hub's
    return {key: value for key, value in identity.items() if key not in paths or "weights_hash" not in identity}


class RunFolder:
    """Paths of one run: ``run.json``, ``results.json``, ``store/``, and three folders with a file per set."""

    def __init__(self, path: Path) -> None:
        self.path, self.store = path, path / "store"
        self.run_file, self.results_file = path / "run.json", path / "results.json"

    def file_of(self, kind: Literal["predictions", "texts", "noise"], set_file_name: str) -> Path:
        return self.path / kind / f"{set_file_name}.parquet"

    def predictions_files(self) -> list[Path]:
        """Return the run's predictions files; if ``run.json`` lists its files, exclude others with a warning."""
        files = sorted((self.path / "predictions").glob("*.parquet"))
        named = None
        with suppress(InputError):  # the code that opens the folder reports an unreadable run.json
            named = self.read().get("sets")
        if not isinstance(named, Mapping) or not named:
            return files
        listed = [file for file in files if f"predictions/{file.name}" in named.values()]
        if others := [file.name for file in files if file not in listed]:
            text = f"{self.path.name}: run.json does not name {', '.join(others)} in predictions/: left out."
            warnings.warn(text, UserWarning, stacklevel=3)
        return listed

    def open(self, models: Mapping[str, Json], *, overwrite: bool = False) -> None:
        """Prepare the folder for a run of `models` (task name -> identity), or for the rest of the run in it.

        `overwrite` deletes an earlier run, except a store with an endpoint's answers, which is renamed, and other
        files. InputError if the folder cannot be written, holds something else, or a run of a different model.
        """
        with writing("run", "output", self.path):
            if overwrite and self.run_file.is_file():
                self._keep_answers()
                for part in (self.store, self.path / "predictions", self.path / "texts", self.path / "noise"):
                    if part.exists():
                        shutil.rmtree(part)
                self.results_file.unlink(missing_ok=True)
                self.run_file.unlink()  # last, as it marks the folder as a run's
            make_folder(self.path / "predictions")
            make_folder(self.store)
        earlier = self.read().get("models", {})
        for task, identity in models.items():
            before, now = earlier.get(task), dict(identity)
            if before is None or content_identity(before) == content_identity(now):
                continue
            keys = [k for k in sorted({*before, *now}) if before.get(k) != now.get(k)]
            differences = ", ".join(f"{k}: {before.get(k)!r} there, {now.get(k)!r} now" for k in keys)
            must = "be a new folder or hold a run of the same model"
            is_other = {"model", "weights_hash", "served"} & {*keys}
            what = "another model's run" if is_other else "a run with other settings"
            remedy = f"It holds {what} of task {task} ({differences})."
            remedy += " Choose another folder, or give `overwrite` to replace the run."
            raise input_error("run", "output", must, got=str(self.path), remedy=remedy)
        self.update_run({"models": {task: dict(identity) for task, identity in models.items()}})

    def _keep_answers(self) -> None:
        """Rename a store with an endpoint's answers, which were paid for."""
        n = sum(map(len, chain.from_iterable(map(lines_of, self.store.glob(f"*/{JOURNAL}")))))
        if n:
            names = (f"{self.store.name}.{i}" for i in count(1))
            aside = rename_folder(self.store, next(name for name in names if not (self.path / name).exists()))
            text = f"the endpoint's {n:,} answers of the earlier run are kept: delete {aside} if you do not need them"
            warnings.warn(text, UserWarning, stacklevel=3)

    def read(self) -> Json:
        """Return ``run.json``; empty before a run."""
        remedy = "Give `overwrite` to replace the run, or choose another folder."
        return read_record("run", "output", self.run_file, remedy=remedy) if self.run_file.exists() else {}

    def update_run(self, entries: Json) -> None:
        """Add entries to ``run.json``, and keep those of other tasks and sets."""
        with locked(self.path, "run", "output"):
            run = self.read()
            merged = {k: {**run[k], **entry} if isinstance(run.get(k), dict) else entry for k, entry in entries.items()}
            write_json(self.run_file, {**run, **merged})

    def write(self, file: Path, table: pa.Table | Iterator[pa.Table], metadata: Mapping[str, object]) -> None:
        """Write a table of a set, or its row groups, and record the file's digest in ``run.json``."""
        make_folder(file.parent)
        self._record(file, rows=write_predictions(file, table, metadata))

    def write_results(self, results: Mapping[str, object]) -> None:
        write_json(self.results_file, results)
        self._record(self.results_file)

    def _record(self, file: Path, **more: int) -> None:
        name = file.relative_to(self.path).as_posix()
        self.update_run({"files": {name: {**digest(file), **more}}})


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


def any_read(finished: Results, *, written: bool, free: bool) -> bool:
    """Say whether an answer in a store could be read: a `written` one, complete or `free` text, else probabilities."""
    if not written:
        return len(finished) > len(finished.others)
    results = (result for result in finished.others.values() if isinstance(result, WrittenAnswer))
    return any(not result.is_empty(free=free) for result in results)


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
