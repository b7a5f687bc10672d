"""How fast is exact arbitrage, and how exact? In processor time, one core.

    OMP_NUM_THREADS=1 python benchmarks/coherence_speed.py [--tuples 60800] [--data DIR]

Random tuples of each of the ten relations, or with --data (a folder with recorded/forecasters.parquet) those of the
published forecasters: tuples a second, and the largest gap between the value and what the bet is sure to win.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from paraconsist.measures.probability_coherence import RELATIONS, arbitrage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tuples", type=int, default=60_800)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    rng, ten = np.random.default_rng(0), list(RELATIONS)[:10]
    drawn = {name: rng.uniform(size=(options.tuples // 10, len(RELATIONS[name].statements))) for name in ten}
    if options.data is not None:
        import pandas as pd

        rows = pd.read_parquet(options.data / "recorded" / "forecasters.parquet")
        key = ["forecaster", "set", "tuple"]
        wide = {c: part.pivot(index=key, columns="role", values="probability") for c, part in rows.groupby("check")}
        drawn = {name: wide[name][list(RELATIONS[name].statements)].to_numpy() for name in ten}
    total = 0.0
    for name, p in drawn.items():
        start = time.process_time()
        exact = arbitrage(RELATIONS[name], p)
        spent = time.process_time() - start
        total += spent
        gap = float((exact.gain - exact.guaranteed)[exact.gain > 0].max(initial=0.0))
        print(f"{name:<18} {len(p):>6,} tuples  {len(p) / spent:>8,.0f} a second  largest gap {gap:.0e}")
    print(f"all: {sum(map(len, drawn.values())):,} tuples, {sum(map(len, drawn.values())) / total:,.0f} a second")


if __name__ == "__main__":
    main()
