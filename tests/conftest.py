"""Fixtures shared by all tests."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests run on shared, slow machines: how long drawing an example takes there says nothing about the code.
settings.register_profile("shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared machine")

# Nothing of the user's caches is read or written, and nothing asks the network. Set before any library is imported.
_CACHES = tempfile.mkdtemp(prefix="paraconsist-tests-")
atexit.register(shutil.rmtree, _CACHES, ignore_errors=True)
os.environ.update(HF_HOME=_CACHES, PARACONSIST_CACHE=_CACHES, HF_HUB_OFFLINE="1")
for _name in ("HF_DATASETS_CACHE", "HF_MODULES_CACHE", "HF_EVALUATE_CACHE", "HF_METRICS_CACHE", "HF_HUB_CACHE"):
    os.environ.pop(_name, None)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the papers' published data; tests that ask for it are skipped where it is not."""
    named = os.environ.get("PARACONSIST_TEST_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not (folder / "upstream").is_dir():
        pytest.skip(f"real data not found at {folder}: set PARACONSIST_TEST_DATA to run this test")
    return folder


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """A function: arguments of `paraconsist`, run in this process -> its exit code and what it said on both streams."""
    from paraconsist.cli.app import main

    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main puts its own there

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return int(str(ended.value.code)), said.out, said.err

    return run
