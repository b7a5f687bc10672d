"""Many models at once: corrected p-values of their pairs, and the Pareto table of accuracy against consistency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_choice, input_error
from paraconsist.measures.multiple_testing import ADJUSTMENTS, adjust_p_values
from paraconsist.measures.results import Record

CORRECTIONS = (*ADJUSTMENTS, "none")
"""Corrections for testing several pairs of models: ``"none"`` leaves p as it is."""


def corrected_p_values(p_values: Sequence[float], correction: str = "holm") -> list[float]:
    """Return p-values corrected for there being several; undefined ones (nan) stay so and count for nothing.

    Parameters
    ----------
    p_values : sequence of float
        Of the whole family: every pair of models that is looked at.
    correction : {"holm", "bonferroni", "benjamini_hochberg", "none"}
        Holm's and Bonferroni's bound the chance of any false claim, Benjamini and Hochberg's the expected share
        of false claims among the claims made.

    Examples
    --------
    >>> corrected_p_values([0.01, 0.04, float("nan")])
    [0.02, 0.04, nan]
    """
    check_choice("corrected_p_values", "correction", correction, CORRECTIONS)
    values = np.array(p_values, dtype=np.float64)
    known = np.isfinite(values)
    if correction != "none" and known.any():
        values[known] = adjust_p_values(values[known], correction=correction)
    return [float(value) for value in values]


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
    points: dict[str, npt.NDArray[np.float64]] = {m: np.array([accuracy[m], consistency[m]]) for m in accuracy}
    for name, point in points.items():
        others = [(other, values) for other, values in points.items() if other != name]
        rows.append(
            ParetoRow(
                name,
                float(point[0]),
                float(point[1]),
                [other for other, values in others if (values >= point).all() and (values > point).any()],
                [other for other, values in others if values[0] < point[0] and values[1] > point[1]],
            )
        )
    return sorted(rows, key=lambda row: -row.accuracy if np.isfinite(row.accuracy) else np.inf)
