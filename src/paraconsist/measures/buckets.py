"""From rows to buckets: the checks of every column, the partition of rows by bucket, and the counts in each bucket."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_whole, input_error
from paraconsist.measures.array_types import Floats, Integers, Mask, Whole

_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "boolean"),  # before int: bool is a subclass of int
    ((int, np.integer), "integer"),
    ((str,), "string"),
    ((float, np.floating), "real"),
)
_ARRAY_KINDS = {"b": "boolean", "i": "integer", "u": "integer", "f": "real"}
MOST_DRAWN = 10**7
"""Resamples and permutations: with more, an interval or a p-value becomes no more certain."""
_LARGEST_EXACT = 2.0**53  # float64 loses precision for integers beyond this


@dataclass(frozen=True)
class Column:
    """One checked column: `kind` is ``"integer"`` (`values` an integer array) or ``"string"`` (a list)."""

    kind: str
    values: Integers | list[str]

    def __len__(self) -> int:
        return len(self.values)

    def tolist(self) -> list[Any]:
        """Return the values as plain Python integers or strings."""
        return self.values if isinstance(self.values, list) else self.values.tolist()


def as_column(values: Any, *, function: str, parameter: str, what: str = "integers or strings") -> Column:
    """Return `values` as a `Column`, or raise an `InputError` that names the first row which cannot be one.

    Integers, booleans (read as 0 and 1), integral floats and strings are taken, one kind throughout; arrays,
    series, tensors and lists alike. Missing values (None, NaN, NA) are never taken, nor silently dropped.
    """
    if values is None:
        raise input_error(function, parameter, "be given", got=None)
    if isinstance(values, (str, bytes, Mapping, Set)) or not isinstance(values, Iterable):
        raise input_error(function, parameter, "be a list or a one-dimensional array", got=values)
    if hasattr(values, "__array__") and not isinstance(values, (list, tuple)):  # numpy would cast plain sequences
        array = np.asarray(values)
        check_unmasked(function, parameter, values)
        if array.ndim != 1:
            raise input_error(function, parameter, "be one-dimensional", got=f"an array of shape {array.shape}")
        if array.dtype.kind in _ARRAY_KINDS and len(array):
            return _numeric(array, function=function, parameter=parameter, what=what)
        listed = array.tolist() if array.dtype.kind in "UTO" else list(array)
    else:
        listed = list(values)
    if not listed:
        raise input_error(function, parameter, "not be empty", got=[])
    kind = _one_kind(listed, function=function, parameter=parameter, what=what)
    if kind == "string":
        return Column("string", listed)
    try:
        array = np.array(listed, dtype=np.float64 if kind == "real" else np.int64)
    except OverflowError:
        row = next(i for i, value in enumerate(listed) if not -(2**63) <= value < 2**63)
        remedy = "Give strings instead."
        raise input_error(function, parameter, "fit in 64 bits", got=listed[row], row=row, remedy=remedy) from None
    return _numeric(array, function=function, parameter=parameter, what=what)


def rectangular(values: Any) -> npt.NDArray[Any]:
    """Return `values` as numpy reads them, or None in an array where their rows are of unequal lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.asarray(None)


def _numeric(array: npt.NDArray[Any], *, function: str, parameter: str, what: str) -> Column:
    if array.dtype.kind == "b":
        return Column("integer", array.view(np.uint8))
    if array.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            wrong = ~((array == np.floor(array)) & (np.abs(array) <= _LARGEST_EXACT))
        if wrong.any() and np.isnan(array[row := int(wrong.argmax())]):
            raise _missing(function, parameter, float(array[row]), row)
        check_rows(function, parameter, f"hold {what}", array, wrong)
        return Column("integer", array.astype(np.int64))
    if array.dtype == np.uint64:
        check_rows(function, parameter, "fit in 64 bits", array, array >= 2**63)
    return Column("integer", array.astype(np.int64) if array.dtype == np.uint64 else array)


