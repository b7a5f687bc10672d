"""Whatever a label is called, it is one: negative numbers stand for nothing but themselves."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.commands import write
from helpers.errors import refuses
from helpers.score_roles import result_of, scored

import paraconsist as pc
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import read_rows
from paraconsist.errors import InputError
from paraconsist.scoring.noise import Repeats, score_noise
from paraconsist.scoring.roles import POLICIES


def answers(labels: list[Any], predictions: list[Any], per_bucket: int = 2) -> list[dict[str, Any]]:
    rows = zip(labels, predictions, strict=True)
    return [{"bucket_id": f"b{i // per_bucket}", "label": a, "prediction": b} for i, (a, b) in enumerate(rows)]


@pytest.mark.parametrize("gold", [-2, -3, 0, 7, -(2**62)])
def test_an_unparsed_answer_is_never_right(command, tmp_path, gold):
    path = write(tmp_path / "mine.parquet", answers([gold] * 4, [None, gold, None, gold]))
    for policy in ("wrong", "own_class"):
        result = scored(command, path, "--unparsed", policy)
        found = result["measures"]["paraphrastic_consistency"]
        assert found["accuracy"] == 0.5
        assert found["paraphrastic_consistency"] == 0.5
        assert result["by_policy"]["own_class"] == result["by_policy"]["wrong"]


@pytest.mark.parametrize("policy", POLICIES)
def test_numbers_far_below_zero_score_as_names_do(policy):
    rng = np.random.default_rng(4)
    numbers = {"a": -2, "b": -3, "c": -4}
    gold = np.repeat(rng.choice(list(numbers), 60), 3).tolist()
    predicted = [None if rng.random() < 0.2 else str(rng.choice(list(numbers))) for _ in gold]
    by_name = answers(gold, predicted, 3)
    by_number = answers([numbers[name] for name in gold], [numbers.get(name) for name in predicted], 3)
    options = {"measures": ["paraphrastic_consistency"], "unparsed": policy, "n_resamples": 50}
    names, figures = (result_of(rows, **options)["measures"] for rows in (by_name, by_number))
    np.testing.assert_equal(figures, names)


def test_labels_that_leave_no_number_for_unparsed_answers_are_refused():
    lowest = -(2**63)
    table = pa.Table.from_pylist(answers([lowest, lowest, 0, 0], [lowest, None, None, 0]))
    with pytest.raises(InputError, match="names") as e:
        read_rows(Predictions(table), SourceOptions())
    assert (e.value.parameter, e.value.got) == ("label", lowest)


def test_repeats_are_unparsed_as_the_run_is():
    """Two answers that could not be read are the same answer of a noise floor, whatever the labels of either file."""
    main = answers([0, 0, 1, 1], [0, None, 1, None])
    more = [{"input_id": f"x{i}", **row} for i, row in enumerate(main)]
    again = [row | {"repeat": 1, "kind": "numeric"} for row in more[:4]]
    again[0]["prediction"] = -2  # this file alone has such an answer
    one, two = (Predictions(pa.Table.from_pylist(rows)) for rows in (more, again))
    assert score_noise(one, Repeats(two), SourceOptions())["flip_rate"]["numeric"] == 0.25


def signed(n: int = 60, seed: int = 1) -> list[dict[str, Any]]:
    """Two thirds of the problems have the gold label -1, one third +1; four of five answers are right."""
    rng = np.random.default_rng(seed)
    gold = np.repeat(np.where(np.arange(n) % 3 < 2, -1, 1), 2)
    return answers(gold.tolist(), np.where(rng.random(2 * n) < 0.8, gold, -gold).tolist())


def test_labels_below_zero_count_for_the_commonest_label(command, tmp_path):
    """FAULTS N3: 100 % where 66.7 % is right."""
    path = write(tmp_path / "mine.parquet", signed())
    result = scored(command, path, "--test-predictions", path)
    assert result["majority_rate"] == result["test_majority_rate"] == pytest.approx(2 / 3)
    assert result["warnings"] == []


def test_labels_below_zero_in_another_order_raise_the_alarm():
    lower = [{**row, "label": row["label"] - 2, "prediction": -row["prediction"] - 2} for row in signed()]
    (warning,) = result_of(lower)["warnings"]
    assert "if predicted labels are renamed -3 -> -1, -1 -> -3" in warning


def test_rows_without_a_gold_label_are_a_warning():
    """Hugging Face data sets write -1 where there is no gold label; here it is a label, and no answer is right."""
    labels = [0, 0, 1, 1, 2, 2] * 10
    rows = answers(labels, labels) + [row | {"bucket_id": "none"} for row in answers([-1, -1], [0, 2])]
    result = result_of(rows)
    assert result["measures"]["paraphrastic_consistency"]["accuracy"] == pytest.approx(60 / 62)
    assert result["majority_rate"] == pytest.approx(20 / 62)
    (warning,) = result["warnings"]
    assert "2 of 62 rows have the gold label -1, which no prediction is" in warning


def test_a_rule_that_allows_several_labels_has_no_gold_label():
    rows = [
        {"bucket_id": f"b{i}", "role": role, "label": label, "allowed_labels": allowed, "prediction": 1}
        for i in range(4)
        for role, label, allowed in (("antecedent_1", 0, [0]), ("antecedent_2", 1, None), ("consequent", -1, [1, 2]))
    ]
    read = read_rows(Predictions(pa.Table.from_pylist(rows)), SourceOptions())
    assert read.allowed == [[0], [1], [1, 2]] * 4
    assert read.has_gold.tolist() == [True, True, False] * 4
    assert [one for one in result_of(rows)["warnings"] if "gold" in one] == []


@pytest.mark.parametrize("names", [[0, 1], ["no", "yes"]])
def test_several_right_labels_outside_a_rule_are_a_warning(names):
    """No answer to two problems of twenty is counted as right, whatever it is: their rows have no one gold label."""
    given = [names[place] for place in (0, 0, 1, 1)] * 10
    rows = [row | {"allowed_labels": [row["label"]]} for row in answers(given, given)]
    for row in rows:
        if row["bucket_id"] in ("b0", "b19"):
            row |= {"label": None, "allowed_labels": names}
    result = result_of(rows)
    assert result["measures"]["paraphrastic_consistency"]["accuracy"] == pytest.approx(36 / 40)
    (warning,) = result["warnings"]
    assert "4 of 40 rows allow several labels and are not the conclusion of a rule" in warning


@pytest.mark.faults
@pytest.mark.parametrize("missing", ["", None])
def test_named_labels_may_be_missing_in_problems_that_are_left_out(missing):
    """The empty cell was refused as none of the names, or names were left as they are."""
    rows = {"bucket_id": [1, 1, 2, 2, 3, 3], "prediction": [0, 0, 1, 0, 1, 1]}
    rows["label"] = ["no", "no", "yes", "yes", missing, missing]
    scored = pc.score(rows, label_names=["no", "yes"], labelled=True).sets["predictions"]
    assert scored.measures["paraphrastic_consistency"]["accuracy"] == 0.75
    refuses("must not be empty", pc.score, rows, label_names=["no", "yes"])
    rows["label"][2] = "perhaps"
    refuses("must be one of no, yes; got 'perhaps' at row 2", pc.score, rows, label_names=["no", "yes"])
