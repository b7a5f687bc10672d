"""Flips by sureness: what the page draws and filters is what the plot counts."""

import csv
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.browser import QUICK, in_chromium, visit
from helpers.report import ANSWERS, write_run

from paraconsist.data.rows import read_rows
from paraconsist.measures.noise_floor import trial_noise
from paraconsist.reporting.page import ReportOptions, load_models, write_report
from paraconsist.reporting.plots.canvas import drawn
from paraconsist.reporting.plots.sureness import Sureness, sureness_of, sureness_plot


def _some(n: int, noise: float | None = None) -> Sureness:
    rng = np.random.default_rng(0)
    first, then = rng.uniform(0, 1, (2, n))
    return Sureness("model", first, then, first > 0.5, then > 0.5, noise)


def test_as_many_flips_lie_in_the_band_as_the_noise_gives():
    some = _some(400, 0.05)
    moves = np.abs(some.original - some.reworded)
    assert np.count_nonzero((some.lost | some.gained) & (moves <= some.band)) == 20
    assert _some(400).band is None
    assert _some(400, 0.001).band is None  # less than one flip
    assert _some(400, 1.0).band == moves[some.lost | some.gained].max()
    assert "flips 5.0 %" in some.sentence


@pytest.mark.parametrize("n", [3, 2_000, 9_001])
def test_the_scatter_draws_every_answer_or_says_that_it_does_not(n):
    plot = sureness_plot("sureness-0", "set", [_some(n)])
    n_drawn = sum(len(one.get_offsets()) for one in drawn(plot).axes[0].collections)
    step = -(-n // 2_000)
    assert n_drawn == -(-n // step)
    assert ("at most 2,000" in plot.caption) == (n > 2_000)
    some = _some(n)
    assert f"lost {some.lost.sum():,}, gained {some.gained.sum():,} of {n:,} answers" in plot.description


def test_pairs_are_of_originals_and_their_rewordings_alone(tmp_path):
    scored = load_models([write_run(tmp_path / "run")], QUICK)[0].sets["toy:set"]
    one = sureness_of("model", read_rows(scored.predictions, scored.source.columns))
    assert len(one.original) == sum(len(answers) - 1 for answers in ANSWERS.values())
    assert (one.lost.sum(), one.gained.sum()) == (2 + 4, 3)  # of half and lost; of gained
    table = scored.predictions.table.drop_columns(["probabilities"])
    assert sureness_of("model", read_rows(replace(scored.predictions, table=table), scored.source.columns)) is None


@in_chromium[0]
@in_chromium[1]
def test_a_frame_filters_the_flip_browser_by_pointer_and_by_keys(chromium, tmp_path):
    repeats = trial_noise([1, 1, 0, 0, 1, 0, 0, 1], ["a"] * 4 + ["b"] * 4, [1, 1, 2, 2] * 2, [1, 2] * 4).to_dict()
    floor = repeats | {"correctness_flip_rate": {"decoding": 0.06}}
    (model,) = load_models([write_run(tmp_path / "first")], QUICK)
    entries = [replace(model, sets={"toy:set": replace(model.sets["toy:set"], noise_floor=floor)})]
    written = write_report(entries, tmp_path / "page.html", ReportOptions(score=QUICK), plots_folder=tmp_path / "plots")
    assert (tmp_path / "plots" / "sureness-0.svg").exists()
    assert "sureness-0" not in (tmp_path / "page.html").read_text()  # the browser's data draw it: no second copy
    context = chromium.new_context(viewport={"width": 1100, "height": 900}, color_scheme="dark")
    page = visit(context, Path(written.page).as_uri())
    sentence = "ost 6, gained 3 of 16 answers to rewordings"
    assert sentence in page.locator("#sureness li").text_content()
    assert sentence in page.locator("#sure .note").nth(1).inner_text()
    assert "dashed" in page.locator("#sure .note").nth(1).inner_text()
    with page.expect_download() as numbers:
        page.get_by_role("button", name="Save the probabilities as CSV").click()
    lines = list(csv.DictReader(io.StringIO(Path(numbers.value.path()).read_text("utf-8-sig"))))
    assert Counter(line["answer"] for line in lines) == {"lost": 6, "gained": 3, "same": 7}
    (scored,) = model.sets.values()
    one = sureness_of("model", read_rows(scored.predictions, scored.source.columns))
    found = sorted((round(float(line["original"]), 3), round(float(line["rewording"]), 3)) for line in lines)
    assert found == sorted(zip(one.original.round(3).tolist(), one.reworded.round(3).tolist(), strict=True))
    assert {line["bucket_id"] for line in lines} == set(ANSWERS)
    drawn_marks = {
        kind: (page.locator(f"#sure .{kind}").get_attribute("d") or "").count("M")
        for kind in ("lost", "gained", "same")
    }
    assert drawn_marks == {"lost": 6, "gained": 3, "same": 7}
    assert json.loads(page.locator("#sure").get_attribute("data-bands"))[0][2] > 0

    page.locator("#sure svg").scroll_into_view_if_needed()
    box = page.locator("#sure svg").bounding_box()

    def at(p, q):
        return box["x"] + box["width"] * (52 + 418 * p) / 480, box["y"] + box["height"] * (434 - 424 * q) / 480

    page.mouse.move(*at(0.5, 0.02))
    page.mouse.down()
    page.mouse.move(*at(1.0, 0.5))
    page.mouse.up()
    assert "In the frame: lost 6, gained 0" in page.locator("#sure [role=status]").inner_text()
    assert "original=0.5%2C1" in page.url
    assert sorted(page.locator("#list .bucket h3").all_text_contents()) == ["half", "lost"]
    page.get_by_role("button", name="Drop the frame").click()
    assert "original" not in page.url
    assert page.locator("#list .bucket").count() == len(ANSWERS)

    slider = page.get_by_label("original to")
    slider.focus()
    page.keyboard.press("Home")
    for _ in range(50):
        page.keyboard.press("ArrowRight")
    assert slider.input_value() == "0.5"
    assert "lost 0, gained 3" in page.locator("#sure [role=status]").inner_text()
    page.get_by_role("link", name="Show them below").click()
    assert page.evaluate("document.activeElement.id") == "found"
    assert sorted(page.locator("#list .bucket h3").all_text_contents()) == ["gained", "wrong"]
    page.reload()
    assert "lost 0, gained 3" in page.locator("#sure [role=status]").inner_text()
    bars = page.locator("#plot-buckets-0 a.datum")
    assert [bar.get_attribute("tabindex") for bar in bars.all()] == ["0", *["-1"] * (bars.count() - 1)]
    bars.first.focus()
    for _ in range(9):
        page.keyboard.press("ArrowRight")  # the last stays
    assert bars.last.get_attribute("tabindex") == "0"
    assert "all right: 40.0 % of problems; a coin" in bars.last.get_attribute("aria-label")
    page.keyboard.press("Enter")
    assert sorted(page.locator("#list .bucket h3").all_text_contents()) == ["calm", "gained"]
    page.emulate_media(media="print")
    assert not page.locator("#sure fieldset").is_visible()
    ink = "getComputedStyle(document.querySelector('figure svg.plot text')).fill"
    assert page.evaluate(ink) == "rgb(31, 36, 48)"  # P8: printed from a dark system, as from a light one
    written = write_report(entries, tmp_path / "part.html", ReportOptions(score=QUICK, most_buckets=2))
    page.close()
    page = visit(context, Path(written.page).as_uri())
    drawn_answers = page.locator("#sure .note").nth(1).inner_text()
    assert "in those 2 of 5 problems that this page holds" in drawn_answers
    assert sentence not in drawn_answers
    assert sentence in page.locator("#sureness li").text_content()
    assert context.problems == []
    context.close()
