"""What breaks a measure's rule: the one function of each, used by scoring, comparison, page and Spaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ORIGINAL, PARAPHRASE = "original", "paraphrase"


class Statements(NamedTuple):
    """The probabilities of the tuples of m counted rows, arrays of shape (n,): each row is a statement."""

    probability: NDArray[np.float64]  # that it is true; or shape (n, n_labels)
    role: NDArray[Any]
    bucket: NDArray[np.intp]  # the tuple, 0..m-1 in the order of the counted rows
    group: NDArray[Any] | None  # what it shares with others
    relations: Mapping[str, object] | None = None


@dataclass(frozen=True)
class Answers:
    """The m rows that a measure counts and, in the same order, the other rows of their buckets."""

    #: Role -> answers, shape (m,). An unparsed answer holds a value that equals no label.
    predictions: Mapping[str, NDArray[Any]]
    references: Mapping[str, NDArray[Any]]  # role -> gold labels
    unparsed: Mapping[str, NDArray[np.bool_]]  # role -> where no answer could be read
    buckets: NDArray[np.intp]
    target: str  # the role of the rows that are counted
    #: the labels that a rule allows each counted row, where it allows several
    allowed: Sequence[Sequence[Any]] | None = None
    never_agree: bool = False  # whether an unparsed answer is a failure of every rule
    statements: Statements | None = None  # where the rule is about probabilities
    calls: Sequence[Sequence[str]] | None = None  # the tools that the run of each counted row called, in order

    @property
    def unanswered(self) -> NDArray[np.bool_]:
        """Where one of the answers that belong together could not be read, and that is a failure."""
        silent: NDArray[np.bool_] = np.logical_or.reduce(list(self.unparsed.values()))
        return silent & self.never_agree

    def is_right(self, role: str) -> NDArray[np.bool_]:
        """Return where the answer to the row of this role is its gold label."""
        answered: NDArray[np.bool_] = self.predictions[role] == self.references[role]
        return answered & ~self.unparsed[role]


#: Answers -> how much of each row breaks the rule, in [0, 1], and which rows the rule is about; both of shape (m,).
Rule = Callable[[Answers], tuple[NDArray[np.float64], NDArray[np.bool_]]]


def mixed(answers: Answers) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the chance that another row of the row's bucket is right where it is wrong, or the reverse."""
    right = answers.is_right(answers.target)
    size = np.bincount(answers.buckets)[answers.buckets]
    n_right = np.bincount(answers.buckets, weights=right)[answers.buckets]
    return np.where(right, size - n_right, n_right) / np.maximum(size - 1, 1), size > 1


def changed(answers: Answers) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return where the answer differs from the original's, although it must not."""
    differ = answers.predictions[answers.target] != answers.predictions[ORIGINAL]
    return differ.astype(np.float64), np.ones(len(differ), dtype=np.bool_)


def unchanged(answers: Answers) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return where the answer is the original's, although it must not be."""
    same = answers.predictions[answers.target] == answers.predictions[ORIGINAL]
    return (same | answers.unanswered).astype(np.float64), np.ones(len(same), dtype=np.bool_)


def does_not_follow(answers: Answers) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return where the rule does not allow the answer, among rows whose antecedents are answered right."""
    if answers.allowed is None:
        follows = answers.is_right(answers.target)
    else:
        pairs = zip(answers.predictions[answers.target].tolist(), answers.allowed, strict=True)
        follows = np.array([answer in allowed for answer, allowed in pairs], dtype=np.bool_)
    partners = [answers.is_right(role) for role in answers.predictions if role != answers.target]
    return (~follows).astype(np.float64), np.logical_and.reduce(partners)
