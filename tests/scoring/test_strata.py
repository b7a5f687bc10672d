"""Strata are compared by what the model does, not by how many paraphrases of a bucket fall into them."""

from __future__ import annotations

import numpy as np
import pytest

import paraconsist as pc
from paraconsist.measures.catalogue import PARAPHRASTIC


def test_a_random_attribute_of_rows_makes_no_stratum_more_consistent() -> None:
    """Published, a stratum of one or two paraphrases a bucket scores 80 to 97 whatever the model does."""
    rng = np.random.default_rng(0)
    bucket = np.repeat(np.arange(600), 6)
    gold = np.repeat(rng.integers(0, 2, 600), 6)
    right = rng.random(3600) < rng.beta(2, 1, 600)[bucket]
    rows = {
        "bucket_id": bucket.tolist(),
        "label": gold.tolist(),
        "prediction": np.where(right, gold, 1 - gold).tolist(),
        "die": rng.integers(1, 5, 3600).astype(str).tolist(),
    }
    scores = pc.score(rows, stratum=["die"]).sets["predictions"]
    whole = scores.measures[PARAPHRASTIC.name]
    parts = [part[PARAPHRASTIC.name] for part in scores.strata["die"].values()]
    assert len(parts) == 4
    for part in parts:
        low, high = part["confidence_interval"][PARAPHRASTIC.headline]
        assert low <= whole[PARAPHRASTIC.headline] <= high
        assert part[PARAPHRASTIC.published] > whole[PARAPHRASTIC.published] + 0.05
    mean = np.mean([part[PARAPHRASTIC.headline] for part in parts])
    assert mean == pytest.approx(whole[PARAPHRASTIC.headline], abs=0.03)


def test_strata_of_few_buckets_have_no_interval() -> None:
    rng = np.random.default_rng(1)
    rows = {
        "bucket_id": np.repeat(np.arange(40), 4).tolist(),
        "label": [1] * 160,
        "prediction": rng.integers(0, 2, 160).tolist(),
        "theme": np.repeat([f"theme {i // 4}" for i in range(40)], 4).tolist(),
    }
    strata = pc.score(rows, stratum=["theme"]).sets["predictions"].strata["theme"]
    assert len(strata) == 10
    for part in strata.values():
        assert np.isnan(part[PARAPHRASTIC.name]["confidence_interval"][PARAPHRASTIC.headline]).all()
        assert "only 4 buckets: no interval below 10" in part[PARAPHRASTIC.name]["warnings"]
