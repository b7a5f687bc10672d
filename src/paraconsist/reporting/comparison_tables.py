"""Comparisons of models as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from paraconsist.reporting.formatting import decimal, interval, p_value, percent, quantity
from paraconsist.reporting.tables import remarks, table

#: Key, how a reader calls it, and whether it is shown in per cent.
_ROWS: tuple[tuple[str, str, bool], ...] = (
    ("paraphrastic_consistency_unbiased", "P_C, unbiased", True),
    ("paraphrastic_consistency", "P_C, as published", True),
    ("accuracy", "A on paraphrases", True),
    ("original_accuracy", "A_O on originals", True),
    ("vap_unbiased", "VAP, unbiased", False),
    ("pvap", "PVAP", True),
)
_CORRECTIONS = {"benjamini_hochberg": "Benjamini-Hochberg", "none": "no correction"}


def comparison_tables(comparisons: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield what `paraconsist compare` prints.

    Parameters
    ----------
    comparisons : sequence of mapping
        What `paraconsist.scoring.compare.SetComparison.to_dict` returns, one a set.
    """
    for one in comparisons:
        for pair in one["pairs"]:
            yield _consistency(one, pair) if "differences" in pair["result"] else _inconsistency(one, pair)
        if one["pareto"]:
            title = f"{_of(one)}accuracy against consistency"
            yield table(title, ["model", "A", "P_C", "place"], _pareto_rows(one), words=["model", "place"])
        unparsed = [f"{n:,} answers of {model} are unparsed" for model, n in one["n_unparsed"].items() if n]
        yield from remarks([*unparsed, *one["warnings"]], [pair["result"]["signature"] for pair in one["pairs"]])


def _of(one: Mapping[str, Any]) -> str:
    return f"{one['set']}: " if one["set"] else ""


def _table(
    one: Mapping[str, Any], pair: Mapping[str, Any], what: str, rows: Sequence[Sequence[str]], note: str = ""
) -> Table:
    n, correction = one["n_comparisons"], one["correction"]
    if n > 1:
        how = _CORRECTIONS.get(correction, correction.capitalize())
        p = p_value(pair["corrected_p_value"], undefined="-")
        note += f"p of the first line, corrected for {n} comparisons ({how}): {p}"
    title = f"{_of(one)}{pair['first']} (1) and {pair['second']} (2), {what}"
    return table(title, ["measure", "model 1", "model 2", "1 - 2", "interval", "p"], rows, caption=note)


def _row(label: str, share: bool, values: Sequence[Any], difference: Any, ends: Any, p: Any) -> list[str]:
    show = percent if share else decimal
    return [
        label,
        *(quantity(value, share) for value in values),
        show(difference, signed=True, undefined="undefined"),
        interval(ends, show, signed=True),
        p_value(p, undefined="-"),
    ]


def _consistency(one: Mapping[str, Any], pair: Mapping[str, Any]) -> Table:
    result = pair["result"]
    what = f"{result['n_buckets']:,} buckets, {result['n_examples']:,} paraphrases"
    n_clusters = result["n_clusters"]["difference"]
    if n_clusters < result["n_buckets"]:
        what += f" in {n_clusters:,} groups"
    plugin = "|est:plugin|" in result["signature"]
    rows = (_ROWS[1], _ROWS[0], *_ROWS[2:]) if plugin else _ROWS  # the headline first: its p is the corrected one
    differences, ends, p_values = (result[key] for key in ("differences", "confidence_interval", "p_values"))
    lines = [
        _row(
            label,
            share,
            (result["values1"][key], result["values2"][key]),
            differences[key],
            ends[key],
            p_values[key],
        )
        for key, label, share in rows
        if key in differences
    ]
    return _table(one, pair, what, lines)


def _inconsistency(one: Mapping[str, Any], pair: Mapping[str, Any]) -> Table:
    result, note = pair["result"], ""
    if result["n_common"] < max(result["n_own1"], result["n_own2"]):
        note = (
            f"Over each model's own rows: {quantity(result['own_value1'], True)} of {result['n_own1']:,} and "
            f"{quantity(result['own_value2'], True)} of {result['n_own2']:,}, which are not the same rows.\n"
        )
    row = _row(
        f"{pair['measure'].replace('_', ' ')} (lower is better)",
        True,
        (result["value1"], result["value2"]),
        result["difference"],
        result["confidence_interval"]["difference"],
        result["p_value"],
    )
    return _table(one, pair, f"{result['n_common']:,} of {result['n_rows']:,} rows count for both", [row], note)


def _pareto_rows(one: Mapping[str, Any]) -> Iterator[list[str]]:
    for row in one["pareto"]:
        place = f"worse in both than {', '.join(row['dominated_by'])}" if row["dominated_by"] else "Pareto front"
        if row["less_consistent_than_worse"]:
            place += f"; less consistent than the less accurate {', '.join(row['less_consistent_than_worse'])}"
        yield [row["model"], quantity(row["accuracy"], True), quantity(row["consistency"], True), place]
