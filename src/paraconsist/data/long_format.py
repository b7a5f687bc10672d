"""A table of predictions as its user wrote it becomes the long format: a row for each answer, in named columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paraconsist.data import tables
from paraconsist.data.arrays import rows_counted
from paraconsist.data.foreign import as_text
from paraconsist.data.logs.format import GOLD_CONFIDENCE
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import TRIED, WORDING, Metadata, Predictions
from paraconsist.data.rows import answers_as
from paraconsist.errors import input_error, plural

_NONE: tuple[Any, ...] = (None, "", [])  # cells that hold no gold label
_STATEMENT = "probability"  # of files of statements, which have no predictions, where no other column is named
_MOST_NAMES = 3


def in_long_format(predictions: Predictions, options: SourceOptions, name: str) -> tuple[Predictions, SourceOptions]:
    """Return predictions with a row for each answer (or statement), and what their columns are called.

    `name` is the set's. InputError if a column is named that is not there, or an option is not for such a file.
    """
    is_log = "source" in predictions.metadata
    if not is_log and options.prediction not in predictions.table.column_names:
        from paraconsist.data.logs.agents import runs_of_table

        if runs := runs_of_table(predictions, options, name):
            predictions, is_log = runs, True
    columns = _columns_of_log(predictions, options, name) if is_log else options
    if not is_log:
        _check_named(options, predictions.table.column_names)
    if options.label_names is not None:
        for answered in filter(None, (columns.prediction, options.original_prediction)):
            predictions = named_labels(predictions, columns.label, answered, list(options.label_names))
    if options.groups_from is not None:
        predictions = with_groups(predictions, options.groups_from, bucket=columns.bucket, group=columns.group)
    if options.original_prediction is not None:
        return long_format(predictions, columns, options.original_prediction)
    return predictions, columns


def statement_column(table: pa.Table, names: SourceOptions) -> str | None:
    """Return the column of a file of statements that has their probabilities; None where it has predictions."""
    if names.prediction in table.column_names:
        return None
    named = names.probabilities if len(names.probabilities) == 1 else ()
    columns = [name for name in (*named, _STATEMENT) if name in table.column_names]
    return next((name for name in columns if not pa.types.is_nested(table.schema.field(name).type)), None)


def _columns_of_log(predictions: Predictions, options: SourceOptions, name: str) -> SourceOptions:
    """Return the columns that the log's reader made; InputError if options are of tables only."""
    names = predictions.table.column_names
    for option in ["label_names", "original_prediction", "encoding"] + ["trial"] * (TRIED not in names):
        if getattr(options, option) is not None:
            raise input_error("score", option, "be given for tables only", got=name, remedy="This is a log.")
    return SourceOptions(
        example=options.example,
        variant=options.variant or (WORDING if WORDING in names else None),
        places=options.places,
        confidence=GOLD_CONFIDENCE if GOLD_CONFIDENCE in names else None,
        stratum=options.stratum or (None if "strata" in predictions.metadata else ()),
    )


def _check_named(options: SourceOptions, columns: Sequence[str]) -> None:
    """Refuse columns that the file lacks; only those that are called by default may be absent."""
    for parameter in ("role", "group", "example", "probabilities"):
        named = options.named(parameter) or ()
        absent = [name for name in ([named] if isinstance(named, str) else named) if name not in columns]
        if absent and not (parameter == "group" and options.groups_from is not None):
            remedy = f"Its columns are {', '.join(columns)}."
            raise input_error("score", parameter, "name a column of the file", got=absent[0], remedy=remedy)


