"""The results of an IE experiment as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from paraconsist.reporting.formatting import decimal, number, percent
from paraconsist.reporting.tables import remarks, table


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
        yield from remarks(family["warnings"], [family["signature"]])
    if decided["hard_cases"] is not None:
        yield Text(_hard(decided["hard_cases"]))


def _family(family: Mapping[str, Any], alpha: float) -> Table:
    overall, n = family["overall"], sorted({run["n"] for run in family["runs"]})
    rows = f"{n[0]:,}" if len(n) == 1 else f"{n[0]:,} to {n[-1]:,}"
    return table(
        f"{family['name']}: {_runs(family['n_runs'])}, {rows} test rows",
        ["rho", "runs", "original", "transformed", "lost", "t", "smallest p", "corrected", "invariance", "collapsed"],
        [_line(entry) for entry in family["by_rho"]],
        words=["invariance"],
        caption=_caption(overall, alpha),
        padding=(0, 1, 0, 1),
    )


def _line(entry: Mapping[str, Any]) -> list[str]:
    rejected = f"rejected ({entry['n_rejected']} of {entry['n_runs']})"
    return [
        f"{entry['rho']:g}",
        str(entry["n_runs"]),
        percent(entry["accuracy"]),
        percent(entry["transformed_accuracy"]),
        percent(entry["accuracy_difference"], digits=2, signed=True),
        decimal(entry["statistic"], digits=2, undefined="-"),
        _p(entry["smallest_p"]),
        _p(entry["p_value"]),
        rejected if entry["reject"] else "not rejected",
        "?" if entry["n_collapsed"] is None else str(entry["n_collapsed"]),
    ]


def _caption(overall: Mapping[str, Any], alpha: float) -> str:
    decision = "rejected" if overall["reject"] else "not rejected"
    caption = (
        "Accuracies and what is lost in points, means of runs; t and p of the run with the smallest p; corrected over "
        f"the runs at each rho.\nOver {_runs(overall['n_tests'])} in all: corrected p {_p(overall['p_value'])}, "
        f"invariance {decision} at {alpha:g}."
    )
    if overall["snr"] is not None:
        snr = decimal(overall["snr"], digits=1, undefined="undefined")
        caption += f" Signal-to-noise ratio of accuracies: {snr}."
    return caption


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
    return "0" if value == 0 else number(value)
