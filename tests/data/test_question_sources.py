"""The same six questions in every form of input: the same rows, by the one function that reads them."""

import csv
import json
import sys
from datetime import datetime

import datasets
import numpy as np
import pandas as pd
import polars
import pytest
from helpers.errors import refuses

import paraconsist as pc
from paraconsist.data.foreign import listed
from paraconsist.errors import InputError

#: Older releases of datasets leave the files that pandas reads to the garbage collector.
pytestmark = [pytest.mark.filterwarnings(f"ignore:{what}") for what in ("unclosed file", "Exception ignored in")]

SYSTEM = "You work in a shoe shop."
DAYS = ["How many days do I have?", "Within how many days can shoes be sent back?", "What is the deadline, in days?"]
FEE = ["What does shipping cost?", "How much is the fee, in euro?", "Shipping price?"]
ROWS = [{"bucket_id": "days", "question": q, "expected": ["30"], "system": SYSTEM} for q in DAYS] + [
    {"bucket_id": "fee", "question": q, "expected": ["5", "4.99"], "system": SYSTEM} for q in FEE
]
ASKED = [(row["bucket_id"], row["question"], row["system"], row["expected"]) for row in ROWS]


def as_csv(path, rows=ROWS, **names):
    """Write rows as CSV, with other names for some columns."""
    lines = [{names.get(k, k): json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows]
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    return path


def as_lines(path, rows=ROWS):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def as_yaml(path, start="", key="questions"):
    listed = [{"id": "days", "wordings": DAYS, "expected": 30}, {"id": "fee", "wordings": FEE, "expected": [5, "4.99"]}]
    path.write_text(f"{start}system: {SYSTEM}\n{key}: {json.dumps(listed)}\n")
    return path


def as_promptfoo(path):
    tests = [
        {
            "vars": {"question": row["question"], "bucket_id": row["bucket_id"], "system": SYSTEM},
            "assert": [{"type": "equals", "value": answer} for answer in row["expected"]],
        }
        for row in ROWS
    ]
    path.write_text(f"prompts: ['{{{{question}}}}']\ntests: {json.dumps(tests)}\n")
    return path


def as_excel(path):
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.append([*ROWS[0]])
    for row in ROWS:
        book.active.append([json.dumps(value) if isinstance(value, list) else value for value in row.values()])
    book.create_sheet("notes")
    book.save(path)
    return path


def as_folder(folder):
    """A file of each of three kinds; a bucket may lie in two files."""
    folder.mkdir()
    as_csv(folder / "a.CSV", ROWS[:2])
    as_lines(folder / "b.jsonl", ROWS[2:5])
    pd.DataFrame(ROWS[5:]).to_parquet(folder / "c.parquet")
    return folder


def as_parquet(path):
    pd.DataFrame(ROWS).to_parquet(path)
    return path


def saved_set(folder):
    """A folder with a split, as the Hub has it, which the `datasets` library reads."""
    (folder / "data").mkdir(parents=True)
    as_parquet(folder / "data" / "test.parquet")
    return folder


def saved_to_disk(folder, splits=False):
    """A folder as `save_to_disk` writes it, of one data set or of its splits."""
    rows = datasets.Dataset.from_list(ROWS)
    (datasets.DatasetDict(test=rows, train=rows.select([0])) if splits else rows).save_to_disk(folder)
    return folder


FILES = {
    "yaml": lambda f: as_yaml(f / "shop.yaml"),
    "YML": lambda f: as_yaml(f / "SHOP.YML"),
    "promptfoo": lambda f: as_promptfoo(f / "shop.yaml"),
    "csv": lambda f: as_csv(f / "shop.csv"),
    "CSV": lambda f: as_csv(f / "SHOP.CSV"),
    "jsonl": lambda f: as_lines(f / "shop.jsonl"),
    "parquet": lambda f: as_parquet(f / "shop.parquet"),
    "Excel": lambda f: as_excel(f / "shop.xlsx"),
    "folder": lambda f: as_folder(f / "shop"),
    "folder of a split": lambda f: saved_set(f / "shop"),
    "saved to disk": lambda f: saved_to_disk(f / "shop"),
    "splits saved to disk": lambda f: saved_to_disk(f / "shop", splits=True),
}
TABLES = {
    "pandas": lambda: pd.DataFrame(ROWS),
    "polars": lambda: polars.DataFrame(ROWS),
    "Dataset": lambda: datasets.Dataset.from_list(ROWS),
    "DatasetDict": lambda: datasets.DatasetDict(test=datasets.Dataset.from_list(ROWS)),
    "list": lambda: [{**ROWS[0], "expected": 30}, *ROWS[1:]],
}


def asked(rows):
    """Return what is asked, with the accepted answers."""
    table = rows.table.to_pylist()
    assert rows.task.name == "questions"
    return [(row["bucket_id"], row["question"], row["system"], row["label"]) for row in table]


def of_python(source, folder, monkeypatch, **options):
    """Return the set that `pc.run` makes of a source, where it would be asked."""
    seen = []
    monkeypatch.setattr("paraconsist.running.functions.run_function", lambda f, sets, o: seen.extend(sets) or o)
    monkeypatch.setattr("paraconsist.reporting.result.Run", lambda path: path)
    with pytest.raises(AttributeError):  # there is no run to return
        pc.run(lambda prompts: prompts, source, output=folder / "run", version="1", **options)
    return seen[0]


@pytest.mark.parametrize("kind", FILES)
def test_every_file_has_the_same_rows(kind, tmp_path):
    source = FILES[kind](tmp_path)
    assert asked(pc.load_bucket_set(source)) == asked(pc.load_bucket_set(str(source))) == ASKED


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_has_the_same_rows(kind, tmp_path, monkeypatch):
    assert asked(of_python(TABLES[kind](), tmp_path, monkeypatch)) == ASKED


WIDE = [
    {
        "id": name,
        **{f"Wording {i}": text for i, text in enumerate([*texts, None], 1)},
        "expected": gold,
        "system": SYSTEM,
    }
    for name, texts, gold in (("days", DAYS, ["30"]), ("fee", FEE, ["5", "4.99"]))
]


@pytest.mark.faults
@pytest.mark.parametrize("kind", ["jsonl", "json", "pandas", "wide"])
def test_columns_may_hold_values_of_several_kinds(kind, tmp_path, monkeypatch):
    """A number here and a list of texts there was refused, which YAML and lists of rows took."""
    rows = [{**row, "expected": 30 if row["bucket_id"] == "days" else [5, "4.99"]} for row in ROWS]
    wide = [{**row, "expected": 30 if row["id"] == "days" else [5, "4.99"]} for row in WIDE]
    (tmp_path / "shop.json").write_text(json.dumps(rows))
    source = {
        "jsonl": lambda: as_lines(tmp_path / "shop.jsonl", rows),
        "json": lambda: tmp_path / "shop.json",
        "pandas": lambda: pd.DataFrame(rows),
        "wide": lambda: pd.DataFrame(wide),
    }[kind]()
    assert asked(of_python(source, tmp_path, monkeypatch)) == ASKED


@pytest.mark.faults
@pytest.mark.parametrize(("ids", "named"), [([0, 1, 2], ["0", "1", "2"]), (["2", None, "b"], ["2", "row-2", "b"])])
def test_questions_in_one_row_keep_the_number_that_is_their_id(ids, named, tmp_path):
    """The question with the number 0 became one with that of number 1."""
    rows = [{"id": name, "wording_1": f"{i}?", "wording_2": f"And {i}?"} for i, name in enumerate(ids)]
    loaded = pc.load_bucket_set(as_csv(tmp_path / "wide.csv", rows)).table.to_pylist()
    assert [row["bucket_id"] for row in loaded] == [name for name in named for _ in range(2)]
    again = as_csv(tmp_path / "again.csv", [{**row, "id": ids[0]} for row in rows])
    refuses(
        f"`id` must be another in each row, .*; got '{ids[0]}'", pc.load_bucket_set, again
    )  # two questions were one


@pytest.mark.faults
def test_wordings_may_stand_in_one_row(tmp_path, monkeypatch):
    """As in spreadsheets: no task fitted the columns, and nothing said how to turn them."""
    lists = [{k: v for k, v in row.items() if k[0] != "W"} | {"wordings": texts}
             for row, texts in zip(WIDE, (DAYS, FEE), strict=True)]  # fmt: skip
    named = [{k.replace("Wording", "Text"): v for k, v in row.items()} for row in WIDE]
    assert asked(of_python(as_csv(tmp_path / "lists.csv", lists), tmp_path, monkeypatch)) == ASKED  # lists in JSON
    for source in (as_csv(tmp_path / "wide.csv", WIDE), as_lines(tmp_path / "lists.jsonl", lists), pd.DataFrame(WIDE)):
        assert asked(of_python(source, tmp_path, monkeypatch)) == ASKED
    column = ["wordings=Text 1+Text 2+Text 3"]
    assert asked(of_python(as_csv(tmp_path / "named.csv", named), tmp_path, monkeypatch, column=column)) == ASKED
    first, *others = DAYS
    one = as_csv(tmp_path / "one.csv", [{"question": first, **{f"paraphrase_{i}": t for i, t in enumerate(others)}}])
    rows = pc.load_bucket_set(one).table.to_pylist()
    assert [(row["bucket_id"], row["role"], row["question"]) for row in rows] == [
        ("1", "original", first), *(("1", "paraphrase", text) for text in others)]  # fmt: skip


def test_a_path_is_a_source(tmp_path, monkeypatch):
    assert asked(of_python(as_csv(tmp_path / "shop.csv"), tmp_path, monkeypatch)) == ASKED


@pytest.mark.parametrize("kind", ["file", "folder", "table", "saved"])
def test_fields_may_have_other_names(kind, tmp_path, monkeypatch):
    column = ["question=prompt text", "expected=gold"]
    file = as_csv(tmp_path / "shop.csv", question="prompt text", expected="gold")
    if kind == "table":
        rows = of_python(pd.read_csv(file), tmp_path, monkeypatch, column=column)
    elif kind == "saved":
        datasets.Dataset.from_csv(str(file)).save_to_disk(tmp_path / "saved")
        rows = pc.load_bucket_set(tmp_path / "saved", column=column)
    elif kind == "folder":
        (tmp_path / "shop" / "data").mkdir(parents=True)
        rows = pc.load_bucket_set(file.rename(tmp_path / "shop" / "data" / "test.csv").parent.parent, column=column)
    else:
        rows = pc.load_bucket_set(file, column=column)
    assert asked(rows) == ASKED


def test_a_split_that_was_not_saved_is_refused(tmp_path):
    with pytest.raises(InputError, match="`split` must be one of test, train; got 'dev'"):
        pc.load_bucket_set(saved_to_disk(tmp_path / "shop", splits=True), split="dev")


@pytest.mark.parametrize("pair", ["question", "question=absent", "=prompt"])
def test_a_pair_that_names_no_column_is_refused(pair, tmp_path):
    refuses("FIELD=COLUMN", pc.load_bucket_set, as_csv(tmp_path / "shop.csv"), column=[pair])


def test_files_of_a_folder_must_agree_on_the_comparer(tmp_path):
    as_yaml(tmp_path / "a.yaml", "same: number\n")
    assert pc.load_bucket_set(tmp_path).comparers == {"same": "number"}
    as_yaml(tmp_path / "b.yaml", "same: text\n")
    refuses("same label names, `same` and `right`", pc.load_bucket_set, tmp_path)


def test_unnamed_questions_of_two_files_are_two_buckets(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text("- {wordings: ['One?', 'One, then?']}\n")
    assert pc.load_bucket_set(tmp_path).table["bucket_id"].unique().to_pylist() == ["a-1", "b-1"]


def test_promptfoo_s_own_settings_are_no_columns(tmp_path):
    file = as_promptfoo(tmp_path / "shop.yaml")
    file.write_text(f"description: a shop\nproviders: [echo]\n{file.read_text()}")
    assert pc.load_bucket_set(file).left_out == ()


def test_excel_without_its_package_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "shop.xlsx").write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    refuses(r"pip install 'paraconsist\[excel\]'", pc.load_bucket_set, tmp_path / "shop.xlsx")


def test_cells_of_excel_are_read_as_those_of_csv(tmp_path):
    """Whole numbers that it stores as 30.0, dates, empty rows and columns."""
    book = pytest.importorskip("openpyxl").Workbook()
    day, noon = datetime(2026, 3, 1), datetime(2026, 3, 1, 12)
    for row in [["q", "answer", "asked", None], ["a", 30.0, day, None], [None] * 4, ["b", 7, noon, None]]:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    from paraconsist.data.tables import read_table

    cells = {"q": ["a", "b"], "answer": [30, 7], "asked": ["2026-03-01", "2026-03-01T12:00:00"]}
    assert read_table(tmp_path / "a.xlsx", function="score").to_pydict() == cells
    (tmp_path / "b.xlsx").write_bytes((tmp_path / "a.xlsx").read_bytes()[:200])
    refuses("readable, whole file", read_table, tmp_path / "b.xlsx", function="score")


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_a_set_of_a_task_that_shares_its_columns_remembers_it(ending, tmp_path, command):
    (tmp_path / "rows.csv").write_text("text,label\nIt is good.,positive\nIt is bad.,negative\nI like it.,positive\n")
    made, changed = tmp_path / f"set.{ending}", tmp_path / f"changed.{ending}"
    options = ["--task", "sentiment", "--property", "additive", "--token-limit", "9"]
    assert command("perturb", tmp_path / "rows.csv", *options, "--output", made)[0] == 0
    assert command("transform", made, "--columns", "text", "--transformation", "suffix", "--output", changed)[0] == 0
    for file in (made, changed):
        rows = pc.load_bucket_set(file)
        assert (rows.task.name, rows.left_out) == ("sentiment", ())


def test_labels_are_needed_to_perturb(tmp_path, command):
    code, _, err = command("perturb", as_csv(tmp_path / "a.csv"), "--property", "negation", "--output", "b.parquet")
    assert (code, "needs rows with labels" in err) == (2, True)


def test_the_texts_of_questions_in_yaml_are_transformed(tmp_path, command):
    file, changed = as_yaml(tmp_path / "shop.yaml"), tmp_path / "changed.jsonl"
    options = ["--columns", "question", "--transformation", "suffix", "--output", changed]
    assert command("transform", file, *options)[0] == 0
    after = asked(pc.load_bucket_set(changed))
    assert [(bucket, gold) for bucket, _, _, gold in after] == [(bucket, gold) for bucket, _, _, gold in ASKED]
    for (_, text, *_), (_, old, *_) in zip(after, ASKED, strict=True):
        assert text.startswith(old.rstrip("?"))
        assert "true is true" in text


def test_requests_of_questions_in_a_column_of_another_name(tmp_path, command):
    file = as_csv(tmp_path / "SHOP.CSV", question="prompt text")
    options = ["--model", "m", "--dataset", file, "--column", "question=prompt text", "--output", tmp_path / "requests"]
    assert command("export-requests", *options)[0] == 0
    (batch,) = (tmp_path / "requests").glob("**/*.jsonl")
    bodies = [json.loads(line)["body"]["messages"] for line in batch.read_text().splitlines()]
    assert [[turn["content"] for turn in body] for body in bodies] == [[SYSTEM, question] for _, question, *_ in ASKED]


def test_a_file_whose_ending_is_in_capitals_is_pushed(tmp_path, command, monkeypatch):
    from paraconsist.reporting.hub import client

    monkeypatch.setattr(client, "look", lambda *_, **__: client.NEW)
    code, out, err = command("push", "dataset", as_csv(tmp_path / "SHOP.CSV"), "--repo", "org/shop", "--dry-run")
    assert (code, "data/test.parquet" in out) == (0, True), err


def of_yaml(path, text):
    path.write_text(text)
    return asked(pc.load_bucket_set(path))


@pytest.mark.faults
def test_null_in_yaml_is_no_text(tmp_path):
    """It was the accepted answer "null", and a system message."""
    text = "system: null\nquestions:\n- {id: a, wordings: [b, 'null'], expected: ~, context: Null}\n"
    assert of_yaml(tmp_path / "a.yaml", text) == [("a", "b", "", None), ("a", "null", "", None)]


@pytest.mark.faults
def test_emoji_that_json_escapes_in_yaml(tmp_path):
    """`json.dumps` writes them as two halves, which ended in a traceback."""
    entries = json.dumps([{"id": "a", "wordings": ["b \U0001f600", "c \ud83d"]}])
    assert [row[1] for row in of_yaml(tmp_path / "a.yaml", entries)] == ["b \U0001f600", "c \ufffd"]


@pytest.mark.faults
@pytest.mark.parametrize(
    "entry",
    [
        "question: One, wordings: One then",
        "wordings: []",
        "messages: [{role: user, content: One}], wordings: [Two, Three]",
        "prompt: One, wordings: [Two, Three]",
    ],
)
def test_no_wording_is_left_out_silently(entry, tmp_path):
    with pytest.raises(InputError, match="a list of wordings"):
        of_yaml(tmp_path / "a.yaml", f"- {{id: a, {entry}}}\n- {{id: b, wordings: [Four, Five]}}\n")


@pytest.mark.faults
@pytest.mark.parametrize(("extra", "problem"), [("title: x", "title"), ("same: text", "'a': '1'")])
def test_what_a_file_of_questions_says_is_used_or_refused(extra, problem, tmp_path):
    """An unknown key of the file was passed over, and {a: 1} was accepted as {"a": "1"}."""
    with pytest.raises(InputError, match=problem):
        of_yaml(tmp_path / "a.yaml", f"{extra}\nquestions:\n- {{id: a, wordings: [b, c], expected: {{a: 1}}}}\n")


@pytest.mark.faults
@pytest.mark.parametrize(
    "table", [pd.DataFrame, polars.DataFrame, lambda columns: pd.DataFrame(columns).to_dict("records")]
)
def test_missing_numbers_are_no_accepted_answer(table, tmp_path, monkeypatch):
    """`nan` was one, and 30 beside a missing number was "30.0"."""
    columns = {"bucket_id": ["a", "b"], "question": ["One?", "Two?"], "expected": [30.0, float("nan")]}
    rows = of_python(table(columns), tmp_path, monkeypatch)
    assert [row[3] for row in asked(rows)] == [["30"], None]


@pytest.mark.faults
def test_questions_have_as_many_choices_as_columns_are_filled(tmp_path):
    file = tmp_path / "exam.jsonl"
    as_lines(file, [{"id": 1, "q": "One?", "A": 4, "B": 5, "C": None}, {"id": 2, "q": "Two?", "A": 4, "B": 5, "C": 6}])
    rows = pc.load_bucket_set(file, column=["bucket_id=id", "question=q", "choices=A+B+C"])
    assert [json.loads(text) for text in rows.table["choices"].to_pylist()] == [["4", "5"], ["4", "5", "6"]]


@pytest.mark.faults
@pytest.mark.parametrize("as_cell", [json.dumps, str, lambda texts: str(np.array(texts))])
def test_lists_in_a_csv_as_json_python_or_numpy_write_them(tmp_path, as_cell):
    """Those of pandas were one wording, and one choice."""
    texts = {"wordings": as_cell(["One?", "It's one?"]), "choices": as_cell(["a b", "c"])}
    pd.DataFrame([{"id": "q", **texts}]).to_csv(tmp_path / "a.csv", index=False)
    rows = pc.load_bucket_set(tmp_path / "a.csv").table
    assert rows["question"].to_pylist() == ["One?", "It's one?"]
    assert rows["choices"].to_pylist() == ['["a b", "c"]'] * 2
    assert listed("['a' 'b']") == ["['a' 'b']"]  # an accepted answer may be code
    assert listed("""['one "a" "b"', 'c']""", python=True) == ['one "a" "b"', "c"]


@pytest.mark.faults
@pytest.mark.parametrize("split", ["test", "train"])
@pytest.mark.parametrize("folder", [".", "data"])
def test_a_split_in_csv_is_read_as_the_file_alone(tmp_path, split, folder):
    """The `datasets` library made one question of 007 and 7, and a missing answer of NA."""
    (place := tmp_path / folder).mkdir(exist_ok=True)
    (place / "train.csv").write_text("bucket_id,question,expected,level\n07,Who?,1e5,1\n7,Where?,NA,\n")
    (place / "test.csv").write_text("bucket_id,question,expected,level\n007,Who?,1e5,1\n7,Where?,NA,\n")
    rows, alone = (
        pc.load_bucket_set(each, split=split, stratum="level") for each in (tmp_path, place / f"{split}.csv")
    )
    for column in ("bucket_id", "question", "label", "level"):
        assert rows.table[column].to_pylist() == alone.table[column].to_pylist()
    assert (rows.name, rows.split, rows.table["label"].to_pylist()) == (tmp_path.stem, split, [["1e5"], ["NA"]])


@pytest.mark.faults
@pytest.mark.parametrize(
    ("checks", "accepted"),
    [
        ([("contains", "Paris")], ["Paris"]),
        ([("equals", "Paris"), ("equals", "Lutetia")], ["Paris", "Lutetia"]),  # which cannot both hold
        ([("contains", "Paris"), ("icontains", "France")], None),  # each was an accepted answer
        ([("is-json", '{"type": "object"}')], None),  # a schema
        ([("is-json", {"type": "object"}), ("equals", "{}")], ["{}"]),  # the file was refused
    ],
)
def test_assertions_of_promptfoo_that_are_accepted_answers(tmp_path, checks, accepted):
    test = {"vars": {"question": "Where?"}, "assert": [{"type": kind, "value": value} for kind, value in checks]}
    (tmp_path / "tests.yaml").write_text(json.dumps({"tests": [test]}))  # JSON is YAML
    assert pc.load_bucket_set(tmp_path / "tests.yaml").table["label"].to_pylist() == [accepted]


@pytest.mark.faults
def test_questions_of_several_files_are_never_one(tmp_path):
    """The first questions of all files of a folder were one, where they had no ids."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"question,wording 1\n{name}?,{name} 1?\n")
    ids = pc.load_bucket_set(tmp_path).table["bucket_id"].to_pylist()
    assert ids == ["a-1", "a-1", "b-1", "b-1"]
    assert pc.load_bucket_set(tmp_path / "a.csv").table["bucket_id"].to_pylist() == ["1", "1"]


@pytest.mark.faults
def test_a_list_of_rows_may_have_other_names(tmp_path, monkeypatch):
    rows = [{"topic": row["bucket_id"], "text": row["question"]} for row in ROWS]
    rows = of_python(rows, tmp_path, monkeypatch, column=["question=text", "bucket_id=topic"])
    assert [row[:2] for row in asked(rows)] == [row[:2] for row in ASKED]


@pytest.mark.faults
def test_a_missing_column_is_told_with_the_columns_that_there_are(tmp_path):
    refuses(r"got \['question'\]", pc.load_bucket_set, as_lines(tmp_path / "a.jsonl", [{"question": "One?"}]))
    refuses("questions: question", pc.load_bucket_set, as_lines(tmp_path / "a.jsonl", [{"Question": "One?"}]))


@pytest.mark.faults
def test_more_choices_than_letters_are_refused(tmp_path):
    """The 27th was listed as "[."."""
    rows = [{"bucket_id": "a", "question": "One?", "choices": [*map(str, range(n))]} for n in (26, 27)]
    refuses("at most 26, a letter each; got 27 at row 1", pc.load_bucket_set, as_lines(tmp_path / "a.jsonl", rows))


@pytest.mark.faults
def test_a_folder_may_hold_rows_with_and_without_roles_and_a_lock(tmp_path):
    """YAML has roles, so that a CSV beside it was refused; Excel's lock is no workbook."""
    as_csv(tmp_path / "a.csv", ROWS[:3])
    (tmp_path / "b.yaml").write_text(f"- {{id: fee, system: {SYSTEM}, expected: ['5', '4.99'], wordings: {FEE}}}\n")
    (tmp_path / "~$c.xlsx").write_bytes(b"lock")
    (tmp_path / "._a.csv").write_bytes(b"\0")
    assert asked(pc.load_bucket_set(tmp_path)) == ASKED


@pytest.mark.faults
def test_files_beside_splits_are_named(tmp_path):
    as_csv(tmp_path / "test_shoes.csv", ROWS[:3])
    as_csv(tmp_path / "fees.csv", ROWS[3:])
    with pytest.warns(UserWarning, match="fees.csv may be left out"):
        assert asked(pc.load_bucket_set(tmp_path)) == ASKED[:3]
