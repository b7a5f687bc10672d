"""The page for everyone: what axe-core finds, the keyboard, contrast, forced colours, and strings that mean harm."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers.browser import in_chromium, luminance, quiet, visit, write_page
from helpers.report import ANSWERS, HOSTILE, write_run

pytestmark = in_chromium

FEW = {"half": ANSWERS["half"], "lost": ANSWERS["lost"]}
#: Contrast is looked at where it is not the same again: axe does not see text in plots, further rows are as the first.
SEEN = "{exclude: [['svg'], ['tr:nth-child(n+3)'], ['#method'], ['option'], ['figure:nth-of-type(n+2)']]}"
AXE = f"""async () => {{
  const only = {{ resultTypes: ["violations"] }};
  const all = await axe.run(document, {{ ...only, rules: {{ "color-contrast": {{ enabled: false }} }} }});
  const contrast = await axe.run({SEEN}, {{ ...only, runOnly: ["color-contrast"] }});
  return [...all.violations, ...contrast.violations].filter((one) => one.impact !== "minor")
    .map((one) => [one.impact, one.id, one.nodes.map((node) => node.html.slice(0, 200))]);
}}"""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    """A page with one model, and one with six."""
    folder = tmp_path_factory.mktemp("pages")
    runs = [
        write_run(folder / str(i), model=f"models/m{i}", answers={key: own[i:] + own[:i] for key, own in FEW.items()})
        for i in range(6)
    ]
    pages = {}
    for n_models in (1, 6):
        (folder / f"page {n_models}").mkdir()
        pages[n_models] = write_page(folder / f"page {n_models}", *runs[:n_models])
    return pages


@pytest.mark.skipif(find_spec("axe_playwright_python") is None, reason="axe_playwright_python is not installed")
@pytest.mark.parametrize("n_models", [1, 6])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_or_moderate(chromium, addresses, n_models, scheme):
    import axe_playwright_python

    source = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    with quiet(chromium, addresses[n_models], color_scheme=scheme) as page:
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        page.evaluate(source)
        for width in (390, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(AXE) == []


#: What can be done on the page, as far as it is there to be seen.
_DOES = "a[href], button:not(:disabled), input, select, textarea, summary, [tabindex='0']"
_REACHED = f"""() => {{
  const all = [...document.querySelectorAll("{_DOES}")].filter((one) => one.checkVisibility() && one.tabIndex >= 0);
  return all.filter((one) => !window.reached.has(one)).map((one) => one.outerHTML.slice(0, 100));
}}"""


@pytest.mark.parametrize("n_models", [1, 6])
def test_the_keyboard_reaches_everything_and_shows_where_it_is(chromium, addresses, n_models):
    with quiet(chromium, addresses[n_models], viewport={"width": 1440, "height": 900}) as page:
        page.evaluate(
            """() => {
              window.reached = new Set();
              window.unseen = [];
              document.addEventListener("focusin", ({ target }) => {
                window.reached.add(target);
                const style = getComputedStyle(target);
                const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
                if (!isSeen) window.unseen.push(target.outerHTML.slice(0, 100));
              });
            }"""
        )
        n_steps = page.evaluate(f"document.querySelectorAll(`{_DOES}`).length")
        for _ in range(n_steps + 5):
            page.keyboard.press("Tab")
        assert page.evaluate(_REACHED) == []
        assert page.evaluate("window.unseen") == []


_COVERED = """(selector) => {
  const covered = [];
  for (const now of [...document.querySelectorAll(selector)].reverse()) {
    now.focus();
    const box = now.getBoundingClientRect();
    if (now !== document.activeElement || now.matches("div, article")) continue;
    const x = Math.max(box.left, 0) + Math.min(box.width / 2, 20), y = box.top + Math.min(box.height / 2, 12);
    let above = document.elementFromPoint(x, y);
    while (above && getComputedStyle(above).position !== "sticky") above = above.parentElement;
    if (above && !above.contains(now)) covered.push(now.outerHTML.slice(0, 100));
  }
  return covered;
}"""


@pytest.mark.faults
@pytest.mark.parametrize("size", [(390, 800), (1100, 500)])
def test_nothing_that_stays_covers_what_has_the_focus(chromium, addresses, size):
    """On the way back through a wide or tall table its first column and its head, which stay, hid the link."""
    with quiet(chromium, addresses[6], viewport=dict(zip(("width", "height"), size, strict=True))) as page:
        assert page.evaluate(_COVERED, _DOES) == []


_EDGES = """() => [...document.querySelectorAll("button:not(:disabled), select, input")]
  .filter((one) => one.checkVisibility() && !["checkbox", "range", "radio"].includes(one.type))
  .map((one) => {
    let under = one.parentElement;
    const paper = () => getComputedStyle(under).backgroundColor;
    while (under.parentElement && paper() === "rgba(0, 0, 0, 0)") under = under.parentElement;
    const style = getComputedStyle(one);
    const edge = style.borderTopWidth === "0px" ? style.color : style.borderTopColor;  // some look like texts
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    return [one.outerHTML.slice(0, 80), numbers(edge), numbers(paper())];
  })"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_controls_stand_out_and_forced_colours_keep_right_and_wrong_apart(chromium, addresses, scheme):
    with quiet(chromium, addresses[1], color_scheme=scheme) as page:
        for control, edge, under in page.evaluate(_EDGES):
            light, dark = sorted(map(luminance, (edge, under)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3, control
        page.emulate_media(forced_colors="active")
        bucket = page.locator("#list .bucket").first
        inks = {}
        for kind in ("right", "wrong"):
            mark = bucket.locator(f".answer.{kind} .mark").first
            style = "(e) => { const s = getComputedStyle(e); return [s.backgroundColor, s.borderTopColor]; }"
            inks[kind] = mark.evaluate(style)
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert inks["right"][0] not in (paper, "rgba(0, 0, 0, 0)")
        assert inks["wrong"][0] in (paper, "rgba(0, 0, 0, 0)")
        assert inks["wrong"][1] not in (paper, "rgba(0, 0, 0, 0)")
        words = bucket.locator("tbody tr").nth(1)
        decorations = [
            words.locator(name).first.evaluate("(e) => getComputedStyle(e).textDecorationLine")
            for name in ("ins", "del")
        ]
        assert decorations == ["underline", "line-through"]


@pytest.mark.parametrize(
    "hostile", [HOSTILE, "\u202edesrever\u2066", "x" * 100_000, "e" + "\u0301" * 300, "\x1b[2J\ufffe"]
)
def test_hostile_strings_stay_text(chromium, tmp_path, hostile):
    """In names of models, sets and strata, labels, texts and ids; nothing of them leaves its own element."""
    address = write_page(tmp_path, write_run(tmp_path / "run", hostile=hostile, answers=FEW), title=f"T{hostile}")
    context = chromium.new_context(viewport={"width": 390, "height": 844})
    context.set_default_timeout(240_000)  # 8 MB of names; the browser sets them in seconds
    page = visit(context, address)
    assert page.locator("img").count() == 0
    assert page.title() != "broken"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    bucket = page.locator("#list .bucket").first
    shown = bucket.locator("h3").text_content()
    assert shown.startswith("half")
    assert shown.replace("\u2028", " ") == f"half{hostile}".replace("\u2028", " ")[: len(shown)]
    isolated = """() => [...document.querySelectorAll("h1, h3, dd, option, caption, .facts b, .label, .text p, th, td")]
      .filter((one) => one.textContent.includes("\\u202e") && getComputedStyle(one).display.startsWith("inline")
        && !["isolate", "plaintext"].includes(getComputedStyle(one).unicodeBidi))
      .map((one) => one.outerHTML.slice(0, 100))"""
    assert page.evaluate(isolated) == []
    assert context.problems == []
    context.close()
