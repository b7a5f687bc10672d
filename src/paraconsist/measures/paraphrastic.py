"""Paraphrastic consistency: are two paraphrases of a problem both right or both wrong?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_choice, check_number, input_error, plural
from paraconsist.measures.array_types import Floats, Integers, Mask, Whole
from paraconsist.measures.buckets import (
    BucketCounts,
    LabelPool,
    as_choices,
    as_generator,
    as_probabilities,
    bucket_groups,
    check_both,
    code_columns,
    count_buckets,
    one_per_bucket,
    partition,
    partition_integers,
)
from paraconsist.measures.chance import consistency_chance
from paraconsist.measures.intervals import (
    FEW_UNITS,
    NO_SPREAD,
    Intervals,
    Units,
    are_rare,
    design_effects,
    distinct,
    group_units,
    linearised_errors,
    mean_of_sums,
    proportion_interval,
    rare_interval,
    stratified_interval,
    too_few,
)
from paraconsist.measures.results import (
    Estimates,
    Result,
    constant_message,
    documented,
    effect_of,
    interval_options,
    row_error,
)
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE

_FEW_THAT_DIFFER = 15  # buckets with right and wrong answers, below which PVAP and between-variance have no interval
_LEAST_EFFECTIVE = 28.0  # units, for those two


@dataclass(frozen=True, repr=False)
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
    between_variance, between_variance_unbiased : float
        Variance over buckets of the share of right rows, which holds what paraphrasing adds to it; without that, a (1 -
        a) less the unbiased VAP, with a the accuracy of buckets of two paraphrases: below 0 by chance at times, and in
        few buckets lower than over all problems, which its interval is of.
    pvap, pvap_unbiased, pvap_pooled : float
        Share of the variance of correctness due to paraphrasing: of VAP + between variance (eq. 8), biased downwards;
        of the unbiased ones, nearly 1 less the intraclass correlation (above 1 by chance at times); of the variance
        over all rows (the authors' helper; above 1 at times where sizes differ). nan if nothing varies.
    min_paraphrastic_consistency : float
        The least P_C (plug-in) that a model of this bucket accuracy can have.
    agreement, agreement_unbiased : float
        Chance that two paraphrases get the same *label*; for two labels it is P_C.
    consistently_right, consistently_wrong : float
        Chance that two different paraphrases are both right, both wrong; the unbiased P_C is their sum.
    chance, agreement_chance : float
        What the unbiased P_C and the unbiased agreement would be if the model's own answers were shuffled over the
        texts; for two labels they are the same.
    chance_corrected : float
        The agreement above that: (agreement_unbiased - agreement_chance) / (1 - agreement_chance). 1 if no wording
        changes an answer, 0 as if the wording decided all; nan for a constant answer, and for one bucket.
    krippendorff_alpha, fleiss_kappa : float
        Of the labels, buckets being units. With buckets of one size alpha is `chance_corrected`, kappa the same but for
        1/n; else alpha counts buckets by their size, and kappa is None.
    n_buckets, n_examples : int
        Buckets with at least one paraphrase, and paraphrases.
    original_accuracy, test_accuracy : float or None
        A_O and A_T.
    corrected_accuracy, corrected_paraphrastic_consistency, corrected_paraphrastic_consistency_unbiased : float or None
    corrected_vap, corrected_pvap : float or None
        The same on the test set that the buckets were sampled from; `covered_mass` is the share of it that
        lies in deciles with buckets.
    n_clusters : dict of str to int
        Groups, or buckets without `groups` (with two paraphrases for unbiased values); rows for `test_accuracy`.
    design_effect : dict of str to float
        Against independent rows for accuracies, against independent buckets for everything that is a mean over buckets.
    bias : dict of str to float
        Estimated bias of the plug-in values: their excess over the unbiased ones, for the measures that have both.
    """

    paraphrastic_consistency: float
    paraphrastic_consistency_unbiased: float
    accuracy: float
    bucket_accuracy: float
    vap: float
    vap_unbiased: float
    between_variance: float
    between_variance_unbiased: float
    pvap: float
    pvap_unbiased: float
    pvap_pooled: float
    min_paraphrastic_consistency: float
    agreement: float
    agreement_unbiased: float
    consistently_right: float
    consistently_wrong: float
    agreement_chance: float
    krippendorff_alpha: float
    n_buckets: int
    n_examples: int
    bias: dict[str, float]
    fleiss_kappa: float | None = None
    original_accuracy: float | None = None
    test_accuracy: float | None = None
    corrected_accuracy: float | None = None
    corrected_paraphrastic_consistency: float | None = None
    corrected_paraphrastic_consistency_unbiased: float | None = None
    corrected_vap: float | None = None
    corrected_pvap: float | None = None
    covered_mass: float | None = None


