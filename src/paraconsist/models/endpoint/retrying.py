"""How long to wait before a request is sent again (standard library only)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

#: Statuses that may be otherwise the next time, besides 429: time-outs, conflicts and faults of the server's.
RETRIED = frozenset({408, 409, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_FIRST, _LONGEST = 0.5, 60.0


def backoff(failures: int, rng: random.Random) -> float:
    """Seconds to wait after so many failures (from 1): doubled each time up to a minute, between half and all of it.

    >>> 0.25 <= backoff(1, random.Random(0)) <= 0.5
    True
    """
    whole = min(_LONGEST, _FIRST * 2.0 ** min(failures - 1, 20))
    return whole * rng.uniform(0.5, 1.0)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that the server asks to wait: of ``retry-after-ms``, or ``retry-after`` (seconds or a date).

    Parameters
    ----------
    headers : mapping
        With names in lower case, or one that does not mind.
    now : datetime, optional
        For dates; by default the clock's.

    Returns
    -------
    float or None
        0 or more; None where the server does not say, or what it says cannot be read.

    Examples
    --------
    >>> retry_after({"retry-after": "2"}), retry_after({"retry-after": "soon"})
    (2.0, None)
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        until = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError, TypeError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=timezone.utc)
    return max(0.0, (until - (now or datetime.now(timezone.utc))).total_seconds())
