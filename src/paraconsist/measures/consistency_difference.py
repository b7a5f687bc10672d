"""Is one model more consistent than another on the same paraphrases?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paraconsist.errors import check_choice, check_whole
from paraconsist.measures.array_types import Floats, Integers, Whole
from paraconsist.measures.buckets import MOST_DRAWN, BucketCounts, partition
from paraconsist.measures.difference_tests import (
    METHODS,
    Compared,
    DifferenceTest,
    MarginTest,
    PairedDifferences,
    check_margin,
    margin_test,
    paired_differences,
)
from paraconsist.measures.intervals import FEW_UNITS, distinct, mean_of_sums, sums_by_group
from paraconsist.measures.paraphrastic import (
    MEASURES,
    NOT_MEANS,
    PAIRS,
    RANGES,
    ROWS,
    UNBIASED,
    bucket_sums,
    check_input,
    measures_of_sums,
)
from paraconsist.measures.results import UNCERTAINTY, Estimates, IntervalSettings, Result, documented, interval_options
from paraconsist.measures.standings import UnitValues

_FUNCTION = "consistency_difference"
_ESTIMATORS = {"unbiased": "paraphrastic_consistency_unbiased", "plugin": "paraphrastic_consistency"}
_ORIGINALS = "original_accuracy"
_WITHIN, _DIFFER = 5, 7  # columns of `bucket_sums`: what the plug-in and the unbiased P_C fall short of 1 by
_DENOMINATORS = {"accuracy": ROWS, **dict.fromkeys(UNBIASED.values(), PAIRS)}  # others are means over all buckets


@dataclass(frozen=True, repr=False)
class ConsistencyDifferenceResult(Result):
    """Two models on the same buckets; differences are first minus second.

    Attributes
    ----------
    difference : float
        Of paraphrastic consistency by the asked estimator, in [-1, 1]; above 0 the first model is more
        consistent.
    p_value : float
        Two-sided sign-flip permutation p of `difference`; at most 1 less the confidence level just where the interval
        excludes 0.
    n_buckets, n_examples : int
        What the two are compared over.
    values1, values2 : dict of str to float
        Each model's measures (those of `paraconsist.measures.paraphrastic.paraphrastic_consistency`).
    differences, p_values : dict of str to float
        The difference and its p for every measure; not corrected for there being several. `paraconsist.compare` adds
        `wording_change`.
    p_value_error : dict of str to float
        Monte Carlo standard error of each p; 0 where it is exact.
    confidence_interval, standard_error, n_clusters, design_effect : dict of str
        Of `difference` and of every entry of `differences`; the independent units are groups, or buckets.
    margin_test : dict, optional
        Of `difference`, with a margin: `paraconsist.measures.difference_tests.margin_test`.
    test : DifferenceTest, optional
        What `p_value` and the interval of `difference` come from: it gives p at any difference and the interval at any
        level. It is not among the plain values of `to_dict`.
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
    margin_test: MarginTest | None = None
    test: DifferenceTest | None = field(default=None, repr=False, compare=False)


