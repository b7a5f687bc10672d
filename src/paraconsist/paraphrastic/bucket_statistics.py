"""The measures of paraphrastic consistency as pure functions of counts per bucket."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.buckets import BucketCounts
from paraconsist.uncertainty import distinct

__all__ = [
    "MEASURES",
    "NOT_MEANS",
    "PAIRS",
    "RANGES",
    "UNBIASED",
    "bucket_sums",
    "measures_of_counts",
    "measures_of_sums",
    "minimum_consistency",
    "point_measures",
]

RANGES: dict[str, tuple[float, float]] = {
    "paraphrastic_consistency": (0.5, 1.0),
    "paraphrastic_consistency_unbiased": (0.0, 1.0),
    "accuracy": (0.0, 1.0),
    "bucket_accuracy": (0.0, 1.0),
    "vap": (0.0, 0.25),
    "vap_unbiased": (0.0, 0.5),
    "between_variance": (0.0, 0.25),
    "pvap": (0.0, 1.0),
    "pvap_pooled": (0.0, np.inf),  # rows weigh the denominator, buckets the numerator: 1 is no bound
    "agreement": (0.0, 1.0),
    "agreement_unbiased": (0.0, 1.0),
}
MEASURES = tuple(RANGES)
"""The order of the measures in `measures_of_sums`."""

NOT_MEANS = ("between_variance", "pvap", "pvap_pooled")

UNBIASED = {
    "paraphrastic_consistency": "paraphrastic_consistency_unbiased",
    "vap": "vap_unbiased",
    "agreement": "agreement_unbiased",
}
"""Plug-in measure to its unbiased one; these are over buckets with two paraphrases."""

PAIRS = 6
"""The column of `bucket_sums` that counts buckets with two paraphrases."""


def bucket_sums(counts: BucketCounts) -> npt.NDArray[np.float64]:
    """Return what each bucket adds to the sums that every measure is a function of, shape (n_buckets, 10).

    With k paraphrases of which c are right, theta = c/k, and s ordered pairs with the same label: 1, k, c,
    theta, theta^2, theta (1 - theta), [k >= 2], 2c(k-c)/(k(k-1)), s/k^2, (k^2-s)/(k(k-1)). The two with
    k(k-1), which are the chances that two different paraphrases differ in correctness and in label, are 0 for
    k = 1.
    """
    k, c, s = (column.astype(np.float64) for column in (counts.size, counts.correct, counts.same_label))
    theta = c / k
    pairs = k * (k - 1.0)
    has_pair = pairs > 0.0
    pairs[~has_pair] = 1.0
    return np.stack(
        [
            np.ones_like(k),
            k,
            c,
            theta,
            theta**2,
            c * (k - c) / k**2,
            has_pair,
            2.0 * c * (k - c) / pairs,
            s / k**2,
            np.where(has_pair, (k**2 - s) / pairs, 0.0),
        ],
        axis=1,
    )


def measures_of_sums(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the measures named in `MEASURES`, shape (..., 11), from sums over buckets, shape (..., 10)."""
    n, k, c, theta, theta_squared, within, with_pair, differ, same, differ_in_label = np.moveaxis(sums, -1, 0)
    bucket_accuracy, accuracy, vap = theta / n, c / k, within / n
    between = theta_squared / n - bucket_accuracy**2
    p_differ = differ / with_pair
    return np.stack(
        [
            1.0 - 2.0 * vap,
            1.0 - p_differ,
            accuracy,
            bucket_accuracy,
            vap,
            p_differ / 2.0,
            between,
            vap / (vap + between),
            vap / (accuracy * (1.0 - accuracy)),
            same / n,
            1.0 - differ_in_label / with_pair,
        ],
        axis=-1,
    )


def minimum_consistency(bucket_accuracy: float) -> float:
    """Return the least plug-in P_C of a model with this *bucket* accuracy a: 1 - 2a(1-a) [S24].

    >>> minimum_consistency(0.5), minimum_consistency(1.0)
    (0.5, 1.0)
    """
    return 1.0 - 2.0 * bucket_accuracy * (1.0 - bucket_accuracy)


def point_measures(total: npt.NDArray[np.float64]) -> dict[str, float]:
    """Return the measures by name from the sums over all buckets; nan where undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = measures_of_sums(total)
    bounds = np.array(list(RANGES.values())).T
    return dict(zip(MEASURES, np.clip(values, *bounds).tolist(), strict=True))


def measures_of_counts(counts: BucketCounts) -> dict[str, float]:
    """Return every measure of `MEASURES` and the minimum P_C from counts alone, without intervals.

    >>> values = measures_of_counts(BucketCounts.from_counts(size=[4, 2], correct=[3, 2]))
    >>> values["paraphrastic_consistency"], values["paraphrastic_consistency_unbiased"]
    (0.8125, 0.75)
    """
    first, _, multiplicity = distinct(counts.size, counts.correct, counts.same_label)
    return point_measures(multiplicity @ bucket_sums(counts.take(first)))
