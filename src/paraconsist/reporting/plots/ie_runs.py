"""The IE test's runs: the p-value of every run, and which of them reject equivalence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from paraconsist.reporting.plots.canvas import Plot, axes_of, figure, series_colour, shown
from paraconsist.reporting.plots.theming import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_SMALLEST = 1e-6


def ie_runs_plot(name: str, runs: Sequence[str], p_values: Sequence[float], rejected: Sequence[bool]) -> Plot:
    """Return the p-value of every run on a logarithmic axis; p below 1e-6 is drawn at 1e-6.

    Parameters
    ----------
    name : str
        Of the plot.
    runs : sequence of str, shape (n_runs,)
    p_values : sequence of float, shape (n_runs,)
        Uncorrected, in [0, 1].
    rejected : sequence of bool, shape (n_runs,)
        The decisions, after the correction over runs.
    """
    told = "; ".join(
        f"{shown(run)}: p {p:.2g}, {'rejected' if no else 'not rejected'}"
        for run, p, no in zip(runs[:40], p_values, rejected, strict=False)
    )
    return Plot(
        name=name,
        title="Invariance under equivalence, run by run",
        caption=(
            "p-value of every run: how surprising the difference in accuracy between the original and the transformed "
            "items would be for a model that is invariant. Filled: invariance is rejected after the correction over "
            "runs."
        ),
        description=f"Dot plot. {told}.",
        draw=lambda: _draw(runs, p_values, rejected),
    )


def _draw(runs: Sequence[str], p_values: Sequence[float], rejected: Sequence[bool]) -> Figure:
    made = figure(2.6)
    axes = axes_of(made)
    for place, (p, no) in enumerate(zip(p_values, rejected, strict=True)):
        colour = series_colour(1 if no else 0)
        axes.plot(
            [place],
            [max(p, _SMALLEST)],
            "o",
            markersize=5,
            color=colour,
            markerfacecolor=colour if no else COLOURS["paper"],
        )
    step = max(1, len(runs) // 12)
    axes.set_yscale("log")
    axes.set_ylim(_SMALLEST / 2, 1.6)
    axes.set_xticks(range(0, len(runs), step), [shown(run, 10) for run in runs[::step]])
    axes.set(xlabel="run", ylabel="p-value")
    return made
