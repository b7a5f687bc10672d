"""Comparisons of models as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

#: Key, how a reader calls it, and whether it is shown in per cent.
_ROWS: tuple[tuple[str, str, bool], ...] = (
    ("paraphrastic_consistency_unbiased", "P_C, unbiased", True),
    ("paraphrastic_consistency", "P_C, as published", True),
    ("accuracy", "A on paraphrases", True),
    ("original_accuracy", "A_O on originals", True),
    ("vap_unbiased", "VAP, unbiased", False),
    ("pvap", "PVAP", True),
)
_CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "benjamini_hochberg": "Benjamini-Hochberg",
    "none": "no correction",
}


def comparison_tables(comparisons: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield what `paraconsist compare` prints.

    Parameters
    ----------
    comparisons : sequence of mapping
        What `paraconsist.scoring.compare.SetComparison.to_dict` returns, one a set.
    """
    for one in comparisons:
        for pair in one["pairs"]:
            consistency = pair["measure"] == "paraphrastic_consistency"
            yield _consistency(one, pair) if consistency else _inconsistency(one, pair)
        if one["pareto"]:
            yield _pareto(one)
        for model, n in one["n_unparsed"].items():
            if n:
                yield Text(f"warning: {n:,} answers of {model} are unparsed", style="yellow")
        for warning in one["warnings"]:
            yield Text(f"warning: {warning}", style="yellow")
        for line in dict.fromkeys(pair["result"]["signature"] for pair in one["pairs"]):
            yield Text(line, style="dim", no_wrap=True, overflow="ignore")


def _headed(one: Mapping[str, Any], pair: Mapping[str, Any], what: str, notes: Sequence[str]) -> Table:
    title = Text(f"{_of(one)}{pair['first']} (1) and {pair['second']} (2), {what}", style="bold")
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title=title,
        title_justify="left",
        caption="\n".join(notes),
        caption_justify="left",
    )
    table.add_column("measure")
    for name in ("model 1", "model 2", "1 - 2", "interval", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _of(one: Mapping[str, Any]) -> str:
    return f"{one['set']}: " if one["set"] else ""


def _corrected(one: Mapping[str, Any], pair: Mapping[str, Any]) -> str:
    n = one["n_comparisons"]
    if n < 2:
        return ""
    how = _CORRECTIONS.get(one["correction"], one["correction"])
    return f"p of the first line, corrected for {n} comparisons ({how}): {_p(pair['corrected_p_value'])}"


def _consistency(one: Mapping[str, Any], pair: Mapping[str, Any]) -> Table:
    found = pair["result"]
    notes = [_corrected(one, pair)]
    what = f"{found['n_buckets']:,} buckets, {found['n_examples']:,} paraphrases"
    n_clusters = found["n_clusters"]["difference"]
    if n_clusters < found["n_buckets"]:
        what += f" in {n_clusters:,} groups"
    table = _headed(one, pair, what, notes)
    plugin = "|est:plugin|" in found["signature"]
    rows = (_ROWS[1], _ROWS[0], *_ROWS[2:]) if plugin else _ROWS  # the headline first: its p is the corrected one
    for key, label, percent in rows:
        if key in found["differences"]:
            table.add_row(
                label,
                _number(found["values1"][key], percent),
                _number(found["values2"][key], percent),
                _signed(found["differences"][key], percent),
                _interval(found["confidence_interval"][key], percent),
                _p(found["p_values"][key]),
            )
    return table


def _inconsistency(one: Mapping[str, Any], pair: Mapping[str, Any]) -> Table:
    found, measure = pair["result"], pair["measure"].replace("_", " ")
    notes = [_corrected(one, pair)]
    if found["n_common"] < max(found["n_own1"], found["n_own2"]):
        notes.insert(
            0,
            f"Over each model's own rows: {_number(found['own_value1'], True)} of {found['n_own1']:,} and "
            f"{_number(found['own_value2'], True)} of {found['n_own2']:,}, which are not the same rows.",
        )
    table = _headed(one, pair, f"{found['n_common']:,} of {found['n_rows']:,} rows count for both", notes)
    table.add_row(
        f"{measure} (lower is better)",
        _number(found["value1"], True),
        _number(found["value2"], True),
        _signed(found["difference"], True),
        _interval(found["confidence_interval"]["difference"], True),
        _p(found["p_value"]),
    )
    return table


def _pareto(one: Mapping[str, Any]) -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title=Text(f"{_of(one)}accuracy against consistency", style="bold"),
        title_justify="left",
    )
    table.add_column("model")
    table.add_column("A", justify="right")
    table.add_column("P_C", justify="right")
    table.add_column("place")
    for row in one["pareto"]:
        worse = row["less_consistent_than_worse"]
        place = f"worse in both than {', '.join(row['dominated_by'])}" if row["dominated_by"] else "Pareto front"
        if worse:
            place += f"; less consistent than the less accurate {', '.join(worse)}"
        table.add_row(
            escape(row["model"]), _number(row["accuracy"], True), _number(row["consistency"], True), escape(place)
        )
    return table


def _known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def _number(value: float | None, percent: bool) -> str:
    if value is None or math.isnan(value):
        return "undefined"
    return f"{100 * value:.1f} %" if percent else f"{value:.4f}"


def _signed(value: float | None, percent: bool) -> str:
    if value is None or math.isnan(value):
        return "undefined"
    return f"{100 * value:+.1f}" if percent else f"{value:+.4f}"


def _interval(bounds: Sequence[float | None], percent: bool) -> str:
    if not all(map(_known, bounds)):
        return ""
    return f"[{_signed(bounds[0], percent)}, {_signed(bounds[1], percent)}]"


def _p(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.4f}" if value >= 0.00015 else "<= 0.0001"
