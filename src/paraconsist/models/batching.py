"""Batches of almost equal length under a budget of tokens.

A batch of long and short inputs costs padding; a further batch costs reading the weights and calling the kernels once
more, as much as computing some tokens. Inputs are sorted by length over the whole set, longest first (so that a batch
that does not fit in memory fails at once), and cut where the sum of both costs is smallest, and where the token budget
is reached.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import input_error

_PART = 16  # batches in a part at most
#: Of an accelerator's free memory, the share that batches may take; the largest batch, in default ones.
_OF_FREE, _MOST_DEFAULTS = 0.8, 4


def check_device(function: str, device: str | None) -> str:
    """Return the kind of device to compute on: this machine's accelerator (cuda, mps ...), if any, unless told ``cpu``.

    InputError for another kind than these two.
    """
    if device == "cpu":
        return device
    import torch

    best = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if device is not None and (best is None or device != best.type):
        must = "be cpu: this machine has no accelerator" if best is None else f"be cpu or {best.type}, which is here"
        remedy = (
            "The best available device is used by default; CUDA_VISIBLE_DEVICES or accelerate's launcher selects it."
        )
        raise input_error(function, "device", must, got=device, remedy=remedy)
    return "cpu" if best is None else best.type


@dataclass(slots=True)  # frozen ones take several times as long to make
class Shape:
    """Size of a prepared input."""

    n_tokens: int  # real tokens, over all of its sequences
    width: int  # tokens of its longest sequence
    n_sequences: int  # 1 for a classifier, the number of choices for multiple choice


@dataclass(frozen=True)
class BatchPolicy:
    """Limits and costs by which inputs are cut into batches."""

    max_tokens: int = 4096  # computed tokens (padding included) at most; a longer input is a batch alone
    batch_cost: float = 16.0  # fixed cost of a batch, in tokens; inf: padding never ends a batch
    max_rows: int = 1024  # rows in a batch at most
    max_packed: int = 512  # tokens of prompts packed into one row at most: its cost grows with the square of its length
    order_seed: int | None = None  # take inputs in this seed's random order, not sorted by length
    fits: bool = True  # False: `max_tokens` is a default, for any accelerator and any model; see `fitted`

    @classmethod
    def for_device(cls, device: str, max_tokens: int | None = None) -> BatchPolicy:
        """Return the policy for a kind of device.

        On the CPU that was measured a batch costs nearly as much as 16 tokens, for any size of the encoder
        (`benchmarks/batch_cost.py`). An accelerator waits for kernels to be launched: on one H100 encoders of 11 and
        125 million weights were fastest at 4,096 tokens a batch, of 256 to 16,384 that were tried. The tokens of a
        batch are fitted to its memory.
        """
        if device == "cpu":
            return cls(max_tokens=max_tokens or 4096, max_packed=max_tokens or 512)
        sizes = {"max_tokens": max_tokens or 32768, "max_packed": max_tokens or 4096}
        return cls(**sizes, batch_cost=4096.0, fits=max_tokens is not None)

    def shuffled(self, seed: int) -> BatchPolicy:
        """Return a policy whose batches mix lengths; `seed` decides their order and size (32, 16 or 8)."""
        return replace(self, batch_cost=math.inf, max_rows=min(self.max_rows, 32 >> (seed - 1) % 3), order_seed=seed)

    def describe(self) -> str:
        order = "" if self.order_seed is None else f",order=random {self.order_seed}"
        return f"tokens<={self.max_tokens},batch_cost={self.batch_cost:g},rows<={self.max_rows}{order}"


def plan_batches(shapes: Sequence[Shape], policy: BatchPolicy) -> list[list[int]]:
    """Cut inputs into batches of near-equal length: positions in `shapes`, each exactly once.

    The longest batch comes first, unless the policy shuffles. The plan depends only on the shapes and the policy, so
    that every process computes the same one.
    """
    n_tokens, widths, sequences = (
        np.fromiter(map(attrgetter(name), shapes), np.int64, len(shapes))
        for name in ("n_tokens", "width", "n_sequences")
    )
    order = np.lexsort((-n_tokens, -widths))
    if policy.order_seed is not None:
        shuffled = order.tolist()
        random.Random(policy.order_seed).shuffle(shuffled)
        order = np.array(shuffled, dtype=np.int64)
    widths, sequences = widths[order], sequences[order]
    cuts = [0] if math.isinf(policy.batch_cost) else _cuts(widths, sequences, policy.batch_cost)
    batches: list[list[int]] = []
    for start, end in pairwise([*cuts, len(order)]):
        while start < end:
            some = slice(start, min(end, start + policy.max_rows))
            computed = np.maximum.accumulate(widths[some]) * np.cumsum(sequences[some])
            n_rows = max(1, int(np.searchsorted(computed, policy.max_tokens, "right")))
            batches.append(order[start : start + n_rows].tolist())
            start += n_rows
    return batches


def fitted(policy: BatchPolicy, device: str, compute: Callable[[int], int], n_workers: int = 1) -> BatchPolicy:
    """Return the policy with the tokens of a batch that fit in a device's free memory, at most four times the default.

    `compute` computes a batch of about the number of tokens that it takes and returns the exact number. The peaks of
    two sizes give the memory of a token and of a batch. `n_workers` batches are computed at a time. Unchanged for a
    device that does not report its memory, such as the CPU and MPS.
    """
    import torch
    from accelerate.utils.memory import should_reduce_batch_size

    memory: Any = torch.get_device_module(device)
    if not hasattr(memory, "mem_get_info"):
        return policy
    small, large = max(1, policy.max_tokens // 32), max(1, policy.max_tokens // 8)
    peaks: list[tuple[int, int]] = []
    for size in (small, small, large):  # first without measuring: libraries allocate, and models check themselves
        memory.reset_peak_memory_stats()
        before = memory.memory_allocated()
        try:
            n_tokens = compute(size)
        except RuntimeError as problem:
            if not should_reduce_batch_size(problem):
                raise
            return replace(policy, max_tokens=max(1, size // 2), fits=True)
        peaks.append((n_tokens, memory.max_memory_allocated() - before))
    (_, (n_small, small_peak), (n_large, large_peak)) = peaks
    each = (large_peak - small_peak) / (n_large - n_small) if n_large > n_small else large_peak / n_large
    constant = max(0.0, small_peak - each * n_small)
    free = memory.mem_get_info()[0] + memory.memory_reserved() - memory.memory_allocated()
    n_fit = int((_OF_FREE * free / n_workers - constant) / each) if each > 0 else policy.max_tokens
    return replace(policy, max_tokens=min(max(1, n_fit), _MOST_DEFAULTS * policy.max_tokens), fits=True)


class Memory:
    """The tokens of a batch that fit in memory, learnt from the batches that did not: each halves what is tried."""

    def __init__(self) -> None:
        self.max_tokens = math.inf

    def refused(self, rows: Sequence[Shape]) -> None:
        """Note that these rows did not fit together."""
        self.max_tokens = min(self.max_tokens, _n_computed(rows) // 2)

    def parts(self, rows: Sequence[Shape]) -> list[slice]:
        """Cut rows, in their order, into parts that may fit; a row that alone has more tokens is a part."""
        starts = [0]
        for place in range(1, len(rows)) if _n_computed(rows) > self.max_tokens else ():
            if _n_computed(rows[starts[-1] : place + 1]) > self.max_tokens:
                starts.append(place)
        return [slice(start, end) for start, end in pairwise([*starts, len(rows)])]


def _n_computed(rows: Sequence[Shape]) -> int:
    return max(row.width for row in rows) * sum(row.n_sequences for row in rows)


def _cuts(widths: NDArray[np.int64], sequences: NDArray[np.int64], batch_cost: float) -> list[int]:
    """Return the beginnings of batches of inputs, the widest first, that minimise padding plus the cost of batches."""
    firsts = np.flatnonzero(np.diff(widths, prepend=0))
    counts: list[int] = np.add.reduceat(sequences, firsts).tolist() if len(firsts) else []
    each: list[int] = widths[firsts].tolist()
    least, begins = [0.0], [0]  # for the first 0, 1, ... widths: the least cost, and where the last batch begins
    for end in range(1, len(each) + 1):
        best, begin, padding, n, widest = math.inf, end, 0, 0, math.inf
        for first in range(end - 1, -1, -1):
            if each[first] > widest:  # a cut after it would save more than a batch costs
                break
            padding += n and (each[first] - each[first + 1]) * n
            n += counts[first]
            widest = min(widest, each[first] + batch_cost / n)
            if least[first] + padding < best:
                best, begin = least[first] + padding, first
        least.append(best + batch_cost)
        begins.append(begin)
    cuts, end = list[int](), len(each)
    while end:
        end = begins[end]
        cuts.insert(0, int(firsts[end]))
    return cuts or [0]


def deal(sizes: NDArray[np.integer[Any]], max_tokens: int, rank: int, n_ranks: int) -> list[tuple[int, int]]:
    """Cut inputs, in their order, into parts; return start and end of those of one process.

    `sizes` are the inputs' tokens, estimated. A part has at most sixteen full batches, fewer towards the end; it goes
    to the process with the least work, so that all end together. If no part is a whole share, the cuts are the same for
    one process as for two and three.
    """
    ends = np.cumsum(sizes)
    most, share = -(-len(sizes) // n_ranks), max(4, 4 * n_ranks // 3)
    loads, mine, start = [0] * n_ranks, [], 0
    while start < len(sizes):
        done = int(ends[start - 1]) if start else 0
        goal = min(_PART * max_tokens, max((int(ends[-1]) - done) // share, max_tokens // 4))
        end = int(np.clip(np.searchsorted(ends, done + goal, "right"), start + 1, start + most))
        least = loads.index(min(loads))
        loads[least] += int(ends[end - 1]) - done
        if least == rank:
            mine.append((start, end))
        start = end
    return mine
