"""Do two models break a rule equally often, on the rows that count for both?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_whole
from paraconsist.measures.array_types import Integers, Mask
from paraconsist.measures.buckets import MOST_DRAWN, as_mask, check_both, code_columns, partition
from paraconsist.measures.difference_tests import (
    DifferenceTest,
    Joined,
    MarginTest,
    NullTest,
    ScoreTest,
    check_margin,
    margin_test,
    sign_flip_test,
)
from paraconsist.measures.intervals import (
    FEW_UNITS,
    NO_SPREAD,
    Dyads,
    Units,
    design_effects,
    distinct,
    group_columns,
    grouping,
    mean_of_sums,
    standard_errors,
)
from paraconsist.measures.results import Estimates, Result, documented, effect_of, interval_options

_FUNCTION = "inconsistency_difference"


@dataclass(frozen=True, repr=False)
class InconsistencyDifferenceResult(Result):
    """Two models' shares of violations on the rows that count for both; differences are first minus second.

    Attributes
    ----------
    difference : float
        Of the two shares over the common rows, in [-1, 1]; above 0 the first model is *less* consistent.
    p_value : float
        Two-sided: the larger p of the sign-flip permutation test (without groups the exact McNemar test) and of Tango's
        score test at no difference; at most 1 less the confidence level just where the interval excludes 0.
    value1, value2 : float
        Each model's share of violations over the common rows; nan if there are none.
    n_common : int
        Rows that count for both models: all of them, or those whose antecedents both answered right.
    own_value1, own_value2 : float
        Each model's share over its *own* rows, as in its own result: not comparable if these differ.
    n_own1, n_own2, n_rows : int
        The rows that count for each model, and all rows.
    n_only1, n_only2 : int
        Common rows that only the first, and only the second model violates.
    p_value_error : float
        Monte Carlo standard error of the p; 0 where it is exact.
    confidence_interval : dict of str to list of two floats
        Of `difference`: Tango's score interval, with groups at the effective sample size, extended to 0 if the
        permutation test does not reject it.
    standard_error, n_clusters, design_effect : dict of str to float or int
        Of `difference`, by that name.
    margin_test : dict, optional
        Of `difference`, with a margin: `paraconsist.measures.difference_tests.margin_test`.
    """

    difference: float
    p_value: float
    value1: float
    value2: float
    n_common: int
    own_value1: float
    own_value2: float
    n_own1: int
    n_own2: int
    n_rows: int
    n_only1: int
    n_only2: int
    p_value_error: float
    margin_test: MarginTest | None = None


@documented("values that are not true or false, one of `satisfied1` and `satisfied2` alone")
def inconsistency_difference(
    violated1: Any,
    violated2: Any,
    *,
    satisfied1: Any = None,
    satisfied2: Any = None,
    groups: Any = None,
    margin: float | None = None,
    confidence_level: float = 0.95,
    n_permutations: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> InconsistencyDifferenceResult:
    r"""Difference of two models' shares of violations, over the rows that count for both.

    The reader learns whether the first model breaks the rule more often than the second. For transitive and
    additive inconsistency a row counts only if a model answers both antecedents right, so two models' own values
    are over different rows: a model that satisfies only easy antecedents may look better than it is. Here both are
    judged on the rows whose antecedents *both models* answer right.

    .. math:: \Delta = \frac{1}{n} \sum_{i \in S_1 \cap S_2} (v_{1i} - v_{2i}), \qquad n = |S_1 \cap S_2|

    Range [-1, 1]; above 0 the first model is less consistent. Undefined (nan) where no row counts for both.

    Parameters
    ----------
    violated1, violated2 : sequence of bool, shape (n,)
        Whether each model breaks the rule in each row.
    satisfied1, satisfied2 : sequence of bool, shape (n,), optional
        Whether the row counts for each model; by default all do.
    groups : sequence of int or str, shape (n,), or two of them, optional
        Rows that stay together in permutation and determine the effective sample size of the interval. Two columns are
        the members of each row, which rows share crosswise (`paraconsist.measures.intervals.Dyads`): no permutation
        keeps these together, so p and interval are those of the score test with the dyad-robust standard error.
    margin : float, optional
        In (0, 1), a share: tests whether one model is not worse than the other by more than this (non-inferiority) and
        whether the two are equivalent within it.
    confidence_level : float, default 0.95
    n_permutations : int, default 10000
        Where not all assignments can be enumerated. Without groups p is the exact (binomial) McNemar test.
    seed : int or numpy.random.Generator, default 0

    Returns
    -------
    InconsistencyDifferenceResult
        The interval is Tango's score interval, which is safe where few rows or none differ; with `groups` at the
        effective sample size, as Korn and Graubard do for a single share. A difference is rejected where the score test
        rejects it; no difference only where the permutation test does so, too, which is exact and more careful.

    Examples
    --------
    Of six conclusions, four follow for both models; the first denies three of these, the second none:

    >>> result = inconsistency_difference(
    ...     [1, 1, 1, 0, 1, 0], [0, 0, 0, 0, 1, 1], satisfied1=[1, 1, 1, 1, 0, 1], satisfied2=[1, 1, 1, 1, 1, 0]
    ... )
    >>> result.difference, result.n_common, result.p_value
    (0.75, 4, 0.25)
    >>> result.own_value1, result.own_value2
    (0.6, 0.2)
    """
    options = interval_options(_FUNCTION, "auto", confidence_level, 1, seed)
    check_margin(_FUNCTION, margin, options.confidence_level)
    permutations = check_whole(_FUNCTION, "n_permutations", n_permutations, at_most=MOST_DRAWN)
    counts = {"satisfied1": satisfied1, "satisfied2": satisfied2}
    labels = {"violated1": violated1, "violated2": violated2, **(counts if check_both(_FUNCTION, counts) else {})}
    columns = code_columns(_FUNCTION, labels, group_columns(groups)).columns
    masks = {name: as_mask(_FUNCTION, name, columns[name]) for name in labels}
    first, second = masks["violated1"], masks["violated2"]
    everything = np.ones(len(first), dtype=np.bool_)
    counted = [masks.get(name, everything) for name in counts]
    common = counted[0] & counted[1]
    own = [float(v[c].mean()) if c.any() else float("nan") for v, c in zip((first, second), counted, strict=True)]
    grouped = grouping(_FUNCTION, columns)
    unit = "row" if grouped is None else "group"
    within: Dyads | Integers | None = None
    if isinstance(grouped, Dyads):
        unit, within = "dyad", grouped.where(common)
    elif grouped is not None and common.any():
        within = partition(partition(grouped).codes[common]).codes
    estimates = Estimates(options, unit)
    values, test = _compare(estimates, first[common], second[common], within, permutations, margin)
    lost: list[int] = [int(np.count_nonzero(mask & ~common)) for mask in counted]
    if common.any() and any(lost):
        estimates.warn(f"{lost[0]} and {lost[1]} rows count for one model only and are excluded from the comparison")
    return InconsistencyDifferenceResult(
        own_value1=own[0],
        own_value2=own[1],
        n_own1=int(counted[0].sum()),
        n_own2=int(counted[1].sum()),
        n_common=int(common.sum()),
        n_rows=len(first),
        **estimates.fields(
            values,
            avg="row",
            population="all" if satisfied1 is None else "both-models-antecedents-right",
            p=test,
            unparsed="refused",
            ci=f"{estimates.unit}-tango",
            seed=options.seed_name,
        ),
    )


def _compare(
    estimates: Estimates,
    first: Mask,
    second: Mask,
    groups: Integers | Dyads | None,
    n_permutations: int,
    margin: float | None,
) -> tuple[dict[str, object], str]:
    """Return the values of the difference over rows that count for both, and the test's name."""
    n, n10, n01 = len(first), int(np.count_nonzero(first & ~second)), int(np.count_nonzero(second & ~first))
    nan = float("nan")
    if n == 0:
        estimates.put("difference", (nan, nan), nan, 0, nan)
        estimates.warn("no row counts for both models: undefined, so nan: difference")
        values = dict.fromkeys(("difference", "p_value", "value1", "value2", "p_value_error"), nan)
        return {**values, "n_only1": 0, "n_only2": 0}, "sign-flip-none"
    counts, point, level = (n, n10, n01), (n10 - n01) / n, estimates.options.confidence_level
    tests: list[DifferenceTest]
    p, p_error, n_units = 1.0, 0.0, n
    if isinstance(groups, Dyads):
        change = first.astype(np.float64) - second
        error, freedom = groups.standard_error(change)
        effect = effect_of(error, float(np.sqrt(change.var() / (n - 1))) if n > 1 else nan)
        tests = [] if np.isnan(error) else _score_tests(counts, groups.n_apart, effect, error, freedom)
        n_units, method = groups.n_members, "score-dyadic"
    else:
        rows = _units(first, second, np.arange(n))
        units = rows if groups is None else _units(first, second, groups)
        rng = np.random.default_rng(estimates.options.entropy)
        sums = units.sums[:, [0, 1]], units.sums[:, [0, 2]]
        flips = sign_flip_test(*sums, units.multiplicity, mean_of_sums, n_permutations, rng)
        error = float(standard_errors(units, _difference)[0])
        effect = float(design_effects(units, rows, _difference)[0])
        p, p_error = float(flips.p_value[0]), float(flips.error[0])
        n_units, method = units.n, f"sign-flip-{flips.method}"
        freedom = max(1.0, units.effective_n - 1.0)
        tests = [] if n_units == 1 else [NullTest(point, p), *_score_tests(counts, n_units, effect, error, freedom)]
    interval, margins = [nan, nan], {}
    if not tests:
        reason = "every two rows share a member" if isinstance(groups, Dyads) else "one unit"
        estimates.warn(f"{reason}: no interval, and a p-value of 1")
    else:
        test = Joined(tests)
        low, high = test.interval(level)
        interval, p = [min(low, point), max(high, point)], test.p_at(0.0)
        if margin is not None:
            margins["margin_test"] = margin_test(test, point, margin, level, up_is_good=False)
        if n_units < FEW_UNITS:
            estimates.warn(f"only {n_units} units: the interval is rough")
    estimates.put("difference", interval, error, n_units, effect)
    return {
        "difference": point,
        "p_value": p,
        "p_value_error": p_error,
        "value1": float(first.mean()),
        "value2": float(second.mean()),
        "n_only1": n10,
        "n_only2": n01,
        **margins,
    }, method


def _units(first: Mask, second: Mask, groups: Integers) -> Units:
    size = np.bincount(groups)
    one, two = (np.bincount(groups[mask], minlength=len(size)) for mask in (first, second))
    index, _, multiplicity = distinct(size, one, two)
    return Units.of(np.stack([size, one, two], axis=1)[index].astype(np.float64), multiplicity)


def _difference(total: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.asarray((total[..., 1:2] - total[..., 2:3]) / total[..., :1])


def _score_tests(
    counts: tuple[int, int, int], n_units: int, effect: float, error: float, freedom: float
) -> list[DifferenceTest]:
    """Return Tango's test at the effective sample size: rows over the design effect, and never more than all rows.

    `counts` are the rows, and those that only the first and only the second model violates.
    """
    n, n10, n01 = counts
    if n_units == n:
        return [ScoreTest(n, n10, n01)]
    if error <= NO_SPREAD or np.isnan(effect):
        weight = n_units / n  # no spread between units: each counts once
        return [ScoreTest(weight * n, weight * n10, weight * n01)]
    return [ScoreTest(n, n10, n01), ScoreTest(n / effect, n10 / effect, n01 / effect, freedom)]
