"""The numbers of buckets and of paraphrases for a study, from the variance of a measure in a pilot.

A plan promises one of two things, and both allow for the sampling error of the pilot:

* a half-width: a share `assurance` of studies of the planned size have an interval no wider. A study's own variance
  goes like a chi-square over its degrees of freedom (fewer where buckets have long tails), and so does the pilot's:
  their ratio has an F distribution, whose quantile replaces 1. Planned for the mean, half of the studies would have it.
* a power: with the pilot's variance in place of the true one, the power is a noncentral t probability, and its quantile
  replaces z + z.

Studies are taken to use t intervals on the logit scale, for differences plain ones, over buckets, or over shared
contexts, with as many degrees of freedom as there are of them less one. Korn and Graubard's intervals of small shares
are a little wider.

Sources: Beal (1989), "Sample size determination for confidence intervals on the population mean and on the difference
between two population means", Biometrics 45, 969-977 (half-widths); Julious, Owen (2006), "Sample size calculations for
clinical studies allowing for uncertainty about the variance", Pharmaceutical Statistics 5, 29-37 (power).

Over buckets of k paraphrases a measure is the mean of one U-statistic a bucket. Its kernel takes m paraphrases: whether
one is right (m = 1), whether two differ in that, or in their answers (m = 2), or the difference between two models'
kernels. Over B buckets the measure has variance V(k)/B,

    V(k) = sum over j of P_j(k) e_j - (expected value)^2,    P_j(k) = C(m, j) C(k-m, m-j) / C(k, m)

with e_j the expected product of two kernels of one bucket that share j paraphrases. Every bucket of 2m - j paraphrases
or more has an unbiased estimate of e_j, so a pilot of any sizes gives V at every k. Only e_0, of kernels that share
nothing, stays however many paraphrases there are: of two models it holds the covariance of what is hard for both, while
the others also hold what two answers to one same text have in common, which vanishes as k grows.

Buckets of one context have a covariance, the variance between contexts. It is estimated by half the mean squared
difference over the pairs of buckets in different contexts less that over pairs in one context (in which every bucket
counts once), which is unbiased for contexts of any sizes, and can be below 0; plans take it as 0 then. With n buckets
in each context it adds n - 1 times itself to V(k).

Source of the variance: Hoeffding (1948), "A class of statistics with asymptotically normal distribution", Annals of
Mathematical Statistics 19, 293-325, section 5.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from scipy.special import chdtri, comb, fdtri, nctdtrit, stdtrit

from paraconsist.errors import check_choice, check_fraction, check_whole, input_error, plural
from paraconsist.measures.array_types import Floats, Integers, Mask
from paraconsist.measures.bucket_model import BucketModel, fit_bucket_model
from paraconsist.measures.buckets import BucketCounts, partition
from paraconsist.measures.intervals import FEW_UNITS, NO_SPREAD, boundary_interval, on_logit_scale, sums_by_group
from paraconsist.measures.results import Record

MEASURES = ("paraphrastic_consistency_unbiased", "vap_unbiased", "accuracy", "inconsistency")
"""Measures of plans; the last is a share of rows, such as answers that differ from the original's."""

WORDING_CHANGE = "wording_change"  # planned from pairs of answers, not from counts
_OF_PAIRS = {MEASURES[0]: 1.0, MEASURES[1]: 0.5}  # the kernel where two paraphrases differ
_FEW_BUCKETS = 30
_HAVE_CONTEXTS = "be given only for buckets in shared contexts"
_NAME_GROUP = "Name their column with `group`."
_MOST_DEGREES = 1e6
_TINY = 1e-300


