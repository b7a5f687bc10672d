"""What the runner and the trainer need of a model: one protocol, one form of prepared input, one base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.tasks import ModelInput, Task
from paraconsist.errors import input_error

if TYPE_CHECKING:
    from paraconsist.models.batching import BatchPolicy, Shape


TokenArray = NDArray[np.int64]
#: For each row one input, or one per choice.
Inputs = Sequence[tuple[ModelInput, ...]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """One row, tokenised."""

    #: token or feature numbers: one for a classifier, one per choice for multiple choice
    sequences: tuple[TokenArray, ...]
    type_ids: tuple[TokenArray, ...] | None  # segment numbers, where used; same shapes as `sequences`
    n_tokens: int  # real tokens, over all sequences
    width: int  # length of the longest sequence

    @property
    def n_sequences(self) -> int:
        """1, or the number of choices."""
        return len(self.sequences)

    @classmethod
    def of(cls, sequences: Sequence[TokenArray], type_ids: Sequence[TokenArray] | None = None) -> Prepared:
        """Count tokens and width once, when the row is made."""
        lengths = [len(sequence) for sequence in sequences]
        types = None if type_ids is None else tuple(type_ids)
        return cls(tuple(sequences), types, sum(lengths), max(lengths))


@runtime_checkable
class Classifier(Protocol):
    """A model that gives one score per label for each row. `load_model` returns one."""

    module: torch.nn.Module
    label_names: tuple[str, ...]
    multiple_choice: bool
    pads: bool
    identity: Mapping[str, str]

    @property
    def reentrant(self) -> bool:
        """Whether several threads may call `logits` at a time."""

    def encode(self, task: Task, row: Mapping[str, Any]) -> tuple[ModelInput, ...]:
        """The row's texts: one input, or one per choice."""

    def prepare(self, inputs: Inputs) -> list[Prepared]:
        """Tokenise all rows at once, on the CPU, without padding."""

    def collate(self, batch: Sequence[Prepared]) -> dict[str, torch.Tensor]:
        """The arguments of the module's `forward` for these rows, padded to the longest, on the CPU."""

    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        """Scores, shape (n, n_labels), float32, on the module's device."""


@runtime_checkable
class PlansBatches(Protocol):
    """A classifier that says itself which rows are computed together; `plan_batches` does it for the others."""

    def plan(self, inputs: Inputs, shapes: Sequence[Shape], policy: BatchPolicy) -> list[list[int]]:
        """Positions in `inputs`, each exactly once; the same on every process."""


@runtime_checkable
class WritesAnswers(Protocol):
    """A classifier that gives no scores but writes its answer, which is then read."""

    def write(self, batch: Sequence[Prepared]) -> list[WrittenAnswer]:
        """What it wrote for each row, and the label read from it."""


class ModuleClassifier:
    """A classifier whose module gives the scores: what those of this package and of transformers have in common."""

    pads = True

    def __init__(
        self, module: Any, label_names: tuple[str, ...], *, multiple_choice: bool, identity: Mapping[str, str]
    ) -> None:
        self.module = module
        self.label_names = label_names
        self.multiple_choice = multiple_choice
        self.identity = identity

    def encode(self, task: Task, row: Mapping[str, Any]) -> tuple[ModelInput, ...]:
        """The row's texts under the task's template: one input, or one per choice."""
        return task.encode_choices(row) if self.multiple_choice else (task.encode(row),)

    def collate(self, batch: Sequence[Prepared]) -> dict[str, torch.Tensor]:
        """The arguments of the module's `forward` for these rows, padded to the longest, on the CPU."""
        raise NotImplementedError

    @torch.inference_mode()
    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        """Scores, shape (n, n_labels), float32, on the module's device."""
        device = self.module.device
        inputs = {name: tensor.to(device, non_blocking=True) for name, tensor in self.collate(batch).items()}
        scores: torch.Tensor = self.module(**inputs).logits
        return scores.float()


def by_row(
    inputs: Inputs, sequences: Sequence[TokenArray], type_ids: Sequence[TokenArray] | None = None, *, n_texts: int = 1
) -> list[Prepared]:
    """Put together what belongs to a row: `n_texts` sequences for each of its inputs, which stand end to end."""
    ends = np.cumsum([len(row) * n_texts for row in inputs]).tolist()
    places = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    return [Prepared.of(sequences[place], None if type_ids is None else type_ids[place]) for place in places]


def pad_sequences(
    sequences: Sequence[TokenArray], fill: int, *, left: bool = False
) -> tuple[TokenArray, NDArray[np.bool_]]:
    """Pad to the longest sequence; return rows and where they are real (False: `fill`), both of shape (n, width)."""
    lengths = np.fromiter((len(s) for s in sequences), dtype=np.int64, count=len(sequences))
    width = max(int(lengths.max(initial=0)), 1)
    places = np.arange(width)
    real = places >= width - lengths[:, None] if left else places < lengths[:, None]
    padded = np.full((len(sequences), width), fill, dtype=np.int64)
    padded[real] = np.concatenate(sequences) if len(sequences) else np.empty(0, dtype=np.int64)
    return padded, real


def require_rows(function: str, batch: Sequence[Prepared]) -> int:
    """Check that a batch is not empty and that its rows have equally many sequences; return that number."""
    counts = {row.n_sequences for row in batch}
    if len(counts) != 1:
        must = "not be empty, and its rows must have the same number of choices"
        raise input_error(function, "batch", must, got=sorted(counts))
    return counts.pop()
