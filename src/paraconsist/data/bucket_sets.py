"""Bucket sets, where they come from (builders, a folder, the Hub, a file), and how a command names them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paraconsist.data.arrays import Places, first_rows, mapped, take_rows
from paraconsist.data.foreign import as_text, listed
from paraconsist.data.predictions import KEY_COLUMNS, STRATUM_COLUMNS
from paraconsist.data.prompts import ASKED, are_questions, question_columns, read_questions, wrong_value
from paraconsist.data.rows import ROLES, allowed_labels, labels_in
from paraconsist.data.tables import (
    ENDINGS,
    PARAPHRASE_KEY,
    are_rows,
    in_arrow,
    joined,
    json_rows,
    read_table,
    table_of_rows,
    typed_cells,
)
from paraconsist.data.tasks import QUESTIONS, TASKS, Task, get_task, infer_task, input_ids
from paraconsist.data.writing import file_in_folder
from paraconsist.errors import InputError, check_whole, first_line, input_error, renamed
from paraconsist.files import Json

#: Units of `DistinctInputs.lengths` in a token, and for a space (fitted to English and a WordPiece tokenizer).
PER_TOKEN, _PER_SPACE = 20, 20
#: The key of a file's comparers of answers, as JSON, in its metadata.
COMPARERS_KEY = b"paraconsist_comparers"
#: Columns that hold the wordings of the question of their row.
_NUMBERED = re.compile(r"(?:wording|rewording|paraphrase)[ _-]?\d+", re.IGNORECASE)
_BLOCK = 1 << 16  # rows that are Python objects at a time
YAML_ENDINGS = (".yaml", ".yml")
#: How the names of files end that `load_bucket_set` reads, in small or capital letters.
FILE_ENDINGS = (*ENDINGS, *YAML_ENDINGS)
_SAVED = ("state.json", "dataset_dict.json")  # of a folder that `save_to_disk` wrote: one has one of them
_SPLITS = {"train": "train training", "validation": "validation valid val dev", "test": "test testing eval evaluation"}


@dataclass(frozen=True)
class BucketSet:
    """Rows to predict, in the long format of the bucket set."""

    name: str  # in results, such as ``paranlu:delta_atomic``; `file_name` is its form in file names
    task: Task  # decides which columns the model reads
    label_names: tuple[str, ...]  # of the gold labels, in order
    table: pa.Table  # `KEY_COLUMNS`, the task's input columns, strata, and further columns of the rows
    fingerprint: str  # changes with any change of the rows
    measures: tuple[str, ...] = ()  # for which the set was made; empty where the rows' roles decide
    split: str | None = None  # of the rows; None for a file
    limit: int | None = None  # the requested maximum of rows; None for all
    part: str | None = None  # of the set's inputs, such as ``3/8``; None for all
    named: tuple[str, ...] = ()  # strata that the builder declares or the user names, in addition to `STRATUM_COLUMNS`
    #: of questions in free text: the comparer of answers (``same``), and of answers with accepted ones (``right``)
    comparers: Mapping[str, str] = field(default_factory=dict)
    error_of_check: str | None = None  # how often the check errs that kept these wordings, in a sentence

    @property
    def file_name(self) -> str:
        return "".join(c if c.isalnum() or c in "._-" else "-" for c in self.name).strip("-.") or "set"

    @property
    def strata(self) -> tuple[str, ...]:
        """Columns that predictions keep and by which results are broken down."""
        return tuple(c for c in self._further if c in STRATUM_COLUMNS or c in self.named)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are not written to predictions or results, as nobody declared or named them."""
        return tuple(c for c in self._further if c not in self.strata)

    @property
    def _further(self) -> list[str]:
        return [c for c in self.table.column_names if c not in KEY_COLUMNS and c not in self.task.columns]

    def compared_by(self, same: str | None, right: str | None) -> BucketSet:
        """Return the set with these comparers in place of its own; InputError unless it asks questions."""
        named = {name: value for name, value in (("same", same), ("right", right)) if value is not None}
        for name, value in named.items():
            if self.task is not QUESTIONS or not isinstance(value, str):
                raise input_error("run", name, "be given with questions in free text only, by name", got=value)
        return replace(self, comparers={**self.comparers, **named}) if named else self

    def limited(self, n_rows: int | None) -> BucketSet:
        """Return the first whole buckets that fit in `n_rows` rows (at least one bucket)."""
        if n_rows is None:
            return self
        check_whole("run", "limit", n_rows)
        if n_rows >= self.table.num_rows:
            return self
        buckets = self.table["bucket_id"].value_counts()  # in the order of first appearance
        n_buckets = int(np.count_nonzero(np.cumsum(buckets.field("counts")) <= n_rows))
        mask = pc.is_in(self.table["bucket_id"], buckets.field("values")[: max(n_buckets, 1)])
        fingerprint = f"{self.fingerprint}-limit{n_rows}"
        return replace(self, table=self.table.filter(mask), fingerprint=fingerprint, limit=n_rows)


