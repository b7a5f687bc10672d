"""The IE test against its definitions, written naively."""

import csv
import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers.examples import examples
from helpers.invariance import MANY, REPLAYS, answers, counts, naive_tails, size_of_t
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from paraconsist.measures import paired_tests
from paraconsist.measures.ie_test import METHODS, ie_test, ie_test_from_counts
from paraconsist.measures.paired_tests import (
    TRUNCATION_ERROR,
    compare_squares,
    exact_p_value,
    mcnemar_p_value,
    paired_difference_interval,
    paired_statistic,
    replayed_p_value,
    resampled_p_value,
)
from paraconsist.measures.standings import signal_to_noise


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
    assert replayed_p_value(before, after, seed=seed, n_resamples=40, mcnemar=True) == expected[1]


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


@pytest.mark.parametrize(("n_runs", "more"), [(5, ""), (7, " and 2 more")])
def test_the_first_five_collapsed_runs_are_named(n_runs, more):
    result = ie_test([1] * 2 * n_runs, [0, 1] * n_runs, [0, 1] * n_runs, runs=np.repeat(range(n_runs), 2))
    assert any(f"one label in {n_runs} run(s) (0, 1, 2, 3, 4{more}): collapsed" in w for w in result.warnings)


# ---------- The IE test against what Salvatore et al. 2023 published, and against worked examples

RHOS_OF_TABLE_2 = {0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0}


