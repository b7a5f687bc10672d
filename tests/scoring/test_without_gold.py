"""Answers without gold labels: what needs none is measured, by every way in; what needs them is left out by name."""

import re

import numpy as np
import pandas as pd
import pytest
from helpers.errors import refuses
from helpers.metric_loading import load_metric
from helpers.score_roles import scored

import paraconsist as pc
from paraconsist.measures.catalogue import BUILT_IN
from paraconsist.reporting.tables import rates

pytestmark = pytest.mark.faults

NEEDING_NONE = ["semantic_inconsistency", "prediction_change", "prompt_sensitivity"]


@pytest.fixture
def answers():
    """30 problems, an original and three paraphrases of each."""
    rng = np.random.default_rng(0)
    rows = [
        (b, f"{b}-{k}", ["no", "yes"][int(rng.random() < 0.7)], "paraphrase" if k else "original")
        for b in range(30)
        for k in range(4)
    ]
    return pd.DataFrame(rows, columns=["bucket_id", "example_id", "prediction", "role"])


def measured(scores):
    return next(iter(scores.to_dict().values()))["measures"]


@pytest.mark.parametrize("name", NEEDING_NONE)
def test_the_value_is_that_with_gold_labels(answers, name):
    key = {"semantic_inconsistency": "inconsistency", "prediction_change": "change_rate"}.get(name, "agreement")
    labelled = answers.assign(label="yes")
    unnamed, named = (measured(pc.score(labelled, label=label, measures=[name]))[name] for label in (None, "label"))
    alone = measured(pc.score(answers, measures=[name]))[name]
    assert unnamed == alone
    assert alone[key] == named[key]
    assert alone["confidence_interval"][key] == named["confidence_interval"][key]
    assert not {"accuracy", "correct_to_incorrect"} & set(alone)


def test_what_needs_gold_is_left_out_by_name(answers):
    scores = pc.score(answers)
    assert list(measured(scores)) == ["semantic_inconsistency", "prompt_sensitivity"]
    (scored,) = scores.sets.values()
    assert scored.wording is not None
    assert scored.wording.n_right is None
    needing = {spec.name for spec in BUILT_IN if spec.target and spec.needs_gold}
    (left_out,) = [warning for warning in scored.warnings if "left out" in warning]
    assert all(name in left_out for name in needing)
    with pytest.raises(pc.InputError) as refused:
        pc.score(answers, measures=["paraphrastic_consistency"])
    assert (refused.value.parameter, "needs gold" in str(refused.value)) == ("label", True)
    assert "wording_change" in str(refused.value)  # by which compare and gate have no need of them
    with pytest.raises(pc.InputError) as refused:
        pc.score(answers, label="gold")
    assert (refused.value.parameter, "'gold'" in str(refused.value)) == ("label", True)


@pytest.mark.parametrize(("role", "name"), [("swap", "symmetric"), ("negation", "negational")])
def test_pairs_of_other_roles(answers, role, name):
    pairs = answers.groupby("bucket_id").head(2).replace({"paraphrase": role})
    assert list(measured(pc.score(pairs))) == [f"{name}_inconsistency"]


def test_paraphrases_alone_and_one_of_each(answers):
    assert list(measured(pc.score(answers[answers.role == "paraphrase"]))) == ["prompt_sensitivity"]
    assert list(measured(pc.score(answers.groupby("bucket_id").head(2)))) == ["semantic_inconsistency"]


def test_a_constant_answer_fails_without_gold_too(answers):
    assert not pc.score(answers.assign(prediction="yes")).gate("semantic <= .5")


