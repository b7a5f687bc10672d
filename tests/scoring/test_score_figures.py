"""BECEL's Figure 2 (gold label, prediction, prediction on the perturbed text) and Figure 3 (confidence), by hand."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.commands import write
from helpers.score_roles import GOOD, result_of, scored

from paraconsist.cli.run import score_and_show
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions, write_predictions
from paraconsist.data.rows import read_rows
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.score import pair_figures

NAMES = ["entailment", "neutral", "contradiction"]
ROLE = {
    "semantic_inconsistency": "paraphrase",
    "prediction_change": "paraphrase",
    "symmetric_inconsistency": "swap",
    "negational_inconsistency": "negation",
}

#: Pairs by hand: gold label, prediction on the original, on the perturbed text; None is unparsed.
PAIRS = [(0, 0, 0), (0, 0, 2), (0, 0, 2), (1, 0, 1), (2, None, 2), (2, None, None), (2, 2, None)]
TRANSITIONS = [
    ("entailment", "entailment", "entailment", 1),
    ("entailment", "entailment", "contradiction", 2),
    ("neutral", "entailment", "neutral", 1),
    ("contradiction", "contradiction", None, 1),
    ("contradiction", None, "contradiction", 1),
    ("contradiction", None, None, 1),
]


def peaked(prediction: int | None, confidence: float) -> list[float]:
    rest = (1 - confidence) / 2
    return [confidence if i == (prediction or 0) else rest for i in range(3)]


def made(pairs: list[tuple], role: str = "paraphrase", confidences: list[tuple] | None = None) -> list[dict[str, Any]]:
    rows = []
    for i, (label, *predictions) in enumerate(pairs):
        for side, (place, prediction) in enumerate(zip(("original", role), predictions, strict=True)):
            row = {"bucket_id": f"b{i}", "role": place, "label": label, "prediction": prediction}
            if confidences is not None:
                row["probabilities"] = peaked(prediction, confidences[i][side])
            rows.append(row)
    return rows


def figures_of(measure: str, rows: list[dict[str, Any]], names: Any = (), **said: Any) -> dict[str, Any]:
    read = read_rows(Predictions(pa.Table.from_pylist(rows), said), SourceOptions())
    return pair_figures(CATALOGUE[measure], read, names)


def listed(figures: dict[str, Any]) -> list[tuple]:
    return [(t["label"], t["prediction"], t["perturbed_prediction"], t["n_pairs"]) for t in figures["transitions"]]


@pytest.mark.parametrize(
    "measure", sorted(s.name for s in CATALOGUE.values() if s.is_about_pairs and not s.is_about_probabilities)
)
def test_figure_2_by_hand(measure):
    found = figures_of(measure, made(PAIRS, ROLE[measure]), NAMES, label_names=NAMES)
    assert listed(found) == TRANSITIONS
    assert "confidence" not in found  # the file has no probabilities
    others = [row | {"label": (row["label"] + (row["role"] != "original")) % 3} for row in made(PAIRS, ROLE[measure])]
    assert listed(figures_of(measure, others, NAMES, label_names=NAMES)) == TRANSITIONS  # the original's gold label


def test_labels_without_names_are_shown_as_they_are():
    semantic = "semantic_inconsistency"
    assert listed(figures_of(semantic, made(PAIRS))) == [
        tuple(v if v is None or v not in NAMES else NAMES.index(v) for v in line) for line in TRANSITIONS
    ]
    texts = [tuple(v if v is None else NAMES[v] for v in pair) for pair in PAIRS]
    found = figures_of(semantic, made(texts))
    assert sorted(map(str, listed(found))) == sorted(map(str, TRANSITIONS))
    assert [line[0] for line in listed(found)][:3] == ["contradiction"] * 3  # by the alphabet, unparsed last
    assert listed(figures_of(semantic, made(texts), NAMES)) == TRANSITIONS


def test_an_original_counts_once_a_pair_and_the_gold_label_is_its_own():
    rows = made([(1, 1, 0)], "negation")
    rows.append(rows[1] | {"label": 0, "prediction": 1})
    rows[1]["label"] = 0
    assert listed(figures_of("negational_inconsistency", rows)) == [(1, 1, 0, 1), (1, 1, 1, 1)]


CONFIDENCES = [(0.9, 0.8), (0.6, 0.5), (0.7, 0.4), (0.5, 0.8), (0.9, 0.6), (0.9, 0.9), (0.4, 0.9)]


@pytest.mark.parametrize("names", [NAMES, []])
def test_figure_3_by_hand(names):
    rows = made(PAIRS, confidences=CONFIDENCES)
    found = figures_of("semantic_inconsistency", rows, names, label_names=names)["confidence"]
    # the sixth pair is unparsed twice: one answer as the measure counts it, and no probability
    keys = ("n_pairs", "n_predictions", "confidence", "original_confidence", "perturbed_confidence")
    assert found["consistent"] == pytest.approx(dict(zip(keys, (2, 2, 0.85, 0.9, 0.8), strict=True)))
    original, perturbed = sum([0.6, 0.7, 0.5, 0.4]), sum([0.5, 0.4, 0.8, 0.6])
    means = ((original + perturbed) / 8, original / 4, perturbed / 4)
    assert found["inconsistent"] == pytest.approx(dict(zip(keys, (5, 8, *means), strict=True)))


def test_a_negation_is_inconsistent_where_the_answer_stays():
    rows = made([(0, 0, 0), (0, 0, 1)], "negation", [(0.9, 0.7), (0.6, 0.4)])
    found = figures_of("negational_inconsistency", rows)["confidence"]
    assert found["inconsistent"]["confidence"] == pytest.approx(0.8)
    assert found["consistent"]["confidence"] == pytest.approx(0.5)


def test_a_kind_without_pairs_has_no_confidence():
    found = figures_of("symmetric_inconsistency", made([(0, 0, 0)], "swap", [(0.9, 0.7)]))["confidence"]
    assert (found["inconsistent"]["n_pairs"], found["inconsistent"]["n_predictions"]) == (0, 0)
    assert all(math.isnan(found["inconsistent"][key]) for key in found["inconsistent"] if key.endswith("confidence"))


def test_names_among_numbered_probabilities():
    rows = made(PAIRS[:4], confidences=CONFIDENCES)
    for row in rows:
        row |= {key: NAMES[row[key]] for key in ("label", "prediction")}
    found = figures_of("semantic_inconsistency", rows, NAMES, label_names=NAMES)["confidence"]
    assert found["consistent"]["confidence"] == pytest.approx(0.85)
    assert "confidence" not in figures_of("semantic_inconsistency", rows)  # which probability is whose cannot be told


@pytest.mark.parametrize(
    "measure", sorted(s.name for s in CATALOGUE.values() if s.is_about_pairs and not s.is_about_probabilities)
)
def test_the_figures_agree_with_their_measure(measure):
    rng = np.random.default_rng(3)
    pairs = [tuple(int(v) for v in rng.integers(0, 3, 3)) for _ in range(60)]
    pairs += [(0, None, 1), (1, 1, None), (2, None, None)]
    rows = made(pairs, ROLE[measure], rng.uniform(0.4, 1, (len(pairs), 2)).tolist())
    result = result_of(rows, {"measures": [measure], "label_names": NAMES}, n_resamples=20)
    values, figures = result["measures"][measure], result["figures"][measure]
    assert set(result["figures"]) == {measure}
    assert not {"transitions", "confidence", "figures"} & set(values)
    rate = values["change_rate"] if measure == "prediction_change" else values["inconsistency"]
    assert figures["confidence"]["inconsistent"]["n_pairs"] == round(rate * values["n_pairs"])
    counted = sum(t["n_pairs"] for t in figures["transitions"])
    assert counted == values["n_pairs"] == sum(part["n_pairs"] for part in figures["confidence"].values())
    must_differ = measure == "negational_inconsistency"
    broken = sum(n for _, a, b, n in listed(figures) if (a == b) == must_differ or None in (a, b))
    assert broken == figures["confidence"]["inconsistent"]["n_pairs"]


def test_measures_without_pairs_have_no_figures(command, tmp_path):
    rows = [row | {"role": row["role"].replace("swap", "paraphrase")} for row in GOOD]
    assert scored(command, write(tmp_path / "p.csv", rows))["figures"] == {}


def test_a_pair_in_a_row_lends_its_probabilities_to_neither_side(command, tmp_path):
    rows = [{"id": "a", "first": 0, "second": 1, "label": 0, "probabilities": [0.2, 0.8]}]
    given = (write(tmp_path / "w.jsonl", rows), "--prediction", "second", "--original-prediction", "first")
    figures = scored(command, *given, "--measure", "prediction_change")["figures"]["prediction_change"]
    assert set(figures) == {"transitions"}
    assert listed(figures) == [(0, 0, 1, 1)]


def test_without_gold_labels_answers_that_are_numbers_turn_into_others(command, tmp_path):
    rows = [{key: value for key, value in row.items() if key != "label"} for row in GOOD]
    figures = scored(command, write(tmp_path / "p.csv", rows))["figures"]["symmetric_inconsistency"]
    assert {gold for gold, *_ in listed(figures)} == {"(none)"}


def test_score_shows_them_on_demand(command, tmp_path):
    rows = made(PAIRS, "swap", CONFIDENCES)
    path = tmp_path / "p.parquet"
    write_predictions(path, pa.Table.from_pylist(rows), {"label_names": NAMES, "set": "becel:[b]_symmetric"})
    assert "Predictions by gold label" not in command("score", path)[1]
    out = command.out("score", path, "--figures")
    assert "becel:[b]_symmetric, symmetric_inconsistency: predictions by gold label" in " ".join(out.split())
    assert "unparsed" in out
    assert "Mean probability of the predicted label" in out
    assert "85.0" in out


def test_without_probabilities_only_the_first_table(command, tmp_path):
    out = command.out("score", write(tmp_path / "p.csv", GOOD), "--figures")
    assert "predictions by gold label" in out
    assert "Mean probability" not in out


def test_run_shows_them_on_demand(capsys, command, tmp_path):
    (tmp_path / "predictions").mkdir()
    table_ = pa.Table.from_pylist(made(PAIRS, "swap", CONFIDENCES))
    write_predictions(tmp_path / "predictions" / "p.parquet", table_, {"label_names": NAMES})
    score_and_show(tmp_path, ScoreOptions(n_resamples=20))
    assert "predictions by gold label" not in capsys.readouterr().out
    score_and_show(tmp_path, ScoreOptions(n_resamples=20), figures=True)
    assert "predictions by gold label" in capsys.readouterr().out
    assert "--figures" in command.out("run", "--help")


def test_many_transitions_are_cut_and_said(command, tmp_path):
    pairs = [(i % 50, i % 50, (i + 1) % 50) for i in range(50)] + [(7, 7, 8)] * 3
    _, out, _ = command("score", write(tmp_path / "p.csv", made(pairs, "swap")), "--figures")
    assert "The 40 commonest of 50" in " ".join(out.split())
