"""Reading labelled rows for ``paraconsist perturb``, writing its bucket sets, and keeping what was checked.

Rows of texts read and written for ``paraconsist transform``: every column but the texts stays as it is.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paraconsist.data.bucket_sets import BucketSet, bucket_set_from_table, declared_label_names, load_bucket_set
from paraconsist.data.tables import read_table
from paraconsist.data.tasks import infer_task, input_id
from paraconsist.data.writing import bucket_set_schema, row_writer, write_table
from paraconsist.errors import input_error
from paraconsist.transforms.perturbation import LabelledRow, LabelledSet, Perturbation
from paraconsist.transforms.sheets import ITEM_COLUMNS, check_same_texts, open_sheet, read_marks, render

_FILE_ENDINGS = (".parquet", ".jsonl", ".json", ".csv", ".tsv")
#: What a set can be written as.
SET_ENDINGS = (".parquet", ".jsonl")
_NO_LABEL = ("-", "")


def load_labelled(
    spec: str,
    skipped: Counter[str],
    *,
    task: str | None = None,
    columns: Sequence[str] = (),
    label_names: str | None = None,
    split: str = "test",
    data_dir: str | None = None,
) -> LabelledSet:
    """Read rows with gold labels; of bucket sets only the originals.

    Parameters
    ----------
    spec : str
        A file, or what `paraconsist run --dataset` takes.
    skipped : Counter
        Rows without a gold label (``-``, empty, -1) and rows that are no originals are counted into it.
    task, split, data_dir
        As for `paraconsist.data.bucket_sets.load_bucket_set`.
    columns : sequence of str
        ``TASK_COLUMN=FILE_COLUMN``.
    label_names : str, optional
        Names in class order, with commas between.

    Raises
    ------
    InputError
        If the rows cannot be had, lack a column, or hold labels that do not fit.
    """
    names = None if label_names is None else tuple(name.strip() for name in label_names.split(","))
    if spec.endswith(_FILE_ENDINGS):
        return _labelled(_from_file(Path(spec), skipped, task, columns, names), skipped)
    if columns or names:
        raise input_error("perturb", "column", "be given with a file only", got=[*columns, *(names or ())])
    return _labelled(load_bucket_set(spec, task=task, data_dir=data_dir, split=split), skipped)


def _from_file(
    path: Path, skipped: Counter[str], task: str | None, columns: Sequence[str], names: tuple[str, ...] | None
) -> BucketSet:
    table = read_table(path, function="perturb", parameter="data")
    names = names or declared_label_names(table)
    table = _renamed(table, columns)
    if "label" in table.column_names:
        label = table["label"]
        missing = label.is_null()
        if pa.types.is_string(label.type) or pa.types.is_large_string(label.type):
            missing = pc.or_kleene(missing, pc.is_in(label, pa.array(_NO_LABEL, label.type)))
        n_missing = pc.sum(missing).as_py() or 0
        if n_missing:
            skipped["no gold label"] += n_missing
            table = table.filter(pc.invert(missing))
    if "bucket_id" not in table.column_names:
        ids = table["example_id"] if "example_id" in table.column_names else [str(i) for i in range(table.num_rows)]
        table = table.append_column("bucket_id", ids if isinstance(ids, pa.ChunkedArray) else pa.array(ids))
        if "example_id" not in table.column_names:
            table = table.append_column("example_id", table["bucket_id"])
    return bucket_set_from_table(table, name=path.stem, task=task, label_names=names)


def _renamed(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    names = {}
    for item in columns:
        wanted, equals, given = item.partition("=")
        if not equals or given not in table.column_names:
            raise input_error(
                "perturb", "column", "be TASK_COLUMN=FILE_COLUMN", got=item, remedy=f"There are {table.column_names}."
            )
        names[given] = wanted
    kept = [c for c in table.column_names if c in names or c not in names.values()]
    return table.select(kept).rename_columns([names.get(c, c) for c in kept])


def _labelled(found: BucketSet, skipped: Counter[str]) -> LabelledSet:
    table = found.table
    texts = zip(*(table[c].to_pylist() for c in found.task.columns), strict=True)
    roles = table["role"].to_pylist()
    with_originals = "original" in roles
    rows = []
    for example_id, group_id, role, label, values in zip(
        table["example_id"].to_pylist(),
        table["group_id"].to_pylist(),
        roles,
        table["label"].to_pylist(),
        texts,
        strict=True,
    ):
        if with_originals and role != "original":
            skipped[f"a {role}, not an original"] += 1
        elif label < 0:
            skipped["no gold label"] += 1
        elif not all(isinstance(value, str) for value in values):
            found.task.values({**dict(zip(found.task.columns, values, strict=True)), "example_id": example_id})
        else:
            rows.append(LabelledRow(example_id, group_id, values, label))
    if not rows:
        raise input_error("perturb", "data", "have at least one row with a gold label", got=found.name)
    return LabelledSet(found.name, found.task, found.label_names, rows)


def write_set(items: Iterable[Perturbation], data: LabelledSet, output: Path, sheet: Path) -> int:
    """Write items as a bucket set and as a sheet, item by item, and return how many there were.

    Parquet carries the label names (as the `datasets` library writes them), JSON Lines cannot: there the
    set's labels must be the task's own.

    Raises
    ------
    InputError
        If there is no item, or JSON Lines cannot say what the labels are called.
    """
    if output.suffix == ".jsonl" and data.label_names != data.task.label_names:
        raise input_error(
            "perturb",
            "output",
            f"end in .parquet, which carries label names; {data.task.name}'s own are "
            f"{', '.join(data.task.label_names)}, here they are {', '.join(data.label_names)}",
            got=str(output),
        )
    upcoming = iter(items)
    first = next(upcoming, None)
    if first is None:
        raise input_error(
            "perturb",
            "property",
            "hold for at least one row",
            got=f"none of {len(data.rows):,} rows",
            remedy="`paraconsist perturb --help` says what each property needs.",
        )
    columns, n_items = data.task.columns, 0
    schema = bucket_set_schema(next(rows_of(first, data)), data.label_names)
    with open_sheet(sheet, ITEM_COLUMNS) as write_line, row_writer(output, schema) as write_row:
        for item in itertools.chain([first], upcoming):
            n_items += 1
            for row in rows_of(item, data):
                write_row(row)
            *originals, perturbed = (place.texts for place in item.places)
            label = " or ".join(data.label_names[i] for i in item.places[-1].allowed_labels)
            texts = (render(columns, originals), render(columns, [perturbed]))
            write_line((item.bucket_id, item.property, *texts, label, ""))
    return n_items


def rows_of(item: Perturbation, data: LabelledSet) -> Iterator[dict[str, Any]]:
    """Yield an item's rows in the long format of the bucket set."""
    for place in item.places:
        texts = dict(zip(data.task.columns, place.texts, strict=True))
        yield {
            "example_id": f"{item.bucket_id}.{place.role}",
            "input_id": input_id(data.task, texts),
            "bucket_id": item.bucket_id,
            "group_id": item.group_id,
            "role": place.role,
            **texts,
            "label": place.label,
            "allowed_labels": list(place.allowed_labels),
            **item.strata,
        }


