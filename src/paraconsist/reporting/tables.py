"""Results as tables for a terminal: headlines, breakdowns, inconsistencies, changes, noise, unparsed answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from paraconsist.measures.catalogue import ABOVE_CHANCE, CATALOGUE, CHANGE, PARAPHRASTIC, MeasureSpec, scored_measures
from paraconsist.reporting.formatting import count, decimal, interval, known, percent, quantity

#: What a breakdown by stratum shows of paraphrastic consistency.
STRATUM_QUANTITIES = [q for q in PARAPHRASTIC.quantities if q.symbol in ("A", "P_C", "P_C publ.", "PVAP")]
AGREEMENT = "agreement_unbiased"
_CHANGES = ("n_pairs", "n_changed", "correct_to_incorrect", "incorrect_to_correct")
_VARIANCES = ("problem", "paraphrase", "decoding", "numeric")
#: More lines than three labels can make; of longer tables the commonest are shown.
_MOST_LINES = 30
_WIDE = (0, 1, 0, 1)


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str] | None],
    *,
    words: Sequence[str] = (),
    caption: str = "",
    padding: tuple[int, int, int, int] = (0, 1, 0, 0),
) -> Table:
    """Return a table of plain text, whatever signs of markup the text holds.

    A row of one cell is a heading, None is a gap. The columns in `words`, by default the first one, stand to the left,
    numbers to the right. `padding` is of every cell: above, right, below, left.
    """
    made = Table(
        box=SIMPLE_HEAD,
        padding=padding,
        title=Text(title, style="bold"),
        title_justify="left",
        caption=Text(caption, style="table.caption") if caption else None,
        caption_justify="left",
    )
    for label in columns:
        is_word = label in (words or columns[:1])
        made.add_column(Text(label), justify="left" if is_word else "right", no_wrap=not is_word)
    for row in rows:
        if row is None:
            made.add_section()
        else:
            made.add_row(*(Text(cell, style="bold" if len(row) == 1 else "") for cell in row))
    return made


def remarks(warnings: Iterable[Any], signatures: Iterable[Any]) -> Iterator[Text]:
    """Yield what stands below tables: each warning and each signature once, as a line."""
    for warning in dict.fromkeys(warnings):
        yield Text(f"warning: {warning}", style="yellow")
    for signature in dict.fromkeys(signatures):
        yield Text(str(signature), style="dim", no_wrap=True, overflow="ignore")


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
    return count(values.get("n_pairs", values.get("n_rows")))


def result_tables(name: str, result: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield what `paraconsist score` prints for the result of one set: headline, breakdowns, warnings."""
    measure = result["measures"][PARAPHRASTIC.name]
    yield _headline(name, result, measure)
    if result["strata"]:
        symbols = [*(q.symbol for q in STRATUM_QUANTITIES), f"{PARAPHRASTIC.symbol} interval"]
        columns = ["stratum", "buckets", "rows", *symbols]
        yield table("By stratum (per cent; - is undefined)", columns, _stratum_rows(result["strata"]))
    yield from remarks([*result["warnings"], *measure["warnings"]], [measure["signature"]])


def _headline(name: str, result: Mapping[str, Any], measure: Mapping[str, Any]) -> Table:
    model = f"{result['model']}, " if result["model"] else ""
    intervals = measure["confidence_interval"]
    rows = []
    for q in PARAPHRASTIC.quantities:
        if q.key in measure and not (q.key == AGREEMENT and has_two_labels(measure)):
            ends = interval(intervals.get(q.key), percent if q.is_share else decimal)
            rows.append((q.label, quantity(measure[q.key], q.is_share), ends))
    if result["n_unparsed"]:
        rows.append(("unparsed answers", quantity(result["unparsed_rate"], True), ""))
    majority = quantity(result["majority_rate"], True)
    if (of_test := result.get("test_majority_rate")) is not None:
        majority += f" ({quantity(of_test, True)} on the full test set)"
    title = f"{name}: {model}{measure['n_buckets']:,} buckets, {measure['n_examples']:,} paraphrases"
    caption = f"A constant answer would get accuracy {majority} and P_C 100.0 %."
    return table(title, ["measure", "value", "interval"], rows, caption=caption, padding=_WIDE)


def has_two_labels(measure: Mapping[str, Any]) -> bool:
    """Return whether the same answer is the same as both right or both wrong, so that one of the two says it all."""
    both = (measure.get(AGREEMENT), measure.get(PARAPHRASTIC.headline))
    return all(map(known, both)) and math.isclose(*both, abs_tol=1e-9)  # type: ignore[arg-type]


def _stratum_rows(strata: Mapping[str, Mapping[str, Any]]) -> Iterator[Sequence[str] | None]:
    for column, values in strata.items():
        yield [column]
        for value, measures in values.items():
            measure = measures[PARAPHRASTIC.name]
            counts = [count(measure[key]) for key in ("n_buckets", "n_examples")]
            ends = interval(measure["confidence_interval"].get(PARAPHRASTIC.headline))
            yield [f"  {value}", *counts, *(_share(measure[q.key]) for q in STRATUM_QUANTITIES), ends]
        yield None


def _share(value: Any) -> str:
    return percent(value, undefined="-")


def figure_tables(name: str, result: Mapping[str, Any]) -> Iterator[RenderableType]:
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


def inconsistency_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield the layout of BECEL's Table 2: a line for each set, tau with interval, population and accuracies.

    Sets without an inconsistency are passed over.
    """
    lines = [
        (name, spec, result, result["measures"][spec.name])
        for name, result in results.items()
        for spec in rates_of(result["measures"])
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


def change_tables(name: str, result: Mapping[str, Any]) -> Iterator[RenderableType]:
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


def noise_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[RenderableType]:
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
        yield table(title, ["measure", "value", "interval"], rows, padding=_WIDE)
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


def policy_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield one table for all sets with an unparsed answer, every measure under each policy; nothing without any."""
    rows = [row for name, result in results.items() if result["by_policy"] for row in _policy_rows(name, result)]
    if rows:
        columns, words = ["set (measure)", "unparsed", "counts as", "value", "interval"], ["set (measure)", "counts as"]
        yield table("What unparsed answers count as (per cent)", columns, rows, words=words, padding=_WIDE)
        yield "* is what the tables above are of."


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
