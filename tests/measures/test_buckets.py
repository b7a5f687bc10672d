"""The partition, and the counts that every measure is made from."""

from typing import Any

import numpy as np
import pytest
from helpers.examples import examples
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.errors import InputError
from paraconsist.measures.buckets import BucketCounts, count_buckets, partition


@pytest.mark.parametrize(
    "ids",
    [
        [3, 1, 3, 3],
        np.array([3, 1, 3, 3], dtype=np.int8),
        np.array([3, 1, 3, 3], dtype=np.uint64),
        np.array([3.0, 1.0, 3.0, 3.0]),
        ["3", "1", "3", "3"],
        np.array(["3", "1", "3", "3"]),
        np.array(["3", "1", "3", "3"], dtype=object),
        (True, False, True, True),
        [-(2**62), 2**62, -(2**62), -(2**62)],
        [2**62, -(2**62), 2**62, 2**62],
    ],
)
def test_partition_of_every_kind_of_id(ids: Any) -> None:
    divided = partition(ids)
    assert len(divided) == 2
    assert sorted(divided.sizes.tolist()) == [1, 3]
    assert [divided.ids_of()[code] for code in divided.codes] == list(ids)
    assert divided.id_of(0) == divided.ids_of()[0]


@examples(200)
@given(st.lists(st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_partition_equals_unique(ids: list[int]) -> None:
    divided = partition(ids)
    values, codes, sizes = np.unique(np.array(ids), return_inverse=True, return_counts=True)
    assert divided.ids_of() == values.tolist()
    np.testing.assert_array_equal(divided.codes, codes)
    np.testing.assert_array_equal(divided.sizes, sizes)


def test_sorted_ids_that_lie_far_apart_need_no_sort() -> None:
    divided = partition([-(2**60), -(2**60), 0, 2**60])
    assert divided.codes.tolist() == [0, 0, 1, 2]
    assert divided.sizes.tolist() == [2, 1, 1]


def test_strings_that_numpy_would_confuse_stay_apart() -> None:
    assert len(partition(["a", "a\0", "a "])) == 3


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([], r"`bucket_ids` must not be empty; got \[\]"),
        (np.array([], dtype=int), "must not be empty"),
        ([1, None, 2], "must not hold missing values; got None at row 1"),
        ([1.0, float("nan")], "must not hold missing values; got nan at row 1"),
        (np.array([1.0, np.nan]), "must not hold missing values; got nan at row 1"),
        (np.ma.masked_array([1, 2], mask=[False, True]), "must not hold missing values; got '--' at row 1"),
        ([1, "1"], "must be of one kind throughout; got '1' at row 1. The first row is 1."),
        ([True, 2], "must be of one kind throughout; got 2 at row 1"),
        ([1, 2.0], "must be of one kind throughout; got 2.0 at row 1"),
        ([0.5, 1.0], "must hold integers or strings; got 0.5 at row 0"),
        ([np.inf], "must hold integers or strings; got inf at row 0"),
        ([[1], [2]], r"must hold integers or strings; got \[1\] at row 0"),
        ([b"a"], "must hold integers or strings; got b'a' at row 0"),
        ([2**63], "must fit in 64 bits; got 9223372036854775808 at row 0"),
        (np.array([1, 2**63], dtype=np.uint64), "must fit in 64 bits; got 9223372036854775808 at row 1"),
        (np.zeros((2, 2)), "must be one-dimensional"),
        ("abc", "must be a list or a one-dimensional array; got 'abc'"),
        ({1: 2}, "must be a list"),
        (7, "must be a list"),
        (None, "must be given"),
    ],
)
def test_bad_ids_are_named(ids: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        partition(ids)


@pytest.mark.parametrize("n_labels", [3, 10**7])
def test_counts_of_dense_and_sparse_labels_agree_with_a_loop(n_labels: int) -> None:
    rng = np.random.default_rng(1)
    codes = np.concatenate([np.arange(20), rng.integers(0, 20, 300)])
    predictions = rng.integers(0, 3, len(codes)) * (n_labels - 1) // 2
    gold = rng.integers(0, 3, 20) * (n_labels - 1) // 2
    counts, pool, used = count_buckets(codes, 20, predictions, gold, n_labels)
    in_pool = predictions[np.bincount(codes)[codes] > 1]
    assert pool.counts.tolist() == np.bincount(in_pool, minlength=n_labels).tolist()
    assert used.tolist() == [0, (n_labels - 1) // 2, n_labels - 1]
    for bucket in range(20):
        inside = predictions[codes == bucket]
        assert counts.size[bucket] == len(inside)
        assert counts.correct[bucket] == np.sum(inside == gold[bucket])
        assert counts.same_label[bucket] == sum(a == b for a in inside for b in inside)
        assert pool.commonness[bucket] == pytest.approx(sum(np.mean(in_pool == a) for a in inside))


@pytest.mark.parametrize(
    ("size", "correct", "same", "message"),
    [
        ([], [], None, "`size` must not be empty"),
        ([1], [1, 1], None, r"`correct` must have one value per row of `size` \(1\)"),
        ([2, 0], [1, 0], None, "`size` must be at least 1; got 0 at row 1"),
        ([2, 1], [1, 2], None, "`correct` must lie in 0..size; got 2 at row 1"),
        ([5.0], [4.9], None, "`correct` must hold whole numbers; got 4.9 at row 0"),
        ([5, 4.5], [4, 4], None, "`size` must be of one kind throughout; got 4.5 at row 1"),
        (["5"], [4], None, "`size` must hold whole numbers; got '5' at row 0"),
        ([2, 2], [1, None], None, "`correct` must not hold missing values; got None at row 1"),
        (np.ma.array([5, 4], mask=[0, 1]), [4, 4], None, "`size` must not hold missing values; got '--' at row 1"),
        ([2], [1], [5], "`same_label` must be correct.2 and the squares"),
        ([2, 2], [1, 1], [2], r"`same_label` must have one value per row of `size` \(2\)"),
        ([4], [2], [6.5], "`same_label` must hold whole numbers; got 6.5 at row 0"),
    ],
)
def test_counts_that_cannot_be(size: Any, correct: Any, same: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        BucketCounts.from_counts(size, correct, same)


def sums_of_squares(n: int, largest: int) -> set[int]:
    """Return the sums of squares of all partitions of n into parts of at most `largest`."""
    if n == 0:
        return {0}
    return {p * p + rest for p in range(1, min(n, largest) + 1) for rest in sums_of_squares(n - p, p)}


def test_counts_of_equal_labels_are_those_that_answers_can_have() -> None:
    for k in range(1, 13):
        for c in range(k + 1):
            possible = {c * c + others for others in sums_of_squares(k - c, k - c)}
            accepted = set()
            for same in range(k * k + 3):
                try:
                    counts = BucketCounts.from_counts([k], [c], [same])
                except InputError:
                    continue
                accepted.add(int(counts.same_label[0]))
            assert accepted == possible, (k, c)
