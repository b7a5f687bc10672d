"""Batches of fixed shapes: answers that depend, to the last bit, on nothing but their row.

Kernels are chosen by the shape of a batch, and each rounds in its own way. So a row is computed in a batch whose shape
follows from the row alone: its width rounded up, and as many rows as fill a fixed number of tokens (copies stand in for
those that are not there), by one thread. Kernels treat all places of one shape alike on the processors that were
tried; whether they do is checked where a shape is first met (the same rows in reverse must give the same bits), and
where they do not, rows of that shape are computed one at a time. Heads are always computed row by row: they give so few
numbers that the check might miss that places differ, as they do in a product of 8 by 32 by 2.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from paraconsist.errors import first_line, input_error

if TYPE_CHECKING:
    from paraconsist.models.classifier import Prepared

#: Rows, sequences a row, tokens a sequence.
FixedShape = tuple[int, int, int]

_CPU_TOKENS, _GPU_TOKENS = 512, 4096
_STEP, _COMPILED_STEP = 4, 32  # widths are multiples of it
_WIDE = 32  # outputs a layer has that is no head


@dataclass(frozen=True)
class FixedBatches:
    """How the rows of one model are put into batches; with 0 tokens each row is a batch, as wide as it is."""

    n_tokens: int  # of a batch, at most, unless one row has more
    longest: int | None = None  # no width passes it
    step: int = _STEP  # widths are multiples of it
    exact: bool = True  # whether a row's bits are to be the same in all places, which is checked, by one thread
    _alone: dict[FixedShape, bool] = field(default_factory=dict)  # shape -> whether its rows are computed one at a time

    def shape(self, row: Prepared) -> FixedShape:
        """The shape of the batch that a row is computed in."""
        if not self.n_tokens:
            return 1, row.n_sequences, row.width
        width = -(-row.width // self.step) * self.step
        width = max(row.width, min(width, self.longest or width))
        n_rows = max(1, self.n_tokens // (width * row.n_sequences))
        return 1 << n_rows.bit_length() - 1, row.n_sequences, width

    def scores(self, compute: Callable[[Sequence[Prepared], int], torch.Tensor], batch: Sequence[Prepared]) -> Any:
        """Scores of rows in any number and order, by `compute`, which takes rows and a width."""
        by_shape: defaultdict[FixedShape, list[int]] = defaultdict(list)
        for place, row in enumerate(batch):
            by_shape[self.shape(row)].append(place)
        order, parts = [], []
        with _one_thread() if self.exact else nullcontext():
            for shape, places in by_shape.items():
                for start in range(0, len(places), shape[0]):
                    part = places[start : start + shape[0]]
                    order += part
                    parts.append(self._batch(compute, [batch[place] for place in part], shape))
        return torch.cat(parts)[torch.tensor(order).argsort()]

    def _batch(
        self, compute: Callable[[Sequence[Prepared], int], torch.Tensor], rows: list[Prepared], shape: FixedShape
    ) -> torch.Tensor:
        n_rows, _, width = shape
        if self._alone.get(shape, False):
            return torch.cat([compute([row], width) for row in rows])
        filled = rows + rows[-1:] * (n_rows - len(rows))
        scores = compute(filled, width)
        if self.exact and n_rows > 1 and shape not in self._alone:
            again = compute(filled[::-1], width).flip(0)
            self._alone[shape] = not torch.equal(scores.view(torch.int32), again.view(torch.int32))
            return self._batch(compute, rows, shape) if self._alone[shape] else scores[: len(rows)]
        return scores[: len(rows)]


def fix_batches(model: Any, device: str) -> None:
    """Let a classifier compute in batches of fixed shapes from now on; its identity says so.

    InputError for a language model with a prompt, whose packs have no fixed shape.
    """
    from paraconsist.models.classifier import HeadClassifier, ModuleClassifier
    from paraconsist.models.prompted import PromptedModel

    if isinstance(model, PromptedModel) or not isinstance(model, ModuleClassifier):
        must = "be given only with classifiers"
        raise input_error("run", "deterministic", must, remedy="Prompts are packed into shapes that are not fixed.")
    fixed = FixedBatches(0)
    if isinstance(model, HeadClassifier):
        fixed = FixedBatches(_CPU_TOKENS if device == "cpu" else _GPU_TOKENS, model.max_length)
    for part in model.module.modules():
        if isinstance(part, torch.nn.Linear):
            part.forward = partial(_linear, part)  # type: ignore[method-assign]
    model.fixed = fixed
    model.identity = {**model.identity, "deterministic": f"{fixed.n_tokens} tokens" if fixed.n_tokens else "row by row"}


def compile_batches(model: Any, device: str) -> None:
    """Compile a classifier's module for batches of few fixed shapes, each when it is first met.

    Answers are those of other batches but for rounding. InputError for other models, and where torch finds no compiler.
    """
    from paraconsist.models.classifier import HeadClassifier

    if not isinstance(model, HeadClassifier):
        raise input_error("run", "compile", "be given only with classifiers that have a tokenizer")
    try:
        torch.compile(torch.neg, dynamic=False)(torch.zeros(2, device=device))
    except Exception as problem:  # of several libraries
        must, remedy = "be given only where torch can compile", "Install a C++ compiler (g++), or leave it out."
        raise input_error("run", "compile", must, got=first_line(problem), remedy=remedy) from None
    torch._dynamo.config.recompile_limit = max(64, torch._dynamo.config.recompile_limit)  # a shape is one
    model.module.compile(dynamic=False)
    n_tokens = _CPU_TOKENS if device == "cpu" else _GPU_TOKENS
    model.fixed = FixedBatches(n_tokens, model.max_length, _COMPILED_STEP, exact=False)


def _linear(part: torch.nn.Linear, values: torch.Tensor) -> torch.Tensor:
    """Apply a linear layer: at once to whole sequences, row by row to vectors and where few numbers come out."""
    if values.ndim > 2 and part.out_features >= _WIDE:
        return torch.nn.functional.linear(values, part.weight, part.bias)
    return torch.stack([torch.nn.functional.linear(row.clone(), part.weight, part.bias) for row in values.unbind()])


@contextmanager
def deterministic_kernels() -> Iterator[None]:
    """Let torch use inside only kernels that give the same bits each time; an operation without one raises.

    MKL reads its setting before it first computes: call this before the process does.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")  # else sums depend on threads and on where a matrix lies
    memory: Any = torch.utils.deterministic
    before, filling = torch.are_deterministic_algorithms_enabled(), memory.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    memory.fill_uninitialized_memory = False  # it costs time and changes nothing that is read
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        memory.fill_uninitialized_memory = filling


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute by the calling thread alone: sums that several threads share are cut where their number says.

    The loop's threads stay at one: a number that one of them put back would hold for a library that another is in.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            torch.set_num_threads(before)
