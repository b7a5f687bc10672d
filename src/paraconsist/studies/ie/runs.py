"""Families of runs: one model, transformation and test set over (rho, run), as counts that decisions start from.

Matched vectors hold for every (rho, run) and test row whether each version was answered correctly. They are one Parquet
file, a row group for each (rho, run), written and read one at a time: memory does not grow with the runs. Families are
also read from others' files: tables of rows or counts, and published ``.npz`` vectors.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.resources import as_file, files
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paraconsist.data.foreign import archive_entries
from paraconsist.data.tables import column_of, numeric, read_table
from paraconsist.errors import InputError, input_error
from paraconsist.files import Json, replacing, to_strict_json
from paraconsist.studies.ie.options import FUNCTION

IntArray = NDArray[np.int64]
METADATA_KEY = b"paraconsist"


class Run(NamedTuple):
    """One run as counts."""

    rho: float
    run: Any
    n: int  # test rows
    n10: int  # right on the original only
    n01: int  # right on the transformed one only
    n_correct: int  # right on the original
    collapsed: bool | None = None  # whether it gives every original one label; None where unknown
    validation_accuracy: float = float("nan")  # nan where it is not known
    seed: int | None = None  # of published resampling


@dataclass(frozen=True)
class Family:
    """Runs that are decided together."""

    name: str  # for tables
    runs: tuple[Run, ...]  # in the order of rho and run
    #: Gives the runs' `Matched`, in the same order, one at a time; None where only counts are known.
    vectors: Callable[[], Iterator[Matched]] | None = None
    metadata: Json = field(default_factory=dict)  # of the file
    #: An entry for each run, by its name in `Run`.
    rho: NDArray[np.float64] = field(init=False, compare=False, repr=False)
    n: IntArray = field(init=False, compare=False, repr=False)
    n10: IntArray = field(init=False, compare=False, repr=False)
    n01: IntArray = field(init=False, compare=False, repr=False)
    n_correct: IntArray = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        seen: set[tuple[Any, Any]] = set()
        for rho, run, *_ in self.runs:
            if not 0 <= rho <= 1:
                raise _error(f"hold rhos between 0 and 1, in {self.name}", got=rho)
            if (rho, run) in seen:
                raise _error(f"hold each rho and run of {self.name} once", got=f"rho {rho:g}, run {run}")
            seen.add((rho, run))

        for name in ("rho", "n", "n10", "n01", "n_correct"):
            object.__setattr__(self, name, np.array([getattr(run, name) for run in self.runs]))

    @property
    def n_runs(self) -> int:
        """M times the number of rhos, where none is missing."""
        return len(self.runs)

    @cached_property
    def accuracy(self) -> NDArray[np.float64]:
        return np.asarray(self.n_correct / self.n)

    @cached_property
    def transformed_accuracy(self) -> NDArray[np.float64]:
        return np.asarray((self.n_correct - self.n10 + self.n01) / self.n)

    def at(self, rhos: Sequence[float]) -> Family:
        """Return the runs at some rhos only; InputError if there is none at one of them."""
        at = np.isclose(self.rho[:, None], np.array(rhos)[None, :], rtol=0, atol=1e-9)
        if not at.any(axis=0).all():
            must = f"be rhos of {self.name}: {', '.join(f'{rho:g}' for rho in np.unique(self.rho))}"
            rho = rhos[int(np.argmin(at.any(axis=0)))]
            raise input_error(FUNCTION, "rhos", must, got=rho, remedy="Train those first.")
        kept, vectors = at.any(axis=1), self.vectors
        kept_vectors = None if vectors is None else lambda: compress(vectors(), kept)
        return replace(self, runs=tuple(compress(self.runs, kept)), vectors=kept_vectors)


def family_of_vectors(name: str, vectors: Callable[[], Iterator[Matched]], metadata: Json | None = None) -> Family:
    """Count a family's vectors; `vectors` gives them in the order of rho and run, and may be called again."""
    return Family(name, tuple(run.counts for run in vectors()), vectors, dict(metadata or {}))


def family_of_counts(name: str, rows: Iterable[tuple[Any, ...]]) -> Family:
    """Return a family from counts alone: (rho, run, n, n10, n01, n_correct) for each run, in any order."""
    return Family(name, tuple(sorted((Run(*row) for row in rows), key=lambda run: (run.rho, str(run.run).zfill(12)))))


