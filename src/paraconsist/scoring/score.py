"""Score a predictions file: every measure that applies to it, over the whole set and by stratum.

What is suspicious in the rows of a predictions file, as sentences beside its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import ColumnNames, Rows, read_rows
from paraconsist.errors import InputError, input_error
from paraconsist.measures.alarms import permuted_labels
from paraconsist.measures.catalogue import CHANGE, PARAPHRASTIC, MeasureSpec, default_measures
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
from paraconsist.measures.signatures import parse_signature
from paraconsist.scoring.answer_changes import pair_figures
from paraconsist.scoring.roles import MAX_STRATUM_VALUES, measure_rows, spec_of
from paraconsist.scoring.training_overlap import training_overlap
from paraconsist.scoring.unparsed import POLICIES, apply_policy


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
    unparsed : {"wrong", "own_class", "drop_bucket"}
        What becomes of answers that could not be read; see `paraconsist.scoring.unparsed`.
    """

    columns: ColumnNames = field(default_factory=ColumnNames)
    measures: Sequence[str] | None = None
    confidence_level: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0
    renormalize: bool = False
    unparsed: str = "wrong"

    @property
    def intervals(self) -> dict[str, Any]:
        """What every measure takes."""
        return {"confidence_level": self.confidence_level, "n_resamples": self.n_resamples, "seed": self.seed}


def score(
    predictions: Predictions,
    options: ScoreOptions,
    *,
    test: Predictions | None = None,
    training: pa.Table | None = None,
) -> dict[str, Any]:
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
    training : pyarrow.Table, optional
        What the model was trained on: rows of the set that stand in it are counted, and said.

    Returns
    -------
    dict
        ``set``, ``task``, ``model``, ``n_rows``, ``n_unparsed``, ``unparsed_rate``, ``unparsed_policy``,
        ``n_dropped_buckets``, ``by_policy`` (where an answer is unparsed: policy -> measure -> its headline
        value and interval, None where the policy leaves nothing), ``measures`` (measure -> its keys),
        ``training_overlap`` (where `training` is given), ``strata`` (column -> value -> measure -> keys),
        ``figures`` (measure on pairs -> what `paraconsist.scoring.answer_changes.pair_figures` returns),
        ``majority_rate``, ``warnings``.

    Raises
    ------
    InputError
        If columns are missing or hold what they must not, or rows lack their partners.
    """
    rows = read_rows(predictions, options.columns)
    if not len(rows):
        raise input_error("score", "predictions", "have at least one row")
    test_rows = None if test is None else read_rows(test, options.columns, need_buckets=False)
    metadata = predictions.metadata
    specs = chosen_measures("score", options.measures, metadata, rows)
    kept, n_dropped = apply_policy(rows, options.unparsed)
    test_kept = None if test_rows is None else apply_policy(test_rows, "wrong")[0]
    data = data_of(metadata)
    measures = {spec.name: _score(spec, kept, options, test_kept, data) for spec in specs}
    warnings = row_alarms(
        rows,
        unparsed=options.unparsed,
        n_dropped=n_dropped,
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples if any("-bootstrap" in m["signature"] for m in measures.values()) else None,
    )
    overlap = None if training is None else training_overlap(predictions, training, role=options.columns.role)
    if overlap is not None and (note := overlap.warning()) is not None:
        warnings.append(note)
    return {
        "set": metadata.get("set"),
        "task": metadata.get("task"),
        "model": metadata.get("model", {}).get("model"),
        "n_rows": len(rows),
        "n_unparsed": int(rows.unparsed.sum()),
        "unparsed_rate": float(rows.unparsed.mean()),
        "unparsed_policy": options.unparsed,
        "n_dropped_buckets": n_dropped,
        "by_policy": _by_policy(rows, specs, options, measures),
        "majority_rate": majority_rate(_reference_labels(rows, specs) if test_rows is None else test_rows.labels),
        "measures": measures,
        "strata": _strata(kept, specs, options, predictions.label_names),
        "figures": {s.name: pair_figures(s, kept, predictions.label_names) for s in specs if s.is_about_pairs},
        **({} if overlap is None else {"training_overlap": {**asdict(overlap), "columns": list(overlap.columns)}}),
        "warnings": warnings,
    }


def majority_rate(labels: NDArray[Any]) -> float:
    """Accuracy of always answering the most frequent label, in [0, 1]: what a constant classifier gets."""
    known = labels if labels.dtype.kind == "U" else labels[labels >= 0]
    return float(np.unique(known, return_counts=True)[1].max() / len(known)) if len(known) else float("nan")


def _reference_labels(rows: Rows, specs: Sequence[MeasureSpec]) -> NDArray[Any]:
    """Return the labels that the majority rate is of: the partners', where every measure compares with them."""
    beside = np.isin(rows.roles, [role for spec in specs for role in spec.partners])
    whole = PARAPHRASTIC in specs or not beside.any()
    return rows.labels if whole else rows.labels[beside]


