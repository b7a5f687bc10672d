"""Selection of items: the filter, the fit behind it, partitions that do not leak, the draw, the sheet and back."""

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command, done, in_process, refused, words
from helpers.errors import refuses
from helpers.models import WORDS, tiny_encoder
from helpers.rows import easy_rows, write_csv

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.files import locked
from paraconsist.studies.aflite import aflite, fit_logistic
from paraconsist.studies.options import PRESETS, AfliteOptions
from paraconsist.studies.selection import round_robin, sample_by_difficulty

SMALL = AfliteOptions(n_classifiers=16, train_size=200, cutoff=40)


def planted(n: int = 800, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Noise, in which half of the rows have a direction that gives the label away."""
    rng = np.random.default_rng(seed)
    labels, marked = rng.integers(0, 2, n), rng.random(n) < 0.5
    rows = rng.normal(size=(n, 12))
    rows[:, 0] += np.where(marked, 5.0 * (2 * labels - 1), 0.0)
    rows[:, 1] += 4.0 * marked
    return rows, labels, np.repeat(np.arange(n // 4), 4), marked


def test_fits_together_are_those_of_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(600, 9)) * np.linspace(0.05, 3, 9)
    rows[:, 5:] += 3 * rows[:, 4:5]  # which are far from independent
    labels = (rows @ rng.normal(size=9) + rng.logistic(size=600) > 0.3).astype(int)
    chosen = rng.random((600, 5)) < 0.4
    for penalty in (0.01, 1.0, 100.0):
        weights, converged = fit_logistic(rows, labels, chosen, inverse_penalty=penalty, tolerance=1e-8)
        assert converged
        for k in range(5):
            model = linear_model.LogisticRegression(C=penalty, tol=1e-10, max_iter=10_000)
            model.fit(rows[chosen[:, k]], labels[chosen[:, k]])
            np.testing.assert_allclose(weights[:-1, k], model.coef_[0], atol=2e-5)
            assert weights[-1, k] == pytest.approx(model.intercept_[0], abs=2e-5)


def test_a_fit_on_separable_rows_converges() -> None:
    labels = np.repeat([0, 1], 40)
    rows = 18.0 * labels[:, None] - 9.0 + np.random.default_rng(0).normal(size=(80, 2))
    weights, converged = fit_logistic(rows, labels, np.ones((80, 1), dtype=bool), inverse_penalty=1e4)
    assert converged
    assert ((rows @ weights[:-1, 0] + weights[-1, 0] > 0) == labels).all()


def test_a_planted_artefact_is_easy_and_goes_first() -> None:
    rows, labels, groups, marked = planted()
    result = aflite(rows, labels, groups=groups, options=SMALL)
    assert result.easy[marked].mean() >= 0.95
    assert result.easy[~marked].mean() < 0.6
    assert marked[result.removed_in == 0].mean() > 0.6
    assert [entry["n_rows"] for entry in result.curve[:3]] == [800, 760, 720]
    assert result.curve[0]["accuracy"] > result.curve[-1]["accuracy"]
    assert 0 < result.easy_share < 1


def test_the_filter_does_what_its_naive_definition_does() -> None:
    """One iteration against scikit-learn's classifier, trained on the same partitions one by one."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    from paraconsist.studies.aflite import _partitions

    rows, labels, groups, _ = planted(400, seed=3)
    options = AfliteOptions(n_classifiers=6, train_size=150, cutoff=10_000, seed=5)
    chosen = _partitions(groups, options, np.random.default_rng(5))
    right = np.zeros(400)
    for k in range(6):
        model = linear_model.LogisticRegression(tol=1e-9, max_iter=5000).fit(rows[chosen[:, k]], labels[chosen[:, k]])
        right += (model.predict(rows) == labels) & ~chosen[:, k]
    held_out = (~chosen).sum(axis=1)
    with pytest.warns(UserWarning, match="never held out") if (held_out == 0).any() else _nothing():
        result = aflite(rows, labels, groups=groups, options=options)
    seen = held_out > 0
    np.testing.assert_allclose(result.score[seen], right[seen] / held_out[seen])
    assert ((result.removed_in == 0) == (np.nan_to_num(result.score) >= 0.75)).all()


def _nothing():
    from contextlib import nullcontext

    return nullcontext()


def test_three_labels_are_filtered_too() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 240)
    rows = rng.normal(size=(240, 5))
    rows[:120] += 6 * np.eye(5)[labels[:120]]
    result = aflite(rows, labels, options=AfliteOptions(n_classifiers=6, train_size=80, cutoff=30))
    assert result.easy[:120].mean() > 0.9 > result.easy[120:].mean()


