"""The sheet on which people judge paraphrases, and what they said: valid or not, or scores, by several annotators.

The sheet for writing paraphrases by hand: empty places beside each original, read back as a bucket set.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.data.tables import read_table
from paraconsist.data.tasks import Task, get_task
from paraconsist.errors import InputError, input_error
from paraconsist.models.training.contexts import CONTEXT_COLUMNS
from paraconsist.transforms.agreement import cohen_kappa, fleiss_kappa
from paraconsist.transforms.sheets import even_space, render

#: Verma et al. 2023, appendix B: similarity above 75 of 100, and grammatical.
LEAST_SIMILARITY = 75.0

_YES = frozenset({"yes", "y", "true", "t", "1", "1.0", "x", "valid", "ok"})
_NO = frozenset({"no", "n", "false", "f", "0", "0.0", "invalid"})
_FIXED = ("example_id", "context", "original", "paraphrase", "label")
_COLUMN = re.compile(r"(valid|similarity|grammatical)(?:_(.+))?")


def write_sheet(path: Path, rows: Sequence[Mapping[str, str]], *, annotators: int = 1, scores: bool = False) -> None:
    """Write paraphrases as a CSV with empty columns to fill in; in UTF-8 with a byte-order mark, for spreadsheets.

    Parameters
    ----------
    path : Path
    rows : sequence of mapping
        ``example_id, context, original, paraphrase, label``.
    annotators : int
        How many people fill it in: ``valid``, or ``valid_1``, ``valid_2`` and so on. Each may also get a copy.
    scores : bool
        ``similarity`` (0 to 100) and ``grammatical`` in place of ``valid``.
    """
    if annotators < 1:
        raise input_error("paraphrase", "annotators", "be at least 1", got=annotators)
    asked = ("similarity", "grammatical") if scores else ("valid",)
    columns = [name if annotators == 1 else f"{name}_{i + 1}" for i in range(annotators) for name in asked]
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*_FIXED, *columns])
        for row in rows:
            writer.writerow([*(shown(row[name]) for name in _FIXED), *[""] * len(columns)])


@dataclass(frozen=True)
class Judgements:
    """What people said.

    Attributes
    ----------
    valid : mapping of str to bool or None
        Row's id -> what most of them said (a tie is no); None where nobody said anything.
    similarity : mapping of str to float
        Row's id -> mean similarity, where scores were asked for.
    texts : mapping of str to (str, str)
        Original and paraphrase as the sheet has them, white space evened out.
    annotators : tuple of str
    agreement : mapping of str to float
        ``fleiss_kappa`` over the rows that all judged, ``cohen_kappa`` of every pair (``"1, 2"``), and ``n_common``.
    """

    valid: Mapping[str, bool | None]
    similarity: Mapping[str, float]
    texts: Mapping[str, tuple[str, str]]
    annotators: tuple[str, ...]
    agreement: Mapping[str, Any]


def read_judgements(
    paths: Sequence[str | os.PathLike[str]], *, least_similarity: float = LEAST_SIMILARITY
) -> Judgements:
    """Read one sheet, or the copies that several annotators filled in.

    Parameters
    ----------
    paths : sequence of path
        Comma, semicolon or tab, whichever the spreadsheet program wrote.
    least_similarity : float
        With scores a row is valid if it is more similar than this, and grammatical.

    Raises
    ------
    InputError
        If a file cannot be read, lacks a column, repeats a row, or says anything else than yes, no, a score of 0 to
        100, or nothing.
    """
    said: dict[str, dict[str, bool]] = {}
    scores: dict[str, list[float]] = {}
    texts: dict[str, tuple[str, str]] = {}
    annotators: dict[str, None] = {}
    for number, path in enumerate(paths):
        file = Path(path)
        reader, kinds = _open(file)
        who = {
            key: (key if len(paths) == 1 else f"{number + 1}" if not key else f"{number + 1}.{key}") for key in kinds
        }
        annotators.update(dict.fromkeys(who.values()))
        seen: set[str] = set()
        for line, row in enumerate(reader):
            name, where = row["example_id"] or "", f"{line} of {file.name}"
            if not name or name in seen:
                raise input_error("paraphrase", "example_id", "be there once", got=name, row=where)
            seen.add(name)
            shown = (even_space(row["original"] or ""), even_space(row["paraphrase"] or ""))
            if texts.setdefault(name, shown) != shown:
                raise input_error("paraphrase", "checked", "show the same texts in all sheets", got=shown[1], row=where)
            said.setdefault(name, {})
            for key, columns in kinds.items():
                answer = _answer(row, columns, where, least_similarity, scores.setdefault(name, []))
                if answer is not None:
                    said[name][who[key]] = answer
    majority = {name: (2 * sum(a.values()) > len(a) if a else None) for name, a in said.items()}
    mean = {name: sum(values) / len(values) for name, values in scores.items() if values}
    return Judgements(majority, mean, texts, tuple(annotators), _agreement(said, list(annotators)))


def _agreement(said: Mapping[str, Mapping[str, bool]], annotators: Sequence[str]) -> dict[str, Any]:
    if len(annotators) < 2:
        return {}
    common = [[answers[who] for who in annotators] for answers in said.values() if len(answers) == len(annotators)]
    pairs = {}
    for one, other in itertools.combinations(annotators, 2):
        both = [(answers[one], answers[other]) for answers in said.values() if one in answers and other in answers]
        pairs[f"{one}, {other}"] = cohen_kappa([a for a, _ in both], [b for _, b in both])
    return {"fleiss_kappa": fleiss_kappa(common), "cohen_kappa": pairs, "n_common": len(common)}


def _open(file: Path) -> tuple[Any, dict[str, dict[str, str]]]:
    """Return the rows, and annotator -> what is asked -> column."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as problem:
        raise input_error(
            "paraphrase", "checked", "name a CSV sheet that can be read", got=str(file), remedy=f"{problem}."
        ) from None
    head = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
    names = list(reader.fieldnames or ())
    kinds: dict[str, dict[str, str]] = {}
    for name in names:
        match = _COLUMN.fullmatch(name)
        if match is not None:
            kinds.setdefault(match[2] or "", {})[match[1]] = name
    missing = [name for name in ("example_id", "original", "paraphrase") if name not in names]
    unfit = any("valid" not in asked and set(asked) != {"similarity", "grammatical"} for asked in kinds.values())
    if missing or not kinds or unfit:
        raise input_error(
            "paraphrase",
            "checked",
            "have the columns example_id, original, paraphrase, and valid (or similarity and grammatical)",
            got=names,
        )
    return reader, kinds


