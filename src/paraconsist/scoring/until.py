"""Conditions on which a run stops asking, and the interval that holds however often it is looked at.

A condition is ``wording_change ± 0.03`` (an interval that narrow), ``pc >= 0.75`` (whether it holds is known), or on
the difference from another run over the same wordings: ``pc > runs/a``, ``pc - runs/a ± 0.03``. The buckets were asked
in a random order, cluster by cluster, and predictions keep that order: a cluster is one value between 0 and 1, the mean
of its buckets, with its size as weight (`paraconsist.measures.sequential`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from paraconsist.data.rows import Rows, read_rows
from paraconsist.errors import input_error
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.measures.intervals import FEW_UNITS, Units, intervals, mean_of_sums
from paraconsist.measures.results import Record, Values, parse_signature
from paraconsist.measures.rules import PARAPHRASE
from paraconsist.measures.sequential import MeanSequence
from paraconsist.scoring.outcomes import WORDINGS, changes_of_buckets, is_right
from paraconsist.scoring.roles import AnyResult, apply_policy
from paraconsist.scoring.sources import open_source

#: Quantity -> the roles of the rows that it is of, and how many of them a bucket must have.
QUANTITIES: Mapping[str, tuple[tuple[str, ...], int]] = {
    "wording_change": (WORDINGS, 2),
    "pc": ((PARAPHRASE,), 2),
    "bucket_accuracy": ((PARAPHRASE,), 1),
}
_UNTIL = re.compile(r"\s*([a-z_]+)\s*(?:[-−]\s*([^<>±]+?)\s*)?(±|\+/?-|>=|<=|>|<)\s*(.+?)\s*")
_OWN_HALF_WIDTH = 0.03  # for which the interval of a run's own mean is tuned where its condition is on a difference


@dataclass(frozen=True)
class Until:
    """What must be known before a run stops asking."""

    quantity: str
    comparison: str  # ``±``, ``>=``, ``<=``, ``>`` or ``<``
    bound: float
    reference: str | None = None  # the run from whose mean the difference is meant

    @classmethod
    def read(cls, text: str) -> Until:
        """Read a condition; InputError if `text` is none.

        >>> str(Until.read("wording_change +- 3%"))
        'wording_change ± 0.03'
        >>> str(Until.read("pc - runs/a >= -0.02"))
        'pc - runs/a >= -0.02'
        """
        match = _UNTIL.fullmatch(text) if isinstance(text, str) else None
        quantity, reference, comparison, right = match.groups() if match else ("", None, "", "")
        comparison = "±" if comparison.startswith("+") else comparison
        try:
            bound = float(right.removesuffix("%")) / (100 if right.endswith("%") else 1)
        except ValueError:
            bound = 0.0 if reference is None and comparison != "±" else float("nan")
            reference = reference or right
        least = 0.0 if reference is None or comparison == "±" else -1.0
        if quantity not in QUANTITIES or not (least < bound < 1.0):
            remedy = "Write 'wording_change ± 0.03' (or +-), 'pc >= 0.75', 'pc > RUN'; bucket_accuracy is the accuracy."
            must = f"be QUANTITY ±, >=, <=, > or < NUMBER between 0 and 1, of {', '.join(QUANTITIES)}"
            raise input_error("run", "until", must, got=text, remedy=remedy)
        return cls(quantity, comparison, bound, reference)

    def __str__(self) -> str:
        if self.reference is not None and not self.bound:
            return f"{self.quantity} {self.comparison} {self.reference}"
        return f"{self.of} {self.comparison} {self.bound:g}"

    @property
    def of(self) -> str:
        """What the condition is on: a quantity, or the difference from a run's."""
        return self.quantity if self.reference is None else f"{self.quantity} - {self.reference}"

    def verdict(self, low: float, high: float) -> bool | None:
        """Return whether it holds, apart from rounding; None if an interval is too wide to know."""
        if self.comparison == "±":
            return True if (high - low) / 2.0 <= self.bound else None
        low, high = (self.bound if abs(end - self.bound) < 1e-9 else end for end in (low, high))
        ends = (low, high) if self.comparison.startswith(">") else (-high, -low)
        bound = self.bound if self.comparison.startswith(">") else -self.bound
        is_strict = "=" not in self.comparison
        if ends[0] > bound or (ends[0] == bound and not is_strict):
            return True
        return False if ends[1] < bound or (ends[1] == bound and is_strict) else None


