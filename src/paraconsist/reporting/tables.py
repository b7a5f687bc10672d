"""Results and comparisons as tables for a terminal: headlines, breakdowns, rates, noise, unparsed answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from paraconsist.measures.catalogue import (
    ABOVE_CHANCE,
    CATALOGUE,
    CHANGE,
    PARAPHRASTIC,
    MeasureSpec,
    Quantity,
    scored_measures,
)
from paraconsist.reporting.formatting import count, decimal, interval, p_value, percent, plural, quantity, rank_words
from paraconsist.reporting.table import Line, Part, Table, remarks, table

#: What a breakdown by stratum shows of paraphrastic consistency.
STRATUM_QUANTITIES = [q for q in PARAPHRASTIC.quantities if q.symbol in ("A", "P_C", "P_C publ.", "PVAP")]
AGREEMENT = "agreement_unbiased"
_CHANGES = ("n_pairs", "n_changed", "correct_to_incorrect", "incorrect_to_correct")
_VARIANCES = ("problem", "paraphrase", "decoding", "numeric")
#: More lines than three labels can make; of longer tables the commonest are shown.
_MOST_LINES = 30
#: What two models are compared by, as far as the comparison has it.
_COMPARED = ("P_C", "P_C publ.", "A", "A_O", "VAP", "PVAP")
_BY_SYMBOL = {q.symbol: q for q in PARAPHRASTIC.quantities}
_CORRECTIONS = {"benjamini_hochberg": "Benjamini-Hochberg", "none": "no correction"}


def rates_of(measures: Iterable[str]) -> list[MeasureSpec]:
    """Return those of the measures that are known by one share and have no table of their own."""
    return [CATALOGUE[m] for m in measures if m in scored_measures() and m not in (PARAPHRASTIC.name, CHANGE.name)]


def direction(specs: Iterable[MeasureSpec]) -> str:
    """Return which end of the measures' headlines is good, where it is the same for all."""
    ends = {spec.higher_is_better for spec in specs}
    return "lower is better" if ends == {False} else "higher is better" if ends == {True} else "mind the direction"


def population(values: Mapping[str, Any], between: str = "/") -> str:
    """Return how many rows a share is of; of how many, where it is of some only."""
    if "n_satisfied" in values:
        return f"{count(values['n_satisfied'])}{between}{count(values['n_rows'])}"
    return count(values.get("n_pairs", values.get("n_rows", values.get("n_buckets"))))


def has_own_table(spec: MeasureSpec, values: Mapping[str, Any]) -> bool:
    """Return whether a measure's numbers stand a line each: also those of a judge's position bias."""
    return spec.has_table or "primacy" in values


def result_tables(name: str, result: Mapping[str, Any], spec: MeasureSpec) -> Iterator[Part]:
    """Yield what `paraconsist score` prints for one set by a measure with a table: numbers, breakdowns, warnings."""
    measure = result["measures"][spec.name]
    yield _headline(name, result, spec, measure)
    if result["strata"] and spec is PARAPHRASTIC:
        symbols = [*(q.symbol for q in STRATUM_QUANTITIES), f"{PARAPHRASTIC.symbol} interval"]
        columns = ["stratum", "buckets", "rows", *symbols]
        yield table("By stratum (per cent; - is undefined)", columns, _stratum_rows(result["strata"]))
    yield from remarks([*result["warnings"], *measure["warnings"]], [measure["signature"]])


