"""Partial-input models, and Table 7 of Srikanth et al. 2024 from published predictions."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from helpers.commands import command, done, refused
from helpers.errors import refuses
from helpers.rows import easy_rows, write_csv
from helpers.study_rows import bucket_rows

from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions, read_predictions, write_predictions
from paraconsist.data.rows import read_rows
from paraconsist.data.tasks import TASKS, Template, get_task, partial_task, partial_template
from paraconsist.scoring.options import ScoreOptions
from paraconsist.studies.artifacts import artifact_table, buckets_by_artifact

QUICK = ScoreOptions(n_resamples=20)


@pytest.mark.parametrize(
    ("task", "shown", "text", "pair"),
    [
        ("defeasible_nli", ["update"], "{update}", None),
        ("defeasible_nli", ["update", "hypothesis"], "{hypothesis}", "{update}"),
        ("nli", ["hypothesis"], "{hypothesis}", None),
        ("yes_no_qa", ["question"], "{question}", None),
        ("word_in_context", ["word", "sentence_2"], "{word}", "{sentence_2}"),
        ("word_in_context", ["sentence_1", "sentence_2"], "{sentence_1}", "{sentence_2}"),
    ],
)
def test_a_partial_task_shows_its_columns_only(task: str, shown: list[str], text: str, pair: str | None) -> None:
    whole = get_task(task)
    part = partial_task(whole, shown)
    assert part.single == Template(text, pair)
    assert (part.columns, part.label_names) == (whole.columns, whole.label_names)
    assert part.template_hash != whole.template_hash


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_single_column_of_every_task_can_be_shown(name: str) -> None:
    task = get_task(name)
    row = {column: f"the {column}" for column in task.columns}
    for column in task.columns:
        if task.choices:
            refuses("leave each choice", partial_task, task, ["hypothesis_1"])
            assert partial_template(task.single, [column]).render(row).text == f"the {column}"
        else:
            assert partial_task(task, [column]).encode(row) == (f"the {column}", None)


def test_all_columns_are_the_task_itself() -> None:
    task = get_task("nli")
    assert partial_task(task, ["hypothesis", "premise"]) is task
    assert partial_task(task, None) is task
    part = partial_task(get_task("abductive_nli"), ["hypothesis_1", "hypothesis_2"])
    assert part.choices == (Template("{hypothesis_1}", None), Template("{hypothesis_2}", None))
    for wrong in ([], ["label"], ["premise", "premise"]):
        refuses("input_columns", partial_task, task, wrong)


@pytest.mark.slow
def test_a_partial_model_never_sees_the_other_columns(tmp_path: Path) -> None:
    write_csv(tmp_path / "train.csv", easy_rows(120))
    rows = bucket_rows(12)
    write_csv(tmp_path / "set.csv", rows)
    write_csv(tmp_path / "other.csv", [{**row, "premise": "quite another premise"} for row in rows])
    done("train", "--model", "bow", "--train-file", tmp_path / "train.csv", "--input-columns", "update",
         "--output", tmp_path / "model", "--device", "cpu")  # fmt: skip
    found = []
    for name in ("set", "other"):
        done("run", "--model", tmp_path / "model", "--dataset", tmp_path / f"{name}.csv", "--output",
             tmp_path / name, "--device", "cpu", "--n-resamples", 20)  # fmt: skip
        found.append(pq.read_table(tmp_path / name / "predictions" / f"{name}.parquet")["probabilities"].to_pylist())
    assert found[0] == found[1]  # the model's folder says what it was trained on
    said = refused("run", "--model", tmp_path / "model", "--dataset", tmp_path / "set.csv", "--input-columns",
                   "premise", "--output", tmp_path / "x")  # fmt: skip
    assert "be those that the model was trained on (update)" in said
    said = refused("train", "--model", "bow", "--train-file", tmp_path / "train.csv", "--input-columns", "text",
                   "--output", tmp_path / "y")  # fmt: skip
    assert "name columns of task defeasible_nli" in said
    ready = [{"sentence1": f"{r['premise']} {r['hypothesis']}", "sentence2": r["update"], "label": r["label"]}
             for r in easy_rows(40)]  # fmt: skip
    write_csv(tmp_path / "ready.csv", ready)
    train = ("train", "--model", "bow", "--task", "defeasible_nli", "--train-file", tmp_path / "ready.csv")
    said = refused(*train, "--input-columns", "premise", "--output", tmp_path / "y")
    assert "be all that one ready-made text" in said
    done(*train, "--input-columns", "update", "--output", tmp_path / "z", "--device", "cpu", "--epochs", 1)
    done(*train, "--input-columns", "premise,hypothesis", "--output", tmp_path / "zz", "--device", "cpu", "--epochs", 1)


def predictions_of(answers: dict[str, list[int]], gold: int = 1) -> Predictions:
    """Bucket -> answers, the original's first."""
    rows = [
        {
            **{"bucket_id": bucket, "example_id": f"{bucket}.{k}", "label": gold, "prediction": answer},
            **{"role": "original" if k == 0 else "paraphrase", "probabilities": [0.3, 0.7] if answer else [0.7, 0.3]},
        }
        for bucket, said in answers.items()
        for k, answer in enumerate(said)
    ]
    return Predictions(pa.Table.from_pylist(rows))


