"""What measures return (`Result`), its signature, and the collector of values and their uncertainty (`Estimates`).

A result's signature is one line that records how the number was made, short enough for a table's foot, and can be
parsed:

``pc|est:plugin|avg:bucket|orig:apart|unparsed:wrong|ci:bucket-bootstrap10000|level:0.95|seed:0|data:paranlu/delta_snli@275be35|v:0.1.0``

The first part names the measure. Every other part is ``key:value``; the keys that mean the same in every measure are in
`KEYS`, in the order in which they are written. ``%``, ``|`` and line ends in values are percent-encoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields, replace
from functools import cached_property
from html import escape
from inspect import cleandoc
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import unquote

import numpy as np
from scipy.special import stdtrit

from paraconsist._version import __version__
from paraconsist.errors import check_choice, check_fraction, check_whole, input_error
from paraconsist.measures.array_types import Integers, Mask
from paraconsist.measures.buckets import MOST_DRAWN, BucketCounts, CodedColumns, LabelPool, as_generator, partition
from paraconsist.measures.chance import ChanceLevel, agreement_chance, fleiss_kappa
from paraconsist.measures.intervals import (
    FEW_UNITS,
    NO_SPREAD,
    Dyads,
    Estimate,
    Intervals,
    Units,
    are_rare,
    boundary_interval,
    design_effects,
    distinct,
    intervals,
    is_pair,
    korn_graubard_interval,
    mean_of_sums,
    proportion_interval,
    rare_interval,
    standard_errors,
    too_few,
)

#: The tables of the uncertainty of values.
UNCERTAINTY = ("confidence_interval", "standard_error", "n_clusters", "design_effect")
#: The fields that follow a result's own values.
_LAST = ("chance", "chance_corrected", *UNCERTAINTY, "bias", "signature", "warnings")


#: Values by name, or by name and side (`distribution_shift`): numbers, or the two ends of intervals.
Table: TypeAlias = Mapping[str, Any]
#: A result by its keys: a `Record`, or the mapping that was written of one.
Values: TypeAlias = Mapping[str, Any]
#: The shares and the numbers of rows of one stratum by name, and the intervals of the shares.
Stratum: TypeAlias = Mapping[str, Any]


class Record(Mapping[str, Any]):
    """Base of frozen dataclasses that are written as mappings, and that can be read as the mapping that is written.

    The keys are the names of the fields; a field that is None, or has no text, has no key.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name, as plain Python; what was not requested (None) or has no text is left out.

        Undefined values stay ``nan``; `to_strict_json` turns them into ``None`` for files.
        """
        return {name: plain(value) for name, value in self._written().items()}

    def __getitem__(self, key: str) -> Any:
        """Return one value of `to_dict`."""
        written = self._written()
        if key not in written:
            raise KeyError(f"{type(self).__name__} has no {key!r}; its keys are {', '.join(written)}")
        return plain(written[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._written())

    def __len__(self) -> int:
        return len(self._written())

    def _written(self) -> dict[str, Any]:
        last = {name: place for place, name in enumerate(_LAST, 1)}
        names = sorted((f.name for f in fields(self) if f.repr), key=lambda name: last.get(name, 0))  # type: ignore[arg-type]
        values = {name: getattr(self, name) for name in names}
        return {key: value for key, value in values.items() if not (value is None or (key in _LAST and value == {}))}


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(Record):
    """Base of what measures return; a result declares its values only.

    Attributes
    ----------
    confidence_interval : dict of str to list of two floats
        Of each value, by its name.
    standard_error : dict of str to float
        Cluster-robust.
    n_clusters : dict of str to int
        The independent units behind each value: groups, or rows (buckets, for means over buckets) where there are none.
    design_effect : dict of str to float
        Variance of each value over that of as many independent rows (buckets): 1 without `groups`.
    chance, chance_corrected : float or None
        What the headline would be if the model's own answers were shuffled over the texts, and the consistency above
        that, on one scale for all measures: 1 if no wording changes anything, 0 as if wording decided all (see
        `paraconsist.measures.chance`); nan for a constant answer. None for what answers cannot be shuffled in.
    signature : str
        How the numbers were computed; see `parse_signature`.
    warnings : tuple of str
        Cautions for reading the values.
    """

    confidence_interval: Table
    standard_error: Table = field(default_factory=dict)
    n_clusters: Any = field(default_factory=dict)
    design_effect: Table = field(default_factory=dict)
    chance: float | None = None
    chance_corrected: float | None = None
    signature: str
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        rows = list(self._rows())
        width = max(len(name) for name, *_ in rows)
        lines = [f"{name:<{width}}  {value}  {interval}".rstrip() for name, value, interval in rows]
        notes = [f"warning: {warning}" for warning in self.warnings]
        return "\n".join([type(self).__name__, *(f"  {line}" for line in (*lines, self.signature, *notes))])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self._rows())
        notes = "".join(f"<p>{escape(warning)}</p>" for warning in self.warnings)
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>{notes}<p>{escape(self.signature)}</p>"

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, value and interval of every number; of a mapping only the entries with an interval."""
        level = self.confidence_interval
        for name, value in self.to_dict().items():
            ends = level.get(name, {})
            if isinstance(value, Mapping) and name not in _LAST:
                for key, inner in value.items():
                    pair = ends.get(key) if isinstance(ends, Mapping) and ends else level.get(f"{name}/{key}")
                    if pair:
                        yield f"{name}/{key}", _text(inner), _ends(pair)
            elif isinstance(value, (bool, int, float)):
                yield name, _text(value), _ends(ends)


