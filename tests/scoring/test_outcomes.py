"""How often two wordings of a problem get different answers, against plain loops over the rows."""

import itertools
import json
import random
import re
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

import paraconsist as pc
from paraconsist.scoring.gate import check, parse_conditions
from paraconsist.scoring.outcomes import Problems, are_far_apart, changes_of_buckets


def table(rows, columns=("bucket_id", "prediction", "label", "role")):
    return pd.DataFrame(rows, columns=columns)


def free_answers(*, first_is_original, seed=0):
    """100 problems of six wordings: a quarter solved, every other answer another wrong one."""
    rng = np.random.default_rng(seed)
    rows = []
    for problem in range(100):
        for wording in range(6):
            wrong = f"wrong {problem} {rng.integers(10**6)}"
            answer = f"right {problem}" if problem < 25 else wrong
            role = "original" if first_is_original and wording == 0 else "paraphrase"
            rows.append((f"q{problem}", answer, f"right {problem}", role))
    return table(rows)


def said(page):
    """The words of a page, without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8")).split())


def only(scores):
    (scored,) = scores.sets.values()
    return scored


def judged(condition, scores):
    """What a gate says of written results, one check a condition."""
    return check(parse_conditions(condition), {name: scored.to_dict() for name, scored in scores.sets.items()})


def naive(rows):
    """The definition, row by row: (change, number of problems, right, depends, wrong)."""
    answers = defaultdict(list)
    for bucket, prediction, label, role in rows:
        if role in ("original", "paraphrase"):
            answers[bucket].append((prediction, prediction == label))
    answers = {bucket: given for bucket, given in answers.items() if len(given) > 1}
    differ = [np.mean([a != b for (a, _), (b, _) in itertools.combinations(given, 2)]) for given in answers.values()]
    rights = [[right for _, right in given] for given in answers.values()]
    right, wrong = sum(map(all, rights)), sum(not any(given) for given in rights)
    return float(np.mean(differ)), len(answers), right, len(answers) - right - wrong, wrong


@pytest.mark.parametrize("seed", range(200))
def test_equals_the_definition(seed):
    rng = random.Random(seed)
    labels = "abcd"[: rng.randint(2, 4)]
    rows = []
    for bucket in range(rng.randint(3, 30)):
        label = rng.choice(labels)
        roles = ["original"] * rng.randint(0, 1) + ["paraphrase"] * rng.randint(1, 6)
        rows += [(f"b{bucket}", rng.choice(labels), label, role) for role in roles]
    change, n, right, depends, wrong = naive(rows)
    rng.shuffle(rows)
    scores = pc.score(table(rows))
    scored = only(scores)
    wording = scored.wording
    assert wording.wording_change == pytest.approx(change, abs=1e-12)
    changes = changes_of_buckets(scored.kept)
    assert np.mean(list(changes.values())) == pytest.approx(change, abs=1e-12)
    n_wordings = {bucket: sum(row[0] == bucket for row in rows) for bucket in changes}
    worst = sorted((b for b in changes if changes[b] > 0), key=lambda b: (-changes[b], -n_wordings[b], b))
    listed, ended = scores.worst(7), scores.outcomes()
    assert listed["bucket"].tolist() == worst[:7]
    assert listed["wording_change"].tolist() == pytest.approx([changes[bucket] for bucket in worst[:7]])
    assert (listed["n_right"] <= listed["n_wordings"]).all()
    assert ended["bucket"].tolist() == sorted(changes)
    assert ended["outcome"].value_counts().to_dict() == {
        outcome: times for outcome, times in (("right", right), ("depends", depends), ("wrong", wrong)) if times
    }
    assert dict(zip(ended["bucket"], ended["n_wordings"], strict=True)) == n_wordings
    assert wording.same_answer == pytest.approx(1 - change, abs=1e-12)
    assert (wording.n_problems, wording.n_right, wording.n_depends, wording.n_wrong) == (n, right, depends, wrong)
    low, high = wording.confidence_interval["wording_change"]
    assert np.isnan(low) or low <= wording.wording_change <= high


def test_tables_of_problems_have_no_right_answers_without_gold_labels():
    scores = pc.score({"bucket_id": list("aabb"), "prediction": ["p", "q", "p", "p"]})
    assert scores.outcomes()["outcome"].tolist() == ["changes", "same"]
    assert scores.outcomes()["n_right"].isna().all()
    worst = scores.worst()
    assert worst.drop(columns=["set", "n_right"]).to_dict("records") == [
        {"bucket": "a", "wording_change": 1.0, "n_wordings": 2, "n_answers": 2, "answers": "'p' ×1, 'q' ×1"}
    ]
    assert worst["n_right"].isna().all()
    assert pc.score({"bucket_id": list("aabb"), "prediction": ["p", "p", "q", "q"]}).worst().empty
    with pytest.raises(pc.InputError, match="at least 1"):
        scores.worst(0)
    for answers, listed in (
        (["p" * 40, "q" * 41], f"'{'p' * 40}' ×1, '{'q' * 39}…' ×1"),
        ([None, "p", "p"], "'p' ×2, unparsed ×1"),
    ):
        frame = {"bucket_id": ["a"] * len(answers), "prediction": answers}
        assert pc.score(frame).worst()["answers"].item() == listed


def test_problems_of_which_some_have_no_one_gold_label_have_no_right_answers():
    allowed = [[0], [0], [0, 1], [0, 1]]  # of the second problem either answer is right
    columns = {"bucket_id": list("aabb"), "label": [0, 0, None, None], "allowed_labels": allowed}
    scores = pc.score({**columns, "prediction": [0, 1, 0, 1]})
    assert scores.outcomes()["outcome"].tolist() == ["changes", "changes"]
    assert scores.worst()["n_right"].isna().all()


@pytest.mark.faults
@pytest.mark.parametrize("first_is_original", [True, False])
def test_different_wrong_answers_are_no_consistency(first_is_original):
    scores = pc.score(free_answers(first_is_original=first_is_original))
    scored = only(scores)
    assert scored.measures["paraphrastic_consistency"].paraphrastic_consistency_unbiased > 0.95
    assert scored.wording.same_answer == pytest.approx(0.25, abs=0.01)
    (told,) = (warning for warning in scored.warnings if "two different wrong answers count as consistent" in warning)
    assert told.endswith("originals are left out") == first_is_original
    failed = judged("wording_change <= 20% and same_answer.low >= .7 and above_chance >= .5", scores)
    assert [one.passed for one in failed] == [False, False, False]


@pytest.mark.faults
@pytest.mark.parametrize("first_is_original", [True, False])
def test_gate_fails_different_wrong_answers_and_the_page_leads_with_them(command, tmp_path, first_is_original):
    path, page = tmp_path / "free.csv", tmp_path / "page.html"
    free_answers(first_is_original=first_is_original).to_csv(path, index=False)
    code, out, _ = command("gate", "pc.low >= 0.9", path)
    assert (code, "same answer 25.0 %" in out, "q25 (0 of 6 right: " in out) == (1, True, True)
    assert command("gate", "pc.low >= 0.9", path, "--allow-degenerate")[0] == 0
    assert command("report", path, "--output", page)[0] == 0
    seen = said(page)
    assert "get different answers from free 75.0 % of the time" in seen
    assert "two different wrong answers count as consistent" in seen


def unparsed_half(seed=0):
    """100 problems in four wordings: no answer to half of them could be read, the others get a coin's."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"b{b}", None if b < 50 else ["no", "yes"][rng.integers(2)], "yes", "paraphrase")
        for b in range(100)
        for _ in range(4)
    ]
    return table(rows).assign(wording=range(400))


