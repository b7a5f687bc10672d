"""All of BECEL: how many inputs are computed, and how fast, against a pipeline call for each file.

First the counts over the 19 test cases: rows asked for, distinct within each file, distinct overall. Then, side by
side in one run, the time for a part of every set (``--limit`` rows each, whole buckets): `transformers.pipeline` with
``batch_size=32``, called once a file on the file's distinct inputs, against the runner, called once a task over all of
its files. Models (MiniLM with a random head, one for each of BECEL's seven tasks) are loaded outside; both sides take
turns.

    python benchmarks/becel_speed.py --data-dir DATA
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch
from runner_speed import make_model
from transformers import pipeline

from paraconsist.data.bucket_sets import BucketSet, expand_specs, load_bucket_set
from paraconsist.data.store import Store
from paraconsist.models.batching import BatchPolicy
from paraconsist.models.loading import load_model
from paraconsist.running.loop import compute, start_accelerator


def distinct_inputs(rows: BucketSet) -> list[dict[str, str]]:
    """Return the file's distinct inputs, as the pipeline takes them."""
    columns = list(rows.task.columns)
    found = {row["input_id"]: rows.task.encode(row) for row in rows.table.select(["input_id", *columns]).to_pylist()}
    return [
        {"text": given.text} | ({} if given.text_pair is None else {"text_pair": given.text_pair})
        for given in found.values()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-dir")
    parser.add_argument("--limit", type=int, default=300, help="rows of each set in the timed part")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    whole = [load_bucket_set(spec, data_dir=options.data_dir) for spec in expand_specs(["becel:all"])]
    tasks: dict[str, list[BucketSet]] = {}
    for rows in whole:
        tasks.setdefault(rows.name.partition(":")[2].rpartition("_")[0], []).append(rows)
    ids = [rows.table["input_id"].to_pylist() for rows in whole]
    print(
        f"{len(whole)} sets: {sum(map(len, ids)):,} rows asked for, {sum(len(set(i)) for i in ids):,} distinct within "
        f"each file, {len(set().union(*ids)):,} distinct overall"
    )
    accelerator = start_accelerator()
    policy = BatchPolicy.for_device(accelerator.device.type)
    times: dict[str, list[float]] = {"pipeline a file": [], "paraconsist": []}
    n_peer = n_ours = 0
    with tempfile.TemporaryDirectory() as scratch:
        parts = {name: [rows.limited(options.limit) for rows in group] for name, group in tasks.items()}
        files = {name: [distinct_inputs(rows) for rows in group] for name, group in parts.items()}
        models = {name: make_model(Path(scratch) / name, group[0].label_names) for name, group in parts.items()}
        ours = {name: load_model(models[name], task=group[0].task) for name, group in parts.items()}
        peers = {
            name: pipeline(
                "text-classification", model=str(folder), top_k=None, device=accelerator.device, truncation=True
            )
            for name, folder in models.items()
        }
        for number in range(options.rounds):
            started = time.perf_counter()
            n_peer = 0
            for name, given in files.items():
                for inputs in given:
                    n_peer += len(peers[name](inputs, batch_size=32))
            times["pipeline a file"].append(time.perf_counter() - started)
            started = time.perf_counter()
            n_ours = 0
            for name, group in parts.items():
                store = Store(Path(scratch) / f"store{number}", {"task": name})
                n_ours += compute(ours[name], group, store, accelerator, policy).n_computed
            times["paraconsist"].append(time.perf_counter() - started)
    print(f"timed: {options.limit} rows of each set, {torch.get_num_threads()} threads")
    for name, taken in times.items():
        rounds = ", ".join(f"{t:.1f}" for t in taken)
        print(f"  {name:16} {statistics.median(taken):7.1f} s   (rounds: {rounds})")
    print(f"  inputs computed: {n_peer:,} by the pipeline, {n_ours:,} by paraconsist")
    ratio = statistics.median(times["pipeline a file"]) / statistics.median(times["paraconsist"])
    print(f"  times as fast as a pipeline call a file: {ratio:.2f}")


if __name__ == "__main__":
    main()