def _one_kind(listed: list[Any], *, function: str, parameter: str, what: str) -> str:
    types = set(map(type, listed))
    kinds = {t: next((kind for bases, kind in _KINDS if issubclass(t, bases)), "") for t in types}
    if len(set(kinds.values())) == 1 and "" not in kinds.values():
        return next(iter(kinds.values()))
    for row, value in enumerate(listed):  # Only reached to name the wrong row.
        is_nan = kinds[type(value)] == "real" and value != value
        if value is None or is_nan or type(value).__name__ in ("NAType", "NaTType"):
            raise _missing(function, parameter, value, row)
        if not kinds[type(value)]:
            raise input_error(function, parameter, f"hold {what}", got=value, row=row)
    first = kinds[type(listed[0])]
    row = next(i for i, value in enumerate(listed) if kinds[type(value)] != first)
    remedy = f"The first row is {listed[0]!r}."
    raise input_error(function, parameter, "be of one kind throughout", got=listed[row], row=row, remedy=remedy)


def _missing(function: str, parameter: str, value: Any, row: int | None) -> Exception:
    remedy = "Leave the row out of every column, or give unparsed answers a label of their own."
    return input_error(function, parameter, "not hold missing values", got=value, row=row, remedy=remedy)


def check_unmasked(function: str, parameter: str, values: Any) -> None:
    """Raise if `values` is a masked array with masked values, which numpy would use in computations."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        row = int(np.argwhere(np.ma.getmaskarray(values))[0, 0]) if values.ndim else None
        raise _missing(function, parameter, "--", row)


def check_both(function: str, values: Mapping[str, object], remedy: str = "") -> bool:
    """Return whether the parameters are given; raise if only some of them are."""
    missing = [name for name, value in values.items() if value is None]
    if missing and len(missing) < len(values):
        raise input_error(function, missing[0], "be given too", got=None, remedy=remedy)
    return not missing


def check_rows(
    function: str,
    parameter: str,
    must: str,
    array: npt.NDArray[Any],
    wrong: Mask,
    *,
    rows: Sequence[Any] | None = None,
    remedy: str = "",
) -> None:
    """Raise if a value is `wrong`, naming the first; `rows` are the names of the rows in the error."""
    if not wrong.any():
        return
    at = int(wrong.argmax())
    row = None if not array.ndim else at if rows is None else repr(rows[at])
    value = array.ravel()[at : at + 1].tolist()[0]
    raise input_error(function, parameter, must, got=value, row=row, remedy=remedy)


def check_length(function: str, parameter: str, values: Sized, n: int, other: str = "predictions") -> None:
    """Raise unless there are n `values`, as many as rows of `other`."""
    if not hasattr(values, "__len__"):
        raise input_error(function, parameter, "be a list", got=values)
    if len(values) != n:
        must = f"have one value per row of `{other}` ({n})"
        raise input_error(function, parameter, must, got=f"{len(values)} values")


def check_same_length(function: str, columns: Mapping[str, Column]) -> None:
    """Raise unless all columns have as many rows as the first."""
    first, *others = columns
    for name in others:
        check_length(function, name, columns[name], len(columns[first]), first)


def check_comparable(function: str, columns: Mapping[str, Column]) -> None:
    """Raise unless all columns are integers or all are strings: ``1`` and ``"1"`` would never be equal."""
    first, *others = columns
    for name in others:
        if columns[name].kind != columns[first].kind:
            must = f"hold {columns[first].kind}s, as `{first}` does"
            remedy = "Give labels in one form, as numbers or as names."
            raise input_error(function, name, must, got=columns[name].tolist()[0], row=0, remedy=remedy)


def code_jointly(*columns: Column) -> tuple[list[Integers], list[Any]]:
    """Return the columns with their values replaced by common codes 0..n-1, and the n values themselves."""
    if columns[0].kind == "string":
        names = list(dict.fromkeys(chain.from_iterable(column.tolist() for column in columns)))
        code_of = {name: code for code, name in enumerate(names)}
        codes = [np.fromiter(map(code_of.__getitem__, c.tolist()), dtype=np.intp, count=len(c)) for c in columns]
        return list(codes), names
    arrays = [np.asarray(column.values) for column in columns]
    low = min(int(array.min()) for array in arrays)
    high = max(int(array.max()) for array in arrays)
    if high - low < 1000:
        shifted = [array.astype(np.intp) - low if low else array for array in arrays]
        return list(shifted), list(range(low, high + 1))
    values, joint = np.unique(np.concatenate(arrays), return_inverse=True)
    return np.split(joint, np.cumsum([len(array) for array in arrays])[:-1]), values.tolist()


@dataclass(frozen=True)
class CodedColumns:
    """Checked columns, and those that hold labels as common codes: `labels[code]` is the label."""

    columns: Mapping[str, Column]
    codes: Mapping[str, Integers]
    labels: list[Any]

    def __getitem__(self, name: str) -> Integers:
        return self.codes[name]

    def code_of(self, label: Any) -> int:
        """Return the code of a label, -1 if it does not occur."""
        return self.labels.index(label) if label in self.labels else -1

    def constant(self, *names: str) -> list[Any]:
        """Return [label] if the columns hold one and the same label in all of at least two rows, else []."""
        first = self.codes[names[0]][:1]
        columns = [self.codes[name] for name in names]
        if len(columns[0]) < 2 or not all((column == first).all() for column in columns):
            return []
        return [self.labels[int(first[0])]]


def code_columns(
    function: str, labels: Mapping[str, object], others: Mapping[str, object] | None = None, **optional: Any
) -> CodedColumns:
    """Check columns (one length, one kind each and one for all labels, nothing missing) and code the labels.

    `others` are columns that hold no labels; of `optional` ones those that are None are left out.
    """
    values_of = {**labels, **(others or {})} | {name: values for name, values in optional.items() if values is not None}
    columns = {name: as_column(values, function=function, parameter=name) for name, values in values_of.items()}
    check_same_length(function, columns)
    check_comparable(function, {name: columns[name] for name in labels})
    codes, names = code_jointly(*(columns[name] for name in labels))
    return CodedColumns(columns, dict(zip(labels, codes, strict=True)), names)


def as_mask(function: str, parameter: str, column: Column) -> Mask:
    """Return a column of true and false (or 1 and 0) as booleans."""
    array = np.array(column.tolist(), dtype=object)
    check_rows(function, parameter, "be true or false", array, (array != 0) & (array != 1))
    return array.astype(np.bool_)


def as_choices(
    function: str, parameter: str, column: Column, choices: Sequence[str], *, must: str = "", remedy: str = ""
) -> npt.NDArray[np.object_]:
    """Return a column as an array, each value of which is one of the choices."""
    array = np.array(column.tolist(), dtype=object)
    known = np.logical_or.reduce([array == choice for choice in choices])
    check_rows(function, parameter, must or f"be one of {', '.join(choices)}", array, ~known, remedy=remedy)
    return array


def as_floats(values: Any, function: str, parameter: str, must: str) -> Floats:
    """Return numbers of any shape as floats; `must` is what an error demands."""
    check_unmasked(function, parameter, values)
    try:
        if values is None:  # numpy would make it nan
            raise TypeError
        iterable = isinstance(values, Iterable) and not hasattr(values, "__array__")
        return np.asarray(list(values) if iterable else values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise input_error(function, parameter, must, got=values) from None


def as_probabilities(values: Any, *, function: str, parameter: str, names: Sequence[Any] | None = None) -> Floats:
    """Return `values` as floats in [0, 1]; float32 softmax may exceed 1 in the seventh digit and is let pass.

    `names` are the names of the rows in errors.
    """
    array = as_floats(values, function, parameter, "hold numbers between 0 and 1")
    if array.ndim != 1 or len(array) == 0:
        raise input_error(function, parameter, "be a list of at least one number", got=values)
    wrong = ~((array >= 0.0) & (array <= 1.0 + 1e-6))
    check_rows(function, parameter, "lie between 0 and 1", array, wrong, rows=names)
    return np.minimum(array, 1.0)


def as_generator(function: str, parameter: str, seed: Any) -> np.random.Generator:
    """Return a random generator for `seed`, a generator or an int; 0 is a seed, None is not."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(check_whole(function, parameter, seed, at_least=0, at_most=None))


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
        value = self.ids[code]
        return value if isinstance(value, str) else int(value)


