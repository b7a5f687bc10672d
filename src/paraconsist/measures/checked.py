"""Errors of a comparer of answers, and rates corrected for them, from a sample of its verdicts that people checked.

A comparer gives every unit (a pair of answers, or an answer and its accepted ones) a verdict; people label a sample of
the units, drawn from strata of the verdicts with known probabilities. Where people labelled the units that are
measured, rates are corrected by prediction-powered inference (Angelopoulos et al. 2023, Science 382, 669-674): the mean
of the verdicts over all units plus the weighted mean of label less verdict over the sample. It is computed here as the
mean over strata of the share that people say yes to, which for strata of verdicts is the same estimator with the best
power tuning, whatever its lambda. Errors measured on other units correct a rate by Rogan and Gladen (1978, American
Journal of Epidemiology 107, 71-76).

Intervals of corrected rates are symmetric on the logit scale. Their variance is that of the strata's means, each with
half a label yes and half a label no added (20 labels that agree prove no stratum free of errors), times the design
effect of clusters, plus that of the units themselves. Those of the comparer's errors combine a Wilson interval for each
stratum (MOVER: Zou and Donner 2008, Statistics in Medicine 27, 1693-1702).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from paraconsist.errors import check_fraction, input_error
from paraconsist.measures.results import Record

Floats = NDArray[np.float64]
Limits = tuple[float, float]

#: Labels of a verdict without which nothing is corrected, and of a stratum, below which it joins the others.
LEAST_LABELS, _LEAST_OF_STRATUM = 10, 8


@dataclass(frozen=True)
class CheckedUnits:
    """The n units of one model, some of which people labelled; all arrays have shape (n,).

    Attributes
    ----------
    verdicts : ndarray of bool
        The comparer's.
    labels : ndarray of float
        People's, in [0, 1]: the mean where there are several; nan where a unit has none.
    weights : ndarray of float
        How much each unit counts in the rate, above 0, in any unit.
    sampling : ndarray of float
        Of labelled units: 1 over the probability of having been drawn, up to a factor.
    strata : ndarray of int
        Parts of the verdicts that labels were drawn from, such as halves by similarity.
    groups : ndarray
        Clusters: units of different clusters are independent.
    """

    verdicts: NDArray[np.bool_]
    labels: Floats
    weights: Floats
    sampling: Floats
    strata: NDArray[np.intp]
    groups: NDArray[Any]

    @classmethod
    def of(
        cls,
        verdicts: Sequence[bool] | NDArray[Any],
        labels: Sequence[float] | NDArray[Any],
        *,
        weights: Any = None,
        sampling: Any = None,
        strata: Any = None,
        groups: Any = None,
    ) -> CheckedUnits:
        """Return units with defaults: equal weights, a simple random sample of each verdict, independent units.

        InputError if lengths differ, or a label is outside [0, 1].
        """
        said, marks = np.asarray(verdicts, dtype=np.bool_), np.asarray(labels, dtype=np.float64)
        n = len(said)
        columns = {"labels": marks, "weights": weights, "sampling": sampling, "strata": strata, "groups": groups}
        for name, column in columns.items():
            if column is not None and len(column) != n:
                raise input_error("corrected_rate", name, f"have the length of `verdicts`, {n}", got=len(column))
        if ((marks < 0.0) | (marks > 1.0)).any():
            raise input_error("corrected_rate", "labels", "lie between 0 and 1, or be nan", got=float(np.nanmax(marks)))
        ones = np.ones(n)
        return cls(
            said,
            marks,
            ones if weights is None else np.asarray(weights, dtype=np.float64),
            ones if sampling is None else np.asarray(sampling, dtype=np.float64),
            np.zeros(n, dtype=np.intp) if strata is None else np.asarray(strata, dtype=np.intp),
            np.arange(n) if groups is None else np.asarray(groups),
        )

    def where(self, mask: NDArray[np.bool_]) -> CheckedUnits:
        """Return the units of a mask."""
        return CheckedUnits(**{name: column[mask] for name, column in vars(self).items()})

    @property
    def is_labelled(self) -> NDArray[np.bool_]:
        """Which units have a label, shape (n,)."""
        return np.asarray(~np.isnan(self.labels))


@dataclass(frozen=True, kw_only=True)
class Corrected(Record):
    """A rate as the comparer has it and as people would; all rates are shares in [0, 1].

    Attributes
    ----------
    n_units, n_labels, n_clusters : int
        Units of the rate, those of them with a label, and clusters of these.
    observed : float
        The share of units with the comparer's verdict yes.
    corrected : float
        The share that people would say yes to; nan where it is refused.
    sensitivity : float
        Of the units that people say yes to, the share with the comparer's verdict yes. Up is good.
    false_match_rate : float
        Of the units that people say no to, the share with the comparer's verdict yes. Down is good.
    standard_error : float
        Of `corrected`.
    confidence_interval : dict of str to list of two floats
        Of the four rates.
    method : str
        ``prediction_powered`` or ``rogan_gladen``.
    refused : str
        Why there is no corrected rate; empty where there is one.
    n_needed : int or None
        Labels that would do where it is refused; None where no number would.
    """

    n_units: int
    n_labels: int
    n_clusters: int
    observed: float
    corrected: float
    sensitivity: float
    false_match_rate: float
    standard_error: float
    confidence_interval: dict[str, list[float]]
    method: str
    refused: str = ""
    n_needed: int | None = None


@dataclass(frozen=True, kw_only=True)
class CorrectedDifference(Record):
    """A difference of two corrected rates on the same problems, the first less the second, in [-1, 1]."""

    difference: float
    standard_error: float
    confidence_interval: list[float]


def corrected_rate(units: CheckedUnits, *, confidence_level: float = 0.95, of_set: bool = False) -> Corrected:
    """Return a rate corrected by labels of people on a sample of its units, with the comparer's errors.

    Parameters
    ----------
    units : CheckedUnits
        All units of the rate, with the labels of those that people checked.
    confidence_level : float
        Of the intervals.
    of_set : bool
        Whether the interval is for people's value on these units; by default it is for the population of problems.

    Returns
    -------
    Corrected
        The correction is refused (`refused` says why) where a verdict has too few labels, or sensitivity is not
        above the false-match rate by more than its uncertainty.

    Raises
    ------
    InputError
        If no unit has a label.

    Examples
    --------
    >>> verdicts = [True] * 60 + [False] * 40
    >>> labels = [1.0] * 18 + [0.0] * 2 + [float("nan")] * 40 + [1.0] * 5 + [0.0] * 15 + [float("nan")] * 20
    >>> round(corrected_rate(CheckedUnits.of(verdicts, labels)).corrected, 4)  # .6 * 18/20 + .4 * 5/20
    0.64
    """
    check_fraction("corrected_rate", "confidence_level", confidence_level)
    estimate = _Estimate(units, confidence_level, of_set)
    n_labels = int(units.is_labelled.sum())
    if not n_labels:
        raise input_error("corrected_rate", "labels", "hold at least one label", got=0)
    (high_share, low_share), share = estimate.shares_of_verdicts, estimate.observed
    rates: dict[str, float] = {"observed": share}
    ends: dict[str, Limits] = {"observed": estimate.observed_limits}
    parts = (high_share[0], low_share[0], share), (high_share[1], low_share[1], estimate.observed_limits)
    for name, function in (("sensitivity", _sensitivity), ("false_match_rate", _false_match_rate)):
        rates[name], ends[name] = function(*parts[0]), _square_and_add(function, *parts)
    refused, n_needed = _refusal(units, rates, ends)
    if refused:
        rates["corrected"], ends["corrected"], error = math.nan, (math.nan, math.nan), math.nan
    else:
        rates["corrected"], ends["corrected"], error = estimate.value, estimate.limits, estimate.standard_error
    return Corrected(
        n_units=len(units.verdicts),
        n_labels=n_labels,
        n_clusters=len(np.unique(units.groups[units.is_labelled])),
        **rates,
        standard_error=error,
        confidence_interval={name: list(ends[name]) for name in rates},
        method="prediction_powered",
        refused=refused,
        n_needed=n_needed,
    )


def corrected_difference(
    first: CheckedUnits, second: CheckedUnits, *, confidence_level: float = 0.95, of_set: bool = False
) -> CorrectedDifference:
    """Return the difference of two models' corrected rates, paired by `groups`.

    InputError if a rate's correction is refused.
    """
    for units in (first, second):
        if refused := corrected_rate(units, confidence_level=confidence_level).refused:
            raise input_error("corrected_difference", "units", "carry a correction", got=refused)
    one, two = (_Estimate(units, confidence_level, of_set) for units in (first, second))
    _, codes = np.unique(np.concatenate([first.groups, second.groups]), return_inverse=True)
    sums = [
        np.bincount(codes[part], weights=each.influence, minlength=int(codes.max()) + 1)
        for each, part in ((one, slice(len(first.groups))), (two, slice(len(first.groups), None)))
    ]
    shared = float(sums[0] @ sums[1])
    product = math.sqrt(float(sums[0] @ sums[0]) * float(sums[1] @ sums[1]))
    correlation = shared / product if product > 0.0 else 0.0
    errors = one.standard_error, two.standard_error
    variance = errors[0] ** 2 + errors[1] ** 2 - 2.0 * correlation * errors[0] * errors[1]
    value, error = one.value - two.value, math.sqrt(max(variance, 0.0))
    half = max(one.quantile, two.quantile) * error
    ends = [max(value - half, -1.0), min(value + half, 1.0)]
    return CorrectedDifference(difference=value, standard_error=error, confidence_interval=ends)


def rogan_gladen(units: CheckedUnits, checked: CheckedUnits, *, confidence_level: float = 0.95) -> Corrected:
    """Return the rate of `units`, none of them checked, corrected by the errors that labels on `checked` units show.

    (observed - f) / (s - f) with sensitivity s and false-match rate f, cut to [0, 1]: valid where the comparer errs as
    often on these units as on those that were checked.

    Examples
    --------
    >>> checked = CheckedUnits.of([True] * 50 + [False] * 50, [1.0] * 45 + [0.0] * 10 + [1.0] * 5 + [0.0] * 40)
    >>> unchecked = CheckedUnits.of([True] * 60 + [False] * 40, [float("nan")] * 100)
    >>> round(rogan_gladen(unchecked, checked).corrected, 4)  # s = 45/50, f = 5/50
    0.625
    """
    errors = corrected_rate(checked, confidence_level=confidence_level)
    estimate = _Estimate(units, confidence_level, False)
    ends = {**errors.confidence_interval, "observed": list(estimate.observed_limits), "corrected": [math.nan, math.nan]}
    result = replace(
        errors,
        n_units=len(units.verdicts),
        observed=estimate.observed,
        corrected=math.nan,
        standard_error=math.nan,
        confidence_interval=ends,
        method="rogan_gladen",
    )
    if errors.refused:
        return result
    names = ("observed", "sensitivity", "false_match_rate")
    values = tuple(float(result[name]) for name in names)
    limits = tuple((ends[name][0], ends[name][1]) for name in names)
    low, high = _square_and_add(_solved, values, limits)
    quantile = float(stdtrit(max(errors.n_clusters - 2, 1), 0.5 + confidence_level / 2.0))
    error = (high - low) / 2.0 / quantile
    return replace(
        result, corrected=_solved(*values), standard_error=error, confidence_interval={**ends, "corrected": [low, high]}
    )


def differs(one: Corrected, other: Corrected) -> bool:
    """Return whether the comparer's errors differ between two models: an interval of a difference excludes 0."""
    for name in ("sensitivity", "false_match_rate"):
        (low, high), (other_low, other_high) = one.confidence_interval[name], other.confidence_interval[name]
        value, theirs = one[name], other[name]
        gap = value - theirs
        distances = (value - low, other_high - theirs) if gap > 0.0 else (high - value, theirs - other_low)
        if abs(gap) > math.hypot(*distances):
            return True
    return False