class DistinctInputs:
    """The distinct inputs of sets of one task, by their places in the order of first appearance."""

    def __init__(self, sets: Sequence[BucketSet]) -> None:
        self.task = sets[0].task
        columns = ["input_id", *self.task.columns]
        kinds = pa.schema([(name, pa.string()) for name in columns])  # which may differ between sets
        self._table = pa.concat_tables([bucket_set.table.select(columns).cast(kinds) for bucket_set in sets])
        self._rows = first_rows(self._table["input_id"])

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, places: Places) -> pa.Table:
        """Return inputs by their places: ``input_id`` and the task's columns."""
        return take_rows(self._table, self._rows[places])

    def in_order(self) -> Iterator[pa.Table]:
        """Yield all inputs in order of first appearance, in tables with ``input_id`` and the task's columns."""
        for start in range(0, len(self), _BLOCK) or [0]:
            yield take_rows(self._table, self._rows[start : start + _BLOCK])

    def lengths(self) -> NDArray[np.int32]:
        """Return each input's estimated length, shape (n,), in units of which a token has `PER_TOKEN`."""

        def of(texts: Any) -> Any:
            return np.asarray(pc.add(pc.binary_length(texts), pc.multiply(pc.count_substring(texts, " "), _PER_SPACE)))

        return mapped((sum(map(of, table.columns[1:])) for table in self.in_order()), np.int32)

    def by_text(self) -> Places:
        """Return the places in the order of the texts, so that texts with the same beginning are neighbours."""
        texts = pa.concat_tables(self.in_order())
        return np.asarray(pc.sort_indices(texts, [(c, "ascending") for c in self.task.columns])).astype(np.int64)


@renamed("load_bucket_set")
def load_bucket_set(
    dataset: str | Path,
    *,
    task: str | None = None,
    data_dir: str | None = None,
    split: str = "test",
    stratum: Sequence[str] = (),
    column: Sequence[str] = (),
    numbered: bool = False,
) -> BucketSet:
    """Load a bucket set.

    Parameters
    ----------
    dataset : str or Path
        ``builder:config`` for this package's builders (``paranlu:delta_atomic``), a file of rows
        (Parquet, JSON Lines, CSV, TSV, Excel, or YAML of questions), a folder of such files, a folder with a prepared
        set (``folder`` or ``folder:config``), or a data set on the Hub (``org/name:config``).
    task : str, optional
        The task's name; by default the one that the builder declares, the rows name in a column ``task``, or that
        fits the columns.
    data_dir : str, optional
        Mirror that replaces the network for this package's builders.
    split : str
        The split to read.
    stratum : sequence of str
        Further columns that predictions keep and by which results are broken down, where the set has them; those of
        this package's own sets are always kept.
    column : sequence of str
        ``field=column`` for each field that the rows have in a column of another name: ``question=prompt``; also a
        field of a struct, ``choices=choices.text``, or several columns, ``choices=A+B+C``.
    numbered : bool
        Make each row a bucket of its own where the rows have no column ``bucket_id``.

    Raises
    ------
    InputError
        If there is no such set, or its rows are not a bucket set.
    """
    if not isinstance(dataset, (str, Path)):
        raise input_error("load_bucket_set", "dataset", "be the name of a set", got=dataset)
    spec, path = str(dataset), Path(dataset)
    if files := [path] if is_file_of_rows(spec) else _files_in(path, split):
        parts = [read_rows(file, column=column, prefix=f"{file.stem}-" * (len(files) > 1)) for file in files]
        tables, names = [part[0] for part in parts], {part[1] for part in parts}
        comparers = {key: {of[key] for *_, of in parts if key in of} for key in ("same", "right")}
        if len(names) > 1 or any(len(values) > 1 for values in comparers.values()):
            must = "have files with the same label names, `same` and `right`"
            raise input_error("run", "dataset", must, got=spec, remedy="Mend the files, or run them one by one.")
        if len(tables) > 1:  # of which some may have no roles
            tables = [table_of_rows([{"role": "paraphrase", **row} for part in tables for row in part.to_pylist()])]
        table = tables[0]
        if task is None and all(file.suffix.lower() in YAML_ENDINGS for file in files):
            task = QUESTIONS.name
        more: Any = {"label_names": names.pop(), "split": split if path.is_dir() and _splits_of(files[0]) else None}
        one = bucket_set_from_table(table, name=path.stem, task=task, named=stratum, numbered=numbered, **more)
        return replace(one, comparers={key: values.pop() for key, values in comparers.items() if values})
    source, _, config = spec.partition(":")
    from paraconsist.dataset_builders import BUILDERS

    if source not in BUILDERS:
        more = {"task": task, "named": stratum, "numbered": numbered}
        return _from_datasets(source, config or None, split, column, **more)
    if column:
        raise input_error("run", "column", "not be given with this package's sets", got=[*column])
    from paraconsist.data.building import prepare_spec

    builder = prepare_spec(spec, function="run", data_dir=data_dir)
    if split not in builder.info.splits:
        raise input_error("run", "split", f"be a split of {spec} ({', '.join(builder.info.splits)})", got=split)
    rows = builder.as_dataset(split=split)
    return bucket_set_from_table(
        _arrow(rows),
        name=spec,
        task=task or builder.config.task,
        label_names=tuple(rows.features["label"].names),
        fingerprint=f"{builder.config.version}-{builder.hash}",
        measures=tuple(builder.config.measures),
        split=split,
        named=builder.config.strata,
    )


