"""Files that do not quite match are compared: agents with another number of runs, labels as numbers and as text."""

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import Command
from helpers.errors import refuses

import paraconsist as pc


def runs_of(folder: Path, name: str, n_runs: list[int], seed: int) -> Path:
    """Write a log of as many runs of each task, in any order."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "task_id": task,
            "trial": run,
            "reward": int(rng.random() < 0.6),
            "calls": ["search", "buy"][: rng.integers(3)],
        }
        for task, n in enumerate(n_runs)
        for run in range(n)
    ]
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(json.dumps(rows[i]) for i in rng.permutation(len(rows))))
    return path


@pytest.mark.faults
def test_agents_with_another_number_of_runs_are_compared_on_the_runs_that_all_have(
    tmp_path: Path, command: Command
) -> None:
    """They were refused: '`--example` must name the same rows in every file'. Those of least number, in any order."""
    one = runs_of(tmp_path / "all", "one", [4] * 11 + [2], 1)
    two = runs_of(tmp_path / "all", "two", [3] * 12, 2)
    (found,) = pc.compare(one, two).to_dict()
    assert any("35 runs" in note and "one has 46, two has 36" in note for note in found["warnings"])
    kept = {"one": [3] * 11 + [2], "two": [3] * 11 + [2]}
    first = []
    for path in (one, two):
        rows = [(json.loads(line), line) for line in path.read_text().splitlines()]
        (tmp_path / "few").mkdir(exist_ok=True)
        first.append(tmp_path / "few" / path.name)
        lines = [line for row, line in rows if int(row["trial"]) < kept[path.stem][row["task_id"]]]
        first[-1].write_text("\n".join(lines))
    (alone,) = pc.compare(*first).to_dict()
    assert found["pairs"] == alone["pairs"]
    assert found["ranking"] == alone["ranking"]
    command.out("report", one, two, "--output", tmp_path / "page.html")
    text = re.sub(r"<[^>]+>|\s+", " ", (tmp_path / "page.html").read_text())
    assert "compared on 35 runs" in re.sub(" +", " ", text)


@pytest.mark.faults
def test_one_answer_in_words_makes_no_other_kind_of_labels(tmp_path: Path) -> None:
    """A file of 0 and 1 with one n/a is text: it was refused beside one of numbers."""
    rng = np.random.default_rng(3)
    rows = [f"{row // 3},{{}},{row // 3 % 2}" for row in range(60)]
    drawn, files = rng.integers(0, 2, (2, 60)).astype(str), {}
    for name, odd in {"a": "1", "words": "n/a", "empty": ""}.items():
        answers = drawn[int(name != "a")].tolist()
        answers[7] = odd
        files[name] = tmp_path / f"{name}.csv"
        lines = [row.format(answer) for row, answer in zip(rows, answers, strict=True)]
        files[name].write_text("\n".join(["bucket_id,prediction,label", *lines]))
    (found,), (usual,) = (pc.compare(files["a"], files[name]).to_dict() for name in ("words", "empty"))
    for one, other in zip(found["pairs"], usual["pairs"], strict=True):
        for key in ("difference", "p_value", "confidence_interval"):
            assert one["result"][key] == other["result"][key]
    named = tmp_path / "named.csv"
    named.write_text(files["a"].read_text().replace(",1", ",yes").replace(",0", ",no"))
    refuses("`label` must be of one kind in all files", pc.compare, files["a"], named)


@pytest.mark.faults
def test_the_steadiness_of_the_sentence_is_that_beside_the_bar(tmp_path: Path, command: Command) -> None:
    """12.5, summed in two orders, was 13 in the one and 12 in the other."""
    draw, files = random.Random(0), []
    for name, n_runs in (("a", 4), ("b", 3)):
        keys = [(task, run) for task in range(12) for run in range(n_runs)]
        drawn = [(key, int(draw.random() < 0.6), ["search", "buy"][: 1 + draw.randrange(2)]) for key in keys]
        rows = [{"task_id": task, "trial": run, "reward": won, "calls": of} for (task, run), won, of in drawn]
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text("\n".join(map(json.dumps, rows)))
    command.out("report", *files, "--output", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    (said,) = set(re.findall(r"Steadiness (\d+) of 100", page))
    assert re.findall(r'aria-label="(\S+) of 100"', page)[0] == said == "12"
