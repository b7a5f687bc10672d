"""Many models at once: corrected p-values of their pairs, and the Pareto table of accuracy against consistency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from paraconsist.errors import check_choice, input_error
from paraconsist.measures._validation import check_rows, check_unmasked
from paraconsist.measures.multiple_testing import adjusted_p_values
from paraconsist.measures.results import Record

CORRECTIONS = ("holm", "bonferroni", "benjamini_hochberg", "none")
"""Corrections for testing several pairs of models: ``"none"`` leaves p as it is."""


def corrected_p_values(p_values: Sequence[float], correction: str = "holm") -> list[float]:
    """Return p-values corrected for there being several; undefined ones (nan) stay so and count for nothing.

    They are those of the whole family: every pair of models that is looked at. Holm's and Bonferroni's correction bound
    the chance of any false claim, Benjamini and Hochberg's (1995) the expected share of false claims among the claims
    made, for tests that are independent or positively dependent.

    >>> corrected_p_values([0.01, 0.04, float("nan")])
    [0.02, 0.04, nan]
    """
    check_choice("corrected_p_values", "correction", correction, CORRECTIONS)
    check_unmasked("corrected_p_values", "p_values", p_values)
    values = np.array(p_values, dtype=np.float64)
    defined = np.isfinite(values)
    check_rows("corrected_p_values", "p_values", "lie between 0 and 1", values, (values < 0.0) | (values > 1.0))
    if correction != "none" and defined.any():
        values[defined] = adjusted_p_values(values[defined], correction)
    return list(values.tolist())


class PairTest(NamedTuple):
    """What a pair's tests say: the first model's value less the second's, p, and p corrected for all pairs."""

    accuracy: float
    accuracy_p: float
    accuracy_corrected: float
    consistency: float
    consistency_p: float
    consistency_corrected: float

    def reversed(self) -> PairTest:
        """Return the test of the second model against the first."""
        return self._replace(accuracy=-self.accuracy, consistency=-self.consistency)


@dataclass(frozen=True)
class ParetoRow(Record):
    """One model's place among others that are both accurate and consistent."""

    model: str
    accuracy: float
    consistency: float
    #: Models that are better in one beyond chance, corrected for all pairs and both, and not worse in the other beyond
    #: chance, uncorrected: there is no reason to take this one. Empty on the Pareto front.
    dominated_by: list[str]
    #: Models that are less accurate and more consistent, both beyond chance: this one's accuracy was bought with
    #: consistency.
    less_consistent_than_worse: list[str]
    untested: list[str]  # models that this one was not compared with

    @property
    def on_front(self) -> bool:
        """Whether no other model is better beyond chance and in nothing worse."""
        return not self.dominated_by


def pareto_table(
    accuracy: Mapping[str, float],
    consistency: Mapping[str, float],
    tests: Mapping[tuple[str, str], PairTest],
    *,
    alpha: float = 0.05,
) -> list[ParetoRow]:
    """Set accuracy against consistency, the most accurate model first.

    Both are over the same buckets, by model; higher is better. `tests` are every pair that was compared, once;
    undefined p-values show nothing.

    >>> tests = {
    ...     ("a", "b"): PairTest(0.1, 0.001, 0.002, -0.1, 0.02, 0.02),
    ...     ("a", "c"): PairTest(0.2, 0.0001, 0.0002, 0.0, 1.0, 1.0),
    ... }
    >>> for row in pareto_table({"a": 0.9, "b": 0.8, "c": 0.7}, {"a": 0.75, "b": 0.85, "c": 0.75}, tests):
    ...     print(row.model, row.dominated_by, row.less_consistent_than_worse, row.untested)
    a [] ['b'] []
    b [] [] ['c']
    c ['a'] [] ['b']
    """
    if list(accuracy) != list(consistency):
        raise input_error("pareto_table", "consistency", "name the models of `accuracy`", got=list(consistency))
    both = {**tests, **{(two, one): test.reversed() for (one, two), test in tests.items()}}
    rows = []
    for name in accuracy:
        others = {other: both[other, name] for other in accuracy if (other, name) in both}
        better = [other for other, test in others.items() if _beats(test, alpha)]
        bought = [
            other
            for other, t in others.items()
            if t.accuracy < 0.0 < t.consistency and max(t.accuracy_corrected, t.consistency_corrected) <= alpha
        ]
        untested = [other for other in accuracy if other not in (name, *others)]
        rows.append(ParetoRow(name, float(accuracy[name]), float(consistency[name]), better, bought, untested))
    return sorted(rows, key=lambda row: -row.accuracy if np.isfinite(row.accuracy) else np.inf)


def _beats(test: PairTest, alpha: float) -> bool:
    """Return whether the first model is better in one beyond chance, and not worse in the other."""
    axes = (test[:3], test[3:])
    better = [difference > 0.0 and corrected <= alpha for difference, _, corrected in axes]
    worse = [difference < 0.0 and p <= alpha for difference, p, _ in axes]
    return any(better) and not any(worse)