@dataclass(frozen=True)
class Known(Record):
    """What is known of a condition after some buckets, in whose random order the rest would follow."""

    condition: str
    quantity: str
    of_set: bool  # whether the mean is that of the set itself, not of the population it was drawn from
    value: float
    low: float
    high: float
    n_asked: int  # clusters, or buckets where there are none
    n_in_all: int  # those of the set
    n_expected: int  # about how many of them are enough
    verdict: bool | None  # None: not known yet
    reference: str | None = None  # the run from whose mean the difference is meant, where it is a difference
    own: Known | None = None  # of the run's own mean, where it is a difference
    price: float | None = None  # of looking: clusters over those of a fixed number with as narrow an interval


def known(rows: Rows, about: Values, confidence_level: float = 0.95) -> Known:
    """Return what is known of the condition of a run that was asked until it is.

    `rows` are as the policy for unparsed answers has left them, in the order in which they were asked; `about` is what
    the predictions record of the condition.
    """
    until = Until.read(about["condition"])
    # A difference of two means is at most 1 either way: half of it and 1/2 is a value that can be bet on.
    scale, offset = (1.0, 0.0) if until.reference is None else (2.0, -1.0)
    name, aim = ("half_width", 0.0) if until.comparison == "±" else ("bound", offset)
    n_values = about["n_clusters"] if about["of_set"] else None
    wanted = {name: (until.bound - aim) / scale}
    sequence = MeanSequence(**wanted, n_values=n_values, confidence_level=confidence_level)
    values = values_of_buckets(rows, until.quantity)
    if until.reference is not None:
        theirs = about["reference"]
        values = {bucket: (value - theirs[bucket] + 1.0) / 2.0 for bucket, value in values.items()}
    clusters = _clusters(rows, values, of_set=about["of_set"])
    means = np.array([float(np.mean(cluster)) for cluster in clusters])
    weights = np.array([1.0 if n_values else len(cluster) / about["largest_cluster"] for cluster in clusters])
    for mean_of, weight in zip(means.tolist(), weights.tolist(), strict=True):
        sequence.add(mean_of, weight)
    mean, low, high = (scale * end + offset for end in (sequence.mean, sequence.low, sequence.high))
    expected = min(max(round(sequence.n_expected), sequence.n), about["n_clusters"])
    counts = sequence.n, about["n_clusters"], expected
    verdict = until.verdict(low, high)
    about_it, price = (str(until), until.quantity, about["of_set"]), None
    if sequence.n >= FEW_UNITS:
        units = Units.of(np.stack([weights, weights * means], axis=1), np.ones(len(means)))
        ends = intervals(units, mean_of_sums, [(0.0, 1.0)], [True], confidence_level=confidence_level)
        left = 1.0 - sequence.n / n_values if n_values else 1.0
        width = float(ends.high[0] - ends.low[0]) * left**0.5  # of an interval that may be looked at once
        price = (2.0 * sequence.half_width / width) ** 2 if width > 0.0 else None
    return Known(*about_it, mean, low, high, *counts, verdict, until.reference, price=price)


def with_own(found: Known, rows: Rows, about: Values, confidence_level: float = 0.95) -> Known:
    """Return what is known, with that of the run's own mean where the condition is on a difference."""
    if found.reference is None:
        return found
    about = {**about, "condition": f"{found.quantity} ± {_OWN_HALF_WIDTH}"}
    return replace(found, own=known(rows, about, confidence_level))


def values_of_run(until: Until, wanted: Mapping[str, Collection[str]], about: Values) -> tuple[dict[str, float], Any]:
    """Return the value of each bucket in the run that a condition refers to, of the same wordings, and its seed.

    `wanted` are the example ids that count of each bucket; buckets that the run has not all of are left out. `about`
    has the ``set``, ``set_fingerprint`` and ``same`` of the run that begins, as predictions record them. InputError if
    there is no such run, it is not over the same set, or its answers were compared otherwise.
    """
    if until.reference is None or not Path(until.reference).exists():
        raise input_error("run", "until", "refer to a run that exists", got=str(until))
    source = open_source(until.reference, function="run").sets.get(about["set"])
    before = {} if source is None else source.predictions.metadata
    for key, must in {"set_fingerprint": "be over the same set", "same": "compare answers alike"}.items():
        if source is None or before.get(key) != about.get(key):
            got = f"{until.reference}, whose {key} is {before.get(key)}" if before else until.reference
            raise input_error("run", "until", must, got=got, remedy="Its answers are subtracted bucket by bucket.")
    assert source is not None
    ids = {example for examples in wanted.values() for example in examples}
    counts = np.array([example in ids for example in source.predictions.table["example_id"].to_pylist()])
    rows = apply_policy(read_rows(source.predictions, source.columns).where(counts), "wrong")[0]
    buckets, n = np.unique(np.asarray(rows.buckets), return_counts=True)
    whole = {bucket for bucket, k in zip(buckets.tolist(), n.tolist(), strict=True) if k == len(wanted[bucket])}
    values = values_of_buckets(rows, until.quantity).items()
    return {bucket: value for bucket, value in values if bucket in whole}, before.get("seed")


