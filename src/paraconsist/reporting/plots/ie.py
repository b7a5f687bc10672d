"""Plots of the IE test: an experiment's p and accuracy against rho (Salvatore et al. 2023), and runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from paraconsist.measures.results import parse_signature
from paraconsist.reporting.plots.canvas import (
    BAD,
    COLOURS,
    MUTED,
    Plot,
    logarithmic,
    mark,
    series_colour,
    short,
    write_plot,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: p-values below this are drawn here: of an experiment, and of runs side by side.
_LEAST_P, _SMALLEST = 1e-12, 1e-6
#: A decided family of runs, as `paraconsist.studies.ie.decision` returns it or results.json holds it.
_Family: TypeAlias = Mapping[str, Any]
_Families: TypeAlias = Sequence[_Family]


def write_plots(folder: Path, families: _Families, *, alpha: float) -> list[Path]:
    """Draw every plot of decided families as PNG, SVG and PDF, and return the files in the order of `PLOTS`.

    Families are drawn together, each in a colour, with the lines of decision at level `alpha`.
    """

    def plot(name: str) -> Plot:
        title, draw = PLOTS[name]

        def draw_titled(axes: Axes) -> None:
            axes.set_title(title.format(alpha=alpha))
            draw(axes, families, alpha)

        width = 7.2 if len(families) < 3 else 9.6
        return Plot(name, title.format(alpha=alpha), "", title.format(alpha=alpha), draw_titled, 4.2, width)

    return [file for name in PLOTS for file in write_plot(plot(name), folder)]


def experiment_plots(name: str, family: _Family) -> Iterator[Plot]:
    """Return the plots of one family against rho for a page: smallest p, both accuracies, what the change costs."""
    alpha = float(parse_signature(family["signature"]).parts["alpha"])
    by_rho = [
        f"rho {at['rho']:g}: {100 * at['accuracy']:.1f} % before, {100 * at['transformed_accuracy']:.1f} % after"
        for at in family["by_rho"]
    ]

    def plot(key: str) -> Plot:
        title, draw = PLOTS[key]
        title = title.format(alpha=alpha)
        described = f"{title}. {'; '.join(by_rho)}."
        file = f"{name}-{key.replace('_', '-')}"
        return Plot(file, title, "", described, lambda axes: draw(axes, [family], alpha), 2.8)

    return map(plot, ("smallest_p", "accuracy", "difference"))


def _coloured(families: _Families) -> Iterator[tuple[_Family, str]]:
    return ((family, series_colour(number)) for number, family in enumerate(families))


def _smallest_p(axes: Axes, families: _Families, alpha: float) -> None:
    for family, colour in _coloured(families):
        entries = family["by_rho"]
        rho, p = [e["rho"] for e in entries], [max(e["smallest_p"], _LEAST_P) for e in entries]
        axes.plot(rho, p, color=colour, lw=1.2, zorder=2, label=family["name"])
        _points(axes, family, rho, p, entries, ("smallest_p", "reject", "n_runs"), ms=5.8, color=colour, zorder=3)
    _p_axis(axes, families, alpha)


def _p_values(axes: Axes, families: _Families, alpha: float) -> None:
    for family, colour in _coloured(families):
        runs = family["runs"]
        p = [max(run["p_value"], _LEAST_P) for run in runs]
        axes.scatter([r["rho"] for r in runs], p, s=20, alpha=0.6, c=colour, linewidths=0, label=family["name"])
    _p_axis(axes, families, alpha)


def _p_axis(axes: Axes, families: _Families, alpha: float) -> None:
    runs = sorted({entry["n_runs"] for family in families for entry in family["by_rho"]})
    for m in sorted({1, runs[0], runs[-1]}):
        axes.axhline(alpha / m, color=MUTED, ls=":" if m == 1 else "--", lw=1)
        at, place = (1.0, alpha / m), ("axes fraction", "data")
        text = f"{alpha:g}/{m}" if m > 1 else f"{alpha:g}"
        axes.annotate(text, at, xycoords=place, fontsize=8, color=MUTED, va="center")
    logarithmic(axes)
    low = min(max(run["p_value"], _LEAST_P) for family in families for run in family["runs"])
    axes.set_ylim(min(low / 2, alpha / runs[-1] / 10), 1.5)
    _rho_axis(axes, f"p, two-sided{' (cut at 1e-12)' if low <= _LEAST_P else ''}", families)


def _accuracy(axes: Axes, families: _Families, alpha: float) -> None:
    for family, colour in _coloured(families):
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
        _points(axes, family, rho, before, entries, ("accuracy", "transformed_accuracy"), ms=4, color=colour)
    _rho_axis(axes, "accuracy, per cent", families, always=True)


def _difference(axes: Axes, families: _Families, alpha: float) -> None:
    width = 0.012 if len(families) > 1 else 0.0
    for number, (family, colour) in enumerate(_coloured(families)):
        runs = family["runs"]
        x = _side_by_side([run["rho"] for run in runs], width * (number - (len(families) - 1) / 2))
        y = np.array([100 * run["accuracy_difference"] for run in runs])
        reach = np.abs(100 * np.array([run["difference_interval"] for run in runs]).T - y)
        axes.errorbar(x, y, yerr=reach, fmt="none", lw=0.7, alpha=0.7, color=colour, label=family["name"])
        shown = [{**run, **dict(zip(("low", "high"), run["difference_interval"], strict=True))} for run in runs]
        _points(axes, family, x, y, shown, ("accuracy_difference", "low", "high"), ms=3, alpha=0.7, color=colour)
    axes.axhline(0, color=MUTED, lw=1)
    _rho_axis(axes, "original less transformed, points", families)


def _points(
    axes: Axes,
    of: _Family,
    x: Iterable[float],
    y: Iterable[float],
    entries: _Families,
    keys: Sequence[str],
    **look: Any,
) -> None:
    """Draw values, each a line of the figure's CSV that has the `keys` of its entry; hollow where not rejected."""
    for at, height, entry in zip(x, y, entries, strict=True):
        fill = look["color"] if "reject" not in keys or entry["reject"] else COLOURS["paper"]
        (point,) = axes.plot([at], [height], "o", mfc=fill, **look)
        shown = {"rho": entry["rho"], **{key: entry[key] for key in keys}}
        words = ", ".join(f"{key.replace('_', ' ')} {value:.3g}" for key, value in shown.items())
        mark(point, f"{short(of['name'])}: {words}", family=of["name"], **shown)


