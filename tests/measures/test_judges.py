"""Judges asked in both orders: the position bias from its definition, the how-to as written, and LLMBar's judges."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from helpers.scripts import ROOT, load_script

import paraconsist as pc
from paraconsist.measures.paired_tests import paired_difference_interval

PLACES = ["A", "B", "tie"]


def verdicts(seed: int, n: int = 60) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    bias = rng.uniform(0.05, 0.6)
    sides = []
    gold = rng.choice(["A", "B"], size=n)
    for first in "AB":
        drawn = np.where(rng.uniform(size=n) < bias, first, np.where(rng.uniform(size=n) < 0.2, "A", gold))
        sides.append(np.where(rng.uniform(size=n) < 0.1, "tie", drawn).tolist())
    return sides[0], sides[1]


@pytest.mark.parametrize("seed", range(6))
def test_the_position_bias_is_its_definition(seed):
    given, swapped = verdicts(seed)
    result = pc.symmetric_inconsistency(given, swapped, places=PLACES)
    pairs = [(one, other) for one, other in zip(given, swapped, strict=True) if "tie" not in (one, other)]
    turned = [one for one, other in pairs if one != other]
    shown_first = [one == "A" for one, _ in pairs] + [other == "B" for _, other in pairs]
    assert result.first_place_share == pytest.approx(np.mean(shown_first))
    assert result.primacy == pytest.approx(turned.count("A") / len(turned))
    assert result.tie_rate == pytest.approx(1 - len(pairs) / 60)
    for name in ("first_place_share", "primacy", "tie_rate"):
        low, high = result.confidence_interval[name]
        assert low <= getattr(result, name) <= high
    low, high = paired_difference_interval(len(pairs), turned.count("A"), turned.count("B"))
    assert result.confidence_interval["first_place_share"] == pytest.approx([0.5 + low / 2, 0.5 + high / 2])
    mirrored = pc.symmetric_inconsistency(swapped, given, places=["B", "A", "tie"])
    assert mirrored.first_place_share == result.first_place_share
    from_second = pc.symmetric_inconsistency(given, swapped, places=["B", "A", "tie"])
    assert from_second.first_place_share == pytest.approx(1 - result.first_place_share)
    for name in ("first_place_share", "primacy"):
        ends = [1 - end for end in reversed(result.confidence_interval[name])]
        assert from_second.confidence_interval[name] == pytest.approx(ends)
    plain = pc.symmetric_inconsistency(given, swapped)
    assert (plain.inconsistency, plain.first_place_share) == (result.inconsistency, None)


def test_without_ties_the_bias_is_what_turns():
    """Share for the first place - 1/2 = inconsistency x (primacy - 1/2): what does not turn names each place once."""
    rng = np.random.default_rng(0)
    given, swapped = rng.choice([1, 2], p=[0.7, 0.3], size=(2, 80)).tolist()
    result = pc.symmetric_inconsistency(given, swapped, places=(1, 2))
    assert result.first_place_share - 0.5 == pytest.approx(result.inconsistency * (result.primacy - 0.5))
    assert result.tie_rate is None


def test_judges_of_few_pairs_and_of_none_that_turn():
    result = pc.symmetric_inconsistency(list("AB"), list("AB"), places="AB")
    assert result.first_place_share == 0.5
    assert np.isnan(result.primacy)
    assert any("primacy" in warning for warning in result.warnings)
    assert result.confidence_interval["first_place_share"] == pytest.approx([0.1711, 0.8289], abs=1e-4)
    never = pc.symmetric_inconsistency(["tie"] * 2, list("AB"), places=PLACES)
    assert np.isnan(never.first_place_share)
    assert "undefined, so nan: primacy, first_place_share" in never.warnings
    others = pc.symmetric_inconsistency(list("ABCC"), list("ABAA"), places="AB")
    assert any("2 pairs have an answer that is not among `places`" in warning for warning in others.warnings)
    assert others.first_place_share == 0.5
    assert never.tie_rate == 1.0
    grouped = pc.symmetric_inconsistency(*verdicts(0), places=PLACES, groups=[i // 3 for i in range(60)])
    assert grouped.n_clusters["first_place_share"] == 20


def test_the_how_to_is_what_the_commands_print(tmp_path, command, monkeypatch):
    text = (ROOT / "docs" / "howto" / "judges.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 60
    rows, *commands = re.findall(r"^```(?:text|sh)\n(.*?)```", text, re.DOTALL | re.MULTILINE)
    (tmp_path / "verdicts.csv").write_text(rows)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    table, indices = ((code, out) for code, out, _ in (command(*line.split()[1:]) for line in commands))
    assert table[0] == indices[0] == 0
    lines = {" ".join(line.split()[:-3]): line.split() for line in table[1].splitlines() if " %" in line}
    for name, value in re.findall(r"^\| (.*?) \| ([\d.]+ %) \|", text, re.MULTILINE):
        assert any(" ".join(line).startswith(f"{name} {value}") for line in lines.values()), name
    assert re.search(r"A, accuracy on originals +70\.0 %.*\n.*A, accuracy on perturbed texts +70\.0 %", table[1])
    assert re.search(r"same answer, right or wrong +40\.0 %", indices[1])


def test_numbers_as_labels_and_no_numbers_for_them(tmp_path, command):
    path = tmp_path / "verdicts.csv"
    rows = [(i, order, 1 + (i % 3 == 0), 1) for i in range(12) for order in ("Given", "swapped")]
    pd.DataFrame(rows, columns=["bucket_id", "role", "prediction", "label"]).to_csv(path, index=False)
    code, out, _ = command("score", path, "--places", "1,2", "--json")
    assert (code, json.loads(out)["verdicts"]["measures"]["symmetric_inconsistency"]["first_place_share"]) == (0, 0.5)
    code, _, err = command("score", path, "--places", "A,B")
    assert (code, "`--places` must be numbers, as the labels are" in err) == (2, True)
    err = command.refused("score", path, "--places", "1,2", "--role", "kind")
    pd.read_csv(path).drop(columns="role").to_csv(path, index=False)
    code, _, err = command("score", path, "--places", "1,2")
    assert (code, "whose `--role` is given or swapped; got ['1', '2']" in err) == (2, True)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("judge", "agreement", "accuracy", "bias"),
    [
        (("GPT-4", "Swap_CoT"), 98.1, 83.8, 0),
        (("GPT-4", "Vanilla"), 92.8, 84.5, 0),
        (("GPT-4", "Vanilla_1shot"), 91.6, 84.1, -1),
        (("Falcon", "Vanilla"), 41.5, 56.4, 1),
    ],
)
def test_judges_of_llmbar(data_folder, judge, agreement, accuracy, bias):
    """On LLMBar's 419 problems as its authors count: nulls are one answer, accuracy is the mean of both orders."""
    rows = pd.read_parquet(data_folder / "recorded" / "judges_llmbar.parquet")
    rows = rows[
        rows["subset"].str.startswith("LLMBar/") & (rows["model"] == judge[0]) & (rows["prompting"] == judge[1])
    ]
    assert len(rows) == 419
    sides = []
    for order in ("given", "swapped"):
        side = pd.DataFrame({"item": rows["subset"] + rows["item"].astype(str), "better": rows["gold"], "order": order})
        sides.append(side.assign(winner=rows[f"winner_{order}"].astype("Int64")))
    columns = {"bucket": "item", "role": "order", "prediction": "winner", "label": "better", "places": "1,2"}
    as_published = pc.score(pd.concat(sides), **columns, unparsed="own_class").sets["predictions"]
    values = as_published.measures["symmetric_inconsistency"]
    assert round(100 * (1 - values["inconsistency"]), 1) == agreement
    assert round(50 * (values["accuracy"] + values["perturbed_accuracy"]), 1) == accuracy
    ours = pc.score(pd.concat(sides), **columns).sets["predictions"]
    n_both = int((rows["winner_given"].isna() & rows["winner_swapped"].isna()).sum())
    apart = ours.measures["symmetric_inconsistency"]
    assert round(419 * (apart["inconsistency"] - values["inconsistency"])) == n_both
    low, high = values["confidence_interval"]["first_place_share"]
    assert (low > 0.5) - (high < 0.5) == bias


