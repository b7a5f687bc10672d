"""What the runner and the trainer need of a model: one base class, one form of prepared input; and trained heads.

With `Classifier.fix` answers depend, to the last bit, on nothing but their row. Kernels are chosen by the shape of a
batch, and each rounds in its own way. So a row is computed in a batch whose shape follows from the row alone: its width
rounded up, and as many rows as fill a fixed number of tokens (copies fill the places that are left), by one thread.
Kernels treat all places of one shape alike on the processors that were tried; this is checked when a shape first occurs
(the same rows in reverse must give the same bits), and where it fails, rows of that shape are computed one at a time.
Heads are always computed row by row: they give so few numbers that the check might miss that places differ, as they do
in a product of 8 by 32 by 2.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from paraconsist.data.predictions import InputCounts, input_notes
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.tasks import ModelInput, Task
from paraconsist.errors import InputError, first_line, input_error
from paraconsist.models.batching import BatchPolicy, Shape

if TYPE_CHECKING:
    from paraconsist.models.endpoint.settings import PromptSettings

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


class Classifier:
    """A model that answers rows with one of several labels; `load_model` returns one.

    Attributes that a class sets differ between kinds of models; the others are of one model.
    """

    module: Any
    label_names: tuple[str, ...]
    identity: Mapping[str, str]  # what the predictions file records of the model
    multiple_choice = False
    pads = True  # whether the rows of a batch are padded to the longest
    reentrant = False  # whether several threads may call `logits` at a time
    queues = False  # whether they may on an accelerator, which computes what it is given in order
    takes_prompt = False  # whether it is a language model, which is asked a prompt
    writes = False  # whether it writes its answers (`write`) in place of scoring labels (`logits`)
    draws = False  # whether its answers are drawn, and differ from seed to seed
    plans = False  # whether `plan` forms its batches; `plan_batches` does so for the others
    by_text = False  # whether inputs that begin alike belong near one another, in place of those of one length

    def encode(self, task: Task, row: Mapping[str, str]) -> tuple[ModelInput, ...]:
        """Return the row's texts: one input, or one per choice."""
        raise NotImplementedError

    def encode_all(self, task: Task, rows: pa.Table) -> Inputs:
        """Encode all rows of a table with the task's columns."""
        raise NotImplementedError

    def prepare(self, inputs: Inputs) -> list[Prepared]:
        """Tokenise all rows at once, on the CPU, without padding."""
        raise NotImplementedError

    def collate(self, batch: Sequence[Prepared], width: int = 0) -> dict[str, torch.Tensor]:
        """Return the arguments of the module's `forward` padded to the longest row or to `width`, on the CPU."""
        raise NotImplementedError

    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        """Return scores, shape (n, n_labels), float32, on the module's device."""
        raise NotImplementedError

    def write(self, batch: Sequence[Prepared]) -> list[WrittenAnswer | None]:
        """Return each row's written answer with the label read from it; None where its numbers were not finite."""
        raise NotImplementedError

    def plan(self, inputs: Inputs, shapes: Sequence[Shape], policy: BatchPolicy) -> list[list[int]]:
        """Form batches: positions in `inputs`, each exactly once; the same on every process."""
        raise NotImplementedError

    def with_seed(self, seed: int) -> Classifier:
        """Return the same model, drawing its answers from `seed` if it draws them."""
        return self

    def with_settings(self, settings: PromptSettings) -> Classifier:
        """Return the same weights, asked another way."""
        raise NotImplementedError

    def window_error(self, rows: Sequence[Prepared]) -> InputError:
        """Return the error for rows that exceed the window of a model that never cuts."""
        raise NotImplementedError

    def fix(self, device: str) -> None:
        """Compute in batches of fixed shapes from now on; the identity records it. InputError if shapes vary."""
        must = "be given only with classifiers"
        raise input_error("run", "deterministic", must, remedy="Prompts are packed into shapes that are not fixed.")

    def compile(self, device: str) -> None:
        """Compile the module for batches of few fixed shapes, each when it first occurs; answers differ by rounding.

        InputError for models without a tokenizer, and where torch finds no compiler.
        """
        raise input_error("run", "compile", "be given only with classifiers that have a tokenizer")


