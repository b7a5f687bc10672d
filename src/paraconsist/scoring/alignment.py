"""Several models' rows of one set, brought into one order: the buckets that all of them answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.rows import Rows
from paraconsist.data.tables import is_among, is_text
from paraconsist.errors import input_error

#: The stratum that holds a row's own id, where the files have one.
ROW_ID = "\x00row"

_MOST_NAMES = 3


@dataclass(frozen=True)
class Aligned:
    """The same rows in the same order for every model."""

    rows: dict[str, Rows]  # model -> its rows
    n_buckets: dict[str, int]  # how many buckets each model's file has
    n_common: int  # how many all have: those of `rows`
    notes: list[str]  # what a reader has to know: buckets that were left out, how rows were matched


def align(rows_of: Mapping[str, Rows]) -> Aligned:
    """Keep the buckets that every model (name -> rows, two or more) has, and bring their rows into one order.

    Rows of a bucket are matched by their own id (the stratum `ROW_ID`) where all files have one, else by role and place
    in the bucket: that changes nothing for accuracy and consistency, which only count. InputError if no bucket is
    common, a common one has other rows, roles, gold labels or allowed labels in another file, or labels are names here
    and numbers there.
    """
    names = list(rows_of)
    _check_kinds(rows_of)
    of_model = {name: np.unique(_buckets(rows)) for name, rows in rows_of.items()}
    common = of_model[names[0]]
    for name in names[1:]:
        common = np.intersect1d(common, of_model[name], assume_unique=True)
    if not len(common):
        listed = "; ".join(f"{name}: {_some(buckets.tolist())}" for name, buckets in of_model.items())
        remedy = "These are different sets, or `bucket` names another column in one file."
        raise input_error("compare", "bucket", "have ids in common", got=listed, remedy=remedy)
    kept = {name: rows.where(is_among(_buckets(rows), common)) for name, rows in rows_of.items()}
    counts, n_common = {name: rows.n_problems for name, rows in rows_of.items()}, kept[names[0]].n_problems
    notes = []
    if any(len(buckets) > len(common) for buckets in of_model.values()):
        had = ", ".join(f"{name} has {count:,}" for name, count in counts.items())
        notes.append(f"{n_common:,} buckets are common and compared; {had}")
    by_id = all(ROW_ID in rows.strata for rows in kept.values())
    ordered = {name: rows.take(_order(rows, by_id)) for name, rows in kept.items()}
    first = ordered[names[0]]
    for name in names[1:]:
        _check_same(names[0], first, name, ordered[name], by_id)
    if not by_id and not set(np.unique(first.roles).tolist()) <= {"original", "paraphrase"}:
        notes.append("rows have no ids of their own and were matched by role and place in their bucket (`example`)")
    return Aligned(ordered, counts, n_common, notes)


def _check_kinds(rows_of: Mapping[str, Rows]) -> None:
    first, *others = rows_of
    for what in ("labels", "buckets"):
        kinds = {name: is_text(getattr(rows, what)) for name, rows in rows_of.items()}
        for name in others:
            if kinds[name] != kinds[first]:
                words = {True: "names", False: "numbers"}
                remedy = "Write them the same way in both files" + (
                    "; `label_names` turns gold given by name into numbers." if what == "labels" else "."
                )
                must = "be of one kind in all files"
                got = f"{words[kinds[first]]} in {first}, {words[kinds[name]]} in {name}"
                raise input_error("compare", what, must, got=got, remedy=remedy)


def _order(rows: Rows, by_id: bool) -> NDArray[np.intp]:
    """Return the rows' order by bucket, role and id (or place)."""
    keys = [rows.roles, _buckets(rows)]
    if by_id:
        keys.insert(0, rows.strata[ROW_ID])
    return np.lexsort(keys)


def _check_same(one: str, first: Rows, other: str, second: Rows, by_id: bool) -> None:
    """Raise unless two models' ordered rows are the same rows of the same set."""
    place = [_places(rows, by_id) for rows in (first, second)]
    if place[0] != place[1]:
        only = [list((Counter(a) - Counter(b)).elements()) for a, b in (place, place[::-1])]
        bucket = (only[0] or only[1])[0][0]
        remedy = f"Look at bucket {bucket!r}. Compare models on predictions of one version of the set" + (
            "." if by_id else ", and say with `example` which column tells the rows of a bucket apart."
        )
        must = "name the same rows in every file for buckets that are common"
        got = f"{len(only[0])} rows only in {one}, {len(only[1])} only in {other}"
        raise input_error("compare", "example" if by_id else "bucket", must, got=got, remedy=remedy)
    if by_id:
        twice = [key for key, n in Counter(place[0]).items() if n > 1]
        if twice:
            remedy = f"Bucket {twice[0][0]!r} has it twice; `example` names another column."
            raise input_error("compare", "example", "differ within a bucket", got=twice[0][2], remedy=remedy)
    wrong = first.labels != second.labels
    if wrong.any():
        row = int(np.argmax(wrong))
        remedy = (
            f"{int(wrong.sum())} rows differ; the first is in bucket {_buckets(first).item(row)!r}. Labels in "
            "another order, or another version of the set?"
        )
        must = "be the same gold label in every file"
        got = f"{first.labels.item(row)!r} in {one} and {second.labels.item(row)!r} in {other}"
        raise input_error("compare", "label", must, got=got, remedy=remedy)
    if first.allowed is not None and second.allowed is not None and first.allowed != second.allowed:
        row = next(i for i, pair in enumerate(zip(first.allowed, second.allowed, strict=True)) if pair[0] != pair[1])
        remedy = f"Look at bucket {_buckets(first).item(row)!r}."
        must = "be the same in every file"
        got = f"{first.allowed[row]} in {one} and {second.allowed[row]} in {other}"
        raise input_error("compare", "allowed_labels", must, got=got, remedy=remedy)


def _places(rows: Rows, by_id: bool) -> list[tuple[Any, ...]]:
    columns: Sequence[NDArray[Any]] = [_buckets(rows), rows.roles]
    if by_id:
        columns = [*columns, rows.strata[ROW_ID]]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _buckets(rows: Rows) -> NDArray[Any]:
    assert rows.buckets is not None
    return rows.buckets


def _some(values: list[Any]) -> str:
    return ", ".join(map(repr, values[:_MOST_NAMES])) + (", ..." if len(values) > _MOST_NAMES else "")