@pytest.mark.faults
def test_gate_fails_where_policies_disagree_unless_one_is_named(command, tmp_path):
    path, results = tmp_path / "half.csv", tmp_path / "results.json"
    unparsed_half().to_csv(path, index=False)
    assert command("score", path, "--output", results)[0] == 0
    by_policy = json.loads(results.read_text())["half"]["wording_by_policy"]
    least, *_, most = sorted(values["wording_change"] for values in by_policy.values())
    for source in (path, results):
        code, out, _ = command("gate", f"above_chance <= 1 and wording_change >= {(least + most) / 2}", source)
        assert (code, "disagree" in out, "drop_bucket" in out) == (1, True, True)
        assert command("gate", f"wording_change >= {least}", source)[0] == 0
    condition = f"wording_change >= {(least + most) / 2}"
    assert [command("gate", condition, path, "--unparsed", name)[0] for name in by_policy] == [0, 1, 1]
    assert pc.score(path, unparsed="wrong").gate(condition)
    assert not pc.score(path).gate(condition)
    code, out, _ = command("gate", "pc >= .7", path)  # P_C takes answers that could not be read for consistent
    assert (code, "disagree" in out, "same_answer" in out) == (1, True, True)
    path.write_text("bucket_id,prediction,label\n0,x,x\n0,x,x\n1,x,x\n1,,x\n2,y,x\n2,,x\n")
    code, out, _ = command("gate", "above_chance >= -1", path)
    assert (code, "drop_bucket undefined" in out, "nan" in out) == (1, True, False)


