"""Serve pages from one process: a name on standard input runs the app.py of its Space; its port is printed."""

import os
import socket
import sys
import threading
import time

from paraconsist.reporting.hub.spaces import metric_space


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def serve(name: str) -> int:
    """Run an app.py in a thread, and return its port once it answers; 0 where it ended instead."""
    port = free_port()
    os.environ["GRADIO_SERVER_PORT"] = str(port)
    (app,) = [file.content for file in metric_space(name, "org").files if file.path == "app.py"]
    running = threading.Thread(target=exec, args=[app, {"__name__": "__main__"}], daemon=True)
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
