"""Options of scoring and comparing: each is declared once, for Python and the command line alike.

The command line makes its options from these fields and their help (`paraconsist.cli.options.spread`). Nothing heavy is
imported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from paraconsist.data.options import option


@dataclass(frozen=True)
class IntervalOptions:
    """How intervals are computed."""

    panel: ClassVar[str] = "Intervals"
    confidence_level: float = option(0.95, "Confidence level of the intervals.", min=0, max=1)
    interval_method: str = option(
        "auto",
        "Method of the intervals: auto (recommended), closed_form, or bootstrap; sign_flip in comparisons.",
        rare=True,
    )
    n_resamples: int = option(
        10000, "Number of bootstrap resamples; in comparisons, of sign flips for the interval.", min=1, rare=True
    )
    seed: int = option(0, "Random seed of resamples and permutations.", min=0, rare=True)

    @property
    def intervals(self) -> dict[str, Any]:
        """The options that every measure takes."""
        return {each.name: getattr(self, each.name) for each in fields(IntervalOptions)}


@dataclass(frozen=True)
class MeasureOptions:
    """Which measures are computed, and how unparsed answers are treated."""

    measures: Sequence[str] | None = option(
        None,
        "Measure to compute; repeat for several. By default all that apply to the roles of the rows.",
        option="--measure",
    )
    unparsed: str | None = option(
        None,
        "How unparsed answers are treated: wrong (the default), own_class or drop_bucket. A condition of gate on which "
        "these disagree fails unless one is named.",
    )

    checked: Sequence[Path] | None = option(
        None,
        "With `same`: a sheet of `paraconsist sheet` in which people marked answers; repeat for several. Shows the "
        "comparer's errors, and the rates corrected for them.",
    )

    @property
    def policy(self) -> str:
        """How unparsed answers are treated."""
        return self.unparsed or "wrong"


@dataclass(frozen=True)
class ScoreOptions(IntervalOptions, MeasureOptions):
    """How predictions are scored."""

    renormalize: bool = option(
        False, "Divide corrected values by the share of the test set that the buckets represent.", rare=True
    )
    validity: Path | None = option(
        None,
        "A sheet in which people judged paraphrases, as `paraconsist paraphrase` writes it (a column valid): shows "
        "how many are none, and bounds of the rates among valid ones.",
        rare=True,
    )


@dataclass(frozen=True)
class CompareOptions(IntervalOptions, MeasureOptions):
    """How models are compared."""

    estimator: str = option("unbiased", "Which P_C is the headline: unbiased, or plugin (as published).", rare=True)
    correction: str = option(
        "holm", "Correction of p over all pairs and sets: holm, bonferroni, benjamini_hochberg or none.", rare=True
    )
    against_first: bool = option(False, "Compare each model only with the first, not every pair.", rare=True)
    margin: float | None = option(
        None, "Margin as a proportion, 0.02 for two points: also test non-inferiority and equivalence within it."
    )
    n_permutations: int = option(10_000, "Number of permutations for the test.", min=1, rare=True)