def _runs(axes: Axes, families: _Families, alpha: float) -> None:
    for family, colour in _coloured(families):
        runs, snr = family["runs"], family["overall"]["snr"]
        label = family["name"]
        if snr is not None and np.isfinite(snr):
            label += f", signal-to-noise {snr:.1f}"
        x, y = _side_by_side([r["rho"] for r in runs]), 100 * np.array([r["accuracy"] for r in runs])
        axes.scatter(x, y, s=18, alpha=0.7, c=colour, linewidths=0, label=label)
        collapsed = [i for i, run in enumerate(runs) if run["collapsed"]]
        if collapsed:
            ring = partial(axes.scatter, s=60, facecolors="none", edgecolors=BAD)
            ring(x[collapsed], y[collapsed], label="collapsed: one label")
    _rho_axis(axes, "accuracy on the originals, per cent", families, always=True)


def _rho_axis(axes: Axes, label: str, families: _Families, *, always: bool = False) -> None:
    axes.set(xlabel="rho, probability of a transformed row in training and validation", ylabel=label)
    axes.set_xlim(-0.04, 1.04)
    if len(families) > 2:  # beside the axes: inside there is no room
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.06, 1.0))
    elif always or len(families) > 1:
        axes.legend(fontsize=8)


def _side_by_side(rhos: Sequence[float], shift: float = 0.0) -> np.ndarray[Any, Any]:
    places = [rhos[:i].count(rho) - (rhos.count(rho) - 1) / 2 for i, rho in enumerate(rhos)]
    return np.array([rho + shift + 0.006 * place for rho, place in zip(rhos, places, strict=True)])


#: File name -> title, and what draws it.
PLOTS: Mapping[str, tuple[str, Callable[[Axes, _Families, float], None]]] = {
    "smallest_p": ("Smallest p of the runs at each rho (filled: rejected at {alpha:g} over them)", _smallest_p),
    "p_values": ("p of every run", _p_values),
    "accuracy": ("Accuracy on both versions of the test set (means; band: runs on the original)", _accuracy),
    "difference": ("Accuracy lost by the change, every run with its interval", _difference),
    "runs": ("Accuracy of every run", _runs),
}


def ie_runs_plot(name: str, runs: Sequence[str], p_values: Sequence[float], rejected: Sequence[bool]) -> Plot:
    """Return the uncorrected p-value of every run on a logarithmic axis; p below 1e-6 is drawn at 1e-6.

    `rejected` are the decisions after the correction over runs.
    """
    described = "; ".join(
        f"{short(run)}: p {p:.2g}, {'rejected' if no else 'not rejected'}"
        for run, p, no in zip(runs[:40], p_values, rejected, strict=False)
    )

    def draw(axes: Axes) -> None:
        for place, (p, no) in enumerate(zip(p_values, rejected, strict=True)):
            colour = series_colour(1 if no else 0)
            fill = colour if no else COLOURS["paper"]
            (point,) = axes.plot([place], [max(p, _SMALLEST)], "o", markersize=5, color=colour, markerfacecolor=fill)
            mark(point, f"{short(runs[place])}: p {p:.2g}", run=runs[place], p_value=p, rejected=no)
        step = max(1, len(runs) // 12)
        logarithmic(axes)
        axes.set_ylim(_SMALLEST / 2, 1.6)
        axes.set_xticks(range(0, len(runs), step), [short(run, 10) for run in runs[::step]])
        axes.set(xlabel="run", ylabel="p-value")

    return Plot(
        name=name,
        title="Invariance under equivalence, run by run",
        caption=(
            "p-value of every run: how surprising the difference in accuracy between the original and the transformed "
            "items would be for a model that is invariant. Filled: invariance is rejected after the correction over "
            "runs."
        ),
        description=f"Dot plot. {described}.",
        draw=draw,
        height=2.6,
    )
