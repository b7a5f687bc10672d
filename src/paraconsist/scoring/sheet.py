"""Sheets of answers for people to check: random samples from strata of the comparer's verdicts, which they hide."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.logs.reading import LogTexts
from paraconsist.data.predictions import ACCEPTED
from paraconsist.data.rows import Rows
from paraconsist.data.tables import column_of, read_table
from paraconsist.errors import input_error
from paraconsist.scoring.checked import (
    Integers,
    Kind,
    Pairs,
    alike_of,
    answers_of,
    apart_of,
    pairs_of,
    places_of,
    rows_of,
)
from paraconsist.scoring.sources import Source

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
    n_sets = sum(map(len, sources.values()))
    drawn = [
        unit
        for model, sets in sources.items()
        for source in sets
        for each, of_units in ((n, pairs_of if mark == "same" else answers_of), (apart, apart_of))
        for unit in (_drawn(source, model, mark, max(each // n_sets, 1), seed, question, of_units) if each else ())
    ]
    if not drawn:
        raise input_error(
            "sheet", "paths", "hold answers to two wordings of a problem" if mark == "same" else "hold answers"
        )
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
        kept = source.texts.table(source.name)
    elif source.texts is not None:
        kept = read_table(source.texts, function="sheet", parameter="paths")
    join = next((name for name in _IDS if name in kept.column_names and name in table.column_names), None)
    if join is None:
        return [""] * table.num_rows
    names = [name for name in kept.column_names if name not in _IDS and pa.types.is_string(kept[name].type)]
    lines = zip(*(kept[name].to_pylist() for name in names), strict=True)
    shown = {i: "\n".join(filter(None, line)) for i, line in zip(kept[join].to_pylist(), lines, strict=True)}
    return [shown.get(i, "") for i in table[join].to_pylist()]
