"""Families of runs from files: matched vectors of ours or of others, published counts and ``.npz`` vectors."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paraconsist.data.tables import read_table
from paraconsist.errors import input_error
from paraconsist.studies.ie.options import FUNCTION
from paraconsist.studies.ie.runs import (
    METADATA_KEY,
    Family,
    Matched,
    family_of_counts,
    family_of_vectors,
    read_row_groups,
)

_CORRECT = (("original_correct", "transformed_correct"), ("A", "B"))
_COUNTS = ("n10", "n01")
_RUN = ("run", "batch")
_ROW = ("row", "example_id", "id")
#: Columns that tell families apart in a file of several.
_FAMILY = ("dataset", "model", "family", "transformation")
_NPZ_NAME = re.compile(r"(?P<family>.+?)_b(?P<run>\d+)_rho(?P<rho>\d+(?:\.\d+)?)")


def read_families(path: Path) -> list[Family]:
    """Read every family of a file or folder.

    Parameters
    ----------
    path : Path
        The folder of an experiment; a Parquet, CSV, TSV or JSON Lines file with one row for each test row of each run
        (``rho``, ``run``, ``original_correct``, ``transformed_correct``, or ``A`` and ``B``; optionally ``row``,
        ``label``, ``prediction``) or with one row for each run (``rho``, ``run`` or ``batch``, ``n``, ``n11``,
        ``n10``, ``n01``); ``.npz`` files with arrays ``A``, ``B`` and ``label`` named ``<family>_b<run>_rho<rho>.npz``,
        or a folder of them. Columns ``dataset`` and ``model`` tell families apart.

    Raises
    ------
    InputError
        If there is nothing of the kind, or a value is none that it may be; the row is named.
    """
    if path.is_dir():
        if (path / "matched.parquet").is_file():
            return read_families(path / "matched.parquet")
        archives = sorted(path.glob("*.npz"))
        if not archives:
            raise input_error(
                FUNCTION,
                "from",
                "hold matched.parquet, or .npz files with arrays A and B",
                got=str(path),
                remedy="An experiment writes matched.parquet when all its runs are finished.",
            )
        return _archives(archives)
    if not path.is_file():
        raise input_error(FUNCTION, "from", "name a file or folder that exists", got=str(path))
    if path.suffix == ".npz":
        return _archives([path])
    if path.suffix == ".parquet":
        said = _own_metadata(path)
        if said is not None:
            name = str(said.get("name", path.stem))
            return [family_of_vectors(name, lambda: map(_from_row_group, read_row_groups(path)), said)]
    return _from_table(read_table(path, function=FUNCTION, parameter="from"), path)


def _own_metadata(path: Path) -> dict[str, Any] | None:
    try:
        raw = (pq.read_schema(path).metadata or {}).get(METADATA_KEY)
        said = None if raw is None else json.loads(raw)
    except (pa.ArrowInvalid, OSError, ValueError):
        raise input_error(
            FUNCTION, "from", "be a readable, whole file", got=str(path), remedy="It may be cut short: run again."
        ) from None
    return said if isinstance(said, dict) and "original_correct" in pq.read_schema(path).names else None


def _from_row_group(table: pa.Table) -> Matched:
    def column(name: str) -> NDArray[Any]:
        found: NDArray[Any] = table[name].to_numpy()
        return found

    return Matched(
        rho=float(column("rho")[0]),
        run=int(column("run")[0]),
        original_correct=column("original_correct").astype(np.bool_),
        transformed_correct=column("transformed_correct").astype(np.bool_),
        label=column("label"),
        prediction=column("prediction"),
        transformed_prediction=column("transformed_prediction"),
        validation_accuracy=float(column("validation_accuracy")[0]),
    )


def _from_table(table: pa.Table, path: Path) -> list[Family]:
    names = table.column_names
    if "rho" not in names:
        raise input_error(FUNCTION, "from", "have a column rho", got=f"{path}, with {', '.join(names)}")
    rho = _numbers(table, "rho")
    run_column = next((name for name in _RUN if name in names), None)
    run = table[run_column].to_pylist() if run_column else [1] * table.num_rows
    of = [table[name].to_pylist() for name in _FAMILY if name in names]
    keys = [" ".join(map(str, values)) for values in zip(*of, strict=True)] if of else [path.stem] * table.num_rows
    for before, after in _CORRECT:
        if before in names and after in names:
            return _grouped(table, keys, rho, run, _answers(table, before), _answers(table, after))
    if not set(_COUNTS) <= set(names) or not {"n", "n11"} <= set(names):
        raise input_error(
            FUNCTION,
            "from",
            "have columns original_correct and transformed_correct (a row for each test row), or n, n11, n10 and n01 "
            "(a row for each run)",
            got=f"{path}, with {', '.join(names)}",
        )
    return _from_counts(table, keys, rho, run)


def _from_counts(table: pa.Table, keys: Sequence[str], rho: NDArray[Any], run: Sequence[Any]) -> list[Family]:
    n, n11, n10, n01 = (_numbers(table, name, whole=True) for name in ("n", "n11", "n10", "n01"))
    wrong = np.flatnonzero((n <= 0) | (n11 < 0) | (n10 < 0) | (n01 < 0) | (n11 + n10 + n01 > n))
    if wrong.size:
        row = int(wrong[0])
        got = tuple(int(counts[row]) for counts in (n, n11, n10, n01))
        raise input_error(FUNCTION, "from", "have n11 + n10 + n01 at most n, and none negative", got=got, row=row)
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for i, key in enumerate(keys):
        rows.setdefault(key, []).append(
            (float(rho[i]), run[i], int(n[i]), int(n10[i]), int(n01[i]), int(n11[i] + n10[i]))
        )
    return [family_of_counts(name, found) for name, found in rows.items()]


def _grouped(
    table: pa.Table,
    keys: Sequence[str],
    rho: NDArray[Any],
    run: Sequence[Any],
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
) -> list[Family]:
    label, prediction, transformed = (
        _codes(table[name].to_pylist()) if name in table.column_names else None
        for name in ("label", "prediction", "transformed_prediction")
    )
    found: dict[str, dict[tuple[float, Any], list[int]]] = {}
    for i in _order(table):  # rows of every run in one order: hard cases compare them one by one
        key = keys[i]
        found.setdefault(key, {}).setdefault((float(rho[i]), run[i]), []).append(i)

    def part(values: NDArray[Any] | None, rows: list[int]) -> NDArray[Any] | None:
        return None if values is None else values[rows]

    def vectors(runs: Mapping[tuple[float, Any], list[int]]) -> Callable[[], Iterator[Matched]]:
        ordered = sorted(runs.items(), key=lambda one: (one[0][0], str(one[0][1]).zfill(12)))

        def each() -> Iterator[Matched]:
            for (at, number), rows in ordered:
                answers = part(label, rows), part(prediction, rows), part(transformed, rows)
                yield Matched(at, number, before[rows], after[rows], *answers)

        return each

    return [family_of_vectors(name, vectors(runs)) for name, runs in found.items()]


def _order(table: pa.Table) -> Sequence[int]:
    name = next((name for name in _ROW if name in table.column_names), None)
    if name is None:
        return range(table.num_rows)
    values = [str(value).zfill(20) for value in table[name].to_pylist()]
    return sorted(range(table.num_rows), key=lambda i: values[i])


def _archives(files: Sequence[Path]) -> list[Family]:
    index = files[0].parent / "index.json"
    seeds: dict[str, int] = {}
    if index.is_file():
        said = json.loads(index.read_text(encoding="utf-8"))
        seeds = {str(one["file"]): int(one["seed_boot"]) for one in said.get("vectors", []) if "seed_boot" in one}
    found: dict[str, list[tuple[float, int, Path]]] = {}
    for file in files:
        match = _NPZ_NAME.fullmatch(file.stem)
        if match is None:
            raise input_error(FUNCTION, "from", "be named <family>_b<run>_rho<rho>.npz", got=file.name)
        found.setdefault(match["family"], []).append((float(match["rho"]), int(match["run"]), file))

    def vectors(runs: list[tuple[float, int, Path]]) -> Callable[[], Iterator[Matched]]:
        return lambda: (_from_archive(file, rho, run, seeds.get(file.name)) for rho, run, file in sorted(runs))

    return [family_of_vectors(name, vectors(runs)) for name, runs in found.items()]


def _from_archive(file: Path, rho: float, run: int, seed: int | None) -> Matched:
    try:
        with file.open("rb") as stream, np.load(stream) as held:
            arrays = {name: held[name] for name in ("A", "B", "label") if name in held.files}
    except (OSError, ValueError, zipfile.BadZipFile) as problem:
        raise input_error(FUNCTION, "from", "be readable, whole files", got=str(file), remedy=f"{problem}.") from None
    if not {"A", "B"} <= set(arrays) or arrays["A"].shape != arrays["B"].shape or arrays["A"].size == 0:
        raise input_error(FUNCTION, "from", "hold arrays A and B of one length", got=str(file))
    before, after = (_zero_one(arrays[name].tolist(), name) for name in ("A", "B"))
    return Matched(rho, run, before, after, arrays.get("label"), seed=seed)


def _numbers(table: pa.Table, name: str, *, whole: bool = False) -> NDArray[Any]:
    values = table[name].to_pylist()
    for i, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            kind = "whole numbers" if whole else "numbers"
            raise input_error(FUNCTION, "from", f"hold {kind} in column {name}", got=value, row=i)
    return np.array(values)


def _answers(table: pa.Table, name: str) -> NDArray[np.bool_]:
    return _zero_one(table[name].to_pylist(), name)


def _zero_one(values: Sequence[Any], name: str) -> NDArray[np.bool_]:
    for i, value in enumerate(values):
        if value not in (0, 1):
            raise input_error(FUNCTION, "from", f"hold only 0 and 1, or true and false, in {name}", got=value, row=i)
    return np.array(values).astype(np.bool_)


def _codes(values: Sequence[Any]) -> NDArray[Any] | None:
    """Labels as numbers; None where some are missing."""
    if any(value is None for value in values):
        return None
    found: NDArray[Any] = np.unique(np.array([str(value) for value in values]), return_inverse=True)[1]
    return found
