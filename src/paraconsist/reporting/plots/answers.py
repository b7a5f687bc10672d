"""Pictures of answers: estimates with their intervals, and what a Space draws of each measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.measures.paired_tests import null_draws
from paraconsist.reporting.formatting import bounds, percent
from paraconsist.reporting.plots.canvas import (
    BAD,
    COLOURS,
    GOOD,
    GRID,
    INK,
    MUTED,
    Plot,
    inline_svg,
    legend,
    legend_of_models,
    mark,
    panels,
    series_colour,
    series_marker,
    short,
    told_apart,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LABELS = 8
_ROW = 0.2
_MOST_BESIDE = 3
_MOST_IN_ROW = 40
#: gradio's colours, and those of a Space's style sheet.
_VARIABLES = {
    "ink": "--body-text-color",
    "muted": "--body-text-color-subdued",
    "grid": "--border-color-primary",
    "good": "--pc-good",
    "series-0": "--pc-good",
    "bad": "--pc-bad",
    "paper": "--block-background-fill",
}


@dataclass(frozen=True)
class Line:
    """One estimate: the heading it stands under, its label, the model, a value in [-1, 1], an interval, a link."""

    heading: str
    label: str
    model: str
    value: float
    interval: tuple[float, float] | None = None
    href: str = ""
    is_filled: bool | None = None  # by default where there is an interval
    of: Mapping[str, str] = field(default_factory=dict)  # whole names, in the figure's CSV, where `label` is cut


def forest_plot(name: str, title: str, caption: str, axis: str, lines: Sequence[Line], *, zero: bool = False) -> Plot:
    """Return the plot of estimates with their intervals, with `zero` around a line at 0.

    Estimates of one heading stand together. Up to three models stand beside each other under each label, in colours and
    markers of their own; from four on each label has a small plot of its own, with a row for each model.
    """
    headings = list(dict.fromkeys(line.heading for line in lines))
    lines = sorted(lines, key=lambda line: headings.index(line.heading))
    models, labels = _models_and_labels(lines)
    described = "; ".join(_in_words(line, len(models) > 1, signed=zero) for line in lines[:40])
    rest = f"; and {len(lines) - 40} more" if len(lines) > 40 else ""
    if len(models) > _MOST_BESIDE:
        draw, height = _draw_small, 0.5 + (0.45 + _ROW * 0.85 * len(models)) * -(-len(labels) // min(3, len(labels)))
    else:
        draw, height = _draw_beside, 0.55 + _ROW * (_places(lines)[-1] + 1)
    drawn = partial(draw, lines=lines, axis=axis, zero=zero)
    return Plot(name, title, caption, f"{axis}: {described}{rest}.", drawn, height=height)


def _models_and_labels(lines: Sequence[Line]) -> tuple[list[str], list[tuple[str, str]]]:
    models = list(dict.fromkeys(line.model for line in lines))
    return models, list(dict.fromkeys((line.heading, line.label) for line in lines))


def _in_words(line: Line, several: bool, *, signed: bool) -> str:
    def number(value: float) -> str:
        return f"{percent(value, signed=signed)}{'' if signed else ' %'}"

    who = short(f"{line.heading} {line.label}") + (f", {short(line.model)}" if several else "")
    ends = "" if line.interval is None else f" ({' to '.join(map(number, line.interval))})"
    return f"{who}: {number(line.value)}{ends}"


def _places(lines: Sequence[Line]) -> tuple[dict[tuple[str, str], float], list[tuple[float, str, bool]], float]:
    """Return where each label's estimates stand, the ticks (place, label, whether a heading), the last one's place."""
    places: dict[tuple[str, str], float] = {}
    ticks: list[tuple[float, str, bool]] = []
    y, step = 0.0, max(1.0, 0.62 * len({line.model for line in lines}))
    for heading in dict.fromkeys(line.heading for line in lines):
        if heading:
            ticks.append((y, short(heading, 26), True))
            y += (step + 1.3) / 2
        labels = list(dict.fromkeys(line.label for line in lines if line.heading == heading))
        for label, name in zip(labels, told_apart(labels, _MOST_IN_ROW), strict=True):
            places[heading, label] = y
            ticks.append((y, name, False))
            y += step
        y += 0.65 - step / 2 if heading else 0.0
    return places, ticks, max(places.values()) + step / 2


def _draw_beside(axes: Axes, lines: Sequence[Line], axis: str, zero: bool) -> None:
    (models, _), (places, ticks, bottom) = _models_and_labels(lines), _places(lines)
    for line in lines:
        number = models.index(line.model)
        at = places[line.heading, line.label] + (number - (len(models) - 1) / 2) * 0.5
        _draw_line(axes, line, at, number, signed=zero, several=len(models) > 1)
    axes.set_yticks([place for place, _, _ in ticks], [label for _, label, _ in ticks])
    for tick, (_, _, is_heading) in zip(axes.get_yticklabels(), ticks, strict=True):
        tick.set_fontweight("bold" if is_heading else "normal")
    top = min(min(place for place, *_ in ticks), min(places.values()) - 0.31 * len(models)) - 0.4
    axes.set(ylim=(bottom + 0.2, top), xlabel=axis)
    _rows(axes, zero)
    if len(models) > 1:
        legend_of_models(axes, models)


def _draw_small(axes: Axes, lines: Sequence[Line], axis: str, zero: bool) -> None:
    models, labels = _models_and_labels(lines)
    n_columns, names = min(3, len(labels)), told_apart(models, 20)
    titles = ["\n".join(short(text, 54 // n_columns) for text in label if text) for label in labels]
    parts = panels(axes, titles, n_columns, label=axis, left=0.2 + 0.072 * max(map(len, names)))
    small = dict(zip(labels, parts, strict=True))
    for line in lines:
        number = models.index(line.model)
        _draw_line(small[line.heading, line.label], line, number, number, signed=zero, several=True)
    limits = [part.get_xlim() for part in parts]
    for part in parts:
        part.set_yticks(range(len(models)), names if part.yaxis.get_tick_params()["labelleft"] else [])
        part.set(ylim=(len(models) - 0.4, -0.6), xlim=(min(low for low, _ in limits), max(high for _, high in limits)))
        part.locator_params(axis="x", nbins=6 // n_columns + 2)
        _rows(part, zero)


def _draw_line(axes: Axes, line: Line, at: float, number: int, *, signed: bool, several: bool) -> None:
    colour = series_colour(number)
    if line.interval is not None:
        axes.plot([100 * end for end in line.interval], [at, at], color=colour, linewidth=1.3)
    is_filled = line.interval is not None if line.is_filled is None else line.is_filled
    fill = colour if is_filled else COLOURS["paper"]
    (point,) = axes.plot(
        [100 * line.value], [at], series_marker(number), color=colour, markersize=4.5, markerfacecolor=fill
    )
    words, (low, high) = _in_words(line, several, signed=signed), line.interval or (None, None)
    of = line.of or {"group": line.heading, "label": line.label, "model": line.model}
    mark(point, words, line.href, **of, value=line.value, low=low, high=high)


def _rows(axes: Axes, zero: bool) -> None:
    """Make each estimate a row: no lines between rows, no axis beside them, with `zero` a line at 0."""
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    if zero:
        axes.axvline(0, color=INK, linewidth=0.9)


def _picture(description: str, draw: Callable[[Axes], None], *, height: float = 3.0, grid: str = "") -> str:
    """Return a Space's picture; `grid` is the axis (x or y) that has one."""

    def draw_quietly(axes: Axes) -> None:
        axes.grid(grid == "x", axis="x")
        axes.grid(grid == "y", axis="y")
        axes.tick_params(length=0, labelcolor=MUTED)
        axes.spines[:].set_color(GRID)
        draw(axes)

    return inline_svg(Plot("figure", "", "", description, draw_quietly, height), _VARIABLES)


