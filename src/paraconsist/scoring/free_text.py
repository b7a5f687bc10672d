"""Free-text answers as labels: which answers of a bucket are the same, and which are right, by a comparer.

Labels are texts of the answers. A right answer gets its question's first accepted answer as its label, so that measures
of labels read these as they read any others. How often two wordings get the same answer is counted from verdicts on
pairs, which `Rows.values` and `Rows.same` keep: two right answers of a question are the same, a right and a wrong one
are not, and of two others the comparer says it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from string import ascii_uppercase
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.comparing.comparer import Compared, Comparer, compare_within, get_comparer
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import ACCEPTED, CHOICES, VALUE, Metadata, Predictions
from paraconsist.data.rows import accepted_answers, answer_texts, offered_choices
from paraconsist.data.tables import column_error, column_of, values_of
from paraconsist.errors import input_error
from paraconsist.scoring.by_hand import correct, numbers_by_hand, right_by_hand

_MANY_WORDS = 20
_FEW = 10
_LONGEST = 80  # characters of a class's name
_PAIRS = 2_000  # of answers to different problems, whose share that is the same is chance
_ALLOWED = "allowed_labels"


@contextmanager
def _said_in_notes() -> Iterator[None]:
    """Leave out the warning of a judge's verdicts that cannot be read, which stands in the notes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the judge gave")
        yield


@_said_in_notes()
def compared(predictions: Predictions, columns: SourceOptions, same: str | None, right: str | None) -> Predictions:
    """Return predictions with classes of free-text answers as labels, where `same` or the file names a comparer.

    An answer is right that is the same as an accepted one, by the comparer `right`, else by `same`; the metadata's
    `classes`, which were made by hand, come before both (`paraconsist.scoring.by_hand`). InputError if there
    is no such comparer, a column is missing or holds no texts, or an accepted answer cannot be read. Where only some
    questions have one nothing is right or wrong, which a note says.
    """
    metadata = predictions.metadata
    same = same or metadata.get("same")
    if same is None:
        for parameter, given in (("right", right), ("classes", columns.classes)):
            if given is not None:
                remedy = "Say when two answers are the same, such as `same` text."
                raise input_error("score", parameter, "be given with `same` only", got=str(given), remedy=remedy)
        return predictions
    right = right or metadata.get("right") or same
    table, comparer, judge = predictions.table, get_comparer(same), get_comparer(right, "right")
    del comparer.notes[:], judge.notes[:]
    answers = answer_texts(table, columns.prediction)
    of_rows = values_of(table, columns.bucket, parameter="bucket")
    ids = {bucket: code for code, bucket in enumerate(dict.fromkeys(of_rows))}
    buckets = np.array([ids[bucket] for bucket in of_rows], dtype=np.intp)
    choices = offered_choices(table)
    found = compare_within(answers, buckets, comparer, choices)
    names = _class_names(answers, found, buckets, comparer)
    columns_of = {name: table[name] for name in table.column_names if name not in (_ALLOWED, columns.label)}
    values, cells = found.values, accepted_answers(table, columns.label)
    accepted = cells if cells and all(cells) else None
    by_hand = numbers_by_hand(answers, buckets, list(ids), metadata.get("classes", {}))
    before, is_right = values, np.zeros(len(answers), dtype=np.bool_)
    if accepted is not None:
        labels = [" ".join(texts[0].split())[:_LONGEST] for texts in accepted]
        is_right = _are_right(answers, accepted, judge, choices, columns.label)
        gold = compare_within([t[0] if comparer.is_transitive else None for t in accepted], buckets, comparer, choices)
        before = values = _joined(found, np.flatnonzero(is_right), buckets, gold)
        if (by_hand >= 0).any():
            literal = _are_right(answers, accepted, get_comparer("text"), choices, columns.label)
            is_right = right_by_hand(is_right, literal, by_hand, buckets)
            values = _joined(found, np.flatnonzero(is_right), buckets, gold)
        columns_of[columns.label] = pa.array(labels, pa.string())
        columns_of[ACCEPTED] = pa.array(accepted, pa.list_(pa.string()))
    more: Metadata = {**metadata, "same": same, "right": right, "same_pairs": None, "label_names": []}
    notes = [*dict.fromkeys([*comparer.notes, *judge.notes])]
    if cells and accepted is None:
        n_without = len({bucket for bucket, cell in zip(of_rows, cells, strict=True) if not cell})
        notes.append(
            f"{n_without:,} of {len(ids):,} problems have no accepted answer, so what needs one is left out of all; "
            "`labelled` scores the others alone"
        )
    if found.same is not None:
        more["same_pairs"] = frozenset(pair for pair, is_same in found.same.items() if is_same)
        if found.intransitive > 0.0:
            note = f"{100 * found.intransitive:.1f} % of the triples of answers with two same pairs have a third that "
            notes.append(note + f"is not, by `{same}`: classes of answers are a sketch")
    if (by_hand >= 0).any():
        pairs = more["same_pairs"] or frozenset()
        corrected = correct(before, values, pairs, names, is_right, by_hand, buckets, answers)
        values, names, more["same_pairs"] = corrected.values, corrected.names, corrected.same
        more["by_hand"] = {"n_verdicts": corrected.n_verdicts, "n_changed": corrected.n_changed}
        notes.append(
            f"{corrected.n_verdicts:,} verdicts on pairs of different answers were made by hand, "
            f"{corrected.n_changed:,} of them against the comparer's"
        )
    if more["same_pairs"] is not None:
        more["chance"] = _chance(found, buckets, comparer)
    if accepted is not None:
        if sum(1 if text[:1] + text[-1:] == "[]" else -1 for texts in accepted for text in texts) > 0:
            notes.append("accepted answers are lists as Python writes them, each one text: write them as JSON")
        read = [f"{text[:_LONGEST]!r} for {label!r}" for text, label in zip(answers, labels, strict=True) if text]
        if len(answers) >= _FEW and read and not is_right.any():
            notes.append(f"no answer is right by `{right}` ({read[0]}): is another meant?")
        names = [  # a wrong answer's is not the gold label
            label if ok else f"{name} (another)" if name == label else name
            for name, label, ok in zip(names, labels, is_right.tolist(), strict=True)
        ]
    unread = values < 0
    columns_of[columns.prediction] = pa.array(names, pa.string(), mask=unread)
    columns_of |= {VALUE: pa.array(values, mask=unread), "raw_output": pa.array(answers, pa.string())}
    n_words = [len((answer or "").split()) for answer in answers]
    if comparer.is_word_for_word and np.median(n_words or [0]) > _MANY_WORDS:
        notes.append(
            f"most answers are of more than {_MANY_WORDS} words, and `{same}` compares them word for word: "
            "`similar`, `nli` and `judge` compare what they say"
        )
    more["notes"] = [*metadata.get("notes", ()), *notes]
    return Predictions(pa.table(columns_of), more)


