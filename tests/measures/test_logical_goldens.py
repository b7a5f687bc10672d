"""Numbers that the papers' published files give: PaRTE's predictions, SNLI's transitive rules."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraconsist.measures.antecedents import transitive_inconsistency
from paraconsist.measures.prediction_change import prediction_change

pytestmark = pytest.mark.real_data

BECEL = Path("upstream/github.com/MJ-Jang/BECEL/f5bdd1196e46323e6ec3f4e651bcad78b1883b04/data")
SIDES = {"p": "one side", "h": "one side", "ph": "both"}


def read(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


# ------------------------------------------------------------------------------------------- PaRTE


@pytest.fixture(scope="module")
def parte(data_folder: Path) -> dict[str, list[Any]]:
    """The authors' predictions, joined to the released test set by id: labels 1 = entailed."""
    released = {row["id"]: row for row in read(data_folder / "parte" / "prte_test.csv")}
    rows = read(data_folder / "parte" / "predictions_bert_gpt3.csv")
    assert len(rows) == len(released) == 1126
    for row in rows:
        assert released[row["id"]]["gold_label"] == row["gold_label"]
        assert released[row["id"]]["paraphrased_pair_id"] == row["paraphrased_pair_id"]
    columns: dict[str, list[Any]] = {
        name: [int(row[name]) for row in rows]
        for name in ("bert_original", "bert_paraphrase", "gpt3_original", "gpt3_paraphrase")
    }
    columns["gold"] = [int(row["gold_label"] == "entailed") for row in rows]
    columns["side"] = [row["paraphrased_pair_id"].rsplit("_", 1)[1] for row in rows]
    columns["task"] = [released[row["id"]]["original_pair_id"].split("_", 1)[0] for row in rows]
    assert Counter(columns["side"]) == {"p": 402, "h": 602, "ph": 122}
    assert sum(columns["gold"]) == 542
    return columns


def parte_input(columns: dict[str, list[Any]], model: str) -> dict[str, Any]:
    return {
        "predictions": columns[f"{model}_paraphrase"],
        "original_predictions": columns[f"{model}_original"],
        "references": columns["gold"],
    }


@pytest.mark.parametrize(("model", "changed", "broken", "mended"), [("bert", 110, 55, 55), ("gpt3", 108, 62, 46)])
def test_parte_changes(parte: dict[str, list[Any]], model: str, changed: int, broken: int, mended: int) -> None:
    found = prediction_change(**parte_input(parte, model))
    assert (found["n_changed"], found["n_pairs"]) == (changed, 1126)
    assert (found["correct_to_incorrect"], found["incorrect_to_correct"]) == (broken, mended)
    assert found["change_rate"] == changed / 1126


def test_parte_splits_of_bert(parte: dict[str, list[Any]]) -> None:
    strata = {"sides": [SIDES[side] for side in parte["side"]], "task": parte["task"], "label": parte["gold"]}
    found = prediction_change(**parte_input(parte, "bert"), strata=strata)
    assert round(100 * found["change_rate_given_correct"], 2) == 6.77
    assert round(100 * found["change_rate_given_incorrect"], 2) == 17.52
    sides = found["by_stratum"]["sides"]
    assert {name: round(100 * side["change_rate"], 2) for name, side in sides.items()} == {
        "both": 14.75,
        "one side": 9.16,
    }
    assert {name: side["n_pairs"] for name, side in sides.items()} == {"both": 122, "one side": 1004}
    for breakdown in found["by_stratum"].values():
        assert sum(stratum["n_changed"] for stratum in breakdown.values()) == 110
    low, high = found["confidence_interval"]["change_rate"]
    assert 0.08 < low < 110 / 1126 < high < 0.12


# -------------------------------------------------------------------------------------------- SNLI


@pytest.fixture(scope="module")
def snli(data_folder: Path) -> dict[str, Any]:
    """The transitive rules: what they allow, and the gold labels of the two test rows they come from."""
    test = [int(row["label"]) for row in read(data_folder / BECEL / "snli" / "test.tsv", "\t")]
    rules = read(data_folder / BECEL / "snli" / "transitive.tsv", "\t")
    assert len(rules) == 2375
    allowed = {"2": [2], "3": [1, 2]}  # contradiction must hold; entailment must not
    of_row = [tuple(map(int, row["originated_idx"].split("|"))) for row in rules]
    return {
        "references": [allowed[row["label"]] for row in rules],
        "antecedent_1_references": [test[i] for i, _ in of_row],
        "antecedent_2_references": [test[j] for _, j in of_row],
    }


def with_right_antecedents(snli: dict[str, Any], consequents: Any) -> dict[str, Any]:
    right = {f"antecedent_{i}_predictions": snli[f"antecedent_{i}_references"] for i in (1, 2)}
    return {"predictions": consequents, **snli, **right}


@pytest.mark.parametrize(("constant", "score"), [(0, 1.0), (1, 0.302), (2, 0.0)])
def test_snli_constant_consequents(snli: dict[str, Any], constant: int, score: float) -> None:
    found = transitive_inconsistency(**with_right_antecedents(snli, [constant] * 2375))
    assert round(found["inconsistency"], 3) == score
    assert found["n_satisfied"] == found["n_rows"] == 2375


def test_snli_rules_are_the_papers_two(snli: dict[str, Any]) -> None:
    """Contradiction and entailment force contradiction, neutral and contradiction exclude entailment."""
    result = transitive_inconsistency(**with_right_antecedents(snli, [1] * 2375))
    scores = {rule: (found["inconsistency"], found["n_rows"]) for rule, found in result.by_rule.items()}
    assert scores == {"1 & 2 -> 1|2": (0.0, 1658), "2 & 0 -> 2": (1.0, 717)}


def test_snli_uniform_consequents(snli: dict[str, Any]) -> None:
    """1/3 over the constants is what a uniform answer scores; a million draws are near it."""
    scores = [
        transitive_inconsistency(**with_right_antecedents(snli, [label] * 2375)).inconsistency for label in (0, 1, 2)
    ]
    drawn = np.random.default_rng(0).integers(0, 3, 2375 * 40)
    repeated = {name: column * 40 for name, column in snli.items()}
    result = transitive_inconsistency(**with_right_antecedents(repeated, drawn))
    assert sum(scores) / 3 == pytest.approx(0.434, abs=0.001)
    assert result.inconsistency == pytest.approx(sum(scores) / 3, abs=0.005)


def test_snli_constant_model_satisfies_nothing(snli: dict[str, Any]) -> None:
    for label in (0, 1, 2):
        constant = dict.fromkeys(
            ("predictions", "antecedent_1_predictions", "antecedent_2_predictions"), [label] * 2375
        )
        result = transitive_inconsistency(**constant, **snli)
        assert np.isnan(result.inconsistency)
        assert result.n_satisfied == 0
