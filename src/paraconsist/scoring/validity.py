"""The share of paraphrases that people judged invalid, and bounds of rates among the valid ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from paraconsist.data.rows import Rows
from paraconsist.data.tables import read_table
from paraconsist.errors import input_error
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.measures.checked import AmongValid, Bounds, label_share, rate_among_valid, validity_bounds
from paraconsist.measures.results import Record, Values
from paraconsist.measures.rules import ORIGINAL
from paraconsist.scoring.alignment import ROW_ID
from paraconsist.scoring.checked import MARKS, alike_of, per_bucket, same_of
from paraconsist.scoring.outcomes import SAME_ANSWER, WORDING_CHANGE

_BUCKETS = ("bucket_id", "query_id", "original")  # columns by which rows belong together
_REJECTED = re.compile(r".*\.rejected_\d+", re.DOTALL)  # ids of candidates that a filter left out of the set
_KINDS = ("source", "generator", "method", "category", "kind", "property")  # columns that shares are broken down by


@dataclass(frozen=True, kw_only=True)
class Validity(Record):
    """People's judgements of a set's wordings, and the rates that they bound.

    Attributes
    ----------
    n_labels, n_buckets : int
        Judged wordings, and their problems.
    invalid : float
        The share that is no paraphrase, in [0, 1], with `confidence_interval`, by problem.
    by : dict
        Column -> value -> ``invalid``, ``confidence_interval`` and ``n_labels``.
    bounds : dict of str to Bounds
        Rate -> what it may be among valid paraphrases.
    among_valid : dict of str to AmongValid
        Rate -> what it is among them, where the sheet has the ids of wordings of this run (``example_id``).
    """

    n_labels: int
    n_buckets: int
    invalid: float
    confidence_interval: list[float]
    by: dict[str, dict[str, Values]]
    bounds: dict[str, Bounds]
    among_valid: dict[str, AmongValid]


def read_validity(
    path: str | Path, rates: Mapping[str, Values], confidence_level: float, rows: Rows | None = None
) -> Validity:
    """Read a sheet with a column ``valid`` (or several, ``valid_1`` ...), and bound the `rates` that are known.

    `rates` is name -> a result with the rate and its interval; `rows` are those that they are of, with their ids
    (`paraconsist.scoring.alignment.ROW_ID`). Rows without a mark, and candidates that are not in the set, are left out.
    InputError if there is no such column, a cell is neither yes, no nor empty, or nothing is judged.
    """
    table = read_table(path, function="score", parameter="validity")
    columns = [name for name in table.column_names if name == "valid" or name.startswith("valid_")]
    unit = next((name for name in _BUCKETS if name in table.column_names), None)
    if not columns or unit is None:
        must = f"have a column valid, and one of {', '.join(_BUCKETS)}"
        raise input_error("score", "validity", must, got=table.column_names)
    cells = {name: [x or "" for x in table[name].cast(pa.string()).to_pylist()] for name in table.column_names}
    labels = np.full(table.num_rows, np.nan)
    for row in range(table.num_rows):
        words = [word for name in columns if (word := cells[name][row].strip().lower())]
        if not MARKS.keys() >= {*words}:
            raise input_error("score", "validity", "have yes, no or nothing in valid", got=words, row=row)
        if words:
            labels[row] = 1.0 - sum(MARKS[word] for word in words) / len(words)
    in_set = [_REJECTED.fullmatch(name) is None for name in cells.get("example_id", [""] * len(labels))]
    judged = np.flatnonzero(~np.isnan(labels) & np.array(in_set))
    if not len(judged):
        raise input_error("score", "validity", "have at least one judgement", got=str(path))
    groups = np.array(cells[unit])
    share, ends = label_share(labels[judged], groups[judged], confidence_level)
    by: dict[str, dict[str, Values]] = {}
    for name in (name for name in _KINDS if name in cells):
        kinds = np.array(cells[name])
        for kind in np.unique(kinds[judged]).tolist():
            members = judged[kinds[judged] == kind]
            value, interval = label_share(labels[members], groups[members], confidence_level)
            of_kind = {"invalid": value, "confidence_interval": interval, "n_labels": len(members)}
            by.setdefault(name, {})[kind] = of_kind
    keys = (SAME_ANSWER.key, WORDING_CHANGE.key, PARAPHRASTIC.headline)
    found = {key: result for result in rates.values() for key in keys if result.get(key) == result.get(key, 0.0)}
    bounds = {
        key: validity_bounds(result[key], result["confidence_interval"][key], share, ends)
        for key, result in found.items()
        if key in result
    }
    among: dict[str, AmongValid] = {}
    if rows is not None and "example_id" in cells:
        among = _among_valid({cells["example_id"][row]: float(labels[row]) for row in judged}, rows, confidence_level)
    sizes = {"n_labels": len(judged), "n_buckets": len(np.unique(groups[judged]))}
    return Validity(**sizes, invalid=share, confidence_interval=ends, by=by, bounds=bounds, among_valid=among)


def _among_valid(marks: Mapping[str, float], rows: Rows, confidence_level: float) -> dict[str, AmongValid]:
    """Return the rates among pairs of valid wordings of a run, some of which have a mark (1: no paraphrase) by id."""
    if ROW_ID not in rows.strata:
        return {}
    invalid = np.array([marks.get(str(name), np.nan) for name in rows.strata[ROW_ID].tolist()])
    if np.isnan(invalid).all():
        return {}
    invalid[rows.roles == ORIGINAL] = 0.0
    kinds = {SAME_ANSWER.key: same_of(rows)}
    if rows.has_gold.all():
        kinds[PARAPHRASTIC.headline] = alike_of(rows)[:3]
    groups, found = np.asarray(rows.buckets if rows.groups is None else rows.groups), {}
    for key, (first, second, hits) in kinds.items():
        marks_of, weights = 1.0 - (1.0 - invalid[first]) * (1.0 - invalid[second]), 1.0 / per_bucket(rows, first)
        of = rate_among_valid(hits, marks_of, weights, groups[first], confidence_level=confidence_level)
        found[key] = of
        if key == SAME_ANSWER.key:
            turned = [1.0 - end for end in of.confidence_interval[::-1]]
            found[WORDING_CHANGE.key] = replace(of, value=1.0 - of.value, confidence_interval=turned)
    return found
