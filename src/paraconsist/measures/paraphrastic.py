"""Paraphrastic consistency: are two paraphrases of a problem both right or both wrong?

The result of `paraconsist.measures.paraphrastic.paraphrastic_consistency`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist.errors import check_choice, check_fraction, check_whole
from paraconsist.measures._estimates import Report, effect_of, row_error
from paraconsist.measures._paraphrastic_counts import (
    MEASURES,
    NOT_MEANS,
    PAIRS,
    RANGES,
    UNBIASED,
    Checked,
    Originals,
    Sampling,
    bucket_sums,
    check_input,
    check_sampling,
    check_test_set,
    measures_of_sums,
    minimum_consistency,
    point_measures,
)
from paraconsist.measures._validation import as_generator
from paraconsist.measures.alarms import constant_message
from paraconsist.measures.intervals import proportion_interval
from paraconsist.measures.resampling import Units, design_effects, distinct, group_units
from paraconsist.measures.results import Result
from paraconsist.measures.sampling_correction import CORRECTED, DecileWeights, corrected_point
from paraconsist.measures.signatures import signature

_FEW_UNITS = 10
_FEW_IN_DECILE = 5


def paraphrastic_consistency(
    predictions: Any,
    references: Any,
    buckets: Any,
    *,
    roles: Sequence[str] | None = None,
    groups: Any = None,
    original_confidences: Mapping[Any, float] | None = None,
    test_confidences: Any = None,
    renormalize: bool = False,
    test_predictions: Any = None,
    test_references: Any = None,
    estimator: str = "plugin",
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> ParaphrasticConsistencyResult:
    r"""Probability that predictions for two paraphrases of a problem are both right or both wrong.

    The reader learns whether the model answers the *problem* or its wording. Accuracy alone does not say: a
    model that is right on half of all paraphrases may be right on every paraphrase of half the problems (P_C
    = 1) or on half the paraphrases of every problem (P_C = 0.5). Read it beside the accuracy: a constant
    answer has P_C = 1.

    With :math:`R_{bj} \in \{0, 1\}` the correctness of paraphrase j of bucket b, :math:`k_b` the number of
    its paraphrases, :math:`c_b = \sum_j R_{bj}`, :math:`\theta_b = c_b / k_b`, and means over buckets, each
    counting once:

    ==================  ======================================================================================
    P_C (plug-in)       mean of theta^2 + (1-theta)^2, as published (eq. 2); counts self-pairs, so it is too
                        high for few paraphrases, and a bucket of one scores 1
    P_C (unbiased)      mean of [c(c-1) + (k-c)(k-c-1)] / [k(k-1)] over buckets with k >= 2
    VAP                 mean of theta (1-theta) (eq. 7), so that P_C = 1 - 2 VAP; unbiased: times k/(k-1)
    PVAP                VAP / (VAP + variance of theta) (eq. 8); pooled: VAP / variance over all rows
    minimum P_C         1 - 2a(1-a), a = mean of theta
    ==================  ======================================================================================

    Parameters
    ----------
    predictions, references : sequence of int or str, shape (n,)
        Predicted and gold label of every row, both as numbers or both as names. All rows of a bucket have one
        gold label. An unparsed answer (None, NaN) is refused: give it a label of its own, which is then
        wrong. -1 is a label like any other: leave out rows that have no gold label.
    buckets : sequence of int or str, shape (n,)
        The bucket of every row, in any order.
    roles : sequence of {"original", "paraphrase"}, shape (n,), optional
        Rows with role ``original`` leave the buckets, as published, and give `original_accuracy`. Without
        `roles` every row counts as a paraphrase.
    groups : sequence of int or str, shape (n,), optional
        What intervals resample where buckets are not independent, one group per bucket (e.g. a shared
        premise).
    original_confidences : mapping of bucket to float, optional
        Confidence in the gold label of each bucket's original; with `test_confidences`, of shape (n_test,),
        gives the values corrected for stratified sampling (see `sampling_correction`).
    renormalize : bool, default False
        Divide corrected values by `covered_mass`; as published they are not.
    test_predictions, test_references : sequence of int or str, shape (n_test,), optional
        Give `test_accuracy`.
    estimator : {"plugin", "unbiased"}
        Which P_C the signature names as the headline. Both are always returned, always under the same keys.
    interval_method : {"auto", "bootstrap", "closed_form"}
        Percentiles of a bootstrap over buckets, or t intervals from linearised, cluster-robust standard
        errors. ``"auto"`` is the bootstrap, except where that would take minutes. Intervals of corrected
        values resample buckets within deciles (whole groups where `groups` are given); the test set's weights
        are taken as fixed.
    confidence_level : float, default 0.95
    n_resamples : int, default 10000
    seed : int or numpy.random.Generator, default 0

    Returns
    -------
    ParaphrasticConsistencyResult
        Undefined values are nan and named in `warnings`; nothing is printed. The plug-in's interval is one
        for the plug-in expectation, the unbiased estimator's for the model's true value
        (`paraconsist.measures`).

    Raises
    ------
    InputError
        For empty, missing, mixed or unequally long input, gold labels (or groups) that differ within a
        bucket, unknown roles, two originals in a bucket, confidences outside [0, 1], and options outside
        their range.

    References
    ----------
    Srikanth, Carpuat, Rudinger (2024), "How often are errors in natural language reasoning due to
    paraphrastic variability?", TACL, equations 2, 7 and 8.

    Examples
    --------
    Three problems of four paraphrases: always right, right half the time, always wrong.

    >>> result = paraphrastic_consistency(
    ...     predictions=[1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1],
    ...     references=[1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0],
    ...     buckets=[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2],
    ... )
    >>> round(result.paraphrastic_consistency, 4), round(result.paraphrastic_consistency_unbiased, 4)
    (0.8333, 0.7778)
    >>> result.bucket_accuracy, round(result.pvap, 4)
    (0.5, 0.3333)
    """
    function = "paraphrastic_consistency"
    check_choice(function, "estimator", estimator, ("plugin", "unbiased"))
    check_choice(function, "interval_method", interval_method, ("auto", "bootstrap", "closed_form"))
    level = check_fraction(function, "confidence_level", confidence_level)
    resamples = check_whole(function, "n_resamples", n_resamples)
    rng = as_generator(function, "seed", seed)
    checked = check_input(function, predictions, references, buckets, roles, groups)
    sampling = check_sampling(function, checked.bucket_ids, original_confidences, test_confidences)
    test_set = check_test_set(function, test_predictions, test_references)

    report = Report(level, resamples, interval_method, rng)
    values = _over_buckets(report, checked)
    values |= _on_originals(report, checked.originals)
    values |= _corrected(report, checked, sampling, renormalize)
    values |= _on_test_set(report, test_set)
    undefined = [name for name, value in values.items() if isinstance(value, float) and np.isnan(value)]
    if undefined:
        report.warnings.append(f"undefined, so nan: {', '.join(undefined)}")

    unit = "bucket" if checked.groups is None else "group"
    how = "closed-form" if report.method == "closed_form" else f"bootstrap{resamples}"
    parts = {
        "est": estimator,
        "avg": "bucket",
        "orig": "among paraphrases" if roles is None else "apart",
        "unparsed": "refused",
        "ci": f"{unit}-{how}",
        "level": f"{level:.4g}",
    }
    if report.method != "closed_form":
        parts["seed"] = "given" if seed is rng else str(seed)
    if sampling is not None:
        parts["corrected"] = f"{'renormalized' if renormalize else 'as published'}, test weights fixed"
    return ParaphrasticConsistencyResult(
        **values,
        confidence_interval=report.confidence_interval,
        standard_error=report.standard_error,
        n_clusters=report.n_clusters,
        design_effect=report.design_effect,
        bias={name: values[name] - values[unbiased] for name, unbiased in UNBIASED.items()},
        signature=signature(function, **parts),
        warnings=tuple(report.warnings),
    )


def _over_buckets(report: Report, checked: Checked) -> dict[str, Any]:
    counts = checked.counts
    first, pattern, multiplicity = distinct(counts.size, counts.correct, counts.same_label)
    sums = bucket_sums(counts.take(first))
    if checked.groups is None:
        units = Units.unstratified(sums, multiplicity)
    else:
        units = group_units(sums, pattern, checked.groups)
    values: dict[str, Any] = point_measures(multiplicity @ sums)
    found = report.intervals(
        units,
        measures_of_sums,
        list(RANGES.values()),
        [name not in NOT_MEANS for name in MEASURES],
        reported=[values[name] for name in MEASURES],
    )
    report.method = found.method
    buckets = Units.unstratified(sums, multiplicity)
    effects = dict(zip(MEASURES, design_effects(units, buckets, measures_of_sums).tolist(), strict=True))
    rows = row_error(int(counts.correct.sum()), int(counts.size.sum()))
    effects["accuracy"] = effect_of(float(found.standard_error[MEASURES.index("accuracy")]), rows)
    report.add(MEASURES, found, units.n, list(effects.values()))
    with_pair = int(units.multiplicity[units.sums[:, PAIRS] > 0.0].sum())
    report.n_clusters |= dict.fromkeys(UNBIASED.values(), with_pair)
    _add_minimum(report, values)

    n_single = int(np.count_nonzero(counts.size == 1))
    _warn_of_buckets(report, checked, units.n, n_single)
    return values | {"n_buckets": len(counts), "n_examples": int(counts.size.sum())}


def _add_minimum(report: Report, values: dict[str, Any]) -> None:
    """Add the minimum P_C: a function of bucket accuracy, so its interval is the image of that one's."""
    name, accuracy = "min_paraphrastic_consistency", values["bucket_accuracy"]
    values[name] = minimum_consistency(accuracy)
    low, high = report.confidence_interval["bucket_accuracy"]
    ends = sorted((minimum_consistency(low), minimum_consistency(high)))
    report.confidence_interval[name] = [0.5 if low <= 0.5 <= high else ends[0], ends[1]]
    slope = abs(4.0 * accuracy - 2.0)
    report.standard_error[name] = slope * report.standard_error["bucket_accuracy"]
    report.n_clusters[name] = report.n_clusters["bucket_accuracy"]
    report.design_effect[name] = report.design_effect["bucket_accuracy"]


