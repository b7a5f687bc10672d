"""Rates corrected by labels of people: against sums by hand, a naive loop, and simulated comparers."""

import math
import re
from collections import defaultdict

import numpy as np
import pytest
from helpers.errors import refuses
from scipy.optimize import brentq
from scipy.stats import beta, norm, t

from paraconsist import paraphrastic_consistency
from paraconsist.measures.checked import (
    CheckedUnits,
    agreement,
    corrected_above_chance,
    corrected_difference,
    corrected_rate,
    corrected_variance,
    differs,
    label_share,
    plan_labels,
    rate_among_valid,
    rate_of_units,
    rogan_gladen,
)

NAN = float("nan")


def sheet(n_yes=60, yes=(18, 2), n_no=40, no=(5, 15)):
    """Return units of which people checked some: (labels yes, labels no) of each verdict."""
    verdicts = [True] * n_yes + [False] * n_no
    labels = [1.0] * yes[0] + [0.0] * yes[1] + [NAN] * (n_yes - sum(yes))
    labels += [1.0] * no[0] + [0.0] * no[1] + [NAN] * (n_no - sum(no))
    return CheckedUnits.of(verdicts, labels)


def test_rates_are_those_by_hand():
    found = rate_of_units(sheet())
    assert (found.n_units, found.n_labels, found.n_clusters, found.refused) == (100, 40, 40, "")
    assert found.observed == pytest.approx(0.6)
    assert found.corrected == pytest.approx(0.6 * 18 / 20 + 0.4 * 5 / 20)  # .64
    assert found.sensitivity == pytest.approx(0.54 / 0.64)
    assert found.false_match_rate == pytest.approx(0.06 / 0.36)
    for name in ("observed", "corrected", "sensitivity", "false_match_rate"):
        low, high = found.confidence_interval[name]
        assert 0.0 <= low < found[name] < high <= 1.0


