"""Score one set: every measure that applies to it, over the whole set and by stratum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.long_format import without_buckets
from paraconsist.data.predictions import Metadata, Predictions, input_notes, read_predictions
from paraconsist.data.rows import Rows, read_rows
from paraconsist.data.store import RunFolder
from paraconsist.data.tables import is_among, likely_column
from paraconsist.errors import InputError, input_error, plural
from paraconsist.files import to_strict_json
from paraconsist.measures.catalogue import (
    BUILT_IN,
    CHANGE,
    PARAPHRASTIC,
    SEMANTIC,
    TRAJECTORIES,
    MeasureSpec,
    Quantity,
    default_measures,
    reads_probabilities,
)
from paraconsist.measures.prompt_sensitivity import prompt_sensitivity
from paraconsist.measures.results import CONSTANT, Result, Values, constant_message, parse_signature, plain
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
from paraconsist.scoring.alarms import (
    Overlap,
    check_not_swapped,
    copied_runs,
    degenerate,
    judged,
    repeated_rows,
    repeated_texts,
    row_alarms,
    sentences,
    training_overlap,
)
from paraconsist.scoring.free_text import compared_together
from paraconsist.scoring.noise import RUN_AGAIN, Repeats, same_run, score_noise
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.outcomes import (
    OF_WORDINGS,
    WORDING_CHANGE,
    WORDINGS,
    Outcomes,
    Unsteady,
    outcomes,
    parts_from,
    worst_buckets,
)
from paraconsist.scoring.roles import (
    MAX_STRATUM_VALUES,
    POLICIES,
    WORDING_CHANGE_IS_SHOWN,
    AnyResult,
    apply_policy,
    is_counted,
    measure_rows,
    per_problem,
    spec_of,
    violations,
    without_probabilities,
)
from paraconsist.scoring.sources import (
    Opened,
    Source,
    about_its_rows,
    of_its_rows,
    open_source,
    test_set_of,
    with_measures,
)
from paraconsist.scoring.until import Known, known, note_of, with_known, with_own

if TYPE_CHECKING:
    from paraconsist.scoring.checked import Checked, Validity

#: Names of columns that results.json keeps.
_COLUMNS = (
    *("bucket", "prediction", "label", "role", "original", "group", "variant", "places", "confidence"),
    "probabilities",
)
#: Keys that are null where the file does not say; others are left out.
_ALWAYS = ("set", "task", "model", "limit")

#: What is said of a PVAP above 1.
ABOVE_ALL = "PVAP is above 100 %: it is unbiased, not bounded, and as far as these problems tell wording decides all"
_NEED_NONE = ", ".join(spec.name for spec in BUILT_IN if spec.target and not spec.needs_gold)
_NO_GOLD = "{there_is_none}, so what needs them is left out: accuracy, " + ", ".join(
    spec.name for spec in BUILT_IN if spec.target and spec.needs_gold
)


class Transition(TypedDict):
    """Number of pairs with a gold label, an answer to the original and an answer to the perturbed text."""

    label: str | int | None
    prediction: str | int | None
    perturbed_prediction: str | int | None
    n_pairs: int


class Confidence(TypedDict):
    """Mean probability of the predicted label over some pairs, in [0, 1]; nan where there is none."""

    n_pairs: int
    n_predictions: int  # that were averaged: unparsed answers have no probability
    confidence: float  # over all answers
    original_confidence: float  # over those to originals
    perturbed_confidence: float  # over those to perturbed texts


class Figures(TypedDict, total=False):
    """Answers and confidence behind a rate on pairs: see `pair_figures`."""

    transitions: list[Transition]
    confidence: dict[str, Confidence]  # where the file has probabilities


class PlainAccuracy(TypedDict):
    """Accuracy on a set that is no bucket set, in [0, 1]; unparsed answers are wrong."""

    accuracy: float
    majority_rate: float
    n_rows: int
    n_unparsed: int
    split: str | None  # None where the run did not say it
    corrects: str | None  # the set whose result has this accuracy as its own


#: Policy -> measure -> its headline and interval by their keys; None if the policy leaves nothing to measure.
ByPolicy: TypeAlias = dict[str, dict[str, Values | None]]
#: Column -> value -> measure -> its result.
Strata: TypeAlias = dict[str, dict[str, dict[str, Result]]]


@dataclass(frozen=True)
class SetScores:
    """One set's rows and what was measured of them. Breakdowns are computed when they are asked for."""

    source: Source  # its predictions
    options: ScoreOptions
    specs: tuple[MeasureSpec, ...]
    rows: Rows  # as read
    kept: Rows  # as the policy for unparsed answers has left them
    n_dropped: int  # buckets that the policy left out
    measures: Mapping[str, Values]  # measure -> its `Result`, or what a file keeps of one
    #: Accuracy of always giving the commonest label on the rows whose accuracy stands beside it: the paraphrases of
    #: paraphrastic consistency, else the originals.
    majority_rate: float
    warnings: tuple[str, ...] = ()
    #: those of the warnings for which a consistency says nothing of the model; `gate` fails there
    degenerate: tuple[str, ...] = ()
    overlap: Overlap | None = None  # with the rows that the model was trained on
    noise_floor: Values | None = None  # what `paraconsist.scoring.noise.score_noise` returns
    test_majority_rate: float | None = None  # as `majority_rate`, on the full test set
    wording: Outcomes | None = None  # how often two wordings get different answers; None where no problem has two
    until: Known | None = None  # of a run that was asked until something was known: what that is
    checked: Checked | None = None  # rates corrected by answers that people checked
    validity: Validity | None = None  # what people's judgements of the paraphrases say

    @property
    def predictions(self) -> Predictions:
        """The predictions that were scored."""
        return self.source.predictions

    @property
    def n_unparsed(self) -> int:
        """The number of answers that could not be read."""
        return int(self.rows.unparsed.sum())

    @property
    def _policies(self) -> tuple[str, ...]:
        return POLICIES if self.rows.unparsed.any() else ()

    def valid(self, result: AnyResult) -> AnyResult:
        """Return a result without intervals where those for a fixed number of buckets do not hold."""
        return result if self.until is None else with_known(result, None)

    @cached_property
    def strata(self) -> Strata:
        """The measures of every stratum: column -> value -> measure -> its result."""
        values: Strata = {}
        for spec in self.specs:
            parts = _breakdowns(self.kept, spec, self.predictions.label_names)
            for column, value, part in parts if spec is not CHANGE else ():  # that breaks itself down
                of_value = values.setdefault(column, {}).setdefault(str(value), {})
                of_value[spec.name] = self.valid(_score(spec, part, self.options))
        return values

    @cached_property
    def by_policy(self) -> ByPolicy:
        """Policy -> measure -> headline and interval, where an answer is unparsed; None where nothing is left."""
        values: ByPolicy = {}
        for policy in self._policies:
            for spec in self.specs:
                scored, key = self.measures[spec.name] if policy == self.options.policy else None, spec.headline
                with suppress(InputError):  # the policy leaves no row that the measure could be of
                    options = replace(self.options, unparsed=policy)
                    scored = scored or self.valid(_score(spec, apply_policy(self.rows, policy)[0], options))
                headline = scored and {key: scored[key], "confidence_interval": scored["confidence_interval"][key]}
                values.setdefault(policy, {})[spec.name] = headline
        return values

    @cached_property
    def wording_by_policy(self) -> dict[str, Values]:
        """Policy -> how often two wordings get different answers, where an answer is unparsed."""
        values: dict[str, Values] = {}
        for policy in self._policies:
            with suppress(InputError):  # the policy leaves no row
                found = outcomes(apply_policy(self.rows, policy)[0], replace(self.options, unparsed=policy))
                if found is not None:
                    found = self.valid(found)
                    ends = {"confidence_interval": found.confidence_interval}
                    values[policy] = {q.key: found[q.key] for q in OF_WORDINGS} | ends
        return values

    def headline(self, spec: MeasureSpec) -> Quantity:
        """Return what a measure is known by; without the gold labels that this needs it is the wording change."""
        usual = Quantity(spec.headline, spec.symbol, spec.symbol)
        own = next((q for q in spec.quantities if q.key == spec.headline), usual)
        return WORDING_CHANGE if own.needs_gold and self.rows.is_without_gold else own

    def headline_by_policy(self, spec: MeasureSpec) -> tuple[Quantity, dict[str, Values]]:
        """Return a measure's headline, and by policy the values that it is among."""
        if (quantity := self.headline(spec)) is WORDING_CHANGE:
            return quantity, self.wording_by_policy
        return quantity, {policy: values.get(spec.name) or {} for policy, values in self.by_policy.items()}

    @cached_property
    def figures(self) -> dict[str, Figures]:
        """Measure on pairs -> which answers turn into which, and how sure the model was."""
        names = self.predictions.label_names
        return {spec.name: pair_figures(spec, self.kept, names) for spec in self.specs if spec.is_about_pairs}

    def worst(self, n: int = 10) -> list[Unsteady]:
        """Return the `n` buckets whose answers depend most on the wording; as text each names its id and answers."""
        return worst_buckets(self.kept, n, self.predictions.label_names)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        metadata, overlap = self.predictions.metadata, self.overlap
        whole = {
            **{name: metadata.get(name) for name in ("set", "task", "same", "right")},
            "model": self.source.model,
            **{name: metadata.get(name) for name in ("limit", "excluded", "by_hand")},
            "options": self._options(),
            "n_rows": len(self.rows),
            "n_unparsed": self.n_unparsed,
            "unparsed_rate": float(self.rows.unparsed.mean()),
            "unparsed_policy": self.options.policy,
            "n_dropped_buckets": self.n_dropped,
            "by_policy": self.by_policy,
            "wording_by_policy": self.wording_by_policy,
            "majority_rate": self.majority_rate,
            "wording": plain(self.wording),
            "test_majority_rate": self.test_majority_rate,
            "until": plain(self.until),
            "checked": plain(self.checked),
            "validity": plain(self.validity),
            "measures": plain(self.measures),
            "strata": plain(self.strata),
            "figures": self.figures,
            "training_overlap": None if overlap is None else {**asdict(overlap), "columns": list(overlap.columns)},
            "warnings": list(self.warnings),
            "degenerate": list(self.degenerate),
            "noise_floor": plain(self.noise_floor),
            "source": metadata.get("source"),
        }
        return {key: value for key, value in whole.items() if value is not None or key in _ALWAYS}

    def _options(self) -> dict[str, Any]:
        """Return the options as results.json keeps them, under names that its readers know."""
        columns = {name: getattr(self.source.columns, name) for name in _COLUMNS}
        named = {**columns, "strata": self.source.columns.stratum}
        measured = {name: getattr(self.options, name) for name in ("measures", "renormalize", "unparsed")}
        return {**self.options.intervals, "columns": named, **measured}