def _warn_of_buckets(report: Report, checked: Checked, n_units: int, n_single: int) -> None:
    counts, unit = checked.counts, "bucket" if checked.groups is None else "group"
    if checked.n_without_paraphrase:
        missing, given = checked.n_without_paraphrase, checked.n_without_paraphrase + len(counts)
        report.warnings.append(f"{missing} of {given} buckets have no paraphrase and are left out")
    if n_single:
        report.warnings.append(
            f"{n_single} of {len(counts)} buckets have one paraphrase: each counts 1 in the plug-in estimate "
            "and is left out of the unbiased one"
        )
    if n_units == 1:
        report.warnings.append(f"one {unit}: no interval")
    elif n_units < _FEW_UNITS:
        report.warnings.append(f"only {n_units} {unit}s: the intervals are rough")
    if checked.only_label and counts.size.sum() > 1:
        report.warnings.append(constant_message(checked.only_label[0]))
    elif (counts.same_label == counts.size**2).all() and len(counts) - n_single >= _FEW_UNITS:
        report.warnings.append(
            "no prediction differs within any bucket: was the model given the paraphrases or the originals?"
        )


def _on_originals(report: Report, originals: Originals | None) -> dict[str, Any]:
    if originals is None:
        return {}
    name, right = "original_accuracy", originals.correct
    if len(right) == 0:
        return {name: float("nan")}
    sums = np.array([[1.0, 0.0], [1.0, 1.0]])
    if originals.groups is None:
        units = Units.unstratified(sums, np.bincount(right, minlength=2))
    else:
        units = group_units(sums, right, distinct(originals.groups)[1])
    found = report.intervals(units, lambda total: total[..., 1:] / total[..., :1], [(0.0, 1.0)], [True])
    naive = row_error(int(right.sum()), len(right))
    report.add([name], found, units.n, [effect_of(float(found.standard_error[0]), naive)])
    return {name: float(right.mean())}