@pytest.mark.faults
def test_a_test_against_another_model_is_one_of_every_policy():
    better = unparsed_half().assign(prediction=lambda frame: frame.prediction.fillna("yes"))
    frames = [pc.score(frame) for frame in (unparsed_half(), better)]
    (found,) = frames[0].checks("pc.not_worse", against=frames[1], margin=0.3)
    named = [pc.score(unparsed_half(), unparsed=policy) for policy in ("wrong", "drop_bucket")]
    each = {one.checks("pc.not_worse", against=frames[1], margin=0.3)[0].passed for one in named}
    assert found.passed == (each == {True})


@pytest.mark.faults
def test_problems_of_one_paraphrase_are_counted_with_their_original_and_not_without():
    """45 problems, 5 of them with one paraphrase, which used to be "right in every wording"."""
    rows = [(f"b{b}", "no", "yes", "original") for b in range(45)]
    rows += [(f"b{b}", "yes", "yes", "paraphrase") for b in range(45) for _ in range(1 if b < 5 else 4)]
    with_originals, without = (only(pc.score(table(part))).wording for part in (rows, rows[45:]))
    assert (with_originals.n_problems, with_originals.n_wordings, with_originals.n_right) == (45, 210, 0)
    assert (without.n_problems, without.n_wordings, without.n_right) == (40, 160, 40)


@pytest.mark.faults
def test_what_the_page_leads_with_is_printed_first_by_score_and_judged_by_gate(command, tmp_path):
    path, page = tmp_path / "answers.csv", tmp_path / "page.html"
    rows = [(f"b{b}", "ab"[(b + k) % 7 == 0], "ab"[b % 2], "paraphrase") for b in range(40) for k in range(3)]
    table(rows).to_csv(path, index=False)
    _, out, _ = command("score", path)
    sentence = " ".join(out.partition("right in every")[0].split()).removeprefix("answers: ").rpartition(". ")[0]
    change = only(pc.score(path)).wording.wording_change
    assert sentence.startswith(f"Two wordings of a problem get different answers {100 * change:.1f} %")
    assert command("report", path, "--output", page)[0] == 0
    claim, _, interval = sentence.partition(" (95 % interval ")
    interval, _, changed = interval.partition("); ")
    assert claim.replace("answers ", "answers from answers ") in said(page)
    assert f"95 % interval {interval}; {changed}." in said(page)
    for bound, code in ((change + 0.001, 0), (change - 0.001, 1)):
        assert command("gate", f"wording_change <= {bound}", path)[0] == code


@pytest.mark.parametrize("points", range(10, 101, 5))
def test_ten_points_are_not_far_apart_and_more_are(points):
    for same, is_far in ((points / 100 - 0.1, False), (points / 100 - 0.101, True)):
        measured = {"paraphrastic_consistency_unbiased": points / 100}
        assert are_far_apart(measured, {"same_answer": same}) == is_far
        assert are_far_apart(measured, {"same_answer": round(same, 3)}) == is_far


def test_other_roles_never_enter():
    rows = [(f"b{i}", "a", "a", role) for i in range(12) for role in ("original", "swap")]
    assert only(pc.score(table(rows))).wording is None


