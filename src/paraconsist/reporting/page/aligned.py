"""One set as several models answered it: their rows brought together, and how inconsistent each bucket is."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import Rows, read_rows
from paraconsist.errors import InputError
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, MeasureSpec, scored_measures
from paraconsist.measures.rules import ORIGINAL
from paraconsist.reporting.page.entries import ScoredSet
from paraconsist.scoring.roles import violations
from paraconsist.scoring.unparsed import POLICIES, apply_policy

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True)
class AlignedSet:
    """The rows of one set, n in all and m buckets, as the models of a report answered them.

    The keys of mappings are the models that answered the set. Shares are in [0, 1], nan where a model lacks it.
    """

    name: str
    models: tuple[str, ...]
    measure: str  # what makes a bucket inconsistent
    predictions: dict[str, Predictions]
    rows: dict[str, Rows]  # what the measures read of the predictions
    positions: dict[str, Positions]  # shape (n,): where the file of the model has the row; -1 where it has not
    base: tuple[Positions, Positions]  # shapes (n,): of each row, a model that has it (number), its place there
    bucket: Positions  # shape (n,): each row's bucket, numbered in the order of appearance
    bucket_ids: list[Any]  # length m
    inconsistency: dict[str, Floats]  # shape (m,): share of the bucket that breaks the measure's rule
    shrunken: dict[str, Floats]  # shape (m,): the same shrunk towards the others, as buckets are ranked
    accuracy: dict[str, Floats]  # shape (m,): share of right answers (of paraphrases, where there are any)

    def worst_first(self) -> Positions:
        """Return the buckets, most inconsistent first (mean over models).

        What counts is the shrunken value: two of two rows say less than nine of ten. Ties: by the bucket's own value,
        more rows, then in order.
        """
        sizes = np.bincount(self.bucket, minlength=len(self.bucket_ids))
        return np.lexsort((-sizes, -self._mean(self.inconsistency), -self._mean(self.shrunken)))

    def _mean(self, by_model: Mapping[str, Floats]) -> Floats:
        values = np.array([by_model[model] for model in self.models])
        known = ~np.isnan(values)
        mean: Floats = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return np.round(mean, 9)


def align(name: str, scored: Mapping[str, ScoredSet]) -> AlignedSet:
    """Bring the models' rows of one set together, by `example_id` where all files have it.

    Files without it are joined by bucket, role and the order of the rows in them.
    """
    models = tuple(scored)
    predictions = {model: scored[model].predictions for model in models}
    rows = {model: read_rows(predictions[model], scored[model].columns) for model in models}
    keys = _keys(predictions, rows)
    first: dict[Any, tuple[int, int]] = {}
    for number, model in enumerate(models):
        for place, key in enumerate(keys[model]):
            first.setdefault(key, (number, place))
    order = {key: row for row, key in enumerate(first)}
    owners, places = ([one[i] for one in first.values()] for i in range(2))
    positions = {}
    for model in models:
        places_of_model = np.full(len(order), -1, dtype=np.intp)
        places_of_model[[order[key] for key in keys[model]]] = np.arange(len(keys[model]))
        positions[model] = places_of_model
    base = np.array(owners, dtype=np.intp), np.array(places, dtype=np.intp)
    numbers: dict[Any, int] = {}
    bucket_lists = [rows[model].buckets.tolist() for model in models]  # type: ignore[union-attr]
    values_of_rows = [bucket_lists[owner][place] for owner, place in zip(owners, places, strict=True)]
    bucket = np.array([numbers.setdefault(value, len(numbers)) for value in values_of_rows], dtype=np.intp)
    spec = next((CATALOGUE[m] for m in scored[models[0]].results["measures"] if m in scored_measures()), PARAPHRASTIC)
    policies = {model: str(scored[model].results.get("unparsed_policy", POLICIES[0])) for model in models}
    values = {model: _bucket_values(rows[model], spec, policies[model], numbers) for model in models}
    by_model = ({model: values[model][i] for model in models} for i in range(3))
    return AlignedSet(name, models, spec.name, predictions, rows, positions, base, bucket, list(numbers), *by_model)


def _keys(predictions: Mapping[str, Predictions], rows: Mapping[str, Rows]) -> dict[str, list[Any]]:
    ids_of_model = {}
    for model, file in predictions.items():
        ids = file.table["example_id"].to_pylist() if "example_id" in file.table.column_names else []
        # a pair in each row, written out, has one example id twice
        if not ids or len(set(ids)) < len(ids) or None in ids:
            break
        ids_of_model[model] = ids
    if len(ids_of_model) == len(predictions):
        return ids_of_model
    return {model: _ordinal_keys(rows[model]) for model in predictions}


def _ordinal_keys(rows: Rows) -> list[Any]:
    assert rows.buckets is not None
    counters: defaultdict[tuple[Any, str], Iterator[int]] = defaultdict(itertools.count)
    return [(*key, next(counters[key])) for key in zip(rows.buckets.tolist(), rows.roles.tolist(), strict=True)]


def _bucket_values(
    rows: Rows, spec: MeasureSpec, policy: str, numbers: Mapping[Any, int]
) -> tuple[Floats, Floats, Floats]:
    """Return how inconsistent each bucket is, itself and shrunken, and how accurate, as the policy has it."""
    kept, _ = apply_policy(rows, policy)
    assert kept.buckets is not None
    codes = np.array([numbers[value] for value in kept.buckets.tolist()], dtype=np.intp)
    is_target = kept.roles != ORIGINAL if (kept.roles != ORIGINAL).any() else np.ones(len(kept), dtype=bool)
    right = (kept.predictions == kept.labels) & ~kept.unparsed
    sizes, n_right = (np.bincount(codes[is_target], of, len(numbers)) for of in (None, right[is_target]))
    with np.errstate(invalid="ignore"):
        accuracy = n_right / sizes
    try:
        broken = violations(spec, kept)
    except InputError:  # a saved measure that is not of these rows: nothing to mark
        return np.full(len(numbers), np.nan), np.full(len(numbers), np.nan), accuracy
    shrunken = broken.shrunken_by_bucket(codes, len(numbers), right if spec.mean_over == "buckets" else None)
    return broken.by_bucket(codes, len(numbers)), shrunken, accuracy
