"""Tables of rows from files (CSV, JSON, Parquet), and their columns as arrays of whole numbers or text."""

from __future__ import annotations

import codecs
import csv
import gc
import io
import json
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paraconsist.data.arrays import own_stream
from paraconsist.data.foreign import archive_entries, as_text, cleaned, valid_text
from paraconsist.data.writing import unquoted_columns
from paraconsist.errors import InputError, extras, first_line, input_error
from paraconsist.files import Json

#: The formats of `read_table`, by the file's ending.
ENDINGS = (".parquet", ".csv", ".tsv", ".jsonl", ".json", ".xlsx")
#: The keys of a table's metadata that hold notes on how its file was read, and how a set of paraphrases was made.
NOTES, PARAPHRASE_KEY = b"paraconsist_notes", b"paraconsist_paraphrase"
_END = "\x1a"  # what DOS ends a text file with
_BLOCK = 1 << 14
_FEW = 1 << 12  # rows, each of which may be large
_FEW_VALUES = 20
_HEAD = 1 << 12
_SHORT = 64  # characters; longer text is kept as objects
_LARGEST_EXACT = 2.0**53
_ANY_SIZE = 1 << 30  # bytes that any file may unpack to
_MOST_UNPACKED = 1000
_DEEPEST = 63  # levels of JSON below the first
_MOST_SHOWN = 60
_ALIKE = 0.75  # of `difflib`: names that differ in a letter or an ending
#: Names that columns of people's own tables have, best first.
USUAL_NAMES = {
    "bucket": "bucket_id bucket buckets problem_id problem item_id question_id qid case_id original_id id",
    "prediction": "prediction predictions pred predicted predicted_label answer model_answer response model_response "
    "output model_output completion",
    "label": "label labels gold gold_label gold_answer reference references target expected correct_answer "
    "ground_truth",
}
_LEADING_NULL = re.compile(rb"\[\s*null")
_MOST_OPENED = 2000  # lists and objects in a JSON line for Arrow's reader: so few are not nested too deeply for it
_PIECE = 1 << 24  # bytes of JSON lines that are read at once
_IN_MEMORY = 1 << 28  # bytes of a table
_MARKS = {  # the longer first
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")  # of UTF-8
_UNLIKELY = re.compile("\0|[\xc0-\xff]{4}")  # in Windows-1252: other alphabets' letters lie where its accents do
_STARTS = {
    b"PAR1": "Parquet",
    b"ARROW1": "an Arrow file",
    b"PK\x03\x04": "a zip archive, such as an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"\x1f\x8b": "compressed with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"version https://git-lfs": "a pointer of Git LFS to a file elsewhere",
}
_PATTERNS = {
    r"^(0|-?[1-9]\d*)$": pa.int64(),
    r"^(0|-?[1-9]\d{0,14})\.0$": pa.int64(),
    "^(True|False)$": pa.bool_(),
    "^(true|false)$": pa.bool_(),
}
_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
_TEXTS = (pa.types.is_large_string, pa.types.is_string_view, *_BYTES)
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def read_table(
    path: str | os.PathLike[str],
    *,
    function: str,
    parameter: str = "path",
    encoding: str | None = None,
    names: Collection[str] = (),
) -> pa.Table:
    """Read a table of rows from Parquet, JSON Lines, CSV, TSV or the first sheet of an Excel workbook, by its ending.

    A byte order mark decides the encoding of text, then `encoding`, then UTF-8. Otherwise CSV and TSV that read like
    text of western Europe are Windows-1252, as Excel writes them. The first lines show the delimiter; where several
    fit, the one that gives most of the columns in `names`. Lines of blanks are no rows. Cells of CSV and
    TSV stay text, except in columns of true and false and of whole numbers in their usual notation (``007`` and ``1e1``
    are text), or all with the ``.0`` that pandas adds where some are missing; decimals become numbers where they are
    used (`numeric`). The metadata hold a list of notes on how the file was read, under `NOTES`.

    InputError, which names the file, if it is absent, cut short, empty, of an unknown format, or if its content does
    not fit its ending.
    """
    file = Path(path)
    if not file.is_file():
        raise input_error(function, parameter, "name a file that exists", got=str(file))
    ending = file.suffix.lower()
    if ending not in ENDINGS:
        remedy = "Convert the file to CSV, JSON Lines or Parquet."
        raise input_error(function, parameter, f"end in one of {', '.join(ENDINGS)}", got=str(file), remedy=remedy)
    notes: list[str] = []
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
        encoding = next((name for mark, name in _MARKS.items() if head.startswith(mark)), encoding)
        _check_looks(head, ending, encoding)
        if ending == ".parquet":
            table = _read_parquet(file)
        elif ending in (".csv", ".tsv"):
            table = unquoted_columns(_read_delimited(file, "," if ending == ".csv" else "\t", encoding, names, notes))
        elif ending == ".xlsx":
            table = _read_workbook(file, function, notes)
        else:
            table = read_json_lines(file, encoding or "utf-8")
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, RecursionError, MemoryError, csv.Error) as problem:
        if isinstance(problem, InputError):
            raise
        reason = first_line(problem).rstrip(".")
        remedy = f"It could not be read: {reason}. Mend it, or copy it again if it was cut short."
        if isinstance(problem, UnicodeDecodeError):
            what = "it is neither UTF-8 nor Windows-1252" if encoding is None else f"it is not {problem.encoding}"
            remedy = f"It could not be read: {what}. Save it as UTF-8, or name its `encoding`, such as cp1251."
        raise input_error(function, parameter, "be a readable, whole file", got=str(file), remedy=remedy) from None
    except LookupError:
        must = "name an encoding, such as utf-8, utf-16, latin-1 or cp1252"
        raise input_error(function, "encoding", must, got=encoding) from None
    table = plain_table(table, function=function, parameter=parameter)
    if table.num_rows == 0:
        raise input_error(function, parameter, "have at least one row", got=str(file))
    metadata = table.schema.metadata or {}
    return table.replace_schema_metadata({**metadata, NOTES: json.dumps(notes)}) if notes else table


