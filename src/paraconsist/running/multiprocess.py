"""What running in several processes needs besides accelerate (standard library only, so that it can come first)."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

__all__ = ["end_with_launcher"]

_THREAD = "paraconsist-launcher-watch"


def end_with_launcher(seconds: float = 1.0) -> None:
    """End this process when the launcher that started it is gone; do nothing where there is only one process.

    A launcher that is killed with SIGKILL leaves its workers running, waiting for one another and holding the
    shards and the accelerators. A daemon thread sees the parent change and ends the worker. Called as early as
    possible: a launcher may be killed while its workers still import torch.
    """
    alone = int(os.environ.get("WORLD_SIZE", "1")) == 1
    if alone or any(thread.name == _THREAD for thread in threading.enumerate()):
        return
    parent = os.getppid()
    if parent == 1 and not _is_launcher(parent):
        _end()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(seconds)
        _end()

    threading.Thread(target=watch, name=_THREAD, daemon=True).start()


def _is_launcher(pid: int) -> bool:
    """Say whether a process may be a launcher: in a container it can be process 1; an orphan's parent is init."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # no /proc here: nobody can say
        return True
    return any(name in command for name in (b"python", b"torchrun", b"accelerate"))


def _end() -> None:
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
