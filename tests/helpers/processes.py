"""Runs in processes of their own."""

import json
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from helpers.models import WORDS

HERE = Path(__file__).parent
#: What takes long to import. Nothing of it may compute: threads do not survive a fork.
_PRELOADED = [
    *(f"paraconsist.{name}" for name in ("cli.app", "cli.run", "models.pretrained", "models.prompted")),
    *(f"paraconsist.{name}" for name in ("running.run", "running.loop", "running.by_name", "scoring.score")),
    *("paraconsist.reporting.tables", "pandas", "pyarrow.acero", "pyarrow.pandas_compat", "rich.progress"),
    *("transformers.models.auto.modeling_auto", "transformers.models.bert.modeling_bert"),
    *("transformers.convert_slow_tokenizer", "transformers.trainer"),
]
N_ROWS = 103
NOWHERE = Path(os.devnull)


def write_set(path: Path, n_rows: int = N_ROWS, *, seed: int = 0) -> Path:
    """Write a bucket set of uneven buckets and lengths, with inputs that occur several times."""
    rng = random.Random(seed)
    rows = []
    for i in range(n_rows):
        texts = {c: " ".join(rng.choices(WORDS, k=rng.randint(1, 12))) for c in ("premise", "hypothesis", "update")}
        if i % 10 == 9:
            texts = {c: rows[i - 3][c] for c in texts}
        rows.append({
            "example_id": f"e{i}", "bucket_id": f"b{i // 7}", "role": "original" if i % 7 == 0 else "paraphrase",
            **texts, "label": (i // 7) % 2, "theme": i % 3
        })  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


#: The runner with a fault: its kind, when and in which process, before the arguments.
FAULTY = (str(Path(__file__).with_name("faulty_run.py")),)


def launch(
    args: list[str],
    *,
    processes: int = 1,
    threads: int = 1,
    script: tuple[str, ...] = ("-m", "paraconsist"),
    check: bool = True,
    fresh: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run a command, under a launcher where it has several processes; `fresh`: by an interpreter that starts anew.

    Else its processes are forked from one that has imported torch and the rest, which takes seconds each time. They
    share its hash seed, and one that fails ends the others, as torch's launcher does.
    """
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": str(threads), "CUDA_VISIBLE_DEVICES": ""}
    if not fresh:
        done = _forked([*script, *args], environment, processes)
    else:
        command = [sys.executable]
        if processes > 1:
            command += ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
        done = subprocess.run([*command, *script, *args], capture_output=True, text=True, timeout=240, env=environment)
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


def _context() -> Any:
    context = get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _forked(line: list[str], environment: dict[str, str], n: int) -> subprocess.CompletedProcess[str]:
    context = _context()
    with tempfile.TemporaryDirectory() as scratch, socket.create_server(("127.0.0.1", 0)) as free:
        port, streams = free.getsockname()[1], [Path(scratch) / name for name in ("out", "err")]
        free.close()
        started = []
        for rank in range(n):
            ranks = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": n, "LOCAL_WORLD_SIZE": n, "MASTER_PORT": port}
            own = {name: str(value) for name, value in ranks.items()} | {"MASTER_ADDR": "127.0.0.1"}
            started.append(context.Process(target=_be, args=(line, environment | (own if n > 1 else {}), streams)))
            started[-1].start()
        running, until = {process.sentinel: process for process in started}, time.monotonic() + 240
        while running:
            ended = [running.pop(sentinel) for sentinel in wait(list(running), timeout=until - time.monotonic())]
            if not ended or any(process.exitcode for process in ended):
                for process in running.values():
                    process.terminate() if ended else process.kill()
            assert ended, f"{line} did not end in time: {streams[1].read_text()}"
        codes = [process.exitcode for process in started]
        return subprocess.CompletedProcess(line, next(filter(None, codes), 0), *(one.read_text() for one in streams))


class Forked:
    """A command that goes on by itself, as `subprocess.Popen`: a session of its own, forked as those of `launch`."""

    def __init__(self, line: Sequence[object], *, streams: Sequence[Path] = (NOWHERE, NOWHERE), **more: str) -> None:
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **more}
        command = ["-m", "paraconsist", *map(str, line)]
        self.process = _context().Process(target=_be, args=(command, environment, streams))
        self.process.start()
        self.pid = self.process.pid

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, timeout: float = 240) -> int | None:
        self.process.join(timeout)
        assert self.process.exitcode is not None, "the command did not end in time"
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


def hear() -> None:
    """Hear what a shell's background jobs (Ctrl-C) and those of nohup (SIGHUP) are deaf to, and hand on."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_DFL)


def _be(line: list[str], environment: dict[str, str], streams: Sequence[Path]) -> None:
    """Be the process of a command line: ``-m module ...`` or ``script ...``."""
    import torch

    os.setsid()
    hear()
    for number, path in enumerate(streams, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", buffering=1, closefd=False)
    os.environ.clear()
    os.environ.update(environment)
    torch.set_num_threads(int(environment["OMP_NUM_THREADS"]))  # which is read where torch is imported
    module, script = line[0] == "-m", line[line[0] == "-m"]
    sys.argv = [script, *line[1 + module :]]
    if module:
        runpy.run_module(script, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(script).parent))
        runpy.run_path(script, run_name="__main__")


def shards(output: Path) -> dict[str, int]:
    return {p.name: len(p.read_text().splitlines()) for p in sorted(output.glob("store/*/rank-*.jsonl"))}