class ModuleClassifier(Classifier):
    """A classifier whose module gives the scores; the base of this package's own models and those of transformers."""

    fixed: FixedBatches | None = None  # see `fix`

    def __init__(
        self, module: Any, label_names: tuple[str, ...], *, multiple_choice: bool, identity: Mapping[str, str]
    ) -> None:
        self.module = module
        self.label_names = label_names
        self.multiple_choice = multiple_choice
        self.identity = identity

    def encode(self, task: Task, row: Mapping[str, str]) -> tuple[ModelInput, ...]:
        return task.encode_choices(row) if self.multiple_choice else (task.encode(row),)

    def encode_all(self, task: Task, rows: pa.Table) -> Inputs:
        columns = {name: rows[name].to_pylist() for name in task.columns}
        templates = task.templates(multiple_choice=self.multiple_choice)
        return [*zip(*(template.render_all(columns) for template in templates), strict=True)]

    @torch.inference_mode()
    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        return self.scores(batch) if self.fixed is None else self.fixed.scores(self.scores, batch)

    def scores(self, batch: Sequence[Prepared], width: int = 0) -> torch.Tensor:
        """Return `logits` of one batch, padded to `width` if that is given; without a mask where nothing is padded."""
        device, inputs = self.module.device, self.collate(batch, width)
        if not width and inputs["input_ids"].numel() == sum(row.n_tokens for row in batch):
            inputs.pop("attention_mask", None)
        if device.type == "cuda":  # only from pinned memory does a copy run during the computation
            inputs = {name: tensor.pin_memory() for name, tensor in inputs.items()}
        logits = self.module(**{name: tensor.to(device, non_blocking=True) for name, tensor in inputs.items()}).logits
        return torch.as_tensor(logits).float()

    def fix(self, device: str) -> None:
        for layer in self.module.modules():
            if isinstance(layer, torch.nn.Linear):
                layer.forward = partial(_linear, layer)  # type: ignore[method-assign]
        # Scores of few bits do not show whether all places of a batch are alike.
        coarse = next(self.module.parameters()).dtype != torch.float32 or torch.backends.cuda.matmul.allow_tf32
        self.fixed = FixedBatches(0) if coarse and device != "cpu" else self.fixed_batches(device)
        shape = f"{self.fixed.n_tokens} tokens" if self.fixed.n_tokens else "row by row"
        self.identity = {**self.identity, "deterministic": shape}

    def fixed_batches(self, device: str) -> FixedBatches:
        """Return how rows are put into batches whose shapes are fixed: by default each alone."""
        return FixedBatches(0)


def by_row(
    inputs: Inputs,
    sequences: Sequence[TokenArray],
    type_ids: Sequence[TokenArray] | None = None,
    *,
    n_texts: int = 1,
    n_cut: Sequence[int] = (),
) -> list[Prepared]:
    """Group sequences by row: `n_texts` for each of its inputs, end to end."""
    ends = np.cumsum([len(row) * n_texts for row in inputs]).tolist()
    places = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    return [
        Prepared.of(sequences[place], None if type_ids is None else type_ids[place], sum(n_cut[place]))
        for place in places
    ]


def warn_of_cut(prepared: Sequence[Prepared], max_length: int | None = None) -> None:
    """Warn about rows that were cut to the model's window, or to `max_length`."""
    cut = [row.n_cut for row in prepared if row.n_cut]
    counts: InputCounts = {"n_inputs": len(prepared), "n_cut": len(cut), "most_tokens_cut": max(cut, default=0)}
    model = {} if max_length is None else {"max_length": max_length}
    for note in input_notes({"inputs": counts, "model": model}):
        warnings.warn(f"{note}.", UserWarning, stacklevel=2)


def pad_sequences(
    sequences: Sequence[TokenArray], fill: int, *, left: bool = False, width: int = 1
) -> tuple[TokenArray, NDArray[np.bool_]]:
    """Pad to the longest sequence, at least to `width`; return rows and a mask of real tokens, both (n, width)."""
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
#: Number of inputs on which a tokenizer is compared with the library behind it.
_N_COMPARED = 8
#: Models whose classification head reads the last place of the row; others are padded on the right.
_LEFT_PADDED = frozenset({"xlnet"})


