"""An interval for every measure of a set of units: bootstrap or closed form, safe at the boundary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtrit

from paraconsist.uncertainty.linearised import Estimate, linearised_errors
from paraconsist.uncertainty.resampling import bootstrap, draws_per_resample
from paraconsist.uncertainty.shares import boundary_interval
from paraconsist.uncertainty.units import Floats, Units

__all__ = ["Intervals", "intervals"]

_MOST_DRAWS = 2_000_000_000  # `method="auto"` takes the closed form beyond this
_MOST_UNDEFINED = 0.05  # share of replicates without a value, above which percentiles mean nothing


@dataclass(frozen=True)
class Intervals:
    """Intervals and standard errors of q measures.

    Attributes
    ----------
    low, high, standard_error : ndarray, shape (q,)
        nan where undefined.
    at_boundary : ndarray of bool, shape (q,)
        True where the sample has no spread and `boundary_interval` was used.
    method : str
        ``"bootstrap"`` or ``"closed_form"``: what was used for the measures as a whole.
    """

    low: Floats
    high: Floats
    standard_error: Floats
    at_boundary: npt.NDArray[np.bool_]
    method: str


def intervals(
    units: Units,
    estimate: Estimate,
    ranges: npt.ArrayLike,
    are_means: npt.ArrayLike,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    rng: np.random.Generator | None = None,
    effective_n: float | None = None,
    reported: npt.ArrayLike | None = None,
) -> Intervals:
    """Return an interval for every measure; never one that excludes its own point estimate.

    Parameters
    ----------
    units, estimate
        What is resampled, and how sums become the q measures.
    ranges : array_like, shape (q, 2)
        The least and greatest possible value of each measure; ends are clipped to it.
    are_means : array_like of bool, shape (q,)
        True for means over units, which have a boundary-safe interval where the sample has no spread; other
        measures get nan there.
    method : {"auto", "bootstrap", "closed_form"}
        ``"auto"`` is the bootstrap, unless that would take more than about 2e9 random draws.
    effective_n : float, optional
        The number of units that `boundary_interval` counts with (strata of unequal weight make it smaller).
    reported : array_like, shape (q,), optional
        The point estimates as reported, where they were summed in another order.

    Returns
    -------
    Intervals
        All nan for one unit.
    """
    bounds = np.asarray(ranges, dtype=np.float64)
    means = np.asarray(are_means, dtype=np.bool_)
    with np.errstate(divide="ignore", invalid="ignore"):
        point = np.asarray(estimate(units.total) if reported is None else reported, dtype=np.float64)
    if units.degrees_of_freedom < 1:
        nothing = np.full(len(point), np.nan)
        used = "bootstrap" if method == "auto" else method
        return Intervals(nothing, nothing, nothing, np.zeros(len(point), dtype=np.bool_), used)

    error, bootstrap_error = linearised_errors(units, estimate)
    spread = error > 1e-12
    t = float(stdtrit(units.degrees_of_freedom, (1.0 + confidence_level) / 2.0))
    half = t * error
    low, high = point - half, point + half
    if method == "auto":
        method = "bootstrap" if draws_per_resample(units) * n_resamples <= _MOST_DRAWS else "closed_form"
    if method == "bootstrap":
        replicates = bootstrap(units, estimate, n_resamples, rng or np.random.default_rng(0))
        defined = np.isfinite(replicates)
        usable = defined.mean(axis=0) > 1.0 - _MOST_UNDEFINED
        for j in np.flatnonzero(usable):
            values = replicates[defined[:, j], j]
            tail = float(ndtr(-t * (error[j] / bootstrap_error[j] if bootstrap_error[j] > 0.0 else 1.0)))
            low[j], high[j] = np.quantile(values, [tail, 1.0 - tail])
            spread[j] |= np.ptp(values) > 1e-12

    at_boundary = ~spread & means & np.isfinite(point)
    for j in np.flatnonzero(at_boundary):
        low[j], high[j] = boundary_interval(
            point[j], bounds[j, 0], bounds[j, 1], effective_n or units.n, confidence_level
        )
    low[~spread & ~means] = high[~spread & ~means] = np.nan
    low = np.minimum(np.clip(low, *bounds.T), point)
    high = np.maximum(np.clip(high, *bounds.T), point)
    return Intervals(low, high, error, at_boundary, method)
