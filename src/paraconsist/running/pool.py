"""Pieces of work in parallel: in processes started here, or in those that a launcher started (RANK, WORLD_SIZE).

The pieces are independent and write their own results, so that a kill loses at most those under way, and the results
do not depend on the number of processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar

from paraconsist.errors import InputError
from paraconsist.files import launched
from paraconsist.running.processes import LAUNCHER, deaf, end_with_parent, variables, wait_for_all

_DEVICES = "CUDA_VISIBLE_DEVICES"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_worker: tuple[Any, int | None]

Piece = TypeVar("Piece", bound=Hashable)
_Piece = TypeVar("_Piece", bound=Hashable, contravariant=True)


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
