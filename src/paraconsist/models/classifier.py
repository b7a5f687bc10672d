"""What the runner and the trainer need of a model: one protocol, one form of prepared input; and trained heads."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from paraconsist.data.predictions import input_notes
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.tasks import ModelInput, Task
from paraconsist.errors import input_error
from paraconsist.models.batching import BatchPolicy, Shape
from paraconsist.models.fixed_batches import FixedBatches

TokenArray = NDArray[np.int64]
#: For each row one input, or one per choice.
Inputs = Sequence[tuple[ModelInput, ...]]


@dataclass(slots=True)
class Prepared(Shape):
    """One row, tokenised."""

    #: token or feature numbers: one for a classifier, one per choice for multiple choice
    sequences: tuple[TokenArray, ...]
    type_ids: tuple[TokenArray, ...] | None  # segment numbers, where used; same shapes as `sequences`
    n_cut: int = field(default=0, kw_only=True)  # tokens beyond the model's window, which were cut off
    n_over: int = field(default=0, kw_only=True)  # tokens beyond the window of a model whose prompts are never cut

    @classmethod
    def of(
        cls, sequences: Sequence[TokenArray], type_ids: Sequence[TokenArray] | None = None, n_cut: int = 0
    ) -> Prepared:
        """Count tokens and width once, when the row is made."""
        lengths = [len(sequence) for sequence in sequences]
        types = None if type_ids is None else tuple(type_ids)
        return cls(sum(lengths), max(lengths), len(lengths), tuple(sequences), types, n_cut=n_cut)


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

    def encode_all(self, task: Task, rows: pa.Table) -> Inputs:
        """`encode` of all rows of a table with the task's columns."""

    def prepare(self, inputs: Inputs) -> list[Prepared]:
        """Tokenise all rows at once, on the CPU, without padding."""

    def collate(self, batch: Sequence[Prepared]) -> dict[str, torch.Tensor]:
        """The arguments of the module's `forward` for these rows, padded to the longest, on the CPU."""

    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        """Scores, shape (n, n_labels), float32, on the module's device."""


@runtime_checkable
class PlansBatches(Protocol):
    """A classifier that says itself which rows are computed together; `plan_batches` does it for the others."""

    by_text: bool  # whether inputs that begin alike are to be near one another; else those of one length

    def plan(self, inputs: Inputs, shapes: Sequence[Shape], policy: BatchPolicy) -> list[list[int]]:
        """Positions in `inputs`, each exactly once; the same on every process."""


@runtime_checkable
class WritesAnswers(Protocol):
    """A classifier that gives no scores but writes its answer, which is then read."""

    def write(self, batch: Sequence[Prepared]) -> list[WrittenAnswer | None]:
        """What it wrote for each row, and the label read from it; None where its numbers were not finite."""


class ModuleClassifier:
    """A classifier whose module gives the scores: what those of this package and of transformers have in common."""

    pads = True
    fixed: FixedBatches | None = None  # see `fix_batches`

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

    def encode_all(self, task: Task, rows: pa.Table) -> Inputs:
        """`encode` of all rows of a table with the task's columns."""
        columns = {name: rows[name].to_pylist() for name in task.columns}
        templates = task.templates(multiple_choice=self.multiple_choice)
        return [*zip(*(template.render_all(columns) for template in templates), strict=True)]

    def collate(self, batch: Sequence[Prepared], width: int = 0) -> dict[str, torch.Tensor]:
        """The arguments of the module's `forward` for these rows, padded to the longest or to `width`, on the CPU."""
        raise NotImplementedError

    @torch.inference_mode()
    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        """Scores, shape (n, n_labels), float32, on the module's device."""
        scores: torch.Tensor = self.scores(batch) if self.fixed is None else self.fixed.scores(self.scores, batch)
        return scores

    def scores(self, batch: Sequence[Prepared], width: int = 0) -> torch.Tensor:
        """`logits` of one batch, padded to `width` if that is given; the mask is left out where nothing is padded."""
        device, inputs = self.module.device, self.collate(batch, width)
        if not width and inputs["input_ids"].numel() == sum(row.n_tokens for row in batch):
            inputs.pop("attention_mask", None)
        if device.type == "cuda":  # only from pinned memory does a copy run beside the computation
            inputs = {name: tensor.pin_memory() for name, tensor in inputs.items()}
        logits = self.module(**{name: tensor.to(device, non_blocking=True) for name, tensor in inputs.items()}).logits
        return torch.as_tensor(logits).float()


