"""What running in several processes needs besides accelerate."""

from __future__ import annotations

import os
import signal
import threading
import time

__all__ = ["end_with_launcher"]


def end_with_launcher(seconds: float = 1.0) -> None:
    """End this process when the launcher that started it is gone; do nothing where there is only one process.

    A launcher that is killed with SIGKILL leaves its workers running, holding the shards and the
    accelerators; a daemon thread sees the parent change and ends the worker.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)

    threading.Thread(target=watch, name="paraconsist-parent-watch", daemon=True).start()
