"""A measure that is added to the catalogue is scored, compared, gated, shown and listed, with nothing else touched."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.report import write_run

import paraconsist as pc
from paraconsist.measures.catalogue import CATALOGUE, MeasureSpec
from paraconsist.measures.pairs import semantic_inconsistency
from paraconsist.measures.results import Result
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE, Answers
from paraconsist.reporting.page import ReportOptions, load_models, write_report

ROWS = {
    "bucket_id": [f"b{i // 3}" for i in range(60)],
    "role": ["original", "paraphrase", "paraphrase"] * 20,
    "label": [i // 3 % 2 for i in range(60)],
    "prediction": [(i * 7 // 5) % 2 for i in range(60)],
}


@dataclass(frozen=True, kw_only=True, repr=False)
class ToyResult(Result):
    """What `toy_rate` returns."""

    toy_rate: float
    n_pairs: int


def toy_rate(predictions: Any, original_predictions: Any, *, groups: Any = None, **intervals: Any) -> ToyResult:
    """Share of paraphrases answered 1 whose original is answered 0."""
    before, after = np.asarray(original_predictions), np.asarray(predictions)
    rate = float(np.mean((before == 0) & (after == 1)))
    signature = semantic_inconsistency(predictions, original_predictions, groups=groups, **intervals).signature
    ends = {"confidence_interval": {"toy_rate": [rate / 2, rate * 2]}}
    return ToyResult(
        toy_rate=rate, n_pairs=len(before), **ends, signature=signature.replace("semantic", "toy"), warnings=()
    )


def rises(answers: Answers) -> tuple[np.ndarray, np.ndarray]:
    rose = (answers.predictions[ORIGINAL] == 0) & (answers.predictions[PARAPHRASE] == 1)
    return rose.astype(float), np.ones(len(rose), dtype=bool)


@pytest.fixture
def toy() -> Iterator[MeasureSpec]:
    spec = MeasureSpec(
        toy_rate, title="Toy rate", question="How often does a paraphrase turn 0 into 1?",
        direction="Down is good: 0 % never does.", headline="toy_rate", symbol="toy",
        sentence="{toy_rate} of paraphrases turn 0 into 1.", target=PARAPHRASE, partners=(ORIGINAL,),
        arguments={"predictions": "target.prediction", "original_predictions": "original.prediction"}, breaks=rises
    )  # fmt: skip
    CATALOGUE["toy_rate"] = spec
    yield spec
    del CATALOGUE["toy_rate"]


def naive() -> float:
    originals = [ROWS["prediction"][i // 3 * 3] for i in range(60)]
    pairs = [(originals[i], ROWS["prediction"][i]) for i in range(60) if ROWS["role"][i] == "paraphrase"]
    return sum(pair == (0, 1) for pair in pairs) / len(pairs)


def test_it_is_scored_gated_and_shown_in_a_table(toy: MeasureSpec) -> None:
    scores = pc.score(ROWS, measures=["toy_rate"], n_resamples=50)
    assert scores.sets["predictions"].measures["toy_rate"]["toy_rate"] == naive() > 0
    assert scores.gate(f"toy_rate <= {naive()}")
    assert not scores.gate("toy_rate.low > 0.9")
    assert "toy" in repr(scores)
    assert f"{100 * naive():.1f}" in repr(scores)
    assert {name.partition(".")[0] for name in scores.to_frame()["measure"]} == {"toy_rate", "wording_change"}


def test_it_is_compared(toy: MeasureSpec) -> None:
    compared = pc.compare(ROWS, {**ROWS, "prediction": [0] * 60}, measures=["toy_rate"], n_permutations=100)
    (pair,) = compared.sets[0].pairs
    assert pair.measure == "toy_rate"
    assert pair.result["difference"] == pytest.approx(naive())
    assert "toy" in repr(compared).lower()


def test_it_is_on_the_page(toy: MeasureSpec, tmp_path: Path) -> None:
    page = pc.score(ROWS, measures=["toy_rate"], n_resamples=50).report(tmp_path / "page.html").read_text()
    assert "toy rate" in page.lower()
    assert f"{100 * naive():.1f}" in page


def test_it_has_a_form_in_the_browser(toy: MeasureSpec) -> None:
    from paraconsist.reporting.space.catalogue import module

    form = module("toy_rate")
    assert form.spec == toy
    assert form.layouts


def test_it_is_listed(toy: MeasureSpec, command: Any) -> None:
    assert toy in pc.list_measures()
    assert "toy_rate" in command.out("list")


def test_a_saved_measure_that_is_not_known_here_is_named_on_the_page(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", more={"measures": {"odd": {"odd": 0.5, "warnings": [], "signature": "odd"}}})
    entry = load_models([folder])[0]
    assert "odd" in entry.notes[0]
    write_report([entry], tmp_path / "page.html", ReportOptions())
    assert "not known here: odd" in (tmp_path / "page.html").read_text()
