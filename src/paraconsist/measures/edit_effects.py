"""What flips it: how often answers break a rule where a rewording is of some kind, against other wordings.

A hard problem flips whatever is done to its text, and the kinds of edit are not spread evenly over problems, so that
the plain difference of two rates says which problems have rewordings of the kind as much as what these do. So wordings
are compared with the other wordings of the same bucket. Of the buckets that have both, with n1 wordings of the kind and
n0 others, each counts with n1 n0 / (n1 + n0) (Mantel and Haenszel's weights: a bucket with one wording on one side says
little, however many stand on the other), and both rates are means over these buckets with these weights. Where hardly
any bucket has both, as in sets with one rewording of each problem, all wordings are compared over all buckets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, ndtr, stdtr

from paraconsist.measures._estimates import IntervalOptions, interval_options
from paraconsist.measures._validation import Integers, as_column, as_mask, check_length
from paraconsist.measures.buckets import bucket_groups, partition, partition_integers
from paraconsist.measures.intervals import intervals
from paraconsist.measures.multiple_testing import adjusted_p_values
from paraconsist.measures.resampling import NO_SPREAD, Floats, Units, distinct, group_units
from paraconsist.measures.results import Record

LEAST_WORDINGS, LEAST_BUCKETS = 20, 5
"""A kind is not tested where fewer rewordings, or in fewer buckets, are of it, or are not."""

_MOST_CELLS = 1 << 21  # of the transforms of an exact test; beyond, the normal distribution takes its place
_LEAST_P = 1e-14  # rounding of the transforms


@dataclass(frozen=True)
class EditEffect(Record):
    """How much more often answers break the rule where a rewording is of a kind; rates are in [0, 1]."""

    kind: str
    n_with: int  # answers to rewordings of the kind
    n_without: int
    n_broken_with: int  # those that break the rule
    n_broken_without: int
    within_buckets: bool  # whether wordings are compared with others of their own bucket, or over all buckets
    n_buckets: int  # buckets that are compared: those with both, or all
    rate_with: float  # of the buckets that are compared, by their weights
    rate_without: float
    difference: float  # the first less the second
    confidence_interval: list[float]  # of the difference; nan where there are too few buckets or groups
    p_value: float
    corrected_p_value: float  # for all kinds that were tested (Benjamini and Hochberg)


@dataclass(frozen=True)
class EditEffects:
    """What `edit_effects` returns: the kinds that were tested, surest first, and the rewordings of each other kind."""

    effects: tuple[EditEffect, ...]
    untested: dict[str, int]


def edit_effects(
    broken: Any,
    kinds: Mapping[str, Any],
    buckets: Any,
    *,
    groups: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> EditEffects:
    r"""Compare how often answers flip where a rewording is of a kind, and where it is not.

    .. math:: \frac{\sum_b w_b (a_b / n_{1b} - c_b / n_{0b})}{\sum_b w_b}, \quad
              w_b = \frac{n_{1b} n_{0b}}{n_{1b} + n_{0b}}

    over the buckets b that have wordings of the kind (n1, of which a flip) and others (n0, of which c flip).

    Its p is the larger of two. One is exact (Mantel and Haenszel's statistic, with each bucket's number of flips as it
    is: any of its wordings might have been of the kind): it holds however buckets differ, and however few flips there
    are. The other is a t test over buckets or groups, as the interval is: it holds also where the effect differs from
    group to group. Where two kinds often come together, each has some of the other's effect.

    Parameters
    ----------
    broken : array of bool, shape (n,) or (n, n_models)
        Whether the answer to each rewording breaks the rule (is another than its original's); of several models, all
        are taken together.
    kinds : mapping of str to array of bool, shape (n,)
        As `paraconsist.measures.edit_kinds.edit_kinds` returns them.
    buckets : sequence of int or str, shape (n,)
    groups : sequence of int or str, shape (n,), optional
        What intervals resample, such as shared contexts; by default the buckets.
    interval_method : {"auto", "bootstrap", "closed_form"}
        Logit-t, a cluster bootstrap, or t.
    confidence_level, n_resamples, seed
        Of the intervals.

    Returns
    -------
    EditEffects
        A kind is tested where at least 20 rewordings in 5 buckets are of it, and as many are not. It is compared within
        buckets where at least 5 have both, with 20 rewordings of either, else over all.

    Raises
    ------
    InputError
        If columns are of different lengths, or bucket ids are missing, or a bucket is in two groups.

    References
    ----------
    Mantel, Haenszel (1959), "Statistical aspects of the analysis of data from retrospective studies of disease",
    Journal of the National Cancer Institute 22, 719-748; Benjamini, Hochberg (1995), "Controlling the false discovery
    rate", Journal of the Royal Statistical Society B 57, 289-300.

    Examples
    --------
    Thirty buckets of four wordings: the one with a negation always flips, one of the three others too.

    >>> rows = np.arange(120)
    >>> effects = edit_effects(rows % 4 < 2, {"negation": rows % 4 == 0}, rows // 4).effects
    >>> [(e.kind, e.n_with, round(e.rate_with, 2), round(e.rate_without, 2), e.p_value < 1e-6) for e in effects]
    [('negation', 30, 1.0, 0.33, True)]
    """
    function = "edit_effects"
    options = interval_options(function, interval_method, confidence_level, n_resamples, seed)
    divided = partition(buckets, function=function, parameter="buckets")
    n = len(divided.codes)
    answers = np.asarray(broken)
    models = [_flags("broken", column, n) for column in (answers.T if answers.ndim == 2 else [broken])]
    scores = np.sum(models, axis=0)
    flags = {kind: _flags(f"kinds[{kind!r}]", values, n) for kind, values in kinds.items()}
    grouped = None if groups is None else as_column(groups, function=function, parameter="groups")
    check_length(function, "groups", grouped or range(n), n, "buckets")
    clusters = bucket_groups(function, divided, grouped)
    tested = {
        kind: flag
        for kind, flag in flags.items()
        if all(
            side.sum() >= LEAST_WORDINGS and len(np.unique(divided.codes[side])) >= LEAST_BUCKETS
            for side in (flag, ~flag)
        )
    }
    effects = [
        _effect(kind, flag, scores, len(models), divided.codes, clusters, options) for kind, flag in tested.items()
    ]
    p_values = np.array([one.p_value for one in effects])
    adjusted = adjusted_p_values(p_values, "benjamini_hochberg") if effects else p_values
    effects = [replace(one, corrected_p_value=float(p)) for one, p in zip(effects, adjusted, strict=True)]
    effects.sort(key=lambda one: (one.corrected_p_value, -abs(one.difference)))
    return EditEffects(tuple(effects), {kind: int(flag.sum()) for kind, flag in flags.items() if kind not in tested})


def _effect(
    kind: str,
    flag: npt.NDArray[np.bool_],
    scores: Integers,
    n_models: int,
    buckets: Integers,
    clusters: Integers | None,
    options: IntervalOptions,
) -> EditEffect:
    """Compare the rows of a kind with others; `scores` says how many of the models break the rule in each row."""
    size, n1, total, a, squares = (
        np.bincount(buckets, weights=values).astype(np.int64)
        for values in (np.ones(len(flag)), flag, scores, scores * flag, scores**2)
    )
    both = (n1 > 0) & (n1 < size)
    n_least = min(int(n1[both].sum()), int((size - n1)[both].sum()))
    within = int(both.sum()) >= LEAST_BUCKETS and n_least >= LEAST_WORDINGS
    chosen = np.flatnonzero(both) if within else np.arange(len(size))
    first, code, times = distinct(n1[chosen], size[chosen], a[chosen], total[chosen])
    one, n, hits, flips = (column[chosen][first].astype(np.float64) for column in (n1, size, a, total))
    sums = np.stack([n, one, hits / n_models, n - one, (flips - hits) / n_models], axis=1)
    if within:  # rates of each bucket, by its weight
        weight = one * (n - one) / n
        sums = np.stack([weight, weight, weight * sums[:, 2] / one, weight, weight * sums[:, 4] / (n - one)], axis=1)
    units = Units.of(sums, times)
    if clusters is not None:
        units = group_units(sums, code, partition_integers(clusters[chosen]).codes)
    how: dict[str, Any] = {name: getattr(options, name) for name in ("method", "confidence_level", "n_resamples")}
    ranges, rng = [(0.0, 1.0), (0.0, 1.0), (-1.0, 1.0)], np.random.default_rng(options.entropy)
    bounds = intervals(units, _rates, ranges, [within] * 3, rng=rng, **how)
    with_kind, without, difference = map(float, _rates(units.total))
    strata = np.stack([n1, size, total, squares])[:, chosen]
    p = _permutation_p_value(strata if within else strata.sum(axis=1, keepdims=True), int(a[chosen].sum()), n_models)
    if (error := float(bounds.standard_error[2])) > NO_SPREAD:
        p = max(p, float(2.0 * stdtr(max(1.0, units.effective_n - 1.0), -abs(difference) / error)))
    n_with, n_broken = int(n1.sum()) * n_models, int(a.sum())
    n_without, n_broken_without = len(flag) * n_models - n_with, int(total.sum()) - n_broken
    ends = [float(bounds.low[2]), float(bounds.high[2])]
    counts = n_with, n_without, n_broken, n_broken_without, within, len(chosen)
    return EditEffect(kind, *counts, with_kind, without, difference, ends, p, p)


def _rates(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
    one, other = sums[..., 2] / sums[..., 1], sums[..., 4] / sums[..., 3]
    return np.stack([one, other, one - other], axis=-1)


def _permutation_p_value(strata: Integers, observed: int, n_models: int) -> float:
    """Return how often the flips of the rows of a kind would lie as far from what is expected, were these any rows.

    `strata`, shape (4, m): the rows of the kind in each stratum, all of its rows, their flips, and the squares of these
    (rows have several where there are several models). `observed` are the flips of the kind's rows.
    """
    n1, n, flips, squares = (column.astype(np.float64) for column in strata)
    expected = float((n1 * flips / n).sum())
    variance = float((n1 * (n - n1) / (n * (n - 1.0)) * (squares - flips**2 / n)).sum())
    if variance <= NO_SPREAD:
        return 1.0
    away = abs(observed - expected)
    index, _, times = distinct(*strata[:3])
    hypergeometrics = [_hypergeometric(*(int(value) for value in column)) for column in strata[:3, index].T]
    size = 1 + sum(int(count) * (len(mass) - 1) for (_, mass), count in zip(hypergeometrics, times, strict=True))
    if n_models > 1 or size * len(times) > _MOST_CELLS:
        return float(2.0 * ndtr(-max(away - 0.5, 0.0) / np.sqrt(variance)))
    from scipy.fft import irfft, next_fast_len, rfft

    length = next_fast_len(size, real=True)
    transform = np.ones(length // 2 + 1, dtype=np.complex128)
    least = 0
    for (low, mass), count in zip(hypergeometrics, times.tolist(), strict=True):
        transform *= rfft(mass, length) ** count
        least += low * count
    mass = np.maximum(irfft(transform, length)[:size], 0.0)
    beyond = np.abs(least + np.arange(size) - expected) >= away - 1e-9
    return float(np.clip(mass[beyond].sum(), _LEAST_P, 1.0))


def _hypergeometric(n1: int, n: int, flips: int) -> tuple[int, Floats]:
    """Return the least number of flips among n1 of n rows, and the chances of it and of each larger one."""
    least = max(0, flips - (n - n1))
    x = np.arange(least, min(n1, flips) + 1.0)
    logs = _log_binomial(flips, x) + _log_binomial(n - flips, n1 - x) - _log_binomial(n, n1)
    return least, np.asarray(np.exp(logs), dtype=np.float64)


def _log_binomial(n: float, k: Any) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def _flags(parameter: str, values: Any, n: int) -> npt.NDArray[np.bool_]:
    column = as_column(values, function="edit_effects", parameter=parameter)
    check_length("edit_effects", parameter, column, n, "buckets")
    return as_mask("edit_effects", parameter, column)
