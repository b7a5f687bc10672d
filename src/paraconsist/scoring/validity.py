"""The share of paraphrases that people judged invalid, and bounds of rates among the valid ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from paraconsist.data.tables import read_table
from paraconsist.errors import input_error
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.measures.checked import Bounds, label_share, validity_bounds
from paraconsist.measures.results import Record, Values
from paraconsist.scoring.checked import MARKS
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
    """

    n_labels: int
    n_buckets: int
    invalid: float
    confidence_interval: list[float]
    by: dict[str, dict[str, Values]]
    bounds: dict[str, Bounds]


def read_validity(path: str | Path, rates: Mapping[str, Values], confidence_level: float) -> Validity:
    """Read a sheet with a column ``valid`` (or several, ``valid_1`` ...), and bound the `rates` that are known.

    `rates` is name -> a result with the rate and its interval. Rows without a mark, and candidates that are not in the
    set, are left out. InputError if there is no such column, a cell is neither yes, no nor empty, or nothing is judged.
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
            rows = judged[kinds[judged] == kind]
            value, interval = label_share(labels[rows], groups[rows], confidence_level)
            of_kind = {"invalid": value, "confidence_interval": interval, "n_labels": len(rows)}
            by.setdefault(name, {})[kind] = of_kind
    keys = (SAME_ANSWER.key, WORDING_CHANGE.key, PARAPHRASTIC.headline)
    found = {key: result for result in rates.values() for key in keys if result.get(key) == result.get(key, 0.0)}
    bounds = {
        key: validity_bounds(result[key], result["confidence_interval"][key], share, ends)
        for key, result in found.items()
        if key in result
    }
    sizes = {"n_labels": len(judged), "n_buckets": len(np.unique(groups[judged]))}
    return Validity(**sizes, invalid=share, confidence_interval=ends, by=by, bounds=bounds)