#: Texts that docstrings of measures share: `documented` replaces a line with a name in braces by its text.
_TEXTS = {
    "share_intervals": """
        interval_method : {"auto", "exact", "korn_graubard", "bootstrap", "closed_form"}
            ``"auto"`` is the exact (Clopper-Pearson) interval of independent rows and, with `groups`, that of Korn and
            Graubard: the exact one at the effective sample size, since percentiles of a bootstrap over groups and t
            intervals of small shares are too narrow. ``"closed_form"`` is a t interval from linearised, cluster-robust
            standard errors, ``"bootstrap"`` resamples rows (groups). If groups show no spread (all rows alike), the
            interval is a Clopper-Pearson type bound over groups, and a warning says so.
        confidence_level : float, default 0.95
        n_resamples : int, default 10000
        seed : int or numpy.random.Generator, default 0
        """,
    "becel": """
        Jang, Kwon, Lukasiewicz (2022), "BECEL: Benchmark for Consistency Evaluation of Language Models", COLING.
        Sections 3 and 4.
        """,
    "returns": """
        Returns
        -------
        {result}
            Undefined values are nan and named in `warnings`; nothing is printed.
        """,
    "raises": """
        Raises
        ------
        InputError
            For empty, missing, mixed or unequally long input, {also}and options outside their range.
        """,
}
_AFTER_RAISES = re.compile(r"(?=^(?:References|Notes|Examples)\n--)", re.MULTILINE)
_Measure = TypeVar("_Measure", bound=Callable[..., Any])


def documented(also: str = "", **texts: str) -> Callable[[_Measure], _Measure]:
    """Return a decorator that completes the docstring of a measure.

    It inserts the sections Returns (unless the docstring has one) and Raises, to which `also` adds causes, and replaces
    each line with the name of one of the `texts`, or of `_TEXTS`, in braces.
    """

    def complete(measure: _Measure) -> _Measure:
        doc = cleandoc(measure.__doc__ or "") + "\n"  # which Python 3.13 has done
        names = ["raises"] if "\nReturns\n" in doc else ["returns", "raises"]
        doc = _AFTER_RAISES.sub("".join(f"{{{name}}}\n\n" for name in names), doc, count=1)
        for name, text in (_TEXTS | texts).items():
            doc = doc.replace(f"\n{{{name}}}\n", f"\n{cleandoc(text)}\n")
        doc = doc.replace("{result}", measure.__annotations__["return"])
        measure.__doc__ = doc.replace("{also}", also and f"{also}, ")
        return measure

    return complete


def _ends(interval: Any) -> str:
    return f"[{_text(interval[0])}, {_text(interval[1])}]" if interval and interval[0] == interval[0] else ""


