"""Sheets that people mark: drawn from answers, read, joined to a run again, and the rates that their marks correct.

A sheet holds pairs of answers to two wordings of a problem, or of different problems (``same`` is filled in), or single
answers (``right``). Its rows are found again by bucket and by the places of their wordings there, and are refused if
they show other answers.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.comparing.comparer import Comparer, get_comparer
from paraconsist.data.foreign import MARKS
from paraconsist.data.logs.fields import as_texts
from paraconsist.data.logs.reading import LogTexts
from paraconsist.data.predictions import ACCEPTED, VALUE
from paraconsist.data.rows import Rows, read_rows
from paraconsist.data.tables import column_of, read_table
from paraconsist.errors import InputError, input_error
from paraconsist.measures import checked as measures
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.measures.checked import AmongValid, Bounds, CheckedUnits, Corrected, LabelPlan
from paraconsist.measures.results import Record, Values
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
from paraconsist.scoring.alignment import ROW_ID
from paraconsist.scoring.outcomes import (
    CHANCE,
    SAME_ANSWER,
    STEADINESS,
    WORDING_CHANGE,
    WORDINGS,
    Outcomes,
    answer_codes,
    is_right,
)
from paraconsist.scoring.roles import apply_policy
from paraconsist.scoring.sources import Source

Kind = Literal["same", "right"]
_N_APART = 5_000  # pairs of different problems whose verdicts are counted
_VAP, _PVAP = "vap_unbiased", "pvap_unbiased"
Integers = NDArray[np.intp]


class Pairs(NamedTuple):
    """Units of one model: pairs of rows, or rows paired with themselves; all arrays have one length."""

    first: Integers
    second: Integers
    verdicts: NDArray[np.bool_]  # the comparer's
    strata: Integers  # parts of each verdict


class Line(NamedTuple):
    """A row of a sheet, with its number for messages."""

    row: int
    pair: str
    set: str
    model: str
    buckets: list[str]  # of each answer
    wordings: list[int]
    answers: list[str]
    accepted: list[str]
    marks: list[bool | None]  # each person's
    weight: float  # 1 over the chance of having been drawn

    @property
    def is_apart(self) -> bool:
        """Whether its answers are to different problems."""
        return len(set(self.buckets)) > 1

    @property
    def label(self) -> float:
        """The mean of the marks; nan without any."""
        given = [mark for mark in self.marks if mark is not None]
        return sum(given) / len(given) if given else math.nan


Sheets = Mapping[Kind, Sequence[Line]]


@dataclass(frozen=True, kw_only=True)
class Checked(Record):
    """Rates of one set, by the names of the uncorrected ones, as people would have them.

    `agreement` is, for each column of the sheet, `n_labels` that two people gave, the `share` of them alike and Cohen's
    `kappa`: no comparer can be known to be better.
    """

    rates: dict[str, Corrected]
    agreement: dict[str, dict[str, float]]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class CheckedDifference(Record):
    """The corrected rate of one model less that of another."""

    first: str
    second: str
    rate: str
    difference: float
    standard_error: float
    confidence_interval: list[float]


# ---- what is checked


def rows_of(source: Source) -> Rows:
    """Return a source's rows, an unparsed answer differing from all; InputError if its answers are labels."""
    if VALUE not in source.predictions.table.column_names:
        remedy = "Say when two answers in free text are the same, such as `same` text."
        raise input_error("score", "checked", "be given with `same`: labels need no checking", remedy=remedy)
    return apply_policy(read_rows(source.predictions, source.columns), "wrong")[0]


