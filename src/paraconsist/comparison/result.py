"""What comparisons of two models return."""

from __future__ import annotations

from dataclasses import dataclass

from paraconsist.results import Result

__all__ = ["ConsistencyDifferenceResult", "InconsistencyDifferenceResult"]


@dataclass(frozen=True)
class ConsistencyDifferenceResult(Result):
    """Two models on the same buckets; differences are first minus second.

    Attributes
    ----------
    difference : float
        Of paraphrastic consistency by the asked estimator, in [-1, 1]; above 0 the first model is more
        consistent.
    p_value : float
        Two-sided sign-flip permutation p of `difference`.
    n_buckets, n_examples : int
        What the two are compared over.
    values1, values2 : dict of str to float
        Each model's measures (those of `paraconsist.paraphrastic.paraphrastic_consistency`).
    differences, p_values : dict of str to float
        The difference and its p for every measure; not corrected for there being several.
    p_value_error : dict of str to float
        Monte Carlo standard error of each p; 0 where it is exact.
    confidence_interval : dict of str to list of two floats
        Of `difference` and of every entry of `differences`.
    standard_error : dict of str to float
        Closed form, of paired differences, cluster-robust.
    n_clusters : dict of str to int
        The independent units behind each difference: groups, or buckets without `groups`.
    design_effect : dict of str to float
        Variance of each difference over what it would be if buckets were independent: 1 without `groups`.
    signature : str
    warnings : tuple of str
    """

    difference: float
    p_value: float
    n_buckets: int
    n_examples: int
    values1: dict[str, float]
    values2: dict[str, float]
    differences: dict[str, float]
    p_values: dict[str, float]
    p_value_error: dict[str, float]
    confidence_interval: dict[str, list[float]]
    standard_error: dict[str, float]
    n_clusters: dict[str, int]
    design_effect: dict[str, float]
    signature: str
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class InconsistencyDifferenceResult(Result):
    """Two models' shares of violations on the rows that count for both; differences are first minus second.

    Attributes
    ----------
    difference : float
        Of the two shares over the common rows, in [-1, 1]; above 0 the first model is *less* consistent.
    p_value : float
        Two-sided sign-flip permutation p; without groups the exact McNemar test.
    value1, value2 : float
        Each model's share of violations over the common rows; nan if there are none.
    n_common : int
        Rows that count for both models: all of them, or those whose antecedents both answered right.
    own_value1, own_value2 : float
        Each model's share over its *own* rows, as it stands in its own result: not comparable where these
        differ.
    n_own1, n_own2, n_rows : int
        The rows that count for each model, and all rows.
    n_only1, n_only2 : int
        Common rows that only the first, and only the second model violates.
    p_value_error : float
        Monte Carlo standard error of the p; 0 where it is exact.
    confidence_interval : dict of str to list of two floats
        Of `difference`: Tango's score interval, with groups at the effective sample size.
    standard_error, n_clusters, design_effect : dict of str to float or int
        Of `difference`, by that name.
    signature : str
    warnings : tuple of str
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
    confidence_interval: dict[str, list[float]]
    standard_error: dict[str, float]
    n_clusters: dict[str, int]
    design_effect: dict[str, float]
    signature: str
    warnings: tuple[str, ...]
