"""Several pieces of work at a time: over processes started here, or over those a launcher started (RANK, WORLD_SIZE).

The pieces know nothing of one another and write their own results, so that a kill at any moment loses at most those
that were being computed, and the results do not depend on how many processes there were.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, Protocol

from paraconsist.errors import InputError
from paraconsist.running.processes import LAUNCHER, end_with_parent, launched, variables, wait_for_all

_DEVICES = "CUDA_VISIBLE_DEVICES"
_POLL = 0.2
_work: Any = None


class Work(Protocol):
    """What can be done piece by piece; it travels to the processes whole."""

    def is_done(self, piece: int) -> bool:
        """Whether the piece's results are there."""

    def do(self, piece: int) -> None:
        """Compute a piece and write its results, whole or not at all."""


def do_all(
    work: Work,
    n_pieces: int,
    *,
    jobs: int,
    devices: Sequence[str] = (),
    function: str,
    progress: Callable[[int], None] = lambda n: None,
) -> None:
    """Do every piece that is not done yet; return when all are, wherever they were done.

    Parameters
    ----------
    work : Work
    n_pieces : int
    jobs : int
        Processes to start; a launcher's processes each take their part instead.
    devices : sequence of str
        Accelerators: each process gets one, in turn.
    function : str
        For messages.
    progress : callable
        Told the number of each piece that is done.

    Raises
    ------
    InputError
        What a piece raised, or if a process was ended by the system.
    """
    rank, n_ranks = launched()
    mine = [piece for piece in range(n_pieces)[rank::n_ranks] if not work.is_done(piece)]
    if jobs == 1 or len(mine) < 2 or n_ranks > 1:
        with alone(devices):
            for piece in mine:
                work.do(piece)
                progress(piece)
    else:
        _in_pool(work, mine, min(jobs, len(mine)), devices, function, progress)
    if n_ranks > 1:
        wait_for_all(range(n_pieces), work.is_done)


def _in_pool(
    work: Work, pieces: Sequence[int], jobs: int, devices: Sequence[str], function: str, progress: Callable[[int], None]
) -> None:
    """Hand the pieces out one by one to processes started here and, unless each has its device, to this one too."""
    context = get_context("spawn")
    numbers, done = context.Queue(), context.SimpleQueue()
    next_one = context.Value("i", 0)
    joins = len(devices) < 2  # this process has seen all devices already: it cannot keep to one of several
    for number in range(jobs):
        numbers.put(number)
    threads = max(1, (os.cpu_count() or 1) // jobs)
    n_told = 0

    def tell() -> None:
        nonlocal n_told
        while not done.empty():
            progress(done.get())
            n_told += 1

    with (
        variables({"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(threads))}),
        ProcessPoolExecutor(
            jobs - joins, context, _begin, (work, os.getpid(), numbers, tuple(devices), next_one, done)
        ) as pool,
    ):
        futures = [pool.submit(_work_off, tuple(pieces)) for _ in range(jobs - joins)]
        try:
            if joins:
                for piece in _claimed(pieces, next_one):
                    work.do(piece)
                    progress(piece)
                    n_told += 1
                    tell()
            while not all(future.done() for future in futures):
                tell()
                time.sleep(_POLL)
            for future in futures:
                future.result()
            while n_told < len(pieces):
                tell()
        except BrokenProcessPool:
            raise InputError(
                f"{function}: a process was ended by the system, for want of memory perhaps. What is finished is kept: "
                "the same command, with fewer --jobs, goes on from there."
            ) from None
        finally:
            next_one.value = len(pieces)  # nobody begins another one
            pool.shutdown(wait=True, cancel_futures=True)


def _claimed(pieces: Sequence[int], next_one: Any) -> Iterator[int]:
    """Yield the pieces that nobody else has taken."""
    while True:
        with next_one.get_lock():
            number = next_one.value
            next_one.value = number + 1
        if number >= len(pieces):
            return
        yield pieces[number]


def _begin(work: Work, parent: int, numbers: Any, devices: Sequence[str], next_one: Any, done: Any) -> None:
    """Prepare a worker: what to do, where, and an end when the parent is gone, which a killed parent cannot tell it."""
    global _work
    _work = (work, next_one, done)
    number = numbers.get()
    if devices:
        os.environ[_DEVICES] = devices[number % len(devices)]
    end_with_parent(parent)


def _work_off(pieces: Sequence[int]) -> None:
    work, next_one, done = _work
    try:
        for piece in _claimed(pieces, next_one):
            work.do(piece)
            done.put(piece)
    except BaseException:
        next_one.value = len(pieces)  # what this one cannot do, the others need not go on with
        raise


@contextmanager
def alone(devices: Sequence[str] = ()) -> Iterator[None]:
    """Hide the launcher, so that libraries below take this process for the only one; give it a device of its own."""
    rank, n_ranks = launched()
    given: dict[str, str | None] = dict.fromkeys(LAUNCHER) if n_ranks > 1 else {}
    if devices and n_ranks > 1:
        given[_DEVICES] = devices[int(os.environ.get("LOCAL_RANK", rank)) % len(devices)]
    with variables(given):
        yield