def plain_table(table: pa.Table, *, function: str = "score", parameter: str = "path") -> pa.Table:
    """Return a table with one type for text and one for numbers, of which pandas, polars and others write several.

    Large text, views and bytes of UTF-8 become strings, large lists and those of one size lists, dictionaries their
    values, half floats doubles. InputError if two columns have the same name, or values do not fit their type.
    """
    twice = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if twice:
        raise input_error(function, parameter, "name each of its columns once", got=twice, remedy="Rename one.")
    columns = {}
    for field in table.schema:
        column = table[field.name]
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        plain = pa.string() if any(is_a(kind) for is_a in _TEXTS) else pa.float64() if kind == pa.float16() else kind
        if any(is_kind(kind) for is_kind in _LISTS):
            are_texts = any(is_kind(kind.value_type) for is_kind in _TEXTS[:2])
            plain = pa.list_(pa.string() if are_texts else kind.value_type)
        try:
            if pa.types.is_dictionary(field.type):  # Arrow takes no views of text out of one
                chunks = [chunk.dictionary.cast(plain).take(chunk.indices) for chunk in column.chunks]
                column = pa.chunked_array(chunks, plain)
            columns[field.name] = column if column.type == plain else column.cast(plain)  # else lists of objects break
        except pa.ArrowException as problem:
            if not any(is_kind(kind) for is_kind in (*_BYTES, *_LISTS)):
                reason = f"Column {field.name} could not be read ({first_line(problem)})."
                raise input_error(function, parameter, "hold values of its columns' types", remedy=reason) from None
            columns[field.name] = column  # bytes that are not UTF-8, lists that this Arrow cannot convert
    return pa.table(columns).replace_schema_metadata(table.schema.metadata) if columns else table


def are_rows(values: Any) -> bool:
    """Say whether several values are rows, mappings of names to values, and not columns or tables."""
    usual = ("bucket_id", "question", "prompt", "prediction")

    def is_row(row: Any) -> bool:
        if not isinstance(row, Mapping) or any(isinstance(row.get(name), (list, tuple)) for name in usual):
            return False
        return any(isinstance(value, (str, int, float)) for value in row.values())

    return isinstance(values, (list, tuple)) and bool(values) and all(map(is_row, values))


def table_of_rows(rows: Sequence[Mapping[str, Any]], *, nested: bool = False) -> pa.Table:
    """Return rows as a table: lists and mappings are JSON, columns of several kinds are text.

    With `nested` columns that hold nothing but lists, or mappings, keep them.
    """
    columns: dict[str, pa.Array | list[Any]] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        if nested and {type(row.get(name)) for row in rows} - {type(None)} in ({list}, {tuple}, {dict}, {np.ndarray}):
            with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
                columns[name] = pa.array([row.get(name) for row in rows])
                continue
        values = [_storable(row.get(name)) for row in rows]
        is_mixed = len({type(value) for value in values if value is not None}) > 1
        columns[name] = [as_text(value) if is_mixed and value is not None else value for value in values]
    return pa.table(columns)


