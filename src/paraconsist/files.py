"""TODO describe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def to_strict_json(value: Any) -> Any:
    """Return `value` with nan and infinities replaced by None, which strict JSON writes as ``null``.

    >>> to_strict_json({"vap": float("nan"), "confidence_interval": {"vap": [0.1, float("nan")]}})
    {'vap': None, 'confidence_interval': {'vap': [0.1, None]}}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: to_strict_json(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_strict_json(inner) for inner in value]
    return value
