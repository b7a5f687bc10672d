"""Which plots a report has, from its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from operator import itemgetter

import numpy as np

from paraconsist.measures.catalogue import CATALOGUE, CHANGE, FOOLING, PARAPHRASTIC, SENSITIVITY
from paraconsist.measures.difference_tests import rejects
from paraconsist.measures.results import parse_signature
from paraconsist.reporting.comparisons import best_of_many, correction_words, listed_pairs
from paraconsist.reporting.formatting import Values, bounds, count, known, minus, percent, plural
from paraconsist.reporting.page.aligned import AlignedSet
from paraconsist.reporting.page.models import Model, Report, ie_results
from paraconsist.reporting.plots import Plot
from paraconsist.reporting.plots.answers import Line, forest_plot
from paraconsist.reporting.plots.canvas import told_apart
from paraconsist.reporting.plots.consistency import (
    Buckets,
    Point,
    accuracy_consistency_plot,
    bucket_accuracy_plot,
    outcomes_plot,
)
from paraconsist.reporting.plots.ie import experiment_plots, ie_runs_plot
from paraconsist.reporting.plots.sureness import sureness_plot
from paraconsist.reporting.tables import (
    PARTS,
    ByModel,
    by_stratum,
    common_symbol,
    finding,
    link,
    measures_of,
    rates_of,
    results_of,
    set_names,
)
from paraconsist.scoring.compare import ModelPair, SetComparison
from paraconsist.scoring.outcomes import OUTCOME_WORDS, Outcome, compared_by

#: The filter that a link from each of `PARTS` opens; none fits all changes where the original is wrong.
_SHOWN = ("changed", "lost", "")
_POINTS = "difference, points"


@dataclass(frozen=True)
class Placed:
    """A plot with its section, its set and what it shows in a short sentence; empty where nothing can be said."""

    section: str
    set: str
    plot: Plot
    finding: str = ""


def report_plots(report: Report) -> list[Placed]:
    """Return the plots in the order of the page."""
    by_model = report.by_model
    return [
        *_outcomes(report),
        *difference_plots(report.compared, report.nouns[0]),
        *_accuracy(report),
        *_buckets(report),
        *_sureness(report),
        *(plot for number, name in enumerate(report.sets) for plot in _strata(by_model, name, number)),
        *(plot for number, name in enumerate(report.sets) for plot in _changes(report, name, number)),
        *_inconsistencies(by_model),
        *_variants(by_model),
        *_fooling(by_model),
        *_ie(report.models),
    ]


def extent(values: Sequence[tuple[str, float]], unit: str = " %") -> str:
    """Return the least and the largest of named shares, as a finding has them; empty without values.

    >>> extent([("a", 0.5), ("b", 0.721), ("c", 0.6)]), extent([("a", 0.5)])
    ('50.0 % (a) to 72.1 % (b)', '50.0 %')
    """
    ends = [pick(values, key=itemgetter(1)) for pick in (min, max)] if values else []
    texts = [f"{minus(percent(value))}{unit}" for _, value in ends]
    names = told_apart([name for name, _ in ends], 40)
    shown = [f"{text} ({name})" for text, name in zip(texts, names, strict=True)] if len(set(texts)) > 1 else texts[:1]
    return " to ".join(shown)


def _of_lines(lines: Sequence[Line]) -> str:
    """Return the extent of the estimates that have an interval, or of all where no two have."""
    have = [line for line in lines if line.interval is not None]
    chosen = have if len(have) > 1 else lines
    several = len({line.model for line in lines}) > 1
    return extent(
        [(f"{line.heading} {line.label}{f', {line.model}' if several else ''}", line.value) for line in chosen]
    )


def _after(words: str, values: str) -> str:
    """Return ``Words: values``; nothing without values."""
    return f"{words[:1].upper()}{words[1:]}: {values}" if values else ""


def _able(report: Report, item: AlignedSet) -> list[str]:
    """Return the models whose consistency on a set means anything: that of a constant answer does not."""
    return [model for model in item.models if not report.by_model[model][item.name].degenerate]


def difference_plots(compared: Sequence[SetComparison], problem: str = "problem") -> Iterator[Placed]:
    """Yield the paired differences of every set around a line at 0: all pairs, or against the best of many."""
    for number, comparison in enumerate(compared):
        name, unranked = comparison.set, comparison.ranking.unranked
        all_pairs = [pair for pair in comparison.pairs if not {pair.first, pair.second} & unranked.keys()]
        lines, best = list[Line](), best_of_many(comparison)
        measures = list(dict.fromkeys(pair.measure for pair in all_pairs))
        models = list(dict.fromkeys(model for pair in all_pairs for model in (pair.first, pair.second)))
        names = dict(zip(models, told_apart(models, 18), strict=True))
        listed = [pair for pair in listed_pairs(comparison) if not {pair.first, pair.second} & unranked.keys()]
        for spec in map(compared_by, measures):
            heading, turned = spec.title if len(measures) > 1 else "", best.get(spec.name)
            pairs = [pair for pair in listed if pair.measure == spec.name and known(pair.result["difference"])]
            lines += [_difference(heading, name, pair, names, is_turned=pair.first == turned) for pair in pairs]
        if lines:
            error = f"{1.0 - _level(all_pairs[0]):.2g}".removeprefix("0")
            what = "each model less the one that is ranked first" if best else "the first model less the second"
            over = plural(comparison.n_common_buckets, problem)
            if n := sorted(pair.result["n_common"] for pair in listed if compared_by(pair.measure).is_conditional):
                over = f"the rows that count for both ({' to '.join(map(count, dict.fromkeys([n[0], n[-1]])))})"
            caption = (
                f"{' and '.join(compared_by(measure).title for measure in measures)}: {what}, paired over {over}, "
                f"with the interval of the difference. Filled: p is at most {error}, {correction_words(comparison)}."
            )
            plot = forest_plot(f"differences-{number}", f"Differences, {name}", caption, _POINTS, lines, zero=True)
            n_differ = sum(bool(line.is_filled) for line in lines)
            chance = "more than chance" if n_differ else "not shown to be more than chance"
            said = f"More than chance: {n_differ} of {len(lines)} differences"
            if len(lines) == 1:
                pair = "{first} − {second}".format_map(lines[0].of)
                said = f"{pair}: {minus(percent(lines[0].value, signed=True))} points, {chance}"
            yield Placed("differences", name, plot, said)


def _level(pair: ModelPair) -> float:
    return float(parse_signature(pair.result["signature"]).parts.get("level", 0.95))


def _difference(heading: str, name: str, pair: ModelPair, names: Mapping[str, str], *, is_turned: bool) -> Line:
    """Return the line of a pair: the first model less the second, with `is_turned` the second less the first."""
    models = (pair.second, pair.first) if is_turned else (pair.first, pair.second)
    sign = -1 if is_turned else 1
    value = sign * pair.result["difference"]
    ends = bounds(pair.result["confidence_interval"], "difference")
    turned = None if ends is None else tuple(sorted(sign * end for end in ends))
    first_flips = (value > 0) != compared_by(pair.measure).higher_is_better
    flips, holds = models if first_flips else models[::-1]
    differ = bool(rejects(pair.corrected_p_value, _level(pair)))
    label = " − ".join(names[model] for model in models)
    of = dict(zip(("measure", "first", "second"), (pair.measure, *models), strict=True))
    return Line(heading, label, "", value, turned, link(set=name, flips=flips, holds=holds), differ, of)  # type: ignore[arg-type]


def _outcomes(report: Report) -> Iterator[Placed]:
    """Yield the bars of the first screen, which draws them itself."""
    compared = {one.set: one.ranking for one in report.compared}
    for number, item in enumerate(report.aligned):
        ranked = [] if (ranking := compared.get(item.name)) is None else list(ranking.steadiness)
        models = [*ranked, *(model for model in item.models if model not in ranked)]
        counts = {model: Counter(item.outcomes[model].tolist()) for model in models}
        every = {model: {key: of[key] for key in OUTCOME_WORDS if of[key]} for model, of in counts.items()}
        if sizes := {model: of for model, of in every.items() if of}:  # not of answers that could not be read
            nouns = item.rows[models[0]].nouns
            if len(models) == 1:
                found = finding(report.by_model[models[0]][item.name])
                said, claim = str(found), found.claim
            else:
                mixed: Outcome = "changes" if {"same", "changes"} & set().union(*sizes.values()) else "depends"
                able = [model for model in _able(report, item) if model in sizes]
                shares = [(model, sizes[model].get(mixed, 0) / sum(sizes[model].values())) for model in able]
                said, claim = "", _mixed(mixed, nouns, shares)
            plot = outcomes_plot(f"outcomes-{number}", item.name, sizes, said, nouns)
            yield Placed("outcomes", item.name, plot, claim)


def _mixed(outcome: Outcome, nouns: tuple[str, str], shares: Sequence[tuple[str, float]]) -> str:
    """Return the share of problems that have an outcome, in the words of outcomes."""
    problem, wording = nouns
    of_each = extent(shares)
    return _after(OUTCOME_WORDS[outcome].replace("wording", wording), of_each and f"{of_each} of {problem}s")


def _accuracy(report: Report) -> Iterator[Placed]:
    by_model = report.by_model
    keys = ("bucket_accuracy", PARAPHRASTIC.headline)
    points, shown = list[Point](), list[tuple[str, float]]()
    several = len(by_model) > 1, len(set_names(by_model)) > 1
    for name, model, _, values in results_of(by_model, PARAPHRASTIC.name):
        if all(known(values.get(key)) for key in keys):
            x, y = (values[key] for key in keys)
            x_ends, y_ends = (bounds(values.get("confidence_interval"), key) for key in keys)
            points.append(Point(model, name, x, y, x_ends, y_ends, link(set=name, model=model)))
            if not by_model[model][name].degenerate:
                shown.append((", ".join(compress((model, name), several)), y))
    if points:
        plot = accuracy_consistency_plot(points, report.nouns)
        yield Placed("accuracy", "", plot, _after("consistency (P_C)", extent(shown)))


def _buckets(report: Report) -> Iterator[Placed]:
    for number, item in enumerate(report.aligned):
        if item.measure == PARAPHRASTIC.name and item.read:
            models = []
            for model in item.read:
                sizes, to = item.counts[model][:, 0], partial(link, set=item.name, model=model)
                models.append(Buckets(model, item.accuracy[model][sizes > 0], sizes[sizes > 0], to))
            able = _able(report, item)
            some = [one for one in models if one.model in able and len(one.accuracies)]
            shares = [(one.model, float(np.mean((one.accuracies > 0.0) & (one.accuracies < 1.0)))) for one in some]
            said = _mixed("depends", report.nouns, shares)
            plot = bucket_accuracy_plot(f"buckets-{number}", item.name, models, report.nouns)
            yield Placed("buckets", item.name, plot, said)


def _sureness(report: Report) -> Iterator[Placed]:
    for number, (name, models) in enumerate(report.sureness.items()):
        said = models[0].sentence.partition(";")[0]
        if len(models) > 1:
            able = [one for one in models if not report.by_model[one.model][name].degenerate]
            flips = extent([(one.model, float(np.mean(one.lost | one.gained))) for one in able])
            said = f"lost or gained: {flips} of answers to rewordings" * bool(able)
        plot = sureness_plot(f"sureness-{number}", name, models)
        yield Placed("sureness", name, plot, f"{said[:1].upper()}{said[1:]}")


def _line(heading: str, label: object, model: str, values: Values, key: str, href: str) -> list[Line]:
    """Return the line of one estimate, none where it is undefined."""
    if not known(values.get(key)):
        return []
    return [Line(heading, str(label), model, values[key], bounds(values.get("confidence_interval"), key), href)]


def _strata(by_model: ByModel, name: str, number: int) -> Iterator[Placed]:
    strata = {model: sets[name].strata for model, sets in by_model.items() if name in sets}
    parts = list(by_stratum(strata))
    measures = dict.fromkeys(measure for *_, by_measure in parts for measure in by_measure if measure in CATALOGUE)
    spec = PARAPHRASTIC if PARAPHRASTIC.name in measures else next((CATALOGUE[measure] for measure in measures), None)
    if spec is None:
        return
    lines = [
        line
        for model, by_column in strata.items()
        for column, value, _, by_measure in by_stratum({model: by_column})
        for of_bucket in [column != "label" or spec is PARAPHRASTIC]  # else of some of its rows
        for href in [link(set=name, model=model, stratum={column: value}) if of_bucket else ""]
        for line in _line(column, value, model, by_measure.get(spec.name, {}), spec.headline, href)
    ]
    if lines:
        what, axis, better = f"{spec.symbol} of", f"{spec.symbol}, %", "right"
        has_ends = [line.interval is not None for line in lines]
        if not spec.higher_is_better:
            what, axis, better = "Share of broken rules in", "inconsistency, %", "left"
        caption = f"{what} each part of the set{', with its interval' * any(has_ends)}; further {better} is better."
        caption += " A hollow mark has no interval." * (any(has_ends) and not all(has_ends))
        plot = forest_plot(f"strata-{number}", f"By stratum, {name}", caption, axis, lines)
        able = [line for line in lines if not by_model[line.model][name].degenerate]
        yield Placed("strata", name, plot, _after(spec.symbol, _of_lines(able)))


def _changes(report: Report, name: str, number: int) -> Iterator[Placed]:
    lines: list[Line] = []
    for model, values in report.changed.get(name, {}).items():
        for (key, label), show in zip(PARTS.items(), _SHOWN, strict=True):
            lines += _line("", label, model, values, key, link(set=name, model=model, show=show) if show else "")
        for column, value, _, part in by_stratum({model: values.get("by_stratum") or {}}):
            href = link(set=name, model=model, show="changed", stratum={column: value})
            lines += _line(column, value, model, part, CHANGE.headline, href)
    if lines:
        caption = "Share of rewordings that get another answer than their original; further left is better."
        title, axis = f"Changed answers, {name}", "changed answers, %"
        whole = [line for line in lines if (line.heading, line.label) == ("", PARTS[CHANGE.headline])]
        changes = [(line.model, line.value) for line in whole if not report.by_model[line.model][name].degenerate]
        plot = forest_plot(f"changes-{number}", title, caption, axis, lines)
        yield Placed("flips", name, plot, _after("rewordings with another answer than their original", extent(changes)))


def _inconsistencies(by_model: ByModel) -> Iterator[Placed]:
    names = set_names(by_model)
    configs = [name.partition(":")[2] or name for name in names]
    labels = dict(zip(names, configs if len({*configs}) == len(names) else names, strict=True))
    lines, able = list[Line](), list[Line]()
    for spec in rates_of(measures_of(by_model)):
        for name, model, scored, values in results_of(by_model, spec.name):
            href = link(set=name, model=model, show="broken")
            of = {"measure": spec.name, "set": name, "model": model}
            line = [replace(one, of=of) for one in _line(spec.short, labels[name], model, values, spec.headline, href)]
            lines += line
            able += [] if scored.degenerate else line
    if lines:
        symbol = common_symbol(rates_of(measures_of(by_model)))
        caption = f"Share of broken rules ({symbol}), with its interval; further left is better."
        plot = forest_plot("inconsistency", "Inconsistency of every set", caption, f"{symbol}, %", lines)
        yield Placed("inconsistency", "", plot, _after(f"broken rules ({symbol})", _of_lines(able)))


def _variants(by_model: ByModel) -> Iterator[Placed]:
    for number, name in enumerate(dict.fromkeys(name for name, *_ in results_of(by_model, SENSITIVITY.name))):
        lines, said, gaps = list[Line](), list[str](), list[tuple[str, float]]()
        for set_name, model, _, values in results_of(by_model, SENSITIVITY.name):
            accuracies = {v: a for v, a in (values.get("variant_accuracies") or {}).items() if known(a)}
            if set_name != name or len(accuracies) < 2:
                continue
            ends, key = values["confidence_interval"], "variant_accuracies/"
            ranked = sorted(accuracies, key=accuracies.__getitem__, reverse=True)
            lines += [Line("", variant, model, accuracies[variant], bounds(ends, key + variant)) for variant in ranked]
            better = f"{ranked[0]} is {percent(values['spread'])} points better than {ranked[-1]}"
            if known(p := values.get("spread_p_value")):
                better += f"; equal variants would differ by {percent(values['spread_by_chance'])} (p {p:.2g})"
            said.append(f"{f'{model}: ' if len(by_model) > 1 else ''}{better}.")
            gaps.append((model, values["spread"]))
        if lines:
            found = said[0].removesuffix(".") if len(said) == 1 else ""
            found = found or _after("from the worst variant to the best", extent(gaps, " points"))
            caption = " ".join(["Accuracy of each variant, with its interval.", *said[len(said) == 1 :]])
            plot = forest_plot(f"variants-{number}", f"Accuracy by variant, {name}", caption, "accuracy, %", lines)
            yield Placed("variants", name, plot, found)


def _fooling(by_model: ByModel) -> Iterator[Placed]:
    lines = [
        line
        for name, model, _, values in results_of(by_model, FOOLING.name)
        for label, part in (("all", values), *(values.get("by_label") or {}).items())
        for key in ("relaxed", "strict")
        for href in [link(set=name, model=model, show="lost", label="" if part is values else str(label))]
        for line in _line(f"{name}, {key}", label, model, part, key, href)
    ]
    if lines:
        caption = (
            "Share of right answers that at least one variant turns into another (relaxed) or the opposite (strict) "
            "answer; further left is better."
        )
        title, axis = "Fooling rates by gold label", "fooled items, %"
        fooled = [line for line in lines if line.label == "all" and line.heading.endswith("relaxed")]
        said = _after("right answers that a variant turns into another", _of_lines(fooled))
        yield Placed("fooling", "", forest_plot("fooling", title, caption, axis, lines), said)


def _ie(models: Sequence[Model]) -> Iterator[Placed]:
    for number, (title, values) in enumerate(ie_results(models)):
        if family := values.get("experiment"):
            at_rho = [(f"rho {at['rho']:g}", at) for at in family["by_rho"]]
            n_rejected = sum(bool(at["reject"]) for _, at in at_rho)
            after = [(rho, at["transformed_accuracy"]) for rho, at in at_rho]
            cost = [(rho, at["accuracy"] - at["transformed_accuracy"]) for rho, at in at_rho]
            found = [
                f"Invariance is rejected at {n_rejected} of {plural(len(at_rho), 'value')} of rho",
                _after("accuracy after the change", extent(after)),
                _after("accuracy lost by the change", extent(cost, " points")),
            ]
            plots = zip(experiment_plots(f"ie-{number}", family), found, strict=True)
            yield from (Placed("ie", title, plot, said) for plot, said in plots)
            continue
        p_values = values.get("p_values") or []
        if len(p_values) > 1:
            runs = [str(run) for run in (values.get("runs") or range(1, len(p_values) + 1))]
            rejected = [bool(value) for value in values.get("rejected", [False] * len(p_values))]
            plot = ie_runs_plot(f"ie-{number}", runs, p_values, rejected)
            yield Placed("ie", title, plot, f"Invariance is rejected in {sum(rejected)} of {plural(len(runs), 'run')}")
