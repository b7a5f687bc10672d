"""Paraphrases of people's own questions: in three languages, from hostile models, checked by people, and run again."""

import csv
import shlex
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from helpers.endpoint import command, done
from helpers.faulty_server import FaultyServer
from helpers.paraphrase import fill

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.data.tables import read_table
from paraconsist.data.writing import write_table
from paraconsist.scoring.checked import read_validity
from paraconsist.transforms.paraphrase.generators import GeneratorSettings
from paraconsist.transforms.paraphrase.refining import reason_against

#: Question -> what the model writes for it, by the seed: the first two pass, the third does not.
WORDINGS = {
    "Wie viele Tage hat Anna Berg in Wien, um 2,5 kg zurückzuschicken?": [
        "Innerhalb wie vieler Tage kann Anna Berg in Wien 2,5 kg zurückschicken?",
        "Wenn Anna Berg in Wien 2,5 kg zurückschickt, wie viele Tage hat sie dafür?",
        "Wie viele Tage hat Anna Berg in Wien, um 3 kg zurückzugeben?",
    ],
    "Combien de jours Marie a-t-elle pour renvoyer sa commande sur https://example.org/retour ?": [
        "Sur https://example.org/retour, sous combien de jours Marie peut-elle renvoyer sa commande ?",
        "Pour renvoyer sa commande sur https://example.org/retour, de combien de jours Marie dispose-t-elle ?",
        "Combien de jours a-t-elle pour renvoyer sa commande sur https://example.org/retour ?",
    ],
    "What does `f(2)` return when {name} is called in Paris?": [
        "When {name} is called in Paris, what does `f(2)` return?",
        "In Paris, what will `f(2)` give back when {name} is called?",
        "When {user} is called in Paris, what does `f(2)` return?",
    ],
}
REASONS = ["lost or changed: 2,5, 3", "lost or changed: Marie", "lost or changed: {name}, {user}"]


def model(prompt: str, body: dict) -> str:
    if "Text 2:" in prompt:
        return "yes"
    asked = [question for question in WORDINGS if question in prompt and "in other words" in prompt]
    return WORDINGS[asked[0]][body["seed"] % 3] if asked else "30"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    entries = [{"id": str(i), "question": text, "expected": ["30", "thirty"]} for i, text in enumerate(WORDINGS)]
    entries[0] = {**entries[0], "wordings": ["Anna Berg hat in Wien 2,5 kg: Wie viele Tage hat sie?"], "context": "K."}
    given = {"same": "number:0.01", "right": "contains", "questions": entries}
    (tmp_path / "my questions.yaml").write_text(yaml.safe_dump(given, allow_unicode=True), encoding="utf-8")
    return tmp_path / "my questions.yaml"


def reword(data: Path, server: FaultyServer, *more: object) -> tuple[int, str, str]:
    given = ["--generator", "toy", "--endpoint", server.url, "--candidates", 3]
    return command([str(part) for part in ("paraphrase", data, *given, *more)])