def _headline(name: str, result: Mapping[str, Any], spec: MeasureSpec, measure: Mapping[str, Any]) -> Table:
    model = f"{result['model']}, " if result["model"] else ""
    intervals = measure["confidence_interval"]
    rows = []
    for q in spec.quantities:
        if q.key in measure and not (q.key == AGREEMENT and has_two_labels(measure)):
            ends = interval(intervals.get(q.key), percent if q.is_share else decimal)
            rows.append((q.label, quantity(measure[q.key], q.is_share), ends))
    if result["n_unparsed"]:
        rows.append(("unparsed answers", quantity(result["unparsed_rate"], True), ""))
    majority = quantity(result["majority_rate"], True)
    if (of_test := result.get("test_majority_rate")) is not None:
        majority += f" ({quantity(of_test, True)} on the full test set)"
    sizes = {
        "n_buckets": "bucket",
        "n_examples": "probability row" if spec.is_about_probabilities else "paraphrase",
        "n_pairs": "pair",
    }
    title = f"{name}: {model}{', '.join(plural(measure[key], noun) for key, noun in sizes.items() if key in measure)}"
    caption = f"A constant answer would get accuracy {majority} and P_C 100.0 %." if spec is PARAPHRASTIC else ""
    return table(title, ["measure", "value", "interval"], rows, caption=caption, wide=True)


def has_two_labels(measure: Mapping[str, Any]) -> bool:
    """Return whether the same answer is the same as both right or both wrong, so that one of the two says it all."""
    same, headline = measure.get(AGREEMENT), measure.get(PARAPHRASTIC.headline)
    return same is not None and headline is not None and math.isclose(same, headline, abs_tol=1e-9)


def _stratum_rows(strata: Mapping[str, Mapping[str, Any]]) -> Iterator[Sequence[str]]:
    for column, values in strata.items():
        yield [column]
        for value, measures in values.items():
            measure = measures[PARAPHRASTIC.name]
            counts = [count(measure[key]) for key in ("n_buckets", "n_examples")]
            ends = interval(measure["confidence_interval"].get(PARAPHRASTIC.headline))
            yield [f"  {value}", *counts, *(_share(measure[q.key]) for q in STRATUM_QUANTITIES), ends]
        yield ()


def _share(value: Any) -> str:
    return percent(value, undefined="-")


