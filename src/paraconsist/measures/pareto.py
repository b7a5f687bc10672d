"""Many models at once: corrected p-values of their pairs, and the Pareto table of accuracy against consistency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from paraconsist.errors import check_choice, input_error
from paraconsist.measures._validation import check_rows, check_unmasked
from paraconsist.measures.multiple_testing import adjusted_p_values
from paraconsist.measures.results import Record

CORRECTIONS = ("holm", "bonferroni", "benjamini_hochberg", "none")
"""Corrections for testing several pairs of models: ``"none"`` leaves p as it is."""


def corrected_p_values(p_values: Sequence[float], correction: str = "holm") -> list[float]:
    """Return p-values corrected for there being several; undefined ones (nan) stay so and count for nothing.

    Parameters
    ----------
    p_values : sequence of float
        Of the whole family: every pair of models that is looked at.
    correction : {"holm", "bonferroni", "benjamini_hochberg", "none"}
        Holm's and Bonferroni's bound the chance of any false claim, Benjamini and Hochberg's (1995) the expected share
        of false claims among the claims made, for tests that are independent or positively dependent.

    Examples
    --------
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


@dataclass(frozen=True)
class ParetoRow(Record):
    """One model's place among others that are both accurate and consistent.

    Attributes
    ----------
    model : str
    accuracy, consistency : float
    dominated_by : list of str
        Models at least as accurate *and* as consistent, and better in one: there is no reason to take this one.
        Empty on the Pareto front.
    less_consistent_than_worse : list of str
        Models of lower accuracy that are more consistent: this one's accuracy was bought with consistency.
    """

    model: str
    accuracy: float
    consistency: float
    dominated_by: list[str]
    less_consistent_than_worse: list[str]

    @property
    def on_front(self) -> bool:
        """Whether no other model is at least as good in both."""
        return not self.dominated_by


def pareto_table(accuracy: Mapping[str, float], consistency: Mapping[str, float]) -> list[ParetoRow]:
    """Set accuracy against consistency, the most accurate model first.

    Point values alone: whether a difference is more than chance, the pairs' intervals say. Undefined values
    compare with nothing.

    Parameters
    ----------
    accuracy, consistency : mapping of model to float
        Both over the same buckets; higher is better.

    Returns
    -------
    list of ParetoRow

    Examples
    --------
    >>> for row in pareto_table({"a": 0.9, "b": 0.8, "c": 0.7}, {"a": 0.75, "b": 0.85, "c": 0.7}):
    ...     print(row.model, row.dominated_by, row.less_consistent_than_worse)
    a [] ['b']
    b [] []
    c ['a', 'b'] []
    """
    if list(accuracy) != list(consistency):
        raise input_error("pareto_table", "consistency", "name the models of `accuracy`", got=list(consistency))
    rows = []
    for name, point in ((name, (accuracy[name], consistency[name])) for name in accuracy):
        others = {other: (accuracy[other], consistency[other]) for other in accuracy if other != name}
        better = [m for m, (a, c) in others.items() if a >= point[0] and c >= point[1] and (a, c) != point]
        bought = [m for m, (a, c) in others.items() if a < point[0] and c > point[1]]
        rows.append(ParetoRow(name, float(point[0]), float(point[1]), better, bought))
    return sorted(rows, key=lambda row: -row.accuracy if np.isfinite(row.accuracy) else np.inf)
