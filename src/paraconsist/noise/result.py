"""The result of `paraconsist.noise.noise_floor`."""

from __future__ import annotations

from dataclasses import dataclass

from paraconsist.results import Result

__all__ = ["NoiseFloorResult"]


@dataclass(frozen=True)
class NoiseFloorResult(Result):
    """How much answers move at no change, and how much more they move under paraphrase.

    Attributes
    ----------
    flip_rate : dict of str to float
        For ``numeric`` and ``decoding`` repeats: share of pairs of answers to the very same input that are
        different labels, each bucket counting once; in [0, 1], down is good.
    correctness_flip_rate : dict of str to float
        The same, counting only pairs of which one is right and one is wrong.
    inconsistency : float
        Chance that two different paraphrases, in one run, are one right and one wrong: 1 - P_C (unbiased).
    excess_inconsistency : float
        `inconsistency` less the largest of `correctness_flip_rate`: what paraphrasing adds to the noise.
    consistency_in_excess : float
        1 - `excess_inconsistency`: P_C with the noise taken off.
    variance : dict of str to float
        Parts of the variance of correctness: ``problem``, ``paraphrase``, ``decoding``, ``numeric``. Kinds that
        were not repeated have no part of their own; it is in the next coarser one. Unbiased, so a part that is
        next to nothing may come out a little below 0.
    share : dict of str to float
        The parts over their sum, which is A (1 - A).
    n_buckets, n_examples, n_repeats : int
        Buckets, distinct inputs, and runs beside the main one.
    n_pairs : dict of str to int
        Pairs of answers to the same input, by kind.
    confidence_interval, standard_error : dict of str
        By name, as ``flip_rate/numeric``, ``variance/problem``, ``excess_inconsistency``; over buckets or groups.
    n_clusters : int
    signature : str
    warnings : tuple of str
    """

    flip_rate: dict[str, float]
    correctness_flip_rate: dict[str, float]
    inconsistency: float
    excess_inconsistency: float
    consistency_in_excess: float
    variance: dict[str, float]
    share: dict[str, float]
    n_buckets: int
    n_examples: int
    n_repeats: int
    n_pairs: dict[str, int]
    confidence_interval: dict[str, list[float]]
    standard_error: dict[str, float]
    n_clusters: int
    signature: str
    warnings: tuple[str, ...]
