"""A classifier's probabilities for rows of texts, computed by the runner's loop, each distinct input once."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.predictions import input_notes
from paraconsist.data.store import Result, Store, count_inputs
from paraconsist.data.tasks import Task, input_id
from paraconsist.errors import input_error

if TYPE_CHECKING:
    from paraconsist.models.classifier import Classifier


Floats = npt.NDArray[np.float64]


class Predictor:
    """A classifier that remembers its probabilities; for one process only.

    They are kept in the folder `store`, so that a killed command resumes from there; by default in memory.
    """

    def __init__(self, model: Classifier, task: Task, *, store: Path | None = None, device: str | None = None) -> None:
        from paraconsist.models.batching import BatchPolicy
        from paraconsist.running.loop import start_accelerator
        from paraconsist.running.run import store_identity

        if model.writes:
            must = "give probabilities of its labels"
            raise input_error("sensitivity", "model", must, got=model.identity.get("model"))
        self.model = model
        self.task = task
        self._accelerator = start_accelerator(device=device)
        if self._accelerator.num_processes > 1:
            must = "be one: generation is not spread"
            raise input_error("paraphrase", "processes", must, got=self._accelerator.num_processes)
        self._policy = BatchPolicy.for_device(self._accelerator.device.type)
        self._folder = store
        self._identity = store_identity(model.identity, task)
        self._known: dict[str, list[float]] = {}

    @property
    def label_names(self) -> tuple[str, ...]:
        """The model's labels, in the order of the probabilities."""
        return self.model.label_names

    def finished(self, bucket_set: BucketSet) -> dict[str, Result]:
        """Return the answers to a set's inputs by id, as the runner's store does; absent ones are computed."""
        self.probabilities(bucket_set.table.select(self.task.columns).to_pylist())
        return {name: self._known[name] for name in bucket_set.table["input_id"].to_pylist()}

    def probabilities(self, rows: Sequence[Mapping[str, str]]) -> Floats:
        """Return the model's probabilities, shape (n, n_labels), for rows of the task's columns."""
        ids = [input_id(self.task, row) for row in rows]
        absent = {i: row for i, row in zip(ids, rows, strict=True) if i not in self._known}
        if absent and self._folder is not None:
            self._compute(absent, self._folder)
        elif absent:
            with tempfile.TemporaryDirectory(prefix="paraconsist-") as folder:
                self._compute(absent, Path(folder))
        n_labels = len(self.label_names)
        return np.array([self._known[i] for i in ids], dtype=np.float64).reshape(len(ids), n_labels)

    def _compute(self, rows: Mapping[str, Mapping[str, str]], folder: Path) -> None:
        from paraconsist.running.loop import compute

        store = Store(folder, self._identity)
        columns = {name: [row[name] for row in rows.values()] for name in self.task.columns}
        table = pa.table({"input_id": list(rows), **columns})
        inputs = BucketSet("variants", self.task, self.task.label_names, table, "")
        compute(self.model, [inputs], store, self._accelerator, self._policy)
        finished = store.finished()
        counts = count_inputs(list(rows), finished.places(list(rows)), finished)
        for note in input_notes({"inputs": counts, "model": self.model.identity}):
            warnings.warn(f"{note}.", UserWarning, stacklevel=3)
        self._known.update({name: result for name in rows if isinstance(result := finished[name], list)})