def distinct(read: Sequence[tuple[Path, Family]]) -> list[Family]:
    """Return families of several files; equal names are followed by the folder's or file's, or where it is."""
    times = Counter(family.name for _, family in read)
    places = [p.resolve().parent.name if p.name == "matched.parquet" else p.resolve().stem for p, _ in read]
    if len({(family.name, place) for (_, family), place in zip(read, places, strict=True)}) < len(read):
        places = [str(path) for path, _ in read]
    named = zip((family for _, family in read), places, strict=True)
    return [replace(f, name=f"{f.name} ({place})") if times[f.name] > 1 else f for f, place in named]


@dataclass(frozen=True)
class Matched:
    """The answers of one run to both versions of the test set; arrays have shape (n,)."""

    rho: float
    run: int
    original_correct: NDArray[np.bool_]  # A_i
    transformed_correct: NDArray[np.bool_]  # B_i
    label: NDArray[Any] | None = None  # gold labels and predictions, where they are known
    prediction: NDArray[Any] | None = None
    transformed_prediction: NDArray[Any] | None = None
    seed: int | None = None  # of the published resampling, where the file says it
    validation_accuracy: float = float("nan")  # of the training, on its own validation sample; nan where not known
    groups: NDArray[Any] | None = None  # which rows are not independent
    row: NDArray[Any] | None = None  # ids of the rows, where the file has them

    @property
    def counts(self) -> Run:
        """The counts that decisions need."""
        before, after = self.original_correct, self.transformed_correct
        n10, n01, n_correct = int((before & ~after).sum()), int((after & ~before).sum()), int(before.sum())
        known = self.collapsed, self.validation_accuracy, self.seed
        return Run(self.rho, self.run, len(before), n10, n01, n_correct, *known)

    @property
    def collapsed(self) -> bool | None:
        """Whether every original row got one label although the gold labels differ; None where unknown.

        Without predictions it is enough that the right answers are exactly the rows of one gold label.
        """
        if self.label is None or np.unique(self.label).size < 2:
            return None
        if self.prediction is not None:
            return bool((self.prediction == self.prediction[0]).all())
        right = np.unique(self.label[self.original_correct])
        return right.size == 1 and bool((self.original_correct == (self.label == right[0])).all())


_COLUMNS = (
    ("rho", pa.float64()),
    ("run", pa.int32()),
    ("row", pa.int32()),
    ("original_correct", pa.bool_()),
    ("transformed_correct", pa.bool_()),
    ("label", pa.int16()),
    ("prediction", pa.int16()),
    ("transformed_prediction", pa.int16()),
    ("validation_accuracy", pa.float64()),
)


def write_matched(path: Path, runs: Iterable[Matched], metadata: Mapping[str, object]) -> None:
    """Write matched vectors, with labels and predictions, to a Parquet file, one run at a time."""
    text = json.dumps(to_strict_json(dict(metadata)), sort_keys=True, default=str)
    schema = pa.schema(list(_COLUMNS), metadata={METADATA_KEY: text.encode()})
    with replacing(path) as partial, pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        for run in runs:
            columns = {name: getattr(run, name, None) for name, _ in _COLUMNS}
            n = len(run.original_correct)
            columns["row"] = np.arange(n, dtype=np.int32)
            for name in ("rho", "run", "validation_accuracy"):
                columns[name] = np.full(n, columns[name])
            writer.write_table(pa.table(columns, schema=schema))


_CORRECT = (("original_correct", "transformed_correct"), ("A", "B"))
_COUNTS = ("n", "n11", "n10", "n01")
_RUN = ("run", "batch")
_ROW = ("row", "example_id", "id")
#: Columns that tell families apart in a file of several.
_FAMILY = ("dataset", "model", "family", "transformation")
#: What the authors published: 1,150 runs by their counts (felipessalvatore/looking-for-equivalences, b90ac0b).
_PUBLISHED = "published:ie"
_NPZ_NAME = re.compile(r"(?P<family>.+?)_b(?P<run>\d+)_rho(?P<rho>\d+(?:\.\d+)?)")


