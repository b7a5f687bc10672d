"""Questions of a table in several wordings: a set that `run` takes, whose wording 0 is the table's own question."""

import csv
import json
from collections import defaultdict

import pytest

import paraconsist as pc
from paraconsist.errors import InputError
from paraconsist.transforms.perturbation import RowOptions
from paraconsist.transforms.reworded_questions import reword_table
from paraconsist.transforms.reworded_tasks import RewordOptions

THINGS = ["lantern", "kettle", "ladder", "anchor", "basket", "compass"]
QUESTIONS = [
    f"A man is carrying a big {thing} near {i + 2} boats. What isn't on boat {i}?" for i, thing in enumerate(THINGS)
]
CHOICES = [[f"the {THINGS[(i + k) % 6]} and {k + 3} ropes" for k in range(4)] for i in range(6)]
RIGHT = [row[i % 4] for i, row in enumerate(CHOICES)]
PAIRS = "question=stem,choices=options,answer=key"


@pytest.mark.parametrize(("key", "moves"), [("B", False), ("(B)", False), ("Apple", True)])
def test_options_that_a_question_lists_move_only_where_the_key_is_no_label(tmp_path, key, moves):
    """The key stayed B where the text had Apple as C: `run` reads answers as they are."""
    text = "Which is a fruit?\nA. Car\nB. Apple\nC. Dog"
    path = lines(tmp_path, [{"question": text, "expected": key}])
    reword_table(str(path), tmp_path / "new", RewordOptions(per_kind=2), RowOptions())
    rows = [*map(json.loads, (tmp_path / "new" / "exam_reworded.jsonl").read_text().splitlines())]
    assert {row["expected"] == [key] for row in rows} == {True}
    assert ("option_order" in {row["kind"] for row in rows}) == moves


@pytest.mark.parametrize("answer", [[0, 2], ["the car", "the dog"], [["the car"], ["the dog", "the boat"]], ["A", "C"]])
def test_a_column_called_answer_is_the_answers(tmp_path, answer):
    """Without `--columns` the questions were written without their answers."""
    choices = ["the car", "the boat", "the dog"]
    texts = [f"Which is {word} here, and isn't red?" for word in ("old", "big")]
    rows = [{"question": text, "choices": choices, "answer": a} for text, a in zip(texts, answer, strict=True)]
    path = lines(tmp_path, rows)
    reword_table(str(path), tmp_path / "new", RewordOptions(), RowOptions())
    rows = [*map(json.loads, (tmp_path / "new" / "exam_reworded.jsonl").read_text().splitlines())]
    assert {row["bucket_id"]: row["expected"][0] for row in rows} == {"0": "the car", "1": "the dog"}


