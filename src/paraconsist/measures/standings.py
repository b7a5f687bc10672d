"""Several models at once: p-values and intervals that hold for all pairs together, groups that do not differ, ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.measures._validation import Integers
from paraconsist.measures.resampling import Floats, sums_by_group
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
    norms = np.sqrt((differences**2).sum(axis=0))
    scaled = differences[:, norms > 0.0] / norms[norms > 0.0]
    if not scaled.shape[1]:
        return JointTest(np.ones(n_draws))
    drawn = np.concatenate(list(_signed_sums(scaled, n_draws, seed)))
    statistics = np.round(np.abs(drawn), 9)  # equal sums are ties
    ranked = np.sort(statistics, axis=0)
    p_values = [
        (n_draws - np.searchsorted(column, of_draws, side="left")) / n_draws
        for column, of_draws in zip(ranked.T, statistics.T, strict=True)
    ]
    return JointTest(np.sort(np.min(p_values, axis=0)))


@dataclass(frozen=True)
class UnitValues:
    """What each of n units (a bucket, or a group of them) adds to the sums of m models."""

    values: Floats  # shape (n, m)
    #: shape (n, m): which units count for a model, where two are compared on those that count for both
    counted: npt.NDArray[np.bool_] | None = None
    groups: Integers | None = None  # shape (n,): codes of what is flipped together

    def differences(self, one: Any, two: Any) -> Floats:
        """Return what each unit adds to pairs' differences, shape (n_units, p); a pair is two places of models."""
        each: Floats = self.values[:, one] - self.values[:, two]
        if self.counted is not None:
            each *= self.counted[:, one] & self.counted[:, two]
        return each if self.groups is None else sums_by_group(each, self.groups)

    def pair_tests(self, *, n_draws: int = 10_000, seed: int = 0) -> tuple[Any, Any, Floats, Floats]:
        """Test every pair of models: two columns of places, the pairs' differences (sums), and their p-values.

        These hold for all pairs together: the single-step max-T of joint sign flips, as in `joint_test`, of |sum d| /
        sqrt(sum d^2), which rises with the paired t. Where all units count for every model, all pairs' spreads are one
        product of matrices, and a draw is flipped once for all models: 4,950 pairs take as long as 30 of `joint_test`.
        """
        one, two = np.triu_indices(self.values.shape[1], 1)
        if self.counted is None:
            each = self.values if self.groups is None else sums_by_group(self.values, self.groups)
            gram, total = each.T @ each, each.sum(axis=0)
            squares, sums = np.diag(gram)[one] + np.diag(gram)[two] - 2.0 * gram[one, two], total[one] - total[two]
        else:
            each = self.differences(one, two)
            squares, sums = (each**2).sum(axis=0), each.sum(axis=0)
        apart = np.flatnonzero(squares > _ROUNDING)
        norms, first, second = np.sqrt(squares[apart]), one[apart], two[apart]
        greatest = []
        for drawn in _signed_sums(each, n_draws, seed, width=len(one)):
            of_pairs = drawn[:, first] - drawn[:, second] if self.counted is None else drawn[:, apart]
            greatest.append((np.abs(of_pairs) / norms).max(axis=1, initial=0.0))
        statistics = np.zeros(len(one))
        statistics[apart] = np.round(np.abs(sums[apart]) / norms, 9)
        ranked = np.sort(np.round(np.concatenate(greatest), 9))
        as_large = n_draws - np.searchsorted(ranked, statistics, side="left")
        p_values: Floats = np.divide(as_large + 1.0, n_draws + 1.0, dtype=np.float64)
        return one, two, sums, p_values


def _signed_sums(columns: Floats, n_draws: int, seed: int, width: int = 0) -> Iterator[Floats]:
    """Yield the columns' sums under joint random signs of their rows, shape (some, p), `n_draws` in all.

    Of many distinct rows normal ones with their covariances. A part has as many as fit `width` columns, too.
    """
    rng = np.random.default_rng(seed)
    units, counts = np.unique(columns, axis=0, return_counts=True)
    chunk = max(1, _CELLS_AT_ONCE // max(len(units) if len(units) <= _MOST_DRAWN else 1, width))
    sizes = [min(chunk, n_draws - start) for start in range(0, n_draws, chunk)]
    if len(units) > _MOST_DRAWN:
        values, vectors = np.linalg.eigh(columns.T @ columns)
        for size in sizes:
            yield rng.standard_normal((size, len(values))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    else:
        for size in sizes:
            yield (2.0 * rng.binomial(counts, 0.5, (size, len(units))) - counts) @ units


@dataclass(frozen=True)
class Standing(Record):
    """One model among several, by one measure."""

    measure: str
    model: str
    #: 1 plus the models that are better, and all models less those that are worse, beyond chance for all pairs
    #: together: all models' true ranks lie between theirs with the confidence level.
    rank_low: int
    rank_high: int
    letters: str  # models with a letter in common do not differ beyond chance


def standings(
    measure: str, models: Sequence[str], better: Mapping[tuple[str, str], bool], differ: Mapping[tuple[str, str], bool]
) -> list[Standing]:
    """Rank models by their pairs' tests, the one first that is better than the most others.

    Of a pair, once: whether the first is the `better` one, by point values, and whether the two `differ` beyond chance,
    corrected for all pairs. Klein, Wright, Wieczorek (2020), "A joint confidence region for an overall ranking of
    populations", JRSS C 69; Mogstad, Romano, Shaikh, Wilhelm (2024), "Inference for ranks", Review of Economic Studies
    91.
    """
    wins = Counter(pair[0] if first else pair[1] for pair, first in better.items())
    models = sorted(models, key=lambda model: -wins[model])
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
