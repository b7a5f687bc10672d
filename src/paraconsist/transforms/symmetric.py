"""Symmetric pairs: the two texts change places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from paraconsist.transforms.conditions import symmetric_labels
from paraconsist.transforms.perturbation import LabelledSet, Perturbation, Place


def symmetric(data: LabelledSet, skipped: Counter[str]) -> Iterator[Perturbation]:
    """Yield each row whose label survives it with its first two texts swapped (BECEL, section 3.2).

    Parameters
    ----------
    data : LabelledSet
        Paraphrase identification, word in context (all rows), inference (contradiction; two-way:
        not entailment).
    skipped : Counter
        Reasons for leaving rows out are counted into it.

    Yields
    ------
    Perturbation
        Roles ``original`` and ``swap``, in the order of the rows.

    Raises
    ------
    InputError
        If the property does not hold for the task, or the labels have other names.
    """
    labels = symmetric_labels(data)
    for row in data.rows:
        first, second, *rest = row.texts
        if row.label not in labels:
            skipped[f"label {data.label_names[row.label]}: swapping may change it"] += 1
        elif first == second:
            skipped["both texts are the same"] += 1
        else:
            swap = Place("swap", (second, first, *rest), row.label, (row.label,))
            yield Perturbation(
                "symmetric", f"symmetric.{row.example_id}", row.group_id, (Place.of("original", row), swap)
            )
