"""Shares of rows with their intervals: what every measure that counts violations has in common.

How the intervals of paraphrastic consistency are to be made, and what has been found so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paraconsist.errors import InputError, check_choice, check_fraction, check_whole, input_error
from paraconsist.measures._validation import (
    Integers,
    as_column,
    as_generator,
    check_comparable,
    check_same_length,
    code_jointly,
)
from paraconsist.measures.buckets import partition
from paraconsist.measures.intervals import (
    Intervals,
    boundary_interval,
    intervals,
    korn_graubard_interval,
    proportion_interval,
)
from paraconsist.measures.resampling import Units, design_effects, distinct, standard_errors
from paraconsist.measures.signatures import signature

Mask = npt.NDArray[np.bool_]

INTERVAL_METHODS = ("auto", "exact", "korn_graubard", "bootstrap", "closed_form")
_FEW_UNITS = 10
_MOST_NAMES = 5
_NO_SPREAD = 1e-12  # standard errors below this are rounding


@dataclass(frozen=True)
class IntervalOptions:
    """Checked options of intervals; `entropy` starts a generator of its own for every interval.

    So an interval does not depend on which others were asked for, nor on the order they are made in.
    """

    function: str
    method: str
    confidence_level: float
    n_resamples: int
    seed: Any
    entropy: int


def interval_options(
    function: str,
    interval_method: str,
    confidence_level: float,
    n_resamples: int,
    seed: Any,
    choices: Sequence[str] = INTERVAL_METHODS,
) -> IntervalOptions:
    """Return the options, or raise an `InputError` that names the one which is wrong."""
    check_choice(function, "interval_method", interval_method, choices)
    level = check_fraction(function, "confidence_level", confidence_level)
    resamples = check_whole(function, "n_resamples", n_resamples)
    rng = as_generator(function, "seed", seed)
    entropy = int(rng.integers(2**63)) if isinstance(seed, np.random.Generator) else int(seed)
    return IntervalOptions(function, interval_method, level, resamples, seed, entropy)


@dataclass(frozen=True)
class CodedColumns:
    """Columns of labels as common codes; `labels[code]` is the label.

    `groups` are codes of their own, or None.
    """

    codes: Mapping[str, Integers]
    labels: list[Any]
    groups: Integers | None

    def __getitem__(self, name: str) -> Integers:
        return self.codes[name]

    def code_of(self, label: Any) -> int:
        """Return the code of a label, -1 if it does not occur."""
        return self.labels.index(label) if label in self.labels else -1

    def constant(self, *names: str) -> list[Any]:
        """Return [label] if the columns hold one and the same label in all of at least two rows, else []."""
        first = self.codes[names[0]][:1]
        columns = [self.codes[name] for name in names]
        if len(columns[0]) < 2 or not all((column == first).all() for column in columns):
            return []
        return [self.labels[int(first[0])]]


def code_columns(function: str, given: Mapping[str, Any], *, groups: Any = None) -> CodedColumns:
    """Check columns of labels, and the optional groups: one length, one kind, nothing missing.

    Columns that are None are left out.
    """
    columns = {
        name: as_column(values, function=function, parameter=name)
        for name, values in given.items()
        if values is not None
    }
    grouping = None if groups is None else as_column(groups, function=function, parameter="groups")
    check_same_length(function, columns if grouping is None else {**columns, "groups": grouping})
    check_comparable(function, columns)
    codes, labels = code_jointly(*columns.values())
    return CodedColumns(
        dict(zip(columns, codes, strict=True)),
        labels,
        None if grouping is None else partition(grouping).codes,
    )


class Share(NamedTuple):
    """A share of rows and what is known of its uncertainty; all nan in an empty population.

    `n_clusters` is the number of independent units with a row in the population: groups, or rows where there
    are none. `design_effect` is the variance of the share over that of as many independent rows.
    """

    value: float
    interval: list[float]
    standard_error: float
    n_clusters: int
    design_effect: float
    at_boundary: bool = False


@dataclass
class Rates:
    """Makes shares of rows, with intervals; collects what has to be said about them.

    Intervals of independent rows are Clopper-Pearson's; those of rows in groups Korn and Graubard's, since t and
    percentile intervals of small shares run short (`paraconsist.measures.intervals.korn_graubard_interval`). Either is
    for `interval_method="auto"`, and others can be asked for.

    Parameters
    ----------
    options : IntervalOptions
    unit : str
        What one row is, in the plural: ``"pairs"``.
    groups : ndarray of int, shape (n_rows,), or None
        Rows of one group are resampled together; None where rows are independent.
    """

    options: IntervalOptions
    unit: str
    groups: Integers | None
    confidence_interval: dict[str, list[float]] = field(default_factory=dict)
    standard_error: dict[str, float] = field(default_factory=dict)
    n_clusters: dict[str, int] = field(default_factory=dict)
    design_effect: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    n_groups: int = 0
    method: str = "exact"
    undefined: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        asked = self.options.method
        if self.groups is None:
            if asked == "korn_graubard":
                raise self._wrong_method("have `groups` for 'korn_graubard'", "Independent rows take 'exact'.")
            self.method = "exact" if asked == "auto" else asked
        elif asked == "exact":
            remedy = "Rows of a group are not independent: take 'korn_graubard', 'bootstrap' or 'closed_form'."
            raise self._wrong_method("not be 'exact' with `groups`", remedy)
        else:
            self.method = "korn_graubard" if asked == "auto" else asked
            self.n_groups = int(self.groups.max()) + 1
            if 1 < self.n_groups < _FEW_UNITS:
                self.warnings.append(f"only {self.n_groups} groups: the intervals are rough")

    def _wrong_method(self, must: str, remedy: str) -> InputError:
        return input_error(self.options.function, "interval_method", must, got=self.options.method, remedy=remedy)

    @property
    def uncertainty(self) -> dict[str, Any]:
        """The mappings of measures to interval, standard error, clusters and design effect, by their keys."""
        return {
            "confidence_interval": self.confidence_interval,
            "standard_error": self.standard_error,
            "n_clusters": self.n_clusters,
            "design_effect": self.design_effect,
        }

    def add(self, name: str, hits: Mask, population: Mask | None = None) -> float:
        """Return the share of hits in the population (all rows without one), and keep its uncertainty."""
        found = self.share(hits, population)
        self.confidence_interval[name] = found.interval
        self.standard_error[name] = found.standard_error
        self.n_clusters[name] = found.n_clusters
        self.design_effect[name] = found.design_effect
        if np.isnan(found.value):
            self.undefined.append(name)
        elif found.at_boundary:
            self.warnings.append(f"no spread between groups, so the interval is a Clopper-Pearson type bound: {name}")
        elif np.isnan(found.interval[0]):
            self.warnings.append(f"one group: no interval for {name}")
        return found.value

    def stratum(
        self, names: Sequence[str], hits: Sequence[Mask], population: Mask
    ) -> tuple[list[float], dict[str, list[float]]]:
        """Return the shares of several kinds of hits in one stratum, and their intervals, by name."""
        found = [self.share(mask, population) for mask in hits]
        return (
            [share.value for share in found],
            {name: share.interval for name, share in zip(names, found, strict=True)},
        )

    def share(self, hits: Mask, population: Mask | None) -> Share:
        """Return the share of hits in the population with its uncertainty."""
        inside = hits if population is None else hits & population
        n = len(hits) if population is None else int(np.count_nonzero(population))
        nan = float("nan")
        if n == 0:
            return Share(nan, [nan, nan], nan, 0, nan)
        k = int(np.count_nonzero(inside))
        rows = _row_units(n, k)
        units = rows if self.groups is None else self._group_units(inside, population)
        error = float(standard_errors(units, _ratio)[0])
        effect = float(design_effects(units, rows, _ratio)[0])
        interval, at_boundary = self._interval(units, n, k, error)
        return Share(k / n, interval, error, units.n, effect, at_boundary)

    def _interval(self, units: Units, n: int, k: int, error: float) -> tuple[list[float], bool]:
        """Return the interval of k in n rows, and whether it is a bound because groups do not differ."""
        level = self.options.confidence_level
        if self.method == "exact":
            return list(proportion_interval(k, n, level)), False
        if self.method == "korn_graubard" and units.n > 1:
            if error <= _NO_SPREAD:
                return list(boundary_interval(k / n, 0.0, 1.0, units.n, level)), True
            return list(korn_graubard_interval(k / n, error, n, units.n, level)), False
        found = intervals(
            units,
            _ratio,
            [(0.0, 1.0)],
            [True],
            method="closed_form" if self.method == "korn_graubard" else self.method,
            confidence_level=level,
            n_resamples=self.options.n_resamples,
            rng=np.random.default_rng(self.options.entropy),
        )
        return [float(found.low[0]), float(found.high[0])], bool(found.at_boundary[0])

    def _group_units(self, inside: Mask, population: Mask | None) -> Units:
        """Return the groups that have a row in the population: others add nothing to either sum."""
        assert self.groups is not None
        members = self.groups if population is None else self.groups[population]
        sizes = np.bincount(members, minlength=self.n_groups)
        counts = np.bincount(self.groups[inside], minlength=self.n_groups)
        used = np.flatnonzero(sizes)
        first, _, multiplicity = distinct(sizes[used], counts[used])
        sums = np.stack([sizes[used][first], counts[used][first]], axis=1).astype(np.float64)
        return Units.unstratified(sums, multiplicity)

    def all_warnings(self) -> tuple[str, ...]:
        """Return the warnings, the undefined measures in one of them."""
        if not self.undefined:
            return tuple(self.warnings)
        return (*self.warnings, f"undefined, so nan: {', '.join(self.undefined)}")

    def signature(self, **parts: str) -> str:
        """Return the line that says how the numbers were made."""
        unit = self.unit if self.groups is None else "group"
        made = interval_parts(self.options, self.method, unit)
        return signature(self.options.function, avg=self.unit, **parts, unparsed="refused", **made)


def _ratio(total: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return hits over rows from the sums (rows, hits)."""
    share: npt.NDArray[Any] = total[..., 1:] / total[..., :1]
    return share


