"""Kill a run at random moments, resume it each time, and compare with an undisturbed run.

Twenty rounds with one process and twenty with two (the launcher, a worker, or all of them are killed with SIGKILL).
After each round the predictions file must equal the undisturbed one row for row, every input must stand in the shards
exactly once, and a resumed run must not have computed again what was in them.

    python benchmarks/soak.py --kills 20
    python benchmarks/soak.py --kills 20 --until "wording_change +- 0.08"    # the same stop
    python benchmarks/soak.py --kills 40 --until "wording_change +- 0.08" --endpoint

With `--endpoint` a server counts what it is asked: at most what was under way at a kill is asked again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.faulty_server import FaultyServer
from helpers.models import tiny_encoder
from helpers.processes import write_set

from paraconsist.data.predictions import read_predictions

ENVIRONMENT = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


CONCURRENCY = 4


def command(place: Path, output: Path, processes: int, url: str | None, until: str | None) -> list[str]:
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
    asked = ["--endpoint", url, "--model", "toy", "--concurrency", str(CONCURRENCY)] if url else []
    return [
        sys.executable,
        *(launcher if processes > 1 else []),
        *("-m", "paraconsist", "run", "--dataset", str(place / "set.jsonl"), "--output", str(output)),
        *(asked or ["--model", str(place / "model"), "--batch-tokens", "150"]),
        *(["--until", until] if until else []),
    ]


def stored(output: Path) -> list[str]:
    """Return the ids in whole lines of all shards."""
    lines = []
    for shard in output.glob("store/*/rank-*.jsonl"):
        data = shard.read_bytes()
        lines += data[: data.rfind(b"\n") + 1].splitlines()
    return [json.loads(line)["input_id"] for line in lines]


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(c) for c in children] + [d for c in children for d in descendants(int(c))]


def alive(pids: list[int]) -> bool:
    return any(
        Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2] for pid in pids
    )


def disturb(process: subprocess.Popen[bytes], rng: random.Random, output: Path, n_inputs: int) -> str:
    """Wait until something more was stored (or a moment passed), then kill somebody."""
    deadline = time.monotonic() + rng.uniform(0, 30)
    enough = rng.randint(len(stored(output)), n_inputs)
    while process.poll() is None and time.monotonic() < deadline and len(stored(output)) < enough:
        time.sleep(0.005)
    if process.poll() is not None:
        return "ended before the kill"
    family = descendants(process.pid)
    victim = rng.choice(["launcher", "worker", "all"])
    targets = {
        "launcher": [process.pid],
        "worker": family[-1:] or [process.pid],
        "all": [process.pid, *family],
    }[victim]
    for pid in targets:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    patience = time.monotonic() + 60
    while alive(family) and time.monotonic() < patience:
        time.sleep(0.1)
    assert not alive(family), "a worker outlived its launcher"
    return f"killed {victim}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--until", help="stop on this condition, as `paraconsist run --until`")
    parser.add_argument("--endpoint", action="store_true", help="ask a server instead of a model here; one process")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    server = FaultyServer() if options.endpoint else contextlib.nullcontext()
    with tempfile.TemporaryDirectory() as scratch, server:
        place = Path(scratch)
        url = server.url if isinstance(server, FaultyServer) else None
        if url is None:
            tiny_encoder(place / "model")
        write_set(place / "set.jsonl", options.rows)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": ENVIRONMENT}
        subprocess.run(command(place, place / "undisturbed", 1, url, options.until), check=True, **quiet)
        expected = read_predictions(place / "undisturbed/predictions/set.parquet").table
        distinct = set(expected["input_id"].to_pylist())
        for processes in [1] if url else options.processes:
            kills = 0
            number = 0
            while kills < options.kills:
                output = place / f"run-{processes}-{number}"
                line = command(place, output, processes, url, options.until)
                number += 1
                story = []
                asked_before = len(server.answered()) if isinstance(server, FaultyServer) else 0
                for _ in range(rng.randint(1, 3)):
                    process = subprocess.Popen(line, **quiet)
                    story.append(disturb(process, rng, output, len(distinct)))
                before = stored(output)
                subprocess.run(line, check=True, **quiet)
                after = stored(output)
                assert len(after) == len(set(after)) == len(distinct), "an input was lost or doubled"
                assert set(after) == distinct
                run = json.loads((output / "run.json").read_text())
                n_kills = sum(told.startswith("killed") for told in story)
                kills += n_kills
                again = ""
                if isinstance(server, FaultyServer):
                    asked = server.answered()[asked_before:]
                    n_again = len(asked) - len(set(asked))
                    assert n_again <= n_kills * CONCURRENCY, (story, n_again)
                    again = f", {n_again} asked again"
                elif len(before) < len(distinct):  # else run.json keeps what the pass before computed
                    computed = run["loop"]["defeasible_nli"]["n_computed"]
                    assert computed == len(distinct) - len(before), (story, computed, len(before))
                found = read_predictions(output / "predictions/set.parquet").table
                rest = [c for c in expected.column_names if c != "probabilities"]
                assert found.select(rest).equals(expected.select(rest))
                gap = np.abs(
                    np.array(found["probabilities"].to_pylist()) - np.array(expected["probabilities"].to_pylist())
                ).max()
                assert gap <= 1e-6, gap
                if options.until:
                    (known,) = run["until"].values()
                    again += f", stopped after {known['n_asked']} of {known['n_in_all']}"
                print(
                    f"{processes} process(es): {', '.join(story)}; {len(before)} of {len(distinct)} kept{again}; "
                    f"largest difference {gap:.1e}",
                    flush=True,
                )
            print(
                f"{processes} process(es): {kills} kills, nothing lost, doubled or computed again.",
                flush=True,
            )


if __name__ == "__main__":
    main()