def load_bucket_sets(
    sets: Any,
    *,
    task: str | None = None,
    data_dir: str | None = None,
    split: str = "test",
    stratum: str | Sequence[str] = (),
    column: Sequence[str] | Mapping[str, str] = (),
) -> Iterator[BucketSet]:
    """Load what `paraconsist.run` takes as `sets`: names, bucket sets and tables in memory, or one of them."""
    column = [f"{field}={own}" for field, own in column.items()] if isinstance(column, Mapping) else column
    stratum = [stratum] if isinstance(stratum, str) else stratum
    for number, source in enumerate(sets if isinstance(sets, (list, tuple)) and not are_rows(sets) else [sets]):
        named: Any = {"task": task, "split": split, "stratum": stratum, "column": column}
        with renamed("run", path="sets", dataset="sets"):
            if isinstance(source, (str, Path)):
                source = load_bucket_set(source, data_dir=data_dir, **named)
            elif not isinstance(source, BucketSet):
                source = _from_memory(source, f"table-{number}" if number else "table", **named)
        yield source


def _from_memory(
    source: Any, name: str, task: str | None, split: str, stratum: Sequence[str], column: Sequence[str]
) -> BucketSet:
    if hasattr(source, "num_columns"):
        source = one_split(source, split)
    read = of_one_kind(lambda: in_arrow(source, "run"), lambda: source.to_dict("records"))
    table = renamed_columns(read, column, "run")
    return bucket_set_from_table(table, name=name, task=task, label_names=declared_label_names(table), named=stratum)


def is_file_of_rows(name: str) -> bool:
    """Say whether a name ends as those of files do that `load_bucket_set` reads."""
    return name.lower().endswith(FILE_ENDINGS)


def _files_in(folder: Path, split: str) -> list[Path]:
    """Return the files of rows in a folder; none in one with a card, or splits, which the `datasets` library reads.

    Of splits in CSV the wanted one is returned: that library would take 007 for 7 and the answer NA for a missing one.
    """
    if not folder.is_dir() or any((folder / name).is_file() for name in ("README.md", *_SAVED)):
        return []
    files = sorted(file for file in folder.iterdir() if file.is_file() and is_file_of_rows(file.name))
    files = [file for file in files if file.name[0] not in ".~"]  # hidden, or another program's lock
    others = [file.name for file in files if not _splits_of(file)]
    if others and len(others) < len(files):
        note = f"{', '.join(others)} may be left out: others are named as splits (train, test), which are read."
        warnings.warn(f"{folder}: {note}", UserWarning, stacklevel=4)
    if len(others) == len(files):
        return files if split == "test" else []
    chosen = [file for file in files if split in _splits_of(file)]
    return chosen if all(file.suffix.lower() in (".csv", ".tsv") for file in chosen) else []


