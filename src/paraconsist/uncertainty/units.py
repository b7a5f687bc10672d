"""Resampling units: the distinct buckets or groups of buckets, with what each adds to the sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paraconsist._validation import Integers
from paraconsist.buckets import partition_integers

__all__ = ["Floats", "Units", "distinct", "group_units"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """The distinct resampling units.

    Attributes
    ----------
    sums : ndarray, shape (p, m)
        The m sums of each distinct unit.
    multiplicity : ndarray of int, shape (p,)
        How many units have these sums.
    strata : ndarray of int, shape (p,)
        Units are resampled within their stratum; all 0 where there is one.
    """

    sums: Floats
    multiplicity: npt.NDArray[np.int64]
    strata: npt.NDArray[np.int64]

    @classmethod
    def unstratified(cls, sums: Floats, multiplicity: npt.ArrayLike) -> Units:
        """Return units that form one stratum."""
        counts = np.asarray(multiplicity, dtype=np.int64)
        return cls(sums, counts, np.zeros(len(counts), dtype=np.int64))

    @property
    def total(self) -> Floats:
        """The sums over all units, shape (m,)."""
        total: Floats = self.multiplicity @ self.sums
        return total

    @property
    def n(self) -> int:
        """The number of units."""
        return int(self.multiplicity.sum())

    @property
    def degrees_of_freedom(self) -> int:
        """The number of units less the number of strata."""
        return self.n - len(np.unique(self.strata))

    def by_stratum(self) -> Iterator[tuple[npt.NDArray[np.intp], int]]:
        """Yield, for each stratum, the indices of its distinct units and its number of units."""
        for stratum in np.unique(self.strata):
            members = np.flatnonzero(self.strata == stratum)
            yield members, int(self.multiplicity[members].sum())


def group_units(sums: Floats, pattern: Integers, groups: Integers) -> Units:
    """Return groups of buckets as units.

    Parameters
    ----------
    sums : ndarray, shape (p, m)
        The sums of each distinct bucket.
    pattern, groups : ndarray of int, shape (n_buckets,)
        Which distinct bucket each bucket is, and which group it belongs to (both as codes from 0).

    Notes
    -----
    Groups made of the same buckets are recognised by the wrapped sum of a random 64-bit number per distinct
    bucket: exact, whatever the order of the buckets (two different groups meet with probability 2**-64).
    """
    n_groups = int(groups.max()) + 1
    marks = np.random.default_rng(0).integers(0, 2**64, size=len(sums), dtype=np.uint64)
    content = np.zeros(n_groups, dtype=np.uint64)
    np.add.at(content, groups, marks[pattern])
    _, first, counts = np.unique(content, return_index=True, return_counts=True)
    summed: Floats = np.stack(
        [np.bincount(groups, weights=column[pattern], minlength=n_groups)[first] for column in sums.T], axis=1
    )
    return Units.unstratified(summed, counts)


def distinct(*columns: Integers) -> tuple[npt.NDArray[np.intp], Integers, npt.NDArray[np.intp]]:
    """Return the distinct rows of integer columns: index of one row of each, each row's code, multiplicities.

    Codes follow the lexicographic order of the rows, so they do not depend on the order or the names of
    buckets.
    """
    code = partition_integers(columns[0]).codes
    for column in columns[1:]:
        inner = partition_integers(column).codes
        code = partition_integers(code.astype(np.int64) * (int(inner.max()) + 1) + inner).codes
    n = int(code.max()) + 1
    first = np.empty(n, dtype=np.intp)
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1)
    return first, code, np.bincount(code, minlength=n)