def same_of(rows: Rows) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Return the pairs of wordings of each problem, and whether their answers are the same."""
    first, second = _within(rows, WORDINGS)
    codes = answer_codes(rows)
    same = codes[first] == codes[second]
    if rows.same:
        assert rows.values is not None
        ends = (end(rows.values[first], rows.values[second]).tolist() for end in (np.minimum, np.maximum))
        same |= np.array([pair in rows.same for pair in zip(*ends, strict=True)], dtype=bool)
    return first, second, same


def pairs_of(source: Source, rows: Rows) -> Pairs:
    """Return the pairs of wordings of each problem, with whether their answers are the same."""
    first, second, verdicts = same_of(rows)
    return Pairs(first, second, verdicts, _halves(verdicts, _similarities(source, first, second)[1]))


def apart_of(source: Source, rows: Rows) -> Pairs:
    """Return some 5,000 pairs of wordings of different problems, every wording in equally many of them.

    They are random, and the same for every sheet of a run; InputError if a comparer asks a model for every pair.
    """
    members = np.unique(_within(rows, WORDINGS)[:2])
    keys = zip(np.asarray(rows.buckets)[members].tolist(), places_of(np.asarray(rows.buckets))[members], strict=True)
    digests = [hashlib.sha256(f"{bucket}:{place}".encode()).digest() for bucket, place in keys]
    first, second = turned(members[sorted(range(len(members)), key=digests.__getitem__)], groups_of(rows))
    comparer, similarity = _similarities(source, first, second)
    if similarity is not None:
        verdicts = similarity >= comparer.threshold
    elif comparer.is_transitive:
        codes = answer_codes(rows)
        verdicts = codes[first] == codes[second]
    else:
        must, remedy = "be left out with a comparer that asks a model for every pair", "Above chance is not corrected."
        raise input_error("sheet", "apart", must, got=source.predictions.metadata["same"], remedy=remedy)
    return Pairs(first, second, verdicts, _halves(verdicts, similarity))


def turned(members: Integers, groups: NDArray[Any]) -> tuple[Integers, Integers]:
    """Return pairs of each row with the next, the next but one and so on, of two groups, until there are enough."""
    turns = range(1, min(math.ceil(_N_APART / max(len(members), 1)), (len(members) - 1) // 2) + 1)
    first, second = np.tile(members, len(turns)), np.concatenate([members[:0], *(np.roll(members, k) for k in turns)])
    is_apart = groups[first] != groups[second]
    return first[is_apart][:_N_APART], second[is_apart][:_N_APART]


def groups_of(rows: Rows) -> NDArray[Any]:
    """Return the group, else the problem, of each row: what is sampled."""
    return np.asarray(next(of for of in (rows.groups, rows.problems, rows.buckets) if of is not None))


def answers_of(source: Source, rows: Rows) -> Pairs:
    """Return the answers to paraphrases, with whether they are right; InputError without accepted answers."""
    table, comparer = source.predictions.table, get_comparer(source.predictions.metadata["right"])
    if ACCEPTED not in table.column_names:
        raise input_error("score", "label", "name a column of accepted answers", got=source.columns.label)
    members = np.flatnonzero(rows.roles == PARAPHRASE)
    verdicts, similarity = is_right(rows)[members], None
    if _has_degrees(comparer):
        table = table.take(pa.array(members))
        similarity = _similarity(comparer, table["raw_output"].to_pylist(), table[ACCEPTED].to_pylist())
    return Pairs(members, members, verdicts, _halves(verdicts, similarity))


def alike_of(rows: Rows) -> Pairs:
    """Return the pairs of paraphrases of each problem, with whether both answers are right or both wrong."""
    first, second = _within(rows, (PARAPHRASE,))
    n_right = is_right(rows)[[first, second]].sum(axis=0).astype(np.intp)
    return Pairs(first, second, n_right != 1, n_right)


def places_of(buckets: NDArray[Any]) -> Integers:
    """Return the place of each row among those of its bucket, from 0."""
    codes = np.unique(buckets, return_inverse=True)[1]
    order, places = np.argsort(codes, kind="stable"), np.empty(len(codes), dtype=np.intp)
    places[order] = np.arange(len(codes)) - np.searchsorted(codes[order], codes[order])
    return places


def _within(rows: Rows, roles: Sequence[str]) -> tuple[Integers, Integers]:
    """Return all pairs of rows of one bucket that have these roles."""
    members = np.flatnonzero(np.isin(rows.roles, roles))
    _, codes, sizes = np.unique(np.asarray(rows.buckets)[members], return_inverse=True, return_counts=True)
    ordered, starts = members[np.argsort(codes, kind="stable")], np.cumsum(sizes) - sizes
    blocks = [(ordered[starts[sizes == k][:, None] + np.arange(k)], np.triu_indices(k, 1)) for k in np.unique(sizes)]
    none = np.empty(0, dtype=np.intp)
    first, second = (np.concatenate([none, *(block[:, of[i]].ravel() for block, of in blocks)]) for i in range(2))
    return first, second


def per_bucket(rows: Rows, first: Integers) -> Integers:
    """Return the number of units of each unit's bucket, by the units' first rows."""
    _, codes, counts = np.unique(np.asarray(rows.buckets)[first], return_inverse=True, return_counts=True)
    return np.asarray(counts[codes])


def _similarities(source: Source, first: Integers, second: Integers) -> tuple[Comparer, NDArray[np.float64] | None]:
    """Return a source's comparer, and how similar answers are by it, shape (n,), where it has degrees."""
    comparer = get_comparer(source.predictions.metadata["same"])
    if not _has_degrees(comparer):
        return comparer, None
    values = comparer.values(source.predictions.table["raw_output"].to_pylist())
    return comparer, comparer.pairs([values[i] for i in first], [values[i] for i in second])


def _has_degrees(comparer: Comparer) -> bool:
    return comparer.is_cheap and not comparer.is_transitive


def _similarity(comparer: Comparer, answers: Sequence[str | None], accepted: Sequence[Sequence[str]]) -> Any:
    """Return how similar each answer is to the most similar accepted one, shape (n,)."""
    owner, values = [i for i, texts in enumerate(accepted) for _ in texts], comparer.values(answers)
    references, best = comparer.values([text for texts in accepted for text in texts]), np.zeros(len(answers))
    np.maximum.at(best, owner, comparer.pairs([values[i] for i in owner], references, reference=True))
    return best


def _halves(verdicts: NDArray[np.bool_], similarity: NDArray[np.float64] | None) -> Integers:
    """Return which units are in the more similar half of their verdict, as 0 and 1."""
    parts = np.zeros(len(verdicts), dtype=np.intp)
    for verdict in (True, False):
        members = np.flatnonzero(verdicts == verdict)
        if similarity is not None and len(members):
            parts[members] = similarity[members] > np.median(similarity[members])
    return parts


# ---- the sheets