def _splits_of(file: Path) -> set[str]:
    """Return the splits that a file is named as."""
    words = {*re.split(r"[^a-z]+", file.stem.lower())}
    return {split for split, names in _SPLITS.items() if words & {*names.split()}}


def read_rows(
    path: Path, *, function: str = "run", parameter: str = "dataset", column: Sequence[str] = (), prefix: str = ""
) -> tuple[pa.Table, tuple[str, ...] | None, dict[str, str]]:
    """Return a file's rows, with columns renamed as `load_bucket_set` does, its label names, and its comparers.

    Questions without an id are called after the number of their row behind `prefix`. InputError as for `read_table`.
    """
    if path.suffix.lower() in YAML_ENDINGS:
        table, comparers = read_questions(path)
        return renamed_columns(table, column, function), None, comparers
    named: Any = {"function": function, "parameter": parameter, "names": KEY_COLUMNS}
    table = of_one_kind(lambda: read_table(path, **named), lambda: json_rows(path))
    if path.suffix.lower() in (".csv", ".tsv", ".xlsx"):
        for i, field in enumerate(table.schema):  # a column of empty cells holds empty texts
            if pa.types.is_null(field.type):
                table = table.set_column(i, field.name, pa.array([""] * table.num_rows))
    return renamed_columns(table, column, function, prefix), declared_label_names(table), declared_comparers(table)


def of_one_kind(read: Callable[[], pa.Table], rows: Callable[[], Iterable[Json]]) -> pa.Table:
    """Return what `read` returns; where it refuses rows without labels, `rows`, mixed columns of which are text."""
    try:
        return read()
    except InputError:
        with contextlib.suppress(ValueError, OSError, AttributeError, TypeError, OverflowError):
            if (listed := [*rows()]) and "label" not in listed[0]:
                return table_of_rows(listed)
        raise


def renamed_columns(table: pa.Table, pairs: Sequence[str], function: str, prefix: str = "") -> pa.Table:
    """Return a table with other names of columns, from pairs ``field=column``; a renamed column replaces another."""
    new_names = {}
    for item in [pairs] if isinstance(pairs, str) else pairs:
        field_name, equals, own_name = item.partition("=")
        if "." in own_name and own_name not in table.column_names:  # a field of a struct
            table = table.flatten()
        several = own_name.split("+")
        if own_name not in table.column_names and {*several} <= {*table.column_names}:
            lists = [
                ["" if value is None or value != value else as_text(value) for value in row.values()]
                for row in table.select(several).to_pylist()
            ]
            sizes = (max((i for i, text in enumerate(texts, 1) if text), default=0) for texts in lists)
            lists = [texts[:size] for texts, size in zip(lists, sizes, strict=True)]  # questions with fewer choices
            table = table.append_column(own_name, pa.array(lists, pa.list_(pa.string())))
        if not equals or not field_name or own_name not in table.column_names:
            must, remedy = "be FIELD=COLUMN, with a column of the rows", f"The columns are {table.column_names}."
            raise input_error(function, "column", must, got=item, remedy=remedy)
        new_names[own_name] = field_name
    kept = [c for c in table.column_names if c in new_names or c not in new_names.values()]
    chosen = table.select(kept).rename_columns([new_names.get(c, c) for c in kept])
    return _a_row_each(chosen.replace_schema_metadata(table.schema.metadata), prefix)


def _a_row_each(table: pa.Table, prefix: str) -> pa.Table:
    """Return questions whose wordings stand in one row, in a list or in numbered columns, with a row for each wording.

    Where there is a `question` beside them, it is the original.
    """
    columns = [name for name in table.column_names if name == "wordings" or _NUMBERED.fullmatch(name)]
    if not columns or any({*task.columns} <= {*table.column_names} for task in TASKS.values()):
        return table
    ids = [str(one) for one in table["id"].to_pylist() if one not in (None, "")] if "id" in table.column_names else []
    if (twice := Counter(ids) - Counter({*ids})) and "bucket_id" not in table.column_names:
        raise input_error("run", "id", "be another in each row, which is one question", got=next(iter(twice)))
    rows: list[Json] = []
    for number, row in enumerate(table.to_pylist(), 1):
        texts = [text for name in columns for text in listed(row.pop(name), python=True) if text]
        own = row.pop("id", f"{prefix}{number}")
        row.setdefault("bucket_id", f"{prefix}row-{number}" if own in (None, "") else own)
        rows += [{**row, "role": "original"}] if row.get("question") else []
        rows += [{"role": "paraphrase", **row, "question": text} for text in texts]
    return table_of_rows(rows)


