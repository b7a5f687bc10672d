"""What a run costs around the model: rows a second and memory of a process where the forward pass costs nothing.

A Parquet file of synthetic rows (a tenth of them twice), a word-level tokenizer and a model whose scores are looked up
are made on the spot; then `paraconsist.running.run.run` takes the file to a predictions file, in processes whose
tokenizers have one thread each, and again with two (threads that write and that plan batches are there in both, but on
one core where `--cores 1` is given). Shown for every process: rows it answered for a second of processor time and of
the clock (reading the set, computing, writing apart), what of the processor time tokenising alone comes to, its peak
memory, and how much of that was its own (the rest are files that are mapped, which the system takes back where it is
short).

    python benchmarks/host_path.py --rows 1000000
    python benchmarks/host_path.py --rows 10000000 --processes 2
    python benchmarks/host_path.py --rows 100000 --cores 1 --threads 1
    python benchmarks/host_path.py --rows 100000 --profile
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
LABELS = ("entailment", "not_entailment")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
_N_TOKENISED, _ROUNDS = 20_000, 5


def write_rows(path: Path, n_rows: int, block: int = 100_000) -> None:
    """Write rows of 6 to 18 words in buckets of five; every tenth row is that of three rows before."""
    from helpers.models import WORDS

    rng = np.random.default_rng(0)
    words = np.array(WORDS)
    writer = None
    for start in range(0, n_rows, block):
        n = min(block, n_rows - start)
        texts = {}
        for column in ("premise", "hypothesis"):
            ends = np.cumsum(rng.integers(3, 10, n))
            drawn = words[rng.integers(0, len(words), ends[-1])]
            texts[column] = [" ".join(part) for part in np.split(drawn, ends[:-1])]
            for i in range(9, n, 10):
                texts[column][i] = texts[column][i - 3]
        numbers = range(start, start + n)
        table = pa.table(
            {
                "example_id": [f"e{i}" for i in numbers],
                "bucket_id": [f"b{i // 5}" for i in numbers],
                "role": ["original" if i % 5 == 0 else "paraphrase" for i in numbers],
                **texts,
                "label": [LABELS[i // 5 % 2] for i in numbers],
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def free_classifier() -> Any:
    """Return a classifier that tokenises and pads as every other, and looks its scores up."""
    import torch
    from helpers.models import tiny_tokenizer
    from transformers import PretrainedConfig

    from paraconsist.models.classifier import HeadClassifier

    class Scores:
        def __init__(self, logits: torch.Tensor) -> None:
            self.logits = logits

    class Free(torch.nn.Module):
        config = PretrainedConfig()
        device = torch.device("cpu")
        scores = torch.randn(4096, len(LABELS), generator=torch.Generator().manual_seed(0))

        def forward(self, input_ids: torch.Tensor, **_: torch.Tensor) -> Scores:
            return Scores(self.scores[input_ids[:, 1:5].sum(1) % 4096])

    identity = {"model": "free", "kind": "classifier", "weights_hash": "0" * 16}
    return HeadClassifier(Free(), tiny_tokenizer(), LABELS, multiple_choice=False, max_length=128, identity=identity)


def seconds_tokenising(data: Path, model: Any) -> float:
    """Return the least processor time that the library behind the tokenizer takes for a row, in seconds."""
    table = next(pq.ParquetFile(data).iter_batches(_N_TOKENISED, columns=["premise", "hypothesis"]))
    pairs = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    taken = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        model.tokenizer.backend_tokenizer.encode_batch_fast(pairs)
        taken.append(time.process_time() - began)
    return min(taken) / len(pairs)


class OwnMemory(threading.Thread):
    """Watch this process's own memory: its peak in MB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0.0

    def run(self) -> None:
        while True:
            lines = Path("/proc/self/status").read_text().splitlines()
            self.peak = max([self.peak, *(int(line.split()[1]) / 1024 for line in lines if "RssAnon" in line)])
            time.sleep(0.05)


