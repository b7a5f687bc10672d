"""Files and folders are there whole or not at all, on the disk too; one command at a time writes into a folder."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from helpers.commands import write
from helpers.models import tiny_encoder
from helpers.perturb import NLI_ROWS, write_csv
from helpers.processes import write_set

from paraconsist.errors import InputError
from paraconsist.files import (
    PARTIAL,
    WriteError,
    json_in,
    leftovers,
    locked,
    read_record,
    replacing,
    staged,
    write_json,
    write_text,
    writing,
)

NAMES = ("plain", "with blanks and Ümläute", "x" * 250)
#: A process that says when it is inside, and stays there.
INSIDE = """
import sys, time
from pathlib import Path
from paraconsist import files
path = Path(sys.argv[1])
with {inside}:
    print("inside", flush=True)
    time.sleep(60)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def killed(inside: str, path: Path) -> None:
    """Kill a process that is inside the context."""
    with process(inside, path) as running:
        running.send_signal(signal.SIGKILL)


def process(inside: str, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", INSIDE.format(inside=inside), str(path)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stdout.readline() == "inside\n"
    return running


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is synced and renamed, in order."""
    made: list[tuple[str, str]] = []
    sync, rename, replace = os.fsync, Path.rename, Path.replace

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        made.append(("sync", "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else path.suffix or path.name))
        sync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        made.append(("rename", target.name if not target.name.endswith(PARTIAL) else PARTIAL))
        return (replace if target.is_file() else rename)(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr(Path, "replace", renamed)
    return made


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_synced_renamed_and_its_folder_synced(tmp_path, calls, name):
    for text in ("old", "new"):
        write_text(tmp_path / name, text)
        assert (tmp_path / name).read_text() == text
        assert names(tmp_path) == [name]
    assert calls == 2 * [("sync", PARTIAL), ("rename", name), ("sync", "folder")]


@pytest.mark.parametrize("name", NAMES[:2])
def test_a_folder_is_synced_file_by_file_before_it_takes_the_place_of_the_old_one(tmp_path, calls, name):
    folder = tmp_path / name / "set"
    for text in ("old", "new"):
        calls.clear()
        with staged(folder) as new:
            (new / "data").mkdir()
            (new / "data" / f"{text}.csv").write_text(text)
        assert [path.name for path in folder.rglob("*.csv")] == [f"{text}.csv"]
        assert names(folder.parent) == ["set"]
    assert sorted(calls[:3]) == [("sync", ".csv"), ("sync", "folder"), ("sync", "folder")]
    assert calls[3:] == [("rename", PARTIAL), ("rename", "set"), ("sync", "folder"), ("rename", PARTIAL)]


@pytest.mark.parametrize("context", [replacing, staged])
def test_an_error_inside_leaves_what_was_there(tmp_path, context):
    target = tmp_path / "target"
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), context(target) as partial:
            ((partial / "file") if partial.is_dir() else partial).write_text("half")
            raise ZeroDivisionError
        assert not target.exists() or target.read_text() == "old"
        assert names(tmp_path) == (["target"] if target.exists() else [])
        target.write_text("old")


def test_a_link_stays_a_link_and_a_device_is_written_to(tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to("file.json")
    write_json(link, 1)
    write_text(os.devnull, "nothing")
    assert (link.is_symlink(), (tmp_path / "file.json").read_text()) == (True, "1\n")
    assert names(tmp_path) == ["file.json", "link.json"]


def test_what_a_killed_process_left_is_removed_and_what_is_being_written_stays(tmp_path, monkeypatch):
    file, folder = tmp_path / "a.json", tmp_path / "set"
    killed("files.replacing(path) as partial, partial.open('w') as stream", file)
    assert len(leftovers(tmp_path)) == 1
    killed("files.staged(path) as new", folder)
    (left,) = leftovers(tmp_path)  # of the file's nothing is left: the folder's process has removed it
    assert names(tmp_path) == [left.name]
    monkeypatch.setattr("paraconsist.files._CLEANED", set())
    with replacing(file) as partial, staged(folder) as new:
        partial.touch()
        assert names(tmp_path) == sorted([partial.name, new.name])
        with locked(tmp_path, "run", "output"):
            assert partial.exists()
    assert names(tmp_path) == ["a.json", "set"]


def test_a_folder_that_was_moved_away_for_one_that_never_came_is_put_back(tmp_path, monkeypatch):
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "rows.csv").write_text("old")
    code = "import os, sys; from pathlib import Path; from paraconsist.files import staged; Path.rename = "
    code += "lambda path, target, rename=Path.rename: (rename(path, target), os.kill(os.getpid(), 9))\n"
    code += "with staged(sys.argv[1]): pass"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=False)
    assert not folder.exists()
    assert len(leftovers(tmp_path)) == 2
    monkeypatch.setattr("paraconsist.files._CLEANED", set())
    with pytest.raises(ZeroDivisionError), staged(folder):
        raise ZeroDivisionError
    assert (folder / "rows.csv").read_text() == "old"
    assert [name for name in names(tmp_path) if name.endswith(PARTIAL)] == []


@pytest.mark.parametrize("soft", [False, True], ids=["locks", "no locks"])
def test_one_command_at_a_time_writes_into_a_folder(tmp_path, monkeypatch, soft):
    folder = tmp_path / "runs" / "ä b"
    inside = "files.locked(path, 'run', 'output')"
    if soft:

        def flock(descriptor: int, operation: int) -> None:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")

        monkeypatch.setattr(fcntl, "flock", flock)
        inside = f"__import__('filelock').SoftFileLock(path / '{'.paraconsist.lock.soft'}')"
        folder.mkdir(parents=True)
    with process(inside, folder) as running:
        with pytest.raises(InputError, match="in use by another command") as problem, locked(folder, "run", "output"):
            pass
        assert (problem.value.function, problem.value.parameter) == ("run", "output")
        running.kill()
    if soft and tuple(map(int, version("filelock").split(".")[:2])) < (4, 2):
        assert "remove .paraconsist.lock.soft there" in str(problem.value)
        return  # nobody looks whether the process that holds it is there
    with locked(folder, "run", "output"), locked(folder, "score", "output"):  # its own command may take it again
        assert names(folder)
    assert names(folder) == []


_RACE = """
import os, sys
from pathlib import Path
from paraconsist.errors import InputError
from paraconsist.files import locked

folder, holder, taken, shared = Path(sys.argv[1]), Path(sys.argv[2]), 0, 0
while taken < 500:
    try:
        with locked(folder, "run", "output"):
            taken += 1
            try:
                os.close(os.open(holder, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                shared += 1
            else:
                holder.unlink()
    except InputError:
        pass
print(taken, shared)
"""


@pytest.mark.faults
@pytest.mark.slow
def test_four_processes_that_race_for_a_lock_never_hold_it_together(tmp_path):
    """Below filelock 4.0 two did: one removed the file that the other was about to lock."""
    call = [sys.executable, "-c", _RACE, str(tmp_path / "folder"), str(tmp_path / "holder")]
    racing = [subprocess.Popen(call, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate(timeout=240)[0].split() for process in racing] == [["500", "0"]] * 4


def test_what_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for context in (replacing, staged):
        refusal = pytest.raises(
            WriteError, match=r"target' cannot be written. The system says: (Not a dir|File exists)"
        )
        with refusal, context(tmp_path / "file" / "target"):
            pass
    with pytest.raises(InputError, match="be a folder that can be written"), locked(tmp_path / "file", "run", "output"):
        pass

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteError, match=r"results.json' cannot be written. The system says: No space left on device"):
        write_json(tmp_path / "results.json", {})
    with pytest.raises(InputError) as problem, writing("score", "output", tmp_path / "a.json", kind="file"):
        write_json(tmp_path / "a.json", {})
    assert str(problem.value).endswith("a.json'. The system says: No space left on device.")
    assert problem.value.parameter == "output"
    assert names(tmp_path) == ["file"]


def test_what_is_read_inside_and_not_there_is_no_matter_of_the_file_written(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "a.json"):
        (tmp_path / "absent").read_text()


@pytest.mark.slow
def test_a_second_run_into_a_folder_is_refused_and_may_not_delete_it_either(tmp_path, command):
    model, data = tiny_encoder(tmp_path / "model"), write_set(tmp_path / "set.jsonl", 14)
    line = ["run", "--model", model, "--dataset", data, "--device", "cpu", "--output", tmp_path / "rün a"]
    assert command(*line)[0] == 0
    whole = names(tmp_path / "rün a")
    with process("files.locked(path, 'run', 'output')", tmp_path / "rün a") as running:
        for more in ([], ["--overwrite"]):
            code, _, err = command(*line, *more)
            assert (code, "in use by another command" in err.splitlines()[-1]) == (2, True)
        running.kill()
    assert command(*line)[0] == 0
    assert names(tmp_path / "rün a") == whole == ["predictions", "results.json", "run.json", "store", "texts"]


@pytest.mark.parametrize("line", [
    "score {table} --output {out}/results.json", "compare {table} {other} --output {out}/comparison.json",
    "report {table} --output {out}/page.html", "report {table} --output {table}.html --plots {out}",
    "artifacts --partial {table} --full {table} --output {out}/artifacts.json",
    "transform {nli} --columns premise --transformation dictionary --dictionary {words} --output {out}/set.csv",
    "perturb {nli} --property symmetric --output {out}/set.parquet",
    "paraphrase {nli} --column hypothesis --generator rules --no-entailment --output {out}/set",
    "build sample --config-name defeasible_nli --cache-dir {cache} --folder {out}/set"
], ids=lambda line: line.split(" --")[0].split()[0] + line[line.rindex(" --") :].split()[0])  # fmt: skip
def test_a_full_disk_is_one_sentence_and_leaves_no_half_of_a_file(tmp_path, command, monkeypatch, line):
    out = tmp_path / "out"
    out.mkdir()
    for name, n_right in (("table", 3), ("other", 2)):
        places = [divmod(i, 4) for i in range(80)]
        rows = [{"bucket_id": f"b{i}", "role": "paraphrase" if j else "original", "label": 1} for i, j in places]
        right = [{"prediction": int((i + j) % 4 < n_right)} for i, j in places]
        write(tmp_path / f"{name}.jsonl", [row | one for row, one in zip(rows, right, strict=True)])
    write_csv(tmp_path / "nli.csv", ("premise", "hypothesis", "label"), NLI_ROWS)
    (tmp_path / "words.csv").write_text("key,value\ngirl,woman\n")
    files = {path.stem: path for path in tmp_path.iterdir() if path.is_file()}
    sync = os.fsync

    def full(descriptor: int) -> None:
        if str(out) in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    code, _, err = command(*(part.format(**files, out=out, cache=tmp_path / "cache") for part in line.split()))
    assert (code, "No space left on device" in err.splitlines()[-1]) == (2, True), err
    assert names(out) == []


def test_json_that_is_nested_too_deeply_is_told_with_its_file(tmp_path):
    """A run's record was "maximum recursion depth exceeded"."""
    (tmp_path / "run.json").write_text('{"sets":' * 100_000)
    with pytest.raises(InputError, match="hold a readable run"):
        read_record("push", "folder", tmp_path / "run.json")
    with pytest.raises(ValueError, match="nested too deeply"):
        json_in(tmp_path / "run.json")
