"""A run in parts, for arrays of jobs: each computes its share of the inputs, then the parts become one run.

The id of an input, which is a hash, decides its part: on any machines the parts are disjoint and complete, and a lost
one is computed again alone. A column of a part's rows holds their places in the set. A finished run's stores can be
rewritten as one compressed file each.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from paraconsist.data.arrays import Places, first_rows, take_rows
from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.predictions import METADATA_KEY, UNANSWERED
from paraconsist.data.store import JOURNAL, RunFolder, add_counts, compact, content_identity, lines_of
from paraconsist.data.tables import joined
from paraconsist.errors import InputError, input_error
from paraconsist.files import LOCK, Json, changed, locked, make_folder, replacing
from paraconsist.running.checking import check_folder
from paraconsist.running.run import padding_of

#: The column of a part's predictions with the number of a row in the whole set, counted from 0.
PLACE = "row_of_set"
_BLOCK, _ROW_GROUP = 1 << 14, 1 << 20  # rows that are read, and written, at a time
#: The metadata of a set's predictions that must be equal in all parts.
_SAME = (
    *("format", "set", "set_fingerprint", "split", "limit", "task", "template_hash", "label_names", "label_map"),
    *("measures", "seed"),
)


@dataclass(frozen=True)
class Part:
    """One part of a division of the inputs."""

    number: int  # from 1
    of: int  # how many parts there are

    @classmethod
    def read(cls, text: str) -> Part:
        """Read ``I/N``, I from 1 to N."""
        match = re.fullmatch(r"\s*(\d{1,6})/(\d{1,6})\s*", text)
        part = cls(int(match[1]), int(match[2])) if match else None
        if part is None or not 1 <= part.number <= part.of:
            raise input_error("run", "part", "be I/N, such as 3/8, with I from 1 to N", got=text)
        return part

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def take(self, bucket_set: BucketSet) -> BucketSet:
        """Return the rows of a set whose inputs are dealt to this part, each with its `PLACE` in the set."""
        table = bucket_set.table
        if PLACE in table.column_names:
            raise input_error("run", "dataset", f"have no column {PLACE} where `part` is given", got=bucket_set.name)
        table = table.append_column(PLACE, pa.array(range(table.num_rows), pa.int64()))
        dealt = [int(input_id, 16) % self.of + 1 == self.number for input_id in table["input_id"].to_pylist()]
        rows = table.filter(pa.array(dealt, pa.bool_()))
        return replace(bucket_set, table=rows, named=(*bucket_set.named, PLACE), part=str(self))


def merge_parts(parts: Sequence[str | Path], output: str | Path, *, overwrite: bool = False) -> RunFolder:
    """Merge the run folders of all parts of a run, in any order, into one like that of the whole run.

    Predictions, texts, store and ``run.json`` are merged: rows are in the order of their set, counts are sums. With
    `overwrite` an earlier run in `output` is deleted. The parts are only read.

    Raises
    ------
    InputError
        If a part is absent, repeated, unfinished or damaged, or the parts have different models or sets.
    """
    folders, target = [RunFolder(Path(part)) for part in parts], RunFolder(Path(output))
    if target.path.resolve() in {folder.path.resolve() for folder in folders}:
        raise input_error("merge", "output", "not be one of the parts", got=str(output))
    folders, runs = _in_order(folders)
    for name, file in runs[0]["sets"].items():
        _check_same(name, folders, [_metadata_of(pq.read_schema(folder.path / file)) for folder in folders])
    with locked(target.path, "merge", "output"):
        target.open(runs[0]["models"], overwrite=overwrite)
        _merge_stores(folders, target)
        for name, file in runs[0]["sets"].items():
            table = _joined([folder.path / file for folder in folders])
            places = np.asarray(table[PLACE])
            order = np.argsort(places)
            if not np.array_equal(places[order], np.arange(len(order))):
                what = f"rows of {name} are absent or in two parts."
                raise InputError(what, function="merge", remedy="Run them again.")
            metadata = _metadata([_metadata_of(pq.read_schema(folder.path / file)) for folder in folders], table)
            target.write(target.path / file, _row_groups(table.drop_columns([PLACE]), order), metadata)
            target.update_run({"inputs": {name: metadata["inputs"]}} if "inputs" in metadata else {})
            texts = [folder.path / file.replace("predictions/", "texts/", 1) for folder in folders]
            if all(path.is_file() for path in texts):
                order = np.argsort(places[first_rows(table["input_id"])])
                about = _metadata_of(pq.read_schema(texts[0]))
                target.write(target.path / "texts" / texts[0].name, _row_groups(_joined(texts), order), about)
        times = {"started": min(run["started"] for run in runs), "ended": max(run["ended"] for run in runs)}
        kinds = [kind for kind in ("loop", "endpoint") if kind in runs[0]]
        passes = {kind: _together([run[kind] for run in runs]) for kind in kinds}
        target.update_run({"sets": runs[0]["sets"], **passes, **times})
    return target


def _in_order(folders: Sequence[RunFolder]) -> tuple[list[RunFolder], list[Json]]:
    """Return the parts by number, with their ``run.json``; all of them, once each, whole, and of one run."""
    by_number: dict[int, RunFolder] = {}
    runs: dict[int, Json] = {}
    divisions: dict[int, None] = {}
    for folder in folders:
        run, what = folder.read(), str(folder.path)
        if damaged := changed(folder.path, run.get("files", {})):
            file, why = next(iter(damaged.items()))
            raise input_error("merge", "parts", "be whole", got=what, remedy=f"{file}: {why}. Run that part again.")
        files = [folder.path / file for file in run.get("sets", {}).values()]
        text = _metadata_of(pq.read_schema(files[0])).get("part") if files else None
        if text is None:
            remedy = "Each is the folder of a finished `paraconsist run --part I/N`."
            raise input_error("merge", "parts", "be finished parts of a run", got=what, remedy=remedy)
        part = Part.read(text)
        if part.number in by_number:
            must = f"name each part once; part {part} is repeated"
            raise input_error("merge", "parts", must, got=[str(by_number[part.number].path), what])
        by_number[part.number], runs[part.number] = folder, run
        divisions[part.of] = None
    if len(divisions) > 1:
        raise input_error("merge", "parts", f"be of one division, not of {' and '.join(map(str, divisions))} parts")
    of = next(iter(divisions), 1)
    if absent := [f"{number}/{of}" for number in range(1, of + 1) if number not in by_number]:
        raise input_error("merge", "parts", f"be all {of}", remedy=f"Absent: {', '.join(absent)}.")
    numbers = sorted(by_number)
    for number in numbers:
        for key, of_run in _IDENTITY.items():
            if of_run(runs[numbers[0]]) != of_run(runs[number]):
                must = f"be of one run: {key} of part {number}/{of} are not those of part {numbers[0]}/{of}"
                raise input_error("merge", "parts", must, got=str(by_number[number].path))
    return [by_number[number] for number in numbers], [runs[number] for number in numbers]


#: What the ``run.json`` of all parts say alike.
_IDENTITY: dict[str, Callable[[Json], Any]] = {
    "models": lambda run: {task: content_identity(identity) for task, identity in run["models"].items()},
    "sets": lambda run: run["sets"],
}


def _joined(paths: Sequence[Path]) -> pa.Table:
    """Return the rows of the parts' files, some of which may be empty; probabilities only if all have them."""
    schemas = [pq.read_schema(path) for path in paths if pq.read_metadata(path).num_rows] or [pq.read_schema(paths[0])]
    names = dict.fromkeys(name for schema in schemas for name in schema.names)
    columns = [name for name in names if name == UNANSWERED or all(name in schema.names for schema in schemas)]
    empty = pa.concat_tables([schema.empty_table() for schema in schemas], promote_options="default").select(columns)

    def parts() -> Iterator[pa.Table]:
        for path in paths:
            with pq.ParquetFile(path, memory_map=True) as file:
                for batch in file.iter_batches(_BLOCK, columns=columns):
                    yield pa.concat_tables([empty, pa.Table.from_batches([batch])], promote_options="default")

    return joined(chain([empty], parts()))