def work(data: Path, output: Path) -> None:
    """Be one process: run, and write down what it took."""
    import paraconsist.running.loop as loop
    import paraconsist.running.run as running
    from paraconsist.data.bucket_sets import load_bucket_set
    from paraconsist.running.options import RunOptions

    stages: dict[str, list[float]] = {}

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        began = time.process_time(), time.perf_counter()
        yield
        stages[name] = [time.process_time() - began[0], time.perf_counter() - began[1]]

    def wrapped(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            with timed(name):
                return function(*arguments, **options)

        return call

    model, memory = free_classifier(), OwnMemory()
    loop.compute = wrapped("computing", loop.compute)  # type: ignore[assignment]
    running.Job.write = wrapped("writing", running.Job.write)  # type: ignore[method-assign]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    memory.start()
    load = wrapped("reading", lambda: {"free": [load_bucket_set(str(data), task="nli")]})
    profile = cProfile.Profile() if os.environ.get("HOST_PATH_PROFILE") else None
    with timed("all"):
        if profile:
            profile.enable()
        report = running.run(lambda *_: model, load, RunOptions(output))
        if profile:
            profile.disable()
            pstats.Stats(profile).sort_stats("tottime").print_stats(28)
    rank = int(os.environ.get("RANK", "0"))
    (loop_statistics,) = report.statistics.values()
    facts = {
        "stages": stages,
        "before": before,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "own": memory.peak,
        "computed": loop_statistics.n_computed,
        "padding": loop_statistics.padding,
        "tokenising": seconds_tokenising(data, model),
    }
    (output / f"facts-{rank}.json").write_text(json.dumps(facts))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="of the tokenizer, in each process")
    parser.add_argument("--cores", type=int, help="keep all processes on so many cores")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--work", type=Path, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(*options.work)
        return
    if options.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "set.parquet"
        write_rows(data, options.rows)
        for threads in options.threads:
            measure(options, data, Path(scratch) / f"run-{threads}", threads)


def measure(options: argparse.Namespace, data: Path, output: Path, threads: int) -> None:
    """Run once and print what each process took."""
    command = [sys.executable]
    if options.processes > 1:
        command += ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(options.processes)]
    profiled = {"HOST_PATH_PROFILE": "1"} if options.profile else {}
    environment = {**os.environ, **ONE_THREAD, **profiled, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    environment["RAYON_NUM_THREADS"] = str(threads)
    subprocess.run([*command, __file__, "--work", data, output], check=True, env=environment)
    assert pq.read_metadata(output / "predictions/set.parquet").num_rows == options.rows
    cores = len(os.sched_getaffinity(0))
    for rank in range(options.processes):
        facts = json.loads((output / f"facts-{rank}.json").read_text())
        print(f"process {rank} of {options.processes}: {options.rows:,} rows, {facts['computed']:,} computed; ", end="")
        print(f"{threads} tokenizing thread(s), {cores} core(s), load of the machine {os.getloadavg()[0]:.1f}")
        for name, (processor, clock) in facts["stages"].items():
            of_core, of_clock = (options.rows / options.processes / seconds for seconds in (processor, clock))
            print(f"  {name:10} {processor:8.2f} s of a core, {clock:8.2f} s: ", end="")
            print(f"{of_core:9,.0f} rows/s of a core, {of_clock:9,.0f} rows/s of the clock")
        computed, processor = facts["computed"] / options.processes, facts["stages"]["computing"][0]
        print(
            f"  computing: {1e6 * processor / computed:.1f} us of a core a computed row; the tokenizer library alone: ",
            end="",
        )
        print(f"{1e6 * facts['tokenising']:.1f} us")
        print(f"  peak memory {facts['peak']:,.0f} MB ({facts['before']:,.0f} before), own {facts['own']:,.0f} MB")
        print(f"  padding {facts['padding']:.2%}", flush=True)


if __name__ == "__main__":
    main()
