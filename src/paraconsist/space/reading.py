"""What a visitor uploads or pastes becomes a table, within limits; no copy of it is kept."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from paraconsist.data.predictions import Predictions, read_predictions
from paraconsist.errors import InputError, input_error

#: Larger files are for the command line.
MAX_BYTES = 20 * 2**20
MAX_ROWS = 200_000
MAX_COLUMNS = 300
#: What a Parquet file may hold once it is decompressed.
MAX_UNPACKED = 10 * MAX_BYTES
FORMATS = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
_COMMAND_LINE = "Larger files: `paraconsist score` on your own machine."


def scratch_folder() -> str:
    """Return the folder for files that live as long as they are read: in memory where the system has such a one."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and os.access(memory, os.W_OK) else tempfile.gettempdir()


def read_upload(path: str | os.PathLike[str]) -> Predictions:
    """Read an uploaded file and delete it.

    Parameters
    ----------
    path : path
        Where the server put it; its name says the format.

    Raises
    ------
    InputError
        If it is too large, cut short, empty, or of an unknown format.
    """
    given = Path(path)
    try:
        with tempfile.TemporaryDirectory(prefix="paraconsist-", dir=scratch_folder()) as folder:
            file = Path(folder) / f"upload{given.suffix[:20]}"  # a short name: messages show no more than 120 letters
            shutil.move(given, file)
            with _shown_as(file, given.name[-60:]):
                return _read(file)
    finally:
        given.unlink(missing_ok=True)


def read_text(text: str) -> Predictions:
    """Read pasted rows: JSON Lines, a JSON array, or CSV with commas or tabs.

    Raises
    ------
    InputError
        If there is nothing, too much, or what cannot be read.
    """
    pasted = text.strip("\ufeff\r\n \t")
    if not pasted:
        raise input_error("paste", "text", "not be empty", remedy="Paste rows with a line of column names above them.")
    if pasted[0] in "{[":
        ending = ".jsonl"
    else:
        ending = ".tsv" if "\t" in pasted.partition("\n")[0] else ".csv"
    with tempfile.TemporaryDirectory(prefix="paraconsist-", dir=scratch_folder()) as folder:
        file = Path(folder) / f"pasted{ending}"
        file.write_bytes(pasted.encode("utf-8", errors="replace") + b"\n")
        with _shown_as(file, "the pasted text"):
            return _read(file)


def _read(file: Path) -> Predictions:
    size = file.stat().st_size
    if size > MAX_BYTES:
        raise input_error("read", "file", f"have at most {MAX_BYTES:,} bytes", got=size, remedy=_COMMAND_LINE)
    if file.suffix.lower() == ".parquet":
        _check_parquet(file)
    predictions = read_predictions(file)
    rows, columns = predictions.table.shape
    if rows > MAX_ROWS:
        raise input_error("read", "file", f"have at most {MAX_ROWS:,} rows", got=rows, remedy=_COMMAND_LINE)
    if columns > MAX_COLUMNS:
        raise input_error("read", "file", f"have at most {MAX_COLUMNS} columns", got=columns)
    return predictions


def _check_parquet(file: Path) -> None:
    """Refuse a file that is small only as long as it is packed; a broken one is left to the reader."""
    try:
        footer = pq.ParquetFile(file).metadata
    except (OSError, ValueError):
        return
    unpacked = sum(footer.row_group(i).total_byte_size for i in range(footer.num_row_groups))
    if footer.num_rows > MAX_ROWS:
        raise input_error("read", "file", f"have at most {MAX_ROWS:,} rows", got=footer.num_rows, remedy=_COMMAND_LINE)
    if unpacked > MAX_UNPACKED:
        raise input_error("read", "file", f"hold at most {MAX_UNPACKED:,} bytes unpacked", got=unpacked)


@contextmanager
def _shown_as(file: Path, name: str) -> Iterator[None]:
    """Call the file in messages what the visitor calls it, not by its place on the server."""
    try:
        yield
    except InputError as problem:
        message = str(problem).replace("read_predictions: `path`", "read: `file`")
        for shown in (repr(str(file)), str(file)):
            message = message.replace(shown, name)
        raise InputError(message) from None
