"""Plain tables: Parquet, CSV, TSV or JSON Lines with a row a prediction, and columns of any names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.data.logs.fields import Table, is_expression, value_of
from paraconsist.data.logs.format import DEFAULT_FIELDS, Asked, Head, LogFormat, unique_ids
from paraconsist.data.predictions import Predictions, read_predictions
from paraconsist.errors import input_error

_ENDINGS = (".parquet", ".csv", ".tsv", ".jsonl", ".json")
_MODEL_COLUMNS = ("model", "model_name")


def recognises(path: Path, head: Head) -> bool:
    """Say whether a file's name ends like a table's."""
    return path.suffix.lower() in _ENDINGS


def read(path: Path, asked: Asked) -> Predictions:
    """Read one table; its columns keep their names, and what is asked for by expression becomes a column.

    Raises
    ------
    InputError
        If the file cannot be read, a field is missing, or it holds two models' rows or a row twice.
    """
    predictions = read_predictions(path)
    table = predictions.table
    _check_one_model(table, asked, path)
    named = "example_id" in table.column_names and not table["example_id"].null_count
    if named and asked.bucket != "example_id":
        unique_ids(table["example_id"].to_pylist(), path, "example_id")
    for text, option in _named(asked):
        if text not in table.column_names and (is_expression(text) or "." in text):
            table = table.append_column(text, value_of(Table(table), text, option=option))
    return Predictions(table, predictions.metadata)


def _named(asked: Asked) -> list[tuple[str, str]]:
    """Return the fields that the user named, with their options; those called by default may be absent.

    Names without a point are columns, and are looked for where they are read.
    """
    named: Mapping[str, tuple[Any, Any]] = {
        "bucket": (asked.bucket, DEFAULT_FIELDS.bucket),
        "role": (asked.role, DEFAULT_FIELDS.role),
        "group": (asked.group, DEFAULT_FIELDS.group),
        "original": (asked.original, None),
        "label": (asked.label, None),
        "prediction": (asked.prediction, None),
        "confidence": (asked.confidence, None),
    }
    found = [(str(text), option) for option, (text, default) in named.items() if text != default]
    found += [(text, "probabilities") for text in asked.probabilities or ()]
    return found + [(text, "stratum") for text in asked.strata]


def _check_one_model(table: pa.Table, asked: Asked, path: Path) -> None:
    chosen: Sequence[str] = asked.strata
    for name in _MODEL_COLUMNS:
        if name not in table.column_names or name in chosen:
            continue
        models = [model for model in table[name].unique().to_pylist() if model is not None]
        if len(models) > 1:
            raise input_error(
                "score",
                "path",
                "hold one model's predictions",
                got=models[:5],
                remedy=f"Column {name} of {path.name} names {len(models)} models: write a file for each, and compare "
                "them with `paraconsist compare`.",
            )


PLAIN = LogFormat(
    name="table",
    what=f"a table with a row a prediction, whose name must end in one of {', '.join(_ENDINGS)}",
    recognises=recognises,
    read=read,
)
