"""`paraconsist init` in an empty folder: what it writes runs, and fails where answers depend on the wording."""

import re
import subprocess
import sys

import pytest
import yaml

import paraconsist as pc


@pytest.fixture
def begun(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path, command.done("init")


def run_tests(folder):
    asked = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--paraconsist-report", "report.html"]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_files_are_told_and_none_is_replaced(begun, command):
    folder, out = begun
    files = ["questions.yaml", "consistency_test.py", ".github/workflows/consistency.yml"]
    assert re.findall(r"wrote (\S+)", out) == files
    (folder / "questions.yaml").write_text("mine")
    assert "questions.yaml" in command.refused("init")
    assert (folder / "questions.yaml").read_text() == "mine"


def test_the_workflow_runs_the_test_and_keeps_the_page(begun):
    workflow = yaml.safe_load((begun[0] / ".github/workflows/consistency.yml").read_text(encoding="utf-8"))
    commands = [step.get("run", "") for step in workflow["jobs"]["consistency"]["steps"]]
    assert [line.partition(" ")[0] for line in commands if line] == ["pip", "pytest"]
    assert "consistency_test.py --paraconsist-report report.html" in commands[-2]


@pytest.mark.slow
def test_the_test_passes_as_it_is_and_fails_where_answers_depend_on_the_wording(begun):
    folder, _ = begun
    code, out = run_tests(folder)
    assert (code, "1 passed" in out) == (0, True), out
    assert "the same answer" in (folder / "report.html").read_text(encoding="utf-8")
    test = folder / "consistency_test.py"
    test.write_text(test.read_text(encoding="utf-8").replace('if "day" in prompt', 'if "How many" in prompt'))
    code, out = run_tests(folder)
    assert code == 1
    assert "wording_change <= 0.1" in out
    assert "2 of 2 buckets flip" in out


def test_the_questions_are_asked_by_run_too(begun):
    def numbers(prompts):
        return [f"It is {i}." for i, _ in enumerate(prompts)]

    run = pc.run(numbers, "questions.yaml", output="run", version="1")
    (scored,) = run.score().sets.values()
    assert (scored.wording.wording_change, scored.wording.n_wordings) == (1.0, 6)
