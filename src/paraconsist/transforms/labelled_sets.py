"""Labelled rows in, bucket sets of perturbations with their sheets out, and what people marked valid.

Also the files of ``paraconsist transform``, in which every column but the texts stays as it is.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paraconsist.data.bucket_sets import BucketSet, bucket_set_from_table, is_file_of_rows, load_bucket_set, read_rows
from paraconsist.data.prompts import are_questions
from paraconsist.data.tables import read_table
from paraconsist.data.tasks import QUESTIONS, infer_task, input_id, named_in_rows
from paraconsist.data.writing import bucket_set_schema, row_writer, write_table
from paraconsist.errors import input_error, renamed
from paraconsist.transforms.interface import texts_of
from paraconsist.transforms.perturbation import LabelledRow, LabelledSet, Perturbation, RowOptions, sampled
from paraconsist.transforms.sheets import ITEM_COLUMNS, check_same_texts, open_sheet, read_marks, render

#: The formats of a written set.
SET_ENDINGS = (".parquet", ".jsonl")
_NO_LABEL = ("-", "")


def load_rows(spec: str, skipped: Counter[str], reading: RowOptions) -> BucketSet:
    """Read a file, or a set as `paraconsist run --dataset` takes it; a file's rows need neither ids nor all labels."""
    if not is_file_of_rows(spec):
        if reading.label_names:
            raise input_error("perturb", "label_names", "be given with a file only", got=[*reading.label_names])
        named: Any = {name: getattr(reading, name) for name in ("task", "data_dir", "split")}
        with renamed(column="columns"):
            return load_bucket_set(spec, **named, column=reading.columns, numbered=True)
    path = Path(spec)
    with renamed(column="columns"):
        table, declared, comparers = read_rows(path, function="perturb", parameter="data", column=reading.columns)
    names = reading.label_names or declared
    if "label" in table.column_names and not are_questions(table.column_names):
        label = table["label"]
        missing = label.is_null()
        if pa.types.is_string(label.type) or pa.types.is_large_string(label.type):
            missing = pc.or_kleene(missing, pc.is_in(label, pa.array(_NO_LABEL, label.type)))
        n_missing = pc.sum(missing).as_py() or 0
        if n_missing:
            skipped["no gold label"] += n_missing
            table = table.filter(pc.invert(missing))
    rows = bucket_set_from_table(table, name=path.stem, task=reading.task, label_names=names, numbered=True)
    return replace(rows, comparers=comparers)


def labelled(rows: BucketSet, skipped: Counter[str], *, limit: int | None = None, seed: int = 0) -> LabelledSet:
    """Return the rows with gold labels, of bucket sets only the originals; `limit` of them are drawn at random.

    Rows without a gold label (``-``, empty, -1) and rows that are not originals are counted into `skipped`.
    """
    if rows.task is QUESTIONS:
        remedy = "`paraconsist transform` changes the texts of questions."
        raise input_error("perturb", "data", "be rows with labels, not questions", got=rows.name, remedy=remedy)
    ids, groups, roles, labels = (rows.table[c].to_pylist() for c in ("example_id", "group_id", "role", "label"))
    texts = zip(*(rows.table[c].to_pylist() for c in rows.task.columns), strict=True)
    has_originals = "original" in roles
    kept = []
    for example_id, group_id, role, label, values in zip(ids, groups, roles, labels, texts, strict=True):
        if has_originals and role != "original":
            skipped[f"a {role}, not an original"] += 1
        elif label < 0:
            skipped["no gold label"] += 1
        elif not all(isinstance(value, str) for value in values):
            rows.task.values({**dict(zip(rows.task.columns, values, strict=True)), "example_id": example_id})  # raises
        else:
            kept.append(LabelledRow(example_id, group_id, values, label))
    if not kept:
        raise input_error("perturb", "data", "have at least one row with a gold label", got=rows.name)
    return LabelledSet(rows.name, rows.task, rows.label_names, sampled(kept, limit, seed))


