"""Paraphrastic consistency: the probability that two paraphrases of one problem are both right or both wrong."""

from __future__ import annotations

from paraconsist.paraphrastic.consistency import (
    MEASURES,
    BucketCounts,
    ParaphrasticConsistencyResult,
    measures_of_counts,
    minimum_consistency,
    paraphrastic_consistency,
)

__all__ = [
    "MEASURES",
    "BucketCounts",
    "ParaphrasticConsistencyResult",
    "measures_of_counts",
    "minimum_consistency",
    "paraphrastic_consistency",
]
