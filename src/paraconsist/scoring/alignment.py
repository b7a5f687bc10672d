"""Several models' rows of one set, brought into one order: the buckets that all of them answered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.rows import Rows, read_rows
from paraconsist.data.tables import is_among, is_text, plain_column, plain_table
from paraconsist.errors import input_error, plural
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
from paraconsist.scoring.sources import Source

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


def rows_with_ids(source: Source, *, with_ids: bool = True, need_probabilities: bool = False) -> Rows:
    """Return a set's rows, their only stratum being their own ids (`ROW_ID`), if wanted and where the file has any."""
    rows, table, name = source.scored_rows.get(need_probabilities), source.predictions.table, source.columns.example
    if rows is None:
        columns = replace(source.columns, stratum=())
        columns = columns if need_probabilities else replace(columns, confidence=None, probabilities=())
        rows = read_rows(source.predictions, columns, need_probabilities=need_probabilities)
    if not with_ids or name not in table.column_names:
        return replace(rows, strata={})
    ids = plain_column(plain_table(table.select([name]))[name], name, "example")
    return replace(rows, strata={ROW_ID: ids})


def align(rows_of: Mapping[str, Rows]) -> Aligned:
    """Keep the buckets that every model (name -> rows, two or more) has, and bring their rows into one order.

    Rows of a bucket are matched by their own id (the stratum `ROW_ID`) where all files have one, else by role and place
    in the bucket: that changes nothing for accuracy and consistency, which only count. Of agents, whose runs are no
    pairs, as many runs of a task are kept as every model has. InputError if no bucket is common, a common one has other
    rows, roles, gold labels or allowed labels in another file, or labels are names here and numbers there.
    """
    reference, *others = rows_of
    rows_of = _of_one_kind(rows_of)
    _check_kinds(rows_of)
    of_model = {name: np.unique(np.asarray(rows.buckets)) for name, rows in rows_of.items()}
    common = reduce(np.intersect1d, of_model.values())
    if not len(common):
        some = {name: buckets.tolist() for name, buckets in of_model.items()}
        listed = "; ".join(
            f"{name}: {', '.join(map(repr, ids[:_MOST_NAMES]))}{', ...' if len(ids) > _MOST_NAMES else ''}"
            for name, ids in some.items()
        )
        remedy = "These are different sets, or `bucket` names another column in one file."
        if len({any(" epoch " in str(name) for name in ids) for ids in some.values()}) > 1:
            remedy = "One log has several epochs: `epoch` chooses one of them."
        raise input_error("compare", "bucket", "have ids in common", got=listed, remedy=remedy)
    kept = {name: rows.where(is_among(np.asarray(rows.buckets), common)) for name, rows in rows_of.items()}
    counts, n_common = {name: rows.n_problems for name, rows in rows_of.items()}, kept[reference].n_problems
    notes = []
    if any(len(buckets) > len(common) for buckets in of_model.values()):
        had = ", ".join(f"{name} has {count:,}" for name, count in counts.items())
        notes.append(f"compared on {plural(n_common, 'common bucket')}; {had}")
    if all(rows.calls is not None and rows.are_runs for rows in kept.values()):
        kept = _as_many_runs(kept, common, notes)
    by_id = all(ROW_ID in rows.strata for rows in kept.values())
    ordered = {name: rows.take(np.lexsort(_keys(rows, by_id)[::-1])) for name, rows in kept.items()}
    for other in others:
        _check_same(reference, ordered[reference], other, ordered[other], by_id)
    ordered = _with_common_groups(ordered, notes)
    if not by_id and not set(np.unique(ordered[reference].roles).tolist()) <= {ORIGINAL, PARAPHRASE}:
        notes.append("rows have no ids of their own and were matched by role and place in their bucket (`example`)")
    return Aligned(ordered, counts, n_common, notes)


