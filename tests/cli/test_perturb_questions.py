"""``paraconsist perturb`` of questions: kinds that need no labels, from a file to a run and its breakdown."""

import csv
import json
from random import Random

import pytest
import yaml
from helpers.commands import command, done, refused
from helpers.faulty_server import FaultyServer
from helpers.paraphrase import fill

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.transforms.paraphrase.kept import parts
from paraconsist.transforms.paraphrase.sets import SURFACE

QUESTIONS = {
    "days": "How many days does Anna have to return a pair of shoes? It is not a gift.",
    "code": "What does `F(2)` return for {NAME} in 2,5 kg?",
    "fee": "What does shipping to Vienna cost?",
}


@pytest.fixture
def file(tmp_path):
    entries = [{"id": name, "question": text, "expected": "30"} for name, text in QUESTIONS.items()]
    entries[0]["wordings"] = ["Within how many days can Anna send shoes back?"]
    (tmp_path / "q.yaml").write_text(yaml.safe_dump({"same": "number", "questions": entries}))
    return tmp_path / "q.yaml"


def wordings(path):
    """Question -> kind -> text."""
    found = {}
    for row in load_bucket_set(path).table.to_pylist():
        found.setdefault(row["bucket_id"], {})[row["generator"]] = row["question"]
    return found


def test_kinds_make_wordings_that_run_and_are_told_apart(file, tmp_path):
    given = ["perturb", file, "--output", tmp_path / "s.parquet"]
    given += ["--property", "lower_case,punctuation,typos"]
    shown = done(*given)
    found = wordings(tmp_path / "s.parquet")
    assert {name: kinds["original"] for name, kinds in found.items()} == QUESTIONS
    assert found["days"]["given"] == "Within how many days can Anna send shoes back?"
    assert found["days"]["lower_case"] == QUESTIONS["days"].lower()
    assert found["fee"]["punctuation"] == "What does shipping to Vienna cost"
    assert "lower_case" not in found["code"]  # the code would be another
    assert parts(found["code"]["typos"]) == parts(QUESTIONS["code"])
    for name, kinds in found.items():
        changed = [(a, b) for a, b in zip(QUESTIONS[name].split(), kinds["typos"].split(), strict=True) if a != b]
        assert 1 <= len(changed) <= 1 + len(QUESTIONS[name].split()) // 8
        assert all(sorted(a) == sorted(b) and (a[0], a[-1]) == (b[0], b[-1]) for a, b in changed)
    assert "8 wordings of 3 questions (lower_case 2, punctuation 3, typos 3)" in shown
    assert load_bucket_set(tmp_path / "s.parquet").comparers == {"same": "number"}
    before = (tmp_path / "s.parquet").read_bytes()
    done(*given, "--overwrite")
    assert (tmp_path / "s.parquet").read_bytes() == before
    with FaultyServer(write=lambda text, body: "30" if text.endswith("?") else "31") as server:
        asked = ["--endpoint", server.url, "--model", "toy", "--dataset", tmp_path / "s.parquet"]
        done("run", *asked, "--output", tmp_path / "run")
    (values,) = command.json("score", tmp_path / "run", "--stratum", "generator").values()
    assert "punctuation" in json.dumps(values)


def test_the_sheet_is_read_back(file, tmp_path):
    shown = done("perturb", file, "--property", "lower_case", "--output", tmp_path / "s.yaml")
    sheet = tmp_path / "s.check.csv"
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [line["checks"] for line in lines] == ["passed; lower_case"] * 2
    fill(sheet, valid=["yes", "no"])
    (line,) = (line for line in shown.splitlines() if "--checked" in line)
    assert "1 of 2 judged paraphrases are valid" in done(line.split()[1:])
    assert "jaccard: 62.5" in done("paraphrase", tmp_path / "s-checked.yaml", "--measure")


def test_by_default_all_kinds_that_apply(file, tmp_path):
    shown = done("perturb", file, "--output", tmp_path / "s.parquet")
    found = wordings(tmp_path / "s.parquet")
    assert set(found["days"]) == {"original", "given", "typos", "lower_case", "punctuation"}
    assert set(found["code"]) == {"original", "typos", "punctuation"}
    assert "of 3 questions" in shown
    done("perturb", file, "--limit", 1, "--seed", 2, "--output", tmp_path / "one.yaml")
    assert len(set(load_bucket_set(tmp_path / "one.yaml").table["bucket_id"].to_pylist())) == 1


@pytest.mark.parametrize(("text", "bare"), [
    ("What is 5!?", "What is 5!"), ("What is (n+1)! ?", "What is (n+1)!"), ("Is n! even?", "Is n! even"),
    ("Is it n!?", "Is it n!"), ("So what is it!?", "So what is it"), ("What is it?!", "What is it")
])  # fmt: skip
def test_a_factorial_is_no_punctuation(text, bare):
    assert SURFACE["punctuation"](text, Random(0)) == bare


def test_a_wording_that_a_question_asked_twice_has_is_not_made_again(tmp_path):
    texts = {"a": ["What is it?"], "b": ["What is it?", "what is it?"]}
    entries = [{"id": name, "question": text, "wordings": more} for name, (text, *more) in texts.items()]
    (tmp_path / "q.yaml").write_text(yaml.safe_dump(entries))
    done("perturb", tmp_path / "q.yaml", "--output", tmp_path / "s.parquet")
    rows = load_bucket_set(tmp_path / "s.parquet").table.to_pylist()
    assert [row["question"] for row in rows if row["bucket_id"] == "b"].count("what is it?") == 1


def test_a_folder_of_questions(file, tmp_path):
    (tmp_path / "set").mkdir()
    file.rename(tmp_path / "set" / "q.yaml")
    done("perturb", tmp_path / "set", "--property", "punctuation", "--output", tmp_path / "s.parquet")
    assert wordings(tmp_path / "s.parquet")["fee"]["punctuation"] == "What does shipping to Vienna cost"


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ("symmetric", "It needs rows with labels, of a task of the papers."),
        ("additive,typos", "It needs rows with labels, of a task of the papers."),
        ("option_order", "`paraconsist reword` has the kind option_order."),
        ("typo", "Did you mean typos?"),
    ],
)
def test_a_kind_that_questions_cannot_have_is_refused_in_one_sentence(kinds, said, file, tmp_path):
    err = refused("perturb", file, "--property", kinds, "--output", tmp_path / "s.parquet", n_lines=1)
    assert "--property" in err
    assert said in err
    assert not (tmp_path / "s.parquet").exists()


def test_a_kind_that_changes_nothing_is_refused(tmp_path):
    (tmp_path / "q.yaml").write_text(yaml.safe_dump([{"id": "a", "question": "how so"}]))
    err = refused("perturb", tmp_path / "q.yaml", "--property", "lower_case", "--output", tmp_path / "s.parquet")
    assert "it made none" in err
