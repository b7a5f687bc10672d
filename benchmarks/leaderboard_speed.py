"""A leaderboard of a hundred systems: seconds, seconds of work, memory. Allowed: three minutes on two cores.

``python benchmarks/leaderboard_speed.py [--models 100] [--rows 2000]`` writes as many files of that many rows (buckets
of ten, the first of each its original, two labels, a stratum), which model and set they are of in their metadata, and
runs the command in a process of its own: files scored, all pairs tested (4,950 of a hundred), a page for each model.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq
from report_speed import write_rows

from paraconsist.data.predictions import read_predictions, write_predictions


def main() -> None:
    """Write the files, run the command, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--rows", type=int, default=2_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{i}.parquet" for i in range(options.models)]
        for i, file in enumerate(files):
            write_rows(file, options.rows, model=i)
            table = read_predictions(file).table.drop_columns("text")
            write_predictions(file, table, {"set": "made", "model": {"model": f"system {i}"}})
        assert pq.read_metadata(files[-1]).num_rows == options.rows
        command = [sys.executable, "-m", "paraconsist", "leaderboard", *map(str, files), "--output", f"{folder}/site"]
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - start
        pages = len(list((Path(folder) / "site" / "models").iterdir()))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    work = used.ru_utime + used.ru_stime
    print(f"{pages} systems of {options.rows:,} rows, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{wall:.0f} s (allowed: 180 on two idle cores), {work:.0f} s of work, {used.ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
