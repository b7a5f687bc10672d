"""Do two processes sweep faster than one? The same grid with ``--jobs 1`` and ``--jobs 2``, side by side in this run.

    python benchmarks/sweep_speed.py TRAIN.csv --dataset SET [--task TASK] [--cells 6] [--repeat 1] [--data-dir MIRROR]

Every cell trains a bag of words on half of the rows, each process with one thread, into a new folder. Two processes
share the machine with whatever else runs on it: the load is printed, and the ratio is what there was to be had. The
processor's seconds say what the second process costs: were they equal, a free second core would halve the time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train_file", type=Path)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--task")
    parser.add_argument("--data-dir")
    parser.add_argument("--cells", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=1)
    given = parser.parse_args()
    seeds = ",".join(map(str, range(given.cells)))
    command = [sys.executable, "-m", "paraconsist", "sweep", "--model", "bow", "--train-file", str(given.train_file)]
    command += ["--dataset", given.dataset, "--shares", "0.5", "--seeds", seeds, "--device", "cpu"]
    for name in ("task", "data_dir"):
        if getattr(given, name) is not None:
            command += [f"--{name.replace('_', '-')}", getattr(given, name)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ratios = []
    for _ in range(given.repeat):
        seconds, processor = {}, {}
        for jobs in (1, 2):
            with tempfile.TemporaryDirectory() as folder:
                started, before = time.perf_counter(), os.times()
                subprocess.run(
                    [*command, "--jobs", str(jobs), "--output", f"{folder}/sweep"],
                    check=True,
                    env=environment,
                    stdout=subprocess.DEVNULL,
                )
                seconds[jobs], after = time.perf_counter() - started, os.times()
                processor[jobs] = after[2] + after[3] - before[2] - before[3]
        ratios.append(seconds[1] / seconds[2])
        load = os.getloadavg()[0]
        print(
            f"one process {seconds[1]:.1f} s (processor {processor[1]:.1f}), two {seconds[2]:.1f} s "
            f"(processor {processor[2]:.1f}): {ratios[-1]:.2f} times; load {load:.1f}"
        )
    print(f"best {max(ratios):.2f} times, {given.cells} cells, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
