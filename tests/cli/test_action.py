"""The GitHub Action and the GitLab job: their shell steps on a toy repository, with a model as good and a worse one."""

import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.logs import inspect_log
from helpers.scripts import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def write_answers(path: Path, wrong: float) -> None:
    """Answers to 100 buckets of five wordings, of which a share is wrong."""
    lines = ["example_id,bucket_id,role,label,prediction"]
    for i in range(500):
        is_wrong = (i * 37) % 500 < 500 * wrong
        lines.append(f"e{i},b{i // 5},paraphrase,{i // 5 % 2},{(i // 5 + is_wrong) % 2}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, wrong in (("baseline", 0.1), ("good", 0.11), ("worse", 0.3)):
        write_answers(tmp_path / f"{name}.csv", wrong)
    programs = {"paraconsist": f'exec "{sys.executable}" -m paraconsist "$@"', "gh": 'echo "$@" > "$RUNNER_TEMP/asked"'}
    (tmp_path / "bin").mkdir()
    for name, line in programs.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/bash\n{line}\n", encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def run_action(folder: Path, inputs: dict[str, str]) -> tuple[int, dict[str, str]]:
    """Run the action's shell steps as the runner does; return the exit code of the last, and all outputs."""
    inputs = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | inputs
    known = {f"inputs.{name}": value for name, value in inputs.items()}
    known |= {"github.event.pull_request.number": "7", "github.repository": "ada/toy"}
    outputs: dict[str, str] = {}
    code = 0
    for step in ACTION["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "what others write stands in variables, never in the shell's text"
        if step["name"] == "install":
            continue

        known |= {f"steps.gate.outputs.{name}": value for name, value in outputs.items()}
        env = {name: re.split(r"\$\{\{ (.+?) \}\}", text) for name, text in step.get("env", {}).items()}
        own = {name: "".join([*parts[::2], *map(known.__getitem__, parts[1::2])]) for name, parts in env.items()}
        runner = {"RUNNER_TEMP": folder, "GITHUB_OUTPUT": folder / "out", "GITHUB_STEP_SUMMARY": folder / "summary.md"}
        variables = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", **own, **{k: str(v) for k, v in runner.items()}}
        call = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        code = subprocess.run(call, cwd=folder, env=variables, check=False).returncode
        if (folder / "out").exists():
            outputs |= dict(line.split("=", 1) for line in (folder / "out").read_text().splitlines())
        if code:
            break
    return code, outputs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "code", "verdict"),
    [
        ({"predictions": "good.csv", "baseline": "baseline.csv", "margin": "0.05"}, 0, "pass: pc.not_worse "),
        ({"predictions": "worse.csv", "baseline": "baseline.csv", "margin": "0.05"}, 1, "fail: pc.not_worse "),
        pytest.param(
            *({"predictions": "good.csv", "baseline": "baseline.csv"}, 0, "pass: pc.not_worse "),
            id="a baseline and the default margin",
            marks=pytest.mark.faults,
        ),
        ({"predictions": "worse.csv", "condition": "pc.low >= 0.75"}, 1, "fail: pc.low >= 0.75 "),
        ({"predictions": "absent.csv", "condition": "pc.low >= 0.75"}, 2, "no verdict"),
    ],
)
def test_the_action_gates_and_posts_the_table(repository, inputs, code, verdict):
    assert run_action(repository, inputs)[0] == code
    summary = (repository / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith(f"### paraconsist\n\n```text\n{verdict}")
    assert ("| this change |" in summary) == ("baseline" in inputs)
    assert (repository / "asked").read_text() == (
        f"pr comment 7 --edit-last --create-if-none --body-file {repository}/paraconsist.md\n"
    )


@pytest.mark.faults
@pytest.mark.slow
def test_an_option_that_only_the_gate_has_leaves_its_verdict(repository):
    inputs = {"predictions": "good.csv", "baseline": "baseline.csv", "options": "--allow-degenerate"}
    code, outputs = run_action(repository, inputs)
    assert (code, outputs["verdict"].startswith("pass: pc.not_worse ")) == (0, True)
    assert "No table" in (repository / "summary.md").read_text(encoding="utf-8")


@pytest.mark.faults
@pytest.mark.slow
def test_columns_of_ones_own_and_a_set_that_is_called_like_a_link(repository):
    for name in ("good", "baseline"):
        text = (repository / f"{name}.csv").read_text(encoding="utf-8").replace("bucket_id", "question")
        (repository / f"{name} [l](http:evil) @team.csv").write_text(text, encoding="utf-8")
    files = {
        role: f"{name} [l](http:evil) @team.csv" for role, name in (("predictions", "good"), ("baseline", "baseline"))
    }
    assert run_action(repository, {**files, "options": "--bucket question"})[0] == 0
    before, verdict, after = (repository / "summary.md").read_text(encoding="utf-8").split("```", 2)
    assert "@team" in verdict
    assert not re.search(r"@|(?<!\\)\]\(", before + after)


@pytest.mark.faults
@pytest.mark.slow
def test_a_log_whose_problems_are_in_its_metadata(repository):
    inputs = {"predictions": str(inspect_log("yes-no")), "condition": "accuracy >= 0"}
    assert run_action(repository, inputs)[0] == 2
    code, outputs = run_action(repository, {**inputs, "options": "--bucket metadata.question_id"})
    assert (code, outputs["verdict"].startswith("pass: accuracy >= 0 ")) == (0, True)


@pytest.mark.slow
def test_the_gitlab_job_of_the_document_runs(repository):
    text = (ROOT / "docs" / "howto" / "ci.md").read_text(encoding="utf-8")
    job: dict[str, Any] = yaml.safe_load(re.search(r"# .gitlab-ci.yml\n(.*?)```", text, re.DOTALL)[1])["consistency"]
    lines = "\n".join(line for line in job["script"] if not line.startswith(("pip ", "python ")))
    for model, code in (("good", 0), ("worse", 1)):
        (repository / "answers.csv").write_bytes((repository / f"{model}.csv").read_bytes())
        call = ["bash", "-eo", "pipefail", "-c", lines]
        done = subprocess.run(call, cwd=repository, env={"PATH": f"{repository / 'bin'}:/usr/bin:/bin"}, check=False)
        assert done.returncode == code
        assert "| answers |" in (repository / "consistency.md").read_text(encoding="utf-8")
