"""Resampling units (buckets, rows, or groups of them), and how measures vary over them.

A unit is known by what it adds to the sums that measures are functions of, and equal units are kept once with their
number (`Units`, `distinct`). From these come closed-form, cluster-robust standard errors (`standard_errors`,
`design_effects`) and replicates (`bootstrap`); `intervals` beside this file makes intervals of either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paraconsist.measures._validation import Integers
from paraconsist.measures.buckets import partition_integers

Floats = npt.NDArray[np.float64]

Estimate = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Sums (..., m) to measures (..., q), by complex-differentiable arithmetic only (no abs, maximum or clip)."""

NO_SPREAD = 1e-12
"""Standard errors up to this are rounding."""

_CELLS_AT_ONCE = 1 << 21  # bounds the memory of a bootstrap: 16 MiB of weights at a time
_SUMS_AT_ONCE = 512  # bounds that of a gradient: two sums for each of the variants that buckets share
_MULTINOMIAL_COST = 6  # a multinomial cell costs about this many single draws


def mean_of_sums(total: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return means from sums, the first of which is the number of rows: the commonest `Estimate`."""
    means: npt.NDArray[Any] = total[..., 1:] / total[..., :1]
    return means


@dataclass(frozen=True)
class Units:
    """The distinct resampling units."""

    sums: Floats  # the m sums of each distinct unit, shape (p, m)
    multiplicity: npt.NDArray[np.int64]  # how many units have these sums, shape (p,)

    @classmethod
    def of(cls, sums: Floats, multiplicity: npt.ArrayLike) -> Units:
        """Return the units with these sums and numbers."""
        return cls(sums, np.asarray(multiplicity, dtype=np.int64))

    @classmethod
    def of_rows(cls, values: Floats, groups: Integers | None) -> Units:
        """Return rows, or their groups, as units: the number of rows, then the sums of their values."""
        sums = np.concatenate([np.ones((len(values), 1)), values], axis=1)
        if groups is not None:
            sums = sums_by_group(sums, groups)
        rows, multiplicity = np.unique(sums, axis=0, return_counts=True)
        return cls.of(rows, multiplicity)

    @property
    def total(self) -> Floats:
        """The sums over all units, shape (m,)."""
        total: Floats = self.multiplicity @ self.sums
        return total

    @property
    def n(self) -> int:
        """The number of units."""
        return int(self.multiplicity.sum())

    @property
    def effective_n(self) -> float:
        """Kish's effective number of units, from the first sum of each: their number where all are of one size."""
        size = self.sums[:, 0]
        return float((self.multiplicity @ size) ** 2 / (self.multiplicity @ size**2))


def sums_by_group(sums: Floats, groups: Integers) -> Floats:
    """Return the sums of every group's rows, shape (n_groups, m); groups are codes from 0."""
    return np.stack([np.bincount(groups, weights=column) for column in sums.T], axis=1)


def group_units(sums: Floats, pattern: Integers, groups: Integers) -> Units:
    """Return groups of buckets as units.

    `sums`, shape (p, m), are those of each distinct bucket; `pattern` and `groups`, shape (n_buckets,), which distinct
    bucket each bucket is, and its group (codes from 0). Groups made of the same buckets are recognised by the wrapped
    sum of a random 64-bit number per distinct bucket: exact, whatever the order of the buckets (two different groups
    meet with probability 2**-64).
    """
    n_groups = int(groups.max()) + 1
    marks = np.random.default_rng(0).integers(0, 2**64, size=len(sums), dtype=np.uint64)
    content = np.zeros(n_groups, dtype=np.uint64)
    np.add.at(content, groups, marks[pattern])
    _, first, counts = np.unique(content, return_index=True, return_counts=True)
    return Units.of(sums_by_group(sums[pattern], groups)[first], counts)


def distinct(*columns: Integers) -> tuple[npt.NDArray[np.intp], Integers, npt.NDArray[np.intp]]:
    """Return the distinct rows of integer columns: index of one row of each, each row's code, multiplicities.

    Codes follow the lexicographic order of the rows, so they do not depend on the order or the names of
    buckets.
    """
    code = partition_integers(columns[0]).codes
    for column in columns[1:]:
        inner = partition_integers(column).codes
        code = partition_integers(code.astype(np.int64) * (int(inner.max()) + 1) + inner).codes
    n = int(code.max()) + 1
    first = np.empty(n, dtype=np.intp)
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1)
    return first, code, np.bincount(code, minlength=n)