def _from_datasets(source: str, config: str | None, split: str, column: Sequence[str], **more: Any) -> BucketSet:
    from datasets import ClassLabel, Features, Value, load_dataset, load_from_disk
    from datasets.exceptions import DatasetsError

    is_folder = Path(source).is_dir()
    if not source or (not is_folder and "/" not in source):
        from paraconsist.dataset_builders import BUILDERS

        must = "be one of this package's sets, a file, a folder, or a Hub name with a slash"
        remedy = f"The package's sets are {', '.join(BUILDERS)}, each with a config after a colon."
        raise input_error("run", "dataset", must, got=source, remedy=remedy)
    # datasets caches a folder by its name, and would serve the old content of a folder that was written again
    mode = "reuse_cache_if_exists" if is_folder else "reuse_dataset_if_exists"
    try:
        is_saved = is_folder and any((Path(source) / name).is_file() for name in _SAVED)
        if is_saved:
            rows, is_csv = load_from_disk(source), False
        else:
            load = partial(load_dataset, source, config, split=split, download_mode=mode)
            rows = load()
            if is_csv := rows.info.builder_name == "csv":  # where the library takes 007 for 7, NA for a missing text
                kinds = rows.features.items()
                text = {name: Value("string") if isinstance(kind, Value) else kind for name, kind in kinds}
                rows = load(features=Features(text), keep_default_na=False)
    except (OSError, ValueError, DatasetsError) as problem:
        got, remedy = f"{source}:{config}" if config else source, f"It said: {first_line(problem.__cause__ or problem)}"
        raise input_error("run", "dataset", "be loadable with datasets.load_dataset", got=got, remedy=remedy) from None
    rows = one_split(rows, split)
    label = rows.features.get(dict(pair.split("=", 1) for pair in column if "=" in pair).get("label", "label"))
    table = typed_cells(_arrow(rows)) if is_csv else _arrow(rows)
    if is_folder and (file := file_in_folder(Path(source))) is not None:  # whose metadata the library leaves out
        table = table.replace_schema_metadata(pq.read_schema(file).metadata)
    return bucket_set_from_table(
        renamed_columns(table, column, "run"),
        name=f"{Path(source).name}:{config}" if config else Path(source).name,
        label_names=tuple(label.names) if isinstance(label, ClassLabel) else None,
        fingerprint=None if is_folder else rows._fingerprint,
        split=split,
        **more,
    )


def one_split(rows: Any, split: str) -> Any:
    """Return a split of a mapping of splits; anything else as it is. InputError if there is no such split."""
    if not isinstance(rows, Mapping):
        return rows
    if split not in rows:
        raise input_error("run", "split", f"be one of {', '.join(rows)}", got=split)
    return rows[split]


def _arrow(rows: Any) -> pa.Table:
    """Return a data set's rows as one Arrow table, after its selections."""
    table = rows.with_format("arrow")[:]
    return table if isinstance(table, pa.Table) else pa.table(table)


