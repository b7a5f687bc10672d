"""How fast is the measure? Every ratio is measured side by side, in this run, on the same arrays.

    python benchmarks/measure_speed.py [--rows 10000000] [--repeat 3]

1. paraphrastic consistency on 10 million rows in 1.25 million integer buckets, with its default intervals,
   against the cheapest way to count buckets in numpy (one ``np.unique(return_inverse=True)`` plus two
   ``np.bincount``: no validation, no measures, no intervals) and against one pass over the rows with a
   dictionary;
2. 10,000 bootstrap replicates of 1,000 buckets, also when no two buckets are alike, with the peak memory.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.intervals import Units, bootstrap, distinct
from paraconsist.measures.paraphrastic import MEASURES, bucket_sums, measures_of_sums, paraphrastic_consistency

Ints = npt.NDArray[np.int64]


def best_of(repeat: int, function: Callable[[], Any]) -> float:
    """Return the shortest of `repeat` times, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def numpy_counts(buckets: Ints, right: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Count buckets in the plainest numpy."""
    _, inverse = np.unique(buckets, return_inverse=True)
    return np.bincount(inverse), np.bincount(inverse[right])


def dictionary_loop(predictions: list[int], references: list[int], buckets: list[int]) -> float:
    """Return the plug-in consistency from one pass over the rows with a dictionary."""
    counts: dict[int, list[int]] = {}
    for prediction, reference, bucket in zip(predictions, references, buckets, strict=True):
        if bucket not in counts:
            counts[bucket] = [0, 0]
        count = counts[bucket]
        count[0] += 1
        count[1] += prediction == reference
    total = 0.0
    for k, c in counts.values():
        theta = c / k
        total += theta * theta + (1 - theta) * (1 - theta)
    return total / len(counts)


def measure(n_rows: int, repeat: int) -> None:
    """Print the ratios for sorted, shuffled and far-apart bucket ids."""
    rng = np.random.default_rng(0)
    n_buckets = n_rows // 8
    sorted_ids = np.repeat(np.arange(n_buckets), 8)
    gold = rng.integers(0, 2, n_buckets)[sorted_ids]
    predictions = np.where(rng.random(n_rows) < rng.beta(2, 1, n_buckets)[sorted_ids], gold, 1 - gold)
    order = rng.permutation(n_rows)
    far_apart = rng.choice(2**62, n_buckets, replace=False)
    print(f"{n_rows:,} rows in {n_buckets:,} buckets; seconds, best of {repeat}")
    print(f"{'bucket ids':<22}{'ours':>8}{'numpy':>8}{'dict':>8}{'ours/numpy':>12}{'dict/ours':>11}")
    for name, rows, ids in [
        ("sorted", slice(None), sorted_ids),
        ("shuffled", order, sorted_ids[order]),
        ("sorted, far apart", slice(None), np.sort(far_apart)[sorted_ids]),
        ("shuffled, far apart", order, far_apart[sorted_ids][order]),
    ]:
        p, r = predictions[rows], gold[rows]
        ours = best_of(repeat, lambda p=p, r=r, ids=ids: paraphrastic_consistency(p, r, ids))  # type: ignore[misc]
        plain = best_of(repeat, lambda p=p, r=r, ids=ids: numpy_counts(ids, p == r))  # type: ignore[misc]
        listed = p.tolist(), r.tolist(), ids.tolist()
        start = time.perf_counter()
        loop_value = dictionary_loop(*listed)
        loop = time.perf_counter() - start
        value = paraphrastic_consistency(p, r, ids).paraphrastic_consistency
        if abs(loop_value - value) > 1e-9:
            raise SystemExit(f"the loop gives {loop_value}, the measure {value}")
        print(f"{name:<22}{ours:8.2f}{plain:8.2f}{loop:8.2f}{ours / plain:12.2f}{loop / ours:11.1f}")
    print("The dictionary is given lists (its best case) and runs once over all rows; it makes no intervals.\n")


def measure_bootstrap(repeat: int) -> None:
    """Print time and peak memory of 10,000 replicates."""
    rng = np.random.default_rng(0)
    print(f"{'10,000 replicates of':<38}{'distinct':>9}{'seconds':>9}{'peak MiB':>10}")
    for name, size in [
        ("1,000 buckets of 8", np.full(1000, 8)),
        ("1,000 buckets, no two alike", np.arange(1, 1001)),
        ("100,000 buckets of 8", np.full(100_000, 8)),
    ]:
        counts = BucketCounts.from_counts(size, rng.binomial(size, 0.7))
        first, _, multiplicity = distinct(counts.size, counts.correct, counts.same_label)
        units = Units.of(bucket_sums(counts.take(first)), multiplicity)

        def run(units: Units = units) -> None:
            replicates = bootstrap(units, measures_of_sums, 10_000, np.random.default_rng(0))
            assert replicates.shape == (10_000, len(MEASURES))

        seconds = best_of(repeat, run)
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(f"{name:<38}{len(first):9,}{seconds:9.2f}{peak:10.0f}")


def main() -> None:
    """Run both benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    measure(options.rows, options.repeat)
    measure_bootstrap(options.repeat)


if __name__ == "__main__":
    main()
