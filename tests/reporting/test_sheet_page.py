"""The page on which people fill in a sheet: what they press is what `score --checked` reads."""

import json

import pandas as pd
import pytest
from helpers.browser import in_chromium, quiet

from paraconsist.data.tables import read_table

pytestmark = in_chromium

HOSTILE = '=1+1\n<script>document.title = "x"</script> "quoted", \u202eback </script>'
ANSWERS = ("red", "a deep red", HOSTILE, "blue")


@pytest.fixture
def run(tmp_path):
    rows = [
        {
            "bucket_id": f"b{bucket}",
            "question": f"{bucket}? {HOSTILE}",
            "prediction": ANSWERS[(bucket + k * k) % 4],
            "label": "red",
        }
        for bucket in range(30)
        for k in range(3)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "run.csv", index=False)
    return tmp_path / "run.csv"


def drawn(command, run, name, *options):
    command.done("sheet", run, "--same", "tokens", "--n", "24", "--output", run.parent / name, *options)
    return run.parent / name


def lines_of(path):
    rows = read_table(path, function="score").to_pylist()
    return [{**row, "weight": float(row["weight"])} for row in rows]


def saved(page, path):
    with page.expect_download() as download:
        page.keyboard.press("s")
    assert download.value.suggested_filename == "page.csv"
    download.value.save_as(path)
    return path


@pytest.mark.parametrize("mark", ["same", "right"])
def test_what_is_pressed_is_what_is_scored(command, run, tmp_path, chromium, mark):
    plain = drawn(command, run, "plain.csv", "--mark", mark)
    page_file = drawn(command, run, "page.html", "--mark", mark)
    words = ["yes" if i % 3 else "no" for i in range(24)]
    with quiet(chromium, page_file.as_uri()) as page:
        assert page.locator("#progress").inner_text() == "Row 1 of 24, 0 marked."
        for number, word in enumerate(words):
            if number % 2:
                page.keyboard.press(word[0])
            else:
                page.locator(f"#{word}").click()
        assert page.locator("#progress").inner_text() == "Row 24 of 24, 24 marked: save the sheet."
        assert page.title() != "x"
        by_page = saved(page, tmp_path / "by_page.csv")
    by_hand = [{**line, mark: word} for line, word in zip(lines_of(plain), words, strict=True)]
    assert lines_of(by_page) == by_hand
    out = command.out("score", run, "--same", "tokens", "--checked", by_page, "--json")
    (result,) = json.loads(out).values()
    assert result["checked"]["rates"]["same_answer" if mark == "same" else "accuracy"]["n_labels"] == 24


def test_marks_are_there_after_a_reload_and_each_persons_own(command, run, tmp_path, chromium):
    page_file = drawn(command, run, "page.html", "--people", "2")
    with quiet(chromium, page_file.as_uri()) as page:
        for key in ("y", "n", "ArrowRight", "y", "ArrowLeft", "u", "ArrowLeft"):
            page.keyboard.press(key)
        page.reload()
        assert page.locator("#progress").inner_text() == "Row 3 of 24, 2 marked."
        page.locator("#person").select_option("2")
        assert page.locator("#progress").inner_text() == "Row 1 of 24, 0 marked."
        page.locator("#person").press("n")  # it has the focus after a choice, and swallowed the keys
        page.locator("#save").focus()
        lines = lines_of(saved(page, tmp_path / "saved.csv"))
    assert [(line["same_1"], line["same_2"]) for line in lines[:5]] == [
        ("yes", "no"),
        ("no", ""),
        ("", ""),
        ("", ""),
        ("", ""),
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(command, run, chromium, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page_file = drawn(command, run, "page.html", "--people", "2")
    with quiet(chromium, page_file.as_uri(), color_scheme=scheme, viewport={"width": 390, "height": 800}) as page:
        page.keyboard.press("ArrowRight")
        violations = axe.run(page).response["violations"]
        assert [one["id"] for one in violations] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
