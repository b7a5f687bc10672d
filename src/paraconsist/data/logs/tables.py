"""Plain tables: Parquet, CSV, TSV or JSON Lines with a row a prediction, and columns of any names."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from paraconsist.data.logs.fields import Table, is_expression, value_of
from paraconsist.data.logs.format import DEFAULT_QUERY, Head, LogFormat, LogQuery, bad_log, unique_ids
from paraconsist.data.predictions import Predictions, read_predictions
from paraconsist.data.tables import ENDINGS

_MODEL_COLUMNS = ("model", "model_name")


def recognises(path: Path, head: Head) -> bool:
    """Say whether a file's name ends like a table's."""
    return path.suffix.lower() in ENDINGS


def read(path: Path, query: LogQuery) -> Predictions:
    """Read one table; its columns keep their names, and what an expression stands for becomes a column."""
    predictions = read_predictions(path)
    table = predictions.table
    _check_one_model(table, query, path)
    has_ids = "example_id" in table.column_names and not table["example_id"].null_count
    if has_ids and query.bucket != "example_id" and query.trial is None:
        unique_ids(table["example_id"].to_pylist(), path, "example_id")
    for text, parameter in _named_fields(query):
        if text not in table.column_names and (is_expression(text) or "." in text):
            table = table.append_column(text, value_of(Table(table), text, parameter=parameter))
    return Predictions(table, predictions.metadata)


def _named_fields(query: LogQuery) -> list[tuple[str, str]]:
    """Return the fields that the user named, with their parameters; those called by default may be absent.

    Names without a point are columns, and are looked for where they are read.
    """
    single = ("bucket", "role", "group", "original", "label", "prediction", "confidence")
    named = [(getattr(query, name), name) for name in single if getattr(query, name) != getattr(DEFAULT_QUERY, name)]
    named += [(text, "probabilities") for text in query.probabilities or ()]
    return named + [(text, "stratum") for text in query.strata]


def _check_one_model(table: pa.Table, query: LogQuery, path: Path) -> None:
    for name in _MODEL_COLUMNS:
        if name not in table.column_names or name in query.strata:
            continue
        models = [model for model in table[name].unique().to_pylist() if model is not None]
        if len(models) > 1:
            remedy = (
                f"Column {name} of {path.name} names {len(models)} models: write a file for each, and compare them "
                "with `paraconsist compare`."
            )
            raise bad_log("hold one model's predictions", models[:5], remedy=remedy)


PLAIN = LogFormat(
    name="table",
    what=f"a table with a row a prediction, whose name must end in one of {', '.join(ENDINGS)}",
    recognises=recognises,
    read=read,
)