def read_checked(paths: str | Path | Iterable[str | Path], policy: str = "wrong") -> Sheets:
    """Read marked sheets; InputError if one is none, a cell is neither yes, no nor empty, or the policy is another."""
    if policy != "wrong":
        raise input_error("score", "unparsed", "be wrong with `checked`", got=policy)
    paths = [paths] if isinstance(paths, (str, Path)) else paths
    found: dict[Kind, list[Line]] = {"same": [], "right": []}
    for number, path in enumerate(paths):
        table = read_table(path, function="score", parameter="checked")
        cells = {name: [x or "" for x in as_texts(table[name]).to_pylist()] for name in table.column_names}
        kind: Kind = "right" if "answer" in cells else "same"
        ends = ("",) if kind == "right" else ("_1", "_2")
        marks = [name for name in cells if name == kind or name.startswith(f"{kind}_")] or [kind]
        ids = ("pair", "set", "model", "bucket_id")
        needed = [*marks, *ids, *(f"{name}{end}" for name in ("wording", "answer") for end in ends)]
        if missing := [name for name in (*needed, "accepted", "weight") if name not in cells]:
            must, remedy = f"have the columns {', '.join(missing)}", "Give a sheet that `paraconsist sheet` wrote."
            raise input_error("score", "checked", must, got=table.column_names, remedy=remedy)
        for row in range(table.num_rows):
            of_row = {name: column[row] for name, column in cells.items()}
            try:
                wordings, weight = [int(of_row[f"wording{end}"]) for end in ends], float(of_row["weight"])
                texts = [of_row[f"answer{end}"] for end in ends], json.loads(of_row["accepted"])
                given = [MARKS[word] if (word := of_row[name].strip().lower()) else None for name in marks]
            except (ValueError, KeyError):
                must = f"have yes, no or nothing in {', '.join(marks)}, and all else as it was written"
                raise input_error("score", "checked", must, got=[of_row[name] for name in marks], row=row) from None
            pair, of_set, model, bucket = (of_row[name] for name in ids)
            buckets = [bucket, of_row.get("bucket_id_2", bucket)][: len(ends)]
            found[kind].append(Line(row, f"{number}.{pair}", of_set, model, buckets, wordings, *texts, given, weight))
    if not any(mark is not None for lines in found.values() for line in lines for mark in line.marks):
        remedy = "Nobody has filled in the column same or right yet."
        raise input_error("score", "checked", "have yes or no in at least one row", got=0, remedy=remedy)
    return {kind: lines for kind, lines in found.items() if lines}


def model_name(source: Source) -> str:
    """Return what sheets call a source's model: its name, else that of its file."""
    return source.model or ("" if source.path is None else source.path.stem)


# ---- what they correct


def checked_rates(source: Source, sheets: Sheets, confidence_level: float, wording: Outcomes | None) -> Checked:
    """Return the rates of a set corrected by marked sheets; `wording` has those by the comparer.

    Where a sheet was drawn from this model's answers the rates are prediction-powered; where it was drawn from other
    models' answers only, they are corrected by the comparer's errors there. InputError if the sheet shows other answers
    than the run.
    """
    rates: dict[str, Corrected] = {}
    alike: dict[str, dict[str, float]] = {}
    notes: list[str] = []
    rows = rows_of(source)
    for kind, lines in sheets.items():
        if two := [line.marks[:2] for line in lines if len(line.marks) > 1 and None not in line.marks[:2]]:
            share, kappa = measures.agreement(*([bool(pair[i]) for pair in two] for i in range(2)))
            alike[kind] = {"n_labels": len(two), "share": share, "kappa": kappa}
        of_kind, lines = _labelled(source, rows, lines, kind), [line for line in lines if not line.is_apart]
        for key, units in of_kind.items():
            if units.is_labelled.any():
                rates[key] = measures.rate_of_units(units, confidence_level=confidence_level)
            elif lines and key != PARAPHRASTIC.headline and not _ours(source, lines):
                errors, warnings = _errors_elsewhere(source, lines, kind)
                notes += warnings
                rates[key] = measures.rogan_gladen(units, errors, confidence_level=confidence_level)
        if kind == "right" and PARAPHRASTIC.headline in rates:
            answers, pairs = _in_pairs(source, rows, of_kind["accuracy"]), of_kind[PARAPHRASTIC.headline]
            variance = measures.corrected_variance(answers, pairs, confidence_level=confidence_level)
            rates |= dict(zip((_VAP, _PVAP), variance, strict=True))
        if kind == "same" and SAME_ANSWER.key in rates:
            rates[WORDING_CHANGE.key] = measures.complement(rates[SAME_ANSWER.key])
        if kind == "same" and (apart := _apart(source, rows, sheets[kind])) is not None:
            if (same := of_kind[SAME_ANSWER.key]).is_labelled.any():
                chance, above = measures.corrected_above_chance(same, apart, confidence_level=confidence_level)
                rates |= {CHANCE.key: chance, STEADINESS.key: _with_observed(above, wording)}
            else:
                rates[CHANCE.key] = measures.rate_of_units(apart, confidence_level=confidence_level)
    notes += [f"{key} is not corrected: of the comparer, {r.refused}" for key, r in rates.items() if r.refused]
    return Checked(rates=rates, agreement=alike, warnings=tuple(dict.fromkeys(notes)))


