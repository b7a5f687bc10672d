"""Where the rows of an IE experiment come from: files, a builder of ours, a data set of the Hub; and their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paraconsist.errors import first_line, input_error
from paraconsist.models.training.data import Source, file_source, is_unlabelled, split_source
from paraconsist.studies.ie.options import FUNCTION, ExperimentOptions


def read_splits(options: ExperimentOptions) -> dict[str, Source]:
    """Read ``train``, ``test`` and, where there is one, ``validation``.

    Raises
    ------
    InputError
        If a file or data set cannot be read, is empty, or has no such split.
    """
    if options.dataset is not None:
        sources = _from_dataset(options.dataset)
    else:
        files = {"train": options.train, "validation": options.validation, "test": options.test}
        sources = {s: file_source(file, s, function=FUNCTION) for s, file in files.items() if file is not None}
    for split in ("train", "test"):
        if split not in sources:
            got = f"{options.dataset}, with {', '.join(sources) or 'none'}"
            remedy = "Write the rows to files and name them as `train`, `validation` and `test`."
            raise input_error(FUNCTION, "dataset", f"have a {split} split", got=got, remedy=remedy)
    for split, rows in sources.items():
        if not rows.columns or rows.n_rows == 0:
            raise input_error(FUNCTION, split, "have at least one row", got=rows.name)
    return sources


def _from_dataset(name: str) -> dict[str, Source]:
    from paraconsist.dataset_builders import BUILDERS

    task: str | None = None
    first, _, config = name.partition(":")
    if first in BUILDERS and not Path(first).is_dir():
        from paraconsist.data.building import prepare_spec

        builder = prepare_spec(name, function=FUNCTION)
        task = builder.config.task
        splits: Mapping[str, Any] = {split: builder.as_dataset(split=split) for split in builder.info.splits or ()}
    else:
        import datasets

        try:
            splits = datasets.load_dataset(first, config or None)
        except Exception as problem:  # the library raises errors of many kinds; each means: there is no such data set
            remedy = f"{type(problem).__name__}: {first_line(problem)}"
            raise input_error(FUNCTION, "dataset", "be one that can be loaded", got=name, remedy=remedy) from None
    kept = [split for split in ("train", "validation", "test") if split in splits]
    return {split: split_source(f"{name} ({split})", splits[split], task) for split in kept}


def label_names(options: ExperimentOptions, rows: Source, of_task: Sequence[str]) -> tuple[str, ...]:
    """The labels in class order: the user's, else the data set's, else the task's, else those of the training rows."""
    names = options.label_names or rows.label_names or tuple(of_task)
    values = rows.columns.get(options.label_column, ())
    return tuple(names) or tuple(sorted({str(value).strip() for value in values if not is_unlabelled(value)}))


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
        must = f"have at least as many rows as there are labels ({len(names)})"
        remedy = "Give a larger `validation` file, or raise `validation_share` or `validation_rows`."
        raise input_error(FUNCTION, "validation", must, got=n_validation, remedy=remedy)