@documented(
    "gold labels (or groups) that differ within a bucket, unknown roles, two originals in a bucket, "
    "confidences outside [0, 1]"
)
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
    estimator: str = "unbiased",
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> ParaphrasticConsistencyResult:
    r"""Probability that predictions for two paraphrases of a problem are both right or both wrong.

    The reader learns whether the model answers the *problem* or its wording. Accuracy alone does not show it: a
    model that is right on half of all paraphrases may be right on every paraphrase of half the problems (P_C
    = 1) or on half the paraphrases of every problem (P_C = 0.5). Read it together with the accuracy: a
    constant answer has P_C = 1.

    With :math:`R_{bj} \in \{0, 1\}` the correctness of paraphrase j of bucket b, :math:`k_b` the number of
    its paraphrases, :math:`c_b = \sum_j R_{bj}`, :math:`\theta_b = c_b / k_b`, and means over buckets, each
    counting once:

    ==================  ======================================================================================
    P_C (plug-in)       mean of theta^2 + (1-theta)^2, as published (eq. 2); counts self-pairs, so it is too
                        high for few paraphrases, and a bucket of one scores 1
    P_C (unbiased)      mean of [c(c-1) + (k-c)(k-c-1)] / [k(k-1)] over buckets with k >= 2: the headline
    VAP                 mean of theta (1-theta) (eq. 7), so that P_C = 1 - 2 VAP; unbiased: times k/(k-1)
    PVAP                VAP / (VAP + variance of theta) (eq. 8); unbiased: of the unbiased ones, over buckets with
                        k >= 2; pooled: VAP / variance over all rows
    minimum P_C         1 - 2a(1-a), a = mean of theta
    ==================  ======================================================================================

    Parameters
    ----------
    predictions, references : sequence of int or str, shape (n,)
        Predicted and gold label of every row, both as numbers or both as names. All rows of a bucket have one
        gold label. An unparsed answer (None, NaN) is refused: give it a separate label, which then counts as
        wrong. -1 is a label like any other: exclude rows that have no gold label.
    buckets : sequence of int or str, shape (n,)
        The bucket of every row, in any order.
    roles : sequence of {"original", "paraphrase"}, shape (n,), optional
        Rows with role ``original`` leave the buckets, as published, and give `original_accuracy`. Without
        `roles` every row counts as a paraphrase.
    groups : sequence of int or str, shape (n,), optional
        What intervals resample if buckets are not independent, one group per bucket (e.g. a shared
        premise).
    original_confidences, test_confidences : mapping of bucket to float, sequence of shape (n_test,), optional
        Confidence in the gold label of each bucket's original, and of each row of the test set: give the values
        corrected for stratified sampling (see `corrected_values`).
    renormalize : bool, default False
        Divide corrected values by `covered_mass`; as published they are not.
    test_predictions, test_references : sequence of int or str, shape (n_test,), optional
        Give `test_accuracy`.
    estimator : {"unbiased", "plugin"}
        Which P_C the signature names as the headline. Both are always returned, always under the same keys.
    interval_method : {"auto", "bootstrap", "closed_form"}
        t intervals on the logit scale, none below ten buckets (or groups); percentiles of a bootstrap over buckets;
        plain t intervals (`paraconsist.measures.intervals`). By default the published PVAP and between-variance have no
        interval, since they are biased, and the unbiased ones have one from 15 buckets with right and wrong answers,
        and 28 buckets (or groups, of equal size), on.
        Corrected values always have the same interval (`stratified_interval`), which treats the test set's weights as
        fixed; none if less than 99 % of the test set is in deciles with buckets.
    confidence_level : float, default 0.95
    n_resamples : int, default 10000
    seed : int or numpy.random.Generator, default 0

    Returns
    -------
    ParaphrasticConsistencyResult
        Undefined values are nan and named in `warnings`; nothing is printed. The plug-in's interval is one
        for the plug-in expectation, the unbiased estimator's for the model's true value
        (`paraconsist.measures.intervals`).

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
    check_choice(function, "estimator", estimator, ("unbiased", "plugin"))
    options = interval_options(function, interval_method, confidence_level, n_resamples, seed)
    columns = {"predictions": predictions}
    checked = check_input(function, columns, references, buckets, roles, groups, one_original=True)
    unit = "bucket" if checked.groups is None else "group"
    estimates = Estimates(options, unit, rng=as_generator(function, "seed", seed))
    values, method = _over_buckets(estimates, checked)
    values |= _on_originals(estimates, checked.originals)
    corrected = _corrected(estimates, checked, original_confidences, test_confidences, renormalize)
    values |= corrected | _on_test_set(estimates, test_predictions, test_references)
    estimates.note_undefined(values)
    correction = f"{'renormalized' if renormalize else 'as published'}, test weights fixed"
    return ParaphrasticConsistencyResult(
        bias={name: values[name] - values[unbiased] for name, unbiased in UNBIASED.items()},
        **estimates.fields(
            values,
            method,
            est=estimator,
            avg="bucket",
            orig="among paraphrases" if roles is None else "apart",
            unparsed="refused",
            corrected=correction if corrected else None,
        ),
    )


def _over_buckets(estimates: Estimates, checked: Checked) -> tuple[dict[str, float], str]:
    """Return the measures over buckets, and the method of their intervals."""
    (counts,), (pool,) = checked.counts, checked.pools
    first, pattern, _ = distinct(counts.size, counts.correct, counts.same_label)
    sums = bucket_sums(counts.take(first))
    buckets, units = group_units(sums, pattern, None), group_units(sums, pattern, checked.groups)
    values = _point_measures(buckets.total)
    if len(counts) == 1:  # which has no variance between buckets
        values |= dict.fromkeys(("between_variance_unbiased", "pvap_unbiased"), float("nan"))
    are_means = [name not in NOT_MEANS for name in MEASURES]
    ranges = list((RANGES | {"between_variance_unbiased": (0.0, 0.25), "pvap_unbiased": (0.0, 1.0)}).values())
    others = {"reported": _centres(values, units), "scales": _scales(counts, values)}
    over = [PAIRS if name in _OVER_PAIRS else ROWS if name == "accuracy" else 0 for name in MEASURES]
    bounds = estimates.intervals(units, measures_of_sums, ranges, are_means, over=over, **others)
    point = np.array(list(values.values()))
    bounds = replace(bounds, low=np.minimum(bounds.low, point), high=np.maximum(bounds.high, point))
    if bounds.method == "logit_t":
        _leave_out_variances(estimates, bounds, counts, units)
        _replace_rare(estimates, bounds, units)
    estimates.add(MEASURES, bounds, units.n, design_effects(units, buckets, measures_of_sums).tolist())
    rows = row_error(int(counts.correct.sum()), int(counts.size.sum()))
    estimates.design_effect["accuracy"] = effect_of(estimates.standard_error["accuracy"], rows)
    with_pair = int(units.multiplicity[units.sums[:, PAIRS] > 0.0].sum())
    estimates.n_clusters |= dict.fromkeys(_OVER_PAIRS, with_pair)
    _add_minimum(estimates, values)
    values |= {"chance": consistency_chance(pool.counts, checked.gold_counts), "agreement_chance": pool.same}
    values |= estimates.add_label_agreement(counts, pool, checked.groups)
    _warn_of_buckets(estimates, checked, units.n, with_pair)
    return values | {"n_buckets": len(counts), "n_examples": int(counts.size.sum())}, bounds.method


def _scales(counts: BucketCounts, values: Mapping[str, float]) -> list[tuple[float, float]]:
    """Return the ends of the scale on which each interval is made.

    Unbiased between-variance and PVAP can exceed their ranges by chance, by up to the spread that paraphrasing adds to
    the buckets' shares: a quarter of that is added to the scale.
    """
    theta, pairs = counts.correct / counts.size, counts.size > 1
    added = float((theta * (1.0 - theta) / np.maximum(counts.size - 1, 1))[pairs].mean() / 4.0) if pairs.any() else 0.0
    whole = values["vap_unbiased"] + values["between_variance_unbiased"]
    scales = dict(RANGES) | {"between_variance_unbiased": (-added, 0.25)}
    scales["pvap_unbiased"] = (0.0, 1.0 + (added / whole if whole > 0.0 else 0.0))
    return list(scales.values())


def _centres(values: Mapping[str, float], units: Units) -> list[float]:
    """Return the centres of the intervals: the values, and for the unbiased variances those of *all* buckets.

    The variance over the buckets at hand is too small by that of their mean of theta (of buckets of two paraphrases).
    """
    error = linearised_errors(units, lambda sums: sums[..., -1:] / sums[..., PAIRS : PAIRS + 1]).bootstrap_error[0]
    missing = float(error**2) * units.n / max(units.n - 1, 1)
    within, between = values["vap_unbiased"], values["between_variance_unbiased"] + missing
    pvap = within / (within + between) if within + between > 0.0 else float("nan")
    return list({**values, "between_variance_unbiased": between, "pvap_unbiased": pvap}.values())


def _leave_out_variances(estimates: Estimates, bounds: Intervals, counts: BucketCounts, units: Units) -> None:
    """Remove the unreliable intervals: of biased ratios, and of unbiased ones that few buckets decide."""
    published = [MEASURES.index(name) for name in _PUBLISHED_VARIANCES]
    bounds.low[published] = bounds.high[published] = np.nan
    differ = int(np.count_nonzero((counts.correct > 0) & (counts.correct < counts.size)))
    if too_few(units) or (differ >= _FEW_THAT_DIFFER and units.effective_n >= _LEAST_EFFECTIVE):
        return
    unbiased = [MEASURES.index(UNBIASED[name]) for name in _PUBLISHED_VARIANCES if name in UNBIASED]
    bounds.low[unbiased] = bounds.high[unbiased] = np.nan
    few = f"only {plural(differ, 'bucket')} with right and wrong answers (at least {_FEW_THAT_DIFFER} are needed)"
    unequal = f"their {units.n} {estimates.unit}s count for {units.effective_n:.3g} (at least {_LEAST_EFFECTIVE:.0f})"
    reason = few if differ < _FEW_THAT_DIFFER else unequal
    estimates.warn(f"no interval of PVAP and between-variance: {reason}")


def _replace_rare(estimates: Estimates, bounds: Intervals, units: Units) -> None:
    """Replace the intervals of what is always, or never, seen in all but a few units."""
    used = units.sums[:, PAIRS] > 0.0
    size, differ, theta = (units.sums[used, column] for column in (PAIRS, PAIRS + 1, -1))
    multiplicity = units.multiplicity[used]
    right, wrong = theta - differ / 2.0, size - theta - differ / 2.0
    for name, values in (("consistently_right", right), ("consistently_wrong", wrong)):
        j = MEASURES.index(name)
        has_interval = bounds.standard_error[j] > NO_SPREAD and not np.isnan(bounds.low[j])
        if has_interval and are_rare(size, values, multiplicity):
            ends = rare_interval(size, values, multiplicity, estimates.options.confidence_level)
            bounds.low[j], bounds.high[j] = ends


def _add_minimum(estimates: Estimates, values: dict[str, float]) -> None:
    """Add the minimum P_C: a function of bucket accuracy, so its interval is the image of that one's."""
    base, name = "bucket_accuracy", "min_paraphrastic_consistency"
    values[name] = minimum_consistency(values[base])
    low, high = estimates.confidence_interval[base]
    ends = sorted((minimum_consistency(low), minimum_consistency(high)))
    error = abs(4.0 * values[base] - 2.0) * estimates.standard_error[base]
    interval = (0.5 if low <= 0.5 <= high else ends[0], ends[1])
    estimates.put(name, interval, error, estimates.n_clusters[base], estimates.design_effect[base])


