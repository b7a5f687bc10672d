"""Kinds of format on sets like AIW and DynaMath, written here: what a row says of its wording is all that changed."""

import json
import re
from collections import Counter
from math import factorial
from random import Random

import pytest

from paraconsist.transforms.perturbation import RowOptions
from paraconsist.transforms.reworded_questions import reword_table
from paraconsist.transforms.reworded_tasks import RewordOptions, read_wordings, wordings, write_rows
from paraconsist.transforms.rewording import Prompt, reorder

N = 400
FORMAT = ["instruction", "case", "separator", "option_order", "option_labels", "shot_order"]
NAMES = ["Question", "Options", "Answer"]


def aiw_like(i):
    """The same puzzle with other numbers and in other words; three forms of the same answer are among the options."""
    sisters, brothers = i % 7 + 2, i % 5 + 1
    asked = "How many sisters does Alice's brother have?"
    text = [
        f"Alice has {brothers} brothers and {sisters} sisters. {asked}",
        f"Alice has {sisters} sisters, and she also has {brothers} brothers. {asked}\nSay how you found it.",
    ][i % 2]
    return text, [f"{sisters + 1} sisters", f"{sisters} sisters", f"{sisters}+1-1", f"{brothers} (brothers)"], 0


def dynamath_like(i):
    """One program with other numbers: formulas, code, units and negative numbers."""
    a, b = i % 9 - 4, i % 11 + 2
    text = f"Let $f(x) = {a}x^2 - {b}$ and `g = lambda x: {b} * x`. Note: x is in cm. What is $f(-1)$?"
    return text, [f"${a - b}$ cm", f"${b - a}$ cm", f"$-{b}$ cm", f"`g({a})`"], i % 4


def prompt(i, make):
    text, options, right = make(i)
    listed = "\n".join(f"{label}. {option}" for label, option in zip("ABCD", options, strict=True))
    asked = f"Question: {text}\nOptions:\n{listed}\nAnswer:"
    return Prompt(asked, (*"ABCD",), right, (text,), dict.fromkeys(NAMES, 1))


def undone(row):
    """What the original must have been, from the row alone: its kind, its text and what the original calls options."""
    text, kind = row.get("text"), row["kind"]
    descriptor = rf"^({'|'.join(NAMES)})"
    if kind == "instruction":
        first, _, text = text.partition("\n")
        assert first in {"Please answer the question below.", "Here is a question for you to answer."} | {
            "Read the following question, then give your answer."
        }
    elif kind == "case":
        flags = re.MULTILINE | re.IGNORECASE
        text = re.sub(rf"{descriptor}:", lambda match: f"{match[1].capitalize()}:", text, flags=flags)
    elif kind == "separator":
        text = re.sub(rf"{descriptor}::", r"\1:", text, flags=re.MULTILINE)
        text = re.sub(rf"\n\n({'|'.join(NAMES)}):", r"\n\1:", text)
    elif kind.startswith("option"):
        shown = re.findall(r"^(\w)\. (.+)$", text, re.MULTILINE)
        was = dict(zip(row["original_options"], (option for _, option in shown), strict=True))
        lines = iter(f"{label}. {was[label]}" for label in "ABCD")
        text = re.sub(r"^\w\. .+$", lambda _: next(lines), text, flags=re.MULTILINE)
    return text


@pytest.mark.parametrize("make", [aiw_like, dynamath_like])
def test_every_change_is_listed(make):
    prompts = [prompt(i, make) for i in range(N)]
    rows = [*wordings(prompts, RewordOptions(",".join(FORMAT), per_kind=3), (), 3)]
    seen = Counter(row["kind"] for row in rows)
    variants = {"instruction": 3, "case": 2, "separator": 2, "option_order": 3, "option_labels": 2, "shot_order": 3}
    for kind, n in variants.items():
        assert (n - 1) * N < seen[kind] <= n * N  # an order that was there already is no further wording
    for row in rows:
        original = prompts[row["question"]]
        if row["kind"] in ("original", "shot_order"):  # whose prompt is the original's, with examples in another order
            assert row.get("text", original.text) == original.text
            assert sorted(row.get("shots", [0, 1, 2])) == [0, 1, 2]
            assert row.get("shots") != [0, 1, 2]
            continue
        assert row["text"] != original.text
        assert undone(row) == original.text
        if "original_options" in row:
            assert row["original_options"][row["answer"]] == "ABCD"[original.answer]
            assert sorted(row["original_options"]) == [*"ABCD"]
        else:
            assert {"options", "answer"}.isdisjoint(row)


@pytest.mark.parametrize("make", [aiw_like, dynamath_like])
def test_every_change_is_listed_in_a_table(tmp_path, make):
    """A row of the set differs from its original in the one column that its kind changes."""
    questions = [make(i) for i in range(20)]
    lines = [json.dumps({"question": text, "choices": options, "answer": right}) for text, options, right in questions]
    (tmp_path / "puzzles.jsonl").write_text("\n".join(lines))
    options = RewordOptions("instruction,option_order", per_kind=3)
    reading = RowOptions(columns=["answer=answer"])
    reword_table(str(tmp_path / "puzzles.jsonl"), tmp_path / "new", options, reading)
    rows = [*map(json.loads, (tmp_path / "new" / "puzzles_reworded.jsonl").read_text().splitlines())]
    original = {}
    for row in rows:
        original = row if row["wording"] == 0 else original
        column = {"original": set(), "instruction": {"question"}, "option_order": {"choices"}}[row["kind"]]
        named = {"role", "wording", "kind"}
        assert {name for name in row if name not in named and row[name] != original[name]} == column
        if row["kind"] == "instruction":
            assert undone({**row, "text": row["question"]}) == original["question"]
        assert sorted(row["choices"]) == sorted(original["choices"])


