"""Shares of rows with their intervals: what every measure that counts violations has in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist._validation import (
    Integers,
    as_column,
    as_generator,
    check_choice,
    check_comparable,
    check_fraction,
    check_same_length,
    check_whole,
    code_jointly,
)
from paraconsist.buckets import partition
from paraconsist.errors import input_error
from paraconsist.signatures import signature
from paraconsist.uncertainty import Intervals, Units, distinct, intervals, proportion_interval

__all__ = ["INTERVAL_METHODS", "CodedColumns", "IntervalOptions", "Rates", "code_columns", "interval_options"]

Mask = npt.NDArray[np.bool_]

INTERVAL_METHODS = ("auto", "exact", "bootstrap", "closed_form")
_FEW_UNITS = 10
_MOST_NAMES = 5


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


@dataclass
class Rates:
    """Makes shares of rows, with intervals; collects what has to be said about them.

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
    warnings: list[str] = field(default_factory=list)
    n_groups: int = 0
    method: str = "exact"
    undefined: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        asked = self.options.method
        if self.groups is None:
            self.method = "exact" if asked == "auto" else asked
        elif asked == "exact":
            raise input_error(
                self.options.function,
                "interval_method",
                "not be 'exact' with `groups`",
                got=asked,
                remedy="Rows of a group are not independent: take 'bootstrap' or 'closed_form'.",
            )
        else:
            self.method = "bootstrap" if asked == "auto" else asked
            self.n_groups = int(self.groups.max()) + 1
            if 1 < self.n_groups < _FEW_UNITS:
                self.warnings.append(f"only {self.n_groups} groups: the intervals are rough")

    def add(self, name: str, hits: Mask, population: Mask | None = None) -> float:
        """Return the share of hits in the population (all rows without one), and keep its interval."""
        value, interval, at_boundary = self.share(hits, population)
        self.confidence_interval[name] = interval
        if np.isnan(value):
            self.undefined.append(name)
        elif at_boundary:
            self.warnings.append(f"no spread between groups, so the interval is a Clopper-Pearson type bound: {name}")
        elif np.isnan(interval[0]):
            self.warnings.append(f"one group: no interval for {name}")
        return value

    def stratum(
        self, names: Sequence[str], hits: Sequence[Mask], population: Mask
    ) -> tuple[list[float], dict[str, list[float]]]:
        """Return the shares of several kinds of hits in one stratum, and their intervals, by name."""
        found = [self.share(mask, population) for mask in hits]
        return (
            [value for value, _, _ in found],
            {name: interval for name, (_, interval, _) in zip(names, found, strict=True)},
        )

    def share(self, hits: Mask, population: Mask | None) -> tuple[float, list[float], bool]:
        """Return the share, its interval, and whether that is a boundary bound over groups; nan if empty."""
        inside = hits if population is None else hits & population
        n = len(hits) if population is None else int(np.count_nonzero(population))
        if n == 0:
            return float("nan"), [float("nan"), float("nan")], False
        k = int(np.count_nonzero(inside))
        if self.method == "exact":
            return k / n, list(proportion_interval(k, n, self.options.confidence_level)), False
        found = self._resampled(inside, population)
        return k / n, [float(found.low[0]), float(found.high[0])], bool(found.at_boundary[0])

    def _resampled(self, inside: Mask, population: Mask | None) -> Intervals:
        """Resample the units that have a row in the population: others add nothing to either sum."""
        if self.groups is None:
            n = len(inside) if population is None else int(np.count_nonzero(population))
            k = int(np.count_nonzero(inside))
            occurs = np.array([n - k, k]) > 0
            sums = np.array([[1.0, 0.0], [1.0, 1.0]])
            units = Units.unstratified(sums[occurs], np.array([n - k, k])[occurs])
        else:
            members = self.groups if population is None else self.groups[population]
            sizes = np.bincount(members, minlength=self.n_groups)
            counts = np.bincount(self.groups[inside], minlength=self.n_groups)
            used = np.flatnonzero(sizes)
            first, _, multiplicity = distinct(sizes[used], counts[used])
            sums = np.stack([sizes[used][first], counts[used][first]], axis=1).astype(np.float64)
            units = Units.unstratified(sums, multiplicity)
        return intervals(
            units,
            lambda total: total[..., 1:] / total[..., :1],
            [(0.0, 1.0)],
            [True],
            method=self.method,
            confidence_level=self.options.confidence_level,
            n_resamples=self.options.n_resamples,
            rng=np.random.default_rng(self.options.entropy),
        )

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


def interval_parts(options: IntervalOptions, method: str, unit: str) -> dict[str, str]:
    """Return how intervals were made, for a signature: what is resampled, how, at which level."""
    how = {"exact": "clopper-pearson", "closed_form": "closed-form", "bootstrap": f"bootstrap{options.n_resamples}"}
    parts = {"ci": f"{unit}-{how[method]}", "level": f"{options.confidence_level:.4g}"}
    if method == "bootstrap":
        parts["seed"] = str(options.seed) if isinstance(options.seed, int) else "given"
    return parts


def shown(names: Sequence[Any]) -> str:
    """Return a few names for a message."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(map(repr, names[:_MOST_NAMES])) + more
