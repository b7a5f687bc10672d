"""Two processes on one device give what one gives: the code for many GPUs, where there is only one.

NCCL refuses two processes on a device, so they meet through gloo.

    python benchmarks/gpu/processes.py [--device cpu --tiny]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import InitProcessGroupKwargs
from models import largest_change, options, run, save_model, save_rows

from paraconsist.running import loop


def work(model: Path, rows: Path, output: Path, device: str, deterministic: bool) -> None:
    """What each of the processes does."""
    barrier = torch.distributed.barrier

    def on_this_device(*given: Any, device_ids: Any = None, **more: Any) -> Any:
        return barrier(*given, **more)  # accelerate names a device for each process

    torch.distributed.barrier = on_this_device
    loop.InitProcessGroupKwargs = partial(InitProcessGroupKwargs, backend="gloo")  # type: ignore[misc]
    statistics, answers = run(model, rows, output, device=device or None, deterministic=deterministic)
    if os.environ.get("RANK", "0") == "0":
        (output / "answers.json").write_text(json.dumps([statistics.seconds, answers]))


def main(arguments: list[str] | None = None) -> None:
    with options(__doc__, arguments) as given:
        many = save_rows(given.scratch / "rows.jsonl", given.rows)
        few = save_rows(given.scratch / "few.jsonl", min(given.rows, 500))  # computed row by row
        model = save_model(given, "minilm")
        for deterministic, rows in ((False, many), (True, few)):
            found = {}
            for n in (1, 2):
                output = given.scratch / f"{n} {deterministic}"
                launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(n)]
                passed = ["--work", str(model), str(rows), str(output), given.device or "", str(int(deterministic))]
                subprocess.run([*launcher, __file__, *passed], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
                found[n] = json.loads((output / "answers.json").read_text())
            change, flips = largest_change(found[1][1], found[2][1])
            times = f"{found[1][0]:.1f} s in one process, {found[2][0]:.1f} s in two"
            name = "--deterministic" if deterministic else "as it is"
            print(f"  {name:15} largest change {change:.1e}, {flips} answers are others; {times}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(*map(Path, sys.argv[2:5]), sys.argv[5], sys.argv[6] == "1")
    else:
        main()
