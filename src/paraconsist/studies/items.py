"""Items to select from, and which of them to paraphrase.

Rows are read, checked, grouped by context and kept apart from what models have seen; items are drawn in turn from each
decile of a model's confidence, so many easy and so many difficult.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.tables import read_table
from paraconsist.data.tasks import Task
from paraconsist.errors import input_error
from paraconsist.measures.sampling_correction import deciles
from paraconsist.models.training.data import Source, context_texts, encode_examples, find_task, label_rows
from paraconsist.models.training.options import TrainingOptions

_FUNCTION = "select"
_N_DECILES = 10


@dataclass(frozen=True)
class Items:
    """Rows to select from.

    Attributes
    ----------
    name : str
        The file.
    columns : mapping
        Column -> values.
    task : Task
    label_names : tuple of str
    labels : int array, shape (n,)
    inputs : tuple
        What models read of each row.
    contexts : list of str
        What rows may share (premise and hypothesis): they are never set apart from one another.
    """

    name: str
    columns: Mapping[str, Sequence[Any]]
    task: Task
    label_names: tuple[str, ...]
    labels: NDArray[np.int64]
    inputs: tuple[Any, ...]
    contexts: list[str]

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, mask: NDArray[np.bool_]) -> Items:
        """Return the rows where `mask`, of shape (n,), is true."""
        places = np.flatnonzero(mask).tolist()
        return replace(
            self,
            columns={name: [values[i] for i in places] for name, values in self.columns.items()},
            labels=self.labels[mask],
            inputs=tuple(self.inputs[i] for i in places),
            contexts=[self.contexts[i] for i in places],
        )

    @property
    def groups(self) -> NDArray[np.int64]:
        """A number for each context, shape (n,)."""
        return np.unique(np.array(self.contexts), return_inverse=True)[1].astype(np.int64)

    @property
    def group_ids(self) -> list[str]:
        """A short name for each row's context that is the same wherever the context stands."""
        return [hashlib.blake2b(text.encode("utf-8"), digest_size=6).hexdigest() for text in self.contexts]


def read_items(
    file: Path,
    *,
    task: str | None = None,
    label_column: str = "label",
    label_names: tuple[str, ...] | None = None,
    group_columns: tuple[str, ...] | None = None,
    drop_unlabelled: bool = False,
    limit: int | None = None,
    seed: int = 0,
    say: Any = lambda line: None,
) -> Items:
    """Read rows as `paraconsist train` reads them.

    Parameters
    ----------
    file : Path
        CSV, TSV, JSON Lines or Parquet.
    limit : int, optional
        A random sample of this many rows.

    Raises
    ------
    InputError
        For missing columns, texts and labels, as in training.
    """
    columns = read_table(file, function=_FUNCTION, parameter="rows").to_pydict()
    options = TrainingOptions(
        model="bow",
        output=Path(),
        train_file=file,
        task=task,
        label_column=label_column,
        label_names=label_names,
        drop_unlabelled=drop_unlabelled,
    )
    source = Source(str(file), columns)
    of_task = find_task(source, options.task)
    names = label_names or of_task.label_names
    multiple = bool(of_task.choices) and set(of_task.columns) <= set(columns)
    examples = encode_examples(source, of_task, options, names, multiple_choice=multiple, say=say)
    if examples.n_dropped:
        labelled = label_rows(source, names, label_column, drop_unlabelled=True)
        columns = {name: [values[i] for i in labelled] for name, values in columns.items()}
    contexts = context_texts(columns, of_task, group_columns, function=_FUNCTION, name=str(file))
    labels = np.array(examples.labels, dtype=np.int64)
    alone = [""] * len(labels)
    items = Items(str(file), columns, of_task, tuple(names), labels, examples.inputs, contexts or alone)
    if limit is not None and limit < len(items):
        chosen = np.random.default_rng(seed).choice(len(items), size=limit, replace=False)
        items = items.part(np.isin(np.arange(len(items)), chosen))
    return items if contexts is not None else replace(items, contexts=[str(row) for row in range(len(items))])


