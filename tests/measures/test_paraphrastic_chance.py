"""Paraphrastic consistency against chance: a coin, a perfect and a constant model, and its two parts."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from paraconsist.measures.paraphrastic import paraphrastic_consistency


def made(kind: str, n: int, k: int, n_labels: int) -> dict[str, Any]:
    """Return rows of a model that flips coins, is always right, or always gives one answer."""
    rng = np.random.default_rng(14)
    gold = np.repeat(rng.integers(0, n_labels, n), k)
    drawn = rng.integers(0, n_labels, n * k)
    predictions = {"coin": drawn, "perfect": gold, "constant": np.ones(n * k, dtype=int)}[kind]
    columns = {"predictions": predictions, "references": gold, "buckets": np.repeat(np.arange(n), k)}
    return {name: column.tolist() for name, column in columns.items()}


def test_a_coin_a_perfect_and_a_constant_model_stand_where_they_belong() -> None:
    coin = paraphrastic_consistency(**made("coin", 500, 2, 2))
    assert coin.paraphrastic_consistency_unbiased == pytest.approx(0.5, abs=0.05)
    low, high = coin.confidence_interval["paraphrastic_consistency_unbiased"]
    assert low < 0.5 < high
    assert coin.chance == pytest.approx(0.5, abs=0.01)
    low, high = coin.confidence_interval["chance_corrected"]
    assert low < 0.0 < high
    perfect = paraphrastic_consistency(**made("perfect", 500, 2, 2))
    assert (perfect.chance_corrected, perfect.krippendorff_alpha) == (1.0, 1.0)
    assert perfect.confidence_interval["chance_corrected"][0] > 0.97
    constant = paraphrastic_consistency(**made("constant", 500, 2, 2))
    assert math.isnan(constant.chance_corrected)
    assert any("every prediction is 1" in warning for warning in constant.warnings)
    assert any(warning.startswith("undefined") and "chance_corrected" in warning for warning in constant.warnings)


def test_consistently_wrong_is_not_the_same_answer() -> None:
    """22 phrasings, five options: seldom right, mostly wrong, and wrong in another way each time."""
    rows = made("coin", 300, 22, 5)
    result = paraphrastic_consistency(**rows)
    assert result.paraphrastic_consistency_unbiased == pytest.approx(0.68, abs=0.01)
    assert result.agreement_unbiased == pytest.approx(0.2, abs=0.01)
    assert result.consistently_right == pytest.approx(0.04, abs=0.01)
    assert result.consistently_wrong == pytest.approx(0.64, abs=0.01)
    assert result.chance == pytest.approx(0.68, abs=0.005)
    assert result.agreement_chance == pytest.approx(0.2, abs=0.005)
    assert result.chance_corrected == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("seed", range(6))
def test_the_parts_of_consistency_equal_the_naive_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    buckets = rng.integers(0, 9, 60)
    gold, predictions = rng.integers(0, 3, 9)[buckets], rng.integers(0, 3, 60)
    result = paraphrastic_consistency(predictions.tolist(), gold.tolist(), buckets.tolist())
    parts = []
    for bucket in range(9):
        right = (predictions == gold)[buckets == bucket].tolist()
        pairs = list(permutations(right, 2))
        if pairs:
            parts.append([np.mean([a and b for a, b in pairs]), np.mean([not (a or b) for a, b in pairs])])
    both = np.mean(parts, axis=0)
    assert (result.consistently_right, result.consistently_wrong) == pytest.approx(tuple(both), abs=1e-12)
    total = result.consistently_right + result.consistently_wrong
    assert total == pytest.approx(result.paraphrastic_consistency_unbiased, abs=1e-12)
    above = 1 - (1 - result.agreement_unbiased) / (1 - result.agreement_chance)
    assert result.chance_corrected == pytest.approx(above, abs=1e-12)


def test_alpha_and_kappa_are_those_of_the_counts() -> None:
    result = paraphrastic_consistency(**made("coin", 40, 3, 3)).to_dict()
    assert result["krippendorff_alpha"] == pytest.approx(result["chance_corrected"], abs=1e-12)
    assert 1 - result["fleiss_kappa"] == pytest.approx((1 - result["krippendorff_alpha"]) * 120 / 119, abs=1e-12)
    low, high = result["confidence_interval"]["fleiss_kappa"]
    assert low < result["fleiss_kappa"] < high
    rows = {name: values[1:] for name, values in made("coin", 40, 3, 3).items()}
    assert "fleiss_kappa" not in paraphrastic_consistency(**rows).to_dict()