@dataclass(frozen=True)
class Pilot(Record):
    """The variance of a measure, or of its difference between two models, estimated from a pilot."""

    measure: str  # one of `MEASURES`, or ``wording_change``
    value: float  # the pilot's estimate (mean over buckets); for two models first minus second
    #: V(k) for infinitely many paraphrases, without what shared contexts add; nan if no bucket has the 2m
    #: paraphrases that it requires.
    between_variance: float
    #: Components of the variance of one kernel, whose sum it is: between kernels of a bucket, between buckets of a
    #: context, and between contexts (0 without groups). Unbiased, so they can be below 0; the first two are nan if no
    #: bucket has 2m paraphrases.
    wording_variance: float
    problem_variance: float
    context_variance: float
    buckets_per_context: float  # in the context of a bucket, on average over buckets; 1 without groups
    products: list[float]  # e_0 to e_m (see the module)
    squared_value: float  # Unbiased squared mean of the buckets' statistics, which V subtracts from the products.
    kurtosis: float  # Of the independent units (buckets or contexts) at the pilot's own sizes: 3 for normal ones.
    n_buckets: int  # of the pilot that were used
    n_clusters: int  # the independent units that they form
    warnings: tuple[str, ...]
    #: Of the estimates `context_variance`, `squared_value`, e_0, ..., e_m, shape (m + 3, m + 3); not in `to_dict`.
    covariance: Floats = field(repr=False)
    #: Of the buckets used; None for two models, shared contexts and wording changes; not in `to_dict`.
    counts: BucketCounts | None = field(repr=False)
    paraphrases: int  # of the pilot's buckets, on average
    per_context: float | None = None  # buckets of each context of the study; None: as in the pilot

    @property
    def has_contexts(self) -> bool:
        return self.n_clusters < self.n_buckets

    def in_contexts_of(self, n: float) -> Pilot:
        """Return the pilot for studies with n buckets in each context; InputError if the pilot has no contexts."""
        if not self.has_contexts:
            raise input_error("plan", "buckets_per_context", _HAVE_CONTEXTS, got=n, remedy=_NAME_GROUP)
        return replace(self, per_context=n)

    @property
    def context_covariance(self) -> float:
        """What shared contexts add to V; their variance is taken as 0 where it is estimated below."""
        return max(self.context_variance, 0.0) * ((self.per_context or self.buckets_per_context) - 1.0)

    @property
    def lasting_variance(self) -> float:
        """V(k) for infinitely many paraphrases, as far as it is known, including shared contexts."""
        return self.context_covariance + (0.0 if math.isnan(self.between_variance) else self.between_variance)

    def variance(self, k: int) -> float:
        """Return V(k): the variance of the measure is this over the number of buckets."""
        return float(self._estimates(np.array([k]))[0][0])

    def degrees_of_freedom(self, k: int) -> float:
        """Return the degrees of freedom of this pilot's estimate of V(k): 2 V^2 over its variance."""
        return float(self._estimates(np.array([k]))[1][0])

    def bound(self, k: int) -> tuple[float, float]:
        """Return a variance that V(k) does not exceed and the degrees of freedom of its estimate.

        They are those of k paraphrases, or of fewer, with which V is larger, if the pilot estimates these better: the
        pair with the least upper limit at 80 %. Otherwise a pilot of few paraphrases could require millions of buckets
        of many.
        """
        variance, degrees = self._estimates(np.arange(len(self.products) - 1, k + 1))
        best = int(np.argmin(variance * degrees / np.maximum(chdtri(degrees, 0.8), _TINY)))
        return float(variance[best]), float(degrees[best])

    def _estimates(self, k: Integers) -> tuple[Floats, Floats]:
        """Return V and its degrees of freedom for several k."""
        m = len(self.products) - 1
        j, n = np.arange(m + 1), k[:, np.newaxis]
        shared = comb(m, j) * comb(n - m, m - j) / comb(n, m)  # probability that two draws of m share j
        variance = np.maximum(shared @ self.products - self.squared_value, 0.0) + self.context_covariance
        others = (self.per_context or self.buckets_per_context) - 1.0
        gradient = np.column_stack([np.full(len(k), others), -np.ones(len(k)), shared])
        error = np.einsum("ki,ij,kj->k", gradient, self.covariance, gradient)
        whole = 2.0 * variance**2
        return variance, whole / np.maximum(error, whole / _MOST_DEGREES + _TINY)

    def study_degrees_of_freedom(self, n_buckets: int, k: int) -> float:
        """Return the degrees of freedom of a study's own estimate of V(k).

        They go by the kurtosis of buckets of k under a beta-binomial model of the pilot's (`bucket_model`), or by the
        pilot's own kurtosis where there are two models or shared contexts.
        """
        kurtosis = self.kurtosis
        if self._model is not None and not math.isnan(self._model.correlation):
            statistic = _statistic(self.measure, np.full(k + 1, float(k)), np.arange(k + 1.0))
            kurtosis = _kurtosis(statistic, self._model.probabilities(k))
        n = self.clusters(n_buckets)
        # 2 V^2 / Var(S^2) of the variance S^2 of n independent values: n - 1 for normal ones
        return min(2.0 * n / max(kurtosis - 1.0 + 2.0 / (n - 1.0), 2.0 * n / _MOST_DEGREES), _MOST_DEGREES)

    @cached_property
    def _model(self) -> BucketModel | None:
        return None if self.counts is None else fit_bucket_model(self.counts)

    @property
    def per_cluster(self) -> float:
        """Buckets of each independent unit of a study."""
        return self.per_context or self.n_buckets / self.n_clusters

    def clusters(self, n_buckets: float) -> float:
        """Return the number of independent units of n buckets; at least 2."""
        return max(2.0, n_buckets / self.per_cluster)

    def t(self, n_buckets: float, confidence_level: float) -> float:
        return float(stdtrit(self.clusters(n_buckets) - 1.0, (1.0 + confidence_level) / 2.0))


