"""Chance levels: against every shuffle of small sets, the recognised coefficients, and what models must stand at."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from paraconsist.measures.buckets import BucketCounts, LabelPool, count_buckets
from paraconsist.measures.catalogue import ABOVE_CHANCE, CATALOGUE
from paraconsist.measures.chance import (
    ChanceLevel,
    agreement_chance,
    consistency_chance,
    fooling_chance,
    pair_chance,
    rule_chance,
)
from paraconsist.measures.paraphrastic import measures_of_counts

# Lopsided on purpose: buckets of 3, 2, 1 and 1, labels 0 (3 times), 1 (3 times), 2 (once).
CODES = np.array([0, 0, 0, 1, 1, 2, 3])
LABELS = np.array([0, 1, 0, 1, 1, 2, 0])
GOLD = np.array([0, 1, 2, 0])


def bucket_level(codes: Any, labels: Any, gold: Any, n_labels: int = 3, **options: Any) -> ChanceLevel:
    counts, pool, _ = count_buckets(codes, len(gold), labels, gold, n_labels)
    return agreement_chance(counts, pool, **options)


def mean_over_shuffles(statistic: Callable[[np.ndarray], float], answers: np.ndarray) -> float:
    values = [statistic(np.array(shuffle)) for shuffle in permutations(answers.tolist())]
    return float(np.mean(values))


def test_pairs_over_every_shuffle_of_both_sides() -> None:
    first, second = np.array([0, 0, 1]), np.array([0, 1, 2])
    answers = np.concatenate([first, second])
    level = pair_chance(first, second)
    assert level.broken == 2 / 3
    assert level.shuffled == pytest.approx(mean_over_shuffles(lambda x: float(np.mean(x[:3] != x[3:])), answers))
    level = pair_chance(first, second, must_differ=True)
    assert level.broken == 1 / 3
    assert level.shuffled == pytest.approx(mean_over_shuffles(lambda x: float(np.mean(x[:3] == x[3:])), answers))


def test_unanswered_pairs_break_the_rule_in_every_shuffle() -> None:
    first, second, unanswered = np.array([0, 7, 1, 2]), np.array([0, 1, 2, 2]), np.array([False, True, False, False])
    level = pair_chance(first, second, must_differ=True, unanswered=unanswered)
    rest = pair_chance(first[~unanswered], second[~unanswered], must_differ=True)
    assert level.broken == (1 + 3 * rest.broken) / 4 == 0.75
    assert level.shuffled == pytest.approx((1 + 3 * rest.shuffled) / 4)
    alone = pair_chance(first, second, must_differ=True, unanswered=np.ones(4, dtype=bool))
    assert (alone.broken, alone.corrected) == (1.0, 0.0)


def test_rules_over_every_shuffle() -> None:
    rules, allowed = np.array([0, 0, 1, 1, 2]), np.array([[1, 0, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
    answers = np.array([0, 1, 1, 0, 2])

    def broken(shuffle: np.ndarray) -> float:
        return float(np.mean([not allowed[rule, answer] for rule, answer in zip(rules, shuffle, strict=True)]))

    level = rule_chance(answers, rules, np.nonzero(allowed), 3, 3)
    assert level.broken == broken(answers)
    # No answer stays in its place: a shuffle in which some do is the mean of the two shares.
    mean = mean_over_shuffles(broken, answers)
    assert (level.shuffled * 4 + level.broken) / 5 == pytest.approx(mean)


def test_agreement_and_consistency_over_every_shuffle_of_buckets_with_two() -> None:
    rows = CODES < 2
    codes, gold = CODES[rows], GOLD[:2]

    def values(labels: np.ndarray) -> dict[str, float]:
        return measures_of_counts(count_buckets(codes, 2, labels, gold, 3).counts)

    means = {
        name: mean_over_shuffles(lambda labels, name=name: values(labels)[name], LABELS[rows])
        for name in ("agreement_unbiased", "paraphrastic_consistency_unbiased")
    }
    level = bucket_level(CODES, LABELS, GOLD)
    assert level.broken == pytest.approx(1 - values(LABELS[rows])["agreement_unbiased"])
    assert level.shuffled == pytest.approx(1 - means["agreement_unbiased"])
    label_counts, gold_counts = np.bincount(LABELS[rows], minlength=3), np.bincount(gold, minlength=3)
    chance = consistency_chance(label_counts, gold_counts)
    assert chance == pytest.approx(means["paraphrastic_consistency_unbiased"])


def test_fooled_over_every_shuffle() -> None:
    original, items, answers = np.array([0, 1, 0]), np.array([0, 0, 0, 1, 2, 2]), np.array([0, 0, 1, 1, 0, 2])

    def fooled(shuffle: np.ndarray) -> float:
        return float(np.mean([(shuffle[items == item] != original[item]).any() for item in range(3)]))

    level = fooling_chance(original, items, answers, 3)
    assert level.broken == pytest.approx(fooled(answers))
    assert level.shuffled == pytest.approx(mean_over_shuffles(fooled, answers))


@pytest.mark.parametrize("shares", [(1 / 3, 1 / 3, 1 / 3), (0.7, 0.2, 0.1)])
def test_fooling_varies_as_leaving_one_item_out_says(shares: tuple[float, ...]) -> None:
    rng = np.random.default_rng(7)
    original, items = rng.choice(3, 300, p=shares), np.repeat(np.arange(300), 3)
    answers = np.where(rng.random(900) < 0.7, original[items], rng.choice(3, 900, p=shares))

    def corrected(keep: np.ndarray) -> float:
        new = np.cumsum(keep) - 1
        rows = keep[items]
        return fooling_chance(original[keep], new[items[rows]], answers[rows], 3).corrected

    left_out = [corrected(np.arange(300) != i) for i in range(300)]
    error = fooling_chance(original, items, answers, 3).interval()[1]
    assert error == pytest.approx((299 * np.var(left_out)) ** 0.5, rel=0.02)


def test_pairs_are_buckets_of_two() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 90)
    second = np.where(rng.random(90) < 0.6, first, rng.integers(0, 4, 90))
    pairs = pair_chance(first, second)
    codes = np.tile(np.arange(90), 2)
    buckets = bucket_level(codes, np.concatenate([first, second]), np.zeros(90, dtype=int), 4)
    assert pairs.corrected == pytest.approx(buckets.corrected, abs=1e-12)
    assert np.ravel([*pairs.interval()[0], pairs.interval()[1]]) == pytest.approx(
        np.ravel([*buckets.interval()[0], buckets.interval()[1]]), abs=1e-12
    )


def test_the_interval_is_of_the_logarithm_above_one_half_only() -> None:
    """That of a logarithm has the value's own ratio as its geometric mean; Fieller's has not."""
    for n_differ, is_of_logarithm in ((8, False), (7, True)):  # of 36 answers 0 and 28 answers 1: 1 - 2 n / 32
        first = np.array([0] * (14 + n_differ) + [1] * (18 - n_differ))
        level = pair_chance(first, np.array([0] * 14 + [1] * 18))
        low, high = level.interval()[0]
        assert (level.corrected > 0.5) == is_of_logarithm
        assert ((1 - low) * (1 - high) == pytest.approx((1 - level.corrected) ** 2)) == is_of_logarithm


def level_of_table(table: np.ndarray, **options: Any) -> ChanceLevel:
    """Return the level of buckets (rows) by label (columns)."""
    counts = BucketCounts(table.sum(axis=1), table[:, 0], (table**2).sum(axis=1))
    pool = table[counts.size >= 2].sum(axis=0)
    return agreement_chance(counts, LabelPool(pool, table @ (pool / max(pool.sum(), 1))), **options)


@pytest.mark.parametrize("pooled", [False, True])
def test_the_standard_error_is_that_of_leaving_one_bucket_out(pooled: bool) -> None:
    rng = np.random.default_rng(3)
    table = rng.multinomial(6, rng.dirichlet([0.6] * 3, 400))
    left_out = [level_of_table(np.delete(table, i, axis=0), pooled=pooled).corrected for i in range(400)]
    jackknife = (399 * np.var(left_out)) ** 0.5
    assert level_of_table(table, pooled=pooled).interval()[1] == pytest.approx(jackknife, rel=0.02)


def test_the_sums_give_both_shares() -> None:
    rng = np.random.default_rng(4)
    answers, rules = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    levels = [
        bucket_level(CODES, LABELS, GOLD),
        pair_chance(answers, rules),
        pair_chance(answers, rules, must_differ=True),
        rule_chance(answers, rules, (np.arange(3), np.arange(3)), 3, 3),
    ]
    for level in levels:
        n, broken, shuffled = level.units().total
        assert broken / n == pytest.approx(level.broken)
        assert shuffled / n == pytest.approx(level.shuffled)


def test_groups_of_one_change_nothing_and_larger_ones_widen() -> None:
    rng = np.random.default_rng(5)
    first = np.repeat(rng.integers(0, 2, 50), 4)
    level = pair_chance(first, np.where(np.repeat(rng.random(50) < 0.7, 4), first, 1 - first))
    alone, grouped = level.interval(np.arange(200)), level.interval(np.repeat(np.arange(50), 4))
    assert alone[0] == pytest.approx(level.interval()[0])
    assert grouped[1] == pytest.approx(2 * alone[1], rel=0.03)


# -------------------------------------------------------------------------------------------- where models must stand


def test_a_coin_stands_at_0() -> None:
    rng = np.random.default_rng(14)
    flips = rng.integers(0, 2, 1000)
    codes, gold = np.repeat(np.arange(500), 2), rng.integers(0, 2, 500)
    level = bucket_level(codes, flips, gold, 2)
    (low, high), *_ = level.interval()
    assert abs(level.corrected) < 0.1
    assert low < 0 < high


def test_a_perfect_model_stands_at_1() -> None:
    gold = np.arange(100) % 3
    level = bucket_level(np.repeat(np.arange(100), 4), np.repeat(gold, 4), gold)
    (low, high), *_ = level.interval()
    assert level.corrected == high == 1.0
    # Clopper-Pearson: at most 3.62 % of 100 buckets can differ, of about 2/3 that would by chance.
    assert low == pytest.approx(1 - 0.0362 / (2 / 3), abs=0.001)


def test_a_constant_model_has_no_value() -> None:
    gold = np.arange(100) % 3
    constant = np.ones(400, dtype=int)
    level = bucket_level(np.repeat(np.arange(100), 4), constant, gold)
    assert level.broken == 0.0
    assert np.isnan([level.corrected, *level.interval()[0]]).all()
    assert np.isnan(pair_chance(constant, constant).corrected)
    # After a negation the answer must change: a constant one breaks the rule each time.
    assert pair_chance(constant, constant, must_differ=True).corrected == 0.0


def test_a_model_that_turns_every_answer_round_after_a_negation_stands_at_1() -> None:
    ones = np.ones(40, dtype=int)
    assert pair_chance(ones, 1 - ones, must_differ=True).corrected == 1.0


@pytest.mark.parametrize("size", [0, 1])
def test_too_few_answers_have_no_value(size: int) -> None:
    codes = np.arange(size)
    levels = [
        bucket_level(np.arange(3), np.array([0, 1, 2]), np.array([0, 0, 0])),
        rule_chance(codes, codes, (np.arange(3), np.arange(3)), 3, 3),
    ]
    for level in levels:
        assert np.isnan([level.broken, level.corrected]).any()
        assert np.isnan(level.interval()[0]).all()


def test_nearly_constant_answers_have_no_interval() -> None:
    table = np.tile([[5, 0]], (60, 1))
    table[:4] = [[2, 3]]
    (low, high), *_ = level_of_table(table).interval()
    assert np.isnan([low, high]).all()


@pytest.mark.parametrize(
    ("n", "k", "shape", "truth"),
    [
        (250, 8, (0.5, 0.5), 1 / 2),
        (30, 5, (0.5, 0.5), 1 / 2),
        (60, 5, (0.1, 0.1), 1 / 1.2),
        (250, 5, (0.9, 0.1), 1 / 2),
    ],
)
def test_intervals_cover(n: int, k: int, shape: tuple[float, float], truth: float) -> None:
    """Beta-binomial buckets of two labels: the chance-corrected consistency is 1 / (a + b + 1)."""
    rng = np.random.default_rng(6)
    hits = []
    for _ in range(1500):
        right = rng.binomial(k, rng.beta(*shape, n))
        (low, high), *_ = level_of_table(np.stack([right, k - right], axis=1)).interval()
        hits.append(low <= truth <= high)
    assert 0.93 <= np.mean(hits) <= 0.985


@pytest.mark.faults
@pytest.mark.parametrize("name", ["semantic_inconsistency", "symmetric_inconsistency", "prediction_change"])
def test_a_negative_value_above_chance_of_a_model_that_answers_originals_alike_is_explained(name):
    function, texts = CATALOGUE[name].function, [0] * 85 + [1] * 15
    if name == "prediction_change":
        calls = [function(texts, originals, texts) for originals in ([0] * 100, [1] + [0] * 99)]
    else:
        calls = [function(originals, texts) for originals in ([0] * 100, [1] + [0] * 99)]
    assert calls[0].chance_corrected == pytest.approx(1 - 1 / (1 - 0.15 / 2) * 199 / 200)
    assert ["every original is answered 0" in " ".join(result.warnings) for result in calls] == [True, False]
    assert "originals" in ABOVE_CHANCE.meaning


@pytest.mark.parametrize(("n", "k", "common"), [(60, 4, 0.9), (60, 3, 0.9), (250, 2, 0.97)])
def test_intervals_cover_where_few_buckets_have_the_rarer_answer(n: int, k: int, common: float) -> None:
    """Most answers are alike: buckets that always get the other may be missing (Fieller's held 88 %)."""
    rng, held = np.random.default_rng(8), []
    truth = 1.0 / 6.0  # the intraclass correlation of a beta distribution whose parameters sum to 5
    for _ in range(300):
        answers = (rng.random((n, k)) < rng.beta(5.0 * common, 5.0 - 5.0 * common, n)[:, None]).astype(int)
        of = np.repeat(np.arange(n), k)
        low, high = agreement_chance(*count_buckets(of, n, answers.ravel(), np.zeros(n, int), 2)[:2]).interval()[0]
        if not np.isnan(low):
            held.append(low <= truth <= high)
    assert 0.92 <= np.mean(held) <= 1.0
