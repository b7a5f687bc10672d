"""What every measure collects: values with intervals, standard errors, clusters and design effects, and warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from paraconsist.errors import check_choice, check_fraction, check_whole, input_error
from paraconsist.measures._validation import MOST_DRAWN, Integers, as_generator
from paraconsist.measures.buckets import partition
from paraconsist.measures.chance import ChanceLevel
from paraconsist.measures.dyads import Dyads, is_pair
from paraconsist.measures.intervals import (
    FEW_UNITS,
    Intervals,
    boundary_interval,
    intervals,
    korn_graubard_interval,
    proportion_interval,
    too_few,
)
from paraconsist.measures.resampling import (
    NO_SPREAD,
    Estimate,
    Units,
    design_effects,
    distinct,
    mean_of_sums,
    standard_errors,
)
from paraconsist.measures.results import UNCERTAINTY
from paraconsist.measures.signatures import signature

Mask = npt.NDArray[np.bool_]

METHODS = ("auto", "bootstrap", "closed_form")
"""Of intervals of functions of sums over buckets or rows."""

SHARE_METHODS = ("auto", "exact", "korn_graubard", "bootstrap", "closed_form")
"""Of intervals of shares of rows."""


@dataclass(frozen=True)
class IntervalOptions:
    """Checked options of intervals."""

    function: str
    method: str
    confidence_level: float
    n_resamples: int
    seed: Any

    @cached_property
    def entropy(self) -> int:
        """The seed of every interval's own generator: an interval does not depend on which others are bounds."""
        return int(self.seed.integers(2**63)) if isinstance(self.seed, np.random.Generator) else int(self.seed)

    @property
    def seed_name(self) -> str:
        """The seed as signatures write it."""
        return "given" if isinstance(self.seed, np.random.Generator) else str(self.seed)

    def parts(self, method: str, unit: str) -> dict[str, str]:
        """Return how intervals were made, for a signature: what is resampled, how, at which level."""
        how = {"auto": "logit-t", "exact": "clopper-pearson", "bootstrap": f"bootstrap{self.n_resamples}"}
        written = how.get(method, method.replace("_", "-"))
        parts = {"ci": f"{unit}-{written}", "level": f"{self.confidence_level:.4g}"}
        return parts | ({"seed": self.seed_name} if method == "bootstrap" else {})


def interval_options(
    function: str,
    interval_method: str,
    confidence_level: float,
    n_resamples: int,
    seed: Any,
    methods: Sequence[str] = METHODS,
) -> IntervalOptions:
    """Return the options, or raise an `InputError` that names the one which is wrong."""
    check_choice(function, "interval_method", interval_method, methods)
    level = check_fraction(function, "confidence_level", confidence_level)
    resamples = check_whole(function, "n_resamples", n_resamples, at_most=MOST_DRAWN)
    as_generator(function, "seed", seed)
    return IntervalOptions(function, interval_method, level, resamples, seed)


def share_options(
    function: str, interval_method: str, confidence_level: float, n_resamples: int, seed: Any, groups: Any
) -> IntervalOptions:
    """Return the options of shares of rows: ``"auto"`` depends on whether there are groups, and so does what may be.

    Intervals of independent rows are Clopper-Pearson's; those of rows in groups Korn and Graubard's, since t and
    percentile intervals of small shares run short (`paraconsist.measures.intervals.korn_graubard_interval`).
    """
    options = interval_options(function, interval_method, confidence_level, n_resamples, seed, SHARE_METHODS)
    if interval_method == "auto":
        return replace(options, method="exact" if groups is None else "korn_graubard")
    if groups is None and interval_method == "korn_graubard":
        must, remedy = "have `groups` for 'korn_graubard'", "Independent rows take 'exact'."
    elif groups is not None and interval_method == "exact":
        must = "not be 'exact' with `groups`"
        remedy = "Rows of a group are not independent: take 'korn_graubard', 'bootstrap' or 'closed_form'."
    elif interval_method == "bootstrap" and is_pair(groups):
        must, remedy = "not be 'bootstrap' with two columns of `groups`", "Take 'korn_graubard' or 'closed_form'."
    else:
        return options
    raise input_error(function, "interval_method", must, got=interval_method, remedy=remedy)


