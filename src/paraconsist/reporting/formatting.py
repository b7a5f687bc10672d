"""Numbers and intervals as text, the same in every rendering."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from paraconsist.errors import plural as plural  # for rooms that format no results, too

#: A measure's result, or the mapping that a file holds of it.
Values = Mapping[str, Any]
#: The text of a number that is undefined.
UNDEFINED = "–"
#: Words of tables that terminals show too, and what the pages of problems and of tasks call them.
OWN_WORDS = {
    "problem": {"bucket": "problem", "paraphrase": "rewording"},
    "task": {"bucket": "task", "paraphrase": "run", "problem": "task"},
}


def in_own_words(text: str, noun: str) -> str:
    """Return a text in the words of problems or of tasks.

    >>> in_own_words("4 buckets, 8 paraphrases", "task")
    '4 tasks, 8 runs'
    """
    pattern = rf"(?!(?<=no )paraphrase)(?<!role )(?<![`/:-])\b({'|'.join(OWN_WORDS[noun])})(?=s?\b(?!-))"
    return re.sub(pattern, lambda word: OWN_WORDS[noun][word[0]], text)


def known(value: Any) -> TypeGuard[float]:
    """Say whether a value is a number that is defined."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def percent(value: Any, *, digits: int = 1, signed: bool = False, undefined: str = UNDEFINED) -> str:
    """Return a share as per cent.

    >>> percent(0.7382), percent(0.7382, signed=True), percent(None)
    ('73.8', '+73.8', '–')
    """
    return decimal(100 * value, digits=digits, signed=signed) if known(value) else undefined


def decimal(value: Any, *, digits: int = 4, signed: bool = False, undefined: str = UNDEFINED) -> str:
    """Return what is no share with a fixed number of decimals; nothing is -0.

    >>> decimal(-0.00001), decimal(-0.26, digits=1, signed=True)
    ('0.0000', '-0.3')
    """
    return f"{round(value, digits) + 0.0:{'+' if signed else ''}.{digits}f}" if known(value) else undefined


def quantity(value: Any, share: bool) -> str:
    """Return ``73.8 %`` for a share, four decimals for anything else."""
    if not known(value):
        return "undefined"
    return f"{percent(value)} %" if share else decimal(value)


def number(value: Any) -> str:
    """Return any value: whole numbers with commas, others with four decimals (tiny ones with their power of ten)."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and known(value):
        return decimal(value) if abs(value) >= 1e-4 or value == 0 else f"{value:.1e}"
    return count(value) if value is None or isinstance(value, (int, float)) else str(value)


def byte_size(n_bytes: int) -> str:
    """Return a number of bytes with its unit.

    >>> byte_size(999), byte_size(36_500_000)
    ('999 B', '36.5 MB')
    """
    for exponent, unit in ((3, "GB"), (2, "MB"), (1, "kB")):
        if n_bytes >= 1000**exponent:
            return f"{n_bytes / 1000**exponent:.1f} {unit}"
    return f"{n_bytes} B"


def minus(text: str) -> str:
    """Return a number with a minus sign for its hyphen."""
    return text.replace("-", "−")


def count(value: Any) -> str:
    """Return a whole number with commas at thousands."""
    return f"{value:,}" if known(value) else UNDEFINED


def often(share: float, noun: str) -> str:
    """Return a share as people say it: the nearest of simple fractions.

    >>> often(0.199, "answer"), often(0.62, "answer"), often(0.004, "answer"), often(0.0, "answer")
    ('1 answer in 5', '3 answers in 5', '1 answer in 250', 'no answer')
    """
    if share <= 0.0 or share >= 1.0:
        return f"{'every' if share >= 1.0 else 'no'} {noun}"
    if 0.095 <= share <= 0.905:
        simple = [(k, n) for n in (2, 3, 4, 5, 10) for k in range(1, n)] + [(1, n) for n in range(6, 10)]
        k, n = min(simple, key=lambda pair: round(abs(pair[0] / pair[1] - share), 9))
    else:
        n = round(1.0 / min(share, 1.0 - share))
        k = 1 if share < 0.5 else n - 1
    return f"{k:,} {noun}{'s' if k > 1 else ''} in {n:,}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return names as people list them.

    >>> listed(["a", "b", "c", "d", "e", "f"])
    'a, b, c, d and 2 more'
    """
    kept = [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]
    return "".join(kept) if len(kept) < 2 else f"{', '.join(kept[:-1])} and {kept[-1]}"


def p_value(value: Any, *, undefined: str = UNDEFINED) -> str:
    """Return a p-value with four decimals.

    >>> p_value(0.0312), p_value(1e-7)
    ('0.0312', '< 0.0001')
    """
    return "< 0.0001" if known(value) and value < 0.0001 else decimal(value, undefined=undefined)


def bounds(intervals: Any, key: str | None = None) -> tuple[float, float] | None:
    """Return an interval's two ends, None where there are none."""
    ends = intervals.get(key) if isinstance(intervals, Mapping) and key is not None else intervals
    if isinstance(ends, Mapping):
        ends = next(iter(ends.values()), None)
    if not isinstance(ends, (list, tuple)) or len(ends) != 2 or not all(known(end) for end in ends):
        return None
    return float(ends[0]), float(ends[1])


def interval(ends: Any, show: Callable[..., str] = percent, **style: Any) -> str:
    """Return two ends as `show` shows each, or nothing where there is no interval.

    >>> interval([0.591, 0.728]), interval([-0.1, 0.2], decimal, digits=2), interval([None, 1.0])
    ('[59.1, 72.8]', '[-0.10, 0.20]', '')
    """
    if (both := bounds(ends)) is None:
        return ""
    return f"[{show(both[0], **style)}, {show(both[1], **style)}]"
