"""Serve pages from one process: a name on standard input runs that app.py as its Space does; its port is printed."""

from __future__ import annotations

import os
import runpy
import socket
import sys
import threading
import time
from pathlib import Path

METRICS = Path(__file__).resolve().parents[2] / "metrics"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def serve(name: str) -> int:
    """Run an app.py in a thread, and return its port once it answers; 0 where it ended instead."""
    port = free_port()
    os.environ["GRADIO_SERVER_PORT"] = str(port)
    app = str(METRICS / name / "app.py")
    running = threading.Thread(target=runpy.run_path, args=[app], kwargs={"run_name": "__main__"}, daemon=True)
    running.start()
    while running.is_alive():
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return port
    return 0


if __name__ == "__main__":
    for line in sys.stdin:  # until the tests close it
        print(serve(line.strip()), flush=True)
    os._exit(0)
