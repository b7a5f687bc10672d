"""The gate: conditions by hand on results, exit codes and the one line."""

from __future__ import annotations

import json
import os

import pytest

from paraconsist.data.predictions import read_predictions
from paraconsist.errors import InputError
from paraconsist.scoring.gate import check, parse_conditions

PC = {
    "paraphrastic_consistency": 0.9,
    "paraphrastic_consistency_unbiased": 0.8,
    "pvap": None,
    "accuracy": 0.7,
    "n_buckets": 12,
    "confidence_interval": {
        "paraphrastic_consistency": [0.87, 0.93],
        "paraphrastic_consistency_unbiased": [0.76, 0.84],
        "accuracy": [0.6, None],
    },
    "signature": "pc|v:0",
}
SWAP = {"inconsistency": 0.1, "accuracy": 0.9, "confidence_interval": {"inconsistency": [0.05, 0.2]}}
ONE = {"a": {"measures": {"paraphrastic_consistency": PC}, "unparsed_rate": 0.0}}
TWO = ONE | {"b": {"measures": {"symmetric_inconsistency": SWAP, "semantic_inconsistency": SWAP}, "unparsed_rate": 0.5}}


@pytest.mark.parametrize(
    ("condition", "passed"),
    [
        ("pc >= 0.8", [True]),
        ("pc > 0.8", [False]),
        ("pc.low >= 75%", [True]),
        ("pc.low>=0.77", [False]),
        ("pc.high < 0.9 and pc.low > 0.7", [True, True]),
        ("paraphrastic_consistency.paraphrastic_consistency.high <= 0.84", [False]),
        ("paraphrastic_consistency.high <= 0.84", [True]),
        ("pc_published.low > 0.86", [True]),
        ("pc_published <= 0.8", [False]),
        ("accuracy >= 0.7", [True]),
        ("accuracy.high >= 0.0", [False]),  # undefined never passes
        ("pvap <= 1", [False]),
        ("n_buckets >= 12", [True]),
        ("unparsed_rate <= 1e-3", [True]),
    ],
)
def test_one_set(condition, passed):
    assert [one.passed for one in check(parse_conditions(condition), ONE)] == passed


def test_every_set_that_has_the_quantity():
    assert [(one.set_name, one.passed) for one in check(parse_conditions("unparsed_rate < 0.1"), TWO)] == [
        ("a", True),
        ("b", False),
    ]
    assert [one.set_name for one in check(parse_conditions("symmetric.high < 0.3 and pc > 0"), TWO)] == ["b", "a"]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("pc", "QUANTITY >=, <=, > or < NUMBER; got 'pc'"),
        ("", "QUANTITY"),
        ("pc == 1", "QUANTITY"),
        ("pc >= nan", "QUANTITY"),
        ("pc >= 0.5 and", "QUANTITY"),
        ("cp.low >= 0.5", "name a quantity of the results; got 'cp'. Known here: accuracy, "),
        ("semantic > 0", "name a quantity"),
        ("n_buckets.low > 0", "with an interval"),
        ("signature > 0", "name a number"),
    ],
)
def test_bad_conditions(condition, said):
    with pytest.raises(InputError, match=said):
        check(parse_conditions(condition), ONE)


def test_whose_key():
    with pytest.raises(InputError, match=r"say whose inconsistency.*symmetric_inconsistency.inconsistency"):
        check(parse_conditions("inconsistency < 1"), TWO)


@pytest.fixture
def predictions(tmp_path):
    path = tmp_path / "mine.csv"
    lines = [f"{i // 4},{i % 2},{int(i % 5 == 0)}" for i in range(40)]
    path.write_text("bucket_id,label,prediction\n" + "\n".join(lines).replace(",0,", ",1,") + "\n")
    assert read_predictions(path).table.num_rows == 40
    return path


def test_exit_code_and_one_line(command, predictions, tmp_path):
    code, out, _ = command("gate", "pc >= 0.5", predictions)
    assert (code, out.count("\n")) == (0, 1)
    assert out.startswith("pass: pc >= 0.5 (found 0.")
    results = tmp_path / "results.json"
    command("score", predictions, "--output", results)
    measured = json.loads(results.read_text())["mine"]["measures"]["paraphrastic_consistency"]
    low = measured["confidence_interval"]["paraphrastic_consistency_unbiased"][0]
    code, out, _ = command("gate", f"pc.low > {low!r}", results)
    assert (code, out.count("\n")) == (1, 1)
    assert out == f"fail: pc.low > {low:g} (found {low:.4f}: mine, pc.low, unbiased)\n"
    code, _, err = command("gate", "pc.lo >= 0.5", results)
    assert code == 2
    assert "name a quantity of the results" in err
    code, _, err = command("gate", "pc >= 0.5", results, "--set", "yours")
    assert code == 2
    assert "There are mine." in err


def test_a_run_folder_with_results_older_than_its_predictions_is_scored_anew(command, predictions, tmp_path):
    import pyarrow.parquet as pq

    (tmp_path / "predictions").mkdir()
    file = tmp_path / "predictions" / "mine.parquet"
    pq.write_table(read_predictions(predictions).table, file)
    results = tmp_path / "results.json"
    results.write_text(json.dumps(ONE))
    os.utime(file, (1, 1))
    assert "found 0.8000: a, pc" in command("gate", "pc > 0", tmp_path)[1]
    os.utime(results, (0, 0))
    assert ": mine, pc" in command("gate", "pc > 0", tmp_path)[1]


def test_results_of_a_measure_that_is_not_known_here() -> None:
    results = {"s": {"measures": {"odd": {"odd": 0.5, "n": 3}}}}
    assert [one.passed for one in check(parse_conditions("odd >= 0.4"), results)] == [True]
    with pytest.raises(InputError, match="odd"):
        check(parse_conditions("zzz >= 0.1"), results)
