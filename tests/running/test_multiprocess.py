"""A worker ends with its launcher, whenever the launcher is killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

WORKER = """
import os, sys, time
if sys.argv[1] == "late":
    time.sleep(1.0)
from paraconsist.running.processes import end_with_launcher
end_with_launcher(0.05)
time.sleep(60)
"""
LAUNCHER = """
import subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]], stdout=subprocess.DEVNULL)
print(worker.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
@pytest.mark.parametrize("moment", ["early", "late"])
def test_a_worker_ends_with_its_launcher(moment):
    """Late means: the launcher is killed before its worker has begun to watch it."""
    if moment == "late" and b"python" in Path("/proc/1/cmdline").read_bytes():
        pytest.skip("process 1 looks like a launcher here")
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, WORKER, moment],
        stdout=subprocess.PIPE,
        env={**os.environ, "WORLD_SIZE": "2"},
    )
    worker = int(launcher.stdout.readline())
    time.sleep(0.8 if moment == "early" else 0.1)
    launcher.kill()
    launcher.communicate()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if not Path(f"/proc/{worker}").exists() or ") Z" in Path(f"/proc/{worker}/stat").read_text():
            return
        time.sleep(0.05)
    os.kill(worker, 9)
    pytest.fail("the worker outlived its launcher")


def test_one_process_is_left_alone(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    from paraconsist.running import processes as multiprocess

    multiprocess.end_with_launcher()
    assert not any(t.name == multiprocess._THREAD for t in multiprocess.threading.enumerate())
