"""Correction for stratified sampling: the measures on the test set that the buckets were drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paraconsist.measures._validation import Integers, as_probabilities
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.intervals import FEW_UNITS, stratified_interval
from paraconsist.measures.resampling import NO_SPREAD

N_DECILES = 10


LEAST_MASS = 0.99
"""Below this share of the test set in deciles with buckets, corrected values have no interval: none would hold."""


class Corrected(NamedTuple):
    """The corrected measures; every one nan where no decile of the test set holds a bucket."""

    corrected_accuracy: float
    corrected_paraphrastic_consistency: float
    corrected_paraphrastic_consistency_unbiased: float
    corrected_vap: float
    corrected_between_variance: float
    corrected_pvap: float
    covered_mass: float


def deciles(confidences: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the confidence deciles 0..9: equal bins on [0, 1], the last one closed."""
    tenths = np.floor(10.0 * np.asarray(confidences, dtype=np.float64)).astype(np.int64)
    return np.minimum(tenths, N_DECILES - 1)


def decile_weights(test_confidences: Any, *, function: str = "decile_weights") -> npt.NDArray[np.float64]:
    """Return the share of the test set in each decile of confidence in the gold label, shape (10,).

    Raises
    ------
    InputError
        If a confidence is missing or outside [0, 1].
    """
    confidences = as_probabilities(test_confidences, function=function, parameter="test_confidences")
    shares: npt.NDArray[np.float64] = np.bincount(deciles(confidences), minlength=N_DECILES) / len(confidences)
    return shares


@dataclass(frozen=True)
class Stratified:
    """Values of n buckets, and the d deciles that hold both buckets and test rows."""

    values: npt.NDArray[np.float64]  # one for each bucket of these deciles, shape (n,)
    stratum: npt.NDArray[np.int64]  # the decile of each, from 0
    weights: npt.NDArray[np.float64]  # the share of the test set in each of these deciles, over `mass`, shape (d,)
    mass: float  # the share of the test set in these deciles
    used: npt.NDArray[np.bool_]  # which of all buckets these are

    @classmethod
    def of(
        cls, values: npt.NDArray[np.float64], decile: npt.NDArray[np.int64], test_weights: npt.NDArray[np.float64]
    ) -> Stratified:
        """Return what is left of buckets; a value that is nan is not there."""
        used = np.isfinite(values) & (test_weights[decile] > 0.0)
        covered, stratum = np.unique(decile[used], return_inverse=True)
        mass = float(test_weights[covered].sum())
        return cls(values[used], stratum, test_weights[covered] / (mass or 1.0), mass, used)

    @property
    def n_in_stratum(self) -> npt.NDArray[np.intp]:
        """The number of buckets in each decile, shape (d,)."""
        return np.bincount(self.stratum)

    @property
    def mean(self) -> float:
        """The weighted mean of the deciles' means; nan where there is none."""
        if not len(self.values):
            return float("nan")
        return float(self.weights @ (np.bincount(self.stratum, weights=self.values) / self.n_in_stratum))

    def n_units(self, groups: Integers | None) -> int:
        """Return the number of independent units: buckets, or their groups (codes of all buckets)."""
        return len(self.values) if groups is None else len(np.unique(groups[self.used]))

    def interval(
        self, groups: Integers | None, lowest: float, confidence_level: float
    ) -> tuple[tuple[float, float], float, float]:
        """Return an interval for `mean` (nan where none would hold), its standard error and its design effect."""
        nothing, n_units = (float("nan"), float("nan")), self.n_units(groups)
        if n_units == 0:
            return nothing, float("nan"), float("nan")
        error, effect = self.standard_error(groups)
        if self.mass < LEAST_MASS or n_units < FEW_UNITS:
            return nothing, error, effect
        widened = effect if effect > 1.0 else 1.0
        ends = stratified_interval(self.values, self.stratum, self.weights, lowest, widened, confidence_level)
        return ends, error, effect

    def standard_error(self, groups: Integers | None) -> tuple[float, float]:
        """Return the standard error of `mean`, and the design effect of `groups` (codes of all buckets)."""
        n = self.n_in_stratum
        means = np.bincount(self.stratum, weights=self.values) / n
        influence = (self.weights / n)[self.stratum] * (self.values - means[self.stratum])
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(n > 1, n / (n - 1.0), 0.0)
        independent = float(factor[self.stratum] @ influence**2)
        if groups is None or independent == 0.0:
            return independent**0.5, 1.0 if independent else float("nan")
        of_group = groups[self.used]
        n_groups = len(np.unique(of_group))
        clustered = float((np.bincount(of_group, weights=influence) ** 2).sum()) * n_groups / max(n_groups - 1, 1)
        return clustered**0.5, clustered / independent


def bucket_values(counts: BucketCounts) -> npt.NDArray[np.float64]:
    """Return each bucket's theta, P_C and unbiased P_C (nan for one paraphrase), shape (3, n_buckets)."""
    k, c = counts.size.astype(np.float64), counts.correct.astype(np.float64)
    theta = c / k
    with np.errstate(divide="ignore", invalid="ignore"):
        unbiased = 1.0 - 2.0 * c * (k - c) / (k * (k - 1.0))
    return np.stack([theta, theta**2 + (1.0 - theta) ** 2, unbiased])


def corrected_values(theta: Stratified, plugin: Stratified, unbiased: Stratified, *, renormalize: bool) -> Corrected:
    """Correct the measures for buckets that were drawn evenly over the model's confidence [S24].

    Buckets chosen evenly over deciles of confidence are harder than the test set; weighting each decile by its share of
    the test set tells what the measures would be there. The strata are of the buckets' theta, P_C and unbiased P_C.

    ``f~ = sum_d w_d mean{f_b : b in decile d}``, with w_d the share of the test set whose confidence in the gold label
    is in decile d, and a bucket's decile that of its original. Then A~ = theta~, P~_C = (theta^2)~ + ((1-theta)^2)~,
    VAP~ = (theta (1-theta))~, between variance (theta^2)~ - A~^2. PVAP~ = VAP~ / (VAP~ + between variance) is of
    renormalised values always, since its two parts make up the whole variance only if the weights sum to 1; so is the
    unbiased P~_C, over buckets of two paraphrases.

    As published, test mass in deciles without a bucket is lost and every value is too low by that share; `renormalize`
    divides by the covered mass.
    """
    mass = theta.mass
    if mass == 0.0:
        return Corrected._make([np.nan] * 6 + [0.0])
    mean, vap = theta.mean, (1.0 - plugin.mean) / 2.0
    total = mean * (1.0 - mean)
    by = 1.0 if renormalize else mass
    return Corrected(
        corrected_accuracy=by * mean,
        corrected_paraphrastic_consistency=by * plugin.mean,
        corrected_paraphrastic_consistency_unbiased=unbiased.mean,
        corrected_vap=by * vap,
        corrected_between_variance=max(by * (mean - vap) - (by * mean) ** 2, 0.0),
        corrected_pvap=min(vap / total, 1.0) if total > NO_SPREAD else np.nan,
        covered_mass=min(mass, 1.0),
    )
