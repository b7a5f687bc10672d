"""The rows of an IE experiment: labelled, transformed, and both versions of every text side by side, once.

The rows of a split lie once in their original version (numbers 0 to n - 1) and once transformed (n to 2n - 1). A sample
chooses a version of each row by its number: no text is copied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.tasks import ModelInput, Task, Template
from paraconsist.errors import input_error
from paraconsist.models.training.data import Source, find_task, label_rows
from paraconsist.studies.ie.options import FUNCTION, ExperimentOptions
from paraconsist.studies.ie.splits import check_labels, label_names, read_splits

SPLITS = ("train", "validation", "test")
#: Parts of the seed, one for each thing that is drawn before any sample.
_LIMIT, _VALIDATION = 101, 102


@dataclass(frozen=True)
class Rows:
    """Both versions of every split.

    Attributes
    ----------
    inputs : mapping
        Split -> what the model reads, 2n rows: the n originals, then the n transformed ones, in the same order.
    labels : mapping
        Split -> int64 array, shape (n,).
    label_names : tuple of str
    task : Task
        The task, or a stand-in for text columns that the user names.
    transformation : mapping
        Name, parameters, and for each split what was changed.
    n_dropped : mapping
        Split -> rows left out for want of a label.
    content_hash : str
        16 hex digits of texts and labels in order.
    """

    inputs: Mapping[str, Sequence[ModelInput]]
    labels: Mapping[str, NDArray[np.int64]]
    label_names: tuple[str, ...]
    task: Task
    transformation: Mapping[str, Any]
    n_dropped: Mapping[str, int]
    content_hash: str

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

    Raises
    ------
    InputError
        For missing columns, labels or texts, too few validation rows, and a transformation that changes nothing; rows
        are counted from 0.
    """
    from paraconsist.transforms.interface import apply_to_columns
    from paraconsist.transforms.registry import transformation

    phi = transformation(options.transformation, **dict(options.transformation_options))  # refused before reading
    splits = read_splits(options)
    task = _find_task(options, splits["train"])
    columns = options.transform_columns or task.columns
    unknown = [column for column in columns if column not in task.columns]
    if unknown:
        raise input_error(FUNCTION, "transform_columns", f"be among {', '.join(task.columns)}", got=unknown[0])
    names = label_names(options, splits["train"], task.label_names)
    parts, dropped = {}, {}
    for split, rows in splits.items():
        parts[split] = _part(options, rows, task, names)
        dropped[split] = rows.n_rows - len(parts[split].labels)
        if dropped[split]:
            say(f"{rows.name}: {dropped[split]:,} of {rows.n_rows:,} rows have no gold label and are left out.")
    if "validation" not in parts:
        parts["validation"], parts["train"] = _split_validation(parts["train"], options)
    for number, split in enumerate(SPLITS):
        parts[split] = _limited(parts[split], getattr(options, f"{split}_rows"), options.seed, number)
    labels = {split: parts[split].labels for split in SPLITS}
    check_labels(labels, names)  # type: ignore[arg-type]
    fitted = phi.fit([text for split in SPLITS for column in columns for text in parts[split].texts[column]])
    inputs, report = {}, {}
    for split in SPLITS:
        before = {column: parts[split].texts[column] for column in columns}
        after = apply_to_columns(fitted, before, phi.name, function=FUNCTION)
        inputs[split] = [*_encode(task, parts[split].texts), *_encode(task, {**parts[split].texts, **after})]
        report[split] = _report(fitted, before, after, inputs[split])
    about = {"name": phi.name, "parameters": dict(phi.parameters), "columns": list(columns), "changes": report}
    return Rows(inputs, labels, names, task, about, dropped, _hash(inputs, labels, names))


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
            must = f"be a column of {rows.name}"
            reads = f"Task {task.name} reads {', '.join(task.columns)}"
            remedy = f"{reads}: rename columns, or name them with `text_columns`."
            raise input_error(FUNCTION, column, must, got=list(rows.columns), remedy=remedy)
        values = rows.columns[column]
        for i in labels:
            if not isinstance(values[i], str):
                must, remedy = f"be text in {rows.name}", "Mend or drop the row."
                raise input_error(FUNCTION, column, must, got=values[i], row=i, remedy=remedy)
        texts[column] = [values[i] for i in labels]
    return _Part(texts, np.array(list(labels.values()), dtype=np.int64))


def _split_validation(part: _Part, options: ExperimentOptions) -> tuple[_Part, _Part]:
    """Take the validation rows from the training rows, at random, once for the whole experiment."""
    n = len(part.labels)
    n_validation = min(n, options.validation_rows or round(options.validation_share * n))
    order = np.random.default_rng(unit_seed(options.seed, _VALIDATION)).permutation(n)
    return part.take(np.sort(order[:n_validation])), part.take(np.sort(order[n_validation:]))


def _limited(part: _Part, limit: int | None, seed: int, number: int) -> _Part:
    n = len(part.labels)
    if limit is None or limit >= n:
        return part
    return part.take(np.sort(np.random.default_rng(unit_seed(seed, _LIMIT, number)).permutation(n)[:limit]))


def _encode(task: Task, texts: Mapping[str, Sequence[str]]) -> list[ModelInput]:
    return [task.single.render(dict(zip(texts, row, strict=True))) for row in zip(*texts.values(), strict=True)]


def _report(
    fitted: Any, before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]], inputs: Sequence[ModelInput]
) -> dict[str, Any]:
    """What was changed: rows, and in each column what the transformation itself says."""
    n = len(inputs) // 2
    changed = sum(inputs[i] != inputs[n + i] for i in range(n))
    columns = {column: fitted.report(texts, after[column]) for column, texts in before.items()}
    return {"n_rows": n, "n_changed": changed, "columns": columns}


def _hash(inputs: Mapping[str, Sequence[ModelInput]], labels: Mapping[str, Any], names: Sequence[str]) -> str:
    digest = hashlib.blake2b(repr(tuple(names)).encode(), digest_size=8)
    for split in SPLITS:
        for row in inputs[split]:
            digest.update(repr(tuple(row)).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(labels[split]).tobytes())
    return digest.hexdigest()


def sample_rows(n: int, rho: float, rng: np.random.Generator, *, exact_count: bool = False) -> NDArray[np.int64]:
    """Draw a sample of a split, DGP(phi, rho): n numbers, row i of the originals or n + i of the transformed rows.

    Parameters
    ----------
    n : int
        Rows of the split.
    rho : float
        Probability that a row is in its transformed version, for each row independently; in [0, 1].
    rng : numpy.random.Generator
    exact_count : bool
        Transform round(rho n) rows, drawn without replacement (as the authors' program does).

    Returns
    -------
    int64 array, shape (n,)
        Entry i is i (the original) or n + i (the transformed version). At rho 0 and 1 nothing is random.

    Raises
    ------
    InputError
        If rho is outside [0, 1].
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
    """A seed of its own for each part of the experiment, whatever else is run, and in whatever order.

    Numbers are taken to nine decimals, so that a rho written 0.30000000000000004 is 0.3.
    """
    return np.random.SeedSequence([seed, *(round(part * 10**9) for part in parts)])