def _warn_of_buckets(estimates: Estimates, checked: Checked, n_units: int, with_pair: int) -> None:
    (counts,) = checked.counts
    n, n_single, warn = len(counts), int(np.count_nonzero(counts.size == 1)), estimates.warn
    if missing := checked.n_without_paraphrase:
        warn(f"{missing} of {missing + n} buckets have no paraphrase and are left out")
    if n_single:
        effect = "each counts 1 in the plug-in estimate and is left out of the unbiased one"
        warn(f"{n_single} of {n} buckets have one paraphrase: {effect}")
    estimates.warn_if_few(n_units)
    if n_units >= FEW_UNITS and with_pair:
        estimates.warn_if_few(with_pair, " with two paraphrases")
    if checked.only_label and counts.size.sum() > 1:
        warn(constant_message(checked.only_label[0]))
    elif (counts.same_label == counts.size**2).all() and n - n_single >= FEW_UNITS:
        warn("no prediction differs within any bucket: was the model given the paraphrases or the originals?")


def _on_originals(estimates: Estimates, originals: Originals | None) -> dict[str, float]:
    if originals is None:
        return {}
    name, (right,) = "original_accuracy", originals.correct
    if len(right) == 0:
        return {name: float("nan")}
    groups = None if originals.groups is None else distinct(originals.groups)[1]
    units = group_units(np.array([[1.0, 0.0], [1.0, 1.0]]), right, groups)
    bounds = estimates.intervals(units, mean_of_sums, [(0.0, 1.0)], [True])
    naive = row_error(int(right.sum()), len(right))
    estimates.add([name], bounds, units.n, [effect_of(float(bounds.standard_error[0]), naive)])
    return {name: float(right.mean())}


