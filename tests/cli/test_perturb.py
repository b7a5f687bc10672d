"""``paraconsist perturb``: the files it writes, what it refuses, and the way back from the sheet."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.errors import refuses
from helpers.logs import lines
from helpers.perturb import NLI_ROWS, load_labelled, write_csv

from paraconsist.cli.options import as_command
from paraconsist.cli.perturb import perturb as grouped
from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.data.tasks import get_task
from paraconsist.errors import InputError

COMMAND = as_command("perturb", grouped)


def perturb(*arguments: object, **options: object) -> None:
    """The command as a function of its options."""
    names, context = ("data", "output", "property_name"), click.Context(COMMAND)
    values = {one.name: one.get_default(context) for one in COMMAND.params}
    COMMAND.callback(**{**values, **dict(zip(names, arguments, strict=False)), **options})


@pytest.fixture
def nli_file(tmp_path):
    return write_csv(tmp_path / "nli.csv", ["premise", "hypothesis", "label"], NLI_ROWS)


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_what_is_written_can_be_run(nli_file, tmp_path, ending, capsys):
    output = tmp_path / f"set.{ending}"
    perturb(str(nli_file), output, "transitive")
    found = load_bucket_set(str(output))
    assert found.task.name == "nli"
    assert found.label_names == get_task("nli").label_names
    assert found.strata == ("rule",)
    assert Counter(found.table["role"].to_pylist()) == {"antecedent_1": 2, "antecedent_2": 2, "consequent": 2}
    assert found.table["label"].to_pylist() == [2, 0, 2, 1, 2, -1]
    assert found.table["allowed_labels"].to_pylist() == [[2], [0], [2], [1], [2], [1, 2]]
    printed = capsys.readouterr()
    assert "2 transitive items from 4 rows" in printed.out
    assert "--checked" in printed.err
    raw = pq.read_table(output) if ending == "parquet" else pa.Table.from_pylist(lines(output))
    assert raw["input_id"].to_pylist() == found.table["input_id"].to_pylist()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["nli.csv", "set.check.csv", f"set.{ending}"]


def test_all_formats_and_pieces_give_the_same_rows(tmp_path, monkeypatch):
    source = write_csv(tmp_path / "texts.csv", ["text", "label"], [(f"text {i}", "positive") for i in range(6)])
    monkeypatch.setattr("paraconsist.data.writing._ROWS_AT_ONCE", 7)
    for name in ("a.parquet", "a.jsonl"):
        perturb(
            str(source), tmp_path / name, "additive", task="sentiment", limit=11, seed=5, sheet=tmp_path / f"{name}.csv"
        )
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.num_rows == 33
    assert table.to_pylist() == lines(tmp_path / "a.jsonl")
    assert (tmp_path / "a.parquet.csv").read_bytes() == (tmp_path / "a.jsonl.csv").read_bytes()


def test_label_names_travel_in_parquet(tmp_path):
    source = write_csv(
        tmp_path / "rte.tsv.csv", ["index", "sentence1", "sentence2", "label"], [(0, "p", "h", 1), (1, "q", "h", 0)]
    )
    options = {
        "task": "nli",
        "column": ["premise=sentence1", "hypothesis=sentence2"],
        "label_names": "entailment,not_entailment",
    }
    with pytest.raises(InputError, match=r"end in \.parquet, which carries label names"):
        perturb(str(source), tmp_path / "a.jsonl", "symmetric", **options)
    folder = tmp_path / "folder"
    folder.mkdir()
    output = folder / "test.parquet"
    perturb(str(source), output, "symmetric", sheet=tmp_path / "sheet.csv", **options)
    assert load_bucket_set(str(folder), split="test").label_names == ("entailment", "not_entailment")
    again = load_labelled(str(output), Counter())
    assert again.label_names == ("entailment", "not_entailment")
    assert [row.label for row in again.rows] == [1]  # the original, not its swap
    with pytest.raises(InputError, match="have 'entailment' among its names"):
        perturb(str(source), tmp_path / "b.parquet", "symmetric", **{**options, "label_names": "no,yes"})


def mark(sheet: Path, marks, *, delimiter=",", given=",", change=None):
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter=given))
    for row, said in zip(rows, marks, strict=True):
        row["valid"] = said
        row.update(change or {})
    with sheet.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys(), delimiter=delimiter)
        writer.writeheader()
        writer.writerows({k: v.replace("\n", "\r\n") for k, v in row.items()} for row in rows)
    return rows


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_only_what_is_marked_valid_is_kept(nli_file, tmp_path, delimiter, ending, capsys):
    output, kept = tmp_path / f"set.{ending}", tmp_path / f"kept.{ending}"
    perturb(str(nli_file), output, "transitive")
    sheet = tmp_path / "set.check.csv"
    rows = mark(sheet, ["No", ""], delimiter=delimiter)
    assert rows[0]["original"] == (
        "premise: A girl reads.\nhypothesis: A girl is asleep.\n\npremise: A girl reads.\nhypothesis: A girl is awake."
    )
    assert rows[0]["perturbed"] == "premise: A girl is asleep.\nhypothesis: A girl is awake."
    assert [row["label"] for row in rows] == ["contradiction", "neutral or contradiction"]
    refuses("mark at least one item as valid", perturb, str(output), kept, checked=sheet)
    mark(sheet, ["YES", ""], delimiter=delimiter, given=delimiter)
    capsys.readouterr()
    perturb(str(output), kept, checked=sheet)
    said = capsys.readouterr().out
    assert "1 of 2 items are valid (3 rows)" in said
    assert "0 marked invalid, 1 not marked" in said
    found = load_bucket_set(str(kept))
    assert found.table["bucket_id"].to_pylist() == ["transitive.2|0"] * 3
    assert found.table.equals(load_bucket_set(str(output)).table.slice(0, 3))
    if ending == "parquet":
        assert pq.read_schema(kept).metadata == pq.read_schema(output).metadata


@pytest.mark.parametrize(
    ("marks", "change", "match"),
    [
        (["yes", "maybe"], None, "`valid` must be yes, no or empty; got 'maybe' at row 2"),
        (["yes", "yes"], {"perturbed": "premise: other"}, "Edited texts are not read"),
        (["yes", "yes"], {"bucket_id": "x"}, "`bucket_id` must be filled in, each value once; got 'x' at row 2"),
    ],
)
def test_a_sheet_that_does_not_fit(nli_file, tmp_path, marks, change, match):
    output = tmp_path / "set.jsonl"
    perturb(str(nli_file), output, "transitive")
    mark(tmp_path / "set.check.csv", marks, change=change)
    refuses(match, perturb, str(output), tmp_path / "kept.jsonl", checked=tmp_path / "set.check.csv")
    assert not (tmp_path / "kept.jsonl").exists()


def test_a_sheet_of_another_set(nli_file, tmp_path):
    perturb(str(nli_file), tmp_path / "a.jsonl", "transitive")
    perturb(str(nli_file), tmp_path / "b.jsonl", "symmetric")
    mark(tmp_path / "b.check.csv", ["yes"])
    with pytest.raises(InputError, match=r"be the sheet of this set, which has no such row; got 'symmetric\.2'"):
        perturb(str(tmp_path / "a.jsonl"), tmp_path / "kept.jsonl", checked=tmp_path / "b.check.csv")


def test_nothing_is_overwritten_unasked(nli_file, tmp_path):
    output = tmp_path / "set.jsonl"
    perturb(str(nli_file), output, "symmetric")
    before = output.read_bytes()
    refuses(r"not be there already; .*Give `overwrite`", perturb, str(nli_file), output, "symmetric")
    perturb(str(nli_file), output, "symmetric", overwrite=True)
    assert output.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({}, "`property` must be given"),
        ({"property_name": "magic"}, "be one of symmetric, transitive, additive, negation, antonym; got 'magic'"),
        ({"property_name": "symmetric", "column": ["a=b"]}, "`column` must be FIELD=COLUMN, with .*; got 'a=b'"),
        ({"property_name": "symmetric", "task": "sentiment"}, "`text` must be a column of nli"),
        ({"property_name": "additive"}, "hold for the task: nli is not among those of the paper"),
        ({"property_name": "symmetric", "checked": Path("sheet.csv")}, "be given without `property`"),
    ],
)
def test_bad_options(nli_file, tmp_path, options, match):
    refuses(match, perturb, str(nli_file), tmp_path / "set.jsonl", **options)
    assert [p.name for p in tmp_path.iterdir()] == ["nli.csv"]


def test_bad_output(nli_file, tmp_path):
    refuses(r"end in one of \.parquet, \.jsonl", perturb, str(nli_file), tmp_path / "set.csv", "symmetric")
    refuses("be in a folder that exists", perturb, str(nli_file), tmp_path / "none" / "set.jsonl", "symmetric")
    rows = write_csv(tmp_path / "e.csv", ["premise", "hypothesis", "label"], NLI_ROWS[:2])
    refuses("hold for at least one row; got 'none of 2 rows'", perturb, str(rows), tmp_path / "set.jsonl", "symmetric")


def test_rows_without_a_label_are_counted(tmp_path):
    rows = [*NLI_ROWS, ("A girl reads.", "She reads aloud.", "-"), ("A girl reads.", "She does.", "")]
    path = write_csv(tmp_path / "snli.csv", ["premise", "hypothesis", "label"], rows)
    skipped = Counter()
    assert len(load_labelled(str(path), skipped).rows) == 4
    assert skipped == {"no gold label": 2}


def test_a_builders_set_gives_its_originals(tmp_path):
    from paraconsist.dataset_builders import builder_class

    config = next(c.name for c in builder_class("sample").BUILDER_CONFIGS if c.task == "defeasible_nli")
    skipped = Counter()
    found = load_labelled(f"sample:{config}", skipped)
    assert len({row.example_id for row in found.rows}) == len(found.rows) > 0
    assert skipped["a paraphrase, not an original"] > 0


def test_the_command_line(nli_file, tmp_path, command):
    output = tmp_path / "set.parquet"
    out = command.out("perturb", nli_file, "--property", "symmetric", "--output", output)
    assert "1 symmetric items from 4 rows" in out
    assert pq.read_table(output)["role"].to_pylist() == ["original", "swap"]
    said = command.refused("perturb", nli_file, "--property", "symmetric", "--output", "a.jsonl", "--column", "a=b")
    assert "perturb: `--column` must be FIELD=COLUMN" in said