def agreement(first: Sequence[bool], second: Sequence[bool]) -> tuple[float, float]:
    """Return how often two people mark the same units alike, in [0, 1], and Cohen's (1960) kappa, in [-1, 1].

    kappa is nan where both always give the same one mark.

    >>> agreement([True, True, False, False], [True, False, False, False])
    (0.75, 0.5)
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not len(one):
        return math.nan, math.nan
    alike = float((one == two).mean())
    chance = float(one.mean() * two.mean() + (1.0 - one.mean()) * (1.0 - two.mean()))
    return alike, (alike - chance) / (1.0 - chance) if chance < 1.0 else math.nan


# ---- how it is computed


def _sensitivity(among_yes: float, among_no: float, share: float) -> float:
    """Return P(verdict yes | people yes) from people's share of yes among the two verdicts and the share of yes."""
    found, missed = share * among_yes, (1.0 - share) * among_no
    return found / (found + missed) if found + missed > 0.0 else math.nan


def _false_match_rate(among_yes: float, among_no: float, share: float) -> float:
    return _sensitivity(1.0 - among_yes, 1.0 - among_no, share)


def _solved(observed: float, sensitivity: float, false_match_rate: float) -> float:
    """Return the Rogan-Gladen rate, in [0, 1]; 1 and 0 where the errors are too large for one."""
    gap = sensitivity - false_match_rate
    if gap <= 0.0:
        return float(observed > false_match_rate)
    return min(max((observed - false_match_rate) / gap, 0.0), 1.0)