def figure_tables(name: str, result: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the figures of every measure on pairs (BECEL's Figures 2 and 3). Parameters as for `result_tables`."""
    for measure, figures in result["figures"].items():
        transitions = figures["transitions"]
        n_pairs = sum(line["n_pairs"] for line in transitions)
        kept, caption = list(range(len(transitions))), ""
        if len(transitions) > _MOST_LINES:
            kept = sorted(sorted(kept, key=lambda i: -int(transitions[i]["n_pairs"]))[:_MOST_LINES])
            caption = f"the {_MOST_LINES} commonest of {len(transitions)}"
        words, title = ["gold label", "on original", "on perturbed"], f"{name}, {measure}: predictions by gold label"
        rows = [_transition(transitions[i], n_pairs) for i in kept]
        yield table(title, [*words, "pairs", "per cent"], rows, words=words, caption=caption)
        if "confidence" in figures:
            keys = ("confidence", "original_confidence", "perturbed_confidence")
            parts = figures["confidence"].items()
            rows = [[kind, count(part["n_pairs"]), *(_share(part[key]) for key in keys)] for kind, part in parts]
            columns = ["pairs", "n", "both sides", "on original", "on perturbed"]
            note = "Mean probability of the predicted label (per cent; - is undefined); unparsed answers have none."
            yield table(f"{name}, {measure}: confidence", columns, rows, caption=note)


def _transition(line: Mapping[str, Any], n_pairs: int) -> list[str]:
    labels = (line[key] for key in ("label", "prediction", "perturbed_prediction"))
    names = ("unparsed" if label is None else str(label) for label in labels)
    return [*names, count(line["n_pairs"]), _share(line["n_pairs"] / n_pairs)]


def inconsistency_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[Part]:
    """Yield the layout of BECEL's Table 2: a line for each set, tau with interval, population and accuracies.

    Sets without an inconsistency are passed over.
    """
    lines = [
        (name, spec, result, result["measures"][spec.name])
        for name, result in results.items()
        for spec in rates_of(result["measures"])
        if not has_own_table(spec, result["measures"][spec.name])
    ]
    if not lines:
        return
    rows = []
    for name, spec, result, values in lines:
        ends = interval(values["confidence_interval"].get(spec.headline))
        tau, above = _share(values[spec.headline]), _share(values.get(ABOVE_CHANCE.key))
        accuracies = [_share(values.get(key)) for key in ("accuracy", "perturbed_accuracy")]
        name = name.partition(":")[2] or name
        name = name if spec.short in name else f"{name} ({spec.short})"
        rows.append([name, tau, ends, above, population(values), *accuracies, _share(result["majority_rate"])])
    yield table(
        f"Inconsistency (per cent, {direction(spec for _, spec, *_ in lines)}; - is undefined)",
        ["set", "tau", "interval", ABOVE_CHANCE.symbol, "rows", "acc.", "pert.", "maj."],
        rows,
        caption=f"{ABOVE_CHANCE.symbol}: {ABOVE_CHANCE.meaning}. rows: what the share is of. acc.: accuracy on the "
        "originals; pert.: on the perturbed side; maj.: of always giving the originals' commonest label.",
    )
    warnings = (f"{name}: {w}" for name, _, result, values in lines for w in (*result["warnings"], *values["warnings"]))
    yield from remarks(warnings, (values["signature"] for *_, values in lines))


def change_tables(name: str, result: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the share of changed predictions, whole and by stratum (PaRTE's Figures 1 to 5)."""
    values = result["measures"][CHANGE.name]
    ends = values["confidence_interval"]
    rows: list[Sequence[str]] = [["all", *_changes(values, ends.get(CHANGE.headline))]]
    for key, label in (("correct", "original right"), ("incorrect", "original wrong")):
        key = f"{CHANGE.headline}_given_{key}"
        rows.append([f"  {label}", "", "", _share(values[key]), interval(ends.get(key)), "", ""])
    for column, parts in (values.get("by_stratum") or {}).items():
        rows.append([str(column)])
        rows += [[f"  {value}", *_changes(part, part["confidence_interval"])] for value, part in parts.items()]
    title, columns = "changed predictions (share in per cent, lower is better)", ["pairs", "n", "changed", "share"]
    note = "lost: right on the original and wrong on the paraphrase; gained: the other way round."
    yield table(f"{name}: {title}", [*columns, "interval", "lost", "gained"], rows, caption=note)
    yield from remarks([*result["warnings"], *values["warnings"]], [values["signature"]])


def _changes(values: Mapping[str, Any], ends: Any) -> tuple[str, ...]:
    n, changed, lost, gained = (count(values[key]) for key in _CHANGES)
    return n, changed, _share(values[CHANGE.headline]), interval(ends), lost, gained


def noise_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[Part]:
    """Yield what flips when nothing changes, beside what flips under paraphrase, for every set that was asked again."""
    for name, result in results.items():
        if (floor := result.get("noise_floor")) is None:
            continue
        ends = floor["confidence_interval"]
        rows = [
            [label, percent(value, digits=2, undefined="-"), interval(ends.get(key), digits=2)]
            for key, value, label in _noise_rows(floor)
        ]
        title = f"{name}: noise floor, {floor['n_repeats']} repeats (per cent)"
        yield table(title, ["measure", "value", "interval"], rows, wide=True)
        yield from remarks(floor["warnings"], [floor["signature"]])


def _noise_rows(floor: Mapping[str, Any]) -> Iterator[tuple[str, float | None, str]]:
    for kind, value in floor["flip_rate"].items():
        yield f"flip_rate/{kind}", value, f"answers that flip at no change ({kind})"
    yield "inconsistency", floor["inconsistency"], "paraphrases one right, one wrong (1 - P_C, unbiased)"
    yield "excess_inconsistency", floor["excess_inconsistency"], "of that, in excess of the noise"
    yield "consistency_in_excess", floor["consistency_in_excess"], "P_C with the noise taken off"
    for part in _VARIANCES:
        if part in floor["share"]:
            yield "", floor["share"][part], f"share of variance: {part}"


def policy_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[Part]:
    """Yield one table for all sets with an unparsed answer, every measure under each policy; nothing without any."""
    rows = [row for name, result in results.items() if result["by_policy"] for row in _policy_rows(name, result)]
    if rows:
        columns, words = ["set (measure)", "unparsed", "counts as", "value", "interval"], ["set (measure)", "counts as"]
        yield table("What unparsed answers count as (per cent)", columns, rows, words=words, wide=True)
        yield Line("* is what the tables above are of.")


def _policy_rows(name: str, result: Mapping[str, Any]) -> Iterator[list[str]]:
    for measure in result["measures"]:
        first = [f"{name} ({CATALOGUE[measure].short})", percent(result["unparsed_rate"])]
        for policy, by_measure in result["by_policy"].items():
            values = dict(by_measure[measure] or {"value": None, "confidence_interval": None})
            ends = values.pop("confidence_interval")
            (value,) = values.values()
            chosen = "*" if policy == result["unparsed_policy"] else " "
            yield [*first, f"{chosen} {policy.replace('_', ' ')}", _share(value), interval(ends)]
            first = ["", ""]


def comparison_tables(comparisons: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    """Yield what `paraconsist compare` prints of `paraconsist.scoring.compare.SetComparison.to_dict`, one a set."""
    for one in comparisons:
        for pair in one["pairs"]:
            yield _consistency(one, pair) if "differences" in pair["result"] else _inconsistency(one, pair)
        if one["standings"]:
            title = f"{_of(one)}models that differ, all pairs together"
            note = "Models with a letter in common are not shown to differ."
            columns = ["measure", "model", "rank", "letters"]
            yield table(title, columns, _standing_rows(one), words=columns, caption=note)
        if one["pareto"]:
            title, columns = f"{_of(one)}accuracy against consistency", ["model", "A", "P_C", "place"]
            note = "Beaten: another model is better in one of the two beyond chance, and not worse in the other."
            yield table(title, columns, _pareto_rows(one), words=["model", "place"], caption=note)
        unparsed = [f"{n:,} answers of {model} are unparsed" for model, n in one["n_unparsed"].items() if n]
        yield from remarks([*unparsed, *one["warnings"]], [pair["result"]["signature"] for pair in one["pairs"]])


def compared(result: Mapping[str, Any]) -> list[Quantity]:
    """Return what two models were compared by, the headline first: its p is the corrected one."""
    headline = "P_C publ." if "|est:plugin|" in result["signature"] else "P_C"
    quantities = (_BY_SYMBOL[symbol] for symbol in sorted(_COMPARED, key=lambda symbol: symbol != headline))
    return [q for q in quantities if q.key in result["differences"]]


def margin_words(pair: Mapping[str, Any]) -> str:
    """Return what a pair's margin test says, as a sentence without its end; empty where there was none."""
    test = pair["result"].get("margin_test")
    if not test:
        return ""
    points = f"{percent(test['margin'])} points"
    names = {"first_not_worse": ("first", "second"), "second_not_worse": ("second", "first")}
    if test["verdict"] == "equivalent":
        return f"equivalent within {points}"
    if test["verdict"] == "undecided":
        return f"undecided: neither is shown to be not worse by more than {points}"
    one, other = (pair[key] for key in names[test["verdict"]])
    return f"{one} is not worse than {other} by more than {points}"


def _margin_note(pair: Mapping[str, Any]) -> str:
    if not (words := margin_words(pair)):
        return ""
    test = pair["result"]["margin_test"]
    p = [p_value(test[key]) for key in ("p_not_worse1", "p_not_worse2", "p_equivalent")]
    return (
        f"Margin: {words} (p of non-inferiority: model 1 {p[0]}, model 2 {p[1]}; of equivalence {p[2]}; the interval "
        f"that goes with these is {interval(test['interval'], percent, signed=True)}).\n"
    )


def correction_words(one: Mapping[str, Any]) -> str:
    """Return what the p-values of a comparison are corrected for, and how."""
    how = _CORRECTIONS.get(one["correction"], one["correction"].capitalize())
    return f"corrected for {one['n_comparisons']} comparisons ({how})"


def _of(one: Mapping[str, Any]) -> str:
    return f"{one['set']}: " if one["set"] else ""


def _paired(
    one: Mapping[str, Any], pair: Mapping[str, Any], what: str, rows: Sequence[Sequence[str]], note: str = ""
) -> Table:
    note += _margin_note(pair)
    if pair.get("simultaneous_interval"):
        p, ends = p_value(pair["simultaneous_p_value"]), interval(pair["simultaneous_interval"], percent, signed=True)
        note += f"All pairs together (max-T): interval of the first line {ends}, p {p}.\n"
    if one["n_comparisons"] > 1:
        note += f"p of the first line, {correction_words(one)}: {p_value(pair['corrected_p_value'], undefined='-')}"
    title = f"{_of(one)}{pair['first']} (1) and {pair['second']} (2), {what}"
    return table(title, ["measure", "model 1", "model 2", "1 - 2", "interval", "p"], rows, caption=note)


def _row(label: str, share: bool, values: Sequence[Any], difference: Any, ends: Any, p: Any) -> list[str]:
    show = percent if share else decimal
    changed = [show(difference, signed=True, undefined="undefined"), interval(ends, show, signed=True)]
    return [label, *(quantity(value, share) for value in values), *changed, p_value(p, undefined="-")]


def _consistency(one: Mapping[str, Any], pair: Mapping[str, Any]) -> Table:
    result = pair["result"]
    what = f"{plural(result['n_buckets'], 'bucket')}, {plural(result['n_examples'], 'paraphrase')}"
    n_clusters = result["n_clusters"]["difference"]
    if n_clusters < result["n_buckets"]:
        what += f" in {plural(n_clusters, 'group')}"
    differences, ends, p_values = (result[key] for key in ("differences", "confidence_interval", "p_values"))
    lines = []
    for q in compared(result):
        values = (result["values1"][q.key], result["values2"][q.key])
        lines.append(_row(q.symbol, q.is_share, values, differences[q.key], ends[q.key], p_values[q.key]))
    return _paired(one, pair, what, lines)


def _inconsistency(one: Mapping[str, Any], pair: Mapping[str, Any]) -> Table:
    result, note = pair["result"], ""
    if result["n_common"] < max(result["n_own1"], result["n_own2"]):
        note = (
            f"Over each model's own rows: {quantity(result['own_value1'], True)} of {result['n_own1']:,} and "
            f"{quantity(result['own_value2'], True)} of {result['n_own2']:,}, which are not the same rows.\n"
        )
    spec = CATALOGUE[pair["measure"]]
    ends = result["confidence_interval"]["difference"]
    label = f"{spec.title.lower()} ({direction([spec])})"
    row = _row(label, True, (result["value1"], result["value2"]), result["difference"], ends, result["p_value"])
    return _paired(one, pair, f"{result['n_common']:,} of {result['n_rows']:,} rows count for both", [row], note)


def _standing_rows(one: Mapping[str, Any]) -> Iterator[list[str]]:
    for row in one["standings"]:
        yield [CATALOGUE[row["measure"]].title.lower(), row["model"], rank_words(row), row["letters"]]


def _pareto_rows(one: Mapping[str, Any]) -> Iterator[list[str]]:
    for row in one["pareto"]:
        place = f"beaten by {', '.join(row['dominated_by'])}" if row["dominated_by"] else "not beaten"
        if row["less_consistent_than_worse"]:
            place += f"; less consistent than the less accurate {', '.join(row['less_consistent_than_worse'])}"
        if row["untested"]:
            place += f"; not tested against {', '.join(row['untested'])}"
        yield [row["model"], quantity(row["accuracy"], True), quantity(row["consistency"], True), place]