def by_row(
    inputs: Inputs,
    sequences: Sequence[TokenArray],
    type_ids: Sequence[TokenArray] | None = None,
    *,
    n_texts: int = 1,
    n_cut: Sequence[int] = (),
) -> list[Prepared]:
    """Put together what belongs to a row: `n_texts` sequences for each of its inputs, which stand end to end."""
    if len(sequences) == len(inputs) and n_texts == 1:
        lengths, types = map(len, sequences), repeat(None) if type_ids is None else ((one,) for one in type_ids)
        return [
            Prepared(n, n, 1, (sequence,), kind, n_cut=cut)
            for n, sequence, kind, cut in zip(lengths, sequences, types, n_cut or repeat(0), strict=False)
        ]
    ends = np.cumsum([len(row) * n_texts for row in inputs]).tolist()
    places = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    return [
        Prepared.of(sequences[place], None if type_ids is None else type_ids[place], sum(n_cut[place]))
        for place in places
    ]


def _arrays(rows: Sequence[Sequence[int]]) -> list[TokenArray]:
    """Return rows of numbers as arrays, which share one."""
    ends = np.cumsum([0, *map(len, rows)])
    numbers = np.fromiter(chain.from_iterable(rows), np.int64, ends[-1])
    return [*map(numbers.__getitem__, map(slice, ends[:-1].tolist(), ends[1:].tolist()))]


def warn_of_cut(prepared: Sequence[Prepared], max_length: int | None = None) -> None:
    """Warn of rows that were cut to the model's window, or to `max_length`."""
    cut = [row.n_cut for row in prepared if row.n_cut]
    counts = {"n_inputs": len(prepared), "n_cut": len(cut), "most_tokens_cut": max(cut, default=0)}
    for note in input_notes({"inputs": counts, "model": {"max_length": max_length}}):
        warnings.warn(f"{note}.", UserWarning, stacklevel=2)


def pad_sequences(
    sequences: Sequence[TokenArray], fill: int, *, left: bool = False, width: int = 1
) -> tuple[TokenArray, NDArray[np.bool_]]:
    """Pad to the longest sequence, at least to `width`; return rows and where they are real, both (n, width)."""
    lengths = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
    width = max(int(lengths.max(initial=0)), width, 1)
    if len(sequences) and lengths.min() == width:
        padded = np.concatenate(sequences).reshape(-1, width)
        return padded, np.ones(padded.shape, np.bool_)
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


#: Tokenizers call "no limit" a number above this.
_NO_LIMIT = 1_000_000
#: Inputs by which it is seen whether a tokenizer adds something to what the library behind it does.
_N_COMPARED = 8
#: Models whose classification head reads the last place of the row; all others are padded on the right.
_LEFT_PADDED = frozenset({"xlnet"})