def values_of_buckets(rows: Rows, quantity: str) -> dict[Any, float]:
    """Return the value of a quantity, in [0, 1], for each bucket that has rows enough."""
    roles, least = QUANTITIES[quantity]
    counted = rows.where(np.isin(rows.roles, roles))
    if quantity == "wording_change":
        return changes_of_buckets(counted)
    ids, codes, k = np.unique(np.asarray(counted.buckets), return_inverse=True, return_counts=True)
    c = np.bincount(codes, weights=is_right(counted))
    pairs = np.maximum(k * (k - 1), 1)
    values = c / k if quantity == "bucket_accuracy" else 1.0 - 2.0 * c * (k - c) / pairs
    return dict(zip(ids[k >= least].tolist(), values[k >= least].tolist(), strict=True))


def _clusters(rows: Rows, values: Mapping[Any, float], *, of_set: bool) -> list[list[float]]:
    """Return the values of the buckets of each cluster, in the order in which they were asked."""
    buckets = np.asarray(rows.buckets)
    of_cluster: dict[Any, list[float]] = {}
    groups = buckets if rows.groups is None or of_set else rows.groups
    for bucket, group in dict(zip(buckets.tolist(), groups.tolist(), strict=True)).items():
        if bucket in values:
            of_cluster.setdefault(group, []).append(values[bucket])
    return list(of_cluster.values())


def with_known(result: AnyResult, found: Known | None) -> AnyResult:
    """Return a result of a run that was asked until something was known, with the one interval that holds for it.

    Intervals for a fixed number of buckets do not hold there: those of other values are undefined.
    """
    ends = _without_intervals(result.confidence_interval, is_interval=True)
    method = "none"
    key = None if found is None else {"pc": PARAPHRASTIC.headline}.get(found.quantity, found.quantity)
    if found is not None and key in ends:
        method = f"{'set' if found.of_set else 'bucket'}-betting"
        low, high = (found.own or found).low, (found.own or found).high
        ends[key] = [low, high]
        if key == "wording_change":
            ends["same_answer"] = [1.0 - high, 1.0 - low]
    parts = {"ci": method} if found is None else {"ci": method, "until": found.condition}
    signature = parse_signature(result.signature)
    blanked: dict[str, Any] = {"confidence_interval": ends}
    if strata := getattr(result, "by_stratum", None):
        blanked["by_stratum"] = _without_intervals(strata)
    return replace(result, **blanked, signature=str(signature.replace(**parts)))


def _without_intervals(value: Any, *, is_interval: bool = False) -> Any:
    """Return values in mappings, with nan for the ends of intervals."""
    if isinstance(value, Mapping):
        of_intervals = {key: is_interval or key == "confidence_interval" for key in value}
        return {key: _without_intervals(inner, is_interval=of_intervals[key]) for key, inner in value.items()}
    return [float("nan")] * 2 if is_interval else value


def note_of(found: Values) -> str:
    """Return a sentence on the interval of a run that was asked until something was known."""
    of = "the mean of this set" if found["of_set"] else "the mean of the population"
    difference = ""
    if found.get("reference") is not None:
        ends = f"{found['low']:.3f} to {found['high']:.3f}"
        difference = f"{found['quantity']} less that of {found['reference']} is {found['value']:.3f} ({ends}); "
    price = "" if found.get("price") is None else f" (which took {found['price']:.1f} times the buckets)"
    return (
        f"asked until {found['condition']}, in random order ({found['n_asked']:,} of {found['n_in_all']:,}): "
        f"{difference}the interval of {found['quantity']}, for {of}, holds however often it was looked at{price}; "
        "intervals for a fixed number of buckets would not, and are left out"
    )