def score_set(source: Source, options: ScoreOptions, *, training: pa.Table | None = None) -> SetScores:
    """Score one set: read the rows, apply the policy for unparsed answers, measure.

    The model's predictions on the full test set that the originals were drawn from (`source.test`) give test accuracy
    and the values of paraphrastic consistency corrected for stratified sampling. Rows of the set that also occur in
    `training`, the data that the model was trained on, are counted in a warning. InputError if a column is missing or
    invalid, or a row lacks its partner.
    """
    predictions, test = source.predictions, source.test
    named = about_its_rows(source, options.measures)
    need = reads_probabilities(named or predictions.metadata.get("measures"))
    rows = source.scored_rows[need] = read_rows(predictions, source.columns, need_probabilities=need)
    if not len(rows):
        raise input_error("score", "predictions", "have at least one row")
    check_not_swapped(rows)
    test_rows = None if test is None else read_rows(test, source.columns, need_buckets=False)
    specs = chosen_measures("score", named, predictions.metadata, rows)
    if not rows.are_runs and TRAJECTORIES not in specs:
        rows = source.scored_rows[need] = replace(rows, calls=None, arguments=None)
    kept, n_dropped = apply_policy(rows, options.policy)
    test_kept = None if test_rows is None else apply_policy(test_rows, "wrong")[0]
    about = origin_of(predictions.metadata)
    results = (_score(spec, kept, options, test_kept, about) for spec in specs)
    measures = {spec.name: with_label_names(r, predictions.label_names) for spec, r in zip(specs, results, strict=True)}
    wording, found = outcomes(kept, options), _known_of(source, options, kept)
    if found is not None:
        measures = {name: with_known(result, found) for name, result in measures.items()}
        wording = None if wording is None else with_known(wording, found)
    scores = SetScores(
        source=source,
        options=options,
        specs=tuple(specs),
        rows=rows,
        kept=kept,
        n_dropped=n_dropped,
        measures=measures,
        majority_rate=majority_rate(_reference_labels(kept, specs)),
        degenerate=tuple(degenerate(rows, options.policy, predictions.label_names)),
        overlap=None if training is None else training_overlap(predictions, training, role=source.columns.role),
        test_majority_rate=None if test_rows is None else majority_rate(test_rows.labels[test_rows.has_gold]),
        wording=wording,
        until=found,
    )
    scores = replace(scores, checked=_checked(scores), validity=_validity(scores))
    return replace(scores, warnings=tuple(dict.fromkeys(_notes(scores))))


