"""The numbers that are shown first, where everybody knows the answer: coins, a perfect model, a constant one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from paraconsist.measures.paraphrastic import paraphrastic_consistency


def flips(n_buckets: int, k: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    n = n_buckets * k
    return {
        "predictions": rng.integers(0, 2, n),
        "references": np.repeat(rng.integers(0, 2, n_buckets), k),
        "buckets": np.repeat(np.arange(n_buckets), k),
    }


@pytest.mark.parametrize("seed", range(5))
def test_two_coins_are_right_together_half_of_the_time(seed: int) -> None:
    result = paraphrastic_consistency(**flips(500, 2, seed))
    low, high = result.confidence_interval["paraphrastic_consistency_unbiased"]
    assert 0.44 <= result.paraphrastic_consistency_unbiased <= 0.56
    assert low <= 0.5 <= high
    assert result.paraphrastic_consistency == pytest.approx((1 + result.paraphrastic_consistency_unbiased) / 2)
    assert result.pvap_unbiased == pytest.approx(1.0, abs=0.12)  # all that varies is the wording


def test_a_perfect_model_is_consistent_and_a_constant_one_is_told() -> None:
    coins = flips(60, 4)
    perfect = paraphrastic_consistency(**coins | {"predictions": coins["references"]})
    assert perfect.paraphrastic_consistency_unbiased == 1.0
    assert perfect.confidence_interval["paraphrastic_consistency_unbiased"][1] == 1.0
    assert not any("every prediction" in warning for warning in perfect.warnings)
    constant = paraphrastic_consistency(**coins | {"predictions": np.ones(240, dtype=int)})
    assert any("every prediction is 1" in warning for warning in constant.warnings)


def test_unbiased_variances_are_what_a_loop_over_pairs_of_rows_finds() -> None:
    """Half the mean squared difference of two rows is their variance: of one bucket, and of any two buckets."""
    rng = np.random.default_rng(1)
    size = rng.integers(2, 7, 25)
    right = [rng.random(k) < rng.beta(2, 1) for k in size]
    within = np.mean([np.mean([a != b for i, a in enumerate(one) for b in one[:i]]) / 2 for one in right])
    whole = np.mean([one.mean() * (1 - two.mean()) for one in right for two in right])
    bucket = np.repeat(np.arange(25), size)
    result = paraphrastic_consistency(np.concatenate(right).astype(int), np.ones(len(bucket), dtype=int), bucket)
    assert result.vap_unbiased == pytest.approx(within)
    assert result.between_variance_unbiased == pytest.approx(whole - within)
    assert result.pvap_unbiased == pytest.approx(within / whole)


def test_corrected_pvap_is_a_share_whatever_the_covered_mass() -> None:
    """Half right in every bucket: all variance is due to wording, also where a decile of the test set has no bucket."""
    options: dict[str, Any] = {
        "predictions": [1, 0] * 20,
        "references": [1] * 40,
        "buckets": np.arange(40) // 2,
        "original_confidences": dict.fromkeys(range(20), 0.95),
        "test_confidences": [0.95] * 6 + [0.05] * 4,
    }
    result = paraphrastic_consistency(**options)
    assert (result.covered_mass, result.corrected_pvap) == (pytest.approx(0.6), pytest.approx(1.0))
    right = paraphrastic_consistency(**options | {"predictions": [1] * 40})
    assert right.corrected_pvap is not None
    assert np.isnan(right.corrected_pvap)


def test_corrected_values_have_no_interval_where_part_of_the_test_set_has_no_bucket() -> None:
    options: dict[str, Any] = {
        **flips(40, 4),
        "original_confidences": {bucket: 0.05 + 0.1 * (bucket % 9) for bucket in range(40)},
        "test_confidences": np.linspace(0.0, 1.0, 200),
        "renormalize": True,
    }
    result = paraphrastic_consistency(**options)
    assert np.isnan(result.confidence_interval["corrected_accuracy"]).all()
    assert any("cover only 90.0%" in warning for warning in result.warnings)
    covered = paraphrastic_consistency(**options | {"test_confidences": np.linspace(0.0, 0.89, 200)})
    low, high = covered.confidence_interval["corrected_paraphrastic_consistency_unbiased"]
    assert low < covered.corrected_paraphrastic_consistency_unbiased < high  # type: ignore[operator]


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "published", "unbiased"), [("snli", 50.6, 58.5), ("social", 52.4, 61.7), ("atomic", 48.1, 56.3)]
)
def test_pvap_of_roberta_large(data_folder: Path, name: str, published: float, unbiased: float) -> None:
    table = parquet.read_table(data_folder / "paranlu" / "predictions" / f"{name}__roberta-large__human.parquet")
    rows = {column: np.asarray(table[column].to_pylist()) for column in ("pred", "gold", "bucket_id", "is_original")}
    kept = ~rows["is_original"]
    result = paraphrastic_consistency(*(rows[column][kept] for column in ("pred", "gold", "bucket_id")))
    assert 100 * result.pvap == pytest.approx(published, abs=0.05)
    assert 100 * result.pvap_unbiased == pytest.approx(unbiased, abs=0.05)
