"""How commands end: exit codes, signals at any moment, readers that go away; each with one line and no traceback."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pyarrow as pa
import pytest
from helpers.models import tiny_encoder
from helpers.processes import NOWHERE, Forked, hear, shards, write_set
from helpers.rows import easy_rows, write_csv
from helpers.study_rows import bucket_rows

SIGNALS = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 143}


def test_what_nobody_foresaw_has_an_exit_code_of_its_own_and_one_line(command, monkeypatch, tmp_path):
    def fail(*_, **__):
        raise TypeError("no such thing\nand more")

    monkeypatch.setattr("paraconsist.reporting.result.open_source", fail)
    code, out, err = command("score", tmp_path / "rows.csv")
    assert (code, out) == (70, "")
    assert err.startswith("error: score met something that nobody foresaw: TypeError: no such thing. ")
    assert len(err.splitlines()) == 1
    assert "Traceback" in command("score", "--verbose", tmp_path / "rows.csv")[2]
    monkeypatch.setenv("PARACONSIST_DEBUG", "1")
    assert "Traceback" in command("score", tmp_path / "rows.csv")[2]
    monkeypatch.setenv("RANK", "1")  # of several processes the first one speaks first
    waited: list[float] = []
    monkeypatch.setattr("paraconsist.cli.ends.time.sleep", waited.append)
    code, _, err = command("score", tmp_path / "rows.csv")
    assert (code, len(err.splitlines()), len(waited)) == (70, 1, 1)


@pytest.mark.parametrize(("kept", "said"), [(set(), "nothing is kept"), ({"a"}, "what an endpoint answered is kept")])
def test_a_judge_s_answers_are_kept_when_it_is_stopped(command, monkeypatch, kept, said):
    """It said that nothing was."""

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("paraconsist.models.endpoint.queue.kept", kept)
    monkeypatch.setattr("paraconsist.scoring.gate.parse_conditions", stop)
    code, _, err = command("gate", "pc > .5", "rows.csv")
    assert code == 130
    assert err.startswith(f"interrupted: {said}")


@pytest.mark.parametrize("problem", [
    pa.ArrowInvalid("x"), pa.ArrowTypeError("x"), RecursionError("x"), MemoryError(),
    UnicodeDecodeError("utf-8", b"", 0, 1, "x"), OSError(errno.ENOSPC, "No space left on device")
], ids=lambda problem: type(problem).__name__)  # fmt: skip
def test_what_comes_of_foreign_files_and_of_the_machine_is_bad_input(command, monkeypatch, problem):
    def fail(*_, **__):
        raise problem

    monkeypatch.setattr("paraconsist.scoring.gate.parse_conditions", fail)
    err = command.refused("gate", "pc > .5", "rows.csv")
    assert err.startswith("error: gate: ")
    assert len(err.splitlines()) == 1
    assert type(problem).__name__ in err


def start(arguments: list[str], *, script: tuple[str, ...] = ("-m", "paraconsist"), **more) -> subprocess.Popen:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    return subprocess.Popen([sys.executable, *script, *arguments], **{**streams, **more}, preexec_fn=hear)


@pytest.mark.slow
@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("module", ["click", "paraconsist.cli.score", "pyarrow"])
def test_a_signal_while_modules_are_loaded(tmp_path, name, module):
    code = (
        "import os, signal, sys, time, paraconsist.cli\n"
        "slow = type('Slow', (), {'__del__': lambda self: time.sleep(600)})()\n"  # as torch is, when it is taken apart
        "class Watch:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.{name})\n"
        "sys.meta_path.insert(0, Watch())\n"
        "paraconsist.cli.main()"
    )
    rows = tmp_path / "rows.csv"
    rows.write_text("bucket_id,prediction,label\na,1,1\na,0,1\n")
    process = start(["score", str(rows)], script=("-c", code))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (SIGNALS[name], "")
    assert len(err.splitlines()) == 1
    assert "nothing is kept" in err


COMPUTING = (
    "import hashlib, sys, paraconsist.cli, paraconsist.scoring.sources as sources\n"
    "paraconsist.cli.ends._GRACE = float(sys.argv.pop(1))\n"
    "def compute(*_, **__):\n"
    "    print('ready', flush=True)\n"
    "    hashlib.pbkdf2_hmac('sha256', b'', b'', 2_000_000_000)\n"  # one call of a library, for many minutes
    "sources.open_source = compute\n"
    "paraconsist.cli.main()"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "times", "grace"), [("SIGINT", 1, 1), ("SIGTERM", 1, 1), ("SIGHUP", 1, 1), ("SIGINT", 2, 600)]
)
def test_a_library_that_computes_is_ended_in_time_and_by_a_second_signal_at_once(name, times, grace):
    process = start([str(grace), "score", "rows.csv"], script=("-c", COMPUTING))
    assert process.stdout.readline() == "ready\n"
    for _ in range(times):
        process.send_signal(getattr(signal, name))
        time.sleep(0.3)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == SIGNALS[name]
    by = "interrupted" if name == "SIGINT" else f"stopped by {name}"
    assert err == f"{by}: nothing is kept; the same command begins anew.\n"


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_the_same_command(tmp_path):
    model, rows = tiny_encoder(tmp_path / "model"), write_set(tmp_path / "rows.jsonl", 6000)
    line = ["run", "--model", str(model), "--dataset", str(rows), "--output", str(tmp_path / "run")]
    line += ["--device", "cpu", "--batch-tokens", "64", "--task", "defeasible_nli"]
    for name in ("SIGTERM", "SIGHUP"):
        process = Forked(line, streams=(NOWHERE, tmp_path / name))
        kept = sum(shards(tmp_path / "run").values())
        while process.poll() is None and sum(shards(tmp_path / "run").values()) <= kept:
            time.sleep(0.05)
        process.send_signal(getattr(signal, name))
        code, err = process.wait(), (tmp_path / name).read_text()
        assert (code, err.count("\n")) == (143, 1)
        assert err == f"stopped by {name}: what was finished is kept; the same command goes on from there.\n"


@pytest.mark.slow
def test_a_stopped_training_goes_on_with_resume(tmp_path):
    line = ["train", "--model", "bow", "--dataset", "sample:defeasible_nli_train", "--output", str(tmp_path / "model")]
    line += ["--device", "cpu", "--epochs", "2000"]
    process = Forked(line, streams=(NOWHERE, tmp_path / "err"))
    while process.poll() is None and not list((tmp_path / "model").rglob("trainer_state.json")):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    code, err = process.wait(), (tmp_path / "err").read_text()
    assert code == 130
    assert err.splitlines()[-1] == "interrupted: the same command with --resume goes on from the last checkpoint."
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_it_quietly_and_the_results_are_there(tmp_path):
    rows, output = tmp_path / "rows.csv", tmp_path / "results.json"
    rows.write_text("bucket_id,prediction,label\na,1,1\na,0,1\n")
    reading, writing = os.pipe()
    os.close(reading)
    process = start(["score", str(rows), "-o", str(output)], stdout=writing)
    err = process.communicate(timeout=60)[1]
    assert (process.returncode, "Error" in err) == (141, False)
    assert "rows" in json.loads(output.read_text())


@pytest.mark.slow
def test_scoring_loads_neither_pandas_nor_what_only_some_measures_need(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("bucket_id,prediction,label\na,1,1\na,1,1\nb,0,0\nb,0,0\n")
    code = (
        "import atexit, sys, paraconsist.cli\n"
        "atexit.register(lambda: print(*{'pandas', 'scipy.optimize', 'scipy.stats'} & {*sys.modules}, 'end'))\n"
        "paraconsist.cli.main()"
    )
    out, err = start(["--quiet", "score", str(rows), "--json"], script=("-c", code)).communicate(timeout=60)
    assert out.splitlines()[-1] == "end", err


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_reaches_worker_processes_too_and_only_the_command_speaks(tmp_path):
    write_csv(tmp_path / "train.csv", easy_rows(160))
    write_csv(tmp_path / "toy.csv", bucket_rows(15))
    line = ["sweep", "--model", "bow", "--train-file", str(tmp_path / "train.csv"), "--output", str(tmp_path / "sweep")]
    line += ["--dataset", str(tmp_path / "toy.csv"), "--seeds", "0,1", "--jobs", "2"]
    line += ["--shares", "1", "--set", "epochs=100000", "--device", "cpu"]
    process = start(line, start_new_session=True)
    while process.poll() is None and not list(tmp_path.glob("sweep/cells/*/model/training.json")):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("interrupted: what was finished is kept")
    assert "Traceback" not in err


def test_quiet_shows_no_bar(monkeypatch: pytest.MonkeyPatch, command: Any) -> None:
    from paraconsist.models.progress import ProgressBar

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("PARACONSIST_QUIET", raising=False)
    for options, is_hidden in ((["--quiet"], True), ([], False)):
        assert command("list", *options)[0] == 0
        assert ProgressBar(3, "toy", visible=True)._progress.disable is is_hidden
