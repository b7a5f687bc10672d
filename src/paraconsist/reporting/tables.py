"""Results as tables for a terminal."""

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
    ("accuracy", "A, accuracy on paraphrases", True),
    ("original_accuracy", "A_O, accuracy on originals", True),
    ("paraphrastic_consistency", "P_C, paraphrastic consistency (published)", True),
    ("paraphrastic_consistency_unbiased", "P_C, unbiased", True),
    ("min_paraphrastic_consistency", "least P_C that this accuracy allows", True),
    ("agreement", "agreement (same label, right or wrong)", True),
    ("vap", "VAP, variance due to paraphrasing", False),
    ("vap_unbiased", "VAP, unbiased", False),
    ("pvap", "PVAP, share of variance due to paraphrasing", True),
    ("test_accuracy", "A_T, accuracy on the full test set", True),
    ("corrected_accuracy", "A, corrected for sampling", True),
    ("corrected_paraphrastic_consistency", "P_C, corrected", True),
    ("corrected_vap", "VAP, corrected", False),
    ("corrected_pvap", "PVAP, corrected", True),
    ("covered_mass", "test mass in deciles with buckets", True),
)
_STRATUM_COLUMNS = (
    ("accuracy", "A"),
    ("paraphrastic_consistency", "P_C"),
    ("paraphrastic_consistency_unbiased", "P_C unb."),
    ("pvap", "PVAP"),
)


def result_tables(name: str, result: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield what `paraconsist score` prints for one set: headline, breakdowns, warnings.

    Parameters
    ----------
    name : str
        The set's name.
    result : mapping
        What `paraconsist.scoring.score.score` returns.
    """
    measure = result["measures"]["paraphrastic_consistency"]
    yield _headline(name, result, measure)
    if result["strata"]:
        yield _breakdown(result["strata"])
    for warning in dict.fromkeys([*result["warnings"], *measure["warnings"]]):
        yield Text(f"warning: {warning}", style="yellow")
    yield Text(str(measure["signature"]), style="dim", no_wrap=True, overflow="ignore")


def _headline(name: str, result: Mapping[str, Any], measure: Mapping[str, Any]) -> Table:
    model = f"{result['model']}, " if result["model"] else ""
    table = Table(
        box=SIMPLE_HEAD,
        title_style="bold",
        title=f"{escape(name)}: {escape(model)}{measure['n_buckets']:,} buckets, {measure['n_examples']:,} paraphrases",
        title_justify="left",
        caption=f"A constant answer would get accuracy {_number(result['majority_rate'], True)} and P_C 100.0 %.",
        caption_justify="left",
    )
    table.add_column("measure")
    table.add_column("value", justify="right")
    table.add_column("interval", justify="right")
    intervals = measure["confidence_interval"]
    two_labels = math.isclose(measure["agreement"] or 0.0, measure["paraphrastic_consistency"], abs_tol=1e-9)
    for key, label, percent in _ROWS:
        if measure.get(key) is not None and not (key == "agreement" and two_labels):
            table.add_row(label, _number(measure[key], percent), _interval(intervals.get(key), percent))
    if result["n_unparsed"]:
        table.add_row("unparsed answers", _number(result["unparsed_rate"], True), "")
    return table


def _breakdown(strata: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title="By stratum (per cent; - is undefined)",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("stratum", no_wrap=True)
    for label in ("buckets", "rows", *(label for _, label in _STRATUM_COLUMNS), "P_C interval"):
        table.add_column(label, justify="right", no_wrap=True)
    for column, values in strata.items():
        table.add_row(Text(column, style="bold"))
        for value, measures in values.items():
            measure = measures["paraphrastic_consistency"]
            table.add_row(
                escape(f"  {value}"),
                f"{measure['n_buckets']:,}",
                f"{measure['n_examples']:,}",
                *(_bare_percent(measure[key]) for key, _ in _STRATUM_COLUMNS),
                _interval(measure["confidence_interval"].get("paraphrastic_consistency"), True),
            )
        table.add_section()
    return table


def _number(value: float | None, percent: bool) -> str:
    if value is None or math.isnan(value):
        return "undefined"
    return f"{100 * value:.1f} %" if percent else f"{value:.4f}"


def _bare_percent(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{100 * value:.1f}"


def _interval(bounds: Sequence[float | None] | None, percent: bool) -> str:
    if bounds is None or any(b is None or math.isnan(b) for b in bounds):
        return ""
    low, high = (float(b) for b in bounds if b is not None)
    return f"[{100 * low:.1f}, {100 * high:.1f}]" if percent else f"[{low:.4f}, {high:.4f}]"