def _row_groups(table: pa.Table, order: Places) -> Iterator[pa.Table]:
    return (take_rows(table, order[start : start + _ROW_GROUP]) for start in range(0, len(order), _ROW_GROUP) or [0])


def _metadata_of(schema: pa.Schema) -> Json:
    return dict(json.loads((schema.metadata or {}).get(METADATA_KEY, b"{}")))


def _check_same(name: str, folders: Sequence[RunFolder], metadata: Sequence[Json]) -> None:
    for folder, of_part in zip(folders, metadata, strict=True):
        for key in _SAME:
            first, other = metadata[0].get(key), of_part.get(key)
            if first != other:
                must = f"be of one run: {key} of {name} is {first!r} in one and {other!r} in another"
                raise input_error("merge", "parts", must, got=str(folder.path))


def _metadata(parts: Sequence[Json], table: pa.Table) -> Json:
    """Return the metadata of the merged file: equal entries unchanged, counts added up."""
    first = parts[0]
    equal = {key: first[key] for key in (*_SAME, "model") if key in first}
    rest = _together([{k: v for k, v in part.items() if k not in (*equal, "part", "inputs")} for part in parts])
    if all("inputs" in part for part in parts):
        counts = rest["inputs"] = add_counts([part["inputs"] for part in parts])
        if UNANSWERED in table.column_names:  # in the order of the rows
            failed = table.filter(pc.is_valid(table[UNANSWERED])).sort_by(PLACE)["input_id"].unique().to_pylist()
            counts["first_failed"] = failed[: len(counts["first_failed"])]
    return {**rest, **equal, "n_rows": len(table), "strata": [name for name in first["strata"] if name != PLACE]}


