"""What results have in common: plain Python values, and strict JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any


class Result:
    """Base of the frozen result dataclasses."""

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name, as plain Python; measures that were not asked for (None) are left out.

        Undefined values stay ``nan``; `to_strict_json` turns them into ``None`` for files.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(inner) for inner in value]
    return value
