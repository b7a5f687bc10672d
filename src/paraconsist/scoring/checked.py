"""Sheets of answers that people check: drawn from the answers of one model or several, and joined to them again.

A sheet holds pairs of answers to different wordings of a problem (``same`` is filled in) or single answers with the
accepted ones (``right``). It is a random sample from strata of the comparer's verdicts, which it does not show. A row
is found again by its bucket and by the places of its wordings there, and is refused if it shows another answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.comparing.comparer import Comparer, get_comparer
from paraconsist.data.logs.reading import LogTexts
from paraconsist.data.predictions import ACCEPTED, VALUE, Metadata
from paraconsist.data.rows import Rows, read_rows
from paraconsist.data.tables import column_of, read_table
from paraconsist.errors import InputError, input_error
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.measures.checked import (
    CheckedUnits,
    Corrected,
    agreement,
    corrected_difference,
    corrected_rate,
    differs,
    rogan_gladen,
)
from paraconsist.measures.results import Record
from paraconsist.measures.rules import PARAPHRASE
from paraconsist.scoring.outcomes import SAME_ANSWER, WORDING_CHANGE, WORDINGS, answer_codes, is_right
from paraconsist.scoring.roles import apply_policy
from paraconsist.scoring.sources import Source

Kind = Literal["same", "right"]
Integers = NDArray[np.intp]
_ACCURACY = "accuracy"
_MARKS = {
    **dict.fromkeys(("yes", "y", "true", "t", "1", "x"), True),
    **dict.fromkeys(("no", "n", "false", "f", "0"), False),
}
_QUESTIONS = ("question", "input", "prompt", "query", "problem", "text")


class _Pairs(NamedTuple):
    """Units of one model: pairs of rows, or rows paired with themselves; all arrays have one length."""

    first: Integers
    second: Integers
    weights: NDArray[np.float64]  # a bucket counts once
    verdicts: NDArray[np.bool_]
    strata: Integers


@dataclass(frozen=True, kw_only=True)
class Checked(Record):
    """Rates of one set corrected by answers that people checked.

    Attributes
    ----------
    rates : dict of str to Corrected
        By the names that the uncorrected ones have.
    agreement : dict of str to dict
        Column of the sheet -> `n_labels` that two people gave, `share` of them alike and Cohen's `kappa`: no comparer
        can be known to be better.
    """

    rates: dict[str, Corrected]
    agreement: dict[str, dict[str, float]]
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CheckedDifference(Record):
    """The corrected rate of one model less that of another, in [-1, 1]."""

    first: str
    second: str
    rate: str
    difference: float
    standard_error: float
    confidence_interval: list[float]


# ---- units


def _pairs_within(buckets: NDArray[Any], rows: Integers, *, singles: bool = False) -> tuple[Integers, Integers]:
    """Return all pairs of `rows` of one bucket; with `singles`, a row that is alone in its bucket with itself."""
    _, codes, sizes = np.unique(buckets[rows], return_inverse=True, return_counts=True)
    order, starts = np.argsort(codes, kind="stable"), np.concatenate([[0], np.cumsum(sizes)[:-1]])
    firsts, seconds = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for size in np.unique(sizes).tolist():
        if size < 2 and not singles:
            continue
        members = rows[order[starts[sizes == size][:, None] + np.arange(size)]]
        one, two = np.triu_indices(size, 1) if size > 1 else (np.zeros(1, dtype=np.intp),) * 2
        firsts.append(members[:, one].ravel())
        seconds.append(members[:, two].ravel())
    return np.concatenate(firsts), np.concatenate(seconds)


def _per_bucket(buckets: NDArray[Any], first: Integers) -> NDArray[np.float64]:
    _, codes, counts = np.unique(buckets[first], return_inverse=True, return_counts=True)
    return np.asarray(1.0 / counts[codes])


def _halves(verdicts: NDArray[np.bool_], similarity: NDArray[np.float64] | None) -> Integers:
    """Return which units are in the more similar half of their verdict, as 0 and 1."""
    parts = np.zeros(len(verdicts), dtype=np.intp)
    for verdict in (True, False) if similarity is not None else ():
        assert similarity is not None
        members = np.flatnonzero(verdicts == verdict)
        if len(members):
            parts[members] = similarity[members] > np.median(similarity[members])
    return parts


def _same_units(source: Source, rows: Rows) -> _Pairs:
    buckets = np.asarray(rows.buckets)
    first, second = _pairs_within(buckets, np.flatnonzero(np.isin(rows.roles, WORDINGS)))
    codes = answer_codes(rows)
    verdicts = codes[first] == codes[second]
    if rows.same is not None and rows.values is not None:
        low, high = (end(rows.values[first], rows.values[second]) for end in (np.minimum, np.maximum))
        verdicts |= [pair in rows.same for pair in zip(low.tolist(), high.tolist(), strict=True)]
    comparer, similarity = get_comparer(source.predictions.metadata["same"]), None
    if comparer.is_cheap and not comparer.is_transitive:
        values = comparer.values(source.predictions.table["raw_output"].to_pylist())
        similarity = comparer.pairs([values[i] for i in first], [values[i] for i in second])
    return _Pairs(first, second, _per_bucket(buckets, first), verdicts, _halves(verdicts, similarity))


def _answer_units(source: Source, rows: Rows) -> _Pairs:
    members = np.flatnonzero(rows.roles == PARAPHRASE)
    verdicts, similarity = is_right(rows)[members], None
    comparer = get_comparer(source.predictions.metadata["right"])
    if comparer.is_cheap and not comparer.is_transitive:
        table = source.predictions.table.take(pa.array(members))
        accepted = table[ACCEPTED].to_pylist()
        similarity = _similarity(comparer, table["raw_output"].to_pylist(), accepted)
    weights = _per_bucket(np.asarray(rows.buckets), members)
    return _Pairs(members, members, weights, verdicts, _halves(verdicts, similarity))


def _similarity(comparer: Comparer, answers: Sequence[str | None], accepted: Sequence[Sequence[str]]) -> Any:
    """Return how similar each answer is to the most similar accepted one, shape (n,)."""
    owner = [i for i, texts in enumerate(accepted) for _ in texts]
    values = comparer.values(answers)
    references = comparer.values([text for texts in accepted for text in texts])
    best = np.zeros(len(answers))
    np.maximum.at(best, owner, comparer.pairs([values[i] for i in owner], references, reference=True))
    return best


def _alike_units(rows: Rows, *, singles: bool = False) -> _Pairs:
    """Return pairs of paraphrases, whose verdict is whether both or neither is right."""
    buckets = np.asarray(rows.buckets)
    first, second = _pairs_within(buckets, np.flatnonzero(rows.roles == PARAPHRASE), singles=singles)
    right = is_right(rows).astype(np.intp)
    n_right = right[first] + right[second]
    return _Pairs(first, second, _per_bucket(buckets, first), n_right != 1, n_right)


def _places(buckets: NDArray[Any]) -> Integers:
    """Return the place of each row among those of its bucket, from 0."""
    codes = np.unique(buckets, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    places = np.empty(len(codes), dtype=np.intp)
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes))[:-1]])
    places[order] = np.arange(len(codes)) - starts[codes[order]]
    return places


# ---- drawing


def _uniform(buckets: NDArray[Any], first: Integers, seed: int) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each unit, the same for all models; those of a bucket lie evenly apart."""
    ids, codes, counts = np.unique(buckets[first], return_inverse=True, return_counts=True)
    digests = (hashlib.sha256(f"{seed}:{bucket}".encode()).digest() for bucket in ids.tolist())
    starts = np.array([int.from_bytes(digest[:6], "big") / 2**48 for digest in digests])
    return np.asarray((starts[codes] + _places(codes) / counts[codes]) % 1.0)


