"""Tables of rows from files (CSV, JSON Lines, Parquet), and their columns as arrays of whole numbers or text."""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paraconsist.data.json_lines import read_json_lines
from paraconsist.data.writing import unquoted_columns
from paraconsist.errors import InputError, first_line, input_error

#: The formats of `read_table`, by the file's ending.
ENDINGS = (".parquet", ".csv", ".tsv", ".jsonl", ".json")
#: Where a table's metadata say what a reader must know of how it was read.
NOTES = b"paraconsist_notes"
_BLOCK = 1 << 14
_FEW = 1 << 12  # rows, each of which may be large
_FEW_VALUES = 20
_HEAD = 1 << 12
_SHORT = 64  # characters; longer text is kept as objects
_LARGEST_EXACT = 2.0**53
_ANY_SIZE = 1 << 30  # bytes that any file may unpack to
_MOST_UNPACKED = 1000
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


def read_table(
    path: str | os.PathLike[str], *, function: str, parameter: str = "path", encoding: str | None = None
) -> pa.Table:
    """Read a table of rows from Parquet, JSON Lines, CSV or TSV, by the file's ending.

    Text is UTF-8, or what a byte order mark says, else in `encoding`; CSV and TSV that are none of these and read like
    text of western Europe are Windows-1252, as Excel writes them. The delimiter is what the first lines have. Cells of
    CSV and TSV stay the text that they are, but for columns of whole numbers, each in its one way of writing (``007``
    and ``1e1`` are text), all with ``.0`` as pandas writes those with gaps, or of true and false; decimals become
    numbers where they are used (`numeric`). What a reader must know of how it was read stands in the metadata, as a
    list of sentences under `NOTES`.

    InputError if the file is absent, cut short, empty, of an unknown format or of another than its ending says; the
    message names the file.
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
            table = unquoted_columns(_read_delimited(file, "," if ending == ".csv" else "\t", encoding, notes))
        else:
            table = read_json_lines(file, encoding or "utf-8")
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, RecursionError, MemoryError, csv.Error) as problem:
        remedy = f"It could not be read: {first_line(problem)}. Mend it, or copy it again if it was cut short."
        if isinstance(problem, UnicodeDecodeError):
            what = "it is not utf-8, nor like Windows-1252" if encoding is None else f"it is not {problem.encoding}"
            remedy = (
                f"It could not be read: {what}. Save it as UTF-8, or say with `encoding` what it is, such as cp1251."
            )
        raise input_error(function, parameter, "be a readable, whole file", got=str(file), remedy=remedy) from None
    except LookupError:
        must = "name an encoding, such as utf-8, utf-16, latin-1 or cp1252"
        raise input_error(function, "encoding", must, got=encoding) from None
    table = plain_table(table, function=function, parameter=parameter)
    if table.num_rows == 0:
        raise input_error(function, parameter, "have at least one row", got=str(file), remedy="The file holds none.")
    kept = table.schema.metadata or {}
    return table.replace_schema_metadata({**kept, NOTES: json.dumps(notes)}) if notes else table


def plain_table(table: pa.Table, *, function: str = "score", parameter: str = "path") -> pa.Table:
    """Return a table with every kind of column that pandas, polars and others write for text and numbers alike.

    Large text, views and bytes of UTF-8 become strings, dictionaries what they stand for, half floats doubles.
    InputError if a column's name stands twice, or values are not what their type says.
    """
    twice = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if twice:
        raise input_error(function, parameter, "name each of its columns once", got=twice, remedy="Rename one.")
    columns = {}
    for field in table.schema:
        column, kind = table[field.name], field.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        to = pa.string() if any(is_kind(kind) for is_kind in _TEXTS) else kind
        try:
            columns[field.name] = column.cast(pa.float64() if pa.types.is_float16(kind) else to)
        except pa.ArrowException as problem:
            if not any(is_kind(kind) for is_kind in _BYTES):
                reason = f"Column {field.name} could not be read ({first_line(problem)})."
                raise input_error(function, parameter, "hold what its types say", remedy=reason) from None
            columns[field.name] = column  # bytes that are no text
    return pa.table(columns).replace_schema_metadata(table.schema.metadata) if columns else table


def column_of(table: pa.Table, name: str, *, parameter: str, function: str = "score") -> Any:
    """Return a column; raise if `parameter` names one that the table does not have."""
    if name not in table.column_names:
        remedy = f"Its columns are {', '.join(table.column_names)}."
        raise input_error(function, parameter, "name a column of the predictions", got=name, remedy=remedy)
    return table[name]


def _check_looks(head: bytes, ending: str, encoding: str | None) -> None:
    """Refuse a file that begins like one of another format than its ending says."""
    looks = next((what for start, what in _STARTS.items() if head.startswith(start)), None)
    if ending in (".csv", ".tsv") and head.removeprefix(codecs.BOM_UTF8).startswith((b'{"', b'[{"')):
        looks = "JSON"
    if looks is not None and (looks, ending) != ("Parquet", ".parquet"):
        raise ValueError(f"it seems to be {looks}, whatever its name says")
    if ending != ".parquet" and b"\0" in head and encoding in (None, "utf-8"):
        raise ValueError("it holds zero bytes: it is no text, or UTF-16 without a mark, which `encoding` says")


def _read_parquet(file: Path) -> pa.Table:
    """Read a Parquet file, but not one that is made to fill the memory: a few kilobytes can stand for any size."""
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
                    raise ValueError(f"unpacked it is more than {_MOST_UNPACKED} times its size")

        table = joined(parts()) if stored.metadata.num_rows else stored.schema_arrow.empty_table()
        return table.replace_schema_metadata(stored.schema_arrow.metadata)


def joined(parts: Iterable[pa.Table]) -> pa.Table:
    """Return parts (one at least) as one table; a large one lies in a temporary file without a name that is mapped.

    The system takes the pages of such a file back where memory is short.
    """
    parts, kept, size = iter(parts), [], 0
    for part in parts:
        kept.append(part)
        size += part.get_total_buffer_size()
        if size > _IN_MEMORY and os.name != "nt":
            break
    else:
        return pa.concat_tables(kept)
    with tempfile.NamedTemporaryFile(prefix="paraconsist-") as file:
        with pa.ipc.new_file(file, kept[0].schema) as writer:
            while kept:
                writer.write_table(kept.pop(0))
            for part in parts:
                writer.write_table(part)
        file.flush()
        return pa.ipc.open_file(pa.memory_map(file.name)).read_all()


def _decoded(file: Path, encoding: str | None, notes: list[str]) -> str:
    """Return a file's text: in `encoding`, else UTF-8, else Windows-1252 where it reads like text of western Europe."""
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
                how = "is not UTF-8 and is read as Windows-1252; `encoding` says what it is if that is wrong"
                notes.append(f"{file.name} {how}")
                return text
        raise


