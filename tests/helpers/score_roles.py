"""Rows of every role, scored."""

import json
from typing import Any


def scored(command, *args: object) -> dict[str, Any]:
    code, out, err = command("score", *args, "--json")
    assert code == 0, err
    return next(iter(json.loads(out).values()))


def rows(*places: tuple[str, str, int, int]) -> list[dict[str, Any]]:
    return [
        {"example_id": f"{bucket}.{role}", "bucket_id": bucket, "role": role, "label": label, "prediction": prediction}
        for bucket, role, label, prediction in places
    ]


GOOD = rows(("a", "original", 1, 1), ("a", "swap", 1, 0), ("b", "original", 0, 0), ("b", "swap", 0, 0))
