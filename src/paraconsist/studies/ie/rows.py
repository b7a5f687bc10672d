"""The rows of an IE experiment: labelled, transformed, and both versions of every text side by side, once.

The rows of a split lie once in their original version (numbers 0 to n - 1) and once transformed (n to 2n - 1). A sample
chooses a version of each row by its number: no text is copied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.tasks import ModelInput, Task, Template
from paraconsist.errors import first_line, input_error
from paraconsist.files import Json
from paraconsist.models.training.data import Source, file_source, find_task, is_unlabelled, label_rows, split_source
from paraconsist.studies.ie.options import FUNCTION, ExperimentOptions

SPLITS = ("train", "validation", "test")
#: Parts of the seed for draws that precede the samples.
_LIMIT, _VALIDATION = 101, 102


@dataclass(frozen=True)
class Rows:
    """Both versions of every split."""

    inputs: Mapping[str, Sequence[ModelInput]]  # what the model reads, 2n rows: originals, then transformed, in order
    labels: Mapping[str, NDArray[np.int64]]  # shape (n,)
    label_names: tuple[str, ...]
    task: Task  # a task made of the text columns, if the user names them
    transformation: Json  # name, parameters, and for each split what was changed
    n_dropped: Mapping[str, int]  # rows left out for want of a label
    content_hash: str  # 16 hex digits of texts and labels in order

    def n(self, split: str) -> int:
        """Rows of a split, each counted once."""
        return len(self.labels[split])


@dataclass(frozen=True)
class _Part:
    """Texts by column, and labels, of one split."""

    texts: Mapping[str, Sequence[str]]
    labels: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> _Part:
        return _Part({column: [texts[i] for i in rows] for column, texts in self.texts.items()}, self.labels[rows])


def load_rows(options: ExperimentOptions, *, say: Callable[[str], None] = lambda line: None) -> Rows:
    """Read, check and transform the rows.

    The transformation is fitted to the texts of all splits: it is one function for the whole experiment.
    """
    from paraconsist.transforms.interface import apply_to_columns
    from paraconsist.transforms.registry import transformation

    phi = transformation(options.transformation, **dict(options.transformation_options))  # refused before reading
    splits = _read_splits(options)
    task = _find_task(options, splits["train"])
    columns = options.transform_columns or task.columns
    if unknown := [column for column in columns if column not in task.columns]:
        raise input_error(FUNCTION, "transform_columns", f"be among {', '.join(task.columns)}", got=unknown[0])
    names = _label_names(options, splits["train"], task.label_names)
    parts, dropped = {}, {}
    for split, rows in splits.items():
        parts[split] = _part(options, rows, task, names)
        dropped[split] = rows.n_rows - len(parts[split].labels)
        if dropped[split]:
            say(f"{rows.name}: {dropped[split]:,} of {rows.n_rows:,} rows have no gold label and are left out.")
    if "validation" not in parts:
        n, part = len(parts["train"].labels), parts["train"]  # at random, once for the whole experiment
        n_validation = min(n, options.validation_rows or round(options.validation_share * n))
        order = np.random.default_rng(unit_seed(options.seed, _VALIDATION)).permutation(n)
        parts["validation"], parts["train"] = (
            part.take(np.sort(rows)) for rows in (order[:n_validation], order[n_validation:])
        )
    for number, split in enumerate(SPLITS):
        limit, part = getattr(options, f"{split}_rows"), parts[split]
        if limit is not None and limit < (n := len(part.labels)):
            rng = np.random.default_rng(unit_seed(options.seed, _LIMIT, number))
            parts[split] = part.take(np.sort(rng.permutation(n)[:limit]))
    labels = {split: parts[split].labels for split in SPLITS}
    _check_labels(labels, names)
    fitted = phi.fit([text for split in SPLITS for column in columns for text in parts[split].texts[column]])
    inputs, report = {}, {}
    for split in SPLITS:
        before = {column: parts[split].texts[column] for column in columns}
        after = apply_to_columns(fitted, before, phi.name, function=FUNCTION)
        plain, changed = (
            task.single.render_all(parts[split].texts),
            task.single.render_all({**parts[split].texts, **after}),
        )
        inputs[split] = [*plain, *changed]
        report[split] = {
            "n_rows": len(plain),
            "n_changed": sum(one != other for one, other in zip(plain, changed, strict=True)),
            "columns": {column: fitted.report(texts, after[column]) for column, texts in before.items()},
        }
    facts = {"name": phi.name, "parameters": dict(phi.parameters), "columns": list(columns), "changes": report}
    return Rows(inputs, labels, names, task, facts, dropped, _hash(inputs, labels, names))


def _read_splits(options: ExperimentOptions) -> dict[str, Source]:
    """Read ``train``, ``test`` and, where there is one, ``validation``, of files or of a data set."""
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
        except Exception as problem:  # of many kinds, all for a data set that cannot be loaded
            remedy = f"{type(problem).__name__}: {first_line(problem)}"
            raise input_error(FUNCTION, "dataset", "be one that can be loaded", got=name, remedy=remedy) from None
    kept = [split for split in SPLITS if split in splits]
    return {split: split_source(f"{name} ({split})", splits[split], task) for split in kept}


def _label_names(options: ExperimentOptions, rows: Source, of_task: Sequence[str]) -> tuple[str, ...]:
    """Return the labels in class order: the user's, the data set's, the task's, or those of the training rows."""
    names = options.label_names or rows.label_names or tuple(of_task)
    values = rows.columns.get(options.label_column, ())
    return tuple(names) or tuple(sorted({str(value).strip() for value in values if not is_unlabelled(value)}))


