"""Where the rows of an IE experiment come from: files, a builder of ours, or a data set of the Hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraconsist.data.tables import read_table
from paraconsist.errors import input_error
from paraconsist.ietest.options import FUNCTION, ExperimentOptions


@dataclass(frozen=True)
class Split:
    """Rows as read.

    Attributes
    ----------
    name : str
        For messages.
    columns : mapping
        Column -> list of values, all of one length.
    task, label_names
        What the data set declares.
    """

    name: str
    columns: Mapping[str, Sequence[Any]]
    task: str | None = None
    label_names: tuple[str, ...] | None = None

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))


def read_splits(options: ExperimentOptions) -> dict[str, Split]:
    """Read ``train``, ``test`` and, where there is one, ``validation``.

    Raises
    ------
    InputError
        If a file or data set cannot be read, is empty, or has no such split.
    """
    if options.dataset is not None:
        found = _from_dataset(options.dataset)
    else:
        files = {"train": options.train, "validation": options.validation, "test": options.test}
        found = {split: _from_file(file, split) for split, file in files.items() if file is not None}
    for split in ("train", "test"):
        if split not in found:
            raise input_error(
                FUNCTION,
                "dataset",
                f"have a {split} split",
                got=f"{options.dataset}, with {', '.join(found) or 'none'}",
                remedy="Write the rows to files and name them with --train, --validation and --test.",
            )
    for split, rows in found.items():
        if not rows.columns or rows.n_rows == 0:
            raise input_error(FUNCTION, split, "have at least one row", got=rows.name)
    return found


def _from_file(file: Path, split: str) -> Split:
    table = read_table(file, function=FUNCTION, parameter=split)
    return Split(str(file), {name: table[name].to_pylist() for name in table.column_names})


def _from_dataset(name: str) -> dict[str, Split]:
    from paraconsist.dataset_builders import BUILDERS, builder_class

    first, _, config = name.partition(":")
    if first in BUILDERS and not Path(first).is_dir():
        from paraconsist.data.building import prepare

        configs = [c.name for c in builder_class(first).BUILDER_CONFIGS]
        if config not in configs:
            raise input_error(FUNCTION, "dataset", f"name one of {first}'s configs: {', '.join(configs)}", got=name)
        builder = prepare(first, config)
        loaded: Any = {split: builder.as_dataset(split=split) for split in builder.info.splits or ()}
        return _splits(name, loaded, builder.config.task)
    import datasets

    try:
        loaded = datasets.load_dataset(first, config or None)
    except Exception as problem:  # the library raises errors of many kinds; each means that there is no such data set
        raise input_error(
            FUNCTION,
            "dataset",
            "be a data set that can be loaded",
            got=name,
            remedy=f"{type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}",
        ) from None
    return _splits(name, loaded, None)


def _splits(name: str, loaded: Mapping[str, Any], task: str | None) -> dict[str, Split]:
    found = {}
    for split in ("train", "validation", "test"):
        if split in loaded:
            rows = loaded[split]
            names = getattr(rows.features.get("label"), "names", None)
            columns = {column: list(rows[column]) for column in rows.column_names}
            found[split] = Split(f"{name} ({split})", columns, task, None if names is None else tuple(names))
    return found
