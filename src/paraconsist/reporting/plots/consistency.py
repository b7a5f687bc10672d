"""How consistent models are: P_C against accuracy, with PVAP's curves, and how right each bucket is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.reporting.formatting import percent
from paraconsist.reporting.plots.canvas import (
    COLOURS,
    Plot,
    legend,
    legend_entry,
    legend_height,
    legend_of_models,
    mark,
    panels,
    series_colour,
    series_marker,
    short,
    told_apart,
)
from paraconsist.scoring.outcomes import OUTCOME_WORDS, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHARES = (0.25, 0.5, 0.75)
_MOST_IN_LEGEND = 6
_LABEL = 0.165  # inches from one label beside the axes to the next
_EDGES = (0.2, 0.4, 0.6, 0.8)
_LABELS = ("all\nwrong", "0–20", "20–40", "40–60", "60–80", "80–100", "all\nright")
_SHORT_LABELS = ("0", "40–60", "100")  # of the outer and the middle column
#: Accuracies that each bin begins and ends with.
_RANGES = ((0.0, 0.0), (0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0), (1.0, 1.0))


#: What becomes of a problem -> the kind of that part of a bar, and the colour of each kind.
OUTCOME_KINDS: dict[Outcome, str] = {
    "right": "right",
    "depends": "mixed",
    "wrong": "wrong",
    "same": "right",
    "changes": "mixed",
}
_OF_KIND = {"right": COLOURS["series-0"], "mixed": COLOURS["mixed"], "wrong": COLOURS["series-1"]}
_ON_MIXED = "#20242f"  # not the theme's: dark in both


@dataclass(frozen=True)
class Point:
    """One model on one set: bucket accuracy and P_C in [0, 1], their intervals where there are any, a link."""

    model: str
    set: str
    accuracy: float
    consistency: float
    accuracy_interval: tuple[float, float] | None = None
    consistency_interval: tuple[float, float] | None = None
    href: str = ""


def accuracy_consistency_plot(points: Sequence[Point], nouns: tuple[str, str] = ("problem", "rewording")) -> Plot:
    """Return the plot of S24's Figures 3 to 6: P_C (unbiased) against bucket accuracy.

    Below the lowest curve, 1 - 2a(1-a), no model can lie but by chance; on the curve with PVAP p, 1 - 2pa(1-a), a share
    p of the variance of correctness is due to paraphrasing.
    """
    problem, wording = nouns
    models, sets = (list(dict.fromkeys(names)) for names in zip(*((p.model, p.set) for p in points), strict=True))
    n_panels = len(sets) if len(models) > 1 else 1
    is_direct = n_panels == 1 or len(models) > _MOST_IN_LEGEND  # else a short legend below
    n_columns = 1 if is_direct else min(2, n_panels)
    each = max(3.0 if n_panels == 1 else 2.1, _LABEL * len(points) / n_panels if is_direct else 0.0)
    rest = f"; and {len(points) - 24} more" if len(points) > 24 else ""

    def draw(axes: Axes) -> None:
        lowest = min(min(p.accuracy, *(p.accuracy_interval or (1.0,))) for p in points)
        least = min(min(p.consistency, *(p.consistency_interval or (1.0,))) for p in points)
        left, floor = max(0.0, min(40.0, 100 * lowest - 5)), max(0.0, min(50.0, 100 * least - 2))
        by_set = {name: [p for p in points if p.set == name] for name in sets} if len(models) > 1 else {"": points}
        numbers = {name: number for number, name in enumerate(models if len(models) > 1 else sets)}
        parts = [axes]
        if len(by_set) > 1:
            room = 0.25 + 0.072 * min(22, max(map(len, models))) if is_direct else 0.16
            below = 0.55 + (0 if is_direct else legend_height(models))
            titles = [short(name, 30) for name in by_set]
            parts = panels(
                axes, titles, n_columns, label=f"accuracy, mean over {problem}s, %", left=0.6, right=room, below=below
            )
        for part, (_, members) in zip(parts, by_set.items(), strict=True):
            part.set(xlim=(left, 101), ylim=(floor, 101))
            _draw_curves(part, left, floor, in_words=part is parts[0])
            named = {p.model if len(models) > 1 else p.set: p for p in members}
            for label, point in named.items():
                _draw_point(part, point, numbers[label])
            if is_direct and len(points) > 1:
                places = {label: (100 * p.accuracy, 100 * p.consistency) for label, p in named.items()}
                _label_beside(part, places, each)
            part.set_ylabel("P_C, %" if part.yaxis.get_tick_params()["labelleft"] else "")
        if len(by_set) == 1:
            axes.set_xlabel(f"accuracy, mean over {problem}s, %")
        if not is_direct:
            legend_of_models(parts[0], list(numbers), linestyle="")

    return Plot(
        name="accuracy-consistency",
        title="Accuracy against consistency",
        caption=(
            f"Each point is a model on a set: how often its answers to {wording}s are right (mean over {problem}s), "
            f"and P_C, how often two different {wording}s of one {problem} are both right or both wrong. Up and to "
            "the right is better. Only chance leads into the shaded region. On a grey curve the given share of the "
            "variance of correctness is due to wording (PVAP); the rest: some problems are harder than others."
        ),
        description=f"Scatter plot. {'; '.join(map(_in_words, points[:24]))}{rest}.",
        draw=draw,
        height=0.7 + (each + 0.3 * (n_panels > 1)) * -(-n_panels // n_columns),
    )


def _in_words(p: Point) -> str:
    who = f"{short(p.model)} on {short(p.set)}"
    return f"{who}: accuracy {percent(p.accuracy)} %, consistency {percent(p.consistency)} %"


def _draw_point(axes: Axes, point: Point, number: int) -> None:
    colour = series_colour(number)
    x, y = 100 * point.accuracy, 100 * point.consistency
    if point.accuracy_interval is not None:
        axes.plot([100 * end for end in point.accuracy_interval], [y, y], color=colour, linewidth=0.9)
    if point.consistency_interval is not None:
        axes.plot([x, x], [100 * end for end in point.consistency_interval], color=colour, linewidth=0.9)
    marker, edge = series_marker(number), COLOURS["paper"]
    (drawn,) = axes.plot([x], [y], marker, color=colour, markersize=6.5, markeredgecolor=edge)
    values = {key: value for key, value in vars(point).items() if not isinstance(value, tuple) and key != "href"}
    for key in ("accuracy", "consistency"):
        values[f"{key}_low"], values[f"{key}_high"] = getattr(point, f"{key}_interval") or (None, None)
    mark(drawn, _in_words(point), point.href, **values)


def _label_beside(axes: Axes, places: Mapping[str, tuple[float, float]], height: float) -> None:
    """Write the points' names in a column beside the axes, apart from each other, a thin line to each point."""
    low, high = axes.get_ylim()
    order = sorted(places, key=lambda label: -places[label][1])
    gap = _LABEL / height
    wanted = [(places[label][1] - low) / (high - low) for label in order]
    at: list[float] = []
    for y in wanted:  # from above, each below the one before
        at.append(min(y, at[-1] - gap if at else 1.0))
    lift = max(0.0, -at[-1])
    for i in reversed(range(len(at))):  # from below, where the last ones have left the axes
        at[i] = max(at[i], (at[i + 1] + gap) if i + 1 < len(at) else at[i] + lift)
    annotate = partial(axes.annotate, xycoords="data", textcoords="axes fraction", va="center", fontsize=8.5)
    for label, name, y in zip(order, told_apart(order, 22), at, strict=True):
        line = {
            "arrowstyle": "-",
            "color": COLOURS["muted"],
            "linewidth": 0.5,
            "shrinkA": 1,
            "shrinkB": 4,
            "relpos": (0, 0.5),
        }
        annotate(name, places[label], (1.03, y), arrowprops=line)


