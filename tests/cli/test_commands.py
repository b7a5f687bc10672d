"""What holds for every command: short, apart from the others, its errors in the words of its user."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from paraconsist.cli import app as application
from paraconsist.errors import input_error

FOLDER = Path(application.__file__).parent
TREES = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.py")}
#: Module -> the functions of it that are commands.
COMMANDS: dict[str, list[str]] = {}
for name, one in application.COMMANDS.items():
    identifier = name.replace("-", "_")
    COMMANDS.setdefault(one.module or identifier, []).append("list_" if name == "list" else identifier)


def test_every_command_is_listed_in_one_line_of_its_panel_without_being_imported(monkeypatch):
    group = application.app
    monkeypatch.setattr(group, "commands", {})
    lines = group.get_help(group.make_context("paraconsist", ["run"], resilient_parsing=True)).splitlines()
    assert not group.commands
    for name, one in application.COMMANDS.items():
        assert [line.split() for line in lines].count([name, *one.help.split()]) == 1
        assert group.get_command(None, name).name == name
    assert {f"{one.panel}:" for one in application.COMMANDS.values()} <= set(lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("module", COMMANDS)
def test_a_command_is_short_and_imports_no_other(module):
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.ImportFrom) and (other := str(node.module)).startswith("paraconsist.cli."):
            assert not {alias.name for alias in node.names} & {*COMMANDS.get(other.rpartition(".")[2], ())}
        if isinstance(node, ast.FunctionDef) and node.name in COMMANDS[module]:
            first, last = node.body[0], node.body[-1]
            assert last.end_lineno - first.lineno + 1 <= 60


@pytest.mark.parametrize("module", COMMANDS)
def test_json_is_printed_and_written_in_one_place(module):
    imported = {alias.name for node in ast.walk(TREES[module]) if isinstance(node, ast.Import) for alias in node.names}
    assert "json" not in imported


def test_an_error_names_the_options_of_the_command():
    run, score = (application.app.get_command(None, name) for name in ("run", "score"))
    problem = input_error(
        "load_model", "key_variable", "be given with `urls`, not `path`", remedy="Or give `json` or `tries`."
    )
    typed = application._as_typed(problem, "run", run)
    assert (typed.function, typed.parameter) == ("run", "--api-key-variable")
    assert typed.must == "be given with `--endpoint`, not `path`"
    assert typed.remedy == "Or give `json` or `--tries`."  # `run` has no option --json
    problem = input_error("score_set", "path", "be there", remedy="See `as_json` and `json`.")
    typed = application._as_typed(problem, "score", score)
    assert (typed.function, typed.parameter) == ("score", "path")  # an argument keeps its name
    assert typed.remedy == "See `--json` and `--json`."
