"""The results of an IE experiment as a table for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text


def decision_tables(decided: Mapping[str, Any], *, alpha: float) -> Iterator[RenderableType]:
    """Yield what `paraconsist ie-test` prints: a table for each family, then hard cases.

    Parameters
    ----------
    decided : mapping
        What `decide` returned.
    alpha : float
    """
    for family in decided["families"]:
        yield _family(family, alpha)
        for warning in family["warnings"]:
            yield Text(f"warning: {warning}", style="yellow")
        yield Text(str(family["signature"]), style="dim", no_wrap=True, overflow="ignore")
    if decided["hard_cases"] is not None:
        yield Text(_hard(decided["hard_cases"]))


def _family(family: Mapping[str, Any], alpha: float) -> Table:
    overall, n = family["overall"], sorted({run["n"] for run in family["runs"]})
    rows = f"{n[0]:,}" if len(n) == 1 else f"{n[0]:,} to {n[-1]:,}"
    table = Table(
        box=SIMPLE_HEAD,
        title=f"{escape(family['name'])}: {_runs(family['n_runs'])}, {rows} test rows",
        title_justify="left",
        title_style="bold",
        caption=_caption(overall, alpha),
        caption_justify="left",
    )
    for label in ("rho", "runs", "original", "transformed", "lost", "t", "smallest p", "corrected", "invariance"):
        table.add_column(label, justify="right" if label != "invariance" else "left")
    table.add_column("collapsed", justify="right")
    for entry in family["by_rho"]:
        table.add_row(
            f"{entry['rho']:g}",
            str(entry["n_runs"]),
            f"{100 * entry['accuracy']:.1f}",
            f"{100 * entry['transformed_accuracy']:.1f}",
            f"{100 * entry['accuracy_difference']:+.2f}",
            "-" if math.isnan(entry["statistic"]) else f"{entry['statistic']:.2f}",
            _p(entry["smallest_p"]),
            _p(entry["p_value"]),
            f"rejected ({entry['n_rejected']} of {entry['n_runs']})" if entry["reject"] else "not rejected",
            "?" if entry["n_collapsed"] is None else str(entry["n_collapsed"]),
        )
    return table


def _caption(overall: Mapping[str, Any], alpha: float) -> str:
    decision = "rejected" if overall["reject"] else "not rejected"
    said = (
        "Accuracies and what is lost in points, means of runs; t and p of the run with the smallest p; corrected over "
        f"the runs at each rho.\nOver {_runs(overall['n_tests'])} in all: corrected p {_p(overall['p_value'])}, "
        f"invariance {decision} at {alpha:g}."
    )
    if overall["snr"] is not None:
        snr = "undefined" if math.isnan(overall["snr"]) else f"{overall['snr']:.1f}"
        said += f" Signal-to-noise ratio of accuracies: {snr}."
    return said


def _hard(hard: Mapping[str, Any]) -> str:
    models = "" if hard["n_families"] == 1 else f" by all {hard['n_families']} models"
    parts = [
        f"{len(hard[scope]['some_rho']):,} at some rho and {len(hard[scope]['every_rho']):,} at every rho in {name}"
        for scope, name in (("first_run", "the first run"), ("all_runs", "all runs"))
    ]
    return (
        f"Hard cases, of {hard['n_rows']:,} rows right before and wrong after the change{models}: {'; '.join(parts)}."
    )


def _runs(n: int) -> str:
    return f"{n} run" if n == 1 else f"{n} runs"


def _p(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:.1e}" if value < 1e-4 else f"{value:.4f}"
