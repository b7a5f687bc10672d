"""Rows of every role, scored."""

import json
from typing import Any

import pyarrow as pa

from paraconsist.data.predictions import Predictions
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.score import score_set
from paraconsist.scoring.sources import Source


def scored(command, *args: object) -> dict[str, Any]:
    code, out, err = command("score", *args, "--json")
    assert code == 0, err
    return next(iter(json.loads(out).values()))


def result_of(table: pa.Table | list[dict[str, Any]], metadata: Any = None, **options: Any) -> dict[str, Any]:
    """Return the result of a set in memory, as it is written."""
    table = pa.Table.from_pylist(table) if isinstance(table, list) else table
    return score_set(Source("set", Predictions(table, metadata or {})), ScoreOptions(**options)).to_dict()


def rows(*places: tuple[str, str, int, int]) -> list[dict[str, Any]]:
    return [
        {"example_id": f"{bucket}.{role}", "bucket_id": bucket, "role": role, "label": label, "prediction": prediction}
        for bucket, role, label, prediction in places
    ]


GOOD = rows(("a", "original", 1, 1), ("a", "swap", 1, 0), ("b", "original", 0, 0), ("b", "swap", 0, 0))
