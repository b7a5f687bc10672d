"""Is one model more consistent than another on the same paraphrases?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_choice, check_whole
from paraconsist.measures._estimates import Estimates, interval_options
from paraconsist.measures._paraphrastic_counts import (
    MEASURES,
    NOT_MEANS,
    RANGES,
    bucket_sums,
    check_input,
    measures_of_sums,
)
from paraconsist.measures._validation import Integers
from paraconsist.measures.buckets import BucketCounts, partition
from paraconsist.measures.intervals import FEW_UNITS, Intervals
from paraconsist.measures.resampling import Estimate, Floats, Units, design_effects, distinct, group_units, mean_of_sums
from paraconsist.measures.results import UNCERTAINTY, Result
from paraconsist.measures.sign_flip import SignFlip, sign_flip_test

_FUNCTION = "consistency_difference"
_ESTIMATORS = {"unbiased": "paraphrastic_consistency_unbiased", "plugin": "paraphrastic_consistency"}
_ORIGINALS = "original_accuracy"


@dataclass(frozen=True, repr=False)
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
        Each model's measures (those of `paraconsist.measures.paraphrastic.paraphrastic_consistency`).
    differences, p_values : dict of str to float
        The difference and its p for every measure; not corrected for there being several.
    p_value_error : dict of str to float
        Monte Carlo standard error of each p; 0 where it is exact.
    confidence_interval, standard_error, n_clusters, design_effect : dict of str
        Of `difference` and of every entry of `differences`; the independent units are groups, or buckets.
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


def consistency_difference(
    predictions1: Any,
    predictions2: Any,
    references: Any,
    buckets: Any,
    *,
    roles: Sequence[str] | None = None,
    groups: Any = None,
    estimator: str = "unbiased",
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
    interval_method : {"auto", "bootstrap", "closed_form"}
        Of paired differences, over buckets or groups.
    confidence_level : float, default 0.95
    n_resamples : int, default 10000
        Of the bootstrap.
    n_permutations : int, default 10000
        Of the permutation test, where not all assignments can be enumerated.
    seed : int or numpy.random.Generator, default 0

    Returns
    -------
    ConsistencyDifferenceResult
        Undefined values are nan and named in `warnings`; nothing is printed.

    Raises
    ------
    InputError
        For empty, missing, mixed or unequally long input, gold labels (or groups) that differ within a bucket,
        unknown roles, and options outside their range.

    References
    ----------
    The measure: Srikanth, Carpuat, Rudinger (2024), TACL, equation 2. The test: Fisher's randomisation test of
    paired differences.

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
    options = interval_options(_FUNCTION, interval_method, confidence_level, n_resamples, seed)
    permutations = check_whole(_FUNCTION, "n_permutations", n_permutations)
    models = {"predictions1": predictions1, "predictions2": predictions2}
    checked = check_input(_FUNCTION, models, references, buckets, roles, groups)
    estimates = Estimates(options, "bucket" if checked.groups is None else "group")
    paired = _over_buckets(estimates, checked.counts, checked.groups, permutations)
    parts = [(MEASURES, paired)]
    if checked.originals is not None and len(checked.originals.correct[0]):
        originals = _on_rows(estimates, checked.originals.correct, checked.originals.groups, permutations)
        parts.append(((_ORIGINALS,), originals))

    names = ("values1", "values2", "differences", "p_values", "p_value_error")
    tables: dict[str, Any] = {name: {} for name in names}
    for measures, one in parts:
        columns = (one.first, one.second, one.first - one.second, one.test.p_value, one.test.error)
        for table, values in zip(tables.values(), columns, strict=True):
            table.update(zip(measures, values.tolist(), strict=True))
        estimates.add(measures, one.interval, one.n_units, one.design_effect.tolist())
    _warn(estimates, checked.counts, paired.n_units)
    estimates.note_undefined(tables["differences"])
    fields = estimates.fields(
        paired.interval.method,
        est=estimator,
        avg="bucket",
        orig="among-paraphrases" if roles is None else "apart",
        p=f"sign-flip-{paired.test.method}",
        unparsed="refused",
        seed=options.seed_name,
    )
    headline = _ESTIMATORS[estimator]
    for name in UNCERTAINTY:
        fields[name] = {"difference": fields[name][headline], **fields[name]}
    return ConsistencyDifferenceResult(
        difference=tables["differences"][headline],
        p_value=tables["p_values"][headline],
        n_buckets=len(checked.counts[0]),
        n_examples=int(checked.counts[0].size.sum()),
        **tables,
        **fields,
    )


def _warn(estimates: Estimates, counts: list[BucketCounts], n_units: int) -> None:
    warn = estimates.warnings.append
    for i, model in enumerate(counts, 1):
        if (model.same_label == model.size**2).all() and np.count_nonzero(model.size > 1) >= FEW_UNITS:
            same = f"no prediction of model {i} differs within any bucket"
            warn(f"{same}: was it given the paraphrases or the originals?")
    if n_units == 1:
        warn("one unit: no interval, and a p-value of 1")
    elif n_units < FEW_UNITS:
        warn(f"only {n_units} units: intervals are rough, and no p-value is below {2.0 ** (1 - n_units):.2g}")


def _over_buckets(
    estimates: Estimates, counts: list[BucketCounts], groups: Integers | None, n_permutations: int
) -> _Paired:
    first, second = counts
    index, pattern, _ = distinct(first.size, first.correct, first.same_label, second.correct, second.same_label)
    sums = bucket_sums(first.take(index)), bucket_sums(second.take(index))
    are_means = [name not in NOT_MEANS for name in MEASURES]
    ranges = list(RANGES.values())
    return _paired_differences(estimates, *sums, pattern, groups, measures_of_sums, ranges, are_means, n_permutations)


def _on_rows(
    estimates: Estimates, rights: list[npt.NDArray[np.int64]], groups: Integers | None, n_permutations: int
) -> _Paired:
    index, pattern, _ = distinct(*rights)
    one, two = (np.stack([np.ones(len(index)), right[index]], axis=1) for right in rights)
    dense = None if groups is None else partition(groups).codes
    return _paired_differences(estimates, one, two, pattern, dense, mean_of_sums, [(0.0, 1.0)], [True], n_permutations)


@dataclass(frozen=True)
class _Paired:
    """Each model's values of q measures, and what is known of their differences, first model minus second."""

    first: Floats
    second: Floats
    interval: Intervals
    test: SignFlip
    design_effect: Floats
    n_units: int


