"""The flip browser's data: buckets of every set, the worst first, as compact JSON that no text can break out of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.reporting.page.aligned import AlignedSet
from paraconsist.reporting.page.texts import SetTexts
from paraconsist.scoring.roles import MAX_STRATUM_VALUES

#: Bounds that keep the page small, whatever the files: rows of a bucket, letters of a text, labels with all
#: probabilities.
_MOST_ROWS, _MOST_LETTERS, _MOST_PROBABILITIES = 100, 4000, 5
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True)
class BrowserData:
    """The JSON for the page, and how many of the buckets are in it."""

    json: str
    n_shown: int
    n_buckets: int
    n_sets_without_texts: int


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
    sets: Sequence[tuple[AlignedSet, SetTexts | None]], models: Sequence[str], *, most_buckets: int, most_bytes: int
) -> BrowserData:
    """Collect the worst buckets of every set, turn by turn, until one of the bounds is reached.

    Parameters
    ----------
    sets : sequence of (AlignedSet, SetTexts or None)
    models : sequence of str
        All models of the page, in order.
    most_buckets, most_bytes : int
        Bounds for all sets together.
    """
    makers = [_SetMaker(aligned, texts, models) for aligned, texts in sets]
    turns: list[Iterator[dict[str, Any]]] = [maker.buckets(number) for number, maker in enumerate(makers)]
    parts: list[str] = []
    n_bytes, full = 0, False
    while turns and not full:
        for turn in list(turns):
            bucket = next(turn, None)
            if bucket is None:
                turns.remove(turn)
                continue
            part = script_json(bucket)
            n_bytes += len(part.encode()) + 1
            if len(parts) >= most_buckets or (n_bytes > most_bytes and parts):
                full = True
                break
            parts.append(part)
    head = script_json({"models": list(models), "sets": [maker.describe() for maker in makers]})
    return BrowserData(
        json=f'{{"head":{head},"buckets":[{",".join(parts)}]}}',
        n_shown=len(parts),
        n_buckets=sum(len(aligned.bucket_ids) for aligned, _ in sets),
        n_sets_without_texts=sum(texts is None for _, texts in sets),
    )


class _SetMaker:
    """Makes the buckets of one set; labels, strata and probabilities become numbers on the way."""

    def __init__(self, aligned: AlignedSet, texts: SetTexts | None, models: Sequence[str]) -> None:
        self.aligned, self.texts = aligned, texts
        self.numbers = [models.index(model) for model in aligned.models]
        self.n_models = len(models)
        first = aligned.predictions[aligned.models[0]]
        self.labels: list[str] = list(first.label_names)
        self.named = bool(self.labels)
        self.index: dict[Any, int] = {}
        if not self.named:
            self._number_labels()
        self.strata = self._strata()
        self.probabilities = {model: self._probabilities(model) for model in aligned.models}
        self.examples = {
            model: file.table["example_id"] if "example_id" in file.table.column_names else None
            for model, file in aligned.predictions.items()
        }

    def _number_labels(self) -> None:
        """Number the labels of files that name none in their own order."""
        rows = list(self.aligned.rows.values())
        found = np.concatenate([part for one in rows for part in (one.labels, one.predictions[~one.unparsed])])
        for value in np.unique(found).tolist():
            self._label(value)

    def _strata(self) -> dict[str, list[str]]:
        """Return the columns that buckets can be filtered by, with their values."""
        found = {}
        rows = self.aligned.rows[self.aligned.models[0]]
        for name, values in rows.strata.items():
            distinct = np.unique(values[rows.roles != "original"])
            if 2 <= len(distinct) <= MAX_STRATUM_VALUES:
                found[name] = [str(value) for value in distinct.tolist()]
        return found

    def _probabilities(self, model: str) -> NDArray[np.float64] | None:
        table = self.aligned.predictions[model].table
        rows = self.aligned.rows[model]
        if "probabilities" in table.column_names:
            lists = table["probabilities"].combine_chunks()
            try:
                flat = np.asarray(lists.flatten().to_numpy(zero_copy_only=False), dtype=np.float64)
            except (AttributeError, ValueError):
                return None
            if len(flat) and len(flat) % len(rows) == 0 and len(flat) // len(rows) <= _MOST_PROBABILITIES:
                return flat.reshape(len(rows), -1)
        return None

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.aligned.name,
            "measure": self.aligned.measure,
            "models": self.numbers,
            "labels": self.labels,
            "fields": [] if self.texts is None else list(self.texts.columns),
            "strata": [[name, values] for name, values in self.strata.items()],
            "n": len(self.aligned.bucket_ids),
        }

    def _label(self, value: Any) -> int:
        """Return a label's number in the list that the page shows."""
        if isinstance(value, int) and self.named and 0 <= value < len(self.labels):
            return value
        if value not in self.index:
            shown = str(value)
            if shown not in self.labels:
                self.labels.append(shown)
            self.index[value] = self.labels.index(shown)
        return self.index[value]

    def buckets(self, number: int) -> Iterator[dict[str, Any]]:
        aligned = self.aligned
        order = np.argsort(aligned.bucket, kind="stable")
        starts = np.searchsorted(aligned.bucket[order], np.arange(len(aligned.bucket_ids) + 1))
        for place in aligned.worst_first().tolist():
            yield self._bucket(number, place, order[starts[place] : starts[place + 1]].tolist())

    def _bucket(self, number: int, place: int, rows: list[int]) -> dict[str, Any]:
        aligned = self.aligned
        owners, places = aligned.base
        roles = [str(aligned.rows[aligned.models[owners[row]]].roles[places[row]]) for row in rows]
        by_role = sorted(range(len(rows)), key=lambda i: roles[i] != "original")
        rows, roles = [rows[i] for i in by_role], [roles[i] for i in by_role]
        n_left_out = max(0, len(rows) - _MOST_ROWS)
        rows, roles = rows[:_MOST_ROWS], roles[:_MOST_ROWS]
        texts = [self._texts(row) for row in rows]
        shared, varying = self._split(texts)
        golds = [self._label(aligned.rows[aligned.models[owners[row]]].labels[places[row]].item()) for row in rows]
        made: dict[str, Any] = {
            "s": number,
            "id": str(aligned.bucket_ids[place]),
            "v": [_rounded(aligned.inconsistency[model][place]) for model in aligned.models],
            "a": [_rounded(aligned.accuracy[model][place]) for model in aligned.models],
            "st": self._bucket_strata(rows),
            "x": shared,
            "f": varying,
            "r": [
                [role, self._example(row), gold, [text[i] for i in varying] if text else None, self._answers(row)]
                for role, row, gold, text in zip(roles, rows, golds, texts, strict=True)
            ],
        }
        return made | ({"more": n_left_out} if n_left_out else {})

    def _texts(self, row: int) -> list[str] | None:
        found = None if self.texts is None else self.texts.rows[row]
        if found is None:
            return None
        return [text if len(text) <= _MOST_LETTERS else text[:_MOST_LETTERS] + "…" for text in found]

    def _split(self, texts: Sequence[list[str] | None]) -> tuple[dict[str, str], list[int]]:
        """Return the texts that all rows of a bucket share, by field, and the fields that vary."""
        known = [text for text in texts if text is not None]
        if not known:
            return {}, []
        fields = range(len(known[0]))
        varying = [i for i in fields if any(text[i] != known[0][i] for text in known)]
        if not varying and len(known) == 1:
            varying = list(fields)
        return {str(i): known[0][i] for i in fields if i not in varying and known[0][i]}, varying

    def _bucket_strata(self, rows: Sequence[int]) -> list[list[int]]:
        aligned = self.aligned
        owners, places = aligned.base
        first = aligned.models[0]
        mine = [places[row] for row in rows if owners[row] == 0]
        targets = [i for i in mine if aligned.rows[first].roles[i] != "original"] or mine
        found = []
        for name, values in self.strata.items():
            column = aligned.rows[first].strata[name]
            index = {value: i for i, value in enumerate(values)}
            found.append(sorted({index[str(column[i])] for i in targets if str(column[i]) in index}))
        return found

    def _example(self, row: int) -> str:
        owners, places = self.aligned.base
        column = self.examples[self.aligned.models[owners[row]]]
        value = None if column is None else column[int(places[row])].as_py()
        return "" if value is None else str(value)

    def _answers(self, row: int) -> list[Any]:
        """Return for each model: None (no such row), or [label or -1 for unparsed, thousandths of probability...]."""
        answers: list[Any] = []
        for model in self.aligned.models:
            place = int(self.aligned.positions[model][row])
            rows = self.aligned.rows[model]
            if place < 0:
                answers.append(None)
                continue
            label = -1 if rows.unparsed[place] else self._label(rows.predictions[place].item())
            answers.append([label, *self._shares(model, place)])
        return answers

    def _shares(self, model: str, place: int) -> list[int]:
        matrix = self.probabilities[model]
        if matrix is not None and self.named and np.isfinite(matrix[place]).all():
            return [round(1000 * p) for p in matrix[place].tolist()]
        confidences = self.aligned.rows[model].confidences
        if confidences is not None and np.isfinite(confidences[place]):
            return [-1, round(1000 * float(confidences[place]))]  # of the gold label alone
        return []


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)
