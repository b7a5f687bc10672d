"""From files and run folders to variance components: an outcome, and the level of each row."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paraconsist.data.logs.reading import read_logs
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import FILE, WORDING, Predictions
from paraconsist.data.rows import read_rows
from paraconsist.data.store import RunFolder
from paraconsist.data.tables import column_of, floats, numeric
from paraconsist.errors import input_error, renamed
from paraconsist.measures.rankings import RankingsResult, rankings
from paraconsist.scoring.free_text import compared, joined

FUNCTION = "variance"
CORRECT, PREDICTION = "correct", "prediction"
"""Outcomes that are made of the predictions."""
_ROLES = ("bucket", "variant", "group", "trial", "example")
_OF_A_SET = ("bucket", "group", "example")


def read_outcomes(
    files: Sequence[Path], levels: Mapping[str, str], outcome: str, read: SourceOptions
) -> tuple[NDArray[Any], dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Return the outcome, the levels by name as codes, and their values; `levels` are names with columns of the files.

    A column may also be called as the option that names it (bucket, variant, group, trial, example), and ``file`` is
    the file: its name, that of its run where several have one name, or its path. The outcome is ``correct`` (a column
    of that name, else whether prediction and label are the same; what could not be read is wrong), ``prediction`` (what
    could not be read agrees with no other answer), or a column of numbers or labels. InputError if a column is missing
    or has empty cells. Problems and groups of several sets in one path are kept apart by the set's name.
    """
    for option in ("exclude", "labelled", "original_prediction", "label_names", "groups_from", "classes"):
        if got := read.named(option):
            must, remedy = "not be given: all rows of the files are read as they are", "Write the files so."
            raise input_error(FUNCTION, option, must, got=str(got), remedy=remedy)
    named = tuple(name for name in levels.values() if name not in (*_ROLES, FILE))
    wanted = replace(read, trial=read.trial or "epoch", stratum=named)
    answered: list[tuple[Predictions, SourceOptions]] = []
    first: set[tuple[str, str]] = set()
    columns: dict[str, list[pa.ChunkedArray]] = {name: [] for name in levels}
    given = [(path, file) for path in files for file in RunFolder(path).predictions_files() or [path]]
    given = given[:1] if read.variant == FILE else given
    ways = ([file.stem for _, file in given], [path.name for path, _ in given], [str(file) for _, file in given])
    named_files = next((names for names in ways if len({*names}) == len(names)), ways[-1])
    for (path, file), of_name in zip(given, named_files, strict=True):
        with renamed(stratum="level"):
            of_file = read_logs(files if read.variant == FILE else [file], wanted)
        has_several = len(of_file) > 1 or sum(other == path for other, _ in given) > 1
        for set_name, predictions in of_file.items():
            is_log = "source" in predictions.metadata
            of_log = SourceOptions(variant=read.variant or WORDING, same=read.same, right=read.right, stratum=())
            names = of_log if is_log else replace(wanted, stratum=())
            table = predictions.table
            answered.append((predictions, names))
            if has_several and names.bucket in table.column_names:
                ids = pc.binary_join_element_wise(set_name, table[names.bucket].cast(pa.string()), ": ")
                own = table.set_column(table.column_names.index(names.bucket), names.bucket, ids)
                answered[-1] = (replace(predictions, table=own), names)
            if {names.bucket, names.label} <= {*table.column_names} and not has_several:
                pairs = zip(*(map(str, table[name].to_pylist()) for name in (names.bucket, names.label)), strict=True)
                _check_task(of_name, problems := {*pairs}, first)
                first = first or problems
            for level, name in levels.items():
                if name not in table.column_names and name == FILE:
                    columns[level].append(pa.chunked_array([[of_name] * len(table)]))
                    continue
                is_role = name in _ROLES and name not in table.column_names
                found = (getattr(names, name) if is_role else None) or name
                column = column_of(table, found, parameter="level" if found == name else name, function=FUNCTION)
                if has_several and is_role and name in _OF_A_SET:
                    column = pc.binary_join_element_wise(set_name, column.cast(pa.string()), ": ")
                columns[level].append(column)
    values = [_outcome(predictions, outcome, names) for predictions, names in _compared_alike(answered, outcome)]
    if len({part.dtype.kind in "UO" for part in values}) > 1:
        raise input_error(FUNCTION, "outcome", "be numbers in all files, or labels in all", got=outcome)
    outcomes = np.concatenate(values)
    if outcomes.dtype == object:
        unread = np.array([outcome is None for outcome in outcomes.tolist()], dtype=np.bool_)
        outcomes[unread] = [f"\0unparsed{number}" for number in range(np.count_nonzero(unread))]
    found = {level: _codes(level, levels[level], parts) for level, parts in columns.items()}
    codes, of_levels = ({level: pair[i] for level, pair in found.items()} for i in range(2))
    return outcomes, codes, of_levels


