"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the papers' published data; tests that ask for it are skipped where it is not."""
    named = os.environ.get("PARACONSIST_TEST_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not (folder / "upstream").is_dir():
        pytest.skip(f"real data not found at {folder}: set PARACONSIST_TEST_DATA to run this test")
    return folder