def _storable(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value)
    is_missing = type(value).__name__ == "NAType" or value != value  # of pandas, or NaN
    return None if is_missing else valid_text(value) if isinstance(value, str) else value


def in_arrow(table: Any, function: str = "score") -> pa.Table:
    """Return a table in memory as an Arrow table; of the index of a data frame the levels that have a name.

    InputError if it is no table that is known: pandas, polars, pyarrow, `datasets.Dataset`, a mapping of columns,
    a list of rows.
    """
    if isinstance(table, Mapping) and hasattr(table, "with_format"):  # datasets.DatasetDict
        if len(table) != 1:
            remedy = f"Give one of them, such as data[{next(iter(table), 'test')!r}]."
            raise input_error(function, "path", "be one split", got=[*table], remedy=remedy)
        (table,) = table.values()
    if isinstance(table, Mapping) and (texts := [name for name, value in table.items() if isinstance(value, str)]):
        must, remedy = "have a list of values in each column", "Rows are given in a list."
        raise input_error(function, "path", must, got=f"text in {', '.join(map(str, texts))}", remedy=remedy)
    try:
        if are_rows(table):
            table = table_of_rows(table, nested=True)
        if hasattr(table, "with_format"):  # of datasets: a selection or a shuffle is known to it alone
            table = table.with_format("arrow")[:]
        elif hasattr(table, "iloc") and hasattr(table, "columns"):
            named = [name for name in table.index.names if name is not None and name not in table.columns]
            table = pa.Table.from_pandas(table.reset_index(named) if named else table, preserve_index=False)
        elif isinstance(table, Mapping) or hasattr(table, "__arrow_c_stream__"):
            table = pa.table(dict(table) if isinstance(table, Mapping) else table)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as problem:
        remedy = f"Its columns cannot be stored ({first_line(problem)})."
        raise input_error(function, "path", "be a table whose columns hold values of one kind", remedy=remedy) from None
    if not isinstance(table, pa.Table):
        wanted = "be a path or a table (pandas, polars, pyarrow, datasets, a mapping of columns, rows)"
        raise input_error(function, "path", wanted, got=type(table).__name__)
    return plain_table(table, function=function)


def column_of(table: pa.Table, name: str, *, parameter: str, function: str = "score") -> Any:
    """Return a column; raise an error about `parameter` if the table does not have it."""
    if name not in table.column_names:
        raise missing_columns(table, {parameter: name}, function)
    return table[name]


def missing_columns(table: pa.Table, named: Mapping[str, str], function: str = "score") -> InputError:
    """Return (not raise) the error that these parameters name no column, with columns that they may mean."""
    names, (first, *others) = table.column_names, named
    must = "name a column of the predictions" + ", as must " * bool(others) + " and ".join(f"`{one}`" for one in others)
    likely = [f"`{one}` {found!r}" for one, name in named.items() if (found := likely_column(names, one, name))]
    remedy = f"Its columns are {', '.join(names)}." + f" Perhaps {', '.join(likely)}?" * bool(likely)
    return input_error(function, first, must, got=[*named.values()] if others else named[first], remedy=remedy)


def likely_column(names: Sequence[str], parameter: str, name: str) -> str | None:
    """Return the column that (the last part of a path) is almost the name, or a usual one of what a parameter names."""
    columns = {column.lower().rpartition(".")[2]: column for column in reversed(names)}
    near = get_close_matches(name.lower().rpartition(".")[2], columns, 1, _ALIKE)
    return next((columns[one] for one in (*near, *USUAL_NAMES.get(parameter, "").split()) if one in columns), None)


def _check_looks(head: bytes, ending: str, encoding: str | None) -> None:
    """Refuse a file whose first bytes do not fit its ending."""
    looks = next((what for start, what in _STARTS.items() if head.startswith(start)), None)
    if ending in (".csv", ".tsv") and head.removeprefix(codecs.BOM_UTF8).startswith((b'{"', b'[{"')):
        looks = "JSON"
    is_own = looks == "Parquet" if ending == ".parquet" else ending == ".xlsx" and head[:2] == b"PK"
    if looks is not None and not is_own:
        raise ValueError(f"it seems to be {looks}, which does not fit its ending")
    if ending not in (".parquet", ".xlsx") and b"\0" in head and encoding in (None, "utf-8"):
        raise ValueError("it contains NUL bytes; if it is UTF-16 without a byte order mark, pass `encoding`")


