"""What a log format is: how it is recognised, how it is read, and what a user may ask of its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.data.logs.fields import Fields, as_texts, value_of
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Metadata, Predictions
from paraconsist.errors import InputError, input_error

#: The column of the gold label's probability, where a log's choices differ from row to row.
GOLD_CONFIDENCE = "gold_confidence"


@dataclass(frozen=True)
class Head:
    """The beginning of a file: its first bytes, and its first line where that is a JSON object."""

    start: bytes
    first_row: Mapping[str, Any]


@dataclass(frozen=True)
class LogFormat:
    """One format."""

    name: str  # As it is called in messages and metadata
    what: str  # What files of it are called, for messages
    recognises: Callable[[Path, Head], bool]  # Path and `Head` -> whether the file is one
    #: Path, options and the fields of texts to add (() for the texts that the model read, None for no texts) -> the
    #: predictions in the long format. The metadata hold ``set``, ``model``, ``source`` (format, tool, version, task,
    #: file and what was chosen) and ``notes`` for the reader.
    read: Callable[[Path, SourceOptions, Sequence[str] | None], Predictions]
    pattern: str | None = None  # What its files are called in a folder
    options: tuple[str, ...] = ()  # Which of metric, filter and epoch mean something for it


def linked_columns(fields: Fields, query: SourceOptions, *, roots: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    """Return the columns that link a log's rows: bucket, role, group, strata, under the long format's names.

    A log without buckets (`query.bucket` is empty: a full test set) has none of them.
    """
    if not query.bucket:
        return {}
    columns = {"bucket_id": value_of(fields, query.bucket, parameter="bucket", roots=roots)}

    def add_unless_absent(column: str, text: str, parameter: str) -> None:
        """Add a column, which may be absent under its default name."""
        if query.named(parameter) or any(
            fields.column(path) is not None for path in (text, *(f"{r}.{text}" for r in roots))
        ):
            columns[column] = value_of(fields, text, parameter=parameter, roots=roots)

    if query.original is not None:
        flags = value_of(fields, query.original, parameter="original", roots=roots)
        columns["role"] = _role_of(flags, query.original)
    else:
        add_unless_absent("role", query.role, "role")
    add_unless_absent("group_id", query.group, "group")
    for parameter, names in {"variant": filter(None, [query.variant]), "stratum": query.stratum or ()}.items():
        columns |= {name: value_of(fields, name, parameter=parameter, roots=roots) for name in names}
    return columns


def shown_texts(
    fields: Fields, texts: Sequence[str] | None, roots: Sequence[str], by_default: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Return the fields of `texts` that the log has; those `by_default` if it is empty, none if it is None."""
    if not texts:
        return {} if texts is None else by_default()
    paths = {name: (name, *(f"{root}.{name}" for root in roots)) for name in texts}
    columns = {name: [fields.column(path) for path in of_name] for name, of_name in paths.items()}
    present = {name: [one for one in of_name if one is not None] for name, of_name in columns.items()}
    return {name: as_texts(of_name[0]) for name, of_name in present.items() if of_name}


def log_predictions(
    ids: Sequence[str],
    columns: Mapping[str, Any],
    label_names: list[str] | None,
    *,
    name: str,
    model: Any,
    source: Mapping[str, Any],
    notes: list[str],
    texts: Mapping[str, Any],
) -> Predictions:
    """Return a log's rows under their ids, with the metadata that `LogFormat.read` promises."""
    metadata = Metadata(set=name, model={"model": model}, source=dict(source), notes=notes, texts=list(texts))
    if label_names is not None:
        metadata["label_names"] = label_names
    return Predictions(pa.table({"example_id": pa.array(ids), **columns, **texts}), metadata)


def bad_log(must: str, got: Any, *, row: int | None = None, remedy: str = "") -> InputError:
    """Return the error of a file that is not as it must be."""
    return input_error("score", "path", must, got=str(got) if isinstance(got, Path) else got, row=row, remedy=remedy)


def unique_ids(ids: Sequence[Any], path: Path, what: str) -> list[str]:
    """Return row ids as text, or raise if one occurs twice."""
    texts = [str(one) for one in ids]
    if len(set(texts)) < len(texts):
        first: dict[str, int] = {}
        row, twice = next((i, one) for i, one in enumerate(texts) if first.setdefault(one, i) != i)
        remedy = (
            f"It stands in {path.name} before: were two models' logs, or two runs, put into one file? "
            "Score each one by itself, and compare them with `paraconsist compare`."
        )
        raise bad_log(f"have each {what} once", twice, row=row, remedy=remedy)
    return texts


def _role_of(flags: pa.ChunkedArray, text: str) -> pa.ChunkedArray:
    values = [str(flag).lower() for flag in flags.to_pylist()]
    roles = {"true": "original", "1": "original", "false": "paraphrase", "0": "paraphrase"}
    wrong = next((row for row, value in enumerate(values) if value not in roles), None)
    if wrong is not None:
        remedy, got = f"Compare it, as in '{text} == \"...\"'.", flags[wrong].as_py()
        raise input_error("score", "original", "be true or false in every row", got=got, row=wrong, remedy=remedy)
    return pa.chunked_array([pa.array([roles[value] for value in values])])
