"""The first screen in a real browser: every part of a bar lists so many problems, every term opens by keyboard."""

import pytest
from helpers.browser import in_chromium, visit, write_page
from helpers.report import write_run

pytest.importorskip("playwright.sync_api")
pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

pytestmark = in_chromium

MANY = {f"b{i}": "".join(str(int((i * 7 + j * 3) % (i % 5 + 2) != 0)) for j in range(5)) for i in range(40)}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("screen")
    return write_page(folder, write_run(folder / "run", answers=MANY, model="models/mine"))


@pytest.fixture(scope="module")
def page(chromium, address):
    context = chromium.new_context(viewport={"width": 1100, "height": 800})
    yield visit(context, address)
    assert context.problems == []
    context.close()


def test_every_part_of_a_bar_lists_as_many_problems_as_it_says(page):
    links = page.locator(".legend a")
    assert links.count() == 3
    for link in links.all():
        link.click()
        n = int(link.locator("b").text_content())
        assert f" of {n}" in page.locator("#found").text_content()


def test_terms_open_by_keyboard_and_have_names(page):
    buttons = page.locator("button.help")
    assert buttons.count() >= 12
    for button in buttons.all():
        assert button.get_attribute("aria-label").startswith("What is ")
        meaning = page.locator(f"#{button.get_attribute('popovertarget')}")
        assert len(meaning.text_content()) > 20
    buttons.first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".meaning:popover-open").count() == 1
    page.keyboard.press("Escape")
    assert page.locator(".meaning:popover-open").count() == 0
    assert page.locator("thead [title]").count() == 0
    explained = " ".join(page.locator(".meaning b").all_text_contents())
    for term in ("A", "AO", "PC", "PVAP", "design effect", "noise floor"):
        assert term in explained


def test_the_flip_s_difference_is_marked(page):
    flip = page.locator(".sample")
    assert flip.locator("ins").count() + flip.locator("del").count() > 0
    flip.locator("a").click()
    assert page.evaluate("document.activeElement.className").startswith("bucket")


def test_no_width_scrolls_sideways(page):
    for width in (390, 1024, 2560):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
