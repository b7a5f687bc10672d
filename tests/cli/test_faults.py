"""The least cases of faults that people met at the command line, each as they met it."""

import json
import re
import time
from pathlib import Path

import pytest

import paraconsist as pc
from paraconsist.data.foreign import parse_yaml
from paraconsist.data.sharing import public
from paraconsist.errors import InputError
from paraconsist.reporting.formatting import decimal, percent
from paraconsist.reporting.table import Line, as_markdown

pytestmark = pytest.mark.faults


def write(path: Path, rows, columns=("bucket_id", "prediction", "label")) -> Path:
    path.write_text("\n".join(",".join(map(str, row)) for row in [columns, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "words", ["run --model m --dataset", "train --model m --train-file", "perturb --property negational", "paraphrase"]
)
def test_a_task_that_there_is_not_is_told_of_the_option(words, command, tmp_path):
    rows = write(tmp_path / "rows.csv", [("a", "positive")], ("text", "label"))
    assert "`--task`" in command.refused(*words.split(), rows, "--task", "mine", "--output", tmp_path / "to.parquet")


def test_one_answer_that_is_no_number_does_not_make_numbers_and_texts_meet(command, tmp_path):
    rows = [(b, f"about {b}" if (b, k) == (3, 2) else b, b) for b in range(20) for k in range(3)]
    (found,) = command.json("score", write(tmp_path / "numbers.csv", rows)).values()
    assert found["wording"]["wording_change"] == pytest.approx(2 / 3 / 20)


def test_numbers_as_gold_and_names_as_answers_are_told_of_label_names(command, tmp_path):
    path = write(tmp_path / "names.csv", [(b, ["no", "yes"][(b + k) % 2], b % 2) for b in range(20) for k in range(3)])
    assert "--label-names" in command.refused("score", path)
    (found,) = command.json("score", path, "--label-names", "no,yes").values()
    assert found["measures"]["paraphrastic_consistency"]["accuracy"] == pytest.approx(2 / 3)


def test_unparsed_answers_are_no_constant_answer(command, tmp_path):
    rows = [row for b in range(20) for row in ((b, "original", b % 2, 1), (b, "paraphrase", "", 1))]
    path = write(tmp_path / "half.csv", rows, ("bucket_id", "role", "prediction", "label"))
    out = command.done("score", path, "--unparsed", "own_class")
    assert "every prediction is -2" not in out
    assert "none of the answers that it counts could be read" in out


@pytest.mark.parametrize("answer", ["yes", 1])
def test_one_answer_beside_unparsed_ones_is_not_called_consistent(command, tmp_path, answer):
    """Two wordings a problem, one of them unparsed: P_C is 0 %, not that of a constant answer."""
    path = write(tmp_path / "half.csv", [row for b in range(20) for row in ((b, answer, answer), (b, "", answer))])
    code, out, err = command("score", path)
    assert (code, "consistency 1" in out, "could be read" in out) == (0, False, True), err
    assert re.search(r"P_C, paraphrastic consistency +0\.0 %", out)


def test_nothing_is_minus_zero():
    assert [percent(-1e-9), percent(-1e-9, signed=True), decimal(-0.0)] == ["0.0", "+0.0", "0.0000"]


def test_markdown_mentions_nobody_and_links_nowhere():
    text = as_markdown([Line("<img src=x> [l](http://evil) www.evil.org @team a@b.org")])
    assert not {"@", "<"} & set(text)
    assert text.count("&#64;&#8203;") == 2  # GitHub looks for mentions in what entities have become
    assert "://" not in text
    assert "www." not in text
    assert not re.search(r"(?<!\\)\]\(", text)


def test_texts_that_took_minutes_take_no_time():
    before = time.process_time()
    assert public("a." * 20_000) == "a." * 20_000
    for number in ("1:" * 50_000 + "1", "0x" + "f" * 50_000):
        with pytest.raises(ValueError, match=r"It has a number of [\d,]+ characters\."):
            parse_yaml(f"seed: {number}")
    assert time.process_time() - before < 20  # minutes before


def test_a_key_that_stands_twice_is_refused(command, tmp_path):
    (tmp_path / "c.yaml").write_text("score:\n  unparsed: wrong\n  unparsed: own_class\n")
    assert "the key 'unparsed' twice" in command.refused(
        "score", tmp_path / "absent.csv", "--config", tmp_path / "c.yaml"
    )


def test_a_record_without_a_number_of_rows_is_told(command, tmp_path):
    (tmp_path / "run").mkdir()
    file = write(tmp_path / "run" / "predictions.csv", [(1, 1, 1)])
    entry = {"bytes": file.stat().st_size, "sha256": "0", "rows": [23]}
    (tmp_path / "run" / "run.json").write_text(json.dumps({"files": {file.name: entry}, "ended": "now"}))
    code, out, err = command("check", tmp_path / "run")
    assert code in (1, 2), (out, err)
    assert "TypeError" not in out + err


ROWS = [(b, (b + k) % 2, b % 2, "x;y;z;u;v") for b in range(20) for k in range(3)]
LINES = "\n".join(["bucket_id,prediction,label,a;b;c;d;e", *(",".join(map(str, row)) for row in ROWS), ""])


@pytest.mark.parametrize("content", [
    f"{LINES}   \n", f"{LINES}\t", f"{LINES}\x1a", f"{LINES}\r\n\x1a\r\n", f"\ufeff\ufeff{LINES}",
    LINES.translate(str.maketrans(",;", ";,"))
], ids=["blanks", "tab", "0x1a", "0x1a in a line", "two marks", "semicolons"])  # fmt: skip
def test_the_columns_of_a_csv_are_found(command, tmp_path, content):
    (tmp_path / "rows.csv").write_text(content, encoding="utf-8", newline="")
    (found,) = command.json("score", tmp_path / "rows.csv").values()
    assert found["measures"]["paraphrastic_consistency"]["n_examples"] == len(ROWS)


def test_a_run_that_is_not_finished_is_called_so(command, tmp_path):
    """As after a budget: it was told to name the file of a table."""
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "predictions").mkdir()
    assert "must be a finished run" in command.refused("score", tmp_path)


@pytest.mark.faults
def test_several_runs_are_told_of_what_takes_them(command, tmp_path):
    """A finished run was said not to be finished, where another stood beside it."""
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "predictions").mkdir()
    (tmp_path / "predictions" / "a.parquet").touch()
    assert "must be the only one, as it is a run" in command.refused("score", tmp_path, tmp_path)


