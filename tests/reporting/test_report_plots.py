"""The report's plots: what they show, and what every one of them must be."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from helpers.report import HOSTILE

from paraconsist.reporting.plots import Plot, inline_svg, write_plot
from paraconsist.reporting.plots.answers import Line, forest_plot
from paraconsist.reporting.plots.consistency import (
    Point,
    accuracy_consistency_plot,
    bucket_accuracy_plot,
    bucket_accuracy_shares,
)
from paraconsist.reporting.plots.ie import ie_runs_plot

pytest.importorskip("matplotlib")


def test_bucket_accuracy_shares_treat_right_and_wrong_alike():
    accuracies = np.array([0, 0, 1 / 9, 0.2, 0.5, 0.8, 8 / 9, 1])
    assert bucket_accuracy_shares(accuracies).tolist() == [0.25, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125]
    rng = np.random.default_rng(0)
    some = rng.integers(0, 10, 500) / 9
    np.testing.assert_allclose(bucket_accuracy_shares(some), bucket_accuracy_shares(1 - some)[::-1])


def plots() -> list[Plot]:
    name = f"$x${HOSTILE}\x01 名前"
    points = [Point(name, "set", 0.6, 0.7, (0.5, 0.7), (0.6, 0.8)), Point("other", name, 0.9, 0.95)]
    return [
        accuracy_consistency_plot(points),
        bucket_accuracy_plot("buckets-0", name, {name: np.array([0.0, 0.5, 1.0]), "b": np.array([1.0])}),
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
