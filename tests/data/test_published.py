"""The papers' printed numbers: whole, found by name, and what follows from them."""

import csv
import json
import re
from dataclasses import replace
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest
from helpers.errors import refuses
from helpers.published import bucket, put, real_mirror, served

import paraconsist as pc
from paraconsist.data import published
from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.data.published import MIRROR, published_files, published_folder, published_names
from paraconsist.errors import InputError
from paraconsist.files import digest
from paraconsist.measures.catalogue import CATALOGUE


def test_every_printed_number_is_there(data_folder):
    with (data_folder / "published" / "published_results.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    table = pc.published()
    assert table.num_rows == len(rows) == 816
    for ours, theirs in zip(table.to_pylist(), rows, strict=True):
        numbers = {name: float(theirs[name]) if theirs[name] else None for name in ("value", "sd")}
        assert {name: ours[name] for name in theirs} == {**{k: v or None for k, v in theirs.items()}, **numbers}
        assert ours["source"]


def test_filters_join_and_names_that_no_row_has_are_refused():
    table = pc.published(paper="J22", dataset=["snli", "mrpc"], measure="semantic_inconsistency")
    assert set(table["dataset"].to_pylist()) == {"snli", "mrpc"}
    assert set(table["unit"].to_pylist()) == {"%"}
    assert table.column_names[-2:] == ["unit", "source"]
    refuses(r"`paper` must be one of .*S24.*; got 'X'", pc.published, paper="X")
    refuses("`measure` must be one of", pc.published, paper="A24", measure="rho")
    with pytest.raises(pc.InputError, match=r"`paper` must be a name or a sequence of names; got 2\.0"):
        pc.published(paper=2.0)  # type: ignore[arg-type]


def test_measures_are_called_as_in_the_results():
    names = set(pc.published()["measure"].to_pylist())
    taus = {name for name in names if name.endswith("_inconsistency")}
    assert taus <= CATALOGUE.keys()
    assert {"paraphrastic_consistency", "prediction_change"} <= names & CATALOGUE.keys()


def test_list_shows_them(command):
    out = command.out("list", "--published", "DeBERTa-V3 large, delta_snli", "--json")
    rows = json.loads(out)["Published"]
    assert {"what": "DeBERTa-V3 large, delta_snli, original_accuracy"}.items() <= rows[0].items()
    code, _, err = command("list", "--published", "nothing")
    assert (code, "must be in the name of what papers published; got 'nothing'" in err) == (2, True)


# ---------- Published predictions under a name in place of a path

SURE, UNSURE = [0.125, 0.875], [0.5625, 0.4375]
HUMAN = {
    "b.1": bucket((1, SURE), {"b.1.x": (1, SURE), "b.1.y": (0, UNSURE)}, premise_hypothesis_id="p.7"),
    "b.2": bucket((0, UNSURE), {"b.2.x": (0, UNSURE), "b.2.y": (0, UNSURE)}, label=0, premise_hypothesis_id="p.7"),
    "b.3": bucket((1, SURE), {"b.3.x": (1, SURE)}, premise_hypothesis_id="p.8"),
}
TEST = [{"confidence": SURE, "prediction": 1, "label": 1, "example_id": f"snli.test.{i}"} for i in range(4)]


@pytest.fixture
def index(monkeypatch, tmp_path):
    """A mirror with two models; what the package knows of it."""
    mirror = tmp_path / "mirror"
    files = []
    for model in ("large", "small"):
        human = json.dumps({key: HUMAN[key] for key in HUMAN if model == "large" or key != "b.3"}).encode()
        n_rows = "8" if model == "large" else "6"
        files.append(
            put(mirror, human, model=model, set="delta_snli", n_rows=n_rows, note="" if n_rows == "8" else "?!")
        )
        files.append(put(mirror, json.dumps(TEST).encode(), model=model, set="delta_snli_test", n_rows="4"))
    files.append(put(mirror, json.dumps({"o": HUMAN["b.1"]}).encode(), model="other", set="delta_snli", n_rows="3"))
    monkeypatch.setattr(published, "published_files", lambda: tuple(files))
    monkeypatch.setenv("PARACONSIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(MIRROR, str(mirror))
    return files


@pytest.mark.parametrize("way", ["folder", "github.com", "file", "http"])
def test_a_file_becomes_the_run_it_was(index, monkeypatch, tmp_path, way):
    mirror = tmp_path / "mirror"
    if way == "github.com":
        mirror.rename(tmp_path / "github.com")
        monkeypatch.setenv(MIRROR, str(tmp_path))
    elif way == "file":
        monkeypatch.setenv(MIRROR, mirror.as_uri() + "/")
    with served(mirror) as address:
        if way == "http":
            monkeypatch.setenv(MIRROR, address)
        scores = pc.score("published:paranlu/large")
    monkeypatch.setenv(MIRROR, str(tmp_path / "nowhere"))
    assert pc.score("published:paranlu/large").to_dict() == scores.to_dict()  # from the cache
    assert list(scores.sets) == ["paranlu:delta_snli"]
    table = scores.opened.sets["paranlu:delta_snli"].predictions.table
    assert table["example_id"].to_pylist()[:4] == ["b.1", "b.1.x", "b.1.y", "b.2"]
    assert table["group_id"].to_pylist() == ["p.7"] * 6 + ["p.8"] * 2
    assert table["role"].to_pylist().count("original") == 3
    assert table["probabilities"].to_pylist()[2] == UNSURE
    (values,) = scores.to_dict()["paranlu:delta_snli"]["measures"].values()
    assert (values["n_buckets"], values["accuracy"], values["test_accuracy"]) == (3, 0.8, 1.0)
    assert "data:paranlu/delta_snli@c0ffee" in values["signature"]
    assert scores.to_dict()["paranlu:delta_snli"]["model"] == "large"


def test_labels_that_are_counted_from_1(index, tmp_path):
    """As in GPT-3's results on alpha-NLI."""
    rows = [{"confidence": SURE, "prediction": 1 + i % 2, "label": 2, "example_id": f"t.{i}"} for i in range(3)]
    index.append(put(tmp_path / "mirror", json.dumps(rows).encode(), model="from-1", set="alpha_nli", n_rows="3"))
    (file,) = (published_folder("published:paranlu/from-1", "score") / "predictions").iterdir()
    table = pq.read_table(file)
    assert (table["label"].to_pylist(), table["prediction"].to_pylist()) == ([1, 1, 1], [0, 1, 0])


def test_every_command_takes_it(index, command, tmp_path):
    names = ["published:paranlu/large", "published:paranlu/small:delta_snli"]
    out = command.out("compare", *names, "--json", "--n-permutations", 100)
    (one,) = json.loads(out)
    assert one["n_common_buckets"] == 2
    assert [one["pairs"][0][key] for key in ("first", "second")] == ["large", "small"]
    assert "on 2 common buckets" in one["warnings"][0]
    assert command("gate", "accuracy >= 0.7", names[0])[0] == 0
    with patch("paraconsist.reporting.page.write.report_plots", lambda *_: []):
        code, out, err = command("leaderboard", *names, "--output", tmp_path / "board")
    assert code == 0, err
    page = (tmp_path / "board" / "index.html").read_text(encoding="utf-8")
    assert "paranlu:delta_snli: 2 models ranked on 2 problems" in page
    assert "warning: ?!" in command("score", names[1])[2]
    assert command("report", *names, "--output", tmp_path / "page.html")[0] == 0
    assert "large" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("paranlu/larg", r"got 'published:paranlu/larg'. Do you mean paranlu/large"),
        ("nonsense", "There are paranlu/large, paranlu/small, paranlu/other"),
        ("paranlu/large:delta_atomic", r"published:paranlu/large \(delta_snli, delta_snli_test\); got 'delta_a"),
    ],
)
def test_a_name_that_is_not_there(index, name, words):
    refuses(words, pc.score, f"published:{name}")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("another file", r"be the published file at file:.*delta_snli.json, sha256 \w+\.\.\., [\d,]+ bytes; got '"),
        ("no file", "be fetched from file:.*large/delta_snli.json; got '.*[Nn]o such file"),
        ("404", "be fetched from http:.*large/delta_snli.json; got 'HTTP Error 404"),
        ("offline", "be fetched from https://raw.githubusercontent.com/owner/name/c0ffee/.*offline mode is on"),
        ("not what it was", "hold the 8 published predictions of large; got '0 rows"),
        ("other answers", "hold the 8 published predictions of large; got '8 rows"),
    ],
)
def test_a_file_that_cannot_be_had(index, monkeypatch, tmp_path, change, words):
    mirror, one = tmp_path / "mirror", index[0]
    file = mirror / one.repository / one.commit / one.path
    if change in ("another file", "not what it was"):
        file.write_text("[3]")
    elif change in ("no file", "404"):
        file.unlink()
    elif change == "offline":
        monkeypatch.delenv(MIRROR)
    if change in ("not what it was", "other answers"):
        index[0] = replace(one, sha256="", answers="0" * 64 if change == "other answers" else "")
    with served(mirror) as address, pytest.raises(InputError, match=words) as caught:
        if change == "404":
            monkeypatch.setenv(MIRROR, address)
        pc.score("published:paranlu/large")
    assert not re.search("Traceback|urlopen", str(caught.value))
    assert not list((tmp_path / "cache").rglob("*.parquet"))


