"""Every page in headless Chromium: the number of the command line, messages for broken files, no other host."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from helpers.space import as_query, by_command, by_function

from paraconsist.reporting.space.catalogue import module

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium not found (Debian: apt-get install chromium)"),
]

TOAST, VALUE = "[data-testid=toast-body]", ".pc-value"
#: Milliseconds that anything may take on a machine with much else to do; nothing waits for longer than it must.
WAIT = 180_000


class Servers:
    """A process that runs the pages' app.py, each when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.uploads = folder / "uploads"
        self.uploads.mkdir()
        self.ports: dict[str, int] = {}
        self.log = folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(Path(__file__).resolve().parents[1] / "helpers" / "space_servers.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "GRADIO_TEMP_DIR": str(self.uploads)},
                cwd=folder,
            )

    def port(self, name: str) -> int:
        if name not in self.ports:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(f"{name}\n")
            self.process.stdin.flush()
            self.ports[name] = int(self.process.stdout.readline() or 0)
        assert self.ports[name], self.log.read_text()
        return self.ports[name]

    def end(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    started = Servers(tmp_path_factory.mktemp("space"))
    yield started
    started.end()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as library:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        started = library.chromium.launch(executable_path=CHROMIUM, args=arguments, timeout=WAIT)
        yield started
        started.close()


class Visit:
    """A page, and what went wrong on it."""

    def __init__(self, browser: Any, port: int, **looks: Any) -> None:
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.context = browser.new_context(**looks)
        self.context.set_default_timeout(WAIT)
        self.page = self.context.new_page()
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self._seen(request.url))
        self.page.goto(f"http://127.0.0.1:{port}/", wait_until="domcontentloaded")
        self.page.wait_for_selector("#upload input[type=file]", state="attached")

    def _seen(self, url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).hostname != "127.0.0.1":
            self.foreign.append(url)

    def upload(self, file: Path) -> None:
        self.page.set_input_files("#upload input[type=file]", str(file))

    def score(self) -> list[str]:
        """Press the button and return the numbers in large type, in full precision."""
        self.page.wait_for_selector(".pc-preview")
        self.page.click("#score")
        return self.values()

    def values(self) -> list[str]:
        self.page.wait_for_selector(VALUE)
        return [found.get_attribute("data-value") for found in self.page.query_selector_all(VALUE)]

    def message(self) -> str:
        self.page.wait_for_selector(TOAST)
        return self.page.inner_text(TOAST)


def true_values(name: str, tmp_path: Path) -> list[str]:
    """Return the numbers in large type from the command line, or the function where there is no command."""
    query = as_query(name)
    command = module(name).measure(query).command
    if command:
        file = tmp_path / f"{name}-command.csv"
        file.write_text(module(name).example(), encoding="utf-8")
        keys = by_command(list(command), file, apart=True)
    else:
        keys = by_function(name)
    values = []
    for headline in module(name).headlines:
        value: Any = keys
        for key in headline.path:
            value = value[key]
        values.append(repr(value))
    return values


#: A page for each kind of input: buckets, pairs, three texts, variants, probabilities, items, texts, two models.
#: The numbers of every page are compared without a browser (test_space_numbers.py).
PAGES = (
    *("paraphrastic_consistency", "semantic_inconsistency", "transitive_inconsistency", "prompt_sensitivity"),
    *("probability_coherence", "fooling_rate", "ie_test", "consistency_difference"),
)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_gives_the_number_of_the_command_line(name, servers, browser, tmp_path):
    good = tmp_path / "predictions.csv"
    good.write_text(module(name).example(), encoding="utf-8")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and then nothing of the kind")
    visit = Visit(browser, servers.port(name))
    visit.upload(good)
    assert visit.score() == true_values(name, tmp_path)
    result = module(name).measure(as_query(name))
    selectors = {"svg": result.figure, ".pc-flips": result.flips, "iframe": result.models}
    assert {one: visit.page.query_selector(f"#results {one}") is not None for one in selectors} == {
        one: bool(there) for one, there in selectors.items()
    }

    visit.page.click('#upload button[aria-label="Clear"]')
    visit.page.wait_for_selector("#upload input[type=file]", state="attached")
    visit.upload(broken)
    message = visit.message()
    assert "must be a readable, whole file" in message
    assert "broken.parquet" in message
    assert str(servers.uploads) not in message
    assert "Traceback" not in message
    visit.page.wait_for_selector(VALUE, state="detached")  # the earlier result goes
    assert not visit.errors
    assert not visit.foreign
    assert not [file for file in servers.uploads.rglob("*") if file.is_file() and file.stat().st_size]
    visit.context.close()


