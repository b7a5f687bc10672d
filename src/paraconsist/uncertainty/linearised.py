"""Closed-form, cluster-robust standard errors from each unit's influence, and the design effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.uncertainty.units import Floats, Units

__all__ = ["Estimate", "design_effects", "linearised_errors", "standard_errors"]

Estimate = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Sums (..., m) to measures (..., q), by complex-differentiable arithmetic only (no abs, maximum or clip)."""


def standard_errors(units: Units, estimate: Estimate) -> Floats:
    """Return the closed-form, cluster-robust standard errors of the measures, shape (q,); nan for one unit.

    A stratum of one unit says nothing of its variance and adds none.
    """
    return linearised_errors(units, estimate)[0]


def linearised_errors(units: Units, estimate: Estimate) -> tuple[Floats, Floats]:
    """Return the standard errors, and those without the small-sample factor n / (n - 1) of each stratum.

    The second are what a bootstrap of infinitely many resamples finds, to first order.
    """
    total = units.total
    step = 1e-20 * max(1.0, float(np.abs(total).max()))
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = estimate(total + 1j * step * np.eye(len(total))).imag / step  # (m, q)
        influence = units.sums @ gradient  # (p, q)
        variance, uncorrected = np.zeros((2, influence.shape[1]))
        for members, n in units.by_stratum():
            if n > 1:
                weight = units.multiplicity[members]
                centred = influence[members] - weight @ influence[members] / n
                squares = weight @ centred**2
                variance += n / (n - 1) * squares
                uncorrected += squares
    if units.degrees_of_freedom < 1:
        return np.full(len(variance), np.nan), uncorrected
    return np.sqrt(variance), np.sqrt(uncorrected)


def design_effects(units: Units, independent: Units, estimate: Estimate) -> Floats:
    """Return how much larger the measures' variance is than if smaller units were independent, shape (q,).

    Parameters
    ----------
    units : Units
        What is resampled: groups, say.
    independent : Units
        The same sums by the smaller units that a naive analysis would take for independent: buckets or rows.

    Returns
    -------
    ndarray
        1 where the two are the same units, above 1 where units of a group resemble one another; nan where the
        sample has no spread. The number of units over the design effect is the effective sample size.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        clustered = standard_errors(units, estimate)
        naive = standard_errors(independent, estimate)
        effects: Floats = np.where((clustered > 1e-12) & (naive > 1e-12), (clustered / naive) ** 2, np.nan)
    return effects
