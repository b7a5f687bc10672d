"""What is suspicious in the rows of a predictions file, as sentences beside its numbers."""

from __future__ import annotations

import numpy as np

from paraconsist.data.rows import Rows
from paraconsist.measures.alarms import permuted_labels
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE

_UNPARSED = {
    "wrong": "count as wrong answers that equal no other",
    "own_class": "count as a wrong answer of their own",
}
_LEAST_IN_TAIL = 10


def row_alarms(
    rows: Rows, *, unparsed: str, n_dropped: int, confidence_level: float, n_resamples: int | None
) -> list[str]:
    """Return the alarms; none where nothing is suspicious.

    Parameters
    ----------
    rows : Rows
        As read, before any policy for unparsed answers.
    unparsed, n_dropped
        That policy, and how many buckets it left out.
    confidence_level, n_resamples
        Of the intervals; None where no interval is a bootstrap's.
    """
    notes = [_unparsed(rows, unparsed, n_dropped), _other_gold(rows), _few_resamples(confidence_level, n_resamples)]
    known = ~rows.unparsed if rows.labels.dtype.kind == "U" else ~rows.unparsed & (rows.labels >= 0)
    parsed = rows.where(known)
    notes.append(permuted_labels(parsed.predictions, parsed.labels) if len(parsed) else None)
    return [note for note in notes if note is not None]


def _unparsed(rows: Rows, policy: str, n_dropped: int) -> str | None:
    if not rows.unparsed.any():
        return None
    became = _UNPARSED.get(policy, f"take {n_dropped} buckets out of the numbers")
    return f"{int(rows.unparsed.sum())} of {len(rows)} predictions are unparsed and {became}."


def _other_gold(rows: Rows) -> str | None:
    """Paraphrases keep the gold label of their original; where they do not, one of the two labels is wrong."""
    if rows.buckets is None:
        return None
    originals, paraphrases = rows.roles == ORIGINAL, rows.roles == PARAPHRASE
    first: dict[object, object] = {}
    for bucket, label in zip(rows.buckets[paraphrases].tolist(), rows.labels[paraphrases].tolist(), strict=True):
        first.setdefault(bucket, label)
    pairs = zip(rows.buckets[originals].tolist(), rows.labels[originals].tolist(), strict=True)
    other = [bucket for bucket, label in pairs if first.get(bucket, label) != label]
    if not other:
        return None
    total = int(np.count_nonzero(originals))
    return f"{len(other)} of {total} originals have another gold label than their paraphrases (such as {other[0]!r})"


def _few_resamples(confidence_level: float, n_resamples: int | None) -> str | None:
    if n_resamples is None:
        return None
    tail = (1.0 - confidence_level) / 2.0 * n_resamples
    if tail >= _LEAST_IN_TAIL:
        return None
    needed = int(np.ceil(_LEAST_IN_TAIL * 2.0 / (1.0 - confidence_level)))
    return (
        f"{n_resamples:,} resamples leave fewer than {_LEAST_IN_TAIL} in each tail of a {confidence_level:.4g} "
        f"interval: bootstrap intervals are unsteady, take at least {needed:,}"
    )
