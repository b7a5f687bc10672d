"""Sheets for paraphrases: to judge generated ones (valid or not, or scores), or to write them by hand.

The sheet to judge has empty columns for each paraphrase; the sheet to write has empty places for each original, and is
read back as a bucket set. Agreement of annotators is Cohen's kappa of two, Fleiss' kappa of several.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraconsist.data.tables import read_table
from paraconsist.data.tasks import Task, get_task
from paraconsist.errors import check_whole, input_error
from paraconsist.files import Json
from paraconsist.measures.buckets import count_buckets
from paraconsist.measures.chance import agreement_chance, fleiss_kappa
from paraconsist.measures.checked import agreement
from paraconsist.models.training.data import CONTEXT_COLUMNS
from paraconsist.transforms.sheets import Sheet, even_space, read_sheet, render, write_sheet

#: Verma et al. 2023, appendix B: similarity above 75 of 100, and grammatical.
LEAST_SIMILARITY = 75.0

_COLUMN = re.compile(r"(valid|similarity|grammatical)(?:_(.+))?")
_NEW = "new_"
_REJECTED = re.compile(r".*\.rejected_\d+", re.DOTALL)


def is_rejected(name: str) -> bool:
    """Say whether a sheet's row is a candidate that did not pass, which is in no set."""
    return _REJECTED.fullmatch(name) is not None


def write_judgement_sheet(
    path: Path, rows: Sequence[Mapping[str, str]], *, annotators: int = 1, scores: bool = False
) -> None:
    """Write paraphrases, at least one, with empty columns to fill in, numbered for several annotators.

    The column is ``valid``, or with `scores` ``similarity`` (0 to 100) and ``grammatical``.
    """
    check_whole("paraphrase", "annotators", annotators, at_most=1000)
    kinds = ("similarity", "grammatical") if scores else ("valid",)
    columns = [kind if annotators == 1 else f"{kind}_{i + 1}" for i in range(annotators) for kind in kinds]
    write_sheet(path, (*rows[0], *columns), ((*row.values(), *[""] * len(columns)) for row in rows))


@dataclass(frozen=True)
class Judgements:
    """The judgements of all annotators."""

    #: Row's id -> the majority's judgement (a tie is no); None where nobody judged it.
    valid: Mapping[str, bool | None]
    similarity: Mapping[str, float]  # row's id -> mean similarity, where there are scores
    texts: Mapping[str, tuple[str, str]]  # original and paraphrase in the sheet, with single spaces
    annotators: tuple[str, ...]
    #: ``fleiss_kappa`` over the `n_common` rows that all judged, and ``cohen_kappa`` of every pair (``"1, 2"``).
    agreement: Json


def read_judgements(
    paths: Sequence[str | os.PathLike[str]], *, least_similarity: float = LEAST_SIMILARITY
) -> Judgements:
    """Read one sheet, or the copies that several annotators filled in.

    With scores a row is valid if it is more similar than `least_similarity`, and grammatical.
    """
    answers: dict[str, dict[str, bool]] = {}
    scores: dict[str, list[float]] = {}
    texts: dict[str, tuple[str, str]] = {}
    annotators: dict[str, None] = {}
    for number, path in enumerate(paths, start=1):
        sheet = read_sheet(path, ("example_id", "original", "paraphrase"), function="paraphrase")
        sheet.check_unique("example_id")
        columns = _columns_of_annotators(sheet)
        if len(paths) > 1:
            columns = {f"{number}.{key}" if key else str(number): kinds for key, kinds in columns.items()}
        annotators.update(dict.fromkeys(columns))
        for place, row in sheet:
            name, pair = row["example_id"], (even_space(row["original"]), even_space(row["paraphrase"]))
            if texts.setdefault(name, pair) != pair:
                raise input_error("paraphrase", "checked", "show the same texts in all sheets", got=pair[1], row=place)
            answers.setdefault(name, {})
            for annotator, kinds in columns.items():
                answer = _answer(sheet, place, row, kinds, least_similarity, scores.setdefault(name, []))
                if answer is not None:
                    answers[name][annotator] = answer
    majority = {name: (2 * sum(a.values()) > len(a) if a else None) for name, a in answers.items()}
    mean = {name: sum(values) / len(values) for name, values in scores.items() if values}
    return Judgements(majority, mean, texts, tuple(annotators), _agreement(answers, list(annotators)))


