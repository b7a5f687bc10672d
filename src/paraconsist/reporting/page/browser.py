"""The flip browser's data: the worst buckets of every set, as compact JSON that no text can break out of."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.predictions import RUN, VALUE
from paraconsist.data.rows import Rows
from paraconsist.measures.catalogue import CATALOGUE, CHANGE
from paraconsist.measures.rules import mixed, unchanged
from paraconsist.reporting.page.aligned import AlignedSet
from paraconsist.reporting.page.excerpts import excerpts
from paraconsist.reporting.tables import headline_name
from paraconsist.scoring.by_hand import answer_key
from paraconsist.scoring.outcomes import WORDINGS, changes_of_buckets
from paraconsist.scoring.roles import POLICIES, apply_policy
from paraconsist.scoring.sources import public_model

#: Bounds on the page's size: rows of a bucket, labels with all probabilities, values of a stratum to choose from.
_MOST_ROWS, _MOST_PROBABILITIES, _MOST_VALUES = 100, 5, 200
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True)
class BrowserData:
    """The JSON for the page, and the numbers of buckets in it and in all."""

    json: str
    n_shown: int
    n_buckets: int
    n_sets_without_texts: int
    rows_without_texts: dict[str, tuple[int, int]]  # set -> rows without a text, and all rows, where some have texts


def script_json(value: Any) -> str:
    """Return JSON that can stand inside a ``<script>`` element: nothing in it ends the element or a line.

    >>> script_json("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter, escape in _ESCAPES.items():
        text = text.replace(letter, escape)
    return text.encode("utf-8", "replace").decode("utf-8")


def browser_data(
    sets: Sequence[AlignedSet],
    models: Sequence[str],
    most_buckets: int,
    most_bytes: float,
    kinds: Mapping[str, Mapping[str, NDArray[np.bool_]]] = MappingProxyType({}),
) -> BrowserData:
    """Collect the worst buckets of every set, turn by turn, until the sets together reach one of the bounds.

    `kinds` has the kinds of edit of sets by their names: kind -> a flag for each row.
    """
    names = list(dict.fromkeys(kind for of_set in kinds.values() for kind in of_set))
    numbered = {name: [(names.index(kind), flag) for kind, flag in of.items()] for name, of in kinds.items()}
    makers = [_SetMaker(aligned, models, numbered.get(aligned.name, ())) for aligned in sets]
    parts: list[str] = []
    n_bytes = 0
    turns = zip_longest(*(maker.buckets(number) for number, maker in enumerate(makers)))
    for bucket in filter(None, chain.from_iterable(turns)):
        part = script_json(bucket)
        n_bytes += len(part.encode()) + 1
        if len(parts) >= most_buckets or (n_bytes > most_bytes and parts):
            break
        parts.append(part)
    head = script_json({"models": list(models), "kinds": names, "sets": [maker.describe() for maker in makers]})
    return BrowserData(
        json=f'{{"head":{head},"buckets":[{",".join(parts)}]}}',
        n_shown=len(parts),
        n_buckets=sum(len(aligned.bucket_ids) for aligned in sets),
        n_sets_without_texts=sum(aligned.texts is None for aligned in sets),
        rows_without_texts={
            aligned.name: (texts.n_missing, len(texts.rows))
            for aligned in sets
            if (texts := aligned.texts) and texts.n_missing
        },
    )


class _SetMaker:
    """The buckets of one set as JSON values; labels, strata and probabilities become numbers."""

    def __init__(
        self, aligned: AlignedSet, models: Sequence[str], kinds: Sequence[tuple[int, NDArray[np.bool_]]]
    ) -> None:
        self.aligned, self.texts, self.kinds = aligned, aligned.texts, kinds
        self.models = [models.index(model) for model in aligned.models]
        self.rows = [aligned.rows[model] for model in aligned.models]
        tables = [aligned.predictions[model].table for model in aligned.models]
        self.examples = [table["example_id"] if "example_id" in table.column_names else None for table in tables]
        self.probabilities = [_probabilities(table) for table in tables]
        #: Of each model, its answers in free text; None where answers are labels.
        self.written = [table["raw_output"].to_pylist() if VALUE in table.column_names else None for table in tables]
        self.changes = [
            {} if written is None else changes_of_buckets(apply_policy(rows, aligned.policies[model])[0])
            for model, rows, written in zip(aligned.models, self.rows, self.written, strict=True)
        ]
        self.labels = list(aligned.predictions[aligned.models[0]].label_names)
        self.named = bool(self.labels)
        self.index: dict[Any, int] = {}
        self.numbers = {name: number for number, name in reversed([*enumerate(self.labels)])}  # the first of a name
        if not self.named:  # numbered in sorted order
            used = [part for rows in self.rows for part in (rows.labels, rows.predictions[~rows.unparsed])]
            for value in np.unique(np.concatenate(used)).tolist():
                self._label(value)
        self.strata: dict[str, dict[str, int]] = {}  # columns that buckets can be filtered by: their values, numbered
        self.too_many: list[list[Any]] = []  # columns with too many values to choose from, and their number
        fields = () if self.texts is None else self.texts.columns
        for name in dict.fromkeys(name for rows in self.rows for name in rows.strata if name not in fields):
            columns = [rows.strata[name][rows.roles != "original"] for rows in self.rows if name in rows.strata]
            distinct = np.unique(np.concatenate(columns))
            if len(distinct) > _MOST_VALUES:
                self.too_many.append([name, len(distinct)])
            elif len(distinct) > 1:
                self.strata[name] = {str(value): number for number, value in enumerate(distinct.tolist())}

    def describe(self) -> dict[str, Any]:
        spec, rule = CATALOGUE[self.aligned.measure], self.aligned.rule
        no_gold = not any(rows.has_gold.any() for rows in self.rows)
        return {
            "name": self.aligned.name,
            "mustDiffer": spec.breaks is unchanged,
            "conditional": spec.is_conditional or spec.is_about_probabilities,
            "neverAgree": [self.aligned.policies[model] == POLICIES[0] for model in self.aligned.models],
            "models": self.models,
            "read": [model in self.aligned.read for model in self.aligned.models],
            "labels": self.labels,
            "fields": [] if self.texts is None else list(self.texts.columns),
            "strata": [[name, list(values)] for name, values in self.strata.items()],
            "tooMany": self.too_many,
            "paraphrastic": spec.breaks is mixed and not no_gold,
            "rule": "answers that change" if rule is CHANGE else headline_name(rule),
            "written": any(written is not None for written in self.written),
            "gold": all(bool(rows.has_gold.all()) for rows in self.rows),
            "noGold": no_gold,
            "byHand": [self.aligned.predictions[model].metadata.get("by_hand") for model in self.aligned.models],
            "ids": [public_model(self.aligned.predictions[model]) for model in self.aligned.models],
            "changes": [[len(changes), math.fsum(changes.values())] for changes in self.changes],
            "sums": [_sums(self.aligned.counts[model]) for model in self.aligned.models],
        }

    def _label(self, value: Any) -> int:
        """Return a label's number in the list that the page shows."""
        if isinstance(value, int) and self.named and 0 <= value < len(self.labels):
            return value
        if value not in self.index:
            name = "none" if self.named and value == -1 else str(value)  # the label of a rule or a statement
            self.index[value] = self.numbers.setdefault(name, len(self.labels))
            if self.index[value] == len(self.labels):
                self.labels.append(name)
        return self.index[value]

    def _gold(self, rows: Rows, at: int) -> int | list[int]:
        """Return the number of a row's gold label, or those of the labels that a rule allows it."""
        if rows.allowed is None or rows.has_gold[at] or not CATALOGUE[self.aligned.measure].is_conditional:
            return self._label(rows.labels.item(at))
        return [self._label(label) for label in rows.allowed[at]]

    def buckets(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the set's buckets, the worst first; `number` is the set's."""
        aligned = self.aligned
        order = np.argsort(aligned.bucket, kind="stable")
        starts = np.searchsorted(aligned.bucket[order], np.arange(len(aligned.bucket_ids) + 1))
        for place in aligned.worst_first().tolist():
            yield self._bucket(number, place, order[starts[place] : starts[place + 1]].tolist())

    def _bucket(self, number: int, place: int, members: list[int]) -> dict[str, Any]:
        aligned = self.aligned
        owners, places = aligned.base  # the first model that has each row, and the row's place there
        owned = [(row, self.rows[owners[row]], int(places[row])) for row in members]
        owned.sort(key=lambda owner: owner[1].roles[owner[2]] != "original")
        if self.written[0] is not None and owned[0][1].roles[owned[0][2]] != "original":
            labels = [tuple(self._answer(0, row) or ())[:1] for row, *_ in owned]
            owned.insert(0, owned.pop(labels.index(Counter(labels).most_common(1)[0][0])))  # the commonest answer's
        kept = owned[:_MOST_ROWS]
        texts = [None if self.texts is None else self.texts.rows[row] for row, *_ in owned]
        shared, varying = _split(texts)
        cut = [iter(excerpts([text[field] for text in texts[: len(kept)] if text])) for field in varying]
        shares = {"v": aligned.inconsistency, "w": aligned.shrunken}
        bucket: dict[str, Any] = {
            "s": number,
            "id": str(aligned.bucket_ids[place]),
            **{key: [_rounded(values[model][place]) for model in aligned.models] for key, values in shares.items()},
            "o": [str(aligned.outcomes[model][place])[:1] for model in aligned.models],
            "n": [_plain(aligned.counts[model][place]) for model in aligned.models],
            "st": self._bucket_strata([row for row, *_ in kept]),
            "x": shared,
            "f": varying,
            "r": [
                [
                    str(rows.roles[at]) if rows.calls is None else RUN,
                    self._example(row),
                    self._gold(rows, at),
                    [next(of_field) for of_field in cut] if text else None,
                    [self._answer(model, row) for model in range(len(self.models))],
                    *([numbers] if (numbers := [number for number, flag in self.kinds if flag[row]]) else []),
                ]
                for (row, rows, at), text in zip(kept, texts[: len(kept)], strict=True)
            ],
        }
        if any(written is not None for written in self.written):
            bucket["t"] = self._written(owned)
            if all(rows.roles[at] in WORDINGS for _, rows, at in owned):
                bucket["c"] = [changes.get(aligned.bucket_ids[place]) for changes in self.changes]
        return bucket | ({"more": len(owned) - len(kept)} if len(owned) > len(kept) else {})

    def _written(self, owned: Sequence[tuple[int, Rows, int]]) -> list[list[Any]]:
        """Return the different answers to a bucket: text, name in files (0: the text), class, right, rows by model.

        The class is -1 where an answer could not be read. A text that several models gave is in one class, and joins
        their classes.
        """
        found: dict[str, list[Any]] = {}
        whole: dict[str, str] = {}
        classes: dict[tuple[int, int], int] = {}
        for model, written in enumerate(self.written):
            for number, (row, rows, at) in enumerate(owned):
                place = int(self.aligned.positions[self.aligned.models[model]][row])
                if place < 0 or written is None or written[place] is None:
                    continue
                (label, *_), key = self._answer(model, row) or [-1], answer_key(written[place])
                whole.setdefault(key, written[place])
                of_label = -1 if label < 0 else classes.setdefault((model, label), len(classes))
                if key not in found:
                    is_right = int(label >= 0 and label == self._label(rows.labels.item(at)))
                    found[key] = [key, 0, of_label, is_right, [[] for _ in self.models]]
                elif label >= 0:
                    classes[model, label] = found[key][2]
                found[key][4][model].append(number)
        for (key, entry), shown in zip(found.items(), excerpts(list(whole.values())), strict=True):
            entry[:2] = [shown, 0 if shown == key else key]
        return list(found.values())

    def _bucket_strata(self, members: Sequence[int]) -> list[list[int]]:
        owners, places = self.aligned.base
        targets = [row for row in members if self.rows[owners[row]].roles[places[row]] != "original"] or members
        return [
            sorted({values[value] for row in targets if (value := self._stratum(name, row)) in values})
            for name, values in self.strata.items()
        ]

    def _stratum(self, name: str, row: int) -> str:
        """Return a row's value of a column, as the first model that has both says it."""
        known = zip(self.rows, self.aligned.positions.values(), strict=True)
        of_row = (rows.strata[name][at[row]] for rows, at in known if at[row] >= 0 and name in rows.strata)
        return str(next(of_row, ""))

    def _example(self, row: int) -> str:
        owners, places = self.aligned.base
        column = self.examples[owners[row]]
        value = None if column is None else column[int(places[row])].as_py()
        return "" if value is None else str(value)

    def _answer(self, model: int, row: int) -> list[int] | None:
        """Return None (no such row), or label or -1 for unparsed, and thousandths of the labels' probabilities."""
        place = int(self.aligned.positions[self.aligned.models[model]][row])
        if place < 0:
            return None
        rows, matrix = self.rows[model], self.probabilities[model]
        label = -1 if rows.unparsed[place] else self._label(rows.predictions.item(place))
        if matrix is not None and self.named and np.isfinite(matrix[place]).all():
            return [label, *(round(1000 * p) for p in matrix[place].tolist())]
        if rows.confidences is not None and np.isfinite(rows.confidences[place]):
            return [label, -1, round(1000 * float(rows.confidences[place]))]  # of the gold label alone
        return [label]


def _probabilities(table: pa.Table) -> NDArray[np.float64] | None:
    """Return the file's probabilities where all rows have the same number of them, small enough to show."""
    if "probabilities" not in table.column_names:
        return None
    lists = table["probabilities"].combine_chunks()
    answered = lists.is_valid().to_numpy(zero_copy_only=False)
    try:
        flat = np.asarray(lists.flatten().to_numpy(zero_copy_only=False), dtype=np.float64)
    except (AttributeError, ValueError):
        return None
    n, n_rows = len(flat), int(answered.sum())
    if not n or n % n_rows or n // n_rows > _MOST_PROBABILITIES:
        return None
    matrix = np.full((table.num_rows, n // n_rows), np.nan)
    matrix[answered] = flat.reshape(n_rows, -1)
    return matrix


def _split(texts: Sequence[list[str] | None]) -> tuple[dict[str, str], list[int]]:
    """Return the texts that all rows of a bucket share, by field, and the fields that vary."""
    known = [text for text in texts if text is not None]
    if not known:
        return {}, []
    fields = range(len(known[0]))
    varying = [i for i in fields if any(text[i] != known[0][i] for text in known)]
    if not varying and len(known) == 1:
        varying = list(fields)
    return {str(i): excerpts([known[0][i]])[0] for i in fields if i not in varying and known[0][i]}, varying


def _sums(counts: NDArray[np.float64]) -> list[float]:
    """Return the sums that `marking.js` needs over all buckets, also those that the page does not hold."""
    size, right, counted, breaking = counts.T
    pairs = np.maximum(size * (size - 1), 1)
    columns = (size, right, size > 1, np.where(size > 1, 2 * right * (size - right) / pairs, 0), counted, breaking)
    return _plain(np.array([column.sum() for column in columns], dtype=np.float64))


def _plain(values: NDArray[np.float64]) -> list[float]:
    """Return numbers as JSON has them shortest: whole ones without a point."""
    return [int(value) if value.is_integer() else value for value in values.tolist()]


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)
