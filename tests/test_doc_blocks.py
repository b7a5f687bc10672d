"""The code in documents: Python runs as it is printed, and every command has the options that it is shown with.

Commands in tutorials run when the site is built (`make docs`); those elsewhere name models and folders of the reader's,
so that here their options are read and nothing is started.
"""

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import Command
from helpers.scripts import ROOT

import paraconsist
from paraconsist.cli.app import COMMANDS, app
from paraconsist.transforms.lexicon import known_lexicon

_MADE = ("measures", "commands", "generated")
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "examples").rglob("*.md"))]
DOCUMENTS += [path for path in sorted((ROOT / "docs").rglob("*.md")) if not set(_MADE) & set(path.parts)]
_FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: What a reader has and this test has not, by a line of the block.
_NEEDS = ("load_dataset(", "evaluate.load(", 'pc.run("', "pc.run(models")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of every `paraconsist` command in the fences of a document."""
    for language, block in _FENCE.findall(text):
        if language in ("", "sh", "bash", "yaml", "{code-cell}"):
            for line in block.replace("\\\n", " ").splitlines():
                called = re.search(
                    r"\$\(paraconsist ([^)]*)|(?:^|[!&(] ?|-m |run: |^\$ )paraconsist (.*)", line.strip()
                )
                words = list(_words(called[1] or called[2])) if called else []
                if words and words[0] in COMMANDS:
                    yield words


def _words(line: str) -> Iterator[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&>")
    lexer.whitespace_split = True
    return takewhile(lambda word: not set(word) <= set("|;&>"), lexer)


def unknown_options(words: list[str]) -> list[str]:
    options = {name for one in app.get_command(None, words[0]).params for name in (*one.opts, *one.secondary_opts)}
    options |= {"--help", "-h", "--help-all", "--config", "--quiet", "--verbose"}
    return [word for word in words[1:] if word.startswith("--") and word.split("=")[0] not in options]


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_commands_have_the_options_they_are_shown_with(document: Path) -> None:
    shown = list(commands(document.read_text(encoding="utf-8")))
    assert [(words[0], unknown_options(words)) for words in shown if unknown_options(words)] == []


def test_commands_are_found() -> None:
    assert sum(1 for path in DOCUMENTS for _ in commands(path.read_text(encoding="utf-8"))) > 60
    assert unknown_options(["score", "mine.csv", "--bukcet", "id"]) == ["--bukcet"]


@pytest.mark.parametrize(
    "document", [p for p in DOCUMENTS if "```python" in p.read_text("utf-8") and "examples" not in p.parts], ids=name_of
)
def test_python_runs_as_printed(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [block for language, block in _FENCE.findall(document.read_text("utf-8")) if language == "python"]
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for block in blocks:
        if not any(word in block for word in _NEEDS):
            exec(compile(block, str(document), "exec"), scope)


@pytest.mark.faults
@pytest.mark.parametrize("name", ["first_number", "own_buckets"])
def test_a_tutorial_s_cells_run_where_WordNet_is_not_installed(
    name: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q10, P28: every cell runs, plots what it says, and fits the column of the site."""
    for library in ("pandas", "matplotlib"):
        pytest.importorskip(library)
    monkeypatch.setattr("paraconsist.transforms.lexicon.find_wordnet", lambda folder=None: None)
    known_lexicon.cache_clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.mkdtemp", lambda: tmp_path)
    scope: dict[str, object] = {}
    for language, block in _FENCE.findall((ROOT / "docs" / "tutorials" / f"{name}.md").read_text("utf-8")):
        if language != "{code-cell}":
            continue
        assert max(map(len, block.splitlines())) <= 80
        python, _, line = block.partition("!paraconsist ")
        exec(compile(re.sub(r"^:.*", "", python), name, "exec"), scope)
        if line:
            command.out(*shlex.split(line.replace("\\\n", " ")))
        if "plot(" in python:
            figure = eval(python.splitlines()[-1], scope)
            assert {"capitals", "rivers"} <= {label.get_text() for label in figure.axes[0].get_yticklabels()}


def test_the_tutorial_of_forty_questions_prints_the_numbers_of_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 32: each question is right as it is asked first, and the numbers in the prose are those of the two apps."""
    pytest.importorskip("pandas")
    folder = ROOT / "docs" / "tutorials"
    text = (folder / "my_app.md").read_text("utf-8")
    python = [block for language, block in _FENCE.findall(text) if language == "{code-cell}" and "!" not in block]
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tempfile.mkdtemp", lambda: tmp_path)
    scope: dict[str, Any] = {"pc": paraconsist}
    for block in python:
        if "library.yaml" in block:
            exec(compile(re.sub(r"^:.*", "", block), "my_app", "exec"), scope)
    first, mended = (scope[f"{name}_scores"].sets["library"] for name in ("first", "mended"))
    assert first.wording.n_problems == 40
    numbers = {
        "{:.1f} % of the time": 100 * first.wording.wording_change,
        "only\n{:.1f} %": 100 * first.measures["paraphrastic_consistency"]["accuracy"],
        "passes with {:.2f} %": 100 * mended.wording.wording_change,
    }
    (pair,) = paraconsist.compare(scope["first_scores"], scope["mended_scores"]).sets[0].pairs
    differences, ends = pair.result.differences, pair.result.confidence_interval
    low, high = (-100 * end for end in ends["difference"][::-1])
    numbers[f"rises by {{:.1f}} points (interval {low:.1f} to {high:.1f})"] = -100 * pair.result.difference
    low, high = (100 * end for end in ends["wording_change"])
    numbers[f"change falls by {{:.1f}} ({low:.1f} to {high:.1f})"] = 100 * differences["wording_change"]
    assert [words for words, value in numbers.items() if words.format(value) not in text] == []
    assert first.measures["paraphrastic_consistency"]["original_accuracy"] == 1