def test_a_run_on_other_rows_is_told_so(index):
    refuses(r"large: 'b.1', 'b.2', 'b.3'; other: 'o'", pc.compare, "published:paranlu/large", "published:paranlu/other")


def test_the_index():
    files = published_files()
    assert len({(one.collection, one.model, one.set) for one in files}) == len(files) == 117
    assert len(published_names()) == 21
    assert all(re.fullmatch("[0-9a-f]{40}", one.commit) for one in files)
    unchecked = [one for one in files if not one.sha256 and not one.answers]
    assert {one.model for one in unchecked} == {"gpt3-text-curie-001"}
    assert all("sha256" in one.note for one in unchecked)


@pytest.mark.real_data
def test_the_index_is_that_of_the_data(data_folder):
    with (data_folder / "paranlu" / "predictions" / "index.csv").open(newline="") as file:
        rows = {(row["path"], row["model"], row["sha256"], row["bytes"]) for row in csv.DictReader(file)}
    human = [one for one in published_files() if one.collection == "paranlu" and not one.set.endswith("_automatic")]
    assert {(one.path, one.model, one.sha256, one.bytes) for one in human} == rows


@pytest.mark.real_data
@pytest.mark.slow
def test_every_known_file_byte_for_byte(data_folder, tmp_path):
    """What `real_mirror` writes are the authors' bytes: all files of which the index has a sha256."""
    mirror = real_mirror(tmp_path, data_folder, [name.partition(":")[2] for name in published_names()])
    known = {one: mirror / one.repository / one.commit / one.path for one in published_files() if one.sha256}
    assert len(known) == 108
    assert [one for one, file in known.items() if digest(file)["sha256"] != one.sha256] == []


