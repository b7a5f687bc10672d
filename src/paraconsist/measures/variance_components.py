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
variance between means less the noise of these means: the t interval is on the logarithm of the former. Where outcomes
other than the commonest are rare, only values that hold two of them tell of it: its degrees of freedom are theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from paraconsist.errors import check_choice, check_fraction, input_error
from paraconsist.measures.array_types import Floats, Integers
from paraconsist.measures.buckets import as_column, as_floats, check_length, check_rows, partition, partition_integers
from paraconsist.measures.intervals import NO_SPREAD
from paraconsist.measures.results import Record, Result, documented, signature

_FUNCTION = "variance_components"
FEW_CLUSTERS = 8
"""With fewer values of a level there is no interval over them."""
_RARE, _FEWEST_TELLING = 0.15, 3  # outcomes other than the commonest, if rare: so many values of a level must hold two
RESIDUAL = "residual"
"""Rows that share all levels."""
_MOST_LEVELS = 6
_LEAST = 0.3  # of a variance between means: what a replicate counts as, at least, in the logarithm
_NEARLY = 1.1  # values of the outer level that occur with one of the inner level, if it is all but nested
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
        the wordings, repeats and judges of this design; at most 1, up is good; nan where that variance is not above 0.
    doubled : tuple of Doubling
        What doubling each level would do to the standard error of the mean, best first. The variance is at best halved.
    n_rows : int
    n_values : dict of str to int
        Of each level.
    nested_in : dict of str to list of str
        The levels that a level is nested in; empty if it is crossed with all others.
    confidence_interval, standard_error : dict of str
        By name, as ``variance/problem``, ``share/problem``, ``dependability``; nan where a component's levels have
        fewer than eight values. Where outcomes other than the commonest are rare (below 15 %), as wrong answers of
        a model that is nearly always right, three values must hold two of these: intervals would end too low.
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
                remedy = f"It cannot tell {' and '.join(joined.split(' + '))} apart."
                raise input_error(_FUNCTION, "name", "be a component that the design can tell", got=name, remedy=remedy)
        raise input_error(_FUNCTION, "name", f"be one of {', '.join(self.variance)}", got=name)


