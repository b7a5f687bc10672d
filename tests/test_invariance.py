"""The IE test against its definitions, written naively; invariances; bad input."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from paraconsist.errors import InputError
from paraconsist.invariance import ie_test, ie_test_from_counts, paired_tests
from paraconsist.invariance.multiple_testing import correct_p_values, signal_to_noise, too_few_resamples
from paraconsist.invariance.paired_resampling import (
    mcnemar_replayed_p_value,
    mcnemar_resampled_p_value,
    replayed_p_value,
    resampled_p_value,
)
from paraconsist.invariance.paired_tests import (
    TRUNCATION_ERROR,
    compare_squares,
    exact_p_value,
    mcnemar_p_value,
    paired_difference_interval,
    paired_statistic,
)
from paraconsist.invariance.result import METHODS
from paraconsist.results import to_strict_json

MANY = settings(max_examples=2000, deadline=None)
REPLAYS = ("replay", "mcnemar_replay")


@st.composite
def counts(draw, most=11):
    n = draw(st.integers(1, most))
    d = draw(st.integers(0, n))
    n10 = draw(st.integers(0, d))
    return n, n10, d - n10


@st.composite
def answers(draw):
    """Lopsided rows of a few runs: predictions, transformed predictions, references, runs."""
    n = draw(st.integers(1, 40))
    label = st.sampled_from(draw(st.sampled_from([["a", "b"], ["x", "y", "z"], ["no", "yes", "yes ", "?"]])))
    column = st.lists(label, min_size=n, max_size=n)
    run = st.lists(st.sampled_from(["r1", "r2", "r0"]), min_size=n, max_size=n)
    return draw(column), draw(column), draw(column), draw(run)


# --------------------------------------------------------------------- definitions, naively


def size_of_t(n, k, d):
    """t as something that sorts exactly: sign, then t^2 as a fraction (infinite if all changed one way)."""
    sign = (k > 0) - (k < 0)
    if sign == 0:
        return Fraction(0)
    variance = d - Fraction(k * k, n)
    return sign * (Fraction(k * k) / variance if variance else math.inf)


def naive_tails(n, n10, n01):
    """P(t* < t), P(t* = t) with every resample of n rows and swaps: rows are +1, -1 or 0, independently."""
    d = n10 + n01
    t = size_of_t(n, n10 - n01, d)
    each = {1: Fraction(d, 2 * n), -1: Fraction(d, 2 * n), 0: 1 - Fraction(d, n)}
    below = equal = Fraction(0)
    for plus in range(n + 1):
        for minus in range(n + 1 - plus):
            ways = math.comb(n, plus) * math.comb(n - plus, minus)
            chance = ways * each[1] ** plus * each[-1] ** minus * each[0] ** (n - plus - minus)
            t_star = size_of_t(n, plus - minus, plus + minus)
            below += chance * (t_star < t)
            equal += chance * (t_star == t)
    assert below + equal <= 1
    return below, equal


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


@settings(max_examples=200, deadline=None)
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


# ----------------------------------------------------------------------------- invariances


@settings(max_examples=500, deadline=None)
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


@settings(max_examples=300, deadline=None)
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


@settings(max_examples=300, deadline=None)
@given(counts(most=60), st.integers(2, 5))
def test_duplication(given_counts, times):
    """The whole set k times: t grows by sqrt(k), the accuracies stay, and the interval shrinks."""
    n, n10, n01 = given_counts
    once, more = paired_statistic(n, n10, n01), paired_statistic(times * n, times * n10, times * n01)
    assert more == pytest.approx(math.sqrt(times) * once, rel=1e-12, nan_ok=True)
    low, high = paired_difference_interval(n, n10, n01)
    low_more, high_more = paired_difference_interval(times * n, times * n10, times * n01)
    assert low - 1e-12 <= low_more <= high_more <= high + 1e-12


@settings(max_examples=500, deadline=None)
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
@settings(max_examples=300, deadline=None)
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


# ------------------------------------------------------------------------------ many runs


@MANY
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.sampled_from([0.01, 0.05, 0.2]))
def test_corrections_are_their_definitions(p_values, alpha):
    m = len(p_values)
    bonferroni = correct_p_values(p_values, alpha=alpha)
    assert bonferroni.rejected.tolist() == [p * m < alpha for p in p_values]
    holm = correct_p_values(p_values, alpha=alpha, correction="holm")
    rejected = [False] * m
    for step, i in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        if p_values[i] * (m - step) >= alpha:
            break
        rejected[i] = True
    assert holm.rejected.tolist() == rejected
    assert holm.reject == bonferroni.reject
    assert holm.p_value == bonferroni.p_value == min(1, m * min(p_values))
    assert (holm.adjusted <= bonferroni.adjusted).all()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_and_signs(method):
    result = ie_test([1] * 50, [0] * 9 + [1] * 41, [1] * 50, method=method, n_resamples=2000)
    assert 0 <= result.p_value < 0.05
    assert result.reject
    assert result.n_runs == 1
    assert f"method:{method}|" in result.signature
    resampled = {"resamples:2000", "seed:0"} <= set(result.signature.split("|"))
    assert resampled == (method not in ("exact", "mcnemar", "mcnemar_mid_p"))
    assert ("ties:mid" in result.signature) == (method == "exact")
    assert result.statistic == pytest.approx(9.0 if method.startswith("mcnemar") else 9 / math.sqrt(9 - 81 / 50))
    written = json.loads(json.dumps(to_strict_json(result.to_dict()), allow_nan=False))
    assert written["n10"] == 9
    assert "snr" not in written
    low, high = written["confidence_interval"]["accuracy_difference"]
    assert low < written["accuracy_difference"] == 0.18 < high


def test_counts_and_rows_agree():
    rng = np.random.default_rng(5)
    references, runs = rng.integers(0, 3, 3000), np.repeat([4, 9, 2], 1000)
    predictions = np.where(rng.random(3000) < 0.7, references, 0)
    transformed = np.where(rng.random(3000) < 0.9, predictions, 1)
    before, after = predictions == references, transformed == references
    for method in (m for m in METHODS if m not in REPLAYS):
        rows = ie_test(predictions, transformed, references, runs=runs, method=method)
        each = [[np.sum(x[runs == r]) for r in (2, 4, 9)] for x in (before & ~after, after & ~before, before)]
        counted = ie_test_from_counts(1000, each[0], each[1], n_correct=each[2], runs=[2, 4, 9], method=method)
        same = {name: value for name, value in rows.to_dict().items() if "collapsed" not in name}
        assert counted.to_dict() == same


def test_several_runs_say_which_decided():
    result = ie_test_from_counts([100] * 3, [5, 3, 20], [5, 7, 2], n_correct=[60, 50, 70], runs=["a", "b", "c"])
    assert result.statistic == result.statistics[2] == paired_statistic(100, 20, 2)
    assert result.p_value == 3 * result.p_values[2]
    assert (result.reject, result.rejected) == (True, [False, False, True])
    assert result.accuracy == pytest.approx(0.6)
    assert result.snr == pytest.approx(0.6 / np.std([0.6, 0.5, 0.7]))
    assert result.accuracy_difference == pytest.approx((0 - 0.04 + 0.18) / 3)
    assert result.confidence_interval["accuracy_difference"] == pytest.approx(np.mean(result.intervals, axis=0))
    assert "correction:bonferroni-3" in result.signature


def test_holm_may_reject_more_runs():
    options = {"n": [1000] * 3, "n10": [40, 38, 37], "n01": [15, 15, 15], "n_correct": [600] * 3}
    p = exact_p_value(options["n"], options["n10"], options["n01"])
    alpha = 3 * p[1] * 0.9
    assert ie_test_from_counts(**options, alpha=alpha).rejected != [True, True, True]
    assert sum(ie_test_from_counts(**options, alpha=alpha, correction="holm").rejected) >= 2


def test_nothing_changed():
    result = ie_test([0, 1, 1], [0, 1, 1], [0, 1, 0])
    assert math.isnan(result.statistic)
    assert (result.p_value, result.reject) == (1.0, False)
    assert result.warnings == ("no item changed between right and wrong: t is undefined and p is 1",)
    assert to_strict_json(result.to_dict())["statistic"] is None
    low, high = result.confidence_interval["accuracy_difference"]
    assert low < 0 < high
    for method in set(METHODS) - set(REPLAYS):
        assert ie_test([0, 1, 1], [0, 1, 1], [0, 1, 0], method=method, n_resamples=100).p_value == 1.0
    replayed = ie_test([0, 1, 1], [0, 1, 1], [0, 1, 0], method="replay", n_resamples=100)
    assert (replayed.p_value, replayed.reject) == (0.0, True)
    assert any("p is 0, as the authors' program has it" in warning for warning in replayed.warnings)


def test_everything_changed():
    result = ie_test([1] * 9, [0] * 9, [1] * 9)
    assert result.statistic == math.inf
    assert result.p_values[0] == pytest.approx(2 * 2**-9 / 2)  # only the same again is as far out: half of it
    assert to_strict_json(result.to_dict())["statistic"] is None


def test_collapsed_runs_are_reported_and_kept():
    predictions = ["e"] * 6 + ["e", "n", "c", "e", "n", "c"]
    transformed = ["e"] * 6 + ["n", "n", "c", "e", "n", "c"]
    references = ["e", "n", "c"] * 4
    result = ie_test(predictions, transformed, references, runs=["bad"] * 6 + ["good"] * 6)
    assert result.collapsed_runs == ["bad"]
    assert result.accuracies == [pytest.approx(1 / 3), 1.0]
    assert result.snr == pytest.approx(np.mean(result.accuracies) / np.std(result.accuracies))
    assert any("one label in 1 run(s) ('bad'): collapsed" in warning for warning in result.warnings)
    alone = ie_test(predictions[:6], transformed[:6], references[:6])
    assert alone.n_collapsed == 1
    assert any("collapsed" in warning for warning in alone.warnings)


def test_too_few_resamples():
    counts_of_runs = {"n": [50] * 30, "n10": [3] * 30, "n01": [1] * 30, "n_correct": range(20, 50)}
    counts_of_runs["n_correct"] = list(counts_of_runs["n_correct"])
    few = ie_test_from_counts(**counts_of_runs, method="paper", n_resamples=1000)
    assert any("take at least 1200, or method 'exact'" in warning for warning in few.warnings)
    for enough in ({"method": "paper", "n_resamples": 1200}, {"method": "exact"}):
        assert ie_test_from_counts(**counts_of_runs, **enough).warnings == ()
    assert too_few_resamples(1199, 30, 0.05)
    assert not too_few_resamples(1200, 30, 0.05)


def test_signal_to_noise():
    assert signal_to_noise([0.5, 0.7]) == pytest.approx(6.0)
    assert math.isnan(signal_to_noise([0.1, 0.1, 0.1]))
    assert math.isnan(signal_to_noise([0.4]))
    result = ie_test_from_counts([10, 10], [3, 2], [1, 1], n_correct=[5, 5])
    assert math.isnan(result.snr)
    assert any("signal-to-noise" in warning for warning in result.warnings)


def test_a_generator_is_used_as_given():
    one = ie_test([1] * 50, [0] * 3 + [1] * 47, [1] * 50, method="paper", seed=np.random.default_rng(4))
    two = ie_test([1] * 50, [0] * 3 + [1] * 47, [1] * 50, method="paper", seed=4)
    assert one.p_value == two.p_value
    assert "seed:given" in one.signature


# ------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"predictions": []}, r"`predictions` must not be empty"),
        ({"predictions": [0, None, 1]}, r"`predictions` must not hold missing values; got None at row 1"),
        ({"transformed_predictions": [0, 1]}, r"`transformed_predictions` must .* got '2 values'"),
        ({"references": ["0", "1", "1"]}, r"`references` must hold integers.*'0' at row 0"),
        ({"references": [0, 1.5, 1]}, r"`references` must be of one kind throughout; got 1.5 at row 1"),
        ({"runs": [1, 1]}, r"`runs` must .* got '2 values'"),
        ({"runs": ["a", None, "b"]}, r"`runs` must not hold missing values; got None at row 1"),
        ({"method": "exactly"}, r"`method` must be one of .*exactly"),
        ({"ties": "upper"}, r"`ties` must be one of .*upper"),
        ({"method": "paper", "ties": "lower"}, r"`ties` must be left out unless `method` is 'exact'"),
        ({"correction": "none"}, r"`correction` must be one of"),
        ({"alpha": 1}, r"`alpha` must lie between 0 and 1; got 1"),
        ({"confidence_level": 95}, r"`confidence_level` must lie between 0 and 1; got 95"),
        ({"n_resamples": 0}, r"`n_resamples` must be a whole number of at least 1; got 0"),
        ({"seed": -1}, r"`seed` must be a whole number of at least 0; got -1"),
        ({"seed": None}, r"`seed` must be a whole number of at least 0; got None"),
        ({"method": "replay", "seed": 2**32}, r"`seed` must be below 2\*\*32"),
        ({"method": "replay", "seed": np.random.default_rng(0)}, r"`seed` must be a whole number"),
    ],
)
def test_bad_rows_and_options(change, message):
    arguments = {"predictions": [0, 1, 1], "transformed_predictions": [1, 1, 0], "references": [0, 1, 1]}
    with pytest.raises(InputError, match=message):
        ie_test(**(arguments | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, r"`n` must be at least 1"),
        ({"n10": [1, -2]}, r"`n10` must not be negative; got -2 at row 1"),
        ({"n10": [1, 6], "n01": 5}, r"`n` must be at least n10 \+ n01; got 10 at row 1"),
        ({"n10": [1, 2], "n01": [1, 2, 3]}, r"must have the shape of the other counts"),
        ({"n": 2**31}, r"`n` must be below 2147483648"),
        ({"n10": 1.0}, r"`n10` must be a whole number"),
        ({"n_correct": [4, 0]}, r"`n_correct` must be at least n10; got 0 at row 1"),
        ({"n_correct": [4, 10]}, r"`n_correct` must be at most n - n01; got 10 at row 1"),
        ({"method": "replay"}, r"`method` must not be a replay.*`ie_test`"),
        ({"n10": [1, 1], "runs": ["a"]}, r"`runs` must have one name per run \(2\); got '1 names'"),
    ],
)
def test_bad_counts(change, message):
    arguments = {"n": 10, "n10": 1, "n01": 2, "n_correct": 5}
    with pytest.raises(InputError, match=message):
        ie_test_from_counts(**(arguments | change))


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (correct_p_values, ([0.1, 1.5],), r"`p_values` must lie between 0 and 1; got 1.5 at row 1"),
        (correct_p_values, ([],), r"`p_values` must be a list of at least one number"),
        (correct_p_values, ([0.1, math.nan],), r"`p_values` must be finite; got nan at row 1"),
        (signal_to_noise, ([0.1, math.inf],), r"`accuracies` must be finite; got inf at row 1"),
        (signal_to_noise, (["a"],), r"`accuracies` must be a list of at least one number"),
    ],
)
def test_bad_families(function, arguments, message):
    with pytest.raises(InputError, match=message):
        function(*arguments)


def test_bad_replays():
    with pytest.raises(InputError, match=r"`transformed_correct` must be 0 or 1; got 2 at row 1"):
        replayed_p_value([0, 1], [0, 2], seed=0)
    with pytest.raises(InputError, match=r"`transformed_correct` must have the length"):
        replayed_p_value([0, 1], [0], seed=0)
    with pytest.raises(InputError, match=r"`rng` must be a whole number"):
        resampled_p_value(5, 1, 1, rng="x")
