"""What flips when nothing changes, beside what flips under paraphrase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

_SHARES = ("problem", "paraphrase", "decoding", "numeric")


def noise_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield a table for every set whose inputs were asked again.

    Parameters
    ----------
    results : mapping
        Set name -> its results; ``noise_floor`` is what `paraconsist.measures.noise_floor.noise_floor` returns.
    """
    for name, result in results.items():
        found = result.get("noise_floor")
        if found is None:
            continue
        table = Table(
            box=SIMPLE_HEAD,
            title=escape(f"{name}: noise floor, {found['n_repeats']} repeats (per cent)"),
            title_justify="left",
            title_style="bold",
        )
        table.add_column("measure")
        table.add_column("value", justify="right")
        table.add_column("interval", justify="right")
        for key, value, label in _rows(found):
            table.add_row(label, _shown(value), _interval(found["confidence_interval"].get(key)))
        yield table
        for warning in found["warnings"]:
            yield Text(f"warning: {warning}", style="yellow")
        yield Text(str(found["signature"]), style="dim", no_wrap=True, overflow="ignore")


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, float | None, str]]:
    for kind, value in found["flip_rate"].items():
        yield f"flip_rate/{kind}", value, f"answers that flip at no change ({kind})"
    yield "inconsistency", found["inconsistency"], "paraphrases one right, one wrong (1 - P_C, unbiased)"
    yield "excess_inconsistency", found["excess_inconsistency"], "of that, in excess of the noise"
    yield "consistency_in_excess", found["consistency_in_excess"], "P_C with the noise taken off"
    for part in _SHARES:
        if part in found["share"]:
            yield "", found["share"][part], f"share of variance: {part}"


def _shown(value: float | None) -> str:
    return "-" if value is None or value != value else f"{100 * value:.2f}"


def _interval(bounds: Any) -> str:
    if bounds is None or any(b is None or b != b for b in bounds):
        return ""
    return f"[{100 * bounds[0]:.2f}, {100 * bounds[1]:.2f}]"
