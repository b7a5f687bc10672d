"""Strangers' files are read in a separate process: no file ends the page or fills its memory.

The process is kept for the next file, since starting one takes half a second; a file that it cannot read ends it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paraconsist.data.apart import Apart, serve
from paraconsist.data.predictions import Predictions, read_predictions
from paraconsist.errors import InputError, input_error

#: What reading a file may take: bytes of memory beside what the process has at its start, and seconds.
MEMORY = 3 * 2**29
SECONDS = 30.0

_LARGER = "Larger files: `paraconsist score` on your own machine."
_OUTPUT = "read.arrow"
_APART = Apart("from paraconsist.reporting.space.reader import serve_files; serve_files()")


def read_apart(file: Path, name: str, limits: Mapping[str, int]) -> Predictions:
    """Read a file, which lies in a folder of its own, in the other process; errors call it by `name`.

    `limits` are the most ``bytes``, ``rows``, ``columns`` and ``unpacked`` (bytes in memory) that it may have.
    InputError if it is no table, is over a limit, or ended the process.
    """
    started = time.monotonic()
    answer = _APART.ask({"file": str(file), "name": name, "limits": dict(limits)}, SECONDS)
    if answer is None:
        is_late = time.monotonic() - started >= SECONDS
        why = f"{SECONDS:g} seconds" if is_late else f"{MEMORY / 2**30:g} GB of memory, or it is damaged"
        must, remedy = "be a whole file that can be read", f"Reading it took more than {why}. {_LARGER}"
        raise input_error("read", "file", must, got=name, remedy=remedy)
    if "error" in answer:
        raise InputError(**answer["error"])
    with pa.OSFile(str(file.parent / _OUTPUT)) as source:
        return Predictions(pa.ipc.open_file(source).read_all(), answer["metadata"])


def warm() -> None:
    """Start the process before the first file comes."""
    _APART.idle.append(_APART.take())


def serve_files() -> None:
    """Read the files that standard input names, a line each, until it ends; the other end of `read_apart`."""
    pa.set_memory_pool(pa.system_memory_pool())  # the others reserve addresses that they do not use
    pa.set_cpu_count(1)
    serve(_answer_or_error, MEMORY)


def _answer_or_error(job: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return _answer(Path(job["file"]), job["name"], job["limits"])
    except InputError as problem:
        if isinstance(problem.__context__, MemoryError):
            raise
        fields = ("must", "function", "parameter", "got", "row", "remedy")
        return {"error": {name: value for name in fields if (value := getattr(problem, name)) is not ...}}


def _answer(file: Path, name: str, limits: Mapping[str, int]) -> dict[str, Any]:
    check_most(file.stat().st_size, limits["bytes"], "bytes")
    if file.suffix.lower() == ".parquet":
        _check_footer(file, limits)
    try:
        predictions = read_predictions(file)
    except InputError as problem:
        problem.function, problem.parameter = "read", "file" if problem.parameter == "path" else problem.parameter
        problem.got = name if problem.got == str(file) else problem.got
        problem.remedy = problem.remedy.replace(str(file), name)
        raise
    table = predictions.table
    check_most(table.num_rows, limits["rows"], "rows")
    check_most(table.num_columns, limits["columns"], "columns")
    check_most(table.nbytes, limits["unpacked"], "bytes unpacked")
    with pa.OSFile(str(file.parent / _OUTPUT), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return {"metadata": predictions.metadata}


def _check_footer(file: Path, limits: Mapping[str, int]) -> None:
    """Refuse a file that is small only while compressed; a broken one is left to the reader."""
    try:
        footer = pq.ParquetFile(file).metadata
    except (OSError, ValueError):
        return
    check_most(footer.num_rows, limits["rows"], "rows")
    unpacked = sum(footer.row_group(i).total_byte_size for i in range(footer.num_row_groups))
    check_most(unpacked, limits["unpacked"], "bytes unpacked")


def check_most(n: int, most: int, what: str) -> None:
    """Refuse a file that exceeds a limit."""
    if n > most:
        raise input_error("read", "file", f"have at most {most:,} {what}", got=n, remedy=_LARGER)
