"""Unparsed answers under each policy: by hand, and as the naive definition has it."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.score_roles import result_of

import paraconsist as pc
from paraconsist.errors import InputError
from paraconsist.reporting.tables import policies
from paraconsist.scoring.roles import POLICIES

NAMES = ["no", "yes"]
#: Original, perturbed (None is unparsed), gold label of both.
PAIRS = [(0, 0, 0), (1, 0, 1), (None, 1, 1), (0, None, 1), (None, None, 0), (1, 1, 1)]


def table(pairs, role: str, *, named: bool = False, flipped: bool = False) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for i, (original, perturbed, gold) in enumerate(pairs):
        other = 1 - gold if flipped else gold
        for place, answer, label in (("original", original, gold), (role, perturbed, other)):
            answer = NAMES[answer] if named and answer is not None else answer
            rows.append(
                {"bucket_id": f"b{i}", "role": place, "label": NAMES[label] if named else label, "prediction": answer}
            )
    return pa.Table.from_pylist(rows)


def scored(predictions: pa.Table, measure: str, policy: str) -> dict[str, Any]:
    return result_of(predictions, measures=[measure], unparsed=policy, n_resamples=50)


def same(one: int | None, two: int | None, policy: str) -> bool:
    """Whether two answers are the same; `wrong` never lets one be that is not there."""
    return one == two and not (policy == "wrong" and one is None)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    ("policy", "rate", "n"), [("wrong", 4 / 6, 6), ("own_class", 3 / 6, 6), ("drop_bucket", 1 / 3, 3)]
)
def test_pairs_by_hand(policy, rate, n, named):
    found = scored(table(PAIRS, "paraphrase", named=named), "semantic_inconsistency", policy)
    assert found["measures"]["semantic_inconsistency"]["inconsistency"] == pytest.approx(rate)
    assert found["measures"]["semantic_inconsistency"]["n_pairs"] == n
    assert found["n_unparsed"] == 4
    assert found["n_dropped_buckets"] == 6 - n
    assert f"|unparsed:{policy}|" in found["measures"]["semantic_inconsistency"]["signature"]
    assert found["by_policy"].keys() == set(POLICIES)
    assert found["by_policy"][policy]["semantic_inconsistency"]["inconsistency"] == pytest.approx(rate)
    change = scored(table(PAIRS, "paraphrase", named=named), "prediction_change", policy)
    assert change["measures"]["prediction_change"]["change_rate"] == pytest.approx(rate)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(("policy", "rate"), [("wrong", 5 / 6), ("own_class", 3 / 6), ("drop_bucket", 2 / 3)])
def test_after_a_negation_no_answer_is_a_failure(policy, rate, named):
    predictions = table(PAIRS, "negation", named=named, flipped=True)
    found = scored(predictions, "negational_inconsistency", policy)["measures"]["negational_inconsistency"]
    assert found["inconsistency"] == pytest.approx(rate)
    if policy != "drop_bucket":  # accuracies do not depend on how unparsed answers compare
        assert found["accuracy"] == pytest.approx(3 / 6)
        assert found["perturbed_accuracy"] == pytest.approx(1 / 6)


@pytest.mark.parametrize("policy", POLICIES)
def test_paraphrastic_consistency_is_the_double_loop(policy):
    rng = np.random.default_rng(3)
    buckets = {f"b{i}": rng.choice([0, 1, None], size=1 + i % 5, p=[0.4, 0.5, 0.1]).tolist() for i in range(40)}
    rows = [
        {"bucket_id": bucket, "role": "paraphrase", "label": 1, "prediction": answer}
        for bucket, answers in buckets.items()
        for answer in answers
    ]
    kept = [a for a in buckets.values() if policy != "drop_bucket" or None not in a]
    assert 0 < len(kept) <= 40
    right = np.mean([np.mean([(x == 1) == (y == 1) for x, y in product(a, a)]) for a in kept])
    pairs = [[(x, y) for i, x in enumerate(a) for j, y in enumerate(a) if i != j] for a in kept if len(a) > 1]
    agree = np.mean([np.mean([same(x, y, policy) for x, y in p]) for p in pairs])
    found = scored(pa.Table.from_pylist(rows), "paraphrastic_consistency", policy)
    measure = found["measures"]["paraphrastic_consistency"]
    assert measure["paraphrastic_consistency"] == pytest.approx(right)
    assert measure["n_buckets"] == len(kept)
    assert found["n_dropped_buckets"] == 40 - len(kept)
    assert measure["agreement_unbiased"] == pytest.approx(agree)


def test_nothing_unparsed_and_no_table_of_policies():
    found = scored(table(PAIRS[:2], "paraphrase"), "semantic_inconsistency", "wrong")
    assert found["by_policy"] == {}
    assert found["warnings"] == []


def test_a_policy_that_leaves_nothing_is_refused_and_is_null_beside_the_others():
    gone = table([(None, 0, 0), (1, None, 1)], "paraphrase")
    with pytest.raises(InputError, match="all 2 buckets have an unparsed answer"):
        scored(gone, "semantic_inconsistency", "drop_bucket")
    found = scored(gone, "semantic_inconsistency", "wrong")
    assert found["by_policy"]["drop_bucket"] == {"semantic_inconsistency": None}


def test_unknown_policy():
    with pytest.raises(InputError, match="`unparsed` must be one of wrong, own_class, drop_bucket; got 'ignore'"):
        scored(table(PAIRS, "paraphrase"), "semantic_inconsistency", "ignore")


def test_the_command_shows_every_policy(command, tmp_path):
    path = tmp_path / "mine.parquet"
    pq.write_table(table(PAIRS, "paraphrase"), path)
    out = command.out("score", path, "--measure", "semantic_inconsistency", "--unparsed", "own_class")
    assert "What unparsed answers count as (per cent)" in out
    lines = [line.split() for line in out.splitlines()]
    assert ["mine", "(semantic)", "33.3", "wrong", "66.7", "[22.3,", "95.7]"] in lines
    assert ["*", "own", "class", "50.0", "[11.8,", "88.2]"] in lines
    assert ["drop", "bucket", "33.3", "[0.8,", "90.6]"] in lines


@pytest.mark.faults
def test_without_gold_policies_are_shown_of_what_is_measured(command, tmp_path):
    """The table of policies had no value in any row, and the warning spoke of P_C, which needs gold labels."""
    rows = [(f"q{i}", answer) for i in range(40) for answer in ("yes", "no" if i % 2 else "yes", None)]
    frame = pd.DataFrame(rows, columns=["bucket_id", "prediction"])
    frame.to_csv(tmp_path / "answers.csv", index=False)
    scores = pc.score(frame).sets["predictions"]
    changes = {policy: values["wording_change"] for policy, values in scores.wording_by_policy.items()}
    assert changes["wrong"] == pytest.approx((1 + 2 / 3) / 2)
    (shown,) = policies({"answers": scores})
    values = [value.value for *_, value in shown.rows]
    assert values[:2] == [changes["wrong"], changes["own_class"]]
    _, out, err = command("score", tmp_path / "answers.csv")
    assert "answers (wording change)" in out
    assert "40 of 120 predictions are unparsed and count as answers that are the same as no other." in err
    page = tmp_path / "page.html"
    command.out("report", tmp_path / "answers.csv", "--output", page)
    assert "Wording change by what they count as: wrong 83.3 (used here), own class" in page.read_text()


@pytest.mark.faults
def test_wordings_of_which_no_answer_can_be_read() -> None:
    """The alarm about wordings that ask the opposite was asked about no rows, and the score ended with its error."""
    rows = {"bucket_id": np.repeat(np.arange(6), 3), "wording": [*"abc"] * 6, "label": 1, "prediction": None}
    scores = pc.score(pd.DataFrame(rows), variant="wording", n_resamples=20)
    assert any("no answer could be read" in note for one in scores.sets.values() for note in one.warnings)


def _models(**answered: bool) -> pd.DataFrame:
    """Return 30 problems in four wordings: of a model that answers, of one that changes its mind, and of mute ones."""
    rows = [
        (
            model,
            f"q{i}",
            role,
            NAMES[i % 2],
            NAMES[(i + (k == 2 and model == "shaky")) % 2] * able,
        )
        for model, able in answered.items()
        for i in range(30)
        for k, role in enumerate(["original", *["paraphrase"] * 3])
    ]
    return pd.DataFrame(rows, columns=["model", "bucket_id", "role", "label", "prediction"])


@pytest.mark.faults
def test_a_model_that_could_not_be_read_ends_no_page_of_several(command, tmp_path):
    """Without its buckets nothing was left of it, and `report` and `leaderboard` ended for all models."""
    _models(steady=True, shaky=True, mute=False).to_csv(tmp_path / "models.csv", index=False)
    page = tmp_path / "page.html"
    command.out("report", tmp_path / "models.csv", "--unparsed", "drop_bucket", "--output", page)
    assert "no answer could be read (all 120 predictions are unparsed)" in page.read_text()
    assert "shaky is the steadiest" not in page.read_text()
    assert "steady is the steadiest of the 2 models that can be ranked" in page.read_text()
    _, out, err = command("score", tmp_path / "models.csv", "--unparsed", "drop_bucket", "--model", "mute")
    assert "undefined" in out
    assert "no answer could be read" in err


@pytest.mark.parametrize("role", ["paraphrase", "negation"])
def test_only_where_wordings_are_paired_is_p_c_spoken_of(command, tmp_path, role):
    pq.write_table(table(PAIRS, role, flipped=role == "negation"), tmp_path / "mine.parquet")
    _, _, err = command("score", tmp_path / "mine.parquet")
    assert "4 of 12 predictions are unparsed and count as wrong answers" in err
    assert ("consistent, in P_C" in err) == (role == "paraphrase")
