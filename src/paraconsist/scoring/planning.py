"""From a pilot's predictions to what `paraconsist.measures.planning` takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.options import SourceOptions
from paraconsist.data.rows import Rows
from paraconsist.data.tables import is_among
from paraconsist.errors import input_error
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.catalogue import SEMANTIC
from paraconsist.measures.planning import Pilot, pilot_of, pilot_of_difference
from paraconsist.measures.rules import PARAPHRASE
from paraconsist.scoring.alignment import ROW_ID, rows_with_ids
from paraconsist.scoring.roles import apply_policy, check_parsed, violations
from paraconsist.scoring.sources import open_source


def pilot_sets(pilot: Any, read: SourceOptions, set_name: str | None = None) -> dict[str, Rows]:
    """Return the rows of a pilot by set; unparsed answers are wrong."""
    opened = open_source(pilot, read, function="plan")
    sets = {}
    for name in opened.sets if set_name is None and opened.sets else [set_name]:
        source = opened.one("plan", "pilot", name)
        rows = rows_with_ids(source)
        check_parsed("plan", "pilot", rows, source.name)
        sets[name or source.name] = apply_policy(rows, "wrong")[0]
    return sets


@dataclass(frozen=True)
class _Pilot:
    """The m rows that are counted, by bucket; what is counted are right answers, or changed ones."""

    buckets: NDArray[Any]  # shape (m,)
    texts: NDArray[Any] | None  # shape (m,): the rows' own ids
    hits: NDArray[np.bool_]  # shape (m,)
    ids: NDArray[Any]  # shape (n_buckets,)
    counts: BucketCounts
    groups: NDArray[np.intp] | None  # shape (n_buckets,)


def _read(rows: Rows, measure: str) -> _Pilot:
    if measure == "inconsistency":
        changes = violations(SEMANTIC, rows)
        targets, hits = changes.positions, changes.broken
    else:
        if rows.is_without_gold:
            remedy = f"{measure} needs gold labels. Give `measure` inconsistency: it needs an original in every bucket."
            raise input_error("plan", "label", "name a column of the pilot", got=None, remedy=remedy)
        targets = np.flatnonzero(rows.roles == PARAPHRASE)
        if not len(targets):
            raise input_error("plan", "role", "be 'paraphrase' in at least one row", got=np.unique(rows.roles).tolist())
        hits = rows.predictions[targets] == rows.labels[targets]
    assert rows.buckets is not None
    buckets = rows.buckets[targets]
    ids, first, codes = np.unique(buckets, return_index=True, return_inverse=True)
    counts = BucketCounts.from_counts(np.bincount(codes), np.bincount(codes[hits], minlength=len(ids)))
    groups = None if rows.groups is None else np.unique(rows.groups[targets][first], return_inverse=True)[1]
    texts = rows.strata[ROW_ID][targets] if ROW_ID in rows.strata else None
    return _Pilot(buckets, texts, hits, ids, counts, groups)


def pilot_of_rows(rows: Rows, measure: str) -> Pilot:
    """Return how a measure varies in a pilot."""
    pilot = _read(rows, measure)
    return pilot_of(pilot.counts, measure, groups=pilot.groups)


def pilot_of_two(one: Rows, two: Rows, measure: str) -> Pilot:
    """Return how the difference of a measure between two models varies over the buckets that both answered."""
    first, second = _read(one, measure), _read(two, measure)
    common, *at = np.intersect1d(first.ids, second.ids, assume_unique=True, return_indices=True)
    by_id = first.texts is not None and second.texts is not None
    rows = [_ordered(pilot, common, by_id) for pilot in (first, second)]
    both, notes = None, ["the two files have other texts: answers within a bucket are taken for independent"]
    if all(map(np.array_equal, rows[0][1:], rows[1][1:])):
        hits, buckets = rows[0][0] & rows[1][0], rows[0][1]
        both = np.bincount(np.searchsorted(common, buckets[hits]), minlength=len(common))
        notes = [] if by_id else ["rows have no ids of their own: those of a bucket are matched by their place"]
    groups = None if first.groups is None else first.groups[at[0]]
    counts = first.counts.take(at[0]), second.counts.take(at[1])
    pilot = pilot_of_difference(*counts, measure, both=both, groups=groups)
    return replace(pilot, warnings=(*pilot.warnings, *notes))


def _ordered(pilot: _Pilot, common: NDArray[Any], by_id: bool) -> list[NDArray[Any]]:
    """Return hits, buckets and (where they tell) ids of the rows of common buckets, ordered by these."""
    columns = [pilot.hits, pilot.buckets] + ([pilot.texts] if by_id and pilot.texts is not None else [])
    columns = [column[is_among(pilot.buckets, common)] for column in columns]
    order = np.lexsort(columns[:0:-1])
    return [column[order] for column in columns]
