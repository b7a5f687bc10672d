"""A masked value is a missing value: no measure goes on with what stands under the mask."""

from typing import Any

import numpy as np
import pytest
from helpers.metric_loading import load_metric

import paraconsist
from paraconsist.errors import InputError
from paraconsist.measures.cue_ratio import cue_design_ratio
from paraconsist.measures.ie_test import ie_test_from_counts
from paraconsist.measures.paired_tests import exact_p_value
from paraconsist.measures.paraphrastic import decile_weights
from paraconsist.measures.standings import corrected_p_values, signal_to_noise

LABELS = [0, 1, 1, 0]
ROWS = [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3]]


def masked(values: Any) -> Any:
    """Hide the second of the values (of its first axis)."""
    array = np.ma.array(values)
    array[1] = np.ma.masked
    return array


CASES: dict[str, tuple[str, Any]] = {
    "test_confidences": (
        "test_confidences",
        lambda m: paraconsist.paraphrastic_consistency(
            LABELS,
            LABELS,
            [0, 1, 1, 0],
            original_confidences={0: 0.2, 1: 0.8},
            test_confidences=m([0.1, 0.85, 0.9]),
        ),
    ),
    "decile_weights": ("test_confidences", lambda m: decile_weights(m([0.1, 0.9]))),
    "predictions": (
        "predictions",
        lambda m: paraconsist.paraphrastic_consistency(m(LABELS), LABELS, [0, 1, 1, 0]),
    ),
    "probabilities": ("probabilities", lambda m: paraconsist.distribution_shift(m(ROWS), ROWS)),
    "one probability": (
        "original_probabilities",
        lambda m: paraconsist.distribution_shift(ROWS, np.ma.array(ROWS, mask=np.eye(4, 2, -1))),
    ),
    "module": ("probabilities", lambda m: load_metric("distribution_shift").compute(
        probabilities=m(ROWS), original_probabilities=ROWS)),
    "allowed": (
        "references",
        lambda m: paraconsist.transitive_inconsistency(LABELS, m(LABELS), *[LABELS] * 4),
    ),
    "IE counts": ("n10", lambda m: ie_test_from_counts([50, 50], m([3, 4]), [0, 3], n_correct=[40, 40])),
    "exact p": ("n01", lambda m: exact_p_value(n=[50, 50], n10=[3, 3], n01=m([0, 1]))),
    "accuracies": ("accuracies", lambda m: signal_to_noise(m([0.8, 0.7, 0.9]))),
    "p-values": ("p_values", lambda m: corrected_p_values(m([0.1, 0.2]))),
    "rho": ("inconsistency", lambda m: cue_design_ratio(m([0.3, 0.2]), 0.1, 0.1)),
    "similarities": ("similarities", lambda m: paraconsist.paraphrase_diversity(
        ["a b", "c d"], ["a c", "c e"], similarities=m([0.5, 0.6]))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_masked_value_is_missing(name):
    parameter, measure = CASES[name]
    with pytest.raises(InputError, match="missing values") as e:
        measure(masked)
    assert (e.value.parameter, e.value.row) == (parameter, 1)


@pytest.mark.parametrize("name", [name for name in CASES if name != "one probability"])
def test_an_array_whose_mask_hides_nothing_is_an_array(name):
    CASES[name][1](np.ma.array)
