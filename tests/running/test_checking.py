"""`paraconsist check`: nothing that is damaged, unfinished, gone or left over passes for whole."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.commands import Command

from paraconsist.data.building import write_folder
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.store import RunFolder, Store
from paraconsist.files import locked
from paraconsist.models.endpoint.protocol import Answered, TokenUse
from paraconsist.models.endpoint.queue import Journal
from paraconsist.running.checking import check_folder

PREDICTIONS = "predictions/ä set.parquet"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished run, with a journal, a figure's numbers and weights in it."""
    from safetensors.numpy import save_file

    run = RunFolder(tmp_path / "my rün")
    run.open({"nli": {"model": "m"}})
    store = Store(run.store, {"model": "m"})
    store.create()
    with store.writer(0) as shard, Journal(store.folder) as journal:
        shard.append(["a", "b"], [[0.25, 0.75], WrittenAnswer(1, "yes")])
        journal.add(Answered("a", "text", "yes", TokenUse(1, 2), "m"))
    table = pa.table({"example_id": [f"e{i}" for i in range(1000)], "prediction": [i % 3 for i in range(1000)]})
    run.write(run.path / PREDICTIONS, table, {"set": "ä set"})
    run.write_results({"ä set": {"value": 1.0}})
    run.update_run({"sets": {"ä set": PREDICTIONS}, "ended": "2026-01-02T03:04:05Z"})
    np.savez_compressed(run.path / "unit.npz", answers=np.arange(100))
    save_file({"weight": np.ones(100)}, run.path / "model.safetensors")
    return run.path


def problems(folder: Path) -> dict[str, str]:
    return {file.name: file.problem for file in check_folder(folder) if file.problem}


def flip(file: Path, share: float = 0.5) -> None:
    data = bytearray(file.read_bytes())
    data[int(share * len(data))] ^= 1
    file.write_bytes(data)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def test_a_whole_folder_is_told_file_by_file(folder: Path, command: Command) -> None:
    code, out, _ = command("check", folder)
    lines = {line.split(": ")[0].split(maxsplit=1)[1]: line.split(": ")[1] for line in out.splitlines()[:-1]}
    assert code == 0
    assert lines.pop(PREDICTIONS) == "1,000 rows"
    assert sorted(set(lines.values())) == ["1 lines", "1 parts", "1 tensors", "2 lines", "JSON"]
    assert len(lines) == len([path for path in folder.rglob("*") if path.is_file()]) - 1
    assert out.splitlines()[-1] == f"{len(lines) + 1} files, all well."


@pytest.mark.parametrize(("name", "damage", "word"), [
    (PREDICTIONS, flip, "not as it was written"), (PREDICTIONS, cut, "bytes in place of"),
    (PREDICTIONS, Path.unlink, "not there"), ("results.json", flip, "not as it was written"),
    ("results.json", Path.unlink, "not there"), ("run.json", cut, "cannot be read"),
    ("store/*/rank-00000.jsonl", flip, "line [12] is damaged"), ("store/*/answers.jsonl", flip, "line 1 is damaged"),
    ("unit.npz", flip, "cannot be read"), ("model.safetensors", cut, "cut short")
])  # fmt: skip
def test_a_damaged_file_is_named_with_what_is_wrong(folder, command, name, damage, word):
    (file,) = folder.glob(name)
    damage(file)
    code, out, _ = command("check", folder)
    (line,) = [line for line in out.splitlines() if line.startswith("WRONG")]
    assert code == 1
    assert line.startswith(f"WRONG  {file.relative_to(folder).as_posix()}: ")
    assert re.search(word, line)
    code, out, _ = command("check", folder, "--json")
    assert (code, sum(bool(one["problem"]) for one in json.loads(out))) == (1, 1)


def test_a_flip_shows_in_a_table_that_no_record_lists(folder: Path) -> None:
    (folder / "run.json").unlink()
    assert problems(folder) == {}
    flip(folder / PREDICTIONS, 0.1)
    assert "cannot be read" in problems(folder)[PREDICTIONS]


def test_what_is_unfinished_left_over_or_in_use_is_not_all_well(folder: Path) -> None:
    (shard,) = folder.glob("store/*/rank-00000.jsonl")
    cut(shard)  # as a kill leaves it: that input is computed again
    assert problems(folder) == {}
    run = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({key: value for key, value in run.items() if key != "ended"}))
    assert "goes on from there" in problems(folder)["run.json"]
    (folder / "run.json").write_text(json.dumps(run))
    code = "import os, sys; from paraconsist.files import replacing\nwith replacing(sys.argv[1]) as path:"
    code += "path.touch(); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(folder / "results.json")], check=False)
    (left,) = problems(folder).items()
    assert (left[0].endswith(".partial"), "killed process" in left[1]) == (True, True)
    with locked(folder, "run", "output"):
        (lock,) = problems(folder).items()  # its holder has removed what was left
    assert "a command is writing" in lock[1]
    assert problems(folder) == {}


def test_a_bucket_set_is_held_to_its_card(tmp_path: Path) -> None:
    folder = write_folder("sample", tmp_path / "out", configs=["defeasible_nli"], cache_dir=tmp_path / "cache")
    assert problems(folder) == {}
    (table,) = folder.glob("data/*/*.parquet")
    flip(table, 0.2)
    assert list(problems(folder)) == [table.relative_to(folder).as_posix()]
    table.unlink()
    assert "which does not exist" in problems(folder)["README.md"]


def test_a_record_made_elsewhere_leads_to_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("")
    folder = tmp_path / "folder"
    folder.mkdir()
    one = {"bytes": 1, "sha256": ""}
    for files in ({"../secret": one, "/etc/passwd": one}, {"a": {"sha256": ""}, "b": 1}, [1]):
        (folder / "run.json").write_text(json.dumps({"files": files, "ended": ""}))
        assert problems(folder) == {}
    (folder / "run.json").write_text("[" * 100_000)
    assert "cannot be read" in problems(folder)["run.json"]


def test_what_is_no_folder_is_refused(tmp_path: Path, command: Command) -> None:
    code, _, err = command("check", tmp_path / "absent")
    assert (code, err.count("\n"), "be a folder" in err) == (2, 1, True)