def bucket_set_from_table(
    table: pa.Table,
    *,
    name: str,
    task: str | None = None,
    label_names: tuple[str, ...] | None = None,
    fingerprint: str | None = None,
    measures: tuple[str, ...] = (),
    split: str | None = None,
    named: Sequence[str] = (),
    numbered: bool = False,
) -> BucketSet:
    """Check rows against the long format and add the columns that have defaults.

    `bucket_id`, `label` and the task's columns are required. `example_id`, `group_id`, `role` and `allowed_labels`
    default to the row's number, the bucket, ``paraphrase``, and ``[label]``. Label names become integers; names other
    than the task's are numbered in alphabetical order. With `numbered`, `bucket_id` defaults to `example_id`, which
    is the row's number then. Without `task` a column ``task`` decides, if it holds the same task's name in every row.
    `input_id` is always computed here, so that it can be trusted.
    InputError if a column is missing or holds None, an example id occurs twice, or a label or role is unknown.
    """
    if numbered and "bucket_id" not in table.column_names:
        if "example_id" not in table.column_names:
            table = table.append_column("example_id", pa.array([str(i) for i in range(table.num_rows)]))
        table = table.append_column("bucket_id", table["example_id"])
    with renamed(columns="dataset"):
        if "task" in table.column_names and "task" not in named:
            named_tasks = table["task"].unique().to_pylist()
            if len(named_tasks) == 1 and named_tasks[0] in {*TASKS, QUESTIONS.name}:
                task, table = task or named_tasks[0], table.drop_columns(["task"])
        if task is None and are_questions(table.column_names):
            task = QUESTIONS.name
        resolved = get_task(task) if task is not None else infer_task(table.column_names, function="run")
    columns: dict[str, pa.ChunkedArray] = {c: table[c] for c in table.column_names}
    is_free = resolved is QUESTIONS
    if is_free:
        columns = {c: column for c, column in columns.items() if c not in (*ASKED, "expected", "allowed_labels")}
        columns |= question_columns(table, name)
    if absent := [column for column in ("bucket_id", "label", *resolved.columns) if column not in columns]:
        remedy = f"Say which of yours it is by `column`: {absent[0]}=NAME, or give `task`. Task {resolved.name} reads "
        remedy += f"{', '.join(resolved.columns)}."
        remedy += " Rows of one bucket ask the same in other words; `paraconsist paraphrase` writes some." * is_free
        must = f"be a column of {name}" + "".join(f", as must `{column}`" for column in absent[1:])
        raise input_error("run", absent[0], must, got=table.column_names, remedy=remedy)
    facts, table = table.schema.metadata, pa.table(columns)
    for column in ("bucket_id", "label", *resolved.columns, "group_id", "role", "allowed_labels"):
        if column in columns and columns[column].null_count and not (is_free and column == "label"):
            raise wrong_value(name, column, "not be empty", None, columns[column].to_pylist().index(None))
    for column in ("bucket_id", "example_id", "group_id", "role"):
        if column in columns:
            try:
                columns[column] = columns[column].cast(pa.string())
                if column == "role":  # Original is original
                    columns[column] = pc.utf8_lower(columns[column])
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise wrong_value(name, column, "hold text or whole numbers", str(columns[column].type)) from None
    n_rows = table.num_rows
    example_ids = columns.get("example_id")
    if example_ids is not None and (example_ids.null_count or len(first_rows(example_ids)) < n_rows):
        ids = example_ids.to_pylist()
        first = {example_id: row for row, example_id in reversed([*enumerate(ids)])}
        row = next(row for row, example_id in enumerate(ids) if example_id is None or first[example_id] < row)
        remedy = f"Mend {name}: every row needs a different id."
        raise wrong_value(name, "example_id", "be present and unique", ids[row], row, remedy)
    for role in columns["role"].unique().to_pylist() if "role" in columns else ():
        if role not in ROLES:
            row = pc.index(columns["role"], role).as_py()
            raise wrong_value(name, "role", f"be one of {', '.join(ROLES)}", role, row)
    names, rules = label_names or (), columns.get("allowed_labels")
    if not is_free:
        try:
            gold = columns["label"].unique()
        except pa.ArrowNotImplementedError:
            raise wrong_value(name, "label", _must_be(resolved.label_names), columns["label"][0].as_py(), 0) from None
        names = names or _label_names(gold.to_pylist(), () if rules is None else _values(rules), resolved)
        numbers = _integer_labels(gold, columns["label"], names, name)
    if rules is not None:
        allowed = allowed_labels(_values(rules), names, "run")
        for row, labels in enumerate(allowed):
            if not all(label in range(-1, len(names)) for label in labels):
                must = f"be a list of numbers from 0 to {len(names) - 1}"
                remedy = f"Mend {name}, or leave the column out."
                raise wrong_value(name, "allowed_labels", must, rules[row].as_py(), row, remedy)
        columns["allowed_labels"] = pa.array(allowed)
    for row in table.select(resolved.columns).slice(0, 1).to_pylist():
        resolved.values(row)  # raises if a value is not text
    strata = [c for c in table.column_names if c not in KEY_COLUMNS and c not in resolved.columns]

    def block(start: int) -> pa.Table:
        """Return a block of rows with all columns."""
        rows = {c: column.slice(start, _BLOCK) for c, column in columns.items()}
        n = len(rows["bucket_id"])
        rows.setdefault("example_id", pa.array([f"{name}.{i}" for i in range(start, start + n)], pa.string()))
        rows.setdefault("group_id", rows["bucket_id"])
        rows.setdefault("role", pa.repeat("paraphrase", n))
        if is_free:
            rows["allowed_labels"] = pa.nulls(n, pa.list_(pa.int64()))
        else:
            rows["label"] = numbers.take(pc.index_in(rows["label"], gold).combine_chunks())
        if rules is None and not is_free:
            rows["allowed_labels"] = pa.ListArray.from_arrays(pa.array(range(n + 1), pa.int32()), rows["label"])
        texts = [rows[c].to_pylist() for c in resolved.columns]
        rows["input_id"] = pa.array(input_ids(resolved, texts), pa.string())
        return pa.table({c: rows[c] for c in (*KEY_COLUMNS, *resolved.columns, *strata)}).combine_chunks()

    whole = joined(map(block, range(0, n_rows, _BLOCK) or [0]))
    return BucketSet(
        name=name,
        task=resolved,
        label_names=names,
        table=whole,
        fingerprint=fingerprint or _content_fingerprint({c: whole[c] for c in dict.fromkeys((*columns, *KEY_COLUMNS))}),
        measures=measures,
        split=split,
        named=tuple(named),
        error_of_check=_declared(facts, PARAPHRASE_KEY, ("error_of_check",)).get("error_of_check"),
    )


