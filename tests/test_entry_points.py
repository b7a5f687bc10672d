"""What another distribution adds (the package of docs/howto/extend.md, installed with pip) is found and used."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.scripts import ROOT

pytestmark = pytest.mark.slow
#: A second distribution, all of whose entry points are broken, each in another way.
BROKEN = """
[paraconsist.measures]
absent = no_such_module:MEASURE
fails = broken:FAILS
[paraconsist.logs]
odd = broken:NUMBER
raises = broken:RAISES
[paraconsist.comparers]
text = broken:NUMBER
shade = broken:NUMBER
[paraconsist.commands]
score = broken:command
unloadable = no_such_module:command
"""
CODE = """
from dataclasses import dataclass, replace
from paraconsist.data.logs.format import LogFormat
from paraconsist.measures.results import Result
from toys import LOSS_RATE

@dataclass(frozen=True, repr=False)
class Empty(Result):
    n_pairs: int

def fails(*args, **options):
    return Empty(n_pairs=1, confidence_interval={}, signature="fails|ci:none", warnings=())

NUMBER = 3
FAILS = replace(LOSS_RATE, function=fails)
RAISES = LogFormat("raises", "a file that fails", lambda path, head: 1 // 0, None)

def command(path: str) -> None:
    raise AssertionError
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the two distributions into a folder."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    page = (ROOT / "docs" / "howto" / "extend.md").read_text(encoding="utf-8")
    blocks = {kind: re.findall(rf"^```{kind}\n(.*?)^```$", page, re.M | re.S) for kind in ("toml", "python", "json")}
    (source / "pyproject.toml").write_text(blocks["toml"][0], encoding="utf-8")
    (source / "toys.py").write_text("\n\n".join(blocks["python"]), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, capture_output=True)
    record = json.loads(blocks["json"][0])
    for folder, step in {target: 7, target / "other": 8}.items():
        folder.mkdir(exist_ok=True)
        roles = ["original", "paraphrase", "paraphrase"] * 20
        rows = (
            {"id": f"r{i}", "question_id": f"q{i // 3}", "kind": role, "correct": i * step // 5 % 2}
            for i, role in enumerate(roles)
        )
        (folder / "run.quiz.jsonl").write_text("".join(json.dumps(record | row) + "\n" for row in rows))
    information = target / "broken-2.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 2.0\n")
    (information / "entry_points.txt").write_text(BROKEN)
    (target / "broken.py").write_text(CODE)
    return target


def call(folder: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    """Run the command line where the distributions are installed; return standard output and standard error."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "paraconsist", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path, "COLUMNS": "120"}
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


LOG = ("run.quiz.jsonl", "--bucket", "question_id", "--role", "kind")


def naive() -> float:
    right = [i * 7 // 5 % 2 == 1 for i in range(60)]
    lost = [not right[i] for i in range(60) if i % 3 and right[i - i % 3]]
    return sum(lost) / len(lost)


def test_the_measure_and_the_log_are_scored_gated_compared_and_shown(installed: Path) -> None:
    out, errors = call(installed, "score", *LOG, "--measure", "loss_rate", "--output", "scores.json")
    assert f"{100 * naive():.1f}" in out
    assert "raises" in errors
    (values,) = find(json.loads((installed / "scores.json").read_text()), "loss_rate")
    assert values["loss_rate"] == pytest.approx(naive())
    for most, code, verdict in ((naive() + 0.01, 0, "pass"), (0.01, 1, "fail")):
        gate = ("gate", f"loss_rate <= {most}", *LOG, "--measure", "loss_rate")
        assert call(installed, *gate, code=code)[0].startswith(verdict)
    both = (LOG[0], "other/run.quiz.jsonl", *LOG[1:])
    assert "loss rate" in call(installed, "compare", *both, "--measure", "loss_rate")[0].lower()
    call(installed, "report", *LOG, "--measure", "loss_rate", "--output", "page.html")
    assert "loss rate" in (installed / "page.html").read_text(encoding="utf-8").lower()


def find(value: Any, name: str) -> list[dict[str, Any]]:
    """Return the mappings under a name, at any depth, that have the name as a key."""
    if not isinstance(value, dict):
        return []
    inner = [found for other in value.values() for found in find(other, name)]
    return [*([value] if isinstance(value.get(name), float) and "signature" in value else []), *inner]


def test_the_measure_and_the_command_are_listed_and_the_command_runs(installed: Path) -> None:
    out, errors = call(installed, "list")
    assert "loss_rate" in out
    assert "'absent' in paraconsist.measures of the distribution broken" in errors
    out, errors = call(installed, "--help")
    assert "largest-bucket" in out
    assert "'score' in paraconsist.commands of the distribution broken" in errors
    (installed / "mine.csv").write_text("question_id\na\nb\nb\n")
    assert call(installed, "largest-bucket", "mine.csv", "--bucket", "question_id")[0] == "b: 2 rows\n"
    assert "--bucket" in call(installed, "largest-bucket", "--help")[0]


ANSWERS = """bucket_id,prediction
sky,It is navy.
sky,"Blue, not red? No: blue."
sky,I do not know
rose,Red
rose,scarlet
"""


def test_the_comparer_is_listed_and_reads_answers(installed: Path) -> None:
    (installed / "answers.csv").write_text(ANSWERS)
    out, errors = call(installed, "list", "--comparers")
    assert "they name the same colour last" in out
    assert "'text' in paraconsist.comparers of the distribution broken" in errors
    code = (
        "import csv, paraconsist as pc\n"
        "rows = list(csv.DictReader(open('answers.csv')))\n"
        "texts, buckets = [r['prediction'] for r in rows], [r['bucket_id'] for r in rows]\n"
        "print(*(pc.answer_classes(texts, buckets, same=s).tolist() for s in ('colour', 'colour:exactly', 'text')))"
    )
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=installed,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout == "[0, 0, -1, 0, 0] [0, 1, -1, 0, 1] [0, 1, 2, 0, 1]\n"
    for same in ("colour", "colour:exactly"):
        call(installed, "score", "answers.csv", "--same", same, "--output", "colours.json")
        assert f'"{same}"' in (installed / "colours.json").read_text()
    assert "nothing or exactly" in call(installed, "score", "answers.csv", "--same", "colour:so", code=2)[1]
    _, errors = call(installed, "score", "answers.csv", "--same", "shade", code=2)
    assert "'shade' in paraconsist.comparers of the distribution broken" in errors


def test_what_is_broken_is_named_and_nothing_else_fails(installed: Path) -> None:
    _, errors = call(installed, "score", *LOG, "--measure", "fails", code=2)
    assert "fails" in errors
    assert "loss_rate" in errors
    assert "Traceback" not in errors
    _, errors = call(installed, "score", *LOG, "--measure", "absent", code=2)
    assert "the distribution broken" in errors
    _, errors = call(installed, "unloadable", code=2)
    assert "No such command 'unloadable'" in errors
    assert "Traceback" not in errors


def test_installing_changes_no_default(installed: Path) -> None:
    assert "loss" not in call(installed, "score", *LOG)[0].lower()
