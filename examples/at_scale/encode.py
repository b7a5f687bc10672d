"""A classifier over very many rows: Ray Data hands blocks of Parquet to workers that run paraconsist's own loop.

    pip install 'paraconsist[run,scale]'
    python examples/at_scale/encode.py --model FOLDER --dataset rows.parquet --output runs/big --workers 8

Rows are dealt to blocks by a hash of their texts, so that every distinct text is computed once, by one worker. Each
worker loads the model once. A block is a unit: finished, or gone on with. Killed at any moment, the same command goes
on; on several nodes (`ray start`, then the same command on one of them) `--output` has to lie on a disk that all share.
At the end `--output` is the run folder that `paraconsist run` would have left.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import ray

from paraconsist.data.bucket_sets import BucketSet, load_bucket_set
from paraconsist.data.store import RunFolder
from paraconsist.data.tasks import get_task
from paraconsist.files import locked, staged, write_json
from paraconsist.models.loading import load_model
from paraconsist.running.options import RunOptions
from paraconsist.running.parts import PLACE, merge_parts
from paraconsist.running.run import run

KEPT = ("name", "label_names", "fingerprint", "measures", "split", "named")


def split(dataset: str, folder: Path, rows_per_block: int) -> list[str]:
    """Write the rows of a set as blocks, once; return the blocks' names."""
    if not (folder / "set.json").is_file():
        rows = load_bucket_set(dataset)
        n = math.ceil(rows.table.num_rows / rows_per_block)
        block = np.array([int(i, 16) % n for i in rows.table["input_id"].to_pylist()])
        order = np.argsort(block, kind="stable")
        ends = np.cumsum(np.bincount(block, minlength=n))
        with staged(folder) as new:
            for i, places in enumerate(np.split(order, ends[:-1]), start=1):
                pq.write_table(rows.table.take(places).append_column(PLACE, [places]), new / f"{i:06d}.parquet")
            write_json(new / "set.json", {**{k: getattr(rows, k) for k in KEPT}, "task": rows.task.name, "of": n})
    return sorted(path.stem for path in folder.glob("*.parquet"))


class Worker:
    """One process with one model; `__call__` computes the blocks that are named, each in a run folder of its own."""

    def __init__(self, model: str, output: Path, dtype: str, device: str | None) -> None:
        about = json.loads((output / "blocks" / "set.json").read_text())
        self.of, self.task = about.pop("of"), get_task(about.pop("task"))
        self.about = {name: tuple(value) if isinstance(value, list) else value for name, value in about.items()}
        self.about["named"] = (*self.about["named"], PLACE)
        self.model, self.output, self.device = model, output, device
        self.loaded = load_model(model, task=self.task, dtype=dtype, device=device)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        for name in batch["block"]:
            table = pq.read_table(self.output / "blocks" / f"{name}.parquet")
            rows = BucketSet(task=self.task, table=table, part=f"{int(name)}/{self.of}", **self.about)
            options = RunOptions(self.output / "parts" / str(name), device=self.device)
            run(lambda *_: self.loaded, lambda rows=rows: {self.model: [rows]}, options)
        return batch


def is_finished(part: Path) -> bool:
    return "ended" in RunFolder(part).read()


def main(
    model: str, dataset: str, output: Path, rows_per_block: int, workers: int, gpus: float, dtype: str = "float32"
) -> None:
    with locked(output, "encode", "output"):
        blocks = split(dataset, output / "blocks", rows_per_block)
        left = [name for name in blocks if not is_finished(output / "parts" / name)]
        print(f"{len(blocks)} blocks, {len(left)} to be computed", flush=True)
        if left:
            done = ray.data.from_items([{"block": name} for name in left], override_num_blocks=len(left)).map_batches(
                Worker,
                fn_constructor_args=(model, output.resolve(), dtype, None if gpus else "cpu"),
                batch_size=1,
                compute=ray.data.ActorPoolStrategy(size=workers),
                num_cpus=1,
                num_gpus=gpus,
            )
            for row in done.iter_rows():
                print(f"block {row['block']} is done", flush=True)
        merge_parts([output / "parts" / name for name in blocks], output)
    print(f"now: paraconsist score {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--dataset", required=True, help="as in `paraconsist run`")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--rows-per-block", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=1, help="processes, over all nodes")
    parser.add_argument("--dtype", default="float32", help="as in `paraconsist run`")
    parser.add_argument("--gpus", type=float, default=0, help="of a worker; .5 for two workers a GPU")
    given = parser.parse_args()
    ray.init(include_dashboard=False, log_to_driver=False)
    main(**vars(given))
