"""Which plots a report has, from its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist.reporting.formatting import bounds, known
from paraconsist.reporting.page.aligned import AlignedSet
from paraconsist.reporting.page.changes import ie_tables
from paraconsist.reporting.page.entries import Entry
from paraconsist.reporting.page.tables import results_of
from paraconsist.reporting.plots import Plot
from paraconsist.reporting.plots.answers import Line, forest_plot
from paraconsist.reporting.plots.consistency import Point, accuracy_consistency_plot, bucket_accuracy_plot
from paraconsist.reporting.plots.ie import ie_runs_plot

_MOST_MODELS = 8


@dataclass(frozen=True)
class Placed:
    """A plot, the section that it stands in, and the set that it is of."""

    section: str
    set: str
    plot: Plot


def report_plots(
    entries: Sequence[Entry],
    aligned: Sequence[AlignedSet],
    changes: Mapping[tuple[str, str], Mapping[str, Any]],
) -> list[Placed]:
    """Return the plots in the order of the page.

    Parameters
    ----------
    entries : sequence of Entry
    aligned : sequence of AlignedSet
    changes : mapping of (set, model) to what `paraconsist.measures.prediction_change.prediction_change` found
    """
    numbers = {item.name: number for number, item in enumerate(aligned)}
    return [
        *_accuracy(entries),
        *_buckets(aligned),
        *_strata(entries, numbers),
        *_changes(changes, numbers),
        *_inconsistencies(entries),
        *_fooling(entries),
        *_ie(entries),
    ]


def _accuracy(entries: Sequence[Entry]) -> Iterator[Placed]:
    points = [
        Point(
            model,
            name,
            found["bucket_accuracy"],
            found["paraphrastic_consistency"],
            bounds(found.get("confidence_interval"), "bucket_accuracy"),
            bounds(found.get("confidence_interval"), "paraphrastic_consistency"),
        )
        for name, model, _, found in results_of(entries, "paraphrastic_consistency")
        if known(found.get("bucket_accuracy")) and known(found.get("paraphrastic_consistency"))
    ]
    if points:
        yield Placed("accuracy", "", accuracy_consistency_plot(points))


def _buckets(aligned: Sequence[AlignedSet]) -> Iterator[Placed]:
    for number, item in enumerate(aligned):
        if item.measure != "paraphrastic_consistency":
            continue
        values = {model: item.accuracy[model] for model in item.models[:_MOST_MODELS]}
        known_values = {model: found[~np.isnan(found)] for model, found in values.items()}
        yield Placed("buckets", item.name, bucket_accuracy_plot(f"buckets-{number}", item.name, known_values))


def _strata(entries: Sequence[Entry], numbers: Mapping[str, int]) -> Iterator[Placed]:
    for name, number in numbers.items():
        lines = []
        for entry in entries:
            strata = (entry.sets[name].results.get("strata") or {}) if name in entry.sets else {}
            for column, values in strata.items():
                for value, parts in values.items():
                    for key, shown in (("paraphrastic_consistency", ""), ("inconsistency", "")):
                        found = next((part for part in parts.values() if known(part.get(key))), None)
                        if found is not None:
                            ends = bounds(found.get("confidence_interval"), key)
                            lines.append(Line(f"{column}{shown}", value, entry.name, found[key], ends))
        if not lines:
            continue
        measures = {measure for e in entries if name in e.sets for measure in e.sets[name].results["measures"]}
        consistency = "paraphrastic_consistency" in measures
        yield Placed(
            "strata",
            name,
            forest_plot(
                f"strata-{number}",
                f"By stratum, {name}",
                "P_C of each part of the set, with its interval; further right is better. Parts with few buckets have "
                "wide intervals."
                if consistency
                else "Share of broken rules in each part of the set, with its interval; further left is better.",
                "P_C, %" if consistency else "inconsistency, %",
                _by_column(lines),
            ),
        )


def _by_column(lines: Sequence[Line]) -> list[Line]:
    """Put the models' lines of one column together."""
    columns = list(dict.fromkeys(line.heading for line in lines))
    return [line for column in columns for line in lines if line.heading == column]


def _changes(changes: Mapping[tuple[str, str], Mapping[str, Any]], numbers: Mapping[str, int]) -> Iterator[Placed]:
    for name, number in numbers.items():
        lines = []
        for (set_name, model), found in changes.items():
            if set_name != name:
                continue
            ends = found.get("confidence_interval")
            for key, label in (
                ("change_rate", "all"),
                ("change_rate_given_correct", "original right"),
                ("change_rate_given_incorrect", "original wrong"),
            ):
                if known(found.get(key)):
                    lines.append(Line("", label, model, found[key], bounds(ends, key)))
            for column, values in (found.get("by_stratum") or {}).items():
                lines += [
                    Line(column, str(value), model, part["change_rate"], bounds(part.get("confidence_interval")))
                    for value, part in values.items()
                    if known(part.get("change_rate"))
                ]
        if lines:
            yield Placed(
                "flips",
                name,
                forest_plot(
                    f"changes-{number}",
                    f"Changed answers, {name}",
                    "Share of paraphrases that get another answer than their original; further left is better.",
                    "changed answers, %",
                    _by_column(lines),
                ),
            )


def _inconsistencies(entries: Sequence[Entry]) -> Iterator[Placed]:
    measures = dict.fromkeys(m for e in entries for s in e.sets.values() for m in s.results.get("measures", {}))
    lines = [
        Line(
            measure.removesuffix("_inconsistency"),
            name.partition(":")[2] or name,
            model,
            found["inconsistency"],
            bounds(found.get("confidence_interval"), "inconsistency"),
        )
        for measure in measures
        for name, model, _, found in results_of(entries, measure)
        if known(found.get("inconsistency"))
    ]
    if lines:
        yield Placed(
            "inconsistency",
            "",
            forest_plot(
                "inconsistency",
                "Inconsistency of every set",
                "Share of broken rules (tau), with its interval; further left is better.",
                "tau, %",
                lines,
            ),
        )


def _fooling(entries: Sequence[Entry]) -> Iterator[Placed]:
    lines = []
    for name, model, _, found in results_of(entries, "fooling_rate"):
        for label, part in (("all", found), *(found.get("by_label") or {}).items()):
            for key in ("relaxed", "strict"):
                if known(part.get(key)):
                    ends = bounds(part.get("confidence_interval"), key)
                    lines.append(Line(f"{name}, {key}", str(label), model, part[key], ends))
    if lines:
        yield Placed(
            "fooling",
            "",
            forest_plot(
                "fooling",
                "Fooling rates by gold label",
                "Share of right answers that at least one variant turns into another (relaxed) or the opposite "
                "(strict) answer; further left is better.",
                "fooled items, %",
                _by_column(lines),
            ),
        )


def _ie(entries: Sequence[Entry]) -> Iterator[Placed]:
    for number, (title, found, _) in enumerate(ie_tables(entries)):
        p_values = found.get("p_values") or []
        if len(p_values) < 2:
            continue
        runs = [str(run) for run in (found.get("runs") or range(1, len(p_values) + 1))]
        rejected = [bool(value) for value in found.get("rejected", [False] * len(p_values))]
        yield Placed("ie", title, ie_runs_plot(f"ie-{number}", runs, p_values, rejected))