def long_format(
    predictions: Predictions, names: SourceOptions, original_prediction: str
) -> tuple[Predictions, SourceOptions]:
    """Turn each row into a bucket of two rows: the original, and the perturbed text, a paraphrase.

    `names.prediction` is the column of the perturbed texts, `original_prediction` that of the originals. Probabilities
    are dropped, since a row has them for at most one of its texts. The file's own buckets, if they have several rows,
    replace missing groups. Buckets are called after the ids of the rows, or their own, if each row has another, else by
    their numbers. Returns the rows and their new column names. InputError if a column is missing.
    """
    table = predictions.table
    original = tables.column_of(table, original_prediction, parameter="original_prediction")
    answers = tables.column_of(table, names.prediction, parameter="prediction")
    original, answers = answers_as(answers, original), answers_as(original, answers)
    sided = {original_prediction, names.prediction, names.bucket, names.role, names.example, *names.probabilities}
    kept = [c for c in table.column_names if c not in sided]
    grouped_by = shared_buckets(table, names)
    group = SourceOptions.group if names.group == names.bucket else names.group
    present = [name for name in ("example", "bucket") if getattr(names, name) in table.column_names]
    ids = {getattr(names, name): tables.values_of(table, getattr(names, name), parameter=name) for name in present}
    unique = (of for of in ids.values() if len({*of} - {None}) == len(table))
    buckets = pa.array([f"pair.{as_text(one)}" for one in next(unique, range(len(table)))])

    def side(answers: pa.ChunkedArray, what: str) -> pa.Table:
        columns: dict[str, pa.ChunkedArray] = {c: table[c] for c in kept}
        columns[names.prediction] = answers
        columns[names.bucket] = buckets
        if names.example in ids and names.example != names.bucket:
            columns[names.example] = pa.array([f"{as_text(one)}.{what}" for one in ids[names.example]])
        columns[names.role] = pa.array(np.full(table.num_rows, what))
        if grouped_by is not None:
            columns[group] = table[grouped_by]
        return pa.table(columns)

    sides = [side(original, "original"), side(answers, "paraphrase")]
    try:
        spread = pa.concat_tables(sides, promote_options="permissive")
    except pa.ArrowException:
        must, got = "be of one kind with `prediction`", [str(side[names.prediction].type) for side in sides]
        raise input_error("score", "original_prediction", must, got=got) from None
    return Predictions(spread, predictions.metadata), replace(names, group=group)


def shared_buckets(table: pa.Table, names: SourceOptions) -> str | None:
    """Return the column of buckets of a file with a pair in each row, if it tells which rows belong together.

    None if the file has groups too, no buckets, or no bucket with two rows.
    """
    if names.bucket not in table.column_names or (names.group in table.column_names and names.group != names.bucket):
        return None
    buckets = tables.values_of(table, names.bucket, parameter="bucket")
    return names.bucket if len(set(buckets)) < table.num_rows else None


def own_ids(table: pa.Table, columns: SourceOptions) -> pa.Table:
    """Return a table in which rows of different buckets have different ids: of its bucket and row where they had not.

    InputError if two rows of a bucket have one id, and no column says that they are several answers to it.
    """
    keys = [columns.bucket, columns.example]
    if columns.bucket == columns.example or not set(keys) <= set(table.column_names):
        return table
    counted = rows_counted(table, keys)
    if counted is None:
        return table
    if columns.trial is None and len(counted) < len(table):
        twice = counted.filter(pc.greater(counted["count_all"], 1))
        bucket, example = twice[columns.bucket][0].as_py(), twice[columns.example][0].as_py()
        remedy = (
            f"Bucket {bucket!r} has it more than once, as have {len(twice) - 1:,} other pairs: leave copies out; name "
            "another column as `example`; or, if wordings were asked several times, name the column of the `trial`."
        )
        raise input_error("score", "example", "differ within a bucket", got=example, remedy=remedy)
    if len(counted[columns.example].unique()) == len(counted) or counted[columns.example].null_count:
        return table
    joined = pc.binary_join_element_wise(*(table[key].cast(pa.string()) for key in keys), "/")
    return table.set_column(table.column_names.index(columns.example), columns.example, joined)


def named_labels(predictions: Predictions, column: str, answered: str, label_names: list[str]) -> Predictions:
    """Replace names by their numbers in `label_names` in the columns of labels and of predictions (`answered`).

    A prediction that is none of them, nor its number, could not be read. InputError if a label is not among the names.
    """
    table = predictions.table
    number = {name: place for place, name in enumerate(label_names)}
    if answered in table.column_names and pa.types.is_string(table[answered].type):
        known = {str(place): place for place in number.values()} | number  # one answer of many may be no number
        numbers = pa.array([known.get(answer) for answer in table[answered].to_pylist()], pa.int64())
        table = table.set_column(table.column_names.index(answered), answered, numbers)
    values = tables.column_of(table, column, parameter="label").to_pylist()
    given = [(row, value) for row, value in enumerate(values) if value not in (None, "")]
    if given and all(isinstance(value, str) for _, value in given):
        for row, value in given:
            if value not in number:
                raise input_error("score", column, f"be one of {', '.join(label_names)}", got=value, row=row)
        gold = pa.array([number.get(value) for value in values], pa.int64())
        table = table.set_column(table.column_names.index(column), column, gold)
    return Predictions(table, {**predictions.metadata, "label_names": label_names})