def _columns_of_annotators(sheet: Sheet) -> dict[str, dict[str, str]]:
    """Return annotator -> kind of judgement -> its column."""
    columns: dict[str, dict[str, str]] = {}
    for name in sheet.columns:
        match = _COLUMN.fullmatch(name)
        if match is not None:
            columns.setdefault(match[2] or "", {})[match[1]] = name
    if not columns or any("valid" not in k and set(k) != {"similarity", "grammatical"} for k in columns.values()):
        must = "have the column valid, or similarity and grammatical"
        raise input_error("paraphrase", "checked", must, got=sheet.columns)
    return columns


def _answer(
    sheet: Sheet, place: str, row: Mapping[str, str], kinds: Mapping[str, str], least: float, scores: list[float]
) -> bool | None:
    """Return whether one annotator finds a row valid (None: not said); a score is added to `scores`."""
    if "valid" in kinds:
        return sheet.yes_or_no(place, row, kinds["valid"])
    grammatical = sheet.yes_or_no(place, row, kinds["grammatical"])
    cell = row[kinds["similarity"]].strip()
    if not cell or grammatical is None:
        return None
    try:
        score = float(cell.replace(",", "."))
    except ValueError:
        score = float("nan")
    if not 0 <= score <= 100:
        raise input_error("paraphrase", kinds["similarity"], "be a number from 0 to 100, or empty", got=cell, row=place)
    scores.append(score)
    return grammatical and score > least


def _agreement(answers: Mapping[str, Mapping[str, bool]], annotators: Sequence[str]) -> Json:
    if len(annotators) < 2:
        return {}
    common = [[row[who] for who in annotators] for row in answers.values() if len(row) == len(annotators)]
    pairs = {}
    for one, other in itertools.combinations(annotators, 2):
        both = [(row[one], row[other]) for row in answers.values() if one in row and other in row]
        pairs[f"{one}, {other}"] = agreement(*zip(*both, strict=True))[1] if both else math.nan
    rows, labels = np.repeat(np.arange(len(common)), len(annotators)), np.unique(common, return_inverse=True)[1].ravel()
    no_gold = np.zeros(len(common), dtype=np.intp)
    counts, pool, _ = count_buckets(rows, len(common), labels, no_gold, int(labels.max(initial=0)) + 1)
    kappa = fleiss_kappa(agreement_chance(counts, pool, pooled=True).corrected, pool.size)
    return {"fleiss_kappa": kappa, "cohen_kappa": pairs, "n_common": len(common)}