PARTIAL = predictions_of({"a": [1, 1, 0], "b": [1, 1, 1], "c": [0, 1, 1]})
FULL = predictions_of({"a": [1, 1, 1], "b": [0, 1, 0], "c": [1, 0, 0]})


def test_buckets_are_split_by_the_partial_models_original() -> None:
    assert buckets_by_artifact(read_rows(PARTIAL, SourceOptions())) == {"likely": {"a", "b"}, "unlikely": {"c"}}


def test_every_model_is_scored_on_each_part() -> None:
    found = {
        (row.artifact, row.model): row
        for row in artifact_table(PARTIAL, [("full", FULL, None)], QUICK, SourceOptions())
    }
    assert found["likely", "partial"].original_accuracy == 1.0
    assert found["unlikely", "partial"].original_accuracy == 0.0
    full = found["likely", "full"]
    assert (full.n_buckets, full.n_examples, full.original_accuracy, full.accuracy) == (2, 4, 0.5, 0.75)
    assert full.paraphrastic_consistency == pytest.approx(0.75)
    assert full.paraphrastic_consistency_unbiased == pytest.approx(0.5)
    assert found["unlikely", "full"].accuracy == 0.0
    assert full.covered_mass is None


@pytest.mark.parametrize(
    ("partial", "full", "message"),
    [
        (PARTIAL, predictions_of({"a": [1, 1]}), "have the buckets of the partial-input model"),
        (predictions_of({"a": [1, 1], "b": [1, 0]}), FULL, "be right on some originals and wrong on others"),
    ],
)
def test_what_cannot_be_split_is_refused(partial: Predictions, full: Predictions, message: str) -> None:
    refuses(message, artifact_table, partial, [("full", full, None)], QUICK, SourceOptions())


def test_a_bucket_without_an_original_is_refused() -> None:
    table = PARTIAL.table.filter(pa.array([row != 0 for row in range(9)]))
    refuses("bucket a", artifact_table, Predictions(table), [("full", FULL, None)], QUICK, SourceOptions())
    rows = PARTIAL.table.to_pylist()
    twice = pa.Table.from_pylist([rows[0], {**rows[1], "role": "original"}, *rows[2:]])
    refuses("bucket a", artifact_table, Predictions(twice), [("full", FULL, None)], QUICK, SourceOptions())


def test_the_command_on_files_and_on_run_folders(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name, predictions in (("partial", PARTIAL), ("full", FULL)):
        (tmp_path / name / "predictions").mkdir(parents=True)
        for extra in ("toy", "toy_test"):
            table = predictions.table
            if extra == "toy_test":
                table = table.filter(pc.equal(table["role"], "original"))
            said = {"set": extra, "label_names": ["no", "yes"]}
            write_predictions(tmp_path / name / "predictions" / f"{extra}.parquet", table, said)
    shown = command.out(
        "artifacts", "--partial", tmp_path / "partial", "--full", tmp_path / "full", "--n-resamples", 20
    )
    assert "likely" in shown
    assert max(map(len, shown.splitlines())) <= 80
    partial, full = (tmp_path / name / "predictions" / "toy.parquet" for name in ("partial", "full"))
    rows = command.json("artifacts", "--partial", partial, "--full", full, "--n-resamples", 20)["rows"]
    assert [(row["artifact"], row["model"], row["n_buckets"]) for row in rows] == [
        *(("likely", "partial", 2), ("likely", "full", 2)),
        *(("unlikely", "partial", 1), ("unlikely", "full", 1)),
    ]
    assert "must be" in refused("artifacts", "--partial", tmp_path, "--full", tmp_path / "full")


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["snli", "atomic", "social"])
def test_table_7_from_published_predictions(data_folder: Path, name: str) -> None:
    folder = data_folder / "paranlu"
    expected = json.loads((folder / "expected_values.json").read_text(encoding="utf-8"))["table7"]

    def read(model: str, kind: str) -> Predictions:
        return read_predictions(folder / "predictions" / f"{name}__{model}__{kind}.parquet")

    names = SourceOptions(label="gold", prediction="pred", original="is_original", confidence="conf_gold", stratum=())
    table = artifact_table(
        read("roberta-large-partial", "human"),
        [("full", read("roberta-large", "human"), read("roberta-large", "test"))],
        ScoreOptions(n_resamples=20),
        names,
        partial_test=read("roberta-large-partial", "test"),
    )
    keys = {
        **{"A_O": "original_accuracy", "A_par": "accuracy", "P_C": "paraphrastic_consistency"},
        **{"A_c": "corrected_accuracy", "P_Cc": "corrected_paraphrastic_consistency", "mass": "covered_mass"},
        **{"A_c_rn": "renormalized_accuracy"},
    }
    n_compared = 0
    for row in table:
        (wanted,) = (e for e in expected if (e["dataset"], e["artifact"]) == (name, row.artifact))
        assert row.n_buckets == wanted["n"]
        for short, value in wanted[row.model].items():
            if short in keys:
                assert getattr(row, keys[short]) == pytest.approx(value, abs=1e-12), (row.artifact, row.model, short)
                n_compared += 1
    assert n_compared >= 20
