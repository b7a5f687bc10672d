"""Commands that are killed or lose their power: a short version of ``benchmarks/crash.py``, and that it sees faults."""

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.commands import Command
from helpers.crashed import Disk, different, half_written, tree
from helpers.paraphrase import fill
from helpers.perturb import NLI_ROWS, write_csv

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.slow
def test_commands_outlive_kills_and_power_cuts() -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc, which compiles the library that numbers a process's calls, and Linux are needed (/proc)")
    line = [
        sys.executable, str(ROOT / "benchmarks" / "crash.py"), "--kills", "5", "--commands", "run", "score --output"
    ]  # fmt: skip
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
    (tmp_path / "start" / "in").mkdir(parents=True)
    (tmp_path / "start" / "in" / "old.json").write_bytes(b"[0]")
    for names_kept in (False, True):
        disk = Disk(work, tmp_path / "snapshots")
        disk.hold("run", tmp_path / "start")  # what the command goes on in
        for number, (call, path, other) in enumerate(events, start=1):
            disk.play(str(number), call, str(work / path), str(work / other) if other else "")
        target = tmp_path / str(names_kept)
        target.mkdir()
        disk.write(target, names_kept=names_kept)
        left[names_kept] = tree(target)
    assert [one.pop("run/in/old.json") for one in left.values()] == [b"[0]"] * 2
    assert left == {False: {"out/a.json": b"{}"}, True: {"out/a.json": b"{}", "out/b.json": b""}}
    undisturbed = {"out/a.json": b"{}", "out/b.json": b"[1]"}
    assert half_written(left[True], undisturbed) == ["out/b.json"]
    assert different(left[False], undisturbed) == ["-out/b.json"]
    assert different({**undisturbed, "out/.b.partial": b""}, undisturbed) == ["+out/.b.partial"]


@pytest.mark.parametrize("name", ["transform", "perturb", "paraphrase"])
def test_a_sheet_that_a_killed_command_left_is_written_again(name: str, tmp_path: Path, command: Command) -> None:
    """The set is written after its sheet; what people wrote is never replaced."""
    rows = write_csv(tmp_path / "rows.csv", ("premise", "hypothesis", "label"), NLI_ROWS)
    words = write_csv(tmp_path / "words.csv", ("key", "value"), [("girl", "lass")])
    output, sheet = tmp_path / "set.parquet", tmp_path / "sheet.csv"
    more = {
        "transform": ("--dictionary", words, "--sheet-size", 1),
        "perturb": ("--property", "symmetric"),
        "paraphrase": ("--no-entailment", "--keep", 2),
    }[name]
    line = (name, rows, *more, "--output", output, "--sheet", sheet)
    assert command(*line)[0] == 0
    whole = sheet.read_bytes()
    assert command(*line)[0] == 2
    output.unlink()
    assert command(*line)[0] == 0
    assert sheet.read_bytes() == whole
    output.unlink()
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        n = len(list(csv.DictReader(stream)))
    fill(sheet, valid=["yes", *[""] * (n - 1)])
    assert "must not be there already" in command.refused(*line)