def test_yaml_gives_yaml_and_what_is_printed_runs_as_typed(tmp_path, questions, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with FaultyServer(write=model) as server:
        code, out, err = reword(questions, server)
        assert code == 0, err
        assert "3 requests a question, 9 in all" in err
        assert "3 questions with 6 new wordings, 1 or more each with those that they had: " in out
        output = tmp_path / "my questions.reworded.yaml"
        before, after = load_bucket_set(questions), load_bucket_set(output)
        assert after.comparers == before.comparers == {"same": "number:0.01", "right": "contains"}
        rows = after.table.to_pylist()
        assert [row["role"] for row in rows].count("original") == 3
        assert len(rows) == 3 + 1 + 6  # originals, the wording that one had, new ones
        assert {row["question"] for row in rows if row["role"] == "original"} == set(WORDINGS)
        assert all(row["label"] == ["30", "thirty"] for row in rows)
        assert [row["context"] for row in rows] == ["K."] * 4 + [""] * 6
        sheet = tmp_path / "my questions.reworded.check.csv"
        with sheet.open(encoding="utf-8-sig", newline="") as stream:
            lines = list(csv.DictReader(stream))
        assert [line["checks"] for line in lines] == [
            said for reason in REASONS for said in ("passed", "passed", f"left out: {reason}")
        ]
        printed = [
            shlex.split(line)[1:] for line in err.replace("Next: ", "  ").splitlines() if "  paraconsist" in line
        ]
        assert [words[0] for words in printed] == ["paraphrase", "run"]
        done(printed[1])
        assert "number:0.01" in done(["score", printed[1][-1], "--json"])
        fill(sheet, valid=["yes", "no", "no", "yes", "", "", "yes", "yes", ""])
        said = done(printed[0])
    assert "4 of 5 judged paraphrases are valid" in said
    checked = load_bucket_set(printed[0][-1])
    assert checked.comparers == before.comparers
    assert checked.table.num_rows == 3 + 1 + 4


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_tables_give_a_set_that_remembers(tmp_path, questions, ending):
    table = pa.table({"question": list(WORDINGS), "topic": ["a", "b", "c"], "expected": ["30"] * 3})
    write_table(table, tmp_path / f"q{ending}")
    with FaultyServer(write=model) as server:
        code, _, err = reword(tmp_path / f"q{ending}", server)
    assert code == 0, err
    rows = read_table(tmp_path / "q.reworded.parquet", function="run", parameter="dataset").to_pylist()
    assert [row["topic"] for row in rows] == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    assert [row["generator"] for row in rows] == ["original", "toy", "toy"] * 3
    assert load_bucket_set(tmp_path / "q.reworded.parquet").task.name == "questions"


def test_parquet_keeps_same_and_right_through_the_sheet(tmp_path, questions):
    with FaultyServer(write=model) as server:
        code, _, err = reword(questions, server, "--output", tmp_path / "set.parquet")
    assert code == 0, err
    assert load_bucket_set(tmp_path / "set.parquet").comparers == {"same": "number:0.01", "right": "contains"}
    fill(tmp_path / "set.check.csv", valid=["yes"] * 9)
    given = ["paraphrase", tmp_path / "set.parquet", "--checked", tmp_path / "set.check.csv"]
    said = done([str(part) for part in (*given, "--output", tmp_path / "all.yaml")])
    assert "6 of 6 judged paraphrases are valid" in said
    assert "3 that did not pass are valid, too" in said  # people may judge what a check leaves out
    assert load_bucket_set(tmp_path / "all.yaml").table.num_rows == 3 + 1 + 6
    fill(tmp_path / "set.check.csv", valid=["yes", "yes", "no"] * 3)
    done([str(part) for part in (*given, "--output", tmp_path / "set-checked.yaml")])
    assert load_bucket_set(tmp_path / "set-checked.yaml").comparers == {"same": "number:0.01", "right": "contains"}


def test_the_last_turn_of_a_chat_is_what_is_reworded(tmp_path):
    question = next(reversed(WORDINGS))
    chat = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Yes?"}]
    entry = {"id": "a", "messages": [*chat, {"role": "user", "content": question}], "choices": ["1", "2"]}
    (tmp_path / "q.yaml").write_text(yaml.safe_dump([entry]))
    with FaultyServer(write=model) as server:
        code, _, err = reword(tmp_path / "q.yaml", server)
    assert code == 0, err
    entries = yaml.safe_load((tmp_path / "q.reworded.yaml").read_text())["questions"]
    assert [one["messages"][-1]["content"] for one in entries] == [question, *WORDINGS[question][:2]]
    assert all(one["messages"][:2] == chat and one["choices"] == ["1", "2"] for one in entries)


def test_a_judge_reads_both_directions_and_the_cost_is_said(tmp_path, questions):
    def strict(prompt: str, body: dict) -> str:
        return "no" if 'Text 1: "In Paris' in prompt else model(prompt, body)  # in one of the two orders

    with FaultyServer(write=strict) as server:
        (tmp_path / "judge.yaml").write_text(yaml.safe_dump({"model": "toy", "endpoint": server.url}))
        code, _, err = reword(questions, server, "--check", f"judge:{tmp_path / 'judge.yaml'}")
        assert code == 0, err
    assert "2 to the judge for each candidate that passes the other checks, 18 at most" in err
    assert "left out 1: another meaning (judge)" in err
    with (tmp_path / "my questions.reworded.check.csv").open(encoding="utf-8-sig", newline="") as stream:
        checks = [line["checks"] for line in csv.DictReader(stream)]
    assert "left out: another meaning (judge); judge 0.50" in checks
    assert checks.count("passed; judge 1.00") == 5
    words = ["no", *("yes" if "; judge" in check else "no" for check in checks[1:])]  # four of five valid ones are kept
    found = read_validity(fill(tmp_path / "my questions.reworded.check.csv", valid=words), {}, 0.95).check
    assert (found.n_labels, found.sensitivity, found.false_match_rate) == (6, pytest.approx(4 / 5), 1.0)


HOSTILE = {
    "": "empty",
    "**When** {name} is called in Paris, what does `f(2)` return?": "markup, or a list",
    "What does `f(2)` return when {name} is called in Paris?": "copy of the original",
    "1. When {name} is called in Paris, what does `f(2)` return?": "markup, or a list",
    "Sorry, I can't help with what `f(2)` returns if {name} is called in Paris.": "a refusal",
    "when " * 20_000: "too long",
    "When {name} is called in Paris, what does `f(2)` \x1b[31mreturn?": "markup, or a list",
    "Here is another: When {name} is called in Paris, what does `f(2)` return?": "words before or after the text",
    "Wenn {name} in Paris aufgerufen wird, was gibt dann `f(2)` als Wert zurück?": "another language",
}


@pytest.mark.parametrize(("written", "reason"), HOSTILE.items(), ids=lambda text: text[:20])
def test_what_hostile_models_write_is_left_out(written, reason):
    question = next(reversed(WORDINGS))
    assert reason_against(written, question, [], GeneratorSettings(whole=True, language="en")) == reason


def test_hostile_models_give_one_clear_outcome(tmp_path, questions):
    for number, (written, reason) in enumerate(HOSTILE.items()):
        with FaultyServer(write=lambda prompt, body, written=written: written) as server:
            code, _, err = reword(questions, server, "--output", tmp_path / f"{number}.yaml", "--least", 1)
        if reason == "empty":
            assert code == 2
            assert "`--generator` must write texts" in err
        else:
            assert code == 0, err  # one question has a wording of its own
            assert load_bucket_set(tmp_path / f"{number}.yaml").table.num_rows == 2
        assert "Traceback" not in err


@pytest.mark.parametrize("ending", [".yaml", ".parquet"])
def test_the_error_of_the_check_is_told_with_the_scores_and_on_the_page(tmp_path, questions, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    with FaultyServer(write=model) as server:
        (tmp_path / "judge.yaml").write_text(yaml.safe_dump({"model": "toy", "endpoint": server.url}))
        code, _, err = reword(questions, server, "--check", "judge:judge.yaml", "--output", f"set{ending}")
        assert code == 0, err
        error = err.partition("check: ")[2].partition("\n")[0]
        assert error.startswith("the error of judge:judge.yaml is not measured")
        done(["run", "--model", "toy", "--endpoint", server.url, "--dataset", f"set{ending}", "--output", "run"])
        fill(tmp_path / "set.check.csv", valid=["yes", "yes", "no"] * 3)
        done(["paraphrase", f"set{ending}", "--checked", "set.check.csv", "--output", f"valid{ending}"])
    sentence = f"a check kept these wordings: {error}"
    assert f"{sentence}\n" in done(["score", "run"])
    done(["report", "run", "--output", "page.html"])
    assert sentence in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert load_bucket_set(f"set{ending}").error_of_check == error
    assert load_bucket_set(f"valid{ending}").error_of_check is None  # people found each of them valid