def read_families(path: Path, group: str | None = None) -> list[Family]:
    """Read every family of a file or folder.

    That is the folder of an experiment; a Parquet, CSV, TSV or JSON Lines file with one row for each test row of each
    run (``rho``, ``run``, ``original_correct``, ``transformed_correct``, or ``A`` and ``B``; optionally ``row``,
    ``label``, ``prediction``, and `group`, the column of the rows' groups) or with one row for each run (``rho``,
    ``run`` or ``batch``, ``n``, ``n11``, ``n10``, ``n01``); ``.npz`` files with arrays ``A``, ``B`` and ``label`` named
    ``<family>_b<run>_rho<rho>.npz``, or a folder of them. Columns ``dataset`` and ``model`` tell families apart.
    ``published:ie`` are the published runs of Salvatore et al. 2023 (counts), ``published:ie/snli/xgb`` one family.
    """
    if path.as_posix().startswith(_PUBLISHED):
        return _published(path.as_posix())
    if path.is_dir():
        if (path / "matched.parquet").is_file():
            return read_families(path / "matched.parquet", group)
        archives = sorted(path.glob("*.npz"))
        if not archives:
            remedy = "An experiment writes matched.parquet when all its runs are finished."
            raise _error("hold matched.parquet, or .npz files with arrays A and B", got=str(path), remedy=remedy)
        return _archives(archives)
    if not path.is_file():
        raise _error("name a file or folder that exists", got=str(path))
    if path.suffix == ".npz":
        return _archives([path])
    if path.suffix == ".parquet" and group is None:
        metadata = _own_metadata(path)
        if metadata is not None:
            name = str(metadata.get("name", path.stem))
            return [family_of_vectors(name, lambda: _from_row_groups(path), metadata)]
    return _from_table(read_table(path, function=FUNCTION, parameter="from"), path, group)


def _error(must: str, **more: Any) -> InputError:
    return input_error(FUNCTION, "from", must, **more)


def _published(name: str) -> list[Family]:
    with as_file(files("paraconsist.data").joinpath("published_ie.csv")) as file:
        families = {f"{_PUBLISHED}/{family.name.replace(' ', '/')}": family for family in read_families(file)}
    if name not in (_PUBLISHED, *families):
        raise _error(f"be {_PUBLISHED} or one of {', '.join(families)}", got=name)
    return [family for key, family in families.items() if name in (_PUBLISHED, key)]


def _own_metadata(path: Path) -> dict[str, object] | None:
    """Return the metadata of a file that this package wrote; None for other files."""
    try:
        schema = pq.read_schema(path)
        metadata = json.loads((schema.metadata or {}).get(METADATA_KEY, b"null"))
    except (pa.ArrowInvalid, OSError, ValueError):
        remedy = "It may be cut short: run again."
        raise _error("be a readable, whole file", got=str(path), remedy=remedy) from None
    return metadata if isinstance(metadata, dict) and "original_correct" in schema.names else None


def _from_row_groups(path: Path) -> Iterator[Matched]:
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            table = file.read_row_group(number)
            columns = {name: table[name].to_numpy() for name in table.column_names if name != "row"}
            for name, kind in (("rho", float), ("run", int), ("validation_accuracy", float)):
                columns[name] = kind(columns[name][0])
            yield Matched(**columns)


def _from_table(table: pa.Table, path: Path, group: str | None) -> list[Family]:
    names = table.column_names
    if "rho" not in names:
        raise _error("have a column rho", got=f"{path}, with {', '.join(names)}")
    rho = _numbers(table, "rho").astype(np.float64).tolist()
    run_column = next((name for name in _RUN if name in names), None)
    run = table[run_column].to_pylist() if run_column else [1] * table.num_rows
    of = [table[name].to_pylist() for name in _FAMILY if name in names]
    keys = [" ".join(map(str, values)) for values in zip(*of, strict=True)] if of else [path.stem] * table.num_rows
    correct = next((columns for columns in _CORRECT if set(columns) <= set(names)), None)
    if correct is not None:
        return _from_rows(table, keys, list(zip(rho, run, strict=True)), correct, group)
    if not set(_COUNTS) <= set(names):
        must = "have columns original_correct and transformed_correct (a row for each test row), or "
        raise _error(f"{must}n, n11, n10 and n01 (a row for each run)", got=f"{path}, with {', '.join(names)}")
    return _from_counts(table, keys, rho, run)


def _from_counts(table: pa.Table, keys: Sequence[str], rho: Sequence[float], run: Sequence[Any]) -> list[Family]:
    n, n11, n10, n01 = (_numbers(table, name, whole=True) for name in _COUNTS)
    wrong = np.flatnonzero((n <= 0) | (n11 < 0) | (n10 < 0) | (n01 < 0) | (n11 + n10 + n01 > n))
    if wrong.size:
        row = int(wrong[0])
        got = tuple(int(counts[row]) for counts in (n, n11, n10, n01))
        raise _error("have n11 + n10 + n01 at most n, and none negative", got=got, row=row)
    families: dict[str, list[tuple[Any, ...]]] = {}
    for i, counts in enumerate(zip(n.tolist(), n10.tolist(), n01.tolist(), (n11 + n10).tolist(), strict=True)):
        families.setdefault(keys[i], []).append((rho[i], run[i], *counts))
    return [family_of_counts(name, runs) for name, runs in families.items()]