def _draw_curves(axes: Axes, left: float, floor: float, *, in_words: bool) -> None:
    accuracy = np.linspace(0, 1, 201)
    spread = accuracy * (1 - accuracy)
    axes.fill_between(100 * accuracy, floor, 100 * (1 - 2 * spread), color=COLOURS["shade"], linewidth=0)
    axes.plot(100 * accuracy, 100 * (1 - 2 * spread), color=COLOURS["muted"], linewidth=1.1)
    for share in _SHARES:
        axes.plot(100 * accuracy, 100 * (1 - 2 * share * spread), color=COLOURS["muted"], linewidth=0.7, dashes=(4, 3))
    if not in_words:
        return
    at = max(0.25, (left + 2) / 100)  # further left the curves run together
    annotate = partial(axes.annotate, fontsize=8.5, color=COLOURS["muted"])
    for share in _SHARES:
        height = 100 * (1 - 2 * share * at * (1 - at))
        text = f"PVAP {100 * share:.0f} %"
        annotate(text, (100 * at, height), xytext=(0, 3), textcoords="offset points")
    least = (100 + left) / 2 + 0.34 * (100 - left), 0.86 * floor + 14
    annotate("only chance\nleads here", least, ha="center", va="center")


def _bins(accuracies: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the bin of each share of right answers: see `bucket_accuracy_shares`."""
    values = np.round(accuracies, 9)
    low, high = np.searchsorted(_EDGES, values, side="right"), np.searchsorted(_EDGES, values, side="left")
    bins = np.where(values <= 0.5, low, high) + 1
    bins[values <= 0.0] = 0
    bins[values >= 1.0] = 6
    return bins


def bucket_accuracy_shares(accuracies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of buckets in each of 7 bins: exactly 0, five equal bins of what lies between, exactly 1.

    Shares on an edge count to the bin nearer the middle, so that right and wrong are treated alike.

    >>> bucket_accuracy_shares(np.array([0.0, 0.2, 0.5, 0.8, 1.0])).tolist()
    [0.2, 0.0, 0.2, 0.2, 0.2, 0.0, 0.2]
    """
    return np.bincount(_bins(accuracies), minlength=7) / max(len(accuracies), 1)


def coin_shares(sizes: NDArray[Any], accuracy: float) -> NDArray[np.float64]:
    """Return the shares that a coin gives which is right with probability `accuracy`, whatever problem and wording.

    `sizes`, shape (n_buckets,), are how many paraphrases each bucket has. Exact: the mixture, over the buckets, of the
    binomial distributions of how many answers are right, in the bins of `bucket_accuracy_shares`.

    >>> coin_shares(np.array([2, 2, 2]), 0.5).round(3).tolist()
    [0.25, 0.0, 0.0, 0.5, 0.0, 0.0, 0.25]
    """
    from scipy.stats import binom

    shares = np.zeros(7)
    for size, n_buckets in Counter(map(int, sizes[sizes > 0])).items():
        right = np.arange(size + 1)
        shares += n_buckets * np.bincount(_bins(right / size), binom.pmf(right, size, accuracy), 7)
    return shares / max(1, int(np.count_nonzero(sizes)))


@dataclass(frozen=True)
class Buckets:
    """One model's buckets of a set: share of right answers and number of answers, both of shape (n_buckets,)."""

    model: str
    accuracies: NDArray[np.float64]
    sizes: NDArray[np.float64]
    href: Callable[..., str] = lambda accuracy: ""  # the link to the buckets of a bin


def bucket_accuracy_plot(
    name: str, set_name: str, models: Sequence[Buckets], nouns: tuple[str, str] = ("problem", "rewording")
) -> Plot:
    """Return the histogram of bucket accuracy of one set, a small one for each model, and what a coin would give."""
    problem, wording = nouns
    shares = [bucket_accuracy_shares(one.accuracies) for one in models]
    described = "; ".join(
        f"{short(one.model)}: {100 * bins[0]:.0f} % of {problem}s all wrong, {100 * bins[-1]:.0f} % all right, "
        f"{100 * bins[1:-1].sum():.0f} % in between"
        for one, bins in zip(models, shares, strict=True)
    )
    means = [float(np.mean(one.accuracies)) if len(one.accuracies) else 0.0 for one in models]
    coins = [coin_shares(one.sizes, mean) for one, mean in zip(models, means, strict=True)]
    n_columns = 1 if len(models) == 1 else 2 if len(models) <= 4 else 3

    def draw(axes: Axes) -> None:
        places = np.arange(7)
        label = f"{wording}s right, %"
        titles = told_apart([one.model for one in models], 18 if n_columns == 3 else 28)
        parts = [axes] if len(models) == 1 else panels(axes, titles, n_columns, label=label, left=0.55, below=0.8)
        highest = max(float(100 * bins.max()) for bins in (*shares, *coins))
        for number, (part, one, bins, coin) in enumerate(zip(parts, models, shares, coins, strict=True)):
            part.grid(False, axis="x")
            bars = part.bar(places, 100 * bins, width=0.78, color=series_colour(number))
            for bar, bin_label, share, chance, ends in zip(bars, _LABELS, bins, coin, _RANGES, strict=True):
                what = f"{bin_label.replace(chr(10), ' ')}{' % right' if ends[0] < ends[1] else ''}"
                title = f"{short(one.model)}, {what}: {percent(share)} % of {problem}s; a coin: {percent(chance)} %"
                href = one.href(accuracy=ends) if share else ""
                mark(bar, title, href, model=one.model, wordings=what, share=share, share_of_a_coin=chance)
            part.hlines(100 * coin, places - 0.46, places + 0.46, color=COLOURS["ink"], linewidth=1.2)
            for edge in (0.5, 5.5):
                part.axvline(edge, color=COLOURS["grid"], linewidth=0.7)
            part.set_xticks(places if len(models) == 1 else (0, 3, 6), _LABELS if len(models) == 1 else _SHORT_LABELS)
            part.set(xlim=(-0.6, 6.6), ylim=(0, 1.05 * highest))
            part.set_ylabel(f"{problem}s, %" if part.yaxis.get_tick_params()["labelleft"] else "")
        if len(models) == 1:
            axes.set_xlabel(label)
        legend(parts[0], [legend_entry("a coin of this accuracy", COLOURS["ink"], "", linewidth=1.2)])

    return Plot(
        name=name,
        title=f"How right each {problem} is, {set_name}",
        caption=(
            f"Share of {problem}s by how many of their {wording}s are answered right. The two outer columns are the "
            f"{problem}s whose answers do not depend on the wording: all wrong, all right. Each line across a column "
            "is what a coin of the same accuracy would give, which is right by chance whatever the problem and the "
            "wording: the further the outer columns rise above it, the more it is the problem that decides."
        ),
        description=f"Histogram. {described}.",
        draw=draw,
        height=2.6 if len(models) == 1 else 0.8 + 1.25 * -(-len(models) // n_columns),
    )


def outcomes_plot(
    name: str,
    set_name: str,
    models: Mapping[str, Mapping[Outcome, int]],
    said: str = "",
    nouns: tuple[str, str] = ("problem", "wording"),
) -> Plot:
    """Return bars of what becomes of each model's problems over all wordings; the caption begins with `said`."""
    problem, wording = nouns
    outcome_words = {key: text.replace("wording", wording) for key, text in OUTCOME_WORDS.items()}
    shown = dict(zip(models, told_apart(list(models), 22), strict=True))
    outcomes = [outcome for outcome in OUTCOME_WORDS if any(outcome in sizes for sizes in models.values())]
    described = "; ".join(
        f"{short(model)}: {', '.join(f'{n:,} {outcome_words[outcome]}' for outcome, n in sizes.items())}"
        for model, sizes in models.items()
    )

    def draw(axes: Axes) -> None:
        for place, (model, sizes) in enumerate(models.items()):
            start, total = 0.0, sum(sizes.values())
            for outcome in (outcome for outcome in outcomes if outcome in sizes):
                kind, n, share = OUTCOME_KINDS[outcome], sizes[outcome], 100 * sizes[outcome] / total
                (bar,) = axes.barh([place], [share], left=start, height=0.7, color=_OF_KIND[kind])
                words = f"{n:,} of {total:,}: {outcome_words[outcome]}"
                title = f"{short(model)}, {words}" if len(models) > 1 else words
                mark(bar, title, model=model, outcome=outcome_words[outcome], problems=n)
                if share >= 8:
                    ink = _ON_MIXED if kind == "mixed" else COLOURS["paper"]
                    axes.text(start + share / 2, place, f"{n:,}", ha="center", va="center", color=ink)
                start += share
        axes.set_yticks(range(len(models)), list(shown.values()) if len(models) > 1 else [""])
        axes.set(xlim=(0, 100), ylim=(len(models) - 0.5, -0.5), xlabel=f"{problem}s, %")
        axes.grid(False)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        colours = {outcome_words[outcome]: _OF_KIND[OUTCOME_KINDS[outcome]] for outcome in outcomes}
        legend(axes, [legend_entry(words, colour, "s", linewidth=0) for words, colour in colours.items()])

    original = ", the original among them" if wording == "wording" else ""
    caption = f"{said} What becomes of each {problem} over all its {wording}s{original}.".strip()
    return Plot(name, f"Outcomes, {set_name}", caption, f"{described}.", draw, 0.75 + 0.3 * len(models))
