"""Confidence sequences: against the capital by its definition, and exactly, over every order of few values."""

import math
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from helpers.errors import refuses

from paraconsist.errors import InputError
from paraconsist.measures.sequential import MeanSequence, confidence_sequence


def naive(values: list[float], weights: list[float], half_width: float = 0.03) -> list[tuple[float, float]]:
    """Intervals by bisection: the means against which neither capital ever reached 2 / alpha = 40."""

    def capital(mean: float, n: int, side: int) -> float:
        total, sum_of, squares = 0.5, 0.25, 0.125
        wealth = 1.0
        for value, weight in zip(values[:n], weights[:n], strict=True):
            most = 0.9 / (mean if side > 0 else 1.0 - mean)
            wealth *= 1.0 + side * min(half_width * total / squares, most) * weight * (value - mean)
            total, sum_of = total + weight, sum_of + weight * value
            squares += (weight * (value - sum_of / total)) ** 2
        return wealth

    def end(n: int, side: int) -> float:
        excluded, kept = (0.0, 1.0) if side > 0 else (1.0, 0.0)
        for _ in range(40):
            middle = (excluded + kept) / 2.0
            excluded, kept = (middle, kept) if capital(middle, n, side) >= 40.0 else (excluded, middle)
        return excluded

    low, high, ends = 0.0, 1.0, []
    for n in range(1, len(values) + 1):
        low, high = max(low, end(n, 1)), min(high, end(n, -1))
        ends.append((low, high))
    return ends


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chance", [0.5, 0.95])
def test_the_ends_are_those_of_the_capitals_by_their_definition(chance: float, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    values = (rng.binomial(4, chance, 150) / 4).tolist()
    weights = rng.integers(1, 5, 150) / 4 if weighted else np.ones(150)
    sequence = MeanSequence()
    found = [sequence.add(*pair) for pair in zip(values, weights.tolist(), strict=True)]
    expected = naive(values, weights.tolist())
    spacing = math.pi / 2 / 8_000  # of the candidates, at most; the ends are the next candidates outside
    assert np.all(np.subtract(expected, found)[:, 0] >= -1e-9)
    assert np.all(np.subtract(expected, found)[:, 1] <= 1e-9)
    assert np.abs(np.subtract(expected, found)).max() <= spacing
    assert found[-1][0] > 0.3
    assert found[-1][1] < 1.0 + chance // 1
    assert sequence.n == 150


@pytest.mark.parametrize("options", [{}, {"half_width": 0.2}, {"bound": 0.6}, {"bound": 0.8}])
@pytest.mark.parametrize("chance", [0.2, 0.5, 0.8])
def test_some_look_misses_in_at_most_one_less_the_confidence_level(chance: float, options: dict[str, float]) -> None:
    missed = 0.0
    for values in product([0.0, 1.0], repeat=8):
        sequence = MeanSequence(confidence_level=0.6, **options)
        ends = [sequence.add(value) for value in values]
        if not all(low <= chance <= high for low, high in ends):
            missed += math.prod(chance if value else 1.0 - chance for value in values)
    assert missed <= 0.4


def test_weighted_values_have_the_mean_in_which_each_counts_as_its_weight() -> None:
    population = [(1.0, 1.0), (0.0, 0.25), (0.5, 0.5)]  # (value, weight), equally frequent
    mean = sum(value * weight for value, weight in population) / sum(weight for _, weight in population)
    missed = 0
    for drawn in product(population, repeat=6):
        sequence = MeanSequence(confidence_level=0.5, half_width=0.3)
        missed += not all(low <= mean <= high for low, high in [sequence.add(*pair) for pair in drawn])
    assert 0 < missed / 3**6 <= 0.5


def test_a_finite_set_is_missed_in_at_most_one_less_the_confidence_level_and_known_at_the_end() -> None:
    values = [0.0, 1.0, 1.0, 0.5, 1.0, 0.0, 1.0]
    mean, missed = float(np.mean(values)), 0
    orders = list(permutations(values))
    for order in orders[::3]:
        sequence = MeanSequence(confidence_level=0.5, half_width=0.2, n_values=len(values))
        ends = [sequence.add(value) for value in order]
        missed += not all(low - 1e-12 <= mean <= high + 1e-12 for low, high in ends)
        assert ends[-1] == pytest.approx((mean, mean), abs=1e-12)
        assert all(later[0] >= one[0] and later[1] <= one[1] for one, later in pairwise(ends[:-1]))
    assert missed / len(orders[::3]) <= 0.5


def test_an_interval_without_replacement_is_narrower() -> None:
    values = (np.random.default_rng(2).random(900) < 0.8).astype(float)
    population, finite = MeanSequence(), MeanSequence(n_values=1000)
    for value in values:
        population.add(value)
        finite.add(value)
    assert finite.half_width < 0.5 * population.half_width


def test_constant_answers_are_never_certain_in_a_population() -> None:
    sequence = MeanSequence()
    for _ in range(500):
        low, high = sequence.add(1.0)
    assert high == 1.0
    assert 0.98 < low < 1.0


@pytest.mark.parametrize(
    ("values", "named"),
    [([(1.5, 1.0)], "value"), ([(math.nan, 1.0)], "value"), ([(0.5, 0.0)], "weight"), ([(0.5, 1.5)], "weight")],
)
def test_values_outside_their_range_are_refused(values: list[tuple[float, float]], named: str) -> None:
    sequence = MeanSequence()
    with pytest.raises(InputError, match=f"`{named}` must lie in"):
        for pair in values:
            sequence.add(*pair)


def test_a_finite_set_takes_no_weights_and_no_value_too_many() -> None:
    sequence = MeanSequence(n_values=1)
    with pytest.raises(InputError, match="`weight` must"):
        sequence.add(0.5, 0.5)
    sequence.add(0.5)
    with pytest.raises(InputError, match="one of the set's 1"):
        sequence.add(0.5)


@pytest.mark.parametrize("n_total", [None, 60, 90])
def test_the_sequence_of_an_array_is_that_of_its_values(n_total: int | None) -> None:
    values = np.random.default_rng(2).random(60)
    sequence = MeanSequence(n_values=n_total, confidence_level=0.9)
    expected = np.array([sequence.add(value) for value in values.tolist()])
    found = confidence_sequence(values, n_total, 0.9)
    np.testing.assert_array_equal(np.stack([found.low, found.high], axis=1), expected)
    if n_total == 60:
        assert found.low[-1] == found.high[-1] == pytest.approx(values.mean())


def test_what_no_sequence_can_be_of_is_refused() -> None:
    refuses("at row 1", confidence_sequence, [1, 1.5])
    refuses("`values` must be at most the set's 1", confidence_sequence, [1, 0], 1)
    refuses("`n_total` must be a whole number", confidence_sequence, [1, 0], 2.5)
    refuses("`confidence_level`", confidence_sequence, [1, 0], None, 95)
