"""What Srikanth et al. print: goldens of paraphrastic consistency."""

from types import SimpleNamespace
from typing import Any

import pytest

from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.paraphrastic import (
    Stratified,
    bucket_values,
    corrected_values,
    decile_weights,
    deciles,
)

KEYS = {
    "A_O": "original_accuracy", "A_T": "test_accuracy", "A_par": "accuracy", "A_bkt": "bucket_accuracy",
    "P_C": "paraphrastic_consistency", "P_C_unb": "paraphrastic_consistency_unbiased", "VAP": "vap",
    "VAR_between": "between_variance", "PVAP": "pvap", "PVAP_pooled": "pvap_pooled",
    "minP_C": "min_paraphrastic_consistency", "mass": "covered_mass", "A_c": "corrected_accuracy",
    "P_Cc": "corrected_paraphrastic_consistency", "VAP_c": "corrected_vap", "PVAP_c": "corrected_pvap"
}  # fmt: skip
SETS = ("anli", "snli", "atomic", "social")
TABLE_4 = [(model, name) for model in ("bow", "roberta-large") for name in SETS]
TABLE_7 = [(name, artifact) for name in SETS[1:] for artifact in ("likely", "unlikely")]
FIGURE_4 = [(name, kind) for name in SETS for kind in ("human", "auto")]
PRINTED_DIGIT = 0.05 + 1e-9


def check(values: dict[str, Any], wanted: dict[str, float]) -> None:
    """Compare results with printed or published values, by their short names."""
    for short, value in wanted.items():
        if short == "PVAP_c" and values["covered_mass"] < 1.0 - 1e-12:
            continue  # as published it is no share of the variance: the weights do not sum to 1
        if short in KEYS:
            assert values[KEYS[short]] == pytest.approx(value, abs=1e-12), short


def correct_for_sampling(counts: BucketCounts, original_confidences: Any, test_confidences: Any) -> SimpleNamespace:
    """The corrected measures from counts, and the confidences of each bucket's original and of the test set."""
    decile, weights = deciles(original_confidences), decile_weights(test_confidences)
    strata = [Stratified.of(values, decile, weights) for values in bucket_values(counts)]
    return SimpleNamespace(**corrected_values(*strata, renormalize=False))
