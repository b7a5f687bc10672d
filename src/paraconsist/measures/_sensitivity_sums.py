"""What each bucket adds to the sums that the indices of sensitivity to wording are functions of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import entr

from paraconsist.measures._estimates import Estimates
from paraconsist.measures._validation import Integers
from paraconsist.measures.buckets import BucketCounts, LabelPool, count_buckets
from paraconsist.measures.resampling import Floats, Units, design_effects, distinct, group_units


@dataclass(frozen=True)
class Answers:
    """What the indices need to know of each bucket, shape (n_buckets,), beside its counts."""

    counts: BucketCounts
    pool: LabelPool
    labels_predicted: Integers
    majority: Floats  # whether the commonest answer is right; of tied ones the share that are
    entropy: Floats  # over that of equally many answers of every label
    answer: Integers  # the one that all wordings got, -1 where they differ
    pattern: tuple[Integers, ...]  # columns whose equal rows are equal buckets

    @classmethod
    def of(cls, buckets: Integers, predictions: Integers, gold: Integers, n_labels: int) -> Answers:
        counts, pool, used = count_buckets(buckets, len(gold), predictions, gold, n_labels)
        cells, n = np.unique(buckets.astype(np.int64) * n_labels + predictions, return_counts=True)
        bucket, label = cells // n_labels, cells % n_labels
        most = np.zeros(len(gold), dtype=np.int64)
        np.maximum.at(most, bucket, n)
        is_top = n == most[bucket]
        tied = np.bincount(bucket[is_top], minlength=len(gold))
        right = np.bincount(bucket[is_top & (label == gold[bucket])], minlength=len(gold))
        entropy = np.bincount(bucket, weights=entr(n / counts.size[bucket]), minlength=len(gold))
        entropy = np.maximum(entropy, 0.0) / np.log(max(n_labels, 2))
        answer = np.full(len(gold), -1)
        whole = n == counts.size[bucket]
        answer[bucket[whole]] = label[whole]
        majority = right / tied
        pattern = (counts.size, counts.correct, counts.same_label, majority.view(np.int64), entropy.view(np.int64))
        return cls(counts, pool, used, majority, entropy, answer, pattern)


class Sums:
    """What each bucket adds to the sums that the indices are functions of, and which functions."""

    def __init__(self, counts: BucketCounts) -> None:
        self._columns: list[npt.NDArray[Any]] = [np.ones(len(counts))]
        self._ratios: dict[str, tuple[int, int]] = {}
        self._functions: list[Any] = []  # of sums, shape (..., m) to (..., q)
        self._more: dict[str, tuple[float, bool]] = {}  # what these are called: greatest value, whether a mean
        self._extra: list[Integers] = []
        self.n_units = 0

    def add(self, *columns: npt.NDArray[Any]) -> int:
        """Add columns, and return the place of the first."""
        self._columns += columns
        return len(self._columns) - len(columns)

    def mean(self, name: str, values: npt.NDArray[Any], weights: npt.NDArray[Any] | None = None) -> None:
        """Add the mean of values over all buckets, or the sum of values over that of weights."""
        self._ratios[name] = (self.add(values), 0 if weights is None else self.add(weights))

    def functions(self, function: Any, names: Mapping[str, tuple[float, bool]]) -> None:
        """Add a function of all sums, shape (..., m) to (..., q): each value's name, greatest value, whether a mean."""
        self._functions.append(function)
        self._more |= names

    def differ_by(self, column: Integers) -> None:
        """Say that buckets with other values here are other buckets."""
        self._extra.append(column)

    def place(self, name: str) -> int:
        """Return the column of the values whose mean a name is."""
        return self._ratios[name][0]

    def _values(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        tops, bottoms = (list(places) for places in zip(*self._ratios.values(), strict=True))
        more = [function(sums) for function in self._functions]
        return np.concatenate([sums[..., tops] / sums[..., bottoms], *more], axis=-1)

    def estimate(
        self, estimates: Estimates, pattern: tuple[Integers, ...], groups: Integers | None
    ) -> tuple[dict[str, Any], str]:
        """Return the values, and how their intervals, which `estimates` keeps, were made."""
        names = [*self._ratios, *self._more]
        first, code, multiplicity = distinct(*pattern, *self._extra)
        sums = np.stack([column[first] for column in self._columns], axis=1).astype(np.float64)
        buckets = Units.of(sums, multiplicity)
        units = buckets if groups is None else group_units(sums, code, groups)
        self.n_units = units.n
        ranges = [(0.0, 1.0)] * len(self._ratios) + [(0.0, high) for high, _ in self._more.values()]
        are_means = [True] * len(self._ratios) + [is_mean for _, is_mean in self._more.values()]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.clip(self._values(units.total), *np.array(ranges).T)
            bounds = estimates.intervals(units, self._values, ranges, are_means, reported=values)
            effects = design_effects(units, buckets, self._values)
        estimates.add(names, bounds, units.n, effects.tolist())
        return dict(zip(names, values.tolist(), strict=True)), bounds.method


def add_indices(sums: Sums, answers: Answers) -> None:
    """Add the means over buckets, or over their pairs of answers."""
    k, c, s = (
        column.astype(np.float64) for column in (answers.counts.size, answers.counts.correct, answers.counts.same_label)
    )
    pairs = k * (k - 1.0)
    has_pair = pairs > 0.0
    over = np.where(has_pair, pairs, 1.0)
    sums.mean("prompt_sensitivity_score", 2.0 * c * (k - c) / over, has_pair)
    sums.mean("agreement", np.where(has_pair, (s - k) / over, 0.0), has_pair)
    sums.mean("agreement_plugin", s / k**2)
    sums.mean("consistency_rate_pooled", s - k, pairs)
    sums.mean("accuracy", c, k)
    sums.mean("majority_accuracy", answers.majority)
    sums.mean("worst_case_accuracy", c == k)
    sums.mean("best_case_accuracy", c > 0)
    sums.mean("normalized_entropy", answers.entropy)
    sums.mean("unanimous_share", answers.answer >= 0)


def add_curve(sums: Sums, counts: BucketCounts) -> None:
    """Add the share of buckets that are right to at least each tenth, and what the curve is summed up by.

    Dynamic time warping to a curve that is 1 throughout pairs each of the eleven points with it once, so that the
    distance is what the points lack of 1, and that of the worst curve, [1, 0, ..., 0], is 10.
    """
    names = [f"minimum_accuracy_curve/{tenth / 10:.1f}" for tenth in range(11)]
    for tenth, name in enumerate(names):
        sums.mean(name, 10 * counts.correct >= tenth * counts.size)
    places = [sums.place(name) for name in names]
    trapezoid = np.array([0.5, *[1.0] * 9, 0.5]) / 10.0

    def areas(total: npt.NDArray[Any]) -> npt.NDArray[Any]:
        curve = total[..., places] / total[..., :1]
        aucar = curve @ trapezoid
        return np.stack([aucar, aucar * curve[..., 1:].sum(axis=-1) / 10.0], axis=-1)

    sums.functions(areas, {"aucar": (1.0, True), "core": (1.0, False)})


def add_draws(sums: Sums, counts: BucketCounts, draws: Sequence[int]) -> None:
    """Add the chance that n wordings, drawn without replacement, are all right, and that one of them is."""
    for n in draws:
        has_n = counts.size >= n
        sums.mean(f"pass_hat_n/{n}", _all_of(counts.correct, counts.size, n), has_n)
        sums.mean(
            f"pass_at_n/{n}", np.where(has_n, 1.0 - _all_of(counts.size - counts.correct, counts.size, n), 0.0), has_n
        )


def _all_of(c: Integers, k: Integers, n: int) -> Floats:
    """Return C(c, n) / C(k, n): the chance that n different ones of k are all among c of them; 0 where c < n."""
    chance = np.ones(len(c))
    for i in range(n):
        chance *= np.maximum(c - i, 0) / np.maximum(k - i, 1)
    return chance


def add_contrasts(sums: Sums, answers: Answers, buckets: Integers, predictions: Integers) -> None:
    """Add the share of buckets, of those with contrasts and two wordings, that are consistent in both ways."""
    n = len(answers.answer)
    has = (np.bincount(buckets, minlength=n) > 0) & (answers.counts.size > 1)
    same = np.bincount(buckets[predictions == answers.answer[buckets]], minlength=n) > 0
    holds = has & (answers.answer >= 0) & ~same
    sums.mean("contrast_consistency", holds, has)
    sums.differ_by(has.astype(np.int64) + holds)


def add_variants(sums: Sums, buckets: Integers, variants: Integers, right: npt.NDArray[np.bool_]) -> Floats:
    """Add what the accuracies of the variants are summed up by; return these, shape (n_variants,)."""
    n_variants, n_buckets = int(variants.max()) + 1, int(buckets.max()) + 1
    cells = buckets.astype(np.int64) * n_variants + variants
    size, correct = (
        np.bincount(cells[rows], minlength=n_buckets * n_variants).reshape(n_buckets, n_variants)
        for rows in (slice(None), right)
    )
    accuracies = correct.sum(axis=0) / size.sum(axis=0)
    first, last = sums.add(*size.T), sums.add(*correct.T)
    best, worst = int(accuracies.argmax()), int(accuracies.argmin())
    sums.differ_by(np.arange(n_buckets))

    def of_shares(total: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return of_variants(total[..., last : last + n_variants] / total[..., first : first + n_variants], best, worst)

    sums.functions(of_shares, OF_VARIANTS)
    return np.asarray(accuracies, dtype=np.float64)


#: What the accuracies of variants are summed up by: the greatest possible value, and whether it is a mean over buckets.
OF_VARIANTS = {
    **{"mean_accuracy": (1.0, True), "max_accuracy": (1.0, True), "spread": (1.0, False)},
    **{"performance_drop_rate": (1.0, False), "combined_performance_score": (1.0, False)},
    "variant_deviation": (0.5, False),
}


def of_variants(accuracies: npt.NDArray[Any], best: int, worst: int) -> npt.NDArray[Any]:
    """Return `OF_VARIANTS` of accuracies, shape (..., n_variants) to (..., 6)."""
    mean, most, least = accuracies.mean(axis=-1), accuracies[..., best], accuracies[..., worst]
    deviation = np.sqrt(((accuracies - mean[..., None]) ** 2).mean(axis=-1))
    values = [mean, most, most - least, 1.0 - least / most, most * (1.0 - (most - mean)), deviation]
    return np.stack(values, axis=-1)
