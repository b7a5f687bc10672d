"""The sheet for writing paraphrases by hand: empty places beside each original, read back as a bucket set."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.data.tables import read_table
from paraconsist.data.tasks import Task, get_task
from paraconsist.errors import InputError, input_error
from paraconsist.models.training.contexts import CONTEXT_COLUMNS
from paraconsist.transforms.sheet import even_space, render

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


def write_sheet(
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