def compared_together(main: Predictions, again: Predictions, columns: SourceOptions) -> list[Predictions]:
    """Return the answers of a run, which were compared, and of its repeats, which were not, in classes of both."""
    if VALUE not in main.table.column_names or VALUE in again.table.column_names:
        return [main, again]
    of_main = replace(columns, prediction="raw_output", label=ACCEPTED)
    both = compared(joined([(main, of_main), (again, columns)], columns), columns, None, None)
    tables = both.table.slice(0, len(main.table)), both.table.slice(len(main.table))
    return [_with_answers(each, table, both.metadata) for each, table in zip((main, again), tables, strict=True)]


def joined(files: Sequence[tuple[Predictions, SourceOptions]], columns: SourceOptions) -> Predictions:
    """Return what is compared of several files, each with its names of columns, as one, with the names of `columns`."""
    parts = []
    for predictions, names in files:
        table = predictions.table
        answers = answer_texts(table, names.prediction)
        accepted = accepted_answers(table, names.label) or [[]] * len(table)
        part = {columns.bucket: column_of(table, names.bucket, parameter="bucket").cast(pa.string())}
        part |= {columns.prediction: pa.array(answers, pa.string())}
        part |= {columns.label: pa.array(accepted, pa.list_(pa.string()))}
        if (choices := offered_choices(table)) is not None:
            part[CHOICES] = pa.array(choices, pa.list_(pa.string()))
        parts.append(pa.table(part))
    return Predictions(pa.concat_tables(parts, promote_options="default"), files[0][0].metadata)


def _with_answers(predictions: Predictions, compared_rows: pa.Table, metadata: Metadata) -> Predictions:
    """Return predictions with the columns of answers of compared rows."""
    answers = {name: compared_rows[name] for name in compared_rows.column_names}
    table = predictions.table
    kept = {name: table[name] for name in table.column_names if name not in (*answers, _ALLOWED)}
    of_comparison: Metadata = {key: metadata[key] for key in ("same", "right", "same_pairs")}  # type: ignore[assignment]
    return Predictions(pa.table({**kept, **answers}), {**predictions.metadata, "label_names": [], **of_comparison})


