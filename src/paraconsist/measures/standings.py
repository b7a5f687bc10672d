"""Several models at once: p-values and intervals that hold for all pairs together, groups that do not differ, ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from paraconsist.measures.resampling import Floats
from paraconsist.measures.results import Record

_CELLS_AT_ONCE = 1 << 22
_ROUNDING = 1e-9
_MOST_DRAWN = 20_000  # distinct units, above which their signed sum is taken for normal


@dataclass(frozen=True)
class JointTest:
    """The smallest p among several tests of one family where no hypothesis is false."""

    least_p: Floats  # ascending, from S joint sign flips, shape (S,)

    def adjusted(self, p_value: float) -> float:
        """Return how often the family has a p as small as this one, in [p_value, 1]; nan for nan."""
        if np.isnan(p_value):
            return p_value
        n = len(self.least_p)
        as_small = int(np.searchsorted(self.least_p, p_value + _ROUNDING, side="right"))
        return max(p_value, (as_small + 1.0) / (n + 1.0))

    def critical(self, alpha: float) -> float:
        """Return the greatest level for a single test at which the family's is `alpha`; 0 where none is so small.

        `adjusted` is above `alpha` just where p is above this.
        """
        allowed = int(alpha * (len(self.least_p) + 1.0) + _ROUNDING) - 1
        if allowed < 0:
            return 0.0
        limit = float(self.least_p[allowed]) if allowed < len(self.least_p) else 1.0
        return max(0.0, min(alpha, limit - 3.0 * _ROUNDING))


def joint_test(differences: Floats, *, n_draws: int = 10_000, seed: int = 0) -> JointTest:
    """Flip the signs of all pairs' differences together: the single-step max-T of Westfall and Young.

    `differences`, shape (n_units, n_pairs), are what each unit (a bucket, or a group of them) adds to each pair's, in
    any scale. The tests are two-sided sign-flip tests: for one pair `adjusted` is p itself, for pairs that say the same
    it stays p, for unrelated ones it nears Bonferroni's.

    Westfall, Young (1993), "Resampling-based multiple testing", section 2.5.
    """
    rng = np.random.default_rng(seed)
    norms = np.sqrt((differences**2).sum(axis=0))
    scaled = differences[:, norms > 0.0] / norms[norms > 0.0]
    units, counts = np.unique(scaled, axis=0, return_counts=True)
    if not scaled.shape[1]:
        return JointTest(np.ones(n_draws))
    if len(units) > _MOST_DRAWN:
        values, vectors = np.linalg.eigh(scaled.T @ scaled)
        drawn = rng.standard_normal((n_draws, len(values))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    else:
        chunk = max(1, _CELLS_AT_ONCE // len(units))
        sizes = [min(chunk, n_draws - start) for start in range(0, n_draws, chunk)]
        drawn = np.concatenate([(2.0 * rng.binomial(counts, 0.5, (s, len(units))) - counts) @ units for s in sizes])
    statistics = np.round(np.abs(drawn), 9)  # equal sums are ties
    ranked = np.sort(statistics, axis=0)
    p_values = [
        (n_draws - np.searchsorted(column, of_draws, side="left")) / n_draws
        for column, of_draws in zip(ranked.T, statistics.T, strict=True)
    ]
    return JointTest(np.sort(np.min(p_values, axis=0)))


@dataclass(frozen=True)
class Standing(Record):
    """One model among several, by one measure."""

    measure: str
    model: str
    #: 1 plus the models that are better, and all models less those that are worse, beyond chance for all pairs
    #: together: the true rank lies between them with the confidence level (Klein, Wright, Wieczorek 2020).
    rank_low: int
    rank_high: int
    letters: str  # models with a letter in common do not differ beyond chance


def standings(
    measure: str, models: Sequence[str], better: Mapping[tuple[str, str], bool], differ: Mapping[tuple[str, str], bool]
) -> list[Standing]:
    """Rank models, named in the order in which letters are given, the best first, by their pairs' tests.

    Of a pair, once: whether the first is the `better` one, by point values, and whether the two `differ` beyond chance,
    corrected for all pairs. Klein, Wright, Wieczorek (2020), "A joint confidence region for an overall ranking of
    populations", JRSS C 69.
    """
    letters = compact_letters(models, [pair for pair, apart in differ.items() if apart])
    low, high = dict.fromkeys(models, 1), dict.fromkeys(models, len(models))
    for pair, apart in differ.items():
        if apart:
            winner, loser = pair if better[pair] else pair[::-1]
            low[loser] += 1
            high[winner] -= 1
    return [Standing(measure, model, low[model], high[model], letters[model]) for model in models]


def compact_letters(models: Sequence[str], different: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return letters for models such that two share one just where they do not differ (insert and absorb).

    Piepho (2004), "An algorithm for a letter-based representation of all-pairwise comparisons", JCGS 13.

    >>> compact_letters(["a", "b", "c"], [("a", "c")])
    {'a': 'a', 'b': 'ab', 'c': 'b'}
    """
    columns: list[frozenset[str]] = [frozenset(models)]
    for one, other in different:
        split: list[frozenset[str]] = []
        for column in columns:
            parts = [column - {one}, column - {other}] if {one, other} <= column else [column]
            split += [part for part in parts if part not in split]
        columns = [column for column in split if not any(column < larger for larger in split)]
    place = {model: i for i, model in enumerate(models)}
    columns.sort(key=lambda column: sorted(place[model] for model in column))
    return {model: "".join(_letter(i) for i, column in enumerate(columns) if model in column) for model in models}


def _letter(i: int) -> str:
    """Return a, ..., z, a1, ..., z1, a2, ..."""
    return chr(ord("a") + i % 26) + (str(i // 26) if i >= 26 else "")
