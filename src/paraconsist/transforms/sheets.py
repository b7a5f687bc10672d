"""Sheets for people: CSV files with empty columns to fill in, written for spreadsheets and read back with checks.

The sheet of perturbed items has one row for each item and the column ``valid``. Salvatore et al. (2023, Tables 1 and
16) had 400 transformed pairs marked in the same way: a random sample, read back as the share that is sound.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

from paraconsist.data.foreign import MARKS
from paraconsist.errors import check_whole, input_error
from paraconsist.files import replacing
from paraconsist.transforms.perturbation import sampled

#: The columns of a sheet of perturbed items.
ITEM_COLUMNS = ("bucket_id", "property", "original", "perturbed", "label", "valid")

#: How many pairs Salvatore et al. (2023) had marked.
SAMPLE_SIZE = 400


@dataclass(frozen=True)
class Sheet:
    """A sheet that was read; a missing cell is empty, `function` is for messages."""

    columns: list[str]
    rows: list[dict[str, str]]
    name: str  # the file's
    function: str

    def __iter__(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield each row with its place, for messages."""
        return ((f"{number} of {self.name}", row) for number, row in enumerate(self.rows, 1))

    def check_unique(self, column: str) -> None:
        """Refuse empty and repeated cells of a column."""
        seen: set[str] = set()
        for place, row in self:
            if not row[column] or row[column] in seen:
                raise input_error(self.function, column, "be filled in, each value once", got=row[column], row=place)
            seen.add(row[column])

    def yes_or_no(self, place: str, row: Mapping[str, str], column: str) -> bool | None:
        """Read a cell: yes, y, true, 1, x, valid, ok; no, n, false, 0, invalid; or empty (None)."""
        answer = row[column].strip().lower()
        if answer and answer not in MARKS:
            raise input_error(self.function, column, "be yes, no or empty", got=row[column], row=place)
        return MARKS.get(answer)


@contextmanager
def open_sheet(path: str | os.PathLike[str], columns: Sequence[str]) -> Iterator[Callable[[Iterable[str]], Any]]:
    """Yield a function that writes a row: CSV in UTF-8 with a byte-order mark, which spreadsheets recognise."""
    from paraconsist.data.writing import quoted  # imports pyarrow

    with replacing(Path(path)) as partial, partial.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        yield lambda row: writer.writerow(map(quoted, row))


def write_sheet(path: str | os.PathLike[str], columns: Sequence[str], rows: Iterable[Iterable[str]]) -> None:
    with open_sheet(path, columns) as write:
        for row in rows:
            write(row)


def read_sheet(
    path: str | os.PathLike[str], columns: Sequence[str], *, function: str, parameter: str = "checked"
) -> Sheet:
    """Read a sheet with `columns`, separated by comma, semicolon or tab as the spreadsheet program wrote it."""
    from paraconsist.data.writing import unquoted  # imports pyarrow

    file = Path(path)
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            head = stream.readline()
            stream.seek(0)
            reader = csv.DictReader(stream, delimiter=max(",;\t", key=head.count), restval="")
            header, lines = list(reader.fieldnames or ()), [*reader]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        must = "name a CSV sheet that can be read"
        raise input_error(function, parameter, must, got=str(file), remedy=f"{problem}.") from None
    if missing := [column for column in columns if column not in header]:
        remedy = f"{file.name} begins with its header."
        raise input_error(function, parameter, f"have the columns {', '.join(missing)}", got=header, remedy=remedy)
    rows = [{name: unquoted(line[name] or "") for name in header} for line in lines]
    sheet = Sheet(header, rows, file.name, function)
    for line, (place, _) in zip(lines, sheet, strict=True):
        if any(further := line.get(reader.restkey, ())):
            must, remedy = "have no more cells in a row than in its header", "Put texts with commas in quotation marks."
            raise input_error(function, parameter, must, got=further, row=place, remedy=remedy)
    return sheet