def _together(values: Sequence[Any]) -> Any:
    """Merge the values of several parts: numbers are added, but for the share of padding; None is not known."""
    first = values[0]
    if all(isinstance(value, Mapping) for value in values):
        keys = dict.fromkeys(chain(*values))
        merged = {key: _together([value[key] for value in values if key in value]) for key in keys}
        return merged | ({"padding": padding_of(values)} if "padding" in merged else {})
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return sum(values)
    if None in values:
        return None
    if all(value == first for value in values):
        return first
    return ", ".join(dict.fromkeys(map(str, values)))


def _merge_stores(folders: Sequence[RunFolder], target: RunFolder) -> None:
    """Copy the parts' results: shards under new numbers, journals of answers concatenated."""
    sources: defaultdict[Path, list[Path]] = defaultdict(list)
    n_shards = 0
    for folder in folders:
        for path in sorted(folder.store.rglob("*.json*")):
            place = target.store / path.relative_to(folder.store)
            if path.name.startswith("rank-"):
                place, n_shards = place.with_name(f"rank-{n_shards:05d}.jsonl"), n_shards + 1
            if path.suffix == ".jsonl" or place not in sources:  # files other than journals are equal in all parts
                sources[place].append(path)
    for place, paths in sources.items():
        make_folder(place.parent)
        with replacing(place) as partial, partial.open("wb") as stream:
            for path in paths:
                stream.writelines(line for line in chain.from_iterable(lines_of(path)) if line.endswith(b"\n"))


def compact_run(folder: str | Path) -> tuple[int, int]:
    """Rewrite each store, and each journal of answers, of a finished run as one file; return their bytes before, after.

    Results, answers and what they cost stay the same, and the run can go on. A kill at any moment loses nothing.
    InputError if the folder is no run's, is in use, or has a file that is unfinished or damaged.
    """
    run = RunFolder(Path(folder))
    if not run.run_file.is_file():
        raise input_error("compact", "runs", "be the folder of a run", got=str(folder))
    with locked(run.path, "compact", "runs"):
        for file in check_folder(run.path):
            if file.problem and not Path(file.name).name.startswith(LOCK):
                remedy = f"{file.name}: {file.problem}."
                raise input_error("compact", "runs", "be finished and whole", got=str(folder), remedy=remedy)
        sizes = [_bytes_of(run.store)]
        for store in sorted({path.parent for path in run.store.rglob("*.jsonl")}):
            for pattern in ("rank-*.jsonl", JOURNAL):
                if files := sorted(store.glob(pattern)):
                    compact(files)
        return sizes[0], _bytes_of(run.store)


def _bytes_of(store: Path) -> int:
    return sum(path.stat().st_size for path in store.rglob("*.jsonl"))
