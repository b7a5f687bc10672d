"""The one writer: every format gives back the rows, a file or folder is there whole or not at all."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset

from paraconsist.data.bucket_sets import declared_label_names
from paraconsist.data.predictions import read_predictions, write_predictions
from paraconsist.data.tables import numeric, read_table
from paraconsist.data.writing import (
    ENDINGS,
    bucket_set_schema,
    check_new_files,
    file_in_folder,
    row_writer,
    write_set_folder,
    write_table,
)
from paraconsist.errors import InputError

TABLE = pa.table({"text": ["a, b", 'c "d"', "é\nf"], "n": [1, 2, 3], "share": [0.5, 1.0, 2.5]})
COLUMNS = ("example_id", "bucket_id", "text", "label", "allowed_labels", "theme")
ROWS = [dict(zip(COLUMNS, (f"e{i}", f"b{i // 2}", f"text {i}", i % 2, [i % 2], "new"), strict=True)) for i in range(5)]
SCHEMA = bucket_set_schema(COLUMNS, ["negative", "positive"])


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_gives_the_rows_back(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"rows{ending}"
    write_table(TABLE, file)
    rows = read_table(file, function="test")
    rows = rows.set_column(2, "share", numeric(rows["share"]))  # decimals in CSV are text until they are used
    assert rows.to_pylist() == TABLE.to_pylist()
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_the_schema_declares_the_label_names() -> None:
    table = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    assert declared_label_names(table) == ("negative", "positive")


@pytest.mark.parametrize("ending", [".parquet", ".jsonl"])
def test_rows_are_written_one_by_one(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paraconsist.data.writing._ROWS_AT_ONCE", 2)
    file = tmp_path / f"set{ending}"
    with row_writer(file, SCHEMA) as write:
        for row in ROWS:
            write(row)
    assert read_table(file, function="test").to_pylist() == ROWS
    if ending == ".parquet":
        assert pq.ParquetFile(file).num_row_groups == 3


@pytest.mark.parametrize("ending", [".parquet", ".jsonl"])
def test_an_error_leaves_the_earlier_file(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"set{ending}"
    write_table(TABLE, file)
    before = file.read_bytes()
    with pytest.raises(RuntimeError), row_writer(file, SCHEMA) as write:
        write(ROWS[0])
        raise RuntimeError
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_folder_is_a_set_for_load_dataset_and_is_replaced_whole(tmp_path: Path) -> None:
    folder = tmp_path / "my: set"
    assert file_in_folder(folder) is None
    for rows in (ROWS, ROWS[:3]):
        write_set_folder(pa.Table.from_pylist(rows, schema=SCHEMA), folder, text="# Mine\n", tags=["paraphrase"])
        loaded = load_dataset(str(folder), split="test", cache_dir=str(tmp_path / "cache"))
        assert loaded.to_list() == rows
        assert loaded.features["label"].names == ["negative", "positive"]
    assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == [folder.name]
    assert file_in_folder(folder) in folder.glob("data/*")
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "- paraconsist\n- paraphrase\n- bucket-set\n" in card
    assert card.endswith("---\n\n# Mine\n")


def test_files_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    output, sheet = tmp_path / "set.parquet", tmp_path / "sheet.csv"
    check_new_files("perturb", [output, sheet], overwrite=False)
    sheet.write_text("hours of work")
    check_new_files("perturb", [output, sheet], overwrite=True)
    for files, word in (
        ([output, sheet], "already"),
        ([output, output], "companion files"),
        ([tmp_path / "set.xlsx"], "end in"),
        ([tmp_path / "absent" / "set.csv"], "folder"),
    ):
        with pytest.raises(InputError, match=word) as problem:
            check_new_files("perturb", files, overwrite=False)
        assert (problem.value.function, problem.value.parameter) == ("perturb", "output")


def test_row_groups_are_written_as_they_come_whole_or_not_at_all(tmp_path):
    parts, path = [pa.table({"n": [*range(3 * i, 3 * i + 3)]}) for i in range(4)], tmp_path / "rows.parquet"
    assert write_predictions(path, iter(parts), {"set": "s"}) == 12
    assert pq.read_metadata(path).num_row_groups == 4
    read = read_predictions(path)
    assert (read.table["n"].to_pylist(), read.metadata) == ([*range(12)], {"set": "s"})
    with pytest.raises(ZeroDivisionError):
        write_predictions(path, (parts[i // (i - 2)] for i in range(1, 4)), {})
    assert pq.read_metadata(path).num_rows == 12
    assert [*tmp_path.iterdir()] == [path]