def _known_of(source: Source, options: ScoreOptions, kept: Rows) -> Known | None:
    """Return what is known of a run that was asked until something was; None of others."""
    asked, level = source.predictions.metadata.get("until"), options.confidence_level
    if asked is None:
        return None
    columns, until = source.columns, "for a run that was asked until something was known"
    refused = [("labelled" if columns.labelled else "exclude", f"not be given {until}")] * bool(source.excluded)
    refused += [("unparsed", f"not be drop_bucket {until}")] * (options.policy == "drop_bucket")
    if "reference" in asked:
        alike = "for a run whose condition names another run: its answers were compared so"
        refused += [("unparsed", f"be wrong {alike}")] * (options.policy != "wrong")
        refused += [
            (n, f"not be given {alike}") for n in ("same", "right", "classes") if getattr(columns, n) is not None
        ]
    for name, must in refused:
        raise input_error("score", name, must, got=str(getattr(columns, name, options.policy))[:80])
    return with_own(known(kept, asked, level), kept, asked, level)


def _checked(scores: SetScores) -> Checked | None:
    """Return the rates corrected by answers that people checked."""
    options = scores.options
    if not options.checked:
        return None
    from paraconsist.scoring.checked import checked_rates, read_checked

    if scores.until is not None:
        must, got = "not be given for a run that was asked until something was known", [*map(str, options.checked)]
        raise input_error("score", "checked", must, got=got, remedy="Its intervals would miss.")
    sheets = read_checked(options.checked, options.policy)
    return checked_rates(scores.source, sheets, options.confidence_level, scores.wording)


