"""Batches of almost equal length under a budget of tokens.

A batch of long and short inputs costs padding; a further batch costs reading the weights and calling the kernels once
more, as much as computing some tokens. Inputs are sorted by length over the whole set, longest first (so that a batch
that does not fit in memory fails at once), and cut where the sum of both costs is smallest, and where the token budget
is reached.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import input_error


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
    fits: bool = True  # False: `max_tokens` is a default, for any accelerator and any model: the loop fits it

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
