"""Commands that are killed or lose their power: a short version of ``benchmarks/crash.py``, and that it sees faults."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.crashed import Disk, different, half_written, tree

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.slow
def test_commands_outlive_kills_and_power_cuts() -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc, which compiles the library that numbers a process's calls, and Linux are needed (/proc)")
    line = [
        sys.executable,
        str(ROOT / "benchmarks" / "crash.py"),
        "--kills",
        "5",
        "--commands",
        "run",
        "score --output",
    ]
    done = subprocess.run(line, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    total = re.search(r"\| all \| [\d,]+ \| (\d+) \| (\d+) \| 0 \| 0 \| 0 \| 0 \|", done.stdout)
    assert total, done.stdout
    assert int(total[1]) >= 9
    assert int(total[2]) == 8


def test_a_power_cut_keeps_what_was_synced(tmp_path: Path) -> None:
    """Two files written to a temporary name and renamed; of the second neither content nor name was synced."""
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots" / "3").write_bytes(b"{}")
    work = tmp_path / "work"
    events = [
        ("folder", "out", ""),
        ("create", "out/.a", ""),
        ("sync", "out/.a", ""),
        ("rename", "out/.a", "out/a.json"),
    ]
    events += [("sync", "out", ""), ("create", "out/.b", ""), ("rename", "out/.b", "out/b.json")]
    left = {}
    for names_kept in (False, True):
        disk = Disk(work, tmp_path / "snapshots")
        for number, (call, path, other) in enumerate(events, start=1):
            disk.play(str(number), call, str(work / path), str(work / other) if other else "")
        target = tmp_path / str(names_kept)
        target.mkdir()
        disk.write(target, names_kept=names_kept)
        left[names_kept] = tree(target)
    assert left == {False: {"out/a.json": b"{}"}, True: {"out/a.json": b"{}", "out/b.json": b""}}
    undisturbed = {"out/a.json": b"{}", "out/b.json": b"[1]"}
    assert half_written(left[True], undisturbed) == ["out/b.json"]
    assert different(left[False], undisturbed) == ["-out/b.json"]
    assert different({**undisturbed, "out/.b.partial": b""}, undisturbed) == ["+out/.b.partial"]
