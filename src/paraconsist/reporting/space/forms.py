"""The forms of a page: what it asks of a visitor, how an uploaded or pasted file becomes rows, what it then shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paraconsist.data.long_format import named_labels, shared_buckets
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import Rows, read_rows
from paraconsist.data.tables import numeric
from paraconsist.errors import input_error, renamed
from paraconsist.measures.catalogue import MeasureSpec
from paraconsist.measures.rules import ORIGINAL
from paraconsist.reporting.page.models import Model
from paraconsist.reporting.space.reader import read_apart

EXAMPLES = files("paraconsist.reporting.space").joinpath("examples")


@dataclass(frozen=True)
class Field:
    """A question to the visitor: which column has this content?"""

    key: str  # its name in the code
    label: str  # shown to the visitor, as the info
    guesses: str  # names that such columns have, with blanks between, best first
    info: str = ""
    required: bool = True
    many: bool = False  # several columns may be chosen, such as one for each class


@dataclass(frozen=True)
class Layout:
    """One way in which a file can be laid out.

    `sides` is for files with all texts of a bucket in one row: role -> column of the long format -> the field that
    names it. Empty where every row is one text.
    """

    key: str
    label: str
    fields: Sequence[Field]
    sides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Option:
    """A choice among few: `key` is the function's parameter, the first of `choices` (label, value) its default."""

    key: str
    label: str
    choices: Sequence[tuple[str, Any]]


@dataclass(frozen=True)
class Headline:
    """A number in large type."""

    label: str
    path: tuple[str, ...]  # among the keys; its interval stands at the same path under ``confidence_interval``
    style: str = "percent"  # percent, points (of a difference), number or p


@dataclass(frozen=True)
class Query:
    """The visitor's file, columns and options."""

    predictions: Predictions
    layout: Layout
    columns: Mapping[str, Any]  # field key -> column name (a list where the field takes several), None if not chosen
    label_names: Sequence[str] = ()  # of the labels 0, 1, ... if they were given
    confidence_level: float = 0.95  # of the interval, as the two that follow
    n_resamples: int = 10_000
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)  # the module's own

    @property
    def intervals(self) -> dict[str, Any]:
        """The options of intervals that every measure takes."""
        return {"confidence_level": self.confidence_level, "n_resamples": self.n_resamples, "seed": self.seed}


@dataclass(frozen=True)
class Flips:
    """Where the predictions differ, worst first."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]  # cells, not yet escaped; a list has several lines; at most `MOST` rows
    n: int  # in all


@dataclass(frozen=True)
class PageResult:
    """The results that a module shows of a visitor's file."""

    keys: Mapping[str, Any]  # what the measure's function returns
    figure: str = ""  # an SVG of what is in no report, empty where there is nothing to draw
    caption: str = ""  # what the figure shows
    flips: Flips | None = None  # where there is no report
    models: Sequence[Model] = ()  # of the report
    warnings: Sequence[str] = ()  # beside those among the keys
    command: Sequence[str] = ()  # the same on the command line, FILE standing for the file; empty where it has none


@dataclass(frozen=True)
class Module:
    """A metric's page."""

    spec: MeasureSpec  # what the catalogue says of the measure
    layouts: Sequence[Layout]
    headlines: Sequence[Headline]
    measure: Callable[[Query], PageResult]  # what the visitor gave -> what the page shows
    example_file: str  # in `EXAMPLES`: a small CSV in a layout of the module, our own sentences and invented answers
    options: Sequence[Option] = ()

    def example(self) -> str:
        """Return the content of the example file."""
        return EXAMPLES.joinpath(self.example_file).read_text(encoding="utf-8")

    def layout(self, key: str) -> Layout:
        """Return the layout of this key."""
        return next(layout for layout in self.layouts if layout.key == key)

    def measured(self, query: Query) -> PageResult:
        """Return what the page shows; errors call the measure's parameters what the page's controls are called."""
        of_fields = {one.key: one.label for one in query.layout.fields}
        keys = {"references": "label", "similarities": "similarity"} | {f"{key}s": key for key in of_fields}
        of_columns = {parameter: of_fields[key] for parameter, key in keys.items() if key in of_fields}
        with renamed(**{one.key: one.label for one in self.options}, **of_columns, **of_fields):
            return self.measure(query)


#: Larger files are for the command line.
MAX_BYTES = 20 * 2**20
MAX_ROWS = 200_000
#: Unpacked: what a Parquet file may hold once it is decompressed.
LIMITS = {"bytes": MAX_BYTES, "rows": MAX_ROWS, "columns": 300, "unpacked": 10 * MAX_BYTES}


