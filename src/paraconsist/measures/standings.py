"""Several models at once: p-values and intervals that hold for all pairs together, groups that do not differ, ranks.

P-values of many tests are corrected (`corrected_p_values`), and models that are compared by accuracy and consistency
are set in a Pareto table (`pareto_table`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_choice, check_fraction, input_error
from paraconsist.measures.array_types import Floats, Integers, Mask
from paraconsist.measures.buckets import check_rows, check_unmasked, rectangular
from paraconsist.measures.difference_tests import rejects
from paraconsist.measures.intervals import sums_by_group
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
    any scale. The tests are two-sided sign-flip tests: for one pair `adjusted` is p itself, for identical pairs
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
    counted: Mask | None = None
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
        sqrt(sum d^2), which rises with the paired t: the studentized test too. A pair that differs by the same in all
        units shows the flips no spread; its p is at least that of `boundary_interval`. Where all units count for every
        model, all pairs' spreads are one product of matrices, and a draw is flipped once for all models: 4,950 pairs
        take as long as 30 of `joint_test`.
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
        mean = np.abs(sums) / len(each)
        is_flat = len(each) * mean**2 >= (1.0 - _ROUNDING) * squares
        at_boundary = np.where(is_flat, 2.0 * np.maximum(1.0 - mean, 0.0) ** len(each), 0.0)
        return one, two, sums, np.maximum(p_values, np.minimum(at_boundary, 1.0))


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
    # a, ..., z, a1, ..., z1, a2, ...
    letters = [chr(ord("a") + i % 26) + (str(i // 26) if i >= 26 else "") for i in range(len(columns))]
    return {m: "".join(sign for sign, column in zip(letters, columns, strict=True) if m in column) for m in models}


Correction: TypeAlias = Literal["bonferroni", "holm"]


@dataclass(frozen=True)
class MultipleTest:
    """Corrected p-values of a family of M tests; arrays have shape (M,)."""

    adjusted: Floats  # corrected p-values, at most 1; a test is rejected where this is below `alpha`
    rejected: Mask  # which of the M hypotheses are rejected
    reject: bool  # the decision for the family: at least one rejected. The same under both corrections
    p_value: float  # the family's: the smallest adjusted one, min(1, M min p)
    alpha: float
    correction: Correction


def correct_p_values(
    p_values: npt.ArrayLike, *, alpha: float = 0.05, correction: Correction = "bonferroni"
) -> MultipleTest:
    """Decide a family of M tests, one p a run, so that any false rejection has probability at most `alpha`.

    The paper rejects the family (the model is not invariant) if any of the M p-values is below alpha / M (Bonferroni).
    Holm's step-down correction takes the same decision for the family and rejects at least the same single runs. The
    correction runs over exactly the p-values given: give all runs that the decision is about.

    >>> family = correct_p_values([0.01, 0.02, 0.04], correction="holm")
    >>> family.rejected.tolist(), family.reject, family.p_value
    ([True, True, True], True, 0.03)
    >>> correct_p_values([0.01, 0.02, 0.04]).rejected.tolist()
    [True, False, False]
    """
    p = _numbers("correct_p_values", "p_values", p_values)
    check_rows("correct_p_values", "p_values", "lie between 0 and 1", p, ~((p >= 0) & (p <= 1)))
    level = check_fraction("correct_p_values", "alpha", alpha)
    check_choice("correct_p_values", "correction", correction, get_args(Correction))
    adjusted = adjusted_p_values(p, correction)
    rejected = adjusted < level
    return MultipleTest(adjusted, rejected, bool(rejected.any()), float(adjusted.min()), level, correction)


def adjusted_p_values(p: Floats, correction: str) -> Floats:
    """Return p-values corrected for there being several (Holm, Bonferroni, Benjamini and Hochberg), at most 1."""
    if correction == "bonferroni":
        return np.minimum(1.0, p * p.size)
    order = np.argsort(p, kind="stable")
    rank = np.arange(1, p.size + 1)
    if correction == "holm":
        stepped = np.maximum.accumulate(p[order] * rank[::-1])
    else:
        stepped = np.minimum.accumulate((p[order] * p.size / rank)[::-1])[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, stepped)
    return adjusted


def too_few_resamples(n_resamples: int, n_tests: int, alpha: float, *, tails: int = 2) -> bool:
    """Return whether S resamples are too few for a p above 0 to be rejected: 2 / (S + 1) >= alpha / M.

    `tails` is 1 for a statistic without a sign (McNemar's).

    >>> too_few_resamples(1000, 35, 0.05), too_few_resamples(10_000, 35, 0.05)
    (True, False)
    """
    return tails / (n_resamples + 1) >= alpha / n_tests


def signal_to_noise(accuracies: npt.ArrayLike) -> float:
    """Signal-to-noise ratio of the accuracies of several runs, shape (n_runs,), in any one unit (equation 15).

    How steady the accuracy on the original test set is over trainings: the mean over the population standard deviation,
    over all runs at all rates of transformed training rows. Leave no run out: the published figures replace 70 of 175
    runs of three models by later attempts; with the first attempts their 10.7 to 16.7 become 2.5 to 3.4. In [0, inf),
    higher is steadier; nan where it is undefined: one run, or no variation at all.

    >>> print(f"{signal_to_noise([0.8, 0.9]):.1f}")
    17.0
    """
    values = _numbers("signal_to_noise", "accuracies", accuracies)
    spread = float(values.std())
    # equal values may leave a spread of rounding size
    if values.size < 2 or np.ptp(values) == 0:
        return float("nan")
    return float(values.mean()) / spread


def _numbers(function: str, name: str, values: Any) -> Floats:
    check_unmasked(function, name, values)
    array = rectangular(values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "fiu":
        raise input_error(function, name, "be a list of at least one number", got=values)
    check_rows(function, name, "be finite", array, ~np.isfinite(array))
    return array.astype(np.float64)


CORRECTIONS = ("holm", "bonferroni", "benjamini_hochberg", "none")
"""Corrections for testing several pairs of models: ``"none"`` leaves p as it is."""


def corrected_p_values(p_values: Sequence[float], correction: str = "holm") -> list[float]:
    """Return p-values corrected for their number; undefined ones (nan) stay nan and are not counted.

    The p-values are those of the whole family: every pair of models that is compared. Holm's and Bonferroni's
    correction bound the chance of any false claim, Benjamini and Hochberg's (1995) the expected share of false claims
    among the claims made, for tests that are independent or positively dependent.

    >>> corrected_p_values([0.01, 0.04, float("nan")])
    [0.02, 0.04, nan]
    """
    check_choice("corrected_p_values", "correction", correction, CORRECTIONS)
    check_unmasked("corrected_p_values", "p_values", p_values)
    values = np.array(p_values, dtype=np.float64)
    defined = np.isfinite(values)
    check_rows("corrected_p_values", "p_values", "lie between 0 and 1", values, (values < 0.0) | (values > 1.0))
    if correction != "none" and defined.any():
        values[defined] = adjusted_p_values(values[defined], correction)
    return list(values.tolist())


def corrected_margin_p_values(p_values: Floats, correction: str = "holm") -> Floats:
    """Return p-values of non-inferiority of both models of m pairs, shape (m, 2), corrected for the number of pairs.

    Of the two hypotheses of a pair (the first, the second model is worse by the margin or more) only one can be true:
    of all 2 m at most m are, and of one pair there is nothing to correct.

    >>> corrected_margin_p_values(np.array([[0.01, 0.99], [0.02, 0.9], [0.5, 0.015]])).round(3).tolist()
    [[0.03, 1.0], [0.06, 1.0], [1.0, 0.045]]
    """
    if correction == "none" or not p_values.size:
        return p_values
    if correction == "bonferroni":
        return np.minimum(1.0, p_values * len(p_values))
    if correction == "benjamini_hochberg":
        adjusted = adjusted_p_values(p_values.ravel(), correction) / 2.0
        return np.maximum(p_values, adjusted.reshape(p_values.shape))
    order = np.argsort(p_values, axis=None, kind="stable")
    last = {pair: step for step, pair in enumerate((order // 2).tolist())}
    ends = np.sort(list(last.values()))
    n_left = len(p_values) - np.searchsorted(ends, np.arange(p_values.size))  # pairs that are not settled
    stepped = np.maximum.accumulate(p_values.ravel()[order] * n_left)
    adjusted = np.empty(p_values.size)
    adjusted[order] = np.minimum(1.0, stepped)
    return adjusted.reshape(p_values.shape)


class PairTest(NamedTuple):
    """The tests of a pair: the first model's value less the second's, p, and p corrected for all pairs."""

    accuracy: float
    accuracy_p: float
    accuracy_corrected: float
    consistency: float
    consistency_p: float
    consistency_corrected: float

    def reversed(self) -> PairTest:
        """Return the test of the second model against the first."""
        return self._replace(accuracy=-self.accuracy, consistency=-self.consistency)


@dataclass(frozen=True)
class ParetoRow(Record):
    """One model's place among others that are both accurate and consistent."""

    model: str
    accuracy: float
    consistency: float
    #: Models that are better in one beyond chance, corrected for all pairs and both, and not worse in the other beyond
    #: chance, uncorrected: there is no reason to take this one. Empty on the Pareto front.
    dominated_by: list[str]
    #: Models that are less accurate and more consistent, both beyond chance: this one's accuracy was bought with
    #: consistency.
    less_consistent_than_worse: list[str]
    untested: list[str]  # models that this one was not compared with


def pareto_table(
    accuracy: Mapping[str, float],
    consistency: Mapping[str, float],
    tests: Mapping[tuple[str, str], PairTest],
    *,
    alpha: float = 0.05,
) -> list[ParetoRow]:
    """Set accuracy against consistency, the most accurate model first.

    Both are over the same buckets, by model; higher is better. `tests` are every pair that was compared, once;
    undefined p-values show nothing.

    >>> tests = {
    ...     ("a", "b"): PairTest(0.1, 0.001, 0.002, -0.1, 0.02, 0.02),
    ...     ("a", "c"): PairTest(0.2, 0.0001, 0.0002, 0.0, 1.0, 1.0),
    ... }
    >>> for row in pareto_table({"a": 0.9, "b": 0.8, "c": 0.7}, {"a": 0.75, "b": 0.85, "c": 0.75}, tests):
    ...     print(row.model, row.dominated_by, row.less_consistent_than_worse, row.untested)
    a [] ['b'] []
    b [] [] ['c']
    c ['a'] [] ['b']
    """
    if list(accuracy) != list(consistency):
        raise input_error("pareto_table", "consistency", "name the models of `accuracy`", got=list(consistency))
    both = {**tests, **{(two, one): test.reversed() for (one, two), test in tests.items()}}
    rows = []
    for name in accuracy:
        others = {other: both[other, name] for other in accuracy if (other, name) in both}
        better = [other for other, test in others.items() if _beats(test, alpha)]
        bought = [
            other
            for other, t in others.items()
            if t.accuracy < 0.0 < t.consistency
            and rejects(max(t.accuracy_corrected, t.consistency_corrected), 1.0 - alpha)
        ]
        untested = [other for other in accuracy if other not in (name, *others)]
        rows.append(ParetoRow(name, float(accuracy[name]), float(consistency[name]), better, bought, untested))
    return sorted(rows, key=lambda row: -row.accuracy if np.isfinite(row.accuracy) else np.inf)


def _beats(test: PairTest, alpha: float) -> bool:
    """Return whether the first model is better in one beyond chance, and not worse in the other."""
    axes = (test[:3], test[3:])
    better = [difference > 0.0 and rejects(corrected, 1.0 - alpha) for difference, _, corrected in axes]
    worse = [difference < 0.0 and rejects(p, 1.0 - alpha) for difference, p, _ in axes]
    return any(better) and not any(worse)
