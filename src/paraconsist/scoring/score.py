"""Score a predictions file: every measure that applies to it, over the whole set and by stratum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.alarms import permuted_labels
from paraconsist.errors import input_error
from paraconsist.predictions import Predictions
from paraconsist.scoring.columns import ColumnNames, Rows, read_rows
from paraconsist.scoring.figures import PAIR_MEASURES, pair_figures
from paraconsist.scoring.measures import (
    MAX_STRATUM_VALUES,
    MEASURES,
    Measure,
    default_measures,
    score_paraphrastic,
)

__all__ = ["ScoreOptions", "majority_rate", "score"]


@dataclass(frozen=True)
class ScoreOptions:
    """How to score.

    Attributes
    ----------
    columns : ColumnNames
        What the file's columns are called.
    measures : sequence of str, optional
        Which measures; by default those that the run's metadata name, else those the roles call for.
    confidence_level : float
        Of every interval, in (0, 1).
    n_resamples : int
        Bootstrap replicates, at least 1.
    seed : int
        Of the bootstrap.
    renormalize : bool
        Divide corrected values by the covered mass (the published values do not).
    """

    columns: ColumnNames = field(default_factory=ColumnNames)
    measures: Sequence[str] | None = None
    confidence_level: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0
    renormalize: bool = False

    @property
    def intervals(self) -> dict[str, Any]:
        """What every measure takes."""
        return {"confidence_level": self.confidence_level, "n_resamples": self.n_resamples, "seed": self.seed}


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
        accuracy and the values of paraphrastic consistency corrected for stratified sampling.

    Returns
    -------
    dict
        ``set``, ``task``, ``model``, ``n_rows``, ``unparsed_rate``, ``measures`` (measure -> its keys),
        ``strata`` (column -> value -> measure -> keys), ``figures`` (measure on pairs -> what
        `paraconsist.scoring.figures.pair_figures` returns), ``majority_rate``, ``warnings``.

    Raises
    ------
    InputError
        If columns are missing or hold what they must not, or rows lack their partners.
    """
    rows = read_rows(predictions, options.columns)
    if not len(rows):
        raise input_error("score", "predictions", "have at least one row")
    test_rows = None if test is None else read_rows(test, options.columns, need_buckets=False)
    said = predictions.metadata
    names = _measures(options, said.get("measures"), rows)
    return {
        "set": said.get("set"),
        "task": said.get("task"),
        "model": said.get("model", {}).get("model"),
        "n_rows": len(rows),
        "n_unparsed": int(rows.unparsed.sum()),
        "unparsed_rate": float(rows.unparsed.mean()),
        "unparsed_policy": "wrong",
        "majority_rate": majority_rate(_reference_labels(rows, names) if test_rows is None else test_rows.labels),
        "measures": {name: _score(name, rows, options, test_rows) for name in names},
        "strata": _strata(rows, names, options, predictions.label_names),
        "figures": {name: pair_figures(name, rows, predictions.label_names) for name in names if name in PAIR_MEASURES},
        "warnings": _alarms(rows),
    }


def majority_rate(labels: NDArray[Any]) -> float:
    """Accuracy of always answering the most frequent label, in [0, 1]: what a constant classifier gets."""
    known = labels if labels.dtype.kind == "U" else labels[labels >= 0]
    return float(np.unique(known, return_counts=True)[1].max() / len(known)) if len(known) else float("nan")


def _reference_labels(rows: Rows, names: Sequence[str]) -> NDArray[Any]:
    """Return the labels that the majority rate is of: the originals', where the measure compares with them."""
    beside = np.isin(rows.roles, [role for name in names for role in MEASURES[name].partners])
    whole = "paraphrastic_consistency" in names or not beside.any()
    return rows.labels if whole else rows.labels[beside]


def _measures(options: ScoreOptions, said: Sequence[str] | None, rows: Rows) -> list[str]:
    names = list(options.measures or said or default_measures(rows))
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        raise input_error("score", "measure", f"be one of {', '.join(MEASURES)}", got=unknown[0])
    return names


def _score(name: str, rows: Rows, options: ScoreOptions, test: Rows | None) -> dict[str, Any]:
    if name == "paraphrastic_consistency" and test is not None:
        found = score_paraphrastic(rows, options.intervals, **_test_columns(rows, test, options))
    else:
        found = MEASURES[name].score(rows, options.intervals)
    if rows.unparsed.any():
        found["signature"] = found["signature"].replace("unparsed:refused", "unparsed:wrong")
    return found


def _test_columns(rows: Rows, test: Rows, options: ScoreOptions) -> dict[str, Any]:
    given: dict[str, Any] = {"test_predictions": test.predictions, "test_references": test.labels}
    if rows.confidences is not None and test.confidences is not None:
        assert rows.buckets is not None
        originals = rows.roles == "original"
        buckets, confidences = rows.buckets[originals].tolist(), rows.confidences[originals].tolist()
        given["original_confidences"] = dict(zip(buckets, confidences, strict=True))
        given["test_confidences"] = test.confidences
        given["renormalize"] = options.renormalize
    return given


def _strata(
    rows: Rows, names: Sequence[str], options: ScoreOptions, label_names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Break every measure down that does not do it itself."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        if name == "prediction_change":
            continue
        for column, parts in _breakdowns(rows, MEASURES[name], label_names):
            for value, part in parts:
                found.setdefault(column, {}).setdefault(str(value), {})[name] = _score(name, part, options, None)
    return found


def _breakdowns(
    rows: Rows, measure: Measure, label_names: Sequence[str]
) -> Iterator[tuple[str, list[tuple[Any, Rows]]]]:
    """Yield (column, [(value, its rows)]) for the gold label and every stratum with a few values.

    A value's rows are the measured ones that have it, and their partners.
    """
    assert rows.buckets is not None
    is_target, is_partner = rows.roles == measure.target, np.isin(rows.roles, measure.partners)
    columns = {"label": rows.labels, **rows.strata}
    for name, values in columns.items():
        found = np.unique(values[is_target])
        if not 2 <= len(found) <= MAX_STRATUM_VALUES:
            continue
        parts = []
        for value in found.tolist():
            chosen = is_target & (values == value)
            beside = is_partner & np.isin(rows.buckets, np.unique(rows.buckets[chosen]))
            shown = (
                label_names[value] if name == "label" and label_names and value in range(len(label_names)) else value
            )
            parts.append((shown, replace(rows.where(chosen | beside), strata={})))
        yield name, parts


def _alarms(rows: Rows) -> list[str]:
    """Return sentences about what is suspicious in the predictions."""
    notes = []
    if rows.unparsed.any():
        notes.append(f"{int(rows.unparsed.sum())} of {len(rows)} predictions are unparsed and count as wrong answers.")
    usable = ~rows.unparsed if rows.labels.dtype.kind == "U" else ~rows.unparsed & (rows.labels >= 0)
    parsed = rows.where(usable)
    note = permuted_labels(parsed.predictions, parsed.labels) if len(parsed) else None
    return [*notes, note] if note is not None else notes
