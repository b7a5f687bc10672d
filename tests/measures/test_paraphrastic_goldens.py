"""Published predictions give the published numbers, through the functions and through evaluate.load.

Provenance: predictions published by Srikanth, Carpuat and Rudinger (2024) with their code (RoBERTa-large and
bag of words on ParaNLU); `expected_values.json` was computed from them to full precision, and its
`paper_percent` are the cells printed in the paper's Table 4. Table 7: the buckets whose original a
partial-input model gets right ("likely" artefacts) or wrong ("unlikely"). Figure 4: human and automatic
paraphrases.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from helpers.metric_loading import load_metric
from helpers.paranlu_goldens import FIGURE_4, KEYS, PRINTED_DIGIT, SETS, TABLE_4, TABLE_7, check, correct_for_sampling

from paraconsist.files import to_strict_json
from paraconsist.measures.alarms import permuted_labels
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.paraphrastic import measures_of_counts, paraphrastic_consistency

pytestmark = pytest.mark.real_data


def read(data_folder: Path, name: str, model: str, kind: str) -> dict[str, np.ndarray]:
    table = parquet.read_table(data_folder / "paranlu" / "predictions" / f"{name}__{model}__{kind}.parquet")
    return {column: np.asarray(table[column].to_pylist()) for column in table.column_names}


@pytest.fixture(scope="module")
def expected(data_folder: Path) -> dict[str, list[dict[str, Any]]]:
    return json.loads((data_folder / "paranlu" / "expected_values.json").read_text(encoding="utf-8"))


def arguments(
    rows: dict[str, np.ndarray], test: dict[str, np.ndarray], keep: np.ndarray | None = None
) -> dict[str, Any]:
    """Return the arguments for a set of predictions; `keep` selects rows."""
    if keep is not None:
        rows = {name: column[keep] for name, column in rows.items()}
    original = rows["is_original"]
    return {
        "predictions": rows["pred"].tolist(),
        "references": rows["gold"].tolist(),
        "buckets": rows["bucket_id"].tolist(),
        "roles": np.where(original, "original", "paraphrase").tolist(),
        "original_confidences": dict(
            zip(rows["bucket_id"][original].tolist(), rows["conf_gold"][original].tolist(), strict=True)
        ),
        "test_confidences": test["conf_gold"].tolist(),
        "test_predictions": test["pred"].tolist(),
        "test_references": test["gold"].tolist(),
        "n_resamples": 200,
    }


def check_all(values: dict[str, Any], expected_values: dict[str, float]) -> None:
    check(values, expected_values)
    for key, (low, high) in values["confidence_interval"].items():
        if not np.isnan(low):
            assert low <= values[key] <= high, key


@pytest.fixture
def metric() -> Any:
    return load_metric("paraphrastic_consistency")


@pytest.mark.parametrize(("model", "name"), TABLE_4)
def test_table_4(
    data_folder: Path, expected: dict[str, list[dict[str, Any]]], metric: Any, model: str, name: str
) -> None:
    row = next(r for r in expected["table4"] if (r["model"], r["dataset"]) == (model, name))
    rows, test = read(data_folder, name, model, "human"), read(data_folder, name, model, "test")
    given = arguments(rows, test)
    values = paraphrastic_consistency(**given).to_dict()
    check_all(values, row["computed"])
    assert values["n_buckets"] == row["n_buckets"]
    assert values["n_examples"] == row["n_paraphrases"]
    for short, printed in row["paper_percent"].items():
        assert 100 * values[KEYS[short]] == pytest.approx(printed, abs=PRINTED_DIGIT), short

    renormalized = paraphrastic_consistency(**given, renormalize=True).to_dict()
    computed = row["computed"]
    check(renormalized, {"A_c": computed["A_c_rn"], "P_Cc": computed["P_Cc_rn"]})
    # strict JSON turns nan into None, which is equal to itself
    assert to_strict_json(metric.compute(**given)) == to_strict_json(values)
    assert to_strict_json(metric.compute(**given, renormalize=True)) == to_strict_json(renormalized)


@pytest.mark.parametrize(("model", "name"), TABLE_4)
def test_table_4_from_counts(
    data_folder: Path, expected: dict[str, list[dict[str, Any]]], model: str, name: str
) -> None:
    row = next(r for r in expected["table4"] if (r["model"], r["dataset"]) == (model, name))["computed"]
    rows, test = read(data_folder, name, model, "human"), read(data_folder, name, model, "test")
    original = rows["is_original"]
    ids, codes = np.unique(rows["bucket_id"][~original], return_inverse=True)
    right = (rows["pred"] == rows["gold"])[~original]
    counts = BucketCounts.from_counts(np.bincount(codes), np.bincount(codes, weights=right).astype(int))
    values = measures_of_counts(counts)
    confidence = dict(zip(rows["bucket_id"][original], rows["conf_gold"][original], strict=True))
    corrected = correct_for_sampling(counts, [confidence[i] for i in ids], test["conf_gold"])
    for short in ("P_C", "P_C_unb", "VAP", "VAR_between", "PVAP", "PVAP_pooled", "A_par", "A_bkt"):
        assert values[KEYS[short]] == pytest.approx(row[short], abs=1e-12), short
    assert corrected.corrected_between_variance == pytest.approx(row["VARb_c"], abs=1e-12)
    published = corrected.corrected_vap / (corrected.corrected_vap + corrected.corrected_between_variance)
    assert published == pytest.approx(row["PVAP_c"], abs=1e-12)


def test_weights_applied_to_the_originals_return_the_test_accuracy_where_deciles_are_pure(
    data_folder: Path,
) -> None:
    """Weighting A_O gives A_T where every decile is covered: confidence above 0.5 is a right answer."""
    rows = read(data_folder, "snli", "roberta-large", "human")
    test = read(data_folder, "snli", "roberta-large", "test")
    original = rows["is_original"]
    right = (rows["pred"] == rows["gold"])[original].astype(int)
    counts = BucketCounts.from_counts(np.ones(len(right), dtype=int), right)
    corrected = correct_for_sampling(counts, rows["conf_gold"][original], test["conf_gold"])
    assert corrected.covered_mass == pytest.approx(1.0)
    assert corrected.corrected_accuracy == pytest.approx(np.mean(test["pred"] == test["gold"]), abs=1e-12)


@pytest.mark.parametrize(("name", "artifact"), TABLE_7)
def test_table_7(
    data_folder: Path, expected: dict[str, list[dict[str, Any]]], metric: Any, name: str, artifact: str
) -> None:
    row = next(r for r in expected["table7"] if (r["dataset"], r["artifact"]) == (name, artifact))
    partial, full = (
        (read(data_folder, name, model, "human"), read(data_folder, name, model, "test"))
        for model in ("roberta-large-partial", "roberta-large")
    )
    original = partial[0]["is_original"]
    is_right = partial[0]["pred"] == partial[0]["gold"]
    chosen = set(partial[0]["bucket_id"][original & (is_right == (artifact == "likely"))].tolist())
    assert len(chosen) == row["n"]
    for (rows, test), wanted in ((partial, row["partial"]), (full, row["full"])):
        keep = np.array([bucket in chosen for bucket in rows["bucket_id"].tolist()])
        given = arguments(rows, test, keep)
        values = paraphrastic_consistency(**given).to_dict()
        check_all(values, wanted)
        assert to_strict_json(metric.compute(**given)) == to_strict_json(values)  # nan equals nan
        if "A_c_rn" in wanted:
            renormalized = paraphrastic_consistency(**given, renormalize=True)
            assert renormalized.corrected_accuracy == pytest.approx(wanted["A_c_rn"], abs=1e-12)
            assert any("cover only" in warning for warning in renormalized.warnings)


@pytest.mark.parametrize(("name", "kind"), FIGURE_4)
def test_figure_4(
    data_folder: Path, expected: dict[str, list[dict[str, Any]]], metric: Any, name: str, kind: str
) -> None:
    row = next(r for r in expected["fig4"] if (r["dataset"], r["set"]) == (name, kind))
    given = arguments(read(data_folder, name, row["model"], kind), read(data_folder, name, row["model"], "test"))
    values = paraphrastic_consistency(**given).to_dict()
    check_all(values, row)
    assert (values["n_buckets"], values["n_examples"]) == (row["n_buckets"], row["n_paraphrases"])
    assert to_strict_json(metric.compute(**given)) == to_strict_json(values)  # nan equals nan
    renormalized = paraphrastic_consistency(**given, renormalize=True).to_dict()
    check(renormalized, {"A_c": row["A_c_rn"], "P_Cc": row["P_Cc_rn"]})


def test_the_published_bow_row_that_is_a_fault_raises_the_alarm(data_folder: Path) -> None:
    rows = read(data_folder, "anli", "bow", "human")
    result = paraphrastic_consistency(**arguments(rows, read(data_folder, "anli", "bow", "test")))
    assert result.paraphrastic_consistency == 1.0
    assert any("no prediction differs within any bucket" in warning for warning in result.warnings)
    low, high = result.confidence_interval["paraphrastic_consistency"]
    assert 0.99 < low < high == 1.0


@pytest.mark.parametrize("name", SETS)
def test_the_alarm_about_label_order_on_real_predictions(data_folder: Path, name: str) -> None:
    for model in ("bow", "roberta-large"):
        test = read(data_folder, name, model, "test")
        assert permuted_labels(test["pred"], test["gold"]) is None
    message = permuted_labels(1 - test["pred"], test["gold"])
    assert message is not None
    assert "0 -> 1, 1 -> 0" in message
