"""The plots of an IE experiment, after Figures 3 to 7 of Salvatore et al. 2023: p and accuracy against rho, and runs.

matplotlib is needed here only; without it the command says so and draws nothing.

The IE test's runs: the p-value of every run, and which of them reject equivalence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paraconsist.reporting.plots.canvas import COLOURS, Plot, axes_of, figure, series_colour, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_COLOURS = ("#1b5e9b", "#c8501e", "#2c7a4b", "#7a3e8f", "#8a6d1d", "#3c3c3c")
_GREY, _RED = "#8c8c8c", "#b00020"
#: p-values below this are drawn here.
_LEAST_P = 1e-12


def has_matplotlib() -> bool:
    """Whether plots can be drawn."""
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def write_plots(folder: Path, decided: Mapping[str, Any], *, alpha: float) -> list[Path]:
    """Draw every plot of what `decide` returned, as PNG and SVG.

    Parameters
    ----------
    folder : Path
        Made if need be.
    decided : mapping
        What `decide` returned; its families are drawn together, each in a colour.
    alpha : float
        Level, for the lines of decision.

    Returns
    -------
    list of Path
        The files, in the order of `PLOTS`.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    families = decided["families"]
    written = []
    style = {
        "svg.hashsalt": "paraconsist",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "legend.frameon": False,
    }
    with mpl.rc_context(style):
        for name, draw in PLOTS.items():
            figure = Figure(figsize=(7.2 if len(families) < 3 else 9.6, 4.2), layout="constrained")
            axes = figure.subplots()
            draw(axes, families, alpha)
            for ending, more in ((".png", {"dpi": 150}), (".svg", {"metadata": {"Date": None}})):
                file = folder / f"{name}{ending}"
                figure.savefig(file, **more)
                written.append(file)
    return written


def _smallest_p(axes: Any, families: Sequence[Mapping[str, Any]], alpha: float) -> None:
    for family, colour in zip(families, _cycle(len(families)), strict=True):
        entries = family["by_rho"]
        rho, p = [e["rho"] for e in entries], [max(e["smallest_p"], _LEAST_P) for e in entries]
        axes.plot(rho, p, color=colour, lw=1.2, zorder=2, label=family["name"])
        for rejected, fill in ((True, colour), (False, "white")):
            chosen = [i for i, e in enumerate(entries) if e["reject"] is rejected]
            axes.scatter([rho[i] for i in chosen], [p[i] for i in chosen], s=34, c=fill, edgecolors=colour, zorder=3)
    _p_axis(axes, families, alpha)
    axes.set_title(f"Smallest p of the runs at each rho (filled: rejected at {alpha:g} over them)", fontsize=10)


def _p_values(axes: Any, families: Sequence[Mapping[str, Any]], alpha: float) -> None:
    for family, colour in zip(families, _cycle(len(families)), strict=True):
        runs = family["runs"]
        p = [max(run["p_value"], _LEAST_P) for run in runs]
        axes.scatter([r["rho"] for r in runs], p, s=20, alpha=0.6, c=colour, linewidths=0, label=family["name"])
    _p_axis(axes, families, alpha)
    axes.set_title("p of every run", fontsize=10)


def _p_axis(axes: Any, families: Sequence[Mapping[str, Any]], alpha: float) -> None:
    runs = sorted({entry["n_runs"] for family in families for entry in family["by_rho"]})
    axes.axhline(alpha, color=_GREY, ls=":", lw=1)
    axes.annotate(
        f"{alpha:g}", (1.0, alpha), xycoords=("axes fraction", "data"), fontsize=8, color=_GREY, ha="left", va="center"
    )
    for m in {runs[0], runs[-1]} - {1}:
        axes.axhline(alpha / m, color=_GREY, ls="--", lw=1)
        axes.annotate(
            f"{alpha:g}/{m}",
            (1.0, alpha / m),
            xycoords=("axes fraction", "data"),
            fontsize=8,
            color=_GREY,
            ha="left",
            va="center",
        )
    axes.set_yscale("log")
    low = min(max(run["p_value"], _LEAST_P) for family in families for run in family["runs"])
    axes.set_ylim(min(low / 2, alpha / runs[-1] / 10), 1.5)
    _rho_axis(axes, f"p, two-sided{' (cut at 1e-12)' if low <= _LEAST_P else ''}", families)