def _validity(scores: SetScores) -> Validity | None:
    """Return what people's judgements of the paraphrases say of the rates."""
    options, wording = scores.options, scores.wording
    if options.validity is None:
        return None
    from paraconsist.scoring.alignment import rows_with_ids
    from paraconsist.scoring.checked import read_validity

    rates: dict[str, Values] = {**scores.measures, **({} if wording is None else {"wording": wording})}
    rows = None
    if scores.until is None:
        with_ids = rows_with_ids(scores.source)
        rows = apply_policy(replace(with_ids, strata={**scores.rows.strata, **with_ids.strata}), options.policy)[0]
    return read_validity(options.validity, rates, options.confidence_level, rows)


def _notes(scores: SetScores) -> Iterator[str]:
    """Yield the warnings about input, answers and results."""
    source, options, measures = scores.source, scores.options, scores.measures
    predictions, columns = source.predictions, source.columns
    yield from row_alarms(
        scores.rows,
        label_names=predictions.label_names,
        unparsed=options.policy,
        n_dropped=scores.n_dropped,
        has_right_answers=not all(spec.is_about_probabilities for spec in scores.specs),
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples if any("-bootstrap" in m["signature"] for m in measures.values()) else None,
    )
    yield from input_notes(predictions.metadata)
    if source.test is not None:
        yield from (f"of the full test set {note}" for note in input_notes(source.test.metadata))
    yield from scores.degenerate
    paraphrastic = measures.get(PARAPHRASTIC.name)
    if paraphrastic is not None and scores.wording is not None and not scores.degenerate:
        yield from parts_from(paraphrastic, scores.wording)
    yield from _undivided(scores.kept, scores.specs, columns.stratum or ())
    if paraphrastic is not None:
        yield from _single_buckets(scores.kept, predictions.label_names)
    if not source.is_log:
        yield from repeated_rows(predictions.table, columns) or repeated_texts(predictions.table, columns)
        yield from filter(None, [sentences(scores.rows)])
    yield from copied_runs(predictions.table, columns)
    if paraphrastic is not None and paraphrastic["pvap_unbiased"] > 1.0:
        yield ABOVE_ALL
    if scores.rows.is_without_gold:
        gold = likely_column(predictions.table.column_names, "label", columns.label)
        perhaps = "" if gold in (None, columns.prediction, columns.label) else f": {gold!r}?"
        unnamed = f"there is no column of gold labels (name it as `label`{perhaps})"
        yield _NO_GOLD.format(there_is_none=unnamed if columns.label else "no gold labels are read")
    if scores.overlap is not None:
        yield from scores.overlap.warnings()
    if scores.until is not None:
        yield note_of(scores.until)
    if scores.checked is not None:
        yield from scores.checked.warnings
    if scores.validity is not None:
        yield from (f"{key} has no bounds: {b.withheld}" for key, b in scores.validity.bounds.items() if b.withheld)


