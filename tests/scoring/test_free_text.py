"""Answers in free text: what is counted of pairs, from the comparer's verdicts and right answers, by its definition."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.examples import examples
from hypothesis import given
from hypothesis import strategies as st

import paraconsist as pc
from paraconsist.comparing.comparer import get_comparer

TEXTS = ["Paris", "paris.", "the Paris", "Rome", "in Rome", "Paris Rome", "Rome Oslo", "Oslo", "", None]
ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(TEXTS)), min_size=2, max_size=16)


def naive(rows, gold, same):
    """Share of pairs of a problem whose answers differ, on average over problems; and problems right in every wording.

    Two right answers are the same, a right and a wrong one are not; of two others, the comparer says it.
    """
    comparer = get_comparer(same)

    def are_same(one, two, *, reference=False):
        values = comparer.values([one]), comparer.values([two])
        return bool(comparer.are_same(*values, reference=reference)[0])

    changes, n_right = [], 0
    for bucket in sorted({bucket for bucket, _ in rows}):
        answers = [answer for of, answer in rows if of == bucket]
        right = [gold is not None and any(are_same(a, g, reference=True) for g in gold[bucket]) for a in answers]
        if len(answers) < 2:
            continue
        n_right += all(right)
        pairs = list(combinations(range(len(answers)), 2))
        same_pairs = [
            (right[i] and right[j]) or (right[i] == right[j] and are_same(answers[i], answers[j])) for i, j in pairs
        ]
        changes.append(1 - sum(same_pairs) / len(pairs))
    return (np.mean(changes) if changes else None), n_right


@examples(150)
@given(
    ROWS,
    st.lists(st.lists(st.sampled_from(["Paris", "Rome", "Rome Oslo"]), min_size=1, max_size=2), min_size=4, max_size=4),
    st.booleans(),
    st.sampled_from(["text", "tokens", "tokens:0.5", "contains"]),
)
def test_rates_are_means_over_pairs(rows, accepted, has_gold, same):
    gold = accepted if has_gold else None
    table = {"bucket_id": [bucket for bucket, _ in rows], "prediction": [answer for _, answer in rows]}
    if gold is not None:
        table["label"] = [gold[bucket] for bucket, _ in rows]
    if not any(table["prediction"]):
        return
    change, n_right = naive(rows, gold, same)
    scored = pc.score(table, same=same).sets["predictions"]
    of_bucket = {bucket: [answer for of, answer in rows if of == bucket] for bucket, _ in rows}
    if change is None or not any(any(answers) for answers in of_bucket.values() if len(answers) > 1):
        assert scored.wording is None  # nothing to compare, or nothing that could be read
        return
    assert scored.wording.wording_change == pytest.approx(change, abs=1e-12)
    assert scored.wording.n_right == (n_right if has_gold else None)
    assert scored.wording.n_problems - scored.wording.n_same == scored.wording.n_changed
    if has_gold:
        assert scored.wording.n_same >= n_right


def test_labels_of_a_bucket_are_scored_as_before_where_answers_are_equal_texts():
    """With labels as texts, `same` exact gives the numbers of labels."""
    rng = np.random.default_rng(0)
    buckets = np.repeat(np.arange(60), 5)
    gold = np.array(["yes", "no"])[buckets % 2]
    answers = np.where(rng.random(300) < 0.7, gold, np.where(gold == "yes", "no", "yes"))
    table = {"bucket_id": buckets, "label": gold, "prediction": answers}
    plain, free = (pc.score(table, **options).to_dict()["predictions"] for options in ({}, {"same": "exact"}))
    assert free["wording"] == plain["wording"]
    assert free["measures"] == plain["measures"]


@pytest.mark.faults
@pytest.mark.parametrize("answers", [["3", "4"], ["4", "3"], ["4", "4"]])
def test_right_answers_of_a_problem_are_its_first_accepted_one_in_other_problems(answers):
    """They were the first in the file: chance was 33 or 100 % by the order of rows, and not that of P_C."""
    table = {"bucket_id": [0, 0, 1, 1], "prediction": [*answers, "4", "4"], "label": [["3", "4"]] * 2 + [["4"]] * 2}
    found = pc.score(table, same="number").sets["predictions"]
    assert (found.wording.same_answer, found.wording.chance) == (1.0, pytest.approx(2 / 6))
    assert found.measures["paraphrastic_consistency"]["agreement_chance"] == pytest.approx(2 / 6)


@pytest.mark.faults
@pytest.mark.parametrize("as_cells", [json.dumps, list, str, lambda texts: str(np.array(texts))])
def test_choices_are_read_from_texts_and_lists(as_cells):
    """Of a CSV file each letter of the list was a choice."""
    orders = [["red", "blue"], ["blue", "red"], ["red", "blue"], ["red", "blue"]]
    answers = {"bucket_id": [0, 0, 1, 1], "prediction": ["B", "A", "(A)", "blue"], "label": ["blue"] * 4}
    (scored,) = pc.score({**answers, "choices": [*map(as_cells, orders)]}, same="choice").sets.values()
    assert (scored.wording.same_answer, scored.n_unparsed) == (0.5, 0)
    assert scored.measures["paraphrastic_consistency"]["accuracy"] == 0.75
    plain = {"bucket_id": [0, 0], "prediction": ["B", "A"], "choices": ["red or blue", ""]}
    assert pc.score(plain, same="choice").sets["predictions"].wording.same_answer == 0.0


def test_nan_is_no_answer_in_free_text():
    answers = {"bucket_id": ["a", "a"], "prediction": [5.0, float("nan")]}
    (scored,) = pc.score(pa.table(answers), same="text").sets.values()
    assert scored.n_unparsed == 1


def test_zero_is_an_accepted_answer():
    answers = {"bucket_id": ["a", "a", "b", "b"], "prediction": ["0", "zero", "1", "2"], "label": [[0], [0], [1], [1]]}
    (scored,) = pc.score(answers, same="number").sets.values()
    assert scored.measures["paraphrastic_consistency"]["accuracy"] == 0.75


@pytest.mark.faults
def test_no_answer_is_shown_that_its_question_did_not_get():
    """A class of numbers had its shortest text in the whole set: a price was shown as the hour of another question."""
    texts = ["A card costs 4 euro.", "It is 5 euro.", "We open at 9.", "Please come at 4."]
    scores = pc.score({"bucket_id": ["price"] * 2 + ["hour"] * 2, "prediction": texts}, same="number")
    assert dict(scores.worst()[["bucket", "answers"]].to_numpy().tolist()) == {
        "price": "'4' ×1, 'It is 5 euro.' ×1",
        "hour": "'We open at 9.' ×1, '4' ×1",
    }


@pytest.mark.faults
def test_accepted_answers_that_pandas_wrote_into_a_csv_are_told(tmp_path):
    """Each list was one accepted answer, in silence: of tokens' 80 % right answers, 35 % were."""
    lists = [["30 days", "a month"], ["2"]] * 6
    rows = pd.DataFrame({"bucket_id": range(12), "label": lists, "prediction": ["a month", "2"] * 6})
    warning = "accepted answers are lists as Python writes them"
    for name, labels, is_told in (("python", rows.label, True), ("json", rows.label.map(json.dumps), False)):
        rows.assign(label=labels).to_csv(tmp_path / f"{name}.csv", index=False)
        (scored,) = pc.score(tmp_path / f"{name}.csv", same="text").sets.values()
        assert any(warning in line for line in scored.warnings) is is_told
        assert scored.measures["paraphrastic_consistency"]["accuracy"] == (0.5 if is_told else 1)