def _corrected(
    estimates: Estimates, checked: Checked, original_confidences: Any, test_confidences: Any, renormalize: bool
) -> dict[str, float]:
    both = {"original_confidences": original_confidences, "test_confidences": test_confidences}
    function = estimates.options.function
    if not check_both(function, both, "Corrected values need the confidences of both."):
        return {}
    if not isinstance(original_confidences, Mapping):
        must = "map every bucket to a confidence"
        raise input_error(function, "original_confidences", must, got=original_confidences)
    ids, of_bucket = checked.bucket_ids, list(map(original_confidences.get, checked.bucket_ids))
    if None in of_bucket:
        must = f"have a confidence for bucket {ids[of_bucket.index(None)]!r}"
        raise input_error(function, "original_confidences", must, got=None)
    known = as_probabilities(of_bucket, function=function, parameter="original_confidences", names=ids)
    (counts,), weights = checked.counts, decile_weights(test_confidences, function=function)
    strata = [Stratified.of(values, deciles(known), weights) for values in bucket_values(counts)]
    values = corrected_values(*strata, renormalize=renormalize)
    mass = values["covered_mass"]
    if mass < _LEAST_MASS:
        rest = "" if renormalize else " and are too low by the rest"
        covered = f"deciles with buckets cover only {mass:.1%} of the test set"
        estimates.warn(f"{covered}: corrected values have no interval{rest}")
    by = 1.0 if renormalize else mass
    for name, stratified, scale, lowest in zip(values, strata, (by, by, 1.0), (0.0, 0.5, 0.5), strict=False):
        interval, error, effect = stratified.interval(checked.groups, lowest, estimates.options.confidence_level)
        ends = scale * interval[0], scale * interval[1]
        estimates.put(name, ends, scale * error, stratified.n_units(checked.groups), effect)
        if name == "corrected_paraphrastic_consistency":  # VAP is a function of it
            vap = (by - ends[1]) / 2.0, (by - ends[0]) / 2.0
            estimates.put("corrected_vap", vap, scale * error / 2.0, stratified.n_units(checked.groups), effect)
    del values["corrected_between_variance"]  # it has no separate key: it is part of PVAP
    return values


