"""BECEL's rho by hand-made cases and identities (the published Table 2 is not at hand)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.errors import InputError
from paraconsist.measures.cue_ratio import cue_design_ratio

POINTS = st.integers(0, 64).map(lambda n: n / 64)  # binary fractions: identities hold to the last bit


def test_by_hand():
    assert cue_design_ratio(30, 10, 20) == 2.0
    assert cue_design_ratio(0.5, 0.25, 0.0) == 0.5
    assert cue_design_ratio(0.25, 0.5, 0.0) == -1.0
    assert type(cue_design_ratio(30, 10, 20)) is float


def test_what_zero_and_one_mean():
    assert cue_design_ratio(0.5, 0.5, 0.25) == 0.0  # other data change nothing
    assert cue_design_ratio(0.5, 0.25, 0.25) == 1.0  # other data do what the best model does


def test_undefined_at_the_best_whatever_snli_says():
    for snli in (0.0, 0.25, 0.5):
        assert math.isnan(cue_design_ratio(0.25, snli, 0.25))


def test_an_undefined_inconsistency_stays_undefined():
    assert math.isnan(cue_design_ratio(math.nan, 0.1, 0.2))
    assert math.isnan(cue_design_ratio(0.3, math.nan, 0.2))
    assert math.isnan(cue_design_ratio(0.3, 0.1, math.nan))


def test_arrays_are_the_numbers_one_by_one():
    tau, snli, best = [0.5, 0.75, 0.25], [0.25, 0.25, 0.125], 0.25
    found = cue_design_ratio(tau, snli, best)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, [cue_design_ratio(t, s, best) for t, s in zip(tau, snli, strict=True)])
    assert cue_design_ratio(np.ones((2, 1)), np.zeros(3), 0.5).shape == (2, 3)
    assert type(cue_design_ratio(np.float64(0.5), 0.25, 0.0)) is float


@given(POINTS, POINTS, POINTS)
def test_identities(a, snli, b):
    tau, best = max(a, b), min(a, b)
    rho = cue_design_ratio(tau, snli, best)
    # per cent or shares
    np.testing.assert_allclose(cue_design_ratio(100 * tau, 100 * snli, 100 * best), rho, rtol=1e-12)
    if tau == best:
        assert math.isnan(rho)
        return
    assert rho * (tau - best) == pytest.approx(tau - snli, abs=1e-12)
    assert np.sign(rho) == np.sign(tau - snli)


@pytest.mark.parametrize(
    ("given_values", "sentence"),
    [
        ((0.1, 0.2, 0.3), "`best_inconsistency` must be at most every inconsistency; got 0.3"),
        (([0.3, 0.1], 0.2, 0.2), "got 0.2 at row 1"),
        ((0.3, -0.1, 0.2), "`snli_inconsistency` must lie between 0 and 1"),
        ((0.3, 101, 0.2), "`snli_inconsistency` must lie between 0 and 1"),
        ((0.3, math.inf, 0.2), "`snli_inconsistency` must lie between 0 and 1"),
        (("high", 0.1, 0.2), "`inconsistency` must be a number or an array of numbers; got 'high'"),
        ((None, 0.1, 0.2), "`inconsistency` must be a number or an array of numbers; got None"),
        (([0.3, 0.4], [0.1, 0.2, 0.3], 0.2), "must have one shape"),
    ],
)
def test_input_that_is_none(given_values, sentence):
    with pytest.raises(InputError, match="cue_design_ratio") as raised:
        cue_design_ratio(*given_values)
    assert sentence in str(raised.value)
