"""Agents that were run a different number of times: of each task as many runs of every model are compared."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import Command

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
    """They were refused: '`--example` must name the same rows in every file'."""
    one = runs_of(tmp_path / "all", "one", [4] * 11 + [2], 1)
    two = runs_of(tmp_path / "all", "two", [3] * 12, 2)
    (found,) = pc.compare(one, two).to_dict()
    assert any("35 runs" in note and "one has 46, two has 36" in note for note in found["warnings"])
    kept = {"one": [3] * 11 + [2], "two": [3] * 11 + [2]}
    first = []
    for path in (one, two):
        counts, lines = dict(enumerate(kept[path.stem])), []
        for line in path.read_text().splitlines():
            if counts[task := json.loads(line)["task_id"]]:
                counts[task] -= 1
                lines.append(line)
        (tmp_path / "few").mkdir(exist_ok=True)
        first.append(tmp_path / "few" / path.name)
        first[-1].write_text("\n".join(lines))
    (alone,) = pc.compare(*first).to_dict()
    assert found["pairs"] == alone["pairs"]
    assert found["ranking"] == alone["ranking"]
    command.out("report", one, two, "--output", tmp_path / "page.html")
    text = re.sub(r"<[^>]+>|\s+", " ", (tmp_path / "page.html").read_text())
    assert "compared on 35 runs" in re.sub(" +", " ", text)
