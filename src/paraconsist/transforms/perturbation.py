"""What a perturbation is made from, and what comes out: labelled rows in, linked rows out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from paraconsist.data.tasks import Task


class LabelledRow(NamedTuple):
    """One row of a labelled set.

    Attributes
    ----------
    example_id, group_id : str
        The row, and what intervals resample (the row itself unless rows share a context).
    texts : tuple of str
        The task's input columns, in the task's order.
    label : int
        Index into the set's label names.
    """

    example_id: str
    group_id: str
    texts: tuple[str, ...]
    label: int


@dataclass(frozen=True)
class LabelledSet:
    """Rows with gold labels, under one task.

    Attributes
    ----------
    name : str
        For messages.
    task : Task
    label_names : tuple of str
        The set's own, in class order; they need not be the task's (two-way inference, say).
    rows : sequence of LabelledRow
    """

    name: str
    task: Task
    label_names: tuple[str, ...]
    rows: Sequence[LabelledRow]

    def column(self, name: str) -> int:
        """Return where a column stands in `LabelledRow.texts`."""
        return self.task.columns.index(name)


class Place(NamedTuple):
    """One row of a bucket: its role, its texts, its gold label (-1 if only a set is known), what it may be."""

    role: str
    texts: tuple[str, ...]
    label: int
    allowed_labels: tuple[int, ...]

    @classmethod
    def of(cls, role: str, row: LabelledRow) -> Place:
        """Return a row of the data in a role, with its own gold label."""
        return cls(role, row.texts, row.label, (row.label,))


@dataclass(frozen=True)
class Perturbation:
    """One bucket: the rows of the data it is made from, and last the perturbed row.

    Attributes
    ----------
    property : str
        ``symmetric``, ``transitive``, ``additive``, ``negation`` or ``antonym``.
    bucket_id, group_id : str
        The bucket's name, made of its rows' ids; and what intervals resample.
    places : tuple of Place
        The perturbed row is the last.
    strata : mapping of str to str
        What results can be broken down by.
    """

    property: str
    bucket_id: str
    group_id: str
    places: tuple[Place, ...]
    strata: Mapping[str, str] = field(default_factory=dict)
