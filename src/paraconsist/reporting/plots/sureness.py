"""How sure a model is of the right answer, on originals against their rewordings, and which answers flip there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.rows import Rows
from paraconsist.measures.rules import ORIGINAL
from paraconsist.reporting.formatting import percent, plural
from paraconsist.reporting.plots.canvas import BAD, COLOURS, GOOD, Plot, legend, legend_entry, panels, short, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS = 2_000  # of a model
_BAND = " Between the dashed lines lie as many flips as asking again unchanged gives."
#: What is drawn: its name, colour, marker, size.
_KINDS = (("same", COLOURS["muted"], "o", 5), ("lost", BAD, "v", 14), ("gained", GOOD, "^", 14))


@dataclass(frozen=True)
class Sureness:
    """One model's answers to n rewordings, each beside its original.

    Arrays have shape (n,): the probabilities of the gold label, in [0, 1], and whether the answers are right.
    """

    model: str
    original: NDArray[np.float64]
    reworded: NDArray[np.float64]
    was_right: NDArray[np.bool_]
    is_right: NDArray[np.bool_]
    #: Share of answers that are right once and wrong once when the same text is asked again; None where unknown.
    noise: float | None = None

    @cached_property
    def lost(self) -> NDArray[np.bool_]:
        """Right on the original, wrong on the rewording; shape (n,)."""
        return self.was_right & ~self.is_right

    @cached_property
    def gained(self) -> NDArray[np.bool_]:
        """Wrong on the original, right on the rewording; shape (n,)."""
        return ~self.was_right & self.is_right

    @property
    def band(self) -> float | None:
        """Return how far apart the two probabilities are, at most, in as many flips as the noise alone would give.

        Those are the flips with the nearest probabilities, and their number is the noise times n. None where the noise
        is not known, or gives no flip.
        """
        moves = np.sort(np.abs(self.original - self.reworded)[self.lost | self.gained])
        n_noise = min(len(moves), round((self.noise or 0.0) * len(self.original)))
        return float(moves[n_noise - 1]) if n_noise else None

    @property
    def sentence(self) -> str:
        """Return how many answers flip, in words."""
        lost, gained = int(self.lost.sum()), int(self.gained.sum())
        words = f"lost {lost:,}, gained {gained:,} of {plural(len(self.original), 'answer')} to rewordings"
        if (band := self.band) is None:
            return words
        return (
            f"{words}; asking again unchanged flips {percent(self.noise)} %, as many as flip here between "
            f"probabilities at most {band:.2f} apart"
        )


def sureness_of(model: str, rows: Rows, noise: float | None = None) -> Sureness | None:
    """Return the model's rewordings with known probabilities beside their originals; None where there are none."""
    if rows.confidences is None or rows.buckets is None or rows.unparsed.all():
        return None
    codes = np.unique(rows.buckets, return_inverse=True)[1]
    originals = np.flatnonzero(rows.roles == ORIGINAL)
    first = np.full(codes.max(initial=-1) + 1, -1)
    first[codes[originals[::-1]]] = originals[::-1]  # the first of several is written last
    others = np.flatnonzero((first[codes] >= 0) & (first[codes] != np.arange(len(codes))))
    base = first[codes[others]]
    known = np.isfinite(rows.confidences[others]) & np.isfinite(rows.confidences[base])
    others, base = others[known], base[known]
    right = (rows.predictions == rows.labels) & ~rows.unparsed
    if not len(others):
        return None
    return Sureness(model, rows.confidences[base], rows.confidences[others], right[base], right[others], noise)


def sureness_plot(name: str, set_name: str, models: Sequence[Sureness]) -> Plot:
    """Return the scatter of the gold label's probability, original against rewording, a small one for each model."""
    steps = [-(-len(one.original) // _MOST_POINTS) for one in models]
    thinned = "" if max(steps) == 1 else f" Of many answers at most {_MOST_POINTS:,} of a model are drawn, evenly."
    band = "" if all(one.band is None for one in models) else _BAND
    n_columns = 1 if len(models) == 1 else 2
    described = "; ".join(f"{short(one.model)}: {one.sentence}" for one in models)

    def draw(axes: Axes) -> None:
        names = told_apart([one.model for one in models], 28)
        titles = [f"{name}\n{one.sentence.partition(' of ')[0]}" for name, one in zip(names, models, strict=True)]
        label = "probability of the right answer: original"
        parts = [axes] if n_columns == 1 else panels(axes, titles, n_columns, label=label, left=0.6, below=0.75)
        for number, (part, one, step) in enumerate(zip(parts, models, steps, strict=True)):
            line = partial(part.plot, color=COLOURS["muted"], linewidth=0.8)
            line([0, 1], [0, 1])
            for shift in () if one.band is None else (-one.band, one.band):
                line([0, 1], [shift, 1 + shift], dashes=(4, 3))
            kinds = {"same": ~(one.lost | one.gained), "lost": one.lost, "gained": one.gained}
            drawn = np.arange(len(one.original)) % step == 0
            for kind, colour, marker, size in _KINDS:
                chosen = kinds[kind] & drawn
                x, y = one.original[chosen], one.reworded[chosen]
                part.scatter(x, y, s=size, color=colour, marker=marker, alpha=0.6, linewidths=0)
            part.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
            part.set_ylabel("rewording" if number % n_columns == 0 else "")
        if n_columns == 1:
            axes.set_xlabel(label)
        legend(parts[0], [legend_entry(kind, colour, marker, linestyle="") for kind, colour, marker, _ in _KINDS[1:]])

    return Plot(
        name=name,
        title=f"Flips by sureness, {set_name}",
        caption=(
            "Probability of the right answer on the original against that on each rewording. On the diagonal the "
            "wording changes nothing; far from it the model was sure and is no longer, or the other way round. "
            f"Downward: answers lost, upward: gained, dots: as right or wrong as before.{band}{thinned}"
        ),
        description=f"Scatter plot. {described}.",
        draw=draw,
        height=4.2 if n_columns == 1 else 0.75 + 2.55 * -(-len(models) // n_columns),
    )
