"""Is one model more consistent than another on the same paraphrases?

What comparisons of two models return.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist.errors import check_choice, check_whole, input_error
from paraconsist.measures._estimates import interval_options
from paraconsist.measures._paraphrastic_counts import MEASURES, NOT_MEANS, RANGES, bucket_sums, measures_of_sums
from paraconsist.measures._validation import Integers, as_column, check_comparable, check_same_length, code_jointly
from paraconsist.measures.buckets import BucketCounts, count_buckets, one_per_bucket, partition
from paraconsist.measures.paired_differences import Paired, paired_differences
from paraconsist.measures.resampling import distinct
from paraconsist.measures.results import Result
from paraconsist.measures.signatures import signature

_FUNCTION = "consistency_difference"
_ROLES = ("original", "paraphrase")
_METHODS = ("auto", "bootstrap", "closed_form")
_ESTIMATORS = {"unbiased": "paraphrastic_consistency_unbiased", "plugin": "paraphrastic_consistency"}
_FEW_UNITS = 10
_ORIGINALS = "original_accuracy"


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
    options = interval_options(_FUNCTION, interval_method, confidence_level, n_resamples, seed, _METHODS)
    permutations = check_whole(_FUNCTION, "n_permutations", n_permutations)
    given = {"predictions1": predictions1, "predictions2": predictions2, "references": references, "buckets": buckets}
    given |= {name: values for name, values in (("roles", roles), ("groups", groups)) if values is not None}
    columns = {name: as_column(values, function=_FUNCTION, parameter=name) for name, values in given.items()}
    check_same_length(_FUNCTION, columns)
    names = ("predictions1", "predictions2", "references")
    check_comparable(_FUNCTION, {name: columns[name] for name in names})
    (one, two, gold), labels = code_jointly(*(columns[name] for name in names))
    divided = partition(columns["buckets"])
    bucket_gold = one_per_bucket(_FUNCTION, divided, gold, "references", "gold label", columns["references"].tolist)
    grouping: Integers | None = None
    if "groups" in columns:
        codes = partition(columns["groups"]).codes
        grouping = one_per_bucket(_FUNCTION, divided, codes, "groups", "group", columns["groups"].tolist)
    is_original = _originals(columns["roles"].tolist()) if "roles" in columns else np.zeros(len(gold), dtype=np.bool_)

    kept = np.bincount(divided.codes[~is_original], minlength=len(divided)) > 0
    renumbered = (np.cumsum(kept) - 1)[divided.codes[~is_original]]
    counts = [
        count_buckets(renumbered, int(kept.sum()), predicted[~is_original], bucket_gold[kept], len(labels)).counts
        for predicted in (one, two)
    ]
    settings: dict[str, Any] = {
        "method": options.method,
        "confidence_level": options.confidence_level,
        "n_resamples": options.n_resamples,
        "n_permutations": permutations,
        "seed": options.entropy,
    }
    found = {"": _over_buckets(counts[0], counts[1], _dense(grouping, kept), settings)}
    if is_original.any():
        rows = divided.codes[is_original]
        right = [(predicted == gold)[is_original].astype(np.float64) for predicted in (one, two)]
        found[_ORIGINALS] = _on_rows(right[0], right[1], None if grouping is None else grouping[rows], settings)
    parts = {
        "est": estimator,
        "avg": "bucket",
        "orig": "apart" if "roles" in columns else "among-paraphrases",
        "p": f"sign-flip-{found[''].test.method}",
        "unparsed": "refused",
        "ci": f"{'bucket' if grouping is None else 'group'}-"
        + ("closed-form" if found[""].interval.method == "closed_form" else f"bootstrap{options.n_resamples}"),
        "level": f"{options.confidence_level:.4g}",
        "seed": str(seed) if isinstance(seed, int) else "given",
    }
    return _result(found, _ESTIMATORS[estimator], counts, signature(_FUNCTION, **parts))


def _originals(roles: list[Any]) -> Any:
    for role in dict.fromkeys(roles):
        if role not in _ROLES:
            row = roles.index(role)
            raise input_error(_FUNCTION, "roles", "be 'original' or 'paraphrase'", got=role, row=row)
    originals = np.array([role == "original" for role in roles])
    if originals.all():
        raise input_error(_FUNCTION, "roles", "leave at least one paraphrase", got="originals only")
    return originals


def _dense(grouping: Integers | None, kept: Any) -> Integers | None:
    """Return the groups of the kept buckets as codes without gaps."""
    return None if grouping is None else partition(grouping[kept]).codes


def _over_buckets(
    first: BucketCounts, second: BucketCounts, groups: Integers | None, settings: dict[str, Any]
) -> Paired:
    index, pattern, _ = distinct(first.size, first.correct, first.same_label, second.correct, second.same_label)
    return paired_differences(
        bucket_sums(first.take(index)),
        bucket_sums(second.take(index)),
        pattern,
        groups,
        measures_of_sums,
        list(RANGES.values()),
        [name not in NOT_MEANS for name in MEASURES],
        **settings,
    )


def _on_rows(first: Any, second: Any, groups: Integers | None, settings: dict[str, Any]) -> Paired:
    index, pattern, _ = distinct(first.astype(np.int64), second.astype(np.int64))
    sums = [np.stack([np.ones(len(index)), right[index]], axis=1) for right in (first, second)]
    dense = None if groups is None else partition(groups).codes
    return paired_differences(
        sums[0],
        sums[1],
        pattern,
        dense,
        lambda total: total[..., 1:] / total[..., :1],
        [(0.0, 1.0)],
        [True],
        **settings,
    )


def _result(
    found: dict[str, Paired], headline: str, counts: list[BucketCounts], line: str
) -> ConsistencyDifferenceResult:
    """Collect the differences by name."""
    tables: dict[str, dict[str, Any]] = {name: {} for name in ConsistencyDifferenceResult.__dataclass_fields__}
    warnings = []
    for part, paired in found.items():
        names = [part] if part else list(MEASURES)
        flat = []
        for i, name in enumerate(names):
            tables["values1"][name] = float(paired.first[i])
            tables["values2"][name] = float(paired.second[i])
            tables["differences"][name] = float(paired.first[i] - paired.second[i])
            tables["p_values"][name] = float(paired.test.p_value[i])
            tables["p_value_error"][name] = float(paired.test.error[i])
            tables["confidence_interval"][name] = [float(paired.interval.low[i]), float(paired.interval.high[i])]
            tables["standard_error"][name] = float(paired.interval.standard_error[i])
            tables["n_clusters"][name] = paired.n_units
            tables["design_effect"][name] = float(paired.design_effect[i])
            if paired.interval.at_boundary[i]:
                flat.append(name)
        if flat:
            warnings.append(
                f"no spread between units, so the interval is a Clopper-Pearson type bound: {', '.join(flat)}"
            )
    for i, model in enumerate(counts, 1):
        if (model.same_label == model.size**2).all() and np.count_nonzero(model.size > 1) >= _FEW_UNITS:
            warnings.append(
                f"no prediction of model {i} differs within any bucket: was it given the paraphrases or the originals?"
            )
    n_units = found[""].n_units
    if n_units == 1:
        warnings.append("one unit: no interval, and a p-value of 1")
    elif n_units < _FEW_UNITS:
        warnings.append(
            f"only {n_units} units: intervals are rough, and no p-value is below {2.0 ** (1 - n_units):.2g}"
        )
    undefined = [name for name, value in tables["differences"].items() if np.isnan(value)]
    if undefined:
        warnings.append(f"undefined, so nan: {', '.join(undefined)}")
    for name in ("confidence_interval", "standard_error", "n_clusters", "design_effect"):
        tables[name] = {"difference": tables[name][headline], **tables[name]}
    return ConsistencyDifferenceResult(
        difference=tables["differences"][headline],
        p_value=tables["p_values"][headline],
        n_buckets=len(counts[0]),
        n_examples=int(counts[0].size.sum()),
        **{
            name: tables[name]
            for name in (
                *("values1", "values2", "differences", "p_values", "p_value_error"),
                *("confidence_interval", "standard_error", "n_clusters", "design_effect"),
            )
        },
        signature=line,
        warnings=tuple(warnings),
    )


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
        Each model's measures (those of `paraconsist.measures.paraphrastic.paraphrastic_consistency`).
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