def test_a_classifier_never_predicts_a_group_that_it_was_trained_on() -> None:
    from paraconsist.studies.aflite import _partitions

    groups = np.random.default_rng(0).integers(0, 40, 300)
    chosen = _partitions(groups, AfliteOptions(n_classifiers=8, train_size=100), np.random.default_rng(0))
    for k in range(8):
        assert not set(groups[chosen[:, k]]) & set(groups[~chosen[:, k]])
        assert 100 <= chosen[:, k].sum() < 100 + np.bincount(groups).max()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": np.zeros(800)}, "would leak"),
        ({"options": AfliteOptions(train_size=800)}, "be smaller than the number of rows"),
        ({"labels": np.zeros(800)}, "take at least two values"),
        ({"labels": np.zeros(3)}, "have one row for each"),
        ({"embeddings": np.where(np.arange(800) == 7, np.nan, 0.0)[:, None]}, "be finite numbers; got .nan. at row 7"),
    ],
)
def test_what_cannot_be_filtered_is_refused(change: dict, message: str) -> None:
    rows, labels, groups, _ = planted()
    refuses(message, aflite, **{"embeddings": rows, "labels": labels, "groups": groups, "options": SMALL, **change})


@pytest.mark.parametrize("option", [{"threshold": 0.0}, {"threshold": 1.01}, {"cutoff": 0}, {"inverse_penalty": 0.0}])
def test_options_out_of_range_are_refused(option: dict) -> None:
    refuses(next(iter(option)), AfliteOptions, **option)


def test_the_preset_is_the_papers() -> None:
    said = PRESETS["s24"]
    assert (said.n_classifiers, said.train_size, said.cutoff, said.threshold) == (64, 5000, 500, 0.75)


def test_round_robin_takes_one_of_each_stratum_in_turn() -> None:
    strata = np.array([0] * 50 + [3] * 2 + [9] * 4)
    assert strata[round_robin(strata, 9, rng=np.random.default_rng(0))].tolist() == [0, 3, 9, 0, 3, 9, 0, 9, 0]
    assert len(round_robin(strata, 1000, rng=np.random.default_rng(0))) == 56


def test_the_draw_is_even_over_deciles_and_difficulty() -> None:
    rng = np.random.default_rng(0)
    confidences, easy = rng.random(2000), rng.random(2000) < 0.4
    drawn = sample_by_difficulty(easy, confidences, n_easy=50, n_difficult=30)
    assert len(set(drawn.tolist())) == 80
    assert easy[drawn].tolist() == [True] * 50 + [False] * 30
    assert np.bincount((10 * confidences[drawn[:50]]).astype(int)).tolist() == [5] * 10
    with pytest.warns(UserWarning, match="only"):
        sample_by_difficulty(easy[:20], confidences[:20], n_easy=50, n_difficult=1)
    refuses("from 0 to 1", sample_by_difficulty, easy, confidences + 1)
    assert sample_by_difficulty(np.array([False, True]), [0.0, 1.0], 1, 1).tolist() == [1, 0]


def rows_with_contexts(n: int = 240) -> list[dict]:
    made = easy_rows(n)
    for i, row in enumerate(made):
        row["premise"] = f"{WORDS[i // 4 % 20]} {WORDS[20 + i // 80]} {i // 4}"
    return made


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("select")
    other = [{**row, "premise": f"elsewhere {row['premise']}"} for row in rows_with_contexts(200)]
    write_csv(folder / "encoder_rows.csv", other)
    write_csv(folder / "rows.csv", rows_with_contexts())
    done("train", "--model", "bow", "--train-file", folder / "encoder_rows.csv", "--output", folder / "model")
    return folder