def _with_observed(above: Corrected, wording: Outcomes | None) -> Corrected:
    """Return consistency above chance with the comparer's as it is shown elsewhere, over all pairs of answers."""
    if wording is None:
        return above
    ends = {**above.confidence_interval, "observed": [*wording.confidence_interval[STEADINESS.key]]}
    errors = {**above.standard_error, "observed": wording.standard_error[STEADINESS.key]}
    return replace(above, observed=wording.above_chance, standard_error=errors, confidence_interval=ends)


def checked_differences(
    sources: Mapping[str, Source], pairs: Iterable[tuple[str, str]], sheets: Sheets, confidence_level: float
) -> tuple[list[CheckedDifference], list[str]]:
    """Return differences of models' corrected rates on the problems of both, and why some rates have none.

    `sources` are model -> its answers to one set.
    """
    units: dict[str, dict[str, tuple[CheckedUnits, ...]]] = {}
    for (model, source), (kind, lines) in product(sources.items(), sheets.items()):
        rows = rows_of(source)
        of_model = _labelled(source, rows, lines, kind)
        for key, of_rate in of_model.items():
            units.setdefault(key, {})[model] = (of_rate,)
        if (alike := of_model.get(PARAPHRASTIC.headline)) is not None:
            units.setdefault(_VAP, {})[model] = (alike,)
            units.setdefault(_PVAP, {})[model] = (alike, _in_pairs(source, rows, of_model["accuracy"]))
        if kind == "same" and (apart := _apart(source, rows, lines)) is not None:
            units.setdefault(STEADINESS.key, {})[model] = (of_model[SAME_ANSWER.key], apart)
    found: list[CheckedDifference] = []
    notes: list[str] = []
    for (first, second), (key, of_models) in product(pairs, units.items()):
        if not of_models.keys() >= {first, second}:
            continue
        both = [_of_both(*pair) for pair in zip(of_models[first], of_models[second], strict=True)]
        if not all(each.is_labelled.any() for pair in both for each in pair):
            continue
        (one, two), *others = both
        more: Any = {"accuracy" if key == _PVAP else "chance": pair for pair in others}
        try:
            value, error, ends = measures.corrected_difference(one, two, **more, confidence_level=confidence_level)
        except InputError as problem:
            notes.append(f"{key} of {first} and {second} is not corrected: of the comparer, {problem.got}")
        else:
            if key == _VAP:
                value, error, ends = -value / 2.0, error / 2.0, [-end / 2.0 for end in ends[::-1]]
            found.append(CheckedDifference(first, second, key, value, error, ends))
    return found, notes


def _of_both(one: CheckedUnits, two: CheckedUnits) -> tuple[CheckedUnits, CheckedUnits]:
    """Return the units whose problems, one or two, both have."""

    def shared(units: CheckedUnits, other: CheckedUnits) -> CheckedUnits:
        is_shared = np.isin(units.problems, other.problems).reshape(len(units.problems), -1)
        return units.where(np.asarray(is_shared.all(axis=1)))

    return shared(one, two), shared(two, one)


def label_plans(source: Source, sheets: Sheets, level: float) -> tuple[dict[str, LabelPlan], list[str]]:
    """Return what more labels and problems would do to each rate that sheets of a set correct, and why some have none.

    InputError if no rate is corrected.
    """
    rows, plans, notes = rows_of(source), {}, []
    for kind, lines in sheets.items():
        for key, units in _labelled(source, rows, lines, kind).items():
            if not units.is_labelled.any():
                notes.append(f"{key}: the sheet has no label of these answers")
                continue
            try:
                plans[key] = measures.plan_labels(units, confidence_level=level)
            except InputError as problem:
                notes.append(f"{key} is not corrected: of the comparer, {problem.got}")
    if not plans:
        raise input_error("plan", "checked", f"correct a rate of {source.name or 'the pilot'}", got="; ".join(notes))
    return plans, notes


def _ours(source: Source, lines: Sequence[Line]) -> list[Line]:
    """Return the lines of a sheet that are about a source's answers."""
    names = model_name(source), source.columns.prediction  # of a table with a column for each model
    return [line for line in lines if line.model in names and (line.set == source.name or not source.has_name)]


def _labelled(source: Source, rows: Rows, lines: Sequence[Line], kind: Kind) -> dict[str, CheckedUnits]:
    """Return the units of the rates of problems that a kind of sheet corrects, with the labels of its lines."""
    single: dict[tuple[int, int], list[tuple[float, float]]] = {}
    of_pair: dict[str, list[tuple[int, float, float]]] = {}
    for line, members in _found_again(source, rows, lines):
        single.setdefault((members[0], members[-1]), []).append((line.label, line.weight))
        of_pair.setdefault(line.pair, []).append((members[0], line.label, line.weight))
    if kind == "same":
        return {SAME_ANSWER.key: _as_units(rows, pairs_of(source, rows), single)}
    both = {
        (min(i, j), max(i, j)): [(p * q + (1.0 - p) * (1.0 - q), weight)]  # both right or both wrong
        for (i, p, weight), (j, q, _) in (pair for pair in of_pair.values() if len(pair) == 2)
    }
    own, alike = answers_of(source, rows), alike_of(rows)
    units = {"accuracy": _as_units(rows, own, single, np.maximum(per_bucket(rows, own.first) - 1, 1))}
    return units | ({PARAPHRASTIC.headline: _as_units(rows, alike, both)} if len(alike.first) else {})


