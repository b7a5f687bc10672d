"""Errors of a comparer of answers, and rates corrected for them, from a sample of its verdicts that people checked.

A comparer gives every unit (a pair of answers, or an answer and its accepted ones) a verdict; people label a sample
from strata of the verdicts. Where they labelled the units that are measured, correction is by prediction-powered
inference (Angelopoulos et al. 2023, Science 382, 669-674): the mean verdict of all units plus the weighted mean of
label less verdict in the sample, computed as the mean over strata of people's share of yes, which power tuning cannot
better. Errors on other units correct a rate by Rogan and Gladen (1978, American Journal of Epidemiology 107, 71-76).

Intervals are mid-P ones (Berry and Armitage 1995, The Statistician 44, 417-423), at the number of labels that would
give the same variance, as Korn and Graubard's are: that of the strata's means, each with half a label yes and half a
label no added (20 labels that agree prove no stratum free of errors), times the design effect of clusters, plus that of
the units themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtri, stdtrit

from paraconsist.errors import check_fraction, input_error
from paraconsist.measures.array_types import Floats, Integers
from paraconsist.measures.buckets import as_column, as_mask, as_probabilities, check_length, check_rows, partition
from paraconsist.measures.intervals import NO_SPREAD, Dyads, Units, rare_interval, ratio_interval, too_few
from paraconsist.measures.results import Record

#: Labels of a verdict without which nothing is corrected, and of a stratum, below which it joins another.
LEAST_LABELS, _LEAST_OF_STRATUM = 10, 8
_WIDEST = 0.4  # bounds that are shown
_NEARLY_ALL = 0.9

#: A value, its standard error and its interval.
Rate: TypeAlias = tuple[float, float, list[float]]


@dataclass(frozen=True)
class CheckedUnits:
    """The n units of one model's rate; all arrays have shape (n,), `groups` of pairs of different ones (n, 2).

    `labels` are people's, in [0, 1]: means where there are several, nan where there is none. `weights` say how much a
    unit counts, `sampling` is 1 over the chance that it was drawn, up to a factor, `strata` are parts of the verdicts
    that labels were drawn from, and units that share no group are independent. Two models are compared on the
    `problems` of both, by default the groups.
    """

    verdicts: NDArray[np.bool_]
    labels: Floats
    weights: Floats
    sampling: Floats
    strata: NDArray[np.intp]
    groups: NDArray[Any]
    problems: NDArray[Any]

    @classmethod
    def of(cls, verdicts: Any, labels: Any, **columns: Any) -> CheckedUnits:
        """Return units, by default of equal weights, randomly drawn from each verdict, and independent.

        InputError if lengths differ, or a label is outside [0, 1].
        """
        n, marks = len(verdicts), np.asarray(labels, dtype=np.float64)
        ones, none = np.ones(n), np.zeros(n, dtype=np.intp)
        usual = {"weights": ones, "sampling": ones, "strata": none, "groups": np.arange(n)}
        whole = {"labels": marks, **usual, **{name: np.asarray(column) for name, column in columns.items()}}
        whole.setdefault("problems", whole["groups"])
        for name, column in whole.items():
            if len(column) != n:
                raise input_error("corrected_rate", name, f"have the length of `verdicts`, {n}", got=len(column))
        if ((marks < 0.0) | (marks > 1.0)).any():
            raise input_error("corrected_rate", "labels", "lie between 0 and 1, or be nan", got=float(np.nanmax(marks)))
        return cls(np.asarray(verdicts, dtype=np.bool_), **whole)

    def where(self, mask: NDArray[np.bool_]) -> CheckedUnits:
        return CheckedUnits(**{name: column[mask] for name, column in vars(self).items()})

    @property
    def is_labelled(self) -> NDArray[np.bool_]:
        """Which units have a label, shape (n,)."""
        return np.asarray(~np.isnan(self.labels))


@dataclass(frozen=True, kw_only=True)
class Corrected(Record):
    """A rate as the comparer has it and as people would; all rates are shares in [0, 1]."""

    n_units: int
    n_labels: int
    n_clusters: int  # of the labels
    observed: float  # share of units with the verdict yes
    corrected: float  # the share that people say yes to; nan where it is refused
    sensitivity: float  # share of verdicts yes where people say yes, nan where they never do; up is good
    false_match_rate: float  # share of verdicts yes where people say no, nan where they never do; down is good
    standard_error: dict[str, float]  # of these four
    confidence_interval: dict[str, list[float]]
    method: str = "prediction_powered"  # or ``rogan_gladen``
    refused: str = ""  # the reason for a missing corrected rate; empty where there is one
    n_needed: int | None = None  # labels that would do where it is refused; None where no number would

    @property
    def value(self) -> float:
        return self.corrected

    @property
    def low(self) -> float:
        """The lower end of its interval."""
        return self.confidence_interval["corrected"][0]

    @property
    def high(self) -> float:
        """The upper end of its interval."""
        return self.confidence_interval["corrected"][1]

    def having(self, observed: Rate, corrected: Rate, **changes: Any) -> Corrected:
        """Return it with other rates, of the same comparer."""
        rates = {"observed": observed, "corrected": corrected}
        errors = self.standard_error | {name: rate[1] for name, rate in rates.items()}
        ends = self.confidence_interval | {name: rate[2] for name, rate in rates.items()}
        changes |= {name: rate[0] for name, rate in rates.items()}
        return replace(self, standard_error=errors, confidence_interval=ends, **changes)


def corrected_rate(
    marks: Any, checked: Any, truth: Any, clusters: Any = None, *, confidence_level: float = 0.95, of_set: bool = False
) -> Corrected:
    """Return the share of rows that people would say yes to, from a comparer's verdicts and a sample that they checked.

    The mean verdict of all rows is corrected by what people say of a sample of them (prediction-powered inference);
    the comparer may be wrong in both directions, and more often for one model than for another.

    Parameters
    ----------
    marks : array_like of bool or 0/1, shape (n,)
        The comparer's verdict on every row: that an answer is right, or that two answers are the same.
    checked : array_like of int, shape (m,), or of bool, shape (n,)
        Which rows people checked: their places, or a mask. A random sample, of all rows or of each verdict.
    truth : array_like of float, shape (m,)
        People's verdicts on these rows, in their order: 0 or 1, or means of several people's.
    clusters : array_like, shape (n,), optional
        What rows share, such as a problem; clusters are independent. By default every row is one.
    confidence_level : float, default 0.95
    of_set : bool
        Whether the intervals are for what people would say of these rows, not of the population they come from.

    Returns
    -------
    Corrected
        `value`, `low` and `high`, in [0, 1], nan where the correction is `refused`, which says why: a verdict with too
        few labels, or a comparer that is not shown to say yes more often where people do. Also `sensitivity` and
        `false_match_rate` of the comparer, `observed` (the mean verdict), and the intervals and errors of all.

    Raises
    ------
    InputError
        If lengths differ, a place is none or occurs twice, or a value is not in [0, 1].

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan, Zrnic (2023), "Prediction-powered inference", Science 382, 669-674.

    Examples
    --------
    >>> marks = [1] * 60 + [0] * 40
    >>> checked = [*range(20), *range(60, 80)]
    >>> truth = [1] * 18 + [0] * 2 + [1] * 5 + [0] * 15
    >>> round(corrected_rate(marks, checked, truth).value, 4)  # .6 * 18/20 + .4 * 5/20
    0.64
    """
    name = "corrected_rate"
    verdicts = as_mask(name, "marks", as_column(marks, function=name, parameter="marks", what="0 or 1"))
    n, labels = len(verdicts), np.full(len(verdicts), math.nan)
    places = _places(name, checked, n)
    check_length(name, "truth", truth, len(places), "checked")
    labels[places] = as_probabilities(truth, function=name, parameter="truth")
    groups: Integers = np.arange(n)
    if clusters is not None:
        check_length(name, "clusters", clusters, n, "marks")
        groups = partition(clusters, function=name, parameter="clusters").codes
    units = CheckedUnits.of(verdicts, labels, groups=groups)
    return rate_of_units(units, confidence_level=confidence_level, of_set=of_set)


def _places(function: str, checked: Any, n: int) -> Integers:
    """Return the places of the rows that people checked, which may be given as a mask."""
    what = "hold the places of rows, or a mask"
    places: NDArray[Any] = np.array(as_column(checked, function=function, parameter="checked", what=what[5:]).tolist())
    if np.asarray(checked).dtype == np.bool_:
        check_length(function, "checked", places, n, "marks")
        return np.flatnonzero(places)
    if places.dtype.kind not in "iu":
        raise input_error(function, "checked", what, got=places.tolist()[0], row=0)
    check_rows(function, "checked", f"be places from 0 to {n - 1}", places, (places < 0) | (places >= n))
    first = np.unique(places, return_index=True)[1]
    again = np.ones(len(places), dtype=np.bool_)
    again[first] = False
    check_rows(function, "checked", "name each row once", places, again)
    return places


def rate_of_units(units: CheckedUnits, *, confidence_level: float = 0.95, of_set: bool = False) -> Corrected:
    """Return a rate corrected by people's labels on a sample of its units, with the comparer's errors.

    `units` are all units of the rate, with the labels of those that people checked; InputError if there are none. With
    `of_set` the intervals are for people's value on these units, not in the population of problems. The correction is
    refused (`Corrected.refused` says why) where a verdict has too few labels, or sensitivity is not above the
    false-match rate by more than its uncertainty.
    """
    return _corrected(units, of_set, confidence_level)[0]


def _corrected(units: CheckedUnits, of_set: bool, confidence_level: float) -> tuple[Corrected, _Fit]:
    """Return a corrected rate and the fit that it is of."""
    check_fraction("corrected_rate", "confidence_level", confidence_level)
    if not units.is_labelled.any():
        raise input_error("corrected_rate", "labels", "hold at least one label", got=0)
    fit = _fit(units, of_set, confidence_level)
    values: dict[str, Any] = {"observed": fit.observed, "corrected": fit.value}
    errors = {"observed": fit.observed_error, "corrected": fit.error}
    ends = dict(fit.ends)
    labels = np.where(units.is_labelled, np.stack([units.labels, 1.0 - units.labels]), 0.0)
    parts = {"sensitivity": (fit.yes, fit.no), "false_match_rate": (fit.yes.less, fit.no.less)}
    for (name, (yes, no)), people in zip(parts.items(), labels, strict=True):
        by_problem = 1.0, 0.0  # joined with the interval: no part of it
        if not of_set and units.groups.ndim == 1 and fit.n_clusters < fit.n_labels:
            by_problem = _by_problem(units.groups, fit.label_weights * people, units.verdicts, confidence_level)
        values[name], errors[name], ends[name] = _found(fit, yes, no, by_problem)
    refused, n_needed = _refusal(units, values, fit)
    if refused:
        values["corrected"], errors["corrected"], ends["corrected"] = math.nan, math.nan, [math.nan, math.nan]
    rate = Corrected(
        n_units=len(units.labels),
        n_labels=fit.n_labels,
        n_clusters=fit.n_clusters,
        **values,
        standard_error=errors,
        confidence_interval=ends,
        refused=refused,
        n_needed=n_needed,
    )
    return rate, fit


@dataclass(frozen=True, kw_only=True)
class LabelPlan(Record):
    """How precise a corrected rate becomes by more labels of people, and by more problems.

    Its variance is a / labels + b / problems: labels are drawn within the comparer's verdicts, where they vary little
    if it is mostly right, and problems differ in how often verdicts are yes.
    """

    n_labels: int  # of the pilot, as the next two; problems are groups
    n_problems: int
    units_per_problem: int  # a unit is what one label is about
    label_variance: float  # a
    problem_variance: float  # b
    value: float  # the corrected rate, in [0, 1]
    quantile: float  # half-widths are this times the standard error

    def half_width(self, n_labels: float, n_problems: float) -> float:
        """Return the expected half-width of the interval, in [0, 1]."""
        return self.quantile * math.sqrt(self.label_variance / n_labels + self.problem_variance / n_problems)

    def problems_for(self, half_width: float, n_labels: float) -> int | None:
        """Return how many problems that half-width takes with so many labels; None where these alone are too few."""
        left = (half_width / self.quantile) ** 2 - self.label_variance / n_labels
        return None if left <= 0.0 else self._at_least(self.problem_variance / left, n_labels)

    def cheapest(self, half_width: float, label_cost: float, problem_cost: float) -> tuple[int, int]:
        """Return the numbers of labels and problems that reach a half-width at the least cost; costs are above 0."""
        a, b, v = self.label_variance, self.problem_variance, (half_width / self.quantile) ** 2
        both = math.sqrt(a * b)
        n_labels = max(math.ceil((a + both * math.sqrt(problem_cost / label_cost)) / v), 1)
        return n_labels, self._at_least((b + both * math.sqrt(label_cost / problem_cost)) / v, n_labels)

    def _at_least(self, n_problems: float, n_labels: float) -> int:
        """Return a number of problems that have so many units to label."""
        whole = math.ceil(n_problems * (1.0 - 1e-9))  # whatever the rounding
        return max(whole, math.ceil(n_labels / self.units_per_problem), 1)


def plan_labels(units: CheckedUnits, *, confidence_level: float = 0.95) -> LabelPlan:
    """Return what more labels and more problems would do to a rate that these labels correct.

    InputError if the correction is refused.
    """
    rate, fit = _corrected(units, False, confidence_level)
    if rate.refused:
        raise input_error("plan", "checked", "carry a correction", got=rate.refused)
    n = len(np.unique(units.groups))
    return LabelPlan(
        n_labels=fit.n_labels,
        n_problems=n,
        units_per_problem=max(round(fit.n_units / n), 1),
        label_variance=(fit.error**2 - fit.sampled) * fit.n_labels,
        problem_variance=fit.sampled * n,
        value=fit.value,
        quantile=fit.quantile,
    )


def corrected_difference(
    first: CheckedUnits,
    second: CheckedUnits,
    *,
    chance: tuple[CheckedUnits, CheckedUnits] | None = None,
    accuracy: tuple[CheckedUnits, CheckedUnits] | None = None,
    confidence_level: float = 0.95,
    of_set: bool = False,
) -> Rate:
    """Return the difference of two corrected rates, paired by `groups`, with its standard error and t interval.

    With the `chance` of both, as `corrected_above_chance` takes it, the difference is of consistency above chance, nan
    where all answers of one are the same; with the `accuracy` of both, as `corrected_variance` takes it, of PVAP, nan
    where all answers of one are right, or wrong. InputError if a rate's correction is refused.
    """
    fits, others = [], chance or accuracy or ()
    for units in (first, second, *others):
        rate, fit = _corrected(units, False, confidence_level)
        if rate.refused:
            raise input_error("corrected_difference", "units", "carry a correction", got=rate.refused)
        fits.append(_fit(units, True, confidence_level) if of_set else fit)
    one, two, *of_others = fits
    value, most, parts = one.value - two.value, 1.0, [(first, one, 1.0), (second, two, -1.0)]
    if others:
        whole, slope, sign = (*_BY_CHANCE, 1.0) if chance else (*_OF_ALL, -1.0)
        sizes = [whole(fit.value) for fit in of_others]
        if min(sizes) < 1e-12:
            return math.nan, math.nan, [math.nan, math.nan]
        shares = [(1.0 - fit.value) / size for fit, size in zip((one, two), sizes, strict=True)]
        value, most = sign * (shares[1] - shares[0]), math.inf
        parts = [(units, fit, sign * way / size) for (units, fit, way), size in zip(parts, sizes, strict=True)]
        ways = [sign * share * slope(fit.value) for share, fit in zip(shares, of_others, strict=True)]
        parts += zip(others, of_others, (ways[0] / sizes[0], -ways[1] / sizes[1]), strict=True)
    error = _joint_error(parts)
    half = max(fit.quantile for _, fit, _ in parts) * error
    return value, error, [max(value - half, -most), min(value + half, most)]


def corrected_variance(
    accuracy: CheckedUnits, alike: CheckedUnits, *, confidence_level: float = 0.95
) -> tuple[Corrected, Corrected]:
    """Return the variance of correctness that wordings cause, and its share of all, as people would have them.

    `accuracy` are answers to paraphrases, of problems with two or more; the verdict is whether they are right. `alike`
    are pairs of these answers, with the same `groups`; the verdict is whether both are right or both wrong. Intervals
    are for the population of problems.

    With P the corrected rate of `alike` (P_C) and a that of `accuracy`, VAP is (1 - P) / 2, in [0, .5], and PVAP is VAP
    / (a (1 - a)), the unbiased ones of S24; down is good, and 1 less PVAP is P_C above chance. Sensitivity and
    false-match rate are those of `alike`. VAP is refused where P is, PVAP also where a is.
    """
    of_pairs, of_answers = (_corrected(units, False, confidence_level) for units in (alike, accuracy))
    found = of_pairs[0]
    errors, ends = found.standard_error, found.confidence_interval
    halves = [
        ((1.0 - found[name]) / 2.0, errors[name] / 2.0, [(1.0 - end) / 2.0 for end in ends[name][::-1]])
        for name in ("observed", "corrected")
    ]
    room = len(np.unique(accuracy.groups)) / len(accuracy.labels) / 4.0  # for what wordings add, as without labels
    both = (alike, *of_pairs), (accuracy, *of_answers)
    return found.having(*halves), _ratio(*both, *_OF_ALL, confidence_level, room)


def corrected_above_chance(
    same: CheckedUnits, chance: CheckedUnits, *, confidence_level: float = 0.95
) -> tuple[Corrected, Corrected]:
    """Return how often answers to different problems are the same, and those to one problem above it, as people say.

    The verdict of `same`, pairs of answers to a problem, and of `chance`, pairs of answers to different problems whose
    `groups` are both problems, shape (n, 2), is whether they are the same. Intervals are for the population of
    problems.

    With P and c the corrected rates, the second is (P - c) / (1 - c), at most 1; up is good. Sensitivity and
    false-match rate are those of `same`. It is refused where P or c is, and nan where all answers are the same.
    """
    of_same, by_chance = (_corrected(units, False, confidence_level) for units in (same, chance))
    return by_chance[0], complement(_ratio((same, *of_same), (chance, *by_chance), *_BY_CHANCE, confidence_level))


def complement(rate: Corrected) -> Corrected:
    """Return 1 less a rate, with the comparer's errors as they are."""
    errors, ends = rate.standard_error, rate.confidence_interval
    turned = [(1.0 - rate[key], errors[key], [1.0 - e for e in ends[key][::-1]]) for key in ("observed", "corrected")]
    return rate.having(*turned)