@pytest.mark.parametrize(
    ("name", "looks"),
    [
        ("ie_test", {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True}),
        ("paraphrastic_consistency", {"viewport": {"width": 1440, "height": 900}}),
    ],
)
def test_one_click_leads_to_the_report_which_stays_in_its_frame_and_can_be_kept(
    name, looks, servers, browser, tmp_path
):
    """S1 and item 11: Score was below the fold, the result above it; the report is the page that `report` writes."""
    visit = Visit(browser, servers.port(name), **looks)
    page, size = visit.page, looks["viewport"]
    box = page.locator("#score").bounding_box()
    assert 0 < box["y"] < box["y"] + box["height"] <= size["height"]
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.click("#example")
    assert visit.values() == true_values(name, tmp_path)
    page.wait_for_function("document.activeElement.className === 'pc-results'")
    page.wait_for_function(
        "([selector, height]) => { const { y } = document.querySelector(selector).getBoundingClientRect();"
        " return y >= 0 && y < height - 100; }",
        arg=[VALUE, size["height"]],
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.evaluate("document.body.classList.contains('dark')") == ("color_scheme" in looks)

    frame = page.query_selector("#results iframe").content_frame()
    frame.wait_for_selector("#list article")
    frame.click("nav a[href='#method']")
    frame.wait_for_function("document.activeElement.id === 'method'")
    (entry,) = module(name).measure(as_query(name)).models
    buckets = entry.sets["predictions"].predictions.table["bucket_id"].unique()
    assert frame.locator("#list article").count() == min(20, len(buckets))  # a page of the flip browser
    assert frame.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") == ("color_scheme" in looks)
    with page.expect_download() as kept:
        page.click("#download")
    assert kept.value.suggested_filename == "report.html"
    assert Path(kept.value.path()).read_text(encoding="utf-8") == page.get_attribute("#results iframe", "srcdoc")
    assert not visit.errors
    assert not visit.foreign
    assert not [file for file in servers.uploads.rglob("*") if file.is_file() and file.stat().st_size]
    visit.context.close()


def test_pasted_rows_other_columns_and_hostile_text(servers, browser):
    hostile = '<img src=x onerror="window.owned=1">${window.owned=2}'
    rows = [f'b{i // 2},{"yes" if i % 3 else "no"},yes,"{hostile.replace(chr(34), chr(34) * 2)}"' for i in range(24)]
    visit = Visit(browser, servers.port("paraphrastic_consistency"))
    page = visit.page
    page.click("#paste-panel button")
    page.fill("#paste textarea", "\n".join(["which,said,label,words", *rows]))
    page.click("#use-paste")
    page.wait_for_selector(".pc-preview")
    page.click("#score")
    assert "`Bucket` must be chosen" in visit.message()
    for key, column in (("bucket", "which"), ("prediction", "said")):
        page.click(f"#column-{key} input")
        page.click(f'[role=listbox] [role=option]:has-text("{column}")')
    page.click("#score")
    assert len(visit.values()) == 2
    assert page.evaluate("window.owned") is None
    frame = page.query_selector("#results iframe").content_frame()
    frame.wait_for_selector("#list article")
    assert hostile in frame.text_content("#list")
    assert frame.evaluate("window.owned") is None
    assert not visit.errors
    visit.context.close()
