"""The user's own rows: what is refused before a model runs, and what is read as meant."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.errors import refuses

from paraconsist.data.arrays import as_bytes, first_rows, sorted_pieces
from paraconsist.data.bucket_sets import load_bucket_set, with_test_sets
from paraconsist.data.store import Results
from paraconsist.data.tables import joined
from paraconsist.errors import InputError
from paraconsist.models.labels import resolve_label_map
from paraconsist.running.run import predictions_parts, texts_table

ROW = {"bucket_id": "b", "premise": "It rains.", "hypothesis": "It is wet.", "update": "It stopped.", "label": 1}


def write(path, *rows):
    path.write_text("".join(json.dumps({**ROW, **row}) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"role": "premise"}, "`role` must be one of .*got 'premise' at row 1"),
        ({"role": None}, "`role` must not be empty; got None at row 1"),
        ({"group_id": None}, "`group_id` must not be empty; got None at row 1"),
        ({"allowed_labels": [7]}, r"`allowed_labels` must be a list of numbers from 0 to 1; got \[7\] at row 1"),
        ({"allowed_labels": None}, "`allowed_labels` must not be empty; got None at row 1"),
        ({"label": 0.5}, "`label` must be one of weakener, strengthener, .*got 0.5 at row 1"),
    ],
)
def test_a_row_that_could_not_be_scored_is_refused_before_the_run(tmp_path, changed, sentence):
    good = {"role": "original", "group_id": "g", "allowed_labels": [1]}
    refuses(sentence, load_bucket_set, write(tmp_path / "rows.jsonl", good, {**good, **changed}))


def test_roles_may_be_capitalised_as_in_predictions(tmp_path):
    rows = write(tmp_path / "rows.jsonl", {"role": "Original"}, {"role": "Paraphrase"})
    assert load_bucket_set(rows).table["role"].to_pylist() == ["original", "paraphrase"]


def test_allowed_labels_as_text_and_bucket_ids_as_lists(tmp_path):
    table = load_bucket_set(write(tmp_path / "text.jsonl", {"allowed_labels": "[0]"})).table
    assert table["allowed_labels"].to_pylist() == [[0]]
    with pytest.raises(InputError, match=r"`allowed_labels` must hold numbers as `label` does.*got '\[0'"):
        load_bucket_set(write(tmp_path / "text.jsonl", {"allowed_labels": "[0"}))
    with pytest.raises(InputError, match="`bucket_id` must hold text or whole numbers; got 'list"):
        load_bucket_set(write(tmp_path / "list.jsonl", {"bucket_id": ["b"]}))


def test_whole_numbers_written_as_decimals_are_labels(tmp_path):
    found = load_bucket_set(write(tmp_path / "rows.jsonl", {"label": 1.0}, {"label": 0.0, "bucket_id": "c"}))
    assert found.table["label"].to_pylist() == [1, 0]
    assert found.table["allowed_labels"].to_pylist() == [[1], [0]]


def test_an_empty_column_of_a_csv_is_empty_text(tmp_path):
    (tmp_path / "rows.csv").write_text("bucket_id,premise,hypothesis,update,label\nb,,It is wet.,It stopped.,1\n")
    assert load_bucket_set(str(tmp_path / "rows.csv")).table["premise"].to_pylist() == [""]


@pytest.mark.filterwarnings("ignore:.*unclosed file", "ignore::pytest.PytestUnraisableExceptionWarning")  # datasets 5.0
def test_names_and_folders_that_hold_no_set(tmp_path):
    refuses(r"must be one of this package's sets, .*got ''", load_bucket_set, "")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "test.csv").write_text("a,b\n1,2\n3,4,5,6\n")
    refuses(r"must be loadable with datasets.load_dataset.*Expected 2 fields", load_bucket_set, str(tmp_path))


def test_a_set_without_a_full_test_set_is_refused():
    named = ["paranlu:alpha_nli", "paranlu:alpha_nli_automatic"]
    assert with_test_sets(named) == [*named, "paranlu:alpha_nli_test"]
    for other in ("own.csv", "parte:rte"):
        refuses("`with_test` must be used only with sets that have a full test set", with_test_sets, [other])


def test_a_folder_that_was_written_anew_is_read_anew(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    rows = [
        {"premise": "It rains.", "hypothesis": f"Text {i}.", "label": 0, "bucket_id": "b", "role": "paraphrase"}
        for i in range(4)
    ]
    sets = []
    for kept in (rows[:2], rows[1:]):
        (folder / "test.jsonl").write_text("\n".join(map(json.dumps, kept)))
        sets.append(load_bucket_set(str(folder), task="nli"))
    assert [s.table["hypothesis"].to_pylist() for s in sets] == [
        ["Text 0.", "Text 1."],
        ["Text 1.", "Text 2.", "Text 3."],
    ]
    assert sets[0].fingerprint != sets[1].fingerprint
    assert load_bucket_set(str(folder), task="nli").fingerprint == sets[1].fingerprint


def test_a_large_set_is_the_same_in_a_mapped_file(tmp_path, monkeypatch):
    rows = [{**ROW, "label": i % 2, "allowed_labels": [i % 2], "update": f"It's {i}."} for i in range(30)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet", row_group_size=7)
    small = load_bucket_set(str(tmp_path / "rows.parquet"))
    monkeypatch.setattr("paraconsist.data.tables._IN_MEMORY", 100)
    monkeypatch.setattr("paraconsist.data.bucket_sets._BLOCK", 4)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    large, heap = load_bucket_set(str(tmp_path / "rows.parquet")), pa.total_allocated_bytes()
    assert large.table.equals(small.table)
    assert large.fingerprint == small.fingerprint == "f025a25ccd67c31f"  # by which runs of earlier versions go on
    for name, value in {"_IN_MEMORY": 16, "_SORTED": 3, "_BLOCK": 4}.items():
        monkeypatch.setattr(f"paraconsist.data.arrays.{name}", value)
    ids = large.table["input_id"].to_pylist()
    finished = Results.of({one: [i / 64, 1 - i / 64] for i, one in enumerate(reversed([*dict.fromkeys(ids)]))})
    same = resolve_label_map(large.label_names, large.label_names)
    expected = [*map(finished.__getitem__, ids)]
    assert joined(predictions_parts(large, finished, same))["probabilities"].to_pylist() == expected
    assert texts_table(large)["update"].to_pylist() == [*dict.fromkeys(large.table["update"].to_pylist())]
    del large
    assert pa.total_allocated_bytes() == heap, "its buffers were no mapped file's"
    assert [file.name for file in tmp_path.iterdir()] == ["rows.parquet"]


@pytest.mark.parametrize("kind", ["hashes", "texts", "numbers"])
def test_what_is_sorted_in_pieces_is_sorted(monkeypatch, kind):
    monkeypatch.setattr("paraconsist.data.arrays._SORTED", 7)
    numbers = np.random.default_rng(0).integers(0, 40, 100)
    texts = [f"{n:02x}" * 16 if kind == "hashes" else "é" * n + "\n" * (n % 2) for n in numbers.tolist()]
    keys = numbers * 3000 if kind == "numbers" else as_bytes(texts)
    rows, in_order = zip(*sorted_pieces(keys), strict=True)
    assert np.concatenate(rows).tolist() == np.argsort(keys, kind="stable").tolist()
    assert sum(len(set(piece.tolist())) for piece in in_order) == len(set(keys.tolist())), "equal keys in two pieces"
    assert first_rows(pa.chunked_array([texts[:9], texts[9:]])).tolist() == sorted(map(texts.index, set(texts)))
