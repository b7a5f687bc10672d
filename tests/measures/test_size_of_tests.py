"""The short form of `benchmarks/test_size.py`: five designs in which two models are equal; p against its interval."""

from typing import Any

import numpy as np
import pytest
from helpers.scripts import load_script

from paraconsist.measures.difference_tests import Compared, paired_differences
from paraconsist.measures.intervals import mean_of_sums, sums_by_group
from paraconsist.measures.results import IntervalSettings
from paraconsist.measures.standings import joint_test

simulation: Any = load_script("benchmarks/test_size.py")
N = 150
TOO_MANY = 0.06 + 2 * np.sqrt(0.06 * 0.94 / N)  # of N sets, where 6 % are allowed


def unbiased_consistency(drawn: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 and the models' P_C of every bucket, and the contexts of the buckets."""
    size = np.bincount(drawn["buckets"])
    right = [np.bincount(drawn["buckets"], weights=answers) for answers in drawn["answers"]]
    values = [1.0 - 2.0 * c * (size - c) / (size * (size - 1.0)) for c in right]
    first = np.unique(drawn["buckets"], return_index=True)[1]
    groups = np.arange(len(size)) if drawn["groups"] is None else drawn["groups"][first]
    return np.stack([np.ones(len(size)), *values], axis=1), groups


@pytest.mark.parametrize("name", simulation.DESIGNS)
def test_sign_flips_keep_their_level_and_agree_with_their_interval(name: str) -> None:
    rng = np.random.default_rng(len(name))
    rejected, contradicted = 0, 0
    for seed in range(N):
        sums, groups = unbiased_consistency(simulation.draw(rng, simulation.DESIGNS[name]))
        options = IntervalSettings("", "auto", 0.95, 99, seed)
        pattern = np.arange(len(sums))
        found = paired_differences(
            options, sums[:, [0, 1]], sums[:, [0, 2]], pattern, groups, mean_of_sums, [Compared("", 1.0)], 199
        )
        p, low, high = found.p_value[0], found.interval.low[0], found.interval.high[0]
        rejected += p <= 0.05
        contradicted += (low <= 0.0 <= high) != (p > 0.05)
    assert contradicted == 0
    assert rejected / N <= TOO_MANY
    assert name == "ceiling" or rejected >= 2


@pytest.mark.parametrize("name", ["unlike", "unequal"])
def test_families_of_pairs_keep_their_level(name: str) -> None:
    """Any false claim among six pairs of four equal models."""
    rng = np.random.default_rng(1)
    claims = 0
    for seed in range(N):
        sums, groups = unbiased_consistency(simulation.draw(rng, simulation.DESIGNS[name], 4))
        values = sums_by_group(sums[:, 1:], groups)
        pairs = [values[:, i] - values[:, j] for i in range(4) for j in range(i)]
        each = np.stack(pairs, axis=1)
        joint = joint_test(each, n_draws=999, seed=seed)
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], (999, len(each)))
        p = (1 + (np.abs(signs @ each) >= np.abs(each.sum(axis=0)) - 1e-9).sum(axis=0)) / 1000
        claims += joint.adjusted(float(p.min())) <= 0.05
    assert claims / (N) <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / (N))
