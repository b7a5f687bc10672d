"""Where the page's texts come from: several files, prepared sets, logs of other tools; what has none is counted."""

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.logs import inspect_log, lines, samples
from helpers.report import rows, write_run

from paraconsist.cli.app import main
from paraconsist.data import bucket_sets
from paraconsist.reporting.page import aligned as page_texts
from paraconsist.reporting.page import write


@pytest.fixture
def report(tmp_path, monkeypatch, capsys):
    """Run `paraconsist report` without plots and return the browser's data, the page, and what was said."""
    monkeypatch.setattr(write, "report_plots", lambda *_: [])

    def run(*arguments):
        page = tmp_path / "page.html"
        try:
            code = main(["report", *map(str, arguments), "--output", str(page), "--n-resamples", "50"])
        except SystemExit as end:
            code = end.code
        said = capsys.readouterr()
        assert not code, said.err
        text = page.read_text(encoding="utf-8")
        return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1]), text, said.err

    return run


def texts_of(data):
    """Return each row's texts by field, with those that a bucket shares."""
    fields = data["head"]["sets"][0]["fields"]
    texts = {}
    for bucket in data["buckets"]:
        shared = {fields[int(field)]: text for field, text in bucket["x"].items()}
        for row in bucket["r"]:
            own = {fields[field]: text for field, text in zip(bucket["f"], row[3] or [], strict=False)}
            texts[row[1]] = shared | own if row[3] is not None else None
    return texts


@pytest.mark.parametrize(
    ("log", "arguments", "wanted"),
    [
        (
            samples("yes_no_generated"),
            ["--filter", "first_word"],
            lambda row: {"prompt": row["arguments"]["gen_args_0"]["arg_0"]},
        ),
        (
            samples("which_place"),
            ["--bucket", "doc.meta.fact"],
            lambda row: {
                "prompt": row["arguments"]["gen_args_0"]["arg_0"],
                "choices": " | ".join(row["doc"]["choices"]),
            },
        ),
        (
            samples("yes_no"),
            ["--text-column", "doc.question", "--metric", "acc"],
            lambda row: {"doc.question": row["doc"]["question"]},
        ),
    ],
)
def test_lm_eval_logs_show_what_the_model_read(report, log, arguments, wanted):
    given = arguments if "--bucket" in arguments else [*arguments, "--bucket", "doc.question_id"]
    data, _, said = report(log, *given)
    assert texts_of(data) == {str(row["doc_id"]): wanted(row) for row in lines(log)}
    assert "text" not in said


@pytest.mark.parametrize(
    ("task", "key", "more"), [("which-place", "fact", []), ("twice", "question_id", ["--epoch", "2"])]
)
def test_inspect_logs_show_what_the_model_read(report, task, key, more):
    from helpers.logs import entries

    stored = [one for name, one in entries(inspect_log(task)).items() if name.startswith("samples/")]
    data, _, _ = report(inspect_log(task), "--bucket", key, *more)
    by_id = {str(one["id"]): one for one in stored}
    for example, texts in texts_of(data).items():
        sample = by_id[example]
        assert texts["input"] == sample["input"]
        assert texts.get("choices", "") == " | ".join(sample.get("choices") or [])


def test_folders_of_logs_and_prompts_of_messages(report, tmp_path):
    from paraconsist.data.logs.inspect_ai import _message_texts

    assert _message_texts([{"role": "user", "content": "Is it?"}]) == "Is it?"
    several = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"text": "Is"}, {"text": "it?"}]},
    ]
    assert _message_texts(several) == "system: Be brief.\nuser: Is\nit?"


