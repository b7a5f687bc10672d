"""What must not change the IE test, the ranges of its numbers, and the long sums behind its p-values."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from helpers.examples import examples
from helpers.invariance import REPLAYS, answers, counts, naive_tails
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from paraconsist.measures import paired_tests
from paraconsist.measures.ie_test import METHODS, ie_test
from paraconsist.measures.paired_tests import (
    TRUNCATION_ERROR,
    exact_p_value,
    mcnemar_p_value,
    mcnemar_resampled_p_value,
    paired_difference_interval,
    paired_statistic,
    resampled_p_value,
)

# ----------------------------------------------------------------------------- invariances


@examples(500)
@given(counts(most=300))
def test_swapping_the_versions(given_counts):
    """Mid-p and McNemar do not change, t and the interval change sign; eq. 14 has no such symmetry."""
    n, n10, n01 = given_counts
    assert exact_p_value(n, n10, n01) == exact_p_value(n, n01, n10)
    assert mcnemar_p_value(n10, n01) == mcnemar_p_value(n01, n10)
    assert paired_statistic(n, n10, n01) == pytest.approx(-paired_statistic(n, n01, n10), nan_ok=True)
    low, high = paired_difference_interval(n, n10, n01)
    assert paired_difference_interval(n, n01, n10) == (-high, -low)


def test_equation_14_is_not_symmetric():
    assert exact_p_value(50, 3, 0, ties="lower") < 0.05 < exact_p_value(50, 0, 3, ties="lower")


@examples(300)
@given(answers(), st.randoms(use_true_random=False), st.sampled_from([m for m in METHODS if m not in REPLAYS]))
def test_order_and_names_do_not_matter(rows, random, method):
    expected = ie_test(*rows[:3], runs=rows[3], method=method, n_resamples=50)
    order = list(range(len(rows[0])))
    random.shuffle(order)
    shuffled = [[column[i] for i in order] for column in rows]
    again = ie_test(*shuffled[:3], runs=shuffled[3], method=method, n_resamples=50)
    assert json.dumps(again.to_dict()) == json.dumps(expected.to_dict())
    labels = {label: i for i, label in enumerate(sorted(set(itertools.chain(*rows[:3]))))}
    renamed = [[labels[label] for label in column] for column in rows[:3]]
    again = ie_test(*renamed, runs=rows[3], method=method, n_resamples=50)
    assert json.dumps(again.to_dict()) == json.dumps(expected.to_dict())


@examples(300)
@given(counts(most=60), st.integers(2, 5))
def test_duplication(given_counts, times):
    """The whole set k times: t grows by sqrt(k), the accuracies stay, and the interval shrinks."""
    n, n10, n01 = given_counts
    once, more = paired_statistic(n, n10, n01), paired_statistic(times * n, times * n10, times * n01)
    assert more == pytest.approx(math.sqrt(times) * once, rel=1e-12, nan_ok=True)
    low, high = paired_difference_interval(n, n10, n01)
    low_more, high_more = paired_difference_interval(times * n, times * n10, times * n01)
    assert low - 1e-12 <= low_more <= high_more <= high + 1e-12


@examples(500)
@given(counts(most=400), st.floats(0.5, 0.999))
def test_ranges_and_interval(given_counts, level):
    n, n10, n01 = given_counts
    for ties in ("mid", "lower"):
        assert 0 <= exact_p_value(n, n10, n01, ties=ties) <= 1
    low, high = paired_difference_interval(n, n10, n01, confidence_level=level)
    assert -1 <= low <= (n10 - n01) / n <= high <= 1
    if n10 + n01:  # Tango's test at 0 is McNemar's
        z = stats.norm.ppf(0.5 + level / 2)
        ratio = (n10 - n01) ** 2 / (n10 + n01) / z**2
        if abs(ratio - 1) > 1e-9:
            assert (low <= 0 <= high) == (ratio < 1)


def test_interval_where_nothing_changed():
    """With D = 0 the score interval is plus or minus z^2 / (n + z^2)."""
    z2 = stats.norm.ppf(0.975) ** 2
    low, high = paired_difference_interval(80, 0, 0)
    assert (low, high) == pytest.approx((-z2 / (80 + z2), z2 / (80 + z2)), rel=1e-12)


def test_arrays_give_what_numbers_give():
    many = np.array([[50, 3, 0], [50, 0, 3], [80, 0, 0], [9, 9, 0]]).T
    for function in (exact_p_value, paired_statistic):
        np.testing.assert_array_equal(function(*many), [function(*column) for column in many.T.tolist()])
    np.testing.assert_array_equal(exact_p_value(50, [3, 0], [0, 3]), [exact_p_value(50, 3, 0)] * 2)
    assert resampled_p_value(*many, rng=np.random.default_rng(0)).shape == (4,)


# -------------------------------------------------------------------------- the long sums


@pytest.mark.parametrize(
    ("n", "n10", "n01"),
    [
        (20_000, 1_232, 616),
        (20_000, 900, 1_000),
        (200_000, 90_000, 90_500),
        (200_000, 150_000, 0),
        (300_000, 600, 500),
        (100_000, 50_050, 49_950),
        (100_000, 3, 1),
    ],
)
@pytest.mark.parametrize("ties", ["mid", "lower"])
def test_truncation_and_the_walk_along_the_window(monkeypatch, n, n10, n01, ties):
    """Nothing left out and every tail evaluated on its own: no difference beyond what is promised."""
    fast = exact_p_value(n, n10, n01, ties=ties)
    monkeypatch.setattr(paired_tests, "_window", lambda n, d: (0, n))
    monkeypatch.setattr(paired_tests, "_FEW", n + 2)
    full = exact_p_value(n, n10, n01, ties=ties)
    assert abs(fast - full) <= TRUNCATION_ERROR + 1e-12 * full
    assert TRUNCATION_ERROR < 1e-12


@given(st.integers(1, 2**31 - 1), st.data())
@examples(300)
def test_window_holds_what_it_promises(n, data):
    d = data.draw(st.integers(1, n))
    first, last = paired_tests._window(n, d)
    binomial = stats.binom(n, d / n)
    outside = (binomial.cdf(first - 1) if first else 0.0) + (binomial.sf(last) if last < n else 0.0)
    assert outside <= TRUNCATION_ERROR / 2


def test_counts_beyond_64_bit_products():
    """At 2^31 - 1 items K^2 D needs 93 bits; p is close to the normal one."""
    n = 2**31 - 1
    p = exact_p_value(n, 10**9, 10**9 - 10**5)
    t = paired_statistic(n, 10**9, 10**9 - 10**5)
    assert p == pytest.approx(2 * stats.norm.sf(t), rel=1e-4)
    assert resampled_p_value(n, 10**9, 10**9 - 10**5, n_resamples=20_000, rng=1) == pytest.approx(p, abs=0.006)


@pytest.mark.parametrize(("n", "n10", "n01"), [(50, 3, 0), (50, 0, 3), (500, 40, 28), (9824, 344, 383), (7, 0, 7)])
def test_resampling_tends_to_the_exact_p(n, n10, n01):
    s = 400_000
    error = 5 * math.sqrt(0.25 / s) * 2
    p = resampled_p_value(n, n10, n01, n_resamples=s, rng=np.random.default_rng(7))
    assert p == pytest.approx(exact_p_value(n, n10, n01, ties="lower"), abs=error)
    below, equal = (float(x) for x in naive_tails(n, max(n10, n01), min(n10, n01))) if n <= 50 else (0, 0)
    if n <= 50:
        mcnemar = mcnemar_resampled_p_value(n, n10, n01, n_resamples=s, rng=8)
        assert mcnemar == pytest.approx(2 * (1 - below - equal), abs=error)


def test_level_under_the_null_hypothesis():
    """Runs without any effect: mid-p rejects about one in twenty, as it should."""
    rng = np.random.default_rng(3)
    d = rng.binomial(400, 0.1, size=4000)
    n10 = rng.binomial(d, 0.5)
    share = np.mean(exact_p_value(400, n10, d - n10) < 0.05)
    assert share == pytest.approx(0.05, abs=5 * math.sqrt(0.05 * 0.95 / 4000))