def declared_label_names(table: pa.Table) -> tuple[str, ...] | None:
    """Return the label names that a Parquet file of the `datasets` library declares, or None."""
    if b"huggingface" not in (table.schema.metadata or {}):
        return None
    with contextlib.suppress(KeyError, TypeError, ValueError):
        features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
        return tuple(features["label"]["names"])
    return None


def declared_comparers(table: pa.Table) -> dict[str, str]:
    """Return the comparers (``same``, ``right``) in a table's metadata, of questions that `paraphrase` wrote."""
    return _declared(table.schema.metadata, COMPARERS_KEY, ("same", "right"))


def _declared(metadata: Mapping[bytes, bytes] | None, key: bytes, names: Sequence[str]) -> dict[str, str]:
    """Return the texts of these names under a key of a file's metadata, which are JSON; of others, which may be any."""
    with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
        declared = json.loads((metadata or {})[key])
        return {name: value for name, value in declared.items() if name in names and isinstance(value, str)}
    return {}


def _values(column: Any) -> Iterator[Any]:
    """Yield the values of a column, converted to Python in blocks."""
    for start in range(0, len(column), _BLOCK):
        yield from column.slice(start, _BLOCK).to_pylist()


def _label_names(labels: Iterable[Any], rules: Iterable[Any], task: Task) -> tuple[str, ...]:
    """Return the task's label names, or the file's if it has others (two-way NLI, for example)."""
    names = {label for label in labels if isinstance(label, str)}
    if names:
        in_rules = (label for rule in rules for label in labels_in(rule))
        names |= {label for label in in_rules if isinstance(label, str) and not label.isdecimal()}
    return task.label_names if names <= set(task.label_names) else tuple(sorted(names))


def _must_be(names: Sequence[str]) -> str:
    return f"be one of {', '.join(names)}, or a number from 0 to {len(names) - 1} (-1 for none)"


def _integer_labels(labels: Any, column: Any, names: tuple[str, ...], name: str) -> Any:
    """Return the number of each of the `labels` of a column."""
    index: Mapping[Any, int] = {label: i for i, label in enumerate(names)}
    numbers = []
    for code, label in enumerate(labels.to_pylist()):
        number = index.get(label) if isinstance(label, str) else label
        if isinstance(number, float) and number.is_integer():  # 1.0: what pandas makes of whole numbers
            number = int(number)
        if not isinstance(number, int) or isinstance(number, bool) or not -1 <= number < len(names):
            row = pc.index(pc.index_in(column, labels), code).as_py()
            raise wrong_value(name, "label", _must_be(names), label, row)
        numbers.append(number)
    return pa.array(numbers, pa.int64())


def _content_fingerprint(columns: Mapping[str, pa.ChunkedArray]) -> str:
    digest = hashlib.sha256()
    for column in (*KEY_COLUMNS, *(c for c in columns if c not in KEY_COLUMNS)):
        digest.update(f"({column!r}, [".encode())  # like the repr of the name and the list of all values
        for start in range(0, len(columns[column]), _BLOCK):
            values = repr(columns[column].slice(start, _BLOCK).to_pylist())[1:-1]
            digest.update((", " * (start > 0) + values).encode())
        digest.update(b"])")
    return digest.hexdigest()[:16]


