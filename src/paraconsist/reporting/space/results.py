"""From a visitor's columns to what a page shows: the measure's values, and what its report is of.

What has no gold labels, or no predictions, has no report: it gets a picture, and the pairs that differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.long_format import long_format
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import Rows, read_rows
from paraconsist.data.tables import is_text
from paraconsist.errors import InputError, input_error
from paraconsist.measures.catalogue import CHANGE, COHERENCE, FOOLING, IE_TEST, PARAPHRASTIC, MeasureSpec
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.distribution_shift import distribution_shift, shifts
from paraconsist.measures.diversity import paraphrase_diversity
from paraconsist.measures.fooling_rate import fooling_rate
from paraconsist.measures.ie_test import ie_test
from paraconsist.measures.paired_tests import group_differences
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE, unchanged
from paraconsist.reporting.page.models import Model
from paraconsist.reporting.plots import answers as figures
from paraconsist.reporting.space.forms import Flips, Long, PageResult, Query, check_query, long_rows, probability_matrix
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.roles import POLICIES, apply_policy, groups_of, measure_rows, partners_of, violations
from paraconsist.scoring.score import SetScores, pair_figures, score_set
from paraconsist.scoring.sources import Source, open_source

_TWO_ANSWERS, _ONE_ANSWER = "Pairs with two answers", "Pairs with the same answer, where the answer must change"
_NEEDS_LABELS = ("accuracy", "perturbed_accuracy")
#: Lines of flips that are shown.
MOST = 30


def as_the_command(spec: MeasureSpec) -> Callable[[Query], PageResult]:
    """Return a function that scores as ``paraconsist score --measure NAME`` does, and reports."""

    def measure(query: Query) -> PageResult:
        long = long_rows(query, spec.target)
        command = _command(spec, query, long)
        if long.has_labels:
            result = _scored(long, spec, query)
            keys, warnings = _with_names(result.measures[spec.name], long), result.warnings
            return PageResult(keys, models=[_model(result)], warnings=warnings, command=command)
        rows = apply_policy(long.rows(), POLICIES[0])[0]
        keys = _without_labels(measure_rows(spec, rows, **query.intervals))
        looks = _pair_looks(spec, long, rows) if spec.is_about_pairs else {}
        return PageResult(keys, **looks, command=command)

    return measure


def _scored(long: Long, spec: MeasureSpec, query: Query, keys: Mapping[str, Any] | None = None) -> SetScores:
    """Return what `score` says of rows by a measure; `keys` are what the measure of the page says."""
    source = Source("predictions", long.predictions, SourceOptions(stratum=()))
    result = score_set(source, ScoreOptions(measures=[spec.name], **query.intervals))
    return result if keys is None else replace(result, measures={**result.measures, **keys})


def _model(result: SetScores, name: str = "the model") -> Model:
    return Model(name, Path(), {"predictions": result})


def _with_names(keys: Mapping[str, Any], long: Long) -> Mapping[str, Any]:
    """Return a measure's values with the labels of its rules by their names, where they have some."""
    if not long.predictions.label_names or "by_rule" not in keys:
        return keys
    named = [re.sub(r"\d+", lambda m: str(long.shown(int(m[0]))), rule) for rule in keys["by_rule"]]
    return {**keys, "by_rule": dict(zip(named, keys["by_rule"].values(), strict=True))}