def _sample(strata: Integers, order: NDArray[np.float64], n: int) -> tuple[Integers, NDArray[np.float64]]:
    """Draw n units, half of them in proportion to the strata's sizes and half equally; with 1 over their chances."""
    names, sizes = np.unique(strata, return_counts=True)
    wanted, shares = np.zeros(len(names), dtype=np.intp), 0.5 * sizes / sizes.sum() + 0.5 / len(names)
    while (left := min(n, int(sizes.sum())) - int(wanted.sum())) > 0:
        room = wanted < sizes
        more = np.where(room, left * shares / shares[room].sum(), 0.0).astype(np.intp)
        if not more.any():
            more[np.argsort(-np.where(room, shares, 0.0), kind="stable")[:left]] = 1
        wanted = np.minimum(wanted + more, sizes)
    drawn, weights = [], []
    for name, size, k in zip(names.tolist(), sizes.tolist(), wanted.tolist(), strict=True):
        members = np.flatnonzero(strata == name)
        drawn.append(members[np.argsort(order[members], kind="stable")[:k]])
        weights.append(np.full(k, size / k))
    return np.concatenate(drawn), np.concatenate(weights)


def draw_sheet(
    sources: Mapping[str, Sequence[Source]],
    *,
    mark: Kind = "same",
    n: int = 200,
    people: int = 1,
    seed: int = 0,
    question: str | None = None,
) -> pa.Table:
    """Return a sheet of answers for people to check, in random order, with empty columns to fill in.

    Parameters
    ----------
    sources : mapping of str to sequence of Source
        Model -> the sets that it answered; equally many rows are drawn from each.
    mark : {"same", "right"}
        Whether pairs of answers to two wordings are checked, or single answers against the accepted ones.
    n : int
        Rows of the sheet, at most.
    people : int
        Columns to fill in, one for each person.
    question : str, optional
        Column of the questions' texts; by default those that the run kept, or a column such as ``question``.

    Raises
    ------
    InputError
        If a set's answers are labels, or have no accepted ones for ``right``, or nothing can be drawn.
    """
    names = [mark] if people == 1 else [f"{mark}_{i + 1}" for i in range(people)]
    ids = ["pair", "set", "model", "bucket_id"]
    columns = ["question_1", "answer_1", "question_2", "answer_2", *names, *ids, "wording_1", "wording_2", "weight"]
    columns.append("accepted")  # behind what people look at
    if mark == "right":
        columns = ["question", "accepted", "answer", *names, *ids, "wording", "weight"]
    listed: list[tuple[str, list[dict[str, Any]]]] = []
    each = max(n // sum(map(len, sources.values())), 1)
    for model, of_model in sources.items():
        for source in of_model:
            listed += _drawn(source, model, mark, each, seed, question)
    if not listed:
        must = "hold pairs of wordings of a problem" if mark == "same" else "hold answers to paraphrases"
        raise input_error("sheet", "paths", must)
    empty = dict.fromkeys(names, "")
    lines = [
        {**line, **empty, "pair": number}
        for number, (_, of_pair) in enumerate(sorted(listed, key=lambda pair: pair[0]), 1)
        for line in of_pair
    ]
    return pa.table({name: [line[name] for line in lines] for name in columns})


def _drawn(
    source: Source, model: str, mark: Kind, n: int, seed: int, question: str | None
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return drawn units of one set: the text that orders them, and their lines."""
    table = source.predictions.table
    if VALUE not in table.column_names:
        remedy = "Say when two answers in free text are the same, such as `same` text."
        raise input_error("sheet", "same", "be given: labels need no checking", got=None, remedy=remedy)
    if mark == "right" and ACCEPTED not in table.column_names:
        raise input_error("sheet", "label", "name a column of accepted answers", got=source.columns.label)
    rows = apply_policy(read_rows(source.predictions, source.columns), "wrong")[0]
    buckets = np.asarray(rows.buckets)
    units = _same_units(source, rows) if mark == "same" else _alike_units(rows, singles=True)
    strata, n_units = 2 * units.verdicts + units.strata, n
    if mark == "right" and len(units.first):
        is_single = units.first == units.second
        if is_single.all():
            alone = _answer_units(source, rows)
            units, strata = alone, 2 * alone.verdicts + alone.strata
        else:
            strata, n_units = units.strata + 3 * is_single, max(n // 2, 1)
    if not len(units.first):
        return []
    drawn, weights = _sample(strata, _uniform(buckets, units.first, seed), n_units)
    places, asked, answers = _places(buckets), _questions(source, question), table["raw_output"].to_pylist()
    listed = []
    for unit, weight in zip(drawn.tolist(), weights.tolist(), strict=True):
        members = list(dict.fromkeys((int(units.first[unit]), int(units.second[unit]))))
        about = {"set": source.name, "model": model, "bucket_id": str(buckets[members[0]]), "weight": weight}
        key = hashlib.sha256(f"{seed}:{model}:{about['bucket_id']}:{places[members]}".encode()).hexdigest()
        accepted = table[ACCEPTED][members[0]].as_py() if ACCEPTED in table.column_names else []
        about["accepted"] = json.dumps(accepted, ensure_ascii=False)
        cells = [{"question": asked[i], "answer": answers[i] or "", "wording": int(places[i])} for i in members]
        if mark == "right":
            listed.append((key, [{**about, **of_row} for of_row in cells]))
        else:
            both = {f"{name}_{k}": cell for k, of_row in enumerate(cells, 1) for name, cell in of_row.items()}
            listed.append((key, [{**about, **both}]))
    return listed


def _questions(source: Source, column: str | None) -> list[str]:
    """Return the text that each row asked, empty where nobody kept it."""
    table = source.predictions.table
    own = column or next((name for name in _QUESTIONS if name in table.column_names), None)
    if own is not None:
        texts = column_of(table, own, parameter="question", function="sheet").cast(pa.string()).to_pylist()
        return [text or "" for text in texts]
    if source.texts is None or "example_id" not in table.column_names:
        return [""] * table.num_rows
    kept = source.texts.table(source.name) if isinstance(source.texts, LogTexts) else None
    kept = read_table(source.texts, function="sheet", parameter="paths") if kept is None else kept  # type: ignore[arg-type]
    if "example_id" not in kept.column_names:
        return [""] * table.num_rows
    names = [name for name in kept.column_names if pa.types.is_string(kept[name].type) and name != "example_id"]
    lines = zip(*(kept[name].to_pylist() for name in names), strict=True)
    shown = {i: "\n".join(filter(None, line)) for i, line in zip(kept["example_id"].to_pylist(), lines, strict=True)}
    return [shown.get(i, "") for i in table["example_id"].to_pylist()]


# ---- reading


class _Line(NamedTuple):
    """A marked row of a sheet; `row` is its number in the file, for messages."""

    row: int
    set: str
    model: str
    bucket: str
    wordings: tuple[int, ...]
    answers: tuple[str, ...]
    accepted: tuple[str, ...]
    marks: tuple[bool | None, ...]
    weight: float
    pair: str

    @property
    def label(self) -> float:
        """The mean of the marks; nan without any."""
        given = [mark for mark in self.marks if mark is not None]
        return float(np.mean(given)) if given else float("nan")


def read_checked(paths: Iterable[str | Path]) -> dict[Kind, list[_Line]]:
    """Read marked sheets; InputError if one is none, or a cell is neither yes, no nor empty."""
    found: dict[Kind, list[_Line]] = {}
    for path in paths:
        table = read_table(path, function="score", parameter="checked")
        cells = {name: [x or "" for x in table[name].cast(pa.string()).to_pylist()] for name in table.column_names}
        kind: Kind = "right" if "answer" in cells else "same"
        ends = ("",) if kind == "right" else ("_1", "_2")
        marks = [name for name in cells if name == kind or name.startswith(f"{kind}_")]
        needed = [f"{name}{end}" for name in ("answer", "wording") for end in ends]
        needed += ["set", "model", "bucket_id", "weight", "pair", "accepted", *([] if marks else [kind])]
        if missing := [name for name in needed if name not in cells]:
            must, remedy = f"have the columns {', '.join(missing)}", "Give a sheet that `paraconsist sheet` wrote."
            raise input_error("score", "checked", must, got=table.column_names, remedy=remedy)
        for row in range(table.num_rows):
            try:
                wordings = tuple(int(float(cells[f"wording{end}"][row])) for end in ends)
                weight, accepted = float(cells["weight"][row]), json.loads(cells["accepted"][row] or "[]")
            except ValueError:
                raise input_error(
                    "score", "checked", "keep the identifiers and weights", got=str(path), row=row
                ) from None
            line = _Line(
                row,
                cells["set"][row],
                cells["model"][row],
                cells["bucket_id"][row],
                wordings,
                tuple(cells[f"answer{end}"][row] for end in ends),
                tuple(accepted),
                tuple(_mark(cells[name][row], name, row) for name in marks),
                weight,
                cells["pair"][row],
            )
            found.setdefault(kind, []).append(line)
    return found


def _mark(cell: str, name: str, row: int) -> bool | None:
    word = cell.strip().lower()
    if word and word not in _MARKS:
        raise input_error("score", "checked", f"have yes, no or nothing in the column {name}", got=cell, row=row)
    return _MARKS.get(word)


# ---- joining


def checked_rates(source: Source, rows: Rows, sheets: Mapping[Kind, Sequence[_Line]], level: float) -> Checked:
    """Return the rates of a set corrected by marked sheets; `rows` are as a policy has left them, none left out.

    Where the sheet was drawn from this model's answers the rates are prediction-powered; where it was drawn from other
    models' answers only, they are corrected by the comparer's errors there. InputError if the sheet shows other answers
    than the run.
    """
    if VALUE not in source.predictions.table.column_names:
        remedy = "Say when two answers in free text are the same, such as `same` text."
        raise input_error("score", "checked", "be given with `same` only", remedy=remedy)
    rates: dict[str, Corrected] = {}
    alike: dict[str, dict[str, float]] = {}
    notes: list[str] = []
    for kind, lines in sheets.items():
        two = [(line.marks[0], line.marks[1]) for line in lines if len(line.marks) > 1 and None not in line.marks[:2]]
        if two:
            share, kappa = agreement(*([bool(pair[i]) for pair in two] for i in (0, 1)))
            alike[kind] = {"n_labels": len(two), "share": share, "kappa": kappa}
        ours, others = _ours(source, lines), [line for line in lines if line.model != model_name(source)]
        units = _units_of(source, rows, kind)
        for key, of_rate in units.items():
            if ours:
                labelled = _labelled(of_rate, rows, source, ours, kind)
                if labelled.is_labelled.any():
                    rates[key] = corrected_rate(labelled, confidence_level=level)
            elif others and key != PARAPHRASTIC.headline:
                errors, warnings = _errors_elsewhere(source, others, kind, level)
                empty = _as_units(of_rate, rows, np.full(len(of_rate.first), np.nan))
                rates[key] = rogan_gladen(empty, errors, confidence_level=level)
                notes += warnings
        if SAME_ANSWER.key in rates and kind == "same":
            rates[WORDING_CHANGE.key] = _complement(rates[SAME_ANSWER.key])
    notes += [f"{key} is not corrected: {rate.refused}" for key, rate in rates.items() if rate.refused]
    return Checked(rates=rates, agreement=alike, warnings=tuple(dict.fromkeys(notes)))


def checked_differences(
    sources: Mapping[str, Source],
    pairs: Iterable[tuple[str, str]],
    sheets: Mapping[Kind, Sequence[_Line]],
    level: float,
) -> tuple[list[CheckedDifference], list[str]]:
    """Return differences of models' corrected rates, paired by problem, and why some rates have none.

    `sources` are model -> its answers to one set. Rates of problems that one of two models lacks are left out.
    """
    units: dict[str, dict[str, CheckedUnits]] = {}
    for kind, lines in sheets.items():
        for model, source in sources.items():
            rows = apply_policy(read_rows(source.predictions, source.columns), "wrong")[0]
            for key, of_rate in _units_of(source, rows, kind).items() if (ours := _ours(source, lines)) else ():
                labelled = _labelled(of_rate, rows, source, ours, kind)
                if labelled.is_labelled.any():
                    units.setdefault(key, {})[model] = labelled
    found: list[CheckedDifference] = []
    notes: list[str] = []
    for (first, second), (key, of_models) in product(pairs, units.items()):
        if first in of_models and second in of_models:
            one, two = of_models[first], of_models[second]
            one, two = one.where(np.isin(one.groups, two.groups)), two.where(np.isin(two.groups, one.groups))
            try:
                difference = corrected_difference(one, two, confidence_level=level)
            except InputError as problem:
                notes.append(f"{key} of {first} and {second} is not corrected: {problem.got}")
            else:
                found.append(CheckedDifference(first=first, second=second, rate=key, **difference))
    return found, notes


def _ours(source: Source, lines: Sequence[_Line]) -> list[_Line]:
    """Return the lines of a sheet that are about a source's answers."""
    name = model_name(source)
    return [line for line in lines if line.model == name and (line.set == source.name or not source.has_name)]


def model_name(source: Source) -> str:
    """Return what sheets call a source's model: its name, else that of its file."""
    return source.model or ("" if source.path is None else source.path.stem)


def _units_of(source: Source, rows: Rows, kind: Kind) -> dict[str, _Pairs]:
    if kind == "same":
        return {SAME_ANSWER.key: _same_units(source, rows)}
    if ACCEPTED not in source.predictions.table.column_names:
        raise input_error("score", "label", "name a column of accepted answers", got=source.columns.label)
    units = {_ACCURACY: _answer_units(source, rows), PARAPHRASTIC.headline: _alike_units(rows)}
    return {key: of_rate for key, of_rate in units.items() if len(of_rate.first)}


def _as_units(
    units: _Pairs, rows: Rows, labels: NDArray[np.float64], sampling: NDArray[np.float64] | None = None
) -> CheckedUnits:
    groups = np.asarray(rows.buckets if rows.groups is None else rows.groups)[units.first]
    return CheckedUnits.of(
        units.verdicts, labels, weights=units.weights, sampling=sampling, strata=units.strata, groups=groups
    )


def _labelled(units: _Pairs, rows: Rows, source: Source, lines: Sequence[_Line], kind: Kind) -> CheckedUnits:
    """Return units with the labels of the sheet's lines."""
    buckets = np.asarray(rows.buckets)
    places, answers = _places(buckets), source.predictions.table["raw_output"].to_pylist()
    row_of = {key: i for i, key in enumerate(zip(map(str, buckets.tolist()), places.tolist(), strict=True))}
    marked: dict[tuple[int, int], list[tuple[float, float]]] = {}
    of_pair: dict[str, list[tuple[int, float, float]]] = {}
    for line in lines:
        members = [row_of.get((line.bucket, wording), -1) for wording in line.wordings]
        shown = [" ".join((answers[i] or "").split()) if i >= 0 else None for i in members]
        if shown != [" ".join(text.split()) for text in line.answers]:
            must, remedy = "show the answers of this run", "Score the run that the sheet was drawn from."
            raise input_error("score", "checked", must, got=line.answers[0][:80], row=line.row, remedy=remedy)
        marked.setdefault((members[0], members[-1]), []).append((line.label, line.weight))
        of_pair.setdefault(line.pair, []).append((members[0], line.label, line.weight))
    if kind == "right" and (units.first != units.second).any():
        marked = {
            (min(one[0], two[0]), max(one[0], two[0])): [(_alike(one[1], two[1]), one[2])]
            for one, two in (pair for pair in of_pair.values() if len(pair) == 2)
        }
    labels, sampling = np.full(len(units.first), np.nan), np.ones(len(units.first))
    partners = np.maximum(1.0 / _per_bucket(buckets, units.first) - 1.0, 1.0) if kind == "right" else np.ones(1)
    for i, key in enumerate(zip(units.first.tolist(), units.second.tolist(), strict=True)):
        given = [(label, weight) for label, weight in marked.get(key, ()) if label == label]
        if given:
            labels[i] = np.mean([label for label, _ in given])
            # an answer is drawn with any of its partners
            by = partners[i] if kind == "right" and key[0] == key[1] else 1.0
            sampling[i] = sum(weight for _, weight in given) / by
    return _as_units(units, rows, labels, sampling)


def _alike(one: float, two: float) -> float:
    """Return the chance that two answers are both right or both wrong, from people's mean marks."""
    return one * two + (1.0 - one) * (1.0 - two)


def _errors_elsewhere(
    source: Source, lines: Sequence[_Line], kind: Kind, level: float
) -> tuple[CheckedUnits, list[str]]:
    """Return units of other models' answers as the sheet shows them, with the comparer's verdicts, and cautions."""
    metadata = source.predictions.metadata
    verdicts = np.array([_verdict(line, kind, metadata) for line in lines], dtype=np.bool_)
    models = np.array([line.model for line in lines])

    def units(mask: NDArray[np.bool_]) -> CheckedUnits:
        chosen = [line for line, is_chosen in zip(lines, mask.tolist(), strict=True) if is_chosen]
        labels, sampling = np.array([[line.label, line.weight] for line in chosen]).reshape(-1, 2).T
        groups = np.unique([line.bucket for line in chosen], return_inverse=True)[1]
        return CheckedUnits.of(verdicts[mask], labels, weights=sampling, groups=groups)

    names = np.unique(models).tolist()
    notes = [
        f"the sheet has no answers of {model_name(source) or 'this model'}: its rates are corrected by the comparer's "
        f"errors on answers of {', '.join(names)}, which may be others"
    ]
    each = [units(models == name) for name in names]
    errors = [corrected_rate(one, confidence_level=level) for one in each if one.is_labelled.any()]
    if any(differs(one, other) for one, other in combinations(errors, 2)):
        notes.append("the comparer's errors differ between the sheet's models: check answers of this model")
    return units(np.ones(len(lines), dtype=np.bool_)), notes


def _verdict(line: _Line, kind: Kind, metadata: Metadata) -> bool:
    """Return the comparer's verdict on a line of a sheet."""
    judge, comparer = get_comparer(metadata["right"]), get_comparer(metadata["same"])
    if kind == "right":
        return bool(_similarity(judge, line.answers, [line.accepted])[0] >= judge.threshold)
    if line.accepted:  # two right answers are the same, a right and a wrong one are not
        right = _similarity(judge, line.answers, [line.accepted] * 2) >= judge.threshold
        if right.any():
            return bool(right.all())
    one, two = comparer.values(line.answers)
    return bool(comparer.are_same([one], [two])[0])


def _complement(rate: Corrected) -> Corrected:
    """Return the rate of the other verdict, with the comparer's errors as they are."""
    ends = {
        key: [1.0 - high, 1.0 - low] if key in ("observed", "corrected") else [low, high]
        for key, (low, high) in rate.confidence_interval.items()
    }
    return replace(rate, observed=1.0 - rate.observed, corrected=1.0 - rate.corrected, confidence_interval=ends)
