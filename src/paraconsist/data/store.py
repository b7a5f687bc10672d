"""The crash-safe store: what a run has computed so far, safe against SIGKILL at any moment.

Every process appends to a shard of its own, one JSON line an input, and hands each batch to the operating system in one
write. What was written before a kill is found by the next run, whatever its number of processes and its batches. A line
that the kill cut in two is repaired by cutting it off; its input is computed again.

The store's folder is named by a hash of all that decides a prediction besides the input itself (model
weights, dtype, task, template), and lines are keyed by a hash of the input's content: a changed model,
template or text can never meet an old prediction.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from paraconsist.data.prompts import WrittenAnswer
from paraconsist.errors import InputError, input_error
from paraconsist.files import write_json

try:
    import fcntl
except ImportError:  # Windows has no such locks: two runs into one folder go unnoticed there
    _LOCKS = False
else:
    _LOCKS = True

#: Probabilities over the model's labels, or an answer that the model wrote.
Result = list[float] | WrittenAnswer


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

    def create(self) -> None:
        """Make the folder, with a file that says what its name stands for."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "identity.json"
        if not file.exists():
            write_json(file, dict(sorted(self._identity.items())))

    def finished(self) -> dict[str, Result]:
        """Read every shard: input id -> probabilities over the model's labels, or what the model wrote.

        A last line without its newline is a write that a kill cut short: it is passed over here, and cut off when the
        shard is next opened for writing. InputError if a whole line is damaged, or two shards hold different values for
        one input.
        """
        results: dict[str, Result] = {}
        for shard in sorted(self.folder.glob("rank-*.jsonl")):
            _read_shard(shard, results)
        return results

    def writer(self, rank: int) -> ShardWriter:
        """Open this process's shard for appending."""
        return ShardWriter(self.folder / f"rank-{rank:05d}.jsonl")


class ShardWriter:
    """Append finished inputs to one shard; use as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            self._lock()
            _cut_half_line(self._descriptor)
        except BaseException:
            os.close(self._descriptor)
            raise

    def append(self, input_ids: Sequence[str], results: Iterable[Sequence[float] | WrittenAnswer]) -> None:
        """Write a batch, in one call to the operating system, before returning."""
        lines = ""
        for input_id, one in zip(input_ids, results, strict=True):
            result = one._asdict() if isinstance(one, WrittenAnswer) else {"probabilities": list(one)}
            lines += json.dumps({"input_id": input_id, **result}) + "\n"
        self._write(lines.encode())

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def _lock(self) -> None:
        try:
            if _LOCKS:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            remedy = "Wait for that run to end, or choose another folder."
            folder = str(self.path.parent)
            raise input_error("run", "output", "not be in use by another run", got=folder, remedy=remedy) from None

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read_shard(shard: Path, results: dict[str, Result]) -> None:
    data = shard.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            record = json.loads(line)
            input_id = record["input_id"]
            written = "raw_output" in record
            result = WrittenAnswer(record["label"], record["raw_output"]) if written else record["probabilities"]
        except (ValueError, KeyError, TypeError):
            remedy = "Delete that line (its input is computed again) or start a new run folder."
            raise _damaged(shard, f"is damaged at line {number}", remedy) from None
        if results.setdefault(input_id, result) != result:
            remedy = "Two runs may have written into one folder; start a new run folder."
            raise _damaged(shard, f"holds a second, different value for input {input_id} at line {number}", remedy)


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
