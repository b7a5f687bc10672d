"""Pages in headless Chromium, for the tests of the report."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from paraconsist.reporting.page import ReportOptions, load_models, write_report
from paraconsist.scoring.options import ScoreOptions

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
    write_report(load_models(list(runs), QUICK), page, ReportOptions(score=QUICK, **options))
    return page.as_uri()


@contextmanager
def quiet(browser: Any, address: str, **options: Any) -> Iterator[Any]:
    """Open a page in a context of its own; at the end nothing may have been loaded or said."""
    context = browser.new_context(**options)
    yield visit(context, address)
    assert context.problems == []
    context.close()


def visit(context: Any, address: str) -> Any:
    """Open a page; whatever it says or loads is kept in `context.problems`."""
    context.problems = []
    page = context.new_page()
    page.on("console", lambda message: context.problems.append(message.text))
    page.on("pageerror", lambda error: context.problems.append(str(error)))
    own = (address, "blob:")  # what the page itself made
    page.on("request", lambda request: None if request.url.startswith(own) else context.problems.append(request.url))
    page.goto(address)
    return page


_COLOURS = """([selector, part]) => {
  const element = document.querySelector(selector);
  let under = element;
  while (under && getComputedStyle(under).backgroundColor === "rgba(0, 0, 0, 0)") under = under.parentElement;
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  return [numbers(getComputedStyle(element)[part]), numbers(getComputedStyle(under).backgroundColor)];
}"""


def contrast(page, selector: str, part: str = "color") -> float:
    """Return WCAG's contrast ratio of the first element's letters against the nearest painted background."""
    light, dark = sorted((luminance(colour) for colour in page.evaluate(_COLOURS, [selector, part])), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in [c / 255 for c in colour[:3]]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
