"""Cards and README state no number that is not recomputed here; quotations of papers are listed one by one.

`python tests/documented_numbers.py` puts recomputed numbers into the documents.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import documented_numbers
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from documented_claims import CLAIMS, QUOTES
from documented_numbers import DOCUMENTS, EXEMPT, NUMBER, Claim, Quote, differences, rewrite, uncovered, written
from documented_sources import RESULTS, Sources, usual_data_folder
from helpers.stored_results import predictions_of, read_stored

from paraconsist.data.predictions import write_predictions

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    return Sources(usual_data_folder(), tmp_path_factory.mktemp("documented"))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_number_is_claimed_quoted_or_exempt(document: str) -> None:
    claims, quotes = ([c for c in found if c.document == document] for found in (CLAIMS, QUOTES))
    assert list(uncovered(document, claims, quotes)) == []


@pytest.mark.parametrize(
    "claim", [pytest.param(c, id=c.id, marks=[pytest.mark.real_data] if "data" in c.needs else []) for c in CLAIMS]
)
def test_every_claim_is_recomputed(claim: Claim, sources: Sources) -> None:
    if not sources.has(claim.needs):
        pytest.skip(f"needs {claim.needs}: the data folder (PARACONSIST_TEST_DATA), tests/results (store_results.py)")
    assert differences(claim, sources) == []


def test_claims_and_quotes_are_of_documents() -> None:
    assert {claim.document for claim in (*CLAIMS, *QUOTES)} <= set(DOCUMENTS)
    assert len({claim.id for claim in CLAIMS}) > len(CLAIMS) / 2
    assert all(quote.source and quote.says for quote in QUOTES)
    assert all(why for why in EXEMPT.values())


# -------------------------------------------------------------------------------------- the machinery


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function: text -> a document of this text, under the name that claims give."""

    def write(text: str) -> str:
        (tmp_path / "card.md").write_text(text, encoding="utf-8")
        documented_numbers.text_of.cache_clear()
        return "card.md"

    monkeypatch.setattr(documented_numbers, "ROOT", tmp_path)
    yield write
    documented_numbers.text_of.cache_clear()


def claim(text: str, **values: Any) -> Claim:
    return Claim("card.md", text, lambda sources: values)


def test_a_number_that_changed_is_said_and_mended(document: Any) -> None:
    document("# Set\n\nIt has 1,980\nrows, and\n−3.5 % more.\n")
    wrong = claim("has {n:,} rows, and {more:.1f} % more", n=2098, more=-3.46)
    assert (
        differences(wrong, None)
        == [
            "card.md:3: n is '1,980', recomputed '2,098'",
            "card.md:3: more is '−3.5', recomputed '−3.5'",
        ][:1]
    )
    assert len(list(rewrite([wrong], None))) == 1
    assert documented_numbers.text_of("card.md") == "# Set\n\nIt has 2,098\nrows, and\n−3.5 % more.\n"
    assert differences(wrong, None) == []


def test_a_number_that_nothing_covers_is_named(document: Any) -> None:
    name = document("It has 1,980 rows, 17 columns and nineteen authors; `--seed 7` and 2 labels.\n")
    found = list(uncovered(name, [claim("has {n:,} rows", n=1)], []))
    assert [line.partition(" in ")[0] for line in found] == ["card.md:1: 17", "card.md:1: nineteen", "card.md:1: 2"]


def test_code_covers_numbers_but_a_bare_number_is_none(document: Any) -> None:
    name = document("`[1, 2]`, `0.95`, `1 − 2a(1 − a)`, `12`, `75.2 %`, `a` 5 `1` and `1,980`\n")
    said = [line.partition(" in ")[0] for line in uncovered(name, [], [])]
    assert said == ["card.md:1: 0.95", "card.md:1: 12", "card.md:1: 75.2", "card.md:1: 5", "card.md:1: 1,980"]


@pytest.mark.parametrize("text", ["three rows", "3 rows and 3 rows"])
def test_a_claim_has_one_place(document: Any, text: str) -> None:
    name = document(text)
    with pytest.raises(AssertionError, match=r"must have this text once, not [02] times"):
        list(uncovered(name, [claim("{n:,} rows", n=3)] if "3" in text else [claim("{n} columns", n=3)], []))


