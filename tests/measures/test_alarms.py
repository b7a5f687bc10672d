"""Alarms ring for what they are for, and not for weak models or the search over renamings."""

import numpy as np
import pytest

import paraconsist as pc
from paraconsist.errors import InputError
from paraconsist.measures.alarms import constant_predictions, nearly_constant, permuted_labels, reversed_wordings


def noisy(rng: np.random.Generator, gold: np.ndarray, accuracy: float, n_labels: int) -> np.ndarray:
    wrong = (gold + rng.integers(1, n_labels, len(gold))) % n_labels
    return np.where(rng.random(len(gold)) < accuracy, gold, wrong)


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 1, 0), (0, 2, 1)])
def test_a_permuted_model_is_found_and_the_renaming_named(order: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 3, 300)
    predictions = noisy(rng, gold, 0.8, 3)
    assert permuted_labels(predictions, gold) is None
    message = permuted_labels(np.array(order)[predictions], gold)
    assert message is not None
    for label, shown in enumerate(order):
        assert (f"{shown} -> {label}" in message) == (shown != label)


@pytest.mark.parametrize("n_labels", [6, 7])
def test_six_renamed_labels_are_named(n_labels: int) -> None:
    gold = np.tile(np.arange(n_labels), 40)
    message = str(permuted_labels((gold + 1) % n_labels, gold))
    assert message.count(" -> ") == 6
    assert (", ...:" in message) == (n_labels > 6)


@pytest.mark.parametrize(
    ("level", "n", "needed"),
    [(0.95, 399, "400"), (0.99, 1_000, "2,000"), (0.95, 400, None), (0.9, 200, None), (0.9, 199, "200")],
)
def test_ten_resamples_are_wanted_in_each_tail(level: float, n: int, needed: str | None) -> None:
    rows = {"bucket_id": [0, 0, 1, 1, 2, 2], "prediction": [0, 1, 0, 0, 1, 1], "label": [0, 0, 0, 0, 1, 1]}
    scores = pc.score(rows, confidence_level=level, interval_method="bootstrap", n_resamples=n)
    warned = [w for one in scores.sets.values() for w in one.warnings if "in each tail" in w]
    assert len(warned) == (needed is not None)
    assert all(w.endswith(f"take at least {needed}") for w in warned)


def test_string_labels_of_two_vocabularies() -> None:
    message = permuted_labels(["LABEL_0", "LABEL_1"] * 30, ["no", "yes"] * 30)
    assert message is not None
    assert "accuracy is 0.0 %, but 100.0 %" in message
    assert "'LABEL_0' -> 'no'" in message


def test_a_name_in_another_case_is_never_taken_for_another_label() -> None:
    gold = ["no", "yes"] * 30
    mostly_wrong = ["Yes", "No"] * 24 + ["No", "Yes"] * 6  # as "yes" the "No" of 24 rows would be right
    message = str(permuted_labels([*mostly_wrong, *["NO ", "yes"] * 10], [*gold, *["no", "no"] * 10]))
    assert "accuracy is 0.0 %, but 27.5 %" in message
    assert permuted_labels(["No"] * 200 + ["yes"] * 9, ["yes"] * 208 + ["no"]) is None  # one gold label is enough
    for renaming in ("'No' -> 'no'", "'Yes' -> 'yes'", "'NO ' -> 'no'"):
        assert renaming in message
    assert permuted_labels(["Yes", "No"] * 30, gold) is None
    assert "'LABEL_1' -> 'no'" in str(permuted_labels(["LABEL_1", "LABEL_0"] * 30, gold))