class HeadClassifier(ModuleClassifier):
    """A sequence-classification or multiple-choice model of transformers.

    Label names are in logit order. Inputs longer than `max_length` tokens lose tokens from the end of the longer text
    of the pair first (`longest_first`).
    """

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
        #: tokenizer and whether its inputs are single texts -> whether the library behind it returns the same numbers
        self._same: dict[tuple[Any, bool], bool] = {}
        self._uses_types = "token_type_ids" in tokenizer.model_input_names
        self._left = module.config.model_type in _LEFT_PADDED
        self._pad_id: int | None = tokenizer.pad_token_id
        text_config = module.config.get_text_config()
        if self._pad_id is not None and getattr(text_config, "pad_token_id", None) is None:
            text_config.pad_token_id = self._pad_id
        # without any pad token each batch sets one in the configuration: an id that it does not have (see `collate`)
        self.reentrant = self._pad_id is not None
        self._chosen_pad_config = text_config if self._pad_id is None else None

    def prepare(self, inputs: Sequence[tuple[ModelInput, ...]]) -> list[Prepared]:
        """Tokenise all rows in one call, without padding."""
        flat = list(chain.from_iterable(inputs))
        if not flat:
            return []
        columns = self._tokenise(flat, truncate=False)
        sequences = columns["input_ids"]
        limit = self.max_length
        n_cut = [0 if limit is None else max(0, len(sequence) - limit) for sequence in sequences]
        if long := [i for i, n in enumerate(n_cut) if n]:
            for name, cut in self._tokenise([flat[i] for i in long], truncate=True).items():
                for i, numbers in zip(long, cut, strict=True):
                    columns[name][i] = numbers
        arrays = {name: [np.array(row, dtype=np.int64) for row in column] for name, column in columns.items()}
        return by_row(inputs, arrays["input_ids"], arrays.get("token_type_ids"), n_cut=n_cut)

    def _tokenise(self, flat: Sequence[ModelInput], *, truncate: bool) -> dict[str, list[list[int]]]:
        """Return token and, if used, segment numbers; single texts and pairs are tokenised by separate calls."""
        options: dict[str, object] = {"return_token_type_ids": self._uses_types, "return_attention_mask": False}
        options |= {"padding": False, "verbose": False, "truncation": "longest_first" if truncate else False}
        options |= {"max_length": self.max_length} if truncate else {}
        names = ["input_ids", "token_type_ids"] if self._uses_types else ["input_ids"]
        columns: dict[str, list[list[int]]] = {name: [[] for _ in flat] for name in names}
        for paired in {row.text_pair is not None for row in flat}:
            places = [i for i, row in enumerate(flat) if (row.text_pair is not None) is paired]
            texts: list[Any] = [flat[i].text for i in places]
            second: list[Any] | None = [flat[i].text_pair for i in places] if paired else None
            encoded = self._by_backend(texts, second, options) or self.tokenizer(texts, second, **options)
            for name, column in columns.items():
                for place, numbers in zip(places, encoded[name], strict=True):
                    column[place] = numbers
        return columns

    def _by_backend(
        self, texts: list[str], second: list[str] | None, options: Mapping[str, object]
    ) -> dict[str, list[list[int]]] | None:
        """Return numbers from the library behind the tokenizer, in half the time; None if unavailable or different."""
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
        """Return ``input_ids``, ``attention_mask`` and, if used, ``token_type_ids``, padded to the longest or `width`.

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

    def fixed_batches(self, device: str) -> FixedBatches:
        return FixedBatches(_CPU_TOKENS if device == "cpu" else _GPU_TOKENS, self.max_length)

    def compile(self, device: str) -> None:
        try:
            torch.compile(torch.neg, dynamic=False)(torch.zeros(2, device=device))
        except Exception as problem:  # of several libraries
            must, remedy = "be given only where torch can compile", "Install a C++ compiler (g++), or leave it out."
            raise input_error("run", "compile", must, got=first_line(problem), remedy=remedy) from None
        torch._dynamo.config.recompile_limit = max(64, torch._dynamo.config.recompile_limit)  # a shape is one
        self.module.compile(dynamic=False)
        self.fixed = replace(self.fixed_batches(device), step=_COMPILED_STEP, exact=False)

    def _absent_id(self, sequences: Sequence[NDArray[np.int64]]) -> int:
        """Return a token id that no sequence has: such models find the end of a row by the pad id."""
        assert self._chosen_pad_config is not None
        present = np.unique(np.concatenate(sequences))
        gaps = np.setdiff1d(np.arange(self._chosen_pad_config.vocab_size), present, assume_unique=True)
        self._chosen_pad_config.pad_token_id = absent = int(gaps[0] if len(gaps) else present[-1])
        return absent


def window_of(module: Any) -> int | None:
    """Return the number of a model's positions; None if any length is possible (relative positions, as T5's)."""
    positions = getattr(module.config.get_text_config(), "max_position_embeddings", None)
    return positions if isinstance(positions, int) and positions > 0 else None


def longest_input(module: Any, tokenizer: Any) -> int | None:
    """Return the longest input in tokens that both model and tokenizer allow; None if neither names a limit.

    Models that number positions from after the pad token (RoBERTa and its relatives) lose those places: 514 positions,
    512 tokens.
    """
    limits = []
    if (positions := window_of(module)) is not None:
        limits.append(positions)
        for name, part in module.named_modules():
            if name.endswith("position_embeddings") and getattr(part, "padding_idx", None) is not None:
                limits.append(part.num_embeddings - part.padding_idx - 1)
    if 0 < (tokenizer.model_max_length or 0) < _NO_LIMIT:
        limits.append(int(tokenizer.model_max_length))
    return min(limits, default=None)


#: Rows, sequences a row, tokens a sequence.
FixedShape = tuple[int, int, int]
#: Takes rows and a width; returns their scores.
Compute = Callable[[Sequence[Prepared], int], torch.Tensor]

_CPU_TOKENS, _GPU_TOKENS = 512, 4096
_STEP, _COMPILED_STEP = 4, 32  # widths are multiples of it
_WIDE = 32  # least outputs of a layer that is not a head


@dataclass(frozen=True)
class FixedBatches:
    """How the rows of one model form batches; with 0 tokens each row is a batch of its own width."""

    n_tokens: int  # of a batch, at most, unless one row has more
    longest: int | None = None  # the largest width
    step: int = _STEP  # widths are multiples of it
    exact: bool = True  # whether a row must have the same bits in all places, which one thread computes and checks
    _alone: dict[FixedShape, bool] = field(default_factory=dict)  # shape -> whether its rows are computed one at a time

    def shape(self, row: Prepared) -> FixedShape:
        """Return the shape of the batch in which a row is computed."""
        if not self.n_tokens:
            return 1, row.n_sequences, row.width
        width = -(-row.width // self.step) * self.step
        width = max(row.width, min(width, self.longest or width))
        n_rows = max(1, self.n_tokens // (width * row.n_sequences))
        return 1 << n_rows.bit_length() - 1, row.n_sequences, width

    def scores(self, compute: Compute, batch: Sequence[Prepared]) -> torch.Tensor:
        """Return the scores of any rows in any order."""
        by_shape: defaultdict[FixedShape, list[int]] = defaultdict(list)
        for place, row in enumerate(batch):
            by_shape[self.shape(row)].append(place)
        with _one_thread() if self.exact else nullcontext():
            parts = [
                self._batch(compute, [batch[place] for place in places[start : start + shape[0]]], shape)
                for shape, places in by_shape.items()
                for start in range(0, len(places), shape[0])
            ]
        return torch.cat(parts)[torch.tensor([*chain(*by_shape.values())]).argsort()]

    def _batch(self, compute: Compute, rows: list[Prepared], shape: FixedShape) -> torch.Tensor:
        n_rows, _, width = shape
        if self._alone.get(shape, False):
            return torch.cat([compute([row], width) for row in rows])
        filled = rows + rows[-1:] * (n_rows - len(rows))
        scores = compute(filled, width)
        if self.exact and n_rows > 1 and shape not in self._alone:
            again = compute(filled[::-1], width).flip(0)
            self._alone[shape] = not torch.equal(scores.view(torch.int32), again.view(torch.int32))
            if self._alone[shape]:
                return self._batch(compute, rows, shape)
        return scores[: len(rows)]


def _linear(part: torch.nn.Linear, values: torch.Tensor) -> torch.Tensor:
    """Apply a linear layer at once to whole sequences, and row by row to vectors or if it has few outputs."""
    if values.ndim > 2 and part.out_features >= _WIDE:
        return torch.nn.functional.linear(values, part.weight, part.bias)
    return torch.stack([torch.nn.functional.linear(row.clone(), part.weight, part.bias) for row in values.unbind()])


@contextmanager
def deterministic_kernels() -> Iterator[None]:
    """Restrict torch to kernels that return the same bits each time; an operation without one raises.

    MKL reads its setting before its first computation: enter this before the process computes.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")  # else sums depend on threads and on a matrix's address
    memory: Any = torch.utils.deterministic
    before, filling = torch.are_deterministic_algorithms_enabled(), memory.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    memory.fill_uninitialized_memory = False  # it costs time and changes no result
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        memory.fill_uninitialized_memory = filling


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute in the calling thread alone: the number of threads decides where their sums are divided.

    The loop's threads stay at one: resetting the number in one would change it for a library in use by another.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            torch.set_num_threads(before)
