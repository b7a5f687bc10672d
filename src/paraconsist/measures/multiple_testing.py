"""Many tests, one decision: corrected p-values, and the signal-to-noise ratio of accuracies.

Source: Salvatore et al. 2023, "A resampling-based method to evaluate NLI models", section on the IE test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_choice, check_fraction, input_error
from paraconsist.measures._validation import check_rows, check_unmasked, rectangular

Correction: TypeAlias = Literal["bonferroni", "holm"]


@dataclass(frozen=True)
class MultipleTest:
    """Corrected p-values of a family of M tests; arrays have shape (M,)."""

    adjusted: npt.NDArray[np.float64]  # corrected p-values, at most 1; a test is rejected where this is below `alpha`
    rejected: npt.NDArray[np.bool_]  # which of the M hypotheses are rejected
    reject: bool  # the decision for the family: at least one rejected. The same under both corrections
    p_value: float  # the family's: the smallest adjusted one, min(1, M min p)
    alpha: float
    correction: Correction


def correct_p_values(
    p_values: npt.ArrayLike, *, alpha: float = 0.05, correction: Correction = "bonferroni"
) -> MultipleTest:
    """Decide a family of M tests, one p a run, so that any false rejection has probability at most `alpha`.

    The paper rejects the family (the model is not invariant) if any of the M p-values is below alpha / M (Bonferroni).
    Holm's step-down correction takes the same decision for the family and rejects at least the same single runs. The
    correction runs over exactly the p-values given: give all runs that the decision is about.

    >>> family = correct_p_values([0.01, 0.02, 0.04], correction="holm")
    >>> family.rejected.tolist(), family.reject, family.p_value
    ([True, True, True], True, 0.03)
    >>> correct_p_values([0.01, 0.02, 0.04]).rejected.tolist()
    [True, False, False]
    """
    p = _numbers("correct_p_values", "p_values", p_values)
    check_rows("correct_p_values", "p_values", "lie between 0 and 1", p, ~((p >= 0) & (p <= 1)))
    level = check_fraction("correct_p_values", "alpha", alpha)
    check_choice("correct_p_values", "correction", correction, get_args(Correction))
    adjusted = adjusted_p_values(p, correction)
    rejected = adjusted < level
    return MultipleTest(adjusted, rejected, bool(rejected.any()), float(adjusted.min()), level, correction)


def adjusted_p_values(p: npt.NDArray[np.float64], correction: str) -> npt.NDArray[np.float64]:
    """Return p-values corrected for there being several (Holm, Bonferroni, Benjamini and Hochberg), at most 1."""
    if correction == "bonferroni":
        return np.minimum(1.0, p * p.size)
    order = np.argsort(p, kind="stable")
    rank = np.arange(1, p.size + 1)
    if correction == "holm":
        stepped = np.maximum.accumulate(p[order] * rank[::-1])
    else:
        stepped = np.minimum.accumulate((p[order] * p.size / rank)[::-1])[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, stepped)
    return adjusted


def too_few_resamples(n_resamples: int, n_tests: int, alpha: float, *, tails: int = 2) -> bool:
    """Whether 2 / (S + 1) >= alpha / M: S resamples cannot tell a p that would be rejected from 0.

    `tails` is 1 for a statistic without a sign (McNemar's).

    >>> too_few_resamples(1000, 35, 0.05), too_few_resamples(10_000, 35, 0.05)
    (True, False)
    """
    return tails / (n_resamples + 1) >= alpha / n_tests


def signal_to_noise(accuracies: npt.ArrayLike) -> float:
    """Signal-to-noise ratio of the accuracies of several runs, shape (n_runs,), in any one unit (equation 15).

    How steady the accuracy on the original test set is over trainings: the mean over the population standard deviation,
    over all runs at all rates of transformed training rows. Leave no run out: the published figures replace 70 of 175
    runs of three models by later attempts; with the first attempts their 10.7 to 16.7 become 2.5 to 3.4. In [0, inf),
    higher is steadier; nan where it is undefined: one run, or no variation at all.

    >>> print(f"{signal_to_noise([0.8, 0.9]):.1f}")
    17.0
    """
    values = _numbers("signal_to_noise", "accuracies", accuracies)
    spread = float(values.std())
    # equal values may leave a spread of rounding size
    if values.size < 2 or np.ptp(values) == 0:
        return float("nan")
    return float(values.mean()) / spread


def _numbers(function: str, name: str, values: Any) -> npt.NDArray[np.float64]:
    check_unmasked(function, name, values)
    array = rectangular(values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "fiu":
        raise input_error(function, name, "be a list of at least one number", got=values)
    check_rows(function, name, "be finite", array, ~np.isfinite(array))
    return array.astype(np.float64)
