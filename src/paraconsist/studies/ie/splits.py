"""Where the rows of an IE experiment come from: files, a builder of ours, or a data set of the Hub.

Gold labels of an IE experiment: names and numbers to class numbers, every row checked (numpy-free).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraconsist.data.tables import read_table
from paraconsist.errors import InputError, input_error
from paraconsist.models.labels import normalise_label
from paraconsist.studies.ie.options import FUNCTION, ExperimentOptions


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
    return Split(str(file), read_table(file, function=FUNCTION, parameter=split).to_pydict())


def _from_dataset(name: str) -> dict[str, Split]:
    from paraconsist.dataset_builders import BUILDERS

    first, _, config = name.partition(":")
    if first in BUILDERS and not Path(first).is_dir():
        from paraconsist.data.building import prepare_spec

        builder = prepare_spec(name, function=FUNCTION)
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


_NO_LABEL = ("", "-", "-1", "nan", "none")


def label_names(options: ExperimentOptions, rows: Split, of_task: Sequence[str]) -> tuple[str, ...]:
    """The labels in class order: the user's, else the data set's, else the task's, else those of the training rows."""
    names = options.label_names or rows.label_names or tuple(of_task)
    if names:
        return tuple(names)
    values = _column(options, rows)
    return tuple(sorted({str(value).strip() for value in values if not _is_missing(value)}))


def label_rows(options: ExperimentOptions, rows: Split, names: Sequence[str]) -> dict[int, int]:
    """Row -> class number, for every row with a gold label.

    Raises
    ------
    InputError
        If there is no such column, a label is none of the names (or their numbers), or a row has none and
        `drop_unlabelled` is not set.
    """
    by_name = {str(i): i for i in range(len(names))} | {normalise_label(name): i for i, name in enumerate(names)}
    found: dict[int, int] = {}
    for i, value in enumerate(_column(options, rows)):
        if _is_missing(value):
            if not options.drop_unlabelled:
                raise input_error(
                    FUNCTION,
                    options.label_column,
                    f"hold a gold label in every row of {rows.name}",
                    got=value,
                    row=i,
                    remedy="Fill it in, or leave such rows out with --drop-unlabelled.",
                )
            continue
        text = value if isinstance(value, str) else str(value).removesuffix(".0")
        label = None if isinstance(value, bool) else by_name.get(normalise_label(text))
        if label is None:
            raise input_error(
                FUNCTION,
                options.label_column,
                f"be one of {', '.join(names)}, or a number from 0 to {len(names) - 1}",
                got=value,
                row=i,
                remedy=f"Mend {rows.name}, or name its labels in order with --label-names.",
            )
        found[i] = label
    if not found:
        raise input_error(FUNCTION, options.label_column, "give at least one row a label", got=rows.name)
    return found


def check_labels(labels: Mapping[str, Sequence[int]], names: Sequence[str]) -> None:
    """Refuse labels from which nothing can be learnt or chosen.

    Raises
    ------
    InputError
        If the training rows have one label only, or there are fewer validation rows than classes.
    """
    counts = Counter(int(label) for label in labels["train"])
    if len(counts) < 2:
        got = names[next(iter(counts))] if counts else "no rows"
        raise input_error(FUNCTION, "train", "have rows of at least two labels", got=got)
    n_validation = len(labels["validation"])
    if n_validation < len(names):
        raise input_error(
            FUNCTION,
            "validation",
            f"have at least as many rows as there are labels ({len(names)})",
            got=n_validation,
            remedy="Give --validation a larger file, or raise --validation-share or --validation-rows.",
        )


def _column(options: ExperimentOptions, rows: Split) -> Sequence[Any]:
    if options.label_column not in rows.columns:
        raise _no_column(options, rows)
    return rows.columns[options.label_column]


def _no_column(options: ExperimentOptions, rows: Split) -> InputError:
    return input_error(
        FUNCTION,
        "label_column",
        f"be a column of {rows.name}",
        got=options.label_column,
        remedy=f"Its columns are {', '.join(map(str, rows.columns))}: name the one with gold labels by --label-column.",
    )


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or str(value).strip().lower() in _NO_LABEL
