"""Rows that share members: two texts joined in every row, each of them in many rows.

Rows that have a member in common, on either side, are not independent, and no division of rows into groups says so: the
second text of one row is the first of another. The dyad-robust variance of a mean counts the products of residuals of
every two rows that share a member (Fafchamps, Gubert 2007; Aronow, Samii, Assenova 2015, "Cluster-robust variance
estimation for dyadic data", Political Analysis 23, 564-577; Cameron, Miller 2014, "Robust inference for dyadic data").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.measures._validation import Column, Integers, check_comparable, code_jointly
from paraconsist.measures.buckets import partition_integers

_PAIR = ("groups[0]", "groups[1]")
_CELLS_PER_ROW = 16  # pairs of members that are counted without a sort, for each row


def is_pair(groups: Any) -> bool:
    """Return whether `groups` are two columns, the members of each row, and not one."""
    if not isinstance(groups, (list, tuple)) or len(groups) != 2:
        return False
    return all(isinstance(column, Iterable) and not isinstance(column, (str, bytes)) for column in groups)


def group_columns(groups: Any) -> dict[str, Any]:
    """Return the columns that `groups` are, by what errors call them."""
    return dict(zip(_PAIR, groups, strict=True)) if is_pair(groups) else {"groups": groups}


def grouping(function: str, columns: Mapping[str, Column]) -> Column | Dyads | None:
    """Return what checked columns say of the rows' groups: one column of them, two members a row, or nothing."""
    if _PAIR[0] not in columns:
        return columns.get("groups")
    pair = {name: columns[name] for name in _PAIR}
    check_comparable(function, pair)
    (first, second), _ = code_jointly(*pair.values())
    return Dyads(first, second)


@dataclass(frozen=True)
class Dyads:
    """The two members of every row, as codes of one numbering, shape (n,); a row may have one member twice."""

    first: Integers
    second: Integers

    def where(self, rows: npt.NDArray[np.bool_] | None) -> Dyads:
        """Return the members of some rows."""
        return self if rows is None else Dyads(self.first[rows], self.second[rows])

    @cached_property
    def _ends(self) -> tuple[Integers, Integers]:
        """The members as codes without gaps."""
        codes = partition_integers(np.concatenate([self.first, self.second])).codes
        return codes[: len(self.first)], codes[len(self.first) :]

    @cached_property
    def _cells(self) -> Integers:
        """The unordered pair of members of every row, as codes."""
        one, two = self._ends
        pair = np.minimum(one, two).astype(np.int64) * self.n_members + np.maximum(one, two)
        few = self.n_members**2 <= _CELLS_PER_ROW * len(pair)
        return pair if few else partition_integers(pair).codes

    @cached_property
    def n_members(self) -> int:
        """How many members there are."""
        return int(max(end.max() for end in self._ends)) + 1 if len(self.first) else 0

    @property
    def n_apart(self) -> int:
        """A number of rows that there are with no member in common: they are independent.

        A graph with E edges, no vertex of which has more than d, has E / (d + 1) disjoint ones at least (Vizing 1964);
        and from an assignment of M vertices to different neighbours M / 3 disjoint edges can be kept. The larger.
        """
        from scipy.sparse import csr_array  # slow to import, and seldom needed
        from scipy.sparse.csgraph import maximum_bipartite_matching

        one, two = self._ends
        first = np.unique(self._cells, return_index=True)[1]
        rows = np.concatenate([one[first], two[first]]).astype(np.int32)  # scipy 1.11 matches no others
        columns = np.concatenate([two[first], one[first]]).astype(np.int32)
        graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(self.n_members,) * 2)
        assigned = int(np.count_nonzero(maximum_bipartite_matching(graph) >= 0))
        degree = np.bincount(np.concatenate([one[first], two[first[one[first] != two[first]]]]))
        return max(-(-assigned // 3), -(-len(first) // (int(degree.max()) + 1)))

    def standard_error(self, values: npt.NDArray[Any]) -> tuple[float, float]:
        """Return the standard error of the mean of `values`, of shape (n,), and its degrees of freedom.

        With u the residuals, S their sums over the rows of a member, T those over the rows of two members, the
        variance of the sum is estimated by sum S^2 - sum T^2 (every two rows that share a member, once), divided by
        1 - C / n^2 with C the number of such pairs of rows, own pairs included. That division undoes what estimating
        the mean takes away: exactly, whatever the members add, for all pairs of a set and for equal groups, where it is
        G / (G - 1). The variance is never below that of independent rows. Its degrees of freedom are the effective
        number of members that it comes from, (sum S^2)^2 / sum S^4, at most Kish's effective number of members less 1:
        where few members break a rule in most of their rows, the variance is known badly. nan where every two rows
        share a member.
        """
        n = len(self.first)
        rows, residuals = self._sums(np.ones(n)), values - values.mean()
        connected = self._connected(np.ones(n))
        if n < 2 or connected >= n * n:
            return float("nan"), float("nan")
        variance = max(self._connected(residuals) / (1.0 - connected / n**2), residuals @ residuals * n / (n - 1))
        squares = self._sums(residuals) ** 2
        freedom = rows.sum() ** 2 / (rows @ rows) - 1.0
        if squares.any():
            freedom = min(freedom, squares.sum() ** 2 / (squares @ squares))
        return float(np.sqrt(variance) / n), float(freedom)

    def _connected(self, weights: npt.NDArray[np.float64]) -> float:
        """Return the sum of the products of the weights of every two rows that share a member."""
        one, two = self._ends
        members = self._sums(weights)
        cells = np.bincount(self._cells, weights=np.where(one == two, 0.0, weights))
        return float(members @ members - cells @ cells)

    def _sums(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the sum of weights over the rows of every member; a row with one member twice counts once."""
        one, two = self._ends
        twice = one != two
        sums = np.bincount(one, weights=weights, minlength=self.n_members)
        more = np.bincount(two, weights=np.where(twice, weights, 0.0), minlength=self.n_members)
        return np.asarray(sums + more, dtype=np.float64)
