"""Variants that were answered otherwise beside those that were not: confidence, distance, overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from paraconsist.measures import intervals
from paraconsist.measures.buckets import partition
from paraconsist.measures.resampling import Units
from paraconsist.measures.text_distances import jaccard, lexical_distance

if TYPE_CHECKING:
    from paraconsist.generation.embedding import SentenceEncoder


Floats = npt.NDArray[np.float64]

_RANGES = {
    "confidence_change": (-1.0, 1.0),
    "embedding_distance": (0.0, 2.0),
    "token_overlap": (0.0, 1.0),
    "lexical_distance": (0.0, 1.0),
}


def compare_sides(
    changed: npt.NDArray[np.bool_],
    originals: Sequence[str],
    variants: Sequence[str],
    confidence_change: Floats,
    *,
    groups: Sequence[str],
    encoder: SentenceEncoder | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, dict[str, Any]]:
    """Return for changed and unchanged variants apart how far they are from their originals.

    Parameters
    ----------
    changed : ndarray of bool, shape (n,)
        Whether the variant is answered otherwise than its original.
    originals, variants : sequence of str, shape (n,)
    confidence_change : ndarray, shape (n,)
        Probability of the gold label on the variant less that on the original.
    groups : sequence of str, shape (n,)
        What intervals resample.
    encoder : SentenceEncoder, optional
        For ``embedding_distance``, 1 - cosine; nan without.

    Returns
    -------
    dict
        ``changed`` and ``unchanged``, each with ``n`` and, for ``confidence_change``, ``embedding_distance``,
        ``token_overlap`` (Jaccard) and ``lexical_distance``, a mapping of ``mean``, ``confidence_interval`` and
        ``standard_deviation``; nan for a side without variants.
    """
    values = {
        "confidence_change": np.asarray(confidence_change, dtype=np.float64),
        "embedding_distance": np.full(len(originals), np.nan),
        "token_overlap": np.array([jaccard(v, o) for v, o in zip(variants, originals, strict=True)]),
        "lexical_distance": np.array([lexical_distance(v, o) for v, o in zip(variants, originals, strict=True)]),
    }
    if encoder is not None:
        from paraconsist.generation.embedding import cosines

        values["embedding_distance"] = 1.0 - cosines(encoder(variants), encoder(originals))
    found: dict[str, dict[str, Any]] = {}
    for side, rows in (("changed", changed), ("unchanged", ~changed)):
        of_side = [group for group, here in zip(groups, rows.tolist(), strict=True) if here]
        found[side] = {"n": int(rows.sum())} | {
            name: _mean(column[rows], of_side, _RANGES[name], n_resamples, seed) for name, column in values.items()
        }
    return found


def _mean(
    values: Floats, groups: Sequence[str], ends: tuple[float, float], n_resamples: int, seed: int
) -> dict[str, Any]:
    nan = float("nan")
    if not len(values) or np.isnan(values).any():
        return {"mean": nan, "confidence_interval": [nan, nan], "standard_deviation": nan}
    codes = partition(_as_column(groups)).codes
    sums = np.stack([np.bincount(codes).astype(np.float64), np.bincount(codes, weights=values)], axis=1)
    distinct, multiplicity = np.unique(sums, axis=0, return_counts=True)
    interval = intervals(
        Units.unstratified(distinct, multiplicity),
        _ratio,
        [ends],
        [True],
        n_resamples=n_resamples,
        rng=np.random.default_rng(seed),
    )
    return {
        "mean": float(values.mean()),
        "confidence_interval": [float(interval.low[0]), float(interval.high[0])],
        "standard_deviation": float(values.std()),
    }


def _ratio(total: npt.NDArray[Any]) -> npt.NDArray[Any]:
    ratio: npt.NDArray[Any] = total[..., 1:] / total[..., :1]
    return ratio


def _as_column(groups: Sequence[str]) -> Any:
    from paraconsist.measures._validation import as_column

    return as_column(list(groups), function="sensitivity", parameter="groups")
