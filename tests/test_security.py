"""What SECURITY.md promises: no file steers the terminal or hides a formula, and nothing leaves this machine unseen."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from helpers.commands import write

from paraconsist.errors import InputError, visible
from paraconsist.reporting.result import compare, score

SOURCE = Path(__file__).resolve().parents[1] / "src" / "paraconsist"

#: The title of the window; markup of rich; an overriding sign; a line of one's own; a C1 control; a carriage return.
HOSTILE = "\x1b]0;owned\x07 [red]x[/red] a\u202eb up\nerror: forged \x9b31m good\rbad"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def hostile_rows(text: str = HOSTILE, *, right: int = 1) -> list[dict]:
    """A set whose labels, strata and ids are hostile."""
    answers = [(0, "original", 0), (0, "paraphrase", 0), (0, "paraphrase", 1)]
    answers += [(1, "original", 1), (1, "paraphrase", right)]
    labels = [text, f"{text} no"]
    return [
        {"bucket_id": f"{text}{b}", "role": role, "label": labels[b % 2], "prediction": labels[p], f"by {text}": text}
        for b, role, p in [(2 * n + b, role, p) for n in range(6) for b, role, p in answers]
    ]


def shown(text: str) -> str:
    assert not STEERING.search(text), text
    return text


# ---------------------------------------------------------------------------- the terminal


def test_what_steers_a_terminal_is_shown(command, tmp_path):
    files = [write(tmp_path / f"{n}.parquet", hostile_rows(right=n)) for n in (0, 1)]
    stratum = ("--stratum", f"by {HOSTILE}")
    code, out, err = command("score", files[0], *stratum, "--label-names", "x")
    assert code == 2  # the labels are other ones: they stand in the error
    for call in (("score", files[0], *stratum), ("score", files[0], *stratum, "--markdown"), ("compare", *files)):
        code, printed, aside = command(*call, "--n-resamples", 20)
        assert code == 0, aside
        out, err = out + printed, err + aside
    assert visible(HOSTILE) in shown(out).replace("\\[", "[").replace("\\\\", "\\").replace("\\]", "]")
    assert "error: forged" not in [line.strip() for line in (out + err).splitlines()]
    shown(err)
    scores = score(files[0], stratum=[f"by {HOSTILE}"], n_resamples=20)
    shown(str(scores) + scores._repr_html_() + str(compare(*files, n_resamples=20)))


def test_json_that_is_printed_escapes_what_steers_a_terminal(command, tmp_path):
    file = write(tmp_path / "a.parquet", hostile_rows())
    code, printed, _ = command("score", file, "--stratum", f"by {HOSTILE}", "--json", "--n-resamples", 20)
    assert code == 0
    assert HOSTILE in next(iter(json.loads(shown(printed)).values()))["strata"]["label"]


def test_names_of_files_models_and_columns_in_errors_and_warnings_are_shown(command, tmp_path, capsys):
    from paraconsist.cli.app import _show_warning

    code, _, err = command("score", tmp_path / f"{HOSTILE}.csv")
    assert code == 2
    assert len(shown(err).splitlines()) == 1
    code, _, err = command("score", f"--{HOSTILE}")
    assert code == 2
    shown(err)
    _show_warning(UserWarning(f"the label {HOSTILE} is rare"), UserWarning)
    assert len(shown(capsys.readouterr().err).splitlines()) == 1
    with pytest.raises(InputError) as raised:
        raise InputError(f"have the column {HOSTILE}", function="score", parameter="label", remedy=f"It has {HOSTILE}.")
    assert len(shown(str(raised.value)).splitlines()) == 1


def test_everything_is_printed_by_one_function():
    """`echo` of the options prints lines, `reporting.tables.table` cells; both show what would steer a terminal."""
    printers = {"cli/options.py": {"typer.echo"}, "cli/app.py": {"print"}, "reporting/result.py": {"print"}}
    printers["data/writing.py"] = {"print"}  # to a file
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        calls = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))
        called = {ast.unparse(node.func) for node in calls}
        assert called & {"print", "typer.echo", "typer.secho", "click.echo"} <= printers.get(name, set()), name
        if name != "cli/build.py":  # which prints its own tables of names that are in the code
            assert not called & {"Table"} or name == "reporting/tables.py" or "rich" not in file.read_text(), name
