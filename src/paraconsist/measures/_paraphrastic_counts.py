"""From checked rows to counts per bucket, and from those to every measure of paraphrastic consistency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_number, input_error
from paraconsist.measures._validation import Integers, as_probabilities, check_both, code_columns
from paraconsist.measures.buckets import (
    BucketCounts,
    LabelPool,
    bucket_groups,
    count_buckets,
    one_per_bucket,
    partition,
)
from paraconsist.measures.resampling import Units, distinct, linearised_errors
from paraconsist.measures.sampling_correction import decile_weights, deciles

RANGES: dict[str, tuple[float, float]] = {
    "paraphrastic_consistency": (0.5, 1.0),
    "paraphrastic_consistency_unbiased": (0.0, 1.0),
    "accuracy": (0.0, 1.0),
    "bucket_accuracy": (0.0, 1.0),
    "vap": (0.0, 0.25),
    "vap_unbiased": (0.0, 0.5),
    "between_variance": (0.0, 0.25),
    "between_variance_unbiased": (-np.inf, 0.5),  # chance may lead below 0, and PVAP above 1
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

PUBLISHED_VARIANCES = ("between_variance", "pvap", "pvap_pooled")
"""Those without an interval by default: they are biased by the number of paraphrases and by that of buckets."""

_BIASED = ("paraphrastic_consistency", "vap", "between_variance", "pvap", "agreement")
UNBIASED = {name: f"{name}_unbiased" for name in _BIASED}
"""Plug-in measure to its unbiased one."""

OVER_PAIRS = (*UNBIASED.values(), "consistently_right", "consistently_wrong")
"""Those over buckets with two paraphrases."""

ROWS, PAIRS = 1, 6
"""The columns of `bucket_sums` that count rows, and buckets with two paraphrases."""


def bucket_sums(counts: BucketCounts) -> npt.NDArray[np.float64]:
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


def variance_of_mean(units: Units) -> float:
    """Return the variance of the mean of theta over buckets of two paraphrases."""
    error = linearised_errors(units, lambda sums: sums[..., -1:] / sums[..., PAIRS : PAIRS + 1]).bootstrap_error[0]
    return float(error**2) * units.n / max(units.n - 1, 1)


def point_measures(total: npt.NDArray[np.float64]) -> dict[str, float]:
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
    return point_measures(multiplicity @ bucket_sums(counts.take(first)))


_ROLES = ("original", "paraphrase")


@dataclass(frozen=True)
class Originals:
    """The rows with role ``original``: whether each model was right, and their groups."""

    correct: list[npt.NDArray[np.int64]]
    groups: Integers | None


@dataclass(frozen=True)
class Checked:
    """What is left of the rows: each model's counts for every bucket that holds a paraphrase.

    `pools` are each model's answers, `gold_counts` the numbers of buckets with two paraphrases by gold label, `groups`
    are codes, one per bucket; `only_label` is the one label predicted for every paraphrase, if it is one.
    """

    counts: list[BucketCounts]
    pools: list[LabelPool]
    gold_counts: npt.NDArray[np.intp]
    bucket_ids: list[Any]
    groups: Integers | None
    originals: Originals | None
    n_without_paraphrase: int
    only_label: list[Any]


@dataclass(frozen=True)
class Sampling:
    """Each bucket's decile, and the share of the test set in each decile."""

    bucket_deciles: npt.NDArray[np.int64]
    test_weights: npt.NDArray[np.float64]


def check_input(
    function: str,
    predictions: Mapping[str, Any],
    references: Any,
    buckets: Any,
    roles: Any,
    groups: Any,
    *,
    one_original: bool = False,
) -> Checked:
    """Check the columns (`predictions` of one model or several, by parameter) and count.

    `paraconsist.measures.paraphrastic` says what they mean.
    """
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
        is_original = _is_original(function, checked["roles"].tolist())
        right = [(columns[name][is_original] == gold[is_original]).astype(np.int64) for name in predictions]
        of_originals = codes[is_original]
        n_originals = np.bincount(of_originals, minlength=1)
        if one_original and (n_originals > 1).any():
            code = int((n_originals > 1).argmax())
            must, remedy = "name at most one original per bucket", f"They are in bucket {divided.id_of(code)!r}."
            raise input_error(function, "roles", must, got=int(n_originals[code]), remedy=remedy)
        originals = Originals(right, None if grouping is None else grouping[of_originals])
        rows = ~is_original
        codes = codes[rows]
        if len(codes) == 0:
            raise input_error(function, "roles", "leave at least one paraphrase", got="originals only")
        has_paraphrase = np.bincount(codes, minlength=len(divided)) > 0
        if not has_paraphrase.all():
            keep = np.flatnonzero(has_paraphrase)
            codes = (np.cumsum(has_paraphrase) - 1)[codes]
            bucket_gold = bucket_gold[keep]
            grouping = None if grouping is None else partition(grouping[keep]).codes

    n_labels = len(columns.labels)
    counted = [
        count_buckets(codes, len(bucket_gold), columns[name][rows], bucket_gold, n_labels) for name in predictions
    ]
    used = counted[0].labels_predicted
    return Checked(
        counts=[one.counts for one in counted],
        pools=[one.pool for one in counted],
        gold_counts=np.bincount(bucket_gold[counted[0].counts.size > 1], minlength=n_labels),
        bucket_ids=divided.ids_of(keep),
        groups=grouping,
        originals=originals,
        n_without_paraphrase=0 if keep is None else len(divided) - len(keep),
        only_label=[columns.labels[used[0]]] if len(used) == 1 else [],
    )


def _is_original(function: str, roles: list[Any]) -> npt.NDArray[np.bool_]:
    for role in dict.fromkeys(roles):
        if role not in _ROLES:
            remedy = "Rows in other roles belong to other measures: leave them out."
            row = roles.index(role)
            raise input_error(function, "roles", "be 'original' or 'paraphrase'", got=role, row=row, remedy=remedy)
    return np.fromiter(map("original".__eq__, roles), dtype=np.bool_, count=len(roles))


def check_sampling(
    function: str, bucket_ids: list[Any], original_confidences: Any, test_confidences: Any
) -> Sampling | None:
    """Check the two sets of confidences; None if neither is given."""
    both = {"original_confidences": original_confidences, "test_confidences": test_confidences}
    if not check_both(function, both, "Corrected values need the confidences of both."):
        return None
    if not isinstance(original_confidences, Mapping):
        must = "map every bucket to a confidence"
        raise input_error(function, "original_confidences", must, got=original_confidences)
    of_bucket = list(map(original_confidences.get, bucket_ids))
    if None in of_bucket:
        bucket = bucket_ids[of_bucket.index(None)]
        raise input_error(function, "original_confidences", f"have a confidence for bucket {bucket!r}", got=None)
    confidences = as_probabilities(of_bucket, function=function, parameter="original_confidences", names=bucket_ids)
    return Sampling(deciles(confidences), decile_weights(test_confidences, function=function))


def check_test_set(function: str, test_predictions: Any, test_references: Any) -> tuple[int, int] | None:
    """Return the number of right rows of the test set and its size; None if it is not given."""
    both = {"test_predictions": test_predictions, "test_references": test_references}
    if not check_both(function, both, "Test accuracy needs both."):
        return None
    columns = code_columns(function, both)
    right = columns["test_predictions"] == columns["test_references"]
    return int(np.count_nonzero(right)), len(right)
