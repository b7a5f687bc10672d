"""The bootstrap over distinct units: multinomial weights, in bounded memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from paraconsist.uncertainty.linearised import Estimate
from paraconsist.uncertainty.units import Floats, Units

__all__ = ["bootstrap", "draws_per_resample"]

_CELLS_AT_ONCE = 1 << 21  # bounds the memory of a bootstrap: 16 MiB of weights at a time
_MULTINOMIAL_COST = 6  # a multinomial cell costs about this many single draws


def bootstrap(units: Units, estimate: Estimate, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Return the measures on `n_resamples` resamples of the units, shape (n_resamples, q).

    Memory is bounded: about 16 MiB of weights at a time, whatever the numbers of units and resamples.
    """
    strata = list(units.by_stratum())
    sums = [units.sums[members] for members, _ in strata]
    largest = max(max(len(members), n if _draws_one_by_one(members, n) else 0) for members, n in strata)
    chunk = max(1, _CELLS_AT_ONCE // largest)
    replicates = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, n_resamples, chunk):
            size = min(chunk, n_resamples - start)
            total = np.zeros((size, units.sums.shape[1]))
            for (members, n), stratum_sums in zip(strata, sums, strict=True):
                total += _weights(units.multiplicity[members], n, size, rng) @ stratum_sums
            replicates.append(estimate(total))
    return np.concatenate(replicates)


def _draws_one_by_one(members: npt.NDArray[np.intp], n: int) -> bool:
    return n < _MULTINOMIAL_COST * len(members)


def _weights(multiplicity: npt.NDArray[np.int64], n: int, size: int, rng: np.random.Generator) -> Floats:
    """Return how often each distinct unit occurs in each of `size` resamples of n units, shape (size, p)."""
    p = len(multiplicity)
    if n >= _MULTINOMIAL_COST * p:
        return rng.multinomial(n, multiplicity / n, size=size).astype(np.float64)
    drawn = rng.integers(0, n, size=(size, n))
    if p < n:
        drawn = np.repeat(np.arange(p), multiplicity)[drawn]
    drawn += (np.arange(size) * p)[:, np.newaxis]
    counts = np.bincount(drawn.ravel(), minlength=size * p)
    return counts.reshape(size, p).astype(np.float64)


def draws_per_resample(units: Units) -> int:
    """Return what one resample costs, in single draws."""
    return sum(
        n if _draws_one_by_one(members, n) else _MULTINOMIAL_COST * len(members) for members, n in units.by_stratum()
    )
