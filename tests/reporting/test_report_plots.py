"""The report's plots: what they show, and what every one of them must be, for one model and for thirty."""

import itertools
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from helpers.colours import contrast, distance, lost_cones
from helpers.plots import KINDS, models
from helpers.report import HOSTILE

import paraconsist.reporting.page
from paraconsist.reporting.plots import Plot, inline_svg, write_plot
from paraconsist.reporting.plots.answers import Line, forest_plot
from paraconsist.reporting.plots.canvas import COLOURS, drawn, series_colour, series_marker
from paraconsist.reporting.plots.consistency import (
    Buckets,
    Point,
    accuracy_consistency_plot,
    bucket_accuracy_plot,
    bucket_accuracy_shares,
    coin_shares,
)
from paraconsist.reporting.plots.ie import ie_runs_plot

pytest.importorskip("matplotlib")
from matplotlib.text import Text

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
    assert [path.suffix for path in paths] == [".png", ".svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert ET.parse(paths[1]).getroot().tag.endswith("svg")


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
            middle = artist.axes.transData.transform(artist.get_xydata()[0])
            assert outer.contains(*middle)
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