def _on_test_set(estimates: Estimates, predictions: Any, references: Any) -> dict[str, float]:
    both, function = {"test_predictions": predictions, "test_references": references}, estimates.options.function
    if not check_both(function, both, "Test accuracy needs both."):
        return {}
    predicted, gold = code_columns(function, both).codes.values()
    right, n = int(np.count_nonzero(predicted == gold)), len(gold)
    interval = proportion_interval(right, n, estimates.options.confidence_level)
    estimates.put("test_accuracy", interval, row_error(right, n), n, 1.0)
    return {"test_accuracy": right / n}


RANGES: dict[str, tuple[float, float]] = {
    "paraphrastic_consistency": (0.5, 1.0),
    "paraphrastic_consistency_unbiased": (0.0, 1.0),
    "accuracy": (0.0, 1.0),
    "bucket_accuracy": (0.0, 1.0),
    "vap": (0.0, 0.25),
    "vap_unbiased": (0.0, 0.5),
    "between_variance": (0.0, 0.25),
    "between_variance_unbiased": (-np.inf, 0.5),  # can be below 0 by chance, and PVAP above 1
    "pvap": (0.0, 1.0),
    "pvap_unbiased": (0.0, np.inf),
    "pvap_pooled": (0.0, np.inf),  # rows weigh the denominator, buckets the numerator: 1 is no bound
    "agreement": (0.0, 1.0),
    "agreement_unbiased": (0.0, 1.0),
    "consistently_right": (0.0, 1.0),
    "consistently_wrong": (0.0, 1.0),
}
MEASURES = tuple(RANGES)
"""The order of the measures in `measures_of_sums`."""

NOT_MEANS = ("between_variance", "between_variance_unbiased", "pvap", "pvap_unbiased", "pvap_pooled")

_PUBLISHED_VARIANCES = ("between_variance", "pvap", "pvap_pooled")
"""Measures without an interval by default: biased by the numbers of paraphrases and of buckets."""

_BIASED = ("paraphrastic_consistency", "vap", "between_variance", "pvap", "agreement")
UNBIASED = {name: f"{name}_unbiased" for name in _BIASED}
"""Plug-in measure to its unbiased one."""

_OVER_PAIRS = (*UNBIASED.values(), "consistently_right", "consistently_wrong")
"""Measures over buckets with two paraphrases."""