def standard_errors(units: Units, estimate: Estimate) -> Floats:
    """Return the closed-form, cluster-robust standard errors of the measures, shape (q,); nan for one unit."""
    return linearised_errors(units, estimate).standard_error


class Linearised(NamedTuple):
    """What the influence of each unit says of q measures, each of shape (q,)."""

    #: Cluster-robust; each unit's influence is divided by 1 - h, h being its share of the first sum (the jackknife's
    #: correction, exact for means), so that a few large units do not make it too small. nan for one unit.
    standard_error: Floats
    #: Without that, and without the factor n / (n - 1): what a bootstrap of infinitely many resamples finds.
    bootstrap_error: Floats
    degrees_of_freedom: Floats  # Of the standard error, from the kurtosis of the influences (Satterthwaite).


def linearised_errors(units: Units, estimate: Estimate) -> Linearised:
    """Return the closed-form standard errors of the measures."""
    total, n, weight = units.total, units.n, units.multiplicity
    step = 1e-20 * max(1.0, float(np.abs(total).max()))
    with np.errstate(divide="ignore", invalid="ignore"):
        starts = range(0, len(total), _SUMS_AT_ONCE)
        steps = (1j * step * np.eye(min(_SUMS_AT_ONCE, len(total) - at), len(total), at) for at in starts)
        gradient = np.concatenate([estimate(total + each).imag for each in steps]) / step  # (m, q)
        influence = units.sums @ gradient  # (p, q)
        influence -= weight @ influence / n
        size = units.sums[:, 0] / total[0]
        variance = (n - 1) / n * (weight @ (influence / (1.0 - size)[:, np.newaxis]) ** 2)
        squares, fourth = weight @ influence**2, weight @ influence**4
        if n == 1:
            variance = np.full_like(squares, np.nan)
        spare = fourth - squares**2 / n
        degrees = np.where(spare > 0.0, 2.0 * squares**2 / spare, np.inf)
    return Linearised(np.sqrt(variance), np.sqrt(squares), degrees)


def design_effects(units: Units, independent: Units, estimate: Estimate) -> Floats:
    """Return how much larger the measures' variance is than if smaller units were independent, shape (q,).

    `independent` are the units that a naive analysis would take for independent: buckets or rows where `units` are
    groups. 1 where the two are the same, above 1 where units of a group resemble one another, nan where the sample has
    no spread. The number of units over the design effect is the effective sample size.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        clustered = standard_errors(units, estimate)
        naive = standard_errors(independent, estimate)
        spread = (clustered > NO_SPREAD) & (naive > NO_SPREAD)
        effects: Floats = np.where(spread, (clustered / naive) ** 2, np.nan)
    return effects


def bootstrap(units: Units, estimate: Estimate, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Return the measures on `n_resamples` resamples of the units, shape (n_resamples, q).

    Memory is bounded: about 16 MiB of weights at a time, whatever the numbers of units and resamples.
    """
    members, n = len(units.sums), units.n
    chunk = max(1, _CELLS_AT_ONCE // max(members, n if n < _MULTINOMIAL_COST * members else 0))
    replicates = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, n_resamples, chunk):
            weights = _weights(units.multiplicity, n, min(chunk, n_resamples - start), rng)
            replicates.append(estimate(weights @ units.sums))
    return np.concatenate(replicates)


def _weights(multiplicity: npt.NDArray[np.int64], n: int, size: int, rng: np.random.Generator) -> Floats:
    """Return how often each distinct unit occurs in each of `size` resamples of n units, shape (size, p)."""
    p = len(multiplicity)
    if n >= _MULTINOMIAL_COST * p:
        return rng.multinomial(n, multiplicity / n, size=size).astype(np.float64)
    drawn = rng.integers(0, n, size=(size, n))
    if p < n:
        drawn = np.repeat(np.arange(p), multiplicity)[drawn]
    drawn += (np.arange(size) * p)[:, np.newaxis]
    counts = np.bincount(drawn.ravel(), minlength=size * p)
    return counts.reshape(size, p).astype(np.float64)