@pytest.mark.parametrize("of_set", [True, False])
def test_rate_of_arrays_is_that_of_the_units(of_set):
    units = sheet()
    places = np.flatnonzero(units.is_labelled)[::-1]
    problems = np.array([f"p{i // 4}" for i in range(100)])
    grouped = CheckedUnits.of(units.verdicts, units.labels, groups=np.arange(100) // 4)
    for clusters, expected in ((None, units), (problems, grouped)):
        found = corrected_rate(units.verdicts * 1, places, units.labels[places], clusters, of_set=of_set)
        assert found == rate_of_units(expected, of_set=of_set)
        assert [found.value, found.low, found.high] == [found.corrected, *found.confidence_interval["corrected"]]
    mask = corrected_rate(units.verdicts, units.is_labelled, units.labels[units.is_labelled], of_set=of_set)
    assert mask == rate_of_units(units, of_set=of_set)
    level = corrected_rate(units.verdicts, units.is_labelled, units.labels[units.is_labelled], confidence_level=0.8)
    assert level.high - level.low < mask.high - mask.low


def test_rate_of_a_comparer_that_says_nothing_is_refused():
    found = corrected_rate([0] * 50, range(20), [1, 0] * 10)
    assert np.isnan([found.value, found.low, found.high]).all()
    assert found.refused


@pytest.mark.parametrize(
    ("message", "arrays"),
    [
        ("`marks` must be true or false; got 2 at row 1", ([1, 2], [0], [1])),
        ("`marks` must not be empty", ([], [], [])),
        ("`checked` must be places from 0 to 1; got 2", ([1, 0], [2], [1])),
        ("`checked` must be places from 0 to 1; got -1", ([1, 0], [-1], [1])),
        ("`checked` must name each row once; got 0 at row 1", ([1, 0], [0, 0], [1, 1])),
        ("`checked` must have one value per row of `marks`", ([1, 0], [True], [1])),
        ("`checked` must hold the places of rows", ([1, 0], [0.5], [1])),
        ("`checked` must hold the places of rows", ([1, 0], ["a"], [1])),
        ("`truth` must have one value per row of `checked`", ([1, 0], [0], [1, 1])),
        ("`truth` must lie between 0 and 1", ([1, 0], [0], [NAN])),
        ("`clusters` must have one value per row of `marks`", ([1, 0], [0], [1], ["a"])),
    ],
)
def test_arrays_that_are_no_sheet_are_refused(message, arrays):
    refuses(re.escape(message), corrected_rate, *arrays)


def test_error_is_that_by_hand():
    # strata's shares with half a label added: 18.5/21 and 5.5/21; the means of 60 and 40 units differ by .65
    spread = 0.6**2 * (18.5 / 21) * (2.5 / 21) / 19 + 0.4**2 * (5.5 / 21) * (15.5 / 21) / 19
    found = rate_of_units(sheet(), of_set=True)
    finite = 0.6**2 * (18.5 / 21) * (2.5 / 21) / 19 * (1 - 20 / 60)
    finite += 0.4**2 * (5.5 / 21) * (15.5 / 21) / 19 * (1 - 20 / 40)
    assert found.standard_error["corrected"] == pytest.approx(math.sqrt(finite))
    units = (60 * (0.9 - 0.64) ** 2 + 40 * (0.25 - 0.64) ** 2) / 100**2
    assert rate_of_units(sheet()).standard_error["corrected"] == pytest.approx(math.sqrt(spread + units))


def right_answers(right, verdicts, labelled=None):
    """Return the answers and their pairs as units; both arrays are problems x wordings."""
    n, k = right.shape
    first, second = np.triu_indices(k, 1)
    labelled = np.ones(n, dtype=bool) if labelled is None else labelled
    label = np.where(labelled[:, None], right * 1.0, NAN)
    alike = np.where(labelled[:, None], (right[:, first] == right[:, second]) * 1.0, NAN)
    of_pairs = CheckedUnits.of(
        (verdicts[:, first] == verdicts[:, second]).ravel(),
        alike.ravel(),
        groups=np.repeat(np.arange(n), len(first)),
        strata=(verdicts[:, first].astype(int) + verdicts[:, second]).ravel(),
    )
    return CheckedUnits.of(verdicts.ravel(), label.ravel(), groups=np.repeat(np.arange(n), k)), of_pairs


def test_variance_due_to_wording_is_that_of_the_measure_where_all_is_checked():
    rng = np.random.default_rng(3)
    right = rng.random((300, 4)) < rng.beta(2, 1, 300)[:, None]
    verdicts = np.where(rng.random(right.shape) < 0.85, right, ~right)
    vap, pvap = corrected_variance(*right_answers(right, verdicts))
    for name, answers in (("observed", verdicts), ("corrected", right)):
        rows = (answers.ravel().astype(int), np.ones(answers.size, dtype=int), np.repeat(np.arange(300), 4))
        measured = paraphrastic_consistency(*rows)
        assert vap[name] == pytest.approx(measured.vap_unbiased, abs=1e-12)
        assert pvap[name] == pytest.approx(measured.pvap_unbiased, abs=1e-12)
        if name == "observed":  # of labels, the error assumes that they say no more than their verdict does
            for found, key in ((vap, "vap_unbiased"), (pvap, "pvap_unbiased")):
                assert found.standard_error[name] == pytest.approx(measured.standard_error[key], rel=0.01)
        low, high = pvap.confidence_interval[name]
        assert low < pvap[name] < high


@pytest.mark.parametrize(("n", "a", "b"), [(500, 4.0, 1.0), (200, 2.0, 1.0), (60, 1.0, 1.0)])
def test_interval_of_the_share_due_to_wording_is_that_of_the_measure(n, a, b):
    rng = np.random.default_rng(8)
    right = rng.random((n, 4)) < rng.beta(a, b, n)[:, None]
    rows = (right.ravel().astype(int), np.ones(right.size, dtype=int), np.repeat(np.arange(n), 4))
    wanted = paraphrastic_consistency(*rows).confidence_interval["pvap_unbiased"]
    pvap = corrected_variance(*right_answers(right, right))[1]
    assert pvap.confidence_interval["observed"] == pytest.approx(wanted, abs=0.003)
    assert pvap.confidence_interval["corrected"] == pytest.approx(wanted, abs=0.003)


def test_variance_due_to_wording_is_refused_with_the_rates_it_is_made_of():
    right = np.tile([[True, False]], (40, 1))
    checked = np.arange(40) < 4
    vap, pvap = corrected_variance(*right_answers(right, right, checked))
    assert np.isnan([vap.corrected, pvap.corrected]).all()
    assert "were checked" in pvap.refused
    constant = corrected_variance(*right_answers(np.ones((40, 3), dtype=bool), np.ones((40, 3), dtype=bool)))[1]
    assert math.isnan(constant.corrected)  # nothing varies


def cross_pairs(rng, n=40, n_pairs=300):
    """Return the problems of pairs of different ones, and which problems' answers are alike."""
    first, step = rng.integers(0, n, n_pairs), rng.integers(1, n, n_pairs)
    pairs = np.stack([first, (first + step) % n], axis=1)
    kinds = rng.integers(0, 3, n)
    return pairs, kinds[pairs[:, 0]] == kinds[pairs[:, 1]]


def test_the_error_of_pairs_of_different_problems_is_that_of_a_double_loop():
    pairs, alike = cross_pairs(np.random.default_rng(4))
    found = rate_of_units(CheckedUnits.of(alike, alike * 1.0, groups=pairs))
    residuals, total = alike - alike.mean(), 0.0
    for i, one in enumerate(pairs.tolist()):
        total += sum(residuals[i] * residuals[j] for j, other in enumerate(pairs.tolist()) if set(one) & set(other))
    assert found.standard_error["observed"] == pytest.approx(math.sqrt(total) / len(pairs))
    assert total > (residuals**2).sum()  # pairs that share a problem vary together
    assert found.n_clusters == 40


def test_consistency_above_chance_is_that_of_both_rates():
    rng = np.random.default_rng(5)
    pairs, alike = cross_pairs(rng)
    said = np.where(rng.random(len(alike)) < 0.1, ~alike, alike)
    chance = CheckedUnits.of(said, alike * 1.0, groups=pairs)
    same = CheckedUnits.of([True] * 60 + [False] * 40, [1.0] * 54 + [0.0] * 6 + [1.0] * 10 + [0.0] * 30)
    same = CheckedUnits.of(same.verdicts, same.labels, groups=np.arange(100) % 40)
    by_chance, above = corrected_above_chance(same, chance)
    c = alike.mean()
    assert by_chance.corrected == pytest.approx(c)
    assert above.corrected == pytest.approx((0.64 - c) / (1.0 - c))
    assert above.observed == pytest.approx((0.6 - said.mean()) / (1.0 - said.mean()))
    low, high = above.confidence_interval["corrected"]
    assert low < above.corrected < high < 1.0
    # where chance is known, 1 less it is the ratio of a rate's complement and a number, and so are its ends, nearly
    ends = [(end - c) / (1.0 - c) for end in rate_of_units(same).confidence_interval["corrected"]]
    assert above.confidence_interval["corrected"] == pytest.approx(ends, abs=0.05)


def test_consistency_above_chance_is_refused_with_either_rate():
    pairs, alike = cross_pairs(np.random.default_rng(6))
    few = np.where(np.arange(len(alike)) < 12, alike * 1.0, NAN)
    by_chance, above = corrected_above_chance(sheet(), CheckedUnits.of(alike, few, groups=pairs))
    assert math.isnan(above.corrected)
    assert "were checked" in above.refused
    assert by_chance.refused == above.refused
    of_all = CheckedUnits.of(alike, alike * 1.0, groups=pairs)
    assert math.isnan(corrected_above_chance(sheet(yes=(3, 2)), of_all)[1].corrected)
    # verdicts on different problems that say nothing need no other comparer: people's labels carry the rate
    senseless = CheckedUnits.of(np.arange(len(alike)) % 2 == 0, alike * 1.0, groups=pairs)
    assert corrected_above_chance(sheet(), senseless)[1].refused == ""
    constant = CheckedUnits.of(alike | True, np.ones(len(alike)), groups=pairs)
    assert math.isnan(corrected_above_chance(sheet(), constant)[1].corrected)  # nothing is above


def test_a_naive_loop_says_the_same():
    rng = np.random.default_rng(0)
    n = 400
    verdicts, strata, weights = rng.random(n) < 0.5, rng.integers(0, 2, n), rng.uniform(0.5, 2.0, n)
    sampling = rng.uniform(1.0, 3.0, n)
    labels = np.where(rng.random(n) < 0.4, (rng.random(n) < 0.2 + 0.6 * verdicts).astype(float), NAN)
    total, top, bottom = defaultdict(float), defaultdict(float), defaultdict(float)
    for i in range(n):
        key = verdicts[i], strata[i]
        total[key] += weights[i] / weights.sum()
        if not math.isnan(labels[i]):
            top[key] += weights[i] * sampling[i] * labels[i]
            bottom[key] += weights[i] * sampling[i]
    expected = sum(total[key] * top[key] / bottom[key] for key in total)
    units = CheckedUnits.of(verdicts, labels, weights=weights, sampling=sampling, strata=strata)
    assert rate_of_units(units).corrected == pytest.approx(expected)


def test_difference_estimator_is_the_same_in_strata_of_verdicts():
    """The mean verdict plus the weighted mean of label less verdict: prediction-powered inference as it is written."""
    units = sheet()
    weights = np.where(units.verdicts, 60 / 20, 40 / 20) * units.is_labelled
    gap = np.where(units.is_labelled, units.labels - units.verdicts, 0.0)
    assert rate_of_units(units).corrected == pytest.approx(units.verdicts.mean() + (weights @ gap) / 100)


def test_a_stratum_with_few_labels_joins_the_other_of_its_verdict():
    strata = np.zeros(100, dtype=int)
    strata[15:30] = 1  # 5 labels of it: 3 yes, 2 no
    units = sheet()
    joined = CheckedUnits.of(units.verdicts, units.labels, strata=strata)
    assert rate_of_units(joined).corrected == pytest.approx(rate_of_units(units).corrected)


def test_labels_of_a_cluster_count_less():
    units = sheet()
    pairs = CheckedUnits.of(units.verdicts, units.labels, groups=np.arange(100) // 2)
    assert rate_of_units(pairs).standard_error["corrected"] > rate_of_units(units).standard_error["corrected"]
    assert rate_of_units(pairs).n_clusters == 20


def test_problems_where_all_is_checked_have_the_error_of_their_means():
    is_same = np.repeat(np.arange(40) % 2 == 0, 5)  # all wordings of every second problem
    verdicts = np.tile([True, True, True, True, False], 40) == is_same
    found = rate_of_units(CheckedUnits.of(verdicts, is_same.astype(float), groups=np.repeat(np.arange(40), 5)))
    assert found.corrected == pytest.approx(0.5)
    assert found.standard_error["corrected"] == pytest.approx(0.5 / np.sqrt(40), rel=0.01)


def test_labels_that_are_all_alike_have_an_interval():
    found = rate_of_units(sheet(yes=(20, 0), no=(20, 0)))
    assert found.corrected == 1.0
    n = (20 - 1) / (0.6**2 + 0.4**2) * (norm.ppf(0.975) / t.ppf(0.975, 40 - 2)) ** 2  # as many in one stratum
    low = 0.05 ** (1.0 / n)  # half the chance of all is 2.5 %
    assert found.confidence_interval["corrected"] == pytest.approx([low, 1.0])  # .92


@pytest.mark.faults
@pytest.mark.parametrize("n", [29, 47, 77])
def test_a_rate_of_false_matches_is_undefined_where_people_always_say_yes(n):
    """29 labels yes had a false-match rate of .58 and 77 one of 1, by rounding; then it was 0, the best there is."""
    found = rate_of_units(CheckedUnits.of(np.arange(n) < n // 2, np.ones(n)))
    assert (found.refused, found.sensitivity) == ("", pytest.approx(n // 2 / n))
    np.testing.assert_equal((found.false_match_rate, *found.confidence_interval["false_match_rate"]), (NAN,) * 3)
    weighted = CheckedUnits.of(np.arange(n) < n // 2, np.ones(n), weights=np.arange(n) % 3 / 10 + 0.1)
    assert math.isnan(rate_of_units(weighted).false_match_rate)


def test_intervals_are_mid_p_for_the_number_of_labels_that_has_the_same_error():
    found = rate_of_units(sheet())
    inner, value = (0.6 * 18.5 + 0.4 * 5.5) / 21, 0.64
    n = inner * (1 - inner) / found.standard_error["corrected"] ** 2 * (norm.ppf(0.975) / t.ppf(0.975, 40 - 2)) ** 2
    for end, chance in zip(found.confidence_interval["corrected"], (0.025, 0.975), strict=True):
        as_many, more = beta.cdf(end, n * value, n * (1 - value) + 1), beta.cdf(end, n * value + 1, n * (1 - value))
        assert (as_many + more) / 2 == pytest.approx(chance)


def test_intervals_of_the_comparers_errors_put_those_of_their_parts_together():
    """MOVER by hand: one part after another at its limit; where all labels change, the two errors change places."""
    quantile, errors = t.ppf(0.975, 40 - 2), math.sqrt((60 * 0.4**2 + 40 * 0.6**2) / 100**2)

    def mid_p(value):
        n = 19 * (norm.ppf(0.975) / quantile) ** 2

        def excess(end, chance):
            as_many, more = beta.cdf(end, n * value, n * (1 - value) + 1), beta.cdf(end, n * value + 1, n * (1 - value))
            return (as_many + more) / 2 - chance

        return [brentq(excess, 0.0, 1.0, (chance,)) for chance in (0.025, 0.975)]

    def share(yes, no, observed):
        return observed * yes / (observed * yes + (1 - observed) * no)

    yes, no, observed = mid_p(0.9), mid_p(0.25), [0.6 - quantile * errors, 0.6 + quantile * errors]
    value = share(0.9, 0.25, 0.6)
    moved = [(share(yes[i], 0.25, 0.6), share(0.9, no[1 - i], 0.6), share(0.9, 0.25, observed[i])) for i in range(2)]
    low, high = (math.dist(parts, [value] * 3) for parts in moved)
    found, turned = rate_of_units(sheet()), rate_of_units(sheet(yes=(2, 18), no=(15, 5)))
    assert found.confidence_interval["sensitivity"] == pytest.approx([value - low, value + high])
    for one, other in (("sensitivity", "false_match_rate"), ("false_match_rate", "sensitivity")):
        assert turned[one] == pytest.approx(found[other])
        assert turned.confidence_interval[one] == pytest.approx(found.confidence_interval[other])


def test_one_rare_label_does_not_make_an_interval_miss():
    """Wilson's misses where one label in 60 is yes and the true rate is .003; the mid-P one does not."""
    low, high = rate_of_units(sheet(60, (1, 29), 40, (0, 30))).confidence_interval["corrected"]
    assert 0.0 < low < 0.003 < 0.02 < high < 0.12


def test_a_verdict_of_all_units_has_an_interval():
    low, high = rate_of_units(CheckedUnits.of([True] * 100, [1.0] * 50 + [NAN] * 50)).confidence_interval["observed"]
    assert 0.96 < low < 0.98  # .05 ** (1 / 100) is .970
    assert high == pytest.approx(1.0)


def test_the_design_effect_is_that_of_the_labels_sums_by_cluster():
    verdicts, right = np.arange(40) < 20, [1] * 18 + [0] * 2 + [1] * 4 + [0] * 16
    groups, labels = np.repeat(np.arange(40), 2), np.repeat(right, 2) * 1.0  # two alike in each cluster
    found = rate_of_units(CheckedUnits.of(np.repeat(verdicts, 2), labels, groups=groups))
    smoothed = [(36 + 0.5) / 41, (8 + 0.5) / 41]
    spread = sum(0.5**2 * share * (1 - share) / 39 for share in smoothed)
    sampled = sum((0.9 - 0.55) ** 2 + (0.2 - 0.55) ** 2 for _ in range(20)) / 40**2
    assert found.standard_error["corrected"] == pytest.approx(math.sqrt(2 * spread + sampled))


def test_all_labels_leave_no_error_on_the_set():
    found = rate_of_units(sheet(20, (18, 2), 20, (5, 15)), of_set=True)
    assert found.standard_error["corrected"] == pytest.approx(0.0)
    assert found.confidence_interval["corrected"] == pytest.approx([23 / 40, 23 / 40])


def test_a_verdict_with_too_few_labels_is_refused():
    found = rate_of_units(sheet(no=(2, 4)))
    assert found.refused == "6 of its 40 verdicts no were checked, and 10 are needed"
    assert found.n_needed == 26 + 4
    assert math.isnan(found.corrected)
    assert np.isnan(found.confidence_interval["corrected"]).all()
    assert rate_of_units(sheet(n_no=6, no=(2, 4))).refused == ""  # all of them


def test_a_comparer_that_never_says_yes_is_refused():
    for of_no in ((30, 10), (10, 30)):  # of which it asked for three times as many labels, however many there were
        found = rate_of_units(sheet(0, (0, 0), 100, of_no))
        assert "sensitivity 0.00 is not above its false-match rate 0.00" in found.refused
        assert "another comparer" in found.refused
        assert found.n_needed is None


def test_a_comparer_that_tells_little_is_refused_with_the_number_that_would_do():
    found = rate_of_units(sheet(yes=(11, 9), no=(9, 11)))
    assert f"about {found.n_needed} labels would do" in found.refused
    assert found.n_needed > 40
    assert rate_of_units(sheet(6000, (1100, 900), 4000, (900, 1100))).refused == ""


def test_rogan_gladen_is_that_by_hand():
    checked = CheckedUnits.of([True] * 50 + [False] * 50, [1.0] * 45 + [0.0] * 10 + [1.0] * 5 + [0.0] * 40)
    found = rogan_gladen(CheckedUnits.of([True] * 60 + [False] * 40, [NAN] * 100), checked)
    assert (found.sensitivity, found.false_match_rate) == pytest.approx((0.9, 0.1))
    assert found.corrected == pytest.approx((0.6 - 0.1) / (0.9 - 0.1))
    errors = found.standard_error["sensitivity"], found.standard_error["false_match_rate"]
    parts = math.sqrt(0.6 * 0.4 / 100), 0.625 * errors[0], 0.375 * errors[1]
    assert found.standard_error["corrected"] == pytest.approx(math.hypot(*parts) / (0.9 - 0.1))
    assert (found.method, found.n_units, found.n_labels) == ("rogan_gladen", 100, 100)
    never = rogan_gladen(CheckedUnits.of([False] * 100, [NAN] * 100), checked)
    assert never.corrected == 0.0  # cut: (0 - .1) / .8
    low, high = never.confidence_interval["corrected"]
    assert low == 0.0
    assert high > 0.0


@pytest.mark.faults
def test_errors_that_do_not_tell_answers_apart_correct_no_other_units():
    """All checked verdicts are no, and so are their labels: s = f = 0 once divided by 0."""
    checked = CheckedUnits.of([False] * 40, [0.0] * 40)
    found = rogan_gladen(CheckedUnits.of([False] * 100, [NAN] * 100), checked)
    assert "one of its two errors is unknown" in found.refused
    assert math.isnan(found.corrected)


@pytest.mark.parametrize("seed", range(8))
def test_labels_that_agree_with_their_verdicts_have_no_design_effect(seed):
    """Rounding in their means, of 1e-17, once made one of the ratio of two such numbers: intervals a third too wide."""
    rng, n = np.random.default_rng(seed), 30
    verdicts, weights, sampling = np.repeat([True, False], n), rng.random(2 * n) + 0.5, rng.random(2 * n) + 0.5
    groups = np.tile(np.arange(n) // 3, 2)  # three labels of each verdict, in each problem
    units = CheckedUnits.of(verdicts, verdicts * 1.0, weights=weights, sampling=sampling, groups=groups)
    shares, square = weights / weights.sum(), 0.0
    for verdict in (True, False):
        of = verdicts == verdict
        counts = (weights * sampling)[of]
        size = counts.sum() ** 2 / (counts**2).sum()  # Kish's
        inside = (verdict * size + 0.5) / (size + 1.0)
        square += shares[of].sum() ** 2 * inside * (1.0 - inside) / (size - 1.0)
    parts = shares * (verdicts - shares[verdicts].sum())
    square += sum(parts[groups == group].sum() ** 2 for group in np.unique(groups))
    assert rate_of_units(units).standard_error["corrected"] == pytest.approx(math.sqrt(square), rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_verdicts_that_are_all_yes_have_an_interval_whatever_the_rounding(seed):
    """Weights that add up to 1 - 1e-16 once made it [1 - 1e-15, 1], and differences as if paired with noise."""
    n, weights = 60, np.random.default_rng(seed).random(60)
    always = CheckedUnits.of([True] * n, [1.0] * 30 + [NAN] * 30, weights=weights)
    other = CheckedUnits.of([True] * 40 + [False] * 20, [1.0] * 25 + [0.0] * 15 + [1.0] * 5 + [0.0] * 15)
    found, errors = rate_of_units(always), [rate_of_units(each).standard_error["corrected"] for each in (always, other)]
    inside = (n + 0.5) / (n + 1.0)
    assert found.standard_error["observed"] == pytest.approx(math.sqrt(inside * (1.0 - inside) / n))
    assert found.confidence_interval["observed"] == pytest.approx([0.947, 1.0], abs=1e-3)
    assert corrected_difference(always, other)[1] == pytest.approx(math.hypot(*errors))


def test_differences_are_paired():
    units, other = sheet(), sheet(yes=(16, 4))
    value, error, (low, high) = corrected_difference(units, other)
    assert value == pytest.approx(0.6 * 2 / 20)
    assert low < value < high
    apart = CheckedUnits.of(other.verdicts, other.labels, groups=np.arange(100, 200))
    assert error < corrected_difference(units, apart)[1]
    assert corrected_difference(units, units)[:2] == pytest.approx((0.0, 0.0))
    refuses("were checked", corrected_difference, units, sheet(no=(2, 4)))


def above_chance_units(rng, n, spread, errors=(0.9, 0.05)):
    """Return checked pairs of a problem and of different ones, of answers whose kinds depend on the problem."""
    answers = (rng.random((n, 4, 1)) > rng.dirichlet([spread, spread, spread], n).cumsum(axis=1)[:, None, :-1]).sum(2)
    first, second = np.triu_indices(4, 1)
    turn = rng.permutation(n)
    pairs = np.stack([turn, np.roll(turn, 1)], axis=1)
    units = []
    for alike, groups in (
        ((answers[:, first] == answers[:, second]).ravel(), np.repeat(np.arange(n), 6)),
        (answers[pairs[:, 0], 0] == answers[pairs[:, 1], 1], pairs),
    ):
        said = np.where(rng.random(len(alike)) < np.where(alike, *errors), True, False)
        labels = np.where(rng.random(len(alike)) < 150 / len(alike), alike * 1.0, NAN)
        units.append(CheckedUnits.of(said, labels, groups=groups))
    return units


def test_differences_on_the_set_are_paired_by_their_labels_alone():
    models = sheet(), sheet(yes=(15, 5), no=(8, 12))
    parts = []
    for units in models:
        parts.append(np.zeros(100))
        for verdict, n in ((True, 60), (False, 40)):
            held = np.flatnonzero(units.is_labelled & (units.verdicts == verdict))
            spread = units.labels[held] - units.labels[held].mean()
            parts[-1][held] = n / 100 * spread / 20 * math.sqrt(1 - 20 / n)
        of = rate_of_units(units, of_set=True)
        parts[-1] *= of.standard_error["corrected"] / np.linalg.norm(parts[-1])
    value, error, (low, high) = corrected_difference(*models, of_set=True)
    assert value == pytest.approx(0.64 - (0.6 * 0.75 + 0.4 * 0.4))
    assert error == pytest.approx(np.linalg.norm(parts[0] - parts[1]))
    assert [low, high] == pytest.approx([value - t.ppf(0.975, 38) * error, value + t.ppf(0.975, 38) * error])


def test_differences_above_chance_are_those_of_the_values_with_the_error_of_many_draws():
    rng, found = np.random.default_rng(8), []
    for _ in range(200):
        (one, by_chance), (two, other) = (above_chance_units(rng, 200, spread) for spread in (0.5, 2.0))
        value, error, ends = corrected_difference(one, two, chance=(by_chance, other))
        values = [corrected_above_chance(*units)[1].corrected for units in ((one, by_chance), (two, other))]
        assert value == pytest.approx(values[0] - values[1])
        truth = 1.0 / (3 * 0.5 + 1.0) - 1.0 / (3 * 2.0 + 1.0)  # of a Dirichlet distribution
        found.append((value, error, ends[0] <= truth <= ends[1]))
    values, errors, held = np.array(found).T
    assert values.mean() == pytest.approx(truth, abs=3 * values.std() / 14)
    assert np.sqrt((errors**2).mean()) == pytest.approx(values.std(), rel=0.15)  # 3 standard errors of a spread of 200
    assert 0.92 <= held.mean() <= 0.98


def variance_units(rng, difficulty, a, b):
    """Return checked answers to four wordings of each problem, and pairs of these, of which both are checked."""
    right = rng.random((len(difficulty), 4)) < beta.ppf(difficulty, a, b)[:, np.newaxis]
    said = rng.random(right.shape) < np.where(right, 0.9, 0.05)
    (first, second), groups = np.triu_indices(4, 1), np.repeat(np.arange(len(right)), 6)
    alike, strata = said[:, first] == said[:, second], said[:, first] + 1 * said[:, second]
    is_drawn = rng.random(alike.shape) < 150 / alike.size
    labels = np.where(is_drawn, right[:, first] == right[:, second], NAN)
    pairs = CheckedUnits.of(alike.ravel(), labels.ravel(), strata=strata.ravel(), groups=groups)
    times = np.zeros(right.shape)
    for of in (first, second):
        np.add.at(times, (np.nonzero(is_drawn)[0], of[np.nonzero(is_drawn)[1]]), 1.0)
    labels, columns = np.where(times > 0, right, NAN).ravel(), {"groups": np.repeat(np.arange(len(right)), 4)}
    return CheckedUnits.of(said.ravel(), labels, sampling=np.maximum(times, 1.0).ravel(), **columns), pairs


def test_differences_of_pvap_are_those_of_the_values_with_the_error_of_many_draws():
    rng, found = np.random.default_rng(8), []
    for _ in range(60):
        difficulty = rng.random(120)  # of the same problems
        (a, one), (b, two) = (variance_units(rng, difficulty, *of) for of in ((2, 1), (0.5, 0.5)))
        value, error, ends = corrected_difference(one, two, accuracy=(a, b))
        values = [corrected_variance(*units)[1].corrected for units in ((a, one), (b, two))]
        assert value == pytest.approx(values[0] - values[1])
        assert sum(ends) / 2 == pytest.approx(value)
        found.append((value, error))
    values, errors = np.array(found).T
    truth = 3 / 4 - 1 / 2  # of beta distributions: (a + b) / (a + b + 1)
    assert values.mean() == pytest.approx(truth, abs=3 * values.std() / 60**0.5)
    assert np.sqrt((errors**2).mean()) == pytest.approx(values.std(), rel=0.3)  # 3 standard errors of a spread of 60
    assert corrected_difference(one, one, accuracy=(a, a))[:2] == pytest.approx((0.0, 0.0))
    never = CheckedUnits.of([False] * 40, [0.0] * 40)
    assert math.isnan(corrected_difference(one, one, accuracy=(a, never))[0])  # all answers are wrong


def test_differences_above_chance_are_paired():
    same, chance = above_chance_units(np.random.default_rng(9), 200, 1.0)
    assert corrected_difference(same, same, chance=(chance, chance))[:2] == pytest.approx((0.0, 0.0))
    alike = CheckedUnits.of([True] * 100, np.ones(100), groups=np.stack([np.arange(100), np.arange(100) + 1], axis=1))
    assert math.isnan(corrected_difference(same, same, chance=(chance, alike))[0])  # all answers are the same
    refuses("were checked", corrected_difference, same, same, chance=(chance, chance.where(np.arange(200) < 20)))


def test_models_that_err_otherwise_differ():
    alike, other = (
        rate_of_units(sheet(600, (180, 20), 400, (50, 150))),
        rate_of_units(sheet(600, (180, 20), 400, (5, 195))),
    )
    assert differs(alike, other)
    assert not differs(alike, alike)


def test_people_who_agree():
    assert agreement([True, True, False, False], [True, False, False, False]) == (0.75, 0.5)
    alike, kappa = agreement([True, True], [True, True])
    assert alike == 1.0
    assert math.isnan(kappa)


@pytest.mark.parametrize(
    ("labels", "columns", "message"),
    [
        ([NAN, NAN], {}, "at least one label"),
        ([1.0], {}, "length of `verdicts`, 2"),
        ([1.0, 2.0], {}, "between 0 and 1"),
        ([1.0, 0.0], {"groups": [1]}, "`groups` must have the length"),
    ],
)
def test_wrong_input_is_refused(labels, columns, message):
    refuses(message, lambda: rate_of_units(CheckedUnits.of([True, False], labels, **columns)))


@pytest.mark.parametrize("missed", [2, 4, 8])
def test_few_problems_that_are_missed_throughout_count_as_problems(missed):
    """Of 40 problems with six pairs each a comparer misses all of some: these few are what is uncertain (Jeffreys)."""
    problem = np.repeat(np.arange(60), 6)
    labels = np.where(problem < 40, 1.0, 0.0)
    verdicts = (problem >= missed) & (problem < 40)
    low, high = rate_of_units(CheckedUnits.of(verdicts, labels, groups=problem)).confidence_interval["sensitivity"]
    lowest, highest = beta.ppf([0.025, 0.975], 40.5 - missed, missed + 0.5)
    assert low <= lowest < highest <= high
    assert high - low < 1.25 * (highest - lowest)


def test_shares_of_labels_of_few_problems_cover():
    """One paraphrase in ten is invalid, most of them of few of 20 problems: 92 % held, the others too low."""
    rng, held = np.random.default_rng(0), []
    for _ in range(500):
        labels = rng.random((20, 4)) < rng.beta(0.1, 0.9, 20)[:, None]
        low, high = label_share(labels.ravel().astype(float), np.repeat(np.arange(20), 4))[1]
        held.append(low <= 0.1 <= high)
    assert 0.93 <= np.mean(held) <= 0.985


@pytest.mark.parametrize(("sensitivity", "false"), [(0.75, 0.1), (0.97, 0.03)])
def test_intervals_cover(sensitivity, false):
    """Of 300 sheets of 120 labels, 95 % less or more 3 standard errors; never where nothing is corrected."""
    rng, n_covered, n_plain = np.random.default_rng(0), 0, 0
    for _ in range(300):
        truth = rng.random(1000) < 0.7
        verdicts = rng.random(1000) < np.where(truth, sensitivity, false)
        labels = np.full(1000, NAN)
        for verdict in (True, False):
            drawn = rng.permutation(np.flatnonzero(verdicts == verdict))[:60]
            labels[drawn] = truth[drawn]
        found = rate_of_units(CheckedUnits.of(verdicts, labels)).confidence_interval
        n_covered += found["corrected"][0] <= 0.7 <= found["corrected"][1]
        n_plain += found["observed"][0] <= 0.7 <= found["observed"][1]
    assert 0.91 * 300 <= n_covered <= 0.99 * 300
    assert n_plain < n_covered


def answered(rng, n_problems, n_labels, k=3):
    """Return pairs of answers with verdicts of a comparer that errs, some of them checked, and what is true of all."""
    same = rng.random((n_problems, k)) < rng.beta(3.0, 1.5, n_problems)[:, None]
    verdicts = np.where(rng.random(same.shape) < 0.9, same, rng.random(same.shape) < 0.2)
    labels, groups = np.full(same.size, NAN), np.repeat(np.arange(n_problems), k)
    chosen = rng.choice(same.size, n_labels, replace=False)
    labels[chosen] = same.ravel()[chosen]
    return CheckedUnits.of(verdicts.ravel(), labels, groups=groups)


def test_a_pilot_predicts_the_error_of_a_larger_study():
    rng, n_labels, n_problems = np.random.default_rng(5), 400, 1_200
    real = np.std([rate_of_units(answered(rng, n_problems, n_labels)).corrected for _ in range(1_500)])
    plans = [plan_labels(answered(rng, 300, 120)) for _ in range(200)]
    predicted = np.array([plan.half_width(n_labels, n_problems) / plan.quantile for plan in plans])
    assert abs(predicted.mean() / real - 1.0) < 0.06  # the Monte Carlo error of `real` is 1.8 %
    assert np.mean(abs(predicted / real - 1.0) < 0.25) > 0.9


def test_the_pilot_itself_has_its_own_half_width():
    found = answered(np.random.default_rng(6), 300, 120)
    plan, error = plan_labels(found), rate_of_units(found).standard_error["corrected"]
    assert plan.half_width(plan.n_labels, plan.n_problems) == pytest.approx(plan.quantile * error)


def test_the_cheapest_study_is_that_of_a_search():
    plan = plan_labels(answered(np.random.default_rng(7), 300, 120))
    n_labels, n_problems = plan.cheapest(0.02, 5.0, 4.0)
    assert plan.half_width(n_labels, n_problems) <= 0.02
    searched = min(
        (5.0 * labels + 4.0 * problems, labels)
        for labels in range(100, 8_000)
        if (problems := plan.problems_for(0.02, labels)) is not None
    )
    assert 5.0 * n_labels + 4.0 * n_problems == pytest.approx(searched[0], rel=2e-3)


def test_labels_alone_may_be_too_few():
    plan = plan_labels(answered(np.random.default_rng(7), 300, 120))
    assert plan.problems_for(0.001, 120) is None
    assert [plan.problems_for(plan.half_width(120, n), 120) for n in range(40, 600)] == list(range(40, 600))
    assert plan.problems_for(plan.half_width(1, 1), 1) == 1
    assert plan.cheapest(10.0, 1.0, 1.0) == (1, 1)


def test_few_judged_groups_carry_no_interval_among_valid_pairs():
    groups, hits = np.repeat(np.arange(100), 15), np.random.default_rng(8).integers(0, 2, 1500)
    for n_judged in (5, 10):
        invalid = np.where(groups < n_judged, np.tile([1.0, 0.0, 0.0, 1.0, 0.0], 300), np.nan)
        found = rate_among_valid(hits, invalid, np.ones(1500), groups)
        assert not found.refused
        assert np.isnan(found.confidence_interval).all() == (n_judged < 10)


def test_nothing_is_known_of_valid_pairs_where_they_may_be_none():
    found = rate_among_valid([1, 0] * 7, [0.0] * 2 + [1.0] * 12, np.ones(14), range(14))
    assert found.confidence_interval == [0.0, 1.0]


def test_the_interval_among_valid_pairs_is_fiellers_with_half_a_problem_more():
    rng = np.random.default_rng(9)
    groups = np.repeat(np.arange(30), 4)
    hits, invalid = (rng.random(120) < 0.7).astype(float), (rng.random(120) < 0.3).astype(float)
    invalid[groups >= 24] = NAN
    table = [[0.0] * 5 for _ in range(30)]  # of each problem: pairs, hits, judged, invalid, both hit and invalid
    for group, hit, bad in zip(groups.tolist(), hits.tolist(), invalid.tolist(), strict=True):
        known = not math.isnan(bad)
        row = (1.0, hit, 1.0 * known, bad if known else 0.0, hit * bad if known else 0.0)
        table[group] = [old + new for old, new in zip(table[group], row, strict=True)]

    def ratio_at(more, sign):
        """Return the ratio that lies t standard errors of its problems' parts from 0, on one side."""
        rows = [*table, *more]
        n, total = len(rows), np.sum(rows, axis=0)
        rate, share, both = total[1] / total[0], total[3] / total[2], total[4] / total[2]
        upper = [(h - rate * s) / total[0] - (b - both * j) / total[2] + (rate - both) / n for s, h, j, _, b in rows]
        lower = [(share * j - v) / total[2] + (1.0 - share) / n for _, _, j, v, _ in rows]

        def excess(ratio):
            parts = np.array(upper) - ratio * np.array(lower)
            return parts.mean() + sign * t.ppf(0.975, 23) * parts.std(ddof=1) / math.sqrt(n)

        middle = sum(upper) / sum(lower)
        return brentq(excess, *sorted((middle, middle + sign * 0.5)))

    rows_more = [2.0, 0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 2.0, 0.0]  # half of a problem's four pairs
    found = rate_among_valid(hits, invalid, np.ones(120), groups)
    low = min(ratio_at([], -1.0), ratio_at([rows_more[0]], -1.0))
    high = max(ratio_at([], 1.0), ratio_at([rows_more[1]], 1.0))
    assert found.confidence_interval == pytest.approx([low, high])


def test_labels_that_carry_no_correction_carry_no_plan():
    refuses("carry a correction", plan_labels, sheet(yes=(2, 1)))
