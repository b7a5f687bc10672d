"""What training reads: rows, labels, options and presets; and what it refuses."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.errors import refuses
from helpers.rows import easy_rows, record, write_csv

from paraconsist.data.published import published
from paraconsist.data.tasks import get_task
from paraconsist.models.training.options import PRESETS, TrainingOptions, options_from_preset
from paraconsist.models.training.trainer import train

TASKS = ("boolq", "snli", "rte", "mrpc", "wic", "sst2", "ag_news")  # of BECEL
DEFEASIBLE, ABDUCTIVE = get_task("defeasible_nli"), get_task("abductive_nli")


@pytest.mark.slow
def test_labels_by_name_ready_made_columns_and_other_formats(tmp_path):
    rows = [
        {"sentence1": f" {r['premise']}", "sentence2": r["update"], "gold": DEFEASIBLE.label_names[r["label"]]}
        for r in easy_rows(40)
    ]
    lines = tmp_path / "rows.jsonl"
    lines.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    said: list[str] = []
    options = options_from_preset(
        None, output=tmp_path / "a", model="bow", task="defeasible_nli", train_file=lines,
        label_column="gold", n_buckets=64, epochs=1.0, device="cpu",
    )  # fmt: skip
    train(options, say=said.append)
    assert any("taking 'sentence1' as text and 'sentence2' as text pair" in line for line in said)
    same = write_csv(
        tmp_path / "rows.csv",
        [{"a": r["sentence1"].strip(), "b": r["sentence2"], "gold": r["gold"]} for r in rows],
    )
    train(replace(options, output=tmp_path / "b", train_file=same, text_column="a", text_pair_column="b"))
    first, second = (record(tmp_path / name)["data"]["train"]["content_hash"] for name in "ab")
    assert first == second
    refuses(r"`task` must be given.*defeasible_nli", train, replace(options, task=None, output=tmp_path / "c"))


BASE = {"premise": "p", "hypothesis": "h", "update": "u"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ([], "at least one row"),
        ([BASE | {"label": 0}], r"take at least two values.*'weakener'"),
        ([BASE | {"label": 0}, BASE | {"label": 2}], r"0 to 1; got 2 at row 1"),
        ([BASE | {"label": "weakener"}, BASE | {"label": "neutral"}], "got 'neutral' at row 1"),
        ([BASE | {"label": "weakener"}, BASE | {"label": "-"}], r"gold label.*row 1.*`drop_unlabelled`"),
        ([BASE | {"label": 0}, BASE | {"label": ""}], r"gold label.*row 1"),
        ([BASE | {"gold": 0}], r"`label_column` must be a column"),
        ([{"premise": "p", "hypothesis": "h", "label": 0}], r"`update` must be a column"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_trained_on(tmp_path, rows, match):
    file = write_csv(tmp_path / "rows.csv", rows, list(rows[0]) if rows else [*BASE, "label"])
    options = options_from_preset(None, output=tmp_path / "model", model="bow", task="defeasible_nli", train_file=file)
    refuses(match, train, options)
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_rows_without_gold_label_are_dropped_when_asked_and_counted(tmp_path):
    rows = [BASE | {"update": f"u{i}", "label": ["weakener", "strengthener", "-"][i % 3]} for i in range(30)]
    file = write_csv(tmp_path / "rows.csv", rows)
    said: list[str] = []
    options = options_from_preset(
        None, output=tmp_path / "m", model="bow", train_file=file, eval_file=file, drop_unlabelled=True,
        n_buckets=64, epochs=1.0, device="cpu",
    )  # fmt: skip
    train(options, say=said.append)
    assert any("10 of 30 rows have no gold label" in line for line in said)
    assert any("warning: 20 of 20 evaluation inputs are also training inputs" in line for line in said)
    assert record(tmp_path / "m")["data"]["train"]["n_dropped"] == 10


@pytest.mark.slow
def test_the_sample_set_trains_on_its_training_split_and_is_measured_on_its_validation_split(tmp_path):
    options = options_from_preset(
        None, output=tmp_path / "m", model="bow", dataset="sample:defeasible_nli_train", n_buckets=4096,
        epochs=1.0, device="cpu",
    )  # fmt: skip
    data = record(train(options))["data"]
    assert (data["train"]["n_rows"], data["eval"]["n_rows"], data["eval"]["n_in_train"]) == (480, 80, 0)
    refuses("name a config of 'sample'", train, replace(options, dataset="sample:nothing"))
    refuses("be builder:config", train, replace(options, dataset="nobody:nothing"))


@pytest.mark.slow
def test_texts_must_be_text(tmp_path):
    rows = [{"sentence1": text, "sentence2": "b", "label": i} for i, text in enumerate(("a", None))]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    options = options_from_preset(None, output=tmp_path / "m", model="bow", task="defeasible_nli", train_file=file)
    refuses(r"`sentence1` must be text; got None at row 1", train, options)


@pytest.mark.parametrize(
    ("overrides", "match"),
    [
        ({"train_file": None}, "`train_file` must be given, or `dataset`"),
        ({"dataset": "sample:x"}, "not both"),
        ({"batch_size": 0}, "`batch_size` must be .* at least 1; got 0"),
        ({"learning_rate": -1.0}, "`learning_rate` must be a positive number"),
        ({"epochs": float("nan")}, "`epochs` must be a positive number"),
        ({"seed": -1}, "`seed` must be .* at least 0"),
        ({"head": "both"}, "`head` must be one of auto"),
        ({"text_pair_column": "b"}, "given with `text_pair_column`"),
        ({"warmup": 2.0}, "`warmup`"),
        ({"patience": 0}, "`patience` must be .* at least 1; got 0"),
        ({"patience": 1, "save_steps": 5}, "`best_model` must not be given together with `save_steps`"),
        ({"best_by": "f1"}, "`best_by` must be one of accuracy, loss; got 'f1'"),
        ({"pooling": "sum"}, "`pooling` must be one of max, mean, last"),
        ({"dropout": 1.0}, "`dropout` must be a share"),
        ({"vectors": Path("v.txt")}, "`vectors` must be given only for a new glove_bow or bilstm"),
        ({"extra_words": 5}, "`extra_words` must be given with `vectors`"),
        ({"freeze_vectors": True}, "`freeze_vectors` must be given with `vectors`"),
    ],
)
def test_options_that_cannot_be(tmp_path, overrides, match):
    settings = {"model": "bow", "output": tmp_path, "train_file": tmp_path / "x.csv"} | overrides
    refuses(match, TrainingOptions, **settings)


@pytest.mark.slow
def test_presets(tmp_path):
    assert list(PRESETS) == [
        "bow", "s24-roberta", "minilm-quick", "v23-glove-bow", "v23-bilstm", "v23-encoder", "s24-bilstm", "j22-becel",
        *(f"j22-{task}" for task in TASKS),
    ]  # fmt: skip
    where = {"output": tmp_path / "m", "train_file": write_csv(tmp_path / "x.csv", easy_rows(4))}
    options = options_from_preset("s24-roberta", **where, epochs=1.0)
    assert (options.model, options.batch_size, options.learning_rate, options.epochs) == (
        "FacebookAI/roberta-large", 64, 5e-6, 1.0,
    )  # fmt: skip
    for name, model, match in (
        ("mine", "bow", "`preset` must be one of bow, s24-roberta, minilm-quick"),
        ("minilm-quick", None, "`model` must be given"),
        ("bow", "org/encoder", "bow's settings are for bow"),
        ("v23-bilstm", "bow", "v23-bilstm's settings are for bilstm"),
    ):
        refuses(match, options_from_preset, name, model=model, **where)
    v23 = options_from_preset("v23-encoder", model="org/encoder", **where)
    assert (v23.batch_size * v23.gradient_accumulation, v23.learning_rate, v23.epochs) == (32, 3e-6, 5.0)
    printed = {(row["dataset"], row["measure"]): row["value"] for row in published(paper="J22").to_pylist()}
    for name in ("becel", *TASKS):
        j22 = options_from_preset(f"j22-{name}", model="org/encoder", **where)
        assert (j22.epochs, j22.patience, j22.best_model) == (10.0, 3, True)
        for key in ("learning_rate", "max_length", "batch_size") if name in TASKS else ():
            measure = "batch_size_per_gpu" if key == "batch_size" else key
            assert getattr(j22, key) == printed[name, measure], (name, key)
    for model, preset in (("bow", "bow"), ("glove_bow", "v23-glove-bow"), ("bilstm", "v23-bilstm")):
        assert options_from_preset(None, model=model, **where).preset == preset
    for more, match in (({"best_model": True}, "come with evaluation rows"), ({"max_length": 9}, "cuts nothing")):
        refuses(match, train, options_from_preset(None, model="bow", **where, **more))
