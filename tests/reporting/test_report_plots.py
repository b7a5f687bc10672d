"""The report's plots: what they show, and what every one of them must be, for one model and for thirty."""

import io
import itertools
import json
import re
import struct
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from helpers.colours import contrast, distance, lost_cones
from helpers.errors import refuses
from helpers.examples import examples
from helpers.plots import KINDS, models
from helpers.report import HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

import paraconsist as pc
import paraconsist.reporting.page
from paraconsist.reporting.page.figures import _difference, difference_plots
from paraconsist.reporting.plots import Plot, inline_svg, write_plot
from paraconsist.reporting.plots.answers import Line, forest_plot
from paraconsist.reporting.plots.canvas import COLOURS, drawn, series_colour, series_marker, told_apart
from paraconsist.reporting.plots.consistency import (
    Buckets,
    Point,
    accuracy_consistency_plot,
    bucket_accuracy_plot,
    bucket_accuracy_shares,
    coin_shares,
    outcomes_plot,
)
from paraconsist.reporting.plots.ie import experiment_plots, ie_runs_plot

STYLE = Path(paraconsist.reporting.page.__file__).parent / "templates" / "style.css"


def test_bucket_accuracy_shares_treat_right_and_wrong_alike():
    accuracies = np.array([0, 0, 1 / 9, 0.2, 0.5, 0.8, 8 / 9, 1])
    assert bucket_accuracy_shares(accuracies).tolist() == [0.25, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125]
    rng = np.random.default_rng(0)
    some = rng.integers(0, 10, 500) / 9
    np.testing.assert_allclose(bucket_accuracy_shares(some), bucket_accuracy_shares(1 - some)[::-1])


@pytest.mark.parametrize("accuracy", [0.0, 0.3, 1.0])
def test_a_coin_gives_the_mean_of_all_its_throws(accuracy):
    sizes = np.array([1, 3, 4, 4])
    expected = np.zeros(7)
    for size in sizes:
        for throws in itertools.product((0, 1), repeat=size):
            chance = np.prod([accuracy if right else 1 - accuracy for right in throws])
            expected += chance * bucket_accuracy_shares(np.array([np.mean(throws)])) / len(sizes)
    np.testing.assert_allclose(coin_shares(np.array([*sizes, 0]), accuracy), expected, atol=1e-15)


def plots() -> list[Plot]:
    name = f"$x${HOSTILE}\x01 名前"
    points = [Point(name, "set", 0.6, 0.7, (0.5, 0.7), (0.6, 0.8)), Point("other", name, 0.9, 0.95)]
    some = [Buckets(name, np.array([0.0, 0.5, 1.0]), np.full(3, 2)), Buckets("b", np.array([1.0]), np.array([3]))]
    return [
        accuracy_consistency_plot(points),
        bucket_accuracy_plot("buckets-0", name, some),
        forest_plot(
            "strata-0", name, "caption", "P_C", [Line(name, name, name, 0.5, (0.4, 0.6)), Line("", "b", "c", 1)]
        ),
        ie_runs_plot("ie-0", [name, "b"], [1e-9, 0.3], [True, False]),
    ]


@pytest.mark.parametrize("alpha", ["0.05", "1e-05"])
def test_the_level_of_an_experiments_plots_is_that_of_its_decision(alpha):
    """1e-05 was read as 1: the page said that invariance is rejected at 1."""
    family = {"signature": f"ie|alpha:{alpha}|v:0.1.0", "by_rho": []}
    assert f"rejected at {alpha} over" in next(experiment_plots("ie-0", family)).title