def pilot_of(counts: BucketCounts, measure: str = MEASURES[0], *, groups: Integers | None = None) -> Pilot:
    """Return how a measure (one of `MEASURES`) varies, from a pilot of one model.

    `counts` are size and number of right (for ``inconsistency`` of violating) rows of each bucket; sizes may differ, if
    they have nothing to do with how hard a bucket is. `groups`, shape (n_buckets,), are shared contexts, as codes.
    InputError if fewer than two buckets have two paraphrases.

    >>> pilot = pilot_of(BucketCounts.from_counts([4, 4, 4, 4], [4, 3, 2, 0]))
    >>> round(pilot.value, 4), [round(pilot.variance(k), 4) for k in (2, 4, 100)]
    (0.7083, [0.2361, 0.1146, 0.0903])
    """
    check_choice("plan", "measure", measure, MEASURES)
    used = np.flatnonzero(counts.size >= 2)
    if len(used) < 2:
        must, few = "have at least two buckets with two paraphrases", f"{len(used)} of {len(counts)} buckets"
        remedy = "Without them the difference between paraphrases is unknown."
        raise input_error("plan", "pilot", must, got=few, remedy=remedy)
    k, right = counts.size[used].astype(np.float64), counts.correct[used].astype(np.float64)
    warnings = []
    if len(used) < len(counts):
        warnings.append(f"{len(counts) - len(used)} of {len(counts)} buckets have one paraphrase and are excluded")
    statistic, products = _statistic(measure, k, right), _own_products(measure, k, right)
    mean = float(statistic.mean())
    value = 1.0 - mean if measure == MEASURES[0] else mean
    return _pilot(measure, value, statistic, products, groups, used, warnings, counts.take(used), round(k.mean()))


def pilot_of_difference(
    first: BucketCounts,
    second: BucketCounts,
    measure: str = MEASURES[0],
    *,
    both: Integers | None = None,
    groups: Integers | None = None,
) -> Pilot:
    """Return how the difference of a measure between two models varies, from their pilots on the same buckets.

    The counts are in one order. `both`, shape (n_buckets,), is how many rows of each bucket are right (violating) for
    both models, where both answered the same texts. Without it their answers are independent within a bucket, as of
    different texts: cautious for a study of the same texts. The rest as for `pilot_of`. InputError if fewer than three
    buckets have two paraphrases for both models.
    """
    check_choice("plan", "measure", measure, MEASURES)
    used = np.flatnonzero((first.size >= 2) & (second.size >= 2))
    if len(used) < 3:
        must = "share at least three buckets of two paraphrases with `pilot`"
        raise input_error("plan", "against", must, got=len(used))
    one, two = ((c.size[used].astype(np.float64), c.correct[used].astype(np.float64)) for c in (first, second))
    values = _statistic(measure, *one), _statistic(measure, *two)
    if both is None:
        crossed = (values[0] * values[1])[:, np.newaxis]
    else:
        crossed = _products(measure, one[0], one[1], two[1], both[used].astype(np.float64))
    products = _own_products(measure, *one) + _own_products(measure, *two) - 2.0 * crossed
    statistic = values[0] - values[1]
    value = float(statistic.mean()) * (-1.0 if measure == MEASURES[0] else 1.0)
    return _pilot(measure, value, statistic, products, groups, used, [], None, round(one[0].mean()))