def _as_many_runs(kept: Mapping[str, Rows], common: NDArray[Any], notes: list[str]) -> dict[str, Rows]:
    """Return as many runs of each task, the first ones, as every model has; a note says of what some were left out."""
    tasks = {name: np.searchsorted(common, np.asarray(rows.buckets)) for name, rows in kept.items()}
    fewest = np.min([np.bincount(task) for task in tasks.values()], axis=0)
    first = {}
    for name, task in tasks.items():
        order, sizes = np.argsort(task, kind="stable"), np.bincount(task)
        place = np.empty_like(task)
        place[order] = np.arange(len(task)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        first[name] = replace(kept[name], strata={}).where(place < fewest[task])
    n_runs = len(next(iter(first.values())))
    if more := [f"{name} has {len(rows):,}" for name, rows in kept.items() if len(rows) > n_runs]:
        notes.append(f"compared on {plural(n_runs, 'run')}, as many of each task as all have; {', '.join(more)}")
    return first


def _with_common_groups(ordered: Mapping[str, Rows], notes: list[str]) -> dict[str, Rows]:
    """Return rows that all have the groups of the first model with any; a note says so where files differ in them."""
    members = {name: _first_members(rows.groups) for name, rows in ordered.items() if rows.groups is not None}
    if not members:
        return dict(ordered)
    first, *others = members
    if len(members) < len(ordered) or any((members[other] != members[first]).any() for other in others):
        notes.append(f"files differ in their groups (`group`): those of {first} are resampled for all models")
    return {name: replace(rows, groups=ordered[first].groups) for name, rows in ordered.items()}


def _first_members(groups: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of the first row of each row's group: the same in files whose groups have other names."""
    _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(first[codes])


def _of_one_kind(rows_of: Mapping[str, Rows]) -> Mapping[str, Rows]:
    """Return rows with numbers as text where those of other models are text: one answer in words makes them so."""
    texts = [rows for rows in rows_of.values() if is_text(rows.labels)]
    if not 0 < len(texts) < len(rows_of) or not all(_are_numerals(rows.labels[rows.has_gold]) for rows in texts):
        return rows_of
    written: dict[str, Rows] = {}
    for name, rows in rows_of.items():
        labels, answers = ([*map(str, column.tolist())] for column in (rows.labels, rows.predictions))
        allowed = rows.allowed and [[*map(str, rule)] for rule in rows.allowed]
        places = rows.places and tuple(map(str, rows.places))
        text = replace(rows, labels=np.array(labels), predictions=np.array(answers), allowed=allowed, places=places)
        written[name] = rows if is_text(rows.labels) else text
    return written


def _are_numerals(labels: NDArray[Any]) -> bool:
    return all(re.fullmatch(r"0|-?[1-9]\d*", label) for label in set(labels.tolist()))


def _check_kinds(rows_of: Mapping[str, Rows]) -> None:
    first, *others = rows_of
    without = [name for name, rows in rows_of.items() if rows.is_without_gold]
    if 0 < len(without) < len(rows_of):
        remedy = "Name the column that has them, or compare without (`label` '')."
        must = "name gold labels in every file, or in none"
        raise input_error("compare", "label", must, got=f"none in {', '.join(without)}", remedy=remedy)
    for what in ("label", "bucket"):
        words = {n: "names" if is_text(getattr(rows, f"{what}s")) else "numbers" for n, rows in rows_of.items()}
        for other in others:
            if words[other] != words[first]:
                more = "; `label_names` turns gold given by name into numbers." if what == "label" else "."
                must, got = "be of one kind in all files", f"{words[first]} in {first}, {words[other]} in {other}"
                raise input_error("compare", what, must, got=got, remedy=f"Write them the same way in both files{more}")


def _keys(rows: Rows, by_id: bool) -> list[NDArray[Any]]:
    """Return what tells rows apart: bucket, role and, where the files have one, id."""
    return [np.asarray(rows.buckets), rows.roles, *([rows.strata[ROW_ID]] if by_id else [])]


def _check_same(one: str, first: Rows, other: str, second: Rows, by_id: bool) -> None:
    """Raise unless two models' ordered rows are the same rows of the same set."""
    places = [Counter(zip(*(k.tolist() for k in _keys(rows, by_id)), strict=True)) for rows in (first, second)]
    if places[0] != places[1]:
        only = [list((a - b).elements()) for a, b in (places, places[::-1])]
        bucket = (only[0] or only[1])[0][0]
        if Counter(key[::2] for key in only[0]) == Counter(key[::2] for key in only[1]):  # all but their roles
            got = f"other roles in {one} than in {other}"
            remedy = f"Look at bucket {bucket!r}."
            raise input_error("compare", "role", "be the same in every file", got=got, remedy=remedy)
        remedy = f"Look at bucket {bucket!r}. Compare models on predictions of one version of the set"
        remedy += "." if by_id else ", and say with `example` which column tells the rows of a bucket apart."
        must = "name the same rows in every file for buckets that are common"
        got = f"{len(only[0])} rows only in {one}, {len(only[1])} only in {other}"
        raise input_error("compare", "example" if by_id else "bucket", must, got=got, remedy=remedy)
    if twice := [key for key, n in places[0].items() if by_id and n > 1]:
        remedy = f"Bucket {twice[0][0]!r} has it twice; `example` names another column."
        raise input_error("compare", "example", "differ within a bucket", got=twice[0][2], remedy=remedy)
    wrong = first.labels != second.labels
    if wrong.any():
        row = int(np.argmax(wrong))
        where = f"{int(wrong.sum())} rows differ; the first is in bucket {np.asarray(first.buckets).item(row)!r}"
        remedy = f"{where}. Labels in another order, or another version of the set?"
        got = f"{first.labels.item(row)!r} in {one} and {second.labels.item(row)!r} in {other}"
        raise input_error("compare", "label", "be the same gold label in every file", got=got, remedy=remedy)
    if first.allowed is not None and second.allowed is not None and first.allowed != second.allowed:
        row = next(i for i, pair in enumerate(zip(first.allowed, second.allowed, strict=True)) if pair[0] != pair[1])
        got = f"{first.allowed[row]} in {one} and {second.allowed[row]} in {other}"
        remedy = f"Look at bucket {np.asarray(first.buckets).item(row)!r}."
        raise input_error("compare", "allowed_labels", "be the same in every file", got=got, remedy=remedy)
