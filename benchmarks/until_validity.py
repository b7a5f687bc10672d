"""How often an interval that is looked at after every bucket misses, what it costs, and how often gates on it err.

Buckets arrive in random order, in clusters of unequal size, and whoever asks stops when the interval is +-3 points
wide. Printed are misses at any look (at most 5 %), misses of the ordinary interval at the look where it would stop, the
number of clusters, also in multiples of the fixed design with which half of all studies are that precise, which only an
oracle knows, and how often a gate whose bar is the true value decides anything (each decision is an error; at most
5 %). Of real data, if there are any, the buckets are the population, drawn with replacement, and then the finite set
itself, drawn without.

python benchmarks/until_validity.py [--replays 200] [--data FOLDER]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from paraconsist.measures.intervals import FEW_UNITS, Units, intervals, mean_of_sums
from paraconsist.measures.sequential import MeanSequence

HALF_WIDTH, N_WORDINGS, LARGEST, N_LOOKS = 0.03, 4, 5, 4_000
RATES = (0.5, 0.75, 0.95, 0.98)
#: Sizes of clusters over the largest, and the means of their values.
Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def made(rate: float, largest: int) -> Draw:
    """Return clusters of 1 to `largest` buckets, which are steady or answered by a coin, alike within a cluster."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        size, steady = rng.integers(1, largest + 1, n), 2.0 * rate - 1.0
        chance = rng.beta(4.0 * steady, 4.0 * (1.0 - steady), n) if steady > 0.0 else np.zeros(n)
        right = rng.binomial(N_WORDINGS, 0.5, (n, largest))
        agreement = 1.0 - 2.0 * right * (N_WORDINGS - right) / (N_WORDINGS * (N_WORDINGS - 1))
        agreement[rng.random((n, largest)) < chance[:, np.newaxis]] = 1.0
        used = np.arange(largest) < size[:, np.newaxis]
        return size / largest, (agreement * used).sum(axis=1) / size

    return draw


def of_buckets(values: np.ndarray) -> Draw:
    """Return draws with replacement from the buckets of a real set."""
    return lambda rng, n: (np.ones(n), rng.choice(values, n))


def ordinary(weights: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the interval for a fixed number of clusters."""
    sums = np.stack([weights, weights * values], axis=1)
    ends = intervals(Units.of(sums, np.ones(len(values))), mean_of_sums, [(0.0, 1.0)], [True])
    return float(ends.low[0]), float(ends.high[0])


def ordinary_misses(weights: np.ndarray, values: np.ndarray, mean: float) -> bool:
    """Say whether the ordinary interval misses where it is first narrow enough."""
    for n in range(FEW_UNITS, len(values) + 1):
        low, high = ordinary(weights[:n], values[:n])
        if high - low <= 2.0 * HALF_WIDTH:
            return not low <= mean <= high
    return False


def oracle_size(draw: Draw) -> int:
    """Return the least fixed number of clusters with which half of all studies have an interval narrow enough."""
    rng, least, most = np.random.default_rng(19), FEW_UNITS, N_LOOKS
    while most - least > max(1, least // 100):
        n = (least + most) // 2
        widths = [high - low for low, high in (ordinary(*draw(rng, n)) for _ in range(101))]
        least, most = (least, n) if np.median(widths) <= 2.0 * HALF_WIDTH else (n, most)
    return most


def replay(draw: Draw, mean: float, rng: np.random.Generator) -> tuple[bool, bool, int, bool]:
    """Return whether any look missed, whether the ordinary one did, when it was narrow enough, whether a gate erred."""
    weights, values = draw(rng, N_LOOKS)
    sequence, gate, missed, stop = MeanSequence(half_width=HALF_WIDTH), MeanSequence(bound=mean), False, 0
    for n, (value, weight) in enumerate(zip(values.tolist(), weights.tolist(), strict=True), 1):
        low, high = sequence.add(value, weight)
        missed = missed or not low <= mean <= high
        gate.add(value, weight)
        if sequence.half_width <= HALF_WIDTH:
            stop = stop or n
            if n >= 2 * stop:
                break
    erred = not gate.low <= mean <= gate.high
    return missed, ordinary_misses(weights, values, mean), stop or N_LOOKS, erred


def real_sets(data: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the agreement of two wordings of every bucket of real sets."""
    files = sorted((data / "paranlu" / "predictions").glob("*__roberta-large__human.parquet"))
    files += sorted((data / "recorded").glob("dynamath.parquet"))
    for path in files:
        table = pq.read_table(path).to_pandas()
        if path.stem == "dynamath":
            table = table[table["model"] == table["model"].iloc[0]].rename(columns={"question": "bucket_id"})
            right = table["correct"].astype(float)
        else:
            right = (table["pred"] == table["gold"]).astype(float)
        counts = right.groupby(table["bucket_id"]).agg(["size", "sum"])
        counts = counts[counts["size"] > 1]
        k, c = counts["size"].to_numpy(float), counts["sum"].to_numpy(float)
        yield path.stem, 1.0 - 2.0 * c * (k - c) / (k * (k - 1.0))


def finite_misses(values: np.ndarray, rng: np.random.Generator) -> tuple[bool, int]:
    """Return whether an interval for the mean of a set itself missed at any look, and when it was narrow enough."""
    sequence, mean, missed, stop = MeanSequence(n_values=len(values)), float(values.mean()), False, 0
    for n, value in enumerate(rng.permutation(values).tolist(), 1):
        low, high = sequence.add(value)
        missed = missed or not low - 1e-9 <= mean <= high + 1e-9
        stop = stop or (n if sequence.half_width <= HALF_WIDTH else 0)
    return missed, stop


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--replays", type=int, default=200)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    cases: list[tuple[str, Draw, float]] = []
    for largest in (1, LARGEST):
        of = "single buckets" if largest == 1 else f"clusters of 1 to {largest}"
        cases += [(f"made, {rate:g}, {of}", made(rate, largest), rate) for rate in RATES]
    real = list(real_sets(options.data))
    cases += [(name, of_buckets(values), float(values.mean())) for name, values in real]
    heads = ("missed", "ordinary", "buckets", "factor", "gate errs")
    print(f"{'population':<36}" + "".join(f"{head:>11}" for head in heads), flush=True)
    for name, draw, mean in cases:
        rng = np.random.default_rng(17)
        oracle = oracle_size(draw)
        found = np.array([replay(draw, mean, rng) for _ in range(options.replays)], dtype=float)
        missed, peeked, stop, erred = found.mean(axis=0)
        cells = (f"{missed:.1%}", f"{peeked:.1%}", f"{stop:,.0f}", f"{stop / oracle:.2f}", f"{erred:.1%}")
        print(f"{name:<36}" + "".join(f"{cell:>11}" for cell in cells), flush=True)
    for name, values in real:
        rng = np.random.default_rng(18)
        missed, stop = np.mean([finite_misses(values, rng) for _ in range(options.replays)], axis=0)
        print(f"{name + ', this set':<36}{missed:>11.1%}{'':>11}{stop:>11,.0f} of {len(values):,}", flush=True)


if __name__ == "__main__":
    main()
