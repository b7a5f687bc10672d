"""The plot of what becomes of the problems: the counts of the first screen."""

import pandas as pd
import pytest

import paraconsist as pc


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
    assert "paired over 6 buckets" in compared.plot(caption=True).texts[-1].get_text().replace("\n", " ")
    assert compared.plot(width=85).get_size_inches()[0] == pytest.approx(5.0)