#: Relevance judges: passages, wordings, P_C, accuracy of the worst and of the best wording, same verdict.
RELEVANCE = {
    ("gpt-4o", "binary"): (1688, 26, 0.788, 0.23, 0.77, 0.788),
    ("gpt-4o", "graded"): (1683, 25, 0.834, 0.50, 0.55, 0.775),
    ("llama3.2", "binary"): (11156, 25, 0.669, 0.17, 0.85, 0.669),
    ("llama3.2", "graded"): (10336, 26, 0.696, 0.10, 0.59, 0.502),
    ("mistral", "binary"): (11374, 26, 0.750, 0.17, 0.83, 0.750),
    ("mistral", "graded"): (11368, 26, 0.774, 0.18, 0.48, 0.626),
}


def test_kappa_is_scikit_learns():
    metrics = pytest.importorskip("sklearn.metrics")
    study, rng = load_script("examples/judges/relevance.py"), np.random.default_rng(0)
    said, label = rng.integers(0, 4, (2, 300))
    tables = np.bincount(said * 4 + label, minlength=16).astype(float)
    assert study.kappa(tables) == pytest.approx(metrics.cohen_kappa_score(said, label))
    both = study.kappa(np.stack([tables, np.diag([5.0, 1.0, 2.0, 3.0]).ravel()]))
    assert both == pytest.approx([metrics.cohen_kappa_score(said, label), 1.0])


@pytest.mark.real_data
def test_relevance_judges_and_the_wordings_that_ask_the_opposite(data_folder):
    study = load_script("examples/judges/relevance.py")
    judges = study.read(data_folder)
    assert len(judges) == len(RELEVANCE)
    for judge in judges:
        n, k, consistency, worst, best, same = RELEVANCE[judge.model, judge.mode]
        assert judge.verdicts.shape == (n, k)
        rows = judge.rows()
        result = pc.paraphrastic_consistency(rows["prediction"], rows["label"], rows["bucket_id"], groups=rows["query"])
        found = (result.paraphrastic_consistency_unbiased, result.agreement_unbiased)
        assert [round(value, 3) for value in found] == [consistency, same]
        of_wordings = judge.right.mean(axis=0)
        assert (round(of_wordings.min(), 2), round(of_wordings.max(), 2)) == (worst, best)
        alarm = study.reversing(judge)
        assert alarm is None if judge.mode == "graded" else alarm.startswith("wordings 10, 14 go against the others")
