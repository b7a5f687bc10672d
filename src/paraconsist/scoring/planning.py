"""From a pilot's predictions to what `paraconsist.measures.planning` takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.comparing.rehearsal import end_rehearsal
from paraconsist.data.options import SourceOptions
from paraconsist.data.rows import Rows
from paraconsist.data.tables import is_among
from paraconsist.errors import check_choice, input_error, renamed
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.catalogue import SEMANTIC
from paraconsist.measures.planning import (
    MEASURES,
    WORDING_CHANGE,
    Pilot,
    pilot_of,
    pilot_of_changes,
    pilot_of_difference,
)
from paraconsist.measures.rules import PARAPHRASE
from paraconsist.scoring.alignment import ROW_ID, rows_with_ids
from paraconsist.scoring.outcomes import differing_pairs, wordings_of
from paraconsist.scoring.roles import apply_policy, check_parsed, violations
from paraconsist.scoring.sources import open_source


def pilot_sets(pilot: Any, read: SourceOptions, only: str | None = None, *, is_other: bool = False) -> dict[str, Rows]:
    """Return a pilot's rows by set, those with paraphrases if any has them; another model's only set has any name."""
    with renamed(path="pilot"):
        opened = open_source(pilot, read, function="plan")
    sets = {}
    takes_all = only is None or (is_other and len(opened.sets) == 1)
    for name in opened.sets if takes_all and opened.sets else [only]:
        source = opened.one("plan", "pilot", name)
        rows = rows_with_ids(source)
        check_parsed("plan", "pilot", rows, source.name)
        sets[name or source.name] = apply_policy(rows, "wrong")[0]
    of_wordings = {name: rows for name, rows in sets.items() if PARAPHRASE in rows.roles}
    return of_wordings or sets


@dataclass(frozen=True)
class _Pilot:
    """The m rows that are counted, and those of them that are right, or changed."""

    rows: Rows
    hits: NDArray[np.bool_]  # shape (m,); none are read for wording changes
    ids: NDArray[Any]  # shape (n_buckets,)
    counts: BucketCounts
    groups: NDArray[np.intp] | None  # shape (n_buckets,)

    @property
    def places(self) -> list[NDArray[Any]]:
        """The buckets of the rows, and the rows' own ids where they have any."""
        own = [self.rows.strata[ROW_ID]] if ROW_ID in self.rows.strata else []
        return [np.asarray(self.rows.buckets), *own]


def _read(rows: Rows, measure: str) -> _Pilot:
    if measure == "inconsistency":
        changes = violations(SEMANTIC, rows)
        counted, hits = rows.take(changes.positions), changes.broken
    elif measure == WORDING_CHANGE:
        counted = wordings_of(rows)
        hits = np.zeros(len(counted), dtype=np.bool_)
    else:
        if rows.is_without_gold:
            remedy = f"{measure} needs gold labels; `measure` {WORDING_CHANGE} does not."
            raise input_error("plan", "label", "name a column of the pilot", got=None, remedy=remedy)
        counted = rows.where(rows.roles == PARAPHRASE)
        if not len(counted):
            raise input_error("plan", "role", "be 'paraphrase' in at least one row", got=np.unique(rows.roles).tolist())
        hits = counted.predictions == counted.labels
    ids, first, codes = np.unique(np.asarray(counted.buckets), return_index=True, return_inverse=True)
    counts = BucketCounts.from_counts(np.bincount(codes), np.bincount(codes[hits], minlength=len(ids)))
    groups = None if counted.groups is None else np.unique(counted.groups[first], return_inverse=True)[1]
    return _Pilot(counted, hits, ids, counts, groups)


def pilot_of_rows(rows: Rows, measure: str | None = None) -> Pilot:
    """Return how a measure varies in a pilot: by default P_C, or the wording change where there are no gold labels."""
    measure = measure or (WORDING_CHANGE if rows.is_without_gold else MEASURES[0])
    check_choice("plan", "measure", measure, (*MEASURES, WORDING_CHANGE))
    pilot = _read(rows, measure)
    end_rehearsal()  # what follows refuses a pilot whose answers do not vary
    if measure == WORDING_CHANGE:
        return pilot_of_changes(differing_pairs(pilot.rows), groups=pilot.groups)
    return pilot_of(pilot.counts, measure, groups=pilot.groups)


def pilot_of_two(one: Rows, two: Rows, measure: str) -> Pilot:
    """Return how the difference of a measure between two models varies over the buckets that both answered."""
    first, second = _read(one, measure), _read(two, measure)
    common, *at = np.intersect1d(first.ids, second.ids, assume_unique=True, return_indices=True)
    n_columns = min(len(first.places), len(second.places))
    orders = [_order(pilot.places[:n_columns], common) for pilot in (first, second)]
    columns = [
        [place[order] for place in pilot.places[:n_columns]]
        for pilot, order in zip((first, second), orders, strict=True)
    ]
    both, notes = None, ["the two files have other texts: answers within a bucket are taken for independent"]
    same_texts = all(map(np.array_equal, *columns))
    if same_texts:
        hits = first.hits[orders[0]] & second.hits[orders[1]]
        both = np.bincount(np.searchsorted(common, columns[0][0][hits]), minlength=len(common))
        matched = "rows have no ids of their own: those of a bucket are matched by their place"
        notes = [] if n_columns > 1 else [matched]
    groups = None if first.groups is None else first.groups[at[0]]
    if measure == WORDING_CHANGE:
        differ = [differing_pairs(read.rows.take(order)) for read, order in zip((first, second), orders, strict=True)]
        pilot = pilot_of_changes(*differ, same_texts=same_texts, groups=groups)
    else:
        counts = first.counts.take(at[0]), second.counts.take(at[1])
        pilot = pilot_of_difference(*counts, measure, both=both, groups=groups)
    return replace(pilot, warnings=(*pilot.warnings, *notes))


def _order(places: Sequence[NDArray[Any]], common: NDArray[Any]) -> NDArray[np.intp]:
    """Return the positions of the rows of common buckets, ordered by bucket and (where they tell) the rows' own ids."""
    kept = np.flatnonzero(is_among(places[0], common))
    return kept[np.lexsort([place[kept] for place in reversed(places)])]
