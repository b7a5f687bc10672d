"""Rows of a bucket set to the paired columns that the measures take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import input_error
from paraconsist.scoring.columns import Rows

Positions = NDArray[np.intp]


def partners(rows: Rows, measure: str, target: str, wanted: Sequence[str]) -> tuple[Positions, dict[str, Positions]]:
    """Find, for every row with role `target`, the row of each wanted role in its bucket.

    Parameters
    ----------
    rows : Rows
        n rows.
    measure : str
        For messages.
    target : str
        The role of the rows that are measured, such as ``swap``.
    wanted : sequence of str
        Roles that each of their buckets must have exactly once, such as ``original``.

    Returns
    -------
    targets : int array, shape (m,)
        Positions of the target rows.
    others : dict of str to int array, shape (m,)
        For each wanted role, the positions of their partners.

    Raises
    ------
    InputError
        If no row is a target, a role plays no part in the measure, or a partner is missing or there twice;
        the message names the bucket.
    """
    assert rows.buckets is not None
    foreign = ~np.isin(rows.roles, [target, *wanted])
    if foreign.any():
        row = int(np.argmax(foreign))
        raise input_error(
            f"score {measure}",
            "role",
            f"be one of {', '.join([*wanted, target])}",
            got=rows.roles[row].item(),
            row=row,
            remedy=f"The row is in bucket {rows.buckets[row].item()!r}; this measure has no use for it.",
        )
    ids, codes = np.unique(rows.buckets, return_inverse=True)
    targets = np.flatnonzero(rows.roles == target)
    if not len(targets):
        raise input_error(
            f"score {measure}", "role", f"be {target!r} in at least one row", got=np.unique(rows.roles).tolist()
        )
    others = {}
    for role in wanted:
        positions = np.flatnonzero(rows.roles == role)
        counts = np.bincount(codes[positions], minlength=len(ids))
        wrong = counts[codes[targets]] != 1
        if wrong.any():
            code = codes[targets[int(np.argmax(wrong))]]
            raise input_error(
                f"score {measure}",
                "role",
                f"be {role!r} in exactly one row of every bucket",
                got=int(counts[code]),
                remedy=f"Look at bucket {ids[code].item()!r}.",
            )
        where = np.zeros(len(ids), dtype=np.intp)
        where[codes[positions]] = positions
        others[role] = where[codes[targets]]
    return targets, others
