"""Which items to paraphrase: in turn from each decile of a model's confidence, so many easy and so many difficult."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import input_error
from paraconsist.measures.sampling_correction import deciles

_N_DECILES = 10


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
    easy: NDArray[np.bool_],
    confidences: Any,
    *,
    n_easy: int = 125,
    n_difficult: int = 125,
    seed: int = 0,
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
    given = np.asarray(confidences, dtype=np.float64)
    inside = (given >= 0) & (given <= 1)
    if given.shape != easy.shape or not inside.all():
        row = None if given.shape != easy.shape else int(np.argmin(inside))
        raise input_error(
            "select",
            "confidence",
            f"be a number from 0 to 1 for each of the {len(easy)} rows",
            got=f"{len(given)} numbers" if row is None else float(given[row]),
            row=row,
        )
    rng = np.random.default_rng(seed)
    strata = deciles(given)
    drawn = []
    for name, mask, size in (("easy", easy, n_easy), ("difficult", ~easy, n_difficult)):
        places = np.flatnonzero(mask)
        drawn.append(places[round_robin(strata[places], size, rng=rng)])
        if len(places) < size:
            warnings.warn(f"there are only {len(places)} {name} items of {size} asked for", UserWarning, stacklevel=2)
    return np.concatenate(drawn)
