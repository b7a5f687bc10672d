"""How well `plan` predicts what two wordings of many lose: python benchmarks/plan_levels.py --data DATA

Relevance judges were asked 25 or 26 wordings about every passage of 54 queries, which are the contexts. Printed are the
real factor by which the interval of P_C over queries widens if every passage has two random wordings in place of all
(mean over draws), and `savings` of pilots of a random fifth: of the queries, and of the passages of all queries. The
predictions are means over pilots; behind each is the share of single pilots within 10 % of the real factor.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.planning import Pilot, pilot_of, savings

Array = np.ndarray
FEW = 2


def judges(data: Path) -> Iterator[tuple[str, Array, Array]]:
    """Return each judge's name, right answers of shape (passages, wordings), and the queries' codes."""
    whole = pq.read_table(data / "recorded" / "relevance_judges.parquet")
    for model in sorted(pc.unique(whole["model"]).to_pylist()):
        for mode in ("binary", "graded"):
            chosen = pc.and_(pc.equal(whole["model"], model), pc.equal(whole["mode"], mode))
            table = whole.filter(chosen)
            label, verdict = table["label"].to_numpy(), table["verdict"].to_numpy()
            right = verdict == ((label >= 2).astype(int) if mode == "binary" else label)
            keys = [np.unique(table[name].to_numpy().astype(str), return_inverse=True)[1] for name in _KEYS]
            passage = np.unique(keys[0].astype(np.int64) * (keys[1].max() + 1) + keys[1], return_inverse=True)[1]
            matrix = np.zeros((passage.max() + 1, keys[2].max() + 1), dtype=bool)
            matrix[passage, keys[2]] = right
            queries = np.zeros(len(matrix), dtype=int)
            queries[passage] = keys[0]
            yield f"{model} {mode}", matrix, queries


_KEYS = ("query", "passage", "wording")


def standard_error(values: Array, groups: Array) -> float:
    """Return the clustered standard error of a mean over passages."""
    sums = np.bincount(groups, weights=values - values.mean())
    return float(np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(values))


def real_factor(rng: np.random.Generator, right: Array, queries: Array, n_draws: int) -> float:
    """Return the mean widening by two random wordings of every passage."""
    n, k = right.shape
    correct = right.sum(axis=1)
    full, rows = standard_error(2 * correct * (k - correct) / (k * (k - 1)), queries), np.arange(n)
    errors = []
    for _ in range(n_draws):
        first = rng.integers(0, k, n)
        second = (first + rng.integers(1, k, n)) % k
        errors.append(standard_error((right[rows, first] != right[rows, second]).astype(float), queries))
    return float(np.mean(errors)) / full


def pilot(right: Array, queries: Array, chosen: Array) -> Pilot:
    """Return the pilot of the chosen passages."""
    correct = right.sum(axis=1)[chosen]
    counts = BucketCounts.from_counts(np.full(len(correct), right.shape[1]), correct)
    return pilot_of(counts, groups=queries[chosen])


def main() -> None:
    """Print a line for each judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("PARACONSIST_TEST_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print("judge | calls | real | from a fifth of the queries | from a fifth of the passages of each")
    for name, right, queries in judges(options.data):
        real, names = real_factor(rng, right, queries, 5 * options.draws), np.unique(queries)
        size = np.bincount(queries)[queries].mean()
        seen = []
        for _ in range(options.draws):
            some = np.isin(queries, rng.choice(names, round(len(names) / 5), replace=False))
            spread = pilot(right, queries, rng.random(len(queries)) < 0.2).in_contexts_of(size)
            pilots = pilot(right, queries, some), spread
            seen.append([savings(one, paraphrases=[FEW])[0].widening for one in pilots])
        near = 100 * np.mean(np.abs(np.array(seen) / real - 1) <= 0.1, axis=0)
        cells = [f"{mean:.2f} ({share:.0f} %)" for mean, share in zip(np.mean(seen, axis=0), near, strict=True)]
        print(f"{name} | {100 * FEW / right.shape[1]:.0f} % | {real:.3f} | {cells[0]} | {cells[1]}", flush=True)


if __name__ == "__main__":
    main()