def _square_and_add(function: Callable[..., float], values: Sequence[float], limits: Sequence[Limits]) -> Limits:
    """Return limits of a function, monotone in each of several values, from independent limits of these."""
    value, below, above = function(*values), 0.0, 0.0
    for place, ends in enumerate(limits):
        moved = [function(*values[:place], end, *values[place + 1 :]) - value for end in ends]
        below, above = below + min(*moved, 0.0) ** 2, above + max(*moved, 0.0) ** 2
    return max(value - math.sqrt(below), 0.0), min(value + math.sqrt(above), 1.0)


def _wilson(share: float, n: float, quantile: float) -> Limits:
    """Return the Wilson interval of a share of n, which need be no whole number."""
    if not n > 0.0:
        return 0.0, 1.0
    square = quantile**2 / n
    centre = (share + square / 2.0) / (1.0 + square)
    half = quantile / (1.0 + square) * math.sqrt(max(share * (1.0 - share), 0.0) / n + square / (4.0 * n))
    return (0.0 if share <= 0.0 else max(centre - half, 0.0)), (1.0 if share >= 1.0 else min(centre + half, 1.0))


def _refusal(units: CheckedUnits, rates: dict[str, float], ends: dict[str, Limits]) -> tuple[str, int | None]:
    """Return why these labels carry no correction, and how many would; an empty text where they do."""
    n_labels = int(units.is_labelled.sum())
    for verdict, word in ((True, "yes"), (False, "no")):
        of_verdict = units.verdicts == verdict
        n, n_all = int((of_verdict & units.is_labelled).sum()), int(of_verdict.sum())
        if n < min(LEAST_LABELS, n_all):
            wanted = min(LEAST_LABELS, n_all)
            text = f"{n} of the {n_all:,} verdicts {word} were checked, and {wanted} are needed"
            return text, n_labels + wanted - n
    sensitivity, false = rates["sensitivity"], rates["false_match_rate"]
    if math.isnan(sensitivity) or math.isnan(false):
        return "", None  # people give all units one label: their share needs no comparer
    gap = sensitivity - false
    half = math.hypot(sensitivity - ends["sensitivity"][0], ends["false_match_rate"][1] - false)
    if gap > half:
        return "", None
    n_needed = math.ceil(n_labels * (half / gap) ** 2) + 1 if gap > 0.01 else None
    text = f"its sensitivity {sensitivity:.2f} is not above its false-match rate {false:.2f} by more than chance"
    more = "another comparer is needed" if n_needed is None else f"about {n_needed:,} labels would tell"
    return f"{text}: {more}", n_needed


