"""Where a coin, a perfect and a constant model stand in what `score` prints and `gate` decides."""

import csv
from pathlib import Path

import numpy as np
import pytest


def write(path: Path, predictions: np.ndarray, gold: np.ndarray, k: int) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["bucket_id", "label", "prediction"])
        lines.writerows([f"b{i // k}", *row] for i, row in enumerate(zip(gold, predictions, strict=True)))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    rng, folder = np.random.default_rng(14), tmp_path_factory.mktemp("chance")
    gold = np.repeat(rng.integers(0, 2, 500), 2)
    models = {"coin": rng.integers(0, 2, 1000), "perfect": gold, "constant": np.ones(1000, dtype=int)}
    return {name: write(folder / f"{name}.csv", answers, gold, 2) for name, answers in models.items()}


def test_the_coin(command, files):
    out = command.out("score", files["coin"])
    (line,) = [line for line in out.splitlines() if "consistency above chance" in line]
    value = float(line.split("%")[0].split()[-1])
    low, high = (float(end) for end in line[line.index("[") + 1 : line.index("]")].split(","))
    assert abs(value) < 10
    assert low < 0 < high
    assert command("gate", "chance_corrected.low > 0", files["coin"])[0] == 1


def test_the_perfect_model(command, files):
    assert command("gate", "chance_corrected >= 1 and chance_corrected.low > 0.97", files["perfect"])[0] == 0


def test_the_constant_model_is_told_and_passes_no_gate(command, files):
    code, out, err = command("score", files["constant"])
    assert code == 0
    (line,) = [line for line in out.splitlines() if "consistency above chance" in line]
    assert "undefined" in line
    assert "every prediction is 1" in out + err
    for condition in ("chance_corrected >= 0", "chance_corrected < 1"):
        assert command("gate", condition, files["constant"])[0] != 0


def test_pairs(command, tmp_path):
    """An answer that is changed by every second paraphrase, at random among two labels: nothing above chance."""
    rng = np.random.default_rng(1)
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["bucket_id", "role", "label", "prediction"])
        for i in range(400):
            lines.writerows([f"b{i}", role, i % 2, rng.integers(0, 2)] for role in ("original", "paraphrase"))
    assert "above" in command.out("score", path, "--measure", "semantic_inconsistency")
    assert command("gate", "semantic.chance_corrected.low > 0", path, "--measure", "semantic_inconsistency")[0] == 1
    assert command("gate", "semantic.chance_corrected.high > 0", path, "--measure", "semantic_inconsistency")[0] == 0