ROWS, PAIRS = 1, 6
"""The columns of `bucket_sums` that count rows, and buckets with two paraphrases."""


def bucket_sums(counts: BucketCounts) -> Floats:
    """Return what each bucket adds to the sums that every measure is a function of, shape (n_buckets, 11).

    With k paraphrases of which c are right, theta = c/k, and s ordered pairs with the same label: 1, k, c, theta,
    theta^2, theta (1 - theta), [k >= 2], 2c(k-c)/(k(k-1)), s/k^2, (k^2-s)/(k(k-1)), [k >= 2] theta. The two with
    k(k-1), the chances that two different paraphrases differ in correctness and in label, are 0 for k = 1.
    """
    k, c, s = (column.astype(np.float64) for column in (counts.size, counts.correct, counts.same_label))
    theta = c / k
    pairs = k * (k - 1.0)
    has_pair = pairs > 0.0
    pairs[~has_pair] = 1.0
    return np.stack(
        [
            np.ones_like(k),
            k,
            c,
            theta,
            theta**2,
            c * (k - c) / k**2,
            has_pair,
            2.0 * c * (k - c) / pairs,
            s / k**2,
            np.where(has_pair, (k**2 - s) / pairs, 0.0),
            has_pair * theta,
        ],
        axis=1,
    )


