"""Additive pairs, rebuilt: ordered pairs of two texts of one label that are short enough when joined."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

_GOLDEN_RATIO = (1 + math.sqrt(5)) / 2


def additive_pairs(labels: Sequence[int], n_tokens: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """Yield the ordered pairs of different rows with one label and at most `limit` tokens together.

    All such pairs come, each once, in a fixed order that is spread evenly: any first part of the sequence
    holds first texts of every label and length in due proportion. No pair is held in memory.

    Parameters
    ----------
    labels
        Of the rows.
    n_tokens
        Of the rows.
    limit
        The most tokens that a pair may have.

    Examples
    --------
    >>> sorted(additive_pairs([0, 1, 0, 0], [2, 2, 3, 4], limit=6))
    [(0, 2), (0, 3), (2, 0), (3, 0)]
    """
    rows: dict[int, list[int]] = defaultdict(list)  # label -> its rows, shortest first
    for row in sorted(range(len(labels)), key=lambda row: (n_tokens[row], row)):
        rows[labels[row]].append(row)
    lengths = {label: [n_tokens[row] for row in members] for label, members in rows.items()}
    place = {row: at for members in rows.values() for at, row in enumerate(members)}
    # A row's partners are the first so many of its label's rows, but for itself.
    n_fitting = [bisect_right(lengths[label], limit - n) for label, n in zip(labels, n_tokens, strict=True)]
    firsts = [row for label in sorted(rows) for row in rows[label]]
    ends = list(accumulate((n_fitting[row] - (place[row] < n_fitting[row]) for row in firsts), initial=0))
    n_pairs = ends[-1]
    step = max(1, round(n_pairs / _GOLDEN_RATIO))
    while n_pairs and math.gcd(step, n_pairs) != 1:
        step += 1
    for k in range(n_pairs):
        at = k * step % n_pairs
        position = bisect_right(ends, at) - 1
        first, partner = firsts[position], at - ends[position]
        if place[first] < n_fitting[first] and partner >= place[first]:
            partner += 1
        yield first, rows[labels[first]][partner]