def test_command_gate_comparison_and_page(answers, command, tmp_path):
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    answers.to_csv(a, index=False)
    answers.assign(prediction=answers.prediction.iloc[::-1].to_numpy()).to_csv(b, index=False)
    agreement = scored(command, a, "--measure", "prompt_sensitivity")["measures"]["prompt_sensitivity"]["agreement"]
    code, out, err = command("gate", f"wording_change <= 50% and agreement >= {agreement}", a)
    assert (code, out.startswith("pass")) == (0, True), err
    assert "name a quantity" in command.refused("gate", "pc >= 0.5", a)
    (found,) = command.json("compare", a, b)  # the change against the original doubled the family of the correction
    assert ([pair["measure"] for pair in found["pairs"]], found["n_comparisons"]) == (["wording_change"], 1)
    assert "semantic inconsistency" in command.out("compare", a, b, "--measure", "semantic_inconsistency")
    assert "--label" in command.refused("compare", a, b, "--measure", "paraphrastic_consistency")
    assert "--label" in command.refused("plan", a, "--half-width", 0.05, "--measure", "accuracy")
    assert command("plan", a, "--half-width", 0.05, "--measure", "inconsistency")[0] == 0
    command.done("report", a, b, "--output", tmp_path / "page.html")
    assert "left out" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_table_of_rates_has_what_is_known_without_gold(answers):
    """It had PSS, accuracy and majority, each undefined."""
    scores = pc.score(answers[answers.role == "paraphrase"])
    (table,) = rates({"a": scores.sets})
    assert [column.label for column in table.columns] == ["set", "wording change", "above chance", "problems"]
    assert table.rows[0][1].value == scores.sets["predictions"].wording.wording_change
    (whole,) = rates({"a": pc.score(answers.groupby("bucket_id").head(2)).sets})
    assert [column.label for column in whole.columns][-1] == "rows"
    both = pc.score(answers).sets
    of_wordings, of_pairs = rates({"a": both})  # the pairs' share stood in a column called wording change
    wording, pairs = both["predictions"].wording, both["predictions"].measures["semantic_inconsistency"]
    assert [cell.value for cell in of_wordings.rows[0][1:3]] == [wording.wording_change, wording.above_chance]
    assert [cell.value for cell in of_pairs.rows[0][1:3]] == [pairs.inconsistency, pairs.chance_corrected]
    assert [table.columns[1].label for table in (of_wordings, of_pairs)] == ["wording change", "tau"]


def test_paraphrases_alone_rank_models(answers, command, tmp_path):
    """Report and compare refused two such files, and the leaderboard ended in a TypeError where one is constant."""
    answers = (
        answers[answers.role == "paraphrase"].drop(columns="role").assign(question="How long? " + answers.example_id)
    )
    steady = answers.assign(prediction=[["no", "yes"][int(b) % 2] for b in answers.bucket_id])
    files = {"a": answers, "b": steady, "c": answers.assign(prediction="yes")}
    for name, frame in files.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    a, b, c = (tmp_path / f"{name}.csv" for name in files)
    ranking = command.json("compare", a, b)[0]["ranking"]
    expected = pc.score(answers).sets["predictions"].wording.above_chance
    assert ranking["steadiness"] == pytest.approx({"a": expected, "b": 1.0}, abs=1e-12)
    out = command.out("compare", a, b)
    assert "30 problems that all models answered" in " ".join(out.split())
    assert next(line.split()[:3] for line in out.splitlines() if line[:3] in (" a ", " b ")) == ["b", "100.0", "1"]
    assert "c is not ranked: every prediction is" in command.done("compare", a, b, c)
    assert "a is not worse than b" not in command.out("compare", a, b, "--margin", 0.1)
    assert command("gate", "wording_change.not_worse", a, "--against", b, "--margin", 0.1)[0] == 1
    page = tmp_path / "page.html"
    command.out("report", a, b, "--output", page)
    assert "b is the steadiest of 2 models" in page.read_text()
    assert "the ring is accuracy" not in page.read_text()
    command.out("report", a, c, "--output", page)
    assert "Of 2 models only a can be ranked" in page.read_text()
    command.out("leaderboard", a, c, "--output", tmp_path / "board")


