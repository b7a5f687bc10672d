"""Samples of training rows: so many rows, or a share of the groups that they stand in."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import input_error
from paraconsist.models.training.data import Examples


def sample(examples: Examples, limit: int | None, seed: int) -> Examples:
    """A random sample without replacement, in the order of the rows; everything where `limit` is None."""
    if limit is None or limit >= len(examples):
        return examples
    return _part(examples, np.sort(np.random.default_rng(seed).choice(len(examples), size=limit, replace=False)))


def sample_share(examples: Examples, share: float, seed: int, label_names: Sequence[str]) -> Examples:
    """A random share of the groups (of S24's learning curves), in the order of the rows.

    ``floor(share * groups)`` of them, as in the authors' code, and at least one. Of one seed, a smaller share is part
    of a larger one.

    Raises
    ------
    InputError
        If a label that the rows have is not among those drawn.
    """
    if share >= 1:
        return examples
    assert examples.contexts is not None  # encode_examples gives them where a share is asked for
    groups, codes = np.unique(np.array(examples.contexts), return_inverse=True)
    n_drawn = max(1, math.floor(share * len(groups) + 1e-9))
    drawn = np.random.default_rng(seed).permutation(len(groups))[:n_drawn]
    part = _part(examples, np.flatnonzero(np.isin(codes, drawn)))
    absent = [name for i, name in enumerate(label_names) if i in set(examples.labels) - set(part.labels)]
    if absent:
        raise input_error(
            "train",
            "share",
            "be large enough that every label is among the rows drawn",
            got=share,
            remedy=f"It draws {len(part):,} rows in {n_drawn:,} of {len(groups):,} groups, none labelled "
            f"{', '.join(absent)}. Give a larger share, or another --limit-seed.",
        )
    return part


def _part(examples: Examples, chosen: NDArray[np.intp]) -> Examples:
    return Examples(
        tuple(examples.inputs[i] for i in chosen),
        tuple(examples.labels[i] for i in chosen),
        examples.n_dropped,
        None if examples.contexts is None else tuple(examples.contexts[i] for i in chosen),
    )
