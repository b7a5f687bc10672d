"""Are buckets that a partial-input model gets right answered more consistently? (Table 7 of Srikanth et al. 2024.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import Rows, read_rows
from paraconsist.errors import input_error
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.measures.results import Record
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.score import score_set
from paraconsist.scoring.sources import Source

_FUNCTION = "artifacts"
#: Artefacts are likely where the label can be predicted without the context.
KINDS = ("likely", "unlikely")


@dataclass(frozen=True)
class ArtifactRow(Record):
    """One model on one kind of bucket.

    Accuracies, consistencies and `covered_mass` lie in [0, 1]. The corrected values are weighted by the test set's
    deciles of confidence, as published: test mass in deciles without a bucket is lost; the renormalized ones are
    divided by the covered mass. All five are None without predictions on the test set.
    """

    artifact: str  # likely or unlikely: whether the partial-input model gets the bucket's original right
    model: str  # partial, or the name of a model that reads everything
    n_buckets: int
    n_examples: int
    original_accuracy: float
    accuracy: float
    paraphrastic_consistency: float
    paraphrastic_consistency_unbiased: float
    corrected_accuracy: float | None
    corrected_paraphrastic_consistency: float | None
    renormalized_accuracy: float | None
    renormalized_paraphrastic_consistency: float | None
    covered_mass: float | None  # share of the test set in deciles that hold a bucket
    confidence_interval: dict[str, list[float]]
    warnings: tuple[str, ...]


def buckets_by_artifact(rows: Rows) -> dict[str, set[Any]]:
    """Split buckets, ``likely`` and ``unlikely``, by whether a partial-input model answers the original right.

    There must be one original in every bucket.
    """
    assert rows.buckets is not None
    originals = rows.roles == "original"
    ids, counts = np.unique(rows.buckets[originals], return_counts=True)
    lonely = np.setdiff1d(np.unique(rows.buckets), ids)
    if len(lonely) or (counts > 1).any():
        bucket = lonely[0] if len(lonely) else ids[np.argmax(counts > 1)]
        must, remedy = "be 'original' in exactly one row of every bucket", "Say which rows are originals."
        raise input_error(_FUNCTION, "role", must, got=f"bucket {bucket!s}", remedy=remedy)
    right = rows.predictions == rows.labels
    return {
        "likely": set(rows.buckets[originals & right].tolist()),
        "unlikely": set(rows.buckets[originals & ~right].tolist()),
    }


def artifact_table(
    partial: Predictions,
    models: Sequence[tuple[str, Predictions, Predictions | None]],
    options: ScoreOptions,
    columns: SourceOptions,
    *,
    partial_test: Predictions | None = None,
) -> list[ArtifactRow]:
    """Score every model on the buckets where artefacts are likely, and on the others.

    `partial` (and `partial_test`, on the full test set) is the model that sees the input in part; it is scored too.
    `models` are (name, predictions on the same buckets, those on the full test set or None).
    """
    kinds = buckets_by_artifact(read_rows(partial, columns))
    known = kinds["likely"] | kinds["unlikely"]
    for kind, ids in kinds.items():
        if not ids:
            got = f"{len(known)} buckets, none {kind} to have artefacts"
            raise input_error(_FUNCTION, "partial", "be right on some originals and wrong on others", got=got)
    out, column = [], columns.bucket
    for kind in KINDS:
        for name, predictions, test in (("partial", partial, partial_test), *models):
            if column not in (names := predictions.table.column_names):
                must = "be a column of the predictions"
                raise input_error(_FUNCTION, column, must, got=names, remedy="See `bucket`.")
            buckets = predictions.table[column].to_pylist()
            if odd := sorted(map(str, set(buckets) ^ known)):
                must = "have the buckets of the partial-input model"
                remedy = f"{len(odd)} are in one of them only, such as {odd[0]}."
                raise input_error(_FUNCTION, "full", must, got=name, remedy=remedy)
            mask = pa.array([bucket in kinds[kind] for bucket in buckets])
            part = Predictions(predictions.table.filter(mask), predictions.metadata)
            out.append(_row(kind, Source(name, part, columns, test=test), options))
    return out


def _row(kind: str, source: Source, options: ScoreOptions) -> ArtifactRow:
    key = PARAPHRASTIC.published
    wanted = replace(options, measures=[PARAPHRASTIC.name], renormalize=False)
    result = score_set(source, wanted).measures[PARAPHRASTIC.name]
    mass = result.get("covered_mass")
    copied = ("n_buckets", "n_examples", "original_accuracy", "accuracy", key, PARAPHRASTIC.headline)
    values: dict[str, Any] = {name: result[name] for name in copied}
    for name in ("accuracy", key):
        corrected = values[f"corrected_{name}"] = result.get(f"corrected_{name}")
        values[f"renormalized_{name}"] = None if corrected is None or not mass else corrected / mass
    values |= {"confidence_interval": result["confidence_interval"], "warnings": tuple(result["warnings"])}
    return ArtifactRow(kind, source.name, **values, covered_mass=mass)
