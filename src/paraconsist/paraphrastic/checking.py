"""From the rows of a predictions file to checked counts per bucket, for `paraconsist.paraphrastic`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist._validation import (
    Integers,
    as_column,
    as_probabilities,
    check_comparable,
    check_same_length,
    code_jointly,
)
from paraconsist.buckets import BucketCounts, count_buckets, one_per_bucket, partition
from paraconsist.errors import input_error
from paraconsist.paraphrastic.corrected import decile_weights, deciles

__all__ = ["Checked", "Originals", "Sampling", "check_input", "check_sampling", "check_test_set"]

_ROLES = ("original", "paraphrase")


@dataclass(frozen=True)
class Originals:
    """The rows with role ``original``: whether each was right, and its group."""

    correct: npt.NDArray[np.int64]
    groups: Integers | None


@dataclass(frozen=True)
class Checked:
    """What is left of the rows: counts for every bucket that holds a paraphrase.

    `groups` are codes, one per bucket; `only_label` is the one label predicted for every paraphrase, if it is
    one.
    """

    counts: BucketCounts
    bucket_ids: list[Any]
    groups: Integers | None
    n_groups: int
    originals: Originals | None
    n_without_paraphrase: int
    only_label: list[Any]


@dataclass(frozen=True)
class Sampling:
    """Each bucket's decile, and the share of the test set in each decile."""

    bucket_deciles: npt.NDArray[np.int64]
    test_weights: npt.NDArray[np.float64]


def check_input(function: str, predictions: Any, references: Any, buckets: Any, roles: Any, groups: Any) -> Checked:
    """Check the columns and count; `paraconsist.paraphrastic` says what they mean."""
    given = {"predictions": predictions, "references": references, "buckets": buckets}
    given.update({k: v for k, v in {"roles": roles, "groups": groups}.items() if v is not None})
    columns = {name: as_column(values, function=function, parameter=name) for name, values in given.items()}
    check_same_length(function, columns)
    check_comparable(function, {name: columns[name] for name in ("predictions", "references")})

    divided = partition(columns["buckets"])
    codes = divided.codes
    (predicted, gold), labels = code_jointly(columns["predictions"], columns["references"])
    bucket_gold = one_per_bucket(function, divided, gold, "references", "gold label", columns["references"].tolist)
    bucket_groups, n_groups = None, 0
    if "groups" in columns:
        grouped = partition(columns["groups"])
        bucket_groups, n_groups = (
            one_per_bucket(function, divided, grouped.codes, "groups", "group", columns["groups"].tolist),
            len(grouped),
        )

    originals, keep = None, None
    if "roles" in columns:
        is_original = _is_original(function, columns["roles"].tolist())
        n_originals = np.bincount(codes[is_original], minlength=len(divided))
        if (n_originals > 1).any():
            many = int((n_originals > 1).argmax())
            raise input_error(
                function,
                "roles",
                "name at most one original per bucket",
                got=int(n_originals[many]),
                remedy=f"They are in bucket {divided.id_of(many)!r}.",
            )
        originals = Originals(
            (predicted[is_original] == gold[is_original]).astype(np.int64),
            None if bucket_groups is None else bucket_groups[codes[is_original]],
        )
        codes, predicted = codes[~is_original], predicted[~is_original]
        if len(codes) == 0:
            raise input_error(function, "roles", "leave at least one paraphrase", got="originals only")
        has_paraphrase = np.bincount(codes, minlength=len(divided)) > 0
        if not has_paraphrase.all():
            keep = np.flatnonzero(has_paraphrase)
            codes = (np.cumsum(has_paraphrase) - 1)[codes]
            bucket_gold = bucket_gold[keep]
            if bucket_groups is not None:
                kept_groups = partition(bucket_groups[keep])
                bucket_groups, n_groups = kept_groups.codes, len(kept_groups)

    counts, labels_predicted = count_buckets(codes, len(bucket_gold), predicted, bucket_gold, len(labels))
    return Checked(
        counts=counts,
        bucket_ids=divided.ids_of(keep),
        groups=bucket_groups,
        n_groups=n_groups,
        originals=originals,
        n_without_paraphrase=0 if keep is None else len(divided) - len(keep),
        only_label=[labels[labels_predicted[0]]] if len(labels_predicted) == 1 else [],
    )


def _is_original(function: str, roles: list[Any]) -> npt.NDArray[np.bool_]:
    for role in dict.fromkeys(roles):
        if role not in _ROLES:
            raise input_error(
                function,
                "roles",
                "be 'original' or 'paraphrase'",
                got=role,
                row=roles.index(role),
                remedy="Rows in other roles belong to other measures: leave them out.",
            )
    return np.fromiter(map("original".__eq__, roles), dtype=np.bool_, count=len(roles))


def check_sampling(
    function: str, bucket_ids: list[Any], original_confidences: Any, test_confidences: Any
) -> Sampling | None:
    """Check the two sets of confidences; None if neither is given."""
    if original_confidences is None and test_confidences is None:
        return None
    if original_confidences is None or test_confidences is None:
        missing = "original_confidences" if original_confidences is None else "test_confidences"
        raise input_error(
            function,
            missing,
            "be given too",
            got=None,
            remedy="Corrected values need the confidences of both.",
        )
    if not isinstance(original_confidences, Mapping):
        raise input_error(
            function, "original_confidences", "map every bucket to a confidence", got=original_confidences
        )
    of_bucket = list(map(original_confidences.get, bucket_ids))
    if None in of_bucket:
        bucket = bucket_ids[of_bucket.index(None)]
        raise input_error(function, "original_confidences", f"have a confidence for bucket {bucket!r}", got=None)
    confidences = as_probabilities(of_bucket, function=function, parameter="original_confidences", names=bucket_ids)
    return Sampling(deciles(confidences), decile_weights(test_confidences, function=function))


def check_test_set(function: str, test_predictions: Any, test_references: Any) -> tuple[int, int] | None:
    """Return the number of right rows of the test set and its size; None if it is not given."""
    if test_predictions is None and test_references is None:
        return None
    given = {"test_predictions": test_predictions, "test_references": test_references}
    for name, values in given.items():
        if values is None:
            raise input_error(function, name, "be given too", got=None, remedy="Test accuracy needs both.")
    columns = {name: as_column(values, function=function, parameter=name) for name, values in given.items()}
    check_same_length(function, columns)
    check_comparable(function, columns)
    (predicted, gold), _ = code_jointly(*columns.values())
    return int(np.count_nonzero(predicted == gold)), len(gold)
