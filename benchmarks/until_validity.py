"""How often an interval that is looked at after every bucket misses, what it costs, and how often gates on it err.

Buckets arrive in random order, in clusters of unequal size, and whoever asks stops when the interval is +-3 points
wide. Printed are misses at any look (at most 5 %), misses of the ordinary interval at the look where it would stop, the
number of clusters, also in multiples of the fixed design with which half of all studies are that precise, which only an
oracle knows, and how often a gate whose bar is the true value decides anything (each decision is an error; at most
5 %). Of real data, if there are any, the buckets (or contexts) are the population, drawn with replacement, and then the
finite set itself, drawn without.

Misses and errors of gates are counted over many replays of the bets against the true mean alone, thousands side by
side; the interval misses at most where these bets won. In the first replays the interval itself is made, which must
agree, and which the other columns are of.

python benchmarks/until_validity.py [--replays 200] [--misses 10000] [--data FOLDER]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from paraconsist.measures.intervals import FEW_UNITS, Units, intervals, mean_of_sums
from paraconsist.measures.sequential import MeanSequence

HALF_WIDTH, N_WORDINGS, LARGEST, N_LOOKS = 0.03, 4, 5, 4_000
RATES = (0.5, 0.75, 0.95, 0.98)
#: Sizes of clusters over the largest, and the means of their values.
Population = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator, int], Population]


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


def of_real(weights: np.ndarray, values: np.ndarray) -> Draw:
    """Return draws with replacement from the buckets or contexts of a real set."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        chosen = rng.integers(0, len(values), n)
        return weights[chosen], values[chosen]

    return draw


def bets_won(
    weights: np.ndarray,
    values: np.ndarray,
    mean: float,
    *,
    bound: float | None = None,
    n_values: int | None = None,
) -> np.ndarray:
    """Return for each row of looks whether a bet against `mean`, which is true, won at any: as MeanSequence bets."""
    n_rows, n_looks = values.shape
    weight, total, squares = np.full((3, n_rows), 0.5) * np.array([1.0, 0.5, 0.25])[:, np.newaxis]
    above, below, most = np.zeros((3, n_rows))
    for look in range(n_looks):
        w, value = weights[:, look], values[:, look]
        aim = np.full(n_rows, HALF_WIDTH) if bound is None else np.maximum(abs(total / weight - bound), 0.01)
        expected = np.full(n_rows, mean)
        if n_values is not None:
            left = n_values - look
            expected = np.clip((n_values * mean - (total - 0.25)) / left, 0.0, 1.0)
            aim *= n_values / left
        stake, gain = aim * weight / squares, w * (value - expected)
        with np.errstate(divide="ignore"):
            above += np.log1p(np.minimum(stake, 0.9 / expected) * gain)
            below += np.log1p(-np.minimum(stake, 0.9 / (1.0 - expected)) * gain)
        weight = weight + w
        total = total + w * value
        squares = squares + (w * (value - total / weight)) ** 2
        most = np.maximum(most, np.maximum(above, below))
    won: np.ndarray = most >= np.log(2.0 / 0.05)
    return won


def share_won(draw: Draw, mean: float, n_rows: int, *, bound: float | None = None) -> float:
    """Return the share of replays in which a bet against the true mean won at one of many looks."""
    rng, won = np.random.default_rng(20), 0
    for start in range(0, n_rows, 500):
        rows = [draw(rng, N_LOOKS) for _ in range(min(500, n_rows - start))]
        weights, values = (np.stack(part) for part in zip(*rows, strict=True))
        won += int(bets_won(weights, values, mean, bound=bound).sum())
    return won / n_rows


def finite_won(values: np.ndarray, n_rows: int) -> float:
    """Return the share of orders of a finite set in which a bet against its own mean won at any look but the last."""
    rng = np.random.default_rng(21)
    rows = np.stack([rng.permutation(values)[:-1] for _ in range(n_rows)])
    return float(bets_won(np.ones_like(rows), rows, float(values.mean()), n_values=len(values)).mean())


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


def replay(draw: Draw, mean: float, rng: np.random.Generator) -> tuple[bool, int]:
    """Return whether the ordinary interval missed, and when the sequence was narrow enough; its misses are checked."""
    weights, values = draw(rng, N_LOOKS)
    sequence, gate, missed, stop = MeanSequence(half_width=HALF_WIDTH), MeanSequence(bound=mean), False, 0
    for n, (value, weight) in enumerate(zip(values.tolist(), weights.tolist(), strict=True), 1):
        low, high = sequence.add(value, weight)
        gate.add(value, weight)
        missed = missed or not low <= mean <= high
        if sequence.half_width <= HALF_WIDTH:
            stop = stop or n
            if n >= 2 * stop:
                break
    seen = weights[np.newaxis, :n], values[np.newaxis, :n]
    assert missed <= bets_won(*seen, mean)[0], "the interval misses where no bet won"
    assert (not gate.low <= mean <= gate.high) <= bets_won(*seen, mean, bound=mean)[0]
    return ordinary_misses(weights, values, mean), stop or N_LOOKS


