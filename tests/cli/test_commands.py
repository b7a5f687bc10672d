"""What holds for every command: short, apart from the others, its errors in the words of its user."""

import ast
import re
import shlex
from pathlib import Path

import pytest

from paraconsist.cli import app as application
from paraconsist.data.logs.reading import built_in
from paraconsist.errors import input_error
from paraconsist.models.endpoint.settings import EndpointSettings

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
        "load_model", "api_key_variable", "be given with `urls`, not `path`", remedy="Or give `json` or `tries`."
    )
    problem.name_as(application._as_typed(run))
    assert (problem.parameter, problem.must) == ("--api-key-variable", "be given with `--endpoint`, not `path`")
    assert problem.remedy == "Or give `json` or `--tries`."  # `run` has no option --json
    problem = input_error("score_set", "path", "be there", remedy="See `as_json` and `json`.")
    problem.name_as(application._as_typed(score))
    assert (problem.parameter, problem.remedy) == ("path", "See `--json` and `--json`.")  # an argument keeps its name


@pytest.mark.parametrize("name", application.COMMANDS)
def test_help_begins_with_examples_that_parse(command, name):
    called = application.app.get_command(None, name)
    assert len(called.examples) == 2
    code, out, _ = command(name, "--help")
    assert (code, out.splitlines()[2 : 2 + len(called.examples)]) == (0, [f"  {line}" for line in called.examples])
    for line in (line for line in called.examples if line.startswith("paraconsist ")):  # lm_eval's own is another
        program, word, *arguments = shlex.split(line)
        assert (program, word) == ("paraconsist", name)
        given = called.make_context(name, arguments).params
        assert [*(given.get("dataset") or ())] != ["sample"], "a set of several configs is refused without one"


@pytest.mark.faults
@pytest.mark.parametrize("name", application.COMMANDS)
def test_help_calls_options_as_they_are_typed(name):
    """`score --checked` said "With `same`", `run --dry-run` "With `endpoint`", `plan --label-cost` "with `checked`"."""
    for parameter in application.app.get_command(None, name).params:
        words = re.findall(r"`([a-z_]+)`", getattr(parameter, "help", "") or "")
        assert [word for word in words if word not in application.COMMANDS] == [], parameter.name


@pytest.mark.faults
def test_help_says_how_long_and_how_often_an_endpoint_is_asked(command):
    page = " ".join(command("run", "--help")[1].split())
    settings = EndpointSettings(urls="http://localhost/v1")
    for name in ("concurrency", "timeout", "tries"):
        assert re.search(rf"--{name} \w+ [^-]*by default {getattr(settings, name):g}[;.]", page), name


@pytest.mark.faults
def test_help_and_documents_are_of_today(command):
    """Q13: all formats of logs are named, an option has one text, and what the sign flips depend on is said."""
    pages = {name: command(name, "--help-all")[1] for name in ("score", "compare", "gate")}
    score, *_ = texts = [" ".join(page.split()) for page in pages.values()]
    formats = ("lighteval", "lm-eval", "inspect_ai", "deepeval", "MLflow", "promptfoo", "OpenAI evals")
    formats += ("Every Eval Ever", "tau-bench", "tau2", "BFCL", "HAL")
    faq = (Path(__file__).parents[2] / "docs" / "faq.md").read_text(encoding="utf-8")
    assert len(formats) == len(built_in()) - 1  # a table is no log
    assert all(name in score and name in faq for name in formats)
    options = ("--no-renormalize", "--n-resamples INTEGER")
    of_options = [re.findall(rf"{name} ([A-Z].*?[.])", " ".join(texts)) for name in options]
    assert [len(set(found)) for found in of_options] == [1, 1]
    assert "sign flips" in of_options[1][0]


def test_rare_options_are_left_to_help_all(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    short, whole = (command("score", option)[1] for option in ("--help", "--help-all"))
    assert len(short.splitlines()) <= 50
    n = sum(parameter.rare for parameter in application.app.get_command(None, "score").params)
    assert short.splitlines()[-1] == f"{n} more options: paraconsist score --help-all"
    assert ("--epoch" in short, "--epoch" in whole, "more options" in whole) == (False, True, False)


@pytest.mark.faults
def test_an_option_of_another_command_is_told_where_it_is(command):
    """`run` was asked for an option of scoring, and told of options that are spelled alike."""
    said = command.refused("run", "--model", "m", "--dataset", "q.csv", "--output", "out", "--unparsed", "wrong")
    words = said.replace("option: --unparsed", "option '--unparsed'")  # as older releases of click say it
    assert "No such option '--unparsed'. It is an option of score, compare, gate, report," in words
    assert "--seed" not in said
    assert "Did you mean" in command.refused("run", "--output-folder", "out")


@pytest.mark.faults
def test_a_list_in_a_config_where_one_value_is_needed(command, tmp_path):
    """B30"""
    config = tmp_path / "c.yaml"
    config.write_text("output: [a.json, b.json]\n")
    code, _, err = command("score", "rows.csv", "--config", config)
    assert (code, err) == (
        2,
        "error: score: `--config` must have a single value for `--output`; got ['a.json', 'b.json'].\n",
    )


@pytest.mark.parametrize(
    ("shell", "file"), [("bash", ".bashrc"), ("fish", ".config/fish/completions/paraconsist.fish")]
)
def test_completion_is_installed_once(command, monkeypatch, tmp_path, shell, file):
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    monkeypatch.setenv("HOME", str(tmp_path))
    for _ in range(2):
        assert command("--install-completion")[0] == 0
    assert (tmp_path / file).read_text().count("_PARACONSIST_COMPLETE") == 1
    monkeypatch.setenv("SHELL", "")
    assert command("--show-completion")[0] == 2