def _read_parquet(file: Path) -> pa.Table:
    """Read a Parquet file in parts, and stop at one of a few kilobytes that unpacks to gigabytes."""
    most = max(_ANY_SIZE, _MOST_UNPACKED * file.stat().st_size)
    with pq.ParquetFile(file) as stored:

        def parts() -> Iterator[pa.Table]:
            size = 0
            for batch in stored.iter_batches(_FEW):
                kinds = [c.type.value_type if pa.types.is_dictionary(c.type) else c.type for c in batch.columns]
                fields = zip(batch.schema.names, kinds, strict=True)
                yield (part := pa.Table.from_batches([batch]).cast(pa.schema(fields)))
                size += part.get_total_buffer_size()
                if size > most:
                    raise ValueError(f"it unpacks to more than {_MOST_UNPACKED} times its size")

        table = joined(parts()) if stored.metadata.num_rows else stored.schema_arrow.empty_table()
        return table.replace_schema_metadata(stored.schema_arrow.metadata)


def joined(parts: Iterable[pa.Table]) -> pa.Table:
    """Return parts (at least one) as one table; a large one is mapped from an unlinked temporary file.

    The system can drop the pages of such a file when memory is short.
    """
    parts, read, size = iter(parts), [], 0
    for part in parts:
        read.append(part)
        size += part.get_total_buffer_size()
        if size > _IN_MEMORY and os.name != "nt":
            break
    else:
        return pa.concat_tables(read)
    with tempfile.NamedTemporaryFile(prefix="paraconsist-") as file:
        with pa.ipc.new_file(file, read[0].schema) as writer:
            while read:
                writer.write_table(read.pop(0))
            for part in parts:
                writer.write_table(part)
        file.flush()
        return pa.ipc.open_file(pa.memory_map(file.name)).read_all()


def _decoded(file: Path, encoding: str | None, notes: list[str]) -> str:
    """Return a file's text, decoded by `encoding`, else UTF-8, else Windows-1252 if it reads like western Europe's."""
    content = file.read_bytes()
    try:
        return content.decode(encoding or "utf-8")
    except UnicodeDecodeError as problem:
        n_lost = content.decode("utf-8", "replace").count("\ufffd")
        is_damaged = problem.reason.startswith("unexpected end") or len(_MULTIBYTE.findall(content)) >= n_lost
        if encoding is not None or is_damaged:
            raise
        with suppress(UnicodeDecodeError):
            if not _UNLIKELY.search(text := content.decode("cp1252")):
                notes.append(f"{file.name} is not UTF-8 and is read as Windows-1252; pass `encoding` if that is wrong")
                return text
        raise


def _delimiter(text: str, own: str, names: Collection[str]) -> str:
    """Return the delimiter of cells: the format's `own` one, or another that the first two lines have equally often.

    Of several, the first line's cells under it are most often `names`.
    """
    lines = re.sub(r'"[^"]*"', "", text[: 1 << 16]).split("\n", 2)
    counts = {sign: [line.count(sign) for line in lines[:2]] for sign in (own, ",", ";", "\t", "|")}
    alike = [sign for sign, n in counts.items() if len(n) == 2 and n[0] == n[1] > 0]
    header = text.split("\n", 1)[0].rstrip("\r").replace('"', "")
    known = {sign: sum(name in names for name in header.split(sign)) for sign in counts}
    fitting = alike or [own] * bool(counts[own][0]) or counts
    return max(fitting, key=lambda sign: (known[sign], counts[sign][0]))


def _read_delimited(file: Path, own: str, encoding: str | None, names: Collection[str], notes: list[str]) -> pa.Table:
    text = _decoded(file, encoding, notes).lstrip("\ufeff\r\n")
    if text.rstrip().endswith(_END):
        text = text.rstrip().rstrip(_END)
    delimiter = own
    if text[:4].lower() == "sep=" and text[5:6] in ("\r", "\n"):  # Excel's line for the delimiter
        delimiter, text = text[4], text[5:].lstrip("\r\n")
    else:
        delimiter = _delimiter(text, own, names)
    if delimiter != own:
        notes.append(f"{file.name} is read with {delimiter!r} between its cells, as in its first lines")
    header, parts = _cells(text, delimiter)
    cells = [pa.chunked_array([part[place] for part in parts], pa.string()) for place in range(len(header))]
    if '"' in text and text.count("\n") > len(cells[0]) + 1:
        _check_swallowed(cells, delimiter)
    return _table_of_cells(header, cells, file, notes)