def expand_specs(specs: Sequence[str], function: str = "run", parameter: str = "dataset") -> list[str]:
    """Expand ``becel:all`` and ``becel:snli`` to the configs that they match; keep other names.

    ``builder:all`` matches every set with a measure (for BECEL, the paper's 19 test cases), and ``builder:NAME``, if
    NAME is no config, all of them whose name begins with it. InputError, about the caller's `parameter`, if a
    builder's name matches nothing.
    """
    from paraconsist.dataset_builders import BUILDERS, builder_class

    expanded: dict[str, None] = {}
    for spec in specs:
        source, _, wanted = spec.partition(":")
        if source not in BUILDERS:
            expanded[spec] = None
            continue
        builder = builder_class(source)
        configs = {config.name: config for config in builder.BUILDER_CONFIGS}
        cases = getattr(builder, "TEST_CASES", [name for name, config in configs.items() if config.measures])
        if wanted in configs:
            chosen = [wanted]
        else:
            chosen = [name for name in cases if wanted == "all" or (wanted and name.startswith(f"{wanted}_"))]
        if not chosen:
            must = f"name a config of {source!r} after a colon, the beginning of several, or 'all'"
            raise input_error(function, parameter, must, got=spec, remedy=f"The configs are {', '.join(configs)}.")
        expanded.update(dict.fromkeys(f"{source}:{name}" for name in chosen))
    return list(expanded)


def matches(pattern: str, spec: str) -> bool:
    """Say whether a pattern matches a set's name, its config or the config's beginning; it may contain ``*``.

    >>> matches("snli", "becel:snli_semantic"), matches("*additive", "becel:sst2_additive")
    (True, True)
    >>> matches("sst", "becel:sst2_semantic")
    False
    """
    config = spec.partition(":")[2] or spec
    return (
        pattern in (spec, config)
        or config.startswith(f"{pattern}_")
        or any("*" in pattern and fnmatchcase(name, pattern) for name in (spec, config))
    )


def assign_models(models: Sequence[str], specs: Sequence[str]) -> dict[str, list[str]]:
    """Return the sets of each model; sets without a model are excluded with a warning.

    Models are ``MODEL`` for all sets, or ``PATTERN=MODEL`` for those that match the pattern (see `matches`). The first
    match wins; a model without a pattern gets the other sets. InputError if two models have no pattern, or no model has
    a set.
    """
    pairs = []
    for text in models:
        pattern, equals, model = text.partition("=")
        pairs.append((pattern, model) if equals and not Path(text).exists() else ("", text))
    general = [model for pattern, model in pairs if not pattern]
    if len(general) > 1:
        must = "be given once, or as PATTERN=MODEL for several"
        raise input_error("run", "model", must, got=general, remedy="Assign sets to each model.")
    assigned: dict[str, list[str]] = {}
    for spec in specs:
        fitting = [model for pattern, model in pairs if pattern and matches(pattern, spec)] + general
        if fitting:
            assigned.setdefault(fitting[0], []).append(spec)
    left_out = [spec for spec in specs if not any(spec in answered for answered in assigned.values())]
    if assigned and left_out:
        warnings.warn(f"no model is given for {', '.join(left_out)}: left out", stacklevel=2)
    if not assigned:
        raise input_error("run", "model", "answer at least one of the sets", got=list(models), remedy=f"Sets: {specs}.")
    return assigned


def parse_limits(limits: Sequence[str] | None, spec: str) -> int | None:
    """Return the maximum number of rows of a set, from ``N`` for all sets or ``PATTERN=N`` for some.

    >>> parse_limits(["*additive=2000"], "becel:sst2_additive"), parse_limits(["*additive=2000"], "becel:rte_semantic")
    (2000, None)
    """
    for text in limits or ():
        pattern, equals, number = text.rpartition("=")
        if not number.isdecimal() or int(number) < 1:
            raise input_error("run", "limit", "be a number of rows from 1, or PATTERN=NUMBER", got=text)
        if not equals or matches(pattern, spec):
            return int(number)
    return None


def with_test_sets(specs: Sequence[str]) -> list[str]:
    """Add to each set the full test set of its original items. InputError if a set has none."""
    from paraconsist.dataset_builders import BUILDERS, builder_class

    wanted: dict[str, None] = dict.fromkeys(specs)
    for spec in specs:
        name, _, config = spec.partition(":")
        test = f"{config.removesuffix('_automatic')}_test"
        known = name in BUILDERS and test in {c.name for c in builder_class(name).BUILDER_CONFIGS}
        if not known:
            must = "be used only with sets that have a full test set"
            remedy = "Run the test set's file as another `dataset` and give it to `score --test-predictions`."
            raise input_error("run", "with_test", must, got=spec, remedy=remedy)
        wanted[f"{name}:{test}"] = None
    return list(wanted)
