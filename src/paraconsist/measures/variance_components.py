"""Variance components: how much of the variance of answers is between problems, wordings, repeats, judges.

Two rows share a set of levels: the problem, or problem and wording. If T are the sets of levels that may have an effect
(a level, or several together as an interaction) and c_T its variance, half the expected squared difference of two rows
that share exactly S is the sum of c_T over the T that S does not contain. The means over all pairs of rows are
therefore unbiased for sums of components, however unbalanced the design, and a linear system gives the components
(Hartley, Rao, LaMotte 1978, MINQUE(0); Koch 1967, "General estimators of variance components from squared
differences"). On balanced data they are those of the analysis of variance, and of REML where all are positive.

The sums over pairs follow from sums over groups of rows: sum over ordered pairs of (x_i - x_j)^2 / 2 = n sum x^2 -
(sum x)^2 in each group, and pairs that share exactly S from inclusion and exclusion over the sets that contain S. Each
cluster (value of the first level) counts once.

Intervals are of the jackknife over the values of each level that is nested in no other; where several are crossed, the
variances add up and those of their combinations are subtracted (Cameron, Gelbach, Miller 2011). A component is a
variance between means less the noise of these means: the t interval is on the logarithm of the former.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from paraconsist.errors import check_fraction, input_error
from paraconsist.measures.buckets import (
    Column,
    Floats,
    Integers,
    as_column,
    as_floats,
    check_length,
    check_rows,
    partition,
    partition_integers,
)
from paraconsist.measures.intervals import NO_SPREAD
from paraconsist.measures.results import Record, Result, documented, signature

_FUNCTION = "variance_components"
FEW_CLUSTERS = 8
"""With fewer values of a level there is no interval over them."""
RESIDUAL = "residual"
"""Rows that share all levels."""
_MOST_LEVELS = 6
_LEAST = 0.02  # of a variance between means, in the logarithm of a replicate that is below 0
_AT_ONCE = 1 << 16  # replicates: bounds the memory
_ROUNDING = 1e-12  # of the largest component; of the weight of all pairs


@dataclass(frozen=True, repr=False)
class Doubling(Record):
    """The predicted precision of the mean if there were twice as many values of a level, and twice as many calls."""

    level: str
    standard_error: float  # nan where the design does not tell
    ratio: float  # to the standard error of the present design


@dataclass(frozen=True, repr=False)
class VarianceComponentsResult(Result):
    """Where the variance of an outcome comes from, and what one more call is best spent on.

    Attributes
    ----------
    mean : float
        Of the outcome, each cluster counting once; nan for labels.
    variance : dict of str to float
        The variance component of each level and interaction, such as ``problem``, ``problem x wording``. Unbiased, so
        that one that is next to nothing may come out below 0. Components that the design cannot tell apart are one
        entry, ``wording + repeat``.
    share : dict of str to float
        The components over their sum.
    icc : dict of str to float
        Intraclass correlation: of two answers that share this level (with all that it is nested in) and no other.
    dependability : float
        Phi of generalizability theory: the share of the variance of the clusters' means that is between clusters, with
        the wordings, repeats and judges of this design; in [0, 1], up is good.
    doubled : tuple of Doubling
        What doubling each level would do to the standard error of the mean, best first; components below 0 count as 0.
    n_rows : int
    n_values : dict of str to int
        Of each level.
    nested_in : dict of str to list of str
        The levels that a level is nested in; empty if it is crossed with all others.
    confidence_interval, standard_error : dict of str
        By name, as ``variance/problem``, ``share/problem``, ``dependability``; nan where a component's levels have
        fewer than eight values.
    """

    mean: float
    variance: dict[str, float]
    share: dict[str, float]
    icc: dict[str, float]
    dependability: float
    doubled: tuple[Doubling, ...]
    n_rows: int
    n_values: dict[str, int]
    nested_in: dict[str, list[str]]

    def component(self, name: str) -> float:
        """Return one component; InputError if there is none of this name, or it cannot be told from another."""
        if name in self.variance:
            return self.variance[name]
        for joined in self.variance:
            if name in joined.split(" + "):
                raise input_error(_FUNCTION, "name", "be a component that the design can tell", got=name,
                                  remedy=f"It cannot tell {' and '.join(joined.split(' + '))} apart.")  # fmt: skip
        raise input_error(_FUNCTION, "name", f"be one of {', '.join(self.variance)}", got=name)


@documented("a level with one value, more than six levels, designs in which components cannot be estimated")
def variance_components(
    outcomes: Any,
    levels: Mapping[str, Any],
    *,
    nested: Sequence[str] = (),
    confidence_level: float = 0.95,
) -> VarianceComponentsResult:
    r"""Variance components of an outcome over problems, wordings, repeats, judges, and what to ask more of.

    The reader learns whether answers differ because problems differ, because of the wording, or because the same
    question gets another answer each time, and which of these is worth more calls.

    Parameters
    ----------
    outcomes : sequence of number or str, shape (n,)
        Numbers, such as 0 and 1 for wrong and right, or a judge's verdicts; texts are labels, of which the variance is
        the chance that two answers differ, halved (the sum of the variances of the labels' indicators).
    levels : mapping of str to sequence of int or str, shape (n,)
        The level of each row, by names of your choice; the first is the cluster, of which each counts once. A level is
        nested in another if each of its values occurs with one value of the other, else the two are crossed.
    nested : sequence of str, optional
        Levels whose values mean something only within the levels before them: repeats numbered 1, 2, 3 everywhere.
    confidence_level : float, default 0.95

    Examples
    --------
    Two judges that agree on which of four answers are good, and differ in how often they say so:

    >>> result = variance_components(
    ...     [1, 1, 1, 1, 0, 1, 0, 0], {"answer": [1, 1, 2, 2, 3, 3, 4, 4], "judge": ["a", "b"] * 4}
    ... )
    >>> {name: round(value, 4) for name, value in result.variance.items()}
    {'answer': 0.2083, 'judge': 0.0, 'answer x judge': 0.125}
    >>> result.doubled[0].level
    'answer'
    """
    level = check_fraction(_FUNCTION, "confidence_level", confidence_level)
    values, labels = _as_outcomes(outcomes)
    n = len(values)
    warnings: list[str] = []
    design = _design(levels, nested, n, warnings)
    if labels is None:
        mean = float(values.mean())
        values = values - mean
    order = np.lexsort(design.codes[::-1])  # groups of rows that lie together are summed faster
    design = replace(design, codes=[code[order] for code in design.codes])
    pairs = _Pairs(design, values[order], None if labels is None else labels[order])
    system = _system(design, pairs)
    parts = system.solution @ pairs.half_differences(system.observed)
    parts[np.abs(parts) <= _ROUNDING * np.abs(parts).max()] = 0.0
    names, total = system.names, float(parts.sum())
    weights = np.array([pairs.weight_of_mean(terms[0]) for terms in system.terms])
    noise = _noise(system, pairs, weights)
    measured = _Measures(parts, noise, *_error_of_cluster(system, pairs))
    estimates = _jackknife(design, pairs, system, measured, parts)
    few = [name for name, size in zip(design.names, design.sizes, strict=True) if size < FEW_CLUSTERS]
    low, high = measured.ends(*estimates, level)
    keys = [*(f"variance/{name}" for name in names), *(f"share/{name}" for name in names), "dependability"]
    if few and np.isnan(low).any():
        warnings.append(f"no interval over fewer than {FEW_CLUSTERS} values of a level: {', '.join(few)}")
    if not parts.any():
        warnings.append("every outcome is the same")
    elif (estimates.error == 0.0).any():
        warnings.append("the sampled values of the levels do not differ in some components: these have no interval")
    negative = [name for name, part in zip(names, parts, strict=True) if part < 0.0]
    if negative:
        warnings.append(f"below 0, which is next to nothing (estimates are unbiased): {', '.join(negative)}")
    means = pairs.cluster_means()
    return VarianceComponentsResult(
        mean=float("nan") if labels is not None else mean + float(means.mean()),
        variance=dict(zip(names, parts.tolist(), strict=True)),
        share=dict(zip(names, (parts / total if total > 0.0 else parts * np.nan).tolist(), strict=True)),
        icc=_correlations(design, pairs, system, total),
        dependability=measured.dependability(parts),
        doubled=_doubled(design, system, weights, parts),
        n_rows=n,
        n_values=dict(zip(design.names, design.sizes, strict=True)),
        nested_in={
            name: [design.names[j] for j in range(len(design.names)) if design.within[i] >> j & 1]
            for i, name in enumerate(design.names)
        },
        confidence_interval={key: ends for key, *ends in zip(keys, low.tolist(), high.tolist(), strict=True)},
        standard_error=dict(zip(keys, estimates.error.tolist(), strict=True)),
        n_clusters={key: design.sizes[0] for key in keys},
        signature=signature(
            _FUNCTION, est="pairs", avg=design.names[0], ci="jackknife-log-t", level=f"{level:.4g}", unparsed="refused"
        ),
        warnings=tuple(warnings),
    )


def _as_outcomes(outcomes: Any) -> tuple[Floats, Integers | None]:
    """Return numbers, or ones with the codes of labels."""
    listed = outcomes if hasattr(outcomes, "dtype") else list(outcomes)
    kind = (
        listed.dtype.kind if hasattr(outcomes, "dtype") else ("U" if any(isinstance(x, str) for x in listed) else "f")
    )
    if kind in "UTOS":
        codes = partition(as_column(listed, function=_FUNCTION, parameter="outcomes")).codes
        return np.ones(len(codes)), codes
    values = as_floats(listed, _FUNCTION, "outcomes", "be numbers or texts")
    if values.ndim != 1 or len(values) < 2:
        raise input_error(_FUNCTION, "outcomes", "be a list of at least two", got=values.tolist())
    check_rows(_FUNCTION, "outcomes", "be finite numbers", values, ~np.isfinite(values))
    return values, None


# ---- the design: sets of levels are written as bits, the level of a row alone as the last


@dataclass(frozen=True)
class _Design:
    """The levels of the rows, and which contain which."""

    names: list[str]
    codes: list[Integers]  # of each level, shape (n,)
    sizes: list[int]
    within: list[int]  # the levels that each is nested in
    finest: str  # what the rows that share all levels differ in; empty if no two do
    confounded: str  # a level that has one value: what it adds is in the finest component
    closed: list[int]  # the sets of levels that two rows may share, from the smallest

    @property
    def full(self) -> int:
        return self.closed[-1]

    @property
    def roots(self) -> list[int]:
        """The levels that are nested in no other, as sets."""
        return [1 << i for i, outer in enumerate(self.within) if not outer]

    def own(self, terms: int) -> list[int]:
        """Return the levels of a set in which no other of them is nested."""
        members = [i for i in range(len(self.within)) if terms >> i & 1]
        implied = reduce(int.__or__, (self.within[i] for i in members), 0)
        return [i for i in members if not implied >> i & 1]

    def label(self, terms: int) -> str:
        if self.finest and terms == self.full:
            return f"{self.finest} + {self.confounded}" if self.confounded else self.finest
        label = " x ".join(self.names[i] for i in self.own(terms))
        return f"{label} + {self.confounded}" if self.confounded and terms == self.full else label


def _design(levels: Mapping[str, Any], nested: Sequence[str], n: int, warnings: list[str]) -> _Design:
    if not isinstance(levels, Mapping) or not levels or len(levels) > _MOST_LEVELS:
        must = f"be a mapping of one to {_MOST_LEVELS} names to columns"
        raise input_error(_FUNCTION, "levels", must, got=list(levels) if isinstance(levels, Mapping) else levels)
    for name in nested:
        if name not in list(levels)[1:]:
            raise input_error(_FUNCTION, "nested", f"be among {', '.join(list(levels)[1:])}", got=name)
    names: list[str] = []
    codes: list[Integers] = []
    sizes: list[int] = []
    confounded = ""
    for name, column in levels.items():
        checked = column if isinstance(column, Column) else as_column(column, function=_FUNCTION, parameter=name)
        check_length(_FUNCTION, name, checked, n, "outcomes")
        divided = partition(checked)
        if len(divided) == 1 and names and name == list(levels)[-1]:
            confounded = name
            continue
        if len(divided) == 1:
            must, remedy = "have two values", f"Nothing between values of {name} can be estimated: leave it out."
            raise input_error(_FUNCTION, name, must, got="the same value in every row", remedy=remedy)
        code, size = divided.codes, len(divided)
        if name in nested:
            for other, n_other in zip(codes, sizes, strict=True):
                joint = partition_integers(code.astype(np.int64) * n_other + other)
                code, size = joint.codes, len(joint)
        same = next((i for i in range(len(codes)) if sizes[i] == size == _n_joint(codes[i], code, size)), None)
        if same is not None:
            names[same] += f" + {name}"
        else:
            names.append(name)
            codes.append(code.astype(np.int32))
            sizes.append(size)
    k = len(names)
    within = [
        sum(1 << j for j in range(k) if j != i and _n_joint(codes[j], codes[i], sizes[i]) == sizes[i]) for i in range(k)
    ]
    for joined in [name for name in names if " + " in name]:
        warnings.append(f"the design cannot tell {' and '.join(joined.split(' + '))} apart: they are one component")
    closed = {reduce(int.__or__, (within[i] | 1 << i for i in range(k) if mask >> i & 1), 0) for mask in range(1 << k)}
    design = _Design(names, codes, sizes, within, "", confounded, sorted(closed, key=lambda s: (s.bit_count(), s)))
    if _joint(design, design.full)[1] < n:
        design = _Design(names, codes, sizes, within, RESIDUAL, confounded, [*design.closed, (1 << k + 1) - 1])
    if confounded:
        other = design.label(design.full).removesuffix(f" + {confounded}")
        warnings.append(f"the design cannot tell {other} and {confounded} apart: every row has the same {confounded}")
    return design


def _n_joint(one: Integers, two: Integers, n_two: int) -> int:
    """Return the number of pairs of codes that occur."""
    return len(partition_integers(one.astype(np.int64) * n_two + two))


def _joint(design: _Design, terms: int) -> tuple[Integers, int]:
    """Return the group of each row by the levels of a set, and the number of groups."""
    members = design.own(terms)
    if not members:
        return np.zeros(len(design.codes[0]), dtype=np.int32), 1
    code, size = design.codes[members[0]], design.sizes[members[0]]
    for i in members[1:]:
        divided = partition_integers(code.astype(np.int64) * design.sizes[i] + design.codes[i])
        code, size = divided.codes.astype(np.int32), len(divided)
    return code, size


# ---- sums over pairs


class _Sums(NamedTuple):
    """Sums over the ordered pairs of rows that share a set: half their squared differences, and their weights.

    Of a set with the cluster they are by cluster, and weights are 1; of others a row weighs 1 over the size of its
    cluster. `without` are what is lost if a unit is deleted: by cluster and unit, or by unit.
    """

    differences: Floats
    weights: Floats
    differences_without: Floats
    weights_without: Floats


class _Pairs:
    """Sums over the pairs of rows by what they share."""

    def __init__(self, design: _Design, values: Floats, labels: Integers | None) -> None:
        self.design, self.values, self.labels = design, values, labels
        self.n = len(values)
        self.groups = lru_cache(maxsize=None)(self._groups)
        self.cluster = design.codes[0]
        self.sizes = np.bincount(self.cluster).astype(np.float64)
        self.by_row = (1.0 / self.sizes)[self.cluster]
        self.whole = self.exact(1)[0]
        self.of_all: dict[int, float] = {}

    def _groups(self, terms: int) -> Integers:
        """Return the group of each row."""
        if terms == self.design.full:
            return np.arange(self.n, dtype=np.int32)
        return _joint(self.design, terms)[0]

    def cluster_means(self) -> Floats:
        return np.bincount(self.cluster, weights=self.values) / self.sizes

    def _sums(self, terms: int, unit: int) -> _Sums:
        """Return the sums over pairs that share at least a set, and what deleting a unit takes from them."""
        has_cluster = bool(terms & 1)
        inner, outer = self.groups(terms | unit), self.groups(terms)
        where = self.groups(unit | 1) if has_cluster else self.groups(unit)
        row_weights = np.ones(self.n) if has_cluster else self.by_row
        first = _representatives(inner)
        place = (outer[first], self.cluster[first] if has_cluster else None, where[first])

        def product(one: Floats, two: Floats, at: Any = place, code: Integers = inner) -> tuple[Floats, Floats]:
            outside, of_cluster, of_unit = at
            a = np.bincount(code, weights=one)
            b = a if two is one else np.bincount(code, weights=two)
            whole_a = np.bincount(outside, weights=a)[outside]
            whole_b = whole_a if two is one else np.bincount(outside, weights=b)[outside]
            total = a * whole_b  # over the groups inside one: the product of its sums
            lost = total + b * whole_a - a * b
            whole = np.array(total.sum()) if of_cluster is None else np.bincount(of_cluster, weights=total)
            return whole, np.bincount(of_unit, weights=lost)

        weights, weights_without = product(row_weights, row_weights)
        if self.labels is None:
            weighted = row_weights * self.values
            squares = product(row_weights, weighted * self.values)
            products = product(weighted, weighted)
        else:
            n_labels = int(self.labels.max()) + 1
            joint = partition_integers(inner.astype(np.int64) * n_labels + self.labels).codes
            outside = partition_integers(outer.astype(np.int64) * n_labels + self.labels).codes
            rows = _representatives(joint)
            at = (outside[rows], self.cluster[rows] if has_cluster else None, where[rows])
            squares, products = (weights, weights_without), product(row_weights, row_weights, at, joint)
        return _Sums(squares[0] - products[0], weights, squares[1] - products[1], weights_without)

    def exact(self, unit: int) -> tuple[dict[int, _Sums], Integers, Integers]:
        """Return the sums over pairs that share exactly each set, and the cluster and unit of their cells."""
        cells = _representatives(self.groups(unit | 1))
        cluster, unit_of = self.cluster[cells], self.groups(unit)[cells]
        found: dict[int, _Sums] = {}
        for terms in reversed(self.design.closed):
            sums = list(self._sums(terms, unit))
            for larger in [other for other in found if other & terms == terms]:
                inner = list(found[larger])
                if larger & 1 and not terms & 1:
                    scale = 1.0 / self.sizes**2
                    inner[:2] = [np.array(scale @ whole) for whole in inner[:2]]
                    n_units = len(sums[2])
                    inner[2:] = [
                        np.bincount(unit_of, weights=part * scale[cluster], minlength=n_units) for part in inner[2:]
                    ]
                sums = [whole - part for whole, part in zip(sums, inner, strict=True)]
            found[terms] = _Sums(*sums)
        return found, cluster, unit_of

    def is_observed(self, terms: int) -> bool:
        """Return whether two rows share exactly this set."""
        weights = self.whole[terms].weights
        return terms != self.design.full and bool(weights.sum() > _ROUNDING * self._all(terms))

    def _all(self, terms: int) -> float:
        return float((self.sizes**2).sum()) if terms & 1 else float(len(self.sizes)) ** 2

    def half_differences(self, observed: Sequence[int]) -> Floats:
        """Return half the mean squared difference of the pairs that share exactly each set."""
        return np.array([self._mean(self.whole[terms], terms)[0] for terms in observed])

    def _mean(self, sums: _Sums, terms: int) -> tuple[float, float, Floats]:
        """Return the mean over pairs, the weight of all, and the weight of each cluster's pairs."""
        scale = np.ones(1)
        if terms & 1:
            known = self.whole[terms].weights
            scale = np.divide(1.0, known, out=np.zeros_like(known), where=known > 0.5)
        weight = float(np.sum(scale * sums.weights))
        return float(np.sum(scale * sums.differences)) / weight, weight, scale

    def replicates(self, observed: Sequence[int], unit: int) -> Floats:
        """Return the means without each unit in turn, shape (number of sets, number of units)."""
        exact, cluster, unit_of = self.exact(unit)
        rows = []
        for terms in observed:
            sums = exact[terms]
            mean, weight, scale = self._mean(sums, terms)
            lost, lost_weight = sums.differences_without, sums.weights_without
            if terms & 1:
                lost, lost_weight = (
                    np.bincount(unit_of, weights=scale[cluster] * part) for part in (lost, lost_weight)
                )
            left = weight - lost_weight
            some = left > 1e-9 * weight
            rows.append(np.where(some, (mean * weight - lost) / np.where(some, left, 1.0), mean))
        return np.stack(rows)

    def weight_of_mean(self, terms: int) -> float:
        """Return the factor of a component in the variance of the mean over clusters."""
        sums = [self.whole[other] for other in self.design.closed if other & terms == terms]
        others = [other for other in self.design.closed if other & terms == terms]
        scale = 1.0 / self.sizes**2
        weights = [scale @ s.weights if other & 1 else float(s.weights) for s, other in zip(sums, others, strict=True)]
        return float(sum(weights)) / len(self.sizes) ** 2


def _representatives(codes: Integers) -> npt.NDArray[np.intp]:
    """Return a row of each group."""
    rows = np.empty(int(codes.max()) + 1, dtype=np.intp)
    rows[codes] = np.arange(len(codes))
    return rows


# ---- from pairs to components


class _System(NamedTuple):
    names: list[str]
    terms: list[list[int]]  # the sets of levels of each component; several that cannot be told apart
    observed: list[int]  # the sets that pairs share
    solution: Floats  # means over pairs to components


def _system(design: _Design, pairs: _Pairs) -> _System:
    observed = [terms for terms in design.closed if pairs.is_observed(terms)]
    if not observed:
        raise input_error(_FUNCTION, "levels", "leave two rows that differ in a level", got=design.names)
    by_pattern: dict[tuple[bool, ...], list[int]] = {}
    for terms in design.closed[1:]:
        by_pattern.setdefault(tuple(terms & ~shared != 0 for shared in observed), []).append(terms)
    matrix = np.array(list(by_pattern), dtype=np.float64).T
    terms_of = list(by_pattern.values())
    names = [" + ".join(map(design.label, terms)) for terms in terms_of]
    if len(names) > len(observed) or np.linalg.matrix_rank(matrix) < len(names):
        _, singular, right = np.linalg.svd(matrix, full_matrices=True)
        null = right[int((singular > 1e-9).sum()) :]
        apart = [name for name, size in zip(names, np.abs(null).max(axis=0), strict=True) if size > 1e-9]
        must, remedy = "have a design that can tell components apart", "Leave out one of the levels."
        raise input_error(_FUNCTION, "levels", must, got=" and ".join(apart), remedy=remedy)
    return _System(names, terms_of, observed, np.linalg.pinv(matrix))


def _cluster_set(design: _Design) -> int:
    return design.within[0] | 1


def _noise(system: _System, pairs: _Pairs, weights: Floats) -> Floats:
    """Return for each component the sampling variance of the means between which it is the variance, as a matrix.

    Its rows give from components what those within it add to the variance of its levels' means.
    """
    matrix = np.zeros((len(weights), len(weights)))
    for i, one in enumerate(system.terms):
        for j, other in enumerate(system.terms):
            if i != j and other[0] & one[0] == one[0]:
                matrix[i, j] = weights[j] / weights[i]
    return matrix


def _error_of_cluster(system: _System, pairs: _Pairs) -> tuple[Floats, Floats]:
    """Return which components are between clusters, and the factors of the others in the variance of a cluster's mean."""
    cluster = _cluster_set(pairs.design)
    of_cluster = pairs.weight_of_mean(cluster)
    between = np.array([float(all(t & ~cluster == 0 for t in terms)) for terms in system.terms])
    is_split = any(0 < sum(t & ~cluster == 0 for t in terms) < len(terms) for terms in system.terms)
    factors = np.array([pairs.weight_of_mean(terms[0] | cluster) / of_cluster for terms in system.terms])
    return (between if not is_split else between * np.nan), np.where(between > 0.0, 0.0, factors)


class _Measures:
    """Components, their shares and the dependability, and the scale on which each has a t interval."""

    def __init__(self, parts: Floats, noise: Floats, between: Floats, factors: Floats) -> None:
        self.between, self.factors = between, factors
        positive = np.maximum(parts, 0.0)
        self.total = float(parts.sum())
        self.shift = noise @ positive
        self.least = _LEAST * np.maximum(np.maximum(parts + self.shift, self.shift), 1e-300)
        others = self.shift.sum() - self.shift
        self.most = 1.0 + others / self.total if self.total > 0.0 else others * np.nan

    def dependability(self, parts: Floats) -> float:
        return float(self.values(parts[:, np.newaxis])[-1, 0])

    def values(self, parts: Floats) -> Floats:
        """Return components, shares and dependability of each column of components."""
        with np.errstate(divide="ignore", invalid="ignore"):
            one, error = self.between @ parts, self.factors @ parts
            return np.concatenate([parts, parts / parts.sum(axis=0), [one / (one + error)]])

    def scaled(self, values: Floats) -> Floats:
        k = len(self.shift)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.log(np.maximum(values[:k] + self.shift[:, np.newaxis], self.least[:, np.newaxis]))
            shift, least = self.shift[:, np.newaxis] / self.total, self.least[:, np.newaxis] / self.total
            left = np.maximum(self.most[:, np.newaxis] - values[k:-1], 1e-3)
            shares = np.log(np.maximum(values[k:-1] + shift, least)) - np.log(left)
            last = -np.log(np.maximum(1.0 - values[-1:], 1e-9))
        return np.concatenate([parts, shares, last])

    def ends(
        self, centre: Floats, scaled_error: Floats, error: Floats, freedom: Floats, level: float
    ) -> tuple[Floats, Floats]:
        """Return the ends of the intervals."""
        k = len(self.shift)
        half = stdtrit(freedom, 0.5 + level / 2.0) * scaled_error
        found = []
        for z in (centre - half, centre + half):
            with np.errstate(over="ignore", invalid="ignore"):
                odds = np.exp(z[k:-1])
                shift = self.shift / self.total
                shares = self.most - (self.most + shift) / (1.0 + odds)
                found.append(np.concatenate([np.exp(z[:k]) - self.shift, shares, 1.0 - np.exp(-z[-1:])]))
        return found[0], found[1]


class _Jackknife(NamedTuple):
    centre: Floats  # on the scale of the intervals
    scaled_error: Floats
    error: Floats
    freedom: Floats


def _jackknife(design: _Design, pairs: _Pairs, system: _System, measured: _Measures, parts: Floats) -> _Jackknife:
    """Return the standard errors over the values of the levels that are nested in no other."""
    whole = measured.values(parts[:, np.newaxis])
    centre = np.stack([measured.scaled(whole), whole])
    units = [root for root in design.roots if _joint(design, root)[1] >= FEW_CLUSTERS]
    variances: dict[int, Floats] = {}  # by the levels whose combinations are left out in turn
    freedoms: dict[int, Floats] = {}
    for size in range(1, len(units) + 1):
        for chosen in map(sum, combinations(units, size)):
            means = pairs.replicates(system.observed, chosen)
            squares, fourths, n = _moments(system.solution, means, measured, centre)
            variances[chosen] = (n - 1) / n * squares
            spare = fourths[0] - squares[0] ** 2 / n
            with np.errstate(divide="ignore", invalid="ignore"):
                freedoms[chosen] = np.minimum(n - 1.0, np.where(spare > 0.0, 2.0 * squares[0] ** 2 / spare, np.inf))
    if not variances or not parts.any():
        nan = np.full(centre.shape[1], np.nan)
        return _Jackknife(centre[0, :, 0], nan, nan, nan)
    single, free = (np.stack([of[unit] for unit in units]) for of in (variances, freedoms))
    total = sum((1 if unit.bit_count() % 2 else -1) * variance for unit, variance in variances.items())
    total = np.maximum(total, single.max(axis=0))
    cluster = _cluster_set(design)
    crossed = [sum(any(terms & unit for terms in of_one) for unit in units) for of_one in system.terms]
    own = np.array([*crossed, *crossed, sum(bool(unit & cluster) for unit in units)])
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (single[:, 0] ** 2 / free).sum(axis=0)
        of_largest = np.take_along_axis(free, single[:, 0].argmax(axis=0)[np.newaxis], axis=0)[0]
        of_one = np.maximum(total[0] ** 2 / spread, of_largest)
        freedom = np.where(own > 1, single[:, 0].sum(axis=0) ** 2 / spread, of_one)
    of_cluster = [place for place, terms in enumerate(system.terms) if cluster in terms]
    freedom[-1] = freedom[[*of_cluster, -1]].min()
    scaled_error, error = np.where(own > 0, np.sqrt(np.where(total > NO_SPREAD**2, total, 0.0)), np.nan)
    return _Jackknife(centre[0, :, 0], scaled_error, error, freedom)


def _moments(solution: Floats, means: Floats, measured: _Measures, centre: Floats) -> tuple[Floats, Floats, int]:
    """Return sums of squared deviations and of their fourth powers over replicates, and the number of replicates.

    Both on the scale of the intervals and on that of the values: shape (2, 2, number of values).
    """
    n = means.shape[1]
    sums = np.zeros((2, *centre.shape[:2]))
    for start in range(0, n, _AT_ONCE):
        values = measured.values(solution @ means[:, start : start + _AT_ONCE])
        squares = (np.stack([measured.scaled(values), values]) - centre) ** 2
        sums += np.stack([squares.sum(axis=-1), (squares**2).sum(axis=-1)])
    return sums[0], sums[1], n


def _correlations(design: _Design, pairs: _Pairs, system: _System, total: float) -> dict[str, float]:
    shared = [terms for terms in system.observed if terms]
    if not total > 0.0:
        return {design.label(terms): float("nan") for terms in shared}
    return {
        design.label(terms): float(1.0 - half / total)
        for terms, half in zip(shared, pairs.half_differences(shared), strict=True)
    }


def _doubled(design: _Design, system: _System, weights: Floats, parts: Floats) -> tuple[Doubling, ...]:
    """Return the predicted standard errors of the mean with twice the values of each level, best first."""
    positive = weights * np.maximum(parts, 0.0)
    now = float(positive.sum())
    rows = []
    levels = {name: 1 << i for i, name in enumerate(design.names)}
    if design.finest:
        levels[design.finest] = design.full & ~sum(levels.values())
    for name, level in levels.items():
        shares = np.array([np.mean([bool(terms & level) for terms in of_one]) for of_one in system.terms])
        is_told = " + " not in name and bool(np.isin(shares[positive > 0.0], [0.0, 1.0]).all())
        after = float(positive @ (1.0 - shares / 2.0)) if is_told else float("nan")
        rows.append(Doubling(name, after**0.5, (after / now) ** 0.5 if now > 0.0 else float("nan")))
    return tuple(sorted(rows, key=lambda row: (row.ratio != row.ratio, row.ratio)))