def transitions(table: Sequence[Mapping[str, Any]], *, must_differ: bool) -> str:
    """Which answer on the original turns into which on the changed text; what breaks the rule is marked."""
    both = ([line[key] for key in ("prediction", "perturbed_prediction")] for line in table)
    pairs = [["(unparsed)" if answer is None else short(answer, 22) for answer in answers] for answers in both]
    weights = Counter[str]()
    for answers, line in zip(pairs, table, strict=True):
        for answer in answers:
            weights[answer] += int(line["n_pairs"])
    kept = {answer for answer, _ in weights.most_common(_MOST_LABELS)}
    names = [answer for answer in weights if answer in kept] + (["others"] if len(weights) > len(kept) else [])
    n = len(names)
    place = {name: i for i, name in enumerate(names)}
    counts = np.zeros((n, n), dtype=int)
    for (first, second), line in zip(pairs, table, strict=True):
        counts[place.get(first, n - 1), place.get(second, n - 1)] += int(line["n_pairs"])

    def draw(axes: Axes) -> None:
        from matplotlib.patches import FancyBboxPatch

        box = partial(FancyBboxPatch, boxstyle="round,pad=0,rounding_size=0.06", edgecolor="none")
        for (i, j), count in np.ndenumerate(counts):
            strength = 0.06 + 0.74 * (count / counts.max()) ** 0.6 if count else 0.0
            colour = BAD if (i == j) == must_differ else GOOD
            axes.add_patch(box((j - 0.47, i - 0.45), 0.94, 0.9, facecolor=colour, alpha=strength))
            axes.text(j, i, f"{count:,}", ha="center", va="center", fontsize=10.5, color=INK if count else MUTED)
        axes.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), xlabel="answer on the changed text")
        axes.set(ylabel="on the original")
        axes.set_xticks(range(n), names)
        axes.set_yticks(range(n), names)
        axes.spines[:].set_visible(False)
        if n > 3 or max(map(len, names)) > 14:
            for label in axes.get_xticklabels():
                label.set(rotation=30, ha="right", rotation_mode="anchor")

    same, total = int(np.trace(counts)), int(counts.sum())
    description = f"Table of answers: {same} of {total} pairs have the same answer on both texts"
    return _picture(description, draw, height=1.3 + 0.42 * max(n, 2))


