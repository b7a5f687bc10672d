"""The tables in README and cards are what docs/tables.py computes; stored runs hold predictions and nothing else."""

import doctest
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.scripts import ROOT, load_script
from helpers.stored_results import predictions_of, read_stored, repeats_of

from paraconsist.data.predictions import write_predictions

RESULTS = ROOT / "tests" / "results"
tables = load_script("docs/tables.py")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.real_data, pytest.mark.slow] if t.needs_data else [])
        for n, t in tables.TABLES.items()
    ],
)
def test_a_table_says_what_is_computed(name: str, request: pytest.FixtureRequest) -> None:
    if tables.TABLES[name].needs_data:
        request.getfixturevalue("data_folder")
    for document in tables.TABLES[name].documents:
        standing = tables.text_of(document, name)
        assert tables.computed(name, standing) == standing, "python docs/tables.py writes it anew"


_SOURCE = ROOT / "src" / "paraconsist"


@pytest.mark.parametrize(
    "file", [f.relative_to(_SOURCE) for f in sorted(_SOURCE.rglob("*.py")) if ">>> " in f.read_text("utf-8")], ids=str
)
def test_examples_in_docstrings(file: Path) -> None:
    assert doctest.testmod(import_module(".".join(("paraconsist", *file.with_suffix("").parts)))).failed == 0


def test_tests_that_documents_name_are_there() -> None:
    files = [*ROOT.glob("*.md"), *(path for folder in ("metrics", "docs") for path in (ROOT / folder).rglob("*.md"))]
    named = {(file.name, path) for file in files for path in re.findall(r"\btests/[\w/]+\.py", file.read_text())}
    assert len(named) > 10
    assert [(file, path) for file, path in named if not (ROOT / path).is_file()] == []


def test_every_extra_of_users_is_explained() -> None:
    """The extra `scale`, which docs/scale.md installs, was not among those of docs/install.md."""
    _, _, section = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("optional-dependencies]\n")
    extras = re.findall(r"^(\w+) = ", section.partition("\n[")[0], re.MULTILINE)
    explained = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "install.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(explained) == set(extras) - {"test", "lint", "docs", "all"}


def test_workflows_name_actions_by_commit_and_version() -> None:
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    used = [line for file in files for line in file.read_text().splitlines() if "uses:" in line]
    assert len(used) > 5
    assert [line for line in used if not re.search(r"@[0-9a-f]{40}  # v\d+\.\d+\.\d+$", line)] == []


def test_every_marked_place_is_computed() -> None:
    folders = ("metrics", "dataset_builders", "docs", "examples")
    files = [ROOT / "README.md", *(path for folder in folders for path in (ROOT / folder).rglob("*.md"))]
    places = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in files
        for name in re.findall("<!-- table: (.*?) -->", path.read_text(encoding="utf-8"))
    }
    assert places == {(document, name) for name, table in tables.TABLES.items() for document in table.documents}


def test_a_changed_number_is_written_and_prose_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "| a | b |\n|---|---|\n| {} | prose |\n"
    (tmp_path / "card.md").write_text(f"# Set\n\n<!-- table: toy -->\n\n{text.format('1,980')}\n<!-- end -->\nEnd\n")
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    cells = [[f"{2098:,}", None]]
    toy = tables.TABLES["demo"]._replace(documents=("card.md",), compute=lambda: cells)
    monkeypatch.setattr(tables, "TABLES", {"toy": toy})
    assert tables.main(["--check"]) == 1
    assert "1,980" in (tmp_path / "card.md").read_text()
    assert tables.main([]) == tables.main(["--check"]) == 0
    whole = f"# Set\n\n<!-- table: toy -->\n\n{text.format('2,098')}\n<!-- end -->\nEnd\n"
    assert (tmp_path / "card.md").read_text() == whole


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [(0.80, ".2", ".80"), (0.0061, ".3", ".006"), (-0.61, ".1f", "−0.6"), (3.0, ".1f", "3.0")],
)
def test_how_numbers_are_written(value: float, spec: str, text: str) -> None:
    assert tables.number(value, spec) == text


