"""Conditions on which a run stops asking, and the interval that holds however often it is looked at.

A condition is ``wording_change ± 0.03`` (an interval that narrow) or ``pc >= 0.75`` (whether it holds is known). The
buckets were asked in a random order, cluster by cluster, and predictions keep that order: a cluster is one value
between 0 and 1, the mean of its buckets, with its size as weight (`paraconsist.measures.sequential`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from paraconsist.data.rows import Rows
from paraconsist.errors import input_error
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.measures.results import Record, Result, Values, parse_signature
from paraconsist.measures.rules import PARAPHRASE
from paraconsist.measures.sequential import MeanSequence
from paraconsist.scoring.outcomes import WORDINGS, changes_of_buckets, is_right

#: Quantity -> the roles of the rows that it is of, and how many of them a bucket must have.
QUANTITIES: Mapping[str, tuple[tuple[str, ...], int]] = {
    "wording_change": (WORDINGS, 2),
    "pc": ((PARAPHRASE,), 2),
    "bucket_accuracy": ((PARAPHRASE,), 1),
}
_UNTIL = re.compile(r"\s*([a-z_]+)\s*(±|\+/?-|>=|<=|>|<)\s*([0-9.eE+-]+)\s*(%?)\s*")
_R = TypeVar("_R", bound=Result)


@dataclass(frozen=True)
class Until:
    """What must be known before a run stops asking."""

    quantity: str
    comparison: str  # ``±``, ``>=``, ``<=``, ``>`` or ``<``
    bound: float

    @classmethod
    def read(cls, text: str) -> Until:
        """Read a condition; InputError if `text` is none.

        >>> str(Until.read("wording_change +- 3%"))
        'wording_change ± 0.03'
        """
        match, bound = _UNTIL.fullmatch(text), float("nan")
        with contextlib.suppress(ValueError):
            bound = float(match[3]) / (100 if match[4] else 1) if match else bound
        if match is None or match[1] not in QUANTITIES or not 0.0 < bound < 1.0:
            remedy = "Write for instance 'wording_change ± 0.03' (or +-) or 'pc >= 0.75'."
            must = f"be QUANTITY ±, >=, <=, > or < NUMBER between 0 and 1, of {', '.join(QUANTITIES)}"
            raise input_error("run", "until", must, got=text, remedy=remedy)
        return cls(match[1], "±" if match[2].startswith("+") else match[2], bound)

    def __str__(self) -> str:
        return f"{self.quantity} {self.comparison} {self.bound:g}"

    def verdict(self, low: float, high: float) -> bool | None:
        """Return whether it holds; None if an interval is too wide to know."""
        if self.comparison == "±":
            return True if (high - low) / 2.0 <= self.bound else None
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


def known(rows: Rows, about: Mapping[str, Any], confidence_level: float = 0.95) -> Known:
    """Return what is known of the condition of a run that was asked until it is.

    `rows` are as the policy for unparsed answers has left them, in the order in which they were asked; `about` is what
    the predictions record of the condition.
    """
    until = Until.read(about["condition"])
    wanted = {"half_width": until.bound} if until.comparison == "±" else {"bound": until.bound}
    n_values = about["n_clusters"] if about["of_set"] else None
    sequence = MeanSequence(**wanted, n_values=n_values, confidence_level=confidence_level)
    for values in _clusters(rows, until.quantity, about["of_set"]):
        sequence.add(float(np.mean(values)), 1.0 if n_values else len(values) / about["largest_cluster"])
    low, high = sequence.low, sequence.high
    expected = min(max(round(sequence.n_expected), sequence.n), about["n_clusters"])
    counts = sequence.n, about["n_clusters"], expected
    verdict = until.verdict(low, high)
    return Known(str(until), until.quantity, about["of_set"], sequence.mean, low, high, *counts, verdict)


def _clusters(rows: Rows, quantity: str, of_set: bool) -> list[list[float]]:
    """Return the values of the buckets of each cluster, in the order in which they were asked."""
    roles, least = QUANTITIES[quantity]
    counted = rows.where(np.isin(rows.roles, roles))
    buckets = np.asarray(counted.buckets)
    if quantity == "wording_change":
        by_bucket = changes_of_buckets(counted)
    else:
        ids, codes, k = np.unique(buckets, return_inverse=True, return_counts=True)
        c = np.bincount(codes, weights=is_right(counted))
        pairs = np.maximum(k * (k - 1), 1)
        values = c / k if quantity == "bucket_accuracy" else 1.0 - 2.0 * c * (k - c) / pairs
        by_bucket = dict(zip(ids[k >= least].tolist(), values[k >= least].tolist(), strict=True))
    of_cluster: dict[Any, list[float]] = {}
    groups = buckets if counted.groups is None or of_set else counted.groups
    for bucket, group in dict(zip(buckets.tolist(), groups.tolist(), strict=True)).items():
        if bucket in by_bucket:
            of_cluster.setdefault(group, []).append(by_bucket[bucket])
    return list(of_cluster.values())


def with_known(result: _R, found: Known | None) -> _R:
    """Return a result of a run that was asked until something was known, with the one interval that holds for it.

    Intervals for a fixed number of buckets do not hold there: those of other values are undefined.
    """
    ends = {name: _blank(value) for name, value in result.confidence_interval.items()}
    method = "none"
    key = None if found is None else {"pc": PARAPHRASTIC.headline}.get(found.quantity, found.quantity)
    if found is not None and key in ends:
        method = f"{'set' if found.of_set else 'bucket'}-betting"
        ends[key] = [found.low, found.high]
        if key == "wording_change":
            ends["same_answer"] = [1.0 - found.high, 1.0 - found.low]
    parts = {"ci": method} if found is None else {"ci": method, "until": found.condition}
    signature = parse_signature(result.signature)
    blanked: dict[str, Any] = {"confidence_interval": ends}
    if strata := getattr(result, "by_stratum", None):
        blanked["by_stratum"] = _without_intervals(strata)
    return replace(result, **blanked, signature=str(signature.replace(**parts)))


def _blank(value: Any) -> Any:
    return {k: _blank(v) for k, v in value.items()} if isinstance(value, Mapping) else [float("nan")] * 2


def _without_intervals(strata: Values) -> dict[str, Any]:
    return {
        key: _blank(value)
        if key == "confidence_interval"
        else _without_intervals(value)
        if isinstance(value, Mapping)
        else value
        for key, value in strata.items()
    }


def note_of(found: Values) -> str:
    """Return a sentence on the interval of a run that was asked until something was known."""
    of = "the mean of this set" if found["of_set"] else "the mean of the population"
    return (
        f"asked until {found['condition']}, in random order ({found['n_asked']:,} of {found['n_in_all']:,}): the "
        f"interval of {found['quantity']}, for {of}, holds however often it was looked at; intervals for a fixed "
        "number of buckets would not, and are left out"
    )
