"""The IE test of many runs, by every method: corrections, collapsed runs, warnings; and bad input."""

import json
import math

import numpy as np
import pytest
from helpers.errors import refuses
from helpers.invariance import MANY, REPLAYS
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.files import to_strict_json
from paraconsist.measures.ie_test import METHODS, ie_test, ie_test_from_counts
from paraconsist.measures.paired_tests import exact_p_value, paired_statistic, replayed_p_value, resampled_p_value
from paraconsist.measures.standings import correct_p_values, signal_to_noise, too_few_resamples


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
        assert counted.to_dict() == {name: value for name, value in rows.to_dict().items() if "collapsed" not in name}


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
    alpha = 3 * exact_p_value(options["n"], options["n10"], options["n01"])[1] * 0.9
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
    assert one.p_value == ie_test([1] * 50, [0] * 3 + [1] * 47, [1] * 50, method="paper", seed=4).p_value
    assert "seed:given" in one.signature


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
    refuses(message, ie_test, **(arguments | change))


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
    refuses(message, ie_test_from_counts, **({"n": 10, "n10": 1, "n01": 2, "n_correct": 5} | change))


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
    refuses(message, function, *arguments)


def test_bad_replays():
    refuses(r"`seed` must be below 2\*\*32", replayed_p_value, [0, 1], [1, 0], seed=2**32)
    refuses("`seed` must be a whole number", replayed_p_value, [0, 1], [1, 0], seed=-1)
    refuses(r"`transformed_correct` must be true or false; got 2 at row 1", replayed_p_value, [0, 1], [0, 2], seed=0)
    refuses(r"`transformed_correct` must have one value per row", replayed_p_value, [0, 1], [0], seed=0)
    refuses(r"`rng` must be a whole number", resampled_p_value, 5, 1, 1, rng="x")
