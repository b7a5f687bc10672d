"""Write tables atomically: Parquet, JSON Lines, CSV, TSV, or a folder for ``load_dataset``."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from paraconsist.errors import input_error
from paraconsist.files import replacing, staged

#: The formats of `write_table`, by the file's ending.
ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")

#: The Parquet file in a folder. Its name depends on its content: datasets keys its cache by the names of the folder and
#: its files, and would serve an earlier set.
_INSIDE = "data/test-*.parquet"
_ROWS_AT_ONCE = 10_000
#: Columns of a sheet that people fill in.
_TO_FILL = re.compile(r"(valid|similarity|grammatical|same|right)(_.+)?|writer|new_.+")
#: The beginning of a text that spreadsheets read as a formula, with or without an apostrophe; numbers are none.
_FORMULA = re.compile(r"'*\s*[=+\-@\uff1d\uff0b\uff0d\uff20].", re.DOTALL)
_NUMBER = re.compile(r"\s*[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?\s*%?", re.IGNORECASE)
_PARQUET: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}  # for `paraconsist check`


def check_new_files(function: str, files: Sequence[Path], *, endings: Iterable[str] = ENDINGS, overwrite: bool) -> None:
    """Raise if the first file has none of the `endings`, or a file has no folder or exists already.

    The first file is written last, so that its companion sheets, if nobody filled them in, are left from a killed
    command and may be replaced.
    """
    output = files[0]
    if output.suffix not in endings:
        raise input_error(function, "output", f"end in one of {', '.join(endings)}", got=str(output))
    if len({file.resolve() for file in files}) < len(files):
        raise input_error(function, "output", "not collide with its companion files", got=str(output))
    for file in files:
        if not file.parent.is_dir():
            raise input_error(function, "output", "be in a folder that exists", got=str(file))
        if file.exists() and not overwrite and (file == output or is_filled(file)):
            remedy = "Give `overwrite` to replace it, including cells that were filled in by hand."
            raise input_error(function, "output", "not be there already", got=str(file), remedy=remedy)


def is_filled(sheet: Path) -> bool:
    """Say whether somebody filled in a sheet, or may have: it cannot be read or has no columns to fill in."""
    try:
        with sheet.open(encoding="utf-8-sig", newline="") as stream:
            header, *lines = csv.reader(stream)
    except (OSError, ValueError, csv.Error):
        return True
    places = [place for place, name in enumerate(header) if _TO_FILL.fullmatch(name)]
    return not places or any(line[place] for line in lines for place in places if place < len(line))


def bucket_set_schema(columns: Iterable[str], label_names: Sequence[str]) -> pa.Schema:
    """Return the schema of a bucket set's rows: `columns` in order, all of text except the labels.

    Its metadata hold the label names, in class order, as features of the `datasets` library.
    """
    kinds = {"label": pa.int64(), "allowed_labels": pa.list_(pa.int64())}
    fields = [(name, kinds.get(name, pa.string())) for name in columns]
    features: dict[str, object] = {name: {"dtype": "string", "_type": "Value"} for name, _ in fields}
    features["label"] = {"names": list(label_names), "_type": "ClassLabel"}
    features["allowed_labels"] = {"feature": {"dtype": "int64", "_type": "Value"}, "_type": "List"}
    declared = json.dumps({"info": {"features": features}}).encode()
    return pa.schema(fields, metadata={b"huggingface": declared})


def is_formula(cell: Any) -> bool:
    """Say whether a spreadsheet would run a cell as a formula."""
    return isinstance(cell, str) and bool(_FORMULA.match(cell)) and not _NUMBER.fullmatch(cell)


def quoted(cell: Any) -> Any:
    """Return a cell that no spreadsheet runs as a formula: an apostrophe makes it text, as OWASP advises.

    >>> quoted("=HYPERLINK(A1)"), unquoted("'=HYPERLINK(A1)"), quoted("-0.5"), unquoted(quoted("'- so"))
    ("'=HYPERLINK(A1)", '=HYPERLINK(A1)', '-0.5', "'- so")
    """
    return f"'{cell}" if is_formula(cell) else cell


def unquoted(cell: str) -> str:
    """Return the cell from which `quoted` made `cell`."""
    return cell[1:] if cell[:1] == "'" and is_formula(cell[1:]) else cell


def unquoted_columns(table: pa.Table) -> pa.Table:
    """Return a table read from CSV without the apostrophes of `write_table`."""
    for i, field in enumerate(table.schema):
        texts = table[i] if pa.types.is_string(field.type) else None
        if texts is None or not pc.all(pc.or_(pc.equal(texts, ""), pc.starts_with(texts, "'"))).as_py():
            continue
        plain = pc.utf8_slice_codeunits(texts, 1)
        if any(map(is_formula, plain.to_pylist())):
            table = table.set_column(i, field, plain)
    return table


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table in the format of the file's ending (one of `ENDINGS`).

    In CSV and TSV a column with text that spreadsheets would run as a formula gets apostrophes, which
    `paraconsist.data.tables.read_table` removes; Parquet and JSON Lines hold the texts unchanged.
    """
    if path.suffix == ".jsonl":
        with row_writer(path, table.schema) as write:
            for row in table.to_pylist():
                write(row)
        return
    with replacing(path) as partial:
        if path.suffix == ".parquet":
            pq.write_table(table, partial, **_PARQUET)
            return
        with partial.open("w", encoding="utf-8", newline="") as stream:
            # the writer's own line end, "\r\n", makes it quote a lone "\r" too
            writer = csv.writer(stream, delimiter="," if path.suffix == ".csv" else "\t")
            writer.writerow(map(quoted, table.column_names))
            columns = [column.to_pylist() for column in table.columns]
            for cells in columns:
                if any(map(is_formula, cells)):  # all texts get an apostrophe, so that these can be removed
                    cells[:] = [f"'{cell}" if cell and isinstance(cell, str) else cell for cell in cells]
            writer.writerows(zip(*columns, strict=True))