def test_a_quotation_names_its_source(document: Any) -> None:
    name = document("The paper prints 6.58.\n\nElsewhere 12.92.\n")
    (left,) = uncovered(name, [], [Quote(name, "6.58", "The paper prints", "a paper")])
    assert left.startswith("card.md:3: 12.92")
    with pytest.raises(AssertionError, match=r"'12.92' must be said to be from a paper"):
        list(uncovered(name, [], [Quote(name, "12.92", "The paper prints", "a paper")]))


def test_outputs_of_commands_are_no_commands(document: Any) -> None:
    name = document("```\nparaconsist run --limit 20\n```\n\n```\naccuracy 66.0 %\n```\n")
    assert [line.partition(" in ")[0] for line in uncovered(name, [], [])] == ["card.md:6: 66.0"]


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [(2098, ",", "2,098"), (6, "word", "six"), (0.03259, ".4", ".0326"), (-0.6, ".1f", "−0.6"), (0.95, "", "0.95")],
)
def test_how_numbers_are_written(value: Any, spec: str, text: str) -> None:
    assert written(value, spec) == text
    assert spec == "word" or NUMBER.search(text)


# --------------------------------------------------------------------------------------- stored runs


def run_file(path: Path) -> pa.Table:
    """A predictions file as the runner writes it."""
    n = 6
    table = pa.table(
        {
            "example_id": [f"toy.{i}" for i in range(n)],
            "input_id": [f"{i:032d}" for i in range(n)],
            "bucket_id": ["a"] * 3 + ["b"] * 3,
            "group_id": ["a"] * 3 + ["b"] * 3,
            "role": ["original", "paraphrase", "paraphrase"] * 2,
            "label": [0, 0, 0, 1, 1, 1],
            "allowed_labels": [[0]] * 3 + [[1]] * 3,
            "theme": ["rain"] * n,
            "prediction": pa.array([0, 0, 1, 1, 1, 0]),
            "probabilities": pa.array([[0.75, 0.25]] * 2 + [[0.25, 0.75]] * 3 + [[0.75, 0.25]], pa.list_(pa.float64())),
            "raw_output": pa.nulls(n, pa.string()),
        }
    )
    path.parent.mkdir(parents=True)
    said = {"set": "toy:set", "measures": ["paraphrastic_consistency"], "model": {"model": "/home/me/models/bow"}}
    write_predictions(path, table, said)
    return table


def store(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / "store_results.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_run_is_stored_without_texts_or_labels_and_joins_again(tmp_path: Path) -> None:
    table = run_file(tmp_path / "run" / "predictions" / "toy-set.parquet")
    done = store(str(tmp_path / "run"), "--output", str(tmp_path / "results"))
    assert done.returncode == 0, done.stderr
    file = tmp_path / "results" / "run" / "toy-set.parquet"
    stored = read_stored(file)
    assert stored.table.column_names == ["prediction", "p0"]
    assert stored.metadata["run"]["model"] == {"model": "bow"}
    assert b"/home/me" not in file.read_bytes()
    rows = table.drop_columns(["prediction", "probabilities", "raw_output"])
    joined = predictions_of(stored, rows)
    assert joined.metadata["measures"] == ["paraphrastic_consistency"]
    for column in ("example_id", "label", "prediction", "probabilities"):
        assert joined.table[column].to_pylist() == table[column].to_pylist()
    with pytest.raises(AssertionError, match="made for other rows"):
        predictions_of(stored, rows.take([1, 0, 2, 3, 4, 5]))
    empty = store(str(tmp_path), "--output", str(tmp_path / "results"))
    assert empty.returncode == 2
    assert "holds no predictions" in empty.stderr


def test_stored_files_hold_predictions_only() -> None:
    for path in RESULTS.rglob("*.parquet"):
        names = pq.read_schema(path).names
        assert names == ["prediction", *(f"p{i}" for i in range(len(names) - 1))]
        assert path.stat().st_size < 200_000