def chosen_measures(
    function: str, wanted: Sequence[str] | None, metadata: Mapping[str, Any], rows: Rows
) -> list[MeasureSpec]:
    """Return the measures that were named, else those that the run names, else those that the rows' roles call for."""
    names = wanted or metadata.get("measures") or default_measures(np.unique(rows.roles).tolist())
    return [spec_of(function, name) for name in names]


def _score(
    spec: MeasureSpec, rows: Rows, options: ScoreOptions, test: Rows | None = None, data: str | None = None
) -> dict[str, Any]:
    columns = _test_columns(rows, test, options) if spec is PARAPHRASTIC and test is not None else {}
    values = measure_rows(spec, rows, **options.intervals, **columns)
    known = {} if data is None else {"data": data}
    values["signature"] = str(parse_signature(values["signature"]).replace(unparsed=options.unparsed, **known))
    return values


def data_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the bucket set and its revision for the signature, where the file knows them."""
    name = metadata.get("set")
    if name is None:
        return None
    revision = str(metadata.get("set_fingerprint") or "")
    shown = revision if len(revision) <= 24 else f"{revision[:24]}"
    return str(name).replace(":", "/") + (f"@{shown}" if shown else "")


def _by_policy(
    rows: Rows, specs: Sequence[MeasureSpec], options: ScoreOptions, measures: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return every measure's headline under every policy, where any answer is unparsed."""
    values: dict[str, dict[str, Any]] = {}
    for policy in POLICIES if rows.unparsed.any() else ():
        for spec in specs:
            scored = measures[spec.name] if policy == options.unparsed else _under(policy, spec, rows, options)
            key = spec.headline
            headline = scored and {key: scored[key], "confidence_interval": scored["confidence_interval"][key]}
            values.setdefault(policy, {})[spec.name] = headline
    return values


def _under(policy: str, spec: MeasureSpec, rows: Rows, options: ScoreOptions) -> dict[str, Any] | None:
    try:
        return _score(spec, apply_policy(rows, policy)[0], replace(options, unparsed=policy))
    except InputError:  # the policy leaves no row that the measure could be of
        return None


def _test_columns(rows: Rows, test: Rows, options: ScoreOptions) -> dict[str, Any]:
    columns: dict[str, Any] = {"test_predictions": test.predictions, "test_references": test.labels}
    has_originals = bool((rows.roles == ORIGINAL).any())
    if rows.confidences is not None and test.confidences is not None and has_originals:
        assert rows.buckets is not None
        originals = rows.roles == ORIGINAL
        buckets, confidences = rows.buckets[originals].tolist(), rows.confidences[originals].tolist()
        columns["original_confidences"] = dict(zip(buckets, confidences, strict=True))
        columns["test_confidences"] = test.confidences
        columns["renormalize"] = options.renormalize
    return columns