def _from_rows(
    table: pa.Table, keys: Sequence[str], run_of: Sequence[Any], correct: tuple[str, str], group: str | None
) -> list[Family]:
    columns: dict[str, NDArray[Any] | None] = {
        name: _zero_one(table[column].to_pylist(), column) for name, column in zip(_CORRECT[0], correct, strict=True)
    }
    for name in ("label", "prediction", "transformed_prediction"):
        columns[name] = _codes(table[name]) if name in table.column_names else None
    if group is not None:
        groups = column_of(table, group, parameter="group", function=FUNCTION)
        columns["groups"] = _codes(groups)
        if columns["groups"] is None:
            raise input_error(FUNCTION, "group", "not be empty", got=None, row=groups.to_pylist().index(None))
    ids = next((list(map(str, table[name].to_pylist())) for name in _ROW if name in table.column_names), [])
    columns["row"] = np.array(ids) if ids else None
    order = sorted(range(table.num_rows), key=lambda i: ids[i].zfill(20)) if ids else range(table.num_rows)
    families: dict[str, dict[tuple[float, Any], list[int]]] = {}
    for i in order:  # rows of every run in one order: hard cases compare them one by one
        families.setdefault(keys[i], {}).setdefault(run_of[i], []).append(i)
    for name, runs in families.items() if ids else ():
        for (rho, run), rows in runs.items():
            if len({ids[i] for i in rows}) < len(rows):
                raise _error(f"hold each row of a rho and run of {name} once", got=f"rho {rho:g}, run {run}")

    def vectors(name: str) -> Iterator[Matched]:
        runs = families[name]
        for key in sorted(runs, key=lambda key: (key[0], str(key[1]).zfill(12))):
            parts: Json = {name: c if c is None else c[runs[key]] for name, c in columns.items()}
            yield Matched(*key, **parts)

    return [family_of_vectors(name, partial(vectors, name)) for name in families]


def _archives(files: Sequence[Path]) -> list[Family]:
    index = files[0].parent / "index.json"
    seeds: dict[str, int] = {}
    if index.is_file():
        listed = json.loads(index.read_text(encoding="utf-8")).get("vectors", [])
        seeds = {str(entry["file"]): int(entry["seed_boot"]) for entry in listed if "seed_boot" in entry}
    families: dict[str, list[tuple[float, int, Path]]] = {}
    for file in files:
        match = _NPZ_NAME.fullmatch(file.stem)
        if match is None:
            raise _error("be named <family>_b<run>_rho<rho>.npz", got=file.name)
        families.setdefault(match["family"], []).append((float(match["rho"]), int(match["run"]), file))

    def vectors(name: str) -> Iterator[Matched]:
        return (_from_archive(file, rho, run, seeds.get(file.name)) for rho, run, file in sorted(families[name]))

    return [family_of_vectors(name, partial(vectors, name)) for name in families]


def _from_archive(file: Path, rho: float, run: int, seed: int | None) -> Matched:
    try:
        with file.open("rb") as stream, np.load(stream) as held:
            archive_entries(held.zip)
            arrays = {name: held[name] for name in ("A", "B", "label") if name in held.files}
    except (OSError, ValueError, zipfile.BadZipFile) as problem:
        raise _error("be readable, whole files", got=str(file), remedy=f"{problem}.") from None
    if not {"A", "B"} <= set(arrays) or arrays["A"].shape != arrays["B"].shape or arrays["A"].size == 0:
        raise _error("hold arrays A and B of one length", got=str(file))
    before, after = (_zero_one(arrays[name].tolist(), name) for name in ("A", "B"))
    return Matched(rho, run, before, after, arrays.get("label"), seed=seed)


def _numbers(table: pa.Table, name: str, *, whole: bool = False) -> NDArray[Any]:
    values = (table[name] if whole else numeric(table[name])).to_pylist()
    for i, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            raise _error(f"hold {'whole numbers' if whole else 'numbers'} in column {name}", got=value, row=i)
    return np.array(values)


def _zero_one(values: Sequence[Any], name: str) -> NDArray[np.bool_]:
    for i, value in enumerate(values):
        if value not in (0, 1):
            raise _error(f"hold only 0 and 1, or true and false, in {name}", got=value, row=i)
    return np.array(values).astype(np.bool_)


def _codes(values: pa.ChunkedArray) -> NDArray[Any] | None:
    """Labels as numbers; None where some are missing."""
    texts = values.cast(pa.string())
    return None if values.null_count else np.asarray(pc.rank(texts, tiebreaker="dense"))