def run_file(path: Path) -> pa.Table:
    """A predictions file as the runner writes it."""
    n = 6
    table = pa.table({
        "example_id": [f"toy.{i}" for i in range(n)], "input_id": [f"{i:032d}" for i in range(n)],
        "bucket_id": ["a"] * 3 + ["b"] * 3, "group_id": ["a"] * 3 + ["b"] * 3,
        "role": ["original", "paraphrase", "paraphrase"] * 2, "label": [0, 0, 0, 1, 1, 1],
        "allowed_labels": [[0]] * 3 + [[1]] * 3, "theme": ["rain"] * n, "prediction": pa.array([0, 0, 1, 1, 1, 0]),
        "probabilities": pa.array([[0.75, 0.25]] * 2 + [[0.25, 0.75]] * 3 + [[0.75, 0.25]], pa.list_(pa.float64())),
        "raw_output": pa.nulls(n, pa.string())
    })  # fmt: skip
    path.parent.mkdir(parents=True)
    metadata = {"set": "toy:set", "measures": ["paraphrastic_consistency"], "model": {"model": "/home/me/models/bow"}}
    write_predictions(path, table, metadata)
    return table


def store(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / "store_results.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.slow
def test_a_run_is_stored_without_texts_or_labels_and_joins_again(tmp_path: Path) -> None:
    table = run_file(tmp_path / "run" / "predictions" / "toy-set.parquet")
    again = table.take([4, 1]).set_column(table.column_names.index("prediction"), "prediction", pa.array([None, 1]))
    again = again.append_column("repeat", pa.array([1, 2])).append_column("kind", pa.array(["numeric"] * 2))
    (tmp_path / "run" / "noise").mkdir()
    write_predictions(tmp_path / "run" / "noise" / "toy-set.parquet", again, {"set": "toy:set"})
    done = store(tmp_path / "run", "--output", tmp_path / "results")
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
    assert stored.metadata["noise"] == [[4, 1, None], [1, 2, 1]]
    noise = repeats_of(stored, joined).predictions.table
    for column in ("example_id", "bucket_id", "prediction", "repeat", "kind"):
        assert noise[column].to_pylist() == again[column].to_pylist()
    with pytest.raises(AssertionError, match="made for other rows"):
        predictions_of(stored, rows.take([1, 0, 2, 3, 4, 5]))
    empty = store(tmp_path, "--output", tmp_path / "results")
    assert empty.returncode == 2
    assert "holds no predictions" in empty.stderr


def test_stored_files_hold_predictions_only() -> None:
    for path in RESULTS.rglob("*.parquet"):
        names = pq.read_schema(path).names
        assert names == ["prediction", *(f"p{i}" for i in range(len(names) - 1))]
        assert path.stat().st_size < 200_000


def test_what_readme_begins_with_is_the_table_s_row() -> None:
    """That table is computed (`test_a_table_says_what_is_computed`)."""
    results, *pages = ((ROOT / name).read_text("utf-8") for name in ("docs/results.md", "README.md", "docs/index.md"))
    row = re.search(r"\| delta-SNLI \| −([\d.]+) \| −([\d.]+) to −([\d.]+) \|", results)
    assert row is not None
    for page in pages:
        assert f"by {row[1]} points [{row[3]}, {row[2]}]" in " ".join(page.split())


@pytest.mark.parametrize("room", ["tutorials", "howto", "concepts", "reference", "evidence"])
def test_an_index_links_every_page_of_its_navigation(room: str) -> None:
    text = (ROOT / "docs" / room / "index.md").read_text(encoding="utf-8")
    pages = [line for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL) for line in block.split("\n")]
    named = [page for page in pages if page and not page.startswith(":")]
    assert named == re.findall(r"^- \[.*\]\((.*)\.md\): ", text, re.MULTILINE)
    for page in set(named) - {"commands/index"}:  # which is written when the site is built
        target = (ROOT / "docs" / room / f"{page}.md").read_text(encoding="utf-8")
        assert f"[{re.findall('^# (.*)', target, re.MULTILINE)[0]}]({page}.md)" in text
