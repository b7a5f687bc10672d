"""The page of the package on an index: its links and pictures work there, and say where the repository is."""

import re
import subprocess
import sys
from email import message_from_string
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "from setuptools.build_meta import prepare_metadata_for_build_wheel as made; print(made({!r}))"


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    source = copytree(
        ROOT, folder / "source", ignore=ignore_patterns(".*", "*.egg-info", "tests", "benchmarks", "*.data")
    )
    command = [sys.executable, "-c", BUILD.format(str(folder))]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=True)
    return message_from_string((folder / done.stdout.splitlines()[-1] / "METADATA").read_text(encoding="utf-8"))


def test_no_link_is_relative(metadata):
    readme, page = (ROOT / "README.md").read_text(encoding="utf-8"), metadata.get_payload()
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    targets, in_file = (
        [*re.findall(r"\]\(([^)\s]+)", t), *re.findall(r'(?:src|href)="([^"]+)', t)] for t in (page, readme)
    )
    assert len(targets) == len(in_file) > 20
    assert not [target for target in targets if not target.startswith(("https://", "#"))]
    for target, was in zip(targets, in_file, strict=True):
        assert target.endswith(was.removeprefix("./"))
        is_picture = was.endswith((".png", ".svg"))
        assert was.startswith(("https://", "#")) or ("/raw/main/" if is_picture else "/blob/main/") in target


def test_the_page_says_where_the_repository_is(metadata):
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL"))
    assert urls.keys() == {"Repository", "Documentation", "Changelog"}
    assert all(url.startswith(urls["Repository"]) for url in urls.values())