class HeadClassifier(ModuleClassifier):
    """A sequence-classification or multiple-choice model behind the `Classifier` protocol.

    Label names stand in logit order. Inputs longer than `max_length` tokens lose tokens from the end of the longer text
    of the pair first (`longest_first`).
    """

    @property
    def reentrant(self) -> bool:
        """Whether threads may call `logits` at a time; without a pad token each batch sets one in the config."""
        return self._pad_id is not None

    def __init__(
        self,
        module: Any,
        tokenizer: Any,
        label_names: tuple[str, ...],
        *,
        multiple_choice: bool,
        max_length: int | None,
        identity: Mapping[str, str],
    ) -> None:
        super().__init__(module, label_names, multiple_choice=multiple_choice, identity=identity)
        self.tokenizer = tokenizer
        self.max_length = max_length
        #: tokenizer and whether it was asked for single texts -> whether the library behind it gives the same numbers
        self._same: dict[tuple[Any, bool], bool] = {}
        self._uses_types = "token_type_ids" in tokenizer.model_input_names
        self._left = module.config.model_type in _LEFT_PADDED
        self._pad_id: int | None = tokenizer.pad_token_id
        text_config = module.config.get_text_config()
        if self._pad_id is not None and getattr(text_config, "pad_token_id", None) is None:
            text_config.pad_token_id = self._pad_id
        # without any pad token an id is chosen for each batch that does not occur in it (see collate)
        self._chosen_pad_config = text_config if self._pad_id is None else None

    def prepare(self, inputs: Sequence[tuple[ModelInput, ...]]) -> list[Prepared]:
        """Tokenise all rows in one call, without padding."""
        flat = list(chain.from_iterable(inputs))
        if not flat:
            return []
        columns = self._tokenise(flat, truncate=False)
        sequences = columns["input_ids"]
        limit = self.max_length
        long = [] if limit is None else [i for i, sequence in enumerate(sequences) if len(sequence) > limit]
        n_cut = [0] * len(flat)
        if long:
            for i in long:
                n_cut[i] = len(sequences[i]) - (limit or 0)
            for name, cut in self._tokenise([flat[i] for i in long], truncate=True).items():
                for place, i in enumerate(long):
                    columns[name][i] = cut[place]
        arrays = {name: _arrays(column) for name, column in columns.items()}
        return by_row(inputs, arrays["input_ids"], arrays.get("token_type_ids"), n_cut=n_cut)

    def _tokenise(self, flat: Sequence[ModelInput], *, truncate: bool) -> dict[str, list[list[int]]]:
        """Token and, where used, segment numbers; inputs with a second text and without it in a call each."""
        options: dict[str, Any] = {"return_token_type_ids": self._uses_types, "return_attention_mask": False}
        options |= {"padding": False, "verbose": False, "truncation": "longest_first" if truncate else False}
        options |= {"max_length": self.max_length} if truncate else {}
        names = ["input_ids", "token_type_ids"] if self._uses_types else ["input_ids"]
        columns: dict[str, list[list[int]]] = {name: [[] for _ in flat] for name in names}
        for paired in (False, True):
            places = [i for i, one in enumerate(flat) if (one.text_pair is not None) is paired]
            if not places:
                continue
            texts: list[Any] = [flat[i].text for i in places]
            second: list[Any] | None = [flat[i].text_pair for i in places] if paired else None
            encoded = self._by_backend(texts, second, options) or self.tokenizer(texts, second, **options)
            for name, column in columns.items():
                for place, numbers in zip(places, encoded[name], strict=True):
                    column[place] = numbers
        return columns

    def _by_backend(
        self, texts: list[str], second: list[str] | None, options: Mapping[str, Any]
    ) -> dict[str, list[list[int]]] | None:
        """Numbers by the library behind the tokenizer, in half the time; None where it cannot be, or they differ."""
        backend: Any = getattr(self.tokenizer, "backend_tokenizer", None)
        compared = self.tokenizer, second is None
        if options["truncation"] or not hasattr(backend, "encode_batch_fast") or self._same.get(compared) is False:
            return None
        backend.no_truncation()
        backend.no_padding()
        rows = backend.encode_batch_fast(texts if second is None else list(zip(texts, second, strict=True)))
        encoded = {"input_ids": [row.ids for row in rows]}
        if self._uses_types:
            encoded["token_type_ids"] = [row.type_ids for row in rows]
        if compared not in self._same:
            some = None if second is None else second[:_N_COMPARED]
            expected = self.tokenizer(texts[:_N_COMPARED], some, **options)
            self._same[compared] = all(encoded[name][:_N_COMPARED] == expected[name] for name in encoded)
        return encoded if self._same[compared] else None

    def collate(self, batch: Sequence[Prepared], width: int = 0) -> dict[str, torch.Tensor]:
        """``input_ids``, ``attention_mask`` and, where used, ``token_type_ids``, padded to the longest or to `width`.

        Int64, on the CPU, of shape (n, width), or (n, choices, width) for multiple choice.
        """
        n_sequences = require_rows("HeadClassifier", batch)
        sequences = [sequence for row in batch for sequence in row.sequences]
        pad_id = self._pad_id if self._pad_id is not None else self._absent_id(sequences)
        padded, real = pad_sequences(sequences, pad_id, left=self._left, width=width)
        arrays: dict[str, NDArray[Any]] = {"input_ids": padded, "attention_mask": real.astype(np.int64)}
        if self._uses_types:
            types = [numbers for row in batch for numbers in row.type_ids or ()]
            fill = int(getattr(self.tokenizer, "pad_token_type_id", 0) or 0)
            arrays["token_type_ids"], _ = pad_sequences(types, fill, left=self._left, width=width)
        if self.multiple_choice:
            arrays = {name: a.reshape(len(batch), n_sequences, -1) for name, a in arrays.items()}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def _absent_id(self, sequences: Sequence[NDArray[np.int64]]) -> int:
        """A token id that no sequence has: such models find the end of a row by looking for the pad id."""
        present = np.unique(np.concatenate(sequences))
        gaps = np.flatnonzero(present != np.arange(len(present)))
        absent = int(gaps[0]) if len(gaps) else len(present)
        assert self._chosen_pad_config is not None
        if absent >= self._chosen_pad_config.vocab_size:
            absent = int(present[-1])
        self._chosen_pad_config.pad_token_id = absent
        return absent


def window_of(module: Any) -> int | None:
    """Positions that a model has; None where any length goes (relative positions, as T5's)."""
    positions = getattr(module.config.get_text_config(), "max_position_embeddings", None)
    return positions if isinstance(positions, int) and positions > 0 else None


def longest_input(module: Any, tokenizer: Any) -> int | None:
    """The longest input in tokens that both model and tokenizer allow; None where neither names a limit.

    Models that number positions from behind the pad token (RoBERTa and its kin) lose those places:
    514 positions, 512 tokens.
    """
    limits = []
    positions = window_of(module)
    if positions is not None:
        for name, part in module.named_modules():
            if name.endswith("position_embeddings") and getattr(part, "padding_idx", None) is not None:
                positions = min(positions, part.num_embeddings - part.padding_idx - 1)
        limits.append(positions)
    if 0 < (tokenizer.model_max_length or 0) < _NO_LIMIT:
        limits.append(int(tokenizer.model_max_length))
    return min(limits) if limits else None