@pytest.mark.faults
def test_answers_none_of_which_is_an_accepted_one_are_told():
    """Whole sentences beside "10 days": by `text`, the default, all were wrong, and no word said why."""
    days = [str(10 + i // 2) for i in range(20)]
    rows = {"bucket_id": [i // 2 for i in range(20)], "prediction": [f"You have {n} days." for n in days]}
    rows["label"] = [f"{n} days" for n in days]
    warning = "no answer is right by `text` ('You have 10 days.' for '10 days')"
    assert warning in " ".join(pc.score(rows, same="text").warnings)
    assert "no answer is right" not in " ".join(pc.score(rows, same="number").warnings)
    rows["prediction"] = [None, *["Let me think. " * 100] * 19]
    (told,) = (line for line in pc.score(rows, same="text").warnings if "no answer is right" in line)
    assert "('Let me think. Let" in told
    assert len(told) < 200  # it was None, or an answer of pages
    unread = pc.score({**rows, "prediction": [None] * 20}, same="text").warnings
    assert "no answer is right" not in " ".join(unread)


def test_an_answer_that_is_never_right_is_told_by_one_that_was_given():
    """The first, which was no answer, stood in the sentence."""
    rows = [{"bucket_id": i // 2, "prediction": "Rome" if i else None, "label": "Paris"} for i in range(40)]
    assert "no answer is right by `text` ('Rome' for 'Paris')" in " ".join(pc.score(rows, same="text").warnings)


@pytest.mark.faults
@pytest.mark.parametrize(
    ("same", "written", "gold"),
    [("text", "{}.", ["Paris", "Rome"]), ("number", "It is {}", ["7", "8"]), ("number", "It is {}", [7, 8])],
)
def test_answers_to_the_full_test_set_are_compared_alike(same, written, gold):
    """They were compared with the gold labels letter by letter: 0 % of right answers were."""
    first, second = (written.format(one) for one in gold)
    rows = {
        "bucket_id": [0, 0, 1, 1],
        "role": ["original", "paraphrase"] * 2,
        "prediction": [first, first, first, second],
    }
    rows["label"] = [gold[0], gold[0], gold[1], gold[1]]
    beside = {
        "prediction": [first, first, second, None, second],
        "label": [gold[0], gold[1], gold[1], gold[1], gold[1]],
    }
    for test in (beside, {**beside, "bucket_id": [0, 0, 1, 1, 1]}):
        scored = pc.score(rows, same=same, test=test).sets["predictions"]
        assert scored.measures["paraphrastic_consistency"]["test_accuracy"] == 0.6
        assert scored.test_majority_rate == 0.8
