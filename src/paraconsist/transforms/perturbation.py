"""Perturbations: labelled rows in, linked rows out; and where each of BECEL's properties holds.

It holds for the tasks and gold labels of their published sets, and for no others:

===========  =========================  ==================================================================
property     task                       rows, and the label of the perturbed one
===========  =========================  ==================================================================
symmetric    paraphrase_identification  all; the label stays
symmetric    word_in_context            all; the label stays
symmetric    nli, three labels          contradiction only; it stays (SNLI)
symmetric    nli, two labels            not_entailment only; it stays (RTE)
transitive   nli, three labels          one premise: (contradiction, entailment) -> contradiction and
                                        (neutral, contradiction) -> not entailment
transitive   word_in_context            one word and one sentence in common: (same, same) -> same,
                                        (same, different) in either order -> different
additive     sentiment, topic           two texts of one label; it stays
negation,    nli                        entailment; becomes contradiction (or not_entailment), on `hypothesis`
antonym
negation,    paraphrase_identification  paraphrase; becomes not_paraphrase, on `sentence_2`
antonym
negation,    yes_no_qa                  yes; becomes no, on `question`
antonym
===========  =========================  ==================================================================

Two of these are weaker than logic: a premise that does not entail may well be entailed (two-way symmetric), and
"P entails H, P contradicts Z" gives that H does not entail Z, not that Z contradicts H. They are the published
rules all the same; the sheet is there to check each item. Word in context has no negational set here: negating
a sentence leaves the sense of its word as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from paraconsist.data.tasks import Task
from paraconsist.errors import InputError, check_choice, input_error


class LabelledRow(NamedTuple):
    """One row of a labelled set."""

    # The row, and what intervals resample (the row itself unless rows share a context).
    example_id: str
    group_id: str
    texts: tuple[str, ...]  # The task's input columns, in the task's order
    label: int  # Index into the set's label names


@dataclass(frozen=True)
class LabelledSet:
    """Rows with gold labels, under one task."""

    name: str  # For messages
    task: Task
    label_names: tuple[str, ...]  # The set's own, in class order; they need not be the task's (two-way inference, say)
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
    """One bucket: the rows of the data it is made from, and last the perturbed row."""

    property: str  # ``symmetric``, ``transitive``, ``additive``, ``negation`` or ``antonym``
    # The bucket's name, made of its rows' ids; and what intervals resample.
    bucket_id: str
    group_id: str
    places: tuple[Place, ...]  # The perturbed row is the last
    strata: Mapping[str, str] = field(default_factory=dict)  # What results can be broken down by


#: Property -> the tasks it is published for.
PROPERTIES: dict[str, tuple[str, ...]] = {
    "symmetric": ("nli", "paraphrase_identification", "word_in_context"),
    "transitive": ("nli", "word_in_context"),
    "additive": ("sentiment", "topic"),
    "negation": ("nli", "paraphrase_identification", "yes_no_qa"),
    "antonym": ("nli", "paraphrase_identification", "yes_no_qa"),
}

_ALIASES = {
    **dict.fromkeys(("entailed", "entails"), "entailment"),
    **dict.fromkeys(("contradicts", "contradictory"), "contradiction"),
    **dict.fromkeys(("not_entailed", "non_entailment"), "not_entailment"),
}
#: Task -> perturbed column, gold label that the change turns, and what it becomes (two-way inference apart).
_NEGATION = {
    "nli": ("hypothesis", "entailment", "contradiction"),
    "paraphrase_identification": ("sentence_2", "paraphrase", "not_paraphrase"),
    "yes_no_qa": ("question", "yes", "no"),
}
_REASONS = {
    ("word_in_context", "negation"): "negating a sentence does not change the sense of its word",
    ("word_in_context", "antonym"): "an antonym elsewhere does not change the sense of a word",
    ("abductive_nli", "symmetric"): "swapping the hypotheses swaps the label",
}


def _normal(name: str) -> str:
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    return _ALIASES.get(plain, plain)


def class_index(data: LabelledSet, name: str) -> int:
    """Return the class that is called `name`, whatever its case and dashes; InputError if there is none."""
    names = [_normal(label) for label in data.label_names]
    if name not in names:
        remedy, must = "Give the names of the labels in their order: `label_names`.", f"have {name!r} among its names"
        raise input_error("perturb", "label", must, got=list(data.label_names), remedy=remedy)
    return names.index(name)


def is_two_way(data: LabelledSet) -> bool:
    """Return whether an inference set says only whether a premise entails.

    InputError if its labels are neither entailment, neutral, contradiction nor entailment, not_entailment.
    """
    names = {_normal(label) for label in data.label_names}
    if names == {"entailment", "not_entailment"}:
        return True
    for name in ("entailment", "neutral", "contradiction"):
        class_index(data, name)
    if len(names) > 3:
        raise input_error("perturb", "label", "have the names of two- or three-way inference", got=data.label_names)
    return False


def refuse(data: LabelledSet, property_name: str, why: str) -> InputError:
    """Return the error for a property that does not hold for a task."""
    remedy = f"It holds for {', '.join(PROPERTIES[property_name])}."
    return input_error("perturb", "property", f"hold for the task: {why}", got=property_name, remedy=remedy)


def check_task(data: LabelledSet, property_name: str) -> None:
    """Refuse a property that is unknown, or not published for the task."""
    check_choice("perturb", "property", property_name, PROPERTIES)
    if data.task.name not in PROPERTIES[property_name]:
        why = f"{data.task.name} is not among those of the paper"
        raise refuse(data, property_name, _REASONS.get((data.task.name, property_name), why))


def symmetric_labels(data: LabelledSet) -> frozenset[int]:
    """Return the classes whose rows keep their label when the two texts change places."""
    check_task(data, "symmetric")
    if data.task.name == "nli":
        return frozenset({class_index(data, "not_entailment" if is_two_way(data) else "contradiction")})
    return frozenset(range(len(data.label_names)))


@dataclass(frozen=True)
class NegationTarget:
    """What negation, or an antonym, changes in a set."""

    data: LabelledSet
    property: str  # ``negation`` or ``antonym``
    place: int  # Where the text that is changed stands in `LabelledRow.texts`
    # The class that the change applies to, and the class that it leads to.
    label: int
    becomes: int

    @classmethod
    def of(cls, data: LabelledSet, property_name: str) -> NegationTarget:
        """Return the target for a set.

        InputError if the property is not published for the task, or the set's labels have other names.
        """
        check_task(data, property_name)
        column, label, becomes = _NEGATION[data.task.name]
        if data.task.name == "nli" and is_two_way(data):
            becomes = "not_entailment"
        return cls(data, property_name, data.column(column), class_index(data, label), class_index(data, becomes))

    def rows(self, skipped: Counter[str], why: str) -> Iterator[tuple[LabelledRow, str]]:
        """Yield each row of the class with the text to change; others are counted as skipped for `why`."""
        for row in self.data.rows:
            if row.label == self.label:
                yield row, row.texts[self.place]
            else:
                skipped[f"label {self.data.label_names[row.label]}: {why}"] += 1

    def item(self, row: LabelledRow, text: str, method: str, bucket: str) -> Perturbation:
        """Return the bucket of a row and its copy with the changed text."""
        texts = (*row.texts[: self.place], text, *row.texts[self.place + 1 :])
        places = (Place.of("original", row), Place("negation", texts, self.becomes, (self.becomes,)))
        return Perturbation(self.property, f"{self.property}.{bucket}", row.group_id, places, {"method": method})
