"""Bucket ids to sizes and counts: the one partition that every measure uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paraconsist.errors import input_error
from paraconsist.measures._validation import Column, Integers, as_column, check_length, check_rows, code_jointly

_SPARE = 4  # integer ids that span fewer than this many values per row are counted, not sorted
_LARGEST_TABLE = 1 << 22  # cells that a table of labels by bucket may always have


@dataclass(frozen=True)
class Partition:
    """Rows divided into buckets."""

    codes: Integers  # the bucket of each row, 0..n_buckets-1, shape (n_rows,)
    sizes: npt.NDArray[np.intp]  # rows in each bucket, never 0, shape (n_buckets,)
    ids: Integers | list[str]  # (n_buckets,): integers ascending, strings in order of first appearance

    def __len__(self) -> int:
        return len(self.sizes)

    def ids_of(self, codes: Integers | None = None) -> list[Any]:
        """Return the ids of all or some buckets as a list of plain Python values."""
        if isinstance(self.ids, list):
            return self.ids if codes is None else [self.ids[code] for code in codes.tolist()]
        listed: list[Any] = (self.ids if codes is None else self.ids[codes]).tolist()
        return listed

    def id_of(self, code: int) -> Any:
        """Return the id of one bucket as a plain Python value."""
        value = self.ids[code]
        return value if isinstance(value, str) else int(value)


def partition(bucket_ids: Any, *, function: str = "partition", parameter: str = "bucket_ids") -> Partition:
    """Divide rows into buckets by their ids, of shape (n_rows,); without a sort where integer ids lie close.

    InputError if ids are missing, mixed, or neither integers nor strings.

    >>> divided = partition(["b", "a", "b", "b"])
    >>> divided.codes.tolist(), divided.sizes.tolist(), divided.ids
    ([0, 1, 0, 0], [3, 1], ['b', 'a'])
    """
    column = bucket_ids
    if not isinstance(bucket_ids, Column):
        column = as_column(bucket_ids, function=function, parameter=parameter)
    if not isinstance(column.values, list):
        return partition_integers(column.values)
    (codes,), names = code_jointly(column)
    return Partition(codes, np.bincount(codes, minlength=len(names)), names)


def partition_integers(ids: Integers) -> Partition:
    """Divide rows by integer ids that are already known to be good; the inner step of `partition`."""
    low, high = int(ids.min()), int(ids.max())
    if high - low >= _SPARE * len(ids) + 1024:
        if (ids[1:] >= ids[:-1]).all():
            starts = np.concatenate([[True], ids[1:] != ids[:-1]])
            codes = np.cumsum(starts) - 1
            return Partition(codes, np.bincount(codes), ids[starts])
        values, codes = np.unique(ids, return_inverse=True)
        return Partition(codes, np.bincount(codes, minlength=len(values)), values)
    offsets = ids if low == 0 else ids.astype(np.int64) - low
    sizes = np.bincount(offsets, minlength=high - low + 1)
    used = np.flatnonzero(sizes)
    if len(used) == len(sizes):
        return Partition(offsets, sizes, np.arange(high - low + 1) + low)
    place = np.cumsum(sizes > 0) - 1
    return Partition(place[offsets], sizes[used], used + low)


def one_per_bucket(
    function: str, divided: Partition, codes: Integers, parameter: str, what: str, column: Column
) -> Integers:
    """Return the one code of each bucket, or raise an error naming a bucket that has two."""
    of_bucket = np.empty(len(divided), dtype=codes.dtype)
    of_bucket[divided.codes] = codes
    differs = of_bucket[divided.codes] != codes
    if not differs.any():
        return of_bucket
    row = int(differs.argmax())
    bucket = int(divided.codes[row])
    other = int(np.flatnonzero((divided.codes == bucket) & ~differs)[0])
    listed = column.tolist()
    must = f"give every row of a bucket the same {what}"
    remedy = f"Bucket {divided.id_of(bucket)!r} has {listed[other]!r} too."
    raise input_error(function, parameter, must, got=listed[row], row=row, remedy=remedy)


def group_codes(function: str, groups: Any, n: int, other: str) -> Integers | None:
    """Return the group of each of n rows as codes, or None; `other` is the parameter that has n rows."""
    if groups is None:
        return None
    divided = partition(groups, function=function, parameter="groups")
    check_length(function, "groups", divided.codes, n, other)
    return divided.codes


def bucket_groups(function: str, divided: Partition, groups: Column | None) -> Integers | None:
    """Return the one group of each bucket as codes, or None; raise where a bucket is in two."""
    if groups is None:
        return None
    return one_per_bucket(function, divided, partition(groups).codes, "groups", "group", groups)


@dataclass(frozen=True)
class BucketCounts:
    """All that measures need to know of each bucket, shape (n_buckets,): resampling works on these, never on rows."""

    size: npt.NDArray[np.int64]  # k, the number of paraphrases; at least 1
    correct: npt.NDArray[np.int64]  # c, the number of them that are right; 0 <= c <= k
    #: The sum over labels of (number of paraphrases predicted to have it) squared: ordered pairs of paraphrases,
    #: self-pairs included, that get the same label. With two labels it is c^2 + (k-c)^2.
    same_label: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.size)

    def take(self, indices: Integers) -> BucketCounts:
        """Return the counts of some buckets."""
        return BucketCounts(self.size[indices], self.correct[indices], self.same_label[indices])

    @classmethod
    def from_counts(
        cls, size: Sequence[int] | Integers, correct: Sequence[int] | Integers, same_label: Any = None
    ) -> BucketCounts:
        """Return checked counts; without `same_label` the task is taken to have two labels.

        InputError for what are no whole numbers, and counts that no answers have: `same_label` must be c^2 + n_1^2 +
        n_2^2 + ..., with n_1 + n_2 + ... = k - c.
        """
        k, c = _whole("size", size), _whole("correct", correct)
        check_length("BucketCounts", "correct", c, len(k), "size")
        check_rows("BucketCounts", "size", "be at least 1", k, k < 1)
        check_rows("BucketCounts", "correct", "lie in 0..size", c, (c < 0) | (c > k))
        if same_label is None:
            return cls(k, c, c**2 + (k - c) ** 2)
        s = _whole("same_label", same_label)
        check_length("BucketCounts", "same_label", s, len(k), "size")
        others = np.stack([k - c, s - c**2], axis=1)
        distinct, of_bucket = np.unique(others, axis=0, return_inverse=True)
        possible = np.array([_is_sum_of_squares(*pair) for pair in distinct.tolist()])[of_bucket.ravel()]
        must = "be correct^2 and the squares of the numbers of other answers, label by label"
        check_rows("BucketCounts", "same_label", must, s, ~possible)
        return cls(k, c, s)


def _whole(parameter: str, values: Any) -> npt.NDArray[np.int64]:
    column = as_column(values, function="BucketCounts", parameter=parameter, what="whole numbers")
    if isinstance(column.values, list):
        raise input_error("BucketCounts", parameter, "hold whole numbers", got=column.values[0], row=0)
    return column.values.astype(np.int64)


@lru_cache(maxsize=1 << 16)
def _is_sum_of_squares(n: int, total: int) -> bool:
    """Return whether n answers can be divided among labels so that the squares of their numbers add up to `total`.

    The largest part, p, is at least total / n, and leaves its number of the others a sum that is no smaller.
    """
    if total in (n, n * n):
        return n >= 0
    if (total - n) % 2 or not n < total < n * n:
        return False
    largest = (1 + isqrt(1 + 4 * (total - n))) // 2
    return any(_is_sum_of_squares(n - p, total - p * p) for p in range(largest, (total - 1) // n, -1))


class LabelPool(NamedTuple):
    """The answers of all buckets that have two, in one pool."""

    counts: npt.NDArray[np.int64]  # how often each label is in the pool, shape (n_labels,)
    #: The sum over a bucket's answers of the share of the pool that has the same label, shape (n_buckets,).
    commonness: npt.NDArray[np.float64]

    @property
    def size(self) -> int:
        """The number of answers in the pool."""
        return int(self.counts.sum())

    @property
    def sum_of_squares(self) -> float:
        """The sum over labels of their squared shares: the chance that two draws with replacement are equal."""
        return float((self.counts.astype(np.float64) ** 2).sum()) / self.size**2 if self.size else float("nan")

    @property
    def same(self) -> float:
        """The chance that two *different* answers of the pool are equal; nan for less than two answers."""
        return same_answer_rate(self.counts)


def same_answer_rate(counts: npt.NDArray[np.int64]) -> float:
    """Return the chance that two different answers, of which `counts` have each label, are equal.

    >>> same_answer_rate(np.array([2, 2]))
    0.3333333333333333
    """
    n = int(counts.sum())
    return float((counts * (counts - 1.0)).sum() / (n * (n - 1.0))) if n > 1 else float("nan")


class Counted(NamedTuple):
    """What `count_buckets` returns: the counts, the pool of answers, and the codes of the predicted labels."""

    counts: BucketCounts
    pool: LabelPool
    labels_predicted: npt.NDArray[np.intp]


def count_buckets(codes: Integers, n_buckets: int, predictions: Integers, gold: Integers, n_labels: int) -> Counted:
    """Count correct and equal answers in every bucket, in one pass over the rows.

    `codes` and `predictions`, shape (n_rows,), are bucket and predicted label of each row, as codes from 0; `gold`,
    shape (n_buckets,), is the one gold label of each bucket, which has at least one row.
    """
    if n_buckets * n_labels <= max(_LARGEST_TABLE, 4 * len(codes)):
        cells = np.multiply(codes, n_labels, dtype=np.intp)
        cells += predictions
        table = np.bincount(cells, minlength=n_buckets * n_labels).reshape(n_buckets, n_labels)
        size = table.sum(axis=1)
        correct = table[np.arange(n_buckets), gold]
        same_label = np.einsum("bl,bl->b", table, table)
        used = np.flatnonzero(table.any(axis=0))
        pooled = (size > 1) @ table
        common = table @ pooled
    else:  # many labels: only the cells that occur
        used, dense = np.unique(predictions, return_inverse=True)
        cells_used, n_in_cell = np.unique(codes.astype(np.int64) * len(used) + dense, return_counts=True)
        bucket, label = cells_used // len(used), used[cells_used % len(used)]
        size = np.bincount(codes, minlength=n_buckets)
        is_gold = label == gold[bucket]
        correct = np.zeros(n_buckets, dtype=np.int64)
        correct[bucket[is_gold]] = n_in_cell[is_gold]
        same_label = np.zeros(n_buckets, dtype=np.int64)
        np.add.at(same_label, bucket, n_in_cell**2)
        pooled = np.bincount(label, weights=n_in_cell * (size[bucket] > 1), minlength=n_labels).astype(np.int64)
        common = np.bincount(bucket, weights=n_in_cell * pooled[label], minlength=n_buckets)
    commonness = common / max(int(pooled.sum()), 1)
    return Counted(BucketCounts(size, correct, same_label), LabelPool(pooled, commonness), used)
