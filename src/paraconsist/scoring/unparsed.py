"""What becomes of answers that could not be read: three policies, each defensible, none silent.

``wrong``
    An unparsed answer is a wrong answer. Compared with another answer it is never the same, not even as
    another unparsed one, and after a negation it counts as a failure: not answering never looks consistent.
``own_class``
    Not answering is an answer like any other: wrong, but the same each time.
``drop_bucket``
    A bucket with an unparsed answer is left out, and counted. Flatters models that refuse what is hard.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from paraconsist.data.answers import mark_unparsed
from paraconsist.data.rows import Rows
from paraconsist.data.tables import is_among
from paraconsist.errors import check_choice, input_error

POLICIES = ("wrong", "own_class", "drop_bucket")


def apply_policy(rows: Rows, policy: str) -> tuple[Rows, int]:
    """Return the rows to score, and how many buckets `policy` left out (see the module).

    In `rows` unparsed predictions all hold one value that equals no label; under ``wrong`` each holds a value of its
    own then, and `Rows.never_agree` is set. InputError if the policy is unknown, or leaves no bucket.
    """
    check_choice("score", "unparsed", policy, POLICIES)
    if not rows.unparsed.any():
        return rows, 0
    if policy == "own_class":
        return rows, 0
    if policy == "wrong" or rows.buckets is None:
        apart = mark_unparsed(rows.predictions, rows.unparsed, rows.labels, each=True)
        return replace(rows, predictions=apart, never_agree=True), 0
    lost = np.unique(rows.buckets[rows.unparsed])
    kept = rows.where(~is_among(rows.buckets, lost))
    if not len(kept):
        remedy = "Choose the policy wrong or own_class, or mend the parser."
        must = "leave at least one bucket"
        got = f"drop_bucket, and all {len(lost)} buckets have an unparsed answer"
        raise input_error("score", "unparsed", must, got=got, remedy=remedy)
    return kept, len(lost)


def check_parsed(function: str, parameter: str, rows: Rows, name: str) -> None:
    """Raise unless an answer of `name` could be read: else nothing can be compared with it, or planned from it."""
    if rows.unparsed.all():
        remedy = "None of its answers could be read: mend what reads them, or leave it out."
        raise input_error(function, parameter, "have an answer that could be read", got=name, remedy=remedy)