@documented("gold labels (or groups) that differ within a bucket, unknown roles")
def consistency_difference(
    predictions1: Any,
    predictions2: Any,
    references: Any,
    buckets: Any,
    *,
    roles: Sequence[str] | None = None,
    groups: Any = None,
    estimator: str = "unbiased",
    margin: float | None = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    n_permutations: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> ConsistencyDifferenceResult:
    r"""Difference of two models' paraphrastic consistency on the same buckets, with interval and p-value.

    The reader learns whether the first model's answers depend less on the wording than the second's, beyond
    what these buckets would show by chance. Because both answer the same buckets, what is hard for both cancels:
    the interval is narrower than the two single ones suggest.

    .. math:: \Delta = P_C(1) - P_C(2) = \frac{1}{B} \sum_b (f_{1b} - f_{2b})

    with f the chance that two different paraphrases of bucket b are both right or both wrong. Range [-1, 1];
    above 0 the first model is more consistent. Undefined (nan) where no bucket has two paraphrases. Every other
    measure of `paraconsist.measures.paraphrastic.paraphrastic_consistency` is compared as well.

    Parameters
    ----------
    predictions1, predictions2 : sequence of int or str, shape (n,)
        The two models' labels for the same rows, in the same order.
    references, buckets, roles
        As for `paraconsist.measures.paraphrastic.paraphrastic_consistency`.
    groups : sequence of int or str, shape (n,), optional
        What stays together in resampling and permutation, one group per bucket (e.g. a shared premise).
    estimator : {"unbiased", "plugin"}
        Which P_C is the headline. The published (plug-in) one counts each paraphrase as a pair with itself,
        which shrinks differences: by 1/k for k paraphrases.
    margin : float, optional
        In (0, 1), a share: tests whether one model is not worse than the other by more than this (non-inferiority) and
        whether the two are equivalent within it.
    interval_method : {"auto", "sign_flip", "closed_form"}
        The test that p and interval both come from: the permutation test and its inversion (the default), or t with
        cluster-robust standard errors. The former keeps its level, and its interval covers, also in few and unequal
        groups (``benchmarks/test_size.py``); below six units it rejects nothing at .05, and its interval is the range.
    confidence_level : float, default 0.95
    n_resamples : int, default 10000
        Random assignments that the ends of the interval are found from, where not all can be enumerated.
    n_permutations : int, default 10000
        Of the permutation test, where not all assignments can be enumerated.
    seed : int or numpy.random.Generator, default 0

    Notes
    -----
    Where fewer than twenty units and less than half of them differ, a difference is rejected only if Tango's score test
    at the effective sample size rejects it as well: few signs are little evidence of the size of a rare difference.

    References
    ----------
    The measure: Srikanth, Carpuat, Rudinger (2024), TACL, equation 2. The test: Fisher's randomisation test of
    paired differences; its inversion: Hartigan (1969), JASA 64.

    Examples
    --------
    Six problems of two paraphrases; the first model never changes its mind, the second always does:

    >>> result = consistency_difference(
    ...     predictions1=[1] * 12,
    ...     predictions2=[1, 0] * 6,
    ...     references=[1] * 12,
    ...     buckets=[i // 2 for i in range(12)],
    ... )
    >>> result.difference, result.p_value, result.n_buckets
    (1.0, 0.03125, 6)
    """
    check_choice(_FUNCTION, "estimator", estimator, _ESTIMATORS)
    options = interval_options(_FUNCTION, interval_method, confidence_level, n_resamples, seed, METHODS)
    check_margin(_FUNCTION, margin, options.confidence_level)
    permutations = check_whole(_FUNCTION, "n_permutations", n_permutations, at_most=MOST_DRAWN)
    models = {"predictions1": predictions1, "predictions2": predictions2}
    checked = check_input(_FUNCTION, models, references, buckets, roles, groups)
    estimates = Estimates(options, "bucket" if checked.groups is None else "group")
    paired = _over_buckets(options, checked.counts, checked.groups, permutations)
    parts = [(MEASURES, paired)]
    if checked.originals is not None and len(checked.originals.correct[0]):
        (first, second), dense = checked.originals
        dense = None if dense is None else partition(dense).codes
        parts.append(((_ORIGINALS,), _of_shares(options, _ORIGINALS, first, second, dense, permutations)))
    for i, model in enumerate(checked.counts, 1):
        if (model.same_label == model.size**2).all() and np.count_nonzero(model.size > 1) >= FEW_UNITS:
            estimates.warn(f"no prediction of model {i} differs within any bucket: was it given each row's own text?")
    sizes = len(checked.counts[0]), int(checked.counts[0].size.sum())
    said = {"est": estimator, "orig": "among-paraphrases" if roles is None else "apart"}
    return _result(estimates, parts, _ESTIMATORS[estimator], sizes, margin, up_is_good=True, **said)


def share_difference(
    name: str,
    first: Floats,
    second: Floats,
    groups: Integers | None = None,
    *,
    n_examples: int,
    margin: float | None = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    n_permutations: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> ConsistencyDifferenceResult:
    """Compare two models by a share that each bucket has, in [0, 1], of which less is good; the headline is its mean.

    `first` and `second`, shape (n_buckets,), are the models' shares, `groups` codes of what stays together, and
    `n_examples` the rows of the buckets. The rest is as in `consistency_difference`.
    """
    options = interval_options(f"{name}_difference", interval_method, confidence_level, n_resamples, seed, METHODS)
    check_margin(options.function, margin, options.confidence_level)
    estimates = Estimates(options, "bucket" if groups is None else "group")
    paired = _of_shares(options, name, first, second, groups, n_permutations)
    return _result(estimates, [((name,), paired)], name, (len(first), n_examples), margin, up_is_good=False)


def _result(
    estimates: Estimates,
    parts: Sequence[tuple[Sequence[str], PairedDifferences]],
    headline: str,
    sizes: tuple[int, int],
    margin: float | None,
    *,
    up_is_good: bool,
    **said: str,
) -> ConsistencyDifferenceResult:
    """Return the measures of the parts as a result; `sizes` are buckets and rows, `said` what its signature says."""
    names = ("values1", "values2", "differences", "p_values", "p_value_error")
    tables: dict[str, dict[str, float]] = {name: {} for name in names}
    for measures, part in parts:
        columns = (part.first, part.second, part.first - part.second, part.p_value, part.p_value_error)
        for table, values in zip(tables.values(), columns, strict=True):
            table.update(zip(measures, values.tolist(), strict=True))
        estimates.add(measures, part.interval, part.n_units, part.design_effect.tolist())
    measures, paired = parts[0]
    if (n := paired.n_units) == 1:
        estimates.warn("one unit: no interval, and a p-value of 1")
    elif n < FEW_UNITS:
        estimates.warn(f"only {n} units: intervals are rough, and no p-value is below {2.0 ** (1 - n):.2g}")
    estimates.note_undefined(tables["differences"])
    seed = estimates.options.seed_name
    said = {**said, "avg": "bucket", "p": paired.p_method, "unparsed": "refused"}
    fields = estimates.fields(tables, paired.interval.method, **said, seed=seed)
    test, difference = paired.tests[measures.index(headline)], tables["differences"][headline]
    if margin is not None and test is not None:
        level = estimates.options.confidence_level
        fields["margin_test"] = margin_test(test, difference, margin, level, up_is_good=up_is_good)
    for name in UNCERTAINTY:
        fields[name] = {"difference": fields[name][headline], **fields[name]}
    p_value = tables["p_values"][headline]
    return ConsistencyDifferenceResult(
        difference=difference, p_value=p_value, n_buckets=sizes[0], n_examples=sizes[1], test=test, **fields
    )


def unit_values(
    predictions: Mapping[str, object],
    references: Any,
    buckets: Any,
    *,
    roles: Sequence[str] | None = None,
    groups: Any = None,
    estimator: str = "unbiased",
) -> UnitValues:
    """Return what each bucket (group) adds to each model's P_C, in any scale; `predictions` are by model."""
    checked = check_input(_FUNCTION, predictions, references, buckets, roles, groups)
    column = _DIFFER if estimator == "unbiased" else _WITHIN
    short = np.stack([bucket_sums(counts)[:, column] for counts in checked.counts], axis=1)
    return UnitValues(-short if checked.groups is None else -sums_by_group(short, checked.groups))


def _over_buckets(
    options: IntervalSettings, counts: list[BucketCounts], groups: Integers | None, n_permutations: int
) -> PairedDifferences:
    first, second = counts
    index, pattern, _ = distinct(first.size, first.correct, first.same_label, second.correct, second.same_label)
    sums = bucket_sums(first.take(index)), bucket_sums(second.take(index))
    compared = [
        Compared(name, high - low, name not in NOT_MEANS, _DENOMINATORS.get(name, 0))
        for name, (low, high) in RANGES.items()
    ]
    return paired_differences(options, *sums, pattern, groups, measures_of_sums, compared, n_permutations)


def _of_shares(
    options: IntervalSettings,
    name: str,
    first: Floats | Whole,
    second: Floats | Whole,
    groups: Integers | None,
    n_permutations: int,
) -> PairedDifferences:
    """Compare the means of two models' shares, each of shape (n,)."""
    shares, pattern = np.unique(np.stack([first, second], axis=1), axis=0, return_inverse=True)
    one, two = (np.stack([np.ones(len(shares)), column], axis=1) for column in shares.T)
    compared = [Compared(name, 1.0)]
    return paired_differences(options, one, two, pattern, groups, mean_of_sums, compared, n_permutations)