def _compared_alike(
    answered: list[tuple[Predictions, SourceOptions]], outcome: str
) -> list[tuple[Predictions, SourceOptions]]:
    """Return files as one where answers in free text are the outcome: a comparer's classes have names in each alone."""
    same = {names.same or predictions.metadata.get("same") for predictions, names in answered}
    if outcome != PREDICTION or same == {None}:
        return answered
    if len(same) > 1:
        raise input_error(FUNCTION, "same", "be given, as it differs between the files", got=sorted(map(str, same)))
    columns = SourceOptions(same=same.pop(), right=answered[0][1].right, stratum=())
    return [(joined(answered, columns), columns)]


def _check_task(file: str, problems: set[tuple[str, str]], first: set[tuple[str, str]]) -> None:
    """Warn if problems (id and gold label) have an id of the `first` file's, and no label in common with it."""
    both = {name for name, _ in problems} & {name for name, _ in first}
    if others := sorted(both - {name for name, _ in problems & first}):
        told = f"{len(others):,} of {len(both):,} problems have other gold labels in {file} than in the first file"
        warnings.warn(f"{told} (such as {others[0]}): files of two tasks need ids of their own", stacklevel=2)


def ranked_under(
    rank: str,
    outcomes: NDArray[Any],
    levels: Mapping[str, NDArray[Any]],
    values: Mapping[str, NDArray[Any]],
    nested: Sequence[str],
    confidence_level: float,
) -> RankingsResult:
    """Rank the values of the first level under each value of `rank`, by problems: the others but the `nested`.

    InputError if there is no such level, or the outcomes are labels.
    """
    first, *others = levels
    if rank not in others:
        raise input_error(FUNCTION, "rank", f"be one of {', '.join(others)}", got=rank)
    if outcomes.dtype.kind not in "biuf":
        raise input_error(FUNCTION, "outcome", "be numbers where systems are ranked", got=str(outcomes[0]))
    held = [codes for name, codes in levels.items() if name not in (first, rank, *nested)]
    problems = np.unique(np.stack(held), axis=1, return_inverse=True)[1].ravel() if held else None
    with renamed(systems=first, wordings=rank):
        systems, wordings = (values[name][levels[name]] for name in (first, rank))
        return rankings(outcomes, systems, wordings, problems, confidence_level=confidence_level)


def _outcome(predictions: Predictions, outcome: str, names: SourceOptions) -> NDArray[Any]:
    table = predictions.table
    if outcome != PREDICTION and (outcome != CORRECT or CORRECT in table.column_names):
        column = numeric(column_of(table, outcome, parameter="outcome", function=FUNCTION))
        if pa.types.is_string(column.type) and pc.any(pc.match_substring_regex(column, r"^[-+]?\d+(\.\d*)?$")).as_py():
            floats(column, outcome, "outcome")  # names the cell that is no number
        if column.null_count:
            row = column.is_null().to_pylist().index(True)
            remedy = "Leave out rows without an outcome."
            raise input_error(FUNCTION, "outcome", "have no empty cell", got=outcome, row=row, remedy=remedy)
        is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if is_number or pa.types.is_boolean(column.type):
            return np.asarray(column.cast(pa.int8() if not is_number else column.type).to_numpy(), dtype=np.float64)
        return np.array([str(value) for value in column.to_pylist()], dtype=object)
    predictions = compared(predictions, names, names.same, names.right)
    is_usual = outcome == PREDICTION or names.label == SourceOptions.label
    if is_usual and names.label not in predictions.table.column_names:
        names = replace(names, label="")
    rows = read_rows(predictions, names, need_buckets=False)
    if outcome == PREDICTION:
        texts = zip(rows.predictions.tolist(), rows.unparsed.tolist(), strict=True)
        return np.array([None if is_unparsed else str(answer) for answer, is_unparsed in texts], dtype=object)
    if not rows.has_gold.all():
        remedy = f"Without gold labels, take the answers themselves: {PREDICTION}."
        raise input_error(FUNCTION, "outcome", "have a gold label in every row", got=CORRECT, remedy=remedy)
    return np.asarray((rows.predictions == rows.labels) & ~rows.unparsed, dtype=np.float64)


def _codes(level: str, name: str, parts: Sequence[pa.ChunkedArray]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a column of all files as codes, and its values as texts."""
    kinds = {part.type for part in parts}
    chunks = [chunk for part in parts for chunk in part.chunks]
    column = pa.chunked_array(chunks if len(kinds) == 1 else [chunk.cast(pa.string()) for chunk in chunks])
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise input_error(FUNCTION, "level", "name columns without empty cells", got=f"{level}={name}", row=row)
    if pa.types.is_nested(column.type):
        raise input_error(FUNCTION, "level", "name columns of numbers or text", got=f"{level}={name}")
    encoded = column.combine_chunks().dictionary_encode()
    values = np.array([str(value) for value in encoded.dictionary.to_pylist()], dtype=object)
    return np.asarray(encoded.indices.to_numpy(), dtype=np.int64), values
