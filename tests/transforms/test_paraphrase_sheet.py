"""Generated paraphrases as a bucket set, the sheet that people check them on, and how far those people agree."""

from __future__ import annotations

import math

import pytest
from helpers.paraphrase import fill
from helpers.perturb import NLI_ROWS, labelled, write_csv

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.errors import InputError
from paraconsist.transforms.paraphrase.judgements import (
    cohen_kappa,
    fleiss_kappa,
    read_judgements,
    write_judgement_sheet,
)
from paraconsist.transforms.paraphrase.sets import GeneratedSet, keep_valid, write_generated

# Agreement


def test_fleiss_kappa_is_the_textbooks():
    # Fleiss 1971's method on the table of ten subjects, fourteen raters, five categories: kappa 0.210
    table = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    items = [[category for category, n in enumerate(row) for _ in range(n)] for row in table]
    assert fleiss_kappa(items) == pytest.approx(0.210, abs=5e-4)
    assert math.isnan(fleiss_kappa([]))
    assert math.isnan(fleiss_kappa([["yes", "yes"]]))
    with pytest.raises(
        InputError, match="`items` must have equally many answers, two or more; got '1 answers' at row 1"
    ):
        fleiss_kappa([["a", "b"], ["a"]])


def test_cohen_kappa_by_hand():
    # both yes 20, yes-no 5, no-yes 10, both no 15: observed .7, by chance .5
    first = [True] * 25 + [False] * 25
    second = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4, abs=1e-12)
    assert math.isnan(cohen_kappa([], []))
    assert math.isnan(cohen_kappa([1, 1], [1, 1]))
    with pytest.raises(InputError, match="`second` must have 1 answers"):
        cohen_kappa([1], [])


# The bucket set and its sheet


@pytest.fixture
def generated():
    data = labelled("nli", NLI_ROWS)
    accepted = {
        "A girl is awake.": ["The girl is awake.", "=A girl isn't asleep."],
        "A girl is asleep.": ["A girl sleeps."],
    }
    return GeneratedSet(data, "hypothesis", accepted, "rules")


FACTS = {"column": "hypothesis", "source": "toy"}


def test_rows_of_the_bucket_set(generated):
    rows = generated.rows()
    assert [row["example_id"] for row in rows] == [
        "e0.original", "e0.paraphrase_1", "e0.paraphrase_2", "e2.original", "e2.paraphrase_1",
    ]  # fmt: skip
    assert {row["premise"] for row in rows} == {"A girl reads."}
    assert [row["label"] for row in rows] == [0, 0, 0, 2, 2]
    assert len({row["group_id"] for row in rows}) == 1  # one premise
    assert [row["role"] for row in rows][:2] == ["original", "paraphrase"]
    assert not GeneratedSet(generated.data, "hypothesis", generated.accepted, "x", least=3).rows()
    with pytest.raises(InputError, match="`originals` must have paraphrases enough"):
        write_generated([], generated.data, None, {})


@pytest.mark.parametrize("name", ["set.parquet", "folder"])
def test_the_set_is_read_by_run_and_by_load_dataset(tmp_path, generated, name):
    datasets = pytest.importorskip("datasets")
    place = tmp_path / name
    write_generated(generated.rows(), generated.data, place, FACTS)
    found = load_bucket_set(str(place))
    assert (found.task.name, found.label_names) == ("nli", ("entailment", "neutral", "contradiction"))
    assert found.strata == ("generator",)
    assert found.table["hypothesis"].to_pylist() == [row["hypothesis"] for row in generated.rows()]
    if name == "folder":
        rows = datasets.load_dataset(str(place), split="test")
        assert rows.features["label"].names == ["entailment", "neutral", "contradiction"]
        assert rows.num_rows == 5
        assert "2 originals of toy with 3 generated paraphrases" in (place / "README.md").read_text()


def test_a_set_written_anew_is_not_served_from_the_cache_of_datasets(tmp_path, generated):
    place = tmp_path / "again"
    for accepted, expected in ((generated.accepted, 5), ({"A girl is awake.": ["She is awake."]}, 2)):
        made = GeneratedSet(generated.data, "hypothesis", accepted, "rules")
        write_generated(made.rows(), made.data, place, FACTS)
        assert load_bucket_set(str(place)).table.num_rows == expected


