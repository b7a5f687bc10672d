"""Batches of almost equal length under a budget of tokens.

Padding is the cost of a batch that holds a long and a short input. Inputs are therefore sorted by length
over the whole set, longest first (so that a batch that does not fit in memory shows at once), and a batch
is cut where the token budget is reached or where its padding would pass a small share.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import input_error

_PART = 16  # batches that a part is of at most


def check_device(function: str, device: str | None) -> None:
    """Raise unless `device` is None, ``"cpu"``, or the kind of accelerator that this machine has (cuda, mps ...)."""
    if device in (None, "cpu"):
        return
    import torch

    best = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if best is None or device != best.type:
        must = "be cpu: this machine has no accelerator" if best is None else f"be cpu or {best.type}, which is here"
        remedy = "By default the best there is is taken; CUDA_VISIBLE_DEVICES or accelerate's launcher says which."
        raise input_error(function, "device", must, got=device, remedy=remedy)


@dataclass(slots=True)  # frozen ones take several times as long to make
class Shape:
    """How large a prepared input is."""

    n_tokens: int  # real tokens, over all of its sequences
    width: int  # tokens of its longest sequence
    n_sequences: int  # 1 for a classifier, the number of choices for multiple choice


@dataclass(frozen=True)
class BatchPolicy:
    """When a batch is cut."""

    max_tokens: int = 4096  # computed tokens (padding included) at most; a single longer input is a batch of its own
    max_padding: float = 0.0  # largest share of padding in a batch once it has `min_rows` rows
    min_rows: int = 4  # batches are not cut for their padding below this many rows
    max_rows: int = 1024  # rows in a batch at most
    max_packed: int = 512  # tokens of prompts packed into one row at most: its cost grows with the square of its length
    order_seed: int | None = None  # take inputs in this seed's random order in place of their length's

    @classmethod
    def for_device(cls, device: str, max_tokens: int | None = None) -> BatchPolicy:
        """Return the policy for a kind of device.

        A CPU computes every padded token at full price and small batches cost it little: batches are of one
        length. An accelerator wants large batches, and takes a little padding for them.
        """
        if device == "cpu":
            return cls(max_tokens=max_tokens or 4096, max_packed=max_tokens or 512)
        return cls(max_tokens=max_tokens or 32768, max_padding=0.02, min_rows=16, max_packed=max_tokens or 4096)

    def shuffled(self, seed: int) -> BatchPolicy:
        """Return a policy whose batches mix lengths, in an order and of a size (32, 16 or 8) that `seed` decides."""
        return replace(self, max_padding=1.0, max_rows=min(self.max_rows, 32 >> (seed - 1) % 3), order_seed=seed)

    def describe(self) -> str:
        order = "" if self.order_seed is None else f",order=random {self.order_seed}"
        return f"tokens<={self.max_tokens},padding<={self.max_padding:g},rows<={self.max_rows}{order}"


def plan_batches(shapes: Sequence[Shape], policy: BatchPolicy) -> list[list[int]]:
    """Cut inputs into batches of near-equal length: positions in `shapes`, each exactly once.

    The longest batch comes first, unless the policy shuffles. The plan depends on nothing but the shapes and the
    policy, so that every process makes the same one.
    """
    sizes = np.array([(-shape.width, -shape.n_tokens) for shape in shapes], dtype=np.int64).reshape(-1, 2)
    order: list[int] = np.lexsort((sizes[:, 1], sizes[:, 0])).tolist()
    if policy.order_seed is not None:
        random.Random(policy.order_seed).shuffle(order)
    batches: list[list[int]] = []
    current: list[int] = []
    width = sequences = real = 0
    for i in order:
        shape = shapes[i]
        if current:
            computed = max(width, shape.width) * (sequences + shape.n_sequences)
            padding = 1 - (real + shape.n_tokens) / computed if computed else 0.0
            is_full = computed > policy.max_tokens or len(current) >= policy.max_rows
            if is_full or (padding > policy.max_padding and len(current) >= policy.min_rows):
                batches.append(current)
                current = []
        if not current:
            width, sequences, real = shape.width, 0, 0
        width = max(width, shape.width)
        current.append(i)
        sequences += shape.n_sequences
        real += shape.n_tokens
    if current:
        batches.append(current)
    return batches


def deal(sizes: NDArray[np.integer[Any]], max_tokens: int, rank: int, n_ranks: int) -> list[tuple[int, int]]:
    """Cut inputs, in the order in which they stand, into parts; return start and end of those of one process.

    `sizes` are the inputs' tokens, estimated. A part is of sixteen full batches at most, smaller towards the end; it
    goes to the process that has least, so that all end together. Where no part is a whole share, the cuts, and
    with them the batches, are the same for one process as for two and three.
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