@pytest.mark.parametrize("name", ["score", "report", "compare", "gate"])
def test_a_folder_of_runs_or_of_a_model_says_what_to_type(name, command, tmp_path):
    """As a sweep, adversarial training and `train` write them: their subfolders were listed, runs or not."""
    words = [name, "pc > 0"] if name == "gate" else [name]
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "training.json").write_text("{}")
    remedy = f"It holds a model: `paraconsist run --model {tmp_path / 'model'} ...` asks it."
    assert remedy in command.refused(*words, tmp_path / "model")
    runs = [tmp_path / "cells" / cell / "run" for cell in ("a", "b")]
    for run in runs:
        run.mkdir(parents=True)
        (run / "run.json").write_text("{}")
    assert f"Give the runs in it: {runs[0]} {runs[1]}." in command.refused(*words, tmp_path)


@pytest.mark.parametrize(
    "words", ["score", "compare other.csv", "report other.csv", "report --summary", "sheet --overwrite"]
)
def test_no_command_writes_over_what_it_reads(words, command, tmp_path, monkeypatch):
    """The answers were replaced by results or a page, without a word."""
    monkeypatch.chdir(tmp_path)
    answers = write(tmp_path / "answers.csv", [(b, b % 2, b % 2) for b in range(20)])
    write(tmp_path / "other.csv", [(b, b % 3, b % 2) for b in range(20)])
    before, (name, *others) = answers.read_bytes(), words.split()
    said = command.refused(name, "answers.csv", *others, "--output", "./answers.csv")
    assert "another file than those that are read" in said
    assert answers.read_bytes() == before


@pytest.mark.faults
def test_no_command_writes_over_the_results_of_a_run_that_it_reads(command, tmp_path):
    """`artifacts --partial a --full b --output a/results.json` did, and `check a` called it damaged."""
    (tmp_path / "run.json").write_text('{"ended": "2026-01-02T03:04:05Z"}')
    results = tmp_path / "results.json"
    results.write_text("{}")
    said = command.refused("artifacts", "--partial", tmp_path, "--full", "b", "--output", results)
    assert "another file than those that are read" in said
    assert results.read_text() == "{}"


def test_the_page_of_scores_is_not_written_over_their_answers(tmp_path):
    pytest.importorskip("jinja2")
    answers = write(tmp_path / "answers.csv", [(b, b % 2, b % 2) for b in range(20)])
    before = answers.read_bytes()
    with pytest.raises(InputError, match="another file than the answers"):
        pc.score(answers).report(answers)
    assert answers.read_bytes() == before


def test_warnings_call_options_as_they_are_typed(tmp_path, command):
    """Errors did; a warning said `labelled`, of `--labelled`. A comparer's name, as `text`, is no option."""
    lines = [{"bucket_id": f"b{i // 2}", "prediction": "word " * 30, "label": "a" * (i < 4)} for i in range(8)]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    told = command.done("score", path, "--same", "text")
    assert "left out of all; `--labelled` scores the others alone" in told
    assert "`text` compares them word for word: `similar`, `nli`" in told
    (scored,) = pc.score(path, same="text").sets.values()
    assert any("; `labelled` scores the others alone" in warning for warning in scored.warnings)