def _delimiter(text: str, own: str) -> str:
    """Return what stands between cells: the format's own sign, else what the first two lines have equally often."""
    lines = re.sub(r'"[^"]*"', "", text[: 1 << 16]).split("\n", 2)
    counts = {sign: [line.count(sign) for line in lines[:2]] for sign in (own, ",", ";", "\t", "|")}
    alike = [sign for sign, n in counts.items() if len(n) == 2 and n[0] == n[1] > 0]
    return max(alike or [own] * bool(counts[own][0]) or counts, key=lambda sign: counts[sign][0])


def _read_delimited(file: Path, own: str, encoding: str | None, notes: list[str]) -> pa.Table:
    text = _decoded(file, encoding, notes).lstrip("\r\n")
    delimiter = own
    if text[:4].lower() == "sep=" and text[5:6] in ("\r", "\n"):  # Excel's own way to say it
        delimiter, text = text[4], text[5:].lstrip("\r\n")
    else:
        delimiter = _delimiter(text, own)
    if delimiter != own:
        notes.append(f"{file.name} is read with {delimiter!r} between its cells, as its first lines have it")
    names, parts = _cells(text, delimiter)
    cells = [pa.chunked_array([part[place] for part in parts], pa.string()) for place in range(len(names))]
    if '"' in text and text.count("\n") > len(cells[0]) + 1:
        _check_swallowed(cells, delimiter)
    columns = {}
    for place, name in enumerate(names):
        column, has_points = _typed(cells[place])
        if has_points:
            notes.append(f"column {name} of {file.name} holds whole numbers with .0, which are read as whole numbers")
        if name or names.count("") == 1 or not pa.types.is_null(column.type):  # else what Excel leaves at the end
            columns[place] = column
    return pa.Table.from_arrays(list(columns.values()), [names[place] for place in columns])


