"""The sheet for checking by hand: one row for each perturbed item, and an empty column to fill in.

The soundness sheet: a random sample of transformed items for a person to mark, read back to a share.

Salvatore et al. (2023, Tables 1 and 16) marked 400 pairs. A sheet is a `sheet` of perturbations: the same columns,
the same marks.
"""

from __future__ import annotations

import csv
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import nan
from pathlib import Path
from typing import IO, Any

from paraconsist.errors import input_error, renamed

COLUMNS = ("bucket_id", "property", "original", "perturbed", "label", "valid")

_YES = frozenset({"yes", "y", "true", "t", "1", "1.0", "x", "valid", "ok"})
_NO = frozenset({"no", "n", "false", "f", "0", "0.0", "invalid"})


def render(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows as the sheet shows them: ``column: text`` a line, an empty line between rows.

    The column's name in front also keeps spreadsheets from taking a text that begins with ``=`` for a formula.
    """
    parts = ["\n".join(f"{column}: {text}" for column, text in zip(columns, row, strict=True)) for row in rows]
    return "\n\n".join(parts)


class SheetWriter:
    """Writes the sheet row by row: CSV in UTF-8 with a byte-order mark, which spreadsheets recognise."""

    def __init__(self, stream: IO[str]) -> None:
        self._writer = csv.writer(stream)
        self._writer.writerow(COLUMNS)

    def write(self, *, bucket_id: str, property_name: str, original: str, perturbed: str, label: str) -> None:
        self._writer.writerow((bucket_id, property_name, original, perturbed, label, ""))


@dataclass(frozen=True)
class Checked:
    """What people said of the items.

    Attributes
    ----------
    valid : mapping of bool or None
        Bucket -> what they said; None where the cell is empty.
    texts : mapping of (str, str)
        Bucket -> original and perturbed text as the sheet has them, white space evened out.
    """

    valid: Mapping[str, bool | None]
    texts: Mapping[str, tuple[str, str]]


def even_space(text: str) -> str:
    """Return a text with each run of white space as one space: spreadsheets change line ends."""
    return " ".join(text.split())


def read_sheet(path: str | os.PathLike[str]) -> Checked:
    """Read a sheet back (comma, semicolon or tab, whichever the spreadsheet program wrote).

    `valid` may say yes, y, true, 1, x, valid, ok; no, n, false, 0, invalid; or nothing.

    Raises
    ------
    InputError
        If the file cannot be read, lacks a column, repeats a bucket, or `valid` says anything else.
    """
    file = Path(path)
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            head = stream.readline()
            stream.seek(0)
            delimiter = max(",;\t", key=head.count)
            return _read(csv.DictReader(stream, delimiter=delimiter), file)
    except (OSError, UnicodeDecodeError) as problem:
        raise input_error(
            "perturb", "checked", "name a CSV sheet that can be read", got=str(file), remedy=f"{problem}."
        ) from None


def _read(reader: Any, file: Path) -> Checked:
    missing = [c for c in ("bucket_id", "original", "perturbed", "valid") if c not in (reader.fieldnames or ())]
    if missing:
        raise input_error(
            "perturb", "checked", f"have the columns {', '.join(missing)}", got=list(reader.fieldnames or ())
        )
    valid: dict[str, bool | None] = {}
    texts: dict[str, tuple[str, str]] = {}
    for number, row in enumerate(reader):
        bucket, said = row["bucket_id"] or "", (row["valid"] or "").strip().lower()
        if not bucket or bucket in valid:
            raise input_error("perturb", "bucket_id", "be there once", got=bucket, row=f"{number} of {file.name}")
        if said and said not in _YES | _NO:
            raise input_error(
                "perturb", "valid", "say yes, no or nothing", got=row["valid"], row=f"{number} of {file.name}"
            )
        valid[bucket] = said in _YES if said else None
        texts[bucket] = (even_space(row["original"] or ""), even_space(row["perturbed"] or ""))
    return Checked(valid, texts)


#: S23's.
SAMPLE_SIZE = 400


@dataclass(frozen=True)
class Soundness:
    """How many marked items are sound.

    Attributes
    ----------
    share : float
        Sound items among those marked, 0 to 1, more is better; nan where none is marked.
    low, high : float
        Clopper-Pearson interval of the share in all changed items (the sample is random).
    n_sound, n_marked, n_open : int
        Items marked sound; marked; not marked yet.
    confidence_level : float
    """

    share: float
    low: float
    high: float
    n_sound: int
    n_marked: int
    n_open: int
    confidence_level: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON but for nan."""
        return asdict(self)


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
    """Write a random sample of the changed items as a CSV with an empty column `valid`; return its size.

    Items that were not changed are sound by themselves and are not sampled.

    Parameters
    ----------
    path : path
    texts, changed : sequences of the texts of each item
        Before and after.
    columns : sequence of str
        What an item's texts are called.
    name : str
        The transformation's.
    labels : sequence of str, optional
        Shown, since a change may be sound for one label only.
    size : int
        Of the sample; all changed items where there are fewer.
    seed : int

    Raises
    ------
    InputError
        If no item was changed, or the size is below 1.
    """
    if size < 1:
        raise input_error("transform", "sheet_size", "be at least 1", got=size)
    rows = [row for row, (old, new) in enumerate(zip(texts, changed, strict=True)) if tuple(old) != tuple(new)]
    if not rows:
        raise input_error("transform", "sheet", "have at least one changed item to show", got=f"{len(texts):,} items")
    if size < len(rows):
        rows = sorted(random.Random(seed).sample(rows, size))
    file = Path(path)
    partial = file.with_name(file.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8-sig", newline="") as stream:
            writer = SheetWriter(stream)
            for row in rows:
                writer.write(
                    bucket_id=str(row),
                    property_name=name,
                    original=render(columns, [texts[row]]),
                    perturbed=render(columns, [changed[row]]),
                    label="" if labels is None else labels[row],
                )
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
    return len(rows)


def read_soundness(path: str | os.PathLike[str], *, confidence_level: float = 0.95) -> Soundness:
    """Read a marked sheet back.

    Raises
    ------
    InputError
        If it is no such sheet, or a mark is neither yes nor no.
    """
    from paraconsist.measures.intervals import proportion_interval

    with renamed(checked="sheet_read"):
        marks = list(read_sheet(path).valid.values())
    n_marked = sum(mark is not None for mark in marks)
    n_sound = sum(mark is True for mark in marks)
    low, high = proportion_interval(n_sound, n_marked, confidence_level) if n_marked else (nan, nan)
    return Soundness(
        share=n_sound / n_marked if n_marked else nan,
        low=low,
        high=high,
        n_sound=n_sound,
        n_marked=n_marked,
        n_open=len(marks) - n_marked,
        confidence_level=confidence_level,
    )
