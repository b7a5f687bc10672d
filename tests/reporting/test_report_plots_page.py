"""The plots as a page draws them, with a reader's own letters: for up to thirty models, in every theme, on paper."""

import csv
import io
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

from helpers.browser import in_chromium, quiet, write_page
from helpers.plots import KINDS, models
from helpers.report import write_run

import paraconsist.reporting.page
from paraconsist.reporting.plots import inline_svg

pytestmark = in_chromium
STYLE = (Path(paraconsist.reporting.page.__file__).parent / "templates" / "style.css").read_text()

#: Of every figure: its marks, those outside the view box, texts outside it, and pairs of texts that meet.
LOOK = """() => [...document.querySelectorAll('svg.plot')].map((svg) => {
  const view = svg.getBoundingClientRect();
  const beside = (r) => r.left < view.left - 1 || r.right > view.right + 1;
  const outside = (r) => beside(r) || r.top < view.top - 1 || r.bottom > view.bottom + 1;
  const texts = [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
  const marks = [...svg.querySelectorAll('.datum')].map((mark) => mark.getBoundingClientRect());
  const meet = [];
  for (const [i, [one, a]] of texts.entries()) for (const [other, b] of texts.slice(i + 1)) {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 1 && high > a.height / 3) meet.push(`${one} | ${other}`);
  }
  return [marks.length, marks.filter(outside).length, texts.filter(([, r]) => outside(r)).map(([text]) => text), meet];
})"""


def test_every_mark_of_up_to_thirty_models_is_inside_and_no_two_texts_meet(chromium, tmp_path):
    cases = [(kind, 30) for kind in KINDS if kind != "sets"] + [("forest", 4), ("sets", 4), ("sets", 7)]
    figures = [(kind, n, *KINDS[kind](models(n))) for kind, n in cases]
    svgs = "".join(f"<figure>{inline_svg(plot)}</figure>" for _, _, plot, _ in figures)
    file = tmp_path / "page.html"
    file.write_text(f"<!DOCTYPE html><meta charset=utf-8><style>{STYLE}</style><main>{svgs}</main>")
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    page.goto(file.as_uri())
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for (kind, n, _, n_values), looks in zip(figures, page.evaluate(LOOK), strict=True):
            assert looks == [n_values, 0, [], []], (kind, n, width)
    fills = "[...new Set([...document.querySelectorAll('svg.plot text')].map((text) => getComputedStyle(text).fill))]"
    page.emulate_media(color_scheme="dark")
    assert set(page.evaluate(fills)) == {"rgb(230, 233, 238)", "rgb(154, 165, 180)"}
    page.emulate_media(color_scheme="dark", media="print")  # P8
    assert set(page.evaluate(fills)) == {"rgb(31, 36, 48)", "rgb(91, 100, 114)"}
    page.emulate_media(color_scheme="dark", media="screen", forced_colors="active")
    strokes = "getComputedStyle(document.querySelector('svg.plot .stroke-ink')).stroke"
    assert page.evaluate(strokes) == page.evaluate("getComputedStyle(document.body).color")
    page.close()


def test_a_figure_leaves_the_page_as_it_looks_there(chromium, tmp_path):
    answers = {f"b{i}": "1101" if i % 3 else "1111" for i in range(12)}
    with quiet(chromium, write_page(tmp_path, write_run(tmp_path / "run", answers=answers))) as page:
        figure = page.locator("#plot-accuracy-consistency")
        with page.expect_download() as saved:
            figure.get_by_role("button", name="as SVG").click()
        drawn = ET.fromstring(Path(saved.value.path()).read_text())
        view = [float(number) for number in drawn.get("viewBox", "").split()]
        with page.expect_download() as picture:
            figure.get_by_role("button", name="as PNG").click()
        data = Path(picture.value.path()).read_bytes()
        with page.expect_download() as numbers:
            figure.get_by_role("button", name="as CSV").click()
        lines = list(csv.DictReader(io.StringIO(Path(numbers.value.path()).read_text("utf-8-sig"))))
        name = figure.get_attribute("id").removeprefix("plot-")
        n_marks = figure.locator(".datum").count()
        caption = figure.locator("figcaption").text_content()
        assert figure.get_by_role("link", name="Link to").get_attribute("href") == f"#plot-{name}"
        series = page.evaluate("getComputedStyle(document.querySelector('svg.plot .fill-series-0')).fill")
    assert (saved.value.suggested_filename, picture.value.suggested_filename) == (f"{name}.svg", f"{name}.png")
    assert numbers.value.suggested_filename == f"{name}.csv"
    assert len(lines) == n_marks > 0
    (point,) = lines
    for key in ("accuracy", "consistency"):
        assert float(point[f"{key}_low"]) <= float(point[key]) <= float(point[f"{key}_high"])
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">2I", data[16:24]) == (int(4 * view[2]), int(4 * view[3]))
    assert drawn.find("{*}desc").text.endswith(caption)
    assert not [element for element in drawn.iter() if element.get("class") or element.get("style")]
    assert series in {element.get("fill") for element in drawn.iter()}
    assert all(element.get("fill") is None for element in drawn.findall(".//{*}defs//*"))