def _accuracy(axes: Any, families: Sequence[Mapping[str, Any]], alpha: float) -> None:
    for family, colour in zip(families, _cycle(len(families)), strict=True):
        entries = family["by_rho"]
        rho = [entry["rho"] for entry in entries]
        label = f"{family['name']}: " if len(families) > 1 else ""
        low, high = 100 * np.array([entry["accuracy_range"] for entry in entries]).T
        if len(families) < 3:
            axes.fill_between(rho, low, high, color=colour, alpha=0.12, lw=0)
        before = [100 * entry["accuracy"] for entry in entries]
        after = [100 * entry["transformed_accuracy"] for entry in entries]
        axes.plot(rho, before, color=colour, marker="o", ms=4, label=f"{label}original")
        axes.plot(rho, after, color=colour, marker="s", ms=4, ls="--", mfc="white", label=f"{label}transformed")
    _rho_axis(axes, "accuracy, per cent", families, always=True)
    axes.set_title("Accuracy on both versions of the test set (means; band: runs on the original)", fontsize=10)


def _difference(axes: Any, families: Sequence[Mapping[str, Any]], alpha: float) -> None:
    width = 0.012 if len(families) > 1 else 0.0
    for number, (family, colour) in enumerate(zip(families, _cycle(len(families)), strict=True)):
        shift = width * (number - (len(families) - 1) / 2)
        runs = family["runs"]
        x = _spread([run["rho"] for run in runs], shift)
        y = np.array([100 * run["accuracy_difference"] for run in runs])
        ends = 100 * np.array([run["difference_interval"] for run in runs])
        reach = np.abs(ends.T - y)
        axes.errorbar(x, y, yerr=reach, fmt="o", ms=3, lw=0.7, alpha=0.7, color=colour, label=family["name"])
    axes.axhline(0, color=_GREY, lw=1)
    _rho_axis(axes, "original less transformed, points", families)
    axes.set_title("Accuracy lost by the change, every run with its interval", fontsize=10)


def _runs(axes: Any, families: Sequence[Mapping[str, Any]], alpha: float) -> None:
    for family, colour in zip(families, _cycle(len(families)), strict=True):
        runs, snr = family["runs"], family["overall"]["snr"]
        said = family["name"]
        if snr is not None and np.isfinite(snr):
            said += f", signal-to-noise {snr:.1f}"
        x, y = _spread([r["rho"] for r in runs], 0.0), 100 * np.array([r["accuracy"] for r in runs])
        axes.scatter(x, y, s=18, alpha=0.7, c=colour, linewidths=0, label=said)
        lost = [i for i, run in enumerate(runs) if run["collapsed"]]
        if lost:
            axes.scatter(x[lost], y[lost], s=60, facecolors="none", edgecolors=_RED, label="collapsed: one label")
    _rho_axis(axes, "accuracy on the originals, per cent", families, always=True)
    axes.set_title("Accuracy of every run", fontsize=10)


def _rho_axis(axes: Any, label: str, families: Sequence[Mapping[str, Any]], *, always: bool = False) -> None:
    axes.set_xlabel("rho, probability of a transformed row in training and validation")
    axes.set_ylabel(label)
    axes.set_xlim(-0.04, 1.04)
    if len(families) > 2:  # beside the axes: inside there is no room
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.06, 1.0))
    elif always or len(families) > 1:
        axes.legend(fontsize=8)


def _spread(rhos: Sequence[float], shift: float) -> np.ndarray[Any, Any]:
    """Set runs of one rho side by side, a little."""
    seen: dict[float, int] = {}
    total = {rho: rhos.count(rho) for rho in set(rhos)}
    out = []
    for rho in rhos:
        k = seen[rho] = seen.get(rho, -1) + 1
        out.append(rho + shift + 0.006 * (k - (total[rho] - 1) / 2))
    return np.array(out)


def _cycle(n: int) -> list[str]:
    return [_COLOURS[i % len(_COLOURS)] for i in range(n)]


#: File name -> what draws it.
PLOTS: Mapping[str, Callable[[Any, Sequence[Mapping[str, Any]], float], None]] = {
    "smallest_p": _smallest_p,
    "p_values": _p_values,
    "accuracy": _accuracy,
    "difference": _difference,
    "runs": _runs,
}


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
