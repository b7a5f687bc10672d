"""Thirty models on one page and in one index, in a real browser: nothing wider than the screen, cells lead to rows."""

from dataclasses import replace
from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from helpers.browser import QUICK, in_chromium, visit
from helpers.report import write_run
from test_report_models import answers_of

from paraconsist.reporting.page import ReportOptions, load_models, site, write, write_report
from paraconsist.reporting.page.models import Report

pytestmark = in_chromium
NAMES = [f"organisation-{i}/a-rather-long-name-of-a-model-{i}-instruct" for i in range(29)] + ["x" * 300]


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    """A page and an index of thirty models that are three; what was compared stands in for what would be."""
    folder = tmp_path_factory.mktemp("thirty")
    shares = (0.97, 0.8, 0.4)
    runs = [write_run(folder / f"m{i}", answers=answers_of(i, share), model=f"m/{i}") for i, share in enumerate(shares)]
    three = load_models(runs, QUICK)
    one = Report(three, ReportOptions(score=QUICK)).compared[0]
    entries = [replace(three[i % 3], name=name) for i, name in enumerate(NAMES)]
    pairs = [
        replace(one.pairs[(i + j) % 3], first=first, second=second)
        for (i, first), (j, second) in combinations(enumerate(NAMES), 2)
    ]
    standings = [replace(one.standings[i % 3], model=name) for i, name in enumerate(NAMES)]
    of_three = one.ranking.standings
    placed = [replace(of_three[i % 3], model=name) for i, name in enumerate(NAMES)]
    ranking = replace(one.ranking, standings=placed, steadiness=dict.fromkeys(NAMES, 0.5))
    compared = [replace(one, pairs=pairs, standings=standings, ranking=ranking)]
    with (
        patch.object(write, "report_plots", lambda *_: []),
        patch.object(Report, "compared", compared),
        patch.object(site, "write_report", lambda *_: written),
    ):
        written = write_report(entries, folder / "page.html", ReportOptions(score=QUICK))
        index = site.write_site(entries, folder / "site", ReportOptions(score=QUICK)).index
    return (folder / "page.html").as_uri(), index.as_uri()


def test_thirty_models_fit_every_screen(chromium, addresses):
    """FAULTS P14: a summary of 17,800 px; on a phone P_C was off the screen."""
    context = chromium.new_context(viewport={"width": 390, "height": 844})
    for address in addresses:
        page = visit(context, address)
        for width in (390, 700, 1024, 1440, 2560):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            own = "e.scrollWidth <= e.clientWidth || ['auto', 'scroll'].includes(getComputedStyle(e).overflowX)"
            assert page.evaluate(f"[...document.querySelectorAll('.scroll')].every((e) => {own})")
            ends = "e.getBoundingClientRect().right <= e.previousElementSibling.getBoundingClientRect().right"
            assert page.evaluate(
                f"[...document.querySelectorAll('.share text')].every((e) => {ends})"
            )  # numbers in bars
            matrix = page.locator(".matrix").first
            heads = matrix.locator("tbody th")
            assert heads.count() == 30
            matrix.evaluate("(e) => { e.scrollLeft = 500; }")
            left = heads.first.bounding_box()["x"]
            assert left == pytest.approx(matrix.bounding_box()["x"], abs=1)  # the names stay
            matrix.evaluate("(e) => { e.scrollLeft = 0; }")
            cell = (
                page.locator("#summary table, #index table").first.locator("tbody tr:has(td) td").first.bounding_box()
            )
            assert cell["x"] + cell["width"] <= width  # P_C, beside the name
            assert cell["x"] > 0
        page.set_viewport_size({"width": 703, "height": 900})  # an upright sheet; one across has 1,032
        page.emulate_media(media="print")  # matrices lost columns on paper, and columns that sort their names
        assert page.evaluate("[...document.querySelectorAll('.sortable thead th')].every((e) => e.innerText.trim())")
        assert page.evaluate("Math.max(...[...document.querySelectorAll('table')].map((e) => e.offsetWidth))") <= 1032
        page.emulate_media(media="screen")
        summary = page.locator("#summary, #index").first.bounding_box()["height"]
        assert summary < 6000
        assert context.problems == []
    context.close()


def test_cells_lead_to_the_rows_and_columns_sort(chromium, addresses):
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = visit(context, addresses[0])
    matrix = page.locator(".matrix").first
    row, column = NAMES[0], NAMES[2]  # the third model flips most
    models = [cell.strip() for cell in matrix.locator("thead th").all_text_contents()][1:]
    matrix.locator(f"tbody tr:has(th:text-is('{row}')) td").nth(models.index(column)).locator("a").click()
    flips, holds = answers_of(2, 0.4), answers_of(0, 0.97)
    different = [bucket for bucket in flips if len(set(flips[bucket][1:])) > 1 and len(set(holds[bucket][1:])) == 1]
    assert different
    ids = [article.get_attribute("aria-label") for article in page.locator("#list .bucket").all()]
    assert sorted(ids) == [f"problem {bucket}" for bucket in different]
    first = page.locator(".heat tbody th a").first
    bucket = first.text_content()
    first.click()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"problem {bucket}"
    assert page.locator(".heat td a[tabindex='-1']").count() == page.locator(".heat td a").count() > 0
    assert page.locator("#names .mark").count() == 0  # beside each name stood those of the first model
    page.locator("#filters").get_by_label("by", exact=True).select_option(column)
    wrong = page.locator("#names button").evaluate_all(
        "all => all.map((e) => [e.innerText, e.querySelectorAll('.wrong').length])"
    )
    assert dict(wrong) == {bucket: answers.count("0") for bucket, answers in flips.items()}
    assert context.problems == []

    page = visit(context, addresses[1])

    def values(place: int) -> list[float]:
        cells = page.locator(f".sortable tbody tr td:nth-child({place + 1})").all()
        return [float(cell.get_attribute("data-sort")) for cell in cells]

    assert (np.diff(values(1)) <= 0).all()  # the best first
    accuracy = page.get_by_role("button", name="A", exact=True)
    accuracy.click()
    assert (np.diff(values(4)) <= 0).all()
    assert page.locator("th[aria-sort=descending]").count() == 1
    accuracy.press("Enter")
    assert (np.diff(values(4)) >= 0).all()
    page.get_by_role("button", name="model").click()
    names = page.locator(".sortable tbody th").all_text_contents()
    assert names[0].strip() == NAMES[0]
    assert names[-1].strip() == NAMES[-1]
    assert context.problems == []
    context.close()