class Share(NamedTuple):
    """A share of rows and what is known of its uncertainty (see `Result`); all nan in an empty population."""

    value: float
    interval: list[float]
    standard_error: float
    n_clusters: int
    design_effect: float
    at_boundary: bool = False


@dataclass
class Estimates:
    """Collects what is known of a measure's values: shares of rows (`add_share`), or functions of sums (`add`)."""

    options: IntervalOptions
    unit: str  # what is resampled where there are no groups: "pair"
    #: `Column` or codes, shape (n_rows,), or `Dyads`: rows of one are resampled together in shares
    groups: InitVar[Any] = None
    rng: np.random.Generator | None = None  # for all intervals, one after the other; by default each has its own
    codes: Integers | None = field(default=None, init=False)
    dyads: Dyads | None = field(default=None, init=False)
    n_groups: int = field(default=0, init=False)
    confidence_interval: dict[str, list[float]] = field(default_factory=dict)
    standard_error: dict[str, float] = field(default_factory=dict)
    n_clusters: dict[str, int] = field(default_factory=dict)
    design_effect: dict[str, float] = field(default_factory=dict)
    undefined: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self, groups: Any) -> None:
        if isinstance(groups, Dyads):
            self.dyads, self.unit = groups, "dyad"
            if groups.n_members < FEW_UNITS:
                self.warnings.append(f"only {groups.n_members} members: the intervals are rough")
        elif groups is not None:
            divided = partition(groups)
            self.codes, self.n_groups, self.unit = divided.codes, len(divided), "group"
            if self.n_groups < FEW_UNITS:
                self.warn_of_few(self.n_groups)

    def put(self, name: str, interval: Sequence[float], error: float, n_clusters: int, effect: float | None) -> None:
        """Keep what is known of one value."""
        self.confidence_interval[name] = [float(interval[0]), float(interval[1])]
        self.standard_error[name] = error
        self.n_clusters[name] = n_clusters
        if effect is not None:
            self.design_effect[name] = effect

    def drop(self, name: str) -> None:
        """Forget what is known of one value."""
        for table in UNCERTAINTY:
            getattr(self, table).pop(name, None)

    def warn_of_constant(self, label: Any, score: int = 0) -> None:
        """Warn that every prediction is `label`."""
        self.warnings.append(f"every prediction is {label!r}: a constant answer scores {score} whatever the texts say")

    def warn_of_few(self, n_units: int) -> None:
        """Warn that there are too few units for intervals that hold, or for good ones where a method was chosen."""
        chosen = self.options.method in ("bootstrap", "closed_form")
        few = f"one {self.unit}" if n_units == 1 else f"only {n_units} {self.unit}s"
        effect = "the intervals are rough" if chosen and n_units > 1 else f"no interval below {FEW_UNITS}"
        self.warnings.append(f"{few}: {effect}")

    def note_undefined(self, values: Mapping[str, Any]) -> None:
        """Remember which values are nan: they are named in the last warning."""
        self.undefined += [name for name, value in values.items() if isinstance(value, float) and np.isnan(value)]

    def fields(self, method: str | None = None, **parts: str | None) -> dict[str, Any]:
        """Return what a `Result` has beside its own values; `parts` are the signature's beside the intervals'."""
        intervals = self.options.parts(method or self.options.method, self.unit)
        undefined = [f"undefined, so nan: {', '.join(self.undefined)}"] if self.undefined else []
        line = signature(self.options.function, **intervals | parts)
        tables = {name: getattr(self, name) for name in UNCERTAINTY}
        return {**tables, "signature": line, "warnings": (*self.warnings, *undefined)}

    # ------------------------------------------------------------------------------ functions of sums over units

    def intervals(self, units: Units, estimate: Estimate, ranges: Any, are_means: Any, **more: Any) -> Intervals:
        """Return the intervals of measures over units, made with these options."""
        options = self.options
        settings: dict[str, Any] = {
            "method": options.method,
            "confidence_level": options.confidence_level,
            "n_resamples": options.n_resamples,
            "rng": self.rng or np.random.default_rng(options.entropy),
        }
        return intervals(units, estimate, ranges, are_means, **settings | more)

    def add(
        self,
        names: Sequence[str],
        bounds: Intervals,
        n_clusters: int,
        effects: Sequence[float] | None = None,
        *,
        between: str | None = "units",
    ) -> None:
        """Keep the intervals of the named values; `between` names the units in the warning about no spread."""
        for i, name in enumerate(names):
            error, effect = float(bounds.standard_error[i]), None if effects is None else float(effects[i])
            self.put(name, (bounds.low[i], bounds.high[i]), error, n_clusters, effect)
        flat = [name for name, at_boundary in zip(names, bounds.at_boundary, strict=True) if at_boundary]
        if flat and between is not None:
            self._warn_of_bound(between, flat)

    def _warn_of_bound(self, between: str, names: Sequence[str]) -> None:
        bound = "so the interval is a Clopper-Pearson type bound"
        self.warnings.append(f"no spread between {between}, {bound}: {', '.join(names)}")

    # ------------------------------------------------------------------------------------------ shares of rows

    def add_share(self, name: str, hits: Mask, population: Mask | None = None) -> float:
        """Return the share of hits in the population (all rows without one), and keep its uncertainty."""
        share = self.share(hits, population)
        self.put(name, share.interval, share.standard_error, share.n_clusters, share.design_effect)
        if np.isnan(share.value):
            self.undefined.append(name)
        elif share.at_boundary:
            self._warn_of_bound("groups" if self.dyads is None else "rows", [name])
        elif np.isnan(share.interval[0]) and (self.dyads is not None or self.n_groups >= FEW_UNITS):
            reason = "too few groups, or one that outweighs the others"
            reason = reason if self.dyads is None else "every two rows share a member"
            self.warnings.append(f"{reason}: no interval for {name}")
        return share.value

    def add_chance(self, level: ChanceLevel, population: Mask | None = None) -> dict[str, Any]:
        """Return the chance level of the rows in the population and the consistency above it; keep its uncertainty."""
        groups: Integers | Dyads | None = self.codes
        if self.dyads is not None:
            groups = self.dyads.where(population)
        elif self.codes is not None and population is not None:
            groups = self.codes[population]
        if not np.isnan(level.shuffled) and np.isnan(level.corrected):
            self.undefined.append("chance_corrected")
        return {"chance": level.shuffled, "chance_corrected": self.add_corrected("chance_corrected", level, groups)}

    def add_corrected(self, name: str, level: ChanceLevel, groups: Integers | Dyads | None) -> float:
        """Return the consistency above the chance level of rows or buckets, and keep its uncertainty."""
        interval, error, n = level.interval(groups, self.options.confidence_level)
        self.put(name, interval, error, n, effect_of(error, error if groups is None else level.interval()[1]))
        return level.corrected

    def stratum(self, hits: Mapping[str, Mask], population: Mask, **rows: Mask) -> dict[str, Any]:
        """Return the shares of several kinds of hits in one stratum, the sizes of masks of rows, and the intervals."""
        shares = {name: self.share(mask, population) for name, mask in hits.items()}
        return {
            **{name: share.value for name, share in shares.items()},
            **{name: int(np.count_nonzero(mask)) for name, mask in rows.items()},
            "confidence_interval": {name: share.interval for name, share in shares.items()},
        }

    def share(self, hits: Mask, population: Mask | None) -> Share:
        """Return the share of hits in the population with its uncertainty."""
        inside = hits if population is None else hits & population
        n = len(hits) if population is None else int(np.count_nonzero(population))
        nan = float("nan")
        if n == 0:
            return Share(nan, [nan, nan], nan, 0, nan)
        if self.dyads is not None:
            return self._dyadic_share(self.dyads.where(population), hits if population is None else hits[population])
        k = int(np.count_nonzero(inside))
        rows = _row_units(n, k)
        units = rows if self.codes is None else self._group_units(self.codes, inside, population)
        error = float(standard_errors(units, mean_of_sums)[0])
        effect = float(design_effects(units, rows, mean_of_sums)[0])
        interval, at_boundary = self._interval(units, n, k, error)
        return Share(k / n, interval, error, units.n, effect, at_boundary)

    def _interval(self, units: Units, n: int, k: int, error: float) -> tuple[list[float], bool]:
        """Return the interval of k in n rows, and whether it is a bound because groups do not differ."""
        method, level = self.options.method, self.options.confidence_level
        if method == "exact":
            return list(proportion_interval(k, n, level)), False
        if method == "korn_graubard":
            if too_few(units):
                return [float("nan")] * 2, False
            if error <= NO_SPREAD:
                return list(boundary_interval(k / n, 0.0, 1.0, units.effective_n, level)), True
            return list(korn_graubard_interval(k / n, error, n, units.effective_n, level)), False
        bounds = self.intervals(units, mean_of_sums, [(0.0, 1.0)], [True])
        return [float(bounds.low[0]), float(bounds.high[0])], bool(bounds.at_boundary[0])

    def _dyadic_share(self, dyads: Dyads, hits: Mask) -> Share:
        """Return the share of hits among rows that share members."""
        n, k, level = len(hits), int(np.count_nonzero(hits)), self.options.confidence_level
        share, (error, freedom) = k / n, dyads.standard_error(hits)
        interval, at_boundary = (float("nan"), float("nan")), not np.isnan(error) and error <= NO_SPREAD
        if at_boundary:
            interval = boundary_interval(share, 0.0, 1.0, dyads.n_apart, level)
        elif error > 0.0 and self.options.method == "closed_form":
            half = float(stdtrit(freedom, 0.5 + level / 2.0)) * error
            interval = max(share - half, 0.0), min(share + half, 1.0)
        elif error > 0.0:
            interval = korn_graubard_interval(share, error, n, freedom + 1.0, level)
        return Share(share, list(interval), error, dyads.n_members, effect_of(error, row_error(k, n)), at_boundary)

    def _group_units(self, codes: Integers, inside: Mask, population: Mask | None) -> Units:
        """Return the groups that have a row in the population: others add nothing to either sum."""
        sizes = np.bincount(codes if population is None else codes[population], minlength=self.n_groups)
        counts = np.bincount(codes[inside], minlength=self.n_groups)
        used = np.flatnonzero(sizes)
        first, _, multiplicity = distinct(sizes[used], counts[used])
        sums = np.stack([sizes[used][first], counts[used][first]], axis=1).astype(np.float64)
        return Units.of(sums, multiplicity)


def _row_units(n: int, k: int) -> Units:
    """Return n rows of which k are hits, each a unit of its own."""
    occurs = np.array([n - k, k]) > 0
    return Units.of(np.array([[1.0, 0.0], [1.0, 1.0]])[occurs], np.array([n - k, k])[occurs])


def row_error(right: int, n: int) -> float:
    """Return the standard error of right / n if the n rows were independent; nan for one row."""
    return float(np.sqrt(right / n * (1.0 - right / n) / (n - 1))) if n > 1 else float("nan")


def effect_of(clustered: float, naive: float) -> float:
    """Return the design effect from two standard errors; nan where the sample has no spread."""
    return (clustered / naive) ** 2 if min(clustered, naive) > NO_SPREAD else float("nan")