def _cells(text: str, delimiter: str) -> tuple[list[str], list[list[pa.Array]]]:
    """Return the names of the columns, and their cells as text in blocks of rows.

    They are read by Arrow where every quote is in its place and every row has its cells, else by Python, which says
    what is wrong.
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
                table = pa.csv.read_csv(pa.BufferReader(text.encode()), reading, parsing, as_text)
                return names, [batch.columns for batch in table.to_batches()]
        for cells in filter(None, rows):
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
    """Say whether quotes, but for doubled ones, open and close cells in turn."""
    pieces = "\n{}\n".format(text.replace('""', "")).split('"')
    outside, ends = pieces[::2], {delimiter, "\r", "\n"}
    is_even = len(pieces) % 2 == 1
    return is_even and {one[-1:] for one in outside[:-1]} <= ends and {one[:1] for one in outside[1:]} <= ends


def _check_swallowed(columns: list[pa.ChunkedArray], delimiter: str) -> None:
    """Refuse a cell whose inner lines are rows: all have the columns, and one column the few values that it has."""
    few = [set(values.to_pylist()) if len(values := column.unique()) <= _FEW_VALUES else None for column in columns]
    for column in columns if len(columns) > 1 else ():
        has_lines = pc.match_substring_regex(column, r"\n[^\n]+\n")
        for row in np.flatnonzero(has_lines.to_numpy()).tolist():
            inner = list(csv.reader(column[row].as_py().splitlines()[1:-1], delimiter=delimiter))
            if any(len(cells) != len(columns) for cells in inner):
                continue
            if any(known and all(cells[place] in known for cells in inner) for place, known in enumerate(few)):
                raise ValueError(
                    f"a cell of row {row + 1} holds {len(inner)} lines that are rows: was a quote left open?"
                )


def _typed(texts: pa.ChunkedArray) -> tuple[pa.ChunkedArray, bool]:
    """Return cells as what they are in one way only: whole numbers, true or false; and whether these have a ``.0``.

    Where all are empty they are null. All others stay text, and an empty one of theirs an empty text.
    """
    blank = pc.equal(texts, "")
    if pc.all(blank).as_py():
        return pa.chunked_array([pa.nulls(len(texts))]), False
    for pattern, kind in _PATTERNS.items():
        parts = (texts.slice(0, _FEW), blank.slice(0, _FEW)), (texts, blank)  # most columns are ruled out by the first
        if all(pc.all(pc.or_(pc.match_substring_regex(part, pattern), empty)).as_py() for part, empty in parts):
            filled = pc.if_else(blank, None, texts)
            has_points = pattern.endswith(r"\.0$")
            with suppress(pa.ArrowInvalid):  # beyond 64 bits
                return (pc.replace_substring(filled, ".0", "") if has_points else filled).cast(kind), has_points
    return texts, False


def values_of(table: pa.Table, name: str, *, parameter: str, function: str = "score") -> list[Any]:
    """Return the values of a column that tells rows apart: as they are, but no lists and no objects."""
    column = column_of(table, name, parameter=parameter, function=function)
    if pa.types.is_nested(column.type):
        raise input_error(function, parameter, "hold whole numbers or text", got=str(column.type))
    return list(column.to_pylist())


EMPTY = "Fill it in, or drop the row."


def column_error(
    parameter: str, name: str, must: str, got: Any, row: int | None = None, remedy: str = ""
) -> InputError:
    """Return the error for what stands in a column: of the field that names it; the remedy says which column it is."""
    where = "" if name == parameter else f"It is column {name}. "
    return input_error("score", parameter, must, got=got, row=row, remedy=f"{where}{remedy}".rstrip())


def numeric(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text that writes numbers as these, empty text as null, decimals as floats; other columns as they are."""
    with suppress(pa.ArrowInvalid):
        if pa.types.is_string(column.type):
            trimmed = pc.utf8_trim_whitespace(column)
            return pc.if_else(pc.equal(trimmed, ""), None, trimmed).cast(pa.float64())
        if pa.types.is_decimal(column.type):
            return column.cast(pa.float64())
    return column


