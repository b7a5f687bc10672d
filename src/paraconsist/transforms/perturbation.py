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

import itertools
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from paraconsist.data.options import TASK, option
from paraconsist.data.tasks import Task
from paraconsist.errors import InputError, check_choice, check_whole, input_error

_Item = TypeVar("_Item")


def sampled(items: Sequence[_Item], limit: int | None, seed: int) -> Sequence[_Item]:
    """Return `limit` items drawn uniformly without replacement, in their order; all where there are no more."""
    if limit is None or limit >= len(items):
        return items
    return [items[i] for i in sorted(random.Random(seed).sample(range(len(items)), limit))]


@dataclass(frozen=True)
class RowOptions:
    """Where labelled rows come from; `columns` and `label_names` are of files, the last two fields of other sets."""

    task: str | None = option(None, TASK)
    columns: Sequence[str] = option((), "FIELD=COLUMN, where a column of a file has another name; repeat for several.")
    label_names: tuple[str, ...] | None = option(
        None, "Names of numbered labels in order, such as entailment,not_entailment."
    )
    split: str = option("test", "Split of a builder's, folder's or Hub set.")
    data_dir: str | None = option(
        None, "Folder with the upstream files, used instead of the network, for builder:config."
    )


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
    """Return the class that is called `name`, whatever its case and dashes."""
    names = [_normal(label) for label in data.label_names]
    if name not in names:
        remedy, must = "Give the names of the labels in their order: `label_names`.", f"have {name!r} among its names"
        raise input_error("perturb", "label", must, got=list(data.label_names), remedy=remedy)
    return names.index(name)


def is_two_way(data: LabelledSet) -> bool:
    """Return whether an inference set says only whether a premise entails; InputError for labels of other names."""
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


def symmetric(data: LabelledSet, skipped: Counter[str]) -> Iterator[Perturbation]:
    """Yield each row whose label survives it with its first two texts swapped (BECEL, section 3.2), in the rows' order.

    Roles ``original`` and ``swap``; reasons for leaving rows out are counted into `skipped`. InputError if the property
    does not hold for the task, or the labels have other names.
    """
    check_task(data, "symmetric")
    labels: Sequence[int] = range(len(data.label_names))
    if data.task.name == "nli":
        labels = [class_index(data, "not_entailment" if is_two_way(data) else "contradiction")]
    for row in data.rows:
        first, second, *rest = row.texts
        if row.label not in labels:
            skipped[f"label {data.label_names[row.label]}: swapping may change it"] += 1
        elif first == second:
            skipped["both texts are the same"] += 1
        else:
            places = (Place.of("original", row), Place("swap", (second, first, *rest), row.label, (row.label,)))
            yield Perturbation("symmetric", f"symmetric.{row.example_id}", row.group_id, places)


def transitive(data: LabelledSet, skipped: Counter[str]) -> Iterator[Perturbation]:
    """Yield triples by the rules of BECEL's two published sets.

    Inference, on rows i and j with the same premise P: (P, Z) contradiction and (P, H) entailment give (Z, H)
    contradiction; (P, H) neutral and (P, Z) contradiction give (H, Z) not entailment, so neutral or contradiction,
    label -1. Word in context, on rows with the same word and one sentence in common: two equal senses give an equal
    one, an equal and a different one a different one; each pair once.

    The published sets were chosen by people from what these rules give: 38 % of it for SNLI's test set (717 of 3,247
    and 1,643 of 2,951), 45 % for WiC's training set.

    Roles ``antecedent_1``, ``antecedent_2``, ``consequent``; stratum `rule`. What intervals resample is the premise, or
    the word: triples that share a row share it. `skipped` and InputError as for `symmetric`; the property does not hold
    for two-way inference.
    """
    check_task(data, "transitive")
    items = _inference(data) if data.task.name == "nli" else _word_in_context(data)
    gold: dict[tuple[str, ...], set[int]] = {}
    for row in data.rows:
        gold.setdefault(row.texts, set()).add(row.label)
        if data.task.name == "word_in_context":  # says the same in either order
            gold.setdefault((row.texts[1], row.texts[0], *row.texts[2:]), set()).add(row.label)
    seen: set[tuple[tuple[str, ...], ...]] = set()
    for item in items:
        key = tuple(place.texts for place in item.places)
        consequent = item.places[-1]
        if consequent.texts[0] == consequent.texts[1]:
            skipped["the conclusion compares a text with itself"] += 1
        elif key in seen:
            skipped["the same texts again"] += 1
        elif not gold.get(consequent.texts, set()) <= set(consequent.allowed_labels):
            skipped["the data give the conclusion another label"] += 1
        else:
            seen.add(key)
            yield item