def write_set(items: Iterable[Perturbation], data: LabelledSet, output: Path, sheet: Path) -> int:
    """Write items as a bucket set and as a sheet, item by item, and return their number.

    Parquet carries the label names, JSON Lines cannot: there the set's labels must be the task's.
    """
    if output.suffix == ".jsonl" and data.label_names != data.task.label_names:
        own, names = ", ".join(data.task.label_names), ", ".join(data.label_names)
        must = f"end in .parquet, which carries label names; {data.task.name}'s own are {own}, here they are {names}"
        raise input_error("perturb", "output", must, got=str(output))
    upcoming = iter(items)
    first = next(upcoming, None)
    if first is None:
        must, remedy = "hold for at least one row", "`paraconsist perturb --help` says what each property needs."
        raise input_error("perturb", "property", must, got=f"none of {len(data.rows):,} rows", remedy=remedy)
    n_items = 0
    schema = bucket_set_schema(next(rows_of(first, data)), data.label_names)
    with row_writer(output, schema) as write_row, open_sheet(sheet, ITEM_COLUMNS) as write_line:  # the set is last
        for item in itertools.chain([first], upcoming):
            n_items += 1
            for row in rows_of(item, data):
                write_row(row)
            label = " or ".join(data.label_names[i] for i in item.places[-1].allowed_labels)
            texts = _shown(data.task.columns, [place.texts for place in item.places])
            write_line((item.bucket_id, item.property, *texts, label, ""))
    return n_items


def _shown(columns: Sequence[str], texts: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Return the rows of a bucket as the sheet shows them: the originals, and the perturbed one (the last)."""
    return render(columns, texts[:-1]), render(columns, texts[-1:])


def rows_of(item: Perturbation, data: LabelledSet) -> Iterator[dict[str, object]]:
    """Yield an item's rows in the long format."""
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
            **named_in_rows(data.task),
            **item.strata,
        }


def keep_checked(written: Path, sheet: Path, output: Path) -> Iterator[str]:
    """Write the buckets of a set that its sheet marks valid, and yield lines with their number."""
    if written.suffix != output.suffix:
        raise input_error("perturb", "output", f"end in {written.suffix}, as the set does", got=str(output))
    table = read_table(written, function="perturb", parameter="data")
    if "bucket_id" not in table.column_names:
        raise input_error("perturb", "data", "be a set that perturb wrote, with bucket_id", got=table.column_names)
    columns: tuple[str, ...] = ("text",)
    if "text" not in table.column_names:
        columns = infer_task(table.column_names, function="perturb").columns
    marks = read_marks(sheet, function="perturb")
    texts: dict[str, list[tuple[str, ...]]] = {}
    buckets = table["bucket_id"].to_pylist()
    for bucket, *values in zip(buckets, *(table[c].to_pylist() for c in columns), strict=True):
        texts.setdefault(bucket, []).append(tuple(values))
    check_same_texts("perturb", marks.texts, {bucket: _shown(columns, rows) for bucket, rows in texts.items()})
    valid = {bucket for bucket, is_valid in marks.valid.items() if is_valid}
    if not valid:
        raise input_error("perturb", "checked", "mark at least one item as valid", got=str(sheet))
    kept = table.filter(pa.array([bucket in valid for bucket in buckets]))
    write_table(kept, output)
    n_open = sum(marks.valid.get(bucket) is None for bucket in texts)
    yield f"{len(valid):,} of {len(texts):,} items are valid ({kept.num_rows:,} rows): {output}"
    yield f"  left out {len(texts) - len(valid) - n_open:,} marked invalid, {n_open:,} not marked"


def read_texts(path: Path, columns: Sequence[str]) -> tuple[pa.Table, dict[str, list[str]]]:
    """Return a file's rows, and the texts of some of its columns."""
    rows = read_rows(path, function="transform", parameter="file")[0]
    return rows, texts_of(rows, columns, function="transform", name=path.name)


def write_texts(rows: pa.Table, changed: Mapping[str, Sequence[str]], path: Path) -> None:
    """Write the rows with their changed texts, atomically."""
    for column, texts in changed.items():
        rows = rows.set_column(rows.column_names.index(column), column, pa.array(texts, pa.string()))
    write_table(rows, path)
