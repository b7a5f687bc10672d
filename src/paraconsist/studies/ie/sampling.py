"""The data-generating process DGP(phi, rho): which version of each row a sample holds, as an index choice.

The rows of a split lie once in their original version (numbers 0 to n - 1) and once transformed (n to 2n - 1): a sample
is n numbers, row i or row n + i. No text is copied.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import input_error


def sample_rows(n: int, rho: float, rng: np.random.Generator, *, exact_count: bool = False) -> NDArray[np.int64]:
    """Draw a sample of a split.

    Parameters
    ----------
    n : int
        Rows of the split.
    rho : float
        Probability that a row is in its transformed version, for each row independently; in [0, 1].
    rng : numpy.random.Generator
    exact_count : bool
        Transform round(rho n) rows, drawn without replacement (as the authors' program does).

    Returns
    -------
    int64 array, shape (n,)
        Entry i is i (the original) or n + i (the transformed version). At rho 0 and 1 nothing is random.

    Raises
    ------
    InputError
        If rho is outside [0, 1].
    """
    if not 0 <= rho <= 1:
        raise input_error("sample_rows", "rho", "lie between 0 and 1", got=rho)
    transformed: NDArray[np.bool_]
    if exact_count:
        transformed = np.zeros(n, dtype=np.bool_)
        transformed[rng.permutation(n)[: round(rho * n)]] = True
    else:
        transformed = rng.random(n) < rho
    return np.arange(n, dtype=np.int64) + n * transformed


def unit_seed(seed: int, *parts: float | int) -> np.random.SeedSequence:
    """A seed of its own for each part of the experiment, whatever else is run, and in whatever order.

    Numbers are taken to nine decimals, so that a rho written 0.30000000000000004 is 0.3.
    """
    return np.random.SeedSequence([seed, *(round(part * 10**9) for part in parts)])