@documented("a level with one value, more than six levels, designs in which components cannot be estimated")
def variance_components(
    outcomes: Any,
    levels: Mapping[str, npt.ArrayLike] | Sequence[str],
    *,
    value: str | None = None,
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
        the chance that two unrelated answers differ (the sum of the variances of the labels' indicators). With `value`
        a data frame, or a mapping of names to columns.
    levels : mapping of str to sequence of int or str, shape (n,)
        The level of each row, by names of your choice; the first is the cluster, of which each counts once. A level is
        nested in another if each of its values occurs with one value of the other, else the two are crossed. With
        `value` the names of columns.
    value : str, optional
        The column of the outcome.
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
    {'answer': 0.1667, 'judge': 0.0, 'answer x judge': 0.125}
    >>> result.doubled[0].level
    'answer'
    """
    level = check_fraction(_FUNCTION, "confidence_level", confidence_level)
    if value is not None:
        outcomes, levels = _columns_of(outcomes, value, levels)
    values, labels = _as_outcomes(outcomes)
    n, mean = len(values), float("nan")
    design = _design(levels, nested, n)
    if labels is None:
        mean = float((np.bincount(design.codes[0], weights=values) / np.bincount(design.codes[0])).mean())
        values = values - mean
    order = np.lexsort(design.codes[::-1])  # groups of rows that lie together are summed faster
    design = replace(design, codes=[code[order] for code in design.codes])
    values, labels = values[order], None if labels is None else labels[order]
    del order
    found = _Components(_Pairs(design, values, labels))
    names, total = found.names, found.total
    low, high, error = found.intervals(level)
    keys = [*(f"variance/{name}" for name in names), *(f"share/{name}" for name in names), "dependability"]
    warnings = design.notes + [
        f"the design cannot tell {' and '.join(name.split(' + '))} apart: they are one component"
        for name in names
        if " + " in name
    ]
    few = [name for name, size in zip(design.names, design.sizes, strict=True) if size < FEW_CLUSTERS]
    if few and np.isnan(low).any():
        warnings.append(f"no interval over fewer than {FEW_CLUSTERS} values of a level: {', '.join(few)}")
    if not found.parts.any():
        warnings.append("every outcome is the same")
    elif (error == 0.0).any():
        warnings.append("the sampled values of the levels do not differ in some components: these have no interval")
    dependability = float(np.minimum(found.values(found.parts[:, np.newaxis])[-1, 0], 1.0))
    if found.parts.any() and np.isnan(dependability):
        warnings.append(f"dependability is undefined: no variance of the means of {design.names[0]} is estimated")
    if rare := [name for name, n in zip(names, found.telling, strict=True) if n < _FEWEST_TELLING]:
        warnings.append(f"no interval of {', '.join(rare)} and shares: fewer than 3 values hold two rare outcomes")
    against = [name for name, end in zip(names, high, strict=False) if end < 0.0]
    if against:
        warnings.append(
            f"below 0 beyond chance: {', '.join(against)}: rows that share it are less alike than others. Is a level "
            "missing, such as the prompt, or is one whose values are numbered anew not `nested`?"
        )
    below = [name for name, part in zip(names, found.parts, strict=True) if part < 0.0]
    if negative := [name for name in below if name not in against]:
        warnings.append(f"below 0, which is next to nothing (estimates are unbiased): {', '.join(negative)}")
    unit = {"est": "pairs", "avg": design.names[0], "ci": "jackknife-log-t", "level": f"{level:.4g}"}
    return VarianceComponentsResult(
        mean=mean,
        variance=dict(zip(names, found.parts.tolist(), strict=True)),
        share=dict(zip(names, (found.parts / total).tolist(), strict=True)),
        icc={
            design.label(terms): float(1.0 - half / total)
            for terms, half in zip(found.observed, found.halves, strict=True)
            if terms
        },
        dependability=dependability,
        doubled=found.doubled(),
        n_rows=n,
        n_values=dict(zip(design.names, design.sizes, strict=True)),
        nested_in={
            name: [other for j, other in enumerate(design.names) if within >> j & 1]
            for name, within in zip(design.names, design.within, strict=True)
        },
        confidence_interval={key: ends for key, *ends in zip(keys, low.tolist(), high.tolist(), strict=True)},
        standard_error=dict(zip(keys, error.tolist(), strict=True)),
        n_clusters=dict.fromkeys(keys, design.sizes[0]),
        signature=signature(_FUNCTION, **unit, unparsed="refused"),
        warnings=tuple(warnings),
    )


def _columns_of(table: Any, value: str, levels: Iterable[str]) -> tuple[Any, dict[str, Any]]:
    """Return the outcome and the levels of a table, of which these are columns."""
    attributes = (getattr(table, name, None) for name in ("column_names", "columns", "keys"))
    known = next((names for names in attributes if names is not None), None)
    if known is None:
        raise input_error(_FUNCTION, "outcomes", "be a data frame, or a mapping of columns, with `value`", got=table)
    wanted = [levels] if isinstance(levels, str) else [*levels]
    for parameter, name in (("value", value), *(("levels", name) for name in wanted)):
        check_choice(_FUNCTION, parameter, name, [*map(str, known() if callable(known) else known)])
    return table[value], {name: table[name] for name in wanted}


def _as_outcomes(outcomes: Any) -> tuple[Floats, Integers | None]:
    """Return outcomes as floats; of labels, ones and the codes of the labels."""
    if not isinstance(outcomes, Iterable) or isinstance(outcomes, (str, bytes)):
        raise input_error(_FUNCTION, "outcomes", "be a list of numbers or texts", got=outcomes)
    listed: Any = outcomes if hasattr(outcomes, "__array__") else list(outcomes)
    kind = np.asarray(listed).dtype.kind if len(listed) else "f"
    if kind not in "biuf":
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
    has_residual: bool  # whether two rows share all levels
    confounded: str  # a level that has one value: what it adds is in the finest component
    closed: list[int]  # the sets of levels that two rows may share, from the smallest
    notes: list[str]

    @property
    def full(self) -> int:
        """All levels, and the row."""
        return self.closed[-1]

    @property
    def roots(self) -> list[int]:
        """The levels that are nested in no other, as sets."""
        return [1 << i for i, outer in enumerate(self.within) if not outer]

    def innermost(self, terms: int) -> list[int]:
        """Return the levels of a set that imply the others, which they are nested in."""
        members = [i for i in range(len(self.within)) if terms >> i & 1]
        implied = reduce(int.__or__, (self.within[i] for i in members), 0)
        return [i for i in members if not implied >> i & 1]

    def label(self, terms: int) -> str:
        """Return what a component is called."""
        label = " x ".join(self.names[i] for i in self.innermost(terms))
        if terms == self.full:
            label = " + ".join(filter(None, (RESIDUAL if self.has_residual else label, self.confounded)))
        return label

    def groups(self, terms: int) -> tuple[Integers, int]:
        """Return the group of each row by the levels of a set, and the number of groups."""
        members = self.innermost(terms)
        if not members:
            return np.zeros(len(self.codes[0]), dtype=np.int32), 1
        code, size = self.codes[members[0]], self.sizes[members[0]]
        for i in members[1:]:
            divided = partition_integers(code.astype(np.int64) * self.sizes[i] + self.codes[i])
            code, size = divided.codes.astype(np.int32), len(divided)
        return code, size


def _design(levels: Mapping[str, npt.ArrayLike] | Sequence[str], nested: Sequence[str], n: int) -> _Design:
    """Return the design after its checks."""
    if not isinstance(levels, Mapping) or not 0 < len(levels) <= _MOST_LEVELS:
        must = f"be a mapping of one to {_MOST_LEVELS} names to columns, or such names with `value`"
        raise input_error(_FUNCTION, "levels", must, got=list(levels) if isinstance(levels, Mapping) else levels)
    first, *others = levels
    for name in nested:
        if name not in others:
            raise input_error(_FUNCTION, "nested", f"be among {', '.join(others)}", got=name)
    names: list[str] = []
    codes: list[Integers] = []
    sizes: list[int] = []
    confounded = ""
    for name, values in levels.items():
        if not isinstance(name, str) or name == RESIDUAL or " + " in name or " x " in name:
            must = f"have names without ' + ' and ' x ' other than {RESIDUAL}"
            raise input_error(_FUNCTION, "levels", must, got=name)
        divided = partition(values, function=_FUNCTION, parameter=name)
        check_length(_FUNCTION, name, divided.codes, n, "outcomes")
        if len(divided) == 1:
            if name == first or name != [*levels][-1]:
                remedy = f"Nothing between values of {name} can be estimated: leave it out."
                raise input_error(_FUNCTION, name, "have two values", got="the same in every row", remedy=remedy)
            confounded = name
            continue
        for other, n_other in zip(codes, sizes, strict=True) if name in nested else ():
            divided = partition_integers(divided.codes.astype(np.int64) * n_other + other)
        size = len(divided)
        same = [i for i in range(len(codes)) if sizes[i] == size == _n_joint(codes[i], divided.codes, size)]
        if same:
            names[same[0]] += f" + {name}"
        else:
            names.append(name)
            codes.append(divided.codes.astype(np.int32))
            sizes.append(size)
    k = range(len(names))
    joint = {(i, j): _n_joint(codes[j], codes[i], sizes[i]) for i in k for j in k if i != j}
    within = [sum(1 << j for j in k if j != i and joint[i, j] == sizes[i]) for i in k]
    notes = [
        f"nearly all values of {names[i]} occur with one value of {names[j]}: the few others decide its components; "
        "make it `nested` if it was drawn within them"
        for (i, j), size in joint.items()
        if sizes[i] < size <= _NEARLY * sizes[i]
    ]
    closed = {reduce(int.__or__, (within[i] | 1 << i for i in k if mask >> i & 1), 0) for mask in range(1 << len(k))}
    ordered = sorted(closed, key=lambda terms: (terms.bit_count(), terms))
    design = _Design(names, codes, sizes, within, False, confounded, ordered, notes)
    if design.groups(design.full)[1] < n:
        design = replace(design, has_residual=True, closed=[*design.closed, (1 << len(k) + 1) - 1])
    return design


def _n_joint(one: Integers, two: Integers, n_two: int) -> int:
    """Return the number of pairs of codes that occur."""
    return len(partition_integers(one.astype(np.int64) * n_two + two))


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
        self.groups = lru_cache(maxsize=None)(self._groups)
        self.cluster = design.codes[0]
        sizes = np.bincount(self.cluster)
        self.by_row, self.by_pair = (1.0 / sizes)[self.cluster], 1.0 / sizes.astype(np.float64) ** 2
        self.whole = self.exact(1)[0]

    def _groups(self, terms: int) -> Integers:
        """Return the group of each row."""
        if terms == self.design.full:
            return np.arange(len(self.values), dtype=np.int32)
        return self.design.groups(terms)[0]

    def _sums(self, terms: int, unit: int) -> _Sums:
        """Return the sums over pairs that share at least a set, and what deleting a unit takes from them."""
        has_cluster = bool(terms & 1)
        inner, outer = self.groups(terms | unit), self.groups(terms)
        where = self.groups(unit | 1) if has_cluster else self.groups(unit)
        row_weights: Floats = np.ones(len(self.values)) if has_cluster else self.by_row
        rows = self.groups(self.design.full)  # each row a group of its own: nothing to add up

        def added(codes: Integers, weights: Any) -> Any:
            return weights if codes is rows else np.bincount(codes, weights=weights)

        def at_groups(inner: Integers, outer: Integers) -> tuple[Integers, ...]:
            """Return for each group inside the one it is in, its cluster and its unit."""
            first = slice(None) if inner is rows else _representatives(inner)
            return inner, outer[first], self.cluster[first], where if inner is rows else where[first]

        def product(one: Floats, two: Floats, at: tuple[Integers, ...]) -> tuple[Any, Any]:
            inner, outside, of_cluster, of_unit = at
            a = added(inner, one)
            b = a if two is one else added(inner, two)
            whole_a = np.bincount(outside, weights=a)[outside]
            whole_b = whole_a if two is one else np.bincount(outside, weights=b)[outside]
            total = a * whole_b  # over the groups inside one: the product of its sums
            lost = b * (whole_a - a)
            lost += total
            return np.bincount(of_cluster, weights=total) if has_cluster else total.sum(), added(of_unit, lost)

        at = at_groups(inner, outer)
        weights, weights_without = product(row_weights, row_weights, at)
        if self.labels is None:
            weighted = row_weights * self.values
            squares = product(row_weights, weighted * self.values, at)
            products = product(weighted, weighted, at)
        else:
            n_labels = int(self.labels.max()) + 1
            joint, outside = (
                partition_integers(code.astype(np.int64) * n_labels + self.labels).codes for code in (inner, outer)
            )
            squares = weights, weights_without
            products = product(row_weights, row_weights, at_groups(joint, outside))
        return _Sums(squares[0] - products[0], weights, squares[1] - products[1], weights_without)

    def exact(self, unit: int) -> tuple[dict[int, _Sums], Integers, Integers]:
        """Return the sums over pairs that share exactly each set, and the cluster and unit of their cells."""
        cells = _representatives(self.groups(unit | 1))
        cluster, unit_of = self.cluster[cells], self.groups(unit)[cells]
        found: dict[int, _Sums] = {}
        for terms in reversed(self.design.closed):
            sums: list[Any] = [*self._sums(terms, unit)]
            for larger in [other for other in found if other & terms == terms]:
                inner: list[Any] = [*found[larger]]
                if larger & 1 and not terms & 1:
                    weights = self.by_pair[cluster]
                    inner = [self.by_pair @ whole for whole in inner[:2]]
                    inner += [np.bincount(unit_of, weights=part * weights) for part in found[larger][2:]]
                sums = [whole - part for whole, part in zip(sums, inner, strict=True)]
            found[terms] = _Sums(*sums)
        return found, cluster, unit_of

    def weight_of_mean(self, terms: int) -> float:
        """Return the factor of a component in the variance of the mean over clusters."""
        larger = [other for other in self.design.closed if other & terms == terms]
        return (
            float(sum(np.sum((self.by_pair if t & 1 else 1.0) * self.whole[t].weights) for t in larger))
            / len(self.by_pair) ** 2
        )

    def observed(self) -> list[int]:
        """Return the sets that two rows share exactly."""
        least = {1: _ROUNDING * float((1.0 / self.by_pair).sum()), 0: _ROUNDING * len(self.by_pair) ** 2}
        return [terms for terms in self.design.closed[:-1] if np.sum(self.whole[terms].weights) > least[terms & 1]]

    def mean(self, sums: _Sums, terms: int) -> tuple[float, float, Floats]:
        """Return half the mean squared difference of pairs, the weight of all, and the weight of each cluster's."""
        scale = np.ones(1)
        if terms & 1:
            known = self.whole[terms].weights
            scale = np.divide(1.0, known, out=np.zeros_like(known), where=known > 0.5)
        weight = float(np.sum(scale * sums.weights))
        return float(np.sum(scale * sums.differences)) / weight, weight, scale

    def replicates(self, observed: Sequence[int], unit: int) -> Floats:
        """Return the means without each unit in turn, shape (number of sets, number of units)."""
        exact, cluster, unit_of = self.exact(unit)
        means = np.empty((len(observed), int(unit_of.max()) + 1))
        for place, terms in enumerate(observed):
            sums = exact.pop(terms)
            mean, weight, scale = self.mean(sums, terms)
            lost: list[Any] = [sums.differences_without, sums.weights_without]
            if terms & 1:
                lost = [np.bincount(unit_of, weights=scale[cluster] * part) for part in lost]
            left = weight - lost[1]
            means[place] = mean
            np.divide(mean * weight - lost[0], left, out=means[place], where=left > 1e-9 * weight)
        return means


def _representatives(codes: Integers) -> npt.NDArray[np.intp]:
    """Return a row of each group."""
    rows = np.empty(int(codes.max()) + 1, dtype=np.intp)
    rows[codes] = np.arange(len(codes))
    return rows


# ---- from pairs to components


class _Components:
    """The components, and what follows from them: their intervals, shares, the dependability, what to double.

    `values` are the components, their shares and the dependability. The intervals of a component and its share are on
    the logarithm of the variance of the means of its levels: of the component and its `noise`, the sampling variance of
    these means.
    """

    def __init__(self, pairs: _Pairs) -> None:
        self.pairs, self.design = pairs, pairs.design
        self.observed = pairs.observed()
        self.names, self.terms, self.solution = self._system()
        self.halves = np.array([pairs.mean(pairs.whole[terms], terms)[0] for terms in self.observed])
        self.parts = self.solution @ self.halves
        self.parts[np.abs(self.parts) <= _ROUNDING * np.abs(self.parts).max()] = 0.0
        self.total = float(self.parts.sum()) if self.parts.sum() > 0.0 else float("nan")
        sets = [terms[0] for terms in self.terms]
        self.weights = np.array([pairs.weight_of_mean(terms) for terms in sets])
        positive = np.maximum(self.parts, 0.0)
        inner = np.array([[one != other and other & one == one for other in sets] for one in sets])
        self.noise = (inner * self.weights / self.weights[:, np.newaxis]) @ positive
        self.most = 1.0 + (self.noise.sum() - self.noise) / self.total  # of a share, if others are as low as can be
        self.cluster = self.design.within[0] | 1
        between = np.array([np.mean([t & ~self.cluster == 0 for t in terms]) for terms in self.terms])
        self.between = between if set(between.tolist()) <= {0.0, 1.0} else between * np.nan
        inside = np.array([pairs.weight_of_mean(t | self.cluster) for t in sets]) / pairs.weight_of_mean(self.cluster)
        self.within = np.where(between > 0.0, 0.0, inside)  # factors in the variance of a cluster's mean
        outcomes = pairs.values if pairs.labels is None else pairs.labels
        _, codes, sizes = np.unique(outcomes, return_inverse=True, return_counts=True)
        other = codes != sizes.argmax()
        held = [np.count_nonzero(np.bincount(pairs.groups(terms), weights=other) >= 2) for terms in sets]
        is_told = np.array([self.design.full in terms for terms in self.terms]) | (not 0.0 < other.mean() < _RARE)
        self.telling = np.where(is_told, np.inf, held)  # values of the levels whose outcomes tell of a component

    def _system(self) -> tuple[list[str], list[list[int]], Floats]:
        """Return names and sets of the components, and the matrix that gives them from means over pairs."""
        if not self.observed:
            raise input_error(_FUNCTION, "levels", "leave two rows that differ in a level", got=self.design.names)
        by_pattern: dict[tuple[bool, ...], list[int]] = {}
        for terms in self.design.closed[1:]:
            by_pattern.setdefault(tuple(terms & ~shared != 0 for shared in self.observed), []).append(terms)
        matrix = np.array(list(by_pattern), dtype=np.float64).T
        names = [" + ".join(map(self.design.label, terms)) for terms in by_pattern.values()]
        _, singular, right = np.linalg.svd(matrix)
        null = right[int((singular > 1e-9).sum()) :]
        if len(null):
            apart = [name for name, size in zip(names, np.abs(null).max(axis=0), strict=True) if size > 1e-9]
            must, remedy = "have a design that can tell components apart", "Leave out one of the levels."
            raise input_error(_FUNCTION, "levels", must, got=" and ".join(apart), remedy=remedy)
        return names, list(by_pattern.values()), np.asarray(np.linalg.pinv(matrix), dtype=np.float64)

    def values(self, parts: Floats) -> Floats:
        """Return components, shares and dependability of each column of components."""
        with np.errstate(divide="ignore", invalid="ignore"):
            one, error = self.between @ parts, self.within @ parts
            of_means = np.where(one + error > _ROUNDING * np.abs(one), one + error, np.nan)
            return np.concatenate([parts, parts / parts.sum(axis=0), [one / of_means]])

    def _scaled(self, values: Floats) -> Floats:
        """Return values on the scales of their intervals."""
        k = len(self.parts)
        noise, most = self.noise[:, np.newaxis], self.most[:, np.newaxis]
        least = _LEAST * np.maximum(self.parts[:, np.newaxis], 0.0) + _LEAST * noise
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.log(np.maximum(values[:k] + noise, least))
            shares = np.log(np.maximum(values[k:-1] + noise / self.total, least / self.total))
            shares -= np.log(np.maximum(most - values[k:-1], 1e-3))
            return np.concatenate([parts, shares, -np.log(np.maximum(1.0 - values[-1:], 1e-9))])

    def intervals(self, level: float) -> tuple[Floats, Floats, Floats]:
        """Return the ends of the intervals of the values, and standard errors."""
        whole = self.values(self.parts[:, np.newaxis])
        centre, k = self._scaled(whole), len(self.parts)
        scaled_error, error, freedom = self._errors(np.stack([centre, whole]))
        telling = np.append(self.telling, np.full(k + 1, self.telling.min()))  # all else is of all components
        freedom = np.minimum(freedom, np.maximum(telling - 1.0, 1.0))
        half = stdtrit(freedom, 0.5 + level / 2.0) * scaled_error
        ends = []
        with np.errstate(over="ignore", invalid="ignore"):
            for z in (centre[:, 0] - half, centre[:, 0] + half):
                shares = self.most - (self.most + self.noise / self.total) / (1.0 + np.exp(z[k:-1]))
                ends.append(np.concatenate([np.exp(z[:k]) - self.noise, shares, 1.0 - np.exp(-z[-1:])]))
        low, high = ends
        with np.errstate(invalid="ignore"):  # below minus the noise there is no logarithm: a plain t interval
            is_off = (whole[:, 0] <= low) | (whole[:, 0] >= high) | (error == 0.0)
        half = np.where(error > 0.0, stdtrit(freedom, 0.5 + level / 2.0) * error, np.nan)
        low, high = np.where(is_off, whole[:, 0] - half, low), np.where(is_off, whole[:, 0] + half, high)
        labelled, values = self.pairs.labels is not None, self.pairs.values
        most = 1.0 if labelled else float(np.ptp(values)) ** 2 / 4.0  # the largest of all, where none is below 0
        high[:k] = np.minimum(high[:k], np.maximum(most, self.parts))
        is_told = telling >= _FEWEST_TELLING
        return np.where(is_told, low, np.nan), np.where(is_told, high, np.nan), error

    def _errors(self, centre: Floats) -> tuple[Floats, Floats, Floats]:
        """Return standard errors on the scale of the intervals and on that of the values, and degrees of freedom.

        These follow from the kurtosis of the replicates. A component of one level has those of the level that adds
        most to its variance; an interaction those of the sum over its levels (Satterthwaite).
        """
        units = [root for root in self.design.roots if self.design.groups(root)[1] >= FEW_CLUSTERS]
        if not units or not self.parts.any():
            nan = np.full(centre.shape[1], np.nan)
            return nan, nan, nan
        squares: dict[int, Floats] = {}  # by the levels whose combinations are left out in turn
        freedoms: list[Floats] = []
        for chosen in (sum(some) for size in range(1, len(units) + 1) for some in combinations(units, size)):
            means = self.pairs.replicates(self.observed, chosen)
            n, sums, fourths = means.shape[1], np.zeros(centre.shape[:2]), np.zeros(centre.shape[:2])
            for start in range(0, n, _AT_ONCE):
                values = self.values(self.solution @ means[:, start : start + _AT_ONCE])
                with np.errstate(invalid="ignore"):  # a component of 0 has no logarithm, and no interval
                    square = (np.stack([self._scaled(values), values]) - centre) ** 2
                sums, fourths = sums + square.sum(axis=-1), fourths + (square**2).sum(axis=-1)
            squares[chosen] = (n - 1) / n * sums
            with np.errstate(divide="ignore", invalid="ignore"):
                spare = fourths[0] - sums[0] ** 2 / n
                freedoms.append(np.minimum(n - 1.0, np.where(spare > 0.0, 2.0 * sums[0] ** 2 / spare, np.inf)))
        single, free = np.stack([squares[unit] for unit in units]), np.stack(freedoms[: len(units)])
        of_terms = [sum(any(t & unit for t in terms) for unit in units) for terms in [*self.terms, [self.cluster]]]
        n_levels = np.array([*of_terms[:-1], *of_terms])
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.sum([part * (-1) ** (chosen.bit_count() + 1) for chosen, part in squares.items()], axis=0)
            total = np.maximum(total, single.max(axis=0))
            spread = (single[:, 0] ** 2 / free).sum(axis=0)
            of_largest = np.take_along_axis(free, single[:, 0].argmax(axis=0)[np.newaxis], axis=0)[0]
            of_one = np.maximum(total[0] ** 2 / spread, of_largest)
            freedom = np.where(n_levels > 1, single[:, 0].sum(axis=0) ** 2 / spread, of_one)
        fewest = min(self.design.groups(unit)[1] for unit in units) - 1.0
        freedom = np.where(np.isnan(freedom), fewest, freedom)  # replicates that are all at their least
        freedom[-1] = min(freedom[-1], *(freedom[i] for i, terms in enumerate(self.terms) if self.cluster in terms))
        least = np.full_like(total, NO_SPREAD**2)
        least[1, : len(self.parts)] *= np.abs(self.parts).max() ** 2
        errors = np.where(n_levels > 0, np.sqrt(np.where(total <= least, 0.0, total)), np.nan)
        return errors[0], errors[1], freedom

    def doubled(self) -> tuple[Doubling, ...]:
        """Return the predicted standard errors of the mean with twice the values of each level, best first."""
        variances = self.weights * self.parts
        if variances.sum() <= _ROUNDING * np.abs(variances).max():
            variances = np.maximum(variances, 0.0)
        now = float(variances.sum())
        levels = {name: 1 << i for i, name in enumerate(self.design.names)}
        if self.design.has_residual:
            levels[RESIDUAL] = 1 << len(levels)
        rows = []
        for name, level in levels.items():
            halved = np.array([np.mean([bool(t & level) for t in terms]) for terms in self.terms])
            is_told = now > 0.0 and " + " not in name and set(halved[variances != 0.0].tolist()) <= {0.0, 1.0}
            ratio = min(max(1.0 - float(variances @ halved) / now / 2.0, 0.5), 1.0) ** 0.5 if is_told else float("nan")
            rows.append(Doubling(name, ratio * now**0.5, ratio))
        return tuple(sorted(rows, key=lambda row: (row.ratio != row.ratio, row.ratio)))
