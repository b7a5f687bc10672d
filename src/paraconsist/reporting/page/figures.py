"""Which plots a report has, from its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist.measures.catalogue import CATALOGUE, CHANGE, FOOLING, PARAPHRASTIC
from paraconsist.reporting.formatting import bounds, known
from paraconsist.reporting.page.aligned import AlignedSet
from paraconsist.reporting.page.changes import PARTS, Changes, ie_tables
from paraconsist.reporting.page.entries import Entry
from paraconsist.reporting.page.tables import by_stratum, measures_of, results_of
from paraconsist.reporting.plots import Plot
from paraconsist.reporting.plots.answers import Line, forest_plot
from paraconsist.reporting.plots.consistency import Point, accuracy_consistency_plot, bucket_accuracy_plot
from paraconsist.reporting.plots.ie import experiment_plots, ie_runs_plot
from paraconsist.reporting.tables import rates_of

_MOST_MODELS = 8


@dataclass(frozen=True)
class Placed:
    """A plot, the section that it stands in, and the set that it is of."""

    section: str
    set: str
    plot: Plot


def report_plots(entries: Sequence[Entry], aligned: Sequence[AlignedSet], changes: Changes) -> list[Placed]:
    """Return the plots in the order of the page."""
    return [
        *_accuracy(entries),
        *_buckets(aligned),
        *(plot for number, item in enumerate(aligned) for plot in _strata(entries, item.name, number)),
        *(plot for number, item in enumerate(aligned) for plot in _changes(changes, item.name, number)),
        *_inconsistencies(entries),
        *_fooling(entries),
        *_ie(entries),
    ]


def _accuracy(entries: Sequence[Entry]) -> Iterator[Placed]:
    keys = ("bucket_accuracy", PARAPHRASTIC.headline)
    points = []
    for name, model, _, values in results_of(entries, PARAPHRASTIC.name):
        if all(known(values.get(key)) for key in keys):
            ends = (bounds(values.get("confidence_interval"), key) for key in keys)
            points.append(Point(model, name, *(values[key] for key in keys), *ends))
    if points:
        yield Placed("accuracy", "", accuracy_consistency_plot(points))


def _buckets(aligned: Sequence[AlignedSet]) -> Iterator[Placed]:
    for number, item in enumerate(aligned):
        if item.measure == PARAPHRASTIC.name:
            values = {model: item.accuracy[model] for model in item.models[:_MOST_MODELS]}
            defined = {model: one[~np.isnan(one)] for model, one in values.items()}
            yield Placed("buckets", item.name, bucket_accuracy_plot(f"buckets-{number}", item.name, defined))


def _line(heading: str, label: object, model: str, values: Mapping[str, Any], key: str) -> list[Line]:
    """Return the line of one estimate, none where it is undefined."""
    if not known(values.get(key)):
        return []
    return [Line(heading, str(label), model, values[key], bounds(values.get("confidence_interval"), key))]


def _strata(entries: Sequence[Entry], name: str, number: int) -> Iterator[Placed]:
    strata = {e.name: e.sets[name].results.get("strata") or {} for e in entries if name in e.sets}
    parts = list(by_stratum(strata))
    measures = dict.fromkeys(measure for *_, by_measure in parts for measure in by_measure if measure in CATALOGUE)
    spec = PARAPHRASTIC if PARAPHRASTIC.name in measures else next((CATALOGUE[measure] for measure in measures), None)
    if spec is None:
        return
    lines = [
        line
        for model, by_column in strata.items()
        for column, value, _, by_measure in by_stratum({model: by_column})
        for line in _line(column, value, model, by_measure.get(spec.name, {}), spec.headline)
    ]
    if lines:
        what, axis, better = f"{spec.symbol} of", f"{spec.symbol}, %", "right"
        if not spec.higher_is_better:
            what, axis, better = "Share of broken rules in", "inconsistency, %", "left"
        caption = f"{what} each part of the set, with its interval; further {better} is better."
        if spec is PARAPHRASTIC:
            caption += " A hollow mark has too few buckets for an interval."
        plot = forest_plot(f"strata-{number}", f"By stratum, {name}", caption, axis, _by_heading(lines))
        yield Placed("strata", name, plot)


def _by_heading(lines: Sequence[Line]) -> list[Line]:
    headings = list(dict.fromkeys(line.heading for line in lines))
    return sorted(lines, key=lambda line: headings.index(line.heading))


def _changes(changes: Changes, name: str, number: int) -> Iterator[Placed]:
    lines: list[Line] = []
    for (set_name, model), values in changes.items():
        if set_name == name:
            lines += [line for key, label in PARTS.items() for line in _line("", label, model, values, key)]
            parts = by_stratum({model: values.get("by_stratum") or {}})
            lines += [line for column, v, _, part in parts for line in _line(column, v, model, part, CHANGE.headline)]
    if lines:
        caption = "Share of paraphrases that get another answer than their original; further left is better."
        title, axis = f"Changed answers, {name}", "changed answers, %"
        yield Placed("flips", name, forest_plot(f"changes-{number}", title, caption, axis, _by_heading(lines)))


def _inconsistencies(entries: Sequence[Entry]) -> Iterator[Placed]:
    lines = [
        line
        for spec in rates_of(measures_of(entries))
        for name, model, _, values in results_of(entries, spec.name)
        for line in _line(spec.short, name.partition(":")[2] or name, model, values, spec.headline)
    ]
    if lines:
        caption = "Share of broken rules (tau), with its interval; further left is better."
        plot = forest_plot("inconsistency", "Inconsistency of every set", caption, "tau, %", lines)
        yield Placed("inconsistency", "", plot)


def _fooling(entries: Sequence[Entry]) -> Iterator[Placed]:
    lines = [
        line
        for name, model, _, values in results_of(entries, FOOLING.name)
        for label, part in (("all", values), *(values.get("by_label") or {}).items())
        for key in ("relaxed", "strict")
        for line in _line(f"{name}, {key}", label, model, part, key)
    ]
    if lines:
        caption = (
            "Share of right answers that at least one variant turns into another (relaxed) or the opposite (strict) "
            "answer; further left is better."
        )
        title, axis = "Fooling rates by gold label", "fooled items, %"
        yield Placed("fooling", "", forest_plot("fooling", title, caption, axis, _by_heading(lines)))


def _ie(entries: Sequence[Entry]) -> Iterator[Placed]:
    for number, (title, values, _) in enumerate(ie_tables(entries)):
        if family := values.get("experiment"):
            yield from (Placed("ie", title, plot) for plot in experiment_plots(f"ie-{number}", family))
            continue
        p_values = values.get("p_values") or []
        if len(p_values) > 1:
            runs = [str(run) for run in (values.get("runs") or range(1, len(p_values) + 1))]
            rejected = [bool(value) for value in values.get("rejected", [False] * len(p_values))]
            yield Placed("ie", title, ie_runs_plot(f"ie-{number}", runs, p_values, rejected))
