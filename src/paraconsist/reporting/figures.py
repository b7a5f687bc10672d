"""Which answers turn into which, and the confidence of inconsistent answers, as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

#: More lines than three labels can make; of longer tables the commonest are shown.
_MOST_LINES = 30


def figure_tables(name: str, result: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield the figures of every measure on pairs (BECEL's Figures 2 and 3).

    Parameters
    ----------
    name : str
        The set's name.
    result : mapping
        What `paraconsist.scoring.score.score` returns.
    """
    for measure, figures in result["figures"].items():
        yield _transitions(f"{name}, {measure}", figures["transitions"])
        if "confidence" in figures:
            yield _confidence(f"{name}, {measure}", figures["confidence"])


def _transitions(title: str, transitions: Sequence[Mapping[str, Any]]) -> Table:
    n_pairs = sum(line["n_pairs"] for line in transitions)
    shown, caption = list(range(len(transitions))), None
    if len(transitions) > _MOST_LINES:
        commonest = sorted(shown, key=lambda i: -int(transitions[i]["n_pairs"]))[:_MOST_LINES]
        shown, caption = sorted(commonest), f"the {_MOST_LINES} commonest of {len(transitions)}"
    table = _table(f"{title}: predictions by gold label", caption)
    for label in ("gold label", "on original", "on perturbed"):
        table.add_column(label)
    for label in ("pairs", "per cent"):
        table.add_column(label, justify="right")
    for line in (transitions[i] for i in shown):
        values = (line["label"], line["prediction"], line["perturbed_prediction"])
        table.add_row(*map(_label, values), f"{line['n_pairs']:,}", _percent(line["n_pairs"] / n_pairs))
    return table


def _confidence(title: str, confidence: Mapping[str, Mapping[str, Any]]) -> Table:
    table = _table(
        f"{title}: confidence",
        "Mean probability of the predicted label (per cent; - is undefined); unparsed answers have none.",
    )
    table.add_column("pairs")
    for label in ("n", "both sides", "on original", "on perturbed"):
        table.add_column(label, justify="right")
    for kind, part in confidence.items():
        means = (part[key] for key in ("confidence", "original_confidence", "perturbed_confidence"))
        table.add_row(kind, f"{part['n_pairs']:,}", *map(_percent, means))
    return table


def _table(title: str, caption: str | None) -> Table:
    return Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title=escape(title),
        title_justify="left",
        title_style="bold",
        caption=caption,
        caption_justify="left",
    )


def _label(value: Any) -> str:
    return "unparsed" if value is None else escape(str(value))


def _percent(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{100 * value:.1f}"
