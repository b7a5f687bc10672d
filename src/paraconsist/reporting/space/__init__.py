"""The interface in the browser: one gradio app that every metric's Space starts with its own name."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

__all__ = ["launch"]


def launch(name: str, *, say: Callable[[str], None] = lambda line: None, **options: Any) -> None:
    """Start the page of a metric and serve it until the process ends; `say` is told where it is, once it is served.

    Host and port are gradio's own: ``GRADIO_SERVER_NAME`` and ``GRADIO_SERVER_PORT``. Nothing is sent to other hosts,
    and uploads lie in a temporary folder only as long as they are read. `options` of gradio's `launch`, such as
    `server_port`, take the place of what is set here.
    """
    from paraconsist.reporting.space.catalogue import module
    from paraconsist.reporting.space.forms import MAX_BYTES, scratch_folder

    page = module(name)
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # gradio reads it when it is imported
    if "GRADIO_TEMP_DIR" not in os.environ:
        uploads = tempfile.mkdtemp(prefix="paraconsist-space-", dir=scratch_folder())
        atexit.register(shutil.rmtree, uploads, ignore_errors=True)
        os.environ["GRADIO_TEMP_DIR"] = uploads
    from paraconsist.reporting.space.app import build, looks
    from paraconsist.reporting.space.reader import warm

    port = os.environ.get("GRADIO_SERVER_PORT")
    off = ("run_history", "enable_monitoring", "ssr_mode", "share", "show_error")
    settings: dict[str, Any] = {**dict.fromkeys(off, False), "quiet": True, "footer_links": []}
    settings |= {"max_file_size": MAX_BYTES, "state_session_capacity": 200}
    settings["server_port"] = int(port) if port else None  # gradio itself reads it only once in a process
    settings |= {name: value for name, value in options.items() if value is not None}
    warm()
    demo = build(page).queue(max_size=32)
    _, url, _ = demo.launch(**looks(), **settings, prevent_thread_lock=True)
    say(f"The page of {name} is at {url}; Ctrl-C ends it.")
    demo.block_thread()
