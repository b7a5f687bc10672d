"""One set as several models answered it: their rows brought together, and how inconsistent each bucket is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import Rows, read_rows
from paraconsist.errors import InputError
from paraconsist.reporting.page.entries import ScoredSet
from paraconsist.scoring.answer_changes import PAIR_MEASURES
from paraconsist.scoring.roles import MEASURES, partners

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True)
class AlignedSet:
    """The rows of one set, n in all and m buckets, as the models of a report answered them.

    Attributes
    ----------
    name : str
    models : tuple of str
        Those that answered the set.
    measure : str
        What makes a bucket inconsistent.
    predictions : dict of str to Predictions
        Model -> its file.
    rows : dict of str to Rows
        Model -> what the measures read of it.
    positions : dict of str to int array, shape (n,)
        Model -> where its file has the row; -1 where it has not.
    base : tuple of arrays, shape (n,)
        For each row a model that has it (number) and the place in its file.
    bucket : int array, shape (n,)
        Each row's bucket, numbered in the order of appearance.
    bucket_ids : list, length m
    inconsistency : dict of str to float array, shape (m,)
        Model -> share of the bucket that breaks the measure's rule, in [0, 1]; nan where the model lacks it.
    accuracy : dict of str to float array, shape (m,)
        Model -> share of right answers (of paraphrases, where there are any), nan where the model lacks it.
    """

    name: str
    models: tuple[str, ...]
    measure: str
    predictions: dict[str, Predictions]
    rows: dict[str, Rows]
    positions: dict[str, Positions]
    base: tuple[Positions, Positions]
    bucket: Positions
    bucket_ids: list[Any]
    inconsistency: dict[str, Floats]
    accuracy: dict[str, Floats]

    def worst_first(self) -> Positions:
        """Return the buckets, most inconsistent first (mean over models); ties: more rows, then in order."""
        values = np.array([self.inconsistency[model] for model in self.models])
        known = ~np.isnan(values)
        mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        sizes = np.bincount(self.bucket, minlength=len(self.bucket_ids))
        return np.lexsort((-sizes, -np.round(mean, 9)))


def align(name: str, scored: Mapping[str, ScoredSet]) -> AlignedSet:
    """Bring the models' rows of one set together, by `example_id` where all files have it.

    Files without it are joined by bucket, role and the order of the rows in them.
    """
    models = tuple(scored)
    predictions = {model: scored[model].predictions for model in models}
    rows = {model: read_rows(predictions[model], scored[model].columns) for model in models}
    keys = _keys(predictions, rows)
    order: dict[Any, int] = {}
    owners: list[int] = []
    places: list[int] = []
    for number, model in enumerate(models):
        for place, key in enumerate(keys[model]):
            if key not in order:
                order[key] = len(order)
                owners.append(number)
                places.append(place)
    positions = {}
    for model in models:
        found = np.full(len(order), -1, dtype=np.intp)
        found[[order[key] for key in keys[model]]] = np.arange(len(keys[model]))
        positions[model] = found
    base = np.array(owners, dtype=np.intp), np.array(places, dtype=np.intp)
    numbers: dict[Any, int] = {}
    bucket_lists = [rows[model].buckets.tolist() for model in models]  # type: ignore[union-attr]
    bucket = np.array(
        [
            numbers.setdefault(bucket_lists[owner][place], len(numbers))
            for owner, place in zip(owners, places, strict=True)
        ],
        dtype=np.intp,
    )
    measure = next((m for m in scored[models[0]].results["measures"] if m in MEASURES), "paraphrastic_consistency")
    inconsistency, accuracy = {}, {}
    for model in models:
        codes = np.array([numbers[value] for value in rows[model].buckets.tolist()], dtype=np.intp)  # type: ignore[union-attr]
        inconsistency[model], accuracy[model] = _bucket_values(rows[model], codes, len(numbers), measure)
    return AlignedSet(
        name, models, measure, predictions, rows, positions, base, bucket, list(numbers), inconsistency, accuracy
    )


def _keys(predictions: Mapping[str, Predictions], rows: Mapping[str, Rows]) -> dict[str, list[Any]]:
    found = {}
    for model, file in predictions.items():
        ids = file.table["example_id"].to_pylist() if "example_id" in file.table.column_names else []
        # a pair in each row, written out, has one example id twice
        if not ids or len(set(ids)) < len(ids) or None in ids:
            break
        found[model] = ids
    if len(found) == len(predictions):
        return found
    return {model: _ordinal_keys(rows[model]) for model in predictions}


def _ordinal_keys(rows: Rows) -> list[Any]:
    seen: dict[tuple[Any, str], int] = {}
    keys = []
    assert rows.buckets is not None
    for key in zip(rows.buckets.tolist(), rows.roles.tolist(), strict=True):
        seen[key] = seen.get(key, -1) + 1
        keys.append((*key, seen[key]))
    return keys


def _bucket_values(rows: Rows, codes: Positions, n_buckets: int, measure: str) -> tuple[Floats, Floats]:
    right = (rows.predictions == rows.labels) & ~rows.unparsed
    is_target = rows.roles != "original"
    if not is_target.any():
        is_target = np.ones(len(rows), dtype=bool)
    sizes = np.bincount(codes[is_target], minlength=n_buckets).astype(np.float64)
    present = np.bincount(codes, minlength=n_buckets) > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = np.bincount(codes[is_target], weights=right[is_target], minlength=n_buckets) / sizes
        accuracy[~present] = np.nan
        if measure == "paraphrastic_consistency":
            inconsistency = 2.0 * accuracy * (1.0 - accuracy)
        else:
            targets, broken = _broken(rows, measure, right)
            counted = np.bincount(codes[targets], minlength=n_buckets).astype(np.float64)
            inconsistency = np.bincount(codes[targets], weights=broken, minlength=n_buckets) / counted
    return inconsistency, accuracy


def _broken(rows: Rows, measure: str, right: NDArray[np.bool_]) -> tuple[Positions, NDArray[np.bool_]]:
    """Return the rows that the measure counts, and which of them break its rule."""
    target, wanted = MEASURES[measure].target, MEASURES[measure].partners
    try:
        targets, others = partners(rows, measure, target, wanted)
    except InputError:  # a saved measure that is not of these rows: nothing to mark
        return np.array([], dtype=np.intp), np.array([], dtype=bool)
    if measure in PAIR_MEASURES:
        same = rows.predictions[targets] == rows.predictions[others["original"]]
        return targets, same if PAIR_MEASURES[measure] else ~same
    satisfied = np.logical_and.reduce([right[others[role]] for role in wanted])
    if measure == "transitive_inconsistency" and rows.allowed is not None:
        kept: Sequence[bool] = [rows.predictions[i].item() in rows.allowed[i] for i in targets]
        return targets, satisfied & ~np.array(kept, dtype=bool)
    return targets, satisfied & ~right[targets]