def score_sources(opened: Opened, options: ScoreOptions, *, training: pa.Table | None = None) -> dict[str, SetScores]:
    """Score every bucket set, each with its own columns.

    Sets of originals alone are left out (`plain_accuracies` has them). `training` is what the model was trained on.
    InputError if there is no bucket set.
    """
    if not opened.sets:
        remedy = "Sets of originals alone have no paraphrases to be consistent with."
        must = "hold the predictions of at least one bucket set"
        got = [str(source.path) for source in opened.plain.values()]
        raise input_error("score", "path", must, got=got, remedy=remedy)
    sets = with_measures(opened.sets, options.measures)
    return {name: _score_source(source, options, training) for name, source in sets.items()}


def plain_accuracies(opened: Opened) -> dict[str, PlainAccuracy]:
    """Return the accuracy of every set that is no bucket set: full test sets, development rows."""
    corrected = {test_set_of(name): name for name, source in opened.sets.items() if source.test is not None}
    accuracies: dict[str, PlainAccuracy] = {}
    for name, source in opened.plain.items():
        rows = read_rows(source.predictions, source.columns, need_buckets=False)
        kept, _ = apply_policy(rows, "wrong")
        accuracies[name] = {
            "accuracy": float(np.mean(kept.predictions == kept.labels)),
            "majority_rate": majority_rate(rows.labels[rows.has_gold]),
            "n_rows": len(rows),
            "n_unparsed": int(rows.unparsed.sum()),
            "split": source.predictions.metadata.get("split"),
            "corrects": corrected.get(name),
        }
    return accuracies


def score_run_folder(
    folder: Path, options: ScoreOptions, typed: Mapping[str, Any] = MappingProxyType({})
) -> tuple[dict[str, SetScores], dict[str, PlainAccuracy]]:
    """Score every predictions file of a run folder, and write ``results.json`` and the accuracies into it.

    Returns what `score_sources` and `plain_accuracies` return; the accuracies are in ``run.json``,
    as it keeps `typed` of the run's call: ``command`` and ``options``; results hold the command too.
    """
    run_folder, opened = RunFolder(folder), open_source(folder, function="run")
    accuracies = plain_accuracies(opened)
    scored = score_sources(opened, options) if opened.sets else {}
    command = {name: value for name, value in typed.items() if name == "command"}
    results = to_strict_json({name: {**scores.to_dict(), **command} for name, scores in scored.items()})
    run_folder.update_run({**({"accuracies": accuracies} if accuracies else {}), **typed})
    run_folder.write_results(results)
    return scored, accuracies


