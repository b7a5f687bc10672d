"""Buckets that a list leaves out: the numbers are those of the file without them, and everything says so."""

import json

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from helpers.commands import in_process
from helpers.report import ANSWERS, rows, write_file, write_run

import paraconsist as pc
from paraconsist.errors import InputError

KEYS = ("paraphrastic_consistency_unbiased", "accuracy", "n_buckets", "original_accuracy")


def test_numbers_without_a_list_are_those_of_a_file_without_its_rows(tmp_path):
    marked = tmp_path / "marked.csv"
    pa_csv.write_csv(pa.table({"set": ["of another name"] * 2, "bucket_id": ["lost", "calm"]}), marked)
    kept = [row for row in rows() if row["bucket_id"] not in ("lost", "calm")]
    expected = pc.score(pa.Table.from_pylist(kept), n_resamples=200).sets["predictions"].measures
    path = write_file(tmp_path / "whole.parquet")
    for listed in (marked, ["lost", "calm"]):
        (scored,) = pc.score(path, n_resamples=200, exclude=listed).sets.values()
        values = scored.measures["paraphrastic_consistency"]
        assert {key: values[key] for key in KEYS} == {key: expected["paraphrastic_consistency"][key] for key in KEYS}
        assert "|excluded:2|" in values["signature"]
        assert scored.to_dict()["excluded"] == {"n_buckets": 2, "n_rows": 9}
        assert "2 buckets (9 rows) of a list: left out" in scored.warnings


def test_a_run_is_scored_anew_and_a_comparison_leaves_them_out_too(command, tmp_path):
    run = write_run(tmp_path / "run")
    marked = tmp_path / "marked.csv"
    marked.write_text("bucket_id\nlost\n")
    _, printed, _ = command("score", run, "--exclude", marked, "--json", "--n-resamples", 200)
    results = json.loads(printed)["toy:set"]
    assert results["excluded"] == {"n_buckets": 1, "n_rows": 5}
    comparison = pc.compare(run, write_run(tmp_path / "other"), exclude=["lost"], names=["a", "b"])
    assert comparison.sets[0].n_common_buckets == len(ANSWERS) - 1
    assert "|excluded:1|" in comparison.sets[0].pairs[0].result["signature"]


@pytest.mark.parametrize(
    ("lines", "word"),
    [
        ("bucket_id\nnot this\nno such\n", "'no such'"),
        ("set,bucket_id\nsnli,lost\n", "set snli"),
        ("id\nlost\n", "column bucket_id"),
        ("bucket_id\n" + "\n".join(ANSWERS), "leave a bucket"),
    ],
)
def test_lists_of_other_predictions_are_refused(tmp_path, lines, word):
    (tmp_path / "marked.csv").write_text(lines)
    with pytest.raises(InputError, match=word) as problem:
        pc.score(write_run(tmp_path / "run"), exclude=tmp_path / "marked.csv")
    assert problem.value.parameter == "exclude"


def test_ids_that_other_models_answered_are_told(tmp_path):
    """A page of two models marks problems of either; `score` of each refused its list."""
    run, marked = write_run(tmp_path / "run"), tmp_path / "marked.csv"
    marked.write_text("bucket_id\nlost\nno such\n")
    arguments = map(str, ["score", run, "--exclude", marked, "--json", "--n-resamples", 200])
    _, out, err = in_process([*arguments], warn="default")
    assert json.loads(out)["toy:set"]["excluded"] == {"n_buckets": 1, "n_rows": 5}
    assert "warning: buckets to exclude that are not there (1 of 2): 'no such'" in err
