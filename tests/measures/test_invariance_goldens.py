"""The IE test against what Salvatore et al. 2023 published, and against worked examples.

Provenance: the authors' repository (felipessalvatore/looking-for-equivalences, MIT). `matched_runs.csv` has
its 1,150 runs with published statistics (compared in `test_published_cells.py`), the limit of their p computed
independently of this package; `vectors/` whole answer vectors with the seeds to replay; `snr_table2.json` the ratios
of Table 2.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from paraconsist.measures.ie_test import ie_test, ie_test_from_counts
from paraconsist.measures.paired_tests import (
    exact_p_value,
    mcnemar_p_value,
    mcnemar_replayed_p_value,
    paired_difference_interval,
    replayed_p_value,
)
from paraconsist.measures.standings import signal_to_noise

RHOS_OF_TABLE_2 = {0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0}


@pytest.fixture(scope="module")
def matched_runs(data_folder: Path) -> dict[str, np.ndarray]:
    with (data_folder / "ietest" / "matched_runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1150
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    for name in ("n", "n11", "n10", "n01", "n00"):
        columns[name] = columns[name].astype(np.int64)
    for name in ("rho", "t_published", "p_published_S1000", "p_boot_exact_limit", "mcnemar_stat_published"):
        columns[name] = columns[name].astype(np.float64)
    return columns


@pytest.mark.real_data
def test_exact_p_is_the_limit_of_the_published_procedure(matched_runs):
    p = exact_p_value(matched_runs["n"], matched_runs["n10"], matched_runs["n01"], ties="lower")
    np.testing.assert_allclose(p, matched_runs["p_boot_exact_limit"], rtol=1e-9, atol=0)


@pytest.mark.real_data
def test_published_p_values_scatter_around_the_exact_ones(matched_runs):
    """With 1,000 resamples p / 2 has standard error sqrt(p/2 (1 - p/2) / 1000); five are never passed.

    A p above one half may have come from either tail. That the published p are two-sided shows here too.
    """
    exact = exact_p_value(matched_runs["n"], matched_runs["n10"], matched_runs["n01"], ties="lower")
    tail = exact / 2
    error = np.abs(matched_runs["p_published_S1000"] - exact) / 2
    assert (error <= 5 * np.sqrt(tail * (1 - tail) / 1000) + 2 / 1000).all()


@pytest.mark.real_data
def test_replayed_p_values_are_the_published_ones(data_folder):
    folder = data_folder / "ietest" / "vectors"
    vectors = json.loads((folder / "index.json").read_text())["vectors"]
    assert len(vectors) == 4
    for vector in vectors:
        arrays = np.load(folder / vector["file"])
        before, after, label = arrays["A"], arrays["B"], arrays["label"]
        assert replayed_p_value(before, after, seed=vector["seed_boot"]) == vector["p_S1000"]
        assert mcnemar_replayed_p_value(before, after, seed=vector["seed_boot"]) == vector["mcnemar_boot_p"]
        wrong = (label.astype(int) + 1) % 3
        result = ie_test(
            np.where(before == 1, label, wrong),
            np.where(after == 1, label, wrong),
            label,
            method="replay",
            seed=vector["seed_boot"],
        )
        assert result.p_value == vector["p_S1000"]
        assert (result.n, result.n10, result.n01) == (vector["n"], vector["n10"], vector["n01"])
        assert result.statistic == pytest.approx(vector["t"], rel=1e-11, nan_ok=True)
        if vector["n10"] + vector["n01"] == 0:
            assert result.reject
            assert "p is 0" in result.warnings[0]
            assert exact_p_value(vector["n"], 0, 0) == 1.0


@pytest.mark.real_data
def test_signal_to_noise_of_table_2(data_folder, matched_runs):
    table = json.loads((data_folder / "ietest" / "snr_table2.json").read_text())["snr_table2"]
    accuracy = (matched_runs["n11"] + matched_runs["n10"]) / matched_runs["n"]
    of_table = np.isin(matched_runs["rho"], list(RHOS_OF_TABLE_2))
    checked = 0
    for model, by_dataset in table.items():
        for dataset in ("snli", "mnli"):
            golden = by_dataset[dataset]
            chosen = of_table & (matched_runs["model"] == model) & (matched_runs["dataset"] == dataset)
            assert chosen.sum() == golden["n_runs"] == 35
            assert signal_to_noise(accuracy[chosen]) == pytest.approx(golden["snr_ddof0"], rel=1e-11)
            assert accuracy[chosen].mean() * 100 == pytest.approx(golden["mean_acc_pct"], rel=1e-12)
            result = ie_test_from_counts(
                *(matched_runs[name][chosen] for name in ("n", "n10", "n01")),
                n_correct=(matched_runs["n11"] + matched_runs["n10"])[chosen],
            )
            assert result.snr == pytest.approx(golden["snr_ddof0"], rel=1e-11)
            checked += 1
    assert checked == 6
    chosen = (matched_runs["model"] == "xgb") & (matched_runs["dataset"] == "snli")
    assert chosen.sum() == 505
    assert signal_to_noise(accuracy[chosen]) != pytest.approx(table["xgb"]["snli"]["snr_ddof0"], rel=1e-3)


def test_small_example():
    """Worked by hand in the notes: 50 items, three of them lost, or three of them gained."""
    assert round(exact_p_value(50, 3, 0, ties="lower"), 4) == 0.0326
    assert round(exact_p_value(50, 0, 3, ties="lower"), 4) == 0.0904
    assert round(exact_p_value(50, 3, 0), 4) == 0.0615
    assert exact_p_value(50, 3, 0) == exact_p_value(50, 0, 3)


def test_tango_interval_of_published_example():
    """Bentur et al. 2009, in Fagerland, Lydersen and Laake 2014: 1, 1, 7, 12 gives -0.517 to -0.026."""
    low, high = paired_difference_interval(21, 1, 7)
    assert (round(low, 3), round(high, 3)) == (-0.517, -0.026)


def test_mcnemar_of_published_example():
    """The same table: exact McNemar .0703, mid-p .0391 (Fagerland, Lydersen and Laake 2013)."""
    assert round(mcnemar_p_value(1, 7), 4) == 0.0703
    assert round(mcnemar_p_value(1, 7, mid_p=True), 4) == 0.0391