@pytest.mark.faults
def test_two_coin_flips_fail_a_gate_on_agreement():
    """The plug-in estimate of a pair counts each answer with itself: .769 where .538 agree."""
    rng = np.random.default_rng(3)
    rows = [(f"b{i}", "ab"[rng.integers(2)], "a", "paraphrase") for i in range(500) for _ in range(2)]
    scores = pc.score(table(rows))
    measured = only(scores).measures["paraphrastic_consistency"]
    for name in ("agreement", "vap", "pvap", "between_variance"):
        values = [judged(f"{short} >= 0", scores)[0].value for short in (name, f"{name}_published")]
        assert values == [measured[f"{name}_unbiased"], measured[name]]
        (by_key,) = judged(f"paraphrastic_consistency.{name} >= 0", scores)
        assert by_key.value == measured[name]
    assert measured["agreement_unbiased"] < 0.6 < 0.75 < measured["agreement"]
    assert not judged("agreement >= 0.75", scores)[0].passed


def test_intervals_are_those_of_agreement_where_all_rows_are_paraphrases():
    rng = np.random.default_rng(0)
    rows = [(f"q{b}", int(rng.random() < b / 60), 1, "paraphrase") for b in range(60) for _ in range(4)]
    scored = only(pc.score(table(rows)))
    low, high = scored.measures["paraphrastic_consistency"].confidence_interval["agreement_unbiased"]
    assert scored.wording.confidence_interval["wording_change"] == pytest.approx([1 - high, 1 - low])
    assert scored.wording.confidence_interval["same_answer"] == pytest.approx([low, high])


def test_an_interval_of_shares_of_rows_leaves_that_of_wordings_as_it_is():
    rows = [(f"q{b}", int(b % (k + 2) == 0), 1, "paraphrase" if k else "original") for b in range(30) for k in range(3)]
    usual, other = (
        only(pc.score(table(rows), measures=["prediction_change"], interval_method=method))
        for method in ("auto", "korn_graubard")
    )
    assert other.wording.confidence_interval == usual.wording.confidence_interval
    signatures = [each.measures["prediction_change"].signature for each in (usual, other)]
    assert ["jeffreys" in signature for signature in signatures] == [True, False]


def test_the_interval_above_chance_of_free_text_is_that_of_changes_on_its_scale():
    found = only(pc.score(free_answers(first_is_original=False), same="tokens:0.5")).wording
    rest = 1 - found.chance
    low, high = found.confidence_interval["wording_change"]
    assert found.above_chance == pytest.approx(1 - found.wording_change / rest)
    assert found.confidence_interval["above_chance"] == pytest.approx([1 - high / rest, 1 - low / rest])
    assert found.standard_error["above_chance"] == pytest.approx(found.standard_error["wording_change"] / rest)


def test_a_coin_is_right_as_often_as_the_answers_of_all_problems():
    n_wordings, n_right = np.array([2, 3, 5]), np.array([2, 0, 4])
    coin = Problems(np.arange(3), n_wordings, n_right, np.array([True, True, False])).coin
    accuracy = 6 / 10
    assert coin.accuracy == pytest.approx(accuracy)
    assert coin.right == pytest.approx(np.mean([accuracy**k for k in n_wordings]))
    assert coin.wrong == pytest.approx(np.mean([(1 - accuracy) ** k for k in n_wordings]))
    none = np.empty(0, dtype=int)
    assert Problems(none, none, none, none > 0).coin is None


@pytest.mark.faults
def test_one_problem_has_no_chance():
    """Its own answers were taken for those to other problems, so that its steadiness was 0, "as if shuffled"."""
    scored = only(pc.score(table([("q", answer, "a", "paraphrase") for answer in "aabb"])))
    wording, measure = scored.wording, scored.measures["paraphrastic_consistency"]
    assert wording.wording_change == pytest.approx(2 / 3)
    assert np.isnan([wording.above_chance, wording.chance]).all()
    undefined = ("chance", "agreement_chance", "chance_corrected", "krippendorff_alpha", "fleiss_kappa")
    assert np.isnan([measure[key] for key in undefined]).all()
    assert not np.isnan(measure["agreement_unbiased"])