def keep_checked(written: Path, sheet: Path, output: Path) -> Iterator[str]:
    """Write the buckets of a set that its sheet marks valid, and yield lines that say how many.

    Raises
    ------
    InputError
        If the sheet is not that set's: a bucket is unknown, or its texts differ. Also if none is valid, or
        the output is of another format than the set.
    """
    if written.suffix != output.suffix:
        raise input_error("perturb", "output", f"end in {written.suffix}, as the set does", got=str(output))
    table = read_table(written, function="perturb", parameter="data")
    if "bucket_id" not in table.column_names:
        raise input_error("perturb", "data", "be a set that perturb wrote, with bucket_id", got=table.column_names)
    columns = infer_task(table.column_names).columns if "text" not in table.column_names else ("text",)
    marks = read_marks(sheet, function="perturb")
    shown: dict[str, list[tuple[str, ...]]] = {}
    buckets = table["bucket_id"].to_pylist()
    for bucket, *values in zip(buckets, *(table[c].to_pylist() for c in columns), strict=True):
        shown.setdefault(bucket, []).append(tuple(values))
    written_texts = {
        bucket: (render(columns, originals), render(columns, [perturbed]))
        for bucket, (*originals, perturbed) in shown.items()
    }
    check_same_texts("perturb", marks.texts, written_texts)
    kept = {bucket for bucket, is_valid in marks.valid.items() if is_valid}
    if not kept:
        raise input_error("perturb", "checked", "mark at least one item as valid", got=str(sheet))
    rows = table.filter(pa.array([bucket in kept for bucket in buckets]))
    write_table(rows, output)
    n_open = sum(1 for bucket in shown if marks.valid.get(bucket) is None)
    n_invalid = len(shown) - len(kept) - n_open
    yield f"{len(kept):,} of {len(shown):,} items are valid ({rows.num_rows:,} rows): {output}"
    yield f"  left out {n_invalid:,} marked invalid, {n_open:,} not marked"


def read_rows(path: Path) -> pa.Table:
    """Read a file of rows.

    Raises
    ------
    InputError
    """
    return read_table(path, function="transform", parameter="file")


def texts_of(rows: pa.Table, columns: Sequence[str], path: Path) -> dict[str, list[str]]:
    """Return columns of texts.

    Raises
    ------
    InputError
        If there are none, one is not there, or holds something else than texts; rows count from 0.
    """
    if not columns or len(set(columns)) < len(columns):
        raise input_error("transform", "columns", "name columns, each once", got=list(columns))
    found = {}
    for column in columns:
        if column not in rows.column_names:
            raise input_error(
                "transform",
                "columns",
                f"be columns of {path.name}",
                got=column,
                remedy=f"There are {', '.join(rows.column_names)}.",
            )
        values = rows[column].to_pylist()
        for row, value in enumerate(values):
            if not isinstance(value, str):
                raise input_error("transform", column, "hold texts only", got=value, row=f"{row} of {path.name}")
        found[column] = values
    return found


def labels_of(rows: pa.Table, column: str) -> list[str] | None:
    """Return a column as texts, None if it is not there."""
    if column not in rows.column_names:
        return None
    return ["" if value is None else str(value) for value in rows[column].to_pylist()]


def write_rows(rows: pa.Table, changed: Mapping[str, Sequence[str]], path: Path) -> None:
    """Write the rows with their changed texts; the file is there whole or not at all."""
    for column, texts in changed.items():
        rows = rows.set_column(rows.column_names.index(column), column, pa.array(texts, pa.string()))
    write_table(rows, path)