@pytest.fixture(scope="module")
def matched_runs(data_folder: Path) -> dict[str, np.ndarray]:
    with (data_folder / "ietest" / "matched_runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1150
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    for name in ("n", "n11", "n10", "n01", "n00"):
        columns[name] = columns[name].astype(np.int64)
    for name in ("rho", "t_published", "p_published_S1000", "p_boot_exact_limit", "mcnemar_stat_published"):
        columns[name] = columns[name].astype(np.float64)
    return columns


@pytest.mark.real_data
def test_exact_p_is_the_limit_of_the_published_procedure(matched_runs):
    p = exact_p_value(matched_runs["n"], matched_runs["n10"], matched_runs["n01"], ties="lower")
    np.testing.assert_allclose(p, matched_runs["p_boot_exact_limit"], rtol=1e-9, atol=0)


@pytest.mark.real_data
def test_published_p_values_scatter_around_the_exact_ones(matched_runs):
    """With 1,000 resamples p / 2 has standard error sqrt(p/2 (1 - p/2) / 1000); five are never passed.

    A p above one half may have come from either tail. That the published p are two-sided shows here too.
    """
    exact = exact_p_value(matched_runs["n"], matched_runs["n10"], matched_runs["n01"], ties="lower")
    tail = exact / 2
    error = np.abs(matched_runs["p_published_S1000"] - exact) / 2
    assert (error <= 5 * np.sqrt(tail * (1 - tail) / 1000) + 2 / 1000).all()


@pytest.mark.real_data
def test_replayed_p_values_are_the_published_ones(data_folder):
    folder = data_folder / "ietest" / "vectors"
    vectors = json.loads((folder / "index.json").read_text())["vectors"]
    assert len(vectors) == 4
    for vector in vectors:
        arrays = np.load(folder / vector["file"])
        before, after, label = arrays["A"], arrays["B"], arrays["label"]
        assert replayed_p_value(before, after, seed=vector["seed_boot"]) == vector["p_S1000"]
        assert replayed_p_value(before, after, seed=vector["seed_boot"], mcnemar=True) == vector["mcnemar_boot_p"]
        wrong = (label.astype(int) + 1) % 3
        result = ie_test(
            np.where(before == 1, label, wrong),
            np.where(after == 1, label, wrong),
            label,
            method="replay",
            seed=vector["seed_boot"],
        )
        assert result.p_value == vector["p_S1000"]
        assert (result.n, result.n10, result.n01) == (vector["n"], vector["n10"], vector["n01"])
        assert result.statistic == pytest.approx(vector["t"], rel=1e-11, nan_ok=True)
        if vector["n10"] + vector["n01"] == 0:
            assert result.reject
            assert "p is 0" in result.warnings[0]
            assert exact_p_value(vector["n"], 0, 0) == 1.0


@pytest.mark.real_data
def test_signal_to_noise_of_table_2(data_folder, matched_runs):
    table = json.loads((data_folder / "ietest" / "snr_table2.json").read_text())["snr_table2"]
    accuracy = (matched_runs["n11"] + matched_runs["n10"]) / matched_runs["n"]
    of_table = np.isin(matched_runs["rho"], list(RHOS_OF_TABLE_2))
    checked = 0
    for model, by_dataset in table.items():
        for dataset in ("snli", "mnli"):
            golden = by_dataset[dataset]
            chosen = of_table & (matched_runs["model"] == model) & (matched_runs["dataset"] == dataset)
            assert chosen.sum() == golden["n_runs"] == 35
            assert signal_to_noise(accuracy[chosen]) == pytest.approx(golden["snr_ddof0"], rel=1e-11)
            assert accuracy[chosen].mean() * 100 == pytest.approx(golden["mean_acc_pct"], rel=1e-12)
            result = ie_test_from_counts(
                *(matched_runs[name][chosen] for name in ("n", "n10", "n01")),
                n_correct=(matched_runs["n11"] + matched_runs["n10"])[chosen],
            )
            assert result.snr == pytest.approx(golden["snr_ddof0"], rel=1e-11)
            checked += 1
    assert checked == 6
    chosen = (matched_runs["model"] == "xgb") & (matched_runs["dataset"] == "snli")
    assert chosen.sum() == 505
    assert signal_to_noise(accuracy[chosen]) != pytest.approx(table["xgb"]["snli"]["snr_ddof0"], rel=1e-3)


def test_small_example():
    """Worked by hand in the notes: 50 items, three of them lost, or three of them gained."""
    assert round(exact_p_value(50, 3, 0, ties="lower"), 4) == 0.0326
    assert round(exact_p_value(50, 0, 3, ties="lower"), 4) == 0.0904
    assert round(exact_p_value(50, 3, 0), 4) == 0.0615
    assert exact_p_value(50, 3, 0) == exact_p_value(50, 0, 3)


def test_tango_interval_of_published_example():
    """Bentur et al. 2009, in Fagerland, Lydersen and Laake 2014: 1, 1, 7, 12 gives -0.517 to -0.026."""
    low, high = paired_difference_interval(21, 1, 7)
    assert (round(low, 3), round(high, 3)) == (-0.517, -0.026)


def test_mcnemar_of_published_example():
    """The same table: exact McNemar .0703, mid-p .0391 (Fagerland, Lydersen and Laake 2013)."""
    assert round(mcnemar_p_value(1, 7), 4) == 0.0703
    assert round(mcnemar_p_value(1, 7, mid_p=True), 4) == 0.0391


# ---------- What must not change the IE test, the ranges of its numbers, and the long sums behind its p-values

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
def test_truncation_of_the_window(monkeypatch, n, n10, n01, ties):
    """Nothing left out: no difference beyond what is promised."""
    fast = exact_p_value(n, n10, n01, ties=ties)
    monkeypatch.setattr(paired_tests, "_window", lambda n, d: (0, n))
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
        mcnemar = resampled_p_value(n, n10, n01, n_resamples=s, rng=8, mcnemar=True)
        assert mcnemar == pytest.approx(2 * (1 - below - equal), abs=error)


def test_level_under_the_null_hypothesis():
    """Runs without any effect: mid-p rejects about one in twenty, as it should."""
    rng = np.random.default_rng(3)
    d = rng.binomial(400, 0.1, size=4000)
    n10 = rng.binomial(d, 0.5)
    share = np.mean(exact_p_value(400, n10, d - n10) < 0.05)
    assert share == pytest.approx(0.05, abs=5 * math.sqrt(0.05 * 0.95 / 4000))
