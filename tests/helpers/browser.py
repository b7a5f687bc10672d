"""Pages in headless Chromium, for the tests of the report."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from paraconsist.reporting.page import ReportOptions, load_entries, write_report
from paraconsist.scoring.score import ScoreOptions

QUICK = ScoreOptions(n_resamples=200)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
#: Of every module that asks for the fixture `chromium`.
in_chromium = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium not found (Debian: apt-get install chromium)"),
]


def write_page(folder: Path, *runs: Path, **options: Any) -> str:
    """Write a report of run folders and files, and return its address."""
    page = folder / "page.html"
    write_report(load_entries(list(runs), QUICK), page, ReportOptions(score=QUICK, **options))
    return page.as_uri()


def visit(context: Any, address: str) -> Any:
    """Open a page; whatever it says or loads is kept in `context.problems`."""
    context.problems = []
    page = context.new_page()
    page.on("console", lambda message: context.problems.append(message.text))
    page.on("pageerror", lambda error: context.problems.append(str(error)))
    page.on("request", lambda request: None if request.url == address else context.problems.append(request.url))
    page.goto(address)
    return page
