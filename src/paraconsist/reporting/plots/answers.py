"""The pictures of the measures, from counts.

Estimates with their intervals, a line each: breakdowns by stratum, rates of several sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.reporting.plots.canvas import (
    BAD,
    COLOURS,
    GOOD,
    GRID,
    INK,
    MARKERS,
    MUTED,
    Plot,
    axes,
    axes_of,
    figure,
    series_colour,
    shown,
    to_svg,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_MOST_LABELS = 8


def bucket_histogram(shares: NDArray[np.float64], consistency: float) -> str:
    """How many buckets have which share of right answers, and the consistency that each share means."""
    drawn = axes()
    edges = np.linspace(0, 1, 11)
    counts, _ = np.histogram(shares, bins=edges)
    middles = (edges[:-1] + edges[1:]) / 2
    # buckets at the very ends are consistent
    wholly = np.zeros(len(counts))
    wholly[0], wholly[-1] = np.count_nonzero(shares == 0), np.count_nonzero(shares == 1)
    drawn.bar(middles, wholly, width=0.088, color=GOOD, label="all right or all wrong")
    drawn.bar(middles, counts - wholly, width=0.088, bottom=wholly, color=BAD, label="some right, some wrong")
    _grid(drawn, "y")
    agreeing = drawn.twinx()
    accuracies = np.linspace(0, 1, 101)
    curve = accuracies**2 + (1 - accuracies) ** 2
    agreeing.plot(accuracies, curve, color=INK, linewidth=1.3, alpha=0.75)
    agreeing.axhline(consistency, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
    agreeing.set(ylim=(0, 1.08), ylabel="consistency")
    agreeing.yaxis.label.set(color=INK, fontsize=9.5)
    agreeing.set_yticks([0, 0.5, 1], ["0%", "50%", "100%"])
    agreeing.tick_params(colors=MUTED, labelsize=9, length=0, pad=5)
    for side in agreeing.spines.values():
        side.set_visible(False)
    drawn.set(xlim=(-0.01, 1.01), xlabel="share of a bucket's paraphrases that are answered right", ylabel="buckets")
    drawn.set_xticks(np.linspace(0, 1, 6), [f"{share:.0%}" for share in np.linspace(0, 1, 6)])
    _whole(drawn.yaxis)
    _legend(drawn)
    mixed = int(np.count_nonzero((shares > 0) & (shares < 1)))
    return to_svg(
        drawn,
        f"Histogram: {mixed} of {len(shares)} buckets are answered both right and wrong; P_C is {consistency:.1%}",
    )


def transitions(table: Sequence[Mapping[str, Any]], *, must_differ: bool) -> str:
    """Which answer on the original turns into which on the changed text; what breaks the rule is marked."""
    shown = [[_name(line[key]) for key in ("prediction", "perturbed_prediction")] for line in table]
    weights: dict[str, int] = {}
    for names, line in zip(shown, table, strict=True):
        for name in names:
            weights[name] = weights.get(name, 0) + int(line["n_pairs"])
    kept = set(sorted(weights, key=lambda name: -weights[name])[:_MOST_LABELS])
    names = [name for name in weights if name in kept] + (["others"] if len(weights) > len(kept) else [])
    place = {name: i for i, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)), dtype=int)
    for (first, second), line in zip(shown, table, strict=True):
        counts[place.get(first, len(names) - 1), place.get(second, len(names) - 1)] += int(line["n_pairs"])
    n = len(names)
    drawn = axes(1.3 + 0.42 * max(n, 2))
    most = max(1, counts.max())
    for i in range(n):
        for j in range(n):
            colour = BAD if (i == j) == must_differ else GOOD
            strength = 0.06 + 0.74 * (counts[i, j] / most) ** 0.6 if counts[i, j] else 0.0
            drawn.add_patch(_cell(j, i, colour, strength))
            ink = INK if counts[i, j] else MUTED
            drawn.text(j, i, f"{counts[i, j]:,}", ha="center", va="center", fontsize=10.5, color=ink)
    drawn.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), xlabel="answer on the changed text", ylabel="on the original")
    drawn.set_xticks(range(n), names, parse_math=False)
    drawn.set_yticks(range(n), names, parse_math=False)
    for side in ("left", "bottom"):
        drawn.spines[side].set_visible(False)
    if n > 3 or max(map(len, names)) > 14:
        for label in drawn.get_xticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")
    same, total = int(np.trace(counts)), int(counts.sum())
    return to_svg(drawn, f"Table of answers: {same} of {total} pairs have the same answer on both texts")


def bars(parts: Sequence[tuple[str, Sequence[tuple[str, int, str]]]]) -> str:
    """Lines of counts that add up: name -> (what, how many, colour); equal whats share one entry of the legend."""
    drawn = axes(1.0 + 0.56 * len(parts))
    named: set[str] = set()
    for place, (name, segments) in enumerate(parts):
        left = 0
        drawn.text(0, place - 0.36, _short(name, 64), ha="left", va="bottom", fontsize=9, color=INK, parse_math=False)
        for what, count, colour in segments:
            label = what if what not in named else "_nolegend_"
            drawn.barh(place, count, left=left, color=colour, height=0.56, label=label)
            named.add(what)
            left += count
    drawn.set_yticks([])
    drawn.set(ylim=(len(parts) - 0.6, -0.75), xlabel="rows")
    _whole(drawn.xaxis)
    _grid(drawn, "x")
    _legend(drawn)
    described = "; ".join(f"{name}: " + ", ".join(f"{n} {what}" for what, n, _ in part) for name, part in parts[:6])
    return to_svg(drawn, f"Bars: {described}")


def rates(groups: Sequence[tuple[str, Sequence[tuple[str, float, Sequence[float], str]]]]) -> str:
    """Shares with their intervals, one line each: group -> (what, share, interval, colour)."""
    drawn = axes(1.1 + 0.5 * len(groups))
    named: set[str] = set()
    for place, (_, values) in enumerate(groups):
        for i, (what, share, (low, high), colour) in enumerate(values):
            y = place + (i - (len(values) - 1) / 2) * 0.26
            if np.isnan(share):
                continue
            drawn.plot([low, high], [y, y], color=colour, linewidth=2.2, alpha=0.45, solid_capstyle="round")
            label = what if what not in named else "_nolegend_"
            drawn.plot([share], [y], "o", color=colour, markersize=6.5, label=label)
            named.add(what)
    drawn.set_yticks(range(len(groups)), [_short(name) for name, _ in groups], parse_math=False)
    drawn.set(ylim=(len(groups) - 0.5, -0.5), xlim=(-0.02, 1.02))
    drawn.set_xticks(np.linspace(0, 1, 6), [f"{share:.0%}" for share in np.linspace(0, 1, 6)])
    _grid(drawn, "x")
    _legend(drawn)
    described = "; ".join(f"{name}: " + ", ".join(f"{what} {share:.1%}" for what, share, *_ in v) for name, v in groups)
    return to_svg(drawn, f"Rates: {described}")


def shift_histogram(distances: NDArray[np.float64], changed: NDArray[np.bool_]) -> str:
    """How far the probabilities move, for changed and unchanged answers."""
    drawn = axes()
    top = max(0.05, float(distances.max()))
    edges = np.linspace(0, top, 16)
    width = edges[1] - edges[0]
    kept, turned = (np.histogram(distances[rows], bins=edges)[0] for rows in (~changed, changed))
    drawn.bar(edges[:-1], kept, width=0.9 * width, align="edge", color=GOOD, label="same answer")
    drawn.bar(edges[:-1], turned, width=0.9 * width, align="edge", bottom=kept, color=BAD, label="another answer")
    drawn.set(xlabel="Jensen-Shannon distance between the two answers' probabilities", ylabel="pairs", xlim=(0, top))
    _whole(drawn.yaxis)
    _grid(drawn, "y")
    _legend(drawn)
    return to_svg(drawn, f"Histogram of {len(distances)} distances, {int(changed.sum())} of them of changed answers")


def null_distribution(n: int, n10: int, n01: int, statistic: float, p_value: float) -> str:
    """Where the statistic lies among those that chance alone would give; empty where nothing changed."""
    discordant = n10 + n01
    if discordant == 0 or not np.isfinite(statistic):
        return ""
    rng = np.random.default_rng(0)  # of the picture only: the p-value is not drawn from it
    drawn_d = rng.binomial(n, discordant / n, 40_000)
    k = 2 * rng.binomial(drawn_d, 0.5) - drawn_d
    spread = drawn_d - k * k / n
    t = np.divide(k, np.sqrt(np.maximum(spread, 1e-12)), out=np.zeros(len(k)), where=spread > 1e-12)
    reach = max(4.0, abs(statistic) * 1.15)
    edges = np.linspace(-reach, reach, 42)
    heights = np.histogram(np.clip(t, -reach, reach), bins=edges)[0] / len(t)
    middles = (edges[:-1] + edges[1:]) / 2
    outside = np.abs(middles) >= abs(statistic)
    drawn = axes()
    width = 0.86 * (edges[1] - edges[0])
    drawn.bar(middles[~outside], heights[~outside], width=width, color=GRID, label="by chance")
    drawn.bar(middles[outside], heights[outside], width=width, color=BAD, label=f"as far out: p = {p_value:.3g}")
    drawn.axvline(statistic, color=INK, linewidth=1.6, label=f"found: t = {statistic:.2f}")
    drawn.set(xlabel="t if both versions were equally easy (right: the original is easier)")
    drawn.set_yticks([])
    drawn.spines["left"].set_visible(False)
    _legend(drawn)
    return to_svg(drawn, f"Distribution of t by chance; found t = {statistic:.2f}, p = {p_value:.3g}")


def p_values(names: Sequence[Any], values: Sequence[float], threshold: float) -> str:
    """The p-value of every run beside the threshold of the corrected test."""
    order = np.argsort(values)[:40]
    drawn = axes(1.1 + 0.24 * len(order))
    floor = 1e-6
    shown = np.maximum(np.asarray(values)[order], floor)
    colours = [BAD if value <= threshold else GOOD for value in shown]
    drawn.barh(range(len(order)), -np.log10(shown), color=colours, height=0.62)
    drawn.axvline(-np.log10(threshold), color=INK, linewidth=1.4)
    drawn.set_yticks(range(len(order)), [_short(str(names[i])) for i in order], parse_math=False)
    ticks = [10.0**-i for i in range(7) if i <= -np.log10(shown.min()) + 1]
    drawn.set_xticks(-np.log10(ticks), [f"{tick:g}" for tick in ticks])
    drawn.set(ylim=(len(order) - 0.5, -0.5), xlabel=f"p of each run (line: {threshold:.3g}, the level over all runs)")
    _grid(drawn, "x")
    return to_svg(drawn, f"p-values of {len(values)} runs; the smallest is {min(values):.3g}")


def _cell(x: int, y: int, colour: str, strength: float) -> Any:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=0.06"
    fill = {"facecolor": colour, "alpha": strength} if strength else {"facecolor": "none"}
    return FancyBboxPatch((x - 0.47, y - 0.45), 0.94, 0.9, boxstyle=style, edgecolor="none", **fill)


def _name(value: Any) -> str:
    return "(unparsed)" if value is None else _short(str(value))


def _short(name: str, letters: int = 22) -> str:
    return name if len(name) <= letters else name[: letters - 1] + "…"


def _whole(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, integer=True))


def _grid(drawn: Any, axis: str) -> None:
    drawn.grid(axis=axis, color=GRID, linewidth=0.8)


def _legend(drawn: Any) -> None:
    drawn.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.01),
        ncols=3,
        frameon=False,
        fontsize=9,
        handlelength=1.0,
        handleheight=0.8,
        borderaxespad=0,
        columnspacing=1.4,
    )


_ROW, _HEADING = 0.2, 0.23
_MOST_LINES = 90


@dataclass(frozen=True)
class Line:
    """One estimate: the heading it stands under, its label, the model, a value in [0, 1], an interval."""

    heading: str
    label: str
    model: str
    value: float
    interval: tuple[float, float] | None = None


def forest_plot(
    name: str,
    title: str,
    caption: str,
    axis: str,
    lines: Sequence[Line],
    reference: float | None = None,
) -> Plot:
    """Return the plot; `reference` is a value in [0, 1] that a thin line marks. At most 90 lines are drawn."""
    lines = lines[:_MOST_LINES]
    several = len({line.model for line in lines}) > 1
    told = "; ".join(
        f"{shown(line.heading + ' ' + line.label)}{', ' + shown(line.model) if several else ''}: {_said(line)}"
        for line in lines[:40]
    )
    return Plot(name, title, caption, f"{axis}: {told}.", lambda: _draw(lines, axis, reference))


def _said(line: Line) -> str:
    value = f"{100 * line.value:.1f} %"
    return value if line.interval is None else f"{value} ({100 * line.interval[0]:.1f} to {100 * line.interval[1]:.1f})"


def _draw(lines: Sequence[Line], axis: str, reference: float | None) -> Figure:
    models = list(dict.fromkeys(line.model for line in lines))
    headings = list(dict.fromkeys(line.heading for line in lines))
    places: dict[tuple[str, str], float] = {}
    ticks: list[tuple[float, str, bool]] = []
    y = 0.0
    for heading in headings:
        if heading:
            ticks.append((y, shown(heading, 26), True))
            y += _HEADING / _ROW
        for label in dict.fromkeys(line.label for line in lines if line.heading == heading):
            places[heading, label] = y
            ticks.append((y, shown(label, 26), False))
            y += max(1.0, 0.62 * len(models))
    made = figure(0.55 + _ROW * y + (0.19 * -(-len(models) // 2) if len(models) > 1 else 0))
    axes = axes_of(made)
    axes.grid(False, axis="y")
    if reference is not None:
        axes.axvline(100 * reference, color=COLOURS["muted"], linewidth=0.8, dashes=(4, 3))
    for line in lines:
        number = models.index(line.model)
        at = places[line.heading, line.label] + (number - (len(models) - 1) / 2) * 0.5
        colour = series_colour(number)
        if line.interval is not None:
            axes.plot([100 * end for end in line.interval], [at, at], color=colour, linewidth=1.3)
        axes.plot([100 * line.value], [at], MARKERS[0], color=colour, markersize=4.5)
    axes.set_yticks([place for place, _, _ in ticks], [label for _, label, _ in ticks])
    for tick, (_, _, is_heading) in zip(axes.get_yticklabels(), ticks, strict=True):
        tick.set_fontweight("bold" if is_heading else "normal")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set(ylim=(y - 0.4, -0.7), xlabel=axis)
    if len(models) > 1:
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], marker=MARKERS[0], color=series_colour(i), label=shown(m, 34)) for i, m in enumerate(models)
        ]
        made.legend(handles=handles, loc="outside lower center", ncols=2)
    return made
