"""What reports of several models say while they are made: a bar on a terminal, elsewhere a line from time to time."""

import io

import pandas as pd
import pytest

from paraconsist.cli import report as reports


@pytest.fixture
def files(tmp_path):
    rows = {"bucket_id": [f"b{i // 3}" for i in range(30)], "label": [i // 3 % 2 for i in range(30)]}
    paths = []
    for number in range(3):
        table = pd.DataFrame({**rows, "prediction": [i * (number + 2) % 2 for i in range(30)]})
        paths.append(tmp_path / f"m{number}.csv")
        table.to_csv(paths[-1], index=False)
    return [str(path) for path in paths]


@pytest.mark.parametrize("command_line", ["report --site", "leaderboard --output"])
def test_a_line_for_each_model(command, files, tmp_path, monkeypatch, command_line):
    monkeypatch.setattr(reports, "_PAUSE", 0.0)
    name, option = command_line.split()
    code, _, err = command(name, *files, option, str(tmp_path / "site"))
    assert code == 0
    assert [line for line in err.splitlines() if " of 3" in line] == [
        *(f"scoring: {n} of 3" for n in (1, 2, 3)),
        *(f"pages: {n} of 3" for n in (1, 2, 3)),
    ]


def test_lines_are_seconds_apart_and_none_is_said_under_quiet(command, files, tmp_path, monkeypatch):
    monkeypatch.setattr(reports, "_PAUSE", 600.0)
    assert " of 3" not in command("report", *files, "--site", str(tmp_path / "site"))[2]
    monkeypatch.setattr(reports, "_PAUSE", 0.0)
    page = ("--output", str(tmp_path / "page.html"))
    assert "scoring: 3 of 3" in command("report", *files, *page)[2]
    assert " of 3" not in command("--quiet", "report", *files, *page)[2]


def test_a_bar_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.delenv("PARACONSIST_QUIET", raising=False)
    monkeypatch.setattr(reports.state, "quiet", False)
    monkeypatch.setattr("sys.stderr", terminal)
    with reports._progress() as progress:
        for what in ("scoring", "pages"):
            for n_done in (1, 2):
                progress(what, n_done, 2)
    assert "scoring" in terminal.getvalue()
    assert "pages" in terminal.getvalue()
    assert "2/2" in terminal.getvalue()
