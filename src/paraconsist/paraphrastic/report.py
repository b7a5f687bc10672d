"""How the intervals of paraphrastic consistency are to be made, and what has been found so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paraconsist.uncertainty import Intervals, Units, intervals

__all__ = ["Report", "effect_of", "row_error"]


@dataclass
class Report:
    """How intervals are to be made, and what has been found so far."""

    level: float
    n_resamples: int
    asked: str
    rng: np.random.Generator
    method: str = ""
    confidence_interval: dict[str, list[float]] = field(default_factory=dict)
    standard_error: dict[str, float] = field(default_factory=dict)
    n_clusters: dict[str, int] = field(default_factory=dict)
    design_effect: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def intervals(self, units: Units, estimate: Any, ranges: Any, are_means: Any, **options: Any) -> Intervals:
        """Return the intervals of measures over units, made as was asked."""
        return intervals(
            units,
            estimate,
            ranges,
            are_means,
            method=self.asked,
            confidence_level=self.level,
            n_resamples=self.n_resamples,
            rng=self.rng,
            **options,
        )

    def add(self, names: Sequence[str], found: Intervals, n_clusters: int, effects: Sequence[float]) -> None:
        """Keep the intervals of the named measures, and what else is known of their uncertainty."""
        self.confidence_interval |= {
            name: [float(low), float(high)] for name, low, high in zip(names, found.low, found.high, strict=True)
        }
        self.standard_error |= dict(zip(names, found.standard_error.tolist(), strict=True))
        self.n_clusters |= dict.fromkeys(names, n_clusters)
        self.design_effect |= dict(zip(names, map(float, effects), strict=True))
        flat = [name for name, at_boundary in zip(names, found.at_boundary, strict=True) if at_boundary]
        if flat:
            self.warnings.append(
                f"no spread between units, so the interval is a Clopper-Pearson type bound: {', '.join(flat)}"
            )


def row_error(right: int, n: int) -> float:
    """Return the standard error of right / n if the n rows were independent; nan for one row."""
    return float(np.sqrt(right / n * (1.0 - right / n) / (n - 1))) if n > 1 else float("nan")


def effect_of(clustered: float, naive: float) -> float:
    """Return the design effect from two standard errors; nan where the sample has no spread."""
    return (clustered / naive) ** 2 if clustered > 1e-12 and naive > 1e-12 else float("nan")
