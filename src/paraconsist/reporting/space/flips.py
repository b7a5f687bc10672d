"""Where the predictions differ: buckets, pairs and rows as lines of a table, worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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


def share_right(rows: Rows) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.intp]]:
    """Return the buckets of the paraphrases, the share of right answers in each, and their sizes."""
    assert rows.buckets is not None
    chosen = rows.roles == "paraphrase"
    ids, codes = np.unique(rows.buckets[chosen], return_inverse=True)
    sizes = np.bincount(codes)
    right = np.bincount(codes, weights=(rows.predictions == rows.labels)[chosen].astype(float))
    return ids, right / sizes, sizes


def bucket_flips(long: Long, rows: Rows) -> Flips:
    """Buckets whose paraphrases are answered right and wrong, those that are half and half first."""
    assert rows.buckets is not None
    ids, shares, sizes = share_right(rows)
    mixed = np.flatnonzero((shares > 0) & (shares < 1))
    order = mixed[np.lexsort((-sizes[mixed], np.abs(shares[mixed] - 0.5)))]
    lines = []
    for bucket in order[:MOST].tolist():
        at = np.flatnonzero((rows.buckets == ids[bucket]) & (rows.roles == "paraphrase"))
        right = rows.predictions[at] == rows.labels[at]
        answers = Counter(_label(long, rows, i) for i in at.tolist())
        listed = ", ".join(f"{label} × {n}" for label, n in answers.most_common())
        wordings = long.lines(at[right][0], at[~right][0])
        if len(wordings) == 2:
            wordings = [f"{mark} {line}" for mark, line in zip("✓✗", wordings, strict=True)]
        gold = long.shown(rows.labels.item(at[0]))
        lines.append([ids.item(bucket), f"{int(right.sum())} of {len(at)}", gold, listed, wordings])
    header = ["bucket", "right", "gold label", "answers", "a right and a wrong wording"]
    return _flips("Buckets answered both right and wrong", header, lines, len(mixed), long)


def pair_flips(long: Long, rows: Rows, originals: Positions, targets: Positions, is_broken: Any, title: str) -> Flips:
    """Pairs that break the rule: right answers that turn wrong first, then by the model's confidence."""
    before, after = rows.predictions[originals], rows.predictions[targets]
    broken = np.flatnonzero(is_broken)
    was_right = before == rows.labels[originals]
    now_right = after == rows.labels[targets]
    keys = [np.zeros(len(before))]
    if rows.predicted_confidences is not None:
        keys = [-np.nan_to_num(rows.predicted_confidences[originals] + rows.predicted_confidences[targets])]
    if long.has_labels:
        keys.append(now_right.astype(float) - was_right)  # -1 for right to wrong
    order = broken[np.lexsort([key[broken] for key in keys])]
    lines = []
    for pair in order[:MOST].tolist():
        first, second = int(originals[pair]), int(targets[pair])
        gold = [long.shown(rows.labels.item(first))] if long.has_labels else []
        answers = [_label(long, rows, first), _label(long, rows, second)]
        lines.append([_where(long, rows, second), *gold, *answers, long.lines(first, second)])
    gold = ["gold label"] if long.has_labels else []
    header = ["bucket" if long.has_buckets else "row", *gold, "on the original", "on the changed text", "text"]
    return _flips(title, header, lines, len(broken), long)


def broken_rows(
    long: Long,
    rows: Rows,
    target: Positions,
    premises: Mapping[str, Positions],
    broken: NDArray[np.bool_],
    allowed: Callable[[int], Any],
) -> Flips:
    """Conclusions that the model does not draw, although it answers what they follow from right."""
    lines = []
    for i in np.flatnonzero(broken)[:MOST].tolist():
        sides = [int(positions[i]) for positions in (*premises.values(), target)]
        answers = [_label(long, rows, at) for at in sides]
        lines.append([_where(long, rows, sides[-1]), *answers, allowed(sides[-1]), long.lines(*sides)])
    names = [name.replace("_", " ") for name in premises]
    header = ["bucket" if long.has_buckets else "row", *names, "conclusion", "expected", "text"]
    return _flips("Conclusions that do not follow the model's own answers", header, lines, int(broken.sum()), long)


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
