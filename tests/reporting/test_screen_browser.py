"""The first screen in a real browser: every part of a bar lists so many problems, every term opens by keyboard."""

import json
import re

import pytest
from helpers.browser import QUICK, in_chromium, quiet, write_page
from helpers.report import write_run

from paraconsist.reporting.page import ReportOptions, load_models, screen, write_report
from paraconsist.reporting.page.models import Report
from paraconsist.reporting.page.write import write_summary

pytestmark = in_chromium

MANY = {f"b{i}": "".join(str(int((i * 7 + j * 3) % (i % 5 + 2) != 0)) for j in range(5)) for i in range(40)}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("screen")
    return write_page(folder, write_run(folder / "run", answers=MANY, model="models/mine"))


@pytest.fixture(scope="module")
def page(chromium, address):
    with quiet(chromium, address, viewport={"width": 1100, "height": 800}) as opened:
        yield opened


def test_every_part_of_a_bar_lists_as_many_problems_as_it_says(page):
    links = page.locator(".legend a")
    assert links.count() == 3
    for link in links.all():
        link.click()
        n = int(link.locator("b").text_content())
        assert f" of {n}" in page.locator("#found").text_content()


@pytest.mark.faults
@pytest.mark.parametrize("width", [1440, 390])
def test_the_coin_s_bar_is_below_that_of_its_model(chromium, tmp_path, width):
    """With a model on each of two sets it stood below the model's name, and the bar was squeezed."""
    for name in ("one", "two"):
        rows = [
            {"bucket_id": f"{name}{i}", "label": 1, "prediction": (i * 7 + j) % 3 % 2}
            for i in range(20)
            for j in (1, 2, 3)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    models = load_models([tmp_path / "one.jsonl", tmp_path / "two.jsonl"], QUICK, ["a", "b"])
    write_report(models, tmp_path / "page.html", ReportOptions(score=QUICK))
    with quiet(chromium, (tmp_path / "page.html").as_uri(), viewport={"width": width, "height": 900}) as page:
        assert page.locator(".coin").count() == 2
        for bars in page.locator(".bars").all():
            bar, coin = (bars.locator(path).bounding_box() for path in (":scope > .share", ".coin .share"))
            assert (bar["x"], bar["width"]) == (coin["x"], coin["width"])
            assert bar["y"] < coin["y"]


def test_the_summary_shows_five_columns_until_more_are_asked_for(page):
    heads, button = page.locator("#summary th.number"), page.locator("#summary button.columns")

    def n_shown() -> int:
        return sum(head.is_visible() for head in heads.all())

    assert n_shown() <= 5
    button.click()
    assert n_shown() == heads.count() > 5
    button.click()
    assert n_shown() <= 5
    assert button.text_content() == "more columns"


def test_a_click_on_a_head_sorts_the_models_of_each_set(chromium, tmp_path):
    """Whole sets stay where they are; what is undefined is last, whichever way."""
    runs = [
        write_run(tmp_path / f"{name}{i}", name=f"toy:{name}", answers=dict(list(MANY.items())[: 12 + i]))
        for name in ("one", "two")
        for i in range(3)
    ]
    models = load_models(runs, QUICK, names=["b", "a", "c"] * 2)
    write_report(models, tmp_path / "page.html", ReportOptions(score=QUICK))
    with quiet(chromium, (tmp_path / "page.html").as_uri()) as page:
        table = page.locator("#summary .sortable")
        lines = "(e) => [...e.querySelectorAll('tbody tr')].map((row) => row.cells[0].textContent)"
        head = table.locator("th").first
        assert table.evaluate(lines)[::4] == ["toy:one", "toy:two"]
        head.get_by_role("button").focus()
        for way, names in (("ascending", ["a", "b", "c"]), ("descending", ["c", "b", "a"])):
            page.keyboard.press("Enter")
            assert head.get_attribute("aria-sort") == way
            assert table.evaluate(lines) == ["toy:one", *names, "toy:two", *names]
        table.get_by_role("button", name="problems", exact=True).click()
        assert table.evaluate(lines) == ["toy:one", "c", "a", "b", "toy:two", "c", "a", "b"]
        assert table.locator("th[aria-sort=descending]").inner_text().startswith("problems")
        assert head.get_attribute("aria-sort") is None


def test_terms_open_by_keyboard_and_have_names(page):
    buttons = page.locator("button.help")
    assert buttons.count() >= 12
    for button in buttons.all():
        assert button.get_attribute("aria-label").startswith("What is ")
        meaning = page.locator(f"#{button.get_attribute('popovertarget')}")
        assert len(meaning.text_content()) > 20
    buttons.first.focus()
    page.keyboard.press("Enter")
    meaning, button = page.locator(".meaning:popover-open").bounding_box(), buttons.first.bounding_box()
    assert 0 <= meaning["y"] - (button["y"] + button["height"]) < 20  # just below its button, which it does not hide
    assert meaning["x"] <= button["x"] + button["width"] <= meaning["x"] + meaning["width"] + button["width"]
    page.keyboard.press("Escape")
    assert page.locator(".meaning:popover-open").count() == 0
    assert page.locator("thead [title]").count() == 0
    explained = " ".join(page.locator(".meaning b").all_text_contents())
    for term in ("A", "AO", "PC", "PVAP", "design effect", "noise floor"):
        assert term in explained


def test_the_flip_s_difference_is_marked(page):
    flip = page.locator(".sample:visible")
    assert flip.locator("ins").count() + flip.locator("del").count() > 0
    first = flip.text_content()
    page.get_by_role("button", name="the flip after it").click()
    assert flip.count() == 1
    assert flip.text_content() != first
    assert page.locator(".paging output").text_content() == "2"
    page.get_by_role("button", name="the flip before").click()
    assert flip.text_content() == first
    flip.locator("a").click()
    assert page.evaluate("document.activeElement.className").startswith("bucket")


def test_no_width_scrolls_sideways(page):
    for width in (390, 1024, 2560):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_reader_finds_what_matters_on_the_first_screen(chromium, address):
    """Finding, interval, problems, the worst problem and what to do next are read without scrolling."""
    with quiet(chromium, address, viewport={"width": 1440, "height": 900}) as page:
        seen = page.evaluate(
            """() => { const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), texts = [];
            for (let node = walker.nextNode(); node; node = walker.nextNode()) {
              const range = document.createRange(); range.selectNodeContents(node);
              const box = range.getBoundingClientRect();
              if (box.height > 0 && box.bottom <= 900) texts.push(node.textContent.trim());
            } return texts.filter(Boolean).join(" "); }"""
        )
        seen = seen.replace("\N{NO-BREAK SPACE}", " ")
        finding = re.search(r"Two wordings of a problem get different answers from mine ([\d.]+) % of the time\.", seen)
        interval = re.search(r"95 % interval ([\d.]+) to ([\d.]+); (\d+) of 40 problems change\.", seen)
        assert float(interval[1]) < float(finding[1]) < float(interval[2])
        assert "40 problems · ± " in seen
        assert re.search(r"The surest flip .* gold: ", seen)
        assert re.search(r"What to do next Read the \d+ answers lost to rewording ", seen)


def test_what_is_to_be_copied_is_copied(chromium, address):
    with quiet(chromium, address, viewport={"width": 1100, "height": 800}) as page:
        page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        page.get_by_text("A sentence for a paper").click()
        page.locator(".brief pre + .copy").click()
        assert page.evaluate("window.copied").startswith("@software{paraconsist,")
        page.locator(".brief p .copy").click()
        copied = page.evaluate("window.copied").replace("\N{NO-BREAK SPACE}", " ")
        assert re.fullmatch(
            r"Two wordings .* of the time \(95 % interval .*; 40 problems, toy:set; paraconsist .*\)\.", copied
        )
        page.locator(".next .copy").first.click()
        assert page.evaluate("window.copied").startswith("paraconsist ")


def test_the_list_stands_beside_the_problem_where_there_is_room(chromium, address):
    with quiet(chromium, address, viewport={"width": 1440, "height": 900}) as page:
        names = page.locator("#names button")
        assert names.count() == page.locator("#list > .bucket").count() == 20
        names.nth(7).click()
        assert page.evaluate("document.activeElement.bucket.id") == names.nth(7).locator("bdi").text_content()
        assert page.locator("#list > .bucket").nth(7).is_visible()
        assert page.evaluate("document.documentElement.scrollHeight") < 6000
        page.set_viewport_size({"width": 390, "height": 844})
        assert not page.locator("#names").is_visible()


@pytest.mark.parametrize("n_models", [1, 3, 12])
def test_a_slide_has_the_finding_on_one_screen_and_one_sheet(chromium, n_models, tmp_path):
    answers = {f"b{i}": "1101" if i % 3 else "1111" for i in range(8)}
    runs = [write_run(tmp_path / f"m{i}", answers={**answers, "b0": f"{i % 16:04b}"}) for i in range(n_models)]
    models, options = load_models(runs, QUICK), ReportOptions(score=QUICK)
    write_summary(models, tmp_path / "summary.html", options)
    with quiet(chromium, (tmp_path / "summary.html").as_uri(), viewport={"width": 1280, "height": 720}) as slide:
        words = " ".join(slide.locator("main").text_content().split())
        assert slide.evaluate("document.documentElement.scrollHeight") == 720
        assert slide.locator("a[href]").count() == 0
        assert [level.evaluate("e => e.tagName") for level in slide.locator("h1, h2").all()] == ["H1", "H2"]
        sheets = slide.pdf(prefer_css_page_size=True)
    block = screen.blocks(Report(models, options))[0]
    signature = next(iter(models[0].sets["toy:set"].measures.values()))["signature"]
    assert all(part in words for part in (block.title, "8 problems in 32 wordings", signature))
    assert len(re.findall(rb"/Type /Page\b", sheets)) == 1
    assert ("bars are on the whole page" in words) == (n_models > 8)