def _in_pairs(source: Source, rows: Rows, accuracy: CheckedUnits) -> CheckedUnits:
    """Return the answers of problems with two paraphrases or more."""
    return accuracy.where(per_bucket(rows, answers_of(source, rows).first) > 1)


def _apart(source: Source, rows: Rows, lines: Sequence[Line]) -> CheckedUnits | None:
    """Return pairs of answers to different problems with the labels of a sheet's lines; None without any."""
    marked: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for line, members in _found_again(source, rows, [line for line in lines if line.is_apart]):
        marked.setdefault((members[0], members[1]), []).append((line.label, line.weight))
    if not marked:
        return None
    units = apart_of(source, rows)
    if unknown := set(marked) - set(zip(units.first.tolist(), units.second.tolist(), strict=True)):
        must, remedy = "show pairs of problems that this run is asked about", "Draw the sheet from this run."
        raise input_error("score", "checked", must, got=f"{len(unknown)} other pairs", remedy=remedy)
    found, sides = _as_units(rows, units, marked), (units.first, units.second)
    groups, problems = (np.stack([of[i] for i in sides], axis=1) for of in (groups_of(rows), np.asarray(rows.buckets)))
    return replace(found, weights=np.ones(len(groups)), groups=groups, problems=problems)


def _found_again(source: Source, rows: Rows, lines: Sequence[Line]) -> Iterator[tuple[Line, list[int]]]:
    """Yield the marked lines about a source's buckets, with their rows; InputError if they show other answers."""
    buckets, answers = np.asarray(rows.buckets), source.predictions.table["raw_output"].to_pylist()
    named = zip(map(str, buckets.tolist()), places_of(buckets).tolist(), strict=True)
    row_of = {key: i for i, key in enumerate(named)}
    for line in _ours(source, lines):
        if not source.excluded.isdisjoint(line.buckets):
            continue
        members = [row_of.get(key, -1) for key in zip(line.buckets, line.wordings, strict=True)]
        shown = [" ".join((answers[i] or "").split()) if i >= 0 else None for i in members]
        if shown != [" ".join(text.split()) for text in line.answers]:
            must, remedy = "show the answers of this run", "Score the run that the sheet was drawn from."
            raise input_error("score", "checked", must, got=line.answers[0][:80], row=line.row, remedy=remedy)
        if not math.isnan(line.label):
            yield line, members


def _as_units(rows: Rows, units: Pairs, marked: Mapping[Any, Any], partners: Integers | None = None) -> CheckedUnits:
    """Return units with labels; `partners` of an answer are those that it may have been drawn with."""
    labels, sampling = np.full(len(units.first), np.nan), np.ones(len(units.first))
    for i, key in enumerate(zip(units.first.tolist(), units.second.tolist(), strict=True)):
        if given := marked.get(key):
            labels[i], sampling[i] = sum(label for label, _ in given) / len(given), sum(weight for _, weight in given)
    buckets = np.asarray(rows.buckets)
    groups = buckets if rows.groups is None else rows.groups
    sampling = sampling if partners is None else sampling / partners
    more = {"weights": 1.0 / per_bucket(rows, units.first), "sampling": sampling, "problems": buckets[units.first]}
    return CheckedUnits.of(units.verdicts, labels, strata=units.strata, groups=groups[units.first], **more)


def _errors_elsewhere(source: Source, lines: Sequence[Line], kind: Kind) -> tuple[CheckedUnits, list[str]]:
    """Return other models' answers as the sheet shows them, with the comparer's verdicts, and cautions."""

    def units(chosen: Sequence[Line]) -> CheckedUnits:
        verdicts, groups = [_verdict(source, line, kind) for line in chosen], [line.buckets[0] for line in chosen]
        weights = [line.weight for line in chosen]
        return CheckedUnits.of(verdicts, [line.label for line in chosen], weights=weights, groups=groups)

    names = list(dict.fromkeys(line.model for line in lines))
    of_models = [units([line for line in lines if line.model == name]) for name in names]
    errors = [measures.rate_of_units(each) for each in of_models if each.is_labelled.any()]
    instead = f"rates are corrected by the comparer's errors on {', '.join(names)}"
    notes = [f"the sheet has no answers of this model to this set: {instead}"]
    if any(measures.differs(one, other) for one, other in combinations(errors, 2)):
        notes.append("the comparer's errors differ between the sheet's models: check answers of this model")
    return units(lines), notes


def _verdict(source: Source, line: Line, kind: Kind) -> bool:
    """Return the comparer's verdict on a line of a sheet: two right answers are the same, one right answer is not."""
    judge, comparer = (get_comparer(source.predictions.metadata[name]) for name in ("right", "same"))
    right = _similarity(judge, line.answers, [line.accepted] * len(line.answers)) >= judge.threshold
    if kind == "right" or right.any():
        return bool(right.all())
    one, two = comparer.values(line.answers)
    return bool(comparer.are_same([one], [two])[0])


# ---- sheets for people to fill in: random samples from strata of the comparer's verdicts, which they hide

