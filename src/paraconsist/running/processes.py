"""Work in several processes, started here or by a launcher (RANK, WORLD_SIZE); standard library only, to come first.

`do_all` does independent pieces, which write their own results, so that a kill loses at most those under way, and the
results do not depend on the number of processes.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol, TypeVar

from paraconsist.errors import InputError, visible
from paraconsist.files import launched

Piece = TypeVar("Piece", bound=Hashable)
_Piece = TypeVar("_Piece", bound=Hashable, contravariant=True)

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


def wait_for_all(pieces: Sequence[Piece], is_done: Callable[[Piece], bool]) -> None:
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


_DEVICES = "CUDA_VISIBLE_DEVICES"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_worker: tuple[Any, int | None]


class Work(Protocol[_Piece]):
    """Work that is done piece by piece; it is pickled and sent to the processes as a whole."""

    def is_done(self, piece: _Piece) -> bool:
        """Say if the piece's results exist."""

    def do(self, piece: _Piece) -> None:
        """Compute a piece and write its results atomically."""


def do_all(
    work: Work[Piece],
    pieces: Sequence[Piece],
    *,
    function: str,
    jobs: int = 1,
    threads: int | None = None,
    devices: Sequence[str] = (),
    progress: Callable[[Piece], None] = lambda piece: None,
) -> None:
    """Do every piece (hashable) that is not done yet, in this order; return when all are done, in any process.

    `jobs` processes are started; under a launcher its processes each take their part instead. Each gets one of the
    `devices` (accelerators) in turn. `threads` of the numerical libraries are pinned, because sums of floats depend on
    them; by default processes share the cores. `progress` takes each piece that is done; errors name `function`. The
    error of a piece is raised here, and InputError if the system ended a process.
    """
    rank, n_ranks = launched()  # the list alone decides who does what: other processes may have started earlier
    mine = [piece for piece in pieces[rank::n_ranks] if not work.is_done(piece)]
    if jobs == 1 or len(mine) < 2 or n_ranks > 1:
        with alone(devices), pinned(threads):
            for piece in mine:
                work.do(piece)
                progress(piece)
        if n_ranks > 1:
            wait_for_all(pieces, work.is_done)
        return
    jobs = min(jobs, len(mine))
    environment = dict.fromkeys(_THREADS, str(threads))  # for libraries that workers load later
    if threads is None:
        environment = {_THREADS[0]: os.environ.get(_THREADS[0], str(max(1, (os.cpu_count() or 1) // jobs)))}
    leaks = "ignore::UserWarning:multiprocessing.resource_tracker"  # a stopped command leaves some, which are removed
    environment["PYTHONWARNINGS"] = ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), leaks)))
    with ExitStack() as stack:
        stack.enter_context(variables(environment))
        context = get_context("spawn")
        numbers = context.Queue()
        for number in range(jobs):
            numbers.put(number)
        start = (work, threads, os.getpid(), numbers, tuple(devices))
        pool = stack.enter_context(ProcessPoolExecutor(jobs, context, _begin, start))
        with deaf():
            futures = {pool.submit(_do, piece): piece for piece in mine}
        try:
            for future in as_completed(futures):
                future.result()
                progress(futures[future])
        except BrokenProcessPool:
            raise InputError(
                "the system ended a process, perhaps because memory ran out. What is finished is kept: "
                "the same command with fewer `jobs` resumes from there.",
                function=function,
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _begin(work: Any, threads: int | None, parent: int, numbers: Any, devices: Sequence[str]) -> None:
    """Prepare a worker: its work, its device, and its end when the parent is gone."""
    global _worker
    _worker = work, threads
    number = numbers.get()
    if devices:
        os.environ[_DEVICES] = devices[number % len(devices)]
    end_with_parent(parent)


def _do(piece: Hashable) -> None:
    work, threads = _worker
    with pinned(threads):
        work.do(piece)


@contextmanager
def alone(devices: Sequence[str] = ()) -> Iterator[None]:
    """Hide the launcher, so that libraries treat this process as the only one; assign it one of the devices."""
    rank, n_ranks = launched()
    environment: dict[str, str | None] = dict.fromkeys(LAUNCHER) if n_ranks > 1 else {}
    if devices:
        environment[_DEVICES] = devices[int(os.environ.get("LOCAL_RANK", rank)) % len(devices)]
    with variables(environment):
        yield


def pinned(threads: int | None) -> AbstractContextManager[object]:
    """Limit the numerical libraries to a number of threads, so that sums keep their order."""
    if threads is None or find_spec("threadpoolctl") is None:  # without scikit-learn; training sets torch's threads
        return nullcontext()
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    limits: AbstractContextManager[object] = threadpool_limits(threads)
    return limits


def visible_devices(device: str | None) -> list[str]:
    """Return the accelerators over which processes can be spread; none if `device` is ``"cpu"``."""
    if device == "cpu":
        return []
    names = os.environ.get(_DEVICES)
    if names is not None:
        return [name for name in names.split(",") if name]
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]