def read_lines(sheet: Path) -> list[dict]:
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def select(folder: Path, *more: object, rows: str = "rows.csv") -> list[object]:
    small = ("--n-classifiers", 8, "--train-size", 80, "--cutoff", 20, "--device", "cpu")
    return ["select", folder / rows, "--encoder", folder / "model", *small, *more]


@pytest.mark.slow
def test_select_writes_originals_and_a_sheet_that_becomes_a_bucket_set(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "selection"
    done(
        *select(trained, "--confidence-model", trained / "model", "--n-easy", 4, "--n-difficult", 20),
        *("--pool", 0.5, "--places", 2, "--output", out),
    )
    said = json.loads((out / "selection.json").read_text())
    assert said["n_rows"] == 240
    assert said["n_contexts"] == 60
    table = pq.read_table(out / "rows.parquet")
    pool = set(table.filter(table["in_pool"])["premise"].to_pylist())
    with (out / "train.csv").open(newline="") as stream:
        left = {row["premise"] for row in csv.DictReader(stream)}
    assert len(pool) == 30
    assert not pool & left  # the pool is whole contexts
    originals = pq.read_table(out / "originals.parquet").to_pylist()
    assert {row["difficulty"] for row in originals} >= {"easy"}
    assert {row["label"] for row in originals} <= {"weakener", "strengthener"}
    lines = read_lines(out / "sheet.csv")
    assert len(lines) == 2 * len(originals)
    assert all(line["new_update"] == "" for line in lines)
    for line in lines[:3]:
        line["new_update"] = f"{line['update']} today {lines.index(line)}"
    write_csv(tmp_path / "written.csv", lines)
    done("select", "--written", tmp_path / "written.csv", "--originals", out / "originals.parquet",
         "--output", tmp_path / "set.parquet")  # fmt: skip
    found = load_bucket_set(str(tmp_path / "set.parquet"))
    assert found.task.name == "defeasible_nli"
    assert sorted(found.table["role"].to_pylist()) == ["original", "original", "paraphrase", "paraphrase", "paraphrase"]
    assert {"difficulty", "decile"} <= set(found.strata)
    line = words(
        "run", model=trained / "model", dataset=tmp_path / "set.parquet", output=tmp_path / "run", device="cpu"
    )
    said = Command(partial(in_process, warn="always")).done(line, "--n-resamples", 20)
    assert "columns not written to predictions or results: writer." in said


@pytest.mark.slow
def test_a_selection_leaves_nothing_of_an_earlier_one(trained: Path, tmp_path: Path) -> None:
    """Rows for training of an earlier pool stayed, and were in the pool of the next selection."""
    draw = ("--confidence-model", trained / "model", "--n-easy", 1, "--n-difficult", 1)
    done(*select(trained, *draw, "--pool", 0.5, "--output", tmp_path / "s"))
    done(*select(trained, "--output", tmp_path / "s"))
    assert not {"train.csv", "originals.parquet", "sheet.csv"} & {file.name for file in (tmp_path / "s").iterdir()}
    rows = rows_with_contexts()
    write_csv(tmp_path / "twice.csv", [{**row, "example_id": i % 239} for i, row in enumerate(rows)])
    again = select(tmp_path, "--encoder", trained / "model", *draw, "--output", tmp_path / "t", rows="twice.csv")
    assert "`example_id` must be another for each row of" in refused(*again)


@pytest.mark.slow
def test_vectors_are_used_again_for_the_same_encoder_only(trained: Path, tmp_path: Path) -> None:
    done(*select(trained, "--output", tmp_path / "s"))
    assert "were there already" in done(*select(trained, "--output", tmp_path / "s", "--cutoff", 10))
    encoder = tiny_encoder(tmp_path / "encoder")
    assert "were there already" not in done(*select(trained, "--output", tmp_path / "s", "--encoder", encoder))


@pytest.mark.slow
def test_a_selection_goes_on_until_somebody_writes_into_its_sheet(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "s"
    drawn = select(trained, "--confidence-model", trained / "model", "--n-easy", 4, "--n-difficult", 4, "--output", out)
    done(*drawn)
    sheet = (out / "sheet.csv").read_bytes()
    for killed_before in ("sheet.csv", "rows.parquet", "selection.json", "aflite.png"):
        (out / killed_before).unlink(missing_ok=True)
        done(*drawn)
        assert (out / "sheet.csv").read_bytes() == sheet
        assert {"originals.parquet", "rows.parquet", "selection.json"} <= {file.name for file in out.iterdir()}
    lines = read_lines(out / "sheet.csv")
    lines[0]["new_update"] = "a text of a person"
    write_csv(out / "sheet.csv", lines)
    assert "without a sheet in which somebody wrote" in refused(*drawn)
    busy = tmp_path / "busy"
    with locked(busy, "select", "output"), ThreadPoolExecutor(1) as other:
        message = other.submit(refused, *select(trained, "--output", busy)).result()
    assert "not be in use by another command" in message


@pytest.mark.slow
def test_a_model_that_has_seen_the_rows_is_refused(trained: Path, tmp_path: Path) -> None:
    said = refused(*select(trained, "--output", tmp_path / "s", rows="encoder_rows.csv"))
    assert "not be trained on contexts" in said
    assert "leaks" in said
    write_csv(tmp_path / "one.csv", [{**row, "premise": "one"} for row in easy_rows(200)])
    encoder = ("--encoder", trained / "model")
    said = refused(*select(tmp_path, "--output", tmp_path / "s", *encoder, rows="one.csv"))
    assert "would leak" in said


@pytest.mark.slow
def test_an_encoder_that_does_not_match_its_checkpoint_is_refused(trained: Path, tmp_path: Path) -> None:
    from transformers import AutoModel

    folder = tiny_encoder(tmp_path / "whole")
    bare = tmp_path / "bare"
    AutoModel.from_pretrained(folder).save_pretrained(bare)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (bare / name).write_bytes((folder / name).read_bytes())
    done(*select(trained, "--output", tmp_path / "good", "--encoder", bare))
    config = json.loads((bare / "config.json").read_text())
    (bare / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    said = refused(*select(trained, "--output", tmp_path / "deeper", "--encoder", bare))
    assert "configuration and checkpoint do not belong together" in said
    (bare / "config.json").write_text(json.dumps({**config, "intermediate_size": 80}))
    said = refused(*select(trained, "--output", tmp_path / "wider", "--encoder", bare))
    assert "configuration and checkpoint do not belong together" in said
    said = refused(*select(trained, "--output", tmp_path / "p", "--encoder", bare, "--pooling", "head"))
    assert "without a trained head" in said


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"update": "another text"}, "be the original text, unchanged"),
        ({"new_update": "  SHE smiles at  everybody"}, "be a new text of its bucket"),
        ({"bucket_id": "nobody"}, "be a bucket of"),
        ({"new_update": ""}, "hold at least one paraphrase"),
    ],
)
def test_a_sheet_that_cannot_be_right_is_refused(change: dict, message: str, tmp_path: Path) -> None:
    from paraconsist.data.tasks import get_task
    from paraconsist.transforms.paraphrase.judgements import read_written, write_writing_sheet

    original = {
        **{"example_id": "a.original", "bucket_id": "a", "group_id": "g", "role": "original"},
        **{"premise": "p", "hypothesis": "h", "update": "She smiles at everybody", "label": "weakener"},
        "task": "defeasible_nli",
    }
    pq.write_table(pa.Table.from_pylist([original]), tmp_path / "originals.parquet")
    write_writing_sheet(tmp_path / "sheet.csv", [original], task=get_task("defeasible_nli"), rewrite=["update"], n=1)
    lines = read_lines(tmp_path / "sheet.csv")
    write_csv(tmp_path / "sheet.csv", [{**lines[0], "new_update": "Everybody gets a smile", **change}])
    refuses(message, read_written, tmp_path / "sheet.csv", tmp_path / "originals.parquet")
