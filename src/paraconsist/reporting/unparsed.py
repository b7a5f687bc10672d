"""Where answers could not be read: every measure under each policy, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from paraconsist.measures.signatures import MEASURE_NAMES

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
    table = Table(
        box=SIMPLE_HEAD,
        title="What unparsed answers count as (per cent)",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("set (measure)")
    table.add_column("unparsed", justify="right", no_wrap=True)
    table.add_column("counts as", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("interval", justify="right", no_wrap=True)
    for name, result in told.items():
        for measure in result["measures"]:
            first = (escape(f"{name} ({_SHORT.get(measure, measure)})"), f"{100 * result['unparsed_rate']:.1f}")
            for policy, found in result["by_policy"].items():
                chosen = "*" if policy == result["unparsed_policy"] else " "
                table.add_row(*first, f"{chosen} {policy.replace('_', ' ')}", *_shown(found[measure]))
                first = ("", "")
    yield table
    yield "* is what the tables above are of."


def _shown(found: Mapping[str, Any] | None) -> tuple[str, str]:
    if found is None:
        return "-", ""
    (value,) = (value for key, value in found.items() if key != "confidence_interval")
    low, high = found["confidence_interval"]
    if value is None or value != value:
        return "-", ""
    return f"{100 * value:.1f}", "" if low is None or low != low else f"[{100 * low:.1f}, {100 * high:.1f}]"
