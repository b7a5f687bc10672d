"""A model of the buckets: how the shares of right answers are spread, when each is seen in a few paraphrases only.

The share theta of right answers differs from bucket to bucket as a beta distribution with mean mu and intraclass
correlation rho (the share of the variance of correctness that lies between buckets); of k paraphrases a binomial
number c is right. Maximum likelihood finds the two from counts of any sizes. What comes of it does not depend on how
many paraphrases a bucket happens to have: `BucketModel.consistency`, and the values of single buckets shrunk towards
what buckets are like (`BucketModel.shrink`), by which a bucket that fails in one of two paraphrases does not rank
above one that fails in five of ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, chdtrc, gammaln

from paraconsist.errors import check_number, input_error
from paraconsist.measures.array_types import Floats, Whole
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.intervals import distinct

_STARTS = (0.1, 0.6)
_LEAST_EXPECTED = 5.0  # buckets in a cell of the fit check


@dataclass(frozen=True)
class ShrunkenBuckets:
    """The posterior of each bucket given its counts; arrays of shape (n_buckets,)."""

    share: Floats  # posterior mean of theta
    low: Floats  # Equal-tailed posterior interval of theta, for the fitted mu and rho.
    high: Floats
    differing: Floats  # posterior mean of 2 theta (1 - theta), the chance that of two further paraphrases one is right


@dataclass(frozen=True)
class BucketModel:
    """A beta-binomial model; see `fit_bucket_model`."""

    mean: float  # mu, the mean of theta over buckets
    #: rho in [0, 1]: 0 where all buckets have one theta, 1 where each is right or wrong in all its wordings. nan where
    #: no bucket has two paraphrases, or all answers are right, or all are wrong.
    correlation: float
    log_likelihood: float  # of the counts, at the maximum
    n_buckets: int
    #: Pearson's chi-square of the numbers of buckets with c of k right, cells with less than 5 expected joined; nan
    #: where too few cells are left. A small p means that thetas do not have a beta distribution: do not read
    #: `shrink` and `consistency` without the moments.
    fit_statistic: float
    fit_degrees_of_freedom: int
    fit_p_value: float

    @property
    def consistency(self) -> float:
        """P_C of two different paraphrases of a new bucket, 1 - 2 mu (1 - mu) (1 - rho); nan where rho is."""
        return 1.0 - 2.0 * self.mean * (1.0 - self.mean) * (1.0 - self.correlation)

    def probabilities(self, k: int) -> Floats:
        """Return the chance of each number of right answers in k of a new bucket, shape (k + 1,); nan where rho is."""
        return _probabilities(k, self.mean, self.correlation)

    def shrink(self, size: Any, correct: Any, confidence_level: float = 0.95) -> ShrunkenBuckets:
        """Return what buckets with these counts, shape (n_buckets,), are, having seen all others; nan where rho is.

        The intervals take mu and rho as known; with rho = 0 or 1 they have no width.
        """
        k, c = (np.asarray(column, dtype=np.int64) for column in (size, correct))
        if len(k) == 0:
            nothing = np.zeros(0)
            return ShrunkenBuckets(nothing, nothing, nothing, nothing)
        index, pattern, _ = distinct(k, c)
        # a beta distribution with parameters alpha and beta, times 1 - rho and rho so that neither end divides by 0
        rho = self.correlation
        alpha = self.mean * (1.0 - rho) + c[index] * rho
        beta = (1.0 - self.mean) * (1.0 - rho) + (k - c)[index] * rho
        total = alpha + beta
        share = alpha / total
        differing = 2.0 * alpha * beta / (total * (total + rho))
        tail = (1.0 - confidence_level) / 2.0
        low = high = share
        if 0.0 < rho < 1.0:
            low, high = (np.asarray(betaincinv(alpha / rho, beta / rho, p), np.float64) for p in (tail, 1.0 - tail))
        return ShrunkenBuckets(*(column[pattern] for column in (share, low, high, differing)))


def fit_bucket_model(counts: BucketCounts) -> BucketModel:
    r"""Fit a beta-binomial model to the numbers of right answers by maximum likelihood.

    .. math:: P(c \mid k) = \binom{k}{c} \frac{\prod_{j<c} (\mu (1-\rho) + j \rho)
              \prod_{j<k-c} ((1-\mu)(1-\rho) + j \rho)}{\prod_{j<k} (1 - \rho + j \rho)}

    Parameters
    ----------
    counts : BucketCounts
        Only `size` and `correct` are read; distinct pairs of them are taken once, so that 100,000 buckets cost no more
        than their number of different counts.

    Returns
    -------
    BucketModel
        Counts that vary less than binomial ones have a maximum at rho = 0, buckets that are each all right or all wrong
        at rho = 1.

    References
    ----------
    Griffiths (1973), "Maximum likelihood estimation for the beta-binomial distribution and an application to the
    household distribution of the total number of cases of a disease", Biometrics 29, 637-648.

    Examples
    --------
    >>> counts = BucketCounts.from_counts(size=[4, 4, 4, 4, 2, 2], correct=[4, 4, 3, 0, 2, 1])
    >>> model = fit_bucket_model(counts)
    >>> round(model.mean, 3), round(model.correlation, 3), round(model.consistency, 3)
    (0.689, 0.525, 0.797)

    One right answer in two is weaker evidence than none in four:

    >>> model.shrink([2, 4, 4], [1, 0, 4]).share.round(2).tolist()
    [0.56, 0.13, 0.94]
    """
    if not isinstance(counts, BucketCounts):
        raise input_error("fit_bucket_model", "counts", "be `BucketCounts`", got=counts)
    index, _, multiplicity = distinct(counts.size, counts.correct)
    k, c = counts.size[index], counts.correct[index]
    mean, correlation, height = _maximum(k, c, multiplicity)
    fit = (float("nan"), 0, float("nan"))
    if not np.isnan(correlation):
        fit = _check_fit(k, c, multiplicity, mean, correlation)
    return BucketModel(mean, correlation, float(multiplicity @ log_binomial(k, c)) + height, len(counts), *fit)


def consistency_at(consistency: float, k: float) -> float:
    """Return what the published P_C would be if every bucket had k paraphrases, from the unbiased one.

    The published (plug-in) estimator pairs each paraphrase with itself too, 1/k of all pairs, and these agree: sets of
    different bucket sizes compare only at one k. The unbiased one is the same for all k, and the limit of this.

    >>> consistency_at(0.5, 2), consistency_at(0.5, 8)
    (0.75, 0.5625)
    """
    share = check_number("consistency_at", "consistency", consistency, -1.0, 1.0)
    size = check_number("consistency_at", "k", k, 1.0, float("inf"))
    return 1.0 - (1.0 - share) * (1.0 - 1.0 / size)


def _height(k: Whole, c: Whole, multiplicity: npt.NDArray[np.intp], mean: Any, rho: Any) -> Any:
    """Return the log likelihood of mu and rho, which may be complex, without the binomial coefficients."""
    right, wrong, whole = (np.append(0.0, np.log(terms).cumsum()) for terms in _factors(int(k.max()), mean, rho))
    return multiplicity @ (right[c] + wrong[k - c] - whole[k])


def _factors(k: int, mean: Any, rho: Any) -> tuple[npt.NDArray[Any], ...]:
    """Return the factors of j = 0 to k - 1 in the chance of right answers, of wrong ones, and below the line."""
    rest, j = 1.0 - rho, np.arange(k) * rho
    return mean * rest + j, (1.0 - mean) * rest + j, rest + j


def _maximum(k: Whole, c: Whole, multiplicity: npt.NDArray[np.intp]) -> tuple[float, float, float]:
    """Return the mu and rho of the highest likelihood, and its height; rho is nan where it does not matter."""
    from scipy.optimize import minimize  # takes longer to import than all measures together

    n, counts = int(multiplicity.sum()), (k, c, multiplicity)
    overall = float(multiplicity @ c / (multiplicity @ k))
    if overall in (0.0, 1.0):
        return overall, float("nan"), 0.0
    if k.max() == 1:
        return overall, float("nan"), float(_height(*counts, overall, 0.0))
    if not ((c > 0) & (c < k)).any():  # each bucket is right or wrong as a whole: the terms of j = 0 are mu and 1 - mu
        share = float(multiplicity @ (c > 0)) / n
        return share, 1.0, n * float(share * np.log(share) + (1.0 - share) * np.log(1.0 - share))
    best, edge, step = (overall, 0.0, float(_height(*counts, overall, 0.0))), 1e-9, 1e-20

    def fall(point: Floats) -> tuple[float, Floats]:
        """Return what is minimised, and its slopes (by the complex step, exact to rounding)."""
        mean, rho = point.tolist()
        slopes = [_height(*counts, mean + 1j * step, rho).imag, _height(*counts, mean, rho + 1j * step).imag]
        return -float(_height(*counts, mean, rho)) / n, -np.array(slopes) / step / n

    for start in _STARTS:
        result = minimize(
            fall,
            np.array([overall, start]),
            jac=True,
            bounds=[(edge, 1.0 - edge), (0.0, 1.0 - edge)],
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-10},
        )
        mean, rho = result.x.tolist()
        if (height := float(_height(*counts, mean, rho))) > best[2] + 1e-9:
            best = mean, rho, height
    return best


def _check_fit(
    k: Whole, c: Whole, multiplicity: npt.NDArray[np.intp], mean: float, rho: float
) -> tuple[float, int, float]:
    """Return Pearson's chi-square over cells (k, c), joined where few are expected, its degrees of freedom and p."""
    statistic, freedom = 0.0, -2
    for size in np.unique(k):
        of_size = k == size
        observed = np.bincount(c[of_size], weights=multiplicity[of_size], minlength=int(size) + 1)
        expected = observed.sum() * _probabilities(int(size), mean, rho)
        cells = _join(expected)
        observed, expected = (np.bincount(cells, weights=column) for column in (observed, expected))
        statistic += float(((observed - expected) ** 2 / expected).sum())
        freedom += len(expected) - 1
    if freedom < 1:
        return float("nan"), 0, float("nan")
    return statistic, freedom, float(chdtrc(freedom, statistic))


def _probabilities(k: int, mean: float, rho: float) -> Floats:
    """Return the chance of each number of right answers in k, shape (k + 1,)."""
    if rho == 1.0:
        ends = np.zeros(k + 1)
        ends[0], ends[k] = 1.0 - mean, mean
        return ends
    right, wrong, whole = (np.append(0.0, np.log(terms).cumsum()) for terms in _factors(k, mean, rho))
    return np.asarray(np.exp(log_binomial(k, np.arange(k + 1)) + right + wrong[::-1] - whole[k]))


def log_binomial(n: Any, k: Any) -> Any:
    """Return the logarithm of the binomial coefficient; n and k are numbers or arrays of one shape."""
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def _join(expected: Floats) -> npt.NDArray[np.intp]:
    """Return the cell of each value: neighbours are joined until each cell expects enough."""
    cells, cell, weight = np.zeros(len(expected), dtype=np.intp), 0, 0.0
    for i, value in enumerate(expected.tolist()):
        cells[i] = cell
        weight += value
        if weight >= _LEAST_EXPECTED:
            cell, weight = cell + 1, 0.0
    cells[cells == cell] = max(cell - 1, 0)
    return cells