@pytest.mark.real_data
@pytest.mark.parametrize(
    "full",
    [
        *(f"roberta-large:{name}" for name in ("alpha_nli", "delta_snli", "delta_snli_automatic", "delta_social_test")),
        "gpt3-text-curie-001:alpha_nli_test",
    ],
)
def test_the_rows_are_those_of_the_bucket_set(data_folder, tmp_path, monkeypatch, full):
    """The authors' own bytes, put together from the data at hand, pass the sha256 of the index."""
    monkeypatch.setenv("PARACONSIST_CACHE", str(tmp_path / "cache"))
    model, _, name = full.partition(":")
    wanted = [f"paranlu/{full}", f"paranlu/{model}:{name.replace('_automatic', '_test')}"]
    monkeypatch.setenv(MIRROR, str(real_mirror(tmp_path / "mirror", data_folder, wanted)))
    folder = published_folder(f"published:paranlu/{full}", "score")
    columns = ["example_id", "bucket_id", "role", "label", *(["group_id"] if not name.endswith("_test") else [])]
    table = pq.read_table(folder / "predictions" / f"paranlu-{name}.parquet", columns=columns)
    rows = load_bucket_set(f"paranlu:{name}", data_dir=str(data_folder)).table.select(columns)
    by_id = {row["example_id"]: row for row in rows.to_pylist()}
    assert table.num_rows == (1000 if model.startswith("gpt3") else len(by_id))
    assert all(by_id[row["example_id"]] == row for row in table.to_pylist())


@pytest.mark.real_data
def test_parte(data_folder, tmp_path, monkeypatch):
    """V23's answers as the file has them: 110 of BERT's 1,126 change, 55 from right to wrong."""
    monkeypatch.setenv("PARACONSIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(MIRROR, str(real_mirror(tmp_path / "mirror", data_folder, ["parte/bert"])))
    (result,) = pc.score("published:parte/bert").to_dict().values()
    (values,) = result["measures"].values()
    assert [values[key] for key in ("n_changed", "correct_to_incorrect", "n_pairs")] == [110, 55, 1126]
    assert {name: sum(part["n_pairs"] for part in parts.values()) for name, parts in values["by_stratum"].items()}