def _strata(
    rows: Rows, specs: Sequence[MeasureSpec], options: ScoreOptions, label_names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Break every measure down that does not do it itself."""
    values: dict[str, dict[str, Any]] = {}
    for spec in specs:
        for column, parts in () if spec is CHANGE else _breakdowns(rows, spec, label_names):
            for value, part in parts:
                values.setdefault(column, {}).setdefault(str(value), {})[spec.name] = _score(spec, part, options)
    return values


def _breakdowns(
    rows: Rows, spec: MeasureSpec, label_names: Sequence[str]
) -> Iterator[tuple[str, list[tuple[Any, Rows]]]]:
    """Yield (column, [(value, its rows)]) for the gold label and every stratum with a few values.

    A value's rows are the counted ones that have it, and their partners.
    """
    assert rows.buckets is not None
    is_target = rows.roles == spec.target
    is_partner = np.isin(rows.roles, [*spec.partners, *spec.optional_partners])
    for name, values in {"label": rows.labels, **rows.strata}.items():
        distinct = np.unique(values[is_target])
        if not 2 <= len(distinct) <= MAX_STRATUM_VALUES:
            continue
        parts = []
        for value in distinct.tolist():
            chosen = is_target & (values == value)
            beside = is_partner & np.isin(rows.buckets, np.unique(rows.buckets[chosen]))
            has_name = name == "label" and label_names and value in range(len(label_names))
            part = replace(rows.where(chosen | beside), strata={})
            parts.append((label_names[value] if has_name else value, part))
        yield name, parts


_UNPARSED = {
    "wrong": "count as wrong answers that equal no other",
    "own_class": "count as a wrong answer of their own",
}
_LEAST_IN_TAIL = 10


def row_alarms(
    rows: Rows, *, unparsed: str, n_dropped: int, confidence_level: float, n_resamples: int | None
) -> list[str]:
    """Return the alarms; none where nothing is suspicious.

    Parameters
    ----------
    rows : Rows
        As read, before any policy for unparsed answers.
    unparsed, n_dropped
        That policy, and how many buckets it left out.
    confidence_level, n_resamples
        Of the intervals; None where no interval is a bootstrap's.
    """
    notes = [_unparsed(rows, unparsed, n_dropped), _other_gold(rows), _few_resamples(confidence_level, n_resamples)]
    known = ~rows.unparsed if rows.labels.dtype.kind == "U" else ~rows.unparsed & (rows.labels >= 0)
    parsed = rows.where(known)
    notes.append(permuted_labels(parsed.predictions, parsed.labels) if len(parsed) else None)
    return [note for note in notes if note is not None]


def _unparsed(rows: Rows, policy: str, n_dropped: int) -> str | None:
    if not rows.unparsed.any():
        return None
    became = _UNPARSED.get(policy, f"take {n_dropped} buckets out of the numbers")
    return f"{int(rows.unparsed.sum())} of {len(rows)} predictions are unparsed and {became}."


def _other_gold(rows: Rows) -> str | None:
    """Paraphrases keep the gold label of their original; where they do not, one of the two labels is wrong."""
    if rows.buckets is None:
        return None
    originals, paraphrases = rows.roles == ORIGINAL, rows.roles == PARAPHRASE
    first: dict[object, object] = {}
    for bucket, label in zip(rows.buckets[paraphrases].tolist(), rows.labels[paraphrases].tolist(), strict=True):
        first.setdefault(bucket, label)
    pairs = zip(rows.buckets[originals].tolist(), rows.labels[originals].tolist(), strict=True)
    other = [bucket for bucket, label in pairs if first.get(bucket, label) != label]
    if not other:
        return None
    total = int(np.count_nonzero(originals))
    return f"{len(other)} of {total} originals have another gold label than their paraphrases (such as {other[0]!r})"


def _few_resamples(confidence_level: float, n_resamples: int | None) -> str | None:
    if n_resamples is None:
        return None
    tail = (1.0 - confidence_level) / 2.0 * n_resamples
    if tail >= _LEAST_IN_TAIL:
        return None
    needed = int(np.ceil(_LEAST_IN_TAIL * 2.0 / (1.0 - confidence_level)))
    return (
        f"{n_resamples:,} resamples leave fewer than {_LEAST_IN_TAIL} in each tail of a {confidence_level:.4g} "
        f"interval: bootstrap intervals are unsteady, take at least {needed:,}"
    )