def render(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a sheet shows them: lines of ``column: text``, an empty line between rows."""
    lines = ((f"{column}: {text}" for column, text in zip(columns, row, strict=True)) for row in rows)
    return "\n\n".join(map("\n".join, lines))


def even_space(text: str) -> str:
    """Return a text with single spaces: spreadsheets change line ends."""
    return " ".join(text.split())


def check_same_texts(
    function: str, sheet_texts: Mapping[str, tuple[str, str]], set_texts: Mapping[str, tuple[str, str]]
) -> None:
    """Refuse a sheet with other rows (row -> two texts) or other texts than its set, white space apart."""
    for name, texts in sheet_texts.items():
        if name not in set_texts:
            raise input_error(function, "checked", "be the sheet of this set, which has no such row", got=name)
        if list(map(even_space, texts)) != list(map(even_space, set_texts[name])):
            must = f"show the texts of the set unchanged (row {name})"
            remedy = "Edited texts are not read: mark the row as not valid, or correct the set itself."
            raise input_error(function, "checked", must, got=texts[1], remedy=remedy)


@dataclass(frozen=True)
class Marks:
    """The marks in a sheet of perturbed items."""

    valid: Mapping[str, bool | None]  # Bucket -> their mark; None where the cell is empty
    texts: Mapping[str, tuple[str, str]]  # Bucket -> original and perturbed text as the sheet has them


def read_marks(path: str | os.PathLike[str], *, function: str = "read_marks", parameter: str = "checked") -> Marks:
    """Read a marked sheet of perturbed items."""
    columns = ("bucket_id", "original", "perturbed", "valid")
    sheet = read_sheet(path, columns, function=function, parameter=parameter)
    sheet.check_unique("bucket_id")
    return Marks(
        {row["bucket_id"]: sheet.yes_or_no(place, row, "valid") for place, row in sheet},
        {row["bucket_id"]: (row["original"], row["perturbed"]) for row in sheet.rows},
    )


@dataclass(frozen=True)
class Soundness:
    """The share of sound items."""

    share: float  # sound items among those marked, 0 to 1, more is better; nan where none is marked
    low: float  # the Clopper-Pearson interval of the share in all changed items (the sample is random)
    high: float
    n_sound: int
    n_marked: int
    n_open: int  # not marked yet
    confidence_level: float


def write_soundness_sheet(
    path: str | os.PathLike[str],
    texts: Sequence[Sequence[str]],
    changed: Sequence[Sequence[str]],
    *,
    columns: Sequence[str],
    name: str,
    labels: Sequence[str] | None = None,
    size: int = SAMPLE_SIZE,
    seed: int = 0,
) -> int:
    """Write a random sample of `size` changed items (at most all) with an empty column `valid`; return its size.

    `texts` and `changed` are the texts of each item before and after, `columns` their names, `name` is the
    transformation's. `labels` are shown, since a change may be sound for one label only.
    """
    check_whole("transform", "sheet_size", size)
    rows = [row for row, (old, new) in enumerate(zip(texts, changed, strict=True)) if tuple(old) != tuple(new)]
    if not rows:
        raise input_error("transform", "sheet", "have at least one changed item to show", got=f"{len(texts):,} items")
    drawn = sampled(rows, size, seed)
    with open_sheet(path, ITEM_COLUMNS) as write:
        for row in drawn:
            label = "" if labels is None else labels[row]
            write((str(row), name, render(columns, [texts[row]]), render(columns, [changed[row]]), label, ""))
    return len(drawn)


def read_soundness(path: str | os.PathLike[str], *, confidence_level: float = 0.95) -> Soundness:
    """Read a marked sheet as the share of sound items."""
    from paraconsist.measures.intervals import proportion_interval

    marks = list(read_marks(path, function="transform", parameter="sheet_read").valid.values())
    n_marked = sum(mark is not None for mark in marks)
    n_sound = sum(mark is True for mark in marks)
    low, high = proportion_interval(n_sound, n_marked, confidence_level) if n_marked else (nan, nan)
    share = n_sound / n_marked if n_marked else nan
    return Soundness(share, low, high, n_sound, n_marked, len(marks) - n_marked, confidence_level)
