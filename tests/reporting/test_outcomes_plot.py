"""The plot of what becomes of the problems: the counts of the first screen."""

import re
from pathlib import Path

import pandas as pd
import pytest

import paraconsist as pc
from paraconsist.reporting.page import ReportOptions, write_report
from paraconsist.reporting.page.figures import extent
from paraconsist.reporting.page.models import load_models
from paraconsist.scoring.options import ScoreOptions


def answers(kinds: str, *, labelled: bool = True) -> pd.DataFrame:
    """Two wordings of each problem: r right in both, d in one, w in none."""
    both = {"r": (1, 1), "d": (0, 1), "w": (0, 0)}
    rows = [
        {"bucket_id": f"b{number}", "role": role, "prediction": answer, "label": 1}
        for number, kind in enumerate(kinds)
        for role, answer in zip(("original", "paraphrase"), both[kind], strict=True)
    ]
    frame = pd.DataFrame(rows)
    return frame if labelled else frame.drop(columns="label")


@pytest.mark.parametrize(("kinds", "sizes"), [("r" * 9 + "d" * 5 + "w" * 2, (9, 5, 2)), ("r" * 7 + "d" * 4, (7, 4))])
def test_outcomes_are_the_first_plot_and_count_as_the_sentence_does(kinds: str, sizes: tuple[int, ...]) -> None:
    figure = pc.score(answers(kinds), n_resamples=100).plot()
    assert [round(bar.get_width() * len(kinds) / 100) for bar in figure.axes[0].patches] == list(sizes)
    words = [
        text.get_text()
        for legend in figure.axes[0].figure.legends or [figure.axes[0].get_legend()]
        for text in legend.get_texts()
    ]
    assert (
        words
        == ["right in every wording", "right in some wordings, wrong in others", "wrong in every wording"][: len(sizes)]
    )


def test_without_labels_problems_keep_or_change_their_answer() -> None:
    figure = pc.score(answers("rrdrwd", labelled=False), n_resamples=100).plot("outcomes")
    assert [round(bar.get_width() * 6 / 100) for bar in figure.axes[0].patches] == [4, 2]


def test_a_caption_says_what_is_found_of_how_many_and_how() -> None:
    scores = pc.score(answers("rrdrwd"), n_resamples=100)
    texts = [text.get_text().replace("\n", " ") for text in scores.plot("outcomes", caption=True).texts]
    (signature,) = {values["signature"] for values in scores.sets["predictions"].measures.values()}
    caption = texts[-1]
    assert "Two wordings of a problem get different answers 33.3 % of the time" in caption
    assert "6 problems in 12 rows." in caption
    assert signature in caption.replace(" ", "")
    compared = pc.compare(*(answers(kinds).drop(columns="role") for kinds in ("rrdrwd", "rdwrrr")))
    assert "paired over 6 problems" in compared.plot(caption=True).texts[-1].get_text().replace("\n", " ")
    assert compared.plot(width=85).get_size_inches()[0] == pytest.approx(5.0)


def headings(tmp_path: Path, **models: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """The heading of every figure of a page by its id, and the line below it."""
    files = []
    for name, frame in models.items():
        files.append(tmp_path / f"{name}.csv")
        frame.to_csv(files[-1], index=False)
    write_report(load_models(files, ScoreOptions(n_resamples=100)), tmp_path / "page.html", ReportOptions())
    page = (tmp_path / "page.html").read_text()
    found = re.findall(r'<figure id="plot-([^"]+)">\s*<h3>(.*?)</h3>\s*(?:<p class="note">(.*?)</p>)?', page)
    return {name: (re.sub(r"<[^>]+>", "", heading).replace("\xa0", " "), below) for name, heading, below in found}


def test_the_headings_of_figures_say_what_is_found(tmp_path: Path) -> None:
    found = headings(tmp_path, steady=answers("rrrrwd"), moved=answers("rrdddd"), constant=answers("rrrrrr"))
    assert found["outcomes-0"] == (
        "Right in some wordings, wrong in others: 16.7 % (steady) to 66.7 % (moved) of problems",
        "Outcomes, predictions",
    )
    assert found["buckets-0"][0] == "Right in some rewordings, wrong in others: 0.0 % of problems"  # a rewording each
    assert found["changes-0"][0].endswith("than their original: 16.7 % (steady) to 66.7 % (moved)")
    assert len({heading for heading, _ in found.values()}) == len(found)
    assert all(below for _, below in found.values())


def test_the_heading_of_one_model_is_what_the_page_begins_with(tmp_path: Path) -> None:
    found = headings(tmp_path, one=answers("rrdrwd"))
    assert found["outcomes-0"][0] == "Two wordings of a problem get different answers 33.3 % of the time"
    assert found["changes-0"][0] == "Rewordings with another answer than their original: 33.3 %"


def test_the_extent_of_shares_names_both_ends() -> None:
    assert extent([("a", 0.5), ("b", 0.721), ("c", 0.6)]) == "50.0 % (a) to 72.1 % (b)"
    assert extent([("a", 0.5), ("b", 0.50001)]) == "50.0 %"  # no two ends that read alike
    long = extent([("long name " * 9 + "a", 0.1), ("long name " * 9 + "b", 0.2)])
    assert len(long) < 110
    assert long.endswith(" b)")
    assert extent([]) == ""


def test_the_page_speaks_of_problems_and_rewordings(tmp_path: Path) -> None:
    """Options, columns, signatures and the measures' own names aside, no reader meets a bucket or a paraphrase."""
    headings(tmp_path, one=answers("rrdrwd"), two=answers("rrdddd"))
    page = (tmp_path / "page.html").read_text().partition('<section id="method">')[0]
    page = re.sub(r"<(script|style|code)\b.*?</\1>", "", page, flags=re.S)
    assert "6 of 6 problems have one rewording" in page  # a warning, whose bucket is a parameter in Python
    words = re.findall(r'(?:aria-label|title)="([^"]*)"', page) + re.findall(r">([^<]+)<", page)
    kept = r"`bucket`|paraphrastic consistency|\bno paraphrase"
    left = [re.sub(kept, "", text, flags=re.I).strip() for text in words]
    assert [text for text in left if re.search("bucket|paraphrase", text, re.I)] == []