def _answer(
    row: Mapping[str, str], columns: Mapping[str, str], where: str, least: float, scores: list[float]
) -> bool | None:
    if "valid" in columns:
        return _yes_or_no(row, columns["valid"], where)
    grammatical = _yes_or_no(row, columns["grammatical"], where)
    given = (row[columns["similarity"]] or "").strip()
    if not given or grammatical is None:
        return None
    try:
        score = float(given.replace(",", "."))
    except ValueError:
        score = float("nan")
    if not 0 <= score <= 100:
        raise input_error(
            "paraphrase", columns["similarity"], "be a number from 0 to 100, or empty", got=given, row=where
        )
    scores.append(score)
    return grammatical and score > least


def _yes_or_no(row: Mapping[str, str], column: str, where: str) -> bool | None:
    said = (row[column] or "").strip().lower()
    if said and said not in _YES | _NO:
        raise input_error("paraphrase", column, "say yes, no or nothing", got=row[column], row=where)
    return said in _YES if said else None


def shown(text: str) -> str:
    """Return a text as the sheet has it: spreadsheets would take some first letters for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "@") else text


_FUNCTION = "select"
_NEW = "new_"


def rewritten_columns(task: Task, asked: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the columns that people paraphrase: those that are not the context, or those asked for.

    Raises
    ------
    InputError
        For columns that the task does not have.
    """
    if asked is not None:
        unknown = [column for column in asked if column not in task.columns]
        if unknown or not asked:
            raise input_error(
                _FUNCTION, "rewrite", f"name columns of {task.name} ({', '.join(task.columns)})", got=unknown
            )
        return tuple(asked)
    context = CONTEXT_COLUMNS.get(task.name, ())
    return tuple(column for column in task.columns if column not in context)


def write_writing_sheet(
    path: Path, originals: Sequence[Mapping[str, Any]], *, task: Task, rewrite: Sequence[str], n: int
) -> int:
    """Write `n` empty places for each original: CSV in UTF-8 with a byte-order mark, which spreadsheets recognise.

    The columns are ``bucket_id``, ``writer`` (to be filled in where several people write), ``context``, ``label``,
    and for each column to rewrite the original text and ``new_<column>``.

    Returns
    -------
    int
        How many places there are.
    """
    shown = [column for column in task.columns if column not in rewrite]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(
            ["bucket_id", "writer", "context", "label", *rewrite, *(f"{_NEW}{column}" for column in rewrite)]
        )
        for row in originals:
            context = render(shown, [[row[column] for column in shown]]) if shown else ""
            texts = [row[column] for column in rewrite]
            for _ in range(n):
                writer.writerow([row["bucket_id"], "", context, row["label"], *texts, *([""] * len(rewrite))])
    return n * len(originals)


@dataclass(frozen=True)
class Written:
    """What came back.

    Attributes
    ----------
    rows : list of dict
        Originals, and after each its paraphrases, in the long format.
    n_paraphrases : int
    n_empty : int
        Places that nobody filled in.
    unwritten : list of str
        Buckets without a paraphrase; their originals are left out.
    """

    rows: list[dict[str, Any]]
    n_paraphrases: int
    n_empty: int
    unwritten: list[str]