def with_groups(predictions: Predictions, table: Path, *, bucket: str, group: str) -> Predictions:
    """Add or replace the column `group` of predictions, by their `bucket`, from a file with both columns.

    The file may repeat a bucket, for example as the items of the set. InputError if a column is missing, a bucket has
    two groups, or a bucket of the predictions has none.
    """
    items = tables.read_table(table, function="compare", parameter="groups_from")
    for rows, name in ((items, bucket), (items, group), (predictions.table, bucket)):
        if name not in rows.column_names:
            remedy = f"Look at {table.name}."
            raise input_error("compare", name, "be a column of the file", got=rows.column_names, remedy=remedy)
    of_bucket: dict[object, object] = {}
    both = [tables.values_of(items, name, parameter="groups_from", function="compare") for name in (bucket, group)]
    for row, (bucket_name, group_name) in enumerate(zip(*both, strict=True)):
        if of_bucket.setdefault(bucket_name, group_name) != group_name:
            two_groups, must = [of_bucket[bucket_name], group_name], "be the same in all rows of a bucket"
            remedy = f"Look at bucket {bucket_name!r} of {table.name}."
            raise input_error("compare", group, must, got=two_groups, row=row, remedy=remedy)
    buckets = tables.values_of(predictions.table, bucket, parameter="bucket", function="compare")
    absent = [value for value in dict.fromkeys(buckets) if value not in of_bucket]
    if absent:
        got = f"none for {len(absent)} buckets: {', '.join(map(repr, absent[:_MOST_NAMES]))}"
        raise input_error("compare", "groups_from", "have a group for every bucket", got=got)
    rows = predictions.table.drop_columns([group]) if group in predictions.table.column_names else predictions.table
    column = pa.array([of_bucket[value] for value in buckets])
    return Predictions(rows.append_column(group, column), predictions.metadata)


def bucket_ids(predictions: Predictions, bucket: str) -> list[str]:
    """Return the bucket of every row, as text; `bucket` is their column."""
    column = tables.column_of(predictions.table, bucket, parameter="bucket")
    return [str(value) for value in tables.plain_column(column, bucket, "bucket").tolist()]


def without_buckets(predictions: Predictions, bucket: str, excluded: Collection[str], which: str = "") -> Predictions:
    """Return predictions without the rows of some buckets, which are named as text; `bucket` is their column.

    Where it is said `which` these are, such as "of a list", they are counted in the metadata and told in a note.
    """
    kept = np.array([one not in excluded for one in bucket_ids(predictions, bucket)], dtype=np.bool_)
    metadata: Metadata = {**predictions.metadata}
    if which:
        n_rows = len(kept) - int(kept.sum())
        before = metadata.get("excluded", {"n_buckets": 0, "n_rows": 0})
        counts = {"n_buckets": before["n_buckets"] + len(excluded), "n_rows": before["n_rows"] + n_rows}
        note = f"{plural(len(excluded), 'bucket')} ({plural(n_rows, 'row')}) {which}: left out"
        metadata |= {"excluded": counts, "notes": [*metadata.get("notes", ()), note]}
    return Predictions(predictions.table.filter(pa.array(kept)), metadata)


def unlabelled_buckets(predictions: Predictions, columns: SourceOptions) -> frozenset[str]:
    """Return the buckets that have a row without a gold label, a rule or an accepted answer; InputError if all have."""
    table = predictions.table
    tables.column_of(table, columns.label, parameter="label")
    gold = [table[name].to_pylist() for name in (columns.label, "allowed_labels") if name in table.column_names]
    ids = bucket_ids(predictions, columns.bucket)
    found = {of for of, cells in zip(ids, zip(*gold, strict=True), strict=True) if all(c in _NONE for c in cells)}
    if found == {*ids}:
        must = "have a problem whose wordings all have one, with `labelled`"
        raise input_error("score", "label", must, got=f"none of {len(found):,} has")
    return frozenset(found)