def _paired_differences(
    estimates: Estimates,
    first: Floats,
    second: Floats,
    pattern: Integers,
    groups: Integers | None,
    estimate: Estimate,
    ranges: Sequence[tuple[float, float]],
    are_means: Sequence[bool],
    n_permutations: int,
) -> _Paired:
    """Compare two models' sums in every distinct bucket (`pattern` says which each bucket is).

    What resembles one another stays together in resampling and in permutation; each has a generator of its own.
    """
    m = first.shape[1]
    both = np.concatenate([first, second], axis=1)
    buckets = Units.unstratified(both, np.bincount(pattern, minlength=len(both)))
    units = buckets if groups is None else group_units(both, pattern, groups)

    def difference(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = estimate(sums[..., :m]) - estimate(sums[..., m:])
        return values

    total = units.total
    with np.errstate(divide="ignore", invalid="ignore"):
        values = [np.asarray(estimate(part), dtype=np.float64) for part in (total[:m], total[m:])]
    widest = [(low - high, high - low) for low, high in ranges]
    of_intervals, of_permutations = map(
        np.random.default_rng, np.random.SeedSequence(estimates.options.entropy).spawn(2)
    )
    bounds = estimates.intervals(units, difference, widest, are_means, rng=of_intervals)
    sums = units.sums[:, :m], units.sums[:, m:]
    test = sign_flip_test(*sums, units.multiplicity, estimate, n_permutations, of_permutations)
    return _Paired(values[0], values[1], bounds, test, design_effects(units, buckets, difference), units.n)
