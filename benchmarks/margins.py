"""How often at least one of seven models that are worse than an eighth by exactly the margin is called not worse.

With `compare --margin` every pair has such a verdict. At a level of 95 % they should err together in at most 5 % of
studies (printed beside what uncorrected verdicts do).

python benchmarks/margins.py [--studies 400]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np

from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.difference_tests import MarginTest
from paraconsist.measures.inconsistency_difference import inconsistency_difference
from paraconsist.measures.standings import corrected_margin_p_values

LEVEL, MARGIN, N_MODELS, N_PERMUTATIONS = 0.05, 0.04, 8, 5_000
Study = Callable[[np.random.Generator], list[MarginTest | None]]


def hits(rng: np.random.Generator, n: int, first: float, others: float) -> np.ndarray:
    """Return what happens to each model in n problems; half of it is the problem's and half the model's own."""
    common, own = rng.random(n), rng.random((N_MODELS, n))
    chances = np.array([first, *[others] * (N_MODELS - 1)])
    return np.where(rng.random((N_MODELS, n)) < 0.5, own, common) < chances[:, np.newaxis]


def consistency(rng: np.random.Generator) -> list[MarginTest | None]:
    """Return the tests of P_C: 200 problems of five wordings, which are right or coin flips."""
    steady = hits(rng, 200, 0.8, 0.72)
    right = np.where(steady[..., np.newaxis], True, rng.random((N_MODELS, 200, 5)) < 0.5).astype(int)
    answers, buckets = right.reshape(N_MODELS, -1), np.repeat(np.arange(200), 5)
    options = {"margin": MARGIN, "n_resamples": 50, "n_permutations": N_PERMUTATIONS}
    gold = np.ones_like(answers[0])
    return [consistency_difference(answers[0], one, gold, buckets, **options).margin_test for one in answers[1:]]


def inconsistency(rng: np.random.Generator) -> list[MarginTest | None]:
    """Return the tests of inconsistency in 300 pairs."""
    broken = hits(rng, 300, 0.1, 0.14)
    options = {"margin": MARGIN, "n_permutations": N_PERMUTATIONS}
    return [inconsistency_difference(broken[0], one, **options).margin_test for one in broken[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--studies", type=int, default=400)
    n_studies = parser.parse_args().studies
    warnings.simplefilter("ignore")
    studies: dict[str, Study] = {"P_C, 200 problems of 5": consistency, "inconsistency, 300 pairs": inconsistency}
    for name, study in studies.items():
        rng = np.random.default_rng(31)
        wrong = np.zeros(2)
        for _ in range(n_studies):
            p = np.array([[test["p_not_worse1"], test["p_not_worse2"]] for test in study(rng) if test])
            wrong += [(each[:, 1] <= LEVEL).any() for each in (p, corrected_margin_p_values(p))]
        plain, corrected = 100 * wrong / n_studies
        print(f"{name}: {plain:.1f} % without, {corrected:.1f} % with the correction ({n_studies} studies)", flush=True)


if __name__ == "__main__":
    main()
