"""The soundness sheet, and ``paraconsist transform``."""

from __future__ import annotations

import csv
import json

import pytest
from helpers.errors import refuses
from helpers.perturb import wordnet_or_skip, write_csv
from helpers.processes import launch

from paraconsist.errors import InputError
from paraconsist.transforms.dictionary import read_dictionary
from paraconsist.transforms.sheets import read_soundness, write_soundness_sheet

ITEMS = [(f"A dog {i}.", "It barks.") for i in range(10)]
CHANGED = [(f"A hound {i}.", "It barks.") if i % 2 else ITEMS[i] for i in range(10)]


def mark(path, marks):
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row, said in zip(rows, marks, strict=True):
        row["valid"] = said
    write_csv(path, tuple(rows[0]), [tuple(row.values()) for row in rows])
    return rows


def test_the_sheet_samples_changed_items_and_is_read_back(tmp_path):
    sheet = tmp_path / "s.csv"
    options = {"columns": ("premise", "hypothesis"), "name": "dictionary", "labels": list("abcdefghij")}
    assert write_soundness_sheet(sheet, ITEMS, CHANGED, **options, size=4) == 4
    first = sheet.read_bytes()
    write_soundness_sheet(sheet, ITEMS, CHANGED, **options, size=4)
    assert sheet.read_bytes() == first
    assert write_soundness_sheet(sheet, ITEMS, CHANGED, **options) == 5
    rows = mark(sheet, ["yes", "no", "", "x", "1"])
    assert [row["bucket_id"] for row in rows] == ["1", "3", "5", "7", "9"]
    assert rows[0]["original"] == "premise: A dog 1.\nhypothesis: It barks."
    assert rows[0]["perturbed"] == "premise: A hound 1.\nhypothesis: It barks."
    found = read_soundness(sheet)
    assert (found.n_sound, found.n_marked, found.n_open, found.share) == (3, 4, 1, 0.75)
    # Clopper-Pearson, R: binom.test(3, 4)$conf.int
    assert (found.low, found.high) == pytest.approx((0.1941204, 0.9936905), abs=1e-7)


def test_bad_sheets(tmp_path):
    sheet = tmp_path / "s.csv"
    with pytest.raises(InputError, match="transform: `sheet` must have at least one changed item to show"):
        write_soundness_sheet(sheet, ITEMS, ITEMS, columns=("p", "h"), name="x")
    assert not list(tmp_path.iterdir())
    refuses("transform: `sheet_read` must name a CSV sheet", read_soundness, sheet)
    write_soundness_sheet(sheet, ITEMS, CHANGED, columns=("p", "h"), name="x")
    assert read_soundness(sheet).share != read_soundness(sheet).share  # nan: nothing marked
    mark(sheet, ["perhaps", "", "", "", ""])
    refuses("transform: `valid` must be yes, no or empty; got 'perhaps' at row 1", read_soundness, sheet)


@pytest.fixture
def rows(tmp_path):
    texts = [("A man rides, fast.", "Two kids play.", 0), ("The dog's bed", "It is a dog", 2), ("None", "here", "")]
    return write_csv(tmp_path / "rows.csv", ("premise", "hypothesis", "label"), texts)


@pytest.mark.slow
def test_the_command_transforms_a_file(tmp_path, rows, command):
    dictionary = write_csv(tmp_path / "d.csv", ("key", "value"), [("dog", "hound"), ("kids", "children")])
    for ending in ("csv", "tsv", "jsonl", "parquet"):
        output = tmp_path / f"out.{ending}"
        given = ["transform", rows, "--output", output, "--dictionary", dictionary]
        if ending == "csv":
            given += ["--sheet", tmp_path / "s.csv", "--sheet-size", 1]
        said = command.out(*given)
        assert "dictionary: 2 of 3 rows changed (66.7 %), 1.00 words a row" in said
        assert "most frequent: dog -> hound (2), kids -> children (1)" in said
    assert (tmp_path / "out.csv").read_text().splitlines()[1:3] == [
        '"A man rides, fast.",Two children play.,0',
        "The hound's bed,It is a hound,2",
    ]
    mark(tmp_path / "s.csv", ["yes"])
    said = launch(["transform", "--sheet-read", str(tmp_path / "s.csv")], fresh=True).stdout  # once as users call it
    assert said.startswith("1 of 1 marked rows are sound: 100.0 % [2.5, 100.0] (95 % Clopper-Pearson)")
    assert "`--output` must not be there already" in command.refused(
        "transform", rows, "--output", tmp_path / "out.csv"
    )


def test_the_command_fits_to_a_corpus_and_saves_what_it_found(tmp_path, rows, command):
    wordnet_or_skip()
    given = ["transform", str(rows), "--columns", "premise,hypothesis", "--corpus", str(rows), "--json"]
    given += ["--output", str(tmp_path / "o.jsonl"), "--save-dictionary", str(tmp_path / "d.csv")]
    _, said, _ = command(*given, "--option", "tagger=wordnet", "--option", "surface=plain")
    report = json.loads(said)
    assert report["transformation"] == "wordnet_nouns"
    assert report["parameters"]["surface"] == "plain"
    assert report["by_label"]["0"]["n_items"] == 1
    assert read_dictionary(tmp_path / "d.csv")["man"] == "adult male"
    assert json.loads((tmp_path / "o.jsonl").read_text().splitlines()[0])["premise"] == "a adult male rides fast"


@pytest.mark.parametrize(("given", "message"), [
    ([], "`file` must be given with `--output`"),
    (["ROWS", "--output", "out.txt"], "`--output` must end in one of .csv, .tsv, .jsonl, .parquet"),
    (["ROWS", "--output", "OUT", "--columns", "premise,text"], "be columns of rows.csv; got 'text'. The columns"),
    (["ROWS", "--output", "OUT", "--columns", ","], "name columns, each once"),
    (["ROWS", "--output", "OUT", "--option", "surface"], "`--option` must be items of the form NAME=VALUE"),
    (["ROWS", "--output", "OUT", "--transformation", "builtins:str"], "change at least one text"),
    (["ROWS", "--output", "OUT", "--sheet", "OUT"], "not collide with its companion files"),
    (["ROWS", "--output", "OUT", "--columns", "premise,label"], "`label` must hold texts only; got 0 at row 1"),
    (["ROWS", "--sheet-read", "s.csv"], "`--sheet-read` must be given without a file")
])  # fmt: skip
def test_the_command_refuses(tmp_path, rows, command, given, message, monkeypatch):
    """Also where there is no WordNet to open."""
    monkeypatch.setattr("paraconsist.transforms.lexicon.find_wordnet", lambda folder=None: None)
    places = {"ROWS": str(rows), "OUT": str(tmp_path / "out.csv")}
    assert message in command.refused("transform", *(places.get(item, item) for item in given))
    assert not (tmp_path / "out.csv").exists()
