"""From a pilot's predictions to what `paraconsist.measures.planning` takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from paraconsist.data.rows import Rows, read_rows
from paraconsist.errors import input_error
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.catalogue import SEMANTIC
from paraconsist.measures.planning import Pilot, pilot_of
from paraconsist.measures.rules import PARAPHRASE
from paraconsist.scoring.options import SourceOptions
from paraconsist.scoring.roles import violations
from paraconsist.scoring.sources import open_source
from paraconsist.scoring.unparsed import apply_policy, check_parsed


def pilot_rows(pilot: Any, read: SourceOptions, set_name: str | None = None) -> Rows:
    """Return the rows of a pilot, which is one set; unparsed answers are wrong."""
    source = open_source(pilot, read, function="plan").one("plan", "pilot", set_name)
    columns = replace(source.columns, confidence=None, probabilities=(), strata=[])
    rows = read_rows(source.predictions, columns)
    check_parsed("plan", "pilot", rows, source.name)
    return apply_policy(rows, "wrong")[0]


def _hits(rows: Rows, measure: str) -> tuple[Any, Any]:
    """Return the buckets of the paraphrases, and what is counted in them: right answers, or changed ones."""
    if measure == "inconsistency":
        changes = violations(SEMANTIC, rows)
        return changes.positions, changes.broken
    targets = np.flatnonzero(rows.roles == PARAPHRASE)
    if not len(targets):
        raise input_error("plan", "role", "be 'paraphrase' in at least one row", got=np.unique(rows.roles).tolist())
    return targets, rows.predictions[targets] == rows.labels[targets]


def _counts(rows: Rows, measure: str) -> tuple[Any, Any, Any]:
    """Return the bucket ids with their sizes and counts, and the groups."""
    targets, hits = _hits(rows, measure)
    assert rows.buckets is not None
    ids, first, codes = np.unique(rows.buckets[targets], return_index=True, return_inverse=True)
    counts = BucketCounts.from_counts(np.bincount(codes), np.bincount(codes[hits], minlength=len(ids)))
    groups = None if rows.groups is None else np.unique(rows.groups[targets][first], return_inverse=True)[1]
    return ids, counts, groups


def pilot_of_rows(rows: Rows, measure: str) -> Pilot:
    _, counts, groups = _counts(rows, measure)
    return pilot_of(counts, measure, groups=groups)


def correlation_of(one: Rows, two: Rows, measure: str) -> float:
    """Return the correlation of two models' bucket values over their common buckets."""
    ids_one, first, _ = _counts(one, measure)
    ids_two, second, _ = _counts(two, measure)
    common, at_one, at_two = np.intersect1d(ids_one, ids_two, return_indices=True)
    values = []
    for counts, at in ((first, at_one), (second, at_two)):
        k, c = counts.size[at].astype(float), counts.correct[at].astype(float)
        pairs = measure in ("paraphrastic_consistency_unbiased", "vap_unbiased")
        values.append(np.where(k > 1, c * (k - c) / np.maximum(k * (k - 1), 1), np.nan) if pairs else c / k)
    known = np.isfinite(values[0]) & np.isfinite(values[1]) if len(common) else np.zeros(0, dtype=bool)
    if np.count_nonzero(known) < 3:
        raise input_error("plan", "against", "share at least three buckets with the pilot", got=int(known.sum()))
    spread = [float(np.std(v[known])) for v in values]
    return float(np.corrcoef(values[0][known], values[1][known])[0, 1]) if min(spread) > 0 else 0.0