def as_csv(folder):
    with (folder / "exam.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["stem", *"ABCD", "key", "author"])
        writer.writerows(
            [text, *row, "ABCD"[i % 4], "me"] for i, (text, row) in enumerate(zip(QUESTIONS, CHOICES, strict=True))
        )
    return folder / "exam.csv", "question=stem,choices=A+B+C+D,answer=key"


def lines(folder, rows):
    (folder / "exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "exam.jsonl"


def as_places(folder):
    rows = zip(QUESTIONS, CHOICES, strict=True)
    return lines(folder, [{"stem": q, "options": c, "key": i % 4} for i, (q, c) in enumerate(rows)]), PAIRS


def as_texts(folder):
    rows = zip(QUESTIONS, CHOICES, RIGHT, strict=True)
    return lines(folder, [{"stem": q, "options": c, "key": right} for q, c, right in rows]), PAIRS


def as_structs(folder):
    rows = zip(QUESTIONS, CHOICES, strict=True)
    rows = [{"stem": q, "c": {"text": c, "label": [*"ABCD"]}, "key": "ABCD"[i % 4]} for i, (q, c) in enumerate(rows)]
    return lines(folder, rows), "question=stem,choices=c.text,answer=key"


def as_parquet(folder):
    path, pairs = as_places(folder)
    import pyarrow.parquet as pq

    from paraconsist.data.tables import read_table

    pq.write_table(read_table(path, function="run", parameter="dataset", names=()), folder / "exam.parquet")
    return folder / "exam.parquet", pairs


def as_datasets_folder(folder):
    path, pairs = as_places(folder)
    (folder / "exam").mkdir()
    path.rename(folder / "exam" / "test.jsonl")
    return folder / "exam", pairs


def as_yaml(folder):
    rows = zip(QUESTIONS, CHOICES, RIGHT, strict=True)
    listed = [
        {"id": str(i), "question": q, "wordings": [f"{q} Say it."], "choices": c, "expected": right}
        for i, (q, c, right) in enumerate(rows)
    ]
    (folder / "exam.yaml").write_text(json.dumps({"same": "choice", "questions": listed}))
    return folder / "exam.yaml", None


FORMS = [as_csv, as_places, as_texts, as_structs, as_parquet, as_datasets_folder, as_yaml]


def rows_of(folder):
    (file,) = folder.iterdir()
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("form", FORMS)
def test_wording_0_is_the_tables_own_and_the_key_moves(tmp_path, form):
    path, pairs = form(tmp_path)
    options, reading = RewordOptions(per_kind=2), RowOptions(columns=[pairs] if pairs else ())
    counts, comparers = reword_table(str(path), tmp_path / "new", options, reading)
    assert set(counts["exam"]) == {"original", "instruction", "option_order", "contraction", "phrase", "structure"}
    assert comparers == {"same": "choice"}
    rows = rows_of(tmp_path / "new")
    assert len({(row["bucket_id"], row["wording"]) for row in rows}) == len(rows)
    originals = [row for row in rows if row["wording"] == 0]
    assert [(row["question"], row["choices"]) for row in originals] == [*zip(QUESTIONS, CHOICES, strict=True)]
    for row in rows:
        number = int(row["bucket_id"])
        assert row["role"] == ("paraphrase" if row["wording"] else "original")
        assert sorted(row["choices"]) == sorted(CHOICES[number])
        assert (row["choices"] != CHOICES[number]) == (row["kind"] == "option_order")
        assert row["expected"] == [RIGHT[number]]
        assert "author" not in row


def test_the_set_is_run_and_scored(tmp_path, command):
    """A function that knows the right text names its letter, which is another in each order."""
    path, pairs = as_csv(tmp_path)
    code, out, said = command("reword", path, "--columns", pairs, "--output", tmp_path / "new", "--limit", 5)
    assert code == 0
    assert "exam: 5 questions with" in out
    source = str(tmp_path / "new" / "exam_reworded.jsonl")
    assert said.splitlines()[-2:] == [
        f"Next: paraconsist run --model MODEL --dataset {source} --stratum kind --output logs",
        "      paraconsist score logs --same choice",
    ]
    answers = defaultdict(set)

    def letter_of(prompt):
        number = next(i for i in range(6) if f"near {i + 2} boats" in prompt)
        listed = prompt[prompt.index("\nA. ") :].strip().splitlines()
        (letter,) = [line[0] for line in listed if line[3:] == RIGHT[number]]
        answers[number].add(letter)
        return letter

    def knows(prompts):
        return [*map(letter_of, prompts)]

    pc.run(knows, source, output=tmp_path / "run", stratum=["kind", "wording"], version="1")
    assert max(map(len, answers.values())) > 1
    scores = pc.score(tmp_path / "run", same="choice", n_resamples=10)
    (result,) = scores.to_dict().values()
    own = result["measures"]["paraphrastic_consistency"]
    assert (own["accuracy"], own["original_accuracy"], own["paraphrastic_consistency"]) == (1.0, 1.0, 1.0)
    assert result["wording"]["wording_change"] == 0.0
    assert "option_order" in command.out("score", tmp_path / "run", "--same", "choice", "--n-resamples", 10)


def test_places_of_a_choice_are_compared_in_one_order():
    choices = [["red", "blue"], ["blue", "red"], ["red", "blue"], ["blue", "green"]]
    classes = pc.answer_classes(["A", "B", "B", "A"], [0, 0, 0, 0], same="choice", choices=choices)
    assert classes[0] == classes[1] != classes[2]


@pytest.mark.parametrize(
    ("pairs", "options", "match"),
    [
        ("question=stem,choices=options,answer=size", {}, r"places \(from 0\).*got \['7'\] at row 1"),
        ("question=stems,choices=options,answer=key", {}, "`columns` must be FIELD=COLUMN"),
        ("answer=key", {}, "`question` must be a column of exam.*'stem'"),
        ("question=stem,answer=key", {"kinds": "option_order"}, "option_order is for"),
        (PAIRS, {"kinds": "option_labels"}, "`run` labels choices"),
        (PAIRS, {"kinds": "shot_order"}, "has no solved examples"),
    ],
)
def test_refusals(tmp_path, pairs, options, match):
    rows = [
        {"stem": q, "options": c, "key": "A", "size": 7 * i}
        for i, (q, c) in enumerate(zip(QUESTIONS, CHOICES, strict=True))
    ]
    with pytest.raises(InputError, match=match):
        reword_table(
            str(lines(tmp_path, rows)), tmp_path / "new", RewordOptions(**options), RowOptions(columns=[pairs])
        )
    assert not (tmp_path / "new").exists()


def test_places_among_choices_that_are_numbers(tmp_path):
    """2 is the place of 5 among 3, 2, 5: the other rows, or those past the limit, say that the table has places."""
    rows = [{"question": "How many boats?", "choices": ["3", "2", "5"], "answer": 2}]
    rows += [{"question": "Which boat?", "choices": ["red", "blue"], "answer": 1}]
    reading, expected = RowOptions(columns=["answer=answer"]), {0: ["5"], 1: ["blue"]}
    for limit in (1, 2):
        reword_table(str(lines(tmp_path, rows)), tmp_path / str(limit), RewordOptions(limit=limit), reading)
        found = {int(row["bucket_id"]): row["expected"] for row in rows_of(tmp_path / str(limit))}
        assert found == {number: expected[number] for number in range(limit)}


def test_chats_keep_their_other_turns(tmp_path):
    chat = [{"role": "system", "content": "Isn't it late?"}, {"role": "user", "content": QUESTIONS[0]}]
    path = lines(tmp_path, [{"messages": chat, "expected": "3"}])
    reword_table(str(path), tmp_path / "new", RewordOptions(), RowOptions())
    for row in rows_of(tmp_path / "new"):
        turns = json.loads(row["messages"]) if isinstance(row["messages"], str) else row["messages"]
        assert turns[0] == chat[0]
        assert (turns[1] == chat[1]) == (row["wording"] == 0)


def test_what_is_no_table(command, tmp_path):
    assert "lm-eval:TASK" in command.refused("reword", "gsm8k", "--output", tmp_path / "new")
    assert "be loadable" in command.refused("reword", "org/nothing", "--output", tmp_path / "new")
