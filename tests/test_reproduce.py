"""Every YAML under examples/reproduce/ says what it repeats, and runs: whole where that is quick, else as a trial."""

from __future__ import annotations

import json
import re
import shlex
from itertools import product
from pathlib import Path

import pytest

from paraconsist.cli.app import main

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "reproduce"
FILES = sorted(FOLDER.glob("*.yaml"))
STATUS = ("exact", "repeated", "not possible")


def said(file: Path, key: str) -> list[str]:
    return re.findall(rf"^# {key}: (.+)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)


def commands(file: Path) -> list[list[str]]:
    """The commands of a file's head, with every combination of what it is to be run with."""
    choices = dict(part.split("=") for line in said(file, "With") for part in line.split())
    names = list(choices)
    found = []
    for line in said(file, "Run"):
        used = [name for name in names if f"{{{name}}}" in line]
        for values in product(*(choices[name].split(",") for name in used)):
            filled = line.format(**dict(zip(used, values, strict=True)))
            found.append(shlex.split(filled)[1:])
    return found


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
    """Of PaRTE's authors' file: 110 and 108 changed predictions of 1,126."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "DATA").symlink_to(data_folder, target_is_directory=True)
    file = FOLDER / "v23_table2.yaml"
    changed = []
    for command in commands(file):
        with pytest.raises(SystemExit):
            main([*(str(FOLDER / part) if part == file.name else part for part in command), "--json"])
        (result,) = json.loads(capsys.readouterr().out).values()
        changed.append(result["measures"]["prediction_change"]["n_changed"])
    assert changed == [110, 108]
