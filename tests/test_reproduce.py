"""Every YAML under examples/reproduce/ says what it repeats, and runs: whole where that is quick, else as a trial."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.scripts import load_script

from paraconsist.cli.app import main

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "reproduce"
FILES = sorted(FOLDER.glob("*.yaml"))
STATUS = ("exact", "repeated", "not possible")


_SCRIPT = load_script("examples/reproduce/run.py")
said, commands = _SCRIPT.head, _SCRIPT.commands


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_file_says_what_it_repeats_and_the_readme_knows_it(file: Path) -> None:
    (status,) = said(file, "Status")
    assert status.startswith(STATUS)
    assert all(command[0] in {"score", "report", "artifacts", "train", "sweep", "select", "paraphrase", "adversarial",
                              "ie-test", "run", "sensitivity"} for command in commands(file))  # fmt: skip
    assert any(file.name in command for command in commands(file))
    assert f"`{file.name}`" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_readme_names_no_file_that_is_not_there() -> None:
    named = set(re.findall(r"`(\w+\.yaml)`", (FOLDER / "README.md").read_text(encoding="utf-8")))
    assert named == {file.name for file in FILES}


def test_the_script_shows_every_command_and_stops_where_one_fails(tmp_path: Path) -> None:
    script = [sys.executable, str(FOLDER / "run.py")]
    shown = subprocess.run(
        [*script, "s24_table4.yaml", "--print", "--n-resamples", "9"], capture_output=True, text=True
    )
    lines = shown.stdout.splitlines()
    assert len(lines) == len(set(lines)) == 4 * 4 + 3
    assert all(line.startswith("paraconsist score DATA/") and line.endswith("--n-resamples 9") for line in lines)
    assert "{" not in shown.stdout
    assert "The files are j22_downsampling.yaml" in subprocess.run(script, capture_output=True, text=True).stderr


def run_all(file: Path, data_folder: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, *, most: int | None) -> None:
    (folder / "DATA").symlink_to(data_folder, target_is_directory=True)
    for name in ("plots", "models"):
        (folder / name).mkdir()
    monkeypatch.chdir(folder)
    small = shlex.split(" ".join(said(file, "Small")))
    for command in commands(file)[:most]:
        arguments = [str(FOLDER / part) if part == file.name else part for part in command]
        with pytest.raises(SystemExit) as ended:
            main([*arguments, *(small if file.name in command else [])])
        assert ended.value.code == 0, arguments


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    "file",
    [f for f in FILES if not said(f, "Needs") and said(f, "Status")[0].startswith("exact")],
    ids=lambda f: f.stem,
)
def test_what_is_exact_runs(file: Path, data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_all(file, data_folder, tmp_path, monkeypatch, most=1 if "report" in commands(file)[0] else 2)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("file", [f for f in FILES if not said(f, "Needs") and said(f, "Small")], ids=lambda f: f.stem)
def test_what_is_trained_runs_as_a_trial(
    file: Path, data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "wordnet" in said(file, "Wants"):
        from paraconsist.transforms.lexicon import find_wordnet

        if find_wordnet() is None:
            pytest.skip("WordNet not found: apt-get install wordnet-base, or python -m nltk.downloader wordnet")
    run_all(file, data_folder, tmp_path, monkeypatch, most=None)


@pytest.mark.real_data
def test_the_published_numbers_come_out(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of PaRTE's authors' file: changed predictions of 1,126, of five models."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "DATA").symlink_to(data_folder, target_is_directory=True)
    file = FOLDER / "v23_table2.yaml"
    changed = []
    for command in commands(file):
        with pytest.raises(SystemExit):
            main([*(str(FOLDER / part) if part == file.name else part for part in command), "--json"])
        (result,) = json.loads(capsys.readouterr().out).values()
        changed.append(result["measures"]["prediction_change"]["n_changed"])
    assert changed == [110, 96, 174, 184, 108]