def _score_source(source: Source, options: ScoreOptions, training: pa.Table | None) -> SetScores:
    scored, floor = score_set(source, options, training=training), None
    notes = [*scored.warnings, *source.predictions.metadata.get("notes", ())]
    if source.noise is not None and {*scored.rows.roles.tolist()} <= {*WORDINGS}:
        again = Repeats(read_predictions(source.noise)) if isinstance(source.noise, Path) else source.noise
        if isinstance(source.noise, Path) and not same_run(source.predictions, again.predictions):
            # a run that went on with more rows
            notes.append(f"{source.noise.name} in {source.noise.parent.name}/ is of other rows: {RUN_AGAIN}")
        else:
            kept = without_buckets(again.predictions, source.columns.bucket, source.excluded)
            kept = of_its_rows(source, kept) if source.target else kept
            repeats = replace(again, predictions=kept)
            main, other = compared_together(source.predictions, repeats.predictions, source.columns)
            repeats = replace(repeats, predictions=other)
            floor = score_noise(main, repeats, source.columns, options.policy, **options.intervals)
    return replace(scored, warnings=tuple(notes), noise_floor=floor)


def majority_rate(labels: NDArray[Any]) -> float:
    """Accuracy of always answering the most frequent label, in [0, 1]: what a constant classifier gets."""
    return float(np.unique(labels, return_counts=True)[1].max() / len(labels)) if len(labels) else float("nan")


def _reference_labels(rows: Rows, specs: Sequence[MeasureSpec]) -> NDArray[Any]:
    """Return the labels that the majority rate is of: those of the rows whose accuracy is shown beside it."""
    roles = [PARAPHRASTIC.target] if PARAPHRASTIC in specs else [role for spec in specs for role in spec.partners]
    beside = np.isin(rows.roles, roles)
    return rows.labels[rows.has_gold & beside] if beside.any() else rows.labels[rows.has_gold]


def chosen_measures(function: str, wanted: Sequence[str] | None, metadata: Metadata, rows: Rows) -> list[MeasureSpec]:
    """Return the measures that were named, else those that the run names, else those that the rows call for.

    Without gold labels they are those that need none. InputError if one that needs them was named.
    """
    names = wanted or metadata.get("measures") or default_measures(np.unique(rows.roles).tolist())
    if rows.calls is not None and rows.are_runs and not wanted and names == [PARAPHRASTIC.name]:
        names = [TRAJECTORIES.name]
    if TRAJECTORIES.name in names and rows.calls is None:
        remedy = "Name tau-bench's or another log of agents, or a table with a column of calls."
        raise input_error(function, "calls", "be a column of lists of tools' names", got=None, remedy=remedy)
    if rows.is_without_gold:
        lacking = [name for name in wanted or () if spec_of(function, name).needs_gold]
        if lacking:
            remedy = f"{lacking[0]} needs gold labels; {_NEED_NONE} need none. {WORDING_CHANGE_IS_SHOWN}"
            raise input_error(function, "label", "name a column of the predictions", got=None, remedy=remedy)
        names = [name for name in names if not spec_of(function, name).needs_gold] or _without_gold(rows)
    if rows.variants is not None and not wanted and PARAPHRASTIC.name in names:
        names = [*names, prompt_sensitivity.__name__]
    return [spec_of(function, name).on(rows.roles) for name in names]


def _without_gold(rows: Rows) -> list[str]:
    """Return the default measures of wordings without gold labels."""
    (with_original, n_originals), (paraphrased, n_paraphrases) = (
        np.unique(np.asarray(rows.buckets)[rows.roles == role], return_counts=True) for role in (ORIGINAL, PARAPHRASE)
    )
    is_paired = len(paraphrased) > 0 and (n_originals == 1).all() and is_among(paraphrased, with_original).all()
    has_several = (n_paraphrases > 1).any()
    names = {SEMANTIC.name: is_paired, prompt_sensitivity.__name__: has_several or not is_paired}
    return [name for name, is_fit in names.items() if is_fit]


def _score(
    spec: MeasureSpec,
    rows: Rows,
    options: ScoreOptions,
    test: Rows | None = None,
    about: Mapping[str, str] = MappingProxyType({}),
) -> Result:
    columns, lacking = _test_columns(rows, test, options) if spec is PARAPHRASTIC and test is not None else ({}, ())
    if spec.is_about_probabilities and (n := int(np.count_nonzero(without_probabilities(rows)))):
        lacking = (f"{plural(n, 'row')} without probabilities: {spec.name} leaves out what is compared with them, too",)
    result = per_problem(judged(spec, rows, measure_rows(spec, rows, **options.intervals, **columns)), rows)
    signature = parse_signature(result.signature).replace(unparsed=options.policy, **about)
    marks = {constant_message(mark) for mark in set(rows.predictions[rows.unparsed].tolist())}
    unread = "none of the answers that it counts could be read"
    warnings = tuple(unread if warning in marks else warning for warning in result.warnings)
    return replace(result, signature=str(signature), warnings=(*warnings, *lacking))


