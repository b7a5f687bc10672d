"""Inconsistencies and prediction changes as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

_CONDITIONAL = ("transitive_inconsistency", "additive_inconsistency")


def _percent(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{100 * value:.1f}"


def _interval(bounds: Any) -> str:
    if bounds is None or any(b is None or math.isnan(b) for b in bounds):
        return ""
    return f"[{100 * bounds[0]:.1f}, {100 * bounds[1]:.1f}]"


def inconsistency_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield the layout of BECEL's Table 2: a line for each set, tau with interval, population and accuracies.

    Parameters
    ----------
    results : mapping
        Set name -> what `paraconsist.scoring.score.score` returns; sets without an inconsistency are passed over.
    """
    lines = [
        (name, measure, result, found)
        for name, result in results.items()
        for measure, found in result["measures"].items()
        if "inconsistency" in found
    ]
    if not lines:
        return
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title="Inconsistency (per cent, lower is better; - is undefined)",
        title_justify="left",
        title_style="bold",
        caption="rows: what the share is of. acc.: accuracy on the originals; pert.: on the perturbed side; "
        "maj.: of always giving the originals' commonest label.",
        caption_justify="left",
    )
    for label in ("set", "tau", "interval", "rows", "acc.", "pert.", "maj."):
        table.add_column(label, justify="left" if label == "set" else "right", no_wrap=True)
    for name, measure, result, found in lines:
        table.add_row(
            escape(_label(name, measure)),
            _percent(found["inconsistency"]),
            _interval(found["confidence_interval"].get("inconsistency")),
            f"{found['n_satisfied']:,}/{found['n_rows']:,}" if measure in _CONDITIONAL else f"{found['n_pairs']:,}",
            _percent(found.get("accuracy")),
            _percent(found.get("perturbed_accuracy")),
            _percent(result["majority_rate"]),
        )
    yield table
    for name, _, result, found in lines:
        for warning in dict.fromkeys([*result["warnings"], *found["warnings"]]):
            yield Text(f"warning: {name}: {warning}", style="yellow")
    for signature in dict.fromkeys(str(found["signature"]) for *_, found in lines):
        yield Text(signature, style="dim", no_wrap=True, overflow="ignore")


def _label(name: str, measure: str) -> str:
    """Return the set's name, and the measure's where the name does not say it."""
    short, kind = name.partition(":")[2] or name, measure.removesuffix("_inconsistency")
    return short if kind in short else f"{short} ({kind})"


def change_tables(name: str, result: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield the share of changed predictions, whole and by stratum (PaRTE's Figures 1 to 5)."""
    found = result["measures"]["prediction_change"]
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title=f"{escape(name)}: changed predictions (share in per cent, lower is better)",
        title_justify="left",
        title_style="bold",
        caption="lost: right on the original and wrong on the paraphrase; gained: the other way round.",
        caption_justify="left",
    )
    for label in ("pairs", "n", "changed", "share", "interval", "lost", "gained"):
        table.add_column(label, justify="left" if label == "pairs" else "right", no_wrap=True)
    bounds = found["confidence_interval"]
    table.add_row("all", *_changes(found, bounds.get("change_rate")))
    for key, label in (
        ("change_rate_given_correct", "original right"),
        ("change_rate_given_incorrect", "original wrong"),
    ):
        table.add_row(f"  {label}", "", "", _percent(found[key]), _interval(bounds.get(key)), "", "")
    for column, values in (found.get("by_stratum") or {}).items():
        table.add_row(Text(str(column), style="bold"))
        for value, part in values.items():
            table.add_row(escape(f"  {value}"), *_changes(part, _first(part["confidence_interval"])))
    yield table
    for warning in dict.fromkeys([*result["warnings"], *found["warnings"]]):
        yield Text(f"warning: {warning}", style="yellow")
    yield Text(str(found["signature"]), style="dim", no_wrap=True, overflow="ignore")


def _first(interval: Any) -> Any:
    return next(iter(interval.values())) if isinstance(interval, Mapping) else interval


def _changes(found: Mapping[str, Any], bounds: Any) -> tuple[str, ...]:
    return (
        f"{found['n_pairs']:,}",
        f"{found['n_changed']:,}",
        _percent(found["change_rate"]),
        _interval(bounds),
        f"{found['correct_to_incorrect']:,}",
        f"{found['incorrect_to_correct']:,}",
    )