def _inference(data: LabelledSet) -> Iterator[Perturbation]:
    if is_two_way(data):
        raise refuse(data, "transitive", "two-way inference cannot tell neutral from contradiction")
    entailment, neutral, contradiction = (class_index(data, n) for n in ("entailment", "neutral", "contradiction"))
    premise, hypothesis = data.column("premise"), data.column("hypothesis")
    names = data.label_names
    rules = (
        (contradiction, entailment, contradiction, (contradiction,), names[contradiction]),
        (neutral, contradiction, -1, tuple(sorted((neutral, contradiction))), f"not {names[entailment]}"),
    )
    by_premise: dict[str, list[LabelledRow]] = {}
    for row in data.rows:
        by_premise.setdefault(row.texts[premise], []).append(row)
    for rows in by_premise.values():
        group = f"premise.{rows[0].example_id}"
        for label_1, label_2, label, allowed, conclusion in rules:
            name = f"{names[label_1]} & {names[label_2]} -> {conclusion}"
            firsts = [row for row in rows if row.label == label_1]
            seconds = [row for row in rows if row.label == label_2]
            for first, second in itertools.product(firsts, seconds):
                texts = (first.texts[hypothesis], second.texts[hypothesis])
                yield _triple(first, second, Place("consequent", texts, label, allowed), group, name)


def _word_in_context(data: LabelledSet) -> Iterator[Perturbation]:
    same, different = class_index(data, "same_sense"), class_index(data, "different_sense")
    names = data.label_names
    word = data.column("word")
    sides = (data.column("sentence_1"), data.column("sentence_2"))
    by_sentence: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for i, row in enumerate(data.rows):
        for side in sides:
            by_sentence.setdefault((row.texts[word], row.texts[side]), []).append((i, side))
    for (the_word, _), uses in by_sentence.items():
        for (i, side_i), (j, side_j) in itertools.combinations(uses, 2):
            first, second = data.rows[i], data.rows[j]
            labels = {first.label, second.label}
            if i == j or labels == {different}:
                continue
            label = same if labels == {same} else different
            texts = [""] * 3
            texts[word] = the_word
            texts[sides[0]] = first.texts[sum(sides) - side_i]
            texts[sides[1]] = second.texts[sum(sides) - side_j]
            name = f"{names[first.label]} & {names[second.label]} -> {names[label]}"
            yield _triple(first, second, Place("consequent", tuple(texts), label, (label,)), f"word.{the_word}", name)


def _triple(first: LabelledRow, second: LabelledRow, consequent: Place, group: str, rule: str) -> Perturbation:
    places = (Place.of("antecedent_1", first), Place.of("antecedent_2", second), consequent)
    bucket = f"transitive.{first.example_id}|{second.example_id}"
    return Perturbation("transitive", bucket, group, places, {"rule": rule})


class AdditivePairs:
    """All ordered pairs of two rows with one label whose texts, joined by a space, stay within a limit.

    The task is sentiment or topic; the limit counts whitespace tokens. Pairs are counted and drawn without being
    listed, so that a million of them cost no memory. With 25 tokens SST-2's validation set gives 53,214 pairs, with 36
    AG-News' test set 55,598 (BECEL says 53K for both, and publishes neither). `skipped` as for `symmetric`; InputError
    if the property does not hold for the task, or the limit is under 2.
    """

    def __init__(self, data: LabelledSet, token_limit: int, skipped: Counter[str]) -> None:
        check_task(data, "additive")
        check_whole("perturb", "token_limit", token_limit, at_least=2)
        self._rows = [row for row in data.rows if row.texts[0].split()]
        if len(self._rows) < len(data.rows):
            skipped["an empty text"] += len(data.rows) - len(self._rows)
        sizes = [len(row.texts[0].split()) for row in self._rows]
        self._by_label: dict[int, list[int]] = {}  # row numbers, short texts first
        for i, row in enumerate(self._rows):
            self._by_label.setdefault(row.label, []).append(i)
        self._rank, counts = [0] * len(self._rows), [0] * len(self._rows)
        for members in self._by_label.values():
            members.sort(key=sizes.__getitem__)
            lengths = [sizes[i] for i in members]
            for rank, i in enumerate(members):
                n_short = bisect_right(lengths, token_limit - sizes[i])
                self._rank[i], counts[i] = rank, n_short - (rank < n_short)  # no row with itself
        self._starts = [0, *itertools.accumulate(counts)]
        if alone := counts.count(0):
            skipped["no other text of the label is short enough"] += alone

    def __len__(self) -> int:
        return self._starts[-1]

    def pair(self, index: int) -> Perturbation:
        """Return pair number `index`: roles ``part_1``, ``part_2``, ``merged``.

        Intervals resample the first parts; second parts repeat as well, which they cannot see.
        """
        i = bisect_right(self._starts, index) - 1
        rank = index - self._starts[i]
        first = self._rows[i]
        rank += rank >= self._rank[i]
        second = self._rows[self._by_label[first.label][rank]]
        merged = f"{first.texts[0].strip()} {second.texts[0].strip()}"
        bucket = f"additive.{first.example_id}|{second.example_id}"
        whole = Place("merged", (merged,), first.label, (first.label,))
        places = (Place.of("part_1", first), Place.of("part_2", second), whole)
        return Perturbation("additive", bucket, first.group_id, places)

    def pairs(self, limit: int | None = None, seed: int = 0) -> Iterator[Perturbation]:
        """Yield all pairs, or `limit` of them drawn uniformly without replacement, in the order of the rows."""
        return map(self.pair, sampled(range(len(self)), limit, seed))