def check_unseen(model: str, parameter: str, items: Items, *, group_columns: tuple[str, ...] | None = None) -> None:
    """Refuse a model that was trained on contexts of the items: what it says of them would be remembered.

    Where the model's folder says what it was trained on, and that file is still there, the two are compared.

    Raises
    ------
    InputError
        Saying how many contexts are common.
    """
    try:
        record = json.loads((Path(model).expanduser() / "training.json").read_text(encoding="utf-8"))
        file = Path(record["options"]["train_file"])
    except (OSError, ValueError, KeyError, TypeError):
        return
    if not file.is_file():
        return
    columns = read_table(file, function=_FUNCTION, parameter=parameter).to_pydict()
    by = group_columns if group_columns is not None and set(group_columns) <= set(columns) else None
    seen = context_texts(columns, items.task, by, function=_FUNCTION, name=str(file))
    common = set(items.contexts) & set(seen or ())
    if common:
        must = f"not be trained on contexts of {items.name}"
        remedy = (
            f"{len(common):,} of the {len(set(items.contexts)):,} contexts stand in {file}, such as "
            f"{sorted(common)[0][:80]!r}: the partition leaks. Train it on other rows (see `pool`)."
        )
        raise input_error(_FUNCTION, parameter, must, got=model, remedy=remedy)


def round_robin(
    strata: NDArray[np.int64], size: int, *, rng: np.random.Generator, n_strata: int = _N_DECILES
) -> NDArray[np.intp]:
    """Draw `size` positions, one from each stratum in turn, until enough; strata that are used up are passed over.

    Parameters
    ----------
    strata : int array, shape (n,)
        From 0 to n_strata - 1.
    size : int
    rng : numpy.random.Generator
        Of the order within a stratum.

    Returns
    -------
    int array, shape (min(size, n),)
        In the order in which they were drawn.
    """
    queues = [list(rng.permutation(np.flatnonzero(strata == s))) for s in range(n_strata)]
    drawn: list[int] = []
    while len(drawn) < size and any(queues):
        for queue in queues:
            if queue and len(drawn) < size:
                drawn.append(int(queue.pop()))
    return np.array(drawn, dtype=np.intp)


def sample_by_difficulty(
    easy: NDArray[np.bool_], confidences: Any, *, n_easy: int = 125, n_difficult: int = 125, seed: int = 0
) -> NDArray[np.intp]:
    """Draw easy and difficult items, each evenly over the deciles of a model's confidence in the gold label.

    Parameters
    ----------
    easy : bool array, shape (n,)
    confidences : array, shape (n,)
        In [0, 1].
    n_easy, n_difficult : int
        The paper: 125 of each.
    seed : int

    Returns
    -------
    int array
        Positions, easy items first.

    Warns
    -----
    UserWarning
        Where there are fewer items than asked for.

    Raises
    ------
    InputError
        If a confidence is no share.
    """
    values = np.asarray(confidences, dtype=np.float64)
    must = f"be a number from 0 to 1 for each of the {len(easy)} rows"
    if values.shape != easy.shape:
        raise input_error(_FUNCTION, "confidence", must, got=f"{len(values)} numbers")
    inside = (values >= 0) & (values <= 1)
    if not inside.all():
        row = int(np.argmin(inside))
        raise input_error(_FUNCTION, "confidence", must, got=float(values[row]), row=row)
    rng = np.random.default_rng(seed)
    strata = deciles(values)
    drawn = []
    for name, mask, size in (("easy", easy, n_easy), ("difficult", ~easy, n_difficult)):
        places = np.flatnonzero(mask)
        drawn.append(places[round_robin(strata[places], size, rng=rng)])
        if len(places) < size:
            warnings.warn(f"there are only {len(places)} {name} items of {size} asked for", UserWarning, stacklevel=2)
    return np.concatenate(drawn)
