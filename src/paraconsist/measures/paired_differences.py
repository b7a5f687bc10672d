"""Two models on the same units: differences of measures with paired intervals and permutation p-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.measures._validation import Integers
from paraconsist.measures.intervals import Intervals, intervals
from paraconsist.measures.resampling import Estimate, Units, design_effects, group_units
from paraconsist.measures.sign_flip import SignFlip, sign_flip_test

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Paired:
    """What is known of the differences of q measures, first model minus second.

    Attributes
    ----------
    first, second : ndarray, shape (q,)
        Each model's values.
    interval : Intervals
        Of the differences.
    test : SignFlip
    design_effect : ndarray, shape (q,)
    n_units : int
    """

    first: Floats
    second: Floats
    interval: Intervals
    test: SignFlip
    design_effect: Floats
    n_units: int


def paired_differences(
    first: Floats,
    second: Floats,
    pattern: Integers,
    groups: Integers | None,
    estimate: Estimate,
    ranges: Sequence[tuple[float, float]],
    are_means: Sequence[bool],
    *,
    method: str,
    confidence_level: float,
    n_resamples: int,
    n_permutations: int,
    seed: int,
) -> Paired:
    """Compare two models; what resembles one another stays together in resampling and in permutation.

    Parameters
    ----------
    first, second : ndarray, shape (p, m)
        The two models' sums in every distinct bucket.
    pattern : ndarray of int, shape (n_buckets,)
        Which distinct bucket each bucket is.
    groups : ndarray of int, shape (n_buckets,), or None
        The group of each bucket, as codes from 0.
    estimate : callable
        Sums (..., m) of one model to its measures (..., q).
    ranges : sequence of pairs
        Least and greatest value of each measure; a difference lies within their difference.
    are_means : sequence of bool
        True for means over buckets, whose interval is safe where no bucket differs.
    method, confidence_level, n_resamples, n_permutations, seed
        Checked options. Intervals and permutations have generators of their own.
    """
    m = first.shape[1]
    both = np.concatenate([first, second], axis=1)
    buckets = Units.unstratified(both, np.bincount(pattern, minlength=len(both)))
    units = buckets if groups is None else group_units(both, pattern, groups)

    def difference(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = estimate(sums[..., :m]) - estimate(sums[..., m:])
        return values

    total = units.total
    with np.errstate(divide="ignore", invalid="ignore"):
        values = [np.asarray(estimate(part), dtype=np.float64) for part in (total[:m], total[m:])]
    widest = [(low - high, high - low) for low, high in ranges]
    entropy = np.random.SeedSequence(seed).spawn(2)
    found = intervals(
        units,
        difference,
        widest,
        are_means,
        method=method,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        rng=np.random.default_rng(entropy[0]),
    )
    test = sign_flip_test(
        units.sums[:, :m],
        units.sums[:, m:],
        units.multiplicity,
        estimate,
        n_permutations,
        np.random.default_rng(entropy[1]),
    )
    return Paired(values[0], values[1], found, test, design_effects(units, buckets, difference), units.n)
