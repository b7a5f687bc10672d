"""Score a predictions file: every measure that applies to it, over the whole set and by stratum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.alarms import permuted_labels
from paraconsist.errors import input_error
from paraconsist.paraphrastic import paraphrastic_consistency
from paraconsist.predictions import Predictions
from paraconsist.scoring.columns import ColumnNames, Rows, read_rows

__all__ = ["MAX_STRATUM_VALUES", "ScoreOptions", "score"]

#: A column with more values than this is no stratum (an id, say).
MAX_STRATUM_VALUES = 20


@dataclass(frozen=True)
class ScoreOptions:
    """How to score.

    Attributes
    ----------
    columns : ColumnNames
        What the file's columns are called.
    confidence_level : float
        Of every interval, in (0, 1).
    n_resamples : int
        Bootstrap replicates; 0 leaves out what has no closed form.
    seed : int
        Of the bootstrap.
    renormalize : bool
        Divide corrected values by the covered mass (the published values do not).
    """

    columns: ColumnNames = field(default_factory=ColumnNames)
    confidence_level: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0
    renormalize: bool = False


def score(predictions: Predictions, options: ScoreOptions, *, test: Predictions | None = None) -> dict[str, Any]:
    """Score one set.

    Parameters
    ----------
    predictions : Predictions
        The bucket set's predictions.
    options : ScoreOptions
        How to score.
    test : Predictions, optional
        The same model's predictions on the full test set that the originals were drawn from; gives test
        accuracy and the values corrected for stratified sampling.

    Returns
    -------
    dict
        ``set``, ``task``, ``model``, ``n_rows``, ``unparsed_rate``, ``measures`` (measure -> its keys),
        ``strata`` (column -> value -> measure -> keys), ``majority_rate``, ``warnings``.

    Raises
    ------
    InputError
        If columns are missing or hold what they must not.
    """
    rows = read_rows(predictions, options.columns)
    test_rows = None if test is None else read_rows(test, options.columns, need_buckets=False)
    said = predictions.metadata
    notes = _alarms(rows)
    whole = _paraphrastic(rows, options, test_rows)
    strata = {
        column: {str(value): {"paraphrastic_consistency": _paraphrastic(part, options, None)} for value, part in parts}
        for column, parts in _breakdowns(rows, predictions.label_names)
    }
    return {
        "set": said.get("set"),
        "task": said.get("task"),
        "model": said.get("model", {}).get("model"),
        "n_rows": len(rows),
        "n_unparsed": int(rows.unparsed.sum()),
        "unparsed_rate": float(rows.unparsed.mean()),
        "unparsed_policy": "wrong",
        "majority_rate": majority_rate(rows.labels if test_rows is None else test_rows.labels),
        "measures": {"paraphrastic_consistency": whole},
        "strata": strata,
        "warnings": notes,
    }


def majority_rate(labels: NDArray[Any]) -> float:
    """Accuracy of always answering the most frequent label, in [0, 1]: what a constant classifier gets."""
    return float(np.unique(labels, return_counts=True)[1].max() / len(labels))


def _paraphrastic(rows: Rows, options: ScoreOptions, test: Rows | None) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if test is not None:
        given = {"test_predictions": test.predictions, "test_references": test.labels}
        if rows.confidences is not None and test.confidences is not None:
            assert rows.buckets is not None
            originals = rows.is_original
            given["original_confidences"] = dict(
                zip(rows.buckets[originals].tolist(), rows.confidences[originals].tolist(), strict=True)
            )
            given["test_confidences"] = test.confidences
            given["renormalize"] = options.renormalize
    names = np.where(rows.is_original, "original", "paraphrase")
    roles = names.tolist() if rows.is_original.any() else None
    result = paraphrastic_consistency(
        rows.predictions,
        rows.labels,
        rows.buckets,
        roles=roles,
        groups=rows.groups,
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples,
        seed=options.seed,
        **given,
    )
    found = result.to_dict()
    if rows.unparsed.any():
        found["signature"] = found["signature"].replace("unparsed:refused", "unparsed:wrong")
    return found


def _breakdowns(rows: Rows, label_names: Sequence[str]) -> Iterator[tuple[str, list[tuple[Any, Rows]]]]:
    """Yield (column, [(value, its rows)]) for the gold label and every stratum with a few values.

    A value's rows are the paraphrases that have it, and the originals of their buckets.
    """
    columns = {"label": rows.labels, **rows.strata}
    for name, values in columns.items():
        found = np.unique(values[~rows.is_original])
        if not 2 <= len(found) <= MAX_STRATUM_VALUES:
            continue
        parts = []
        for value in found.tolist():
            chosen = (values == value) & ~rows.is_original
            assert rows.buckets is not None
            kept = np.isin(rows.buckets, np.unique(rows.buckets[chosen]))
            shown = (
                label_names[value] if name == "label" and label_names and value in range(len(label_names)) else value
            )
            parts.append((shown, replace(rows.where(chosen | (kept & rows.is_original)), strata={})))
        yield name, parts


def _alarms(rows: Rows) -> list[str]:
    """Return sentences about what is suspicious in the predictions."""
    if not len(rows):
        raise input_error("score", "predictions", "have at least one row")
    parsed = rows.where(~rows.unparsed)
    notes = []
    if rows.unparsed.any():
        notes.append(f"{int(rows.unparsed.sum())} of {len(rows)} predictions are unparsed and count as wrong answers.")
    note = permuted_labels(parsed.predictions, parsed.labels) if len(parsed) else None
    return [*notes, note] if note is not None else notes