def test_every_file_gives_what_it_has_and_missing_rows_are_counted(report, tmp_path):
    """FAULTS P5: the first file with any match won, and the rows that it lacked lost their text."""
    run = write_run(tmp_path / "run", texts=False)
    ids = [row["example_id"] for row in rows()]
    for number, part in enumerate((ids[:6], ids[4:15])):
        table = pa.table({"example_id": part, "wording": [f"words {number} of {one}" for one in part]})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    data, page, said = report(run, "--texts", tmp_path / "0.parquet", "--texts", tmp_path / "1.parquet")
    expected = {one: {"wording": f"words {int(i >= 6)} of {one}"} for i, one in enumerate(ids[:15])}
    assert texts_of(data) == expected | dict.fromkeys(ids[15:])
    n_missing = len(ids) - 15
    assert f"{n_missing} of {len(ids)} rows of toy:set have no text" in said
    assert f"{n_missing} of {len(ids)} rows of <bdi>toy:set</bdi> have no text" in page


def test_texts_that_a_run_kept_fill_what_a_file_lacks(report, tmp_path):
    run = write_run(tmp_path / "run")
    first = rows()[0]
    pq.write_table(pa.table({"input_id": [first["input_id"]], "update": ["Mine."]}), tmp_path / "mine.parquet")
    data, _, said = report(run, "--texts", tmp_path / "mine.parquet")
    texts = texts_of(data)
    assert texts[first["example_id"]]["update"] == "Mine."
    assert texts[rows()[1]["example_id"]]["update"].strip() == rows()[1]["update"].strip()
    assert "no text" not in said
    data, _, _ = report(
        run, "--texts", tmp_path / "mine.parquet", "--text-column", "update", "--text-column", "premise"
    )
    assert texts_of(data)[first["example_id"]] == {"update": "Mine.", "premise": first["premise"]}


def test_all_sets_of_a_builder_and_only_those_that_are_needed_are_read(report, tmp_path, monkeypatch):
    run = write_run(tmp_path / "run", name="becel:snli_semantic", texts=False)
    read = []

    def load(spec):
        read.append(spec)
        return bucket_sets.bucket_set_from_table(pa.Table.from_pylist(rows()).drop_columns(["prediction"]), name=spec)

    monkeypatch.setattr(bucket_sets, "load_bucket_set", load)
    data, _, said = report(run, "--texts", "becel:all")
    assert read == ["becel:snli_semantic"]
    assert all(texts["update"] for texts in texts_of(data).values())
    assert "text" not in said
    assert len(page_texts.read_texts_files(["becel:all"])) == 19


def test_texts_without_blanks_are_texts(report, tmp_path):
    made = [
        row | {"premise": "x", "wording": "他昨天没有去学校吗？", "code": "abcdefghij"}
        for row in rows({"a": "110", "b": "01"})
    ]
    table = pa.Table.from_pylist(made).drop_columns(["premise", "hypothesis", "update"])
    pq.write_table(table, tmp_path / "model.parquet")
    data, _, _ = report(tmp_path / "model.parquet")
    assert data["head"]["sets"][0]["fields"] == ["wording"]


def test_the_only_text_of_a_problem_stands_in_its_row(report, tmp_path):
    """It is not what all rows share."""
    run = write_run(tmp_path / "run", texts=False, answers={"half": "110"})
    texts = pa.table({"example_id": ["half.1"], "question": ["Is the dog asleep?"]})
    pq.write_table(texts, tmp_path / "texts.parquet")
    (bucket,) = report(run, "--texts", tmp_path / "texts.parquet")[0]["buckets"]
    assert (bucket["x"], bucket["f"]) == ({}, [0])
    assert [row[3] for row in bucket["r"]] == [None, ["Is the dog asleep?"], None]


@pytest.mark.parametrize(("n_sentences", "fields"), [(4, ["said"]), (5, ["said", "note"])])
def test_a_column_is_text_if_more_than_half_of_it_are_sentences(report, tmp_path, n_sentences, fields):
    said = [{"bucket_id": i // 2, "prediction": "yes", "said": f"Is it {i} days?"} for i in range(8)]
    rows = [row | {"note": "a note" if i < n_sentences else "note"} for i, row in enumerate(said)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "mine.parquet")
    data, _, _ = report(tmp_path / "mine.parquet")
    assert data["head"]["sets"][0]["fields"] == fields