_SHOWN = ("question", "answer")
_IDS = ("example_id", "input_id")  # by which rows and their texts are joined
_QUESTIONS = ("question", "input", "prompt", "query", "problem", "text")  # columns of texts that people see


def draw_sheet(
    sources: Mapping[str, Sequence[Source]],
    *,
    mark: Kind = "same",
    n: int = 200,
    apart: int = 0,
    people: int = 1,
    seed: int = 0,
    question: str | None = None,
) -> pa.Table:
    """Return a sheet of at most n rows, in random order, with an empty column to fill in for each of the `people`.

    `sources` are model -> the sets that it answered, from each of which equally many rows are drawn; `mark` says if
    pairs of answers to two wordings are checked or single answers; `apart` more rows are pairs of answers to different
    problems, by which chance is corrected; `question` is the column of the questions' texts, by default those that the
    run kept, or a column such as ``question``. InputError if a set's answers are labels, or have no accepted ones for
    ``right``, or nothing can be drawn.
    """
    if apart and mark != "same":
        raise input_error("sheet", "apart", "be given for pairs of answers only: `mark` same", got=mark)
    if not n and not apart:
        raise input_error("sheet", "n", "be above 0 without `apart`", got=n)
    n_sets = sum(map(len, sources.values()))
    drawn: list[tuple[str, Any]] = []
    for model, sets in sources.items():
        for source in sets:
            for each, of_units in ((n, pairs_of if mark == "same" else answers_of), (apart, apart_of)):
                drawn += _drawn(source, model, mark, max(each // n_sets, 1), seed, question, of_units) if each else ()
    if not drawn:
        must = "hold answers to two wordings of a problem" if mark == "same" else "hold answers"
        raise input_error("sheet", "paths", must)
    fill = dict.fromkeys([mark] if people == 1 else [f"{mark}_{i + 1}" for i in range(people)], "")
    lines = [
        {**texts, **fill, "pair": number, **ids}
        for number, (_, rows) in enumerate(sorted(drawn, key=lambda unit: unit[0]), 1)
        for texts, ids in rows
    ]
    return pa.Table.from_pylist(lines)


def _drawn(
    source: Source,
    model: str,
    mark: Kind,
    n: int,
    seed: int,
    question: str | None,
    of_units: Callable[[Source, Rows], Pairs],
) -> list[tuple[str, Any]]:
    """Return drawn units of one set: what they are sorted by, and the cells of their rows (texts, ids)."""
    table, rows = source.predictions.table, rows_of(source)
    buckets = np.asarray(rows.buckets)
    units = of_units(source, rows)
    strata, n_units = 2 * units.verdicts + units.strata, n
    if mark == "right" and len((alike := alike_of(rows)).first):  # in pairs, for the consistency of right answers
        is_alone = ~np.isin(buckets[units.first], buckets[alike.first])
        strata = np.concatenate([alike.strata, 3 + units.verdicts[is_alone]])
        units, n_units = Pairs(*(np.append(a, b[is_alone]) for a, b in zip(alike, units, strict=True))), max(n // 2, 1)
    if not len(units.first):
        return []
    places, asked, answers = places_of(buckets), _questions(source, question), table["raw_output"].to_pylist()
    accepted = table[ACCEPTED].to_pylist() if ACCEPTED in table.column_names else [[]] * len(answers)
    drawn = []
    for unit, weight in sample_units(strata, _order(buckets[units.first], seed), n_units):
        members = list(dict.fromkeys((int(units.first[unit]), int(units.second[unit]))))
        bucket, right = str(buckets[members[0]]), [json.dumps(accepted[i], ensure_ascii=False) for i in members]
        ids: dict[str, object] = {"set": source.name, "model": model, "bucket_id": bucket}
        texts, wordings = [(asked[i], answers[i] or "") for i in members], [int(places[i]) for i in members]
        if mark == "right":
            shown = [{"question": q, "accepted": gold, "answer": a} for (q, a), gold in zip(texts, right, strict=True)]
            cells = [(t, {**ids, "wording": w, "weight": weight}) for t, w in zip(shown, wordings, strict=True)]
        else:
            both = {f"{name}_{k}": cell for k, t in enumerate(texts, 1) for name, cell in zip(_SHOWN, t, strict=True)}
            ids |= {"bucket_id_2": str(buckets[members[1]]), **{f"wording_{k}": w for k, w in enumerate(wordings, 1)}}
            cells = [(both, {**ids, "weight": weight, "accepted": right[0]})]
        drawn.append((hashlib.sha256(f"{seed}:{model}:{bucket}:{wordings}".encode()).hexdigest(), cells))
    return drawn


def _order(buckets: NDArray[Any], seed: int) -> NDArray[np.float64]:
    """Return a random number in [0, 1) for each unit, the same for all models; those of a bucket lie evenly apart."""
    ids, codes, counts = np.unique(buckets, return_inverse=True, return_counts=True)
    digests = (hashlib.sha256(f"{seed}:{bucket}".encode()).digest() for bucket in ids.tolist())
    starts = np.array([int.from_bytes(digest[:6], "big") / 2**48 for digest in digests])
    return np.asarray((starts[codes] + places_of(buckets) / counts[codes]) % 1.0)


def sample_units(strata: Integers, order: NDArray[np.float64], n: int) -> list[tuple[int, float]]:
    """Draw n units, half of them in proportion to the strata's sizes and half equally; with 1 over their chances."""
    names, sizes = np.unique(strata, return_counts=True)
    wanted, shares = np.zeros(len(names), dtype=np.intp), 0.5 * sizes / sizes.sum() + 0.5 / len(names)
    while (left := min(n, len(strata)) - int(wanted.sum())) > 0:
        room = np.where(wanted < sizes, shares, 0.0)
        more = np.floor(left * room / room.sum()).astype(np.intp)
        if not more.any():
            more[np.argmax(room)] = 1
        wanted = np.minimum(wanted + more, sizes)
    drawn = []
    for name, size, k in zip(names.tolist(), sizes.tolist(), wanted.tolist(), strict=True):
        members = np.flatnonzero(strata == name)
        drawn += [(int(unit), size / k) for unit in members[np.argsort(order[members], kind="stable")[:k]]]
    return drawn


def _questions(source: Source, column: str | None) -> list[str]:
    """Return the text that each row asked, empty where nobody kept it."""
    table = source.predictions.table
    if own := column or next((name for name in _QUESTIONS if name in table.column_names), None):
        texts = column_of(table, own, parameter="question", function="sheet").cast(pa.string()).to_pylist()
        return [text or "" for text in texts]
    kept = pa.table({})
    if isinstance(source.texts, LogTexts):
        kept = source.texts.table()
    elif source.texts is not None:
        kept = read_table(source.texts, function="sheet", parameter="paths")
    join = next((name for name in _IDS if name in kept.column_names and name in table.column_names), None)
    if join is None:
        return [""] * table.num_rows
    names = [name for name in kept.column_names if name not in _IDS and pa.types.is_string(kept[name].type)]
    lines = zip(*(kept[name].to_pylist() for name in names), strict=True)
    shown = {i: "\n".join(filter(None, line)) for i, line in zip(kept[join].to_pylist(), lines, strict=True)}
    return [shown.get(i, "") for i in table[join].to_pylist()]


# ---- the share of paraphrases that people judged invalid, and rates among the valid ones

_BUCKETS = ("bucket_id", "query_id", "original")  # columns by which rows belong together
_REJECTED = re.compile(r".*\.rejected_\d+", re.DOTALL)  # ids of candidates that a filter left out of the set
#: Of the cells `checks`: that a check of the meaning gave a score, and that it left the candidate out.
_MET, _LEFT_OUT = re.compile(r".*; \w+ \d\.\d+", re.DOTALL), "left out: another meaning"
#: Columns that shares are broken down by, of the sheet or of the run, and those of two texts that an edit is between.
_KINDS = ("source", "generator", "method", "rule", "category", "kind", "property")
_TEXTS = ("original", "paraphrase")


@dataclass(frozen=True, kw_only=True)
class Validity(Record):
    """People's judgements of a set's wordings, and the rates that they bound."""

    n_labels: int  # judged wordings
    n_buckets: int  # their problems
    invalid: float  # the share that is no paraphrase, in [0, 1], with its interval, by problem
    confidence_interval: list[float]
    #: Column, or ``edit`` -> value -> ``invalid``, ``confidence_interval`` and ``n_labels``.
    by: dict[str, dict[str, Values]]
    bounds: dict[str, Bounds]  # rate -> what it may be among valid paraphrases
    #: Rate -> what it is among them, where the sheet has the ids of wordings of this run (``example_id``).
    among_valid: dict[str, AmongValid]
    #: How often the check of the meaning kept valid wordings (sensitivity), and others (false matches).
    check: Corrected | None = None


def read_validity(
    path: str | Path, rates: Mapping[str, Values], confidence_level: float, rows: Rows | None = None
) -> Validity:
    """Read a sheet with a column ``valid`` (or several, ``valid_1`` ...), and bound the `rates` that are known.

    `rates` is name -> a result with the rate and its interval; `rows` are those that they are of, with their ids
    (`paraconsist.scoring.alignment.ROW_ID`). Rows without a mark, and candidates that are not in the set, are left out.
    InputError if there is no such column, a cell is neither yes, no nor empty, or nothing is judged.
    """
    table = read_table(path, function="score", parameter="validity")
    columns = [name for name in table.column_names if name == "valid" or name.startswith("valid_")]
    unit = next((name for name in _BUCKETS if name in table.column_names), None)
    if not columns or unit is None:
        must = f"have a column valid, and one of {', '.join(_BUCKETS)}"
        raise input_error("score", "validity", must, got=table.column_names)
    cells = {name: [x or "" for x in as_texts(table[name]).to_pylist()] for name in table.column_names}
    labels = np.full(table.num_rows, np.nan)
    for row in range(table.num_rows):
        words = [word for name in columns if (word := cells[name][row].strip().lower())]
        if not MARKS.keys() >= {*words}:
            raise input_error("score", "validity", "have yes, no or nothing in valid", got=words, row=row)
        if words:
            labels[row] = 1.0 - sum(MARKS[word] for word in words) / len(words)
    of_run = set() if rows is None else set(map(str, rows.strata.get(ROW_ID, ())))
    if of_run and (own := cells.get("example_id")) and of_run.isdisjoint(own):  # a run's are joined to its buckets' ids
        cells["example_id"] = [f"{bucket}/{row}" for bucket, row in zip(cells[unit], own, strict=True)]
    in_set = [_REJECTED.fullmatch(name) is None for name in cells.get("example_id", [""] * len(labels))]
    judged = np.flatnonzero(~np.isnan(labels) & np.array(in_set))
    if not len(judged):
        raise input_error("score", "validity", "have at least one judgement", got=str(path))
    groups = np.array(cells[unit])
    share, ends = measures.label_share(labels[judged], groups[judged], confidence_level)
    by: dict[str, dict[str, Values]] = {}
    for name, kind, chosen in _kinds({key: np.array(column)[judged] for key, column in cells.items()}, unit, rows):
        members = judged[chosen]
        value, interval = measures.label_share(labels[members], groups[members], confidence_level)
        of_kind = {"invalid": value, "confidence_interval": interval, "n_labels": len(members)}
        by.setdefault(name, {})[kind] = of_kind
    keys = (SAME_ANSWER.key, WORDING_CHANGE.key, PARAPHRASTIC.headline)
    found = {key: result for result in rates.values() for key in keys if result.get(key) == result.get(key, 0.0)}
    bounds = {
        key: measures.validity_bounds(result[key], result["confidence_interval"][key], share, ends)
        for key, result in found.items()
        if key in result
    }
    among: dict[str, AmongValid] = {}
    if rows is not None and "example_id" in cells:
        among = _among_valid({cells["example_id"][row]: float(labels[row]) for row in judged}, rows, confidence_level)
    sizes: Any = {"n_labels": len(judged), "n_buckets": len(np.unique(groups[judged])), "invalid": share}
    sizes["check"] = _error_of_check(cells.get("checks", ()), 1.0 - labels, groups, confidence_level)
    return Validity(**sizes, confidence_interval=ends, by=by, bounds=bounds, among_valid=among)


def _error_of_check(
    checks: Sequence[str], valid: NDArray[np.float64], groups: NDArray[Any], confidence_level: float
) -> Corrected | None:
    """Return how often a check keeps valid wordings, and others; None if too few that it kept, or left out, are judged.

    Those that it never met, because of their texts alone, do not count.
    """
    met = np.array([row for row, text in enumerate(checks) if _MET.fullmatch(text)], dtype=np.intp)
    is_kept = np.array([not checks[row].startswith(_LEFT_OUT) for row in met], dtype=np.bool_)
    units = CheckedUnits.of(is_kept, valid[met], groups=groups[met])
    for kind in (is_kept, ~is_kept):
        if not len(met) or (units.is_labelled & kind).sum() < min(measures.LEAST_LABELS, kind.sum()):
            return None
    return measures.rate_of_units(units, confidence_level=confidence_level)


def _kinds(
    cells: Mapping[str, NDArray[Any]], unit: str, rows: Rows | None
) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """Yield columns of judged wordings, or of these in a run, with each value and its rows; then the kinds of edit."""
    known = {} if rows is None else rows.strata
    for name in _KINDS:
        column = cells.get(name)
        if column is None and name in known and ROW_ID in known and "example_id" in cells:
            of_run = dict(zip(map(str, known[ROW_ID].tolist()), map(str, known[name].tolist()), strict=True))
            column = np.array([of_run.get(row, "") for row in cells["example_id"]])
        for kind in () if column is None else np.unique(column).tolist():
            yield name, kind, column == kind
    if {*_TEXTS} <= cells.keys():
        from paraconsist.measures.edit_effects import edit_kinds  # with its words, which few scores need

        originals, paraphrases, buckets = (cells[name].tolist() for name in (*_TEXTS, unit))
        edits = edit_kinds(originals, paraphrases, buckets)
        yield from (("edit", kind, chosen) for kind, chosen in edits.items() if chosen.any())


def _among_valid(marks: Mapping[str, float], rows: Rows, confidence_level: float) -> dict[str, AmongValid]:
    """Return the rates among pairs of valid wordings of a run, some of which have a mark (1: no paraphrase) by id."""
    if ROW_ID not in rows.strata:
        return {}
    invalid = np.array([marks.get(str(name), np.nan) for name in rows.strata[ROW_ID].tolist()])
    if np.isnan(invalid).all():
        return {}
    invalid[rows.roles == ORIGINAL] = 0.0
    kinds = {SAME_ANSWER.key: same_of(rows)}
    if rows.has_gold.all():
        kinds[PARAPHRASTIC.headline] = alike_of(rows)[:3]
    groups, found = np.asarray(rows.buckets if rows.groups is None else rows.groups), {}
    for key, (first, second, hits) in kinds.items():
        marks_of, weights = 1.0 - (1.0 - invalid[first]) * (1.0 - invalid[second]), 1.0 / per_bucket(rows, first)
        of = measures.rate_among_valid(hits, marks_of, weights, groups[first], confidence_level=confidence_level)
        found[key] = of
        if key == SAME_ANSWER.key:
            turned = [1.0 - end for end in of.confidence_interval[::-1]]
            found[WORDING_CHANGE.key] = replace(of, value=1.0 - of.value, confidence_interval=turned)
    return found