def _read_workbook(file: Path, function: str, notes: list[str]) -> pa.Table:
    """Read the first sheet of an Excel workbook, as if it had been saved as CSV; formulas have their last values."""
    with extras(function):
        from openpyxl import load_workbook
    try:
        with ZipFile(file) as archive:
            archive_entries(archive)
        book = load_workbook(file, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        rows = [[_cell(value) for value in row] for row in sheet.iter_rows(values_only=True)]
        others = len(book.sheetnames) - 1
        book.close()
    except (BadZipFile, LookupError, SyntaxError, TypeError) as problem:
        raise ValueError(first_line(problem)) from None
    if others:
        notes.append(f"{file.name} has {others + 1} sheets, of which the first, {sheet.title}, is read")
    filled = [row for row in rows if any(row)] or [[]]
    width = max((place for row in filled for place, cell in enumerate(row, 1) if cell), default=0)
    header, *body = ([*row, *[""] * width][:width] for row in filled)
    cells = [pa.chunked_array([[row[place] for row in body]], pa.string()) for place in range(width)]
    return _table_of_cells(header, cells, file, notes)


def _cell(value: Any) -> str:
    """Return the text of an Excel cell, whose whole numbers may be stored with a decimal point."""
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST_EXACT:
        value = int(value)
    return "" if value is None else value.isoformat() if isinstance(value, date) else str(value)


def _table_of_cells(header: list[str], cells: list[pa.ChunkedArray], file: Path, notes: list[str]) -> pa.Table:
    columns = {}
    for place, name in enumerate(header):
        column, has_points = _typed(cells[place])
        if has_points:
            notes.append(f"column {name} of {file.name} holds whole numbers with .0, which are read as whole numbers")
        if name or header.count("") == 1 or not pa.types.is_null(column.type):  # else it is an empty column of Excel's
            columns[place] = column
    return pa.Table.from_arrays(list(columns.values()), [header[place] for place in columns])


def _cells(text: str, delimiter: str) -> tuple[list[str], list[list[pa.Array]]]:
    """Return the names of the columns, and their cells as text in blocks of rows.

    Arrow reads them if every quote is in its place and every row has all cells; else Python does, whose errors name the
    row.
    """
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    limit = csv.field_size_limit(1 << 30)
    number, parts, block = 0, list[list[pa.Array]](), list[list[str]]()
    try:
        names = next(rows, [])
        if len(names) > 1 and _is_quoted_well(text, delimiter):
            with suppress(pa.ArrowInvalid):
                numbers = list(map(str, range(len(names))))
                reading = pa.csv.ReadOptions(column_names=numbers, skip_rows=rows.line_num)
                parsing = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values='"' in text)
                kinds = dict.fromkeys(numbers, pa.string())
                as_text = pa.csv.ConvertOptions(column_types=kinds, strings_can_be_null=False)
                table = pa.csv.read_csv(own_stream(text.encode()), reading, parsing, as_text)
                return names, [batch.columns for batch in table.to_batches()]
        for cells in filter(None, rows):
            if len(cells) == 1 < len(names) and not cells[0].strip():
                continue
            if len(cells) != len(names):
                raise ValueError(f"row {number + 1} has {len(cells)} cells where the first line has {len(names)}")
            block.append(cells)
            number += 1
            if len(block) == _BLOCK:
                parts.append([pa.array(column, pa.string()) for column in zip(*block, strict=True)])
                block.clear()
        last = zip(*block, strict=True) if block else [()] * len(names)
        return names, [*parts, [pa.array(column, pa.string()) for column in last]]
    except csv.Error as problem:
        if "unexpected end" in str(problem):
            raise ValueError(f"a quote that opens in row {number + 1} is never closed") from None
        raise ValueError(f"{problem}, in line {rows.line_num}") from None
    finally:
        csv.field_size_limit(limit)


def _is_quoted_well(text: str, delimiter: str) -> bool:
    """Say whether quotes, doubled ones apart, open and close cells in turn."""
    pieces = "\n{}\n".format(text.replace('""', "")).split('"')
    outside, ends = pieces[::2], {delimiter, "\r", "\n"}
    before, after = {piece[-1:] for piece in outside[:-1]}, {piece[:1] for piece in outside[1:]}
    return len(pieces) % 2 == 1 and before | after <= ends