@pytest.mark.parametrize("in_batches", [False, True])
def test_evaluate(in_batches):
    columns = {"predictions": [1, 0, 1, 1], "original_predictions": [1, 1, 1, 0]}
    of_buckets = {"predictions": ["a", "b", "a", "a"], "buckets": ["x", "x", "y", "y"]}
    for name, given, direct in (
        ("prediction_change", columns, pc.prediction_change(**columns)),
        ("prompt_sensitivity", of_buckets, pc.prompt_sensitivity(references=None, **of_buckets)),
    ):
        metric = load_metric(name)
        if in_batches:
            metric.add_batch(**given)
        values = metric.compute(**({} if in_batches else given))
        assert values.keys() == direct.to_dict().keys()
        key = next(iter(set(values) & {"change_rate", "agreement"}))
        assert values[key] == direct[key]
        again = metric.compute(**given, references=given["predictions"][:1] * 4)
        assert {"correct_to_incorrect", "accuracy"} & set(again)


PARTLY = {  # two problems with accepted answers, one with some, one without
    "bucket_id": ["a", "a", "b", "b", "c", "c", "d", "d"],
    "prediction": ["Paris", "paris", "yes", "no", "30", "31", "x", "x"],
    "gold": ["Paris", "Paris", "", None, "30", "30", "x", ""],
}


@pytest.mark.parametrize("same", ["text", None])
def test_problems_with_gold_labels_can_be_scored_alone(same):
    (scored,) = pc.score(PARTLY, same=same, label="gold", labelled=True).sets.values()
    chosen = {name: [values[i] for i in (0, 1, 4, 5)] for name, values in PARTLY.items()}
    (expected,) = pc.score(chosen, same=same, label="gold").sets.values()
    values, of_chosen = scored.measures["paraphrastic_consistency"], expected.measures["paraphrastic_consistency"]
    same_but_signature = repr({**values, "signature": ""}) == repr({**of_chosen, "signature": ""})
    assert same_but_signature
    assert "|excluded:2|" in values["signature"]
    assert "2 buckets (4 rows) without a gold label: left out" in scored.warnings
    assert pc.compare(PARTLY, PARTLY | {"prediction": PARTLY["prediction"][::-1]}, same=same, label="gold",
                      labelled=True, names=["one", "other"]).sets[0].n_common_buckets == 2  # fmt: skip
    (left,) = pc.score(PARTLY, same=same, label="gold", labelled=True, exclude=["a", "b"]).sets.values()
    assert left.to_dict()["excluded"] == {"n_buckets": 3, "n_rows": 6}


def test_accepted_answers_of_some_problems_leave_what_needs_none_for_all():
    (scored,) = pc.score(PARTLY, same="text", label="gold").sets.values()
    assert (scored.wording.wording_change, scored.wording.n_problems) == (0.5, 4)
    note = "2 of 4 problems have no accepted answer, so what needs one is left out of all"
    assert f"{note}; `labelled` scores the others alone" in scored.warnings
    turned = PARTLY | {"prediction": PARTLY["prediction"][::-1]}
    compared = pc.compare(PARTLY, turned, same="text", label="gold", names=["one", "two"])
    assert f"{note}; `labelled` scores the others alone" in compared.sets[0].warnings
    assert list(scored.measures) == ["prompt_sensitivity"]
    assert "accuracy" not in scored.measures["prompt_sensitivity"]
    remedy = "or leave such problems out (`labelled`), or the labels of all (`label` '')"
    sentence = f"score: `label` must not be empty; got None at row 2. It is column gold. Fill it in; {remedy}"
    refuses(re.escape(sentence), pc.score, PARTLY | {"gold": [*"aa", None, None, *"ccdd"]}, label="gold")
    none = PARTLY | {"gold": [""] * 8}
    assert pc.score(none, same="text", label="gold").sets["predictions"].wording.wording_change == 0.5
    refuses("a problem whose wordings all have one, with `labelled`", pc.score, none, label="gold", labelled=True)
