"""The beta-binomial model of the buckets: against scipy's distribution, other optimisers, moments and simulation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import betabinom

from paraconsist.measures.bucket_model import BucketModel, consistency_at, fit_bucket_model
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.paraphrastic import measures_of_counts


def draw(seed: int, sizes: np.ndarray, mean: float, rho: float) -> BucketCounts:
    rng = np.random.default_rng(seed)
    theta = (
        np.full(len(sizes), mean) if rho == 0 else rng.beta(*(np.array([mean, 1 - mean]) * (1 - rho) / rho), len(sizes))
    )
    return BucketCounts.from_counts(sizes, rng.binomial(sizes, theta))


def log_likelihood(counts: BucketCounts, mean: float, rho: float) -> float:
    alpha, beta = mean * (1 - rho) / rho, (1 - mean) * (1 - rho) / rho
    return float(betabinom.logpmf(counts.correct, counts.size, alpha, beta).sum())


@pytest.mark.parametrize("seed", range(6))
def test_the_maximum_is_that_of_scipys_distribution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = draw(seed, rng.integers(1, 9, 80), float(rng.uniform(0.2, 0.9)), float(rng.uniform(0.1, 0.8)))
    model = fit_bucket_model(counts)
    assert model.log_likelihood == pytest.approx(log_likelihood(counts, model.mean, model.correlation), abs=1e-7)
    other = minimize(
        lambda x: -log_likelihood(counts, *(1 / (1 + np.exp(-x)))),
        [0.5, 0.0],
        method="Nelder-Mead",
        options={"xatol": 1e-7},
    )
    assert model.log_likelihood >= -other.fun - 1e-6
    assert (model.mean, model.correlation) == pytest.approx(tuple(1 / (1 + np.exp(-other.x))), abs=1e-3)


def test_estimates_are_near_the_truth_whatever_the_sizes() -> None:
    sizes = np.random.default_rng(0).integers(1, 10, 4000)
    model = fit_bucket_model(draw(1, sizes, 0.7, 0.4))
    assert (model.mean, model.correlation) == pytest.approx((0.7, 0.4), abs=0.02)
    assert model.consistency == pytest.approx(1 - 2 * 0.7 * 0.3 * 0.6, abs=0.01)
    assert model.n_buckets == 4000


def test_for_buckets_of_two_it_is_the_moments() -> None:
    """Three kinds of buckets and two parameters: the fit is exact, and P_C that of the unbiased estimator."""
    counts = BucketCounts.from_counts([2] * 40, [2] * 22 + [1] * 8 + [0] * 10)
    model = fit_bucket_model(counts)
    assert model.consistency == pytest.approx(measures_of_counts(counts)["paraphrastic_consistency_unbiased"], abs=1e-7)
    assert model.mean == pytest.approx(52 / 80, abs=1e-7)
    assert np.isnan(model.fit_p_value)


@pytest.mark.parametrize(
    ("sizes", "correct", "mean", "correlation"),
    [
        ([3, 3, 2], [3, 3, 2], 1.0, np.nan),
        ([3, 3, 2], [0, 0, 0], 0.0, np.nan),
        ([1, 1, 1, 1], [1, 1, 1, 0], 0.75, np.nan),
        ([4, 3, 4, 2], [4, 0, 4, 2], 0.75, 1.0),
        ([2] * 6, [1] * 6, 0.5, 0.0),
        ([4] * 6, [2, 1, 3, 2, 2, 2], 0.5, 0.0),
    ],
    ids=["all right", "all wrong", "one paraphrase", "all or nothing", "always one of two", "less than binomial"],
)
def test_the_ends(sizes: list[int], correct: list[int], mean: float, correlation: float) -> None:
    model = fit_bucket_model(BucketCounts.from_counts(sizes, correct))
    assert model.mean == pytest.approx(mean, abs=1e-9)
    assert model.correlation == pytest.approx(correlation, abs=1e-9, nan_ok=True)
    assert np.isfinite(model.log_likelihood)
    assert model.log_likelihood <= 1e-12
    assert np.isnan(model.shrink([4, 4], [3, 4]).share).all() == np.isnan(correlation)


def test_shrunken_values_are_posterior_means() -> None:
    mean, rho = 0.7, 0.4
    shrunken = BucketModel(mean, rho, 0.0, 1, 0.0, 0, 0.0).shrink([2, 10, 4], [1, 5, 0])
    grid = (np.arange(200_000) + 0.5) / 200_000
    alpha, beta = mean * (1 - rho) / rho, (1 - mean) * (1 - rho) / rho
    for i, (k, c) in enumerate([(2, 1), (10, 5), (4, 0)]):
        weight = grid ** (alpha + c - 1) * (1 - grid) ** (beta + k - c - 1)
        weight /= weight.sum()
        assert shrunken.share[i] == pytest.approx(weight @ grid, abs=1e-4)
        assert shrunken.differing[i] == pytest.approx(weight @ (2 * grid * (1 - grid)), abs=1e-4)
        assert weight[grid < shrunken.low[i]].sum() == pytest.approx(0.025, abs=1e-3)
        assert weight[grid > shrunken.high[i]].sum() == pytest.approx(0.025, abs=1e-3)


def test_a_small_bucket_does_not_lead_the_list() -> None:
    """One of two and five of ten both have theta 1/2; only the second has shown that wording decides it."""
    counts = draw(2, np.random.default_rng(2).integers(2, 11, 300), 0.9, 0.5)
    shrunken = fit_bucket_model(counts).shrink([2, 10], [1, 5])
    assert shrunken.differing[1] > shrunken.differing[0]
    assert shrunken.high[1] - shrunken.low[1] < shrunken.high[0] - shrunken.low[0]


def test_shrunken_values_are_nearer_the_truth_than_shares() -> None:
    rng = np.random.default_rng(3)
    theta = rng.beta(2.0, 1.0, 2000)
    sizes = rng.integers(2, 6, 2000)
    correct = rng.binomial(sizes, theta)
    shrunken = fit_bucket_model(BucketCounts.from_counts(sizes, correct)).shrink(sizes, correct)
    assert np.mean((shrunken.share - theta) ** 2) < 0.7 * np.mean((correct / sizes - theta) ** 2)
    inside = (shrunken.low <= theta) & (theta <= shrunken.high)
    assert 0.93 <= inside.mean() <= 0.97


def test_the_fit_check_is_about_nominal_and_finds_two_kinds_of_buckets() -> None:
    p_values = [fit_bucket_model(draw(seed, np.full(250, 6), 0.7, 0.4)).fit_p_value for seed in range(120)]
    assert 0.01 <= np.mean(np.array(p_values) < 0.05) <= 0.1
    rng = np.random.default_rng(4)
    kinds = np.where(rng.random(400) < 0.5, 0.25, 0.75)
    assert fit_bucket_model(BucketCounts.from_counts([12] * 400, rng.binomial(12, kinds))).fit_p_value < 1e-3


def test_consistency_at_one_number_of_paraphrases() -> None:
    """The published estimator's mean over simulated sets of k, from the unbiased one of another set."""
    reference = measures_of_counts(draw(5, np.full(20_000, 12), 0.7, 0.4))["paraphrastic_consistency_unbiased"]
    for k in (2, 5):
        published = measures_of_counts(draw(6, np.full(20_000, k), 0.7, 0.4))["paraphrastic_consistency"]
        assert consistency_at(reference, k) == pytest.approx(published, abs=0.008)


def test_equal_counts_are_taken_once() -> None:
    counts = draw(7, np.full(100_000, 6), 0.8, 0.3)
    once = fit_bucket_model(BucketCounts.from_counts(np.repeat(np.arange(2, 7), 3), [0, 1, 2] * 5))
    model = fit_bucket_model(counts)
    assert (model.mean, model.correlation) == pytest.approx((0.8, 0.3), abs=0.01)
    assert once.n_buckets == 15
    order = np.random.default_rng(8).permutation(100_000)
    assert fit_bucket_model(counts.take(order)) == model