@pytest.mark.parametrize("n_labels", [2, 3, 5])
def test_chance_level_models_do_not_raise_the_alarm(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    for n in (5, 20, 60, 300):
        for _ in range(100):
            gold, predictions = rng.integers(0, n_labels, (2, n))
            assert permuted_labels(predictions, gold) is None


def test_a_few_points_below_chance_is_a_weak_model() -> None:
    gold = np.repeat([0, 1], 5000)
    assert permuted_labels(np.where(np.arange(10_000) % 100 < 47, gold, 1 - gold), gold) is None


def test_one_label_has_no_other_order() -> None:
    assert permuted_labels([0] * 50, [0] * 50) is None
    assert permuted_labels([0], [1]) is None


def test_constant_predictions() -> None:
    assert "every prediction is 'a'" in str(constant_predictions(["a", "a"]))
    assert "every prediction is 0" in str(constant_predictions(np.zeros(3, dtype=int)))
    assert constant_predictions(["a", "b"]) is None
    for n in (1, 2):  # one answer is no constant
        results = [
            measure(["a"] * n, ["a"] * n, [0] * n) for measure in (pc.paraphrastic_consistency, pc.prompt_sensitivity)
        ]
        warned = [constant_predictions(["a"] * n), *(result.warnings for result in results)]
        assert ["every prediction is 'a'" in str(each) for each in warned] == [n > 1] * 3


def test_nearly_constant_predictions_that_are_no_better_than_constant_ones() -> None:
    gold = np.repeat([1, 0], [652, 348])
    predictions = np.ones(1000, dtype=int)
    predictions[[*range(15), *range(652, 675)]] = 0  # 38 answers 0, 23 of them right: 66.0 % for 65.2 %
    message = nearly_constant(predictions, gold)
    assert message is not None
    assert "962 of 1,000 predictions are 1, and their accuracy (66.0 %)" in message
    assert "commonest label (65.2 %)" in message
    predictions[675:690] = 0  # 38 of 53: better than chance would have it
    assert nearly_constant(predictions, gold) is None
    assert nearly_constant(np.where(np.arange(1000) % 8 == 0, 0, 1), gold) is None  # 12.5 % say 0
    assert nearly_constant(1 - predictions, gold) is not None  # the rarer label nearly always
    names = np.array(["no", "yes"])
    assert "are 'yes'" in str(nearly_constant(names[np.r_[predictions[:675], np.ones(325, dtype=int)]], names[gold]))


def test_a_skilled_model_of_a_lopsided_task_is_not_called_constant() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        gold = (rng.random(2000) < 0.95).astype(int)
        assert nearly_constant(noisy(rng, gold, 0.99, 2), gold) is None


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_of_equally_common_labels_the_one_that_is_predicted_is_the_constant_answer(names: tuple[str, str]) -> None:
    gold = np.array(names)[np.repeat([0, 1], 50)]
    predictions = np.array(names)[np.repeat([0, 1], [91, 9])]  # nine right answers more than always the first
    for order in (slice(None), slice(None, None, -1)):
        assert nearly_constant(predictions[order], gold[order]) is None


def test_rows_of_a_cluster_are_no_evidence_of_their_own() -> None:
    gold, clusters = np.repeat([1, 0], [60, 40]), np.arange(100)
    predictions = np.where(np.arange(100) >= 95, 0, 1)  # five right answers more
    assert nearly_constant(predictions, gold) is None
    clusters[95:] = 95
    assert nearly_constant(predictions, gold, clusters) is not None
    assert nearly_constant(predictions, gold, clusters // 12) is None  # nine clusters say nothing


def test_where_nothing_can_be_said_of_nearly_constant_predictions() -> None:
    predictions = [1] * 99 + [0]
    assert nearly_constant(predictions, [1] * 100) is None  # a perfect model is constant there
    assert nearly_constant([1] * 100, [1] * 60 + [0] * 40) is None  # that is `constant_predictions`
    assert nearly_constant([1], [0]) is None


def test_bad_input() -> None:
    with pytest.raises(InputError, match="permuted_labels: `references` must have one value per row"):
        permuted_labels([0, 1], [0])
    with pytest.raises(InputError, match="permuted_labels: `references` must hold integers"):
        permuted_labels([0, 1], ["0", "1"])


def naive_kappa(answers: np.ndarray, wording: int) -> float:
    """Return Cohen's kappa of a wording with one of the other answers to the same problem, drawn at random."""
    n, k = answers.shape
    others = [w for w in range(k) if w != wording]
    observed = np.mean([np.mean(answers[b, wording] == answers[b, others]) for b in range(n)])
    labels = np.unique(answers)
    chance = sum(np.mean(answers[:, wording] == x) * np.mean(answers[:, others] == x) for x in labels)
    return float((observed - chance) / (1.0 - chance))


def rows_of(answers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, k = answers.shape
    return answers.ravel(), np.repeat(np.arange(n), k), np.tile(np.arange(k), n)


def test_a_wording_that_asks_the_opposite_is_named_with_its_kappa() -> None:
    rng = np.random.default_rng(0)
    answers = (rng.random((120, 6)) < rng.beta(0.5, 0.5, (120, 1))).astype(int)
    assert reversed_wordings(*rows_of(answers)) is None
    answers[:, [1, 4]] = 1 - answers[:, [1, 4]]
    kappas = ", ".join(f"{naive_kappa(answers, wording):.2f}" for wording in (1, 4))
    found = reversed_wordings(*rows_of(answers))
    assert found is not None
    assert found.startswith(f"wordings 1, 4 go against the others (kappa {kappas} with their answers)")
    answers[:, 2] = 1 - answers[:, 2]  # half against half: nobody knows which
    assert reversed_wordings(*rows_of(answers)) is None


@pytest.mark.parametrize("same", [None, "text"])
def test_a_wording_that_asks_the_opposite_is_told_of_labels_not_of_free_text(same: str | None) -> None:
    problems, wordings = np.repeat(range(20), 4), np.tile(range(4), 20)
    answers = np.array(["no", "yes"])[(problems + (wordings == 3)) % 2]
    rows = {"bucket_id": problems, "wording": wordings, "prediction": answers}
    rows["label"] = np.array(["no", "yes"])[problems % 2]
    (found,) = pc.score(rows, variant="wording", same=same).sets.values()
    assert any("wording 3 goes against the others" in w for w in found.warnings) == (same is None)


def test_wordings_without_any_relation_and_of_few_problems_raise_no_alarm() -> None:
    rng = np.random.default_rng(1)
    n_alarms = sum(reversed_wordings(*rows_of(rng.integers(0, 3, (40, 8)))) is not None for _ in range(100))
    assert n_alarms <= 1
    against = np.array([[0, 0, 1], [1, 1, 0]] * 4)
    assert reversed_wordings(*rows_of(against)) is None  # 8 problems
    many = np.tile(against, (10, 1))
    assert reversed_wordings(*rows_of(many)) is not None
    clusters = np.repeat(np.arange(8), 30)  # of 80 problems in 8 clusters nothing is known either
    assert reversed_wordings(*rows_of(many), clusters) is None
    answers, problems, wordings = rows_of(np.tile([[0, 0, 0], [1, 1, 1]], (20, 1)))
    rare = [[1 - answers[3 * i], i, 3] for i in range(9)]  # a fourth wording of nine problems, always against
    columns = [np.concatenate([of, [row[k] for row in rare]]) for k, of in enumerate((answers, problems, wordings))]
    assert reversed_wordings(*columns) is None
    assert reversed_wordings(np.arange(120), problems, wordings) is None  # more answers than 20
