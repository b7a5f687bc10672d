"""Where answers differ that no report is of, for want of gold labels: pairs and items as lines of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.rows import Rows
from paraconsist.reporting.space.forms import Flips
from paraconsist.reporting.space.upload import Long

#: Lines that are shown.
MOST = 30
_UNPARSED = "(unparsed)"

Positions = NDArray[np.intp]


def pair_flips(long: Long, rows: Rows, originals: Positions, targets: Positions, is_broken: Any, title: str) -> Flips:
    """Pairs that break the rule, in the file's order."""
    broken = np.flatnonzero(is_broken)
    lines = []
    for pair in broken[:MOST].tolist():
        first, second = int(originals[pair]), int(targets[pair])
        answers = [_label(long, rows, first), _label(long, rows, second)]
        lines.append([_where(long, rows, second), *answers, long.lines(first, second)])
    header = ["bucket" if long.has_buckets else "row", "on the original", "on the changed text", "text"]
    return _flips(title, header, lines, len(broken), long)


def item_flips(
    long: Long, badness: NDArray[np.float64], line: Callable[[int], list[Any]], title: str, header: Sequence[str]
) -> Flips:
    """Items by how bad they are, those above 0; `line` makes the cells of one."""
    bad = np.flatnonzero(badness > 0)
    order = bad[np.argsort(-badness[bad], kind="stable")]
    return _flips(title, header, [line(i) for i in order[:MOST].tolist()], len(bad), long)


def _flips(title: str, header: Sequence[str], lines: list[list[Any]], n: int, long: Long) -> Flips:
    """Leave the last column, of texts, out where the file has none."""
    if long.texts:
        return Flips(title, header, lines, n)
    return Flips(title, header[:-1], [line[:-1] for line in lines], n)


def _label(long: Long, rows: Rows, at: int) -> Any:
    return _UNPARSED if rows.unparsed[at] else long.shown(rows.predictions.item(at))


def _where(long: Long, rows: Rows, at: int) -> Any:
    """Return the bucket where the visitor named one, else the row of the file, counted from 1 below its header."""
    assert rows.buckets is not None
    return rows.buckets.item(at) if long.has_buckets else int(long.source[at]) + 1