def _without_labels(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what the stand-ins for gold labels have spoilt."""
    return {
        key: _without_labels(value) if isinstance(value, Mapping) else value
        for key, value in keys.items()
        if key not in _NEEDS_LABELS
    }


def _pair_looks(spec: MeasureSpec, long: Long, rows: Rows) -> dict[str, Any]:
    pairs = violations(spec, rows)
    title, caption = _TWO_ANSWERS, "Off the diagonal the answer changes, although the meaning does not."
    if must_differ := spec.breaks is unchanged:
        title, caption = _ONE_ANSWER, "On the diagonal the answer stays, which a negation must not allow."
    changes = pair_figures(spec, rows, long.predictions.label_names)["transitions"]
    figure = figures.transitions(changes, must_differ=must_differ)

    def line(pair: int) -> list[Any]:
        both = int(pairs.partners[ORIGINAL][pair]), int(pairs.positions[pair])
        answers = ["(unparsed)" if rows.unparsed[at] else long.shown(rows.predictions.item(at)) for at in both]
        where = rows.buckets.item(both[1]) if long.has_buckets else _row(long, both[1])  # type: ignore[union-attr]
        return [where, *answers, long.lines(*both)]

    header = ["bucket" if long.has_buckets else "row", "on the original", "on the changed text", "text"]
    flips = _flips(long, title, header, np.flatnonzero(pairs.broken), line)
    return {"figure": figure, "caption": f"Pairs by their two answers. {caption}", "flips": flips}


def _command(spec: MeasureSpec, query: Query, long: Long) -> list[str]:
    """Return the same on the command line, or nothing where the command takes the file otherwise."""
    columns, names = query.columns, query.predictions.table.column_names
    is_wide = bool(query.layout.sides)
    if not long.has_labels or ((is_wide or long.flagged) and spec.target != PARAPHRASE):
        return []
    by_name = {"group": "group_id"} if is_wide else {"group": "group_id", "role": "role"}
    if any(not columns.get(key) and name in names for key, name in by_name.items()):
        return []  # the command takes it by its name although the visitor left it out
    words = ["--original-prediction", columns["original_prediction"]] if is_wide else []
    defaults = {"prediction": "prediction", "label": "label", "group": "group_id", "role": "role"}
    for key, default in (defaults if is_wide else {"bucket": "bucket_id", **defaults}).items():
        column = columns.get(key)
        option = "original" if key == "role" and long.flagged else key
        if column and (column != default or option != key):
            words += [f"--{option}", column]
    if query.label_names:
        words += ["--label-names", ",".join(query.label_names)]
    words += ["--measure", spec.name]
    usual = Query(query.predictions, query.layout, {}).intervals
    for key, value in query.intervals.items():
        if value != usual[key]:
            words += [f"--{key.replace('_', '-')}", str(value)]
    return ["paraconsist", "score", "FILE", *words]


def measure_fooling(query: Query) -> PageResult:
    """Fooling rates of items and their variants, in either layout."""
    long = long_rows(query, PARAPHRASE)
    rows = long.rows()
    assert rows.buckets is not None
    answers = _answers(rows)
    options: dict[str, Any] = {**query.intervals, **query.options}
    if query.layout.key == "texts":
        targets, others = partners_of(rows, FOOLING.name, PARAPHRASE, [ORIGINAL])
        before, gold = answers[others[ORIGINAL]], rows.labels[others[ORIGINAL]]
        originals = np.flatnonzero(rows.roles == ORIGINAL)
        items = rows.buckets[originals].tolist()
        pairs = zip(answers[originals].tolist(), rows.labels[originals].tolist(), strict=True)
        options["originals"] = dict(zip(items, pairs, strict=True))
        if rows.groups is not None:
            options["groups"] = dict(zip(items, rows.groups[originals].tolist(), strict=True))
    else:
        targets = np.arange(len(rows))
        before, gold = _answers(_beside(query, long, "original_prediction")), rows.labels
        options["groups"] = None if rows.groups is None else rows.groups.tolist()
    after, buckets = answers[targets], rows.buckets[targets]
    columns = [column.tolist() for column in (after, before, gold, buckets)]
    try:
        keys = fooling_rate(*columns, **options).to_dict()
    except InputError as problem:
        if problem.parameter != "opposites":
            raise
        must = "be two labels, or 0, 1 and 2, or have entailment and contradiction among them"
        remedy = "Which labels are opposites is not known otherwise: rename those two in the file."  # it has no control
        raise input_error(FOOLING.name, "label", must, got=np.unique(rows.labels).tolist(), remedy=remedy) from None
    instead = "write these as names in the file"
    keys["warnings"] = [warning.replace("give `opposites`", instead) for warning in keys["warnings"]]
    if query.layout.key != "texts":
        long = replace(long, predictions=long_format(long.predictions, SourceOptions(), "original_prediction")[0])
    result = _scored(long, CHANGE, query, {FOOLING.name: keys})
    return PageResult(keys, warnings=_unparsed(rows), models=[_model(result)])


def measure_coherence(query: Query) -> PageResult:
    """Coherence of the probabilities of statements, as the command finds it."""
    long = long_rows(query, COHERENCE.target)
    table = long.predictions.table.drop_columns(["prediction", "label"])
    (source,) = open_source(table, function=COHERENCE.name).sets.values()
    long = replace(long, predictions=source.predictions)
    result = _scored(long, COHERENCE, query)
    return PageResult(result.measures[COHERENCE.name], models=[_model(result)], warnings=result.warnings)


def measure_shift(query: Query) -> PageResult:
    """How far probabilities move between a text and its variant, in either layout."""
    long = long_rows(query, PARAPHRASE)
    rows, table = long.rows(), query.predictions.table
    new = probability_matrix(table, query.columns["probabilities"], "probabilities")
    if query.layout.key == "texts":
        targets, others = partners_of(rows, distribution_shift.__name__, PARAPHRASE, [ORIGINAL])
        new, old = [new[i] for i in targets.tolist()], [new[i] for i in others[ORIGINAL].tolist()]
        sides = list(zip(others[ORIGINAL].tolist(), targets.tolist(), strict=True))
    else:
        targets = np.arange(len(rows))
        sides = [(row, row) for row in range(len(rows))]
        old = probability_matrix(table, query.columns["original_probabilities"], "original probabilities")
    units = None if (groups := groups_of(rows, targets)) is None else groups.tolist()
    keys = distribution_shift(new, old, groups=units, **query.intervals).to_dict()
    first, second = np.asarray(old, dtype=float), np.asarray(new, dtype=float)
    distances = shifts(second / second.sum(1, keepdims=True), first / first.sum(1, keepdims=True))[:, 0]
    changed = first.argmax(1) != second.argmax(1)

    def line(i: int) -> list[Any]:
        both = [_probabilities(first[i]), _probabilities(second[i])]
        return [_row(long, targets[i]), f"{distances[i]:.3f}", *both, long.lines(*sides[i])]

    header = ["row", "distance", "on the original", "on the variant", "text"]
    moved = np.flatnonzero(changed & (distances > 0.0))
    farthest = moved[np.argsort(-distances[moved], kind="stable")]
    return PageResult(
        keys,
        figures.shift_histogram(distances, changed),
        "Pairs by how far their probabilities move; 0 is no move, 1 from one certain answer to another.",
        _flips(long, "Pairs whose most probable answer changes", header, farthest, line),
    )


def _probabilities(values: NDArray[np.float64]) -> str:
    cells = [f"{value:.2f}" for value in values.tolist()[:6]]
    return ", ".join([*cells, "…"] if len(values) > 6 else cells)


def measure_ie_test(query: Query) -> PageResult:
    """The paired test of invariance, over one run or several, in either layout."""
    long = long_rows(query, PARAPHRASE)
    has_runs = bool(query.columns.get("run"))
    rows = long.rows(["run"] if has_runs else [])
    targets, others = partners_of(rows, IE_TEST.name, PARAPHRASE, [ORIGINAL])
    before, after, gold = rows.predictions[others[ORIGINAL]], rows.predictions[targets], rows.labels[others[ORIGINAL]]
    alpha = round(1 - query.confidence_level, 10)
    runs = rows.strata["run"][targets].tolist() if has_runs else None
    groups = rows.groups[targets].tolist() if rows.groups is not None and query.columns.get("group") else None
    options = {**query.intervals, **query.options, "alpha": alpha, "runs": runs, "groups": groups}
    keys = ie_test(before.tolist(), after.tolist(), gold.tolist(), **options).to_dict()
    if keys["n_runs"] > 1:  # whose rows a report would put into one bucket
        models = [Model("the model", Path(), {}, experiment={IE_TEST.title: keys})]
        return PageResult(keys, warnings=_unparsed(rows), models=models)
    figure = caption = ""
    if not str(query.options.get("method")).startswith("mcnemar"):  # which has another statistic
        lost = (before == gold).astype(np.int64) - (after == gold)
        lost = lost if groups is None else group_differences(lost, np.unique(groups, return_inverse=True)[1])
        figure = figures.null_distribution(lost, keys["statistic"], keys["p_value"])
        drawn = re.search(r"resamples:(\d+)", keys["signature"])
        how = f"is from {int(drawn[1]):,} resamples" if drawn else "is exact"
        caption = (
            "What t would be if the change cost nothing, and where it is. The bars are sketched from 40,000 draws; "
            f"the p-value {how}."
        )
    models = [_model(_scored(long, CHANGE, query, {IE_TEST.name: keys}))]
    return PageResult(keys, figure, caption, warnings=_unparsed(rows), models=models)


def measure_difference(query: Query) -> PageResult:
    """Paraphrastic consistency of two models on the same rows."""
    long = long_rows(query, PARAPHRASE)
    rows = long.rows()
    assert rows.buckets is not None
    predictions = [_beside(query, long, key).predictions for key in ("predictions1", "predictions2")]
    options: dict[str, Any] = {**query.intervals, **query.options}
    if (rows.roles == ORIGINAL).any():
        options["roles"] = rows.roles.tolist()
    if rows.groups is not None:
        options["groups"] = rows.groups.tolist()
    columns = [column.tolist() for column in (*predictions, rows.labels, rows.buckets)]
    keys = consistency_difference(*columns, **options).to_dict()
    models = []
    for name, key in (("first model", "predictions1"), ("second model", "predictions2")):
        one = replace(long, predictions=_of_one(query, long, key))
        models.append(_model(_scored(one, PARAPHRASTIC, query), name))
    return PageResult(keys, models=models)


def measure_diversity(query: Query) -> PageResult:
    """Distances of paraphrases from their originals; there are no predictions that could differ."""
    check_query(query)
    parameters = {"paraphrases": "paraphrase", "originals": "original", "groups": "group"}
    parameters |= {"similarities": "similarity", "entailed": "entailed"}
    columns = {parameter: column for parameter, key in parameters.items() if (column := query.columns.get(key))}
    values = {parameter: query.predictions.table[column].to_pylist() for parameter, column in columns.items()}
    keys = paraphrase_diversity(**values, **query.intervals).to_dict()
    names = {"lexical_distance": "lexical distance", "jaccard": "Jaccard similarity"}
    names["mutual_entailment"] = "mutual entailment"
    ends = keys["confidence_interval"]
    means = [(name, keys[key], ends[key]) for key, name in names.items() if keys[key] == keys[key]]
    return PageResult(
        keys,
        figures.rates(means) if means else "",
        "Means over pairs, with intervals. A distance of 0 is a copy, and so is a similarity of 1.",
    )


def _of_one(query: Query, long: Long, key: str) -> Predictions:
    """Return the rows with another column as their predictions, without the columns that the layout has of several."""
    table = long.predictions.table
    column = query.predictions.table[query.columns[key]]
    table = table.set_column(table.column_names.index("prediction"), "prediction", column)
    several = [one.key for one in query.layout.fields if "prediction" in one.key and one.key != "prediction"]
    return Predictions(table.drop_columns([c for c in several if c in table.column_names]), long.predictions.metadata)


def _beside(query: Query, long: Long, key: str) -> Rows:
    """Return the rows of another column of predictions, read as all predictions are."""
    return read_rows(_of_one(query, long, key), SourceOptions(stratum=()), need_buckets=False)


def _answers(rows: Rows) -> NDArray[Any]:
    """Return the predictions, those that could not be read as modules of `evaluate` have them: "" or -1."""
    return np.where(rows.unparsed, "" if is_text(rows.predictions) else -1, rows.predictions)


def _unparsed(rows: Rows) -> Sequence[str]:
    n = int(rows.unparsed.sum())
    return [f"{n} of {len(rows)} predictions are unparsed and count as wrong answers."] if n else []


def _flips(
    long: Long, title: str, header: Sequence[str], order: NDArray[np.intp], line: Callable[[int], list[Any]]
) -> Flips:
    """Show the first items in `order`, whose cells `line` makes; the last, of texts, only where the file has some."""
    end = None if long.texts else -1
    return Flips(title, header[:end], [line(i)[:end] for i in order[:MOST].tolist()], len(order))


def _row(long: Long, at: int) -> int:
    """Return the row of the visitor's file, counted from 1 below its header."""
    return int(long.source[at]) + 1
