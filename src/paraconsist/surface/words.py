"""A text's words as measures of surface form see them: lower case, without punctuation."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

__all__ = ["words_of"]


@lru_cache(maxsize=65536)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words between white space, in lower case, with every punctuation mark and symbol taken out.

    >>> words_of("The boy's boss isn't here!")
    ('the', 'boys', 'boss', 'isnt', 'here')
    """
    kept = "".join(c for c in text.lower() if unicodedata.category(c)[0] not in "PS")
    return tuple(kept.split())