def _check_swallowed(columns: list[pa.ChunkedArray], delimiter: str) -> None:
    """Refuse a cell whose lines look like rows: each has all columns, and one column has its few usual values."""
    few = [set(values.to_pylist()) if len(values := column.unique()) <= _FEW_VALUES else None for column in columns]
    for column in columns if len(columns) > 1 else ():
        has_lines = pc.match_substring_regex(column, r"\n[^\n]+\n")
        for row in np.flatnonzero(has_lines.to_numpy()).tolist():
            inner = list(csv.reader(column[row].as_py().splitlines()[1:-1], delimiter=delimiter))
            if any(len(cells) != len(columns) for cells in inner):
                continue
            if any(known and all(cells[place] in known for cells in inner) for place, known in enumerate(few)):
                held = f"a cell of row {row + 1} holds {len(inner)} lines that are rows"
                raise ValueError(f"{held}: is a quote left open?")


def typed_cells(table: pa.Table) -> pa.Table:
    """Return a table of CSV, all text, with the numbers, true and false that `read_table` finds in it."""
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type) and not pa.types.is_null((column := _typed(table[i])[0]).type):
            table = table.set_column(i, field.name, column)
    return unquoted_columns(table)


def _typed(texts: pa.ChunkedArray) -> tuple[pa.ChunkedArray, bool]:
    """Return cells as whole numbers or true and false if all have that form, and whether the numbers have a ``.0``.

    A column of empty cells becomes null. Others stay text, their empty cells empty text.
    """
    blank = pc.equal(texts, "")
    if pc.all(blank).as_py():
        return pa.chunked_array([pa.nulls(len(texts))]), False
    for pattern, kind in _PATTERNS.items():
        parts = (texts.slice(0, _FEW), blank.slice(0, _FEW)), (texts, blank)  # the first rows rule most columns out
        if all(pc.all(pc.or_(pc.match_substring_regex(part, pattern), empty)).as_py() for part, empty in parts):
            filled = pc.if_else(blank, None, texts)
            has_points = pattern.endswith(r"\.0$")
            with suppress(pa.ArrowInvalid):  # beyond 64 bits
                return (pc.replace_substring(filled, ".0", "") if has_points else filled).cast(kind), has_points
    return texts, False


def json_rows(file: Path, encoding: str = "utf-8-sig") -> Iterator[Json]:
    """Yield the objects of a JSON Lines file, without its blank lines, or of a JSON array.

    Halves of surrogate pairs, which no other file takes, are replaced (see `foreign.valid_text`). ValueError, with
    the row counted from 1, if a line is not one JSON object, repeats a key or is nested too deep.
    """
    with file.open(encoding=encoding) as stream:
        is_array = stream.read(_HEAD).lstrip().startswith("[")
        stream.seek(0)
        try:
            lines = _exactly(stream.read()) if is_array else filter(str.strip, stream)
        except RecursionError:
            raise ValueError("the values are nested too deeply") from None
        for row, line in enumerate(lines, 1):
            try:
                value = line if is_array else _exactly(line.strip())
                if is_array or "\\u" in line or line.count("[") + line.count("{") > _DEEPEST:
                    value = cleaned(value, depth=_DEEPEST)
            except RecursionError:
                raise ValueError(f"the values at row {row} are nested too deeply") from None
            except ValueError as problem:
                raise ValueError(f"row {row} is not a whole JSON object: {first_line(problem)}") from None
            if not isinstance(value, dict):
                raise ValueError(f"row {row} is not a JSON object but {json.dumps(value)[:_MOST_SHOWN]}")
            yield value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        twice = next(name for i, (name, _) in enumerate(pairs) if name in dict(pairs[:i]))
        raise ValueError(f"the key {twice!r} is repeated")
    return row


_exactly = json.JSONDecoder(object_pairs_hook=_once).decode


def read_json_lines(file: Path, encoding: str = "utf-8-sig") -> pa.Table:
    """Read JSON Lines, or a JSON array of objects, in columns; a key that a row lacks becomes null.

    ValueError as for `json_rows`, and if a column holds values of several kinds, or numbers beyond 64 bits.
    """
    table = _by_arrow(file, encoding)
    if table is None:
        table = _in_columns(json_rows(file, encoding))
    return table.drop_columns([""]) if "" in table.column_names and table[""].type == pa.null() else table


def _in_columns(rows: Iterator[Json]) -> pa.Table:
    parts, start, collects = list[pa.Table](), 0, gc.isenabled()
    gc.disable()  # parsed JSON has no cycles, and looking for some takes two fifths of the time
    try:
        while block := list(islice(rows, _FEW)):
            names = dict.fromkeys(chain.from_iterable(block))
            columns = {name: _json_column(name, [row.get(name) for row in block], start) for name in names}
            parts.append(pa.table(columns or {"": pa.nulls(len(block))}))
            start += len(block)
    finally:
        if collects:
            gc.enable()
    if not parts:
        return pa.table({})
    try:
        table = pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException:
        raise ValueError("a column holds values of several kinds") from None
    try:
        table.validate(full=True)
    except pa.ArrowException:  # objects in lists where a part has nothing but nulls of a field
        every = [row for part in parts for row in part.to_pylist()]
        return pa.table({name: pa.array([row.get(name) for row in every]) for name in table.column_names})
    return table