def pilot_of_changes(
    differ: Sequence[Mask],
    other: Sequence[Mask] | None = None,
    *,
    same_texts: bool = True,
    groups: Integers | None = None,
) -> Pilot:
    """Return how the wording change varies in a pilot, or its difference between two models.

    `differ` are symmetric matrices, shape (k, k), that say which pairs of the k wordings of a bucket get different
    answers; sizes may differ as for `pilot_of`. `other` are those of the second model for the same buckets; with
    `same_texts` also for the same wordings, in one order. `groups` as for `pilot_of`. InputError if fewer than two
    buckets (three for two models) have two wordings.

    >>> changed, kept = ~np.eye(2, dtype=bool), np.zeros((2, 2), dtype=bool)
    >>> pilot = pilot_of_changes([changed, kept, kept, kept])
    >>> pilot.value, round(pilot.variance(2), 4)
    (0.25, 0.25)
    """
    pairs, least = list(zip(differ, differ if other is None else other, strict=True)), 2 if other is None else 3
    used = np.flatnonzero([min(len(one), len(two)) >= 2 for one, two in pairs])
    if len(used) < least:
        must, few = f"have at least {least} buckets with two wordings", f"{len(used)} of {len(pairs)} buckets"
        raise input_error("plan", "pilot", must, got=few)
    firsts, seconds = zip(*(pairs[i] for i in used.tolist()), strict=True)
    of_first = _products_of_changes(firsts, firsts)
    statistic, products = of_first[:, 2], of_first
    if other is not None:
        of_second = _products_of_changes(seconds, seconds)
        crossed = (statistic * of_second[:, 2])[:, np.newaxis]
        if same_texts:
            crossed = _products_of_changes(firsts, seconds)
        statistic, products = statistic - of_second[:, 2], of_first + of_second - 2.0 * crossed
    k = round(float(np.mean([len(matrix) for matrix in firsts])))
    return _pilot(WORDING_CHANGE, float(statistic.mean()), statistic, products, groups, used, [], None, k)


def _products_of_changes(firsts: Sequence[Mask], seconds: Sequence[Mask]) -> Floats:
    """Return unbiased estimates of e_0 to e_2 of two models in every bucket, as `_products` does of right answers."""
    sums = np.empty((len(firsts), 4))
    for row, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
        pairs, ends = int((first & second).sum()), (first.sum(axis=0), second.sum(axis=0))
        sums[row] = len(first), int(ends[0].sum()) * int(ends[1].sum()), int(ends[0] @ ends[1]) - pairs, pairs
    with np.errstate(divide="ignore", invalid="ignore"):
        return _per_choice(*sums.T)


def _per_choice(k: Floats, crossed: Floats, triples: Floats, pairs: Floats) -> Floats:
    """Return means over all choices of two pairs of k rows that share none, one or both, from sums over ordered ones.

    `crossed` is the product of the two sums of pairs: any choice of two.
    """
    n = k * (k - 1.0)
    none = crossed - 4.0 * triples - 2.0 * pairs
    return np.stack([none / (n * (k - 2.0) * (k - 3.0)), triples / (n * (k - 2.0)), pairs / n], axis=1)


def _statistic(measure: str, k: Floats, right: Floats) -> Floats:
    """Return each bucket's mean kernel: the share of right rows, or of pairs that differ."""
    if measure not in _OF_PAIRS:
        return right / k
    return _OF_PAIRS[measure] * 2.0 * right * (k - right) / (k * (k - 1.0))


def _own_products(measure: str, k: Floats, right: Floats) -> Floats:
    products = _products(measure, k, right, right, right)
    if measure in _OF_PAIRS:  # of three answers that are right or wrong, also where there are no three
        products[:, 1] = products[:, 2] / 2.0
    return products