def origin_of(metadata: Metadata) -> dict[str, str]:
    """Return what signatures say of a file: set with revision and limit, any dtype but float32, what is left out."""
    dtype, name = metadata.get("model", {}).get("dtype", "float32"), metadata.get("set")
    parts = {} if dtype == "float32" else {"dtype": str(dtype)}
    if "excluded" in metadata:
        parts["excluded"] = str(metadata["excluded"]["n_buckets"])
    if "by_hand" in metadata:
        parts["by_hand"] = str(metadata["by_hand"]["n_verdicts"])
    if name is None:
        return parts
    revision, limit, n_rows = str(metadata.get("set_fingerprint") or "").partition("-limit")
    return {**parts, "data": str(name).replace(":", "/") + (f"@{revision[:24]}{limit}{n_rows}" if revision else "")}


def _test_columns(rows: Rows, test: Rows, options: ScoreOptions) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the options of P_C that need a full test set, and warnings of rows that lack a probability."""
    columns: dict[str, Any] = {"test_predictions": test.predictions, "test_references": test.labels}
    originals = rows.roles == ORIGINAL
    if rows.confidences is None or test.confidences is None or not originals.any():
        return columns, ()
    assert rows.buckets is not None
    # an input that failed gave its gold label no probability: it counts as wrong
    of_originals = np.where(rows.unparsed, 0.0, rows.confidences)[originals]
    of_tests = np.where(test.unparsed, 0.0, test.confidences)
    if n := np.count_nonzero(np.isnan(of_originals)):
        return columns, (f"there are no corrected values: {n:,} originals have no probability",)
    known = ~np.isnan(of_tests)
    columns["original_confidences"] = dict(zip(rows.buckets[originals].tolist(), of_originals.tolist(), strict=True))
    columns["test_confidences"], columns["renormalize"] = of_tests[known], options.renormalize
    lacking = (
        f"{np.count_nonzero(~known):,} rows of the full test set have no probability: corrected values exclude them"
    )
    return columns, () if known.all() else (lacking,)


def _undivided(rows: Rows, specs: Sequence[MeasureSpec], wanted: Sequence[str]) -> list[str]:
    """Say which of the columns that were named have more values than results are broken down by."""
    is_target = np.logical_or.reduce([is_counted(spec, rows) for spec in specs])
    sizes = {name: len(np.unique(rows.strata[name][is_target])) for name in wanted}
    most = f"more than the {MAX_STRATUM_VALUES} that results are broken down by"
    return [f"{name} has {n:,} values, {most}" for name, n in sizes.items() if n > MAX_STRATUM_VALUES]


def _single_buckets(rows: Rows, label_names: Sequence[str]) -> list[str]:
    """Say in which strata buckets have one paraphrase, which P_C as published takes for consistent."""
    parts = []
    for column, value, part in _breakdowns(rows, PARAPHRASTIC, label_names):
        sizes = np.unique(np.asarray(part.buckets)[part.roles == PARAPHRASTIC.target], return_counts=True)[1]
        if n := int((sizes == 1).sum()):
            parts.append(f"{n:,} of {len(sizes):,} where {column} is {value}")
    single = "problems with one rewording, of which P_C knows nothing and P_C as published is 1"
    return [f"{single}: {', '.join(parts)}"] if parts else []


def with_label_names(result: Result, label_names: Sequence[str]) -> Result:
    """Return a result whose warnings of a constant answer, and strata of gold labels, have labels' names, if any."""
    names = {str(number): name for number, name in enumerate(label_names)}
    told = {
        constant_message(i, of): constant_message(name, of) for i, name in enumerate(label_names) for of in CONSTANT
    }
    result = replace(result, warnings=tuple(told.get(warning, warning) for warning in result.warnings))
    if "label" not in (strata := result.get("by_stratum") or {}):
        return result
    parts = {names.get(label, label): part for label, part in strata["label"].items()}
    return replace(result, by_stratum={**strata, "label": parts})  # type: ignore[call-arg]


