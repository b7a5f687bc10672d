"""Where answers could not be read: every measure under each policy, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from paraconsist.signatures import MEASURE_NAMES

__all__ = ["policy_tables"]

_SHORT = {name: short for short, name in MEASURE_NAMES.items()}


def policy_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield one table for all sets with an unparsed answer; nothing where there is none.

    Parameters
    ----------
    results : mapping
        Set name -> what `paraconsist.scoring.score.score` returns.
    """
    told = {name: result for name, result in results.items() if result["by_policy"]}
    if not told:
        return
    policies = list(next(iter(told.values()))["by_policy"])
    table = Table(
        box=SIMPLE_HEAD,
        title="What unparsed answers count as (per cent)",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("set (measure)")
    table.add_column("unparsed", justify="right")
    for policy in policies:
        table.add_column(policy.replace("_", " "), justify="right", no_wrap=True)
    for name, result in told.items():
        for measure in result["measures"]:
            shown = [_shown(result["by_policy"][policy][measure]) for policy in policies]
            table.add_row(
                escape(f"{name} ({_SHORT.get(measure, measure)})"), f"{100 * result['unparsed_rate']:.1f}", *shown
            )
    yield table


def _shown(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "-"
    (value,) = (value for key, value in found.items() if key != "confidence_interval")
    low, high = found["confidence_interval"]
    if value is None or value != value:
        return "-"
    interval = "" if low is None or low != low else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value:.1f}{interval}"