def _row_units(n: int, k: int) -> Units:
    """Return n rows of which k are hits, each a unit of its own."""
    occurs = np.array([n - k, k]) > 0
    return Units.unstratified(np.array([[1.0, 0.0], [1.0, 1.0]])[occurs], np.array([n - k, k])[occurs])


def interval_parts(options: IntervalOptions, method: str, unit: str) -> dict[str, str]:
    """Return how intervals were made, for a signature: what is resampled, how, at which level."""
    how = {
        "exact": "clopper-pearson",
        "korn_graubard": "korn-graubard",
        "closed_form": "closed-form",
        "bootstrap": f"bootstrap{options.n_resamples}",
    }
    parts = {"ci": f"{unit}-{how[method]}", "level": f"{options.confidence_level:.4g}"}
    if method == "bootstrap":
        parts["seed"] = str(options.seed) if isinstance(options.seed, int) else "given"
    return parts


def shown(names: Sequence[Any]) -> str:
    """Return a few names for a message."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(map(repr, names[:_MOST_NAMES])) + more


@dataclass
class Report:
    """How intervals are to be made, and what has been found so far."""

    level: float
    n_resamples: int
    asked: str
    rng: np.random.Generator
    method: str = ""
    confidence_interval: dict[str, list[float]] = field(default_factory=dict)
    standard_error: dict[str, float] = field(default_factory=dict)
    n_clusters: dict[str, int] = field(default_factory=dict)
    design_effect: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def intervals(self, units: Units, estimate: Any, ranges: Any, are_means: Any, **options: Any) -> Intervals:
        """Return the intervals of measures over units, made as was asked."""
        return intervals(
            units,
            estimate,
            ranges,
            are_means,
            method=self.asked,
            confidence_level=self.level,
            n_resamples=self.n_resamples,
            rng=self.rng,
            **options,
        )

    def add(self, names: Sequence[str], found: Intervals, n_clusters: int, effects: Sequence[float]) -> None:
        """Keep the intervals of the named measures, and what else is known of their uncertainty."""
        self.confidence_interval |= {
            name: [float(low), float(high)] for name, low, high in zip(names, found.low, found.high, strict=True)
        }
        self.standard_error |= dict(zip(names, found.standard_error.tolist(), strict=True))
        self.n_clusters |= dict.fromkeys(names, n_clusters)
        self.design_effect |= dict(zip(names, map(float, effects), strict=True))
        flat = [name for name, at_boundary in zip(names, found.at_boundary, strict=True) if at_boundary]
        if flat:
            self.warnings.append(
                f"no spread between units, so the interval is a Clopper-Pearson type bound: {', '.join(flat)}"
            )


def row_error(right: int, n: int) -> float:
    """Return the standard error of right / n if the n rows were independent; nan for one row."""
    return float(np.sqrt(right / n * (1.0 - right / n) / (n - 1))) if n > 1 else float("nan")


def effect_of(clustered: float, naive: float) -> float:
    """Return the design effect from two standard errors; nan where the sample has no spread."""
    return (clustered / naive) ** 2 if clustered > 1e-12 and naive > 1e-12 else float("nan")
