"""Tools for running in several processes, besides accelerate (standard library only, so that they can come first)."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from paraconsist.errors import visible
from paraconsist.files import launched

T = TypeVar("T")

#: Variables by which a launcher's processes know each other; hidden from work that a single process does.
LAUNCHER = (
    *("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK"),
    *("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE"),
)
_THREAD = "paraconsist-parent-watch"
_POLL = 0.2
#: Seconds without a stored answer after which a process is named, and between two looks.
_SILENT, _LOOK = 600.0, 30.0


def end_with_launcher(seconds: float = 1.0) -> None:
    """End this process when the launcher that started it is gone; do nothing if there is only one process.

    A launcher killed with SIGKILL leaves its workers running, waiting for each other and holding the shards and the
    accelerators. A daemon thread sees the parent change and ends the worker. Call this as early as possible: a launcher
    may be killed while its workers still import torch.
    """
    if launched()[1] == 1 or any(thread.name == _THREAD for thread in threading.enumerate()):
        return
    parent = os.getppid()
    if parent == 1 and not _is_launcher(parent):
        _end()
    end_with_parent(parent, seconds)


def end_with_parent(parent: int, seconds: float = 1.0) -> None:
    """End this process when its parent is gone; a killed parent cannot notify it."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(seconds)
        _end()

    threading.Thread(target=watch, name=_THREAD, daemon=True).start()


def _is_launcher(pid: int) -> bool:
    """Say if a process may be a launcher: in a container it can be process 1; an orphan's parent is init."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # no /proc on this system: unknown
        return True
    return any(name in command for name in (b"python", b"torchrun", b"accelerate"))


def _end() -> None:
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def wait_for_all(pieces: Sequence[T], is_done: Callable[[T], bool]) -> None:
    """Wait for the launcher's other processes; if one of them dies, the launcher ends all."""
    waiting = list(pieces)
    while waiting:
        waiting = [piece for piece in waiting if not is_done(piece)]
        time.sleep(_POLL if waiting else 0)


@contextmanager
def naming_silent(shards: Sequence[Path], rank: int) -> Iterator[None]:
    """Wait inside for the other processes, and name each whose shard has not changed for ten minutes.

    One that waits touches its own shard, so that it does not seem silent. The first of those that wait says it.
    """
    over, started = threading.Event(), time.time()

    def watch() -> None:
        named: set[int] = set()
        while not over.wait(_LOOK):
            os.utime(shards[rank])
            now = shards[rank].stat().st_mtime  # by the clock of the file system
            changed = [path.stat().st_mtime if path.is_file() else started for path in shards]
            silent = {other for other, then in enumerate(changed) if now - max(then, started) > _SILENT}
            if rank == min({*range(len(shards))} - silent):
                for other in sorted(silent - named):
                    what = f"process {other} of {len(shards)} has stored nothing for {_SILENT / 60:.0f} minutes"
                    where = visible(str(shards[other]))
                    print(f"warning: {what} ({where}); the others wait for it", file=sys.stderr, flush=True)
            named |= silent

    threading.Thread(target=watch, name="paraconsist-silent", daemon=True).start()
    try:
        yield
    finally:
        over.set()


@contextmanager
def deaf() -> Iterator[None]:
    """Block Ctrl-C for processes that are started inside, and for this one until the end: it stops them itself."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def variables(values: Mapping[str, str | None]) -> Iterator[None]:
    """Set (or, for None, remove) environment variables inside a block."""
    before = {name: os.environ.pop(name, None) for name in values}
    os.environ.update({name: value for name, value in values.items() if value is not None})
    try:
        yield
    finally:
        for name in values:
            os.environ.pop(name, None)
        os.environ.update({name: value for name, value in before.items() if value is not None})
