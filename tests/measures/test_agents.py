"""Repeated runs of agents: pass^k as tau-bench printed it, outcome consistency with and without self-pairs."""

from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import paraconsist as pc


def runs(success: Any, task: Any) -> tuple[Any, Any, Any]:
    """Return P_C, pass^k for every k, and variance components of repeated runs."""
    right, most = np.ones_like(success), int(np.bincount(task).max())
    consistency = pc.paraphrastic_consistency(success, right, task)
    passed = pc.prompt_sensitivity(success, right, task, draws=range(1, most + 1))
    return consistency, passed, pc.variance_components(success, {"task": task})


@pytest.mark.parametrize("k", [2, 3, 4, 5, 10])
def test_a_coin_is_not_consistent_at_all_and_hal_gives_it_1_over_k(k: int) -> None:
    """E (2p - 1)^2 over the binomial distribution of k runs: 1 / k, and 0 without pairs of a run with itself."""
    counts = np.repeat(np.arange(k + 1), [comb(k, c) for c in range(k + 1)])
    success = (np.arange(k) < counts[:, np.newaxis]).astype(int).ravel()
    consistency, _, parts = runs(success, np.repeat(np.arange(len(counts)), k))
    assert 2 * consistency.paraphrastic_consistency - 1 == pytest.approx(1 / k, abs=1e-12)
    assert 2 * consistency.paraphrastic_consistency_unbiased - 1 == pytest.approx(0.0, abs=1e-12)
    assert 1 - 4 * parts.variance["residual"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.real_data
def test_tau_bench(data_folder: Path) -> None:
    table = pq.read_table(data_folder / "agents" / "tau_bench_airline.parquet").to_pandas()
    success, task = table["reward"].to_numpy().astype(int), table["task"].to_numpy()
    consistency, passed, parts = runs(success, task)
    printed = pyarrow.csv.read_csv(data_folder / "agents" / "tau_bench_published.csv").to_pandas()
    cells = printed[printed["domain"].eq("airline")].drop_duplicates(["strategy", "k", "pass_hat_k"])
    for k, expected in enumerate((0.420, 0.273, 0.220, 0.200), 1):
        assert round(passed.pass_hat_n[str(k)], 3) == expected
        assert (cells["k"].eq(k) & cells["pass_hat_k"].sub(expected).abs().lt(1e-9)).any()
        low, high = passed.confidence_interval[f"pass_hat_n/{k}"]
        assert low < expected < high
    p = table.groupby("task")["reward"].mean().to_numpy()
    hal = ((2 * p - 1) ** 2).mean()
    assert 2 * consistency.paraphrastic_consistency - 1 == pytest.approx(hal, abs=1e-12)
    assert round(hal, 4) == 0.5600
    unbiased = 2 * consistency.paraphrastic_consistency_unbiased - 1
    assert round(unbiased, 4) == 0.4133
    assert 1 - 4 * parts.variance["residual"] == pytest.approx(unbiased, abs=1e-12)