def scratch_folder() -> str:
    """Return the folder for files that live as long as they are read: in memory where the system has such a one."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and os.access(memory, os.W_OK) else tempfile.gettempdir()


def read_upload(path: str | os.PathLike[str]) -> Predictions:
    """Read an uploaded file, whose name says the format, and delete it."""
    upload = Path(path)
    try:
        with tempfile.TemporaryDirectory(prefix="paraconsist-", dir=scratch_folder()) as folder:
            file = Path(folder) / f"upload{upload.suffix[:20]}"
            shutil.move(upload, file)
            return read_apart(file, upload.name[-60:], LIMITS)
    finally:
        upload.unlink(missing_ok=True)


def read_text(text: str) -> Predictions:
    """Read pasted rows: JSON Lines, a JSON array, or CSV with commas or tabs."""
    pasted = text.strip("\ufeff\r\n \t")
    if not pasted:
        raise input_error("paste", "text", "not be empty", remedy="Paste rows with a line of column names above them.")
    ending = ".jsonl" if pasted[0] in "{[" else ".tsv" if "\t" in pasted.partition("\n")[0] else ".csv"
    with tempfile.TemporaryDirectory(prefix="paraconsist-", dir=scratch_folder()) as folder:
        file = Path(folder) / f"pasted{ending}"
        file.write_bytes(pasted.encode("utf-8", errors="replace") + b"\n")
        return read_apart(file, "the pasted text", LIMITS)


def guess_columns(fields: Sequence[Field], names: Sequence[str]) -> dict[str, Any]:
    """Return the columns that a file's names suggest: field key -> name, a list of names, or None.

    A column is suggested once. A field of several columns also takes numbered ones: ``p0, p1`` for ``p``.
    """
    plain = {name: re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") for name in names}
    taken: set[str] = set()
    columns: dict[str, Any] = {}
    for one in fields:
        patterns = [[guess, rf"{guess}_?\d+"] if one.many else [guess] for guess in one.guesses.split()]
        matches = ([n for n in names if re.fullmatch(p, plain[n]) and n not in taken] for p in chain(*patterns))
        hits = next(filter(None, matches), [])[: None if one.many else 1]
        taken.update(hits)
        columns[one.key] = (hits if one.many else hits[0]) if hits else None
    return columns


def guess_layout(layouts: Sequence[Layout], names: Sequence[str]) -> Layout:
    """Return the first layout whose fields all have a column, else the first."""
    for layout in layouts:
        columns = guess_columns(layout.fields, names)
        if all(columns[one.key] for one in layout.fields if one.required):
            return layout
    return layouts[0]


def check_query(query: Query) -> None:
    """Refuse columns that are not chosen, chosen twice, or missing; errors quote the question that the visitor sees."""
    seen: dict[str, str] = {}
    names = query.predictions.table.column_names
    for one in query.layout.fields:
        value = query.columns.get(one.key)
        columns = list(value) if isinstance(value, (list, tuple)) else [value] if value else []
        if one.required and not columns:
            raise input_error("score", one.label, "be chosen", remedy=f"The file has the columns {', '.join(names)}.")
        for name in columns:
            if name not in names:
                raise input_error("score", one.label, "be a column of the file", got=name)
            if name in seen:
                raise input_error("score", one.label, f"differ from the column of `{seen[name]}`", got=name)
            seen[name] = one.label


@dataclass(frozen=True)
class Long:
    """A file in the long format."""

    predictions: Predictions  # columns are called as a bucket set's
    source: NDArray[np.intp]  # shape (n,): the row of the visitor's file that each row comes from
    texts: list[str]  # the columns with texts to show
    has_buckets: bool  # False where every row is a bucket of its own
    has_labels: bool  # False where the labels are stand-ins
    flagged: bool  # True where a true/false column said which rows are originals

    def rows(self, strata: Sequence[str] = ()) -> Rows:
        """Return the columns as arrays, as the command reads them."""
        return read_rows(self.predictions, SourceOptions(stratum=tuple(strata)))

    def shown(self, value: Any) -> Any:
        """Return a label by its name, where the file or the visitor named the labels."""
        names = self.predictions.label_names
        return names[value] if isinstance(value, int) and 0 <= value < len(names) else value

    def lines(self, *rows: int) -> list[str]:
        """Return the texts of some rows: of one row every column, of several only what tells them apart."""
        table = self.predictions.table
        cells = {name: [table[name][int(row)].as_py() or "" for row in rows] for name in self.texts}
        if len(set(map(tuple, zip(*cells.values(), strict=True)))) <= 1:
            return [values[0] for values in cells.values() if values[0]] if rows else []
        telling = [values for values in cells.values() if len(set(values)) > 1]
        return [" / ".join(value for value in parts if value) for parts in zip(*telling, strict=True)]


def long_rows(query: Query, target: str) -> Long:
    """Check a visitor's columns, and rename and spread them to one row for each text.

    `target` is the role of the texts that are measured: rows are that or ``original`` where a true/false column says.
    """
    check_query(query)
    file = query.predictions
    label = query.columns.get("label")
    if query.label_names and label:
        file = named_labels(file, label, query.columns.get("prediction", ""), list(query.label_names))
    if query.layout.sides:
        table, source = _spread(file.table, query)
    else:
        table, source = _renamed(file.table, query), np.arange(file.table.num_rows, dtype=np.intp)
    flagged = False
    if "role" in table.column_names:  # or a true/false column that marks originals
        flags = pc.utf8_lower(table["role"].cast(pa.string()))
        if flagged := set(pc.unique(flags).to_pylist()) <= {"true", "false"}:
            roles = pc.if_else(pc.equal(flags, "true"), ORIGINAL, target)
            table = table.set_column(table.column_names.index("role"), "role", roles)
    if "bucket_id" not in table.column_names:
        table = table.append_column("bucket_id", pa.array(source))
    both = ("prediction", "label")  # either may be missing: no measure reads what then stands in for it
    are_texts = any(pa.types.is_string(table[name].type) for name in both if name in table.column_names)
    for missing in (name for name in both if name not in table.column_names):
        table = table.append_column(missing, pa.array(["-" if are_texts else 0] * table.num_rows))
    return Long(
        Predictions(table, file.metadata),
        source,
        _texts(file.table, query, table),
        has_buckets=bool(query.columns.get("bucket")),
        has_labels=bool(label or query.columns.get("allowed")),
        flagged=flagged,
    )


def _renamed(table: pa.Table, query: Query) -> pa.Table:
    canonical = {"bucket": "bucket_id", "group": "group_id"}
    columns: dict[str, Any] = {}
    for one in query.layout.fields:
        if (name := query.columns.get(one.key)) and not one.many:
            columns[canonical.get(one.key, one.key)] = table[name]
    if "allowed_labels" in table.column_names:
        columns.setdefault("allowed_labels", table["allowed_labels"])
    for name in _free_texts(table, query):
        columns.setdefault(name, table[name])
    return pa.table(columns or {"bucket_id": pa.array(np.arange(table.num_rows))})


def _spread(table: pa.Table, query: Query) -> tuple[pa.Table, NDArray[np.intp]]:
    n = table.num_rows
    group = query.columns.get("group") or shared_buckets(table, SourceOptions())
    texts = _free_texts(table, query)
    own = {name for name in texts if name.removeprefix(f"{ORIGINAL}_") in texts and name.startswith(f"{ORIGINAL}_")}
    parts = []
    for role, fields in query.layout.sides.items():
        columns: dict[str, Any] = {"bucket_id": pa.array(np.arange(n)), "role": pa.array(np.full(n, role))}
        for name, key in {**fields, "run": "run"}.items():
            if column := query.columns.get(key):
                columns[name] = table[column]
        if group:
            columns["group_id"] = table[group]
        for name in texts:
            if name not in own:  # the original's own text has the name of the other's
                columns.setdefault(
                    name, table[f"{ORIGINAL}_{name}" if role == ORIGINAL and f"{ORIGINAL}_{name}" in own else name]
                )
        parts.append(pa.table(columns))
    try:
        spread = pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        keys = {key for fields in query.layout.sides.values() for key in fields.values()}
        used = sorted(query.columns[key] for key in keys if query.columns.get(key))
        kinds = {name: str(table[name].type) for name in used}
        must = "be of one kind in all their columns (names, or numbers)"
        raise input_error("score", "predictions and labels", must, got=kinds) from None
    return spread, np.tile(np.arange(n, dtype=np.intp), len(parts))


def _free_texts(table: pa.Table, query: Query) -> list[str]:
    used = {name for value in query.columns.values() for name in (value if isinstance(value, list) else [value])}
    reserved = {"bucket_id", "role", "prediction", "label", "group_id", "run", "allowed_labels", *used}
    return [c.name for c in table.schema if c.name not in reserved and pa.types.is_string(c.type)]


def _texts(source: pa.Table, query: Query, long: pa.Table) -> list[str]:
    """Return the columns whose texts are shown with flips: the three with the longest texts, in the file's order."""
    names = [name for name in _free_texts(source, query) if name in long.column_names]
    lengths = {name: pc.mean(pc.utf8_length(source[name])).as_py() or 0 for name in names}
    wordy = sorted((name for name in names if lengths[name] >= 10), key=lambda name: -lengths[name])[:3]
    return [name for name in names if name in wordy]


def probability_matrix(table: pa.Table, names: Sequence[str], label: str) -> list[Any]:
    """Return class probabilities as rows: from one column of lists, or from one column for each class."""
    if len(names) > 1:
        return [list(row) for row in zip(*(numeric(table[name]).to_pylist() for name in names), strict=True)]
    values: list[Any] = numeric(table[names[0]]).to_pylist()
    if isinstance(values[0], str):
        return [_numbers(value, row, label) for row, value in enumerate(values)]
    if not isinstance(values[0], list):
        must, remedy = "be one column of lists, or one column for each class", "Choose the columns of all classes"
        raise input_error("score", label, must, got=values[0], row=0, remedy=f"{remedy}, in order.")
    return values


def _numbers(text: Any, row: int, label: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        raise input_error("score", label, "hold lists such as [0.2, 0.8]", got=text, row=row) from None
