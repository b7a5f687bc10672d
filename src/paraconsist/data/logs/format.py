"""Log formats: how they are recognised and read, and the columns that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.data.logs.fields import Fields, as_texts, column_under, value_of
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import CHOICES, Metadata, Predictions
from paraconsist.data.rows import roles_of_flags
from paraconsist.errors import InputError, input_error
from paraconsist.files import Json

#: The column of the gold label's probability, if a log's choices differ from row to row.
GOLD_CONFIDENCE = "gold_confidence"
Texts = Mapping[str, pa.ChunkedArray | Sequence[str | None]]  # columns of texts to show


@dataclass(frozen=True)
class Head:
    """The beginning of a file: its first bytes, and its first line if that is a JSON object."""

    start: bytes
    first_row: Json


@dataclass(frozen=True)
class LogFormat:
    """A format of logs."""

    name: str  # in messages and metadata
    what: str  # a description of its files, for messages
    recognises: Callable[[Path, Head], bool]
    #: Path, options and the fields of texts to add (() for the texts that the model read, None for no texts) -> the
    #: predictions in the long format. The metadata hold ``set``, ``model``, ``source`` (format, tool, version, task,
    #: file and the chosen metric or filter) and ``notes`` for the reader.
    read: Callable[[Path, SourceOptions, Sequence[str] | None], Predictions]
    pattern: str | None = None  # of its files' names in a folder
    options: tuple[str, ...] = ()  # those of metric, filter and epoch that apply to it
    repeats: bool = False  # whether several files of one set are further runs of it


def linked_columns(fields: Fields, query: SourceOptions, *, roots: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    """Return the columns that link a log's rows: bucket, role, group, strata, under the long format's names.

    A full test set, which has no buckets (`query.bucket` is empty), has none of them.
    """
    if not query.bucket:
        return {}
    columns = {"bucket_id": value_of(fields, query.bucket, parameter="bucket", roots=roots)}

    def add_unless_absent(column: str, text: str, parameter: str) -> None:
        """Add a column, which may be absent under its default name."""
        if query.named(parameter) or column_under(fields, text, roots) is not None:
            columns[column] = value_of(fields, text, parameter=parameter, roots=roots)

    if query.original is not None:
        flags = value_of(fields, query.original, parameter="original", roots=roots)
        columns["role"] = pa.chunked_array([roles_of_flags(flags, query.original)])
    else:
        add_unless_absent("role", query.role, "role")
    add_unless_absent("group_id", query.group, "group")
    for parameter, names in {"variant": filter(None, [query.variant]), "stratum": query.stratum or ()}.items():
        columns |= {name: value_of(fields, name, parameter=parameter, roots=roots) for name in names}
    return columns


def free_text_columns(
    answers: Sequence[str | None], accepted: Sequence[Sequence[str]], choices: Sequence[Sequence[str] | None]
) -> dict[str, pa.ChunkedArray]:
    """Return the columns of answers in free text, which the scoring compares, with the accepted ones and choices."""
    texts, lists = pa.chunked_array([answers], pa.string()), pa.list_(pa.string())
    gold = pa.chunked_array([[[*each] or None for each in accepted]], lists)
    return {"label": gold, "prediction": texts, "raw_output": texts, CHOICES: pa.chunked_array([choices], lists)}


def log_predictions(
    path: Path,
    tool: str,
    ids: Sequence[Any],
    columns: Mapping[str, pa.ChunkedArray],
    label_names: list[str] | None,
    fields: Fields,
    texts: Sequence[str] | None,
    *,
    noun: str,
    roots: Sequence[str] = (),
    by_default: Callable[[], Texts] = dict,
    name: str,
    model: Any,
    source: Json,
    notes: list[str],
) -> Predictions:
    """Return a log's rows under their ids, with the metadata of `LogFormat.read` and the texts to show.

    These are the fields of `texts` that the log has; those `by_default` if it is empty, none if it is None. InputError
    if an id occurs twice; `noun` is what has ids.
    """
    shown: Texts = {} if texts is None else by_default()
    if texts:
        named = {text: column_under(fields, text, roots) for text in texts}
        shown = {text: as_texts(column) for text, column in named.items() if column is not None}
    source = {"format": tool, "tool": tool, "file": path.name, **source}
    metadata = Metadata(set=name, model={"model": model}, source=source, notes=notes, texts=list(shown))
    if label_names is not None:
        metadata["label_names"] = label_names
    return Predictions(pa.table({"example_id": pa.array(unique_ids(ids, path, noun)), **columns, **shown}), metadata)


def bad_log(must: str, got: Any, *, row: int | None = None, remedy: str = "") -> InputError:
    """Return the error about a file that cannot be read as a log."""
    return input_error("score", "path", must, got=str(got) if isinstance(got, Path) else got, row=row, remedy=remedy)


def unique_ids(ids: Sequence[Any], path: Path, what: str) -> list[str]:
    """Return row ids as text, or raise if one occurs twice."""
    texts = [*map(str, ids)]
    if len(set(texts)) < len(texts):
        first: dict[str, int] = {}
        row, twice = next((row, text) for row, text in enumerate(texts) if first.setdefault(text, row) != row)
        remedy = (
            f"{path.name} holds it before: were two models' logs, or two runs, put into one file? "
            "Score each one by itself, and compare them with `paraconsist compare`."
        )
        raise bad_log(f"have each {what} once", twice, row=row, remedy=remedy)
    return texts
