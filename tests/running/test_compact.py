"""`paraconsist compact`: the same results and answers from one compressed file, at any kill, and a run that goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import Command
from helpers.errors import refuses

import paraconsist as pc
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.store import JOURNAL, Failed, RunFolder, Store
from paraconsist.errors import InputError
from paraconsist.files import locked
from paraconsist.models.endpoint.protocol import Answered, TokenUse
from paraconsist.models.endpoint.queue import Journal
from paraconsist.reporting.formatting import byte_size
from paraconsist.running.checking import check_folder
from paraconsist.running.parts import compact_run

N = 400
IDENTITY = {"model": "m"}


def store_of(folder: Path) -> Store:
    return Store(RunFolder(folder).store, IDENTITY)


def answer(i: int) -> Answered:
    return Answered(f"{i:064x}", "text", "yes ☃", TokenUse(i, 2), "m")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished run of three processes and an endpoint; one input failed and was asked again, as was one answer."""
    run, rng = RunFolder(tmp_path / "run"), np.random.default_rng(0)
    run.open({"nli": IDENTITY})
    store = store_of(run.path)
    store.create()
    for rank in range(3):
        with store.writer(rank) as shard:
            shard.append([f"{i:064x}" for i in range(rank, N, 3)], rng.dirichlet([1.0, 1.0], len(range(rank, N, 3))))
    with store.writer(1) as shard:
        shard.append(["f" * 64, "e" * 64], [Failed("error", "it fell over"), WrittenAnswer(1, "yes\nno")])
        shard.append(["f" * 64], [[0.25, 0.75]], [7])
    with Journal(store.folder) as journal:
        for i in [*range(N), 3]:
            journal.add(answer(i))
    run.update_run({"sets": {}, "ended": "2026-01-02T03:04:05Z"})
    return run.path


def content(folder: Path) -> Any:
    """Return all results and all answers, those that were paid for twice as well."""
    store = store_of(folder)
    results = store.finished()
    with Journal(store.folder) as journal:
        paid, answers = list(journal.paid), dict(journal.answers)
    return dict(results), [results.n_cut.tolist(), paid, answers]


def test_one_file_with_the_same_content_and_less_of_it(folder: Path, command: Command) -> None:
    before = content(folder)
    size = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
    code, out, err = command("compact", folder)
    assert code == 0, err
    assert content(folder) == before
    assert sorted(path.name for path in folder.rglob("*.jsonl")) == [JOURNAL, "rank-00000.jsonl"]
    now = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
    assert now < size / 2
    assert f"{byte_size(size)}, now {byte_size(now)}" in out + err
    assert [file for file in check_folder(folder) if file.problem] == []
    assert f"{N + 3} lines" in {file.content for file in check_folder(folder)}
    whole = {path: path.read_bytes() for path in folder.rglob("*.jsonl")}
    assert compact_run(folder) == (now, now)
    assert {path: path.read_bytes() for path in folder.rglob("*.jsonl")} == whole


def test_a_run_goes_on_behind_it_and_is_made_compact_again(folder: Path) -> None:
    results, (_, paid, _) = content(folder)
    compact_run(folder)
    store = store_of(folder)
    for round_ in range(2):
        with store.writer(0) as shard, Journal(store.folder) as journal:
            shard.append([f"d{round_}"], [[0.5, 0.5]])
            journal.add(answer(N + round_))
        shard.path.write_bytes(shard.path.read_bytes() + b'{"input_id": "half')  # as a kill leaves it
        results[f"d{round_}"] = [0.5, 0.5]
        paid.append(answer(N + round_))
        assert content(folder)[0] == results
        assert content(folder)[1][1] == paid
        compact_run(folder)
        assert content(folder)[0] == results
        assert content(folder)[1][1] == paid


def test_a_function_is_not_asked_again(tmp_path: Path) -> None:
    rows = [{"bucket_id": f"b{i // 2}", "question": f"how many is {i}?", "expected": str(i // 2)} for i in range(40)]
    asked: list[str] = []

    def answers(inputs: list[str]) -> list[str]:
        asked.extend(inputs)
        return [text.split()[-1].rstrip("?") for text in inputs]

    first = pc.run(answers, rows, output=tmp_path / "run", version="1")
    before = first.score(same="text").to_dict()
    compact_run(tmp_path / "run")
    again = pc.run(answers, rows, output=tmp_path / "run", version="1")
    assert again.score(same="text").to_dict() == before
    assert len(asked) == 40
    more = [*rows, {"bucket_id": "b0", "question": "how many is 99?", "expected": "0"}]
    pc.run(answers, more, output=tmp_path / "run", version="1")
    assert len(asked) == 41


def test_answers_that_were_paid_for_are_still_counted(folder: Path) -> None:
    compact_run(folder)
    with pytest.warns(UserWarning, match=f"endpoint's {N + 1} answers of the earlier run are kept"):
        RunFolder(folder).open({"nli": IDENTITY}, overwrite=True)


def test_what_is_refused(folder: Path, tmp_path: Path) -> None:
    code = "import sys; from paraconsist.files import locked\nwith locked(sys.argv[1], 'run', 'output'):"
    code += "print('in', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code, str(folder)], stdin=-1, stdout=-1) as running:
        assert running.stdout is not None
        running.stdout.readline()
        refuses("compact: `runs` must not be in use by another command", compact_run, folder)
        running.kill()
    refuses("compact: `runs` must be the folder of a run", compact_run, tmp_path)
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({key: value for key, value in record.items() if key != "ended"}))
    refuses("`runs` must be finished and whole.*run.json: not finished", compact_run, folder)
    (folder / "run.json").write_text(json.dumps(record))
    shard = next(folder.rglob("rank-00001.jsonl"))
    shard.write_bytes(shard.read_bytes().replace(b"0.25", b"0.35"))
    refuses("`runs` must be finished and whole.*rank-00001.jsonl: .*line .* is damaged", compact_run, folder)


def test_no_flipped_bit_changes_a_result(folder: Path) -> None:
    compact_run(folder)
    before = content(folder)
    for path in folder.rglob("*.jsonl"):
        whole = path.read_bytes()
        for place in np.random.default_rng(1).integers(0, len(whole), 20).tolist():
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            damaged = None
            try:
                found = content(folder)
            except InputError as problem:
                damaged = str(problem)
            assert "is damaged" in damaged if damaged else found == before
        path.write_bytes(whole)
    assert content(folder) == before


#: A process that dies before its N-th sync, rename or removal.
KILLED = """
import os, signal, sys
from pathlib import Path
from paraconsist.running.parts import compact_run
number = int(sys.argv[2])
done = 0
def dying(what):
    def call(*arguments, **named):
        global done
        done += 1
        if done == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return what(*arguments, **named)
    return call
os.fsync, Path.replace, Path.unlink = dying(os.fsync), dying(Path.replace), dying(Path.unlink)
os.rename, os.replace = dying(os.rename), dying(os.replace)
compact_run(Path(sys.argv[1]))
"""


def test_a_kill_at_any_point_loses_nothing(folder: Path) -> None:
    results, answers = content(folder)
    for number in count(1):
        done = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(number)], check=False)
        assert content(folder) == (results, answers)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        with locked(folder, "run", "output"), store_of(folder).writer(1) as shard:  # several shards for the next kill
            results[f"d{number}"] = [0.5, 0.5]
            shard.append([f"d{number}"], [[0.5, 0.5]])
        answers = content(folder)[1]
    assert number > 5
    compact_run(folder)
    assert content(folder) == (results, answers)
