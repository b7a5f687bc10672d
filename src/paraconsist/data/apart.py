"""Another process for jobs that may never end or may fill the memory; it is kept until a job ends it.

Memory is bounded where the system has limits (not on Windows, and macOS ignores them), time everywhere.
"""

from __future__ import annotations

import atexit
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


class Apart:
    """Processes that run `start`, Python code that calls `serve`; each answers one job after the other."""

    def __init__(self, start: str) -> None:
        self.start = start
        self.idle: list[Any] = []  # processes that wait
        atexit.register(self.end_all)

    def ask(self, job: Any, seconds: float, processor_seconds: float = 0.0) -> Any:
        """Return the answer to a job; None where it ended the process, or took longer. Both are values of JSON.

        Processor time, where the system has a timer of it, does not depend on what else the machine does.
        """
        process, line = self.take(), ""
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            with suppress(OSError):  # the process has ended: there is no answer
                process.stdin.write(json.dumps([processor_seconds, job]) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
        finally:
            timer.cancel()
        if not line.endswith("\n"):
            _end(process)
            return None
        self.idle.append(process)
        return json.loads(line)

    def take(self) -> Any:
        """Return a waiting process, or a new one."""
        while self.idle:
            process = self.idle.pop()
            if process.poll() is None:
                return process
            _end(process)
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-c", self.start], text=True, encoding="utf-8", **pipes)

    def end_all(self) -> None:
        while self.idle:
            _end(self.idle.pop())


def serve(answer: Callable[[Any], Any], memory: int) -> None:
    """Answer the jobs of standard input until it ends, with `memory` bytes beyond those at the start.

    An error ends the process: the next job gets a new one.
    """
    _bound(memory)
    for line in sys.stdin:
        seconds, job = json.loads(line)
        if hasattr(signal, "setitimer"):  # whose signal ends the process, also within a function of C
            signal.setitimer(signal.ITIMER_PROF, seconds)
        print(json.dumps(answer(job), default=str), flush=True)


def _bound(memory: int) -> None:
    """Bound this process's memory, where the system can, and leave no copy of it behind when it crashes."""
    try:
        import resource
    except ImportError:  # Windows
        return
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    with process:  # closes its pipes, and waits
        pass