def rates(means: Sequence[tuple[str, float, Any]]) -> str:
    """Mean shares with their intervals, one line each: (name, share, interval)."""
    lines = [Line("", name, "", share, bounds(ends)) for name, share, ends in means]
    return inline_svg(forest_plot("figure", "", "", "mean, %", lines), _VARIABLES)


def shift_histogram(distances: NDArray[np.float64], changed: NDArray[np.bool_]) -> str:
    """How far the probabilities move, for changed and unchanged answers."""
    from matplotlib.ticker import MaxNLocator

    top = max(0.05, float(distances.max()))
    edges = np.linspace(0, top, 16)
    width = 0.9 * (edges[1] - edges[0])
    kept, turned = (np.histogram(distances[rows], bins=edges)[0] for rows in (~changed, changed))

    def draw(axes: Axes) -> None:
        axes.bar(edges[:-1], kept, width=width, align="edge", color=GOOD, label="same answer")
        axes.bar(edges[:-1], turned, width=width, align="edge", bottom=kept, color=BAD, label="another answer")
        axes.set(xlabel="Jensen-Shannon distance between the two answers' probabilities", ylabel="pairs", xlim=(0, top))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        legend(axes)

    description = f"Histogram of {len(distances)} distances, {int(changed.sum())} of them of changed answers"
    return _picture(description, draw, grid="y")


def null_distribution(differences: NDArray[np.int64], statistic: float, p_value: float) -> str:
    """Where the statistic lies among those that chance alone would give; empty where nothing changed.

    `differences` are what each item (1, 0, -1) or group of items loses by the change, of shape (n,).
    """
    if not differences.any() or not np.isfinite(statistic):
        return ""
    rng = np.random.default_rng(0)  # of the picture only: the p-value is not drawn from it
    drawn = list(null_draws(differences, 40_000, rng))
    k, squares = (np.concatenate(part) for part in zip(*drawn, strict=True))
    spread = squares - k * k / len(differences)
    t = np.divide(k, np.sqrt(np.maximum(spread, 1e-12)), out=np.zeros(len(k)), where=spread > 1e-12)
    reach = max(4.0, abs(statistic) * 1.15)
    edges = np.linspace(-reach, reach, 42)
    heights = np.histogram(np.clip(t, -reach, reach), bins=edges)[0] / len(t)
    middles, width = (edges[:-1] + edges[1:]) / 2, 0.86 * (edges[1] - edges[0])
    outside = np.abs(middles) >= abs(statistic)

    def draw(axes: Axes) -> None:
        axes.bar(middles[~outside], heights[~outside], width=width, color=GRID, label="by chance")
        axes.bar(middles[outside], heights[outside], width=width, color=BAD, label=f"as far out: p = {p_value:.3g}")
        axes.axvline(statistic, color=INK, linewidth=1.6, label=f"found: t = {statistic:.2f}")
        axes.set(xlabel="t if both versions were equally easy (right: the original is easier)")
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        legend(axes)

    return _picture(f"Distribution of t by chance; found t = {statistic:.2f}, p = {p_value:.3g}", draw)