def _breakdowns(rows: Rows, spec: MeasureSpec, label_names: Sequence[str]) -> Iterator[tuple[str, Any, Rows]]:
    """Yield (column, value, the counted rows that have it and their partners), where a column has a few values."""
    assert rows.buckets is not None
    is_target = is_counted(spec, rows)
    is_partner = np.isin(rows.roles, [*spec.partners, *spec.optional_partners])
    labels = {"label": rows.labels} if rows.values is None else {}  # of answers in free text each problem has its own
    for name, values in {**labels, **rows.strata}.items():
        distinct = np.unique(values[is_target])
        is_own = name == "label" and len(distinct) == len(np.unique(rows.buckets[is_target]))  # of each problem
        for value in distinct.tolist() if 2 <= len(distinct) <= MAX_STRATUM_VALUES and not is_own else ():
            chosen = is_target & (values == value)
            beside = is_partner & is_among(rows.buckets, rows.buckets[chosen])
            has_name = name == "label" and label_names and value in range(len(label_names))
            yield name, label_names[value] if has_name else value, replace(rows.where(chosen | beside), strata={})


def pair_figures(spec: MeasureSpec, rows: Rows, label_names: Sequence[str]) -> Figures:
    """Count a measure's pairs by their answers, and average the confidence of those that break its rule.

    There is a transition for each gold label of an original and answers to it and to the perturbed text that occur,
    unparsed being None, in the order of the labels (`label_names`; one without a name is shown as it is). An original
    counts once a pair. ``confidence`` is that of ``inconsistent`` and ``consistent`` pairs, as the measure counts them.
    InputError if a pair lacks its original.
    """
    pairs = violations(spec, rows)
    sides = pairs.partners[ORIGINAL], pairs.positions
    before, after = (_shown(rows.predictions[side], rows.unparsed[side], label_names) for side in sides)
    golds = _shown(rows.labels[sides[0]], np.zeros(len(sides[0]), dtype=bool), label_names)
    golds = ["(none)"] * len(golds) if rows.is_without_gold else golds
    figures: Figures = {"transitions": _transitions(golds, before, after, label_names)}
    if rows.predicted_confidences is not None:
        original, perturbed = (rows.predicted_confidences[side] for side in sides)
        kinds = {"inconsistent": pairs.broken, "consistent": ~pairs.broken}
        figures["confidence"] = {kind: _confidence(original[of], perturbed[of]) for kind, of in kinds.items()}
    return figures


def _shown(values: NDArray[Any], unparsed: NDArray[np.bool_], label_names: Sequence[str]) -> list[str | int | None]:
    numbers = range(len(label_names))
    return [
        None if missing else label_names[value] if value in numbers else value
        for value, missing in zip(values.tolist(), unparsed.tolist(), strict=True)
    ]


def _transitions(golds: list[Any], before: list[Any], after: list[Any], names: Sequence[str]) -> list[Transition]:
    places = {name: place for place, name in enumerate(names)}
    distinct = {*golds, *before, *after} - {None}
    of_kind = sorted(distinct, key=lambda value: (places.get(value, -1), isinstance(value, str), value))
    order = {value: i for i, value in enumerate(of_kind)}
    order[None] = len(order)
    counts = Counter(zip(golds, before, after, strict=True))
    return [
        {"label": gold, "prediction": first, "perturbed_prediction": second, "n_pairs": counts[gold, first, second]}
        for gold, first, second in sorted(counts, key=lambda key: tuple(order[value] for value in key))
    ]


def _confidence(original: NDArray[np.float64], perturbed: NDArray[np.float64]) -> Confidence:
    both = np.concatenate([original, perturbed])
    known = [values[~np.isnan(values)] for values in (both, original, perturbed)]
    of_all, of_original, of_perturbed = (float(values.mean()) if len(values) else float("nan") for values in known)
    return {
        "n_pairs": len(original),
        "n_predictions": len(known[0]),
        "confidence": of_all,
        "original_confidence": of_original,
        "perturbed_confidence": of_perturbed,
    }
