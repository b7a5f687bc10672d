"""Minimal cases of wrong numbers, through the command line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest


def write(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def scored(command: Any, *arguments: Any) -> dict[str, Any]:
    (result,) = command.json("score", *arguments).values()
    return result


def test_corrected_pvap_is_a_share_of_the_variance_at_any_covered_mass(command: Any, tmp_path: Path) -> None:
    """One of two right in every bucket, and .6 of the test set in their decile: all variance is due to wording."""
    rows = []
    for bucket in range(20):
        rows += [f"{bucket},original,1,1,0.95", f"{bucket},paraphrase,1,1,0.9", f"{bucket},paraphrase,1,0,0.2"]
    human = write(tmp_path / "human.csv", "bucket_id,role,label,prediction,confidence", rows)
    inside = ["1,1,0.95"] * 6 + ["1,0,0.05"] * 4
    test = write(tmp_path / "test.csv", "label,prediction,confidence", inside)
    options = ("--confidence", "confidence", "--test-predictions", test)
    measured = scored(command, human, *options)["measures"]["paraphrastic_consistency"]
    assert measured["covered_mass"] == pytest.approx(0.6)
    assert measured["corrected_pvap"] == pytest.approx(1.0)
    assert measured["confidence_interval"]["corrected_accuracy"] == [None, None]
    assert any("cover only 60.0%" in warning for warning in measured["warnings"])


def test_strata_of_a_random_attribute_are_as_consistent_as_the_whole(command: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    theta = rng.beta(2, 1, 400)
    rows = [f"{b},1,{int(rng.random() < theta[b])},die {rng.integers(1, 4)}" for b in range(400) for _ in range(6)]
    result = scored(command, write(tmp_path / "rows.csv", "bucket_id,label,prediction,die", rows), "--stratum", "die")
    whole = result["measures"]["paraphrastic_consistency"]["paraphrastic_consistency_unbiased"]
    parts = [part["paraphrastic_consistency"] for part in result["strata"]["die"].values()]
    for part in parts:
        low, high = part["confidence_interval"]["paraphrastic_consistency_unbiased"]
        assert low <= whole <= high
        assert part["paraphrastic_consistency"] > whole + 0.05  # as published, a stratum is ranked by its size


def test_nobody_is_beaten_by_chance(command: Any, tmp_path: Path) -> None:
    """Two models of one kind: whichever is ahead in both, the difference is chance."""
    rng = np.random.default_rng(1)
    files = []
    for name in ("one", "two"):
        theta = np.random.default_rng(5).beta(2, 1, 80)
        rows = [f"{b},e{b}-{j},1,{int(rng.random() < theta[b])}" for b in range(80) for j in range(4)]
        files.append(write(tmp_path / f"{name}.csv", "bucket_id,example_id,label,prediction", rows))
    out = command.out("compare", *files)
    assert "beaten by" not in out
    assert "not beaten" in out