def _by_arrow(file: Path, encoding: str) -> pa.Table | None:
    """Read JSON Lines with Arrow's reader, several times as fast; None where it may differ from `json_rows`.

    In it a line ``null`` ends the process (47409), a list that begins with a null shifts the rows below (51305), deep
    values overflow the stack, text like a time becomes a time, whole numbers beyond 64 bits become doubles, and values
    whose kind changes from one of its blocks to the next are misread or end the process: it gets one block at a time.
    """
    if encoding not in ("utf-8", "utf-8-sig"):
        return None
    parts = list[pa.Table]()
    with file.open("rb") as stream, suppress(pa.ArrowException, RecursionError):
        while lines := stream.readlines(_PIECE):
            data = b"".join(lines)
            if _LEADING_NULL.search(data) or not all(map(_is_one_object, lines)):
                return None
            whole = pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1)
            part = pa.json.read_json(own_stream(data), whole)
            kinds = pa.schema([(field.name, _without_times(field.type)) for field in part.schema])
            if kinds != part.schema:
                part = pa.json.read_json(own_stream(data), whole, pa.json.ParseOptions(kinds))
            if part.num_rows != len(lines):
                return None
            parts.append(part if part.num_columns else pa.table({"": pa.nulls(len(lines))}))
        table = pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({})
        table.validate(full=True)
        if all(_is_as_written(chunk) for column in table.columns for chunk in column.chunks):
            return table
    return None


def _is_one_object(line: bytes) -> bool:
    """Say whether a line may be one object, no beginning or end of one, that is not nested too deeply for Arrow."""
    is_short = len(line) <= _MOST_OPENED or line.count(b"{") + line.count(b"[") <= _MOST_OPENED
    line = line.rstrip(b"\r\n")
    return is_short and line.startswith(b"{") and line.endswith(b"}") and b"\r" not in line


