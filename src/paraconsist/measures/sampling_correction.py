"""Correction for stratified sampling: the measures on the test set that the buckets were drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paraconsist.errors import input_error
from paraconsist.measures._validation import as_probabilities
from paraconsist.measures.buckets import BucketCounts

N_DECILES = 10


class Corrected(NamedTuple):
    """The corrected measures; every one nan where no decile of the test set holds a bucket."""

    corrected_accuracy: float
    corrected_paraphrastic_consistency: float
    corrected_vap: float
    corrected_between_variance: float
    corrected_pvap: float
    covered_mass: float


CORRECTED = Corrected._fields[:-1]
"""The order of the measures in `DecileWeights.estimate`."""


def deciles(confidences: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the confidence deciles 0..9: equal bins on [0, 1], the last one closed."""
    tenths = np.floor(10.0 * np.asarray(confidences, dtype=np.float64)).astype(np.int64)
    return np.minimum(tenths, N_DECILES - 1)


def decile_weights(
    test_confidences: Any, *, function: str = "decile_weights", parameter: str = "test_confidences"
) -> npt.NDArray[np.float64]:
    """Return the share of the test set in each decile of confidence in the gold label, shape (10,).

    Raises
    ------
    InputError
        If a confidence is missing or outside [0, 1].
    """
    confidences = as_probabilities(test_confidences, function=function, parameter=parameter)
    shares: npt.NDArray[np.float64] = np.bincount(deciles(confidences), minlength=N_DECILES) / len(confidences)
    return shares


@dataclass(frozen=True)
class DecileWeights:
    """The deciles that hold both buckets and test rows, and their weights, shape (d,).

    `weight` is the decile's share of the test set, divided by `covered_mass` (the share in these) if renormalised.
    """

    decile: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    covered_mass: float

    @classmethod
    def from_sample(
        cls, bucket_deciles: npt.NDArray[np.int64], test_weights: npt.NDArray[np.float64], renormalize: bool
    ) -> DecileWeights:
        """Return the weights from each bucket's decile and each decile's share of the test set."""
        has_buckets = np.bincount(bucket_deciles, minlength=N_DECILES) > 0
        covered = np.flatnonzero(has_buckets & (test_weights > 0.0))
        weight = test_weights[covered]
        mass = float(weight.sum())
        return cls(covered, weight / mass if renormalize and mass > 0.0 else weight, mass)

    def count_buckets(self, bucket_deciles: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """Return the number of buckets in each of these deciles, shape (d,)."""
        return np.bincount(bucket_deciles, minlength=N_DECILES)[self.decile]

    def sums(self, theta: npt.NDArray[np.float64], decile: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return each bucket's (1, theta, theta^2) in the columns of its decile, shape (n, 3 d)."""
        inside = (decile[:, np.newaxis] == self.decile).astype(np.float64)
        powers = np.stack([np.ones_like(theta), theta, theta**2], axis=1)
        blocks: npt.NDArray[np.float64] = inside[:, :, np.newaxis] * powers[:, np.newaxis, :]
        return blocks.reshape(len(theta), -1)

    def estimate(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the measures named in `CORRECTED` from the sums over buckets, shape (..., 5)."""
        by_decile = sums.reshape(*sums.shape[:-1], len(self.weight), 3)
        theta = (by_decile[..., 1] / by_decile[..., 0]) @ self.weight
        theta_squared = (by_decile[..., 2] / by_decile[..., 0]) @ self.weight
        vap = theta - theta_squared
        between = theta_squared - theta**2
        consistency = self.weight.sum() - 2.0 * vap
        return np.stack([theta, consistency, vap, between, vap / (vap + between)], axis=-1)


def correct_for_sampling(
    counts: BucketCounts, original_confidences: Any, test_confidences: Any, *, renormalize: bool = False
) -> Corrected:
    """Correct the measures for buckets that were drawn evenly over the model's confidence [S24].

    Buckets chosen evenly over deciles of confidence are harder than the test set; weighting each decile by
    its share of the test set tells what the measures would be there.

    ``f~ = sum_d w_d mean{f_b : b in decile d}``, with w_d the share of the test set whose confidence in the
    gold label is in decile d, and a bucket's decile that of its original. Then A~ = theta~, P~_C = (theta^2)~
    + ((1-theta)^2)~, VAP~ = (theta (1-theta))~, between variance (theta^2)~ - A~^2, PVAP~ = VAP~ / (VAP~ +
    between).

    Parameters
    ----------
    counts : BucketCounts
    original_confidences : array_like, shape (n_buckets,)
        The model's confidence in the gold label of each bucket's original.
    test_confidences : array_like, shape (n_test,)
        Its confidences in the gold labels of the test set.
    renormalize : bool, default False
        As published, test mass in deciles without a bucket is lost and every value is too low by that share;
        True divides by the covered mass.

    Returns
    -------
    Corrected

    Raises
    ------
    InputError
        If a confidence is outside [0, 1], or there is not one per bucket.

    Examples
    --------
    Two buckets, always right where the model is sure, half right where it is not; 3 test rows in 4 are sure
    ones:

    >>> counts = BucketCounts.from_counts(size=[4, 4], correct=[4, 2])
    >>> corrected = correct_for_sampling(counts, [0.95, 0.55], [0.99, 0.98, 0.97, 0.51])
    >>> corrected.corrected_accuracy, corrected.corrected_paraphrastic_consistency
    (0.875, 0.875)
    """
    function = "correct_for_sampling"
    originals = as_probabilities(original_confidences, function=function, parameter="original_confidences")
    if len(originals) != len(counts):
        must = f"have one value per bucket ({len(counts)})"
        raise input_error(function, "original_confidences", must, got=f"{len(originals)} values")
    bucket_deciles = deciles(originals)
    test_weights = decile_weights(test_confidences, function=function)
    weights = DecileWeights.from_sample(bucket_deciles, test_weights, renormalize)
    theta = counts.correct / counts.size
    return corrected_point(weights, weights.sums(theta, bucket_deciles).sum(axis=0))


def corrected_point(weights: DecileWeights, total: npt.NDArray[np.float64]) -> Corrected:
    """Return the corrected measures from the sums over all buckets."""
    if weights.covered_mass == 0.0:
        return Corrected._make([np.nan] * 5 + [0.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.clip(weights.estimate(total), 0.0, 1.0)  # rounding alone can lead out of [0, 1]
    return Corrected._make([*values.tolist(), min(weights.covered_mass, 1.0)])