@dataclass(frozen=True)
class _Estimate:
    """The mean over post-strata of people's labels, and what its interval is made of."""

    units: CheckedUnits
    confidence_level: float
    of_set: bool

    @cached_property
    def post(self) -> NDArray[np.intp]:
        """Post-strata: verdicts and their parts; a part with few labels joins the largest of its verdict."""
        units = self.units
        codes = np.unique(np.stack([units.verdicts, units.strata]), axis=1, return_inverse=True)[1].ravel()
        n = np.bincount(codes, weights=units.is_labelled)
        for verdict in (True, False):
            of_verdict = np.unique(codes[units.verdicts == verdict])
            few = of_verdict[n[of_verdict] < _LEAST_OF_STRATUM]
            if len(few) and len(of_verdict) > 1:
                codes[np.isin(codes, few)] = of_verdict[np.argmax(n[of_verdict])]
        return np.unique(codes, return_inverse=True)[1].astype(np.intp)

    @cached_property
    def sizes(self) -> Floats:
        """The share of the units' weight in each post-stratum."""
        weights = np.bincount(self.post, weights=self.units.weights)
        return np.asarray(weights / weights.sum())

    @cached_property
    def label_weights(self) -> Floats:
        """Weight of each unit's label within its post-stratum, shape (n,): they sum to 1 there, 0 without a label."""
        raw = np.where(self.units.is_labelled, self.units.weights * self.units.sampling, 0.0)
        sums = np.bincount(self.post, weights=raw)
        return raw / np.where(sums > 0.0, sums, 1.0)[self.post]

    @cached_property
    def n_effective(self) -> Floats:
        """Labels of each post-stratum, those of unequal weights counted less (Kish)."""
        squares = np.bincount(self.post, weights=self.label_weights**2)
        return np.where(squares > 0.0, 1.0 / np.where(squares > 0.0, squares, 1.0), 0.0)

    @cached_property
    def means(self) -> Floats:
        """Mean label of each post-stratum; .5 without labels."""
        filled = np.where(self.units.is_labelled, self.units.labels, 0.0)
        means = np.bincount(self.post, weights=self.label_weights * filled)
        return np.where(self.n_effective > 0.0, means, 0.5)

    @cached_property
    def observed(self) -> float:
        return float(np.average(self.units.verdicts, weights=self.units.weights))

    @cached_property
    def value(self) -> float:
        return float(self.sizes @ self.means)

    @cached_property
    def freedom(self) -> int:
        n = len(np.unique(self.units.groups[self.units.is_labelled]))
        return max(n - len(self.sizes), 1)

    @cached_property
    def quantile(self) -> float:
        return float(stdtrit(self.freedom, 0.5 + self.confidence_level / 2.0))

    @cached_property
    def _unlabelled_share(self) -> Floats:
        """What is left of the variance of each post-stratum's mean when its units are all there are."""
        n = np.bincount(self.post, weights=self.units.is_labelled)
        return np.sqrt(1.0 - n / np.bincount(self.post)) if self.of_set else np.ones(len(n))

    def _of_units(self, values: Floats) -> Floats:
        """Return each unit's part in the sampling error of a weighted mean of values over all units."""
        weights = self.units.weights / self.units.weights.sum()
        return np.asarray(weights * (values - weights @ values))

    @cached_property
    def _of_labels(self) -> Floats:
        """Each label's part in the sampling error, shape (n,)."""
        filled = np.where(self.units.is_labelled, self.units.labels, 0.0)
        errors = self.label_weights * (filled - self.means[self.post])
        return np.asarray(errors * (self.sizes * self._unlabelled_share)[self.post])

    @cached_property
    def influence(self) -> Floats:
        """Each unit's part in the sampling error of the value, shape (n,)."""
        return self._of_labels + (0.0 if self.of_set else self._of_units(self.means[self.post]))

    def _variance(self, parts: Floats) -> float:
        _, codes = np.unique(self.units.groups, return_inverse=True)
        sums = np.bincount(codes, weights=parts)
        return float(sums @ sums)

    @cached_property
    def stretch(self) -> float:
        """The square root of the labels' design effect, at least 1."""
        alone = float(self._of_labels @ self._of_labels)
        groups = self.units.groups[self.units.is_labelled]
        if alone <= 0.0 or len(np.unique(groups)) == len(groups):
            return 1.0
        return math.sqrt(max(self._variance(self._of_labels) / alone, 1.0))

    @cached_property
    def distances(self) -> tuple[Floats, Floats]:
        """How far each post-stratum's Wilson limits are below and above its mean, design effect included."""
        ends = [_wilson(p, n, self.quantile) for p, n in zip(self.means, self.n_effective, strict=True)]
        low, high = np.array(ends).T
        scale = self._unlabelled_share * self.stretch
        return (self.means - low) * scale, (high - self.means) * scale

    @cached_property
    def standard_error(self) -> float:
        smoothed = (self.means * self.n_effective + 0.5) / (self.n_effective + 1.0)
        spread = smoothed * (1.0 - smoothed) / np.maximum(self.n_effective - 1.0, 1.0)
        scale = self.sizes * self._unlabelled_share * self.stretch
        sampled = 0.0 if self.of_set else self._variance(self._of_units(self.means[self.post]))
        return math.sqrt(float(scale**2 @ spread) + sampled)

    @cached_property
    def limits(self) -> Limits:
        spread = self.value * (1.0 - self.value)
        if spread <= 0.0:  # all labels are one
            below, above = (float(np.sqrt((self.sizes * side) @ (self.sizes * side))) for side in self.distances)
            return max(self.value - below, 0.0), min(self.value + above, 1.0)
        centre, half = logit(self.value), self.quantile * self.standard_error / spread
        return float(expit(centre - half)), float(expit(centre + half))

    @cached_property
    def observed_limits(self) -> Limits:
        """Limits of the share of verdicts yes."""
        share = self.observed
        if self.of_set:
            return share, share
        n_groups = len(np.unique(self.units.groups))
        error = self._variance(self._of_units(self.units.verdicts.astype(np.float64)))
        n = share * (1.0 - share) / error if error > 0.0 else float(n_groups)
        return _wilson(share, n, float(stdtrit(max(n_groups - 1, 1), 0.5 + self.confidence_level / 2.0)))

    @property
    def shares_of_verdicts(self) -> tuple[tuple[float, Limits], tuple[float, Limits]]:
        """People's share of yes among the comparer's verdicts yes, and no, with limits; (0, 1) without units."""
        yes, no = (self._share_of(verdict) for verdict in (True, False))
        return yes, no

    def _share_of(self, verdict: bool) -> tuple[float, Limits]:
        held = np.zeros(len(self.sizes), dtype=np.bool_)
        held[self.post[self.units.verdicts == verdict]] = True
        if not held.any():
            return 0.5, (0.0, 1.0)
        part = self.sizes[held] / self.sizes[held].sum()
        value = float(part @ self.means[held])
        below, above = (float(np.sqrt((part * side[held]) @ (part * side[held]))) for side in self.distances)
        return value, (max(value - below, 0.0), min(value + above, 1.0))