@pytest.mark.parametrize(("answer", "kinds"), [("3", set()), ("5", {"option_order", "option_labels"})])
def test_a_key_that_is_a_label_and_an_option_makes_no_wording(answer, kinds):
    """Where `3` was an option that is right, the key became the new label of the third option."""
    asked = Prompt("How many sides has a triangle?\n1. 3\n2. 4\n3. 5\nAnswer:", (), answer)
    rows = wordings([asked], RewordOptions("option_order,option_labels", per_kind=3), (), 0)
    assert {row["kind"] for row in rows} == {"original", *kinds}


def kinds_of(prompts, kinds="option_order,option_labels"):
    """The kinds of each question's wordings."""
    made = {number: set() for number in range(len(prompts))}
    for row in wordings(prompts, RewordOptions(kinds, per_kind=3), (), 0):
        made[row["question"]].add(row["kind"])
    return [kinds - {"original"} for kinds in made.values()]


def test_steps_in_numbers_are_no_options():
    """Their numbers would be the key, and the answer 2 would become 1."""
    steps = "How many boats?\n1. Think step by step.\n2. Then write the number.\nAnswer:"
    assert kinds_of([Prompt(steps, (), str(answer)) for answer in (1, 2, 3)]) == [set()] * 3
    texts = "Which boat?\n1. the red one\n2. the old one\nAnswer:"
    both = {"option_order", "option_labels"}
    assert kinds_of([Prompt(texts, (), answer) for answer in ("1", "2", "the old one")]) == [both] * 3


@pytest.mark.parametrize(("options", "answer"), [(("A", "B"), 0), ((), "A")])
def test_an_option_of_several_lines_stays_where_it_is(options, answer):
    """Its first line would change places alone: an option would be another one, or have another's lines."""
    texts = [f"A. red\nB. blue{more}" for more in ("", "\nas the sea", "\n\nas the sea", "", "")]
    made = kinds_of([Prompt(f"Which?\n{text}\nAnswer:", options, answer) for text in texts])
    assert [*map(bool, made)] == [True, False, False, True, True]
    middle = [Prompt(f"Which?\nA. 10 boats\nB. 20{more}\nC. 30\nD. 40", (), "A") for more in ("", "", " of\nthem")]
    assert [*map(bool, kinds_of(middle))] == [True, True, False]


@pytest.mark.parametrize("statements", ["A. red\nB. old", "1. red\n2. old"])
def test_a_number_that_is_written_is_no_place(statements):
    """How many of the statements hold: 1 became 0."""
    prompts = [Prompt(f"{statements}\nHow many hold?", (), answer) for answer in (0, 1, 2)]
    assert kinds_of(prompts) == [set()] * 3


@pytest.mark.parametrize("answer", [[0, 1], None, -1, "", "."])
def test_no_key_moves_no_option(answer):
    """An option of signs alone was taken for the key where there is none, or several."""
    for options in (("(.)", ",", ";"), ()):
        assert kinds_of([Prompt("Which?\nA. (.)\nB. ,\nC. ;", options, answer)]) == [set()]


@pytest.mark.parametrize(
    "form", ["- {}\n- {}", "* {}\n* {}", "(A) {} (B) {}", "a) {} b) {}", "A. {} B. {}", "A. {}\n\nB. {}"]
)
def test_options_that_are_no_list_of_lines_keep_their_words(form):
    texts = ["The man is on the big boat.", "A man is big."]
    prompt = Prompt(f"Is it sold?\n{form.format(*texts)}\nAnswer:", ("A", "B"), 0, ("Is it sold?", *texts))
    assert kinds_of([prompt], "phrase,structure,contraction,case") == [set()]
    asked = "The man is on the big boat. Is it sold?"
    for before in ("Q. ", "Q: ", "In 2 A.D. and B.C. ", "It was $7. ", "There are x. "):
        prompt = Prompt(f"{before}{asked}\n{form.format(*texts)}", ("A", "B"), 0, (asked, *texts))
        rows = [*wordings([prompt], RewordOptions("phrase", per_kind=3), (), 0)]
        assert len(rows) == 3
        assert all(row["text"].endswith(form.format(*texts)) for row in rows)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_orders_of_examples_are_all_others_once(n):
    orders = [tuple(reorder(n, Random("a"), number)) for number in range(factorial(n) - 1)]
    assert len({*orders, tuple(range(n))}) == factorial(n)


def test_rows_are_read_as_they_were_written(tmp_path):
    """Texts of the web have separators of lines that Python splits at, and JSON does not."""
    rows = [*wordings([Prompt("Is it\u2028red,\x85or\x1cold?", (), "so\u2029")], RewordOptions("instruction"), (), 0)]
    write_rows(tmp_path / "a_reworded.jsonl", rows, RewordOptions("instruction"), {})
    with (tmp_path / "a_reworded.jsonl").open("a") as file:
        file.write("\n")
    assert read_wordings(tmp_path / "a_reworded.jsonl") == rows