def partition(bucket_ids: Any, *, function: str = "partition", parameter: str = "bucket_ids") -> Partition:
    """Divide rows into buckets by their ids, of shape (n_rows,); without a sort if integer ids are close together.

    InputError if ids are missing, mixed, or neither integers nor strings.

    >>> divided = partition(["b", "a", "b", "b"])
    >>> divided.codes.tolist(), divided.sizes.tolist(), divided.ids
    ([0, 1, 0, 0], [3, 1], ['b', 'a'])
    """
    is_checked = isinstance(bucket_ids, Column)
    column = bucket_ids if is_checked else as_column(bucket_ids, function=function, parameter=parameter)
    if not isinstance(column.values, list):
        return partition_integers(column.values)
    (codes,), names = code_jointly(column)
    return Partition(codes, np.bincount(codes, minlength=len(names)), names)


def partition_integers(ids: Integers) -> Partition:
    """Divide rows by integer ids that have been checked; the inner step of `partition`."""
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
    row, listed = int(differs.argmax()), column.tolist()
    bucket = int(divided.codes[row])
    other = int(np.flatnonzero((divided.codes == bucket) & ~differs)[0])
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
    """The counts of each bucket, shape (n_buckets,): resampling works on these, never on rows."""

    size: Whole  # k, the number of paraphrases; at least 1
    correct: Whole  # c, the number of them that are right; 0 <= c <= k
    #: The sum over labels of (number of paraphrases predicted to have it) squared: ordered pairs of paraphrases,
    #: self-pairs included, that get the same label. With two labels it is c^2 + (k-c)^2.
    same_label: Whole

    def __len__(self) -> int:
        return len(self.size)

    def take(self, indices: Integers) -> BucketCounts:
        return BucketCounts(self.size[indices], self.correct[indices], self.same_label[indices])

    @classmethod
    def from_counts(
        cls, size: Sequence[int] | Integers, correct: Sequence[int] | Integers, same_label: Any = None
    ) -> BucketCounts:
        """Return checked counts; without `same_label` the task is taken to have two labels.

        InputError for values that are not whole numbers, and impossible counts: `same_label` must be c^2 + n_1^2 +
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


def _whole(parameter: str, values: Any) -> Whole:
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
    """The answers of all buckets that have two, in one pool; none of a single one, whose answers no shuffle moves."""

    counts: Whole  # how often each label is in the pool, shape (n_labels,)
    #: The sum over a bucket's answers of the share of the pool that has the same label, shape (n_buckets,).
    commonness: Floats

    @property
    def size(self) -> int:
        return int(self.counts.sum())

    @property
    def sum_of_squares(self) -> float:
        """The sum over labels of their squared shares: the chance that two draws with replacement are equal."""
        return float((self.counts.astype(np.float64) ** 2).sum()) / self.size**2 if self.size else float("nan")

    @property
    def same(self) -> float:
        """The chance that two *different* answers of the pool are equal; nan for less than two answers."""
        return same_answer_rate(self.counts)


def same_answer_rate(counts: Whole) -> float:
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
    pooled *= np.count_nonzero(size > 1) > 1
    return Counted(BucketCounts(size, correct, same_label), LabelPool(pooled, commonness), used)