def _corrected(report: Report, checked: Checked, sampling: Sampling | None, renormalize: bool) -> dict[str, Any]:
    if sampling is None:
        return {}
    counts, bucket_deciles = checked.counts, sampling.bucket_deciles
    weights = DecileWeights.from_sample(bucket_deciles, sampling.test_weights, renormalize)
    first, pattern, multiplicity = distinct(counts.size, counts.correct, bucket_deciles)
    sums = weights.sums(counts.correct[first] / counts.size[first], bucket_deciles[first])
    values: dict[str, Any] = corrected_point(weights, multiplicity @ sums)._asdict()
    thin = int(np.count_nonzero(weights.count_buckets(bucket_deciles) < _FEW_IN_DECILE))
    if thin:
        report.warnings.append(
            f"{thin} of the {len(weights.decile)} confidence deciles with buckets hold{'s' if thin == 1 else ''} "
            f"fewer than {_FEW_IN_DECILE}: corrected intervals are rough"
        )
    if weights.covered_mass < 0.99:
        report.warnings.append(
            f"deciles with buckets cover only {weights.covered_mass:.1%} of the test set"
            + ("" if renormalize else ": corrected values are too low by the rest")
        )
    between = "corrected_between_variance"  # no key of its own: it is in PVAP
    if weights.covered_mass == 0.0:
        del values[between]
        return values
    if checked.groups is None:
        covered = np.isin(bucket_deciles[first], weights.decile)
        units = Units(sums[covered], multiplicity[covered], bucket_deciles[first][covered])
    else:
        units = group_units(sums, pattern, checked.groups)
    most = float(weights.weight.sum())
    found = report.intervals(
        units,
        weights.estimate,
        [(0.0, most), (most / 2.0, most), (0.0, most / 4.0), (0.0, 0.25), (0.0, 1.0)],
        [True, True, True, False, False],
        effective_n=float((weights.count_buckets(bucket_deciles) / weights.weight).min() * most),
        reported=[values[name] for name in CORRECTED],
    )
    buckets = Units.unstratified(sums, multiplicity) if checked.groups is not None else units
    report.add(CORRECTED, found, units.n, design_effects(units, buckets, weights.estimate).tolist())
    for found_by_name in (
        values,
        report.confidence_interval,
        report.standard_error,
        report.n_clusters,
        report.design_effect,
    ):
        del found_by_name[between]
    return values


