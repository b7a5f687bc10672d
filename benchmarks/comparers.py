"""How well comparers of free-text answers agree with people, and what they cost:

    python benchmarks/comparers.py [--speed] [--markdown FILE]

On the 15,098 answers of five systems to Natural Questions that people judged (EVOUNA; ``free_text/evouna_nq.parquet``
in the data folder): for each comparer the area under the curve of its similarity with an accepted answer (the most
similar one), and the share of its verdicts that are people's, over all systems and for each.

Then, and with ``--speed`` only, the processor time that 100,000 made answers in 20,000 buckets take, and what reading
and comparing a hostile answer of 1,000, 10,000 and 100,000 characters takes (tests/helpers/hostile.py; the worst kind).
The script fails where a time is above its budget, or ten times the characters take more than 12 times as long.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy.stats import rankdata

from paraconsist.comparing.comparer import compare_within, get_comparer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.hostile import UNITS, hostile

COMPARERS = ("exact", "text", "contains", "tokens", "similar")
FOLDER = Path(os.environ.get("PARACONSIST_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
BUDGETS = {"text": 5, "number": 5, "tokens": 60, "similar": 60}  # seconds
HOSTILE = ("exact", "text", "contains", "tokens", "number", "choice", "date", "json", "similar")
GROWTH, LEAST = 12.0, 0.01  # times as long for ten times the characters; seconds, below which nothing is told apart


def judged() -> list[dict[str, Any]]:
    """Return the answers with a person's verdict to the questions that are proper."""
    rows: list[dict[str, Any]] = pq.read_table(FOLDER / "free_text" / "evouna_nq.parquet").to_pylist()
    return [row for row in rows if not row["improper"] and row["correct"] is not None and row["answer"] is not None]


def similarities(name: str, rows: list[dict[str, Any]]) -> np.ndarray:
    """Return the similarity of each answer with the most similar of its accepted ones, shape (n,)."""
    comparer = get_comparer(name)
    accepted = [[text for text in row["golden"].split("/") if text.strip()] for row in rows]
    owner = np.repeat(np.arange(len(rows)), [len(texts) for texts in accepted])
    answers = comparer.values([row["answer"] for row in rows])
    found = comparer.pairs(
        [answers[i] for i in owner], comparer.values([text for texts in accepted for text in texts]), reference=True
    )
    best = np.zeros(len(rows))
    np.maximum.at(best, owner, found)
    return best


def area(scores: np.ndarray, truth: np.ndarray) -> float:
    """Return the area under the ROC curve, by ranks."""
    ranks, n = rankdata(scores), int(truth.sum())
    return float((ranks[truth].sum() - n * (n + 1) / 2) / (n * (len(truth) - n)))


def agreement(names: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of the table."""
    rows = judged()
    truth = np.array([row["correct"] for row in rows], dtype=bool)
    systems = np.array([row["system"] for row in rows])
    listed = list(dict.fromkeys(systems.tolist()))
    yield f"| comparer | AUC | all | {' | '.join(listed)} |"
    yield "|---" * (3 + len(listed)) + "|"
    for name in names:
        scores = similarities(name, rows)
        right = (scores >= get_comparer(name).threshold) == truth
        shares = [f"{100 * right[systems == system].mean():.1f}" for system in listed]
        yield f"| `{name}` | {area(scores, truth):.4f} | {100 * right.mean():.1f} | {' | '.join(shares)} |"


def times() -> Iterator[tuple[str, bool]]:
    """Yield a line with the processor time of each comparer on made answers, and whether it is within its budget."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(2_000)])
    texts = [" ".join(rng.choice(words, 8)) + f" {rng.integers(9)}." for _ in range(100_000)]
    buckets = np.repeat(np.arange(20_000), 5)
    for name, budget in BUDGETS.items():
        get_comparer(name)
        started = time.process_time()
        compare_within(texts, buckets, get_comparer(name))
        seconds = time.process_time() - started
        line = f"{name}: {seconds:.1f} s of processor time for 100,000 answers (at most {budget})"
        yield line, seconds <= budget


def growth() -> Iterator[tuple[str, bool]]:
    """Yield a line with what a hostile pair costs by its length, and whether that grows about linearly at most."""
    sizes = (1_000, 10_000, 100_000)
    for name in HOSTILE:
        costs = {kind: [hostile_cost(name, hostile(kind, size)) for size in sizes] for kind in UNITS}
        worst = max(costs, key=lambda kind: costs[kind][-1])
        steps = [(cost[i], cost[i + 1]) for cost in costs.values() for i in range(2)]
        rate = max(max(long, LEAST) / max(short, LEAST) for short, long in steps)
        shown = ", ".join(f"{1000 * seconds:.1f}" for seconds in costs[worst])
        line = f"{name}: {shown} ms for {sizes} characters ({worst}); ten times as many take at most {rate:.1f} times"
        yield line, rate <= GROWTH


def hostile_cost(name: str, answer: str) -> float:
    """Return the processor time of reading an answer and a longer one, and comparing them in both directions."""
    comparer = get_comparer(name)
    started = time.process_time()
    values = comparer.values([answer, answer + " x 7"], [["red", "blue"]] * 2 if name == "choice" else None)
    comparer.pairs(values, values[::-1])
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparers", nargs="*", default=COMPARERS)
    parser.add_argument("--speed", action="store_true", help="only what they cost")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    arguments = parser.parse_args()
    lines = [] if arguments.speed else list(agreement(tuple(arguments.comparers)))
    print(*lines, sep="\n")
    if arguments.markdown is not None:
        arguments.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    are_within = []
    for line, is_within in (*times(), *growth()):
        print(line if is_within else f"{line} <- too much")
        are_within.append(is_within)
    sys.exit(0 if all(are_within) else 1)


if __name__ == "__main__":
    main()