def _text(value: float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def plain(value: Any) -> Any:
    """Return a value as plain Python: mappings as dictionaries, sequences as lists."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(inner) for inner in value]
    return value


#: Short names in signatures -> names of the measures.
MEASURE_NAMES: Mapping[str, str] = {
    "pc": "paraphrastic_consistency",
    "semantic": "semantic_inconsistency",
    "symmetric": "symmetric_inconsistency",
    "negational": "negational_inconsistency",
    "transitive": "transitive_inconsistency",
    "additive": "additive_inconsistency",
    "change": "prediction_change",
    "fooling": "fooling_rate",
    "shift": "distribution_shift",
    "ie": "ie_test",
    "difference": "consistency_difference",
    "diversity": "paraphrase_diversity",
    "noise": "noise_floor",
    "sensitivity": "prompt_sensitivity",
    "coherence": "probability_coherence",
    "trajectories": "trajectory_consistency",
}
SHORT_NAMES = {name: short for short, name in MEASURE_NAMES.items()}

#: Keys with one meaning in all measures, in the order of writing. A measure's own keys come before ``unparsed``.
KEYS: Mapping[str, str] = {
    "est": "the estimator that is the headline",
    "avg": "what the mean is over",
    "orig": "whether originals are among the paraphrases",
    "unparsed": "treatment of answers that could not be parsed: refused, wrong, own_class, drop_bucket",
    "ci": "what intervals resample, and the method; `+jeffreys`: Jeffreys' where breaches are rare",
    "level": "confidence level of the intervals",
    "seed": "of the resampling",
    "dtype": "in which the model was computed, where not in float32",
    "data": "the bucket set and its revision",
    "until": "the condition on which the run stopped asking; its interval holds at every look",
    "excluded": "buckets that a list left out",
    "by_hand": "verdicts on pairs of answers that were made by hand",
    "v": "version of paraconsist",
}


_ENCODED = str.maketrans({sign: f"%{ord(sign):02X}" for sign in "%|\n\r"})


@dataclass(frozen=True)
class Signature:
    """A parsed signature."""

    measure: str  # full name, such as ``paraphrastic_consistency``
    parts: Mapping[str, str] = field(default_factory=dict)  # the values by key, in the order in which they are written

    def __str__(self) -> str:
        special, common = [key for key in self.parts if key not in KEYS], list(KEYS)
        order = [*common[: common.index("unparsed")], *special, *common[common.index("unparsed") :]]
        written = [f"{key}:{self.parts[key].translate(_ENCODED)}" for key in order if key in self.parts]
        return "|".join([SHORT_NAMES.get(self.measure, self.measure), *written])

    def replace(self, **parts: str) -> Signature:
        """Return the signature with other or further parts."""
        return Signature(self.measure, {**self.parts, **parts})


def signature(measure: str, **parts: str | None) -> str:
    """Return the line for a number made by this version of the package; parts that are None are left out.

    >>> signature("paraphrastic_consistency", est="plugin", avg="bucket").rpartition("|")[0]
    'pc|est:plugin|avg:bucket'
    """
    present = {key: value for key, value in parts.items() if value is not None}
    return str(Signature(measure, {**present, "v": __version__}))


def parse_signature(text: str) -> Signature:
    """Parse a signature; ``str`` of the result is the text again.

    InputError if `text` is no signature: a part without ``key:``, a key given twice, more than one line.

    >>> line = parse_signature("pc|est:plugin|avg:bucket|ci:bucket-bootstrap10000|v:0.1.0")
    >>> line.measure, line.parts["ci"]
    ('paraphrastic_consistency', 'bucket-bootstrap10000')
    """
    if not isinstance(text, str):
        raise input_error("parse_signature", "text", "be text", got=text)
    name, *written = text.strip().split("|")
    parts: dict[str, str] = {}
    for part in written:
        key, colon, value = part.partition(":")
        if not colon or not key or key in parts:
            raise input_error("parse_signature", "text", "be key:value parts, each key once, after the name", got=part)
        parts[key] = unquote(value)
    if not name or ":" in name or "\n" in text.strip():
        raise input_error("parse_signature", "text", "be one line that starts with the measure's name", got=text)
    return Signature(MEASURE_NAMES.get(name, name), parts)


METHODS = ("auto", "bootstrap", "closed_form")
"""Of intervals of functions of sums over buckets or rows."""

SHARE_METHODS = ("auto", "exact", "korn_graubard", "bootstrap", "closed_form")
"""Of intervals of shares of rows."""


@dataclass(frozen=True)
class IntervalSettings:
    """Checked options of intervals."""

    function: str
    method: str
    confidence_level: float
    n_resamples: int
    seed: Any
    is_chosen: bool = True  # whether the method was named, and no default

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
        if not self.is_chosen and method == self.method and unit != "dyad":  # rare breaches of dyads are no exception
            written += "+jeffreys"
        parts = {"ci": f"{unit}-{written}", "level": f"{self.confidence_level:.4g}"}
        return parts | ({"seed": self.seed_name} if method == "bootstrap" else {})


def interval_options(
    function: str,
    interval_method: str,
    confidence_level: float,
    n_resamples: int,
    seed: Any,
    methods: Sequence[str] = METHODS,
) -> IntervalSettings:
    """Return the options, or raise an `InputError` that names the one which is wrong."""
    check_choice(function, "interval_method", interval_method, methods)
    level = check_fraction(function, "confidence_level", confidence_level)
    resamples = check_whole(function, "n_resamples", n_resamples, at_most=MOST_DRAWN)
    as_generator(function, "seed", seed)
    return IntervalSettings(function, interval_method, level, resamples, seed)


def share_options(
    function: str, interval_method: str, confidence_level: float, n_resamples: int, seed: Any, groups: Any
) -> IntervalSettings:
    """Return the options of shares of rows: the default and the valid methods depend on whether there are groups.

    Intervals of independent rows are Clopper-Pearson's; those of rows in groups Korn and Graubard's, since t and
    percentile intervals of small shares are too narrow (`paraconsist.measures.intervals.korn_graubard_interval`).
    Unless named, both give way to `paraconsist.measures.intervals.rare_interval` for rare breaches.
    """
    options = interval_options(function, interval_method, confidence_level, n_resamples, seed, SHARE_METHODS)
    if interval_method == "auto":
        return replace(options, method="exact" if groups is None else "korn_graubard", is_chosen=False)
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


CONSTANT = "has consistency 1", "scores 0", "scores 1"  # what becomes of a constant answer


def constant_message(label: Any, consequence: str = CONSTANT[0]) -> str:
    """Return the warning about predictions that are all `label`."""
    return f"every prediction is {label!r}: a constant answer {consequence} regardless of the text"


class Share(NamedTuple):
    """A share of rows and its uncertainty (see `Result`); all nan in an empty population."""

    value: float
    interval: list[float]
    standard_error: float
    n_clusters: int
    design_effect: float
    at_boundary: bool = False


@dataclass
class Estimates:
    """Collector of values' uncertainty: of shares of rows (`add_share`), or of functions of sums (`add`)."""

    options: IntervalSettings
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
                self.warn(f"only {groups.n_members} members: the intervals are rough")
        elif groups is not None:
            divided = partition(groups)
            self.codes, self.n_groups, self.unit = divided.codes, len(divided), "group"
            self.warn_if_few(self.n_groups)

    def warn(self, message: str) -> None:
        self.warnings.append(message)

    def put(self, name: str, interval: Sequence[float], error: float, n_clusters: int, effect: float | None) -> None:
        self.confidence_interval[name] = [float(interval[0]), float(interval[1])]
        self.standard_error[name] = error
        self.n_clusters[name] = n_clusters
        if effect is not None:
            self.design_effect[name] = effect

    def warn_of_constant(self, labels: Sequence[Any], score: int = 0) -> None:
        """Warn if there is one label, that of every prediction."""
        for label in labels:
            self.warn(constant_message(label, f"scores {score}"))

    def warn_of_alike(self, columns: CodedColumns, originals: str, others: str) -> None:
        """Warn where two columns that must be alike hold one answer throughout, or that of the originals does."""
        if label := columns.constant(originals, others):
            self.warn_of_constant(label)
        elif len(columns[originals]) >= FEW_UNITS and (label := columns.constant(originals)):
            effect = "puts the consistency above chance below 0: read the share itself"
            self.warn(f"every original is answered {label[0]!r}, and any other answer to another text then {effect}")

    def warn_if_few(self, n_units: int, such: str = "") -> None:
        """Warn if there are too few units for an interval, or for a reliable one if a method was chosen."""
        if n_units >= FEW_UNITS:
            return
        chosen = self.options.method in ("bootstrap", "closed_form")
        few = f"one {self.unit}" if n_units == 1 else f"only {n_units} {self.unit}s"
        effect = "the intervals are rough" if chosen and n_units > 1 else f"no interval below {FEW_UNITS}"
        self.warn(f"{few}{such}: {effect}")

    def note_undefined(self, values: Mapping[str, object]) -> None:
        """Note which values are nan; the last warning names them."""
        self.undefined += [name for name, value in values.items() if isinstance(value, float) and np.isnan(value)]

    def fields(self, values: Mapping[str, object], method: str | None = None, **parts: str | None) -> dict[str, Any]:
        """Return the fields of a `Result`: its values, their uncertainty, the signature with `parts`, and warnings.

        Values called ``name/key`` are those of the mapping of that name.
        """
        whole: dict[str, Any] = {}
        for name, value in values.items():
            own, _, key = name.partition("/")
            whole[own] = {**whole.get(own, {}), key: value} if key else value
        intervals = self.options.parts(method or self.options.method, self.unit)
        undefined = [f"undefined, so nan: {', '.join(self.undefined)}"] if self.undefined else []
        line = signature(self.options.function, **intervals | parts)
        tables = {name: getattr(self, name) for name in UNCERTAINTY}
        return {**whole, **tables, "signature": line, "warnings": (*self.warnings, *undefined)}

    # ------------------------------------------------------------------------------ functions of sums over units

    def intervals(self, units: Units, estimate: Estimate, ranges: Any, are_means: Any, **others: Any) -> Intervals:
        """Return the intervals of measures over units, computed with these options."""
        options, rng = self.options, self.rng or np.random.default_rng(self.options.entropy)
        settings = options.method, options.confidence_level, options.n_resamples, rng
        return intervals(units, estimate, ranges, are_means, *settings, **others)

    def add(
        self,
        names: Sequence[str],
        bounds: Intervals,
        n_clusters: int,
        effects: Sequence[float] | None = None,
        *,
        between: str | None = "units",
    ) -> None:
        """Set the uncertainty of the named values; `between` names the units in the warning about no spread."""
        for i, name in enumerate(names):
            error, effect = float(bounds.standard_error[i]), None if effects is None else float(effects[i])
            self.put(name, (bounds.low[i], bounds.high[i]), error, n_clusters, effect)
        flat = [name for name, at_boundary in zip(names, bounds.at_boundary, strict=True) if at_boundary]
        if flat and between is not None:
            self._warn_of_bound(between, flat)

    def _warn_of_bound(self, between: str, names: Sequence[str]) -> None:
        bound = "so the interval is a Clopper-Pearson type bound"
        self.warn(f"no spread between {between}, {bound}: {', '.join(names)}")

    # ------------------------------------------------------------------------------------------ shares of rows

    def add_share(self, name: str, hits: Mask, population: Mask | None = None) -> float:
        """Return the share of hits in the population (all rows without one), and set its uncertainty."""
        share = self.share(hits, population)
        self.put(name, share.interval, share.standard_error, share.n_clusters, share.design_effect)
        if np.isnan(share.value):
            self.undefined.append(name)
        elif share.at_boundary:
            self._warn_of_bound("groups" if self.dyads is None else "rows", [name])
        elif np.isnan(share.interval[0]) and (self.dyads is not None or self.n_groups >= FEW_UNITS):
            reason = "too few groups, or one that outweighs the others"
            reason = reason if self.dyads is None else "every two rows share a member"
            self.warn(f"{reason}: no interval for {name}")
        return share.value

    def add_chance(self, level: ChanceLevel, population: Mask | None = None) -> dict[str, float]:
        """Return the chance level of the rows in the population and the consistency above it; set its uncertainty."""
        if not np.isnan(level.shuffled) and np.isnan(level.corrected):
            self.undefined.append("chance_corrected")
        corrected = self.add_corrected("chance_corrected", level, self._groups_of(population))
        return {"chance": level.shuffled, "chance_corrected": corrected}

    def add_corrected(self, name: str, level: ChanceLevel, groups: Integers | Dyads | None) -> float:
        """Return the consistency above the chance level of rows or buckets, and set its uncertainty."""
        interval, error, n = level.interval(groups, self.options.confidence_level)
        self.put(name, interval, error, n, effect_of(error, error if groups is None else level.interval()[1]))
        return level.corrected

    def add_label_agreement(self, counts: BucketCounts, pool: LabelPool, groups: Integers | None) -> dict[str, float]:
        """Return the agreement above chance, Krippendorff's alpha and, for buckets of one size, Fleiss' kappa.

        Their intervals are added; kappa's follows from alpha's.
        """
        alpha, kappa, corrected = "krippendorff_alpha", "fleiss_kappa", "chance_corrected"
        values = {
            corrected: self.add_corrected(corrected, agreement_chance(counts, pool), groups),
            alpha: self.add_corrected(alpha, agreement_chance(counts, pool, pooled=True), groups),
        }
        if counts.size.min() == counts.size.max() > 1:
            known = values[alpha], *self.confidence_interval[alpha]
            values[kappa], *ends = (fleiss_kappa(x, pool.size) for x in known)
            error = self.standard_error[alpha] * pool.size / (pool.size - 1.0)
            self.put(kappa, ends, error, self.n_clusters[alpha], self.design_effect[alpha])
        return values

    def stratum(self, hits: Mapping[str, Mask], population: Mask, **rows: Mask) -> Stratum:
        """Return the shares of several kinds of hits in one stratum, the sizes of masks of rows, and the intervals."""
        shares = {name: self.share(mask, population) for name, mask in hits.items()}
        return {
            **{name: share.value for name, share in shares.items()},
            **{name: int(np.count_nonzero(mask)) for name, mask in rows.items()},
            "confidence_interval": {name: share.interval for name, share in shares.items()},
        }

    def _groups_of(self, population: Mask | None) -> Integers | Dyads | None:
        if self.dyads is not None:
            return self.dyads.where(population)
        return self.codes if self.codes is None or population is None else self.codes[population]

    def share(self, hits: Mask, population: Mask | None) -> Share:
        """Return the share of hits in the population with its uncertainty."""
        hits, groups = hits if population is None else hits[population], self._groups_of(population)
        n, k, nan = len(hits), int(np.count_nonzero(hits)), float("nan")
        if n == 0:
            return Share(nan, [nan, nan], nan, 0, nan)
        if isinstance(groups, Dyads):
            return self._dyadic_share(groups, hits)
        times = np.array([n - k, k])
        rows = units = Units.of(np.array([[1.0, 0.0], [1.0, 1.0]])[times > 0], times[times > 0])
        if groups is not None:
            sizes, counts = np.bincount(groups), np.bincount(groups[hits], minlength=self.n_groups)
            used = np.flatnonzero(sizes)
            sums = np.stack([sizes[used], counts[used]], axis=1)
            first, _, multiplicity = distinct(*sums.T)
            units = Units.of(sums[first].astype(np.float64), multiplicity)
        error = float(standard_errors(units, mean_of_sums)[0])
        effect = float(design_effects(units, rows, mean_of_sums)[0])
        interval, at_boundary = self._interval(units, n, k, error)
        return Share(k / n, interval, error, units.n, effect, at_boundary)

    def _interval(self, units: Units, n: int, k: int, error: float) -> tuple[list[float], bool]:
        """Return the interval of k in n rows, and whether it is a bound because groups do not differ."""
        method, level, few = self.options.method, self.options.confidence_level, too_few(units)
        sizes, hits = units.sums.T
        is_rare = error > NO_SPREAD and are_rare(sizes, hits, units.multiplicity) and (method == "exact" or not few)
        if is_rare and not self.options.is_chosen:
            return list(rare_interval(sizes, hits, units.multiplicity, level, n)), False
        if method == "exact":
            return list(proportion_interval(k, n, level)), False
        if method == "korn_graubard":
            if few:
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


def row_error(right: int, n: int) -> float:
    """Return the standard error of right / n if the n rows were independent; nan for one row."""
    return float(np.sqrt(right / n * (1.0 - right / n) / (n - 1))) if n > 1 else float("nan")


def effect_of(clustered: float, naive: float) -> float:
    """Return the design effect from two standard errors; nan where the sample has no spread."""
    return (clustered / naive) ** 2 if min(clustered, naive) > NO_SPREAD else float("nan")