def read_written(sheet: Path, originals: Path) -> Written:
    """Read a filled-in sheet together with the originals it was made for.

    Raises
    ------
    InputError
        If the sheet cannot be read or lacks a column, names an unknown bucket, has another original text, only some of
        the new texts of a place, or a paraphrase that is the original or stands in its bucket already (case and
        white space apart); the message names the row, from 0.
    """
    table = read_table(originals, function=_FUNCTION, parameter="originals")
    known = {row["bucket_id"]: row for row in table.to_pylist()}
    if "task" not in (table.column_names):
        raise input_error(_FUNCTION, "originals", "be the file that `select` wrote", got=str(originals))
    task = get_task(table["task"][0].as_py())
    lines, header = _lines(sheet)
    rewrite = [name.removeprefix(_NEW) for name in header if name.startswith(_NEW)]
    absent = [c for c in ("bucket_id", *rewrite) if c not in header] or ([] if rewrite else [f"{_NEW}<column>"])
    if absent or not set(rewrite) <= set(task.columns):
        raise input_error(_FUNCTION, "written", f"have the columns {', '.join(absent or task.columns)}", got=header)
    found: dict[str, list[dict[str, Any]]] = {bucket: [] for bucket in known}
    seen: dict[str, set[tuple[str, ...]]] = {
        bucket: {_plain([row[column] for column in rewrite])} for bucket, row in known.items()
    }
    n_empty = 0
    for number, line in enumerate(lines):
        where = f"{number} of {sheet.name}"
        bucket = line["bucket_id"]
        if bucket not in known:
            raise input_error(_FUNCTION, "bucket_id", f"be a bucket of {originals.name}", got=bucket, row=where)
        original = known[bucket]
        for column in rewrite:
            if even_space(line[column]) != even_space(original[column]):
                raise input_error(
                    _FUNCTION,
                    column,
                    "be the original text, unchanged",
                    got=line[column],
                    row=where,
                    remedy=f"Write the paraphrase into {_NEW}{column}.",
                )
        new = [even_space(line[f"{_NEW}{column}"] or "") for column in rewrite]
        if not any(new):
            n_empty += 1
            continue
        _check_new(new, rewrite, seen[bucket], where)
        seen[bucket].add(_plain(new))
        found[bucket].append(_paraphrase(original, dict(zip(rewrite, new, strict=True)), line, len(found[bucket])))
    unwritten = [bucket for bucket, paraphrases in found.items() if not paraphrases]
    if len(unwritten) == len(known):
        raise input_error(
            _FUNCTION, "written", "hold at least one paraphrase", got=str(sheet), remedy=f"Fill in {_NEW}{rewrite[0]}."
        )
    rows = [row for bucket, said in found.items() if said for row in (_long(known[bucket]), *said)]
    return Written(rows, sum(map(len, found.values())), n_empty, unwritten)


def _lines(sheet: Path) -> tuple[list[dict[str, str]], list[str]]:
    try:
        with sheet.open(encoding="utf-8-sig", newline="") as stream:
            head = stream.readline()
            stream.seek(0)
            reader = csv.DictReader(stream, delimiter=max(",;\t", key=head.count), restval="")
            return list(reader), list(reader.fieldnames or ())
    except (OSError, UnicodeDecodeError) as problem:
        raise input_error(
            _FUNCTION, "written", "name a CSV sheet that can be read", got=str(sheet), remedy=f"{problem}."
        ) from None


def _check_new(new: Sequence[str], rewrite: Sequence[str], seen: set[tuple[str, ...]], where: str) -> None:
    problem: InputError | None = None
    if not all(new):
        missing = rewrite[[bool(text) for text in new].index(False)]
        problem = input_error(_FUNCTION, f"{_NEW}{missing}", "be filled in too", got="", row=where)
    elif _plain(new) in seen:
        remedy = "It is the original, or stands there twice; case and white space are no paraphrase."
        problem = input_error(
            _FUNCTION, f"{_NEW}{rewrite[0]}", "be a new text of its bucket", got=new[0], row=where, remedy=remedy
        )
    if problem is not None:
        raise problem


def _plain(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(even_space(text).casefold() for text in texts)


def _long(original: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in original.items() if name != "task"} | {"writer": ""}


def _paraphrase(
    original: Mapping[str, Any], new: Mapping[str, str], line: Mapping[str, str], number: int
) -> dict[str, Any]:
    return {
        **_long(original),
        **new,
        "example_id": f"{original['bucket_id']}.paraphrase-{number}",
        "role": "paraphrase",
        "writer": (line.get("writer") or "").strip(),
    }


def long_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table; the labels by name."""
    return pa.Table.from_pylist([dict(row) for row in rows])