def _without_times(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _without_times(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_without_times(kind.value_type))
    return pa.string() if pa.types.is_temporal(kind) else kind


def _is_as_written(values: pa.Array, depth: int = _DEEPEST - 1) -> bool:
    """Say whether values that Arrow read are those of the file: no large numbers, no values that are too deep."""
    kind = values.type
    if pa.types.is_struct(kind):
        return depth > 0 and all(_is_as_written(values.field(i), depth - 1) for i in range(kind.num_fields))
    if pa.types.is_list(kind):
        return depth > 0 and _is_as_written(values.values, depth - 1)
    return not (pa.types.is_floating(kind) and pc.any(pc.greater_equal(pc.abs(values), _LARGEST_EXACT)).as_py())


def _json_column(name: str, values: list[Any], start: int) -> pa.Array:
    kinds = {bool: "true or false", str: "text", list: "lists", dict: "objects", int: "numbers", float: "numbers"}
    first = next((value for value in values if value is not None), None)
    for kind in set(map(type, values)) - {type(None), type(first)}:
        if kinds[kind] != kinds[type(first)]:
            row = start + next(row for row, value in enumerate(values, 1) if type(value) is kind)
            raise ValueError(f"column {name} holds {kinds[type(first)]} and, at row {row}, {kinds[kind]}")
    try:
        return pa.array(values)
    except OverflowError:
        reason = "integers beyond 64 bits; write them as text"
    except (pa.ArrowException, UnicodeEncodeError) as problem:
        reason = f"values of several kinds ({first_line(problem)})"
    raise ValueError(f"column {name} has {reason}")


def values_of(table: pa.Table, name: str, *, parameter: str, function: str = "score") -> list[Any]:
    """Return the values of a column of ids; lists and objects are refused."""
    column = column_of(table, name, parameter=parameter, function=function)
    if pa.types.is_nested(column.type):
        raise input_error(function, parameter, "hold whole numbers or text", got=str(column.type))
    return list(column.to_pylist())


def column_error(
    parameter: str, name: str, must: str, got: Any, row: int | None = None, remedy: str = ""
) -> InputError:
    """Return the error for a value of column `name`, about the parameter that names the column."""
    where = "" if name == parameter else f"It is column {name}. "
    return input_error("score", parameter, must, got=got, row=row, remedy=f"{where}{remedy}".rstrip())


def empty_cell(parameter: str, name: str, got: str | None, row: int) -> InputError:
    remedy = "Fill it in, or drop the row."
    if parameter == "label":
        remedy = "Fill it in; or leave such problems out (`labelled`), or the labels of all (`label` '')."
    return column_error(parameter, name, "not be empty", got, row, remedy)


def numeric(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text of numbers, and decimals, as floats, with null for empty text; return other columns unchanged."""
    with suppress(pa.ArrowInvalid):
        if pa.types.is_string(column.type):
            trimmed = pc.utf8_trim_whitespace(column)
            return pc.if_else(pc.equal(trimmed, ""), None, trimmed).cast(pa.float64())
        if pa.types.is_decimal(column.type):
            return column.cast(pa.float64())
    return column


def floats(column: pa.ChunkedArray, name: str, parameter: str) -> NDArray[np.float64]:
    """Return a column as numbers, nan where it is empty."""
    values = numeric(column)
    kind = values.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        single = (pa.chunked_array([column.slice(row, 1).combine_chunks()]) for row in range(len(column)))
        row = next((row for row, cell in enumerate(single) if pa.types.is_string(numeric(cell).type)), 0)
        raise column_error(parameter, name, "hold numbers", column[row].as_py(), row)
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def is_text(values: NDArray[Any]) -> bool:
    """Say whether an array holds text (see `text_array`)."""
    return bool(values.dtype.kind in "UO")


def text_array(texts: Sequence[str]) -> NDArray[Any]:
    """Return texts as an array of fixed width if all are short, else of objects: one long text must not widen all."""
    is_short = all(len(text) <= _SHORT for text in texts)
    return np.array(texts, dtype=np.str_ if is_short else object)


def is_among(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.bool_]:
    """Say which values are among the `known`; of texts numpy would compare every pair, or sort them all."""
    if not (is_text(values) and is_text(known)):
        return np.isin(values, known)
    distinct = set(known.tolist())
    return np.fromiter(map(distinct.__contains__, values.tolist()), dtype=np.bool_, count=len(values))


def plain_column(column: pa.ChunkedArray, name: str, parameter: str) -> NDArray[Any]:
    """Return a column without missing values, as integers or text (`is_text`)."""
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise empty_cell(parameter, name, None, row)
    kind, must = column.type, "hold whole numbers or text"
    if pa.types.is_string(kind):
        coded = column.dictionary_encode().combine_chunks()
        texts = coded.dictionary.to_pylist()
        broken = next((text for text in texts if "\0" in text), None)  # numpy drops it at the end
        if broken is not None:
            row = pc.index(column, broken).as_py()
            raise column_error(parameter, name, "hold no NUL characters", broken, row)
        return np.asarray(text_array(texts)[coded.indices.to_numpy()])
    if pa.types.is_boolean(kind):
        return np.asarray(column.cast(pa.int64()).to_numpy())
    if pa.types.is_integer(kind):
        values = column.to_numpy()
        whole = values <= np.iinfo(np.int64).max
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = numeric(column).to_numpy()
        whole = (values == np.floor(values)) & (np.abs(values) <= _LARGEST_EXACT)
    else:
        raise column_error(parameter, name, must, str(kind))
    if not whole.all():
        row = int(np.argmin(whole))
        remedy = "Integers above 2**53 lose precision: write them as text." if abs(values[row]) > _LARGEST_EXACT else ""
        raise column_error(parameter, name, must, values[row].item(), row, remedy)
    return np.asarray(values, dtype=np.int64)


def filled_column(table: pa.Table, name: str, parameter: str) -> NDArray[Any]:
    """Return a column as `plain_column` does; empty text counts as missing."""
    values = plain_column(column_of(table, name, parameter=parameter), name, parameter)
    if is_text(values) and (values == "").any():
        raise empty_cell(parameter, name, "", int(np.argmax(values == "")))
    return values


def fillable_column(column: pa.ChunkedArray, name: str, parameter: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return a column as `plain_column`, and a mask of its missing values, which are 0 or empty text in the column."""
    named = pa.types.is_string(column.type)
    empty = pc.fill_null(pc.equal(column, ""), True) if named else column.is_null(nan_is_null=True)
    missing = np.asarray(empty.to_numpy(), dtype=np.bool_)
    if missing.all():
        return np.full(len(column), "" if named else 0), missing
    if not missing.any():
        return plain_column(column, name, parameter), missing
    places = np.where(missing, int(np.argmin(missing)), np.arange(len(column)))
    return np.where(missing, "" if named else 0, plain_column(column.take(places), name, parameter)), missing