@pytest.mark.parametrize("width", [85.0, 178.0])
@pytest.mark.parametrize("plot", [plots()[0], plots()[2]], ids=lambda plot: plot.name)
def test_a_figure_is_as_wide_on_paper_as_it_is_told(plot, width, tmp_path):
    caption = "What is found of 12 problems. a|signature:with|no|blanks " * 3
    figure, bare = drawn(plot, width, caption), drawn(plot, width)
    heights = {}
    for name, each in (("with", figure), ("bare", bare)):
        for kind in ("svg", "png", "pdf"):
            each.savefig(tmp_path / f"{name}.{kind}")
        svg = ET.parse(tmp_path / f"{name}.svg").getroot()
        wide, high = (float(svg.get(side).removesuffix("pt")) / 72 * 25.4 for side in ("width", "height"))
        (box,) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", (tmp_path / f"{name}.pdf").read_bytes())
        pixels = struct.unpack(">2I", (tmp_path / f"{name}.png").read_bytes()[16:24])
        assert wide == pytest.approx(width, abs=0.01)
        assert [float(side) / 72 * 25.4 for side in box] == pytest.approx([wide, high], abs=0.01)
        assert [side / 300 * 25.4 for side in pixels] == pytest.approx([wide, high], abs=0.2)
        heights[name] = high
    assert heights["with"] > heights["bare"] + 5
    words = ET.parse(tmp_path / "with.svg").getroot()
    assert len(list(words.iter("{http://www.w3.org/2000/svg}use"))) > 100  # letters as shapes, the caption's among them
    stream = io.BytesIO()
    bare.savefig(stream)
    bare.savefig(tmp_path / "no-ending")
    pictures = [stream.getvalue(), *((tmp_path / f"{name}.png").read_bytes() for name in ("bare", "no-ending"))]
    assert len({picture[:24] for picture in pictures}) == 1  # PNG all, of one size
    if width < 127:
        refuses("pdf, svg", bare.savefig, tmp_path / "bare.eps")
    refuses("from 50 to 500", drawn, plot, 8.5)
    refuses("be a number of mm", drawn, plot, float("nan"))


