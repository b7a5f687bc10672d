"""Comparisons of models as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, Quantity
from paraconsist.reporting.formatting import decimal, interval, p_value, percent, quantity
from paraconsist.reporting.tables import direction, remarks, table

#: What two models are compared by, as far as the comparison has it.
_COMPARED = ("P_C", "P_C publ.", "A", "A_O", "VAP", "PVAP")
_BY_SYMBOL = {q.symbol: q for q in PARAPHRASTIC.quantities}
_CORRECTIONS = {"benjamini_hochberg": "Benjamini-Hochberg", "none": "no correction"}


def comparison_tables(comparisons: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
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
            note, columns = "Beaten: in one beyond chance, in the other not worse.", ["model", "A", "P_C", "place"]
            title, words = f"{_of(one)}accuracy against consistency", ["model", "place"]
            yield table(title, columns, _pareto_rows(one), words=words, caption=note)
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


def _of(one: Mapping[str, Any]) -> str:
    return f"{one['set']}: " if one["set"] else ""


def _table(
    one: Mapping[str, Any], pair: Mapping[str, Any], what: str, rows: Sequence[Sequence[str]], note: str = ""
) -> Table:
    n, correction = one["n_comparisons"], one["correction"]
    note += _margin_note(pair)
    if pair.get("simultaneous_interval"):
        p, ends = p_value(pair["simultaneous_p_value"]), interval(pair["simultaneous_interval"], percent, signed=True)
        note += f"All pairs together (max-T): interval of the first line {ends}, p {p}.\n"
    if n > 1:
        how = _CORRECTIONS.get(correction, correction.capitalize())
        p = p_value(pair["corrected_p_value"], undefined="-")
        note += f"p of the first line, corrected for {n} comparisons ({how}): {p}"
    title = f"{_of(one)}{pair['first']} (1) and {pair['second']} (2), {what}"
    return table(title, ["measure", "model 1", "model 2", "1 - 2", "interval", "p"], rows, caption=note)


def _row(label: str, share: bool, values: Sequence[Any], difference: Any, ends: Any, p: Any) -> list[str]:
    show = percent if share else decimal
    changed = [show(difference, signed=True, undefined="undefined"), interval(ends, show, signed=True)]
    return [label, *(quantity(value, share) for value in values), *changed, p_value(p, undefined="-")]


def _consistency(one: Mapping[str, Any], pair: Mapping[str, Any]) -> Table:
    result = pair["result"]
    what = f"{result['n_buckets']:,} buckets, {result['n_examples']:,} paraphrases"
    n_clusters = result["n_clusters"]["difference"]
    if n_clusters < result["n_buckets"]:
        what += f" in {n_clusters:,} groups"
    differences, ends, p_values = (result[key] for key in ("differences", "confidence_interval", "p_values"))
    lines = []
    for q in compared(result):
        values = (result["values1"][q.key], result["values2"][q.key])
        lines.append(_row(q.symbol, q.is_share, values, differences[q.key], ends[q.key], p_values[q.key]))
    return _table(one, pair, what, lines)


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
    return _table(one, pair, f"{result['n_common']:,} of {result['n_rows']:,} rows count for both", [row], note)


def _standing_rows(one: Mapping[str, Any]) -> Iterator[list[str]]:
    for row in one["standings"]:
        low, high = row["rank_low"], row["rank_high"]
        rank = str(low) if low == high else f"{low} to {high}"
        yield [CATALOGUE[row["measure"]].title.lower(), row["model"], rank, row["letters"]]


def _pareto_rows(one: Mapping[str, Any]) -> Iterator[list[str]]:
    for row in one["pareto"]:
        place = f"beaten by {', '.join(row['dominated_by'])}" if row["dominated_by"] else "not beaten"
        if row["less_consistent_than_worse"]:
            place += f"; less consistent than the less accurate {', '.join(row['less_consistent_than_worse'])}"
        if row["untested"]:
            place += f"; not tested against {', '.join(row['untested'])}"
        yield [row["model"], quantity(row["accuracy"], True), quantity(row["consistency"], True), place]
