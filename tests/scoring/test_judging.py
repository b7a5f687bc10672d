"""Files that cannot be judged, and the sentences beside numbers that mislead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from helpers.commands import Command, write

PC = "paraphrastic_consistency"


def scored(command: Command, *arguments: object) -> dict[str, Any]:
    code, out, err = command("score", *arguments, "--json", "--n-resamples", 200)
    assert code == 0, err
    (result,) = json.loads(out).values()
    return result


def long(*buckets: tuple[Any, list[Any]], role: str = "paraphrase") -> list[dict[str, Any]]:
    """A row for each answer, from buckets of (gold label, answers)."""
    return [
        {"bucket_id": f"b{number}", "role": role, "label": gold, "prediction": answer}
        for number, (gold, answers) in enumerate(buckets)
        for answer in answers
    ]


# ------------------------------------------------------------------------------------------- majority rate


def test_the_majority_rate_is_that_of_the_rows_beside_it(command: Command, tmp_path: Path) -> None:
    originals = [row | {"role": "original"} for row in long((0, [0]), (1, [1]), (1, [1]))]
    rows = long((0, [0, 1, 0, 0, 0]), (1, [1, 1]), (1, [1]))
    test = long(*((int(i < 9), [i % 2]) for i in range(10)))
    files = write(tmp_path / "mine.csv", originals + rows), write(tmp_path / "test.csv", test)
    result = scored(command, files[0], "--test-predictions", files[1])
    assert result["majority_rate"] == 5 / 8
    assert result["test_majority_rate"] == 9 / 10
    assert "test_majority_rate" not in scored(command, files[0])
    out = command("score", files[0], "--test-predictions", files[1])[1]
    assert "accuracy 62.5 % (90.0 % on the full test set)" in " ".join(out.split())


@pytest.mark.parametrize(("policy", "rate"), [("wrong", 4 / 6), ("drop_bucket", 2 / 4)])
def test_the_majority_rate_is_that_of_the_rows_a_policy_leaves(
    command: Command, tmp_path: Path, policy: str, rate: float
) -> None:
    rows = long((0, [0, 1]), (1, [1, 0]), (1, [1, None]))
    assert scored(command, write(tmp_path / "mine.csv", rows), "--unparsed", policy)["majority_rate"] == rate


@pytest.mark.real_data
def test_the_majority_rate_of_delta_snli(command: Command, data_folder: Path) -> None:
    files = [
        data_folder / "paranlu" / "predictions" / f"snli__roberta-large__{kind}.parquet" for kind in ("human", "test")
    ]
    columns = ["--label", "gold", "--prediction", "pred", "--original", "is_original", "--confidence", "conf_gold"]
    result = scored(command, files[0], "--test-predictions", files[1], *columns)
    table = pq.read_table(files[0])
    gold = table["gold"].to_numpy()[~table["is_original"].to_numpy(zero_copy_only=False)]
    assert result["majority_rate"] == pytest.approx(max(gold.mean(), 1 - gold.mean()), abs=1e-12)
    assert (round(100 * result["majority_rate"], 1), round(100 * result["test_majority_rate"], 1)) == (52.1, 50.3)
