"""Coherence of files of statements, and of the label probabilities of bucket sets."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command

import paraconsist as pc
from paraconsist.errors import InputError
from paraconsist.measures.probability_coherence import RELATIONS
from paraconsist.scoring.roles import tuples_of

NAME = "probability_coherence"


def statements(seed: int = 0, n: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    names = ["Neg", "And", "Cond"]
    rows = [
        (f"{names[i % 3]}{i}", role, names[i % 3], f"q{i // 2}" if role == "P" else f"{i}{role}")
        for i in range(n)
        for role in RELATIONS[names[i % 3]].statements
    ]
    table = pd.DataFrame(rows, columns=["bucket_id", "role", "check", "question"])
    return table.assign(probability=rng.random(len(table)).round(2), text=[f"statement {i}" for i in range(len(table))])


def labelled(target: str, n_labels: int, seed: int = 1, n: int = 40) -> pd.DataFrame:
    """Buckets of a measure's roles with random label probabilities."""
    rng = np.random.default_rng(seed)
    roles = list(RELATIONS[target].statements)
    p = rng.dirichlet(np.full(n_labels, 0.8), n * len(roles))
    table = pd.DataFrame(
        {"bucket_id": np.repeat(np.arange(n), len(roles)), "role": roles * n, "prediction": p.argmax(1)}
    )
    gold = p.argmax(axis=1)
    allowed = [[int(g)] if role != "consequent" else [0] for g, role in zip(gold, table["role"], strict=True)]
    return table.assign(label=gold, probabilities=p.tolist(), **({"allowed_labels": allowed} if len(roles) > 2 else {}))


def values(scores: Any) -> dict[str, Any]:
    return scores.sets["predictions"].measures[NAME]


def test_files_of_statements_are_scored_compared_and_reported(tmp_path: Path) -> None:
    rows, other = statements(), statements(5)
    scores = pc.score(rows, group="question", stratum=["check"])
    direct = pc.probability_coherence(rows["probability"], rows["role"], rows["bucket_id"], groups=rows["question"])
    for key in ("arbitrage_rate", "arbitrage_violation", "frequentist_rate"):
        assert values(scores)[key] == pytest.approx(direct.to_dict()[key], rel=1e-12)
        assert values(scores)["confidence_interval"][key] == pytest.approx(direct.confidence_interval[key])
    assert values(scores)["n_clusters"]["arbitrage_rate"] == len(rows["bucket_id"].unique()) // 2
    strata = scores.sets["predictions"].strata["check"]
    by_check = {check: part[NAME]["arbitrage_rate"] for check, part in strata.items()}
    assert by_check == {name: part["arbitrage_rate"] for name, part in direct.by_relation.items()}
    (pair,) = pc.compare(rows, other, n_permutations=50).sets[0].pairs
    assert pair.result["difference"] == pytest.approx(direct.arbitrage_rate - values(pc.score(other))["arbitrage_rate"])
    page = scores.report(tmp_path / "page.html").read_text()
    assert f"{100 * direct.arbitrage_rate:.1f}" in page
    assert f"{direct.arbitrage_violation:.4f}" in page
    assert "contradict one another" in page


def test_the_column_of_statements_may_be_named() -> None:
    renamed = statements().rename(columns={"probability": "p"})
    assert values(pc.score(renamed, probabilities="p")) == values(pc.score(statements()))
    with pytest.raises(InputError, match=r"lie between 0 and 1; got 1\.5 at row 0\. It is column p"):
        pc.score(renamed.assign(p=1.5), probabilities="p")
    with pytest.raises(InputError, match="`prediction` must name a column"):  # one a label: an answer is missing
        pc.score(renamed.assign(q=1 - renamed["p"]), probabilities=["q", "p"])


def test_a_bucket_that_is_missing_is_asked_for_with_the_file_s_own_columns() -> None:
    with pytest.raises(InputError, match=r"Its columns are tuple, role, check, question, probability, text\.$"):
        pc.score(statements().rename(columns={"bucket_id": "tuple"}))


def test_relations_of_one_s_own_come_from_yaml(tmp_path: Path, command: Command) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("Rain:\n  rain: R\n  wet: W\n  where: not R or W\nDry:\n  rain: R\n  dry: not R\n")
    rows = pd.DataFrame(
        {"bucket_id": [1, 1, 2, 2], "role": ["rain", "wet", "rain", "dry"], "probability": [0.9, 0.2, 0.4, 0.6]}
    )
    rows.to_csv(tmp_path / "rows.csv", index=False)
    assert values(pc.score(rows, relations=own))["arbitrage_rate"] == 0.5
    code, out, err = command("score", tmp_path / "rows.csv", "--relations", own)
    assert (code, "50.0 %" in out) == (0, True), err
    assert "each once" in command.refused("score", tmp_path / "rows.csv")
    (tmp_path / "answers.csv").write_text("bucket_id,prediction,label\n1,a,a\n1,b,a\n")
    refused = command.refused("score", tmp_path / "answers.csv", "--relations", own)
    assert "`--relations` must be given for statements" in refused  # they had no effect, without a word


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("target", ["paraphrase", "swap", "negation", "consequent"])
def test_label_probabilities_of_bucket_sets(target: str, n_labels: int) -> None:
    rows = labelled(target, n_labels)
    found = values(pc.score(rows, measures=[NAME]))
    p = np.array(rows["probabilities"].tolist())
    if target == "consequent":
        p = np.array([p[i, allowed].sum() for i, allowed in enumerate(rows["allowed_labels"])])
    direct = pc.probability_coherence(p, rows["role"], rows["bucket_id"])
    assert found["arbitrage_violation"] == pytest.approx(direct.arbitrage_violation, abs=1e-12)
    assert found["arbitrage_rate"] == direct.arbitrage_rate > 0
    assert ("frequentist_rate" in found) == (n_labels == 2 or target == "consequent")
    gold_free = values(pc.score(rows.assign(label=1) if target != "consequent" else rows, measures=[NAME]))
    assert gold_free["arbitrage_violation"] == found["arbitrage_violation"]


