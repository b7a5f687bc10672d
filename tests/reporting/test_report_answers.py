"""Answers in free text on the page: their own words in classes, merged by keyboard, and scored with the saved file."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.browser import QUICK, in_chromium, quiet

import paraconsist as pc
from paraconsist.data.options import SourceOptions
from paraconsist.reporting.page import ReportOptions, load_models, write_report

pytestmark = in_chromium
LONG = "word " * 20_000
ANSWERS = {
    "days": ["30 days", "Within 30 days", "30 days", "14 days", "30 days."],
    "hostile": ["<script>document.title = 'run'</script>", "\u202eabc\u202c", "nul\0byte", f"{LONG}a", f"{LONG}b"],
    "calm": ["yes", "Yes."],
    "names": ["constructor", "__proto__", "constructor"],  # which every object of JavaScript has
}
GOLD = {"days": "30 days", "hostile": "nothing", "calm": "yes", "names": "constructor"}


def write_answers(path, answers=ANSWERS):
    rows = [(bucket, text, f"Wording {i} of {bucket}?") for bucket, of in answers.items() for i, text in enumerate(of)]
    columns = {"bucket_id": [row[0] for row in rows], "prediction": [row[1] for row in rows]}
    columns |= {"question": [row[2] for row in rows], "label": [GOLD[row[0]] for row in rows]}
    pq.write_table(pa.table(columns), path)
    return path


def write_page(page, *paths, **options):
    models = load_models(paths, QUICK, read=SourceOptions(same="text", **options))
    write_report(models, page, ReportOptions(score=QUICK))
    return page.as_uri()


def classes(page, bucket):
    return page.locator(f'[aria-label="problem {bucket}"] .answers .class b').all_text_contents()


def test_classes_are_merged_by_keyboard_and_scored_with_the_file(chromium, tmp_path):
    answers = write_answers(tmp_path / "answers.parquet")
    address = write_page(tmp_path / "page.html", answers)
    with quiet(chromium, address, viewport={"width": 390, "height": 900}) as page:
        assert classes(page, "days") == ["30 days", "Within 30 days", "14 days"]
        days = page.locator('[aria-label="problem days"]')
        assert "30 days (4)" not in days.text_content()
        assert "30 days (3)" in days.locator(".class.right").text_content()
        assert days.locator(".class.wrong").count() == 2
        days.get_by_text("Raw record").click()
        record = [json.loads(line) for line in days.locator("pre").text_content().splitlines()]
        assert [row["raw_output"] for row in record] == ANSWERS["days"]
        days.get_by_label("Merge Within 30 days with another class").focus()
        page.keyboard.press("ArrowDown")
        assert page.locator("#by-hand").is_hidden()  # an arrow key alone takes nothing
        page.keyboard.press("Enter")
        assert classes(page, "days") == ["30 days", "14 days"]
        assert "30 days (4)" in days.locator(".class.right").text_content()
        of_page = float(page.locator("#by-hand li").get_attribute("data-same"))
        page.reload()
        assert classes(page, "days") == ["30 days", "14 days"]  # kept in the browser
        with page.expect_download() as saved:
            page.get_by_role("button", name="Download the classes").press("Enter")
        saved.value.save_as(tmp_path / "classes.jsonl")
        page.get_by_label("Class of Within 30 days").select_option(label="a class of its own")
        assert classes(page, "days") == ["30 days", "14 days", "Within 30 days"]
    lines = [json.loads(line) for line in (tmp_path / "classes.jsonl").read_text().splitlines()]
    assert {line["bucket_id"] for line in lines} == {"days"}
    scored = pc.score(answers, same="text", classes=tmp_path / "classes.jsonl").sets["answers"]
    by_hand = ((4 * 3) / (5 * 4) + 0 + 1 + 1 / 3) / 4  # 4 of 5 alike; none; both; one pair of three
    assert scored.wording.same_answer == pytest.approx(by_hand, abs=1e-12)
    assert of_page == pytest.approx(by_hand, abs=1e-12)
    again = write_page(tmp_path / "again.html", answers, classes=tmp_path / "classes.jsonl")
    with quiet(chromium, again) as page:
        assert classes(page, "days") == ["30 days", "14 days"]
        assert "verdicts on pairs of different answers were made by hand" in page.content()


def test_answers_are_text_whatever_they_hold(chromium, tmp_path):
    address = write_page(tmp_path / "page.html", write_answers(tmp_path / "answers.parquet"))
    assert (tmp_path / "page.html").stat().st_size < 1_000_000
    with quiet(chromium, address) as page:
        assert page.title() != "run"
        hostile = page.locator('[aria-label="problem hostile"] .answers')
        assert hostile.locator("script").count() == 0
        assert "<script>document.title = 'run'</script>" in hostile.text_content()
        hostile.locator("li.text > [tabindex]").first.press("ArrowDown")  # which scrolls it, and leads to no other
        assert page.evaluate("document.activeElement.matches('li.text > span')")
        names = page.locator('[aria-label="problem names"]')
        assert "constructor (2)" in names.locator(".class.right").text_content()
        names.get_by_label("Merge __proto__").select_option(label="constructor")
        assert classes(page, "names") == ["constructor"]
        hostile.get_by_label("Merge word word").first.select_option(index=1)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Download the classes").click()
        saved.value.save_as(tmp_path / "classes.jsonl")
    scored = pc.score(tmp_path / "answers.parquet", same="text", classes=tmp_path / "classes.jsonl").sets["answers"]
    assert scored.to_dict()["by_hand"]["n_verdicts"] == 11
    assert (tmp_path / "classes.jsonl").stat().st_size < 20_000


def test_without_originals_row_1_has_the_commonest_answer(chromium, tmp_path):
    answers = write_answers(tmp_path / "answers.parquet", {"days": ANSWERS["days"][::-1][1:], "calm": ANSWERS["calm"]})
    with quiet(chromium, write_page(tmp_path / "page.html", answers)) as page:
        rows = page.locator('[aria-label="problem days"] .rows tbody tr')
        assert "30 days" in rows.first.text_content()
        assert "not as row 1" in rows.nth(1).text_content()
        page.get_by_label("show", exact=True).select_option("changed")
        assert page.locator("#list .bucket h3").all_text_contents() == ["days"]


def test_two_models_share_the_classes(chromium, tmp_path):
    one = write_answers(tmp_path / "one.parquet")
    two = write_answers(tmp_path / "two.parquet", ANSWERS | {"days": ["thirty days"] * 2 + ["30 days"] * 3})
    with quiet(chromium, write_page(tmp_path / "page.html", one, two)) as page:
        page.locator('[aria-label="problem days"]').get_by_label("Merge thirty days").select_option(label="30 days")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Download the classes").click()
        saved.value.save_as(tmp_path / "classes.jsonl")
        shown = [float(line.get_attribute("data-same")) for line in page.locator("#by-hand li").all()]
    scores = [pc.score(path, same="text", classes=tmp_path / "classes.jsonl").sets for path in (one, two)]
    expected = [scored.wording.same_answer for of_model in scores for scored in of_model.values()]
    assert shown == pytest.approx(expected, abs=1e-12)
