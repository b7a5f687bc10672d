"""Hard cases: test rows that models get right as they are and wrong after the change, under both readings.

Salvatore et al. 2023 count rows that every model loses at *some* rho (their program, and their 249 of SNLI and 531 of
MNLI); their text can also be read as *every* rho, which leaves none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.ietest.families import Family
from paraconsist.ietest.vectors import Matched


def hard_cases(families: Sequence[Family]) -> dict[str, Any] | None:
    """Find the rows that every family loses, at some rho and at every rho.

    Parameters
    ----------
    families : sequence of Family
        Models over the same test rows.

    Returns
    -------
    dict or None
        ``n_rows``, ``n_families``; ``first_run`` (as published: the first run of each rho) and ``all_runs``, each
        with ``some_rho`` and ``every_rho``: row numbers. Over all runs, "at some rho" means in some run, "at every
        rho" in every run. None where a family has no rows, or the families have different test rows.
    """
    if any(family.vectors is None for family in families):
        return None
    sizes = {int(n) for family in families for n in family.n}
    if len(sizes) != 1:
        return None
    n = sizes.pop()
    found: dict[str, dict[str, NDArray[np.bool_]]] = {}
    label: NDArray[Any] | None = None
    for family in families:
        seen: set[float] = set()
        masks = {scope: {"some_rho": np.zeros(n, bool), "every_rho": np.ones(n, bool)} for scope in _SCOPES}
        for one in _vectors(family):
            if label is not None and one.label is not None and not np.array_equal(label, one.label):
                return None
            label = one.label if label is None else label
            lost = one.original_correct & ~one.transformed_correct
            scopes = _SCOPES if one.rho not in seen else ("all_runs",)
            seen.add(one.rho)
            for scope in scopes:
                masks[scope]["some_rho"] |= lost
                masks[scope]["every_rho"] &= lost
        for scope, readings in masks.items():
            for reading, mask in readings.items():
                known = found.setdefault(scope, {}).setdefault(reading, np.ones(n, bool))
                known &= mask
    rows = {s: {r: np.flatnonzero(mask).tolist() for r, mask in readings.items()} for s, readings in found.items()}
    return {"n_rows": n, "n_families": len(families), **rows}


_SCOPES = ("first_run", "all_runs")


def _vectors(family: Family) -> Iterator[Matched]:
    assert family.vectors is not None  # `hard_cases` has asked
    return family.vectors()