def _are_right(
    answers: Sequence[str | None],
    accepted: Sequence[Sequence[str]],
    judge: Comparer,
    choices: Sequence[Sequence[str] | None] | None,
    label: str,
) -> NDArray[np.bool_]:
    """Return which answers are the same as one of their question's accepted ones, shape (n,)."""
    rows = [row for row, texts in enumerate(accepted) for _ in texts]
    offered = None if choices is None else [choices[row] for row in rows]
    references = judge.values([text for texts in accepted for text in texts], offered)
    readable = np.zeros(len(answers), dtype=np.bool_)
    readable[[row for row, value in zip(rows, references, strict=True) if value is not None]] = True
    if not readable.all():
        row = int(np.argmin(readable))
        must = "hold answers that the comparer can read"
        remedy = "Take another; leave `same` out where answers are read already, as letters in a log are."
        raise column_error("label", label, must, accepted[row][0], row, remedy)
    values = judge.values(answers, choices)
    is_right = np.zeros(len(answers), dtype=np.bool_)
    np.logical_or.at(is_right, rows, judge.are_same([values[row] for row in rows], references, reference=True))
    return is_right


def _class_names(
    answers: Sequence[str | None], found: Compared, buckets: NDArray[np.intp], comparer: Comparer
) -> list[str]:
    """Return the name of each answer's class, its shortest text: one name a class, in the set or (else) its bucket.

    Where several buckets share a class, the text may be about another's question: then it is what was read.
    """
    keys = [
        (0, value) if comparer.is_transitive else (bucket, number)
        for value, bucket, number in zip(found.values.tolist(), buckets.tolist(), found.classes.tolist(), strict=True)
    ]
    shortest: dict[tuple[int, int], str] = {}
    first: dict[tuple[int, int], int] = {}
    shared = set[tuple[int, int]]()
    for key, answer, bucket in zip(keys, answers, buckets.tolist(), strict=True):
        text = " ".join((answer or "").replace("\0", "\ufffd").split())
        if key not in shortest or (len(text), text) < (len(shortest[key]), shortest[key]):
            shortest[key] = text
        if first.setdefault(key, bucket) != bucket and not comparer.is_word_for_word:
            shared.add(key)
    shortest |= {key: _read_as(found.known[key[1]]) or shortest[key] for key in shared if key[1] >= 0}
    names: dict[tuple[int, int], str] = {}
    taken: dict[tuple[int, str], int] = {}
    for key, text in shortest.items():
        name = text[:_LONGEST]
        n = taken[key[0], name] = taken.get((key[0], name), 0) + 1
        names[key] = name if n == 1 else f"{name} ({n})"
    return [names[key] for key in keys]


def _read_as(value: Any) -> str:
    """Return what a comparer read as people write it: a number, a choice's letter, a date, a text; else nothing.

    >>> [_read_as(value) for value in (Fraction(9, 2), Fraction(1, 3), 1, (2020, 5, 0), "yes", None)]
    ['4.5', '1/3', 'B', '2020-05', 'yes', '']
    """
    if isinstance(value, Fraction):
        decimal = f"{float(value):.15g}" if abs(value) < 10**15 else ""
        return decimal if decimal and Fraction(decimal) == value else str(value)
    if isinstance(value, int):
        return ascii_uppercase[value] if 0 <= value < len(ascii_uppercase) else str(value)
    if isinstance(value, tuple) and all(isinstance(part, int) for part in value):
        return "-".join(f"{part:02}" for part in value if part)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _joined(found: Compared, right: NDArray[np.intp], buckets: NDArray[np.intp], gold: Compared) -> NDArray[np.intp]:
    """Return what was read; in the `right` answers of a bucket what was in its `gold` one, else a value of its own."""
    values, n = found.values.copy(), len(buckets)
    known = {value: number for number, value in enumerate(found.known)}
    for row in right.tolist():
        own, read = n + len(found.known) + int(buckets[row]), int(gold.values[row])
        values[row] = own if read < 0 else known.setdefault(gold.known[read], 2 * n + len(known))
    return values


def _chance(found: Compared, buckets: NDArray[np.intp], comparer: Comparer) -> float:
    """Return the share of a sample of pairs of answers to different problems that is the same; nan for costly ones."""
    rows = np.flatnonzero(found.values >= 0)
    if not comparer.is_cheap or len(np.unique(buckets[rows])) < 2:
        return float("nan")
    pairs = np.random.default_rng(0).choice(rows, (2 * _PAIRS, 2))
    pairs = pairs[buckets[pairs[:, 0]] != buckets[pairs[:, 1]]][:_PAIRS]
    first, second = ([found.known[value] for value in found.values[pairs[:, i]].tolist()] for i in range(2))
    return float(np.mean(comparer.are_same(first, second)))
