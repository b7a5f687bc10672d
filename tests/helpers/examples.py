"""How many examples a property is tried on."""

from hypothesis import settings

#: Examples of a property by default in a whole run; conftest.py's profile `quick` has fewer.
WHOLE = 100


def share_of(n: int, *, least: int = 1) -> int:
    """Return `n` in a whole run, and as small a part of it as the profile has in ``make test-quick``."""
    return max(least, n * settings.default.max_examples // WHOLE)


def examples(n: int) -> settings:
    """Return settings with `n` examples, or their part."""
    return settings(max_examples=share_of(n))
