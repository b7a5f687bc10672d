"""The methods of the IE test: their options, and what each says of every run, over items or over groups of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from paraconsist.errors import check_choice, check_fraction, check_whole, input_error
from paraconsist.measures._validation import MOST_DRAWN, Integers, as_generator
from paraconsist.measures.buckets import partition_integers
from paraconsist.measures.grouped_tests import (
    DRAWS,
    group_differences,
    grouped_difference,
    grouped_exact_p_value,
    grouped_mcnemar_p_value,
    grouped_mcnemar_resampled_p_value,
    grouped_mcnemar_statistic,
    grouped_resampled_p_value,
    grouped_statistic,
    is_exact,
)
from paraconsist.measures.multiple_testing import Correction
from paraconsist.measures.paired_resampling import mcnemar_resampled_p_value, resampled_p_value
from paraconsist.measures.paired_tests import (
    FloatArray,
    IntArray,
    Ties,
    exact_p_value,
    mcnemar_p_value,
    mcnemar_statistic,
    paired_difference_interval,
    paired_statistic,
)

Method: TypeAlias = Literal[
    "exact", "paper", "replay", "mcnemar", "mcnemar_mid_p", "mcnemar_resampled", "mcnemar_replay"
]
METHODS: tuple[str, ...] = get_args(Method)
TAILS = {"paper": 2, "replay": 2, "mcnemar_resampled": 1, "mcnemar_replay": 1}
"""Of the methods that resample: how many tails their p adds up."""

REPLAYS = ("replay", "mcnemar_replay")


@dataclass(frozen=True)
class Options:
    """Checked options of the IE test."""

    method: Method
    ties: Ties | None
    n_resamples: int
    seed: Any
    generator: np.random.Generator
    alpha: float
    correction: Correction
    confidence_level: float

    @property
    def is_mcnemar(self) -> bool:
        """Whether the statistic is McNemar's."""
        return self.method.startswith("mcnemar")


def checked_options(
    function: str,
    method: Method,
    ties: Ties | None,
    n_resamples: int,
    seed: int | np.random.Generator,
    alpha: float,
    correction: Correction,
    confidence_level: float,
) -> Options:
    """Return the options, or raise an `InputError` that names the one which is wrong."""
    check_choice(function, "method", method, METHODS)
    check_choice(function, "correction", correction, get_args(Correction))
    if method == "exact":
        ties = "mid" if ties is None else ties
        check_choice(function, "ties", ties, get_args(Ties))
    elif ties is not None:
        raise input_error(function, "ties", "be left out unless `method` is 'exact'", got=ties)
    if method in REPLAYS:
        check_whole(function, "seed", seed, at_least=0, at_most=None)
    generator = as_generator(function, "seed", seed)
    total = check_whole(function, "n_resamples", n_resamples, at_most=MOST_DRAWN)
    level = check_fraction(function, "confidence_level", confidence_level)
    alpha = check_fraction(function, "alpha", alpha)
    return Options(method, ties, total, seed, generator, alpha, correction, level)


@dataclass(frozen=True)
class Evidence:
    """What a method says of M runs; arrays have shape (M,)."""

    p_values: FloatArray
    statistics: FloatArray
    low: FloatArray  # The ends of the intervals of the accuracy lost.
    high: FloatArray
    is_still: Any  # where nothing changed, so that the statistic is undefined
    unit: str = "item"  # or "group": what is swapped
    n_draws: int = 0  # by how many draws a p was found that is exact elsewhere; 0 where none was
    n_groups: IntArray | None = None  # of the groups, as the next two; None without
    standard_errors: FloatArray | None = None
    design_effects: FloatArray | None = None

    def uncertainty(self, name: str) -> dict[str, Any]:
        """Return what a `Result` says of the groups of the value of this name."""
        if self.n_groups is None or self.standard_errors is None or self.design_effects is None:
            return {}
        return {
            "n_clusters": {name: int(self.n_groups.sum())},
            "standard_error": {name: float(self.standard_errors.mean())},
            "design_effect": {name: float(self.design_effects.mean())},
        }


def by_items(
    n: IntArray, n10: IntArray, n01: IntArray, options: Options, p_values: FloatArray | None = None
) -> Evidence:
    """Test every run by its counts, each of shape (M,); replays, which need rows, come with their `p_values`."""
    if p_values is not None:
        p = p_values
    elif options.method == "exact":
        p = exact_p_value(n, n10, n01, ties=options.ties or "mid")
    elif options.method in ("mcnemar", "mcnemar_mid_p"):
        p = mcnemar_p_value(n10, n01, mid_p=options.method == "mcnemar_mid_p")
    else:
        resampled = resampled_p_value if options.method == "paper" else mcnemar_resampled_p_value
        p = resampled(n, n10, n01, n_resamples=options.n_resamples, rng=options.generator)
    statistics = mcnemar_statistic(n10, n01) if options.is_mcnemar else paired_statistic(n, n10, n01)
    low, high = paired_difference_interval(n, n10, n01, confidence_level=options.confidence_level)
    return Evidence(p, statistics, low, high, n10 + n01 == 0)


def by_groups(changes: Sequence[tuple[Integers, Integers]], options: Options) -> Evidence:
    """Test every run by what changed in its items, 1 where only the original is right, -1 where only the other, else 0.

    `changes` has for each run that, and the items' groups as integers; both of shape (n,).
    """
    runs = [(change, partition_integers(groups).codes) for change, groups in changes]
    differences = [group_differences(*run) for run in runs]
    statistic = grouped_mcnemar_statistic if options.is_mcnemar else grouped_statistic
    parts = [
        grouped_difference(
            np.bincount(codes[change == 1], minlength=len(k)),
            np.bincount(codes[change == -1], minlength=len(k)),
            np.bincount(codes),
            options.confidence_level,
        )
        for (change, codes), k in zip(runs, differences, strict=True)
    ]
    low, high = np.array([interval for interval, *_ in parts]).T
    drawn = options.method == "exact" and not all(map(is_exact, differences))
    return Evidence(
        np.array([_grouped_p_value(k, options) for k in differences]),
        np.array([statistic(k) for k in differences]),
        low,
        high,
        np.array([not k.any() for k in differences]),
        "group",
        DRAWS if drawn else 0,
        np.array([len(k) for k in differences]),
        np.array([error for _, error, _ in parts]),
        np.array([effect for *_, effect in parts]),
    )


def _grouped_p_value(differences: IntArray, options: Options) -> float:
    if options.method == "exact":
        return grouped_exact_p_value(differences, ties=options.ties or "mid", rng=options.generator)
    if options.method in ("mcnemar", "mcnemar_mid_p"):
        return grouped_mcnemar_p_value(differences, mid_p=options.method == "mcnemar_mid_p")
    resampled = grouped_resampled_p_value if options.method == "paper" else grouped_mcnemar_resampled_p_value
    return resampled(differences, n_resamples=options.n_resamples, rng=options.generator)