def write_row_groups(parts: Iterator[pa.Table], path: Path) -> int:
    """Write parts (at least one) as the row groups of a Parquet file; return their number of rows."""
    first = next(parts)
    with replacing(path) as partial, pq.ParquetWriter(partial, first.schema, **_PARQUET) as writer:
        for part in chain([first], parts):
            writer.write_table(part)
    return int(pq.read_metadata(path).num_rows)


@contextmanager
def row_writer(path: Path, schema: pa.Schema) -> Iterator[Callable[[Mapping[str, object]], None]]:
    """Yield a function that writes one row to a file of Parquet or JSON Lines, by its ending.

    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "rows.jsonl"
    >>> with row_writer(file, pa.schema([("word", pa.string())])) as write:
    ...     write({"word": "é"})
    >>> file.read_text(encoding="utf-8")
    '{"word": "é"}\\n'
    """
    waiting: list[Mapping[str, object]] = []
    with replacing(path) as partial:
        if path.suffix != ".parquet":
            with partial.open("w", encoding="utf-8", newline="\n") as stream:
                yield lambda row: print(json.dumps(row, ensure_ascii=False), file=stream)
            return
        with pq.ParquetWriter(partial, schema, **_PARQUET) as writer:

            def flush() -> None:
                if waiting:
                    writer.write_table(pa.Table.from_pylist(waiting, schema=schema))
                    waiting.clear()

            def write(row: Mapping[str, object]) -> None:
                waiting.append(row)
                if len(waiting) == _ROWS_AT_ONCE:
                    flush()

            yield write
            flush()


def file_in_folder(folder: Path) -> Path | None:
    """Return the Parquet file of a folder that `write_set_folder` wrote, None if it is no such folder."""
    files = sorted(folder.glob(_INSIDE))
    return files[0] if len(files) == 1 else None


def write_set_folder(table: pa.Table, folder: Path, *, text: str, tags: Sequence[str] = ()) -> None:
    """Write a bucket set as a folder with one Parquet file and a card, in place of the folder that may be there.

    The rows have a `bucket_set_schema`, which gives ``load_dataset`` the label names; `text` is the card under its
    metadata.
    """
    from huggingface_hub import DatasetCardData

    digest = hashlib.sha256(json.dumps(table.to_pylist(), sort_keys=True).encode()).hexdigest()[:12]
    file = _INSIDE.replace("*", digest)
    metadata = DatasetCardData(
        pretty_name=folder.name,
        language=["en"],
        tags=["paraconsist", *tags, "bucket-set"],
        configs=[{"config_name": "default", "default": True, "data_files": [{"split": "test", "path": file}]}],
    )
    with staged(folder) as new:
        (new / file).parent.mkdir(parents=True)
        pq.write_table(table, new / file, **_PARQUET)
        (new / "README.md").write_text(f"---\n{metadata}\n---\n\n{text}", encoding="utf-8")
