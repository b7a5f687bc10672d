"""How many examples a property is tried on."""

from __future__ import annotations

from hypothesis import settings

#: The number of examples of a whole run, to which `examples` is written; conftest.py's profile `quick` has fewer.
WHOLE = 100


def examples(n: int) -> settings:
    """Return settings with `n` examples; with as small a part of them as the profile has (``make test-quick``)."""
    return settings(max_examples=max(1, n * settings.default.max_examples // WHOLE))