def _check_labels(labels: Mapping[str, NDArray[np.int64]], names: Sequence[str]) -> None:
    """Refuse training rows of one label only, and fewer validation rows than classes."""
    distinct = np.unique(labels["train"]).tolist()
    if len(distinct) < 2:
        got = names[distinct[0]] if distinct else "no rows"
        raise input_error(FUNCTION, "train", "have rows of at least two labels", got=got)
    n_validation = len(labels["validation"])
    if n_validation < len(names):
        must = f"have at least as many rows as there are labels ({len(names)})"
        remedy = "Give a larger `validation` file, or raise `validation_share` or `validation_rows`."
        raise input_error(FUNCTION, "validation", must, got=n_validation, remedy=remedy)


def _find_task(options: ExperimentOptions, rows: Source) -> Task:
    columns = options.text_columns
    if columns is not None:
        try:
            template = Template(f"{{{columns[0]}}}", f"{{{columns[1]}}}" if len(columns) == 2 else None)
            return Task("text", "Texts in columns that the user names.", columns, (), template)
        except ValueError:
            raise input_error(FUNCTION, "text_columns", "be columns with plain names", got=columns) from None
    remedy = "For instance nli, or `text_columns` premise,hypothesis."
    return find_task(rows, options.task, function=FUNCTION, remedy=remedy)


def _part(options: ExperimentOptions, rows: Source, task: Task, names: Sequence[str]) -> _Part:
    drop = options.drop_unlabelled
    labels = label_rows(rows, names, options.label_column, drop_unlabelled=drop, function=FUNCTION)
    texts = {}
    for column in task.columns:
        if column not in rows.columns:
            reads = f"Task {task.name} reads {', '.join(task.columns)}"
            remedy = f"{reads}: rename columns, or name them with `text_columns`."
            raise input_error(FUNCTION, column, f"be a column of {rows.name}", got=list(rows.columns), remedy=remedy)
        values = rows.columns[column]
        for i in labels:
            if not isinstance(values[i], str):
                must, remedy = f"be text in {rows.name}", "Fix or drop the row."
                raise input_error(FUNCTION, column, must, got=values[i], row=i, remedy=remedy)
        texts[column] = [values[i] for i in labels]
    return _Part(texts, np.array(list(labels.values()), dtype=np.int64))


def _hash(
    inputs: Mapping[str, Sequence[ModelInput]], labels: Mapping[str, NDArray[np.int64]], names: Sequence[str]
) -> str:
    digest = hashlib.blake2b(repr(tuple(names)).encode(), digest_size=8)
    for split in SPLITS:
        for row in inputs[split]:
            digest.update(repr(tuple(row)).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(labels[split]).tobytes())
    return digest.hexdigest()


def sample_rows(n: int, rho: float, rng: np.random.Generator, *, exact_count: bool = False) -> NDArray[np.int64]:
    """Draw a sample of a split, DGP(phi, rho): int64 array, shape (n,), entry i is i (the original) or n + i.

    `rho`, in [0, 1], is the probability that a row is in its transformed version, for each row independently. With
    `exact_count` round(rho n) rows are transformed, drawn without replacement (as the authors' program does).
    """
    if not 0 <= rho <= 1:
        raise input_error("sample_rows", "rho", "lie between 0 and 1", got=rho)
    transformed: NDArray[np.bool_]
    if exact_count:
        transformed = np.zeros(n, dtype=np.bool_)
        transformed[rng.permutation(n)[: round(rho * n)]] = True
    else:
        transformed = rng.random(n) < rho
    return np.arange(n, dtype=np.int64) + n * transformed


def unit_seed(seed: int, *parts: float | int) -> np.random.SeedSequence:
    """Return a separate seed for each part of the experiment, independent of other parts and of their order.

    Numbers are rounded to nine decimals, so that a rho written 0.30000000000000004 is 0.3.
    """
    return np.random.SeedSequence([seed, *(round(part * 10**9) for part in parts)])