def test_the_sheet_comes_back_with_agreement(tmp_path, generated):
    place, sheet = tmp_path / "set.parquet", tmp_path / "s.csv"
    write_generated(generated.rows(), generated.data, place, FACTS)
    write_judgement_sheet(sheet, generated.sheet_rows(), annotators=3)
    fill(sheet, valid_1=["yes", "no", "yes"], valid_2=["1", "yes", "x"], valid_3=["no", "no", ""])
    said = read_judgements([sheet])
    assert dict(said.valid) == {"e0.paraphrase_1": True, "e0.paraphrase_2": False, "e2.paraphrase_1": True}
    assert said.agreement["n_common"] == 2
    assert set(said.agreement["cohen_kappa"]) == {"1, 2", "1, 3", "2, 3"}
    # items yyn and nyn: P = 1/3 each, p(yes) = 1/2
    assert said.agreement["fleiss_kappa"] == pytest.approx((1 / 3 - 1 / 2) / (1 / 2))
    counts = keep_valid(place, said, tmp_path / "kept.parquet")
    assert counts == {"n_valid": 2, "n_invalid": 1, "n_open": 0, "n_buckets": 2, "n_rows": 4}
    assert load_bucket_set(str(tmp_path / "kept.parquet")).table["example_id"].to_pylist() == [
        "e0.original", "e0.paraphrase_1", "e2.original", "e2.paraphrase_1",
    ]  # fmt: skip


def test_copies_of_the_sheet_and_ties(tmp_path, generated):
    sheets = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for sheet, said in zip(sheets, (["yes", "yes", ""], ["no", "yes", ""]), strict=True):
        write_judgement_sheet(sheet, generated.sheet_rows())
        fill(sheet, valid=said)
    found = read_judgements(sheets)
    assert list(found.valid.values()) == [False, True, None]  # a tie is no
    assert found.annotators == ("1", "2")


def test_human_scores_keep_similar_and_grammatical_ones_most_similar_first(tmp_path, generated):
    place, sheet = tmp_path / "set.parquet", tmp_path / "s.csv"
    write_generated(generated.rows(), generated.data, place, FACTS)
    write_judgement_sheet(sheet, generated.sheet_rows(), scores=True)
    fill(sheet, similarity=["80", "95,5", "75"], grammatical=["yes", "yes", "yes"])
    said = read_judgements([sheet])
    assert list(said.valid.values()) == [True, True, False]  # above 75, not 75
    keep_valid(place, said, tmp_path / "kept.parquet")
    ids = load_bucket_set(str(tmp_path / "kept.parquet")).table["example_id"].to_pylist()
    assert ids == ["e0.original", "e0.paraphrase_2", "e0.paraphrase_1"]


def test_bad_sheets(tmp_path, generated):
    place, sheet = tmp_path / "set.parquet", tmp_path / "s.csv"
    write_generated(generated.rows(), generated.data, place, FACTS)
    for columns, message in [
        ({"valid": ["perhaps", "", ""]}, "`valid` must say yes, no or nothing; got 'perhaps' at row 1 of s.csv"),
        ({"example_id": ["e0.paraphrase_1"] * 3}, "`example_id` must be there once; got 'e0.paraphrase_1' at row 2"),
    ]:
        write_judgement_sheet(sheet, generated.sheet_rows())
        fill(sheet, **columns)
        with pytest.raises(InputError, match=message):
            read_judgements([sheet])
    for columns, message in [
        ({"valid": ["", "", ""]}, "`checked` must find at least one paraphrase valid"),
        ({"valid": ["yes"] * 3, "paraphrase": ["edited"] * 3}, "`checked` must show the texts of the set unchanged"),
        ({"valid": ["yes"] * 3, "example_id": ["x", "y", "z"]}, "it has no such row; got 'x'"),
    ]:
        write_judgement_sheet(sheet, generated.sheet_rows())
        fill(sheet, **columns)
        with pytest.raises(InputError, match=message):
            keep_valid(place, read_judgements([sheet]), tmp_path / "kept.parquet")
    write_judgement_sheet(sheet, generated.sheet_rows(), scores=True)
    fill(sheet, similarity=["101", "", ""], grammatical=["yes"] * 3)
    with pytest.raises(InputError, match="`similarity` must be a number from 0 to 100, or empty; got '101'"):
        read_judgements([sheet])
    with pytest.raises(InputError, match="must have the columns example_id, original, paraphrase"):
        read_judgements([write_csv(tmp_path / "t.csv", ("a", "b"), [])])
    with pytest.raises(InputError, match="`checked` must name a CSV sheet that can be read"):
        read_judgements([tmp_path / "none.csv"])