def _products(measure: str, k: Floats, first: Floats, second: Floats, both: Floats) -> Floats:
    """Return unbiased estimates of e_0 to e_m of two models in every bucket; nan where it has too few rows.

    Of k rows `first` and `second` are right for the models and `both` for both, all of shape (n_buckets,).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure not in _OF_PAIRS:
            return np.stack([(first * second - both) / (k * (k - 1.0)), both / k], axis=1)
        only_first, only_second, neither = first - both, second - both, k - first - second + both
        pairs = 2.0 * (both * neither + only_first * only_second)
        triples = (
            both * ((k - first) * (k - second) - neither)
            + only_first * ((k - first) * second - only_second)
            + only_second * (first * (k - second) - only_first)
            + neither * (first * second - both)
        )
        crossed = 4.0 * first * (k - first) * second * (k - second)
        return _OF_PAIRS[measure] ** 2 * _per_choice(k, crossed, triples, pairs)


def _pilot(
    measure: str,
    value: float,
    statistic: Floats,
    products: Floats,
    groups: Integers | None,
    used: Integers,
    warnings: list[str],
    counts: BucketCounts | None,
    paraphrases: int,
) -> Pilot:
    n = len(statistic)
    if n < _FEW_BUCKETS:
        warnings.append(f"only {plural(n, 'bucket')}: the plan is rough")
    known = ~np.isnan(products)
    lasts = bool(known[:, 0].any())
    if not lasts:
        warnings.append("no bucket has four paraphrases: the gain from more of them is taken as the least possible")
    for j in range(products.shape[1] - 2, -1, -1):
        if not known[:, j].any():  # kernels that share less have no larger product
            products[:, j], known[:, j] = products[:, j + 1], known[:, j + 1]
    codes = np.arange(n) if groups is None else partition(groups[used]).codes
    if codes.max() == 0:
        raise input_error("plan", "pilot", "have at least two shared contexts", got=1)
    mean, means = float(statistic.mean()), np.nanmean(products, axis=0)
    errors_of = (statistic - mean)[:, np.newaxis] / n  # the contribution of each bucket to the error of the mean
    units = sums_by_group(errors_of, codes)
    n_clusters = len(units)
    others = np.where(known, products - means, 0.0) / known.sum(axis=0)
    apart, between, of_units = _between_contexts(statistic, codes)
    errors = np.concatenate([of_units, 2.0 * mean * units, sums_by_group(others, codes)], axis=1)  # what each unit adds
    squared = float(np.mean(statistic**2)) - apart
    problems = means[0] - squared - between if lasts else math.nan
    for levels, variance in (("buckets", problems + between), ("contexts", between)):
        if variance < 0.0:
            estimated = f"the variance between {levels} is estimated as {variance:.2g}"
            warnings.append(f"{estimated}, below 0: taken as 0 in plans")
    kernels = np.maximum(np.minimum.accumulate(means[::-1])[::-1], squared)
    return Pilot(
        measure=measure,
        value=value,
        between_variance=float(kernels[0] - squared) if lasts else math.nan,
        wording_variance=float(means[-1] - means[0]) if lasts else math.nan,
        problem_variance=float(problems),
        context_variance=between,
        buckets_per_context=float(np.bincount(codes)[codes].mean()),
        products=kernels.tolist(),
        squared_value=squared,
        kurtosis=_kurtosis(n * units[:, 0], np.full(len(units), 1.0 / len(units))),
        n_buckets=n,
        n_clusters=n_clusters,
        warnings=tuple(warnings),
        covariance=np.asarray(errors.T @ errors * n_clusters / max(n_clusters - 1, 1)),
        counts=counts if n_clusters == n else None,
        paraphrases=paraphrases,
    )


def _between_contexts(statistic: Floats, codes: Integers) -> tuple[float, float, Floats]:
    """Return the variance of buckets in different contexts, what of it is between contexts, and the latter's errors.

    The errors, shape (n_contexts, 1), are what each context adds to the error of the estimate.
    """
    n, centred = len(statistic), statistic - statistic.mean()
    size = np.bincount(codes).astype(np.float64)
    sums, squares = sums_by_group(np.stack([centred, centred**2], axis=1), codes).T
    pairs, within = size * (size - 1.0), size * squares - sums**2  # half the squared differences of ordered pairs
    apart = float((n * squares.sum() - within.sum()) / (n**2 - (size**2).sum()))
    weight = np.where(pairs > 0, size, 0.0) / max(size[pairs > 0].sum(), 1.0)
    variances = within / np.maximum(pairs, 1.0)
    same = float(weight @ variances)
    if not weight.any():
        return apart, 0.0, np.zeros((len(size), 1))
    errors = (squares - size * apart) / n - weight * (variances - same)
    return apart, apart - same, (errors - errors.mean())[:, np.newaxis]


def _kurtosis(values: Floats, weights: Floats) -> float:
    """Return the kurtosis of a distribution; 3 where it has no spread."""
    centred = values - weights @ values
    variance = float(weights @ centred**2)
    return float(weights @ centred**4) / variance**2 if variance > NO_SPREAD else 3.0


PARAPHRASES = (2, 3, 4, 5, 6, 8, 10, 15, 20)
_MOST_BUCKETS = 10**8


@dataclass(frozen=True)
class Target:
    """The aims of a study."""

    confidence_level: float = 0.95  # of intervals
    assurance: float = 0.8  # the share of studies whose half-width is to be no larger than planned
    power: float = 0.8  # the chance of an interval of the difference that excludes 0
    #: Of two models' true values over the same buckets, in (-1, 1): what is hard for both. 0 is cautious. It is not
    #: read where there is a pilot of the difference, and saves nothing where `Pilot.between_variance` is nan.
    correlation: float = 0.0

    def __post_init__(self) -> None:
        for name in ("confidence_level", "assurance", "power"):
            check_fraction("plan", name, getattr(self, name))
        if not -1.0 < self.correlation < 1.0:
            raise input_error("plan", "correlation", "lie between -1 and 1", got=self.correlation)


@dataclass(frozen=True)
class Costs:
    """The costs of a study: of a bucket without its paraphrases, of each paraphrase, and of a context, in one unit."""

    bucket: float = 1.0
    paraphrase: float = 1.0
    context: float = 0.0

    def of(self, n_buckets: int, paraphrases: int, n_contexts: float = 0) -> float:
        """Return the cost of n buckets with these paraphrases in each, and of their contexts."""
        return n_buckets * (self.bucket + paraphrases * self.paraphrase) + n_contexts * self.context


@dataclass(frozen=True)
class PlanRow(Record):
    """The size of a study with `paraphrases` in each bucket (rows: buckets times these); None if not requested."""

    paraphrases: int
    buckets_for_half_width: int | None
    rows_for_half_width: int | None
    cost_for_half_width: float | None
    buckets_for_difference: int | None
    rows_for_difference: int | None
    cost_for_difference: float | None


@dataclass(frozen=True)
class BudgetRow(Record):
    """The study that a budget pays for, with `paraphrases` in each bucket."""

    paraphrases: int
    buckets: int
    rows: int
    half_width: float  # expected
    assured_half_width: float  # which the share `assurance` of such studies do not exceed
    difference: float  # the least true difference of two models that is found with the power
    contexts: int | None = None  # where their number was chosen
    buckets_per_context: int | None = None


@dataclass(frozen=True)
class SavingRow(Record):
    """What a study loses at the cost of fewer paraphrases, and at this same cost in other ways.

    A widening is the factor by which the interval of the whole study widens.
    """

    paraphrases: int  # of each bucket
    calls: int
    share: float  # of the calls of the whole study
    half_width: float  # with fewer paraphrases
    widening: float  # with fewer paraphrases
    widening_by_buckets: float | None  # with fewer buckets in each context; None if less than one would be left
    widening_by_contexts: float  # with fewer contexts, or fewer buckets where there are none
    saves: bool  # Whether fewer paraphrases lose less than fewer contexts (buckets).


def half_width(
    pilot: Pilot, n_buckets: int, paraphrases: int, *, confidence_level: float = 0.95, assurance: float | None = None
) -> float:
    """Return the half-width of the measure's interval with B buckets of k paraphrases.

    With `assurance` the one that this share of studies do not exceed. It is half the length of the interval on the
    logit scale, which near the ends of a measure's range is longer than a t interval. Studies with all their units at
    one end have a one-sided interval: the expected half-width is the mean over these and the others.
    """
    variance = expected = pilot.variance(paraphrases)
    if assurance is not None:
        variance, degrees = pilot.bound(paraphrases)
        variance *= float(fdtri(pilot.study_degrees_of_freedom(n_buckets, paraphrases), degrees, assurance))
    most = 0.5 if pilot.measure == MEASURES[1] else 1.0
    units, distance = pilot.clusters(n_buckets), min(pilot.value, most - pilot.value)
    others = -math.expm1(-units * math.log1p(distance**2 * n_buckets / units / expected))  # about: not at an end
    half = pilot.t(n_buckets, confidence_level) * math.sqrt(variance / n_buckets / others)
    distance *= variance / expected / others  # near an end the variance goes with it
    low, high = on_logit_scale(np.array([min(distance, most / 2.0)]), np.array([half]), np.array([[0.0, most]]))
    width, least = float(high[0] - low[0]), boundary_interval(0.0, 0.0, most, units, confidence_level)[1]
    mean = others * width + (1.0 - others) * least
    return (mean if assurance is None else max(width, least * (others < assurance))) / 2.0


def detectable_difference(
    pilot: Pilot, n_buckets: int, paraphrases: int, target: Target | None = None, *, of_difference: Pilot | None = None
) -> float:
    """Return the least true difference of two models that B common buckets of k paraphrases show with the power.

    `pilot` is the first model's; the second is assumed to vary alike, and to have the correlation of `target` with it.
    `of_difference`, from both models on the same buckets (`pilot_of_difference`), replaces it.
    """
    target = target or Target()
    variance, degrees = (of_difference or pilot).bound(paraphrases)
    if of_difference is None:
        variance = 2.0 * (variance - target.correlation * pilot.lasting_variance)
    t = (of_difference or pilot).t(n_buckets, target.confidence_level)
    quantile = float(nctdtrit(degrees, t, target.power))
    return quantile * math.sqrt(variance / n_buckets)


def plan(
    pilot: Pilot,
    *,
    half_width: float | None = None,
    difference: float | None = None,
    target: Target | None = None,
    of_difference: Pilot | None = None,
    paraphrases: Sequence[int] = PARAPHRASES,
    costs: Costs | None = None,
) -> list[PlanRow]:
    """Return the least buckets by paraphrases for a wanted half-width, a wanted difference, or both.

    InputError if neither is given, a number is outside its range, or the pilot has no spread.
    """
    if half_width is None and difference is None:
        raise input_error("plan", "half_width", "be given, or `difference`, or `budget`", got=None)
    for name, value in (("half_width", half_width), ("difference", difference)):
        if value is not None:
            check_fraction("plan", name, value)
    target, costs = target or Target(), costs or Costs()
    rows = []
    for k in _checked(paraphrases, pilot, of_difference):
        width = partial(_assured, pilot, k=k, target=target)
        smallest = partial(detectable_difference, pilot, paraphrases=k, target=target, of_difference=of_difference)
        first = math.ceil(FEW_UNITS * pilot.per_cluster)
        sizes = _least("half_width", half_width, width, first), _least("difference", difference, smallest, first)
        cells = [[None] * 3 if n is None else [n, n * k, costs.of(n, k, pilot.clusters(n))] for n in sizes]
        rows.append(PlanRow(k, *cells[0], *cells[1]))
    return rows


def spend(
    pilot: Pilot,
    budget: float,
    *,
    target: Target | None = None,
    of_difference: Pilot | None = None,
    paraphrases: Sequence[int] = PARAPHRASES,
    costs: Costs | None = None,
    max_contexts: int | None = None,
) -> list[BudgetRow]:
    """Return what a budget pays for with each number of paraphrases that allows ten buckets (contexts) or more.

    If contexts have a cost or a largest number, each row is the most precise division of the budget between contexts
    and buckets of each, with no more of these than `pilot.in_contexts_of` was given. InputError if the budget pays for
    ten with none of them, or nothing costs anything.
    """
    target, costs = target or Target(), costs or Costs()
    if min(costs.bucket, costs.paraphrase, costs.context) < 0 or costs.bucket + costs.paraphrase <= 0:
        raise input_error("plan", "bucket_cost", "be above 0, or `paraphrase_cost`", got=costs.bucket)
    for name, given in (("context_cost", costs.context or None), ("max_contexts", max_contexts)):
        if given is not None and not pilot.has_contexts:
            raise input_error("plan", name, _HAVE_CONTEXTS, got=given, remedy=_NAME_GROUP)
    rows = []
    for k in _checked(paraphrases, pilot, of_difference):
        if costs.context or max_contexts:
            designs = _designs(pilot, budget, k, costs, max_contexts)
        else:
            designs = [(pilot, int(min(budget / costs.of(1, k), _MOST_BUCKETS)), None)]
        widths = [
            (half_width(used, n, k, confidence_level=target.confidence_level), used, n, n_contexts)
            for used, n, n_contexts in designs
            if n >= FEW_UNITS * used.per_cluster
        ]
        if widths:
            width, used, n, n_contexts = min(widths, key=lambda design: design[0])
            each = None if n_contexts is None else n // n_contexts
            paired = of_difference if each is None or of_difference is None else of_difference.in_contexts_of(each)
            difference = detectable_difference(used, n, k, target, of_difference=paired)
            rows.append(BudgetRow(k, n, n * k, width, _assured(used, n, k, target), difference, n_contexts, each))
    if not rows:
        raise input_error("plan", "budget", f"pay for at least {FEW_UNITS} buckets (or shared contexts)", got=budget)
    return rows


def _designs(
    pilot: Pilot, budget: float, k: int, costs: Costs, max_contexts: int | None
) -> list[tuple[Pilot, int, int | None]]:
    """Return the pilot, buckets and contexts of the designs that a budget pays for, of at least ten contexts."""
    bucket, most = costs.of(1, k), max_contexts or _MOST_BUCKETS
    largest = int(min((budget / FEW_UNITS - costs.context) / bucket, pilot.per_context or math.inf))
    sizes = {*np.geomspace(1, max(largest, 1), 200).astype(int).tolist(), int((budget / most - costs.context) / bucket)}
    each = [(n, min(int(budget / costs.of(n, k, 1)), most)) for n in sizes if 1 <= n <= largest]
    return [(pilot.in_contexts_of(n), n * n_contexts, n_contexts) for n, n_contexts in each]


def savings(
    pilot: Pilot,
    *,
    buckets: int | None = None,
    whole: int | None = None,
    paraphrases: Sequence[int] = PARAPHRASES,
    confidence_level: float = 0.95,
) -> list[SavingRow]:
    """Return the half-width of a whole study, and with fewer calls, from few paraphrases to all.

    The whole study has `buckets` of `whole` paraphrases, both by default as many as the pilot. Small pilots underrate
    the logarithm of a variance with d degrees of freedom by 1/d, about, for which widenings are corrected.
    """
    whole, n = whole or pilot.paraphrases, buckets or pilot.n_buckets
    size = pilot.per_context or pilot.buckets_per_context

    def error(used: Pilot, k: int) -> float:
        return math.sqrt(used.variance(k)) * math.exp(0.5 / max(used.degrees_of_freedom(k), 2.0))

    counts = _checked(sorted({*(k for k in paraphrases if k < whole), whole}), pilot, None)
    full, width = error(pilot, whole), half_width(pilot, n, whole, confidence_level=confidence_level)
    rows = []
    for k in counts:
        share, widening, by_buckets = k / whole, max(error(pilot, k) / full, 1.0), None
        if pilot.has_contexts and size * share >= 1.0:
            by_buckets = error(pilot.in_contexts_of(size * share), whole) / full / math.sqrt(share)
        by_contexts = pilot.t(n * share, confidence_level) / pilot.t(n, confidence_level) / math.sqrt(share)
        saves = widening < by_contexts
        rows.append(SavingRow(k, n * k, share, width * widening, widening, by_buckets, by_contexts, saves))
    return rows


def _assured(pilot: Pilot, n_buckets: int, k: int, target: Target) -> float:
    return half_width(pilot, n_buckets, k, confidence_level=target.confidence_level, assurance=target.assurance)


def _checked(paraphrases: Sequence[int], pilot: Pilot, of_difference: Pilot | None) -> Sequence[int]:
    """Return the numbers of paraphrases, or raise if a pilot has no estimate for one."""
    for source in (pilot, of_difference or pilot):
        for k in paraphrases:
            check_whole("plan", "paraphrases", k, at_least=len(source.products) - 1)
            if source.variance(k) <= 0.0:
                name, must = "pilot" if source is pilot else "against", "differ between buckets or paraphrases"
                raise input_error("plan", name, must, got=f"{source.value + 0.0:g} in all {source.n_buckets} buckets")
    return paraphrases


def _least(parameter: str, wanted: float | None, reached: Callable[[int], float], first: int) -> int | None:
    """Return the least n of at least `first` with ``reached(n) <= wanted``, which falls with n."""
    if wanted is None:
        return None
    sizes = range(first, _MOST_BUCKETS + 1)
    at = bisect(sizes, False, key=lambda n: reached(n) <= wanted)  # False also if a tiny pilot has no quantile
    if at == len(sizes):
        must, remedy = "be reachable with 100 million buckets", "Request a larger one, or use a larger pilot."
        raise input_error("plan", parameter, must, got=wanted, remedy=remedy)
    return sizes[at]
