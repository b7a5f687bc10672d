"""What holds for every command: short, apart from the others, its errors in the words of its user."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import typer

from paraconsist.cli import app as application
from paraconsist.errors import input_error

FOLDER = Path(application.__file__).parent
TREES = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.py")}
#: Module -> the functions of it that are commands.
COMMANDS = {
    node.module.rpartition(".")[2]: [alias.name for alias in node.names]
    for node in TREES["app"].body
    if isinstance(node, ast.ImportFrom) and str(node.module).startswith("paraconsist.cli.")
}
del COMMANDS["options"]


def test_every_command_is_looked_at():
    names = [name for functions in COMMANDS.values() for name in functions]
    assert len(names) == len(typer.main.get_command(application.app).commands)


@pytest.mark.parametrize("module", COMMANDS)
def test_a_command_is_short_and_imports_no_other(module):
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.ImportFrom):
            assert str(node.module).removeprefix("paraconsist.cli.") not in {"app", *COMMANDS} - {module}
        if isinstance(node, ast.FunctionDef) and node.name in COMMANDS[module]:
            first, last = node.body[0], node.body[-1]
            assert last.end_lineno - first.lineno + 1 <= 60


@pytest.mark.parametrize("module", COMMANDS)
def test_json_is_printed_and_written_in_one_place(module):
    imported = {alias.name for node in ast.walk(TREES[module]) if isinstance(node, ast.Import) for alias in node.names}
    assert "json" not in imported


def test_an_error_names_the_options_of_the_command():
    command = typer.main.get_command(application.app)
    problem = input_error(
        "load_model", "key_variable", "be given with `url`, not `path`", remedy="Or give `json` or `tries`."
    )
    typed = application._as_typed(problem, command, ["--config", "run"])
    assert (typed.function, typed.parameter) == ("run", "--api-key-variable")
    assert typed.must == "be given with `--endpoint`, not `path`"
    assert typed.remedy == "Or give `json` or `--tries`."  # `run` has no option --json
    problem = input_error("score_set", "path", "be there", remedy="See `as_json` and `json`.")
    typed = application._as_typed(problem, command, ["score", "file"])
    assert (typed.function, typed.parameter) == ("score", "path")  # an argument keeps its name
    assert typed.remedy == "See `--json` and `--json`."
    problem = input_error("score_set", "path", "be there")
    assert application._as_typed(problem, command, ["--help"]).function == "score_set"
