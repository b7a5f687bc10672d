"""How fast the IE test is: python benchmarks/ie_speed.py [--n 19647] [--rows 200]

Three figures, in one run on one core: the exact p at a million items; 100,000 resamples by two binomial draws
each; and both beside a loop that resamples rows as the paper describes it (vectorised with numpy within a
resample, so a fast loop), timed over a few resamples and scaled to as many.
"""

from __future__ import annotations

import argparse
import timeit

import numpy as np

from paraconsist.measures.paired_tests import exact_p_value, resampled_p_value

N_RESAMPLES = 100_000


def best(function, repeat: int = 7) -> float:
    """Return the least of a few times, in seconds."""
    return min(timeit.repeat(function, number=1, repeat=repeat))


def row_loop(change: np.ndarray, n_resamples: int, rng: np.random.Generator) -> float:
    """Return the p of equation 14, resampling rows and swapping each with probability 1/2."""
    n = len(change)
    t = np.sqrt(n) * change.mean() / change.std()
    lower = 0
    for _ in range(n_resamples):
        resample = change[rng.integers(0, n, n)] * rng.choice((-1, 1), n)
        lower += bool(np.sqrt(n) * resample.mean() / resample.std() <= t)
    return 2 * min(lower, n_resamples - lower) / n_resamples


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=19_647, help="items beside the row loop (the paper's MNLI set)")
    parser.add_argument("--rows", type=int, default=200, help="resamples of the row loop that are timed")
    options = parser.parse_args()
    rng = np.random.default_rng(0)

    print("exact p, n = 1,000,000")
    for n10, n01 in (
        (5_100, 4_900),
        (50_400, 49_600),
        (150_500, 149_500),
        (255_000, 245_000),
        (500_300, 499_700),
    ):
        milliseconds = 1e3 * best(lambda n10=n10, n01=n01: exact_p_value(1_000_000, n10, n01))
        print(f"  D/n = {(n10 + n01) / 1e6:<6.2f} {milliseconds:8.2f} ms")

    print(f"{N_RESAMPLES:,} resamples")
    for n in (1_000, 1_000_000, 1_000_000_000):
        n10, n01 = 51 * n // 1000, 49 * n // 1000
        milliseconds = 1e3 * best(
            lambda n=n, n10=n10, n01=n01: resampled_p_value(n, n10, n01, n_resamples=N_RESAMPLES, rng=rng)
        )
        print(f"  n = {n:<15,} {milliseconds:8.2f} ms")

    n, n10, n01 = options.n, 37 * options.n // 1000, 33 * options.n // 1000
    change = rng.permutation(np.repeat([1, -1, 0], [n10, n01, n - n10 - n01]))
    loop = best(lambda: row_loop(change, options.rows, rng), repeat=3) / options.rows * N_RESAMPLES
    draws = best(lambda: resampled_p_value(n, n10, n01, n_resamples=N_RESAMPLES, rng=rng))
    exact = best(lambda: exact_p_value(n, n10, n01))
    print(f"n = {n:,}, {N_RESAMPLES:,} resamples (the row loop scaled up from {options.rows})")
    print(f"  row loop          {loop:12.3f} s")
    print(f"  method 'paper'    {draws:12.6f} s  {loop / draws:12,.0f} times faster")
    print(f"  method 'exact'    {exact:12.6f} s  {loop / exact:12,.0f} times faster")


if __name__ == "__main__":
    main()
