"""The sheet for checking by hand: one row for each perturbed item, and an empty column to fill in."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from paraconsist.errors import input_error

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
