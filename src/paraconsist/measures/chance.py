"""Chance: what measures would give if the model's own answers were shuffled over the texts.

A shuffle preserves the frequency of each label and removes every relation between text and answer: it is what this
model would get if the wording decided everything. Every rule that answers can break (`paraconsist.measures.rules`) has
an expected share of breaches over all shuffles, in closed form, and with it one scale for all measures,

    chance-corrected consistency = 1 - (share that breaks the rule) / (that share over all shuffles)

1: no wording changes anything. 0: answers change as often as if the wording decided everything. Below 0: more often. If
texts must be answered alike, in pairs or in buckets of one size, it is Krippendorff's alpha of the answers. A constant
answer breaks none of these rules, shuffled or not: 0/0, undefined. (It is 0 on negations, where it breaks every rule.)
It looks at answers and not at whether they are right, because the correctness of a constant answer is as stable as that
of a perfect model; what it would be of correctness is 1 - PVAP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from paraconsist.measures.array_types import Floats, Integers, Mask, Whole
from paraconsist.measures.buckets import BucketCounts, LabelPool, partition_integers, same_answer_rate
from paraconsist.measures.intervals import (
    NO_SPREAD,
    Dyads,
    Units,
    boundary_interval,
    distinct,
    group_units,
    linearised_errors,
    ratio_interval,
    too_few,
)

_FEWEST = 8  # effective units that an interval needs


@dataclass(frozen=True)
class ChanceLevel:
    """The share of rows that break a rule, and the expected share if the answers were shuffled."""

    #: The two shares, in [0, 1]; nan if no row is subject to the rule, or there are no answers to shuffle.
    broken: float
    shuffled: float
    #: What each distinct row or bucket adds to the number of these, to the breaches, and to the breaches after a
    #: shuffle (linearised: a row's own answer changes the label rates), shape (p, 3).
    sums: Floats
    pattern: Integers  # which distinct one each row or bucket is, shape (n,)

    @property
    def corrected(self) -> float:
        """The chance-corrected consistency, at most 1; nan where shuffled answers break no rule."""
        return 1.0 - self.broken / self.shuffled if self.shuffled > NO_SPREAD else float("nan")

    @classmethod
    def undefined(cls, n: int) -> ChanceLevel:
        """Return the level of n rows or buckets that are not subject to any rule."""
        return cls(float("nan"), float("nan"), np.zeros((1, 3)), np.zeros(n, dtype=np.intp))

    def units(self, groups: Integers | None = None) -> Units:
        """Return the rows or buckets that are subject to the rule, or their groups, as units to resample."""
        if not len(self.pattern):
            return Units.of(self.sums[:0], [])
        units = group_units(self.sums, self.pattern, groups)
        counted = units.sums[:, 0] > 0.0
        return Units.of(units.sums[counted], units.multiplicity[counted])

    def interval(
        self, groups: Integers | Dyads | None = None, confidence_level: float = 0.95
    ) -> tuple[tuple[float, float], float, int]:
        """Return an interval for `corrected`, its cluster-robust standard error, and the number of independent units.

        `groups`, shape (n,), are those of each row or bucket. Above 1/2 a t interval for the logarithm of the ratio of
        the two shares: it ends below 1. Below, Fieller's for that ratio, since the two shares vary together, at
        Satterthwaite's degrees of freedom; the upper end with half a unit more that breaks no rule, and at 0 and below
        with a whole one (no unit may hold the rarer answer twice: half a one held 87 to 92 %). Where all rows (buckets,
        groups) are alike it is a Clopper-Pearson type bound. nan for too few units, and where the answers
        that are not the commonest are held by less than 8 (Kish's effective number): nearly constant answers. Rows that
        share members (`Dyads`) have the first of the three throughout.
        """
        none, nan = (float("nan"), float("nan")), float("nan")
        units = self.units(None if isinstance(groups, Dyads) else groups)
        n = groups.n_members if isinstance(groups, Dyads) else units.n
        if np.isnan(self.corrected) or units.n < 2:
            return none, nan, n
        ratio, freedom, degrees = self.broken / self.shuffled, units.effective_n - 1.0, 1.0
        if isinstance(groups, Dyads):
            error, freedom = groups.standard_error((self.sums[:, 1] - ratio * self.sums[:, 2])[self.pattern])
            error /= self.shuffled
        else:
            linearised = linearised_errors(units, lambda sums: 1.0 - sums[..., 1:2] / sums[..., 2:3])
            error, degrees = float(linearised.standard_error[0]), float(linearised.degrees_of_freedom[0])
        weight = units.multiplicity
        size, broken, shuffled = units.sums.T
        effective = (weight @ shuffled) ** 2 / (weight @ shuffled**2)
        if np.isnan(error) or too_few(units) or effective < _FEWEST:
            return none, error, n
        if error <= NO_SPREAD or ratio == 0.0:
            n_apart = groups.n_apart if isinstance(groups, Dyads) else units.n
            ends = boundary_interval(self.broken, 0.0, 1.0, n_apart, confidence_level)
            return (1.0 - ends[1] / self.shuffled, 1.0 - ends[0] / self.shuffled), error, n
        tail = (1.0 + confidence_level) / 2.0
        if ratio < 0.5 or isinstance(groups, Dyads):
            step = float(np.exp(stdtrit(freedom, tail) * error / ratio))
            ends = ratio / step, ratio * step
        else:
            quantile = float(stdtrit(min(freedom, degrees), tail))
            # half a unit that breaks nothing, of the rarest answers seen: units that hold such ones may all be missing
            held = float(weight @ size) / units.n * float((shuffled / size).max())
            n_more = 0.5 if ratio < 1.0 else 1.0
            more = np.append(broken, 0.0), np.append(shuffled, held), np.append(weight, n_more)
            ends = ratio_interval(broken, shuffled, weight, quantile)
            ends = float(np.fmin(ends[0], ratio_interval(*more, quantile)[0])), ends[1]
        return (1.0 - min(ends[1], 1.0 / self.shuffled), 1.0 - max(ends[0], 0.0)), error, n


def pair_chance(
    first: Integers, second: Integers, *, must_differ: bool = False, unanswered: Mask | None = None
) -> ChanceLevel:
    """Return the chance level of n pairs of texts that must be answered alike, or differently (`must_differ`).

    Both columns of answers, codes from 0, are shuffled together, as one pool: that a text is the negated one is part of
    the text. Pairs that are `unanswered` always break the rule; they are not shuffled.

    >>> level = pair_chance(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    >>> level.broken, round(level.shuffled, 4), round(level.corrected, 4)
    (0.25, 0.5357, 0.5333)
    """
    n_labels = int(max(first.max(), second.max())) + 1
    kinds = first.astype(np.int64) * n_labels + second
    if unanswered is not None:
        kinds[unanswered] += n_labels**2
    divided = partition_integers(kinds)
    pattern, multiplicity, kind = divided.codes, divided.sizes, np.array(divided.ids_of())
    fixed, one, two = kind >= n_labels**2, kind // n_labels % n_labels, kind % n_labels
    broken, values, free = fixed.astype(np.float64), np.ones(len(kind)), ~fixed
    answers = np.concatenate([one[free], two[free]])
    counts = np.bincount(answers, np.tile(multiplicity[free], 2), n_labels).astype(np.int64)
    share = counts / max(int(counts.sum()), 1)
    if free.any():
        same = same_answer_rate(counts)
        equal, expected = (one == two)[free].astype(np.float64), same + (share[one] + share[two])[free]
        expected -= 2.0 * (share**2).sum()
        broken[free] = equal if must_differ else 1.0 - equal
        values[free] = expected if must_differ else 1.0 - expected
    return _level(broken, values, pattern, multiplicity)


def rule_chance(
    answers: Integers, rules: Integers, allowed: tuple[Integers, Integers], n_rules: int, n_labels: int
) -> ChanceLevel:
    """Return the chance level of texts whose answer must be one of those that a rule allows.

    `answers` and `rules`, shape (n,), are those of every row that a rule is about, as codes from 0; answers are
    shuffled over these rows. `allowed` holds rule and label of every label that a rule allows.

    A merged text must get the label of its parts, so each label is a rule that allows itself:

    >>> labels = np.array([0, 1])
    >>> level = rule_chance(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]), (labels, labels), 2, 2)
    >>> level.broken, round(level.shuffled, 4), round(level.corrected, 4)
    (0.25, 0.5833, 0.5714)
    """
    n = len(answers)
    if n < 2:
        return ChanceLevel.undefined(n)
    index, pattern, multiplicity = distinct(answers, rules)
    answer, rule, (of, label) = answers[index], rules[index], allowed
    by_label, by_rule = np.bincount(answers, minlength=n_labels), np.bincount(rules, minlength=n_rules)
    forbidden = n - np.bincount(of, weights=by_label[label], minlength=n_rules)  # answers that each rule forbids
    forbidding = n - np.bincount(label, weights=by_rule[of], minlength=n_labels)  # rules that forbid each label
    broken = ~np.isin(rule.astype(np.int64) * n_labels + answer, of.astype(np.int64) * n_labels + label)
    total = float(by_rule @ forbidden)
    shuffled = (total - float(multiplicity @ broken)) / (n * (n - 1.0))
    values = shuffled + (forbidden[rule] + forbidding[answer]) / n - 2.0 * total / n**2
    return _level(broken.astype(np.float64), values, pattern, multiplicity)


def _level(broken: Floats, values: Floats, pattern: Integers, multiplicity: npt.NDArray[np.intp]) -> ChanceLevel:
    n, share, shuffled = int(multiplicity.sum()), float(multiplicity @ broken), float(multiplicity @ values)
    sums = np.stack([np.ones_like(broken), broken, values], axis=1)
    return ChanceLevel(share / n, max(shuffled, 0.0) / n, sums, pattern)


def agreement_chance(counts: BucketCounts, pool: LabelPool, *, pooled: bool = False) -> ChanceLevel:
    r"""Return the chance level of two different answers in a bucket being the same, over buckets with two.

    By default each bucket counts once, as in all means over buckets. `pooled`, every bucket counts by its size, so that
    `corrected` is Krippendorff's alpha for nominal labels, with buckets as units and paraphrases as coders,

    .. math:: \alpha = 1 - \frac{\frac{1}{N} \sum_b \frac{k_b^2 - s_b}{k_b - 1}}
                               {1 - \frac{1}{N(N-1)} \sum_l N_l (N_l - 1)}

    with :math:`k_b` answers in bucket b, :math:`s_b` ordered pairs of them with the same label, and :math:`N_l` of all
    N answers with label l. For buckets of one size the two are the same.

    Krippendorff (2019), "Content Analysis", 4th edition, chapter 12. Prompt Stability Score (Barrie, Palaiologou,
    Törnberg 2024) is this alpha of a model's answers under several prompts.

    >>> counts = BucketCounts.from_counts(size=[2, 2], correct=[2, 1])  # answered a a and a b
    >>> pool = LabelPool(np.array([3, 1]), np.array([3 / 4 + 3 / 4, 3 / 4 + 1 / 4]))
    >>> agreement_chance(counts, pool, pooled=True).corrected
    0.0
    """
    if pool.size == 0:
        return ChanceLevel.undefined(len(counts))
    first, pattern, n_alike = distinct(counts.size, counts.same_label, pool.commonness.view(np.int64))
    counts, commonness = counts.take(first), pool.commonness[first]
    k = counts.size.astype(np.float64)
    paired = k >= 2.0
    weight = np.where(paired, k if pooled else 1.0, 0.0)
    differ = np.where(paired, (k**2 - counts.same_label) / np.where(paired, k * (k - 1.0), 1.0), 0.0)
    total, by_chance = float(n_alike @ weight), 1.0 - pool.same
    influence = np.where(paired, commonness - k * pool.sum_of_squares, 0.0) * (total / pool.size)
    sums = np.stack([weight, weight * differ, weight * by_chance - 2.0 * influence], axis=1)
    return ChanceLevel(float((n_alike * weight) @ differ) / total, by_chance, sums, pattern)


def consistency_chance(label_counts: Whole, gold_counts: Whole) -> float:
    """Return the unbiased P_C over all shuffles of the answers.

    Two answers that are dealt to a problem are both its gold label, or neither is. Not to be confused with the least
    P_C at an accuracy a, 1 - 2a(1-a): that is what answers get whose *correctness* is independent of the text. Counts
    by label, shape (n_labels,): of the answers in buckets with two paraphrases, and of the gold labels of these.

    With two labels it is the chance that two different answers are equal, with three it is above:

    >>> round(consistency_chance(np.array([2, 2]), np.array([1, 1])), 4)
    0.3333
    >>> round(consistency_chance(np.array([2, 2, 2]), np.array([1, 1, 1])), 4)
    0.4667
    """
    n = int(label_counts.sum())
    if n < 2:
        return float("nan")
    right = label_counts.astype(np.float64)
    same = (right * (right - 1.0) + (n - right) * (n - right - 1.0)) / (n * (n - 1.0))
    # an exact sum, so the order of the labels does not matter
    return math.fsum((gold_counts * same).tolist()) / int(gold_counts.sum())


def fooling_chance(original: Integers, items: Integers, answers: Integers, n_labels: int) -> ChanceLevel:
    """Return the chance level of items, answered right, of which one variant at least gets another answer.

    `original`, shape (n_items,), is the answer to each item's original; `items` and `answers`, shape (n_variants,), are
    the item of each variant and its answer, which are shuffled over all variants.

    Four variants of two items are answered 0, 0, 0 and 1. An item answered 0 keeps both of its own in half of all
    shuffles, one answered 1 never:

    >>> level = fooling_chance(np.array([0, 1]), np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), 2)
    >>> level.broken, level.shuffled, round(level.corrected, 4)
    (0.5, 0.75, 0.3333)
    """
    n, n_answers = len(original), len(answers)
    if n == 0 or n_answers == 0:
        return ChanceLevel.undefined(n)
    variants = np.bincount(items, minlength=n)
    kept = np.bincount(items[answers == original[items]], minlength=n)
    counts = np.bincount(answers, minlength=n_labels)
    unfooled = np.ones(n)
    for j in range(int(variants.max())):
        drawn = j < variants
        unfooled[drawn] *= np.maximum(counts[original[drawn]] - j, 0) / (n_answers - j)
    # The effect of one more answer of a label on the chance, to first order.
    share = counts / n_answers
    slopes = np.where(variants > 0, variants * share[original] ** np.maximum(variants - 1, 0), 0.0)
    worth = np.bincount(original, weights=slopes, minlength=n_labels)
    influence = np.bincount(items, weights=worth[answers], minlength=n) - variants * float(share @ worth)
    values, broken = 1.0 - unfooled - influence / n_answers, (kept < variants).astype(np.float64)
    return _level(broken, values, np.arange(n), np.ones(n, dtype=np.intp))


def fleiss_kappa(alpha: float, n: int) -> float:
    """Return Fleiss' kappa of n answers to items with equally many each, from their Krippendorff's alpha.

    Fleiss (1971), "Measuring nominal scale agreement among many raters", Psychological Bulletin 76, 378-382.
    """
    return 1.0 - (1.0 - alpha) * n / (n - 1.0)