def measures_of_sums(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the measures named in `MEASURES`, shape (..., 15), from sums over buckets, shape (..., 11).

    Over buckets of two paraphrases with mean theta a, the whole variance of correctness is a (1 - a): the unbiased
    between-variance is that less the unbiased VAP, and PVAP the ratio. Two different paraphrases are both right with
    chance a less half of that of their differing, both wrong with chance 1 - a less the other half.
    """
    n, k, c, theta, theta_squared, within, with_pair, differ, same, differ_label, theta_of_pairs = np.moveaxis(
        sums, -1, 0
    )
    bucket_accuracy, accuracy, vap = theta / n, c / k, within / n
    between = theta_squared / n - bucket_accuracy**2
    p_differ = differ / with_pair
    mean = theta_of_pairs / with_pair
    whole = mean * (1.0 - mean)
    return np.stack(
        [
            1.0 - 2.0 * vap,
            1.0 - p_differ,
            accuracy,
            bucket_accuracy,
            vap,
            p_differ / 2.0,
            between,
            whole - p_differ / 2.0,
            vap / (vap + between),
            p_differ / 2.0 / whole,
            vap / (accuracy * (1.0 - accuracy)),
            same / n,
            1.0 - differ_label / with_pair,
            mean - p_differ / 2.0,
            1.0 - mean - p_differ / 2.0,
        ],
        axis=-1,
    )


def minimum_consistency(bucket_accuracy: float) -> float:
    """Return the least plug-in P_C of a model with this *bucket* accuracy a: 1 - 2a(1-a) [S24].

    >>> minimum_consistency(0.5), minimum_consistency(1.0)
    (0.5, 1.0)
    """
    accuracy = check_number("minimum_consistency", "bucket_accuracy", bucket_accuracy, 0.0, 1.0)
    return 1.0 - 2.0 * accuracy * (1.0 - accuracy)


def _point_measures(total: Floats) -> dict[str, float]:
    """Return the measures by name from the sums over all buckets; nan where undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = measures_of_sums(total)
    bounds = np.array(list(RANGES.values())).T
    return dict(zip(MEASURES, np.clip(values, *bounds).tolist(), strict=True))


def measures_of_counts(counts: BucketCounts) -> dict[str, float]:
    """Return every measure of `MEASURES` and the minimum P_C from counts alone, without intervals.

    >>> values = measures_of_counts(BucketCounts.from_counts(size=[4, 2], correct=[3, 2]))
    >>> values["paraphrastic_consistency"], values["paraphrastic_consistency_unbiased"]
    (0.8125, 0.75)
    """
    first, _, multiplicity = distinct(counts.size, counts.correct, counts.same_label)
    return _point_measures(multiplicity @ bucket_sums(counts.take(first)))


class Originals(NamedTuple):
    """The rows with role ``original``: whether each model was right, and their groups."""

    correct: list[Whole]
    groups: Integers | None


@dataclass(frozen=True)
class Checked:
    """The checked rows: each model's counts for every bucket with a paraphrase.

    `pools` are each model's answers, `gold_counts` the numbers of buckets with two paraphrases by gold label, `groups`
    are codes, one per bucket; `only_label` holds the label predicted for every paraphrase, if there is only one.
    """

    counts: list[BucketCounts]
    pools: list[LabelPool]
    gold_counts: npt.NDArray[np.intp]
    bucket_ids: list[Any]
    groups: Integers | None
    originals: Originals | None
    n_without_paraphrase: int
    only_label: list[Any]


def check_input(
    function: str,
    predictions: Mapping[str, object],
    references: Any,
    buckets: Any,
    roles: Any,
    groups: Any,
    *,
    one_original: bool = False,
) -> Checked:
    """Check the columns (`predictions` of one or several models, by parameter) and count the rows of each bucket."""
    labels = {**predictions, "references": references}
    columns = code_columns(function, labels, {"buckets": buckets}, roles=roles, groups=groups)
    checked = columns.columns
    divided = partition(checked["buckets"])
    codes, gold = divided.codes, columns["references"]
    bucket_gold = one_per_bucket(function, divided, gold, "references", "gold label", checked["references"])
    grouping = bucket_groups(function, divided, checked.get("groups"))
    rows: Any = slice(None)
    originals, keep = None, None
    if "roles" in checked:
        must, remedy = "be 'original' or 'paraphrase'", "Rows in other roles belong to other measures: leave them out."
        choices = (ORIGINAL, PARAPHRASE)
        role_of = as_choices(function, "roles", checked["roles"], choices, must=must, remedy=remedy)
        is_original = role_of == ORIGINAL
        right = [(columns[name][is_original] == gold[is_original]).astype(np.int64) for name in predictions]
        of_originals = codes[is_original]
        n_originals = np.bincount(of_originals, minlength=1)
        if one_original and (n_originals > 1).any():
            code = int((n_originals > 1).argmax())
            must, remedy = "name at most one original per bucket", f"They are in bucket {divided.id_of(code)!r}."
            raise input_error(function, "roles", must, got=int(n_originals[code]), remedy=remedy)
        originals = Originals(right, None if grouping is None else grouping[of_originals])
        rows = ~is_original
        if not rows.any():
            raise input_error(function, "roles", "leave at least one paraphrase", got="originals only")
        kept = partition_integers(codes[rows])
        codes, keep = kept.codes, np.asarray(kept.ids)
        bucket_gold = bucket_gold[keep]
        grouping = None if grouping is None else partition_integers(grouping[keep]).codes

    n_labels, n_buckets = len(columns.labels), len(bucket_gold)
    counted = [count_buckets(codes, n_buckets, columns[name][rows], bucket_gold, n_labels) for name in predictions]
    used = counted[0].labels_predicted
    return Checked(
        counts=[model.counts for model in counted],
        pools=[model.pool for model in counted],
        gold_counts=np.bincount(bucket_gold[counted[0].counts.size > 1], minlength=n_labels),
        bucket_ids=divided.ids_of(keep),
        groups=grouping,
        originals=originals,
        n_without_paraphrase=len(divided) - n_buckets,
        only_label=[columns.labels[used[0]]] if len(used) == 1 else [],
    )


_N_DECILES = 10

_LEAST_MASS = 0.99
"""Corrected values have no interval if a smaller share of the test set is in deciles with buckets."""


def deciles(confidences: npt.ArrayLike) -> Whole:
    """Return the confidence deciles 0..9: equal bins on [0, 1], the last one closed."""
    tenths = np.floor(10.0 * np.asarray(confidences, dtype=np.float64)).astype(np.int64)
    return np.minimum(tenths, _N_DECILES - 1)


def decile_weights(test_confidences: Any, *, function: str = "decile_weights") -> Floats:
    """Return the share of the test set in each decile of confidence in the gold label, shape (10,).

    InputError if a confidence is missing or outside [0, 1].
    """
    confidences = as_probabilities(test_confidences, function=function, parameter="test_confidences")
    return np.asarray(np.bincount(deciles(confidences), minlength=_N_DECILES) / len(confidences))


@dataclass(frozen=True)
class Stratified:
    """Values of n buckets, and the d deciles that hold both buckets and test rows."""

    values: Floats  # of each bucket of these deciles, shape (n,)
    stratum: Whole  # the decile of each, from 0
    weights: Floats  # the share of the test set in each of these deciles, over `mass`, shape (d,)
    mass: float  # the share of the test set in these deciles
    used: Mask  # which of all buckets these are

    @classmethod
    def of(cls, values: Floats, decile: Whole, test_weights: Floats) -> Stratified:
        """Return the strata of buckets with a value (not nan) in deciles of the test set."""
        used = np.isfinite(values) & (test_weights[decile] > 0.0)
        covered, stratum = np.unique(decile[used], return_inverse=True)
        mass = float(test_weights[covered].sum())
        return cls(values[used], stratum, test_weights[covered] / (mass or 1.0), mass, used)

    @property
    def mean(self) -> float:
        """The weighted mean of the deciles' means; nan without buckets."""
        if not len(self.values):
            return float("nan")
        return float(self.weights @ (np.bincount(self.stratum, weights=self.values) / np.bincount(self.stratum)))

    def n_units(self, groups: Integers | None) -> int:
        """Return the number of independent units: buckets, or their groups (codes of all buckets)."""
        return len(self.values) if groups is None else len(np.unique(groups[self.used]))

    def interval(
        self, groups: Integers | None, lowest: float, confidence_level: float
    ) -> tuple[tuple[float, float], float, float]:
        """Return an interval for `mean` (nan if unreliable), its standard error and its design effect."""
        nothing, n_units = (float("nan"), float("nan")), self.n_units(groups)
        if n_units == 0:
            return nothing, float("nan"), float("nan")
        error, effect = self.standard_error(groups)
        if self.mass < _LEAST_MASS or n_units < FEW_UNITS:
            return nothing, error, effect
        widened = effect if effect > 1.0 else 1.0
        ends = stratified_interval(self.values, self.stratum, self.weights, lowest, widened, confidence_level)
        return ends, error, effect

    def standard_error(self, groups: Integers | None) -> tuple[float, float]:
        """Return the standard error of `mean`, and the design effect of `groups` (codes of all buckets)."""
        n = np.bincount(self.stratum)
        means = np.bincount(self.stratum, weights=self.values) / n
        influence = (self.weights / n)[self.stratum] * (self.values - means[self.stratum])
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(n > 1, n / (n - 1.0), 0.0)
        independent = float(factor[self.stratum] @ influence**2)
        if groups is None or independent == 0.0:
            return independent**0.5, 1.0 if independent else float("nan")
        of_group = groups[self.used]
        n_groups = len(np.unique(of_group))
        clustered = float((np.bincount(of_group, weights=influence) ** 2).sum()) * n_groups / max(n_groups - 1, 1)
        return clustered**0.5, clustered / independent


def bucket_values(counts: BucketCounts) -> Floats:
    """Return each bucket's theta, P_C and unbiased P_C (nan for one paraphrase), shape (3, n_buckets)."""
    k, c = counts.size.astype(np.float64), counts.correct.astype(np.float64)
    theta = c / k
    with np.errstate(divide="ignore", invalid="ignore"):
        unbiased = 1.0 - 2.0 * c * (k - c) / (k * (k - 1.0))
    return np.stack([theta, theta**2 + (1.0 - theta) ** 2, unbiased])


def corrected_values(
    theta: Stratified, plugin: Stratified, unbiased: Stratified, *, renormalize: bool
) -> dict[str, float]:
    """Correct the measures for buckets that were drawn evenly over the model's confidence [S24].

    Such buckets are harder than the test set; weighting each decile of confidence by its share of the test set
    estimates the measures there. The strata are of the buckets' theta, P_C and unbiased P_C.

    ``f~ = sum_d w_d mean{f_b : b in decile d}``, with w_d the share of the test set whose confidence in the gold label
    is in decile d, and a bucket's decile that of its original. Then A~ = theta~, P~_C = (theta^2)~ + ((1-theta)^2)~,
    VAP~ = (theta (1-theta))~, between variance (theta^2)~ - A~^2. PVAP~ = VAP~ / (VAP~ + between variance) always uses
    renormalised values, since its two parts add up to the whole variance only if the weights sum to 1; so does the
    unbiased P~_C, over buckets of two paraphrases.

    As published, test mass in deciles without a bucket is lost and every value is too low by that share; `renormalize`
    divides by the covered mass. All are nan if no decile of the test set holds a bucket.
    """
    mass = theta.mass
    mean, vap = theta.mean, (1.0 - plugin.mean) / 2.0
    total = mean * (1.0 - mean)
    by = 1.0 if renormalize else mass
    return {
        "corrected_accuracy": by * mean,
        "corrected_paraphrastic_consistency": by * plugin.mean,
        "corrected_paraphrastic_consistency_unbiased": unbiased.mean,
        "corrected_vap": by * vap,
        "corrected_between_variance": max(by * (mean - vap) - (by * mean) ** 2, 0.0),
        "corrected_pvap": min(vap / total, 1.0) if total > NO_SPREAD else np.nan,
        "covered_mass": min(mass, 1.0),
    }
