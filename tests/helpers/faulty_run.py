"""Run `paraconsist` and fail at a chosen moment: ``python faulty_run.py POINT N RANK run ...``.

POINT is where in the N-th write of the process with that rank it dies by SIGKILL: ``before`` it, ``mid_line``, or
``after`` it; or ``refuse``: the process meets numbers that are not finite there. ``look``: it reads no store at all.
``wait``: the process waits there, until the others have named it.
"""

import os
import signal
import sys
import time

from paraconsist.cli import main
from paraconsist.data import store
from paraconsist.errors import InputError
from paraconsist.running import processes

point, number, rank = sys.argv[1], int(sys.argv[2]), sys.argv[3]
sys.argv[1:4] = []
written = 0
write = store.ShardWriter._write


def faulty_write(self: store.ShardWriter, data: bytes) -> None:
    global written
    written += 1
    if written < number or os.environ.get("RANK", "0") != rank:
        write(self, data)
        return
    if point == "refuse":
        raise InputError("the model returned numbers that are not finite for input x.", function="run")
    if point == "wait":
        time.sleep(4)
        write(self, data)
        return
    if point == "mid_line":
        write(self, data[: len(data) - 7])
    elif point == "after":
        write(self, data)
    os.kill(os.getpid(), signal.SIGKILL)


def unreadable(self: store.Store) -> None:
    raise AssertionError("looks for itself into a store that others may change")


store.ShardWriter._write = faulty_write
if point == "wait":
    processes._SILENT, processes._LOOK = 1.0, 0.2
if point == "look" and os.environ.get("RANK", "0") == rank:
    store.ShardWriter._write, store.Store.finished = write, unreadable
main()