def rewritten_columns(task: Task, columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the columns that people paraphrase: `columns`, by default those outside the context."""
    if columns is None:
        context = CONTEXT_COLUMNS.get(task.name, ())
        return tuple(column for column in task.columns if column not in context)
    unknown = [column for column in columns if column not in task.columns]
    if unknown or not columns:
        raise input_error("select", "rewrite", f"name columns of {task.name} ({', '.join(task.columns)})", got=unknown)
    return tuple(columns)


def write_writing_sheet(
    path: Path, originals: Sequence[Mapping[str, str]], *, task: Task, rewrite: Sequence[str], n: int
) -> int:
    """Write `n` empty places for each original, and return the number of places.

    The columns are ``bucket_id``, ``writer`` (filled in where several people write), ``context``, ``label``, and for
    each column to rewrite the original text and ``new_<column>``.
    """
    context = [column for column in task.columns if column not in rewrite]
    new = [f"{_NEW}{column}" for column in rewrite]
    lines: list[tuple[str, ...]] = []
    for row in originals:
        fixed = (row["bucket_id"], "", render(context, [[row[column] for column in context]]), row["label"])
        lines += [(*fixed, *(row[column] for column in rewrite), *[""] * len(new))] * n
    write_sheet(path, ("bucket_id", "writer", "context", "label", *rewrite, *new), lines)
    return n * len(originals)


@dataclass(frozen=True)
class Written:
    """A filled-in sheet of paraphrases."""

    rows: list[dict[str, Any]]  # originals, and after each its paraphrases, in the long format
    n_paraphrases: int
    n_empty: int  # places that nobody filled in
    unwritten: list[str]  # buckets without a paraphrase; their originals are left out


def read_written(sheet: Path, originals: Path) -> Written:
    """Read a filled-in sheet together with the originals that it was made for.

    InputError for a place that is filled in in part, or repeats a text of its bucket (case and white space apart).
    """
    table = read_table(originals, function="select", parameter="originals")
    known = {row["bucket_id"]: row for row in table.to_pylist()}
    if "task" not in table.column_names:
        raise input_error("select", "originals", "be the file that `select` wrote", got=str(originals))
    task = get_task(table["task"][0].as_py())
    lines = read_sheet(sheet, ("bucket_id",), function="select", parameter="written")
    rewrite = [name.removeprefix(_NEW) for name in lines.columns if name.startswith(_NEW)]
    if not rewrite or not set(rewrite) <= {*task.columns} & {*lines.columns}:
        must = f"have a column of {', '.join(task.columns)} and {_NEW}<column>"
        raise input_error("select", "written", must, got=lines.columns)
    paraphrases: dict[str, list[dict[str, Any]]] = {bucket: [] for bucket in known}
    seen = {bucket: {_plain(row[column] for column in rewrite)} for bucket, row in known.items()}
    n_empty = 0
    for place, line in lines:
        bucket = line["bucket_id"]
        if bucket not in known:
            raise input_error("select", "bucket_id", f"be a bucket of {originals.name}", got=bucket, row=place)
        original = known[bucket]
        for column in rewrite:
            if even_space(line[column]) != even_space(original[column]):
                must, remedy = "be the original text, unchanged", f"Write the paraphrase into {_NEW}{column}."
                raise input_error("select", column, must, got=line[column], row=place, remedy=remedy)
        new = {column: even_space(line[f"{_NEW}{column}"]) for column in rewrite}
        if not any(new.values()):
            n_empty += 1
            continue
        if empty := [column for column, text in new.items() if not text]:
            raise input_error("select", f"{_NEW}{empty[0]}", "be filled in too", got="", row=place)
        if (plain := _plain(new.values())) in seen[bucket]:
            column, text = next(iter(new.items()))
            must = "be a new text of its bucket"
            remedy = "It equals the original or another paraphrase; case and white space do not count."
            raise input_error("select", f"{_NEW}{column}", must, got=text, row=place, remedy=remedy)
        seen[bucket].add(plain)
        name = f"{bucket}.paraphrase-{len(paraphrases[bucket])}"
        row = {**original, "writer": line.get("writer", "").strip(), **new, "example_id": name, "role": "paraphrase"}
        paraphrases[bucket].append(row)
    unwritten = [bucket for bucket, rows in paraphrases.items() if not rows]
    if len(unwritten) == len(known):
        remedy = f"Fill in {_NEW}{rewrite[0]}."
        raise input_error("select", "written", "hold at least one paraphrase", got=str(sheet), remedy=remedy)
    rows = [row for bucket, new in paraphrases.items() if new for row in ({**known[bucket], "writer": ""}, *new)]
    return Written(rows, sum(map(len, paraphrases.values())), n_empty, unwritten)


def _plain(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(even_space(text).casefold() for text in texts)