def floats(column: pa.ChunkedArray, name: str, parameter: str) -> NDArray[np.float64]:
    """Return a column of numbers, nan where it is empty."""
    values = numeric(column)
    kind = values.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        single = (pa.chunked_array([column.slice(row, 1).combine_chunks()]) for row in range(len(column)))
        row = next((row for row, one in enumerate(single) if pa.types.is_string(numeric(one).type)), 0)
        raise column_error(parameter, name, "hold numbers", column[row].as_py(), row)
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def is_text(values: NDArray[Any]) -> bool:
    """Say whether an array holds text: of a fixed width where all are short, else objects."""
    return bool(values.dtype.kind in "UO")


def text_array(texts: Sequence[str]) -> NDArray[Any]:
    """Return text as an array whose size does not go by the longest."""
    is_short = all(len(text) <= _SHORT for text in texts)
    return np.array(texts, dtype=np.str_ if is_short else object)


def is_among(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.bool_]:
    """Say which values are among the `known`; numpy compares objects each with each."""
    if "O" not in (values.dtype.kind, known.dtype.kind):
        return np.isin(values, known)
    held = set(known.tolist())
    return np.fromiter(map(held.__contains__, values.tolist()), dtype=np.bool_, count=len(values))


def plain_column(column: pa.ChunkedArray, name: str, parameter: str) -> NDArray[Any]:
    """Return a column without missing values, as integers or text (`is_text`)."""
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise column_error(parameter, name, "not be empty", None, row, EMPTY)
    kind, must = column.type, "hold whole numbers or text"
    if pa.types.is_string(kind):
        coded = column.dictionary_encode().combine_chunks()
        texts = coded.dictionary.to_pylist()
        broken = next((text for text in texts if "\0" in text), None)  # numpy loses it at an end
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
        remedy = "Numbers so large are not told apart: write them as text." if abs(values[row]) > _LARGEST_EXACT else ""
        raise column_error(parameter, name, must, values[row].item(), row, remedy)
    return np.asarray(values, dtype=np.int64)


def filled_column(table: pa.Table, name: str, parameter: str) -> NDArray[Any]:
    """Return a column as `plain_column`; an empty text is a missing value here."""
    values = plain_column(column_of(table, name, parameter=parameter), name, parameter)
    if is_text(values) and (values == "").any():
        raise column_error(parameter, name, "not be empty", "", int(np.argmax(values == "")), EMPTY)
    return values


def fillable_column(column: pa.ChunkedArray, name: str, parameter: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return a column as `plain_column`, and where it is empty: a missing value, which is 0 then, or an empty text."""
    named = pa.types.is_string(column.type)
    empty = pc.fill_null(pc.equal(column, ""), True) if named else column.is_null()
    missing = np.asarray(empty.to_numpy(), dtype=np.bool_)
    if missing.all():
        return np.full(len(column), "" if named else 0), missing
    if not missing.any():
        return plain_column(column, name, parameter), missing
    places = np.where(missing, int(np.argmin(missing)), np.arange(len(column)))
    return np.where(missing, "" if named else 0, plain_column(column.take(places), name, parameter)), missing