#: What the share of pairs that differ is divided by, and its derivative: of chance, and of accuracy.
_Whole: TypeAlias = tuple[Callable[[float], float], Callable[[float], float]]
_BY_CHANCE: _Whole = (lambda c: 1.0 - c, lambda _: -1.0)
_OF_ALL: _Whole = (lambda a: 2.0 * a * (1.0 - a), lambda a: 2.0 - 4.0 * a)


def _ratio(
    first: tuple[CheckedUnits, Corrected, _Fit],
    second: tuple[CheckedUnits, Corrected, _Fit],
    whole: Callable[[float], float],
    slope: Callable[[float], float],
    confidence_level: float,
    room: float = math.inf,
) -> Corrected:
    """Return 1 less the first rate over the `whole` of the second, whose derivative is `slope`.

    Its interval is symmetric on the scale of logarithms; with `room`, of those of its odds in (0, 1 + room): a share of
    a whole that few problems make, which a sample may lack, is closer to 1 by chance than below it.
    """
    (one, found, fit), (two, other, second_fit) = first, second

    def ratio(a: _Fit, b: _Fit) -> Rate:
        if (size := whole(b.value)) < 1e-12:  # nothing varies
            return math.nan, math.nan, [math.nan, math.nan]
        inner = max(1.0 - a.value, 0.5 / (a.n_labels + 1))
        error = _joint_error([(one, a, -1.0 / inner), (two, b, -slope(b.value) / size)])
        value, middle, half = (1.0 - a.value) / size, inner / size, max(a.quantile, b.quantile) * error
        inside, top = middle, math.inf
        if room < math.inf:  # a (1 - a) of a sample is too small by the variance of its a
            inside, top = min(inner / (size + 2.0 * b.error**2), 1.0), 1.0 + min(value, 1.0) * room
        left = 1.0 - inside / top
        half = min(half / left, 500.0)  # beyond which exponentials overflow
        low, high = (odds / (1.0 + odds / top) for odds in (inside / left * math.exp(end) for end in (-half, half)))
        return value, error * middle, [min(low, value), max(high, value)]

    # where the verdicts are the labels, the corrected rate is the observed one
    as_said = (replace(units, labels=units.verdicts.astype(np.float64)) for units in (one, two))
    observed = ratio(*(_fit(units, False, confidence_level) for units in as_said))
    refused = found.refused or other.refused
    corrected = (math.nan, math.nan, [math.nan, math.nan]) if refused else ratio(fit, second_fit)
    return found.having(observed, corrected, refused=refused, n_needed=found.n_needed or other.n_needed)


