"""Several pairs of one original are not independent: intervals and tests take them together, whatever the ids say."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from helpers.commands import write
from helpers.score_roles import scored
from helpers.space import measured, to_csv

import paraconsist
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import read_rows
from paraconsist.files import to_strict_json
from paraconsist.measures.catalogue import CHANGE, PARAPHRASTIC, SEMANTIC
from paraconsist.scoring.compare import compare
from paraconsist.scoring.options import CompareOptions
from paraconsist.scoring.roles import measure_rows
from paraconsist.scoring.sources import Source

N_BUCKETS, N_PARAPHRASES = 50, 8
GROUPS = ("same", "renamed", None)


def paraphrase_set(changes: np.ndarray, groups: str | None = "same") -> dict[str, list[Any]]:
    """Originals answered 1; paraphrases are answered otherwise where `changes`, of shape (buckets, paraphrases)."""
    n, k = changes.shape
    buckets = np.repeat(np.arange(n), k + 1)
    columns = {
        "bucket_id": [f"b{i}" for i in buckets],
        "role": ["original", *["paraphrase"] * k] * n,
        "label": [1] * len(buckets),
        "prediction": np.hstack([np.ones((n, 1), int), 1 - changes.astype(int)]).ravel().tolist(),
    }
    if groups is not None:
        columns["group_id"] = columns["bucket_id"] if groups == "same" else [f"context {i}" for i in buckets]
    return columns


def drawn(seed: int, n: int = N_BUCKETS, k: int = N_PARAPHRASES) -> np.ndarray:
    """Changes whose probability differs from bucket to bucket: Beta(.4, 1.2), mean .25."""
    rng = np.random.default_rng(seed)
    return rng.random((n, k)) < rng.beta(0.4, 1.2, size=(n, 1))


def measures_of(command, path: Path, *options: str) -> dict[str, Any]:
    names = [f"--measure={spec.name}" for spec in (SEMANTIC, CHANGE, PARAPHRASTIC)]
    return scored(command, path, *names, *options)["measures"]


def test_score_takes_the_originals_together_whatever_the_ids_say(command, tmp_path):
    same, renamed, without = (
        measures_of(command, write_columns(tmp_path / "mine.parquet", paraphrase_set(drawn(0), groups)))
        for groups in GROUPS
    )
    semantic = renamed["semantic_inconsistency"]
    assert semantic["n_clusters"]["inconsistency"] == N_BUCKETS
    assert semantic["design_effect"]["inconsistency"] > 2
    for name in ("semantic_inconsistency", "prediction_change"):
        assert same[name] == renamed[name] == without[name]
    # what is about buckets already stays as it is: its unit is the bucket
    assert same["paraphrastic_consistency"] == without["paraphrastic_consistency"]
    assert "|ci:bucket-" in same["paraphrastic_consistency"]["signature"]


def test_one_pair_in_each_bucket_stays_independent(command, tmp_path):
    for groups in ("same", None):
        path = write_columns(tmp_path / "mine.parquet", paraphrase_set(drawn(1, n=40, k=1), groups))
        found = measures_of(command, path)["semantic_inconsistency"]
        assert "|ci:pair-clopper-pearson+jeffreys|" in found["signature"]
        assert found["n_clusters"]["inconsistency"] == 40


def test_compare_takes_the_originals_together_whatever_the_ids_say(command, tmp_path):
    results = []
    for groups in GROUPS:
        files = [write_columns(tmp_path / f"{i}.parquet", paraphrase_set(drawn(i), groups)) for i in (1, 2)]
        out = command.out("compare", *files, "--measure", "semantic_inconsistency", "--json")
        results.append(json.loads(out))
    assert results[0] == results[1] == results[2]
    assert "|ci:group-" in results[0][0]["pairs"][0]["result"]["signature"]


def test_a_row_for_each_pair_takes_the_originals_together(command, tmp_path):
    changes = drawn(3)
    wide = {
        "bucket_id": np.repeat([f"b{i}" for i in range(N_BUCKETS)], N_PARAPHRASES).tolist(),
        "label": [1] * changes.size,
        "original_prediction": [1] * changes.size,
        "prediction": (1 - changes.ravel().astype(int)).tolist(),
    }
    long = measures_of(command, write_columns(tmp_path / "mine.parquet", paraphrase_set(changes)))
    expected, pairs = long["semantic_inconsistency"], ("--original-prediction", "original_prediction")
    path = write_columns(tmp_path / "mine.csv", wide)
    for more in ((), ("--group", "bucket_id")):
        assert measures_of(command, path, *pairs, *more)["semantic_inconsistency"] == expected
    assert to_strict_json(measured("semantic_inconsistency", path.read_text()).keys) == expected
    named = write_columns(tmp_path / "mine.csv", {"item": wide.pop("bucket_id"), **wide})
    assert measures_of(command, named, *pairs, "--bucket", "item")["semantic_inconsistency"] == expected
    page = measured("semantic_inconsistency", named.read_text(), columns={"group": "item"})
    assert to_strict_json(page.keys) == expected


def test_the_page_of_a_metric_takes_the_originals_together():
    pages = [
        to_strict_json(measured("semantic_inconsistency", to_csv(paraphrase_set(drawn(4), g))).keys)
        for g in ("same", None)
    ]
    assert pages[0] == pages[1]
    assert pages[0]["n_clusters"]["inconsistency"] == N_BUCKETS


def write_columns(path: Path, columns: dict[str, list[Any]]) -> Path:
    return write(path, pa.table(columns).to_pylist())


def test_plans_are_one_plan(command, tmp_path):
    plans = []
    for groups in GROUPS:
        path = write_columns(tmp_path / "pilot.parquet", paraphrase_set(drawn(6), groups))
        out = command.out("plan", path, "--measure", "inconsistency", "--half-width", "0.05", "--json")
        plans.append(json.loads(out))
    assert plans[0] == plans[1] == plans[2]


def test_a_plain_file_is_run_and_scored_over_originals():
    """`run` writes group_id = bucket_id for files without groups."""
    from paraconsist.data.bucket_sets import bucket_set_from_table

    columns = paraphrase_set(drawn(5), None)
    texts = [f"{bucket} {row}" for row, bucket in enumerate(columns["bucket_id"])]
    plain = pa.table({**{c: columns[c] for c in ("bucket_id", "role", "label")}, "premise": texts, "hypothesis": texts})
    prepared = bucket_set_from_table(plain, name="plain", task="nli").table
    written = prepared.append_column("prediction", pa.array(columns["prediction"]))
    values = [
        paraconsist.score(table, measures=["semantic_inconsistency"]).sets["predictions"].measures
        for table in (written, pa.table(paraphrase_set(drawn(5), "renamed")))
    ]
    assert to_strict_json(values[0]) == to_strict_json(values[1])


def test_intervals_and_tests_hold():
    """The interval covered the true mean of .25 in 69 % of such sets; two models as good differed in 30 %."""
    n, columns = 150, SourceOptions()
    covered = rejected = 0
    for seed in range(n):
        tables = [Predictions(pa.table(paraphrase_set(drawn(1000 * seed + model)))) for model in range(2)]
        low, high = measure_rows(SEMANTIC, read_rows(tables[0], columns))["confidence_interval"]["inconsistency"]
        covered += low <= 0.25 <= high
        sources = {str(model): {"s": Source("s", table, columns)} for model, table in enumerate(tables)}
        (compared,) = compare(sources, CompareOptions(measures=[SEMANTIC.name], n_permutations=400))
        rejected += compared.pairs[0].result["p_value"] <= 0.05
    assert covered >= 0.92 * n
    assert rejected <= 0.10 * n