@pytest.mark.parametrize("plot", plots(), ids=lambda plot: plot.name)
def test_a_plot_is_a_themed_svg_with_a_text_alternative_and_two_files(plot, tmp_path):
    svg = inline_svg(plot)
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    assert "<img src=x onerror=" in root.get("aria-label") or plot.name in ("accuracy-consistency", "ie-0")
    assert "P_C" not in "".join(root.itertext())  # the letter stands below the line
    assert "mathdefault" not in svg  # the ticks of a logarithmic axis are plain text too
    assert "x01" not in repr(svg)
    assert all("style" not in element.attrib for element in root.iter())
    assert "#0072b2" not in svg
    assert "series-0" in svg
    assert inline_svg(plot) == svg
    paths = write_plot(plot, tmp_path)
    assert [path.suffix for path in paths] == [".png", ".svg", ".pdf"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert ET.parse(paths[1]).getroot().tag.endswith("svg")
    pdf = paths[2].read_bytes()
    assert pdf.startswith(b"%PDF")
    assert write_plot(plot, tmp_path)[2].read_bytes() == pdf


def test_drawing_leaves_matplotlib_as_it_was(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    write_plot(plots()[0], tmp_path)
    assert dict(matplotlib.rcParams) == before


CASES = {
    "forest": (1, 3, 4, 12),
    "differences": (1, 12),
    "points": (2, 12),
    "sets": (1, 7),
    "histogram": (1, 2, 9),
}


@pytest.mark.parametrize(("kind", "n_models"), [(kind, n) for kind, numbers in CASES.items() for n in numbers])
def test_every_value_is_drawn_inside_and_no_two_texts_meet(kind, n_models, monkeypatch):
    plot, n_values = KINDS[kind](models(n_models))
    figure = drawn(plot)
    texts = []
    draw = Text.draw
    monkeypatch.setattr(Text, "draw", lambda self, renderer: (texts.append(self), draw(self, renderer)))
    figure.draw_without_rendering()
    monkeypatch.undo()
    page = figure.get_window_extent().padded(1)
    marks = [artist for artist in figure.findobj() if str(artist.get_gid()).startswith("mark-")]
    assert len(marks) == n_values
    for artist in marks:
        outer, inner = artist.axes.get_window_extent().padded(0.5), artist.get_window_extent()
        if hasattr(artist, "get_xydata"):  # of a point its middle: markers reach over their place
            assert outer.contains(*artist.axes.transData.transform(artist.get_xydata()[0]))
        else:
            assert outer.x0 <= inner.x0 <= inner.x1 <= outer.x1
            assert outer.y0 <= inner.y0 <= inner.y1 <= outer.y1
    boxes = [(t.get_text(), Text.get_window_extent(t)) for t in texts if t.get_visible() and t.get_text().strip()]
    for text, box in boxes:
        assert page.x0 <= box.x0 <= box.x1 <= page.x1, text
        assert page.y0 <= box.y0 <= box.y1 <= page.y1, text
    boxes = [(text, box.padded(-0.75)) for text, box in boxes]  # half of what lies between two lines of text
    assert not [(a, b) for (a, one), (b, other) in itertools.combinations(boxes, 2) if one.overlaps(other)]
    if n_models > 4:
        return  # test_report_plots_page.py looks at more of them, up to 30, on a page
    root = ET.fromstring(inline_svg(plot))
    links = [element for element in root.iter() if element.get("class") == "datum"]
    assert len(links) == n_values
    assert all(next(iter(link)).text for link in links)
    linked = sum(element.tag.endswith("}a") for element in links)
    assert linked == n_values if kind != "histogram" else 2 * n_models <= linked <= n_values
    assert root.get("role") == "group"


LETTERS = "abAB01-_/. é名"


@st.composite
def names_that_differ_in_a_letter(draw):
    """Up to a hundred names, each made of another by one other letter at any place."""
    names = [draw(st.text(LETTERS, min_size=1, max_size=60))]
    for _ in range(draw(st.integers(0, 99))):
        name = draw(st.sampled_from(names))
        at = draw(st.integers(0, len(name) - 1))
        names.append(name[:at] + draw(st.sampled_from(LETTERS)) + name[at + 1 :])
    return list(dict.fromkeys(" ".join(name.split()) or "x" for name in names))


@examples(200)
@given(names_that_differ_in_a_letter(), st.integers(8, 44))
def test_names_that_differ_are_told_apart(names, most):
    shown = told_apart(names, most)
    assert len(set(shown)) == len(names)
    assert max(map(len, shown)) <= most
    if max(map(len, names)) <= most:
        assert shown == names


def _labels(figure) -> list[str]:
    """The names beside rows and points, above small axes, and in a legend."""
    axes = figure.axes
    groups = [
        [label.get_text() for label in axes[0].get_yticklabels()],
        [text.get_text() for text in axes[0].texts if getattr(text, "arrow_patch", None) is not None],
        [part.get_title(loc="left") for part in axes],
        [text.get_text() for legend in figure.legends for text in legend.get_texts()],
    ]
    return max(groups, key=lambda group: len(set(group)))


@pytest.mark.parametrize("n_models", [2, 3, 100])
@pytest.mark.parametrize("kind", ["forest", "differences", "points", "histogram", "outcomes"])
def test_no_two_models_share_a_label(kind, n_models):
    """P21: names that differ in one letter, which may lie in the middle of long ones."""
    base, rng = "organisation/model-of-some-length-and-more/checkpoint-000000-of-run", np.random.default_rng(n_models)
    names = {base}
    while len(names) < n_models:
        at = int(rng.integers(len(base)))
        names.add(base[:at] + "XYZ"[int(rng.integers(3))] + base[at + 1 :])
    names = sorted(names)
    if kind == "differences":
        lines = [Line("", name, "", 0.1) for name in names]
        plot = forest_plot("d", "title", "caption", "points", lines, zero=True)
    elif kind == "outcomes":
        plot = outcomes_plot("o", "set", {name: {"right": 3, "wrong": 1} for name in names})
    else:
        plot, _ = KINDS[kind](names)
    assert len(set(_labels(drawn(plot))) - {""}) >= n_models


def _palettes() -> dict[str, tuple[list[str], str]]:
    style = STYLE.read_text()
    pairs = [re.search(rf"--series-{i}: light-dark\((#\w+), (#\w+)\)", style).groups() for i in range(6)]
    paper = re.search(r"--paper: light-dark\((#\w+), (#\w+)\)", style).groups()
    files = [COLOURS[f"series-{number}"] for number in range(6)], COLOURS["paper"]
    return {"files": files} | {
        name: ([pair[i] for pair in pairs], paper[i]) for i, name in enumerate(("light", "dark"))
    }


@pytest.mark.parametrize("name", ["files", "light", "dark"])
@pytest.mark.parametrize("cone", ["none", "protanopia", "deuteranopia", "tritanopia"])
def test_series_are_told_apart_without_any_one_cone(name, cone):
    colours, paper = _palettes()[name]
    seen = [lost_cones(colour, cone) for colour in colours]
    assert min(distance(a, b) for a, b in itertools.combinations(seen, 2)) >= 14  # six times what can just be told
    assert min(contrast(colour, paper) for colour in colours) >= 3


def test_no_two_of_forty_two_models_share_colour_and_marker():
    assert len({(series_colour(number), series_marker(number)) for number in range(42)}) == 42
    assert len({series_marker(number) for number in range(7)}) == 7


def test_the_published_distances_of_colours_and_their_measure():
    """Sharma, Wu and Dalal (2005), Table 1, pairs 1, 7, 17 and 34."""
    table = [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ]
    for one, other, expected in table:
        assert distance(one, other) == pytest.approx(expected, abs=1e-4)


def test_a_filled_difference_is_significant_at_the_level_of_its_interval():
    """It was .05, whatever the level."""
    rng, sets = np.random.default_rng(0), {}
    table = {"bucket_id": np.repeat(np.arange(40), 2), "label": np.zeros(80, int)}
    one, two = ({**table, "prediction": (rng.random(80) < share).astype(int)} for share in (0.3, 0.5))
    for level in (0.5, 0.99):
        (comparison,) = pc.compare(one, two, names=["a", "b"], confidence_level=level).sets
        (placed,) = difference_plots([comparison])
        at_most = f"{1 - level:.2g}".removeprefix("0")
        assert f"p is at most {at_most}, corrected for 1 comparison (Holm)." in placed.plot.caption
        lines = [_difference("", "s", pair, {"a": "a", "b": "b"}, is_turned=False) for pair in comparison.pairs]
        sets[level] = [
            (line.is_filled, pair.corrected_p_value) for line, pair in zip(lines, comparison.pairs, strict=True)
        ]
        assert all(filled == (p <= 1 - level) for filled, p in sets[level])
    assert [filled for filled, _ in sets[0.5]] != [filled for filled, _ in sets[0.99]]


def test_a_point_has_the_intervals_of_its_accuracy_and_its_consistency():
    rng = np.random.default_rng(0)
    table = {"bucket_id": np.repeat(np.arange(40), 4), "label": np.ones(160, int)}
    scores = pc.score({**table, "prediction": (rng.random(160) > 0.3).astype(int)}, n_resamples=50)
    ends = scores.sets["predictions"].measures["paraphrastic_consistency"]["confidence_interval"]
    *_, across, upwards, _ = scores.plot("accuracy-consistency").axes[0].lines
    assert across.get_xdata() == pytest.approx(100 * np.array(ends["bucket_accuracy"]))
    assert upwards.get_ydata() == pytest.approx(100 * np.array(ends["paraphrastic_consistency_unbiased"]))


def test_a_pair_has_a_line_for_each_measure_that_it_is_compared_by():
    table = {"bucket_id": np.repeat(np.arange(40), 4), "label": np.ones(160, int)}
    rng = np.random.default_rng(0)
    one, two = ({**table, "prediction": (rng.random(160) > share).astype(int)} for share in (0.3, 0.5))
    compared = pc.compare(one, two, measures=["paraphrastic_consistency", "wording_change"], n_permutations=99)
    (placed,) = difference_plots(compared.sets)
    assert placed.finding.endswith("of 2 differences")


@pytest.mark.faults
def test_the_csv_of_differences_has_whole_names():
    """Names stood there, and above the figure, as they are drawn: of at most 18 letters."""
    names = [f"organisation/a-long-name-of-a-model-{which}-instruct" for which in ("small", "large")]
    table = {"bucket_id": np.repeat(np.arange(40), 4), "label": np.ones(160, int)}
    rng = np.random.default_rng(0)
    models = [{**table, "prediction": (rng.random(160) > share).astype(int)} for share in (0.3, 0.5)]
    (placed,) = difference_plots(pc.compare(*models, names=names, n_permutations=99).sets)
    (line,) = [json.loads(unescape(row)) for row in re.findall('data-row="(.*?)"', inline_svg(placed.plot))]
    assert [line[key] for key in ("measure", "first", "second")] == ["paraphrastic_consistency", *names]
    assert placed.finding.startswith(f"{names[0]} − {names[1]}: ")
