"""The documents' site: every public name, measure and command has its place, and its checker sees a dead link."""

import re
from pathlib import Path

import pytest
from helpers.scripts import ROOT, load_script

import paraconsist as pc
from paraconsist.cli.app import COMMANDS, app
from paraconsist.measures.catalogue import CATALOGUE

check_site, generated = load_script("docs/check_site.py"), load_script("docs/generated.py")


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^   (\w+)$", text, re.MULTILINE)) == sorted(set(pc.__all__) - {"__version__"})


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_on_its_command_s_page(name: str) -> None:
    page = generated.command_page(name).replace("\\", "")
    options = [option for one in app.get_command(None, name).params for option in one.opts]
    assert [option for option in options if option.startswith("--") and option not in page] == []


def test_every_measure_is_found_by_its_question() -> None:
    page = (ROOT / "docs" / "which_measure.md").read_text(encoding="utf-8")
    assert [name for name in CATALOGUE if f"measures/{name}.md" not in page] == []


def test_every_alarm_has_its_place() -> None:
    page = (ROOT / "docs" / "reference" / "alarms.md").read_text(encoding="utf-8")
    explained = re.findall(r'^\| "(.*?)" \|', page, re.MULTILINE)
    source = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")}
    text = re.sub(r'"\s*\n\s*f?"', "", "\n".join(source.values()))  # sentences that stand in several pieces
    assert [sentence for sentence in explained if sentence not in text] == []
    for path in (path for path in source if path.name == "alarms.py"):
        for function in re.split(r"^def ", source[path], flags=re.MULTILINE)[1:]:
            sentences = re.sub(r'"\s*\n\s*f?"', "", function)
            if re.search(r'(return|append)\(?\s*\(?\s*f"', sentences):
                assert any(one in sentences for one in explained), function.split("(")[0]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="b.html">', "leads to b.html, which is not there"),
        ('<a href="#gone">', "leads to #gone, and the page has no such heading"),
        ('<a href="https://example.org">', None),
        ('<script src="https://example.org/a.js">', "loads https://example.org/a.js"),
        ("<pre>error: score: no</pre>", "shows a command that failed: error: score: no"),
        ('<h1 id="here"></h1><a href="a.html#here">', None),
    ],
)
def test_a_dead_link_and_a_foreign_script_are_faults(tmp_path: Path, body: str, fault: str | None) -> None:
    (tmp_path / "a.html").write_text(body, encoding="utf-8")
    assert check_site.faults(tmp_path) == ([] if fault is None else [f"a.html {fault}"])