@pytest.mark.faults
@pytest.mark.parametrize("target", ["", "paraphrase", "consequent"])
def test_rows_without_probabilities_are_left_out_and_counted(target: str, tmp_path: Path) -> None:
    rows = labelled(target, 2) if target else statements()
    lost = rows["bucket_id"].isin(rows["bucket_id"].unique()[[3, 5]]) & ~rows["bucket_id"].duplicated()
    column = "probabilities" if target else "probability"
    scores = pc.score(rows.assign(**{column: rows[column].where(~lost)}), measures=[NAME])
    rest = pc.score(rows[~rows["bucket_id"].isin(rows["bucket_id"][lost])], measures=[NAME])
    keys = ("arbitrage_rate", "arbitrage_violation", "confidence_interval")
    assert [values(scores)[key] for key in keys] == [values(rest)[key] for key in keys]
    assert "2 rows without probabilities" in " ".join(values(scores)["warnings"])
    assert scores.report(tmp_path / "page.html").is_file()


@pytest.mark.faults
def test_corrected_values_leave_out_what_has_no_probability() -> None:
    rng = np.random.default_rng(2)
    p = rng.dirichlet([1.0, 1.0], 240).tolist()
    rows = pd.DataFrame(
        {
            "bucket_id": np.repeat(np.arange(60), 4),
            "role": ["original", *["paraphrase"] * 3] * 60,
            "prediction": rng.integers(0, 2, 240),
            "label": np.repeat(rng.integers(0, 2, 60), 4),
            "probabilities": p,
        }
    )
    holes = rows.assign(probabilities=[None if i % 40 == 1 else lists for i, lists in enumerate(p)])

    def corrected(of_rows: pd.DataFrame, of_test: pd.DataFrame) -> Any:
        scores = pc.score(of_rows, test=of_test)
        result = scores.sets["predictions"].measures["paraphrastic_consistency"]
        return result.get("corrected_accuracy"), " ".join(result["warnings"])

    whole = corrected(rows, rows[holes["probabilities"].notna()])[0]
    assert corrected(holes, holes) == (
        pytest.approx(whole),
        "6 rows of the full test set have no probability: corrected values exclude them",
    )
    assert "6 originals have no probability" in corrected(holes.assign(role=np.roll(rows["role"], 1)), rows)[1]


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        (labelled("swap", 2).drop(columns="probabilities"), "be there"),
        (statements().assign(probability=1.2), "between 0 and 1"),
        (statements().iloc[1:], "each once"),
    ],
)
def test_what_cannot_be_measured_is_named(rows: pd.DataFrame, word: str) -> None:
    with pytest.raises(InputError, match=word):
        pc.score(rows, measures=[NAME])


def test_statements_are_not_said_to_be_wrong() -> None:
    (scored,) = pc.score(statements()).sets.values()
    warnings = " ".join(scored.warnings)
    assert "wrong" not in warnings
    assert "several labels" not in warnings


def test_the_most_incoherent_tuples_are_told_with_the_bets_that_win(command: Command, tmp_path: Path) -> None:
    rows = statements()
    rows.loc[rows["bucket_id"] == "Neg0", "probability"] = [0.99, 0.98]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    by_name = {of.relation: of for of in tuples_of(pc.score(rows).sets["predictions"].kept)}
    direct = pc.probability_coherence(rows["probability"], rows["role"], rows["bucket_id"])
    for name, of in by_name.items():
        assert of.gain.mean() == pytest.approx(direct.by_relation[name]["arbitrage_violation"])
        assert (np.diff(of.gain) <= 0).all()
        said = [
            rows.loc[rows["bucket_id"] == bucket].set_index("role").loc[list(of.statements)] for bucket in of.buckets
        ]
        np.testing.assert_array_equal(of.probabilities, [tuple_of["probability"] for tuple_of in said])
    negations = by_name["Neg"]
    assert negations.buckets[0] == "Neg0"
    np.testing.assert_allclose(negations.bets.sum(axis=1), 1.0)
    out = command.done("score", tmp_path / "rows.csv")
    assert "rows: by relation" in out
    assert f"{negations.gain[0]:.4f}" in out.split("the most incoherent")[1].split("Neg0")[1]
    pytest.importorskip("jinja2")
    command.done("report", tmp_path / "rows.csv", "--output", tmp_path / "page.html")
    assert "P 99.0 %, not_P 98.0 %" in (tmp_path / "page.html").read_text()


def test_wordings_with_label_probabilities_have_no_table_of_statements() -> None:
    scores = pc.score(labelled("paraphrase", 2), measures=[NAME])
    assert tuples_of(scores.sets["predictions"].kept) == []


def test_a_statement_is_held_true_from_one_half_on() -> None:
    rows = pd.DataFrame({"bucket_id": [0, 0, 1, 1], "role": ["P", "not_P"] * 2, "probability": [0.5, 0.49, 0.51, 0.0]})
    (scored,) = pc.score(rows).sets.values()
    assert scored.source.predictions.table["prediction"].to_pylist() == [1, 0, 1, 0]