def agreements(buckets: pd.Series, answers: pd.Series, contexts: pd.Series | None = None) -> Population:
    """Return weight and mean agreement of two wordings of each bucket, or of each context of buckets."""
    cells = answers.groupby([buckets, answers]).size().groupby(level=0)
    n, pairs = cells.sum(), cells.apply(lambda count: (count * (count - 1)).sum())
    same = (pairs / (n * (n - 1)))[n > 1]
    if contexts is None:
        return np.ones(len(same)), same.to_numpy(float)
    of_context = same.groupby(contexts.groupby(buckets).first()).agg(["size", "mean"])
    return (of_context["size"] / of_context["size"].max()).to_numpy(float), of_context["mean"].to_numpy(float)


def real_sets(data: Path) -> Iterator[tuple[str, Population]]:
    """Yield real sets: right answers of ParaNLU and DynaMath, verdicts of judges, options chosen in surveys."""
    recorded = data / "recorded"
    if not recorded.is_dir():
        return
    for path in sorted((data / "paranlu" / "predictions").glob("*__roberta-large__human.parquet")):
        rows = pq.read_table(path).to_pandas()
        yield f"ParaNLU {path.stem.partition('__')[0]}", agreements(rows["bucket_id"], rows["pred"] == rows["gold"])
    table = pq.read_table(recorded / "dynamath.parquet").to_pandas()
    for model in ("GPT4o", "llava1.5-7B"):
        rows = table[table["model"] == model]
        yield f"DynaMath {model}", agreements(rows["question"], rows["correct"])
    table = pq.read_table(recorded / "judges_llmbar.parquet").to_pandas()
    table = table[(table["prompting"] == "Vanilla") & table["subset"].str.startswith("LLMBar/")].fillna(0)
    for model in ("GPT-4", "Falcon"):
        rows = table[table["model"] == model].melt(("subset", "item"), ("winner_given", "winner_swapped"))
        yield f"LLMBar {model}", agreements(rows["subset"] + rows["item"].astype(str), rows["value"])
    table = pq.read_table(recorded / "relevance_judges.parquet").to_pandas()
    for model, rows in table[table["mode"] == "binary"].groupby("model"):
        passages = rows["query"].astype(str) + "/" + rows["passage"].astype(str)
        yield f"relevance {model}, by query", agreements(passages, rows["verdict"], rows["query"])
    table = pq.read_table(recorded / "survey_wordings.parquet", filters=[("sample", "==", 0)]).to_pandas().fillna("")
    plain, is_first = table["perturbation"] == "none", table["wording"].isin(["orig", "no middle"])
    table = table[(plain & is_first) | (~plain & (table["perturbation"] != "sample") & ~is_first)]  # and its typos
    for model in ("gpt-3.5-turbo", "llama2-7b"):
        rows = table[table["model"] == model].drop_duplicates(["question", "perturbation"])
        yield f"survey {model}", agreements(rows["question"], rows["option"])


def finite_stop(values: np.ndarray, rng: np.random.Generator) -> int:
    """Return when an interval for the mean of a set itself was narrow enough; its misses are checked."""
    sequence, mean, missed, stop, order = (
        MeanSequence(n_values=len(values)),
        float(values.mean()),
        False,
        0,
        rng.permutation(values),
    )
    for n, value in enumerate(order.tolist(), 1):
        low, high = sequence.add(value)
        missed = missed or not low - 1e-9 <= mean <= high + 1e-9
        stop = stop or (n if sequence.half_width <= HALF_WIDTH else 0)
    looks = order[np.newaxis, :-1]
    assert missed <= bets_won(np.ones_like(looks), looks, mean, n_values=len(values))[0]
    return stop


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--replays", type=int, default=200)
    parser.add_argument("--misses", type=int, default=10_000)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    cases: list[tuple[str, Draw, float]] = []
    for largest in (1, LARGEST):
        of = "single buckets" if largest == 1 else f"clusters of 1 to {largest}"
        cases += [(f"made, {rate:g}, {of}", made(rate, largest), rate) for rate in RATES]
    real = list(real_sets(options.data))
    for name, (weights, values) in real:
        cases.append((name, of_real(weights, values), float(np.average(values, weights=weights))))
    heads = ("mean", "missed", "gate errs", "ordinary", "buckets", "factor")
    print(f"{'population':<36}" + "".join(f"{head:>11}" for head in heads), flush=True)
    for name, draw, mean in cases:
        won = [share_won(draw, mean, options.misses, bound=bound) for bound in (None, mean)]
        rng = np.random.default_rng(17)
        oracle = oracle_size(draw)
        peeked, stop = np.mean([replay(draw, mean, rng) for _ in range(options.replays)], axis=0)
        rates = (f"{rate:.1%}" for rate in (mean, *won, peeked))
        cells = (*rates, f"{stop:,.0f}", f"{stop / oracle:.2f}")
        print(f"{name:<36}" + "".join(f"{cell:>11}" for cell in cells), flush=True)
    for name, (weights, values) in real:
        if np.all(weights == 1.0):
            won_finite = finite_won(values, options.misses)
            rng = np.random.default_rng(18)
            n_needed = np.mean([finite_stop(values, rng) for _ in range(options.replays)])
            print(
                f"{name + ', this set':<36}{'':>11}{won_finite:>11.1%}{'':>22}{n_needed:>11,.0f} of {len(values):,}",
                flush=True,
            )


if __name__ == "__main__":
    main()