def _joint_error(parts: Sequence[tuple[CheckedUnits, _Fit, float]]) -> float:
    """Return the standard error of a function of rates (units, fit, slope); the same groups are in several."""
    codes = np.unique(np.concatenate([units.groups.ravel() for units, _, _ in parts]), return_inverse=True)[1]
    ends, n = np.cumsum([units.groups.size for units, _, _ in parts]), int(codes.max()) + 1
    total, alone = np.zeros(n), 0.0
    for own, (_, fit, slope) in zip(np.split(codes, ends[:-1]), parts, strict=True):
        sums = np.bincount(own, np.repeat(fit.influence, len(own) // fit.n_units), n)
        if (size := math.sqrt(sums @ sums)) > NO_SPREAD:
            total += slope * fit.error / size * sums
        else:
            alone += (slope * fit.error) ** 2
    return math.sqrt(float(total @ total) + alone)


def rogan_gladen(units: CheckedUnits, checked: CheckedUnits, *, confidence_level: float = 0.95) -> Corrected:
    """Return the rate of unlabelled `units` corrected by the comparer's errors on `checked` ones.

    (observed - f) / (s - f) with sensitivity s and false-match rate f, cut to [0, 1]: valid where the comparer errs as
    often on these units as on those that were checked. Intervals are cautious (nominal 95 % cover 95 to 99 %): the
    shares of verdicts among checked units count as random, though sheets are drawn by verdict.

    Examples
    --------
    >>> checked = CheckedUnits.of([True] * 50 + [False] * 50, [1.0] * 45 + [0.0] * 10 + [1.0] * 5 + [0.0] * 40)
    >>> unchecked = CheckedUnits.of([True] * 60 + [False] * 40, [float("nan")] * 100)
    >>> round(rogan_gladen(unchecked, checked).corrected, 4)  # s = 45/50, f = 5/50
    0.625
    """
    found, fit = rate_of_units(checked, confidence_level=confidence_level), _fit(units, False, confidence_level)
    sensitivity, false, of_errors = found.sensitivity, found.false_match_rate, found.standard_error
    if not (refused := found.refused) and not sensitivity > false:
        refused = f"its sensitivity {sensitivity:.2f} is not above its false-match rate {false:.2f}"
        if math.isnan(sensitivity + false):
            refused = "people gave one verdict alone, so that one of its two errors is unknown"
    value = math.nan if refused else min(max((fit.observed - false) / (sensitivity - false), 0.0), 1.0)
    parts = (fit.observed_error, value * of_errors["sensitivity"], (1.0 - value) * of_errors["false_match_rate"])
    error = math.hypot(*parts) / (sensitivity - false) if not refused else math.nan
    quantile = float(stdtrit(max(found.n_clusters - 2, 1), 0.5 + confidence_level / 2.0))
    observed = fit.observed, fit.observed_error, fit.ends["observed"]
    corrected = value, error, _limits([(value, error, _inside(value, found.n_labels))], quantile, confidence_level)[0]
    return found.having(observed, corrected, n_units=len(units.labels), method="rogan_gladen", refused=refused)


def differs(one: Corrected, other: Corrected) -> bool:
    """Return whether a comparer's errors differ between two models by more than 1.96 standard errors."""
    return any(
        abs(one[name] - other[name]) > 1.96 * math.hypot(one.standard_error[name], other.standard_error[name])
        for name in ("sensitivity", "false_match_rate")
    )


def agreement(first: Sequence[bool], second: Sequence[bool]) -> tuple[float, float]:
    """Return how often two people mark the same units alike, in [0, 1], and Cohen's (1960) kappa, in [-1, 1] or nan.

    >>> agreement([True, True, False, False], [True, False, False, False])
    (0.75, 0.5)
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    alike, shares = float((one == two).mean()), (float(one.mean()), float(two.mean()))
    chance = shares[0] * shares[1] + (1.0 - shares[0]) * (1.0 - shares[1])
    return alike, (alike - chance) / (1.0 - chance) if chance < 1.0 else math.nan


@dataclass(frozen=True, kw_only=True)
class Bounds(Record):
    """What a rate may be among pairs of valid paraphrases, in [0, 1]."""

    low: float  # for the estimated share of invalid paraphrases, with any answers to these; nan where it is withheld
    high: float
    confidence_interval: list[float]  # from the ends of both intervals, that of the rate and the upper one of the share
    invalid_pairs: float  # the share of pairs with an invalid paraphrase
    withheld: str = ""  # the reason for missing bounds; empty where there are some


def validity_bounds(
    rate: float, interval: Sequence[float], invalid: float, invalid_interval: Sequence[float]
) -> Bounds:
    """Return bounds of a rate of pairs among valid paraphrases, where a share of the paraphrases is invalid.

    Both of a pair are valid with chance (1 - invalid)^2. Of the others nothing is assumed, so the rate among valid
    pairs lies in [(rate - e) / (1 - e), rate / (1 - e)], with e the share of the others. Bounds wider than .4 are
    withheld.

    Examples
    --------
    >>> bounds = validity_bounds(0.8, [0.75, 0.85], 0.05, [0.02, 0.1])  # e = .0975
    >>> round(bounds.low, 3), round(bounds.high, 3)
    (0.778, 0.886)
    """
    pairs, most = (1.0 - (1.0 - share) ** 2 for share in (invalid, invalid_interval[1]))
    (low, high), (lowest, highest) = (
        (max(down - e, 0.0) / max(1.0 - e, 1e-300), min(up / max(1.0 - e, 1e-300), 1.0))
        for e, down, up in ((pairs, rate, rate), (most, interval[0], interval[1]))
    )
    if high - low <= _WIDEST:
        return Bounds(low=low, high=high, confidence_interval=[lowest, highest], invalid_pairs=pairs)
    text = f"{100 * pairs:.0f} % of the pairs have an invalid paraphrase, and bounds would be {high - low:.2f} wide"
    nan = math.nan
    return Bounds(low=nan, high=nan, confidence_interval=[nan, nan], invalid_pairs=pairs, withheld=text)


@dataclass(frozen=True, kw_only=True)
class AmongValid(Record):
    """A rate among pairs of valid paraphrases, in [0, 1], where people judged wordings of the run itself."""

    value: float  # the rate of all pairs without what the invalid ones add to it; nan where it is refused
    confidence_interval: list[float]  # by problem or group; nan below 10 of these
    n_pairs: int  # whose wordings are both judged
    n_invalid: int  # those of them with an invalid one
    refused: str = ""  # the reason for a missing value


def rate_among_valid(
    hits: Any, invalid: Any, weights: Any, groups: Any, *, confidence_level: float = 0.95
) -> AmongValid:
    """Return the share of hits among pairs of valid paraphrases, by what is known of the judged ones.

    With r the share of all pairs, e that of the judged pairs that have an invalid wording and s that of judged pairs
    that are hits and have one, it is (r - s) / (1 - e). Judged wordings are taken for a random part of all. Arrays have
    shape (n_pairs,): `invalid` is in [0, 1], nan where a wording is not judged; `weights` say how much a pair counts.
    Refused below 10 judged pairs with an invalid wording, and where all have one.

    Examples
    --------
    >>> hits, invalid = [1] * 80 + [0] * 20, [0.0] * 80 + [1.0] * 16 + [0.0] * 4
    >>> round(rate_among_valid(hits, invalid, [1.0] * 100, range(100)).value, 4)  # 80 of 84
    0.9524
    """
    marks, size = np.asarray(invalid, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    is_judged, hit = ~np.isnan(marks), np.asarray(hits, dtype=np.float64)
    n_pairs, n_invalid = int(is_judged.sum()), int((marks > 0.5).sum())
    is_void = n_invalid >= LEAST_LABELS and not (size * (marks < 1.0)).any()
    if n_invalid < LEAST_LABELS or is_void:
        text, nan = f"{n_invalid} judged pairs have an invalid wording, and {LEAST_LABELS} are needed", math.nan
        text = "every judged pair has an invalid wording" if is_void else text
        return AmongValid(value=nan, confidence_interval=[nan, nan], n_pairs=n_pairs, n_invalid=n_invalid, refused=text)
    bad, judged = size * np.where(is_judged, marks, 0.0), size * is_judged
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    units = Units.of_rows(np.stack([size, size * hit, judged, bad, bad * hit], axis=1), codes)
    value, ends = _among_valid_interval(units, confidence_level)
    return AmongValid(value=value, confidence_interval=ends, n_pairs=n_pairs, n_invalid=n_invalid)


def _among_valid_interval(units: Units, confidence_level: float) -> tuple[float, list[float]]:
    """Return the rate among valid pairs and Fieller's interval: its ends are with half a unit more, valid or invalid.

    The former is no hit, for the lower end, the latter is for the upper one: such problems may not have been judged.

    `units` have the sums of all pairs, of hits, of judged pairs, of invalid ones and of those that are hits.
    """

    def parts(units: Units) -> tuple[Floats, Floats]:
        """Return what each unit adds to the shares of valid hits and of valid pairs, linearised."""
        every, of_hits, of_judged, of_bad, of_both = units.total[1:]
        _, size, hits, judged, bad, both = units.sums.T
        rate, bad_rate, both_rate = of_hits / every, of_bad / of_judged, of_both / of_judged
        of_valid = (hits - rate * size) / every - (both - both_rate * judged) / of_judged
        valid = (bad_rate * judged - bad) / of_judged
        return of_valid + (rate - both_rate) / units.n, valid + (1.0 - bad_rate) / units.n

    of_valid, valid = parts(units)
    ratio = float(units.multiplicity @ of_valid / (units.multiplicity @ valid))
    value, only_judged = min(max(ratio, 0.0), 1.0), [3]  # groups without a judged pair do not count
    if too_few(units, only_judged)[0] or np.abs(of_valid - ratio * valid).max() < 1e-12:
        return value, [math.nan, math.nan]
    quantile = float(stdtrit(units.effective(only_judged)[0] - 1.0, 0.5 + confidence_level / 2.0))
    half = units.total[3] / units.counted(only_judged)[0] / 2.0
    found = [ratio_interval(of_valid, valid, units.multiplicity, quantile)]
    for row in ([0.0, half, 0.0, half, 0.0, 0.0], [0.0, 0.0, 0.0, half, half, 0.0]):
        more = Units.of(np.vstack([units.sums, row]), [*units.multiplicity, 1])
        found.append(ratio_interval(*parts(more), more.multiplicity, quantile))
    if np.isnan(found).any():
        return value, [0.0, 1.0]
    low, high = min(ends[0] for ends in found[:2]), max(ends[1] for ends in found[::2])
    return value, [min(max(low, 0.0), value), max(min(high, 1.0), value)]


def label_share(labels: Any, groups: Any, confidence_level: float = 0.95) -> tuple[float, list[float]]:
    """Return the mean of people's labels, in [0, 1], with its interval over clusters.

    >>> share, (low, high) = label_share([1.0, 0.0, 0.0, 0.0], [0, 1, 2, 3])
    >>> share, low < share < high
    (0.25, True)
    """
    units = CheckedUnits.of(np.ones(len(labels), dtype=np.bool_), labels, groups=groups)
    fit = _fit(units, False, confidence_level)
    share, low, high = fit.yes
    if fit.n_clusters < fit.n_labels:
        by_problem = _by_problem(units.groups, np.ones(len(labels)), units.labels, confidence_level)
        low, high = min(low, by_problem[0]), max(high, by_problem[1])
    return share, [low, high]


class _Part(NamedTuple):
    """People's share of yes among units with one verdict, with the limits of its interval."""

    share: float
    low: float
    high: float

    @property
    def less(self) -> _Part:
        return _Part(1.0 - self.share, 1.0 - self.high, 1.0 - self.low)


class _Fit(NamedTuple):
    """A rate's estimate and what its uncertainty is made of."""

    value: float
    error: float
    sampled: float  # the part of its square that is due to problems
    influence: Floats  # each unit's part in the sampling error, shape (n,)
    label_weights: Floats  # what each label counts of all units, shape (n,)
    observed: float
    observed_error: float
    yes: _Part  # units with the verdict yes
    no: _Part
    n_units: int
    n_labels: int
    n_clusters: int
    quantile: float
    ends: dict[str, list[float]]  # of the observed and the corrected rate


def _post_strata(units: CheckedUnits) -> NDArray[np.intp]:
    """Number the verdicts and their parts; a part with few labels joins the largest of its verdict."""
    codes = np.unique(np.stack([units.verdicts, units.strata]), axis=1, return_inverse=True)[1].ravel()
    n = np.bincount(codes, units.is_labelled)
    for verdict in (True, False):
        own = np.unique(codes[units.verdicts == verdict])
        if len(own):
            codes[np.isin(codes, own[n[own] < _LEAST_OF_STRATUM])] = own[np.argmax(n[own])]
    return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.intp)


def _fit(units: CheckedUnits, of_set: bool, confidence_level: float) -> _Fit:
    post, is_labelled, weights = _post_strata(units), units.is_labelled, units.weights / units.weights.sum()
    codes = np.unique(units.groups, return_inverse=True)[1].reshape(len(post), -1)
    dyads = Dyads(codes[:, 0], codes[:, -1])

    def variance(parts: Floats) -> float:
        return max(dyads.connected(parts), float(parts @ parts) if codes.shape[1] > 1 else 0.0)

    sizes, n_labelled = np.bincount(post, weights), np.bincount(post, is_labelled)
    raw = np.where(is_labelled, weights * units.sampling, 0.0)
    whole = np.maximum(np.bincount(post, raw), 1e-300)
    inside = raw / whole[post]  # sums to 1 over the labels of a post-stratum
    n = np.where(n_labelled > 0, 1.0 / np.maximum(np.bincount(post, inside**2), 1e-300), 0.0)  # Kish's effective number
    filled = np.where(is_labelled, units.labels, 0.0)
    means = np.where(n > 0.0, np.bincount(post, raw * filled) / whole, 0.5)  # labels that are all 1 have exactly 1
    left = np.sqrt(1.0 - n_labelled / np.bincount(post)) if of_set else np.ones(len(n))
    of_labels = inside * (filled - means[post]) * (sizes * left)[post]
    n_groups, stretch, alone = len(np.unique(codes[is_labelled])), 1.0, float(of_labels @ of_labels)
    n_clusters = min(n_groups, int(n_labelled.sum()))
    if n_groups < codes[is_labelled].size and alone > NO_SPREAD**2:  # beyond rounding
        stretch = max(variance(of_labels) / alone, 1.0)  # the design effect of the labels
    smoothed = _inside(means, n)
    spread = smoothed * (1.0 - smoothed) / np.maximum(n - 1.0, 1.0) * left**2 * stretch
    n_all = len(np.unique(codes))
    freedom = max((n_clusters or n_all) - len(n), 1)
    quantile = float(stdtrit(freedom, 0.5 + confidence_level / 2.0))
    value, observed = (min(float(share), 1.0) for share in (sizes @ means, weights @ units.verdicts))
    of_units, square = weights * (means[post] - value), variance(weights * (units.verdicts - observed))
    inner = _inside(observed, n_all)
    square = square if square > NO_SPREAD**2 else inner * (1.0 - inner) / n_all  # all verdicts are the same
    # problems with many verdicts yes may also have more labels yes than others with the same verdict
    both = max(variance(of_units + of_labels) - stretch * alone, 0.0)
    sampled, square = (0.0, 0.0) if of_set else (both, square)
    error, observed_error = math.sqrt(float(sizes**2 @ spread) + sampled), math.sqrt(square)

    def part(verdict: bool) -> tuple[float, float, float]:
        held = np.unique(post[units.verdicts == verdict])
        if not len(held):
            return 0.5, math.inf, 0.5  # anything is possible
        share = sizes[held] / sizes[held].sum()
        return float(share @ means[held]), math.sqrt(share**2 @ spread[held]), float(share @ smoothed[held])

    rates = [part(True), part(False), (observed, observed_error, inner), (value, error, float(sizes @ smoothed))]
    yes, no, of_observed, of_value = _limits(rates, quantile, confidence_level)
    return _Fit(
        value=value,
        error=error,
        sampled=sampled,
        influence=of_labels if of_set else of_labels + of_units,
        label_weights=inside * sizes[post],
        observed=observed,
        observed_error=observed_error,
        yes=_Part(rates[0][0], *yes),
        no=_Part(rates[1][0], *no),
        n_units=len(post),
        n_labels=int(n_labelled.sum()),
        n_clusters=n_clusters,
        quantile=quantile,
        ends={"observed": of_observed, "corrected": of_value},
    )


def _limits(rates: Sequence[tuple[float, float, float]], quantile: float, level: float) -> list[list[float]]:
    """Return the mid-P interval of each (value, error, inner).

    It is that for the number of units of which a share `inner`, inside of (0, 1), has this error.
    """
    value, error, inner = np.array(rates).T[:, :, np.newaxis]
    is_known = ~(error > 0.0)
    size = inner * (1.0 - inner) * (ndtri(0.5 + level / 2.0) / (quantile * np.where(is_known, 1.0, error))) ** 2
    hits, misses = np.maximum(value * size, 1e-12), np.maximum((1.0 - value) * size, 1e-12)
    low, high, wanted = np.zeros((len(rates), 2)), np.ones((len(rates), 2)), 0.5 + level / 2.0 * np.array([-1.0, 1.0])
    for _ in range(50):  # by halves: half the chance of as many, and the chance of more
        middle = (low + high) / 2.0
        is_below = (betainc(hits, misses + 1.0, middle) + betainc(hits + 1.0, misses, middle)) / 2.0 < wanted
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    ends: list[list[float]] = np.where(is_known, value, np.stack([low[:, 0], high[:, 1]], axis=1)).tolist()
    return ends


def _inside(share: Any, n: Any) -> Any:
    """Return shares of n with half a one and half a zero added."""
    return (share * n + 0.5) / (n + 1.0)


def _by_problem(groups: NDArray[Any], weights: Floats, values: NDArray[Any], level: float) -> tuple[float, float]:
    """Return an interval of the weighted mean of values in [0, 1] over groups; (1, 0) for one, which carries none.

    What is rare may be so throughout a problem, and such problems may be missing from a sheet of 50. `rare_interval`
    adds half a problem (Fay and Feuer 1997), `_limits` half a label: alone, these held 87 to 93 %.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    sizes, sums = (np.bincount(codes, each).astype(np.float64) for each in (weights, weights * values))
    held = sizes > 1e-12
    sizes, sums = sizes[held], np.minimum(sums, sizes)[held]
    if len(sizes) < 2:
        return 1.0, 0.0
    most = max(weights.sum() ** 2 / float(weights @ weights), len(sizes))
    return rare_interval(sizes, sums, np.ones(len(sizes), dtype=np.intp), level, most)


def _found(fit: _Fit, yes: _Part, no: _Part, by_problem: tuple[float, float]) -> Rate:
    """Return the share of verdicts yes among units that `yes` and `no` are shares of, its error and interval.

    The distances that the limits of each part make are squared and added (MOVER: Zou and Donner 2008, Statistics in
    Medicine 27, 1693-1702); the interval also spans that `by_problem`. All are nan where both parts are 0.
    """
    if not fit.observed * yes.share + (1.0 - fit.observed) * no.share > 0.0:
        return math.nan, math.nan, [math.nan, math.nan]

    def share(*parts: float) -> float:
        of_yes, of_no, observed = parts
        return observed * of_yes / max(observed * of_yes + (1.0 - observed) * of_no, 1e-300)

    values, half = (yes.share, no.share, fit.observed), fit.quantile * fit.observed_error
    lower = (yes.low, no.high, max(fit.observed - half, 0.0))
    upper = (yes.high, no.low, min(fit.observed + half, 1.0))
    moved = [[share(*values[:i], end, *values[i + 1 :]) for i, end in enumerate(ends)] for ends in (lower, upper)]
    value = share(*values)
    low = min(value - math.dist(moved[0], [value] * 3), by_problem[0])
    high = max(value + math.dist(moved[1], [value] * 3), by_problem[1])
    return value, (high - low) / 2.0 / fit.quantile, [max(low, 0.0), min(high, 1.0)]


def _refusal(units: CheckedUnits, values: dict[str, float], fit: _Fit) -> tuple[str, int | None]:
    """Return why these labels carry no correction, and how many would; an empty text where they do."""
    for verdict, word in ((True, "yes"), (False, "no")):
        n_all = int((units.verdicts == verdict).sum())
        n = int(((units.verdicts == verdict) & units.is_labelled).sum())
        if n < (least := min(LEAST_LABELS, n_all)):
            text = f"{n} of its {n_all:,} verdicts {word} were checked, and {least} are needed"
            return text, fit.n_labels + least - n
    # sensitivity is above the false-match rate where people say yes more often to verdicts yes than to verdicts no
    gap, half = fit.yes.share - fit.no.share, math.hypot(fit.yes.share - fit.yes.low, fit.no.high - fit.no.share)
    # labels that are nearly all alike need no comparer, nor do those of different problems: to show only sheets that
    # happen to hold more of the rare ones would miss too often
    low, high = fit.ends["corrected"]
    is_sure = not 1e-9 < fit.value < 1.0 - 1e-9 or low > _NEARLY_ALL or high < 1.0 - _NEARLY_ALL
    if gap > half or units.groups.ndim > 1 or is_sure:
        return "", None
    is_hopeless = gap <= 0.01 or not 0.0 < fit.observed < 1.0  # verdicts that are all the same correct nothing
    n_needed = None if is_hopeless else math.ceil(fit.n_labels * (half / gap) ** 2) + 1
    text = f"its sensitivity {values['sensitivity']:.2f} is not above its false-match rate "
    text += f"{values['false_match_rate']:.2f} by more than chance: "
    return text + ("it needs another comparer" if n_needed is None else f"about {n_needed:,} labels would do"), n_needed
