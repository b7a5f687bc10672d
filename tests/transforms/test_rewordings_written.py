"""Wordings of benchmarks that a model writes: only the question changes, and what a check keeps; in all three forms."""

import json
import sys

import pytest
from helpers.errors import refuses

from paraconsist.transforms.paraphrase.generators import GeneratorSettings
from paraconsist.transforms.perturbation import RowOptions
from paraconsist.transforms.reworded_questions import reword_table
from paraconsist.transforms.reworded_tasks import RewordOptions, Writer, wordings
from paraconsist.transforms.rewording import Prompt

WRITTEN = """
NEW = ["What number of", "Which count of", "Which total of"]


def fail(texts):
    return [[f"{text.replace('12', 'thirteen')} {i}" for i in range(3)] for text in texts]


def write(texts):
    return [[*fail([text])[0][:1], *(text.replace("How many", new) for new in NEW)] for text in texts]
"""
SETTINGS = GeneratorSettings(n=4, keep=3, whole=True)


def rooms(texts):
    return [[t.replace("How many", "What number of"), t.replace("12", "13"), f"{t} In the hall?"] for t in texts]


def prompt(i):
    listed = "\n".join(
        f"{label}. {option}" for label, option in zip("ABC", ["a door", "the hall", "none"], strict=True)
    )
    asked = f"A house has 12 rooms and {i} doors. How many rooms are left?"
    return Prompt(f"Question: {asked}\n{listed}\nAnswer:", (*"ABC",), 1, (asked,), {"Question": 1, "Answer": 1})


def test_only_the_question_changes_and_numbers_and_options_stay():
    told = []
    writer = Writer(rooms, SETTINGS, say=told.append)
    options = RewordOptions(kinds="generated,instruction", generator="mine")
    rows = [*wordings(writer([prompt(i) for i in range(5)]), options, (), 0)]
    written = [row for row in rows if row["kind"] == "generated"]
    assert len(written) == 5
    for row in written:
        assert row["text"] == prompt(row["question"]).text.replace("How many", "What number of")
        assert not {"options", "answer", "shots"} & row.keys()
    (refined,) = told
    assert refined.reasons["lost or changed"] == 5  # 13 for 12


def test_a_candidate_that_names_an_option_is_left_out():
    """Its text passes alone; in the prompt it would point at an answer."""
    (named,) = Writer(lambda texts: [[t.replace("A house", "The hall") for t in texts]], SETTINGS)([
        Prompt("A house has rooms. How many rooms are left?\nA. the hall\nB. The hall", ("the hall", "The hall"), 0,
               ("A house has rooms. How many rooms are left?",))])  # fmt: skip
    assert named.written == ()


def test_a_candidate_that_gives_the_answer_away_at_its_beginning_is_left_out():
    """There it has a capital, by which it passed."""
    asked = "Which colour has the sky on a clear day?"
    alone = Prompt(asked, (), "blue", (asked,))
    listed = Prompt(asked, ("deep blue", "red"), ["deep blue"], (asked,), is_unlisted=True)
    candidates = [f"{answer} or which colour has the sky on a clear day?" for answer in ("Blue", "Deep blue", "Grey")]
    for prompt in (alone, listed):
        (named,) = Writer(lambda _: [candidates], SETTINGS)([prompt])
        assert named.written == tuple(candidates[2:] if prompt is alone else candidates[::2])


@pytest.mark.parametrize(
    "text", ["Go to the hall.", "The hall has", "Question: How many rooms are left?", "1. Why?\n2. What now?"]
)
def test_what_asks_nothing_is_not_given_to_the_model(text):
    def never(texts):
        assert not texts
        return []

    assert Writer(never, SETTINGS)([Prompt(text, (), None, (text,))])[0].written == ()


def test_the_command_on_a_table(command, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(WRITTEN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    rows = [
        {"question": f"There are 12 boats and {i} men. How many boats do {i} men see?", "expected": "12"}
        for i in range(4)
    ]
    (tmp_path / "exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ["reword", tmp_path / "exam.jsonl", "--generator", "mine:write", "--per-kind", 2]
    out = command.done(*given, "--kinds", "generated", "--output", tmp_path / "out")
    assert "4 questions with 12 wordings (generated 12)" in out
    assert "lost or changed" in out
    made = [json.loads(line) for line in (tmp_path / "out" / "exam_reworded.jsonl").read_text().splitlines()]
    new = (rows[0]["question"].replace("How many", words) for words in ["What number of", "Which count of"])
    assert [row["question"] for row in made[:3]] == [rows[0]["question"], *new]
    bad = ["reword", tmp_path / "exam.jsonl", "--generator", "mine:fail", "--kinds", "generated", "--output"]
    err = command.refused(*bad, tmp_path / "bad")
    assert "left out 12: lost or changed" in err
    assert "where what is written passes" in err
    usual = command.done(*given, "--output", tmp_path / "usual")
    assert "(instruction 8, phrase 8, generated 8)" in usual
    assert "be given for the kind generated" in command.refused(
        "reword", tmp_path / "exam.jsonl", "--kinds", "generated", "--output", tmp_path / "none"
    )
    assert "`--check` must be given with `--generator`" in command.refused(
        "reword", tmp_path / "exam.jsonl", "--check", "similar", "--output", tmp_path / "none"
    )


def test_refusals_in_python(tmp_path):
    (tmp_path / "exam.jsonl").write_text('{"question": "The rooms are", "expected": "12"}\n')
    given = [str(tmp_path / "exam.jsonl"), tmp_path / "out", RewordOptions("generated", generator="mine"), RowOptions()]
    refuses("generated is for those that ask with a question mark", reword_table, *given, Writer(rooms, SETTINGS))


def test_what_is_wrong_is_said_by_its_own_option(command, tmp_path, monkeypatch):
    (tmp_path / "odd.py").write_text(
        "def same(texts):\n    return [[each] for each in texts]\ndef broken(_):\n    raise ValueError('no words')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "exam.jsonl").write_text('{"question": "How many rooms are left?", "expected": "12"}\n')
    given = ["reword", tmp_path / "exam.jsonl", "--output", tmp_path / "out"]
    unused = command.refused(*given, "--generator", "odd:broken", "--kinds", "instruction")
    assert "`--generator` must be given for the kind generated" in unused  # it was asked, and its words left
    code, _, err = command([*given, "--generator", "odd:same", "--kinds", "generated"])
    assert (code, "left out 1: copy of the original" in err) == (2, True)
    assert "odd:broken'. It raised ValueError: no words." in command.refused(*given, "--generator", "odd:broken")
    assert "`--concurrency` must be given only with `--endpoint`" in command.refused(*given, "--concurrency", 3)
    alone = command.refused(*given, "--endpoint", "http://localhost:1/v1")
    assert "`--endpoint` must be given with `--generator`; got 'http://localhost:1/v1'" in alone


def test_the_folder_where_the_command_is_given_is_not_replaced(command, tmp_path, monkeypatch):
    """It was moved away under the shell, and the command ended in a fault."""
    (tmp_path / "exam.jsonl").write_text('{"question": "What are rooms for?", "expected": "living"}\n')
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert "It is where you are" in command.refused("reword", "../exam.jsonl", "--output", ".", "--overwrite")
