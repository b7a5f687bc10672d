"""Several pieces of work at a time: over processes started here, or over those a launcher started (RANK, WORLD_SIZE).

The pieces know nothing of one another and write their own results, so that a kill at any moment loses at most those
that were being computed, and the results do not depend on how many processes there were.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING

from paraconsist.errors import InputError
from paraconsist.running.processes import end_with_parent, launched, variables, wait_for_all
from paraconsist.studies.ie.options import FUNCTION, Unit

if TYPE_CHECKING:
    from paraconsist.studies.ie.experiment import Work


Piece = Unit | int
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_work: Work | None = None


def do_all(work: Work, pieces: Sequence[Piece], *, progress: Callable[[int], None]) -> None:
    """Do every piece that is not done yet; return when all are, wherever they were done.

    Parameters
    ----------
    work : Work
    pieces : sequence
        Units, or numbers of trials.
    progress : callable
        Told how many more are done.
    """
    rank, n_ranks = launched()  # who does what hangs on the list alone: the others may have begun earlier
    mine = [piece for piece in pieces[rank::n_ranks] if not work.is_done(piece)]
    if work.options.jobs == 1 or len(mine) < 2 or n_ranks > 1:
        with pin_threads(work.options.threads):
            for piece in mine:
                work.do(piece)
                progress(1)
    else:
        _in_pool(work, mine, progress)
    if n_ranks > 1:
        wait_for_all(pieces, work.is_done)


def _in_pool(work: Work, pieces: Sequence[Piece], progress: Callable[[int], None]) -> None:
    with (
        variables(dict.fromkeys(_THREAD_VARIABLES, str(work.options.threads))),  # for libraries that workers load later
        ProcessPoolExecutor(
            max_workers=min(work.options.jobs, len(pieces)),
            mp_context=get_context("spawn"),
            initializer=_begin,
            initargs=(work, os.getpid()),
        ) as pool,
    ):
        futures = [pool.submit(_do, piece) for piece in pieces]
        try:
            for future in as_completed(futures):
                future.result()
                progress(1)
        except BrokenProcessPool:
            raise InputError(
                f"{FUNCTION}: a process was ended by the system, for want of memory perhaps. Finished units are kept: "
                "the same command, with fewer --jobs, goes on from there."
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _begin(work: Work, parent: int) -> None:
    """Prepare a worker: what to do, and an end when the parent is gone, which a killed parent cannot tell it."""
    global _work
    _work = work
    end_with_parent(parent)


def _do(piece: Piece) -> None:
    assert _work is not None
    with pin_threads(_work.options.threads):
        _work.do(piece)


@contextmanager
def pin_threads(n: int) -> Iterator[None]:
    """Hold the numerical libraries to `n` threads: one process uses one core, and sums keep their order."""
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ImportError:  # without scikit-learn; torch is told by the learner
        yield
    else:
        with threadpool_limits(n):
            yield
