"""The IE test against its definitions, written naively."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from helpers.examples import examples
from helpers.invariance import MANY, answers, counts, naive_tails, size_of_t
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.measures.ie_test import ie_test
from paraconsist.measures.paired_tests import (
    compare_squares,
    exact_p_value,
    mcnemar_p_value,
    mcnemar_replayed_p_value,
    paired_statistic,
    replayed_p_value,
)


@MANY
@given(counts())
def test_exact_p_is_its_definition(given_counts):
    n, n10, n01 = given_counts
    if n10 + n01 == 0:
        assert exact_p_value(n, n10, n01) == 1.0
        return
    below, equal = naive_tails(n, n10, n01)
    lower = below + equal
    assert exact_p_value(n, n10, n01, ties="lower") == pytest.approx(
        float(2 * min(lower, 1 - lower)), rel=1e-12, abs=1e-12
    )
    middle = below + equal / 2
    assert exact_p_value(n, n10, n01) == pytest.approx(float(2 * min(middle, 1 - middle)), rel=1e-12)


@pytest.mark.parametrize("rows", [(1,), (1, 0), (1, 0, 0), (1, -1, 0), (1, 1, -1), (-1, -1, 0), (1, 1, 1)])
def test_null_distribution_is_that_of_all_resamples_and_swaps(rows):
    """The whole procedure of equation 14, row by row: every draw with replacement, every swap."""
    n = len(rows)
    observed = size_of_t(n, sum(rows), sum(map(abs, rows)))
    found = Counter()
    for drawn in itertools.product(rows, repeat=n):
        for swap in itertools.product((1, -1), repeat=n):
            resample = [row * sign for row, sign in zip(drawn, swap, strict=True)]
            t_star = size_of_t(n, sum(resample), sum(map(abs, resample)))
            found[(t_star > observed) - (t_star < observed)] += 1
    total = sum(found.values())
    assert naive_tails(n, rows.count(1), rows.count(-1)) == (
        Fraction(found[-1], total),
        Fraction(found[0], total),
    )


@MANY
@given(counts(most=60))
def test_statistic_is_its_definition(given_counts):
    n, n10, n01 = given_counts
    change = np.array([1] * n10 + [-1] * n01 + [0] * (n - n10 - n01))
    t = paired_statistic(n, n10, n01)
    spread = change.std()
    if n10 + n01 == 0:
        assert math.isnan(t)
    elif max(n10, n01) == n:
        assert t == math.copysign(math.inf, n10 - n01)
    else:
        assert t == pytest.approx(change.mean() / (spread / math.sqrt(n)), rel=1e-12, abs=1e-12)


@MANY
@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_its_definition(n10, n01):
    d = n10 + n01
    tail = sum(Fraction(math.comb(d, i), 2**d) for i in range(min(n10, n01) + 1))
    middle = tail - Fraction(math.comb(d, n10), 2 * 2**d)
    assert mcnemar_p_value(n10, n01) == pytest.approx(float(min(1, 2 * tail)), rel=1e-12)
    assert mcnemar_p_value(n10, n01, mid_p=True) == pytest.approx(float(2 * middle), rel=1e-12)


_BIG = st.integers(0, 2**31 - 1) | st.sampled_from([0, 1, 2**21, 2**31 - 1])


@MANY
@given(st.lists(st.tuples(_BIG, _BIG), min_size=1, max_size=8), _BIG, _BIG, st.booleans())
def test_comparison_is_exact_at_any_size(pairs, d, k, near):
    a, m = (list(column) for column in zip(*pairs, strict=True))
    if near and d:  # roots that are all but equal
        a = [min(2**31 - 1, math.isqrt(k * k * each // d)) for each in m]
    expected = [(x * x * d > k * k * y) - (x * x * d < k * k * y) for x, y in zip(a, m, strict=True)]
    assert compare_squares(np.array(a), d, k, np.array(m)).tolist() == expected


def naive_replay(before, after, seed, n_resamples):
    """The authors' procedure on lists, with exact statistics; nan (None) compares false with everything."""
    n = len(before)

    def statistics(a, b):
        k = sum(a) - sum(b)
        d = sum(x != y for x, y in zip(a, b, strict=True))
        return (size_of_t(n, k, d), Fraction(k * k, d)) if d else (None, None)

    t, mcnemar = statistics(before, after)
    random = np.random.RandomState(seed)
    lower = upper = above = 0
    for _ in range(n_resamples):
        rows = [(before[i], after[i]) for i in random.randint(0, n, n)]
        rows = [(b, a) if i < n // 2 else (a, b) for i, (a, b) in enumerate(rows)]
        t_star, mcnemar_star = statistics(*zip(*rows, strict=True))
        if t is not None and t_star is not None:
            lower += t_star <= t
            upper += t_star > t
            above += mcnemar_star > mcnemar
    return 2 * min(lower, upper) / n_resamples, above / n_resamples


@examples(200)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12), st.integers(0, 2**32 - 1))
def test_replay_is_the_authors_procedure(rows, seed):
    before, after = (list(map(int, column)) for column in zip(*rows, strict=True))
    expected = naive_replay(before, after, seed, 40)
    assert replayed_p_value(before, after, seed=seed, n_resamples=40) == expected[0]
    assert mcnemar_replayed_p_value(before, after, seed=seed, n_resamples=40) == expected[1]


@MANY
@given(answers())
def test_ie_test_is_its_definition(rows):
    predictions, transformed, references, runs = rows
    result = ie_test(predictions, transformed, references, runs=runs)
    names = sorted(set(runs))
    n10 = n01 = collapsed = 0
    p_values, accuracies, after = [], [], []
    for name in names:
        of_run = [i for i, run in enumerate(runs) if run == name]
        lost = gained = right = 0
        for i in of_run:
            a, b = predictions[i] == references[i], transformed[i] == references[i]
            lost, gained, right = lost + (a and not b), gained + (b and not a), right + a
        p_values.append(exact_p_value(len(of_run), lost, gained))
        accuracies.append(right / len(of_run))
        after.append((right - lost + gained) / len(of_run))
        n10, n01 = n10 + lost, n01 + gained
        one_label = len({predictions[i] for i in of_run}) == 1
        collapsed += one_label and len({references[i] for i in of_run}) > 1
    assert (result.n, result.n10, result.n01, result.runs) == (len(runs), n10, n01, names)
    assert result.p_values == p_values
    assert result.p_value == min(1, len(names) * min(p_values))
    assert result.reject == (min(p_values) * len(names) < 0.05)
    assert result.accuracies == accuracies
    assert result.accuracy == pytest.approx(np.mean(accuracies))
    assert result.transformed_accuracy == pytest.approx(np.mean(after))
    assert result.n_collapsed == len(result.collapsed_runs) == collapsed