def _on_test_set(report: Report, test_set: tuple[int, int] | None) -> dict[str, Any]:
    if test_set is None:
        return {}
    right, n = test_set
    accuracy = right / n
    report.confidence_interval["test_accuracy"] = list(proportion_interval(right, n, report.level))
    report.standard_error["test_accuracy"] = row_error(right, n)
    report.n_clusters["test_accuracy"] = n
    report.design_effect["test_accuracy"] = 1.0
    return {"test_accuracy": accuracy}


@dataclass(frozen=True)
class ParaphrasticConsistencyResult(Result):
    """Measures of how a model's correctness varies over paraphrases; see `paraphrastic_consistency`.

    Attributes
    ----------
    paraphrastic_consistency : float
        P_C as published (plug-in), in [0.5, 1]; up is good.
    paraphrastic_consistency_unbiased : float
        P_C over pairs of two *different* paraphrases, in [0, 1]; nan if no bucket has two.
    accuracy, bucket_accuracy : float
        Share of right rows; mean over buckets of the share of right rows.
    vap, vap_unbiased : float
        Variance attributable to paraphrasing; down is good.
    between_variance : float
        Population variance over buckets of the share of right rows.
    pvap, pvap_pooled : float
        Share of the variance of correctness that paraphrasing accounts for: of VAP + between variance
        (eq. 8), or of the variance over all rows (the authors' helper; above 1 at times where sizes differ);
        nan if nothing varies.
    min_paraphrastic_consistency : float
        The least P_C (plug-in) that a model of this bucket accuracy can have.
    agreement, agreement_unbiased : float
        Chance that two paraphrases get the same *label*; for two labels it is P_C.
    n_buckets, n_examples : int
        Buckets with at least one paraphrase, and paraphrases.
    original_accuracy, test_accuracy : float or None
        A_O and A_T.
    corrected_accuracy, corrected_paraphrastic_consistency, corrected_vap, corrected_pvap : float or None
        The same on the test set that the buckets were sampled from; `covered_mass` is the share of it that
        lies in deciles with buckets.
    confidence_interval : dict of str to list of two floats
    standard_error : dict of str to float
        Closed form, cluster-robust.
    n_clusters : dict of str to int
        The independent units behind each value: groups, or buckets (rows for `test_accuracy`) without `groups`.
    design_effect : dict of str to float
        Variance of each value over what it would be if smaller units were independent: rows for accuracies,
        buckets for everything that is a mean over buckets (there 1 without `groups`).
    bias : dict of str to float
        Estimated bias of the plug-in values: what they lie above the unbiased ones, for the measures that have both.
    signature : str
    warnings : tuple of str
    """

    paraphrastic_consistency: float
    paraphrastic_consistency_unbiased: float
    accuracy: float
    bucket_accuracy: float
    vap: float
    vap_unbiased: float
    between_variance: float
    pvap: float
    pvap_pooled: float
    min_paraphrastic_consistency: float
    agreement: float
    agreement_unbiased: float
    n_buckets: int
    n_examples: int
    confidence_interval: dict[str, list[float]]
    standard_error: dict[str, float]
    n_clusters: dict[str, int]
    design_effect: dict[str, float]
    bias: dict[str, float]
    signature: str
    warnings: tuple[str, ...]
    original_accuracy: float | None = None
    test_accuracy: float | None = None
    corrected_accuracy: float | None = None
    corrected_paraphrastic_consistency: float | None = None
    corrected_vap: float | None = None
    corrected_pvap: float | None = None
    covered_mass: float | None = None
