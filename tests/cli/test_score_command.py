"""`paraconsist score`: published numbers from published files, and one clean sentence for every bad file.

Provenance of the goldens: see test_paraphrastic_goldens.py.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command, write
from helpers.errors import refuses
from helpers.paranlu_goldens import FIGURE_4, KEYS, PRINTED_DIGIT, TABLE_4, TABLE_7, check

import paraconsist
from paraconsist.data.predictions import write_predictions

COLUMNS = ["--label", "gold", "--prediction", "pred", "--original", "is_original"]


def scored(command: Command, *args: object) -> dict[str, Any]:
    (result,) = command.json("score", *args, "--n-resamples", 200).values()
    return result["measures"]["paraphrastic_consistency"]


@pytest.fixture(scope="module")
def published(data_folder):
    expected = json.loads((data_folder / "paranlu" / "expected_values.json").read_text())
    return data_folder / "paranlu" / "predictions", expected


def files(folder: Path, name: str, model: str, kind: str = "human") -> tuple[Path, Path]:
    return folder / f"{name}__{model}__{kind}.parquet", folder / f"{name}__{model}__test.parquet"


@pytest.mark.real_data
@pytest.mark.parametrize(("model", "name"), TABLE_4)
@pytest.mark.parametrize("confidence", [["--probabilities", "p0,p1"], ["--confidence", "conf_gold"]])
def test_table_4(command, published, model, name, confidence):
    folder, expected = published
    row = next(r for r in expected["table4"] if (r["model"], r["dataset"]) == (model, name))
    human, test = files(folder, name, model)
    given = (human, *COLUMNS, *confidence, "--test-predictions", test)
    values = scored(command, *given)
    check(values, row["computed"])
    for short, printed in row["paper_percent"].items():
        assert 100 * values[KEYS[short]] == pytest.approx(printed, abs=PRINTED_DIGIT), short
    renormalized = scored(command, *given, "--renormalize")
    check(renormalized, {"A_c": row["computed"]["A_c_rn"], "P_Cc": row["computed"]["P_Cc_rn"]})


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "artifact"), TABLE_7)
def test_table_7(command, published, tmp_path, name, artifact):
    folder, expected = published
    row = next(r for r in expected["table7"] if (r["dataset"], r["artifact"]) == (name, artifact))
    partial = pq.read_table(files(folder, name, "roberta-large-partial")[0])
    right = pc.equal(pc.equal(partial["pred"], partial["gold"]), artifact == "likely")
    chosen = partial.filter(pc.and_(partial["is_original"], right))["bucket_id"]
    assert len(chosen) == row["n"]
    for model, wanted in (("roberta-large-partial", row["partial"]), ("roberta-large", row["full"])):
        human, test = files(folder, name, model)
        table = pq.read_table(human)
        part = tmp_path / f"{model}.csv"
        pa.csv.write_csv(table.filter(pc.is_in(table["bucket_id"], chosen.combine_chunks())), part)
        check(scored(command, part, *COLUMNS, "--confidence", "conf_gold", "--test-predictions", test), wanted)


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "kind"), FIGURE_4)
def test_figure_4(command, published, name, kind):
    folder, expected = published
    row = next(r for r in expected["fig4"] if (r["dataset"], r["set"]) == (name, kind))
    rows, test = files(folder, name, row["model"], kind)
    check(scored(command, rows, *COLUMNS, "--confidence", "conf_gold", "--test-predictions", test), row)


ROWS = [
    {
        "bucket_id": f"b{i // 4}",
        "role": "original" if i % 4 == 0 else "paraphrase",
        "label": i // 4 % 2,
        "prediction": int(i % 3 == 0),
    }
    for i in range(24)
]


def naive(rows: list[dict[str, Any]]) -> float:
    buckets: dict[str, list[bool]] = {}
    for row in rows:
        if row["role"] == "paraphrase":
            buckets.setdefault(row["bucket_id"], []).append(row["prediction"] == row["label"])
    shares = [sum(right) / len(right) for right in buckets.values()]
    return sum(s**2 + (1 - s) ** 2 for s in shares) / len(shares)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_every_format_gives_the_naive_number(command, tmp_path, ending):
    values = scored(command, write(tmp_path / f"p.{ending}", ROWS))
    assert values["paraphrastic_consistency"] == pytest.approx(naive(ROWS), abs=1e-12)


def test_label_names_work_as_well_as_numbers(command, tmp_path):
    named = [row | {k: ["no", "yes"][row[k]] for k in ("label", "prediction")} for row in ROWS]
    numbers, names = (scored(command, write(tmp_path / f"{n}.csv", r)) for n, r in (("a", ROWS), ("b", named)))
    assert {k: v for k, v in names.items() if k != "warnings"} == {k: v for k, v in numbers.items() if k != "warnings"}


def test_unparsed_answers_count_as_wrong_and_are_counted(command, tmp_path):
    rows = [row | {"prediction": None} if i in (1, 6) else row for i, row in enumerate(ROWS)]
    wrong = [row | {"prediction": 1 - row["label"]} if i in (1, 6) else row for i, row in enumerate(ROWS)]
    path = write(tmp_path / "p.parquet", rows)
    (result,) = command.json("score", path).values()
    assert result["n_unparsed"] == 2
    assert any(one.startswith("2 of 24 predictions are unparsed and count as wrong") for one in result["warnings"])
    values = result["measures"]["paraphrastic_consistency"]
    assert values["paraphrastic_consistency"] == pytest.approx(naive(wrong), abs=1e-12)
    assert "unparsed:wrong" in values["signature"]
    _, out, _ = command("score", path)
    assert "unparsed answers" in out


def test_strata_are_those_rows_and_the_originals_of_their_buckets(command, tmp_path):
    rows = [row | {"who": ["ann", "ben"][i % 2]} for i, row in enumerate(ROWS)]
    (result,) = command.json("score", write(tmp_path / "p.jsonl", rows), "--stratum", "who").values()
    assert set(result["strata"]) == {"label", "who"}
    for who, measures in result["strata"]["who"].items():
        part = [row for row in rows if row["who"] == who or row["role"] == "original"]
        values = measures["paraphrastic_consistency"]
        if who == "ann":  # of whom there is one paraphrase in each bucket
            assert values["paraphrastic_consistency"] is None
            assert values["warnings"][0].startswith("no problem has two rows to compare")
            continue
        assert values["paraphrastic_consistency"] == pytest.approx(naive(part), abs=1e-12)
        assert values["original_accuracy"] == pytest.approx(
            sum(r["prediction"] == r["label"] for r in rows[::4]) / len(rows[::4])
        )


def test_the_table_a_person_reads(command, tmp_path):
    code, out, err = command("score", write(tmp_path / "mine.csv", ROWS))
    assert code == 0
    assert all(line.startswith("warning: ") for line in err.splitlines())
    assert "warning" not in out
    assert "mine: 6 buckets, 18 paraphrases" in out
    assert "P_C as published" in out
    assert f"{100 * naive(ROWS):.1f} %" in out
    assert "P_C, paraphrastic consistency" in out


def drop(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != key} for row in rows]


BAD = {
    "missing column": (
        drop(ROWS, "bucket_id"),
        "score: `--bucket` must name a column of the predictions; got 'bucket_id'",
    ),
    "missing bucket": ([*ROWS[:5], ROWS[5] | {"bucket_id": None}], "`--bucket` must not be empty; got None at row 6"),
    "missing label": ([ROWS[0] | {"label": None}, *ROWS[1:]], "`--label` must not be empty; got None at row 1"),
    "label is no whole number": ([*ROWS[:3], ROWS[3] | {"label": 0.5}], "`--label` must hold whole numbers or text"),
    "two kinds": ([r | {"label": str(r["label"])} for r in ROWS], "`--prediction` must be of the labels' kind"),
    "mixed gold": (
        [*ROWS[:6], ROWS[6] | {"label": 0}, *ROWS[7:]],
        "must give every row of a bucket the same gold label",
    ),
    "two originals": (
        [*ROWS[:5], ROWS[5] | {"role": "original"}, *ROWS[6:]],
        "most one original per bucket; got 2. They are in bucket 'b1'.",
    ),
    "unknown role": ([*ROWS[:5], ROWS[5] | {"role": "twin"}], "`--role` must be one of original, paraphrase, swap"),
    "only originals": (ROWS[::4], "score"),
    "sum": (
        [r | {"probabilities": [0.5, 0.4] if i == 7 else [0.5, 0.5]} for i, r in enumerate(ROWS)],
        "`--probabilities` must be non-negative and sum to one; got [0.5, 0.4] at row 8",
    ),
    "ragged": (
        [r | {"probabilities": [1.0] if i == 7 else [0.5, 0.5]} for i, r in enumerate(ROWS)],
        "`--probabilities` must hold equally long lists; got [1.0] at row 8",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_rows_get_one_sentence(command, tmp_path, case):
    rows, sentence = BAD[case]
    code, out, err = command("score", write(tmp_path / "p.parquet", rows))
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.strip().splitlines()) == 1
    if case != "only originals":
        assert sentence in err


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_file_cut_short_or_empty(command, tmp_path, ending):
    path = write(tmp_path / f"p.{ending}", ROWS)
    whole = path.read_bytes()
    for size in (0, len(whole) - 9):
        path.write_bytes(whole[:size])
        code, out, err = command("score", path)
        assert code == 2, (ending, size, out)
        assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["nothing.csv"], "must name a file that exists"),
        (["rows.txt"], "must end in one of"),
        (["."], "must be a predictions file or a run folder with predictions"),
    ],
)
def test_files_that_cannot_be_scored(command, tmp_path, monkeypatch, args, sentence):
    monkeypatch.chdir(tmp_path)
    Path("rows.txt").write_text("x")
    assert sentence in command.refused("score", *args)


@pytest.mark.parametrize(("column", "value"), [("label", 2), ("prediction", 7)])
def test_labels_outside_the_files_own_names(command, tmp_path, column, value):
    rows = [row | {column: value} if i == 9 else row for i, row in enumerate(ROWS)]
    write_predictions(tmp_path / "p.parquet", pa.Table.from_pylist(rows), {"label_names": ["no", "yes"]})
    assert f"`--{column}` must be one of the file's labels (0 no, 1 yes); got {value} at row 10" in command.refused(
        "score", tmp_path / "p.parquet"
    )


def test_true_and_false_are_labels(command, tmp_path):
    named = [row | {key: bool(row[key]) for key in ("label", "prediction")} for row in ROWS]
    for ending in ("csv", "parquet", "jsonl"):
        values = scored(command, write(tmp_path / f"b.{ending}", named))
        assert values["paraphrastic_consistency"] == pytest.approx(naive(ROWS), abs=1e-12)


def test_an_empty_text_is_no_answer(command, tmp_path):
    named = [row | {key: ["no", "yes"][row[key]] for key in ("label", "prediction")} for row in ROWS]
    path = write(tmp_path / "p.csv", [row | {"prediction": ""} if i == 5 else row for i, row in enumerate(named)])
    _, out, _ = command("score", path, "--json")
    assert next(iter(json.loads(out).values()))["n_unparsed"] == 1
    for column, option in (("bucket_id", "--bucket"), ("label", "--label")):
        path = write(tmp_path / "p.csv", [row | {column: ""} if i == 5 else row for i, row in enumerate(named)])
        assert f"`{option}` must not be empty; got '' at row 6" in command.refused("score", path)


@pytest.mark.parametrize("value", [0.5, {"no": 0.5, "yes": 0.5}, [0.5, None]], ids=["number", "mapping", "null"])
def test_probabilities_that_are_no_lists(command, tmp_path, value):
    path = write(tmp_path / "p.parquet", [row | {"probabilities": value} for row in ROWS])
    assert len(command.refused("score", path).strip().splitlines()) == 1


def test_one_bucket_and_buckets_of_one_are_flagged(command, tmp_path):
    one = scored(command, write(tmp_path / "one.csv", ROWS[:4]))
    assert one["confidence_interval"]["paraphrastic_consistency"] == [None, None]
    singles = [row | {"bucket_id": f"s{i}", "role": "paraphrase"} for i, row in enumerate(ROWS)]
    values = scored(command, write(tmp_path / "singles.csv", singles))
    assert values["paraphrastic_consistency"] is None
    assert values["paraphrastic_consistency_unbiased"] is None
    assert values["warnings"]


class TestCommandLine:
    def test_options_from_a_file_and_over_it(self, command, tmp_path):
        path = write(tmp_path / "p.csv", [row | {"gold": row["label"]} for row in ROWS])
        config = tmp_path / "c.yaml"
        config.write_text("label: gold\nconfidence-level: 0.5\nn_resamples: 100\ninterval_method: bootstrap\n")
        _, out, _ = command("score", path, "--config", config, "--json")
        values = next(iter(json.loads(out).values()))["measures"]["paraphrastic_consistency"]
        assert "ci:bucket-bootstrap100|level:0.5|" in values["signature"]
        _, out, _ = command("score", path, f"--config={config}", "--json", "--confidence_level", 0.9)
        values = next(iter(json.loads(out).values()))["measures"]["paraphrastic_consistency"]
        assert "ci:bucket-bootstrap100|level:0.9|" in values["signature"]

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("speed: fast\n", "must name options of the command; got ['speed']"),
            ("- a\n", "must be a YAML mapping"),
            ("a: [\n", "must be valid YAML"),
        ],
    )
    def test_a_bad_config(self, command, tmp_path, text, sentence):
        config = tmp_path / "c.yaml"
        config.write_text(text)
        assert sentence in command.refused("score", "p.csv", "--config", config)

    def test_wrong_usage(self, command):
        err = command.refused("score", "--no-such-option")
        assert "--no-such-option" in err
        assert "Traceback" not in err

    def test_version_and_help(self, command):
        code, out, _ = command("--version")
        assert (code, out.split()[0]) == (0, "paraconsist")
        out = command.out("--help")
        assert all(name in out for name in ("demo", "build", "train", "run", "score", "list"))


def test_missing_columns_are_named_at_once(command, tmp_path):
    path = write(tmp_path / "mine.csv", [{"qid": 1, "completion": "a", "gold": "a"}])
    err = command.refused("score", path)
    assert "`--bucket` must name a column of the predictions, as must `--prediction` and `--label`" in err
    assert "got ['bucket_id', 'prediction', 'label']. Its columns are qid, completion, gold." in err
    assert err.rstrip().endswith("Perhaps `--bucket` 'qid', `--prediction` 'completion', `--label` 'gold'?")
    err = command.refused("score", path, "--bucket", "qid", "--label", "gold")
    assert "`--prediction` must name a column of the predictions; got 'prediction'" in err
    assert "Perhaps" not in command.refused(
        "score", path, "--bucket", "qid", "--prediction", "completion", "--stratum", "xyz"
    )
    assert "Perhaps `--bucket` 'qid', `--prediction` 'completion'?" in command.refused(
        "score", path, "--bucket", "Qids", "--label", "gold"
    )


def test_a_likely_column_of_gold_labels_is_named(command, tmp_path):
    rows = [{"bucket_id": i // 2, "prediction": "ab"[i % 2], "gold": "a"} for i in range(6)]
    assert "(name it as `--label`: 'gold'?)" in command("score", write(tmp_path / "mine.csv", rows))[2]


def test_rows_count_from_one_where_they_were_typed_and_from_zero_in_python(command, tmp_path):
    rows = [{"bucket_id": 1, "prediction": "a", "label": label} for label in ("a", "b", "")]
    path = write(tmp_path / "mine.csv", rows)
    assert "`--label` must not be empty; got '' at row 3. " in command("score", path)[2]
    refuses("`label` must not be empty; got '' at row 2", paraconsist.score, path)


def test_a_set_without_a_task_is_named_as_it_was_typed(command, tmp_path):
    path = write(tmp_path / "mine.csv", [{"bucket_id": 1, "label": "a"}])
    code, _, err = command("run", "--model", tmp_path, "--dataset", path, "--output", tmp_path / "out")
    assert (code, "error: run: `--dataset` must hold all input columns of one task" in err) == (2, True), err
    assert "Name the task as `--task`" in err
    code, _, err = command("run", "--model", tmp_path, "--dataset", path, "--task", "nli", "--output", tmp_path / "out")
    assert "`premise` must be a column of mine, as must `hypothesis`" in err
