"""Comparison of measures' results, number by number."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest


def flat(values: Any, prefix: str = "") -> dict[str, Any]:
    """Return all numbers of a result by path; texts (signature, warnings) are left out."""
    if isinstance(values, Mapping):
        pairs: Any = values.items()
    elif isinstance(values, (list, tuple)):
        pairs = enumerate(values)
    else:
        return {} if isinstance(values, str) else {prefix: values}
    return {key: value for name, inner in pairs for key, value in flat(inner, f"{prefix}/{name}").items()}


def assert_same(one: Any, other: Any, *, only: Callable[[str], bool] = lambda path: True) -> None:
    first, second = ({p: v for p, v in flat(values).items() if only(p)} for values in (one, other))
    assert first == pytest.approx(second, rel=1e-9, abs=1e-9, nan_ok=True)
    assert first


def is_point(path: str) -> bool:
    """Return whether a path is a point value, not an interval, an error or a number of rows."""
    parts = path.strip("/").split("/")
    return not any(
        part in ("confidence_interval", "standard_error", "design_effect", "intervals") or part.startswith("n_")
        for part in parts
    )
